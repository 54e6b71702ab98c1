/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "processes": a user's way from the command line to a result, from fork to exit: a program, with and without its code in the
 * cache, and graphs and their profiles. Peers are processes too, that import, trace, compile and run. The runner compiles nothing itself:
 * a process's peak of memory counts what it held before it became the command. */
#include "bench.h"
#include "kiln/kiln.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MOST = 10, PEER_SECONDS = 6 };

typedef struct command {
    bench *b;
    const char *cache; /* KILN_CACHE */
    const char *argv[ARGUMENTS_MOST];
    double resident; /* the largest, bytes */
} command;

static bool run_command(void *user, uint64_t n, kn_taken *t)
{
    command *c = user;
    double resident = 0;
    setenv("KILN_CACHE", c->cache, 1);
    int code = 0;
    for (uint64_t i = 0; i < n && code == 0; i++) {
        code = bench_command(c->argv, t, &resident);
        if (resident > c->resident) c->resident = resident;
    }
    setenv("KILN_CACHE", "none", 1);
    if (code) bench_fail(c->b, "%s %s: exit code %d", c->argv[0], c->argv[1], code);
    return code == 0;
}

static bool once(command c)
{
    kn_taken t = {0};
    return run_command(&c, 1, &t);
}

static kn_side process_of(command *c, const char *name)
{
    return (kn_side){.name = name, .sample = run_command, .user = c, .calls = 1};
}

static bool have_kiln(bench *b)
{
    if (access(bench_kiln(b), X_OK) == 0) return true;
    bench_fail(b, "no command at %s; --kiln names it", bench_kiln(b));
    return false;
}

/* A row of whole processes; the peer, where `theirs` has a command, beside ours. */
static void time_processes(const char *row, command *ours, command *theirs, const char *peer, double resident_most, bench_target target)
{
    char note[160];
    kn_taken t = {0};
    if (!once(*ours) || !run_command(ours, 1, &t)) return; /* the first one fills a cache and does not count; the note is of the second */
    snprintf(note, sizeof note, "peak of memory %.1f MB%s", ours->resident / 1e6, resident_most > 0 && ours->resident > resident_most ? ": too much" : "");
    json_t *more = json_pack("{s:f}", "resident_bytes", ours->resident);
    if (resident_most > 0) json_object_set_new(more, "resident_most", json_real(resident_most));
    bench_time(ours->b,
               &(bench_pair){.row = row,
                             .note = note,
                             .a = process_of(ours, "kiln"),
                             .b = theirs->argv[0] ? process_of(theirs, peer) : (kn_side){0},
                             .unit = "process",
                             .seconds = theirs->argv[0] ? PEER_SECONDS : 0,
                             .target = target,
                             .more = more},
               NULL);
}

/* The command that gives a peer one question; without a word where the peers are not there. */
static command asked(bench *b, const char *row, const char *script, const char *question, char python[4096], char path[4096])
{
    command c = {.b = b, .cache = "none"};
    char name[128];
    snprintf(name, sizeof name, "peers/%s", script);
    if (bench_python(b, row, python)) {
        c.argv[0] = python;
        c.argv[1] = bench_path(b, name, path);
        c.argv[2] = question;
    }
    return c;
}

/* ---- a program ---- */

static const char input[] = "f32[1000]:0.5";

/* What it computes is what the interpreter computes. */
static bool program_checked(bench *b, const char *program, const char *folder)
{
    char file[4096];
    snprintf(file, sizeof file, "%s/out.npz", folder);
    bool same = once((command){b, "none", {bench_kiln(b), "eval", program, input, "--interpret", "-o", file}, 0}) &&
                once((command){b, "none", {bench_kiln(b), "eval", program, input, "--expect", file}, 0});
    if (same) bench_checked(b, "damped sine", "kiln eval", "kiln eval --interpret", "bits", 0, 0);
    return same;
}

static void program(bench *b)
{
    char path[4096], folder[] = "/tmp/kiln-bench-XXXXXX", python[4096], script[4096];
    if (!have_kiln(b)) return;
    if (!mkdtemp(folder)) {
        bench_fail(b, "no folder");
        return;
    }
    bench_path(b, "../examples/programs/damped_sine.jaxpr", path);
    if (program_checked(b, path, folder)) {
        command cold = {b, "none", {bench_kiln(b), "eval", path, input}, 0};
        command warm = {b, folder, {bench_kiln(b), "eval", path, input}, 0};
        command jax = asked(b, "damped sine in a fresh process, against JAX", "jax_cpu.py",
                            "{\"do\": \"values\", \"program\": \"sin_exp\", \"inputs\": [[\"const\", 0.5, 0, \"float32\", [1000]]], \"most\": 1}",
                            python, script);
        command none = {.b = b};
        time_processes("damped sine in a fresh process, code compiled", &cold, &none, NULL, 70e6, (bench_target){BENCH_TIME_AT_MOST, 40e-3});
        time_processes("damped sine in a fresh process, code in the cache", &warm, &none, NULL, 25e6, (bench_target){BENCH_TIME_AT_MOST, 8e-3});
        if (jax.argv[0])
            time_processes("damped sine in a fresh process, code compiled", &cold, &jax, "JAX", 70e6, (bench_target){BENCH_RATIO_AT_LEAST, 1});
    }
    (void)bench_command((const char *const[]){"rm", "-rf", folder, NULL}, NULL, NULL);
}

/* ---- graphs ---- */

/* The last row of the field that the command wrote, against the reference. */
static void field_checked(bench *b, kiln_ctx *ctx, const char *folder, const char *name, const json_t *want)
{
    char path[4096];
    double v[256], w[256];
    size_t n = json_array_size(want);
    kiln_array *a = NULL;
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (n == 0 || n > 256 || kiln_array_load(ctx, path, &a) != KILN_OK) {
        bench_fail(b, "%s: cannot be read, or not as long as the reference", path);
        return;
    }
    size_t all = kiln_array_bytes(a) / kiln_dtype_bytes(kiln_array_type(a).dtype);
    if (all >= n) {
        for (size_t i = 0; i < n; i++) v[i] = bench_number(a, all - n + i), w[i] = json_number_value(json_array_get(want, i));
        bench_near(b, name, "kiln run", v, "the reference in double", w, n, 2e-5);
    } else {
        bench_fail(b, "%s holds less than one row", path);
    }
    kiln_array_release(a);
}

static bool graph_checked(bench *b, const char *name, const char *graph)
{
    char folder[] = "/tmp/kiln-bench-XXXXXX", out[64], steps[32], path[4096], file[64];
    snprintf(file, sizeof file, "reference/%s.json", name);
    json_t *reference = json_load_file(bench_path(b, file, path), 0, NULL);
    kiln_ctx *ctx = NULL;
    if (!reference || !mkdtemp(folder) || kiln_ctx_create(NULL, &ctx) != KILN_OK) {
        bench_fail(b, "no folder, no context or no %s", path);
        json_decref(reference);
        return false;
    }
    snprintf(out, sizeof out, "%s/", folder);
    snprintf(steps, sizeof steps, "%d", (int)json_integer_value(json_object_get(reference, "steps")));
    bool ok = once((command){b, "none", {bench_kiln(b), "run", graph, "--steps", steps, "-o", out}, 0});
    const char *field;
    json_t *want;
    if (ok) json_object_foreach(json_object_get(reference, "fields"), field, want) field_checked(b, ctx, folder, field, want);
    (void)bench_command((const char *const[]){"rm", "-rf", folder, NULL}, NULL, NULL);
    kiln_ctx_release(ctx);
    json_decref(reference);
    return ok;
}

/* `kiln COMMAND GRAPH` against MADDENING's answer to {"do": DO, ...}, whole processes both. */
static void beside_peer(bench *b, const char *row, const char *name, command ours, const char *question, double times)
{
    char text[200], python[4096], script[4096];
    snprintf(text, sizeof text, "{\"graph\": \"%s\", %s}", name, question);
    command theirs = asked(b, row, "maddening.py", text, python, script);
    time_processes(row, &ours, &theirs, "MADDENING", 70e6,
                   (bench_target){theirs.argv[0] ? BENCH_RATIO_AT_LEAST : BENCH_NO_TARGET, times});
}

static void graph(bench *b, const char *name, bool profile)
{
    char row[128], file[64], path[4096];
    if (!have_kiln(b)) return;
    snprintf(file, sizeof file, "graphs/%s.yaml", name);
    bench_path(b, file, path);
    if (!graph_checked(b, name, path)) return;
    snprintf(row, sizeof row, "%s: kiln run of 1000 steps, code compiled", name);
    beside_peer(b, row, name, (command){b, "none", {bench_kiln(b), "run", path, "--steps", "1000"}, 0},
                "\"do\": \"values\", \"how\": \"scan\", \"steps\": 1000", 20);
    snprintf(row, sizeof row, "%s: kiln profile of 100 steps", name);
    if (profile) beside_peer(b, row, name, (command){b, "none", {bench_kiln(b), "profile", path}, 0}, "\"do\": \"profile\"", 10);
}

static void spring_body(bench *b) { graph(b, "spring-body", true); }
static void rods(bench *b) { graph(b, "rods-64-aitken", true); }
static void mixed(bench *b) { graph(b, "mixed-25", false); } /* MADDENING takes 13 s to profile it */

static const bench_case cases[] = {
    {"program", "`kiln eval` of 1000 numbers, with its code compiled and with its code in the cache, against JAX", program},
    {"spring-body", "`kiln run` and `kiln profile` of a body on a spring, against MADDENING", spring_body},
    {"rods", "`kiln run` and `kiln profile` of two rods coupled with Aitken's method, against MADDENING", rods},
    {"mixed", "`kiln run` of twenty-five nodes, against MADDENING", mixed},
};

int main(int argc, char **argv) { return bench_main(argc, argv, "processes", cases, sizeof cases / sizeof *cases); }
