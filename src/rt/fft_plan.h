/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan: its passes. */
#ifndef KN_RT_FFT_PLAN_H
#define KN_RT_FFT_PLAN_H

#include "rt/fft.h"

enum { KN_FFT_FACTORS = 64, KN_FFT_LONGEST = 61 }; /* longer prime factors go through the chirp */

/* Of n numbers, the product of the radices before being s: groups of s numbers side by side, r groups m apart make a butterfly. */
typedef struct kn_fft_pass {
    int64_t radix, m, s;
    const kn_complex *twiddle; /* [m][radix - 1]: the roots of radix * m */
    const kn_complex *root;    /* exp(2 pi i k/radix), k < radix; sign not in it */
} kn_fft_pass;

/* All passes over `lanes` lines, from x to itself; room of the same size. */
typedef void (*kn_fft_passes)(const struct kn_fft *f, double *re, double *im, int64_t lanes, double *room);

struct kn_fft {
    int64_t n;
    int sign;
    uint32_t n_passes;
    kn_fft_pass passes[KN_FFT_FACTORS];
    kn_fft_passes run;
    /* Bluestein: n is replaced by a power of two m >= 2n - 1 */
    const kn_fft *forward, *backward;
    kn_complex *chirp, *kernel;
    int64_t m;
};

kn_fft_passes kn_fft_passes_here(void); /* those for this processor: the same bits, wider registers */

#endif
