/* SPDX-License-Identifier: Apache-2.0 */
/* optimization_barrier: nothing moves across it. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/sample.h"

static kiln_status type_barrier(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, t->nin));
    for (uint32_t i = 0; i < t->nin; i++) KILN_TRY(kn_typing_like(t, i, t->in[i].dtype, t->in[i]));
    return KILN_OK;
}

KILN_PRIM(optimization_barrier) = {
    .name = "optimization_barrier",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_MOVES | KN_BY_PARTS,
    .loop = KN_LOOP_ELEMENT,
    .type = type_barrier,
    .eval = kn_eval_identity,
    .element = kn_element_identity,
    .batch = kn_batch_each,
    .sample = kn_sample_barrier,
    .doc = "The operands; passes keep what stands before it apart from what stands behind.",
};
