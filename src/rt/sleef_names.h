/* SPDX-License-Identifier: Apache-2.0 */
/* The SLEEF functions that are used: name, error bound as spelled in symbols. Of hypot there is no u10 form, u05 is used. The others are ours
 * (maths.h).
 * <sleef.h> declares each width only where the compiler targets it, so declarations are made from this list. */
#ifndef KN_RT_SLEEF_NAMES_H
#define KN_RT_SLEEF_NAMES_H

#define KN_SLEEF(X) X(log2, u10) X(asin, u10) X(acos, u10) X(atan, u10) X(cbrt, u10)
#define KN_SLEEF_BINARY(X) X(atan2, u10) X(hypot, u05)

#endif
