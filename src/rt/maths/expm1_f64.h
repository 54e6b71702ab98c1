/* SPDX-License-Identifier: Apache-2.0 */
/* expm1: x = n log 2 + r as in exp_f64.h, 2^n e^r - 1 = (2^n - 1) + 2^n r + 2^n r^2/2 + 2^n (r^3 q(r) + what r was rounded by), where
 * what the first sums are rounded by is kept; half of it, since 2^n may be infinite. Numbers next to 0 are their own. */
MATHS_1(expm1, x)
{
    F below = LEAST(K(710), x);
    F inside = MOST(K(-40), below);
    F t = FMA(inside, K(0x1.71547652b82fep0), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.62e42fefa38p-1), inside);
    F w = MUL(n, K(0x1.ef35793c7673p-45));
    F r = SUB(h, w);
    F q1 = PART(exp_series, r);
    F z = MUL(r, r);
    F small = FMA(MUL(r, z), q1, SUB(SUB(h, r), w));
    F s = REAL(SHL(IADD(BITS(t), KI(BIASES / 2 - 1 - ROUNDER_BITS)), MANTISSA)); /* 2^(n - 1) */
    F whole = SUB(s, K(0.5));
    F part = MUL(s, r);
    F sum = ADD(whole, part);
    F rounded = ADD(SUB(part, SUB(sum, whole)), SUB(SUB(s, whole), K(0.5)));
    F square = MUL(s, MUL(z, K(0.5)));
    F more = ADD(sum, square);
    F rounded_more = SUB(square, SUB(more, sum));
    F half = ADD(more, FMA(s, small, ADD(rounded, rounded_more)));
    return SELECT(LT(ABS(x), K(0x1p-54)), x, ADD(half, half));
}
