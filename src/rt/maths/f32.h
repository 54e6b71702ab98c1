/* SPDX-License-Identifier: Apache-2.0 */
/* The programs for f32, in whatever the words of lanes.h mean where this is included.
 * ROUNDER is 1.5 2^MANTISSA: x + ROUNDER - ROUNDER is x rounded to an integer, which stands in the lowest bits of the sum. */
#define MANTISSA 23
#define ROUNDER 0x1.8p23
#define ROUNDER_BITS 0x4b400000u
#define BIASES 254u
#define SIGN 0x80000000u

#include "rt/maths/scale.h"
#include "rt/maths/exp_f32.h"
#include "rt/maths/sin_f32.h"
#include "rt/maths/cos_f32.h"
#include "rt/maths/tanh_f32.h"

#undef MANTISSA
#undef ROUNDER
#undef ROUNDER_BITS
#undef BIASES
#undef SIGN
