/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenvectors of Hermitian matrices and singular vectors, by LAPACK's syevd and gesdd. A status that is not good gives NaN. */
#include "prim/batch.h"
#include "prim/derive.h"
#include "prim/matrix.h"
#include "prim/sample.h"

static kiln_dtype real_of(kiln_dtype d) { return kiln_dtype_kind(d) == 'c' ? kn_part_dtype(d) : d; }

/* ---- eigh ---- */

enum { EIGH_ALGORITHM, EIGH_LOWER };
static const kn_param_spec eigh_params[] = {{"algorithm", KN_P_NONE, KN_PARAM_OPTIONAL},
                                            {"lower", KN_P_BOOL, 0},
                                            {"sort_eigenvalues", KN_P_NONE, KN_PARAM_OPTIONAL},
                                            {"subset_by_index", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_eigh(kn_typing *t)
{
    kn_matrices z;
    bool lower;
    KILN_TRY(kn_typing_matrices(t, &z));
    KILN_TRY(kn_typing_bool(t, EIGH_LOWER, &lower));
    KILN_TRY(kn_typing_only_none(t, "subset_by_index"));
    if (z.m != z.n) return kn_fail(t->ctx, KILN_SHAPE, "eigh needs square matrices, %s given", kn_type_show(t->in[0]).s);
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.n, z.n));
    return kn_typing_batched(t, 1, real_of(t->in[0].dtype), 1, z.n, 0);
}

static kiln_status lower_eigh(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    kn_atom out[3];
    KILN_TRY(kn_mat_lapack(&l, "syevd", e->params[EIGH_LOWER].b ? "VL" : "VU", x, 1, out, 3));
    for (int i = 0; i < 2; i++) y[i] = kn_mat_checked(&l, out[i], out[2], &kn_prim_eq);
    return l.status;
}

/* M = V^H dA V: dw is its real diagonal, dV = V (F M) elementwise with F = 1/(w_j - w_i) off the diagonal: NaN at values that are
 * equal, whose vectors are not determined (M. B. Giles, "An extended collection of matrix derivative results for forward and reverse
 * mode algorithmic differentiation", 2008, section 3.1). dA is what its own triangle says. */
static kiln_status jvp_eigh(KN_JVP_ARGS)
{
    (void)r, (void)x;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0);
    if (kiln_type_size(t) == 0) return KILN_OK;
    kn_atom da = kn_mat_hermitian(l, dx[0], e->params[EIGH_LOWER].b);
    kn_atom m = kn_mat_mul(l, kn_mat_mul(l, kn_mat_adjoint(l, y[0]), da), y[0]);
    dy[1] = kn_mat_real(l, kn_mat_diagonal(l, m));
    kn_atom apart = D_SUB(kn_mat_row(l, y[1]), kn_mat_column(l, y[1]));
    KILN_TRY(l->status);
    kn_atom unit = kn_mat_keep(l, kn_low_fill(l, kn_build_type(b, apart), (kn_scalar){.f = 1}), &kn_prim_eq);
    kn_atom f = D_SUB(D_DIV(kn_low_num(l, real_of(t.dtype), 1), D_ADD(apart, unit)), unit);
    dy[0] = kn_mat_mul(l, y[0], D_MUL(kn_low_convert(l, f, t.dtype), m));
    return l->status;
}

KILN_PRIM(eigh) = {
    .name = "eigh",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(eigh_params),
    .type = type_eigh,
    .jvp = jvp_eigh,
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
    kn_matrices z;
    bool uv, full;
    KILN_TRY(kn_typing_matrices(t, &z));
    KILN_TRY(kn_typing_bool(t, SVD_UV, &uv));
    KILN_TRY(kn_typing_bool(t, SVD_FULL, &full));
    KILN_TRY(kn_typing_only_none(t, "subset_by_index"));
    KILN_TRY(kn_typing_out(t, uv ? 3 : 1));
    KILN_TRY(kn_typing_batched(t, 0, real_of(t->in[0].dtype), 1, z.k, 0));
    if (!uv) return KILN_OK;
    KILN_TRY(kn_typing_batched(t, 1, t->in[0].dtype, 2, z.m, full ? z.m : z.k));
    return kn_typing_batched(t, 2, t->in[0].dtype, 2, full ? z.n : z.k, z.n);
}

static kiln_status lower_svd(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    kn_atom out[5];
    bool uv = e->params[SVD_UV].b;
    KILN_TRY(kn_mat_lapack(&l, "gesdd", !uv ? "N" : e->params[SVD_FULL].b ? "A" : "S", x, 1, out, 5));
    for (int i = 0; i < (uv ? 3 : 1); i++) y[i] = kn_mat_checked(&l, out[1 + i], out[4], &kn_prim_eq);
    return l.status;
}

/* 1/x with 0 at 0. */
static kn_atom inverse_or_zero(kn_low *l, kn_atom x, kiln_dtype d)
{
    kn_atom none = kn_low_convert(l, kn_low2(l, &kn_prim_eq, x, kn_low_num(l, d, 0)), d);
    return D_SUB(D_DIV(kn_low_num(l, d, 1), D_ADD(x, none)), none);
}

/* What a tall factor's tangent has outside of the space that the factor spans: (1 - Q Q^H) G / s. */
static kn_atom outside(kn_low *l, kn_atom q, kn_atom g, kn_atom s)
{
    return D_DIV(D_SUB(g, kn_mat_mul(l, q, kn_mat_mul(l, kn_mat_adjoint(l, q), g))), s);
}

/* M = U^H dA V: ds is its real diagonal. dU = U (F (M s + s M^H) + (M - M^H)/(2 s) on the diagonal), dV = V (F (s M + M^H s)), with F =
 * 1/(s_j^2 - s_i^2) off the diagonal, and what leaves the space of a tall factor (M. B. Giles as in eigh, section 3.2; J. Townsend,
 * "Differentiating the singular value decomposition", 2016). Infinite at values that are equal. */
static void tangents_of_vectors(kn_low *l, const kn_atom *y, kn_atom da, kn_atom m, kiln_type t, kn_atom *dy)
{
    kiln_dtype d = t.dtype, part = real_of(d);
    kn_matrices z = kn_matrices_of(t);
    kn_atom across = kn_mat_row(l, y[0]), down = kn_mat_column(l, y[0]), wide = kn_low_convert(l, across, d), tall = kn_low_convert(l, down, d);
    kn_atom apart = D_MUL(D_ADD(across, down), D_SUB(across, down));
    if (l->status != KILN_OK) return;
    kn_atom unit = kn_mat_keep(l, kn_low_fill(l, kn_build_type(l->b, apart), (kn_scalar){.f = 1}), &kn_prim_eq);
    kn_atom f = kn_low_convert(l, D_SUB(D_DIV(kn_low_num(l, part, 1), D_ADD(apart, unit)), unit), d);
    kn_atom ms = D_MUL(wide, m), sm = D_MUL(tall, m), v = kn_mat_adjoint(l, y[2]);
    kn_atom left = D_MUL(f, D_ADD(ms, kn_mat_adjoint(l, ms))), right = D_MUL(f, D_ADD(sm, kn_mat_adjoint(l, sm)));
    if (kiln_dtype_kind(d) == 'c') { /* the phase that U and V share is put into U */
        kn_atom turn = kn_mat_keep(l, D_SUB(m, kn_mat_adjoint(l, m)), &kn_prim_eq), half = D_MUL(turn, kn_low_num(l, d, 0.5));
        left = D_ADD(left, D_MUL(half, kn_low_convert(l, inverse_or_zero(l, across, part), d)));
    }
    kn_atom du = kn_mat_mul(l, y[1], left), dv = kn_mat_mul(l, v, right);
    if (z.m > z.n) du = D_ADD(du, outside(l, y[1], kn_mat_mul(l, da, v), wide));
    if (z.n > z.m) dv = D_ADD(dv, outside(l, v, kn_mat_mul(l, kn_mat_adjoint(l, da), y[1]), wide));
    dy[1] = du;
    dy[2] = kn_mat_adjoint(l, dv);
}

static kiln_status jvp_svd(KN_JVP_ARGS)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0);
    kn_matrices z = kn_matrices_of(t);
    bool uv = e->params[SVD_UV].b;
    if (kiln_type_size(t) == 0) return kn_build_eqn(b, e->prim, e->params, x, 1, y, e->nout);
    if (uv && e->params[SVD_FULL].b && z.m != z.n)
        return kn_fail(b->ctx, KILN_UNSUPPORTED,
                       "svd of %s with full_matrices has no derivative: the matrix does not say how the vectors of no singular value turn; full_matrices=False has one",
                       kn_type_show(t).s);
    kn_param params[4];
    kn_atom parts[3];
    memcpy(params, e->params, sizeof params);
    params[SVD_UV] = KN_BOOL(true);
    params[SVD_FULL] = KN_BOOL(uv && e->params[SVD_FULL].b);
    KILN_TRY(kn_build_eqn(b, e->prim, params, x, 1, parts, 3));
    memcpy(y, parts, e->nout * sizeof *y);
    kn_atom m = kn_mat_mul(l, kn_mat_mul(l, kn_mat_adjoint(l, parts[1]), dx[0]), kn_mat_adjoint(l, parts[2]));
    dy[0] = kn_mat_real(l, kn_mat_diagonal(l, m));
    if (uv) tangents_of_vectors(l, parts, dx[0], m, t, dy);
    return l->status;
}

KILN_PRIM(svd) = {
    .name = "svd",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE | KN_JVP_WHOLE,
    KN_PARAMS(svd_params),
    .type = type_svd,
    .jvp = jvp_svd,
    .lower = lower_svd,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Singular values of matrices, falling; with compute_uv also the matrices U and V^H of U diag(s) V^H.",
};

