/* SPDX-License-Identifier: Apache-2.0 */
/* The floats of 16 bits and less: how their codes are laid out, and what the highest codes mean.
 *   IEEE  the top exponent holds infinity and NaN
 *   FN    one code, all ones, is NaN; no infinity
 *   FNUZ  the code of -0 is NaN; no infinity, one zero
 *   MAX   finite only
 * Those of 4, 6 and 8 bits (kind '8') as doubles. Narrowing rounds once, to nearest even. */
#ifndef KN_ARRAY_FLOAT8_H
#define KN_ARRAY_FLOAT8_H

#include "array/array.h"

typedef enum kn_float_ends { KN_ENDS_IEEE, KN_ENDS_FN, KN_ENDS_FNUZ, KN_ENDS_MAX } kn_float_ends;
typedef struct kn_float_format {
    int bits, mant, bias; /* mant: bits of the mantissa */
    kn_float_ends ends;
} kn_float_format;
kn_float_format kn_float_format_of(kiln_dtype d); /* not of F8E8M0FNU, which has no mantissa */
int kn_float_largest(kn_float_format f);          /* code of the largest finite number */

uint8_t kn_float8_narrow(kiln_dtype d, double v);
double kn_float8_widen(kiln_dtype d, uint8_t code);

#endif
