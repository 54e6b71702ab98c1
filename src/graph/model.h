/* SPDX-License-Identifier: Apache-2.0 */
/* A graph file after reading: every name resolved to an index, every expression to a value or a tree, every
 * repetition spelled out, everything checked. Lives in one arena; immutable. */
#ifndef KN_GRAPH_MODEL_H
#define KN_GRAPH_MODEL_H

#include "graph/node.h"
#include "kiln/expr.h"

/* A place in one of the files of a model; line 0: none. */
typedef struct kn_spot {
    uint32_t file, line, column;
} kn_spot;

typedef struct kn_source_file {
    const char *name; /* as errors name it */
    const char *text;
    size_t n;              /* bytes of the text */
    const uint32_t *lines; /* offsets at which the lines begin */
    uint32_t n_lines;
} kn_source_file;

/* Variables that stay in a bound expression: kiln_expr_node.var. All other names are folded. */
typedef enum kn_var {
    KN_VAR_I,
    KN_VAR_J,
    KN_VAR_K,
    KN_VAR_X,     /* coordinate of the cell, m */
    KN_VAR_TIME,  /* `t`: time at the start of the base step, s */
    KN_VAR_STEP,  /* `step`: base steps done before */
    KN_VAR_FIRST_FIELD = 16, /* corrections: dt, then the state fields, then the inputs of the base */
} kn_var;

/* One entry, or a strided run of entries, of an array value. */
typedef struct kn_leaf {
    const kiln_expr *expr; /* over the KN_VARs; NULL: `v` or `number` */
    const double *v;       /* count entries; NULL: `number` for all */
    double number;
    size_t offset, stride, count; /* entries offset + k*stride, k < count, belong to cell k (or are all the same) */
} kn_leaf;

typedef enum kn_value_kind {
    KN_VALUE_ZERO,
    KN_VALUE_CONST, /* v, row-major, the whole shape */
    KN_VALUE_TIME,  /* leaves, evaluated once a base step */
    KN_VALUE_ROWS,  /* v holds n_rows arrays, one a base step; the last is kept */
} kn_value_kind;

typedef struct kn_value {
    kn_value_kind kind;
    kn_shape shape;
    const double *v;
    size_t n_rows;
    const kn_leaf *leaves;
    size_t n_leaves;
} kn_value;

typedef struct kn_lock {
    int axis; /* 0 x, 1 y, 2 z, 3 rx, 4 ry, 5 rz */
    double value;
} kn_lock;

typedef struct kn_check {
    const char *field; /* the input's name */
    bool has_finite, has_min, has_max, has_max_abs;
    bool finite;
    double min, max, max_abs;
} kn_check;

typedef struct kn_correction {
    int field; /* of the base's state */
    const kiln_expr *expr;
} kn_correction;

typedef struct kn_param {
    bool given; /* by the file; else the default */
    bool none;  /* no value */
    kn_spot at; /* the value in the file, or the node's name */
    union {
        double number;       /* NUMBER; CELLS with n == 0 */
        int64_t integer;     /* INT */
        const char *text;    /* TEXT */
        const double *v;     /* VECTOR, CELLS and MASK with n > 0 (row-major over the cells) */
        const int64_t *ints; /* INTS */
        const kn_lock *locks;
        const kn_check *checks;
        const kn_correction *corrections;
        const struct kn_node *node; /* NODE: type and params only */
    };
    size_t n; /* entries behind the pointer */
} kn_param;

typedef struct kn_node {
    const kn_node_type *type;
    const char *name;
    double timestep; /* s */
    const kn_param *params; /* in the order of type->params */
    int64_t divider;        /* fires every `divider` base steps (all of a sub-cycled group as its slowest member) */
    int32_t group;          /* or -1 */
    bool own_timestep;
    kn_spot at;             /* its name */
    kn_spot type_at;
} kn_node;

typedef enum kn_edge_op {
    KN_EDGE_NONE,
    KN_EDGE_NEGATE,
    KN_EDGE_SCALE, /* factor * value */
    KN_EDGE_EXPR,  /* expr over its REF, entry by entry */
} kn_edge_op;

typedef enum kn_mapping_kind {
    KN_MAP_RBF,
    KN_MAP_NEAREST,
    KN_MAP_PROJECTION,
    KN_MAP_MATRIX,
    KN_MAP_SPARSE_NEAREST,
    KN_MAP_SPARSE_PROJECTION,
} kn_mapping_kind;

typedef struct kn_points {
    const double *v;
    kn_shape shape;
} kn_points;

typedef struct kn_mapping {
    kn_mapping_kind kind;
    kn_points source, target; /* points or boundaries; the matrix is in `source` */
    bool conservative;
    const char *kernel;
    double epsilon, ridge;
    bool polynomial;
    kn_spot at; /* the mapping */
} kn_mapping;

/* Source value -> mapping -> index along the first axis -> op -> put into entry `place` -> added or set. */
typedef struct kn_edge {
    uint32_t source, target; /* nodes */
    int source_field;        /* of the source type's state, or of its fluxes when is_flux */
    bool is_flux;
    int target_input;         /* of the target type's inputs; in a node with checks: of its checks, -1 when not checked */
    const char *target_field; /* its name */
    bool indexed;
    int64_t index; /* from 0, already counted from the front */
    kn_edge_op op;
    double factor;
    const kiln_expr *expr;
    bool placed;
    int64_t place;
    bool additive;
    const char *transform; /* its name in the long form; NULL: none, or no name */
    const char *source_units, *target_units; /* or NULL */
    const kn_mapping *mapping;               /* or NULL */
    kn_shape shape;                          /* of the value before `place`; it may be repeated over the input's entries */
    kn_spot at;                              /* the edge */
    kn_spot mapping_at;                      /* the key */
} kn_edge;

typedef struct kn_input {
    uint32_t target;
    int target_input;         /* as in an edge */
    const char *target_field; /* its name */
    kn_value value;           /* value.shape is the declared shape */
    const char *dtype;        /* as declared, or NULL */
    kn_spot at;
} kn_input;

/* Options of a coupling group; the table with names, defaults and limits is in read_groups.c. */
typedef enum kn_option {
    KN_OPTION_NODES,
    KN_OPTION_MAX_ITERATIONS,
    KN_OPTION_TOLERANCE,
    KN_OPTION_CONVERGENCE_NORM,
    KN_OPTION_RTOL,
    KN_OPTION_ATOL,
    KN_OPTION_ACCELERATION,
    KN_OPTION_RELAXATION,
    KN_OPTION_ITERATION_MODE,
    KN_OPTION_ACCELERATED_FIELDS,
    KN_OPTION_JACOBIAN_REUSE,
    KN_OPTION_PREDICTOR,
    KN_OPTION_SUBCYCLING,
    KN_OPTION_BOUNDARY_INTERPOLATION,
    KN_OPTION_WAVEFORM_ITERATIONS,
    KN_OPTION_SOLVER,
    KN_OPTION_LINEAR_SOLVER,
    KN_OPTION_DIAGNOSTICS,
    KN_OPTION_STRICT_CONVERGENCE,
    KN_N_OPTIONS,
} kn_option;
typedef enum kn_norm { KN_NORM_L2, KN_NORM_MIXED, KN_NORM_INTERFACE } kn_norm;
typedef enum kn_acceleration { KN_ACC_NONE, KN_ACC_FIXED, KN_ACC_AITKEN, KN_ACC_IQN_ILS, KN_ACC_IQN_IMVJ } kn_acceleration;
typedef enum kn_sweep { KN_GAUSS_SEIDEL, KN_JACOBI } kn_sweep;
typedef enum kn_predictor { KN_PREDICT_NONE, KN_PREDICT_LINEAR, KN_PREDICT_QUADRATIC } kn_predictor;
typedef enum kn_interpolation { KN_INTERP_CONSTANT, KN_INTERP_LINEAR, KN_INTERP_QUADRATIC } kn_interpolation;
typedef enum kn_loop_form { KN_LOOP_IFT, KN_LOOP_FORI } kn_loop_form;
typedef enum kn_linear_solver { KN_LINEAR_GMRES, KN_LINEAR_DENSE } kn_linear_solver;

typedef struct kn_node_fields {
    uint32_t node;
    const int *fields;
    size_t n;
} kn_node_fields;

typedef struct kn_group {
    const uint32_t *nodes; /* as listed (a pattern's in the order of the file) */
    uint32_t n_nodes;
    int max_iterations; /* passes including the first */
    double tolerance, rtol, atol, relaxation;
    kn_norm convergence_norm;
    kn_acceleration acceleration;
    kn_sweep iteration_mode;
    const kn_node_fields *accelerated_fields; /* NULL: the source fields of edges inside the group */
    size_t n_accelerated;
    int jacobian_reuse;
    kn_predictor predictor;
    bool subcycling;
    kn_interpolation boundary_interpolation;
    int waveform_iterations;
    kn_loop_form solver;
    kn_linear_solver linear_solver;
    bool diagnostics, strict_convergence;
    double timestep; /* the largest of its members */
    kn_spot at, nodes_at;
    kn_spot option_at[KN_N_OPTIONS]; /* value of each option; line 0: default */
} kn_group;

typedef struct kn_initial {
    uint32_t node;
    int field;
    kn_shape shape;
    const double *v; /* row-major, the whole field */
    kn_spot at;
} kn_initial;

typedef enum kn_record_kind { KN_RECORD_ENDS, KN_RECORD_EVERY, KN_RECORD_LIST } kn_record_kind;

typedef struct kn_adaptive {
    double t_end, dt_initial, rtol, atol, dt_min, dt_max;
} kn_adaptive;

typedef struct kn_ensemble {
    int64_t size;
    const kn_initial *initial; /* v holds `size` arrays */
    size_t n_initial;
} kn_ensemble;

typedef struct kn_wrt {
    const char *text;
    uint32_t node;
    bool initial; /* a state field at step 0, else a parameter */
    int index;    /* of the type's state or params */
} kn_wrt;

typedef struct kn_gradient {
    uint32_t node;
    int field;
    const kn_wrt *wrt;
    size_t n_wrt;
} kn_gradient;

typedef struct kn_run {
    bool given, has_steps;
    int64_t steps;
    kn_record_kind record;
    int64_t every;        /* KN_RECORD_EVERY: > 0 */
    const int64_t *list;  /* KN_RECORD_LIST: as written */
    size_t n_list;
    const char *const *fields; /* patterns node.field; NULL: all */
    size_t n_fields;
    const kn_adaptive *adaptive; /* or NULL */
    int64_t checkpoint;          /* 0: none */
    const kn_ensemble *ensemble;
    const kn_gradient *gradient;
    kn_spot adaptive_at, checkpoint_at, ensemble_at, gradient_at; /* the keys */
} kn_run;

typedef struct kn_let {
    const char *name;
    double value;
} kn_let;

typedef struct kn_graph_model {
    kn_arena *arena;
    const kn_source_file *files;
    uint32_t n_files;
    const char *title, *notes; /* or NULL */
    bool f64;
    const kn_let *lets; /* top to bottom */
    uint32_t n_lets;
    const kn_node *nodes;
    uint32_t n_nodes;
    const kn_edge *edges; /* in the order in which they act */
    uint32_t n_edges;
    const kn_input *inputs;
    uint32_t n_inputs;
    const kn_group *groups;
    uint32_t n_groups;
    const kn_initial *initial;
    uint32_t n_initial;
    kn_run run;
    double base_timestep;      /* greatest common divisor of the timesteps, s */
    kn_spot param_specs_at;    /* the key, when it holds something */
    kn_spot include_at;        /* likewise */
    const struct kn_name_table *names;
} kn_graph_model;

typedef struct kn_let_override {
    const char *name;
    double value;
} kn_let_override;

/* Reads a graph/1 file. `text` NULL: the file at `path` is read; else `path` only names the text (and side files are
 * looked for beside it). Everything lives in `arena`. Warnings go to the context. */
kiln_status kn_graph_read(kiln_ctx *ctx, kn_arena *arena, const char *path, const char *text, const kn_let_override *lets,
                          size_t n_lets, kn_graph_model **out);

/* The legal things that the engine cannot run: one list, the first is reported where it stands. */
kiln_status kn_graph_refuse_unsupported(kiln_ctx *ctx, const kn_graph_model *g);

int64_t kn_graph_find(const kn_graph_model *g, const char *name); /* -1 when there is none */
kn_place kn_graph_place(const kn_graph_model *g, kn_spot at);

/* Parameters by name; the name must be one of the type's. */
const kn_param *kn_node_param(const kn_node *n, const char *name);
double kn_node_number(const kn_node *n, const char *name);
int64_t kn_node_int(const kn_node *n, const char *name);

/* The node whose state, inputs and fluxes these are: itself, or the base of a hybrid. */
const kn_node *kn_node_base(const kn_node *n);
int kn_node_field(const kn_node *n, const char *name);       /* -1 when there is none; likewise below */
int kn_node_flux(const kn_node *n, const char *name);
int kn_node_input(const kn_node *n, const char *name);
kn_shape kn_node_shape(const kn_node *n, const char *rule);  /* a rule of the type, for this node */
kn_shape kn_node_cells(const kn_node *n);
/* Cell centres of a rod, n_cells of them. */
void kn_node_centres(const kn_node *n, size_t first, size_t count, double *out);

/* Values of a KN_VALUE_TIME (or any other kind) at one base step, the whole shape, in double. `n` is the target. */
kiln_status kn_value_eval(kiln_ctx *ctx, const kn_value *v, const kn_node *n, double t, double step, double *out);
/* Whether `run.fields` asks for this field (name of a state field). */
bool kn_run_records(const kn_graph_model *g, const kn_node *n, const char *field);
/* Shell patterns with * and ?. */
bool kn_match(const char *pattern, const char *text);
bool kn_match_field(const char *pattern, const char *node, const char *field); /* `node.field` */

#endif
