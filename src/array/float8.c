/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 4, 6 and 8 bits. E8M0 is a bare exponent: no sign, no zero, all ones is NaN. Too large a number becomes infinity where there is one, else NaN,
 * else (MAX) the largest number. */
#include "array/float8.h"

#include <math.h>

kn_float_format kn_float_format_of(kiln_dtype d)
{
    switch (d) {
    case KILN_F16: return (kn_float_format){16, 10, 15, KN_ENDS_IEEE};
    case KILN_BF16: return (kn_float_format){16, 7, 127, KN_ENDS_IEEE};
    case KILN_F4E2M1FN: return (kn_float_format){4, 1, 1, KN_ENDS_MAX};
    case KILN_F6E2M3FN: return (kn_float_format){6, 3, 1, KN_ENDS_MAX};
    case KILN_F6E3M2FN: return (kn_float_format){6, 2, 3, KN_ENDS_MAX};
    case KILN_F8E3M4: return (kn_float_format){8, 4, 3, KN_ENDS_IEEE};
    case KILN_F8E4M3: return (kn_float_format){8, 3, 7, KN_ENDS_IEEE};
    case KILN_F8E4M3B11FNUZ: return (kn_float_format){8, 3, 11, KN_ENDS_FNUZ};
    case KILN_F8E4M3FN: return (kn_float_format){8, 3, 7, KN_ENDS_FN};
    case KILN_F8E4M3FNUZ: return (kn_float_format){8, 3, 8, KN_ENDS_FNUZ};
    case KILN_F8E5M2: return (kn_float_format){8, 2, 15, KN_ENDS_IEEE};
    default: return (kn_float_format){8, 2, 16, KN_ENDS_FNUZ}; /* F8E5M2FNUZ */
    }
}

int kn_float_largest(kn_float_format f)
{
    int all = (1 << (f.bits - 1)) - 1;
    return f.ends == KN_ENDS_IEEE ? all - (1 << f.mant) : f.ends == KN_ENDS_FN ? all - 1 : all;
}

static uint8_t nan_code(kn_float_format f)
{
    int sign = 1 << (f.bits - 1);
    if (f.ends == KN_ENDS_FNUZ) return (uint8_t)sign;
    if (f.ends == KN_ENDS_IEEE) return (uint8_t)(kn_float_largest(f) + 1 + (1 << (f.mant - 1)));
    return (uint8_t)(f.ends == KN_ENDS_FN ? sign - 1 : 0);
}

static uint8_t narrow_e8m0(double v)
{
    enum { BIAS = 127, NO_NUMBER = 255 };
    if (!(v > 0) || isinf(v)) return NO_NUMBER;
    int e;
    double m = frexp(v, &e); /* [0.5, 1): 2^(e-1) times [1, 2); its one digit is odd, so that a tie goes up */
    int code = e - 1 + BIAS;
    if (m >= 0.75) code++;
    return (uint8_t)(code < 0 ? 0 : code > 254 ? NO_NUMBER : code);
}

uint8_t kn_float8_narrow(kiln_dtype d, double v)
{
    if (d == KILN_F8E8M0FNU) return narrow_e8m0(v);
    kn_float_format f = kn_float_format_of(d);
    if (isnan(v)) return nan_code(f);
    int sign = signbit(v) ? 1 << (f.bits - 1) : 0, top = kn_float_largest(f), code = top + 1;
    if (isfinite(v)) {
        int e;
        double m = frexp(fabs(v), &e);
        int lowest = 1 - f.bias, unit = (e - 1 < lowest || v == 0 ? lowest : e - 1) - f.mant; /* weight of the last place */
        double q = nearbyint(ldexp(m, e - unit));
        if (q <= 1 << (f.mant + 1)) {
            code = (int)q;
            if (!(e - 1 < lowest || v == 0)) code += (e - 2 + f.bias) * (1 << f.mant);
        }
    }
    if (code > top) {
        if (f.ends == KN_ENDS_MAX) code = top;
        else if (f.ends == KN_ENDS_IEEE) code = top + 1;
        else return nan_code(f);
    }
    if (code == 0 && f.ends == KN_ENDS_FNUZ) return 0;
    return (uint8_t)(sign | code);
}

double kn_float8_widen(kiln_dtype d, uint8_t b)
{
    if (d == KILN_F8E8M0FNU) return b == 255 ? (double)NAN : ldexp(1, b - 127);
    kn_float_format f = kn_float_format_of(d);
    int sign = b >> (f.bits - 1) & 1, code = b & ((1 << (f.bits - 1)) - 1), top = kn_float_largest(f);
    if (f.ends == KN_ENDS_FNUZ && sign && code == 0) return (double)NAN;
    if (code > top) return f.ends == KN_ENDS_IEEE && code == top + 1 ? (sign ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    int e = code >> f.mant, m = code & ((1 << f.mant) - 1);
    double v = e == 0 ? ldexp(m, 1 - f.bias - f.mant) : ldexp(m + (1 << f.mant), e - f.bias - f.mant);
    return sign ? -v : v;
}
