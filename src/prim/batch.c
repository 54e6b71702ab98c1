/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/batch.h"
#include "prim/control.h"

kn_lanes kn_lanes_of(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis)
{
    kn_lanes m = {.l = {b, KILN_OK}, .r = r, .j = j, .e = e, .x = x, .axis = axis};
    for (uint32_t i = 0; i < e->nin; i++)
        if (axis[i] != KN_NO_LANES) m.size = kn_build_type(b, x[i]).dims[0];
    return m;
}

bool kn_any_lanes(const kn_lanes *m, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (kn_has_lanes(m, i)) return true;
    return false;
}

/* Room in the program's arena; NULL after an error. */
static int64_t *integers(kn_lanes *m, size_t n)
{
    int64_t *v = KN_NEWN(&m->l.b->prog->arena, int64_t, n);
    if (!v && m->l.status == KILN_OK) m->l.status = kn_nomem(m->l.b->ctx);
    return v;
}

/* ---- operands ---- */

kn_atom kn_lanes_repeat(kn_lanes *m, kn_atom a)
{
    if (m->l.status != KILN_OK) return a;
    kiln_type t = kn_build_type(m->l.b, a);
    if (t.rank >= KN_MAX_RANK) {
        m->l.status = kn_fail(m->l.b->ctx, KILN_UNSUPPORTED, "vmap: %s would have more than %d dimensions with lanes", kn_type_show(t).s, KN_MAX_RANK);
        return a;
    }
    int64_t dims[KN_MAX_RANK + 1] = {m->size}, at[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) dims[d + 1] = t.dims[d], at[d] = d + 1;
    return kn_low_op(&m->l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(t.rank, at), KN_INTS(t.rank + 1, dims), KN_NONE}, &a, 1);
}

kn_atom kn_lanes_full(kn_lanes *m, uint32_t i) { return kn_has_lanes(m, i) ? m->x[i] : kn_lanes_repeat(m, m->x[i]); }

kn_atom kn_lanes_beside(kn_lanes *m, uint32_t i, uint32_t rank)
{
    if (m->l.status != KILN_OK) return m->x[i];
    kiln_type t = kn_build_type(m->l.b, m->x[i]);
    bool lanes = kn_has_lanes(m, i);
    if (lanes ? t.rank == rank + 1 : t.rank == 0) return m->x[i];
    int64_t dims[KN_MAX_RANK + 1], at[KN_MAX_RANK];
    for (uint32_t d = 0; d <= rank; d++) dims[d] = lanes ? d ? 1 : t.dims[0] : d ? t.dims[d - 1] : 1;
    for (uint32_t d = 0; d < t.rank; d++) at[d] = lanes ? d : d + 1;
    return kn_low_op(&m->l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(t.rank, at), KN_INTS(rank + 1, dims), KN_NONE}, &m->x[i], 1);
}

kn_atom kn_lanes_widened(kn_lanes *m, uint32_t i, kiln_type lane)
{
    if (m->l.status != KILN_OK) return m->x[i];
    kiln_type t = kn_build_type(m->l.b, m->x[i]);
    bool lanes = kn_has_lanes(m, i);
    if (lanes && t.rank == lane.rank + 1) return m->x[i];
    int64_t dims[KN_MAX_RANK + 1] = {m->size}, at[KN_MAX_RANK + 1];
    for (uint32_t d = 0; d < lane.rank; d++) dims[d + 1] = lane.dims[d];
    for (uint32_t d = 0; d < t.rank; d++) at[d] = lanes ? d : d + 1;
    kn_param params[] = {KN_INTS(t.rank, at), KN_INTS(lane.rank + 1, dims), KN_NONE};
    return kn_low_op(&m->l, &kn_prim_broadcast_in_dim, params, &m->x[i], 1);
}

kn_atom kn_lanes_move(kn_lanes *m, kn_atom a, uint32_t from, uint32_t to)
{
    if (m->l.status != KILN_OK || from == to) return a;
    uint32_t rank = kn_build_type(m->l.b, a).rank, next = 0;
    int64_t p[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        next += next == from;
        p[d] = d == to ? from : next++;
    }
    return kn_low_op(&m->l, &kn_prim_transpose, &KN_INTS(rank, p), &a, 1);
}

/* ---- parameters ---- */

kn_param *kn_lanes_params(kn_lanes *m)
{
    kn_param *p = KN_NEWN(&m->l.b->prog->arena, kn_param, m->e->prim->nparams + 1);
    if (!p) m->l.status = kn_nomem(m->l.b->ctx);
    else if (m->e->prim->nparams) memcpy(p, m->e->params, m->e->prim->nparams * sizeof *p);
    return p;
}

const int64_t *kn_lanes_behind(kn_lanes *m, int64_t first, const int64_t *v, uint32_t n)
{
    int64_t *out = integers(m, (size_t)n + 1);
    if (!out) return NULL;
    out[0] = first;
    for (uint32_t i = 0; i < n; i++) out[i + 1] = v[i] + 1;
    return out;
}

const int64_t *kn_lanes_raised(kn_lanes *m, const int64_t *v, uint32_t n)
{
    const int64_t *out = kn_lanes_behind(m, 0, v, n);
    return out ? out + 1 : NULL;
}

void kn_lanes_shift(kn_lanes *m, kn_param *p)
{
    if (p->kind == KN_P_INT) p->i++;
    else if (p->kind == KN_P_INTS) *p = KN_INTS(p->n, kn_lanes_raised(m, p->ints, p->n));
}

/* ---- the equation ---- */

kiln_status kn_lanes_emit(kn_lanes *m, const kn_param *params, const kn_atom *in, kn_atom *y)
{
    KILN_TRY(m->l.status);
    return kn_build_eqn(m->l.b, m->e->prim, params, in, m->e->nin, y, m->e->nout);
}

kiln_status kn_lanes_emit_full(kn_lanes *m, const kn_param *params, kn_atom *y)
{
    kn_atom *in = KN_NEWN(&m->l.b->prog->arena, kn_atom, m->e->nin + 1);
    KILN_TRY_MEM(m->l.b->ctx, in && params);
    for (uint32_t i = 0; i < m->e->nin; i++) in[i] = kn_lanes_full(m, i);
    return kn_lanes_emit(m, params, in, y);
}

/* ---- rules ---- */

#define RULE(id)                                                                                                      \
    kiln_status kn_batch_##id(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, \
                              kn_atom *y, int *out_axis)

RULE(elementwise)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t rank = kn_out_type(j, e, 0).rank;
    kn_atom few[8], *in = few;
    if (e->nin > sizeof few / sizeof *few) KILN_TRY_MEM(b->ctx, in = KN_NEWN(&b->prog->arena, kn_atom, e->nin)); /* a polynomial has as many as it likes */
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_lanes_beside(&m, i, rank);
    return kn_lanes_emit(&m, e->params, in, y);
}

RULE(full)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    return kn_lanes_emit_full(&m, kn_lanes_params(&m), y);
}

RULE(dimensions)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *params = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    kn_lanes_shift(&m, &params[0]);
    return kn_lanes_emit_full(&m, params, y);
}

RULE(each)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    for (uint32_t i = 0; i < e->nout; i++) out_axis[i] = axis[i];
    return kn_lanes_emit(&m, e->params, x, y);
}

/* The body of the loop: the shared operands, then a lane of each of the others; literals stand in it. */
static kiln_status lane_body(const kn_lanes *m, const kn_jaxpr **out)
{
    const kn_eqn *e = m->e;
    kn_build b;
    kn_build_init(&b, m->l.b->ctx, m->l.b->prog);
    b.scope = e->scope, b.loc = e->loc;
    kn_atom *in = KN_NEWN(&b.prog->arena, kn_atom, e->nin + 1), *y = KN_NEWN(&b.prog->arena, kn_atom, e->nout + 1);
    KILN_TRY_MEM(b.ctx, in && y);
    for (int lanes = 0; lanes < 2; lanes++)
        for (uint32_t i = 0; i < e->nin; i++) {
            if (kn_has_lanes(m, i) != (lanes == 1)) continue;
            if (!kn_is_literal(e->in[i])) KILN_TRY(kn_build_input(&b, kn_in_type(m->j, e, i), &in[i]));
            else {
                const kn_lit *v = &m->j->lits[kn_literal_index(e->in[i])];
                KILN_TRY(kn_build_literal(&b, v->dtype, v->value, &in[i]));
            }
        }
    KILN_TRY(kn_build_eqn(&b, e->prim, e->params, in, e->nin, y, e->nout));
    return kn_build_finish(&b, y, e->nout, out);
}

RULE(loop)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    const kn_jaxpr *body;
    kn_param params[KN_SCAN_PARAMS];
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1);
    KILN_TRY_MEM(b->ctx, in);
    KILN_TRY(lane_body(&m, &body));
    uint32_t n = 0, consts;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_has_lanes(&m, i) && !kn_is_literal(e->in[i])) in[n++] = x[i];
    consts = n;
    for (uint32_t i = 0; i < e->nin; i++)
        if (kn_has_lanes(&m, i)) in[n++] = x[i];
    kn_scan_plain(m.size, false, params);
    KILN_TRY(kn_scan_params(b->ctx, &b->prog->arena, NULL, body, (uint32_t[]){consts, 0, n - consts}, e->nout, params));
    return kn_build_eqn(b, &kn_prim_scan, params, in, n, y, e->nout);
}
