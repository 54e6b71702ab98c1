/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   moves what does not change from trip to trip out of while loops, inner loops first
 * Needs:  a lowered program
 * Leaves: moves of elements (they cost nothing where they are used, and an array to hold), cheap operations on arrays,
 *         loops and branches unless the loop around them makes a trip for certain
 * Cost:   linear in the bodies
 * Switch: --skip licm
 *
 * What is moved becomes a constant of the loop. It is worth it for scalars, and for arrays behind an expensive operation that
 * are not larger than what they are made of or than all else the loop holds: a cheap operation on an array costs less inside a
 * fused nest than reading its stored result. Every operation is total, so that a loop without trips only loses time. What moved
 * code needs and cannot itself be held (a broadcast) is made twice.
 *
 * Before:
 *   { lambda ; a:f64[] b:f64[8] c:i32[]. let
 *       d:i32[] e:f64[8] = while[
 *         body_jaxpr={ lambda ; f:f64[] g:f64[8] h:i32[] i:f64[8]. let
 *             j:f64[] = exp f
 *             k:f64[8] = mul g j
 *             l:f64[8] = add i k
 *             m:i32[] = add h 1:i32[]
 *           in (m, l) }
 *         body_nconsts=2
 *         cond_jaxpr={ lambda ; n:i32[] o:i32[] p:f64[8]. let
 *             q:i32[] = mul n 2:i32[]
 *             r:bool[] = lt o q
 *           in (r,) }
 *         cond_nconsts=1
 *       ] c a b 0:i32[] b
 *     in (e,) }
 * After:
 *   { lambda ; a:f64[] b:f64[8] c:i32[]. let
 *       d:i32[] = mul c 2:i32[]
 *       e:f64[] = exp a
 *       f:f64[8] = mul b e
 *       _:i32[] g:f64[8] = while[
 *         body_jaxpr={ lambda ; h:f64[] i:f64[8] j:f64[8] k:i32[] l:f64[8]. let
 *             m:f64[8] = add l j
 *             n:i32[] = add k 1:i32[]
 *           in (n, m) }
 *         body_nconsts=3
 *         cond_jaxpr={ lambda ; o:i32[] p:i32[] q:i32[] r:f64[8]. let
 *             s:bool[] = lt q p
 *           in (s,) }
 *         cond_nconsts=2
 *       ] c d a b f 0:i32[] b
 *     in (g,) }
 */
#include "opt/rules.h"

enum { MOVED };
static const kn_rule *row(int k);

/* What is known of one body while it is searched. */
typedef struct search {
    kn_pm *pm;
    const kn_jaxpr *j;
    uint32_t nconsts;
    bool *fixed;     /* variable: the same in every trip */
    bool *costly;    /* variable: fixed, and made by an expensive operation, directly or not */
    int64_t *leaves; /* variable: fixed; elements that must be held to make it */
    bool *wanted;    /* variable: fixed, and read by what stays in the body */
    bool *moves;     /* equation: its results become constants of the loop */
    bool *stays;     /* equation: still needed in the body */
    bool *outside;   /* equation: made before the loop */
    uint32_t *def;   /* variable: number + 1 of its equation */
    int64_t held;    /* elements of all inputs of the loop */
    uint32_t n;      /* variables that become constants */
} search;

static bool has_bodies(const kn_eqn *e) { return kn_is_while(e) || kn_is_cond(e); }
/* Costs nothing where its elements are used: an index map. */
static bool is_free(const kn_eqn *e)
{
    return e->nin == 0 || ((e->prim->flags & KN_MOVES) && !(e->prim->flags & KN_ELEMENTWISE) && e->prim->loop == KN_LOOP_ELEMENT);
}

/* Never worth computing in every trip. */
static bool is_dear(const kn_eqn *e)
{
    kn_loop_kind loop = e->prim->loop;
    return (e->prim->flags & KN_EXPENSIVE) || has_bodies(e) || loop == KN_LOOP_REDUCE || loop == KN_LOOP_DOT || loop == KN_LOOP_CONV || loop == KN_LOOP_CUMULATE ||
           kn_updates(e); /* copies the whole array */
}

static int64_t add(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

static bool allocate(search *s)
{
    kn_arena *a = &s->pm->scratch;
    uint32_t n = s->j->nvars, m = s->j->neqns;
    return (s->fixed = KN_NEWN(a, bool, n)) && (s->costly = KN_NEWN(a, bool, n)) && (s->leaves = KN_NEWN(a, int64_t, n)) &&
           (s->wanted = KN_NEWN(a, bool, n)) && (s->moves = KN_NEWN(a, bool, m)) && (s->stays = KN_NEWN(a, bool, m)) &&
           (s->outside = KN_NEWN(a, bool, m)) && (s->def = KN_NEWN(a, uint32_t, n));
}

/* Is every operand fixed? */
static bool is_fixed(const search *s, const kn_eqn *e)
{
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_is_literal(e->in[i]) && !s->fixed[e->in[i]]) return false;
    return !(e->prim->flags & KN_EFFECT);
}

static void find_fixed(search *s, bool trips)
{
    const kn_jaxpr *j = s->j;
    for (uint32_t i = 0; i < s->nconsts; i++) {
        s->fixed[j->in[i]] = true;
        s->leaves[j->in[i]] = kn_elements(j->vars[j->in[i]].type);
    }
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (!is_fixed(s, e) || (has_bodies(e) && !trips)) continue;
        bool costly = is_dear(e);
        int64_t leaves = 0;
        for (uint32_t i = 0; i < e->nin; i++) {
            if (kn_is_literal(e->in[i])) continue;
            leaves = add(leaves, s->leaves[e->in[i]]);
            costly = costly || s->costly[e->in[i]];
        }
        for (uint32_t i = 0; i < e->nout; i++) {
            s->fixed[e->out[i]] = true;
            s->costly[e->out[i]] = costly;
            s->leaves[e->out[i]] = leaves;
        }
    }
}

/* Should the loop hold this result? */
static bool worth(const search *s, const kn_eqn *e)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < e->nout; i++) size = add(size, kn_elements(s->j->vars[e->out[i]].type));
    /* simplify would make it inside again */
    if (e->prim == &kn_prim_broadcast_in_dim && kn_type_of(s->j, e->in[0]).rank == 0) return false;
    if (size <= e->nout) return true;
    if (is_free(e)) return false;
    return s->costly[e->out[0]] && (size <= s->leaves[e->out[0]] || size <= s->held);
}

static void want(search *s, kn_atom a)
{
    if (!kn_is_literal(a) && s->fixed[a]) s->wanted[a] = true;
}

/* From the end: what stays asks for its operands; what is asked for and worth holding moves, else it stays and asks in turn. */
static void choose(search *s)
{
    const kn_jaxpr *j = s->j;
    for (uint32_t i = 0; i < j->nout; i++) want(s, j->out[i]);
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        bool fixed = e->nout > 0 && s->fixed[e->out[0]], asked = !fixed;
        for (uint32_t i = 0; i < e->nout; i++) asked = asked || s->wanted[e->out[i]];
        if (!asked) continue;
        if (fixed && e->nin > 0 && worth(s, e)) {
            s->moves[k] = s->outside[k] = true;
            continue;
        }
        s->stays[k] = true;
        for (uint32_t i = 0; i < e->nin; i++) want(s, e->in[i]);
    }
    /* What moved equations are made of is made outside too, all the way back. */
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) s->def[j->eqns[k].out[i]] = k + 1;
    for (uint32_t k = j->neqns; k-- > 0;) {
        if (!s->outside[k]) continue;
        for (uint32_t i = 0; i < j->eqns[k].nin; i++) {
            kn_atom a = j->eqns[k].in[i];
            if (!kn_is_literal(a) && s->def[a]) s->outside[s->def[a] - 1] = true;
        }
    }
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; s->moves[k] && i < j->eqns[k].nout; i++) s->n += s->wanted[j->eqns[k].out[i]];
}

/* Appends copies of the outside equations to rw; map: variables of the body -> atoms outside. */
static kiln_status emit_outside(const search *s, kn_rw *rw, kn_atom *map)
{
    kn_arena *arena = &rw->pm->prog->arena;
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; k < s->j->neqns; k++) {
        if (!s->outside[k]) continue;
        kn_eqn e = s->j->eqns[k];
        kn_atom *in = KN_NEWN(arena, kn_atom, e.nin);
        uint32_t *out = KN_NEWN(arena, uint32_t, e.nout);
        KILN_TRY_MEM(rw->pm->ctx, in && out);
        for (uint32_t i = 0; i < e.nin; i++) in[i] = kn_build_map(&rw->b, s->j, e.in[i], map, &status);
        KILN_TRY(status);
        for (uint32_t i = 0; i < e.nout; i++) {
            KILN_TRY_MEM(rw->pm->ctx, kn_push(arena, &rw->b.vars, s->j->vars[e.out[i]]));
            map[e.out[i]] = out[i] = rw->b.vars.n - 1;
        }
        e.in = in;
        e.out = out;
        KILN_TRY(kn_rw_push(rw, &e));
    }
    return KILN_OK;
}

/* The body without its moved equations, whose results are inputs behind its constants; `added` are their atoms outside. */
static kiln_status shrink(const search *s, const kn_atom *map, const kn_jaxpr **out, kn_atom *added)
{
    const kn_jaxpr *j = s->j;
    kn_arena *arena = &s->pm->prog->arena;
    kn_jaxpr *r = kn_arena_copy(arena, j, sizeof *j);
    kn_atom *in = KN_NEWN(arena, kn_atom, j->nin + s->n);
    kn_eqn *eqns = KN_NEWN(arena, kn_eqn, j->neqns);
    KILN_TRY_MEM(s->pm->ctx, r && in && eqns);
    uint32_t nin = 0, n = 0, m = 0;
    for (uint32_t i = 0; i < s->nconsts; i++) in[nin++] = j->in[i];
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (s->stays[k]) eqns[n++] = *e;
        for (uint32_t i = 0; s->moves[k] && i < e->nout; i++)
            if (s->wanted[e->out[i]]) in[nin++] = e->out[i], added[m++] = map[e->out[i]];
    }
    for (uint32_t i = s->nconsts; i < j->nin; i++) in[nin++] = j->in[i];
    r->in = in, r->nin = nin;
    r->eqns = eqns, r->neqns = n;
    *out = r;
    return KILN_OK;
}

/* Searches one body of a loop and moves what it finds to rw. `consts` are the operands for its constants. */
static kiln_status hoist(kn_rw *rw, const kn_jaxpr **body, const kn_atom **consts, uint32_t *nconsts, int64_t held, bool trips)
{
    kn_pm *pm = rw->pm;
    search s = {.pm = pm, .j = *body, .nconsts = *nconsts, .held = held};
    KILN_TRY_MEM(pm->ctx, allocate(&s));
    find_fixed(&s, trips);
    choose(&s);
    if (s.n == 0) return KILN_OK;
    kn_atom *map = KN_NEWN(&pm->scratch, kn_atom, s.j->nvars), *in = KN_NEWN(&pm->scratch, kn_atom, *nconsts + s.n);
    KILN_TRY_MEM(pm->ctx, map && in);
    for (uint32_t i = 0; i < *nconsts; i++) map[s.j->in[i]] = in[i] = (*consts)[i];
    KILN_TRY(emit_outside(&s, rw, map));
    KILN_TRY(shrink(&s, map, body, in + *nconsts));
    *consts = in;
    *nconsts += s.n;
    for (uint32_t k = 0; k < s.j->neqns; k++)
        for (uint32_t i = 0; s.moves[k] && i < s.j->eqns[k].nout; i++)
            kn_count_at(pm, row(MOVED), s.wanted[s.j->eqns[k].out[i]], s.j->eqns[k].prim, s.j->eqns[k].loc);
    return KILN_OK;
}

static kiln_status move_out(kn_rw *rw, kn_eqn *e, bool *changed)
{
    kn_while w = kn_while_of(e);
    uint32_t before = w.cond_nconsts + w.body_nconsts;
    uint32_t trips;
    int64_t held = 0;
    bool ends;
    for (uint32_t i = 0; i < e->nin; i++) held = add(held, kn_elements(kn_build_type(&rw->b, e->in[i])));
    KILN_TRY(kn_first_trips(rw, &w, 0, &trips, &ends));
    KILN_TRY(hoist(rw, &w.cond, &w.cond_in, &w.cond_nconsts, held, true)); /* the condition always runs */
    KILN_TRY(hoist(rw, &w.body, &w.body_in, &w.body_nconsts, held, trips > 0));
    if (w.cond_nconsts + w.body_nconsts == before) return KILN_OK;
    *changed = true;
    return kn_while_set(rw->pm, e, &w);
}

static kiln_status move_in_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);
static kiln_status move_in_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out) { return move_in_jaxpr(ud, body, out); }

static kiln_status move_in_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_rw rw;
    bool changed = false;
    *out = j;
    bool any = false;
    for (uint32_t k = 0; k < j->neqns; k++) any = any || has_bodies(&j->eqns[k]);
    if (!any) return KILN_OK;
    KILN_TRY(kn_rw_begin(&rw, pm, j));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        if (has_bodies(&e)) {
            bool inside;
            KILN_TRY(kn_map_bodies(pm, &e, move_in_body, pm, &inside));
            changed = changed || inside;
        }
        if (kn_is_while(&e)) KILN_TRY(move_out(&rw, &e, &changed));
        KILN_TRY(kn_rw_push(&rw, &e));
    }
    return changed ? kn_rw_finish(&rw, out) : KILN_OK;
}

kiln_status kn_pass_licm(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return move_in_jaxpr(pm, main, out); }

const kn_rule kn_licm_rules[] = {{.text = "a value that no trip changes"}, {.text = NULL}};
static const kn_rule *row(int k) { return &kn_licm_rules[k]; }
