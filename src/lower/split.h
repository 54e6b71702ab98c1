/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers become pairs of real ones. */
#ifndef KN_LOWER_SPLIT_H
#define KN_LOWER_SPLIT_H

#include "ir/prim.h"

/* A lowered program in which every complex value is two real arrays, through moves, loops and branches. Complex types stay where memory
 * has them: inputs, constants and results of the program, operands and results of routines that are called. There `real` and `imag`
 * read the parts, and `complex` joins them. The signature stays. Keys are u64 throughout. Where nothing is either, `out` is the program itself, retained.
 * Errors: KILN_UNSUPPORTED a primitive that says nothing of complex numbers. Cost: linear. */
kiln_status kn_split(kiln_ctx *ctx, kn_prog *lowered, kn_prog **out);

#endif
