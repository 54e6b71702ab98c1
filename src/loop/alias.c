/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/alias.h"

static void join(kn_aliases *s, uint32_t a, uint32_t b) { s->class[kn_alias_home(s, b)] = kn_alias_home(s, a); }

#define SEVERAL UINT32_MAX

/* Slot s is exchanged with t. */
static void pair(kn_aliases *a, uint32_t s, uint32_t t)
{
    a->partner[s] = a->partner[s] && a->partner[s] != t + 1 ? SEVERAL : t + 1;
}

static void look_at_block(const kn_loops *l, kn_aliases *a, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &l->inst.v[b->inst.v[i]];
        bool two = in->op == KN_L_SWAP || in->op == KN_L_POINT || in->op == KN_L_COPY || in->op == KN_L_SAME;
        if (in->op == KN_L_LOAD || in->op == KN_L_STORE) a->mention[in->slot]++;
        if (in->op == KN_L_SWAP && !in->index) {
            pair(a, in->slot, in->slot2);
            pair(a, in->slot2, in->slot);
        } else if (in->op == KN_L_SWAP || in->op == KN_L_POINT) {
            a->partner[in->slot] = a->partner[in->slot2] = SEVERAL;
            if (in->op == KN_L_SWAP) a->partner[in->index - 1] = SEVERAL;
        }
        if (two) {
            a->fixed[in->slot] = a->fixed[in->slot2] = true;
            if (in->op == KN_L_POINT || in->op == KN_L_SWAP) join(a, in->slot, in->slot2);
            if (in->op == KN_L_SWAP && in->index) {
                a->fixed[in->index - 1] = true;
                join(a, in->slot, in->index - 1);
            }
        }
        if (in->op == KN_L_CALL) {
            for (uint32_t k = 0; k < in->call->call.nout + in->call->call.nin; k++) a->fixed[in->call->slots[k]] = true;
            if (in->call->work) a->fixed[in->call->work - 1] = true;
        }
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) look_at_block(l, a, &in->region->blocks[k]);
    }
}

static bool is_donated(const kn_slot *s, const bool *donated) { return s->kind == KN_SLOT_INPUT && donated && donated[s->index]; }

bool kn_aliases_find(kn_arena *temp, const kn_loops *l, const bool *donated, kn_aliases *out)
{
    uint32_t first = UINT32_MAX, n = l->slots.n;
    bool any = false;
    *out = (kn_aliases){KN_NEWN(temp, uint32_t, n + 1), KN_NEWN(temp, uint32_t, n + 1), KN_NEWN(temp, bool, n + 1), KN_NEWN(temp, uint32_t, n + 1)};
    if (!out->class || !out->mention || !out->fixed || !out->partner) return false;
    for (uint32_t s = 0; s < n; s++) {
        out->class[s] = s;
        any = any || is_donated(&l->slots.v[s], donated);
    }
    for (uint32_t s = 0; s < n && any; s++) {
        if (!is_donated(&l->slots.v[s], donated) && l->slots.v[s].kind != KN_SLOT_OUTPUT) continue;
        if (first == UINT32_MAX) first = s;
        else join(out, first, s);
    }
    for (uint32_t s = 0; s < n; s++) /* two slots of one output */
        for (uint32_t t = 0; t < s && l->slots.v[s].kind == KN_SLOT_OUTPUT; t++)
            if (l->slots.v[t].kind == KN_SLOT_OUTPUT && l->slots.v[t].index == l->slots.v[s].index) join(out, t, s);
    look_at_block(l, out, &l->top);
    return true;
}
