/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random bits: Threefry-2x32 with 20 rounds and Philox-4x32 with 10 (J. Salmon et al., SC 2011). */
#ifndef KN_RT_THREEFRY_H
#define KN_RT_THREEFRY_H

#include <stdint.h>

static inline uint32_t kn_rotate_left(uint32_t x, unsigned r) { return x << r | x >> (32 - r); }

static inline void kn_threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2])
{
    static const unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau}, x = counter[0] + k[0], y = counter[1] + k[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) x += y, y = kn_rotate_left(y, rotations[group % 2][i]) ^ x;
        x += k[(group + 1) % 3];
        y += k[(group + 2) % 3] + group + 1;
    }
    out[0] = x, out[1] = y;
}

static inline void kn_philox4x32(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1], c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xd2511f53u * c[0], q = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t n[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        for (int i = 0; i < 4; i++) c[i] = n[i];
        k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

#endif
