/* SPDX-License-Identifier: Apache-2.0 */
/* Are loops that were made for two sizes the same but for the sizes? Then they serve all of them. */
#include "array/size.h"
#include "loop/loop.h"

static bool same_size(int64_t a, int64_t b, int64_t at) { return kn_size_at(a, at) == b; }

static bool same_list(const kn_lv *a, uint32_t n, const kn_lv *b, uint32_t m) { return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0); }

static bool same_block(const kn_lblock *a, const kn_lblock *b)
{
    return same_list(a->inst.v, a->inst.n, b->inst.v, b->inst.n) && same_list(a->params.v, a->params.n, b->params.v, b->params.n) &&
           same_list(a->yields.v, a->yields.n, b->yields.v, b->yields.n);
}

static bool same_region(const kn_lregion *a, const kn_lregion *b)
{
    if (!a || !b) return a == b;
    bool same = a->nblocks == b->nblocks && a->lo == b->lo && a->hi == b->hi && a->selector == b->selector && a->width == b->width &&
                a->block == b->block && a->steps == b->steps && a->acc == b->acc && (a->cost == 0) == (b->cost == 0) && same_list(a->init.v, a->init.n, b->init.v, b->init.n) &&
                same_list(a->results.v, a->results.n, b->results.v, b->results.n);
    for (uint32_t k = 0; same && k < a->nblocks; k++) same = same_block(&a->blocks[k], &b->blocks[k]);
    return same;
}

static bool same_call(const kn_lcall *a, const kn_lcall *b)
{
    if (!a || !b) return a == b;
    bool same = a->call.routine == b->call.routine && a->call.n_ints == b->call.n_ints && !a->parts == !b->parts;
    for (uint32_t i = 0; same && i < a->call.n_ints; i++) same = a->call.ints[i] == b->call.ints[i];
    return same;
}

static bool same_inst(const kn_linst *a, const kn_linst *b, int64_t at)
{
    bool same = a->op == b->op && a->sop == b->sop && a->dtype == b->dtype && a->from == b->from && a->a == b->a && a->b == b->b && a->c == b->c &&
                a->slot == b->slot && a->slot2 == b->slot2;
    if (!same || (a->op != KN_L_LOAD && a->index != b->index)) return false; /* loads keep when they were made there */
    if (a->op == KN_L_CONST && !(kn_is_size(a) ? same_size(a->imm.i, b->imm.i, at) : memcmp(&a->imm, &b->imm, sizeof a->imm) == 0)) return false;
    return same_region(a->region, b->region) && same_call(a->call, b->call);
}

bool kn_loops_alike(const kn_loops *a, const kn_loops *b, int64_t at, kn_lv *differs)
{
    uint32_t n = a->inst.n < b->inst.n ? a->inst.n : b->inst.n;
    *differs = 0;
    for (uint32_t i = 1; i < n; i++)
        if (!same_inst(&a->inst.v[i], &b->inst.v[i], at)) return *differs = i, false;
    bool same = a->inst.n == b->inst.n && a->slots.n == b->slots.n && same_block(&a->top, &b->top);
    for (uint32_t i = 0; same && i < a->slots.n; i++) {
        const kn_slot *s = &a->slots.v[i], *t = &b->slots.v[i];
        same = s->kind == t->kind && s->index == t->index && s->dtype == t->dtype && same_size(s->elements, t->elements, at) && s->part == t->part;
    }
    return same;
}
