/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives on complex numbers are made of primitives on their parts: one definition for interpreter and compiler. */
#ifndef KN_PRIM_COMPLEX_RULES_H
#define KN_PRIM_COMPLEX_RULES_H

#include "prim/lowering.h"

/* The lower_complex rule of elementwise primitives, found by name. */
kiln_status kn_lower_complex(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
/* Those of reductions, running reductions, products. */
kiln_status kn_lower_complex_reduce(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
kiln_status kn_lower_complex_cumulative(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);
kiln_status kn_lower_complex_dot(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);

#endif
