/* SPDX-License-Identifier: Apache-2.0 */
/* x^y of f32, in f64, of positive finite x: 2^(y log2 x) where log2 x = k + 2 atanh(s)/log 2, x = 2^k m, sqrt(1/2) <= m < sqrt(2),
 * s = (m - 1)/(m + 1). */
MATHS_PART(F, wide_pow, F x, F y)
{
    I bits = IADD(BITS(x), KI(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
    F k = SUB(REAL(IOR(SHRL(bits, MANTISSA), KI(INTEGERS))), K(0x1p52 + 1023));
    F scaled = REAL(IADD(IAND(bits, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd)));
    F d = ADD(scaled, K(1));
    F about = RECIPROCAL(d);
    F inverse = FMA(about, FMA(NEG(d), about, K(1)), about);
    F s = MUL(SUB(scaled, K(1)), inverse);
    F z = MUL(s, s);
    F l3 = FMA(K(0x1.5ce85232406fbp-2), z, K(0x1.a58d88e6ceb6cp-2));
    F l2 = FMA(l3, z, K(0x1.27777fe84be88p-1));
    F l1 = FMA(l2, z, K(0x1.ec709d12cfb16p-1));
    F l = FMA(l1, z, K(0x1.71547652bedf3p1));
    F power = MUL(y, FMA(s, l, k));
    F inside = MOST(K(-200), LEAST(K(200), power));
    F t = ADD(inside, K(ROUNDER));
    F r = SUB(inside, SUB(t, K(ROUNDER)));
    F q5 = FMA(K(0x1.41fb9f71fddc7p-13), r, K(0x1.5f3e7f4374fc6p-10));
    F q4 = FMA(q5, r, K(0x1.3b2d4d7a41014p-7));
    F q3 = FMA(q4, r, K(0x1.c6aee839f922cp-5));
    F q2 = FMA(q3, r, K(0x1.ebfbdc3b0abf1p-3));
    F q1 = FMA(q2, r, K(0x1.62e430af6015ep-1));
    F p = FMA(q1, r, K(1));
    return MUL(p, REAL(SHL(IADD(BITS(t), KI(BIASES / 2 - ROUNDER_BITS)), MANTISSA)));
}
