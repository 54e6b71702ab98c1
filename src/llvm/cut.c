/* SPDX-License-Identifier: Apache-2.0 */
/* Level 0: blocks are put in order and cut so that each of LLVM's two instruction selectors gets what it is good at. The fast one works from
 * the end of a block to its beginning. A call that it does not know goes to the slow one alone, which is dear; at anything else that it does
 * not know, it leaves all that stands above to the slow one, which takes three times as long for each. So
 *
 *   - instructions of a block are gathered into stretches that are fast and stretches that are slow, by turns, as few as their order allows;
 *   - a block is cut above a slow stretch where the fast one before it is long enough, as what lives across a cut goes through memory;
 *   - a fence that makes no code stands below calls that are best given to the slow selector together.
 *
 * Which stretches go to whom is the cheapest choice by the costs below, found from the first one to the last. The values do not change. */
#include "llvm/emit.h"

#include "base/map.h"

/* Thousands of instructions that LLVM takes, measured. */
enum { FAST = 15, SLOW = 45, SLOW_BEGIN = 40, CALL_ALONE = 110, CUT = 40, CUT_IN_LOOP = 1000, CUT_IN_INNER_LOOP = 20000, NEVER = 1 << 30 };

typedef struct item {
    kn_ll in;
    uint32_t turn; /* number of its stretch: even ones are fast, odd ones slow */
    bool slow, call, reads, writes;
    bool used; /* inside of the block, in turn `latest` or later */
    uint32_t latest;
    uint32_t next; /* of its stretch, + 1 */
} item;

typedef struct stretch {
    uint32_t first, last;  /* items + 1 */
    uint32_t n, calls;     /* instructions; calls that the fast selector does not know */
    uint32_t cost[2];      /* of all up to and with it, where the fast one, the slow one gets it */
    bool from_slow[2];     /* who gets the stretch before it then */
    bool slow;             /* chosen */
} stretch;

typedef struct cut {
    kn_emit *e;
    kn_map at; /* instruction -> its number in the block + 1 */
    KN_VEC(item) items;
    KN_VEC(stretch) stretches;
    kn_ll end; /* the block's terminator, which is no item */
    bool end_slow;
    uint32_t cut_cost;
    uint64_t slow; /* instructions that the slow selector gets */
} cut;

/* ---- what must stay in order ---- */

static bool is_memory_call(kn_ll in)
{
    size_t n;
    if (!LLVMGetIntrinsicID(LLVMGetCalledValue(in))) return true;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(in), &n);
    return strncmp(name, "llvm.masked", 11) == 0 || strncmp(name, "llvm.x86", 8) == 0 || strncmp(name, "llvm.read", 9) == 0;
}

static item item_of(const cut *c, kn_ll in)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(in);
    item i = {.in = in, .slow = !kn_fast_selects(c->e, in)};
    i.call = i.slow && op == LLVMCall;
    i.writes = op == LLVMStore || op == LLVMFence || (op == LLVMCall && is_memory_call(in)) || (op == LLVMLoad && LLVMGetVolatile(in));
    i.reads = op == LLVMLoad || i.writes;
    return i;
}

/* The first turn from `least` on that suits. */
static uint32_t turn_from(const item *i, uint32_t least) { return least + ((least & 1) != i->slow); }

/* Operands inside the block, by number, one at a time; 0 when there is none left. */
static uint32_t operand(const cut *c, const item *i, unsigned *k)
{
    unsigned n = (unsigned)LLVMGetNumOperands(i->in);
    while (*k < n) {
        uint32_t j = kn_map_get(&c->at, kn_map_address(LLVMGetOperand(i->in, (*k)++)));
        if (j) return j;
    }
    return 0;
}

static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Each as early as it can. Returns the last turn. */
static uint32_t as_early(cut *c)
{
    uint32_t last = 0, read = 0, written = 0;
    for (uint32_t k = 0; k < c->items.n; k++) {
        item *i = &c->items.v[k];
        uint32_t least = 0, j;
        unsigned from = 0;
        while ((j = operand(c, i, &from))) least = most(least, c->items.v[j - 1].turn);
        if (i->reads) least = most(least, written);
        if (i->writes) least = most(least, read);
        i->turn = turn_from(i, least);
        if (i->writes) written = most(written, i->turn);
        if (i->reads) read = most(read, i->turn);
        last = most(last, i->turn);
    }
    return last;
}

/* What is used inside of the block moves to its first use, so that little lives across a cut. */
static void as_late(cut *c)
{
    uint32_t read = UINT32_MAX, written = UINT32_MAX;
    for (uint32_t k = c->items.n; k-- > 0;) {
        item *i = &c->items.v[k];
        uint32_t until = i->used ? i->latest : i->turn, j;
        unsigned from = 0;
        if (i->reads && written < until) until = written;
        if (i->writes && read < until) until = read;
        if ((until & 1) != i->slow) until--;
        if (until != UINT32_MAX && until > i->turn) i->turn = until;
        if (i->writes && i->turn < written) written = i->turn;
        if (i->reads && i->turn < read) read = i->turn;
        while ((j = operand(c, i, &from))) {
            item *o = &c->items.v[j - 1];
            if (!o->used || i->turn < o->latest) o->latest = i->turn;
            o->used = true;
        }
    }
}

/* ---- the cheapest choice ---- */

static uint32_t sum(uint32_t a, uint32_t b) { return a >= NEVER || b >= NEVER ? NEVER : a + b; }

static void choose(cut *c)
{
    for (uint32_t k = 0; k < c->stretches.n; k++) {
        stretch *s = &c->stretches.v[k];
        uint32_t fast = k % 2 == 0 ? FAST * s->n : s->calls == s->n ? CALL_ALONE * s->n : NEVER, slow = SLOW * s->n;
        if (k == 0) {
            s->cost[0] = fast, s->cost[1] = slow + SLOW_BEGIN;
            continue;
        }
        const stretch *before = s - 1;
        uint32_t begin = SLOW_BEGIN + (k > 1 || before->n ? c->cut_cost : 0);
        s->from_slow[0] = before->cost[1] < before->cost[0];
        s->from_slow[1] = before->cost[1] <= sum(before->cost[0], begin);
        s->cost[0] = sum(fast, s->from_slow[0] ? before->cost[1] : before->cost[0]);
        s->cost[1] = sum(slow, s->from_slow[1] ? before->cost[1] : sum(before->cost[0], begin));
    }
    stretch *last = &c->stretches.v[c->stretches.n - 1];
    bool slow = last->cost[1] < last->cost[0];
    for (uint32_t k = c->stretches.n; k-- > 0;) {
        stretch *s = &c->stretches.v[k];
        s->slow = slow;
        slow = s->from_slow[slow];
    }
}

/* ---- stretches ---- */

static bool gather(cut *c, uint32_t last)
{
    last += (last & 1) != c->end_slow;
    c->stretches.n = 0;
    for (uint32_t k = 0; k <= last; k++)
        if (!kn_push(&c->e->arena, &c->stretches, (stretch){0})) return false;
    c->stretches.v[last].n++;
    for (uint32_t k = 0; k < c->items.n; k++) {
        item *i = &c->items.v[k];
        stretch *s = &c->stretches.v[i->turn];
        *(s->last ? &c->items.v[s->last - 1].next : &s->first) = k + 1;
        s->last = k + 1;
        s->n++;
        s->calls += i->call;
    }
    return true;
}

static bool read_block(cut *c, kn_bb block)
{
    c->at = (kn_map){0};
    c->items.n = 0;
    c->end = LLVMGetBasicBlockTerminator(block);
    c->end_slow = !kn_fast_selects(c->e, c->end);
    for (kn_ll in = LLVMGetFirstInstruction(block); in != c->end; in = LLVMGetNextInstruction(in)) {
        if (LLVMIsAPHINode(in)) continue;
        if (!kn_push(&c->e->arena, &c->items, item_of(c, in)) || !kn_map_put(&c->e->arena, &c->at, kn_map_address(in), c->items.n)) return false;
    }
    return true;
}

/* Is the stretch the first one of a new block? */
static bool is_cut(const cut *c, uint32_t k)
{
    const stretch *s = &c->stretches.v[k];
    return k && s->slow && !s[-1].slow && (k > 1 || s[-1].n);
}

/* The last stretch of what the slow selector gets from k on, and what there is of instructions and calls that the fast one does not know. */
static uint32_t slow_end(const cut *c, uint32_t k, uint32_t *unknown, uint32_t *calls)
{
    *unknown = *calls = 0;
    for (;; k++) {
        const stretch *s = &c->stretches.v[k];
        if (k & 1) *unknown += s->n;
        *calls += s->calls;
        if (k + 1 == c->stretches.n || !s[1].slow) return k;
    }
}

/* ---- the new order ---- */

/* Branches to `from` go to `to`. */
static void redirect(kn_bb from, kn_bb to)
{
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)), next; use; use = next) {
        next = LLVMGetNextUse(use);
        kn_ll end = LLVMGetUser(use);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++)
            if (LLVMGetSuccessor(end, k) == from) LLVMSetSuccessor(end, k, to);
    }
}

static void append(cut *c, kn_bb block, kn_ll in)
{
    LLVMPositionBuilderAtEnd(c->e->b, block);
    LLVMInsertIntoBuilder(c->e->b, in);
}

static void move_phis(cut *c, kn_bb from, kn_bb to)
{
    for (kn_ll phi = LLVMGetFirstInstruction(from), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMInstructionRemoveFromParent(phi);
        append(c, to, phi);
    }
}

/* A block before `block`, where what stands in front of a cut goes: blocks behind know `block` as the one that they follow. */
static kn_bb before(cut *c, kn_bb block) { return LLVMInsertBasicBlockInContext(c->e->c, block, ""); }

static void rebuild(cut *c, kn_bb block)
{
    uint32_t cuts = 0, fence_after = UINT32_MAX, unknown, calls;
    for (uint32_t k = 0; k < c->stretches.n; k++) cuts += is_cut(c, k);
    for (uint32_t k = 0; k < c->items.n; k++) LLVMInstructionRemoveFromParent(c->items.v[k].in);
    LLVMInstructionRemoveFromParent(c->end);
    kn_bb here = cuts ? before(c, block) : block;
    if (cuts) {
        redirect(block, here);
        move_phis(c, block, here);
    }
    for (uint32_t k = 0; k < c->stretches.n; k++) {
        const stretch *s = &c->stretches.v[k];
        if (is_cut(c, k)) {
            kn_bb next = --cuts ? before(c, block) : block;
            LLVMPositionBuilderAtEnd(c->e->b, here);
            LLVMBuildBr(c->e->b, next);
            here = next;
        }
        if (s->slow && (k == 0 || !s[-1].slow)) {
            uint32_t end = slow_end(c, k, &unknown, &calls);
            fence_after = unknown > 1 && calls ? end : UINT32_MAX;
        }
        for (uint32_t i = s->first; i; i = c->items.v[i - 1].next) append(c, here, c->items.v[i - 1].in);
        if (k != fence_after) continue;
        LLVMPositionBuilderAtEnd(c->e->b, here);
        LLVMBuildFence(c->e->b, LLVMAtomicOrderingSequentiallyConsistent, true, "");
    }
    append(c, here, c->end);
}

static void count(cut *c)
{
    for (uint32_t k = 0; k < c->stretches.n; k++) c->slow += c->stretches.v[k].slow ? c->stretches.v[k].n : c->stretches.v[k].calls;
}

static void one_block(cut *c, kn_bb block)
{
    if (!read_block(c, block)) {
        kn_emit_fail(c->e, "out of memory");
        return;
    }
    uint32_t last = as_early(c);
    as_late(c);
    if (!gather(c, last)) {
        kn_emit_fail(c->e, "out of memory");
        return;
    }
    choose(c);
    count(c);
    if (c->stretches.n > 1) rebuild(c, block);
}

/* ---- functions ---- */

/* Cuts cost more in loops. Loops are structured: those inside of another one end before it does. */
static bool cut_costs(cut *c, kn_ll fn, uint32_t *cost)
{
    kn_map number = {0};
    uint32_t n = 0, inner = 0; /* where the last loop begins */
    for (kn_bb b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        if (!kn_map_put(&c->e->arena, &number, kn_map_address(b), ++n)) return false;
        cost[n - 1] = CUT;
        kn_ll end = LLVMGetBasicBlockTerminator(b);
        uint32_t head = 0;
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) head = most(head, kn_map_get(&number, kn_map_address(LLVMGetSuccessor(end, k))));
        if (!head) continue;
        for (uint32_t k = head - 1; k < n; k++)
            if (cost[k] == CUT) cost[k] = inner < head ? CUT_IN_INNER_LOOP : CUT_IN_LOOP;
        inner = head;
    }
    return true;
}

static void function(cut *c, kn_ll fn)
{
    uint32_t n = LLVMCountBasicBlocks(fn), k = 0;
    uint32_t *cost = kn_emit_new(c->e, n, sizeof *cost);
    kn_bb *blocks = kn_emit_new(c->e, n, sizeof *blocks); /* as they are now: cuts add some */
    if (!cost || !blocks || !cut_costs(c, fn, cost)) return;
    LLVMGetBasicBlocks(fn, blocks);
    for (; k < n && !c->e->failed; k++) {
        c->cut_cost = cost[k];
        one_block(c, blocks[k]);
    }
}

void kn_emit_cut(kn_emit *e)
{
    cut c = {.e = e};
    for (kn_ll fn = LLVMGetFirstFunction(e->m); fn && !e->failed; fn = LLVMGetNextFunction(fn))
        if (LLVMCountBasicBlocks(fn)) function(&c, fn);
    e->out->slow = c.slow;
}
