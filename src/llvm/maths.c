/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that are ours as instructions in place of a call: the words of rt/maths/lanes.h append LLVM's instructions for w lanes.
 * Where few of them stand in a loop in lanes at level 2: there the call costs as much as the function, and it is made once. */
#include "llvm/emit.h"

#include "rt/maths.h"

#include <math.h>
#include <string.h>

typedef struct maths {
    kn_emit *e;
    LLVMBuilderRef ir;
    kiln_dtype d;
    unsigned w;
} maths;

typedef struct pair {
    kn_ll high, low;
} pair;

static kn_ll real(maths *m, kn_sop op, kn_ll a, kn_ll b, kn_ll c) { return kn_emit_op(m->e, op, m->d, m->d, m->w, a, b, c); }

static kn_ll choose(maths *m, LLVMRealPredicate p, kn_ll a, kn_ll b)
{
    return LLVMBuildSelect(m->ir, LLVMBuildFCmp(m->ir, p, a, b, ""), a, b, "");
}

/* vscalef: p 2^floor(n), rounded once. */
static kn_ll machine_scale(maths *m, kn_ll p, kn_ll n)
{
    static const char *const names[2][3] = {
        {"llvm.x86.avx512.mask.scalef.ps.128", "llvm.x86.avx512.mask.scalef.ps.256", "llvm.x86.avx512.mask.scalef.ps.512"},
        {"llvm.x86.avx512.mask.scalef.pd.128", "llvm.x86.avx512.mask.scalef.pd.256", "llvm.x86.avx512.mask.scalef.pd.512"}};
    enum { ROUND_AS_SET = 4 };
    unsigned size = m->w * kn_bytes(m->d) / 32; /* 0, 1, 2 */
    kn_ll all = LLVMConstAllOnes(LLVMIntTypeInContext(m->e->c, m->w < 8 ? 8 : m->w));
    kn_ll args[] = {p, n, p, all, kn_int(m->e, 32, ROUND_AS_SET)};
    return kn_intrinsic(m->e, names[m->d == KILN_F64][size], NULL, 0, args, size == 2 ? 5 : 4);
}

static bool has_scale(const maths *m)
{
    unsigned bytes = m->w * kn_bytes(m->d);
    return m->e->target == &kn_targets[KN_X86_64_V4] && (bytes == 16 || bytes == 32 || bytes == 64);
}

/* The result of a program for f64, rounded. */
static kn_ll wide(maths *m, kn_ll (*part)(maths *m, kn_ll x), kn_ll x)
{
    maths f64 = {m->e, m->ir, KILN_F64, m->w};
    kn_ll y = part(&f64, LLVMBuildFPExt(m->ir, x, kn_type(m->e, KILN_F64, m->w), ""));
    return LLVMBuildFPTrunc(m->ir, y, kn_type(m->e, m->d, m->w), "");
}

static kn_ll reciprocal(maths *m, kn_ll d)
{
    kn_ll x = LLVMBuildFPTrunc(m->ir, d, kn_type(m->e, KILN_F32, m->w), "");
    return LLVMBuildFPExt(m->ir, LLVMBuildFDiv(m->ir, kn_const_f(m->e, KILN_F32, m->w, 1), x, ""), kn_type(m->e, m->d, m->w), "");
}

/* The first way of a branch is hardly ever gone: what stands in registers stays there on the other. */
static void seldom(kn_emit *e, kn_ll branch)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->c);
    LLVMMetadataRef weights[] = {LLVMMDStringInContext2(e->c, "branch_weights", 14), LLVMValueAsMetadata(LLVMConstInt(i32, 1, false)),
                                 LLVMValueAsMetadata(LLVMConstInt(i32, 1 << 20, false))};
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->c, "prof", 4), LLVMMetadataAsValue(e->c, LLVMMDNodeInContext2(e->c, weights, 3)));
}

/* y, but where a lane is `far` what the function in the table gives. */
static kn_ll rarely(maths *m, kn_sop op, kn_ll far, kn_ll y, kn_ll x)
{
    kn_emit *e = m->e;
    kn_ll bits = LLVMBuildBitCast(m->ir, far, LLVMIntTypeInContext(e->c, m->w), "");
    kn_ll any = LLVMBuildICmp(m->ir, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    kn_bb before = kn_here(e), yes = kn_block_new(e), after = kn_block_new(e);
    seldom(e, LLVMBuildCondBr(m->ir, any, yes, after));
    kn_enter(e, yes);
    kn_ll called = kn_emit_call(e, op, m->d, m->w, &x, 1);
    kn_bb end = kn_here(e);
    LLVMBuildBr(m->ir, after);
    kn_enter(e, after);
    kn_ll r = kn_phi(e, LLVMTypeOf(y));
    kn_incoming(r, y, before);
    kn_incoming(r, called, end);
    return r;
}

#define F kn_ll
#define I kn_ll
#define M kn_ll
#define P pair
#define K(v) kn_const_f(m->e, m->d, m->w, v)
#define KI(v) kn_const_i(m->e, m->d, m->w, (int64_t)(v))
#define ADD(a, b) real(m, KN_S_add, a, b, NULL)
#define SUB(a, b) real(m, KN_S_sub, a, b, NULL)
#define MUL(a, b) real(m, KN_S_mul, a, b, NULL)
#define DIV(a, b) real(m, KN_S_div, a, b, NULL)
#define NEG(a) real(m, KN_S_neg, a, NULL, NULL)
#define ABS(a) real(m, KN_S_abs, a, NULL, NULL)
#define FMA(a, b, c) real(m, KN_S_fma, a, b, c)
#define LEAST(a, b) choose(m, LLVMRealOLT, a, b)
#define MOST(a, b) choose(m, LLVMRealOGT, a, b)
#define BITS(a) kn_bitcast(m->e, a, kn_bits_type(m->e, m->d, m->w))
#define REAL(a) kn_bitcast(m->e, a, kn_type(m->e, m->d, m->w))
#define IADD(a, b) LLVMBuildAdd(m->ir, a, b, "")
#define ISUB(a, b) LLVMBuildSub(m->ir, a, b, "")
#define IAND(a, b) LLVMBuildAnd(m->ir, a, b, "")
#define IOR(a, b) LLVMBuildOr(m->ir, a, b, "")
#define IXOR(a, b) LLVMBuildXor(m->ir, a, b, "")
#define SHL(a, n) LLVMBuildShl(m->ir, a, KI(n), "")
#define SHRL(a, n) LLVMBuildLShr(m->ir, a, KI(n), "")
#define LT(a, b) LLVMBuildFCmp(m->ir, LLVMRealOLT, a, b, "")
#define LE(a, b) LLVMBuildFCmp(m->ir, LLVMRealOLE, a, b, "")
#define EQ(a, b) LLVMBuildFCmp(m->ir, LLVMRealOEQ, a, b, "")
#define TOP(a) LLVMBuildICmp(m->ir, LLVMIntSLT, a, KI(0), "")
#define REST(a, b, p) (m->e->target->fused ? FMA(a, b, NEG(p)) : PART(rest, a, b, p))
#define SELECT(c, a, b) LLVMBuildSelect(m->ir, c, a, b, "")
#define SCALE(p, t) (has_scale(m) ? machine_scale(m, p, SUB(t, K(ROUNDER))) : PART(scale, p, t))
#define MATHS_1(name, x) static kn_ll OF_TYPE(name)(maths * m, kn_ll x)
#define MATHS_PART(type, name, ...) static type OF_TYPE(name)(maths * m, __VA_ARGS__)
#define PART(name, ...) OF_TYPE(name)(m, __VA_ARGS__)
#define WIDE(name, x) wide(m, name##_f64, x)
#define RECIPROCAL(d) reciprocal(m, d)
#define RARELY(far, y, f, x) rarely(m, KN_S_##f, far, y, x)

#define OF_TYPE(name) name##_f64
#include "rt/maths/f64.h"
#undef OF_TYPE
#define OF_TYPE(name) name##_f32
#include "rt/maths/f32.h"

typedef kn_ll (*program)(maths *m, kn_ll x);

static program program_of(kn_sop op, kiln_dtype d)
{
#define F32(f) [KN_S_##f] = f##_f32,
#define F64(f) [KN_S_##f] = f##_f64,
    static const program f32[KN_N_SOPS] = {KN_MATHS(F32)}, f64[KN_N_SOPS] = {KN_MATHS(F64)};
    return d == KILN_F64 ? f64[op] : d == KILN_F32 ? f32[op] : NULL;
}

static unsigned functions(const kn_loops *l, const kn_lblock *b)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        n += in->op == KN_L_SOP && program_of(in->sop, in->from == KILN_F64 ? KILN_F64 : KILN_F32) != NULL;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) n += functions(l, &in->region->blocks[k]);
    }
    return n;
}

bool kn_maths_pay(const kn_emit *e, const kn_lblock *body)
{
    enum { MOST_FUNCTIONS = 2 };
    return e->m == e->level[1] && functions(e->l, body) <= MOST_FUNCTIONS;
}

kn_ll kn_emit_maths(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a)
{
    program emit = program_of(op, d);
    maths m = {e, e->b, d, w};
    return emit && e->maths_pay && w && w == e->w && !e->mask ? emit(&m, a) : NULL;
}
