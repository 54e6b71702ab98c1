/* SPDX-License-Identifier: Apache-2.0 */
/* The product's own functions on a vector of W floats, kn_maths_NAME_f32_wide: the same programs, inline in the loops that call them. */
#ifndef BENCH_LIMITS_WIDE_MATHS_H
#define BENCH_LIMITS_WIDE_MATHS_H

#include "wide.h"

#include "rt/maths.h"

#define MATHS_INLINE
#define FORM f64_wide
#define REAL_BITS 64
#if defined(__AVX512F__)
#define LANES 8
#define ISA 4
#else
#define LANES 4
#define ISA 3
#endif
#include "rt/maths/lanes.h"

#define FORM f32_wide
#define WIDER f64_wide
#define REAL_BITS 32
#if defined(__AVX512F__)
#define LANES 16
#define ISA 4
#else
#define LANES 8
#define ISA 3
#endif
#include "rt/maths/lanes.h"

#endif
