/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

const limit_rods_params limit_rods_case = {
    .dt = (float)(0.2 / (LIMIT_CELLS * LIMIT_CELLS) / 0.1),
    .alpha = 0.1f,
    .length = 1,
    .max_iterations = 20,
    .tolerance = 1e-5,
};

void limit_rods_start(limit_rods *s)
{
    *s = (limit_rods){0};
    for (int i = 0; i < LIMIT_CELLS; i++) {
        double x = (i + 0.5) * 1.0 / (double)LIMIT_CELLS;
        s->hot[i] = (float)(300 + 60 * sin(pi * x));
        s->cold[i] = (float)(320 - 20 * x);
    }
}
