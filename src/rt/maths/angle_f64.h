/* SPDX-License-Identifier: Apache-2.0 */
/* sin and cos of |x| <= 2^20 by quarters of a turn: x = n pi/2 + r, |r| <= pi/4. pi/2 in three parts: the product of n and the first, 33
 * bits, is exact, and so is x less it; what the second product and its difference are rounded by is kept. */

/* r as high - low; a zero keeps its sign. */
MATHS_PART(P, angle, F x, F n)
{
    F h = FMA(n, K(-0x1.921fb544p0), x);
    F w = MUL(n, K(0x1.0b4611a626331p-34));
    F r = SUB(h, w);
    F back = SUB(r, h);
    F rounded = SUB(ADD(back, w), SUB(h, SUB(r, back))); /* (h - w) - r, negative: Knuth's sum */
    F low = FMA(n, K(0x1.1701b839a252p-88), ADD(rounded, REST(n, K(0x1.0b4611a626331p-34), w)));
    return (P){r, low};
}

/* sin of r and n quarters more; n stands in the lowest bits of `quarters`. */
MATHS_PART(F, sine_of_angle, P r, I quarters)
{
    F z = MUL(r.high, r.high);
    F half = MUL(z, K(0.5));
    F s5 = FMA(K(-0x1.5d8e3511b6efep-33), z, K(0x1.ae5e5471f51a6p-26));
    F s4 = FMA(s5, z, K(-0x1.71de355f05597p-19));
    F s3 = FMA(s4, z, K(0x1.a01a019bf222ep-13));
    F s2 = FMA(s3, z, K(-0x1.111111110f75dp-7));
    F s1 = FMA(s2, z, K(0x1.5555555555548p-3));
    F less = FMA(MUL(r.high, z), s1, FMA(NEG(half), r.low, r.low));
    F sine = SUB(r.high, less);
    F c5 = FMA(K(-0x1.8fa681e328659p-37), z, K(0x1.1ee9dbd0d80aap-29));
    F c4 = FMA(c5, z, K(-0x1.27e4f7f19d4afp-22));
    F c3 = FMA(c4, z, K(0x1.a01a019c8f3eep-16));
    F c2 = FMA(c3, z, K(-0x1.6c16c16c15016p-10));
    F c1 = FMA(c2, z, K(0x1.555555555554bp-5));
    F most = SUB(K(1), half);
    F more = FMA(MUL(z, z), c1, FMA(r.high, r.low, SUB(SUB(K(1), most), half)));
    F cosine = ADD(most, more);
    F y = SELECT(TOP(SHL(quarters, 63)), cosine, sine);
    return REAL(IXOR(BITS(y), IAND(SHL(quarters, 62), KI(SIGN))));
}
