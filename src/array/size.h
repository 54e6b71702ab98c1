/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions that are not known until a program runs. One size n of a program may be left open; what depends on it is a * n + b with
 * whole a and b. KILN_DIM_N stands for n among the dimensions, so that a * KILN_DIM_N + b stands for a * n + b: sums, multiples and
 * comparisons for equality of such dimensions are those of the numbers that stand for them. */
#ifndef KN_ARRAY_SIZE_H
#define KN_ARRAY_SIZE_H

#include "array/array.h"

/* Sizes of rows and constants that are added; what is larger stands for nothing. */
#define KN_SIZE_MOST_FACTOR ((int64_t)1 << 25)
#define KN_SIZE_MOST_SUMMAND ((int64_t)1 << 32)
/* No run-time size is larger: counters of 32 bits count to some times it. */
#define KN_SIZE_MOST ((int64_t)1 << 29)

/* d = a * n + b; a is 0 for numbers. False: the number is so large that it stands for nothing. */
bool kn_size_split(int64_t d, int64_t *a, int64_t *b);
/* Does d depend on n? What stands for nothing counts as if it did. */
static inline bool kn_size_open(int64_t d) { return d > KILN_DIM_N / 2 || d < -(KILN_DIM_N / 2); }
bool kn_type_open(kiln_type t);
/* Does an i32 hold d, whatever n is? */
bool kn_size_small(int64_t d);
/* d where n is `at`. */
int64_t kn_size_at(int64_t d, int64_t at);
/* Is x < y (x <= y), whatever n >= 0 is? False: no, or not for every n. */
bool kn_size_less(int64_t x, int64_t y);
bool kn_size_at_most(int64_t x, int64_t y);
/* "n", "64*n", "n + 1" or digits; as snprintf. */
enum { KN_SIZE_TEXT = 48 };
int kn_size_format(int64_t d, char *out, size_t out_bytes);
/* Does an array of type `have` fit `want`? n: -1, or what others said; becomes what this one says. */
bool kn_type_fits(kiln_type have, kiln_type want, int64_t *n);

#endif
