/* SPDX-License-Identifier: Apache-2.0 */
/* A while whose condition gives an array of bools. */
#ifndef KN_PRIM_WHILE_LANES_H
#define KN_PRIM_WHILE_LANES_H

#include "prim/batch.h"

bool kn_while_is_single(const kn_jaxpr *j, const kn_eqn *e); /* does the condition give one bool? */
/* Is the condition's result bool, with dimensions that all carries begin with? */
kiln_status kn_while_check(const kn_typing *t, const kn_jaxpr *cond, const kiln_type *carries, uint32_t n);
bool kn_while_any(const kiln_array *go);
/* *next where `go` is true, elsewhere `old`. */
kiln_status kn_while_settle(kiln_ctx *ctx, const kiln_array *go, const kiln_array *old, kiln_array **next);
/* The equation as a while whose condition gives one bool. */
kiln_status kn_lower_while(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
kiln_status kn_batch_while_lanes(kn_lanes *m, kn_atom *y, int *out_axis);

#endif
