/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/values.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct job {
    const kiln_prog *p;
    kiln_exec *f; /* NULL: interpreted */
    kiln_array **in, **out;
    double read_ms, transform_ms, compile_ms, first_ms;
    kiln_run_counts counts; /* of the first call */
    KN_VEC(double) times; /* ms */
    kn_arena arena;
} job;

static kiln_status call(cli *c, const job *j)
{
    return j->f ? kiln_exec_call(c->ctx, j->f, j->in, j->out) : kiln_prog_eval(c->ctx, j->p, j->in, j->out);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Calls again until a second is over or there are enough calls; results are those of the first call. */
static int repeat(cli *c, job *j)
{
    enum { LEAST = 3, MOST = 100000 };
    const double budget_ms = 1000;
    uint32_t m = kiln_prog_n_outputs(j->p);
    kiln_array **out = calloc((size_t)m + 1, sizeof *out);
    if (!out) return cli_broken(c, "out of memory");
    job again = *j;
    again.out = out;
    kiln_status status = KILN_OK;
    double start = now_ms();
    while (status == KILN_OK && j->times.n < MOST && (j->times.n < LEAST || now_ms() - start < budget_ms) && !cli_interrupted()) {
        double t = now_ms();
        status = call(c, &again);
        t = now_ms() - t;
        if (status == KILN_OK) cli_values_free(out, m);
        if (status == KILN_OK && !kn_push(&j->arena, &j->times, t)) status = kn_nomem(c->ctx);
    }
    free(out);
    qsort(j->times.v, j->times.n, sizeof *j->times.v, by_size);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

static int report_times(cli *c, const job *j)
{
    const char *path = cli_text(c, "json", NULL);
    static const char *const cache[] = {"off", "miss", "hit"};
    kiln_exec_info info = {.tier = -1};
    struct rusage used;
    if (j->f) kiln_exec_info_get(j->f, &info);
    getrusage(RUSAGE_SELF, &used);
    uint32_t n = j->times.n;
    double median = n ? (j->times.v[(n - 1) / 2] + j->times.v[n / 2]) / 2 : 0, least = n ? j->times.v[0] : 0;
    bool text = !(path && cli_is_stdout(path));
    if (text && kiln_ctx_fast(c->ctx)) printf("fast: %s\n", kiln_fast_text(kiln_ctx_fast(c->ctx)));
    if (text)
        printf("read %.3f ms, compile %.3f ms, first call %.4f ms, median %.6g ms, least %.6g ms of %u calls\n", j->read_ms, j->compile_ms,
               j->first_ms, median, least, n);
    if (!path) return CLI_DONE;
    json_t *d = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "read_ms", j->read_ms,
                          "trace_ms", 0.0, "transform_ms", j->transform_ms, "lower_ms", info.lower_ms, "optimise_ms", info.optimise_ms + info.loops_ms,
                          "emit_ms", info.emit_ms, "load_ms", info.load_ms, "compile_ms", j->compile_ms, "first_call_ms", j->first_ms,
                          "median_ms", median, "min_ms", least, "calls", (int)n, "threads", (int)kiln_ctx_threads(c->ctx), "tier", info.tier, "fast", kiln_fast_text(kiln_ctx_fast(c->ctx)), "cache", cache[info.cache], "peak_rss_kb",
                          (json_int_t)used.ru_maxrss, "code_bytes", (json_int_t)info.code_bytes, "temporary_bytes",
                          (json_int_t)info.scratch_bytes, "nests", (json_int_t)info.nests,
                          "record_bytes", (json_int_t)info.record_bytes, "trips", (json_int_t)j->counts.trips, "lane_steps", (json_int_t)j->counts.lane_steps);
    int code = d ? cli_write_json(c, path, d) : cli_broken(c, "out of memory");
    json_decref(d);
    return code;
}

static int finish(cli *c, job *j)
{
    const char *path = cli_text(c, "output", NULL), *expect = cli_text(c, "expect", NULL);
    bool timed = cli_has(c, "time");
    int code = timed ? repeat(c, j) : CLI_DONE;
    if (code == CLI_DONE && (path || (!expect && !timed))) code = cli_values_write(c, j->p, path, j->out);
    if (code == CLI_DONE && timed) code = report_times(c, j);
    if (code == CLI_DONE && expect) code = cli_values_expect(c, j->p, expect, j->out, cli_number(c, "rtol", 0), cli_number(c, "atol", 0));
    return code;
}

static void say_compiled(const cli *c, const job *j)
{
    kiln_exec_info i;
    kiln_exec_info_get(j->f, &i);
    cli_say(c, "%s in %.1f ms at tier %d%s%s: %llu equations, %llu lowered operations, %llu time loops, %llu nests, %llu bytes of code\n",
            i.cache == KILN_CACHE_HIT ? "found in the cache" : "compiled", j->compile_ms, i.tier, i.fast ? ", fast " : "", i.fast ? kiln_fast_text(i.fast) : "", (unsigned long long)i.equations, (unsigned long long)i.lowered_ops, (unsigned long long)i.time_loops,
            (unsigned long long)i.nests, (unsigned long long)i.code_bytes);
}

static int evaluate(cli *c, job *j)
{
    if (!cli_has(c, "interpret")) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.label = "eval";
        double t = now_ms();
        if (kiln_compile(c->ctx, j->p, &o, &j->f) != KILN_OK) return cli_fail(c);
        j->compile_ms = now_ms() - t;
        if (c->verbose) say_compiled(c, j);
    }
    double t = now_ms();
    if (call(c, j) != KILN_OK) return cli_fail(c);
    j->first_ms = now_ms() - t;
    kiln_run_counts_get(c->ctx, &j->counts);
    int code = finish(c, j);
    cli_values_free(j->out, kiln_prog_n_outputs(j->p));
    return code;
}

static int with_program(cli *c, job *j)
{
    uint32_t n = kiln_prog_n_inputs(j->p), m = kiln_prog_n_outputs(j->p);
    j->in = calloc((size_t)n + 1, sizeof *j->in);
    j->out = calloc((size_t)m + 1, sizeof *j->out);
    int code = j->in && j->out ? cli_values_read(c, j->p, c->operands + 1, c->n_operands - 1, j->in) : cli_broken(c, "out of memory");
    if (code == CLI_DONE) {
        code = evaluate(c, j);
        cli_values_free(j->in, n);
    }
    free(j->in);
    free(j->out);
    kiln_exec_release(j->f);
    return code;
}

static int run(cli *c)
{
    kiln_prog *p;
    job j = {.f = NULL};
    if (cli_has(c, "json") && !cli_has(c, "time")) return cli_bad(c, "usage", "--json belongs to --time");
    double t = now_ms();
    int code = cli_program_read(c, c->operands[0], &p);
    if (code != CLI_DONE) return code;
    j.read_ms = now_ms() - t;
    t = now_ms();
    if ((code = cli_transform(c, c->operands + 1, c->n_operands - 1, &p)) != CLI_DONE) return code;
    j.transform_ms = now_ms() - t;
    j.p = p;
    kn_arena_init(&j.arena, NULL);
    code = with_program(c, &j);
    kn_arena_fini(&j.arena);
    kiln_prog_release(p);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "OUT", "writes results out0, out1, ...: NAME.npz, NAME.npy, or a folder FOLDER/", 0, 0},
    {"interpret", 0, CLI_FLAG, NULL, "uses the reference interpreter: the same bits, slowly", 0, 0},
    {"expect", 0, CLI_TEXT, "REF.npz", "compares the results with out0, out1, ... of an archive; exit code 1 when they differ", 0, 0},
    {"rtol", 0, CLI_NUMBER, "R", "relative tolerance of --expect (0)", 0, 0},
    {"atol", 0, CLI_NUMBER, "A", "absolute tolerance of --expect (0)", 0, 0},
    {"time", 0, CLI_FLAG, NULL, "calls the program for a second and says how long reading, compiling and a call take", 0, 0},
    {"json", 0, CLI_TEXT, "FILE", "writes the times of --time as JSON", 0, 0},
    {"transform", 0, CLI_TEXT, "WORD", "transforms the program first: grad:0, vmap:0,None(jvp), ... (docs/transforms.md)", 0, 0},
    {"rule", 0, CLI_TEXT, "RULE", "gives a custom rule to derivatives: NAME:jvp=FILE, NAME:fwd=FILE, NAME:bwd=FILE, NAME:residuals=N", CLI_MANY, 0},
    {"nan-check", 0, CLI_FLAG, NULL, "stops at the first NaN", CLI_LATER, 0},
};

const cli_command cli_eval = {
    .name = "eval",
    .operands = "PROGRAM IN...",
    .summary = "runs a program",
    .about = "Inputs stand in the order of the program's binders: .npy files, or texts such as f32[2,3]:1,2,3,4,5,6 (one\n"
             "element fills an array); or one .npz that holds them by name. Without -o the results are printed, short.\n"
             "\n"
             "    kiln eval f.jaxpr x.npy 'f64[]:2.5' -o out.npz\n"
             "    kiln eval f.jaxpr inputs.npz --expect results.npz --rtol 1e-12",
    CLI_OPTIONS(options),
    .least = 1,
    .most = -1,
    .cache = CLI_CACHE_ALWAYS,
    .run = run,
};
