/* SPDX-License-Identifier: Apache-2.0 */
/* Indices as sums, and which row of an array they lie in. */
#ifndef KN_LOOP_ACCESS_H
#define KN_LOOP_ACCESS_H

#include "rt/scalar.h"

enum { KN_INDEX_PARTS = 4 };

/* coef * iv + add + the sum of step * t, each t in 0 .. most. */
typedef struct kn_index_part {
    int64_t step, most;
} kn_index_part;

typedef struct kn_index_form {
    bool ok; /* else it may be anything */
    int64_t coef, add;
    uint32_t n;
    kn_index_part part[KN_INDEX_PARTS]; /* steps > 0 */
} kn_index_form;

kn_index_form kn_index_range(int64_t lo, int64_t hi); /* any number in it */
kn_index_form kn_index_combined(kn_sop op, const kn_index_form *a, const kn_index_form *b);
/* The least and the largest, without coef * iv; false: not known. */
bool kn_index_bounds(const kn_index_form *f, int64_t *lo, int64_t *hi);

/* Without coef * iv it is  jumps + start + r:  jumps are multiples of *period (0: there are none), which is at least `reach`, start is a
 * multiple of stride, and 0 <= r < stride. False: it is not always so. */
bool kn_index_in_row(const kn_index_form *f, int64_t stride, int64_t reach, int64_t *start, int64_t *period);

static inline int64_t kn_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

#endif
