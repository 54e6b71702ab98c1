/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK through LAPACKE's C interface, loaded when first needed. Matrices here are column-major buffers. */
#ifndef KN_RT_LAPACK_H
#define KN_RT_LAPACK_H

#include "array/array.h"

typedef void (*kn_lapack_fn)(void);

/* The routine for elements of this type: "potrf" of f64 is LAPACKE_dpotrf_work. Errors: KILN_UNSUPPORTED the library is not
 * installed, or has no such routine. */
kiln_status kn_lapack_find(kiln_ctx *ctx, const char *routine, kiln_dtype d, kn_lapack_fn *fn);

/* Copies between a row-major matrix of an array (element offset `at`) and a column-major buffer. */
void kn_lapack_get(const kiln_array *a, int64_t at, int64_t rows, int64_t columns, void *buffer);
void kn_lapack_put(kiln_array *a, int64_t at, int64_t rows, int64_t columns, const void *buffer);

#endif
