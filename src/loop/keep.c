/* SPDX-License-Identifier: Apache-2.0 */
/* What need not stand in memory once loops over the same rows are one: a value per row stays in a register, what is the same along a row is
 * computed before it, scratch that is written and read within a row is as long as a row. Cost: linear in instructions for each array of scratch. */
#include "array/size.h"
#include "loop/merger.h"

/* ---- a value per row ---- */

static void forget(const merger *g, const kn_lblock *b, kn_lv *held)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = merger_inst(g, b->inst.v[i]);
        for (uint32_t s = 0; in->op == KN_L_STORE && s < g->l->slots.n; s++)
            if (merger_home(g, s) == merger_home(g, in->slot)) held[s] = 0;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) forget(g, &in->region->blocks[k], held);
    }
}

/* Does v load element iv of a slot, whose value is held? Then that stands for it in `whole`. */
static bool is_held(merger *g, kn_lblock *whole, kn_lv v, kn_lv iv, const kn_lv *held)
{
    const kn_linst *in = merger_inst(g, v);
    if (in->op != KN_L_LOAD || in->a != iv || !held[in->slot]) return false;
    g->alias.mention[in->slot]--;
    replace_value(g->l, whole, v, held[in->slot]);
    return true;
}

/* Loads of element iv of a slot within b become the value that was stored there; then they are gone. */
static void use_held(merger *g, kn_lblock *b, kn_lblock *whole, kn_lv iv, const kn_lv *held)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        kn_linst *in = merger_inst(g, v);
        if (is_held(g, whole, v, iv, held)) continue;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) use_held(g, &in->region->blocks[k], whole, iv, held);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

static void hold_values(merger *g, kn_lv loop)
{
    kn_lblock *b = &merger_inst(g, loop)->region->blocks[0];
    kn_lv iv = b->params.v[0], *held = KN_NEWN(&g->m->temp, kn_lv, g->l->slots.n);
    if (!MAKER_TRY_MEM(g->m, held)) {
        g->failed = true;
        return;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        kn_linst *in = merger_inst(g, v);
        if (is_held(g, b, v, iv, held)) continue;
        b->inst.v[n++] = v;
        if (in->op == KN_L_STORE) {
            for (uint32_t s = 0; s < g->l->slots.n; s++)
                if (merger_home(g, s) == merger_home(g, in->slot)) held[s] = 0;
            if (in->a == iv) held[in->slot] = in->b;
        }
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) forget(g, &in->region->blocks[k], held);
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) use_held(g, &in->region->blocks[k], b, iv, held);
    }
    b->inst.n = n;
}

/* ---- what is the same along a row ---- */

static void mark_inside(merger *g, kn_lv v)
{
    if (v < g->n_values) g->stamp[v] = g->now;
}

static bool is_inside(const merger *g, kn_lv v) { return v && (v >= g->n_values || g->stamp[v] == g->now); }

/* What `out` holds, in temporary memory, are the instructions of b from now on. */
static void take_over(merger *g, kn_lblock *b, const kn_lblock *out)
{
    for (uint32_t i = 0; i < out->inst.n && !g->failed; i++) {
        if (i < b->inst.n) b->inst.v[i] = out->inst.v[i];
        else if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &b->inst, out->inst.v[i]))) g->failed = true;
    }
    if (out->inst.n < b->inst.n) b->inst.n = out->inst.n;
}

/* Operations of a loop over a row whose operands come from outside go before it: appended to `out`. */
static void lift_from(merger *g, kn_lregion *r, kn_lblock *out)
{
    kn_lblock *b = &r->blocks[0];
    uint32_t n = 0;
    g->now++;
    for (uint32_t k = 0; k < b->params.n; k++) mark_inside(g, b->params.v[k]);
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = merger_inst(g, v);
        if (in->op == KN_L_SOP && !is_inside(g, in->a) && !is_inside(g, in->b) && !is_inside(g, in->c)) {
            if (!MAKER_TRY_MEM(g->m, kn_push(&g->m->temp, &out->inst, v))) g->failed = true;
            continue;
        }
        mark_inside(g, v);
        for (uint32_t k = 0; in->region && k < in->region->results.n; k++) mark_inside(g, in->region->results.v[k]);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

static void lift(merger *g, kn_lv loop)
{
    kn_lblock *b = &merger_inst(g, loop)->region->blocks[0], out = {0};
    for (uint32_t i = 0; i < b->inst.n && !g->failed; i++) {
        const kn_linst *in = merger_inst(g, b->inst.v[i]);
        if (in->op == KN_L_LOOP || in->op == KN_L_LANES) lift_from(g, in->region, &out);
        if (!MAKER_TRY_MEM(g->m, kn_push(&g->m->temp, &out.inst, b->inst.v[i]))) g->failed = true;
    }
    take_over(g, b, &out);
}

/* ---- scratch of a row ---- */

static bool only_in_row(const merger *g, uint32_t s, const summary *a)
{
    const access *x = &a->slots[s];
    bool alone = !g->alias.fixed[s] && g->l->slots.v[s].kind == KN_SLOT_SCRATCH && merger_home(g, s) == s;
    return alone && x->count && x->by_row && x->stride > 1 && x->stride < g->l->slots.v[s].elements && x->count == g->alias.mention[s];
}

enum { MOST_PIECES = 6 };

typedef struct shortening {
    merger *g;
    uint32_t slot;
    kn_lv iv;
    int64_t stride, period, reach;
    bool really;
} shortening;

typedef struct piece {
    kn_lv v;
    int64_t by;
} piece;

/* v as a sum of constants, pieces, and the row of the trip. */
static bool take_apart(const shortening *h, kn_lv v, int64_t *add, uint32_t *n, piece *p)
{
    const kn_linst *in = merger_inst(h->g, v);
    bool index = in->op == KN_L_SOP && in->from == KILN_I64;
    int64_t k, lo, hi;
    if (merger_constant(h->g, v, &k)) return !__builtin_add_overflow(*add, k, add);
    if (index && in->sop == KN_S_add) return take_apart(h, in->a, add, n, p) && take_apart(h, in->b, add, n, p);
    bool product = index && in->sop == KN_S_mul && merger_constant(h->g, in->b, &k);
    if (product && in->a == h->iv && k == h->stride) return true;
    if (*n == MOST_PIECES) return false;
    if (product && kn_size_at_most(h->reach, k)) { /* from place to place */
        if (!h->period || k % h->period) return false;
        p[(*n)++] = (piece){in->a, k / h->period * h->stride};
        return true;
    }
    kn_index_form f = form_of(h->g, v);
    if (f.coef || !kn_index_bounds(&f, &lo, &hi)) return false;
    for (uint32_t i = 0; i < f.n; i++)
        if (kn_size_at_most(h->reach, f.part[i].step)) return false;
    p[(*n)++] = (piece){v, 1};
    return true;
}

kn_lv put(merger *g, kn_lblock *out, kn_linst in)
{
    bool ok = MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &g->l->inst, in) && kn_push(&g->m->temp, &out->inst, g->l->inst.n - 1));
    g->failed = g->failed || !ok;
    return ok ? g->l->inst.n - 1 : 0;
}

kn_lv put_int(merger *g, kn_lblock *out, int64_t x)
{
    bool size = g->l->sized && kn_size_open(x);
    return put(g, out, (kn_linst){.op = KN_L_CONST, .dtype = KILN_I64, .imm.i = x, .index = size ? KN_CONST_SIZE : 0});
}

static kn_lv put_sop(merger *g, kn_lblock *out, kn_sop op, kn_lv a, kn_lv b)
{
    return put(g, out, (kn_linst){.op = KN_L_SOP, .sop = op, .dtype = KILN_I64, .from = KILN_I64, .a = a, .b = b});
}

/* The index, in scratch that holds the row of one trip: what it is made of goes to `out`. 0: it cannot be told. */
static kn_lv short_index(const shortening *h, kn_lv v, kn_lblock *out)
{
    piece p[MOST_PIECES];
    uint32_t n = 0;
    int64_t add = 0, start, jumps;
    kn_index_form f = form_of(h->g, v);
    if (!kn_index_in_row(&f, h->stride, h->reach, &start, &jumps) || !take_apart(h, v, &add, &n, p)) return 0;
    add += (h->period ? start / h->period * h->stride : 0) - start;
    if (!h->really) return v;
    kn_lv sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        kn_lv x = p[i].by == 1 ? p[i].v : put_sop(h->g, out, KN_S_mul, p[i].v, put_int(h->g, out, p[i].by));
        sum = sum ? put_sop(h->g, out, KN_S_add, sum, x) : x;
    }
    if (!sum) return put_int(h->g, out, add);
    return add ? put_sop(h->g, out, KN_S_add, sum, put_int(h->g, out, add)) : sum;
}

static bool shorten(const shortening *h, kn_lblock *b)
{
    merger *g = h->g;
    kn_lblock out = {0};
    for (uint32_t i = 0; i < b->inst.n && !g->failed; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst in = *merger_inst(g, v);
        if ((in.op == KN_L_LOAD || in.op == KN_L_STORE) && in.slot == h->slot) {
            kn_lv at = short_index(h, in.a, &out);
            if (!at) return false;
            merger_inst(g, v)->a = h->really ? at : in.a;
        }
        for (uint32_t k = 0; in.region && k < in.region->nblocks; k++)
            if (!shorten(h, &in.region->blocks[k])) return false;
        if (h->really && !MAKER_TRY_MEM(g->m, kn_push(&g->m->temp, &out.inst, v))) g->failed = true;
    }
    if (h->really) take_over(g, b, &out);
    return !g->failed;
}

/* Scratch of a row, where the loop is done with it trip by trip. */
static void shorten_scratch(merger *g, kn_lblock *b, const summary *a)
{
    bool looked = false;
    for (uint32_t s = 0; s < g->l->slots.n && !g->failed; s++) {
        const access *x = &a->slots[s];
        kn_slot *slot = &g->l->slots.v[s];
        shortening h = {.g = g, .slot = s, .iv = b->params.v[0], .stride = x->stride, .period = x->period};
        if (!only_in_row(g, s, a) || !reach_of(a, x->stride, &h.reach) || (g->l->sized && x->period)) continue;
        int64_t places = x->period ? x->most / x->period + 1 : 1;
        if (places >= slot->elements / x->stride) continue;
        if (!looked) {
            find_forms(g, b, a);
            looked = true;
        }
        if (!shorten(&h, b)) continue;
        h.really = true;
        shorten(&h, b);
        slot->elements = places * x->stride;
    }
}

void keep_in_rows(merger *g, kn_lv loop, const summary *a)
{
    kn_lblock *b = &merger_inst(g, loop)->region->blocks[0];
    shorten_scratch(g, b, a);
    hold_values(g, loop);
    lift(g, loop);
}

/* ---- scratch that nobody reads any more ---- */

static void drop_stores(merger *g, kn_lblock *b, const bool *dead)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = merger_inst(g, v);
        if (in->op == KN_L_STORE && dead[in->slot]) continue;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) drop_stores(g, &in->region->blocks[k], dead);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

static void find_read(const merger *g, const kn_lblock *b, bool *dead)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = merger_inst(g, b->inst.v[i]);
        if (in->op == KN_L_LOAD) dead[in->slot] = false;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) find_read(g, &in->region->blocks[k], dead);
    }
}

void drop_scratch(merger *g)
{
    bool *dead = KN_NEWN(&g->m->temp, bool, g->l->slots.n);
    if (!MAKER_TRY_MEM(g->m, dead)) return;
    for (uint32_t s = 0; s < g->l->slots.n; s++) dead[s] = g->l->slots.v[s].kind == KN_SLOT_SCRATCH && !g->alias.fixed[s];
    find_read(g, &g->l->top, dead);
    drop_stores(g, &g->l->top, dead);
}
