/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations, on one element or a vector of w, as rt/scalar.c computes them, to the bit. */
#include "llvm/emit.h"

#include <math.h>

static kn_ll select(kn_emit *e, kn_ll c, kn_ll a, kn_ll b) { return LLVMBuildSelect(e->b, c, a, b, ""); }
static kn_ll fcmp(kn_emit *e, LLVMRealPredicate p, kn_ll a, kn_ll b) { return LLVMBuildFCmp(e->b, p, a, b, ""); }
static kn_ll icmp(kn_emit *e, LLVMIntPredicate p, kn_ll a, kn_ll b) { return LLVMBuildICmp(e->b, p, a, b, ""); }

static kn_ll unary(kn_emit *e, const char *intrinsic, kn_ll a)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    return kn_intrinsic(e, intrinsic, &t, 1, &a, 1);
}

static kn_ll binary(kn_emit *e, const char *intrinsic, kn_ll a, kn_ll b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    return kn_intrinsic(e, intrinsic, &t, 1, (kn_ll[]){a, b}, 2);
}

bool kn_constant_float(kn_ll v, double *out)
{
    if (!LLVMIsConstant(v)) return false;
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
        unsigned n = LLVMGetVectorSize(LLVMTypeOf(v));
        kn_ll first = LLVMGetAggregateElement(v, 0);
        for (unsigned i = 1; i < n; i++)
            if (LLVMGetAggregateElement(v, i) != first) return false;
        v = first;
    }
    if (!v || !LLVMIsAConstantFP(v)) return false;
    LLVMBool lost;
    *out = LLVMConstRealGetDouble(v, &lost);
    return true;
}

/* x < y ? x : y is exactly the machine's minimum: y where either is NaN or both are zero; likewise >. */
static kn_ll machine(kn_emit *e, bool max, kn_ll x, kn_ll y)
{
    return select(e, fcmp(e, max ? LLVMRealOGT : LLVMRealOLT, x, y), x, y);
}

/* IEEE 754-2019 minimum and maximum. The machine's, both ways round, agree but for zeros and NaN: `or` of the two gives the
 * minimum in every case (-0 wins, and NaN or anything is NaN); `and` gives the maximum of zeros, and NaN is put in last.
 * With a constant that is no NaN one machine instruction is enough, and for a zero that the other zero must not pass, two. */
static kn_ll float_extremum(kn_emit *e, bool max, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    double k;
    if (kn_constant_float(a, &k)) {
        kn_ll t = a;
        a = b;
        b = t;
    }
    if (kn_constant_float(b, &k) && !isnan(k)) {
        if (k != 0 || (signbit(k) != 0) == max) return machine(e, max, b, a); /* NaN and zero in a: a */
        return select(e, fcmp(e, LLVMRealUNO, a, a), a, machine(e, max, a, b));
    }
    LLVMTypeRef bits = kn_bits_type(e, d, w), t = kn_type(e, d, w);
    kn_ll x = kn_bitcast(e, machine(e, max, a, b), bits), y = kn_bitcast(e, machine(e, max, b, a), bits);
    if (!max) return kn_bitcast(e, LLVMBuildOr(e->b, x, y, ""), t);
    kn_ll both = kn_bitcast(e, LLVMBuildAnd(e->b, x, y, ""), t);
    return select(e, fcmp(e, LLVMRealUNO, a, b), kn_const_f(e, d, w, (double)NAN), both);
}

kn_ll kn_integer_extremum(kn_emit *e, bool max, bool is_signed, kn_ll a, kn_ll b)
{
    static const char *const names[2][2] = {{"llvm.umin", "llvm.umax"}, {"llvm.smin", "llvm.smax"}};
    static const LLVMIntPredicate less[] = {LLVMIntULT, LLVMIntSLT};
    bool quick = e->o->tier == 0 && LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMIntegerTypeKind; /* the fast selector knows no such call */
    if (!quick) return binary(e, names[is_signed][max], a, b);
    kn_ll smaller = LLVMBuildICmp(e->b, less[is_signed], a, b, "");
    return LLVMBuildSelect(e->b, smaller, max ? b : a, max ? a : b, "");
}

static kn_ll extremum(kn_emit *e, bool max, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    if (d == KILN_BOOL) return max ? LLVMBuildOr(e->b, a, b, "") : LLVMBuildAnd(e->b, a, b, "");
    if (kn_is_float(d)) return float_extremum(e, max, d, w, a, b);
    return kn_integer_extremum(e, max, kn_is_signed(d), a, b);
}

static kn_ll sign(kn_emit *e, kiln_dtype d, unsigned w, kn_ll a)
{
    if (kn_is_float(d)) {
        kn_ll zero = kn_const_f(e, d, w, 0), x = select(e, fcmp(e, LLVMRealOGT, a, zero), kn_const_f(e, d, w, 1), a);
        return select(e, fcmp(e, LLVMRealOLT, a, zero), kn_const_f(e, d, w, -1), x);
    }
    kn_ll zero = kn_const_i(e, d, w, 0), one = kn_const_i(e, d, w, 1);
    if (!kn_is_signed(d)) return select(e, icmp(e, LLVMIntEQ, a, zero), zero, one);
    return select(e, icmp(e, LLVMIntSGT, a, zero), one, LLVMBuildAShr(e->b, a, kn_const_i(e, d, w, kn_bits(d) - 1), ""));
}

/* Half away from zero: truncate x + copysign(the largest number below a half, x); that sum is exact enough at every x. */
static kn_ll round_away(kn_emit *e, kiln_dtype d, unsigned w, kn_ll a)
{
    double half = d == KILN_F32 ? 0x1.fffffep-2 : 0x1.fffffffffffffp-2;
    kn_ll h = binary(e, "llvm.copysign", kn_const_f(e, d, w, half), a);
    return unary(e, "llvm.trunc", LLVMBuildFAdd(e->b, a, h, ""));
}

/* The exponent is not all ones. */
static kn_ll is_finite(kn_emit *e, kiln_dtype d, unsigned w, kn_ll a)
{
    int64_t exponent = d == KILN_F32 ? 0x7f800000 : 0x7ff0000000000000;
    kn_ll mask = kn_const_i(e, d, w, exponent), bits = kn_bitcast(e, a, kn_bits_type(e, d, w));
    return icmp(e, LLVMIntNE, LLVMBuildAnd(e->b, bits, mask, ""), mask);
}

static kn_ll compare(kn_emit *e, kn_sop op, kiln_dtype d, kn_ll a, kn_ll b)
{
    static const LLVMRealPredicate real[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT, LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate s[] = {LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate u[] = {LLVMIntEQ, LLVMIntNE, LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    static const kn_sop order[] = {KN_S_eq, KN_S_ne, KN_S_lt, KN_S_le, KN_S_gt, KN_S_ge};
    unsigned k = 0;
    while (order[k] != op) k++;
    if (kn_is_float(d)) return fcmp(e, real[k], a, b);
    return icmp(e, kn_is_signed(d) ? s[k] : u[k], a, b);
}

/* By the width or more: 0, arithmetic to the right: the sign. */
static kn_ll shift(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    unsigned bits = kn_bits(d);
    kn_ll most = kn_const_i(e, d, w, bits - 1), inside = icmp(e, LLVMIntULE, b, most), by = select(e, inside, b, most);
    if (op == KN_S_shra) return LLVMBuildAShr(e->b, a, by, "");
    kn_ll r = op == KN_S_shl ? LLVMBuildShl(e->b, a, by, "") : LLVMBuildLShr(e->b, a, by, "");
    return select(e, inside, r, kn_const_i(e, d, w, 0));
}

static kn_ll arithmetic(kn_emit *e, kn_sop op, bool real, kn_ll a, kn_ll b)
{
    switch (op) {
    case KN_S_add: return real ? LLVMBuildFAdd(e->b, a, b, "") : LLVMBuildAdd(e->b, a, b, "");
    case KN_S_sub: return real ? LLVMBuildFSub(e->b, a, b, "") : LLVMBuildSub(e->b, a, b, "");
    default: return real ? LLVMBuildFMul(e->b, a, b, "") : LLVMBuildMul(e->b, a, b, "");
    }
}

static kn_ll count_leading(kn_emit *e, kn_ll a)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    return kn_intrinsic(e, "llvm.ctlz", &t, 1, (kn_ll[]){a, kn_int(e, 1, 0)}, 2);
}

static kn_ll absolute(kn_emit *e, kiln_dtype d, kn_ll a)
{
    if (kn_is_float(d)) return unary(e, "llvm.fabs", a);
    if (!kn_is_signed(d)) return a;
    LLVMTypeRef t = LLVMTypeOf(a);
    return kn_intrinsic(e, "llvm.abs", &t, 1, (kn_ll[]){a, kn_int(e, 1, 0)}, 2);
}

static kn_ll fused(kn_emit *e, kn_ll a, kn_ll b, kn_ll c)
{
    if (!e->target->fused) return LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, a, b, ""), c, "");
    LLVMTypeRef t = LLVMTypeOf(a);
    return kn_intrinsic(e, "llvm.fma", &t, 1, (kn_ll[]){a, b, c}, 3);
}

/* Of 16-bit floats: in f32, rounded once; what only changes the sign is done on the codes. */
static kn_ll narrow_op(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b, kn_ll c)
{
    if (op == KN_S_neg) return LLVMBuildXor(e->b, a, kn_const_i(e, d, w, 0x8000), "");
    if (op == KN_S_abs) return LLVMBuildAnd(e->b, a, kn_const_i(e, d, w, 0x7fff), "");
    kn_ll r = kn_emit_op(e, op, KILN_F32, KILN_F32, w, kn_widen(e, d, w, a), b ? kn_widen(e, d, w, b) : NULL, c ? kn_widen(e, d, w, c) : NULL);
    bool truth = op == KN_S_is_finite || (op >= KN_S_eq && op <= KN_S_ge);
    return truth ? r : kn_narrow(e, d, w, r);
}

kn_ll kn_emit_op(kn_emit *e, kn_sop op, kiln_dtype d, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c)
{
    bool real = kn_is_float(d), moves = op == KN_S_select || op == KN_S_convert || op == KN_S_bitcast;
    if (real && kn_is_narrow(d) && !moves) return narrow_op(e, op, d, w, a, b, c);
    return real && e->o->flush && !moves ? kn_emit_flushing(e, op, d, to, w, a, b, c) : kn_emit_plain(e, op, d, to, w, a, b, c);
}

kn_ll kn_emit_plain(kn_emit *e, kn_sop op, kiln_dtype d, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c)
{
    bool real = kn_is_float(d);
    kn_ll here = kn_emit_maths(e, op, d, w, a, b);
    if (here) return here;
    if (kn_is_call(op, d)) return kn_emit_call(e, op, d, w, (kn_ll[]){a, b}, b ? 2 : 1);
    switch (op) {
    case KN_S_add:
    case KN_S_sub:
    case KN_S_mul: return arithmetic(e, op, real, a, b);
    case KN_S_div:
    case KN_S_rem: return real ? LLVMBuildFDiv(e->b, a, b, "") : kn_emit_divide(e, op, d, w, a, b);
    case KN_S_min:
    case KN_S_max: return extremum(e, op == KN_S_max, d, w, a, b);
    case KN_S_fma: return fused(e, a, b, c);
    case KN_S_neg: return real ? LLVMBuildFNeg(e->b, a, "") : LLVMBuildNeg(e->b, a, "");
    case KN_S_abs: return absolute(e, d, a);
    case KN_S_sign: return sign(e, d, w, a);
    case KN_S_floor: return unary(e, "llvm.floor", a);
    case KN_S_ceil: return unary(e, "llvm.ceil", a);
    case KN_S_round_even: return unary(e, "llvm.roundeven", a);
    case KN_S_round_away: return round_away(e, d, w, a);
    case KN_S_sqrt: return unary(e, "llvm.sqrt", a);
    case KN_S_is_finite: return is_finite(e, d, w, a);
    case KN_S_eq:
    case KN_S_ne:
    case KN_S_lt:
    case KN_S_le:
    case KN_S_gt:
    case KN_S_ge: return compare(e, op, d, a, b);
    case KN_S_and: return LLVMBuildAnd(e->b, a, b, "");
    case KN_S_or: return LLVMBuildOr(e->b, a, b, "");
    case KN_S_xor: return LLVMBuildXor(e->b, a, b, "");
    case KN_S_not: return LLVMBuildNot(e->b, a, "");
    case KN_S_shl:
    case KN_S_shrl:
    case KN_S_shra: return shift(e, op, d, w, a, b);
    case KN_S_popcount: return unary(e, "llvm.ctpop", a);
    case KN_S_clz: return count_leading(e, a);
    case KN_S_select: return select(e, a, b, c);
    case KN_S_convert: return kn_emit_convert(e, d, to, w, a);
    case KN_S_bitcast: return LLVMBuildBitCast(e->b, a, kn_type(e, to, w), "");
    default: break;
    }
    kn_emit_fail(e, "operation %d has no code", (int)op);
    return LLVMGetUndef(kn_type(e, d, w));
}
