/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in lanes and reductions in lanes: steps of W elements, then one step under a mask for the rest. Where the bounds are
 * constants, what is known not to happen is not emitted. Lanes of a float minimum or maximum hold integers that are ordered as
 * the floats are (numerics 1): one instruction an element and a level of halving, and NaN and -0.0 take their places by it. */
#include "llvm/emit.h"
#include "loop/vary.h"

#include <math.h>

typedef struct span {
    kn_emit *e;
    const kn_lregion *r;
    kn_ll acc; /* lanes of a reduction, or NULL */
    kiln_dtype dtype;
    unsigned w; /* 0: plain code */
    bool keys;  /* acc holds ordered integers */
    bool sizes; /* so do the elements, which are sizes: a NaN among them is found in the result alone */
    bool fresh; /* acc is the identity still, which changes no element */
} span;

/* b ^ ((b >> 31) & 0x7fffffff), its own inverse. */
static kn_ll flip(kn_emit *e, kiln_dtype d, unsigned w, kn_ll bits)
{
    LLVMTypeRef t = kn_bits_type(e, d, 0);
    unsigned n = LLVMGetIntTypeWidth(t);
    kn_ll top = kn_const_splat(e, LLVMConstInt(t, n - 1, false), w);
    kn_ll rest = kn_const_splat(e, LLVMConstInt(t, ~(uint64_t)0 >> (65 - n), false), w);
    return LLVMBuildXor(e->b, bits, LLVMBuildAnd(e->b, LLVMBuildAShr(e->b, bits, top, ""), rest, ""), "");
}

/* NaN becomes the one that wins: above infinity for max, below minus infinity for min. */
static kn_ll key_of(const span *s, unsigned w, kn_ll x)
{
    kn_emit *e = s->e;
    LLVMTypeRef t = kn_bits_type(e, s->dtype, 0);
    unsigned n = LLVMGetIntTypeWidth(t);
    uint64_t nan = n == 32 ? 0x7fc00000u : (uint64_t)0x7ff8 << 48;
    if (s->r->acc == KN_S_min) nan |= (uint64_t)1 << (n - 1);
    kn_ll bits = kn_bitcast(e, x, kn_bits_type(e, s->dtype, w));
    bits = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, ""), kn_const_splat(e, LLVMConstInt(t, nan, false), w), bits, "");
    return flip(e, s->dtype, w, bits);
}

static kn_ll of_key(const span *s, kn_ll key) { return kn_bitcast(s->e, flip(s->e, s->dtype, 0, key), kn_type(s->e, s->dtype, 0)); }

/* Is the value an absolute value, or the largest of some? Its bits are ordered as integers then, NaNs above infinity. */
static bool is_size(const kn_emit *e, kn_lv v)
{
    const kn_linst *in = &e->l->inst.v[v];
    if (in->op != KN_L_SOP) return false;
    return in->sop == KN_S_abs || (in->sop == KN_S_max && is_size(e, in->a) && is_size(e, in->b));
}

static kn_ll key_of_size(const span *s, kn_lv v)
{
    kn_emit *e = s->e;
    const kn_linst *in = &e->l->inst.v[v];
    LLVMTypeRef t = kn_bits_type(e, s->dtype, s->w);
    if (in->sop == KN_S_abs) return kn_bitcast(e, kn_value_of(e, v, true), t);
    return kn_intrinsic(e, "llvm.smax", &t, 1, (kn_ll[]){key_of_size(s, in->a), key_of_size(s, in->b)}, 2);
}

/* Of the largest of sizes, one at least. Any NaN becomes the one of a maximum. */
static kn_ll of_size(const span *s, kn_ll key)
{
    kn_emit *e = s->e;
    kn_ll x = kn_bitcast(e, key, kn_type(e, s->dtype, 0)), nan = kn_const_f(e, s->dtype, 0, (double)NAN);
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, ""), nan, x, "");
}

/* a and b combined: two elements or results of blocks, or two keys. */
static kn_ll combine(const span *s, kn_ll a, kn_ll b, unsigned w)
{
    kn_emit *e = s->e;
    if (s->keys) {
        LLVMTypeRef t = kn_bits_type(e, s->dtype, w);
        return kn_intrinsic(e, s->r->acc == KN_S_max ? "llvm.smax" : "llvm.smin", &t, 1, (kn_ll[]){a, b}, 2);
    }
    return kn_emit_op(e, s->r->acc == KN_S_fma ? KN_S_add : s->r->acc, s->dtype, s->dtype, w, a, b, NULL);
}

/* The body at elements iv, iv + 1, ...; only the first `active` when a mask is given. */
static void step(span *s, kn_ll iv, kn_ll mask)
{
    kn_emit *e = s->e;
    const kn_lblock *body = &s->r->blocks[0];
    kn_lv counter = body->params.v[0];
    e->w = s->w;
    e->mask = mask;
    e->val[counter] = (kn_val){.s = iv, .base = iv, .linear = s->w > 0, .stride = 1};
    if (LLVMIsConstant(iv)) {
        e->val[counter].base = NULL;
        e->val[counter].offset = LLVMConstIntGetSExtValue(iv);
    }
    kn_emit_block(e, body);
    if (s->acc && !e->failed) {
        bool fma = s->r->acc == KN_S_fma;
        kn_ll x = s->sizes ? key_of_size(s, body->yields.v[0]) : kn_value_of(e, body->yields.v[0], s->w > 0);
        kn_ll y = fma ? kn_value_of(e, body->yields.v[1], s->w > 0) : s->acc;
        if (s->keys && !s->sizes) x = key_of(s, s->w, x);
        kn_ll next;
        if (s->fresh) next = fma ? kn_emit_op(e, KN_S_mul, s->dtype, s->dtype, s->w, x, y, NULL) : x;
        else next = fma ? kn_emit_op(e, KN_S_fma, s->dtype, s->dtype, s->w, x, y, s->acc) : combine(s, s->acc, x, s->w);
        s->acc = mask ? LLVMBuildSelect(e->b, mask, next, s->acc, "") : next;
        s->fresh = false;
    }
    e->w = 0;
    e->mask = NULL;
}

static kn_ll mask_of(kn_emit *e, kn_ll active, unsigned w) /* active: i32 */
{
    return LLVMBuildICmp(e->b, LLVMIntULT, kn_iota(e, 32, w, 1), kn_splat(e, active, w), "");
}

/* Whole steps from lo to end, at least one. */
static void whole_steps(span *s, kn_ll lo, kn_ll end, unsigned w)
{
    kn_emit *e = s->e;
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    kn_ll first = s->acc;
    s->fresh = false;
    LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll iv = kn_phi(e, LLVMTypeOf(lo));
    e->near.iv = iv;
    if (LLVMIsAConstantInt(end)) e->near.end = LLVMConstIntGetSExtValue(end);
    kn_ll acc = first ? s->acc = kn_phi(e, LLVMTypeOf(first)) : NULL;
    step(s, iv, NULL);
    kn_ll next = LLVMBuildAdd(e->b, iv, kn_int(e, 64, w), "");
    kn_bb latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, end, ""), head, after);
    kn_incoming(iv, lo, before);
    kn_incoming(iv, next, latch);
    if (acc) {
        kn_incoming(acc, first, before);
        kn_incoming(acc, s->acc, latch);
    }
    kn_enter(e, after);
    e->near.iv = NULL;
}

/* Runs `what` under a condition and merges the lanes of the reduction. */
static void when(span *s, kn_ll condition, void (*what)(span *s, kn_ll *args, unsigned w), kn_ll *args, unsigned w)
{
    kn_emit *e = s->e;
    kn_bb before = kn_here(e), yes = kn_block_new(e), after = kn_block_new(e);
    kn_ll skipped = s->acc;
    LLVMBuildCondBr(e->b, condition, yes, after);
    kn_enter(e, yes);
    what(s, args, w);
    kn_bb end = kn_here(e);
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
    if (!skipped) return;
    kn_ll acc = kn_phi(e, LLVMTypeOf(skipped));
    kn_incoming(acc, skipped, before);
    kn_incoming(acc, s->acc, end);
    s->acc = acc;
}

static void main_part(span *s, kn_ll *args, unsigned w) { whole_steps(s, args[0], args[1], w); }
static void tail_part(span *s, kn_ll *args, unsigned w) { step(s, args[1], mask_of(s->e, args[2], w)); }

/* Few steps are written one after the other: no counter, and a reduction starts with its first elements. */
static bool is_short(const span *s, uint64_t steps)
{
    enum { STEPS = 2, INSTRUCTIONS = 40 };
    const kn_lblock *body = &s->r->blocks[0];
    unsigned n = 0;
    for (uint32_t i = 0; i < body->inst.n && steps > 1; i++) n += s->e->l->inst.v[body->inst.v[i]].op != KN_L_CONST;
    return steps <= STEPS && n <= INSTRUCTIONS;
}

/* lo and hi constant: n elements. */
static void run_known(span *s, int64_t lo, uint64_t n, unsigned w)
{
    kn_emit *e = s->e;
    uint64_t steps = n / w, rest = n % w;
    kn_ll first = kn_int(e, 64, (uint64_t)lo), end = kn_int(e, 64, (uint64_t)lo + steps * w);
    if (is_short(s, steps))
        for (uint64_t k = 0; k < steps; k++) step(s, kn_int(e, 64, (uint64_t)lo + k * w), NULL);
    else whole_steps(s, first, end, w);
    if (rest) step(s, end, mask_of(e, kn_int(e, 32, rest), w));
}

/* `full`: a multiple of w, and not empty. */
static void run_between(span *s, kn_ll lo, kn_ll hi, bool full)
{
    kn_emit *e = s->e;
    unsigned w = s->r->width;
    if (full) {
        whole_steps(s, lo, hi, w);
        return;
    }
    kn_ll zero = kn_int(e, 64, 0), n = LLVMBuildSub(e->b, hi, lo, "");
    n = kn_integer_extremum(e, true, true, n, zero);
    kn_ll whole = LLVMBuildAnd(e->b, n, kn_int(e, 64, -(uint64_t)w), ""), rest = LLVMBuildAnd(e->b, n, kn_int(e, 64, w - 1), "");
    kn_ll end = LLVMBuildAdd(e->b, lo, whole, "");
    kn_ll args[] = {lo, end, LLVMBuildTrunc(e->b, rest, LLVMInt32TypeInContext(e->c), "")};
    when(s, LLVMBuildICmp(e->b, LLVMIntNE, whole, zero, ""), main_part, args, w);
    if (w > 1) when(s, LLVMBuildICmp(e->b, LLVMIntNE, rest, zero, ""), tail_part, args, w);
}

static void run(span *s, kn_ll lo, kn_ll hi, bool full)
{
    kn_neighbours_begin(s->e, &s->r->blocks[0], (kn_ll[]){lo, hi});
    if (!LLVMIsAConstantInt(lo) || !LLVMIsAConstantInt(hi)) {
        run_between(s, lo, hi, full);
        return;
    }
    int64_t a = LLVMConstIntGetSExtValue(lo), b = LLVMConstIntGetSExtValue(hi);
    if (b > a) run_known(s, a, (uint64_t)b - (uint64_t)a, s->r->width);
}

void kn_emit_vector_loop(kn_emit *e, kn_lv v, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    kn_loops_vary(e->l, v, e->varying);
    span s = {.e = e, .r = r, .w = r->width};
    run(&s, kn_scalar_of(e, r->lo), kn_scalar_of(e, r->hi), false);
}

void kn_emit_vector_range(kn_emit *e, kn_lv v, const kn_linst *in, kn_ll lo, kn_ll hi)
{
    const kn_lregion *r = in->region;
    kn_ll first = kn_scalar_of(e, r->lo), last = kn_scalar_of(e, r->hi);
    kn_loops_vary(e->l, v, e->varying);
    span s = {.e = e, .r = r, .w = r->width};
    bool known = LLVMIsAConstantInt(first) && LLVMIsAConstantInt(last);
    uint64_t n = known ? (uint64_t)LLVMConstIntGetSExtValue(last) - (uint64_t)LLVMConstIntGetSExtValue(first) : 0;
    kn_neighbours_begin(e, &r->blocks[0], (kn_ll[]){first, last});
    e->near.end = e->near.lo + (int64_t)(n - n % r->width);
    run_between(&s, lo, hi, known && n % r->width == 0);
}

/* ---- reductions ---- */

/* Does the reduction start at what changes no element? */
static bool is_neutral(const span *s)
{
    kn_scalar v = s->r->identity;
    bool real = kn_is_float(s->dtype);
    switch (s->r->acc) {
    case KN_S_add:
    case KN_S_fma: return real ? v.f == 0 && signbit(v.f) : v.i == 0;
    case KN_S_mul: return real ? v.f == 1 : v.i == 1;
    case KN_S_max: return s->keys && v.f == -INFINITY;
    case KN_S_min: return s->keys && v.f == INFINITY;
    default: return false;
    }
}

/* One block: its lanes, combined by halving. */
static kn_ll block_result(span *s, kn_ll lo, kn_ll hi, bool full)
{
    kn_emit *e = s->e;
    kn_ll identity = kn_const(e, s->dtype, s->r->identity);
    s->keys = (s->r->acc == KN_S_min || s->r->acc == KN_S_max) && kn_is_float(s->dtype) && s->w;
    s->sizes = s->keys && s->r->acc == KN_S_max && is_size(e, s->r->blocks[0].yields.v[0]);
    s->acc = kn_const_splat(e, s->keys ? key_of(s, 0, identity) : identity, s->w);
    s->fresh = s->w && is_neutral(s);
    run(s, lo, hi, full);
    kn_ll x = s->acc;
    for (unsigned w = s->w / 2; w > 1; w /= 2) x = combine(s, kn_slice(e, x, 0, w, 1), kn_slice(e, x, w, w, 1), w);
    if (!s->w) return x;
    kn_ll first = kn_int(e, 32, 0), last = kn_int(e, 32, 1);
    if (s->keys) x = LLVMBuildExtractElement(e->b, combine(s, x, kn_slice(e, x, 1, 2, (unsigned)-1), 2), first, "");
    else x = combine(s, LLVMBuildExtractElement(e->b, x, first, ""), LLVMBuildExtractElement(e->b, x, last, ""), 0);
    if (s->keys) x = s->sizes ? of_size(s, x) : of_key(s, x);
    s->keys = s->sizes = false;
    return x;
}

/* 64 * ceil(n / 4096), 4096 at least (numerics 3). */
static kn_ll block_of(kn_emit *e, kn_ll n)
{
    enum { SHIFT = 12, LEAST = 1 << SHIFT, PARTS = 64 };
    kn_ll up = LLVMBuildAdd(e->b, n, kn_int(e, 64, LEAST - 1), "");
    kn_ll size = LLVMBuildMul(e->b, LLVMBuildLShr(e->b, up, kn_int(e, 64, SHIFT), ""), kn_int(e, 64, PARTS), "");
    return kn_integer_extremum(e, true, true, size, kn_int(e, 64, LEAST));
}

/* Blocks from the left; the first one's result is taken as it is. */
static kn_ll blocks(span *s, kn_ll lo, kn_ll hi, bool full, bool empty)
{
    kn_emit *e = s->e;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->c);
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    kn_ll identity = kn_const(e, s->dtype, s->r->identity);
    kn_ll size = s->r->block ? kn_int(e, 64, (uint64_t)s->r->block) : block_of(e, LLVMBuildSub(e->b, hi, lo, ""));
    if (empty) LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, lo, hi, ""), head, after);
    else LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll at = kn_phi(e, i64), sum = kn_phi(e, LLVMTypeOf(identity));
    kn_ll next = LLVMBuildAdd(e->b, at, size, "");
    kn_ll end = kn_integer_extremum(e, false, true, next, hi);
    kn_ll one = block_result(s, at, end, full), both = combine(s, sum, one, 0);
    kn_ll total = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, at, lo, ""), one, both, "");
    kn_bb latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, hi, ""), head, after);
    kn_incoming(at, lo, before);
    kn_incoming(at, next, latch);
    kn_incoming(sum, identity, before);
    kn_incoming(sum, total, latch);
    kn_enter(e, after);
    if (!empty) return total;
    kn_ll result = kn_phi(e, LLVMTypeOf(identity));
    kn_incoming(result, identity, before);
    kn_incoming(result, total, latch);
    return result;
}

void kn_emit_lanes(kn_emit *e, kn_lv v, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    if (r->width > 1) kn_loops_vary(e->l, v, e->varying);
    span s = {.e = e, .r = r, .dtype = in->dtype, .w = r->width > 1 ? r->width : 0};
    kn_ll lo = kn_scalar_of(e, r->lo), hi = kn_scalar_of(e, r->hi), x;
    bool known = LLVMIsAConstantInt(lo) && LLVMIsAConstantInt(hi);
    int64_t n = known ? LLVMConstIntGetSExtValue(hi) - LLVMConstIntGetSExtValue(lo) : 0;
    if (known && n <= 0) x = kn_const(e, in->dtype, r->identity);
    else if (known && r->block && n <= r->block) x = block_result(&s, lo, hi, false);
    else x = blocks(&s, lo, hi, known && n % r->width == 0, !known);
    kn_set(e, r->results.v[0], x, false);
}
