/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the programs that stay during a run. Changing a value never compiles. */
#ifndef KN_GRAPH_SETTINGS_H
#define KN_GRAPH_SETTINGS_H

#include "graph/plan.h"

typedef enum kn_tune { KN_TUNE_MAX_ITERATIONS, KN_TUNE_TOLERANCE, KN_TUNE_RTOL, KN_TUNE_ATOL, KN_TUNE_RELAXATION, KN_N_TUNES } kn_tune;

typedef struct kn_setting {
    const char *name; /* "spring.stiffness" */
    kiln_type type;
} kn_setting;

typedef struct kn_settings {
    kn_setting *v;
    uint32_t n;
    int32_t **param;    /* per node and parameter of its (base) type: a setting, or -1 */
    int32_t *timestep;  /* per node */
    int32_t base;       /* s, f64 */
    int32_t *centres;   /* per node: coordinates of its cells, f64, or -1 */
    int32_t *input;     /* per external input: its value or rows, or -1 (an expression of time) */
    int32_t (*option)[KN_N_TUNES]; /* per group; KN_TUNE_MAX_ITERATIONS is i32, the others f64 */
} kn_settings;

kiln_status kn_settings_list(kiln_ctx *ctx, kn_arena *arena, const kn_plan *p, kn_settings *s);
/* Writes every value; `values` are arrays of the settings' types. */
void kn_settings_fill(const kn_plan *p, const kn_settings *s, kiln_array *const *values);

/* Number of entries of a parameter when it is an input of the programs: 0 when it is none, -1 for a scalar. */
int64_t kn_param_entries(const kn_node *n, int param);

/* Rounds doubles into memory of a field's type. */
void kn_store(kiln_dtype d, void *to, const double *from, size_t n);

#endif
