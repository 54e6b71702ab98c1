/* SPDX-License-Identifier: Apache-2.0 */
/* D2Q9 flow past a disc, 128 x 128 cells, 100 steps: outflow at the last row, a given velocity at the first one, BGK collision, bounce back at
 * the mask, streaming to periodic neighbours. A step is one pass over the cells: nothing but the populations passes through memory,
 * and both of their buffers stay in the second cache. Populations i and 8 - i are opposite. */
#include "programs.h"
#include "wide.h"

#include <stdlib.h>
#include <string.h>

enum { Q = 9, N = 128, CELLS = N * N, STEPS = 100 };

#if defined(__AVX512F__)
WIDE_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
WIDE_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
/* b where the byte is not 0 */
WIDE_INLINE vf vf_select(const uint8_t *p, vf a, vf b)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return _mm512_mask_blend_ps(_mm_test_epi8_mask(bytes, bytes), a, b);
}
#else
WIDE_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
WIDE_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
WIDE_INLINE vf vf_select(const uint8_t *p, vf a, vf b)
{
    __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(_mm256_cmpeq_epi32(words, _mm256_setzero_si256())));
}
#endif

static const float weight[Q] = {0.027777778f, 0.111111112f, 0.027777778f, 0.111111112f, 0.444444448f, 0.111111112f, 0.027777778f, 0.111111112f, 0.027777778f};
static const int along[2][Q] = {{1, 1, 1, 0, 0, 0, -1, -1, -1}, {1, 0, -1, 1, 0, -1, 1, 0, -1}};

/* x + c y, c being -1, 0 or 1: 0 y is no 0 where y is infinite */
WIDE_INLINE vf add_along(int c, vf y, vf x) { return c == 1 ? vf_add(x, y) : c == -1 ? vf_sub(x, y) : vf_fma(vf_all(0), y, x); }

typedef struct moments {
    vf density, u[2];
} moments;

WIDE_INLINE moments moments_of(const vf *f)
{
    moments m;
    vf flow[2] = {vf_all(-0.0f), vf_all(-0.0f)};
    m.density = vf_all(-0.0f);
    for (int i = 0; i < Q; i++) m.density = vf_add(m.density, f[i]);
    m.density = vf_add(vf_all(0), m.density);
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < Q; i++) flow[d] = add_along(along[d][i], f[i], flow[d]);
        m.u[d] = vf_div(flow[d], m.density);
    }
    return m;
}

WIDE_INLINE void equilibrium(const moments *m, vf *e)
{
    vf speed = vf_add(vf_all(0), vf_add(vf_mul(m->u[0], m->u[0]), vf_mul(m->u[1], m->u[1])));
    vf less = vf_mul(vf_all(1.5f), speed);
    for (int i = 0; i < Q; i++) {
        vf one = add_along(along[1][i], m->u[1], add_along(along[0][i], m->u[0], vf_all(-0.0f))), c = vf_mul(vf_all(3), one);
        vf series = vf_add(vf_add(vf_all(1), c), vf_mul(vf_all(0.5f), vf_mul(c, c)));
        e[i] = vf_mul(vf_mul(m->density, vf_all(weight[i])), vf_sub(series, less));
    }
}

WIDE_INLINE vf sum3(const vf *f) { return vf_add(vf_all(0), vf_add(vf_add(f[0], f[1]), f[2])); }

/* The first row: its velocity is given, and what comes from outside is made to fit. */
WIDE_INLINE void inflow(const float *given, moments *m, const vf *f)
{
    for (int d = 0; d < 2; d++) m->u[d] = vf_load(given + d * N);
    m->density = vf_div(vf_add(sum3(f + 3), vf_mul(vf_all(2), sum3(f + 6))), vf_sub(vf_all(1), m->u[0]));
}

WIDE_INLINE void complete(vf *f, const vf *e)
{
    for (int i = 0; i < 3; i++) f[i] = vf_sub(vf_add(e[i], f[8 - i]), e[8 - i]);
}

/* One row, streamed; `first`: the row of the inflow. */
WIDE_INLINE void row(const float *from, float *to, int x, bool first, const float *given, const uint8_t *solid, float rate)
{
    float out[Q][N];
    for (int y = 0; y < N; y += W) {
        vf f[Q], e[Q], omega = vf_all(rate);
        for (int i = 0; i < Q; i++) f[i] = vf_load(from + i * CELLS + (x == N - 1 && i >= 6 ? x - 1 : x) * N + y);
        moments m = moments_of(f);
        if (first) inflow(given + y, &m, f);
        equilibrium(&m, e);
        if (first) complete(f, e);
        for (int i = 0; i < Q; i++) {
            vf collided = vf_sub(f[i], vf_mul(omega, vf_sub(f[i], e[i])));
            vf_store(out[i] + y, vf_select(solid + x * N + y, collided, f[8 - i]));
        }
    }
    for (int i = 0; i < Q; i++) {
        float *line = to + i * CELLS + ((x + along[0][i]) & (N - 1)) * N;
        int shift = along[1][i];
        memcpy(line + (shift > 0), out[i] + (shift < 0), (N - (shift != 0)) * sizeof *line);
        if (shift) line[shift > 0 ? 0 : N - 1] = out[i][shift > 0 ? N - 1 : 0];
    }
}

void limit_lbm(void *const *b)
{
    static _Thread_local float other[Q * CELLS] __attribute__((aligned(64)));
    const float *given = b[1], rate = *(const float *)b[3];
    const uint8_t *solid = b[2];
    float *state = b[4], *density = b[5], *velocity = b[6];
    memcpy(state, b[0], sizeof other);
    for (int t = 0; t < STEPS; t++) {
        const float *from = t % 2 ? other : state;
        float *to = t % 2 ? state : other;
        row(from, to, 0, true, given, solid, rate);
        for (int x = 1; x < N; x++) row(from, to, x, false, given, solid, rate);
    }
    for (int k = 0; k < CELLS; k += W) {
        vf f[Q];
        for (int i = 0; i < Q; i++) f[i] = vf_load(state + i * CELLS + k);
        moments m = moments_of(f);
        vf_store(density + k, m.density);
        for (int d = 0; d < 2; d++) vf_store(velocity + d * CELLS + k, m.u[d]);
    }
}
