/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a graph: in which order nodes and groups run, what every edge reads, and the slots in which state lives.
 *
 *   slot     one state field of one node: a value that a base step turns into the next
 *   hidden   a value that also lives from step to step, but is no field: the last flux of a node that is read before it
 *            runs, the last diagnostics of a group that does not fire every step
 *   setting  an input that stays during a run: a parameter, a timestep, an option of a group, external input values
 */
#ifndef KN_GRAPH_PLAN_H
#define KN_GRAPH_PLAN_H

#include "graph/model.h"
#include "kiln/array.h"

typedef enum kn_reads {
    KN_READS_START, /* a back edge: state at the start of the step, or the flux of the step before */
    KN_READS_NOW,   /* state or flux as the blocks before have left it */
    KN_READS_PASS,  /* inside a group: the current iterate */
} kn_reads;

typedef struct kn_block {
    bool is_group;
    uint32_t index; /* a node, or a group */
} kn_block;

typedef struct kn_slot {
    const char *name; /* "node.field" */
    uint32_t node;
    int field;
    kiln_type type;
    bool real; /* of the run's float type */
} kn_slot;

typedef struct kn_members {
    const kn_group *group;
    const char *key;         /* names in alphabetical order, joined by "+" */
    uint32_t *nodes, n;      /* in the order of the schedule */
    uint32_t *edges, n_edges; /* inside the group, in the order in which the interface norm sums them */
    int64_t divider;
    int32_t held; /* first of its KN_N_DIAG hidden values, or -1: it fires every step */
    bool strict;
} kn_members;

/* What a group reports of a base step. */
typedef enum kn_diag { KN_DIAG_ITERATIONS, KN_DIAG_RESIDUAL, KN_DIAG_AMPLIFICATION, KN_DIAG_ESTIMATE, KN_DIAG_CONVERGED, KN_N_DIAG } kn_diag;
extern const char *const kn_diag_names[KN_N_DIAG];
kiln_dtype kn_diag_dtype(kn_diag d);

typedef struct kn_hidden {
    const char *name;
    kiln_dtype dtype; /* a scalar */
    int32_t flux;     /* or -1: a diagnostic */
} kn_hidden;

typedef struct kn_plan {
    const kn_graph_model *g;
    kn_arena *arena;
    kiln_dtype real;
    uint32_t *order, *position; /* nodes in execution order, and its inverse */
    kn_block *blocks;
    uint32_t n_blocks;
    kn_reads *reads;            /* per edge */
    uint32_t **into, *n_into;   /* per node: its edges, in the order in which they act */
    uint32_t *first_slot, n_slots; /* per node */
    kn_slot *slots;
    uint32_t *first_flux, n_fluxes; /* per node */
    bool *flux_wanted;   /* per flux: read outside the group of its node */
    int32_t *flux_held;  /* per flux: its hidden value, or -1 */
    kn_hidden *hidden;
    uint32_t n_hidden;
    kn_members *groups;  /* parallel to g->groups */
} kn_plan;

/* Everything lives in the arena. `real` is the float type of the run. */
kiln_status kn_plan_make(kiln_ctx *ctx, kn_arena *arena, const kn_graph_model *g, kiln_dtype real, kn_plan **out);
/* The order alone: topological, cycles condensed; `order` holds n_nodes entries. */
kiln_status kn_schedule(kiln_ctx *ctx, const kn_graph_model *g, uint32_t *order);

static inline uint32_t kn_slot_of(const kn_plan *p, uint32_t node, int field) { return p->first_slot[node] + (uint32_t)field; }
static inline uint32_t kn_flux_of(const kn_plan *p, uint32_t node, int flux) { return p->first_flux[node] + (uint32_t)flux; }
static inline const kn_node_type *kn_type_at(const kn_plan *p, uint32_t node) { return kn_node_base(&p->g->nodes[node])->type; }
/* Inputs that a node's update may read: those of its type, or its checks. */
uint32_t kn_input_count(const kn_node *n);

#endif
