/* SPDX-License-Identifier: Apache-2.0 */
/* The programs for f64, in whatever the words of lanes.h mean where this is included.
 * ROUNDER is 1.5 2^MANTISSA: x + ROUNDER - ROUNDER is x rounded to an integer, which stands in the lowest bits of the sum.
 * HALVER is 2^(half of all digits, rounded up) + 1.
 * INTEGERS are the bits of 2^MANTISSA: integers below, in its lowest bits, make it a number that is by so much larger. */
#define MANTISSA 52
#define ROUNDER 0x1.8p52
#define ROUNDER_BITS 0x4338000000000000u
#define INTEGERS 0x4330000000000000u
#define BIASES 2046u
#define HALVER 0x8000001
#define SIGN 0x8000000000000000u

#include "rt/maths/rest.h"
#include "rt/maths/scale.h"
#include "rt/maths/exp_f64.h"
#include "rt/maths/exp2_f64.h"
#include "rt/maths/exp_series.h"
#include "rt/maths/expm1_f64.h"
#include "rt/maths/expm1_wide.h"
#include "rt/maths/erf_f64.h"
#include "rt/maths/erf_wide.h"
#include "rt/maths/log_ends.h"
#include "rt/maths/log_f64.h"
#include "rt/maths/pow_ends.h"
#include "rt/maths/pow_f64.h"
#include "rt/maths/pow_wide.h"
#include "rt/maths/angle_f64.h"
#include "rt/maths/sin_f64.h"
#include "rt/maths/tan_f64.h"
#include "rt/maths/sine.h"
#include "rt/maths/tan_wide.h"
#include "rt/maths/tanh_f64.h"
#include "rt/maths/tanh_wide.h"

#undef MANTISSA
#undef ROUNDER
#undef ROUNDER_BITS
#undef INTEGERS
#undef BIASES
#undef HALVER
#undef SIGN
