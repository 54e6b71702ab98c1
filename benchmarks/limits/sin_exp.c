/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "wide_maths.h"

#include <string.h>

WIDE_INLINE vf both(vf x) { return vf_mul(kn_maths_sin_f32_wide(x), kn_maths_exp_f32_wide(-x)); }

void limit_sin_exp(const float *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + W <= n; i += W) vf_store(y + i, both(vf_load(x + i)));
    if (i < n) {
        float part[W] = {0};
        memcpy(part, x + i, (size_t)(n - i) * sizeof *x);
        vf_store(part, both(vf_load(part)));
        memcpy(y + i, part, (size_t)(n - i) * sizeof *x);
    }
}
