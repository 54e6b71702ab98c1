/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise composites as formulas: equations written as C expressions. A formula sees operands of one float type, f32 for
 * 16-bit floats, and of the result's shape when there are several; what it gives is rounded to the result's type once. */
#ifndef KN_PRIM_FORMULA_H
#define KN_PRIM_FORMULA_H

#include "prim/batch.h"
#include "prim/common.h"
#include "prim/lowering.h"

typedef struct formula {
    kn_low l;
    kiln_dtype d;     /* KILN_F32 or KILN_F64; an integer type where the primitive takes those */
    kiln_type shape;  /* of the result */
} formula;

typedef kn_atom (*formula_fn)(formula *f, const kn_atom *x);
kiln_status kn_lower_formula(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y, formula_fn fn);

/* The lower rule of a primitive by its formula. */
#define FORMULA_RULE(id, fn)                                                                                          \
    static kiln_status lower_##id(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y) \
    {                                                                                                                  \
        (void)r;                                                                                                       \
        return kn_lower_formula(b, j, e, x, y, fn);                                                                    \
    }

/* A composite of n floats by the rule lower_<rule>. */
#define SPECIAL(id, rule, n, text)                                                                                    \
    {                                                                                                                  \
        .name = #id, .nin = (n), .nout = 1, .flags = KN_LEVEL_TRACED | KN_EXPENSIVE, .type = kn_type_nary_float,       \
        .lower = lower_##rule,                                                                                        \
        .jvp = jvp_##id,                                                                                               \
        .batch = kn_batch_elementwise,                                                                                \
        .sample = kn_sample_elementwise, .doc = (text)                                                                \
    }

extern const kn_prim kn_prim_ceil, kn_prim_cond, kn_prim_convert_element_type, kn_prim_digamma, kn_prim_erf, kn_prim_erfc, kn_prim_floor, kn_prim_le,
    kn_prim_lgamma, kn_prim_max, kn_prim_min, kn_prim_not, kn_prim_pow, kn_prim_reduce_or, kn_prim_rem, kn_prim_round, kn_prim_sin,
    kn_prim_tan, kn_prim_zeta;

static inline bool wide(const formula *f) { return f->d == KILN_F64; }
static inline kn_atom num(formula *f, double v) { return kn_low_num(&f->l, f->d, v); }
static inline kn_atom one(formula *f, const kn_prim *p, kn_atom a) { return kn_low1(&f->l, p, a); }
static inline kn_atom two(formula *f, const kn_prim *p, kn_atom a, kn_atom b) { return kn_low2(&f->l, p, a, b); }
static inline kn_atom add(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_add, a, b); }
static inline kn_atom sub(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_sub, a, b); }
static inline kn_atom mul(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_mul, a, b); }
static inline kn_atom quotient(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_div, a, b); }
static inline kn_atom plus(formula *f, kn_atom a, double v) { return add(f, a, num(f, v)); }
static inline kn_atom times(formula *f, kn_atom a, double v) { return mul(f, a, num(f, v)); }
static inline kn_atom minus(formula *f, kn_atom a) { return one(f, &kn_prim_neg, a); }
static inline kn_atom inverse(formula *f, kn_atom a) { return quotient(f, num(f, 1), a); }
static inline kn_atom below(formula *f, kn_atom a, double v) { return two(f, &kn_prim_lt, a, num(f, v)); }
static inline kn_atom above(formula *f, kn_atom a, double v) { return two(f, &kn_prim_gt, a, num(f, v)); }
static inline kn_atom equals(formula *f, kn_atom a, double v) { return two(f, &kn_prim_eq, a, num(f, v)); }
static inline kn_atom both(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_and, a, b); }
static inline kn_atom either(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_or, a, b); }
static inline kn_atom pick(formula *f, kn_atom which, kn_atom yes, kn_atom no) { return kn_low_select(&f->l, which, yes, no); }
static inline kn_atom pick_num(formula *f, kn_atom which, double yes, kn_atom no) { return pick(f, which, num(f, yes), no); }
kn_atom kn_formula_whole(formula *f, kn_atom a); /* a is an integer (or infinite) */
kn_atom kn_formula_fraction(formula *f, kn_atom a); /* a minus the nearest integer, exact */

/* Coefficients of a polynomial, from the constant on: for f64, and fewer for f32. The tables of this folder are near-minimax:
 * interpolation at Chebyshev points in 60 digits, of the least degree that leaves the error below half a unit in the last place. */
typedef struct kn_series {
    const double *wide, *narrow;
    uint32_t n_wide, n_narrow;
} kn_series;
#define SERIES(w, n) ((kn_series){(w), (n), sizeof(w) / sizeof *(w), sizeof(n) / sizeof *(n)})
kn_atom kn_formula_series(formula *f, kn_series s, kn_atom x); /* by Horner's rule */
kn_atom kn_formula_slope(formula *f, kn_series s, kn_atom x);  /* its derivative */

kn_atom kn_formula_any(formula *f, kn_atom mask); /* a scalar */
/* log gamma(a) less (a - 1/2) log a - a + log(2 pi)/2: for a >= 8; for any a > 0, by lgamma. */
kn_atom kn_formula_stirling(formula *f, kn_atom a);
kn_atom kn_formula_remainder(formula *f, kn_atom a);
kn_atom kn_formula_lgamma1p(formula *f, kn_atom a); /* log gamma(1 + a), for |a| <= 1/2 */
kn_atom kn_formula_bend(formula *f, kn_atom u); /* (u - log(1 + u))/u^2, for |u| <= 1/2 */
kn_atom kn_formula_excess(formula *f, kn_atom u, kn_atom ratio); /* u - log(ratio), where 1 + u = ratio > 0 */

/* One of two formulas for all elements, by a scalar of type bool; each sees the n operands. */
kn_atom kn_formula_branch(formula *f, kn_atom which, const kn_atom *x, uint32_t n, formula_fn yes, formula_fn no);

/* Repeats a step for the elements of `active` until none goes on, at most `most` times; the others keep their values. A step
 * sees the constants and the carries, fills `next`, and gives the elements that go on. Carries have the result's shape. */
typedef kn_atom (*formula_step)(formula *f, const kn_atom *consts, const kn_atom *carry, kn_atom *next);
void kn_formula_iterate(formula *f, int most, kn_atom active, const kn_atom *consts, uint32_t nconsts, kn_atom *carry, uint32_t n, formula_step step);

#endif
