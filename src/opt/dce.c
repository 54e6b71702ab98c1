/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   removes what no output needs: equations, carries of loops, results and operands of branches, constants
 * Needs:  a lowered program
 * Leaves: inputs of the program, equations with effects
 * Cost:   linear: every variable of every body is marked at most once
 * Switch: --skip dce
 *
 * A carry of a loop is needed when its result is, when the condition reads it, or when a needed carry's next value does.
 *
 * Before:
 *   { lambda ; a:f64[] b:f64[]. let
 *       c:f64[] = sin a
 *       d:i32[] e:f64[] f:f64[] = while[
 *         body_jaxpr={ lambda ; g:f64[] h:i32[] i:f64[] j:f64[]. let
 *             k:i32[] = add h 1:i32[]
 *             l:f64[] = mul i g
 *             m:f64[] = add j i
 *             n:f64[] = exp m
 *           in (k, l, n) }
 *         body_nconsts=1
 *         cond_jaxpr={ lambda ; o:i32[] p:f64[] q:f64[]. let r:bool[] = lt o 9:i32[] in (r,) }
 *         cond_nconsts=0
 *       ] b 0:i32[] a c
 *     in (e,) }
 * After:
 *   { lambda ; a:f64[] b:f64[]. let
 *       _:i32[] c:f64[] = while[
 *         body_jaxpr={ lambda ; d:f64[] e:i32[] f:f64[]. let
 *             g:i32[] = add e 1:i32[]
 *             h:f64[] = mul f d
 *           in (g, h) }
 *         body_nconsts=1
 *         cond_jaxpr={ lambda ; i:i32[] j:f64[]. let k:bool[] = lt i 9:i32[] in (k,) }
 *         cond_nconsts=0
 *       ] b 0:i32[] a
 *     in (c,) }
 */
#include "opt/rules.h"

enum { EQUATION, CARRY, RESULT, OPERAND, CONSTANT };
static const kn_rule *row(int k);

/* One body in its place: a body that two equations share has two instances, which may need different parts of it. */
typedef struct instance instance;
struct instance {
    const kn_jaxpr *j;
    bool *live;      /* variables */
    bool *kept;      /* equations */
    uint32_t *def;   /* number + 1 of the equation that binds a variable */
    uint32_t *input; /* number + 1 of the input that a variable is */
    instance ***kids; /* per equation: its bodies in order (while: condition, body), or NULL */
    instance *owner;
    const kn_eqn *call; /* of the owner: its equation number `place` */
    uint32_t place, number; /* number: which body of it */
};

typedef struct mark {
    instance *at;
    uint32_t v;
} mark;

typedef struct dce {
    kn_pm *pm;
    kiln_status status;
    KN_VEC(mark) work;
    KN_VEC(instance *) all;
} dce;

static bool controls(const kn_eqn *e) { return kn_is_while(e) || kn_is_cond(e); }

static instance *instantiate(dce *d, const kn_jaxpr *j, instance *owner, uint32_t place, uint32_t number)
{
    kn_arena *a = &d->pm->scratch;
    instance *x = KN_NEW(a, instance);
    if (!x) return NULL;
    *x = (instance){.j = j, .owner = owner, .place = place, .number = number};
    x->call = owner ? &owner->j->eqns[place] : NULL;
    x->live = KN_NEWN(a, bool, j->nvars);
    x->kept = KN_NEWN(a, bool, j->neqns);
    x->def = KN_NEWN(a, uint32_t, j->nvars);
    x->input = KN_NEWN(a, uint32_t, j->nvars);
    x->kids = KN_NEWN(a, instance **, j->neqns);
    if (!x->live || !x->kept || !x->def || !x->input || !x->kids) return NULL;
    for (uint32_t i = 0; i < j->nin; i++) x->input[j->in[i]] = i + 1;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        for (uint32_t i = 0; i < e->nout; i++) x->def[e->out[i]] = k + 1;
        if (!controls(e)) continue;
        kn_while w = kn_is_while(e) ? kn_while_of(e) : (kn_while){0};
        uint32_t n = kn_is_while(e) ? 2 : kn_branches(e)->n;
        if (!(x->kids[k] = KN_NEWN(a, instance *, n))) return NULL;
        for (uint32_t i = 0; i < n; i++) {
            const kn_jaxpr *body = kn_is_while(e) ? (i ? w.body : w.cond) : kn_branches(e)->items[i].jaxpr;
            if (!(x->kids[k][i] = instantiate(d, body, x, k, i))) return NULL;
        }
    }
    return kn_push(a, &d->all, x) ? x : NULL;
}

/* ---- marking ---- */

static void need(dce *d, instance *at, kn_atom a)
{
    if (kn_is_literal(a) || at->live[a]) return;
    at->live[a] = true;
    if (!kn_push(&d->pm->scratch, &d->work, (mark){at, a})) d->status = kn_nomem(d->pm->ctx);
}

/* An equation that is kept: what does not depend on which of its results are needed. */
static void keep(dce *d, instance *at, uint32_t k)
{
    const kn_eqn *e = &at->j->eqns[k];
    if (at->kept[k]) return;
    at->kept[k] = true;
    if (kn_is_while(e)) need(d, at->kids[k][0], at->kids[k][0]->j->out[0]);
    else if (kn_is_cond(e)) need(d, at, e->in[0]);
    else
        for (uint32_t i = 0; i < e->nin; i++) need(d, at, e->in[i]);
}

/* Carry k of a loop: its first value, its next value, its place among the results. */
static void need_carry(dce *d, instance *at, const kn_eqn *e, instance *const *kids, uint32_t k)
{
    need(d, at, kn_while_of(e).init[k]);
    need(d, kids[1], kids[1]->j->out[k]);
    need(d, at, e->out[k]);
}

static void need_result(dce *d, instance *at, uint32_t v)
{
    uint32_t k = at->def[v] - 1, i = 0;
    const kn_eqn *e = &at->j->eqns[k];
    keep(d, at, k);
    if (!controls(e)) return;
    while (e->out[i] != v) i++;
    if (kn_is_while(e)) need_carry(d, at, e, at->kids[k], i);
    else
        for (uint32_t b = 0; b < kn_branches(e)->n; b++) need(d, at->kids[k][b], at->kids[k][b]->j->out[i]);
}

static void need_input(dce *d, instance *at, uint32_t v)
{
    const kn_eqn *e = at->call;
    if (!e) return;
    uint32_t i = at->input[v] - 1;
    if (kn_is_cond(e)) {
        need(d, at->owner, e->in[1 + i]);
        return;
    }
    kn_while w = kn_while_of(e);
    uint32_t nconsts = at->number ? w.body_nconsts : w.cond_nconsts;
    if (i < nconsts) need(d, at->owner, at->number ? w.body_in[i] : w.cond_in[i]);
    else need_carry(d, at->owner, e, at->owner->kids[at->place], i - nconsts);
}

static void spread(dce *d)
{
    while (d->work.n && d->status == KILN_OK) {
        mark m = d->work.v[--d->work.n];
        if (m.at->def[m.v]) need_result(d, m.at, m.v);
        else need_input(d, m.at, m.v);
    }
}

/* An equation with an effect keeps itself and whatever it stands in. */
static void keep_effects(dce *d)
{
    for (uint32_t x = 0; x < d->all.n && d->status == KILN_OK; x++) {
        instance *at = d->all.v[x];
        for (uint32_t k = 0; k < at->j->neqns; k++) {
            if (!(at->j->eqns[k].prim->flags & KN_EFFECT)) continue;
            keep(d, at, k);
            for (instance *i = at; i->call; i = i->owner) keep(d, i->owner, i->place);
        }
    }
}

/* ---- rebuilding ---- */

static void count(dce *d, int which, uint32_t n) { kn_count(d->pm, row(which), n); }

static kiln_status rebuild(dce *d, instance *at, const bool *out_kept, const kn_jaxpr **out);

/* Copies the marked atoms. */
static uint32_t pick(kn_atom *to, const kn_atom *from, const bool *kept, uint32_t n)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        if (kept[i]) to[m++] = from[i];
    return m;
}

static void live_inputs(const instance *x, uint32_t first, uint32_t n, bool *kept)
{
    for (uint32_t i = 0; i < n; i++) kept[i] = x->live[x->j->in[first + i]];
}

static kiln_status rebuild_while(dce *d, instance *at, uint32_t k, kn_eqn *e)
{
    kn_arena *arena = &d->pm->prog->arena;
    instance *cond = at->kids[k][0], *body = at->kids[k][1];
    kn_while w = kn_while_of(e);
    bool *kept = KN_NEWN(&d->pm->scratch, bool, e->nin), *kept_body = kept + w.cond_nconsts, *carry = kept_body + w.body_nconsts;
    kn_atom *in = KN_NEWN(&d->pm->scratch, kn_atom, e->nin), *in_body = in + w.cond_nconsts, *init = in_body + w.body_nconsts;
    uint32_t *out = KN_NEWN(arena, uint32_t, e->nout);
    KILN_TRY_MEM(d->pm->ctx, kept && in && out);
    live_inputs(cond, 0, w.cond_nconsts, kept);
    live_inputs(body, 0, w.body_nconsts, kept_body);
    for (uint32_t i = 0; i < w.ncarry; i++) { /* a carry is the same one on both sides */
        carry[i] = at->live[e->out[i]];
        if (carry[i]) cond->live[cond->j->in[w.cond_nconsts + i]] = body->live[body->j->in[w.body_nconsts + i]] = true;
    }
    kn_while left = {.cond_in = in, .body_in = in_body, .init = init};
    left.cond_nconsts = pick(in, w.cond_in, kept, w.cond_nconsts);
    left.body_nconsts = pick(in_body, w.body_in, kept_body, w.body_nconsts);
    left.ncarry = pick(init, w.init, carry, w.ncarry);
    e->nout = pick(out, e->out, carry, e->nout);
    e->out = out;
    KILN_TRY(rebuild(d, cond, NULL, &left.cond));
    KILN_TRY(rebuild(d, body, carry, &left.body));
    bool same = left.cond == w.cond && left.body == w.body;
    uint32_t consts = w.cond_nconsts + w.body_nconsts - left.cond_nconsts - left.body_nconsts;
    count(d, CARRY, w.ncarry - left.ncarry);
    count(d, CONSTANT, consts);
    return same ? KILN_OK : kn_while_set(d->pm, e, &left);
}

static kiln_status rebuild_cond(dce *d, instance *at, uint32_t k, kn_eqn *e)
{
    kn_arena *arena = &d->pm->prog->arena;
    uint32_t n = kn_branches(e)->n, nargs = e->nin - 1, nout = e->nout;
    bool *kept = KN_NEWN(&d->pm->scratch, bool, nargs), *kept_out = KN_NEWN(&d->pm->scratch, bool, nout);
    kn_atom *in = KN_NEWN(arena, kn_atom, e->nin);
    uint32_t *out = KN_NEWN(arena, uint32_t, nout);
    const kn_jaxpr **bodies = KN_NEWN(&d->pm->scratch, const kn_jaxpr *, n);
    KILN_TRY_MEM(d->pm->ctx, kept && kept_out && in && out && bodies);
    for (uint32_t i = 0; i < nargs; i++) /* an operand that one branch needs goes to all */
        for (uint32_t b = 0; b < n; b++) kept[i] = kept[i] || at->kids[k][b]->live[at->kids[k][b]->j->in[i]];
    for (uint32_t i = 0; i < nout; i++) kept_out[i] = at->live[e->out[i]];
    bool same = true;
    for (uint32_t b = 0; b < n; b++) {
        instance *x = at->kids[k][b];
        for (uint32_t i = 0; i < nargs; i++) x->live[x->j->in[i]] = kept[i];
        KILN_TRY(rebuild(d, x, kept_out, &bodies[b]));
        same = same && bodies[b] == x->j;
    }
    if (same) return KILN_OK;
    in[0] = e->in[0];
    e->nin = 1 + pick(in + 1, e->in + 1, kept, nargs);
    e->in = in;
    e->nout = pick(out, e->out, kept_out, nout);
    e->out = out;
    count(d, OPERAND, nargs + 1 - e->nin);
    count(d, RESULT, nout - e->nout);
    return kn_branches_set(d->pm, e, bodies);
}

/* Bodies are left numbered in order, so that the next round finds equal ones equal. */
static kiln_status number(dce *d, const instance *at, const kn_jaxpr *j, const kn_jaxpr **result)
{
    *result = j;
    return at->call ? kn_renumber(d->pm, j, result) : KILN_OK;
}

static bool all_of(const bool *v, uint32_t n)
{
    for (uint32_t i = 0; v && i < n; i++)
        if (!v[i]) return false;
    return true;
}

/* The body without what is not live; all its results but those marked false. Gives the old one when all of it is needed. */
static kiln_status rebuild(dce *d, instance *at, const bool *out_kept, const kn_jaxpr **result)
{
    const kn_jaxpr *j = at->j;
    kn_arena *arena = &d->pm->prog->arena;
    bool changed = !all_of(out_kept, j->nout);
    kn_eqn *eqns = KN_NEWN(arena, kn_eqn, j->neqns);
    kn_atom *in = KN_NEWN(arena, kn_atom, j->nin), *out = KN_NEWN(arena, kn_atom, j->nout);
    KILN_TRY_MEM(d->pm->ctx, eqns && in && out);
    uint32_t n = 0, nin = 0, nout = 0;
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn *e = &eqns[n];
        *e = j->eqns[k];
        if (!at->kept[k]) {
            kn_count_at(d->pm, row(EQUATION), 1, e->prim, e->loc);
            continue;
        }
        if (kn_is_while(e)) KILN_TRY(rebuild_while(d, at, k, e));
        else if (kn_is_cond(e)) KILN_TRY(rebuild_cond(d, at, k, e));
        changed = changed || e->params != j->eqns[k].params;
        n++;
    }
    for (uint32_t i = 0; i < j->nin; i++) /* the program's own inputs stay, its constants need a reader */
        if (at->live[j->in[i]] || (!at->call && i >= j->nconsts)) in[nin++] = j->in[i];
    for (uint32_t i = 0; i < j->nout; i++)
        if (!out_kept || out_kept[i]) out[nout++] = j->out[i];
    if (!changed && n == j->neqns && nin == j->nin) return number(d, at, j, result);
    kn_jaxpr *r = kn_arena_copy(arena, j, sizeof *j);
    KILN_TRY_MEM(d->pm->ctx, r);
    r->eqns = eqns, r->neqns = n;
    r->in = in, r->nin = nin;
    r->out = out, r->nout = nout;
    if (at->call || !j->nconsts) return number(d, at, r, result);
    *result = r;
    kiln_array **consts = KN_NEWN(arena, kiln_array *, j->nconsts);
    KILN_TRY_MEM(d->pm->ctx, consts);
    uint32_t m = 0;
    for (uint32_t i = 0; i < j->nconsts; i++)
        if (at->live[j->in[i]]) consts[m++] = j->consts[i];
    count(d, CONSTANT, j->nconsts - m);
    r->consts = consts, r->nconsts = m;
    return KILN_OK;
}

kiln_status kn_pass_dce(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out)
{
    dce d = {.pm = pm};
    instance *top = instantiate(&d, main, NULL, 0, 0);
    KILN_TRY_MEM(pm->ctx, top);
    for (uint32_t i = 0; i < main->nout; i++) need(&d, top, main->out[i]);
    keep_effects(&d);
    spread(&d);
    KILN_TRY(d.status);
    return rebuild(&d, top, NULL, out);
}

const kn_rule kn_dce_rules[] = {
    {.text = "an equation that nobody reads"},
    {.text = "a carry that no result needs"},
    {.text = "a result of cond that nobody reads"},
    {.text = "an operand that no branch reads"},
    {.text = "a constant that nobody reads"},
    {.text = NULL},
};
static const kn_rule *row(int k) { return &kn_dce_rules[k]; }
