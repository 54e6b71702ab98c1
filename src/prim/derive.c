/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/derive.h"
#include "prim/common.h"
#include "prim/control.h"

kiln_status kn_zeros(kn_build *b, kiln_type t, kn_atom *out)
{
    kn_low l = {b, KILN_OK};
    *out = kn_low_widen(&l, kn_low_num(&l, t.dtype, 0), t);
    return l.status;
}

kn_atom kn_derive_value(kn_low *l, kn_atom d, kiln_type t)
{
    if (d == KN_SYMBOLIC_ZERO && l->status == KILN_OK) l->status = kn_zeros(l->b, t, &d);
    return d;
}

kn_atom kn_derive_add(kn_low *l, kn_atom a, kn_atom b)
{
    if (a == KN_SYMBOLIC_ZERO) return b;
    return b == KN_SYMBOLIC_ZERO ? a : kn_low_op(l, &kn_prim_add_any, NULL, (kn_atom[]){a, b}, 2);
}

kn_atom kn_derive_neg(kn_low *l, kn_atom a) { return a == KN_SYMBOLIC_ZERO ? a : kn_low1(l, &kn_prim_neg, a); }

kn_atom kn_derive_sum(kn_low *l, kn_atom a, uint32_t n, const int64_t *axes)
{
    if (a == KN_SYMBOLIC_ZERO || n == 0) return a;
    return kn_low_op(l, &kn_prim_reduce_sum, (kn_param[]){KN_INTS(n, axes), KN_NONE}, &a, 1);
}

kn_atom kn_derive_sum_all(kn_low *l, kn_atom a)
{
    int64_t axes[KN_MAX_RANK];
    if (l->status != KILN_OK) return a;
    uint32_t rank = kn_build_type(l->b, a).rank;
    for (uint32_t d = 0; d < rank; d++) axes[d] = d;
    return kn_derive_sum(l, a, rank, axes);
}

kn_atom kn_derive_spread(kn_low *l, kn_atom a, kiln_type t) { return a == KN_SYMBOLIC_ZERO ? a : kn_low_in_shape(l, a, t); }

kn_atom kn_derive_gather(kn_low *l, kn_atom ct, kiln_type t)
{
    if (ct == KN_SYMBOLIC_ZERO || l->status != KILN_OK) return ct;
    kiln_type have = kn_build_type(l->b, ct);
    if (kiln_type_equal(have, t)) return ct;
    if (t.rank == 0) return kn_derive_sum_all(l, ct);
    int64_t axes[KN_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < t.rank && t.rank == have.rank; d++)
        if (t.dims[d] == 1 && have.dims[d] != 1) axes[n++] = d;
    ct = kn_derive_sum(l, ct, n, axes);
    return n ? kn_low_reshape(l, ct, t.rank, t.dims) : ct;
}

kn_atom kn_derive_times(kn_low *l, kn_atom a, double v)
{
    if (l->status != KILN_OK) return a;
    return kn_low2(l, &kn_prim_mul, a, kn_low_num(l, kn_build_type(l->b, a).dtype, v));
}

kn_atom kn_derive_plus(kn_low *l, kn_atom a, double v)
{
    if (l->status != KILN_OK) return a;
    return kn_low2(l, &kn_prim_add, a, kn_low_num(l, kn_build_type(l->b, a).dtype, v));
}

kn_atom kn_derive_pad(kn_low *l, kn_atom a, const int64_t *low, const int64_t *high, const int64_t *inside)
{
    int64_t v[KN_MAX_RANK][3];
    kn_param items[KN_MAX_RANK];
    if (l->status != KILN_OK) return a;
    kiln_type t = kn_build_type(l->b, a);
    for (uint32_t d = 0; d < t.rank; d++) {
        v[d][0] = low[d], v[d][1] = high[d], v[d][2] = inside ? inside[d] : 0;
        items[d] = KN_INTS(3, v[d]);
    }
    return kn_low_op(l, &kn_prim_pad, &KN_TUPLE(t.rank, items), (kn_atom[]){a, kn_low_num(l, t.dtype, 0)}, 2);
}

kn_atom kn_derive_slice(kn_low *l, kn_atom a, const int64_t *start, const int64_t *limit, const int64_t *stride)
{
    if (l->status != KILN_OK) return a;
    uint32_t rank = kn_build_type(l->b, a).rank;
    return kn_low_op(l, &kn_prim_slice, (kn_param[]){KN_INTS(rank, limit), KN_INTS(rank, start), stride ? KN_INTS(rank, stride) : KN_NONE}, &a, 1);
}

kn_atom kn_derive_turn(kn_low *l, kn_atom a, const int64_t *permutation)
{
    if (l->status != KILN_OK) return a;
    uint32_t rank = kn_build_type(l->b, a).rank;
    bool same = true;
    for (uint32_t d = 0; d < rank; d++) same = same && permutation[d] == (int64_t)d;
    return same ? a : kn_low_op(l, &kn_prim_transpose, &KN_INTS(rank, permutation), &a, 1);
}

kn_atom kn_derive_axis_first(kn_low *l, kn_atom a, uint32_t axis)
{
    int64_t p[KN_MAX_RANK];
    for (uint32_t d = 0; d < KN_MAX_RANK; d++) p[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
    return kn_derive_turn(l, a, p);
}

kn_atom kn_derive_axis_back(kn_low *l, kn_atom a, uint32_t axis)
{
    int64_t p[KN_MAX_RANK];
    for (uint32_t d = 0; d < KN_MAX_RANK; d++) p[d] = d == axis ? 0 : d < axis ? d + 1 : d;
    return kn_derive_turn(l, a, p);
}

kn_atom kn_derive_before(kn_low *l, kn_atom x, uint32_t axis, bool reverse, double first)
{
    int64_t v[KN_MAX_RANK][3] = {{0}};
    kn_param items[KN_MAX_RANK];
    if (l->status != KILN_OK) return x;
    kiln_type t = kn_build_type(l->b, x);
    v[axis][0] = reverse ? -1 : 1, v[axis][1] = -v[axis][0];
    for (uint32_t d = 0; d < t.rank; d++) items[d] = KN_INTS(3, v[d]);
    if (t.dims[axis] == 0) return x;
    return kn_low_op(l, &kn_prim_pad, &KN_TUPLE(t.rank, items), (kn_atom[]){x, kn_low_num(l, t.dtype, first)}, 2);
}

static kiln_status step_body(kn_low *l, kiln_type t, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom in[3], y[2];
    kn_build_init(&b, l->b->ctx, l->b->prog);
    b.scope = l->b->scope, b.loc = l->b->loc;
    for (int i = 0; i < 3; i++) KILN_TRY(kn_build_input(&b, t, &in[i]));
    kn_low m = {&b, KILN_OK};
    y[0] = y[1] = kn_low2(&m, &kn_prim_add, kn_low2(&m, &kn_prim_mul, in[0], in[1]), in[2]);
    KILN_TRY(m.status);
    return kn_build_finish(&b, y, 2, out);
}

kn_atom kn_derive_recurrence(kn_low *l, kn_atom a, kn_atom b, uint32_t axis, bool reverse)
{
    const kn_jaxpr *body;
    kn_param params[KN_SCAN_PARAMS];
    kn_atom in[3] = {0, kn_derive_axis_first(l, a, axis), kn_derive_axis_first(l, b, axis)}, out[2] = {0, 0};
    if (l->status != KILN_OK) return b;
    kiln_type t = kn_build_type(l->b, in[1]), row = {t.dtype, t.rank - 1, t.rank > 1 ? t.dims + 1 : NULL};
    l->status = step_body(l, row, &body);
    if (l->status == KILN_OK) l->status = kn_zeros(l->b, row, &in[0]);
    kn_scan_plain(t.dims[0], reverse, params);
    const uint32_t n[3] = {0, 1, 2};
    if (l->status == KILN_OK) l->status = kn_scan_params(l->b->ctx, &l->b->prog->arena, NULL, body, n, 1, params);
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_scan, params, in, 3, out, 2);
    return kn_derive_axis_back(l, out[1], axis);
}

/* ---- shared rules ---- */

kiln_status kn_jvp_zero(KN_JVP_ARGS)
{
    (void)r, (void)b, (void)j, (void)e, (void)x, (void)dx, (void)y, (void)dy;
    return KILN_OK;
}

kiln_status kn_jvp_linear(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kn_atom few[16], *in = few;
    if (e->nin > 16) KILN_TRY_MEM(b->ctx, in = KN_NEWN(&b->prog->arena, kn_atom, e->nin));
    for (uint32_t i = 0; i < e->nin; i++) {
        kiln_type t = kn_in_type(j, e, i);
        in[i] = kn_has_tangent(t) ? kn_derive_value(&l, dx[i], t) : x[i];
    }
    KILN_TRY(l.status);
    return kn_build_eqn(b, e->prim, e->params, in, e->nin, dy, e->nout);
}

kiln_status kn_jvp_bilinear(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < 2; i++) {
        if (dx[i] == KN_SYMBOLIC_ZERO) continue;
        kn_atom in[2] = {i ? x[0] : dx[0], i ? dx[1] : x[1]};
        dy[0] = kn_derive_add(&l, dy[0], kn_low_op(&l, e->prim, e->params, in, 2));
    }
    return l.status;
}

kiln_status kn_jvp_made(KN_JVP_ARGS, kn_lower_fn make)
{
    kn_arena *arena = &b->prog->arena;
    const kn_jaxpr *body, *both;
    kn_build own;
    uint32_t n = e->nin, k = e->nout;
    kn_atom *in = KN_NEWN(arena, kn_atom, 2 * e->nin), *out = KN_NEWN(arena, kn_atom, 2 * e->nout);
    bool *nonzero = KN_NEWN(arena, bool, e->nin), *found = KN_NEWN(arena, bool, e->nout);
    KILN_TRY_MEM(b->ctx, in && out && nonzero && found);
    kn_build_init(&own, b->ctx, b->prog);
    own.scope = b->scope, own.loc = b->loc;
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_build_input(&own, kn_in_type(j, e, i), &in[i]));
    KILN_TRY(make(r, &own, j, e, in, out));
    KILN_TRY(kn_build_finish(&own, out, e->nout, &body));
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = x[i];
        if ((nonzero[i] = dx[i] != KN_SYMBOLIC_ZERO)) in[n++] = dx[i];
    }
    KILN_TRY(r->jvp(r, body, nonzero, NULL, &both, found));
    KILN_TRY(kn_low_inline(b, both, e, in, out));
    for (uint32_t i = 0; i < e->nout; i++) {
        y[i] = out[i];
        if (found[i]) dy[i] = out[k++];
    }
    return KILN_OK;
}

kiln_status kn_jvp_lowered(KN_JVP_ARGS) { return kn_jvp_made(r, b, j, e, x, dx, y, dy, kn_lower_rule(j, e)); }

kiln_status kn_jvp_element(kn_build *b, const kn_eqn *e, const kn_jaxpr *j, const kn_atom *x, const kn_atom *dx, const kn_atom *y, kn_atom *dy,
                           const kn_derivative *f)
{
    kn_low l = {b, KILN_OK};
    kiln_type out = kn_out_type(j, e, 0);
    for (uint32_t i = 0; i < e->nin; i++) {
        if (dx[i] == KN_SYMBOLIC_ZERO) continue;
        kn_atom d = f[i](&l, dx[i], x[0], e->nin > 1 ? x[1] : x[0], y[0], kn_in_type(j, e, i).dtype);
        if (d != KN_SYMBOLIC_ZERO) dy[0] = kn_derive_add(&l, dy[0], kn_derive_spread(&l, d, out));
    }
    return l.status;
}

kiln_status kn_not_linear(const kn_build *b, const kn_eqn *e, const char *in_what)
{
    const char *file = e->loc.file < b->prog->files.n ? b->prog->files.v[e->loc.file] : "";
    kn_place at = {.file = file, .line = (int)e->loc.line, .column = (int)e->loc.column};
    return kn_fail_at(b->ctx, KILN_UNSUPPORTED, "unsupported", at, NULL, "%s is not linear in %s, so it has no transpose", e->prim->name, in_what);
}
