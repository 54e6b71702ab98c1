/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "hlo/hlo.h"

#include "hlo/check.h"

static int read_only(cli *c, const cli_input *in)
{
    kiln_prog *p;
    if (kn_prog_parse_packed(c->ctx, &in->packed, in->name, &p) != KILN_OK) return cli_fail(c);
    kiln_prog_release(p);
    return CLI_DONE;
}

static void show_failure(void *ud, const char *line)
{
    (void)ud;
    printf("%s\n", line);
}

static kiln_status run_compiled(kiln_ctx *ctx, const kiln_prog *p, kiln_array **out)
{
    kiln_exec *f;
    kiln_status s = kiln_compile(ctx, p, NULL, &f);
    if (s != KILN_OK) return s;
    s = kiln_exec_call(ctx, f, NULL, out);
    kiln_exec_release(f);
    return s;
}

/* A module that checks itself is run, on both sides unless one is asked for. */
static int check_module(cli *c, const cli_input *in)
{
    bool checks;
    if (kn_hlo_has_checks(c->ctx, &in->packed, in->name, &checks) != KILN_OK) return cli_fail(c);
    if (!checks) return read_only(c, in);
    bool interpret = cli_has(c, "interpret"), compiled = cli_has(c, "compiled");
    kn_check_options o = {.interpret = interpret || !compiled, .compiled = compiled || !interpret, .run_compiled = run_compiled, .failure = show_failure};
    kn_check_result r;
    if (kn_hlo_check(c->ctx, &in->packed, in->name, &o, &r) != KILN_OK) return cli_fail(c);
    return r.failures ? CLI_NO : CLI_DONE;
}

static int check_input(cli *c, cli_input *in)
{
    if (in->kind == CLI_STABLEHLO) return check_module(c, in);
    if (in->kind == CLI_GRAPH) {
        kiln_graph *g;
        kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
        o.text = in->packed.text.s;
        if (kiln_graph_load(c->ctx, in->name, &o, &g) != KILN_OK) return cli_fail(c);
        kiln_graph_release(g);
        return CLI_DONE;
    }
    if (in->kind != CLI_JAXPR && in->kind != CLI_HLO) return cli_input_refuse(c, in, "programs and graphs");
    return read_only(c, in);
}

static int run(cli *c)
{
    int passed = 0, failed = 0, worst = CLI_DONE;
    for (int i = 0; i < c->n_operands; i++) {
        cli_input in;
        int code = cli_input_read(c, c->operands[i], &in);
        if (code == CLI_DONE) {
            code = check_input(c, &in);
            cli_input_free(c, &in);
        }
        if (code == CLI_DONE) passed++;
        else failed++;
        if (code > worst) worst = code;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return worst;
}

static const cli_option options[] = {
    {"interpret", 0, CLI_FLAG, NULL, "runs self-checking modules in the interpreter only", 0, 0},
    {"compiled", 0, CLI_FLAG, NULL, "runs self-checking modules compiled only", 0, 0},
};

const cli_command cli_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "reads inputs and says what is wrong with them; runs modules that check themselves",
    .about = "A StableHLO module that compares values with what they should be (check.expect_eq and the like) is run, interpreted\n"
             "and compiled; each failure is one line: function, check, first differing index, both values, ULP distance.\n"
             "The last line counts: N passed, N failed. The exit code is 1 when a check fails, 2 when a file is refused.",
    CLI_OPTIONS(options),
    .least = 1,
    .most = -1,
    .cache = CLI_CACHE_NEVER,
    .run = run,
};
