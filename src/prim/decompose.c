/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations under JAX's names: what they make of LAPACK's routines. A status that is not good gives NaN. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include <math.h>

#include "prims.gen.h"

/* ---- shapes ---- */

typedef struct matrices {
    uint32_t batch; /* leading dimensions */
    int64_t m, n, k;
} matrices;

static matrices sizes_of(kiln_type t)
{
    matrices z = {.batch = t.rank - 2, .m = t.dims[t.rank - 2], .n = t.dims[t.rank - 1]};
    z.k = z.m < z.n ? z.m : z.n;
    return z;
}

static kiln_status matrix_operand(kn_typing *t, matrices *z)
{
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    if (x.rank < 2) return kn_fail(t->ctx, KILN_SHAPE, "%s needs matrices, %s given", t->prim->name, kn_type_show(x).s);
    if (x.dtype != KILN_F32 && x.dtype != KILN_F64 && kiln_dtype_kind(x.dtype) != 'c')
        return kn_fail(t->ctx, KILN_DTYPE, "%s works on f32, f64, c64, c128; %s given", t->prim->name, kn_type_show(x).s);
    *z = sizes_of(x);
    return KILN_OK;
}

/* Result k: batch dimensions of the operand, then these. */
static kiln_status result(kn_typing *t, uint32_t k, kiln_dtype d, uint32_t own, int64_t a, int64_t b)
{
    int64_t *dims;
    uint32_t batch = t->in[0].rank - 2;
    KILN_TRY(kn_typing_shape(t, k, d, batch + own, &dims));
    for (uint32_t i = 0; i < batch; i++) dims[i] = t->in[0].dims[i];
    if (own > 0) dims[batch] = a;
    if (own > 1) dims[batch + 1] = b;
    return KILN_OK;
}

static kiln_status only_none(const kn_typing *t, const char *name)
{
    for (uint32_t i = 0; i < t->prim->nparams; i++)
        if (strcmp(t->prim->params[i].name, name) == 0 && !kn_is_none(&t->params[i]))
            return kn_fail(t->ctx, KILN_UNSUPPORTED, "%s: %s other than None is not supported", t->prim->name, name);
    return KILN_OK;
}

static kiln_dtype real_of(kiln_dtype d) { return kiln_dtype_kind(d) == 'c' ? kn_part_dtype(d) : d; }

/* ---- lowering ---- */

static kiln_status routine(kn_low *l, const char *name, const char *options, const kn_atom *in, uint32_t nin, kn_atom *out, uint32_t nout)
{
    kn_param params[] = {options ? KN_TEXT(options) : KN_NONE, KN_TEXT(name)};
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_lapack, params, in, nin, out, nout);
    return l->status;
}

/* NaN in the matrices (vectors) of which the status is not good. */
static kn_atom checked(kn_low *l, kn_atom x, kn_atom info, const kn_prim *test)
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

static kn_atom corner(kn_low *l, kn_atom x, int64_t rows, int64_t columns)
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

/* Zeros below the diagonal. */
static kn_atom upper(kn_low *l, kn_atom x)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x), at = {KILN_I32, t.rank, t.dims};
    kn_atom keep = kn_low2(l, &kn_prim_le, kn_low_iota(l, at, t.rank - 2), kn_low_iota(l, at, t.rank - 1));
    return kn_low_select(l, keep, x, kn_low_fill(l, t, (kn_scalar){.c = {0, 0}}));
}

/* ---- lu ---- */

static kiln_status type_lu(kn_typing *t)
{
    matrices z;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_out(t, 3));
    KILN_TRY(result(t, 0, t->in[0].dtype, 2, z.m, z.n));
    KILN_TRY(result(t, 1, KILN_I32, 1, z.k, 0));
    return result(t, 2, KILN_I32, 1, z.m, 0);
}

static kiln_status lower_lu(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom out[3];
    matrices z = sizes_of(kn_in_type(j, e, 0));
    KILN_TRY(routine(&l, "getrf", NULL, x, 1, out, 3));
    y[0] = checked(&l, out[0], out[2], &kn_prim_ge);
    kiln_type pivots = kn_build_type(b, out[1]);
    y[1] = kn_low2(&l, &kn_prim_sub, out[1], kn_low_fill(&l, pivots, (kn_scalar){.i = 1}));
    y[2] = kn_low_op(&l, &kn_prim_lu_pivots_to_permutation, &KN_INT(z.m), &y[1], 1);
    return l.status;
}

KILN_PRIM(lu) = {
    .name = "lu",
    .nin = 1,
    .nout = 3,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_lu,
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

/* ---- qr ---- */

enum { QR_FULL, QR_PIVOTING };
static const kn_param_spec qr_params[] = {
    {"full_matrices", KN_P_BOOL, 0}, {"pivoting", KN_P_BOOL, KN_PARAM_OPTIONAL}, {"use_magma", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_qr(kn_typing *t)
{
    matrices z;
    bool full;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_bool(t, QR_FULL, &full));
    if (!kn_is_none(&t->params[QR_PIVOTING]) && t->params[QR_PIVOTING].b)
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "qr: pivoting is not supported");
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(result(t, 0, t->in[0].dtype, 2, z.m, full ? z.m : z.k));
    return result(t, 1, t->in[0].dtype, 2, full ? z.m : z.k, z.n);
}

static kiln_status lower_qr(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    matrices z = sizes_of(t);
    bool full = e->params[QR_FULL].b;
    kn_atom packed[2], q[2];
    KILN_TRY(routine(&l, "geqrf", NULL, x, 1, packed, 2));
    q[0] = packed[0];
    q[1] = packed[1];
    if (z.m < z.n) q[0] = corner(&l, packed[0], z.m, z.m);
    else if (full && z.m > z.n) { /* room for the columns that span what the matrix does not */
        int64_t none[3] = {0}, more[3] = {0, z.m - z.n, 0};
        kn_param rows[KN_MAX_RANK];
        kn_atom in[2] = {packed[0], 0};
        for (uint32_t d = 0; d < t.rank; d++) rows[d] = KN_INTS(3, d + 1 == t.rank ? more : none);
        l.status = kn_build_literal(b, t.dtype, (kn_scalar){.c = {0, 0}}, &in[1]);
        q[0] = kn_low_op(&l, &kn_prim_pad, &KN_TUPLE(t.rank, rows), in, 2);
    }
    KILN_TRY(l.status);
    KILN_TRY(routine(&l, "orgqr", NULL, q, 2, y, 1));
    y[1] = upper(&l, corner(&l, packed[0], full ? z.m : z.k, z.n));
    return l.status;
}

KILN_PRIM(qr) = {
    .name = "qr",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(qr_params),
    .type = type_qr,
    .lower = lower_qr,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Q with orthonormal columns and upper triangular R of matrices Q R; all columns of Q with full_matrices, else min(m, n).",
};

/* ---- householder_product, geqrf: what qr is made of ---- */

static kiln_status type_householder(kn_typing *t)
{
    matrices z;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    kiln_type tau = t->in[1];
    bool fits = tau.rank + 1 == t->in[0].rank && z.m >= z.n && tau.dims[tau.rank - 1] <= z.n;
    for (uint32_t d = 0; fits && d < z.batch; d++) fits = tau.dims[d] == t->in[0].dims[d];
    if (!fits) return kn_fail(t->ctx, KILN_SHAPE, "householder_product: %s and %s do not fit", kn_type_show(t->in[0]).s, kn_type_show(tau).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, t->in[0].dtype, t->in[0]);
}
static kiln_status lower_householder(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    return routine(&l, "orgqr", NULL, x, 2, y, 1);
}
KILN_PRIM(householder_product) = {
    .name = "householder_product",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_householder,
    .lower = lower_householder,
    .batch = kn_batch_full,
    .sample = kn_sample_householder,
    .doc = "The product of the reflections that geqrf leaves below the diagonal, with its factors tau.",
};

static kiln_status type_geqrf(kn_typing *t)
{
    matrices z;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(result(t, 0, t->in[0].dtype, 2, z.m, z.n));
    return result(t, 1, t->in[0].dtype, 1, z.k, 0);
}
static kiln_status lower_geqrf(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    return routine(&l, "geqrf", NULL, x, 1, y, 2);
}
KILN_PRIM(geqrf) = {
    .name = "geqrf",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_geqrf,
    .lower = lower_geqrf,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "R of matrices Q R, the reflections whose product is Q below its diagonal, and their factors tau.",
};

/* ---- eigh ---- */

enum { EIGH_ALGORITHM, EIGH_LOWER };
static const kn_param_spec eigh_params[] = {{"algorithm", KN_P_NONE, KN_PARAM_OPTIONAL},
                                            {"lower", KN_P_BOOL, 0},
                                            {"sort_eigenvalues", KN_P_NONE, KN_PARAM_OPTIONAL},
                                            {"subset_by_index", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_eigh(kn_typing *t)
{
    matrices z;
    bool lower;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_bool(t, EIGH_LOWER, &lower));
    KILN_TRY(only_none(t, "subset_by_index"));
    if (z.m != z.n) return kn_fail(t->ctx, KILN_SHAPE, "eigh needs square matrices, %s given", kn_type_show(t->in[0]).s);
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(result(t, 0, t->in[0].dtype, 2, z.n, z.n));
    return result(t, 1, real_of(t->in[0].dtype), 1, z.n, 0);
}

static kiln_status lower_eigh(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    kn_atom out[3];
    KILN_TRY(routine(&l, "syevd", e->params[EIGH_LOWER].b ? "VL" : "VU", x, 1, out, 3));
    for (int i = 0; i < 2; i++) y[i] = checked(&l, out[i], out[2], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(eigh) = {
    .name = "eigh",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(eigh_params),
    .type = type_eigh,
    .lower = lower_eigh,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Eigenvectors, as columns, and eigenvalues, rising, of Hermitian matrices, of which one triangle is read.",
};

/* ---- svd ---- */

enum { SVD_ALGORITHM, SVD_UV, SVD_FULL };
static const kn_param_spec svd_params[] = {{"algorithm", KN_P_NONE, KN_PARAM_OPTIONAL},
                                           {"compute_uv", KN_P_BOOL, 0},
                                           {"full_matrices", KN_P_BOOL, 0},
                                           {"subset_by_index", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_svd(kn_typing *t)
{
    matrices z;
    bool uv, full;
    KILN_TRY(matrix_operand(t, &z));
    KILN_TRY(kn_typing_bool(t, SVD_UV, &uv));
    KILN_TRY(kn_typing_bool(t, SVD_FULL, &full));
    KILN_TRY(only_none(t, "subset_by_index"));
    KILN_TRY(kn_typing_out(t, uv ? 3 : 1));
    KILN_TRY(result(t, 0, real_of(t->in[0].dtype), 1, z.k, 0));
    if (!uv) return KILN_OK;
    KILN_TRY(result(t, 1, t->in[0].dtype, 2, z.m, full ? z.m : z.k));
    return result(t, 2, t->in[0].dtype, 2, full ? z.n : z.k, z.n);
}

static kiln_status lower_svd(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    kn_atom out[5];
    bool uv = e->params[SVD_UV].b;
    KILN_TRY(routine(&l, "gesdd", !uv ? "N" : e->params[SVD_FULL].b ? "A" : "S", x, 1, out, 5));
    for (int i = 0; i < (uv ? 3 : 1); i++) y[i] = checked(&l, out[1 + i], out[4], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(svd) = {
    .name = "svd",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(svd_params),
    .type = type_svd,
    .lower = lower_svd,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Singular values of matrices, falling; with compute_uv also the matrices U and V^H of U diag(s) V^H.",
};

/* ---- tridiagonal_solve ---- */

static const kn_param_spec tridiagonal_params[] = {{"perturb_singular", KN_P_BOOL, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

static kiln_status type_tridiagonal(kn_typing *t)
{
    kiln_type b = t->in[3];
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    if (!kn_is_none(&t->params[0]) && t->params[0].b)
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "tridiagonal_solve: perturb_singular is not supported");
    for (uint32_t i = 1; i < 4; i++) KILN_TRY(kn_typing_same_dtype(t, 0, i));
    bool fits = b.rank >= 2;
    for (uint32_t i = 0; fits && i < 3; i++) {
        fits = t->in[i].rank + 1 == b.rank;
        for (uint32_t d = 0; fits && d + 1 < b.rank; d++) fits = t->in[i].dims[d] == b.dims[d];
    }
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "tridiagonal_solve: three diagonals of n and right sides [.., n, k] are needed, %s and %s given",
                       kn_type_show(t->in[0]).s, kn_type_show(b).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, b.dtype, b);
}

static kiln_status lower_tridiagonal(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    kn_atom out[5];
    KILN_TRY(routine(&l, "gtsv", NULL, x, 4, out, 5));
    y[0] = checked(&l, out[3], out[4], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(tridiagonal_solve) = {
    .name = "tridiagonal_solve",
    .nin = 4,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(tridiagonal_params),
    .type = type_tridiagonal,
    .lower = lower_tridiagonal,
    .batch = kn_batch_full,
    .sample = kn_sample_tridiagonal,
    .doc = "Solves tridiagonal systems: lower, main and upper diagonals (the first of the lower and the last of the upper are not read), "
           "and right sides.",
};
