/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and control flow. What all lanes decide alike stays as it is, with bodies over all lanes. Where lanes differ, a while runs lane
 * by lane, each as long as it must; a cond of small branches becomes a choice between their results, any other runs lane by lane, each
 * lane its own branch. */
#include "prim/batch_control.h"
#include "prim/batch.h"
#include "prim/control.h"

#include "prims.gen.h"

static kiln_status flags(kn_build *b, size_t n, bool **out)
{
    KILN_TRY_MEM(b->ctx, *out = KN_NEWN(&b->prog->arena, bool, n + 1));
    return KILN_OK;
}

/* ---- scan ---- */

/* A carry has lanes when its first value has, or the body gives it some. */
kiln_status kn_batch_scan(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                          int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_scan_parts p = kn_scan_parts_of(e);
    const kn_jaxpr *body;
    bool *lanes, *wanted, *found, more = true;
    KILN_TRY(flags(b, e->nin, &lanes));
    KILN_TRY(flags(b, e->nout, &wanted));
    KILN_TRY(flags(b, e->nout, &found));
    for (uint32_t i = 0; i < e->nin; i++) lanes[i] = kn_has_lanes(&m, i);
    while (more) {
        more = false;
        for (uint32_t k = 0; k < p.carries; k++) wanted[k] = lanes[p.consts + k];
        KILN_TRY(r->batch(r, p.body, m.size, lanes, wanted, &body, found));
        for (uint32_t k = 0; k < p.carries; k++)
            if (found[k] && !lanes[p.consts + k]) lanes[p.consts + k] = more = true;
    }
    kn_param *params = kn_lanes_params(&m);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1);
    KILN_TRY_MEM(b->ctx, params && in);
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = lanes[i] ? kn_lanes_full(&m, i) : x[i];
        if (lanes[i] && i >= p.consts + p.carries) in[i] = kn_lanes_move(&m, in[i], 0, 1); /* slices are taken along axis 0 */
    }
    for (uint32_t k = 0; k < e->prim->nparams; k++)
        if (params[k].kind == KN_P_JAXPR) params[k] = KN_JAXPR(body);
    KILN_TRY(kn_lanes_emit(&m, params, in, y));
    for (uint32_t k = 0; k < e->nout; k++) {
        out_axis[k] = found[k] ? 0 : KN_NO_LANES;
        if (found[k] && k >= p.carries) y[k] = kn_lanes_move(&m, y[k], 1, 0);
    }
    return m.l.status;
}

/* ---- while ---- */

kiln_status kn_batch_while(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                           int *out_axis)
{
    kn_eqn call;
    if (kn_has_lane_condition(e)) {
        KILN_TRY(kn_while_lanes_call(b, j, e, &call));
        return call.prim->batch(r, b, j, &call, x, axis, y, out_axis);
    }
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_while_parts p = kn_while_parts_of(e);
    const kn_jaxpr *cond, *body;
    uint32_t first = p.cond_consts + p.body_consts, n = e->nin - first;
    bool *lanes, *cond_lanes, *found, decides, more = true;
    KILN_TRY(flags(b, e->nin, &lanes));
    KILN_TRY(flags(b, e->nin, &cond_lanes));
    KILN_TRY(flags(b, n, &found));
    for (uint32_t i = 0; i < e->nin; i++) lanes[i] = kn_has_lanes(&m, i);
    while (more) {
        more = false;
        KILN_TRY(r->batch(r, p.body, m.size, lanes + p.cond_consts, lanes + first, &body, found));
        for (uint32_t k = 0; k < n; k++)
            if (found[k] && !lanes[first + k]) lanes[first + k] = more = true;
    }
    for (uint32_t i = 0; i < p.cond_consts + n; i++) cond_lanes[i] = lanes[i < p.cond_consts ? i : i + p.body_consts];
    KILN_TRY(r->batch(r, p.cond, m.size, cond_lanes, NULL, &cond, &decides));
    if (decides) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    kn_param params[KN_WHILE_PARAMS];
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1);
    KILN_TRY_MEM(b->ctx, in);
    kn_while_params(params, cond, p.cond_consts, body, p.body_consts);
    kn_while_keep(params, e);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = lanes[i] ? kn_lanes_full(&m, i) : x[i];
    for (uint32_t k = 0; k < n; k++) out_axis[k] = lanes[first + k] ? 0 : KN_NO_LANES;
    return kn_lanes_emit(&m, params, in, y);
}

/* ---- cond ---- */

/* What an equation costs in a lane, in additions: a function counts 16, a composite of them 64, what calls a routine or may not end
 * is never small. */
enum { NEVER = 1 << 30, SMALL = 1024 };

static int64_t plus(int64_t a, int64_t b) { return a + b > NEVER ? NEVER : a + b; }
static int64_t times(int64_t a, int64_t b) { return b && a > NEVER / b ? NEVER : a * b; }
static int64_t body_cost(const kn_jaxpr *j);
static void add_body(void *ud, const kn_jaxpr *j) { *(int64_t *)ud = plus(*(int64_t *)ud, body_cost(j)); }

static int64_t size_of(kiln_type t)
{
    int64_t n = kiln_type_size(t);
    return n < NEVER ? n : NEVER;
}

static int64_t eqn_cost(const kn_jaxpr *j, const kn_eqn *e)
{
    const kn_prim *p = e->prim;
    int64_t cost = 0, bodies = 0, in = 0, out = 0;
    for (uint32_t i = 0; i < e->nin; i++) in = plus(in, size_of(kn_in_type(j, e, i)));
    for (uint32_t i = 0; i < e->nout; i++) out = plus(out, size_of(kn_out_type(j, e, i)));
    kn_eqn_bodies(e, add_body, &bodies);
    if (p == &kn_prim_while || p->loop == KN_LOOP_CALL) return NEVER;
    if (p == &kn_prim_scan) return times(bodies, kn_scan_parts_of(e).length);
    if (p == &kn_prim_dot_general || p == &kn_prim_conv_general_dilated) return times(in, out);
    if (bodies && kn_called(e)) return bodies;
    if (bodies) cost = p == &kn_prim_cond ? bodies : times(bodies, in > out ? in : out);
    int64_t weight = !(p->flags & KN_EXPENSIVE) ? 1 : p->flags & KN_LEVEL_TRACED ? 64 : 16;
    return plus(cost, times(weight, p->loop == KN_LOOP_ELEMENT ? out : in > out ? in : out));
}

static int64_t body_cost(const kn_jaxpr *j)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < j->neqns; k++) sum = plus(sum, eqn_cost(j, &j->eqns[k]));
    return sum;
}

/* Choosing costs a selection for each element that enters and leaves a branch. */
static bool small(const kn_jaxpr *j, const kn_eqn *e)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < kn_cond_branches(e); k++) {
        sum = plus(sum, body_cost(kn_cond_branch(e, k)));
        for (uint32_t i = 1; i < e->nin; i++) sum = plus(sum, size_of(kn_in_type(j, e, i)));
    }
    return sum <= SMALL;
}

/* A value in a lane at index `which` of [lanes] spread over the dimensions of t. */
static kn_atom spread(kn_lanes *m, kn_atom which, kiln_type t)
{
    int64_t dims[KN_MAX_RANK + 1] = {m->size}, zero = 0;
    for (uint32_t d = 0; d < t.rank; d++) dims[d + 1] = t.dims[d];
    if (t.rank == 0 || m->l.status != KILN_OK) return which;
    kn_param params[] = {KN_INTS(1, &zero), KN_INTS(t.rank + 1, dims), KN_NONE};
    return kn_low_op(&m->l, &kn_prim_broadcast_in_dim, params, &which, 1);
}

/* Operands as branch k sees them. Lanes of other branches are cut off from derivatives, lest a NaN of a branch that they do not take
 * comes back into them: the choice of results cannot stop 0 * inf on the way. */
static void branch_operands(kn_lanes *m, const kn_atom *index, uint32_t k, bool *lanes, kn_atom *in)
{
    kn_low *l = &m->l;
    int64_t last = (int64_t)kn_cond_branches(m->e) - 1;
    kn_atom taken = kn_low2(l, k == 0 ? &kn_prim_le : k == last ? &kn_prim_ge : &kn_prim_eq, *index, kn_low_num(l, KILN_I32, k));
    for (uint32_t i = 1; i < m->e->nin; i++) {
        kiln_type t = kn_in_type(m->j, m->e, i);
        bool derived = strchr("fc", kiln_dtype_kind(t.dtype)) != NULL;
        lanes[i - 1] = derived || kn_has_lanes(m, i);
        in[i - 1] = m->x[i];
        if (!derived || l->status != KILN_OK) continue;
        kn_atom own = kn_lanes_full(m, i), still = kn_low1(l, &kn_prim_stop_gradient, own);
        in[i - 1] = kn_low_select(l, spread(m, taken, t), own, still);
    }
}

static kiln_status choose(kn_lanes *m, kn_build *b, kn_atom *y)
{
    const kn_eqn *e = m->e;
    uint32_t n = kn_cond_branches(e), nout = e->nout;
    kn_arena *arena = &b->prog->arena;
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin + n + 1), *out = KN_NEWN(arena, kn_atom, (size_t)n * nout + 1), index = m->x[0];
    bool *lanes, *wanted, *found;
    KILN_TRY_MEM(b->ctx, in && out);
    KILN_TRY(flags(b, e->nin, &lanes));
    KILN_TRY(flags(b, nout, &wanted));
    KILN_TRY(flags(b, nout, &found));
    for (uint32_t i = 0; i < nout; i++) wanted[i] = true;
    for (uint32_t k = 0; k < n; k++) {
        const kn_jaxpr *body;
        branch_operands(m, &index, k, lanes, in);
        KILN_TRY(m->l.status);
        KILN_TRY(m->r->batch(m->r, kn_cond_branch(e, k), m->size, lanes, wanted, &body, found));
        KILN_TRY(kn_low_inline(b, body, e, in, out + (size_t)k * nout));
    }
    kn_atom which = n == 2 ? kn_low2(&m->l, &kn_prim_gt, index, kn_low_num(&m->l, KILN_I32, 0)) : index;
    for (uint32_t i = 0; i < nout; i++) {
        in[0] = spread(m, which, kn_out_type(m->j, e, i));
        for (uint32_t k = 0; k < n; k++) in[1 + k] = out[(size_t)k * nout + i];
        y[i] = kn_low_op(&m->l, &kn_prim_select_n, NULL, in, n + 1);
    }
    return m->l.status;
}

/* All lanes take one branch: each with lanes wherever one of them gives some. */
static kiln_status alike(kn_lanes *m, kn_build *b, kn_atom *y, int *out_axis)
{
    const kn_eqn *e = m->e;
    uint32_t n = kn_cond_branches(e);
    bool *lanes, *wanted, *found;
    kn_param *params = kn_lanes_params(m), *bodies = KN_NEWN(&b->prog->arena, kn_param, n);
    KILN_TRY_MEM(b->ctx, params && bodies);
    KILN_TRY(flags(b, e->nin, &lanes));
    KILN_TRY(flags(b, e->nout, &wanted));
    KILN_TRY(flags(b, e->nout, &found));
    for (uint32_t i = 1; i < e->nin; i++) lanes[i - 1] = kn_has_lanes(m, i);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < n; k++) {
            const kn_jaxpr *body;
            KILN_TRY(m->r->batch(m->r, kn_cond_branch(e, k), m->size, lanes, pass ? wanted : NULL, &body, found));
            for (uint32_t i = 0; i < e->nout; i++) wanted[i] = wanted[i] || found[i];
            bodies[k] = KN_JAXPR(body);
        }
    params[0] = KN_TUPLE(n, bodies);
    for (uint32_t i = 0; i < e->nout; i++) out_axis[i] = wanted[i] ? 0 : KN_NO_LANES;
    return kn_lanes_emit(m, params, m->x, y);
}

kiln_status kn_batch_cond(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                          int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    if (!kn_has_lanes(&m, 0)) return alike(&m, b, y, out_axis);
    return small(j, e) ? choose(&m, b, y) : kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
}
