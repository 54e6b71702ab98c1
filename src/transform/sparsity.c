/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over equations: numbers that do not depend on operands are evaluated, sets go by the rule of the primitive. A primitive
 * without one goes by its lowering, or spreads everything it reads over everything it gives. */
#include "transform/sparsity.h"

#include "prim/common.h"
#include "prim/derive.h"

static const double known_most = 1 << 22; /* elements of a value that is evaluated */

static kiln_status run_known(kn_eval *ev, const kn_jaxpr *body, kiln_array *const *in, kiln_array **out);

kiln_status kn_walk_init(kn_walk *w, const kn_rules *r, uint32_t columns)
{
    *w = (kn_walk){.ev = {.ctx = r->ctx, .run = run_known}, .r = r};
    return kn_sets_init(&w->sets, r->ctx, columns);
}

void kn_walk_fini(kn_walk *w)
{
    for (uint32_t i = 0; i < w->arrays.n; i++) kiln_array_release(w->arrays.v[i]);
    kn_sets_fini(&w->sets);
}

uint32_t *kn_spread_room(const kn_spreading *c, kiln_type t)
{
    uint32_t *v = KN_NEWN(c->room, uint32_t, kiln_type_size(t));
    if (!v) (void)!kn_nomem(c->w->ev.ctx);
    return v;
}

/* Keeps an array until the end (or until a trip of a loop ends). */
static kiln_status own(kn_walk *w, kiln_array *a)
{
    if (kn_push(&w->sets.arena, &w->arrays, a)) return KILN_OK;
    kiln_array_release(a);
    return kn_nomem(w->ev.ctx);
}

static kiln_status literal(kn_walk *w, const kn_lit *l, kn_spread *out)
{
    *out = (kn_spread){NULL, NULL};
    KILN_TRY(kiln_array_create(w->ev.ctx, KILN_SCALAR(l->dtype), &out->known));
    kn_scalar_store(l->dtype, out->known->data, 0, l->value);
    return own(w, out->known);
}

/* ---- numbers ---- */

/* For eval rules with bodies. */
static kiln_status run_known(kn_eval *ev, const kn_jaxpr *body, kiln_array *const *in, kiln_array **out)
{
    kn_walk *w = (kn_walk *)ev;
    kn_spread *v = KN_NEWN(&w->sets.arena, kn_spread, (size_t)kn_nargs(body) + body->nout);
    KILN_TRY_MEM(ev->ctx, v);
    for (uint32_t i = 0; i < kn_nargs(body); i++) v[i].known = in[i];
    kn_spread *y = v + kn_nargs(body);
    KILN_TRY(kn_walk_body(w, &w->sets.arena, body, v, y));
    for (uint32_t i = 0; i < body->nout; i++) {
        if (!y[i].known) {
            for (uint32_t k = 0; k < i; k++) kiln_array_release(out[k]);
            return kn_fail(ev->ctx, KILN_UNSUPPORTED, "a body cannot be evaluated");
        }
        out[i] = kiln_array_retain(y[i].known);
    }
    return KILN_OK;
}

static bool all_known(const kn_spreading *c)
{
    double size = 0;
    for (uint32_t i = 0; i < c->e->nin; i++)
        if (!c->in[i].known) return false;
    for (uint32_t i = 0; i < c->e->nout; i++) size += (double)kiln_type_size(kn_out_type(c->j, c->e, i));
    return size <= known_most && !(c->e->prim->flags & KN_EFFECT);
}

/* Results of e (of jaxpr j) from these arrays; they are kept. */
static kiln_status evaluate(kn_walk *w, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kn_spread *out)
{
    kiln_array **y = KN_NEWN(&w->sets.arena, kiln_array *, e->nout);
    kiln_status s = y ? KILN_OK : kn_nomem(w->ev.ctx);
    for (uint32_t i = 0; i < e->nout && s == KILN_OK; i++) s = kiln_array_create(w->ev.ctx, kn_out_type(j, e, i), &y[i]);
    if (s == KILN_OK) s = e->prim->eval(&w->ev, j, e, in, y);
    uint32_t kept = 0;
    for (; kept < e->nout && s == KILN_OK; kept++) {
        out[kept].known = y[kept];
        s = own(w, y[kept]);
    }
    for (uint32_t i = kept; y && i < e->nout && s != KILN_OK; i++) kiln_array_release(y[i]);
    return s;
}

static kiln_status numbers(const kn_spreading *c)
{
    kiln_array **in = KN_NEWN(c->room, kiln_array *, c->e->nin);
    KILN_TRY_MEM(c->w->ev.ctx, in);
    for (uint32_t i = 0; i < c->e->nin; i++) in[i] = c->in[i].known;
    return evaluate(c->w, c->j, c->e, in, c->out);
}

/* ---- sets ---- */

/* The equation on 64-bit integers in place of floats. */
static kiln_status on_sets(const kn_spreading *c, const kn_jaxpr **out)
{
    kn_walk *w = c->w;
    uint32_t k = kn_map_get(&w->alike, kn_map_address(c->e));
    if (!k) {
        kn_build b;
        kn_arena *arena = &w->r->prog->arena;
        kn_build_init(&b, w->ev.ctx, w->r->prog);
        kn_atom *x = KN_NEWN(arena, kn_atom, c->e->nin), *y = KN_NEWN(arena, kn_atom, c->e->nout);
        kn_param *params = kn_arena_copy(arena, c->e->params, c->e->prim->nparams * sizeof *params);
        KILN_TRY_MEM(w->ev.ctx, x && y && params);
        for (uint32_t i = 0; i < c->e->prim->nparams; i++)
            if (strcmp(c->e->prim->params[i].name, "fill_value") == 0) params[i] = KN_INT(0);
        for (uint32_t i = 0; i < c->e->nin; i++) {
            kiln_type t = kn_in_type(c->j, c->e, i);
            if (kn_has_tangent(t)) t.dtype = KILN_I64;
            KILN_TRY(kn_build_input(&b, t, &x[i]));
        }
        KILN_TRY(kn_build_eqn(&b, c->e->prim, params, x, c->e->nin, y, c->e->nout));
        const kn_jaxpr *j;
        KILN_TRY(kn_build_finish(&b, y, c->e->nout, &j));
        KILN_TRY_MEM(w->ev.ctx, kn_push(&w->sets.arena, &w->on_sets, j) && kn_map_put(&w->sets.arena, &w->alike, kn_map_address(c->e), w->on_sets.n));
        k = w->on_sets.n;
    }
    *out = w->on_sets.v[k - 1];
    return KILN_OK;
}

static kiln_status numbers_of_sets(const kn_spreading *c, uint32_t i, kiln_array **out)
{
    kiln_type t = kn_in_type(c->j, c->e, i);
    t.dtype = KILN_I64;
    KILN_TRY(kiln_array_create(c->w->ev.ctx, t, out));
    for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) ((int64_t *)(*out)->data)[k] = kn_set_at(&c->in[i], k);
    return own(c->w, *out);
}

kiln_status kn_spread_move(const kn_spreading *c, bool *done)
{
    const kn_jaxpr *j = NULL;
    kiln_array **in = KN_NEWN(c->room, kiln_array *, c->e->nin);
    kn_spread *y = KN_NEWN(c->room, kn_spread, c->e->nout);
    KILN_TRY_MEM(c->w->ev.ctx, in && y);
    *done = c->e->prim->eval != NULL;
    for (uint32_t i = 0; i < c->e->nin && *done; i++) {
        if (!kn_has_tangent(kn_in_type(c->j, c->e, i))) *done = (in[i] = c->in[i].known) != NULL;
        else KILN_TRY(numbers_of_sets(c, i, &in[i]));
    }
    if (!*done) return KILN_OK;
    KILN_TRY(on_sets(c, &j));
    KILN_TRY(evaluate(c->w, j, &j->eqns[0], in, y));
    for (uint32_t i = 0; i < c->e->nout; i++) {
        kiln_type t = kn_out_type(c->j, c->e, i);
        uint32_t *to = kn_spread_room(c, t);
        KILN_TRY_MEM(c->w->ev.ctx, to);
        for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) {
            int64_t v = ((const int64_t *)y[i].known->data)[k];
            to[k] = v > 0 ? (uint32_t)v : 0;
        }
        c->out[i].sets = to;
    }
    return KILN_OK;
}

/* By the lowering of a composite. */
static kiln_status by_lowering(const kn_spreading *c)
{
    kn_walk *w = c->w;
    uint32_t k = kn_map_get(&w->lowered, kn_map_address(c->e));
    if (!k) {
        kn_build b;
        kn_arena *arena = &w->r->prog->arena;
        kn_build_init(&b, w->ev.ctx, w->r->prog);
        kn_atom *x = KN_NEWN(arena, kn_atom, c->e->nin), *y = KN_NEWN(arena, kn_atom, c->e->nout);
        KILN_TRY_MEM(w->ev.ctx, x && y);
        for (uint32_t i = 0; i < c->e->nin; i++) KILN_TRY(kn_build_input(&b, kn_in_type(c->j, c->e, i), &x[i]));
        KILN_TRY(kn_lower_rule(c->j, c->e)(w->r, &b, c->j, c->e, x, y));
        const kn_jaxpr *j;
        KILN_TRY(kn_build_finish(&b, y, c->e->nout, &j));
        KILN_TRY_MEM(w->ev.ctx, kn_push(&w->sets.arena, &w->lower, j) && kn_map_put(&w->sets.arena, &w->lowered, kn_map_address(c->e), w->lower.n));
        k = w->lower.n;
    }
    return kn_walk_body(w, c->room, w->lower.v[k - 1], c->in, c->out);
}

static kiln_status by_rule(const kn_spreading *c, bool *done)
{
    const kn_prim *p = c->e->prim;
    const kn_param *axes = kn_param_of(c->e, "axes"), *axis = kn_param_of(c->e, "axis"), *reverse = kn_param_of(c->e, "reverse");
    *done = true;
    if (p->flags & KN_MOVES) {
        KILN_TRY(kn_spread_move(c, done));
        if (*done) return KILN_OK;
        *done = true;
    }
    if (p->flags & KN_ELEMENTWISE) return kn_spread_element(c);
    if (p->loop == KN_LOOP_DOT) return kn_spread_dot(c);
    if (p->loop == KN_LOOP_CONV) return kn_spread_conv(c);
    if (p->loop == KN_LOOP_REDUCE && axes && c->e->nin == 1) return kn_spread_reduce(c, kn_ints(axes), axes->n);
    if (p->loop == KN_LOOP_CUMULATE && axis && reverse) return kn_spread_running(c, axis->i, reverse->b);
    if (strcmp(p->name, "scatter-add") == 0 || strcmp(p->name, "scatter-sub") == 0) return kn_spread_scatter_sum(c, done);
    *done = false;
    return KILN_OK;
}

static kiln_status equation(const kn_spreading *c)
{
    const kn_eqn *e = c->e;
    bool any = false, done;
    for (uint32_t i = 0; i < e->nin; i++) any |= c->in[i].sets != NULL;
    for (uint32_t i = 0; i < e->nout; i++) c->out[i] = (kn_spread){NULL, NULL};
    KILN_TRY(kn_spread_control(c, &done));
    if (done) return KILN_OK;
    if (!any) {
        if (!all_known(c)) return KILN_OK;
        kn_lower_fn rule = kn_lower_rule(c->j, e);
        if (e->prim->eval && (!rule || rule == e->prim->lower)) return numbers(c);
        return rule ? by_lowering(c) : KILN_OK;
    }
    if (e->prim->jvp == kn_jvp_zero) return KILN_OK;
    KILN_TRY(by_rule(c, &done));
    if (done) return KILN_OK;
    return kn_lower_rule(c->j, e) ? by_lowering(c) : kn_spread_all(c);
}

kiln_status kn_walk_body(kn_walk *w, kn_arena *room, const kn_jaxpr *j, const kn_spread *in, kn_spread *out)
{
    kn_spread *v = KN_NEWN(room, kn_spread, j->nvars);
    uint32_t most = 1;
    for (uint32_t k = 0; k < j->neqns; k++)
        if (j->eqns[k].nin > most) most = j->eqns[k].nin;
    kn_spread *x = KN_NEWN(room, kn_spread, most);
    KILN_TRY_MEM(w->ev.ctx, v && x);
    for (uint32_t i = 0; i < j->nin; i++) {
        v[j->in[i]] = i < j->nconsts ? (kn_spread){NULL, j->consts[i]} : in[i - j->nconsts];
        if (!kn_has_tangent(j->vars[j->in[i]].type)) v[j->in[i]].sets = NULL;
    }
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        kn_spread few[4], *y = few;
        if (e->nout > 4) KILN_TRY_MEM(w->ev.ctx, y = KN_NEWN(room, kn_spread, e->nout));
        for (uint32_t i = 0; i < e->nin; i++) {
            if (kn_is_literal(e->in[i])) KILN_TRY(literal(w, &j->lits[kn_literal_index(e->in[i])], &x[i]));
            else x[i] = v[e->in[i]];
        }
        KILN_TRY(equation(&(kn_spreading){w, room, j, e, x, y}));
        for (uint32_t i = 0; i < e->nout; i++) {
            v[e->out[i]] = y[i];
            if (!kn_has_tangent(j->vars[e->out[i]].type)) v[e->out[i]].sets = NULL;
        }
    }
    for (uint32_t i = 0; i < j->nout; i++) {
        if (kn_is_literal(j->out[i])) KILN_TRY(literal(w, &j->lits[kn_literal_index(j->out[i])], &out[i]));
        else out[i] = v[j->out[i]];
    }
    return KILN_OK;
}
