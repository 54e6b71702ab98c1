/* SPDX-License-Identifier: Apache-2.0 */
/* The state of partial evaluation, shared with the rules of control flow. */
#ifndef KN_TRANSFORM_PARTIAL_H
#define KN_TRANSFORM_PARTIAL_H

#include "transform/control.h"

#define KN_NO_ATOM UINT32_MAX

typedef struct kn_partial {
    const kn_rules *r;
    const kn_jaxpr *j;
    kn_build known, unknown;
    kn_atom *in_known, *in_unknown; /* per variable of j, or KN_NO_ATOM */
    bool *put_off;                  /* per variable of j: unknown */
    kn_map place;                   /* atom of `known` + 1 -> number + 1 of its residual */
    KN_VEC(kn_atom) atoms, inputs;  /* residuals: in `known`, in `unknown` */
    KN_VEC(uint32_t) from;          /* per residual: number + 1 of the argument it is, or 0 */
    kn_map args;                    /* atom of `known` + 1 -> number + 1 of the argument of j */
    const kn_arg_kind *kinds;       /* of a body that runs many times, or NULL */
} kn_partial;

static inline kn_logs *kn_log_of(const kn_partial *p) { return p->r->memo ? ((kn_memo *)p->r->memo)->log : NULL; }
void kn_log_start(const kn_partial *p); /* forgets what an earlier division of the body said */
kiln_status kn_log(const kn_partial *p, kn_log_kind kind, const kn_eqn *e, kiln_type t);

static inline bool kn_is_unknown(const kn_partial *p, kn_atom a) { return !kn_is_literal(a) && p->put_off[a]; }
/* The value of an atom of `known` in `unknown`: a literal, a constant, or a residual. */
kiln_status kn_residual(kn_partial *p, kn_atom known, kn_atom *out);
kiln_status kn_residual_of(kn_partial *p, kn_atom a, kn_atom *out); /* of an atom of j, wherever it is known */
kiln_status kn_known_of(kn_partial *p, kn_atom a, kn_atom *out);    /* an atom of j in `known` */
/* Control flow with unknown operands: emits both halves. *done is false when the whole equation is to be put off. */
kiln_status kn_partial_control(kn_partial *p, const kn_eqn *e, bool *done);

#endif
