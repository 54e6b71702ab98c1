/* SPDX-License-Identifier: Apache-2.0 */
/* For batch rules. Values with lanes have them as axis 0; the others are shared by all lanes. Operand i of the equation is m->x[i] in
 * the program that is made; "a lane's" type or dimension is that of the equation itself. */
#ifndef KN_PRIM_BATCH_H
#define KN_PRIM_BATCH_H

#include "prim/common.h"
#include "prim/lowering.h"

typedef struct kn_lanes {
    kn_low l; /* receives equations; its error sticks */
    const kn_rules *r;
    const kn_jaxpr *j;
    const kn_eqn *e;
    const kn_atom *x;
    const int *axis;
    int64_t size; /* how many lanes */
} kn_lanes;

kn_lanes kn_lanes_of(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis);
static inline bool kn_has_lanes(const kn_lanes *m, uint32_t i) { return m->axis[i] != KN_NO_LANES; }
bool kn_any_lanes(const kn_lanes *m, uint32_t from, uint32_t to); /* of operands from..to-1 */

/* A lane's value (shared) repeated for every lane. */
kn_atom kn_lanes_repeat(kn_lanes *m, kn_atom a);
/* Operand i with lanes: repeated where it has none. */
kn_atom kn_lanes_full(kn_lanes *m, uint32_t i);
/* Operand i so that it broadcasts against an array of lanes of this rank: a shared scalar as it is, else of rank 1 + rank with
 * dimensions of size 1. */
kn_atom kn_lanes_beside(kn_lanes *m, uint32_t i, uint32_t rank);
/* Operand i, a scalar or of this shape in a lane, with lanes and this shape. */
kn_atom kn_lanes_widened(kn_lanes *m, uint32_t i, kiln_type lane);

/* The equation's parameters, to be changed; NULL when there is no memory (the error is kept). */
kn_param *kn_lanes_params(kn_lanes *m);
/* first, then each of the n integers raised by 1. */
const int64_t *kn_lanes_behind(kn_lanes *m, int64_t first, const int64_t *v, uint32_t n);
/* Each of the n integers raised by 1. */
const int64_t *kn_lanes_raised(kn_lanes *m, const int64_t *v, uint32_t n);
void kn_lanes_shift(kn_lanes *m, kn_param *p); /* the dimension, or dimensions, that a parameter names, raised by 1 */
/* The same primitive with these parameters on these operands; all results have lanes. */
kiln_status kn_lanes_emit(kn_lanes *m, const kn_param *params, const kn_atom *in, kn_atom *y);
/* As kn_lanes_emit, on all operands with lanes. */
kiln_status kn_lanes_emit_full(kn_lanes *m, const kn_param *params, kn_atom *y);
/* Moves dimension `from` of a to `to`. */
kn_atom kn_lanes_move(kn_lanes *m, kn_atom a, uint32_t from, uint32_t to);

/* ---- rules ---- */
#define KN_BATCH_RULES(X) \
    X(elementwise) /* operands broadcast: scalars, and dimensions of 1 against n */ \
    X(full)        /* the same parameters on all operands with lanes: leading dimensions are its own batch */ \
    X(dimensions)  /* the first parameter names dimensions, all operands get lanes */ \
    X(each)        /* result i is operand i */ \
    X(loop)        /* the equation as it is, lane by lane, in a scan: never wrong, for what has no better rule */
#define X(rule)                                                                                                       \
    kiln_status kn_batch_##rule(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, \
                                kn_atom *y, int *out_axis);
KN_BATCH_RULES(X)
#undef X

#endif
