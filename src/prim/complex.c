/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers from parts and back; two functions of real numbers that formulas of complex ones need. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/lowering.h"
#include "prim/sample.h"

static kiln_dtype whole_of(kiln_dtype part) { return part == KILN_F32 ? KILN_C64 : KILN_C128; }
static kiln_dtype part_of(kiln_dtype whole) { return whole == KILN_C64 ? KILN_F32 : KILN_F64; }

static kiln_status type_complex(kn_typing *t)
{
    if (t->in[0].dtype != KILN_F32 && t->in[0].dtype != KILN_F64)
        return kn_fail(t->ctx, KILN_DTYPE, "complex: operand 0 is %s; element types accepted: f32, f64", kn_type_show(t->in[0]).s);
    KILN_TRY(kn_type_nary_number(t));
    t->out[0].dtype = whole_of(t->in[0].dtype);
    return KILN_OK;
}
static kn_scalar complex_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    (void)j, (void)e;
    return (kn_scalar){.c = {x[0].f, x[1].f}};
}
static kiln_status eval_complex(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], complex_map);
}
/* Cotangents are not conjugated: c pairs with t as Re(c t). */
static kiln_status transpose_complex(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    if (x[0] == KN_LINEAR) ct_in[0] = kn_derive_gather(&l, kn_low1(&l, &kn_prim_real, ct[0]), kn_in_type(j, e, 0));
    if (x[1] == KN_LINEAR) ct_in[1] = kn_derive_gather(&l, kn_derive_neg(&l, kn_low1(&l, &kn_prim_imag, ct[0])), kn_in_type(j, e, 1));
    return l.status;
}
KILN_PRIM(complex) = {
    .name = "complex",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    .loop = KN_LOOP_PARTS,
    .type = type_complex,
    .eval = eval_complex,
    .jvp = kn_jvp_linear,
    .transpose = transpose_complex,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_complex,
    .doc = "The complex number of a real and an imaginary part.",
};

static kiln_status type_part(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "c"));
    return kn_typing_like(t, 0, part_of(t->in[0].dtype), t->in[0]);
}
static kn_scalar part_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    (void)j;
    return (kn_scalar){.f = x[0].c[e->prim->name[0] == 'i']};
}
static kiln_status eval_part(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], part_map);
}
static kiln_status transpose_part(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    bool imaginary = e->prim->name[0] == 'i';
    kn_atom zero = kn_derive_value(&l, KN_SYMBOLIC_ZERO, kn_out_type(j, e, 0));
    ct_in[0] = imaginary ? kn_low2(&l, &kn_prim_complex, zero, kn_derive_neg(&l, ct[0])) : kn_low2(&l, &kn_prim_complex, ct[0], zero);
    return l.status;
}
static kn_lv element_part(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    return m->part(m, e, 0, ix, e->prim->name[0] == 'i');
}
#define PART(id, text)                                                                                                \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_ELEMENTWISE, .loop = KN_LOOP_ELEMENT, .type = type_part,         \
        .eval = eval_part,                                                                                             \
        .jvp = kn_jvp_linear, .transpose = transpose_part,                                                             \
        .element = element_part, .batch = kn_batch_elementwise, .sample = kn_sample_complex,                           \
        .doc = (text)                                                                                                  \
    }
KILN_PRIM(real) = PART(real, "The real part.");
KILN_PRIM(imag) = PART(imag, "The imaginary part.");

/* conj of a real number makes it complex */
static const kn_param_spec conj_params[] = {{"input_dtype", KN_P_DTYPE, KN_PARAM_OPTIONAL}};
static kiln_status type_conj(kn_typing *t)
{
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    bool real = x.dtype == KILN_F32 || x.dtype == KILN_F64;
    if (!real) KILN_TRY(kn_typing_kinds(t, 0, "c"));
    return kn_typing_like(t, 0, real ? whole_of(x.dtype) : x.dtype, x);
}
static kiln_status lower_conj(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    if (kiln_dtype_kind(d) == 'f') y[0] = kn_low2(&l, &kn_prim_complex, x[0], kn_low_num(&l, d, -0.0));
    else y[0] = kn_low2(&l, &kn_prim_complex, kn_low1(&l, &kn_prim_real, x[0]), kn_low1(&l, &kn_prim_neg, kn_low1(&l, &kn_prim_imag, x[0])));
    return l.status;
}
static kiln_status transpose_conj(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    if (kiln_dtype_kind(d) == 'c') ct_in[0] = kn_low_op(&l, e->prim, &KN_DTYPE(d), ct, 1);
    else ct_in[0] = kn_low1(&l, &kn_prim_real, ct[0]);
    return l.status;
}
KILN_PRIM(conj) = {
    .name = "conj",
    .nin = 1,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_LEVEL_TRACED,
    KN_PARAMS(conj_params),
    .type = type_conj,
    .jvp = kn_jvp_linear,
    .transpose = transpose_conj,
    .lower = lower_conj,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_complex,
    .doc = "The conjugate: the imaginary part changes its sign.",
};

static kiln_status type_reals(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    return kn_type_nary_number(t);
}
KN_JVP2(hypot, D_MUL(g, D_DIV(x, ans)), D_MUL(g, D_DIV(y, ans)))
static kiln_status jvp_fma(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    for (uint32_t i = 0; i < 3; i++) {
        if (dx[i] == KN_SYMBOLIC_ZERO) continue;
        kn_atom part = i == 2 ? dx[2] : kn_low2(&l, &kn_prim_mul, dx[i], x[1 - i]);
        dy[0] = kn_derive_add(&l, dy[0], kn_derive_spread(&l, part, t));
    }
    return l.status;
}

KILN_PRIM(hypot) = {
    .name = "hypot",
    .nin = 2,
    .nout = 1,
    .flags = KN_ELEMENTWISE | KN_EXPENSIVE,
    .scalar_op = KN_S_hypot,
    .loop = KN_LOOP_ELEMENT,
    .type = type_reals,
    .eval = kn_eval_sop,
    .jvp = jvp_hypot,
    .element = kn_element_sop,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "Square root of the sum of two squares, without overflow on the way; within 1 ULP.",
};
KILN_PRIM(fma) = {
    .name = "fma",
    .nin = 3,
    .nout = 1,
    .flags = KN_ELEMENTWISE,
    .scalar_op = KN_S_fma,
    .loop = KN_LOOP_ELEMENT,
    .type = type_reals,
    .eval = kn_eval_sop,
    .jvp = jvp_fma,
    .element = kn_element_sop,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_elementwise,
    .doc = "a * b + c with one rounding.",
};
