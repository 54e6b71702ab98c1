/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops and calls are split over threads.
 *
 * Does:   marks loops (region.cost) whose iterations are independent and whose work pays for waking a thread; of a reduction in lanes
 *         that is long enough, makes such a loop over its blocks, whose results are then combined in their order; a loop of few
 *         iterations that holds nothing but a second one becomes one loop with it. A call of a routine whose work threads can share gets
 *         workspace of each thread's own.
 * Needs:  finished loops.   Leaves: the same program; every element is computed by the same operations in the same order.
 * Cost:   linear in instructions for each level of loops; programs without a heavy loop are only weighed.
 *
 *         %9 = lanes 64 add f32 from -0.0 block 156288 for %1 in 0 .. 10000000 { .. }
 *   ==>
 *         loop %2 in 0 .. 64 split 48000 { %3 = lanes .. for %1 in %2 * 156288 .. min(..) { .. }  sums[%2] = %3 }
 *         %9 = loop %4 in 1 .. 64 carry %5 = sums[0] { yield add f32 %5, sums[%4] }
 *
 * Independent: every index, as a sum of counters and other values times constants, is  S * q + c * iv + r  with the same c in all
 * accesses to memory that is written, r in an interval shorter than c, and S (of the terms that jump over the whole loop) larger than
 * what c * iv + r can reach: then two iterations never meet. In place of iv there may be (iv + k) mod trips in all of them (roll.c). Scratch that each iteration writes before it reads it, and that
 * nobody uses outside, is given to each thread instead. */
#include "array/size.h"
#include "loop/alias.h"
#include "loop/cost.h"
#include "loop/turned.h"

/* Iterations: ENOUGH for threads to share; FEW: made more by those of a loop inside, where they are all that there is. */
enum { MOST_TERMS = 8, ENOUGH = 16, FEW = 64 };
/* Sizes that are given when the program runs: loops are marked by what may come, weighed by what often does. */
enum { LARGE_SIZE = 1 << 24, USUAL = 1 << 10 };

#define LARGE ((int64_t)1 << 60)

/* In operations on a vector, some 0.4 ns each. */
static const double usual_least = 100000;
static const double far_bytes = 1 << 20, vector_bytes = 64;
static const double call_cost = 20, divide_cost = 4, routine_cost = 1000, while_trips = 50, far_byte_cost = 0.1;

typedef struct term {
    kn_lv var;
    int64_t coef;
} term;

/* An index: the sum of its terms and `add`. */
typedef struct form {
    int64_t add;
    uint32_t n;
    term t[MOST_TERMS];
} form;

typedef struct interval {
    bool known;
    int64_t lo, hi;
} interval;

/* How a loop accesses memory of one class. */
typedef struct access {
    uint32_t stamp;
    uint32_t count;
    bool written, opaque; /* opaque: some index is not of the form */
    bool fresh; /* the first access in each iteration is a store that always happens */
    int64_t c, s, lo, hi; /* s 0: no terms that jump */
    kn_lv counter; /* iv, or what goes through the same numbers in another order */
    int64_t first, jump;  /* constant of the first index, and the least distance of another one that jumps over the loop; 0: none */
} access;

typedef struct splitter {
    kn_loops *l;
    const bool *donated;
    kn_arena temp;
    kn_aliases alias;
    uint32_t *members; /* per class */
    const form **form; /* per value, NULL: itself */
    interval *range;   /* per value */
    uint32_t n_values, n_slots; /* before anything was added */
    access *access;    /* per class, for the loop `stamp` */
    uint32_t stamp;
    double least;
    int64_t usual; /* what is taken for a size that is given when the program runs */
    bool nomem;
} splitter;

static const kn_linst *inst(const splitter *s, kn_lv v) { return &s->l->inst.v[v]; }

static bool constant(const splitter *s, kn_lv v, int64_t *x)
{
    const kn_linst *in = inst(s, v);
    if (in->op != KN_L_CONST || in->dtype != KILN_I64) return false;
    *x = in->imm.i;
    return true;
}

/* Does the number stand for a size that is given when the program runs? */
static bool is_open(const splitter *s, int64_t v) { return s->l->sized && kn_size_open(v); }

static int64_t trips_of(const splitter *s, const kn_lregion *r)
{
    int64_t lo, hi, n;
    if (!constant(s, r->lo, &lo) || !constant(s, r->hi, &hi) || __builtin_sub_overflow(hi, lo, &n)) return -1;
    return n > 0 ? n : 0;
}

/* ---- what it costs ---- */

static double cost_of_block(const splitter *s, const kn_lblock *b, uint32_t width, const kn_around *up);

static double vectors(kiln_dtype d, uint32_t width)
{
    double n = (double)width * (double)kiln_dtype_bytes(d) / vector_bytes;
    return n > 1 ? n : 1;
}

static double cost_of_sop(const kn_linst *in, uint32_t width)
{
    if (in->from == KILN_I64 && in->dtype == KILN_I64 && in->sop != KN_S_div && in->sop != KN_S_rem) return 0.25; /* mostly addresses */
    double one = kn_sops[in->sop].function[0]                                                      ? call_cost
                 : in->sop == KN_S_div || in->sop == KN_S_rem || in->sop == KN_S_sqrt ? divide_cost
                                                                                            : 1;
    return one * vectors(in->from, width);
}

static double cost_of_access(const splitter *s, const kn_linst *in, uint32_t width)
{
    const kn_slot *slot = &s->l->slots.v[in->slot];
    double bytes = (double)kiln_dtype_bytes(slot->dtype);
    bool far = (double)slot->elements * bytes > far_bytes;
    return vectors(slot->dtype, width) + (far ? bytes * (width ? width : 1) * far_byte_cost : 0);
}

static double cost_of_loop(const splitter *s, const kn_linst *in, uint32_t width, const kn_around *up)
{
    const kn_lregion *r = in->region;
    uint32_t w = r->width > 1 ? r->width : width;
    int64_t n = trips_of(s, r);
    kn_around inside;
    double trips = kn_loops_trips(s->l, r, up, &inside);
    if (is_open(s, n)) trips = (double)kn_size_at(n, s->usual);
    if (r->width > 1) trips = (double)(int64_t)((trips + r->width - 1) / r->width);
    double body = cost_of_block(s, &r->blocks[0], w, &inside);
    if (in->op == KN_L_LANES) body += vectors(in->dtype, r->width);
    return trips * (body + 1) + 1;
}

static double cost_of(const splitter *s, const kn_linst *in, uint32_t width, const kn_around *up)
{
    double sum = 0, most = 0;
    switch (in->op) {
    case KN_L_SOP: return cost_of_sop(in, width);
    case KN_L_LOAD:
    case KN_L_STORE: return cost_of_access(s, in, width);
    case KN_L_LOOP:
    case KN_L_LANES: return cost_of_loop(s, in, width, up);
    case KN_L_WHILE:
        for (uint32_t k = 0; k < 2; k++) sum += cost_of_block(s, &in->region->blocks[k], width, up);
        return while_trips * sum;
    case KN_L_IF:
        for (uint32_t k = 0; k < in->region->nblocks; k++) {
            sum = cost_of_block(s, &in->region->blocks[k], width, up);
            if (sum > most) most = sum;
        }
        return most + 1;
    case KN_L_CALL: return routine_cost;
    default: return 0;
    }
}

static double cost_of_block(const splitter *s, const kn_lblock *b, uint32_t width, const kn_around *up)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) sum += cost_of(s, inst(s, b->inst.v[i]), width, up);
    return sum;
}

/* ---- forms and intervals of all indices, in one walk ---- */

static interval range_of(const splitter *s, kn_lv v)
{
    int64_t x;
    if (constant(s, v, &x)) return (interval){true, x, x};
    return v < s->n_values ? s->range[v] : (interval){0};
}

static form form_of(const splitter *s, kn_lv v)
{
    int64_t x;
    if (constant(s, v, &x)) return (form){.add = x};
    if (v < s->n_values && s->form[v]) return *s->form[v];
    return (form){.n = 1, .t[0] = {v, 1}};
}

static bool add_scaled(form *to, const form *f, int64_t by)
{
    int64_t x;
    if (__builtin_mul_overflow(f->add, by, &x) || __builtin_add_overflow(to->add, x, &to->add)) return false;
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t k = 0;
        if (__builtin_mul_overflow(f->t[i].coef, by, &x)) return false;
        while (k < to->n && to->t[k].var != f->t[i].var) k++;
        if (k == MOST_TERMS) return false;
        if (k == to->n) to->t[to->n++] = (term){f->t[i].var, 0};
        if (__builtin_add_overflow(to->t[k].coef, x, &to->t[k].coef)) return false;
    }
    return true;
}

static void make_form(splitter *s, kn_lv v, const kn_linst *in)
{
    form r = {0}, a = form_of(s, in->a), b = form_of(s, in->b);
    bool ok = false;
    int64_t by;
    if (in->sop == KN_S_add) ok = add_scaled(&r, &a, 1) && add_scaled(&r, &b, 1);
    else if (in->sop == KN_S_sub) ok = add_scaled(&r, &a, 1) && add_scaled(&r, &b, -1);
    else if (in->sop == KN_S_mul && constant(s, in->b, &by)) ok = add_scaled(&r, &a, by);
    else if (in->sop == KN_S_mul && constant(s, in->a, &by)) ok = add_scaled(&r, &b, by);
    if (!ok) return;
    form *kept = KN_NEW(&s->temp, form);
    if (!kept) {
        s->nomem = true;
        return;
    }
    *kept = r;
    s->form[v] = kept;
}

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

static interval combined(kn_sop op, interval a, interval b)
{
    interval r = {.known = a.known && b.known};
    bool over = false;
    int64_t x[4];
    switch (op) {
    case KN_S_add: over = !r.known || __builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi); break;
    case KN_S_sub: over = !r.known || __builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi); break;
    case KN_S_mul:
        over = !r.known || __builtin_mul_overflow(a.lo, b.lo, &x[0]) || __builtin_mul_overflow(a.lo, b.hi, &x[1]) ||
               __builtin_mul_overflow(a.hi, b.lo, &x[2]) || __builtin_mul_overflow(a.hi, b.hi, &x[3]);
        if (over) break;
        r.lo = least_of(least_of(x[0], x[1]), least_of(x[2], x[3]));
        r.hi = most_of(most_of(x[0], x[1]), most_of(x[2], x[3]));
        break;
    case KN_S_min: r.lo = least_of(a.lo, b.lo), r.hi = least_of(a.hi, b.hi); break;
    case KN_S_max: r.lo = most_of(a.lo, b.lo), r.hi = most_of(a.hi, b.hi); break;
    case KN_S_rem:
        if (!b.known || b.lo != b.hi || b.lo <= 0 || !a.known || a.lo < 0) return (interval){0};
        r = (interval){true, 0, least_of(a.hi, b.lo - 1)};
        break;
    case KN_S_div:
        if (!r.known || b.lo != b.hi || b.lo <= 0 || a.lo < 0) return (interval){0};
        r.lo = a.lo / b.lo, r.hi = a.hi / b.lo;
        break;
    default: return (interval){0};
    }
    return over ? (interval){0} : r;
}

static void look_at(splitter *s, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n && !s->nomem; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = inst(s, v);
        const kn_lregion *r = in->region;
        if (in->op == KN_L_SOP && in->from == KILN_I64 && in->dtype == KILN_I64 && in->b && !in->c) {
            make_form(s, v, in);
            s->range[v] = combined(in->sop, range_of(s, in->a), range_of(s, in->b));
        }
        if (in->op == KN_L_LOOP || in->op == KN_L_LANES) {
            interval lo = range_of(s, r->lo), hi = range_of(s, r->hi);
            if (lo.known && hi.known && hi.hi > lo.lo) s->range[r->blocks[0].params.v[0]] = (interval){true, lo.lo, hi.hi - 1};
        }
        for (uint32_t k = 0; r && k < r->nblocks; k++) look_at(s, &r->blocks[k]);
    }
}

/* ---- are iterations independent? ---- */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

/* Is v the counter iv, or that turned? */
static bool counts(const splitter *s, kn_lv v, kn_lv iv, int64_t trips)
{
    interval r = range_of(s, iv);
    return v == iv || (r.known && r.lo == 0 && kn_is_turned(s->l, v, iv, trips));
}

/* The index of one access: the interval of r, c, S, the constant, and how far is over the loop. False: not of the form. */
static bool parts_of(const splitter *s, kn_lv index, kn_lv iv, int64_t trips, access *out)
{
    form f = form_of(s, index);
    *out = (access){.lo = f.add, .hi = f.add};
    for (uint32_t i = 0; i < f.n; i++) {
        if (!counts(s, f.t[i].var, iv, trips)) continue;
        if (out->counter) return false;
        out->counter = f.t[i].var;
        out->c = f.t[i].coef;
    }
    if (out->c == INT64_MIN || out->lo < -LARGE || out->lo > LARGE) return false;
    if (out->c < 0) out->c = -out->c;
    int64_t reach;
    if (!out->c || __builtin_mul_overflow(out->c, trips, &reach)) return false;
    out->first = f.add;
    out->jump = reach;
    for (uint32_t i = 0; i < f.n; i++) {
        int64_t k = f.t[i].coef, a, b;
        interval r = range_of(s, f.t[i].var);
        if (f.t[i].var == out->counter || k == 0) continue;
        if (k < -LARGE || k > LARGE) return false;
        if ((k < 0 ? -k : k) >= reach) {
            out->s = gcd(out->s, k < 0 ? -k : k);
            continue;
        }
        if (!r.known || __builtin_mul_overflow(r.lo, k, &a) || __builtin_mul_overflow(r.hi, k, &b)) return false;
        if (__builtin_add_overflow(out->lo, least_of(a, b), &out->lo) || __builtin_add_overflow(out->hi, most_of(a, b), &out->hi)) return false;
    }
    return out->lo >= -LARGE && out->hi <= LARGE;
}

/* A loop is looked at twice: for c and S of each class, then for r, from which multiples of S are taken off. */
typedef struct loop_look {
    splitter *s;
    kn_lv iv;
    int64_t trips;
    bool again, bad;
} loop_look;

static void note_access(loop_look *k, const kn_linst *in, bool always)
{
    splitter *s = k->s;
    access *a = &s->access[kn_alias_home(&s->alias, in->slot)], one;
    if (a->stamp != s->stamp) *a = (access){.stamp = s->stamp, .lo = INT64_MAX, .hi = INT64_MIN, .fresh = in->op == KN_L_STORE && always};
    if (a->opaque && k->again) return;
    bool ok = parts_of(s, in->a, k->iv, k->trips, &one) && (!a->count || (a->c == one.c && a->counter == one.counter));
    if (!k->again) {
        a->written = a->written || in->op == KN_L_STORE;
        a->opaque = a->opaque || !ok;
        if (!a->count) a->first = one.first;
        int64_t distance = one.first > a->first ? one.first - a->first : a->first - one.first;
        if (ok && distance >= one.jump && (!a->jump || distance < a->jump)) a->jump = distance;
        a->c = one.c;
        a->counter = one.counter;
        a->s = gcd(a->s, one.s);
        a->count++;
        return;
    }
    int64_t whole = a->s ? one.lo - (one.lo % a->s + a->s) % a->s : 0;
    a->lo = least_of(a->lo, one.lo - whole);
    a->hi = most_of(a->hi, one.hi - whole);
}

static void look_inside(loop_look *k, const kn_lblock *b, bool always)
{
    for (uint32_t i = 0; i < b->inst.n && !k->bad; i++) {
        const kn_linst *in = inst(k->s, b->inst.v[i]);
        bool branch = in->op == KN_L_IF || in->op == KN_L_WHILE;
        switch (in->op) {
        case KN_L_LOAD:
        case KN_L_STORE: note_access(k, in, always); break;
        case KN_L_SWAP:
        case KN_L_POINT:
        case KN_L_COPY:
        case KN_L_SAME:
        case KN_L_CALL:
        case KN_L_TICK: k->bad = true; break;
        default: break;
        }
        for (uint32_t n = 0; in->region && n < in->region->nblocks; n++) look_inside(k, &in->region->blocks[n], always && !branch);
    }
}

static void look_at_loop(loop_look *k, const kn_lregion *r)
{
    k->s->stamp++;
    look_inside(k, &r->blocks[0], true);
    k->again = true;
    for (uint32_t c = 0; c < k->s->n_slots; c++) { /* rows that are written out jump by constants */
        access *a = &k->s->access[c];
        int64_t s = gcd(a->s, a->jump), reach;
        if (a->stamp == k->s->stamp && a->jump && !a->opaque && !__builtin_mul_overflow(a->c, k->trips, &reach) && s >= reach) a->s = s;
    }
    if (!k->bad) look_inside(k, &r->blocks[0], true);
}

static bool apart(const access *a, int64_t trips)
{
    int64_t length, reach;
    if (a->opaque || __builtin_sub_overflow(a->hi, a->lo, &length) || length >= a->c) return false;
    if (!a->s) return true;
    return !__builtin_mul_overflow(a->c, trips - 1, &reach) && !__builtin_add_overflow(reach, length, &reach) && reach < a->s;
}

/* Can each thread have its own? */
static bool own(const splitter *s, uint32_t slot)
{
    const access *a = &s->access[slot];
    return s->l->slots.v[slot].kind == KN_SLOT_SCRATCH && !s->alias.fixed[slot] && s->members[slot] == 1 && a->fresh &&
           a->count == s->alias.mention[slot];
}

/* Leaves its accesses in s->access. */
static bool independent(splitter *s, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    loop_look k = {.s = s, .iv = r->blocks[0].params.v[0], .trips = trips_of(s, r)};
    if (k.trips < 2 || r->init.n) return false;
    look_at_loop(&k, r);
    for (uint32_t c = 0; c < s->n_slots && !k.bad; c++) {
        const access *a = &s->access[c];
        if (a->stamp == s->stamp && a->written && !apart(a, k.trips) && !own(s, c)) return false;
    }
    return !k.bad;
}

/* ---- marking ---- */

static int64_t units_of(const splitter *s, const kn_lregion *r)
{
    int64_t n = trips_of(s, r), w = r->width > 1 ? r->width : 1;
    return n < 0 ? 0 : (n + w - 1) / w;
}

/* The work of the loops inside that come in more pieces than `units`, and pay each on its own. */
static double work_in_more(splitter *s, const kn_lblock *b, int64_t units, const kn_around *up)
{
    double work = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(s, b->inst.v[i]);
        if (in->op != KN_L_LOOP || in->region->init.n) continue;
        double cost = cost_of(s, in, 0, up);
        if (cost < s->least) continue;
        if (units_of(s, in->region) > units && independent(s, in)) {
            work += cost;
        } else if (in->region->width <= 1) {
            kn_around inside;
            double trips = kn_loops_trips(s->l, in->region, up, &inside);
            work += trips * work_in_more(s, &in->region->blocks[0], units, &inside);
        }
    }
    return work;
}

/* Gives each thread what the loop last looked at needs of its own, and what `more` says (may be NULL). */
static void take_parts(splitter *s, int64_t trips, const bool *more)
{
    size_t bytes = 0, per = 0;
    for (uint32_t c = 0; c < s->n_slots; c++) {
        const access *a = &s->access[c];
        kn_slot *slot = &s->l->slots.v[c];
        if (a->stamp != s->stamp || !a->written || (apart(a, trips) && !(more && more[c]))) continue;
        slot->part = true;
        kn_slot_place(slot, &bytes, &per);
    }
    if (bytes > s->l->part_bytes) s->l->part_bytes = bytes;
    if (per > s->l->part_per) s->l->part_per = per;
}

static void walk(splitter *s, kn_lblock *b, const kn_around *up);

static kn_lv add_inst(splitter *s, kn_lblock *b, kn_linst in, const kn_linst *like)
{
    in.scope = like->scope;
    in.loc = like->loc;
    if (!kn_push(s->l->arena, &s->l->inst, in) || (b && !kn_push(s->l->arena, &b->inst, s->l->inst.n - 1))) {
        s->nomem = true;
        return 0;
    }
    return s->l->inst.n - 1;
}

static kn_lv add_int(splitter *s, kn_lblock *b, int64_t v, const kn_linst *like)
{
    return add_inst(s, b, (kn_linst){.op = KN_L_CONST, .dtype = KILN_I64, .imm.i = v, .index = is_open(s, v) ? KN_CONST_SIZE : 0}, like);
}

static kn_lv add_index(splitter *s, kn_lblock *b, kn_sop op, kn_lv x, kn_lv y, const kn_linst *like)
{
    return add_inst(s, b, (kn_linst){.op = KN_L_SOP, .sop = op, .dtype = KILN_I64, .from = KILN_I64, .a = x, .b = y}, like);
}

/* ---- a loop of few iterations that holds nothing but a second one ---- */

/* The loop inside, if both run from zero on; 0: none. */
static kn_lv only_loop(const splitter *s, const kn_lregion *r)
{
    const kn_lblock *b = &r->blocks[0];
    kn_lv found = 0;
    int64_t lo;
    if (r->width > 1 || !constant(s, r->lo, &lo) || lo != 0) return 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(s, b->inst.v[i]);
        if (in->op == KN_L_CONST || in->op == KN_L_SOP) continue;
        if (in->op != KN_L_LOOP || found) return 0;
        found = b->inst.v[i];
    }
    const kn_lregion *q = found ? inst(s, found)->region : NULL;
    bool good = q && q->width <= 1 && !q->init.n && constant(s, q->lo, &lo) && lo == 0 && trips_of(s, q) > 1;
    return good ? found : 0;
}

/* loop i { .. loop k { .. } } becomes loop n { i = n / trips; k = n rem trips; .. }; `before` receives its bounds, and the loop. */
static void flatten(splitter *s, kn_lv outer, kn_lv inner, kn_lblock *before)
{
    const kn_linst like = *inst(s, outer);
    kn_lregion *r = like.region, *q = inst(s, inner)->region;
    int64_t trips = trips_of(s, q), all = trips * trips_of(s, r);
    kn_lblock *b = &r->blocks[0], body = {0};
    kn_lv i = b->params.v[0], k = q->blocks[0].params.v[0];
    r->lo = add_int(s, before, 0, &like);
    r->hi = add_int(s, before, all, &like);
    kn_lv n = add_inst(s, NULL, (kn_linst){.op = KN_L_PARAM, .dtype = KILN_I64}, &like), size = add_int(s, &body, trips, &like);
    kn_arena *arena = s->l->arena;
    bool ok = !s->nomem && kn_push(arena, &before->inst, outer) && kn_push(arena, &body.inst, i) && kn_push(arena, &body.inst, k);
    for (uint32_t x = 0; x < b->inst.n && ok; x++)
        if (b->inst.v[x] != inner) ok = kn_push(arena, &body.inst, b->inst.v[x]);
    for (uint32_t x = 0; x < q->blocks[0].inst.n && ok; x++) ok = kn_push(arena, &body.inst, q->blocks[0].inst.v[x]);
    if (!ok) {
        s->nomem = true;
        return;
    }
    kn_linst part = {.op = KN_L_SOP, .sop = KN_S_div, .dtype = KILN_I64, .from = KILN_I64, .a = n, .b = size, .scope = like.scope, .loc = like.loc};
    s->l->inst.v[i] = part;
    part.sop = KN_S_rem;
    s->l->inst.v[k] = part;
    b->params.v[0] = n;
    b->inst.v = body.inst.v, b->inst.n = body.inst.n, b->inst.cap = body.inst.cap;
}

/* Which slots the loop last looked at has to have of its own; NULL: out of memory. */
static bool *own_slots(splitter *s, int64_t trips)
{
    bool *own_of = KN_NEWN(&s->temp, bool, s->n_slots + 1);
    if (!own_of) s->nomem = true;
    for (uint32_t c = 0; own_of && c < s->n_slots; c++) {
        const access *a = &s->access[c];
        own_of[c] = a->stamp == s->stamp && a->written && !apart(a, trips);
    }
    return own_of;
}

/* Marks the loop if it may be split, else looks inside. What takes its place, where that is more than itself, is appended to `instead`. */
static void try_loop(splitter *s, kn_lv v, double cost, const kn_around *up, kn_lblock *instead)
{
    const kn_linst *in = inst(s, v);
    kn_lregion *r = in->region;
    int64_t units = units_of(s, r), trips = trips_of(s, r);
    kn_around inside;
    double times = kn_loops_trips(s->l, r, up, &inside);
    bool few = units < ENOUGH && r->width <= 1 && times * work_in_more(s, &r->blocks[0], units, &inside) >= cost * 0.8;
    if (units < 2 || few || !independent(s, in)) {
        if (r->width <= 1) walk(s, &r->blocks[0], &inside);
        return;
    }
    kn_lv inner = units < FEW ? only_loop(s, r) : 0;
    bool *more = NULL;
    if (inner && independent(s, inst(s, inner))) more = own_slots(s, trips_of(s, inst(s, inner)->region));
    if (inner) independent(s, in); /* its accesses again */
    take_parts(s, trips, more);
    if (more) flatten(s, v, inner, instead);
    trips = trips_of(s, r); /* of both, where they have become one */
    if (is_open(s, trips)) {
        s->usual = USUAL;
        cost = cost_of(s, inst(s, v), 0, up);
        trips = kn_size_at(trips, USUAL);
        s->usual = LARGE_SIZE;
    }
    r->cost = (int64_t)(cost / (double)trips) + 1;
    s->l->splits++;
}

/* ---- reductions ---- */

/* A loop in `b` with its block and counter; it is appended last, by the caller. */
static kn_lregion *new_loop(splitter *s, kn_lv lo, kn_lv hi, const kn_linst *like)
{
    kn_lregion *r = KN_NEW(s->l->arena, kn_lregion);
    kn_lblock *block = r ? r->blocks = KN_NEW(s->l->arena, kn_lblock) : NULL;
    kn_lv iv = block ? add_inst(s, NULL, (kn_linst){.op = KN_L_PARAM, .dtype = KILN_I64}, like) : 0;
    if (!iv || !kn_push(s->l->arena, &block->params, iv)) {
        s->nomem = true;
        return NULL;
    }
    r->nblocks = 1;
    r->lo = lo;
    r->hi = hi;
    return r;
}

/* loop b in 0 .. n: sums[b] = the lanes of block b */
static kn_lv loop_over_blocks(splitter *s, kn_lblock *out, kn_lv lanes, const kn_linst *like, int64_t blocks, uint32_t sums, int64_t cost)
{
    kn_lregion *old = like->region, *r = new_loop(s, add_int(s, out, 0, like), add_int(s, out, blocks, like), like);
    if (!r || s->nomem) return 0;
    kn_lblock *b = &r->blocks[0];
    kn_lv end = old->hi, size = add_int(s, b, old->block, like), lo = add_index(s, b, KN_S_mul, b->params.v[0], size, like);
    kn_lv hi = add_index(s, b, KN_S_min, add_index(s, b, KN_S_add, lo, size, like), end, like);
    old->lo = lo;
    old->hi = hi;
    if (!kn_push(s->l->arena, &b->inst, lanes)) s->nomem = true;
    kn_lv sum = add_inst(s, NULL, (kn_linst){.op = KN_L_RESULT, .dtype = like->dtype, .a = lanes}, like);
    if (s->nomem) return 0;
    old->results.v[0] = sum;
    add_inst(s, b, (kn_linst){.op = KN_L_STORE, .dtype = like->dtype, .slot = sums, .a = b->params.v[0], .b = sum}, like);
    r->cost = cost;
    return add_inst(s, out, (kn_linst){.op = KN_L_LOOP, .region = r}, like);
}

/* result = sums[0], sums[1], ... from left to right */
static void combine_blocks(splitter *s, kn_lblock *out, kn_lv result, const kn_linst *like, int64_t blocks, uint32_t sums)
{
    kn_sop op = like->region->acc == KN_S_fma ? KN_S_add : like->region->acc;
    kn_linst load = {.op = KN_L_LOAD, .dtype = like->dtype, .slot = sums};
    load.a = add_int(s, out, 0, like);
    kn_lv first = add_inst(s, out, load, like);
    kn_lregion *r = new_loop(s, add_int(s, out, 1, like), add_int(s, out, blocks, like), like);
    if (!r || s->nomem) return;
    kn_lblock *b = &r->blocks[0];
    kn_lv acc = add_inst(s, NULL, (kn_linst){.op = KN_L_PARAM, .dtype = like->dtype}, like);
    load.a = b->params.v[0];
    kn_lv one = add_inst(s, b, load, like);
    kn_lv next = add_inst(s, b, (kn_linst){.op = KN_L_SOP, .sop = op, .dtype = like->dtype, .from = like->dtype, .a = acc, .b = one}, like);
    kn_arena *arena = s->l->arena;
    bool ok = kn_push(arena, &r->init, first) && kn_push(arena, &b->params, acc) && kn_push(arena, &b->yields, next) && kn_push(arena, &r->results, result);
    kn_lv loop = ok ? add_inst(s, out, (kn_linst){.op = KN_L_LOOP, .region = r}, like) : 0;
    if (!loop) s->nomem = true;
    else s->l->inst.v[result].a = loop;
}

static uint32_t new_scratch(splitter *s, kiln_dtype d, int64_t elements)
{
    kn_slot slot = {.kind = KN_SLOT_SCRATCH, .dtype = d, .elements = elements};
    kn_slot_place(&slot, &s->l->scratch_bytes, &s->l->scratch_per);
    if (!kn_push(s->l->arena, &s->l->slots, slot)) s->nomem = true;
    return s->l->slots.n - 1;
}

/* The blocks of a reduction from zero on, where its body writes nothing. Appends to `out` what takes its place; false: as it was. */
static bool split_lanes(splitter *s, kn_lblock *out, kn_lv v, double cost)
{
    kn_linst like = *inst(s, v);
    kn_lregion *r = like.region;
    int64_t n = trips_of(s, r), lo;
    if (!constant(s, r->lo, &lo) || lo != 0 || n <= r->block || r->block == 0) return false;
    loop_look k = {.s = s, .iv = r->blocks[0].params.v[0], .trips = n};
    look_at_loop(&k, r);
    for (uint32_t c = 0; c < s->n_slots; c++) k.bad = k.bad || (s->access[c].stamp == s->stamp && s->access[c].written);
    if (k.bad) return false;
    int64_t blocks = (n + r->block - 1) / r->block;
    uint32_t sums = new_scratch(s, like.dtype, blocks);
    kn_lv result = r->results.v[0];
    if (!s->nomem) loop_over_blocks(s, out, v, &like, blocks, sums, (int64_t)(cost / (double)blocks) + 1);
    if (!s->nomem) combine_blocks(s, out, result, &like, blocks, sums);
    s->l->splits++;
    return true;
}

/* ---- calls of routines ---- */

/* What threads would share at one time of the call. */
static kn_call_share share_of(const kn_lcall *c)
{
    kn_call_share share = {0};
    if (c->call.routine->share) c->call.routine->share(&c->call, &share);
    return share;
}

/* The routine makes pieces by itself: it is given workspace of each thread's own, and keeps what all of them use. */
static void split_call(splitter *s, kn_lv v)
{
    const kn_lcall *old = inst(s, v)->call;
    kn_call_share share = share_of(old);
    if (share.cost < s->least || share.own_bytes > INT64_MAX) return;
    kn_lcall *c = kn_arena_copy(s->l->arena, old, sizeof *old);
    s->nomem = !c;
    if (!c) return;
    kn_slot parts = {.kind = KN_SLOT_SCRATCH, .dtype = KILN_U8, .elements = (int64_t)share.own_bytes, .part = true};
    if (!kn_push(s->l->arena, &s->l->slots, parts)) s->nomem = true; /* placed with all others: lives.c */
    c->parts = s->l->slots.n;
    if (c->work) s->l->slots.v[c->work - 1].elements = (int64_t)share.work_bytes;
    if (share.work_bytes == 0) c->work = 0;
    s->l->inst.v[v].call = s->l->calls.v[c->number] = c;
    s->l->splits++;
}

/* ---- blocks ---- */

/* Instruction i of the block becomes those of `with`. */
static void splice(splitter *s, kn_lblock *b, uint32_t i, const kn_lblock *with)
{
    if (!kn_reserve(s->l->arena, &b->inst, with->inst.n)) {
        s->nomem = true;
        return;
    }
    memmove(&b->inst.v[i + with->inst.n], &b->inst.v[i + 1], (b->inst.n - i - 1) * sizeof *b->inst.v);
    memcpy(&b->inst.v[i], with->inst.v, with->inst.n * sizeof *b->inst.v);
    b->inst.n += with->inst.n - 1;
}

static void walk(splitter *s, kn_lblock *b, const kn_around *up)
{
    for (uint32_t i = 0; i < b->inst.n && !s->nomem; i++) {
        const kn_linst *in = inst(s, b->inst.v[i]);
        kn_lregion *r = in->region;
        if (in->op == KN_L_LOOP || in->op == KN_L_LANES) {
            double cost = cost_of(s, in, 0, up);
            kn_lblock instead = {0};
            if (cost < s->least) continue;
            if (in->op == KN_L_LANES) {
                if (!split_lanes(s, &instead, b->inst.v[i], cost) || s->nomem) continue;
                splice(s, b, i, &instead);
                i += instead.inst.n - 1;
            } else if (r->init.n) {
                kn_around inside;
                kn_loops_trips(s->l, r, up, &inside);
                walk(s, &r->blocks[0], &inside);
            } else {
                try_loop(s, b->inst.v[i], cost, up, &instead);
                if (s->nomem || !instead.inst.n) continue;
                splice(s, b, i, &instead);
                i += instead.inst.n - 1;
            }
        } else if (in->op == KN_L_WHILE || in->op == KN_L_IF) {
            for (uint32_t k = 0; k < r->nblocks; k++) walk(s, &r->blocks[k], up);
        } else if (in->op == KN_L_CALL) {
            split_call(s, b->inst.v[i]);
        }
    }
}

static bool any_heavy(const splitter *s, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(s, b->inst.v[i]);
        if ((in->op == KN_L_LOOP || in->op == KN_L_LANES) && cost_of(s, in, 0, NULL) >= s->least) return true;
        if (in->op == KN_L_CALL && share_of(in->call).cost >= s->least) return true;
        for (uint32_t k = 0; in->region && k < in->region->nblocks && (in->op == KN_L_WHILE || in->op == KN_L_IF); k++)
            if (any_heavy(s, &in->region->blocks[k])) return true;
    }
    return false;
}

static bool prepare(splitter *s)
{
    s->n_values = s->l->inst.n;
    s->n_slots = s->l->slots.n;
    if (!kn_aliases_find(&s->temp, s->l, s->donated, &s->alias)) return false;
    s->members = KN_NEWN(&s->temp, uint32_t, s->n_slots + 1);
    s->access = KN_NEWN(&s->temp, access, s->n_slots + 1);
    s->form = KN_NEWN(&s->temp, const form *, s->n_values);
    s->range = KN_NEWN(&s->temp, interval, s->n_values);
    if (!s->members || !s->access || !s->form || !s->range) return false;
    for (uint32_t c = 0; c < s->n_slots; c++) s->members[kn_alias_home(&s->alias, c)]++;
    look_at(s, &s->l->top);
    return !s->nomem;
}

kiln_status kn_loops_split(kiln_ctx *ctx, kn_loops *l, const bool *donated, double least)
{
    splitter s = {.l = l, .donated = donated, .least = least > 0 ? least : usual_least, .usual = LARGE_SIZE};
    if (!any_heavy(&s, &l->top)) return KILN_OK;
    kn_arena_init(&s.temp, &ctx->alloc);
    s.nomem = !prepare(&s);
    if (!s.nomem) walk(&s, &l->top, NULL);
    kn_arena_fini(&s.temp);
    return s.nomem ? kn_nomem(ctx) : KILN_OK;
}
