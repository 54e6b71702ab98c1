/* SPDX-License-Identifier: Apache-2.0 */
/* What derivatives of whole functions share. */
#ifndef KN_TRANSFORM_FUNCTIONS_H
#define KN_TRANSFORM_FUNCTIONS_H

#include "transform/engine.h"

static inline kiln_type kn_arg_type(const kn_jaxpr *j, uint32_t i) { return kn_type_of(j, j->in[j->nconsts + i]); }
static inline kiln_type kn_result_type(const kn_jaxpr *j, uint32_t i) { return kn_type_of(j, j->out[i]); }
static inline kn_atom *kn_new_atoms(const kn_rules *r, uint32_t n) { return KN_NEWN(&r->prog->arena, kn_atom, n); }
static inline bool *kn_new_flags(const kn_rules *r, uint32_t n) { return KN_NEWN(&r->prog->arena, bool, n); }

kiln_status kn_append(kn_build *b, const kn_jaxpr *body, const kn_atom *args, kn_atom *out);
kn_atom *kn_arguments_of(const kn_rules *r, const kn_jaxpr *j, const kn_atom *map); /* in a builder, in order; NULL: no memory */

/* A function and its derivative: known (operands) -> results, residuals; map (residuals, tangents) -> tangents. */
typedef struct kn_linear {
    const kn_jaxpr *known, *map;
    bool *tangent_out;             /* per result of j */
    uint32_t residuals, ntangents; /* arguments of `map` */
} kn_linear;
/* which: arguments with tangents. all: every float result has a tangent, zeros where it must; else those that depend on an argument. */
kiln_status kn_linear_of(const kn_rules *r, const kn_jaxpr *j, const bool *which, bool all, kn_linear *out);

/* Of operands to differentiate in (`name` is what messages call the transformation): each exists and is a float. */
kiln_status kn_wrt_check(const kn_rules *r, const kn_jaxpr *j, const char *name, const uint32_t *wrt, uint32_t n);

#endif
