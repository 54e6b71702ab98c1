/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode of a call (numerics 11): default control bits inside, the caller's back afterwards. It costs
 * a read where the caller's mode is the default already. */
#ifndef KN_BASE_FPMODE_H
#define KN_BASE_FPMODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
enum { KN_FPMODE_DEFAULT = 0x1f80, KN_FPMODE_FLAGS = 0x3f }; /* MXCSR: all masked, nearest, no flushing */
static inline uint32_t kn_fpmode_get(void) { return _mm_getcsr(); }
static inline void kn_fpmode_set(uint32_t v) { _mm_setcsr(v); }
#elif defined(__aarch64__)
enum { KN_FPMODE_DEFAULT = 0, KN_FPMODE_FLAGS = 0 }; /* FPCR; the flags stand in FPSR */
static inline uint32_t kn_fpmode_get(void)
{
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    return (uint32_t)v;
}
static inline void kn_fpmode_set(uint32_t v)
{
    uint64_t wide = v;
    __asm__ volatile("msr fpcr, %0" : : "r"(wide));
}
#else
#error "the floating-point control register of this processor is not known"
#endif

typedef struct kn_fpmode {
    uint32_t caller;
    bool changed;
} kn_fpmode;

static inline kn_fpmode kn_fpmode_enter(void)
{
    kn_fpmode m = {kn_fpmode_get(), false};
    if ((m.caller & ~(uint32_t)KN_FPMODE_FLAGS) != KN_FPMODE_DEFAULT) {
        kn_fpmode_set(KN_FPMODE_DEFAULT);
        m.changed = true;
    }
    return m;
}
static inline void kn_fpmode_leave(kn_fpmode m)
{
    if (m.changed) kn_fpmode_set(m.caller);
}

#endif
