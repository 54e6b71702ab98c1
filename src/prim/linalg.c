/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky and triangular_solve over the last two dimensions, computed in double (complex too) and rounded once; sums run in the
 * order of their index. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/sample.h"

#include <math.h>

typedef struct cx {
    double re, im;
} cx;
static cx load(const kiln_array *a, int64_t k)
{
    kn_scalar v = kn_scalar_load(a->type.dtype, a->data, k);
    return kiln_dtype_kind(a->type.dtype) == 'c' ? (cx){v.c[0], v.c[1]} : (cx){v.f, 0};
}
static void store(kiln_array *a, int64_t k, cx v)
{
    bool complex = kiln_dtype_kind(a->type.dtype) == 'c';
    kn_scalar_store(a->type.dtype, a->data, k, complex ? (kn_scalar){.c = {v.re, v.im}} : (kn_scalar){.f = v.re});
}
static cx minus_product(cx s, cx a, cx b, bool complex) /* s - a b */
{
    if (!complex) return (cx){s.re - a.re * b.re, 0};
    return (cx){s.re - (a.re * b.re - a.im * b.im), s.im - (a.re * b.im + a.im * b.re)};
}
static cx quotient(cx a, cx b, bool complex)
{
    if (!complex) return (cx){a.re / b.re, 0};
    double r, d; /* R. Smith's division */
    if (fabs(b.re) >= fabs(b.im)) {
        r = b.im / b.re, d = b.re + b.im * r;
        return (cx){(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    r = b.re / b.im, d = b.re * r + b.im;
    return (cx){(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}

static kiln_status square(const kn_typing *t, kiln_type x)
{
    if (x.rank >= 2 && x.dims[x.rank - 1] == x.dims[x.rank - 2]) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "%s: square matrices are needed, found %s", t->prim->name, kn_type_show(x).s);
}

/* ---- cholesky: the lower factor; NaN where the matrix is not positive definite ---- */

static kiln_status type_cholesky(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    KILN_TRY(square(t, t->in[0]));
    return kn_type_same_fc(t);
}

static void factor(cx *a, int64_t n, bool complex)
{
    bool good = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k <= i; k++) {
            cx s = a[i * n + k];
            if (i == k) s.im = 0;
            for (int64_t p = 0; p < k; p++) s = minus_product(s, a[i * n + p], (cx){a[k * n + p].re, -a[k * n + p].im}, complex);
            if (i != k) a[i * n + k] = quotient(s, a[k * n + k], complex);
            else {
                good = good && s.re > 0;
                a[i * n + k] = (cx){sqrt(s.re), 0};
            }
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            if (!good) a[i * n + k] = (cx){(double)NAN, complex ? (double)NAN : 0};
            if (k > i) a[i * n + k] = (cx){0, 0};
        }
}

static kiln_status eval_cholesky(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j, (void)e;
    kiln_type t = in[0]->type;
    int64_t n = t.dims[t.rank - 1], total = kiln_type_size(t);
    if (total == 0) return KILN_OK;
    size_t bytes = (size_t)(n * n) * sizeof(cx);
    cx *a = kn_new(&ev->ctx->alloc, bytes);
    KILN_TRY_MEM(ev->ctx, a);
    for (int64_t b = 0; b < total; b += n * n) {
        for (int64_t k = 0; k < n * n; k++) a[k] = load(in[0], b + k);
        factor(a, n, kiln_dtype_kind(t.dtype) == 'c');
        for (int64_t k = 0; k < n * n; k++) store(out[0], b + k, a[k]);
    }
    kn_free(&ev->ctx->alloc, a, bytes);
    return KILN_OK;
}

KILN_PRIM(cholesky) = {
    .name = "cholesky",
    .nin = 1,
    .nout = 1,
    .flags = KN_EXPENSIVE,
    .loop = KN_LOOP_CALL,
    .type = type_cholesky,
    .eval = eval_cholesky,
    .batch = kn_batch_full,
    .sample = kn_sample_cholesky,
    .doc = "The lower factor L of matrices L L^H, of which the lower triangle is read; NaN where one is not positive definite.",
};

/* ---- triangular_solve: op(a) x = b, or x op(a) = b ---- */

enum { SOLVE_CONJUGATE, SOLVE_LEFT, SOLVE_LOWER, SOLVE_TRANSPOSE, SOLVE_UNIT };
static const kn_param_spec solve_params[] = {
    {"conjugate_a", KN_P_BOOL, 0}, {"left_side", KN_P_BOOL, 0},     {"lower", KN_P_BOOL, 0},
    {"transpose_a", KN_P_BOOL, 0}, {"unit_diagonal", KN_P_BOOL, 0},
};

static kiln_status type_solve(kn_typing *t)
{
    kiln_type a = t->in[0], b = t->in[1];
    bool left, flag;
    for (uint32_t k = 0; k < 5; k++) KILN_TRY(kn_typing_bool(t, k, &flag));
    KILN_TRY(kn_typing_bool(t, SOLVE_LEFT, &left));
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    KILN_TRY(square(t, a));
    bool fits = a.rank == b.rank;
    for (uint32_t d = 0; fits && d + 2 < a.rank; d++) fits = a.dims[d] == b.dims[d];
    if (!fits || b.dims[b.rank - (left ? 2 : 1)] != a.dims[a.rank - 1])
        return kn_fail(t->ctx, KILN_SHAPE, "triangular_solve: %s and %s do not fit", kn_type_show(a).s, kn_type_show(b).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, b.dtype, b);
}

/* Entry (i, k) of op(a), only asked for inside its triangle. */
typedef struct triangle {
    const kiln_array *a;
    int64_t at, n;
    bool transpose, conjugate, complex, unit;
} triangle;
static cx entry(const triangle *t, int64_t i, int64_t k)
{
    if (i == k && t->unit) return (cx){1, 0};
    cx v = load(t->a, t->at + (t->transpose ? k * t->n + i : i * t->n + k));
    if (t->conjugate) v.im = -v.im;
    return v;
}

/* Solves op(a) x = b for one vector of n entries, `step` apart in x, by substitution: forward where op(a) is lower. */
static void substitute(const triangle *t, bool lower, cx *x)
{
    for (int64_t q = 0; q < t->n; q++) {
        int64_t i = lower ? q : t->n - 1 - q;
        cx s = x[i];
        for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : t->n); k++) s = minus_product(s, entry(t, i, k), x[k], t->complex);
        x[i] = t->unit ? s : quotient(s, entry(t, i, i), t->complex);
    }
}

static kiln_status eval_solve(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    const kn_param *p = e->params;
    bool left = p[SOLVE_LEFT].b, lower = p[SOLVE_LOWER].b, transpose = p[SOLVE_TRANSPOSE].b;
    kiln_type b = in[1]->type;
    int64_t total = kiln_type_size(b), rows = b.dims[b.rank - 2], columns = b.dims[b.rank - 1], n = left ? rows : columns, count = left ? columns : rows;
    if (total == 0) return KILN_OK;
    cx *x = kn_new(&ev->ctx->alloc, (size_t)n * sizeof *x);
    KILN_TRY_MEM(ev->ctx, x);
    /* x op(a) = b is op(a)^T x^T = b^T: the rows of b are solved with the other transpose */
    triangle t = {in[0], 0, n, left ? transpose : !transpose, p[SOLVE_CONJUGATE].b, kiln_dtype_kind(b.dtype) == 'c', p[SOLVE_UNIT].b};
    int64_t step = left ? columns : 1, next = left ? 1 : columns;
    for (int64_t m = 0; m < total / (rows * columns); m++) {
        t.at = m * n * n;
        for (int64_t c = 0; c < count; c++) {
            int64_t first = m * rows * columns + c * next;
            for (int64_t i = 0; i < n; i++) x[i] = load(in[1], first + i * step);
            substitute(&t, lower != t.transpose, x);
            for (int64_t i = 0; i < n; i++) store(out[0], first + i * step, x[i]);
        }
    }
    kn_free(&ev->ctx->alloc, x, (size_t)n * sizeof *x);
    return KILN_OK;
}

/* One matrix that all lanes share solves all their right sides at once: each is solved by itself in any case. */
static kiln_status batch_solve(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kiln_type t = kn_in_type(j, e, 1);
    if (axis[0] != KN_NO_LANES || t.rank != 2) return kn_batch_full(r, b, j, e, x, axis, y, out_axis);
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    bool left = e->params[SOLVE_LEFT].b;
    int64_t rows = t.dims[0], columns = t.dims[1], n = m.size;
    kn_atom v = left ? kn_lanes_move(&m, x[1], 0, 1) : x[1];
    v = kn_low_reshape(&m.l, v, 2, left ? (int64_t[]){rows, n * columns} : (int64_t[]){n * rows, columns});
    v = kn_low_op(&m.l, e->prim, e->params, (kn_atom[]){x[0], v}, 2);
    v = kn_low_reshape(&m.l, v, 3, left ? (int64_t[]){rows, n, columns} : (int64_t[]){n, rows, columns});
    y[0] = left ? kn_lanes_move(&m, v, 1, 0) : v;
    return m.l.status;
}

KILN_PRIM(triangular_solve) = {
    .name = "triangular_solve",
    .nin = 2,
    .nout = 1,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(solve_params),
    .loop = KN_LOOP_CALL,
    .type = type_solve,
    .eval = eval_solve,
    .batch = batch_solve,
    .sample = kn_sample_triangular_solve,
    .doc = "Solves op(a) x = b (left_side) or x op(a) = b with triangular matrices a, of which one triangle is read; op transposes, "
           "conjugates.",
};
