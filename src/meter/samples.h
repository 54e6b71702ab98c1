/* SPDX-License-Identifier: Apache-2.0 */
/* Time: samples of several sides, taken in turn, and what is said about them. */
#ifndef KN_METER_SAMPLES_H
#define KN_METER_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What n calls took, s: on the wall, and of the processor's time. */
typedef struct kn_taken {
    double wall, processor;
} kn_taken;
kn_taken kn_taken_begin(void);
kn_taken kn_taken_end(kn_taken begin);

typedef struct kn_spread {
    size_t n;
    double median, mad, min, mean, sd; /* mad: median distance from the median; all NAN for no samples */
} kn_spread;
kn_spread kn_spread_of(const double *v, size_t n);
/* "12.3 ns", "4.56 ms" */
const char *kn_seconds_text(double s, char out[32]);

/* false: the side failed. */
typedef bool (*kn_sample_fn)(void *user, uint64_t n, kn_taken *t);

typedef struct kn_side {
    const char *name;
    void (*loop)(void *user, uint64_t n); /* makes n calls; timed here */
    kn_sample_fn sample;                  /* or: times itself */
    void *user;
    void (*reset)(void *user); /* before every sample, outside the time; may be NULL */
    uint64_t calls;            /* calls of one sample; 0: calibrated so that a sample lasts long enough */
} kn_side;

enum { KN_SIDES_MOST = 4, KN_ROUNDS_MOST = 300 };

typedef struct kn_samples {
    size_t n;
    uint64_t calls[KN_SIDES_MOST]; /* of one sample */
    double wall[KN_SIDES_MOST][KN_ROUNDS_MOST], processor[KN_SIDES_MOST][KN_ROUNDS_MOST]; /* s per call */
} kn_samples;

/* Rounds of one sample a side, each round beginning with the next side; `seconds` of them, at least `rounds`, and up to three times as long
 * when they scatter. `s` is zero before. false: a side failed. */
bool kn_samples_take(const kn_side *sides, uint32_t n_sides, double seconds, size_t rounds, kn_samples *s);
/* Did other programs take the processor of any side's samples? Then its own time says more than the wall's. */
bool kn_samples_shared(const kn_samples *s, uint32_t n_sides);

#endif
