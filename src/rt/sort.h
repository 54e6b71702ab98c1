/* SPDX-License-Identifier: Apache-2.0 */
/* The one sort: a stable bottom-up merge sort of places 0..n-1. */
#ifndef KN_RT_SORT_H
#define KN_RT_SORT_H

#include "array/array.h"

/* Does the element at place a come before that at b? Negative: an error, which ends the sort. */
typedef int (*kn_before_fn)(void *ud, int64_t a, int64_t b);

/* Sorts place[0..n-1]; `room` has space for n more. False when `before` failed. Cost: n log2 n comparisons at most. */
bool kn_merge_sort(int64_t *place, int64_t *room, int64_t n, kn_before_fn before, void *ud);

/* The order of keys: numbers as usual with -0 equal to 0, every NaN equal and last; complex by real, then imaginary part.
 * -1, 0, 1. */
int kn_key_compare(kiln_dtype d, kn_scalar a, kn_scalar b);
/* The total order of top_k: as above, but -0 below 0. */
int kn_total_compare(kiln_dtype d, kn_scalar a, kn_scalar b);

#endif
