/* SPDX-License-Identifier: Apache-2.0 */
/* exp2 as in exp2_f64.h. */
MATHS_1(exp2, x)
{
    F below = LEAST(K(129), x);
    F inside = MOST(K(-151), below);
    F t = ADD(inside, K(ROUNDER));
    F r = SUB(inside, SUB(t, K(ROUNDER)));
    F q5 = FMA(K(0x1.3faf58p-13), r, K(0x1.5f0cap-10));
    F q4 = FMA(q5, r, K(0x1.3b3094p-7));
    F q3 = FMA(q4, r, K(0x1.c6af74p-5));
    F q2 = FMA(q3, r, K(0x1.ebfbd8p-3));
    F q1 = FMA(q2, r, K(0x1.62e43p-1));
    F p = FMA(q1, r, K(1));
    F any = SELECT(LT(x, K(-151)), K(0), p);
    return SCALE(any, t);
}
