/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out in a profile, and what would help. */
#include "graph/profile.h"

#include "graph/profile_number.h"

enum { MOST_RECOMMENDATIONS = 5 }; /* besides those of groups and nodes */

static const kiln_profile_node *slowest(const kiln_profile *r)
{
    const kiln_profile_node *best = NULL;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (!best || r->nodes[i].alone_ms > best->alone_ms) best = &r->nodes[i];
    return best;
}

static const char *bottleneck(kn_arena *a, const kiln_profile *r)
{
    const kiln_profile_node *n = slowest(r);
    kn_number ms, share;
    if (n && n->alone_ms > 0.8 * r->mean_ms)
        return kn_arena_printf(a, "%s (%s ms, %s%% of step)", n->name, kn_ms(n->alone_ms, &ms), kn_fixed(100 * n->alone_ms / r->mean_ms, 0, &share));
    if (r->n_groups && r->overhead_ms > 0.3 * r->mean_ms)
        return kn_arena_printf(a, "Coupling overhead (%s ms, %s%%)", kn_ms(r->overhead_ms, &ms), kn_fixed(100 * r->overhead_ms / r->mean_ms, 0, &share));
    return "";
}

static const char *about_group(kn_arena *a, const kiln_profile_group *k)
{
    kn_number x;
    if (k->at_cap_fraction > 0)
        return kn_arena_printf(a, "Group %s stops at its cap of %d iterations in %s%% of steps: raise max_iterations or loosen the tolerance; "
                               "gradients through such steps are unreliable", k->key, (int)k->cap, kn_fixed(100 * k->at_cap_fraction, 0, &x));
    if (k->mean >= 8)
        return kn_arena_printf(a, "Group %s takes %s iterations a step: accelerate it (aitken), or do without the group", k->key, kn_fixed(k->mean, 1, &x));
    return NULL;
}

static const char *about_node(kn_arena *a, const kiln_profile_node *n)
{
    kn_number ms;
    if (n->elements <= 100000 || n->alone_ms <= 5) return NULL;
    return kn_arena_printf(a, "Node %s has %lld elements and takes %s ms an update: fewer cells, or a larger timestep", n->name,
                           (long long)n->elements, kn_ms(n->alone_ms, &ms));
}

kiln_status kn_profile_judge(kn_profiler *u)
{
    kiln_profile *r = &u->r->p;
    kn_arena *a = &u->r->arena;
    kn_number x;
    KILN_TRY_MEM(u->ctx, r->bottleneck = bottleneck(a, r));
    const char **v = KN_NEWN(a, const char *, r->n_groups + r->n_nodes + MOST_RECOMMENDATIONS);
    KILN_TRY_MEM(u->ctx, v);
    r->recommendations = v;
    for (uint32_t i = 0; i < r->n_groups; i++) {
        bool wanted = r->groups[i].at_cap_fraction > 0 || r->groups[i].mean >= 8;
        if (wanted) KILN_TRY_MEM(u->ctx, v[r->n_recommendations++] = about_group(a, &r->groups[i]));
    }
    if (r->floor_ms > 0.5 * r->mean_ms)
        KILN_TRY_MEM(u->ctx, v[r->n_recommendations++] = kn_arena_printf(a, "%s%% of a step is the call itself: run many steps in one call "
                                                                          "(kiln run, kiln_graph_run)", kn_fixed(100 * r->floor_ms / r->mean_ms, 0, &x)));
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (r->nodes[i].elements > 100000 && r->nodes[i].alone_ms > 5) KILN_TRY_MEM(u->ctx, v[r->n_recommendations++] = about_node(a, &r->nodes[i]));
    if (u->subnormal)
        KILN_TRY_MEM(u->ctx, v[r->n_recommendations++] = kn_arena_printf(a, "Subnormal numbers in the state: %s. Arithmetic on them is slow: "
                                                                          "--fast flush makes them zeros", u->subnormal));
    if (r->mean_ms > 50)
        KILN_TRY_MEM(u->ctx, v[r->n_recommendations++] = kn_arena_printf(a, "A step takes %s ms: too long for 20 steps a second in real time",
                                                                          kn_ms(r->mean_ms, &x)));
    return KILN_OK;
}
