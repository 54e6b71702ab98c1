/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as bits: bitcast_convert_type, reduce_precision, nextafter, the total order of floats. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

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

/* The unsigned integer of this width; bool has one bit, and stands for itself. */
static kiln_dtype word_of(kiln_dtype d)
{
    switch (width_of(d)) {
    case 2: return KILN_U2;
    case 4: return KILN_U4;
    case 8: return KILN_U8;
    case 16: return KILN_U16;
    case 32: return KILN_U32;
    default: return KILN_U64;
    }
}
static kn_lv sop2(kn_element *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b) { return m->op(m, op, d, d, a, b, 0); }
static kn_lv word(kn_element *m, kiln_dtype d, uint64_t v) { return m->constant(m, d, (kn_scalar){.u = v}); }

/* The bits of an element in the low end of a word. */
static kn_lv to_word(kn_element *m, kiln_dtype from, kiln_dtype to, kn_lv v)
{
    kiln_dtype own = from == KILN_BOOL ? from : word_of(from);
    if (from != own) v = m->op(m, KN_S_bitcast, from, own, v, 0, 0);
    return own == to ? v : m->op(m, KN_S_convert, own, to, v, 0, 0);
}
static kn_lv from_word(kn_element *m, kiln_dtype from, kiln_dtype to, kn_lv v)
{
    if (to == KILN_BOOL) return m->op(m, KN_S_convert, from, to, sop2(m, KN_S_and, from, v, word(m, from, 1)), 0, 0);
    kiln_dtype own = word_of(to);
    if (own != from) v = m->op(m, KN_S_convert, from, own, v, 0, 0);
    return own == to ? v : m->op(m, KN_S_bitcast, own, to, v, 0, 0);
}

static kn_lv element_bitcast(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_type x = kn_in_type(m->j, e, 0), y = kn_out_type(m->j, e, result);
    unsigned from = width_of(x.dtype), to = width_of(y.dtype);
    if (from == to) return x.dtype == y.dtype ? m->operand(m, e, 0, ix) : m->op(m, KN_S_bitcast, x.dtype, y.dtype, m->operand(m, e, 0, ix), 0, 0);
    kiln_dtype w = word_of(from > to ? x.dtype : y.dtype);
    if (from > to) { /* the last index says which part */
        kn_lv by = kn_e_muli(m, ix[x.rank], to);
        if (w != KILN_I64) by = m->op(m, KN_S_convert, KILN_I64, w, by, 0, 0);
        return from_word(m, w, y.dtype, sop2(m, KN_S_shrl, w, to_word(m, x.dtype, w, m->operand(m, e, 0, ix)), by));
    }
    kn_lv at[KN_MAX_RANK], all = 0;
    for (uint32_t d = 0; d < y.rank; d++) at[d] = ix[d];
    for (unsigned k = 0; k < to / from; k++) {
        at[y.rank] = m->integer(m, k);
        kn_lv part = to_word(m, x.dtype, w, m->operand(m, e, 0, at));
        if (k) part = sop2(m, KN_S_shl, w, part, word(m, w, (uint64_t)k * from));
        all = k ? sop2(m, KN_S_or, w, all, part) : part;
    }
    return from_word(m, w, y.dtype, all);
}

static kn_atom as(kn_low *l, kn_atom x, kiln_dtype d) { return kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(d), &x, 1); }

/* The last dimension of v, of two elements, becomes the parts of complex numbers. */
static kn_atom of_parts(kn_low *l, kn_atom v, kiln_type to)
{
    kn_atom half[2];
    for (int k = 0; k < 2; k++) {
        int64_t lo[KN_MAX_RANK + 1] = {0}, hi[KN_MAX_RANK + 1];
        if (to.rank) memcpy(hi, to.dims, to.rank * sizeof *hi);
        lo[to.rank] = k, hi[to.rank] = k + 1;
        kn_param params[] = {KN_INTS(to.rank + 1, hi), KN_INTS(to.rank + 1, lo), KN_NONE};
        half[k] = kn_low_reshape(l, kn_low_op(l, &kn_prim_slice, params, &v, 1), to.rank, to.dims);
    }
    return kn_low2(l, &kn_prim_complex, half[0], half[1]);
}

/* Complex numbers are arrays whose last dimension holds the parts. What is narrower than a part of the other side goes through arrays
 * with a dimension more, of the elements of a part. */
static kiln_status lower_complex_bitcast(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type from = kn_in_type(j, e, 0), to = kn_out_type(j, e, 0);
    bool apart = kiln_dtype_kind(from.dtype) == 'c', together = kiln_dtype_kind(to.dtype) == 'c';
    kiln_dtype own = apart ? kn_part_dtype(from.dtype) : from.dtype, other = together ? kn_part_dtype(to.dtype) : to.dtype;
    unsigned wide = width_of(other), narrow = width_of(own);
    kn_atom v = x[0];
    if (from.dtype == to.dtype) {
        y[0] = x[0];
        return KILN_OK;
    }
    if (apart) {
        kn_atom parts[] = {kn_low1(&l, &kn_prim_real, v), kn_low1(&l, &kn_prim_imag, v)};
        v = kn_low_op(&l, &kn_prim_stack, &KN_INT(from.rank), parts, 2);
    }
    if (together && narrow < wide) { /* the last dimension, and the parts if there are, hold both parts of the result */
        int64_t dims[KN_MAX_RANK + 2];
        if (to.rank) memcpy(dims, to.dims, to.rank * sizeof *dims);
        dims[to.rank] = 2;
        dims[to.rank + 1] = wide / narrow;
        v = kn_low_reshape(&l, v, to.rank + 2, dims);
    }
    if (own != other) v = as(&l, v, other);
    if (together) v = of_parts(&l, v, to);
    else if (wide < narrow) v = kn_low_reshape(&l, v, to.rank, to.dims);
    y[0] = v;
    return l.status;
}

KILN_PRIM(bitcast_convert_type) = {
    .name = "bitcast_convert_type",
    .nin = 1,
    .nout = 1,
    .flags = KN_MOVES,
    KN_PARAMS(bitcast_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_bitcast,
    .jvp = kn_jvp_zero,
    .eval = eval_bitcast,
    .element = element_bitcast,
    .lower_complex = lower_complex_bitcast,
    .batch = kn_batch_full,
    .sample = kn_sample_bitcast,
    .doc = "The same bits as another element type. Wider to narrower appends a dimension, narrower to wider takes the last one away; the "
           "lowest bits come first.",
};

/* ---- floats as signed integers of their width ---- */

static kiln_dtype signed_of(kiln_dtype d)
{
    unsigned w = width_of(d);
    return w == 16 ? KILN_I16 : w == 32 ? KILN_I32 : KILN_I64;
}
static kn_atom integer(kn_low *l, kiln_dtype d, int64_t v)
{
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, d, (kn_scalar){.i = v}, &a);
    return a;
}
static int64_t most_of(kiln_dtype d) { return INT64_MAX >> (64 - width_of(d)); }

/* An integer that rises with the float, and back: the lower bits of negative numbers are turned. */
static kn_atom turned(kn_low *l, kiln_dtype i, kn_atom b)
{
    kn_atom sign = kn_low2(l, &kn_prim_shift_right_arithmetic, b, integer(l, i, width_of(i) - 1));
    return kn_low2(l, &kn_prim_xor, b, kn_low2(l, &kn_prim_and, sign, integer(l, i, most_of(i))));
}

/* ---- the total order ---- */

static kiln_status type_total(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    KILN_TRY(kn_type_nary_number(t));
    t->out[0].dtype = KILN_BOOL;
    return KILN_OK;
}
static kiln_status lower_total(kn_build *b, const kn_atom *x, kn_atom *y, const kn_prim *compare)
{
    kn_low l = {b, KILN_OK};
    kiln_dtype i = signed_of(kn_build_type(b, x[0]).dtype);
    y[0] = kn_low2(&l, compare, turned(&l, i, as(&l, x[0], i)), turned(&l, i, as(&l, x[1], i)));
    return l.status;
}
#define TOTAL(id, compare)                                                                                            \
    static kiln_status lower_##id(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y) \
    {                                                                                                                  \
        (void)r, (void)j, (void)e;                                                                                     \
        return lower_total(b, x, y, &kn_prim_##compare);                                                               \
    }
TOTAL(eq_to, eq)
TOTAL(le_to, le)
TOTAL(lt_to, lt)
#define ORDER(id, text)                                                                                               \
    {                                                                                                                  \
        .name = #id, .nin = 2, .nout = 1, .flags = KN_LEVEL_TRACED, .type = type_total, .lower = lower_##id,           \
        .jvp = kn_jvp_zero,                                                                                            \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                 \
    }
KILN_PRIM(eq_to) = ORDER(eq_to, "Equal in the total order of floats: the same bits.");
KILN_PRIM(le_to) = ORDER(le_to, "Less or equal in the total order of floats: -NaN, -inf, .., -0, 0, .., inf, NaN.");
KILN_PRIM(lt_to) = ORDER(lt_to, "Less in the total order of floats: -NaN, -inf, .., -0, 0, .., inf, NaN.");

/* ---- nextafter ---- */

static kiln_status type_nextafter(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    return kn_type_nary_number(t);
}

/* One step in the integer that rises with the float; both zeros count as the one that lies towards the second operand. */
static kiln_status lower_nextafter(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *in, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type out = kn_out_type(j, e, 0);
    kiln_dtype d = out.dtype, i = signed_of(d);
    kn_atom x = kn_low_in_shape(&l, in[0], out), to = kn_low_in_shape(&l, in[1], out);
    kn_atom up = kn_low2(&l, &kn_prim_lt, x, to), zero = kn_low2(&l, &kn_prim_eq, x, kn_low_num(&l, d, 0));
    kn_atom start = kn_low_select(&l, up, kn_low_num(&l, d, 0.0), kn_low_num(&l, d, -0.0));
    kn_atom key = turned(&l, i, as(&l, kn_low_select(&l, zero, start, x), i));
    kn_atom next = kn_low2(&l, &kn_prim_add, key, kn_low_select(&l, up, integer(&l, i, 1), integer(&l, i, -1)));
    kn_atom v = as(&l, turned(&l, i, next), d);
    v = kn_low_select(&l, kn_low2(&l, &kn_prim_eq, x, to), to, v);
    kn_atom nan = kn_low2(&l, &kn_prim_or, kn_low2(&l, &kn_prim_ne, x, x), kn_low2(&l, &kn_prim_ne, to, to));
    y[0] = kn_low_select(&l, nan, kn_low_num(&l, d, (double)NAN), v);
    return l.status;
}
KN_JVP2(nextafter, g, KN_SYMBOLIC_ZERO)
KILN_PRIM(nextafter) = {
    .name = "nextafter",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_nextafter,
    .lower = lower_nextafter,
    .jvp = jvp_nextafter,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "The next float after the first operand towards the second.",
};

/* ---- reduce_precision ---- */

enum { EXPONENT_BITS, MANTISSA_BITS };
static const kn_param_spec precision_params[] = {{"exponent_bits", KN_P_INT, 0}, {"mantissa_bits", KN_P_INT, 0}};

static kiln_status type_precision(kn_typing *t)
{
    int64_t e, m;
    KILN_TRY(kn_typing_int(t, EXPONENT_BITS, &e));
    KILN_TRY(kn_typing_int(t, MANTISSA_BITS, &m));
    if (e < 1 || m < 0)
        return kn_fail(t->ctx, KILN_INVALID, "reduce_precision: %lld exponent and %lld mantissa bits; accepted: at least 1 and 0", (long long)e, (long long)m);
    return kn_type_same_float(t);
}

/* On the bits: half of the last place that stays is added (less one where that place is even), what lies below is cut off; a carry
 * moves into the exponent. Then numbers beyond the range of the exponent become infinite, those below its normal numbers zero. */
static kiln_status lower_precision(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *in, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_out_type(j, e, 0).dtype, i = signed_of(d);
    int own_m = d == KILN_F64 ? 52 : d == KILN_F32 ? 23 : d == KILN_F16 ? 10 : 7, own_e = (int)width_of(d) - 1 - own_m;
    int64_t to_m = e->params[MANTISSA_BITS].i, to_e = e->params[EXPONENT_BITS].i, most = most_of(i), infinite = most - (((int64_t)1 << own_m) - 1);
    kn_atom bits = as(&l, in[0], i), sign = kn_low2(&l, &kn_prim_and, bits, integer(&l, i, -most - 1)), v = kn_low2(&l, &kn_prim_and, bits, integer(&l, i, most));
    if (to_m < own_m) {
        int64_t last = (int64_t)1 << (own_m - to_m);
        kn_atom even = kn_low2(&l, &kn_prim_shift_right_logical, kn_low2(&l, &kn_prim_and, v, integer(&l, i, last)), integer(&l, i, own_m - to_m));
        v = kn_low2(&l, &kn_prim_add, v, kn_low2(&l, &kn_prim_add, even, integer(&l, i, last / 2 - 1)));
        v = kn_low2(&l, &kn_prim_and, v, integer(&l, i, ~(last - 1)));
    }
    if (to_e < own_e) {
        int64_t bias = ((int64_t)1 << (own_e - 1)) - 1, narrow = ((int64_t)1 << (to_e - 1)) - 1;
        kn_atom exponent = kn_low2(&l, &kn_prim_shift_right_logical, v, integer(&l, i, own_m));
        v = kn_low_select(&l, kn_low2(&l, &kn_prim_lt, exponent, integer(&l, i, bias + 1 - narrow)), integer(&l, i, 0), v);
        v = kn_low_select(&l, kn_low2(&l, &kn_prim_gt, exponent, integer(&l, i, bias + narrow)), integer(&l, i, infinite), v);
    }
    kn_atom result = as(&l, kn_low2(&l, &kn_prim_or, v, sign), d), nan = kn_low2(&l, &kn_prim_ne, in[0], in[0]);
    kn_atom stays = to_m > 0 ? in[0] : as(&l, kn_low2(&l, &kn_prim_or, sign, integer(&l, i, infinite)), d); /* no bit is left to tell it by */
    y[0] = kn_low_select(&l, nan, stays, result);
    return l.status;
}
static kiln_status transpose_precision(KN_TRANSPOSE_ARGS) { return (void)r, (void)j, (void)x, kn_build_eqn(b, e->prim, e->params, ct, 1, ct_in, 1); }

KILN_PRIM(reduce_precision) = {
    .name = "reduce_precision",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(precision_params),
    .type = type_precision,
    .jvp = kn_jvp_linear,
    .transpose = transpose_precision,
    .lower = lower_precision,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_reduce_precision,
    .doc = "Rounds to a float of fewer exponent and mantissa bits: to nearest even, too large becomes infinite, below the normal numbers "
           "becomes zero.",
};
