/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length, computed in double: mixed radix, and Bluestein's chirp for long prime factors. */
#ifndef KN_RT_FFT_H
#define KN_RT_FFT_H

#include "base/ctx.h"

#include <stdint.h>

typedef struct kn_complex {
    double re, im;
} kn_complex;

typedef struct kn_fft kn_fft;
/* A plan for length n >= 1; `sign` is -1 (forward) or +1 (backward, not scaled). */
kiln_status kn_fft_new(kiln_ctx *ctx, int64_t n, int sign, kn_fft **out);
void kn_fft_free(kn_fft *f);
void kn_fft_run(kn_fft *f, kn_complex *x); /* in place */

#endif
