/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/keep.h"

#include <math.h>

kiln_status kn_flow_init(kn_flow *f, kiln_ctx *ctx, kn_arena *arena, uint32_t nodes)
{
    *f = (kn_flow){.ctx = ctx, .arena = arena, .n = nodes};
    KILN_TRY_MEM(ctx, f->first = KN_NEWN(arena, uint32_t, nodes));
    return KILN_OK;
}

kiln_status kn_flow_edge_add(kn_flow *f, uint32_t from, uint32_t to, double room)
{
    KILN_TRY_MEM(f->ctx, kn_push(f->arena, &f->edges, (kn_flow_edge){to, f->first[from], room}));
    f->first[from] = f->edges.n;
    KILN_TRY_MEM(f->ctx, kn_push(f->arena, &f->edges, (kn_flow_edge){from, f->first[to], 0}));
    f->first[to] = f->edges.n;
    return KILN_OK;
}

/* Distances from a over edges with room; false when b is not reached. */
static bool levels(const kn_flow *f, uint32_t a, uint32_t b, uint32_t *level, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < f->n; i++) level[i] = UINT32_MAX;
    level[a] = 0;
    queue[tail++] = a;
    while (head < tail) {
        uint32_t x = queue[head++];
        for (uint32_t k = f->first[x]; k; k = f->edges.v[k - 1].next) {
            const kn_flow_edge *e = &f->edges.v[k - 1];
            if (e->room <= 0 || level[e->to] != UINT32_MAX) continue;
            level[e->to] = level[x] + 1;
            queue[tail++] = e->to;
        }
    }
    return level[b] != UINT32_MAX;
}

/* One path after another along rising levels; `at` remembers which edges of a node are done, `path` the edges taken. */
static void augment(kn_flow *f, uint32_t a, uint32_t b, const uint32_t *level, uint32_t *at, uint32_t *path)
{
    uint32_t depth = 0, x = a;
    for (;;) {
        if (x == b) {
            double least = HUGE_VAL;
            uint32_t cut = 0;
            for (uint32_t d = 0; d < depth; d++)
                if (f->edges.v[path[d]].room < least) least = f->edges.v[path[d]].room, cut = d;
            for (uint32_t d = 0; d < depth; d++) {
                f->edges.v[path[d]].room -= least;
                f->edges.v[path[d] ^ 1].room += least;
            }
            depth = cut;
            x = f->edges.v[path[cut] ^ 1].to;
            continue;
        }
        while (at[x] && (f->edges.v[at[x] - 1].room <= 0 || level[f->edges.v[at[x] - 1].to] != level[x] + 1)) at[x] = f->edges.v[at[x] - 1].next;
        if (at[x]) {
            path[depth++] = at[x] - 1;
            x = f->edges.v[at[x] - 1].to;
        } else {
            if (depth == 0) return;
            x = f->edges.v[path[--depth] ^ 1].to;
            at[x] = f->edges.v[at[x] - 1].next;
        }
    }
}

kiln_status kn_flow_cut(kn_flow *f, uint32_t a, uint32_t b, bool *side)
{
    uint32_t *level = KN_NEWN(f->arena, uint32_t, f->n), *queue = KN_NEWN(f->arena, uint32_t, f->n), *at = KN_NEWN(f->arena, uint32_t, f->n);
    uint32_t *path = KN_NEWN(f->arena, uint32_t, f->n);
    KILN_TRY_MEM(f->ctx, level && queue && at && path);
    while (levels(f, a, b, level, queue)) {
        memcpy(at, f->first, f->n * sizeof *at);
        augment(f, a, b, level, at, path);
    }
    for (uint32_t i = 0; i < f->n; i++) side[i] = level[i] != UINT32_MAX;
    return KILN_OK;
}
