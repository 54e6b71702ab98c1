/* SPDX-License-Identifier: Apache-2.0 */
/* cos: sine.h; operands far away are reduced one by one. */
MATHS_1(cos, x)
{
    F y = WIDE(wide_cos, x);
    M far = LT(K(0x1p20), ABS(x));
    return RARELY(far, y, cos, x);
}
