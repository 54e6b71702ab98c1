/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const kn_diag kn_record_diag[KN_N_RECORDS] = {KN_DIAG_ITERATIONS, KN_DIAG_RESIDUAL, KN_DIAG_ESTIMATE, KN_DIAG_CONVERGED};

double kn_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- tables ---- */

kiln_status kn_recording_tables(kiln_ctx *ctx, const kn_plan *p, kn_recording *r)
{
    KILN_TRY_MEM(ctx, r->tables = KN_NEWN(p->arena, kn_table, r->n_slots));
    for (uint32_t i = 0; i < r->n_slots; i++) {
        const kn_slot *s = &p->slots[r->slots[i]];
        kn_table *t = r->tables, *end = r->tables + r->n_tables;
        while (t < end && (s->type.rank || kn_table_is_array(p, r, t) || t->row.dtype != s->type.dtype)) t++;
        if (t == end) {
            KILN_TRY_MEM(ctx, t->fields = KN_NEWN(p->arena, uint32_t, s->type.rank ? 1 : r->n_slots));
            t->name = s->type.rank ? s->name : kiln_dtype_name(s->type.dtype);
            t->row = s->type;
            r->n_tables++;
        }
        t->fields[t->n++] = i;
    }
    for (uint32_t i = 0; i < r->n_tables; i++) {
        kn_table *t = &r->tables[i];
        if (kn_table_is_array(p, r, t)) continue;
        int64_t *n = KN_NEW(p->arena, int64_t);
        KILN_TRY_MEM(ctx, n);
        *n = t->n;
        t->row = (kiln_type){t->row.dtype, 1, n};
    }
    return KILN_OK;
}

/* ---- tracing ---- */

kn_run_places kn_run_places_of(const kn_plan *p, const kn_settings *s, const kn_recording *r)
{
    kn_run_places at = {0};
    uint32_t state = p->n_slots + p->n_hidden, tables = r->rows ? r->n_tables : 0, records = p->g->n_groups * KN_N_RECORDS;
    at.in_step = state;
    at.in_stop = at.in_step + 1, at.in_next = at.in_stop + 1, at.in_every = at.in_next + 1, at.in_history = at.in_every + 1;
    at.in_records = at.in_history + tables;
    at.in_settings = at.in_records + records;
    at.n_in = at.in_settings + s->n;
    at.out_step = state, at.out_row = state + 1, at.out_history = state + 2;
    at.out_records = at.out_history + tables;
    at.n_out = at.out_records + records;
    return at;
}

static kiln_type row_type(kn_stepping *c, kiln_type t, int64_t rows)
{
    int64_t *dims = KN_STEP_ARRAY(c, int64_t, (size_t)t.rank + 1);
    if (!dims) return (kiln_type){t.dtype, 0, NULL};
    dims[0] = rows;
    if (t.rank) memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
    return (kiln_type){t.dtype, t.rank + 1, dims};
}

static void state_inputs(kn_stepping *c, kiln_val *slots, kiln_val *hidden)
{
    for (uint32_t i = 0; i < c->p->n_slots; i++) slots[i] = kiln_input(c->t, c->p->slots[i].name, c->p->slots[i].type);
    for (uint32_t i = 0; i < c->p->n_hidden; i++) hidden[i] = kiln_input(c->t, c->p->hidden[i].name, KILN_SCALAR(c->p->hidden[i].dtype));
}

static void setting_inputs(kn_stepping *c, kiln_val *settings)
{
    for (uint32_t i = 0; i < c->s->n; i++) settings[i] = kiln_input(c->t, c->s->v[i].name, c->s->v[i].type);
}

static void state_outputs(kn_stepping *c, const kiln_val *slots, const kiln_val *hidden)
{
    for (uint32_t i = 0; i < c->p->n_slots; i++) kiln_output(c->t, c->p->slots[i].name, slots[i]);
    for (uint32_t i = 0; i < c->p->n_hidden; i++) kiln_output(c->t, c->p->hidden[i].name, hidden[i]);
}

static void named_output(kn_stepping *c, const char *what, const char *name, kiln_val v)
{
    char text[300];
    snprintf(text, sizeof text, "%s%.200s", what, name);
    kiln_output(c->t, text, v);
}

static void diag_outputs(kn_stepping *c)
{
    for (uint32_t g = 0; g < c->p->g->n_groups; g++)
        for (int d = 0; d < KN_N_DIAG; d++) {
            char name[300];
            snprintf(name, sizeof name, "%.200s.%s", c->p->groups[g].key, kn_diag_names[d]);
            named_output(c, "coupling:", name, c->diag[g * KN_N_DIAG + (uint32_t)d]);
        }
}

/* step and seed */
static void trace_once(kn_stepping *c, bool seed, kiln_val *slots, kiln_val *hidden, kiln_val *settings)
{
    state_inputs(c, slots, hidden);
    c->step = kiln_input(c->t, "step", KILN_SCALAR(KILN_I64));
    setting_inputs(c, settings);
    if (!kiln_trace_ok(c->t)) return;
    if (seed) {
        kn_seed_trace(c);
        /* held diagnostics begin as nothing */
        for (uint32_t i = 0; i < c->p->n_hidden && kiln_trace_ok(c->t); i++)
            kiln_output(c->t, c->p->hidden[i].name, c->p->hidden[i].flux >= 0 ? c->hidden_next[i] : hidden[i]);
    } else {
        kn_step_trace(c);
        if (!kiln_trace_ok(c->t)) return;
        state_outputs(c, c->now, c->hidden_next);
        diag_outputs(c);
    }
}

/* ---- the loop over base steps ---- */

typedef struct running {
    kn_stepping *c;
    const kn_recording *r;
    kiln_val first, stop, every;
    /* places in the carry */
    uint32_t at_step, at_next, at_row, at_halt, at_history, at_records, n;
    uint32_t tables, records;
} running;

static kiln_val run_goes_on(kiln_trace *t, void *user, const kiln_val *carry)
{
    running *r = user;
    kiln_val go = kiln_lt(t, carry[r->at_step], r->stop);
    if (r->tables) go = kiln_and(t, go, kiln_lt(t, carry[r->at_row], kiln_int(t, KILN_I64, r->r->rows)));
    if (r->records)
        go = kiln_and(t, go, kiln_lt(t, kiln_sub(t, carry[r->at_step], r->first), kiln_int(t, KILN_I64, r->r->steps)));
    if (r->at_halt) go = kiln_and(t, go, kiln_not(t, carry[r->at_halt]));
    return go;
}

/* `v` as row `at` of `table`. */
static kiln_val put_row(kn_stepping *c, kiln_val table, kiln_val at, kiln_val v)
{
    kiln_trace *t = c->t;
    kiln_type one = row_type(c, kiln_val_type(t, v), 1);
    kiln_val start[KN_MAX_RANK + 1];
    start[0] = at;
    for (uint32_t i = 1; i <= KN_MAX_RANK; i++) start[i] = kiln_int(t, KILN_I64, 0);
    return kiln_dynamic_update_slice(t, table, kiln_reshape(t, v, one.rank, one.dims), start);
}

/* The values of a table after this step. */
static kiln_val table_row(kn_stepping *c, const kn_recording *r, const kn_table *table)
{
    static const int64_t one = 1;
    if (kn_table_is_array(c->p, r, table)) return c->now[r->slots[table->fields[0]]];
    kiln_val *parts = KN_STEP_ARRAY(c, kiln_val, table->n);
    if (!parts) return (kiln_val){0};
    for (uint32_t i = 0; i < table->n; i++) parts[i] = kiln_reshape(c->t, c->now[r->slots[table->fields[i]]], 1, &one);
    return kiln_concatenate(c->t, parts, table->n, 0);
}

static void run_body(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    running *r = user;
    kn_stepping c = *r->c;
    const kn_plan *p = c.p;
    c.old = carry;
    c.hidden = carry + p->n_slots;
    c.step = carry[r->at_step];
    kn_step_trace(&c);
    if (!kiln_trace_ok(t)) return;
    memcpy(next, c.now, p->n_slots * sizeof *next);
    memcpy(next + p->n_slots, c.hidden_next, p->n_hidden * sizeof *next);
    kiln_scope_push(t, "record");
    next[r->at_step] = kiln_add(t, c.step, kiln_int(t, KILN_I64, 1));
    if (r->tables) {
        kiln_val kept = kiln_eq(t, next[r->at_step], carry[r->at_next]);
        next[r->at_next] = kiln_select(t, kept, kiln_add(t, carry[r->at_next], r->every), carry[r->at_next]);
        next[r->at_row] = kiln_add(t, carry[r->at_row], kiln_convert(t, kept, KILN_I64));
        for (uint32_t i = 0; i < r->tables; i++)
            next[r->at_history + i] = put_row(&c, carry[r->at_history + i], carry[r->at_row], table_row(&c, r->r, &r->r->tables[i]));
    }
    kiln_val done = r->records ? kiln_sub(t, c.step, r->first) : (kiln_val){0}, halt = {0};
    for (uint32_t g = 0; g < p->g->n_groups; g++) {
        for (uint32_t k = 0; k < KN_N_RECORDS; k++) {
            uint32_t at = r->at_records + g * KN_N_RECORDS + k;
            next[at] = put_row(&c, carry[at], done, c.diag[g * KN_N_DIAG + kn_record_diag[k]]);
        }
        if (!p->groups[g].strict) continue;
        kiln_val failed = kiln_not(t, c.diag[g * KN_N_DIAG + KN_DIAG_CONVERGED]);
        halt = halt.id ? kiln_or(t, halt, failed) : failed;
    }
    if (r->at_halt) next[r->at_halt] = halt;
    kiln_scope_pop(t);
}

static void place_carry(running *r)
{
    const kn_plan *p = r->c->p;
    uint32_t n = p->n_slots + p->n_hidden;
    bool strict = false;
    for (uint32_t g = 0; g < p->g->n_groups; g++) strict = strict || p->groups[g].strict;
    r->tables = r->r->rows ? r->r->n_tables : 0;
    r->records = p->g->n_groups * KN_N_RECORDS;
    r->at_step = n++;
    if (r->tables) r->at_next = n++, r->at_row = n++;
    if (strict) r->at_halt = n++;
    r->at_history = n, n += r->tables;
    r->at_records = n, n += r->records;
    r->n = n;
}

static void trace_run(kn_stepping *c, const kn_recording *recording, kiln_val *settings)
{
    const kn_plan *p = c->p;
    running r = {.c = c, .r = recording};
    place_carry(&r);
    kiln_val *init = KN_STEP_ARRAY(c, kiln_val, r.n), *out = KN_STEP_ARRAY(c, kiln_val, r.n);
    if (!init || !out) return;
    state_inputs(c, init, init + p->n_slots);
    r.first = init[r.at_step] = kiln_input(c->t, "step", KILN_SCALAR(KILN_I64));
    r.stop = kiln_input(c->t, "stop", KILN_SCALAR(KILN_I64));
    kiln_val next = kiln_input(c->t, "next", KILN_SCALAR(KILN_I64)), zero = kiln_int(c->t, KILN_I64, 0);
    r.every = kiln_input(c->t, "every", KILN_SCALAR(KILN_I64));
    if (r.tables) init[r.at_next] = next, init[r.at_row] = zero;
    if (r.at_halt) init[r.at_halt] = kiln_scalar(c->t, KILN_BOOL, 0);
    char name[300];
    for (uint32_t i = 0; i < r.tables; i++) {
        snprintf(name, sizeof name, "history:%.200s", recording->tables[i].name);
        init[r.at_history + i] = kiln_input(c->t, name, row_type(c, recording->tables[i].row, recording->rows));
    }
    for (uint32_t i = 0; i < r.records; i++) {
        kn_diag d = kn_record_diag[i % KN_N_RECORDS];
        snprintf(name, sizeof name, "record:%.200s.%s", p->groups[i / KN_N_RECORDS].key, kn_diag_names[d]);
        init[r.at_records + i] = kiln_input(c->t, name, row_type(c, KILN_SCALAR(kn_diag_dtype(d)), recording->steps));
    }
    setting_inputs(c, settings);
    if (!kiln_trace_ok(c->t)) return;
    kiln_while(c->t, run_goes_on, run_body, &r, init, r.n, out);
    state_outputs(c, out, out + p->n_slots);
    kiln_output(c->t, "step", out[r.at_step]);
    kiln_output(c->t, "row", r.tables ? out[r.at_row] : zero);
    for (uint32_t i = 0; i < r.tables; i++) named_output(c, "history:", recording->tables[i].name, out[r.at_history + i]);
    for (uint32_t i = 0; i < r.records; i++) {
        snprintf(name, sizeof name, "%.200s.%s", p->groups[i / KN_N_RECORDS].key, kn_diag_names[kn_record_diag[i % KN_N_RECORDS]]);
        named_output(c, "record:", name, out[r.at_records + i]);
    }
}

kiln_status kn_program_trace(kiln_ctx *ctx, const kn_plan *p, const kn_settings *s, kn_program_kind kind, const kn_recording *recording,
                             kiln_prog **out)
{
    kiln_trace *t;
    KILN_TRY(kiln_trace_begin(ctx, &t));
    kn_arena arena;
    kn_arena_init(&arena, &ctx->alloc);
    kn_stepping c = {.ctx = ctx, .t = t, .arena = &arena, .p = p, .s = s};
    kiln_val *slots = KN_STEP_ARRAY(&c, kiln_val, p->n_slots), *hidden = KN_STEP_ARRAY(&c, kiln_val, p->n_hidden);
    kiln_val *settings = KN_STEP_ARRAY(&c, kiln_val, s->n);
    c.old = slots, c.hidden = hidden, c.settings = settings;
    if (kiln_trace_ok(t)) {
        if (kind == KN_PROGRAM_RUN) trace_run(&c, recording, settings);
        else trace_once(&c, kind == KN_PROGRAM_SEED, slots, hidden, settings);
    }
    kiln_status status = kiln_trace_finish(t, out);
    kn_arena_fini(&arena);
    return status;
}

/* ---- compiling and calling ---- */

kiln_status kn_program_make(kiln_ctx *ctx, kiln_prog *prog, const kn_program_opts *opts, kn_program *out)
{
    *out = (kn_program){.prog = prog, .alloc = ctx->alloc, .n_in = kiln_prog_n_inputs(prog), .n_out = kiln_prog_n_outputs(prog)};
    kiln_status status = KILN_OK;
    if (!(out->buffers = kn_new(&ctx->alloc, (out->n_in + (size_t)out->n_out) * sizeof *out->buffers))) status = kn_nomem(ctx);
    if (status == KILN_OK && !opts->interpret) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        bool *donated = kn_new(&ctx->alloc, out->n_in);
        for (uint32_t i = 0; donated && i < out->n_in; i++)
            donated[i] = i < opts->n_donated || (i >= opts->donated_from && i < opts->donated_to);
        o.label = opts->label, o.ticks = opts->ticks, o.donated = donated;
        if (opts->often && ctx->tier < 0) o.tier = 2;
        double start = kn_seconds();
        status = donated ? kiln_compile(ctx, prog, &o, &out->exec) : kn_nomem(ctx);
        out->compile_ms = (kn_seconds() - start) * 1e3;
        if (donated) kn_free(&ctx->alloc, donated, out->n_in);
        if (status == KILN_OK) {
            out->scratch_bytes = kiln_exec_scratch_bytes(out->exec);
            if (out->scratch_bytes && !(out->scratch = kn_new_aligned(&ctx->alloc, out->scratch_bytes, 64))) status = kn_nomem(ctx);
        }
    }
    if (status != KILN_OK) kn_program_free(out);
    return status;
}

void kn_program_free(kn_program *p)
{
    if (p->scratch) kn_free_aligned(&p->alloc, p->scratch, p->scratch_bytes, 64);
    if (p->buffers) kn_free(&p->alloc, p->buffers, (p->n_in + (size_t)p->n_out) * sizeof *p->buffers);
    kiln_exec_release(p->exec);
    kiln_prog_release(p->prog);
    *p = (kn_program){0};
}

/* The interpreter wants arrays: buffers are wrapped, results copied. */
static kiln_status interpret(kiln_ctx *ctx, kn_program *p)
{
    kiln_array **in = kn_new(&ctx->alloc, (p->n_in + (size_t)p->n_out) * sizeof *in), **out;
    KILN_TRY_MEM(ctx, in);
    out = in + p->n_in;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < p->n_in && status == KILN_OK; i++)
        status = kiln_array_wrap(ctx, kiln_prog_input_type(p->prog, i), p->buffers[i], NULL, NULL, &in[i]);
    if (status == KILN_OK) status = kiln_prog_eval(ctx, p->prog, in, out);
    /* a result may be another input as it stands, whose memory is about to be written */
    for (uint32_t i = 0; i < p->n_out && status == KILN_OK; i++)
        for (uint32_t k = 0; k < p->n_in && status == KILN_OK; k++)
            if (kiln_array_data(out[i]) == p->buffers[k] && p->buffers[p->n_in + i] != p->buffers[k]) {
                kiln_array *own;
                if ((status = kiln_array_create(ctx, kiln_array_type(out[i]), &own)) != KILN_OK) break;
                memcpy(kiln_array_data(own), kiln_array_read(out[i]), kiln_array_bytes(own));
                kiln_array_release(out[i]);
                out[i] = own;
            }
    for (uint32_t i = 0; i < p->n_out && status == KILN_OK; i++) {
        void *to = p->buffers[p->n_in + i];
        if (to != kiln_array_data(out[i])) memcpy(to, kiln_array_read(out[i]), kiln_array_bytes(out[i]));
    }
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++) kiln_array_release(in[i]);
    kn_free(&ctx->alloc, in, (p->n_in + (size_t)p->n_out) * sizeof *in);
    return status;
}

kiln_status kn_program_call(kiln_ctx *ctx, kn_program *p, uint64_t *ticks)
{
    if (!p->exec) return interpret(ctx, p);
    kiln_call call = {.ticks = ticks};
    int status = kiln_exec_run(p->exec, p->buffers, p->scratch, &call);
    return status == KILN_OK ? KILN_OK : kn_fail(ctx, (kiln_status)status, "the program stopped: %s", kiln_status_name((kiln_status)status));
}
