/* SPDX-License-Identifier: Apache-2.0 */
/** Executables: one native function per program.
 *
 *      kiln_exec *f;
 *      kiln_compile(ctx, program, NULL, &f);
 *      kiln_exec_call(ctx, f, in, out);
 *
 *  An executable is immutable and may be called from many threads at once. The raw entry is described in docs/abi.md. */
#ifndef KILN_EXEC_H
#define KILN_EXEC_H

#include "kiln/cache.h"
#include "kiln/prog.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_exec kiln_exec;

typedef struct kiln_compile_opts {
    size_t size;
    int tier;             /**< 0 or 2; -1 (default): the context's */
    const char *target;   /**< NULL: the context's */
    unsigned vector_bits; /**< 0: the target's; 64, 128, 256, 512: at most so many bits a vector (tests) */
    int register_elements; /**< arrays of at most so many elements live in registers, 0 to 64; -1 (default): 16 */
    bool no_fusion;       /**< every equation its own nest (tests) */
    bool ticks;           /**< instrument nest borders: kiln_call.ticks receives clock ticks per scope */
    const char *label;    /**< name in dumps and profiles */
    const bool *donated;  /**< per input: its buffer may be overwritten and may equal an output's; NULL: none */
    double split_cost;    /**< loops that cost so many vector operations may be split over threads; 0: 100000 (tests) */
    unsigned fast;        /**< KILN_FAST_ bits, besides those of the context */
} kiln_compile_opts;
#define KILN_COMPILE_OPTS_INIT {.size = sizeof(kiln_compile_opts), .tier = -1, .register_elements = -1}

/** Compile a program to native code.
 *  Errors: KILN_UNSUPPORTED an operation has no loop rule (named, with its source line); KILN_COMPILE code generation
 *  failed or is not installed; KILN_NOMEM. Threads: the context's. Cost: milliseconds, linear in the program. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_compile(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts, kiln_exec **out);
KILN_API kiln_exec *kiln_exec_retain(kiln_exec *f);
KILN_API void kiln_exec_release(kiln_exec *f);

/** Checked call: types are compared, results are new arrays.
 *  Errors: KILN_SHAPE, KILN_DTYPE an input of another type; KILN_CANCELLED; KILN_NOMEM. Threads: any, each with its own context.
 *  Cost: the call, and an allocation per result. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_exec_call(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array **out);

/** Checked call into arrays that exist: types are compared, and no output may overlap another one or an input that is not
 *  donated. Allocates nothing from the second call on.
 *  Errors: KILN_SHAPE, KILN_DTYPE, KILN_INVALID; KILN_CANCELLED. Threads: any, each with its own context. Cost: the call, and 100 ns. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_exec_call_into(kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *in, kiln_array *const *out);

struct kiln_table; /**< routines that generated code calls */

/** One call's frame. Zero it, set what is wanted. */
typedef struct kiln_call {
    const volatile bool *stop; /**< polled by long loops; NULL: never */
    uint64_t *ticks;           /**< n_scopes + 1 of them, the last for the entry's own use; only of executables compiled with `ticks` */
    int32_t status;            /**< out: 0, or KILN_CANCELLED */
    uint32_t threads;          /**< that may work on the call, the caller's included; 0: as the context says that compiled */
    uint64_t trips;            /**< added to: trips of while loops whose number was not known; the way back counts what it repeats */
    uint64_t lane_steps;       /**< added to: the same, where a trip steps several lanes at once (vmap of while) so many */
} kiln_call;

/** The generated function. `buffers`: inputs (constants excluded), then outputs, each dense, row-major, aligned to its element
 *  size; outputs must not overlap anything but a donated input. `scratch`: kiln_exec_scratch_bytes, 64-byte aligned.
 *  No allocation; no lock and no system call but where a loop is split over threads (docs/threads.md); the caller's floating-point
 *  mode is kept. */
typedef int (*kiln_entry)(void *const *buffers, void *scratch, const struct kiln_table *table, kiln_call *call);
KILN_API kiln_entry kiln_exec_entry(const kiln_exec *f);
KILN_API const struct kiln_table *kiln_exec_table(const kiln_exec *f);
KILN_API size_t kiln_exec_scratch_bytes(const kiln_exec *f);
/** The same of an executable of which one size is given at each call: where it is n. SIZE_MAX: it does not fit in memory.
 *  `buffers` then has one pointer more, behind the outputs: to an int64_t that holds n. */
KILN_API size_t kiln_exec_scratch_bytes_at(const kiln_exec *f, int64_t n);
/** Unchecked call through the raw entry: returns its status. */
KILN_API int kiln_exec_run(const kiln_exec *f, void *const *buffers, void *scratch, kiln_call *call);

/** What the calls of a context have done since it was made: sums of what kiln_call counts, of kiln_exec_call, kiln_exec_call_into and
 *  kiln_prog_eval. */
typedef struct kiln_run_counts {
    uint64_t trips, lane_steps;
} kiln_run_counts;
/** Threads: the context's. Cost: constant. Since: 0.1 */
KILN_API void kiln_run_counts_get(const kiln_ctx *ctx, kiln_run_counts *out);

/** Integers of the compile. */
typedef struct kiln_exec_info {
    uint64_t equations, lowered_ops, time_loops, nests, splits, epilogues, copies, exit_copies, calls_out, scalar_calls, routine_calls, code_bytes, scratch_bytes;
    uint64_t record_bytes; /**< of scratch: states of while loops, and tangents, that their ways back keep, at most */
    double lower_ms, optimise_ms, loops_ms, emit_ms, load_ms; /**< time spent per phase */
    int tier;
    uint32_t n_scopes; /**< for ticks */
    kiln_cache_use cache; /**< where the code came from */
    unsigned fast;   /**< KILN_FAST_ bits of the code */
} kiln_exec_info;
KILN_API void kiln_exec_info_get(const kiln_exec *f, kiln_exec_info *out);
/** What the process's thread pool has done. */
typedef struct kiln_pool_counts {
    uint64_t calls;   /**< loops, and dimensions of transforms, that were split */
    uint64_t wakes;   /**< times that workers were asked for */
    uint64_t chunks;  /**< pieces of them that workers have run */
    uint32_t workers; /**< that exist now, asleep or not */
} kiln_pool_counts;
/** Threads: any. Cost: a lock. Since: 0.1 */
KILN_API void kiln_pool_counts_get(kiln_pool_counts *out);
/** Threads of a call of this context where the call does not say. Threads: the context's. Cost: constant. Since: 0.1 */
KILN_API unsigned kiln_ctx_threads(const kiln_ctx *ctx);

/** Name of tick slot i: the scope of equations, e.g. "node:spring". */
KILN_API const char *kiln_exec_scope(const kiln_exec *f, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
