/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits by counters: threefry2x32 element by element, rng_bit_generator as StableHLO has it. */
#include "rt/threefry.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

/* ---- threefry2x32: two words of key, two of counter ---- */

static kiln_status type_threefry(kn_typing *t)
{
    kiln_type shape;
    for (uint32_t i = 0; i < 4; i++)
        if (t->in[i].dtype != KILN_U32) return kn_fail(t->ctx, KILN_DTYPE, "threefry2x32: operand %u is %s, u32 is needed", i, kn_type_show(t->in[i]).s);
    KILN_TRY(kn_typing_broadcast(t, 0, 4, &shape));
    KILN_TRY(kn_typing_out(t, 2));
    for (uint32_t i = 0; i < 2; i++) KILN_TRY(kn_typing_like(t, i, KILN_U32, shape));
    return KILN_OK;
}

static kn_atom word(kn_low *l, uint32_t v) { return kn_low_num(l, KILN_U32, (double)v); }
static kn_atom rotate(kn_low *l, kn_atom x, unsigned r)
{
    return kn_low2(l, &kn_prim_or, kn_low2(l, &kn_prim_shift_left, x, word(l, r)), kn_low2(l, &kn_prim_shift_right_logical, x, word(l, 32 - r)));
}
static void rounds(kn_low *l, const kn_atom *in, kn_atom *out)
{
    static const unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    kn_atom k[3] = {in[0], in[1], kn_low2(l, &kn_prim_xor, kn_low2(l, &kn_prim_xor, in[0], in[1]), word(l, 0x1bd11bdau))};
    kn_atom x = kn_low2(l, &kn_prim_add, in[2], k[0]), y = kn_low2(l, &kn_prim_add, in[3], k[1]);
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            x = kn_low2(l, &kn_prim_add, x, y);
            y = kn_low2(l, &kn_prim_xor, rotate(l, y, rotations[group % 2][i]), x);
        }
        x = kn_low2(l, &kn_prim_add, x, k[(group + 1) % 3]);
        y = kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_add, y, k[(group + 2) % 3]), word(l, group + 1));
    }
    out[0] = x, out[1] = y;
}
static kiln_status lower_threefry(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *in, kn_atom *out)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type shape = kn_out_type(j, e, 0);
    rounds(&l, in, out);
    for (int i = 0; i < 2 && l.status == KILN_OK; i++)
        if (shape.rank && kn_build_type(b, out[i]).rank == 0) out[i] = kn_low_widen(&l, out[i], shape);
    return l.status;
}
KILN_PRIM(threefry2x32) = {
    .name = "threefry2x32",
    .nin = 4,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    .type = type_threefry,
    .lower = lower_threefry,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_threefry,
    .doc = "Threefry-2x32 with 20 rounds of counters under a key: two words of key, two of counter give two words.",
};

/* ---- rng_bit_generator: a state (key, counter) in; the state behind the draws, and bits ---- */

enum { RNG_ALGORITHM, RNG_DTYPE, RNG_SHAPE };
static const kn_param_spec rng_params[] = {{"algorithm", KN_P_TEXT, 0}, {"dtype", KN_P_DTYPE, 0}, {"shape", KN_P_INTS, 0}};

static bool philox(const kn_param *p) { return strcmp(p->text, "THREE_FRY") != 0; }

/* THREE_FRY's elements of 32 bits and less: both words of a draw stand next to each other along one dimension, an even one or else the
 * longest; an odd last one is dropped. The array is outer x size x inner, the draws are outer x half x inner. */
typedef struct halves {
    int64_t outer, size, half, inner;
} halves;

static halves halves_of(kiln_type t)
{
    uint32_t at = 0;
    for (uint32_t d = 1; d < t.rank; d++)
        if (t.dims[at] % 2 && (t.dims[d] % 2 == 0 || t.dims[d] > t.dims[at])) at = d;
    halves h = {1, t.rank ? t.dims[at] : 1, 0, 1};
    h.half = (h.size + 1) / 2;
    for (uint32_t d = 0; d < at; d++) h.outer *= t.dims[d];
    for (uint32_t d = at + 1; d < t.rank; d++) h.inner *= t.dims[d];
    return h;
}

static kiln_status type_rng(kn_typing *t)
{
    const int64_t *shape;
    int64_t *dims;
    uint32_t rank;
    kiln_dtype d;
    kiln_type s = t->in[0];
    const kn_param *a = &t->params[RNG_ALGORITHM];
    if (a->kind != KN_P_TEXT || (strcmp(a->text, "DEFAULT") != 0 && strcmp(a->text, "THREE_FRY") != 0 && strcmp(a->text, "PHILOX") != 0))
        return kn_fail(t->ctx, KILN_INVALID, "rng_bit_generator: algorithm must be DEFAULT, THREE_FRY or PHILOX");
    KILN_TRY(kn_typing_dtype(t, RNG_DTYPE, &d));
    KILN_TRY(kn_typing_ints(t, RNG_SHAPE, &shape, &rank));
    bool words = s.rank == 1 && ((s.dtype == KILN_U64 && (s.dims[0] == 2 || s.dims[0] == 3)) || (s.dtype == KILN_U32 && (s.dims[0] == 4 || s.dims[0] == 6)));
    if (!words || (!philox(a) && s.dims[0] % 3 == 0))
        return kn_fail(t->ctx, KILN_SHAPE, "rng_bit_generator: the state is %s; accepted: u64[2] or u32[4], for PHILOX also u64[3] or u32[6]", kn_type_show(s).s);
    if (!strchr("iu", kiln_dtype_kind(d)) || kn_dtype_width(d) < 8)
        return kn_fail(t->ctx, KILN_DTYPE, "rng_bit_generator: bits of %s; accepted: integers of 8 to 64 bits", kiln_dtype_name(d));
    KILN_TRY(kn_typing_out(t, 2));
    KILN_TRY(kn_typing_like(t, 0, s.dtype, s));
    KILN_TRY(kn_typing_shape(t, 1, d, rank, &dims));
    for (uint32_t i = 0; i < rank; i++) dims[i] = shape[i];
    if (kiln_type_size(t->out[1]) < 0) return kn_fail(t->ctx, KILN_SHAPE, "rng_bit_generator: %s is not a possible result", kn_type_show(t->out[1]).s);
    return KILN_OK;
}

/* The counter's words are the lower and the upper half of a number that counts on. */
static void draw_threefry(uint64_t key, uint64_t counter, uint32_t out[2])
{
    kn_threefry2x32((uint32_t[]){(uint32_t)key, (uint32_t)(key >> 32)}, (uint32_t[]){(uint32_t)counter, (uint32_t)(counter >> 32)}, out);
}
static void draw_philox(uint64_t key, uint64_t low, uint64_t high, uint64_t k, uint32_t out[4])
{
    uint64_t c = low + k, up = high + (c < low);
    kn_philox4x32((uint32_t[]){(uint32_t)key, (uint32_t)(key >> 32)},
                  (uint32_t[]){(uint32_t)c, (uint32_t)(c >> 32), (uint32_t)up, (uint32_t)(up >> 32)}, out);
}

/* 64-bit elements take both words of one threefry draw. Philox gives its four words in turn; s[2] is the counter's upper half, or in a
 * state of two words the key again. */
static void fill(bool by_philox, const uint64_t *s, kiln_array *out, uint64_t *used)
{
    kiln_dtype d = out->type.dtype;
    int64_t n = kiln_type_size(out->type);
    bool wide = kn_dtype_width(d) == 64;
    uint32_t w[4];
    if (by_philox) {
        int64_t per = wide ? 2 : 4;
        for (int64_t k = 0; k < n; k++) {
            if (k % per == 0) draw_philox(s[0], s[1], s[2], (uint64_t)(k / per), w);
            uint64_t v = wide ? w[2 * (k % 2)] | (uint64_t)w[2 * (k % 2) + 1] << 32 : w[k % 4];
            kn_scalar_store(d, out->data, k, (kn_scalar){.u = v});
        }
        *used = (uint64_t)((n + per - 1) / per);
        return;
    }
    halves h = wide ? (halves){1, n, n, 1} : halves_of(out->type);
    int64_t draws = h.outer * h.half * h.inner;
    for (int64_t k = 0; k < draws; k++) {
        int64_t o = k / (h.half * h.inner), at = k / h.inner % h.half * (wide ? 1 : 2), i = k % h.inner;
        draw_threefry(s[0], s[1] + (uint64_t)k, w);
        if (wide) kn_scalar_store(d, out->data, k, (kn_scalar){.u = w[0] | (uint64_t)w[1] << 32});
        for (int64_t x = at; !wide && x < at + 2 && x < h.size; x++) kn_scalar_store(d, out->data, (o * h.size + x) * h.inner + i, (kn_scalar){.u = w[x - at]});
    }
    *used = (uint64_t)draws;
}

static kiln_status eval_rng(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    uint64_t state[3] = {0}, used;
    memcpy(state, in[0]->data, in[0]->bytes);
    if (in[0]->bytes < sizeof state) state[2] = state[0];
    fill(philox(&e->params[RNG_ALGORITHM]), state, out[1], &used);
    state[1] += used;
    if (state[1] < used) state[2]++;
    memcpy(out[0]->data, state, in[0]->bytes);
    return KILN_OK;
}

/* ---- the same by equations ---- */

static kn_atom low_u64(kn_low *l, double v) { return kn_low_num(l, KILN_U64, v); }
static kn_atom low_half(kn_low *l, kn_atom x) { return kn_low_convert(l, x, KILN_U32); }
static kn_atom high_half(kn_low *l, kn_atom x) { return low_half(l, kn_low2(l, &kn_prim_shift_right_logical, x, low_u64(l, 32))); }
static kn_atom whole(kn_low *l, kn_atom low, kn_atom high)
{
    kn_atom up = kn_low2(l, &kn_prim_shift_left, kn_low_convert(l, high, KILN_U64), low_u64(l, 32));
    return kn_low2(l, &kn_prim_or, kn_low_convert(l, low, KILN_U64), up);
}
static kn_atom part(kn_low *l, kn_atom x, int64_t from, int64_t to)
{
    return kn_low_op(l, &kn_prim_slice, (kn_param[]){KN_INTS(1, &to), KN_INTS(1, &from), KN_NONE}, &x, 1);
}
static kn_atom join(kn_low *l, const kn_atom *x, uint32_t n) { return n == 1 ? x[0] : kn_low_op(l, &kn_prim_concatenate, (kn_param[]){KN_INT(0)}, x, n); }

static int64_t state_words(kiln_type t) { return t.dtype == KILN_U64 ? t.dims[0] : t.dims[0] / 2; }

/* Word k of the state, 64 bits. */
static kn_atom state_word(kn_low *l, kn_atom state, kiln_type t, int64_t k)
{
    if (t.dtype == KILN_U64) return kn_low_reshape(l, part(l, state, k, k + 1), 0, NULL);
    return whole(l, kn_low_reshape(l, part(l, state, 2 * k, 2 * k + 1), 0, NULL), kn_low_reshape(l, part(l, state, 2 * k + 1, 2 * k + 2), 0, NULL));
}

static kn_atom state_from(kn_low *l, const kn_atom *words, kiln_type t)
{
    kn_atom x[6];
    uint32_t n = (uint32_t)t.dims[0];
    for (uint32_t k = 0; k < n; k++) {
        kn_atom v = t.dtype == KILN_U64 ? words[k] : k % 2 ? high_half(l, words[k / 2]) : low_half(l, words[k / 2]);
        x[k] = kn_low_reshape(l, v, 1, &(int64_t){1});
    }
    return join(l, x, n);
}

static kn_atom count_up(kn_low *l, int64_t n)
{
    return kn_low_iota(l, (kiln_type){KILN_U64, 1, &n}, 0);
}

/* Draws 0, 1, .. : two words each. */
static void draws_threefry(kn_low *l, const kn_atom *state, int64_t draws, kn_atom *w)
{
    kn_atom counter = kn_low2(l, &kn_prim_add, state[1], count_up(l, draws));
    rounds(l, (kn_atom[]){low_half(l, state[0]), high_half(l, state[0]), low_half(l, counter), high_half(l, counter)}, w);
}

/* Four words each. */
static void draws_philox(kn_low *l, const kn_atom *state, int64_t draws, kn_atom *w)
{
    static const uint32_t times[2] = {0xd2511f53u, 0xcd9e8d57u}, more[2] = {0x9e3779b9u, 0xbb67ae85u};
    kn_atom low = kn_low2(l, &kn_prim_add, state[1], count_up(l, draws));
    kn_atom high = kn_low2(l, &kn_prim_add, state[2], kn_low_convert(l, kn_low2(l, &kn_prim_lt, low, state[1]), KILN_U64));
    kn_atom k[2] = {low_half(l, state[0]), high_half(l, state[0])};
    w[0] = low_half(l, low), w[1] = high_half(l, low), w[2] = low_half(l, high), w[3] = high_half(l, high);
    for (int round = 0; round < 10; round++) {
        kn_atom p[2];
        for (int i = 0; i < 2; i++) p[i] = kn_low2(l, &kn_prim_mul, kn_low_convert(l, w[2 * i], KILN_U64), low_u64(l, times[i]));
        kn_atom odd[2] = {w[1], w[3]};
        for (int i = 0; i < 2; i++) {
            w[2 * i] = kn_low2(l, &kn_prim_xor, kn_low2(l, &kn_prim_xor, high_half(l, p[1 - i]), odd[i]), k[i]);
            w[2 * i + 1] = low_half(l, p[1 - i]);
            k[i] = kn_low2(l, &kn_prim_add, k[i], word(l, more[i]));
        }
    }
}

/* Elements in the order of the draws from their n words (side by side), or one after the other. */
static kn_atom in_turn(kn_low *l, const kn_atom *w, uint32_t n, int64_t draws)
{
    kn_atom x[4];
    for (uint32_t i = 0; i < n; i++) x[i] = kn_low_reshape(l, w[i], 2, (int64_t[]){draws, 1});
    kn_atom all = kn_low_op(l, &kn_prim_concatenate, (kn_param[]){KN_INT(1)}, x, n);
    return kn_low_reshape(l, all, 1, (int64_t[]){draws * n});
}

static kn_atom side_by_side(kn_low *l, const kn_atom *w, const halves *h)
{
    int64_t zeros[3] = {0}, sizes[] = {h->outer, h->size, h->inner};
    kn_atom x[2];
    for (uint32_t i = 0; i < 2; i++) x[i] = kn_low_reshape(l, w[i], 4, (int64_t[]){h->outer, h->half, 1, h->inner});
    kn_atom all = kn_low_op(l, &kn_prim_concatenate, (kn_param[]){KN_INT(2)}, x, 2);
    all = kn_low_reshape(l, all, 3, (int64_t[]){h->outer, 2 * h->half, h->inner});
    return kn_low_op(l, &kn_prim_slice, (kn_param[]){KN_INTS(3, sizes), KN_INTS(3, zeros), KN_NONE}, &all, 1);
}

static kiln_status lower_rng(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *in, kn_atom *out)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type t = kn_in_type(j, e, 0), y = kn_out_type(j, e, 1);
    bool by_philox = philox(&e->params[RNG_ALGORITHM]), wide = kn_dtype_width(y.dtype) == 64;
    halves h = halves_of(y);
    int64_t n = kiln_type_size(y), per = by_philox ? wide ? 2 : 4 : 1, draws = by_philox || wide ? (n + per - 1) / per : h.outer * h.half * h.inner;
    kn_atom s[3], w[4], bits;
    for (int k = 0; k < 3; k++) s[k] = k < state_words(t) ? state_word(l, in[0], t, k) : s[0];
    if (by_philox) draws_philox(l, s, draws, w);
    else draws_threefry(l, s, draws, w);
    if (by_philox && wide) bits = in_turn(l, (kn_atom[]){whole(l, w[0], w[1]), whole(l, w[2], w[3])}, 2, draws);
    else if (by_philox) bits = in_turn(l, w, 4, draws);
    else bits = wide ? whole(l, w[0], w[1]) : side_by_side(l, w, &h);
    if (by_philox && draws * per != n) bits = part(l, bits, 0, n);
    out[1] = kn_low_reshape(l, kn_low_convert(l, bits, y.dtype), y.rank, y.dims);
    kn_atom next = kn_low2(l, &kn_prim_add, s[1], low_u64(l, (double)draws));
    kn_atom carry = kn_low_convert(l, kn_low2(l, &kn_prim_lt, next, low_u64(l, (double)draws)), KILN_U64);
    out[0] = state_from(l, (kn_atom[]){s[0], next, kn_low2(l, &kn_prim_add, s[2], carry)}, t);
    return l->status;
}

KILN_PRIM(rng_bit_generator) = {
    .name = "rng_bit_generator",
    .nin = 1,
    .nout = 2,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(rng_params),
    .type = type_rng,
    .eval = eval_rng,
    .lower = lower_rng,
    .batch = kn_batch_loop,
    .sample = kn_sample_rng,
    .doc = "Random bits of a counter-based generator from a state (key, counter); gives the state behind them, too. DEFAULT is PHILOX.",
};
