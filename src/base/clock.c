/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

int64_t kn_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t kn_clock_step_ns(void)
{
    enum { READINGS = 200 };
    int64_t least = INT64_MAX, last = kn_clock_ns();
    for (int i = 0; i < READINGS || least == INT64_MAX; i++) {
        int64_t now = kn_clock_ns();
        if (now > last && now - last < least) least = now - last;
        last = now;
    }
    return least;
}

uint64_t kn_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v)); /* the timer's counter, which generated code reads, too */
    return v;
#endif
}
