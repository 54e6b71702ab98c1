/* SPDX-License-Identifier: Apache-2.0 */
/* pow: pow_wide.h. */
MATHS_2(pow, x, y)
{
    F size = WIDE_2(wide_pow, ABS(x), y);
    return PART(pow_ends, size, x, y);
}
