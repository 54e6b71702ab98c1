/* SPDX-License-Identifier: Apache-2.0 */
/* custom_linear_solve: a call of the body `solve`; the others say what derivatives need. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/lowering.h"
#include "prim/sample.h"

enum { LENGTHS, BODIES };
static const kn_param_spec params[] = {{"const_lengths", KN_P_RECORD, 0}, {"jaxprs", KN_P_RECORD, 0}};
static const char *const parts[] = {"matvec", "vecmat", "solve", "transpose_solve"};
enum { SOLVE = 2, PARTS = 4 };

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

kiln_status kn_linear_solve_params(kiln_ctx *ctx, kn_arena *arena, const uint32_t lengths[4], const kn_jaxpr *const bodies[4], kn_param *out)
{
    kn_param *counts = KN_NEWN(arena, kn_param, PARTS), *items = KN_NEWN(arena, kn_param, PARTS);
    const char **keys = KN_NEWN(arena, const char *, PARTS);
    KILN_TRY_MEM(ctx, counts && items && keys);
    for (int k = 0; k < PARTS; k++) counts[k] = KN_INT(lengths[k]), items[k] = KN_JAXPR(bodies[k]), keys[k] = parts[k];
    out[LENGTHS] = (kn_param){.kind = KN_P_RECORD, .n = PARTS, .items = counts, .name = "_LinearSolveTuple", .keys = keys};
    out[BODIES] = (kn_param){.kind = KN_P_RECORD, .n = PARTS, .items = items, .name = "_LinearSolveTuple", .keys = keys};
    return KILN_OK;
}

KILN_PRIM(custom_linear_solve) = {
    .name = "custom_linear_solve",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(params),
    .type = type_solve,
    .lower = lower_solve,
    .batch = batch_solve,
    .sample = kn_sample_linear_solve,
    .doc = "Solves linear systems by the program `solve`; the programs matvec, vecmat and transpose_solve say what derivatives need.",
};
