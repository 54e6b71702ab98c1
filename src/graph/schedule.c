/* SPDX-License-Identifier: Apache-2.0 */
/* The order of nodes: Kahn's algorithm (first in, first out; successors in alphabetical order). What it leaves, cycles and all
 * behind them, is condensed: strongly connected components by Tarjan's algorithm, members in the order of the file, the
 * component of the earliest member first among those that nothing waiting precedes. */
#include "graph/plan.h"

#include <stdlib.h>

typedef struct sorter {
    const kn_graph_model *g;
    uint32_t n;
    uint32_t **next, *n_next; /* successors of a node, each once, alphabetically; self edges left out */
    uint32_t *waits;          /* edges into a node from nodes not yet emitted */
    bool *done;
    uint32_t *order, n_order;
} sorter;

static void sort_by_name(const kn_graph_model *g, uint32_t *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t x = v[i], k = i;
        for (; k > 0 && strcmp(g->nodes[v[k - 1]].name, g->nodes[x].name) > 0; k--) v[k] = v[k - 1];
        v[k] = x;
    }
}

static bool find_successors(kn_arena *a, sorter *s)
{
    const kn_graph_model *g = s->g;
    uint32_t *count = KN_NEWN(a, uint32_t, s->n);
    s->next = KN_NEWN(a, uint32_t *, s->n), s->n_next = KN_NEWN(a, uint32_t, s->n), s->waits = KN_NEWN(a, uint32_t, s->n);
    if (!count || !s->next || !s->n_next || !s->waits) return false;
    for (uint32_t e = 0; e < g->n_edges; e++) count[g->edges[e].source]++;
    for (uint32_t i = 0; i < s->n; i++)
        if (!(s->next[i] = KN_NEWN(a, uint32_t, count[i]))) return false;
    for (uint32_t e = 0; e < g->n_edges; e++)
        if (g->edges[e].source != g->edges[e].target) s->next[g->edges[e].source][s->n_next[g->edges[e].source]++] = g->edges[e].target;
    for (uint32_t i = 0; i < s->n; i++) {
        sort_by_name(g, s->next[i], s->n_next[i]);
        uint32_t m = 0;
        for (uint32_t k = 0; k < s->n_next[i]; k++)
            if (m == 0 || s->next[i][m - 1] != s->next[i][k]) s->next[i][m++] = s->next[i][k];
        s->n_next[i] = m;
        for (uint32_t k = 0; k < m; k++) s->waits[s->next[i][k]]++;
    }
    return true;
}

static void emit_free(sorter *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->waits[i] == 0) s->order[s->n_order++] = i;
    for (uint32_t at = 0; at < s->n_order; at++) {
        uint32_t i = s->order[at];
        s->done[i] = true;
        for (uint32_t k = 0; k < s->n_next[i]; k++)
            if (--s->waits[s->next[i][k]] == 0) s->order[s->n_order++] = s->next[i][k];
    }
}

/* Tarjan, without recursion: component[i] of every node left. */
static bool find_components(kn_arena *a, const sorter *s, uint32_t *component, uint32_t *n_components)
{
    uint32_t n = s->n, *index = KN_NEWN(a, uint32_t, n), *low = KN_NEWN(a, uint32_t, n), *at = KN_NEWN(a, uint32_t, n);
    uint32_t *stack = KN_NEWN(a, uint32_t, n), *path = KN_NEWN(a, uint32_t, n), n_stack = 0, counter = 0;
    bool *on = KN_NEWN(a, bool, n);
    if (!index || !low || !at || !stack || !path || !on) return false;
    *n_components = 0;
    for (uint32_t root = 0; root < n; root++) {
        uint32_t depth = 0;
        if (s->done[root] || index[root]) continue;
        path[depth++] = root;
        while (depth) {
            uint32_t v = path[depth - 1];
            if (!index[v]) {
                index[v] = low[v] = ++counter;
                stack[n_stack++] = v;
                on[v] = true;
            }
            uint32_t w = UINT32_MAX;
            while (at[v] < s->n_next[v]) {
                uint32_t c = s->next[v][at[v]];
                if (!s->done[c] && !index[c]) {
                    w = c;
                    break;
                }
                if (!s->done[c] && on[c] && index[c] < low[v]) low[v] = index[c];
                at[v]++;
            }
            if (w != UINT32_MAX) {
                path[depth++] = w;
                continue;
            }
            if (low[v] == index[v]) {
                uint32_t u;
                do {
                    u = stack[--n_stack];
                    on[u] = false;
                    component[u] = *n_components;
                } while (u != v);
                ++*n_components;
            }
            if (--depth && low[v] < low[path[depth - 1]]) low[path[depth - 1]] = low[v];
        }
    }
    return true;
}

/* Emits the components: of those that no other waiting component precedes, the one whose first member comes first. */
static bool emit_components(kn_arena *a, sorter *s, const uint32_t *component, uint32_t n_components)
{
    uint32_t *first = KN_NEWN(a, uint32_t, n_components), *waits = KN_NEWN(a, uint32_t, n_components);
    bool *done = KN_NEWN(a, bool, n_components);
    if (!first || !waits || !done) return false;
    for (uint32_t i = s->n; i-- > 0;)
        if (!s->done[i]) first[component[i]] = i;
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; !s->done[i] && k < s->n_next[i]; k++)
            if (component[s->next[i][k]] != component[i]) waits[component[s->next[i][k]]]++;
    for (uint32_t left = n_components; left > 0; left--) {
        uint32_t best = UINT32_MAX;
        for (uint32_t c = 0; c < n_components; c++)
            if (!done[c] && waits[c] == 0 && (best == UINT32_MAX || first[c] < first[best])) best = c;
        done[best] = true;
        for (uint32_t i = 0; i < s->n; i++) {
            if (s->done[i] || component[i] != best) continue;
            s->order[s->n_order++] = i;
            for (uint32_t k = 0; k < s->n_next[i]; k++)
                if (component[s->next[i][k]] != best) waits[component[s->next[i][k]]]--;
        }
    }
    return true;
}

kiln_status kn_schedule(kiln_ctx *ctx, const kn_graph_model *g, uint32_t *order)
{
    kn_arena a;
    kn_arena_init(&a, &ctx->alloc);
    sorter s = {.g = g, .n = g->n_nodes, .order = order};
    uint32_t *component = KN_NEWN(&a, uint32_t, s.n), n_components = 0;
    s.done = KN_NEWN(&a, bool, s.n);
    bool ok = component && s.done && find_successors(&a, &s);
    if (ok) emit_free(&s);
    ok = ok && find_components(&a, &s, component, &n_components) && emit_components(&a, &s, component, n_components);
    kn_arena_fini(&a);
    return ok ? KILN_OK : kn_nomem(ctx);
}
