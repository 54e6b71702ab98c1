/* SPDX-License-Identifier: Apache-2.0 */
/* Mathematical functions of our own, on as many lanes as a vector register holds, and on one: maths/lanes.h.
 * Here for x86-64-v2 and aarch64. */
#include "rt/maths.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define FORM f64_x1_v2
#define REAL_BITS 64
#define LANES 1
#define ISA 2
#include "rt/maths/lanes.h"
#define FORM f64_x2_v2
#define REAL_BITS 64
#define LANES 2
#define ISA 2
#include "rt/maths/lanes.h"
#define FORM f32_x1_v2
#define WIDER f64_x1_v2
#define REAL_BITS 32
#define LANES 1
#define ISA 2
#include "rt/maths/lanes.h"
#define FORM f32_x4_v2
#define WIDER f64_x2_v2
#define REAL_BITS 32
#define LANES 4
#define ISA 2
#include "rt/maths/lanes.h"

#else
#include <arm_neon.h>

#define FORM f64_x1_neon
#define REAL_BITS 64
#define LANES 1
#define ISA 8
#include "rt/maths/lanes.h"
#define FORM f64_x2_neon
#define REAL_BITS 64
#define LANES 2
#define ISA 8
#include "rt/maths/lanes.h"
#define FORM f32_x1_neon
#define WIDER f64_x1_neon
#define REAL_BITS 32
#define LANES 1
#define ISA 8
#include "rt/maths/lanes.h"
#define FORM f32_x4_neon
#define WIDER f64_x2_neon
#define REAL_BITS 32
#define LANES 4
#define ISA 8
#include "rt/maths/lanes.h"
#endif
