/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on graphs share. */
#ifndef KN_CLI_GRAPH_H
#define KN_CLI_GRAPH_H

#include "cli/cli.h"
#include "kiln/graph.h"

/* Loads a graph as --let, --set, --precision and --interpret say. CLI_DONE, or the exit code after the message. */
int cli_graph_load(cli *c, const char *path, kiln_graph **out);

#endif
