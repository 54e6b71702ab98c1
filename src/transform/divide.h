/* SPDX-License-Identifier: Apache-2.0 */
/* Partial evaluation of control flow. */
#ifndef KN_TRANSFORM_DIVIDE_H
#define KN_TRANSFORM_DIVIDE_H

#include "transform/partial.h"

kiln_status kn_divide_scan(kn_partial *p, const kn_eqn *e);
/* done: false when the condition is not known; then the loop is to be put off as a whole. */
kiln_status kn_divide_while(kn_partial *p, const kn_eqn *e, bool *done);

kiln_status kn_log_inside(kn_partial *p, int64_t trips, bool by_policy, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy,
                          const kn_arg_kind *kinds, kn_split *out);
kiln_status kn_divide_flags(kn_partial *p, const kn_eqn *e, uint32_t first, bool **out); /* unknown operands from `first` on */
kiln_status kn_divide_place(kn_partial *p, const kn_eqn *e);
kn_atom *kn_divide_atoms(kn_partial *p, uint32_t n);
/* Enters results of an equation: the known ones, in order, from `out` in the known half; the unknown ones in the other. */
kiln_status kn_divide_known(kn_partial *p, const kn_eqn *e, const bool *unknown_out, const kn_atom *out);
void kn_divide_unknown(kn_partial *p, const kn_eqn *e, const bool *unknown_out, const kn_atom *out);

/* The policy of a checkpoint, which may be that all is saved. */
kiln_status kn_policy_of(const kn_rules *r, const kn_eqn *e, kn_policy *out, bool *everything);

#endif
