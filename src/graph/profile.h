/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a profile being measured. */
#ifndef KN_GRAPH_PROFILE_H
#define KN_GRAPH_PROFILE_H

#include "base/statistics.h"
#include "graph/engine.h"

/* The report and its memory; the report comes first, so that it can be released by its own address. */
typedef struct kn_profile {
    kiln_profile p;
    kn_alloc alloc;
    kn_arena arena;
    kiln_profile_node *nodes;
    kiln_profile_group *groups;
    kiln_profile_scope *scopes;
} kn_profile;

typedef struct kn_profiler {
    kiln_ctx *ctx;
    kiln_graph *g;
    kn_profile *r;
    kn_arena work;
    int64_t steps, warmup, stat_steps, scan_steps, few; /* few: min(steps, 50) */
    const volatile bool *stop;
    double *ms; /* room for `steps` samples */
    kn_statistics step;
    const char *subnormal; /* fields of the state that hold subnormal numbers; NULL: none do */
    int64_t start_ns; /* both clocks when the profile began: their ratio is the length of a tick */
    uint64_t start_ticks;
} kn_profiler;

kiln_status kn_profile_stopped(const kn_profiler *u); /* KILN_CANCELLED when it was asked to stop */

/* Programs made for the profile (profile_programs.c). */
kiln_status kn_profile_floor(kn_profiler *u);
kiln_status kn_profile_nodes(kn_profiler *u);
kiln_status kn_profile_scopes(kn_profiler *u); /* steps the graph */

kiln_status kn_profile_subnormal(kn_profiler *u); /* of the state as it is (profile_subnormal.c) */

/* Bottleneck and recommendations (profile_judge.c). */
kiln_status kn_profile_judge(kn_profiler *u);

#endif
