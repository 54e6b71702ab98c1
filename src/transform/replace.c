/* SPDX-License-Identifier: Apache-2.0 */
/* Equations of a program replaced by others, in its bodies too. */
#include "transform/prog.h"

typedef struct change {
    kn_may_replace may;
    kn_replace replace;
} change;

typedef struct search {
    kn_may_replace may;
    bool found;
} search;

static void look(void *ud, const kn_jaxpr *j)
{
    search *s = ud;
    for (uint32_t k = 0; k < j->neqns && !s->found; k++) {
        s->found = s->may(j, &j->eqns[k]);
        kn_eqn_bodies(&j->eqns[k], look, s);
    }
}

static kiln_status rewrite(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out);

static kiln_status in_param(const kn_rules *r, const change *c, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) return rewrite(r, p->jaxpr, c, &out->jaxpr);
    if (p->kind != KN_P_TUPLE && p->kind != KN_P_RECORD) return KILN_OK;
    kn_param *items = KN_NEWN(&r->prog->arena, kn_param, p->n);
    KILN_TRY_MEM(r->ctx, items);
    for (uint32_t i = 0; i < p->n; i++) KILN_TRY(in_param(r, c, &p->items[i], &items[i]));
    out->items = items;
    return KILN_OK;
}

static kiln_status one(const kn_rules *r, const change *c, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, kn_atom *map)
{
    kiln_status status = KILN_OK;
    if (c->may(j, e)) {
        bool done;
        kn_atom *in = KN_NEWN(&r->prog->arena, kn_atom, e->nin + 1), *y = KN_NEWN(&r->prog->arena, kn_atom, e->nout + 1);
        KILN_TRY_MEM(r->ctx, in && y);
        for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_build_map(b, j, e->in[i], map, &status);
        KILN_TRY(status);
        b->scope = e->scope, b->loc = e->loc;
        KILN_TRY(c->replace(r, b, j, e, in, y, &done));
        for (uint32_t i = 0; done && i < e->nout; i++) map[e->out[i]] = y[i];
        if (done) return KILN_OK;
    }
    kn_eqn own = *e;
    kn_param *params = KN_NEWN(&r->prog->arena, kn_param, e->prim->nparams);
    KILN_TRY_MEM(r->ctx, params);
    for (uint32_t i = 0; i < e->prim->nparams; i++) KILN_TRY(in_param(r, c, &e->params[i], &params[i]));
    own.params = params;
    return kn_build_copy(b, j, &own, map);
}

static kiln_status rewrite(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    const change *c = how;
    search s = {.may = c->may};
    kn_build b;
    kn_atom *map, *y = KN_NEWN(&r->prog->arena, kn_atom, j->nout + 1);
    *out = j;
    look(&s, j);
    if (!s.found) return KILN_OK;
    KILN_TRY_MEM(r->ctx, y);
    KILN_TRY(kn_open(r, &b, j, &map));
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(one(r, c, &b, j, &j->eqns[k], map));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < j->nout; i++) y[i] = kn_build_map(&b, j, j->out[i], map, &status);
    KILN_TRY(status);
    return kn_build_finish(&b, y, j->nout, out);
}

kiln_status kn_prog_replace(kiln_ctx *ctx, const kn_prog *p, kn_may_replace may, kn_replace replace, kn_prog **out)
{
    search s = {.may = may};
    *out = NULL;
    look(&s, p->main);
    return s.found ? kn_prog_apply(ctx, p, rewrite, &(change){may, replace}, out) : KILN_OK;
}
