/* SPDX-License-Identifier: Apache-2.0 */
/* Stable sorts of places. Known orders go through codes, unsigned numbers that rise as the keys do; a comparator of the program's own is
 * run by a merge sort, which compiled code repeats step by step (loop/sort.c). */
#ifndef KN_RT_SORT_H
#define KN_RT_SORT_H

#include "array/array.h"

/* ---- by codes ---- */

typedef struct kn_sort_item {
    uint64_t code;
    int64_t place;
} kn_sort_item;

/* KEYS: numbers as usual with -0 equal to 0, every NaN equal and last. TOTAL: -NaN, -infinity, .. -0, 0, .. infinity, NaN. */
typedef enum kn_sort_order { KN_SORT_KEYS, KN_SORT_TOTAL } kn_sort_order;

/* Puts place[0..n-1] into the order of the elements start + place * step, stably. work: room for 2 n items. Real types. */
void kn_sort_by(kiln_dtype d, const void *data, int64_t start, int64_t step, void *work, int64_t n, int64_t *place);
/* One array sorted by itself; false, and nothing done, where that takes places: types of other than 32 and 64 bits, NaN or -0 among the
 * elements. work: room for n items. */
bool kn_sort_alone(kiln_dtype d, const void *from, void *to, int64_t start, int64_t step, void *work, int64_t n);
/* Places of the first `most` elements in the total order turned round, at least one. work: room for kn_sort_first_room items. */
void kn_sort_first(kiln_dtype d, const void *data, int64_t start, int64_t step, void *work, int64_t n, int64_t most, int64_t *place);
int64_t kn_sort_first_room(int64_t n, int64_t most);

/* ---- by a comparator ---- */

/* Does the element at place a come before that at b? Negative: an error, which ends the sort. */
typedef int (*kn_before_fn)(void *ud, int64_t a, int64_t b);

/* Sorts place[0..n-1]; `room` has space for n more. False when `before` failed. Bottom-up: runs of 1, 2, 4, .. are merged, the element of the
 * second run first only where it is strictly before. Cost: n log2 n comparisons at most. */
bool kn_merge_sort(int64_t *place, int64_t *room, int64_t n, kn_before_fn before, void *ud);

#endif
