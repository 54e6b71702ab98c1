/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers of linear systems in traces, on all unknowns in one vector. */
#include "run/implicit.h"

typedef struct flat {
    const kiln_linear *a;
    kiln_type *types;
    kiln_dtype dtype;
    int64_t size;
    kiln_val b, b2; /* the right sides; bicgstab: the square of their norm */
    double tolerance;
    int64_t most;
} flat;

static const char file[] = "solve";
static const kn_site here = {file, 0};

static bool start(kiln_trace *t, const char *op, const kiln_linear *a, const kiln_val *b, flat *f)
{
    *f = (flat){.a = a};
    if (!kn_tvals_typed(t, op, "right side", b, a->n, here)) return false;
    if (!(f->types = KN_NEWN(&t->arena, kiln_type, a->n))) {
        kn_tstatus(t, kn_nomem(t->ctx), here);
        return false;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        f->types[i] = kn_tval_of(t, b[i])->type;
        f->size += kiln_type_size(f->types[i]);
        if (f->types[i].dtype == f->types[0].dtype && (f->types[i].dtype == KILN_F32 || f->types[i].dtype == KILN_F64)) continue;
        kn_tfail(t, KILN_DTYPE, "unknowns that are all f32 or all f64; or a solver of your own", here, "%s: unknown %u is %s", op, i,
                 kn_type_show(f->types[i]).s);
        return false;
    }
    f->dtype = a->n ? f->types[0].dtype : KILN_F64;
    return true;
}

static kiln_val join(kiln_trace *t, const flat *f, const kiln_val *v)
{
    kiln_val out = {0};
    for (uint32_t i = 0; i < f->a->n; i++) {
        kiln_val one = kiln_reshape(t, v[i], 1, (const int64_t[]){kiln_type_size(f->types[i])});
        out = i ? kiln_concatenate(t, ((const kiln_val[]){out, one}), 2, 0) : one;
    }
    return out;
}
static void part(kiln_trace *t, const flat *f, kiln_val v, kiln_val *out)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < f->a->n; i++) {
        int64_t n = kiln_type_size(f->types[i]);
        kiln_val one = f->a->n == 1 ? v : kiln_slice(t, v, (const int64_t[]){at}, (const int64_t[]){at + n}, NULL);
        out[i] = kiln_reshape(t, one, f->types[i].rank, f->types[i].dims);
        at += n;
    }
}
static kiln_val apply(kiln_trace *t, const flat *f, kiln_val v)
{
    kiln_val *x = KN_NEWN(&t->arena, kiln_val, 2 * (size_t)f->a->n + 1);
    if (!x) {
        kn_tstatus(t, kn_nomem(t->ctx), here);
        return (kiln_val){0};
    }
    part(t, f, v, x);
    kiln_linear_apply(t, f->a, x, x + f->a->n);
    return join(t, f, x + f->a->n);
}

/* ---- dense ---- */

static void column(kiln_trace *t, void *user, const kiln_val *k, kiln_val *y)
{
    const flat *f = user;
    kiln_val unit = kiln_eq(t, kiln_iota(t, KILN_VECTOR(KILN_I64, f->size), 0), k[0]);
    y[0] = apply(t, f, kiln_convert(t, unit, f->dtype));
}

void kiln_solve_dense(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x)
{
    flat f;
    kiln_val rows, q[2], y, z;
    (void)user;
    for (uint32_t i = 0; i < a->n; i++) x[i] = (kiln_val){0};
    if (!start(t, "solve_dense", a, b, &f)) return;
    if (f.size == 0) {
        memcpy(x, b, a->n * sizeof *x);
        return;
    }
    const int64_t one[] = {f.size, 1}, turn[] = {1, 0};
    kiln_val at = kiln_iota(t, KILN_VECTOR(KILN_I64, f.size), 0);
    kiln_map(t, column, &f, &at, 1, 1, f.size, &rows);
    kiln_val matrix = kiln_transpose(t, rows, turn);
    /* A = Q R: R x = Q' b */
    if (!kn_temit(t, "qr", (kn_named[]){{"full_matrices", KN_BOOL(false)}, {"pivoting", KN_BOOL(false)}}, 2, &matrix, 1, q, 2, here)) return;
    y = kiln_dot(t, q[0], join(t, &f, b), ((const int64_t[]){0}), ((const int64_t[]){0}), 1, NULL, NULL, 0);
    const kn_named how[] = {{"conjugate_a", KN_BOOL(false)}, {"left_side", KN_BOOL(true)}, {"lower", KN_BOOL(false)}, {"transpose_a", KN_BOOL(false)},
                            {"unit_diagonal", KN_BOOL(false)}};
    kiln_val in[] = {q[1], kiln_reshape(t, y, 2, one)};
    if (!kn_temit(t, "triangular_solve", how, 5, in, 2, &z, 1, here)) return;
    part(t, &f, kiln_reshape(t, z, 1, (const int64_t[]){f.size}), x);
}

/* ---- Bi-CGSTAB ---- */

enum { X, R, P, V, RHO, ALPHA, OMEGA, TRIPS, CARRIES };

static kiln_val inner(kiln_trace *t, kiln_val a, kiln_val b) { return kiln_sum_all(t, kiln_mul(t, a, b)); }

static kiln_val far(kiln_trace *t, void *user, const kiln_val *c)
{
    const flat *f = user;
    kiln_val good = kiln_mul(t, f->b2, kiln_num(t, f->tolerance * f->tolerance));
    return kiln_and(t, kiln_gt(t, inner(t, c[R], c[R]), good), kiln_lt(t, c[TRIPS], kiln_num(t, (double)f->most)));
}

static void step(kiln_trace *t, void *user, const kiln_val *c, kiln_val *next)
{
    const flat *f = user;
    kiln_val rho = inner(t, f->b, c[R]);
    kiln_val beta = kiln_mul(t, kiln_div(t, rho, c[RHO]), kiln_div(t, c[ALPHA], c[OMEGA]));
    kiln_val p = kiln_add(t, c[R], kiln_mul(t, beta, kiln_sub(t, c[P], kiln_mul(t, c[OMEGA], c[V]))));
    kiln_val v = apply(t, f, p), alpha = kiln_div(t, rho, inner(t, f->b, v));
    kiln_val s = kiln_sub(t, c[R], kiln_mul(t, alpha, v)), as = apply(t, f, s), size = inner(t, as, as);
    kiln_val none = kiln_eq(t, size, kiln_num(t, 0)); /* s is the residual already */
    kiln_val omega = kiln_select(t, none, kiln_num(t, 0), kiln_div(t, inner(t, as, s), kiln_select(t, none, kiln_num(t, 1), size)));
    next[X] = kiln_add(t, c[X], kiln_add(t, kiln_mul(t, alpha, p), kiln_mul(t, omega, s)));
    next[R] = kiln_sub(t, s, kiln_mul(t, omega, as));
    next[P] = p, next[V] = v, next[RHO] = rho, next[ALPHA] = alpha, next[OMEGA] = omega;
    next[TRIPS] = kiln_add(t, c[TRIPS], kiln_num(t, 1));
}

void kiln_solve_bicgstab(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x)
{
    const kiln_krylov *o = user;
    flat f;
    for (uint32_t i = 0; i < a->n; i++) x[i] = (kiln_val){0};
    if (!start(t, "solve_bicgstab", a, b, &f)) return;
    f.tolerance = o && o->tolerance > 0 ? o->tolerance : f.dtype == KILN_F32 ? 1e-6 : 1e-13;
    f.most = o && o->most > 0 ? o->most : 10 * f.size;
    f.b = join(t, &f, b);
    f.b2 = inner(t, f.b, f.b);
    const int64_t dims[] = {f.size};
    kiln_val one = kiln_scalar(t, f.dtype, 1), zeros = kiln_broadcast(t, kiln_scalar(t, f.dtype, 0), 1, dims, NULL), last[CARRIES];
    const kiln_val init[CARRIES] = {zeros, f.b, zeros, zeros, one, one, one, kiln_int(t, KILN_I64, 0)};
    kiln_while(t, far, step, &f, init, CARRIES, last);
    part(t, &f, last[X], x);
}
