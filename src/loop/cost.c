/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/cost.h"

static const double unknown_trips = 64, while_trips = 1000, call_cost = 20, routine_cost = 100;
/* A loop that carries so much keeps it in registers at level 2, and in memory at level 0. */
static const double tile_carries = 4, tile_gain = 16;

/* Of a while loop that counts to a constant, in ones: how often; of others a guess. */
static double counted(const kn_loops *l, const kn_lregion *r)
{
    const kn_linst *test = &l->inst.v[r->blocks[0].yields.v[0]];
    if (test->op != KN_L_SOP || test->sop != KN_S_lt || l->inst.v[test->b].op != KN_L_CONST || kiln_dtype_kind(test->from) != 'i') return while_trips;
    for (uint32_t k = 0; k < r->init.n; k++)
        if (r->blocks[0].params.v[k] == test->a && l->inst.v[r->init.v[k]].op == KN_L_CONST)
            return (double)l->inst.v[test->b].imm.i - (double)l->inst.v[r->init.v[k]].imm.i;
    return while_trips;
}

/* The value of an index half-way through the loops around it. */
static bool half_way(const kn_loops *l, const kn_around *up, kn_lv v, unsigned depth, int64_t *out)
{
    const kn_linst *in = &l->inst.v[v];
    int64_t a, b;
    if (in->op == KN_L_CONST && in->dtype == KILN_I64) {
        *out = in->imm.i;
        return true;
    }
    for (; in->op == KN_L_PARAM && up; up = up->up)
        if (up->counter == v) {
            *out = up->at;
            return true;
        }
    if (!depth || in->op != KN_L_SOP || in->dtype != KILN_I64 || in->from != KILN_I64 || in->c) return false;
    if (!in->b || !half_way(l, up, in->a, depth - 1, &a) || !half_way(l, up, in->b, depth - 1, &b)) return false;
    switch (in->sop) {
    case KN_S_add: return !__builtin_add_overflow(a, b, out);
    case KN_S_sub: return !__builtin_sub_overflow(a, b, out);
    case KN_S_mul: return !__builtin_mul_overflow(a, b, out);
    case KN_S_div: *out = b > 0 ? a / b : 0; return b > 0;
    case KN_S_min: *out = a < b ? a : b; return true;
    case KN_S_max: *out = a > b ? a : b; return true;
    default: return false;
    }
}

double kn_loops_trips(const kn_loops *l, const kn_lregion *r, const kn_around *up, kn_around *inside)
{
    enum { DEPTH = 12 };
    int64_t lo, hi, n;
    bool known = half_way(l, up, r->lo, DEPTH, &lo) && half_way(l, up, r->hi, DEPTH, &hi) && !__builtin_sub_overflow(hi, lo, &n);
    if (!known) {
        *inside = (kn_around){.up = up};
        return unknown_trips;
    }
    *inside = (kn_around){up, r->blocks[0].params.v[0], n > 0 ? lo + (n - 1) / 2 : lo};
    return n > 0 ? (double)n : 0;
}

static double trips(const kn_loops *l, const kn_linst *in, const kn_around *up, kn_around *inside)
{
    const kn_lregion *r = in->region;
    *inside = (kn_around){.up = up};
    if (in->op == KN_L_WHILE) return counted(l, r);
    if (in->op == KN_L_IF) return 1;
    return kn_loops_trips(l, r, up, inside) / (r->width ? r->width : 1) + 1;
}

static double cost(const kn_loops *l, kn_lv stmt, bool quick, const kn_around *up);

static double cost_of_block(const kn_loops *l, const kn_lblock *b, bool quick, const kn_around *up)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) sum += cost(l, b->inst.v[i], quick, up);
    return sum;
}

static double cost(const kn_loops *l, kn_lv stmt, bool quick, const kn_around *up)
{
    const kn_linst *in = &l->inst.v[stmt];
    if (in->op == KN_L_CONST) return 0;
    double one = in->op == KN_L_CALL ? routine_cost : in->op == KN_L_SOP && kn_sops[in->sop].function[0] ? call_cost : 1;
    if (!in->region) return one;
    bool tile = quick && in->op == KN_L_LOOP && in->region->init.n >= tile_carries;
    kn_around inside;
    double n = trips(l, in, up, &inside);
    for (uint32_t k = 0; k < in->region->nblocks; k++) one += cost_of_block(l, &in->region->blocks[k], quick && !tile, &inside);
    double whole = one * n * (tile ? tile_gain : 1);
    /* Loops that may be split have been weighed, with the lengths of loops inside that depend on theirs. */
    double weighed = in->region->cost ? (double)in->region->cost * n * (in->region->width ? in->region->width : 1) : 0;
    return weighed > whole ? weighed : whole;
}

double kn_loops_cost(const kn_loops *l, kn_lv stmt, bool quick) { return cost(l, stmt, quick, NULL); }

double kn_loops_cost_of_block(const kn_loops *l, const kn_lblock *b, bool quick) { return cost_of_block(l, b, quick, NULL); }
