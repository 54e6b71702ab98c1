/* SPDX-License-Identifier: Apache-2.0 */
/* Products in the one order that interpreter and compiled code share (numerics 4).
 *
 * k runs row-major over the contracting dimensions in their listed order. Chain order: a chain of fma from -0.0 inside each
 * block of 256 along k; the first block is stored, later ones are added. T order (one side has free size 1, and the
 * contracting dimensions are, as listed, minor-most in the other): the T run of rt/reduce.h with fma in the lanes. No k at all
 * gives +0. Operands are converted to the accumulator first, the result is rounded once. */
#ifndef KN_RT_DOT_H
#define KN_RT_DOT_H

#include "rt/reduce.h"

enum { KN_DOT_BLOCK = 256 };

typedef struct kn_dot_dims {
    const int64_t *batch[2], *contract[2]; /* of the left and the right operand */
    uint32_t n_batch, n_contract;
} kn_dot_dims;

typedef struct kn_dot_order {
    int64_t k;                /* product of the contracting dimensions */
    bool lanes;               /* T order */
    kn_run run;               /* of the T order */
    kiln_dtype accumulator;
} kn_dot_order;

/* f32 for f16, bf16, f32; f64; integers their own type; of the wider of operand and result. */
kiln_dtype kn_dot_accumulator(kiln_dtype operand, kiln_dtype result);
kn_dot_order kn_dot_order_of(kiln_type a, kiln_type b, const kn_dot_dims *dims, kiln_dtype result);

/* y[batch.., free of a.., free of b..] */
void kn_dot(kiln_type a, const void *as, kiln_type b, const void *bs, const kn_dot_dims *dims, kiln_type y, void *ys);

#endif
