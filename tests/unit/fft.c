/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of every kind of length against the sum that defines them, in long double; lines side by side give the bits of lines alone. */
#include "rt/fft.h"
#include "testing.h"

#include <math.h>
#include <stdlib.h>

static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 20, 25, 32, 49, 60, 61, 64, 67, 74, 96, 97, 100, 122, 128, 131, 134, 210, 256, 257, 512};

typedef long double wide;

/* Number k of line l, in [-1, 1). */
static double number(int64_t k, int64_t l, int part)
{
    uint64_t n = (uint64_t)(k * 64 + l * 2 + part + 1) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(int64_t)n * 0x1p-63;
}

/* sum x_j exp(sign 2 pi i jk/n), and the sum of absolute values, which the error goes by */
static void sum_of(const double *re, const double *im, int64_t n, int sign, int64_t k, wide *yr, wide *yi, wide *size)
{
    const wide turn = 2 * acosl(-1.0L) / (wide)n * sign;
    *yr = *yi = *size = 0;
    for (int64_t j = 0; j < n; j++) {
        wide c = cosl(turn * (wide)(j * k % n)), s = sinl(turn * (wide)(j * k % n));
        *yr += re[j] * c - im[j] * s;
        *yi += re[j] * s + im[j] * c;
        *size += fabs(re[j]) + fabs(im[j]);
    }
}

static void near(wide got, wide want, wide size, int64_t n, int64_t k)
{
    if (fabsl(got - want) > 8e-16L * size) fail_msg("length %lld, number %lld: %.17Lg, wanted is %.17Lg", (long long)n, (long long)k, got, want);
}

static void *room_of(size_t n)
{
    void *p = calloc(n ? n : 1, sizeof(double));
    assert_non_null(p);
    return p;
}

static void complex_lines(void **state)
{
    enum { L = KN_FFT_LANES };
    kn_arena arena;
    kn_arena_init(&arena, &((kiln_ctx *)*state)->alloc);
    for (size_t t = 0; t < 2 * (sizeof lengths / sizeof *lengths); t++) {
        int64_t n = lengths[t / 2];
        int sign = t % 2 ? 1 : -1;
        const kn_fft *f;
        assert_ok(*state, kn_fft_new(*state, &arena, n, sign, &f));
        double *re = room_of((size_t)n * L), *im = room_of((size_t)n * L), *room = room_of((size_t)kn_fft_room(n) * L), *one = room_of(4 * (size_t)n);
        for (int64_t k = 0; k < n * L; k++) re[k] = number(k / L, k % L, 0), im[k] = number(k / L, k % L, 1);
        kn_fft_run(f, re, im, L, room);
        for (int64_t l = 0; l < L; l++) {
            double *ar = one, *ai = one + n, *xr = one + 2 * n, *xi = one + 3 * n;
            for (int64_t k = 0; k < n; k++) ar[k] = xr[k] = number(k, l, 0), ai[k] = xi[k] = number(k, l, 1);
            kn_fft_run(f, ar, ai, 1, room);
            for (int64_t k = 0; k < n; k++) {
                assert_memory_equal(&ar[k], &re[k * L + l], sizeof *ar);
                assert_memory_equal(&ai[k], &im[k * L + l], sizeof *ai);
                wide yr, yi, size;
                if (l) continue;
                sum_of(xr, xi, n, sign, k, &yr, &yi, &size);
                near(ar[k], yr, size, n, k);
                near(ai[k], yi, size, n, k);
            }
        }
        free(re), free(im), free(room), free(one);
    }
    kn_arena_fini(&arena);
}

/* The way there against the sum; and back, which gives n times the numbers. */
static void real_lines(void **state)
{
    kn_arena arena;
    kn_arena_init(&arena, &((kiln_ctx *)*state)->alloc);
    for (size_t t = 0; t < sizeof lengths / sizeof *lengths; t++) {
        int64_t n = lengths[t];
        bool packed = kn_real_fft_packed(n);
        const kn_real_fft *there, *back;
        assert_ok(*state, kn_real_fft_new(*state, &arena, n, -1, &there));
        assert_ok(*state, kn_real_fft_new(*state, &arena, n, 1, &back));
        double *x = room_of((size_t)n), *zero = room_of((size_t)n), *re = room_of((size_t)n + 1), *im = room_of((size_t)n + 1), *room = room_of((size_t)kn_real_fft_room(n));
        for (int64_t k = 0; k < n; k++) {
            x[k] = number(k, 0, 0);
            *(packed ? (k % 2 ? im : re) + k / 2 : re + k) = x[k];
        }
        kn_real_fft_run(there, re, im, 1, room);
        wide yr, yi, size = 0;
        for (int64_t k = 0; k <= n / 2; k++) {
            sum_of(x, zero, n, -1, k, &yr, &yi, &size);
            near(re[k], yr, size, n, k);
            near(im[k], yi, size, n, k);
        }
        im[0] = 7; /* is not looked at */
        if (packed) im[n / 2] = -7;
        kn_real_fft_run(back, re, im, 1, room);
        for (int64_t k = 0; k < n; k++) near(*(packed ? (k % 2 ? im : re) + k / 2 : re + k), (wide)n * x[k], (wide)n * size, n, k);
        free(x), free(zero), free(re), free(im), free(room);
    }
    kn_arena_fini(&arena);
}

/* Every part of every pair, `count` of each line, from an array to lanes and back: what is not of a line stays as it is. */
static void check_transfers(bool doubled, int64_t n, int64_t lanes, int64_t apart, int64_t step, int64_t count, double scale)
{
    enum { L = KN_FFT_LANES, PARTS = 512 };
    kn_fft_transfers t = kn_fft_transfers_here();
    kn_fft_lines v = {.n = n, .lanes = lanes, .step = step, .wide = doubled, .together = n == L && apart == 1};
    double doubles[PARTS], re[L * 16], im[L * 16], want[PARTS];
    float floats[PARTS];
    char *data = doubled ? (char *)doubles : (char *)floats;
    size_t pair = 2 * (doubled ? sizeof(double) : sizeof(float));
    for (int64_t k = 0; k < PARTS; k++) want[k] = doubles[k] = floats[k] = (float)number(k, 0, 0);
    for (int64_t l = 0; l < lanes; l++) v.line[l] = data + (size_t)(l < n ? l * apart : 0) * pair;
    t.gather(&v, count, re, im);
    for (int64_t l = 0; l < n; l++)
        for (int64_t i = 0; i < count; i++) {
            int64_t at = 2 * (l * apart + i * step);
            assert_memory_equal(&re[i * lanes + l], &doubles[at], sizeof(double));
            assert_memory_equal(&im[i * lanes + l], &doubles[at + 1], sizeof(double));
            want[at] = doubles[at] / scale, want[at + 1] = doubles[at + 1] / scale;
        }
    t.spread(&v, count, scale, re, im);
    for (int64_t k = 0; k < PARTS; k++)
        if (doubled ? doubles[k] != want[k] : floats[k] != (float)want[k])
            fail_msg("part %lld of %s lines %lld apart, step %lld, scale %g", (long long)k, doubled ? "wide" : "narrow", (long long)apart, (long long)step, scale);
}

static void transfers(void **state)
{
    (void)state;
    static const int64_t ways[][2] = {{1, 8}, {1, 13}, {20, 1}, {26, 2}}; /* lines apart, step */
    for (size_t w = 0; w < 4; w++)
        for (int64_t n = 1; n <= KN_FFT_LANES; n++)
            for (int64_t count = 1; count <= 13; count++)
                for (int k = 0; k < 6; k++) {
                    check_transfers(k & 1, n, KN_FFT_LANES, ways[w][0], ways[w][1], count, (double[]){1, 64, 12}[k / 2]);
                    if (n == 1) check_transfers(k & 1, 1, 1, ways[w][0], ways[w][1], count, (double[]){1, 64, 12}[k / 2]);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(complex_lines), cmocka_unit_test(real_lines), cmocka_unit_test(transfers)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
