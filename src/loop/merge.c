/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring loops over the same rows become one loop: what one makes of a row the next one reads while the row is in the first
 * cache; a value per row stays in a register; scratch that is written and read within a row is as long as a row.
 *
 * Two loops of equal constant bounds may be merged when every array that one of them writes and the other touches is accessed, in
 * both, within the row alone: at indices iv * S + r, 0 <= r < S, S the same for all accesses, plus multiples of a period that is no
 * shorter than all rows; or where both access other parts of it. Instructions between the loops that depend on neither move before the
 * first, and what touches one row of what the first one made moves to the end of that row's trip. Cost: linear in instructions for each
 * level of loops.
 */
#include "loop/merger.h"

enum { MOST_SLOTS = 400, MOST_WAITING = 16 }; /* programs with more slots are left alone, since the work is slots times loops */

static bool may_merge(const merger *g, kn_lv first, kn_lv second, const summary *a, const summary *b)
{
    const kn_lregion *r = merger_inst(g, first)->region, *q = merger_inst(g, second)->region;
    if (!a->mergeable || !b->mergeable || r->lo != q->lo || r->hi != q->hi) return false;
    if (r->width > 1 || (q->width > 1 && (!a->heavy || b->calls)) || (q->width <= 1 && !b->heavy && !a->heavy)) return false;
    bool share = false;
    for (uint32_t s = 0; s < g->l->slots.n; s++) {
        const access *x = &a->slots[s], *y = &b->slots[s];
        share = share || (x->count && y->count);
        if (trips_meet(g, a, s, x, s, y)) return false;
        if (!x->count || g->members[merger_home(g, s)] == 1) continue;
        for (uint32_t t = 0; t < g->l->slots.n; t++)
            if (t != s && trips_meet(g, a, s, x, t, &b->slots[t])) return false;
    }
    return share;
}

static void merge(merger *g, kn_lv first, kn_lv second, summary *a, const summary *b)
{
    kn_lblock *to = &merger_inst(g, first)->region->blocks[0], *from = &merger_inst(g, second)->region->blocks[0];
    replace_value(g->l, from, from->params.v[0], to->params.v[0]);
    for (uint32_t i = 0; i < from->inst.n; i++)
        if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &to->inst, from->inst.v[i]))) g->failed = true;
    add_accesses(g, a, b);
}

/* ---- what belongs to one trip ----
 * Between two loops over the same rows may stand what touches a single row of what they share: the row of an inflow that is given. It belongs
 * to that row's trip, and goes there under a branch. */

static bool copy_summary(merger *g, summary *s)
{
    s->slots = kn_arena_copy(&g->m->temp, s->slots, g->l->slots.n * sizeof *s->slots);
    g->failed = g->failed || !MAKER_TRY_MEM(g->m, s->slots);
    return !g->failed;
}

/* The n statements v go to the end of a loop, each under a branch that is taken in its trip. */
static void put_waiting(merger *g, kn_lregion *loop, const kn_lv *v, const int64_t *trip, uint32_t n)
{
    kn_lblock *b = &loop->blocks[0], out = {0};
    for (uint32_t i = 0; i < n && !g->failed;) {
        kn_linst here = {.op = KN_L_SOP, .sop = KN_S_eq, .dtype = KILN_BOOL, .from = KILN_I64, .a = b->params.v[0], .b = put_int(g, &out, trip[i])};
        kn_lregion *r = KN_NEW(g->m->arena, kn_lregion);
        if (!MAKER_TRY_MEM(g->m, r && (r->blocks = KN_NEWN(g->m->arena, kn_lblock, 2)))) {
            g->failed = true;
            return;
        }
        r->nblocks = 2;
        r->selector = put(g, &out, (kn_linst){.op = KN_L_SOP, .sop = KN_S_convert, .dtype = KILN_I32, .from = KILN_BOOL, .a = put(g, &out, here)});
        put(g, &out, (kn_linst){.op = KN_L_IF, .region = r, .scope = merger_inst(g, v[i])->scope, .loc = merger_inst(g, v[i])->loc});
        for (int64_t t = trip[i]; i < n && trip[i] == t && !g->failed; i++)
            if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &r->blocks[1].inst, v[i]))) g->failed = true;
    }
    for (uint32_t i = 0; i < out.inst.n && !g->failed; i++)
        if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &b->inst, out.inst.v[i]))) g->failed = true;
}

/* ---- blocks ---- */

static bool moves_before(const merger *g, const kn_linst *in, const summary *a)
{
    if (in->op == KN_L_CONST || in->op == KN_L_SOP) return true;
    if (in->op != KN_L_LOAD || !a->mergeable || a->slots[in->slot].written) return false;
    for (uint32_t s = 0; g->members[merger_home(g, in->slot)] > 1 && s < g->l->slots.n; s++)
        if (a->slots[s].written && !kn_alias_apart(&g->alias, g->l, s, in->slot)) return false;
    return true;
}

static void insert(kn_lblock *b, uint32_t *n, uint32_t at, kn_lv v)
{
    memmove(&b->inst.v[at + 1], &b->inst.v[at], (*n - at) * sizeof *b->inst.v);
    b->inst.v[at] = v;
    ++*n;
}

/* A chain of loops over the same rows that becomes one, and what waits behind it in the block to know whether another loop follows. */
typedef struct chain {
    kn_lv loop; /* the one that others may join, at place `at` of the block; 0: none */
    uint32_t at;
    summary a, all; /* of the loop; of what waits too */
    bool merged;
    uint32_t waiting;
    int64_t trip[MOST_WAITING]; /* that each of them belongs to */
} chain;

/* The loop after what waits joins it, and what waits with it. */
static void join(merger *g, kn_lblock *b, uint32_t *n, chain *c, kn_lv loop, const summary *s)
{
    if (c->waiting) put_waiting(g, merger_inst(g, c->loop)->region, &b->inst.v[c->at + 1], c->trip, c->waiting);
    *n -= c->waiting;
    c->waiting = 0;
    c->a = c->all;
    merge(g, c->loop, loop, &c->a, s);
    c->all = c->a;
    c->merged = true;
}

/* No other loop joins. What waits is looked at anew: it goes before place i of the block, from where the walk goes on. */
static void end_chain(merger *g, kn_lblock *b, uint32_t *n, uint32_t *i, chain *c)
{
    if (c->loop && c->merged) keep_in_rows(g, c->loop, &c->a);
    *i -= c->waiting;
    *n -= c->waiting;
    if (c->waiting) memmove(&b->inst.v[*i], &b->inst.v[*n], c->waiting * sizeof *b->inst.v);
    *c = (chain){0};
}

static bool waits(merger *g, kn_lblock *b, uint32_t *n, chain *c, kn_lv v, bool rows)
{
    const kn_linst *in = merger_inst(g, v);
    bool may = in->op == KN_L_LOOP || in->op == KN_L_IF || in->op == KN_L_STORE;
    if (!c->loop || !may || merger_inst(g, c->loop)->region->width > 1 || (in->region && in->region->results.n) || c->waiting == MOST_WAITING) return false;
    summary x = touches_of(g, v);
    int64_t trip = x.mergeable ? trip_of(g, &c->all, &x) : NO_TRIP;
    if (trip == NO_TRIP || (trip == ANY_TRIP && rows)) return false;
    if (trip == ANY_TRIP) {
        insert(b, n, c->at++, v);
        return true;
    }
    if (!c->waiting && !copy_summary(g, &c->all)) return false;
    add_touches(&c->all, &x, trip);
    c->trip[c->waiting++] = trip;
    b->inst.v[(*n)++] = v;
    return true;
}

static void merge_block(merger *g, kn_lblock *b, uint32_t depth)
{
    uint32_t n = 0;
    chain c = {0};
    for (uint32_t i = 0; (i < b->inst.n || c.waiting) && !g->failed; i++) {
        if (i == b->inst.n) end_chain(g, b, &n, &i, &c);
        kn_lv v = b->inst.v[i];
        const kn_linst *in = merger_inst(g, v);
        if (c.loop && moves_before(g, in, &c.all)) {
            insert(b, &n, c.at++, v);
            continue;
        }
        summary s = in->op == KN_L_LOOP ? summary_of(g, v) : (summary){0};
        bool lanes = in->op == KN_L_LOOP && in->region->width > 1; /* run one by one if it joined */
        if (lanes && waits(g, b, &n, &c, v, false)) continue;
        if (c.loop && s.mergeable && may_merge(g, c.loop, v, &c.all, &s)) {
            join(g, b, &n, &c, v, &s);
            if (depth == 0 && g->l->nests > 1) g->l->nests--;
            continue;
        }
        if (!lanes && waits(g, b, &n, &c, v, s.mergeable && s.heavy)) continue;
        bool again = c.waiting;
        end_chain(g, b, &n, &i, &c);
        if (again) {
            i--;
            continue;
        }
        c = (chain){.loop = s.mergeable ? v : 0, .at = n, .a = s, .all = s};
        b->inst.v[n++] = v;
    }
    end_chain(g, b, &n, &n, &c);
    b->inst.n = n;
    for (uint32_t i = 0; i < n && !g->failed; i++) {
        const kn_linst *in = merger_inst(g, b->inst.v[i]);
        uint32_t inside = in->op == KN_L_LOOP ? depth + 1 : depth;
        if (in->op == KN_L_LANES || (in->op == KN_L_LOOP && in->region->width > 1)) continue;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) merge_block(g, &in->region->blocks[k], inside);
    }
}

void merge_loops(maker *m)
{
    merger *g = KN_NEW(&m->temp, merger);
    if (m->status != KILN_OK || m->o.no_fusion || m->l->slots.n > MOST_SLOTS || !MAKER_TRY_MEM(m, g)) return;
    *g = (merger){.m = m, .l = m->l, .n_values = m->l->inst.n};
    if (!MAKER_TRY_MEM(m, kn_aliases_find(&m->temp, m->l, m->o.donated, &g->alias) && (g->members = KN_NEWN(&m->temp, uint32_t, m->l->slots.n + 1)))) return;
    for (uint32_t s = 0; s < m->l->slots.n; s++) g->members[merger_home(g, s)]++;
    g->memo = KN_NEWN(&m->temp, kn_index_form, g->n_values);
    g->stamp = KN_NEWN(&m->temp, uint32_t, g->n_values);
    if (!MAKER_TRY_MEM(m, g->memo && g->stamp)) return;
    merge_block(g, &m->l->top, 0);
    if (m->status == KILN_OK) drop_scratch(g);
}
