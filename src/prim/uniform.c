/* SPDX-License-Identifier: Apache-2.0 */
/* rng_uniform: random numbers without a key. The hidden state that others keep is the number of the draw in the program's text, so that a
 * program draws the same numbers whenever it runs. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

enum { DRAW, SHAPE };
static const kn_param_spec params[] = {{"draw", KN_P_INT, KN_PARAM_OPTIONAL}, {"shape", KN_P_INTS, 0}};

static kiln_status type_uniform(kn_typing *t)
{
    const int64_t *shape;
    int64_t *dims;
    uint32_t rank;
    kiln_type lo = t->in[0], hi = t->in[1];
    if (t->params[DRAW].kind != KN_P_INT || t->params[DRAW].i < 0 || t->params[DRAW].i > UINT32_MAX)
        return kn_fail(t->ctx, KILN_INVALID, "rng_uniform: draw must be a number from 0 to %u", UINT32_MAX);
    if (lo.rank || hi.rank || lo.dtype != hi.dtype || !strchr("biuf", kiln_dtype_kind(lo.dtype)))
        return kn_fail(t->ctx, KILN_DTYPE, "rng_uniform: bounds are %s and %s; accepted: two scalars of one type, a bool, integers or floats", kn_type_show(lo).s,
                       kn_type_show(hi).s);
    KILN_TRY(kn_typing_ints(t, SHAPE, &shape, &rank));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, lo.dtype, rank, &dims));
    for (uint32_t k = 0; k < rank; k++) dims[k] = shape[k];
    if (kiln_type_size(t->out[0]) < 0) return kn_fail(t->ctx, KILN_SHAPE, "rng_uniform: %s is not a possible result", kn_type_show(t->out[0]).s);
    return KILN_OK;
}

/* ---- lowering ---- */

static kiln_dtype unsigned_of(unsigned width)
{
    return width <= 2 ? KILN_U2 : width == 4 ? KILN_U4 : width == 8 ? KILN_U8 : width == 16 ? KILN_U16 : width == 32 ? KILN_U32 : KILN_U64;
}

/* Threefry under a key of the draw's own. */
static kn_atom draw(kn_low *l, uint64_t number, kiln_type words)
{
    const uint64_t mark = 0x6b696c6e; /* so that the key is none that a program makes by accident */
    kn_atom key = kn_low_fill(l, (kiln_type){KILN_U64, 1, &(int64_t){1}}, (kn_scalar){.u = mark << 32 | number});
    kn_atom counter = kn_low_fill(l, (kiln_type){KILN_U64, 1, &(int64_t){1}}, (kn_scalar){.u = 0});
    kn_atom state = kn_low_op(l, &kn_prim_concatenate, &KN_INT(0), (kn_atom[]){key, counter}, 2), out[2] = {0, 0};
    kn_param p[] = {KN_TEXT("THREE_FRY"), KN_DTYPE(words.dtype), KN_INTS(words.rank, words.dims)};
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_rng_bit_generator, p, &state, 1, out, 2);
    return out[1];
}

/* From lo on, below hi: mantissas of random bits. */
static kn_atom between(kn_low *l, kn_atom bits, kiln_type t, kn_atom lo, kn_atom hi)
{
    unsigned width = kn_dtype_width(t.dtype), mantissa = t.dtype == KILN_F64 ? 52 : t.dtype == KILN_F32 ? 23 : t.dtype == KILN_F16 ? 10 : 7;
    kiln_type words = {unsigned_of(width), t.rank, t.dims};
    uint64_t one = 0;
    kn_scalar_store(t.dtype, &one, 0, (kn_scalar){.f = 1});
    kn_atom fraction = kn_low2(l, &kn_prim_shift_right_logical, bits, kn_low_fill(l, words, (kn_scalar){.u = width - mantissa}));
    kn_atom number = kn_low2(l, &kn_prim_or, fraction, kn_low_fill(l, words, (kn_scalar){.u = one}));
    number = kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(t.dtype), &number, 1);
    number = kn_low2(l, &kn_prim_sub, number, kn_low_fill(l, t, (kn_scalar){.f = 1}));
    number = kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_mul, number, kn_low2(l, &kn_prim_sub, hi, lo)), lo);
    return kn_low2(l, &kn_prim_max, lo, number);
}

static kn_atom whole_between(kn_low *l, kn_atom bits, kiln_type t, kn_atom lo, kn_atom hi)
{
    kn_atom range = kn_low_convert(l, kn_low2(l, &kn_prim_sub, hi, lo), unsigned_of(kn_dtype_width(t.dtype)));
    range = kn_low_convert(l, range, kn_build_type(l->b, bits).dtype);
    return kn_low2(l, &kn_prim_add, lo, kn_low_convert(l, kn_low2(l, &kn_prim_rem, bits, range), t.dtype));
}

static kiln_status lower_uniform(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    unsigned width = kn_dtype_width(t.dtype);
    char kind = kiln_dtype_kind(t.dtype);
    kiln_type words = {unsigned_of(width < 8 ? 8 : width), t.rank, t.dims};
    kn_atom bits = draw(&l, (uint64_t)e->params[DRAW].i, words), lo = kn_low_widen(&l, x[0], t), hi = kn_low_widen(&l, x[1], t);
    if (l.status != KILN_OK) return l.status;
    if (kind == 'b') {
        kn_atom odd = kn_low2(&l, &kn_prim_and, bits, kn_low_fill(&l, words, (kn_scalar){.u = 1}));
        y[0] = kn_low_select(&l, kn_low_convert(&l, odd, KILN_BOOL), hi, lo);
    } else {
        y[0] = kind == 'f' ? between(&l, bits, t, lo, hi) : whole_between(&l, bits, t, lo, hi);
    }
    return l.status;
}

KILN_PRIM(rng_uniform) = {
    .name = "rng_uniform",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_NUMBERED,
    KN_PARAMS(params),
    .type = type_uniform,
    .lower = lower_uniform,
    .batch = kn_batch_loop,
    .sample = kn_sample_uniform,
    .doc = "Random numbers from the first bound on, below the second, without a key: those of draw number `draw`, by default the equation's place among "
           "the draws of the text.",
};
