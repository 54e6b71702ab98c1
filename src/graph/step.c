/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/step.h"

#include <stdio.h>

void *kn_step_array(kn_stepping *c, size_t n, size_t size)
{
    if (!kiln_trace_ok(c->t)) return NULL;
    void *p = kn_arena_newn(c->arena, n, size);
    if (!p) kiln_trace_fail(c->t, KILN_NOMEM, "out of memory");
    return p;
}

void kn_step_place(kn_stepping *c, kn_spot at)
{
    kn_place place = kn_graph_place(c->p->g, at);
    if (at.line) kiln_place(c->t, place.file ? place.file : "", place.line, place.column);
    else kiln_place(c->t, NULL, 0, 0);
}

void kn_step_scope(kn_stepping *c, const char *kind, const char *name)
{
    char text[200];
    snprintf(text, sizeof text, "%s:%s", kind, name);
    kiln_scope_push(c->t, text);
}

/* ---- one node ---- */

static bool make_frame(kn_stepping *c, uint32_t node, const kiln_val *state, const kiln_val *in, kiln_val *out, kn_node_frame *f)
{
    const kn_node *base = kn_node_base(&c->p->g->nodes[node]);
    kiln_val *params = KN_STEP_ARRAY(c, kiln_val, base->type->n_params);
    if (!params) return false;
    for (int k = 0; k < base->type->n_params; k++) {
        int32_t s = c->s->param[node][k];
        params[k] = s >= 0 ? c->settings[s] : (kiln_val){0};
    }
    *f = (kn_node_frame){.t = c->t, .node = base, .real = c->p->real, .dt = c->settings[c->s->timestep[node]],
                         .params = params, .state = state, .in = in, .out = out};
    return true;
}

void kn_update(kn_stepping *c, uint32_t node, const kiln_val *state, const kiln_val *in, kiln_val *out)
{
    kn_node_frame f;
    if (!make_frame(c, node, state, in, out, &f)) return;
    kn_step_place(c, c->p->g->nodes[node].at);
    kn_step_scope(c, "node", c->p->g->nodes[node].name);
    f.node->type->update(&f);
    kiln_scope_pop(c->t);
}

void kn_fluxes(kn_stepping *c, uint32_t node, const kiln_val *state, const kiln_val *in, const bool *wanted, kiln_val *flux)
{
    kn_node_frame f;
    const kn_node_type *type = kn_type_at(c->p, node);
    bool any = false;
    for (int k = 0; k < type->n_fluxes; k++) any = any || wanted[kn_flux_of(c->p, node, k)];
    if (!any || !make_frame(c, node, state, in, NULL, &f)) return;
    kn_step_place(c, c->p->g->nodes[node].at);
    kn_step_scope(c, "node", c->p->g->nodes[node].name);
    for (int k = 0; k < type->n_fluxes; k++)
        if (wanted[kn_flux_of(c->p, node, k)]) flux[kn_flux_of(c->p, node, k)] = type->flux(&f, k);
    kiln_scope_pop(c->t);
}

/* ---- blocks ---- */

static kiln_val fires(kn_stepping *c, int64_t divider)
{
    kiln_val left = kiln_rem(c->t, c->step, kiln_int(c->t, KILN_I64, divider));
    return kiln_eq(c->t, left, kiln_int(c->t, KILN_I64, 0));
}

typedef struct firing {
    kn_stepping *c;
    uint32_t index;
    const kiln_val *in; /* gathered before, or NULL */
} firing;

static void node_now(kn_stepping *c, uint32_t node, const kiln_val *gathered, kiln_val *out)
{
    const kiln_val *state = &c->now[c->p->first_slot[node]];
    kiln_val *own = NULL;
    if (!gathered) {
        if (!(own = KN_STEP_ARRAY(c, kiln_val, kn_input_count(&c->p->g->nodes[node])))) return;
        kn_gather(c, node, (kn_view){c->now, c->flux}, own);
    }
    kn_update(c, node, state, gathered ? gathered : own, out);
}

static void node_branch(kiln_trace *t, void *user, uint32_t branch, kiln_val *out)
{
    firing *f = user;
    int n = kn_type_at(f->c->p, f->index)->n_state;
    (void)t;
    if (branch == 1) {
        node_now(f->c, f->index, f->in, out);
        return;
    }
    for (int i = 0; i < n; i++) out[i] = f->c->now[f->c->p->first_slot[f->index] + (uint32_t)i];
}

static void node_block(kn_stepping *c, uint32_t node)
{
    const kn_node *n = &c->p->g->nodes[node];
    const kn_node_type *type = kn_type_at(c->p, node);
    kiln_val *out = KN_STEP_ARRAY(c, kiln_val, type->n_state), *in = NULL;
    bool fluxes = false;
    for (int k = 0; k < type->n_fluxes; k++) fluxes = fluxes || c->p->flux_wanted[kn_flux_of(c->p, node, k)];
    if (!out) return;
    if (fluxes) { /* asked for in every step, and the update uses the same inputs */
        if (!(in = KN_STEP_ARRAY(c, kiln_val, kn_input_count(n)))) return;
        kn_gather(c, node, (kn_view){c->now, c->flux}, in);
    }
    if (n->divider == 1) {
        node_now(c, node, in, out);
    } else {
        firing f = {c, node, in};
        kn_step_place(c, n->at);
        kiln_cond(c->t, fires(c, n->divider), 2, node_branch, &f, out, (uint32_t)type->n_state);
    }
    memcpy(&c->now[c->p->first_slot[node]], out, (size_t)type->n_state * sizeof *out);
    if (fluxes) kn_fluxes(c, node, &c->now[c->p->first_slot[node]], in, c->p->flux_wanted, c->flux);
}

/* Slots of the members, one after the other, out of or into an array over all slots. */
static uint32_t member_slots(const kn_stepping *c, const kn_members *m, const kiln_val *from, kiln_val *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        for (int k = 0; k < kn_type_at(c->p, m->nodes[i])->n_state; k++) to[n++] = from[kn_slot_of(c->p, m->nodes[i], k)];
    return n;
}

/* Branch 1 solves the group on a copy of the state; branch 0 holds state and diagnostics. */
static void group_branch(kiln_trace *t, void *user, uint32_t branch, kiln_val *out)
{
    firing *f = user;
    kn_stepping *c = f->c;
    const kn_members *m = &c->p->groups[f->index];
    (void)t;
    if (branch == 0) {
        uint32_t n = member_slots(c, m, c->now, out);
        memcpy(out + n, &c->hidden[m->held], KN_N_DIAG * sizeof *out);
        return;
    }
    kn_stepping inner = *c;
    if (!(inner.now = KN_STEP_ARRAY(c, kiln_val, c->p->n_slots))) return;
    memcpy(inner.now, c->now, c->p->n_slots * sizeof *inner.now);
    kn_group_trace(&inner, f->index);
    uint32_t n = member_slots(c, m, inner.now, out);
    memcpy(out + n, &c->diag[f->index * KN_N_DIAG], KN_N_DIAG * sizeof *out);
}

static void group_block(kn_stepping *c, uint32_t group)
{
    const kn_members *m = &c->p->groups[group];
    kiln_val *diag = &c->diag[group * KN_N_DIAG];
    if (m->divider == 1) {
        kn_group_trace(c, group);
    } else {
        kiln_val *out = KN_STEP_ARRAY(c, kiln_val, c->p->n_slots + (size_t)KN_N_DIAG);
        if (!out) return;
        firing f = {c, group, NULL};
        uint32_t n = member_slots(c, m, c->now, out), at = 0;
        kn_step_place(c, m->group->at);
        kiln_cond(c->t, fires(c, m->divider), 2, group_branch, &f, out, n + KN_N_DIAG);
        for (uint32_t i = 0; i < m->n; i++)
            for (int k = 0; k < kn_type_at(c->p, m->nodes[i])->n_state; k++) c->now[kn_slot_of(c->p, m->nodes[i], k)] = out[at++];
        memcpy(diag, out + n, KN_N_DIAG * sizeof *diag);
        memcpy(&c->hidden_next[m->held], diag, KN_N_DIAG * sizeof *diag);
    }
    kn_group_fluxes(c, group, c->p->flux_wanted);
}

/* ---- the step ---- */

static bool make_arrays(kn_stepping *c)
{
    const kn_plan *p = c->p;
    c->now = KN_STEP_ARRAY(c, kiln_val, p->n_slots);
    c->flux = KN_STEP_ARRAY(c, kiln_val, p->n_fluxes);
    c->hidden_next = KN_STEP_ARRAY(c, kiln_val, p->n_hidden);
    c->inputs = KN_STEP_ARRAY(c, kiln_val, p->g->n_inputs);
    c->diag = KN_STEP_ARRAY(c, kiln_val, p->g->n_groups * (size_t)KN_N_DIAG);
    if (!kiln_trace_ok(c->t)) return false;
    memcpy(c->now, c->old, p->n_slots * sizeof *c->now);
    return true;
}

static void keep_fluxes(kn_stepping *c)
{
    for (uint32_t i = 0; i < c->p->n_hidden; i++)
        if (c->p->hidden[i].flux >= 0) c->hidden_next[i] = c->flux[c->p->hidden[i].flux];
}

void kn_step_trace(kn_stepping *c)
{
    if (!make_arrays(c)) return;
    kn_inputs_trace(c);
    for (uint32_t i = 0; i < c->p->n_blocks && kiln_trace_ok(c->t); i++) {
        if (c->p->blocks[i].is_group) group_block(c, c->p->blocks[i].index);
        else node_block(c, c->p->blocks[i].index);
    }
    keep_fluxes(c);
    kiln_place(c->t, NULL, 0, 0);
}

/* Every state is the initial one; fluxes that read other fluxes are refined by a second sweep. */
void kn_seed_trace(kn_stepping *c)
{
    const kn_plan *p = c->p;
    bool *all = KN_STEP_ARRAY(c, bool, p->n_fluxes);
    kiln_val *held = KN_STEP_ARRAY(c, kiln_val, p->n_hidden); /* nothing yet: edges that find no flux are passed over */
    if (!all || !held || !make_arrays(c)) return;
    c->hidden = held;
    for (uint32_t i = 0; i < p->n_fluxes; i++) all[i] = true;
    kn_inputs_trace(c);
    for (int sweep = 0; sweep < 2; sweep++) {
        for (uint32_t k = 0; k < p->g->n_nodes; k++) {
            uint32_t node = p->order[k];
            kiln_val *in = KN_STEP_ARRAY(c, kiln_val, kn_input_count(&p->g->nodes[node]));
            if (!in) return;
            kn_gather(c, node, (kn_view){c->now, c->flux}, in);
            kn_fluxes(c, node, &c->now[p->first_slot[node]], in, all, c->flux);
        }
        for (uint32_t i = 0; i < p->n_hidden; i++)
            if (p->hidden[i].flux >= 0) held[i] = c->flux[p->hidden[i].flux];
    }
    keep_fluxes(c);
    kiln_place(c->t, NULL, 0, 0);
}
