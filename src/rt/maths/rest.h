/* SPDX-License-Identifier: Apache-2.0 */
/* a b - p where p is the product rounded, without a multiply-add that rounds once: of halves of the digits (Dekker 1971, Numer. Math. 18,
 * 224), a and b below 2^1023/HALVER. */
MATHS_PART(F, rest, F a, F b, F p)
{
    F a_large = MUL(a, K(HALVER)), b_large = MUL(b, K(HALVER));
    F a_high = SUB(a_large, SUB(a_large, a)), b_high = SUB(b_large, SUB(b_large, b));
    F a_low = SUB(a, a_high), b_low = SUB(b, b_high);
    F crossed = ADD(ADD(SUB(MUL(a_high, b_high), p), MUL(a_high, b_low)), MUL(a_low, b_high));
    return ADD(crossed, MUL(a_low, b_low));
}
