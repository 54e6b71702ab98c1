/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode of a call (numerics 11, 12): default control bits inside, or those that read and make subnormal numbers as zeros;
 * the caller's back afterwards. It costs a read where the caller's mode is the same already. */
#ifndef KN_BASE_FPMODE_H
#define KN_BASE_FPMODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* MXCSR: all masked, nearest, no flushing; FLUSHES: results (FTZ), operands (DAZ) */
enum { KN_FPMODE_DEFAULT = 0x1f80, KN_FPMODE_FLAGS = 0x3f, KN_FPMODE_FLUSHES = 0x8040 };
static inline uint32_t kn_fpmode_get(void) { return _mm_getcsr(); }
static inline void kn_fpmode_set(uint32_t v) { _mm_setcsr(v); }
#elif defined(__aarch64__)
enum { KN_FPMODE_DEFAULT = 0, KN_FPMODE_FLAGS = 0, KN_FPMODE_FLUSHES = 1 << 24 }; /* FPCR; FZ; the flags stand in FPSR */
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

static inline kn_fpmode kn_fpmode_enter_as(bool flush)
{
    kn_fpmode m = {kn_fpmode_get(), false};
    uint32_t wanted = flush ? KN_FPMODE_DEFAULT | KN_FPMODE_FLUSHES : KN_FPMODE_DEFAULT;
    if ((m.caller & ~(uint32_t)KN_FPMODE_FLAGS) != wanted) {
        kn_fpmode_set(wanted);
        m.changed = true;
    }
    return m;
}
static inline kn_fpmode kn_fpmode_enter(void) { return kn_fpmode_enter_as(false); }
static inline bool kn_fpmode_flushes(void) { return (kn_fpmode_get() & KN_FPMODE_FLUSHES) != 0; }
static inline void kn_fpmode_leave(kn_fpmode m)
{
    if (m.changed) kn_fpmode_set(m.caller);
}

#endif
