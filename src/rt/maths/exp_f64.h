/* SPDX-License-Identifier: Apache-2.0 */
/* exp as in exp_f32.h; the upper part of log 2 has 42 bits. */
MATHS_1(exp, x)
{
    F below = LEAST(K(710), x);
    F inside = MOST(K(-746), below);
    F t = FMA(inside, K(0x1.71547652b82fep0), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.62e42fefa38p-1), inside);
    F r = FMA(n, K(-0x1.ef35793c7673p-45), h);
    F q10 = FMA(K(0x1.ada89376c494dp-26), r, K(0x1.28ae17c43dca5p-22));
    F q9 = FMA(q10, r, K(0x1.71df0ab00410fp-19));
    F q8 = FMA(q9, r, K(0x1.a0199945abf1ep-16));
    F q7 = FMA(q8, r, K(0x1.a01a0136ad3fp-13));
    F q6 = FMA(q7, r, K(0x1.6c16c1847e863p-10));
    F q5 = FMA(q6, r, K(0x1.11111111255adp-7));
    F q4 = FMA(q5, r, K(0x1.55555555506a6p-5));
    F q3 = FMA(q4, r, K(0x1.5555555555504p-3));
    F q2 = FMA(q3, r, K(0x1.000000000000ap-1));
    F q1 = FMA(q2, r, K(1));
    F p = FMA(q1, r, K(1));
    F any = SELECT(LT(x, K(-746)), K(0), p);
    return SCALE(any, t);
}
