/* SPDX-License-Identifier: Apache-2.0 */
/* Random keys as JAX has them: a key is two words of 32 bits; new keys and bits are Threefry-2x32 of counters of 64 bits, one for each
 * element, so that a draw does not depend on how many are made with it ("partitionable"). */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

static const kn_param_spec impl_params[] = {{"impl", KN_P_NONE, KN_PARAM_OPTIONAL}};
static const kn_param_spec shape_params[] = {{"shape", KN_P_INTS, 0}};
static const kn_param_spec bits_params[] = {{"bit_width", KN_P_INT, 0}, {"shape", KN_P_INTS, 0}};

static kiln_status key_operand(const kn_typing *t)
{
    if (t->in[0].dtype == KILN_KEY) return KILN_OK;
    return kn_fail(t->ctx, KILN_DTYPE, "%s needs a key, %s given", t->prim->name, kn_type_show(t->in[0]).s);
}

/* Result 0: the operand's dimensions, then `shape`. */
static kiln_status longer(kn_typing *t, kiln_dtype d, const int64_t *shape, uint32_t n)
{
    int64_t *dims;
    kiln_type x = t->in[0];
    for (uint32_t i = 0; i < n; i++)
        if (shape[i] < 0) return kn_fail(t->ctx, KILN_SHAPE, "%s: a dimension of shape is negative", t->prim->name);
    if (x.rank + n > KN_MAX_RANK) return kn_fail(t->ctx, KILN_UNSUPPORTED, "%s: more than %d dimensions", t->prim->name, KN_MAX_RANK);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, d, x.rank + n, &dims));
    for (uint32_t i = 0; i < x.rank; i++) dims[i] = x.dims[i];
    for (uint32_t i = 0; i < n; i++) dims[x.rank + i] = shape[i];
    return KILN_OK;
}

/* ---- lowering: keys as words and back ---- */

static kn_atom number(kn_low *l, kiln_type t, uint64_t v)
{
    return kn_low_fill(l, t, (kn_scalar){.u = v});
}

/* Word 0 or 1 of keys; the words of a key lie side by side in memory. */
static kn_atom word(kn_low *l, kn_atom key, int64_t which)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, key);
    int64_t start[KN_MAX_RANK + 1] = {0}, limit[KN_MAX_RANK + 1];
    kn_atom words = kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(KILN_U32), &key, 1);
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dims[d];
    start[t.rank] = which, limit[t.rank] = which + 1;
    kn_param params[] = {KN_INTS(t.rank + 1, limit), KN_INTS(t.rank + 1, start), KN_NONE};
    return kn_low_reshape(l, kn_low_op(l, &kn_prim_slice, params, &words, 1), t.rank, t.dims);
}

static kn_atom key_of(kn_low *l, kn_atom first, kn_atom second)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, first);
    kn_atom pair = kn_low_op(l, &kn_prim_stack, &KN_INT(t.rank), (kn_atom[]){first, second}, 2);
    return kn_low_op(l, &kn_prim_bitcast_convert_type, &KN_DTYPE(KILN_KEY), &pair, 1);
}

/* Of the shape that the operand's dimensions lead. */
static kn_atom lead(kn_low *l, kn_atom x, kiln_type shape)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    int64_t at[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) at[d] = d;
    if (t.rank == shape.rank) return x;
    return kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(t.rank, at), KN_INTS(shape.rank, shape.dims), KN_NONE}, &x, 1);
}

/* Counters 0, 1, .. along the last `own` dimensions, in row-major order: their high and low words. */
static void counters(kn_low *l, kiln_type shape, uint32_t own, kn_atom out[2])
{
    kiln_type wide = {KILN_U64, shape.rank, shape.dims};
    int64_t step = 1;
    kn_atom sum = number(l, wide, 0);
    for (uint32_t i = 0; i < own; i++) {
        uint32_t d = shape.rank - 1 - i;
        kn_atom index = kn_low_iota(l, wide, d);
        sum = kn_low2(l, &kn_prim_add, sum, kn_low2(l, &kn_prim_mul, index, number(l, wide, (uint64_t)step)));
        step = step * shape.dims[d];
    }
    out[0] = kn_low_convert(l, kn_low2(l, &kn_prim_shift_right_logical, sum, number(l, wide, 32)), KILN_U32);
    out[1] = kn_low_convert(l, sum, KILN_U32);
}

static void hash(kn_low *l, kn_atom key, kiln_type shape, const kn_atom counter[2], kn_atom out[2])
{
    kn_atom in[4] = {lead(l, word(l, key, 0), shape), lead(l, word(l, key, 1), shape), counter[0], counter[1]};
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_threefry2x32, NULL, in, 4, out, 2);
}

/* ---- random_seed, random_wrap, random_unwrap ---- */

static kiln_status type_seed(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "iu"));
    return longer(t, KILN_KEY, NULL, 0);
}
static kiln_status lower_seed(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0), words = {KILN_U32, t.rank, t.dims};
    kn_atom high = number(&l, words, 0), low = kn_low_convert(&l, x[0], KILN_U32);
    if (kn_dtype_width(t.dtype) == 64)
        high = kn_low_convert(&l, kn_low2(&l, &kn_prim_shift_right_logical, x[0], number(&l, t, 32)), KILN_U32);
    y[0] = key_of(&l, high, low);
    return l.status;
}
KILN_PRIM(random_seed) = {
    .name = "random_seed",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(impl_params),
    .type = type_seed,
    .lower = lower_seed,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "The key of an integer seed: its high and its low 32 bits.",
};

static kiln_status type_wrap(kn_typing *t)
{
    kiln_type x = t->in[0];
    int64_t *dims;
    if (x.dtype != KILN_U32 || x.rank == 0 || x.dims[x.rank - 1] != 2)
        return kn_fail(t->ctx, KILN_SHAPE, "random_wrap needs u32[.., 2], %s given", kn_type_show(x).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, KILN_KEY, x.rank - 1, &dims));
    for (uint32_t d = 0; d + 1 < x.rank; d++) dims[d] = x.dims[d];
    return KILN_OK;
}
static kiln_status lower_wrap(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    y[0] = kn_low_op(&l, &kn_prim_bitcast_convert_type, &KN_DTYPE(KILN_KEY), x, 1);
    return l.status;
}
KILN_PRIM(random_wrap) = {
    .name = "random_wrap",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(impl_params),
    .type = type_wrap,
    .lower = lower_wrap,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "Keys of pairs of words.",
};

static kiln_status type_unwrap(kn_typing *t)
{
    static const int64_t pair = 2;
    KILN_TRY(key_operand(t));
    return longer(t, KILN_U32, &pair, 1);
}
static kiln_status lower_unwrap(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    y[0] = kn_low_op(&l, &kn_prim_bitcast_convert_type, &KN_DTYPE(KILN_U32), x, 1);
    return l.status;
}
KILN_PRIM(random_unwrap) = {
    .name = "random_unwrap",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_unwrap,
    .lower = lower_unwrap,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "The pairs of words of keys.",
};

static kiln_status type_clone(kn_typing *t)
{
    KILN_TRY(key_operand(t));
    return longer(t, KILN_KEY, NULL, 0);
}
static kiln_status lower_clone(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)b, (void)j, (void)e;
    y[0] = x[0];
    return KILN_OK;
}
KILN_PRIM(random_clone) = {
    .name = "random_clone",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_clone,
    .lower = lower_clone,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "The same keys, to be used once more.",
};

/* ---- random_split, random_fold_in, random_bits ---- */

static kiln_status type_split(kn_typing *t)
{
    const int64_t *shape;
    uint32_t n;
    KILN_TRY(key_operand(t));
    KILN_TRY(kn_typing_ints(t, 0, &shape, &n));
    return longer(t, KILN_KEY, shape, n);
}
static kiln_status lower_split(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    kn_atom c[2], bits[2] = {0, 0};
    counters(&l, t, e->params[0].n, c);
    hash(&l, x[0], t, c, bits);
    y[0] = key_of(&l, bits[0], bits[1]);
    return l.status;
}
KILN_PRIM(random_split) = {
    .name = "random_split",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(shape_params),
    .type = type_split,
    .lower = lower_split,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "An array of new keys from each key.",
};

static kiln_status type_fold_in(kn_typing *t)
{
    kiln_type shape;
    KILN_TRY(key_operand(t));
    if (t->in[1].dtype != KILN_U32) return kn_fail(t->ctx, KILN_DTYPE, "random_fold_in: the data must be u32, %s given", kn_type_show(t->in[1]).s);
    KILN_TRY(kn_typing_broadcast(t, 0, 2, &shape));
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, KILN_KEY, shape);
}
static kiln_status lower_fold_in(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0), words = {KILN_U32, t.rank, t.dims};
    kn_atom in[4] = {kn_low_in_shape(&l, word(&l, x[0], 0), words), kn_low_in_shape(&l, word(&l, x[0], 1), words), number(&l, words, 0),
                     kn_low_in_shape(&l, x[1], words)};
    kn_atom bits[2] = {0, 0};
    if (l.status == KILN_OK) l.status = kn_build_eqn(b, &kn_prim_threefry2x32, NULL, in, 4, bits, 2);
    y[0] = key_of(&l, bits[0], bits[1]);
    return l.status;
}
KILN_PRIM(random_fold_in) = {
    .name = "random_fold_in",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_fold_in,
    .lower = lower_fold_in,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_key,
    .doc = "A new key from a key and a number.",
};

static kiln_status type_bits(kn_typing *t)
{
    int64_t width;
    const int64_t *shape;
    uint32_t n;
    KILN_TRY(key_operand(t));
    KILN_TRY(kn_typing_int(t, 0, &width));
    KILN_TRY(kn_typing_ints(t, 1, &shape, &n));
    if (width != 8 && width != 16 && width != 32 && width != 64)
        return kn_fail(t->ctx, KILN_INVALID, "random_bits: bit_width is %lld; accepted: 8, 16, 32, 64", (long long)width);
    return longer(t, width == 8 ? KILN_U8 : width == 16 ? KILN_U16 : width == 32 ? KILN_U32 : KILN_U64, shape, n);
}
static kiln_status lower_bits(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    kn_atom c[2], bits[2] = {0, 0};
    counters(&l, t, e->params[1].n, c);
    hash(&l, x[0], t, c, bits);
    if (t.dtype == KILN_U64) {
        kn_atom high = kn_low2(&l, &kn_prim_shift_left, kn_low_convert(&l, bits[0], KILN_U64), number(&l, t, 32));
        y[0] = kn_low2(&l, &kn_prim_or, high, kn_low_convert(&l, bits[1], KILN_U64));
    } else y[0] = kn_low_convert(&l, kn_low2(&l, &kn_prim_xor, bits[0], bits[1]), t.dtype);
    return l.status;
}
KILN_PRIM(random_bits) = {
    .name = "random_bits",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(bits_params),
    .type = type_bits,
    .lower = lower_bits,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "Random unsigned integers of `bit_width` bits from each key.",
};
