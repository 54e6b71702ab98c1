/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stddef.h>
#include <string.h>

#define X86 "x86_64-pc-linux-gnu"

const kn_target kn_targets[KN_N_TARGETS] = {
    [KN_X86_64_V2] = {"x86-64-v2", X86, "x86-64-v2", 128, false, false},
    [KN_X86_64_V3] = {"x86-64-v3", X86, "x86-64-v3", 256, true, true},
    [KN_X86_64_V4] = {"x86-64-v4", X86, "x86-64-v4", 512, true, true},
    [KN_AARCH64] = {"aarch64", "aarch64-unknown-linux-gnu", "generic", 128, true, true},
};

const kn_target *kn_target_find(const char *name)
{
    for (int i = 0; i < KN_N_TARGETS; i++)
        if (strcmp(kn_targets[i].name, name) == 0) return &kn_targets[i];
    return NULL;
}

/* The highest, or -1. */
static int highest(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return -1;
    if (!kn_cpu_fused()) return KN_X86_64_V2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return KN_X86_64_V4;
    return KN_X86_64_V3;
#elif defined(__aarch64__)
    return KN_AARCH64;
#else
    return -1;
#endif
}

const char *kn_cpu_target(void)
{
    int i = highest();
    return i < 0 ? "" : kn_targets[i].name;
}

bool kn_target_is_native(const kn_target *t)
{
#if defined(__x86_64__)
    return t != &kn_targets[KN_AARCH64];
#elif defined(__aarch64__)
    return t == &kn_targets[KN_AARCH64];
#else
    (void)t;
    return false;
#endif
}

bool kn_cpu_runs(const kn_target *t) { return kn_target_is_native(t) && t - kn_targets <= highest(); }
