/* SPDX-License-Identifier: Apache-2.0 */
/* x^y from |x|^y, which is good for finite |x| that are not 0, by the rules of C (F.10.4.4); x^1 and x^2 are x and x * x, exactly so rounded. */

/* Of y >= 0: rounded to an integer; all numbers from 2^MANTISSA on are integers. */
MATHS_PART(F, whole, F y) { return SELECT(LT(y, REAL(KI(INTEGERS))), SUB(ADD(y, REAL(KI(INTEGERS))), REAL(KI(INTEGERS))), y); }

MATHS_PART(F, pow_ends, F size, F x, F y)
{
    F x_size = ABS(x), y_size = ABS(y), half = MUL(y_size, K(0.5));
    M falls = LT(y, K(0));
    F of_infinity = SELECT(EQ(x_size, K(INFINITY)), SELECT(falls, K(0), K(INFINITY)), x);
    F of_zero = SELECT(falls, K(INFINITY), K(0));
    size = SELECT(LT(x_size, K(INFINITY)), size, of_infinity);
    size = SELECT(EQ(x_size, K(0)), of_zero, size);
    size = SELECT(EQ(x_size, K(1)), K(1), size);

    F signed_size = REAL(IOR(BITS(size), IAND(BITS(x), KI(SIGN))));
    F of_integer = SELECT(EQ(PART(whole, half), half), size, signed_size);
    F of_other = SELECT(LT(x, K(0)), SELECT(LT(x_size, K(INFINITY)), K(NAN), size), size);
    F result = SELECT(EQ(PART(whole, y_size), y_size), of_integer, of_other);
    result = SELECT(EQ(y, K(2)), MUL(x, x), result);
    result = SELECT(EQ(y, K(1)), x, result);
    result = SELECT(EQ(y, y), result, y);
    result = SELECT(EQ(x, K(1)), K(1), result);
    return SELECT(EQ(y, K(0)), K(1), result);
}
