/* SPDX-License-Identifier: Apache-2.0 */
/* Equal equations of what is being built: same primitive, parameters, bodies, operands; either order where operands commute. Those with
 * effects equal none. */
#ifndef KN_OPT_EQUAL_H
#define KN_OPT_EQUAL_H

#include "ir/prim.h"

typedef struct kn_equal {
    const kn_build *b;
    uint32_t *place; /* number + 1 of an equation of b */
    uint64_t *hash;
    uint32_t cap, at; /* at: where what was looked for last would be entered */
    uint64_t looked;  /* its hash */
    bool effect;      /* it has one, and is not entered */
} kn_equal;

/* For at most n equations; false: out of memory. */
bool kn_equal_init(kn_equal *t, kn_arena *scratch, const kn_build *b, uint32_t n);
const kn_eqn *kn_equal_find(kn_equal *t, const kn_eqn *e); /* the equal equation entered before, or NULL */
void kn_equal_enter(kn_equal *t); /* what was looked for last and not found, now that it is the last of b */
bool kn_equal_atoms(const kn_build *b, kn_atom x, kn_atom y); /* one variable, or literals of one value */

#endif
