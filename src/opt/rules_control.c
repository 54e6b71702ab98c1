/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of while and cond: known conditions, constants that can be known inside, carries that carry nothing. What is left unused
 * is dce's to remove. A loop that would not end may go, as any value that nobody needs. */
#include "opt/rules.h"

/* ---- changing a body's inputs and results ---- */

typedef struct edit {
    kn_rw rw;
    kn_atom *in, *out; /* the new ones, filled by the rule; results are mapped at the end */
    uint32_t nin, nout;
} edit;

static bool edit_begin(kn_simp *s, edit *d, const kn_jaxpr *j, uint32_t more_inputs)
{
    kiln_status status = kn_rw_begin(&d->rw, s->pm, j);
    kn_arena *arena = &s->pm->prog->arena;
    d->in = KN_NEWN(arena, kn_atom, j->nin + more_inputs);
    d->out = KN_NEWN(arena, kn_atom, j->nout);
    d->nin = d->nout = 0;
    if (status == KILN_OK && (!d->in || !d->out)) status = kn_nomem(s->pm->ctx);
    if (status != KILN_OK) kn_failed(s, status);
    return status == KILN_OK;
}

static void edit_map(kn_simp *s, edit *d, uint32_t v, kn_atom to)
{
    kiln_status status = kn_rw_forward(&d->rw, v, to);
    if (status != KILN_OK) kn_failed(s, status);
}

static const kn_jaxpr *edit_finish(kn_simp *s, edit *d)
{
    const kn_jaxpr *from = d->rw.from, *to = NULL;
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; status == KILN_OK && k < from->neqns; k++) {
        kn_eqn e;
        status = kn_rw_take(&d->rw, &from->eqns[k], &e);
        if (status == KILN_OK) status = kn_rw_push(&d->rw, &e);
    }
    if (status == KILN_OK) status = kn_rw_finish(&d->rw, &to);
    kn_jaxpr *j = status == KILN_OK ? kn_arena_copy(&s->pm->prog->arena, to, sizeof *to) : NULL;
    if (!j) {
        kn_failed(s, status == KILN_OK ? kn_nomem(s->pm->ctx) : status);
        return NULL;
    }
    for (uint32_t i = 0; i < d->nout; i++) d->out[i] = kn_rw_map(&d->rw, d->out[i]);
    j->in = d->in, j->nin = d->nin;
    j->out = d->out, j->nout = d->nout;
    return j;
}

/* ---- constants of bodies: operands that several bodies take at the same place ---- */

typedef enum fate { STAYS, LITERAL, MADE_INSIDE, DOUBLE } fate;

typedef struct constants {
    const kn_jaxpr **bodies;
    uint32_t nbodies, at; /* input number `at` of each body is the first */
    const kn_atom *operands;
    uint32_t n;
    fate *fates;
    uint32_t *first; /* DOUBLE: of which one */
    kn_atom *kept;   /* operands of the result */
    uint32_t nkept;
} constants;

/* An array that costs nothing to make where it is used: a broadcast scalar, or what has no operand at all. */
static const kn_eqn *made_anywhere(const kn_simp *s, kn_atom a)
{
    const kn_eqn *d = kn_def(s, a);
    if (!d || d->nout != 1 || (d->prim->flags & KN_EFFECT)) return NULL;
    if (d->prim == &kn_prim_iota) return d;
    return d->prim == &kn_prim_broadcast_in_dim && d->nin == 1 && kn_atype(s, d->in[0]).rank == 0 ? d : NULL;
}

/* What becomes of each constant; false when all stay. */
static bool decide(kn_simp *s, constants *c)
{
    kn_arena *scratch = &s->pm->scratch;
    kn_map seen = {0};
    bool any = false;
    c->fates = KN_NEWN(scratch, fate, c->n);
    c->first = KN_NEWN(scratch, uint32_t, c->n);
    c->kept = KN_NEWN(scratch, kn_atom, 2 * (size_t)c->n);
    c->nkept = 0;
    if (!c->fates || !c->first || !c->kept) goto out_of_memory;
    for (uint32_t i = 0; i < c->n; i++) {
        kn_atom a = c->operands[i];
        uint32_t before = kn_is_literal(a) ? 0 : kn_map_get(&seen, a);
        c->fates[i] = kn_is_literal(a) ? LITERAL : made_anywhere(s, a) ? MADE_INSIDE : before ? DOUBLE : STAYS;
        c->first[i] = before ? before - 1 : i;
        any = any || c->fates[i] != STAYS;
        if (!kn_is_literal(a) && !before && !kn_map_put(scratch, &seen, a, i + 1)) goto out_of_memory;
        if (c->fates[i] == STAYS) c->kept[c->nkept++] = a;
    }
    for (uint32_t i = 0; i < c->n; i++) { /* scalars that are broadcast inside come behind */
        const kn_eqn *d = c->fates[i] == MADE_INSIDE ? made_anywhere(s, c->operands[i]) : NULL;
        if (d && d->nin && !kn_is_literal(d->in[0])) c->kept[c->nkept++] = d->in[0];
    }
    return any;
out_of_memory:
    kn_failed(s, kn_nomem(s->pm->ctx));
    return false;
}

static kn_atom copy_literal(kn_simp *s, kn_build *b, kn_atom a)
{
    const kn_lit *l = &s->rw.b.lits.v[kn_literal_index(a)];
    kn_atom out = 0;
    kiln_status status = kn_build_literal(b, l->dtype, l->value, &out);
    if (status != KILN_OK) kn_failed(s, status);
    return out;
}

/* The input's variable becomes the result of an equation of the body. */
static void make_inside(kn_simp *s, edit *d, uint32_t v, kn_atom operand)
{
    const kn_eqn *def = made_anywhere(s, operand);
    kn_arena *arena = &s->pm->prog->arena;
    uint32_t *out = kn_arena_copy(arena, &v, sizeof v);
    kn_atom in = 0;
    if (!out) {
        kn_failed(s, kn_nomem(s->pm->ctx));
        return;
    }
    if (def->nin && kn_is_literal(def->in[0])) in = copy_literal(s, &d->rw.b, def->in[0]);
    else if (def->nin) {
        kn_var var = {KILN_SCALAR(kn_atype(s, def->in[0]).dtype)};
        if (!kn_push(arena, &d->rw.b.vars, var)) kn_failed(s, kn_nomem(s->pm->ctx));
        else in = d->in[d->nin++] = d->rw.b.vars.n - 1;
    }
    kn_eqn e = *def;
    e.out = out;
    e.in = kn_arena_copy(arena, &in, def->nin * sizeof in);
    kiln_status status = !e.in ? kn_nomem(s->pm->ctx) : s->status == KILN_OK ? kn_rw_push(&d->rw, &e) : s->status;
    if (status != KILN_OK) kn_failed(s, status);
}

/* Rewrites the bodies as decided. */
static bool settle(kn_simp *s, constants *c)
{
    for (uint32_t k = 0; k < c->nbodies; k++) {
        const kn_jaxpr *j = c->bodies[k];
        edit d;
        if (!edit_begin(s, &d, j, c->n)) return false;
        for (uint32_t i = 0; i < c->at; i++) d.in[d.nin++] = j->in[i];
        for (uint32_t i = 0; i < c->n; i++) {
            uint32_t v = j->in[c->at + i];
            if (c->fates[i] == STAYS) d.in[d.nin++] = v;
            else if (c->fates[i] == LITERAL) edit_map(s, &d, v, copy_literal(s, &d.rw.b, c->operands[i]));
            else if (c->fates[i] == DOUBLE) edit_map(s, &d, v, j->in[c->at + c->first[i]]);
        }
        for (uint32_t i = 0; i < c->n; i++)
            if (c->fates[i] == MADE_INSIDE) make_inside(s, &d, j->in[c->at + i], c->operands[i]);
        for (uint32_t i = c->at + c->n; i < j->nin; i++) d.in[d.nin++] = j->in[i];
        memcpy(d.out, j->out, j->nout * sizeof *d.out);
        d.nout = j->nout;
        if (s->status != KILN_OK || !(c->bodies[k] = edit_finish(s, &d))) return false;
    }
    return true;
}

static kn_fix set_while(kn_simp *s, kn_eqn *e, const kn_while *w)
{
    kiln_status status = kn_while_set(s->pm, e, w);
    return status == KILN_OK ? KN_CHANGED : kn_failed(s, status);
}

static kn_fix while_constants(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_while w = kn_while_of(e);
    constants c = {.bodies = &w.cond, .nbodies = 1, .operands = w.cond_in, .n = w.cond_nconsts};
    constants b = {.bodies = &w.body, .nbodies = 1, .operands = w.body_in, .n = w.body_nconsts};
    bool in_cond = decide(s, &c), in_body = s->status == KILN_OK && decide(s, &b);
    if (s->status != KILN_OK || (!in_cond && !in_body)) return KN_NO;
    if ((in_cond && !settle(s, &c)) || (in_body && !settle(s, &b))) return KN_NO;
    w.cond_in = c.kept, w.cond_nconsts = c.nkept;
    w.body_in = b.kept, w.body_nconsts = b.nkept;
    return set_while(s, e, &w);
}

static const kn_jaxpr **branches_of(kn_simp *s, const kn_eqn *e, uint32_t *n)
{
    const kn_param *p = kn_branches(e);
    const kn_jaxpr **v = KN_NEWN(&s->pm->scratch, const kn_jaxpr *, p->n);
    *n = p->n;
    if (!v) kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t i = 0; v && i < p->n; i++) v[i] = p->items[i].jaxpr;
    return v;
}

static kn_fix cond_constants(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    constants c = {.operands = e->in + 1, .n = e->nin - 1};
    c.bodies = branches_of(s, e, &c.nbodies);
    if (!c.bodies || !decide(s, &c) || !settle(s, &c)) return KN_NO;
    kn_atom *in = KN_NEWN(&s->pm->prog->arena, kn_atom, 1 + c.nkept);
    if (!in) return kn_failed(s, kn_nomem(s->pm->ctx));
    in[0] = e->in[0];
    memcpy(in + 1, c.kept, c.nkept * sizeof *in);
    kiln_status status = kn_branches_set(s->pm, e, c.bodies);
    return status == KILN_OK ? kn_become(s, e, e->prim, e->params, in, 1 + c.nkept) : kn_failed(s, status);
}

/* ---- known conditions ---- */

/* Appends a body in the place of the equation; x are its arguments, its results are the equation's. */
static kn_fix inline_body(kn_simp *s, const kn_eqn *e, const kn_jaxpr *j, const kn_atom *x)
{
    kn_pm *pm = s->pm;
    kn_arena *arena = &pm->prog->arena;
    kn_build *b = &s->rw.b;
    kn_atom *map = KN_NEWN(&pm->scratch, kn_atom, j->nvars);
    if (!map) return kn_failed(s, kn_nomem(pm->ctx));
    for (uint32_t i = 0; i < j->nin; i++) map[j->in[i]] = x[i];
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; k < j->neqns && status == KILN_OK; k++) {
        kn_eqn own = j->eqns[k];
        kn_atom *in = KN_NEWN(arena, kn_atom, own.nin);
        uint32_t *out = KN_NEWN(arena, uint32_t, own.nout);
        if (!in || !out) return kn_failed(s, kn_nomem(pm->ctx));
        for (uint32_t i = 0; i < own.nin; i++) in[i] = kn_build_map(b, j, j->eqns[k].in[i], map, &status);
        for (uint32_t i = 0; i < own.nout; i++) {
            if (!kn_push(arena, &b->vars, j->vars[j->eqns[k].out[i]])) return kn_failed(s, kn_nomem(pm->ctx));
            out[i] = b->vars.n - 1;
        }
        own.in = in;
        own.out = out;
        if (status == KILN_OK) status = kn_simplify_eqn(s, &own);
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) map[j->eqns[k].out[i]] = kn_rw_map(&s->rw, out[i]);
    }
    for (uint32_t i = 0; i < e->nout && status == KILN_OK; i++) {
        kn_atom to = kn_build_map(b, j, j->out[i], map, &status);
        if (status == KILN_OK) status = kn_rw_forward(&s->rw, e->out[i], to);
    }
    return status == KILN_OK ? KN_FORWARDED : kn_failed(s, status);
}

static kn_fix while_few(kn_simp *s, kn_eqn *e, const kn_rule *row, uint32_t many)
{
    (void)row;
    kn_while w = kn_while_of(e);
    uint32_t trips;
    bool ends;
    kiln_status status = kn_first_trips(&s->rw, &w, many, &trips, &ends);
    if (status != KILN_OK) return kn_failed(s, status);
    if (!ends || trips != many) return KN_NO;
    if (many) return inline_body(s, e, w.body, w.body_in); /* constants and carries stand side by side */
    for (uint32_t i = 0; i < e->nout && status == KILN_OK; i++) status = kn_rw_forward(&s->rw, e->out[i], w.init[i]);
    return status == KILN_OK ? KN_FORWARDED : kn_failed(s, status);
}
static kn_fix while_never(kn_simp *s, kn_eqn *e, const kn_rule *row) { return while_few(s, e, row, 0); }
static kn_fix while_once(kn_simp *s, kn_eqn *e, const kn_rule *row) { return while_few(s, e, row, 1); }

static kn_fix cond_known(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *p = kn_branches(e);
    kn_scalar v = {.i = 0};
    if (p->n > 1 && !kn_known(s, e->in[0], &v)) return KN_NO;
    int64_t last = (int64_t)p->n - 1;
    return inline_body(s, e, p->items[v.i < 0 ? 0 : v.i > last ? last : v.i].jaxpr, e->in + 1);
}

static kn_fix cond_equal(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *p = kn_branches(e);
    for (uint32_t i = 1; i < p->n; i++)
        if (!kn_jaxpr_equal(p->items[0].jaxpr, p->items[i].jaxpr)) return KN_NO;
    return inline_body(s, e, p->items[0].jaxpr, e->in + 1);
}

/* ---- results of cond that do not depend on the branch ---- */

/* Per branch: number + 1 of the input that a variable is. */
static uint32_t **input_numbers(kn_simp *s, const kn_param *p)
{
    uint32_t **number = KN_NEWN(&s->pm->scratch, uint32_t *, p->n);
    for (uint32_t i = 0; number && i < p->n; i++) {
        const kn_jaxpr *j = p->items[i].jaxpr;
        if (!(number[i] = KN_NEWN(&s->pm->scratch, uint32_t, j->nvars))) return NULL;
        for (uint32_t k = 0; k < j->nin; k++) number[i][j->in[k]] = k + 1;
    }
    return number;
}

/* The atom that result k is in every branch. */
static bool common_result(kn_simp *s, const kn_eqn *e, const kn_param *p, uint32_t *const *number, uint32_t k, kn_atom *out)
{
    const kn_jaxpr *first = p->items[0].jaxpr;
    kn_atom a = first->out[k];
    if (!kn_is_literal(a) && !number[0][a]) return false;
    for (uint32_t i = 1; i < p->n; i++) {
        const kn_jaxpr *j = p->items[i].jaxpr;
        kn_atom b = j->out[k];
        if (kn_is_literal(a) != kn_is_literal(b)) return false;
        if (!kn_is_literal(a)) {
            if (number[i][b] != number[0][a]) return false;
            continue;
        }
        const kn_lit *l = &first->lits[kn_literal_index(a)], *m = &j->lits[kn_literal_index(b)];
        if (l->dtype != m->dtype || !kn_scalar_same(l->dtype, l->value, m->value)) return false;
    }
    if (!kn_is_literal(a)) *out = e->in[number[0][a]];
    else *out = kn_literal_of(s, first->lits[kn_literal_index(a)].dtype, first->lits[kn_literal_index(a)].value);
    return s->status == KILN_OK;
}

static kn_fix cond_results(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_param *p = kn_branches(e);
    kn_arena *arena = &s->pm->prog->arena;
    bool *gone = KN_NEWN(&s->pm->scratch, bool, e->nout);
    uint32_t *out = KN_NEWN(arena, uint32_t, e->nout), left = 0, **number = input_numbers(s, p);
    if (!gone || !out || !number) return kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t k = 0; k < e->nout; k++) {
        kn_atom to;
        gone[k] = common_result(s, e, p, number, k, &to);
        if (!gone[k]) out[left++] = e->out[k];
        else if (kn_rw_forward(&s->rw, e->out[k], to) != KILN_OK) return kn_failed(s, KILN_NOMEM);
    }
    if (s->status != KILN_OK || left == e->nout) return KN_NO;
    if (left == 0) return KN_FORWARDED;
    uint32_t n;
    const kn_jaxpr **bodies = branches_of(s, e, &n);
    for (uint32_t i = 0; bodies && i < n; i++) {
        kn_jaxpr *j = kn_arena_copy(arena, bodies[i], sizeof *j);
        kn_atom *outs = KN_NEWN(arena, kn_atom, left);
        if (!j || !outs) return kn_failed(s, kn_nomem(s->pm->ctx));
        for (uint32_t k = 0, at = 0; k < e->nout; k++)
            if (!gone[k]) outs[at++] = j->out[k];
        j->out = outs, j->nout = left;
        bodies[i] = j;
    }
    kiln_status status = bodies ? kn_branches_set(s->pm, e, bodies) : s->status;
    e->out = out, e->nout = left;
    return status == KILN_OK ? KN_CHANGED : kn_failed(s, status);
}

/* ---- carries ---- */

/* Parts of a while without the carries that are marked; marked ones become constants of both bodies when `keep`. */
static bool drop_carries(kn_simp *s, kn_eqn *e, kn_while *w, const bool *gone, bool keep, edit *cond, edit *body)
{
    kn_arena *arena = &s->pm->prog->arena;
    kn_atom *init = KN_NEWN(arena, kn_atom, w->ncarry), *ci = KN_NEWN(arena, kn_atom, w->cond_nconsts + w->ncarry);
    kn_atom *bi = KN_NEWN(arena, kn_atom, w->body_nconsts + w->ncarry);
    uint32_t *out = KN_NEWN(arena, uint32_t, e->nout);
    if (!init || !ci || !bi || !out) return kn_failed(s, kn_nomem(s->pm->ctx)), false;
    const uint32_t *c = w->cond->in, *b = w->body->in;
    uint32_t nc = 0, nb = 0, n = 0;
    for (uint32_t i = 0; i < w->cond_nconsts; i++) ci[nc++] = w->cond_in[i], cond->in[cond->nin++] = c[i];
    for (uint32_t i = 0; i < w->body_nconsts; i++) bi[nb++] = w->body_in[i], body->in[body->nin++] = b[i];
    c += w->cond_nconsts, b += w->body_nconsts;
    for (uint32_t k = 0; keep && k < w->ncarry; k++) {
        if (!gone[k]) continue;
        ci[nc++] = bi[nb++] = w->init[k];
        cond->in[cond->nin++] = c[k], body->in[body->nin++] = b[k];
    }
    for (uint32_t k = 0; k < w->ncarry; k++) {
        if (gone[k]) continue;
        init[n] = w->init[k], out[n++] = e->out[k];
        cond->in[cond->nin++] = c[k], body->in[body->nin++] = b[k];
        body->out[body->nout++] = w->body->out[k];
    }
    cond->out[cond->nout++] = w->cond->out[0];
    w->cond_in = ci, w->cond_nconsts = nc;
    w->body_in = bi, w->body_nconsts = nb;
    w->init = init, w->ncarry = n;
    w->cond = edit_finish(s, cond);
    w->body = w->cond ? edit_finish(s, body) : NULL;
    e->out = out, e->nout = n;
    return w->body != NULL;
}

static bool same_literal(const kn_simp *s, kn_atom a, const kn_jaxpr *j, kn_atom b)
{
    if (!kn_is_literal(a) || !kn_is_literal(b)) return false;
    const kn_lit *l = &s->rw.b.lits.v[kn_literal_index(a)], *m = &j->lits[kn_literal_index(b)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

static kn_fix while_forwarded(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_while w = kn_while_of(e);
    bool *gone = KN_NEWN(&s->pm->scratch, bool, w.ncarry);
    uint32_t n = 0;
    if (!gone) return kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t k = 0; k < w.ncarry; k++) {
        kn_atom next = w.body->out[k];
        gone[k] = next == w.body->in[w.body_nconsts + k] || same_literal(s, w.init[k], w.body, next);
        if (!gone[k]) continue;
        n++;
        kiln_status status = kn_rw_forward(&s->rw, e->out[k], w.init[k]);
        if (status != KILN_OK) return kn_failed(s, status);
    }
    if (n == 0) return KN_NO;
    if (n == w.ncarry) return KN_FORWARDED;
    edit cond, body;
    if (!edit_begin(s, &cond, w.cond, 0) || !edit_begin(s, &body, w.body, 0)) return KN_NO;
    return drop_carries(s, e, &w, gone, true, &cond, &body) ? set_while(s, e, &w) : KN_NO;
}

static bool same_in(const kn_jaxpr *j, kn_atom a, kn_atom b)
{
    if (a == b) return true;
    if (!kn_is_literal(a) || !kn_is_literal(b)) return false;
    const kn_lit *l = &j->lits[kn_literal_index(a)], *m = &j->lits[kn_literal_index(b)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

/* Do carries x and y of the body stay equal once they are? Looks one equation deep. */
static bool same_step(const kn_jaxpr *j, const uint32_t *def, kn_atom x, kn_atom next_x, kn_atom y, kn_atom next_y)
{
    if (same_in(j, next_x, next_y)) return true;
    if (kn_is_literal(next_x) || kn_is_literal(next_y)) return false;
    if (!def[next_x] || !def[next_y]) return false;
    const kn_eqn *d = &j->eqns[def[next_x] - 1], *e = &j->eqns[def[next_y] - 1];
    if (d->prim != e->prim || d->nin != e->nin || d->nout != 1 || (d->prim->flags & KN_EFFECT)) return false;
    for (uint32_t i = 0; i < d->nin; i++)
        if (!same_in(j, d->in[i], e->in[i]) && !(d->in[i] == x && e->in[i] == y)) return false;
    for (uint32_t i = 0; i < d->prim->nparams; i++)
        if (!kn_param_equal(&d->params[i], &e->params[i])) return false;
    return true;
}

static uint32_t *equations_of(kn_simp *s, const kn_jaxpr *j)
{
    uint32_t *def = KN_NEWN(&s->pm->scratch, uint32_t, j->nvars);
    if (!def) kn_failed(s, kn_nomem(s->pm->ctx));
    for (uint32_t k = 0; def && k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) def[j->eqns[k].out[i]] = k + 1;
    return def;
}

static kn_fix while_twins(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    enum { CARRIES = 32 }; /* counters stand first; the search is quadratic */
    kn_while w = kn_while_of(e);
    uint32_t n = w.ncarry < CARRIES ? w.ncarry : CARRIES, at = w.body_nconsts;
    const kn_atom *in = w.body->in + at, *next = w.body->out;
    uint32_t *def = NULL; /* number + 1 of the equation that binds a variable of the body */
    for (uint32_t y = 1; y < n; y++)
        for (uint32_t x = 0; x < y; x++) {
            if (!kn_same_atom(s, w.init[x], w.init[y])) continue;
            if (!def && !(def = equations_of(s, w.body))) return KN_NO;
            if (!same_step(w.body, def, in[x], next[x], in[y], next[y])) continue;
            bool *gone = KN_NEWN(&s->pm->scratch, bool, w.ncarry);
            edit cond, body;
            if (!gone) return kn_failed(s, kn_nomem(s->pm->ctx));
            gone[y] = true;
            kiln_status status = kn_rw_forward(&s->rw, e->out[y], e->out[x]);
            if (status != KILN_OK) return kn_failed(s, status);
            if (!edit_begin(s, &cond, w.cond, 0) || !edit_begin(s, &body, w.body, 0)) return KN_NO;
            edit_map(s, &cond, w.cond->in[w.cond_nconsts + y], w.cond->in[w.cond_nconsts + x]);
            edit_map(s, &body, in[y], in[x]);
            if (s->status != KILN_OK) return KN_NO;
            return drop_carries(s, e, &w, gone, false, &cond, &body) ? set_while(s, e, &w) : KN_NO;
        }
    return KN_NO;
}

#define C(prim_, try_, text_) {.text = text_, .prim = &kn_prim_##prim_, .try = try_}

const kn_rule kn_control_rules[] = {
    C(while, while_never, "while that makes no trip = first carries"),
    C(while, while_once, "while that makes one trip = its body"),
    C(while, while_forwarded, "a carry that the body passes on = a constant of the loop"),
    C(while, while_constants, "known and repeated constants of a loop are made inside it"),
    C(while, while_twins, "carries that start and move alike = one carry"),
    C(cond, cond_known, "cond of a known index = that branch"),
    C(cond, cond_equal, "cond of equal branches = the branch"),
    C(cond, cond_results, "a result of cond that all branches pass on = the operand"),
    C(cond, cond_constants, "known and repeated operands of cond are made inside its branches"),
    {.text = NULL},
};
