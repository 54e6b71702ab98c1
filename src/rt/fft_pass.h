/* SPDX-License-Identifier: Apache-2.0 */
/* One pass, over LANE (a number, or a vector of them); included once for each. Decimation in frequency: of the numbers x_i, i < radix, that
 * stand m groups apart, y_k = w^k sum_i x_i exp(sign 2 pi i ik/radix), side by side. */

/* At position j of x and y. */
#define AT(p, i) (*(LANE *)(void *)((p) + (i)))
#define READ(p, i) (*(const LANE *)(const void *)((p) + (i)))
/* y_k of re and im, turned by w. A pass reads all of a butterfly before it writes. */
#define TURNED(k, a_, b_, t_) (AT(yr, (k)*width) = (a_) * (t_).re - (b_) * (t_).im, AT(yi, (k)*width) = (a_) * (t_).im + (b_) * (t_).re)

enum { NAME(count) = sizeof(LANE) / sizeof(double) };

/* Every butterfly of the pass, with xr, xi, yr, yi at its first number and w its twiddles. */
#define EACH(radix) \
    for (int64_t q = 0; q < p->m; q++) \
        for (int64_t j = 0; j < width; j += NAME(count)) { \
            const double *xr = ar + q * width + j, *xi = ai + q * width + j; \
            double *yr = br + q * (radix) * width + j, *yi = bi + q * (radix) * width + j; \
            const kn_complex *w = p->twiddle + q * ((radix) - 1);
#define END }

static inline __attribute__((always_inline)) void NAME(radix2)(const kn_fft_pass *p, const double *ar, const double *ai, double *br, double *bi, int64_t width)
{
    const int64_t apart = p->m * width;
    EACH(2)
        LANE a = READ(xr, 0), b = READ(xi, 0), c = READ(xr, apart), d = READ(xi, apart), e = a - c, f = b - d;
        AT(yr, 0) = a + c, AT(yi, 0) = b + d;
        TURNED(1, e, f, w[0]);
    END
}

static inline __attribute__((always_inline)) void NAME(radix4)(const kn_fft_pass *p, double sign, const double *ar, const double *ai, double *br, double *bi,
                                                               int64_t width)
{
    const int64_t apart = p->m * width;
    EACH(4)
        LANE ar0 = READ(xr, 0), ai0 = READ(xi, 0), ar1 = READ(xr, apart), ai1 = READ(xi, apart);
        LANE ar2 = READ(xr, 2 * apart), ai2 = READ(xi, 2 * apart), ar3 = READ(xr, 3 * apart), ai3 = READ(xi, 3 * apart);
        LANE er = ar0 + ar2, ei = ai0 + ai2, fr = ar0 - ar2, fi = ai0 - ai2, gr = ar1 + ar3, gi = ai1 + ai3;
        LANE hr = (ai3 - ai1) * sign, hi = (ar1 - ar3) * sign; /* sign i (x_1 - x_3) */
        LANE r1 = fr + hr, i1 = fi + hi, r2 = er - gr, i2 = ei - gi, r3 = fr - hr, i3 = fi - hi;
        AT(yr, 0) = er + gr, AT(yi, 0) = ei + gi;
        TURNED(1, r1, i1, w[0]);
        TURNED(2, r2, i2, w[1]);
        TURNED(3, r3, i3, w[2]);
    END
}

/* Sums over the even and the odd numbers, of which the latter are turned by eighths. */
static inline __attribute__((always_inline)) void NAME(radix8)(const kn_fft_pass *p, double sign, const double *ar, const double *ai, double *br, double *bi,
                                                               int64_t width)
{
    const int64_t apart = p->m * width;
    const double half = 0.70710678118654752440; /* its root */
/* Four numbers from the first one at `first` on, two apart: e, o; names of their sums begin with s. */
#define FOURTHS(s, first) \
    LANE s##x0 = READ(xr, (first)*apart), s##y0 = READ(xi, (first)*apart), s##x1 = READ(xr, ((first) + 2) * apart), s##y1 = READ(xi, ((first) + 2) * apart); \
    LANE s##x2 = READ(xr, ((first) + 4) * apart), s##y2 = READ(xi, ((first) + 4) * apart); \
    LANE s##x3 = READ(xr, ((first) + 6) * apart), s##y3 = READ(xi, ((first) + 6) * apart); \
    LANE s##er = s##x0 + s##x2, s##ei = s##y0 + s##y2, s##fr = s##x0 - s##x2, s##fi = s##y0 - s##y2; \
    LANE s##gr = s##x1 + s##x3, s##gi = s##y1 + s##y3, s##hr = (s##y3 - s##y1) * sign, s##hi = (s##x1 - s##x3) * sign; \
    LANE s##r0 = s##er + s##gr, s##i0 = s##ei + s##gi, s##r1 = s##fr + s##hr, s##i1 = s##fi + s##hi; \
    LANE s##r2 = s##er - s##gr, s##i2 = s##ei - s##gi, s##r3 = s##fr - s##hr, s##i3 = s##fi - s##hi
    EACH(8)
        FOURTHS(e, 0);
        FOURTHS(o, 1);
        LANE r1 = (or1 - oi1 * sign) * half, i1 = (oi1 + or1 * sign) * half, r2 = oi2 * -sign, i2 = or2 * sign;
        LANE r3 = (or3 + oi3 * sign) * -half, i3 = (or3 * sign - oi3) * half;
        LANE y1r = er1 + r1, y1i = ei1 + i1, y2r = er2 + r2, y2i = ei2 + i2, y3r = er3 + r3, y3i = ei3 + i3, y4r = er0 - or0, y4i = ei0 - oi0;
        LANE y5r = er1 - r1, y5i = ei1 - i1, y6r = er2 - r2, y6i = ei2 - i2, y7r = er3 - r3, y7i = ei3 - i3;
        AT(yr, 0) = er0 + or0, AT(yi, 0) = ei0 + oi0;
        TURNED(1, y1r, y1i, w[0]);
        TURNED(2, y2r, y2i, w[1]);
        TURNED(3, y3r, y3i, w[2]);
        TURNED(4, y4r, y4i, w[3]);
        TURNED(5, y5r, y5i, w[4]);
        TURNED(6, y6r, y6i, w[5]);
        TURNED(7, y7r, y7i, w[6]);
    END
#undef FOURTHS
}

/* An odd radix: pairs i, radix - i have the same cosine and opposite sines. */
static inline __attribute__((always_inline)) void NAME(odd)(const kn_fft_pass *p, int64_t radix, double sign, const double *ar, const double *ai, double *br,
                                                            double *bi, int64_t width)
{
    const int64_t apart = p->m * width, half = radix / 2;
    EACH(radix)
        LANE plus_r[KN_FFT_LONGEST / 2 + 1], plus_i[KN_FFT_LONGEST / 2 + 1], minus_r[KN_FFT_LONGEST / 2 + 1], minus_i[KN_FFT_LONGEST / 2 + 1];
        LANE r0 = READ(xr, 0), i0 = READ(xi, 0), sum_r = r0, sum_i = i0;
        for (int64_t i = 1; i <= half; i++) {
            LANE r = READ(xr, i * apart), s = READ(xi, i * apart), t = READ(xr, (radix - i) * apart), u = READ(xi, (radix - i) * apart);
            plus_r[i] = r + t, plus_i[i] = s + u, minus_r[i] = r - t, minus_i[i] = s - u;
            sum_r = sum_r + plus_r[i], sum_i = sum_i + plus_i[i];
        }
        AT(yr, 0) = sum_r, AT(yi, 0) = sum_i;
        for (int64_t k = 1; k <= half; k++) {
            LANE cr = r0, ci = i0, sr = minus_r[1] * p->root[k].im, si = minus_i[1] * p->root[k].im;
            for (int64_t i = 1, at = k; i <= half; i++) {
                cr = cr + plus_r[i] * p->root[at].re, ci = ci + plus_i[i] * p->root[at].re;
                if (i > 1) sr = sr + minus_r[i] * p->root[at].im, si = si + minus_i[i] * p->root[at].im;
                at += k;
                if (at >= radix) at -= radix;
            }
            LANE tr = si * -sign, ti = sr * sign; /* sign i s */
            LANE r = cr + tr, s = ci + ti, t = cr - tr, u = ci - ti;
            TURNED(k, r, s, w[k - 1]);
            TURNED(radix - k, t, u, w[radix - k - 1]);
        }
    END
}

static inline __attribute__((always_inline)) void NAME(pass)(const kn_fft_pass *p, int sign, const double *ar, const double *ai, double *br, double *bi,
                                                             int64_t width)
{
    switch (p->radix) {
    case 2: NAME(radix2)(p, ar, ai, br, bi, width); break;
    case 4: NAME(radix4)(p, sign, ar, ai, br, bi, width); break;
    case 8: NAME(radix8)(p, sign, ar, ai, br, bi, width); break;
    case 3: NAME(odd)(p, 3, sign, ar, ai, br, bi, width); break;
    case 5: NAME(odd)(p, 5, sign, ar, ai, br, bi, width); break;
    default: NAME(odd)(p, p->radix, sign, ar, ai, br, bi, width);
    }
}

#undef AT
#undef READ
#undef TURNED
#undef EACH
#undef END
