/* SPDX-License-Identifier: Apache-2.0 */
/* A while whose condition gives an array of bools, as JAX's vmap makes it: its dimensions lead those of every carry. The loop goes on as
 * long as any is true, and a trip changes what belongs to the true ones alone. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/while_lanes.h"

#include "prims.gen.h"

static kiln_type decision(const kn_eqn *e)
{
    const kn_jaxpr *cond = kn_while_parts_of(e).cond;
    return kn_type_of(cond, cond->out[0]);
}

bool kn_while_is_single(const kn_jaxpr *j, const kn_eqn *e) { return (void)j, decision(e).rank == 0; }

kiln_status kn_while_check(const kn_typing *t, const kn_jaxpr *cond, const kiln_type *carries, uint32_t n)
{
    kiln_type go = cond->nout == 1 ? kn_type_of(cond, cond->out[0]) : KILN_SCALAR(KILN_TOKEN);
    if (go.dtype != KILN_BOOL)
        return kn_fail(t->ctx, KILN_DTYPE, "while: cond_jaxpr gives %u results%s%s, but one of bool is needed", cond->nout, cond->nout == 1 ? ", of " : "",
                       cond->nout == 1 ? kn_type_show(go).s : "");
    for (uint32_t i = 0; i < n; i++) {
        bool leads = carries[i].rank >= go.rank;
        for (uint32_t d = 0; leads && d < go.rank; d++) leads = carries[i].dims[d] == go.dims[d];
        if (!leads)
            return kn_fail(t->ctx, KILN_SHAPE, "while: result 0 of cond_jaxpr is %s, whose dimensions do not lead those of carry %u, %s; accepted: bool[] and dimensions that all carries begin with",
                           kn_type_show(go).s, i, kn_type_show(carries[i]).s);
    }
    return KILN_OK;
}

bool kn_while_any(const kiln_array *go)
{
    for (size_t k = 0; k < go->bytes; k++)
        if (((const unsigned char *)go->data)[k]) return true;
    return false;
}

kiln_status kn_while_settle(kiln_ctx *ctx, const kiln_array *go, const kiln_array *old, kiln_array **next)
{
    kiln_array *own;
    if (*next == old) return KILN_OK;
    KILN_TRY(kiln_array_create(ctx, old->type, &own));
    size_t n = go->bytes, each = n ? own->bytes / n : 0;
    for (size_t k = 0; k < n; k++) {
        const kiln_array *from = ((const unsigned char *)go->data)[k] ? *next : old;
        if (each) memcpy((char *)own->data + k * each, (const char *)from->data + k * each, each);
    }
    kiln_array_release(*next);
    *next = own;
    return KILN_OK;
}

/* ---- as a while that decides once ---- */

static kiln_status inputs(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, uint32_t from, uint32_t to, kn_atom *out)
{
    for (uint32_t i = from; i < to; i++) KILN_TRY(kn_build_input(b, kn_in_type(j, e, i), out++));
    return KILN_OK;
}

static kiln_status any_of(kn_build *around, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr **out)
{
    kn_while_parts p = kn_while_parts_of(e);
    kn_build b;
    kn_atom *in = KN_NEWN(&around->prog->arena, kn_atom, e->nin), go;
    int64_t axes[KN_RANK_LIMIT];
    uint32_t first = p.cond_consts + p.body_consts;
    KILN_TRY_MEM(around->ctx, in);
    kn_build_init(&b, around->ctx, around->prog);
    KILN_TRY(inputs(&b, j, e, 0, p.cond_consts, in));
    KILN_TRY(inputs(&b, j, e, first, e->nin, in + p.cond_consts));
    KILN_TRY(kn_low_inline(&b, p.cond, e, in, &go));
    kn_low l = {&b, KILN_OK};
    uint32_t rank = decision(e).rank;
    for (uint32_t d = 0; d < rank; d++) axes[d] = d;
    go = kn_low_op(&l, &kn_prim_reduce_or, (kn_param[]){KN_INTS(rank, axes), KN_NONE}, &go, 1);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &go, 1, out);
}

/* Arguments: constants of the condition, those of the body, carries. */
static kiln_status where_true(kn_build *around, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr **out)
{
    kn_while_parts p = kn_while_parts_of(e);
    kn_build b;
    uint32_t first = p.cond_consts + p.body_consts;
    kn_atom *in = KN_NEWN(&around->prog->arena, kn_atom, 2 * e->nin + e->nout), *of_cond = in + e->nin, *next = of_cond + e->nin, go;
    int64_t leads[KN_RANK_LIMIT];
    KILN_TRY_MEM(around->ctx, in);
    kn_build_init(&b, around->ctx, around->prog);
    KILN_TRY(inputs(&b, j, e, 0, e->nin, in));
    memcpy(of_cond, in, p.cond_consts * sizeof *in);
    memcpy(of_cond + p.cond_consts, in + first, e->nout * sizeof *in);
    KILN_TRY(kn_low_inline(&b, p.cond, e, of_cond, &go));
    KILN_TRY(kn_low_inline(&b, p.body, e, in + p.cond_consts, next));
    kn_low l = {&b, KILN_OK};
    uint32_t rank = decision(e).rank;
    for (uint32_t d = 0; d < rank; d++) leads[d] = d;
    for (uint32_t i = 0; i < e->nout; i++) {
        kiln_type t = kn_out_type(j, e, i);
        kn_atom wide = go;
        if (t.rank > rank) wide = kn_low_op(&l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(rank, leads), KN_INTS(t.rank, t.dims), KN_NONE}, &go, 1);
        next[i] = kn_low_select(&l, wide, next[i], in[first + i]);
    }
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, e->nout, out);
}

kiln_status kn_lower_while(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    if (kn_while_is_single(j, e)) return kn_build_eqn(b, e->prim, e->params, x, e->nin, y, e->nout);
    kn_while_parts p = kn_while_parts_of(e);
    const kn_jaxpr *cond, *body;
    kn_param params[KN_WHILE_PARAMS];
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + p.cond_consts);
    KILN_TRY_MEM(b->ctx, in);
    KILN_TRY(any_of(b, j, e, &cond));
    KILN_TRY(where_true(b, j, e, &body));
    kn_while_params(params, cond, p.cond_consts, body, p.cond_consts + p.body_consts);
    kn_while_keep(params, e);
    memcpy(in, x, p.cond_consts * sizeof *in);
    memcpy(in + p.cond_consts, x, e->nin * sizeof *in);
    return kn_build_eqn(b, e->prim, params, in, e->nin + p.cond_consts, y, e->nout);
}

kiln_status kn_batch_while_lanes(kn_lanes *m, kn_atom *y, int *out_axis)
{
    const kn_eqn *e = m->e;
    kn_build own, *b = m->l.b;
    const kn_jaxpr *body, *over;
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin), *out = KN_NEWN(&b->prog->arena, kn_atom, e->nout);
    bool *lanes = KN_NEWN(&b->prog->arena, bool, e->nin), *found = KN_NEWN(&b->prog->arena, bool, e->nout);
    KILN_TRY_MEM(b->ctx, in && out && lanes && found);
    kn_build_init(&own, b->ctx, b->prog);
    KILN_TRY(inputs(&own, m->j, e, 0, e->nin, in));
    KILN_TRY(kn_lower_while(m->r, &own, m->j, e, in, out));
    KILN_TRY(kn_build_finish(&own, out, e->nout, &body));
    for (uint32_t i = 0; i < e->nin; i++) lanes[i] = kn_has_lanes(m, i);
    KILN_TRY(m->r->batch(m->r, body, m->size, lanes, NULL, &over, found));
    for (uint32_t i = 0; i < e->nout; i++) out_axis[i] = found[i] ? 0 : KN_NO_LANES;
    return kn_low_inline(b, over, e, m->x, y);
}
