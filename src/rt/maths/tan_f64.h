/* SPDX-License-Identifier: Apache-2.0 */
/* tan: angle_f64.h; tan r of an even number of quarters, -1/tan r of an odd one, where the quotient is corrected by what it leaves of the
 * sum that tan r is. Operands far away are reduced one by one. */
MATHS_PART(F, tangent_of_angle, P r, I quarters)
{
    F z = MUL(r.high, r.high);
    F t13 = FMA(K(0x1.5df7b9557aa1p-16), z, K(-0x1.78552aba293b3p-15));
    F t12 = FMA(t13, z, K(0x1.7715c598501f8p-14));
    F t11 = FMA(t12, z, K(-0x1.ba40cdbc3ed7ap-16));
    F t10 = FMA(t11, z, K(0x1.1e47608188321p-13));
    F t9 = FMA(t10, z, K(0x1.d261651684b8p-13));
    F t8 = FMA(t9, z, K(0x1.37fbeaf35f91ep-11));
    F t7 = FMA(t8, z, K(0x1.7d5b30217e30bp-10));
    F t6 = FMA(t7, z, K(0x1.d6d937a6f97c9p-9));
    F t5 = FMA(t6, z, K(0x1.226e123bf9d9fp-7));
    F t4 = FMA(t5, z, K(0x1.664f49a9a231p-6));
    F t3 = FMA(t4, z, K(0x1.ba1ba1b463fa7p-5));
    F t2 = FMA(t3, z, K(0x1.1111111118398p-3));
    F t1 = FMA(t2, z, K(0x1.55555555554f1p-2));
    F cubed = MUL(r.high, z);
    F about = FMA(cubed, t1, r.high);
    F less = FMA(MUL(about, about), r.low, r.low);
    F more = FMA(cubed, t1, FMA(MUL(r.high, REST(r.high, r.high, z)), t1, NEG(less)));
    F tangent = ADD(r.high, more);
    F rest = SUB(more, SUB(tangent, r.high));
    F quotient = DIV(K(-1), tangent);
    F one = MUL(quotient, tangent);
    F away = ADD(ADD(one, K(1)), FMA(quotient, rest, REST(quotient, tangent, one)));
    F cotangent = FMA(quotient, away, quotient);
    return SELECT(TOP(SHL(quarters, 63)), cotangent, tangent);
}

MATHS_1(tan, x)
{
    F t = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    F y = PART(tangent_of_angle, PART(angle, x, SUB(t, K(ROUNDER))), BITS(t));
    return RARELY(LT(K(0x1p20), ABS(x)), y, tan, x);
}
