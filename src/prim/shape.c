/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements in another shape: broadcast_in_dim, reshape, squeeze, transpose, rev; and iota, which has shape only.
 * Each rule pair is an index map: which element of the operand stands at an index of the result. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

/* Evaluates a data movement: `from` gives the offset of the operand's element for an index of the result. */
typedef int64_t (*from_fn)(const kn_eqn *e, kiln_type x, kiln_type y, const int64_t *ix);
static kiln_status move_all(const kn_eqn *e, const kiln_array *x, kiln_array *y, from_fn from)
{
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y->type);
    for (int64_t k = 0; k < n; k++) {
        kn_move(y, k, x, from(e, x->type, y->type, ix));
        kn_next(y->type, ix);
    }
    return KILN_OK;
}
static int64_t offset(kiln_type x, const int64_t *ix)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < x.rank; d++) at = at * x.dims[d] + ix[d];
    return at;
}

#define MOVING(id, spec, type_rule, eval_rule, element_rule, text)                                                    \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_MOVES | KN_BY_PARTS, KN_PARAMS(spec), .loop = KN_LOOP_ELEMENT,   \
        .type = (type_rule), .eval = (eval_rule), .element = (element_rule),                                           \
        .jvp = kn_jvp_linear, .transpose = transpose_##id,                                                             \
        .batch = batch_##id,                                                                                           \
        .sample = kn_sample_##id, .doc = (text)                                                                        \
    }
#define batch_squeeze kn_batch_dimensions
#define batch_rev kn_batch_dimensions

/* ---- broadcast_in_dim ---- */

enum { BROADCAST_DIMENSIONS, BROADCAST_SHAPE };
static const kn_param_spec broadcast_params[] = {
    {"broadcast_dimensions", KN_P_INTS, KN_PARAM_HIDE_EMPTY},
    {"shape", KN_P_INTS, KN_PARAM_FROM_RESULT},
    {"sharding", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

static kiln_status type_broadcast(kn_typing *t)
{
    const int64_t *shape, *at;
    int64_t *dims;
    uint32_t rank, n;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_ints(t, BROADCAST_SHAPE, &shape, &rank));
    KILN_TRY(kn_typing_axes(t, BROADCAST_DIMENSIONS, rank, true, &at, &n));
    if (n != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "broadcast_in_dim: broadcast_dimensions names %u dimensions, the operand is %s", n,
                       kn_type_show(x).s);
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, rank, &dims));
    for (uint32_t d = 0; d < rank; d++) dims[d] = shape[d];
    if (kiln_type_size(t->out[0]) < 0)
        return kn_fail(t->ctx, KILN_SHAPE, "broadcast_in_dim: %s is not a possible result", kn_type_show(t->out[0]).s);
    for (uint32_t d = 0; d < x.rank; d++)
        if (x.dims[d] != 1 && x.dims[d] != shape[at[d]])
            return kn_fail(t->ctx, KILN_SHAPE,
                           "broadcast_in_dim: dimension %u of %s cannot become dimension %lld of %s; sizes must be equal, or 1", d,
                           kn_type_show(x).s, (long long)at[d], kn_type_show(t->out[0]).s);
    return KILN_OK;
}
static int64_t from_broadcast(const kn_eqn *e, kiln_type x, kiln_type y, const int64_t *ix)
{
    (void)y;
    const int64_t *at = kn_ints(&e->params[BROADCAST_DIMENSIONS]);
    int64_t k = 0;
    for (uint32_t d = 0; d < x.rank; d++) k = k * x.dims[d] + (x.dims[d] == 1 ? 0 : ix[at[d]]);
    return k;
}
static kiln_status eval_broadcast(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    return move_all(e, in[0], out[0], from_broadcast);
}
static kn_lv element_broadcast(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    kiln_type x = kn_in_type(m->j, e, 0);
    const int64_t *at = kn_ints(&e->params[BROADCAST_DIMENSIONS]);
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) from[d] = x.dims[d] == 1 ? m->integer(m, 0) : ix[at[d]];
    return m->operand(m, e, 0, from);
}
/* Sums over what the operand was repeated along. */
static kiln_status transpose_broadcast_in_dim(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_type from = kn_in_type(j, e, 0), to = kn_out_type(j, e, 0);
    const int64_t *at = kn_ints(&e->params[BROADCAST_DIMENSIONS]);
    int64_t axes[KN_MAX_RANK];
    uint32_t n = 0, k = 0;
    for (uint32_t d = 0; d < to.rank; d++) {
        bool kept = k < from.rank && at[k] == (int64_t)d;
        if (!kept || from.dims[k] != to.dims[d]) axes[n++] = d;
        k += kept;
    }
    ct_in[0] = kn_derive_sum(&l, ct[0], n, axes);
    if (l.status == KILN_OK && !kiln_type_equal(kn_build_type(b, ct_in[0]), from)) ct_in[0] = kn_low_reshape(&l, ct_in[0], from.rank, from.dims);
    return l.status;
}

static kiln_status batch_broadcast_in_dim(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *p = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    uint32_t n = p[BROADCAST_DIMENSIONS].n, rank = p[BROADCAST_SHAPE].n;
    int64_t dims[KN_MAX_RANK + 1] = {m.size};
    if (rank) memcpy(dims + 1, kn_ints(&p[BROADCAST_SHAPE]), rank * sizeof *dims);
    p[BROADCAST_DIMENSIONS] = KN_INTS(n + 1, kn_lanes_behind(&m, 0, kn_ints(&p[BROADCAST_DIMENSIONS]), n));
    p[BROADCAST_SHAPE] = KN_INTS(rank + 1, dims);
    return kn_lanes_emit(&m, p, x, y);
}
KILN_PRIM(broadcast_in_dim) = MOVING(broadcast_in_dim, broadcast_params, type_broadcast, eval_broadcast, element_broadcast,
                                     "Repeats the operand: its dimension i becomes dimension broadcast_dimensions[i] of the "
                                     "result, where sizes are equal or the operand's is 1.");

/* ---- reshape, squeeze ---- */

enum { RESHAPE_DIMENSIONS, RESHAPE_SIZES };
static const kn_param_spec reshape_params[] = {
    {"dimensions", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"new_sizes", KN_P_INTS, 0},
    {"sharding", KN_P_NONE, KN_PARAM_OPTIONAL},
};

static kiln_status type_reshape(kn_typing *t)
{
    const int64_t *sizes, *order;
    int64_t *dims;
    uint32_t rank, n;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_ints(t, RESHAPE_SIZES, &sizes, &rank));
    if (!kn_is_none(&t->params[RESHAPE_DIMENSIONS])) {
        KILN_TRY(kn_typing_axes(t, RESHAPE_DIMENSIONS, x.rank, false, &order, &n));
        if (n != x.rank)
            return kn_fail(t->ctx, KILN_SHAPE, "reshape: dimensions must order all %u dimensions of %s", x.rank, kn_type_show(x).s);
    }
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, rank, &dims));
    for (uint32_t d = 0; d < rank; d++) dims[d] = sizes[d];
    if (kiln_type_size(t->out[0]) != kiln_type_size(x))
        return kn_fail(t->ctx, KILN_SHAPE, "reshape: %s and %s hold different numbers of elements", kn_type_show(x).s,
                       kn_type_show(t->out[0]).s);
    return KILN_OK;
}
static kiln_status eval_reshape(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    const int64_t *order = kn_ints(&e->params[RESHAPE_DIMENSIONS]);
    kiln_type x = in[0]->type;
    if (!order) {
        if (in[0]->bytes) memcpy(out[0]->data, in[0]->data, in[0]->bytes);
        return KILN_OK;
    }
    int64_t dims[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, at[KN_MAX_RANK], n = kiln_type_size(x);
    for (uint32_t d = 0; d < x.rank; d++) dims[d] = x.dims[order[d]];
    kiln_type turned = {x.dtype, x.rank, dims};
    for (int64_t k = 0; k < n; k++) {
        for (uint32_t d = 0; d < x.rank; d++) at[order[d]] = ix[d];
        kn_move(out[0], k, in[0], offset(x, at));
        kn_next(turned, ix);
    }
    return KILN_OK;
}

/* The index into shape x of the element that stands at index ix of shape y, both with n > 0 elements. Runs of dimensions with
 * equal products are matched, so that only true splits and joins cost a division. */
static void regroup(kn_element *m, kiln_type x, kiln_type y, const kn_lv *ix, kn_lv *at)
{
    uint32_t i = x.rank, o = y.rank;
    while (i > 0 || o > 0) {
        uint32_t i1 = i, o1 = o;
        int64_t pi = i > 0 ? x.dims[--i] : 1, po = o > 0 ? y.dims[--o] : 1;
        while (pi != po) {
            if (pi < po) pi *= x.dims[--i];
            else po *= y.dims[--o];
        }
        kn_lv line = m->integer(m, 0);
        bool first = true;
        for (uint32_t d = o; d < o1; d++) {
            if (y.dims[d] == 1) continue;
            line = first ? ix[d] : kn_e_add(m, kn_e_muli(m, line, y.dims[d]), ix[d]);
            first = false;
        }
        int64_t above = pi; /* product of x's dimensions from d on, within the run */
        for (uint32_t d = i; d < i1; d++) {
            int64_t below = above / x.dims[d];
            kn_lv v = line;
            if (x.dims[d] == 1) v = m->integer(m, 0);
            else {
                if (below > 1) v = m->op(m, KN_S_div, KILN_I64, KILN_I64, v, m->integer(m, below), 0);
                if (above < pi) v = m->op(m, KN_S_rem, KILN_I64, KILN_I64, v, m->integer(m, x.dims[d]), 0);
            }
            at[d] = v;
            above = below;
        }
    }
}

static kn_lv element_reshape(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    const int64_t *order = kn_ints(&e->params[RESHAPE_DIMENSIONS]);
    kiln_type x = kn_in_type(m->j, e, 0), y = kn_out_type(m->j, e, result);
    kn_lv at[KN_MAX_RANK], from[KN_MAX_RANK];
    int64_t dims[KN_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) dims[d] = x.dims[order ? order[d] : d], at[d] = m->integer(m, 0);
    if (kiln_type_size(x) > 0) regroup(m, (kiln_type){x.dtype, x.rank, dims}, y, ix, at);
    for (uint32_t d = 0; d < x.rank; d++) from[order ? order[d] : d] = at[d];
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_reshape(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    const int64_t *order = kn_ints(&e->params[RESHAPE_DIMENSIONS]);
    int64_t dims[KN_MAX_RANK], back[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = t.dims[order ? order[d] : d], back[order ? order[d] : d] = d;
    ct_in[0] = kn_derive_turn(&l, kn_low_reshape(&l, ct[0], t.rank, dims), back);
    return l.status;
}

static kiln_status batch_reshape(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *p = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    uint32_t rank = p[RESHAPE_SIZES].n, n = p[RESHAPE_DIMENSIONS].n;
    int64_t dims[KN_MAX_RANK + 1] = {m.size};
    if (rank) memcpy(dims + 1, kn_ints(&p[RESHAPE_SIZES]), rank * sizeof *dims);
    if (!kn_is_none(&p[RESHAPE_DIMENSIONS]))
        p[RESHAPE_DIMENSIONS] = KN_INTS(n + 1, kn_lanes_behind(&m, 0, kn_ints(&p[RESHAPE_DIMENSIONS]), n));
    p[RESHAPE_SIZES] = KN_INTS(rank + 1, dims);
    return kn_lanes_emit(&m, p, x, y);
}
KILN_PRIM(reshape) = MOVING(reshape, reshape_params, type_reshape, eval_reshape, element_reshape,
                            "The same elements in row-major order in another shape; `dimensions` transposes first.");

static const kn_param_spec dimensions_params[] = {{"dimensions", KN_P_INTS, 0}};

static bool listed(const kn_param *p, uint32_t d)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (kn_ints(p)[i] == (int64_t)d) return true;
    return false;
}

static kiln_status type_squeeze(kn_typing *t)
{
    const int64_t *gone;
    int64_t *dims;
    uint32_t n, k = 0;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_axes(t, 0, x.rank, false, &gone, &n));
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank - n, &dims));
    for (uint32_t d = 0; d < x.rank; d++) {
        if (!listed(&t->params[0], d)) dims[k++] = x.dims[d];
        else if (x.dims[d] != 1)
            return kn_fail(t->ctx, KILN_SHAPE, "squeeze: dimension %u of %s has size %lld; only 1 can be removed", d,
                           kn_type_show(x).s, (long long)x.dims[d]);
    }
    return KILN_OK;
}
static kiln_status eval_squeeze(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j, (void)e;
    if (in[0]->bytes) memcpy(out[0]->data, in[0]->data, in[0]->bytes);
    return KILN_OK;
}
static kn_lv element_squeeze(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    kiln_type x = kn_in_type(m->j, e, 0);
    kn_lv from[KN_MAX_RANK];
    uint32_t k = 0;
    for (uint32_t d = 0; d < x.rank; d++) from[d] = listed(&e->params[0], d) ? m->integer(m, 0) : ix[k++];
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_squeeze(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    ct_in[0] = kn_low_reshape(&l, ct[0], t.rank, t.dims);
    return l.status;
}
KILN_PRIM(squeeze) = MOVING(squeeze, dimensions_params, type_squeeze, eval_squeeze, element_squeeze, "Removes dimensions of size 1.");

/* ---- transpose, rev ---- */

static const kn_param_spec transpose_params[] = {{"permutation", KN_P_INTS, 0}};

static kiln_status type_transpose(kn_typing *t)
{
    const int64_t *p;
    int64_t *dims;
    uint32_t n;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_axes(t, 0, x.rank, false, &p, &n));
    if (n != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "transpose: permutation names %u dimensions, %s has %u", n, kn_type_show(x).s, x.rank);
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank, &dims));
    for (uint32_t d = 0; d < n; d++) dims[d] = x.dims[p[d]];
    return KILN_OK;
}
static int64_t from_transpose(const kn_eqn *e, kiln_type x, kiln_type y, const int64_t *ix)
{
    int64_t at[KN_MAX_RANK];
    for (uint32_t d = 0; d < y.rank; d++) at[kn_ints(&e->params[0])[d]] = ix[d];
    return offset(x, at);
}
static kiln_status eval_transpose(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    return move_all(e, in[0], out[0], from_transpose);
}
static kn_lv element_transpose(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    uint32_t rank = kn_out_type(m->j, e, result).rank;
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) from[kn_ints(&e->params[0])[d]] = ix[d];
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_transpose(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x, (void)j;
    kn_low l = {b, KILN_OK};
    int64_t back[KN_MAX_RANK];
    for (uint32_t d = 0; d < e->params[0].n; d++) back[kn_ints(&e->params[0])[d]] = d;
    ct_in[0] = kn_derive_turn(&l, ct[0], back);
    return l.status;
}

static kiln_status batch_transpose(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t n = e->params[0].n;
    kn_param p = KN_INTS(n + 1, kn_lanes_behind(&m, 0, kn_ints(&e->params[0]), n));
    return kn_lanes_emit(&m, &p, x, y);
}
KILN_PRIM(transpose) = MOVING(transpose, transpose_params, type_transpose, eval_transpose, element_transpose,
                              "Permutes dimensions: dimension i of the result is dimension permutation[i] of the operand.");

static kiln_status type_rev(kn_typing *t)
{
    const int64_t *v;
    uint32_t n;
    KILN_TRY(kn_typing_axes(t, 0, t->in[0].rank, false, &v, &n));
    return kn_type_same_any(t);
}
static int64_t from_rev(const kn_eqn *e, kiln_type x, kiln_type y, const int64_t *ix)
{
    (void)y;
    int64_t k = 0;
    for (uint32_t d = 0; d < x.rank; d++) k = k * x.dims[d] + (listed(&e->params[0], d) ? x.dims[d] - 1 - ix[d] : ix[d]);
    return k;
}
static kiln_status eval_rev(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    return move_all(e, in[0], out[0], from_rev);
}
static kn_lv element_rev(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    kiln_type x = kn_in_type(m->j, e, 0);
    kn_lv from[KN_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++)
        from[d] = listed(&e->params[0], d) ? kn_e_sub(m, m->integer(m, x.dims[d] - 1), ix[d]) : ix[d];
    return m->operand(m, e, 0, from);
}
static kiln_status transpose_rev(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x, (void)j;
    return kn_build_eqn(b, e->prim, e->params, ct, 1, ct_in, 1);
}
KILN_PRIM(rev) = MOVING(rev, dimensions_params, type_rev, eval_rev, element_rev, "Reverses the order along the listed dimensions.");

/* ---- iota ---- */

enum { IOTA_DIMENSION, IOTA_DTYPE, IOTA_SHAPE };
static const kn_param_spec iota_params[] = {
    {"dimension", KN_P_INT, 0},
    {"dtype", KN_P_DTYPE, 0},
    {"shape", KN_P_INTS, 0},
    {"sharding", KN_P_NONE, KN_PARAM_OPTIONAL},
};

static kiln_status type_iota(kn_typing *t)
{
    const int64_t *shape;
    int64_t *dims, axis;
    kiln_dtype d;
    uint32_t rank;
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_dtype(t, IOTA_DTYPE, &d));
    KILN_TRY(kn_typing_ints(t, IOTA_SHAPE, &shape, &rank));
    KILN_TRY(kn_typing_axis(t, IOTA_DIMENSION, rank, &axis));
    if (!strchr("iuf", kiln_dtype_kind(d)))
        return kn_fail(t->ctx, KILN_DTYPE, "iota: dtype is %s; accepted: integers and floats", kiln_dtype_name(d));
    KILN_TRY(kn_typing_shape(t, 0, d, rank, &dims));
    for (uint32_t k = 0; k < rank; k++) dims[k] = shape[k];
    if (kiln_type_size(t->out[0]) < 0)
        return kn_fail(t->ctx, KILN_SHAPE, "iota: %s is not a possible result", kn_type_show(t->out[0]).s);
    return KILN_OK;
}
static kiln_status eval_iota(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j, (void)in;
    kiln_type y = out[0]->type;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++) {
        kn_scalar at = {.i = ix[e->params[IOTA_DIMENSION].i]};
        kn_scalar_store(y.dtype, out[0]->data, k, kn_sop_eval(KN_S_convert, KILN_I64, y.dtype, at, at, at));
        kn_next(y, ix);
    }
    return KILN_OK;
}
static kn_lv element_iota(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kn_lv at = ix[e->params[IOTA_DIMENSION].i];
    kiln_dtype d = kn_out_type(m->j, e, result).dtype;
    return d == KILN_I64 ? at : m->op(m, KN_S_convert, KILN_I64, d, at, 0, 0);
}
KILN_PRIM(iota) = {
    .name = "iota",
    .nin = 0,
    .nout = 1,
    KN_PARAMS(iota_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_iota,
    .eval = eval_iota,
    .element = element_iota,
    .sample = kn_sample_iota,
    .doc = "Each element's index along `dimension`, in the element type asked for.",
};
