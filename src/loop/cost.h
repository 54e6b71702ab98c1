/* SPDX-License-Identifier: Apache-2.0 */
/* What statements cost when they run, roughly, in instructions: trips times bodies. */
#ifndef KN_LOOP_COST_H
#define KN_LOOP_COST_H

#include "loop/loop.h"

/* quick: as level 0 makes them, where what an inner loop carries goes through memory. */
double kn_loops_cost(const kn_loops *l, kn_lv stmt, bool quick);
double kn_loops_cost_of_block(const kn_loops *l, const kn_lblock *b, bool quick);
/* How many statements there are in a block and inside it; constants are none. */
uint64_t kn_loops_statements(const kn_loops *l, const kn_lblock *b);

#endif
