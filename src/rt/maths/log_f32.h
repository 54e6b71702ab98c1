/* SPDX-License-Identifier: Apache-2.0 */
/* log: x = 2^k (1 + f), 2/3 <= 1 + f < 4/3, log x = k log 2 + (f + f^2 q(f)). The product of k and the upper part of log 2, 15 bits, is
 * exact. Subnormal numbers are scaled first. */
MATHS_1(log, x)
{
    M tiny = LT(x, K(0x1p-126));
    F normal = SELECT(tiny, MUL(x, K(0x1p24)), x);
    I bits = IADD(BITS(normal), KI(0x3f800000 - 0x3f2aaaab));
    F biased = REAL(IOR(SHRL(bits, MANTISSA), KI(INTEGERS)));
    F k = SUB(biased, SELECT(tiny, K(0x1p23 + 127 + 24), K(0x1p23 + 127)));
    F f = SUB(REAL(IADD(IAND(bits, KI(0x7fffff)), KI(0x3f2aaaab))), K(1));
    F q7 = FMA(K(-0x1.06cdfcp-3), f, K(0x1.1ec6f8p-3));
    F q6 = FMA(q7, f, K(-0x1.f3a7dep-4));
    F q5 = FMA(q6, f, K(0x1.1ec0cep-3));
    F q4 = FMA(q5, f, K(-0x1.559802p-3));
    F q3 = FMA(q4, f, K(0x1.99d1c6p-3));
    F q2 = FMA(q3, f, K(-0x1.ffff14p-3));
    F q1 = FMA(q2, f, K(0x1.555502p-2));
    F q = FMA(q1, f, K(-0.5));
    F low = FMA(k, K(0x1.7f7d1cp-20), MUL(MUL(f, f), q));
    F y = FMA(k, K(0x1.62e4p-1), ADD(f, low));
    return PART(log_ends, y, x);
}
