/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/samples.h"

#include "base/clock.h"

#include <time.h>

enum { BATCHES = 3 };

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) { return 1e-9 * (double)kn_clock_ns(); }

kn_taken kn_taken_begin(void) { return (kn_taken){.processor = processor_seconds(), .wall = now()}; }

kn_taken kn_taken_end(kn_taken begin)
{
    double wall = now() - begin.wall;
    return (kn_taken){.wall = wall, .processor = processor_seconds() - begin.processor};
}

static bool sample(const kn_side *s, uint64_t n, kn_taken *t)
{
    *t = (kn_taken){0};
    if (s->reset) s->reset(s->user);
    if (s->sample) return s->sample(s->user, n, t);
    kn_taken begin = kn_taken_begin();
    s->loop(s->user, n);
    *t = kn_taken_end(begin);
    return true;
}

/* Warms the side up and finds how many calls last `least` seconds; 0 when the side failed. */
static uint64_t calibrate(const kn_side *s, double least)
{
    enum { MOST = 1 << 30 };
    kn_taken t;
    if (s->calls) return sample(s, s->calls, &t) ? s->calls : 0;
    for (uint64_t n = 1;;) {
        if (!sample(s, n, &t)) return 0;
        if (t.wall >= least || n >= MOST) return n;
        double more = t.wall > 0 ? 1.2 * least / t.wall : 16;
        n = more > 16 ? n * 16 : (uint64_t)((double)n * more) + 1;
    }
}

static bool one_round(const kn_side *sides, uint32_t n_sides, kn_samples *s)
{
    for (uint32_t k = 0; k < n_sides; k++) {
        uint32_t i = (uint32_t)((k + s->n) % n_sides);
        kn_taken t;
        if (!sample(&sides[i], s->calls[i], &t)) return false;
        s->wall[i][s->n] = t.wall / (double)s->calls[i];
        s->processor[i][s->n] = t.processor / (double)s->calls[i];
    }
    s->n++;
    return true;
}

static bool scatter(const kn_samples *s, uint32_t n_sides)
{
    for (uint32_t i = 0; i < n_sides; i++) {
        kn_spread p = kn_spread_of(s->wall[i], s->n);
        if (p.mad > 0.05 * p.median) return true;
    }
    return false;
}

bool kn_samples_take(const kn_side *sides, uint32_t n_sides, double seconds, size_t rounds, kn_samples *s)
{
    const double least = 2e-3; /* thousands of times what reading the clock costs, and short beside other programs */
    for (uint32_t i = 0; i < n_sides; i++)
        if (!(s->calls[i] = calibrate(&sides[i], least))) return false;
    double start = now();
    for (int batch = 1; batch <= BATCHES; batch++) {
        while (s->n < KN_ROUNDS_MOST && (s->n < rounds || now() - start < batch * seconds))
            if (!one_round(sides, n_sides, s)) return false;
        if (!scatter(s, n_sides)) break;
    }
    return true;
}

bool kn_samples_shared(const kn_samples *s, uint32_t n_sides)
{
    for (uint32_t i = 0; i < n_sides; i++) {
        double ratio[KN_ROUNDS_MOST];
        for (size_t k = 0; k < s->n; k++) ratio[k] = s->processor[i][k] > 0 ? s->wall[i][k] / s->processor[i][k] : 1;
        if (kn_spread_of(ratio, s->n).median > 1.03) return true;
    }
    return false;
}
