/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/matrix.h"

#include <math.h>

#include "prims.gen.h"

kn_matrices kn_matrices_of(kiln_type t)
{
    kn_matrices z = {.batch = t.rank - 2, .m = t.dims[t.rank - 2], .n = t.dims[t.rank - 1]};
    z.k = z.m < z.n ? z.m : z.n;
    return z;
}

/* ---- type rules ---- */

kiln_status kn_typing_matrices(const kn_typing *t, kn_matrices *z)
{
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    if (x.rank < 2) return kn_fail(t->ctx, KILN_SHAPE, "%s needs matrices, %s given", t->prim->name, kn_type_show(x).s);
    if (x.dtype != KILN_F32 && x.dtype != KILN_F64 && kiln_dtype_kind(x.dtype) != 'c')
        return kn_fail(t->ctx, KILN_DTYPE, "%s works on f32, f64, c64, c128; %s given", t->prim->name, kn_type_show(x).s);
    *z = kn_matrices_of(x);
    return KILN_OK;
}

kiln_status kn_typing_batched(kn_typing *t, uint32_t k, kiln_dtype d, uint32_t own, int64_t a, int64_t b)
{
    int64_t *dims;
    uint32_t batch = t->in[0].rank - 2;
    KILN_TRY(kn_typing_shape(t, k, d, batch + own, &dims));
    for (uint32_t i = 0; i < batch; i++) dims[i] = t->in[0].dims[i];
    if (own > 0) dims[batch] = a;
    if (own > 1) dims[batch + 1] = b;
    return KILN_OK;
}

kiln_status kn_typing_only_none(const kn_typing *t, const char *name)
{
    for (uint32_t i = 0; i < t->prim->nparams; i++)
        if (strcmp(t->prim->params[i].name, name) == 0 && !kn_is_none(&t->params[i]))
            return kn_fail(t->ctx, KILN_UNSUPPORTED, "%s: %s other than None is not supported", t->prim->name, name);
    return KILN_OK;
}

/* ---- LAPACK ---- */

kiln_status kn_mat_lapack(kn_low *l, const char *name, const char *options, const kn_atom *in, uint32_t nin, kn_atom *out, uint32_t nout)
{
    kn_param params[] = {options ? KN_TEXT(options) : KN_NONE, KN_TEXT(name)};
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_lapack, params, in, nin, out, nout);
    return l->status;
}

kn_atom kn_mat_checked(kn_low *l, kn_atom x, kn_atom info, const kn_prim *test)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x), s = kn_build_type(l->b, info);
    double nan = (double)NAN;
    kn_atom zero = kn_low_fill(l, s, (kn_scalar){.i = 0}), good = kn_low2(l, test, info, zero);
    kn_scalar v = {.f = nan};
    if (kiln_dtype_kind(t.dtype) == 'c') v = (kn_scalar){.c = {nan, nan}};
    kn_atom other = kn_low_fill(l, t, v);
    if (l->status != KILN_OK) return 0;
    int64_t at[KN_MAX_RANK];
    for (uint32_t d = 0; d < s.rank; d++) at[d] = d;
    kn_param params[] = {KN_INTS(s.rank, at), KN_INTS(t.rank, t.dims), KN_NONE};
    if (t.rank != s.rank) good = kn_low_op(l, &kn_prim_broadcast_in_dim, params, &good, 1);
    return kn_low_select(l, good, x, other);
}

/* ---- parts and products ---- */

kn_atom kn_mat_corner(kn_low *l, kn_atom x, int64_t rows, int64_t columns)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    int64_t zero[KN_MAX_RANK] = {0}, limit[KN_MAX_RANK];
    if (t.dims[t.rank - 2] == rows && t.dims[t.rank - 1] == columns) return x;
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dims[d];
    limit[t.rank - 2] = rows, limit[t.rank - 1] = columns;
    kn_param params[] = {KN_INTS(t.rank, limit), KN_INTS(t.rank, zero), KN_NONE};
    return kn_low_op(l, &kn_prim_slice, params, &x, 1);
}

kn_atom kn_mat_room(kn_low *l, kn_atom x, int64_t rows, int64_t columns)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    int64_t v[KN_MAX_RANK][3] = {{0}};
    kn_param items[KN_MAX_RANK];
    v[t.rank - 2][1] = rows - t.dims[t.rank - 2], v[t.rank - 1][1] = columns - t.dims[t.rank - 1];
    if (v[t.rank - 2][1] == 0 && v[t.rank - 1][1] == 0) return x;
    for (uint32_t d = 0; d < t.rank; d++) items[d] = KN_INTS(3, v[d]);
    return kn_low_op(l, &kn_prim_pad, &KN_TUPLE(t.rank, items), (kn_atom[]){x, kn_low_num(l, t.dtype, 0)}, 2);
}

kn_atom kn_mat_keep(kn_low *l, kn_atom x, const kn_prim *test)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x), at = {KILN_I32, t.rank, t.dims};
    kn_atom keep = kn_low2(l, test, kn_low_iota(l, at, t.rank - 2), kn_low_iota(l, at, t.rank - 1));
    return kn_low_select(l, keep, x, kn_low_fill(l, t, (kn_scalar){.c = {0, 0}}));
}

kn_atom kn_mat_turn(kn_low *l, kn_atom x)
{
    if (l->status != KILN_OK) return 0;
    uint32_t rank = kn_build_type(l->b, x).rank;
    int64_t turn[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) turn[d] = d;
    turn[rank - 2] = rank - 1, turn[rank - 1] = rank - 2;
    return kn_low_op(l, &kn_prim_transpose, &KN_INTS(rank, turn), &x, 1);
}

static bool is_complex(const kn_low *l, kn_atom x) { return l->status == KILN_OK && kiln_dtype_kind(kn_build_type(l->b, x).dtype) == 'c'; }

kn_atom kn_mat_adjoint(kn_low *l, kn_atom x)
{
    kn_atom y = kn_mat_turn(l, x);
    return is_complex(l, x) ? kn_low_op(l, &kn_prim_conj, &KN_DTYPE(kn_build_type(l->b, x).dtype), &y, 1) : y;
}

kn_atom kn_mat_real(kn_low *l, kn_atom x) { return is_complex(l, x) ? kn_low1(l, &kn_prim_real, x) : x; }

kn_atom kn_mat_mul(kn_low *l, kn_atom a, kn_atom b)
{
    if (l->status != KILN_OK) return 0;
    int64_t rank = (int64_t)kn_build_type(l->b, a).rank, row = rank - 2, column = rank - 1, batch[KN_MAX_RANK];
    for (int64_t d = 0; d < row; d++) batch[d] = d;
    kn_param contract[2] = {KN_INTS(1, &column), KN_INTS(1, &row)}, lanes[2] = {KN_INTS(row, batch), KN_INTS(row, batch)};
    kn_param pair[2] = {KN_TUPLE(2, contract), KN_TUPLE(2, lanes)}, params[4] = {KN_TUPLE(2, pair), KN_NONE, KN_NONE, KN_NONE};
    return kn_low_op(l, &kn_prim_dot_general, params, (kn_atom[]){a, b}, 2);
}

kn_atom kn_mat_diagonal(kn_low *l, kn_atom x)
{
    if (l->status != KILN_OK) return 0;
    int64_t row = (int64_t)kn_build_type(l->b, x).rank - 2;
    kn_atom on = kn_mat_keep(l, x, &kn_prim_eq);
    return kn_low_op(l, &kn_prim_reduce_sum, (kn_param[]){KN_INTS(1, &row), KN_NONE}, &on, 1);
}

static kn_atom as_matrix(kn_low *l, kn_atom v, bool column)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, v);
    int64_t dims[KN_MAX_RANK + 1];
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = t.dims[d];
    dims[t.rank] = dims[t.rank - 1], dims[t.rank - 1] = 1;
    if (column) dims[t.rank - 1] = dims[t.rank], dims[t.rank] = 1;
    return kn_low_reshape(l, v, t.rank + 1, dims);
}
kn_atom kn_mat_row(kn_low *l, kn_atom v) { return as_matrix(l, v, false); }
kn_atom kn_mat_column(kn_low *l, kn_atom v) { return as_matrix(l, v, true); }

kn_atom kn_mat_half(kn_low *l, kn_atom x, bool lower)
{
    if (l->status != KILN_OK) return 0;
    kiln_dtype d = kn_build_type(l->b, x).dtype;
    kn_atom on = kn_low_convert(l, kn_mat_real(l, kn_low2(l, &kn_prim_mul, kn_mat_keep(l, x, &kn_prim_eq), kn_low_num(l, d, 0.5))), d);
    return kn_low2(l, &kn_prim_add, kn_mat_keep(l, x, lower ? &kn_prim_gt : &kn_prim_lt), on);
}

kn_atom kn_mat_hermitian(kn_low *l, kn_atom x, bool lower)
{
    kn_atom half = kn_mat_half(l, x, lower);
    return kn_low2(l, &kn_prim_add, half, kn_mat_adjoint(l, half));
}

kn_atom kn_mat_solve(kn_low *l, kn_atom a, kn_atom b, unsigned how)
{
    kn_param params[5];
    for (int i = 0; i < 5; i++) params[i] = KN_BOOL((how >> i & 1) != 0);
    return kn_low_op(l, &kn_prim_triangular_solve, params, (kn_atom[]){a, b}, 2);
}
