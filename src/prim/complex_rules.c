/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of complex numbers z = x + iy by real functions of x and y. Sums, differences and products of c64 are
 * computed in f32; everything else of c64 is computed in f64 and rounded once, which settles overflow and cancellation there.
 * For c128 the formulas avoid both themselves; sums that cancel are taken with their rounding errors (fma gives that of a
 * product, Knuth's sum that of a sum). */
#include "prim/complex_rules.h"
#include "prim/common.h"

#include "prims.gen.h"

#include <math.h>

typedef struct cx {
    kn_atom re, im;
} cx;

typedef struct formula {
    kn_low l;
    kiln_dtype d; /* of the parts */
    const kn_eqn *e;
} formula;

static kn_atom num(formula *f, double v) { return kn_low_num(&f->l, f->d, v); }
static kn_atom add(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_add, a, b); }
static kn_atom sub(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_sub, a, b); }
static kn_atom mul(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_mul, a, b); }
static kn_atom quo(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_div, a, b); }
static kn_atom neg(formula *f, kn_atom a) { return kn_low1(&f->l, &kn_prim_neg, a); }
static kn_atom mag(formula *f, kn_atom a) { return kn_low1(&f->l, &kn_prim_abs, a); }
static kn_atom root(formula *f, kn_atom a) { return kn_low1(&f->l, &kn_prim_sqrt, a); }
static kn_atom one(formula *f, const kn_prim *p, kn_atom a) { return kn_low1(&f->l, p, a); }
static kn_atom two(formula *f, const kn_prim *p, kn_atom a, kn_atom b) { return kn_low2(&f->l, p, a, b); }
static kn_atom less(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_lt, a, b); }
static kn_atom pick(formula *f, kn_atom which, kn_atom yes, kn_atom no) { return kn_low_select(&f->l, which, yes, no); }
static kn_atom muladd(formula *f, kn_atom a, kn_atom b, kn_atom c) { return kn_low_op(&f->l, &kn_prim_fma, NULL, (kn_atom[]){a, b, c}, 3); }
static kn_atom copysign_of(formula *f, kn_atom a, kn_atom sign_of) /* a >= 0; takes -0 as negative */
{
    kn_atom negative = less(f, quo(f, num(f, 1), sign_of), num(f, 0));
    negative = two(f, &kn_prim_or, negative, less(f, sign_of, num(f, 0)));
    return pick(f, negative, neg(f, a), a);
}

/* ---- sums with their errors ---- */

typedef struct pair {
    kn_atom hi, lo;
} pair;
static pair product_of(formula *f, kn_atom a, kn_atom b)
{
    kn_atom p = mul(f, a, b);
    return (pair){p, muladd(f, a, b, neg(f, p))};
}
static pair sum_of(formula *f, kn_atom a, kn_atom b)
{
    kn_atom s = add(f, a, b), t = sub(f, s, a);
    return (pair){s, add(f, sub(f, a, sub(f, s, t)), sub(f, b, t))};
}
/* a + x^2 + y^2, where a may cancel the squares. */
static kn_atom plus_squares(formula *f, kn_atom a, kn_atom x, kn_atom y)
{
    pair p = product_of(f, x, x), q = product_of(f, y, y), s = sum_of(f, a, p.hi), t = sum_of(f, s.hi, q.hi);
    return add(f, t.hi, add(f, add(f, s.lo, t.lo), add(f, p.lo, q.lo)));
}
/* a b + c d within 1.5 ULP */
static kn_atom products_sum(formula *f, kn_atom a, kn_atom b, kn_atom c, kn_atom d)
{
    pair p = product_of(f, c, d);
    return add(f, muladd(f, a, b, p.hi), p.lo);
}

/* ---- arithmetic ---- */

static cx times(formula *f, cx a, cx b)
{
    return (cx){sub(f, mul(f, a.re, b.re), mul(f, a.im, b.im)), add(f, mul(f, a.re, b.im), mul(f, a.im, b.re))};
}

/* A factor that brings a number of this magnitude near 1: a power of two, exact. */
static kn_atom scale_of(formula *f, kn_atom m)
{
    kn_atom s = pick(f, less(f, num(f, 0x1p400), m), num(f, 0x1p-500), num(f, 1));
    return pick(f, less(f, m, num(f, 0x1p-400)), num(f, 0x1p500), s);
}
static kn_atom larger(formula *f, cx a) { return two(f, &kn_prim_max, mag(f, a.re), mag(f, a.im)); }

static cx over(formula *f, cx a, cx b)
{
    kn_atom sa = scale_of(f, larger(f, a)), sb = scale_of(f, larger(f, b));
    a = (cx){mul(f, a.re, sa), mul(f, a.im, sa)};
    b = (cx){mul(f, b.re, sb), mul(f, b.im, sb)};
    kn_atom den = products_sum(f, b.re, b.re, b.im, b.im), back = quo(f, sb, sa);
    kn_atom re = quo(f, products_sum(f, a.re, b.re, a.im, b.im), den), im = quo(f, products_sum(f, a.im, b.re, neg(f, a.re), b.im), den);
    return (cx){mul(f, re, back), mul(f, im, back)};
}

static kn_atom modulus(formula *f, cx z) { return two(f, &kn_prim_hypot, z.re, z.im); }

static cx sign_of(formula *f, cx z)
{
    kn_atom m = modulus(f, z), zero = two(f, &kn_prim_eq, m, num(f, 0));
    return (cx){pick(f, zero, z.re, quo(f, z.re, m)), pick(f, zero, z.im, quo(f, z.im, m))};
}

/* ---- exponential, logarithm, powers ---- */

/* e^x times c and s, where e^x alone may overflow */
static cx exp_times(formula *f, kn_atom x, kn_atom c, kn_atom s)
{
    kn_atom big = less(f, num(f, 700), x), h = one(f, &kn_prim_exp, pick(f, big, mul(f, x, num(f, 0.5)), x));
    kn_atom again = pick(f, big, h, num(f, 1));
    return (cx){mul(f, mul(f, h, c), again), mul(f, mul(f, h, s), again)};
}
static cx exp_of(formula *f, cx z)
{
    cx w = exp_times(f, z.re, one(f, &kn_prim_cos, z.im), one(f, &kn_prim_sin, z.im));
    kn_atom real = two(f, &kn_prim_eq, z.im, num(f, 0)), gone = two(f, &kn_prim_eq, z.re, num(f, -(double)INFINITY));
    kn_atom zero = num(f, 0);
    return (cx){pick(f, gone, zero, w.re), pick(f, real, z.im, pick(f, gone, zero, w.im))};
}
static cx expm1_of(formula *f, cx z)
{
    kn_atom em = one(f, &kn_prim_expm1, z.re), c = one(f, &kn_prim_cos, z.im), s = one(f, &kn_prim_sin, mul(f, z.im, num(f, 0.5)));
    pair p = product_of(f, em, c), q = product_of(f, add(f, s, s), s), d = sum_of(f, p.hi, neg(f, q.hi));
    kn_atom re = add(f, d.hi, add(f, d.lo, sub(f, p.lo, q.lo)));
    cx w = exp_of(f, z);
    kn_atom plain = less(f, num(f, 1), z.re); /* nothing cancels, and e^x - 1 may be infinite */
    return (cx){pick(f, plain, sub(f, w.re, num(f, 1)), re), w.im};
}

/* log|z|: near the unit circle by log1p of |z|^2 - 1, else by the modulus of z scaled. */
static kn_atom log_modulus(formula *f, cx z)
{
    kn_atom a = mag(f, z.re), b = mag(f, z.im), m = two(f, &kn_prim_max, a, b), n = two(f, &kn_prim_min, a, b);
    kn_atom s = plus_squares(f, num(f, -1), m, n), k = scale_of(f, m);
    kn_atom log_k = pick(f, less(f, num(f, 1), k), num(f, 500 * 0.693147180559945309417), pick(f, less(f, k, num(f, 1)), num(f, -500 * 0.693147180559945309417), num(f, 0)));
    kn_atom far = sub(f, one(f, &kn_prim_log, two(f, &kn_prim_hypot, mul(f, z.re, k), mul(f, z.im, k))), log_k);
    return pick(f, less(f, mag(f, s), num(f, 0.5)), mul(f, num(f, 0.5), one(f, &kn_prim_log1p, s)), far);
}
static kn_atom argument(formula *f, cx z) { return two(f, &kn_prim_atan2, z.im, z.re); }
static cx log_of(formula *f, cx z) { return (cx){log_modulus(f, z), argument(f, z)}; }

static cx log1p_of(formula *f, cx z)
{
    cx w = {add(f, z.re, num(f, 1)), z.im};
    kn_atom s = plus_squares(f, add(f, z.re, z.re), z.re, z.im);
    kn_atom near = mul(f, num(f, 0.5), one(f, &kn_prim_log1p, s));
    return (cx){pick(f, less(f, mag(f, s), num(f, 0.5)), near, log_modulus(f, w)), argument(f, w)};
}

static cx sqrt_of(formula *f, cx z)
{
    kn_atom m = larger(f, z), big = less(f, num(f, 0x1p1000), m), small = less(f, m, num(f, 0x1p-900));
    kn_atom k = pick(f, big, num(f, 0x1p-4), pick(f, small, num(f, 0x1p200), num(f, 1)));
    kn_atom back = pick(f, big, num(f, 4), pick(f, small, num(f, 0x1p-100), num(f, 1)));
    kn_atom x = mul(f, z.re, k), y = mul(f, z.im, k), a = mag(f, x);
    kn_atom t = root(f, mul(f, add(f, a, two(f, &kn_prim_hypot, x, y)), num(f, 0.5)));
    kn_atom u = quo(f, y, add(f, t, t)), right = two(f, &kn_prim_ge, x, num(f, 0));
    kn_atom re = pick(f, right, t, mag(f, u)), im = pick(f, right, u, copysign_of(f, t, y));
    kn_atom zero = two(f, &kn_prim_eq, m, num(f, 0)), wide = two(f, &kn_prim_eq, mag(f, z.im), num(f, (double)INFINITY));
    re = pick(f, wide, mag(f, z.im), pick(f, zero, num(f, 0), mul(f, re, back)));
    return (cx){re, pick(f, two(f, &kn_prim_or, zero, wide), z.im, mul(f, im, back))};
}
static cx rsqrt_of(formula *f, cx z)
{
    cx r = sqrt_of(f, z);
    kn_atom m = modulus(f, z);
    return (cx){quo(f, r.re, m), neg(f, quo(f, r.im, m))};
}

/* z^w = exp(w log z); 0^0 = 1, else 0^w = 0 */
static cx pow_of(formula *f, cx z, cx w)
{
    cx lz = log_of(f, z);
    kn_atom m = modulus(f, z), zero = num(f, 0);
    kn_atom angle = add(f, mul(f, w.re, lz.im), mul(f, w.im, lz.re));
    kn_atom size = mul(f, two(f, &kn_prim_pow, m, w.re), one(f, &kn_prim_exp, neg(f, mul(f, w.im, lz.im))));
    cx r = {mul(f, size, one(f, &kn_prim_cos, angle)), mul(f, size, one(f, &kn_prim_sin, angle))};
    kn_atom nothing = two(f, &kn_prim_eq, m, zero);
    kn_atom none = two(f, &kn_prim_and, two(f, &kn_prim_eq, w.re, zero), two(f, &kn_prim_eq, w.im, zero));
    kn_atom unit = num(f, 1);
    return (cx){pick(f, none, unit, pick(f, nothing, zero, r.re)), pick(f, two(f, &kn_prim_or, none, nothing), zero, r.im)};
}

static cx cbrt_of(formula *f, cx z)
{
    kn_atom size = one(f, &kn_prim_cbrt, modulus(f, z)), angle = quo(f, argument(f, z), num(f, 3));
    kn_atom zero = two(f, &kn_prim_eq, size, num(f, 0));
    kn_atom re = mul(f, size, one(f, &kn_prim_cos, angle)), im = mul(f, size, one(f, &kn_prim_sin, angle));
    return (cx){pick(f, zero, z.re, re), pick(f, zero, z.im, im)};
}

/* ---- circular and hyperbolic functions ---- */

/* sinh and cosh of x times factors: with e = expm1|x|, sinh = (e + e/(e + 1))/2, cosh = (E + 1/E)/2, E = e^|x|. */
static cx hyperbolic(formula *f, kn_atom x, kn_atom for_sinh, kn_atom for_cosh)
{
    kn_atom a = mag(f, x), half = num(f, 0.5), big = less(f, num(f, 700), a);
    kn_atom e = one(f, &kn_prim_expm1, a), w = one(f, &kn_prim_exp, a);
    kn_atom s = mul(f, half, add(f, e, quo(f, e, add(f, e, num(f, 1))))), c = mul(f, half, add(f, w, quo(f, num(f, 1), w)));
    kn_atom sign = one(f, &kn_prim_sign, x), h = one(f, &kn_prim_exp, mul(f, a, half)), g = mul(f, h, half);
    kn_atom sh = pick(f, big, mul(f, mul(f, g, for_sinh), h), mul(f, s, for_sinh));
    kn_atom ch = pick(f, big, mul(f, mul(f, g, for_cosh), h), mul(f, c, for_cosh));
    return (cx){mul(f, sign, sh), ch};
}
static cx sinh_of(formula *f, cx z)
{
    cx r = hyperbolic(f, z.re, one(f, &kn_prim_cos, z.im), one(f, &kn_prim_sin, z.im));
    return (cx){r.re, pick(f, two(f, &kn_prim_eq, z.im, num(f, 0)), z.im, r.im)};
}
static cx cosh_of(formula *f, cx z)
{
    cx r = hyperbolic(f, z.re, one(f, &kn_prim_sin, z.im), one(f, &kn_prim_cos, z.im));
    return (cx){r.im, r.re};
}
static cx turn(formula *f, cx z) { return (cx){neg(f, z.im), z.re}; }        /* iz */
static cx turn_back(formula *f, cx z) { return (cx){z.im, neg(f, z.re)}; } /* -iz */
static cx sin_of(formula *f, cx z) { return turn_back(f, sinh_of(f, turn(f, z))); }
static cx cos_of(formula *f, cx z) { return cosh_of(f, turn(f, z)); }

/* tanh z = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); beyond |x| = 20 it is +-1 and a small imaginary part. */
static cx tanh_of(formula *f, cx z)
{
    kn_atom a = two(f, &kn_prim_min, mag(f, z.re), num(f, 22)), unit = num(f, 1), s = one(f, &kn_prim_sin, z.im), c = one(f, &kn_prim_cos, z.im);
    cx h = hyperbolic(f, a, unit, unit);
    kn_atom den = products_sum(f, h.re, h.re, c, c), sign = one(f, &kn_prim_sign, z.re);
    kn_atom far = less(f, num(f, 20), mag(f, z.re));
    kn_atom tail = mul(f, mul(f, mul(f, num(f, 4), s), c), one(f, &kn_prim_exp, mul(f, num(f, -2), mag(f, z.re))));
    kn_atom re = mul(f, sign, pick(f, far, unit, quo(f, mul(f, h.re, h.im), den)));
    return (cx){re, pick(f, far, tail, quo(f, mul(f, s, c), den))};
}
static cx tan_of(formula *f, cx z) { return turn_back(f, tanh_of(f, turn(f, z))); }

static cx logistic_of(formula *f, cx z)
{
    cx e = exp_of(f, (cx){neg(f, z.re), neg(f, z.im)});
    return over(f, (cx){num(f, 1), num(f, 0)}, (cx){add(f, e.re, num(f, 1)), e.im});
}

/* ---- inverse functions: T. Hull, T. Fairgrieve, P. Tang, ACM TOMS 23 (1997) 299, for x, y >= 0; signs afterwards ---- */

typedef struct inverse {
    kn_atom asin_re, acos_re, im;
} inverse;

static kn_atom im_part(formula *f, kn_atom x, kn_atom y, kn_atom r, kn_atom s, kn_atom a)
{
    kn_atom unit = num(f, 1), half = num(f, 0.5), yy = mul(f, y, y), left = quo(f, yy, add(f, r, add(f, x, unit)));
    kn_atom inside = less(f, x, unit);
    kn_atom right = pick(f, inside, quo(f, yy, add(f, s, sub(f, unit, x))), add(f, s, sub(f, x, unit)));
    right = pick(f, two(f, &kn_prim_and, inside, two(f, &kn_prim_eq, y, num(f, 0))), num(f, 0), right);
    kn_atom am1 = mul(f, half, add(f, left, right));
    kn_atom near = one(f, &kn_prim_log1p, add(f, am1, root(f, mul(f, am1, add(f, a, unit)))));
    kn_atom far = one(f, &kn_prim_log, add(f, a, root(f, sub(f, mul(f, a, a), unit))));
    return pick(f, less(f, num(f, 1.5), a), far, near);
}

static inverse inverse_of(formula *f, kn_atom x, kn_atom y)
{
    kn_atom unit = num(f, 1), half = num(f, 0.5), big_at = num(f, 0x1p500);
    kn_atom huge = less(f, big_at, two(f, &kn_prim_max, x, y));
    kn_atom k = pick(f, huge, num(f, 0x1p-600), unit), xs = mul(f, x, k), ys = mul(f, y, k);
    kn_atom x1 = pick(f, huge, unit, x), y1 = pick(f, huge, unit, y); /* what follows must not overflow */
    kn_atom r = two(f, &kn_prim_hypot, add(f, x1, unit), y1), s = two(f, &kn_prim_hypot, sub(f, x1, unit), y1);
    kn_atom a = mul(f, half, add(f, r, s)), b = quo(f, x1, a), axx = add(f, a, x1), rx = add(f, r, add(f, x1, unit));
    kn_atom yy = mul(f, y1, y1), inside = two(f, &kn_prim_le, x1, unit);
    kn_atom w = pick(f, inside, root(f, mul(f, half, mul(f, axx, add(f, quo(f, yy, rx), add(f, s, sub(f, unit, x1)))))),
                     mul(f, y1, root(f, mul(f, half, add(f, quo(f, axx, rx), quo(f, axx, add(f, s, sub(f, x1, unit))))))));
    kn_atom cross = two(f, &kn_prim_le, b, num(f, 0.6417));
    kn_atom safe_b = two(f, &kn_prim_min, b, unit);
    inverse v = {pick(f, cross, one(f, &kn_prim_asin, safe_b), two(f, &kn_prim_atan2, x1, w)),
                 pick(f, cross, one(f, &kn_prim_acos, safe_b), two(f, &kn_prim_atan2, w, x1)), im_part(f, x1, y1, r, s, a)};
    kn_atom far_im = add(f, one(f, &kn_prim_log, two(f, &kn_prim_hypot, xs, ys)), num(f, 601 * 0.693147180559945309417));
    v.asin_re = pick(f, huge, two(f, &kn_prim_atan2, xs, ys), v.asin_re);
    v.acos_re = pick(f, huge, two(f, &kn_prim_atan2, ys, xs), v.acos_re);
    v.im = pick(f, huge, far_im, v.im);
    return v;
}
static cx asin_of(formula *f, cx z)
{
    inverse v = inverse_of(f, mag(f, z.re), mag(f, z.im));
    return (cx){copysign_of(f, v.asin_re, z.re), copysign_of(f, v.im, z.im)};
}
static kn_atom acos_re(formula *f, cx z, inverse v)
{
    return pick(f, less(f, z.re, num(f, 0)), sub(f, num(f, 3.14159265358979323846), v.acos_re), v.acos_re);
}
static cx acos_of(formula *f, cx z)
{
    inverse v = inverse_of(f, mag(f, z.re), mag(f, z.im));
    return (cx){acos_re(f, z, v), neg(f, copysign_of(f, v.im, z.im))};
}
static cx acosh_of(formula *f, cx z)
{
    inverse v = inverse_of(f, mag(f, z.re), mag(f, z.im));
    return (cx){v.im, copysign_of(f, acos_re(f, z, v), z.im)};
}
static cx asinh_of(formula *f, cx z) { return turn(f, asin_of(f, turn_back(f, z))); }

/* atanh z = log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, 1 - x^2 - y^2) / 2 of x >= 0; far away i pi/2. */
static cx atanh_of(formula *f, cx z)
{
    kn_atom x = mag(f, z.re), y = mag(f, z.im), unit = num(f, 1), far_at = num(f, 0x1p300);
    kn_atom far = less(f, far_at, two(f, &kn_prim_max, x, y));
    kn_atom x1 = pick(f, far, unit, x), y1 = pick(f, far, unit, y), d = sub(f, unit, x1);
    kn_atom re = mul(f, num(f, 0.25), one(f, &kn_prim_log1p, quo(f, mul(f, num(f, 4), x1), add(f, mul(f, d, d), mul(f, y1, y1)))));
    kn_atom s = neg(f, plus_squares(f, num(f, -1), x1, y1));
    kn_atom im = mul(f, num(f, 0.5), two(f, &kn_prim_atan2, add(f, y1, y1), s));
    re = pick(f, far, num(f, 0), re);
    im = pick(f, far, num(f, 1.57079632679489661923), im);
    return (cx){copysign_of(f, re, z.re), copysign_of(f, im, z.im)};
}
static cx atan_of(formula *f, cx z) { return turn_back(f, atanh_of(f, turn(f, z))); }

/* atan2(y, x) = -i log((x + iy) / sqrt(x^2 + y^2)) */
static cx atan2_of(formula *f, cx y, cx x)
{
    cx iy = turn(f, y), xx = times(f, x, x), yy = times(f, y, y);
    cx w = over(f, (cx){add(f, x.re, iy.re), add(f, x.im, iy.im)}, sqrt_of(f, (cx){add(f, xx.re, yy.re), add(f, xx.im, yy.im)}));
    return turn_back(f, log_of(f, w));
}

static cx integer_power(formula *f, cx z)
{
    int64_t n = f->e->params[0].i;
    uint64_t bits = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    cx unit = {num(f, 1), num(f, 0)}, r = unit;
    bool any = false;
    for (; bits; bits >>= 1) {
        if (bits & 1) r = any ? times(f, r, z) : z, any = true;
        if (bits > 1) z = times(f, z, z);
    }
    return n < 0 ? over(f, unit, r) : r;
}

/* ---- the table ---- */

static cx add_of(formula *f, cx a, cx b) { return (cx){add(f, a.re, b.re), add(f, a.im, b.im)}; }
static cx sub_of(formula *f, cx a, cx b) { return (cx){sub(f, a.re, b.re), sub(f, a.im, b.im)}; }
static cx neg_of(formula *f, cx z) { return (cx){neg(f, z.re), neg(f, z.im)}; }
static cx square_of(formula *f, cx z) { return times(f, z, z); }
static cx exp2_of(formula *f, cx z)
{
    kn_atom k = num(f, 0.693147180559945309417);
    return exp_of(f, (cx){mul(f, z.re, k), mul(f, z.im, k)});
}

static cx log2_of(formula *f, cx z)
{
    kn_atom k = num(f, 1.44269504088896340736);
    cx l = log_of(f, z);
    return (cx){mul(f, l.re, k), mul(f, l.im, k)};
}

/* By real parts, then by imaginary parts. */
static kn_atom ordered(formula *f, const kn_prim *p, cx a, cx b)
{
    if (p == &kn_prim_eq || p == &kn_prim_ne)
        return two(f, p == &kn_prim_eq ? &kn_prim_and : &kn_prim_or, two(f, p, a.re, b.re), two(f, p, a.im, b.im));
    const kn_prim *strict = p == &kn_prim_lt || p == &kn_prim_le ? &kn_prim_lt : &kn_prim_gt;
    kn_atom tie = two(f, &kn_prim_and, two(f, &kn_prim_eq, a.re, b.re), two(f, p, a.im, b.im));
    return two(f, &kn_prim_or, two(f, strict, a.re, b.re), tie);
}
static kn_atom is_nan(formula *f, cx z) { return two(f, &kn_prim_or, two(f, &kn_prim_ne, z.re, z.re), two(f, &kn_prim_ne, z.im, z.im)); }
static cx extreme(formula *f, const kn_prim *before, cx a, cx b)
{
    kn_atom first = two(f, &kn_prim_or, is_nan(f, a), two(f, &kn_prim_and, ordered(f, before, a, b), one(f, &kn_prim_not, is_nan(f, b))));
    return (cx){pick(f, first, a.re, b.re), pick(f, first, a.im, b.im)};
}
static cx max_of(formula *f, cx a, cx b) { return extreme(f, &kn_prim_ge, a, b); }
static cx min_of(formula *f, cx a, cx b) { return extreme(f, &kn_prim_le, a, b); }

static const struct {
    const char *name;
    cx (*unary)(formula *f, cx z);
    cx (*binary)(formula *f, cx a, cx b);
    bool narrow; /* of c64 in f32 */
} functions[] = {
    {"acos", acos_of, NULL, false},          {"acosh", acosh_of, NULL, false},        {"add", NULL, add_of, true},
    {"add_any", NULL, add_of, true},         {"asin", asin_of, NULL, false},          {"asinh", asinh_of, NULL, false},
    {"atan", atan_of, NULL, false},          {"atan2", NULL, atan2_of, false},        {"atanh", atanh_of, NULL, false},
    {"cbrt", cbrt_of, NULL, false},          {"cos", cos_of, NULL, false},            {"cosh", cosh_of, NULL, false},
    {"div", NULL, over, false},              {"exp", exp_of, NULL, false},            {"exp2", exp2_of, NULL, false},
    {"expm1", expm1_of, NULL, false},        {"integer_pow", integer_power, NULL, true}, {"log", log_of, NULL, false},
    {"log1p", log1p_of, NULL, false},        {"log2", log2_of, NULL, false},          {"logistic", logistic_of, NULL, false},
    {"max", NULL, max_of, true},
    {"min", NULL, min_of, true},             {"mul", NULL, times, true},              {"neg", neg_of, NULL, true},
    {"pow", NULL, pow_of, false},            {"rsqrt", rsqrt_of, NULL, false},        {"sign", sign_of, NULL, false},
    {"sin", sin_of, NULL, false},            {"sinh", sinh_of, NULL, false},          {"sqrt", sqrt_of, NULL, false},
    {"square", square_of, NULL, true},       {"sub", NULL, sub_of, true},             {"tan", tan_of, NULL, false},
    {"tanh", tanh_of, NULL, false},
};

static cx parts_of(formula *f, kn_atom z)
{
    kn_atom re = z, im;
    kiln_dtype d = kn_build_type(f->l.b, z).dtype;
    if (kiln_dtype_kind(d) == 'c') {
        re = kn_low1(&f->l, &kn_prim_real, z);
        im = kn_low1(&f->l, &kn_prim_imag, z);
    } else im = num(f, 0); /* the exponent of pow may be real */
    return (cx){kn_low_convert(&f->l, re, f->d), kn_low_convert(&f->l, im, f->d)};
}

static kn_atom whole_of(formula *f, cx z, kiln_dtype d, kiln_type shape)
{
    kiln_dtype part = d == KILN_C64 ? KILN_F32 : KILN_F64;
    kn_atom re = kn_low_convert(&f->l, z.re, part), im = kn_low_convert(&f->l, z.im, part);
    if (shape.rank && kn_build_type(f->l.b, re).rank == 0) re = kn_low_widen(&f->l, re, shape);
    return kn_low2(&f->l, &kn_prim_complex, re, im);
}

static kiln_status convert(formula *f, kn_atom x, kiln_dtype to, kn_atom *y)
{
    kiln_type t = kn_build_type(f->l.b, x);
    bool to_complex = kiln_dtype_kind(to) == 'c';
    kiln_dtype part = to == KILN_C64 ? KILN_F32 : KILN_F64;
    if (kiln_dtype_kind(t.dtype) != 'c') {
        kn_atom zero = kn_low_num(&f->l, part, 0);
        *y = kn_low2(&f->l, &kn_prim_complex, kn_low_convert(&f->l, x, part), zero);
        return f->l.status;
    }
    kn_atom re = kn_low1(&f->l, &kn_prim_real, x), im = kn_low1(&f->l, &kn_prim_imag, x);
    if (to_complex) *y = kn_low2(&f->l, &kn_prim_complex, kn_low_convert(&f->l, re, part), kn_low_convert(&f->l, im, part));
    else if (to == KILN_BOOL) *y = kn_low2(&f->l, &kn_prim_or, kn_low_convert(&f->l, re, to), kn_low_convert(&f->l, im, to));
    else *y = kn_low_convert(&f->l, re, to);
    return f->l.status;
}

kiln_status kn_lower_complex(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kiln_type t = kn_in_type(j, e, 0), out = kn_out_type(j, e, 0);
    const char *name = e->prim->name;
    kiln_dtype part = t.dtype == KILN_C64 ? KILN_F32 : KILN_F64;
    formula f = {{b, KILN_OK}, KILN_F64, e};
    if (e->prim->scalar_op == KN_S_convert) return convert(&f, x[0], out.dtype, y);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        if (functions[i].narrow) f.d = part;
        cx a = parts_of(&f, kn_low_in_shape(&f.l, x[0], out));
        cx z = functions[i].unary ? functions[i].unary(&f, a) : functions[i].binary(&f, a, parts_of(&f, kn_low_in_shape(&f.l, x[1], out)));
        y[0] = whole_of(&f, z, out.dtype, out);
        return f.l.status;
    }
    f.d = part;
    cx a = parts_of(&f, kn_low_in_shape(&f.l, x[0], out));
    if (strcmp(name, "abs") == 0) y[0] = modulus(&f, a);
    else if (out.dtype == KILN_BOOL && e->nin == 2) y[0] = ordered(&f, e->prim, a, parts_of(&f, kn_low_in_shape(&f.l, x[1], out)));
    else return kn_fail(b->ctx, KILN_UNSUPPORTED, "%s of complex numbers is not supported: %s", name, kn_type_show(t).s);
    return f.l.status;
}
