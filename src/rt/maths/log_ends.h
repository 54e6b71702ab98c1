/* SPDX-License-Identifier: Apache-2.0 */
/* y where x is positive and finite, what a logarithm is elsewhere: -infinity of zeros, NaN of negative numbers. */
MATHS_PART(F, log_ends, F y, F x)
{
    F above = SELECT(LT(x, K(INFINITY)), y, x);
    F below = SELECT(EQ(x, K(0)), K(-INFINITY), K(NAN));
    return SELECT(LT(K(0), x), above, below);
}
