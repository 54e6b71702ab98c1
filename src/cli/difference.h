/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two programs, or of two texts, as lines. */
#ifndef KN_CLI_DIFFERENCE_H
#define KN_CLI_DIFFERENCE_H

#include "cli/cli.h"

typedef struct cli_side {
    const char *name;    /* of the file */
    const kiln_prog *p;  /* compared as programs: names of values do not count */
    const char *text;    /* compared as text; where p is NULL */
    size_t n;
} cli_side;

/* Writes what differs, with some lines around: lines of the first alone begin with -, of the second with +. CLI_DONE: they are the same, and
 * nothing is written; CLI_NO: they differ. */
int cli_difference(cli *c, const cli_side *a, const cli_side *b);

#endif
