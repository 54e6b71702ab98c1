/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies over scalars applied to whole arrays. Where every equation works element by element, each becomes one over arrays, calls
 * being written out; any other body (loops, branches, arrays of its own) is run for one element after the other. */
#include "prim/body.h"
#include "prim/control.h"

#include "prims.gen.h"

enum { MOST_OPERANDS = 8 };

static bool scalars_only(const kn_jaxpr *j, const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->nin; i++)
        if (kn_type_of(j, e->in[i]).rank) return false;
    for (uint32_t i = 0; i < e->nout; i++)
        if (j->vars[e->out[i]].type.rank) return false;
    return true;
}

bool kn_body_is_elementwise(const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        const kn_prim *p = e->prim;
        const kn_jaxpr *called = kn_called(e);
        if (!scalars_only(j, e)) return false;
        if (called && kn_body_is_elementwise(called)) continue;
        bool bodies = false;
        for (uint32_t i = 0; i < p->nparams; i++) bodies = bodies || p->params[i].kind == KN_P_JAXPR || e->params[i].kind == KN_P_TUPLE;
        bool composite = p->lower && !bodies && p->nin != KN_VARIADIC; /* functions made of others */
        bool scalar = p == &kn_prim_broadcast_in_dim || p == &kn_prim_reshape; /* of a scalar to a scalar */
        if ((!(p->flags & KN_ELEMENTWISE) && !composite && !scalar) || e->nin > MOST_OPERANDS || e->nout != 1) return false;
    }
    return true;
}

static kiln_status apply(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out);

/* An equation over arrays: operands that must have the result's shape are widened to it. */
static kiln_status apply_eqn(kn_low *l, const kn_jaxpr *j, const kn_eqn *e, kn_atom *map, kiln_type shape)
{
    kn_atom few[MOST_OPERANDS], *in = few;
    kiln_status s = KILN_OK;
    bool wide = false;
    const kn_jaxpr *called = kn_called(e);
    if (e->nin > MOST_OPERANDS) KILN_TRY_MEM(l->b->ctx, in = KN_NEWN(&l->b->prog->arena, kn_atom, e->nin));
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = kn_build_map(l->b, j, e->in[i], map, &s);
        KILN_TRY(s);
        wide = wide || kn_build_type(l->b, in[i]).rank > 0;
    }
    if (called) {
        kn_atom *y = KN_NEWN(&l->b->prog->arena, kn_atom, e->nout + 1);
        KILN_TRY_MEM(l->b->ctx, y);
        KILN_TRY(apply(l, called, in, shape, y));
        for (uint32_t i = 0; i < e->nout; i++) map[e->out[i]] = y[i];
        return KILN_OK;
    }
    if (e->prim == &kn_prim_broadcast_in_dim || e->prim == &kn_prim_reshape) {
        map[e->out[0]] = in[0];
        return KILN_OK;
    }
    bool choice = e->prim == &kn_prim_select_n, clamped = e->prim == &kn_prim_clamp;
    for (uint32_t i = 0; wide && i < e->nin; i++) {
        bool must = (choice && i > 0) || (clamped && i == 1);
        if (must && kn_build_type(l->b, in[i]).rank == 0) in[i] = kn_low_widen(l, in[i], shape);
    }
    map[e->out[0]] = kn_low_op(l, e->prim, e->params, in, e->nin);
    return l->status;
}

static kiln_status apply(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out)
{
    KILN_TRY(l->status);
    kn_atom *map = KN_NEWN(&l->b->prog->arena, kn_atom, j->nvars);
    KILN_TRY_MEM(l->b->ctx, map);
    KILN_TRY(kn_build_consts(l->b, j, map));
    for (uint32_t i = j->nconsts; i < j->nin; i++) map[j->in[i]] = args[i - j->nconsts];
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(apply_eqn(l, j, &j->eqns[k], map, shape));
    for (uint32_t i = 0; i < j->nout; i++) {
        kiln_status s = KILN_OK;
        out[i] = kn_build_map(l->b, j, j->out[i], map, &s);
        KILN_TRY(s);
        if (shape.rank && kn_build_type(l->b, out[i]).rank == 0) out[i] = kn_low_widen(l, out[i], shape);
    }
    return l->status;
}

/* One element after the other: scalars in front stay as they are, everything else is an array that the loop reads. */
static kiln_status each_element(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out)
{
    uint32_t n = kn_nargs(j), consts = 0;
    int64_t size = kiln_type_size(shape);
    kn_atom *in = KN_NEWN(&l->b->prog->arena, kn_atom, n + 1);
    kn_param params[KN_SCAN_PARAMS];
    KILN_TRY(l->status);
    KILN_TRY_MEM(l->b->ctx, in);
    while (consts < n && kn_build_type(l->b, args[consts]).rank == 0) in[consts] = args[consts], consts++;
    for (uint32_t i = consts; i < n; i++) {
        kn_atom a = kn_build_type(l->b, args[i]).rank == 0 ? kn_low_widen(l, args[i], shape) : args[i];
        in[i] = kn_low_reshape(l, a, 1, &size);
    }
    KILN_TRY(l->status);
    kn_scan_plain(size, false, params);
    KILN_TRY(kn_scan_params(l->b->ctx, &l->b->prog->arena, NULL, j, (uint32_t[]){consts, 0, n - consts}, j->nout, params));
    KILN_TRY(kn_build_eqn(l->b, &kn_prim_scan, params, in, n, out, j->nout));
    for (uint32_t i = 0; i < j->nout; i++) out[i] = kn_low_reshape(l, out[i], shape.rank, shape.dims);
    return l->status;
}

kiln_status kn_low_apply(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out)
{
    if (kn_body_is_elementwise(j)) return apply(l, j, args, shape, out);
    if (shape.rank) return each_element(l, j, args, shape, out);
    KILN_TRY(l->status);
    return kn_low_inline(l->b, j, &(kn_eqn){.scope = l->b->scope, .loc = l->b->loc}, args, out);
}
