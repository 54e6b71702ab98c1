/* SPDX-License-Identifier: Apache-2.0 */
/* Sums in 64 lanes that combine by halving, in blocks from left to right; softmax and layer norm row by row, a row in the first cache. */
#include "micro.h"
#include "limits.h"
#include "wide.h"
#include "wide_maths.h"

#include <math.h>

enum { ROWS = 4096, COLUMNS = 512, LANES = 64, VECTORS = LANES / W, MANY = 10000000, BLOCK = 64 * ((MANY + 4095) / 4096) };

#if defined(__AVX512F__)
WIDE_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
WIDE_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
typedef __mmask16 vm;
WIDE_INLINE vm vf_nan(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); } /* either */
WIDE_INLINE vm vm_or(vm a, vm b) { return (vm)(a | b); }
WIDE_INLINE bool vm_any(vm a) { return a != 0; }
#else
WIDE_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
WIDE_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
typedef __m256 vm;
WIDE_INLINE vm vf_nan(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
WIDE_INLINE vm vm_or(vm a, vm b) { return _mm256_or_ps(a, b); }
WIDE_INLINE bool vm_any(vm a) { return _mm256_movemask_ps(a) != 0; }
#endif

WIDE_INLINE float halved(const vf *lanes)
{
    vf v[VECTORS];
    float t[W];
    for (int i = 0; i < VECTORS; i++) v[i] = lanes[i];
    for (int h = VECTORS / 2; h; h /= 2)
        for (int i = 0; i < h; i++) v[i] = vf_add(v[i], v[i + h]);
    vf_store(t, v[0]);
    for (int h = W / 2; h; h /= 2)
        for (int i = 0; i < h; i++) t[i] += t[i + h];
    return t[0];
}

/* Of a multiple of 64. */
static float sum_of(const float *x, int64_t n)
{
    vf s[VECTORS];
    for (int k = 0; k < VECTORS; k++) s[k] = vf_all(-0.0f);
    for (int64_t i = 0; i < n; i += LANES)
        for (int k = 0; k < VECTORS; k++) s[k] = vf_add(s[k], vf_load(x + i + k * W));
    return halved(s);
}

void limit_sum(void *const *b)
{
    const float *x = b[0];
    float sum = 0;
    for (int64_t i = 0; i < MANY; i += BLOCK) {
        float one = sum_of(x + i, i + BLOCK < MANY ? BLOCK : MANY - i);
        sum = i ? sum + one : one;
    }
    *(float *)b[1] = 0.0f + sum;
}

static void softmax_row(const float *x, float *y)
{
    vf top[4], s[VECTORS];
    vm nan = vf_nan(vf_load(x), vf_load(x + W)); /* one makes the maximum NaN; of zeros it does not matter which is the larger */
    float t[W], most;
    for (int k = 0; k < 4; k++) top[k] = vf_load(x + k * W);
    for (int i = 2 * W; i < COLUMNS; i += 2 * W) nan = vm_or(nan, vf_nan(vf_load(x + i), vf_load(x + i + W)));
    for (int i = 4 * W; i < COLUMNS; i += 4 * W)
        for (int k = 0; k < 4; k++) top[k] = vf_max(top[k], vf_load(x + i + k * W));
    vf_store(t, vf_max(vf_max(top[0], top[1]), vf_max(top[2], top[3])));
    most = t[0];
    for (int k = 1; k < W; k++) most = t[k] > most ? t[k] : most;
    vf all = vf_all(vm_any(nan) ? NAN : most);
    for (int k = 0; k < VECTORS; k++) s[k] = vf_all(-0.0f);
    for (int i = 0; i < COLUMNS; i += W) vf_store(y + i, kn_maths_exp_f32_wide(vf_sub(vf_load(x + i), all)));
    for (int i = 0; i < COLUMNS; i += LANES)
        for (int k = 0; k < VECTORS; k++) s[k] = vf_add(s[k], vf_load(y + i + k * W));
    vf sum = vf_all(0.0f + halved(s));
    for (int i = 0; i < COLUMNS; i += W) vf_store(y + i, vf_div(vf_load(y + i), sum));
}

void limit_softmax(void *const *b)
{
    for (int64_t r = 0; r < ROWS; r++) softmax_row((const float *)b[0] + r * COLUMNS, (float *)b[1] + r * COLUMNS);
}

static void layernorm_row(const float *x, const float *scale, const float *shift, float *y)
{
    vf s[VECTORS];
    float mean = (0.0f + sum_of(x, COLUMNS)) / (float)COLUMNS;
    vf m = vf_all(mean);
    for (int k = 0; k < VECTORS; k++) s[k] = vf_all(-0.0f);
    for (int i = 0; i < COLUMNS; i += LANES)
        for (int k = 0; k < VECTORS; k++) {
            vf away = vf_sub(vf_load(x + i + k * W), m);
            s[k] = vf_add(s[k], vf_mul(away, away));
        }
    vf deviation = vf_all(sqrtf((0.0f + halved(s)) / (float)COLUMNS + 1e-05f));
    for (int i = 0; i < COLUMNS; i += W) {
        vf normal = vf_div(vf_sub(vf_load(x + i), m), deviation);
        vf_store(y + i, vf_add(vf_mul(normal, vf_load(scale + i)), vf_load(shift + i)));
    }
}

void limit_layernorm(void *const *b)
{
    for (int64_t r = 0; r < ROWS; r++)
        layernorm_row((const float *)b[0] + r * COLUMNS, b[1], b[2], (float *)b[3] + r * COLUMNS);
}
