/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a loop's body to keep for the way back, and which to compute again: the cheapest choice, as a minimum cut. */
#ifndef KN_TRANSFORM_KEEP_H
#define KN_TRANSFORM_KEEP_H

#include "base/ctx.h"
#include "base/memory.h"

/* A network of capacities. */
typedef struct kn_flow_edge {
    uint32_t to, next; /* next: number + 1 of another edge of the same node */
    double room;       /* the edge back stands beside it: number ^ 1 */
} kn_flow_edge;
typedef struct kn_flow {
    kiln_ctx *ctx;
    kn_arena *arena;
    uint32_t n;
    uint32_t *first;
    KN_VEC(kn_flow_edge) edges;
} kn_flow;
kiln_status kn_flow_init(kn_flow *f, kiln_ctx *ctx, kn_arena *arena, uint32_t nodes);
kiln_status kn_flow_edge_add(kn_flow *f, uint32_t from, uint32_t to, double room); /* HUGE_VAL: no limit */
/* Sends what fits from a to b (Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation, 1970); then
 * side[i]: does node i stand on a's side of the cut of least capacity? */
kiln_status kn_flow_cut(kn_flow *f, uint32_t a, uint32_t b, bool *side);

#endif
