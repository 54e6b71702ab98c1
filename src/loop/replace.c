/* SPDX-License-Identifier: Apache-2.0 */
/* Another value for one that a block and the blocks inside it read. Cost: linear in their instructions. */
#include "loop/maker.h"

void replace_value(kn_loops *l, kn_lblock *b, kn_lv old, kn_lv new)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_linst *in = &l->inst.v[b->inst.v[i]];
        if (in->op != KN_L_RESULT) {
            if (in->a == old) in->a = new;
            if (in->b == old) in->b = new;
            if (in->c == old) in->c = new;
        }
        kn_lregion *r = in->region;
        if (!r) continue;
        if (r->lo == old) r->lo = new;
        if (r->hi == old) r->hi = new;
        if (r->selector == old) r->selector = new;
        for (uint32_t k = 0; k < r->init.n; k++)
            if (r->init.v[k] == old) r->init.v[k] = new;
        for (uint32_t k = 0; k < r->nblocks; k++) replace_value(l, &r->blocks[k], old, new);
    }
    for (uint32_t k = 0; k < b->yields.n; k++)
        if (b->yields.v[k] == old) b->yields.v[k] = new;
}
