/* SPDX-License-Identifier: Apache-2.0 */
/* Reading dot_general's parameters. */
#ifndef KN_PRIM_DOT_H
#define KN_PRIM_DOT_H

#include "ir/prim.h"
#include "rt/dot.h"

kn_dot_dims kn_dot_dims_of(const kn_eqn *e);

/* May a product of elements of the first kind be asked for in the second? Its own kind, integers as any real number, bools as any of these. */
bool kn_product_kinds(char operands, char result);
/* A product (dot_general, conv_general_dilated) of operands of another kind than its result: they are converted to the type of
 * the sums first; a bool result says whether any product is true. */
kiln_status kn_lower_mixed_product(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y);

#endif
