/* SPDX-License-Identifier: Apache-2.0 */
/* p 2^n, rounded once, for 0.5 < p < 2; t = ROUNDER + n, so that n stands in its lowest bits. 2^n = 2^i 2^j with exponents that are numbers'
 * in all that exp needs: only the last product rounds. */
MATHS_PART(F, scale, F p, F t)
{
    I both = IADD(BITS(t), KI(BIASES - ROUNDER_BITS)); /* i + j, each with its bias */
    I i = SHRL(both, 1);
    I j = ISUB(both, i);
    F a = MUL(p, REAL(SHL(i, MANTISSA)));
    return MUL(a, REAL(SHL(j, MANTISSA)));
}
