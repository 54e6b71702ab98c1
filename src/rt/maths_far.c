/* SPDX-License-Identifier: Apache-2.0 */
/* sin, cos and tan beyond 2^20, exactly reduced. Of f32, x = m 2^e, x/pi modulo 2 is the product of m and those 96 bits of 1/pi that give bits
 * of weight 1 and less; of f64, x/(pi/2) modulo 4 is that of m and the 192 bits of 2/pi from weight 2 on. Plain C on one element, the same
 * on all processors. */
#include "rt/maths.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MATHS_INLINE
#define FORM f64_x1_far
#define REAL_BITS 64
#define LANES 1
#define ISA 0
#include "rt/maths/lanes.h"

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
static double sine_f32(float x, unsigned turns)
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
    return odd ? -y : y;
}

float kn_maths_far_sin_f32(float x) { return (float)sine_f32(x, 0); }
float kn_maths_far_cos_f32(float x) { return (float)sine_f32(x, 1); }
float kn_maths_far_tan_f32(float x) { return (float)(sine_f32(x, 0) / sine_f32(x, 1)); }

/* Bits of weight 2^-1 to 2^-64, and so on. */
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

/* 64 bits of 2^e (2/pi), from weight 2^-1 on; e >= -64. */
static uint64_t bits_of_quotient(int e)
{
    int word = (e + 64) / 64 - 1, shift = (e + 64) % 64;
    uint64_t high = word < 0 ? 0 : two_over_pi[word], low = two_over_pi[word + 1];
    return shift ? high << shift | low >> (64 - shift) : high;
}

typedef kn_maths_pair_f64_x1_far pair;

/* As angle_f64.h, of finite x; and the number of quarters, modulo 4. */
static pair angle_f64(double x, uint64_t *quarters)
{
    uint64_t word;
    memcpy(&word, &x, sizeof word);
    int e = (int)(word >> 52 & 0x7ff) - 1075;
    uint64_t m = (word & 0xfffffffffffff) | 0x10000000000000;
    /* v2 v1 v0 in 2^-190, modulo 4 */
    wide low = (wide)m * bits_of_quotient(e + 126), middle = (wide)m * bits_of_quotient(e + 62) + (uint64_t)(low >> 64);
    uint64_t v0 = (uint64_t)low, v1 = (uint64_t)middle, v2 = m * bits_of_quotient(e - 2) + (uint64_t)(middle >> 64);
    *quarters = (v2 + ((uint64_t)1 << 61)) >> 62;
    v2 -= *quarters << 62; /* now within half a quarter of 0 */
    int below = (int)(v2 >> 63);
    if (below) {
        v0 = -v0, v1 = ~v1 + (v0 == 0), v2 = ~v2 + (v0 == 0 && v1 == 0);
    }
    int scale = 2; /* of 2^-192 */
    while (v2 == 0) v2 = v1, v1 = v0, v0 = 0, scale -= 64;
    int zeros = __builtin_clzll(v2);
    if (zeros) v2 = v2 << zeros | v1 >> (64 - zeros), v1 = v1 << zeros | v0 >> (64 - zeros);
    wide digits = (wide)v2 << 64 | v1;
    double high = ldexp((double)(uint64_t)(digits >> 75), scale - zeros - 53);
    double rest = ldexp((double)(uint64_t)(digits >> 22 & (((uint64_t)1 << 53) - 1)), scale - zeros - 106);
    double quarter = 0x1.921fb54442d18p0, r = high * quarter;
    double lost = -(kn_maths_rest_f64_x1_far(high, quarter, r) + (high * 0x1.1a62633145c07p-54 + rest * quarter));
    if (word >> 63) *quarters = -*quarters;
    return (int)(word >> 63) != below ? (pair){-r, -lost} : (pair){r, lost};
}

static double sine_f64(double x, unsigned more)
{
    uint64_t quarters = 0;
    if (isinf(x)) return NAN;
    pair r = angle_f64(x, &quarters);
    return kn_maths_sine_of_angle_f64_x1_far(r, quarters + more);
}

double kn_maths_far_sin_f64(double x) { return sine_f64(x, 0); }
double kn_maths_far_cos_f64(double x) { return sine_f64(x, 1); }

double kn_maths_far_tan_f64(double x)
{
    uint64_t quarters = 0;
    if (isinf(x)) return NAN;
    pair r = angle_f64(x, &quarters);
    return kn_maths_tangent_of_angle_f64_x1_far(r, quarters);
}
