/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders in vectors. With |x| = a, |y| = b and n the integer nearest to the rounded quotient a/b, a - n b is a multiple of the last place of b
 * and no larger than b, so that fma gives it exactly, and adding b where it is negative is exact as well. Quotients that are too large for that,
 * divisors so small that flushing subnormals could matter, and what is not finite go to fmod, one by one. */
#include "rt/remainder.h"

#include <math.h>
#include <stdint.h>

#define HAVE_v3 __attribute__((target("avx2,fma")))
#define HAVE_v4 __attribute__((target("avx512f,avx512dq")))
#define HAVE_neon

/* Quotients up to `most`; adding and subtracting `rounder` rounds those to integers; divisors from `least` on. */
#define LIMITS_f64 const double most = 0x1p51, rounder = 0x1.8p52, least = 0x1p-960
#define LIMITS_f32 const float most = 0x1p22f, rounder = 0x1.8p23f, least = 0x1p-100f
#define FAR_f64 fmod
#define FAR_f32 fmodf
typedef double real_f64;
typedef float real_f32;
typedef int64_t integer_f64;
typedef int32_t integer_f32;

#define SELECT(m, a, b) (((m) & (truths)(a)) | (~(m) & (truths)(b)))
#define REMAINDER(d, lanes, isa, fma, any) \
    typedef real_##d reals_##d##_##lanes __attribute__((vector_size(lanes * sizeof(real_##d)))); \
    HAVE_##isa reals_##d##_##lanes kn_rem_##d##_x##lanes##_##isa(reals_##d##_##lanes x, reals_##d##_##lanes y); \
    HAVE_##isa reals_##d##_##lanes kn_rem_##d##_x##lanes##_##isa(reals_##d##_##lanes x, reals_##d##_##lanes y) \
    { \
        typedef reals_##d##_##lanes reals; \
        typedef integer_##d truths __attribute__((vector_size(sizeof(reals)))); \
        LIMITS_##d; \
        const reals zero = {0}; \
        const truths sign = (truths)-zero; \
        reals a = (reals)((truths)x & ~sign), b = (reals)((truths)y & ~sign), q = a / b; \
        truths far = ~((q < zero + most) & (b >= zero + least)); \
        if (__builtin_expect(any != 0, 0)) { \
            for (int i = 0; i < lanes; i++) a[i] = FAR_##d(x[i], y[i]); \
            return a; \
        } \
        reals n = q + rounder - rounder, r = fma(-n, b, a); \
        r = (reals)SELECT(r < zero, r + b, r); \
        return (reals)(SELECT(a < b, a, r) | ((truths)x & sign)); \
    }

#if defined(__x86_64__)
#include <immintrin.h>

REMAINDER(f64, 2, v3, _mm_fmadd_pd, _mm_movemask_pd((__m128d)far))
REMAINDER(f64, 4, v3, _mm256_fmadd_pd, _mm256_movemask_pd((__m256d)far))
REMAINDER(f64, 8, v4, _mm512_fmadd_pd, _mm512_movepi64_mask((__m512i)far))
REMAINDER(f32, 4, v3, _mm_fmadd_ps, _mm_movemask_ps((__m128)far))
REMAINDER(f32, 8, v3, _mm256_fmadd_ps, _mm256_movemask_ps((__m256)far))
REMAINDER(f32, 16, v4, _mm512_fmadd_ps, _mm512_movepi32_mask((__m512i)far))
#else
#include <arm_neon.h>

#define FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#define FMA_f32(a, b, c) vfmaq_f32(c, a, b)
REMAINDER(f64, 2, neon, FMA_f64, vmaxvq_u32((uint32x4_t)far))
REMAINDER(f32, 4, neon, FMA_f32, vmaxvq_u32((uint32x4_t)far))
#endif
