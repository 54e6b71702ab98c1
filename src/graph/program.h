/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a graph and how they are called.
 *
 *   step   one base step                                 slots hidden step | settings -> slots hidden | diagnostics
 *   run    many base steps in one loop, which records    slots hidden step stop next every | history | records | settings
 *                                                        -> slots hidden step row | history | records
 *   seed   hidden values of an initial state             slots hidden step | settings -> hidden
 *   node   one node's update, repeated (profile.c)
 *
 * `next` is the number of the step after which the next row is recorded, `every` the distance to the one after it. A row is
 * written after every step at the place of the next row, and kept when the step is one to record. The loop of `run` ends at
 * the step `stop`, when the history or the records are full, or when a group that must converge has not. */
#ifndef KN_GRAPH_PROGRAM_H
#define KN_GRAPH_PROGRAM_H

#include "graph/step.h"
#include "kiln/exec.h"

typedef enum kn_program_kind { KN_PROGRAM_STEP, KN_PROGRAM_RUN, KN_PROGRAM_SEED } kn_program_kind;

/* Fields that are recorded side by side: all scalars of one type, or one array. */
typedef struct kn_table {
    const char *name;
    kiln_type row;
    uint32_t *fields, n; /* places in kn_recording.slots */
} kn_table;

/* What `run` records in its loop. */
typedef struct kn_recording {
    const uint32_t *slots; /* fields of a row */
    uint32_t n_slots;
    kn_table *tables;
    uint32_t n_tables;
    int64_t rows;  /* capacity of the history; 0: it records no fields */
    int64_t steps; /* capacity of the records of groups; also the most steps of one call when there are groups */
} kn_recording;

/* Makes the tables for r->slots. */
kiln_status kn_recording_tables(kiln_ctx *ctx, const kn_plan *p, kn_recording *r);
static inline bool kn_table_is_array(const kn_plan *p, const kn_recording *r, const kn_table *t)
{
    return p->slots[r->slots[t->fields[0]]].type.rank > 0;
}

/* Diagnostics that the records hold, per group, in this order. */
enum { KN_N_RECORDS = 4 };
extern const kn_diag kn_record_diag[KN_N_RECORDS];

/* Inputs and outputs of `run` by place. */
typedef struct kn_run_places {
    uint32_t in_step, in_stop, in_next, in_every, in_history, in_records, in_settings, n_in;
    uint32_t out_step, out_row, out_history, out_records, n_out;
} kn_run_places;
kn_run_places kn_run_places_of(const kn_plan *p, const kn_settings *s, const kn_recording *r);

typedef struct kn_program {
    kiln_prog *prog;
    kiln_exec *exec; /* NULL: interpreted */
    kn_alloc alloc;
    void *scratch;
    size_t scratch_bytes;
    void **buffers; /* inputs, then outputs */
    uint32_t n_in, n_out;
    double trace_ms, compile_ms;
} kn_program;

/* Traces a program of the graph; `recording` only for run. */
kiln_status kn_program_trace(kiln_ctx *ctx, const kn_plan *p, const kn_settings *s, kn_program_kind kind, const kn_recording *recording,
                             kiln_prog **out);
/* Takes over `prog`, compiles it unless it is to be interpreted. `n_donated`: so many first inputs may share memory with
 * outputs, and the run's history and records too. */
typedef struct kn_program_opts {
    const char *label;
    bool interpret, ticks;
    bool often;                          /* called again and again: made well whatever a call costs, where nobody asked for a level */
    uint32_t n_donated;                  /* the first inputs */
    uint32_t donated_from, donated_to;   /* and these */
} kn_program_opts;
kiln_status kn_program_make(kiln_ctx *ctx, kiln_prog *prog, const kn_program_opts *opts, kn_program *out);
void kn_program_free(kn_program *p);
/* Calls with p->buffers set. A donated input and its output may be the same memory. `ticks` may be NULL. */
kiln_status kn_program_call(kiln_ctx *ctx, kn_program *p, uint64_t *ticks);

double kn_seconds(void); /* of a clock that only goes forward */

#endif
