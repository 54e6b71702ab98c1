/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with inputs and wanted values, as the shared cases hold them: a folder with case.json and arrays in files, or NAME.json with
 * inputs by formula and summaries of the results. */
#ifndef BENCH_PROGRAMS_CASE_H
#define BENCH_PROGRAMS_CASE_H

#include "bench.h"
#include "kiln/kiln.h"

typedef struct program_case {
    char *name, *what, *text; /* text: path of the program */
    char *folder;             /* that names of files are relative to */
    json_t *about;
} program_case;

/* Of the folder `programs`, its folder bench/, and every large.json; by name. Ends the list with a NULL name. NULL: there is no such folder,
 * or no memory. To be freed with programs_free. */
program_case *programs_find(const char *folder, size_t *n);
void programs_free(program_case *c);

size_t program_inputs(const program_case *c);
size_t program_outputs(const program_case *c);
/* A new array, of type t where the case has a formula; false: said on standard error. */
bool program_input(bench *b, kiln_ctx *ctx, const program_case *c, size_t k, kiln_type t, kiln_array **out);
/* What may differ from the wanted value w: atol + rtol |w|. */
void program_tolerance(const program_case *c, size_t k, double *rtol, double *atol);
/* Compares result k with what is wanted; says on standard error where it differs. */
bool program_wants(bench *b, kiln_ctx *ctx, const program_case *c, size_t k, const kiln_array *got);

#endif
