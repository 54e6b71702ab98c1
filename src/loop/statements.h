/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_LOOP_STATEMENTS_H
#define KN_LOOP_STATEMENTS_H

#include "loop/loop.h"

/* How many statements there are in a block and inside it; constants are none. */
uint32_t kn_loops_statements(const kn_loops *l, const kn_lblock *b);
/* In a statement, with itself. */
uint32_t kn_loops_statements_in(const kn_loops *l, kn_lv v);

#endif
