/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: factors, roots, Bluestein's chirp. */
#include "rt/fft_plan.h"

#include <math.h>

kn_complex kn_fft_unit(int64_t k, int64_t n)
{
    const double pi = 3.14159265358979323846;
    int64_t eighths = 8 * k / n; /* k < n */
    double c, s;
    switch (eighths) {
    case 0: c = cos(2 * pi * (double)k / (double)n), s = sin(2 * pi * (double)k / (double)n); break;
    case 1:
    case 2: {
        double t = 2 * pi * (double)(n - 4 * k) / (double)(4 * n); /* pi/2 - angle */
        c = sin(t), s = cos(t);
        break;
    }
    case 3:
    case 4: {
        double t = 2 * pi * (double)(n - 2 * k) / (double)(2 * n); /* pi - angle */
        c = -cos(t), s = sin(t);
        break;
    }
    case 5:
    case 6: {
        double t = 2 * pi * (double)(3 * n - 4 * k) / (double)(4 * n); /* 3 pi/2 - angle */
        c = -sin(t), s = -cos(t);
        break;
    }
    default: {
        double t = 2 * pi * (double)(n - k) / (double)n;
        c = cos(t), s = -sin(t);
        break;
    }
    }
    return (kn_complex){c, s};
}

static kn_complex signed_unit(int64_t k, int64_t n, int sign)
{
    kn_complex w = kn_fft_unit(k, n);
    if (sign < 0) w.im = -w.im;
    return w;
}

static kiln_status allocate(kiln_ctx *ctx, kn_arena *arena, int64_t n, kn_complex **out)
{
    KILN_TRY_MEM(ctx, *out = KN_NEWN(arena, kn_complex, n));
    return KILN_OK;
}

/* The factors of n in the order of the passes; 0 of them where a long prime is left. */
static uint32_t factorise(int64_t n, int64_t *factor)
{
    int64_t left = n;
    uint32_t k = 0;
    static const int64_t small[] = {4, 2, 3, 5, 7};
    for (; left % 8 == 0 && left % 32 != 16; left /= 8) factor[k++] = 8;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        while (left % small[i] == 0) factor[k++] = small[i], left /= small[i];
    for (int64_t p = 11; p <= KN_FFT_LONGEST && left > 1; p += 2)
        while (left % p == 0) factor[k++] = p, left /= p;
    return left > 1 ? 0 : k;
}

static kiln_status make_pass(kiln_ctx *ctx, kn_arena *arena, const kn_fft *f, int64_t radix, int64_t s, kn_fft_pass *p)
{
    int64_t length = f->n / s, m = length / radix;
    kn_complex *twiddle, *root;
    KILN_TRY(allocate(ctx, arena, m * (radix - 1), &twiddle));
    KILN_TRY(allocate(ctx, arena, radix, &root));
    for (int64_t q = 0; q < m; q++)
        for (int64_t k = 1; k < radix; k++) twiddle[q * (radix - 1) + k - 1] = signed_unit(q * k % length, length, f->sign);
    for (int64_t k = 0; k < radix; k++) root[k] = kn_fft_unit(k, radix);
    *p = (kn_fft_pass){radix, m, s, twiddle, root};
    return KILN_OK;
}

/* ---- Bluestein ---- */

static int64_t chirp_length(int64_t n)
{
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
}

static kiln_status make_chirp(kiln_ctx *ctx, kn_arena *arena, kn_fft *f)
{
    int64_t n = f->n, m = f->m = chirp_length(n);
    double *re, *room;
    KILN_TRY(allocate(ctx, arena, n, &f->chirp));
    KILN_TRY(allocate(ctx, arena, m, &f->kernel));
    KILN_TRY_MEM(ctx, re = KN_NEWN(arena, double, 2 * m));
    KILN_TRY_MEM(ctx, room = KN_NEWN(arena, double, kn_fft_room(m)));
    KILN_TRY(kn_fft_new(ctx, arena, m, -1, &f->forward));
    KILN_TRY(kn_fft_new(ctx, arena, m, 1, &f->backward));
    for (int64_t k = 0, q = 0; k < n; k++) { /* q = k^2 mod 2n */
        f->chirp[k] = signed_unit(q, 2 * n, f->sign);
        q = (q + 2 * k + 1) % (2 * n);
    }
    for (int64_t k = 0; k < n; k++) {
        re[k] = f->chirp[k].re, re[m + k] = -f->chirp[k].im;
        if (k) re[m - k] = re[k], re[m + m - k] = re[m + k];
    }
    kn_fft_run(f->forward, re, re + m, 1, room);
    for (int64_t k = 0; k < m; k++) f->kernel[k] = (kn_complex){re[k], re[m + k]};
    return KILN_OK;
}

/* x = (x times w) / scale */
static void times(double *re, double *im, kn_complex w, double scale, int64_t lanes)
{
    for (int64_t l = 0; l < lanes; l++) {
        double a = re[l], b = im[l];
        re[l] = (a * w.re - b * w.im) / scale;
        im[l] = (a * w.im + b * w.re) / scale;
    }
}

static void run_chirp(const kn_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    int64_t n = f->n, m = f->m;
    double *wr = room, *wi = room + m * lanes;
    room += 2 * m * lanes;
    memcpy(wr, re, (size_t)(n * lanes) * sizeof *re);
    memcpy(wi, im, (size_t)(n * lanes) * sizeof *im);
    memset(wr + n * lanes, 0, (size_t)((m - n) * lanes) * sizeof *re);
    memset(wi + n * lanes, 0, (size_t)((m - n) * lanes) * sizeof *im);
    for (int64_t k = 0; k < n; k++) times(wr + k * lanes, wi + k * lanes, f->chirp[k], 1, lanes);
    kn_fft_run(f->forward, wr, wi, lanes, room);
    for (int64_t k = 0; k < m; k++) times(wr + k * lanes, wi + k * lanes, f->kernel[k], 1, lanes);
    kn_fft_run(f->backward, wr, wi, lanes, room);
    for (int64_t k = 0; k < n; k++) times(wr + k * lanes, wi + k * lanes, f->chirp[k], (double)m, lanes);
    memcpy(re, wr, (size_t)(n * lanes) * sizeof *re);
    memcpy(im, wi, (size_t)(n * lanes) * sizeof *im);
}

/* ---- plans ---- */

kiln_status kn_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_fft **out)
{
    int64_t factor[KN_FFT_FACTORS], s = 1;
    kn_fft *f = KN_NEW(arena, kn_fft);
    KILN_TRY_MEM(ctx, f);
    *out = f;
    f->n = n;
    f->sign = sign;
    f->n_passes = factorise(n, factor);
    if (n > 1 && f->n_passes == 0) return make_chirp(ctx, arena, f);
    f->run = kn_fft_passes_here();
    for (uint32_t k = 0; k < f->n_passes; s *= factor[k++]) KILN_TRY(make_pass(ctx, arena, f, factor[k], s, &f->passes[k]));
    return KILN_OK;
}

int64_t kn_fft_room(int64_t n)
{
    int64_t factor[KN_FFT_FACTORS];
    if (n == 1 || factorise(n, factor) > 0) return 2 * n;
    int64_t m = chirp_length(n);
    return 2 * m + kn_fft_room(m);
}

double kn_fft_cost(int64_t n)
{
    int64_t factor[KN_FFT_FACTORS];
    uint32_t passes = n > 1 ? factorise(n, factor) : 0;
    if (n > 1 && passes == 0) return 2 * kn_fft_cost(chirp_length(n)) + 3 * (double)chirp_length(n);
    double one = 0; /* of a number */
    for (uint32_t k = 0; k < passes; k++) one += factor[k] % 2 ? 1 + (double)factor[k] / 2 : 2;
    return one * (double)n;
}

void kn_fft_run(const kn_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    if (f->chirp) run_chirp(f, re, im, lanes, room);
    else f->run(f, re, im, lanes, room);
}
