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

static double trips(const kn_loops *l, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    if (in->op == KN_L_WHILE) return counted(l, r);
    if (in->op == KN_L_IF) return 1;
    const kn_linst *lo = &l->inst.v[r->lo], *hi = &l->inst.v[r->hi];
    double n = lo->op == KN_L_CONST && hi->op == KN_L_CONST ? (double)hi->imm.i - (double)lo->imm.i : unknown_trips;
    return n / (r->width ? r->width : 1) + 1;
}

double kn_loops_cost(const kn_loops *l, kn_lv stmt, bool quick)
{
    const kn_linst *in = &l->inst.v[stmt];
    if (in->op == KN_L_CONST) return 0;
    double one = in->op == KN_L_CALL ? routine_cost : in->op == KN_L_SOP && kn_sops[in->sop].function[0] ? call_cost : 1;
    if (!in->region) return one;
    bool tile = quick && in->op == KN_L_LOOP && in->region->init.n >= tile_carries;
    for (uint32_t k = 0; k < in->region->nblocks; k++) one += kn_loops_cost_of_block(l, &in->region->blocks[k], quick && !tile);
    double whole = one * trips(l, in) * (tile ? tile_gain : 1);
    /* Loops that may be split have been weighed, with the lengths of loops inside that depend on theirs. */
    double weighed = in->region->cost ? (double)in->region->cost * trips(l, in) * (in->region->width ? in->region->width : 1) : 0;
    return weighed > whole ? weighed : whole;
}

double kn_loops_cost_of_block(const kn_loops *l, const kn_lblock *b, bool quick)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) sum += kn_loops_cost(l, b->inst.v[i], quick);
    return sum;
}

uint64_t kn_loops_statements(const kn_loops *l, const kn_lblock *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        n += in->op != KN_L_CONST;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) n += kn_loops_statements(l, &in->region->blocks[k]);
    }
    return n;
}
