/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the shared cases, but for those that have a file of their own. */
#include "programs.h"
#include "micro.h"

#include <math.h>
#include <string.h>

/* ---- like a program of programs/, but for a size or the order of inputs ---- */

void limit_fori_at_set_40000(void *const *b)
{
    const float *x = b[0];
    float *y = b[1], v = x[0];
    y[0] = v;
    for (int i = 1; i < 40000; i++) y[i] = v = v * 0.5f + 1.0f;
}

void limit_segment_sum_of(void *const *b) { limit_segment_sum((void *const[]){b[1], b[0], b[2]}); }

/* ---- the gradient of: x[i + 1] = x[i], row after row; the sum of the last one ---- */

enum { ROW = 100 };

static void grad_scan(float *g, int rows)
{
    memset(g, 0, (size_t)(rows - 1) * ROW * sizeof *g);
    for (int k = 0; k < ROW; k++) g[(rows - 1) * ROW + k] = 1;
    for (int r = rows - 1; r > 0; r--)
        for (int k = 0; k < ROW; k++) {
            g[(r - 1) * ROW + k] += g[r * ROW + k];
            g[r * ROW + k] = 0;
        }
}

void limit_grad_scan_at_set_500(void *const *b) { grad_scan(b[1], 500); }
void limit_grad_scan_at_set_1000(void *const *b) { grad_scan(b[1], 1000); }

/* ---- three bodies in the plane, leapfrog ---- */

enum { BODIES = 3, STEPS = 100000 };

/* The distance of a pair is computed once. A body's own term is m (x - x) over the cube of a distance that is 1, or no number: then a product
 * is as good as the quotient. The sum over three bodies stands in four chains that combine by halving: first and third, then the second. */
static inline __attribute__((always_inline)) void accelerations(const double *x, const double *m, double *a)
{
    double d[BODIES][2], cube[BODIES], one[BODIES]; /* pairs 01, 02, 12 */
    for (int i = 0; i < BODIES; i++) {
        double none[2] = {x[2 * i] - x[2 * i], x[2 * i + 1] - x[2 * i + 1]};
        one[i] = none[0] * none[0] + none[1] * none[1] + 1.0;
    }
    for (int p = 0; p < BODIES; p++) {
        int i = p == 2, j = p == 0 ? 1 : 2;
        for (int c = 0; c < 2; c++) d[p][c] = x[2 * j + c] - x[2 * i + c];
        double square = 0.0 + (d[p][0] * d[p][0] + d[p][1] * d[p][1]);
        cube[p] = square * sqrt(square);
    }
    for (int c = 0; c < 2; c++) {
        double own[BODIES];
        for (int i = 0; i < BODIES; i++) own[i] = m[i] * (x[2 * i + c] - x[2 * i + c]) * one[i];
        a[c] = 0.0 + (own[0] + m[2] * d[1][c] / cube[1] + m[1] * d[0][c] / cube[0]);
        a[2 + c] = 0.0 + (m[0] * -d[0][c] / cube[0] + m[2] * d[2][c] / cube[2] + own[1]);
        a[4 + c] = 0.0 + (m[0] * -d[1][c] / cube[1] + own[2] + m[1] * -d[2][c] / cube[2]);
    }
}

void limit_leapfrog_3body(void *const *b)
{
    const double *m = b[2], dt = *(const double *)b[3];
    double x[6], v[6], a[6];
    memcpy(x, b[0], sizeof x);
    memcpy(v, b[1], sizeof v);
    accelerations(x, m, a);
    for (int t = 0; t < STEPS; t++) {
        for (int k = 0; k < 6; k++) x[k] += dt * (v[k] += 0.5 * dt * a[k]);
        accelerations(x, m, a);
        for (int k = 0; k < 6; k++) v[k] += 0.5 * dt * a[k];
    }
    memcpy(b[4], x, sizeof x);
    memcpy(b[5], v, sizeof v);
}
