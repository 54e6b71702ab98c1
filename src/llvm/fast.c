/* SPDX-License-Identifier: Apache-2.0 */
/* What LLVM's fast instruction selector (level 0) selects by itself. A wrong answer costs time, never a value; `tools` of LLVM tell the
 * truth with -pass-remarks-missed=sdagisel. */
#include "llvm/emit.h"

static unsigned width(LLVMTypeRef t) { return LLVMGetIntTypeWidth(t); }

/* Of a number in a register or a legal vector of them; vectors of i1 and of what the target's registers do not hold are not. */
static bool is_legal(const kn_emit *e, LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
    case LLVMVoidTypeKind: return true;
    case LLVMIntegerTypeKind: return width(t) == 1 || width(t) == 8 || width(t) == 16 || width(t) == 32 || width(t) == 64;
    case LLVMVectorTypeKind: break;
    default: return false;
    }
    LLVMTypeRef element = LLVMGetElementType(t);
    LLVMTypeKind kind = LLVMGetTypeKind(element);
    unsigned bits = kind == LLVMFloatTypeKind ? 32 : kind == LLVMDoubleTypeKind ? 64 : kind == LLVMIntegerTypeKind ? width(element) : 0;
    unsigned all = bits >= 8 ? bits * LLVMGetVectorSize(t) : 0;
    return (all == 128 || all == 256 || all == 512) && all <= 8 * e->vector_bytes;
}

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }
static bool is_integer(LLVMTypeRef t, unsigned least) { return LLVMGetTypeKind(t) == LLVMIntegerTypeKind && width(t) >= least; }
static bool is_real(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMFloatTypeKind || LLVMGetTypeKind(t) == LLVMDoubleTypeKind; }

static bool integers(const kn_emit *e, LLVMOpcode op, LLVMTypeRef t)
{
    if (!is_vector(t)) return is_integer(t, op == LLVMAnd || op == LLVMOr || op == LLVMXor ? 1 : op == LLVMMul ? 16 : 8);
    unsigned bits = width(LLVMGetElementType(t));
    switch (op) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor: return true;
    case LLVMMul: return bits == 16 || bits == 32 || (bits == 64 && e->vector_bytes == 64);
    default: return false;
    }
}

/* Conversions of scalars. */
static bool converts(const kn_emit *e, LLVMOpcode op, LLVMTypeRef from, LLVMTypeRef to)
{
    if (is_vector(from) || is_vector(to)) return op == LLVMBitCast && is_vector(from) && is_vector(to);
    switch (op) {
    case LLVMZExt:
    case LLVMSExt: return is_integer(to, 8);
    case LLVMTrunc: return true;
    case LLVMSIToFP: return is_integer(from, 32);
    case LLVMUIToFP: return is_integer(from, 32) && e->vector_bytes == 64;
    case LLVMFPToSI: return is_integer(to, 32);
    case LLVMFPExt:
    case LLVMFPTrunc: return is_real(from) && is_real(to);
    case LLVMBitCast: return is_real(from) ? is_integer(to, 32) : is_integer(from, 32) && is_real(to);
    default: return false;
    }
}

/* A phi of another type makes the branches to it slow. */
static bool branches(const kn_emit *e, kn_ll in)
{
    for (unsigned k = 0; k < LLVMGetNumSuccessors(in); k++)
        for (kn_ll phi = LLVMGetFirstInstruction(LLVMGetSuccessor(in, k)); phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
            if (!is_legal(e, LLVMTypeOf(phi))) return false;
    return true;
}

/* Of functions of LLVM's own it knows the square root of a scalar only. */
static bool calls(kn_ll in)
{
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(in));
    return !id || (id == LLVMLookupIntrinsicID("llvm.sqrt", 9) && !is_vector(LLVMTypeOf(in)));
}

/* Constants of vectors it does not make. */
static bool has_vector_constant(kn_ll in)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(in); k++) {
        kn_ll x = LLVMGetOperand(in, k);
        if (LLVMIsConstant(x) && is_vector(LLVMTypeOf(x)) && !LLVMIsUndef(x)) return true;
    }
    return false;
}

bool kn_fast_selects(const kn_emit *e, kn_ll in)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(in);
    LLVMTypeRef t = LLVMTypeOf(in);
    if (!is_legal(e, t) || has_vector_constant(in)) return false;
    LLVMTypeRef first = LLVMGetNumOperands(in) ? LLVMTypeOf(LLVMGetOperand(in, 0)) : t;
    switch (op) {
    case LLVMAlloca:
    case LLVMRet: return true;
    case LLVMBr: return branches(e, in);
    case LLVMLoad: return true;
    case LLVMStore: return is_legal(e, first);
    case LLVMGetElementPtr: return true;
    case LLVMCall: return calls(in);
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv: return true;
    case LLVMFNeg: return !is_vector(t);
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMSRem:
    case LLVMURem: return integers(e, op, t);
    case LLVMICmp: return LLVMGetTypeKind(first) == LLVMPointerTypeKind || is_integer(first, 8);
    case LLVMFCmp: return is_real(first);
    case LLVMSelect: return !is_vector(t) && !(is_integer(t, 1) && width(t) == 1);
    default: return converts(e, op, first, t) && is_legal(e, first);
    }
}
