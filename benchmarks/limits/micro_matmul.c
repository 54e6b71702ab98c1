/* SPDX-License-Identifier: Apache-2.0 */
/* f32 products of square matrices: chains of fma in blocks of 256, in tiles of 8 rows and two vectors; the panel of the right operand
 * copied to neighbouring rows where its own are far apart. */
#include "micro.h"
#include "wide.h"

#include <string.h>

enum { ROWS = 8, BLOCK = 256, PANEL = 2 * W };

#if defined(__AVX512F__)
WIDE_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
#else
WIDE_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
#endif

/* c: rows `n` apart; panel: rows `step` apart; vectors: of the panel; block: number of this block of k. */
WIDE_INLINE void tile(const float *a, const float *panel, float *c, int n, int step, int k, int rows, int vectors, int block)
{
    vf s[ROWS][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) s[r][v] = vf_all(-0.0f);
    for (int i = 0; i < k; i++)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                s[r][v] = vf_fma(vf_all(a[r * n + i]), vf_load(panel + i * step + v * W), s[r][v]);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            float *to = c + r * n + v * W;
            vf_store(to, block ? vf_add(vf_load(to), s[r][v]) : s[r][v]);
        }
}

WIDE_INLINE void direct(void *const *b, int n, int rows, int vectors)
{
    for (int j = 0; j < n; j += vectors * W)
        for (int i = 0; i < n; i += rows)
            tile((const float *)b[0] + i * n, (const float *)b[1] + j, (float *)b[2] + i * n + j, n, n, n, rows, vectors, 0);
}

void limit_matmul_8(void *const *b)
{
    const float *x = b[0], *y = b[1];
    float *c = b[2];
    __m256 s[8];
    for (int r = 0; r < 8; r++) s[r] = _mm256_set1_ps(-0.0f);
    for (int i = 0; i < 8; i++)
        for (int r = 0; r < 8; r++) s[r] = _mm256_fmadd_ps(_mm256_set1_ps(x[r * 8 + i]), _mm256_loadu_ps(y + i * 8), s[r]);
    for (int r = 0; r < 8; r++) _mm256_storeu_ps(c + r * 8, s[r]);
}

void limit_matmul_32(void *const *b) { direct(b, 32, W == 16 ? 8 : 4, 2); }
void limit_matmul_64(void *const *b) { direct(b, 64, W == 16 ? 8 : 4, 2); }

void limit_matmul_512(void *const *b)
{
    enum { N = 512, TALL = W == 16 ? 8 : 4 };
    static _Thread_local float panel[BLOCK * PANEL] __attribute__((aligned(64)));
    const float *x = b[0], *y = b[1];
    for (int j = 0; j < N; j += PANEL)
        for (int k = 0; k < N; k += BLOCK) {
            for (int i = 0; i < BLOCK; i++) memcpy(panel + i * PANEL, y + (k + i) * N + j, PANEL * sizeof *panel);
            for (int i = 0; i < N; i += TALL)
                tile(x + i * N + k, panel, (float *)b[2] + i * N + j, N, PANEL, BLOCK, TALL, 2, k);
        }
}
