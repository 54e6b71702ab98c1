/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of the floats of 4 and 8 bits (kind '8'). Narrowing rounds once, to nearest even. */
#ifndef KN_ARRAY_FLOAT8_H
#define KN_ARRAY_FLOAT8_H

#include "array/array.h"

uint8_t kn_float8_narrow(kiln_dtype d, double v);
double kn_float8_widen(kiln_dtype d, uint8_t code);

#endif
