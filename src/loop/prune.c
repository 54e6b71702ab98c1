/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody uses is dropped: index arithmetic that was folded into other arithmetic, loads that a choice made needless.
 *
 * Needs:  finished loops.   Leaves: every operation, load and constant has a user.   Cost: linear. */
#include "loop/maker.h"

static void use(uint32_t *uses, kn_lv v)
{
    if (v) uses[v]++;
}

static void drop_use(uint32_t *uses, kn_lv v)
{
    if (v) uses[v]--;
}

static void count_block(const kn_loops *l, const kn_lblock *b, uint32_t *uses)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        const kn_lregion *r = in->region;
        use(uses, in->a), use(uses, in->b), use(uses, in->c);
        if (!r) continue;
        use(uses, r->lo), use(uses, r->hi), use(uses, r->selector);
        for (uint32_t k = 0; k < r->init.n; k++) use(uses, r->init.v[k]);
        for (uint32_t k = 0; k < r->nblocks; k++) count_block(l, &r->blocks[k], uses);
    }
    for (uint32_t k = 0; k < b->yields.n; k++) use(uses, b->yields.v[k]);
}

/* From the last instruction to the first, so that what a dropped one used is seen after it. */
static void prune_block(kn_loops *l, kn_lblock *b, uint32_t *uses)
{
    uint32_t to = b->inst.n;
    for (uint32_t i = b->inst.n; i-- > 0;) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &l->inst.v[v];
        bool pure = in->op == KN_L_CONST || in->op == KN_L_SOP || in->op == KN_L_LOAD;
        if (pure && !uses[v]) {
            drop_use(uses, in->a), drop_use(uses, in->b), drop_use(uses, in->c);
            continue;
        }
        for (uint32_t k = in->region ? in->region->nblocks : 0; k-- > 0;) prune_block(l, &in->region->blocks[k], uses);
        b->inst.v[--to] = v;
    }
    if (to) memmove(b->inst.v, b->inst.v + to, (b->inst.n - to) * sizeof *b->inst.v);
    b->inst.n -= to;
}

void prune_loops(maker *m)
{
    uint32_t *uses = KN_NEWN(&m->temp, uint32_t, m->l->inst.n + 1);
    if (!MAKER_TRY_MEM(m, uses)) return;
    count_block(m->l, &m->l->top, uses);
    prune_block(m->l, &m->l->top, uses);
}
