/* SPDX-License-Identifier: Apache-2.0 */
/* Forward over the body in order; the carries of inner loops to a fixed point (a carry only ever turns from the same in all
 * lanes to varying, so that a loop is walked at most once per carry). */
#include "loop/vary.h"

static void vary_block(const kn_loops *l, const kn_lblock *b, uint8_t *varying);

/* A loop inside: its counter is the same in all lanes. */
static void vary_carries(const kn_loops *l, const kn_linst *in, uint8_t *varying)
{
    const kn_lregion *r = in->region;
    uint32_t first = in->op == KN_L_LOOP ? 1 : 0; /* parameters before the carries */
    if (first) varying[r->blocks[0].params.v[0]] = 0;
    for (uint32_t b = 0; b < r->nblocks; b++)
        for (uint32_t k = 0; k < r->init.n; k++) varying[r->blocks[b].params.v[first + k]] = varying[r->init.v[k]];
    const kn_lblock *last = &r->blocks[r->nblocks - 1];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < r->nblocks; b++) vary_block(l, &r->blocks[b], varying);
        for (uint32_t k = 0; k < r->init.n; k++) {
            if (!varying[last->yields.v[k]] || varying[last->params.v[first + k]]) continue;
            for (uint32_t b = 0; b < r->nblocks; b++) varying[r->blocks[b].params.v[first + k]] = 1;
            changed = true;
        }
    }
    for (uint32_t k = 0; k < r->init.n; k++) varying[r->results.v[k]] = varying[last->params.v[first + k]];
}

static void vary_block(const kn_loops *l, const kn_lblock *b, uint8_t *varying)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &l->inst.v[v];
        switch (in->op) {
        case KN_L_SOP: varying[v] = varying[in->a] | (in->b ? varying[in->b] : 0) | (in->c ? varying[in->c] : 0); break;
        case KN_L_LOAD: varying[v] = varying[in->a]; break;
        case KN_L_LOOP:
        case KN_L_WHILE: vary_carries(l, in, varying); break;
        case KN_L_IF:
            for (uint32_t k = 0; k < in->region->nblocks; k++) vary_block(l, &in->region->blocks[k], varying);
            for (uint32_t k = 0; k < in->region->results.n; k++) {
                uint8_t any = 0;
                for (uint32_t j = 0; j < in->region->nblocks; j++) any |= varying[in->region->blocks[j].yields.v[k]];
                varying[in->region->results.v[k]] = any;
            }
            break;
        default: varying[v] = 0; break;
        }
    }
}

void kn_loops_vary(const kn_loops *l, kn_lv stmt, uint8_t *varying)
{
    const kn_lblock *body = &l->inst.v[stmt].region->blocks[0];
    varying[body->params.v[0]] = 1;
    vary_block(l, body, varying);
}
