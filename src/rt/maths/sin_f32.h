/* SPDX-License-Identifier: Apache-2.0 */
/* sin: sine.h; operands far away are reduced one by one. */
MATHS_1(sin, x)
{
    F y = WIDE(wide_sin, x);
    M far = LT(K(0x1p20), ABS(x));
    return RARELY(far, y, sin, x);
}
