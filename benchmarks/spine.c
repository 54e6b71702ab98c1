/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "spine": calls, compile times, one step and the run loop of three coupled graphs, and one fused loop over
 * vector functions. */
#include "spine.h"

#include "limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void spine_kiln_failed(bench *b, const kiln_ctx *ctx, const char *what)
{
    char text[2048];
    kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
    bench_fail(b, "%s: %s", what, text);
}

kiln_graph *spine_graph(bench *b, kiln_ctx *ctx, const char *name)
{
    char path[4096];
    kiln_graph *g = NULL;
    if (kiln_graph_load(ctx, bench_path(b, name, path), NULL, &g) != KILN_OK) spine_kiln_failed(b, ctx, name);
    return g;
}

/* ---- calls ---- */

typedef struct calling {
    kiln_ctx *ctx;
    kiln_exec *f;
    kiln_entry entry;
    const struct kiln_table *table;
    void *buffers[2], *scratch;
    kiln_array *in, *out;
    kiln_call frame;
    float x, y;
    bool ok;
} calling;

static void raw_calls(void *user, uint64_t n)
{
    calling *c = user;
    for (uint64_t i = 0; i < n; i++) c->ok = c->entry(c->buffers, c->scratch, c->table, &c->frame) == 0 && c->ok;
}

static void limit_calls(void *user, uint64_t n)
{
    calling *c = user;
    int (*volatile entry)(void *const *, void *, const void *, void *) =
        limit_identity; /* called through a pointer, as the other side */
    for (uint64_t i = 0; i < n; i++) c->ok = entry(c->buffers, c->scratch, c->table, &c->frame) == 0 && c->ok;
}

static void checked_calls(void *user, uint64_t n)
{
    calling *c = user;
    for (uint64_t i = 0; i < n; i++) c->ok = kiln_exec_call_into(c->ctx, c->f, &c->in, &c->out) == KILN_OK && c->ok;
}

static kiln_exec *compile_identity(bench *b, kiln_ctx *ctx)
{
    kiln_trace *t;
    kiln_prog *p = NULL;
    kiln_exec *f = NULL;
    kiln_status s = kiln_trace_begin(ctx, &t);
    if (s == KILN_OK) {
        kiln_output(t, "y", kiln_input(t, "x", KILN_SCALAR(KILN_F32)));
        s = kiln_trace_finish(t, &p);
    }
    if (s == KILN_OK) s = kiln_compile(ctx, p, NULL, &f);
    if (s != KILN_OK) spine_kiln_failed(b, ctx, "the identity");
    kiln_prog_release(p);
    return f;
}

static void time_calls(bench *b, calling *c)
{
    c->entry = kiln_exec_entry(c->f);
    c->table = kiln_exec_table(c->f);
    c->buffers[0] = &c->x;
    c->buffers[1] = &c->y;
    c->x = 1.25f;
    raw_calls(c, 1);
    if (!bench_same_bits(b, "raw entry, identity of a scalar", "kiln", &c->y, "its argument", &c->x, sizeof c->x,
                         sizeof c->x))
        return;
    *(float *)kiln_array_data(c->in) = -2.5f;
    checked_calls(c, 1);
    if (!bench_same_bits(b, "checked call, identity of a scalar", "kiln", kiln_array_read(c->out), "its argument",
                         kiln_array_read(c->in), sizeof c->x, sizeof c->x))
        return;
    bench_time(b,
               &(bench_pair){.row = "raw entry, identity of a scalar",
                             .a = BENCH_LOOP("kiln", raw_calls, c),
                             .b = BENCH_LOOP("C", limit_calls, c),
                             .target = {BENCH_TIME_AT_MOST, 20e-9}},
               NULL);
    bench_time(b,
               &(bench_pair){.row = "checked call, identity of a scalar",
                             .a = BENCH_LOOP("kiln", checked_calls, c),
                             .b = BENCH_LOOP("raw", raw_calls, c),
                             .target = {BENCH_TIME_AT_MOST, 100e-9}},
               NULL);
    if (!c->ok) bench_fail(b, "a call returned a failure");
}

static void calls(bench *b)
{
    calling c = {.ok = true};
    if (kiln_ctx_create(NULL, &c.ctx) != KILN_OK) {
        bench_fail(b, "no context");
        return;
    }
    c.f = compile_identity(b, c.ctx);
    if (c.f && (kiln_array_create(c.ctx, KILN_SCALAR(KILN_F32), &c.in) != KILN_OK ||
                kiln_array_create(c.ctx, KILN_SCALAR(KILN_F32), &c.out) != KILN_OK ||
                (kiln_exec_scratch_bytes(c.f) > 0 &&
                 !(c.scratch = aligned_alloc(64, (kiln_exec_scratch_bytes(c.f) + 63) / 64 * 64)))))
        spine_kiln_failed(b, c.ctx, "the arguments");
    else if (c.f) time_calls(b, &c);
    free(c.scratch);
    kiln_array_release(c.in);
    kiln_array_release(c.out);
    kiln_exec_release(c.f);
    kiln_ctx_release(c.ctx);
}

/* ---- compile times ---- */

enum { PHASES = 5, MOST_COMPILES = 400 };

typedef struct compiling {
    bench *b;
    kiln_ctx *ctx;
    const kiln_prog *p;
    size_t n;
    double phase[PHASES][MOST_COMPILES]; /* ms */
    kiln_exec_info info;
} compiling;

static bool compile_some(void *user, uint64_t n, kn_taken *t)
{
    compiling *c = user;
    for (uint64_t i = 0; i < n; i++) {
        kiln_exec *f;
        kn_taken begin = kn_taken_begin();
        if (kiln_compile(c->ctx, c->p, NULL, &f) != KILN_OK) {
            spine_kiln_failed(c->b, c->ctx, "compile");
            return false;
        }
        kn_taken one = kn_taken_end(begin);
        t->wall += one.wall, t->processor += one.processor;
        kiln_exec_info_get(f, &c->info);
        const double ms[PHASES] = {c->info.lower_ms, c->info.optimise_ms, c->info.loops_ms, c->info.emit_ms,
                                   c->info.load_ms};
        for (int k = 0; k < PHASES && c->n < MOST_COMPILES; k++) c->phase[k][c->n] = ms[k];
        c->n += c->n < MOST_COMPILES;
        kiln_exec_release(f);
    }
    return true;
}

/* One compile before the samples: it also loads the code generator. */
static void time_compile(bench *b, compiling *c, const char *row, double target, double trace_s)
{
    static const char *const names[PHASES] = {"lower_ms", "optimise_ms", "loops_ms", "emit_ms", "load_ms"};
    kn_taken once = {0}, rest = {0};
    if (!compile_some(c, 1, &once)) return;
    double first = once.wall;
    c->n = 0;
    if (!compile_some(c, 15, &rest)) return; /* for the phases */
    json_t *more =
        json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:i}", "trace_s", trace_s, "first_compile_s", first, "equations",
                  (json_int_t)c->info.equations, "lowered_ops", (json_int_t)c->info.lowered_ops, "nests",
                  (json_int_t)c->info.nests, "code_bytes", (json_int_t)c->info.code_bytes, "tier", c->info.tier);
    char note[256], t[32], f[32];
    int at = snprintf(note, sizeof note, "trace %s, first compile %s; medians:", kn_seconds_text(trace_s, t),
                      kn_seconds_text(first, f));
    for (int k = 0; k < PHASES; k++) {
        double ms = kn_spread_of(c->phase[k], c->n).median;
        json_object_set_new(more, names[k], json_real(ms));
        at += snprintf(note + at, sizeof note - (size_t)at, " %.*s %s", (int)strcspn(names[k], "_"), names[k],
                       kn_seconds_text(ms * 1e-3, t));
    }
    bench_time(b,
               &(bench_pair){.row = row,
                             .note = note,
                             .a = {.name = "kiln", .sample = compile_some, .user = c, .calls = 1},
                             .unit = "compile",
                             .target = {BENCH_TIME_AT_MOST, target},
                             .more = more},
               NULL);
}

static void compile_graph(bench *b, const char *name, const char *row, double target)
{
    compiling *c = calloc(1, sizeof *c);
    kiln_prog *p = NULL;
    if (!c || kiln_ctx_create(NULL, &c->ctx) != KILN_OK) {
        bench_fail(b, "no context");
        free(c);
        return;
    }
    kiln_graph *g = spine_graph(b, c->ctx, name);
    double start = bench_now();
    if (g && kiln_graph_program(c->ctx, g, false, &p) != KILN_OK) spine_kiln_failed(b, c->ctx, name);
    c->b = b;
    c->p = p;
    if (p) time_compile(b, c, row, target, bench_now() - start);
    kiln_prog_release(p);
    kiln_graph_release(g);
    kiln_ctx_release(c->ctx);
    free(c);
}

static void compile_pair(bench *b)
{
    compile_graph(b, "../examples/graphs/pair.yaml", "compile of the coupled pair's step", 20e-3);
}
static void compile_rods(bench *b)
{
    compile_graph(b, "../examples/graphs/rods.yaml", "compile of the coupled rods' step", 40e-3);
}

/* ---- sin(x) exp(-x) ---- */

enum { N_SIN_EXP = 1000000 };

typedef struct sin_exp_data {
    kiln_exec *f;
    void *buffers[2], *scratch;
    float *x, *mine, *limit;
    bool ok;
} sin_exp_data;

static void sin_exp_kiln(void *user, uint64_t n)
{
    sin_exp_data *d = user;
    for (uint64_t i = 0; i < n; i++)
        d->ok = kiln_exec_run(d->f, d->buffers, d->scratch, &(kiln_call){0}) == 0 && d->ok;
}

static void sin_exp_limit(void *user, uint64_t n)
{
    sin_exp_data *d = user;
    for (uint64_t i = 0; i < n; i++) limit_sin_exp(d->x, d->limit, N_SIN_EXP);
}

static kiln_exec *compile_sin_exp(bench *b, kiln_ctx *ctx)
{
    const int64_t n = N_SIN_EXP;
    kiln_trace *t;
    kiln_prog *p = NULL;
    kiln_exec *f = NULL;
    kiln_status s = kiln_trace_begin(ctx, &t);
    if (s == KILN_OK) {
        kiln_val x = kiln_input(t, "x", ((kiln_type){KILN_F32, 1, &n}));
        kiln_output(t, "y", kiln_mul(t, kiln_sin(t, x), kiln_exp(t, kiln_neg(t, x))));
        s = kiln_trace_finish(t, &p);
    }
    if (s == KILN_OK) s = kiln_compile(ctx, p, NULL, &f);
    if (s != KILN_OK) spine_kiln_failed(b, ctx, "sin(x)*exp(-x)");
    kiln_prog_release(p);
    return f;
}

static float *floats(size_t n) { return aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64); }

static void time_sin_exp(bench *b, sin_exp_data *d)
{
    for (int i = 0; i < N_SIN_EXP; i++) d->x[i] = (float)(-10 + i * 2e-5);
    memset(d->mine, 0, N_SIN_EXP * sizeof *d->mine);
    memset(d->limit, 0, N_SIN_EXP * sizeof *d->limit);
    d->buffers[0] = d->x;
    d->buffers[1] = d->mine;
    sin_exp_kiln(d, 1);
    sin_exp_limit(d, 1);
    if (!bench_same_bits(b, "sin(x)*exp(-x)", "kiln", d->mine, "C", d->limit, N_SIN_EXP * sizeof *d->mine,
                         sizeof *d->mine))
        return;
    bench_time(b,
               &(bench_pair){.row = "sin(x)*exp(-x) over 10^6 f32",
                             .a = BENCH_LOOP("kiln", sin_exp_kiln, d),
                             .b = BENCH_LOOP("C", sin_exp_limit, d),
                             .target = {BENCH_RATIO_AT_LEAST, 1 / 1.25}},
               NULL);
    if (!d->ok) bench_fail(b, "a call returned a failure");
}

static void sin_exp(bench *b)
{
    sin_exp_data d = {.ok = true, .x = floats(N_SIN_EXP), .mine = floats(N_SIN_EXP), .limit = floats(N_SIN_EXP)};
    kiln_ctx *ctx = NULL;
    if (!d.x || !d.mine || !d.limit || kiln_ctx_create(NULL, &ctx) != KILN_OK) bench_fail(b, "no memory");
    else if ((d.f = compile_sin_exp(b, ctx)) != NULL) {
        d.scratch = aligned_alloc(64, kiln_exec_scratch_bytes(d.f) / 64 * 64 + 64);
        if (d.scratch) time_sin_exp(b, &d);
        else bench_fail(b, "no memory");
    }
    free(d.scratch);
    kiln_exec_release(d.f);
    kiln_ctx_release(ctx);
    free(d.x);
    free(d.mine);
    free(d.limit);
}

static const bench_case cases[] = {
    {"calls", "a call of the identity of a scalar: raw entry and checked", calls},
    {"compile-pair", "compile of one step of the coupled spring pair, by phase", compile_pair},
    {"compile-rods", "compile of one step of two coupled rods, by phase", compile_rods},
    {"sin-exp", "sin(x)*exp(-x) over 10^6 f32 against a loop of vector functions", sin_exp},
    {"spring-body", "a body on a spring: one step call, and the run loop against C and MADDENING", spine_spring_body},
    {"rods", "two rods coupled with Aitken's method: one step call, and the run loop against C and MADDENING",
     spine_rods},
    {"mixed", "twenty-five nodes of all kinds, three clocks and two groups: one step call and the run loop against MADDENING",
     spine_mixed},
};

int main(int argc, char **argv) { return bench_main(argc, argv, "spine", cases, sizeof cases / sizeof *cases); }
