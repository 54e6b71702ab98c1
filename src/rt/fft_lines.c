/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to lanes and back, compiled for several widths of registers. */
#include "rt/fft.h"

#define INLINE static inline __attribute__((always_inline))

/* Eight numbers side by side, anywhere in memory. */
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef float eight_floats __attribute__((vector_size(32), aligned(4), may_alias));

enum { AHEAD = 12 }; /* lines of memory are asked for so many steps before they are needed: they lie on pages of their own */

#define AT(p) (*(eight *)(void *)(p))
#define SOME(p) (*(const eight *)(const void *)(p))
#define SCALED(x) (divides ? (x) / scale : (x) * scale)

/* Of eight rows of eight, columns; by twos, fours, eights. */
#define PAIRED(x, y) \
    t = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14); \
    y = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15); \
    x = t
#define FOURS(x, y) \
    t = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13); \
    y = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15); \
    x = t
#define HALVES(x, y) \
    t = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11); \
    y = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15); \
    x = t
#define TRANSPOSE(a, b, c, d, e, f, g, h) \
    do { \
        eight t; \
        PAIRED(a, b); \
        PAIRED(c, d); \
        PAIRED(e, f); \
        PAIRED(g, h); \
        FOURS(a, c); \
        FOURS(b, d); \
        FOURS(e, g); \
        FOURS(f, h); \
        HALVES(a, e); \
        HALVES(b, f); \
        HALVES(c, g); \
        HALVES(d, h); \
    } while (0)

#define T double
#define EIGHT eight
#define NAME(f) f##_doubles
#include "rt/fft_transfer.h"
#undef T
#undef EIGHT
#undef NAME

#define T float
#define EIGHT eight_floats
#define NAME(f) f##_floats
#include "rt/fft_transfer.h"
#undef T
#undef EIGHT
#undef NAME

INLINE void gather(const kn_fft_lines *v, int64_t count, double *re, double *im)
{
    if (v->wide) gather_doubles(v, count, re, im);
    else gather_floats(v, count, re, im);
}

/* Multiplying with the inverse of a power of two rounds as dividing does. */
INLINE void spread(const kn_fft_lines *v, int64_t count, double scale, const double *re, const double *im)
{
    bool power = ((int64_t)scale & ((int64_t)scale - 1)) == 0;
    if (power && v->wide) spread_doubles(v, count, 1 / scale, false, re, im);
    else if (power) spread_floats(v, count, 1 / scale, false, re, im);
    else if (v->wide) spread_doubles(v, count, scale, true, re, im);
    else spread_floats(v, count, scale, true, re, im);
}

#define TRANSFERS(name, target) \
    target static void gather_##name(const kn_fft_lines *v, int64_t count, double *re, double *im) { gather(v, count, re, im); } \
    target static void spread_##name(const kn_fft_lines *v, int64_t count, double scale, const double *re, const double *im) \
    { \
        spread(v, count, scale, re, im); \
    }

TRANSFERS(plain, )
#if defined(__x86_64__)
TRANSFERS(avx2, __attribute__((target("avx2"))))
TRANSFERS(avx512, __attribute__((target("avx512f"))))
#endif

kn_fft_transfers kn_fft_transfers_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return (kn_fft_transfers){gather_avx512, spread_avx512};
    if (__builtin_cpu_supports("avx2")) return (kn_fft_transfers){gather_avx2, spread_avx2};
#endif
    return (kn_fft_transfers){gather_plain, spread_plain};
}
