/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of `kiln bench`. */
#ifndef KN_CLI_BENCH_H
#define KN_CLI_BENCH_H

#include "cli/cli.h"

/* The layer max(0, w x + b) of 64 inputs and 32 outputs over a batch, in one of three forms. */
typedef struct cli_layer_form {
    const char *name;
    kiln_status (*make)(kiln_ctx *ctx, int64_t batch, kiln_prog **out);
} cli_layer_form;
enum { CLI_LAYER_FORMS = 3, CLI_LAYER_IN = 64, CLI_LAYER_OUT = 32 };
extern const cli_layer_form cli_layer_forms[CLI_LAYER_FORMS];

int cli_bench_batching(cli *c);

#endif
