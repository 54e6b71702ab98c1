/* SPDX-License-Identifier: Apache-2.0 */
/* For derivative rules. A tangent or cotangent is a value or KN_SYMBOLIC_ZERO; the functions here take both. Rules of elementwise functions
 * are one expression: with X, Y operands, ANS the result, G the tangent of the operand in question (see KN_JVP1, KN_JVP2). */
#ifndef KN_PRIM_DERIVE_H
#define KN_PRIM_DERIVE_H

#include "prim/lowering.h"

#include "prims.gen.h"

kiln_status kn_zeros(kn_build *b, kiln_type t, kn_atom *out);

kn_atom kn_derive_value(kn_low *l, kn_atom d, kiln_type t); /* zeros for KN_SYMBOLIC_ZERO */
kn_atom kn_derive_add(kn_low *l, kn_atom a, kn_atom b);     /* of equal types, or KN_SYMBOLIC_ZERO */
kn_atom kn_derive_neg(kn_low *l, kn_atom a);
kn_atom kn_derive_sum(kn_low *l, kn_atom a, uint32_t n, const int64_t *axes); /* over dimensions */
kn_atom kn_derive_sum_all(kn_low *l, kn_atom a);
kn_atom kn_derive_spread(kn_low *l, kn_atom a, kiln_type t); /* a tangent of an operand that broadcasts, in the result's shape */
kn_atom kn_derive_gather(kn_low *l, kn_atom ct, kiln_type t); /* its transpose: sums over what was repeated */
kiln_status kn_not_linear(const kn_build *b, const kn_eqn *e, const char *in_what); /* "div is not linear in its divisor", with the place */
kn_atom kn_derive_pad(kn_low *l, kn_atom a, const int64_t *low, const int64_t *high, const int64_t *inside); /* with zeros; inside may be NULL */
kn_atom kn_derive_slice(kn_low *l, kn_atom a, const int64_t *start, const int64_t *limit, const int64_t *stride); /* stride may be NULL */
kn_atom kn_derive_turn(kn_low *l, kn_atom a, const int64_t *permutation);
/* Of an array whose dimension `axis` is to come first or goes back there. */
kn_atom kn_derive_axis_first(kn_low *l, kn_atom a, uint32_t axis);
kn_atom kn_derive_axis_back(kn_low *l, kn_atom a, uint32_t axis);
/* Along a dimension, from its end when reverse: y[i] = a[i] y[i-1] + b[i], y[0] = b[0]; and x[i-1], `first` for i = 0. */
kn_atom kn_derive_recurrence(kn_low *l, kn_atom a, kn_atom b, uint32_t axis, bool reverse);
kn_atom kn_derive_before(kn_low *l, kn_atom x, uint32_t axis, bool reverse, double first);
kn_atom kn_derive_times(kn_low *l, kn_atom a, double v);
kn_atom kn_derive_plus(kn_low *l, kn_atom a, double v);

/* ---- rules that many primitives have ---- */

#define KN_JVP_ARGS                                                                                                   \
    const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *dx, kn_atom *y, kn_atom *dy
#define KN_TRANSPOSE_ARGS                                                                                             \
    const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in

kiln_status kn_jvp_zero(KN_JVP_ARGS);   /* the derivative is zero where it exists: steps, comparisons */
kiln_status kn_jvp_linear(KN_JVP_ARGS); /* linear in all operands that have tangents: the same equation of the tangents */
kiln_status kn_jvp_bilinear(KN_JVP_ARGS); /* linear in each of two operands: the equation of one's tangent and the other, for both */

/* The derivative of what `make`, a lowering, makes of the equation. It gives the results too: for rules with KN_JVP_WHOLE. */
kiln_status kn_jvp_made(KN_JVP_ARGS, kn_lower_fn make);
kiln_status kn_jvp_lowered(KN_JVP_ARGS); /* by its own lowering */

typedef kn_atom (*kn_derivative)(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kn_atom ans, kiln_dtype d);
/* Elementwise: the sum over the operands of f[i](tangent). */
kiln_status kn_jvp_element(kn_build *b, const kn_eqn *e, const kn_jaxpr *j, const kn_atom *x, const kn_atom *dx, const kn_atom *y, kn_atom *dy,
                           const kn_derivative *f);

/* static kiln_status jvp_<id>(...) by formulas in the names of kn_derivative. */
#define KN_DERIVATIVE(name, formula)                                                                                  \
    static kn_atom name(kn_low *l, kn_atom g, kn_atom x, kn_atom y, kn_atom ans, kiln_dtype d)                       \
    {                                                                                                                  \
        (void)l, (void)g, (void)x, (void)y, (void)ans, (void)d;                                                                          \
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

#endif
