/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are no multiple of a vector, one after the other in memory, are walked through as one: full vectors instead of a masked end in
 * each row.
 *
 *     loop %i in 0 .. 999 { %r = mul %i, 10  loop %k in 0 .. 10 width 16 { %p = add %r, %k  s[%p] = 0.0 } }
 *   ==>
 *     loop %p in 0 .. 9990 width 16 { s[%p] = 0.0 }
 *
 * Needs:  constant bounds from 0; nothing between the loops but arithmetic; every index, and what else depends on the counters, is a multiple of
 *         i * n + k and something fixed. What is stored has one store, at such an index, and is loaded there alone.
 * Leaves: the same elements by the same operations.   Cost: linear in instructions for each level of loops. */
#include "loop/alias.h"
#include "loop/maker.h"

typedef struct flattener {
    maker *m;
    kn_loops *l;
    kn_aliases alias;
    int64_t (*coef)[2]; /* per value of the two loops: how often the outer and the inner counter are in it */
    uint32_t *stamp, now, n_values;
} flattener;

static kn_linst *inst(const flattener *w, kn_lv v) { return &w->l->inst.v[v]; }

static bool constant(const flattener *w, kn_lv v, int64_t *x)
{
    const kn_linst *in = inst(w, v);
    *x = in->imm.i;
    return v && in->op == KN_L_CONST && in->dtype == KILN_I64;
}

/* ---- how counters are in values ---- */

static void set(flattener *w, kn_lv v, int64_t outer, int64_t inner)
{
    w->coef[v][0] = outer, w->coef[v][1] = inner;
    w->stamp[v] = w->now;
}

static int64_t get(const flattener *w, kn_lv v, int which) { return v < w->n_values && w->stamp[v] == w->now ? w->coef[v][which] : 0; }

/* A function of i * n + k, or of neither. */
static bool joint(const flattener *w, kn_lv v, int64_t n)
{
    int64_t together;
    return !v || (!__builtin_mul_overflow(get(w, v, 1), n, &together) && get(w, v, 0) == together);
}

/* false: the value depends on the counters in some other way. */
static bool learn(flattener *w, kn_lv v, int64_t n)
{
    const kn_linst *in = inst(w, v);
    int64_t c[2], by;
    if (in->op == KN_L_CONST) return true; /* not among the values that are kept account of, where it was made here */
    bool address = in->op == KN_L_SOP && in->dtype == KILN_I64 && in->from == KILN_I64, fits = address;
    if (address && (in->sop == KN_S_add || in->sop == KN_S_sub)) {
        for (int i = 0; i < 2; i++)
            fits = fits && !(in->sop == KN_S_add ? __builtin_add_overflow(get(w, in->a, i), get(w, in->b, i), &c[i])
                                                 : __builtin_sub_overflow(get(w, in->a, i), get(w, in->b, i), &c[i]));
    } else if (address && in->sop == KN_S_mul && constant(w, in->b, &by)) {
        for (int i = 0; i < 2; i++) fits = fits && !__builtin_mul_overflow(get(w, in->a, i), by, &c[i]);
    } else {
        c[0] = c[1] = 0;
        fits = joint(w, in->a, n) && joint(w, in->b, n) && joint(w, in->c, n);
    }
    if (fits) set(w, v, c[0], c[1]);
    return fits;
}

/* ---- memory ---- */

/* Of the block's stores: no other one of the same memory, at an index of its own in each trip, and loads at no other index. */
static bool apart(const flattener *w, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *store = inst(w, b->inst.v[i]);
        if (store->op != KN_L_STORE) continue;
        if (get(w, store->a, 1) == 0) return false;
        for (uint32_t k = 0; k < b->inst.n; k++) {
            const kn_linst *in = inst(w, b->inst.v[k]);
            if (k == i || (in->op != KN_L_LOAD && in->op != KN_L_STORE)) continue;
            if (kn_alias_home(&w->alias, in->slot) != kn_alias_home(&w->alias, store->slot)) continue;
            if (in->op == KN_L_STORE || in->a != store->a || in->slot != store->slot || k > i) return false;
        }
    }
    return true;
}

/* Elements of a vector, by the widest that is loaded or stored. */
static uint32_t lanes_of(const flattener *w, const kn_lblock *b, int64_t trips)
{
    unsigned widest = 8, lanes;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(w, b->inst.v[i]);
        unsigned bits = in->op == KN_L_LOAD || in->op == KN_L_STORE ? (unsigned)kiln_dtype_bytes(w->l->slots.v[in->slot].dtype) * 8 : 0;
        if (bits > widest) widest = bits;
    }
    lanes = w->m->o.vector_bits / widest;
    while (lanes > 1 && (int64_t)lanes / 2 >= trips) lanes /= 2;
    return lanes;
}

/* ---- two loops ---- */

/* The loop inside, and the trips of both; 0: they are not as they must be. */
static kn_lv inner_loop(const flattener *w, const kn_lregion *outer, int64_t *trips)
{
    const kn_lblock *b = &outer->blocks[0];
    int64_t lo;
    kn_lv found = 0;
    if (outer->width > 1 || outer->init.n || !constant(w, outer->lo, &lo) || lo || !constant(w, outer->hi, &trips[0])) return 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(w, b->inst.v[i]);
        if (in->op == KN_L_LOOP && !found) found = b->inst.v[i];
        else if (in->op != KN_L_SOP && in->op != KN_L_CONST) return 0;
    }
    if (!found) return 0;
    const kn_lregion *r = inst(w, found)->region;
    if (r->width <= 1 || r->init.n || !constant(w, r->lo, &lo) || lo || !constant(w, r->hi, &trips[1])) return 0;
    bool ragged = trips[1] % r->width != 0 || r->width < lanes_of(w, &r->blocks[0], INT64_MAX);
    return ragged && trips[0] > 1 && trips[1] > 1 ? found : 0;
}

static bool learn_both(flattener *w, const kn_lregion *outer, kn_lv inner, int64_t n)
{
    const kn_lblock *b = &outer->blocks[0], *c = &inst(w, inner)->region->blocks[0];
    w->now++;
    set(w, b->params.v[0], 1, 0);
    set(w, c->params.v[0], 0, 1);
    for (uint32_t i = 0; i < b->inst.n; i++)
        if (b->inst.v[i] != inner && !learn(w, b->inst.v[i], n)) return false;
    for (uint32_t i = 0; i < c->inst.n; i++)
        if (inst(w, c->inst.v[i])->region || inst(w, c->inst.v[i])->op > KN_L_STORE || !learn(w, c->inst.v[i], n)) return false;
    return apart(w, c);
}

/* Sums with zero, and its products, go. */
static void without_zero(flattener *w, const kn_lblock *in, kn_lblock *top, kn_lv zero)
{
    for (uint32_t i = 0; i < in->inst.n; i++) {
        const kn_linst x = *inst(w, in->inst.v[i]);
        if (x.op != KN_L_SOP || x.dtype != KILN_I64 || (x.a != zero && x.b != zero)) continue;
        if (x.sop == KN_S_mul) replace_value(w->l, top, in->inst.v[i], zero);
        else if (x.sop == KN_S_add) replace_value(w->l, top, in->inst.v[i], x.a == zero ? x.b : x.a);
    }
}

/* The loop at place `at` of the block, and the one inside, become one that stands there. */
static bool flatten(flattener *w, kn_lblock *b, uint32_t at)
{
    kn_lregion *outer = inst(w, b->inst.v[at])->region;
    int64_t trips[2], all, factor, summand;
    kn_lv inner = inner_loop(w, outer, trips);
    if (!inner || __builtin_mul_overflow(trips[0], trips[1], &all) || !learn_both(w, outer, inner, trips[1])) return false;
    bool size = open_size(w->m, all);
    if (size && !kn_size_split(all, &factor, &summand)) return false;
    kn_lblock *rows = &outer->blocks[0];
    kn_lregion *r = inst(w, inner)->region;
    const kn_linst count = {.op = KN_L_CONST, .dtype = KILN_I64, .imm.i = all, .index = size ? KN_CONST_SIZE : 0};
    if (!MAKER_TRY_MEM(w->m, kn_push(w->m->arena, &w->l->inst, count) && kn_reserve(w->m->arena, &b->inst, rows->inst.n))) return false;
    kn_lv zero = outer->lo, i = rows->params.v[0];
    replace_value(w->l, rows, i, zero);
    without_zero(w, rows, rows, zero);
    without_zero(w, &r->blocks[0], &r->blocks[0], zero);
    r->hi = w->l->inst.n - 1;
    r->width = lanes_of(w, &r->blocks[0], all) > r->width ? lanes_of(w, &r->blocks[0], all) : r->width;
    uint32_t more = rows->inst.n; /* the rows' instructions and the constant stand in the place of the loop */
    memmove(&b->inst.v[at + 1 + more], &b->inst.v[at + 1], (b->inst.n - at - 1) * sizeof *b->inst.v);
    b->inst.v[at] = w->l->inst.n - 1;
    memcpy(&b->inst.v[at + 1], rows->inst.v, more * sizeof *b->inst.v);
    b->inst.n += more;
    return true;
}

static void flatten_block(flattener *w, kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n && w->m->status == KILN_OK; i++) {
        const kn_linst *in = inst(w, b->inst.v[i]);
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) flatten_block(w, &in->region->blocks[k]);
        in = inst(w, b->inst.v[i]);
        if (in->op == KN_L_LOOP) flatten(w, b, i);
    }
}

void flatten_rows(maker *m)
{
    flattener w = {.m = m, .l = m->l, .n_values = m->l->inst.n};
    if (!MAKER_TRY_MEM(m, kn_aliases_find(&m->temp, m->l, m->o.donated, &w.alias))) return;
    w.coef = kn_arena_new(&m->temp, w.n_values * sizeof *w.coef);
    w.stamp = KN_NEWN(&m->temp, uint32_t, w.n_values);
    if (MAKER_TRY_MEM(m, w.coef && w.stamp)) flatten_block(&w, &m->l->top);
}
