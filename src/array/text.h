/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars as text, spelled as Python's repr() does. */
#ifndef KN_ARRAY_TEXT_H
#define KN_ARRAY_TEXT_H

#include "array/array.h"
#include "base/text.h"

/* nan, inf or a decimal number, signed, at s; returns its end, or s. */
const char *kn_real_read(const char *s, const char *end, double *v);
/* A whole number of at most 64 bits, as two's complement; returns its end, or s. */
const char *kn_whole_read(const char *s, const char *end, int64_t *v, bool *is_unsigned);
/* Reads all of s..end as a value of d. NULL, or what is wrong with it: "is no value of", "does not fit in". */
const char *kn_scalar_read(kiln_dtype d, const char *s, const char *end, kn_scalar *v);
void kn_scalar_print(kiln_dtype d, kn_scalar v, kn_text *out);

#endif
