/* SPDX-License-Identifier: Apache-2.0 */
/* Element types in memory and in registers: the one place that maps them. A bool is a byte in memory and one bit in registers,
 * integers of 2 and 4 bits likewise; floats of 16 bits and less are integers, their codes (narrow.c); the others are themselves.
 * w lanes make a vector type, 0 lanes a scalar. */
#include "llvm/emit.h"

#include <string.h>

static const struct {
    char kind;
    uint8_t bits;
    const char *text;
} facts[KILN_N_DTYPES] = {
#define FACT(name, text, numpy, bits, kind) {kind, bits, text},
    KILN_DTYPE_LIST(FACT)
#undef FACT
};

bool kn_emit_dtype_ok(kiln_dtype d) { return d < KILN_N_DTYPES && strchr("biuf8", facts[d].kind); }

const char *kn_dtype_text(kiln_dtype d) { return d < KILN_N_DTYPES ? facts[d].text : "?"; }
bool kn_is_float(kiln_dtype d) { return facts[d].kind == 'f'; }
bool kn_is_signed(kiln_dtype d) { return facts[d].kind == 'i'; }
unsigned kn_bytes(kiln_dtype d) { return facts[d].bits / 8u; }
unsigned kn_bits(kiln_dtype d) { return kn_dtype_width(d); }

static LLVMTypeRef wide(LLVMTypeRef t, unsigned w) { return w ? LLVMVectorType(t, w) : t; }

LLVMTypeRef kn_bits_type(kn_emit *e, kiln_dtype d, unsigned w) { return wide(LLVMIntTypeInContext(e->c, kn_bits(d)), w); }

LLVMTypeRef kn_type(kn_emit *e, kiln_dtype d, unsigned w)
{
    if (d == KILN_F32) return wide(LLVMFloatTypeInContext(e->c), w);
    if (d == KILN_F64) return wide(LLVMDoubleTypeInContext(e->c), w);
    return kn_bits_type(e, d, w);
}

LLVMTypeRef kn_memory_type(kn_emit *e, kiln_dtype d, unsigned w)
{
    return kn_bits(d) < 8 ? wide(LLVMInt8TypeInContext(e->c), w) : kn_type(e, d, w);
}

kn_ll kn_int(kn_emit *e, unsigned bits, uint64_t v) { return LLVMConstInt(LLVMIntTypeInContext(e->c, bits), v, false); }

/* Floats by their bits, so that no conversion on the way touches a NaN. */
kn_ll kn_const(kn_emit *e, kiln_dtype d, kn_scalar v)
{
    uint32_t word;
    float f = (float)v.f;
    switch (d) {
    case KILN_BOOL: return kn_int(e, 1, v.b);
    case KILN_F32: memcpy(&word, &f, 4); return LLVMConstBitCast(kn_int(e, 32, word), kn_type(e, d, 0));
    case KILN_F64: return LLVMConstBitCast(kn_int(e, 64, v.u), kn_type(e, d, 0));
    default: break;
    }
    if (!kn_is_narrow(d)) return kn_int(e, kn_bits(d), v.u);
    uint16_t code = 0;
    kn_scalar_store(d, &code, 0, v);
    return kn_int(e, kn_bits(d), code);
}

kn_ll kn_const_splat(kn_emit *e, kn_ll v, unsigned w)
{
    (void)e;
    kn_ll lanes[64];
    if (!w) return v;
    for (unsigned i = 0; i < w; i++) lanes[i] = v;
    return LLVMConstVector(lanes, w);
}

kn_ll kn_const_f(kn_emit *e, kiln_dtype d, unsigned w, double v)
{
    return kn_const_splat(e, kn_const(e, d, (kn_scalar){.f = v}), w);
}

kn_ll kn_const_i(kn_emit *e, kiln_dtype d, unsigned w, int64_t v)
{
    return kn_const_splat(e, LLVMConstInt(kn_bits_type(e, d, 0), (uint64_t)v, true), w);
}

kn_ll kn_iota(kn_emit *e, unsigned bits, unsigned w, int64_t stride)
{
    kn_ll lanes[64];
    for (unsigned i = 0; i < w; i++) lanes[i] = kn_int(e, bits, (uint64_t)stride * i);
    return LLVMConstVector(lanes, w);
}

kn_ll kn_splat(kn_emit *e, kn_ll s, unsigned w)
{
    if (!w) return s;
    if (LLVMIsConstant(s)) return kn_const_splat(e, s, w);
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(s), w);
    kn_ll one = LLVMBuildInsertElement(e->b, LLVMGetPoison(t), s, kn_int(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(LLVMInt32TypeInContext(e->c), w)), "");
}

kn_ll kn_slice(kn_emit *e, kn_ll v, unsigned first, unsigned n, unsigned stride)
{
    kn_ll lanes[64];
    for (unsigned i = 0; i < n; i++) lanes[i] = kn_int(e, 32, first + i * stride);
    return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(lanes, n), "");
}

kn_ll kn_join(kn_emit *e, kn_ll a, kn_ll b, unsigned w)
{
    kn_ll lanes[64];
    for (unsigned i = 0; i < 2 * w; i++) lanes[i] = kn_int(e, 32, i);
    return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(lanes, 2 * w), "");
}

kn_ll kn_intrinsic(kn_emit *e, const char *name, LLVMTypeRef *overload, unsigned n, kn_ll *args, unsigned nargs)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    kn_ll f = LLVMGetIntrinsicDeclaration(e->m, id, overload, n);
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, nargs, "");
}

kn_ll kn_bitcast(kn_emit *e, kn_ll v, LLVMTypeRef t) { return LLVMBuildBitCast(e->b, v, t, ""); }

/* ---- values ---- */

/* The vector form of a scalar stands right behind its definition, where it dominates every use and is made once: outside of
 * the loops that do not change it. */
static void behind(kn_emit *e, kn_ll s)
{
    if (!LLVMIsAInstruction(s)) return;
    kn_ll next = LLVMGetNextInstruction(s);
    if (LLVMIsAPHINode(s))
        while (next && LLVMIsAPHINode(next)) next = LLVMGetNextInstruction(next);
    if (next) LLVMPositionBuilder(e->b, LLVMGetInstructionParent(s), next);
    else LLVMPositionBuilderAtEnd(e->b, LLVMGetInstructionParent(s));
}

kn_ll kn_scalar_of(kn_emit *e, kn_lv v)
{
    kn_val *x = &e->val[v];
    if (x->s) return x->s;
    kn_emit_fail(e, "value %u is needed as a scalar and is a vector", v);
    return LLVMGetUndef(kn_type(e, e->l->inst.v[v].dtype, 0));
}

/* Made once for all loops of that width: s is the value of several names, and widths of loops and of their rests take turns. */
static kn_ll splat_behind(kn_emit *e, kn_ll s)
{
    uint64_t key = kn_map_address(s) * 64 + e->w;
    uint32_t known = LLVMIsAInstruction(s) ? kn_map_get(&e->splats, key) : 0;
    if (known) return e->splat.v[known - 1];
    behind(e, s);
    kn_ll x = kn_splat(e, s, e->w);
    if (LLVMIsAInstruction(s) && (!kn_push(&e->arena, &e->splat, x) || !kn_map_put(&e->arena, &e->splats, key, e->splat.n)))
        kn_emit_fail(e, "out of memory");
    return x;
}

kn_ll kn_vector_of(kn_emit *e, kn_lv v)
{
    kn_val *x = &e->val[v];
    if (x->v && x->vw == e->w) return x->v;
    kn_ll s = kn_scalar_of(e, v);
    kn_bb here = kn_here(e);
    x->v = splat_behind(e, s);
    behind(e, x->v);
    if (x->linear) x->v = LLVMBuildAdd(e->b, x->v, kn_iota(e, kn_bits(e->l->inst.v[v].dtype), e->w, x->stride), "");
    x->vw = e->w;
    LLVMPositionBuilderAtEnd(e->b, here);
    return x->v;
}

kn_ll kn_value_of(kn_emit *e, kn_lv v, bool varying) { return varying ? kn_vector_of(e, v) : kn_scalar_of(e, v); }

void kn_set(kn_emit *e, kn_lv v, kn_ll x, bool varying)
{
    e->val[v] = varying ? (kn_val){.v = x, .vw = e->w} : (kn_val){.s = x, .base = x};
}

bool kn_in_lanes(const kn_emit *e, kn_lv v) { return !e->val[v].s || e->val[v].linear; }

bool kn_const_index(const kn_emit *e, kn_lv v, int64_t *out)
{
    const kn_linst *in = &e->l->inst.v[v];
    if (in->op != KN_L_CONST || in->dtype != KILN_I64) return false;
    *out = in->imm.i;
    return true;
}
