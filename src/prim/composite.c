/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions defined by others: the lowering is the definition, for the interpreter too. Bounds in ULP are those
 * that the tests measure. 16-bit floats are computed in f32 and rounded once. */
#include "prim/batch.h"
#include "prim/complex_rules.h"
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <float.h>
#include <math.h>

static const kn_param_spec accuracy[] = {{"accuracy", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

/* 1/(1+exp(-x)) on the side where exp cannot overflow: with z = exp(-|x|), 1/(1+z) or z/(1+z). */
static kn_atom logistic(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom z = one(f, &kn_prim_exp, one(f, &kn_prim_neg, one(f, &kn_prim_abs, x)));
    kn_atom top = kn_low_select(&f->l, kn_low2(&f->l, &kn_prim_lt, x, num(f, 0)), z, num(f, 1));
    return quotient(f, top, add(f, z, num(f, 1)));
}

static kn_atom rsqrt(formula *f, const kn_atom *x) { return inverse(f, one(f, &kn_prim_sqrt, x[0])); }
static kn_atom square(formula *f, const kn_atom *x) { return mul(f, x[0], x[0]); }
static kn_atom log2_of(formula *f, const kn_atom *x) { return mul(f, one(f, &kn_prim_log, x[0]), num(f, 1.44269504088896340736)); }

/* With u = 1 + x rounded, log(1+x) = log(u) + log(1 + c/u), c = x - (u - 1) being exact where it matters; the second term is
 * c/u to well below one ULP. u == 1 means that x itself is the answer (and keeps -0.0); an infinite logarithm is right. */
static kn_atom log1p_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom u = add(f, x, num(f, 1)), log_u = one(f, &kn_prim_log, u);
    kn_atom c = sub(f, x, sub(f, u, num(f, 1)));
    kn_atom r = add(f, log_u, quotient(f, c, u));
    r = kn_low_select(&f->l, one(f, &kn_prim_is_finite, log_u), r, log_u);
    return kn_low_select(&f->l, kn_low2(&f->l, &kn_prim_eq, u, num(f, 1)), x, r);
}

/* With h = expm1(a/2), w = 1 + h: sinh(a) = h (h + 2) (1 + 1/w^2) / 2, ordered so that it overflows only where sinh does. */
static kn_atom sinh_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom a = one(f, &kn_prim_abs, x), h = one(f, &kn_prim_expm1, mul(f, a, num(f, 0.5)));
    kn_atom w = add(f, h, num(f, 1));
    kn_atom tail = add(f, quotient(f, num(f, 1), mul(f, w, w)), num(f, 1));
    kn_atom r = mul(f, mul(f, h, num(f, 0.5)), mul(f, add(f, h, num(f, 2)), tail));
    return mul(f, one(f, &kn_prim_sign, x), r);
}

/* With w = exp(|x|/2): cosh(x) = w^2/2 + 1/(2 w^2), which overflows only where cosh does. */
static kn_atom cosh_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom w = one(f, &kn_prim_exp, mul(f, one(f, &kn_prim_abs, x), num(f, 0.5)));
    kn_atom small = quotient(f, num(f, 0.5), mul(f, w, w));
    return add(f, mul(f, mul(f, w, num(f, 0.5)), w), small);
}

/* From here on asinh(a) = acosh(a) = log(2a) to well below one ULP. */
static double large(const formula *f) { return f->d == KILN_F64 ? 0x1p28 : 0x1p13; }
static kn_atom log_of_double(formula *f, kn_atom a) { return add(f, one(f, &kn_prim_log, a), num(f, 0.693147180559945309417)); }

/* asinh(a) = log1p(a + a^2/(1 + sqrt(1 + a^2))) of a = |x|. */
static kn_atom asinh_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom a = one(f, &kn_prim_abs, x), t = mul(f, a, a);
    kn_atom root = one(f, &kn_prim_sqrt, add(f, t, num(f, 1)));
    kn_atom near = one(f, &kn_prim_log1p, add(f, a, quotient(f, t, add(f, root, num(f, 1)))));
    kn_atom r = kn_low_select(&f->l, kn_low2(&f->l, &kn_prim_gt, a, num(f, large(f))), log_of_double(f, a), near);
    return mul(f, one(f, &kn_prim_sign, x), r);
}

/* acosh(x) = log1p(t + sqrt(t (t + 2))) of t = x - 1; below 1 NaN, which the product of two negative factors would hide. */
static kn_atom acosh_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom t = sub(f, x, num(f, 1));
    kn_atom near = one(f, &kn_prim_log1p, add(f, t, one(f, &kn_prim_sqrt, mul(f, t, add(f, t, num(f, 2))))));
    kn_atom r = kn_low_select(&f->l, kn_low2(&f->l, &kn_prim_gt, x, num(f, large(f))), log_of_double(f, x), near);
    return kn_low_select(&f->l, kn_low2(&f->l, &kn_prim_lt, x, num(f, 1)), num(f, (double)NAN), r);
}

/* atanh(a) = log1p(2a/(1 - a))/2 of a = |x|. */
static kn_atom atanh_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom a = one(f, &kn_prim_abs, x);
    kn_atom r = one(f, &kn_prim_log1p, quotient(f, add(f, a, a), sub(f, num(f, 1), a)));
    return mul(f, one(f, &kn_prim_sign, x), mul(f, r, num(f, 0.5)));
}

FORMULA_RULE(logistic, logistic)
FORMULA_RULE(rsqrt, rsqrt)
FORMULA_RULE(square, square)
FORMULA_RULE(log2, log2_of)
FORMULA_RULE(log1p, log1p_of)
FORMULA_RULE(sinh, sinh_of)
FORMULA_RULE(cosh, cosh_of)
FORMULA_RULE(asinh, asinh_of)
FORMULA_RULE(acosh, acosh_of)
FORMULA_RULE(atanh, atanh_of)

KN_JVP1(logistic, D_MUL(g, D_MUL(ans, D_SUB(D_NUM(1), ans))))
KN_JVP1(rsqrt, D_MUL(g, D_MUL(D_NUM(-0.5), D_DIV(ans, x))))
KN_JVP1(log2, D_DIV(g, D_MUL(x, D_NUM(0.693147180559945309417))))
KN_JVP1(log1p, D_DIV(g, D_ADD(x, D_NUM(1))))
KN_JVP1(sinh, D_MUL(g, D_F(cosh, x)))
KN_JVP1(cosh, D_MUL(g, D_F(sinh, x)))
KN_JVP1(asinh, D_MUL(g, D_F(rsqrt, D_ADD(D_F(square, x), D_NUM(1)))))
KN_JVP1(acosh, D_MUL(g, D_F(rsqrt, D_MUL(D_SUB(x, D_NUM(1)), D_ADD(x, D_NUM(1))))))
KN_JVP1(atanh, D_DIV(g, D_MUL(D_SUB(D_NUM(1), x), D_ADD(D_NUM(1), x))))
KN_JVP1(square, D_MUL(g, D_MUL(D_NUM(2), x)))

#define COMPOSITE(id, text)                                                                                           \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_LEVEL_TRACED | KN_EXPENSIVE, KN_PARAMS(accuracy),                \
        .type = kn_type_same_fc, .lower = lower_##id, .lower_complex = kn_lower_complex,                               \
        .jvp = jvp_##id,                                                                                               \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                 \
    }
KILN_PRIM(logistic) = COMPOSITE(logistic, "1/(1 + exp(-x)); within 3 ULP.");
KILN_PRIM(rsqrt) = COMPOSITE(rsqrt, "1/sqrt(x); within 1.5 ULP.");
KILN_PRIM(log2) = COMPOSITE(log2, "Logarithm to the base 2, log(x)/log(2); within 3 ULP.");
KILN_PRIM(log1p) = COMPOSITE(log1p, "log(1 + x) without cancellation near 0; within 2 ULP.");
KILN_PRIM(sinh) = COMPOSITE(sinh, "Hyperbolic sine; within 4 ULP.");
KILN_PRIM(cosh) = COMPOSITE(cosh, "Hyperbolic cosine; within 4 ULP.");
KILN_PRIM(asinh) = COMPOSITE(asinh, "Inverse hyperbolic sine; within 4 ULP.");
KILN_PRIM(acosh) = COMPOSITE(acosh, "Inverse hyperbolic cosine; within 4 ULP, NaN below 1.");
KILN_PRIM(atanh) = COMPOSITE(atanh, "Inverse hyperbolic tangent; within 4 ULP.");

KILN_PRIM(square) = {
    .name = "square",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = kn_type_same_number,
    .jvp = jvp_square,
    .lower = lower_square,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "x * x.",
};

/* ---- integer_pow: products by the bits of the exponent, from the lowest; a negative exponent divides 1 by the power ---- */

static const kn_param_spec power_params[] = {{"y", KN_P_INT, 0}};

static kiln_status type_integer_pow(kn_typing *t)
{
    int64_t y;
    KILN_TRY(kn_typing_int(t, 0, &y));
    if (y < 0 && strchr("iu", kiln_dtype_kind(t->in[0].dtype)))
        return kn_fail(t->ctx, KILN_INVALID, "integer_pow: y is %lld; a power of integers needs y >= 0", (long long)y);
    return kn_type_same_number(t);
}

static kiln_status lower_integer_pow(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    kiln_type type = kn_build_type(b, x[0]);
    kiln_dtype d = type.dtype;
    formula f = {{b, KILN_OK}, d == KILN_F16 || d == KILN_BF16 ? KILN_F32 : d, type};
    int64_t exponent = e->params[0].i;
    uint64_t bits = exponent < 0 ? 0 - (uint64_t)exponent : (uint64_t)exponent;
    if (bits == 0) {
        y[0] = kn_low_widen(&f.l, kn_low_num(&f.l, d, 1), type);
        return f.l.status;
    }
    kn_atom power = kn_low_convert(&f.l, x[0], f.d), product = 0;
    bool any = false;
    for (; bits; bits >>= 1) {
        if (bits & 1) product = any ? mul(&f, product, power) : power, any = true;
        if (bits > 1) power = mul(&f, power, power);
    }
    if (exponent < 0) product = quotient(&f, num(&f, 1), product);
    y[0] = kn_low_convert(&f.l, product, d);
    return f.l.status;
}

/* y x^(y-1), with nothing to compute for y = 0 and 1. */
static kiln_status jvp_integer_pow(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    int64_t n = e->params[0].i;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_build_type(b, x[0]).dtype;
    kn_atom power = x[0];
    if (n == 0) return KILN_OK;
    if (n == 1) {
        dy[0] = dx[0];
        return KILN_OK;
    }
    if (n != 2) power = kn_low_op(&l, &kn_prim_integer_pow, &KN_INT(n - 1), x, 1);
    dy[0] = kn_low2(&l, &kn_prim_mul, dx[0], kn_low2(&l, &kn_prim_mul, kn_low_num(&l, d, (double)n), power));
    return l.status;
}

KILN_PRIM(integer_pow) = {
    .name = "integer_pow",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(power_params),
    .type = type_integer_pow,
    .jvp = jvp_integer_pow,
    .lower = lower_integer_pow,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "x to the power y, a fixed integer: repeated multiplication by the bits of y, from the lowest; 1/x^-y for y < 0.",
};

/* ---- argmax, argmin: where x equals its extremum (or is NaN), the least index ---- */

enum { ARG_AXES, ARG_DTYPE };
static const kn_param_spec arg_params[] = {{"axes", KN_P_INTS, 0}, {"index_dtype", KN_P_DTYPE, 0}};

static kiln_status type_arg(kn_typing *t)
{
    const int64_t *axes;
    int64_t *dims;
    uint32_t n, k = 0;
    kiln_dtype d;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "biuf"));
    KILN_TRY(kn_typing_axes(t, ARG_AXES, x.rank, false, &axes, &n));
    KILN_TRY(kn_typing_dtype(t, ARG_DTYPE, &d));
    if (n != 1) return kn_fail(t->ctx, KILN_INVALID, "%s: axes must name one dimension, %u are named", t->prim->name, n);
    if (!strchr("iu", kiln_dtype_kind(d)))
        return kn_fail(t->ctx, KILN_DTYPE, "%s: index_dtype is %s, an integer type is needed", t->prim->name, kiln_dtype_name(d));
    if (x.dims[axes[0]] == 0)
        return kn_fail(t->ctx, KILN_SHAPE, "%s: dimension %lld of %s has size 0; there is no extremum", t->prim->name, (long long)axes[0],
                       kn_type_show(x).s);
    kn_scalar last = {.i = x.dims[axes[0]] - 1};
    if (kn_sop_eval(KN_S_convert, KILN_I64, d, last, last, last).i != last.i)
        return kn_fail(t->ctx, KILN_DTYPE, "%s: index_dtype %s cannot hold the indices of dimension %lld of %s", t->prim->name,
                       kiln_dtype_name(d), (long long)axes[0], kn_type_show(x).s);
    KILN_TRY(kn_typing_shape(t, 0, d, x.rank - 1, &dims));
    for (uint32_t i = 0; i < x.rank; i++)
        if ((int64_t)i != axes[0]) dims[k++] = x.dims[i];
    return KILN_OK;
}

static kiln_status lower_arg(kn_build *b, const kn_eqn *e, const kn_atom *x, kn_atom *y, const kn_prim *extremum)
{
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_build_type(b, x[0]);
    kiln_dtype d = e->params[ARG_DTYPE].dtype;
    const int64_t *axes = kn_ints(&e->params[ARG_AXES]);
    kn_param reduce[] = {KN_INTS(1, axes), KN_NONE};
    int64_t kept[KN_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.rank; i++)
        if ((int64_t)i != axes[0]) kept[n++] = i;
    kn_atom m = kn_low_op(&l, extremum, reduce, x, 1);
    kn_atom wide = kn_low_op(&l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(n, kept), KN_INTS(t.rank, t.dims), KN_NONE}, &m, 1);
    kn_atom here = kn_low2(&l, &kn_prim_eq, x[0], wide);
    if (kiln_dtype_kind(t.dtype) == 'f') here = kn_low2(&l, &kn_prim_or, here, kn_low2(&l, &kn_prim_ne, x[0], x[0]));
    kn_atom at = kn_low_iota(&l, (kiln_type){d, t.rank, t.dims}, (uint32_t)axes[0]);
    at = kn_low_select(&l, here, at, kn_low_num(&l, d, (double)(t.dims[axes[0]] - 1)));
    y[0] = kn_low_op(&l, &kn_prim_reduce_min, reduce, &at, 1);
    return l.status;
}
static kiln_status lower_argmax(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    return lower_arg(b, e, x, y, &kn_prim_reduce_max);
}
static kiln_status lower_argmin(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j;
    return lower_arg(b, e, x, y, &kn_prim_reduce_min);
}

#define ARG(id, text)                                                                                                 \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_LEVEL_TRACED, KN_PARAMS(arg_params), .type = type_arg,           \
        .lower = lower_##id,                                                                                          \
        .jvp = kn_jvp_zero,                                                                                            \
        .batch = kn_batch_dimensions,                                                                                 \
        .sample = kn_sample_arg, .doc = (text)                                                                        \
    }
KILN_PRIM(argmax) = ARG(argmax, "First index of the maximum along a dimension; NaN counts as the maximum.");
KILN_PRIM(argmin) = ARG(argmin, "First index of the minimum along a dimension; NaN counts as the minimum.");
