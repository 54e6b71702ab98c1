/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of one operand that are scalar operations themselves (composites stand in composite.c). */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/sample.h"

static const kn_param_spec accuracy[] = {{"accuracy", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

/* kinds: what the sample rule draws from */
#define UNARY(id, sop, rule, more, text)                                                                              \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | (more), .scalar_op = KN_S_##sop,                   \
        .loop = KN_LOOP_ELEMENT, .type = (rule), .eval = kn_eval_sop, .element = kn_element_sop,                       \
        .lower_complex = kn_lower_complex,                                                                            \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                \
    }
#define FUNCTION(id, text) FUNCTION_OF(id, kn_type_same_fc, text)
#define FUNCTION_OF(id, rule, text)                                                                                   \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | KN_EXPENSIVE, KN_PARAMS(accuracy),                 \
        .scalar_op = KN_S_##id, .loop = KN_LOOP_ELEMENT, .type = (rule), .eval = kn_eval_sop,                          \
        .element = kn_element_sop, .lower_complex = kn_lower_complex,                                                 \
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

KILN_PRIM(neg) = UNARY(neg, neg, kn_type_same_number, 0, "Negation; integers wrap, floats flip the sign bit.");
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
    .element = element_round,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Rounds to an integral value; ties go away from zero (rounding_method 0) or to even (1).",
};

#define MOVE(id, text)                                                                                                \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE | KN_MOVES | KN_BY_PARTS, .loop = KN_LOOP_ELEMENT,                 \
        .type = kn_type_same_any, .eval = kn_eval_identity, .element = kn_element_identity,                            \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                 \
    }
KILN_PRIM(stop_gradient) = MOVE(stop_gradient, "The operand; derivatives end here.");
KILN_PRIM(copy) = MOVE(copy, "The operand.");
KILN_PRIM(copy_p) = MOVE(copy_p, "The operand.");

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
    .element = kn_element_sop,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_convert,
    .doc = "Converts to another element type, rounding once. Floats to integers truncate and saturate, NaN gives 0; to bool is "
           "x != 0.",
};
