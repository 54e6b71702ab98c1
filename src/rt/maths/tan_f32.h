/* SPDX-License-Identifier: Apache-2.0 */
/* tan: tan_wide.h; operands far away are reduced one by one. */
MATHS_1(tan, x)
{
    F y = WIDE(wide_tan, x);
    return RARELY(LT(K(0x1p20), ABS(x)), y, tan, x);
}
