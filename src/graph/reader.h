/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's state and its parts. Each part reads one section in the order of the format's description; the first
 * error ends everything. */
#ifndef KN_GRAPH_READER_H
#define KN_GRAPH_READER_H

#include "graph/kinds.h"
#include "graph/names.h"
#include "graph/yaml.h"

enum { KN_FOR_MOST = 1000000 };

/* Values of the names of one `for`. */
typedef struct kn_loop {
    const char *const *names;
    const int64_t *values; /* of one repetition */
    uint32_t n;
} kn_loop;

/* What the names of an expression mean at its place. */
typedef struct kn_scope {
    const kn_loop *loop;    /* may be NULL */
    const kn_node *cells;   /* the node whose cell names count, or NULL */
    bool no_x;              /* grid_points cannot use x */
    bool time;              /* `t` and `step` */
    const double *timestep; /* or NULL */
    const double *member;   /* {b, B} of an ensemble, or NULL */
    const kn_node *fields;  /* a correction over this node's state and inputs, or NULL */
    bool long_form;         /* "NaN", "Infinity", "-Infinity" in quotes are numbers */
} kn_scope;

/* Where a piece of substituted text comes from. */
typedef struct kn_segment {
    uint32_t out, in; /* offsets in the new text and in the scalar's */
    bool replaced;    /* stands for one `{expression}` that begins at `in` */
} kn_segment;

/* Text after the replacement of `{expression}`: valid until the next kn_read_text. */
typedef struct kn_words {
    const kn_yaml *y;
    const char *s;
    size_t n;
} kn_words;

typedef struct kn_reader {
    kiln_ctx *ctx;
    kn_arena *arena;  /* the model's */
    kn_arena scratch; /* until reading ends */
    kn_graph_model *g;
    const char *folder; /* where relative paths begin: "" or ends in / */
    kn_name_table let_ids;
    KN_VEC(kn_let) lets;
    double timestep; /* of the section; 0: none */
    kn_name_table node_ids;
    KN_VEC(kn_node) nodes;
    KN_VEC(kn_edge) edges;
    KN_VEC(kn_input) inputs;
    KN_VEC(kn_group) groups;
    KN_VEC(kn_initial) initial;
    KN_VEC(char) text; /* buffer of kn_read_text */
    KN_VEC(kn_segment) segments;
    kn_name_table driven;         /* "node.input" that edges or inputs feed */
    KN_VEC(uint8_t) driven_by;    /* 1 an edge, 2 an external input */
    KN_VEC(bool) used;            /* a node has an edge or an input */
} kn_reader;

/* ---- read_scalar.c ---- */
kiln_status kn_read_error(kn_reader *r, kn_kind kind, kn_spot at, const char *accepted, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* " (did you mean 'b'?)" or "" */
const char *kn_did_you_mean(kn_reader *r, const char *word, const char *const *names, size_t n);
/* "a, b, c", for what is accepted */
const char *kn_read_list(kn_reader *r, const char *const *names, size_t n);
/* A mapping whose keys are all in the NULL-ended list; `what` as in "of a coupling group". */
kiln_status kn_read_keys(kn_reader *r, const kn_yaml *y, const char *const *keys, const char *what);
/* kiln_expr_parse of a piece of y, with advice where a comma cut the value short. */
kiln_status kn_read_parsed(kn_reader *r, const kn_yaml *y, const kiln_expr_text *src, kiln_expr **out);
kiln_status kn_read_expr(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_arena *arena, kiln_expr **out);
/* "NaN", "Infinity", "-Infinity" in quotes. */
bool kn_quoted_number(const kn_yaml *y, double *out);
kiln_status kn_read_number(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, double *out);
kiln_status kn_read_int(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, int64_t *out);
kiln_status kn_read_bool(kn_reader *r, const kn_yaml *y, const char *what, bool *out);
/* One of a NULL-ended list; any other value is bad-value. */
kiln_status kn_read_choice(kn_reader *r, const kn_yaml *y, const char *const *choices, const char *what, int *out);
/* Text as it is. */
kiln_status kn_read_plain(kn_reader *r, const kn_yaml *y, const char *what, const char **out);
/* Text in which `{expression}` is replaced. */
kiln_status kn_read_text(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, kn_words *out);
kn_spot kn_words_spot(const kn_reader *r, const kn_words *w, size_t offset);
bool kn_resolve(void *ud, const char *name, kiln_expr_name *out); /* ud: kn_resolver */
typedef struct kn_resolver {
    kn_reader *r;
    const kn_scope *scope;
} kn_resolver;
bool kn_is_name(const char *s, size_t n);
/* The node with this name, or the error unknown-node. */
kiln_status kn_read_node_name(kn_reader *r, const char *name, size_t n, kn_spot at, uint32_t *out);
/* All repetitions of an item's `for`: n values sets of the names; one empty set without. */
typedef struct kn_loops {
    const char *const *names;
    uint32_t n_names;
    const int64_t *values; /* n_rounds sets */
    size_t n_rounds;
} kn_loops;
kiln_status kn_read_for(kn_reader *r, const kn_yaml *y, kn_loops *out);
kn_loop kn_loops_at(const kn_loops *l, size_t round);

/* ---- read_array.c ---- */
typedef struct kn_array_rules {
    const char *what;
    const kn_shape *shape;     /* the shape wanted */
    const kn_shape *also;      /* also legal, kept as it is; NULL: none */
    const kn_shape *one_shape; /* also legal: one value for all cells, repeated over them; NULL: none */
    bool keep_scalar;          /* a value without shape is not spread out: n == 1 and shape () */
} kn_array_rules;
kiln_status kn_read_value(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const kn_array_rules *rules, kn_value *out);
/* Rows over time, {file: rows.npy}: any number of arrays of the shape. */
kiln_status kn_read_rows(kn_reader *r, const kn_yaml *y, const kn_shape *shape, kn_value *out);
/* A path in the file, checked; joined with the folder. */
kiln_status kn_read_path(kn_reader *r, const kn_yaml *y, const char **out);
kiln_status kn_read_npy(kn_reader *r, const kn_yaml *y, kn_shape *shape, const double **out);
/* An array of any shape without names of cells. */
kiln_status kn_read_any_array(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const char *what, kn_shape *shape,
                              const double **out);

/* ---- the sections ---- */
kiln_status kn_read_timestep(kn_reader *r, const kn_yaml *y, const kn_scope *scope, double *out);
kiln_status kn_read_nodes(kn_reader *r, const kn_yaml *y);
typedef struct kn_param_source {
    const kn_yaml *const *maps; /* parameters stand in these mappings */
    size_t n_maps;
    const char *const *skip; /* keys that are no parameters, of the first mapping; NULL-ended */
    const kn_scope *scope;
    kn_spot at; /* the node's name */
} kn_param_source;
/* Fills n->params from the mappings; n->type, name and timestep are set. */
kiln_status kn_read_params(kn_reader *r, kn_node *n, const kn_param_source *s);
kiln_status kn_read_type(kn_reader *r, const kn_yaml *y, const kn_node_type **out);
kiln_status kn_read_unknown_param(kn_reader *r, const kn_node_type *t, const kn_yaml *key);
kiln_status kn_read_unknown_field(kn_reader *r, const kn_node *n, const char *name, kn_spot at, bool flux);
kiln_status kn_read_param_specs(kn_reader *r, const kn_yaml *y, kn_spot key);
kiln_status kn_read_edges(kn_reader *r, const kn_yaml *y);
kiln_status kn_read_mapping(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const kn_mapping **out);
/* Extents that a mapping reads and gives along the first axis. */
void kn_mapping_sizes(const kn_mapping *m, int64_t *source, int64_t *target);
kiln_status kn_read_inputs(kn_reader *r, const kn_yaml *y);
kiln_status kn_read_groups(kn_reader *r, const kn_yaml *y);
kiln_status kn_read_initial(kn_reader *r, const kn_yaml *y);
/* node -> field -> array: what initial_state and ensembles hold. */
kiln_status kn_read_states(kn_reader *r, const kn_yaml *y, int64_t members, kn_initial **out, size_t *n);
kiln_status kn_read_run(kn_reader *r, const kn_yaml *y);
/* Base timestep, dividers, the warnings about the whole graph. */
kiln_status kn_read_finish(kn_reader *r);
/* A target input by name: index, shape, the descriptor or NULL for an input of a health check. */
typedef struct kn_target {
    uint32_t node;
    int input;
    const char *name;
    const kn_input_desc *desc;
    kn_shape shape;
    bool any_shape;
} kn_target;
kiln_status kn_read_target(kn_reader *r, uint32_t node, const char *name, size_t n, kn_spot at, kn_target *out);
/* Who drives this input already: 0 nobody; then notes `by`. */
kiln_status kn_read_driven(kn_reader *r, const kn_target *t, uint8_t by, uint8_t *before);

#endif
