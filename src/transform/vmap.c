/* SPDX-License-Identifier: Apache-2.0 */
/* vmap: a program over many lanes at once. Values that depend on the lane get the lanes as their axis 0, by the batch rules of their
 * equations; all others stay as they are and are computed once. Axes elsewhere are moved at the border of the program.
 *
 *   { lambda ; a:f32[3] b:f32[]. let c:f32[3] = mul a b in (c,) }            vmap:0,None, 8 lanes
 *   { lambda ; a:f32[8,3] b:f32[]. let c:f32[8,3] = mul a b in (c,) }
 *
 * Cost: linear in the program; a body that many equations share is made once for each set of operands that have lanes. */
#include "base/map.h"
#include "transform/engine.h"
#include "transform/prog.h"
#include "transform/vmap.h"

#include "prims.gen.h"

/* ---- bodies made so far ---- */

typedef struct made {
    const kn_jaxpr *from, *to;
    const bool *lanes, *wanted, *found;
    uint32_t next; /* number + 1 of another one of this body */
} made;
typedef struct memory {
    kn_map first; /* address of a body -> number + 1 of the last one */
    KN_VEC(made) all;
} memory;

static bool same(const bool *a, const bool *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != (b && b[i])) return false;
    return true;
}

static const made *recall(const memory *m, const kn_jaxpr *j, const bool *lanes, const bool *wanted)
{
    for (uint32_t k = kn_map_get(&m->first, kn_map_address(j)); k; k = m->all.v[k - 1].next) {
        const made *d = &m->all.v[k - 1];
        if (same(d->lanes, lanes, kn_nargs(j)) && same(d->wanted, wanted, j->nout)) return d;
    }
    return NULL;
}

static kiln_status remember(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr *to, const bool *lanes, const bool *wanted, const bool *found)
{
    memory *m = r->memo;
    kn_arena *arena = &r->prog->arena;
    bool *v = KN_NEWN(arena, bool, (size_t)kn_nargs(j) + 2 * (size_t)j->nout + 1);
    KILN_TRY_MEM(r->ctx, v);
    made d = {.from = j, .to = to, .lanes = v, .wanted = v + kn_nargs(j), .found = v + kn_nargs(j) + j->nout};
    for (uint32_t i = 0; i < kn_nargs(j); i++) *v++ = lanes[i];
    for (uint32_t i = 0; i < j->nout; i++) *v++ = wanted && wanted[i];
    for (uint32_t i = 0; i < j->nout; i++) *v++ = found[i];
    d.next = kn_map_get(&m->first, kn_map_address(j));
    KILN_TRY_MEM(r->ctx, kn_push(arena, &m->all, d) && kn_map_put(arena, &m->first, kn_map_address(j), m->all.n));
    return KILN_OK;
}

/* ---- one body ---- */

typedef struct walk {
    const kn_rules *r;
    const kn_jaxpr *j;
    int64_t size;
    kn_build b;
    kn_atom *map;
    int *axis; /* per variable: 0 or KN_NO_LANES */
} walk;

static kiln_status type_with_lanes(const kn_rules *r, kiln_type t, int64_t size, uint32_t axis, int64_t *dims, kiln_type *out)
{
    if (t.rank >= KN_RANK_LIMIT)
        return kn_fail(r->ctx, KILN_UNSUPPORTED, "vmap: %s would have more than %d dimensions", kn_type_show(t).s, KN_RANK_LIMIT);
    for (uint32_t d = 0; d <= t.rank; d++) dims[d] = d == axis ? size : t.dims[d < axis ? d : d - 1];
    *out = (kiln_type){t.dtype, t.rank + 1, dims};
    if (kiln_type_size(*out) < 0) return kn_fail(r->ctx, KILN_SHAPE, "vmap: %s is not a possible type", kn_type_show(*out).s);
    return KILN_OK;
}

/* A value repeated for every lane. */
static kiln_status repeat(walk *w, kn_atom a, kn_atom *out)
{
    kiln_type t = kn_build_type(&w->b, a);
    int64_t dims[KN_RANK_LIMIT + 1], at[KN_RANK_LIMIT];
    KILN_TRY(type_with_lanes(w->r, t, w->size, 0, dims, &(kiln_type){0}));
    for (uint32_t d = 0; d < t.rank; d++) at[d] = d + 1;
    kn_param params[] = {KN_INTS(t.rank, at), KN_INTS(t.rank + 1, dims), KN_NONE};
    return kn_build_eqn(&w->b, &kn_prim_broadcast_in_dim, params, &a, 1, out, 1);
}

/* Without lanes there is nothing to compute. */
static kiln_status no_lanes(walk *w, const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->nout; i++) {
        int64_t dims[KN_RANK_LIMIT + 1];
        kiln_type t;
        kn_atom zero;
        KILN_TRY(type_with_lanes(w->r, kn_type_of(w->j, e->out[i]), 0, 0, dims, &t));
        KILN_TRY(kn_build_literal(&w->b, t.dtype, (kn_scalar){.c = {0, 0}}, &zero));
        kn_param params[] = {KN_INTS(0, NULL), KN_INTS(t.rank, dims), KN_NONE};
        KILN_TRY(kn_build_eqn(&w->b, &kn_prim_broadcast_in_dim, params, &zero, 1, &w->map[e->out[i]], 1));
        w->axis[e->out[i]] = 0;
    }
    return KILN_OK;
}

static kiln_status batch_eqn(walk *w, const kn_eqn *e)
{
    kn_arena *arena = &w->r->prog->arena;
    bool any = false;
    for (uint32_t i = 0; i < e->nin; i++) any = any || (!kn_is_literal(e->in[i]) && w->axis[e->in[i]] != KN_NO_LANES);
    if (!any) return kn_build_copy(&w->b, w->j, e, w->map);
    if (!e->prim->batch) return kn_no_rule(w->r, e, "batch");
    if (w->size == 0) return no_lanes(w, e);
    kn_atom few[16], *x = few;
    int few_axes[16], *axis = few_axes;
    uint32_t n = e->nin + e->nout;
    if (n > 16) {
        x = KN_NEWN(arena, kn_atom, n), axis = KN_NEWN(arena, int, n);
        KILN_TRY_MEM(w->r->ctx, x && axis);
    }
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++) {
        x[i] = kn_build_map(&w->b, w->j, e->in[i], w->map, &status);
        axis[i] = kn_is_literal(e->in[i]) ? KN_NO_LANES : w->axis[e->in[i]];
    }
    KILN_TRY(status);
    for (uint32_t i = 0; i < e->nout; i++) axis[e->nin + i] = 0;
    w->b.scope = e->scope, w->b.loc = e->loc;
    KILN_TRY(e->prim->batch(w->r, &w->b, w->j, e, x, axis, x + e->nin, axis + e->nin));
    for (uint32_t i = 0; i < e->nout; i++) w->map[e->out[i]] = x[e->nin + i], w->axis[e->out[i]] = axis[e->nin + i];
    return KILN_OK;
}

static kiln_status start(walk *w, const kn_rules *r, const kn_jaxpr *j, int64_t size)
{
    *w = (walk){.r = r, .j = j, .size = size};
    kn_build_init(&w->b, r->ctx, r->prog);
    w->map = KN_NEWN(&r->prog->arena, kn_atom, j->nvars);
    w->axis = KN_NEWN(&r->prog->arena, int, j->nvars);
    KILN_TRY_MEM(r->ctx, w->map && w->axis);
    for (uint32_t i = 0; i < j->nvars; i++) w->axis[i] = KN_NO_LANES;
    return kn_build_consts(&w->b, j, w->map);
}

static kiln_status result_of(walk *w, uint32_t i, kn_atom *out, bool *lanes)
{
    kiln_status status = KILN_OK;
    kn_atom a = w->j->out[i];
    *out = kn_build_map(&w->b, w->j, a, w->map, &status);
    *lanes = !kn_is_literal(a) && w->axis[a] != KN_NO_LANES;
    return status;
}

static kiln_status batch_body(const kn_rules *r, const kn_jaxpr *j, int64_t size, const bool *lanes, const bool *wanted, const kn_jaxpr **out,
                              bool *found)
{
    const made *d = recall(r->memo, j, lanes, wanted);
    if (!d) {
        walk w;
        const kn_jaxpr *to;
        KILN_TRY(start(&w, r, j, size));
        for (uint32_t i = j->nconsts; i < j->nin; i++) {
            int64_t dims[KN_RANK_LIMIT];
            kiln_type t = kn_type_of(j, j->in[i]);
            if (lanes[i - j->nconsts]) {
                KILN_TRY(type_with_lanes(r, t, size, 0, dims, &t));
                w.axis[j->in[i]] = 0;
            }
            KILN_TRY(kn_build_input(&w.b, t, &w.map[j->in[i]]));
        }
        for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(batch_eqn(&w, &j->eqns[k]));
        kn_atom *y = KN_NEWN(&r->prog->arena, kn_atom, j->nout);
        KILN_TRY_MEM(r->ctx, y);
        for (uint32_t i = 0; i < j->nout; i++) {
            KILN_TRY(result_of(&w, i, &y[i], &found[i]));
            if (found[i] || !wanted || !wanted[i]) continue;
            KILN_TRY(repeat(&w, y[i], &y[i]));
            found[i] = true;
        }
        KILN_TRY(kn_build_finish(&w.b, y, j->nout, &to));
        KILN_TRY(remember(r, j, to, lanes, wanted, found));
        d = recall(r->memo, j, lanes, wanted);
    }
    for (uint32_t i = 0; i < j->nout; i++) found[i] = d->found[i];
    *out = d->to;
    return KILN_OK;
}

/* ---- whole programs ---- */

/* Moves an axis, when it is not there already. */
static kiln_status move(kn_build *b, kn_atom a, uint32_t from, uint32_t to, kn_atom *out)
{
    int64_t p[KN_RANK_LIMIT];
    uint32_t rank = kn_build_type(b, a).rank, next = 0;
    *out = a;
    if (from == to) return KILN_OK;
    for (uint32_t d = 0; d < rank; d++) {
        next += next == from;
        p[d] = d == to ? from : next++;
    }
    return kn_build_eqn(b, &kn_prim_transpose, &KN_INTS(rank, p), &a, 1, out, 1);
}

static kiln_status results(walk *w, const int *out_axes, const kn_jaxpr **out)
{
    const kn_jaxpr *j = w->j;
    kn_atom *y = KN_NEWN(&w->r->prog->arena, kn_atom, j->nout);
    KILN_TRY_MEM(w->r->ctx, y);
    for (uint32_t i = 0; i < j->nout; i++) {
        bool lanes;
        uint32_t rank = kn_type_of(j, j->out[i]).rank;
        int axis = out_axes ? out_axes[i] : 0;
        KILN_TRY(result_of(w, i, &y[i], &lanes));
        if (axis == KN_NO_AXIS) {
            if (lanes) return kn_fail(w->r->ctx, KILN_INVALID, "vmap: result %u depends on the lane; it needs an axis, found None", i);
            continue;
        }
        if (axis < 0 || (uint32_t)axis > rank)
            return kn_fail(w->r->ctx, KILN_SHAPE, "vmap: axis %d for result %u, which is %s in a lane; accepted: 0 to %u", axis, i,
                           kn_type_show(kn_type_of(j, j->out[i])).s, rank);
        if (!lanes) KILN_TRY(repeat(w, y[i], &y[i]));
        KILN_TRY(move(&w->b, y[i], 0, (uint32_t)axis, &y[i]));
    }
    return kn_build_finish(&w->b, y, j->nout, out);
}

kiln_status kn_vmap_body(const kn_rules *r, const kn_jaxpr *j, int64_t size, const bool *lanes, const bool *wanted, const kn_jaxpr **out, bool *found)
{
    memory memo = {.all = {NULL, 0, 0}};
    kn_rules own = *r;
    own.memo = &memo;
    own.batch = batch_body;
    return batch_body(&own, j, size, lanes, wanted, out, found);
}

kiln_status kn_vmap(const kn_rules *r, const kn_jaxpr *j, int64_t size, const int *axes, const int *out_axes, const kn_jaxpr **out)
{
    walk w;
    memory memo = {.all = {NULL, 0, 0}};
    kn_rules own = *r;
    own.memo = &memo;
    own.batch = batch_body;
    bool any = false;
    for (uint32_t i = 0; i < kn_nargs(j); i++) {
        kiln_type t = kn_type_of(j, j->in[j->nconsts + i]);
        any = any || axes[i] != KN_NO_AXIS;
        if (axes[i] != KN_NO_AXIS && (axes[i] < 0 || (uint32_t)axes[i] > t.rank))
            return kn_fail(r->ctx, KILN_SHAPE, "vmap: axis %d for operand %u, which is %s in a lane; accepted: 0 to %u, or None", axes[i], i,
                           kn_type_show(t).s, t.rank);
    }
    if (!any) return kn_fail(r->ctx, KILN_INVALID, "vmap: no operand has lanes; at least one axis is needed");
    if (size < 0) return kn_fail(r->ctx, KILN_SHAPE, "vmap over %lld lanes; accepted: 0 and more", (long long)size);
    KILN_TRY(start(&w, &own, j, size));
    for (uint32_t i = j->nconsts; i < j->nin; i++) {
        int64_t dims[KN_RANK_LIMIT];
        kiln_type t = kn_type_of(j, j->in[i]);
        int axis = axes[i - j->nconsts];
        kn_atom *a = &w.map[j->in[i]];
        if (axis != KN_NO_AXIS) KILN_TRY(type_with_lanes(r, t, size, (uint32_t)axis, dims, &t));
        KILN_TRY(kn_build_input(&w.b, t, a));
        if (axis == KN_NO_AXIS) continue;
        w.axis[j->in[i]] = 0;
        KILN_TRY(move(&w.b, *a, (uint32_t)axis, 0, a));
    }
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(batch_eqn(&w, &j->eqns[k]));
    return results(&w, out_axes, out);
}

typedef struct request {
    int64_t size;
    const int *axes, *out_axes;
} request;
static kiln_status apply(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    const request *q = how;
    return kn_vmap(r, j, q->size, q->axes, q->out_axes, out);
}

kiln_status kiln_prog_vmap(kiln_ctx *ctx, const kiln_prog *p, int64_t lanes, const int *axes, const int *out_axes, kiln_prog **out)
{
    return kn_prog_apply(ctx, p, apply, &(request){lanes, axes, out_axes}, out);
}
