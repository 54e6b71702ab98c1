/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/graph.h"

static int put(cli *c, const kiln_profile *p, const char *path, kiln_status (*write)(kiln_ctx *, const kiln_profile *, char **, size_t *))
{
    char *text;
    size_t n;
    if (write(c->ctx, p, &text, &n) != KILN_OK) return cli_fail(c);
    kiln_status status = cli_write(c, path, text, n);
    kiln_text_free(c->ctx, text, n);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

static int run(cli *c)
{
    enum { SCAN_STEPS = 16 };
    kiln_graph *g;
    kiln_profile *p = NULL;
    int code = cli_graph_load(c, c->operands[0], &g);
    if (code != CLI_DONE) return code;
    kiln_graph_profile_opts o = KILN_GRAPH_PROFILE_OPTS_INIT;
    o.steps = cli_int(c, "steps", 0);
    o.warmup = cli_int(c, "warmup", 0);
    o.stat_steps = cli_int(c, "stat-steps", 0);
    o.scan_steps = cli_int(c, "scan-steps", cli_has(c, "counts") ? SCAN_STEPS : 0);
    o.no_measure_coupling = cli_has(c, "no-measure-coupling");
    o.stop = cli_catch_interrupt();
    const char *json = cli_text(c, "json", NULL);
    if (kiln_graph_profile(c->ctx, g, &o, &p) != KILN_OK) code = cli_fail(c);
    if (code == CLI_DONE && !(json && cli_is_stdout(json))) code = put(c, p, "-", kiln_profile_text);
    if (code == CLI_DONE && json) code = put(c, p, json, kiln_profile_json);
    kiln_profile_release(p);
    kiln_graph_release(g);
    return code;
}

static const cli_option options[] = {
    {"steps", 0, CLI_INT, "N", "times N steps (100)", 0, 1},
    {"warmup", 0, CLI_INT, "N", "makes N steps before them, the first one included (3)", 0, 1},
    {"stat-steps", 0, CLI_INT, "N", "counts iterations from the start, over exactly N steps after the warm-up", 0, 1},
    {"no-measure-coupling", 0, CLI_FLAG, NULL, "estimates what iterations cost instead of timing steps with one", 0, 0},
    {"counts", 0, CLI_FLAG, NULL, "adds the compile counts of the loop over steps, as --scan-steps 16", 0, 0},
    {"scan-steps", 0, CLI_INT, "N", "adds the compile counts of the loop over steps, after a run of N", 0, 1},
    {"json", 0, CLI_TEXT, "FILE", "writes the report as JSON too; - is standard output, without the text", 0, 0},
    {"let", 0, CLI_TEXT, "NAME=VALUE", "gives a `let` of the file another value", CLI_MANY, 0},
    {"set", 0, CLI_TEXT, "NODE.PARAM=VALUE", "sets a parameter; never compiles", CLI_MANY, 0},
    {"precision", 0, CLI_CHOICE, "f32, f64", "type of every float field, parameter and input", 0, 0},
    {"html", 0, CLI_TEXT, "FILE", "writes the report as a page", CLI_LATER, 0},
    {"trace", 0, CLI_TEXT, "FILE", "records spans of a few steps", CLI_LATER, 0},
    {"perfetto", 0, CLI_TEXT, "FILE", "writes the report as bars of a trace viewer", CLI_LATER, 0},
};

const cli_command cli_profile = {
    .name = "profile",
    .operands = "INPUT",
    .summary = "says where a step of a simulation graph spends its time",
    .about = "Steps are timed one by one, each node's update alone in a native loop, the coupling against steps of one iteration,\n"
             "and scopes inside the step by instrumented code. docs/profile.md says what each line means.\n"
             "\n"
             "    kiln profile rods.yaml\n"
             "    kiln profile rods.yaml --steps 1000 --counts --json rods.json",
    CLI_OPTIONS(options),
    .least = 1,
    .most = 1,
    .run = run,
};
