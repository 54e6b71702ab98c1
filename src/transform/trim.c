/* SPDX-License-Identifier: Apache-2.0 */
/* Removes equations whose results nobody needs, and inside bodies: results and arguments of calls, carries and stacked arrays of
 * loops, results of branches. Bodies with custom rules stay whole. */
#include "transform/control.h"

typedef struct kept {
    bool keep, *out, *in; /* in, out: NULL: all of them */
    const kn_param *params;
} kept;

typedef struct walk {
    const kn_rules *r;
    const kn_jaxpr *j;
    bool *need; /* per variable */
    kept *eqns;
} walk;

static kiln_status flags(const kn_rules *r, uint32_t n, bool **out)
{
    KILN_TRY_MEM(r->ctx, *out = KN_NEWN(&r->prog->arena, bool, n));
    return KILN_OK;
}

static kiln_status params_of(const walk *w, const kn_eqn *e, kn_param **out)
{
    KILN_TRY_MEM(w->r->ctx, *out = kn_arena_copy(&w->r->prog->arena, e->params, e->prim->nparams * sizeof **out));
    return KILN_OK;
}

static kiln_status trim_call(walk *w, const kn_eqn *e, kept *k)
{
    kn_param *params;
    uint32_t at = kn_body_param(e->prim);
    KILN_TRY(params_of(w, e, &params));
    KILN_TRY(flags(w->r, e->nin, &k->in));
    KILN_TRY(kn_trim_body(w->r, e->params[at].jaxpr, k->out, &params[at].jaxpr, k->in));
    kn_forget_layouts(e->prim, params);
    k->params = params;
    return KILN_OK;
}

static kiln_status trim_cond(walk *w, const kn_eqn *e, kept *k)
{
    kn_param *params, *items;
    uint32_t n = kn_cond_branches(e), nargs = e->nin - 1;
    bool *used;
    KILN_TRY(params_of(w, e, &params));
    KILN_TRY(flags(w->r, e->nin, &k->in));
    KILN_TRY(flags(w->r, nargs, &used));
    KILN_TRY_MEM(w->r->ctx, items = kn_arena_copy(&w->r->prog->arena, params[0].items, n * sizeof *items));
    k->in[0] = true;
    for (uint32_t i = 0; i < n; i++) {
        KILN_TRY(kn_used_args(w->r, items[i].jaxpr, k->out, used));
        for (uint32_t a = 0; a < nargs; a++) k->in[1 + a] |= used[a];
        KILN_TRY(kn_trim_body(w->r, items[i].jaxpr, k->out, &items[i].jaxpr, NULL));
    }
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_pick_args(w->r, items[i].jaxpr, k->in + 1, &items[i].jaxpr));
    params[0].items = items;
    k->params = params;
    return KILN_OK;
}

/* A carry is needed where its last value is, or where what is needed of a trip reads it. */
static kiln_status trim_scan(walk *w, const kn_eqn *e, kept *k)
{
    kn_scan_parts p = kn_scan_parts_of(e);
    kn_param *params;
    bool *used = k->out, again = true;
    KILN_TRY(params_of(w, e, &params));
    KILN_TRY(flags(w->r, e->nin, &k->in));
    while (again) {
        again = false;
        KILN_TRY(kn_used_args(w->r, p.body, used, k->in));
        for (uint32_t i = 0; i < p.carries; i++)
            if (k->in[p.consts + i] && !used[i]) used[i] = again = true;
    }
    for (uint32_t i = 0; i < p.carries; i++) k->in[p.consts + i] = used[i];
    const kn_jaxpr *body;
    KILN_TRY(kn_trim_body(w->r, p.body, used, &body, NULL));
    KILN_TRY(kn_pick_args(w->r, body, k->in, &body));
    uint32_t n[3] = {0, 0, 0};
    for (uint32_t i = 0; i < e->nin; i++) n[i < p.consts ? 0 : i < p.consts + p.carries ? 1 : 2] += k->in[i];
    KILN_TRY(kn_scan_params(w->r->ctx, &w->r->prog->arena, e, body, n, body->nout - n[1], params));
    k->params = params;
    return KILN_OK;
}

static kiln_status trim_while(walk *w, const kn_eqn *e, kept *k)
{
    kn_while_parts p = kn_while_parts_of(e);
    uint32_t c = p.cond_consts, b = p.body_consts, n = e->nout;
    kn_param *params;
    bool *used = k->out, *cond_in, *body_in, again = true;
    KILN_TRY(params_of(w, e, &params));
    KILN_TRY(flags(w->r, e->nin, &k->in));
    KILN_TRY(flags(w->r, c + n, &cond_in));
    KILN_TRY(flags(w->r, b + n, &body_in));
    KILN_TRY(kn_used_args(w->r, p.cond, NULL, cond_in));
    for (uint32_t i = 0; i < n; i++) used[i] |= cond_in[c + i];
    while (again) {
        again = false;
        KILN_TRY(kn_used_args(w->r, p.body, used, body_in));
        for (uint32_t i = 0; i < n; i++)
            if (body_in[b + i] && !used[i]) used[i] = again = true;
    }
    for (uint32_t i = 0; i < n; i++) cond_in[c + i] = body_in[b + i] = k->in[c + b + i] = used[i];
    uint32_t nc = 0, nb = 0;
    for (uint32_t i = 0; i < c; i++) nc += k->in[i] = cond_in[i];
    for (uint32_t i = 0; i < b; i++) nb += k->in[c + i] = body_in[i];
    KILN_TRY(kn_trim_body(w->r, p.cond, NULL, &p.cond, NULL));
    KILN_TRY(kn_pick_args(w->r, p.cond, cond_in, &p.cond));
    KILN_TRY(kn_trim_body(w->r, p.body, used, &p.body, NULL));
    KILN_TRY(kn_pick_args(w->r, p.body, body_in, &p.body));
    kn_while_params(params, p.cond, nc, p.body, nb);
    kn_while_keep(params, e);
    k->params = params;
    return KILN_OK;
}

static kiln_status visit(walk *w, const kn_eqn *e, kept *k)
{
    k->keep = e->prim->flags & KN_EFFECT;
    bool all = true;
    for (uint32_t i = 0; i < e->nout; i++) k->keep |= w->need[e->out[i]], all &= w->need[e->out[i]];
    if (!k->keep) return KILN_OK;
    k->params = e->params;
    kn_control c = kn_control_of(e);
    if (c != KN_C_NONE) {
        KILN_TRY(flags(w->r, e->nout, &k->out));
        for (uint32_t i = 0; i < e->nout; i++) k->out[i] = w->need[e->out[i]];
    }
    switch (c) {
    case KN_C_CALL:
    case KN_C_REMAT: KILN_TRY(trim_call(w, e, k)); break;
    case KN_C_COND: KILN_TRY(trim_cond(w, e, k)); break;
    case KN_C_SCAN: KILN_TRY(trim_scan(w, e, k)); break;
    case KN_C_WHILE: KILN_TRY(trim_while(w, e, k)); break;
    case KN_C_NONE: break;
    }
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_is_literal(e->in[i]) && (!k->in || k->in[i])) w->need[e->in[i]] = true;
    return KILN_OK;
}

/* Which variables and equations results in `used` need. */
static kiln_status mark(walk *w, const bool *used)
{
    const kn_jaxpr *j = w->j;
    KILN_TRY(flags(w->r, j->nvars, &w->need));
    KILN_TRY_MEM(w->r->ctx, w->eqns = KN_NEWN(&w->r->prog->arena, kept, j->neqns));
    for (uint32_t i = 0; i < j->nout; i++)
        if ((!used || used[i]) && !kn_is_literal(j->out[i])) w->need[j->out[i]] = true;
    for (uint32_t k = j->neqns; k-- > 0;) KILN_TRY(visit(w, &j->eqns[k], &w->eqns[k]));
    return KILN_OK;
}

static kiln_status rebuild_eqn(walk *w, kn_build *b, const kn_eqn *e, const kept *k, kn_atom *map)
{
    kn_atom few[32], *v = few;
    uint32_t nin = 0, nout = 0;
    if (e->nin + e->nout > 32) KILN_TRY_MEM(w->r->ctx, v = KN_NEWN(&w->r->prog->arena, kn_atom, e->nin + e->nout));
    kn_atom *in = v, *out = v + e->nin;
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!k->in || k->in[i]) in[nin++] = kn_build_map(b, w->j, e->in[i], map, &s);
    KILN_TRY(s);
    for (uint32_t i = 0; i < e->nout; i++) nout += !k->out || k->out[i];
    b->scope = e->scope;
    b->loc = e->loc;
    if (k->in || k->out) KILN_TRY(kn_build_eqn(b, e->prim, k->params, in, nin, out, nout));
    else KILN_TRY(kn_build_like(b, w->j, e, in, out));
    nout = 0;
    for (uint32_t i = 0; i < e->nout; i++)
        if (!k->out || k->out[i]) map[e->out[i]] = out[nout++];
    return KILN_OK;
}

static kiln_status rebuild(walk *w, const bool *used, const kn_jaxpr **out)
{
    const kn_jaxpr *j = w->j;
    kn_arena *arena = &w->r->prog->arena;
    kn_build b;
    kn_build_init(&b, w->r->ctx, w->r->prog);
    kn_atom *map = KN_NEWN(arena, kn_atom, j->nvars), *outs = KN_NEWN(arena, kn_atom, j->nout);
    uint32_t neqns = 0;
    for (uint32_t k = 0; k < j->neqns; k++) neqns += w->eqns[k].keep;
    KILN_TRY_MEM(w->r->ctx, map && outs && kn_build_reserve(&b, j->nin + neqns, neqns));
    for (uint32_t i = 0; i < j->nconsts; i++) {
        if (!w->need[j->in[i]]) continue;
        if (j->consts[i]) KILN_TRY(kn_build_const(&b, j->consts[i], &map[j->in[i]]));
        else KILN_TRY(kn_build_hole(&b, kn_type_of(j, j->in[i]), &map[j->in[i]]));
    }
    for (uint32_t i = j->nconsts; i < j->nin; i++) KILN_TRY(kn_build_input(&b, kn_type_of(j, j->in[i]), &map[j->in[i]]));
    for (uint32_t k = 0; k < j->neqns; k++)
        if (w->eqns[k].keep) KILN_TRY(rebuild_eqn(w, &b, &j->eqns[k], &w->eqns[k], map));
    uint32_t n = 0;
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; i < j->nout; i++)
        if (!used || used[i]) outs[n++] = kn_build_map(&b, j, j->out[i], map, &s);
    KILN_TRY(s);
    return kn_build_finish(&b, outs, n, out);
}

/* Is all of the body needed as it stands? */
static bool whole(const walk *w, const bool *used)
{
    const kn_jaxpr *j = w->j;
    bool all = true;
    for (uint32_t i = 0; i < j->nout && all; i++) all = !used || used[i];
    for (uint32_t i = 0; i < j->nconsts && all; i++) all = w->need[j->in[i]];
    for (uint32_t k = 0; k < j->neqns && all; k++) all = w->eqns[k].keep && !w->eqns[k].in && !w->eqns[k].out;
    return all;
}

static kiln_status made(const kn_rules *r, const kn_jaxpr *j, const bool *used, kn_made **out)
{
    if ((*out = kn_memo_find(r, KN_MADE_TRIM, j, NULL, NULL, used))) return KILN_OK;
    walk w = {.r = r, .j = j};
    const kn_jaxpr *to;
    bool *found;
    KILN_TRY(mark(&w, used));
    if (whole(&w, used)) to = j;
    else KILN_TRY(rebuild(&w, used, &to));
    KILN_TRY(flags(r, kn_nargs(j), &found));
    for (uint32_t i = 0; i < kn_nargs(j); i++) found[i] = w.need[j->in[j->nconsts + i]];
    return kn_memo_add(r, (kn_made){KN_MADE_TRIM, j, NULL, NULL, used, to, found, 0}, out);
}

static kiln_status all_flags(const kn_rules *r, uint32_t n, const bool **used)
{
    bool *all;
    if (*used) return KILN_OK;
    KILN_TRY(flags(r, n, &all));
    memset(all, 1, n);
    *used = all;
    return KILN_OK;
}

kiln_status kn_used_args(const kn_rules *r, const kn_jaxpr *j, const bool *used, bool *used_in)
{
    kn_made *d;
    KILN_TRY(all_flags(r, j->nout, &used));
    KILN_TRY(made(r, j, used, &d));
    memcpy(used_in, d->flags, kn_nargs(j) * sizeof *used_in);
    return KILN_OK;
}

kiln_status kn_trim_body(const kn_rules *r, const kn_jaxpr *j, const bool *used, const kn_jaxpr **out, bool *used_in)
{
    kn_made *d;
    KILN_TRY(all_flags(r, j->nout, &used));
    KILN_TRY(made(r, j, used, &d));
    *out = d->to;
    if (!used_in) return KILN_OK;
    memcpy(used_in, d->flags, kn_nargs(j) * sizeof *used_in);
    return kn_pick_args(r, d->to, used_in, out);
}

kiln_status kn_trim(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out) { return kn_trim_body(r, j, NULL, out, NULL); }

kiln_status kn_pick_args(const kn_rules *r, const kn_jaxpr *j, const bool *keep, const kn_jaxpr **out)
{
    kn_arena *arena = &r->prog->arena;
    bool all = true;
    for (uint32_t i = 0; i < kn_nargs(j); i++) all &= keep[i];
    *out = j;
    if (all) return KILN_OK;
    kn_made *d = kn_memo_find(r, KN_MADE_PICK, j, keep, NULL, NULL);
    if (d) {
        *out = d->to;
        return KILN_OK;
    }
    kn_jaxpr *n = kn_arena_copy(arena, j, sizeof *j);
    kn_atom *in = KN_NEWN(arena, kn_atom, j->nin);
    KILN_TRY_MEM(r->ctx, n && in);
    n->nin = j->nconsts;
    memcpy(in, j->in, j->nconsts * sizeof *in);
    for (uint32_t i = j->nconsts; i < j->nin; i++)
        if (keep[i - j->nconsts]) in[n->nin++] = j->in[i];
    n->in = in;
    *out = n;
    return kn_memo_add(r, (kn_made){KN_MADE_PICK, j, keep, NULL, NULL, n, NULL, 0}, NULL);
}
