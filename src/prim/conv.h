/* SPDX-License-Identifier: Apache-2.0 */
/* Reading conv_general_dilated's parameters. Along spatial dimension d, element x of the result and tap t of the kernel meet at
 * p = x * stride + t * rhs - low: element p / lhs of the left operand where lhs divides p, padding or a hole elsewhere. */
#ifndef KN_PRIM_CONV_H
#define KN_PRIM_CONV_H

#include "ir/prim.h"

typedef struct kn_conv {
    const int64_t *spec[3]; /* of left, kernel, result: places of (batch, feature, spatial..) or (out, in, spatial..) */
    uint32_t n;             /* spatial dimensions */
    int64_t batches, features;
    const int64_t *lhs, *rhs, *stride;
    const kn_param *padding;
} kn_conv;

kn_conv kn_conv_of(const kn_eqn *e);
int64_t kn_conv_low(const kn_conv *c, uint32_t d);
/* Groups of one input feature are no products of matrices: they multiply and add with two roundings. */
bool kn_conv_fused(kiln_dtype accumulator, int64_t in_features);

#endif
