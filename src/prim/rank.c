/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of low rank, as jax.lax.linalg has them: symmetric_product, alpha A A^T + beta C, and cholesky_update, the factor R of R^T R + w w^T
 * from that of R^T R (Golub, Van Loan, Matrix Computations, 6.5.4: a rotation a row). */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/sample.h"

/* ---- symmetric_product ---- */

enum { ALPHA, BETA };
static const kn_param_spec product_params[] = {{"alpha", KN_P_NONE, 0}, {"beta", KN_P_NONE, 0}};

static bool number_of(const kn_param *p, double *v)
{
    *v = p->kind == KN_P_INT ? (double)p->i : p->f;
    return p->kind == KN_P_INT || p->kind == KN_P_FLOAT;
}

static kiln_status type_product(kn_typing *t)
{
    kiln_type a = t->in[0], c = t->in[1];
    double v;
    for (int i = 0; i < 2; i++)
        if (!number_of(&t->params[i], &v)) return kn_fail(t->ctx, KILN_INVALID, "symmetric_product: %s must be a number", product_params[i].name);
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    bool fits = a.rank >= 2 && a.rank == c.rank;
    for (uint32_t d = 0; fits && d < c.rank; d++) fits = c.dims[d] == a.dims[d + 1 < c.rank ? d : d - 1];
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "symmetric_product: %s is no matrix with as many rows and columns as %s has rows", kn_type_show(c).s, kn_type_show(a).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, c.dtype, c);
}

static kiln_status lower_product(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    int64_t last = (int64_t)t.rank - 1, batch[KN_MAX_RANK];
    double v[2] = {0, 0};
    for (uint32_t d = 0; d + 2 < t.rank; d++) batch[d] = d;
    for (int i = 0; i < 2; i++) number_of(&e->params[i], &v[i]);
    kn_param lists[4] = {KN_INTS(1, &last), KN_INTS(1, &last), KN_INTS(t.rank - 2, batch), KN_INTS(t.rank - 2, batch)};
    kn_param pair[2] = {KN_TUPLE(2, lists), KN_TUPLE(2, lists + 2)}, params[4] = {KN_TUPLE(2, pair), KN_NONE, KN_NONE, KN_NONE};
    kn_atom square = kn_low_op(&l, &kn_prim_dot_general, params, (kn_atom[]){x[0], x[0]}, 2);
    square = kn_low2(&l, &kn_prim_mul, kn_low_num(&l, t.dtype, v[ALPHA]), square);
    y[0] = kn_low2(&l, &kn_prim_add, square, kn_low2(&l, &kn_prim_mul, kn_low_num(&l, t.dtype, v[BETA]), x[1]));
    return l.status;
}

KILN_PRIM(symmetric_product) = {
    .name = "symmetric_product",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE,
    KN_PARAMS(product_params),
    .type = type_product,
    .lower = lower_product,
    .jvp = kn_jvp_lowered,
    .batch = kn_batch_full,
    .sample = kn_sample_rank,
    .doc = "alpha A A^T + beta C of matrices A and C, the last two dimensions.",
};

/* ---- cholesky_update ---- */

static kiln_status type_update(kn_typing *t)
{
    kiln_type r = t->in[0], w = t->in[1];
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    if (r.rank != 2 || w.rank != 1 || r.dims[0] != r.dims[1] || w.dims[0] != r.dims[0])
        return kn_fail(t->ctx, KILN_SHAPE, "cholesky_update: %s and %s are no square matrix and a vector of its size", kn_type_show(r).s, kn_type_show(w).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, r.dtype, r);
}

/* The rotation that turns (p, q) into (length, 0): cosine and sine. Where q is 0 nothing turns, whatever the sign of p. */
static void rotation(kn_low *l, kiln_dtype d, kn_atom p, kn_atom q, kn_atom *c, kn_atom *s)
{
    kn_atom zero = kn_low_num(l, d, 0), one = kn_low_num(l, d, 1), still = kn_low2(l, &kn_prim_eq, q, zero);
    kn_atom scale = kn_low2(l, &kn_prim_max, kn_low1(l, &kn_prim_abs, p), kn_low1(l, &kn_prim_abs, q));
    scale = kn_low_select(l, kn_low2(l, &kn_prim_eq, scale, zero), one, scale);
    kn_atom x = kn_low2(l, &kn_prim_div, p, scale), y = kn_low2(l, &kn_prim_div, q, scale);
    kn_atom length = kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_mul, x, x), kn_low2(l, &kn_prim_mul, y, y));
    kn_atom by = kn_low2(l, &kn_prim_div, one, kn_low1(l, &kn_prim_sqrt, kn_low_select(l, still, one, length)));
    kn_atom at = kn_low_select(l, kn_low2(l, &kn_prim_eq, p, zero), one, p);
    *c = kn_low_select(l, still, one, kn_low2(l, &kn_prim_mul, x, by));
    *s = kn_low_select(l, still, kn_low2(l, &kn_prim_div, q, at), kn_low2(l, &kn_prim_mul, y, by)); /* 0, whose derivative is not */
}

static kn_atom entry(kn_low *l, kn_atom v, kn_atom k)
{
    kn_atom one = kn_low_op(l, &kn_prim_dynamic_slice, &KN_INTS(1, (int64_t[]){1}), (kn_atom[]){v, k}, 2);
    return kn_low_reshape(l, one, 0, NULL);
}

/* Arguments: the vector; a row, its number. */
static kiln_status row_body(kn_build *around, kiln_type vector, const kn_jaxpr **out)
{
    kn_build b;
    kn_low l = {&b, KILN_OK};
    kn_atom w, row, k, c, s, next[2];
    kn_build_init(&b, around->ctx, around->prog);
    KILN_TRY(kn_build_input(&b, vector, &w));
    KILN_TRY(kn_build_input(&b, vector, &row));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &k));
    rotation(&l, vector.dtype, entry(&l, row, k), entry(&l, w, k), &c, &s);
    next[0] = kn_low2(&l, &kn_prim_sub, kn_low2(&l, &kn_prim_mul, c, w), kn_low2(&l, &kn_prim_mul, s, row));
    next[1] = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, c, row), kn_low2(&l, &kn_prim_mul, s, w));
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, 2, out);
}

static kiln_status lower_update(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type w = kn_in_type(j, e, 1);
    if (w.dims[0] == 0) {
        y[0] = x[0];
        return KILN_OK;
    }
    kn_param plain[KN_SCAN_PARAMS], params[KN_SCAN_PARAMS];
    const kn_jaxpr *body;
    kn_atom out[2], in[3] = {x[1], x[0], kn_low_iota(&l, (kiln_type){KILN_I64, 1, w.dims}, 0)};
    KILN_TRY(l.status);
    KILN_TRY(row_body(b, w, &body));
    kn_scan_plain(w.dims[0], false, plain);
    KILN_TRY(kn_scan_params(b->ctx, &b->prog->arena, &(kn_eqn){.params = plain}, body, (uint32_t[]){0, 1, 2}, 1, params));
    KILN_TRY(kn_build_eqn(b, &kn_prim_scan, params, in, 3, out, 2));
    y[0] = out[1];
    return KILN_OK;
}

KILN_PRIM(cholesky_update) = {
    .name = "cholesky_update",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE | KN_EXPENSIVE,
    .type = type_update,
    .lower = lower_update,
    .jvp = kn_jvp_lowered,
    .batch = kn_batch_loop,
    .sample = kn_sample_rank,
    .doc = "The upper triangular factor of R^T R + w w^T from R and w.",
};
