/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting a jaxpr equation by equation. */
#include "opt/rewrite.h"

kiln_status kn_rw_begin(kn_rw *rw, kn_pm *pm, const kn_jaxpr *from)
{
    *rw = (kn_rw){.pm = pm, .from = from};
    kn_build *b = &rw->b;
    kn_build_init(b, pm->ctx, pm->prog);
    /* Shared with the source until they grow: a full vector is copied before anything is added. */
    b->vars.v = (kn_var *)(uintptr_t)from->vars, b->vars.n = b->vars.cap = from->nvars;
    b->lits.v = (kn_lit *)(uintptr_t)from->lits, b->lits.n = b->lits.cap = from->nlits;
    KILN_TRY_MEM(pm->ctx, kn_reserve(&pm->prog->arena, &b->eqns, from->neqns));
    KILN_TRY_MEM(pm->ctx, kn_reserve(&pm->scratch, &rw->def, from->nvars));
    return KILN_OK;
}

kiln_status kn_rw_forward(kn_rw *rw, uint32_t v, kn_atom to)
{
    if (v >= rw->map.n) {
        uint32_t n = v < rw->from->nvars ? rw->from->nvars : v + 1;
        KILN_TRY_MEM(rw->pm->ctx, kn_reserve(&rw->pm->scratch, &rw->map, n - rw->map.n));
        while (rw->map.n < n) rw->map.v[rw->map.n] = rw->map.n, rw->map.n++;
    }
    rw->map.v[v] = to;
    return KILN_OK;
}

kiln_status kn_rw_take(kn_rw *rw, const kn_eqn *from, kn_eqn *e)
{
    *e = *from;
    for (uint32_t i = 0; i < e->nin; i++) {
        kn_atom a = kn_rw_map(rw, from->in[i]);
        if (a == from->in[i]) continue;
        kn_atom *in = kn_arena_copy(&rw->pm->prog->arena, from->in, from->nin * sizeof *in);
        KILN_TRY_MEM(rw->pm->ctx, in);
        for (; i < e->nin; i++) in[i] = kn_rw_map(rw, from->in[i]);
        e->in = in;
    }
    return KILN_OK;
}

kiln_status kn_rw_push(kn_rw *rw, const kn_eqn *e)
{
    KILN_TRY_MEM(rw->pm->ctx, kn_push(&rw->pm->prog->arena, &rw->b.eqns, *e));
    for (uint32_t i = 0; i < e->nout; i++) {
        uint32_t v = e->out[i];
        if (v >= rw->def.n) {
            KILN_TRY_MEM(rw->pm->ctx, kn_reserve(&rw->pm->scratch, &rw->def, v + 1 - rw->def.n));
            while (rw->def.n <= v) rw->def.v[rw->def.n++] = 0;
        }
        rw->def.v[v] = rw->b.eqns.n;
    }
    return KILN_OK;
}

kiln_status kn_rw_new(kn_rw *rw, const kn_eqn *like, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin,
                      kn_eqn *e)
{
    kn_build *b = &rw->b;
    kn_atom out;
    b->scope = like->scope;
    b->loc = like->loc;
    KILN_TRY(kn_build_eqn(b, prim, params, in, nin, &out, 1));
    *e = b->eqns.v[--b->eqns.n];
    return KILN_OK;
}

const kn_eqn *kn_rw_def(const kn_rw *rw, kn_atom a)
{
    return kn_is_literal(a) || a >= rw->def.n || !rw->def.v[a] ? NULL : &rw->b.eqns.v[rw->def.v[a] - 1];
}

kn_jaxpr kn_rw_view(const kn_rw *rw)
{
    const kn_build *b = &rw->b;
    return (kn_jaxpr){.vars = b->vars.v, .lits = b->lits.v, .nvars = b->vars.n, .nlits = b->lits.n};
}

kiln_status kn_rw_finish(kn_rw *rw, const kn_jaxpr **out)
{
    const kn_jaxpr *from = rw->from;
    kn_arena *arena = &rw->pm->prog->arena;
    kn_jaxpr *j = kn_arena_copy(arena, from, sizeof *from);
    kn_atom *outs = KN_NEWN(arena, kn_atom, from->nout);
    KILN_TRY_MEM(rw->pm->ctx, j && outs);
    for (uint32_t i = 0; i < from->nout; i++) outs[i] = kn_rw_map(rw, from->out[i]);
    j->vars = rw->b.vars.v, j->nvars = rw->b.vars.n;
    j->lits = rw->b.lits.v, j->nlits = rw->b.lits.n;
    j->eqns = rw->b.eqns.v, j->neqns = rw->b.eqns.n;
    j->out = outs;
    *out = j;
    return KILN_OK;
}

/* ---- numbering ---- */

static bool is_numbered(const kn_jaxpr *j)
{
    uint32_t v = 0, l = 0;
    for (uint32_t i = 0; i < j->nin; i++)
        if (j->in[i] != v++) return false;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        for (uint32_t i = 0; i < e->nin; i++)
            if (kn_is_literal(e->in[i]) && kn_literal_index(e->in[i]) != l++) return false;
        for (uint32_t i = 0; i < e->nout; i++)
            if (e->out[i] != v++) return false;
    }
    for (uint32_t i = 0; i < j->nout; i++)
        if (kn_is_literal(j->out[i]) && kn_literal_index(j->out[i]) != l++) return false;
    return v == j->nvars && l == j->nlits;
}

typedef struct numbering {
    const kn_jaxpr *from;
    uint32_t *to; /* variable -> new number */
    kn_var *vars;
    kn_lit *lits;
    uint32_t nvars, nlits;
} numbering;

static uint32_t number_var(numbering *n, uint32_t v)
{
    n->vars[n->nvars] = n->from->vars[v];
    return n->to[v] = n->nvars++;
}

static kn_atom number_use(numbering *n, kn_atom a)
{
    if (!kn_is_literal(a)) return n->to[a];
    n->lits[n->nlits] = n->from->lits[kn_literal_index(a)];
    return n->nlits++ | KN_LITERAL;
}

kiln_status kn_renumber(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    *out = j;
    if (is_numbered(j)) return KILN_OK;
    kn_arena *arena = &pm->prog->arena;
    uint64_t bound = j->nin, uses = j->nout;
    for (uint32_t k = 0; k < j->neqns; k++) bound += j->eqns[k].nout, uses += j->eqns[k].nin;
    kn_jaxpr *r = kn_arena_copy(arena, j, sizeof *j);
    numbering n = {.from = j, .to = KN_NEWN(&pm->scratch, uint32_t, j->nvars), .vars = KN_NEWN(arena, kn_var, bound),
                   .lits = KN_NEWN(arena, kn_lit, uses)};
    kn_atom *in = KN_NEWN(arena, kn_atom, j->nin), *outs = KN_NEWN(arena, kn_atom, j->nout);
    kn_atom *operands = KN_NEWN(arena, kn_atom, uses);
    uint32_t *results = KN_NEWN(arena, uint32_t, bound);
    kn_eqn *eqns = kn_arena_copy(arena, j->eqns, j->neqns * sizeof *eqns);
    KILN_TRY_MEM(pm->ctx, r && n.to && n.vars && n.lits && in && outs && operands && results && eqns);
    for (uint32_t i = 0; i < j->nin; i++) in[i] = number_var(&n, j->in[i]);
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn *e = &eqns[k];
        for (uint32_t i = 0; i < e->nin; i++) operands[i] = number_use(&n, e->in[i]);
        for (uint32_t i = 0; i < e->nout; i++) results[i] = number_var(&n, e->out[i]);
        e->in = operands, operands += e->nin;
        e->out = results, results += e->nout;
    }
    for (uint32_t i = 0; i < j->nout; i++) outs[i] = number_use(&n, j->out[i]);
    r->in = in, r->out = outs, r->eqns = eqns;
    r->vars = n.vars, r->nvars = n.nvars;
    r->lits = n.lits, r->nlits = n.nlits;
    *out = r;
    return KILN_OK;
}

/* ---- control flow ---- */

static const char *const while_params[4] = {"cond_jaxpr", "cond_nconsts", "body_jaxpr", "body_nconsts"};

bool kn_is_while(const kn_eqn *e) { return e->prim->loop == KN_LOOP_WHILE; }
bool kn_is_cond(const kn_eqn *e) { return e->prim->loop == KN_LOOP_COND; }

kn_while kn_while_of(const kn_eqn *e)
{
    kn_while w = {.cond = kn_param_of(e, while_params[0])->jaxpr, .body = kn_param_of(e, while_params[2])->jaxpr};
    w.cond_nconsts = (uint32_t)kn_param_of(e, while_params[1])->i;
    w.body_nconsts = (uint32_t)kn_param_of(e, while_params[3])->i;
    w.ncarry = e->nin - w.cond_nconsts - w.body_nconsts;
    w.cond_in = e->in;
    w.body_in = w.cond_in + w.cond_nconsts;
    w.init = w.body_in + w.body_nconsts;
    return w;
}

kiln_status kn_while_set(kn_pm *pm, kn_eqn *e, const kn_while *w)
{
    kn_arena *arena = &pm->prog->arena;
    uint32_t n = w->cond_nconsts + w->body_nconsts + w->ncarry;
    kn_param *params = kn_arena_copy(arena, e->params, e->prim->nparams * sizeof *params);
    kn_atom *in = KN_NEWN(arena, kn_atom, n), *at = in;
    KILN_TRY_MEM(pm->ctx, params && in);
    kn_param *p[4];
    for (int i = 0; i < 4; i++) p[i] = &params[kn_param_of(e, while_params[i]) - e->params];
    p[0]->jaxpr = w->cond, p[1]->i = w->cond_nconsts;
    p[2]->jaxpr = w->body, p[3]->i = w->body_nconsts;
    if (w->cond_nconsts) memcpy(at, w->cond_in, w->cond_nconsts * sizeof *in), at += w->cond_nconsts;
    if (w->body_nconsts) memcpy(at, w->body_in, w->body_nconsts * sizeof *in), at += w->body_nconsts;
    if (w->ncarry) memcpy(at, w->init, w->ncarry * sizeof *in);
    e->params = params;
    e->in = in;
    e->nin = n;
    return KILN_OK;
}

kiln_status kn_branches_set(kn_pm *pm, kn_eqn *e, const kn_jaxpr *const *branches)
{
    kn_arena *arena = &pm->prog->arena;
    const kn_param *old = kn_branches(e);
    kn_param *params = kn_arena_copy(arena, e->params, e->prim->nparams * sizeof *params);
    kn_param *items = kn_arena_copy(arena, old->items, old->n * sizeof *items);
    KILN_TRY_MEM(pm->ctx, params && items);
    for (uint32_t i = 0; i < old->n; i++) items[i].jaxpr = branches[i];
    params[old - e->params].items = items;
    e->params = params;
    return KILN_OK;
}

static kiln_status map_param(kn_pm *pm, const kn_param *p, kn_body_fn f, void *ud, kn_param *out, bool *changed)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) {
        KILN_TRY(f(ud, p->jaxpr, &out->jaxpr));
        *changed = *changed || out->jaxpr != p->jaxpr;
    } else if (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD) {
        kn_param *items = KN_NEWN(&pm->prog->arena, kn_param, p->n);
        KILN_TRY_MEM(pm->ctx, items);
        for (uint32_t i = 0; i < p->n; i++) KILN_TRY(map_param(pm, &p->items[i], f, ud, &items[i], changed));
        out->items = items;
    }
    return KILN_OK;
}

static void seen_body(void *ud, const kn_jaxpr *body)
{
    (void)body;
    *(bool *)ud = true;
}

kiln_status kn_map_bodies(kn_pm *pm, kn_eqn *e, kn_body_fn f, void *ud, bool *changed)
{
    bool any = false;
    *changed = false;
    if (e->prim->nparams) kn_eqn_bodies(e, seen_body, &any);
    if (!any) return KILN_OK;
    kn_param *params = KN_NEWN(&pm->prog->arena, kn_param, e->prim->nparams);
    KILN_TRY_MEM(pm->ctx, params);
    for (uint32_t i = 0; i < e->prim->nparams; i++) KILN_TRY(map_param(pm, &e->params[i], f, ud, &params[i], changed));
    if (*changed) e->params = params;
    return KILN_OK;
}

/* ---- values ---- */

int64_t kn_elements(kiln_type t)
{
    int64_t n = kiln_type_size(t);
    return n < 0 ? INT64_MAX : n;
}
