/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of two operands: arithmetic, bits, comparison. Operands have equal element types; shapes are equal,
 * or one is a scalar, or dimensions are 1 against n at equal rank. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/derive.h"
#include "prim/sample.h"

#define BINARY(id, sop, rule, more, text) BINARY_OF(id, sop, rule, more, kn_batch_elementwise, text)
#define BINARY_OF(id, sop, rule, more, batch_rule, text)                                                              \
    {                                                                                                                  \
        .name = #id, .nin = 2, .nout = 1, .flags = KN_ELEMENTWISE | (more), .scalar_op = KN_S_##sop,                   \
        .loop = KN_LOOP_ELEMENT, .type = (rule), .eval = kn_eval_sop, .element = kn_element_sop,                       \
        .lower_complex = kn_lower_complex,                                                                            \
        .jvp = jvp_##id,                                                                                               \
        .transpose = transpose_##id,                                                                                   \
        .batch = (batch_rule),                                                                                        \
        .sample = kn_sample_elementwise, .doc = (text)                                                                \
    }

static kiln_status type_integers(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "iu"));
    return kn_type_nary_real(t);
}
static kiln_status type_ordered(kn_typing *t) /* min, max take bool as well */
{
    return kiln_dtype_kind(t->in[0].dtype) == 'b' ? kn_type_nary_bits(t) : kn_type_nary_number(t);
}
static kiln_status type_floats(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    return kn_type_nary_number(t);
}

static kiln_status type_compare(kn_typing *t)
{
    KILN_TRY(type_ordered(t));
    t->out[0].dtype = KILN_BOOL;
    return KILN_OK;
}

static kiln_status type_add_any(kn_typing *t)
{
    if (!kiln_type_equal(t->in[0], t->in[1]))
        return kn_fail(t->ctx, KILN_SHAPE, "add_any needs equal types, %s and %s given", kn_type_show(t->in[0]).s,
                       kn_type_show(t->in[1]).s);
    return kn_type_nary_number(t);
}

/* ---- derivatives ---- */

KN_JVP2(add, g, g)
KN_JVP2(add_any, g, g)
KN_JVP2(sub, g, D_NEG(g))
KN_JVP2(mul, D_MUL(g, y), D_MUL(x, g))
KN_JVP2(div, D_DIV(g, y), D_MUL(g, D_NEG(D_DIV(ans, y))))

/* -trunc(x/y) of the divisor. */
static kn_atom rem_divisor(kn_low *l, kn_atom g, kn_atom x, kn_atom y)
{
    kn_atom q = D_DIV(x, y);
    return D_MUL(g, D_NEG(D_MUL(D_F(sign, q), D_F(floor, D_F(abs, q)))));
}
KN_JVP2(rem, g, rem_divisor(l, g, x, y))

/* Where a is the result: 1, or one half where both operands are. */
static kn_atom share(kn_low *l, kn_atom a, kn_atom b, kn_atom ans, kiln_dtype d)
{
    kn_atom mine = kn_low2(l, &kn_prim_eq, a, ans), too = kn_low2(l, &kn_prim_eq, b, ans);
    return kn_low_select(l, mine, kn_low_select(l, too, D_NUM(0.5), D_NUM(1)), D_NUM(0));
}
KN_JVP2(min, D_MUL(g, share(l, x, y, ans, d)), D_MUL(g, share(l, y, x, ans, d)))
KN_JVP2(max, D_MUL(g, share(l, x, y, ans, d)), D_MUL(g, share(l, y, x, ans, d)))

static kn_atom square_size(kn_low *l, kn_atom x, kn_atom y) { return D_ADD(D_MUL(x, x), D_MUL(y, y)); }
KN_JVP2(atan2, D_MUL(g, D_DIV(y, square_size(l, x, y))), D_MUL(g, D_DIV(D_NEG(x), square_size(l, x, y))))

#define jvp_and NULL
#define jvp_or NULL
#define jvp_xor NULL
#define jvp_shift_left NULL
#define jvp_shift_right_logical NULL
#define jvp_shift_right_arithmetic NULL
#define jvp_eq kn_jvp_zero
#define jvp_ne kn_jvp_zero
#define jvp_lt kn_jvp_zero
#define jvp_le kn_jvp_zero
#define jvp_gt kn_jvp_zero
#define jvp_ge kn_jvp_zero
#define transpose_rem NULL
#define transpose_min NULL
#define transpose_max NULL
#define transpose_atan2 NULL
#define transpose_and NULL
#define transpose_or NULL
#define transpose_xor NULL
#define transpose_shift_left NULL
#define transpose_shift_right_logical NULL
#define transpose_shift_right_arithmetic NULL
#define transpose_eq NULL
#define transpose_ne NULL
#define transpose_lt NULL
#define transpose_le NULL
#define transpose_gt NULL
#define transpose_ge NULL

static kiln_status transpose_sum(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in, bool minus)
{
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < 2; i++) {
        if (x[i] != KN_LINEAR) continue;
        kn_atom part = kn_derive_gather(&l, ct[0], kn_in_type(j, e, i));
        ct_in[i] = i && minus ? kn_derive_neg(&l, part) : part;
    }
    return l.status;
}
static kiln_status transpose_add(KN_TRANSPOSE_ARGS) { return (void)r, transpose_sum(b, j, e, x, ct, ct_in, false); }
static kiln_status transpose_add_any(KN_TRANSPOSE_ARGS) { return (void)r, transpose_sum(b, j, e, x, ct, ct_in, false); }
static kiln_status transpose_sub(KN_TRANSPOSE_ARGS) { return (void)r, transpose_sum(b, j, e, x, ct, ct_in, true); }
static kiln_status transpose_mul(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    uint32_t i = x[0] == KN_LINEAR ? 0 : 1;
    if (x[1 - i] == KN_LINEAR) return kn_not_linear(b, e, "both its operands together");
    kn_atom in[2] = {i ? x[0] : ct[0], i ? ct[0] : x[1]};
    ct_in[i] = kn_derive_gather(&l, kn_low2(&l, &kn_prim_mul, in[0], in[1]), kn_in_type(j, e, i));
    return l.status;
}
static kiln_status transpose_div(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    if (x[1] == KN_LINEAR) return kn_not_linear(b, e, "its divisor");
    ct_in[0] = kn_derive_gather(&l, kn_low2(&l, &kn_prim_div, ct[0], x[1]), kn_in_type(j, e, 0));
    return l.status;
}

KILN_PRIM(add) = BINARY(add, add, kn_type_nary_number, KN_COMMUTES, "Sum; integers wrap.");
KILN_PRIM(add_any) = BINARY_OF(add_any, add, type_add_any, KN_COMMUTES, kn_batch_full,
                                "Sum of two values of one type: how gradients accumulate.");
KILN_PRIM(sub) = BINARY(sub, sub, kn_type_nary_number, 0, "Difference; integers wrap.");
KILN_PRIM(div) = BINARY(div, div, kn_type_nary_number, KN_EXPENSIVE,
                        "Quotient. Integers truncate; x/0 is -1 (unsigned: all ones), the least integer by -1 is itself.");
KILN_PRIM(rem) = BINARY(rem, rem, kn_type_nary_real, KN_EXPENSIVE,
                        "Remainder with the sign of the dividend, exact for floats; integers: x rem 0 is x.");
KILN_PRIM(min) = BINARY(min, min, type_ordered, KN_COMMUTES, "Minimum: NaN if either is NaN, -0.0 below 0.0.");
KILN_PRIM(max) = BINARY(max, max, type_ordered, KN_COMMUTES, "Maximum: NaN if either is NaN, -0.0 below 0.0.");
KILN_PRIM(atan2) = BINARY(atan2, atan2, type_floats, KN_EXPENSIVE, "Angle of the point (second operand, first operand); within 1 ULP.");
KILN_PRIM(and) = BINARY(and, and, kn_type_nary_bits, KN_COMMUTES, "Conjunction, of bools or of the bits of integers.");
KILN_PRIM(or) = BINARY(or, or, kn_type_nary_bits, KN_COMMUTES, "Disjunction, of bools or of the bits of integers.");
KILN_PRIM(xor) = BINARY(xor, xor, kn_type_nary_bits, KN_COMMUTES, "Exclusive or, of bools or of the bits of integers.");
KILN_PRIM(shift_left) = BINARY(shift_left, shl, type_integers, 0, "Shift towards the high bits; by the width or more: 0.");
KILN_PRIM(shift_right_logical) = BINARY(shift_right_logical, shrl, type_integers, 0,
                                        "Shift towards the low bits, zeros enter; by the width or more: 0.");
KILN_PRIM(shift_right_arithmetic) = BINARY(shift_right_arithmetic, shra, type_integers, 0,
                                           "Shift towards the low bits, the sign enters; by the width or more: the sign.");
KILN_PRIM(eq) = BINARY(eq, eq, type_compare, KN_COMMUTES, "Equal; NaN equals nothing.");
KILN_PRIM(ne) = BINARY(ne, ne, type_compare, KN_COMMUTES, "Different; NaN differs from everything.");
KILN_PRIM(lt) = BINARY(lt, lt, type_compare, 0, "Less.");
KILN_PRIM(le) = BINARY(le, le, type_compare, 0, "Less or equal.");
KILN_PRIM(gt) = BINARY(gt, gt, type_compare, 0, "Greater.");
KILN_PRIM(ge) = BINARY(ge, ge, type_compare, 0, "Greater or equal.");

static const kn_param_spec mul_params[] = {{"out_dtype", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

static kiln_status type_mul(kn_typing *t)
{
    if (!kn_is_none(&t->params[0]))
        return kn_fail(t->ctx, KILN_UNSUPPORTED, "mul: out_dtype other than None is not supported");
    return kn_type_nary_number(t);
}

KILN_PRIM(mul) = {
    .name = "mul",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_COMMUTES,
    KN_PARAMS(mul_params),
    .scalar_op = KN_S_mul,
    .loop = KN_LOOP_ELEMENT,
    .type = type_mul,
    .eval = kn_eval_sop,
    .jvp = jvp_mul,
    .transpose = transpose_mul,
    .element = kn_element_sop,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Product; integers wrap.",
};

/* pow: the exponent has the base's type, or is an integer and is converted to it. */
static kiln_status type_pow(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "fc"));
    KILN_TRY(kn_typing_kinds(t, 1, "iufc"));
    if (strchr("fc", kiln_dtype_kind(t->in[1].dtype))) KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    return kn_typing_broadcast(t, 0, 2, &t->out[0]);
}
static kn_scalar pow_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_in_type(j, e, 0).dtype, by = kn_in_type(j, e, 1).dtype;
    kn_scalar y = by == d ? x[1] : kn_sop_eval(KN_S_convert, by, d, x[1], x[1], x[1]);
    return kn_sop_eval(KN_S_pow, d, d, x[0], y, y);
}
static kiln_status eval_pow(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], pow_map);
}
static kn_lv element_pow(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_dtype d = kn_out_type(m->j, e, result).dtype, by = kn_in_type(m->j, e, 1).dtype;
    kn_lv x = kn_element_broadcast(m, e, 0, ix), y = kn_element_broadcast(m, e, 1, ix);
    if (by != d) y = m->op(m, KN_S_convert, by, d, y, 0, 0);
    return m->op(m, KN_S_pow, d, d, x, y, 0);
}

/* y x^(y-1), 0 for an integer y = 0; log(x) x^y, with log(0) taken as 0. */
static kn_atom pow_base(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kiln_dtype d)
{
    if (l->status != KILN_OK) return g;
    kiln_dtype by = kn_build_type(l->b, y).dtype;
    if (by == d) return D_MUL(g, D_MUL(y, kn_low2(l, &kn_prim_pow, x, D_SUB(y, D_NUM(1)))));
    kn_atom none = kn_low2(l, &kn_prim_eq, y, kn_low_num(l, by, 0));
    kn_atom less = kn_low_select(l, none, kn_low_num(l, by, 1), D_SUB(y, kn_low_num(l, by, 1)));
    kn_atom slope = D_MUL(kn_low_convert(l, y, d), kn_low2(l, &kn_prim_pow, x, less));
    if (l->status != KILN_OK) return g;
    kiln_type t = kn_build_type(l->b, slope);
    return D_MUL(g, kn_low_select(l, kn_low_in_shape(l, none, t), D_NUM(0), slope));
}
static kn_atom pow_exponent(kn_low *l, kn_atom g, kn_atom x, kn_atom ans, kiln_dtype d)
{
    kn_atom zero = kn_low2(l, &kn_prim_eq, x, D_NUM(0));
    return D_MUL(g, D_MUL(D_F(log, kn_low_select(l, zero, D_NUM(1), x)), ans));
}
KN_JVP2(pow, pow_base(l, g, x, y, d), pow_exponent(l, g, x, ans, d))

KILN_PRIM(pow) = {
    .name = "pow",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_EXPENSIVE,
    .loop = KN_LOOP_ELEMENT,
    .type = type_pow,
    .eval = eval_pow,
    .jvp = jvp_pow,
    .element = element_pow,
    .lower_complex = kn_lower_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Power, within 1 ULP; an integer exponent is converted to the base's type.",
};
