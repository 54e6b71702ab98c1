/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_LOOP_FOLD_H
#define KN_LOOP_FOLD_H

#include "loop/maker.h"

/* A run of numerics 3 over values in registers (one block). Lanes that nothing falls on hold the identity, which changes no
 * bit, and are left out. */
kn_lv fold_lanes(maker *m, kn_sop op, kiln_dtype d, const kn_lv *x, int64_t n, int64_t lanes);

#endif
