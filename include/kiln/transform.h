/* SPDX-License-Identifier: Apache-2.0 */
/** Transformations: from a program a new program; the old one is not changed.
 *
 *      kiln_prog *f, *g;
 *      kiln_prog_grad(ctx, f, (uint32_t[]){0}, 1, &g);
 *
 *  A program is a function of flat lists. "float" means a floating-point or complex element type: only such operands and
 *  results have tangents and cotangents, the others are left out of these lists. docs/transforms.md explains each with an
 *  example.
 */
#ifndef KILN_TRANSFORM_H
#define KILN_TRANSFORM_H

#include "kiln/prog.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Applies words, the outermost first: `grad:0`, `vmap:0,None(grad:0)`, `jvp(vjp)`.
 *
 *      word ::= name (":" argument ("," argument)*)? ("(" word ")")?
 *
 *  | word | operands | results |
 *  |---|---|---|
 *  | `jvp` | operands, then one tangent per float operand | results, then one tangent per float result |
 *  | `linearize` | the same | the tangents of the float results |
 *  | `vjp` | operands, then one cotangent per float result | one cotangent per float operand |
 *  | `grad:i,j` | operands | gradients in operands i, j; the one result must be a float scalar |
 *  | `value_and_grad:i,j` | operands | results (the first a float scalar, the others auxiliary), then gradients |
 *  | `hvp:i` | operands, then a direction | the Hessian in operand i times the direction |
 *  | `jacfwd:i,j`, `jacrev:i,j` | operands | per float result, per operand: an array of shape result + operand |
 *  | `hessian:i,j` | operands | as `jacfwd:i,j(jacrev:i,j)` |
 *  | `vmap:a,b,..` | per operand an axis or `None` (`0*8`: axis 0, with 8 lanes) | a new axis 0 in every result |
 *  | `sum` | operands | the sum of all elements of the first result |
 *  | `checkpoint`, `checkpoint:dots`, `checkpoint:NAME,..` | operands | results; reverse derivatives compute values again |
 *
 *  @param operands  types of the operands of the outermost word, which say how many lanes there are; NULL: every vmap says it itself
 *  Errors: KILN_INVALID a word is not one of these, an operand does not exist, a derivative in an integer; KILN_SHAPE; KILN_UNSUPPORTED
 *  a primitive without the rule (named, with its source line); KILN_NOMEM. Threads: the context's.
 *  Cost: linear in the result. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_transform(kiln_ctx *ctx, const kiln_prog *p, const char *word, const kiln_type *operands,
                                                        uint32_t n_operands, kiln_prog **out);

/** In place of an axis: an operand that all lanes share, a result that does not depend on the lane. */
#define KILN_NO_AXIS (-1)

/** The program over many lanes at once: what a loop over the lanes would compute, bit for bit.
 *  @param lanes     how many there are
 *  @param axes      per operand the axis along which its lanes stand, or KILN_NO_AXIS; at least one has an axis
 *  @param out_axes  per result the axis along which its lanes shall stand; NULL: 0 for all
 *  Equations whose operands are the same for all lanes are computed once. A while that the lanes leave at different times runs in each
 *  lane as long as it must; of a cond a lane computes its own branch only, unless the branches are small.
 *  Errors: KILN_INVALID no operand has lanes, or a result without an axis depends on them; KILN_SHAPE an axis does not exist; KILN_UNSUPPORTED a
 *  primitive without the rule, too many dimensions; KILN_NOMEM. Threads: the context's. Cost: linear in the program. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_vmap(kiln_ctx *ctx, const kiln_prog *p, int64_t lanes, const int *axes, const int *out_axes,
                                                   kiln_prog **out);

/** A custom derivative, by the name that stands in the program. Either `jvp`: (operands, tangents) -> (results, tangents); or `fwd`:
 *  operands -> (results, residuals) and `bwd`: (residuals, cotangents) -> cotangents. */
typedef struct kiln_custom_rule {
    const char *name;
    const kiln_prog *jvp, *fwd, *bwd; /**< NULL: not given */
    uint32_t residuals;               /**< how many results of `fwd` are residuals */
} kiln_custom_rule;

/** The program with custom derivatives: text names them but does not hold them.
 *  Errors: KILN_NOTFOUND no call has this name; KILN_INVALID operands or results of a rule do not fit; KILN_NOMEM. Threads: the
 *  context's. Cost: linear. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_with_rules(kiln_ctx *ctx, const kiln_prog *p, const kiln_custom_rule *rules, uint32_t n,
                                                         kiln_prog **out);

#ifdef __cplusplus
}
#endif
#endif
