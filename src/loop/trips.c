/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop accesses, and in which of its trips: whether an element belongs to one of them alone. Cost: linear in instructions. */
#include "array/size.h"
#include "loop/merger.h"
#include "loop/turned.h"

enum { LEAST_ROW = 64 }; /* trips inside a row that make up for a vector loop over rows run one by one */

static void set_form(merger *g, kn_lv v, kn_index_form f)
{
    if (v >= g->n_values) return;
    g->memo[v] = f;
    g->stamp[v] = g->now;
}

kn_index_form form_of(const merger *g, kn_lv v)
{
    int64_t x;
    if (merger_constant(g, v, &x)) return kn_index_range(x, x);
    return v < g->n_values && g->stamp[v] == g->now ? g->memo[v] : (kn_index_form){0};
}

/* The elements that an index goes through while iv goes from lo to hi - 1. */
static void spanned(const kn_index_form *f, int64_t lo, int64_t hi, int64_t *least, int64_t *most)
{
    int64_t x, y;
    bool over = !kn_index_bounds(f, least, most) || f->coef < 0 || __builtin_mul_overflow(f->coef, lo, &x) || __builtin_mul_overflow(f->coef, hi - 1, &y) ||
                __builtin_add_overflow(x, *least, least) || __builtin_add_overflow(y, *most, most);
    if (over) *least = INT64_MIN, *most = INT64_MAX;
}

static void widen(access *at, int64_t least, int64_t most)
{
    if (!at->count || least < at->least) at->least = least;
    if (!at->count || most > at->most) at->most = most;
}

bool reach_of(const summary *s, int64_t stride, int64_t *reach) { return s->lo >= 0 && stride > 0 && !__builtin_mul_overflow(stride, s->hi, reach); }

/* Is it in row iv, and how far apart are the places in it? */
static bool in_row_of_trip(const summary *s, const kn_index_form *f, int64_t *period)
{
    int64_t reach, start;
    if (!f->ok || !reach_of(s, f->coef, &reach) || !kn_index_in_row(f, f->coef, reach, &start, period)) return false;
    *period = kn_gcd(start, *period);
    return !*period || kn_size_at_most(reach, *period);
}

static void note_access(merger *g, summary *s, const kn_linst *in)
{
    kn_index_form f = form_of(g, in->a);
    int64_t least, most, period = 0, reach = 0;
    bool store = in->op == KN_L_STORE;
    spanned(&f, s->lo, s->hi, &least, &most);
    if (s->listed) {
        if (!MAKER_TRY_MEM(g->m, kn_push(&g->m->temp, &s->touches, (touch){in->slot, store, f, least, most}))) g->failed = true;
        return;
    }
    access *at = &s->slots[in->slot];
    widen(at, least, most);
    bool by_row = in_row_of_trip(s, &f, &period) && (at->count == 0 || (at->by_row && at->stride == f.coef));
    at->stride = f.coef;
    at->period = kn_gcd(at->period, period);
    at->by_row = by_row && reach_of(s, f.coef, &reach) && (!at->period || kn_size_at_most(reach, at->period));
    at->trip = EVERY_TRIP;
    at->count++;
    if (store) at->written = true;
    else at->read = true;
}

static void look_inside(merger *g, summary *s, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = merger_inst(g, v);
        switch (in->op) {
        case KN_L_CONST: break;
        case KN_L_SOP:
            s->calls = s->calls || kn_sops[in->sop].function[0];
            if (s->iv && s->lo == 0 && kn_is_turned(g->l, v, s->iv, s->hi)) set_form(g, v, kn_index_range(0, s->hi - 1));
            else if (in->from == KILN_I64 && in->dtype == KILN_I64 && in->b) {
                kn_index_form x = form_of(g, in->a), y = form_of(g, in->b);
                set_form(g, v, kn_index_combined(in->sop, &x, &y));
            }
            break;
        case KN_L_LOAD:
        case KN_L_STORE: note_access(g, s, in); break;
        case KN_L_LOOP:
        case KN_L_LANES: {
            kn_index_form first = form_of(g, in->region->lo), end = form_of(g, in->region->hi);
            int64_t lo, hi, any;
            bool known = !first.coef && !end.coef && kn_index_bounds(&first, &lo, &any) && kn_index_bounds(&end, &any, &hi);
            if (known) set_form(g, in->region->blocks[0].params.v[0], kn_index_range(lo, hi > lo ? hi - 1 : lo));
            s->heavy = s->heavy || (known && hi - lo >= LEAST_ROW);
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

summary summary_of(merger *g, kn_lv loop)
{
    summary s = {.slots = KN_NEWN(&g->m->temp, access, g->l->slots.n), .mergeable = true};
    const kn_linst *in = merger_inst(g, loop);
    if (!MAKER_TRY_MEM(g->m, s.slots)) {
        g->failed = true;
        return (summary){0};
    }
    int64_t lo, hi;
    if (in->op != KN_L_LOOP || in->region->init.n || !merger_constant(g, in->region->lo, &lo) || !merger_constant(g, in->region->hi, &hi) || hi - lo < 2)
        return (summary){0};
    g->now++;
    s.iv = in->region->blocks[0].params.v[0], s.lo = lo, s.hi = hi;
    set_form(g, s.iv, (kn_index_form){.ok = true, .coef = 1});
    look_inside(g, &s, &in->region->blocks[0]);
    return s;
}

/* Do both access rows, the same ones in each trip? */
static bool same_rows(const summary *a, const access *x, const access *y)
{
    int64_t period = kn_gcd(x->period, y->period), reach;
    return x->by_row && y->by_row && x->stride == y->stride && reach_of(a, x->stride, &reach) && (!period || kn_size_at_most(reach, period));
}

bool trips_meet(const merger *g, const summary *a, uint32_t s, const access *x, uint32_t t, const access *y)
{
    if (!x->count || !y->count || (!x->written && !y->written) || (s != t && kn_alias_apart(&g->alias, g->l, s, t))) return false;
    if (x->most < y->least || y->most < x->least) return false;
    return !same_rows(a, x, y);
}

void add_accesses(const merger *g, summary *a, const summary *b)
{
    for (uint32_t s = 0; s < g->l->slots.n; s++) {
        access *x = &a->slots[s];
        const access *y = &b->slots[s];
        if (!y->count) continue;
        x->by_row = x->count ? same_rows(a, x, y) : y->by_row;
        x->stride = y->stride;
        x->period = kn_gcd(x->period, y->period);
        x->trip = EVERY_TRIP;
        x->least = x->count && x->least < y->least ? x->least : y->least;
        x->most = x->count && x->most > y->most ? x->most : y->most;
        x->read = x->read || y->read;
        x->written = x->written || y->written;
        x->count += y->count;
    }
    a->heavy = a->heavy || b->heavy;
}

void find_forms(merger *g, const kn_lblock *b, const summary *a)
{
    summary forms = {.listed = true, .iv = b->params.v[0], .lo = a->lo, .hi = a->hi};
    g->now++;
    set_form(g, forms.iv, (kn_index_form){.ok = true, .coef = 1});
    look_inside(g, &forms, b);
}

summary touches_of(merger *g, kn_lv v)
{
    kn_lblock only = {.inst = {&v, 1, 1}};
    summary s = {.listed = true, .mergeable = true};
    g->now++;
    look_inside(g, &s, &only);
    return s;
}

/* The trip of loop a whose row the index lies in, or NO_TRIP. */
static int64_t row_of(const summary *a, const access *x, const kn_index_form *f, int64_t *period)
{
    int64_t reach, start;
    if (!x->by_row) return x->trip >= 0 ? x->trip : NO_TRIP;
    if (!f->ok || f->coef || !reach_of(a, x->stride, &reach) || !kn_index_in_row(f, x->stride, reach, &start, period)) return NO_TRIP;
    *period = kn_gcd(x->period, *period);
    if (*period && !kn_size_at_most(reach, *period)) return NO_TRIP;
    int64_t row = (*period ? start % *period : start) / x->stride;
    return row >= a->lo && kn_size_less(row, a->hi) ? row : NO_TRIP;
}

int64_t trip_of(const merger *g, const summary *a, const summary *x)
{
    int64_t trip = ANY_TRIP, period;
    for (uint32_t i = 0; i < x->touches.n && trip != NO_TRIP; i++) {
        const touch *t = &x->touches.v[i];
        bool alone = g->members[merger_home(g, t->slot)] == 1;
        for (uint32_t s = alone ? t->slot : 0; s < (alone ? t->slot + 1 : g->l->slots.n) && trip != NO_TRIP; s++) {
            const access *y = &a->slots[s];
            if (!y->count || (!y->written && !t->store) || (s != t->slot && kn_alias_apart(&g->alias, g->l, s, t->slot))) continue;
            if (t->most < y->least || y->most < t->least) continue;
            int64_t row = s == t->slot ? row_of(a, y, &t->index, &period) : NO_TRIP;
            trip = trip == ANY_TRIP || trip == row ? row : NO_TRIP;
        }
    }
    return trip;
}

void add_touches(summary *a, const summary *x, int64_t trip)
{
    for (uint32_t i = 0; i < x->touches.n; i++) {
        const touch *t = &x->touches.v[i];
        access *y = &a->slots[t->slot];
        int64_t period = 0;
        if (!y->count) y->trip = trip;
        else if (y->by_row && row_of(a, y, &t->index, &period) == trip) y->period = period;
        else {
            y->trip = !y->by_row && y->trip == trip ? trip : EVERY_TRIP;
            y->by_row = false;
        }
        widen(y, t->least, t->most);
        if (t->store) y->written = true;
        else y->read = true;
        y->count++;
    }
}
