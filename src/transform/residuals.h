/* SPDX-License-Identifier: Apache-2.0 */
/* What the forward pass of a reverse derivative keeps for the way back, and what it does not keep. */
#ifndef KN_TRANSFORM_RESIDUALS_H
#define KN_TRANSFORM_RESIDUALS_H

#include "transform/engine.h"

typedef enum kn_residual_why {
    KN_RESIDUAL_KEPT,     /* written, and read on the way back */
    KN_RESIDUAL_PASSED,   /* an operand, a constant or a result of the program: there anyway */
    KN_RESIDUAL_BEFORE,   /* no trip of its loop changes it: kept once, not in every trip */
    KN_RESIDUAL_AGAIN,    /* computed again: cheaper than to keep it */
    KN_RESIDUAL_CHECKPOINT, /* computed again: a checkpoint says so */
    KN_RESIDUAL_SNAPSHOTS /* of a while with an unknown number of trips */
} kn_residual_why;

typedef struct kn_residual_line {
    kn_residual_why why;
    const kn_prim *prim; /* NULL: an operand, or (inner) an argument of a body */
    uint32_t number;     /* its number */
    bool inner;
    kn_loc loc; /* of the equation; of an argument: that which has the body */
    kiln_type type; /* in one trip */
    int64_t trips;  /* KEPT: how many stand side by side; BEFORE, AGAIN, CHECKPOINT: how many would */
    double bytes;   /* kept, or else saved */
} kn_residual_line;

typedef struct kn_residual_list {
    KN_VEC(kn_residual_line) v;
    kn_prog *prog; /* holds it all, and the names of files; released by kn_residuals_fini */
} kn_residual_list;

/* wrt: operands to differentiate in; n 0: all floats. */
kiln_status kn_residuals_of(kiln_ctx *ctx, const kn_prog *p, const uint32_t *wrt, uint32_t n, kn_residual_list *out);
void kn_residuals_fini(kn_residual_list *l);

#endif
