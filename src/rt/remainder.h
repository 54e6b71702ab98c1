/* SPDX-License-Identifier: Apache-2.0 */
/* x rem y of floats in vectors, exact as C's fmod is, which does one element: kn_rem_f64_x4_v3(x, y) for processors with AVX2 and FMA, _v4 with
 * AVX-512, _neon. */
#ifndef KN_RT_REMAINDER_H
#define KN_RT_REMAINDER_H

#define KN_REMAINDERS_V3(X) X(f64, 2, v3) X(f64, 4, v3) X(f32, 4, v3) X(f32, 8, v3)
#define KN_REMAINDERS_V4(X) X(f64, 8, v4) X(f32, 16, v4)
#define KN_REMAINDERS_NEON(X) X(f64, 2, neon) X(f32, 4, neon)

#endif
