/* SPDX-License-Identifier: Apache-2.0 */
/* The SLEEF functions that are used: name, error bound as spelled in symbols. Of hypot there is no u10 form, u05 is used. With ours (maths.h)
 * each type has all functions.
 * <sleef.h> declares each width only where the compiler targets it, so declarations are made from this list. */
#ifndef KN_RT_SLEEF_NAMES_H
#define KN_RT_SLEEF_NAMES_H

#define KN_SLEEF_F32(X)                                                                                               \
    X(tan, u10) X(exp2, u10) X(expm1, u10) X(log, u10) X(log2, u10) X(asin, u10) X(acos, u10) X(atan, u10) X(cbrt, u10) X(erf, u10)
#define KN_SLEEF_F64(X) KN_SLEEF_F32(X) X(sin, u10) X(cos, u10) X(tanh, u10)
#define KN_SLEEF_BINARY(X) X(pow, u10) X(atan2, u10) X(hypot, u05)

#endif
