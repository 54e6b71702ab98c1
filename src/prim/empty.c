/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays whose contents nobody may look at: zeros here, so that a program computes the same whenever it runs. */
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

enum { EMPTY_DTYPE };
static const kn_param_spec empty_params[] = {{"dtype", KN_P_DTYPE, 0}, {"out_sharding", KN_P_NONE, KN_PARAM_OPTIONAL}, {"shape", KN_P_INTS, 0}};
static const kn_param_spec scalar_params[] = {{"dtype", KN_P_DTYPE, 0}, {"memory_space", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status typed(kn_typing *t, const int64_t *shape, uint32_t rank)
{
    kiln_dtype d;
    int64_t *dims;
    KILN_TRY(kn_typing_dtype(t, EMPTY_DTYPE, &d));
    KILN_TRY(kn_typing_out(t, 1));
    if (!strchr("biufc", kiln_dtype_kind(d))) return kn_fail(t->ctx, KILN_DTYPE, "%s: dtype is %s; accepted: bool, integers, floats, complex", t->prim->name, kiln_dtype_name(d));
    KILN_TRY(kn_typing_shape(t, 0, d, rank, &dims));
    for (uint32_t k = 0; k < rank; k++) dims[k] = shape[k];
    if (kiln_type_size(t->out[0]) < 0) return kn_fail(t->ctx, KILN_SHAPE, "%s: %s is not a possible result", t->prim->name, kn_type_show(t->out[0]).s);
    return KILN_OK;
}

static kiln_status type_empty(kn_typing *t)
{
    const int64_t *shape;
    uint32_t rank;
    KILN_TRY(kn_typing_ints(t, 2, &shape, &rank));
    return typed(t, shape, rank);
}
static kiln_status type_empty2(kn_typing *t) { return typed(t, NULL, 0); }

static kiln_status lower_empty(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    y[0] = kn_low_fill(&l, kn_out_type(j, e, 0), (kn_scalar){.c = {0, 0}});
    return l.status;
}

KILN_PRIM(empty) = {
    .name = "empty",
    .nin = 0,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(empty_params),
    .type = type_empty,
    .lower = lower_empty,
    .sample = kn_sample_empty,
    .doc = "An array whose contents do not matter: zeros.",
};
KILN_PRIM(empty2) = {
    .name = "empty2",
    .nin = 0,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(scalar_params),
    .type = type_empty2,
    .lower = lower_empty,
    .sample = kn_sample_empty,
    .doc = "A scalar whose value does not matter: zero.",
};
