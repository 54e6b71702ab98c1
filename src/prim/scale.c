/* SPDX-License-Identifier: Apache-2.0 */
/* Frexp and Ldexp, as jax.numpy makes them: fractions and powers of two, by the bits of floats. Subnormal operands and results are zeros,
 * with their sign: that is their definition there. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

#include "prims.gen.h"

static const kn_param_spec frexp_params[] = {{"x_aval", KN_P_TEXT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};
static const kn_param_spec ldexp_params[] = {{"x1_aval", KN_P_TEXT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
                                             {"x2_aval", KN_P_TEXT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

/* The format of a float type: sign, exponent, mantissa from the highest bit down. */
typedef struct format {
    kiln_dtype word;
    unsigned width, mantissa, exponent;
    uint64_t ones; /* of the exponent */
} format;

static format format_of(kiln_dtype d)
{
    unsigned width = kn_dtype_width(d), mantissa = d == KILN_F64 ? 52 : d == KILN_F32 ? 23 : d == KILN_F16 ? 10 : 7, exponent = width - 1 - mantissa;
    return (format){width == 64 ? KILN_U64 : width == 32 ? KILN_U32 : KILN_U16, width, mantissa, exponent, (1ull << exponent) - 1};
}

typedef struct parts {
    kn_atom bits, sign, exponent, mantissa, zero, special; /* zero: or subnormal; special: infinite or NaN */
} parts;

static kn_atom word(kn_low *l, const format *f, kiln_type t, uint64_t v) { return kn_low_fill(l, (kiln_type){f->word, t.rank, t.dims}, (kn_scalar){.u = v}); }

static parts parts_of(kn_low *l, const format *f, kiln_type t, kn_atom x)
{
    parts p;
    p.bits = kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(f->word), &x, 1);
    p.sign = kn_low2(l, &kn_prim_and, p.bits, word(l, f, t, 1ull << (f->width - 1)));
    p.exponent = kn_low2(l, &kn_prim_and, kn_low2(l, &kn_prim_shift_right_logical, p.bits, word(l, f, t, f->mantissa)), word(l, f, t, f->ones));
    p.mantissa = kn_low2(l, &kn_prim_and, p.bits, word(l, f, t, (1ull << f->mantissa) - 1));
    p.zero = kn_low2(l, &kn_prim_eq, p.exponent, word(l, f, t, 0));
    p.special = kn_low2(l, &kn_prim_eq, p.exponent, word(l, f, t, f->ones));
    return p;
}

static kn_atom joined(kn_low *l, const format *f, kiln_type t, const parts *p, kn_atom exponent)
{
    kn_atom up = kn_low2(l, &kn_prim_shift_left, exponent, word(l, f, t, f->mantissa));
    return kn_low2(l, &kn_prim_or, kn_low2(l, &kn_prim_or, p->sign, up), p->mantissa);
}

static kn_atom number_of(kn_low *l, const parts *p, kn_atom bits, kiln_type t)
{
    bits = kn_low_select(l, p->special, p->bits, kn_low_select(l, p->zero, p->sign, bits));
    return kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(t.dtype), &bits, 1);
}

static kn_atom integer(kn_low *l, kiln_type t, kiln_dtype d, int64_t v) { return kn_low_fill(l, (kiln_type){d, t.rank, t.dims}, (kn_scalar){.i = v}); }

/* The type of operand i, as the parameters say it. */
static kiln_status say(kn_build *b, kn_atom x, kn_param *out)
{
    const char *text = kn_arena_text(&b->prog->arena, kn_type_show(kn_build_type(b, x)).s);
    KILN_TRY_MEM(b->ctx, text);
    *out = KN_TEXT(text);
    return KILN_OK;
}

static kn_atom scaled(kn_low *l, kn_atom x, kn_atom n)
{
    kn_param params[2] = {KN_NONE, KN_NONE};
    if (l->status == KILN_OK) l->status = say(l->b, x, &params[0]);
    if (l->status == KILN_OK) l->status = say(l->b, n, &params[1]);
    return kn_low_op(l, &kn_prim_Ldexp, params, (kn_atom[]){x, n}, 2);
}

static kiln_status batch_scale(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                               int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param params[2];
    kn_atom in[2];
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = kn_lanes_full(&m, i);
        KILN_TRY(m.l.status);
        KILN_TRY(say(b, in[i], &params[i]));
    }
    return kn_lanes_emit(&m, params, in, y);
}

/* ---- Frexp ---- */

static kiln_status type_frexp(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(kn_typing_like(t, 0, t->in[0].dtype, t->in[0]));
    return kn_typing_like(t, 1, KILN_I32, t->in[0]);
}

static kiln_status lower_frexp(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0);
    format f = format_of(t.dtype);
    uint64_t half = (f.ones >> 1) - 1; /* the exponent of numbers from 0.5 to 1 */
    parts p = parts_of(l, &f, t, x[0]);
    y[0] = number_of(l, &p, joined(l, &f, t, &p, word(l, &f, t, half)), t);
    kn_atom power = kn_low2(l, &kn_prim_sub, kn_low_convert(l, p.exponent, KILN_I32), integer(l, t, KILN_I32, (int64_t)half));
    y[1] = kn_low_select(l, kn_low2(l, &kn_prim_or, p.special, p.zero), integer(l, t, KILN_I32, 0), power);
    return l->status;
}

static kiln_status jvp_frexp(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)e, (void)x;
    kn_low l = {b, KILN_OK};
    dy[0] = scaled(&l, dx[0], kn_low1(&l, &kn_prim_neg, y[1]));
    return l.status;
}

KILN_PRIM(Frexp) = {
    .name = "Frexp",
    .nin = 1,
    .nout = 2,
    .flags = KN_ELEMENTWISE | KN_LEVEL_TRACED,
    KN_PARAMS(frexp_params),
    .type = type_frexp,
    .lower = lower_frexp,
    .jvp = jvp_frexp,
    .batch = batch_scale,
    .sample = kn_sample_scale,
    .doc = "Fractions m from 0.5 on, below 1, and integers n: the operand is m * 2^n. Subnormal numbers count as zeros.",
};

/* ---- Ldexp ---- */

static kiln_status type_ldexp(kn_typing *t)
{
    kiln_type n = t->in[1];
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    KILN_TRY(kn_typing_kinds(t, 1, "iu"));
    n.dtype = t->in[0].dtype;
    if (!kiln_type_equal(n, t->in[0]))
        return kn_fail(t->ctx, KILN_SHAPE, "Ldexp: %s and %s have different shapes", kn_type_show(t->in[0]).s, kn_type_show(t->in[1]).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, t->in[0].dtype, t->in[0]);
}

static kiln_status lower_ldexp(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0), n = kn_in_type(j, e, 1);
    format f = format_of(t.dtype);
    int64_t most = 2ll << f.exponent; /* beyond it every number overflows or vanishes */
    parts p = parts_of(l, &f, t, x[0]);
    bool is_signed = kiln_dtype_kind(n.dtype) == 'i';
    kiln_dtype wide = kn_dtype_width(n.dtype) < 32 ? (is_signed ? KILN_I32 : KILN_U32) : n.dtype;
    kn_atom power = kn_low2(l, &kn_prim_min, kn_low_convert(l, x[1], wide), integer(l, t, wide, most));
    if (is_signed) power = kn_low2(l, &kn_prim_max, power, integer(l, t, wide, -most));
    kn_atom sum = kn_low2(l, &kn_prim_add, kn_low_convert(l, p.exponent, KILN_I32), kn_low_convert(l, power, KILN_I32));
    kn_atom normal = joined(l, &f, t, &p, kn_low_convert(l, sum, f.word));
    kn_atom infinite = kn_low2(l, &kn_prim_or, p.sign, word(l, &f, t, f.ones << f.mantissa));
    kn_atom bits = kn_low_select(l, kn_low2(l, &kn_prim_ge, sum, integer(l, t, KILN_I32, (int64_t)f.ones)), infinite, normal);
    bits = kn_low_select(l, kn_low2(l, &kn_prim_gt, sum, integer(l, t, KILN_I32, 0)), bits, p.sign);
    y[0] = number_of(l, &p, bits, t);
    return l->status;
}

static kiln_status jvp_ldexp(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)e, (void)y;
    kn_low l = {b, KILN_OK};
    dy[0] = scaled(&l, dx[0], x[1]);
    return l.status;
}
static kiln_status transpose_ldexp(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    ct_in[0] = scaled(&l, ct[0], x[1]);
    return l.status;
}

KILN_PRIM(Ldexp) = {
    .name = "Ldexp",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_LEVEL_TRACED,
    KN_PARAMS(ldexp_params),
    .type = type_ldexp,
    .lower = lower_ldexp,
    .jvp = jvp_ldexp,
    .transpose = transpose_ldexp,
    .batch = batch_scale,
    .sample = kn_sample_scale,
    .doc = "The first operand times 2 to the power of the second, an integer. Subnormal operands and results are zeros.",
};
