/* SPDX-License-Identifier: Apache-2.0 */
/* Level 0: the fast instruction selector works from the end of a block to its beginning, and leaves what stands above the first
 * instruction that it does not know to the slow one, which takes six times as long. Vector constants are most of what it does not know:
 * here they become loads, and what changes the signs of a vector becomes an operation on bits. The values do not change. */
#include "llvm/emit.h"

enum { KNOWN = 32 };

/* Loads made in the block at hand. */
typedef struct quick {
    kn_emit *e;
    kn_bb block;
    unsigned n;
    kn_ll constant[KNOWN], load[KNOWN];
    uint32_t globals;
    kn_ll *global_of; /* pairs: a constant and its place in memory */
    uint32_t room;
} quick;

static bool is_vector_constant(kn_ll x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    if (!LLVMIsConstant(x) || LLVMGetTypeKind(t) != LLVMVectorTypeKind || LLVMIsUndef(x)) return false;
    LLVMTypeRef element = LLVMGetElementType(t);
    return LLVMGetTypeKind(element) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(element) > 1;
}

static kn_ll global_of(quick *q, kn_ll constant)
{
    for (uint32_t i = 0; i < q->globals; i++)
        if (q->global_of[2 * i] == constant) return q->global_of[2 * i + 1];
    kn_ll g = LLVMAddGlobal(q->e->m, LLVMTypeOf(constant), "constant");
    LLVMSetInitializer(g, constant);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    if (q->globals < q->room) {
        q->global_of[2 * q->globals] = constant;
        q->global_of[2 * q->globals + 1] = g;
        q->globals++;
    }
    return g;
}

/* The constant from memory: before instruction `at` of its block. */
static kn_ll loaded(quick *q, kn_ll constant, kn_ll at)
{
    kn_bb block = LLVMGetInstructionParent(at);
    if (block != q->block) q->block = block, q->n = 0;
    for (unsigned i = 0; i < q->n; i++)
        if (q->constant[i] == constant) return q->load[i];
    LLVMPositionBuilderBefore(q->e->b, at);
    kn_ll x = LLVMBuildLoad2(q->e->b, LLVMTypeOf(constant), global_of(q, constant), "");
    if (q->n < KNOWN) q->constant[q->n] = constant, q->load[q->n++] = x;
    return x;
}

static void operands(quick *q, kn_ll in)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(in); k++) {
        kn_ll x = LLVMGetOperand(in, k);
        if (is_vector_constant(x)) LLVMSetOperand(in, k, loaded(q, x, in));
    }
}

/* What a block gives to the phis of those that follow. */
static void given(quick *q, kn_bb block, kn_bb next)
{
    kn_ll end = LLVMGetBasicBlockTerminator(block);
    for (kn_ll phi = LLVMGetFirstInstruction(next); phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
            kn_ll x = LLVMGetIncomingValue(phi, k);
            if (LLVMGetIncomingBlock(phi, k) == block && is_vector_constant(x)) LLVMSetOperand(phi, k, loaded(q, x, end));
        }
}

/* -x flips the sign's bit, |x| clears it. */
static void change_sign(quick *q, kn_ll in, bool clear)
{
    LLVMTypeRef t = LLVMTypeOf(in), element = LLVMGetElementType(t);
    unsigned bits = LLVMGetTypeKind(element) == LLVMDoubleTypeKind ? 64 : 32, w = LLVMGetVectorSize(t);
    uint64_t sign = (uint64_t)1 << (bits - 1);
    LLVMPositionBuilderBefore(q->e->b, in);
    kn_ll mask = kn_const_splat(q->e, kn_int(q->e, bits, clear ? sign - 1 : sign), w), x = kn_bitcast(q->e, LLVMGetOperand(in, 0), LLVMTypeOf(mask));
    mask = loaded(q, mask, in);
    x = clear ? LLVMBuildAnd(q->e->b, x, mask, "") : LLVMBuildXor(q->e->b, x, mask, "");
    LLVMReplaceAllUsesWith(in, kn_bitcast(q->e, x, t));
    LLVMInstructionEraseFromParent(in);
}

static bool is_vector(kn_ll in) { return LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMVectorTypeKind; }

static void instruction(quick *q, kn_ll in)
{
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMStore: operands(q, in); break;
    case LLVMFNeg:
        if (is_vector(in)) change_sign(q, in, false);
        break;
    case LLVMCall:
        if (is_vector(in) && LLVMGetIntrinsicID(LLVMGetCalledValue(in)) == LLVMLookupIntrinsicID("llvm.fabs", 9)) change_sign(q, in, true);
        break;
    default: break;
    }
}

static void function(quick *q, kn_ll fn)
{
    for (kn_bb block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block)) {
        for (kn_ll in = LLVMGetFirstInstruction(block), next; in; in = next) {
            next = LLVMGetNextInstruction(in);
            instruction(q, in);
        }
        kn_ll end = LLVMGetBasicBlockTerminator(block);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) given(q, block, LLVMGetSuccessor(end, k));
    }
}

void kn_emit_quick(kn_emit *e)
{
    enum { GLOBALS = 256 };
    quick q = {.e = e, .room = GLOBALS, .global_of = kn_emit_new(e, 2 * GLOBALS, sizeof *q.global_of)};
    for (kn_ll fn = LLVMGetFirstFunction(e->m); q.global_of && fn; fn = LLVMGetNextFunction(fn)) function(&q, fn);
}
