/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that go one by one. */
#include "micro.h"
#include "limits.h"

#include <math.h>
#include <string.h>

enum { LARGE = 4194304, LINE = 20000, TURNS = 10000, RODS = 64, STEPS = 100000, BINS = 1000 };

void limit_while_max_i32(void *const *b)
{
    const int32_t *x = b[0];
    int32_t m = -1;
    for (int32_t i = 0; i < LARGE; i++) {
        if (x[i] > m) m = x[i];
        __asm__ volatile("" : "+r"(m)); /* one by one, as the program says */
    }
    *(int32_t *)b[1] = m;
}

/* IEEE maximum by ordered integers: -0.0 < 0.0, and -inf is the least integer, so that a NaN of either sign is beyond +inf. */
void limit_while_max_f32(void *const *b)
{
    const uint32_t *x = b[0], nans = 0x7fffff;
    int32_t m = INT32_MIN;
    for (int32_t i = 0; i < LARGE; i++) {
        int32_t key = (int32_t)((x[i] ^ ((uint32_t)((int32_t)x[i] >> 31) & INT32_MAX)) - nans);
        if (key > m) m = key;
        __asm__ volatile("" : "+r"(m)); /* one by one, as the program says */
    }
    uint32_t bits = (uint32_t)m + nans;
    bits ^= (uint32_t)((int32_t)bits >> 31) & INT32_MAX;
    memcpy(b[1], &bits, sizeof bits);
}

void limit_fori_at_set(void *const *b)
{
    const float *x = b[0];
    float *y = b[1], v = x[0];
    y[0] = v;
    for (int i = 1; i < LINE; i++) y[i] = v = v * 0.5f + 1.0f;
}

void limit_scan_matmul3(void *const *b)
{
    const double *t = b[0], *start = b[1];
    double *end = b[2], *first = b[3], x[9], y[9];
    memcpy(x, start, sizeof x);
    for (int k = 0; k < TURNS; k++) {
        first[k] = x[0];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                y[3 * i + j] = fma(t[3 * i + 2], x[6 + j], fma(t[3 * i + 1], x[3 + j], t[3 * i] * x[j]));
        memcpy(x, y, sizeof x);
    }
    memcpy(end, x, sizeof x);
}

void limit_scatter_add(void *const *b)
{
    const int32_t *to = b[0];
    const float *x = b[1];
    float *sum = b[2];
    memset(sum, 0, BINS * sizeof *sum);
    for (int i = 0; i < 1000000; i++)
        if ((uint32_t)to[i] < BINS) sum[to[i]] += x[i];
}

void limit_segment_sum(void *const *b)
{
    typedef float row __attribute__((vector_size(32), aligned(4), may_alias));
    const int32_t *to = b[0];
    const row *x = b[1];
    row *sum = b[2];
    memset(sum, 0, BINS * sizeof *sum);
    for (int i = 0; i < 200000; i++)
        if ((uint32_t)to[i] < BINS) sum[to[i]] += x[i];
}

void limit_sin_exp_1e6(void *const *b) { limit_sin_exp(b[0], b[1], 1000000); }

static void rod_step(const double *restrict u, double *restrict v, double factor)
{
    for (int i = 1; i <= RODS; i++) v[i] = u[i] + factor * (u[i + 1] - 2.0 * u[i] + u[i - 1]);
}

void limit_heat_rod(void *const *b)
{
    double u[RODS + 2], v[RODS + 2], factor = *(double *)b[1];
    u[0] = v[0] = *(double *)b[2];
    u[RODS + 1] = v[RODS + 1] = *(double *)b[3];
    memcpy(u + 1, b[0], RODS * sizeof *u);
    for (int k = 0; k < STEPS; k += 2) {
        rod_step(u, v, factor);
        rod_step(v, u, factor);
    }
    memcpy(b[4], u + 1, RODS * sizeof *u);
}
