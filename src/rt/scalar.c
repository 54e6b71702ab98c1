/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations for the interpreter. f32, and 16-bit floats, are computed in float, rounded once per operation. */
#include "rt/scalar.h"
#include "base/cpu.h"
#include "base/fpmode.h"
#include "rt/maths.h"
#include "rt/sleef_names.h"

#include <math.h>

/* Processors without a fused multiply-add have functions of their own (docs/targets.md). */
#if defined(__x86_64__)
#define OWN(f, d) (kn_cpu_fused() ? kn_maths_##f##_##d##_x1_v3 : kn_maths_##f##_##d##_x1_v2)
#define SLEEF(f, form) (kn_cpu_fused() ? Sleef_finz_##f##form##purecfma : Sleef_cinz_##f##form##purec)
#define DECLARE(T, args, f, form)                                                                                     \
    T Sleef_finz_##f##form##purecfma args;                                                                             \
    T Sleef_cinz_##f##form##purec args;
#else
#define OWN(f, d) kn_maths_##f##_##d##_x1_neon
#define SLEEF(f, form) Sleef_finz_##f##form##purecfma
#define DECLARE(T, args, f, form) T Sleef_finz_##f##form##purecfma args;
#endif
#define DECLARE_F32(f, u) DECLARE(float, (float), f, f1_##u)
#define DECLARE_F64(f, u) DECLARE(double, (double), f, d1_##u)
#define DECLARE_BINARY(f, u) DECLARE(float, (float, float), f, f1_##u) DECLARE(double, (double, double), f, d1_##u)
KN_SLEEF(DECLARE_F32)
KN_SLEEF(DECLARE_F64)
KN_SLEEF_BINARY(DECLARE_BINARY)

const kn_sop_info kn_sops[KN_N_SOPS] = {
    [KN_S_NONE] = {"none", 0, "", 's', ""},
#define KN_SOP(name, arity, kinds, result, function) [KN_S_##name] = {#name, arity, kinds, result, function},
#include "rt/scalar.def"
#undef KN_SOP
};

kn_sop kn_sop_find(const char *name, size_t n)
{
    for (int i = 1; i < KN_N_SOPS; i++)
        if (strlen(kn_sops[i].name) == n && memcmp(kn_sops[i].name, name, n) == 0) return (kn_sop)i;
    return KN_S_NONE;
}

/* ---- floats, once for each of float and double; every expression rounds to T ---- */

#define FLOAT_OPS(T, name, fn, fused, functions)                                                                          \
    static T name##_min(T a, T b)                                                                                      \
    {                                                                                                                  \
        if (a != a || b != b) return a + b;                                                                            \
        return a < b || (a == b && signbit(a)) ? a : b;                                                                \
    }                                                                                                                  \
    static T name##_max(T a, T b)                                                                                      \
    {                                                                                                                  \
        if (a != a || b != b) return a + b;                                                                            \
        return a > b || (a == b && !signbit(a)) ? a : b;                                                               \
    }                                                                                                                  \
    static T name##_op(kn_sop op, T a, T b, T c)                                                                       \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case KN_S_add: return a + b;                                                                                   \
        case KN_S_sub: return a - b;                                                                                   \
        case KN_S_mul: return a * b;                                                                                   \
        case KN_S_div: return a / b;                                                                                   \
        case KN_S_rem: return fn(fmod)(a, b);                                                                          \
        case KN_S_min: return name##_min(a, b);                                                                        \
        case KN_S_max: return name##_max(a, b);                                                                        \
        case KN_S_fma: return kn_cpu_fused() ? fn(fma)(a, b, c) : a * b + c;                                           \
        case KN_S_sign: return a > 0 ? 1 : a < 0 ? -1 : a;                                                             \
        case KN_S_floor: return fn(floor)(a);                                                                          \
        case KN_S_ceil: return fn(ceil)(a);                                                                            \
        case KN_S_round_even: return fn(nearbyint)(a);                                                                 \
        case KN_S_round_away: return fn(round)(a);                                                                     \
        case KN_S_sqrt: return fn(sqrt)(a);                                                                            \
        functions                                                                                                      \
        default: return 0;                                                                                             \
        }                                                                                                              \
    }

#define DOUBLE_FN(name) name
#define FLOAT_FN(name) name##f
#define OWN_F64(f) case KN_S_##f: return OWN(f, f64)(a);
#define OWN_F32(f) case KN_S_##f: return OWN(f, f32)(a);
#define OWN_BINARY_F64(f) case KN_S_##f: return OWN(f, f64)(a, b);
#define OWN_BINARY_F32(f) case KN_S_##f: return OWN(f, f32)(a, b);
#define SLEEF_F64(f, u) case KN_S_##f: return SLEEF(f, d1_##u)(a);
#define SLEEF_F32(f, u) case KN_S_##f: return SLEEF(f, f1_##u)(a);
#define BINARY_F64(f, u) case KN_S_##f: return SLEEF(f, d1_##u)(a, b);
#define BINARY_F32(f, u) case KN_S_##f: return SLEEF(f, f1_##u)(a, b);
FLOAT_OPS(double, f64, DOUBLE_FN, fma, KN_MATHS(OWN_F64) KN_MATHS_BINARY(OWN_BINARY_F64) KN_SLEEF(SLEEF_F64) KN_SLEEF_BINARY(BINARY_F64))
FLOAT_OPS(float, f32, FLOAT_FN, fmaf, KN_MATHS(OWN_F32) KN_MATHS_BINARY(OWN_BINARY_F32) KN_SLEEF(SLEEF_F32) KN_SLEEF_BINARY(BINARY_F32))

static bool compare_float(kn_sop op, double a, double b)
{
    switch (op) {
    case KN_S_eq: return a == b;
    case KN_S_ne: return a != b;
    case KN_S_lt: return a < b;
    case KN_S_le: return a <= b;
    case KN_S_gt: return a > b;
    default: return a >= b;
    }
}

/* ---- integers: computed modulo 2^64, then wrapped to their width ---- */

static unsigned width_of(kiln_dtype d) { return kn_dtype_width(d); }

static uint64_t int_op(kn_sop op, kiln_dtype d, bool is_signed, kn_scalar a, kn_scalar b)
{
    unsigned width = width_of(d);
    uint64_t mask = UINT64_MAX >> (64 - width), by = b.u & mask;
    switch (op) {
    case KN_S_add: return a.u + b.u;
    case KN_S_sub: return a.u - b.u;
    case KN_S_mul: return a.u * b.u;
    case KN_S_div:
        if (b.u == 0) return UINT64_MAX;
        return !is_signed ? a.u / b.u : b.i == -1 ? 0 - a.u : (uint64_t)(a.i / b.i);
    case KN_S_rem:
        if (b.u == 0) return a.u;
        return !is_signed ? a.u % b.u : b.i == -1 ? 0 : (uint64_t)(a.i % b.i);
    case KN_S_min: return (is_signed ? a.i < b.i : a.u < b.u) ? a.u : b.u;
    case KN_S_max: return (is_signed ? a.i > b.i : a.u > b.u) ? a.u : b.u;
    case KN_S_neg: return 0 - a.u;
    case KN_S_abs: return is_signed && a.i < 0 ? 0 - a.u : a.u;
    case KN_S_sign: return is_signed && a.i < 0 ? UINT64_MAX : a.u != 0;
    case KN_S_and: return a.u & b.u;
    case KN_S_or: return a.u | b.u;
    case KN_S_xor: return a.u ^ b.u;
    case KN_S_not: return ~a.u;
    case KN_S_shl: return by >= width ? 0 : a.u << by;
    case KN_S_shrl: return by >= width ? 0 : (a.u & mask) >> by;
    case KN_S_shra: { /* of an unsigned number too, the top bit is the sign */
        int64_t v = (int64_t)(a.u << (64 - width)) >> (64 - width);
        return (uint64_t)(v >> (by >= width ? width - 1 : by));
    }
    case KN_S_popcount: return (uint64_t)__builtin_popcountll(a.u & mask);
    case KN_S_clz: return (a.u & mask) == 0 ? width : (uint64_t)__builtin_clzll(a.u & mask) - (64 - width);
    default: return 0;
    }
}

static bool compare_int(kn_sop op, bool is_signed, kn_scalar a, kn_scalar b)
{
    int c = is_signed ? (a.i > b.i) - (a.i < b.i) : (a.u > b.u) - (a.u < b.u);
    switch (op) {
    case KN_S_eq: return c == 0;
    case KN_S_ne: return c != 0;
    case KN_S_lt: return c < 0;
    case KN_S_le: return c <= 0;
    case KN_S_gt: return c > 0;
    default: return c >= 0;
    }
}

static bool bool_op(kn_sop op, bool a, bool b)
{
    switch (op) {
    case KN_S_min:
    case KN_S_and: return a && b;
    case KN_S_max:
    case KN_S_or: return a || b;
    case KN_S_xor: return a != b;
    case KN_S_not: return !a;
    default: return compare_int(op, false, (kn_scalar){.u = a}, (kn_scalar){.u = b});
    }
}

/* ---- conversions ---- */

static int64_t saturate_signed(double v, unsigned width)
{
    int64_t max = INT64_MAX >> (64 - width);
    double limit = ldexp(1, (int)width - 1); /* exact */
    if (v != v) return 0;
    if (v >= limit) return max;
    if (v < -limit) return -max - 1;
    return (int64_t)v;
}

static uint64_t saturate_unsigned(double v, unsigned width)
{
    uint64_t max = UINT64_MAX >> (64 - width);
    if (!(v > 0)) return 0;
    if (v >= ldexp(1, (int)width)) return max;
    return (uint64_t)v;
}

/* An integer as a double that later rounds to 16 bits as the integer itself would: the bits that do not fit stick to the last. */
static double sticky(bool negative, uint64_t magnitude)
{
    if (magnitude >> 53) magnitude = (magnitude & ~(uint64_t)0xfff) | ((magnitude & 0xfff) != 0) << 12;
    double v = (double)magnitude;
    return negative ? -v : v;
}

static double int_to_float(kiln_dtype to, bool is_signed, kn_scalar a)
{
    bool negative = is_signed && a.i < 0;
    switch (to) {
    case KILN_F64: return is_signed ? (double)a.i : (double)a.u;
    case KILN_F32: return is_signed ? (double)(float)a.i : (double)(float)a.u;
    default: return sticky(negative, negative ? 0 - a.u : a.u);
    }
}

/* v, or a zero of its sign where it is subnormal in the type that d is computed in. By its bits: to the machine's comparisons it may be zero. */
static double flushed(kiln_dtype d, double v)
{
    const uint64_t sign = (uint64_t)1 << 63, least = (uint64_t)(d == KILN_F64 ? 1 : 1023 - 126) << 52;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits & ~sign) < least) bits &= sign;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Of a float, in a mode that flushes: f64 is read and made, and f32 read from it or into it; what is no wider than f32 keeps its value
 * among its like. */
static double converted(kiln_dtype d, kiln_dtype to, double v)
{
    if (d != KILN_F64) return to == KILN_F64 || to == KILN_BOOL ? flushed(KILN_F32, v) : v;
    char kind = kiln_dtype_kind(to);
    float near = (float)v;
    return (kind == 'f' || kind == '8') && near == 0 ? (double)near : flushed(KILN_F64, v);
}

static kn_scalar convert(kiln_dtype d, kiln_dtype to, kn_scalar a)
{
    char from = kiln_dtype_kind(d), kind = kiln_dtype_kind(to);
    kn_scalar r = {.u = 0};
    if (from == '8') from = 'f';
    if (kind == '8') kind = 'f';
    if (from == 'f' && d != to && kn_fpmode_flushes()) a.f = converted(d, to, a.f);
    if (from == 'b') a = (kn_scalar){.u = a.b}, from = 'u';
    if (kind == 'b') {
        r.b = from == 'f' ? a.f != 0 : a.u != 0;
        return r;
    }
    if (from == 'f') {
        if (kind == 'f') r.f = a.f;
        else if (kind == 'i') r.i = saturate_signed(a.f, width_of(to));
        else r.u = saturate_unsigned(a.f, width_of(to));
    } else if (kind == 'f') {
        r.f = int_to_float(to, from == 'i', a);
    } else {
        r.u = a.u;
    }
    return kn_scalar_round(to, r);
}

static kn_scalar eval_float(kn_sop op, kiln_dtype d, kn_scalar a, kn_scalar b, kn_scalar c)
{
    kn_scalar r = {.u = 0};
    if (op == KN_S_neg || op == KN_S_abs) { /* moves of all bits but the sign */
        r.f = op == KN_S_neg ? -a.f : fabs(a.f);
        return r;
    }
    bool flushes = kn_fpmode_flushes();
    if (flushes) a.f = flushed(d, a.f), b.f = flushed(d, b.f), c.f = flushed(d, c.f);
    if (op >= KN_S_eq && op <= KN_S_ge) {
        r.b = compare_float(op, a.f, b.f);
    } else if (op == KN_S_is_finite) {
        r.b = isfinite(a.f);
    } else if (d == KILN_F64) {
        r.f = f64_op(op, a.f, b.f, c.f);
        if (flushes) r.f = flushed(d, r.f);
    } else {
        r.f = (double)f32_op(op, (float)a.f, (float)b.f, (float)c.f);
        if (flushes) r.f = flushed(d, r.f);
        if (d != KILN_F32) r = kn_scalar_round(d, r);
    }
    return r;
}

/* Sums, differences, products; part by part in the type of the parts. */
static kn_scalar eval_complex(kn_sop op, kiln_dtype d, kn_scalar a, kn_scalar b)
{
    kiln_dtype p = d == KILN_C64 ? KILN_F32 : KILN_F64;
    kn_scalar x = {.f = a.c[0]}, y = {.f = a.c[1]}, u = {.f = b.c[0]}, v = {.f = b.c[1]}, r = {.c = {0, 0}};
    if (op == KN_S_mul) {
        kn_scalar xu = eval_float(op, p, x, u, u), yv = eval_float(op, p, y, v, v), xv = eval_float(op, p, x, v, v), yu = eval_float(op, p, y, u, u);
        r.c[0] = eval_float(KN_S_sub, p, xu, yv, yv).f;
        r.c[1] = eval_float(KN_S_add, p, xv, yu, yu).f;
    } else if (op == KN_S_add || op == KN_S_sub) {
        r.c[0] = eval_float(op, p, x, u, u).f;
        r.c[1] = eval_float(op, p, y, v, v).f;
    }
    return r;
}

kn_scalar kn_sop_eval(kn_sop op, kiln_dtype d, kiln_dtype to, kn_scalar a, kn_scalar b, kn_scalar c)
{
    if (op == KN_S_select) return a.b ? b : c;
    if (op == KN_S_convert) return convert(d, to, a);
    if (op == KN_S_bitcast) {
        uint64_t bits[2] = {0};
        kn_scalar_store(d, bits, 0, a);
        return kn_scalar_load(to, bits, 0);
    }
    char kind = kiln_dtype_kind(d);
    if (kind == 'f') return eval_float(op, d, a, b, c);
    if (kind == 'c') return eval_complex(op, d, a, b);
    kn_scalar r = {.u = 0};
    if (kind == 'b') r.b = bool_op(op, a.b, b.b);
    else if (op >= KN_S_eq && op <= KN_S_ge) r.b = compare_int(op, kind == 'i', a, b);
    else {
        r.u = int_op(op, d, kind == 'i', a, b);
        if (width_of(d) < 64) r = kn_scalar_round(d, r);
    }
    return r;
}
