/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens stand for an order of effects. Programs here have no effects: a token is a value without contents, and orders nothing. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

static kiln_status type_token(kn_typing *t)
{
    for (uint32_t i = 0; i < t->nin; i++)
        if (t->in[i].dtype != KILN_TOKEN || t->in[i].rank) return kn_fail(t->ctx, KILN_DTYPE, "%s: operand %u is %s; accepted: tokens", t->prim->name, i, kn_type_show(t->in[i]).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, KILN_TOKEN, KILN_SCALAR(KILN_TOKEN));
}

static kiln_status lower_token(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e, (void)x;
    return kn_build_literal(b, KILN_TOKEN, (kn_scalar){.u = 0}, &y[0]);
}

/* Tokens of lanes are no different from one that all share. */
static kiln_status batch_token(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                               int *out_axis)
{
    (void)r, (void)j, (void)e, (void)x, (void)axis;
    out_axis[0] = KN_NO_LANES;
    return kn_build_eqn(b, &kn_prim_create_token, NULL, NULL, 0, y, 1);
}

KILN_PRIM(create_token) = {
    .name = "create_token",
    .nin = 0,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_token,
    .lower = lower_token,
    .sample = kn_sample_token,
    .doc = "A new token. It orders nothing: there are no effects.",
};
KILN_PRIM(after_all) = {
    .name = "after_all",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_token,
    .lower = lower_token,
    .batch = batch_token,
    .sample = kn_sample_token,
    .doc = "A token that comes behind the operands, which are tokens.",
};
