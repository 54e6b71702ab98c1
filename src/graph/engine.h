/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a graph that runs. */
#ifndef KN_GRAPH_ENGINE_H
#define KN_GRAPH_ENGINE_H

#include "graph/program.h"
#include "kiln/graph.h"

struct kiln_graph {
    kn_alloc alloc;
    kn_arena arena;
    kn_graph_model *model;
    kn_node *nodes;     /* the model's, ours to change */
    bool *own_params;   /* per node: its parameters are a copy of ours */
    kn_plan *plan;
    kn_settings settings;
    kiln_array **setting; /* one a setting */
    kiln_array **state;   /* slots, then hidden values */
    kiln_array **diag;    /* of the last single step: KN_N_DIAG a group */
    kn_recording recording;
    kn_program step_program, run_program, seed_program;
    uint32_t builds[KN_PROGRAM_SEED + 1]; /* how often each was traced and compiled; 1 is right */
    bool interpret;
    bool initial; /* the state is the initial one; parameters may still change it */
    bool seeded;  /* hidden values belong to the state */
    int64_t step;
    double start_ms; /* tracing and compiling */
};

static inline uint32_t kn_n_state(const kiln_graph *g) { return g->plan->n_slots + g->plan->n_hidden; }

/* Makes the program when it is not there yet. */
kiln_status kn_graph_need(kiln_ctx *ctx, kiln_graph *g, kn_program_kind kind);
/* Hidden values of a new state, where there are any. */
kiln_status kn_graph_seed(kiln_ctx *ctx, kiln_graph *g);
/* One base step, without asking about strict convergence. */
kiln_status kn_graph_step_once(kiln_ctx *ctx, kiln_graph *g);
/* An error when a group that must converge has not in the last step; else KILN_OK. */
kiln_status kn_graph_check_strict(kiln_ctx *ctx, const kiln_graph *g, uint32_t group, int64_t step, double estimate);
/* Initial values into the slots of a node. */
kiln_status kn_graph_init_node(kiln_ctx *ctx, kiln_graph *g, uint32_t node);
int64_t kn_graph_find_field(const kiln_graph *g, const char *name); /* -1 when there is none */

#endif
