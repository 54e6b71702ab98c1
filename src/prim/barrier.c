/* SPDX-License-Identifier: Apache-2.0 */
/* optimization_barrier: nothing moves across it. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

static kiln_status type_barrier(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, t->nin));
    for (uint32_t i = 0; i < t->nin; i++) KILN_TRY(kn_typing_like(t, i, t->in[i].dtype, t->in[i]));
    return KILN_OK;
}

/* A barrier of what is not zero. */
static kiln_status through(kn_build *b, const kn_eqn *e, const kn_atom *v, kn_atom *out)
{
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, 2 * e->nin);
    uint32_t n = 0;
    KILN_TRY_MEM(b->ctx, in);
    for (uint32_t i = 0; i < e->nin; i++)
        if (v[i] != KN_SYMBOLIC_ZERO) in[n++] = v[i];
    KILN_TRY(kn_build_eqn(b, e->prim, NULL, in, n, in + e->nin, n));
    n = e->nin;
    for (uint32_t i = 0; i < e->nin; i++)
        if (v[i] != KN_SYMBOLIC_ZERO) out[i] = in[n++];
    return KILN_OK;
}
static kiln_status jvp_barrier(KN_JVP_ARGS) { return (void)r, (void)j, (void)x, (void)y, through(b, e, dx, dy); }
static kiln_status transpose_barrier(KN_TRANSPOSE_ARGS) { return (void)r, (void)j, (void)x, through(b, e, ct, ct_in); }

KILN_PRIM(optimization_barrier) = {
    .name = "optimization_barrier",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_MOVES | KN_BY_PARTS,
    .loop = KN_LOOP_ELEMENT,
    .type = type_barrier,
    .eval = kn_eval_identity,
    .jvp = jvp_barrier,
    .transpose = transpose_barrier,
    .element = kn_element_identity,
    .batch = kn_batch_each,
    .sample = kn_sample_barrier,
    .doc = "The operands; passes keep what stands before it apart from what stands behind.",
};
