/* SPDX-License-Identifier: Apache-2.0 */
/* Making ragged_dot_dimension_numbers. */
#ifndef KN_PRIM_RAGGED_H
#define KN_PRIM_RAGGED_H

#include "ir/prim.h"

enum { KN_RAGGED_CONTRACT, KN_RAGGED_BATCH = 2, KN_RAGGED_ROWS = 4, KN_RAGGED_GROUPS, KN_RAGGED_LISTS }; /* the first two: left, right */

typedef struct kn_ragged_lists {
    kn_param list[KN_RAGGED_LISTS]; /* of dimensions */
    kn_param pair[2], items[3];     /* made of them */
} kn_ragged_lists;

kn_param kn_ragged_numbers(kn_ragged_lists *v); /* lives as long as v */
/* Of an equation; the tuples of its lists. */
void kn_ragged_lists_of(const kn_eqn *e, kn_ragged_lists *v);

#endif
