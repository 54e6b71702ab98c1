/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"

#include <immintrin.h>
#include <string.h>

#define V4 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#define V3 __attribute__((target("avx2,fma")))

/* of SLEEF, whose header hides those that the compiler's own target lacks */
V4 __m512 Sleef_finz_sinf16_u10avx512f(__m512 x);
V4 __m512 Sleef_finz_expf16_u10avx512f(__m512 x);
V3 __m256 Sleef_finz_sinf8_u10avx2(__m256 x);
V3 __m256 Sleef_finz_expf8_u10avx2(__m256 x);

V4 static __m512 both_16(__m512 x)
{
    return _mm512_mul_ps(Sleef_finz_sinf16_u10avx512f(x),
                         Sleef_finz_expf16_u10avx512f(_mm512_xor_ps(x, _mm512_set1_ps(-0.0f))));
}

V4 static void sin_exp_16(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, both_16(_mm512_loadu_ps(x + i)));
    if (i < n) {
        __mmask16 tail = (__mmask16)((1u << (n - i)) - 1);
        _mm512_mask_storeu_ps(y + i, tail, both_16(_mm512_maskz_loadu_ps(tail, x + i)));
    }
}

V3 static __m256 both_8(__m256 x)
{
    return _mm256_mul_ps(Sleef_finz_sinf8_u10avx2(x),
                         Sleef_finz_expf8_u10avx2(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f))));
}

V3 static void sin_exp_8(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, both_8(_mm256_loadu_ps(x + i)));
    if (i < n) {
        float part[8] = {0};
        memcpy(part, x + i, (size_t)(n - i) * sizeof *x);
        _mm256_storeu_ps(part, both_8(_mm256_loadu_ps(part)));
        memcpy(y + i, part, (size_t)(n - i) * sizeof *x);
    }
}

void limit_sin_exp(const float *x, float *y, int64_t n)
{
    if (__builtin_cpu_supports("avx512f")) sin_exp_16(x, y, n);
    else sin_exp_8(x, y, n);
}
