/* SPDX-License-Identifier: Apache-2.0 */
/* For lower rules: equations as expressions. The first error sticks; later calls do nothing and give atom 0. */
#ifndef KN_PRIM_LOWERING_H
#define KN_PRIM_LOWERING_H

#include "ir/prim.h"

typedef struct kn_low {
    kn_build *b;
    kiln_status status;
} kn_low;

kn_atom kn_low_op(kn_low *l, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin);
kn_atom kn_low1(kn_low *l, const kn_prim *p, kn_atom a);
kn_atom kn_low2(kn_low *l, const kn_prim *p, kn_atom a, kn_atom b);
kn_atom kn_low_num(kn_low *l, kiln_dtype d, double v);                    /* a scalar literal */
kn_atom kn_low_size(kn_low *l, kiln_dtype d, int64_t dim);                 /* a dimension as a number: a literal, or dim_as_value */
kn_atom kn_low_fill(kn_low *l, kiln_type t, kn_scalar v);                 /* an array of equal elements */
kn_atom kn_low_iota(kn_low *l, kiln_type t, uint32_t axis);               /* an array of indices along a dimension */
kn_atom kn_low_select(kn_low *l, kn_atom which, kn_atom yes, kn_atom no); /* which ? yes : no; scalar cases are widened */
kn_atom kn_low_convert(kn_low *l, kn_atom a, kiln_dtype to);
kn_atom kn_low_widen(kn_low *l, kn_atom scalar, kiln_type shape); /* a scalar to the shape */
kn_atom kn_low_in_shape(kn_low *l, kn_atom a, kiln_type shape); /* broadcast to a shape that it fits: a scalar, or size 1 against n */
kn_atom kn_low_reshape(kn_low *l, kn_atom a, uint32_t rank, const int64_t *dims);

/* Along a dimension, from its start or end, y[0] = x[0], y[i] = combine(y[i-1], x[i]) of slices; or combine(...combine(init, x[0]), ...)
 * over dimension 0 (init has the slices' type). */
typedef kn_atom (*kn_combine)(kn_low *l, kn_atom a, kn_atom b);
kn_atom kn_low_running(kn_low *l, kn_atom x, uint32_t axis, bool reverse, kn_combine combine);
kn_atom kn_low_fold(kn_low *l, kn_atom x, kn_atom init, kn_combine combine);

/* What the equation of a call (jit, custom_jvp_call, ..) calls; NULL of any other. */
const kn_jaxpr *kn_called(const kn_eqn *e);

/* Appends a body's equations: args are its arguments without the constants, out receives its results. Equations without a
 * scope or place take those of `call`. */
kiln_status kn_low_inline(kn_build *b, const kn_jaxpr *body, const kn_eqn *call, const kn_atom *args, kn_atom *out);

extern const kn_prim kn_prim_abs, kn_prim_add, kn_prim_and, kn_prim_broadcast_in_dim, kn_prim_concatenate, kn_prim_convert_element_type, kn_prim_dim_as_value, kn_prim_div,
    kn_prim_dynamic_slice, kn_prim_dynamic_update_slice, kn_prim_eq, kn_prim_exp, kn_prim_expm1, kn_prim_ge, kn_prim_gt, kn_prim_iota,
    kn_prim_is_finite, kn_prim_log, kn_prim_log1p, kn_prim_lt, kn_prim_mul, kn_prim_ne, kn_prim_neg, kn_prim_or, kn_prim_reduce_max,
    kn_prim_reduce_min, kn_prim_reshape, kn_prim_scan, kn_prim_select_n, kn_prim_sign, kn_prim_slice, kn_prim_sqrt,
    kn_prim_sub, kn_prim_transpose, kn_prim_while;

#endif
