/* SPDX-License-Identifier: Apache-2.0 */
/** Functions that are traced and compiled on their first call, and kept.
 *
 *      static void body(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
 *      {
 *          out[0] = kiln_add(t, kiln_mul(t, in[0], kiln_num(t, 2)), kiln_num(t, 1));
 *      }
 *      kiln_fn f = {.body = body, .n_out = 1, .name = "f"};
 *      kiln_jit(ctx, store, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", x)}, 1, &y);
 *
 *  What decides whether a call finds a program is the callback, what `user` holds, the types of the arguments and the values of the
 *  static ones; nothing else. A number counts as a typed scalar, a descriptor that is built anew as the old one. Programs that are
 *  equal share their code, whoever traced them. kiln_why_retrace says what was new.
 */
#ifndef KILN_JIT_H
#define KILN_JIT_H

#include "kiln/exec.h"
#include "kiln/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kiln_arg_kind {
    KILN_ARG_IS_ARRAY,
    KILN_ARG_IS_NUMBER, /**< a scalar made for this call */
    KILN_ARG_IS_STATIC  /**< known when the function is traced, and part of the program */
} kiln_arg_kind;

typedef struct kiln_arg {
    kiln_arg_kind kind;
    const char *name;  /**< for messages; NULL: its number */
    kiln_array *array; /**< an array: of any type */
    kiln_dtype dtype;  /**< a number: f32, i32 or bool */
    double number;
    const void *value; /**< a static argument: compared by these bytes */
    size_t bytes;
    bool rows; /**< an array: traced with KILN_DIM_N rows, one program for any number of them */
} kiln_arg;
#define KILN_ARG_ARRAY(arg_name, a) ((kiln_arg){.kind = KILN_ARG_IS_ARRAY, .name = (arg_name), .array = (a)})
#define KILN_ARG_ROWS(arg_name, a) ((kiln_arg){.kind = KILN_ARG_IS_ARRAY, .name = (arg_name), .array = (a), .rows = true})
#define KILN_ARG_NUMBER(arg_name, v) ((kiln_arg){.kind = KILN_ARG_IS_NUMBER, .name = (arg_name), .dtype = KILN_F32, .number = (v)})
#define KILN_ARG_INTEGER(arg_name, v) ((kiln_arg){.kind = KILN_ARG_IS_NUMBER, .name = (arg_name), .dtype = KILN_I32, .number = (v)})
#define KILN_ARG_FLAG(arg_name, v) ((kiln_arg){.kind = KILN_ARG_IS_NUMBER, .name = (arg_name), .dtype = KILN_BOOL, .number = (v) ? 1 : 0})
#define KILN_ARG_STATIC(arg_name, pointer, size) ((kiln_arg){.kind = KILN_ARG_IS_STATIC, .name = (arg_name), .value = (pointer), .bytes = (size)})

/** Traces the function once: `in` holds a value for each argument that is not static, in order; `out` receives n_out results. Static
 *  arguments are read from `args`, whose other entries hold no values. */
typedef void (*kiln_jit_fn)(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out);

typedef struct kiln_fn {
    kiln_jit_fn body;
    void *user;
    size_t user_bytes;     /**< `user` is compared by so many bytes of what it points to; 0: by its address */
    uint32_t n_out;        /**< results of the body */
    const char *name;      /**< for messages and profiles */
    const char *transform; /**< a word of kiln_prog_transform, NULL: none. The body is traced once for all words */
    uint32_t n_in;         /**< with a word that adds operands: arguments of the body that are not static; 0: all */
    const kiln_compile_opts *opts; /**< NULL: those of the context. Other options compile again, and trace nothing */
} kiln_fn;

typedef struct kiln_jit_store kiln_jit_store;

/** A store of traced and compiled functions.
 *  @param max_bytes  the least recently used ones leave when all take more than so many bytes; 0: no limit
 *  Errors: KILN_NOMEM. Threads: the context's; the store is shared by any. Cost: constant. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_jit_store_create(kiln_ctx *ctx, size_t max_bytes, kiln_jit_store **out);
KILN_API void kiln_jit_store_release(kiln_jit_store *s); /**< nobody uses it any more; NULL is fine */
KILN_API void kiln_jit_store_clear(kiln_jit_store *s);   /**< forgets all functions */

/** Calls a function; `out` receives new arrays, as many as the (transformed) function has results.
 *  Errors: those of tracing, transforming and compiling (then nothing is kept); KILN_INVALID the body calls itself with arguments of the
 *  same types. Threads: any, each with its own context; a program is traced and compiled by one of them while the others wait.
 *  Cost: a look-up and a call, but for the first. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_jit(kiln_ctx *ctx, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args,
                                             kiln_array **out);
/** The executable that such a call runs, to be released.
 *  Errors: those of kiln_jit but for the call's own. Threads: any, each with its own context. Cost: a look-up, but for the first. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_jit_exec(kiln_ctx *ctx, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args,
                                                  kiln_exec **out);

/** Calls a function inside a trace: an equation `jit` that holds its program, which is traced when the store has none for values of these
 *  types. `in`: values for the arguments that are not static, in order; `args` says which are; `out` receives the results. Errors are
 *  sticky, as in kiln/trace.h. */
KILN_API void kiln_jit_inside_at(kiln_trace *t, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, const kiln_val *in,
                                 kiln_val *out, const char *file, int line);
#define kiln_jit_inside(t, s, f, args, n_args, in, out) kiln_jit_inside_at((t), (s), (f), (args), (n_args), (in), (out), __FILE__, __LINE__)
/** An argument of kiln_jit_inside that is not static. */
#define KILN_ARG_VALUE(arg_name) ((kiln_arg){.kind = KILN_ARG_IS_ARRAY, .name = (arg_name)})

typedef struct kiln_jit_counts {
    uint64_t calls, traces, compiles, evictions;
    uint64_t programs; /**< kept now */
    uint64_t bytes;    /**< that these take */
} kiln_jit_counts;
/** What has happened so far, and what is kept. Threads: any. */
KILN_API void kiln_jit_store_counts(kiln_jit_store *s, kiln_jit_counts *out);

/** Why the last trace was necessary: the argument and what about it is new, by comparison with the trace of the same function that is
 *  closest. Empty when nothing was traced. As snprintf. Threads: any. Since: 0.1 */
KILN_API size_t kiln_why_retrace(kiln_jit_store *s, char *out, size_t out_bytes);

#ifdef __cplusplus
}
#endif
#endif
