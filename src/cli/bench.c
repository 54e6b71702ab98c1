/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln bench KIND`: studies of what a choice costs. */
#include "cli/bench.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(cli *c); /* NULL: of a later version */
} kinds[] = {{"batching", cli_bench_batching}, {"program", NULL}, {"coupling", NULL}, {"sweep", NULL}, {"model", NULL}, {"calculator", NULL}};

static int run(cli *c)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kinds[k].name, c->operands[0]) != 0) continue;
        return kinds[k].run ? kinds[k].run(c) : cli_bad(c, "unsupported", "kiln bench %s is not supported by this version; there is batching", kinds[k].name);
    }
    return cli_bad(c, "usage", "no kind of benchmark '%s'; there is batching", c->operands[0]);
}

static const cli_option options[] = {
    {"sizes", 0, CLI_TEXT, "N,N,..", "batches to measure (1,2,4,...,1024)", 0, 0},
    {"forms", 0, CLI_TEXT, "FORM,..", "some of loop, map, vmap (all)", 0, 0},
    {"json", 0, CLI_TEXT, "FILE", "writes the record, which kiln compare reads", 0, 0},
    {"plot", 0, CLI_TEXT, "OUT.svg", "draws the times over the batch", 0, 0},
    {"beside", 0, CLI_TEXT, "FILE", "draws the curves of another record beside them, dashed", 0, 0},
};

const cli_command cli_bench = {
    .name = "bench",
    .operands = "KIND",
    .summary = "measures what a choice costs",
    .about = "`batching` compares three ways from a program for one sample to one for many, on a layer of a network, max(0, w x + b): its equations "
             "written out for every sample (loop), once in the body of a loop (map), once over all samples (vmap). The results are compared to the bit, "
             "then the forms are called in turn. For each batch and form it prints equations, nests, the time of a compile and of a call, and the bytes "
             "of inputs, results and temporaries together.\n\n"
             "    kiln bench batching --sizes 1,16,256 --forms map,vmap --plot batching.svg\n\n"
             "Exit code 1: results differ.",
    CLI_OPTIONS(options),
    .least = 1,
    .most = 1,
    .cache = CLI_CACHE_NEVER,
    .run = run,
};
