/* SPDX-License-Identifier: Apache-2.0 */
/** Transformations: from a program a new program; the old one is not changed.
 *
 *      kiln_prog *f, *g;
 *      kiln_prog_grad(ctx, f, (uint32_t[]){0}, 1, false, &g);
 *
 *  There is a function for each; kiln_prog_transform nests them by a word, which is what `kiln eval --transform` takes. Both are the
 *  same machinery. What a function makes is a program like any other, so transformations go on top of one another in any order.
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
 *  | `jvp`, `jvp:i,j` | operands, then one tangent per float operand (or for operands i, j alone) | results, then one tangent per float result |
 *  | `linearize`, `linearize:i,j` | the same | the tangents of the float results |
 *  | `transpose:i,j` | the operands but i, j, in which the program is linear; then one cotangent per float result | cotangents of operands i, j |
 *  | `vjp`, `vjp:i,j` | operands, then one cotangent per float result | one cotangent per float operand (or for operands i, j alone) |
 *  | `grad:i,j` | operands | gradients in operands i, j; the one result must be a float scalar |
 *  | `grad:i,j,aux` | operands | the same of the first result; then the other results, which are auxiliary |
 *  | `value_and_grad:i,j` | operands | results (the first a float scalar, the others auxiliary), then gradients |
 *  | `hvp:i` | operands, then a direction | the Hessian in operand i times the direction |
 *  | `jacfwd:i,j`, `jacrev:i,j` | operands | per float result, per operand: an array of shape result + operand |
 *  | `sparse_jacobian:i` | operands | per float result: `indptr`, `indices`, `values` of its Jacobian in operand i |
 *  | `hessian:i,j` | operands | as `jacfwd:i,j(jacrev:i,j)` |
 *  | `vmap:a,b,..` | per operand an axis or `None` (`0*8`: axis 0, with 8 lanes; `0*n`: as many as there are at each call) | a new axis 0 in every result |
 *  | `vmap:a,b,..->c,d,..` | the same | lanes along these axes of the results; `None`: the result has none |
 *  | `sum` | operands | the sum of all elements of the first result |
 *  | `checkpoint`, `checkpoint:log`, `checkpoint:log,1000`, `checkpoint:dots`, `checkpoint:NAME,..` | operands | results; reverse derivatives compute values again |
 *
 *  @param operands  types of the operands of the outermost word, which say how many lanes there are; NULL: every vmap says it itself
 *  Errors: KILN_INVALID a word is not one of these, an operand does not exist, a derivative in an integer; KILN_SHAPE; KILN_UNSUPPORTED
 *  a primitive without the rule (named, with its source line); KILN_NOMEM. Threads: the context's.
 *  Cost: linear in the result. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_transform(kiln_ctx *ctx, const kiln_prog *p, const char *word, const kiln_type *operands,
                                                        uint32_t n_operands, kiln_prog **out);

/** Forward derivative (Jacobian times vector): the values, and how they change with the operands.
 *
 *      operands, then one tangent per operand in `wrt`  ->  results, then one tangent per float result
 *
 *  @param wrt  operands that have tangents, rising; NULL with n 0: all float operands. A tangent has its operand's type
 *  A tangent that is zero for every input costs nothing: equations without tangents are copied as they are.
 *  Errors: KILN_INVALID an operand that does not exist, or a custom_vjp, which has no forward derivative; KILN_DTYPE one that is no
 *  float; KILN_UNSUPPORTED a primitive without the rule (named, with its source line); KILN_NOMEM. Threads: the context's.
 *  Cost: linear in the program; what it makes costs 2 to 3 times the value.
 *  Paper: Wengert, A simple automatic derivative evaluation program, CACM 7 (1964). Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_jvp(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out);

/** The same in two programs, so that many tangents share one evaluation of the values:
 *
 *      forward   operands            ->  results, then residuals
 *      map       residuals, tangents ->  one tangent per float result
 *
 *  `map` is linear in the tangents. Residuals are what it reads of the values; one that is an operand stands among the results of
 *  `forward` as it is.
 *  @param forward  NULL: `map` takes (operands, tangents), and evaluates the values that it needs
 *  @param wrt      as of kiln_prog_jvp; there are n tangents, or one per float operand
 *  Errors: as kiln_prog_jvp. Threads: the context's. Cost: linear in the program.
 *  Paper: Radul, Paszke, Frostig, Johnson, Maclaurin, You only linearize once: tangents transpose to gradients, POPL 2023. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_linearize(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **forward,
                                                        kiln_prog **map);

/** The transpose of a program that is linear in some operands: <u, A v> = <A' u, v>. Complex numbers are not conjugated.
 *
 *      the other operands, then one cotangent per float result  ->  one cotangent per operand in `linear`
 *
 *  @param linear  operands, rising; NULL with n 0: all float operands. With kiln_prog_linearize: the tangents of `map`
 *  What is added to the linear part (an affine program) has no part in the transpose.
 *  Errors: KILN_INVALID, KILN_DTYPE as kiln_prog_jvp; KILN_UNSUPPORTED an equation that is not linear in these operands, by
 *  name: a branch or a number of trips that depends on them, too; KILN_NOMEM. Threads: the context's. Cost: linear in the program; what it makes costs what the program does. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_transpose(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *linear, uint32_t n, kiln_prog **out);

/** Reverse derivative (vector times Jacobian).
 *
 *      operands, then one cotangent per float result  ->  one cotangent per operand in `wrt`
 *
 *  The values are evaluated once and what the way back reads of them is kept (`kiln show --residuals` lists it); loops keep theirs by trips,
 *  `while` runs again from snapshots (docs/transforms.md).
 *  @param wrt  operands, rising; NULL with n 0: all float operands
 *  Errors: as kiln_prog_jvp, but a custom_vjp is fine. Threads: the context's. Cost: linear in the program; what it makes costs at most
 *  about 3.5 times the value, however many operands there are.
 *  Paper: Speelpenning, Compiling fast partial derivatives of functions given by algorithms, 1980; Griewank and Walther, Evaluating derivatives, 2008, 3.2.
 *  Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_vjp(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out);

/** Gradients of the first result, a real scalar.
 *
 *      operands  ->  gradients in the operands `wrt`, in this order, each of its operand's type; then the auxiliary results
 *
 *  @param wrt      at least one operand, in any order
 *  @param has_aux  the program has more results, which are not differentiated; without it there must be one
 *  Errors: KILN_INVALID no operand, one that does not exist, more than one result without has_aux; KILN_DTYPE an operand that is no float;
 *  KILN_SHAPE the first result is no real scalar; KILN_UNSUPPORTED a primitive without the rule; KILN_NOMEM. Threads: the context's.
 *  Cost: linear in the program; what it makes costs at most about 3.5 times the value. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_grad(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, bool has_aux, kiln_prog **out);

/** The same with the values: operands -> all results (the first is differentiated, others are auxiliary), then gradients.
 *  Errors: as kiln_prog_grad. Threads: the context's. Cost: that of kiln_prog_grad: the values are evaluated once. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_value_and_grad(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, bool has_aux,
                                                             kiln_prog **out);

/** Dense Jacobians, column by column: for each float result, for each operand of `wrt`, an array of shape result + operand.
 *  The values are evaluated once; each column is one application of the linear map, in a loop, so that memory is that of one column.
 *  Errors: as kiln_prog_grad, of any number of results; KILN_UNSUPPORTED a Jacobian with too many dimensions. Threads: the context's.
 *  Cost: linear in the program; what it makes costs the value and about 1.5 values per element of the operands. Use it where there are fewer
 *  operands' elements than results'; kiln_prog_jacrev otherwise; kiln_prog_sparse_jacobian where most elements are zero. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_jacfwd(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out);
/** The same row by row: the transposed map of each unit cotangent.
 *  Errors: as kiln_prog_jacfwd. Threads: the context's. Cost: linear in the program; what it makes costs the value and about 2.5 values per element of
 *  the results. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_jacrev(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out);

/** Second derivatives, kiln_prog_jacfwd of kiln_prog_jacrev: for each float result, for each i in `wrt`, for each k in `wrt`, an array of shape
 *  result + operand i + operand k.
 *  Errors: as kiln_prog_jacfwd. Threads: the context's. Cost: linear in the program; what it makes costs about 4 values per element of the operands and of
 *  the results. Where a direction is enough, kiln_prog_hvp costs two gradients. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_hessian(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n, kiln_prog **out);

/** What is known of a sparse Jacobian before it is computed. */
typedef struct kiln_sparse_info {
    uint32_t rows, columns, elements; /**< elements of all float results, of the operand; those that are stored */
    uint32_t colours;                 /**< passes: applications of the linear map (reverse: of its transpose) */
    bool reverse;
} kiln_sparse_info;

/** The Jacobian in one operand, as compressed rows: for each float result `indptr` (i32, one more than the result has elements), `indices` (i32,
 *  rising in each row) and `values`; row and column numbers are those of elements in row-major order.
 *
 *      operands  ->  indptr, indices, values of the first float result; of the next ...
 *
 *  Which elements are stored follows from the program: sets of columns go through the linear map of its derivative, element by element, through
 *  loops trip by trip where their trips are known. An element that is not stored is zero for all operands; one that is may be zero for
 *  some. Where a start of a slice or an index is not a number in the program, all that it may reach is stored. Columns without a common row are
 *  computed together: a tridiagonal Jacobian takes 3 passes, however large it is. Rows by the transposed map, where they take fewer.
 *  @param info  may be NULL
 *  Errors: KILN_INVALID, KILN_DTYPE the operand; KILN_UNSUPPORTED a primitive without the rule, 2^31 elements and more; KILN_NOMEM.
 *  Threads: the context's. Cost: linear in the elements of all values of the program, and of the trips of its loops; what it makes costs the
 *  value and about 1.5 values per colour (reverse: 2.5).
 *  Papers: Curtis, Powell, Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math. 13 (1974); Gebremedhin, Manne, Pothen,
 *  What color is your Jacobian?, SIAM Review 47 (2005). Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_sparse_jacobian(kiln_ctx *ctx, const kiln_prog *p, uint32_t wrt, kiln_sparse_info *info, kiln_prog **out);

/** The Hessian of a real scalar in one operand times a direction, without the Hessian: operands, then the direction (the operand's type)
 *  -> the product. The forward derivative of the gradient.
 *  Errors: as kiln_prog_grad. Threads: the context's. Cost: linear in the program; what it makes costs about two gradients.
 *  Paper: Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 6 (1994). Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_hvp(kiln_ctx *ctx, const kiln_prog *p, uint32_t wrt, kiln_prog **out);

/** The same operands and results; but a reverse derivative keeps of it only what `saved` says, and computes the rest again on its way back.
 *  With `nothing` a scan of 64 trips and more, wherever it stands, runs in checkpointed segments: of n trips the way back keeps about 2 sqrt(n) carries, and
 *  of one segment what its trips need. With `log` in segments of segments: memory goes with the logarithm, time with it too.
 *  @param saved  what may be kept: `nothing` (the default, with n 0; `root` is the same), `log` or `everything`, alone or followed by a number in
 *                text: about how many trips while loops make, which then keep root, log or all of them (kiln_loop_opts in kiln/trace.h); or
 *                `dots` (results of products) and names that kiln_name gave to values inside
 *  The gradient's bits are those without it.
 *  Errors: KILN_INVALID no such policy; KILN_NOMEM. Threads: the context's. Cost: linear in the program; of a gradient: one more evaluation.
 *  Paper: Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26 (2000). Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_prog_checkpoint(kiln_ctx *ctx, const kiln_prog *p, const char *const *saved, uint32_t n, kiln_prog **out);

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
