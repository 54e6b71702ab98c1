/* SPDX-License-Identifier: Apache-2.0 */
/* A while whose condition is an array: what JAX makes of a while whose lanes decide for themselves. It runs as long as any element of the
 * condition is true; the leading dimensions of each carry are those of the condition, and a trip changes the carries where it is true:
 *
 *     while any(cond(carries)):
 *         go = cond(carries)
 *         carries = select(go, body(carries), carries)
 *
 * Transformations and lowering see this loop. */
#include "prim/control.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/lowering.h"

#include "prims.gen.h"

static kiln_type condition_type(const kn_jaxpr *cond) { return kn_type_of(cond, cond->out[0]); }

kiln_status kn_while_lanes_check(const kn_typing *t, const kn_jaxpr *cond, const kiln_type *carry, uint32_t n)
{
    if (cond->nout != 1) return kn_fail(t->ctx, KILN_INVALID, "while: cond_jaxpr gives %u results, 1 is needed", cond->nout);
    kiln_type go = condition_type(cond);
    if (go.dtype != KILN_BOOL) return kn_fail(t->ctx, KILN_DTYPE, "while: result 0 of cond_jaxpr is %s, but bool[] is needed", kn_type_show(go).s);
    for (uint32_t i = 0; i < n; i++)
        if (carry[i].rank < go.rank || (go.rank && memcmp(carry[i].dims, go.dims, go.rank * sizeof *go.dims) != 0))
            return kn_fail(t->ctx, KILN_SHAPE, "while: result 0 of cond_jaxpr is %s, but carry %u is %s; accepted: bool[], or leading dimensions of all carries",
                           kn_type_show(go).s, i, kn_type_show(carry[i]).s);
    return KILN_OK;
}

static void open_body(const kn_build *b, kn_build *inner)
{
    kn_build_init(inner, b->ctx, b->prog);
    inner->scope = b->scope;
    inner->loc = b->loc;
}

static kiln_status inputs(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, uint32_t from, uint32_t to, kn_atom *in)
{
    for (uint32_t i = from; i < to; i++) KILN_TRY(kn_build_input(b, kn_in_type(j, e, i), &in[i - from]));
    return KILN_OK;
}

static kiln_status any_lane(kn_build *outer, const kn_jaxpr *j, const kn_eqn *e, const kn_while_parts *p, const kn_jaxpr **out)
{
    kn_build b;
    open_body(outer, &b);
    kn_low l = {&b, KILN_OK};
    uint32_t c = p->cond_consts, first = c + p->body_consts;
    kiln_type go = condition_type(p->cond);
    int64_t axes[KN_MAX_RANK];
    kn_atom *in = KN_NEWN(&b.prog->arena, kn_atom, c + e->nout), more;
    KILN_TRY_MEM(b.ctx, in);
    KILN_TRY(inputs(&b, j, e, 0, c, in));
    KILN_TRY(inputs(&b, j, e, first, e->nin, in + c));
    KILN_TRY(kn_low_inline(&b, p->cond, e, in, &more));
    for (uint32_t d = 0; d < go.rank; d++) axes[d] = d;
    more = kn_low_op(&l, &kn_prim_reduce_or, &KN_INTS(go.rank, axes), &more, 1);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &more, 1, out);
}

/* The condition's lanes over all elements of a carry. */
static kn_atom spread(kn_low *l, kn_atom go, uint32_t rank, kiln_type t)
{
    int64_t axes[KN_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) axes[d] = d;
    if (t.rank == rank) return go;
    return kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(rank, axes), KN_INTS(t.rank, t.dims), KN_NONE}, &go, 1);
}

/* Arguments: constants of the condition, constants of the body, carries. Lanes that are done are constants to what the body makes of them, lest a
 * derivative that is not finite there comes back into them. */
static kiln_status trip_where_true(kn_build *outer, const kn_jaxpr *j, const kn_eqn *e, const kn_while_parts *p, const kn_jaxpr **out)
{
    kn_build b;
    open_body(outer, &b);
    kn_low l = {&b, KILN_OK};
    uint32_t c = p->cond_consts, nb = p->body_consts, n = e->nout, rank = condition_type(p->cond).rank;
    kn_atom *in = KN_NEWN(&b.prog->arena, kn_atom, 2 * (size_t)e->nin), *asked = in + e->nin, *carry = in + c + nb, go;
    kn_atom *now = KN_NEWN(&b.prog->arena, kn_atom, 2 * (size_t)n), *next = now + n;
    KILN_TRY_MEM(b.ctx, in && now);
    KILN_TRY(inputs(&b, j, e, 0, e->nin, in));
    memcpy(asked, in, c * sizeof *in);
    memcpy(asked + c, carry, n * sizeof *in);
    KILN_TRY(kn_low_inline(&b, p->cond, e, asked, &go));
    for (uint32_t i = 0; i < n; i++) {
        kiln_type t = kn_out_type(j, e, i);
        now[i] = carry[i];
        if (kn_has_tangent(t)) carry[i] = kn_low_select(&l, spread(&l, go, rank, t), now[i], kn_low1(&l, &kn_prim_stop_gradient, now[i]));
    }
    KILN_TRY(l.status);
    KILN_TRY(kn_low_inline(&b, p->body, e, in + c, next));
    for (uint32_t i = 0; i < n; i++) next[i] = kn_low_select(&l, spread(&l, go, rank, kn_out_type(j, e, i)), next[i], now[i]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, n, out);
}

kiln_status kn_lower_while_lanes(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_while_parts p = kn_while_parts_of(e);
    const kn_jaxpr *cond, *body;
    uint32_t c = p.cond_consts;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, (size_t)c + e->nin);
    KILN_TRY_MEM(b->ctx, in);
    KILN_TRY(any_lane(b, j, e, &p, &cond));
    KILN_TRY(trip_where_true(b, j, e, &p, &body));
    memcpy(in, x, c * sizeof *in);
    memcpy(in + c, x, e->nin * sizeof *in);
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, c, body, c + p.body_consts);
    kn_while_keep(params, e);
    return kn_build_eqn(b, &kn_prim_while, params, in, c + e->nin, y, e->nout);
}

kiln_status kn_while_lanes_call(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, kn_eqn *call)
{
    kn_arena *arena = &b->prog->arena;
    kn_build own;
    const kn_jaxpr *body;
    kn_param *params = KN_NEWN(arena, kn_param, kn_prim_jit.nparams);
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin), *out = KN_NEWN(arena, kn_atom, e->nout);
    KILN_TRY_MEM(b->ctx, params && in && out);
    open_body(b, &own);
    KILN_TRY(inputs(&own, j, e, 0, e->nin, in));
    KILN_TRY(kn_lower_while_lanes(NULL, &own, j, e, in, out));
    KILN_TRY(kn_build_finish(&own, out, e->nout, &body));
    for (uint32_t i = 0; i < kn_prim_jit.nparams; i++) params[i] = kn_prim_jit.params[i].kind == KN_P_JAXPR ? KN_JAXPR(body) : KN_NONE;
    *call = *e;
    call->prim = &kn_prim_jit;
    call->params = params;
    return KILN_OK;
}
