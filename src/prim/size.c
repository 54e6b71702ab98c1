/* SPDX-License-Identifier: Apache-2.0 */
/* dim_as_value: a dimension as a number. Programs of which one size is given when they run need it to count with that size. */
#include "array/size.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

enum { SIZE_DIM, SIZE_DTYPE };
static const kn_param_spec size_params[] = {
    {"dim", KN_P_INT, 0},
    {"dtype", KN_P_DTYPE, KN_PARAM_FROM_RESULT},
};

static kiln_status type_size(kn_typing *t)
{
    int64_t dim;
    kiln_dtype d;
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_int(t, SIZE_DIM, &dim));
    KILN_TRY(kn_typing_dtype(t, SIZE_DTYPE, &d));
    if (d != KILN_I32 && d != KILN_I64) return kn_fail(t->ctx, KILN_DTYPE, "dim_as_value: dtype is %s; accepted: i32, i64", kiln_dtype_name(d));
    if (dim < 0) return kn_fail(t->ctx, KILN_SHAPE, "dim_as_value: dim is %lld; accepted: 0 or more", (long long)dim);
    return kn_typing_like(t, 0, d, KILN_SCALAR(d));
}

static kiln_status eval_size(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j, (void)in;
    kn_scalar v = {.i = e->params[SIZE_DIM].i};
    kn_scalar_store(out[0]->type.dtype, out[0]->data, 0, kn_sop_eval(KN_S_convert, KILN_I64, out[0]->type.dtype, v, v, v));
    return KILN_OK;
}

static kn_lv element_size(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)ix;
    kn_lv v = m->integer(m, e->params[SIZE_DIM].i);
    kiln_dtype d = kn_out_type(m->j, e, result).dtype;
    return d == KILN_I64 ? v : m->op(m, KN_S_convert, KILN_I64, d, v, 0, 0);
}

static kiln_status sample_size(kn_sample *s)
{
    kiln_dtype d;
    s->dtypes &= 1u << KILN_I32 | 1u << KILN_I64;
    KILN_TRY(kn_sample_dtype(s, "i", &d));
    return kn_sample_emit(s, (kn_param[]){KN_INT(kn_sample_between(s, 0, s->length + 3)), KN_DTYPE(d)}, NULL, 0, 1);
}

kn_atom kn_low_size(kn_low *l, kiln_dtype d, int64_t dim)
{
    kn_atom a = 0;
    if (kn_size_open(dim)) return kn_low_op(l, &kn_prim_dim_as_value, (kn_param[]){KN_INT(dim), KN_DTYPE(d)}, NULL, 0);
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, d, (kn_scalar){.i = dim}, &a);
    return l->status == KILN_OK ? a : 0;
}

KILN_PRIM(dim_as_value) = {
    .name = "dim_as_value",
    .nin = 0,
    .nout = 1,
    KN_PARAMS(size_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_size,
    .eval = eval_size,
    .element = element_size,
    .sample = sample_size,
    .doc = "The dimension `dim` as a number: that of a program of which one size is given when it runs, as in `dim=2*n`.",
};
