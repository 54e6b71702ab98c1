/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   makes updates of arrays fit to be done in place: a sum with an update of zeros becomes an update of the sum, and an update
 *         moves behind the other readers of the array that it updates
 * Needs:  a lowered program
 * Leaves: sums of floats that may be -0 where the zeros are added (-0 + 0 is +0); updates that something before those readers needs
 * Cost:   linear in the program; loops are looked at a few times, inner ones in each of them
 * Switch: --skip updates
 *
 * What reverse mode makes of `x.at[i].add` and of a slice in a loop is a sum of whole arrays, one of them zero but for a few elements: with this
 * a trip costs as much as the elements. The zeros' sign is followed from the literals through the loops: assumed of a carry, then proved of
 * what a trip gives.
 *
 * Before:
 *   { lambda ; a:i32[100] b:f32[4] c:i32[]. let
 *       d:i32[100] = broadcast_in_dim 0:i32[]
 *       e:i32[4] = convert_element_type[new_dtype=int32 weak_type=False] b
 *       f:i32[100] = dynamic_update_slice d e c
 *       g:i32[100] = add a f
 *     in (g,) }
 * After:
 *   { lambda ; a:i32[100] b:f32[4] c:i32[]. let
 *       d:i32[100] = broadcast_in_dim 0:i32[]
 *       e:i32[4] = convert_element_type[new_dtype=int32 weak_type=False] b
 *       _:i32[100] = dynamic_update_slice d e c
 *       f:i32[4] = dynamic_slice[slice_sizes=(4,)] a c
 *       g:i32[4] = add f e
 *       h:i32[100] = dynamic_update_slice a g c
 *     in (h,) }
 */
#include "opt/rules.h"

#include <math.h>

enum { SUM, LATER };
const kn_rule kn_updates_rules[] = {
    {.text = "x + dynamic_update_slice(0, u, i) -> dynamic_update_slice(x, dynamic_slice(x, i) + u, i) where x is not -0"},
    {.text = "an update behind the other readers of its operand"},
    {.text = NULL},
};

/* ---- which variables have no element -0 ---- */

static bool literal_plus(const kn_jaxpr *j, kn_atom a)
{
    const kn_lit *l = &j->lits[kn_literal_index(a)];
    char kind = kiln_dtype_kind(l->dtype);
    return kind != 'f' ? kind != 'c' : !(l->value.f == 0 && signbit(l->value.f));
}

static bool plus(const kn_jaxpr *j, const bool *v, kn_atom a) { return kn_is_literal(a) ? literal_plus(j, a) : v[a]; }

static bool all_plus(const kn_jaxpr *j, const bool *v, const kn_eqn *e, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < n; i++)
        if (!plus(j, v, e->in[i])) return false;
    return true;
}

/* Of an equation without bodies. A sum is -0 for -0 and -0 only, a difference for -0 and +0 only. */
static bool gives_plus(const kn_jaxpr *j, const bool *v, const kn_eqn *e)
{
    const kn_prim *p = e->prim;
    if (p == &kn_prim_add) return plus(j, v, e->in[0]) || plus(j, v, e->in[1]);
    if (p == &kn_prim_sub) return plus(j, v, e->in[0]);
    if (p == &kn_prim_abs || p == &kn_prim_exp || p == &kn_prim_iota) return true;
    if (p == &kn_prim_max || p == &kn_prim_min || p == &kn_prim_concatenate || p == &kn_prim_pad) return all_plus(j, v, e, 0, e->nin);
    if (p == &kn_prim_broadcast_in_dim || p == &kn_prim_reshape || p == &kn_prim_transpose || p == &kn_prim_slice || p == &kn_prim_rev ||
        p == &kn_prim_dynamic_slice) return plus(j, v, e->in[0]);
    if (p == &kn_prim_select_n) return all_plus(j, v, e, 1, e->nin);
    if (p == &kn_prim_dynamic_update_slice) return all_plus(j, v, e, 0, 2);
    if (p == &kn_prim_scatter && e->nin == 3) return plus(j, v, e->in[0]) && plus(j, v, e->in[2]);
    if (p == &kn_prim_scatter_add && e->nin == 3) return plus(j, v, e->in[0]);
    if (p == &kn_prim_gather) return plus(j, v, e->in[0]) && kn_param_of(e, "fill_value")->kind == KN_P_NONE;
    return false;
}

static kiln_status learn(kn_pm *pm, const kn_jaxpr *j, const bool *in, bool **out);

static bool result_plus(const kn_jaxpr *j, const bool *v, uint32_t k) { return plus(j, v, j->out[k]); }

/* What holds of the body's inputs in every trip: of a carry, what holds where it begins and again of what a trip gives. */
static kiln_status learn_body(kn_pm *pm, const kn_jaxpr *j, const bool *v, const kn_while *w, bool **in, bool **inside)
{
    bool changed = true;
    KILN_TRY_MEM(pm->ctx, *in = KN_NEWN(&pm->scratch, bool, w->body_nconsts + w->ncarry));
    for (uint32_t i = 0; i < w->body_nconsts; i++) (*in)[i] = plus(j, v, w->body_in[i]);
    for (uint32_t i = 0; i < w->ncarry; i++) (*in)[w->body_nconsts + i] = plus(j, v, w->init[i]);
    while (changed) { /* each time a carry less */
        changed = false;
        KILN_TRY(learn(pm, w->body, *in, inside));
        for (uint32_t i = 0; i < w->ncarry; i++) {
            bool *c = &(*in)[w->body_nconsts + i];
            if (!*c || result_plus(w->body, *inside, i)) continue;
            *c = false;
            changed = true;
        }
    }
    return KILN_OK;
}

static kiln_status learn_loop(kn_pm *pm, const kn_jaxpr *j, const kn_eqn *e, bool *v)
{
    kn_while w = kn_while_of(e);
    bool *in, *inside;
    KILN_TRY(learn_body(pm, j, v, &w, &in, &inside));
    for (uint32_t i = 0; i < e->nout; i++) v[e->out[i]] = in[w.body_nconsts + i];
    return KILN_OK;
}

/* Of all variables of j, from what holds of its inputs. */
static kiln_status learn(kn_pm *pm, const kn_jaxpr *j, const bool *in, bool **out)
{
    bool *v = KN_NEWN(&pm->scratch, bool, j->nvars);
    KILN_TRY_MEM(pm->ctx, v);
    for (uint32_t i = 0; i < j->nin; i++) v[j->in[i]] = (in && in[i]) || kn_is_int(kiln_dtype_kind(j->vars[j->in[i]].type.dtype));
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (kn_is_while(e)) KILN_TRY(learn_loop(pm, j, e, v));
        else if (e->nout == 1) v[e->out[0]] = gives_plus(j, v, e);
        for (uint32_t i = 0; i < e->nout; i++)
            if (kn_is_int(kiln_dtype_kind(j->vars[e->out[i]].type.dtype))) v[e->out[i]] = true;
    }
    *out = v;
    return KILN_OK;
}

/* ---- sums ---- */

static bool is_zeros(const kn_rw *rw, kn_atom a)
{
    const kn_eqn *e = kn_rw_def(rw, a);
    if (!e || e->prim != &kn_prim_broadcast_in_dim || !kn_is_literal(e->in[0])) return false;
    const kn_lit *l = &rw->b.lits.v[kn_literal_index(e->in[0])];
    char kind = kiln_dtype_kind(l->dtype);
    return kind == 'f' ? l->value.f == 0 && !signbit(l->value.f) : kn_is_int(kind) && l->value.u == 0;
}

/* The sum's operand k is an update of zeros that nobody else reads. */
static const kn_eqn *update_of_zeros(const kn_rw *rw, const kn_eqn *sum, uint32_t k, const uint32_t *readers)
{
    kn_atom a = sum->in[k];
    const kn_eqn *d = kn_is_literal(a) ? NULL : kn_rw_def(rw, a);
    bool fits = d && d->prim == &kn_prim_dynamic_update_slice && readers[a] == 1 && is_zeros(rw, d->in[0]);
    return fits ? d : NULL;
}

/* Pushes the update of the sum in the place of the sum. */
static kiln_status push_sum(kn_rw *rw, const kn_eqn *sum, uint32_t k, kn_eqn update)
{
    kn_arena *arena = &rw->pm->prog->arena;
    kn_atom x = sum->in[1 - k], u = update.in[1];
    kiln_type window = kn_build_type(&rw->b, u);
    kn_atom *in = KN_NEWN(arena, kn_atom, update.nin), *from = KN_NEWN(arena, kn_atom, update.nin - 1), *both = KN_NEWN(arena, kn_atom, 2);
    int64_t *sizes = KN_NEWN(arena, int64_t, window.rank);
    kn_param *params = KN_NEWN(arena, kn_param, 1);
    KILN_TRY_MEM(rw->pm->ctx, in && from && both && sizes && params);
    if (window.rank) memcpy(sizes, window.dims, window.rank * sizeof *sizes);
    params[0] = KN_INTS(window.rank, sizes);
    memcpy(in, update.in, update.nin * sizeof *in);
    from[0] = x;
    memcpy(from + 1, update.in + 2, (update.nin - 2) * sizeof *from);
    kn_eqn slice, add;
    KILN_TRY(kn_rw_new(rw, sum, &kn_prim_dynamic_slice, params, from, update.nin - 1, &slice));
    KILN_TRY(kn_rw_push(rw, &slice));
    both[k] = u, both[1 - k] = slice.out[0]; /* in the order of the sum */
    KILN_TRY(kn_rw_new(rw, sum, &kn_prim_add, sum->params, both, 2, &add));
    KILN_TRY(kn_rw_push(rw, &add));
    in[0] = x, in[1] = add.out[0];
    kn_eqn e = *sum;
    e.prim = &kn_prim_dynamic_update_slice;
    e.params = update.params;
    e.in = in;
    e.nin = update.nin;
    kn_count(rw->pm, &kn_updates_rules[SUM], 1);
    return kn_rw_push(rw, &e);
}

static kiln_status push(kn_rw *rw, const kn_jaxpr *j, const kn_eqn *e, const bool *v, const uint32_t *readers, bool *changed)
{
    char kind = e->prim == &kn_prim_add ? kiln_dtype_kind(j->vars[e->out[0]].type.dtype) : 0;
    bool fits = kn_is_int(kind) || (kind == 'f' && !rw->pm->flush); /* the sum with zeros flushes subnormal numbers */
    for (uint32_t k = 0; fits && k < 2; k++) {
        const kn_eqn *d = update_of_zeros(rw, e, k, readers);
        kn_atom x = e->in[1 - k];
        if (!d || kn_is_literal(x) || !v[x] || j->vars[x].type.rank == 0) continue;
        *changed = true;
        return push_sum(rw, e, k, *d);
    }
    return kn_rw_push(rw, e);
}

/* ---- order ---- */

static bool updates(const kn_eqn *e) { return e->prim == &kn_prim_dynamic_update_slice || (e->prim->loop == KN_LOOP_SCATTER && e->nin == 3); }

/* Of each variable the equation that reads it first, and last; neqns + 1 for results of the jaxpr. */
static kiln_status find_readers(kn_pm *pm, const kn_jaxpr *j, uint32_t **first, uint32_t **last, uint32_t **count)
{
    *first = KN_NEWN(&pm->scratch, uint32_t, j->nvars), *last = KN_NEWN(&pm->scratch, uint32_t, j->nvars), *count = KN_NEWN(&pm->scratch, uint32_t, j->nvars);
    KILN_TRY_MEM(pm->ctx, *first && *last && *count);
    for (uint32_t k = 0; k <= j->neqns; k++) {
        uint32_t n = k < j->neqns ? j->eqns[k].nin : j->nout;
        const kn_atom *in = k < j->neqns ? j->eqns[k].in : j->out;
        for (uint32_t i = 0; i < n; i++) {
            if (kn_is_literal(in[i])) continue;
            if (!(*count)[in[i]]++) (*first)[in[i]] = k;
            (*last)[in[i]] = k;
        }
    }
    return KILN_OK;
}

/* An update that others read the operand of behind it, all of them before its own first reader, moves there. */
static kiln_status reorder(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    uint32_t *first, *last, *count, *next, moved = 0, n = 0;
    KILN_TRY(find_readers(pm, j, &first, &last, &count));
    KILN_TRY_MEM(pm->ctx, next = KN_NEWN(&pm->scratch, uint32_t, j->neqns + 1)); /* behind equation k: those that moved there, a list */
    uint32_t *link = KN_NEWN(&pm->scratch, uint32_t, j->neqns + 1);
    bool *moves = KN_NEWN(&pm->scratch, bool, j->neqns + 1);
    KILN_TRY_MEM(pm->ctx, link && moves);
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        kn_atom x = updates(e) ? e->in[0] : 0;
        if (!updates(e) || kn_is_literal(x) || !count[e->out[0]]) continue;
        uint32_t to = last[x];
        if (to <= k || to >= j->neqns || first[e->out[0]] <= to || moves[to]) continue;
        moves[k] = true;
        link[k] = next[to];
        next[to] = k + 1;
        moved++;
    }
    *out = j;
    if (!moved) return KILN_OK;
    kn_jaxpr *r = kn_arena_copy(&pm->prog->arena, j, sizeof *j);
    kn_eqn *eqns = KN_NEWN(&pm->prog->arena, kn_eqn, j->neqns);
    KILN_TRY_MEM(pm->ctx, r && eqns);
    for (uint32_t k = 0; k < j->neqns; k++) {
        if (!moves[k]) eqns[n++] = j->eqns[k];
        for (uint32_t m = next[k]; m; m = link[m - 1]) eqns[n++] = j->eqns[m - 1];
    }
    r->eqns = eqns;
    *out = r;
    kn_count(pm, &kn_updates_rules[LATER], moved);
    return KILN_OK;
}

/* ---- the walk ---- */

typedef struct place {
    kn_pm *pm;
    const bool *in; /* of the body's inputs; NULL: nothing is known */
} place;

static kiln_status walk(kn_pm *pm, const kn_jaxpr *j, const bool *in, const kn_jaxpr **out);

static kiln_status walk_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out)
{
    const place *p = ud;
    return walk(p->pm, body, p->in, out);
}

static bool has_work(const kn_jaxpr *j);
static void body_has_work(void *ud, const kn_jaxpr *body) { *(bool *)ud = *(bool *)ud || has_work(body); }

/* Is there an update at all? */
static bool has_work(const kn_jaxpr *j)
{
    bool found = false;
    for (uint32_t k = 0; k < j->neqns && !found; k++) {
        found = updates(&j->eqns[k]);
        if (!found) kn_eqn_bodies(&j->eqns[k], body_has_work, &found);
    }
    return found;
}

static kiln_status walk_loop(kn_pm *pm, const kn_jaxpr *j, const bool *v, kn_eqn *e, bool *changed)
{
    kn_while w = kn_while_of(e);
    const kn_jaxpr *body;
    bool *in, *inside;
    KILN_TRY(learn_body(pm, j, v, &w, &in, &inside));
    KILN_TRY(walk(pm, w.body, in, &body));
    if (body == w.body) return KILN_OK;
    w.body = body;
    *changed = true;
    return kn_while_set(pm, e, &w);
}

static kiln_status walk(kn_pm *pm, const kn_jaxpr *j, const bool *in, const kn_jaxpr **out)
{
    kn_rw rw;
    bool changed = false, *v;
    uint32_t *first, *last, *readers;
    *out = j;
    if (!has_work(j)) return KILN_OK;
    KILN_TRY(learn(pm, j, in, &v));
    KILN_TRY(find_readers(pm, j, &first, &last, &readers));
    KILN_TRY(kn_rw_begin(&rw, pm, j));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        if (kn_is_while(&e)) KILN_TRY(walk_loop(pm, j, v, &e, &changed));
        else if (kn_is_cond(&e)) {
            bool inside;
            KILN_TRY(kn_map_bodies(pm, &e, walk_body, &(place){pm, NULL}, &inside));
            changed = changed || inside;
        }
        KILN_TRY(push(&rw, j, &e, v, readers, &changed));
    }
    if (changed) KILN_TRY(kn_rw_finish(&rw, &j));
    return reorder(pm, j, out);
}

kiln_status kn_pass_updates(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return walk(pm, main, NULL, out); }
