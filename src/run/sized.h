/* SPDX-License-Identifier: Apache-2.0 */
/* May a program of which one size is given when it runs be compiled once for all sizes? Everything that is made of it (lowered,
 * optimised, loops) is made as for one size, whatever that is; what depends on it otherwise is found and refused here, with the equation
 * and its place. */
#ifndef KN_RUN_SIZED_H
#define KN_RUN_SIZED_H

#include "loop/loop.h"

/* The smallest size at which the program and what is made of it have types, and no equation makes something of nothing: what is padded
 * or joined with something else has an element. Dimensions are a * n + b, and rules of types compare them: what holds at a size and at the
 * number that stands for a very large one holds between them. */
kiln_status kn_sized_least(kiln_ctx *ctx, const kn_prog *traced, const kn_prog *lowered, const kn_prog *optimised, int64_t *least);
/* Is the lowered program that of every size? Are there loops for each equation that do not depend on it? */
kiln_status kn_sized_lowered(kiln_ctx *ctx, const kn_prog *traced, const kn_prog *lowered, int64_t least);
kiln_status kn_sized_kinds(kiln_ctx *ctx, const kn_prog *optimised);
/* Are the loops? They are made again, of the program at another size. */
kiln_status kn_sized_loops(kiln_ctx *ctx, const kn_prog *traced, const kn_loop_options *o, const kn_loops *loops);

#endif
