/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of merge_loops: merge.c decides which loops become one, trips.c says what a loop accesses in which of its trips, keep.c what need
 * not stand in memory once they are one. */
#ifndef KN_LOOP_MERGER_H
#define KN_LOOP_MERGER_H

#include "loop/access.h"
#include "loop/alias.h"
#include "loop/maker.h"

/* Trips of a loop that an access belongs to. */
enum { EVERY_TRIP = -1, ANY_TRIP = -2, NO_TRIP = -3 };

/* How a loop accesses one slot. by_row: all so far at iv * stride + r, 0 <= r < stride, and from there in multiples of `period` (0: none),
 * which is at least stride * trips: an element belongs to one trip. */
typedef struct access {
    bool read, written, by_row;
    int64_t stride, period;
    int64_t trip;        /* not by row: the only one in which it is accessed, or EVERY_TRIP */
    int64_t least, most; /* index of an element, in all trips */
    uint32_t count;
} access;

typedef struct merger {
    maker *m;
    kn_loops *l;
    kn_aliases alias;
    uint32_t *members; /* per class */
    kn_index_form *memo; /* per instruction, for the loop `stamp` */
    uint32_t *stamp, now;
    uint32_t n_values;
    bool failed;
} merger;

/* An access of a statement that is no loop over rows. */
typedef struct touch {
    uint32_t slot;
    bool store;
    kn_index_form index;
    int64_t least, most;
} touch;

typedef struct summary {
    access *slots;
    bool mergeable, heavy, calls; /* heavy: holds a loop of a row */
    kn_lv iv;
    int64_t lo, hi;
    bool listed; /* accesses are listed in `touches` instead */
    KN_VEC(touch) touches;
} summary;

static inline kn_linst *merger_inst(const merger *g, kn_lv v) { return &g->l->inst.v[v]; }

static inline bool merger_constant(const merger *g, kn_lv v, int64_t *x)
{
    const kn_linst *in = merger_inst(g, v);
    if (in->op != KN_L_CONST || in->dtype != KILN_I64) return false;
    *x = in->imm.i;
    return true;
}

static inline uint32_t merger_home(const merger *g, uint32_t s) { return kn_alias_home(&g->alias, s); }

/* ---- trips.c ---- */
summary summary_of(merger *g, kn_lv loop); /* of a loop over rows; else it is not mergeable */
summary touches_of(merger *g, kn_lv v);    /* of another statement: its accesses, listed */
/* The forms of all indices in a loop of these trips, to be asked for until the next summary is made. */
void find_forms(merger *g, const kn_lblock *b, const summary *a);
kn_index_form form_of(const merger *g, kn_lv v);
bool reach_of(const summary *s, int64_t stride, int64_t *reach); /* the end of the last trip's row; false: not known */
/* May loop a access slot s as x says, in trips that come before or after those of another one, which accesses t as y says? */
bool trips_meet(const merger *g, const summary *a, uint32_t s, const access *x, uint32_t t, const access *y);
void add_accesses(const merger *g, summary *a, const summary *b); /* what loop b does is done by loop a too */
/* The trip of loop a that a statement after it belongs to, which accesses what x lists; ANY_TRIP: nothing keeps it behind the loop. */
int64_t trip_of(const merger *g, const summary *a, const summary *x);
void add_touches(summary *a, const summary *x, int64_t trip); /* what x lists is done by loop a in that trip */

/* ---- keep.c ---- */
void keep_in_rows(merger *g, kn_lv loop, const summary *a);
void drop_scratch(merger *g); /* what nobody reads is not written */
/* Instructions appended to `out`, which is temporary. */
kn_lv put(merger *g, kn_lblock *out, kn_linst in);
kn_lv put_int(merger *g, kn_lblock *out, int64_t x);

#endif
