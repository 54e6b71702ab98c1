/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow as the transformations see it: which equations have bodies that are looked into, and their pieces. */
#ifndef KN_TRANSFORM_CONTROL_H
#define KN_TRANSFORM_CONTROL_H

#include "prim/control.h"
#include "transform/engine.h"

typedef enum kn_control {
    KN_C_NONE,
    KN_C_CALL,  /* jit, pjit */
    KN_C_REMAT, /* remat2 */
    KN_C_COND,
    KN_C_SCAN,
    KN_C_WHILE
} kn_control;
kn_control kn_control_of(const kn_eqn *e);

uint32_t kn_body_param(const kn_prim *p); /* the parameter that is the body of a call */
void kn_forget_layouts(const kn_prim *p, kn_param *params); /* lists that go with arguments and results: of a call whose lists change */

/* Which arguments the results in used (NULL: all) need. */
kiln_status kn_used_args(const kn_rules *r, const kn_jaxpr *j, const bool *used, bool *used_in);
/* The body with some of its arguments only; the others must be unused. */
kiln_status kn_pick_args(const kn_rules *r, const kn_jaxpr *j, const bool *keep, const kn_jaxpr **out);

#endif
