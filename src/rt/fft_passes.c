/* SPDX-License-Identifier: Apache-2.0 */
/* The passes, compiled for several widths of registers. There is no contraction and no reassociation, so all give the same bits. */
#include "rt/fft_plan.h"

/* Eight numbers side by side; memory that holds them is aligned to one. */
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

#define LANE double
#define NAME(f) one_##f
#include "rt/fft_pass.h"
#undef LANE
#undef NAME

#define LANE eight
#define NAME(f) eight_##f
#include "rt/fft_pass.h"
#undef LANE
#undef NAME

#define INLINE static inline __attribute__((always_inline))

INLINE void passes(const kn_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    double *from_re = re, *from_im = im, *to_re = room, *to_im = room + f->n * lanes;
    for (uint32_t k = 0; k < f->n_passes; k++) {
        const kn_fft_pass *p = &f->passes[k];
        int64_t width = p->s * lanes;
        if (from_re == re && k + 1 == f->n_passes) to_re = re, to_im = im; /* the last one's butterflies write where they read */
        if (width % eight_count == 0) eight_pass(p, f->sign, from_re, from_im, to_re, to_im, width);
        else one_pass(p, f->sign, from_re, from_im, to_re, to_im, width);
        double *r = from_re, *i = from_im;
        from_re = to_re, from_im = to_im, to_re = r, to_im = i;
    }
}

static void passes_plain(const kn_fft *f, double *re, double *im, int64_t lanes, double *room) { passes(f, re, im, lanes, room); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void passes_avx2(const kn_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    passes(f, re, im, lanes, room);
}
__attribute__((target("avx512f"))) static void passes_avx512(const kn_fft *f, double *re, double *im, int64_t lanes, double *room)
{
    passes(f, re, im, lanes, room);
}
#endif

kn_fft_passes kn_fft_passes_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return passes_avx512;
    if (__builtin_cpu_supports("avx2")) return passes_avx2;
#endif
    return passes_plain;
}
