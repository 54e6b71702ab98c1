/* SPDX-License-Identifier: Apache-2.0 */
/* maths.c for processors with AVX-512; compiled for them as a whole, since Clang passes wide vectors in registers only then. */
#include "rt/maths.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define FORM f64_x8_v4
#define REAL_BITS 64
#define LANES 8
#define ISA 4
#include "rt/maths/lanes.h"
#define FORM f32_x16_v4
#define WIDER f64_x8_v4
#define REAL_BITS 32
#define LANES 16
#define ISA 4
#include "rt/maths/lanes.h"
#endif
