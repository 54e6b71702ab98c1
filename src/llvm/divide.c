/* SPDX-License-Identifier: Apache-2.0 */
/* Integer division without traps: x/0 is -1 (unsigned: all ones), x rem 0 is x, MIN/-1 is MIN, MIN rem -1 is 0. Divisors that
 * the machine refuses are replaced by 1 first, in every lane, active or not. */
#include "llvm/emit.h"

/* A constant divisor (in all lanes) that needs no care. */
static bool plain_divisor(kiln_dtype d, kn_ll b)
{
    if (!LLVMIsConstant(b)) return false;
    unsigned n = LLVMGetTypeKind(LLVMTypeOf(b)) == LLVMVectorTypeKind ? LLVMGetVectorSize(LLVMTypeOf(b)) : 0;
    for (unsigned i = 0; i < (n ? n : 1); i++) {
        kn_ll k = n ? LLVMGetAggregateElement(b, i) : b;
        if (!k || !LLVMIsAConstantInt(k)) return false;
        if (LLVMConstIntGetZExtValue(k) == 0) return false;
        if (kn_is_signed(d) && LLVMConstIntGetSExtValue(k) == -1) return false;
    }
    return true;
}

/* Vectors of up to 32 bits divide as doubles: both operands and the truncated quotient are exact. */
static kn_ll through_double(kn_emit *e, bool is_signed, unsigned w, kn_ll a, kn_ll b)
{
    LLVMTypeRef real = kn_type(e, KILN_F64, w), whole = LLVMTypeOf(a);
    kn_ll x = is_signed ? LLVMBuildSIToFP(e->b, a, real, "") : LLVMBuildUIToFP(e->b, a, real, "");
    kn_ll y = is_signed ? LLVMBuildSIToFP(e->b, b, real, "") : LLVMBuildUIToFP(e->b, b, real, "");
    kn_ll q = LLVMBuildFDiv(e->b, x, y, "");
    return is_signed ? LLVMBuildFPToSI(e->b, q, whole, "") : LLVMBuildFPToUI(e->b, q, whole, "");
}

static kn_ll quotient(kn_emit *e, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    bool is_signed = kn_is_signed(d);
    if (!w || kn_bits(d) == 64) return is_signed ? LLVMBuildSDiv(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, "");
    if (kn_bits(d) == 32) return through_double(e, is_signed, w, a, b);
    LLVMTypeRef wide = kn_type(e, KILN_I32, w), narrow = LLVMTypeOf(a);
    kn_ll x = is_signed ? LLVMBuildSExt(e->b, a, wide, "") : LLVMBuildZExt(e->b, a, wide, "");
    kn_ll y = is_signed ? LLVMBuildSExt(e->b, b, wide, "") : LLVMBuildZExt(e->b, b, wide, "");
    return LLVMBuildTrunc(e->b, through_double(e, true, w, x, y), narrow, "");
}

kn_ll kn_emit_divide(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    bool is_signed = kn_is_signed(d), rem = op == KN_S_rem;
    if (plain_divisor(d, b)) {
        if (rem) return is_signed ? LLVMBuildSRem(e->b, a, b, "") : LLVMBuildURem(e->b, a, b, "");
        return is_signed ? LLVMBuildSDiv(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, "");
    }
    kn_ll minus = kn_const_i(e, d, w, -1), one = kn_const_i(e, d, w, 1);
    kn_ll is_zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, kn_const_i(e, d, w, 0), ""), replace = is_zero, is_minus = NULL;
    if (is_signed) {
        is_minus = LLVMBuildICmp(e->b, LLVMIntEQ, b, minus, "");
        replace = LLVMBuildOr(e->b, is_zero, is_minus, "");
    }
    kn_ll q = quotient(e, d, w, a, LLVMBuildSelect(e->b, replace, one, b, ""));
    if (is_signed) q = LLVMBuildSelect(e->b, is_minus, LLVMBuildNeg(e->b, a, ""), q, "");
    q = LLVMBuildSelect(e->b, is_zero, minus, q, "");
    return rem ? LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, q, b, ""), "") : q; /* wrapping: x - (-1 * 0) = x */
}

kn_ll kn_emit_divide_short(kn_emit *e, kn_sop op, unsigned w, kn_ll a, kn_ll b)
{
    LLVMTypeRef t = LLVMTypeOf(a), half = kn_type(e, KILN_I32, w);
    a = LLVMBuildTrunc(e->b, a, half, ""), b = LLVMBuildTrunc(e->b, b, half, "");
    return LLVMBuildZExt(e->b, op == KN_S_rem ? LLVMBuildURem(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, ""), t, "");
}
