/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 4 and 8 bits. They differ in what the highest codes mean:
 *   IEEE  the top exponent holds infinity and NaN
 *   FN    one code, all ones, is NaN; no infinity
 *   FNUZ  the code of -0 is NaN; no infinity, one zero
 *   MAX   finite only
 * E8M0 is a bare exponent: no sign, no zero, all ones is NaN. Too large a number becomes infinity where there is one, else NaN,
 * else (MAX) the largest number. */
#include "array/float8.h"

#include <math.h>

typedef enum ends { IEEE, FN, FNUZ, MAX } ends;
typedef struct format {
    int bits, mant, bias;
    ends ends;
} format;

static format format_of(kiln_dtype d)
{
    switch (d) {
    case KILN_F4E2M1FN: return (format){4, 1, 1, MAX};
    case KILN_F8E3M4: return (format){8, 4, 3, IEEE};
    case KILN_F8E4M3: return (format){8, 3, 7, IEEE};
    case KILN_F8E4M3B11FNUZ: return (format){8, 3, 11, FNUZ};
    case KILN_F8E4M3FN: return (format){8, 3, 7, FN};
    case KILN_F8E4M3FNUZ: return (format){8, 3, 8, FNUZ};
    case KILN_F8E5M2: return (format){8, 2, 15, IEEE};
    default: return (format){8, 2, 16, FNUZ}; /* F8E5M2FNUZ */
    }
}

static int largest(format f) /* code of the largest finite number */
{
    int all = (1 << (f.bits - 1)) - 1;
    return f.ends == IEEE ? all - (1 << f.mant) : f.ends == FN ? all - 1 : all;
}

static uint8_t nan_code(format f)
{
    int sign = 1 << (f.bits - 1);
    if (f.ends == FNUZ) return (uint8_t)sign;
    if (f.ends == IEEE) return (uint8_t)(largest(f) + 1 + (1 << (f.mant - 1)));
    return (uint8_t)(f.ends == FN ? sign - 1 : 0);
}

static uint8_t narrow_e8m0(double v)
{
    enum { BIAS = 127, NO_NUMBER = 255 };
    if (!(v > 0) || isinf(v)) return NO_NUMBER;
    int e;
    double m = frexp(v, &e); /* [0.5, 1): 2^(e-1) times [1, 2), a tie goes to the even exponent */
    int code = e - 1 + BIAS;
    if (m > 0.75 || (m == 0.75 && (code & 1))) code++;
    return (uint8_t)(code < 0 ? 0 : code > 254 ? NO_NUMBER : code);
}

uint8_t kn_float8_narrow(kiln_dtype d, double v)
{
    if (d == KILN_F8E8M0FNU) return narrow_e8m0(v);
    format f = format_of(d);
    if (isnan(v)) return nan_code(f);
    int sign = signbit(v) ? 1 << (f.bits - 1) : 0, top = largest(f), code = top + 1;
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
        if (f.ends == MAX) code = top;
        else if (f.ends == IEEE) code = top + 1;
        else return nan_code(f);
    }
    if (code == 0 && f.ends == FNUZ) return 0;
    return (uint8_t)(sign | code);
}

double kn_float8_widen(kiln_dtype d, uint8_t b)
{
    if (d == KILN_F8E8M0FNU) return b == 255 ? (double)NAN : ldexp(1, b - 127);
    format f = format_of(d);
    int sign = b >> (f.bits - 1) & 1, code = b & ((1 << (f.bits - 1)) - 1), top = largest(f);
    if (f.ends == FNUZ && sign && code == 0) return (double)NAN;
    if (code > top) return f.ends == IEEE && code == top + 1 ? (sign ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    int e = code >> f.mant, m = code & ((1 << f.mant) - 1);
    double v = e == 0 ? ldexp(m, 1 - f.bias - f.mant) : ldexp(m + (1 << f.mant), e - f.bias - f.mant);
    return sign ? -v : v;
}
