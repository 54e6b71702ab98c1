/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: what runs for a few per cent of a call is made at level 0, whatever its length, as code that is made well takes three times as
 * long to make. Statements of the program are cold from the cheapest one on, as long as all that is cold costs little of the whole, and none
 * of their instructions runs often in a call: costs are rough, and what they miss then weighs little against a compile. The
 * entry is of the heat of what has to stand in it; runs of statements of the other heat are functions. Where all that is hot are loops that may be
 * split over threads, which are functions anyway, nothing but these is made at level 2. The values do not change. */
#include "llvm/emit.h"
#include "loop/statements.h"

#include <stdlib.h>

/* Of the cost of a call for what is cold; statements: of a cold stretch that is worth a function, of all that make two levels worth it; how
 * often a cold one runs in a call. */
static const double cold_share = 1.0 / 32;
enum { WORTH_ONE = 24, WORTH_TWO = 48, MOST_RUNS = 1000 };

typedef struct warm {
    double cost;
    uint32_t at, weight;
} warm;

static int by_cost(const void *a, const void *b)
{
    const warm *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

/* A cold stretch between hot ones that is too short for a function is hot, too. Returns what stays cold. */
static uint32_t smooth(kn_emit *e, const kn_lblock *b, bool entry_hot)
{
    uint32_t cold = 0, stretch = 0, from = 0, n = b->inst.n;
    for (uint32_t i = 0; i <= n; i++) {
        if (i < n && !e->hot[i]) {
            stretch += kn_loops_statements_in(e->l, b->inst.v[i]);
            continue;
        }
        bool between = (from > 0 && i < n) || entry_hot;
        if (between && stretch < WORTH_ONE)
            for (uint32_t k = from; k < i; k++) e->hot[k] = true;
        else cold += stretch;
        stretch = 0, from = i + 1;
    }
    return cold;
}

/* A loop that may be split, or a plain one around such loops. */
static bool is_ranges(const kn_loops *l, kn_lv v)
{
    const kn_linst *in = &l->inst.v[v];
    const kn_lblock *b = in->op == KN_L_LOOP ? &in->region->blocks[0] : NULL;
    uint32_t ranges = 0;
    if (kn_is_split(in)) return true;
    if (!b || in->region->width > 1) return false;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        bool simple = l->inst.v[b->inst.v[i]].op == KN_L_CONST || l->inst.v[b->inst.v[i]].op == KN_L_SOP;
        if (!simple && !is_ranges(l, b->inst.v[i])) return false;
        ranges += !simple;
    }
    return ranges > 0;
}

/* Is every hot statement of that kind? */
static bool only_ranges(const kn_emit *e, const kn_lblock *b)
{
    uint32_t ranges = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        if (e->hot[i] && !is_ranges(e->l, b->inst.v[i])) return false;
        ranges += e->hot[i];
    }
    return ranges > 0;
}

void kn_emit_heat(kn_emit *e)
{
    const kn_lblock *b = &e->l->top;
    uint32_t n = b->inst.n, whole = 0;
    warm *all = kn_emit_new(e, n, sizeof *all);
    double cost = 0, sum = 0;
    e->hot = kn_emit_new(e, n, sizeof *e->hot);
    if (!all || !e->hot) return;
    for (uint32_t i = 0; i < n; i++) {
        kn_lv v = b->inst.v[i];
        all[i] = (warm){e->o->cost(e->l, v, true), i, kn_loops_statements_in(e->l, v)};
        cost += e->o->cost(e->l, v, false), whole += all[i].weight;
    }
    qsort(all, n, sizeof *all, by_cost);
    e->entry_hot = false;
    for (uint32_t i = 0; i < n; i++) {
        sum += all[i].cost;
        bool hot = all[i].weight && (sum > cost * cold_share || all[i].cost > MOST_RUNS * all[i].weight);
        e->hot[all[i].at] = hot;
        e->entry_hot = e->entry_hot || (hot && kn_emit_stays(e->l, b->inst.v[all[i].at]));
    }
    if ((e->hot_ranges = only_ranges(e, b))) {
        e->two_levels = true;
        return;
    }
    uint32_t cold = smooth(e, b, e->entry_hot);
    for (uint32_t i = n; i-- > 0;) /* constants go with what follows */
        if (kn_loops_statements_in(e->l, b->inst.v[i]) == 0) e->hot[i] = i + 1 < n ? e->hot[i + 1] : e->entry_hot;
    e->two_levels = cold >= WORTH_TWO && whole > cold;
}
