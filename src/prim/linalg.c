/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky and triangular_solve over the last two dimensions, computed in double (complex too) and rounded once; sums run in the
 * order of their index. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/matrix.h"
#include "prim/routine.h"
#include "prim/sample.h"

#include <math.h>

typedef struct cx {
    double re, im;
} cx;
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

/* complex, size, matrices */
typedef struct cholesky {
    kiln_dtype part;
    bool complex;
    int64_t n, batch;
} cholesky;

static kiln_status bind_cholesky(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    size_t at;
    *work_bytes = 0;
    KN_CALL_CHECK(ctx, c, c->n_ints == 3 && c->nout == 1 && c->nin == 1 && kiln_dtype_kind(c->arrays[0].dtype) == 'f');
    cholesky s = {c->arrays[0].dtype, c->ints[0] != 0, c->ints[1], c->ints[2]};
    int64_t all = kn_call_product((int64_t[]){s.batch, s.n, s.n}, 3);
    KN_CALL_CHECK(ctx, c, kn_parts_fit(c, 0, s.part, s.complex, all) && kn_parts_fit(c, 1, s.part, s.complex, all));
    if (all == 0) s.batch = 0;
    KN_CALL_CHECK(ctx, c, all == 0 || kn_call_room(work_bytes, s.n * s.n, sizeof(cx), &at));
    if (arena) KILN_TRY_MEM(ctx, *self = kn_arena_copy(arena, &s, sizeof s));
    return KILN_OK;
}

static void run_cholesky(const void *self, void *const *arrays, void *work)
{
    const cholesky *s = self;
    kn_parts y = {s->part, s->complex, arrays[0]}, x = {s->part, s->complex, arrays[1]};
    int64_t n = s->n;
    cx *a = work;
    for (int64_t b = 0; b < s->batch * n * n; b += n * n) {
        for (int64_t k = 0; k < n * n; k++) kn_parts_load(&x, b + k, &a[k].re, &a[k].im);
        factor(a, n, s->complex);
        for (int64_t k = 0; k < n * n; k++) kn_parts_store(&y, b + k, a[k].re, a[k].im);
    }
}

extern const kn_routine kn_routine_cholesky;
const kn_routine kn_routine_cholesky = {.name = "cholesky", .bind = bind_cholesky, .run = run_cholesky};

static kiln_status call_cholesky(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    kiln_type t = kn_in_type(j, e, 0);
    int64_t n = t.dims[t.rank - 1], batch = kiln_type_size((kiln_type){KILN_BOOL, t.rank - 2, t.dims});
    c->routine = &kn_routine_cholesky;
    return kn_call_ints(ctx, arena, c, (int64_t[]){kiln_dtype_kind(t.dtype) == 'c', n, batch}, 3);
}

/* dL = L phi(L^-1 dA L^-H), phi the lower triangle with half the diagonal; dA is what its own lower triangle says (I. Murray,
 * "Differentiation of the Cholesky decomposition", 2016). */
static kiln_status jvp_cholesky(KN_JVP_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    if (kiln_type_size(kn_in_type(j, e, 0)) == 0) return KILN_OK;
    kn_atom da = kn_mat_hermitian(&l, dx[0], true);
    da = kn_mat_solve(&l, y[0], da, KN_SOLVE_CONJUGATE | KN_SOLVE_LOWER | KN_SOLVE_TRANSPOSE);
    da = kn_mat_solve(&l, y[0], da, KN_SOLVE_LEFT | KN_SOLVE_LOWER);
    dy[0] = kn_mat_mul(&l, y[0], kn_mat_half(&l, da, true));
    return l.status;
}

KILN_PRIM(cholesky) = {
    .name = "cholesky",
    .nin = 1,
    .nout = 1,
    .flags = KN_EXPENSIVE,
    .loop = KN_LOOP_CALL,
    .type = type_cholesky,
    .jvp = jvp_cholesky,
    .eval = kn_eval_call,
    .call = call_cholesky,
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

/* complex, left, lower, transpose, conjugate, unit; size of a, other dimension of b, matrices */
enum { I_COMPLEX, I_LEFT, I_LOWER, I_TRANSPOSE, I_CONJUGATE, I_UNIT, I_SIZE, I_OTHER, I_BATCH, I_COUNT };
typedef struct solve {
    kiln_dtype part;
    bool complex, left, lower, transpose, conjugate, unit; /* lower: of op(a) */
    int64_t n, other, batch;
} solve;

static kiln_status bind_solve(kiln_ctx *ctx, kn_arena *arena, const kn_call *c, const void **self, size_t *work_bytes)
{
    size_t at;
    const int64_t *v = c->ints;
    *work_bytes = 0;
    KN_CALL_CHECK(ctx, c, c->n_ints == I_COUNT && c->nout == 1 && c->nin == 2 && kiln_dtype_kind(c->arrays[0].dtype) == 'f');
    /* x op(a) = b is op(a)^T x^T = b^T: the rows of b are solved with the other transpose */
    bool left = v[I_LEFT], transpose = left ? v[I_TRANSPOSE] : !v[I_TRANSPOSE];
    solve s = {c->arrays[0].dtype, v[I_COMPLEX], left, transpose != (v[I_LOWER] != 0), transpose, v[I_CONJUGATE], v[I_UNIT], v[I_SIZE], v[I_OTHER], v[I_BATCH]};
    int64_t as = kn_call_product((int64_t[]){s.batch, s.n, s.n}, 3), bs = kn_call_product((int64_t[]){s.batch, s.n, s.other}, 3);
    KN_CALL_CHECK(ctx, c, kn_parts_fit(c, 0, s.part, s.complex, bs) && kn_parts_fit(c, 1, s.part, s.complex, as) && kn_parts_fit(c, 2, s.part, s.complex, bs));
    if (bs == 0) s.batch = 0;
    KN_CALL_CHECK(ctx, c, bs == 0 || kn_call_room(work_bytes, s.n * (s.n + 1), sizeof(cx), &at));
    if (arena) KILN_TRY_MEM(ctx, *self = kn_arena_copy(arena, &s, sizeof s));
    return KILN_OK;
}

/* op(a), of which one triangle is read. */
static void load_triangle(const solve *s, const kn_parts *a, int64_t at, cx *t)
{
    int64_t n = s->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = s->lower ? 0 : i; k < (s->lower ? i + 1 : n); k++) {
            cx *v = &t[i * n + k];
            if (i == k && s->unit) {
                *v = (cx){1, 0};
                continue;
            }
            kn_parts_load(a, at + (s->transpose ? k * n + i : i * n + k), &v->re, &v->im);
            if (s->conjugate) v->im = -v->im;
        }
}

/* Solves t x = b for one vector by substitution: forward where t is lower. */
static void substitute(const solve *s, const cx *t, cx *x)
{
    int64_t n = s->n;
    for (int64_t q = 0; q < n; q++) {
        int64_t i = s->lower ? q : n - 1 - q;
        cx sum = x[i];
        for (int64_t k = s->lower ? 0 : i + 1; k < (s->lower ? i : n); k++) sum = minus_product(sum, t[i * n + k], x[k], s->complex);
        x[i] = s->unit ? sum : quotient(sum, t[i * n + i], s->complex);
    }
}

static void run_solve(const void *self, void *const *arrays, void *work)
{
    const solve *s = self;
    kn_parts y = {s->part, s->complex, arrays[0]}, a = {s->part, s->complex, arrays[1]}, b = {s->part, s->complex, arrays[2]};
    int64_t n = s->n, step = s->left ? s->other : 1, next = s->left ? 1 : n;
    cx *t = work, *x = t + n * n;
    for (int64_t m = 0; m < s->batch; m++) {
        load_triangle(s, &a, m * n * n, t);
        for (int64_t c = 0; c < s->other; c++) {
            int64_t first = m * n * s->other + c * next;
            for (int64_t i = 0; i < n; i++) kn_parts_load(&b, first + i * step, &x[i].re, &x[i].im);
            substitute(s, t, x);
            for (int64_t i = 0; i < n; i++) kn_parts_store(&y, first + i * step, x[i].re, x[i].im);
        }
    }
}

extern const kn_routine kn_routine_triangular_solve;
const kn_routine kn_routine_triangular_solve = {.name = "triangular_solve", .bind = bind_solve, .run = run_solve};

static kiln_status call_solve(kiln_ctx *ctx, kn_arena *arena, const kn_jaxpr *j, const kn_eqn *e, kn_call *c)
{
    const kn_param *p = e->params;
    kiln_type b = kn_in_type(j, e, 1);
    int64_t rows = b.dims[b.rank - 2], columns = b.dims[b.rank - 1], batch = kiln_type_size((kiln_type){KILN_BOOL, b.rank - 2, b.dims});
    bool left = p[SOLVE_LEFT].b;
    c->routine = &kn_routine_triangular_solve;
    int64_t ints[I_COUNT] = {kiln_dtype_kind(b.dtype) == 'c', left, p[SOLVE_LOWER].b, p[SOLVE_TRANSPOSE].b, p[SOLVE_CONJUGATE].b, p[SOLVE_UNIT].b,
                             left ? rows : columns, left ? columns : rows, batch};
    return kn_call_ints(ctx, arena, c, ints, I_COUNT);
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

/* op(a) dx = db - op(da) x, or dx op(a) = db - x op(da); of da the triangle that is read counts. */
static kiln_status jvp_solve(KN_JVP_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom rest = dx[1];
    if (dx[0] != KN_SYMBOLIC_ZERO) {
        kiln_dtype d = kn_in_type(j, e, 0).dtype;
        bool left = e->params[SOLVE_LEFT].b, lower = e->params[SOLVE_LOWER].b, unit = e->params[SOLVE_UNIT].b;
        kn_atom da = kn_mat_keep(&l, dx[0], lower ? unit ? &kn_prim_gt : &kn_prim_ge : unit ? &kn_prim_lt : &kn_prim_le);
        if (e->params[SOLVE_CONJUGATE].b && kiln_dtype_kind(d) == 'c') da = kn_low_op(&l, &kn_prim_conj, &KN_DTYPE(d), &da, 1);
        if (e->params[SOLVE_TRANSPOSE].b) da = kn_mat_turn(&l, da);
        rest = kn_derive_add(&l, rest, kn_derive_neg(&l, kn_mat_mul(&l, left ? da : y[0], left ? y[0] : da)));
    }
    dy[0] = kn_low_op(&l, e->prim, e->params, (kn_atom[]){x[0], rest}, 2);
    return l.status;
}
static kiln_status transpose_solve(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)j;
    kn_param params[5];
    memcpy(params, e->params, sizeof params);
    params[SOLVE_TRANSPOSE] = KN_BOOL(!e->params[SOLVE_TRANSPOSE].b);
    if (x[0] == KN_LINEAR) return kn_not_linear(b, e, "its matrix");
    return kn_build_eqn(b, e->prim, params, (kn_atom[]){x[0], ct[0]}, 2, &ct_in[1], 1);
}

KILN_PRIM(triangular_solve) = {
    .name = "triangular_solve",
    .nin = 2,
    .nout = 1,
    .flags = KN_EXPENSIVE,
    KN_PARAMS(solve_params),
    .loop = KN_LOOP_CALL,
    .type = type_solve,
    .jvp = jvp_solve,
    .transpose = transpose_solve,
    .eval = kn_eval_call,
    .call = call_solve,
    .batch = batch_solve,
    .sample = kn_sample_triangular_solve,
    .doc = "Solves op(a) x = b (left_side) or x op(a) = b with triangular matrices a, of which one triangle is read; op transposes, "
           "conjugates.",
};
