/* SPDX-License-Identifier: Apache-2.0 */
/* tan of f32, in f64, of |x| <= 2^20: x = n pi/2 + r, |r| <= pi/4, tan x = sin r / cos r, or -cos r / sin r of odd n. The product of n and
 * the upper part of pi/2, 33 bits, is exact. */
MATHS_PART(F, wide_tan, F x)
{
    F t = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.921fb544p0), x);
    F r = FMA(n, K(-0x1.0b4611a626331p-34), h);
    F z = MUL(r, r);
    F s3 = FMA(K(0x1.6cd19d00588cp-19), z, K(-0x1.a00f7dc2e9f26p-13));
    F s2 = FMA(s3, z, K(0x1.11110868a6991p-7));
    F s1 = FMA(s2, z, K(-0x1.5555554c6f716p-3));
    F s0 = FMA(s1, z, K(1));
    F sine = MUL(r, s0);
    F c3 = FMA(K(0x1.9916274ac7d34p-16), z, K(-0x1.6c07ef69a5767p-10));
    F c2 = FMA(c3, z, K(0x1.55553c738b42bp-5));
    F c1 = FMA(c2, z, K(-0x1.ffffffcb749acp-2));
    F cosine = FMA(c1, z, K(1));
    M odd = TOP(SHL(BITS(t), 63));
    return DIV(SELECT(odd, cosine, sine), SELECT(odd, NEG(sine), cosine));
}
