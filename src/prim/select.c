/* SPDX-License-Identifier: Apache-2.0 */
/* select_n and clamp. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

static kiln_status type_select_n(kn_typing *t)
{
    KILN_TRY(kn_typing_count(t, 2));
    KILN_TRY(kn_typing_out(t, 1));
    uint32_t cases = t->nin - 1;
    kiln_type which = t->in[0];
    if (which.dtype != KILN_BOOL && kiln_dtype_kind(which.dtype) != 'i')
        return kn_fail(t->ctx, KILN_DTYPE, "select_n: the first operand is %s; accepted: bool, signed integers", kn_type_show(which).s);
    if (which.dtype == KILN_BOOL && cases > 2)
        return kn_fail(t->ctx, KILN_INVALID, "select_n: a bool chooses between at most 2 cases, %u are given", cases);
    for (uint32_t i = 2; i < t->nin; i++)
        if (!kiln_type_equal(t->in[1], t->in[i]))
            return kn_fail(t->ctx, t->in[1].dtype == t->in[i].dtype ? KILN_SHAPE : KILN_DTYPE,
                           "select_n: all cases must have one type, %s and %s given", kn_type_show(t->in[1]).s,
                           kn_type_show(t->in[i]).s);
    which.dtype = t->in[1].dtype;
    if (which.rank && !kiln_type_equal(which, t->in[1]))
        return kn_fail(t->ctx, KILN_SHAPE, "select_n: the first operand is %s; its shape must be that of the cases, %s, or scalar",
                       kn_type_show(t->in[0]).s, kn_type_show(t->in[1]).s);
    return kn_typing_like(t, 0, t->in[1].dtype, t->in[1]);
}

/* The case an index below the middle, else above, chooses: indices outside count as the nearest case. */
static kiln_status eval_select_n(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type which = in[0]->type;
    int64_t n = kiln_type_size(out[0]->type), cases = e->nin - 1;
    for (int64_t k = 0; k < n; k++) {
        kn_scalar s = kn_scalar_load(which.dtype, in[0]->data, which.rank ? k : 0);
        int64_t c = which.dtype == KILN_BOOL ? s.b : s.i;
        c = c < 0 ? 0 : c >= cases ? cases - 1 : c;
        kn_move(out[0], k, in[1 + c], k);
    }
    return KILN_OK;
}

static kn_lv choose(kn_element *m, const kn_eqn *e, kn_lv which, uint32_t lo, uint32_t hi, const kn_lv *ix)
{
    if (hi - lo == 1) return m->operand(m, e, 1 + lo, ix);
    uint32_t mid = lo + (hi - lo) / 2;
    kiln_dtype d = kn_out_type(m->j, e, 0).dtype, index = kn_in_type(m->j, e, 0).dtype;
    kn_lv below = m->op(m, KN_S_lt, index, KILN_BOOL, which, m->constant(m, index, (kn_scalar){.i = mid}), 0);
    kn_lv first = choose(m, e, which, lo, mid, ix), second = choose(m, e, which, mid, hi, ix);
    return m->op(m, KN_S_select, d, d, below, first, second);
}

static kn_lv element_select_n(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    kiln_dtype d = kn_out_type(m->j, e, 0).dtype;
    if (e->nin == 2) return m->operand(m, e, 1, ix);
    kn_lv which = m->operand(m, e, 0, ix); /* a scalar takes no index */
    if (kn_in_type(m->j, e, 0).dtype != KILN_BOOL) return choose(m, e, which, 0, e->nin - 1, ix);
    kn_lv no = m->operand(m, e, 1, ix), yes = m->operand(m, e, 2, ix);
    return m->op(m, KN_S_select, d, d, which, yes, no);
}

/* The same choice of the tangents; of the cotangents: where the case was chosen, elsewhere 0. */
static kiln_status jvp_select_n(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, in);
    in[0] = x[0];
    for (uint32_t i = 1; i < e->nin; i++) in[i] = kn_derive_value(&l, dx[i], kn_in_type(j, e, i));
    dy[0] = kn_low_op(&l, e->prim, NULL, in, e->nin);
    return l.status;
}
static kiln_status transpose_select_n(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_atom zeros = kn_derive_value(&l, KN_SYMBOLIC_ZERO, kn_out_type(j, e, 0));
    bool two = kn_in_type(j, e, 0).dtype == KILN_BOOL;
    for (uint32_t i = 1; i < e->nin; i++) {
        if (x[i] != KN_LINEAR) continue;
        kn_atom at = x[0], in[3] = {0, two && i == 1 ? ct[0] : zeros, two && i == 1 ? zeros : ct[0]};
        if (!two) { /* an index outside chooses the nearest case */
            const kn_prim *p = i == 1 ? &kn_prim_le : i + 1 == e->nin ? &kn_prim_ge : &kn_prim_eq;
            at = kn_low2(&l, p, at, kn_low_num(&l, kn_in_type(j, e, 0).dtype, i - 1.0));
        }
        in[0] = at;
        ct_in[i] = e->nin == 2 ? ct[0] : kn_low_op(&l, e->prim, NULL, in, 3);
    }
    return l.status;
}

/* A choice that all lanes share, by one scalar, stays one. */
static kiln_status batch_select_n(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, in);
    bool shared = !kn_has_lanes(&m, 0) && kn_in_type(j, e, 0).rank == 0;
    in[0] = shared ? x[0] : kn_lanes_widened(&m, 0, kn_out_type(j, e, 0));
    for (uint32_t i = 1; i < e->nin; i++) in[i] = kn_lanes_full(&m, i);
    return kn_lanes_emit(&m, NULL, in, y);
}

KILN_PRIM(select_n) = {
    .name = "select_n",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_MOVES | KN_BY_PARTS,
    .loop = KN_LOOP_ELEMENT,
    .type = type_select_n,
    .eval = eval_select_n,
    .jvp = jvp_select_n,
    .transpose = transpose_select_n,
    .element = element_select_n,
    .batch = batch_select_n,
    .sample = kn_sample_select_n,
    .doc = "Element by element, the case that the first operand names: false 0, true 1, or a signed index; indices outside count as "
           "the nearest case.",
};

static kiln_status type_clamp(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    for (uint32_t i = 0; i < 3; i++) {
        KILN_TRY(kn_typing_kinds(t, i, "biuf"));
        KILN_TRY(kn_typing_same_dtype(t, 1, i));
        if (t->in[i].rank && !kiln_type_equal(t->in[i], t->in[1]))
            return kn_fail(t->ctx, KILN_SHAPE, "clamp: a bound is %s; its shape must be that of the second operand, %s, or scalar",
                           kn_type_show(t->in[i]).s, kn_type_show(t->in[1]).s);
    }
    return kn_typing_like(t, 0, t->in[1].dtype, t->in[1]);
}
static kn_scalar clamp_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kiln_dtype d = kn_out_type(j, e, 0).dtype;
    return kn_sop_eval(KN_S_min, d, d, kn_sop_eval(KN_S_max, d, d, x[1], x[0], x[0]), x[2], x[2]);
}
static kiln_status eval_clamp(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], clamp_map);
}
static kn_lv element_clamp(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_dtype d = kn_out_type(m->j, e, result).dtype;
    kn_lv x[3];
    for (uint32_t i = 0; i < 3; i++) x[i] = m->operand(m, e, i, ix);
    return m->op(m, KN_S_min, d, d, m->op(m, KN_S_max, d, d, x[1], x[0], 0), x[2], 0);
}

/* Strictly between the bounds the operand's, beyond one of them that bound's; at a bound none. */
static kiln_status jvp_clamp(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    kn_atom below = kn_low2(&l, &kn_prim_gt, x[0], x[1]), above = kn_low2(&l, &kn_prim_lt, x[2], x[1]);
    kn_atom open = kn_low2(&l, &kn_prim_lt, x[0], x[2]);
    kn_atom inside = kn_low2(&l, &kn_prim_and, kn_low2(&l, &kn_prim_gt, x[1], x[0]), kn_low2(&l, &kn_prim_lt, x[1], x[2]));
    kn_atom mask[3] = {kn_low2(&l, &kn_prim_and, below, open), inside, above};
    for (uint32_t i = 0; i < 3; i++) {
        if (dx[i] == KN_SYMBOLIC_ZERO) continue;
        kn_atom g = kn_derive_spread(&l, dx[i], t);
        dy[0] = kn_derive_add(&l, dy[0], kn_low_select(&l, mask[i], g, kn_derive_value(&l, KN_SYMBOLIC_ZERO, t)));
    }
    return l.status;
}

static kiln_status batch_clamp(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_atom in[3];
    for (uint32_t i = 0; i < 3; i++) {
        bool scalar = i != 1 && !kn_has_lanes(&m, i) && kn_in_type(j, e, i).rank == 0;
        in[i] = scalar ? x[i] : kn_lanes_widened(&m, i, kn_out_type(j, e, 0));
    }
    return kn_lanes_emit(&m, NULL, in, y);
}

KILN_PRIM(clamp) = {
    .name = "clamp",
    .nin = 3,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    .loop = KN_LOOP_ELEMENT,
    .type = type_clamp,
    .eval = eval_clamp,
    .jvp = jvp_clamp,
    .element = element_clamp,
    .batch = batch_clamp,
    .sample = kn_sample_elementwise,
    .doc = "min(max(x, low), high) of low, x, high; the bounds are scalars or have x's shape. NaN wins.",
};
