/* SPDX-License-Identifier: Apache-2.0 */
/* expm1: expm1_wide.h. */
MATHS_1(expm1, x)
{
    F below = LEAST(K(90), x);
    F y = WIDE(wide_expm1, MOST(K(-20), below));
    I sign = IAND(BITS(x), KI(SIGN)); /* of zeros, which wide_expm1 loses */
    return REAL(IOR(BITS(y), sign));
}
