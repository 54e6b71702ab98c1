/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by one divisor, and square roots, stand side by side, where code makes each vector of them at once.
 *
 * A few bodies in registers are straight code: nothing runs in lanes, and the unit that divides is busy for twelve quotients of a step one after
 * the other. It makes two in the time of one. Of the quotients of a block, those by the same divisor that a vector of 16 bytes holds are moved
 * up to the first of them, with numerators that one operation makes; roots likewise, of any operands.
 *
 *     %c = div f64 %a, %s  %d = add %c, 1  %e = mul %b, %b  %f = div f64 %e, %s
 *   ==>
 *     %e = mul %b, %b  %c = div f64 %a, %s  %f = div f64 %e, %s  %d = add %c, 1
 *
 * Needs:  finished loops.   Leaves: the same values, in another order.   Cost: linear: a quotient looks at a bounded number of operations. */
#include "loop/maker.h"
#include "loop/abreast.h"

enum { FARTHEST = 96 }; /* statements that are looked at behind the first one */

typedef struct walk {
    const kn_loops *l;
    kn_lblock *b;
    uint32_t *at; /* per value: its place in the block + 1; 0: it is made outside, before */
} walk;

static const kn_linst *inst(const walk *w, uint32_t k) { return &w->l->inst.v[w->b->inst.v[k]]; }

/* What statement k of the block makes has its place there; 0: no place any more. */
static void mark_made(walk *w, uint32_t k, uint32_t at)
{
    const kn_lregion *r = inst(w, k)->region;
    w->at[w->b->inst.v[k]] = at;
    for (uint32_t i = 0; r && i < r->results.n; i++) w->at[r->results.v[i]] = at;
}

static bool constant(const walk *w, kn_lv v) { return w->l->inst.v[v].op == KN_L_CONST; }

/* Can it be made before the statement at `first`? */
static bool fits_before(const walk *w, const kn_linst *in, uint32_t first)
{
    const kn_lv operands[] = {in->a, in->b, in->c};
    for (int i = 0; i < 3; i++)
        if (w->at[operands[i]] > first && !constant(w, operands[i])) return false;
    return in->op == KN_L_SOP;
}

/* The statement at `from` moves up to `to`. */
static void lift(walk *w, uint32_t from, uint32_t to)
{
    kn_lv v = w->b->inst.v[from];
    memmove(&w->b->inst.v[to + 1], &w->b->inst.v[to], (from - to) * sizeof v);
    w->b->inst.v[to] = v;
    for (uint32_t k = to; k <= from; k++) mark_made(w, k, k + 1);
}

/* Value v, with constants it needs, moves before the statement at `first`. Returns where that is then. */
static uint32_t lift_value(walk *w, kn_lv v, uint32_t first)
{
    const kn_lv values[] = {w->l->inst.v[v].a, w->l->inst.v[v].b, w->l->inst.v[v].c, v};
    for (int i = 0; i < 4; i++)
        if (w->at[values[i]] > first) lift(w, w->at[values[i]] - 1, first++);
    return first;
}

/* Gathers what may stand beside the statement at `first`; returns where they end. */
static uint32_t gather(walk *w, uint32_t first)
{
    uint32_t n = 1, most = kn_abreast_most(inst(w, first)), end = first + FARTHEST < w->b->inst.n ? first + FARTHEST : w->b->inst.n;
    for (uint32_t k = first + 1; n < most && k < end; k++) {
        const kn_linst *in = inst(w, k);
        if (!kn_abreast(inst(w, first), in)) continue;
        uint32_t made = w->at[in->a];
        if (made > first && (made <= first + n || !fits_before(w, inst(w, made - 1), first))) continue;
        if (made > first) first = lift_value(w, in->a, first);
        lift(w, k, first + n++);
    }
    return first + n;
}

static void order_block(walk *w, kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_lregion *r = w->l->inst.v[b->inst.v[i]].region;
        bool lanes = r && (r->width > 1 || w->l->inst.v[b->inst.v[i]].op == KN_L_LANES);
        for (uint32_t k = 0; r && !lanes && k < r->nblocks; k++) order_block(w, &r->blocks[k]);
    }
    w->b = b;
    for (uint32_t i = 0; i < b->inst.n; i++) mark_made(w, i, i + 1);
    for (uint32_t i = 0; i < b->inst.n;) i = kn_abreast_most(inst(w, i)) > 1 ? gather(w, i) : i + 1;
    for (uint32_t i = 0; i < b->inst.n; i++) mark_made(w, i, 0);
}

void order_abreast(maker *m)
{
    walk w = {.l = m->l, .at = KN_NEWN(&m->temp, uint32_t, m->l->inst.n)};
    if (MAKER_TRY_MEM(m, w.at)) order_block(&w, &m->l->top);
}
