/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 16 bits and less: codes in registers, f32 to compute with. Widening is exact; narrowing rounds once to nearest even,
 * by integer arithmetic as array/scalar.c and array/float8.c do, or, for f16, by the target's instructions, which do the same. What is
 * wider than f32 comes through f32 rounded to odd, which a second rounding to 22 bits or less cannot see. */
#include "llvm/emit.h"

#include "array/float8.h"

#include <math.h>

bool kn_is_narrow(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16 || kiln_dtype_kind(d) == '8'; }

/* ---- words of 32 bits ---- */

typedef struct words {
    kn_emit *e;
    unsigned w;
} words;
static kn_ll word(words k, int64_t v) { return kn_const_i(k.e, KILN_U32, k.w, v); }
static kn_ll and(words k, kn_ll a, int64_t v) { return LLVMBuildAnd(k.e->b, a, word(k, v), ""); }
static kn_ll or(words k, kn_ll a, kn_ll b) { return LLVMBuildOr(k.e->b, a, b, ""); }
static kn_ll plus(words k, kn_ll a, int64_t v) { return LLVMBuildAdd(k.e->b, a, word(k, v), ""); }
static kn_ll left(words k, kn_ll a, unsigned by) { return by ? LLVMBuildShl(k.e->b, a, word(k, by), "") : a; }
static kn_ll right(words k, kn_ll a, unsigned by) { return by ? LLVMBuildLShr(k.e->b, a, word(k, by), "") : a; }
static kn_ll is(words k, LLVMIntPredicate p, kn_ll a, int64_t v) { return LLVMBuildICmp(k.e->b, p, a, word(k, v), ""); }
static kn_ll pick(words k, kn_ll which, kn_ll a, kn_ll b) { return LLVMBuildSelect(k.e->b, which, a, b, ""); }
static kn_ll bits_of(words k, kn_ll real) { return kn_bitcast(k.e, real, kn_type(k.e, KILN_U32, k.w)); }
static kn_ll real_of(words k, kn_ll bits) { return kn_bitcast(k.e, bits, kn_type(k.e, KILN_F32, k.w)); }

enum { MAGNITUDE = 0x7fffffff, INFINITE = 0x7f800000, QUIET = 0x7fc00000 }; /* of f32 */

/* ---- widening ---- */

static kn_ll widen_code(words k, kiln_dtype d, kn_ll code)
{
    kn_float_format f = kn_float_format_of(d);
    int64_t sign_bit = (int64_t)1 << (f.bits - 1), top = kn_float_largest(f);
    kn_ll sign = left(k, and(k, code, sign_bit), 32 - f.bits), rest = and(k, code, sign_bit - 1);
    kn_ll normal = plus(k, left(k, rest, 23 - f.mant), (int64_t)(127 - f.bias) << 23);
    kn_ll unit = kn_const_f(k.e, KILN_F32, k.w, ldexp(1, 1 - f.bias - (int)f.mant));
    kn_ll small = bits_of(k, LLVMBuildFMul(k.e->b, LLVMBuildUIToFP(k.e->b, rest, kn_type(k.e, KILN_F32, k.w), ""), unit, ""));
    kn_ll r = pick(k, is(k, LLVMIntULT, rest, 1 << f.mant), small, normal);
    if (f.ends == KN_ENDS_IEEE || f.ends == KN_ENDS_FN) r = pick(k, is(k, LLVMIntUGT, rest, top), word(k, QUIET), r);
    if (f.ends == KN_ENDS_IEEE) r = pick(k, is(k, LLVMIntEQ, rest, top + 1), word(k, INFINITE), r);
    r = or(k, r, sign);
    return f.ends == KN_ENDS_FNUZ ? pick(k, is(k, LLVMIntEQ, code, sign_bit), word(k, QUIET), r) : r;
}

kn_ll kn_widen(kn_emit *e, kiln_dtype d, unsigned w, kn_ll code)
{
    words k = {e, w};
    LLVMTypeRef half = LLVMHalfTypeInContext(e->c), real = kn_type(e, KILN_F32, w);
    if (d == KILN_F16 && e->target->halves) return LLVMBuildFPExt(e->b, kn_bitcast(e, code, w ? LLVMVectorType(half, w) : half), real, "");
    kn_ll c = LLVMBuildZExt(e->b, code, kn_type(e, KILN_U32, w), "");
    if (d == KILN_BF16) return real_of(k, left(k, c, 16));
    if (d != KILN_F8E8M0FNU) return real_of(k, widen_code(k, d, c));
    kn_ll r = pick(k, is(k, LLVMIntEQ, c, 0), word(k, 0x400000), left(k, c, 23)); /* 2^-127 is subnormal */
    return real_of(k, pick(k, is(k, LLVMIntEQ, c, 255), word(k, QUIET), r));
}

/* ---- narrowing ---- */

/* Of a magnitude: bits without sign. */
static kn_ll narrow_magnitude(words k, kn_float_format f, kn_ll a)
{
    unsigned drop = 23 - f.mant;
    kn_ll odd = and(k, right(k, a, drop), 1);
    kn_ll normal = right(k, LLVMBuildAdd(k.e->b, plus(k, a, (1 << (drop - 1)) - 1), odd, ""), drop);
    normal = plus(k, normal, -((int64_t)(127 - f.bias) << f.mant));
    /* below the smallest normal number: the sum with a power of two whose last place is the format's */
    kn_ll magic = kn_const_f(k.e, KILN_F32, k.w, ldexp(1, 24 - f.bias - (int)f.mant));
    kn_ll sum = bits_of(k, LLVMBuildFAdd(k.e->b, real_of(k, a), magic, ""));
    kn_ll small = LLVMBuildSub(k.e->b, sum, bits_of(k, magic), "");
    return pick(k, is(k, LLVMIntULT, a, (int64_t)(128 - f.bias) << 23), small, normal);
}

static kn_ll narrow_code(words k, kiln_dtype d, kn_ll bits)
{
    kn_float_format f = kn_float_format_of(d);
    int64_t sign_bit = (int64_t)1 << (f.bits - 1), top = kn_float_largest(f);
    kn_ll a = and(k, bits, MAGNITUDE), sign = and(k, right(k, bits, 32 - f.bits), sign_bit), code = narrow_magnitude(k, f, a);
    int64_t nan = f.ends == KN_ENDS_FNUZ ? sign_bit : f.ends == KN_ENDS_FN ? sign_bit - 1 : f.ends == KN_ENDS_IEEE ? top + 1 + (1 << (f.mant - 1)) : 0;
    kn_ll over = is(k, LLVMIntSGT, code, top);
    if (f.ends == KN_ENDS_MAX) code = pick(k, over, word(k, top), code);
    if (f.ends == KN_ENDS_IEEE) code = pick(k, over, word(k, top + 1), code);
    kn_ll r = or(k, code, sign);
    if (f.ends == KN_ENDS_FNUZ) r = pick(k, is(k, LLVMIntEQ, code, 0), word(k, 0), r);
    if (f.ends == KN_ENDS_FN || f.ends == KN_ENDS_FNUZ) r = pick(k, over, word(k, nan), r);
    return pick(k, is(k, LLVMIntUGT, a, INFINITE), word(k, nan), r);
}

/* A bare exponent: the one digit before it is odd, so that ties go up. */
static kn_ll narrow_exponent(words k, kn_ll bits)
{
    kn_ll normal = right(k, bits, 23), part = and(k, bits, 0x7fffff);
    kn_ll up = is(k, LLVMIntUGE, part, 0x400000);
    kn_ll code = LLVMBuildAdd(k.e->b, normal, LLVMBuildZExt(k.e->b, up, kn_type(k.e, KILN_U32, k.w), ""), "");
    code = pick(k, is(k, LLVMIntULT, bits, 0x800000), /* subnormal: 2^-127, from 3 * 2^-128 on 2^-126 */
                LLVMBuildZExt(k.e->b, is(k, LLVMIntUGE, bits, 0x600000), kn_type(k.e, KILN_U32, k.w), ""), code);
    kn_ll none = LLVMBuildOr(k.e->b, is(k, LLVMIntEQ, bits, 0), is(k, LLVMIntUGE, bits, INFINITE), ""); /* 0, infinite, NaN, negative */
    code = pick(k, is(k, LLVMIntUGT, code, 254), word(k, 255), code);
    return pick(k, none, word(k, 255), code);
}

kn_ll kn_narrow(kn_emit *e, kiln_dtype d, unsigned w, kn_ll real)
{
    words k = {e, w};
    LLVMTypeRef half = LLVMHalfTypeInContext(e->c), code = kn_type(e, d, w);
    if (d == KILN_F16 && e->target->halves) return kn_bitcast(e, LLVMBuildFPTrunc(e->b, real, w ? LLVMVectorType(half, w) : half, ""), code);
    kn_ll bits = bits_of(k, real), r;
    if (d == KILN_BF16) {
        kn_ll odd = and(k, right(k, bits, 16), 1);
        r = right(k, LLVMBuildAdd(e->b, plus(k, bits, 0x7fff), odd, ""), 16);
        kn_ll number = LLVMBuildFCmp(e->b, LLVMRealORD, real, real, "");
        r = pick(k, number, r, or(k, right(k, bits, 16), word(k, 0x40)));
    } else {
        r = d == KILN_F8E8M0FNU ? narrow_exponent(k, bits) : narrow_code(k, d, bits);
    }
    return LLVMBuildTrunc(e->b, r, code, "");
}

/* ---- wider numbers ---- */

/* The f32 toward zero, its last bit set where that is not exact. */
static kn_ll odd_from_double(kn_emit *e, unsigned w, kn_ll x)
{
    words k = {e, w};
    kn_ll near = LLVMBuildFPTrunc(e->b, x, kn_type(e, KILN_F32, w), ""), back = LLVMBuildFPExt(e->b, near, kn_type(e, KILN_F64, w), "");
    LLVMTypeRef t = LLVMTypeOf(x);
    kn_ll size = kn_intrinsic(e, "llvm.fabs", &t, 1, &x, 1), rounded = kn_intrinsic(e, "llvm.fabs", &t, 1, &back, 1);
    kn_ll away = LLVMBuildFCmp(e->b, LLVMRealOGT, rounded, size, ""), inexact = LLVMBuildFCmp(e->b, LLVMRealONE, rounded, size, "");
    kn_ll bits = bits_of(k, near);
    bits = LLVMBuildSub(e->b, bits, LLVMBuildZExt(e->b, away, LLVMTypeOf(bits), ""), "");
    return real_of(k, or(k, bits, LLVMBuildZExt(e->b, inexact, LLVMTypeOf(bits), "")));
}

/* An integer as a double that has its leading bits and, in the last one, whether others follow. */
static kn_ll odd_from_integer(kn_emit *e, kiln_dtype from, unsigned w, kn_ll a)
{
    LLVMTypeRef real = kn_type(e, KILN_F64, w);
    bool is_signed = kn_is_signed(from);
    if (kn_bits(from) < 64) return is_signed ? LLVMBuildSIToFP(e->b, a, real, "") : LLVMBuildUIToFP(e->b, a, real, "");
    enum { DROP = 12 };
    kn_ll low = kn_const_i(e, KILN_U64, w, (1 << DROP) - 1), zero = kn_const_i(e, KILN_U64, w, 0), size = a, negative = NULL;
    if (is_signed) {
        negative = LLVMBuildICmp(e->b, LLVMIntSLT, a, zero, "");
        size = LLVMBuildSelect(e->b, negative, LLVMBuildNeg(e->b, a, ""), a, "");
    }
    kn_ll more = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, size, low, ""), zero, "");
    kn_ll kept = LLVMBuildAnd(e->b, size, LLVMBuildNot(e->b, low, ""), "");
    kept = LLVMBuildOr(e->b, kept, LLVMBuildShl(e->b, LLVMBuildZExt(e->b, more, LLVMTypeOf(a), ""), kn_const_i(e, KILN_U64, w, DROP), ""), "");
    kn_ll large = LLVMBuildICmp(e->b, LLVMIntUGE, size, kn_const_i(e, KILN_U64, w, (int64_t)1 << 53), "");
    kn_ll v = LLVMBuildUIToFP(e->b, LLVMBuildSelect(e->b, large, kept, size, ""), real, "");
    return negative ? LLVMBuildSelect(e->b, negative, LLVMBuildFNeg(e->b, v, ""), v, "") : v;
}

kn_ll kn_narrow_from(kn_emit *e, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a)
{
    if (from == KILN_BOOL) return kn_narrow(e, to, w, LLVMBuildUIToFP(e->b, a, kn_type(e, KILN_F32, w), ""));
    if (kn_is_narrow(from)) return kn_narrow(e, to, w, kn_widen(e, from, w, a));
    if (from == KILN_F32) return kn_narrow(e, to, w, a);
    return kn_narrow(e, to, w, odd_from_double(e, w, from == KILN_F64 ? a : odd_from_integer(e, from, w, a)));
}
