/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions. Float to integer truncates, saturates, and NaN gives 0: the operand is brought into the range first, or
 * the result replaced, so that what the machine gives out of range is never seen. */
#include "llvm/emit.h"

#include <math.h>

/* Where truncation leaves the integer type `to`. */
typedef struct range {
    double low, high, over; /* over: the first power of two that is too large; high: the integer maximum */
    bool exact;             /* the float type has `high` */
} range;

static range range_of(kiln_dtype from, kiln_dtype to)
{
    int bits = (int)kn_bits(to) - kn_is_signed(to), mantissa = from == KILN_F32 ? 24 : 53;
    double over = ldexp(1, bits);
    return (range){.low = kn_is_signed(to) ? -over : 0, .high = over - 1, .over = over, .exact = bits <= mantissa};
}

/* limit > x ? limit : x, and the same with <: one machine instruction, x where x is NaN. */
static kn_ll clamp(kn_emit *e, LLVMRealPredicate p, kn_ll limit, kn_ll x)
{
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, p, limit, x, ""), limit, x, "");
}

static kn_ll float_to_int(kn_emit *e, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a)
{
    range r = range_of(from, to);
    bool is_signed = kn_is_signed(to);
    unsigned bits = kn_bits(to);
    kn_ll x = clamp(e, LLVMRealOGT, kn_const_f(e, from, w, r.low), a);
    if (r.exact) x = clamp(e, LLVMRealOLT, kn_const_f(e, from, w, r.high), x);
    LLVMTypeRef whole = kn_type(e, bits < 32 ? KILN_I32 : to, w);
    kn_ll k = is_signed || bits < 32 ? LLVMBuildFPToSI(e->b, x, whole, "") : LLVMBuildFPToUI(e->b, x, whole, "");
    if (bits < 32) k = LLVMBuildTrunc(e->b, k, kn_type(e, to, w), "");
    if (!r.exact) {
        kn_ll most = kn_const_i(e, to, w, is_signed ? (int64_t)(UINT64_MAX >> (65 - bits)) : -1);
        k = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOGE, a, kn_const_f(e, from, w, r.over), ""), most, k, "");
    }
    kn_ll number = LLVMBuildFCmp(e->b, LLVMRealORD, a, a, "");
    return LLVMBuildSelect(e->b, number, k, kn_const_i(e, to, w, 0), "");
}

kn_ll kn_emit_convert(kn_emit *e, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a)
{
    LLVMTypeRef t = kn_type(e, to, w);
    if (from == to) return a;
    if (kn_is_narrow(to)) return kn_narrow_from(e, from, to, w, a);
    if (kn_is_narrow(from)) return kn_emit_convert(e, KILN_F32, to, w, kn_widen(e, from, w, a));
    if (to == KILN_BOOL) {
        if (kn_is_float(from)) return LLVMBuildFCmp(e->b, LLVMRealUNE, kn_hidden(e, a), kn_const_f(e, from, w, 0), "");
        return LLVMBuildICmp(e->b, LLVMIntNE, a, kn_const_i(e, from, w, 0), "");
    }
    if (kn_is_float(from) && kn_is_float(to))
        return kn_bits(to) > kn_bits(from) ? LLVMBuildFPExt(e->b, kn_hidden(e, a), t, "") : LLVMBuildFPTrunc(e->b, kn_hidden(e, a), t, "");
    if (kn_is_float(from)) return float_to_int(e, from, to, w, a);
    if (kn_is_float(to)) return kn_is_signed(from) ? LLVMBuildSIToFP(e->b, a, t, "") : LLVMBuildUIToFP(e->b, a, t, "");
    if (kn_bits(to) == kn_bits(from)) return a;
    if (kn_bits(to) < kn_bits(from)) return LLVMBuildTrunc(e->b, a, t, "");
    return kn_is_signed(from) ? LLVMBuildSExt(e->b, a, t, "") : LLVMBuildZExt(e->b, a, t, "");
}
