/* SPDX-License-Identifier: Apache-2.0 */
/* sin and cos of f32 beyond 2^20, exactly reduced: with x = m 2^e, x/pi modulo 2 is the product of m and those 96 bits of 1/pi that give
 * bits of weight 1 and less. Plain C on one element, the same on all processors. */
#include "rt/maths.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* 2^-32, 2^-64, ... */
static const uint32_t inverse_pi[] = {0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820, 0xff28b1d5};

/* Bits of 2^e/pi from 2^0 to 2^-95; e < 128. */
static wide window(int e)
{
    wide w = 0;
    for (int at = e; at < e + 96; at++) { /* of weight 2^-at in 1/pi, which is below 1 */
        uint32_t bit = at <= 0 ? 0 : inverse_pi[(at - 1) / 32] >> (31 - (at - 1) % 32) & 1;
        w = w << 1 | bit;
    }
    return w;
}

/* sin of (x/pi + turns/2) pi */
static float sine(float x, unsigned turns)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    int exponent = word >> 23 & 0xff;
    if (exponent == 0xff) return NAN;
    wide m = (word & 0x7fffff) | 0x800000, v = m * window(exponent - 150);
    if (word >> 31) v = -v;
    v = (v + ((wide)turns << 94)) & (((wide)1 << 96) - 1); /* modulo 2, in 2^-95 */
    int odd = v >> 94 == 1 || v >> 94 == 2;                 /* nearer to 1 than to 0 or 2 */
    uint64_t top = (uint64_t)(v >> 32), bias = (uint64_t)1 << 63; /* in 2^-63 */
    int64_t rest = (int64_t)(odd ? top - bias : top);
    double r = (double)rest * 0x1p-63 * 0x1.921fb54442d18p1, z = r * r;
    double p = -0x1.9f6f404b84a4ap-13 + 0x1.5db2ee602cb77p-19 * z;
    p = -0x1.55554bb170103p-3 + (0x1.110ecfa21a9efp-7 + p * z) * z;
    double y = r + r * (z * p);
    return (float)(odd ? -y : y);
}

float kn_maths_far_sin(float x) { return sine(x, 0); }
float kn_maths_far_cos(float x) { return sine(x, 1); }
