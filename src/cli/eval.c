/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <stdlib.h>

static int evaluate(cli *c, const kiln_prog *p, kiln_array **in, kiln_array **out)
{
    if (!cli_has(c, "interpret")) return cli_broken(c, "this build has no compiler: --interpret uses the reference interpreter");
    if (kiln_prog_eval(c->ctx, p, in, out) != KILN_OK) return cli_fail(c);
    const char *path = cli_text(c, "output", NULL), *expect = cli_text(c, "expect", NULL);
    int code = path || !expect ? cli_values_write(c, p, path, out) : CLI_DONE;
    if (code == CLI_DONE && expect) code = cli_values_expect(c, p, expect, out, cli_number(c, "rtol", 0), cli_number(c, "atol", 0));
    cli_values_free(out, kiln_prog_n_outputs(p));
    return code;
}

static int run(cli *c)
{
    kiln_prog *p;
    int code = cli_program_read(c, c->operands[0], &p);
    if (code != CLI_DONE) return code;
    uint32_t n = kiln_prog_n_inputs(p), m = kiln_prog_n_outputs(p);
    kiln_array **in = calloc((size_t)n + 1, sizeof *in), **out = calloc((size_t)m + 1, sizeof *out);
    code = in && out ? cli_values_read(c, p, c->operands + 1, c->n_operands - 1, in) : cli_broken(c, "out of memory");
    if (code == CLI_DONE) {
        code = evaluate(c, p, in, out);
        cli_values_free(in, n);
    }
    free(in);
    free(out);
    kiln_prog_release(p);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "OUT", "writes results out0, out1, ...: NAME.npz, NAME.npy, or a folder FOLDER/", 0, 0},
    {"interpret", 0, CLI_FLAG, NULL, "uses the reference interpreter", 0, 0},
    {"expect", 0, CLI_TEXT, "REF.npz", "compares the results with out0, out1, ... of an archive; exit code 1 when they differ", 0, 0},
    {"rtol", 0, CLI_NUMBER, "R", "relative tolerance of --expect (0)", 0, 0},
    {"atol", 0, CLI_NUMBER, "A", "absolute tolerance of --expect (0)", 0, 0},
    {"transform", 0, CLI_TEXT, "WORD", "transforms the program first", CLI_LATER, 0},
    {"rule", 0, CLI_TEXT, "RULE", "gives a custom rule", CLI_LATER | CLI_MANY, 0},
    {"nan-check", 0, CLI_FLAG, NULL, "stops at the first NaN", CLI_LATER, 0},
};

const cli_command cli_eval = {
    .name = "eval",
    .operands = "PROGRAM IN...",
    .summary = "runs a program",
    .about = "Inputs stand in the order of the program's binders: .npy files, or texts such as f32[2,3]:1,2,3,4,5,6 (one\n"
             "element fills an array); or one .npz that holds them by name. Without -o the results are printed, short.\n"
             "\n"
             "    kiln eval f.jaxpr x.npy 'f64[]:2.5' -o out.npz",
    CLI_OPTIONS(options),
    .least = 1,
    .most = -1,
    .run = run,
};
