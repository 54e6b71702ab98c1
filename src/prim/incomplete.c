/* SPDX-License-Identifier: Apache-2.0 */
/* The regularized incomplete gamma functions P(a, x) = igamma and Q = 1 - P = igammac, and their derivatives in a: composites.
 *
 *   power series (DLMF 8.11.4)        x <= 1 or x <= a
 *   continued fraction (DLMF 8.9.2)   else
 *   uniform expansion (DLMF 8.12.3-8, Temme 1979, SIAM J. Math. Anal. 10, 757)   a >= 200 and |x - a| <= 0.3 a, in place of both
 *
 * so that no loop makes more than about 200 trips. All are multiples of the density x^a exp(-x)/gamma(a). */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <float.h>
#include <math.h>

enum { MOST_TRIPS = 1000 };
#define PI 3.14159265358979323846

static double epsilon(const formula *f) { return wide(f) ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2; }

/* ---- u - log(1 + u) ---- */

/* (artanh(s)/s - 1)/s^2 in s^2 <= 1/9 */
static const double artanh[] = {0.33333333333333333,  0.19999999999999761,  0.1428571428580005,   0.11111111099118385,
                                0.090909099489813572, 0.076922719824302746, 0.066675893157246279, 0.058671395306515987,
                                0.054225891974400074, 0.037460718977753837, 0.078152889004614252};
static const double artanh_f32[] = {0.333333337, 0.199998532, 0.14296179, 0.108532879, 0.116121646};

/* log(1 + u) = 2 artanh(s) of s = u/(2 + u), and u - 2s = s u. */
kn_atom kn_formula_bend(formula *f, kn_atom u)
{
    kn_atom w = inverse(f, plus(f, u, 2)), s = mul(f, u, w);
    kn_atom rest = mul(f, times(f, s, 2), mul(f, w, kn_formula_series(f, SERIES(artanh, artanh_f32), mul(f, s, s))));
    return mul(f, w, sub(f, num(f, 1), rest));
}

kn_atom kn_formula_excess(formula *f, kn_atom u, kn_atom ratio)
{
    kn_atom near = mul(f, mul(f, u, u), kn_formula_bend(f, u)), far = sub(f, u, one(f, &kn_prim_log, ratio));
    return pick(f, below(f, one(f, &kn_prim_abs, u), 0.5), near, far);
}

kn_atom kn_formula_remainder(formula *f, kn_atom a)
{
    kn_atom main = sub(f, mul(f, plus(f, a, -0.5), one(f, &kn_prim_log, a)), a);
    kn_atom exact = sub(f, one(f, &kn_prim_lgamma, a), plus(f, main, 0.91893853320467274178));
    return pick(f, below(f, a, 8), exact, kn_formula_stirling(f, a));
}

/* ---- what all of them start from ---- */

typedef struct arguments {
    kn_atom a, x;
    kn_atom uniform, by_series, by_fraction; /* which method serves an element */
    kn_atom density;                         /* x^a exp(-x)/gamma(a) */
    kn_atom outside, zero, infinite;         /* a < 0 or x < 0 or both 0; x = 0; x infinite */
    /* of the uniform expansion: mu = x/a - 1, eta^2/2 = mu - log(1 + mu), T = exp(-a eta^2/2)/sqrt(2 pi a) */
    kn_atom mu, eta, ratio, t; /* ratio = mu/eta */
} arguments;

static arguments begin(formula *f, const kn_atom *operand)
{
    arguments g = {.a = operand[0], .x = operand[1]};
    kn_atom a = g.a, x = g.x;
    kn_atom above_zero = both(f, above(f, a, 0), above(f, x, 0));
    g.outside = either(f, either(f, below(f, a, 0), below(f, x, 0)), both(f, equals(f, a, 0), equals(f, x, 0)));
    g.zero = equals(f, x, 0);
    g.infinite = equals(f, x, (double)INFINITY);
    g.mu = quotient(f, sub(f, x, a), a);
    kn_atom near = two(f, &kn_prim_le, one(f, &kn_prim_abs, g.mu), num(f, 0.3));
    g.uniform = both(f, near, two(f, &kn_prim_ge, a, num(f, 200)));
    kn_atom rest = both(f, above_zero, one(f, &kn_prim_not, g.uniform));
    kn_atom low = two(f, &kn_prim_le, x, two(f, &kn_prim_max, a, num(f, 1)));
    g.by_series = both(f, rest, low);
    g.by_fraction = both(f, rest, both(f, one(f, &kn_prim_not, low), one(f, &kn_prim_not, g.infinite)));
    kn_atom bend = kn_formula_bend(f, pick(f, near, g.mu, num(f, 0))), root = one(f, &kn_prim_sqrt, times(f, bend, 2));
    g.eta = mul(f, g.mu, root);
    g.ratio = inverse(f, root);
    kn_atom width = one(f, &kn_prim_sqrt, times(f, a, 2 * PI));
    g.t = quotient(f, one(f, &kn_prim_exp, minus(f, mul(f, a, kn_formula_excess(f, g.mu, quotient(f, x, a))))), width);
    kn_atom plain = sub(f, mul(f, a, one(f, &kn_prim_log, x)), add(f, x, one(f, &kn_prim_lgamma, plus(f, a, 1))));
    kn_atom large = mul(f, g.t, one(f, &kn_prim_exp, minus(f, kn_formula_stirling(f, a))));
    g.density = mul(f, a, pick(f, below(f, a, 8), one(f, &kn_prim_exp, plain), large));
    return g;
}

/* ---- power series: P = density/a times the sum of x^n/((a + 1) ... (a + n)) ---- */

enum { S_STEP, S_TERM, S_SUM, S_TERM_SLOPE, S_SUM_SLOPE, N_SERIES };

static kn_atom series_step(formula *f, const kn_atom *x, const kn_atom *c, kn_atom *next)
{
    kn_atom ratio = quotient(f, x[0], next[S_STEP] = plus(f, c[S_STEP], 1));
    next[S_TERM] = mul(f, c[S_TERM], ratio);
    next[S_SUM] = add(f, c[S_SUM], next[S_TERM]);
    return two(f, &kn_prim_gt, next[S_TERM], times(f, next[S_SUM], epsilon(f)));
}

static kn_atom series_slope_step(formula *f, const kn_atom *x, const kn_atom *c, kn_atom *next)
{
    kn_atom more = series_step(f, x, c, next);
    kn_atom ratio = quotient(f, x[0], next[S_STEP]);
    next[S_TERM_SLOPE] = sub(f, mul(f, c[S_TERM_SLOPE], ratio), quotient(f, next[S_TERM], next[S_STEP]));
    next[S_SUM_SLOPE] = add(f, c[S_SUM_SLOPE], next[S_TERM_SLOPE]);
    kn_atom size = one(f, &kn_prim_abs, next[S_TERM_SLOPE]), sum = one(f, &kn_prim_abs, next[S_SUM_SLOPE]);
    return either(f, more, two(f, &kn_prim_gt, size, times(f, sum, epsilon(f))));
}

static kn_atom filled(formula *f, double v) { return kn_low_fill(&f->l, f->shape, (kn_scalar){.f = v}); }

static void run_series(formula *f, const arguments *g, bool slope, kn_atom *carry)
{
    carry[S_STEP] = g->a;
    carry[S_TERM] = carry[S_SUM] = filled(f, 1);
    if (slope) carry[S_TERM_SLOPE] = carry[S_SUM_SLOPE] = filled(f, 0);
    kn_formula_iterate(f, MOST_TRIPS, g->by_series, &g->x, 1, carry, slope ? N_SERIES : S_SUM + 1, slope ? series_slope_step : series_step);
}

/* ---- continued fraction: Q = density times 1/(x + 1 - a - 1(1 - a)/(x + 3 - a - 2(2 - a)/(...))), by Lentz's method with a
 * derivative in a where asked for ---- */

enum { F_STEP, F_C, F_D, F_VALUE, F_C_SLOPE, F_D_SLOPE, F_VALUE_SLOPE, N_FRACTION };

typedef struct links { /* the i-th numerator and denominator */
    kn_atom i, top, bottom;
} links;

static links links_of(formula *f, const kn_atom *ax, const kn_atom *c)
{
    kn_atom i = plus(f, c[F_STEP], 1);
    return (links){i, mul(f, i, sub(f, ax[0], i)), add(f, sub(f, plus(f, ax[1], 1), ax[0]), times(f, i, 2))};
}

static kn_atom fraction_step(formula *f, const kn_atom *ax, const kn_atom *c, kn_atom *next)
{
    links k = links_of(f, ax, c);
    next[F_STEP] = k.i;
    next[F_D] = inverse(f, add(f, k.bottom, mul(f, k.top, c[F_D])));
    next[F_C] = add(f, k.bottom, quotient(f, k.top, c[F_C]));
    kn_atom change = mul(f, next[F_C], next[F_D]);
    next[F_VALUE] = mul(f, c[F_VALUE], change);
    return above(f, one(f, &kn_prim_abs, plus(f, change, -1)), 2 * epsilon(f));
}

/* The denominators' derivative is -1, the numerators' i. */
static kn_atom fraction_slope_step(formula *f, const kn_atom *ax, const kn_atom *c, kn_atom *next)
{
    kn_atom more = fraction_step(f, ax, c, next);
    links k = links_of(f, ax, c);
    kn_atom inner = plus(f, add(f, mul(f, k.i, c[F_D]), mul(f, k.top, c[F_D_SLOPE])), -1);
    next[F_D_SLOPE] = minus(f, mul(f, mul(f, next[F_D], next[F_D]), inner));
    kn_atom upper = sub(f, k.i, quotient(f, mul(f, k.top, c[F_C_SLOPE]), c[F_C]));
    next[F_C_SLOPE] = plus(f, quotient(f, upper, c[F_C]), -1);
    kn_atom change = mul(f, next[F_C], next[F_D]);
    kn_atom slope = add(f, mul(f, next[F_C_SLOPE], next[F_D]), mul(f, next[F_C], next[F_D_SLOPE]));
    next[F_VALUE_SLOPE] = add(f, mul(f, c[F_VALUE_SLOPE], change), mul(f, c[F_VALUE], slope));
    kn_atom moved = one(f, &kn_prim_abs, sub(f, next[F_VALUE_SLOPE], c[F_VALUE_SLOPE]));
    kn_atom limit = times(f, one(f, &kn_prim_abs, next[F_VALUE_SLOPE]), 4 * epsilon(f));
    return either(f, more, two(f, &kn_prim_gt, moved, limit));
}

static void run_fraction(formula *f, const arguments *g, bool slope, kn_atom *carry)
{
    kn_atom first = pick_num(f, one(f, &kn_prim_not, g->by_fraction), 1, sub(f, plus(f, g->x, 1), g->a)), d = inverse(f, first);
    carry[F_STEP] = filled(f, 0);
    carry[F_C] = filled(f, wide(f) ? 0x1p900 : 0x1p100); /* stands for infinity */
    carry[F_D] = carry[F_VALUE] = d;
    if (slope) {
        carry[F_C_SLOPE] = filled(f, 0);
        carry[F_D_SLOPE] = carry[F_VALUE_SLOPE] = mul(f, d, d);
    }
    kn_formula_iterate(f, MOST_TRIPS, g->by_fraction, (kn_atom[]){g->a, g->x}, 2, carry, slope ? N_FRACTION : F_VALUE + 1,
                       slope ? fraction_slope_step : fraction_step);
}

/* ---- uniform expansion: Q = erfc(eta sqrt(a/2))/2 + T S, S the sum of c_k(eta) a^-k ---- */

static const double c0[] = {-0.33333333333333333,   0.083333333333333333,   -0.014814814814814815,  1.1574074074074074e-3,   3.527336860670194e-4,
                            -1.7875514403292181e-4, 3.9192631785224378e-5,  -2.1854485106799922e-6, -1.85406221071516e-6,    8.296711340953086e-7,
                            -1.7665952736826079e-7, 6.7078535434014986e-9,  1.0261809784240308e-8,  -4.3820360184533532e-9,  9.1476995822367902e-10,
                            -2.551419399494625e-11, -5.8307721325504251e-11};
static const double c1[] = {-1.8518518518518519e-3, -3.4722222222222222e-3, 2.6455026455026455e-3,  -9.9022633744855967e-4, 2.0576131687242798e-4,
                            -4.0187757201646091e-7, -1.8098550334489978e-5, 7.6491609160811101e-6,  -1.6120900894563446e-6, 4.6471278028074343e-9,
                            1.378633446915721e-7,   -5.752545603517705e-8,  1.1951628599778147e-8};
static const double c2[] = {4.1335978835978836e-3,  -2.6813271604938272e-3, 7.7160493827160494e-4, 2.0093878600823045e-6,
                            -1.0736653226365161e-4, 5.2923448829120125e-5,  -1.2760635188618728e-5, 3.4235787340961381e-8,
                            1.3721957309062933e-6,  -6.298992138380055e-7,  1.4280614206064242e-7};
static const double c3[] = {6.4943415637860082e-4,  2.2947209362139918e-4,  -4.6918949439525571e-4, 2.6772063206283885e-4, -7.5618016718839764e-5,
                            -2.3965051138672967e-7, 1.1082654115347302e-5,  -5.6749528269915966e-6, 1.4230900732435884e-6};
static const double c4[] = {-8.618882909167117e-4,  7.8403922172006663e-4,  -2.9907248030319018e-4, -1.4638452578843418e-6,
                            6.6414982154651222e-5,  -3.9683650471794347e-5, 1.1375726970678419e-5};
static const double c5[] = {-3.3679855336635815e-4, -6.9728137583658578e-5, 2.7727532449593921e-4, -1.9932570516188848e-4};
#define C(k, n) {c##k, c##k, sizeof c##k / sizeof *c##k, (n)}
static const kn_series expansion[] = {C(0, 8), C(1, 5), C(2, 2), C(3, 0), C(4, 0), C(5, 0)};
#undef C

static int orders(const formula *f) { return wide(f) ? 6 : 3; }

static kn_atom expansion_sum(formula *f, const arguments *g)
{
    kn_atom w = inverse(f, g->a), s = 0;
    for (int k = orders(f) - 1; k >= 0; k--) {
        kn_atom c = kn_formula_series(f, expansion[k], g->eta);
        s = k == orders(f) - 1 ? c : add(f, mul(f, s, w), c);
    }
    return s;
}

/* Derivative of the sum in a, by d eta/da = -(mu/eta)/a. */
static kn_atom expansion_slope(formula *f, const arguments *g)
{
    kn_atom w = inverse(f, g->a), turn = minus(f, mul(f, g->ratio, w)), s = 0, power = w;
    for (int k = 0; k < orders(f); k++) {
        kn_atom by_eta = mul(f, kn_formula_slope(f, expansion[k], g->eta), turn);
        if (k) {
            by_eta = sub(f, by_eta, mul(f, times(f, kn_formula_series(f, expansion[k], g->eta), k), w));
            if (k > 1) power = mul(f, power, w);
            by_eta = mul(f, by_eta, power);
        }
        s = k ? add(f, s, by_eta) : by_eta;
    }
    return s;
}

static kn_atom uniform_value(formula *f, const arguments *g, bool upper)
{
    kn_atom z = mul(f, g->eta, one(f, &kn_prim_sqrt, times(f, g->a, 0.5)));
    kn_atom half = times(f, one(f, &kn_prim_erfc, upper ? z : minus(f, z)), 0.5), rest = mul(f, g->t, expansion_sum(f, g));
    return upper ? add(f, half, rest) : sub(f, half, rest);
}

/* ---- values ---- */

/* Q for a < 1/2, x <= 1, where 1 - P would cancel: with v = log(x^a/gamma(1 + a)), Q = -expm1(v) - exp(v) a sum((-x)^n/((a + n) n!)),
 * n from 1 on (DLMF 8.7.1). */
static kn_atom small_upper(formula *f, const arguments *g)
{
    int terms = wide(f) ? 18 : 10;
    kn_atom v = sub(f, mul(f, g->a, one(f, &kn_prim_log, g->x)), kn_formula_lgamma1p(f, g->a)), s = num(f, 0);
    for (int n = terms - 1; n >= 1; n--) { /* -x (1/(a + 1) - x/2 (1/(a + 2) - x/3 (...))) */
        kn_atom term = inverse(f, plus(f, g->a, n));
        s = mul(f, times(f, g->x, -1.0 / n), n == terms - 1 ? term : add(f, term, s));
    }
    kn_atom scale = mul(f, one(f, &kn_prim_exp, v), mul(f, g->a, s));
    return minus(f, add(f, one(f, &kn_prim_expm1, v), scale));
}

static kn_atom value_of(formula *f, const kn_atom *operand, bool upper)
{
    arguments g = begin(f, operand);
    kn_atom s[N_SERIES], c[N_FRACTION];
    run_series(f, &g, false, s);
    run_fraction(f, &g, false, c);
    kn_atom p = mul(f, quotient(f, g.density, g.a), s[S_SUM]), q = mul(f, g.density, c[F_VALUE]), r;
    if (upper) {
        kn_atom rest = sub(f, num(f, 1), p), tiny = both(f, below(f, g.a, 0.5), two(f, &kn_prim_le, g.x, num(f, 1)));
        r = pick(f, g.by_fraction, q, pick(f, tiny, small_upper(f, &g), rest));
    } else {
        r = pick(f, g.by_fraction, sub(f, num(f, 1), q), p);
    }
    r = pick(f, g.uniform, uniform_value(f, &g, upper), r);
    r = pick_num(f, g.zero, upper ? 1 : 0, r);
    r = pick_num(f, either(f, g.infinite, equals(f, g.a, 0)), upper ? 0 : 1, r);
    kn_atom nan = either(f, two(f, &kn_prim_ne, g.a, g.a), two(f, &kn_prim_ne, g.x, g.x));
    return pick_num(f, either(f, g.outside, nan), (double)NAN, r);
}
static kn_atom igamma_of(formula *f, const kn_atom *x) { return value_of(f, x, false); }
static kn_atom igammac_of(formula *f, const kn_atom *x) { return value_of(f, x, true); }

/* ---- derivatives in a ---- */

/* dP/da divided by the density. */
static kn_atom slope_of(formula *f, const arguments *g)
{
    kn_atom s[N_SERIES], c[N_FRACTION];
    run_series(f, g, true, s);
    run_fraction(f, g, true, c);
    kn_atom log_x = one(f, &kn_prim_log, g->x), psi = one(f, &kn_prim_digamma, plus(f, g->a, 1)), w = inverse(f, g->a);
    kn_atom p = add(f, mul(f, sub(f, log_x, psi), s[S_SUM]), s[S_SUM_SLOPE]);
    kn_atom q = minus(f, add(f, mul(f, add(f, sub(f, log_x, psi), w), c[F_VALUE]), c[F_VALUE_SLOPE]));
    kn_atom r = pick(f, g->by_fraction, q, mul(f, p, w));
    /* of T (eta/2 - mu/eta - (log(1 + mu) - 1/(2a)) S - dS/da), and T is the density times exp(remainder)/a */
    kn_atom turn = sub(f, one(f, &kn_prim_log1p, g->mu), times(f, w, 0.5));
    kn_atom u = sub(f, times(f, g->eta, 0.5), add(f, g->ratio, add(f, mul(f, turn, expansion_sum(f, g)), expansion_slope(f, g))));
    u = mul(f, u, mul(f, w, one(f, &kn_prim_exp, kn_formula_stirling(f, g->a))));
    return pick(f, g->uniform, u, r);
}

static kn_atom settle(formula *f, const arguments *g, kn_atom r, double at_infinity)
{
    r = pick_num(f, g->zero, 0, r);
    r = pick_num(f, g->infinite, at_infinity, r);
    return pick_num(f, either(f, g->outside, equals(f, g->a, 0)), (double)NAN, r);
}

static kn_atom igamma_grad_of(formula *f, const kn_atom *operand)
{
    arguments g = begin(f, operand);
    return settle(f, &g, mul(f, slope_of(f, &g), g.density), 0);
}

/* x/a where the distribution function stays equal: -(dP/da)/(dP/dx), dP/dx = density/x. */
static kn_atom random_gamma_grad_of(formula *f, const kn_atom *operand)
{
    arguments g = begin(f, operand);
    return settle(f, &g, minus(f, mul(f, slope_of(f, &g), g.x)), (double)INFINITY);
}

FORMULA_RULE(igamma, igamma_of)
FORMULA_RULE(igammac, igammac_of)
FORMULA_RULE(igamma_grad, igamma_grad_of)
FORMULA_RULE(random_gamma_grad, random_gamma_grad_of)

#define ACCURACY "NaN for a < 0 or x < 0. Within 60 ULP, derivatives 120, and 4 for each unit of |x - a| + |a log(x/a)|."
/* Derivative of P(a, x) in x: exp(-x + (a - 1) log x - log gamma(a)). */
static kn_atom gamma_density(kn_low *l, kn_atom a, kn_atom x, kiln_dtype d)
{
    kn_atom power = D_MUL(D_SUB(a, D_NUM(1)), D_F(log, x));
    return D_F(exp, D_SUB(D_SUB(power, x), D_F(lgamma, a)));
}
KN_JVP2(igamma, D_MUL(g, kn_low2(l, &kn_prim_igamma_grad_a, x, y)), D_MUL(g, gamma_density(l, x, y, d)))
KN_JVP2(igammac, D_MUL(g, D_NEG(kn_low2(l, &kn_prim_igamma_grad_a, x, y))), D_MUL(g, D_NEG(gamma_density(l, x, y, d))))
#define jvp_igamma_grad_a NULL
#define jvp_random_gamma_grad NULL

KILN_PRIM(igamma) = SPECIAL(igamma, igamma, 2, "Regularized lower incomplete gamma function P(a, x), of a and x. " ACCURACY);
KILN_PRIM(igammac) = SPECIAL(igammac, igammac, 2, "Regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), of a and x. " ACCURACY);
KILN_PRIM(igamma_grad_a) = SPECIAL(igamma_grad_a, igamma_grad, 2, "Derivative of igamma(a, x) in a. " ACCURACY);
KILN_PRIM(random_gamma_grad) = SPECIAL(random_gamma_grad, random_gamma_grad, 2,
                                       "Derivative in a of the gamma variate that has the value x: -(dP/da)/(dP/dx) of P = igamma(a, x). " ACCURACY);
