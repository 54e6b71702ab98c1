/* SPDX-License-Identifier: Apache-2.0 */
/* The programs for f64, in whatever the words of lanes.h mean where this is included.
 * ROUNDER is 1.5 2^MANTISSA: x + ROUNDER - ROUNDER is x rounded to an integer, which stands in the lowest bits of the sum. */
#define MANTISSA 52
#define ROUNDER 0x1.8p52
#define ROUNDER_BITS 0x4338000000000000u
#define BIASES 2046u
#define SIGN 0x8000000000000000u

#include "rt/maths/scale.h"
#include "rt/maths/exp_f64.h"
#include "rt/maths/sine.h"
#include "rt/maths/tanh_wide.h"

#undef MANTISSA
#undef ROUNDER
#undef ROUNDER_BITS
#undef BIASES
#undef SIGN
