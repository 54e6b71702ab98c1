/* SPDX-License-Identifier: Apache-2.0 */
/* What code can be made for, and what this processor can run. */
#ifndef KN_BASE_CPU_H
#define KN_BASE_CPU_H

#include <stdbool.h>

typedef struct kn_target {
    const char *name;
    const char *triple;   /* as LLVM writes it */
    const char *cpu;      /* likewise; "": what the triple says */
    unsigned vector_bits; /* of a vector register */
    bool fused;           /* has a multiply-add that rounds once; without, the product is rounded first (docs/targets.md) */
    bool halves;          /* has instructions that convert floats of 16 bits */
} kn_target;

enum { KN_X86_64_V2, KN_X86_64_V3, KN_X86_64_V4, KN_AARCH64, KN_N_TARGETS };
extern const kn_target kn_targets[KN_N_TARGETS];
#define KN_TARGET_NAMES "x86-64-v2, x86-64-v3, x86-64-v4, aarch64"

const kn_target *kn_target_find(const char *name); /* NULL: unknown */
const char *kn_cpu_target(void); /* the highest that this processor runs; "": none of them */
bool kn_target_is_native(const kn_target *t); /* of processors of this kind, be they better ones */
bool kn_cpu_runs(const kn_target *t);

/* Does the interpreter, on this processor, multiply and add with one rounding? As the target of kn_cpu_target says. */
static inline bool kn_cpu_fused(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

#endif
