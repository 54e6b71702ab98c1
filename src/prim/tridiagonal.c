/* SPDX-License-Identifier: Apache-2.0 */
/* Tridiagonal systems by LAPACK's gtsv. A status that is not good gives NaN. */
#include "prim/batch.h"
#include "prim/derive.h"
#include "prim/matrix.h"
#include "prim/sample.h"

/* ---- tridiagonal_solve ---- */

static const kn_param_spec tridiagonal_params[] = {{"perturb_singular", KN_P_BOOL, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

static kiln_status type_tridiagonal(kn_typing *t)
{
    kiln_type b = t->in[3];
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    if (t->params[0].b)
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
    KILN_TRY(kn_mat_lapack(&l, "gtsv", NULL, x, 4, out, 5));
    y[0] = kn_mat_checked(&l, out[3], out[4], &kn_prim_eq);
    return l.status;
}

/* Rows of the array before (behind) each, zeros in the first (last). */
static kn_atom neighbours(kn_low *l, kn_atom x, uint32_t axis, bool behind) { return kn_derive_before(l, x, axis, behind, 0); }

/* T dx = db - dT x, the diagonals of T times rows of x. */
static kiln_status jvp_tridiagonal(KN_JVP_ARGS)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 3);
    uint32_t axis = t.rank - 2;
    kn_atom rest = dx[3];
    if (kiln_type_size(t) == 0) return KILN_OK;
    for (uint32_t i = 0; i < 3; i++) {
        if (dx[i] == KN_SYMBOLIC_ZERO) continue;
        kn_atom rows = i == 1 ? y[0] : neighbours(l, y[0], axis, i == 2);
        rest = kn_derive_add(l, rest, D_NEG(D_MUL(kn_mat_column(l, dx[i]), rows)));
    }
    dy[0] = kn_low_op(l, e->prim, e->params, (kn_atom[]){x[0], x[1], x[2], rest}, 4);
    return l->status;
}

/* The transposed matrix has the upper diagonal one row down, the lower one row up. */
static kiln_status transpose_tridiagonal(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    for (uint32_t i = 0; i < 3; i++)
        if (x[i] == KN_LINEAR) return kn_not_linear(b, e, "its diagonals");
    uint32_t axis = kn_in_type(j, e, 0).rank - 1;
    kn_atom lower = neighbours(l, x[2], axis, false), upper = neighbours(l, x[0], axis, true);
    ct_in[3] = kn_low_op(l, e->prim, e->params, (kn_atom[]){lower, x[1], upper, ct[0]}, 4);
    return l->status;
}

KILN_PRIM(tridiagonal_solve) = {
    .name = "tridiagonal_solve",
    .nin = 4,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(tridiagonal_params),
    .type = type_tridiagonal,
    .jvp = jvp_tridiagonal,
    .transpose = transpose_tridiagonal,
    .lower = lower_tridiagonal,
    .batch = kn_batch_full,
    .sample = kn_sample_tridiagonal,
    .doc = "Solves tridiagonal systems: lower, main and upper diagonals (the first of the lower and the last of the upper are not read), "
           "and right sides.",
};
