/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of which one size is given when they run (array/size.h). */
#ifndef KN_IR_SIZE_H
#define KN_IR_SIZE_H

#include "array/size.h"
#include "ir/ir.h"

/* Has some input such a size? */
bool kn_prog_open(const kn_prog *p);
/* Does a parameter of one of n equations, or of their bodies, hold one? */
bool kn_eqns_use_size(const kn_eqn *e, uint32_t n);
/* The size that the arrays have, one for each input; that of a program without one is 0. Errors: KILN_SHAPE, KILN_DTYPE an input of
 * another type, or of another size than those before. `who` begins the message. */
kiln_status kn_prog_size_of(kiln_ctx *ctx, const kn_prog *p, kiln_array *const *in, const char *who, int64_t *n);
/* The same of types; names (may be NULL, or "" for some) are for the message. */
kiln_status kn_size_of_arrays(kiln_ctx *ctx, const kiln_type *want, const char *const *names, uint32_t count, kiln_array *const *in, const char *who,
                              int64_t *n);
/* The program at size n: no dimension of it is open any more. Errors: of the equation that has no type there, with its place. */
kiln_status kn_prog_at(kiln_ctx *ctx, const kn_prog *p, int64_t n, kn_prog **out);
/* A compile that stops: `who`, an operation or the program, would be another one at another size. */
kiln_status kn_needs_size(kiln_ctx *ctx, const kn_prog *p, const char *who, kn_loc loc, const char *why);
/* A type where n is `at`, its dims in `dims`. */
kiln_type kn_type_at(kiln_type t, int64_t at, int64_t dims[KN_RANK_LIMIT]);

#endif
