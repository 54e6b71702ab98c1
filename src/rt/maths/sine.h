/* SPDX-License-Identifier: Apache-2.0 */
/* sin and cos of f32, in f64, of |x| <= 2^20: x = n pi + r, |r| <= pi/2, sin x = (-1)^n sin r, and cos x = sin(x + pi/2). The product of n
 * and the upper part of pi, 32 bits, is exact. */
MATHS_PART(F, sine_of, F r, F t)
{
    F z = MUL(r, r);
    F p3 = FMA(K(0x1.5db2ee602cb77p-19), z, K(-0x1.9f6f404b84a4ap-13));
    F p2 = FMA(p3, z, K(0x1.110ecfa21a9efp-7));
    F p1 = FMA(p2, z, K(-0x1.55554bb170103p-3));
    F p0 = FMA(p1, z, K(1));
    F y = MUL(r, p0);
    I odd = SHL(BITS(t), 63);
    return REAL(IXOR(BITS(y), odd));
}

MATHS_PART(F, wide_sin, F x)
{
    F t = FMA(x, K(0x1.45f306dc9c883p-2), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.921fb544p1), x);
    F r = FMA(n, K(-0x1.0b4611a626331p-33), h);
    return PART(sine_of, r, t);
}

MATHS_PART(F, wide_cos, F x)
{
    F turns = FMA(x, K(0x1.45f306dc9c883p-2), K(0.5));
    F t = ADD(turns, K(ROUNDER));
    F whole = SUB(t, K(ROUNDER));
    F n = SUB(whole, K(0.5));
    F h = FMA(n, K(-0x1.921fb544p1), x);
    F r = FMA(n, K(-0x1.0b4611a626331p-33), h);
    return PART(sine_of, r, t);
}
