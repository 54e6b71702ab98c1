/* SPDX-License-Identifier: Apache-2.0 */
/* A program in its written forms: jaxpr, StableHLO, HLO, a graph, a picture of it. */
#ifndef KN_CLI_FORMS_H
#define KN_CLI_FORMS_H

#include "base/text.h"
#include "cli/cli.h"

/* A program at a stage. */
typedef struct cli_shown {
    const kiln_prog *p;
    const kiln_prog *fused; /* of an optimised program: with its nests as functions; or NULL */
    const char *stage;
    const char *name;       /* of the input, as files are named */
} cli_shown;

/* Prints one form (--format), or with `-o FOLDER/` writes all into it, a file each: NAME.jaxpr, .mlir, .hlo, .dot, .svg; behind the
 * first stage NAME.STAGE.jaxpr and so on. What cannot be made is left out there with a warning. Exit code. */
int cli_forms(cli *c, const cli_shown *s);
kiln_status cli_form_text(cli *c, const cli_shown *s, const char *format, kn_text *t); /* appends one form */
bool cli_form_is_fused(const char *format); /* shows nests */
bool cli_to_folder(const cli *c);           /* -o FOLDER/ */

/* ---- picture.c ---- */

/* Draws a graph as SVG by Graphviz's `dot`. Errors: KILN_IO it is not there, or fails. */
kiln_status cli_picture(cli *c, const char *graph, size_t n, kn_text *svg);

#endif
