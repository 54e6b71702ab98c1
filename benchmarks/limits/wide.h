/* SPDX-License-Identifier: Apache-2.0 */
/* The widest vectors of the processor under one set of names: W floats, or W/2 doubles. */
#ifndef BENCH_LIMITS_WIDE_H
#define BENCH_LIMITS_WIDE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define WIDE_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)

enum { W = 16 };
typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vi;

WIDE_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
WIDE_INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
WIDE_INLINE vf vf_all(float x) { return _mm512_set1_ps(x); }
WIDE_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
WIDE_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
WIDE_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
/* entries one place to the left of b's, a standing before b; to the right, c standing after b */
WIDE_INLINE vf vf_before(vf a, vf b)
{
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), 15));
}
WIDE_INLINE vf vf_after(vf b, vf c)
{
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(c), _mm512_castps_si512(b), 1));
}
WIDE_INLINE bool vf_any_nonzero(vf a) { return _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ) != 0; }
WIDE_INLINE vi vf_size(vf a) { return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff)); }
WIDE_INLINE vi vi_larger(vi a, vi b) { return _mm512_max_epi32(a, b); }
WIDE_INLINE vd vd_low(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
WIDE_INLINE vd vd_high(vf a)
{
    return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
}
WIDE_INLINE vf vd_pack(vd low, vd high)
{
    __m512 v = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
    return _mm512_insertf32x8(v, _mm512_cvtpd_ps(high), 1);
}
WIDE_INLINE vd vd_all(double x) { return _mm512_set1_pd(x); }
WIDE_INLINE vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
WIDE_INLINE vd vd_sub(vd a, vd b) { return _mm512_sub_pd(a, b); }
WIDE_INLINE vd vd_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
WIDE_INLINE __m256d vd_half(vd a) { return _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1)); }
WIDE_INLINE __m256i vi_half(vi a)
{
    return _mm256_max_epi32(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
}

#else /* AVX2 */

enum { W = 8 };
typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vi;

WIDE_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
WIDE_INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
WIDE_INLINE vf vf_all(float x) { return _mm256_set1_ps(x); }
WIDE_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
WIDE_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
WIDE_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
WIDE_INLINE vf vf_before(vf a, vf b)
{
    __m256i over = _mm256_permute2x128_si256(_mm256_castps_si256(a), _mm256_castps_si256(b), 0x21);
    return _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(b), over, 12));
}
WIDE_INLINE vf vf_after(vf b, vf c)
{
    __m256i over = _mm256_permute2x128_si256(_mm256_castps_si256(b), _mm256_castps_si256(c), 0x21);
    return _mm256_castsi256_ps(_mm256_alignr_epi8(over, _mm256_castps_si256(b), 4));
}
WIDE_INLINE bool vf_any_nonzero(vf a)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_UQ)) != 0;
}
WIDE_INLINE vi vf_size(vf a) { return _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x7fffffff)); }
WIDE_INLINE vi vi_larger(vi a, vi b) { return _mm256_max_epi32(a, b); }
WIDE_INLINE vd vd_low(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
WIDE_INLINE vd vd_high(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
WIDE_INLINE vf vd_pack(vd low, vd high) { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
WIDE_INLINE vd vd_all(double x) { return _mm256_set1_pd(x); }
WIDE_INLINE vd vd_add(vd a, vd b) { return _mm256_add_pd(a, b); }
WIDE_INLINE vd vd_sub(vd a, vd b) { return _mm256_sub_pd(a, b); }
WIDE_INLINE vd vd_mul(vd a, vd b) { return _mm256_mul_pd(a, b); }
WIDE_INLINE __m256d vd_half(vd a) { return a; }
WIDE_INLINE __m256i vi_half(vi a) { return a; }

#endif

/* The largest entry. Sizes of floats (vf_size) are ordered as integers; a NaN's is the largest of all. */
WIDE_INLINE int32_t vi_largest(vi a)
{
    __m256i h = vi_half(a);
    __m128i v = _mm_max_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(v);
}

/* Entries of a half and the other half, and so on down to one. */
WIDE_INLINE double vd_sum(vd a)
{
    __m256d h = vd_half(a);
    __m128d v = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)));
}

#endif
