/* SPDX-License-Identifier: Apache-2.0 */
/* erf: erf_wide.h. */
MATHS_1(erf, x)
{
    F y = WIDE(wide_erf, ABS(x));
    return REAL(IOR(BITS(y), IAND(BITS(x), KI(SIGN))));
}
