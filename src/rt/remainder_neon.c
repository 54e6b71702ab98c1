/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders in vectors (remainder_lanes.h) for aarch64. */
#include "rt/remainder.h"
#include "rt/remainder_lanes.h"

#if !defined(__x86_64__)
#include <arm_neon.h>

#define FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#define FMA_f32(a, b, c) vfmaq_f32(c, a, b)
REMAINDER(f64, 2, neon, FMA_f64, vmaxvq_u32((uint32x4_t)far))
REMAINDER(f32, 4, neon, FMA_f32, vmaxvq_u32((uint32x4_t)far))
#endif
