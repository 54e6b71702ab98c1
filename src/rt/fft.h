/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length, computed in double: Stockham's self-sorting mixed radix, and Bluestein's chirp for long prime
 * factors. Several lines are transformed side by side: number k of line l stands at k * lanes + l, real and imaginary parts apart. What a line
 * becomes does not depend on its neighbours, nor on their number. */
#ifndef KN_RT_FFT_H
#define KN_RT_FFT_H

#include "base/ctx.h"

#include <stdint.h>

enum { KN_FFT_LANES = 8 }; /* lines side by side, where there is more than one: a vector of them */

typedef struct kn_complex {
    double re, im;
} kn_complex;

/* exp(2 pi i k/n), 0 <= k < n, with the angle brought into the first octant, so that the symmetries hold exactly. */
kn_complex kn_fft_unit(int64_t k, int64_t n);

typedef struct kn_fft kn_fft;
/* A plan for length n >= 1 in the arena; `sign` is -1 (forward) or +1 (backward, not scaled). Plans are only read. */
kiln_status kn_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_fft **out);
int64_t kn_fft_room(int64_t n); /* doubles of workspace per lane that a run needs */
double kn_fft_cost(int64_t n);  /* of one lane, as of a loop (loop/split.c) */
void kn_fft_run(const kn_fft *f, double *re, double *im, int64_t lanes, double *room); /* in place */

/* Lines of an array, of pairs of f64 (`wide`) or f32: complex numbers, or reals two by two. */
typedef struct kn_fft_lines {
    char *line[KN_FFT_LANES]; /* the first pair of each of the n lines; lanes without a line have the first one's */
    int64_t n, lanes, step;   /* pairs of a line are `step` pairs apart */
    bool wide, together;      /* together: eight lines whose pairs stand side by side */
} kn_fft_lines;

/* The first `count` pairs of lines into lanes, and back: divided by `scale`, a whole number, and rounded. */
typedef struct kn_fft_transfers {
    void (*gather)(const kn_fft_lines *v, int64_t count, double *re, double *im);
    void (*spread)(const kn_fft_lines *v, int64_t count, double scale, const double *re, const double *im);
} kn_fft_transfers;
kn_fft_transfers kn_fft_transfers_here(void); /* those for this processor: the same bits, wider registers */

/* Of real numbers: forward to the first n/2 + 1 of the spectrum, backward from them (the imaginary parts of the first, and of the last for even
 * n, are not looked at). An even length takes a complex transform of half of it (Numerical Recipes, 12.3). */
typedef struct kn_real_fft kn_real_fft;
kiln_status kn_real_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_real_fft **out);
int64_t kn_real_fft_room(int64_t n);
double kn_real_fft_cost(int64_t n);
/* Where real number k of a line stands: part of the complex number, among re or im. */
bool kn_real_fft_packed(int64_t n); /* k / 2, even ones in re, odd ones in im; otherwise k in re, and im is zero */
/* Forward: numbers so packed become the spectrum; backward: the other way. re and im hold n/2 + 1 numbers a lane at least, n for odd n. */
void kn_real_fft_run(const kn_real_fft *f, double *re, double *im, int64_t lanes, double *room);

#endif
