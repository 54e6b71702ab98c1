/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies over scalars that are given as parameters: reducers, comparators, what a scatter does with old and new. The operands
 * of their equations begin with what the body captured (num_consts of them); it sees these first. */
#ifndef KN_PRIM_BODY_H
#define KN_PRIM_BODY_H

#include "prim/common.h"
#include "prim/lowering.h"

/* ---- typing ---- */

/* num_consts: absent means none; at most the number of operands. */
kiln_status kn_typing_consts(const kn_typing *t, uint32_t k, uint32_t *n);
/* Parameter k, a body: consts (the first operands), then the scalars; gives `nout` scalars of these types. */
kiln_status kn_typing_scalar_body(const kn_typing *t, uint32_t k, uint32_t consts, const kiln_dtype *args, uint32_t nargs,
                                  const kiln_dtype *out, uint32_t nout);
uint32_t kn_body_consts(const kn_eqn *e, uint32_t k);

/* The scalar operation that a body applies to its two arguments (in any order), or KN_S_NONE: such folds have a documented
 * order. Sums and products of bools are or and and. */
kn_sop kn_body_sop(const kn_jaxpr *j);
bool kn_body_takes_second(const kn_jaxpr *j); /* a body of two arguments that gives the second */

/* A comparator of 2 n scalars a0, b0, a1, b1, ..: by how many of the arrays it sorts, if it says just what `sort` does (order.c); 0: another. */
uint32_t kn_body_sort_keys(const kn_jaxpr *j);

/* ---- evaluation ---- */

typedef struct kn_caller {
    kn_eval *ev;
    const kn_jaxpr *body;
    uint32_t nconsts, nargs;
    kiln_array **in, **out; /* in: constants, then scalars of the caller's own; out: valid until the next call */
} kn_caller;
kiln_status kn_caller_init(kn_caller *c, kn_eval *ev, const kn_jaxpr *body, kiln_array *const *consts, uint32_t nconsts);
void kn_caller_fini(kn_caller *c);
static inline kiln_array *kn_caller_arg(kn_caller *c, uint32_t k) { return c->in[c->nconsts + k]; }
kiln_status kn_caller_run(kn_caller *c);

/* ---- lowering ---- */

/* Does every equation work element by element, calls written out, so that the body may be applied to whole arrays? */
bool kn_body_is_elementwise(const kn_jaxpr *j);
/* Appends the body with arrays of one shape (or scalars) in place of its scalars; results are widened to the shape. */
kiln_status kn_low_apply(kn_low *l, const kn_jaxpr *j, const kn_atom *args, kiln_type shape, kn_atom *out);

#endif
