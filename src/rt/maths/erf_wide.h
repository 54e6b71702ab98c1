/* SPDX-License-Identifier: Apache-2.0 */
/* erf of f32, in f64, of 0 <= x: x p(x^2) up to 1; beyond, 1 - e^-x^2 q(t), t = (x - 5/2)/(x + 5/2). From 4 on, 1. */
MATHS_PART(F, wide_erf, F x)
{
    F size = LEAST(K(4), x);
    F z = MUL(size, size);
    F p5 = FMA(K(0x1.4946852e17b05p-14), z, K(-0x1.a3ea9906c3fbep-11));
    F p4 = FMA(p5, z, K(0x1.5404166049914p-8));
    F p3 = FMA(p4, z, K(-0x1.b7f8dc37f9e6cp-6));
    F p2 = FMA(p3, z, K(0x1.ce2cf4a6fc16ep-4));
    F p1 = FMA(p2, z, K(-0x1.81273ddc796cp-2));
    F p = FMA(p1, z, K(0x1.20dd74fe3e94fp0));
    F d = ADD(size, K(2.5));
    F about = RECIPROCAL(d);
    F t = MUL(SUB(size, K(2.5)), FMA(about, FMA(NEG(d), about, K(1)), about));
    F q5 = FMA(K(-0x1.d6085e0e6d96fp-9), t, K(-0x1.2685826d067dp-8));
    F q4 = FMA(q5, t, K(0x1.45dc1044d2f88p-5));
    F q3 = FMA(q4, t, K(-0x1.001d1b2c00b5bp-3));
    F q2 = FMA(q3, t, K(0x1.01c0af7205045p-2));
    F q1 = FMA(q2, t, K(-0x1.7ca88f2af7ef8p-2));
    F q = FMA(q1, t, K(0x1.afbb3f77be44ep-3));
    F e = ADD(PART(wide_expm1, NEG(z)), K(1));
    M small = LE(size, K(1));
    return SELECT(small, MUL(size, p), FMA(NEG(e), q, K(1)));
}
