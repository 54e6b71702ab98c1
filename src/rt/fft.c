/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/fft.h"

#include <math.h>

enum { MAX_FACTORS = 64, LONGEST = 61 }; /* longer prime factors go through the chirp */

struct kn_fft {
    int64_t n;
    int sign;
    uint32_t n_factors;
    int64_t factor[MAX_FACTORS];
    kn_complex *root; /* exp(sign 2 pi i k/n), k < n */
    /* Bluestein: n is replaced by a power of two m >= 2n - 1 */
    const kn_fft *forward, *backward;
    kn_complex *chirp, *kernel;
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

static kiln_status allocate(kiln_ctx *ctx, kn_arena *arena, int64_t n, kn_complex **out)
{
    KILN_TRY_MEM(ctx, *out = KN_NEWN(arena, kn_complex, n));
    return KILN_OK;
}

/* The factors of n in the order of the recursion; 0 of them where a long prime is left. */
static uint32_t factorise(int64_t n, int64_t *factor)
{
    int64_t left = n;
    uint32_t k = 0;
    static const int64_t small[] = {4, 2, 3, 5, 7};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        while (left % small[i] == 0) factor[k++] = small[i], left /= small[i];
    for (int64_t p = 11; p <= LONGEST && left > 1; p += 2)
        while (left % p == 0) factor[k++] = p, left /= p;
    return left > 1 ? 0 : k;
}

static int64_t chirp_length(int64_t n)
{
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
}

static kiln_status make_chirp(kiln_ctx *ctx, kn_arena *arena, kn_fft *f)
{
    int64_t n = f->n;
    f->m = chirp_length(n);
    kn_complex *room;
    KILN_TRY(allocate(ctx, arena, n, &f->chirp));
    KILN_TRY(allocate(ctx, arena, f->m, &f->kernel));
    KILN_TRY(allocate(ctx, arena, kn_fft_room(f->m), &room));
    KILN_TRY(kn_fft_new(ctx, arena, f->m, -1, &f->forward));
    KILN_TRY(kn_fft_new(ctx, arena, f->m, 1, &f->backward));
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
    kn_fft_run(f->forward, f->kernel, room);
    return KILN_OK;
}

kiln_status kn_fft_new(kiln_ctx *ctx, kn_arena *arena, int64_t n, int sign, const kn_fft **out)
{
    kn_fft *f = KN_NEW(arena, kn_fft);
    KILN_TRY_MEM(ctx, f);
    f->n = n;
    f->sign = sign;
    f->n_factors = factorise(n, f->factor);
    *out = f;
    if (n > 1 && f->n_factors == 0) return make_chirp(ctx, arena, f);
    KILN_TRY(allocate(ctx, arena, n, &f->root));
    for (int64_t k = 0; k < n; k++) {
        f->root[k] = unit(k, n);
        if (sign < 0) f->root[k].im = -f->root[k].im;
    }
    return KILN_OK;
}

int64_t kn_fft_room(int64_t n)
{
    int64_t factor[MAX_FACTORS];
    if (n == 1 || factorise(n, factor) > 0) return n + LONGEST + 1;
    int64_t m = chirp_length(n);
    return m + kn_fft_room(m);
}

/* p numbers, `step` apart, become their transform; the roots of the whole length are taken `every`. */
static void butterfly(const kn_fft *f, kn_complex *x, int64_t p, int64_t step, int64_t every, kn_complex *t)
{
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
static void recurse(const kn_fft *f, const kn_complex *in, int64_t stride, kn_complex *out, int64_t n, uint32_t level, kn_complex *t)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int64_t p = f->factor[level], m = n / p;
    for (int64_t i = 0; i < p; i++) recurse(f, in + i * stride, stride * p, out + i * m, m, level + 1, t);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t i = 1; i < p; i++) out[i * m + k] = times(out[i * m + k], f->root[i * k * stride]);
        butterfly(f, out + k, p, m, f->n / p, t);
    }
}

void kn_fft_run(const kn_fft *f, kn_complex *x, kn_complex *room)
{
    int64_t n = f->n;
    if (!f->chirp) {
        memcpy(room, x, (size_t)n * sizeof *x);
        recurse(f, room, 1, x, n, 0, room + n);
        return;
    }
    kn_complex *work = room;
    room += f->m;
    memset(work, 0, (size_t)f->m * sizeof *work);
    for (int64_t k = 0; k < n; k++) work[k] = times(x[k], f->chirp[k]);
    kn_fft_run(f->forward, work, room);
    for (int64_t k = 0; k < f->m; k++) work[k] = times(work[k], f->kernel[k]);
    kn_fft_run(f->backward, work, room);
    for (int64_t k = 0; k < n; k++) {
        kn_complex w = times(work[k], f->chirp[k]);
        x[k] = (kn_complex){w.re / (double)f->m, w.im / (double)f->m};
    }
}
