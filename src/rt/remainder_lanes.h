/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders in vectors. With |x| = a, |y| = b and n the integer nearest to the rounded quotient a/b, a - n b is a multiple of the last place of b
 * and no larger than b, so that fma gives it exactly, and adding b where it is negative is exact as well. Quotients that are too large for that,
 * divisors so small that flushing subnormals could matter, and what is not finite go to fmod, one by one. */
#ifndef KN_RT_REMAINDER_LANES_H
#define KN_RT_REMAINDER_LANES_H

#include <math.h>
#include <stdint.h>

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
    reals_##d##_##lanes kn_rem_##d##_x##lanes##_##isa(reals_##d##_##lanes x, reals_##d##_##lanes y); \
    reals_##d##_##lanes kn_rem_##d##_x##lanes##_##isa(reals_##d##_##lanes x, reals_##d##_##lanes y) \
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

#endif
