/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of whole jaxprs: as they are, or where the size that is given at run time is a number. */
#include "array/size.h"
#include "ir/prim.h"

/* Bodies copied already, so that shared ones stay shared. */
typedef struct copier {
    kiln_ctx *ctx;
    kn_prog *into;
    const kn_eqn *failed; /* sized: the equation that has no type */
    bool sized; /* the size that is given at run time becomes n; types follow */
    int64_t n;
    KN_VEC(const kn_jaxpr *) from, to;
} copier;

static kiln_status copy_jaxpr(copier *c, const kn_jaxpr *j, const kn_jaxpr **out);

static kiln_status size_dims(const copier *c, const int64_t *dims, uint32_t n, const int64_t **out)
{
    int64_t *own = KN_NEWN(&c->into->arena, int64_t, n);
    KILN_TRY_MEM(c->ctx, own);
    for (uint32_t i = 0; i < n; i++) own[i] = kn_size_at(dims[i], c->n);
    *out = own;
    return KILN_OK;
}

static kiln_status copy_bodies(copier *c, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (c->sized && p->kind == KN_P_INT) out->i = kn_size_at(p->i, c->n);
    if (c->sized && p->kind == KN_P_INTS) return size_dims(c, p->ints, p->n, &out->ints);
    if (p->kind == KN_P_JAXPR) return copy_jaxpr(c, p->jaxpr, &out->jaxpr);
    if (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD) {
        kn_param *items = KN_NEWN(&c->into->arena, kn_param, p->n);
        KILN_TRY_MEM(c->ctx, items);
        for (uint32_t i = 0; i < p->n; i++) KILN_TRY(copy_bodies(c, &p->items[i], &items[i]));
        out->items = items;
    }
    return KILN_OK;
}

static kiln_status copy_input(const copier *c, kn_build *b, kiln_type t, kn_atom *out)
{
    if (c->sized && t.rank) KILN_TRY(size_dims(c, t.dims, t.rank, &t.dims));
    return kn_build_input(b, t, out);
}

static bool same_at(kiln_type made, kiln_type t, int64_t n)
{
    bool same = made.dtype == t.dtype && made.rank == t.rank;
    for (uint32_t i = 0; same && i < t.rank; i++) same = made.dims[i] == kn_size_at(t.dims[i], n);
    return same;
}

/* Of another size the results have other types. */
static kiln_status size_eqn(copier *c, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, kn_atom *map)
{
    kn_atom *in = KN_NEWN(&c->into->arena, kn_atom, e->nin), *out = KN_NEWN(&c->into->arena, kn_atom, e->nout);
    KILN_TRY_MEM(c->ctx, in && out);
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_build_map(b, j, e->in[i], map, &status);
    KILN_TRY(status);
    if (strcmp(e->prim->name, "dim_as_value") == 0 && !kn_size_open(e->params[0].i))
        return kn_build_literal(b, j->vars[e->out[0]].type.dtype, (kn_scalar){.i = e->params[0].i}, &map[e->out[0]]);
    b->scope = e->scope;
    b->loc = e->loc;
    KILN_TRY(kn_build_eqn(b, e->prim, e->params, in, e->nin, out, e->nout));
    for (uint32_t i = 0; i < e->nout; i++) {
        kiln_type t = j->vars[e->out[i]].type, made = kn_build_type(b, out[i]);
        if (!same_at(made, t, c->n))
            return kn_fail(c->ctx, KILN_SHAPE, "%s gives %s where n is %lld, and %s in general", e->prim->name, kn_type_show(made).s, (long long)c->n,
                           kn_type_show(t).s);
        map[e->out[i]] = out[i];
    }
    return KILN_OK;
}

static void has_body(void *ud, const kn_jaxpr *j)
{
    (void)j;
    *(bool *)ud = true;
}

static kiln_status copy_jaxpr(copier *c, const kn_jaxpr *j, const kn_jaxpr **out)
{
    for (uint32_t i = 0; i < c->from.n; i++)
        if (c->from.v[i] == j) {
            *out = c->to.v[i];
            return KILN_OK;
        }
    kn_arena *arena = &c->into->arena;
    kn_build b;
    kn_build_init(&b, c->ctx, c->into);
    kn_atom *map = KN_NEWN(arena, kn_atom, j->nvars);
    KILN_TRY_MEM(c->ctx, map && kn_build_reserve(&b, j->nvars, j->neqns));
    KILN_TRY(kn_build_consts(&b, j, map));
    for (uint32_t i = j->nconsts; i < j->nin; i++) KILN_TRY(copy_input(c, &b, kn_type_of(j, j->in[i]), &map[j->in[i]]));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        bool bodies = c->sized; /* or integers that are sizes */
        kn_eqn_bodies(&e, has_body, &bodies);
        if (bodies) {
            kn_param *params = KN_NEWN(arena, kn_param, e.prim->nparams);
            KILN_TRY_MEM(c->ctx, params);
            for (uint32_t i = 0; i < e.prim->nparams; i++) KILN_TRY(copy_bodies(c, &e.params[i], &params[i]));
            e.params = params;
        }
        kiln_status status = c->sized ? size_eqn(c, &b, j, &e, map) : kn_build_copy(&b, j, &e, map);
        if (status != KILN_OK && c->sized && !c->failed) c->failed = &j->eqns[k];
        KILN_TRY(status);
    }
    kn_atom *outs = KN_NEWN(arena, kn_atom, j->nout);
    KILN_TRY_MEM(c->ctx, outs);
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < j->nout; i++) outs[i] = kn_build_map(&b, j, j->out[i], map, &status);
    KILN_TRY(status);
    KILN_TRY(kn_build_finish(&b, outs, j->nout, out));
    KILN_TRY_MEM(c->ctx, kn_push(arena, &c->from, j) && kn_push(arena, &c->to, *out));
    return KILN_OK;
}

kiln_status kn_jaxpr_copy(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, const kn_jaxpr **out)
{
    copier c = {.ctx = ctx, .into = into};
    return copy_jaxpr(&c, j, out);
}

kiln_status kn_jaxpr_size(kiln_ctx *ctx, kn_prog *into, const kn_jaxpr *j, int64_t n, const kn_jaxpr **out, const kn_eqn **failed)
{
    copier c = {.ctx = ctx, .into = into, .sized = true, .n = n};
    kiln_status status = copy_jaxpr(&c, j, out);
    *failed = c.failed;
    return status;
}
