/* SPDX-License-Identifier: Apache-2.0 */
/* One base step as equations. */
#ifndef KN_GRAPH_STEP_H
#define KN_GRAPH_STEP_H

#include "graph/frame.h"
#include "graph/settings.h"

typedef struct kn_stepping {
    kiln_ctx *ctx;
    kiln_trace *t;
    kn_arena *arena; /* for working arrays */
    const kn_plan *p;
    const kn_settings *s;
    const kiln_val *settings; /* one a setting */
    kiln_val step;            /* i64: base steps done before */
    const kiln_val *old;      /* one a slot: at the start of the step */
    const kiln_val *hidden;   /* one a hidden value */
    kiln_val *now;            /* one a slot; after the step, its results */
    kiln_val *flux;           /* one a flux: of this step; 0 where not computed */
    kiln_val *hidden_next;
    kiln_val *inputs;         /* one an external input: its value in this step */
    kiln_val *diag;           /* KN_N_DIAG a group */
} kn_stepping;

/* What edges into a node read, but for back edges. */
typedef struct kn_view {
    const kiln_val *slots, *flux;
} kn_view;

/* Allocates the arrays and traces the whole step: now, hidden_next and diag hold its results. Errors stay in the trace. */
void kn_step_trace(kn_stepping *c);
/* Fluxes of the state `slots` for the hidden values, as the first step finds them. */
void kn_seed_trace(kn_stepping *c);

/* ---- pieces, for groups and for nodes alone ---- */

/* Inputs of a node, kn_input_count entries; id 0 where nothing drives one. */
void kn_gather(kn_stepping *c, uint32_t node, kn_view view, kiln_val *in);
void kn_update(kn_stepping *c, uint32_t node, const kiln_val *state, const kiln_val *in, kiln_val *out);
/* Fluxes of a node that are `wanted` (by flux) into `flux` (by flux). */
void kn_fluxes(kn_stepping *c, uint32_t node, const kiln_val *state, const kiln_val *in, const bool *wanted, kiln_val *flux);
/* The value that an edge delivers, before it is put into an entry of a vector. */
kiln_val kn_deliver(kn_stepping *c, const kn_edge *e, kiln_val v);

/* A group (group.c): takes c->now, replaces its members' slots and its diagnostics. */
/* External inputs of this step (deliver.c). */
void kn_inputs_trace(kn_stepping *c);

void kn_group_trace(kn_stepping *c, uint32_t group);
/* Fluxes of members read outside the group, from the state that stands. */
void kn_group_fluxes(kn_stepping *c, uint32_t group, const bool *wanted);

void *kn_step_array(kn_stepping *c, size_t n, size_t size); /* zeroed; NULL after an error of the trace */
#define KN_STEP_ARRAY(c, T, n) ((T *)kn_step_array((c), (n), sizeof(T)))
void kn_step_place(kn_stepping *c, kn_spot at);
void kn_step_scope(kn_stepping *c, const char *kind, const char *name);

#endif
