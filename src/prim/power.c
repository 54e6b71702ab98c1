/* SPDX-License-Identifier: Apache-2.0 */
/* int_pow: integers to integer powers. mulhi: the upper half of a product. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

static kiln_status type_integers(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "iu"));
    return kn_type_nary_real(t);
}

static kn_atom number(kn_low *l, kiln_dtype d, int64_t v)
{
    kn_atom a = 0;
    if (l->status == KILN_OK) l->status = kn_build_literal(l->b, d, (kn_scalar){.i = v}, &a);
    return a;
}

/* By the bits of the exponent, lowest first. A negative exponent leaves the powers of 1 and -1; of all others (0 too) it is 0. */
static kiln_status lower_int_pow(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_build_type(b, x[0]).dtype;
    kiln_type out = kn_out_type(j, e, 0);
    kn_atom one = number(&l, d, 1), zero = number(&l, d, 0), x0 = kn_low_in_shape(&l, x[0], out), x1 = kn_low_in_shape(&l, x[1], out);
    kn_atom base = x0, rest = x1, result = kn_low_widen(&l, one, out);
    for (unsigned k = 0, width = kn_dtype_width(d); k < width; k++) {
        kn_atom set = kn_low2(&l, &kn_prim_ne, kn_low2(&l, &kn_prim_and, rest, one), zero);
        result = kn_low_select(&l, set, kn_low2(&l, &kn_prim_mul, result, base), result);
        if (k + 1 == width) break;
        base = kn_low2(&l, &kn_prim_mul, base, base);
        rest = kn_low2(&l, &kn_prim_shift_right_logical, rest, one);
    }
    if (kiln_dtype_kind(d) == 'i') {
        kn_atom minus = number(&l, d, -1), odd = kn_low2(&l, &kn_prim_ne, kn_low2(&l, &kn_prim_and, x1, one), zero);
        kn_atom of_minus = kn_low_select(&l, odd, minus, one);
        kn_atom inverse = kn_low_select(&l, kn_low2(&l, &kn_prim_eq, x0, minus), of_minus, zero);
        inverse = kn_low_select(&l, kn_low2(&l, &kn_prim_eq, x0, one), one, inverse);
        result = kn_low_select(&l, kn_low2(&l, &kn_prim_lt, x1, zero), inverse, result);
    }
    y[0] = result;
    return l.status;
}

KILN_PRIM(int_pow) = {
    .name = "int_pow",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_integers,
    .lower = lower_int_pow,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_integers,
    .doc = "Integer to an integer power, wrapping; a negative power of 1 is 1, of -1 is 1 or -1, of any other number 0.",
};

/* With halves x = xh 2^h + xl: the upper half of x y is xh yh + ((xl yh + (xl yl >> h)) and (xh yl), summed without overflow, >> h). */
static kiln_status lower_mulhi(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r, (void)j, (void)e;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_build_type(b, x[0]).dtype;
    unsigned half = kn_dtype_width(d) / 2;
    const kn_prim *shift = kiln_dtype_kind(d) == 'i' ? &kn_prim_shift_right_arithmetic : &kn_prim_shift_right_logical;
    kn_atom h = number(&l, d, half), mask = number(&l, d, (int64_t)(((uint64_t)1 << half) - 1));
    kn_atom xl = kn_low2(&l, &kn_prim_and, x[0], mask), xh = kn_low2(&l, shift, x[0], h);
    kn_atom yl = kn_low2(&l, &kn_prim_and, x[1], mask), yh = kn_low2(&l, shift, x[1], h);
    kn_atom low = kn_low2(&l, &kn_prim_shift_right_logical, kn_low2(&l, &kn_prim_mul, xl, yl), h);
    kn_atom t = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, xh, yl), low);
    kn_atom w = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, xl, yh), kn_low2(&l, &kn_prim_and, t, mask));
    y[0] = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, xh, yh), kn_low2(&l, &kn_prim_add, kn_low2(&l, shift, t, h), kn_low2(&l, shift, w, h)));
    return l.status;
}

KILN_PRIM(mulhi) = {
    .name = "mulhi",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    .type = type_integers,
    .lower = lower_mulhi,
    .batch = kn_batch_elementwise,
    .sample = kn_sample_integers,
    .doc = "The upper half of the full product of two integers.",
};
