/* SPDX-License-Identifier: Apache-2.0 */
/* tanh: next to 0, x + x u(x^2)/v(x^2); beyond, 1 - 2/(e^2|x| + 1) with e^2|x| = 2^n (1 + r + r^2 q(r)), where what both sums and the quotient
 * are rounded by is put in. One quotient is made, of what is chosen. From 20 on, 1. */
MATHS_1(tanh, x)
{
    F size = LEAST(K(20), ABS(x));
    F twice = ADD(size, size);
    F t = FMA(twice, K(0x1.71547652b82fep0), K(ROUNDER));
    F n = SUB(t, K(ROUNDER));
    F h = FMA(n, K(-0x1.62e42fefa38p-1), twice);
    F r = FMA(n, K(-0x1.ef35793c7673p-45), h);
    F q1 = PART(exp_series, r);
    F q = FMA(q1, r, K(0.5));
    F square = MUL(MUL(r, r), q);
    F s = REAL(SHL(IADD(BITS(t), KI(BIASES / 2 - ROUNDER_BITS)), MANTISSA));
    F whole = ADD(s, K(1));
    F most = FMA(s, r, whole);
    F d = FMA(s, square, most);
    F rest = ADD(FMA(s, r, SUB(whole, most)), FMA(s, square, SUB(most, d))); /* of the sum d is */

    F z = MUL(x, x);
    F u1 = FMA(K(-0x1.a1f9ccd583779p-13), z, K(-0x1.4fe6580f68fe1p-6));
    F u = FMA(u1, z, K(-0x1.5555555555555p-2));
    F v2 = FMA(K(0x1.b16bc138bc776p-13), z, K(0x1.7dab1df380059p-6));
    F v1 = FMA(v2, z, K(0x1.d894ca1c7d480p-2));
    F v = FMA(v1, z, K(1));

    M small = LE(size, K(0.55));
    F quotient = DIV(SELECT(small, MUL(z, u), K(-2)), SELECT(small, v, d));
    F base = SELECT(small, size, K(1));
    F y = FMA(base, quotient, base);
    F left = FMA(quotient, rest, FMA(quotient, d, K(2)));
    F rounded = FMA(left, MUL(quotient, K(0.5)), SUB(quotient, SUB(y, base)));
    y = ADD(y, SELECT(small, K(0), rounded));
    return REAL(IOR(BITS(y), IAND(BITS(x), KI(SIGN))));
}
