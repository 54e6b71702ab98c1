/* SPDX-License-Identifier: Apache-2.0 */
/* pow: 2^(y log2 |x|), where the logarithm is a sum of two numbers with 68 digits: |x| = 2^k m, sqrt(1/2) <= m < sqrt(2), s = (m - 1)/(m + 1),
 * log2 m = 2 atanh(s)/log 2 = s (c + s^2 (c/3 + s^2 q(s^2))), c = 2/log 2; down to c/3, sums and products keep what they are rounded by. */
MATHS_PART(P, log2_of, F x)
{
    M tiny = LT(x, K(0x1p-1022));
    F normal = SELECT(tiny, MUL(x, K(0x1p54)), x);
    I bits = IADD(BITS(normal), KI(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
    F biased = REAL(IOR(SHRL(bits, MANTISSA), KI(INTEGERS)));
    F k = SUB(biased, SELECT(tiny, K(0x1p52 + 1023 + 54), K(0x1p52 + 1023)));
    F scaled = REAL(IADD(IAND(bits, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd)));

    F f = SUB(scaled, K(1)), d = ADD(scaled, K(1));
    F d_low = SUB(scaled, SUB(d, K(1)));
    F inverse = DIV(K(1), d);
    F s = MUL(f, inverse);
    F product = MUL(s, d);
    F left = SUB(SUB(f, product), REST(s, d, product));
    F s_low = MUL(FMA(NEG(s), d_low, left), inverse);

    F z = MUL(s, s);
    F z_low = FMA(ADD(s, s), s_low, REST(s, s, z));
    F q6 = FMA(K(0x1.609f4a0b831ap-3), z, K(0x1.59306953ff87fp-3));
    F q5 = FMA(q6, z, K(0x1.8a06942b80a65p-3));
    F q4 = FMA(q5, z, K(0x1.c68f0283468b4p-3));
    F q3 = FMA(q4, z, K(0x1.0c9a85038d751p-2));
    F q2 = FMA(q3, z, K(0x1.484b13d731189p-2));
    F q1 = FMA(q2, z, K(0x1.a61762a7ae443p-2));
    F q = FMA(q1, z, K(0x1.2776c50ef9bfep-1));
    F tail = MUL(z, q);
    F third = ADD(tail, K(0x1.ec709dc3a03fdp-1));
    F third_low = ADD(SUB(tail, SUB(third, K(0x1.ec709dc3a03fdp-1))), K(0x1.d27f05548af0cp-55));
    F more = MUL(z, third);
    F more_low = ADD(REST(z, third, more), FMA(z, third_low, MUL(z_low, third)));
    F c = ADD(more, K(0x1.71547652b82fep1));
    F c_low = ADD(SUB(more, SUB(c, K(0x1.71547652b82fep1))), ADD(more_low, K(0x1.777d0ffda0d24p-55)));
    F l = MUL(s, c);
    F l_low = ADD(REST(s, c, l), FMA(s, c_low, MUL(s_low, c)));
    F sum = ADD(k, l);
    F sum_low = ADD(SUB(l, SUB(sum, k)), l_low);
    return (P){sum, sum_low};
}

/* 2^(x + low): x = n + r, 1 + r log 2 + r^2 q(r), where what the first product and sum are rounded by is kept. */
MATHS_PART(F, exp2_of, F x, F low)
{
    F inside = MOST(K(-1100), LEAST(K(1100), x));
    F t = ADD(inside, K(ROUNDER));
    F r = SUB(inside, SUB(t, K(ROUNDER)));
    F q10 = FMA(K(0x1.b4ca32952eedfp-36), r, K(0x1.e9d6bd883a006p-32));
    F q9 = FMA(q10, r, K(0x1.e4d9f7e3bd5c8p-28));
    F q8 = FMA(q9, r, K(0x1.b524f93b372aep-24));
    F q7 = FMA(q8, r, K(0x1.62c01f8854804p-20));
    F q6 = FMA(q7, r, K(0x1.ffcbfc67c0b5ep-17));
    F q5 = FMA(q6, r, K(0x1.430912f9046ccp-13));
    F q4 = FMA(q5, r, K(0x1.5d87fe78a509cp-10));
    F q3 = FMA(q4, r, K(0x1.3b2ab6fba4cc3p-7));
    F q2 = FMA(q3, r, K(0x1.c6b08d704a0c2p-5));
    F q = FMA(q2, r, K(0x1.ebfbdff82c58fp-3));
    F first = MUL(r, K(0x1.62e42fefa39efp-1));
    F second = MUL(MUL(r, r), q);
    F about = ADD(ADD(first, second), K(1));
    F sum = ADD(first, K(1));
    F rounded = FMA(r, K(0x1.abc9e3b39803fp-56), ADD(SUB(first, SUB(sum, K(1))), REST(r, K(0x1.62e42fefa39efp-1), first)));
    F near = FMA(MUL(low, K(0x1.62e42fefa39efp-1)), about, rounded);
    F p = ADD(sum, ADD(second, SELECT(LT(ABS(x), K(1100)), near, K(0))));
    F any = SELECT(LT(x, K(-1080)), K(0), p);
    return SCALE(any, t);
}

MATHS_2(pow, x, y)
{
    P l = PART(log2_of, ABS(x));
    F power = MUL(y, l.high);
    F size = PART(exp2_of, power, FMA(y, l.low, REST(y, l.high, power)));
    return PART(pow_ends, size, x, y);
}
