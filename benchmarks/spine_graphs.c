/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled graphs: kiln against hand-written C, bit for bit, where there is one, and against MADDENING, which rounds differently: all
 * are held to a trajectory in double precision that none of them made (reference/). */
#include "spine.h"

#include "limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG_RUN = 100000,
    SHORT_RUN = 1000,
    CALL_STEPS = 300,    /* of one sample of step calls, on both sides from the start: coupled steps differ in cost */
    CHECK_STEPS = 20000, /* kiln and C, bit for bit */
    PEER_SECONDS = 6,
};
static const double f32_tolerance = 2e-5; /* two f32 codes and the double result, after the reference's steps */

/* One field of a limit's state. */
typedef struct limit_field {
    const char *name;
    size_t offset, count;
} limit_field;

typedef struct graph_case {
    const char *name, *file, *reference;
    bool decays; /* the long run ends in subnormal numbers: a row more, which makes zeros of them as JAX does */
    double short_run; /* how many times as fast as run_scan the short run is to be */
    /* hand-written C; run NULL: none */
    const limit_field *fields;
    size_t n_fields;
    void (*start)(void *state);
    void (*run)(void *state, uint64_t steps);
    int64_t (*passes)(const void *state); /* of the coupling so far; NULL: none */
    /* a second loop that uses more than the graph says, for information */
    const char *shortcut;
    void (*run_shortcut)(void *state, uint64_t steps);
} graph_case;

typedef struct graph_bench {
    bench *b;
    const graph_case *c;
    kiln_ctx *ctx;
    kiln_graph *g;
    bench_peer *peer;
    int64_t loop_steps; /* of one run */
    int64_t passes;     /* of kiln's last run */
    bool ok;
    union {
        limit_spring_body spring_body;
        limit_rods rods;
    } state;
} graph_bench;

/* ---- kiln ---- */

static void kiln_reset(void *user)
{
    graph_bench *s = user;
    s->ok = kiln_graph_reset(s->ctx, s->g) == KILN_OK && s->ok;
}

static void kiln_steps(graph_bench *s, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) s->ok = kiln_graph_step(s->ctx, s->g) == KILN_OK && s->ok;
}

/* Some rounds of the first steps: one alone is short for the clock. */
static bool kiln_step_calls(void *user, uint64_t n, kn_taken *t)
{
    graph_bench *s = user;
    for (uint64_t i = 0; i < n / CALL_STEPS; i++) {
        kiln_reset(s);
        kn_taken begin = kn_taken_begin();
        kiln_steps(s, CALL_STEPS);
        kn_taken one = kn_taken_end(begin);
        t->wall += one.wall, t->processor += one.processor;
    }
    return s->ok;
}

static bool kiln_run(graph_bench *s, int64_t steps)
{
    kiln_graph_run_opts opts = KILN_GRAPH_RUN_OPTS_INIT;
    kiln_graph_result *r = NULL;
    opts.steps = steps;
    opts.no_record = true;
    bool ok = kiln_graph_run(s->ctx, s->g, &opts, &r) == KILN_OK;
    s->passes = 0;
    for (uint32_t i = 0; ok && i < kiln_graph_result_n_groups(r); i++)
        s->passes += kiln_graph_result_group(r, i).total_iterations;
    kiln_graph_result_release(r);
    return ok;
}

static void kiln_loop(void *user, uint64_t n)
{
    graph_bench *s = user;
    for (uint64_t i = 0; i < n; i++) s->ok = kiln_run(s, s->loop_steps) && s->ok;
}

/* ---- C ---- */

static void limit_reset(void *user)
{
    graph_bench *s = user;
    s->c->start(&s->state);
}

static void limit_loop(void *user, uint64_t n)
{
    graph_bench *s = user;
    for (uint64_t i = 0; i < n; i++) s->c->run(&s->state, (uint64_t)s->loop_steps);
}

static void shortcut_loop(void *user, uint64_t n)
{
    graph_bench *s = user;
    for (uint64_t i = 0; i < n; i++) s->c->run_shortcut(&s->state, (uint64_t)s->loop_steps);
}

/* ---- values ---- */

/* kiln's state and the limit's, every field. */
static bool same_state(graph_bench *s, const char *what, const char *limit)
{
    bool same = true;
    for (size_t i = 0; i < s->c->n_fields; i++) {
        const limit_field *f = &s->c->fields[i];
        kiln_array *a = NULL;
        char label[160];
        snprintf(label, sizeof label, "%s, %s", what, f->name);
        if (kiln_graph_get(s->ctx, s->g, f->name, &a) != KILN_OK) {
            spine_kiln_failed(s->b, s->ctx, f->name);
            return false;
        }
        if (kiln_array_bytes(a) != f->count * sizeof(float)) {
            bench_fail(s->b, "%s: kiln has %zu bytes, C has %zu", label, kiln_array_bytes(a),
                       f->count * sizeof(float));
            same = false;
        } else {
            same = bench_same_bits(s->b, label, "kiln", kiln_array_read(a), limit,
                                   (const char *)&s->state + f->offset, kiln_array_bytes(a), sizeof(float)) &&
                   same;
        }
        kiln_array_release(a);
    }
    return same;
}

static bool same_passes(graph_bench *s, const char *limit)
{
    if (!s->c->passes || s->passes == s->c->passes(&s->state)) return true;
    bench_fail(s->b, "passes of the coupling: kiln made %lld, %s made %lld", (long long)s->passes, limit,
               (long long)s->c->passes(&s->state));
    return false;
}

/* Numbers of a JSON list into doubles; the count, or 0 when there is no such list of at most `most`. */
static size_t numbers(const json_t *list, double *out, size_t most)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && n <= most; i++) out[i] = json_number_value(json_array_get(list, i));
    return n <= most ? n : 0;
}

/* Every field of the reference against the same field of `got`. */
static bool near_reference(graph_bench *s, const json_t *reference, const char *who, const json_t *got)
{
    const char *name;
    json_t *want;
    bool near = true;
    json_object_foreach(json_object_get(reference, "fields"), name, want)
    {
        double a[256], v[256];
        char label[160];
        size_t n = numbers(want, v, 256), m = numbers(json_object_get(got, name), a, 256);
        snprintf(label, sizeof label, "after %d steps, %s",
                 (int)json_integer_value(json_object_get(reference, "steps")), name);
        if (n == 0 || n != m) {
            bench_fail(s->b, "%s: %s has %zu values, the reference %zu", label, who, m, n);
            return false;
        }
        near = bench_near(s->b, label, who, a, "the reference in double", v, n, f32_tolerance) && near;
    }
    return near;
}

static json_t *limit_fields(const graph_bench *s)
{
    json_t *all = json_object();
    for (size_t i = 0; i < s->c->n_fields; i++) {
        const float *v = (const float *)((const char *)&s->state + s->c->fields[i].offset);
        json_t *list = json_array();
        for (size_t k = 0; k < s->c->fields[i].count; k++) json_array_append_new(list, json_real((double)v[k]));
        json_object_set_new(all, s->c->fields[i].name, list);
    }
    return all;
}

/* NULL after a failure. */
static json_t *kiln_fields(graph_bench *s)
{
    json_t *all = json_object();
    for (uint32_t i = 0; i < kiln_graph_n_fields(s->g); i++) {
        const char *name = kiln_graph_field_name(s->g, i);
        kiln_array *a = NULL;
        if (kiln_graph_get(s->ctx, s->g, name, &a) != KILN_OK) {
            spine_kiln_failed(s->b, s->ctx, name);
            json_decref(all);
            return NULL;
        }
        json_t *list = json_array();
        size_t n = kiln_array_bytes(a) / kiln_dtype_bytes(kiln_array_type(a).dtype);
        for (size_t k = 0; k < n; k++) json_array_append_new(list, json_real(bench_number(a, k)));
        json_object_set_new(all, name, list);
        kiln_array_release(a);
    }
    return all;
}

static json_t *load_reference(graph_bench *s)
{
    char path[4096];
    json_error_t error;
    json_t *reference = json_load_file(bench_path(s->b, s->c->reference, path), 0, &error);
    if (!reference) bench_fail(s->b, "%s:%d: %s", path, error.line, error.text);
    return reference;
}

/* kiln against the reference, in one run and in steps of one call. */
static bool check_kiln(graph_bench *s, const json_t *reference)
{
    int64_t n = json_integer_value(json_object_get(reference, "steps"));
    for (int calls = 0; calls < 2; calls++) {
        kiln_reset(s);
        if (calls) kiln_steps(s, (uint64_t)n);
        else s->ok = kiln_run(s, n) && s->ok;
        json_t *fields = s->ok ? kiln_fields(s) : NULL;
        bool near = fields && near_reference(s, reference, calls ? "kiln, step calls" : "kiln, run loop", fields);
        json_decref(fields);
        if (!near) return false;
    }
    return true;
}

/* C against the reference, kiln against C: in one run, in steps of one call, in two runs. */
static bool check_limit(graph_bench *s, const json_t *reference)
{
    limit_reset(s);
    s->c->run(&s->state, (uint64_t)json_integer_value(json_object_get(reference, "steps")));
    json_t *fields = limit_fields(s);
    bool ok = near_reference(s, reference, "C", fields);
    json_decref(fields);
    limit_reset(s);
    s->c->run(&s->state, CHECK_STEPS);
    kiln_reset(s);
    ok = ok && kiln_run(s, CHECK_STEPS) && same_state(s, "run loop", "C") && same_passes(s, "C");
    limit_reset(s);
    s->c->run(&s->state, CALL_STEPS);
    kiln_reset(s);
    kiln_steps(s, CALL_STEPS);
    ok = ok && s->ok && same_state(s, "step calls", "C");
    if (s->c->run_shortcut) {
        limit_reset(s);
        s->c->run_shortcut(&s->state, CHECK_STEPS);
        kiln_reset(s);
        ok = ok && kiln_run(s, CHECK_STEPS) && same_state(s, "run loop", s->c->shortcut) &&
             same_passes(s, s->c->shortcut);
    }
    return ok;
}

static bool check_values(graph_bench *s, const json_t *reference)
{
    bool ok = check_kiln(s, reference) && (!s->c->run || check_limit(s, reference));
    if (!s->ok) spine_kiln_failed(s->b, s->ctx, s->c->name);
    return ok && s->ok;
}

/* ---- MADDENING ---- */

static json_t *ask(graph_bench *s, const char *what, const char *how, int64_t steps)
{
    char why[512];
    json_t *answer = bench_peer_ask(
        s->peer,
        json_pack("{s:s, s:s, s:s, s:I}", "do", what, "graph", s->c->name, "how", how, "steps", (json_int_t)steps),
        why, sizeof why);
    if (!answer) bench_fail(s->b, "MADDENING, %s of %s: %s", what, s->c->name, why);
    return answer;
}

static bool peer_time(graph_bench *s, const char *how, int64_t steps, kn_taken *t)
{
    json_t *answer = ask(s, "time", how, steps);
    t->wall += json_number_value(json_object_get(answer, "seconds"));
    t->processor += json_number_value(json_object_get(answer, "processor_seconds"));
    json_decref(answer);
    return answer != NULL;
}

static bool peer_steps(void *user, uint64_t n, kn_taken *t) { return peer_time(user, "step", (int64_t)n, t); }

static bool peer_loop(void *user, uint64_t n, kn_taken *t)
{
    for (uint64_t i = 0; i < n; i++)
        if (!peer_time(user, "scan", ((graph_bench *)user)->loop_steps, t)) return false;
    return true;
}

static bool peer_values(graph_bench *s, const json_t *reference)
{
    static const char *const hows[] = {"step", "scan"};
    bool near = true;
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = ask(s, "values", hows[i], json_integer_value(json_object_get(reference, "steps")));
        near = answer &&
               near_reference(s, reference, i == 0 ? "MADDENING step" : "MADDENING run_scan",
                              json_object_get(answer, "fields")) &&
               near;
        json_decref(answer);
    }
    return near;
}

static void run_against_peer(graph_bench *s, json_t *hello, const kn_side *loop, int64_t steps, const char *text, double target)
{
    char row[128];
    snprintf(row, sizeof row, "%s, run loop of %s", s->c->name, text);
    s->loop_steps = steps;
    bench_time(s->b,
               &(bench_pair){.row = row,
                             .a = *loop,
                             .b = {.name = "run_scan", .sample = peer_loop, .user = s, .calls = 1},
                             .per = (double)steps,
                             .unit = "step",
                             .seconds = PEER_SECONDS,
                             .target = {BENCH_RATIO_AT_LEAST, target},
                             .more = json_deep_copy(hello)},
               NULL);
}

static void flushed_against_peer(graph_bench *s, json_t *hello, const json_t *reference)
{
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    graph_bench f = {.b = s->b, .c = s->c, .ok = true, .loop_steps = LONG_RUN};
    kn_side loop = {.name = "kiln", .loop = kiln_loop, .user = &f, .reset = kiln_reset, .calls = 1};
    o.fast = "flush";
    if (kiln_ctx_create(&o, &f.ctx) != KILN_OK) bench_fail(s->b, "no context");
    else if ((f.g = spine_graph(s->b, f.ctx, s->c->file)) && check_values(&f, reference))
        run_against_peer(s, hello, &loop, LONG_RUN, "10^5 steps, fast.flush", 1);
    if (f.ctx && !f.ok) spine_kiln_failed(s->b, f.ctx, s->c->name);
    kiln_graph_release(f.g);
    kiln_ctx_release(f.ctx);
}

static void against_peer(graph_bench *s, const json_t *reference, const kn_side *steps, const kn_side *loop)
{
    char row[128];
    snprintf(row, sizeof row, "%s against MADDENING", s->c->name);
    json_t *hello = bench_peer_python(s->b, "maddening.py", row, &s->peer);
    if (hello && peer_values(s, reference)) {
        snprintf(row, sizeof row, "%s, one step call", s->c->name);
        bench_time(s->b,
                   &(bench_pair){.row = row,
                                 .a = *steps,
                                 .b = {.name = "MADDENING", .sample = peer_steps, .user = s, .calls = CALL_STEPS},
                                 .unit = "step",
                                 .seconds = PEER_SECONDS,
                                 .target = {BENCH_RATIO_AT_LEAST, 200},
                                 .more = json_deep_copy(hello)},
                   NULL);
        run_against_peer(s, hello, loop, LONG_RUN, "10^5 steps", 1);
        if (s->c->decays) flushed_against_peer(s, hello, reference);
        run_against_peer(s, hello, loop, SHORT_RUN, "1000 steps", s->c->short_run);
    } else if (!hello) {
        snprintf(row, sizeof row, "%s, one step call", s->c->name);
        bench_time(s->b, &(bench_pair){.row = row, .a = *steps, .unit = "step"}, NULL);
    }
    json_decref(hello);
    bench_peer_stop(s->peer);
    s->peer = NULL;
}

/* ---- one graph ---- */

static void against_limit(graph_bench *s, const kn_side *loop)
{
    char row[128];
    kn_side limit = {.name = "C", .loop = limit_loop, .user = s, .reset = limit_reset, .calls = 1};
    snprintf(row, sizeof row, "%s, run loop of 10^5 steps", s->c->name);
    s->loop_steps = LONG_RUN;
    bench_time(s->b,
               &(bench_pair){.row = row,
                             .a = *loop,
                             .b = limit,
                             .per = LONG_RUN,
                             .unit = "step",
                             .target = {BENCH_RATIO_AT_LEAST, 0.7}},
               NULL);
    if (!s->c->run_shortcut) return;
    limit.loop = shortcut_loop;
    bench_time(s->b,
               &(bench_pair){
                   .row = row, .note = s->c->shortcut, .a = *loop, .b = limit, .per = LONG_RUN, .unit = "step"},
               NULL);
}

static void time_graph(graph_bench *s, const json_t *reference)
{
    kn_side steps = {.name = "kiln", .sample = kiln_step_calls, .user = s, .calls = 20 * CALL_STEPS};
    kn_side loop = {.name = "kiln", .loop = kiln_loop, .user = s, .reset = kiln_reset, .calls = 1};
    if (s->c->run) against_limit(s, &loop);
    against_peer(s, reference, &steps, &loop);
    if (!s->ok) spine_kiln_failed(s->b, s->ctx, s->c->name);
}

static void run_graph(bench *b, const graph_case *c)
{
    graph_bench s = {.b = b, .c = c, .ok = true};
    json_t *reference = load_reference(&s);
    if (!reference) return;
    if (kiln_ctx_create(NULL, &s.ctx) != KILN_OK) bench_fail(b, "no context");
    else if ((s.g = spine_graph(b, s.ctx, c->file)) && check_values(&s, reference)) time_graph(&s, reference);
    kiln_graph_release(s.g);
    kiln_ctx_release(s.ctx);
    json_decref(reference);
}

/* ---- the graphs ---- */

static void start_spring_body(void *s) { limit_spring_body_start(s); }
static void run_spring_body(void *s, uint64_t n) { limit_spring_body_run(s, &limit_spring_body_case, n); }

void spine_spring_body(bench *b)
{
#define FIELD(name, member, count) {name, offsetof(limit_spring_body, member), count}
    static const limit_field fields[] = {
        FIELD("spring.position", spring_position, 1),
        FIELD("spring.velocity", spring_velocity, 1),
        FIELD("body.position", position, 3),
        FIELD("body.velocity", velocity, 3),
        FIELD("body.orientation", q, 4),
        FIELD("body.angular_velocity", spin, 3),
    };
#undef FIELD
    static const graph_case c = {
        .name = "spring-body",
        .file = "graphs/spring-body.yaml",
        .reference = "reference/spring-body.json",
        .short_run = 4,
        .fields = fields,
        .n_fields = sizeof fields / sizeof *fields,
        .start = start_spring_body,
        .run = run_spring_body,
    };
    run_graph(b, &c);
}

static void start_rods(void *s) { limit_rods_start(s); }
static void run_rods(void *s, uint64_t n) { limit_rods_run(s, &limit_rods_case, n); }
static void run_rods_ends(void *s, uint64_t n) { limit_rods_run_ends(s, &limit_rods_case, n); }
static int64_t passes_of_rods(const void *s) { return ((const limit_rods *)s)->total_iterations; }

void spine_rods(bench *b)
{
    static const limit_field fields[] = {
        {"hot.temperature", offsetof(limit_rods, hot), LIMIT_CELLS},
        {"cold.temperature", offsetof(limit_rods, cold), LIMIT_CELLS},
    };
    static const graph_case c = {
        .name = "rods-64-aitken",
        .file = "graphs/rods-64-aitken.yaml",
        .reference = "reference/rods-64-aitken.json",
        .short_run = 2,
        .fields = fields,
        .n_fields = sizeof fields / sizeof *fields,
        .start = start_rods,
        .run = run_rods,
        .passes = passes_of_rods,
        .shortcut = "C that knows by hand that only the two cells at the joint differ from pass to pass",
        .run_shortcut = run_rods_ends,
    };
    run_graph(b, &c);
}

void spine_mixed(bench *b)
{
    static const graph_case c = {
        .name = "mixed-25", .file = "graphs/mixed-25.yaml", .reference = "reference/mixed-25.json", .decays = true, .short_run = 4};
    run_graph(b, &c);
}
