/* SPDX-License-Identifier: Apache-2.0 */
/* tanh: tanh_wide.h. */
MATHS_1(tanh, x)
{
    F y = WIDE(wide_tanh, x);
    I sign = IAND(BITS(x), KI(SIGN)); /* of zeros, which wide_tanh loses */
    return REAL(IOR(BITS(y), sign));
}
