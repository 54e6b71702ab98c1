/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   a while loop that another one contains, trip for trip, is left out: its results are some of the other's
 * Needs:  a lowered program, equal equations merged
 * Leaves: loops in different bodies; loops far apart (at most 8 loops are between the two)
 * Cost:   linear in the bodies of loops whose first carries are equal
 * Switch: --skip alike
 *
 * Carries are in one class as long as nothing tells them apart: they begin equal, and what a trip makes of them has one value number
 * when the members of every class are one variable (Alpern, Wegman, Zadeck 1988). Where every carry of a loop has its like in the other
 * loop, and both conditions have one value, both make the same trips.
 *
 * Before:
 *   { lambda ; a:f64[] b:i32[]. let
 *       c:i32[] d:f64[] = while[
 *         body_jaxpr={ lambda ; e:f64[] f:i32[] g:f64[]. let
 *             h:f64[] = mul g e
 *             i:i32[] = add f 1:i32[]
 *           in (i, h) }
 *         body_nconsts=1
 *         cond_jaxpr={ lambda ; j:i32[] k:i32[] l:f64[]. let
 *             m:bool[] = lt k j
 *           in (m,) }
 *         cond_nconsts=1
 *       ] b a 0:i32[] 1.0:f64[]
 *       n:f64[] = sin d
 *       o:f64[] p:f64[] q:i32[] = while[
 *         body_jaxpr={ lambda ; r:f64[] s:f64[] t:f64[] u:i32[]. let
 *             v:f64[] = add s t
 *             w:f64[] = mul t r
 *             x:i32[] = add u 1:i32[]
 *           in (v, w, x) }
 *         body_nconsts=1
 *         cond_jaxpr={ lambda ; y:i32[] z:f64[] ba:f64[] bb:i32[]. let
 *             bc:bool[] = lt bb y
 *           in (bc,) }
 *         cond_nconsts=1
 *       ] b a 0.0:f64[] 1.0:f64[] 0:i32[]
 *     in (n, o) }
 * After:
 *   { lambda ; a:f64[] b:i32[]. let
 *       c:f64[] d:f64[] _:i32[] = while[
 *         body_jaxpr={ lambda ; e:f64[] f:f64[] g:f64[] h:i32[]. let
 *             i:f64[] = add f g
 *             j:f64[] = mul g e
 *             k:i32[] = add h 1:i32[]
 *           in (i, j, k) }
 *         body_nconsts=1
 *         cond_jaxpr={ lambda ; l:i32[] m:f64[] n:f64[] o:i32[]. let
 *             p:bool[] = lt o l
 *           in (p,) }
 *         cond_nconsts=1
 *       ] b a 0.0:f64[] 1.0:f64[] 0:i32[]
 *       q:f64[] = sin d
 *     in (q, c) }
 */
#include "opt/equal.h"
#include "opt/rules.h"

enum { CONTAINED };
static const kn_rule *row(int k);
enum { NEAR = 9 };

/* ---- which loop contains which ---- */

typedef struct both {
    kn_pm *pm;
    const kn_build *outer; /* where the loops stand */
    const kn_eqn *e[2];    /* the one that may be contained, the one that may contain it */
    kn_while w[2];
    uint32_t n;            /* carries of both */
    uint32_t *class, *like; /* per carry: of the first loop, then of the second; per class: a carry of the second, or n */
    uint32_t classes;
} both;

static uint32_t owner(const both *v, uint32_t i) { return i >= v->w[0].ncarry; }
static kn_atom first_of(const both *v, uint32_t i) { return owner(v, i) ? v->w[1].init[i - v->w[0].ncarry] : v->w[0].init[i]; }

/* What tells carries of a class apart: their first values, or what a trip makes of them. */
static bool together(const both *v, const kn_build *b, const kn_atom *next, uint32_t i, uint32_t k)
{
    return next ? kn_equal_atoms(b, next[i], next[k]) : kn_equal_atoms(v->outer, first_of(v, i), first_of(v, k));
}

/* Splits the classes; false when a carry of the first loop has no like in the second any more. */
static kiln_status split(both *v, const kn_build *b, const kn_atom *next, bool *left)
{
    uint32_t *first = KN_NEWN(&v->pm->scratch, uint32_t, v->n + 1), *sibling = KN_NEWN(&v->pm->scratch, uint32_t, v->n + 1);
    uint32_t *to = KN_NEWN(&v->pm->scratch, uint32_t, v->n + 1), classes = 0; /* lists of new classes, by their first carry + 1 */
    KILN_TRY_MEM(v->pm->ctx, first && sibling && to);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t *at = &first[v->class[i]];
        while (*at && !together(v, b, next, i, *at - 1)) at = &sibling[*at - 1];
        if (!*at) {
            *at = i + 1;
            v->like[classes] = v->n;
            to[i] = classes++;
        } else to[i] = to[*at - 1];
        if (owner(v, i)) v->like[to[i]] = i - v->w[0].ncarry;
    }
    v->classes = classes;
    memcpy(v->class, to, v->n * sizeof *to);
    *left = true;
    for (uint32_t i = 0; i < v->w[0].ncarry; i++) *left = *left && v->like[v->class[i]] < v->n;
    return KILN_OK;
}

/* A body where equal equations of both loops are one. */
typedef struct numbered {
    kn_build b;
    kn_equal t;
    kn_map inputs;   /* variable outside + 1 -> input + 1 */
    kn_atom *carry;  /* per class */
} numbered;

static kiln_status open(both *v, numbered *n)
{
    kn_arena *scratch = &v->pm->scratch;
    n->inputs = (kn_map){0};
    kn_build_init(&n->b, v->pm->ctx, v->pm->prog);
    uint32_t room = v->w[0].body->neqns + v->w[1].body->neqns + v->w[0].cond->neqns + v->w[1].cond->neqns;
    bool *typed = KN_NEWN(scratch, bool, v->classes);
    KILN_TRY_MEM(v->pm->ctx, typed && kn_equal_init(&n->t, scratch, &n->b, room) && (n->carry = KN_NEWN(scratch, kn_atom, v->classes)));
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t c = v->class[i]; /* whose members have one type */
        if (!typed[c]) KILN_TRY(kn_build_input(&n->b, kn_build_type(v->outer, first_of(v, i)), &n->carry[c]));
        typed[c] = true;
    }
    return KILN_OK;
}

/* What stands for an operand of a loop inside of it. */
static kiln_status constant(both *v, numbered *n, kn_atom a, kn_atom *out)
{
    if (kn_is_literal(a)) {
        const kn_lit *l = &v->outer->lits.v[kn_literal_index(a)];
        return kn_build_literal(&n->b, l->dtype, l->value, out);
    }
    uint32_t seen = kn_map_get(&n->inputs, (uint64_t)a + 1);
    if (seen) *out = seen - 1;
    else {
        KILN_TRY(kn_build_input(&n->b, kn_build_type(v->outer, a), out));
        KILN_TRY_MEM(v->pm->ctx, kn_map_put(&v->pm->scratch, &n->inputs, (uint64_t)a + 1, *out + 1));
    }
    return KILN_OK;
}

/* The results of the body or the condition of loop k. */
static kiln_status number(both *v, numbered *n, int k, bool cond, kn_atom *out)
{
    const kn_while *w = &v->w[k];
    const kn_jaxpr *j = cond ? w->cond : w->body;
    uint32_t consts = cond ? w->cond_nconsts : w->body_nconsts;
    kn_arena *scratch = &v->pm->scratch;
    kn_atom *map = KN_NEWN(scratch, kn_atom, j->nvars);
    kiln_status status = KILN_OK;
    KILN_TRY_MEM(v->pm->ctx, map);
    for (uint32_t i = 0; i < consts; i++) KILN_TRY(constant(v, n, (cond ? w->cond_in : w->body_in)[i], &map[j->in[i]]));
    for (uint32_t i = 0; i < w->ncarry; i++) map[j->in[consts + i]] = n->carry[v->class[(k ? v->w[0].ncarry : 0) + i]];
    for (uint32_t q = 0; q < j->neqns; q++) {
        kn_eqn e = j->eqns[q];
        kn_atom *in = KN_NEWN(scratch, kn_atom, e.nin), *made = KN_NEWN(scratch, kn_atom, e.nout);
        KILN_TRY_MEM(v->pm->ctx, in && made);
        for (uint32_t i = 0; i < e.nin; i++) in[i] = kn_build_map(&n->b, j, e.in[i], map, &status);
        KILN_TRY(status);
        e.in = in;
        const kn_eqn *same = kn_equal_find(&n->t, &e);
        if (!same) {
            KILN_TRY(kn_build_like(&n->b, j, &j->eqns[q], in, made));
            kn_equal_enter(&n->t);
        }
        for (uint32_t i = 0; i < e.nout; i++) map[e.out[i]] = same ? same->out[i] : made[i];
    }
    for (uint32_t i = 0; i < j->nout; i++) out[i] = kn_build_map(&n->b, j, j->out[i], map, &status);
    return status;
}

/* Some carry of the second loop begins as each of the first does: what tells most loops apart at once. */
static bool begin_alike(const both *v)
{
    for (uint32_t i = 0; i < v->w[0].ncarry; i++) {
        uint32_t k = 0;
        while (k < v->w[1].ncarry && !kn_equal_atoms(v->outer, v->w[0].init[i], v->w[1].init[k])) k++;
        if (k == v->w[1].ncarry) return false;
    }
    return v->w[0].ncarry > 0;
}

static kiln_status contains(both *v, bool *does)
{
    static const char *const counted = "lanes";
    kn_arena *scratch = &v->pm->scratch;
    for (int k = 0; k < 2; k++) v->w[k] = kn_while_of(v->e[k]);
    *does = begin_alike(v) && kn_param_equal(kn_param_of(v->e[0], counted), kn_param_of(v->e[1], counted));
    *does = *does && !kn_eqn_has_effect(v->e[0]);
    if (!*does) return KILN_OK;
    v->n = v->w[0].ncarry + v->w[1].ncarry;
    kn_atom *next = KN_NEWN(scratch, kn_atom, v->n), more[2];
    KILN_TRY_MEM(v->pm->ctx, next && (v->class = KN_NEWN(scratch, uint32_t, v->n)) && (v->like = KN_NEWN(scratch, uint32_t, v->n)));
    KILN_TRY(split(v, NULL, NULL, does));
    for (uint32_t before = 0; *does && before < v->classes;) {
        numbered n;
        before = v->classes;
        KILN_TRY(open(v, &n));
        for (int k = 0; k < 2; k++) KILN_TRY(number(v, &n, k, false, k ? next + v->w[0].ncarry : next));
        KILN_TRY(split(v, &n.b, next, does));
        if (!*does || before < v->classes) continue;
        for (int k = 0; k < 2; k++) KILN_TRY(number(v, &n, k, true, &more[k]));
        *does = kn_equal_atoms(&n.b, more[0], more[1]);
    }
    return KILN_OK;
}

/* ---- one for two ---- */

/* Equations between two loops that need what the first gives, or what such ones give. It can go where the second loop needs none of that, and
 * nothing that would come behind it has an effect. */
static kiln_status find_late(kn_pm *pm, const kn_jaxpr *j, uint32_t first, uint32_t second, bool *late, bool *can_go)
{
    bool *made = KN_NEWN(&pm->scratch, bool, j->nvars);
    KILN_TRY_MEM(pm->ctx, made);
    for (uint32_t i = 0; i < j->eqns[first].nout; i++) made[j->eqns[first].out[i]] = true;
    for (uint32_t k = first + 1; k <= second; k++) {
        const kn_eqn *e = &j->eqns[k];
        late[k] = false;
        for (uint32_t i = 0; i < e->nin; i++) late[k] = late[k] || (!kn_is_literal(e->in[i]) && made[e->in[i]]);
        for (uint32_t i = 0; i < e->nout; i++) made[e->out[i]] = late[k];
        *can_go = *can_go && !(late[k] && (k == second || kn_eqn_has_effect(e)));
    }
    return KILN_OK;
}

/* Loop `gone` is left out; what stands between the two and needs its results comes behind the loop that stays. */
static kiln_status leave_out(kn_pm *pm, const both *v, uint32_t gone, uint32_t stays, const bool *late, const kn_jaxpr **j)
{
    const kn_jaxpr *from = *j;
    kn_rw rw;
    KILN_TRY(kn_rw_begin(&rw, pm, from));
    const kn_eqn *g = &from->eqns[gone], *s = &from->eqns[stays];
    for (uint32_t i = 0; i < g->nout; i++) KILN_TRY(kn_rw_forward(&rw, g->out[i], s->out[v->like[v->class[i]]]));
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t k = 0; k < from->neqns; k++) {
            bool behind = k > stays || late[k];
            kn_eqn e;
            if (k == gone || behind != turn) continue;
            KILN_TRY(kn_rw_take(&rw, &from->eqns[k], &e));
            KILN_TRY(kn_rw_push(&rw, &e));
        }
    kn_count_at(pm, row(CONTAINED), 1, g->prim, g->loc);
    return kn_rw_finish(&rw, j);
}

/* One loop less, if there is one to leave out. loops: where they stand. */
static kiln_status one_less(kn_pm *pm, const kn_jaxpr **j, const uint32_t *loops, uint32_t n, bool *found)
{
    kn_rw rw; /* for the types of what stands outside */
    KILN_TRY(kn_rw_begin(&rw, pm, *j));
    for (uint32_t q = 1; q < n; q++)
        for (uint32_t p = q < NEAR ? 0 : q - NEAR; p < q; p++)
            for (int later = 0; later < 2; later++) { /* which of the two may be left out */
                uint32_t gone = loops[later ? q : p], stays = loops[later ? p : q];
                both v = {.pm = pm, .outer = &rw.b, .e = {&(*j)->eqns[gone], &(*j)->eqns[stays]}};
                KILN_TRY(contains(&v, found));
                if (!*found) continue;
                bool *late = KN_NEWN(&pm->scratch, bool, (*j)->neqns);
                KILN_TRY_MEM(pm->ctx, late);
                if (!later) KILN_TRY(find_late(pm, *j, gone, stays, late, found));
                if (*found) return leave_out(pm, &v, gone, stays, late, j);
            }
    return KILN_OK;
}

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);
static kiln_status merge_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out)
{
    const kn_jaxpr *merged;
    KILN_TRY(merge_jaxpr(ud, body, &merged));
    return kn_renumber(ud, merged, out);
}

static kiln_status merge_bodies(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_rw rw;
    bool changed = false;
    KILN_TRY(kn_rw_begin(&rw, pm, j));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        bool inside;
        KILN_TRY(kn_map_bodies(pm, &e, merge_body, pm, &inside));
        changed = changed || inside;
        KILN_TRY(kn_rw_push(&rw, &e));
    }
    *out = j;
    return changed ? kn_rw_finish(&rw, out) : KILN_OK;
}

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    uint32_t *loops = KN_NEWN(&pm->scratch, uint32_t, j->neqns);
    bool bodies = false, found = true;
    KILN_TRY_MEM(pm->ctx, loops);
    for (uint32_t k = 0; k < j->neqns; k++) bodies = bodies || j->eqns[k].prim->loop != KN_LOOP_NONE;
    *out = j;
    if (bodies) KILN_TRY(merge_bodies(pm, j, out));
    while (bodies && found) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < (*out)->neqns; k++)
            if (kn_is_while(&(*out)->eqns[k])) loops[n++] = k;
        found = false;
        KILN_TRY(one_less(pm, out, loops, n, &found));
    }
    return KILN_OK;
}

kiln_status kn_pass_alike(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return merge_jaxpr(pm, main, out); }

const kn_rule kn_alike_rules[] = {{.text = "a loop that another contains"}, {.text = NULL}};
static const kn_rule *row(int k) { return &kn_alike_rules[k]; }
