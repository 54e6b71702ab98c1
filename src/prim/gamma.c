/* SPDX-License-Identifier: Apache-2.0 */
/* The gamma function's logarithm and its derivatives, and the Hurwitz zeta function: composites. Formulas are named after the
 * NIST Digital Library of Mathematical Functions (DLMF); bounds are those that the tests measure. */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- lgamma ---- */

/* lgamma(2 + y)/y on -3/4..1/2 */
static const double near_two[] = {
    0.42278433509846714,    0.3224670334241132,     -0.06735230105319819,   0.020580808427788702,  -7.3855510286631931e-3,
    2.8905103304820637e-3,  -1.1927539122376619e-3, 5.0966953206487144e-4,  -2.2315474408602819e-4, 9.9457401988949339e-5,
    -4.4926464931326537e-5, 2.0508175353649692e-5,  -9.43727020655551e-6,   4.3700893078402947e-6, -2.0524824167248728e-6,
    9.670254916827004e-7,   -4.018330416059452e-7,  2.0758927598859587e-7,  -1.9264000508094272e-7, 6.2426286817793869e-9,
    5.0257317365551413e-8,  7.5584726967884471e-8};
static const double near_two_f32[] = {0.422784335,    0.32246703,    -0.0673523371,  0.0205809778,  -7.38458968e-3, 2.88827049e-3,
                                      -1.20231718e-3, 5.19483753e-4, -1.81884202e-4, 9.14432009e-5, -1.12275352e-4};
/* a times the remainder of Stirling's formula (DLMF 5.11.1), in 1/a^2, for a >= 8 */
static const double stirling[] = {0.083333333333333333,    -2.7777777777739882e-3, 7.9365078975240582e-4, -5.9523658450570487e-4,
                                  8.4147008525031473e-4, -1.890382993887715e-3,  5.0659053601561324e-3};
static const double stirling_f32[] = {0.0833333333, -2.77769855e-3, 7.80034719e-4};

kn_atom kn_formula_stirling(formula *f, kn_atom a)
{
    kn_atom w = inverse(f, a);
    return mul(f, w, kn_formula_series(f, SERIES(stirling, stirling_f32), mul(f, w, w)));
}

kn_atom kn_formula_lgamma1p(formula *f, kn_atom a)
{
    return sub(f, mul(f, a, kn_formula_series(f, SERIES(near_two, near_two_f32), a)), one(f, &kn_prim_log1p, a));
}

/* Of a = |x|; for a < 1/2 of x itself. Below 5/4: lgamma(2 + y) of y = x - 1, less log(1 + y), and below 1/2 of y = x, less
 * log(x (1 + x)) (DLMF 5.5.1); up to 8: the argument goes down to 2 + y, the factors into a product. */
static kn_atom lgamma_small(formula *f, kn_atom x, kn_atom a, kn_atom is_big, kn_atom *logarithm)
{
    kn_atom tiny = below(f, a, 0.5), low = below(f, a, 1.25), p = num(f, 1);
    kn_atom y = pick(f, tiny, x, sub(f, a, pick(f, low, num(f, 1), num(f, 2))));
    for (int k = 0; k < 6; k++) {
        kn_atom over = above(f, y, 0.5);
        p = pick(f, over, mul(f, p, plus(f, y, 1)), p);
        y = pick(f, over, plus(f, y, -1), y);
    }
    kn_atom of = pick(f, tiny, one(f, &kn_prim_abs, mul(f, x, plus(f, x, 1))), pick(f, low, a, p));
    kn_atom l = *logarithm = one(f, &kn_prim_log, pick(f, is_big, a, of));
    kn_atom smooth = mul(f, y, kn_formula_series(f, SERIES(near_two, near_two_f32), y));
    return add(f, smooth, pick(f, low, minus(f, l), l));
}

/* Stirling's formula from 8 on; at x <= -1/2, log(pi/(a |sin pi x|)) - lgamma(a) (DLMF 5.5.3). */
static kn_atom lgamma_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0], a = one(f, &kn_prim_abs, x), is_big = two(f, &kn_prim_ge, a, num(f, 8)), l;
    kn_atom small = lgamma_small(f, x, a, is_big, &l);
    kn_atom big = mul(f, plus(f, a, -0.5), plus(f, l, -1));
    big = add(f, big, plus(f, kn_formula_stirling(f, a), 0.41893853320467274178)); /* log(2 pi)/2 - 1/2 - 0 */
    kn_atom r = pick(f, is_big, big, small);
    kn_atom wave = one(f, &kn_prim_abs, one(f, &kn_prim_sin, times(f, kn_formula_fraction(f, a), PI)));
    kn_atom mirrored = sub(f, one(f, &kn_prim_log, quotient(f, num(f, PI), mul(f, a, wave))), r);
    r = pick(f, two(f, &kn_prim_le, x, num(f, -0.5)), mirrored, r);
    return pick_num(f, equals(f, a, (double)INFINITY), (double)INFINITY, r);
}

/* ---- digamma ---- */

/* psi(x)/(x - x0) on 1..2, in x - 3/2; x0 is the zero there */
static const double psi[] = {
    0.95105587603183289,    -0.4236274212814605,    0.24054248424077422,    -0.14840492305390886,   0.094988724454941213,
    -0.061922133273064532,  0.040760833812420736,   -0.026975796756138249,  0.017907252439451199,   -0.011908218001568645,
    7.926944646403796e-3,   -5.2799648732574042e-3, 3.519006401502276e-3,   -2.345267632540769e-3,  1.5566317474486839e-3,
    -1.0376374098418605e-3, 7.2332662792875542e-4,  -4.8219905305667889e-4, 2.2723316609873759e-4,  -1.5148586836773366e-4,
    2.5968482126430747e-4,  -1.7312261802727393e-4};
static const double psi_f32[] = {0.951055876,   -0.423627497, 0.240542535,   -0.148398861, 0.0949846851, -0.0620559804,
                                 0.0408500267, -0.0257868836, 0.017114989, -0.0163736203, 0.0109025887};
/* a^2 (log a - 1/(2a) - psi(a)) in 1/a^2, for a >= 8 (DLMF 5.11.2) */
static const double psi_large[] = {0.083333333333333325,  -8.3333333332786361e-3, 3.9682539119537087e-3, -4.1666448230497002e-3,
                                   7.5716896202839015e-3, -0.020697987372370494,  0.063621505876343562};
static const double psi_large_f32[] = {0.0833333329, -8.33278354e-3, 3.87358826e-3};

/* z > 0. Into 1..2 by DLMF 5.5.2, the reciprocals gathered into one fraction. */
static kn_atom digamma_positive(formula *f, kn_atom z)
{
    kn_atom low = below(f, z, 1), y = pick(f, low, plus(f, z, 1), z);
    kn_atom top = pick(f, low, num(f, -1), num(f, 0)), bottom = pick(f, low, z, num(f, 1));
    for (int k = 0; k < 6; k++) {
        kn_atom over = two(f, &kn_prim_ge, y, num(f, 2)), less = plus(f, y, -1);
        top = pick(f, over, add(f, mul(f, top, less), bottom), top);
        bottom = pick(f, over, mul(f, bottom, less), bottom);
        y = pick(f, over, less, y);
    }
    bool w = wide(f);
    kn_atom from_zero = plus(f, plus(f, y, w ? -0x1.762d86356be3fp+0 : -(double)1.4616321f), w ? -9.5499954299656977e-17 : -1.2438149938918910e-8);
    kn_atom small = mul(f, from_zero, kn_formula_series(f, SERIES(psi, psi_f32), plus(f, y, -1.5)));
    small = add(f, small, quotient(f, top, bottom));
    kn_atom u = inverse(f, z), u2 = mul(f, u, u);
    kn_atom tail = add(f, times(f, u, 0.5), mul(f, u2, kn_formula_series(f, SERIES(psi_large, psi_large_f32), u2)));
    kn_atom large = sub(f, one(f, &kn_prim_log, z), tail);
    return pick(f, two(f, &kn_prim_ge, z, num(f, 8)), large, small);
}

/* psi(x) = psi(1 - x) - pi/tan(pi x) below 0 (DLMF 5.5.4); NaN at the poles. */
static kn_atom digamma_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0], negative = below(f, x, 0);
    kn_atom r = digamma_positive(f, pick(f, negative, sub(f, num(f, 1), x), x));
    kn_atom slope = one(f, &kn_prim_tan, times(f, kn_formula_fraction(f, x), PI));
    r = pick(f, negative, sub(f, r, quotient(f, num(f, PI), slope)), r);
    kn_atom pole = both(f, two(f, &kn_prim_le, x, num(f, 0)), kn_formula_whole(f, x));
    return pick_num(f, pole, (double)NAN, r);
}

/* ---- zeta(s, q) = the sum of (q + k)^-s over k >= 0 (DLMF 25.11.1) ---- */

/* B_2k/(2k)! */
static const double bernoulli[] = {8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,   -8.2671957671957672e-7,
                                   2.0876756987868099e-8,   -5.2841901386874932e-10, 1.3382536530684679e-11,  -3.3896802963225829e-13,
                                   8.5860620562778446e-15,  -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};

/* s > 1, q > 0: some terms, the rest by the Euler-Maclaurin formula (DLMF 25.11.8 with n derivatives, 2.10.1). Where s is so large
 * that the factors of the derivatives could overflow, the rest does not matter. */
static kn_atom zeta_positive(formula *f, const kn_atom *x)
{
    int terms = wide(f) ? 9 : 5, derivatives = wide(f) ? 12 : 6;
    kn_atom s = x[0], q = x[1], minus_s = minus(f, s), a = plus(f, q, terms), u = inverse(f, a);
    kn_atom t = two(f, &kn_prim_pow, a, sub(f, num(f, 1), s)), at = mul(f, t, u);
    kn_atom sum = add(f, quotient(f, t, plus(f, s, -1)), times(f, at, 0.5));
    kn_atom bounded = two(f, &kn_prim_min, s, num(f, 1024)), rest = num(f, 0);
    kn_atom factor = mul(f, mul(f, bounded, u), at);
    for (int k = 0; k < derivatives; k++) {
        rest = add(f, rest, times(f, factor, bernoulli[k]));
        if (k + 1 == derivatives) break;
        kn_atom up = mul(f, plus(f, bounded, 2 * k + 1), u);
        factor = mul(f, factor, mul(f, up, mul(f, plus(f, bounded, 2 * k + 2), u)));
    }
    sum = add(f, sum, rest);
    for (int k = terms - 1; k >= 0; k--) sum = add(f, sum, two(f, &kn_prim_pow, k ? plus(f, q, k) : q, minus_s));
    return pick_num(f, equals(f, q, (double)INFINITY), 0, sum);
}

/* Below 0, s an integer, with q = g - n, 0 < g < 1: the terms k < n are those of 1 - g with the sign (-1)^s. */
static kn_atom zeta_mirrored(formula *f, const kn_atom *x)
{
    kn_atom s = x[0], q = x[1], negative = below(f, q, 0);
    kn_atom g = sub(f, q, one(f, &kn_prim_floor, q)), other = sub(f, one(f, &kn_prim_ceil, q), q);
    kn_atom from = zeta_positive(f, (kn_atom[]){s, pick(f, negative, g, q)});
    kn_atom between = sub(f, zeta_positive(f, (kn_atom[]){s, other}), zeta_positive(f, (kn_atom[]){s, sub(f, num(f, 1), q)}));
    kn_atom even = equals(f, two(f, &kn_prim_rem, s, num(f, 2)), 0);
    return pick(f, negative, add(f, from, pick(f, even, between, minus(f, between))), from);
}

static kn_atom zeta_of(formula *f, const kn_atom *x)
{
    kn_atom s = x[0], q = x[1];
    kn_atom r = kn_formula_branch(f, kn_formula_any(f, below(f, q, 0)), x, 2, zeta_mirrored, zeta_positive);
    kn_atom not_positive = two(f, &kn_prim_le, q, num(f, 0));
    kn_atom even = equals(f, two(f, &kn_prim_rem, s, num(f, 2)), 0);
    kn_atom pole = pick(f, even, num(f, (double)INFINITY), num(f, (double)NAN));
    r = pick(f, both(f, not_positive, kn_formula_whole(f, q)), pole, r);
    kn_atom outside = either(f, below(f, s, 1), both(f, not_positive, one(f, &kn_prim_not, kn_formula_whole(f, s))));
    r = pick_num(f, outside, (double)NAN, r);
    return pick_num(f, equals(f, s, 1), (double)INFINITY, r);
}

/* ---- polygamma(n, x) = (-1)^(n+1) n! zeta(n + 1, x) (DLMF 25.11.12), digamma for n = 0 ---- */

static kn_atom polygamma_of(formula *f, const kn_atom *x)
{
    kn_atom n = x[0], up = plus(f, n, 1);
    kn_atom r = mul(f, one(f, &kn_prim_exp, one(f, &kn_prim_lgamma, up)), two(f, &kn_prim_zeta, up, x[1]));
    kn_atom even = equals(f, two(f, &kn_prim_rem, n, num(f, 2)), 0);
    r = pick(f, even, minus(f, r), r);
    r = pick(f, equals(f, n, 0), one(f, &kn_prim_digamma, x[1]), r);
    kn_atom outside = either(f, below(f, n, 0), one(f, &kn_prim_not, kn_formula_whole(f, n)));
    return pick_num(f, outside, (double)NAN, r);
}

FORMULA_RULE(lgamma, lgamma_of)
FORMULA_RULE(digamma, digamma_of)
FORMULA_RULE(zeta, zeta_of)
FORMULA_RULE(polygamma, polygamma_of)

KN_JVP1(lgamma, D_MUL(g, D_F(digamma, x)))
KN_JVP1(digamma, D_MUL(g, kn_low2(l, &kn_prim_polygamma, D_NUM(1), x)))

static kn_atom refuse(kn_low *l, const char *what)
{
    if (l->status == KILN_OK) l->status = kn_fail(l->b->ctx, KILN_UNSUPPORTED, "%s", what);
    return KN_SYMBOLIC_ZERO;
}
KN_JVP2(zeta, refuse(l, "zeta has no derivative in its first operand"), D_MUL(g, D_NEG(D_MUL(x, kn_low2(l, &kn_prim_zeta, D_ADD(x, D_NUM(1)), y)))))
KN_JVP2(polygamma, refuse(l, "polygamma has no derivative in its first operand"), D_MUL(g, kn_low2(l, &kn_prim_polygamma, D_ADD(x, D_NUM(1)), y)))

KILN_PRIM(lgamma) = SPECIAL(lgamma, lgamma, 1, "log |gamma(x)|: a polynomial about 2, Stirling's formula from 8 on, reflection below 0. Within 5 ULP "
                            "for x > 0; below, within 5 ULP of the larger of the terms that are subtracted.");
KILN_PRIM(digamma) = SPECIAL(digamma, digamma, 1, "Derivative of log gamma(x): a polynomial between 1 and 2 about its zero there, recurrence, an "
                             "asymptotic series from 8 on, reflection below 0; NaN at 0, -1, -2, ... Within 6 ULP for x > 0; below, within "
                             "6 ULP of the larger of the terms that are subtracted.");
KILN_PRIM(zeta) = SPECIAL(zeta, zeta, 2, "Hurwitz zeta function: the sum of (q + k)^-s over k >= 0, of s and q, by the Euler-Maclaurin formula. "
                          "Infinite at s = 1, NaN below; q < 0 takes integers s only; at q = 0, -1, -2, ... infinite for even s, else NaN. Within "
                          "8 ULP for q > 0.");
KILN_PRIM(polygamma) = SPECIAL(polygamma, polygamma, 2, "Derivative number n of digamma, of n (0, 1, 2, ...; else NaN) and x: "
                               "(-1)^(n+1) n! zeta(n + 1, x). Within 8 + 2 log n! ULP for x > 0.");
