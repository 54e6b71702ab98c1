/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over lanes whose bodies are loops: made faster for the compiler. */
#ifndef KN_TRANSFORM_LANES_H
#define KN_TRANSFORM_LANES_H

#include "transform/prog.h"
#include "transform/transform.h"

/* The program with such loops over slots, or NULL where it has none. Bits stay. */
kiln_status kn_lanes_in_slots(kiln_ctx *ctx, const kn_prog *p, kn_prog **out);
/* The same for loops over arrays, an element a lane (unbatch.c), of an optimised program; the result is to be lowered again. */
kiln_status kn_arrays_in_slots(kiln_ctx *ctx, const kn_prog *p, kn_prog **out);

/* How many slots so many lanes run in; 0: too few lanes. */
int64_t kn_slots_for(int64_t lanes);

/* unbatch.c: a while over arrays of which each element is a lane's becomes a scan of whiles. */
bool kn_may_unbatch(const kn_jaxpr *j, const kn_eqn *e);
kiln_status kn_unbatch(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *operands, kn_atom *y, bool *done);

#endif
