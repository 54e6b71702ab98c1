/* SPDX-License-Identifier: Apache-2.0 */
/* erf: of |x| <= 17/16, x + x p(x^2); beyond, 1 - e^-x^2 q(t), t = (|x| - 5/2)/(|x| + 5/2). From 6 on, 1. What x^2
 * and the sum below the last are rounded by is put in. */
MATHS_1(erf, x)
{
    F size = LEAST(K(6), ABS(x));
    F z = MUL(size, size);
    F z_low = REST(size, size, z);
    F p11 = FMA(K(0x1.016034fd489b1p-34), z, K(-0x1.372cf567bc89ep-30));
    F p10 = FMA(p11, z, K(0x1.f7575fd4ea8c1p-27));
    F p9 = FMA(p10, z, K(-0x1.5f18d6440480dp-23));
    F p8 = FMA(p9, z, K(0x1.b9deca18c923p-20));
    F p7 = FMA(p8, z, K(-0x1.f4d1e407ba21ep-17));
    F p6 = FMA(p7, z, K(0x1.f9a32250f101ap-14));
    F p5 = FMA(p6, z, K(-0x1.c02db3e2e3cdp-11));
    F p4 = FMA(p5, z, K(0x1.565bcd0dfd025p-8));
    F p3 = FMA(p4, z, K(-0x1.b82ce31287102p-6));
    F p2 = FMA(p3, z, K(0x1.ce2f21a042bbap-4));
    F p1 = FMA(p2, z, K(-0x1.812746b0379e7p-2));
    F p1_low = ADD(FMA(p2, z, SUB(K(-0x1.812746b0379e7p-2), p1)), K(0x1.1ecd404bcc9a9p-56));
    F low = FMA(p1_low, z, FMA(z_low, p1, K(0x1.baea08536da23p-9)));
    F p = ADD(FMA(p1, z, K(0.125)), low);

    F t = DIV(SUB(size, K(2.5)), ADD(size, K(2.5)));
    F q11 = FMA(K(0x1.f93360ecf1a61p-18), t, K(0x1.1921649925b6ep-16));
    F q10 = FMA(q11, t, K(-0x1.2bda5ef81ea7cp-15));
    F q9 = FMA(q10, t, K(-0x1.0f8d8348cf62bp-13));
    F q8 = FMA(q9, t, K(0x1.deb6207579ff5p-13));
    F q7 = FMA(q8, t, K(0x1.cb3b2233515dbp-11));
    F q6 = FMA(q7, t, K(-0x1.5a56fafc918dfp-9));
    F q5 = FMA(q6, t, K(-0x1.05bb2d8d2c70bp-8));
    F q4 = FMA(q5, t, K(0x1.470ba1f92fdccp-5));
    F q3 = FMA(q4, t, K(-0x1.0011543730484p-3));
    F q2 = FMA(q3, t, K(0x1.01c11a735bb38p-2));
    F q1 = FMA(q2, t, K(-0x1.7ca88dec217dfp-2));
    F q = FMA(q1, t, K(0x1.afbb3f3b7343fp-3));

    F turn = FMA(z, K(-0x1.71547652b82fep0), K(ROUNDER));
    F n = SUB(turn, K(ROUNDER));
    F h = FMA(n, K(-0x1.62e42fefa38p-1), NEG(z));
    F r = FMA(n, K(-0x1.ef35793c7673p-45), SUB(h, z_low));
    F e9 = FMA(K(0x1.ae77751dea6a2p-26), r, K(0x1.28a28f7b2dd6cp-22));
    F e8 = FMA(e9, r, K(0x1.71de810b6e37ap-19));
    F e7 = FMA(e8, r, K(0x1.a019a6a14f465p-16));
    F e6 = FMA(e7, r, K(0x1.a01a0177f18fdp-13));
    F e5 = FMA(e6, r, K(0x1.6c16c17f2f1bcp-10));
    F e4 = FMA(e5, r, K(0x1.1111111118832p-7));
    F e3 = FMA(e4, r, K(0x1.555555555210cp-5));
    F e2 = FMA(e3, r, K(0x1.555555555553bp-3));
    F e1 = FMA(e2, r, K(0x1.0000000000005p-1));
    F e0 = FMA(e1, r, K(1));
    F e = FMA(e0, r, K(1));
    F scaled = MUL(e, REAL(SHL(IADD(BITS(turn), KI(BIASES / 2 - ROUNDER_BITS)), MANTISSA)));

    M small = LE(size, K(1.0625));
    F y = FMA(SELECT(small, size, NEG(scaled)), SELECT(small, p, q), SELECT(small, size, K(1)));
    return REAL(IOR(BITS(y), IAND(BITS(x), KI(SIGN))));
}
