/* SPDX-License-Identifier: Apache-2.0 */
/* What statements cost when they run, roughly, in instructions: trips times bodies. */
#ifndef KN_LOOP_COST_H
#define KN_LOOP_COST_H

#include "loop/loop.h"

/* The loops around a statement, from the inside out, each with the value of its counter half-way; counter 0: it has none that is known. */
typedef struct kn_around {
    const struct kn_around *up;
    kn_lv counter;
    int64_t at;
} kn_around;

/* How often a loop or a reduction in lanes goes round, element by element, where its bounds follow from the loops around it; a guess where they do
 * not. `inside` is what is around its body. */
double kn_loops_trips(const kn_loops *l, const kn_lregion *r, const kn_around *up, kn_around *inside);
/* quick: as level 0 makes them, where what an inner loop carries goes through memory. */
double kn_loops_cost(const kn_loops *l, kn_lv stmt, bool quick);
double kn_loops_cost_of_block(const kn_loops *l, const kn_lblock *b, bool quick);

#endif
