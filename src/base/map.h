/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from 64-bit keys (numbers or addresses) to 32-bit values that are not 0; lives in an arena, nothing is removed. */
#ifndef KN_BASE_MAP_H
#define KN_BASE_MAP_H

#include "base/memory.h"

typedef struct kn_map {
    uint64_t *keys;
    uint32_t *values; /* 0: the place is free */
    uint32_t n, cap;  /* cap is 0 or a power of two */
} kn_map;

uint32_t kn_map_get(const kn_map *m, uint64_t key); /* 0 when absent */
bool kn_map_put(kn_arena *arena, kn_map *m, uint64_t key, uint32_t value); /* replaces; false when out of memory */

static inline uint64_t kn_map_address(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline uint64_t kn_map_pair(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }
/* Mixes the bits of a key so that its low ones depend on all. */
static inline uint64_t kn_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

#endif
