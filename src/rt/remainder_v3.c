/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders in vectors (remainder_lanes.h) for processors with AVX2 and FMA. */
#include "rt/remainder.h"
#include "rt/remainder_lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>

REMAINDER(f64, 2, v3, _mm_fmadd_pd, _mm_movemask_pd((__m128d)far))
REMAINDER(f64, 4, v3, _mm256_fmadd_pd, _mm256_movemask_pd((__m256d)far))
REMAINDER(f32, 4, v3, _mm_fmadd_ps, _mm_movemask_ps((__m128)far))
REMAINDER(f32, 8, v3, _mm256_fmadd_ps, _mm256_movemask_ps((__m256)far))
#endif
