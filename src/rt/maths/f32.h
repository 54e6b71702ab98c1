/* SPDX-License-Identifier: Apache-2.0 */
/* The programs for f32, in whatever the words of lanes.h mean where this is included.
 * ROUNDER is 1.5 2^MANTISSA: x + ROUNDER - ROUNDER is x rounded to an integer, which stands in the lowest bits of the sum.
 * INTEGERS are the bits of 2^MANTISSA: integers below, in its lowest bits, make it a number that is by so much larger. */
#define MANTISSA 23
#define ROUNDER 0x1.8p23
#define ROUNDER_BITS 0x4b400000u
#define INTEGERS 0x4b000000u
#define BIASES 254u
#define SIGN 0x80000000u

#include "rt/maths/scale.h"
#include "rt/maths/exp_f32.h"
#include "rt/maths/exp2_f32.h"
#include "rt/maths/expm1_f32.h"
#include "rt/maths/erf_f32.h"
#include "rt/maths/log_ends.h"
#include "rt/maths/log_f32.h"
#include "rt/maths/pow_ends.h"
#include "rt/maths/pow_f32.h"
#include "rt/maths/sin_f32.h"
#include "rt/maths/cos_f32.h"
#include "rt/maths/tan_f32.h"
#include "rt/maths/tanh_f32.h"

#undef MANTISSA
#undef ROUNDER
#undef ROUNDER_BITS
#undef INTEGERS
#undef BIASES
#undef SIGN
