/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a vector loop differ between its lanes. Linked into the code generator too: depends on loop.h alone. */
#ifndef KN_LOOP_VARY_H
#define KN_LOOP_VARY_H

#include "loop/loop.h"

/* Sets varying[v] for the values inside statement `stmt` (a loop with width > 1, or lanes) that may differ between lanes;
 * clears it for the others inside. Values defined outside are taken as the array says (0: the same in all lanes). */
void kn_loops_vary(const kn_loops *l, kn_lv stmt, uint8_t *varying);

#endif
