/* SPDX-License-Identifier: Apache-2.0 */
/* For derivative rules. A tangent or cotangent is a value or KN_SYMBOLIC_ZERO; the functions here take both. Rules of elementwise functions
 * are one expression: with X, Y operands, ANS the result, G the tangent of the operand in question (see KN_JVP1, KN_JVP2). */
#ifndef KN_PRIM_DERIVE_H
#define KN_PRIM_DERIVE_H

#include "prim/lowering.h"

kiln_status kn_zeros(kn_build *b, kiln_type t, kn_atom *out);

kn_atom kn_derive_value(kn_low *l, kn_atom d, kiln_type t); /* zeros for KN_SYMBOLIC_ZERO */
kn_atom kn_derive_add(kn_low *l, kn_atom a, kn_atom b);     /* of equal types, or KN_SYMBOLIC_ZERO */
kn_atom kn_derive_neg(kn_low *l, kn_atom a);
kn_atom kn_derive_sum(kn_low *l, kn_atom a, uint32_t n, const int64_t *axes); /* over dimensions */
kn_atom kn_derive_sum_all(kn_low *l, kn_atom a);
kn_atom kn_derive_spread(kn_low *l, kn_atom a, kiln_type t); /* a tangent of an operand that broadcasts, in the result's shape */
kn_atom kn_derive_gather(kn_low *l, kn_atom ct, kiln_type t); /* its transpose: sums over what was repeated */
kn_atom kn_derive_times(kn_low *l, kn_atom a, double v);
kn_atom kn_derive_plus(kn_low *l, kn_atom a, double v);

/* ---- rules that many primitives have ---- */

#define KN_JVP_ARGS                                                                                                   \
    const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *dx, kn_atom *y, kn_atom *dy
#define KN_TRANSPOSE_ARGS                                                                                             \
    const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in

kiln_status kn_jvp_zero(KN_JVP_ARGS);   /* the derivative is zero where it exists: steps, comparisons */
kiln_status kn_jvp_linear(KN_JVP_ARGS); /* linear in all operands that have tangents: the same equation of the tangents */

typedef kn_atom (*kn_derivative)(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kn_atom ans, kiln_dtype d);
/* Elementwise: the sum over the operands of f[i](tangent). */
kiln_status kn_jvp_element(kn_build *b, const kn_eqn *e, const kn_jaxpr *j, const kn_atom *x, const kn_atom *dx, const kn_atom *y, kn_atom *dy,
                           const kn_derivative *f);

/* static kiln_status jvp_<id>(...) by formulas in the names of kn_derivative. */
#define KN_DERIVATIVE(name, formula)                                                                                  \
    static kn_atom name(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kn_atom ans, kiln_dtype d)                       \
    {                                                                                                                  \
        (void)x, (void)y, (void)ans, (void)d;                                                                          \
        return formula;                                                                                                \
    }
#define KN_JVP1(id, formula)                                                                                          \
    KN_DERIVATIVE(d_##id, formula)                                                                                     \
    static kiln_status jvp_##id(KN_JVP_ARGS)                                                                          \
    {                                                                                                                  \
        (void)r;                                                                                                       \
        return kn_jvp_element(b, e, j, x, dx, y, dy, (kn_derivative[]){d_##id});                                       \
    }
#define KN_JVP2(id, formula0, formula1)                                                                               \
    KN_DERIVATIVE(d0_##id, formula0)                                                                                   \
    KN_DERIVATIVE(d1_##id, formula1)                                                                                   \
    static kiln_status jvp_##id(KN_JVP_ARGS)                                                                          \
    {                                                                                                                  \
        (void)r;                                                                                                       \
        return kn_jvp_element(b, e, j, x, dx, y, dy, (kn_derivative[]){d0_##id, d1_##id});                             \
    }
#define D_MUL(a, b) kn_low2(l, &kn_prim_mul, (a), (b))
#define D_DIV(a, b) kn_low2(l, &kn_prim_div, (a), (b))
#define D_ADD(a, b) kn_low2(l, &kn_prim_add, (a), (b))
#define D_SUB(a, b) kn_low2(l, &kn_prim_sub, (a), (b))
#define D_NEG(a) kn_low1(l, &kn_prim_neg, (a))
#define D_F(id, a) kn_low1(l, &kn_prim_##id, (a))
#define D_NUM(v) kn_low_num(l, d, (v))

extern const kn_prim kn_prim_add_any, kn_prim_reduce_sum;

#endif
