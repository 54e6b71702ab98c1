/* SPDX-License-Identifier: Apache-2.0 */
/* custom_linear_solve: a call of the body `solve`; the others say what derivatives need. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/lowering.h"
#include "prim/sample.h"

enum { LENGTHS, BODIES };
static const kn_param_spec params[] = {{"const_lengths", KN_P_RECORD, 0}, {"jaxprs", KN_P_RECORD, 0}};
static const char *const parts[] = {"matvec", "vecmat", "solve", "transpose_solve"};
enum { MATVEC, VECMAT, SOLVE, TRANSPOSE_SOLVE, PARTS };

static const kn_param *field(const kn_param *record, const char *name)
{
    for (uint32_t i = 0; record->keys && i < record->n; i++)
        if (strcmp(record->keys[i], name) == 0) return &record->items[i];
    return NULL;
}

/* Where the operands of a body begin, and how many it has besides the right sides. */
static bool operands(const kn_param *lengths, int part, uint32_t *first, uint32_t *n)
{
    uint64_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        const kn_param *p = field(lengths, parts[i]);
        if (!p || p->kind != KN_P_INT || p->i < 0 || p->i > UINT32_MAX / 8) return false;
        if (i == part) *first = (uint32_t)at, *n = (uint32_t)p->i;
        at += (uint64_t)p->i;
    }
    if (part == PARTS) *first = (uint32_t)at, *n = 0;
    return true;
}

static kiln_status type_solve(kn_typing *t)
{
    uint32_t first, consts, all, none;
    const kn_param *body = field(&t->params[BODIES], "solve");
    if (!body || body->kind != KN_P_JAXPR || !operands(&t->params[LENGTHS], SOLVE, &first, &consts) || !operands(&t->params[LENGTHS], PARTS, &all, &none))
        return kn_fail(t->ctx, KILN_INVALID, "custom_linear_solve: const_lengths must hold numbers and jaxprs programs for matvec, vecmat, solve, transpose_solve");
    const kn_jaxpr *j = body->jaxpr;
    if (all > t->nin || kn_nargs(j) != consts + t->nin - all || j->nout != t->nin - all)
        return kn_fail(t->ctx, KILN_INVALID, "custom_linear_solve: %u operands do not fit const_lengths and the program solve", t->nin);
    kiln_type *want = KN_NEWN(t->arena, kiln_type, kn_nargs(j));
    KILN_TRY_MEM(t->ctx, want);
    for (uint32_t i = 0; i < kn_nargs(j); i++) want[i] = t->in[i < consts ? first + i : all + i - consts];
    KILN_TRY(kn_typing_body_in(t, j, "solve", want, kn_nargs(j), first));
    KILN_TRY(kn_typing_out(t, j->nout));
    for (uint32_t i = 0; i < j->nout; i++) {
        kiln_type y = kn_type_of(j, j->out[i]);
        KILN_TRY(kn_typing_like(t, i, y.dtype, y));
    }
    return KILN_OK;
}

static kiln_status lower_solve(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    uint32_t first = 0, consts = 0, all = 0, none = 0;
    const kn_jaxpr *body = field(&e->params[BODIES], "solve")->jaxpr;
    (void)r, (void)j;
    operands(&e->params[LENGTHS], SOLVE, &first, &consts);
    operands(&e->params[LENGTHS], PARTS, &all, &none);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, kn_nargs(body));
    KILN_TRY_MEM(b->ctx, in);
    for (uint32_t i = 0; i < kn_nargs(body); i++) in[i] = i < consts ? x[first + i] : x[all + i - consts];
    return kn_low_inline(b, body, e, in, y);
}

/* All bodies over the lanes; the right sides and the solutions have lanes in any case. */
static kiln_status batch_solve(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                               kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_arena *arena = &b->prog->arena;
    kn_param *own = kn_lanes_params(&m);
    const kn_param *bodies = &e->params[BODIES];
    uint32_t all = 0, none = 0;
    operands(&e->params[LENGTHS], PARTS, &all, &none);
    kn_param *items = KN_NEWN(arena, kn_param, bodies->n);
    bool *lanes = KN_NEWN(arena, bool, e->nin), *wanted = KN_NEWN(arena, bool, e->nout), *found = KN_NEWN(arena, bool, e->nout);
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, own && items && lanes && wanted && found && in);
    for (uint32_t i = 0; i < e->nout; i++) wanted[i] = true;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < all ? x[i] : kn_lanes_full(&m, i);
    for (uint32_t k = 0; k < bodies->n; k++) {
        uint32_t first = 0, consts = 0;
        int part = 0;
        items[k] = bodies->items[k];
        while (part < PARTS && strcmp(parts[part], bodies->keys[k]) != 0) part++;
        if (items[k].kind != KN_P_JAXPR || part == PARTS) continue;
        operands(&e->params[LENGTHS], part, &first, &consts);
        for (uint32_t i = 0; i < kn_nargs(items[k].jaxpr); i++) lanes[i] = i >= consts || kn_has_lanes(&m, first + i);
        KILN_TRY(r->batch(r, items[k].jaxpr, m.size, lanes, wanted, &items[k].jaxpr, found));
    }
    own[BODIES].items = items;
    return kn_lanes_emit(&m, own, in, y);
}

/* The body under this name; NULL when there is none. */
static const kn_jaxpr *body_of(const kn_eqn *e, int part)
{
    const kn_param *p = field(&e->params[BODIES], parts[part]);
    return p && p->kind == KN_P_JAXPR ? p->jaxpr : NULL;
}

/* The derivative of matvec(consts, x) in the constants: tangents of its results, or KN_SYMBOLIC_ZERO. */
static kiln_status matvec_tangents(const kn_rules *r, kn_build *b, const kn_eqn *e, const kn_atom *x, const kn_atom *dx, const kn_atom *y, kn_atom *out)
{
    kn_arena *arena = &b->prog->arena;
    const kn_jaxpr *body = body_of(e, MATVEC), *both;
    uint32_t first = 0, consts = 0, n = 0, k = 0;
    bool any = false;
    operands(&e->params[LENGTHS], MATVEC, &first, &consts);
    for (uint32_t i = 0; i < e->nout; i++) out[i] = KN_SYMBOLIC_ZERO;
    for (uint32_t i = 0; i < consts; i++) any |= dx[first + i] != KN_SYMBOLIC_ZERO;
    if (!any) return KILN_OK;
    if (!body || kn_nargs(body) != consts + e->nout || body->nout != e->nout)
        return kn_fail(b->ctx, KILN_INVALID, "custom_linear_solve: its derivative needs the program matvec of %u constants and %u arrays", consts, e->nout);
    bool *nonzero = KN_NEWN(arena, bool, kn_nargs(body)), *found = KN_NEWN(arena, bool, e->nout);
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * kn_nargs(body)), *all = KN_NEWN(arena, kn_atom, 2 * e->nout);
    KILN_TRY_MEM(b->ctx, nonzero && found && in && all);
    for (uint32_t i = 0; i < kn_nargs(body); i++) in[n++] = i < consts ? x[first + i] : y[i - consts];
    for (uint32_t i = 0; i < consts; i++)
        if ((nonzero[i] = dx[first + i] != KN_SYMBOLIC_ZERO)) in[n++] = dx[first + i];
    KILN_TRY(r->jvp(r, body, nonzero, NULL, &both, found));
    KILN_TRY(kn_low_inline(b, both, e, in, all));
    for (uint32_t i = 0; i < e->nout; i++)
        if (found[i]) out[i] = all[e->nout + k++];
    return KILN_OK;
}

/* A x = b, so A dx = db - dA x. */
static kiln_status jvp_linear_solve(KN_JVP_ARGS)
{
    kn_low l = {b, KILN_OK};
    uint32_t all = 0, none = 0;
    operands(&e->params[LENGTHS], PARTS, &all, &none);
    kn_atom *rest = KN_NEWN(&b->prog->arena, kn_atom, e->nout), *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, rest && in);
    KILN_TRY(matvec_tangents(r, b, e, x, dx, y, rest));
    bool any = false;
    for (uint32_t i = 0; i < e->nout; i++) any |= rest[i] != KN_SYMBOLIC_ZERO || dx[all + i] != KN_SYMBOLIC_ZERO;
    if (!any) return KILN_OK; /* only what the solvers use changes */
    memcpy(in, x, all * sizeof *in);
    for (uint32_t i = 0; i < e->nout; i++) in[all + i] = kn_derive_value(&l, kn_derive_add(&l, dx[all + i], kn_derive_neg(&l, rest[i])), kn_out_type(j, e, i));
    KILN_TRY(l.status);
    return kn_build_eqn(b, e->prim, e->params, in, e->nin, dy, e->nout);
}

/* A^T takes the place of A: vecmat that of matvec, transpose_solve that of solve, and what they use. */
static kiln_status transpose_linear_solve(KN_TRANSPOSE_ARGS)
{
    static const int other[PARTS] = {VECMAT, MATVEC, TRANSPOSE_SOLVE, SOLVE};
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_arena *arena = &b->prog->arena;
    uint32_t all = 0, none = 0, n = 0;
    operands(&e->params[LENGTHS], PARTS, &all, &none);
    for (uint32_t i = 0; i < all; i++)
        if (x[i] == KN_LINEAR) return kn_not_linear(b, e, "anything but its right sides");
    if (!body_of(e, TRANSPOSE_SOLVE)) return kn_fail(b->ctx, KILN_UNSUPPORTED, "custom_linear_solve: reverse derivatives need the program transpose_solve");
    kn_param records[2], *items = KN_NEWN(arena, kn_param, 2 * PARTS);
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin), *back = KN_NEWN(arena, kn_atom, e->nout);
    KILN_TRY_MEM(b->ctx, items && in && back);
    for (int k = 0; k < 2; k++) {
        records[k] = e->params[k];
        records[k].n = PARTS;
        records[k].keys = parts;
        records[k].items = items + k * PARTS;
        for (int i = 0; i < PARTS; i++) {
            const kn_param *p = field(&e->params[k], parts[other[i]]);
            items[k * PARTS + i] = p ? *p : KN_NONE;
        }
    }
    for (int i = 0; i < PARTS; i++) {
        uint32_t first = 0, consts = 0;
        operands(&e->params[LENGTHS], other[i], &first, &consts);
        for (uint32_t c = 0; c < consts; c++) in[n++] = x[first + c];
    }
    for (uint32_t i = 0; i < e->nout; i++) in[n++] = kn_derive_value(&l, ct[i], kn_out_type(j, e, i));
    KILN_TRY(l.status);
    KILN_TRY(kn_build_eqn(b, e->prim, records, in, n, back, e->nout));
    for (uint32_t i = 0; i < e->nout; i++)
        if (x[all + i] == KN_LINEAR) ct_in[all + i] = back[i];
    return KILN_OK;
}

KILN_PRIM(custom_linear_solve) = {
    .name = "custom_linear_solve",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(params),
    .type = type_solve,
    .jvp = jvp_linear_solve,
    .transpose = transpose_linear_solve,
    .lower = lower_solve,
    .batch = batch_solve,
    .sample = kn_sample_linear_solve,
    .doc = "Solves linear systems by the program `solve`; the programs matvec, vecmat and transpose_solve say what derivatives need.",
};
