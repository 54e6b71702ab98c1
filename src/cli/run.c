/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/graph.h"

#include <math.h>
#include <stdlib.h>

/* ---- what run and profile share ---- */

/* NAME=VALUE; the value must be a number. */
static bool split_pair(cli *c, const char *option, const char *text, char *name, size_t size, double *value)
{
    const char *equal = strchr(text, '='), *end = text + strlen(text);
    if (!equal || equal == text || (size_t)(equal - text) >= size) {
        cli_bad(c, NULL, "--%s %s: NAME=VALUE would be accepted", option, text);
        return false;
    }
    memcpy(name, text, (size_t)(equal - text));
    name[equal - text] = 0;
    const char *at = kn_read_double(equal + (equal[1] == '+' ? 2 : 1), end, value);
    if (at == end && at != equal + 1) return true;
    cli_bad(c, NULL, "--%s %s: '%s' is no number", option, text, equal + 1);
    return false;
}

enum { NAME_SIZE = 256 };

/* The values of --let; names stand in `names`, NAME_SIZE bytes each. */
static bool read_lets(cli *c, kiln_graph_let **lets, char **names, size_t *n)
{
    uint32_t k = 0;
    *n = 0;
    while (cli_each(c, "let", &k)) ++*n;
    *lets = calloc(*n + 1, sizeof **lets);
    *names = calloc(*n + 1, NAME_SIZE);
    if (!*lets || !*names) {
        cli_broken(c, "out of memory");
        return false;
    }
    k = 0;
    for (size_t i = 0; i < *n; i++) {
        (*lets)[i].name = *names + i * NAME_SIZE;
        if (!split_pair(c, "let", cli_each(c, "let", &k), *names + i * NAME_SIZE, NAME_SIZE, &(*lets)[i].value)) return false;
    }
    return true;
}

static int apply_sets(cli *c, kiln_graph *g)
{
    uint32_t k = 0;
    for (const char *text; (text = cli_each(c, "set", &k));) {
        char name[NAME_SIZE];
        double value;
        if (!split_pair(c, "set", text, name, sizeof name, &value)) return CLI_BAD;
        if (kiln_graph_set(c->ctx, g, name, value) != KILN_OK) return cli_fail(c);
    }
    return CLI_DONE;
}

int cli_graph_load(cli *c, const char *path, kiln_graph **out)
{
    cli_input in;
    *out = NULL;
    int code = cli_input_read(c, path, &in);
    if (code != CLI_DONE) return code;
    kiln_graph_let *lets = NULL;
    char *names = NULL;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    if (in.kind != CLI_GRAPH) {
        code = cli_input_refuse(c, &in, "a simulation graph");
    } else if (!read_lets(c, &lets, &names, &o.n_lets)) {
        code = CLI_BAD;
    } else {
        const char *precision = cli_text(c, "precision", NULL);
        o.text = in.packed.text.s;
        o.lets = lets;
        o.precision = precision ? strcmp(precision, "f64") == 0 ? 64 : 32 : 0;
        o.interpret = cli_has(c, "interpret");
        if (kiln_graph_load(c->ctx, in.name, &o, out) != KILN_OK) code = cli_fail(c);
    }
    if (code == CLI_DONE && (code = apply_sets(c, *out)) != CLI_DONE) {
        kiln_graph_release(*out);
        *out = NULL;
    }
    free(lets);
    free(names);
    cli_input_free(c, &in);
    return code;
}

/* ---- the summary ---- */

static double number_at(const kiln_array *a, int64_t i)
{
    const void *p = kiln_array_read(a);
    switch (kiln_array_type(a).dtype) {
    case KILN_F32: return (double)((const float *)p)[i];
    case KILN_F64: return ((const double *)p)[i];
    case KILN_I32: return ((const int32_t *)p)[i];
    default: return ((const uint8_t *)p)[i];
    }
}

static int print_field(cli *c, const kiln_graph *g, uint32_t i)
{
    kiln_array *a;
    if (kiln_graph_get(c->ctx, g, kiln_graph_field_name(g, i), &a) != KILN_OK) return cli_fail(c);
    int64_t n = kiln_type_size(kiln_array_type(a));
    printf("  %-32s", kiln_graph_field_name(g, i));
    if (n <= 4) {
        for (int64_t k = 0; k < n; k++) printf(" %.7g", number_at(a, k));
        printf("\n");
    } else {
        double least = INFINITY, most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++) {
            double v = number_at(a, k);
            least = v < least ? v : least, most = v > most ? v : most, sum += v;
        }
        printf(" %.7g to %.7g, mean %.7g (%lld entries)\n", least, most, sum / (double)n, (long long)n);
    }
    kiln_array_release(a);
    return CLI_DONE;
}

static int print_summary(cli *c, const kiln_graph *g, const kiln_graph_result *r)
{
    double dt = kiln_graph_timestep(g), seconds = kiln_graph_result_seconds(r);
    int64_t steps = kiln_graph_result_steps(r);
    if (*kiln_graph_title(g)) printf("%s\n", kiln_graph_title(g));
    printf("%lld steps of %.6g s, to t = %.6g s", (long long)steps, dt, dt * (double)kiln_graph_step_count(g));
    if (steps > 0 && seconds > 0) printf("; %.3g s, %.3g us a step", seconds, 1e6 * seconds / (double)steps);
    printf("\n");
    if (kiln_ctx_fast(c->ctx)) printf("  fast: %s\n", kiln_fast_text(kiln_ctx_fast(c->ctx)));
    for (uint32_t i = 0; i < kiln_graph_n_fields(g); i++) {
        int code = print_field(c, g, i);
        if (code != CLI_DONE) return code;
    }
    for (uint32_t i = 0; i < kiln_graph_result_n_groups(r); i++) {
        kiln_graph_records k = kiln_graph_result_group(r, i);
        if (k.steps == 0) continue;
        printf("  group %s: %.2f iterations a step (%d to %d), not converged in %lld of %lld\n", k.key,
               (double)k.total_iterations / (double)k.steps, (int)k.least, (int)k.most, (long long)k.unconverged, (long long)k.steps);
    }
    return CLI_DONE;
}

/* ---- run ---- */

static void show_progress(void *ud, int64_t done, int64_t steps) { cli_progress(ud, "step", (uint64_t)done, (uint64_t)steps); }

static int run(cli *c)
{
    kiln_graph *g;
    kiln_graph_result *r = NULL;
    int code = cli_graph_load(c, c->operands[0], &g);
    if (code != CLI_DONE) return code;
    const char *path = cli_text(c, "output", NULL);
    if (path && kiln_graph_save_check(c->ctx, path) != KILN_OK) { /* before the run, not after it */
        kiln_graph_release(g);
        return cli_fail(c);
    }
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    o.steps = cli_int(c, "steps", -1);
    o.time = cli_number(c, "time", 0);
    o.every = cli_int(c, "every", 0);
    o.no_record = !path;
    o.single_steps = cli_has(c, "single-steps");
    o.stop = cli_catch_interrupt();
    o.progress = show_progress;
    o.progress_ud = c;
    kiln_status status = kiln_graph_run(c->ctx, g, &o, &r);
    cli_progress_end(c);
    if (status != KILN_OK) code = cli_fail(c);
    uint32_t files = 0;
    if (r && path && kiln_graph_save(c->ctx, r, path, &files) != KILN_OK) code = cli_fail(c);
    if (r && code == CLI_DONE) code = print_summary(c, g, r);
    if (r && code == CLI_DONE && path) printf("wrote %u file%s: %s\n", files, files == 1 ? "" : "s", path);
    if (r && code == CLI_DONE && kiln_graph_result_stopped(r)) code = CLI_INTERRUPTED;
    kiln_graph_result_release(r);
    kiln_graph_release(g);
    return code;
}

static const cli_option options[] = {
    {"steps", 0, CLI_INT, "N", "runs N base steps", 0, 0},
    {"time", 0, CLI_NUMBER, "T", "runs T seconds of simulated time", 0, 0},
    {"every", 0, CLI_INT, "K", "records every K steps, and the first and last", 0, 1},
    {"let", 0, CLI_TEXT, "NAME=VALUE", "gives a `let` of the file another value", CLI_MANY, 0},
    {"set", 0, CLI_TEXT, "NODE.PARAM=VALUE", "sets a parameter; never compiles", CLI_MANY, 0},
    {"precision", 0, CLI_CHOICE, "f32, f64", "type of every float field, parameter and input", 0, 0},
    {"single-steps", 0, CLI_FLAG, NULL, "calls once a step instead of the loop", 0, 0},
    {"interpret", 0, CLI_FLAG, NULL, "uses the reference interpreter: slow, the same bits", 0, 0},
    {"output", 'o', CLI_TEXT, "OUT", "writes what was recorded: a folder FOLDER/, NAME.npz, or NAME.csv (scalars)", 0, 0},
    {"ensemble", 0, CLI_INT, "N", "runs N members at once", CLI_LATER, 1},
    {"adaptive", 0, CLI_FLAG, NULL, "chooses the timestep by step doubling", CLI_LATER, 0},
    {"checkpoint", 0, CLI_TEXT, "FILE", "saves the state at the end", CLI_LATER, 0},
    {"resume", 0, CLI_TEXT, "FILE", "starts from a saved state", CLI_LATER, 0},
    {"plot", 0, CLI_TEXT, "OUT.svg", "draws the recorded scalars", CLI_LATER, 0},
};

const cli_command cli_run = {
    .name = "run",
    .operands = "INPUT",
    .summary = "runs a simulation graph",
    .about = "Without -o only a summary is printed. An interrupt ends the run after the current call; what there is, is written.\n"
             "\n"
             "    kiln run rods.yaml -o out/\n"
             "    kiln run spring.yaml --steps 1000 --every 10 --set spring.stiffness=250 -o spring.csv",
    CLI_OPTIONS(options),
    .least = 1,
    .most = 1,
    .cache = CLI_CACHE_ALWAYS,
    .run = run,
};
