/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that run with subnormal numbers read and made as zeros (numerics 12). The machine's arithmetic does so by itself, where LLVM leaves
 * it to the machine: constants that LLVM would compute with, or leave out as neutral, are hidden from it. An extremum is an instruction that
 * flushes or a comparison and a choice that do not, as LLVM likes; functions are programs that choose, too: their zeros are made here. */
#include "llvm/emit.h"

#include <math.h>

kn_ll kn_hidden(kn_emit *e, kn_ll v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return e->o->flush ? kn_intrinsic(e, "llvm.arithmetic.fence", &t, 1, &v, 1) : v;
}

static bool is_arithmetic(kn_ll v)
{
    if (!LLVMIsAInstruction(v)) return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    return op == LLVMFAdd || op == LLVMFSub || op == LLVMFMul || op == LLVMFDiv;
}

static double smallest(kiln_dtype d) { return d == KILN_F32 ? 0x1p-126 : 0x1p-1022; }

/* By its bits, since this runs in any mode. */
static bool is_subnormal(kiln_dtype d, double k) { return isless(fabs(k), smallest(d)) && fpclassify(k) != FP_ZERO; }

/* v, or a zero of its sign where it is subnormal: times a 1 that LLVM does not know. */
static kn_ll flushed(kn_emit *e, kiln_dtype d, unsigned w, kn_ll v)
{
    double k;
    if (is_arithmetic(v)) return v;
    if (kn_constant_float(v, &k)) return is_subnormal(d, k) ? kn_const_f(e, d, w, copysign(0, k)) : v;
    return LLVMBuildFMul(e->b, v, kn_hidden(e, kn_const_f(e, d, w, 1)), "");
}

/* What LLVM may conclude from: the neutral constants, and a divisor whose reciprocal it might take. */
static bool tells(kn_sop op, kiln_dtype d, kn_ll v)
{
    double k;
    if (!LLVMIsConstant(v)) return false;
    if (!kn_constant_float(v, &k)) return true;
    if (op == KN_S_add || op == KN_S_sub) return fpclassify(k) == FP_ZERO;
    return fabs(k) == 1 || (op == KN_S_div && is_subnormal(d, k));
}

static kn_ll arithmetic(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, const kn_ll *operands, unsigned n)
{
    kn_ll v[3] = {NULL, NULL, NULL};
    bool constant = true;
    for (unsigned i = 0; i < n; i++) constant = constant && LLVMIsConstant(operands[i]);
    for (unsigned i = 0; i < n; i++) v[i] = constant || (i < 2 && tells(op, d, operands[i])) ? kn_hidden(e, operands[i]) : operands[i];
    return kn_emit_plain(e, op, d, d, w, v[0], v[1], v[2]);
}

static kn_ll extremum(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b)
{
    bool same = (is_arithmetic(a) || LLVMIsConstant(a)) && (is_arithmetic(b) || LLVMIsConstant(b));
    if (LLVMIsConstant(a)) a = flushed(e, d, w, a);
    if (LLVMIsConstant(b)) b = flushed(e, d, w, b);
    kn_ll r = kn_emit_plain(e, op, d, d, w, a, b, NULL);
    return same ? r : flushed(e, d, w, r);
}

/* Of numbers in registers: f32, f64. */
kn_ll kn_emit_flushing(kn_emit *e, kn_sop op, kiln_dtype d, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c)
{
    if (kn_is_call(op, d)) {
        kn_ll r = kn_emit_plain(e, op, d, to, w, flushed(e, d, w, a), b ? flushed(e, d, w, b) : NULL, NULL);
        return flushed(e, d, w, r);
    }
    switch (op) {
    case KN_S_add:
    case KN_S_sub:
    case KN_S_mul:
    case KN_S_div:
    case KN_S_fma: return arithmetic(e, op, d, w, (kn_ll[]){a, b, c}, op == KN_S_fma ? 3 : 2);
    case KN_S_sqrt:
    case KN_S_floor:
    case KN_S_ceil:
    case KN_S_round_even:
    case KN_S_round_away: return arithmetic(e, op, d, w, &a, 1);
    case KN_S_min:
    case KN_S_max: return extremum(e, op, d, w, a, b);
    case KN_S_sign: return kn_emit_plain(e, op, d, to, w, flushed(e, d, w, a), b, c);
    case KN_S_eq:
    case KN_S_ne:
    case KN_S_lt:
    case KN_S_le:
    case KN_S_gt:
    case KN_S_ge: return kn_emit_plain(e, op, d, to, w, kn_hidden(e, a), b, c); /* with a choice of its operands it would become an extremum */
    default: return kn_emit_plain(e, op, d, to, w, a, b, c);
    }
}
