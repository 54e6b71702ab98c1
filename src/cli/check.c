/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* Reads one input without running it. */
static int check_input(cli *c, cli_input *in)
{
    if (in->kind != CLI_JAXPR) return cli_input_refuse(c, in, "programs and graphs");
    kiln_prog *p;
    if (kiln_prog_parse(c->ctx, in->bytes.s, in->bytes.n, in->name, &p) != KILN_OK) return cli_fail(c);
    kiln_prog_release(p);
    return CLI_DONE;
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
    {"interpret", 0, CLI_FLAG, NULL, "runs self-checking modules in the interpreter", CLI_LATER, 0},
    {"compiled", 0, CLI_FLAG, NULL, "runs self-checking modules compiled", CLI_LATER, 0},
};

const cli_command cli_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "reads inputs without running them and says what is wrong with them",
    .about = "The last line counts: N passed, N failed. The exit code is 2 when a file is refused.",
    CLI_OPTIONS(options),
    .least = 1,
    .most = -1,
    .run = run,
};
