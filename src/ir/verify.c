/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: run on every finished program, after every pass in debug builds. */
#include "ir/prim.h"

typedef struct verifier {
    kiln_ctx *ctx;
    kn_level level;
    kn_arena arena;
    kiln_status status; /* of a nested body */
} verifier;

static kiln_status verify_jaxpr(verifier *v, const kn_jaxpr *j);

static void verify_body(void *ud, const kn_jaxpr *body)
{
    verifier *v = ud;
    if (v->status == KILN_OK) v->status = verify_jaxpr(v, body);
}

static kiln_status bad(verifier *v, const char *what, const char *where) /* a defect of whoever made the program */
{
    return kn_fail(v->ctx, KILN_INTERNAL, "program is malformed: %s in %s", what, where);
}

static kiln_status verify_eqn(verifier *v, const kn_jaxpr *j, const kn_eqn *e, bool *defined)
{
    const kn_prim *p = e->prim;
    if (v->level == KN_LOWERED && (p->flags & KN_LEVEL_TRACED) && !kn_stays(j, e)) return bad(v, "a composite after lowering", p->name);
    if (v->level == KN_TRACED && (p->flags & KN_LEVEL_LOWERED)) return bad(v, "a lowered primitive before lowering", p->name);
    kiln_type *types = KN_NEWN(&v->arena, kiln_type, e->nin);
    KILN_TRY_MEM(v->ctx, types);
    for (uint32_t i = 0; i < e->nin; i++) {
        kn_atom a = e->in[i];
        if (kn_is_literal(a) ? kn_literal_index(a) >= j->nlits : a >= j->nvars || !defined[a]) return bad(v, "an operand is not defined before", p->name);
        types[i] = kn_type_of(j, a);
    }
    v->status = KILN_OK;
    kn_eqn_bodies(e, verify_body, v);
    KILN_TRY(v->status);
    kn_typing t = {.ctx = v->ctx, .arena = &v->arena, .prim = p, .params = e->params, .in = types, .nin = e->nin};
    if (!p->type) return kn_fail(v->ctx, KILN_UNSUPPORTED, "%s has no type rule", p->name);
    KILN_TRY(p->type(&t));
    if (t.nout != e->nout) return bad(v, "a wrong number of results", p->name);
    for (uint32_t i = 0; i < e->nout; i++) {
        uint32_t x = e->out[i];
        if (x >= j->nvars || defined[x]) return bad(v, "a result is bound twice", p->name);
        if (!kiln_type_equal(j->vars[x].type, t.out[i])) return bad(v, "a result's type is not what the rule gives", p->name);
        defined[x] = true;
    }
    return KILN_OK;
}

static kiln_status verify_jaxpr(verifier *v, const kn_jaxpr *j)
{
    bool *defined = KN_NEWN(&v->arena, bool, j->nvars);
    KILN_TRY_MEM(v->ctx, defined);
    for (uint32_t i = 0; i < j->nin; i++) {
        if (j->in[i] >= j->nvars || defined[j->in[i]]) return bad(v, "an input is bound twice", "binders");
        if (i < j->nconsts && j->consts[i] && !kiln_type_equal(j->consts[i]->type, j->vars[j->in[i]].type)) return bad(v, "a constant of another type", "binders");
        defined[j->in[i]] = true;
    }
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(verify_eqn(v, j, &j->eqns[k], defined));
    for (uint32_t i = 0; i < j->nout; i++) {
        kn_atom a = j->out[i];
        if (kn_is_literal(a) ? kn_literal_index(a) >= j->nlits : a >= j->nvars || !defined[a]) return bad(v, "an output is not defined", "outputs");
    }
    return KILN_OK;
}

kiln_status kn_verify(kiln_ctx *ctx, const kn_prog *p)
{
    verifier v = {.ctx = ctx, .level = p->level};
    kn_arena_init(&v.arena, &ctx->alloc);
    kiln_status s = verify_jaxpr(&v, p->main);
    kn_arena_fini(&v.arena);
    return s;
}
