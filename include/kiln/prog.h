/* SPDX-License-Identifier: Apache-2.0 */
/** Programs: immutable, reference counted, shareable between threads. However a program was made (traced in C, read from
 *  text), it is printed, evaluated, compiled by the calls below. */
#ifndef KILN_PROG_H
#define KILN_PROG_H

#include "kiln/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_prog kiln_prog;

KILN_API kiln_prog *kiln_prog_retain(kiln_prog *p); /**< atomic; returns p */
KILN_API void kiln_prog_release(kiln_prog *p);      /**< atomic; NULL is fine */

KILN_API uint32_t kiln_prog_n_inputs(const kiln_prog *p); /**< constants do not count */
KILN_API uint32_t kiln_prog_n_outputs(const kiln_prog *p); /**< results */
/** Types and names of inputs and outputs; they live as long as the program. A name is "" where none was given. */
KILN_API kiln_type kiln_prog_input_type(const kiln_prog *p, uint32_t i);
KILN_API kiln_type kiln_prog_output_type(const kiln_prog *p, uint32_t i);
KILN_API const char *kiln_prog_input_name(const kiln_prog *p, uint32_t i);
KILN_API const char *kiln_prog_output_name(const kiln_prog *p, uint32_t i);
/** The first input or output of this name, or -1. */
KILN_API int64_t kiln_prog_find_input(const kiln_prog *p, const char *name);
KILN_API int64_t kiln_prog_find_output(const kiln_prog *p, const char *name);
/** Equations, nested bodies counted once each. */
KILN_API uint64_t kiln_prog_n_equations(const kiln_prog *p);

/** Reads a program from jaxpr text (`{ lambda ; a:f32[3]. let ... }`), either dialect, in which it prints, or from StableHLO text
 *  (`module { func.func ...`), or from HLO text (`HloModule ...`): told apart by what they hold.
 *  @param file  name used in messages
 *  Errors: KILN_INVALID with line and column: the text is not a program, a name is not bound, a type does not fit;
 *  KILN_UNSUPPORTED effects, references, what docs/stablehlo.md lists, binary forms; KILN_NOMEM. Threads: the context's.
 *  Cost: linear in the text. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kiln_prog **out);
/** The same from a file.
 *  Errors: those of kiln_prog_parse; KILN_NOTFOUND, KILN_IO. Threads: the context's. Cost: linear in the text. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_load(kiln_ctx *ctx, const char *path, kiln_prog **out);

/** Prints as jaxpr text; `width` 0 is unlimited. The text ends with a newline and is freed with kiln_text_free. Reading it gives
 *  an equal program (constants print without their values).
 *  Errors: KILN_NOMEM; KILN_UNSUPPORTED bodies nested more than 256 deep. Threads: the context's. Cost: linear. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_print(kiln_ctx *ctx, const kiln_prog *p, unsigned width, char **text, size_t *n);
KILN_API void kiln_text_free(kiln_ctx *ctx, char *text, size_t n);

/** Evaluates with the reference interpreter: slow and obvious, the oracle for compiled code.
 *  @param in   one array per input, of its type
 *  @param out  receives new arrays, to be released by the caller
 *  Errors: KILN_SHAPE, KILN_DTYPE an input of another type; KILN_UNSUPPORTED a primitive without rules, a constant without a
 *  value; KILN_NOMEM. Threads: the context's. Cost: an array for every value. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_eval(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, kiln_array **out);

#ifdef __cplusplus
}
#endif
#endif
