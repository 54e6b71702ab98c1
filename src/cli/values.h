/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that the command reads, writes and compares. */
#ifndef KN_CLI_VALUES_H
#define KN_CLI_VALUES_H

#include "cli/cli.h"

/* The arguments of a program: files, texts "f32[2]:1,2", or one archive by name. `out` holds one array per input; on success
 * they belong to the caller. */
int cli_values_read(cli *c, const kiln_prog *p, char **from, int n, kiln_array **out);
/* The arrays that arguments hold, of any types; an archive's are in its own order. *out is the caller's, to be freed after its arrays. */
int cli_values_load(cli *c, char **from, int n, kiln_array ***out, uint32_t *n_out);
/* Writes results called out0, out1, ...: an archive, a folder (the name ends in /) of .npy, one .npy, or short to the screen
 * when path is NULL. */
int cli_values_write(cli *c, const kiln_prog *p, const char *path, kiln_array *const *values);
/* Compares with an archive of out0, ...: |got - want| <= atol + rtol |want|; integers and bools exactly. CLI_NO and a line for
 * each array that differs. */
int cli_values_expect(cli *c, const kiln_prog *p, const char *path, kiln_array *const *values, double rtol, double atol);
void cli_values_free(kiln_array **values, uint32_t n); /* the arrays, not the list */

/* --residuals and --wrt of show (residuals.c). */
int cli_residuals(cli *c, const kiln_prog *p);

#endif
