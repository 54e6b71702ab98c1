/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of this folder as C on LANES elements of REAL_BITS bits, functions kn_maths_NAME_FORM; ISA says what the processor has: 2
 * (SSE4.2), 3 (AVX2, FMA), 4 (AVX-512), 8 (NEON), or 0: what C has, on one element. Included once a form, which undefines what it defines
 * but for the names.
 *
 *   F, I, M              floats, integers of their width, truths
 *   K, KI                constants
 *   ADD SUB MUL DIV NEG ABS FMA  of floats; FMA rounds once where the processor has it, else the product first
 *   LEAST, MOST          a < b ? a : b, a > b ? a : b: the machine's, b where either is NaN
 *   BITS, REAL           the same bits as integers, as floats
 *   IADD ISUB IAND IOR IXOR SHL SHRL   of integers, wrapping; shifts by a constant
 *   LT LE EQ, SELECT     false for NaN; M ? a : b
 *   TOP                  of integers: is the highest bit set
 *   REST(a, b, p)        of f64: what the product p of a and b was rounded by: a b - p
 *   SCALE                scale.h, or an instruction with its result
 *   P, (P){a, b}         two floats whose sum, or difference, is meant
 *   PART(name, ...)      a program within another, MATHS_PART(type, name, parameters)
 *   WIDE                 of f32: a program for f64, in the form WIDER, and its result rounded
 *   RECIPROCAL           of f64: that of f32, to about 23 bits
 *   RARELY(m, y, f, x)   y, and the function for operands far away (rt/maths.h) where m */
#include <math.h>
#include <stdint.h>

#ifndef KN_PASTE
#define KN_PASTE_(a, b) a##b
#define KN_PASTE(a, b) KN_PASTE_(a, b)
#endif
#define OF_FORM(name) KN_PASTE(name, FORM)
#define F OF_FORM(kn_maths_real_)
#define I OF_FORM(kn_maths_int_)
#define M OF_FORM(kn_maths_truth_)
#define P OF_FORM(kn_maths_pair_)

#if REAL_BITS == 32
#define SCALAR float
#define INTEGER uint32_t
#define TRUTH int32_t
#define SUFFIX ps
#else
#define SCALAR double
#define INTEGER uint64_t
#define TRUTH int64_t
#define SUFFIX pd
#endif

#if ISA == 2
#define HAVE __attribute__((target("sse4.2")))
#elif ISA == 3
#define HAVE __attribute__((target("avx2,fma")))
#elif ISA == 4
#define HAVE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#else
#define HAVE
#endif

#define K(v) OF_FORM(kn_maths_all_)((SCALAR)(v))
#define KI(v) OF_FORM(kn_maths_int_all_)((INTEGER)(v))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define NEG(a) (-(a))
#define ABS(a) REAL(IAND(BITS(a), KI(~SIGN)))
#define IADD(a, b) ((a) + (b))
#define ISUB(a, b) ((a) - (b))
#define IAND(a, b) ((a) & (b))
#define IOR(a, b) ((a) | (b))
#define IXOR(a, b) ((a) ^ (b))
#define SHL(a, n) ((a) << (n))
#define SHRL(a, n) ((a) >> (n))
#define INLINE static inline __attribute__((always_inline, unused)) HAVE

#if LANES == 1
typedef SCALAR F;
typedef INTEGER I;
typedef int M;
INLINE F OF_FORM(kn_maths_all_)(SCALAR v) { return v; }
INLINE I OF_FORM(kn_maths_int_all_)(INTEGER v) { return v; }
INLINE I OF_FORM(kn_maths_bits_)(F a)
{
    I i;
    __builtin_memcpy(&i, &a, sizeof i);
    return i;
}
INLINE F OF_FORM(kn_maths_from_bits_)(I i)
{
    F a;
    __builtin_memcpy(&a, &i, sizeof a);
    return a;
}
#define BITS(a) OF_FORM(kn_maths_bits_)(a)
#define REAL(a) OF_FORM(kn_maths_from_bits_)(a)
#else
typedef SCALAR F __attribute__((vector_size(LANES * REAL_BITS / 8)));
typedef INTEGER I __attribute__((vector_size(LANES * REAL_BITS / 8)));
#if LANES * REAL_BITS < 512
typedef TRUTH M __attribute__((vector_size(LANES * REAL_BITS / 8)));
#elif LANES == 16
typedef uint16_t M;
#else
typedef uint8_t M;
#endif
INLINE F OF_FORM(kn_maths_all_)(SCALAR v) { return v - (F){0}; }
INLINE I OF_FORM(kn_maths_int_all_)(INTEGER v) { return v - (I){0}; }
#define BITS(a) ((I)(a))
#define REAL(a) ((F)(a))
#endif
typedef struct P {
    F high, low;
} P;

#if LANES == 1
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define EQ(a, b) ((a) == (b))
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define TOP(a) ((a) >> (REAL_BITS - 1) != 0)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#if ISA == 0 || ISA == 2
#define FMA(a, b, c) ((a) * (b) + (c))
#elif REAL_BITS == 32
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA(a, b, c) __builtin_fma(a, b, c)
#endif

#elif ISA == 8
#define LT(a, b) ((M)((a) < (b)))
#define LE(a, b) ((M)((a) <= (b)))
#define EQ(a, b) ((M)((a) == (b)))
#define SELECT(m, a, b) ((F)(((m) & (M)(a)) | (~(m) & (M)(b))))
#define TOP(a) ((M)(a) < 0)
#define LEAST(a, b) SELECT(LT(a, b), a, b)
#define MOST(a, b) SELECT(LT(b, a), a, b)
#if REAL_BITS == 32
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#else
#define FMA(a, b, c) vfmaq_f64(c, a, b)
#endif

#else
#if LANES * REAL_BITS == 128
#define PREFIX _mm_
#elif LANES * REAL_BITS == 256
#define PREFIX _mm256_
#else
#define PREFIX _mm512_
#endif
#define MACHINE(name) KN_PASTE(KN_PASTE(PREFIX, name), SUFFIX)
#define LEAST(a, b) MACHINE(min_)(a, b)
#define MOST(a, b) MACHINE(max_)(a, b)
#if ISA == 2
#define FMA(a, b, c) ((a) * (b) + (c))
#else
#define FMA(a, b, c) MACHINE(fmadd_)(a, b, c)
#endif
#if LANES * REAL_BITS == 512
#define LT(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_LT_OQ)
#define LE(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_LE_OQ)
#define EQ(a, b) KN_PASTE(MACHINE(cmp_), _mask)(a, b, _CMP_EQ_OQ)
#define SELECT(m, a, b) MACHINE(mask_blend_)(m, b, a)
#if REAL_BITS == 32
#define TOP(a) _mm512_movepi32_mask((__m512i)(a))
#else
#define TOP(a) _mm512_movepi64_mask((__m512i)(a))
#endif
#define SCALE(p, t) MACHINE(scalef_)(p, SUB(t, K(ROUNDER)))
#else
#define LT(a, b) ((M)((a) < (b)))
#define LE(a, b) ((M)((a) <= (b)))
#define EQ(a, b) ((M)((a) == (b)))
#define SELECT(m, a, b) MACHINE(blendv_)(b, a, (F)(m))
#define TOP(a) ((M)(a)) /* which blendv takes for a truth */
#endif
#endif

#if ISA == 0 || ISA == 2
#define REST(a, b, p) PART(rest, a, b, p)
#else
#define REST(a, b, p) FMA(a, b, NEG(p))
#endif

#define FAR(f) KN_PASTE(kn_maths_far_##f##_f, REAL_BITS)
#if LANES == 1
#define RARELY(m, y, f, x) ((m) ? FAR(f)(x) : (y))
#else
#if ISA == 8
#define ANY(m) (vmaxvq_u32((uint32x4_t)(m)) != 0)
#define LANE(m, i) ((m)[i])
#elif LANES * REAL_BITS == 512
#define ANY(m) ((m) != 0)
#define LANE(m, i) ((m) >> (i) & 1)
#else
#define ANY(m) (MACHINE(movemask_)((F)(m)) != 0)
#define LANE(m, i) ((m)[i])
#endif
#define RARELY(m, y, f, x) (__builtin_expect(ANY(m), 0) ? OF_FORM(kn_maths_rarely_)(m, y, FAR(f), x) : (y))
HAVE static __attribute__((noinline, unused)) F OF_FORM(kn_maths_rarely_)(M m, F y, SCALAR (*far)(SCALAR), F x)
{
    for (int i = 0; i < LANES; i++)
        if (LANE(m, i)) y[i] = far(x[i]);
    return y;
}
#endif

#if REAL_BITS == 32
#if LANES == 1
#define WIDE(part, x) ((float)KN_PASTE(kn_maths_##part##_, WIDER)((double)(x)))
#else
#if LANES == 16
#define LOW(x) _mm512_cvtps_pd(_mm512_castps512_ps256(x))
#define HIGH(x) _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))
#define JOIN(low, high) _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1)
#elif LANES == 8
#define LOW(x) _mm256_cvtps_pd(_mm256_castps256_ps128(x))
#define HIGH(x) _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))
#define JOIN(low, high) _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
#else
#if ISA == 2
#define LOW(x) _mm_cvtps_pd(x)
#define HIGH(x) _mm_cvtps_pd(_mm_movehl_ps(x, x))
#define JOIN(low, high) _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high))
#elif ISA == 8
#define LOW(x) vcvt_f64_f32(vget_low_f32(x))
#define HIGH(x) vcvt_high_f64_f32(x)
#define JOIN(low, high) vcvt_high_f32_f64(vcvt_f32_f64(low), high)
#endif
#endif
#ifdef JOIN
#define WIDE(part, x) JOIN(KN_PASTE(kn_maths_##part##_, WIDER)(LOW(x)), KN_PASTE(kn_maths_##part##_, WIDER)(HIGH(x)))
#else
#define WIDE(part, x) _mm256_cvtpd_ps(KN_PASTE(kn_maths_##part##_, WIDER)(_mm256_cvtps_pd(x)))
#endif
#endif
#elif LANES == 1
#define RECIPROCAL(d) ((double)(1 / (float)(d)))
#elif LANES == 8
#define RECIPROCAL(d) _mm512_cvtps_pd(_mm256_div_ps(_mm256_set1_ps(1), _mm512_cvtpd_ps(d)))
#elif LANES == 4
#define RECIPROCAL(d) _mm256_cvtps_pd(_mm_div_ps(_mm_set1_ps(1), _mm256_cvtpd_ps(d)))
#elif ISA == 8
#define RECIPROCAL(d) vcvt_f64_f32(vdiv_f32(vdup_n_f32(1), vcvt_f32_f64(d)))
#else
#define RECIPROCAL(d) _mm_cvtps_pd(_mm_div_ps(_mm_set1_ps(1), _mm_cvtpd_ps(d)))
#endif

#ifndef SCALE
#define SCALE(p, t) PART(scale, p, t)
#endif

#ifndef MATHS_INLINE
#define MATHS_1(name, x)                                                                                               \
    HAVE F OF_FORM(kn_maths_##name##_)(F x);                                                                            \
    HAVE F OF_FORM(kn_maths_##name##_)(F x)
#else
#define MATHS_1(name, x) INLINE F OF_FORM(kn_maths_##name##_)(F x)
#endif
#define MATHS_PART(type, name, ...) INLINE type OF_FORM(kn_maths_##name##_)(__VA_ARGS__)
#define PART(name, ...) OF_FORM(kn_maths_##name##_)(__VA_ARGS__)

#if REAL_BITS == 32
#include "rt/maths/f32.h"
#else
#include "rt/maths/f64.h"
#endif

#undef OF_FORM
#undef F
#undef I
#undef M
#undef P
#undef SCALAR
#undef INTEGER
#undef TRUTH
#undef SUFFIX
#undef HAVE
#undef K
#undef KI
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef NEG
#undef ABS
#undef IADD
#undef ISUB
#undef IAND
#undef IOR
#undef IXOR
#undef SHL
#undef SHRL
#undef INLINE
#undef BITS
#undef REAL
#undef TOP
#undef REST
#undef LT
#undef LE
#undef EQ
#undef SELECT
#undef LEAST
#undef MOST
#undef FMA
#undef PREFIX
#undef MACHINE
#undef SCALE
#undef WIDE
#undef FAR
#undef RARELY
#undef ANY
#undef LANE
#undef LOW
#undef HIGH
#undef JOIN
#undef RECIPROCAL
#undef MATHS_1
#undef MATHS_PART
#undef PART
#undef FORM
#undef WIDER
#undef LANES
#undef REAL_BITS
#undef ISA
