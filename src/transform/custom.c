/* SPDX-License-Identifier: Apache-2.0 */
/* Custom derivatives for programs read from text: calls of custom_jvp and custom_vjp get the rules that stand under their names, as
 * a parameter that is never printed. */
#include "transform/engine.h"
#include "transform/prog.h"

#include "prims.gen.h"

typedef struct giver {
    const kn_rules *r;
    const kiln_custom_rule *rules;
    uint32_t n;
    const kn_param *made; /* per rule */
    bool *used;
} giver;

static kiln_status with_rules(giver *g, const kn_jaxpr *j, const kn_jaxpr **out);

static kiln_status in_param(giver *g, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) return with_rules(g, p->jaxpr, &out->jaxpr);
    if (p->kind != KN_P_TUPLE && p->kind != KN_P_RECORD) return KILN_OK;
    kn_param *items = KN_NEWN(&g->r->prog->arena, kn_param, p->n);
    KILN_TRY_MEM(g->r->ctx, items);
    for (uint32_t i = 0; i < p->n; i++) KILN_TRY(in_param(g, &p->items[i], &items[i]));
    out->items = items;
    return KILN_OK;
}

/* The types that a rule must take and give, compared with those that it does. */
typedef struct wanted {
    const kn_jaxpr *j;
    const kn_atom *v;
    uint32_t n;
    bool floats; /* only the floats among them */
} wanted;
static kiln_status fits(const giver *g, const char *name, const char *what, const kn_jaxpr *rule, const kn_atom *have, uint32_t n, const wanted *w, uint32_t nw)
{
    uint32_t k = 0;
    for (uint32_t q = 0; q < nw; q++)
        for (uint32_t i = 0; i < w[q].n; i++) {
            kiln_type t = kn_type_of(w[q].j, w[q].v[i]);
            if (w[q].floats && !kn_has_tangent(t)) continue;
            if (k < n && kiln_type_equal(kn_type_of(rule, have[k]), t)) {
                k++;
                continue;
            }
            return kn_fail(g->r->ctx, KILN_INVALID, "rule %s of '%s': number %u is %s, %s is needed", what, name, k,
                           k < n ? kn_type_show(kn_type_of(rule, have[k])).s : "missing", kn_type_show(t).s);
        }
    if (k == n) return KILN_OK;
    return kn_fail(g->r->ctx, KILN_INVALID, "rule %s of '%s': %u are needed, found %u", what, name, k, n);
}

static kiln_status check(const giver *g, const kiln_custom_rule *c, const kn_param *made, const kn_jaxpr *j, const kn_eqn *e)
{
    kn_atom *outs = KN_NEWN(&g->r->prog->arena, kn_atom, e->nout);
    KILN_TRY_MEM(g->r->ctx, outs);
    for (uint32_t i = 0; i < e->nout; i++) outs[i] = e->out[i];
    const wanted in = {j, e->in, e->nin, false}, in_t = {j, e->in, e->nin, true}, out = {j, outs, e->nout, false}, out_t = {j, outs, e->nout, true};
    if (e->prim == &kn_prim_custom_jvp_call) {
        const kn_jaxpr *f = made->jaxpr;
        KILN_TRY(fits(g, c->name, "jvp, operands", f, f->in + f->nconsts, kn_nargs(f), (wanted[]){in, in_t}, 2));
        return fits(g, c->name, "jvp, results", f, f->out, f->nout, (wanted[]){out, out_t}, 2);
    }
    const kn_jaxpr *f = made->items[0].jaxpr, *b = made->items[1].jaxpr;
    uint32_t n = c->residuals;
    if (n > f->nout) return kn_fail(g->r->ctx, KILN_INVALID, "rule fwd of '%s': %u residuals, but %u results", c->name, n, f->nout);
    const wanted saved = {f, f->out + (f->nout - n), n, false};
    KILN_TRY(fits(g, c->name, "fwd, operands", f, f->in + f->nconsts, kn_nargs(f), &in, 1));
    KILN_TRY(fits(g, c->name, "fwd, results", f, f->out, f->nout, (wanted[]){out, saved}, 2));
    KILN_TRY(fits(g, c->name, "bwd, operands", b, b->in + b->nconsts, kn_nargs(b), (wanted[]){saved, out_t}, 2));
    return fits(g, c->name, "bwd, results", b, b->out, b->nout, &in_t, 1);
}

static kiln_status give(giver *g, const kn_jaxpr *j, const kn_eqn *e, kn_param *params)
{
    if (e->prim != &kn_prim_custom_jvp_call && e->prim != &kn_prim_custom_vjp_call) return KILN_OK;
    const kn_param *name = kn_param_of(e, "name"), *rule = kn_param_of(e, "rule");
    for (uint32_t i = 0; i < g->n && name->kind == KN_P_TEXT; i++) {
        const kiln_custom_rule *c = &g->rules[i];
        if (strcmp(c->name, name->text) != 0) continue;
        bool forward = e->prim == &kn_prim_custom_jvp_call;
        if (forward ? !c->jvp : !c->fwd || !c->bwd)
            return kn_fail(g->r->ctx, KILN_INVALID, "'%s' is a %s: its rule needs %s", c->name, e->prim->name, forward ? "jvp" : "fwd and bwd");
        KILN_TRY(check(g, c, &g->made[i], j, e));
        params[rule - e->params] = g->made[i];
        g->used[i] = true;
    }
    return KILN_OK;
}

static kiln_status with_rules(giver *g, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_made *d = kn_memo_find(g->r, KN_MADE_RULES, j, NULL, NULL, NULL);
    if (d) {
        *out = d->to;
        return KILN_OK;
    }
    kn_build b;
    kn_atom *map, *outs = KN_NEWN(&g->r->prog->arena, kn_atom, j->nout);
    KILN_TRY_MEM(g->r->ctx, outs);
    KILN_TRY(kn_open(g->r, &b, j, &map));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        kn_param *params = KN_NEWN(&g->r->prog->arena, kn_param, e.prim->nparams);
        KILN_TRY_MEM(g->r->ctx, params);
        for (uint32_t i = 0; i < e.prim->nparams; i++) KILN_TRY(in_param(g, &e.params[i], &params[i]));
        KILN_TRY(give(g, j, &e, params));
        e.params = params;
        KILN_TRY(kn_build_copy(&b, j, &e, map));
    }
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; i < j->nout; i++) outs[i] = kn_build_map(&b, j, j->out[i], map, &s);
    KILN_TRY(s);
    KILN_TRY(kn_build_finish(&b, outs, j->nout, out));
    return kn_memo_add(g->r, (kn_made){KN_MADE_RULES, j, NULL, NULL, NULL, *out, NULL, 0}, NULL);
}

static kiln_status give_all(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    giver g = *(const giver *)how;
    kn_arena *arena = &r->prog->arena;
    kn_param *made = KN_NEWN(arena, kn_param, g.n);
    KILN_TRY_MEM(r->ctx, made && (g.used = KN_NEWN(arena, bool, g.n)));
    g.r = r;
    g.made = made;
    for (uint32_t i = 0; i < g.n; i++) {
        const kiln_custom_rule *c = &g.rules[i];
        kn_param *parts = KN_NEWN(arena, kn_param, 3);
        KILN_TRY_MEM(r->ctx, parts);
        made[i] = (kn_param){.kind = KN_P_JAXPR};
        if (c->jvp) KILN_TRY(kn_jaxpr_copy(r->ctx, r->prog, c->jvp->main, &made[i].jaxpr));
        if (!c->fwd || !c->bwd) continue;
        parts[0] = parts[1] = (kn_param){.kind = KN_P_JAXPR};
        KILN_TRY(kn_jaxpr_copy(r->ctx, r->prog, c->fwd->main, &parts[0].jaxpr));
        KILN_TRY(kn_jaxpr_copy(r->ctx, r->prog, c->bwd->main, &parts[1].jaxpr));
        parts[2] = KN_INT(c->residuals);
        if (!c->jvp) made[i] = KN_TUPLE(3, parts);
    }
    KILN_TRY(with_rules(&g, j, out));
    for (uint32_t i = 0; i < g.n; i++)
        if (!g.used[i]) return kn_fail(r->ctx, KILN_NOTFOUND, "no custom call of the program is named '%s'", g.rules[i].name);
    return KILN_OK;
}

kiln_status kiln_prog_with_rules(kiln_ctx *ctx, const kiln_prog *p, const kiln_custom_rule *rules, uint32_t n, kiln_prog **out)
{
    giver g = {.rules = rules, .n = n};
    return kn_prog_apply(ctx, p, give_all, &g, out);
}
