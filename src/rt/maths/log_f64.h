/* SPDX-License-Identifier: Apache-2.0 */
/* log: x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), log(1 + f) = 2 atanh s with s = f/(2 + f), which is f - (f^2/2 - s (f^2/2 + r(s^2))).
 * The product of k and the upper part of log 2, 42 bits, is exact. Subnormal numbers are scaled first. */
MATHS_1(log, x)
{
    M tiny = LT(x, K(0x1p-1022));
    F normal = SELECT(tiny, MUL(x, K(0x1p54)), x);
    I bits = IADD(BITS(normal), KI(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
    F biased = REAL(IOR(SHRL(bits, MANTISSA), KI(INTEGERS)));
    F k = SUB(biased, SELECT(tiny, K(0x1p52 + 1023 + 54), K(0x1p52 + 1023)));
    F f = SUB(REAL(IADD(IAND(bits, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd))), K(1));
    F s = DIV(f, ADD(f, K(2)));
    F z = MUL(s, s);
    F r6 = FMA(K(0x1.2f0b56dd3f807p-3), z, K(0x1.39a122bef4c9p-3));
    F r5 = FMA(r6, z, K(0x1.746644e0a06a4p-3));
    F r4 = FMA(r5, z, K(0x1.c71c51eb7ec1bp-3));
    F r3 = FMA(r4, z, K(0x1.2492494217a8cp-2));
    F r2 = FMA(r3, z, K(0x1.999999997fac3p-2));
    F r1 = FMA(r2, z, K(0x1.5555555555593p-1));
    F half = MUL(MUL(K(0.5), f), f);
    F low = FMA(s, FMA(r1, z, half), MUL(k, K(0x1.ef35793c7673p-45)));
    F y = FMA(k, K(0x1.62e42fefa38p-1), SUB(f, SUB(half, low)));
    return PART(log_ends, y, x);
}
