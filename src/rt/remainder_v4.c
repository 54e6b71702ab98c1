/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders in vectors (remainder_lanes.h) for processors with AVX-512. */
#include "rt/remainder.h"
#include "rt/remainder_lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>

REMAINDER(f64, 8, v4, _mm512_fmadd_pd, _mm512_movepi64_mask((__m512i)far))
REMAINDER(f32, 16, v4, _mm512_fmadd_ps, _mm512_movepi32_mask((__m512i)far))
#endif
