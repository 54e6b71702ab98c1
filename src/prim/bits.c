/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as bits: bitcast_convert_type, reduce_precision, nextafter, the total order of floats. */
#include "prim/common.h"
#include "prim/sample.h"

#include <math.h>

/* ---- bitcast_convert_type ---- */

static const kn_param_spec bitcast_params[] = {{"new_dtype", KN_P_DTYPE, 0}};

static unsigned width_of(kiln_dtype d) { return kn_dtype_width(d); }

static kiln_status type_bitcast(kn_typing *t)
{
    kiln_dtype to;
    int64_t *dims;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_dtype(t, 0, &to));
    KILN_TRY(kn_typing_out(t, 1));
    unsigned from = width_of(x.dtype), width = width_of(to);
    if (!from || !width || (from > width ? from % width : width % from))
        return kn_fail(t->ctx, KILN_DTYPE, "bitcast_convert_type: %s has no form as %s", kn_type_show(x).s, kiln_dtype_name(to));
    if (from < width && (x.rank == 0 || x.dims[x.rank - 1] != (int64_t)(width / from)))
        return kn_fail(t->ctx, KILN_SHAPE, "bitcast_convert_type: the last dimension of %s must be %u to give %s", kn_type_show(x).s, width / from,
                       kiln_dtype_name(to));
    uint32_t rank = from > width ? x.rank + 1 : from < width ? x.rank - 1 : x.rank;
    KILN_TRY(kn_typing_shape(t, 0, to, rank, &dims));
    for (uint32_t d = 0; d < rank; d++) dims[d] = d < x.rank ? x.dims[d] : (int64_t)(from / width);
    return KILN_OK;
}

/* Bits k*width .. of a packed stream; elements of less than a byte stand in bytes of their own in memory. */
static void put_bits(unsigned char *stream, int64_t bit, const unsigned char *element, unsigned width)
{
    if (width >= 8) {
        memcpy(stream + bit / 8, element, width / 8);
        return;
    }
    stream[bit / 8] = (unsigned char)(stream[bit / 8] | (element[0] & ((1u << width) - 1)) << (bit % 8));
}
static void get_bits(const unsigned char *stream, int64_t bit, unsigned char *element, unsigned width)
{
    if (width >= 8) memcpy(element, stream + bit / 8, width / 8);
    else element[0] = (unsigned char)(stream[bit / 8] >> (bit % 8) & ((1u << width) - 1));
}

static kiln_status eval_bitcast(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j, (void)e;
    kiln_type x = in[0]->type, y = out[0]->type;
    unsigned from = width_of(x.dtype), width = width_of(y.dtype);
    int64_t n = kiln_type_size(x), m = kiln_type_size(y);
    size_t bytes = ((size_t)n * from + 7) / 8 + 1;
    unsigned char *stream = kn_new(&ev->ctx->alloc, bytes);
    KILN_TRY_MEM(ev->ctx, stream);
    for (int64_t k = 0; k < n; k++) put_bits(stream, k * from, (unsigned char *)in[0]->data + (size_t)k * kiln_dtype_bytes(x.dtype), from);
    for (int64_t k = 0; k < m; k++) get_bits(stream, k * width, (unsigned char *)out[0]->data + (size_t)k * kiln_dtype_bytes(y.dtype), width);
    kn_free(&ev->ctx->alloc, stream, bytes);
    return KILN_OK;
}

KILN_PRIM(bitcast_convert_type) = {
    .name = "bitcast_convert_type",
    .nin = 1,
    .nout = 1,
    .flags = KN_MOVES,
    KN_PARAMS(bitcast_params),
    .type = type_bitcast,
    .eval = eval_bitcast,
    .sample = kn_sample_bitcast,
    .doc = "The same bits as another element type. Wider to narrower appends a dimension, narrower to wider takes the last one away; the "
           "lowest bits come first.",
};

/* ---- reduce_precision ---- */

enum { EXPONENT_BITS, MANTISSA_BITS };
static const kn_param_spec precision_params[] = {{"exponent_bits", KN_P_INT, 0}, {"mantissa_bits", KN_P_INT, 0}};

static kiln_status type_precision(kn_typing *t)
{
    int64_t e, m;
    KILN_TRY(kn_typing_int(t, EXPONENT_BITS, &e));
    KILN_TRY(kn_typing_int(t, MANTISSA_BITS, &m));
    if (e < 1 || m < 0 || e > 64 || m > 64)
        return kn_fail(t->ctx, KILN_INVALID, "reduce_precision: %lld exponent and %lld mantissa bits; accepted: at least 1 and 0", (long long)e, (long long)m);
    return kn_type_same_float(t);
}

/* Rounds to nearest even at m stored mantissa bits; then numbers beyond the range of e exponent bits become infinite, those below
 * its normal numbers zero. A NaN stays one. */
static double reduced(double v, int64_t e, int64_t m, int own_mantissa, int own_exponent)
{
    if (v != v && m == 0) return signbit(v) ? -(double)INFINITY : (double)INFINITY; /* no bit is left to tell it by */
    if (v != v || isinf(v) || v == 0) return v;
    if (m < own_mantissa) {
        int x, least = 2 - (1 << (own_exponent - 1)); /* exponent of the smallest normal number: below, places are fixed */
        frexp(v, &x);
        int unit = (x - 1 < least ? least : x - 1) - (int)m;
        v = ldexp(nearbyint(ldexp(v, -unit)), unit);
        if (v == 0) return v;
    }
    if (e >= own_exponent) return v;
    int bias = (1 << (e - 1)) - 1, x;
    frexp(v, &x); /* |v| = [0.5, 1) 2^x */
    if (x - 1 > bias) return v < 0 ? -(double)INFINITY : (double)INFINITY;
    if (x - 1 < 1 - bias) return v < 0 ? -0.0 : 0.0;
    return v;
}

static kn_scalar precision_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    int mantissa = d == KILN_F64 ? 52 : d == KILN_F32 ? 23 : d == KILN_F16 ? 10 : 7, exponent = d == KILN_F64 ? 11 : d == KILN_F16 ? 5 : 8;
    return (kn_scalar){.f = reduced(x[0].f, e->params[EXPONENT_BITS].i, e->params[MANTISSA_BITS].i, mantissa, exponent)};
}
static kiln_status eval_precision(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], precision_map);
}
KILN_PRIM(reduce_precision) = {
    .name = "reduce_precision",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    KN_PARAMS(precision_params),
    .type = type_precision,
    .eval = eval_precision,
    .sample = kn_sample_reduce_precision,
    .doc = "Rounds to a float of fewer exponent and mantissa bits: to nearest even, too large becomes infinite, below the normal numbers "
           "becomes zero.",
};

/* ---- the total order, nextafter ---- */

/* An integer that rises with the float: the bits, the lower ones of negative numbers turned. */
static int64_t key_of(kiln_dtype d, kn_scalar v)
{
    int64_t b = 0;
    kn_scalar_store(d, &b, 0, v);
    unsigned width = (unsigned)kiln_dtype_bytes(d) * 8;
    b = (int64_t)((uint64_t)b << (64 - width)) >> (64 - width);
    return b < 0 ? b ^ (INT64_MAX >> (64 - width)) : b;
}
static kn_scalar from_key(kiln_dtype d, int64_t key)
{
    unsigned width = (unsigned)kiln_dtype_bytes(d) * 8;
    int64_t b = key < 0 ? key ^ (INT64_MAX >> (64 - width)) : key;
    return kn_scalar_load(d, &b, 0);
}

static kiln_status type_total(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    KILN_TRY(kn_type_nary_number(t));
    t->out[0].dtype = KILN_BOOL;
    return KILN_OK;
}
static kn_scalar total_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    int64_t a = key_of(d, x[0]), b = key_of(d, x[1]);
    const char *name = e->prim->name;
    return (kn_scalar){.b = name[0] == 'e' ? a == b : name[1] == 't' ? a < b : a <= b};
}
static kiln_status eval_total(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], total_map);
}
#define TOTAL(id, text)                                                                                               \
    {                                                                                                                  \
        .name = #id, .nin = 2, .nout = 1, .flags = KN_ELEMENTWISE, .type = type_total, .eval = eval_total,             \
        .sample = kn_sample_elementwise, .doc = (text)                                                                 \
    }
KILN_PRIM(eq_to) = TOTAL(eq_to, "Equal in the total order of floats: the same bits.");
KILN_PRIM(le_to) = TOTAL(le_to, "Less or equal in the total order of floats: -NaN, -inf, .., -0, 0, .., inf, NaN.");
KILN_PRIM(lt_to) = TOTAL(lt_to, "Less in the total order of floats: -NaN, -inf, .., -0, 0, .., inf, NaN.");

static kiln_status type_nextafter(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    return kn_type_nary_number(t);
}
static kn_scalar nextafter_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    if (x[0].f != x[0].f || x[1].f != x[1].f) return (kn_scalar){.f = (double)NAN};
    if (x[0].f == x[1].f) return x[1];
    kn_scalar from = x[0];
    if (from.f == 0) from.f = x[1].f > 0 ? 0.0 : -0.0; /* one zero on the way: the step leads to the least number */
    return from_key(d, key_of(d, from) + (x[0].f < x[1].f ? 1 : -1));
}
static kiln_status eval_nextafter(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], nextafter_map);
}
KILN_PRIM(nextafter) = {
    .name = "nextafter",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    .type = type_nextafter,
    .eval = eval_nextafter,
    .sample = kn_sample_elementwise,
    .doc = "The next float after the first operand towards the second.",
};
