/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of real numbers. Even length n: z_k = x_2k + i x_2k+1 has the spectrum Z; with h = n/2 and w = exp(-2 pi i/n),
 *   X_k = (Z_k + conj Z_h-k)/2 - i/2 w^k (Z_k - conj Z_h-k), k <= h, Z_h = Z_0,
 * and back, not scaled, Z_k = (X_k + conj X_h-k) + i w^-k (X_k - conj X_h-k). */
#include "rt/fft.h"

struct kn_real_fft {
    int64_t n;
    int sign;
    const kn_fft *complex; /* of n/2, or n */
    kn_complex *turn;      /* exp(sign 2 pi i k/n), k <= n/2 */
};

bool kn_real_fft_packed(int64_t n) { return n % 2 == 0; }

static int64_t complex_length(int64_t n) { return kn_real_fft_packed(n) ? n / 2 : n; }

kiln_status kn_real_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_real_fft **out)
{
    kn_real_fft *f = KN_NEW(arena, kn_real_fft);
    KILN_TRY_MEM(ctx, f);
    f->n = n;
    f->sign = sign;
    *out = f;
    KILN_TRY_MEM(ctx, f->turn = KN_NEWN(arena, kn_complex, n / 2 + 1));
    for (int64_t k = 0; k <= n / 2; k++) {
        f->turn[k] = kn_fft_unit(k, n + (n == 1));
        if (sign < 0) f->turn[k].im = -f->turn[k].im;
    }
    return kn_fft_new(ctx, arena, complex_length(n), sign, &f->complex);
}

int64_t kn_real_fft_room(int64_t n) { return kn_fft_room(complex_length(n)); }

double kn_real_fft_cost(int64_t n) { return kn_fft_cost(complex_length(n)) + (double)n; }

/* Both ends of a pair, k and h - k, k < h - k: first scaled sums, then the differences turned by v: halves of the two formulas. */
static void pair(double *ar, double *ai, double *br, double *bi, double scale, double vr, double vi, int64_t lanes)
{
    for (int64_t l = 0; l < lanes; l++) {
        double er = (ar[l] + br[l]) * scale, ei = (ai[l] - bi[l]) * scale, dr = (ar[l] - br[l]) * scale, di = (ai[l] + bi[l]) * scale;
        double tr = dr * vr - di * vi, ti = dr * vi + di * vr;
        ar[l] = er + tr, ai[l] = ei + ti;
        br[l] = er - tr, bi[l] = ti - ei;
    }
}

/* Pairs strictly inside, and the number in the middle, which is its own partner. */
static void pairs(const kn_real_fft *f, double *re, double *im, double scale, int64_t lanes)
{
    int64_t h = f->n / 2;
    for (int64_t k = 1; 2 * k <= h; k++) {
        double *ar = re + k * lanes, *ai = im + k * lanes, *br = re + (h - k) * lanes, *bi = im + (h - k) * lanes;
        /* forward: -i w^k, backward: i w^-k */
        double vr = f->sign < 0 ? f->turn[k].im : -f->turn[k].im, vi = f->sign < 0 ? -f->turn[k].re : f->turn[k].re;
        if (2 * k < h) pair(ar, ai, br, bi, scale, vr, vi, lanes);
        else
            for (int64_t l = 0; l < lanes; l++) { /* w^k = -+i: the conjugate, twice of it backward */
                ar[l] = ar[l] * (2 * scale);
                ai[l] = -ai[l] * (2 * scale);
            }
    }
}

static void forward(const kn_real_fft *f, double *re, double *im, int64_t lanes)
{
    int64_t h = f->n / 2;
    for (int64_t l = 0; l < lanes; l++) {
        double a = re[l], b = im[l];
        re[l] = a + b, im[l] = 0;
        re[h * lanes + l] = a - b, im[h * lanes + l] = 0;
    }
    pairs(f, re, im, 0.5, lanes);
}

static void backward(const kn_real_fft *f, double *re, double *im, int64_t lanes)
{
    int64_t h = f->n / 2;
    for (int64_t l = 0; l < lanes; l++) {
        double a = re[l], b = re[h * lanes + l];
        re[l] = a + b, im[l] = a - b;
    }
    pairs(f, re, im, 1, lanes);
}

/* The half that is not given is the conjugate of the one that is. */
static void complete(int64_t n, double *re, double *im, int64_t lanes)
{
    for (int64_t l = 0; l < lanes; l++) im[l] = 0;
    for (int64_t k = 1; k <= n / 2; k++)
        for (int64_t l = 0; l < lanes; l++) {
            re[(n - k) * lanes + l] = re[k * lanes + l];
            im[(n - k) * lanes + l] = -im[k * lanes + l];
        }
}

void kn_real_fft_run(const kn_real_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    bool packed = kn_real_fft_packed(f->n);
    if (f->sign > 0 && packed) backward(f, re, im, lanes);
    if (f->sign > 0 && !packed) complete(f->n, re, im, lanes);
    kn_fft_run(f->complex, re, im, lanes, room);
    if (f->sign < 0 && packed) forward(f, re, im, lanes);
}
