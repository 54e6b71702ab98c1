/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations. */
#include "hlo/import.h"

#include "prim/lowering.h"
#include "rt/scalar.h"

static kiln_status unary(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    const kn_mattr *accuracy = kn_mop_attr(o, "result_accuracy");
    bool highest = accuracy && accuracy->kind == KN_MA_DIALECT && kn_span_holds(accuracy->text, "<HIGHEST>");
    const kn_prim *p = row->prim;
    if (highest && p->nparams == 1 && strcmp(p->params[0].name, "accuracy") == 0)
        KILN_TRY(kn_heqn1(h, o, p, (kn_param[]){KN_TEXT("AccuracyMode.HIGHEST")}, &x, 1, &y));
    else KILN_TRY(kn_hunary(h, o, p, x, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status binary(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom a, b, y;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &a));
    KILN_TRY(kn_hin(h, o, 1, &b));
    KILN_TRY(kn_hbinary(h, o, row->prim, a, b, &y));
    return kn_hset(h, o, 0, y);
}

/* Sums and products of bools are disjunctions and conjunctions. */
static kiln_status arithmetic(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom a;
    KILN_TRY(kn_hin(h, o, 0, &a));
    if (kn_htype(h, a).dtype != KILN_BOOL) return binary(h, o, row);
    kn_himporter logic = *row;
    logic.prim = row->prim == &kn_prim_add ? &kn_prim_or : row->prim == &kn_prim_mul ? &kn_prim_and : &kn_prim_xor;
    return binary(h, o, &logic);
}

static kiln_status power(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x;
    kn_himporter integers = *row;
    KILN_TRY(kn_hin(h, o, 0, &x));
    integers.prim = &kn_prim_int_pow;
    return binary(h, o, strchr("iu", kiln_dtype_kind(kn_htype(h, x).dtype)) ? &integers : row);
}

/* real and imag of a real number are itself and zero. */
static kiln_status part(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    kiln_type t = kn_htype(h, x);
    if (kiln_dtype_kind(t.dtype) == 'c') return unary(h, o, row);
    if (row->prim == &kn_prim_real) return kn_hset(h, o, 0, x);
    kn_low l = {h->b, KILN_OK};
    y = kn_low_fill(&l, t, (kn_scalar){.u = 0});
    KILN_TRY(l.status);
    return kn_hset(h, o, 0, y);
}

static kiln_status round_to(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_round, &KN_INT(row->extra), &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status convert(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    kiln_type t;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    KILN_TRY(kn_hconvert(h, o, x, t.dtype, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status bitcast(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    kiln_type t;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_bitcast_convert_type, &KN_DTYPE(t.dtype), &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

/* format = e5m10, or exponent_bits and mantissa_bits */
static kiln_status reduce_precision(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    kn_span format;
    int64_t e, m;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hint(h, o, "exponent_bits", -1, &e));
    KILN_TRY(kn_hint(h, o, "mantissa_bits", -1, &m));
    KILN_TRY(kn_henum(h, o, "format", &format));
    if (format.n) {
        const char *p = format.s, *end = p + format.n;
        e = m = 0;
        if (*p == 'e')
            for (p++; p < end && *p >= '0' && *p <= '9' && e < 1000; p++) e = e * 10 + (*p - '0');
        if (p < end && *p == 'm')
            for (p++; p < end && *p >= '0' && *p <= '9' && m < 1000; p++) m = m * 10 + (*p - '0');
        if (p != end) return kn_hbad(h, o, "the format %.*s is not of the form e5m10", KN_SPAN_ARG(format));
    }
    if (e < 0 || m < 0) return kn_hbad(h, o, "exponent_bits and mantissa_bits are missing");
    KILN_TRY(kn_heqn1(h, o, &kn_prim_reduce_precision, (kn_param[]){KN_INT(e), KN_INT(m)}, &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

/* ---- comparison and choice ---- */

static kiln_status compare(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const struct {
        const char *name;
        const kn_prim *prim, *total;
        bool swap, negate; /* of the total order, which has equal, less, and less or equal */
    } directions[] = {
        {"EQ", &kn_prim_eq, &kn_prim_eq_to, false, false}, {"NE", &kn_prim_ne, &kn_prim_eq_to, false, true},
        {"LT", &kn_prim_lt, &kn_prim_lt_to, false, false}, {"LE", &kn_prim_le, &kn_prim_le_to, false, false},
        {"GT", &kn_prim_gt, &kn_prim_lt_to, true, false},  {"GE", &kn_prim_ge, &kn_prim_le_to, true, false},
    };
    kn_atom a, b, y;
    kn_span direction, type;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &a));
    KILN_TRY(kn_hin(h, o, 1, &b));
    KILN_TRY(kn_henum(h, o, "comparison_direction", &direction));
    KILN_TRY(kn_henum(h, o, "compare_type", &type));
    bool total = kn_span_is(type, "TOTALORDER") && kiln_dtype_kind(kn_htype(h, a).dtype) == 'f';
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        if (!kn_span_is(direction, directions[i].name)) continue;
        bool swap = total && directions[i].swap;
        KILN_TRY(kn_hbinary(h, o, total ? directions[i].total : directions[i].prim, swap ? b : a, swap ? a : b, &y));
        if (total && directions[i].negate) KILN_TRY(kn_hunary(h, o, &kn_prim_not, y, &y));
        return kn_hset(h, o, 0, y);
    }
    return kn_hbad(h, o, "the direction '%.*s' is none of EQ, NE, GE, GT, LE, LT", KN_SPAN_ARG(direction));
}

/* In a region that is applied to whole arrays a scalar stands for an array of equal elements. */
static kiln_status widen(kn_himport *h, kn_atom *x, kiln_type shape)
{
    if (!h->elementwise || kn_htype(h, *x).rank == shape.rank) return KILN_OK;
    kn_low l = {h->b, KILN_OK};
    *x = kn_low_widen(&l, *x, shape);
    return l.status;
}

static kiln_status select(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom which, yes, no, y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 3, 1));
    KILN_TRY(kn_hin(h, o, 0, &which));
    KILN_TRY(kn_hin(h, o, 1, &yes));
    KILN_TRY(kn_hin(h, o, 2, &no));
    kiln_type shape = kn_htype(h, which);
    if (!shape.rank) shape = kn_htype(h, yes);
    if (!shape.rank) shape = kn_htype(h, no);
    KILN_TRY(widen(h, &yes, shape));
    KILN_TRY(widen(h, &no, shape));
    if (kn_htype(h, which).dtype != KILN_BOOL) return kn_hbad(h, o, "the first operand must be of i1");
    KILN_TRY(kn_heqn1(h, o, &kn_prim_select_n, NULL, (kn_atom[]){which, no, yes}, 3, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status clamp(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x[3], y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 3, 1));
    for (uint32_t i = 0; i < 3; i++) KILN_TRY(kn_hin(h, o, i, &x[i]));
    KILN_TRY(widen(h, &x[1], kn_htype(h, x[0])));
    KILN_TRY(widen(h, &x[1], kn_htype(h, x[2])));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_clamp, NULL, x, 3, &y));
    return kn_hset(h, o, 0, y);
}

#define U(text, id) {text, unary, &kn_prim_##id, 0}
#define B(text, id) {text, binary, &kn_prim_##id, 0}
const kn_himporter kn_himport_element[] = {
    U("chlo.acos", acos),
    U("chlo.acosh", acosh),
    U("chlo.asin", asin),
    U("chlo.asinh", asinh),
    U("chlo.atan", atan),
    U("chlo.atanh", atanh),
    U("chlo.bessel_i1e", bessel_i1e),
    U("chlo.cosh", cosh),
    U("chlo.digamma", digamma),
    U("chlo.erf", erf),
    U("chlo.erf_inv", erf_inv),
    U("chlo.erfc", erfc),
    U("chlo.lgamma", lgamma),
    B("chlo.mulhi", mulhi),
    B("chlo.next_after", nextafter),
    B("chlo.polygamma", polygamma),
    U("chlo.sinh", sinh),
    U("chlo.square", square),
    U("chlo.tan", tan),
    B("chlo.zeta", zeta),
    U("stablehlo.abs", abs),
    {"stablehlo.add", arithmetic, &kn_prim_add, 0},
    B("stablehlo.and", and),
    B("stablehlo.atan2", atan2),
    {"stablehlo.bitcast_convert", bitcast, NULL, 0},
    U("stablehlo.cbrt", cbrt),
    U("stablehlo.ceil", ceil),
    {"stablehlo.clamp", clamp, NULL, 0},
    {"stablehlo.compare", compare, NULL, 0},
    B("stablehlo.complex", complex),
    {"stablehlo.convert", convert, NULL, 0},
    U("stablehlo.cosine", cos),
    U("stablehlo.count_leading_zeros", clz),
    B("stablehlo.divide", div),
    U("stablehlo.exponential", exp),
    U("stablehlo.exponential_minus_one", expm1),
    U("stablehlo.floor", floor),
    {"stablehlo.imag", part, &kn_prim_imag, 0},
    U("stablehlo.is_finite", is_finite),
    U("stablehlo.log", log),
    U("stablehlo.log_plus_one", log1p),
    U("stablehlo.logistic", logistic),
    B("stablehlo.maximum", max),
    B("stablehlo.minimum", min),
    {"stablehlo.multiply", arithmetic, &kn_prim_mul, 0},
    U("stablehlo.negate", neg),
    U("stablehlo.not", not),
    B("stablehlo.or", or),
    U("stablehlo.popcnt", population_count),
    {"stablehlo.power", power, &kn_prim_pow, 0},
    {"stablehlo.real", part, &kn_prim_real, 0},
    {"stablehlo.reduce_precision", reduce_precision, NULL, 0},
    B("stablehlo.remainder", rem),
    {"stablehlo.round_nearest_afz", round_to, NULL, 0},
    {"stablehlo.round_nearest_even", round_to, NULL, 1},
    U("stablehlo.rsqrt", rsqrt),
    {"stablehlo.select", select, NULL, 0},
    B("stablehlo.shift_left", shift_left),
    B("stablehlo.shift_right_arithmetic", shift_right_arithmetic),
    B("stablehlo.shift_right_logical", shift_right_logical),
    U("stablehlo.sign", sign),
    U("stablehlo.sine", sin),
    U("stablehlo.sqrt", sqrt),
    {"stablehlo.subtract", arithmetic, &kn_prim_sub, 0},
    U("stablehlo.tan", tan),
    U("stablehlo.tanh", tanh),
    B("stablehlo.xor", xor),
};
const uint32_t kn_himport_n_element = sizeof kn_himport_element / sizeof *kn_himport_element;
