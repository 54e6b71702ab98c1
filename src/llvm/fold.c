/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in lanes. Element k goes to lane k mod L, and lanes combine by halving after each block (numerics 1). The lanes are parts, each a
 * native vector, and the body is made of native vectors: L / W parts side by side where that is short, else one body in a loop whose lanes
 * stand in memory. Lanes of a float minimum or maximum hold integers that are ordered as the floats are: one instruction an element and a
 * level of halving, and NaN and -0.0 take their places by it. Truth values are the bits of one integer, whose order does not matter. */
#include "llvm/emit.h"
#include "loop/vary.h"

#include <math.h>

enum { PARTS = 64 };

typedef struct fold {
    kn_emit *e;
    const kn_lregion *r;
    kiln_dtype dtype;
    unsigned w, parts;  /* lanes of a native vector, 0: plain code; how many of them */
    unsigned body;      /* statements of the body */
    bool keys;          /* parts hold ordered integers */
    bool sizes;         /* so do the elements, which are sizes: a NaN among them is found in the result alone */
    bool truth;         /* the one part is an integer of w bits or more */
    bool neutral;       /* the identity changes no element */
    kn_ll part[PARTS];  /* NULL: the identity still */
} fold;

/* ---- keys ---- */

/* b ^ ((b >> 31) & 0x7fffffff), its own inverse. */
static kn_ll flip(kn_emit *e, kiln_dtype d, unsigned w, kn_ll bits)
{
    LLVMTypeRef t = kn_bits_type(e, d, 0);
    unsigned n = LLVMGetIntTypeWidth(t);
    kn_ll top = kn_const_splat(e, LLVMConstInt(t, n - 1, false), w);
    kn_ll rest = kn_const_splat(e, LLVMConstInt(t, ~(uint64_t)0 >> (65 - n), false), w);
    return LLVMBuildXor(e->b, bits, LLVMBuildAnd(e->b, LLVMBuildAShr(e->b, bits, top, ""), rest, ""), "");
}

/* How far keys are moved: the infinity that loses against every number becomes the integer at that end, and the NaNs beyond it come round to
 * those at the other end, which win. */
static kn_ll distance(const fold *s, unsigned w)
{
    LLVMTypeRef t = kn_bits_type(s->e, s->dtype, 0);
    uint64_t nans = LLVMGetIntTypeWidth(t) == 32 ? 0x7fffff : 0xfffffffffffff;
    return kn_const_splat(s->e, LLVMConstInt(t, s->r->acc == KN_S_max ? -nans : nans, false), w);
}

static kn_ll key_of(const fold *s, unsigned w, kn_ll x)
{
    kn_emit *e = s->e;
    return LLVMBuildAdd(e->b, flip(e, s->dtype, w, kn_bitcast(e, x, kn_bits_type(e, s->dtype, w))), distance(s, w), "");
}

static kn_ll of_key(const fold *s, kn_ll key)
{
    kn_emit *e = s->e;
    return kn_bitcast(e, flip(e, s->dtype, 0, LLVMBuildSub(e->b, key, distance(s, 0), "")), kn_type(e, s->dtype, 0));
}

/* Is the value an absolute value, or the largest of some? Its bits are ordered as integers then, NaNs above infinity. */
static bool is_size(const kn_emit *e, kn_lv v)
{
    const kn_linst *in = &e->l->inst.v[v];
    if (in->op != KN_L_SOP) return false;
    return in->sop == KN_S_abs || (in->sop == KN_S_max && is_size(e, in->a) && is_size(e, in->b));
}

static kn_ll key_of_size(const fold *s, kn_lv v)
{
    kn_emit *e = s->e;
    const kn_linst *in = &e->l->inst.v[v];
    LLVMTypeRef t = kn_bits_type(e, s->dtype, s->w);
    if (in->sop == KN_S_abs) return kn_bitcast(e, kn_value_of(e, v, true), t);
    return kn_intrinsic(e, "llvm.smax", &t, 1, (kn_ll[]){key_of_size(s, in->a), key_of_size(s, in->b)}, 2);
}

/* Of the largest of sizes, one at least. Any NaN becomes the one of a maximum. */
static kn_ll of_size(const fold *s, kn_ll key)
{
    kn_emit *e = s->e;
    kn_ll x = kn_bitcast(e, key, kn_type(e, s->dtype, 0)), nan = kn_const_f(e, s->dtype, 0, (double)NAN);
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, ""), nan, x, "");
}

/* ---- one element or vector ---- */

static kn_sop operation(const fold *s)
{
    if (s->truth) return s->r->acc == KN_S_max ? KN_S_or : s->r->acc == KN_S_min ? KN_S_and : s->r->acc;
    return s->r->acc == KN_S_fma ? KN_S_add : s->r->acc;
}

/* The type of a part. */
static LLVMTypeRef part_type(const fold *s)
{
    if (s->truth) return LLVMIntTypeInContext(s->e->c, s->w < 8 ? 8 : s->w);
    return s->keys ? kn_bits_type(s->e, s->dtype, s->w) : kn_type(s->e, s->dtype, s->w);
}

/* a and b combined, w lanes each: parts, elements or results of blocks. */
static kn_ll combine(const fold *s, kn_ll a, kn_ll b, unsigned w)
{
    kn_emit *e = s->e;
    if (s->keys) return kn_integer_extremum(e, s->r->acc == KN_S_max, true, a, b);
    return kn_emit_op(e, operation(s), s->dtype, s->dtype, w, a, b, NULL);
}

static kn_ll join_truth(const fold *s, kn_ll a, kn_ll b)
{
    LLVMBuilderRef b_ = s->e->b;
    kn_sop op = operation(s);
    return op == KN_S_and ? LLVMBuildAnd(b_, a, b, "") : op == KN_S_or ? LLVMBuildOr(b_, a, b, "") : LLVMBuildXor(b_, a, b, "");
}

static kn_ll identity(const fold *s)
{
    kn_emit *e = s->e;
    kn_ll one = kn_const(e, s->dtype, s->r->identity);
    if (s->truth) return LLVMConstInt(part_type(s), operation(s) == KN_S_and ? ~(uint64_t)0 >> (64 - s->w) : 0, false);
    return kn_const_splat(e, s->keys ? key_of(s, 0, one) : one, s->w);
}

/* Truth values of the lanes under the mask, as bits. */
static kn_ll truth_of(const fold *s, kn_ll x, kn_ll mask)
{
    kn_emit *e = s->e;
    if (mask && operation(s) == KN_S_and) x = LLVMBuildOr(e->b, x, LLVMBuildNot(e->b, mask, ""), "");
    else if (mask) x = LLVMBuildAnd(e->b, x, mask, "");
    x = kn_bitcast(e, x, LLVMIntTypeInContext(e->c, s->w));
    return s->w < 8 ? LLVMBuildZExt(e->b, x, part_type(s), "") : x;
}

/* The part `to` with the elements from iv + more on in it. */
static kn_ll take(fold *s, kn_ll to, kn_ll iv, int64_t more, kn_ll mask)
{
    kn_emit *e = s->e;
    const kn_lblock *body = &s->r->blocks[0];
    kn_lanes_open(e, body, iv, more, s->w, mask);
    if (e->failed) return identity(s);
    bool fma = s->r->acc == KN_S_fma, lanes = s->w > 0;
    kn_ll x = s->sizes ? key_of_size(s, body->yields.v[0]) : kn_value_of(e, body->yields.v[0], lanes), next;
    kn_ll y = fma ? kn_value_of(e, body->yields.v[1], lanes) : NULL;
    if (s->truth) {
        x = truth_of(s, x, mask);
        kn_lanes_close(e);
        return to ? join_truth(s, to, x) : x;
    }
    if (s->keys && !s->sizes) x = key_of(s, s->w, x);
    kn_ll kept = to || !(s->neutral && !mask) ? (to ? to : identity(s)) : NULL;
    if (!to && s->neutral) next = fma ? kn_emit_op(e, KN_S_mul, s->dtype, s->dtype, s->w, x, y, NULL) : x;
    else next = fma ? kn_emit_op(e, KN_S_fma, s->dtype, s->dtype, s->w, x, y, kept) : combine(s, kept, x, s->w);
    if (mask) next = LLVMBuildSelect(e->b, mask, next, kept, "");
    kn_lanes_close(e);
    return next;
}

/* ---- lanes in memory ---- */

static LLVMTypeRef byte(const fold *s) { return LLVMInt8TypeInContext(s->e->c); }
static unsigned part_bytes(const fold *s) { return kn_bytes(s->dtype) * (s->w ? s->w : 1); }

static kn_ll place(const fold *s, kn_ll offset) { return LLVMBuildGEP2(s->e->b, byte(s), s->e->room, &offset, 1, ""); }
static kn_ll place_of(const fold *s, unsigned bytes) { return bytes ? place(s, kn_int(s->e, 64, bytes)) : s->e->room; }

/* One for all reductions of a function: none stands inside of another one. */
static void open_room(fold *s)
{
    enum { BYTES = 64 * 8, LINE = 64 };
    if (s->e->room) return;
    s->e->room = kn_entry_room(s->e, LLVMArrayType2(byte(s), BYTES));
    LLVMSetAlignment(s->e->room, LINE);
}

static void store(const fold *s, kn_ll x, kn_ll p) { LLVMSetAlignment(LLVMBuildStore(s->e->b, x, p), kn_bytes(s->dtype)); }
static kn_ll load(const fold *s, LLVMTypeRef t, kn_ll p)
{
    kn_ll x = LLVMBuildLoad2(s->e->b, t, p, "");
    LLVMSetAlignment(x, kn_bytes(s->dtype));
    return x;
}

/* The first n parts there and back. */
static void into_room(fold *s, unsigned n)
{
    open_room(s);
    for (unsigned p = 0; p < n; p++) store(s, s->part[p] ? s->part[p] : identity(s), place_of(s, p * part_bytes(s)));
}
static void from_room(fold *s, unsigned n)
{
    for (unsigned p = 0; p < n; p++) s->part[p] = load(s, part_type(s), place_of(s, p * part_bytes(s)));
}

/* The part that element `distance` from the start belongs to. */
static kn_ll part_at(const fold *s, kn_ll distance)
{
    kn_ll lane = LLVMBuildAnd(s->e->b, distance, kn_int(s->e, 64, (uint64_t)s->w * s->parts - 1), "");
    return place(s, LLVMBuildMul(s->e->b, lane, kn_int(s->e, 64, kn_bytes(s->dtype)), ""));
}

/* ---- steps ---- */

/* A loop from lo to end in steps, at least one. */
typedef struct repeat {
    kn_bb before, head;
    kn_ll iv, lo, end;
    unsigned step;
} repeat;

static repeat begin(const fold *s, kn_ll lo, kn_ll end, unsigned step)
{
    kn_emit *e = s->e;
    repeat l = {.before = kn_here(e), .head = kn_block_new(e), .lo = lo, .end = end, .step = step};
    LLVMBuildBr(e->b, l.head);
    kn_enter(e, l.head);
    e->near.iv = l.iv = kn_phi(e, LLVMTypeOf(lo));
    if (LLVMIsAConstantInt(end)) e->near.end = LLVMConstIntGetSExtValue(end);
    return l;
}

/* Returns the loop's last block. */
static kn_bb finish(const fold *s, const repeat *l)
{
    kn_emit *e = s->e;
    kn_bb after = kn_block_new(e), latch;
    kn_ll next = LLVMBuildAdd(e->b, l->iv, kn_int(e, 64, l->step), "");
    latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, l->end, ""), l->head, after);
    kn_incoming(l->iv, l->lo, l->before);
    kn_incoming(l->iv, next, latch);
    kn_enter(e, after);
    e->near.iv = NULL;
    return latch;
}

/* All parts in registers, side by side: whole rounds of them. */
static void in_registers(fold *s, kn_ll lo, kn_ll end)
{
    kn_ll first[PARTS], phi[PARTS];
    unsigned w = s->w ? s->w : 1;
    for (unsigned p = 0; p < s->parts; p++) first[p] = s->part[p] ? s->part[p] : identity(s);
    repeat l = begin(s, lo, end, w * s->parts);
    for (unsigned p = 0; p < s->parts; p++) phi[p] = kn_phi(s->e, LLVMTypeOf(first[p]));
    for (unsigned p = 0; p < s->parts; p++) s->part[p] = take(s, phi[p], l.iv, (int64_t)p * w, NULL);
    kn_bb latch = finish(s, &l);
    for (unsigned p = 0; p < s->parts; p++) {
        kn_incoming(phi[p], first[p], l.before);
        kn_incoming(phi[p], s->part[p], latch);
    }
}

/* One part after the other, in memory. `start`: of the block. */
static void in_memory(fold *s, kn_ll start, kn_ll lo, kn_ll end)
{
    repeat l = begin(s, lo, end, s->w);
    kn_ll p = part_at(s, LLVMBuildSub(s->e->b, l.iv, start, ""));
    store(s, take(s, load(s, part_type(s), p), l.iv, 0, NULL), p);
    finish(s, &l);
}

static void masked_in_memory(fold *s, kn_ll start, kn_ll at, kn_ll active)
{
    kn_ll p = part_at(s, LLVMBuildSub(s->e->b, at, start, ""));
    store(s, take(s, load(s, part_type(s), p), at, 0, kn_lanes_below(s->e, active, s->w)), p);
}

/* ---- a block whose length is known ---- */

static bool parts_in_registers(const fold *s)
{
    enum { STATEMENTS = 128 };
    return s->parts == 1 || (s->e->o->tier > 0 && s->parts * (s->body + 1) <= STATEMENTS);
}

static void straight(fold *s, kn_ll lo, uint64_t from, uint64_t steps)
{
    for (uint64_t k = from; k < from + steps; k++) {
        kn_ll *part = &s->part[k % s->parts];
        *part = take(s, *part, LLVMBuildAdd(s->e->b, lo, kn_int(s->e, 64, k * (s->w ? s->w : 1)), ""), 0, NULL);
    }
}

/* n elements from lo, a constant or not. */
static void known(fold *s, kn_ll lo, uint64_t n)
{
    enum { FEW = 24, MANY = 128 };
    kn_emit *e = s->e;
    unsigned w = s->w ? s->w : 1, limit = e->o->tier > 0 ? MANY : FEW;
    uint64_t steps = n / w, rest = n % w, rounds = steps / s->parts;
    kn_ll end = LLVMBuildAdd(e->b, lo, kn_int(e, 64, steps * w), "");
    if (steps <= 2 || (rounds <= 2 && steps * s->body <= limit)) {
        straight(s, lo, 0, steps);
    } else if (parts_in_registers(s) && rounds > 0) {
        uint64_t done = rounds > 1 ? rounds * s->parts : 0;
        if (done) in_registers(s, lo, LLVMBuildAdd(e->b, lo, kn_int(e, 64, done * w), ""));
        straight(s, lo, done, steps - done);
    } else {
        unsigned used = steps < s->parts ? (unsigned)steps : s->parts;
        into_room(s, used);
        in_memory(s, lo, lo, end);
        from_room(s, used);
    }
    if (!rest) return;
    kn_ll *part = &s->part[steps % s->parts];
    *part = take(s, *part, end, 0, kn_lanes_below(e, kn_int(e, 32, rest), w));
}

/* ---- a block whose length is not ---- */

/* Runs `what` under a condition and merges the parts. */
static void when(fold *s, kn_ll condition, void (*what)(fold *s, kn_ll *args), kn_ll *args)
{
    kn_emit *e = s->e;
    kn_bb before = kn_here(e), yes = kn_block_new(e), after = kn_block_new(e);
    kn_ll skipped[PARTS];
    for (unsigned p = 0; p < s->parts; p++) skipped[p] = s->part[p] = s->part[p] ? s->part[p] : identity(s);
    LLVMBuildCondBr(e->b, condition, yes, after);
    kn_enter(e, yes);
    what(s, args);
    kn_bb end = kn_here(e);
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
    for (unsigned p = 0; p < s->parts; p++) {
        if (s->part[p] == skipped[p]) continue;
        kn_ll both = kn_phi(e, LLVMTypeOf(skipped[p]));
        kn_incoming(both, skipped[p], before);
        kn_incoming(both, s->part[p], end);
        s->part[p] = both;
    }
}

/* Of a block: start, where whole rounds, whole vectors and all end. */
enum { START, ROUNDS, VECTORS, END, BOUNDS };

static kn_ll differ(fold *s, kn_ll a, kn_ll b) { return LLVMBuildICmp(s->e->b, LLVMIntNE, a, b, ""); }
static kn_ll rest_of(fold *s, kn_ll *at) { return LLVMBuildTrunc(s->e->b, LLVMBuildSub(s->e->b, at[END], at[VECTORS], ""), LLVMInt32TypeInContext(s->e->c), ""); }

static void rounds(fold *s, kn_ll *at) { in_registers(s, at[START], at[ROUNDS]); }
static void masked(fold *s, kn_ll *at) { s->part[0] = take(s, s->part[0], at[VECTORS], 0, kn_lanes_below(s->e, rest_of(s, at), s->w)); }
static void vectors_in_memory(fold *s, kn_ll *at) { in_memory(s, at[START], at[ROUNDS], at[VECTORS]); }
static void rest_in_memory(fold *s, kn_ll *at) { masked_in_memory(s, at[START], at[VECTORS], rest_of(s, at)); }

/* What is left in memory, `ROUNDS` to `END`. The parts stand there while it runs. */
static void left(fold *s, kn_ll *at)
{
    into_room(s, s->parts);
    when(s, differ(s, at[ROUNDS], at[VECTORS]), vectors_in_memory, at);
    when(s, differ(s, at[VECTORS], at[END]), rest_in_memory, at);
    from_room(s, s->parts);
}

/* At least one element. `full`: a multiple of the lanes. */
static void unknown(fold *s, kn_ll lo, kn_ll hi, bool full)
{
    kn_emit *e = s->e;
    unsigned w = s->w ? s->w : 1, lanes = w * s->parts;
    if (full && parts_in_registers(s)) {
        in_registers(s, lo, hi);
        return;
    }
    kn_ll n = LLVMBuildSub(e->b, hi, lo, "");
    kn_ll vectors = w == 1 || full ? hi : LLVMBuildAdd(e->b, lo, LLVMBuildAnd(e->b, n, kn_int(e, 64, -(uint64_t)w), ""), "");
    kn_ll rounds_end = w == lanes ? vectors : LLVMBuildAdd(e->b, lo, LLVMBuildAnd(e->b, n, kn_int(e, 64, -(uint64_t)lanes), ""), "");
    kn_ll at[BOUNDS] = {lo, rounds_end, vectors, hi};
    if (parts_in_registers(s)) {
        when(s, differ(s, lo, rounds_end), rounds, at);
        if (s->parts > 1) when(s, differ(s, rounds_end, hi), left, at);
        else if (w > 1) when(s, differ(s, vectors, hi), masked, at);
        return;
    }
    at[ROUNDS] = lo;
    if (!full) {
        left(s, at);
        return;
    }
    into_room(s, s->parts);
    vectors_in_memory(s, at);
    from_room(s, s->parts);
}

/* ---- lanes together ---- */

/* x of w lanes by halving: through memory, whose loads and stores the fast instruction selector knows, down to what a vector
 * register cannot halve. */
static kn_ll halve_in_memory(fold *s, kn_ll x, unsigned w)
{
    kn_emit *e = s->e;
    kiln_dtype d = s->dtype;
    open_room(s);
    for (unsigned size = kn_bytes(d); w * size > 16; w /= 2) {
        LLVMTypeRef half = s->keys ? kn_bits_type(e, d, w / 2) : kn_type(e, d, w / 2);
        store(s, x, s->e->room);
        x = combine(s, load(s, half, s->e->room), load(s, half, place_of(s, w / 2 * size)), w / 2);
    }
    kn_ll lane[16];
    store(s, x, s->e->room);
    for (unsigned i = 0; i < w; i++) lane[i] = load(s, s->keys ? kn_bits_type(e, d, 0) : kn_type(e, d, 0), place_of(s, i * kn_bytes(d)));
    for (; w > 1; w /= 2)
        for (unsigned i = 0; i < w / 2; i++) lane[i] = combine(s, lane[i], lane[i + w / 2], 0);
    return lane[0];
}

static kn_ll halve(fold *s, kn_ll x, unsigned w)
{
    kn_emit *e = s->e;
    for (; w > 2; w /= 2) x = combine(s, kn_slice(e, x, 0, w / 2, 1), kn_slice(e, x, w / 2, w / 2, 1), w / 2);
    kn_ll first = kn_int(e, 32, 0), last = kn_int(e, 32, 1);
    if (w == 1) return LLVMBuildExtractElement(e->b, x, first, "");
    if (s->keys) return LLVMBuildExtractElement(e->b, combine(s, x, kn_slice(e, x, 1, 2, (unsigned)-1), 2), first, "");
    return combine(s, LLVMBuildExtractElement(e->b, x, first, ""), LLVMBuildExtractElement(e->b, x, last, ""), 0);
}

static kn_ll all_true(fold *s, kn_ll bits)
{
    kn_emit *e = s->e;
    LLVMTypeRef t = LLVMTypeOf(bits);
    if (operation(s) == KN_S_and) return LLVMBuildICmp(e->b, LLVMIntEQ, bits, identity(s), "");
    if (operation(s) == KN_S_or) return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(t), "");
    return LLVMBuildTrunc(e->b, kn_intrinsic(e, "llvm.ctpop", &t, 1, &bits, 1), LLVMInt1TypeInContext(e->c), "");
}

/* The parts as one element. `most`: elements at most, 0: any number. */
static kn_ll together(fold *s, uint64_t most)
{
    kn_emit *e = s->e;
    for (unsigned half = s->parts / 2; half; half /= 2)
        for (unsigned p = 0; p < half; p++) {
            kn_ll other = s->part[p + half];
            if (!other && s->neutral) continue;
            if (!other) other = identity(s);
            if (s->part[p] || !s->neutral) s->part[p] = combine(s, s->part[p] ? s->part[p] : identity(s), other, s->w);
            else s->part[p] = other;
        }
    kn_ll x = s->part[0] ? s->part[0] : identity(s);
    if (!s->w) return x;
    kn_ll one = kn_const(e, s->dtype, s->r->identity);
    if (s->truth) return kn_emit_op(e, operation(s), s->dtype, s->dtype, 0, one, all_true(s, x), NULL);
    unsigned w = s->w;
    if (most && s->neutral)
        while (w > 1 && most <= w / 2) w /= 2; /* the others are the identity */
    bool memory = e->o->tier == 0 && kn_bits(s->dtype) >= 8 && kn_bytes(s->dtype) * w >= 16 && w == s->w;
    if (w < s->w && w > 1) x = kn_slice(e, x, 0, w, 1);
    x = memory ? halve_in_memory(s, x, w) : halve(s, x, w);
    return s->keys ? (s->sizes ? of_size(s, x) : of_key(s, x)) : x;
}

/* ---- a reduction ---- */

/* Does the reduction start at what changes no element? */
static bool is_neutral(const fold *s)
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

/* One block: of n elements, or, where n is 0, up to hi. */
static kn_ll block_result(fold *s, kn_ll lo, kn_ll hi, uint64_t n, bool full)
{
    memset(s->part, 0, sizeof s->part);
    kn_neighbours_begin(s->e, &s->r->blocks[0], (kn_ll[]){lo, hi});
    if (n) known(s, lo, n);
    else unknown(s, lo, hi, full);
    return together(s, n);
}

static kn_ll join_blocks(const fold *s, kn_ll a, kn_ll b) { return kn_emit_op(s->e, operation(s), s->dtype, s->dtype, 0, a, b, NULL); }

/* 64 * ceil(n / 4096), 4096 at least (numerics 3). */
static kn_ll block_of(kn_emit *e, kn_ll n)
{
    enum { SHIFT = 12, LEAST = 1 << SHIFT, MOST = 64 };
    kn_ll up = LLVMBuildAdd(e->b, n, kn_int(e, 64, LEAST - 1), "");
    kn_ll size = LLVMBuildMul(e->b, LLVMBuildLShr(e->b, up, kn_int(e, 64, SHIFT), ""), kn_int(e, 64, MOST), "");
    return kn_integer_extremum(e, true, true, size, kn_int(e, 64, LEAST));
}

/* Blocks from the left; the first one's result is taken as it is. */
static kn_ll blocks(fold *s, kn_ll lo, kn_ll hi, bool full, bool empty)
{
    kn_emit *e = s->e;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->c);
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    kn_ll none = kn_const(e, s->dtype, s->r->identity);
    kn_ll size = s->r->block ? kn_int(e, 64, (uint64_t)s->r->block) : block_of(e, LLVMBuildSub(e->b, hi, lo, ""));
    if (empty) LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, lo, hi, ""), head, after);
    else LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll at = kn_phi(e, i64), sum = kn_phi(e, LLVMTypeOf(none));
    kn_ll next = LLVMBuildAdd(e->b, at, size, "");
    kn_ll end = kn_integer_extremum(e, false, true, next, hi);
    kn_ll one = block_result(s, at, end, 0, full), both = join_blocks(s, sum, one);
    kn_ll total = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, at, lo, ""), one, both, "");
    kn_bb latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, hi, ""), head, after);
    kn_incoming(at, lo, before);
    kn_incoming(at, next, latch);
    kn_incoming(sum, none, before);
    kn_incoming(sum, total, latch);
    kn_enter(e, after);
    if (!empty) return total;
    kn_ll result = kn_phi(e, LLVMTypeOf(none));
    kn_incoming(result, none, before);
    kn_incoming(result, total, latch);
    return result;
}

/* Lanes of a native vector of the widest elements that the body has. */
static unsigned native_lanes(const kn_emit *e, const kn_lregion *r, kiln_dtype d)
{
    unsigned bytes = kn_is_narrow(d) ? 4 : kn_bytes(d);
    const kn_lblock *body = &r->blocks[0];
    for (uint32_t i = 0; i < body->inst.n; i++) {
        const kn_linst *in = &e->l->inst.v[body->inst.v[i]];
        bool index = in->op == KN_L_SOP && in->dtype == KILN_I64;
        unsigned has = kn_is_narrow(in->dtype) ? 4 : kn_bytes(in->dtype);
        if ((in->op == KN_L_LOAD || in->op == KN_L_SOP) && !index && has > bytes) bytes = has;
    }
    unsigned w = e->vector_bytes / (bytes ? bytes : 1);
    return w < r->width ? w : r->width;
}

static fold fold_of(kn_emit *e, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    fold s = {.e = e, .r = r, .dtype = in->dtype, .parts = 1, .body = kn_lanes_size(e, &r->blocks[0])};
    if (r->width > 1) {
        s.w = native_lanes(e, r, in->dtype);
        s.truth = in->dtype == KILN_BOOL;
        s.parts = s.truth ? 1 : r->width / s.w;
        s.keys = (r->acc == KN_S_min || r->acc == KN_S_max) && kn_is_float(in->dtype);
        s.sizes = s.keys && r->acc == KN_S_max && is_size(e, r->blocks[0].yields.v[0]);
        s.neutral = is_neutral(&s) || s.truth;
    }
    return s;
}

void kn_emit_lanes(kn_emit *e, kn_lv v, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    if (r->width > 1) kn_loops_vary(e->l, v, e->varying);
    fold s = fold_of(e, in);
    kn_ll lo = kn_scalar_of(e, r->lo), hi = kn_scalar_of(e, r->hi), x;
    bool is_known = LLVMIsAConstantInt(lo) && LLVMIsAConstantInt(hi);
    int64_t n = is_known ? LLVMConstIntGetSExtValue(hi) - LLVMConstIntGetSExtValue(lo) : 0;
    if (is_known && n <= 0) x = kn_const(e, in->dtype, r->identity);
    else if (is_known && r->block && n <= r->block) x = block_result(&s, lo, hi, (uint64_t)n, false);
    else x = blocks(&s, lo, hi, is_known && n % r->width == 0, !is_known);
    kn_set(e, r->results.v[0], x, false);
}
