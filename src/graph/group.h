/* SPDX-License-Identifier: Apache-2.0 */
/* A coupling group while its loop is traced. */
#ifndef KN_GRAPH_GROUP_H
#define KN_GRAPH_GROUP_H

#include "graph/step.h"

typedef struct kn_solver {
    kn_stepping *c;
    const kn_members *m;
    uint32_t *slot, n_slots; /* of the members, in their order */
    bool *whole;             /* per slot of the members: the interface norm measures all of it, as it is */
    bool *flux_wanted;       /* per flux: read inside the group */
    int seed_sweeps;         /* 0: no flux is read inside */
    kiln_val option[KN_N_TUNES], threshold;
    /* where things stand in the carry */
    uint32_t at_finite, at_x, at_aitken, n_carry; /* UINT32_MAX: not there */
} kn_solver;

/* One pass: all slots after it, from the iterate x (all slots). */
void kn_group_pass(kn_solver *s, const kiln_val *x, kiln_val *y);
/* The norm of y - x, f64 (group_norm.c). */
kiln_val kn_group_residual(kn_solver *s, const kiln_val *y, const kiln_val *x);
/* A bool: every float entry of the members is finite. */
kiln_val kn_group_finite(kn_solver *s, const kiln_val *x);

/* The next iterate (group_accelerate.c), written for the float slots of the members into `next` (all slots).
 * `before`: the first pass, which accelerates nothing; `idle`: that, or one whose next iterate is not used. Carried values of Aitken's method are read from and written to
 * `carry` and `next_carry` at s->at_aitken. */
void kn_group_accelerate(kn_solver *s, kiln_val before, kiln_val idle, const kiln_val *y, const kiln_val *x, kiln_val *next,
                         const kiln_val *carry, kiln_val *next_carry);
uint32_t kn_aitken_size(const kn_solver *s); /* carried values */
void kn_aitken_start(kn_solver *s, kiln_val *carry);

/* Scalars of the members side by side in one vector, so that what is done to each is done once; id 0 when there are none. */
kiln_val kn_group_stack(kn_solver *s, const kiln_val *slots);
static inline bool kn_is_scalar(const kn_solver *s, uint32_t slot) { return s->c->p->slots[slot].type.rank == 0; }
static inline bool kn_is_real(const kn_solver *s, uint32_t slot) { return s->c->p->slots[slot].real; }

#endif
