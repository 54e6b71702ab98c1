/* SPDX-License-Identifier: Apache-2.0 */
/* What a run leaves. It does not need its graph: names and types are copies. */
#ifndef KN_GRAPH_RESULT_H
#define KN_GRAPH_RESULT_H

#include "graph/program.h"
#include "kiln/graph.h"

/* Rows of a kn_table, and room for as many more as one call may write. */
typedef struct kn_result_table {
    size_t row_bytes, bytes;
    char *data;
} kn_result_table;

typedef struct kn_result_field {
    const char *name;
    kiln_type type;    /* of one row */
    kiln_array *array; /* the recorded rows; made at the end */
} kn_result_field;

typedef struct kn_result_group {
    kiln_graph_records r;
    void *list[KN_N_RECORDS]; /* in the order of kn_record_diag */
    size_t bytes[KN_N_RECORDS];
} kn_result_group;

struct kiln_graph_result {
    kn_alloc alloc;
    kn_arena arena;
    double base; /* timestep, s */
    int64_t n_rows, cap_rows;
    int64_t *row_steps;
    double *row_times;
    size_t steps_bytes, times_bytes;
    kn_result_table *tables;
    uint32_t n_tables;
    kn_result_field *fields;
    uint32_t n_fields;
    kn_result_group *groups;
    uint32_t n_groups;
    bool keeps; /* the lists of the groups hold every step */
    int64_t first, steps;
    uint64_t calls;
    double seconds;
    bool stopped;
};

/* Room for so many rows and steps, and what one call may write beyond. */
kiln_status kn_result_make(kiln_ctx *ctx, const kn_plan *p, const kn_recording *r, bool keeps, int64_t rows, int64_t steps,
                           kiln_graph_result **out);
/* The recorded arrays, one a field. */
kiln_status kn_result_close(kiln_ctx *ctx, kiln_graph_result *r, const kn_recording *rec);
/* Notes that a row belongs to this step. */
void kn_result_row(kiln_graph_result *r, int64_t step);
/* Sums up `n` entries of a group's lists from `at` on. */
void kn_result_count(kn_result_group *g, int64_t at, int64_t n);

static inline size_t kn_type_bytes(kiln_type t) { return kiln_dtype_bytes(t.dtype) * (size_t)kiln_type_size(t); }

#endif
