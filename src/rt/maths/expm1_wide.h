/* SPDX-License-Identifier: Apache-2.0 */
/* e^x - 1 of f32, in f64, of |x| <= 90: x = n log 2 + r, 2^n (1 + p) - 1. */
MATHS_PART(F, wide_expm1, F x)
{
    F t = FMA(x, K(0x1.71547652b82fep0), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F r = FMA(n, K(-0x1.62e42fefa39efp-1), x);
    F q6 = FMA(K(0x1.a055092ec3f15p-13), r, K(0x1.6d72f45df4837p-10));
    F q5 = FMA(q6, r, K(0x1.111170cca61c7p-7));
    F q4 = FMA(q5, r, K(0x1.5554afefa6512p-5));
    F q3 = FMA(q4, r, K(0x1.5555550002692p-3));
    F q2 = FMA(q3, r, K(0x1.00000026a5b71p-1));
    F q1 = FMA(q2, r, K(1));
    F p = MUL(q1, r);
    I bits = IADD(BITS(t), KI(BIASES / 2 - ROUNDER_BITS));
    F s = REAL(SHL(bits, MANTISSA));
    return FMA(s, p, SUB(s, K(1)));
}
