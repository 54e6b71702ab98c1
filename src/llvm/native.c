/* SPDX-License-Identifier: Apache-2.0 */
/* Level 0: vectors wider than the machine's become several native ones. Else only the slow instruction selector knows what to do with them,
 * and it takes longer over each. Split are loads, stores, arithmetic, scalars in all lanes and phis, where nothing else makes or reads
 * such a value or one that it is computed with: joining and cutting would cost more than it saves. The values do not change. */
#include "llvm/emit.h"

#include "base/map.h"

typedef struct wide {
    kn_ll in;
    uint32_t first; /* of its parts; a store has none */
    bool stays;     /* as it is */
} wide;

typedef struct native {
    kn_emit *e;
    kn_map at; /* instruction -> its number in `all` + 1 */
    KN_VEC(wide) all;
    KN_VEC(uint32_t) todo; /* neighbours of them stay, too */
    KN_VEC(kn_ll) part;
} native;

/* Lanes of a native vector of such elements, where `t` is a vector of more; else 0. */
static unsigned native_lanes(const kn_emit *e, LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind) return 0;
    LLVMTypeRef element = LLVMGetElementType(t);
    LLVMTypeKind kind = LLVMGetTypeKind(element);
    unsigned bits = kind == LLVMFloatTypeKind ? 32 : kind == LLVMDoubleTypeKind ? 64 : kind == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(element) : 0;
    unsigned lanes = bits < 8 ? 0 : 8 * e->vector_bytes / bits;
    return lanes && LLVMGetVectorSize(t) > lanes ? lanes : 0;
}

/* A call of one of LLVM's own functions, lane by lane, of values of its own type. */
static bool is_lanewise(kn_ll in)
{
    kn_ll f = LLVMGetCalledValue(in);
    bool same = LLVMGetIntrinsicID(f) != 0;
    for (unsigned k = 0; k < LLVMGetNumArgOperands(in); k++) same = same && LLVMTypeOf(LLVMGetOperand(in, k)) == LLVMTypeOf(in);
    return same;
}

/* One scalar in all lanes; else NULL. */
static kn_ll splat_scalar(kn_ll in)
{
    kn_ll one = LLVMGetOperand(in, 0);
    for (unsigned k = 0; k < LLVMGetNumMaskElements(in); k++)
        if (LLVMGetMaskValue(in, k) != 0) return NULL;
    return LLVMIsAInsertElementInst(one) && LLVMIsNull(LLVMGetOperand(one, 2)) ? LLVMGetOperand(one, 1) : NULL;
}

static bool splits(kn_ll in)
{
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
    case LLVMStore: return !LLVMGetVolatile(in);
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMPHI: return true;
    case LLVMCall: return is_lanewise(in);
    case LLVMShuffleVector: return splat_scalar(in) != NULL;
    default: return false;
    }
}

/* The vector that an instruction makes or stores. */
static LLVMTypeRef type_of(kn_ll in) { return LLVMTypeOf(LLVMGetInstructionOpcode(in) == LLVMStore ? LLVMGetOperand(in, 0) : in); }

static wide *find(const native *n, kn_ll v)
{
    uint32_t i = kn_map_get(&n->at, kn_map_address(v));
    return i ? &n->all.v[i - 1] : NULL;
}

static void out_of_memory(native *n) { kn_emit_fail(n->e, "out of memory"); }

/* ---- which ---- */

static void find_all(native *n, kn_ll fn)
{
    for (kn_bb block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
        for (kn_ll in = LLVMGetFirstInstruction(block); in && !n->e->failed; in = LLVMGetNextInstruction(in)) {
            if (!native_lanes(n->e, type_of(in)) || !splits(in)) continue;
            if (!kn_push(&n->e->arena, &n->all, (wide){.in = in}) || !kn_map_put(&n->e->arena, &n->at, kn_map_address(in), n->all.n)) out_of_memory(n);
        }
}

static void let_stay(native *n, wide *w)
{
    if (!w || w->stays) return;
    w->stays = true;
    if (!kn_push(&n->e->arena, &n->todo, (uint32_t)(w - n->all.v))) out_of_memory(n);
}

/* Operands that are made in parts if it is. */
static unsigned operands(kn_ll in)
{
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
    case LLVMShuffleVector: return 0;
    case LLVMStore: return 1;
    case LLVMCall: return LLVMGetNumArgOperands(in);
    default: return (unsigned)LLVMGetNumOperands(in);
    }
}

/* Does all around it know parts? */
static bool is_free(const native *n, kn_ll in)
{
    for (unsigned k = 0; k < operands(in); k++) {
        kn_ll x = LLVMGetOperand(in, k);
        if (!LLVMIsConstant(x) && !find(n, x)) return false;
    }
    for (LLVMUseRef use = LLVMGetFirstUse(in); use; use = LLVMGetNextUse(use))
        if (!find(n, LLVMGetUser(use))) return false;
    return true;
}

static void choose(native *n)
{
    for (uint32_t i = 0; i < n->all.n; i++)
        if (!is_free(n, n->all.v[i].in)) let_stay(n, &n->all.v[i]);
    while (n->todo.n && !n->e->failed) {
        kn_ll in = n->all.v[n->todo.v[--n->todo.n]].in;
        for (unsigned k = 0; k < operands(in); k++) let_stay(n, find(n, LLVMGetOperand(in, k)));
        for (LLVMUseRef use = LLVMGetFirstUse(in); use; use = LLVMGetNextUse(use)) let_stay(n, find(n, LLVMGetUser(use)));
    }
}

/* ---- parts ---- */

/* Part k of a value. */
static kn_ll part_of(native *n, kn_ll v, unsigned k, unsigned lanes)
{
    return LLVMIsConstant(v) ? kn_slice(n->e, v, k * lanes, lanes, 1) : n->part.v[find(n, v)->first + k];
}

static kn_ll moved(native *n, kn_ll p, unsigned k)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(n->e->c);
    return kn_moved(n->e, p, byte, kn_int(n->e, 64, (uint64_t)k * n->e->vector_bytes));
}

static unsigned alignment(const native *n, kn_ll in)
{
    unsigned a = LLVMGetAlignment(in);
    return a < n->e->vector_bytes ? a : n->e->vector_bytes;
}

static kn_ll call_part(native *n, kn_ll in, unsigned k, unsigned lanes, LLVMTypeRef t)
{
    kn_ll args[3];
    unsigned count = LLVMGetNumArgOperands(in);
    for (unsigned i = 0; i < count; i++) args[i] = part_of(n, LLVMGetOperand(in, i), k, lanes);
    kn_ll f = LLVMGetIntrinsicDeclaration(n->e->m, LLVMGetIntrinsicID(LLVMGetCalledValue(in)), &t, 1);
    return LLVMBuildCall2(n->e->b, LLVMGlobalGetValueType(f), f, args, count, "");
}

/* Part k of what an instruction does. */
static kn_ll make_part(native *n, kn_ll in, unsigned k, unsigned lanes, LLVMTypeRef t)
{
    LLVMBuilderRef b = n->e->b;
    LLVMOpcode op = LLVMGetInstructionOpcode(in);
    kn_ll x;
    switch (op) {
    case LLVMPHI: return LLVMBuildPhi(b, t, "");
    case LLVMLoad:
        x = LLVMBuildLoad2(b, t, moved(n, LLVMGetOperand(in, 0), k), "");
        LLVMSetAlignment(x, alignment(n, in));
        return x;
    case LLVMStore:
        x = LLVMBuildStore(b, part_of(n, LLVMGetOperand(in, 0), k, lanes), moved(n, LLVMGetOperand(in, 1), k));
        LLVMSetAlignment(x, alignment(n, in));
        return x;
    case LLVMCall: return call_part(n, in, k, lanes, t);
    case LLVMFNeg: return LLVMBuildFNeg(b, part_of(n, LLVMGetOperand(in, 0), k, lanes), "");
    default: return LLVMBuildBinOp(b, op, part_of(n, LLVMGetOperand(in, 0), k, lanes), part_of(n, LLVMGetOperand(in, 1), k, lanes), "");
    }
}

static void split(native *n, wide *w)
{
    unsigned lanes = native_lanes(n->e, type_of(w->in)), parts = LLVMGetVectorSize(type_of(w->in)) / lanes;
    LLVMTypeRef t = LLVMVectorType(LLVMGetElementType(type_of(w->in)), lanes);
    LLVMPositionBuilderBefore(n->e->b, w->in);
    kn_ll splat = LLVMGetInstructionOpcode(w->in) == LLVMShuffleVector ? kn_splat(n->e, splat_scalar(w->in), lanes) : NULL;
    w->first = n->part.n;
    for (unsigned k = 0; k < parts; k++)
        if (!kn_push(&n->e->arena, &n->part, splat ? splat : make_part(n, w->in, k, lanes, t))) out_of_memory(n);
}

static void fill_phi(native *n, const wide *w)
{
    unsigned lanes = native_lanes(n->e, LLVMTypeOf(w->in)), parts = LLVMGetVectorSize(LLVMTypeOf(w->in)) / lanes;
    for (unsigned i = 0; i < LLVMCountIncoming(w->in); i++)
        for (unsigned k = 0; k < parts; k++)
            kn_incoming(n->part.v[w->first + k], part_of(n, LLVMGetIncomingValue(w->in, i), k, lanes), LLVMGetIncomingBlock(w->in, i));
}

/* With the first lane that a scalar in all lanes was made of. */
static void erase(kn_ll in)
{
    kn_ll one = LLVMGetInstructionOpcode(in) == LLVMShuffleVector ? LLVMGetOperand(in, 0) : NULL;
    LLVMInstructionEraseFromParent(in);
    if (one && !LLVMGetFirstUse(one)) LLVMInstructionEraseFromParent(one);
}

static void function(native *n, kn_ll fn)
{
    find_all(n, fn);
    if (!n->e->failed) choose(n);
    for (uint32_t i = 0; i < n->all.n && !n->e->failed; i++)
        if (!n->all.v[i].stays) split(n, &n->all.v[i]);
    for (uint32_t i = 0; i < n->all.n && !n->e->failed; i++)
        if (!n->all.v[i].stays && LLVMIsAPHINode(n->all.v[i].in)) fill_phi(n, &n->all.v[i]);
    for (uint32_t i = 0; i < n->all.n && !n->e->failed; i++) {
        kn_ll in = n->all.v[i].in;
        if (n->all.v[i].stays) continue;
        if (LLVMGetInstructionOpcode(in) != LLVMStore) LLVMReplaceAllUsesWith(in, LLVMGetPoison(LLVMTypeOf(in)));
        erase(in);
    }
}

void kn_emit_native(kn_emit *e)
{
    for (kn_ll fn = LLVMGetFirstFunction(e->m); fn && !e->failed; fn = LLVMGetNextFunction(fn)) {
        native n = {.e = e};
        function(&n, fn);
    }
}
