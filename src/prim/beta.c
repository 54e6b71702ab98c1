/* SPDX-License-Identifier: Apache-2.0 */
/* The regularized incomplete beta function: the even part of the continued fraction DLMF 8.17.22 (Didonato and Morris 1992, ACM
 * TOMS 18, 360), by Lentz's method, below the mean a/(a+b), where its terms are positive (8.17.4 leads there). The factor
 * x^a (1-x)^b/B(a, b) is written about the mean, so that nothing cancels: with u = x (a+b)/a - 1 and v = (1-x)(a+b)/b - 1,
 * a u + b v = 0 and its logarithm is -a (u - log(1+u)) - b (v - log(1+v)) plus logarithms of roots and the remainders of
 * Stirling's formula. Where b < 1/10 and a (1-x) < 1, next to 1, the fraction is slow: 1 - I is the power series of y = 1 - x,
 * y^b/(b B(a, b)) times the sum of b (1-a)_n y^n/(n! (b+n)) (8.17.7, 15.2.1). */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <float.h>
#include <math.h>

enum { MOST_TRIPS = 2000 }; /* enough up to a, b = 10^7; then about the root of the smaller */
#define PI 3.14159265358979323846

enum { STEP, C, D, VALUE, N_CARRIES };
enum { A, B, X, LEAN, N_CONSTANTS }; /* LEAN: a (1 - x) - b x + 1 */

static kn_atom denominator(formula *f, const kn_atom *k, kn_atom n)
{
    kn_atom a2n = add(f, k[A], times(f, n, 2));
    kn_atom first = quotient(f, mul(f, mul(f, n, sub(f, k[B], n)), k[X]), plus(f, a2n, -1));
    kn_atom second = mul(f, add(f, k[A], n), add(f, k[LEAN], mul(f, n, sub(f, num(f, 2), k[X]))));
    return add(f, add(f, n, first), quotient(f, second, plus(f, a2n, 1)));
}

static kn_atom step(formula *f, const kn_atom *k, const kn_atom *carry, kn_atom *next)
{
    kn_atom n = next[STEP] = plus(f, carry[STEP], 1), less = plus(f, n, -1), d = plus(f, add(f, k[A], times(f, n, 2)), -1);
    kn_atom top = quotient(f, mul(f, n, add(f, k[A], less)), d), next_bottom = denominator(f, k, n);
    top = mul(f, top, quotient(f, add(f, add(f, k[A], k[B]), less), d));
    top = mul(f, mul(f, top, sub(f, k[B], n)), mul(f, k[X], k[X]));
    next[D] = inverse(f, add(f, next_bottom, mul(f, top, carry[D])));
    next[C] = add(f, next_bottom, quotient(f, top, carry[C]));
    kn_atom change = mul(f, next[C], next[D]);
    next[VALUE] = mul(f, carry[VALUE], change);
    return above(f, one(f, &kn_prim_abs, plus(f, change, -1)), wide(f) ? DBL_EPSILON : (double)FLT_EPSILON);
}

enum { P_STEP, P_TERM, P_SUM, N_SERIES };

static kn_atom series_step(formula *f, const kn_atom *k, const kn_atom *carry, kn_atom *next)
{
    kn_atom n = next[P_STEP] = plus(f, carry[P_STEP], 1);
    next[P_TERM] = mul(f, carry[P_TERM], quotient(f, mul(f, sub(f, n, k[A]), k[X]), n));
    kn_atom term = quotient(f, mul(f, k[B], next[P_TERM]), add(f, k[B], n));
    next[P_SUM] = add(f, carry[P_SUM], term);
    return above(f, one(f, &kn_prim_abs, next[P_TERM]), wide(f) ? DBL_EPSILON / 4 : (double)FLT_EPSILON / 4);
}

/* x^a y^b/B(a, b), x + y = 1; t = x b - y a */
static kn_atom density(formula *f, kn_atom a, kn_atom b, kn_atom x, kn_atom y, kn_atom t)
{
    kn_atom sum = add(f, a, b);
    kn_atom u = kn_formula_excess(f, quotient(f, t, a), mul(f, x, quotient(f, sum, a)));
    kn_atom v = kn_formula_excess(f, minus(f, quotient(f, t, b)), mul(f, y, quotient(f, sum, b)));
    kn_atom rest = sub(f, add(f, kn_formula_remainder(f, a), kn_formula_remainder(f, b)), kn_formula_remainder(f, sum));
    kn_atom exponent = minus(f, add(f, add(f, mul(f, a, u), mul(f, b, v)), rest));
    kn_atom root = one(f, &kn_prim_sqrt, times(f, mul(f, a, quotient(f, b, sum)), 1 / (2 * PI)));
    return mul(f, root, one(f, &kn_prim_exp, exponent));
}

static kn_atom betainc_of(formula *f, const kn_atom *operand)
{
    kn_atom a0 = operand[0], b0 = operand[1], x0 = operand[2], y0 = sub(f, num(f, 1), x0);
    kn_atom lean = sub(f, mul(f, x0, b0), mul(f, y0, a0)), swap = above(f, lean, 0), t = minus(f, one(f, &kn_prim_abs, lean));
    kn_atom a = pick(f, swap, b0, a0), b = pick(f, swap, a0, b0), x = pick(f, swap, y0, x0), y = pick(f, swap, x0, y0);
    kn_atom inside = both(f, both(f, above(f, a, 0), above(f, b, 0)), both(f, above(f, x, 0), above(f, y, 0)));
    kn_atom nothing = kn_low_fill(&f->l, f->shape, (kn_scalar){.f = 0}), k[N_CONSTANTS] = {a, b, x, sub(f, num(f, 1), t)};
    kn_atom first = denominator(f, k, nothing), carry[N_CARRIES] = {nothing, first, nothing, first};
    kn_atom edge = both(f, both(f, below(f, b, 0.1), below(f, mul(f, a, y), 1)), two(f, &kn_prim_le, y, num(f, 0.5)));
    kn_formula_iterate(f, MOST_TRIPS, both(f, inside, one(f, &kn_prim_not, edge)), k, N_CONSTANTS, carry, N_CARRIES, step);
    kn_atom unit = plus(f, nothing, 1), series[N_SERIES] = {nothing, unit, unit};
    kn_formula_iterate(f, MOST_TRIPS, both(f, inside, edge), (kn_atom[]){a, b, y}, 3, series, N_SERIES, series_step);
    kn_atom d = density(f, a, b, x, y, t), r = quotient(f, d, carry[VALUE]);
    kn_atom power = one(f, &kn_prim_exp, mul(f, a, one(f, &kn_prim_log1p, minus(f, y)))); /* x^a */
    kn_atom rest = quotient(f, mul(f, d, series[P_SUM]), mul(f, b, power));
    r = pick(f, edge, sub(f, num(f, 1), rest), r);
    r = pick(f, swap, sub(f, num(f, 1), r), r);
    r = pick_num(f, equals(f, x0, 0), 0, r);
    r = pick_num(f, equals(f, x0, 1), 1, r);
    kn_atom bad = either(f, either(f, below(f, x0, 0), above(f, x0, 1)), two(f, &kn_prim_ne, x0, x0));
    bad = either(f, bad, one(f, &kn_prim_not, both(f, above(f, a0, 0), above(f, b0, 0))));
    return pick_num(f, bad, (double)NAN, r);
}

FORMULA_RULE(betainc, betainc_of)

/* In x only: exp((b - 1) log(1 - x) + (a - 1) log x - log B(a, b)). */
static kiln_status jvp_regularized_incomplete_beta(KN_JVP_ARGS)
{
    (void)r, (void)y;
    if (dx[0] != KN_SYMBOLIC_ZERO || dx[1] != KN_SYMBOLIC_ZERO)
        return kn_fail(b->ctx, KILN_UNSUPPORTED, "regularized_incomplete_beta has a derivative in its third operand only");
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_dtype d = kn_out_type(j, e, 0).dtype;
    kn_atom log_beta = D_SUB(D_ADD(D_F(lgamma, x[0]), D_F(lgamma, x[1])), D_F(lgamma, D_ADD(x[0], x[1])));
    kn_atom right = D_MUL(D_SUB(x[1], D_NUM(1)), D_F(log1p, D_NEG(x[2]))), left = D_MUL(D_SUB(x[0], D_NUM(1)), D_F(log, x[2]));
    dy[0] = kn_derive_spread(l, D_MUL(dx[2], D_F(exp, D_SUB(D_ADD(right, left), log_beta))), kn_out_type(j, e, 0));
    return low.status;
}

KILN_PRIM(regularized_incomplete_beta) = SPECIAL(regularized_incomplete_beta, betainc, 3,
                                                 "Regularized incomplete beta function of a, b and x: the integral of t^(a-1) (1-t)^(b-1) from 0 to x over "
                                                 "that from 0 to 1. NaN outside of a > 0, b > 0, 0 <= x <= 1. Within 120 ULP, and 3 "
                                                 "for each unit of |b x - a (1 - x)|/max(x, 1 - x), or, for a or b < 1/10, within "
                                                 "60 units of the last place of 1.");
