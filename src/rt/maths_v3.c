/* SPDX-License-Identifier: Apache-2.0 */
/* maths.c for processors with AVX2 and FMA; compiled for them as a whole, since Clang passes wide vectors in registers only then. */
#include "rt/maths.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define FORM f64_x1_v3
#define REAL_BITS 64
#define LANES 1
#define ISA 3
#include "rt/maths/lanes.h"
#define FORM f64_x2_v3
#define REAL_BITS 64
#define LANES 2
#define ISA 3
#include "rt/maths/lanes.h"
#define FORM f64_x4_v3
#define REAL_BITS 64
#define LANES 4
#define ISA 3
#include "rt/maths/lanes.h"
#define FORM f32_x1_v3
#define WIDER f64_x1_v3
#define REAL_BITS 32
#define LANES 1
#define ISA 3
#include "rt/maths/lanes.h"
#define FORM f32_x4_v3
#define WIDER f64_x4_v3
#define REAL_BITS 32
#define LANES 4
#define ISA 3
#include "rt/maths/lanes.h"
#define FORM f32_x8_v3
#define WIDER f64_x4_v3
#define REAL_BITS 32
#define LANES 8
#define ISA 3
#include "rt/maths/lanes.h"
#endif
