/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK through LAPACKE's C interface, loaded when first needed. */
#ifndef KN_RT_LAPACK_H
#define KN_RT_LAPACK_H

#include "array/array.h"

typedef void (*kn_lapack_fn)(void);

/* The routine for elements of this type: "potrf" of f64 is LAPACKE_dpotrf_work. Errors: KILN_UNSUPPORTED the library is not
 * installed, or has no such routine. */
kiln_status kn_lapack_find(kiln_ctx *ctx, const char *routine, kiln_dtype d, kn_lapack_fn *fn);

#endif
