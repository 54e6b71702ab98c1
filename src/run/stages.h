/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a compile as text, for `kiln show`; loops compiled from their text. */
#ifndef KN_RUN_STAGES_H
#define KN_RUN_STAGES_H

#include "kiln/exec.h"
#include "loop/loop.h"

/* The options after defaults are filled in and checked. */
typedef struct kn_resolved {
    kiln_compile_opts o; /* target is set */
    kn_loop_options loops;
} kn_resolved;
/* Where loops are split sooner than usual, threads are content with less. */
static inline double kn_split_share(const kn_resolved *r) { return r->o.split_cost / 4; }
kiln_status kn_runs_here(kiln_ctx *ctx, const char *target); /* KILN_INVALID: not code for this target */
kiln_status kn_compile_resolve(kiln_ctx *ctx, const kiln_compile_opts *opts, kn_resolved *out);

/* One stage of a loops program: "llvm", "asm" or "object". Freed with kiln_text_free. */
kiln_status kn_loops_stage(kiln_ctx *ctx, const kn_loops *l, const kn_resolved *r, const char *stage, char **text, size_t *n);

/* Compiles loops. Arrays of inputs and outputs are one-dimensional, of the sizes of their slots (a slot that never occurs is
 * an array of no elements); one array a constant. */
kiln_status kn_compile_loops(kiln_ctx *ctx, const kn_loops *l, kiln_array *const *consts, const kiln_compile_opts *opts, kiln_exec **out);

/* Compiles into the cache and loads nothing: for any target, whether this processor runs it or not. */
kiln_status kn_compile_keep(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts);

/* "traced", "lowered", "optimised", "loops", "copies" (those that the loops make, each with its reason), "llvm", "asm" */
kiln_status kn_compile_stage(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts, const char *stage, char **text, size_t *n);

/* The optimised program with its nests as calls of functions named fused_..: what stands in one loop nest, with all that is computed
 * where it is read, is one function. */
kiln_status kn_fused_program(kiln_ctx *ctx, const kiln_prog *optimised, kiln_prog **out);

#endif
