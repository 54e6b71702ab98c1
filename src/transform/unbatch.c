/* SPDX-License-Identifier: Apache-2.0 */
/* A while over lanes that a text holds as one while over arrays, as JAX writes what vmap made of a while: all lanes go on until the last one
 * has ended, and those that have ended keep what they have,
 *
 *   while any(c(x)) { x = c(x) ? f(x) : x }                                  c and f element by element
 *   ->
 *   scan over lanes { while c(x) { x = f(x) } }
 *
 * which then runs in slots (lanes.c). What does not change from trip to trip is computed before. Each lane's bits are its own: elements do
 * not meet in c and f. The interpreter runs the loop as it was. */
#include "transform/lanes.h"

#include "array/size.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/lowering.h"

#include "prims.gen.h"

enum { MOST_CARRIES = 8, MOST_OPERANDS = 8, MOST_SHARED = 6, MOST_EQUATIONS = 2000 };

/* What a value of a body is: one for all lanes and trips (a scalar or an array), one for each lane and trip, or none of these. */
typedef enum kind { OTHER, FIXED, LANE } kind;

typedef struct view {
    const kn_jaxpr *j;
    kind *kind;       /* by value */
    kn_atom *same_as; /* by value: the number that each element is, + 1 */
    uint32_t *maker;  /* by value: the equation that gives it, + 1 */
} view;

typedef struct unbatch {
    const kn_rules *r;
    const kn_jaxpr *j;
    const kn_eqn *e;
    kn_while_parts w;
    uint32_t n; /* carries */
    const int64_t *dims;
    uint32_t rank;
    int64_t lanes;
    view cond, body;
    kn_atom more, next[MOST_CARRIES]; /* values of cond and body: does the lane go on, and then with what; 0: the carry stays as it is */
    uint32_t budget; /* of comparisons */
} unbatch;

/* ---- recognising ---- */

static bool over_lanes(const unbatch *u, kiln_type t)
{
    bool same = t.rank == u->rank;
    for (uint32_t d = 0; same && d < t.rank; d++) same = t.dims[d] == u->dims[d];
    return same;
}

static bool plain(kiln_type t) { return strchr("biuf", kiln_dtype_kind(t.dtype)); }

/* The carry that argument i of the cond or the body is, or -1: a constant. */
static int64_t carry_of(const unbatch *u, const view *v, uint32_t i)
{
    uint32_t consts = v == &u->cond ? u->w.cond_consts : u->w.body_consts;
    return i < consts ? -1 : (int64_t)i - consts;
}
/* The operand of the while that argument i is. */
static uint32_t operand_of(const unbatch *u, const view *v, uint32_t i)
{
    int64_t k = carry_of(u, v, i);
    if (k >= 0) return u->w.cond_consts + u->w.body_consts + (uint32_t)k;
    return v == &u->cond ? i : u->w.cond_consts + i;
}

static kind kind_of(const view *v, kn_atom a) { return kn_is_literal(a) ? FIXED : v->kind[a]; }

/* What an atom is element by element. */
static kn_atom element(const view *v, kn_atom a)
{
    while (!kn_is_literal(a) && v->same_as[a]) a = v->same_as[a] - 1;
    return a;
}

/* A number that is spread over the lanes. */
static bool spreads(const unbatch *u, const view *v, const kn_eqn *e)
{
    return e->prim == &kn_prim_broadcast_in_dim && over_lanes(u, kn_out_type(v->j, e, 0)) && kn_in_type(v->j, e, 0).rank == 0;
}

static bool by_element(const unbatch *u, const view *v, const kn_eqn *e)
{
    bool fits = (e->prim->flags & KN_ELEMENTWISE) && e->nin <= MOST_OPERANDS && e->nout == 1 && over_lanes(u, kn_out_type(v->j, e, 0)) && plain(kn_out_type(v->j, e, 0));
    for (uint32_t i = 0; fits && i < e->nin; i++) {
        kiln_type t = kn_in_type(v->j, e, i);
        fits = kind_of(v, e->in[i]) != OTHER && (t.rank == 0 || over_lanes(u, t));
    }
    return fits;
}

static void classify(const unbatch *u, view *v, const kn_eqn *e, uint32_t at)
{
    bool fixed = true;
    for (uint32_t i = 0; i < e->nin; i++) fixed = fixed && kind_of(v, e->in[i]) == FIXED;
    for (uint32_t i = 0; i < e->nout; i++) {
        v->maker[e->out[i]] = at + 1;
        v->kind[e->out[i]] = fixed ? FIXED : OTHER;
    }
    if (spreads(u, v, e) && kind_of(v, e->in[0]) != OTHER) {
        v->kind[e->out[0]] = kind_of(v, e->in[0]);
        v->same_as[e->out[0]] = e->in[0] + 1;
    } else if (!fixed && by_element(u, v, e)) {
        v->kind[e->out[0]] = LANE;
    }
}

static kiln_status view_init(const unbatch *u, view *v, const kn_jaxpr *j, const bool *stays)
{
    kn_arena *arena = &u->r->prog->arena;
    *v = (view){j, KN_NEWN(arena, kind, j->nvars), KN_NEWN(arena, kn_atom, j->nvars), KN_NEWN(arena, uint32_t, j->nvars)};
    KILN_TRY_MEM(u->r->ctx, v->kind && v->same_as && v->maker);
    for (uint32_t i = 0; i < j->nin; i++) {
        int64_t k = carry_of(u, v, i);
        kiln_type t = kn_type_of(j, j->in[i]);
        v->kind[j->in[i]] = k < 0 || stays[k] ? FIXED : over_lanes(u, t) ? LANE : OTHER;
    }
    for (uint32_t k = 0; k < j->neqns; k++) classify(u, v, &j->eqns[k], k);
    return KILN_OK;
}

/* The equation that makes a value, or NULL. */
static const kn_eqn *made_by(const view *v, kn_atom a)
{
    return kn_is_literal(a) || !v->maker[a] ? NULL : &v->j->eqns[v->maker[a] - 1];
}

static bool is_argument(const view *v, kn_atom a, uint32_t *i)
{
    if (kn_is_literal(a)) return false;
    for (*i = 0; *i < v->j->nin; ++*i)
        if (v->j->in[*i] == a) return true;
    return false;
}

/* Is value a of one body what value b of another one is? */
static bool alike(unbatch *u, const view *v, kn_atom a, const view *o, kn_atom b)
{
    uint32_t i, k;
    a = element(v, a), b = element(o, b);
    if (u->budget == 0) return false;
    u->budget--;
    if (kn_is_literal(a) || kn_is_literal(b)) {
        if (!kn_is_literal(a) || !kn_is_literal(b)) return false;
        const kn_lit *x = &v->j->lits[kn_literal_index(a)], *y = &o->j->lits[kn_literal_index(b)];
        return x->dtype == y->dtype && kn_scalar_same(x->dtype, x->value, y->value);
    }
    if (is_argument(v, a, &i)) return is_argument(o, b, &k) && u->e->in[operand_of(u, v, i)] == u->e->in[operand_of(u, o, k)] && carry_of(u, v, i) == carry_of(u, o, k);
    const kn_eqn *x = made_by(v, a), *y = made_by(o, b);
    if (!x || !y || x->prim != y->prim || x->nin != y->nin || x->nout != 1 || y->nout != 1) return false;
    for (uint32_t p = 0; p < x->prim->nparams; p++)
        if (!kn_param_equal(&x->params[p], &y->params[p])) return false;
    for (uint32_t p = 0; p < x->nin; p++)
        if (!alike(u, v, x->in[p], o, y->in[p])) return false;
    return true;
}

/* The condition says whether any lane goes on. */
static bool any_goes_on(unbatch *u, const kn_jaxpr *cond)
{
    const kn_eqn *last = cond->neqns ? &cond->eqns[cond->neqns - 1] : NULL;
    if (!last || cond->nconsts || cond->nout != 1 || last->prim != &kn_prim_reduce_or || last->nin != 1 || cond->out[0] != last->out[0]) return false;
    kiln_type t = kn_in_type(cond, last, 0);
    if (t.rank == 0 || t.dtype != KILN_BOOL || kn_is_literal(last->in[0]) || kn_type_open(t) || kn_out_type(cond, last, 0).rank) return false;
    u->dims = t.dims, u->rank = t.rank;
    u->lanes = kiln_type_size(t);
    u->more = last->in[0];
    return kn_slots_for(u->lanes) > 0;
}

/* Every carry stays as it is, or has an element for each lane. */
static bool carries_are_kept(unbatch *u, bool *stays)
{
    const kn_jaxpr *j = u->w.body;
    uint32_t moving = 0;
    for (uint32_t k = 0; k < u->n; k++) {
        kiln_type t = kn_type_of(j, j->in[u->w.body_consts + k]);
        stays[k] = j->out[k] == j->in[u->w.body_consts + k];
        moving += !stays[k];
        if (!stays[k] && (!over_lanes(u, t) || !plain(t))) return false;
    }
    return moving > 0 && !j->nconsts;
}

/* What moves is chosen by the lane from what it has and what comes next, by what the condition asks. */
static bool choices(unbatch *u, const bool *stays)
{
    const view *v = &u->body;
    kn_atom flag = 0;
    for (uint32_t k = 0; k < u->n; k++) {
        u->next[k] = 0;
        if (stays[k]) continue;
        const kn_eqn *e = made_by(v, v->j->out[k]);
        if (!e || e->prim != &kn_prim_select_n || e->nin != 3 || element(v, e->in[1]) != v->j->in[u->w.body_consts + k]) return false;
        kn_atom own = element(v, e->in[0]);
        if (kn_is_literal(own) || kn_in_type(v->j, e, 0).dtype != KILN_BOOL || kind_of(v, own) != LANE || (flag && own != flag)) return false;
        if (kind_of(v, e->in[2]) == OTHER) return false;
        flag = own;
        u->next[k] = e->in[2] + 1;
    }
    return kind_of(&u->cond, u->more) == LANE && alike(u, &u->cond, u->more, v, flag);
}

/* As far as it can be seen at once. */
static bool may_match(unbatch *u, bool *stays)
{
    const kn_eqn *e = u->e;
    if (e->prim != &kn_prim_while) return false;
    for (uint32_t p = KN_WHILE_LANES; p < KN_WHILE_PARAMS; p++)
        if (e->params[p].kind != KN_P_NONE) return false;
    u->w = kn_while_parts_of(e);
    u->n = e->nin - u->w.cond_consts - u->w.body_consts;
    return u->n > 0 && u->n <= MOST_CARRIES && u->w.body->neqns <= MOST_EQUATIONS && any_goes_on(u, u->w.cond) && carries_are_kept(u, stays);
}

static kiln_status matches(unbatch *u, bool *is)
{
    bool stays[MOST_CARRIES];
    *is = may_match(u, stays) && !kn_eqn_has_effect(u->e);
    if (!*is) return KILN_OK;
    KILN_TRY(view_init(u, &u->cond, u->w.cond, stays));
    KILN_TRY(view_init(u, &u->body, u->w.body, stays));
    *is = choices(u, stays);
    return KILN_OK;
}

/* ---- one lane ---- */

/* A body of scalars: what the lanes share and what each has comes in as constants. */
typedef struct lane {
    unbatch *u;
    const view *v;
    kn_build b;
    kn_atom *made;                /* by value, + 1 */
    kn_atom shared[MOST_SHARED];  /* values of the view whose elements are constants here */
    kn_atom input[MOST_SHARED];
    uint32_t n_shared;
} lane;

/* Which fixed values a lane's values are made of, in the order in which they are met. */
static bool find_shared(lane *x, kn_atom a)
{
    const view *v = x->v;
    a = element(v, a);
    if (kn_is_literal(a) || x->made[a]) return true;
    x->made[a] = 1;
    if (v->kind[a] == FIXED) {
        if (x->n_shared == MOST_SHARED || !plain(v->j->vars[a].type)) return false;
        x->shared[x->n_shared++] = a;
        return true;
    }
    const kn_eqn *e = made_by(v, a);
    for (uint32_t i = 0; e && i < e->nin; i++)
        if (!find_shared(x, e->in[i])) return false;
    return true;
}

static kiln_status value_of(lane *x, kn_atom a, kn_atom *out)
{
    const view *v = x->v;
    a = element(v, a);
    if (kn_is_literal(a)) {
        const kn_lit *l = &v->j->lits[kn_literal_index(a)];
        return kn_build_literal(&x->b, l->dtype, l->value, out);
    }
    if (!x->made[a]) {
        const kn_eqn *e = made_by(v, a);
        kn_atom in[MOST_OPERANDS], y;
        for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(value_of(x, e->in[i], &in[i]));
        x->b.scope = e->scope, x->b.loc = e->loc;
        KILN_TRY(kn_build_eqn(&x->b, e->prim, e->params, in, e->nin, &y, 1));
        x->made[a] = y + 1;
    }
    *out = x->made[a] - 1;
    return KILN_OK;
}

static kiln_status lane_init(lane *x, unbatch *u, const view *v)
{
    *x = (lane){.u = u, .v = v};
    KILN_TRY_MEM(u->r->ctx, x->made = KN_NEWN(&u->r->prog->arena, kn_atom, v->j->nvars));
    return KILN_OK;
}

/* The body: its inputs are what is shared, then the carries that move; its results the given values. */
static kiln_status lane_body(lane *x, const kn_atom *results, uint32_t n, const kn_jaxpr **out)
{
    const unbatch *u = x->u;
    kn_atom y[MOST_CARRIES];
    uint32_t consts = x->v == &u->cond ? u->w.cond_consts : u->w.body_consts;
    kn_build_init(&x->b, u->r->ctx, u->r->prog);
    memset(x->made, 0, x->v->j->nvars * sizeof *x->made);
    for (uint32_t i = 0; i < x->n_shared; i++) {
        KILN_TRY(kn_build_input(&x->b, KILN_SCALAR(x->v->j->vars[x->shared[i]].type.dtype), &x->input[i]));
        x->made[x->shared[i]] = x->input[i] + 1;
    }
    for (uint32_t k = 0; k < u->n; k++) {
        kn_atom in, a = x->v->j->in[consts + k];
        if (!u->next[k]) continue;
        KILN_TRY(kn_build_input(&x->b, KILN_SCALAR(x->v->j->vars[a].type.dtype), &in));
        x->made[a] = in + 1;
    }
    for (uint32_t i = 0; i < n; i++) KILN_TRY(value_of(x, results[i], &y[i]));
    return kn_build_finish(&x->b, y, n, out);
}

/* ---- in place of the while ---- */

/* A value that is the same in all trips, outside of the loop. */
static kiln_status outside(const unbatch *u, const view *v, kn_build *b, const kn_atom *operands, kn_atom *made, kn_atom a, kn_atom *out)
{
    uint32_t i;
    if (kn_is_literal(a)) {
        const kn_lit *l = &v->j->lits[kn_literal_index(a)];
        return kn_build_literal(b, l->dtype, l->value, out);
    }
    if (is_argument(v, a, &i)) {
        *out = operands[operand_of(u, v, i)];
        return KILN_OK;
    }
    if (!made[a]) {
        const kn_eqn *e = made_by(v, a);
        kn_atom *in = KN_NEWN(&u->r->prog->arena, kn_atom, e->nin + 1), *y = KN_NEWN(&u->r->prog->arena, kn_atom, e->nout + 1);
        KILN_TRY_MEM(u->r->ctx, in && y);
        for (uint32_t k = 0; k < e->nin; k++) KILN_TRY(outside(u, v, b, operands, made, e->in[k], &in[k]));
        b->scope = e->scope, b->loc = e->loc;
        KILN_TRY(kn_build_eqn(b, e->prim, e->params, in, e->nin, y, e->nout));
        for (uint32_t k = 0; k < e->nout; k++) made[e->out[k]] = y[k] + 1;
    }
    *out = made[a] - 1;
    return KILN_OK;
}

/* The operands of the loop of one lane, in their order, outside of the scan: numbers for all lanes, and arrays with an element for each. */
typedef struct around {
    kn_atom in[2 * MOST_SHARED + MOST_CARRIES];
    kiln_type type[2 * MOST_SHARED + MOST_CARRIES];
    uint32_t n;
} around;

static void add(around *s, kn_atom a, kiln_type t)
{
    s->in[s->n] = a;
    s->type[s->n++] = t;
}

static kiln_status shared_of(const lane *x, kn_build *b, const kn_atom *operands, around *s)
{
    const unbatch *u = x->u;
    kn_atom a, *made = KN_NEWN(&u->r->prog->arena, kn_atom, x->v->j->nvars);
    KILN_TRY_MEM(u->r->ctx, made);
    for (uint32_t i = 0; i < x->n_shared; i++) {
        KILN_TRY(outside(u, x->v, b, operands, made, x->shared[i], &a));
        add(s, a, x->v->j->vars[x->shared[i]].type);
    }
    return KILN_OK;
}

/* The scan's body: the loop of one lane. Constants come first. */
static kiln_status one_lane(lane *c, lane *f, const around *s, const kn_atom *next, uint32_t moving, const kn_jaxpr **out)
{
    const unbatch *u = c->u;
    const kn_jaxpr *cond, *body;
    kn_atom in[2 * MOST_SHARED + MOST_CARRIES], y[MOST_CARRIES];
    kn_param params[KN_WHILE_PARAMS];
    kn_build b;
    KILN_TRY(lane_body(c, &u->more, 1, &cond));
    KILN_TRY(lane_body(f, next, moving, &body));
    kn_build_init(&b, u->r->ctx, u->r->prog);
    b.scope = u->e->scope, b.loc = u->e->loc;
    for (int arrays = 0; arrays < 2; arrays++)
        for (uint32_t i = 0; i < s->n; i++)
            if ((s->type[i].rank > 0) == arrays) KILN_TRY(kn_build_input(&b, KILN_SCALAR(s->type[i].dtype), &in[i]));
    kn_while_params(params, cond, c->n_shared, body, f->n_shared);
    KILN_TRY(kn_build_eqn(&b, &kn_prim_while, params, in, s->n, y, moving));
    return kn_build_finish(&b, y, moving, out);
}

static kiln_status replace(unbatch *u, lane *c, lane *f, kn_build *b, const kn_atom *operands, kn_atom *y)
{
    const kn_jaxpr *body;
    around s = {.n = 0};
    kn_atom next[MOST_CARRIES], in[2 * MOST_SHARED + MOST_CARRIES], out[MOST_CARRIES];
    kn_param params[KN_SCAN_PARAMS];
    kn_low l = {b, KILN_OK};
    uint32_t moving = 0, consts = 0, n = 0, first = u->w.cond_consts + u->w.body_consts;
    KILN_TRY(shared_of(c, b, operands, &s));
    KILN_TRY(shared_of(f, b, operands, &s));
    for (uint32_t k = 0; k < u->n; k++) {
        if (!u->next[k]) continue;
        next[moving++] = u->next[k] - 1;
        add(&s, operands[first + k], kn_type_of(u->w.body, u->w.body->in[u->w.body_consts + k]));
    }
    KILN_TRY(one_lane(c, f, &s, next, moving, &body));
    b->scope = u->e->scope, b->loc = u->e->loc;
    for (int arrays = 0; arrays < 2; arrays++)
        for (uint32_t i = 0; i < s.n; i++)
            if ((s.type[i].rank > 0) == arrays) in[n++] = arrays ? kn_low_reshape(&l, s.in[i], 1, &u->lanes) : s.in[i];
    for (uint32_t i = 0; i < s.n; i++) consts += s.type[i].rank == 0;
    KILN_TRY(l.status);
    const uint32_t counts[3] = {consts, 0, s.n - consts};
    kn_scan_plain(u->lanes, false, params);
    KILN_TRY(kn_scan_params(u->r->ctx, &u->r->prog->arena, NULL, body, counts, moving, params));
    KILN_TRY(kn_build_eqn(b, &kn_prim_scan, params, in, n, out, moving));
    for (uint32_t k = 0, m = 0; k < u->n; k++) y[k] = u->next[k] ? kn_low_reshape(&l, out[m++], u->rank, u->dims) : operands[first + k];
    return l.status;
}

bool kn_may_unbatch(const kn_jaxpr *j, const kn_eqn *e)
{
    bool stays[MOST_CARRIES];
    return may_match(&(unbatch){.j = j, .e = e}, stays);
}

kiln_status kn_unbatch(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *operands, kn_atom *y, bool *done)
{
    unbatch u = {.r = r, .j = j, .e = e, .budget = MOST_EQUATIONS};
    lane c, f;
    KILN_TRY(matches(&u, done));
    if (!*done) return KILN_OK;
    KILN_TRY(lane_init(&c, &u, &u.cond));
    KILN_TRY(lane_init(&f, &u, &u.body));
    *done = find_shared(&c, u.more);
    for (uint32_t k = 0; k < u.n; k++) *done = *done && (!u.next[k] || find_shared(&f, u.next[k] - 1));
    return *done ? replace(&u, &c, &f, b, operands, y) : KILN_OK;
}
