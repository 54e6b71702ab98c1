/* SPDX-License-Identifier: Apache-2.0 */
/* The iteration of a coupling group as one loop whose body evaluates the pass F once. Trips of the same loop are
 *
 *   trip 0           x <- F(x): the pass before the criterion can be asked
 *   trips 1..cap-1   y = F(x); accepted: x is the answer, as it was measured; else x <- accelerate(x, y)
 *   trip cap         y = F(x) only measures x
 *   closing          interface norm: the fields that it does not measure whole are taken from one more plain pass
 *
 * With a cap of 1 only trip 0 runs. Criterion: from the residuals r, r1, r2 of this pass and the two before,
 * rho = max(r/r1, sqrt(r/r2)), amplification 1/(1 - rho), estimate r max(omega amplification, 1) <= threshold; Aitken's
 * method wants r1 <= threshold besides. A pass integrates every member from its start-of-step state; only inputs change. */
#include "graph/group.h"

#include <math.h>

enum { AT_TRIP, AT_PHASE, AT_R1, AT_R2, AT_ITERATIONS, AT_RESIDUAL, AT_AMPLIFICATION, N_FIXED };
enum { ITERATING, CLOSING, FINISHED };

/* ---- the pass ---- */

static void member_fluxes(kn_solver *s, uint32_t node, const kiln_val *slots, kiln_val *flux, kiln_val *in)
{
    kn_gather(s->c, node, (kn_view){slots, flux}, in);
    kn_fluxes(s->c, node, &slots[s->c->p->first_slot[node]], in, s->flux_wanted, flux);
}

static bool has_wanted_flux(const kn_solver *s, uint32_t node)
{
    for (int k = 0; k < kn_type_at(s->c->p, node)->n_fluxes; k++)
        if (s->flux_wanted[kn_flux_of(s->c->p, node, k)]) return true;
    return false;
}

static uint32_t most_inputs(const kn_solver *s)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->m->n; i++) {
        uint32_t n = kn_input_count(&s->c->p->g->nodes[s->m->nodes[i]]);
        if (n > most) most = n;
    }
    return most;
}

void kn_group_pass(kn_solver *s, const kiln_val *x, kiln_val *y)
{
    kn_stepping *c = s->c;
    const kn_plan *p = c->p;
    bool jacobi = s->m->group->iteration_mode == KN_JACOBI;
    kiln_val *flux = KN_STEP_ARRAY(c, kiln_val, p->n_fluxes), *in = KN_STEP_ARRAY(c, kiln_val, most_inputs(s));
    if (!flux || !in) return;
    memcpy(y, x, p->n_slots * sizeof *y);
    memcpy(flux, c->flux, p->n_fluxes * sizeof *flux);
    for (uint32_t i = 0; i < s->m->n; i++)
        for (int k = 0; k < kn_type_at(p, s->m->nodes[i])->n_fluxes; k++) flux[kn_flux_of(p, s->m->nodes[i], k)] = (kiln_val){0};
    for (int sweep = 0; sweep < s->seed_sweeps; sweep++)
        for (uint32_t i = 0; i < s->m->n; i++)
            if (has_wanted_flux(s, s->m->nodes[i])) member_fluxes(s, s->m->nodes[i], x, flux, in);
    for (uint32_t i = 0; i < s->m->n; i++) {
        uint32_t node = s->m->nodes[i], first = p->first_slot[node];
        kiln_val *out = KN_STEP_ARRAY(c, kiln_val, kn_type_at(p, node)->n_state);
        if (!out) return;
        kn_gather(c, node, (kn_view){jacobi ? x : y, flux}, in);
        kn_update(c, node, &c->now[first], in, out);
        memcpy(&y[first], out, (size_t)kn_type_at(p, node)->n_state * sizeof *out);
        if (!jacobi && has_wanted_flux(s, node)) member_fluxes(s, node, y, flux, in);
    }
}

void kn_group_fluxes(kn_stepping *c, uint32_t group, const bool *wanted)
{
    const kn_members *m = &c->p->groups[group];
    kn_solver s = {.c = c, .m = m};
    bool any = false, *all = KN_STEP_ARRAY(c, bool, c->p->n_fluxes);
    kiln_val *in = KN_STEP_ARRAY(c, kiln_val, most_inputs(&s));
    if (!all || !in) return;
    for (uint32_t i = 0; i < m->n; i++)
        for (int k = 0; k < kn_type_at(c->p, m->nodes[i])->n_fluxes; k++) {
            uint32_t f = kn_flux_of(c->p, m->nodes[i], k);
            any = any || wanted[f];
            all[f] = true;
        }
    s.flux_wanted = all;
    for (int sweep = 0; any && sweep < 2; sweep++)
        for (uint32_t i = 0; i < m->n; i++) member_fluxes(&s, m->nodes[i], c->now, c->flux, in);
}

/* ---- the loop ---- */

static void group_scope(kn_solver *s, const char *part)
{
    kn_step_place(s->c, s->m->group->at);
    kn_step_scope(s->c, "coupling", s->m->key);
    if (part) kiln_scope_push(s->c->t, part);
}

static void group_scope_end(kn_solver *s, bool part)
{
    if (part) kiln_scope_pop(s->c->t);
    kiln_scope_pop(s->c->t);
}

static kiln_val f64(kn_solver *s, double v) { return kiln_scalar(s->c->t, KILN_F64, v); }
static kiln_val i32(kn_solver *s, int v) { return kiln_int(s->c->t, KILN_I32, v); }

/* Of residuals, which are no less than 0: rho < 1 says that r is finite, r1 and r2 are positive, and none is a NaN. */
static kiln_val amplification(kn_solver *s, kiln_val r, kiln_val r1, kiln_val r2, kiln_val first)
{
    kiln_trace *t = s->c->t;
    kiln_val rho = kiln_max(t, kiln_div(t, r, r1), kiln_sqrt(t, kiln_div(t, r, r2)));
    kiln_val usable = kiln_and(t, kiln_is_finite(t, kiln_max(t, r1, r2)), kiln_lt(t, rho, f64(s, 1)));
    kiln_val amp = kiln_div(t, f64(s, 1), kiln_sub(t, f64(s, 1), rho));
    if (s->m->group->acceleration == KN_ACC_FIXED) {
        kiln_val omega = s->option[KN_TUNE_RELAXATION];
        kiln_val under = kiln_and(t, first, kiln_lt(t, omega, f64(s, 1)));
        amp = kiln_select(t, under, kiln_div(t, amp, omega), amp);
    }
    return kiln_select(t, usable, amp, f64(s, 0));
}

typedef struct amplifying {
    kn_solver *s;
    kiln_val r, r1, r2, first;
} amplifying;

static void amplify(kiln_trace *t, void *user, uint32_t branch, kiln_val *out)
{
    const amplifying *a = user;
    out[0] = branch ? kiln_scalar(t, KILN_F64, 0) : amplification(a->s, a->r, a->r1, a->r2, a->first);
}

static kiln_val estimate(kn_solver *s, kiln_val r, kiln_val amp)
{
    kiln_trace *t = s->c->t;
    if (s->m->group->acceleration == KN_ACC_FIXED) amp = kiln_mul(t, s->option[KN_TUNE_RELAXATION], amp);
    return kiln_mul(t, r, kiln_max(t, amp, f64(s, 1)));
}

static kiln_val loop_goes_on(kiln_trace *t, void *user, const kiln_val *carry)
{
    kn_solver *s = user;
    group_scope(s, NULL);
    kiln_val v = kiln_lt(t, carry[AT_PHASE], i32(s, FINISHED));
    group_scope_end(s, false);
    return v;
}

/* What a trip decides. */
typedef struct trip {
    kiln_val before, at_cap, met, keep, closing, stop, amp;
} trip;

static trip decide(kn_solver *s, const kiln_val *carry, kiln_val r)
{
    kiln_trace *t = s->c->t;
    kiln_val b = carry[AT_TRIP], cap = s->option[KN_TUNE_MAX_ITERATIONS];
    trip d = {.before = kiln_eq(t, b, i32(s, 0)), .at_cap = kiln_ge(t, b, cap), .closing = kiln_scalar(t, KILN_BOOL, 0)};
    amplifying a = {s, r, carry[AT_R1], carry[AT_R2], kiln_eq(t, b, i32(s, 1))};
    kiln_cond(t, d.before, 2, amplify, &a, &d.amp, 1);
    kiln_val met = kiln_le(t, estimate(s, r, d.amp), s->threshold);
    if (s->m->group->acceleration == KN_ACC_AITKEN) met = kiln_and(t, met, kiln_le(t, carry[AT_R1], s->threshold));
    met = kiln_and(t, met, kiln_not(t, d.before));
    d.keep = kiln_or(t, d.at_cap, met);
    if (s->at_finite != UINT32_MAX) {
        d.closing = kiln_eq(t, carry[AT_PHASE], i32(s, CLOSING));
        d.keep = kiln_and(t, d.keep, kiln_not(t, d.closing));
    }
    d.stop = kiln_or(t, d.keep, kiln_and(t, d.before, kiln_le(t, cap, i32(s, 1))));
    return d;
}

/* The next iterate, slot by slot. */
static void next_iterate(kn_solver *s, const trip *d, const kiln_val *x, const kiln_val *y, const kiln_val *accelerated, kiln_val *next)
{
    kiln_trace *t = s->c->t;
    bool interface = s->at_finite != UINT32_MAX;
    kiln_val stays = kiln_or(t, d->keep, d->closing);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        uint32_t k = s->slot[i];
        bool real = kn_is_real(s, k);
        kiln_val other = real ? accelerated[k] : y[k];
        if (interface && real && !s->whole[i]) next[i] = kiln_select(t, d->keep, x[k], kiln_select(t, d->closing, y[k], other));
        else next[i] = kiln_select(t, stays, x[k], other);
    }
}

static kiln_val choose3(kiln_trace *t, kiln_val first, kiln_val a, kiln_val second, kiln_val b, kiln_val c)
{
    return kiln_select(t, first, a, kiln_select(t, second, b, c));
}

/* Everything of the carry but the iterate and Aitken's part. `now_finite`: the next iterate is finite. */
static void next_numbers(kn_solver *s, const trip *d, kiln_val r, const kiln_val *carry, kiln_val now_finite, kiln_val *next)
{
    kiln_trace *t = s->c->t;
    bool interface = s->at_finite != UINT32_MAX;
    kiln_val zero = f64(s, 0), measured = r, amp = kiln_select(t, d->before, zero, d->amp), after = i32(s, FINISHED);
    if (interface) {
        kiln_val finite = kiln_select(t, d->before, now_finite, carry[s->at_finite]);
        measured = kiln_select(t, finite, r, f64(s, (double)INFINITY));
        amp = kiln_select(t, finite, amp, zero);
        kiln_val more = kiln_and(t, finite, kiln_not(t, d->before));
        after = kiln_select(t, more, i32(s, CLOSING), after);
    }
    kiln_val passes = kiln_select(t, d->before, i32(s, 1), carry[AT_TRIP]);
    passes = kiln_select(t, d->at_cap, s->option[KN_TUNE_MAX_ITERATIONS], passes);
    next[AT_TRIP] = kiln_add(t, carry[AT_TRIP], i32(s, 1));
    next[AT_PHASE] = choose3(t, d->closing, i32(s, FINISHED), d->stop, after, i32(s, ITERATING));
    /* the residual before the loop counts as infinite when its iterate is not finite; later ones as they are measured */
    kiln_val kept = kiln_select(t, d->before, measured, r);
    next[AT_R1] = kept;
    next[AT_R2] = kiln_select(t, d->before, kept, carry[AT_R1]);
    next[AT_ITERATIONS] = kiln_select(t, d->closing, carry[AT_ITERATIONS], passes);
    next[AT_RESIDUAL] = kiln_select(t, d->closing, carry[AT_RESIDUAL], measured);
    next[AT_AMPLIFICATION] = kiln_select(t, d->closing, carry[AT_AMPLIFICATION], amp);
    if (interface) next[s->at_finite] = now_finite;
}

static void loop_body(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    kn_solver *s = user;
    uint32_t n = s->c->p->n_slots;
    kiln_val *x = KN_STEP_ARRAY(s->c, kiln_val, n), *y = KN_STEP_ARRAY(s->c, kiln_val, n), *z = KN_STEP_ARRAY(s->c, kiln_val, n);
    (void)t;
    if (!x || !y || !z) return;
    memcpy(x, s->c->now, n * sizeof *x);
    for (uint32_t i = 0; i < s->n_slots; i++) x[s->slot[i]] = carry[s->at_x + i];
    kn_group_pass(s, x, y);
    group_scope(s, "residual");
    kiln_val r = kn_group_residual(s, y, x), finite = {0};
    group_scope_end(s, true);
    group_scope(s, NULL);
    trip d = decide(s, carry, r);
    group_scope_end(s, false);
    group_scope(s, "accelerate");
    kn_group_accelerate(s, d.before, kiln_or(s->c->t, d.before, kiln_or(s->c->t, d.stop, d.closing)), y, x, z, carry, next);
    next_iterate(s, &d, x, y, z, next + s->at_x);
    group_scope_end(s, true);
    group_scope(s, "residual");
    if (s->at_finite != UINT32_MAX) {
        for (uint32_t i = 0; i < s->n_slots; i++) z[s->slot[i]] = next[s->at_x + i];
        finite = kn_group_finite(s, z);
    }
    group_scope_end(s, true);
    group_scope(s, NULL);
    next_numbers(s, &d, r, carry, finite, next);
    group_scope_end(s, false);
}

/* ---- setting up ---- */

static bool flux_feeds(const kn_solver *s, uint32_t node)
{
    const kn_plan *p = s->c->p;
    for (uint32_t i = 0; i < s->m->n_edges; i++)
        if (p->g->edges[s->m->edges[i]].is_flux && p->g->edges[s->m->edges[i]].target == node) return true;
    return false;
}

static bool set_up(kn_solver *s)
{
    kn_stepping *c = s->c;
    const kn_plan *p = c->p;
    s->slot = KN_STEP_ARRAY(c, uint32_t, p->n_slots), s->whole = KN_STEP_ARRAY(c, bool, p->n_slots);
    s->flux_wanted = KN_STEP_ARRAY(c, bool, p->n_fluxes);
    if (!s->slot || !s->whole || !s->flux_wanted) return false;
    for (uint32_t i = 0; i < s->m->n; i++)
        for (int k = 0; k < kn_type_at(p, s->m->nodes[i])->n_state; k++) s->slot[s->n_slots++] = kn_slot_of(p, s->m->nodes[i], k);
    for (uint32_t i = 0; i < s->m->n_edges; i++) {
        const kn_edge *e = &p->g->edges[s->m->edges[i]];
        if (e->is_flux) {
            s->flux_wanted[kn_flux_of(p, e->source, e->source_field)] = true;
            continue;
        }
        bool plain = !e->mapping && !e->indexed && !e->placed && e->op == KN_EDGE_NONE;
        for (uint32_t k = 0; k < s->n_slots; k++)
            if (s->slot[k] == kn_slot_of(p, e->source, e->source_field) && plain) s->whole[k] = true;
    }
    for (uint32_t i = 0; i < s->m->n; i++)
        if (has_wanted_flux(s, s->m->nodes[i])) {
            int sweeps = flux_feeds(s, s->m->nodes[i]) ? 2 : 1;
            if (sweeps > s->seed_sweeps) s->seed_sweeps = sweeps;
        }
    for (int o = 0; o < KN_N_TUNES; o++) s->option[o] = c->settings[c->s->option[s->m - p->groups][o]];
    bool l2 = s->m->group->convergence_norm == KN_NORM_L2, interface = s->m->group->convergence_norm == KN_NORM_INTERFACE;
    s->threshold = l2 ? s->option[KN_TUNE_TOLERANCE] : f64(s, 1);
    s->n_carry = N_FIXED;
    s->at_finite = interface ? s->n_carry++ : UINT32_MAX;
    s->at_x = s->n_carry;
    s->n_carry += s->n_slots;
    s->at_aitken = s->m->group->acceleration == KN_ACC_AITKEN ? s->n_carry : UINT32_MAX;
    if (s->at_aitken != UINT32_MAX) s->n_carry += kn_aitken_size(s);
    return true;
}

static void report(kn_solver *s, const kiln_val *out, kiln_val *diag)
{
    kiln_trace *t = s->c->t;
    kiln_val r = out[AT_RESIDUAL], amp = out[AT_AMPLIFICATION], finite = kiln_is_finite(t, r);
    kiln_val est = kiln_select(t, finite, estimate(s, r, amp), f64(s, (double)INFINITY));
    diag[KN_DIAG_ITERATIONS] = out[AT_ITERATIONS];
    diag[KN_DIAG_RESIDUAL] = r;
    diag[KN_DIAG_AMPLIFICATION] = kiln_select(t, kiln_gt(t, amp, f64(s, 0)), amp, f64(s, (double)NAN));
    diag[KN_DIAG_ESTIMATE] = est;
    diag[KN_DIAG_CONVERGED] = kiln_and(t, kiln_le(t, est, s->threshold), finite);
}

void kn_group_trace(kn_stepping *c, uint32_t group)
{
    kn_solver s = {.c = c, .m = &c->p->groups[group]};
    if (!set_up(&s)) return;
    kiln_val *init = KN_STEP_ARRAY(c, kiln_val, s.n_carry), *out = KN_STEP_ARRAY(c, kiln_val, s.n_carry);
    if (!init || !out) return;
    init[AT_TRIP] = i32(&s, 0), init[AT_PHASE] = i32(&s, ITERATING), init[AT_ITERATIONS] = i32(&s, 0);
    init[AT_R1] = init[AT_R2] = init[AT_RESIDUAL] = init[AT_AMPLIFICATION] = f64(&s, 0);
    if (s.at_finite != UINT32_MAX) init[s.at_finite] = kiln_scalar(c->t, KILN_BOOL, 1);
    for (uint32_t i = 0; i < s.n_slots; i++) init[s.at_x + i] = c->now[s.slot[i]];
    if (s.at_aitken != UINT32_MAX) kn_aitken_start(&s, init);
    kn_step_place(c, s.m->group->at);
    kiln_while(c->t, loop_goes_on, loop_body, &s, init, s.n_carry, out); /* its parts carry scopes of their own */
    group_scope(&s, "residual");
    report(&s, out, &c->diag[group * KN_N_DIAG]);
    group_scope_end(&s, true);
    for (uint32_t i = 0; i < s.n_slots; i++) c->now[s.slot[i]] = out[s.at_x + i];
}
