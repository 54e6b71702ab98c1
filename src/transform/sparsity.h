/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of results depend on which elements of operands: sets of columns, carried through a program element by element.
 * A set may be larger than it must be, never smaller. */
#ifndef KN_TRANSFORM_SPARSITY_H
#define KN_TRANSFORM_SPARSITY_H

#include "base/map.h"
#include "transform/functions.h"

/* Sets of columns, each kept once: a set is its number, 0 the empty one. */
typedef struct kn_set {
    const uint32_t *v; /* rising */
    uint32_t n, next;  /* next: number + 1 of another one of the same hash */
} kn_set;
typedef struct kn_sets {
    kiln_ctx *ctx;
    kn_arena arena;
    KN_VEC(kn_set) all;
    kn_map by_hash, unions;
    uint32_t columns, stamp;
    uint32_t *stamps;       /* per column: of the set that is being collected */
    KN_VEC(uint32_t) found; /* the set that is being collected */
} kn_sets;
kiln_status kn_sets_init(kn_sets *s, kiln_ctx *ctx, uint32_t columns);
void kn_sets_fini(kn_sets *s);
kiln_status kn_sets_one(kn_sets *s, uint32_t column, uint32_t *out);
kiln_status kn_sets_union(kn_sets *s, uint32_t a, uint32_t b, uint32_t *out);
/* Of many: begin, add each, end. */
void kn_sets_begin(kn_sets *s);
kiln_status kn_sets_add(kn_sets *s, uint32_t set);
kiln_status kn_sets_end(kn_sets *s, uint32_t *out);

/* What is known of a value: the set of each element (NULL: all empty), and its numbers where they are the same for all operands. */
typedef struct kn_spread {
    const uint32_t *sets;
    kiln_array *known; /* or NULL; owned by the walk */
} kn_spread;

typedef struct kn_walk {
    kn_eval ev; /* comes first: eval rules find the walk from it */
    const kn_rules *r;
    kn_sets sets;
    kn_map alike;                    /* address of an equation -> number + 1 of one on numbers of sets */
    KN_VEC(const kn_jaxpr *) on_sets;
    kn_map lowered;                  /* address of an equation -> number + 1 of its lowering */
    KN_VEC(const kn_jaxpr *) lower;
    KN_VEC(kiln_array *) arrays;     /* to be released */
} kn_walk;
kiln_status kn_walk_init(kn_walk *w, const kn_rules *r, uint32_t columns);
void kn_walk_fini(kn_walk *w);
/* out: per result; `room` receives their sets. */
kiln_status kn_walk_body(kn_walk *w, kn_arena *room, const kn_jaxpr *j, const kn_spread *in, kn_spread *out);

/* ---- rules ---- */

typedef struct kn_spreading {
    kn_walk *w;
    kn_arena *room; /* of sets */
    const kn_jaxpr *j;
    const kn_eqn *e;
    const kn_spread *in;
    kn_spread *out;
} kn_spreading;
uint32_t *kn_spread_room(const kn_spreading *c, kiln_type t); /* NULL: no memory */
static inline uint32_t kn_set_at(const kn_spread *x, int64_t k) { return x->sets ? x->sets[k] : 0; }
kiln_status kn_spread_element(const kn_spreading *c);    /* elementwise, with broadcasting */
kiln_status kn_spread_reduce(const kn_spreading *c, const int64_t *axes, uint32_t n);
kiln_status kn_spread_running(const kn_spreading *c, int64_t axis, bool reverse);
kiln_status kn_spread_dot(const kn_spreading *c);
kiln_status kn_spread_conv(const kn_spreading *c);
kiln_status kn_spread_scatter_sum(const kn_spreading *c, bool *done); /* with known indices */
kiln_status kn_spread_all(const kn_spreading *c);        /* every result element depends on all that any operand does */
/* Moves elements: the primitive itself, on numbers of sets. done: false when an index is not known. */
kiln_status kn_spread_move(const kn_spreading *c, bool *done);
/* Control flow; done: false when it is none. */
kiln_status kn_spread_control(const kn_spreading *c, bool *done);

#endif
