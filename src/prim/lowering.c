/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/lowering.h"
#include "prim/common.h"

kn_atom kn_low_op(kn_low *l, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    kn_atom out = 0;
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, p, params, in, nin, &out, 1);
    return l->status == KILN_OK ? out : 0;
}

/* Primitives used through these have optional parameters only. */
static const kn_param nothing[4] = {{.kind = KN_P_NONE}, {.kind = KN_P_NONE}, {.kind = KN_P_NONE}, {.kind = KN_P_NONE}};

kn_atom kn_low1(kn_low *l, const kn_prim *p, kn_atom a) { return kn_low_op(l, p, nothing, &a, 1); }
kn_atom kn_low2(kn_low *l, const kn_prim *p, kn_atom a, kn_atom b) { return kn_low_op(l, p, nothing, (kn_atom[]){a, b}, 2); }

static kn_atom literal(kn_low *l, kiln_dtype d, kn_scalar v)
{
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, d, v, &a);
    return l->status == KILN_OK ? a : 0;
}

kn_atom kn_low_num(kn_low *l, kiln_dtype d, double v)
{
    kn_scalar x = {.f = v};
    if (kiln_dtype_kind(d) == 'c') return literal(l, d, (kn_scalar){.c = {v, 0}});
    return literal(l, d, kn_sop_eval(KN_S_convert, KILN_F64, d, x, x, x));
}

kn_atom kn_low_widen(kn_low *l, kn_atom scalar, kiln_type shape)
{
    if (l->status != KILN_OK || shape.rank == 0) return scalar;
    kn_param params[] = {KN_INTS(0, NULL), KN_INTS(shape.rank, shape.dims), KN_NONE};
    return kn_low_op(l, &kn_prim_broadcast_in_dim, params, &scalar, 1);
}

kn_atom kn_low_fill(kn_low *l, kiln_type t, kn_scalar v) { return kn_low_widen(l, literal(l, t.dtype, v), t); }

kn_atom kn_low_select(kn_low *l, kn_atom which, kn_atom yes, kn_atom no)
{
    if (l->status != KILN_OK) return 0;
    kiln_type shape = kn_build_type(l->b, which);
    if (shape.rank && kn_build_type(l->b, yes).rank == 0) yes = kn_low_widen(l, yes, shape);
    if (shape.rank && kn_build_type(l->b, no).rank == 0) no = kn_low_widen(l, no, shape);
    return kn_low_op(l, &kn_prim_select_n, NULL, (kn_atom[]){which, no, yes}, 3);
}

kn_atom kn_low_convert(kn_low *l, kn_atom a, kiln_dtype to)
{
    if (l->status != KILN_OK || kn_build_type(l->b, a).dtype == to) return a;
    return kn_low_op(l, &kn_prim_convert_element_type, (kn_param[]){KN_DTYPE(to), KN_NONE, KN_BOOL(false)}, &a, 1);
}

kn_atom kn_low_in_shape(kn_low *l, kn_atom a, kiln_type shape)
{
    if (l->status != KILN_OK) return a;
    kiln_type t = kn_build_type(l->b, a);
    if (t.rank == 0) return kn_low_widen(l, a, shape);
    bool same = true;
    int64_t at[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) same = same && t.dims[d] == shape.dims[d], at[d] = d;
    kn_param params[] = {KN_INTS(t.rank, at), KN_INTS(shape.rank, shape.dims), KN_NONE};
    return same ? a : kn_low_op(l, &kn_prim_broadcast_in_dim, params, &a, 1);
}

kn_atom kn_low_reshape(kn_low *l, kn_atom a, uint32_t rank, const int64_t *dims)
{
    return kn_low_op(l, &kn_prim_reshape, (kn_param[]){KN_NONE, KN_INTS(rank, dims), KN_NONE}, &a, 1);
}

kn_atom kn_low_iota(kn_low *l, kiln_type t, uint32_t axis)
{
    return kn_low_op(l, &kn_prim_iota, (kn_param[]){KN_INT(axis), KN_DTYPE(t.dtype), KN_INTS(t.rank, t.dims), KN_NONE}, NULL, 0);
}

kiln_status kn_low_inline(kn_build *b, const kn_jaxpr *body, const kn_eqn *call, const kn_atom *args, kn_atom *out)
{
    kn_atom *map = KN_NEWN(&b->prog->arena, kn_atom, body->nvars);
    KILN_TRY_MEM(b->ctx, map && kn_build_reserve(b, body->nvars, body->neqns));
    KILN_TRY(kn_build_consts(b, body, map));
    for (uint32_t i = body->nconsts; i < body->nin; i++) map[body->in[i]] = args[i - body->nconsts];
    uint32_t scope = b->scope;
    kn_loc loc = b->loc;
    for (uint32_t k = 0; k < body->neqns; k++) {
        kn_eqn e = body->eqns[k];
        if (e.scope == 0) e.scope = call->scope;
        if (e.loc.line == 0) e.loc = call->loc;
        KILN_TRY(kn_build_copy(b, body, &e, map));
    }
    b->scope = scope;
    b->loc = loc;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < body->nout; i++) out[i] = kn_build_map(b, body, body->out[i], map, &status);
    return status;
}
