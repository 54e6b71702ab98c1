/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of T of an array to lanes and back; included once for each T. EIGHT: eight of them in a row. */

#define READ(p) __builtin_convertvector(*(const EIGHT *)(const void *)(p), eight)
#define WRITE(p, v) (*(EIGHT *)(void *)(p) = __builtin_convertvector(v, EIGHT))

INLINE void NAME(gather_together)(const kn_fft_lines *v, int64_t count, double *re, double *im)
{
    const int64_t step = 2 * v->step;
    const T *x = (const T *)(const void *)v->line[0];
    for (int64_t i = 0; i < count; i++, x += step, re += KN_FFT_LANES, im += KN_FFT_LANES) {
        if (i + AHEAD < count) __builtin_prefetch(x + AHEAD * step), __builtin_prefetch(x + AHEAD * step + KN_FFT_LANES);
        eight a = READ(x), b = READ(x + 8);
        AT(re) = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        AT(im) = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    }
}

INLINE void NAME(spread_together)(const kn_fft_lines *v, int64_t count, double scale, bool divides, const double *re, const double *im)
{
    const int64_t step = 2 * v->step;
    T *y = (T *)(void *)v->line[0];
    for (int64_t i = 0; i < count; i++, y += step, re += KN_FFT_LANES, im += KN_FFT_LANES) {
        if (i + AHEAD < count) __builtin_prefetch(y + AHEAD * step, 1), __builtin_prefetch(y + AHEAD * step + KN_FFT_LANES, 1);
        eight a = SCALED(SOME(re)), b = SCALED(SOME(im));
        WRITE(y, __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
        WRITE(y + 8, __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
    }
}

/* Lines whose pairs follow each other: four of each line at a time. */
INLINE int64_t NAME(gather_rows)(const kn_fft_lines *v, int64_t count, double *re, double *im)
{
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, re += 4 * KN_FFT_LANES, im += 4 * KN_FFT_LANES) {
#define ROW(l) READ((const T *)(const void *)v->line[l] + 2 * i)
        eight a = ROW(0), b = ROW(1), c = ROW(2), d = ROW(3), e = ROW(4), f = ROW(5), g = ROW(6), h = ROW(7);
#undef ROW
        TRANSPOSE(a, b, c, d, e, f, g, h);
        AT(re) = a, AT(im) = b, AT(re + 8) = c, AT(im + 8) = d, AT(re + 16) = e, AT(im + 16) = f, AT(re + 24) = g, AT(im + 24) = h;
    }
    return i;
}

INLINE int64_t NAME(spread_rows)(const kn_fft_lines *v, int64_t count, double scale, bool divides, const double *re, const double *im)
{
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, re += 4 * KN_FFT_LANES, im += 4 * KN_FFT_LANES) {
        eight a = SCALED(SOME(re)), b = SCALED(SOME(im)), c = SCALED(SOME(re + 8)), d = SCALED(SOME(im + 8));
        eight e = SCALED(SOME(re + 16)), f = SCALED(SOME(im + 16)), g = SCALED(SOME(re + 24)), h = SCALED(SOME(im + 24));
        TRANSPOSE(a, b, c, d, e, f, g, h);
#define ROW(l, x) WRITE((T *)(void *)v->line[l] + 2 * i, x)
        ROW(0, a), ROW(1, b), ROW(2, c), ROW(3, d), ROW(4, e), ROW(5, f), ROW(6, g), ROW(7, h);
#undef ROW
    }
    return i;
}

INLINE void NAME(gather)(const kn_fft_lines *v, int64_t count, double *re, double *im)
{
    const int64_t step = 2 * v->step, lanes = v->lanes;
    if (v->together) {
        NAME(gather_together)(v, count, re, im);
        return;
    }
    for (int64_t i = lanes == KN_FFT_LANES && step == 2 ? NAME(gather_rows)(v, count, re, im) : 0; i < count; i++)
        for (int64_t l = 0; l < lanes; l++) {
            const T *x = (const T *)(const void *)v->line[l] + i * step;
            re[i * lanes + l] = (double)x[0], im[i * lanes + l] = (double)x[1];
        }
}

INLINE void NAME(spread)(const kn_fft_lines *v, int64_t count, double scale, bool divides, const double *re, const double *im)
{
    const int64_t step = 2 * v->step, lanes = v->lanes;
    if (v->together) {
        NAME(spread_together)(v, count, scale, divides, re, im);
        return;
    }
    for (int64_t i = v->n == KN_FFT_LANES && step == 2 ? NAME(spread_rows)(v, count, scale, divides, re, im) : 0; i < count; i++)
        for (int64_t l = 0; l < v->n; l++) {
            T *y = (T *)(void *)v->line[l] + i * step;
            y[0] = (T)SCALED(re[i * lanes + l]), y[1] = (T)SCALED(im[i * lanes + l]);
        }
}

#undef READ
#undef WRITE
