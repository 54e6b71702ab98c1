/* SPDX-License-Identifier: Apache-2.0 */
/* slice, dynamic_slice, dynamic_update_slice, split. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/index.h"
#include "prim/sample.h"

#include "prims.gen.h"

/* ---- slice ---- */

enum { SLICE_LIMIT, SLICE_START, SLICE_STRIDES };
static const kn_param_spec slice_params[] = {
    {"limit_indices", KN_P_INTS, 0},
    {"start_indices", KN_P_INTS, 0},
    {"strides", KN_P_NONE, KN_PARAM_OPTIONAL},
};

static kiln_status type_slice(kn_typing *t)
{
    const int64_t *start, *limit, *stride = NULL;
    int64_t *dims;
    uint32_t n_start, n_limit, n_stride = t->in[0].rank;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_ints(t, SLICE_START, &start, &n_start));
    KILN_TRY(kn_typing_ints(t, SLICE_LIMIT, &limit, &n_limit));
    if (!kn_is_none(&t->params[SLICE_STRIDES])) KILN_TRY(kn_typing_ints(t, SLICE_STRIDES, &stride, &n_stride));
    if (n_start != x.rank || n_limit != x.rank || n_stride != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "slice: %u starts, %u limits and %u strides given for %s", n_start, n_limit, n_stride,
                       kn_type_show(x).s);
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank, &dims));
    for (uint32_t d = 0; d < x.rank; d++) {
        int64_t s = stride ? stride[d] : 1;
        if (start[d] < 0 || limit[d] < start[d] || limit[d] > x.dims[d] || s < 1)
            return kn_fail(t->ctx, KILN_SHAPE,
                           "slice: %lld to %lld by %lld along dimension %u of %s; accepted: 0 <= start <= limit <= %lld, stride >= 1",
                           (long long)start[d], (long long)limit[d], (long long)s, d, kn_type_show(x).s, (long long)x.dims[d]);
        int64_t len = limit[d] - start[d];
        dims[d] = len / s + (len % s != 0);
    }
    return KILN_OK;
}
static int64_t slice_at(const kn_eqn *e, uint32_t d, int64_t *stride)
{
    const int64_t *s = kn_ints(&e->params[SLICE_STRIDES]);
    *stride = s ? s[d] : 1;
    return kn_ints(&e->params[SLICE_START])[d];
}
static kiln_status eval_slice(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type, y = out[0]->type;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0, stride;
        for (uint32_t d = 0; d < x.rank; d++) {
            int64_t start = slice_at(e, d, &stride);
            at = at * x.dims[d] + start + ix[d] * stride;
        }
        kn_move(out[0], k, in[0], at);
        kn_next(y, ix);
    }
    return KILN_OK;
}
static kn_lv element_slice(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    uint32_t rank = kn_out_type(m->j, e, result).rank;
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        int64_t stride, start = slice_at(e, d, &stride);
        from[d] = ix[d];
        if (stride != 1) from[d] = kn_e_muli(m, from[d], stride);
        if (start) from[d] = kn_e_addi(m, from[d], start);
    }
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_slice(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0), y = kn_out_type(j, e, 0);
    int64_t low[KN_MAX_RANK], high[KN_MAX_RANK], inside[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t stride;
        low[d] = slice_at(e, d, &stride);
        inside[d] = stride - 1;
        high[d] = t.dims[d] - low[d] - (y.dims[d] ? (y.dims[d] - 1) * stride + 1 : 0);
    }
    ct_in[0] = kn_derive_pad(&l, ct[0], low, high, inside);
    return l.status;
}

static kiln_status batch_slice(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *p = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    int64_t v[3][KN_MAX_RANK + 1] = {{m.size}, {0}, {1}};
    for (int k = 0; k < 3; k++) {
        const int64_t *own = kn_ints(&p[k]);
        uint32_t n = p[k].n;
        if (kn_is_none(&p[k])) continue;
        if (n) memcpy(v[k] + 1, own, n * sizeof *own);
        p[k] = KN_INTS(n + 1, v[k]);
    }
    return kn_lanes_emit(&m, p, x, y);
}
KILN_PRIM(slice) = {
    .name = "slice",
    .nin = 1,
    .nout = 1,
    .flags = KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(slice_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_slice,
    .eval = eval_slice,
    .jvp = kn_jvp_linear,
    .transpose = transpose_slice,
    .element = element_slice,
    .batch = batch_slice,
    .sample = kn_sample_slice,
    .doc = "Elements start, start + stride, ... below limit along each dimension.",
};

/* ---- dynamic_slice, dynamic_update_slice ---- */

static const kn_param_spec dynamic_slice_params[] = {{"slice_sizes", KN_P_INTS, 0}};

static kiln_status starts(const kn_typing *t, uint32_t first, kiln_type x)
{
    if (t->nin - first != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "%s: %u start indices given for %s", t->prim->name, t->nin - first, kn_type_show(x).s);
    for (uint32_t i = first; i < t->nin; i++) KILN_TRY(kn_typing_scalar_int(t, i));
    return KILN_OK;
}
static kiln_status fits(const kn_typing *t, kiln_type x, uint32_t n, const int64_t *sizes)
{
    bool good = n == x.rank;
    for (uint32_t d = 0; good && d < n; d++) good = sizes[d] >= 0 && sizes[d] <= x.dims[d];
    if (good) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "%s: a slice of %s does not fit into %s", t->prim->name,
                   kn_type_show((kiln_type){x.dtype, n, sizes}).s, kn_type_show(x).s);
}

static kiln_status type_dynamic_slice(kn_typing *t)
{
    const int64_t *sizes;
    uint32_t n;
    KILN_TRY(kn_typing_count(t, 1));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_ints(t, 0, &sizes, &n));
    KILN_TRY(starts(t, 1, t->in[0]));
    KILN_TRY(fits(t, t->in[0], n, sizes));
    return kn_typing_like(t, 0, t->in[0].dtype, (kiln_type){t->in[0].dtype, n, sizes});
}
/* Start indices are clamped so that the window lies inside. */
static void window(kiln_array *const *start, kiln_type x, kiln_type w, int64_t *at)
{
    for (uint32_t d = 0; d < x.rank; d++) {
        int64_t s = kn_index_value(start[d]), most = x.dims[d] - w.dims[d];
        at[d] = s < 0 ? 0 : s > most ? most : s;
    }
}
static int64_t window_offset(kiln_type x, const int64_t *at, const int64_t *ix)
{
    int64_t k = 0;
    for (uint32_t d = 0; d < x.rank; d++) k = k * x.dims[d] + at[d] + ix[d];
    return k;
}
static kiln_status eval_dynamic_slice(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j, (void)e;
    kiln_type x = in[0]->type, y = out[0]->type;
    int64_t at[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    window(in + 1, x, y, at);
    for (int64_t k = 0; k < n; k++) {
        kn_move(out[0], k, in[0], window_offset(x, at, ix));
        kn_next(y, ix);
    }
    return KILN_OK;
}

kn_lv kn_element_start(kn_element *m, const kn_eqn *e, uint32_t operand, int64_t most)
{
    kiln_dtype d = kn_in_type(m->j, e, operand).dtype;
    if (most == 0) return m->integer(m, 0);
    kn_lv s = m->operand(m, e, operand, NULL);
    if (d == KILN_U64) s = m->op(m, KN_S_min, d, d, s, m->constant(m, d, (kn_scalar){.u = INT64_MAX}), 0);
    if (d != KILN_I64) s = m->op(m, KN_S_convert, d, KILN_I64, s, 0, 0);
    if (kiln_dtype_kind(d) == 'i') s = m->op(m, KN_S_max, KILN_I64, KILN_I64, s, m->integer(m, 0), 0);
    return m->op(m, KN_S_min, KILN_I64, KILN_I64, s, m->integer(m, most), 0);
}
static kn_lv element_dynamic_slice(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_type x = kn_in_type(m->j, e, 0), y = kn_out_type(m->j, e, result);
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) from[d] = kn_e_add(m, kn_element_start(m, e, 1 + d, x.dims[d] - y.dims[d]), ix[d]);
    return m->operand(m, e, 0, from);
}
/* The indices of an equation in the place of its operands from `first` on, behind the n operands given. */
static kiln_status with_starts(kn_build *b, const kn_eqn *e, uint32_t first, const kn_atom *x, kn_atom *in, uint32_t n, const kn_prim *p,
                               const kn_param *params, kn_atom *out)
{
    for (uint32_t i = first; i < e->nin; i++) in[n++] = x[i];
    return kn_build_eqn(b, p, params, in, n, out, 1);
}
/* Adds to the window of what has been found so far: in a loop that is one array, updated in place. */
static kiln_status transpose_dynamic_slice(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom in[KN_MAX_RANK + 2], part = ct[0], sum = ct_in[0];
    if (sum == KN_SYMBOLIC_ZERO) {
        KILN_TRY(kn_zeros(b, kn_in_type(j, e, 0), &sum));
    } else {
        in[0] = sum;
        KILN_TRY(with_starts(b, e, 1, x, in, 1, e->prim, e->params, &part));
        part = kn_derive_add(&l, part, ct[0]);
        KILN_TRY(l.status);
    }
    in[0] = sum, in[1] = part;
    return with_starts(b, e, 1, x, in, 2, &kn_prim_dynamic_update_slice, NULL, &ct_in[0]);
}

/* A start index for the lanes, 0, of the type of the equation's own. */
static kn_atom first_lane(kn_lanes *m, uint32_t first)
{
    kn_atom zero = 0;
    kiln_dtype d = m->e->nin > first ? kn_in_type(m->j, m->e, first).dtype : KILN_I32;
    if (m->l.status == KILN_OK) m->l.status = kn_build_literal(m->l.b, d, (kn_scalar){.u = 0}, &zero);
    return zero;
}

/* The start indices as index vectors, one a lane. Indices of different types become i64, from which nothing is lost by clamping. */
static kn_atom index_vectors(kn_lanes *m, uint32_t first)
{
    const kn_eqn *e = m->e;
    uint32_t n = e->nin - first;
    kn_atom v[KN_MAX_RANK] = {0};
    bool same = true;
    for (uint32_t i = 0; i < n; i++) same = same && kn_in_type(m->j, e, first + i).dtype == kn_in_type(m->j, e, first).dtype;
    for (uint32_t i = 0; i < n && m->l.status == KILN_OK; i++) {
        v[i] = kn_lanes_full(m, first + i);
        if (same) continue;
        if (kn_in_type(m->j, e, first + i).dtype == KILN_U64) {
            kn_atom most = 0;
            m->l.status = kn_build_literal(m->l.b, KILN_U64, (kn_scalar){.u = INT64_MAX}, &most);
            v[i] = kn_low2(&m->l, &kn_prim_min, v[i], most);
        }
        v[i] = kn_low_convert(&m->l, v[i], KILN_I64);
    }
    return kn_low_op(&m->l, &kn_prim_stack, &KN_INT(1), v, n);
}

/* Starts that differ between lanes make a gather. */
static kiln_status batch_dynamic_slice(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t rank = e->nin - 1;
    bool whole = kn_has_lanes(&m, 0);
    const int64_t *own = kn_ints(&e->params[0]);
    int64_t sizes[KN_MAX_RANK + 1] = {m.size}, at[KN_MAX_RANK + 1];
    for (uint32_t d = 0; d < rank; d++) sizes[d + 1] = own[d], at[d] = d;
    if (!kn_any_lanes(&m, 1, e->nin)) {
        kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1);
        KILN_TRY_MEM(b->ctx, in);
        in[0] = x[0], in[1] = first_lane(&m, 1);
        for (uint32_t i = 1; i < e->nin; i++) in[i + 1] = x[i];
        KILN_TRY(m.l.status);
        return kn_build_eqn(b, e->prim, &KN_INTS(rank + 1, sizes), in, e->nin + 1, y, 1);
    }
    static const int64_t zero = 0;
    kn_ints_list lanes = {&zero, whole ? 1 : 0}, window = {kn_lanes_raised(&m, at, rank), rank};
    kn_index_dims dims = {.window = window, .map = whole ? window : (kn_ints_list){at, rank}, .operand_batch = lanes, .indices_batch = lanes};
    kn_param lists[KN_INDEX_LISTS];
    sizes[0] = 1;
    kn_param params[] = {kn_index_param(&dims, false, lists), KN_NONE, KN_BOOL(false), KN_TEXT("GatherScatterMode.CLIP"),
                         whole ? KN_INTS(rank + 1, sizes) : KN_INTS(rank, sizes + 1), KN_BOOL(false)};
    y[0] = kn_low_op(&m.l, &kn_prim_gather, params, (kn_atom[]){x[0], index_vectors(&m, 1)}, 2);
    return m.l.status;
}
KILN_PRIM(dynamic_slice) = {
    .name = "dynamic_slice",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_MOVES | KN_ACCUMULATES | KN_BY_PARTS,
    KN_PARAMS(dynamic_slice_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_dynamic_slice,
    .eval = eval_dynamic_slice,
    .jvp = kn_jvp_linear,
    .transpose = transpose_dynamic_slice,
    .element = element_dynamic_slice,
    .batch = batch_dynamic_slice,
    .sample = kn_sample_dynamic_slice,
    .doc = "A window of size slice_sizes of the operand at start indices, one integer scalar a dimension, clamped so that the window "
           "lies inside.",
};

static kiln_status type_dynamic_update_slice(kn_typing *t)
{
    KILN_TRY(kn_typing_count(t, 2));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    KILN_TRY(starts(t, 2, t->in[0]));
    KILN_TRY(fits(t, t->in[0], t->in[1].rank, t->in[1].dims));
    return kn_typing_like(t, 0, t->in[0].dtype, t->in[0]);
}
static kiln_status eval_dynamic_update_slice(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j, (void)e;
    kiln_type x = in[0]->type, w = in[1]->type;
    int64_t at[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, n = kiln_type_size(w);
    window(in + 2, x, w, at);
    if (in[0]->bytes) memcpy(out[0]->data, in[0]->data, in[0]->bytes);
    for (int64_t k = 0; k < n; k++) {
        kn_move(out[0], window_offset(x, at, ix), in[1], k);
        kn_next(w, ix);
    }
    return KILN_OK;
}
static kiln_status transpose_dynamic_update_slice(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kiln_type w = kn_in_type(j, e, 1);
    kn_atom in[KN_MAX_RANK + 2];
    if (x[1] == KN_LINEAR) {
        in[0] = ct[0];
        KILN_TRY(with_starts(b, e, 2, x, in, 1, &kn_prim_dynamic_slice, &KN_INTS(w.rank, w.dims), &ct_in[1]));
    }
    if (x[0] != KN_LINEAR) return KILN_OK;
    in[0] = ct[0];
    KILN_TRY(kn_zeros(b, w, &in[1]));
    return with_starts(b, e, 2, x, in, 2, e->prim, NULL, &ct_in[0]);
}

/* Starts that all lanes share leave it as it is, so that it can be done in place; others make a scatter. */
static kiln_status batch_dynamic_update_slice(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t rank = e->nin - 2;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1);
    KILN_TRY_MEM(b->ctx, in);
    in[0] = kn_lanes_full(&m, 0), in[1] = kn_lanes_full(&m, 1);
    if (!kn_any_lanes(&m, 2, e->nin)) {
        in[2] = first_lane(&m, 2);
        for (uint32_t i = 2; i < e->nin; i++) in[i + 1] = x[i];
        KILN_TRY(m.l.status);
        return kn_build_eqn(b, e->prim, NULL, in, e->nin + 1, y, 1);
    }
    static const int64_t zero = 0;
    int64_t at[KN_MAX_RANK + 1];
    for (uint32_t d = 0; d < rank; d++) at[d] = d + 1;
    kn_ints_list lanes = {&zero, 1}, window = {at, rank};
    kn_index_dims dims = {.window = window, .map = window, .operand_batch = lanes, .indices_batch = lanes};
    kn_param lists[KN_INDEX_LISTS];
    kn_param params[] = {kn_index_param(&dims, true, lists), KN_BOOL(true), KN_TEXT("GatherScatterMode.CLIP"), KN_NONE, KN_BOOL(true), KN_NONE, KN_NONE};
    y[0] = kn_low_op(&m.l, &kn_prim_scatter, params, (kn_atom[]){in[0], index_vectors(&m, 2), in[1]}, 3);
    return m.l.status;
}
KILN_PRIM(dynamic_update_slice) = {
    .name = "dynamic_update_slice",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_MOVES | KN_BY_PARTS,
    .loop = KN_LOOP_UPDATE,
    .type = type_dynamic_update_slice,
    .eval = eval_dynamic_update_slice,
    .jvp = kn_jvp_linear,
    .transpose = transpose_dynamic_update_slice,
    .batch = batch_dynamic_update_slice,
    .sample = kn_sample_dynamic_update_slice,
    .doc = "The first operand with the second written over it at start indices, clamped as in dynamic_slice.",
};

/* ---- split ---- */

enum { SPLIT_AXIS, SPLIT_SIZES };
static const kn_param_spec split_params[] = {{"axis", KN_P_INT, 0}, {"sizes", KN_P_INTS, 0}};

static kiln_status type_split(kn_typing *t)
{
    const int64_t *sizes;
    int64_t axis, *dims, sum = 0;
    uint32_t n;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_axis(t, SPLIT_AXIS, x.rank, &axis));
    KILN_TRY(kn_typing_ints(t, SPLIT_SIZES, &sizes, &n));
    KILN_TRY(kn_typing_out(t, n));
    bool good = n > 0;
    for (uint32_t i = 0; i < n; i++) good = good && sizes[i] >= 0 && !__builtin_add_overflow(sum, sizes[i], &sum);
    if (!good || sum != x.dims[axis])
        return kn_fail(t->ctx, KILN_SHAPE, "split: the sizes must add up to dimension %lld of %s", (long long)axis, kn_type_show(x).s);
    for (uint32_t i = 0; i < n; i++) {
        KILN_TRY(kn_typing_shape(t, i, x.dtype, x.rank, &dims));
        for (uint32_t d = 0; d < x.rank; d++) dims[d] = (int64_t)d == axis ? sizes[i] : x.dims[d];
    }
    return KILN_OK;
}
static int64_t split_start(const kn_eqn *e, uint32_t result)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < result; i++) at += kn_ints(&e->params[SPLIT_SIZES])[i];
    return at;
}
static kiln_status eval_split(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type;
    for (uint32_t i = 0; i < e->nout; i++) {
        int64_t at[KN_MAX_RANK] = {0}, ix[KN_MAX_RANK] = {0}, n = kiln_type_size(out[i]->type);
        at[e->params[SPLIT_AXIS].i] = split_start(e, i);
        for (int64_t k = 0; k < n; k++) {
            kn_move(out[i], k, in[0], window_offset(x, at, ix));
            kn_next(out[i]->type, ix);
        }
    }
    return KILN_OK;
}
static kn_lv element_split(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    uint32_t rank = kn_out_type(m->j, e, result).rank;
    int64_t start = split_start(e, result);
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++)
        from[d] = start && (int64_t)d == e->params[SPLIT_AXIS].i ? kn_e_addi(m, ix[d], start) : ix[d];
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_split(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nout);
    KILN_TRY_MEM(b->ctx, in);
    for (uint32_t i = 0; i < e->nout; i++) in[i] = kn_derive_value(&l, ct[i], kn_out_type(j, e, i));
    KILN_TRY(l.status);
    return kn_build_eqn(b, &kn_prim_concatenate, &e->params[SPLIT_AXIS], in, e->nout, ct_in, 1);
}
KILN_PRIM(split) = {
    .name = "split",
    .nin = 1,
    .nout = KN_VARIADIC,
    .flags = KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(split_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_split,
    .eval = eval_split,
    .jvp = kn_jvp_linear,
    .transpose = transpose_split,
    .element = element_split,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_split,
    .doc = "Cuts the operand along `axis` into pieces of the given sizes.",
};
