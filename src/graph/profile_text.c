/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a profile as text and as JSON. */
#include "base/text.h"
#include "graph/profile.h"
#include "graph/profile_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers ---- */

const char *kn_fixed(double v, int decimals, kn_number *out)
{
    static const double power[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7};
    double scaled = fabs(v) * power[decimals];
    if (!(scaled < 1e15)) {
        out->s[kn_double_repr(v, out->s)] = 0;
        return out->s;
    }
    unsigned long long whole = (unsigned long long)llround(scaled), one = (unsigned long long)power[decimals];
    const char *sign = v < 0 && whole ? "-" : "";
    if (decimals == 0) snprintf(out->s, sizeof out->s, "%s%llu", sign, whole);
    else snprintf(out->s, sizeof out->s, "%s%llu.%0*llu", sign, whole / one, decimals, whole % one);
    return out->s;
}

const char *kn_ms(double ms, kn_number *out)
{
    static const double below[] = {0.01, 0.1, 1, 10, 100}; /* then 6, 5, 4, 3, 3 decimals: the last is never under 1 ns */
    static const int digits[] = {6, 5, 4, 3, 3};
    int decimals = 2;
    for (int i = (int)(sizeof below / sizeof *below) - 1; i >= 0; i--)
        if (ms != 0 && fabs(ms) < below[i]) decimals = digits[i];
    return kn_fixed(ms, decimals, out);
}

const char *kn_thousands(long long v, kn_number *out)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", v), at = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0 && digits[i - 1] != '-') out->s[at++] = ',';
        out->s[at++] = digits[i];
    }
    out->s[at] = 0;
    return out->s;
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* ---- text ---- */

static void head(kn_text *t, const kiln_profile *p)
{
    kn_number a, b, c, d;
    kn_text_printf(t, "=== Graph Profile: %s ===\n\n", p->name);
    kn_text_printf(t, "  Nodes: %u\n", p->n_nodes);
    kn_text_printf(t, "  Total state: %s elements (%s KB %s)\n\n", kn_thousands((long long)p->elements, &a),
                   kn_fixed((double)p->state_bytes / 1024, 0, &b), kiln_dtype_numpy(p->precision));
    kn_text_printf(t, "  Device:       %s (%s)\n", p->device, p->target);
    if (p->fast) kn_text_printf(t, "  Fast:         %s\n", kiln_fast_text(p->fast));
    kn_text_printf(t, "  JIT compile:  %8s ms (trace, compile and first step)\n", kn_fixed(p->first_step_ms, 1, &a));
    kn_text_printf(t, "  Mean step:    %8s ms (+/- %s; median %s, p95 %s)\n", kn_ms(p->mean_ms, &a), kn_ms(p->std_ms, &b),
                   kn_ms(p->median_ms, &c), kn_ms(p->p95_ms, &d));
    kn_text_printf(t, "  Dispatch floor: %6s ms (an identity program on the state)\n", kn_ms(p->floor_ms, &a));
    kn_text_printf(t, "  Throughput:   %8s steps/s\n", kn_fixed(p->steps_per_second, 0, &a));
    kn_text_printf(t, "  Clock:        %8s ms resolution (inside each step's time)\n\n", kn_ms(p->clock_ms, &a));
}

static int by_cost(const void *a, const void *b)
{
    const kiln_profile_node *x = *(const kiln_profile_node *const *)a, *y = *(const kiln_profile_node *const *)b;
    if (x->alone_ms != y->alone_ms) return (x->alone_ms < y->alone_ms) - (x->alone_ms > y->alone_ms);
    return (x > y) - (x < y);
}

static kiln_status nodes(kiln_ctx *ctx, kn_text *t, const kiln_profile *p)
{
    const kiln_profile_node **v = kn_new(&ctx->alloc, p->n_nodes * sizeof *v);
    KILN_TRY_MEM(ctx, v);
    for (uint32_t i = 0; i < p->n_nodes; i++) v[i] = &p->nodes[i];
    qsort(v, p->n_nodes, sizeof *v, by_cost);
    kn_text_add(t, "  Per-node estimated cost:\n");
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        kn_number a, b, c;
        kn_text_printf(t, "    %-20s %7s ms (%5s%%)  [%s elems]\n", v[i]->name, kn_ms(v[i]->alone_ms, &a),
                       kn_fixed(percent(v[i]->alone_ms, p->mean_ms), 1, &b), kn_thousands((long long)v[i]->elements, &c));
    }
    kn_free(&ctx->alloc, v, p->n_nodes * sizeof *v);
    kn_text_add(t, "\n");
    return KILN_OK;
}

static void coupling(kn_text *t, const kiln_profile *p)
{
    kn_number a, b, c, d;
    if (p->n_groups == 0) return;
    kn_text_printf(t, "  Coupling groups: %u\n", p->n_groups);
    if (strcmp(p->overhead_method, "measured") == 0)
        kn_text_printf(t, "  Coupling overhead: %s +- %s ms (measured; %sone-iteration step %s ms, %s ms per extra iteration)\n",
                       kn_ms(p->overhead_ms, &a), kn_ms(p->overhead_error_ms, &b),
                       fabs(p->overhead_ms) < p->overhead_error_ms ? "below resolution; " : "", kn_ms(p->one_iteration_ms, &c),
                       kn_ms(p->per_iteration_ms, &d));
    else
        kn_text_printf(t, "  Coupling overhead: %s ms (estimated: step less its nodes; %s ms per extra iteration)\n", kn_ms(p->overhead_ms, &a),
                       kn_ms(p->per_iteration_ms, &b));
    for (uint32_t i = 0; i < p->n_groups; i++) {
        const kiln_profile_group *k = &p->groups[i];
        kn_text_printf(t, "    %s: %s iterations mean (min %d, max %d, cap %d); at cap %s%% of steps, converged %s%%\n", k->key,
                       kn_fixed(k->mean, 1, &a), (int)k->least, (int)k->most, (int)k->cap, kn_fixed(100 * k->at_cap_fraction, 0, &b),
                       kn_fixed(100 * k->converged_fraction, 0, &c));
    }
    kn_text_add(t, "\n");
}

static void counts(kn_text *t, const kiln_profile *p)
{
    const kiln_profile_counts *c = &p->counts;
    char name[64];
    if (!p->counted) return;
    kn_text_add(t, "  Compile counts (deterministic; no wall-clock):\n");
    kn_text_printf(t, "    %-19s%7llu%s\n", "step retraces:", (unsigned long long)c->builds, c->builds == 1 ? "" : "  <- 1 is right");
    kn_text_printf(t, "    %-19s%7llu\n", "primitives:", (unsigned long long)c->equations);
    kn_text_printf(t, "    %-19s%7llu\n", "lowered ops:", (unsigned long long)c->lowered_ops);
    if (c->scan_steps) {
        snprintf(name, sizeof name, "scan (%lld steps) retraces:", (long long)c->scan_steps);
        kn_text_printf(t, "    %-19s%4llu%s\n", name, (unsigned long long)c->scan_builds, c->scan_builds == 1 ? "" : "  <- 1 is right");
        kn_text_printf(t, "    %-19s%7llu\n", "scan primitives:", (unsigned long long)c->scan_equations);
        kn_text_printf(t, "    %-19s%7llu\n", "scan lowered ops:", (unsigned long long)c->scan_lowered_ops);
    }
    kn_text_add(t, "\n");
}

static void scopes(kn_text *t, const kiln_profile *p)
{
    kn_number a, b;
    double more = p->instrumented_ms - p->mean_ms;
    kn_text_printf(t, "  Time by scope (ms a step, clock read at scope borders; that step takes %s ms, %s%s%% against the plain one):\n",
                   kn_ms(p->instrumented_ms, &a), more >= 0 ? "+" : "", kn_fixed(percent(more, p->mean_ms), 0, &b));
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        char name[160];
        snprintf(name, sizeof name, "node:%.150s", p->nodes[i].name);
        kn_text_printf(t, "    %-32s %7s\n", name, kn_ms(p->nodes[i].scope_ms, &a));
    }
    for (uint32_t i = 0; i < p->n_scopes; i++) kn_text_printf(t, "    %-32s %7s\n", p->scopes[i].name, kn_ms(p->scopes[i].ms, &a));
    kn_text_add(t, "\n");
}

static void advice(kn_text *t, const kiln_profile *p)
{
    kn_text_printf(t, "  Bottleneck: %s\n", *p->bottleneck ? p->bottleneck : "none stands out");
    if (p->n_recommendations) kn_text_add(t, "\n  Recommendations:\n");
    for (uint32_t i = 0; i < p->n_recommendations; i++) kn_text_printf(t, "    - %s\n", p->recommendations[i]);
}

/* Gives the text away with exactly n + 1 bytes, as kiln_text_free expects. */
static kiln_status give(kiln_ctx *ctx, kn_text *t, kiln_status status, char **text, size_t *n)
{
    *text = NULL, *n = 0;
    if (status == KILN_OK && t->failed) status = kn_nomem(ctx);
    char *s = status == KILN_OK ? kn_new(&ctx->alloc, t->n + 1) : NULL;
    if (status == KILN_OK && !s) status = kn_nomem(ctx);
    if (s) *text = memcpy(s, t->s, *n = t->n);
    kn_text_fini(t);
    return status;
}

kiln_status kiln_profile_text(kiln_ctx *ctx, const kiln_profile *p, char **text, size_t *n)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    head(&t, p);
    kiln_status status = nodes(ctx, &t, p);
    coupling(&t, p);
    counts(&t, p);
    scopes(&t, p);
    advice(&t, p);
    return give(ctx, &t, status, text, n);
}

/* ---- JSON ---- */

static void json_text(kn_text *t, const char *s)
{
    kn_text_char(t, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') kn_text_printf(t, "\\%c", c);
        else if (c < 0x20) kn_text_printf(t, "\\u%04x", c);
        else kn_text_char(t, (char)c);
    }
    kn_text_char(t, '"');
}

static void json_number(kn_text *t, const char *name, double v)
{
    kn_text_printf(t, " \"%s\": ", name);
    kn_text_double(t, isfinite(v) ? v : 0);
    kn_text_add(t, ",\n");
}

static void json_integer(kn_text *t, const char *name, long long v) { kn_text_printf(t, " \"%s\": %lld,\n", name, v); }

static void json_string(kn_text *t, const char *name, const char *v)
{
    kn_text_printf(t, " \"%s\": ", name);
    json_text(t, v);
    kn_text_add(t, ",\n");
}

/* "a": 1.0, "b": 2.0 of the nodes */
typedef enum node_number { ALONE, SCOPE, ELEMENTS } node_number;

static void json_nodes(kn_text *t, const char *name, const kiln_profile *p, node_number which)
{
    kn_text_printf(t, " \"%s\": {", name);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        kn_text_add(t, i ? ",\n  " : "\n  ");
        json_text(t, p->nodes[i].name);
        kn_text_add(t, ": ");
        if (which == ELEMENTS) kn_text_printf(t, "%lld", (long long)p->nodes[i].elements);
        else kn_text_double(t, which == ALONE ? p->nodes[i].alone_ms : p->nodes[i].scope_ms);
    }
    kn_text_add(t, p->n_nodes ? "\n },\n" : "},\n");
}

static void json_groups(kn_text *t, const kiln_profile *p)
{
    kn_text_add(t, " \"coupling_iters\": {");
    for (uint32_t i = 0; i < p->n_groups; i++) {
        kn_text_add(t, i ? ",\n  " : "\n  ");
        json_text(t, p->groups[i].key);
        kn_text_printf(t, ": %d", (int)p->groups[i].last);
    }
    kn_text_add(t, p->n_groups ? "\n },\n" : "},\n");
    kn_text_add(t, " \"coupling_iter_stats\": {");
    for (uint32_t i = 0; i < p->n_groups; i++) {
        const kiln_profile_group *k = &p->groups[i];
        kn_text_add(t, i ? ",\n  " : "\n  ");
        json_text(t, k->key);
        kn_text_add(t, ": {\"mean\": ");
        kn_text_double(t, k->mean);
        kn_text_printf(t, ", \"min\": %d, \"max\": %d, \"cap\": %d, \"total_mean\": ", (int)k->least, (int)k->most, (int)k->cap);
        kn_text_double(t, k->total_mean);
        kn_text_printf(t, ", \"sweeps\": %d, \"at_cap_fraction\": ", (int)k->sweeps);
        kn_text_double(t, k->at_cap_fraction);
        kn_text_add(t, ", \"converged_fraction\": ");
        kn_text_double(t, k->converged_fraction);
        kn_text_printf(t, ", \"n\": %lld}", (long long)k->n);
    }
    kn_text_add(t, p->n_groups ? "\n },\n" : "},\n");
}

static void json_counts(kn_text *t, const kiln_profile *p)
{
    const kiln_profile_counts *c = &p->counts;
    if (!p->counted) {
        kn_text_add(t, " \"counts\": null,\n");
        return;
    }
    kn_text_printf(t, " \"counts\": {\n  \"retrace_count\": %llu,\n  \"jaxpr_primitive_count\": %llu,\n  \"hlo_op_count\": %llu",
                   (unsigned long long)c->builds, (unsigned long long)c->equations, (unsigned long long)c->lowered_ops);
    if (c->scan_steps)
        kn_text_printf(t, ",\n  \"scan_steps\": %lld,\n  \"scan_retrace_count\": %llu,\n  \"scan_jaxpr_primitive_count\": %llu,\n"
                       "  \"scan_hlo_op_count\": %llu", (long long)c->scan_steps, (unsigned long long)c->scan_builds,
                       (unsigned long long)c->scan_equations, (unsigned long long)c->scan_lowered_ops);
    kn_text_add(t, "\n },\n");
}

static void json_times(kn_text *t, const kiln_profile *p)
{
    json_string(t, "graph_name", p->name);
    json_integer(t, "n_steps", (long long)p->n_steps);
    json_integer(t, "n_nodes", p->n_nodes);
    json_number(t, "jit_compile_ms", p->first_step_ms);
    json_number(t, "mean_step_ms", p->mean_ms);
    json_number(t, "std_step_ms", p->std_ms);
    json_number(t, "median_step_ms", p->median_ms);
    json_number(t, "p95_step_ms", p->p95_ms);
    json_number(t, "total_run_ms", p->total_ms);
    json_number(t, "steps_per_second", p->steps_per_second);
    json_number(t, "dispatch_floor_ms", p->floor_ms);
    json_string(t, "device", p->device);
    if (p->fast) json_string(t, "fast", kiln_fast_text(p->fast));
}

kiln_status kiln_profile_json(kiln_ctx *ctx, const kiln_profile *p, char **text, size_t *n)
{
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    kn_text_add(&t, "{\n");
    json_times(&t, p);
    json_nodes(&t, "node_times_ms", p, ALONE);
    json_nodes(&t, "node_scope_ms", p, SCOPE);
    json_number(&t, "sum_node_ms", p->sum_alone_ms);
    json_integer(&t, "n_coupling_groups", p->n_groups);
    json_string(&t, "coupling_overhead_method", p->overhead_method);
    json_number(&t, "coupling_overhead_ms", p->overhead_ms);
    json_number(&t, "coupling_overhead_se_ms", p->overhead_error_ms);
    json_number(&t, "one_iteration_step_ms", p->one_iteration_ms);
    json_number(&t, "coupling_per_iteration_ms", p->per_iteration_ms);
    json_groups(&t, p);
    kn_text_add(&t, " \"trace\": null,\n");
    json_counts(&t, p);
    json_nodes(&t, "node_sizes", p, ELEMENTS);
    json_integer(&t, "total_state_elements", (long long)p->elements);
    json_string(&t, "bottleneck", p->bottleneck);
    kn_text_add(&t, " \"recommendations\": [");
    for (uint32_t i = 0; i < p->n_recommendations; i++) {
        kn_text_add(&t, i ? ",\n  " : "\n  ");
        json_text(&t, p->recommendations[i]);
    }
    kn_text_add(&t, p->n_recommendations ? "\n ]\n}\n" : "]\n}\n");
    return give(ctx, &t, KILN_OK, text, n);
}
