/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: the native loop called in pieces. Rows and records are written by the program straight to where the result keeps
 * them; the host only moves the pointers on. */
#include "graph/engine.h"
#include "graph/result.h"

#include <math.h>
#include <stdlib.h>

/* Which steps are recorded: the first and last, and those of `every` or of a list. */
typedef struct recorded {
    int64_t first, last, every; /* every 0: none of them */
    int64_t *list;              /* increasing, each once; NULL: none */
    size_t n_list, at;
    bool ends;
} recorded;

typedef struct runner {
    kiln_ctx *ctx;
    kiln_graph *g;
    kiln_graph_result *r;
    kiln_graph_run_opts o;
    recorded rec;
    int64_t end;
    bool in_loop; /* rows are written by the program */
    double per_step; /* s, of the last call */
    int64_t last_chunk;
} runner;

/* ---- which steps ---- */

static int compare_steps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static kiln_status choose_steps(runner *u, kn_arena *arena)
{
    const kn_run *run = &u->g->model->run;
    recorded *rec = &u->rec;
    *rec = (recorded){.first = u->g->step, .last = u->end};
    if (u->o.no_record) return KILN_OK;
    rec->ends = true;
    if (u->o.every > 0 || run->record == KN_RECORD_EVERY) {
        rec->every = u->o.every > 0 ? u->o.every : run->every;
    } else if (run->record == KN_RECORD_LIST) {
        rec->ends = false;
        KILN_TRY_MEM(u->ctx, rec->list = KN_NEWN(arena, int64_t, run->n_list));
        for (size_t i = 0; i < run->n_list; i++)
            if (run->list[i] >= rec->first && run->list[i] <= rec->last) rec->list[rec->n_list++] = run->list[i];
        qsort(rec->list, rec->n_list, sizeof *rec->list, compare_steps);
        size_t n = 0;
        for (size_t i = 0; i < rec->n_list; i++)
            if (n == 0 || rec->list[n - 1] != rec->list[i]) rec->list[n++] = rec->list[i];
        rec->n_list = n;
    }
    return KILN_OK;
}

/* The first recorded step after `step` that is no end of the run; INT64_MAX when there is none. */
static int64_t next_recorded(const recorded *rec, int64_t step)
{
    if (rec->every) return (step / rec->every + 1) * rec->every;
    for (size_t i = 0; i < rec->n_list; i++)
        if (rec->list[i] > step) return rec->list[i];
    return INT64_MAX;
}

static bool is_recorded(const recorded *rec, int64_t step)
{
    if (rec->ends && (step == rec->first || step == rec->last)) return true;
    if (rec->every) return step % rec->every == 0;
    for (size_t i = 0; i < rec->n_list; i++)
        if (rec->list[i] == step) return true;
    return false;
}

static int64_t count_rows(const recorded *rec)
{
    if (rec->every) return (rec->last / rec->every - rec->first / rec->every) + 2;
    return rec->list ? (int64_t)rec->n_list : rec->ends ? 2 : 0;
}

static kiln_status how_many(kiln_ctx *ctx, const kiln_graph *g, const kiln_graph_run_opts *o, int64_t *steps)
{
    if (o->steps >= 0) {
        *steps = o->steps;
    } else if (o->time > 0) {
        double n = ceil(o->time / g->model->base_timestep - 1e-9);
        if (!(n < 1e15)) return kn_fail(ctx, KILN_INVALID, "%g s are %g base steps: at most 1e15 would be accepted", o->time, n);
        *steps = (int64_t)n;
    } else if (g->model->run.has_steps) {
        *steps = g->model->run.steps;
    } else {
        return kn_fail(ctx, KILN_INVALID, "no number of steps: the file has no run.steps, --steps or --time would be accepted");
    }
    return KILN_OK;
}

/* ---- rows by the host ---- */

static void copy_row(runner *u)
{
    kiln_graph_result *r = u->r;
    const kn_recording *rec = &u->g->recording;
    for (uint32_t i = 0; i < r->n_tables; i++) {
        char *to = r->tables[i].data + (size_t)r->n_rows * r->tables[i].row_bytes;
        for (uint32_t k = 0; k < rec->tables[i].n; k++) {
            const kiln_array *from = u->g->state[rec->slots[rec->tables[i].fields[k]]];
            memcpy(to, kiln_array_read(from), kiln_array_bytes(from));
            to += kiln_array_bytes(from);
        }
    }
    kn_result_row(r, u->g->step);
}

/* ---- calls ---- */

static int64_t choose_chunk(const runner *u)
{
    if (u->o.chunk_steps > 0) return u->o.chunk_steps;
    if (u->last_chunk == 0) return 1; /* nothing is known yet */
    double seconds = u->o.chunk_seconds > 0 ? u->o.chunk_seconds : 0.1, most = 32.0 * (double)u->last_chunk;
    double n = u->per_step > 0 ? seconds / u->per_step : most;
    if (n > most) n = most;
    return n < 1 ? 1 : (int64_t)n;
}

static void point_buffers(runner *u, const kn_run_places *at, int64_t *stop, int64_t *next, int64_t *step, int64_t *row)
{
    kn_program *p = &u->g->run_program;
    void **in = p->buffers, **out = p->buffers + p->n_in;
    const kiln_graph_result *r = u->r;
    in[at->in_stop] = stop, in[at->in_next] = next, in[at->in_every] = &u->rec.every;
    out[at->out_step] = step, out[at->out_row] = row;
    for (uint32_t i = 0; u->g->recording.rows && i < r->n_tables; i++)
        in[at->in_history + i] = out[at->out_history + i] = r->tables[i].data + (size_t)r->n_rows * r->tables[i].row_bytes;
    for (uint32_t i = 0; i < r->n_groups; i++)
        for (uint32_t k = 0; k < KN_N_RECORDS; k++) {
            size_t size = kiln_dtype_bytes(kn_diag_dtype(kn_record_diag[k]));
            char *list = (char *)r->groups[i].list[k] + (r->keeps ? (size_t)r->steps * size : 0);
            in[at->in_records + i * KN_N_RECORDS + k] = out[at->out_records + i * KN_N_RECORDS + k] = list;
        }
}

/* One call of the loop, up to `limit`. */
static kiln_status call_loop(runner *u, int64_t limit)
{
    kiln_graph *g = u->g;
    kiln_graph_result *r = u->r;
    kn_run_places at = kn_run_places_of(g->plan, &g->settings, &g->recording);
    int64_t next = u->in_loop ? next_recorded(&u->rec, g->step) : INT64_MAX, step = g->step, row = 0;
    point_buffers(u, &at, &limit, &next, &step, &row);
    double start = kn_seconds();
    KILN_TRY(kn_program_call(u->ctx, &g->run_program, NULL));
    double spent = kn_seconds() - start;
    int64_t done = step - g->step;
    for (int64_t i = 0; i < row; i++) kn_result_row(r, next + i * u->rec.every);
    for (uint32_t i = 0; i < r->n_groups; i++) kn_result_count(&r->groups[i], r->keeps ? r->steps : 0, done);
    g->step = step;
    g->initial = false;
    r->steps += done;
    r->calls++;
    r->seconds += spent;
    if (done > 0) u->per_step = spent / (double)done, u->last_chunk = done;
    return KILN_OK;
}

/* One call of the step program; its diagnostics join the lists. */
static kiln_status call_step(runner *u)
{
    kiln_graph_result *r = u->r;
    double start = kn_seconds();
    KILN_TRY(kn_graph_step_once(u->ctx, u->g));
    r->seconds += kn_seconds() - start;
    int64_t at = r->keeps ? r->steps : 0;
    for (uint32_t i = 0; i < r->n_groups; i++) {
        for (int k = 0; k < KN_N_RECORDS; k++) {
            const kiln_array *from = u->g->diag[i * KN_N_DIAG + kn_record_diag[k]];
            size_t size = kiln_array_bytes(from);
            memcpy((char *)r->groups[i].list[k] + (size_t)at * size, kiln_array_read(from), size);
        }
        kn_result_count(&r->groups[i], at, 1);
    }
    r->steps++;
    r->calls++;
    return KILN_OK;
}

/* Did a group that must converge fail in the last step? */
static kiln_status check_strict(runner *u)
{
    const kiln_graph_result *r = u->r;
    for (uint32_t i = 0; i < r->n_groups; i++) {
        if (!u->g->plan->groups[i].strict || r->groups[i].r.unconverged == 0) continue;
        int64_t last = r->keeps ? r->steps - 1 : u->last_chunk - 1;
        if (last < 0 || u->o.single_steps) last = r->keeps ? r->steps - 1 : 0;
        return kn_graph_check_strict(u->ctx, u->g, i, u->g->step, ((const double *)r->groups[i].list[2])[last]);
    }
    return KILN_OK;
}

/* A row that the program does not write: of an end of the run, or when it writes none. */
static void record_here(runner *u)
{
    const recorded *rec = &u->rec;
    bool last = u->r->n_rows && u->r->row_steps[u->r->n_rows - 1] == u->g->step;
    if (!last && is_recorded(rec, u->g->step) && u->r->n_rows < u->r->cap_rows) copy_row(u);
}

static kiln_status run_steps(runner *u)
{
    if (is_recorded(&u->rec, u->g->step)) copy_row(u);
    while (u->g->step < u->end) {
        if (u->o.stop && *u->o.stop) {
            u->r->stopped = true;
            break;
        }
        if (u->o.single_steps) {
            KILN_TRY(call_step(u));
        } else {
            int64_t limit = u->end, chunk = choose_chunk(u);
            if (limit - u->g->step > chunk) limit = u->g->step + chunk;
            if (!u->in_loop) {
                int64_t next = next_recorded(&u->rec, u->g->step);
                if (next < limit) limit = next;
            }
            KILN_TRY(call_loop(u, limit));
        }
        record_here(u);
        if (u->o.progress) u->o.progress(u->o.progress_ud, u->r->steps, u->end - u->r->first);
        KILN_TRY(check_strict(u));
    }
    if (u->r->stopped) { /* the last state counts as the end */
        u->rec.last = u->g->step;
        record_here(u);
    }
    return KILN_OK;
}

static kiln_status prepare(runner *u, int64_t steps, kn_arena *arena)
{
    kiln_graph *g = u->g;
    u->end = g->step + steps;
    KILN_TRY(choose_steps(u, arena));
    KILN_TRY(kn_graph_need(u->ctx, g, u->o.single_steps ? KN_PROGRAM_STEP : KN_PROGRAM_RUN));
    KILN_TRY(kn_graph_seed(u->ctx, g));
    u->in_loop = !u->o.single_steps && g->recording.rows > 0 && u->rec.every > 0;
    KILN_TRY(kn_result_make(u->ctx, g->plan, &g->recording, !u->o.no_record, count_rows(&u->rec), steps, &u->r));
    u->r->first = g->step;
    return KILN_OK;
}

kiln_status kiln_graph_run(kiln_ctx *ctx, kiln_graph *g, const kiln_graph_run_opts *opts, kiln_graph_result **out)
{
    runner u = {.ctx = ctx, .g = g, .o = KILN_GRAPH_RUN_OPTS_INIT};
    if (opts) memcpy(&u.o, opts, opts->size && opts->size < sizeof u.o ? opts->size : sizeof u.o);
    *out = NULL;
    int64_t steps = 0;
    KILN_TRY(how_many(ctx, g, &u.o, &steps));
    kn_arena arena;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status s = prepare(&u, steps, &arena);
    if (s == KILN_OK) s = run_steps(&u);
    if (u.r && (s == KILN_OK || s == KILN_NUMERIC)) {
        kiln_status closed = kn_result_close(ctx, u.r, &g->recording);
        if (s == KILN_OK) s = closed;
        if (closed == KILN_OK) *out = u.r, u.r = NULL;
    }
    kiln_graph_result_release(u.r);
    kn_arena_fini(&arena);
    return s;
}
