/* SPDX-License-Identifier: Apache-2.0 */
/* exp2: x = n + r, exactly, |r| <= 1/2, 2^x = 2^n (1 + r q(r)); the ends as in exp_f32.h. */
MATHS_1(exp2, x)
{
    F below = LEAST(K(1025), x);
    F inside = MOST(K(-1076), below);
    F t = ADD(inside, K(ROUNDER));
    F r = SUB(inside, SUB(t, K(ROUNDER)));
    F q10 = FMA(K(0x1.e973173b0ee8cp-32), r, K(0x1.e61d45627b34ap-28));
    F q9 = FMA(q10, r, K(0x1.b52522bd3cc11p-24));
    F q8 = FMA(q9, r, K(0x1.62bfc65859696p-20));
    F q7 = FMA(q8, r, K(0x1.ffcbfc66852f4p-17));
    F q6 = FMA(q7, r, K(0x1.4309130f6d122p-13));
    F q5 = FMA(q6, r, K(0x1.5d87fe789e971p-10));
    F q4 = FMA(q5, r, K(0x1.3b2ab6fb9fda5p-7));
    F q3 = FMA(q4, r, K(0x1.c6b08d704a12cp-5));
    F q2 = FMA(q3, r, K(0x1.ebfbdff82c5a6p-3));
    F q1 = FMA(q2, r, K(0x1.62e42fefa39efp-1));
    F p = FMA(q1, r, K(1));
    F any = SELECT(LT(x, K(-1076)), K(0), p);
    return SCALE(any, t);
}
