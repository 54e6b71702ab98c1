/* SPDX-License-Identifier: Apache-2.0 */
/* QR factors by LAPACK's geqrf, with pivoting geqp3, and orgqr, and the routines beside them. */
#include "prim/batch.h"
#include "prim/derive.h"
#include "prim/index.h"
#include "prim/matrix.h"
#include "prim/sample.h"

/* ---- qr ---- */

enum { QR_FULL, QR_PIVOTING };
static const kn_param_spec qr_params[] = {
    {"full_matrices", KN_P_BOOL, 0}, {"pivoting", KN_P_BOOL, KN_PARAM_OPTIONAL}, {"use_magma", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_qr(kn_typing *t)
{
    kn_matrices z;
    bool full, pivoting = false;
    KILN_TRY(kn_typing_matrices(t, &z));
    KILN_TRY(kn_typing_bool(t, QR_FULL, &full));
    if (!kn_is_none(&t->params[QR_PIVOTING])) KILN_TRY(kn_typing_bool(t, QR_PIVOTING, &pivoting));
    KILN_TRY(kn_typing_out(t, pivoting ? 3 : 2));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.m, full ? z.m : z.k));
    KILN_TRY(kn_typing_batched(t, 1, t->in[0].dtype, 2, full ? z.m : z.k, z.n));
    return pivoting ? kn_typing_batched(t, 2, KILN_I32, 1, z.n, 0) : KILN_OK;
}

/* R with the reflections below it and their factors; with pivoting also where each column came from. */
static kiln_status packed_factors(kn_low *l, kn_atom x, kiln_type pivot, kn_atom packed[2], kn_atom *from)
{
    kn_atom in[2] = {x, 0}, out[3];
    if (!from) return kn_mat_lapack(l, "geqrf", NULL, in, 1, packed, 2);
    in[1] = kn_low_fill(l, pivot, (kn_scalar){.i = 0}); /* any column may come first */
    KILN_TRY(l->status);
    KILN_TRY(kn_mat_lapack(l, "geqp3", NULL, in, 2, out, 3));
    packed[0] = out[0], packed[1] = out[2];
    *from = kn_low2(l, &kn_prim_sub, out[1], kn_low_fill(l, pivot, (kn_scalar){.i = 1}));
    return l->status;
}

static kiln_status lower_qr(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    kn_matrices z = kn_matrices_of(t);
    bool full = e->params[QR_FULL].b;
    kn_atom packed[2], q[2];
    KILN_TRY(packed_factors(&l, x[0], e->nout == 3 ? kn_out_type(j, e, 2) : t, packed, e->nout == 3 ? &y[2] : NULL));
    q[0] = packed[0];
    q[1] = packed[1];
    if (z.m < z.n) q[0] = kn_mat_corner(&l, packed[0], z.m, z.m);
    else if (full && z.m > z.n) { /* room for the columns that span what the matrix does not */
        int64_t none[3] = {0}, more[3] = {0, z.m - z.n, 0};
        kn_param rows[KN_MAX_RANK];
        kn_atom in[2] = {packed[0], 0};
        for (uint32_t d = 0; d < t.rank; d++) rows[d] = KN_INTS(3, d + 1 == t.rank ? more : none);
        l.status = kn_build_literal(b, t.dtype, (kn_scalar){.c = {0, 0}}, &in[1]);
        q[0] = kn_low_op(&l, &kn_prim_pad, &KN_TUPLE(t.rank, rows), in, 2);
    }
    KILN_TRY(l.status);
    KILN_TRY(kn_mat_lapack(&l, "orgqr", NULL, q, 2, y, 1));
    y[1] = kn_mat_keep(&l, kn_mat_corner(&l, packed[0], full ? z.m : z.k, z.n), &kn_prim_le);
    if (e->nout == 3 && z.m == 0) y[2] = kn_low_fill(&l, kn_out_type(j, e, 2), (kn_scalar){.i = 0}); /* as JAX has it: nothing was compared */
    return l.status;
}

/* Thin factors A = Q R of full rank: with dA R^-1 = W and M = Q^H W, the skew Q^H dQ = S has the lower triangle of M, R's diagonal
 * staying real; dQ = Q (S - M) + W, dR = (M - S) R. Columns beyond the rows follow: R2 = Q^H A2. (S. F. Walter, L. Lehmann,
 * "Algorithmic differentiation of linear algebra functions with application in optimum experimental design", 2010; complex: J.
 * Townsend, "Differentiating the QR decomposition", 2018.) */
static kn_atom columns(kn_low *l, kn_atom x, int64_t from, int64_t to)
{
    int64_t start[KN_MAX_RANK] = {0}, limit[KN_MAX_RANK];
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dims[d];
    start[t.rank - 1] = from, limit[t.rank - 1] = to;
    return kn_derive_slice(l, x, start, limit, NULL);
}
static kiln_status jvp_qr(KN_JVP_ARGS)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0);
    kn_matrices z = kn_matrices_of(t);
    if (kiln_type_size(t) == 0) return KILN_OK;
    if (e->params[QR_FULL].b && z.m > z.n)
        return kn_fail(b->ctx, KILN_UNSUPPORTED,
                       "qr of %s with full_matrices has no derivative: the matrix does not say how the last columns of Q turn; full_matrices=False has one",
                       kn_type_show(t).s);
    bool wide = z.n > z.m;
    kn_atom a = x[0], change = dx[0];
    if (e->nout == 3) { /* of the matrix whose columns stand in the order of the permutation, which does not change */
        kn_atom from = kn_low_in_shape(l, kn_mat_row(l, y[2]), (kiln_type){KILN_I32, t.rank, t.dims});
        KILN_TRY(l->status);
        KILN_TRY(kn_build_take(b, x[0], from, t.rank - 1, &a));
        KILN_TRY(kn_build_take(b, dx[0], from, t.rank - 1, &change));
    }
    kn_atom right = wide ? columns(l, y[1], 0, z.m) : y[1], da = wide ? columns(l, change, 0, z.m) : change, back = kn_mat_adjoint(l, y[0]);
    kn_atom w = kn_mat_solve(l, right, da, 0), m = kn_mat_mul(l, back, w), below = kn_mat_keep(l, m, &kn_prim_gt);
    kn_atom skew = D_SUB(below, kn_mat_adjoint(l, below));
    if (kiln_dtype_kind(t.dtype) == 'c') {
        kn_atom on = kn_mat_keep(l, m, &kn_prim_eq);
        skew = D_ADD(skew, D_SUB(on, kn_low_convert(l, kn_mat_real(l, on), t.dtype)));
    }
    kn_atom rest = D_SUB(m, skew);
    dy[0] = D_SUB(w, kn_mat_mul(l, y[0], rest));
    dy[1] = kn_mat_mul(l, rest, right);
    if (wide) {
        kn_atom more = D_ADD(kn_mat_mul(l, kn_mat_adjoint(l, dy[0]), columns(l, a, z.m, z.n)), kn_mat_mul(l, back, columns(l, change, z.m, z.n)));
        dy[1] = kn_low_op(l, &kn_prim_concatenate, &KN_INT(t.rank - 1), (kn_atom[]){dy[1], more}, 2);
    }
    return l->status;
}

KILN_PRIM(qr) = {
    .name = "qr",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(qr_params),
    .type = type_qr,
    .jvp = jvp_qr,
    .lower = lower_qr,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Q with orthonormal columns and upper triangular R of matrices Q R; all columns of Q with full_matrices, else min(m, n). "
           "With pivoting Q R is the matrix with its columns in the order of the third result, and R's diagonal falls.",
};

/* ---- householder_product, geqrf: what qr is made of ---- */

static kiln_status type_householder(kn_typing *t)
{
    kn_matrices z;
    KILN_TRY(kn_typing_matrices(t, &z));
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
    return kn_mat_lapack(&l, "orgqr", NULL, x, 2, y, 1);
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
    kn_matrices z;
    KILN_TRY(kn_typing_matrices(t, &z));
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.m, z.n));
    return kn_typing_batched(t, 1, t->in[0].dtype, 1, z.k, 0);
}
static kiln_status lower_geqrf(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    return kn_mat_lapack(&l, "geqrf", NULL, x, 1, y, 2);
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

/* ---- geqp3: pivoted columns; ormqr: Q as its reflections, applied ---- */

static const kn_param_spec geqp3_params[] = {{"use_magma", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_geqp3(kn_typing *t)
{
    kn_matrices z;
    kiln_type pivots = t->in[1];
    KILN_TRY(kn_typing_matrices(t, &z));
    if (pivots.dtype != KILN_I32) return kn_fail(t->ctx, KILN_DTYPE, "geqp3: pivots are i32, %s given", kn_type_show(pivots).s);
    bool fits = pivots.rank == z.batch + 1 && pivots.dims[z.batch] == z.n;
    for (uint32_t d = 0; fits && d < z.batch; d++) fits = pivots.dims[d] == t->in[0].dims[d];
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "geqp3: one pivot for each column is needed, %s and %s given", kn_type_show(t->in[0]).s, kn_type_show(pivots).s);
    KILN_TRY(kn_typing_out(t, 3));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.m, z.n));
    KILN_TRY(kn_typing_batched(t, 1, KILN_I32, 1, z.n, 0));
    return kn_typing_batched(t, 2, t->in[0].dtype, 1, z.k, 0);
}
static kiln_status lower_geqp3(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    return kn_mat_lapack(&l, "geqp3", NULL, x, 2, y, 3);
}
KILN_PRIM(geqp3) = {
    .name = "geqp3",
    .nin = 2,
    .nout = 3,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(geqp3_params),
    .type = type_geqp3,
    .lower = lower_geqp3,
    .batch = kn_batch_full,
    .sample = kn_sample_pivoted,
    .doc = "geqrf of matrices whose columns are permuted so that R's diagonal falls; columns whose pivot is not 0 come first. Also gives the "
           "permutation, counted from 1: of column i of the result, the operand's.",
};

enum { ORMQR_LEFT, ORMQR_TRANSPOSE };
static const kn_param_spec ormqr_params[] = {{"left", KN_P_BOOL, 0}, {"transpose", KN_P_BOOL, 0}};

static kiln_status type_ormqr(kn_typing *t)
{
    kn_matrices z;
    bool left, adjoint;
    kiln_type tau = t->in[1], c = t->in[2];
    KILN_TRY(kn_typing_matrices(t, &z));
    for (uint32_t i = 1; i < 3; i++) KILN_TRY(kn_typing_same_dtype(t, 0, i));
    KILN_TRY(kn_typing_bool(t, ORMQR_LEFT, &left));
    KILN_TRY(kn_typing_bool(t, ORMQR_TRANSPOSE, &adjoint));
    bool fits = tau.rank == z.batch + 1 && tau.dims[z.batch] <= z.k && c.rank == z.batch + 2 && c.dims[z.batch + (left ? 0 : 1)] == z.m;
    for (uint32_t d = 0; fits && d < z.batch; d++) fits = tau.dims[d] == t->in[0].dims[d] && c.dims[d] == t->in[0].dims[d];
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "ormqr: reflections %s with factors %s do not fit %s, which has as many %s as they have rows",
                       kn_type_show(t->in[0]).s, kn_type_show(tau).s, kn_type_show(c).s, left ? "rows" : "columns");
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, c.dtype, c);
}
static kiln_status lower_ormqr(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    char adjoint = kiln_dtype_kind(kn_in_type(j, e, 0).dtype) == 'c' ? 'C' : 'T';
    char letters[] = {e->params[ORMQR_LEFT].b ? 'L' : 'R', e->params[ORMQR_TRANSPOSE].b ? adjoint : 'N', 0};
    return kn_mat_lapack(&l, "ormqr", letters, x, 3, y, 1);
}
KILN_PRIM(ormqr) = {
    .name = "ormqr",
    .nin = 3,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(ormqr_params),
    .type = type_ormqr,
    .lower = lower_ormqr,
    .batch = kn_batch_full,
    .sample = kn_sample_reflections,
    .doc = "Q C, with left=False C Q, of the product Q of the reflections that geqrf leaves with factors tau, and a matrix C; transpose takes Q^H.",
};
