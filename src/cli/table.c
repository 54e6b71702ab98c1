/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, one row each, in the order of the help, and the options that all of them take. */
#include "cli/cli.h"

#define CLI_COMMANDS(X)                                                                            \
    X(run)                                                                                         \
    X(profile)                                                                                     \
    X(eval)                                                                                        \
    X(show)                                                                                        \
    X(check)                                                                                       \
    X(bench)                                                                                       \
    X(compare)                                                                                     \
    X(counts)                                                                                      \
    X(prims)                                                                                       \
    X(passes)                                                                                      \
    X(nodes)                                                                                       \
    X(errors)                                                                                      \
    X(doctor)                                                                                      \
    X(completion_command)

#define DECLARE(name) extern const cli_command cli_##name;
CLI_COMMANDS(DECLARE)
#define ROW(name) &cli_##name,
const cli_command *const cli_commands[] = {CLI_COMMANDS(ROW) NULL};

const cli_option cli_common[] = {
    {"from", 0, CLI_TEXT, "KIND", "takes the input as KIND (jaxpr, graph, ...) whatever it looks like", 0, 0},
    {"dump", 0, CLI_TEXT, "DIR", "writes every stage of every compile into DIR, numbered and named", CLI_SETTING, 0},
    {"target", 0, CLI_TEXT, "CPU", "compiles for x86-64-v2, x86-64-v3, x86-64-v4, aarch64 or native (the default)", CLI_SETTING, 0},
    {"tier", 0, CLI_CHOICE, "0, 2, auto", "level of code generation; the bits of results do not depend on it", CLI_SETTING, 0},
    {"fast", 0, CLI_TEXT, "MODES", "speed that changes bits: flush (subnormal numbers are zeros), or none (the default)", CLI_SETTING, 0},
    {"threads", 0, CLI_INT, "N", "threads of one call; what processors and container allow by default", CLI_SETTING, 1},
    {"seed", 0, CLI_INT, "N", "seed of everything random", CLI_SETTING | CLI_LATER, 0},
    {"cache", 0, CLI_TEXT, "DIR", "folder of the compile cache, or none", CLI_SETTING, 0},
    {"quiet", 'q', CLI_FLAG, NULL, "prints results and errors only", CLI_SETTING, 0},
    {"verbose", 'v', CLI_FLAG, NULL, "says more on standard error", CLI_SETTING, 0},
    {"help", 'h', CLI_FLAG, NULL, "shows this help", 0, 0},
};
const uint32_t cli_n_common = sizeof cli_common / sizeof *cli_common;
