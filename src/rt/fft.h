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
/* A plan for length n >= 1 in the arena; `sign` is -1 (forward) or +1 (backward, not scaled). Plans are only read. */
kiln_status kn_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_fft **out);
int64_t kn_fft_room(int64_t n); /* numbers of workspace that a run needs */
void kn_fft_run(const kn_fft *f, kn_complex *x, kn_complex *room); /* in place */

#endif
