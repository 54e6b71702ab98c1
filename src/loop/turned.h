/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that are turned (roll.c), as loops have them. */
#ifndef KN_LOOP_TURNED_H
#define KN_LOOP_TURNED_H

#include "loop/loop.h"

static inline bool kn_is_plus(const kn_loops *l, kn_lv v, kn_lv x, int64_t by)
{
    const kn_linst *in = &l->inst.v[v], *k = &l->inst.v[in->b];
    bool sum = in->op == KN_L_SOP && in->sop == KN_S_add && in->from == KILN_I64 && in->a == x;
    return sum && k->op == KN_L_CONST && k->imm.i == by;
}

/* Is v the counter iv, which goes from 0 to trips - 1, turned: iv < k ? iv + trips - k : iv - k? */
static inline bool kn_is_turned(const kn_loops *l, kn_lv v, kn_lv iv, int64_t trips)
{
    const kn_linst *in = &l->inst.v[v];
    if (in->op != KN_L_SOP || in->sop != KN_S_select || in->from != KILN_I64) return false;
    const kn_linst *less = &l->inst.v[in->a], *k = &l->inst.v[less->b];
    if (less->op != KN_L_SOP || less->sop != KN_S_lt || less->from != KILN_I64 || less->a != iv || k->op != KN_L_CONST) return false;
    return k->imm.i > 0 && k->imm.i < trips && kn_is_plus(l, in->b, iv, trips - k->imm.i) && kn_is_plus(l, in->c, iv, -k->imm.i);
}

#endif
