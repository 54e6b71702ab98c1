/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a graph, in the order in which its numbers are measured. Each step is timed on its own, with the call as a
 * user makes it; nothing is subtracted. */
#include "graph/profile.h"

#include "base/clock.h"

#include <math.h>

/* ---- the graph as it was ---- */

typedef struct snapshot {
    void **state, **diag, **setting;
    int64_t step;
    bool initial, seeded;
} snapshot;

static uint32_t n_diag(const kiln_graph *g) { return g->model->n_groups * KN_N_DIAG; }

static kiln_status copy_out(kn_profiler *u, kiln_array *const *v, uint32_t n, void ***out)
{
    KILN_TRY_MEM(u->ctx, *out = KN_NEWN(&u->work, void *, n));
    for (uint32_t i = 0; i < n; i++)
        KILN_TRY_MEM(u->ctx, (*out)[i] = kn_arena_copy(&u->work, kiln_array_read(v[i]), kiln_array_bytes(v[i])));
    return KILN_OK;
}

static void copy_in(kiln_array *const *v, uint32_t n, void *const *from)
{
    for (uint32_t i = 0; i < n; i++) memcpy(kiln_array_data(v[i]), from[i], kiln_array_bytes(v[i]));
}

static kiln_status take(kn_profiler *u, snapshot *s)
{
    const kiln_graph *g = u->g;
    *s = (snapshot){.step = g->step, .initial = g->initial, .seeded = g->seeded};
    KILN_TRY(copy_out(u, g->state, kn_n_state(g), &s->state));
    KILN_TRY(copy_out(u, g->diag, n_diag(g), &s->diag));
    return copy_out(u, g->setting, g->settings.n, &s->setting);
}

static void put_back(kiln_graph *g, const snapshot *s)
{
    copy_in(g->state, kn_n_state(g), s->state);
    copy_in(g->diag, n_diag(g), s->diag);
    copy_in(g->setting, g->settings.n, s->setting);
    g->step = s->step, g->initial = s->initial, g->seeded = s->seeded;
}

/* ---- steps ---- */

kiln_status kn_profile_stopped(const kn_profiler *u)
{
    return u->stop && *u->stop ? kn_fail(u->ctx, KILN_CANCELLED, "the profile was asked to stop") : KILN_OK;
}

static kiln_status do_steps(kn_profiler *u, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        KILN_TRY(kn_profile_stopped(u));
        KILN_TRY(kn_graph_step_once(u->ctx, u->g));
    }
    return KILN_OK;
}

/* Times of u->steps steps into u->ms; what they are is said by `out`. */
static kiln_status time_steps(kn_profiler *u, kn_statistics *out)
{
    for (int64_t i = 0; i < u->steps; i++) {
        KILN_TRY(kn_profile_stopped(u));
        int64_t start = kn_clock_ns();
        KILN_TRY(kn_graph_step_once(u->ctx, u->g));
        u->ms[i] = (double)(kn_clock_ns() - start) * 1e-6;
    }
    *out = kn_statistics_of(u->ms, (size_t)u->steps);
    return KILN_OK;
}

static kiln_status sizes(kn_profiler *u)
{
    const kn_plan *p = u->g->plan;
    kiln_profile *r = &u->r->p;
    KILN_TRY_MEM(u->ctx, u->r->nodes = KN_NEWN(&u->r->arena, kiln_profile_node, u->g->model->n_nodes));
    r->nodes = u->r->nodes, r->n_nodes = u->g->model->n_nodes;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        KILN_TRY_MEM(u->ctx, u->r->nodes[i].name = kn_arena_text(&u->r->arena, u->g->model->nodes[i].name));
    for (uint32_t i = 0; i < p->n_slots; i++) {
        u->r->nodes[p->slots[i].node].elements += kiln_type_size(p->slots[i].type);
        r->elements += kiln_type_size(p->slots[i].type);
        r->state_bytes += kiln_array_bytes(u->g->state[i]);
    }
    return KILN_OK;
}

/* From the initial state: the first step with what it compiles, the rest of the warm-up, then each step timed. */
static kiln_status timed_run(kn_profiler *u)
{
    kiln_profile *r = &u->r->p;
    double before = u->g->step_program.trace_ms + u->g->step_program.compile_ms; /* made earlier: its cost is known */
    KILN_TRY(kiln_graph_reset(u->ctx, u->g));
    int64_t start = kn_clock_ns();
    KILN_TRY(kn_graph_step_once(u->ctx, u->g));
    r->first_step_ms = (double)(kn_clock_ns() - start) * 1e-6 + before;
    KILN_TRY(do_steps(u, u->warmup - 1));
    KILN_TRY(time_steps(u, &u->step));
    r->mean_ms = u->step.mean, r->std_ms = u->step.std, r->median_ms = u->step.median, r->p95_ms = u->step.p95;
    r->total_ms = u->step.total;
    r->steps_per_second = r->mean_ms > 0 ? 1000 / r->mean_ms : 0;
    return KILN_OK;
}

static void count_program(const kiln_graph *g, kn_program_kind kind, uint64_t *builds, uint64_t *equations, uint64_t *ops)
{
    const kn_program *p = kind == KN_PROGRAM_RUN ? &g->run_program : &g->step_program;
    kiln_exec_info info;
    kiln_exec_info_get(p->exec, &info);
    *builds = g->builds[kind], *equations = info.equations, *ops = info.lowered_ops;
}

/* The loop is run and rolled back. */
static kiln_status counts(kn_profiler *u)
{
    kiln_profile_counts *c = &u->r->p.counts;
    u->r->p.counted = true;
    if (u->scan_steps) {
        snapshot s;
        kiln_graph_result *result = NULL;
        kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
        o.steps = u->scan_steps, o.no_record = true, o.stop = u->stop;
        KILN_TRY(take(u, &s));
        kiln_status status = kiln_graph_run(u->ctx, u->g, &o, &result);
        kiln_graph_result_release(result);
        put_back(u->g, &s);
        if (status != KILN_NUMERIC) KILN_TRY(status); /* not converged: counted elsewhere */
        c->scan_steps = u->scan_steps;
        count_program(u->g, KN_PROGRAM_RUN, &c->scan_builds, &c->scan_equations, &c->scan_lowered_ops);
    }
    count_program(u->g, KN_PROGRAM_STEP, &c->builds, &c->equations, &c->lowered_ops);
    return kn_profile_stopped(u);
}

/* ---- coupling ---- */

static kiln_status make_groups(kn_profiler *u)
{
    const kn_graph_model *m = u->g->model;
    KILN_TRY_MEM(u->ctx, u->r->groups = KN_NEWN(&u->r->arena, kiln_profile_group, m->n_groups));
    u->r->p.groups = u->r->groups, u->r->p.n_groups = m->n_groups;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        kiln_profile_group *k = &u->r->groups[i];
        KILN_TRY_MEM(u->ctx, k->key = kn_arena_text(&u->r->arena, u->g->plan->groups[i].key));
        k->cap = m->groups[i].max_iterations;
        k->sweeps = m->groups[i].subcycling ? m->groups[i].waveform_iterations : 1;
    }
    return KILN_OK;
}

/* Adds what a group did in the step just made; sums stand where the means will be. */
static void count_solve(const kiln_graph *g, uint32_t group, kiln_profile_group *k)
{
    kiln_graph_coupling c = kiln_graph_last_coupling(g, group);
    k->last = c.iterations;
    if ((g->step - 1) % g->plan->groups[group].divider != 0) return; /* held: no solve */
    k->least = k->n == 0 || c.iterations < k->least ? c.iterations : k->least;
    k->most = c.iterations > k->most ? c.iterations : k->most;
    k->mean += c.iterations;
    k->at_cap_fraction += c.iterations >= k->cap;
    k->converged_fraction += c.converged;
    k->n++;
}

static kiln_status iterations(kn_profiler *u)
{
    int64_t n = u->few;
    KILN_TRY(make_groups(u));
    if (u->stat_steps) {
        KILN_TRY(kiln_graph_reset(u->ctx, u->g));
        KILN_TRY(do_steps(u, u->warmup));
        n = u->stat_steps;
    }
    for (int64_t i = 0; i < n; i++) {
        KILN_TRY(do_steps(u, 1));
        for (uint32_t k = 0; k < u->r->p.n_groups; k++) count_solve(u->g, k, &u->r->groups[k]);
    }
    for (uint32_t i = 0; i < u->r->p.n_groups; i++) {
        kiln_profile_group *k = &u->r->groups[i];
        double solves = k->n ? (double)k->n : 1;
        k->mean /= solves, k->at_cap_fraction /= solves, k->converged_fraction /= solves;
        k->total_mean = k->mean;
    }
    return KILN_OK;
}

/* Iterations of a step beyond the one pass a sweep that every step makes. */
static double extra_iterations(const kiln_profile *r)
{
    double extra = 0;
    for (uint32_t i = 0; i < r->n_groups; i++) extra += r->groups[i].total_mean - r->groups[i].sweeps;
    return extra;
}

/* The same program with all caps at 1, which is an input: the difference is what the other iterations cost. */
static kiln_status one_iteration(kn_profiler *u)
{
    kiln_profile *r = &u->r->p;
    const kn_settings *s = &u->g->settings;
    kn_statistics one;
    for (uint32_t i = 0; i < r->n_groups; i++) *(int32_t *)kiln_array_data(u->g->setting[s->option[i][KN_TUNE_MAX_ITERATIONS]]) = 1;
    kiln_status status = do_steps(u, u->warmup);
    if (status == KILN_OK) status = time_steps(u, &one);
    for (uint32_t i = 0; i < r->n_groups; i++) *(int32_t *)kiln_array_data(u->g->setting[s->option[i][KN_TUNE_MAX_ITERATIONS]]) = r->groups[i].cap;
    KILN_TRY(status);
    r->overhead_method = "measured";
    r->one_iteration_ms = one.mean;
    r->overhead_ms = r->mean_ms - one.mean;
    r->overhead_error_ms = kn_difference_error(&u->step, &one);
    return KILN_OK;
}

static kiln_status coupling(kn_profiler *u, bool measure)
{
    kiln_profile *r = &u->r->p;
    if (r->n_groups == 0) return KILN_OK;
    if (measure) {
        KILN_TRY(one_iteration(u));
    } else {
        r->overhead_method = "estimated";
        r->overhead_ms = r->mean_ms - r->sum_alone_ms;
    }
    double extra = extra_iterations(r);
    r->per_iteration_ms = extra > 0 ? r->overhead_ms / extra : 0;
    return KILN_OK;
}

/* ---- all of it ---- */

/* The title, or the file's name without folder and ending. */
static const char *name_of(kn_arena *a, const kn_graph_model *m)
{
    if (m->title && *m->title) return kn_arena_text(a, m->title);
    const char *path = m->n_files ? m->files[0].name : "", *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return kn_arena_textn(a, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
}

static kiln_status measure(kn_profiler *u, const kiln_graph_profile_opts *o)
{
    kiln_profile *r = &u->r->p;
    u->start_ns = kn_clock_ns(), u->start_ticks = kn_clock_ticks();
    KILN_TRY_MEM(u->ctx, u->ms = KN_NEWN(&u->work, double, u->steps));
    KILN_TRY_MEM(u->ctx, r->name = name_of(&u->r->arena, u->g->model));
    KILN_TRY_MEM(u->ctx, r->target = kn_arena_text(&u->r->arena, u->ctx->target));
    r->device = "cpu:0";
    r->fast = u->ctx->fast;
    r->precision = u->g->plan->real;
    r->n_steps = u->steps;
    r->clock_ms = (double)kn_clock_step_ns() * 1e-6;
    r->overhead_method = "";
    KILN_TRY(sizes(u));
    KILN_TRY(timed_run(u));
    KILN_TRY(kn_profile_subnormal(u));
    if (!o->no_counts) KILN_TRY(counts(u));
    KILN_TRY(kn_profile_floor(u));
    KILN_TRY(iterations(u));
    KILN_TRY(kn_profile_nodes(u));
    KILN_TRY(coupling(u, !o->no_measure_coupling));
    KILN_TRY(kiln_graph_reset(u->ctx, u->g));
    KILN_TRY(do_steps(u, u->warmup));
    KILN_TRY(kn_profile_scopes(u));
    return kn_profile_judge(u);
}

static kiln_status check_opts(kiln_ctx *ctx, const kiln_graph *g, const kiln_graph_profile_opts *o)
{
    if (g->interpret)
        return kn_fail(ctx, KILN_INVALID, "an interpreted graph has no profile: times are those of compiled code");
    const int64_t v[] = {o->steps, o->warmup, o->stat_steps, o->scan_steps};
    static const char *const names[] = {"steps", "warmup", "stat_steps", "scan_steps"};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (v[i] < 0 || v[i] > INT32_MAX)
            return kn_fail(ctx, KILN_INVALID, "%s of a profile is %lld: 1 to %d would be accepted", names[i], (long long)v[i], INT32_MAX);
    return KILN_OK;
}

kiln_status kiln_graph_profile(kiln_ctx *ctx, kiln_graph *g, const kiln_graph_profile_opts *opts, kiln_profile **out)
{
    kiln_graph_profile_opts o = {0};
    if (opts) memcpy(&o, opts, opts->size && opts->size < sizeof o ? opts->size : sizeof o);
    *out = NULL;
    KILN_TRY(check_opts(ctx, g, &o));
    kn_profiler u = {.ctx = ctx, .g = g, .stop = o.stop, .steps = o.steps ? o.steps : 100, .warmup = o.warmup ? o.warmup : 3,
                     .stat_steps = o.stat_steps, .scan_steps = o.scan_steps};
    u.few = u.steps < 50 ? u.steps : 50;
    KILN_TRY_MEM(ctx, u.r = kn_new(&ctx->alloc, sizeof *u.r));
    u.r->alloc = ctx->alloc;
    kn_arena_init(&u.r->arena, &ctx->alloc);
    kn_arena_init(&u.work, &ctx->alloc);
    snapshot before;
    kiln_status status = take(&u, &before);
    if (status == KILN_OK) {
        status = measure(&u, &o);
        put_back(g, &before);
    }
    kn_arena_fini(&u.work);
    if (status == KILN_OK) *out = &u.r->p;
    else kiln_profile_release(&u.r->p);
    return status;
}

void kiln_profile_release(kiln_profile *p)
{
    if (!p) return;
    kn_profile *r = (kn_profile *)(void *)p;
    kn_alloc alloc = r->alloc;
    kn_arena_fini(&r->arena);
    kn_free(&alloc, r, sizeof *r);
}
