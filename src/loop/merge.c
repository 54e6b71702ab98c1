/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring loops over the same rows become one loop: what one makes of a row the next one reads while the row is in the first
 * cache; a value per row stays in a register; scratch that is written and read within a row is as long as a row.
 *
 * Two loops of equal constant bounds may be merged when every array that one of them writes and the other touches is accessed, in
 * both, within the row alone: at indices iv * S + r, 0 <= r < S, S the same for all accesses; or where both access other parts of it.
 * Instructions between the loops that depend on neither move before the first. Cost: linear in instructions for each level of loops. */
#include "loop/alias.h"
#include "loop/maker.h"
#include "loop/turned.h"

/* LEAST_ROW: trips inside a row that make up for a vector loop over rows run one by one. Programs with more slots are left alone, since
 * the work is slots times loops. */
enum { LEAST_ROW = 64, MOST_SLOTS = 400 };

/* An index: coef * iv + something in lo..hi. */
typedef struct affine {
    bool ok;
    int64_t coef, lo, hi;
} affine;

/* How a loop accesses one slot. */
typedef struct access {
    bool read, written, by_row; /* by_row: all so far at iv * stride + r, 0 <= r < stride */
    int64_t stride;
    int64_t least, most; /* index of an element, in all trips */
    uint32_t count;
} access;

typedef struct merger {
    maker *m;
    kn_loops *l;
    kn_aliases alias;
    uint32_t *members; /* per class */
    affine *memo;      /* per instruction, for the loop `stamp` */
    uint32_t *stamp, now;
    uint32_t n_values;
    bool failed;
} merger;

typedef struct summary {
    access *slots;
    bool mergeable, heavy, calls; /* heavy: holds a loop of a row */
    kn_lv iv;
    int64_t lo, hi;
} summary;

static kn_linst *inst(const merger *g, kn_lv v) { return &g->l->inst.v[v]; }

static bool constant(const merger *g, kn_lv v, int64_t *x)
{
    const kn_linst *in = inst(g, v);
    if (in->op != KN_L_CONST || in->dtype != KILN_I64) return false;
    *x = in->imm.i;
    return true;
}

/* ---- slots ---- */

static uint32_t home_of(const merger *g, uint32_t s) { return kn_alias_home(&g->alias, s); }

/* ---- what a loop does ---- */

static void set_affine(merger *g, kn_lv v, affine a)
{
    if (v >= g->n_values) return;
    g->memo[v] = a;
    g->stamp[v] = g->now;
}

static affine affine_of(const merger *g, kn_lv v)
{
    int64_t x;
    if (constant(g, v, &x)) return (affine){true, 0, x, x};
    return v < g->n_values && g->stamp[v] == g->now ? g->memo[v] : (affine){0};
}

static affine combined(kn_sop op, affine a, affine b)
{
    affine r = {.ok = a.ok && b.ok};
    bool over = false;
    if (!r.ok) return r;
    switch (op) {
    case KN_S_add:
        over = __builtin_add_overflow(a.coef, b.coef, &r.coef) || __builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi);
        break;
    case KN_S_sub:
        over = __builtin_sub_overflow(a.coef, b.coef, &r.coef) || __builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi);
        break;
    case KN_S_mul:
        if (b.coef || b.lo != b.hi || b.lo < 0) return (affine){0};
        over = __builtin_mul_overflow(a.coef, b.lo, &r.coef) || __builtin_mul_overflow(a.lo, b.lo, &r.lo) || __builtin_mul_overflow(a.hi, b.lo, &r.hi);
        break;
    case KN_S_min:
    case KN_S_max:
        if (a.coef || b.coef) return (affine){0};
        r.lo = (op == KN_S_min) == (a.lo < b.lo) ? a.lo : b.lo;
        r.hi = (op == KN_S_min) == (a.hi < b.hi) ? a.hi : b.hi;
        break;
    default: return (affine){0};
    }
    if (over) r.ok = false;
    return r;
}

/* Widens what is accessed by what `a` goes through. */
static void widen(access *at, affine a, const summary *s)
{
    int64_t least, most, x, y;
    bool over = !a.ok || a.coef < 0 || __builtin_mul_overflow(a.coef, s->lo, &x) || __builtin_mul_overflow(a.coef, s->hi - 1, &y) ||
                __builtin_add_overflow(x, a.lo, &least) || __builtin_add_overflow(y, a.hi, &most);
    if (over) least = INT64_MIN, most = INT64_MAX;
    if (!at->count || least < at->least) at->least = least;
    if (!at->count || most > at->most) at->most = most;
}

static void note_access(merger *g, summary *s, const kn_linst *in)
{
    affine a = affine_of(g, in->a);
    access *at = &s->slots[in->slot];
    widen(at, a, s);
    bool by_row = a.ok && a.coef > 0 && a.lo >= 0 && a.hi < a.coef;
    at->by_row = by_row && (at->count == 0 || (at->by_row && at->stride == a.coef));
    at->stride = a.coef;
    at->count++;
    if (in->op == KN_L_STORE) at->written = true;
    else at->read = true;
}

static void look_inside(merger *g, summary *s, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = inst(g, v);
        switch (in->op) {
        case KN_L_CONST: break;
        case KN_L_SOP:
            s->calls = s->calls || kn_sops[in->sop].function[0];
            if (s->lo == 0 && kn_is_turned(g->l, v, s->iv, s->hi)) set_affine(g, v, (affine){true, 0, 0, s->hi - 1});
            else if (in->from == KILN_I64 && in->dtype == KILN_I64 && in->b) set_affine(g, v, combined(in->sop, affine_of(g, in->a), affine_of(g, in->b)));
            break;
        case KN_L_LOAD:
        case KN_L_STORE: note_access(g, s, in); break;
        case KN_L_LOOP:
        case KN_L_LANES: {
            affine lo = affine_of(g, in->region->lo), hi = affine_of(g, in->region->hi);
            bool known = lo.ok && hi.ok && !lo.coef && !hi.coef;
            if (known) set_affine(g, in->region->blocks[0].params.v[0], (affine){true, 0, lo.lo, hi.hi > lo.lo ? hi.hi - 1 : lo.lo});
            s->heavy = s->heavy || (known && hi.hi - lo.lo >= LEAST_ROW);
            look_inside(g, s, &in->region->blocks[0]);
            break;
        }
        case KN_L_IF:
            for (uint32_t k = 0; k < in->region->nblocks; k++) look_inside(g, s, &in->region->blocks[k]);
            break;
        default: s->mergeable = false; break;
        }
    }
}

static summary summary_of(merger *g, kn_lv loop)
{
    summary s = {.slots = KN_NEWN(&g->m->temp, access, g->l->slots.n), .mergeable = true};
    const kn_linst *in = inst(g, loop);
    if (!MAKER_TRY_MEM(g->m, s.slots)) {
        g->failed = true;
        return (summary){0};
    }
    int64_t lo, hi;
    if (in->op != KN_L_LOOP || in->region->init.n || !constant(g, in->region->lo, &lo) || !constant(g, in->region->hi, &hi) || hi - lo < 2)
        return (summary){0};
    g->now++;
    s.iv = in->region->blocks[0].params.v[0], s.lo = lo, s.hi = hi;
    set_affine(g, s.iv, (affine){true, 1, 0, 0});
    look_inside(g, &s, &in->region->blocks[0]);
    return s;
}

/* May one loop access slot s as x says, in trips that come before or after the other one's, which accesses t as y says? */
static bool meet(const merger *g, uint32_t s, const access *x, uint32_t t, const access *y)
{
    if (!x->count || !y->count || (!x->written && !y->written) || (s != t && kn_alias_apart(&g->alias, g->l, s, t))) return false;
    if (x->most < y->least || y->most < x->least) return false;
    return !x->by_row || !y->by_row || x->stride != y->stride;
}

static bool may_merge(const merger *g, kn_lv first, kn_lv second, const summary *a, const summary *b)
{
    const kn_lregion *r = inst(g, first)->region, *q = inst(g, second)->region;
    if (!a->mergeable || !b->mergeable || r->lo != q->lo || r->hi != q->hi) return false;
    if (r->width > 1 || (q->width > 1 && (!a->heavy || b->calls)) || (q->width <= 1 && !b->heavy && !a->heavy)) return false;
    bool share = false;
    for (uint32_t s = 0; s < g->l->slots.n; s++) {
        const access *x = &a->slots[s], *y = &b->slots[s];
        share = share || (x->count && y->count);
        if (meet(g, s, x, s, y)) return false;
        if (!x->count || g->members[home_of(g, s)] == 1) continue;
        for (uint32_t t = 0; t < g->l->slots.n; t++)
            if (t != s && meet(g, s, x, t, &b->slots[t])) return false;
    }
    return share;
}

/* ---- merging ---- */

static void merge(merger *g, kn_lv first, kn_lv second, summary *a, const summary *b)
{
    kn_lblock *to = &inst(g, first)->region->blocks[0], *from = &inst(g, second)->region->blocks[0];
    replace_value(g->l, from, from->params.v[0], to->params.v[0]);
    for (uint32_t i = 0; i < from->inst.n; i++)
        if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &to->inst, from->inst.v[i]))) g->failed = true;
    for (uint32_t s = 0; s < g->l->slots.n; s++) {
        access *x = &a->slots[s];
        const access *y = &b->slots[s];
        if (!y->count) continue;
        x->by_row = x->count ? x->by_row && y->by_row && x->stride == y->stride : y->by_row;
        x->stride = y->stride;
        x->least = x->count && x->least < y->least ? x->least : y->least;
        x->most = x->count && x->most > y->most ? x->most : y->most;
        x->read = x->read || y->read;
        x->written = x->written || y->written;
        x->count += y->count;
    }
    a->heavy = a->heavy || b->heavy;
}

/* ---- a value per row ---- */

static void forget(const merger *g, const kn_lblock *b, kn_lv *held)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(g, b->inst.v[i]);
        for (uint32_t s = 0; in->op == KN_L_STORE && s < g->l->slots.n; s++)
            if (home_of(g, s) == home_of(g, in->slot)) held[s] = 0;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) forget(g, &in->region->blocks[k], held);
    }
}

/* Loads of element iv of a slot within b become the value that was stored there; then they are gone. */
static void use_held(merger *g, kn_lblock *b, kn_lblock *whole, kn_lv iv, const kn_lv *held)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        kn_linst *in = inst(g, v);
        if (in->op == KN_L_LOAD && in->a == iv && held[in->slot]) {
            g->alias.mention[in->slot]--;
            replace_value(g->l, whole, v, held[in->slot]);
            continue;
        }
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) use_held(g, &in->region->blocks[k], whole, iv, held);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

static void hold_values(merger *g, kn_lv loop)
{
    kn_lblock *b = &inst(g, loop)->region->blocks[0];
    kn_lv iv = b->params.v[0], *held = KN_NEWN(&g->m->temp, kn_lv, g->l->slots.n);
    if (!MAKER_TRY_MEM(g->m, held)) {
        g->failed = true;
        return;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        kn_linst *in = inst(g, v);
        if (in->op == KN_L_LOAD && in->a == iv && held[in->slot]) {
            g->alias.mention[in->slot]--;
            replace_value(g->l, b, v, held[in->slot]);
            continue;
        }
        b->inst.v[n++] = v;
        if (in->op == KN_L_STORE) {
            for (uint32_t s = 0; s < g->l->slots.n; s++)
                if (home_of(g, s) == home_of(g, in->slot)) held[s] = 0;
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

/* Operations of a loop over a row whose operands come from outside go before it: appended to `out`. */
static void lift_from(merger *g, kn_lregion *r, kn_lblock *out)
{
    kn_lblock *b = &r->blocks[0];
    uint32_t n = 0;
    g->now++;
    for (uint32_t k = 0; k < b->params.n; k++) mark_inside(g, b->params.v[k]);
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = inst(g, v);
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
    kn_lblock *b = &inst(g, loop)->region->blocks[0], out = {0};
    for (uint32_t i = 0; i < b->inst.n && !g->failed; i++) {
        const kn_linst *in = inst(g, b->inst.v[i]);
        if (in->op == KN_L_LOOP || in->op == KN_L_LANES) lift_from(g, in->region, &out);
        if (!MAKER_TRY_MEM(g->m, kn_push(&g->m->temp, &out.inst, b->inst.v[i]))) g->failed = true;
    }
    for (uint32_t i = 0; i < out.inst.n && !g->failed; i++) {
        if (i < b->inst.n) b->inst.v[i] = out.inst.v[i];
        else if (!MAKER_TRY_MEM(g->m, kn_push(g->m->arena, &b->inst, out.inst.v[i]))) g->failed = true;
    }
}

/* ---- scratch of a row ---- */

static bool only_in_row(const merger *g, uint32_t s, const summary *a)
{
    const access *x = &a->slots[s];
    bool alone = !g->alias.fixed[s] && g->l->slots.v[s].kind == KN_SLOT_SCRATCH && home_of(g, s) == s;
    return alone && x->count && x->by_row && x->stride > 1 && x->stride < g->l->slots.v[s].elements && x->count == g->alias.mention[s];
}

/* The place in the row of index v = iv * stride + place: another value, or 0. */
static kn_lv in_row(const merger *g, kn_lv v, kn_lv iv, int64_t stride)
{
    const kn_linst *in = inst(g, v);
    int64_t k;
    if (in->op != KN_L_SOP || in->sop != KN_S_add || in->from != KILN_I64) return 0;
    for (int side = 0; side < 2; side++) {
        const kn_linst *row = inst(g, side ? in->b : in->a);
        if (row->op == KN_L_SOP && row->sop == KN_S_mul && row->a == iv && constant(g, row->b, &k) && k == stride) return side ? in->a : in->b;
    }
    return 0;
}

static bool shorten(merger *g, kn_lblock *b, uint32_t s, kn_lv iv, int64_t stride, bool really)
{
    bool ok = true;
    for (uint32_t i = 0; i < b->inst.n && ok; i++) {
        kn_linst *in = inst(g, b->inst.v[i]);
        if ((in->op == KN_L_LOAD || in->op == KN_L_STORE) && in->slot == s) {
            kn_lv at = in_row(g, in->a, iv, stride);
            ok = at != 0;
            if (ok && really) in->a = at;
        }
        for (uint32_t k = 0; in->region && k < in->region->nblocks && ok; k++) ok = shorten(g, &in->region->blocks[k], s, iv, stride, really);
    }
    return ok;
}

static void finish(merger *g, kn_lv loop, const summary *a)
{
    kn_lblock *b = &inst(g, loop)->region->blocks[0];
    for (uint32_t s = 0; s < g->l->slots.n; s++) {
        if (!only_in_row(g, s, a)) continue;
        int64_t stride = a->slots[s].stride;
        if (!shorten(g, b, s, b->params.v[0], stride, false)) continue;
        shorten(g, b, s, b->params.v[0], stride, true);
        g->l->slots.v[s].elements = stride;
    }
    hold_values(g, loop);
    lift(g, loop);
}

/* ---- blocks ---- */

static bool moves_before(const merger *g, const kn_linst *in, const summary *a)
{
    if (in->op == KN_L_CONST || in->op == KN_L_SOP) return true;
    if (in->op != KN_L_LOAD || !a->mergeable || a->slots[in->slot].written) return false;
    for (uint32_t s = 0; g->members[home_of(g, in->slot)] > 1 && s < g->l->slots.n; s++)
        if (a->slots[s].written && !kn_alias_apart(&g->alias, g->l, s, in->slot)) return false;
    return true;
}

static void merge_block(merger *g, kn_lblock *b, uint32_t depth)
{
    uint32_t n = 0, at = 0;
    kn_lv loop = 0; /* the one that others may join, at b->inst.v[at] */
    summary a = {0};
    bool merged = false;
    for (uint32_t i = 0; i < b->inst.n && !g->failed; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = inst(g, v);
        if (loop && moves_before(g, in, &a)) {
            memmove(&b->inst.v[at + 1], &b->inst.v[at], (n - at) * sizeof *b->inst.v);
            b->inst.v[at++] = v;
            n++;
            continue;
        }
        summary s = in->op == KN_L_LOOP ? summary_of(g, v) : (summary){0};
        if (loop && s.mergeable && may_merge(g, loop, v, &a, &s)) {
            merge(g, loop, v, &a, &s);
            merged = true;
            if (depth == 0 && g->l->nests > 1) g->l->nests--;
            continue;
        }
        if (loop && merged) finish(g, loop, &a);
        loop = s.mergeable ? v : 0;
        at = n;
        a = s;
        merged = false;
        b->inst.v[n++] = v;
    }
    if (loop && merged) finish(g, loop, &a);
    b->inst.n = n;
    for (uint32_t i = 0; i < n && !g->failed; i++) {
        const kn_linst *in = inst(g, b->inst.v[i]);
        uint32_t inside = in->op == KN_L_LOOP ? depth + 1 : depth;
        if (in->op == KN_L_LANES || (in->op == KN_L_LOOP && in->region->width > 1)) continue;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) merge_block(g, &in->region->blocks[k], inside);
    }
}

/* ---- scratch that nobody reads any more ---- */

static void drop_stores(merger *g, kn_lblock *b, const bool *dead)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = inst(g, v);
        if (in->op == KN_L_STORE && dead[in->slot]) continue;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) drop_stores(g, &in->region->blocks[k], dead);
        b->inst.v[n++] = v;
    }
    b->inst.n = n;
}

static void find_read(const merger *g, const kn_lblock *b, bool *dead)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(g, b->inst.v[i]);
        if (in->op == KN_L_LOAD) dead[in->slot] = false;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) find_read(g, &in->region->blocks[k], dead);
    }
}

static void drop_scratch(merger *g)
{
    bool *dead = KN_NEWN(&g->m->temp, bool, g->l->slots.n);
    if (!MAKER_TRY_MEM(g->m, dead)) return;
    for (uint32_t s = 0; s < g->l->slots.n; s++) dead[s] = g->l->slots.v[s].kind == KN_SLOT_SCRATCH && !g->alias.fixed[s];
    find_read(g, &g->l->top, dead);
    drop_stores(g, &g->l->top, dead);
}

void merge_loops(maker *m)
{
    merger *g = KN_NEW(&m->temp, merger);
    if (m->status != KILN_OK || m->o.no_fusion || m->l->slots.n > MOST_SLOTS || !MAKER_TRY_MEM(m, g)) return;
    *g = (merger){.m = m, .l = m->l, .n_values = m->l->inst.n};
    if (!MAKER_TRY_MEM(m, kn_aliases_find(&m->temp, m->l, m->o.donated, &g->alias) && (g->members = KN_NEWN(&m->temp, uint32_t, m->l->slots.n + 1)))) return;
    for (uint32_t s = 0; s < m->l->slots.n; s++) g->members[home_of(g, s)]++;
    g->memo = KN_NEWN(&m->temp, affine, g->n_values);
    g->stamp = KN_NEWN(&m->temp, uint32_t, g->n_values);
    if (!MAKER_TRY_MEM(m, g->memo && g->stamp)) return;
    merge_block(g, &m->l->top, 0);
    if (m->status == KILN_OK) drop_scratch(g);
}
