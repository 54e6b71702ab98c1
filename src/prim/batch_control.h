/* SPDX-License-Identifier: Apache-2.0 */
/* The batch rules of scan, while and cond. */
#ifndef KN_PRIM_BATCH_CONTROL_H
#define KN_PRIM_BATCH_CONTROL_H

#include "ir/prim.h"

#define KN_BATCH_CONTROL(id)                                                                                          \
    kiln_status kn_batch_##id(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, \
                              kn_atom *y, int *out_axis)
KN_BATCH_CONTROL(scan);
KN_BATCH_CONTROL(while);
KN_BATCH_CONTROL(cond);

#endif
