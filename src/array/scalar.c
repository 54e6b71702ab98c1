/* SPDX-License-Identifier: Apache-2.0 */
/* One element in and out of memory. 16-bit floats are rounded by integer arithmetic, once, to nearest even. */
#include "array/array.h"
#include "array/float8.h"

#include <math.h>

/* Rounds to a 16-bit binary format of `mant` stored mantissa bits. */
static uint16_t narrow(double v, int mant, int bias)
{
    uint64_t b;
    memcpy(&b, &v, 8);
    uint16_t sign = (uint16_t)(b >> 63 << 15);
    uint64_t inf = (uint64_t)((1u << (15 - mant)) - 1) << mant;
    if (isnan(v)) return (uint16_t)(sign | inf | 1u << (mant - 1) | ((b >> (52 - mant)) & ((1u << mant) - 1)));
    if (v == 0) return sign;
    if (isinf(v)) return (uint16_t)(sign | inf);
    int e;
    double m = frexp(fabs(v), &e); /* m in [0.5, 1) */
    int lowest = 1 - bias;         /* exponent of the smallest normal number, as 1.f * 2^lowest */
    int unit = (e - 1 < lowest ? lowest : e - 1) - mant; /* weight of the last place */
    uint64_t q = (uint64_t)nearbyint(ldexp(m, e - unit));
    uint64_t field = e - 1 < lowest ? q : ((uint64_t)(e - 2 + bias) << mant) + q; /* a carry moves into the exponent */
    return (uint16_t)(sign | (field < inf ? field : inf));
}

static double widen(uint16_t h, int mant, int bias)
{
    int top = (1 << (15 - mant)) - 1, e = (h >> mant) & top, m = h & ((1 << mant) - 1);
    double v = e == top ? (m ? (double)NAN : (double)INFINITY)
               : e == 0 ? ldexp(m, 1 - bias - mant)
                        : ldexp(m + (1 << mant), e - bias - mant);
    return h >> 15 ? -v : v;
}

/* Of f32 as they stand in memory, and back: moves, which keep subnormal numbers in every floating-point mode. */
static double from_f32(uint32_t bits)
{
    enum { MANTISSA = 0x7fffff };
    float v;
    double small = (double)(bits & MANTISSA) * 0x1p-149;
    if ((bits & ~(uint32_t)MANTISSA) << 1 == 0) return bits >> 31 ? -small : small;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static uint32_t to_f32(double v)
{
    uint32_t bits;
    double size = fabs(v);
    if (size < 0x1p-126) return (uint32_t)nearbyint(size * 0x1p149) | (signbit(v) ? (uint32_t)1 << 31 : 0);
    float near = (float)v;
    memcpy(&bits, &near, sizeof bits);
    return bits;
}

#define GET(T, k) (((const T *)data)[k])
#define PUT(T, k, x) (((T *)data)[k] = (T)(x))

kn_scalar kn_scalar_load(kiln_dtype d, const void *data, int64_t k)
{
    kn_scalar s = {.c = {0, 0}};
    switch (d) {
    case KILN_BOOL: s.b = GET(uint8_t, k) != 0; break;
    case KILN_I2: s.i = (GET(uint8_t, k) & 3) - (GET(uint8_t, k) & 2 ? 4 : 0); break;
    case KILN_I4: s.i = (GET(uint8_t, k) & 15) - (GET(uint8_t, k) & 8 ? 16 : 0); break;
    case KILN_I8: s.i = GET(int8_t, k); break;
    case KILN_I16: s.i = GET(int16_t, k); break;
    case KILN_I32: s.i = GET(int32_t, k); break;
    case KILN_I64: s.i = GET(int64_t, k); break;
    case KILN_U2: s.u = GET(uint8_t, k) & 3; break;
    case KILN_U4: s.u = GET(uint8_t, k) & 15; break;
    case KILN_U8: s.u = GET(uint8_t, k); break;
    case KILN_U16: s.u = GET(uint16_t, k); break;
    case KILN_U32: s.u = GET(uint32_t, k); break;
    case KILN_U64:
    case KILN_KEY: s.u = GET(uint64_t, k); break;
    case KILN_F4E2M1FN:
    case KILN_F6E2M3FN:
    case KILN_F6E3M2FN:
    case KILN_F8E3M4:
    case KILN_F8E4M3:
    case KILN_F8E4M3B11FNUZ:
    case KILN_F8E4M3FN:
    case KILN_F8E4M3FNUZ:
    case KILN_F8E5M2:
    case KILN_F8E5M2FNUZ:
    case KILN_F8E8M0FNU: s.f = kn_float8_widen(d, GET(uint8_t, k)); break;
    case KILN_F16: s.f = widen(GET(uint16_t, k), 10, 15); break;
    case KILN_BF16: s.f = widen(GET(uint16_t, k), 7, 127); break;
    case KILN_F32: s.f = from_f32(GET(uint32_t, k)); break;
    case KILN_F64: s.f = GET(double, k); break;
    case KILN_C64: s.c[0] = from_f32(GET(uint32_t, 2 * k)), s.c[1] = from_f32(GET(uint32_t, 2 * k + 1)); break;
    case KILN_C128: s.c[0] = GET(double, 2 * k), s.c[1] = GET(double, 2 * k + 1); break;
    case KILN_FLOAT0:
    case KILN_TOKEN:
    case KILN_N_DTYPES: break;
    }
    return s;
}

void kn_scalar_store(kiln_dtype d, void *data, int64_t k, kn_scalar v)
{
    switch (d) {
    case KILN_BOOL: PUT(uint8_t, k, v.b); break;
    case KILN_I2:
    case KILN_U2: PUT(uint8_t, k, v.u & 3); break;
    case KILN_I4:
    case KILN_U4: PUT(uint8_t, k, v.u & 15); break;
    case KILN_I8: PUT(int8_t, k, v.i); break;
    case KILN_I16: PUT(int16_t, k, v.i); break;
    case KILN_I32: PUT(int32_t, k, v.i); break;
    case KILN_I64: PUT(int64_t, k, v.i); break;
    case KILN_U8: PUT(uint8_t, k, v.u); break;
    case KILN_U16: PUT(uint16_t, k, v.u); break;
    case KILN_U32: PUT(uint32_t, k, v.u); break;
    case KILN_U64:
    case KILN_KEY: PUT(uint64_t, k, v.u); break;
    case KILN_F4E2M1FN:
    case KILN_F6E2M3FN:
    case KILN_F6E3M2FN:
    case KILN_F8E3M4:
    case KILN_F8E4M3:
    case KILN_F8E4M3B11FNUZ:
    case KILN_F8E4M3FN:
    case KILN_F8E4M3FNUZ:
    case KILN_F8E5M2:
    case KILN_F8E5M2FNUZ:
    case KILN_F8E8M0FNU: PUT(uint8_t, k, kn_float8_narrow(d, v.f)); break;
    case KILN_F16: PUT(uint16_t, k, narrow(v.f, 10, 15)); break;
    case KILN_BF16: PUT(uint16_t, k, narrow(v.f, 7, 127)); break;
    case KILN_F32: PUT(uint32_t, k, to_f32(v.f)); break;
    case KILN_F64: PUT(double, k, v.f); break;
    case KILN_C64: PUT(uint32_t, 2 * k, to_f32(v.c[0])), PUT(uint32_t, 2 * k + 1, to_f32(v.c[1])); break;
    case KILN_C128: PUT(double, 2 * k, v.c[0]), PUT(double, 2 * k + 1, v.c[1]); break;
    case KILN_FLOAT0:
    case KILN_TOKEN:
    case KILN_N_DTYPES: break;
    }
}

kn_scalar kn_scalar_round(kiln_dtype d, kn_scalar v)
{
    uint64_t room[2] = {0};
    kn_scalar_store(d, room, 0, v);
    return kn_scalar_load(d, room, 0);
}

bool kn_scalar_same(kiln_dtype d, kn_scalar a, kn_scalar b)
{
    if (kiln_dtype_kind(d) == 'b') return a.b == b.b;
    return a.u == b.u && (kiln_dtype_kind(d) != 'c' || memcmp(a.c, b.c, sizeof a.c) == 0);
}
