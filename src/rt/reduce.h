/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in the one order that interpreter and compiled code share (numerics 3).
 *
 * Dimensions of size 1 do not matter. The reduced dimensions are T, the minor-most ones that are all reduced (contiguous in
 * memory), and O, the others. T: element i goes to lane i mod L; lanes accumulate in order inside a block, combine by
 * halving, block results combine left to right. O: row i goes to chain i mod M, else the same. Both: T first, for each
 * element of O. The init value is combined last, on the left. Lanes and chains start from the identity (-0.0 for add).
 * 16-bit floats accumulate in f32 and are rounded once at the end. */
#ifndef KN_RT_REDUCE_H
#define KN_RT_REDUCE_H

#include "rt/scalar.h"

typedef enum kn_axis_role { KN_AXIS_KEPT, KN_AXIS_ONE, KN_AXIS_T, KN_AXIS_O } kn_axis_role;

/* One run of `n` steps: step i goes to lane i mod `lanes`, blocks of `block`. */
typedef struct kn_run {
    int64_t n, lanes, block; /* lanes is a power of two, block a multiple of it or at least n */
} kn_run;

typedef struct kn_order {
    bool has_t, has_o; /* false: that run is one step, and is skipped */
    kn_run t, o;
} kn_order;

/* The accumulator of elements of this type: f32 for 16-bit floats, else the type itself. */
kiln_dtype kn_accumulator(kiln_dtype d);
kn_run kn_run_t(int64_t n, kiln_dtype accumulator);         /* L = 256 bytes of accumulators */
kn_run kn_run_o(int64_t n, int64_t k);                      /* k: product of the kept dimensions minor to the last of O */
/* role: rank entries, filled. */
kn_order kn_reduce_order(kiln_type x, const int64_t *axes, uint32_t n_axes, kn_axis_role *role);

kn_scalar kn_reduce_identity(kn_sop op, kiln_dtype d); /* of add mul min max and or xor; -0.0 for add of floats */
kn_scalar kn_reduce_init(kn_sop op, kiln_dtype d);     /* what the reduce_ primitives start from: as the identity, but +0.0 */

/* Combines the lanes of a run: values come from `at`, of the accumulator's type. */
typedef kn_scalar (*kn_at_fn)(void *ud, int64_t i);
kn_scalar kn_run_combine(kn_run run, kn_sop op, kiln_dtype accumulator, kn_at_fn at, void *ud);

/* The whole reduction of x into y (x's type without the axes). */
void kn_reduce(kn_sop op, kiln_type x, const void *xs, const int64_t *axes, uint32_t n_axes, kn_scalar init, void *ys);

#endif
