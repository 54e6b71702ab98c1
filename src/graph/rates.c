/* SPDX-License-Identifier: Apache-2.0 */
/* The base timestep and how often each node fires; then the warnings that need the whole graph. */
#include "graph/reader.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Euclid on doubles: what is below 1e-9 of the largest timestep counts as zero. */
static double common_divisor(double a, double b, double scale)
{
    while (b > 1e-9 * scale) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
        if (b > 0 && a - b >= 0 && a - b < scale * 1e-9) b = 0;
    }
    return a;
}

/* Timestep at which a node takes part in the schedule: a sub-cycled group counts as its slowest member. */
static double scheduled(const kn_reader *r, const kn_node *n)
{
    return n->group >= 0 && r->groups.v[n->group].subcycling ? r->groups.v[n->group].timestep : n->timestep;
}

static kiln_status find_base(kn_reader *r)
{
    uint32_t n = r->nodes.n;
    double *steps = KN_NEWN(&r->scratch, double, n + 1);
    KILN_TRY_MEM(r->ctx, steps);
    for (uint32_t i = 0; i < n; i++) steps[i] = scheduled(r, &r->nodes.v[i]);
    qsort(steps, n, sizeof *steps, by_value);
    double base = n ? steps[0] : 0;
    for (uint32_t i = 1; i < n; i++)
        if (steps[i] != steps[i - 1]) base = common_divisor(steps[i], base, steps[n - 1]);
    for (uint32_t i = 0; i < n; i++) {
        kn_node *node = &r->nodes.v[i];
        double ratio = scheduled(r, node) / base;
        if (!(ratio <= 1e9) || base <= 0)
            return kn_read_error(r, KN_KIND_RATE_RATIO, node->at, "timesteps with integer ratios",
                                 "the timesteps have no usable common divisor: %.9g of '%.64s' against %.9g",
                                 node->timestep, node->name, base);
        if (fabs(ratio - rint(ratio)) > 1e-6 * ratio)
            return kn_read_error(r, KN_KIND_RATE_RATIO, node->at, "timesteps with integer ratios",
                                 "timestep %.9g of '%.64s' is no multiple of %.9g", node->timestep, node->name, base);
        node->divider = (int64_t)rint(ratio);
    }
    r->g->base_timestep = base;
    return KILN_OK;
}

kiln_status kn_read_finish(kn_reader *r)
{
    KILN_TRY(find_base(r));
    for (uint32_t i = 0; i < r->nodes.n && r->nodes.n > 1; i++)
        if (!r->used.v[i])
            kn_graph_warn(r->ctx, r->g, KN_KIND_DISCONNECTED, r->nodes.v[i].at, "node '%.64s' has no edge",
                          r->nodes.v[i].name);
    return KILN_OK;
}
