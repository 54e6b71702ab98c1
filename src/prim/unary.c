/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of one operand that are scalar operations themselves (composites stand in composite.c). */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/derive.h"
#include "prim/sample.h"

static const kn_param_spec accuracy[] = {{"accuracy", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

/* kinds: what the sample rule draws from */
#define UNARY(id, sop, rule, more, text)                                                                              \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | (more), .scalar_op = KN_S_##sop,                   \
        .loop = KN_LOOP_ELEMENT, .type = (rule), .eval = kn_eval_sop, .element = kn_element_sop,                       \
        .lower_complex = kn_lower_complex,                                                                            \
        .jvp = jvp_##id,                                                                                               \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                \
    }
#define FUNCTION(id, text) FUNCTION_OF(id, kn_type_same_fc, text)
#define FUNCTION_OF(id, rule, text)                                                                                   \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | KN_EXPENSIVE, KN_PARAMS(accuracy),                 \
        .scalar_op = KN_S_##id, .loop = KN_LOOP_ELEMENT, .type = (rule), .eval = kn_eval_sop,                          \
        .element = kn_element_sop, .lower_complex = kn_lower_complex,                                                 \
        .jvp = jvp_##id,                                                                                               \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                \
    }

static kiln_status type_is_finite(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    return kn_typing_like(t, 0, KILN_BOOL, t->in[0]);
}

static kiln_status type_abs(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "iufc"));
    kiln_dtype d = t->in[0].dtype;
    return kn_typing_like(t, 0, d == KILN_C64 ? KILN_F32 : d == KILN_C128 ? KILN_F64 : d, t->in[0]);
}

static kiln_status same_of(kn_typing *t, const char *kinds)
{
    KILN_TRY(kn_typing_kinds(t, 0, kinds));
    return kn_type_same_any(t);
}
static kiln_status type_bits(kn_typing *t) { return same_of(t, "biu"); }
static kiln_status type_integer(kn_typing *t) { return same_of(t, "iu"); }

/* ---- derivatives ---- */

#define jvp_floor kn_jvp_zero
#define jvp_ceil kn_jvp_zero
#define jvp_is_finite kn_jvp_zero
#define jvp_not NULL
#define jvp_population_count NULL
#define jvp_clz NULL

/* Real numbers: +1 at both zeros. Complex ones: the real part of g conj(x)/|x|, 0 at 0. */
static kn_atom d_abs(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kn_atom ans, kiln_dtype d)
{
    (void)y;
    if (kiln_dtype_kind(d) != 'c') return D_MUL(g, kn_low_select(l, kn_low2(l, &kn_prim_ge, x, D_NUM(0)), D_NUM(1), D_NUM(-1)));
    kiln_dtype part = kn_part_dtype(d);
    kn_atom zero = kn_low2(l, &kn_prim_eq, ans, kn_low_num(l, part, 0));
    kn_atom size = kn_low_convert(l, kn_low_select(l, zero, kn_low_num(l, part, 1), ans), d);
    kn_atom turned = kn_low_op(l, &kn_prim_conj, &KN_DTYPE(d), &x, 1);
    return D_F(real, D_MUL(g, D_DIV(turned, size)));
}
static kiln_status jvp_abs(KN_JVP_ARGS)
{
    (void)r;
    return kn_jvp_element(b, e, j, x, dx, y, dy, (kn_derivative[]){d_abs});
}

/* Real numbers: none. Complex ones, z/|z|: what of g/|z| is not along the result, 0 at 0. JAX gives none here, though there is one. */
static kiln_status jvp_sign(KN_JVP_ARGS)
{
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    if (kiln_dtype_kind(d) != 'c') return kn_jvp_zero(r, b, j, e, x, dx, y, dy);
    kiln_dtype part = kn_part_dtype(d);
    kn_atom size = D_F(abs, x[0]), none = kn_low2(l, &kn_prim_eq, size, kn_low_num(l, part, 0));
    kn_atom inverse = D_DIV(kn_low_num(l, part, 1), kn_low_select(l, none, kn_low_num(l, part, 1), size));
    inverse = kn_low_select(l, none, kn_low_num(l, part, 0), inverse);
    kn_atom along = D_F(real, D_MUL(kn_low_op(l, &kn_prim_conj, &KN_DTYPE(d), &y[0], 1), dx[0]));
    dy[0] = D_MUL(kn_low_convert(l, inverse, d), D_SUB(dx[0], D_MUL(y[0], kn_low_convert(l, along, d))));
    return l->status;
}

KN_JVP1(neg, D_NEG(g))
KN_JVP1(sqrt, D_MUL(g, D_DIV(D_NUM(0.5), ans)))
KN_JVP1(exp, D_MUL(g, ans))
KN_JVP1(exp2, D_MUL(g, D_MUL(D_NUM(0.693147180559945309417), ans)))
KN_JVP1(expm1, D_MUL(g, D_ADD(ans, D_NUM(1))))
KN_JVP1(log, D_DIV(g, x))
KN_JVP1(tanh, D_MUL(g, D_MUL(D_ADD(D_NUM(1), ans), D_SUB(D_NUM(1), ans))))
KN_JVP1(sin, D_MUL(g, D_F(cos, x)))
KN_JVP1(cos, D_MUL(g, D_NEG(D_F(sin, x))))
KN_JVP1(tan, D_MUL(g, D_ADD(D_NUM(1), D_F(square, ans))))
KN_JVP1(asin, D_MUL(g, D_F(rsqrt, D_MUL(D_SUB(D_NUM(1), x), D_ADD(D_NUM(1), x)))))
KN_JVP1(acos, D_MUL(g, D_NEG(D_F(rsqrt, D_MUL(D_SUB(D_NUM(1), x), D_ADD(D_NUM(1), x))))))
KN_JVP1(atan, D_DIV(g, D_ADD(D_NUM(1), D_F(square, x))))
KN_JVP1(cbrt, D_MUL(g, D_DIV(D_NUM(1.0 / 3), D_F(square, ans))))
KN_JVP1(erf, D_MUL(g, D_MUL(D_NUM(1.12837916709551257390), D_F(exp, D_NEG(D_F(square, x))))))

static kiln_status transpose_neg(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)j, (void)e, (void)x;
    kn_low l = {b, KILN_OK};
    ct_in[0] = kn_derive_neg(&l, ct[0]);
    return l.status;
}
static kiln_status transpose_identity(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)b, (void)j, (void)e, (void)x;
    ct_in[0] = ct[0];
    return KILN_OK;
}

KILN_PRIM(neg) = {
    .name = "neg",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    .scalar_op = KN_S_neg,
    .loop = KN_LOOP_ELEMENT,
    .type = kn_type_same_number,
    .eval = kn_eval_sop,
    .jvp = jvp_neg,
    .transpose = transpose_neg,
    .element = kn_element_sop,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Negation; integers wrap, floats flip the sign bit.",
};
KILN_PRIM(sign) = UNARY(sign, sign, kn_type_same_number, 0, "-1, 0 or 1; zeros keep their sign, NaN stays NaN.");
KILN_PRIM(abs) = UNARY(abs, abs, type_abs, 0, "Absolute value; the least integer stays as it is.");
KILN_PRIM(floor) = UNARY(floor, floor, kn_type_same_float, 0, "Rounds down to an integral value.");
KILN_PRIM(ceil) = UNARY(ceil, ceil, kn_type_same_float, 0, "Rounds up to an integral value.");
KILN_PRIM(is_finite) = UNARY(is_finite, is_finite, type_is_finite, 0, "True where neither infinite nor NaN.");
KILN_PRIM(not) = UNARY(not, not, type_bits, 0, "Logical negation of bool, complement of integers.");
KILN_PRIM(population_count) = UNARY(population_count, popcount, type_integer, 0, "Number of bits that are set.");
KILN_PRIM(clz) = UNARY(clz, clz, type_integer, 0, "Number of zero bits above the highest set bit.");

KILN_PRIM(sqrt) = FUNCTION(sqrt, "Square root, correctly rounded.");
KILN_PRIM(exp) = FUNCTION(exp, "e to the power x; within 1 ULP.");
KILN_PRIM(exp2) = FUNCTION(exp2, "2 to the power x; within 1 ULP.");
KILN_PRIM(expm1) = FUNCTION(expm1, "exp(x) - 1 without cancellation near 0; within 1 ULP.");
KILN_PRIM(log) = FUNCTION(log, "Natural logarithm; within 1 ULP.");
KILN_PRIM(tanh) = FUNCTION(tanh, "Hyperbolic tangent; within 1 ULP.");
KILN_PRIM(sin) = FUNCTION(sin, "Sine; within 1 ULP, arguments reduced exactly.");
KILN_PRIM(cos) = FUNCTION(cos, "Cosine; within 1 ULP, arguments reduced exactly.");
KILN_PRIM(tan) = FUNCTION(tan, "Tangent; within 1 ULP, arguments reduced exactly.");
KILN_PRIM(asin) = FUNCTION(asin, "Inverse sine; within 1 ULP.");
KILN_PRIM(acos) = FUNCTION(acos, "Inverse cosine; within 1 ULP.");
KILN_PRIM(atan) = FUNCTION(atan, "Inverse tangent; within 1 ULP.");
KILN_PRIM(cbrt) = FUNCTION(cbrt, "Cube root; within 1 ULP.");
KILN_PRIM(erf) = FUNCTION_OF(erf, kn_type_same_float, "Error function; within 1.1 ULP.");

static const kn_param_spec round_params[] = {{"rounding_method", KN_P_INT, 0}};

static kiln_status type_round(kn_typing *t)
{
    int64_t method;
    KILN_TRY(kn_typing_int(t, 0, &method));
    if (method != 0 && method != 1)
        return kn_fail(t->ctx, KILN_INVALID, "round: rounding_method is %lld; accepted: 0 (away from zero), 1 (to even)",
                       (long long)method);
    return kn_type_same_float(t);
}
static kn_sop round_sop(const kn_eqn *e) { return e->params[0].i == 0 ? KN_S_round_away : KN_S_round_even; }
static kn_scalar round_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    return kn_sop_eval(round_sop(e), d, d, x[0], x[0], x[0]);
}
static kiln_status eval_round(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], round_map);
}
static kn_lv element_round(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_dtype d = kn_out_type(m->j, e, result).dtype;
    return m->op(m, round_sop(e), d, d, m->operand(m, e, 0, ix), 0, 0);
}

KILN_PRIM(round) = {
    .name = "round",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    KN_PARAMS(round_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_round,
    .eval = eval_round,
    .jvp = kn_jvp_zero,
    .element = element_round,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Rounds to an integral value; ties go away from zero (rounding_method 0) or to even (1).",
};

#define MOVE(id, derivative, text)                                                                                    \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | KN_MOVES | KN_BY_PARTS, .loop = KN_LOOP_ELEMENT,                 \
        .type = kn_type_same_any, .eval = kn_eval_identity, .element = kn_element_identity,                            \
        .jvp = (derivative), .transpose = transpose_identity,                                                          \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                 \
    }
KILN_PRIM(stop_gradient) = MOVE(stop_gradient, kn_jvp_zero, "The operand; derivatives end here.");
KILN_PRIM(copy) = MOVE(copy, kn_jvp_linear, "The operand.");
KILN_PRIM(copy_p) = MOVE(copy_p, kn_jvp_linear, "The operand.");

/* The target of checkpoint policies. */
static const kn_param_spec name_params[] = {{"name", KN_P_TEXT, 0}};
KILN_PRIM(name) = {
    .name = "name",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(name_params),
    .loop = KN_LOOP_ELEMENT,
    .type = kn_type_same_any,
    .eval = kn_eval_identity,
    .element = kn_element_identity,
    .jvp = kn_jvp_linear,
    .transpose = transpose_identity,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "The operand, under a name by which a checkpoint keeps it.",
};

static const kn_param_spec convert_params[] = {
    {"new_dtype", KN_P_DTYPE, 0},
    {"sharding", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"weak_type", KN_P_BOOL, 0},
};

static kiln_status type_convert(kn_typing *t)
{
    kiln_dtype to;
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_dtype(t, 0, &to));
    KILN_TRY(kn_typing_kinds(t, 0, "biufc8"));
    if (!strchr("biufc8", kiln_dtype_kind(to)))
        return kn_fail(t->ctx, KILN_DTYPE, "convert_element_type: there is no conversion from %s to %s",
                       kn_type_show(t->in[0]).s, kiln_dtype_name(to));
    return kn_typing_like(t, 0, to, t->in[0]);
}

static kiln_status jvp_convert(KN_JVP_ARGS)
{
    return kn_has_tangent(kn_out_type(j, e, 0)) ? kn_jvp_linear(r, b, j, e, x, dx, y, dy) : KILN_OK;
}
static kiln_status transpose_convert(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    ct_in[0] = kn_low_convert(&l, ct[0], kn_in_type(j, e, 0).dtype);
    return l.status;
}

KILN_PRIM(convert_element_type) = {
    .name = "convert_element_type",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    KN_PARAMS(convert_params),
    .scalar_op = KN_S_convert,
    .loop = KN_LOOP_ELEMENT,
    .type = type_convert,
    .eval = kn_eval_sop,
    .jvp = jvp_convert,
    .transpose = transpose_convert,
    .element = kn_element_sop,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_convert,
    .doc = "Converts to another element type, rounding once. Floats to integers truncate and saturate, NaN gives 0; to bool is "
           "x != 0.",
};
