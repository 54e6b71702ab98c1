/* SPDX-License-Identifier: Apache-2.0 */
/* Node types: what a type is called, its parameters, state, inputs and fluxes, all as data, and the functions that
 * the engine calls. One const descriptor a type, in src/graph/nodes/<short name>.c; the table is in nodes.c. */
#ifndef KN_GRAPH_NODE_H
#define KN_GRAPH_NODE_H

#include "base/ctx.h"
#include "kiln/trace.h"

enum { KN_MAX_RANK = 5 };

typedef struct kn_shape {
    int rank; /* 0: a scalar */
    int64_t dim[KN_MAX_RANK];
} kn_shape;

bool kn_shape_equal(const kn_shape *a, const kn_shape *b);
size_t kn_shape_count(const kn_shape *s);
/* true when `from` may stand where `to` is wanted by repeating entries: axes of size 1 and missing leading axes */
bool kn_shape_broadcasts(const kn_shape *from, const kn_shape *to);
/* "()", "(10,)", "(4, 3)" */
const char *kn_shape_text(const kn_shape *s, char out[128]);

typedef enum kn_field_type {
    KN_FLOAT, /* the file's precision */
    KN_INT32,
    KN_BOOL,
    KN_UINT8,
} kn_field_type;

typedef enum kn_param_kind {
    KN_PARAM_NUMBER,
    KN_PARAM_INT,
    KN_PARAM_TEXT,
    KN_PARAM_VECTOR,     /* exactly `length` numbers */
    KN_PARAM_INTS,       /* a list of integers */
    KN_PARAM_CELLS,      /* one number, or one a cell */
    KN_PARAM_MASK,       /* one a cell, zero or not */
    KN_PARAM_LOCKS,      /* axis -> number */
    KN_PARAM_CHECKS,     /* field -> bounds */
    KN_PARAM_NODE,       /* a node type with its parameters */
    KN_PARAM_CORRECTION, /* field -> expression */
} kn_param_kind;

/* When the file gives nothing. */
typedef enum kn_default {
    KN_DEFAULT_VALUE, /* `number`, `vector` or `text` of the descriptor */
    KN_DEFAULT_NONE,  /* no value; the meaning is in `doc` */
    KN_DEFAULT_REQUIRED,
} kn_default;

/* What a number must satisfy, checked when the file is read; entries of vectors one by one. */
typedef enum kn_constraint {
    KN_ANY,
    KN_POSITIVE,     /* > 0 */
    KN_NOT_NEGATIVE, /* >= 0 */
    KN_AT_LEAST_ONE, /* >= 1 */
    KN_ABOVE_HALF,   /* > 0.5 */
} kn_constraint;

typedef struct kn_param_desc {
    const char *name;
    kn_param_kind kind;
    int length; /* KN_PARAM_VECTOR */
    kn_default has;
    double number;         /* default of NUMBER, INT, CELLS */
    const double *vector;  /* default of VECTOR and INTS, `length` entries */
    const char *text;      /* default of TEXT */
    const char *const *choices; /* TEXT: the legal ones, NULL-ended; NULL: any */
    kn_constraint constraint;
    const char *unit; /* "" without */
    const char *doc;
    bool start; /* only the initial state depends on it: no input of the programs */
} kn_param_desc;

/* Shapes are written as a rule: "" a scalar, else extents with commas, each a number, the name of an integer
 * parameter, or `grid` (grid_shape), `D` (its rank), `Q` (velocities of the lattice), `checks`
 * (max(1, number of checks)); "*" any shape. */
typedef struct kn_field_desc {
    const char *name;
    const char *shape;
    kn_field_type type;
    const char *unit;
    const char *doc;
} kn_field_desc;

typedef struct kn_input_desc {
    const char *name;
    const char *shape;
    const char *short_shape; /* a second legal shape (one value for all cells), or NULL */
    const char *unit;        /* as edges' units are compared; "" none */
    const char *without;     /* what happens when nothing drives it */
} kn_input_desc;

typedef struct kn_flux_desc {
    const char *name;
    const char *unit;
    const char *doc;
} kn_flux_desc; /* a flux is a scalar of the float type */

/* The names that expressions over cells may use. */
typedef enum kn_cells {
    KN_CELLS_NONE,
    KN_CELLS_ROD,  /* i n L x */
    KN_CELLS_GRID, /* i j k nx ny nz */
} kn_cells;

struct kn_node;
struct kn_graph_model;
struct kn_node_frame; /* frame.h: state, inputs and parameters of one node while its update is traced */

typedef struct kn_node_type {
    const char *name, *short_name;
    const char *doc; /* the update rule in one paragraph */
    const kn_param_desc *params;
    const kn_field_desc *state;
    const kn_input_desc *inputs;
    const kn_flux_desc *fluxes;
    int n_params, n_state, n_inputs, n_fluxes;
    bool inputs_from_checks; /* any input name is legal; those in `checks` are read */
    kn_cells cells;
    const char *cell_shape; /* rule of the cell grid; "" without cells */
    const char *refused;    /* why the engine cannot run the type, or NULL */

    /* When the file is read: what the constraints of single parameters cannot say (stability, matching extents). */
    kiln_status (*check)(kiln_ctx *ctx, const struct kn_graph_model *g, const struct kn_node *n);
    /* Writes the initial value of one field, `count` entries. */
    void (*init)(const struct kn_node *n, int field, double *out, size_t count);
    /* Trace the new state into f->out, and one flux of the state in the frame; errors stay in the trace. */
    void (*update)(struct kn_node_frame *f);
    kiln_val (*flux)(struct kn_node_frame *f, int flux);
} kn_node_type;

/* By class name or short name; NULL when there is none. */
const kn_node_type *kn_node_type_find(const char *name);
/* All, sorted by class name. */
const kn_node_type *const *kn_node_types(size_t *n);
int kn_node_type_param(const kn_node_type *t, const char *name); /* -1 when there is none */

extern const kn_node_type kn_node_ball, kn_node_table, kn_node_spring, kn_node_rigid_body, kn_node_rigid_body_2d,
    kn_node_health_check, kn_node_heat, kn_node_lbm, kn_node_lbm_pipe, kn_node_heart_pump, kn_node_hybrid;

#endif
