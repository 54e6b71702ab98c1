/* SPDX-License-Identifier: Apache-2.0 */
/* conv_general_dilated. dimension_numbers places batch and feature, then spatial dimensions, of the left operand, (output and input
 * feature, spatial) of the kernel, and of the result. A result element is a product over k = (spatial taps row-major, input
 * feature), in the order of dot_general's chain; taps on padding or between dilated elements are skipped, and counted. Where groups
 * have one input feature it is no product of matrices, and multiplies and adds with two roundings. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/conv.h"
#include "prim/dot.h"
#include "prim/lowering.h"
#include "prim/sample.h"
#include "rt/dot.h"

#include "prims.gen.h"

enum { CONV_BATCHES, CONV_DIMS, CONV_FEATURES, CONV_LHS, CONV_SHARDING, CONV_PADDING, CONV_PRECISION, CONV_PREFERRED, CONV_RHS, CONV_STRIDES };
static const kn_param_spec conv_params[] = {
    {"batch_group_count", KN_P_INT, 0},
    {"dimension_numbers", KN_P_RECORD, 0},
    {"feature_group_count", KN_P_INT, 0},
    {"lhs_dilation", KN_P_INTS, 0},
    {"out_sharding", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"padding", KN_P_NONE, 0},
    {"precision", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"preferred_element_type", KN_P_DTYPE, KN_PARAM_OPTIONAL},
    {"rhs_dilation", KN_P_INTS, 0},
    {"window_strides", KN_P_INTS, 0},
};

static bool read_conv(const kn_param *params, kn_conv *c)
{
    static const char *const keys[] = {"lhs_spec", "rhs_spec", "out_spec"};
    const kn_param *d = &params[CONV_DIMS];
    if (d->kind != KN_P_RECORD || !d->keys || d->n != 3) return false;
    for (int i = 0; i < 3; i++) {
        if (strcmp(d->keys[i], keys[i]) != 0 || d->items[i].kind != KN_P_INTS || d->items[i].n != d->items[0].n || d->items[i].n < 2) return false;
        c->spec[i] = d->items[i].ints;
    }
    c->n = d->items[0].n - 2;
    c->batches = params[CONV_BATCHES].i;
    c->features = params[CONV_FEATURES].i;
    c->lhs = kn_ints(&params[CONV_LHS]);
    c->rhs = kn_ints(&params[CONV_RHS]);
    c->stride = kn_ints(&params[CONV_STRIDES]);
    c->padding = &params[CONV_PADDING];
    return true;
}
kn_conv kn_conv_of(const kn_eqn *e)
{
    kn_conv c = {.n = 0};
    read_conv(e->params, &c);
    return c;
}
int64_t kn_conv_low(const kn_conv *c, uint32_t d) { return kn_ints(&c->padding->items[d])[0]; }
bool kn_conv_fused(kiln_dtype accumulator, int64_t in_features) { return kiln_dtype_kind(accumulator) == 'f' && in_features > 1; }
static int64_t high(const kn_conv *c, uint32_t d) { return kn_ints(&c->padding->items[d])[1]; }

static kiln_status check_list(const kn_typing *t, uint32_t k, uint32_t n)
{
    const int64_t *v;
    uint32_t have;
    KILN_TRY(kn_typing_ints(t, k, &v, &have));
    bool good = have == n;
    for (uint32_t i = 0; good && i < n; i++) good = v[i] >= 1 && v[i] < (int64_t)1 << 40;
    if (good) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: %s must hold %u positive numbers", t->prim->params[k].name, n);
}

static kiln_status check_params(kn_typing *t, kn_conv *c)
{
    int64_t count;
    kiln_type a = t->in[0], b = t->in[1];
    KILN_TRY(kn_typing_int(t, CONV_BATCHES, &count));
    KILN_TRY(kn_typing_int(t, CONV_FEATURES, &count));
    if (!read_conv(t->params, c) || c->n + 2 != a.rank || a.rank != b.rank || a.rank > KN_MAX_RANK)
        return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: dimension_numbers do not fit %s and %s", kn_type_show(a).s, kn_type_show(b).s);
    for (int i = 0; i < 3; i++) {
        uint32_t seen = 0;
        for (uint32_t d = 0; d < a.rank; d++) {
            int64_t at = c->spec[i][d];
            if (at < 0 || at >= (int64_t)a.rank || (seen >> at & 1)) return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: dimension_numbers name a dimension twice, or one that does not exist");
            seen |= 1u << at;
        }
    }
    KILN_TRY(check_list(t, CONV_LHS, c->n));
    KILN_TRY(check_list(t, CONV_RHS, c->n));
    KILN_TRY(check_list(t, CONV_STRIDES, c->n));
    bool pairs = (c->padding->kind == KN_P_TUPLE || c->padding->kind == KN_P_INTS) && c->padding->n == c->n;
    for (uint32_t d = 0; pairs && d < c->n; d++) pairs = c->padding->kind == KN_P_TUPLE && c->padding->items[d].kind == KN_P_INTS && c->padding->items[d].n == 2;
    if (!pairs) return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: padding must hold %u pairs (low, high)", c->n);
    return KILN_OK;
}

static int64_t dilated(int64_t n, int64_t by) { return n == 0 ? 0 : (n - 1) * by + 1; }

static kiln_status type_conv(kn_typing *t)
{
    kn_conv c;
    int64_t *dims;
    kiln_type a = t->in[0], b = t->in[1];
    kiln_dtype result = a.dtype;
    KILN_TRY(kn_typing_kinds(t, 0, "biufc"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    KILN_TRY(check_params(t, &c));
    if (!kn_is_none(&t->params[CONV_PREFERRED])) KILN_TRY(kn_typing_dtype(t, CONV_PREFERRED, &result));
    if (!kn_product_kinds(kiln_dtype_kind(a.dtype), kiln_dtype_kind(result)))
        return kn_fail(t->ctx, KILN_DTYPE, "conv_general_dilated: preferred_element_type %s does not fit %s", kiln_dtype_name(result), kn_type_show(a).s);
    int64_t batch = a.dims[c.spec[0][0]], feature = a.dims[c.spec[0][1]], out = b.dims[c.spec[1][0]], in = b.dims[c.spec[1][1]];
    bool good = c.batches >= 1 && c.features >= 1 && (c.batches == 1 || c.features == 1);
    good = good && batch % c.batches == 0 && out % c.batches == 0 && out % c.features == 0 && in * c.features == feature;
    if (!good)
        return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: %lld batch groups and %lld feature groups do not fit %s and %s", (long long)c.batches,
                       (long long)c.features, kn_type_show(a).s, kn_type_show(b).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, result, a.rank, &dims));
    dims[c.spec[2][0]] = batch / c.batches;
    dims[c.spec[2][1]] = out;
    for (uint32_t d = 0; d < c.n; d++) {
        int64_t whole = dilated(a.dims[c.spec[0][2 + d]], c.lhs[d]), window = dilated(b.dims[c.spec[1][2 + d]], c.rhs[d]);
        if (__builtin_add_overflow(whole, kn_conv_low(&c, d), &whole) || __builtin_add_overflow(whole, high(&c, d), &whole))
            return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: the padding of dimension %u is too large", d);
        dims[c.spec[2][2 + d]] = whole < window || whole < 0 ? 0 : (whole - window) / c.stride[d] + 1;
    }
    if (kiln_type_size(t->out[0]) < 0) return kn_fail(t->ctx, KILN_SHAPE, "conv_general_dilated: %s is not a possible result", kn_type_show(t->out[0]).s);
    return KILN_OK;
}

/* One element of the result. */
typedef struct tap_walk {
    const kn_conv *c;
    const kiln_array *a, *b;
    int64_t sa[KN_MAX_RANK], sb[KN_MAX_RANK], size[KN_MAX_RANK]; /* strides; taps by spatial dimension */
    kiln_type taps;
    kiln_dtype acc;
} tap_walk;

static kn_scalar factor(const kiln_array *x, int64_t at, kiln_dtype acc)
{
    kn_scalar v = kn_scalar_load(x->type.dtype, x->data, at);
    return x->type.dtype == acc ? v : kn_sop_eval(KN_S_convert, x->type.dtype, acc, v, v, v);
}

static kn_scalar element(const tap_walk *w, const int64_t *ix)
{
    const kn_conv *c = w->c;
    int64_t out_features = w->b->type.dims[c->spec[1][0]], in = w->b->type.dims[c->spec[1][1]], batch = ix[c->spec[2][0]], o = ix[c->spec[2][1]];
    int64_t first = o / (out_features / c->features) * in; /* the first input feature of the group */
    batch += o / (out_features / c->batches) * (w->a->type.dims[c->spec[0][0]] / c->batches);
    int64_t base_a = batch * w->sa[c->spec[0][0]], base_b = o * w->sb[c->spec[1][0]], tap[KN_MAX_RANK] = {0}, k = 0, n = kiln_type_size(w->taps);
    bool fused = kn_conv_fused(w->acc, in), any = false;
    kn_scalar total = {.u = 0}, start = kn_reduce_identity(KN_S_add, w->acc), sum = start;
    for (int64_t q = 0; q < n; q++, kn_next(w->taps, tap)) {
        int64_t at = base_a, kernel = base_b;
        bool inside = true;
        for (uint32_t d = 0; d < c->n; d++) {
            int64_t p = ix[c->spec[2][2 + d]] * c->stride[d] + tap[d] * c->rhs[d] - kn_conv_low(c, d);
            inside = inside && p >= 0 && p % c->lhs[d] == 0 && p / c->lhs[d] < w->a->type.dims[c->spec[0][2 + d]];
            at += p / c->lhs[d] * w->sa[c->spec[0][2 + d]];
            kernel += tap[d] * w->sb[c->spec[1][2 + d]];
        }
        for (int64_t i = 0; i < in; i++, k++) {
            if (k && k % KN_DOT_BLOCK == 0) {
                total = any ? kn_sop_eval(KN_S_add, w->acc, w->acc, total, sum, sum) : sum;
                any = true;
                sum = start;
            }
            if (!inside) continue;
            kn_scalar x = factor(w->a, at + (first + i) * w->sa[c->spec[0][1]], w->acc), y = factor(w->b, kernel + i * w->sb[c->spec[1][1]], w->acc);
            if (fused) sum = kn_sop_eval(KN_S_fma, w->acc, w->acc, x, y, sum);
            else {
                kn_scalar xy = kn_sop_eval(KN_S_mul, w->acc, w->acc, x, y, y);
                sum = kn_sop_eval(KN_S_add, w->acc, w->acc, sum, xy, xy);
            }
        }
    }
    if (k == 0) return total;
    return any ? kn_sop_eval(KN_S_add, w->acc, w->acc, total, sum, sum) : sum;
}

static kiln_status eval_conv(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kn_conv c = kn_conv_of(e);
    tap_walk w = {.c = &c, .a = in[0], .b = in[1], .acc = kn_dot_accumulator(in[0]->type.dtype, out[0]->type.dtype)};
    kn_strides(in[0]->type, w.sa);
    kn_strides(in[1]->type, w.sb);
    for (uint32_t d = 0; d < c.n; d++) w.size[d] = in[1]->type.dims[c.spec[1][2 + d]];
    w.taps = (kiln_type){KILN_BOOL, c.n, w.size};
    kiln_type y = out[0]->type;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++, kn_next(y, ix)) {
        kn_scalar v = element(&w, ix);
        if (w.acc != y.dtype) v = kn_sop_eval(KN_S_convert, w.acc, y.dtype, v, v, v);
        kn_scalar_store(y.dtype, out[0]->data, k, v);
    }
    return KILN_OK;
}

/* Complex numbers: four real convolutions. */
static kiln_status lower_complex_conv(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_param params[sizeof conv_params / sizeof *conv_params];
    memcpy(params, e->params, sizeof params);
    params[CONV_PREFERRED] = KN_DTYPE(kn_out_type(j, e, 0).dtype == KILN_C64 ? KILN_F32 : KILN_F64);
    kn_atom part[2][2], c[2][2];
    for (int s = 0; s < 2; s++) part[s][0] = kn_low1(&l, &kn_prim_real, x[s]), part[s][1] = kn_low1(&l, &kn_prim_imag, x[s]);
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) c[p][q] = kn_low_op(&l, &kn_prim_conv_general_dilated, params, (kn_atom[]){part[0][p], part[1][q]}, 2);
    y[0] = kn_low2(&l, &kn_prim_complex, kn_low2(&l, &kn_prim_sub, c[0][0], c[1][1]), kn_low2(&l, &kn_prim_add, c[0][1], c[1][0]));
    return l.status;
}

/* ---- lanes: folded into the batch (of the left operand), the output features (of the kernel), or groups (of both) ---- */

/* Dimension `at` of a lane's array becomes (outer, lanes, inner), merged: outer 1 puts the lanes in front. */
static kn_atom merged(kn_lanes *m, kn_atom a, uint32_t at, int64_t outer)
{
    if (m->l.status != KILN_OK) return a;
    kiln_type t = kn_build_type(m->l.b, a);
    int64_t split[KN_MAX_RANK + 2], whole[KN_MAX_RANK];
    uint32_t n = 0;
    if (t.rank + 1 > KN_MAX_RANK) {
        m->l.status = kn_fail(m->l.b->ctx, KILN_UNSUPPORTED, "vmap: conv_general_dilated of %s has too many dimensions", kn_type_show(t).s);
        return a;
    }
    for (uint32_t d = 0; d < t.rank; d++) {
        if (d == at + 1) split[n++] = outer, split[n++] = t.dims[d] / outer;
        else split[n++] = t.dims[d];
        if (d) whole[d - 1] = d == at + 1 ? m->size * t.dims[d] : t.dims[d];
    }
    a = kn_low_reshape(&m->l, a, n, split);
    return kn_low_reshape(&m->l, kn_lanes_move(m, a, 0, at + 1), t.rank - 1, whole);
}

/* The other way round. */
static kn_atom parted(kn_lanes *m, kn_atom a, uint32_t at, int64_t outer)
{
    if (m->l.status != KILN_OK) return a;
    kiln_type t = kn_build_type(m->l.b, a);
    int64_t split[KN_MAX_RANK + 2], whole[KN_MAX_RANK + 1] = {m->size}, inner = t.dims[at] / (outer * m->size);
    uint32_t n = 0;
    for (uint32_t d = 0; d < t.rank; d++) {
        if (d == at) split[n++] = outer, split[n++] = m->size, split[n++] = inner;
        else split[n++] = t.dims[d];
        whole[d + 1] = d == at ? outer * inner : t.dims[d];
    }
    a = kn_lanes_move(m, kn_low_reshape(&m->l, a, n, split), at + 1, 0);
    return kn_low_reshape(&m->l, a, t.rank + 1, whole);
}

static kiln_status batch_conv(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_conv c = kn_conv_of(e);
    kn_param *p = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    uint32_t batch = (uint32_t)c.spec[0][0], feature = (uint32_t)c.spec[0][1], outs = (uint32_t)c.spec[1][0];
    bool left = kn_has_lanes(&m, 0), kernel = kn_has_lanes(&m, 1), batches = c.batches > 1;
    if (kn_in_type(j, e, 0).rank + 2 > KN_MAX_RANK) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    kn_atom in[2] = {x[0], x[1]};
    int64_t groups = c.features > c.batches ? c.features : c.batches;
    if (left && kernel) { /* each lane is a group, or as many as there were */
        in[0] = merged(&m, x[0], batches ? batch : feature, 1);
        in[1] = merged(&m, x[1], outs, 1);
        p[batches ? CONV_BATCHES : CONV_FEATURES].i *= m.size;
    } else if (left) {
        in[0] = merged(&m, x[0], batch, c.batches);
    } else {
        in[1] = merged(&m, x[1], outs, groups);
    }
    kn_atom v = kn_low_op(&m.l, e->prim, p, in, 2);
    y[0] = parted(&m, v, (uint32_t)c.spec[2][left && !kernel ? 0 : 1], left ? 1 : groups);
    return m.l.status;
}

/* ---- derivatives ---- */

/* Dimension `from` is (groups, rest): the groups become the major part of dimension `into`. */
static kn_atom move_groups(kn_low *l, kn_atom a, uint32_t from, uint32_t into, int64_t groups)
{
    if (l->status != KILN_OK || groups == 1) return a;
    kiln_type t = kn_build_type(l->b, a);
    int64_t split[KN_MAX_RANK + 1], turn[KN_MAX_RANK + 1], last[KN_MAX_RANK];
    uint32_t n = 0, k = 0, at[KN_MAX_RANK + 1];
    for (uint32_t d = 0; d < t.rank; d++) {
        if (d == from) split[n++] = groups;
        at[d] = n;
        split[n++] = d == from ? t.dims[d] / groups : t.dims[d];
        last[d] = d == from ? t.dims[d] / groups : d == into ? t.dims[d] * groups : t.dims[d];
    }
    for (uint32_t d = 0; d < t.rank; d++) {
        if (d == into) turn[k++] = at[from] - 1;
        turn[k++] = at[d];
    }
    return kn_low_reshape(l, kn_derive_turn(l, kn_low_reshape(l, a, n, split), turn), t.rank, last);
}

typedef struct turned {
    const int64_t *spec[3];
    int64_t swapped[3][KN_MAX_RANK], pads[KN_MAX_RANK][2];
    int64_t features, batches;
    const int64_t *stride, *lhs, *rhs;
} turned;

static kn_atom conv_of(kn_low *l, const kn_eqn *e, const kn_conv *c, const turned *t, kn_atom left, kn_atom right)
{
    static const char *const keys[] = {"lhs_spec", "rhs_spec", "out_spec"};
    kn_param items[3], pads[KN_MAX_RANK], params[CONV_STRIDES + 1];
    for (int i = 0; i < 3; i++) items[i] = KN_INTS(c->n + 2, t->spec[i]);
    for (uint32_t d = 0; d < c->n; d++) pads[d] = KN_INTS(2, t->pads[d]);
    memcpy(params, e->params, sizeof params);
    params[CONV_DIMS] = (kn_param){.kind = KN_P_RECORD, .n = 3, .items = items, .keys = keys, .name = e->params[CONV_DIMS].name};
    params[CONV_BATCHES] = KN_INT(t->batches);
    params[CONV_FEATURES] = KN_INT(t->features);
    params[CONV_LHS] = KN_INTS(c->n, t->lhs);
    params[CONV_RHS] = KN_INTS(c->n, t->rhs);
    params[CONV_STRIDES] = KN_INTS(c->n, t->stride);
    params[CONV_PADDING] = KN_TUPLE(c->n, pads);
    return kn_low_op(l, e->prim, params, (kn_atom[]){left, right}, 2);
}

/* For the left operand the cotangent with the kernel reversed, its features exchanged; for the kernel the left operand with the
 * cotangent, batch and features exchanged. */
static kiln_status transpose_conv(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_conv c = kn_conv_of(e);
    bool left = x[0] == KN_LINEAR;
    kiln_type a = kn_in_type(j, e, 0), k = kn_in_type(j, e, 1), u = kn_out_type(j, e, 0);
    if (kiln_type_size(a) == 0 || kiln_type_size(k) == 0 || kiln_type_size(u) == 0) return kn_zeros(b, left ? a : k, &ct_in[!left]);
    turned t = {.features = 1, .batches = 1, .lhs = left ? c.stride : c.lhs, .rhs = left ? c.rhs : c.stride, .stride = left ? c.lhs : c.rhs};
    for (int i = 0; i < 3; i++) {
        memcpy(t.swapped[i], c.spec[i], (c.n + 2) * sizeof(int64_t));
        t.swapped[i][0] = c.spec[i][1], t.swapped[i][1] = c.spec[i][0];
    }
    for (uint32_t d = 0; d < c.n; d++) {
        int64_t in = dilated(a.dims[c.spec[0][2 + d]], c.lhs[d]), window = dilated(k.dims[c.spec[1][2 + d]], c.rhs[d]);
        int64_t out = dilated(u.dims[c.spec[2][2 + d]], c.stride[d]);
        t.pads[d][0] = left ? window - kn_conv_low(&c, d) - 1 : kn_conv_low(&c, d);
        t.pads[d][1] = left ? in + window - 1 - out - t.pads[d][0] : out - in + window - kn_conv_low(&c, d) - 1;
    }
    if (left) {
        int64_t groups = c.features > 1 ? c.features : c.batches;
        kn_param spatial = KN_INTS(c.n, c.spec[1] + 2);
        kn_atom kernel = c.n ? kn_low_op(&l, &kn_prim_rev, &spatial, &x[1], 1) : x[1];
        kernel = move_groups(&l, kernel, (uint32_t)c.spec[1][0], (uint32_t)c.spec[1][1], groups);
        t.spec[0] = c.spec[2], t.spec[1] = t.swapped[1], t.spec[2] = c.spec[0], t.features = groups;
        kn_atom made = conv_of(&l, e, &c, &t, ct[0], kernel);
        ct_in[0] = c.batches > 1 ? move_groups(&l, made, (uint32_t)c.spec[0][1], (uint32_t)c.spec[0][0], groups) : made;
    } else {
        t.spec[0] = t.swapped[0], t.spec[1] = t.swapped[2], t.spec[2] = t.swapped[1];
        t.features = c.batches, t.batches = c.features;
        ct_in[1] = conv_of(&l, e, &c, &t, x[0], ct[0]);
    }
    return l.status;
}

KILN_PRIM(conv_general_dilated) = {
    .name = "conv_general_dilated",
    .nin = 2,
    .nout = 1,
    KN_PARAMS(conv_params),
    .loop = KN_LOOP_CONV,
    .type = type_conv,
    .eval = eval_conv,
    .jvp = kn_jvp_bilinear,
    .transpose = transpose_conv,
    .lower_complex = lower_complex_conv,
    .lower_mixed = kn_lower_mixed_product,
    .batch = batch_conv,
    .sample = kn_sample_conv,
    .doc = "Convolution (the kernel is not flipped) with strides, padding, dilation of both operands, groups of features or batches.",
};
