/* SPDX-License-Identifier: Apache-2.0 */
/* exp: x = n log 2 + r, |r| <= log(2)/2, e^x = 2^n (1 + r (1 + r q(r))). The product of n and the upper part of log 2, 15 bits, is exact.
 * Beyond the bounds at both ends the result is infinite or 0; NaN passes them. A 0 is put in before it is scaled: to round to it from below
 * takes processors a hundred cycles and more. */
MATHS_1(exp, x)
{
    F below = LEAST(K(89), x);
    F inside = MOST(K(-104), below);
    F t = FMA(inside, K(0x1.715476p0), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.62e4p-1), inside);
    F r = FMA(n, K(-0x1.7f7d1cp-20), h);
    F q5 = FMA(K(0x1.6a4d58p-10), r, K(0x1.12398cp-7));
    F q4 = FMA(q5, r, K(0x1.5558bp-5));
    F q3 = FMA(q4, r, K(0x1.555492p-3));
    F q2 = FMA(q3, r, K(0x1.fffffcp-2));
    F q1 = FMA(q2, r, K(1));
    F p = FMA(q1, r, K(1));
    F any = SELECT(LT(x, K(-104)), K(0), p);
    return SCALE(any, t);
}
