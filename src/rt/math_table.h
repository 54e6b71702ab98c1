/* SPDX-License-Identifier: Apache-2.0 */
/* The routines that generated code calls: one table a target, the same indices in all; an executable has a copy, with its
 * constants and the routines of its calls on whole arrays (prim/routine.h).
 *
 * Signatures by lanes: 1: T f(T) or T f(T, T) of float or double; 2 (f64), 4, 8, 16 (f32): the same over vectors of that many
 * elements, passed in vector registers as the platform's vector ABI says. All widths of a function agree in every bit. */
#ifndef KN_RT_MATH_TABLE_H
#define KN_RT_MATH_TABLE_H

#include "rt/scalar.h"

typedef void (*kn_function)(void);

struct kiln_call;
struct kiln_table;

/* Who works on a call of a routine: the threads that come, or, without a table, the caller alone. */
typedef struct kn_crew {
    const struct kiln_table *table;
    const struct kiln_call *call;
    char *own; /* memory of each thread's own: that of thread `part` is at own + part * apart */
    size_t apart;
} kn_crew;

/* A routine on whole arrays as one statement `call` calls it. */
typedef struct kn_bound {
    void (*run)(const void *self, void *const *arrays, void *work);
    const void *self;
    void (*run_shared)(const void *self, void *const *arrays, void *work, const kn_crew *crew);
} kn_bound;

/* Iterations lo..hi of a loop that code has set apart: `frame` holds what they need from outside, `part` says whose memory of their own
 * they use. */
typedef void (*kn_range)(void *const *frame, int64_t lo, int64_t hi, int64_t part);
/* Runs all of lo..hi, maybe in pieces that are multiples of `unit` long and in several threads; `cost` is of one iteration. */
typedef void (*kn_split)(const struct kiln_table *t, const struct kiln_call *call, kn_range range, void *const *frame, int64_t lo, int64_t hi,
                         int64_t unit, int64_t cost);

enum { KN_TABLE_MAX = 256 };
struct kiln_table {
    const void *const *consts;   /* data of the program's constants */
    kn_function fn[KN_TABLE_MAX]; /* NULL where the target lacks the width */
    const kn_bound *calls;       /* in the order of the program's call statements */
    kn_split split;
    double share;     /* what each thread has to do at least, as cost */
    uint32_t threads; /* of a call that does not say; 0: as many as the process may use */
    uint32_t parts;   /* that scratch has room for */
};

/* Index of the routine for `lanes` elements of dtype d (KILN_F32 or KILN_F64), or -1. */
int kn_table_index(kn_sop op, kiln_dtype d, int lanes);
/* Of a target of base/cpu.h; NULL: of another kind of processor. The table is static. */
const struct kiln_table *kn_table_for(const char *target);
/* The lane counts that exist, widest first, 0 at the end. */
const unsigned *kn_table_lanes(kn_sop op, kiln_dtype d, const char *target);

#endif
