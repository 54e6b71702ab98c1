/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the shared cases, but for those that have a file of their own. */
#include "programs.h"
#include "micro.h"

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
