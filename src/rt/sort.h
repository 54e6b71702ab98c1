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

/* Codes of elements at start + place * step, for the places that the items hold; `flip` turns the order round. Real types. */
void kn_sort_codes(kiln_dtype d, const void *data, int64_t start, int64_t step, kn_sort_order order, bool flip, kn_sort_item *items, int64_t n);
/* Sorts items[0..n-1] by code, stably; `room` has space for n more. */
void kn_sort_items(kn_sort_item *items, kn_sort_item *room, int64_t n);
/* The first `most` of the items in that order, in items[0..most-1]. */
void kn_sort_first(kn_sort_item *items, kn_sort_item *room, int64_t n, int64_t most);

/* ---- by a comparator ---- */

/* Does the element at place a come before that at b? Negative: an error, which ends the sort. */
typedef int (*kn_before_fn)(void *ud, int64_t a, int64_t b);

/* Sorts place[0..n-1]; `room` has space for n more. False when `before` failed. Bottom-up: runs of 1, 2, 4, .. are merged, the element of the
 * second run first only where it is strictly before. Cost: n log2 n comparisons at most. */
bool kn_merge_sort(int64_t *place, int64_t *room, int64_t n, kn_before_fn before, void *ud);

#endif
