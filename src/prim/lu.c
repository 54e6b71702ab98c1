/* SPDX-License-Identifier: Apache-2.0 */
/* LU factors by LAPACK's getrf. A status that is not good gives NaN. */
#include "prim/batch.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/index.h"
#include "prim/matrix.h"
#include "prim/sample.h"

/* ---- lu ---- */

static kiln_status type_lu(kn_typing *t)
{
    kn_matrices z;
    KILN_TRY(kn_typing_matrices(t, &z));
    KILN_TRY(kn_typing_out(t, 3));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.m, z.n));
    KILN_TRY(kn_typing_batched(t, 1, KILN_I32, 1, z.k, 0));
    return kn_typing_batched(t, 2, KILN_I32, 1, z.m, 0);
}

static kiln_status lower_lu(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom out[3];
    kn_matrices z = kn_matrices_of(kn_in_type(j, e, 0));
    KILN_TRY(kn_mat_lapack(&l, "getrf", NULL, x, 1, out, 3));
    y[0] = kn_mat_checked(&l, out[0], out[2], &kn_prim_ge);
    kiln_type pivots = kn_build_type(b, out[1]);
    y[1] = kn_low2(&l, &kn_prim_sub, out[1], kn_low_fill(&l, pivots, (kn_scalar){.i = 1}));
    y[2] = kn_low_op(&l, &kn_prim_lu_pivots_to_permutation, &KN_INT(z.m), &y[1], 1);
    return l.status;
}

/* A of m rows and n columns as it stands, its rows in the order of the permutation: A = L U, so dA = dL U + L dU, and
 * L^-1 dA U^-1 = L^-1 dL + dU U^-1 is a strictly lower matrix plus an upper one (F. R. de Hoog, R. S. Anderssen, M. A. Lukas,
 * "Differentiation of matrix functionals using triangular factorization", 2011). L and U are made square by units on the diagonal. */
static kiln_status jvp_lu(KN_JVP_ARGS)
{
    (void)r, (void)x;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0), at = {KILN_I32, t.rank, t.dims};
    kn_matrices z = kn_matrices_of(t);
    if (kiln_type_size(t) == 0) return KILN_OK;
    kn_atom rows = kn_low_in_shape(l, kn_mat_column(l, y[2]), at), da = 0;
    KILN_TRY(l->status);
    KILN_TRY(kn_build_take(b, dx[0], rows, t.rank - 2, &da));
    kn_atom lower = kn_mat_keep(l, kn_mat_room(l, kn_mat_corner(l, y[0], z.m, z.k), z.m, z.m), &kn_prim_gt);
    kn_atom upper = kn_mat_keep(l, kn_mat_room(l, kn_mat_corner(l, y[0], z.k, z.n), z.n, z.n), &kn_prim_le);
    if (z.n > z.m) {
        kiln_type square = kn_build_type(b, upper);
        kn_atom unit = kn_mat_keep(l, kn_low_fill(l, square, (kn_scalar){.c = {1, 0}}), &kn_prim_eq);
        kn_atom behind = kn_low2(l, &kn_prim_ge, kn_low_iota(l, (kiln_type){KILN_I32, square.rank, square.dims}, square.rank - 2), kn_low_num(l, KILN_I32, (double)z.m));
        upper = kn_low_select(l, behind, unit, upper);
    }
    kn_atom q = kn_mat_solve(l, lower, da, KN_SOLVE_LEFT | KN_SOLVE_LOWER | KN_SOLVE_UNIT);
    q = kn_mat_solve(l, upper, q, 0);
    kn_atom below = kn_mat_keep(l, q, &kn_prim_gt), above = kn_mat_keep(l, q, &kn_prim_le);
    dy[0] = D_ADD(D_ADD(below, kn_mat_mul(l, lower, below)), kn_mat_mul(l, above, upper));
    return l->status;
}

KILN_PRIM(lu) = {
    .name = "lu",
    .nin = 1,
    .nout = 3,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_lu,
    .jvp = jvp_lu,
    .lower = lower_lu,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "LU factors of matrices with partial pivoting, in one array; the pivots, from 0; the permutation of the rows.",
};

/* ---- lu_pivots_to_permutation ---- */

static const kn_param_spec permutation_params[] = {{"permutation_size", KN_P_INT, 0}};

static kiln_status type_permutation(kn_typing *t)
{
    int64_t size, *dims;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_int(t, 0, &size));
    if (x.dtype != KILN_I32 || x.rank < 1 || size < x.dims[x.rank - 1])
        return kn_fail(t->ctx, x.dtype == KILN_I32 ? KILN_SHAPE : KILN_DTYPE, "lu_pivots_to_permutation: pivots i32[.., k] with k <= %lld are needed, %s given",
                       (long long)size, kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, KILN_I32, x.rank, &dims));
    for (uint32_t d = 0; d + 1 < x.rank; d++) dims[d] = x.dims[d];
    dims[x.rank - 1] = size;
    return KILN_OK;
}

/* Column i of an array, with a last dimension of size 1. */
static kn_atom column(kn_low *l, kn_atom x, kn_atom i)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    kn_atom in[KN_MAX_RANK + 1] = {x}, zero = 0;
    int64_t sizes[KN_MAX_RANK];
    l->status = kn_build_literal(l->b, KILN_I32, (kn_scalar){.i = 0}, &zero);
    for (uint32_t d = 0; d < t.rank; d++) {
        bool last = d + 1 == t.rank;
        in[1 + d] = last ? i : zero;
        sizes[d] = last ? 1 : t.dims[d];
    }
    return kn_low_op(l, &kn_prim_dynamic_slice, &KN_INTS(t.rank, sizes), in, 1 + t.rank);
}

static kn_atom spread(kn_low *l, kn_atom x, kiln_type t)
{
    if (l->status != KILN_OK) return 0;
    kiln_type shape = t;
    shape.dtype = kn_build_type(l->b, x).dtype;
    return kn_low_in_shape(l, x, shape);
}

/* Elements i and pivot[i] of the permutation change places. */
static kn_atom exchange(kn_low *l, kn_atom pivots, kn_atom permutation, kn_atom i)
{
    kiln_type t = kn_build_type(l->b, permutation);
    int64_t last = (int64_t)t.rank - 1, dims[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = d + 1 == t.rank ? 1 : t.dims[d];
    kn_atom at = kn_low_iota(l, t, t.rank - 1), here = kn_low2(l, &kn_prim_eq, at, kn_low_widen(l, i, t));
    kn_atom there = kn_low2(l, &kn_prim_eq, at, spread(l, column(l, pivots, i), t));
    kn_atom x = spread(l, column(l, permutation, i), t);
    kn_atom sum = kn_low_op(l, &kn_prim_reduce_sum, (kn_param[]){KN_INTS(1, &last), KN_NONE},
                            (kn_atom[]){kn_low_select(l, there, permutation, kn_low_fill(l, t, (kn_scalar){.i = 0}))}, 1);
    kn_atom y = spread(l, kn_low_reshape(l, sum, t.rank, dims), t);
    return kn_low_select(l, there, x, kn_low_select(l, here, y, permutation));
}

static kiln_status lower_permutation(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kiln_type pivots = kn_in_type(j, e, 0), t = kn_out_type(j, e, 0), i32 = KILN_SCALAR(KILN_I32);
    int64_t n = pivots.dims[pivots.rank - 1];
    kn_low l = {b, KILN_OK};
    kn_atom start = kn_low_iota(&l, t, t.rank - 1), in[3], out[2], lit;
    KILN_TRY(l.status);
    if (n == 0 || kiln_type_size(t) == 0) {
        y[0] = start;
        return KILN_OK;
    }
    const kn_jaxpr *bodies[2];
    for (int which = 0; which < 2; which++) { /* the condition, the body */
        kn_build own;
        kn_build_init(&own, b->ctx, b->prog);
        own.scope = b->scope, own.loc = b->loc;
        kn_low w = {&own, KILN_OK};
        if (which) KILN_TRY(kn_build_input(&own, pivots, &in[0]));
        KILN_TRY(kn_build_input(&own, i32, &in[1]));
        KILN_TRY(kn_build_input(&own, t, &in[2]));
        KILN_TRY(kn_build_literal(&own, KILN_I32, (kn_scalar){.i = which ? 1 : n}, &lit));
        if (which) out[1] = exchange(&w, in[0], in[2], in[1]);
        out[0] = kn_low2(&w, which ? &kn_prim_add : &kn_prim_lt, in[1], lit);
        KILN_TRY(w.status);
        KILN_TRY(kn_build_finish(&own, out, which ? 2 : 1, &bodies[which]));
    }
    KILN_TRY(kn_build_literal(b, KILN_I32, (kn_scalar){.i = 0}, &lit));
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, bodies[0], 0, bodies[1], 1);
    KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, (kn_atom[]){x[0], lit, start}, 3, out, 2));
    y[0] = out[1];
    return KILN_OK;
}

KILN_PRIM(lu_pivots_to_permutation) = {
    .name = "lu_pivots_to_permutation",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(permutation_params),
    .type = type_permutation,
    .lower = lower_permutation,
    .batch = kn_batch_full,
    .sample = kn_sample_pivots,
    .doc = "The permutation of `permutation_size` rows that exchanging row i with row pivots[i], for i = 0, 1, .., gives.",
};

