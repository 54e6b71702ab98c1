/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that run: loading, programs made when needed, single steps. */
#include "graph/engine.h"

#include "graph/kinds.h"

enum { HISTORY_BYTES = 1 << 22, MOST_ROWS = 4096, MOST_ROW_BYTES = 1 << 14, INTERPRETED_ROWS = 64 };

/* ---- loading ---- */

/* Fields that the run records, and how many rows its loop can hold. A large state is not written after every step: its rows are
 * copied between calls. */
static kiln_status choose_recording(kiln_ctx *ctx, kiln_graph *g)
{
    const kn_plan *p = g->plan;
    uint32_t *slots = KN_NEWN(&g->arena, uint32_t, p->n_slots);
    KILN_TRY_MEM(ctx, slots);
    size_t bytes = 0;
    kn_recording *r = &g->recording;
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const kn_node *n = &g->model->nodes[p->slots[i].node];
        if (!kn_run_records(g->model, n, kn_type_at(p, p->slots[i].node)->state[p->slots[i].field].name)) continue;
        slots[r->n_slots++] = i;
        bytes += kiln_dtype_bytes(p->slots[i].type.dtype) * (size_t)kiln_type_size(p->slots[i].type);
    }
    r->slots = slots;
    r->steps = g->interpret ? INTERPRETED_ROWS : MOST_ROWS;
    KILN_TRY(kn_recording_tables(ctx, p, r));
    if (bytes == 0 || bytes > MOST_ROW_BYTES) return KILN_OK;
    r->rows = (int64_t)(HISTORY_BYTES / bytes);
    if (r->rows > r->steps) r->rows = r->steps;
    return KILN_OK;
}

static kiln_status make_arrays(kiln_ctx *ctx, kiln_graph *g)
{
    const kn_plan *p = g->plan;
    uint32_t n_diag = g->model->n_groups * KN_N_DIAG;
    KILN_TRY_MEM(ctx, g->setting = KN_NEWN(&g->arena, kiln_array *, g->settings.n));
    KILN_TRY_MEM(ctx, g->state = KN_NEWN(&g->arena, kiln_array *, kn_n_state(g)));
    KILN_TRY_MEM(ctx, g->diag = KN_NEWN(&g->arena, kiln_array *, n_diag));
    for (uint32_t i = 0; i < g->settings.n; i++) KILN_TRY(kiln_array_create(ctx, g->settings.v[i].type, &g->setting[i]));
    for (uint32_t i = 0; i < p->n_slots; i++) KILN_TRY(kiln_array_create(ctx, p->slots[i].type, &g->state[i]));
    for (uint32_t i = 0; i < p->n_hidden; i++)
        KILN_TRY(kiln_array_create(ctx, KILN_SCALAR(p->hidden[i].dtype), &g->state[p->n_slots + i]));
    for (uint32_t i = 0; i < n_diag; i++)
        KILN_TRY(kiln_array_create(ctx, KILN_SCALAR(kn_diag_dtype((kn_diag)(i % KN_N_DIAG))), &g->diag[i]));
    return KILN_OK;
}

static kiln_status load(kiln_ctx *ctx, kiln_graph *g, const char *path, const kiln_graph_opts *o)
{
    kn_let_override *lets = KN_NEWN(&g->arena, kn_let_override, o->n_lets);
    KILN_TRY_MEM(ctx, lets);
    for (size_t i = 0; i < o->n_lets; i++) lets[i] = (kn_let_override){o->lets[i].name, o->lets[i].value};
    KILN_TRY(kn_graph_read(ctx, &g->arena, path, o->text, lets, o->n_lets, &g->model));
    KILN_TRY(kn_graph_refuse_unsupported(ctx, g->model));
    KILN_TRY_MEM(ctx, g->nodes = kn_arena_copy(&g->arena, g->model->nodes, g->model->n_nodes * sizeof *g->nodes));
    KILN_TRY_MEM(ctx, g->own_params = KN_NEWN(&g->arena, bool, g->model->n_nodes));
    g->model->nodes = g->nodes;
    bool f64 = o->precision ? o->precision == 64 : g->model->f64;
    KILN_TRY(kn_plan_make(ctx, &g->arena, g->model, f64 ? KILN_F64 : KILN_F32, &g->plan));
    KILN_TRY(kn_settings_list(ctx, &g->arena, g->plan, &g->settings));
    KILN_TRY(choose_recording(ctx, g));
    KILN_TRY(make_arrays(ctx, g));
    kn_settings_fill(g->plan, &g->settings, g->setting);
    return kiln_graph_reset(ctx, g);
}

kiln_status kiln_graph_load(kiln_ctx *ctx, const char *path, const kiln_graph_opts *opts, kiln_graph **out)
{
    kiln_graph_opts o = {0};
    if (opts) memcpy(&o, opts, opts->size && opts->size < sizeof o ? opts->size : sizeof o);
    *out = NULL;
    if (o.precision != 0 && o.precision != 32 && o.precision != 64)
        return kn_fail(ctx, KILN_INVALID, "a precision of %d bits: 32 or 64 would be accepted", o.precision);
    kiln_graph *g = kn_new(&ctx->alloc, sizeof *g);
    KILN_TRY_MEM(ctx, g);
    g->alloc = ctx->alloc;
    kn_arena_init(&g->arena, &ctx->alloc);
    g->interpret = o.interpret;
    kiln_status status = load(ctx, g, path, &o);
    if (status == KILN_OK) *out = g;
    else kiln_graph_release(g);
    return status;
}

static void release_arrays(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; v && i < n; i++) kiln_array_release(v[i]);
}

void kiln_graph_release(kiln_graph *g)
{
    if (!g) return;
    kn_program_free(&g->step_program);
    kn_program_free(&g->run_program);
    kn_program_free(&g->seed_program);
    release_arrays(g->setting, g->settings.n);
    if (g->plan) release_arrays(g->state, kn_n_state(g));
    if (g->model) release_arrays(g->diag, g->model->n_groups * KN_N_DIAG);
    kn_arena_fini(&g->arena);
    kn_alloc alloc = g->alloc;
    kn_free(&alloc, g, sizeof *g);
}

/* ---- what it is made of ---- */

const char *kiln_graph_title(const kiln_graph *g) { return g->model->title ? g->model->title : ""; }
kiln_dtype kiln_graph_precision(const kiln_graph *g) { return g->plan->real; }
double kiln_graph_timestep(const kiln_graph *g) { return g->model->base_timestep; }
uint32_t kiln_graph_n_nodes(const kiln_graph *g) { return g->model->n_nodes; }
const char *kiln_graph_node_name(const kiln_graph *g, uint32_t node) { return g->model->nodes[node].name; }
const char *kiln_graph_node_type(const kiln_graph *g, uint32_t node) { return g->model->nodes[node].type->name; }
uint32_t kiln_graph_schedule(const kiln_graph *g, uint32_t i) { return g->plan->order[i]; }
int64_t kiln_graph_divider(const kiln_graph *g, uint32_t node) { return g->model->nodes[node].divider; }
uint32_t kiln_graph_n_groups(const kiln_graph *g) { return g->model->n_groups; }
const char *kiln_graph_group_key(const kiln_graph *g, uint32_t group) { return g->plan->groups[group].key; }
uint32_t kiln_graph_n_fields(const kiln_graph *g) { return g->plan->n_slots; }
const char *kiln_graph_field_name(const kiln_graph *g, uint32_t field) { return g->plan->slots[field].name; }
kiln_type kiln_graph_field_type(const kiln_graph *g, uint32_t field) { return g->plan->slots[field].type; }
int64_t kiln_graph_step_count(const kiln_graph *g) { return g->step; }

kiln_status kiln_graph_program(kiln_ctx *ctx, kiln_graph *g, bool loop, kiln_prog **out)
{
    return kn_program_trace(ctx, g->plan, &g->settings, loop ? KN_PROGRAM_RUN : KN_PROGRAM_STEP, &g->recording, out);
}

/* ---- programs ---- */

kiln_status kn_graph_need(kiln_ctx *ctx, kiln_graph *g, kn_program_kind kind)
{
    static const char *const labels[] = {"step", "run", "seed"};
    kn_program *p = kind == KN_PROGRAM_STEP ? &g->step_program : kind == KN_PROGRAM_RUN ? &g->run_program : &g->seed_program;
    if (p->prog) return KILN_OK;
    kiln_prog *prog;
    double start = kn_seconds();
    KILN_TRY_NOTE(ctx, kn_program_trace(ctx, g->plan, &g->settings, kind, &g->recording, &prog), "while the %s of the graph was traced",
                  labels[kind]);
    double traced = kn_seconds();
    kn_program_opts o = {.label = labels[kind], .interpret = g->interpret || kind == KN_PROGRAM_SEED,
                         .often = kind == KN_PROGRAM_STEP, .n_donated = kn_n_state(g)};
    if (kind == KN_PROGRAM_RUN) {
        kn_run_places at = kn_run_places_of(g->plan, &g->settings, &g->recording);
        o.donated_from = at.in_history, o.donated_to = at.in_settings;
    }
    KILN_TRY_NOTE(ctx, kn_program_make(ctx, prog, &o, p), "while the %s of the graph was compiled", labels[kind]);
    g->builds[kind]++;
    p->trace_ms = (traced - start) * 1e3;
    g->start_ms += (kn_seconds() - start) * 1e3;
    uint32_t settings_at = kind == KN_PROGRAM_RUN ? kn_run_places_of(g->plan, &g->settings, &g->recording).in_settings : kn_n_state(g) + 1;
    for (uint32_t i = 0; i < kn_n_state(g); i++) p->buffers[i] = kiln_array_data(g->state[i]);
    if (kind != KN_PROGRAM_SEED)
        for (uint32_t i = 0; i < kn_n_state(g); i++) p->buffers[p->n_in + i] = kiln_array_data(g->state[i]);
    else
        for (uint32_t i = 0; i < p->n_out; i++) p->buffers[p->n_in + i] = kiln_array_data(g->state[g->plan->n_slots + i]);
    p->buffers[kn_n_state(g)] = &g->step;
    for (uint32_t i = 0; i < g->settings.n; i++) p->buffers[settings_at + i] = kiln_array_data(g->setting[i]);
    if (kind == KN_PROGRAM_STEP)
        for (uint32_t i = 0; i < g->model->n_groups * KN_N_DIAG; i++)
            p->buffers[p->n_in + kn_n_state(g) + i] = kiln_array_data(g->diag[i]);
    return KILN_OK;
}

kiln_status kn_graph_seed(kiln_ctx *ctx, kiln_graph *g)
{
    if (g->seeded) return KILN_OK;
    if (g->plan->n_hidden) {
        KILN_TRY(kn_graph_need(ctx, g, KN_PROGRAM_SEED));
        KILN_TRY(kn_program_call(ctx, &g->seed_program, NULL));
    }
    g->seeded = true;
    return KILN_OK;
}

/* ---- single steps ---- */

kiln_status kn_graph_step_once(kiln_ctx *ctx, kiln_graph *g)
{
    KILN_TRY(kn_graph_need(ctx, g, KN_PROGRAM_STEP));
    KILN_TRY(kn_graph_seed(ctx, g));
    KILN_TRY(kn_program_call(ctx, &g->step_program, NULL));
    g->step++;
    g->initial = false;
    return KILN_OK;
}

kiln_status kn_graph_check_strict(kiln_ctx *ctx, const kiln_graph *g, uint32_t group, int64_t step, double estimate)
{
    const kn_members *m = &g->plan->groups[group];
    if (!m->strict) return KILN_OK;
    return kn_graph_fail(ctx, g->model, KN_KIND_NOT_CONVERGED, m->group->at, "more max_iterations, or a looser tolerance",
                         "group '%s' has not converged in base step %lld: its error estimate is %.4g", m->key, (long long)step, estimate);
}

kiln_status kiln_graph_step(kiln_ctx *ctx, kiln_graph *g)
{
    KILN_TRY(kn_graph_step_once(ctx, g));
    for (uint32_t i = 0; i < g->model->n_groups; i++) {
        kiln_graph_coupling c = kiln_graph_last_coupling(g, i);
        if (!c.converged) KILN_TRY(kn_graph_check_strict(ctx, g, i, g->step, c.error_estimate));
    }
    return KILN_OK;
}

kiln_graph_coupling kiln_graph_last_coupling(const kiln_graph *g, uint32_t group)
{
    kiln_array *const *d = &g->diag[group * KN_N_DIAG];
    return (kiln_graph_coupling){
        .iterations = *(const int32_t *)kiln_array_read(d[KN_DIAG_ITERATIONS]),
        .residual = *(const double *)kiln_array_read(d[KN_DIAG_RESIDUAL]),
        .amplification = *(const double *)kiln_array_read(d[KN_DIAG_AMPLIFICATION]),
        .error_estimate = *(const double *)kiln_array_read(d[KN_DIAG_ESTIMATE]),
        .converged = *(const bool *)kiln_array_read(d[KN_DIAG_CONVERGED]),
    };
}
