/* SPDX-License-Identifier: Apache-2.0 */
/** Tracing: array programs written in C.
 *
 *      kiln_trace *t;
 *      kiln_trace_begin(ctx, &t);
 *      kiln_val x = kiln_input(t, "x", (kiln_type){KILN_F32, 1, (int64_t[]){1000}});
 *      kiln_val y = kiln_mul(t, kiln_sin(t, x), kiln_exp(t, kiln_neg(t, x)));
 *      kiln_output(t, "y", y);
 *      kiln_prog *p;
 *      if (kiln_trace_finish(t, &p) != KILN_OK) puts(kiln_ctx_error(ctx)->message);
 *
 *  A value is a small handle. Errors are sticky: an operation on bad operands returns a value all the same, the first error is
 *  kept with the operation, the types and the caller's file and line, and kiln_trace_finish reports it. Scalars broadcast;
 *  numbers made by kiln_num are weak: they take the element type of the array they meet, rounded once.
 */
#ifndef KILN_TRACE_H
#define KILN_TRACE_H

#include "kiln/prog.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_trace kiln_trace;
typedef struct kiln_val {
    uint32_t id; /**< 0 is no value */
} kiln_val;

/** Begins a trace.
 *  Errors: KILN_NOMEM. Threads: the context's, until it is finished. Cost: constant. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_trace_begin(kiln_ctx *ctx, kiln_trace **out);
/** Ends the trace and frees it, also on failure.
 *  Errors: the first error of the trace. Threads: the context's. Cost: linear in the program. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_trace_finish(kiln_trace *t, kiln_prog **out);
KILN_API void kiln_trace_cancel(kiln_trace *t); /**< frees an unfinished trace; NULL is fine */

/** The next input of the program, and its name. */
KILN_API kiln_val kiln_input_at(kiln_trace *t, const char *name, kiln_type type, const char *file, int line);
/** The type is the last argument, so that a compound literal with commas may stand there. */
#define kiln_input(t, name, ...) kiln_input_at((t), (name), (__VA_ARGS__), __FILE__, __LINE__)
KILN_API void kiln_output_at(kiln_trace *t, const char *name, kiln_val v, const char *file, int line);
#define kiln_output(t, name, v) kiln_output_at((t), (name), (v), __FILE__, __LINE__)
/** A closed-over array: stored as data, never as code. The array is retained. */
KILN_API kiln_val kiln_const_at(kiln_trace *t, kiln_array *value, const char *file, int line);
#define kiln_const(t, value) kiln_const_at((t), (value), __FILE__, __LINE__)
KILN_API kiln_val kiln_num(kiln_trace *t, double v); /**< weak number */
/** Of this type, rounded once; integers and bools must be exact. */
KILN_API kiln_val kiln_scalar_at(kiln_trace *t, kiln_dtype dtype, double v, const char *file, int line);
#define kiln_scalar(t, dtype, v) kiln_scalar_at((t), (dtype), (v), __FILE__, __LINE__)
KILN_API kiln_val kiln_int_at(kiln_trace *t, kiln_dtype dtype, int64_t v, const char *file, int line);
#define kiln_int(t, dtype, v) kiln_int_at((t), (dtype), (v), __FILE__, __LINE__)
KILN_API kiln_type kiln_val_type(const kiln_trace *t, kiln_val v); /**< dims live as long as the trace */

/** Scopes nest; equations carry the path ("node:spring"). Profiles attribute time to them. */
KILN_API void kiln_scope_push(kiln_trace *t, const char *name);
KILN_API void kiln_scope_pop(kiln_trace *t);
/** The place that the operations that follow come from (a line of a model file); NULL: the C line of each call. */
KILN_API void kiln_place(kiln_trace *t, const char *file, int line, int column);
/** Records an error of the caller's own; sticky like all others. */
KILN_API void kiln_trace_fail(kiln_trace *t, kiln_status code, const char *message);
KILN_API bool kiln_trace_ok(const kiln_trace *t);

/** The forms behind the macros: an elementwise operation by the primitive's name. */
KILN_API kiln_val kiln_op1(kiln_trace *t, const char *prim, kiln_val a, const char *file, int line);
KILN_API kiln_val kiln_op2(kiln_trace *t, const char *prim, kiln_val a, kiln_val b, const char *file, int line);
KILN_API kiln_val kiln_op3(kiln_trace *t, const char *prim, kiln_val a, kiln_val b, kiln_val c, const char *file, int line);

#define kiln_add(t, a, b) kiln_op2((t), "add", (a), (b), __FILE__, __LINE__)
#define kiln_sub(t, a, b) kiln_op2((t), "sub", (a), (b), __FILE__, __LINE__)
#define kiln_mul(t, a, b) kiln_op2((t), "mul", (a), (b), __FILE__, __LINE__)
#define kiln_div(t, a, b) kiln_op2((t), "div", (a), (b), __FILE__, __LINE__)
#define kiln_rem(t, a, b) kiln_op2((t), "rem", (a), (b), __FILE__, __LINE__)
#define kiln_min(t, a, b) kiln_op2((t), "min", (a), (b), __FILE__, __LINE__)
#define kiln_max(t, a, b) kiln_op2((t), "max", (a), (b), __FILE__, __LINE__)
#define kiln_pow(t, a, b) kiln_op2((t), "pow", (a), (b), __FILE__, __LINE__)
#define kiln_atan2(t, a, b) kiln_op2((t), "atan2", (a), (b), __FILE__, __LINE__)
#define kiln_eq(t, a, b) kiln_op2((t), "eq", (a), (b), __FILE__, __LINE__)
#define kiln_ne(t, a, b) kiln_op2((t), "ne", (a), (b), __FILE__, __LINE__)
#define kiln_lt(t, a, b) kiln_op2((t), "lt", (a), (b), __FILE__, __LINE__)
#define kiln_le(t, a, b) kiln_op2((t), "le", (a), (b), __FILE__, __LINE__)
#define kiln_gt(t, a, b) kiln_op2((t), "gt", (a), (b), __FILE__, __LINE__)
#define kiln_ge(t, a, b) kiln_op2((t), "ge", (a), (b), __FILE__, __LINE__)
#define kiln_and(t, a, b) kiln_op2((t), "and", (a), (b), __FILE__, __LINE__)
#define kiln_or(t, a, b) kiln_op2((t), "or", (a), (b), __FILE__, __LINE__)
#define kiln_xor(t, a, b) kiln_op2((t), "xor", (a), (b), __FILE__, __LINE__)
#define kiln_not(t, a) kiln_op1((t), "not", (a), __FILE__, __LINE__)
#define kiln_neg(t, a) kiln_op1((t), "neg", (a), __FILE__, __LINE__)
#define kiln_abs(t, a) kiln_op1((t), "abs", (a), __FILE__, __LINE__)
#define kiln_sign(t, a) kiln_op1((t), "sign", (a), __FILE__, __LINE__)
#define kiln_floor(t, a) kiln_op1((t), "floor", (a), __FILE__, __LINE__)
#define kiln_ceil(t, a) kiln_op1((t), "ceil", (a), __FILE__, __LINE__)
#define kiln_sqrt(t, a) kiln_op1((t), "sqrt", (a), __FILE__, __LINE__)
#define kiln_exp(t, a) kiln_op1((t), "exp", (a), __FILE__, __LINE__)
#define kiln_log(t, a) kiln_op1((t), "log", (a), __FILE__, __LINE__)
#define kiln_sin(t, a) kiln_op1((t), "sin", (a), __FILE__, __LINE__)
#define kiln_cos(t, a) kiln_op1((t), "cos", (a), __FILE__, __LINE__)
#define kiln_tan(t, a) kiln_op1((t), "tan", (a), __FILE__, __LINE__)
#define kiln_tanh(t, a) kiln_op1((t), "tanh", (a), __FILE__, __LINE__)
#define kiln_is_finite(t, a) kiln_op1((t), "is_finite", (a), __FILE__, __LINE__)
/** which ? a : b (note: the primitive select_n takes the case for false first) */
#define kiln_select(t, which, a, b) kiln_op3((t), "select_n", (which), (b), (a), __FILE__, __LINE__)

/** Nearest integer, half to even. */
KILN_API kiln_val kiln_round_at(kiln_trace *t, kiln_val a, const char *file, int line);
#define kiln_round(t, a) kiln_round_at((t), (a), __FILE__, __LINE__)
KILN_API kiln_val kiln_convert_at(kiln_trace *t, kiln_val a, kiln_dtype to, const char *file, int line);
KILN_API kiln_val kiln_reshape_at(kiln_trace *t, kiln_val a, uint32_t rank, const int64_t *dims, const char *file, int line);
/** dims[at[i]] of the result is what dimension i of `a` becomes: `at` holds a's rank entries (NULL for a scalar) */
KILN_API kiln_val kiln_broadcast_at(kiln_trace *t, kiln_val a, uint32_t rank, const int64_t *dims, const int64_t *at, const char *file, int line);
KILN_API kiln_val kiln_transpose_at(kiln_trace *t, kiln_val a, const int64_t *permutation, const char *file, int line);
/** strides may be NULL (all 1) */
KILN_API kiln_val kiln_slice_at(kiln_trace *t, kiln_val a, const int64_t *start, const int64_t *limit, const int64_t *strides, const char *file, int line);
/** start: one integer scalar per dimension, clamped */
KILN_API kiln_val kiln_dynamic_slice_at(kiln_trace *t, kiln_val a, const kiln_val *start, const int64_t *sizes, const char *file, int line);
KILN_API kiln_val kiln_dynamic_update_slice_at(kiln_trace *t, kiln_val a, kiln_val update, const kiln_val *start, const char *file, int line);
KILN_API kiln_val kiln_concatenate_at(kiln_trace *t, const kiln_val *parts, uint32_t n, int64_t dimension, const char *file, int line);
/** lo, hi, interior per dimension */
KILN_API kiln_val kiln_pad_at(kiln_trace *t, kiln_val a, kiln_val value, const int64_t *lo, const int64_t *hi, const int64_t *interior, const char *file, int line);
/** A dimension as a number, i32 or i64: where it depends on KILN_DIM_N, the size that the program is given. */
KILN_API kiln_val kiln_dim_at(kiln_trace *t, kiln_dtype dtype, int64_t dim, const char *file, int line);
KILN_API kiln_val kiln_iota_at(kiln_trace *t, kiln_type type, int64_t dimension, const char *file, int line);
/** prim: reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor */
KILN_API kiln_val kiln_reduce_at(kiln_trace *t, const char *prim, kiln_val a, const int64_t *axes, uint32_t n_axes, const char *file, int line);
/** prim: cumsum, cumprod, cummax, cummin */
KILN_API kiln_val kiln_cumulative_at(kiln_trace *t, const char *prim, kiln_val a, int64_t axis, bool reverse, const char *file, int line);
KILN_API kiln_val kiln_dot_at(kiln_trace *t, kiln_val a, kiln_val b, const int64_t *contract_a, const int64_t *contract_b, uint32_t n_contract,
                              const int64_t *batch_a, const int64_t *batch_b, uint32_t n_batch, const char *file, int line);

#define kiln_convert(t, a, to) kiln_convert_at((t), (a), (to), __FILE__, __LINE__)
#define kiln_reshape(t, a, rank, dims) kiln_reshape_at((t), (a), (rank), (dims), __FILE__, __LINE__)
#define kiln_broadcast(t, a, rank, dims, at) kiln_broadcast_at((t), (a), (rank), (dims), (at), __FILE__, __LINE__)
#define kiln_transpose(t, a, permutation) kiln_transpose_at((t), (a), (permutation), __FILE__, __LINE__)
#define kiln_slice(t, a, start, limit, strides) kiln_slice_at((t), (a), (start), (limit), (strides), __FILE__, __LINE__)
#define kiln_dynamic_slice(t, a, start, sizes) kiln_dynamic_slice_at((t), (a), (start), (sizes), __FILE__, __LINE__)
#define kiln_dynamic_update_slice(t, a, update, start) kiln_dynamic_update_slice_at((t), (a), (update), (start), __FILE__, __LINE__)
#define kiln_concatenate(t, parts, n, dimension) kiln_concatenate_at((t), (parts), (n), (dimension), __FILE__, __LINE__)
#define kiln_pad(t, a, value, lo, hi, interior) kiln_pad_at((t), (a), (value), (lo), (hi), (interior), __FILE__, __LINE__)
#define kiln_dim(t, dtype, dim) kiln_dim_at((t), (dtype), (dim), __FILE__, __LINE__)
#define kiln_iota(t, type, dimension) kiln_iota_at((t), (type), (dimension), __FILE__, __LINE__)
#define kiln_reduce(t, prim, a, axes, n_axes) kiln_reduce_at((t), (prim), (a), (axes), (n_axes), __FILE__, __LINE__)
#define kiln_cumulative(t, prim, a, axis, reverse) kiln_cumulative_at((t), (prim), (a), (axis), (reverse), __FILE__, __LINE__)
#define kiln_dot(t, a, b, ca, cb, nc, ba, bb, nb) kiln_dot_at((t), (a), (b), (ca), (cb), (nc), (ba), (bb), (nb), __FILE__, __LINE__)

/** Sum of all elements, as a scalar. */
#define kiln_sum_all(t, a) kiln_reduce_at((t), "reduce_sum", (a), NULL, UINT32_MAX, __FILE__, __LINE__)
#define kiln_max_all(t, a) kiln_reduce_at((t), "reduce_max", (a), NULL, UINT32_MAX, __FILE__, __LINE__)
/** Element k of a vector (negative: from the end), as a scalar. */
KILN_API kiln_val kiln_item_at(kiln_trace *t, kiln_val a, int64_t k, const char *file, int line);
#define kiln_item(t, a, k) kiln_item_at((t), (a), (k), __FILE__, __LINE__)

/** Control flow by callbacks. A callback traces one body: it is called exactly once, during the call below. Values of the
 *  enclosing trace may be used inside; they become constants of the body. */
/** carry: the body receives n_carry values and writes the next ones (same types) to `next`. A carry that begins as a number (kiln_num) takes
 *  the element type of the first value with a type that it meets in the body; until then only elementwise operations take it. Where it meets
 *  numbers alone it is f32, as a number is to kiln_jit. */
typedef void (*kiln_body_fn)(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next);
typedef kiln_val (*kiln_cond_fn)(kiln_trace *t, void *user, const kiln_val *carry); /**< a bool scalar */
KILN_API void kiln_while_at(kiln_trace *t, kiln_cond_fn cond, kiln_body_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                            kiln_val *out, const char *file, int line);
#define kiln_while(t, cond, body, user, init, n_carry, out) kiln_while_at((t), (cond), (body), (user), (init), (n_carry), (out), __FILE__, __LINE__)
/** What is known of a loop before it runs. It never changes what the loop computes: more trips than said are right too. */
typedef struct kiln_loop_opts {
    size_t size;
    int64_t max_trips;  /**< about how many there are at most; 0: not known */
    const char *record; /**< what the reverse derivative keeps of so many trips: "root" (1.4 of their root, two sweeps), "log" (half of their
                             binary logarithm, as many sweeps), "all" (every state, one sweep); NULL: at most 64 states or 1 MB, as many
                             sweeps as that takes */
} kiln_loop_opts;
#define KILN_LOOP_OPTS_INIT {.size = sizeof(kiln_loop_opts)}
/** kiln_while with what is known of it; opts may be NULL. */
KILN_API void kiln_while_with_at(kiln_trace *t, kiln_cond_fn cond, kiln_body_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                                 const kiln_loop_opts *opts, kiln_val *out, const char *file, int line);
#define kiln_while_with(t, cond, body, user, init, n_carry, opts, out) \
    kiln_while_with_at((t), (cond), (body), (user), (init), (n_carry), (opts), (out), __FILE__, __LINE__)
/** fori: i = lo, lo + 1, ... below hi, integer scalars of one type. Where both are numbers or scalars known now, it is a scan of that length,
 *  else a while. opts may be NULL. */
typedef void (*kiln_fori_fn)(kiln_trace *t, void *user, kiln_val i, const kiln_val *carry, kiln_val *next);
KILN_API void kiln_fori_at(kiln_trace *t, kiln_val lo, kiln_val hi, kiln_fori_fn body, void *user, const kiln_val *init, uint32_t n_carry,
                           const kiln_loop_opts *opts, kiln_val *out, const char *file, int line);
#define kiln_fori(t, lo, hi, body, user, init, n_carry, opts, out) \
    kiln_fori_at((t), (lo), (hi), (body), (user), (init), (n_carry), (opts), (out), __FILE__, __LINE__)
/** scan: x[i] are slices along axis 0 of `xs`; y[i] are stacked along axis 0 of the results.
 *  out: n_carry final carries, then n_y stacked results. */
typedef void (*kiln_scan_fn)(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y);
KILN_API void kiln_scan_at(kiln_trace *t, kiln_scan_fn body, void *user, const kiln_val *init, uint32_t n_carry, const kiln_val *xs, uint32_t n_x,
                           uint32_t n_y, int64_t length, bool reverse, kiln_val *out, const char *file, int line);
#define kiln_scan(t, body, user, init, n_carry, xs, n_x, n_y, length, reverse, out) \
    kiln_scan_at((t), (body), (user), (init), (n_carry), (xs), (n_x), (n_y), (length), (reverse), (out), __FILE__, __LINE__)
/** map: the body for each slice of `xs` along axis 0, one after another; y[i] are stacked. The opposite choice is kiln_prog_vmap, which
 *  computes all at once (kiln/transform.h). */
typedef void (*kiln_map_fn)(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y);
KILN_API void kiln_map_at(kiln_trace *t, kiln_map_fn body, void *user, const kiln_val *xs, uint32_t n_x, uint32_t n_y, int64_t length, kiln_val *out,
                          const char *file, int line);
#define kiln_map(t, body, user, xs, n_x, n_y, length, out) kiln_map_at((t), (body), (user), (xs), (n_x), (n_y), (length), (out), __FILE__, __LINE__)
/** cond: which is a bool scalar (branch 1 for true) or an i32 scalar, clamped into 0..n_branches-1; each branch traces from
 *  no operands (it uses enclosing values) and writes n_out results, of equal types in all branches. Only the branch taken runs. */
typedef void (*kiln_branch_fn)(kiln_trace *t, void *user, uint32_t branch, kiln_val *out);
KILN_API void kiln_cond_at(kiln_trace *t, kiln_val which, uint32_t n_branches, kiln_branch_fn branch, void *user, kiln_val *out, uint32_t n_out,
                           const char *file, int line);
#define kiln_cond(t, which, n_branches, branch, user, out, n_out) kiln_cond_at((t), (which), (n_branches), (branch), (user), (out), (n_out), __FILE__, __LINE__)

/** The operand; derivatives end here. */
#define kiln_stop_gradient(t, a) kiln_op1((t), "stop_gradient", (a), __FILE__, __LINE__)
/** The operand, under a name by which a checkpoint keeps it. */
KILN_API kiln_val kiln_name_at(kiln_trace *t, kiln_val a, const char *name, const char *file, int line);
#define kiln_name(t, a, name) kiln_name_at((t), (a), (name), __FILE__, __LINE__)

/** A function of values, traced once during the call that takes it: reads its operands, writes its results. */
typedef void (*kiln_call_fn)(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out);
/** A part of a program of which a reverse derivative keeps only what `saved` says (as of kiln_prog_checkpoint; none: nothing) and
 *  computes the rest again. Values of the enclosing trace may be used inside. */
KILN_API void kiln_checkpoint_at(kiln_trace *t, kiln_call_fn body, void *user, const kiln_val *in, uint32_t n_in, const char *const *saved,
                                 uint32_t n_saved, kiln_val *out, uint32_t n_out, const char *file, int line);
#define kiln_checkpoint(t, body, user, in, n_in, saved, n_saved, out, n_out) \
    kiln_checkpoint_at((t), (body), (user), (in), (n_in), (saved), (n_saved), (out), (n_out), __FILE__, __LINE__)
/** A function with a forward derivative of its own. jvp: operands, then tangents of the float operands -> results, then tangents of
 *  the float results; it must be linear in the tangents, which is what reverse mode transposes. What the functions read are their
 *  operands: values of the enclosing trace are refused. */
KILN_API void kiln_custom_jvp_at(kiln_trace *t, const char *name, kiln_call_fn body, kiln_call_fn jvp, void *user, const kiln_val *in, uint32_t n_in,
                                 kiln_val *out, uint32_t n_out, const char *file, int line);
#define kiln_custom_jvp(t, name, body, jvp, user, in, n_in, out, n_out) \
    kiln_custom_jvp_at((t), (name), (body), (jvp), (user), (in), (n_in), (out), (n_out), __FILE__, __LINE__)
/** A function with a reverse derivative of its own, which then has no forward one. fwd: operands -> results, then residuals; bwd:
 *  residuals, then cotangents of the float results -> cotangents of the float operands. */
KILN_API void kiln_custom_vjp_at(kiln_trace *t, const char *name, kiln_call_fn body, kiln_call_fn fwd, kiln_call_fn bwd, void *user, const kiln_val *in,
                                 uint32_t n_in, uint32_t n_residuals, kiln_val *out, uint32_t n_out, const char *file, int line);
#define kiln_custom_vjp(t, name, body, fwd, bwd, user, in, n_in, n_residuals, out, n_out) \
    kiln_custom_vjp_at((t), (name), (body), (fwd), (bwd), (user), (in), (n_in), (n_residuals), (out), (n_out), __FILE__, __LINE__)

/** A linear map that a solver applies: no matrix unless the solver makes one. */
typedef struct kiln_linear kiln_linear;
/** y = A x, of as many values as the map takes, with their types; inside loops of the solver, too. */
KILN_API void kiln_linear_apply_at(kiln_trace *t, const kiln_linear *a, const kiln_val *x, kiln_val *y, const char *file, int line);
#define kiln_linear_apply(t, a, x, y) kiln_linear_apply_at((t), (a), (x), (y), __FILE__, __LINE__)
KILN_API uint32_t kiln_linear_n(const kiln_linear *a); /**< how many values it takes and gives */
/** Writes the x with A x = b. */
typedef void (*kiln_linear_solve_fn)(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x);
/** Solvers of this kind. kiln_solve_dense makes the matrix, column by column, and solves by QR: all values f32 or all f64; user is not
 *  used. kiln_solve_bicgstab needs products alone (van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992)); user: a
 *  kiln_krylov, or NULL; what has not converged at the last iteration is given as it is. */
KILN_API void kiln_solve_dense(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x);
KILN_API void kiln_solve_bicgstab(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x);
typedef struct kiln_krylov {
    double tolerance; /**< of the residual, relative to b; 0: 1e-13 (f32: 1e-6) */
    int32_t most;     /**< iterations; 0: ten times the number of elements */
} kiln_krylov;

/** x = A^-1 b by a solver whose steps are never differentiated: derivatives are linear systems with A and its transpose, solved in the
 *  same way. matvec must be linear; it may use values of the enclosing trace, which derivatives then reach through it.
 *  @param solve      NULL: kiln_solve_dense for up to 64 elements, kiln_solve_bicgstab for more
 *  @param symmetric  A is its own transpose */
KILN_API void kiln_custom_linear_solve_at(kiln_trace *t, kiln_call_fn matvec, void *user, kiln_linear_solve_fn solve, void *solve_user, bool symmetric,
                                          const kiln_val *b, uint32_t n, kiln_val *x, const char *file, int line);
#define kiln_custom_linear_solve(t, matvec, user, solve, solve_user, symmetric, b, n, x) \
    kiln_custom_linear_solve_at((t), (matvec), (user), (solve), (solve_user), (symmetric), (b), (n), (x), __FILE__, __LINE__)

/** A root: x with f(x) = 0, where f may use values of the enclosing trace (its parameters). */
typedef struct kiln_root {
    kiln_call_fn f; /**< n values x -> n values of the same types */
    void *f_user;
    kiln_call_fn solve; /**< n first guesses -> the root, then n_aux more results; in any way: loops, tables, f itself */
    void *solve_user;
    uint32_t n_aux;
    kiln_linear_solve_fn tangent_solve; /**< with df/dx at the root; NULL: as of kiln_custom_linear_solve */
    void *tangent_user;
} kiln_root;
/** Writes the root and the auxiliary results. Derivatives in the parameters of f are those of the implicit function theorem,
 *  df/dx dx = -(df/da) da: one linear system at the root. Neither the first guess nor the steps of solve have a part in them, and
 *  auxiliary results have none. jvp, vjp, vmap and derivatives of derivatives work, in any order.
 *  (Christianson, Reverse accumulation and implicit functions, Optimization Methods and Software 9 (1998).) */
KILN_API void kiln_custom_root_at(kiln_trace *t, const kiln_root *root, const kiln_val *guess, uint32_t n, kiln_val *out, const char *file, int line);
#define kiln_custom_root(t, root, guess, n, out) kiln_custom_root_at((t), (root), (guess), (n), (out), __FILE__, __LINE__)

typedef struct kiln_fixed_point_opts {
    double tolerance; /**< of the last change, abs(x' - x)/(1 + abs(x')) in every element; 0: 1e-13 (f32: 1e-6) */
    int32_t most;     /**< iterations; 0: 1000 */
    kiln_linear_solve_fn tangent_solve; /**< as of kiln_root: with dg/dx - 1 */
    void *tangent_user;
} kiln_fixed_point_opts;
/** A fixed point, x = g(x), by repetition from a first guess; derivatives as of kiln_custom_root. Writes x, then an i32: how many times g
 *  was applied. @param opts NULL: all 0 */
KILN_API void kiln_fixed_point_at(kiln_trace *t, kiln_call_fn g, void *user, const kiln_fixed_point_opts *opts, const kiln_val *guess, uint32_t n,
                                  kiln_val *out, const char *file, int line);
#define kiln_fixed_point(t, g, user, opts, guess, n, out) kiln_fixed_point_at((t), (g), (user), (opts), (guess), (n), (out), __FILE__, __LINE__)

struct kiln_expr;
/** A bound expression (kiln/expr.h), computed in one float type; its constants are rounded once.
 *  @param vars  values of the variables by their number, or NULL when it has none
 *  @param ref   value of its `node.field`, or no value when it has none */
KILN_API kiln_val kiln_expr_trace_at(kiln_trace *t, const struct kiln_expr *e, kiln_dtype dtype, const kiln_val *vars, kiln_val ref,
                                     const char *file, int line);
#define kiln_expr_trace(t, e, dtype, vars, ref) kiln_expr_trace_at((t), (e), (dtype), (vars), (ref), __FILE__, __LINE__)

#ifdef __cplusplus
}
#endif
#endif
