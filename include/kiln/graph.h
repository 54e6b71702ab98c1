/* SPDX-License-Identifier: Apache-2.0 */
/** Coupled simulation graphs: nodes that step, edges between them, groups that iterate until they agree.
 *
 *      kiln_graph *g;
 *      kiln_graph_result *r;
 *      if (kiln_graph_load(ctx, "rods.yaml", NULL, &g) != KILN_OK) ...
 *      kiln_graph_run(ctx, g, NULL, &r);
 *      kiln_graph_save(ctx, r, "out/");
 *      kiln_graph_result_release(r);
 *      kiln_graph_release(g);
 *
 *  A graph compiles two programs, each when it is first needed: one base step, and a native loop over base steps that records
 *  inside itself. Numbers of steps, record intervals and parameter values are inputs of both: changing them compiles nothing.
 *  A graph belongs to one thread at a time. Times are in s.
 */
#ifndef KILN_GRAPH_H
#define KILN_GRAPH_H

#include "kiln/prog.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_graph kiln_graph;

/** A `let` of the file given from outside: it wins over the file's. */
typedef struct kiln_graph_let {
    const char *name;
    double value;
} kiln_graph_let;

typedef struct kiln_graph_opts {
    size_t size;
    const char *text; /**< the file's text; NULL: the file at `path` is read (which else only names the text) */
    const kiln_graph_let *lets;
    size_t n_lets;
    int precision;  /**< 32 or 64; 0: as the file says */
    bool interpret; /**< the reference interpreter instead of compiled code: slow, the same bits */
} kiln_graph_opts;
#define KILN_GRAPH_OPTS_INIT {.size = sizeof(kiln_graph_opts)}

/** Read a graph/1 file and make its initial state. Warnings go to the context.
 *  Errors: KILN_INVALID and others with kind and place (`kiln errors` lists the kinds); KILN_UNSUPPORTED a thing of the format
 *  that the engine does not run; KILN_IO; KILN_NOMEM. Threads: the context's. Cost: linear in the file. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_load(kiln_ctx *ctx, const char *path, const kiln_graph_opts *opts, kiln_graph **out);
KILN_API void kiln_graph_release(kiln_graph *g); /**< NULL is fine */

/* ---- what it is made of ---- */

KILN_API const char *kiln_graph_title(const kiln_graph *g); /**< "" without */
KILN_API kiln_dtype kiln_graph_precision(const kiln_graph *g);
KILN_API double kiln_graph_timestep(const kiln_graph *g); /**< of one base step */
KILN_API uint32_t kiln_graph_n_nodes(const kiln_graph *g);
KILN_API const char *kiln_graph_node_name(const kiln_graph *g, uint32_t node); /**< nodes in the order of the file */
KILN_API const char *kiln_graph_node_type(const kiln_graph *g, uint32_t node); /**< "HeatNode" */
KILN_API uint32_t kiln_graph_schedule(const kiln_graph *g, uint32_t i);        /**< the node that runs i-th */
KILN_API int64_t kiln_graph_divider(const kiln_graph *g, uint32_t node);       /**< it fires every so many base steps */
KILN_API uint32_t kiln_graph_n_groups(const kiln_graph *g);
KILN_API const char *kiln_graph_group_key(const kiln_graph *g, uint32_t group); /**< "a+b", names in alphabetical order */
KILN_API uint32_t kiln_graph_n_fields(const kiln_graph *g);
KILN_API const char *kiln_graph_field_name(const kiln_graph *g, uint32_t field); /**< "node.field" */
KILN_API kiln_type kiln_graph_field_type(const kiln_graph *g, uint32_t field);   /**< dims live as long as the graph */
/** The traced programs, to be printed or compiled by the caller: one base step, and the loop. Owned by the caller.
 *  Errors: those of tracing, with node and line; KILN_NOMEM. Threads: the graph's. Cost: one trace. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_program(kiln_ctx *ctx, kiln_graph *g, bool loop, kiln_prog **out);

/* ---- state ---- */

KILN_API int64_t kiln_graph_step_count(const kiln_graph *g); /**< base steps done since the start */
/** A copy of a field, "node.field".
 *  Errors: KILN_NOTFOUND; KILN_NOMEM. Threads: the graph's. Cost: a copy. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_get(kiln_ctx *ctx, const kiln_graph *g, const char *field, kiln_array **out);
/** Replaces a field; values are converted to its type.
 *  Errors: KILN_NOTFOUND; KILN_SHAPE another shape. Threads: the graph's. Cost: a copy. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_put(kiln_ctx *ctx, kiln_graph *g, const char *field, const kiln_array *value);
/** Sets a parameter, "node.parameter", or one entry of it, "node.parameter[1]". What only the initial state depends on acts at
 *  the next start.
 *  Errors: KILN_NOTFOUND; KILN_INVALID a value that the node refuses, or a parameter that shapes the programs. Threads: the
 *  graph's. Cost: constant; compiles nothing. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_set(kiln_ctx *ctx, kiln_graph *g, const char *param, double value);
/** Back to the initial state.
 *  Errors: KILN_NOMEM. Threads: the graph's. Cost: a copy of the state; compiles nothing. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_reset(kiln_ctx *ctx, kiln_graph *g);

/* ---- stepping ---- */

/** One base step.
 *  Errors: KILN_NUMERIC a group with strict_convergence has not converged (the state is that after the step); those of
 *  kiln_compile at the first step. Threads: the graph's. Cost: a call; a compile at the first step. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_step(kiln_ctx *ctx, kiln_graph *g);

/** What a group did in the last step made by kiln_graph_step. */
typedef struct kiln_graph_coupling {
    int32_t iterations;    /**< passes that made the state returned */
    double residual;       /**< of the last pass, in the group's norm */
    double amplification;  /**< 1/(1 - rate of contraction); NaN when it cannot be told */
    double error_estimate; /**< what is compared with the threshold */
    bool converged;
} kiln_graph_coupling;
KILN_API kiln_graph_coupling kiln_graph_last_coupling(const kiln_graph *g, uint32_t group);

typedef struct kiln_graph_result kiln_graph_result;

typedef struct kiln_graph_run_opts {
    size_t size;
    int64_t steps;  /**< base steps; -1: the file's, or those of `time` */
    double time;    /**< simulated time, s; 0: not given */
    int64_t every;  /**< records every so many steps, and the first and last; 0: as the file says */
    bool no_record; /**< only the last state is kept, no history and no list of iterations */
    bool single_steps;       /**< one call a step */
    int64_t chunk_steps;     /**< most steps of one call; 0: as many as take about chunk_seconds */
    double chunk_seconds;    /**< 0: 0.1 */
    const volatile bool *stop; /**< asked between calls; NULL: never */
    void (*progress)(void *ud, int64_t done, int64_t steps); /**< called between calls; may be NULL */
    void *progress_ud;
} kiln_graph_run_opts;
#define KILN_GRAPH_RUN_OPTS_INIT {.size = sizeof(kiln_graph_run_opts), .steps = -1}

/** Run from where the state is. The bits do not depend on how the steps are cut into calls.
 *  @param opts  may be NULL: as the file says
 *  @param out   what was recorded; also after KILN_NUMERIC (then up to the step that failed). NULL after other errors
 *  Errors: KILN_INVALID no number of steps anywhere; as kiln_graph_step. Threads: the graph's. Cost: a call a chunk; a compile at
 *  the first run. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_run(kiln_ctx *ctx, kiln_graph *g, const kiln_graph_run_opts *opts, kiln_graph_result **out);

/* ---- results ---- */

KILN_API void kiln_graph_result_release(kiln_graph_result *r); /**< NULL is fine */
KILN_API bool kiln_graph_result_stopped(const kiln_graph_result *r); /**< it was asked to stop before the end */
KILN_API int64_t kiln_graph_result_steps(const kiln_graph_result *r);  /**< base steps done by the run */
KILN_API uint64_t kiln_graph_result_calls(const kiln_graph_result *r); /**< calls of the program */
KILN_API double kiln_graph_result_seconds(const kiln_graph_result *r); /**< spent in them */
/** Recorded steps (counted from the start of the graph) and their times. */
KILN_API int64_t kiln_graph_result_n_rows(const kiln_graph_result *r);
KILN_API const int64_t *kiln_graph_result_row_steps(const kiln_graph_result *r);
KILN_API const double *kiln_graph_result_row_times(const kiln_graph_result *r);
KILN_API uint32_t kiln_graph_result_n_fields(const kiln_graph_result *r);
KILN_API const char *kiln_graph_result_field_name(const kiln_graph_result *r, uint32_t field);
/** One row a recorded step. It lives as long as the result. */
KILN_API kiln_array *kiln_graph_result_field(const kiln_graph_result *r, uint32_t field);
/** Per group: lists over the base steps of the run (NULL with no_record), and their sums. */
typedef struct kiln_graph_records {
    const char *key;
    int64_t n; /**< entries of the lists */
    const int32_t *iterations;
    const double *residual, *error_estimate;
    const bool *converged;
    int64_t steps, total_iterations, unconverged; /**< over the whole run */
    int32_t least, most, last;                    /**< iterations */
} kiln_graph_records;
KILN_API uint32_t kiln_graph_result_n_groups(const kiln_graph_result *r);
KILN_API kiln_graph_records kiln_graph_result_group(const kiln_graph_result *r, uint32_t group);

/** Write a result. A name that ends in "/" is a folder: time.npy, step.npy, one node.field.npy a field, coupling.json;
 *  "x.npz" holds the same arrays; "x.csv" the scalar fields in columns. Nothing is seen half written.
 *  @param written  receives the number of files; may be NULL
 *  Errors: KILN_INVALID another ending; KILN_IO. Threads: the context's. Cost: linear in what is recorded. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_save(kiln_ctx *ctx, const kiln_graph_result *r, const char *path, uint32_t *written);
/** Whether a result could be written there: the ending is known, the folder exists (it is made) and takes files. To be asked
 *  before a long run.
 *  Errors: as kiln_graph_save. Threads: the context's. Cost: a file made and removed. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_save_check(kiln_ctx *ctx, const char *path);

/* ---- profile ---- */

typedef struct kiln_graph_profile_opts {
    size_t size;
    int64_t steps;      /**< timed steps; 0: 100 */
    int64_t warmup;     /**< steps before them, the first one included; 0: 3 */
    int64_t stat_steps; /**< 0: at most 50 further steps are counted; else the graph starts again, warms up, and exactly so many are */
    int64_t scan_steps; /**< 0: the loop over steps is not counted; else it is, after a run of so many steps */
    bool no_counts;           /**< leaves the integers of compiles out */
    bool no_measure_coupling; /**< what iterations cost is estimated from the nodes' times instead of measured */
    const volatile bool *stop; /**< asked between calls; NULL: never */
} kiln_graph_profile_opts;
#define KILN_GRAPH_PROFILE_OPTS_INIT {.size = sizeof(kiln_graph_profile_opts)}

typedef struct kiln_profile_node {
    const char *name;
    int64_t elements; /**< of its state */
    double alone_ms;  /**< one update, repeated in a native loop */
    double scope_ms;  /**< a step's time between the borders of its equations, in instrumented code */
} kiln_profile_node;

/** Times of what is no node in instrumented code: residuals, acceleration, edges, inputs. */
typedef struct kiln_profile_scope {
    const char *name; /**< "coupling:a+b/residual" */
    double ms;        /**< per step */
} kiln_profile_scope;

typedef struct kiln_profile_group {
    const char *key;
    int32_t last;             /**< iterations of the last step counted */
    int32_t least, most, cap; /**< iterations */
    int32_t sweeps;           /**< per solve */
    int64_t n;                /**< solves counted; a step in which the group does not fire is none */
    double mean, total_mean;  /**< iterations of the longest sweep, and of all sweeps */
    double at_cap_fraction, converged_fraction;
} kiln_profile_group;

typedef struct kiln_profile_counts {
    uint64_t builds, equations, lowered_ops;                /**< of the step */
    int64_t scan_steps;                                     /**< 0: not measured */
    uint64_t scan_builds, scan_equations, scan_lowered_ops; /**< of the loop */
} kiln_profile_counts;

/** Where a step's time goes. Times are in ms. Read only; docs/profile.md says how each number is measured. */
typedef struct kiln_profile {
    const char *name;   /**< the graph's title, or its file's name */
    const char *device; /**< "cpu:0" */
    const char *target; /**< "x86-64-v4" */
    kiln_dtype precision;
    int64_t n_steps, elements;
    uint64_t state_bytes;
    double clock_ms; /**< step of the clock; part of every single time */
    double first_step_ms; /**< tracing, compiling and the first step */
    double mean_ms, std_ms, median_ms, p95_ms, total_ms, steps_per_second;
    double floor_ms; /**< an identity program called the same way */
    const kiln_profile_node *nodes; /**< in the order of the file */
    uint32_t n_nodes;
    double sum_alone_ms;
    const kiln_profile_scope *scopes; /**< slowest first */
    uint32_t n_scopes;
    double instrumented_ms; /**< a step of the instrumented code */
    const kiln_profile_group *groups;
    uint32_t n_groups;
    const char *overhead_method; /**< "measured", "estimated"; "" without groups */
    double overhead_ms, overhead_error_ms, one_iteration_ms, per_iteration_ms;
    bool counted;
    kiln_profile_counts counts;
    const char *bottleneck; /**< "" when nothing stands out */
    const char *const *recommendations;
    uint32_t n_recommendations;
    unsigned fast; /**< KILN_FAST_ bits that it ran with */
} kiln_profile;

/** Measures where a step's time goes. The graph is the same afterwards: state, parameters, programs, number of steps.
 *  @param opts  may be NULL
 *  Errors: KILN_INVALID a negative number, an interpreted graph; KILN_CANCELLED it was asked to stop; as kiln_graph_step, but a
 *  group that must converge and does not is counted, not an error. Threads: the graph's.
 *  Cost: a compile of the step twice, of the loop where it is counted, of each node; some hundred steps. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_profile(kiln_ctx *ctx, kiln_graph *g, const kiln_graph_profile_opts *opts, kiln_profile **out);
KILN_API void kiln_profile_release(kiln_profile *p); /**< NULL is fine */
/** The report as text, ended with a newline; freed with kiln_text_free.
 *  Errors: KILN_NOMEM. Threads: the context's. Cost: linear in nodes and groups. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_profile_text(kiln_ctx *ctx, const kiln_profile *p, char **text, size_t *n);
/** The same as JSON.
 *  Errors: KILN_NOMEM. Threads: the context's. Cost: linear in nodes and groups. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_profile_json(kiln_ctx *ctx, const kiln_profile *p, char **text, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
