/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenvalues of general matrices by LAPACK's geev, their Schur form by gees, and what both begin with: the Hessenberg form (gehrd), of
 * Hermitian matrices the tridiagonal one (sytrd). A status that is not good gives NaN. */
#include "prim/batch.h"
#include "prim/derive.h"
#include "prim/matrix.h"
#include "prim/sample.h"

static kiln_dtype complex_of(kiln_dtype d) { return d == KILN_F32 ? KILN_C64 : d == KILN_F64 ? KILN_C128 : d; }
static kiln_dtype real_of(kiln_dtype d) { return kiln_dtype_kind(d) == 'c' ? kn_part_dtype(d) : d; }

static kiln_status type_square(const kn_typing *t, kn_matrices *z)
{
    KILN_TRY(kn_typing_matrices(t, z));
    if (z->m != z->n) return kn_fail(t->ctx, KILN_SHAPE, "%s needs square matrices, %s given", t->prim->name, kn_type_show(t->in[0]).s);
    return KILN_OK;
}

/* ---- eig ---- */

enum { EIG_LEFT, EIG_RIGHT };
static const kn_param_spec eig_params[] = {{"compute_left_eigenvectors", KN_P_BOOL, 0},
                                           {"compute_right_eigenvectors", KN_P_BOOL, 0},
                                           {"implementation", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_eig(kn_typing *t)
{
    kn_matrices z;
    bool left, right;
    KILN_TRY(type_square(t, &z));
    KILN_TRY(kn_typing_bool(t, EIG_LEFT, &left));
    KILN_TRY(kn_typing_bool(t, EIG_RIGHT, &right));
    uint32_t n = 1u + left + right;
    kiln_dtype d = complex_of(t->in[0].dtype);
    KILN_TRY(kn_typing_out(t, n));
    KILN_TRY(kn_typing_batched(t, 0, d, 1, z.n, 0));
    for (uint32_t i = 1; i < n; i++) KILN_TRY(kn_typing_batched(t, i, d, 2, z.n, z.n));
    return KILN_OK;
}

static kiln_status lower_eig(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom out[5];
    bool left = e->params[EIG_LEFT].b, right = e->params[EIG_RIGHT].b, real = kiln_dtype_kind(kn_in_type(j, e, 0).dtype) == 'f';
    char letters[] = {left ? 'V' : 'N', right ? 'V' : 'N', 0};
    uint32_t nout = real ? 5 : 4, vectors = real ? 2 : 1, k = 1;
    KILN_TRY(kn_mat_lapack(&l, "geev", letters, x, 1, out, nout));
    y[0] = kn_mat_checked(&l, real ? kn_low2(&l, &kn_prim_complex, out[0], out[1]) : out[0], out[nout - 1], &kn_prim_eq);
    if (left) y[k++] = kn_mat_checked(&l, out[vectors], out[nout - 1], &kn_prim_eq);
    if (right) y[k] = kn_mat_checked(&l, out[vectors + 1], out[nout - 1], &kn_prim_eq);
    return l.status;
}

/* dw is the diagonal of V^-1 dA V (M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
 * algorithmic differentiation", 2008, section 3.1), V^-1 = R^-1 Q^H. */
static kiln_status jvp_eig(KN_JVP_ARGS)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0);
    if (e->params[EIG_LEFT].b || e->params[EIG_RIGHT].b)
        return kn_fail(b->ctx, KILN_UNSUPPORTED,
                       "eig of %s with eigenvectors has no derivative: how long they are, and of complex ones the phase, is not determined; eigenvalues alone have one",
                       kn_type_show(t).s);
    if (kiln_type_size(t) == 0) return kn_build_eqn(b, e->prim, e->params, x, 1, y, e->nout);
    kn_param params[3];
    kn_atom parts[2], factors[2];
    memcpy(params, e->params, sizeof params);
    params[EIG_RIGHT] = KN_BOOL(true);
    KILN_TRY(kn_build_eqn(b, e->prim, params, x, 1, parts, 2));
    KILN_TRY(kn_build_eqn(b, &kn_prim_qr, (kn_param[]){KN_BOOL(false), KN_BOOL(false), KN_NONE}, &parts[1], 1, factors, 2));
    kn_atom da = kn_low_convert(l, dx[0], complex_of(t.dtype));
    kn_atom turned = kn_mat_mul(l, kn_mat_adjoint(l, factors[0]), kn_mat_mul(l, da, parts[1]));
    y[0] = parts[0];
    dy[0] = kn_mat_diagonal(l, kn_mat_solve(l, factors[1], turned, KN_SOLVE_LEFT));
    return l->status;
}

KILN_PRIM(eig) = {
    .name = "eig",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE | KN_JVP_WHOLE,
    KN_PARAMS(eig_params),
    .type = type_eig,
    .jvp = jvp_eig,
    .lower = lower_eig,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "Eigenvalues of square matrices, complex, in no order; then, if asked for, the left and the right eigenvectors as columns of length 1.",
};

/* ---- schur ---- */

enum { SCHUR_VECTORS, SCHUR_SELECT, SCHUR_SORT };
static const kn_param_spec schur_params[] = {{"compute_schur_vectors", KN_P_BOOL, 0},
                                             {"select_callable", KN_P_NONE, KN_PARAM_OPTIONAL},
                                             {"sort_eig_vals", KN_P_BOOL, 0}};

static kiln_status type_schur(kn_typing *t)
{
    kn_matrices z;
    bool vectors, sorts;
    KILN_TRY(type_square(t, &z));
    KILN_TRY(kn_typing_bool(t, SCHUR_VECTORS, &vectors));
    KILN_TRY(kn_typing_bool(t, SCHUR_SORT, &sorts));
    KILN_TRY(kn_typing_only_none(t, "select_callable"));
    if (sorts) return kn_fail(t->ctx, KILN_UNSUPPORTED, "schur: sort_eig_vals=True sorts by a function of Python's, which no text holds; sort_eig_vals=False is supported");
    KILN_TRY(kn_typing_out(t, vectors ? 2 : 1));
    for (uint32_t i = 0; i < (vectors ? 2u : 1u); i++) KILN_TRY(kn_typing_batched(t, i, t->in[0].dtype, 2, z.n, z.n));
    return KILN_OK;
}

static kiln_status lower_schur(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom out[6];
    uint32_t nout = kiln_dtype_kind(kn_in_type(j, e, 0).dtype) == 'f' ? 6 : 5;
    KILN_TRY(kn_mat_lapack(&l, "gees", e->params[SCHUR_VECTORS].b ? "VN" : "NN", x, 1, out, nout));
    for (uint32_t i = 0; i < e->nout; i++) y[i] = kn_mat_checked(&l, out[i], out[nout - 1], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(schur) = {
    .name = "schur",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(schur_params),
    .type = type_schur,
    .lower = lower_schur,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "T and, with compute_schur_vectors, unitary Z of matrices Z T Z^H; T is upper triangular, of real matrices with blocks of 2 x 2 for "
           "pairs of complex eigenvalues.",
};

/* ---- hessenberg, tridiagonal ---- */

static int64_t reflections(const kn_matrices *z) { return z->n > 0 ? z->n - 1 : 0; }

static kiln_status type_hessenberg(kn_typing *t)
{
    kn_matrices z;
    KILN_TRY(type_square(t, &z));
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(kn_typing_batched(t, 0, t->in[0].dtype, 2, z.n, z.n));
    return kn_typing_batched(t, 1, t->in[0].dtype, 1, reflections(&z), 0);
}

static kiln_status lower_hessenberg(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    kn_atom out[3];
    KILN_TRY(kn_mat_lapack(&l, "gehrd", NULL, x, 1, out, 3));
    for (int i = 0; i < 2; i++) y[i] = kn_mat_checked(&l, out[i], out[2], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(hessenberg) = {
    .name = "hessenberg",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_hessenberg,
    .lower = lower_hessenberg,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "H of matrices Q H Q^H, zero below its first subdiagonal, where the reflections whose product is Q stand; and their factors tau.",
};

static const kn_param_spec tridiagonal_params[] = {{"lower", KN_P_BOOL, 0}};

static kiln_status type_tridiagonal(kn_typing *t)
{
    kn_matrices z;
    bool lower;
    kiln_dtype d = t->in[0].dtype;
    KILN_TRY(type_square(t, &z));
    KILN_TRY(kn_typing_bool(t, 0, &lower));
    KILN_TRY(kn_typing_out(t, 4));
    KILN_TRY(kn_typing_batched(t, 0, d, 2, z.n, z.n));
    KILN_TRY(kn_typing_batched(t, 1, real_of(d), 1, z.n, 0));
    KILN_TRY(kn_typing_batched(t, 2, real_of(d), 1, reflections(&z), 0));
    return kn_typing_batched(t, 3, d, 1, reflections(&z), 0);
}

static kiln_status lower_tridiagonal(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    kn_atom out[5];
    KILN_TRY(kn_mat_lapack(&l, "sytrd", e->params[0].b ? "L" : "U", x, 1, out, 5));
    for (int i = 0; i < 4; i++) y[i] = kn_mat_checked(&l, out[i], out[4], &kn_prim_eq);
    return l.status;
}

KILN_PRIM(tridiagonal) = {
    .name = "tridiagonal",
    .nin = 1,
    .nout = 4,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(tridiagonal_params),
    .type = type_tridiagonal,
    .lower = lower_tridiagonal,
    .batch = kn_batch_full,
    .sample = kn_sample_matrix,
    .doc = "T of Hermitian matrices Q T Q^H, of which one triangle is read: T with the reflections whose product is Q, its diagonal, the "
           "diagonal beside it, and the factors tau.",
};
