/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/fft.h"

#include <math.h>

enum { MAX_FACTORS = 64, LONGEST = 61 }; /* longer prime factors go through the chirp */

struct kn_fft {
    kn_alloc alloc;
    int64_t n;
    int sign;
    uint32_t n_factors;
    int64_t factor[MAX_FACTORS];
    kn_complex *root; /* exp(sign 2 pi i k/n), k < n */
    kn_complex *room; /* n, and LONGEST more */
    /* Bluestein: n is replaced by a power of two m >= 2n - 1 */
    kn_fft *forward, *backward;
    kn_complex *chirp, *kernel, *work;
    int64_t m;
};

static kn_complex times(kn_complex a, kn_complex b) { return (kn_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* exp(2 pi i k/n) with the angle brought into the first octant, so that the symmetries hold exactly. */
static kn_complex unit(int64_t k, int64_t n)
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

static kiln_status allocate(kiln_ctx *ctx, const kn_alloc *a, int64_t n, kn_complex **out)
{
    KILN_TRY_MEM(ctx, *out = kn_new(a, (size_t)n * sizeof **out));
    return KILN_OK;
}

static void factorise(kn_fft *f)
{
    int64_t left = f->n;
    static const int64_t small[] = {4, 2, 3, 5, 7};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        while (left % small[i] == 0) f->factor[f->n_factors++] = small[i], left /= small[i];
    for (int64_t p = 11; p <= LONGEST && left > 1; p += 2)
        while (left % p == 0) f->factor[f->n_factors++] = p, left /= p;
    if (left > 1) f->n_factors = 0; /* a long prime is left */
}

static kiln_status make_chirp(kiln_ctx *ctx, kn_fft *f)
{
    int64_t n = f->n;
    for (f->m = 1; f->m < 2 * n - 1;) f->m *= 2;
    KILN_TRY(allocate(ctx, &f->alloc, n, &f->chirp));
    KILN_TRY(allocate(ctx, &f->alloc, f->m, &f->kernel));
    KILN_TRY(allocate(ctx, &f->alloc, f->m, &f->work));
    KILN_TRY(kn_fft_new(ctx, f->m, -1, &f->forward));
    KILN_TRY(kn_fft_new(ctx, f->m, 1, &f->backward));
    for (int64_t k = 0, q = 0; k < n; k++) { /* q = k^2 mod 2n */
        f->chirp[k] = unit(q, 2 * n);
        if (f->sign < 0) f->chirp[k].im = -f->chirp[k].im;
        q = (q + 2 * k + 1) % (2 * n);
    }
    for (int64_t k = 0; k < n; k++) {
        kn_complex c = {f->chirp[k].re, -f->chirp[k].im};
        f->kernel[k] = c;
        if (k) f->kernel[f->m - k] = c;
    }
    kn_fft_run(f->forward, f->kernel);
    return KILN_OK;
}

kiln_status kn_fft_new(kiln_ctx *ctx, int64_t n, int sign, kn_fft **out)
{
    *out = NULL;
    kn_fft *f = kn_new(&ctx->alloc, sizeof *f);
    KILN_TRY_MEM(ctx, f);
    *f = (kn_fft){.alloc = ctx->alloc, .n = n, .sign = sign};
    factorise(f);
    kiln_status s = KILN_OK;
    if (n > 1 && f->n_factors == 0) s = make_chirp(ctx, f);
    else {
        s = allocate(ctx, &f->alloc, n, &f->root);
        if (s == KILN_OK) s = allocate(ctx, &f->alloc, n + LONGEST + 1, &f->room);
        for (int64_t k = 0; s == KILN_OK && k < n; k++) {
            f->root[k] = unit(k, n);
            if (sign < 0) f->root[k].im = -f->root[k].im;
        }
    }
    if (s != KILN_OK) kn_fft_free(f);
    else *out = f;
    return s;
}

void kn_fft_free(kn_fft *f)
{
    if (!f) return;
    kn_fft_free(f->forward);
    kn_fft_free(f->backward);
    size_t w = sizeof(kn_complex);
    kn_free(&f->alloc, f->root, (size_t)f->n * w);
    kn_free(&f->alloc, f->room, (size_t)(f->n + LONGEST + 1) * w);
    kn_free(&f->alloc, f->chirp, (size_t)f->n * w);
    kn_free(&f->alloc, f->kernel, (size_t)f->m * w);
    kn_free(&f->alloc, f->work, (size_t)f->m * w);
    kn_alloc a = f->alloc;
    kn_free(&a, f, sizeof *f);
}

/* p numbers, `step` apart, become their transform; the roots of the whole length are taken `every`. */
static void butterfly(const kn_fft *f, kn_complex *x, int64_t p, int64_t step, int64_t every)
{
    kn_complex *t = f->room + f->n;
    if (p == 2) {
        kn_complex a = x[0], b = x[step];
        x[0] = (kn_complex){a.re + b.re, a.im + b.im};
        x[step] = (kn_complex){a.re - b.re, a.im - b.im};
        return;
    }
    if (p == 4) {
        kn_complex a = x[0], b = x[step], c = x[2 * step], d = x[3 * step];
        kn_complex ac = {a.re + c.re, a.im + c.im}, am = {a.re - c.re, a.im - c.im}, bd = {b.re + d.re, b.im + d.im}, bm = {b.re - d.re, b.im - d.im};
        kn_complex turned = f->sign < 0 ? (kn_complex){bm.im, -bm.re} : (kn_complex){-bm.im, bm.re};
        x[0] = (kn_complex){ac.re + bd.re, ac.im + bd.im};
        x[2 * step] = (kn_complex){ac.re - bd.re, ac.im - bd.im};
        x[step] = (kn_complex){am.re + turned.re, am.im + turned.im};
        x[3 * step] = (kn_complex){am.re - turned.re, am.im - turned.im};
        return;
    }
    for (int64_t k = 0; k < p; k++) {
        kn_complex sum = x[0];
        for (int64_t i = 1; i < p; i++) {
            kn_complex w = times(x[i * step], f->root[i * k % p * every]);
            sum.re += w.re, sum.im += w.im;
        }
        t[k] = sum;
    }
    for (int64_t k = 0; k < p; k++) x[k * step] = t[k];
}

/* Transform of n numbers at in, in + stride, .. into out (decimation in time). */
static void recurse(const kn_fft *f, const kn_complex *in, int64_t stride, kn_complex *out, int64_t n, uint32_t level)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int64_t p = f->factor[level], m = n / p;
    for (int64_t i = 0; i < p; i++) recurse(f, in + i * stride, stride * p, out + i * m, m, level + 1);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t i = 1; i < p; i++) out[i * m + k] = times(out[i * m + k], f->root[i * k * stride]);
        butterfly(f, out + k, p, m, f->n / p);
    }
}

void kn_fft_run(kn_fft *f, kn_complex *x)
{
    int64_t n = f->n;
    if (!f->chirp) {
        memcpy(f->room, x, (size_t)n * sizeof *x);
        recurse(f, f->room, 1, x, n, 0);
        return;
    }
    memset(f->work, 0, (size_t)f->m * sizeof *f->work);
    for (int64_t k = 0; k < n; k++) f->work[k] = times(x[k], f->chirp[k]);
    kn_fft_run(f->forward, f->work);
    for (int64_t k = 0; k < f->m; k++) f->work[k] = times(f->work[k], f->kernel[k]);
    kn_fft_run(f->backward, f->work);
    for (int64_t k = 0; k < n; k++) {
        kn_complex w = times(f->work[k], f->chirp[k]);
        x[k] = (kn_complex){w.re / (double)f->m, w.im / (double)f->m};
    }
}
