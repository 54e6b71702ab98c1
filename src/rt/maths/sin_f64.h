/* SPDX-License-Identifier: Apache-2.0 */
/* sin and cos: angle_f64.h; operands far away are reduced one by one. */
MATHS_1(sin, x)
{
    F t = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    F y = PART(sine_of_angle, PART(angle, x, SUB(t, K(ROUNDER))), BITS(t));
    return RARELY(LT(K(0x1p20), ABS(x)), y, sin, x);
}

MATHS_1(cos, x)
{
    F t = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    F y = PART(sine_of_angle, PART(angle, x, SUB(t, K(ROUNDER))), IADD(BITS(t), KI(1)));
    return RARELY(LT(K(0x1p20), ABS(x)), y, cos, x);
}
