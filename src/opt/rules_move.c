/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operations that move elements: moves of moves composed, moves that change nothing removed, moves of a broadcast scalar
 * made broadcasts. The operands of reductions and products are left as they are: only equal values of equal type take their
 * place, so that the order of the sum stays. */
#include "opt/rules.h"

#include <math.h>

#include <limits.h>

static kiln_type operand(const kn_simp *s, const kn_eqn *e, uint32_t i) { return kn_atype(s, e->in[i]); }

/* ---- nothing moves ---- */

/* The shape decides: with equal shapes these have no freedom left (a window as large as the operand starts at 0). */
static kn_fix same_type(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *order = e->prim == &kn_prim_reshape ? kn_param_of(e, "dimensions") : NULL;
    if (order && order->kind != KN_P_NONE) return KN_NO;
    return kn_give(s, e, e->in[0]);
}

static kn_fix transpose_nothing(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const int64_t *p = kn_ints_of(e, "permutation");
    kiln_type t = operand(s, e, 0);
    int64_t last = -1;
    for (uint32_t d = 0; d < t.rank; d++) {
        if (t.dims[p[d]] == 1) continue; /* where it goes does not matter */
        if (p[d] < last) return KN_NO;
        last = p[d];
    }
    return kn_give(s, e, e->in[0]);
}

static kn_fix rev_nothing(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *p = kn_param_of(e, "dimensions");
    for (uint32_t i = 0; i < p->n; i++)
        if (operand(s, e, 0).dims[p->ints[i]] > 1) return KN_NO;
    return kn_give(s, e, e->in[0]);
}

static kn_fix pad_nothing(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *p = kn_param_of(e, "padding_config");
    for (uint32_t d = 0; p->kind == KN_P_TUPLE && d < p->n; d++) {
        const int64_t *g = p->items[d].ints; /* low, high, interior */
        if (g[0] != 0 || g[1] != 0 || (g[2] != 0 && operand(s, e, 0).dims[d] > 1)) return KN_NO;
    }
    return kn_give(s, e, e->in[0]);
}

static kn_fix update_all(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    if (kn_elements(operand(s, e, 1)) == 0) return kn_give(s, e, e->in[0]);
    return kn_give(s, e, e->in[1]);
}

/* ---- parts ---- */

static kn_fix concatenate_parts(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    int64_t axis = kn_param_of(e, "dimension")->i;
    uint32_t n = 0;
    kn_atom *in = KN_NEWN(&s->pm->prog->arena, kn_atom, e->nin);
    if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t i = 0; i < e->nin; i++)
        if (operand(s, e, i).dims[axis] > 0) in[n++] = e->in[i];
    if (n == 1) return kn_give(s, e, in[0]);
    return n > 0 && n < e->nin ? kn_become(s, e, e->prim, e->params, in, n) : KN_NO;
}

static kn_fix concatenate_uniform(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_atom first, next;
    if (!kn_uniform(s, e->in[0], &first)) return KN_NO;
    for (uint32_t i = 1; i < e->nin; i++)
        if (!kn_uniform(s, e->in[i], &next) || !kn_same_atom(s, first, next)) return KN_NO;
    return kn_give_uniform(s, e, first);
}

static kn_fix pad_uniform(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_atom x;
    return kn_uniform(s, e->in[0], &x) && kn_same_atom(s, x, e->in[1]) ? kn_give_uniform(s, e, x) : KN_NO;
}

static kn_fix move_uniform(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_atom x;
    if (e->nout != 1 || !kn_uniform(s, e->in[0], &x)) return KN_NO;
    if (e->prim == &kn_prim_broadcast_in_dim && x == e->in[0]) return KN_NO; /* is one already */
    return kn_give_uniform(s, e, x);
}

static kn_fix reduce_uniform(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_atom x;
    if (!kn_uniform(s, e->in[0], &x) || kn_elements(operand(s, e, 0)) == 0) return KN_NO;
    return kn_give_uniform(s, e, x);
}

/* A concatenation inside another one along the same axis. */
static kn_fix concatenate_concatenate(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    enum { MOST = 16 };
    int64_t axis = kn_param_of(e, "dimension")->i;
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        const kn_eqn *d = kn_def_by(s, e->in[i], &kn_prim_concatenate);
        n += d && kn_param_of(d, "dimension")->i == axis ? d->nin : 1;
    }
    if (n == e->nin || n > MOST) return KN_NO;
    kn_atom *in = KN_NEWN(&s->pm->prog->arena, kn_atom, n);
    if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t i = 0; i < e->nin; i++) {
        const kn_eqn *d = kn_def_by(s, e->in[i], &kn_prim_concatenate);
        bool open = d && kn_param_of(d, "dimension")->i == axis;
        for (uint32_t q = 0; open && q < d->nin; q++) in[k++] = d->in[q];
        if (!open) in[k++] = e->in[i];
    }
    return kn_become(s, e, e->prim, e->params, in, n);
}

/* ---- sums of arrays that lie beside each other ---- */

/* Where the inside of a pad with zeros lies: along `axis` alone there is room around it. */
typedef struct padded {
    const kn_eqn *e;
    uint32_t axis;
    int64_t low, end;
    kn_scalar zero;
} padded;

static bool is_padded(const kn_simp *s, kn_atom a, padded *p)
{
    *p = (padded){.e = kn_def_by(s, a, &kn_prim_pad)};
    if (!p->e || !kn_known(s, p->e->in[1], &p->zero)) return false;
    kiln_type t = kn_etype(s, p->e);
    char kind = kiln_dtype_kind(t.dtype);
    if (kind == 'f' ? p->zero.f != 0 || signbit(p->zero.f) : !kn_is_int(kind) || p->zero.u != 0) return false;
    const kn_param *g = kn_param_of(p->e, "padding_config");
    uint32_t axes = 0;
    for (uint32_t d = 0; d < t.rank; d++) {
        const int64_t *c = g->items[d].ints; /* low, high, interior */
        if (c[0] < 0 || c[1] < 0 || c[2] != 0) return false;
        if (c[0] == 0 && c[1] == 0) continue;
        axes++;
        p->axis = d, p->low = c[0], p->end = t.dims[d] - c[1];
    }
    return axes == 1;
}

/* The cotangents of the parts of an array are padded to its size and added. Each element gets one of them and zeros: where the parts
 * touch, they stand side by side, +0.0 added, which makes +0.0 of -0.0 as before. */
static kn_fix padded_sum(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    padded p, q;
    if (e->nin != 2 || !is_padded(s, e->in[0], &p) || !is_padded(s, e->in[1], &q) || p.axis != q.axis) return KN_NO;
    if (p.end != q.low && q.end != p.low) return KN_NO;
    bool turned = q.end == p.low;
    kiln_type t = kn_etype(s, e);
    kn_atom in[2] = {turned ? q.e->in[0] : p.e->in[0], turned ? p.e->in[0] : q.e->in[0]}, zero = p.e->in[1];
    if (kn_atype(s, zero).rank) return KN_NO;
    for (uint32_t i = 0; i < 2 && kiln_dtype_kind(t.dtype) == 'f' && s->status == KILN_OK; i++)
        in[i] = kn_emit(s, e, &kn_prim_add, NULL, (kn_atom[]){in[i], zero}, 2);
    if (s->status != KILN_OK) return KN_NO;
    kn_named axis[] = {{"dimension", KN_INT(p.axis)}};
    kn_param *params = kn_params_of(s, &kn_prim_concatenate, axis, 1);
    int64_t low = turned ? q.low : p.low, high = t.dims[p.axis] - (turned ? p.end : q.end);
    if (!params) return KN_NO;
    if (low == 0 && high == 0) return kn_become(s, e, &kn_prim_concatenate, params, in, 2);
    kn_atom both = kn_emit(s, e, &kn_prim_concatenate, params, in, 2);
    kn_param *around = kn_arena_copy(&s->pm->prog->arena, kn_param_of(p.e, "padding_config"), sizeof *around);
    kn_param *items = around ? kn_arena_copy(&s->pm->prog->arena, around->items, around->n * sizeof *items) : NULL;
    int64_t *room = kn_new_ints(s, 3);
    if (s->status != KILN_OK || !items || !room) return s->status == KILN_OK ? kn_failed(s, kn_nomem(s->pm->ctx)) : KN_NO;
    room[0] = low, room[1] = high, room[2] = 0;
    items[p.axis] = KN_INTS(3, room);
    around->items = items;
    kn_named config[] = {{"padding_config", *around}};
    params = kn_params_of(s, &kn_prim_pad, config, 1);
    return params ? kn_become(s, e, &kn_prim_pad, params, (kn_atom[]){both, zero}, 2) : KN_NO;
}

/* ---- the same elements in another shape ---- */

/* Row-major order is kept by these, so that only the first and the last shape matter. */
static const kn_eqn *reshaping(const kn_simp *s, kn_atom a)
{
    const kn_eqn *e = kn_def(s, a);
    if (!e) return NULL;
    if (e->prim == &kn_prim_squeeze) return e;
    if (e->prim == &kn_prim_reshape) return kn_param_of(e, "dimensions")->kind == KN_P_NONE ? e : NULL;
    bool adds = e->prim == &kn_prim_broadcast_in_dim && kn_elements(kn_atype(s, e->in[0])) == kn_elements(kn_etype(s, e));
    return adds && kn_elements(kn_etype(s, e)) > 0 ? e : NULL;
}

static kn_fix reshape_reshape(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = reshaping(s, e->in[0]);
    const kn_param *order = e->prim == &kn_prim_reshape ? kn_param_of(e, "dimensions") : NULL;
    if (!d || (order && order->kind != KN_P_NONE)) return KN_NO;
    kn_fix fix = kn_give(s, e, d->in[0]);
    if (fix != KN_NO || (e->prim == &kn_prim_squeeze && d->prim == &kn_prim_broadcast_in_dim)) return fix;
    kiln_type t = kn_etype(s, e);
    kn_named v[] = {{"new_sizes", KN_INTS(t.rank, t.dims)}};
    kn_param *p = kn_params_of(s, &kn_prim_reshape, v, 1);
    return p ? kn_become(s, e, &kn_prim_reshape, p, d->in, 1) : KN_NO;
}

static kn_fix transpose_transpose(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_transpose);
    if (!d) return KN_NO;
    uint32_t rank = kn_etype(s, e).rank;
    const int64_t *outer = kn_ints_of(e, "permutation"), *inner = kn_ints_of(d, "permutation");
    int64_t *both = kn_new_ints(s, rank);
    for (uint32_t i = 0; both && i < rank; i++) both[i] = inner[outer[i]];
    kn_named v[] = {{"permutation", KN_INTS(rank, both)}};
    kn_param *p = both ? kn_params_of(s, e->prim, v, 1) : NULL;
    return p ? kn_become(s, e, e->prim, p, d->in, 1) : KN_NO;
}

static kn_fix broadcast_broadcast(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_broadcast_in_dim);
    if (!d || e->nin != 1 || d->nin != 1) return KN_NO;
    kiln_type t = kn_etype(s, e), x = kn_atype(s, d->in[0]);
    const int64_t *outer = kn_ints_of(e, "broadcast_dimensions"), *inner = kn_ints_of(d, "broadcast_dimensions");
    int64_t *both = kn_new_ints(s, x.rank);
    for (uint32_t i = 0; both && i < x.rank; i++) both[i] = outer[inner[i]];
    kn_named v[] = {{"broadcast_dimensions", KN_INTS(x.rank, both)}, {"shape", KN_INTS(t.rank, t.dims)}};
    kn_param *p = both ? kn_params_of(s, e->prim, v, 2) : NULL;
    return p ? kn_become(s, e, e->prim, p, d->in, 1) : KN_NO;
}

/* ---- slices ---- */

typedef struct window { /* of a slice: index i of the result is start + i * stride of the operand */
    const int64_t *start, *stride;
} window;
static window window_of(const kn_eqn *e) { return (window){kn_ints_of(e, "start_indices"), kn_ints_of(e, "strides")}; }
static int64_t stride_of(window w, uint32_t d) { return w.stride ? w.stride[d] : 1; }

/* The equation becomes a slice of x, as large as its result; `stride` may be NULL. */
static kn_fix become_slice(kn_simp *s, kn_eqn *e, kn_atom x, const int64_t *start, const int64_t *stride)
{
    kiln_type t = kn_etype(s, e);
    int64_t *limit = kn_new_ints(s, t.rank);
    if (!limit) return KN_NO;
    bool strided = false;
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t by = stride ? stride[d] : 1;
        limit[d] = t.dims[d] ? start[d] + (t.dims[d] - 1) * by + 1 : start[d];
        strided = strided || by != 1;
    }
    kn_named v[] = {{"limit_indices", KN_INTS(t.rank, limit)}, {"start_indices", KN_INTS(t.rank, start)}, {"strides", KN_NONE}};
    if (strided) v[2].value = KN_INTS(t.rank, stride);
    kn_param *p = kn_params_of(s, &kn_prim_slice, v, 3);
    return p ? kn_become(s, e, &kn_prim_slice, p, &x, 1) : KN_NO;
}

static kn_fix slice_slice(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_slice);
    if (!d) return KN_NO;
    kiln_type t = kn_etype(s, e);
    window outer = window_of(e), inner = window_of(d);
    int64_t *start = kn_new_ints(s, t.rank), *stride = kn_new_ints(s, t.rank);
    if (!start || !stride) return KN_NO;
    for (uint32_t i = 0; i < t.rank; i++) {
        stride[i] = 1;
        if (t.dims[i] == 0) continue; /* nothing is taken; elsewhere the first element exists, and the last where there are two */
        start[i] = inner.start[i] + outer.start[i] * stride_of(inner, i);
        if (t.dims[i] > 1) stride[i] = stride_of(inner, i) * stride_of(outer, i);
    }
    return become_slice(s, e, d->in[0], start, stride);
}

/* A slice that lies in one part of a concatenation is a slice of that part. */
static kn_fix slice_concatenate(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_concatenate);
    kiln_type t = kn_etype(s, e);
    if (!d || kn_elements(t) == 0) return KN_NO;
    int64_t axis = kn_param_of(d, "dimension")->i, at = 0;
    window w = window_of(e);
    int64_t first = w.start[axis], last = first + (t.dims[axis] - 1) * stride_of(w, (uint32_t)axis);
    for (uint32_t i = 0; i < d->nin; i++) {
        int64_t end = at + kn_atype(s, d->in[i]).dims[axis];
        if (first < end) {
            if (last >= end) return KN_NO;
            int64_t *start = kn_new_ints(s, t.rank);
            if (!start) return KN_NO;
            memcpy(start, w.start, t.rank * sizeof *start);
            start[axis] -= at;
            return become_slice(s, e, d->in[i], start, w.stride);
        }
        at = end;
    }
    return KN_NO;
}

/* A slice of a padded array that lies inside the array is a slice of it; one that lies in the margin is the padding value. */
static kn_fix slice_pad(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_pad);
    kiln_type t = kn_etype(s, e);
    if (!d || kn_elements(t) == 0) return KN_NO;
    const kn_param *p = kn_param_of(d, "padding_config");
    kiln_type x = kn_atype(s, d->in[0]);
    window w = window_of(e);
    bool inside = true;
    int64_t *start = kn_new_ints(s, t.rank);
    for (uint32_t i = 0; start && i < t.rank; i++) {
        const int64_t *g = p->items[i].ints; /* low, high, interior */
        int64_t first = w.start[i] - g[0], last = first + (t.dims[i] - 1) * stride_of(w, i);
        int64_t end = x.dims[i] > 0 ? (x.dims[i] - 1) * (g[2] + 1) + 1 : 0;
        if (last < 0 || first >= end) return kn_give_uniform(s, e, d->in[1]);
        inside = inside && g[2] == 0 && first >= 0 && last < end;
        start[i] = first;
    }
    return start && inside ? become_slice(s, e, d->in[0], start, w.stride) : KN_NO;
}

/* ---- dynamic slices ---- */

static bool known_start(const kn_simp *s, kn_atom a, int64_t most, int64_t *at)
{
    kn_scalar v;
    if (most > 0) {
        if (!kn_known(s, a, &v)) return false;
        if (kiln_dtype_kind(kn_atype(s, a).dtype) == 'u') *at = v.u > (uint64_t)most ? most : (int64_t)v.u;
        else *at = v.i < 0 ? 0 : v.i > most ? most : v.i;
    } else *at = 0;
    return true;
}

static kn_fix dynamic_known(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kiln_type x = operand(s, e, 0), t = kn_etype(s, e);
    int64_t at;
    for (uint32_t d = 0; d < t.rank; d++)
        if (!known_start(s, e->in[1 + d], x.dims[d] - t.dims[d], &at)) return KN_NO;
    int64_t *start = kn_new_ints(s, t.rank);
    for (uint32_t d = 0; start && d < t.rank; d++) known_start(s, e->in[1 + d], x.dims[d] - t.dims[d], &start[d]);
    return start ? become_slice(s, e, e->in[0], start, NULL) : KN_NO;
}

/* What was just written, read back from the same place. */
static kn_fix dynamic_written(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_dynamic_update_slice);
    if (!d || !kiln_type_equal(kn_atype(s, d->in[1]), kn_etype(s, e))) return KN_NO;
    for (uint32_t i = 1; i < e->nin; i++)
        if (!kn_same_atom(s, e->in[i], d->in[1 + i])) return KN_NO;
    return kn_give(s, e, d->in[1]);
}

/* What was written is overwritten by a piece of the same size at the same place. */
static kn_fix update_update(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_dynamic_update_slice);
    if (!d || !kiln_type_equal(kn_atype(s, d->in[1]), operand(s, e, 1))) return KN_NO;
    for (uint32_t i = 2; i < e->nin; i++)
        if (!kn_same_atom(s, e->in[i], d->in[i])) return KN_NO;
    kn_atom *in = kn_arena_copy(&s->pm->prog->arena, e->in, e->nin * sizeof *in);
    if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
    in[0] = d->in[0];
    return kn_become(s, e, e->prim, e->params, in, e->nin);
}

/* An index along a dimension of size 1. */
static kn_fix iota_single(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kiln_type t = kn_etype(s, e);
    if (t.dims[kn_param_of(e, "dimension")->i] != 1) return KN_NO;
    return kn_give_value(s, e, (kn_scalar){.u = 0}); /* all bits 0 is 0 of every type */
}

#define M(prim_, try_, text_) {.text = text_, .prim = &kn_prim_##prim_, .try = try_}

const kn_rule kn_move_rules[] = {
    M(broadcast_in_dim, same_type, "broadcast to the same shape = x"),
    M(reshape, same_type, "reshape to the same shape = x"),
    M(squeeze, same_type, "squeeze of nothing = x"),
    M(slice, same_type, "slice of everything = x"),
    M(dynamic_slice, same_type, "dynamic slice of everything = x"),
    M(transpose, transpose_nothing, "transpose that moves nothing = x"),
    M(rev, rev_nothing, "reversal of one element = x"),
    M(pad, pad_nothing, "pad by nothing = x"),
    M(dynamic_update_slice, update_all, "update of everything = the update, of nothing = x"),
    M(concatenate, concatenate_parts, "concatenate without its empty parts"),
    M(concatenate, concatenate_uniform, "concatenate(broadcast s, broadcast s) = broadcast s"),
    M(concatenate, concatenate_concatenate, "concatenate(x, concatenate(y, z)) = concatenate(x, y, z), one axis"),
    M(add, padded_sum, "sum of arrays padded with 0 to stand side by side = concatenate, 0.0 added to floats"),
    M(pad, pad_uniform, "pad(broadcast s, s) = broadcast s"),
    M(broadcast_in_dim, move_uniform, "broadcast(broadcast s) = broadcast s, scalars"),
    M(reshape, move_uniform, "reshape(broadcast s) = broadcast s"),
    M(squeeze, move_uniform, "squeeze(broadcast s) = broadcast s"),
    M(transpose, move_uniform, "transpose(broadcast s) = broadcast s"),
    M(rev, move_uniform, "rev(broadcast s) = broadcast s"),
    M(slice, move_uniform, "slice(broadcast s) = broadcast s"),
    M(dynamic_slice, move_uniform, "dynamic slice(broadcast s) = broadcast s"),
    {.text = "reduce_max(broadcast s) = broadcast s", .prim = &kn_prim_reduce_max, .try = reduce_uniform, .moves = true},
    {.text = "reduce_min(broadcast s) = broadcast s", .prim = &kn_prim_reduce_min, .try = reduce_uniform, .moves = true},
    M(reduce_and, reduce_uniform, "reduce_and(broadcast s) = broadcast s"),
    M(reduce_or, reduce_uniform, "reduce_or(broadcast s) = broadcast s"),
    M(broadcast_in_dim, broadcast_broadcast, "broadcast(broadcast x) = broadcast x"),
    M(reshape, reshape_reshape, "reshape(reshape x) = reshape x"),
    M(squeeze, reshape_reshape, "squeeze(reshape x) = reshape x"),
    M(transpose, transpose_transpose, "transpose(transpose x) = transpose x"),
    M(slice, slice_slice, "slice(slice x) = slice x"),
    M(slice, slice_concatenate, "slice of one part of a concatenation = slice of the part"),
    M(slice, slice_pad, "slice of the inside of a padded x = slice x, of the margin = the padding"),
    M(dynamic_slice, dynamic_known, "dynamic slice at known indices = slice"),
    M(dynamic_slice, dynamic_written, "dynamic slice of what was just written there = the update"),
    M(dynamic_update_slice, update_update, "update over an update of the same place = the second"),
    M(iota, iota_single, "iota along one element = broadcast 0"),
    {.text = NULL},
};
