/* SPDX-License-Identifier: Apache-2.0 */
/* Level 0: vectors wider than the machine's become several native ones. Else only the slow instruction selector knows what to do with them,
 * and it takes longer over each. Loads, stores, arithmetic, scalars in all lanes and phis are split; whatever else reads such a value gets
 * its parts joined, and whatever else makes one is cut. The values do not change. */
#include "llvm/emit.h"

#include "base/map.h"

enum { MOST_PARTS = 64 };

typedef struct wide {
    kn_ll in;
    uint32_t first; /* of its parts; a store has none */
    bool read;      /* by what is not split */
} wide;

typedef struct native {
    kn_emit *e;
    kn_map at; /* instruction -> its number in `all` + 1 */
    KN_VEC(wide) all;
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

static const wide *find(const native *n, kn_ll v)
{
    uint32_t i = kn_map_get(&n->at, kn_map_address(v));
    return i ? &n->all.v[i - 1] : NULL;
}

/* ---- parts ---- */

/* Where the builder stands, part k of a value. */
static kn_ll part_of(native *n, kn_ll v, unsigned k, unsigned lanes)
{
    const wide *w = find(n, v);
    return w ? n->part.v[w->first + k] : kn_slice(n->e, v, k * lanes, lanes, 1);
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

static bool add_part(native *n, kn_ll part)
{
    if (kn_push(&n->e->arena, &n->part, part)) return true;
    kn_emit_fail(n->e, "out of memory");
    return false;
}

static void split(native *n, kn_ll in, unsigned lanes)
{
    unsigned parts = LLVMGetVectorSize(type_of(in)) / lanes;
    LLVMTypeRef t = LLVMVectorType(LLVMGetElementType(type_of(in)), lanes);
    kn_ll splat = NULL;
    uint32_t first = n->part.n;
    LLVMPositionBuilderBefore(n->e->b, in);
    if (LLVMGetInstructionOpcode(in) == LLVMShuffleVector) splat = kn_splat(n->e, splat_scalar(in), lanes);
    for (unsigned k = 0; k < parts; k++)
        if (!add_part(n, splat ? splat : make_part(n, in, k, lanes, t))) return;
    if (!kn_push(&n->e->arena, &n->all, (wide){.in = in, .first = first}) || !kn_map_put(&n->e->arena, &n->at, kn_map_address(in), n->all.n))
        kn_emit_fail(n->e, "out of memory");
}

/* ---- what remains ---- */

static void fill_phi(native *n, const wide *w, unsigned lanes)
{
    unsigned parts = LLVMGetVectorSize(LLVMTypeOf(w->in)) / lanes;
    for (unsigned i = 0; i < LLVMCountIncoming(w->in); i++) {
        kn_bb from = LLVMGetIncomingBlock(w->in, i);
        LLVMPositionBuilderBefore(n->e->b, LLVMGetBasicBlockTerminator(from));
        for (unsigned k = 0; k < parts; k++) kn_incoming(n->part.v[w->first + k], part_of(n, LLVMGetIncomingValue(w->in, i), k, lanes), from);
    }
}

static bool is_read(const native *n, kn_ll in)
{
    for (LLVMUseRef use = LLVMGetFirstUse(in); use; use = LLVMGetNextUse(use))
        if (!find(n, LLVMGetUser(use))) return true;
    return false;
}

/* The whole of it, behind its parts. */
static kn_ll joined(native *n, const wide *w, unsigned lanes)
{
    kn_ll x[MOST_PARTS];
    unsigned parts = LLVMGetVectorSize(LLVMTypeOf(w->in)) / lanes;
    for (unsigned k = 0; k < parts; k++) x[k] = n->part.v[w->first + k];
    kn_ll at = w->in;
    while (LLVMIsAPHINode(at)) at = LLVMGetNextInstruction(at);
    LLVMPositionBuilderBefore(n->e->b, at);
    for (; parts > 1; parts /= 2, lanes *= 2)
        for (unsigned k = 0; k < parts / 2; k++) x[k] = kn_join(n->e, x[2 * k], x[2 * k + 1], lanes);
    return x[0];
}

/* With the first lane that a scalar in all lanes was made of. */
static void erase(kn_ll in)
{
    kn_ll one = LLVMGetInstructionOpcode(in) == LLVMShuffleVector ? LLVMGetOperand(in, 0) : NULL;
    LLVMInstructionEraseFromParent(in);
    if (one && !LLVMGetFirstUse(one)) LLVMInstructionEraseFromParent(one);
}

static void finish(native *n)
{
    for (uint32_t i = 0; i < n->all.n; i++)
        if (LLVMIsAPHINode(n->all.v[i].in)) fill_phi(n, &n->all.v[i], native_lanes(n->e, LLVMTypeOf(n->all.v[i].in)));
    for (uint32_t i = 0; i < n->all.n; i++) n->all.v[i].read = is_read(n, n->all.v[i].in);
    for (uint32_t i = 0; i < n->all.n; i++) {
        const wide *w = &n->all.v[i];
        if (LLVMGetInstructionOpcode(w->in) == LLVMStore) continue;
        kn_ll rest = w->read ? joined(n, w, native_lanes(n->e, LLVMTypeOf(w->in))) : LLVMGetPoison(LLVMTypeOf(w->in));
        LLVMReplaceAllUsesWith(w->in, rest);
    }
    for (uint32_t i = 0; i < n->all.n; i++) erase(n->all.v[i].in);
}

static void function(native *n, kn_ll fn)
{
    for (kn_bb block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
        for (kn_ll in = LLVMGetFirstInstruction(block), next; in && !n->e->failed; in = next) {
            next = LLVMGetNextInstruction(in);
            unsigned lanes = native_lanes(n->e, type_of(in));
            if (lanes && splits(in)) split(n, in, lanes);
        }
    if (!n->e->failed) finish(n);
}

void kn_emit_native(kn_emit *e)
{
    for (kn_ll fn = LLVMGetFirstFunction(e->m); fn && !e->failed; fn = LLVMGetNextFunction(fn)) {
        native n = {.e = e};
        function(&n, fn);
    }
}
