/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the body that adds complex numbers given by their logarithms, as JAX writes it: the same equations in the same order. That of floats
 * stays a window, with the body as it is written. */
#include "hlo/import.h"

#include "prim/common.h"
#include "prim/lowering.h"

#include "prims.gen.h"

#define PI 3.14159265358979323846

/* The later in the order of real, then imaginary parts. */
static kn_atom later(kn_low *l, kn_atom a, kn_atom b)
{
    kn_atom x = kn_low1(l, &kn_prim_real, a), y = kn_low1(l, &kn_prim_real, b);
    kn_atom tie = kn_low2(l, &kn_prim_eq, x, y), first = kn_low2(l, &kn_prim_gt, x, y);
    x = kn_low1(l, &kn_prim_imag, a), y = kn_low1(l, &kn_prim_imag, b);
    return kn_low_select(l, kn_low_select(l, tie, kn_low2(l, &kn_prim_gt, x, y), first), a, b);
}

static kn_atom of_complex(kn_low *l, kiln_dtype d, kn_atom a, kn_atom b)
{
    kiln_dtype real = d == KILN_C64 ? KILN_F32 : KILN_F64;
    kn_atom half = kn_low_num(l, real, PI), turn = kn_low_num(l, real, 2 * PI);
    kn_atom top = later(l, a, b), sum = kn_low2(l, &kn_prim_add, a, b);
    kn_atom apart = kn_low2(l, &kn_prim_sub, sum, kn_low2(l, &kn_prim_mul, top, kn_low_num(l, d, 2)));
    sum = kn_low2(l, &kn_prim_add, top, kn_low1(l, &kn_prim_log1p, kn_low1(l, &kn_prim_exp, apart)));
    kn_atom x = kn_low1(l, &kn_prim_real, sum), y = kn_low2(l, &kn_prim_add, kn_low1(l, &kn_prim_imag, sum), half);
    kn_atom angle = kn_low2(l, &kn_prim_rem, y, turn), under = kn_low2(l, &kn_prim_lt, angle, kn_low_num(l, real, 0));
    angle = kn_low_select(l, under, kn_low2(l, &kn_prim_add, angle, turn), angle);
    return kn_low2(l, &kn_prim_complex, x, kn_low2(l, &kn_prim_sub, angle, half));
}

kiln_status kn_hlog_sum(kn_himport *h, const kn_jaxpr *body, bool *is)
{
    kn_build b;
    kn_atom in[2], y;
    const kn_jaxpr *known;
    *is = false;
    if (body->nin != 2 || body->nconsts || body->nout != 1 || body->neqns < 2) return KILN_OK;
    kiln_type t = body->vars[body->in[0]].type;
    if (t.rank || kiln_dtype_kind(t.dtype) != 'c') return KILN_OK;
    kn_build_init(&b, h->ctx, h->prog);
    kn_low l = {&b, KILN_OK};
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, t, &in[i]));
    y = of_complex(&l, t.dtype, in[0], in[1]);
    KILN_TRY(l.status);
    KILN_TRY(kn_build_finish(&b, &y, 1, &known));
    *is = kn_jaxpr_equal(body, known);
    return KILN_OK;
}
