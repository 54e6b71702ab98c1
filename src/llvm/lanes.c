/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in lanes: steps of W elements, then one step under a mask for the rest. Where the bounds are constants, what is known not to
 * happen is not emitted, and a rest that is a shorter vector needs no mask. */
#include "llvm/emit.h"
#include "loop/vary.h"

typedef struct span {
    kn_emit *e;
    const kn_lregion *r;
} span;

void kn_lanes_open(kn_emit *e, const kn_lblock *body, kn_ll iv, int64_t more, unsigned w, kn_ll mask)
{
    kn_ll at = more ? LLVMBuildAdd(e->b, iv, kn_int(e, 64, (uint64_t)more), "") : iv;
    kn_val *counter = &e->val[body->params.v[0]];
    e->w = w;
    e->mask = mask;
    e->maths_pay = kn_maths_pay(e, body);
    *counter = (kn_val){.s = at, .base = iv, .offset = more, .linear = w > 0, .stride = 1};
    if (LLVMIsConstant(at)) {
        counter->base = NULL;
        counter->offset = LLVMConstIntGetSExtValue(at);
    }
    kn_emit_block(e, body);
}

void kn_lanes_close(kn_emit *e)
{
    e->w = 0;
    e->mask = NULL;
}

/* The body at elements iv, iv + 1, ..., w of them; only the first active ones when a mask is given. */
static void step(span *s, kn_ll iv, unsigned w, kn_ll mask)
{
    kn_lanes_open(s->e, &s->r->blocks[0], iv, 0, w, mask);
    kn_lanes_close(s->e);
}

kn_ll kn_lanes_below(kn_emit *e, kn_ll active, unsigned w) /* active: i32 */
{
    return LLVMBuildICmp(e->b, LLVMIntULT, kn_iota(e, 32, w, 1), kn_splat(e, active, w), "");
}

/* Whole steps from lo to end, at least one. */
static void whole_steps(span *s, kn_ll lo, kn_ll end, unsigned w)
{
    kn_emit *e = s->e;
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll iv = kn_phi(e, LLVMTypeOf(lo));
    e->near.iv = iv;
    if (LLVMIsAConstantInt(end)) e->near.end = LLVMConstIntGetSExtValue(end);
    step(s, iv, w, NULL);
    kn_ll next = LLVMBuildAdd(e->b, iv, kn_int(e, 64, w), "");
    kn_bb latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, end, ""), head, after);
    kn_incoming(iv, lo, before);
    kn_incoming(iv, next, latch);
    kn_enter(e, after);
    e->near.iv = NULL;
}

/* Runs `what` under a condition. */
static void when(span *s, kn_ll condition, void (*what)(span *s, kn_ll *args, unsigned w), kn_ll *args, unsigned w)
{
    kn_emit *e = s->e;
    kn_bb yes = kn_block_new(e), after = kn_block_new(e);
    LLVMBuildCondBr(e->b, condition, yes, after);
    kn_enter(e, yes);
    what(s, args, w);
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
}

static void main_part(span *s, kn_ll *args, unsigned w) { whole_steps(s, args[0], args[1], w); }
static void tail_part(span *s, kn_ll *args, unsigned w) { step(s, args[1], w, kn_lanes_below(s->e, args[2], w)); }

/* Few steps are written one after the other: no counter. */
static bool is_short(const span *s, uint64_t steps)
{
    enum { STEPS = 2, INSTRUCTIONS = 40 };
    return steps <= STEPS && (steps < 2 || kn_lanes_size(s->e, &s->r->blocks[0]) <= INSTRUCTIONS);
}

unsigned kn_lanes_size(const kn_emit *e, const kn_lblock *body)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < body->inst.n; i++) n += e->l->inst.v[body->inst.v[i]].op != KN_L_CONST;
    return n;
}

/* The rest is a step of its own width where there are vectors of it. Beside the mask that saves the wait of a load for what was stored under
 * one: processors do not forward that. */
static bool is_shorter_vector(uint64_t rest) { return rest > 1 && (rest & (rest - 1)) == 0; }

/* lo and hi constant: n elements. */
static void run_known(span *s, int64_t lo, uint64_t n, unsigned w)
{
    kn_emit *e = s->e;
    uint64_t steps = n / w, rest = n % w;
    kn_ll first = kn_int(e, 64, (uint64_t)lo), end = kn_int(e, 64, (uint64_t)lo + steps * w);
    if (is_short(s, steps))
        for (uint64_t k = 0; k < steps; k++) step(s, kn_int(e, 64, (uint64_t)lo + k * w), w, NULL);
    else whole_steps(s, first, end, w);
    if (is_shorter_vector(rest)) step(s, end, (unsigned)rest, NULL);
    else if (rest) step(s, end, w, kn_lanes_below(e, kn_int(e, 32, rest), w));
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
    span s = {e, r};
    uint64_t n = kn_loop_trips(e, r);
    run(&s, kn_scalar_of(e, r->lo), kn_scalar_of(e, r->hi), n && n % r->width == 0);
}

void kn_emit_vector_range(kn_emit *e, kn_lv v, const kn_linst *in, kn_ll lo, kn_ll hi)
{
    const kn_lregion *r = in->region;
    kn_ll first = kn_scalar_of(e, r->lo), last = kn_scalar_of(e, r->hi);
    kn_loops_vary(e->l, v, e->varying);
    span s = {e, r};
    bool known = LLVMIsAConstantInt(first) && LLVMIsAConstantInt(last);
    uint64_t n = known ? (uint64_t)LLVMConstIntGetSExtValue(last) - (uint64_t)LLVMConstIntGetSExtValue(first) : 0;
    kn_neighbours_begin(e, &r->blocks[0], (kn_ll[]){first, last});
    e->near.end = e->near.lo + (int64_t)(n - n % r->width);
    run_between(&s, lo, hi, known && n % r->width == 0);
}
