/* SPDX-License-Identifier: Apache-2.0 */
/* Three bodies in the plane, leapfrog. A body is a vector of its two coordinates; the distance of a pair is computed once.
 *
 * The unit that divides is the limit beside the chain of operations from step to step: it takes 6 cycles for two roots and 4 for two
 * quotients, so that the roots of two pairs and the quotients of both coordinates are one vector each: 36 of some 86 cycles. Four quotients
 * at once take twice as long as two, and their halves have to be taken apart; a reciprocal of the cube with the quotients' remainders by fma
 * is no faster. */
#include "programs.h"

#include <immintrin.h>

enum { BODIES = 3, STEPS = 100000 };

typedef __m128d v2;

#define INLINE static inline __attribute__((always_inline))

INLINE v2 add(v2 a, v2 b) { return _mm_add_pd(a, b); }
INLINE v2 sub(v2 a, v2 b) { return _mm_sub_pd(a, b); }
INLINE v2 mul(v2 a, v2 b) { return _mm_mul_pd(a, b); }
INLINE v2 over(v2 a, v2 b) { return _mm_div_pd(a, b); }

/* The square of its length, in both lanes. */
INLINE v2 square(v2 d)
{
    v2 s = mul(d, d);
    return add(s, _mm_permute_pd(s, 1));
}

/* A body's own term, m (x - x) over the cube of a distance that is 1, or no number: then a product is as good as the quotient. The +0 that the
 * sum over bodies starts from is added here, where nothing waits for it: what is added to it is not -0 any more. */
INLINE v2 own(v2 x, v2 m)
{
    v2 none = sub(x, x);
    return add(mul(mul(m, none), add(square(none), _mm_set1_pd(1))), _mm_setzero_pd());
}

/* The sum over three bodies stands in four chains that combine by halving: first and third, then the second. */
INLINE void accelerations(const v2 *x, const v2 *m, v2 *a)
{
    v2 d01 = sub(x[1], x[0]), d02 = sub(x[2], x[0]), d12 = sub(x[2], x[1]);
    v2 two = _mm_unpacklo_pd(square(d01), square(d02)), one = square(d12);
    v2 cubes = mul(two, _mm_sqrt_pd(two)), c12 = mul(one, _mm_sqrt_pd(one));
    v2 c01 = _mm_unpacklo_pd(cubes, cubes), c02 = _mm_unpackhi_pd(cubes, cubes);
    v2 q02 = over(mul(m[2], d02), c02), q20 = over(mul(m[0], d02), c02);
    v2 q01 = over(mul(m[1], d01), c01), q10 = over(mul(m[0], d01), c01);
    v2 q12 = over(mul(m[2], d12), c12), q21 = over(mul(m[1], d12), c12);
    a[0] = add(add(own(x[0], m[0]), q02), q01);
    a[1] = add(sub(q12, q10), own(x[1], m[1]));
    a[2] = sub(sub(own(x[2], m[2]), q20), q21);
}

void limit_leapfrog_3body(void *const *b)
{
    const double *positions = b[0], *velocities = b[1], *masses = b[2], dt = *(const double *)b[3];
    double *x_out = b[4], *v_out = b[5];
    v2 x[BODIES], v[BODIES], m[BODIES], a[BODIES], step = _mm_set1_pd(dt), half = _mm_set1_pd(0.5 * dt);
    for (int i = 0; i < BODIES; i++) {
        x[i] = _mm_loadu_pd(positions + 2 * i);
        v[i] = _mm_loadu_pd(velocities + 2 * i);
        m[i] = _mm_set1_pd(masses[i]);
    }
    accelerations(x, m, a);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < BODIES; i++) {
            v[i] = add(v[i], mul(half, a[i]));
            x[i] = add(x[i], mul(step, v[i]));
        }
        accelerations(x, m, a);
        for (int i = 0; i < BODIES; i++) v[i] = add(v[i], mul(half, a[i]));
    }
    for (int i = 0; i < BODIES; i++) {
        _mm_storeu_pd(x_out + 2 * i, x[i]);
        _mm_storeu_pd(v_out + 2 * i, v[i]);
    }
}
