/* SPDX-License-Identifier: Apache-2.0 */
/* Short programs that JAX keeps whole for the sake of their derivatives: polynomial by Horner's rule, one_minus_square. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/lowering.h"
#include "prim/sample.h"

static const kn_param_spec polynomial_params[] = {{"unroll", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

static kiln_status type_polynomial(kn_typing *t)
{
    const kn_param *unroll = &t->params[0];
    kiln_type shape;
    KILN_TRY(kn_typing_count(t, 2));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "iufc"));
    if (!kn_is_none(unroll) && unroll->kind != KN_P_INT && unroll->kind != KN_P_BOOL) return kn_fail(t->ctx, KILN_INVALID, "polynomial: unroll must be an integer or None");
    for (uint32_t i = 1; i < t->nin; i++) KILN_TRY(kn_typing_same_dtype(t, 0, i));
    KILN_TRY(kn_typing_broadcast(t, 0, t->nin, &shape));
    return kn_typing_like(t, 0, t->in[0].dtype, shape);
}

/* Operands: x, then the coefficients from the lowest. More of them than `unroll` begin with 0 times x. */
static kiln_status lower_polynomial(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    enum { UNROLL = 8 };
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    int64_t most = e->params[0].kind == KN_P_INT ? e->params[0].i : UNROLL;
    bool looped = (int64_t)e->nin - 1 > most;
    uint32_t k = looped ? e->nin : e->nin - 1;
    (void)r;
    y[0] = looped ? kn_low_fill(&l, t, (kn_scalar){.c = {0, 0}}) : x[k];
    while (--k > 0) y[0] = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, y[0], x[0]), x[k]);
    y[0] = kn_low_in_shape(&l, y[0], t);
    return l.status;
}

KILN_PRIM(polynomial) = {
    .name = "polynomial",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(polynomial_params),
    .type = type_polynomial,
    .lower = lower_polynomial,
    .jvp = kn_jvp_lowered,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_polynomial,
    .doc = "A polynomial of the first operand, whose coefficients follow from the lowest on, by Horner's rule.",
};

static kiln_status lower_one_minus_square(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    kn_low l = {b, KILN_OK};
    kn_atom one = kn_low_num(&l, kn_out_type(j, e, 0).dtype, 1);
    (void)r;
    y[0] = kn_low2(&l, &kn_prim_mul, kn_low2(&l, &kn_prim_add, one, x[0]), kn_low2(&l, &kn_prim_sub, one, x[0]));
    return l.status;
}

KN_JVP1(one_minus_square, D_MUL(g, D_MUL(D_NUM(-2), x)))

KILN_PRIM(one_minus_square) = {
    .name = "one_minus_square",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = kn_type_same_number,
    .jvp = jvp_one_minus_square,
    .lower = lower_one_minus_square,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "(1 + x) * (1 - x).",
};
