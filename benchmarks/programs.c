/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "programs": real and small programs as StableHLO text, compiled and run beside XLA, which gets the very same text. The time of a
 * compile is that from text to callable. Small programs have a hand-written limit, too. */
#include "bench.h"
#include "limits/micro.h"
#include "limits/programs.h"
#include "programs_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BUFFERS = 64, PHASES = 6 };

typedef struct job {
    bench *b;
    const program_case *c;
    kiln_ctx *ctx;
    kiln_exec *f[2]; /* levels 0 and 2 */
    int level;       /* that is compiled, for the samples of compile_once */
    double phase[PHASES]; /* ms of all its compiles */
    size_t compiles;
    json_t *phases; /* their means, for the record */
    kiln_array *arrays[MOST_BUFFERS];
    void *buffers[MOST_BUFFERS], *scratch[2];
    size_t nin, nout;
    double first_call; /* s, of level 2 */
    void (*limit)(void *const *buffers); /* or NULL */
    void *limits[MOST_BUFFERS];          /* its inputs, which are ours, and its results */
    bench_peer *peer;
    char folder[64];
    bool ok;
} job;

static bool failed(job *j, const char *what)
{
    char text[2048];
    kiln_diag_format(kiln_ctx_error(j->ctx), text, sizeof text);
    bench_fail(j->b, "%s: %s: %s", j->c->name, what, text);
    return false;
}

/* ---- Kiln ---- */

/* The means of a compile's phases, with one compile more. */
static void add_phases(job *j, const kiln_exec *f, double read_s)
{
    static const char *const names[PHASES] = {"read_ms", "lower_ms", "optimise_ms", "loops_ms", "emit_ms", "load_ms"};
    kiln_exec_info i;
    kiln_exec_info_get(f, &i);
    const double ms[PHASES] = {read_s * 1e3, i.lower_ms, i.optimise_ms, i.loops_ms, i.emit_ms, i.load_ms};
    j->compiles++;
    for (int k = 0; k < PHASES; k++) {
        j->phase[k] += ms[k];
        json_object_set_new(j->phases, names[k], json_real(j->phase[k] / (double)j->compiles));
    }
}

/* From text to callable. */
static bool compile(job *j, int level, kiln_exec **out)
{
    kiln_prog *p = NULL;
    kiln_compile_opts opts = KILN_COMPILE_OPTS_INIT;
    opts.tier = level;
    double start = bench_now();
    bool ok = kiln_prog_load(j->ctx, j->c->text, &p) == KILN_OK;
    double read_s = bench_now() - start;
    ok = ok && kiln_compile(j->ctx, p, &opts, out) == KILN_OK;
    kiln_prog_release(p);
    if (ok && j->phases) add_phases(j, *out, read_s);
    return ok || failed(j, "compile");
}

static bool compile_once(void *user, uint64_t n, kn_taken *t)
{
    job *j = user;
    for (uint64_t i = 0; i < n; i++) {
        kiln_exec *f;
        kn_taken begin = kn_taken_begin();
        if (!compile(j, j->level, &f)) return false;
        kn_taken one = kn_taken_end(begin);
        t->wall += one.wall, t->processor += one.processor;
        kiln_exec_release(f);
    }
    return true;
}

static void run_level(job *j, int level, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) j->ok = kiln_exec_run(j->f[level], j->buffers, j->scratch[level], &(kiln_call){0}) == 0 && j->ok;
}
static void run_fast(void *user, uint64_t n) { run_level(user, 1, n); }
static void run_quick(void *user, uint64_t n) { run_level(user, 0, n); }

static bool make_arrays(job *j)
{
    kiln_prog *p;
    if (kiln_prog_load(j->ctx, j->c->text, &p) != KILN_OK) return failed(j, "load");
    j->nin = kiln_prog_n_inputs(p), j->nout = kiln_prog_n_outputs(p);
    bool ok = j->nin == program_inputs(j->c) && j->nout == program_outputs(j->c) && j->nin + j->nout <= MOST_BUFFERS;
    if (!ok) bench_fail(j->b, "%s: %zu inputs and %zu results, which are not those of the case", j->c->name, j->nin, j->nout);
    for (size_t k = 0; ok && k < j->nin + j->nout; k++) {
        if (k < j->nin) ok = program_input(j->b, j->ctx, j->c, k, kiln_prog_input_type(p, (uint32_t)k), &j->arrays[k]);
        else ok = kiln_array_create(j->ctx, kiln_prog_output_type(p, (uint32_t)(k - j->nin)), &j->arrays[k]) == KILN_OK || failed(j, "arrays");
        if (ok) j->buffers[k] = k < j->nin ? (void *)(uintptr_t)kiln_array_read(j->arrays[k]) : kiln_array_data(j->arrays[k]);
    }
    kiln_prog_release(p);
    for (int level = 0; ok && level < 2; level++) {
        ok = compile(j, 2 * level, &j->f[level]);
        j->scratch[level] = ok ? aligned_alloc(64, kiln_exec_scratch_bytes(j->f[level]) / 64 * 64 + 64) : NULL;
        ok = ok && j->scratch[level];
    }
    return ok;
}

/* Both levels give what is wanted; level 2 last, so that its results stay. */
static bool right(job *j)
{
    for (int level = 0; level < 2; level++) {
        double begin = bench_now();
        run_level(j, level, 1);
        j->first_call = bench_now() - begin;
        for (size_t k = 0; k < j->nout; k++)
            if (!program_wants(j->b, j->ctx, j->c, k, j->arrays[j->nin + k])) return false;
    }
    if (!j->ok) bench_fail(j->b, "%s: a call returned a failure", j->c->name);
    return j->ok;
}

static json_t *facts(const job *j, const json_t *peer)
{
    kiln_exec_info i;
    kiln_exec_info_get(j->f[1], &i);
    return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:O?}", "first_call_s", j->first_call, "nests", (json_int_t)i.nests, "copies",
                     (json_int_t)i.copies, "routine_calls", (json_int_t)i.routine_calls, "code_bytes", (json_int_t)i.code_bytes,
                     "temporary_bytes", (json_int_t)i.scratch_bytes, "equations", (json_int_t)i.equations, "peer", peer);
}

/* ---- XLA ---- */

static json_t *ask(job *j, json_t *question)
{
    char why[512];
    json_t *answer = bench_peer_ask(j->peer, question, why, sizeof why);
    if (!answer) bench_fail(j->b, "XLA, %s: %s", j->c->name, why);
    return answer;
}

static bool taken(json_t *answer, kn_taken *t)
{
    t->wall += json_number_value(json_object_get(answer, "seconds"));
    t->processor += json_number_value(json_object_get(answer, "processor_seconds"));
    json_decref(answer);
    return answer != NULL;
}
static bool run_xla(void *user, uint64_t n, kn_taken *t) { return taken(ask(user, json_pack("{s:s, s:I}", "do", "time", "calls", (json_int_t)n)), t); }
static bool compile_xla(void *user, uint64_t n, kn_taken *t)
{
    job *j = user;
    return taken(ask(j, json_pack("{s:s, s:s, s:I}", "do", "compile", "program", j->c->text, "calls", (json_int_t)n)), t);
}

static void array_path(const job *j, size_t k, char *out, size_t bytes) { snprintf(out, bytes, "%s/%zu.npy", j->folder, k); }

/* The peer reads the arrays from files, and compares its results with ours. */
static bool xla_agrees(job *j)
{
    json_t *inputs = json_array(), *outputs = json_array(), *near = json_array();
    snprintf(j->folder, sizeof j->folder, "/tmp/kiln-bench-XXXXXX");
    bool ok = mkdtemp(j->folder) != NULL;
    for (size_t k = 0; ok && k < j->nin + j->nout; k++) {
        char path[96];
        double rtol, atol;
        array_path(j, k, path, sizeof path);
        ok = kiln_array_save(j->ctx, path, j->arrays[k]) == KILN_OK || failed(j, path);
        if (k < j->nin) {
            json_array_append_new(inputs, json_pack("[s, s]", path, kiln_dtype_numpy(kiln_array_type(j->arrays[k]).dtype)));
            continue;
        }
        json_array_append_new(outputs, json_string(path));
        program_tolerance(j->c, k - j->nin, &rtol, &atol);
        json_array_append_new(near, json_pack("[f, f]", 2 * rtol, 2 * atol)); /* each side is that near to the truth */
    }
    json_t *question = json_pack("{s:s, s:s, s:o, s:o, s:o}", "do", "load", "program", j->c->text, "inputs", inputs, "outputs", outputs, "near", near);
    json_t *answer = ok ? ask(j, json_incref(question)) : NULL, *differ = json_object_get(answer, "differ");
    if (json_is_integer(differ)) bench_fail(j->b, "%s: result %d of XLA is not near ours", j->c->name, (int)json_integer_value(differ));
    ok = json_is_null(differ);
    json_decref(question);
    json_decref(answer);
    for (size_t k = 0; k < j->nin + j->nout; k++) {
        char path[96];
        array_path(j, k, path, sizeof path);
        unlink(path);
    }
    rmdir(j->folder);
    return ok;
}

/* ---- C ---- */

static const struct {
    const char *name;
    void (*run)(void *const *buffers);
} limits[] = {
    {"fori_at_set_20000", limit_fori_at_set},
    {"fori_at_set_40000", limit_fori_at_set_40000},
    {"grad_scan_at_set_1000", limit_grad_scan_at_set_1000},
    {"grad_scan_at_set_500", limit_grad_scan_at_set_500},
    {"heat_rod_64_1e5", limit_heat_rod},
    {"layernorm_4096x512", limit_layernorm},
    {"lbm_128_100", limit_lbm},
    {"leapfrog_3body_1e5", limit_leapfrog_3body},
    {"matmul_512", limit_matmul_512},
    {"scan_matmul3_f64", limit_scan_matmul3},
    {"scatter_add_1e6_1e3", limit_scatter_add},
    {"segment_sum_2e5x8", limit_segment_sum_of},
    {"sin_exp_1e6", limit_sin_exp_1e6},
    {"softmax_4096x512", limit_softmax},
    {"sum_1e7", limit_sum},
    {"while_max_2p22", limit_while_max_i32},
    {"while_max_2p22_f32", limit_while_max_f32},
};

static void run_limit(void *user, uint64_t n)
{
    job *j = user;
    void (*volatile limit)(void *const *) = j->limit; /* through a pointer, as the other side */
    for (uint64_t i = 0; i < n; i++) limit(j->limits);
}

/* Finds the case's limit, where it has one, and compares its results with ours. */
static bool limit_agrees(job *j)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].name, j->c->name) == 0) j->limit = limits[i].run;
    if (!j->limit) return true;
    for (size_t k = 0; k < j->nin + j->nout; k++) {
        size_t bytes = kiln_array_bytes(j->arrays[k]);
        j->limits[k] = k < j->nin ? j->buffers[k] : aligned_alloc(64, bytes / 64 * 64 + 64);
        if (!j->limits[k]) {
            bench_fail(j->b, "no memory");
            return false;
        }
    }
    run_limit(j, 1);
    for (size_t k = j->nin; k < j->nin + j->nout; k++) {
        kiln_dtype d = kiln_array_type(j->arrays[k]).dtype;
        if (!bench_same_bits(j->b, j->c->name, "kiln", j->buffers[k], "C", j->limits[k], kiln_array_bytes(j->arrays[k]), (size_t)kiln_dtype_bytes(d)))
            return false;
    }
    return true;
}

/* ---- rows ---- */

static void time_compiles(job *j)
{
    for (int level = 0; level <= 2; level += 2) {
        char row[128];
        j->level = level;
        j->compiles = 0;
        memset(j->phase, 0, sizeof j->phase);
        j->phases = json_object();
        snprintf(row, sizeof row, "%s, compile at level %d", j->c->name, level);
        bench_time(j->b,
                   &(bench_pair){.row = row,
                                 .a = {.name = "kiln", .sample = compile_once, .user = j, .calls = 1},
                                 .b = {.name = j->peer ? "XLA" : NULL, .sample = compile_xla, .user = j, .calls = 1},
                                 .unit = "compile",
                                 .seconds = 0.2,
                                 .rounds = 5,
                                 .group = level ? "compile at level 2, against XLA" : "compile at level 0, against XLA",
                                 .target = {j->peer ? BENCH_RATIO_AT_LEAST : BENCH_NO_TARGET, 1},
                                 .more = json_incref(j->phases)},
                   NULL);
        json_decref(j->phases);
        j->phases = NULL;
    }
}

static void time_calls(job *j, const json_t *peer)
{
    char row[128];
    kn_side fast = BENCH_LOOP("kiln", run_fast, j);
    bench_pair p = {.row = j->c->name, .a = fast, .seconds = 0.4, .group = "steady call, against XLA", .more = facts(j, peer)};
    if (j->peer) {
        p.b = (kn_side){.name = "XLA", .sample = run_xla, .user = j};
        p.target = (bench_target){BENCH_RATIO_AT_LEAST, 1};
    }
    bench_time(j->b, &p, NULL);
    snprintf(row, sizeof row, "%s, against C", j->c->name);
    if (j->limit)
        bench_time(j->b,
                   &(bench_pair){.row = row, .a = fast, .b = BENCH_LOOP("C", run_limit, j), .seconds = 0.4, .group = "steady call, against C",
                                 .target = {BENCH_RATIO_AT_LEAST, 0.85}},
                   NULL);
    snprintf(row, sizeof row, "%s, level 0 beside level 2", j->c->name);
    bench_time(j->b,
               &(bench_pair){.row = row, .a = BENCH_LOOP("level 0", run_quick, j), .b = fast, .seconds = 0.2, .group = "steady call of level 0, against level 2"},
               NULL);
}

static program_case *programs; /* by the names of the suite's cases */

static const program_case *program_of(const bench *b)
{
    const program_case *c = programs;
    while (strcmp(c->name, bench_running(b)->name) != 0) c++;
    return c;
}

static void run_case(bench *b)
{
    job j = {.b = b, .c = program_of(b), .ok = true};
    if (kiln_ctx_create(NULL, &j.ctx) != KILN_OK) bench_fail(b, "no context");
    else if (make_arrays(&j) && right(&j) && limit_agrees(&j)) {
        json_t *hello = bench_peer_python(b, "xla_text.py", j.c->name, &j.peer);
        if (!hello || xla_agrees(&j)) {
            time_calls(&j, hello);
            time_compiles(&j);
        }
        json_decref(hello);
    }
    bench_peer_stop(j.peer);
    for (int level = 0; level < 2; level++) {
        kiln_exec_release(j.f[level]);
        free(j.scratch[level]);
    }
    for (size_t k = 0; k < MOST_BUFFERS; k++) {
        if (k >= j.nin) free(j.limits[k]);
        kiln_array_release(j.arrays[k]);
    }
    kiln_ctx_release(j.ctx);
}

int main(int argc, char **argv)
{
    const char *cases = getenv("KILN_CASES");
    char folder[4096];
    size_t n;
    snprintf(folder, sizeof folder, "%s/programs", cases && *cases ? cases : BENCH_CASES);
    programs = programs_find(folder, &n);
    if (!programs) {
        printf("suite programs: skipped: no cases at %s; KILN_CASES names the folder that holds programs/\n", folder);
        return 0;
    }
    bench_case *table = calloc(n + 1, sizeof *table);
    for (size_t i = 0; table && i < n; i++) table[i] = (bench_case){programs[i].name, programs[i].what, run_case};
    int code = table ? bench_main(argc, argv, "programs", table, n) : 1;
    free(table);
    programs_free(programs);
    return code;
}
