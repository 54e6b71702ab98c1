/* SPDX-License-Identifier: Apache-2.0 */
/* tile, unstack: made of broadcasts and slices. */
#include "prim/batch.h"
#include "prim/derive.h"
#include "prim/sample.h"

/* ---- tile ---- */

static const kn_param_spec tile_params[] = {{"reps", KN_P_INTS, 0}};

static kiln_status type_tile(kn_typing *t)
{
    const int64_t *reps;
    int64_t *dims;
    uint32_t n;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_ints(t, 0, &reps, &n));
    if (n != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "tile: reps has %u entries for %s, one for each dimension is needed", n, kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank, &dims));
    for (uint32_t d = 0; d < x.rank; d++) {
        if (reps[d] < 0) return kn_fail(t->ctx, KILN_INVALID, "tile: reps are counts, %lld given for dimension %u", (long long)reps[d], d);
        if (__builtin_mul_overflow(x.dims[d], reps[d], &dims[d]))
            return kn_fail(t->ctx, KILN_SHAPE, "tile: dimension %u of %s is too large %lld times over", d, kn_type_show(x).s, (long long)reps[d]);
    }
    return KILN_OK;
}

static int64_t product(const int64_t *v, uint32_t from, uint32_t to)
{
    int64_t n = 1;
    for (uint32_t d = from; d < to; d++) n *= v[d];
    return n;
}

/* One pass over dimensions from..to-1 of the shape `now`: each is seen as a pair (repetition, index), those before and behind as one
 * dimension each. kept: places of what the operand has too; added: those of the repetitions. */
typedef struct pairs {
    int64_t all[KN_MAX_RANK], few[KN_MAX_RANK], kept[KN_MAX_RANK], added[KN_MAX_RANK];
    uint32_t n, nkept, nadded;
} pairs;

static void keep(pairs *p, int64_t size)
{
    p->few[p->nkept] = p->all[p->n] = size;
    p->kept[p->nkept++] = p->n++;
}
static pairs pairs_of(const int64_t *dims, const int64_t *reps, const int64_t *now, uint32_t rank, uint32_t from, uint32_t to)
{
    pairs p = {.n = 0};
    if (from > 0) keep(&p, product(now, 0, from));
    for (uint32_t d = from; d < to; d++) {
        p.added[p.nadded++] = p.n;
        p.all[p.n++] = reps[d];
        keep(&p, dims[d]);
    }
    if (to < rank) keep(&p, product(now, to, rank));
    return p;
}

/* a repeated, or, with `sum`, what was repeated added up. As many dimensions in one pass as the greatest rank lets stand in pairs. */
static kn_atom repeat(kn_low *l, kn_atom a, const int64_t *dims, const int64_t *reps, uint32_t rank, bool sum)
{
    int64_t now[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) now[d] = sum ? dims[d] * reps[d] : dims[d];
    for (uint32_t from = 0, to; from < rank && l->status == KILN_OK; from = to) {
        uint32_t room = KN_MAX_RANK - (from > 0);
        to = 2 * (rank - from) <= room ? rank : from + (room - 1) / 2;
        pairs p = pairs_of(dims, reps, now, rank, from, to);
        if (sum) {
            a = kn_derive_sum(l, kn_low_reshape(l, a, p.n, p.all), p.nadded, p.added);
        } else {
            a = kn_low_reshape(l, a, p.nkept, p.few);
            a = kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(p.nkept, p.kept), KN_INTS(p.n, p.all), KN_NONE}, &a, 1);
        }
        for (uint32_t d = from; d < to; d++) now[d] = sum ? dims[d] : dims[d] * reps[d];
        a = kn_low_reshape(l, a, rank, now);
    }
    return a;
}

static kiln_status lower_tile(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    y[0] = repeat(&l, x[0], t.dims, kn_ints(&e->params[0]), t.rank, false);
    return l.status;
}
static kiln_status transpose_tile(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    ct_in[0] = repeat(&l, ct[0], t.dims, kn_ints(&e->params[0]), t.rank, true);
    return l.status;
}
static kiln_status batch_tile(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t n = e->params[0].n;
    int64_t reps[KN_MAX_RANK + 1] = {1};
    if (n) memcpy(reps + 1, kn_ints(&e->params[0]), n * sizeof *reps);
    return kn_lanes_emit(&m, &KN_INTS(n + 1, reps), x, y);
}
KILN_PRIM(tile) = {
    .name = "tile",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(tile_params),
    .type = type_tile,
    .jvp = kn_jvp_linear,
    .transpose = transpose_tile,
    .lower = lower_tile,
    .batch = batch_tile,
    .sample = kn_sample_tile,
    .doc = "The operand repeated along every dimension, reps[i] times one behind another.",
};

/* ---- unstack ---- */

static const kn_param_spec unstack_params[] = {{"axis", KN_P_INT, 0}};

static kiln_status type_unstack(kn_typing *t)
{
    int64_t axis, *dims;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_axis(t, 0, x.rank, &axis));
    if (x.dims[axis] == 0 || x.dims[axis] > INT32_MAX)
        return kn_fail(t->ctx, KILN_SHAPE, "unstack: dimension %lld of %s is cut into its layers, of which there must be one at least and fewer than 2^31",
                       (long long)axis, kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, (uint32_t)x.dims[axis]));
    for (uint32_t i = 0; i < (uint32_t)x.dims[axis]; i++) {
        KILN_TRY(kn_typing_shape(t, i, x.dtype, x.rank - 1, &dims));
        for (uint32_t d = 0; d + 1 < x.rank; d++) dims[d] = x.dims[(int64_t)d < axis ? d : d + 1];
    }
    return KILN_OK;
}
static kiln_status lower_unstack(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    int64_t axis = e->params[0].i, start[KN_MAX_RANK] = {0}, limit[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dims[d];
    for (uint32_t i = 0; i < e->nout && l.status == KILN_OK; i++) {
        start[axis] = i, limit[axis] = (int64_t)i + 1;
        kn_atom layer = kn_derive_slice(&l, x[0], start, limit, NULL);
        y[i] = kn_low_op(&l, &kn_prim_squeeze, &KN_INTS(1, &axis), &layer, 1);
    }
    return l.status;
}
static kiln_status transpose_unstack(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nout);
    KILN_TRY_MEM(b->ctx, in);
    for (uint32_t i = 0; i < e->nout; i++) in[i] = kn_derive_value(&l, ct[i], kn_out_type(j, e, i));
    KILN_TRY(l.status);
    return kn_build_eqn(b, &kn_prim_stack, &e->params[0], in, e->nout, ct_in, 1);
}
KILN_PRIM(unstack) = {
    .name = "unstack",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(unstack_params),
    .type = type_unstack,
    .jvp = kn_jvp_linear,
    .transpose = transpose_unstack,
    .lower = lower_unstack,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_unstack,
    .doc = "The layers of the operand along `axis`, each without that dimension.",
};
