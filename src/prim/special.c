/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions as formulas of others; 16-bit floats are computed in f32. */
#include "prim/common.h"
#include "prim/lowering.h"
#include "prim/sample.h"

#include "prims.gen.h"

#include <float.h>
#include <math.h>

typedef struct formula {
    kn_low l;
    kiln_dtype d;
} formula;
static kn_atom num(formula *f, double v) { return kn_low_num(&f->l, f->d, v); }
static kn_atom add(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_add, a, b); }
static kn_atom sub(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_sub, a, b); }
static kn_atom mul(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_mul, a, b); }
static kn_atom quo(formula *f, kn_atom a, kn_atom b) { return kn_low2(&f->l, &kn_prim_div, a, b); }
static kn_atom one(formula *f, const kn_prim *p, kn_atom a) { return kn_low1(&f->l, p, a); }
static kn_atom two(formula *f, const kn_prim *p, kn_atom a, kn_atom b) { return kn_low2(&f->l, p, a, b); }
static kn_atom less(formula *f, kn_atom a, kn_atom b) { return two(f, &kn_prim_lt, a, b); }
static kn_atom pick(formula *f, kn_atom which, kn_atom yes, kn_atom no) { return kn_low_select(&f->l, which, yes, no); }

/* c[0] x^(n-1) + .. + c[n-1] */
static kn_atom polynomial(formula *f, kn_atom x, const double *c, int n)
{
    kn_atom p = num(f, c[0]);
    for (int i = 1; i < n; i++) p = add(f, mul(f, p, x), num(f, c[i]));
    return p;
}
#define POLYNOMIAL(f, x, c) polynomial((f), (x), (c), (int)(sizeof(c) / sizeof *(c)))

/* Chebyshev series with the coefficient of the highest term first, at x in [-2, 2] (Clenshaw). */
static kn_atom chebyshev(formula *f, kn_atom x, const double *c, int n)
{
    kn_atom b0 = num(f, 0), b1 = num(f, 0), b2 = num(f, 0);
    for (int i = 0; i < n; i++) {
        b2 = b1;
        b1 = b0;
        b0 = add(f, sub(f, mul(f, x, b1), b2), num(f, c[i]));
    }
    return mul(f, num(f, 0.5), sub(f, b0, b2));
}

/* ---- lgamma, digamma: Lanczos' approximation with g = 7 and 9 terms, reflected below 1/2 ---- */

static const double lanczos_base = 0.99999999999980993227684700473478;
static const double lanczos[8] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
                                  -176.61502916214059906584551354,    12.507343278686904814458936853,     -0.13857109526572011689554707,
                                  9.984369578019570859563e-6,         1.50563273514931155834e-7};
static const double pi = 3.14159265358979323846;

/* z = -x below 1/2, x - 1 from there on; t = z + 7.5, log t */
typedef struct shifted {
    kn_atom reflect, z, t, log_t;
} shifted;
static shifted shift(formula *f, kn_atom x)
{
    shifted s;
    s.reflect = less(f, x, num(f, 0.5));
    s.z = pick(f, s.reflect, one(f, &kn_prim_neg, x), sub(f, x, num(f, 1)));
    s.t = add(f, num(f, 7.5), s.z);
    s.log_t = add(f, num(f, log(7.5)), one(f, &kn_prim_log1p, quo(f, s.z, num(f, 7.5))));
    return s;
}

static kn_atom lgamma_of(formula *f, const kn_atom *x)
{
    shifted s = shift(f, x[0]);
    kn_atom sum = num(f, lanczos_base);
    for (int i = 0; i < 8; i++) sum = add(f, sum, quo(f, num(f, lanczos[i]), add(f, s.z, num(f, i + 1))));
    kn_atom power = mul(f, sub(f, add(f, s.z, num(f, 0.5)), quo(f, s.t, s.log_t)), s.log_t);
    kn_atom y = add(f, add(f, num(f, (log(2) + log(pi)) / 2), power), one(f, &kn_prim_log, sum));
    kn_atom a = one(f, &kn_prim_abs, x[0]), part = sub(f, a, one(f, &kn_prim_floor, a));
    part = pick(f, less(f, num(f, 0.5), part), sub(f, num(f, 1), part), part);
    kn_atom den = one(f, &kn_prim_log, one(f, &kn_prim_sin, mul(f, num(f, pi), part)));
    kn_atom reflected = pick(f, one(f, &kn_prim_is_finite, den), sub(f, sub(f, num(f, log(pi)), den), y), one(f, &kn_prim_neg, den));
    kn_atom infinite = two(f, &kn_prim_eq, a, num(f, (double)INFINITY));
    return pick(f, infinite, num(f, (double)INFINITY), pick(f, s.reflect, reflected, y));
}

static kn_atom digamma_of(formula *f, const kn_atom *x)
{
    shifted s = shift(f, x[0]);
    kn_atom top = num(f, 0), den = num(f, lanczos_base);
    for (int i = 0; i < 8; i++) {
        kn_atom w = add(f, s.z, num(f, i + 1)), c = num(f, lanczos[i]);
        top = sub(f, top, quo(f, c, mul(f, w, w)));
        den = add(f, den, quo(f, c, w));
    }
    kn_atom y = sub(f, add(f, s.log_t, quo(f, top, den)), quo(f, num(f, 7), s.t));
    kn_atom part = add(f, x[0], one(f, &kn_prim_abs, one(f, &kn_prim_floor, add(f, x[0], num(f, 0.5)))));
    kn_atom angle = mul(f, num(f, pi), part);
    kn_atom reflected = sub(f, y, quo(f, mul(f, num(f, pi), one(f, &kn_prim_cos, angle)), one(f, &kn_prim_sin, angle)));
    kn_atom pole = two(f, &kn_prim_and, two(f, &kn_prim_le, x[0], num(f, 0)), two(f, &kn_prim_eq, x[0], one(f, &kn_prim_floor, x[0])));
    return pick(f, pole, num(f, (double)NAN), pick(f, s.reflect, reflected, y));
}

/* ---- erf_inv: M. Giles, Approximating the erfinv function (2010) ---- */

static kn_atom erf_inv_single(formula *f, kn_atom x)
{
    static const double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941};
    static const double far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682};
    kn_atom w = one(f, &kn_prim_neg, one(f, &kn_prim_log1p, one(f, &kn_prim_neg, mul(f, x, x)))), low = less(f, w, num(f, 5));
    w = pick(f, low, sub(f, w, num(f, 2.5)), sub(f, one(f, &kn_prim_sqrt, w), num(f, 3)));
    kn_atom p = pick(f, low, num(f, near[0]), num(f, far[0]));
    for (int i = 1; i < 9; i++) p = add(f, pick(f, low, num(f, near[i]), num(f, far[i])), mul(f, p, w));
    return p;
}
static kn_atom erf_inv_double(formula *f, kn_atom x)
{
    static const double c0[] = {-3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
                                -1.333171662854620906e-16,  2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
                                -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
                                1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
                                -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,  -0.00074070253416626697512,
                                -0.0060336708714301490533,  0.24015818242558961693,    1.6536545626831027356};
    static const double c1[] = {2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
                                1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
                                -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
                                0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
                                0.005370914553590063617,   1.0052589676941592334,     3.0838856104922207635};
    static const double c2[] = {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
                                7.6157012080783393804e-09,  -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
                                2.2900482228026654717e-07,  -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
                                7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
                                4.8499064014085844221};
    kn_atom w = one(f, &kn_prim_neg, one(f, &kn_prim_log1p, one(f, &kn_prim_neg, mul(f, x, x)))), root = one(f, &kn_prim_sqrt, w);
    kn_atom low = POLYNOMIAL(f, sub(f, w, num(f, 3.125)), c0), middle = POLYNOMIAL(f, sub(f, root, num(f, 3.25)), c1);
    kn_atom high = POLYNOMIAL(f, sub(f, root, num(f, 5)), c2);
    return pick(f, less(f, w, num(f, 6.25)), low, pick(f, less(f, w, num(f, 16)), middle, high));
}
static kn_atom erf_inv_of(formula *f, const kn_atom *x)
{
    kn_atom p = f->d == KILN_F64 ? erf_inv_double(f, x[0]) : erf_inv_single(f, x[0]);
    kn_atom end = two(f, &kn_prim_eq, one(f, &kn_prim_abs, x[0]), num(f, 1));
    return mul(f, pick(f, end, num(f, (double)INFINITY), p), x[0]);
}

/* ---- erfc: 1 - erf up to 1, beyond e^(-x^2) by W. Cody's rational approximations (1969) in 1/x; in f32 computed in f64 ---- */

static kn_atom erfc_of(formula *f, const kn_atom *x)
{
    /* x in (0.46875, 4]: p/q; beyond 4: (1/sqrt pi - r p/q)/x with r = 1/x^2 */
    static const double p1[] = {2.15311535474403846343e-8, 5.64188496988670089180e-1, 8.88314979438837594118e0, 6.61191906371416294775e1,
                                2.98635138197400131132e2,  8.81952221241769090411e2,  1.71204761263407058314e3, 2.05107837782607146533e3,
                                1.23033935479799725272e3};
    static const double q1[] = {1.0,                      1.57449261107098347253e1, 1.17693950891312499305e2, 5.37181101862009857509e2,
                                1.62138957456669018874e3, 3.29079923573345962678e3, 4.36261909014324715820e3, 3.43936767414372163696e3,
                                1.23033935480374942043e3};
    static const double p2[] = {1.63153871373020978498e-2, 3.05326634961232344035e-1, 3.60344899949804439429e-1, 1.25781726111229246204e-1,
                                1.60837851487422766278e-2, 6.58749161529837803157e-4};
    static const double q2[] = {1.0, 2.56852019228982242072e0, 1.87295284992346047209e0, 5.27905102951428412248e-1, 6.05183413124413191178e-2,
                                2.33520497626869185443e-3};
    kn_atom a = one(f, &kn_prim_abs, x[0]), ceil16 = num(f, 16);
    kn_atom b = two(f, &kn_prim_max, two(f, &kn_prim_min, a, num(f, 30)), num(f, 0.46875)); /* e^-900 is 0 */
    kn_atom head = quo(f, one(f, &kn_prim_floor, mul(f, b, ceil16)), ceil16), tail = mul(f, sub(f, b, head), add(f, b, head));
    kn_atom gauss = mul(f, one(f, &kn_prim_exp, one(f, &kn_prim_neg, mul(f, head, head))), one(f, &kn_prim_exp, one(f, &kn_prim_neg, tail)));
    kn_atom mid = quo(f, POLYNOMIAL(f, b, p1), POLYNOMIAL(f, b, q1)), r = quo(f, num(f, 1), mul(f, b, b));
    kn_atom far = quo(f, sub(f, num(f, 0.56418958354775628695), mul(f, r, quo(f, POLYNOMIAL(f, r, p2), POLYNOMIAL(f, r, q2)))), b);
    kn_atom y = mul(f, gauss, pick(f, two(f, &kn_prim_le, b, num(f, 4)), mid, far));
    y = pick(f, less(f, x[0], num(f, 0)), sub(f, num(f, 2), y), y);
    kn_atom near = sub(f, num(f, 1), one(f, &kn_prim_erf, x[0]));
    kn_atom close = two(f, &kn_prim_le, a, num(f, 0.46875));
    return pick(f, two(f, &kn_prim_or, close, two(f, &kn_prim_ne, x[0], x[0])), near, y);
}

/* ---- Bessel functions e^-|x| I0(x), e^-|x| I1(x): Chebyshev series on [0, 8] and of 32/x - 2 beyond (Cephes) ---- */

static const double i0_a[] = {-4.41534164647933937950E-18, 3.33079451882223809783E-17, -2.43127984654795469359E-16, 1.71539128555513303061E-15,
                              -1.16853328779934516808E-14, 7.67618549860493561688E-14, -4.85644678311192946090E-13, 2.95505266312963983461E-12,
                              -1.72682629144155570723E-11, 9.67580903537323691224E-11, -5.18979560163526290666E-10, 2.65982372468238665035E-9,
                              -1.30002500998624804212E-8,  6.04699502254191894932E-8,  -2.67079385394061173391E-7,  1.11738753912010371815E-6,
                              -4.41673835845875056359E-6,  1.64484480707288970893E-5,  -5.75419501008210370398E-5,  1.88502885095841655729E-4,
                              -5.76375574538582365885E-4,  1.63947561694133579842E-3,  -4.32430999505057594430E-3,  1.05464603945949983183E-2,
                              -2.37374148058994688156E-2,  4.93052842396707084878E-2,  -9.49010970480476444210E-2,  1.71620901522208775349E-1,
                              -3.04682672343198398683E-1,  6.76795274409476084995E-1};
static const double i0_b[] = {-7.23318048787475395456E-18, -4.83050448594418207126E-18, 4.46562142029675999901E-17, 3.46122286769746109310E-17,
                              -2.82762398051658348494E-16, -3.42548561967721913462E-16, 1.77256013305652638360E-15, 3.81168066935262242075E-15,
                              -9.55484669882830764870E-15, -4.15056934728722208663E-14, 1.54008621752140982691E-14, 3.85277838274214270114E-13,
                              7.18012445138366623367E-13,  -1.79417853150680611778E-12, -1.32158118404477131188E-11, -3.14991652796324136454E-11,
                              1.18891471078464383424E-11,  4.94060238822496958910E-10,  3.39623202570838634515E-9,  2.26666899049817806459E-8,
                              2.04891858946906374183E-7,   2.89137052083475648297E-6,   6.88975834691682398426E-5,  3.36911647825569408990E-3,
                              8.04490411014108831608E-1};
static const double i1_a[] = {2.77791411276104639959E-18, -2.11142121435816608115E-17, 1.55363195773620046921E-16, -1.10559694773538630805E-15,
                              7.60068429473540693410E-15, -5.04218550472791168711E-14, 3.22379336594557470981E-13, -1.98397439776494371520E-12,
                              1.17361862988909016308E-11, -6.66348972350202774223E-11, 3.62559028155211703701E-10, -1.88724975172282928790E-9,
                              9.38153738649577178388E-9,  -4.44505912879632808065E-8,  2.00329475355213526229E-7,  -8.56872026469545474066E-7,
                              3.47025130813767847674E-6,  -1.32731636560394358279E-5,  4.78156510755005422638E-5,  -1.61760815825896745588E-4,
                              5.12285956168575772895E-4,  -1.51357245063125314899E-3,  4.15642294431288815669E-3,  -1.05640848946261981558E-2,
                              2.47264490306265168283E-2,  -5.29459812080949914269E-2,  1.02643658689847095384E-1,  -1.76416518357834055153E-1,
                              2.52587186443633654823E-1};
static const double i1_b[] = {7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17, -3.20952592199342395980E-17,
                              2.96262899764595013876E-16,  3.30820231092092828324E-16,  -1.88035477551078244854E-15, -3.81440307243700780478E-15,
                              1.04202769841288027642E-14,  4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
                              -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,  3.25260358301548823856E-11,
                              -1.89749581235054123450E-11, -5.58974346219658380687E-10, -3.83538038596423702205E-9,  -2.63146884688951950684E-8,
                              -2.51223623787020892529E-7,  -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
                              7.78576235018280120474E-1};

static kn_atom bessel(formula *f, kn_atom x, const double *near, int n, const double *far, int m, bool odd)
{
    kn_atom a = one(f, &kn_prim_abs, x), eight = num(f, 8), low = two(f, &kn_prim_le, a, eight);
    kn_atom series = chebyshev(f, sub(f, mul(f, num(f, 0.5), a), num(f, 2)), near, n);
    if (odd) series = mul(f, series, a);
    kn_atom big = two(f, &kn_prim_max, a, eight);
    kn_atom tail = quo(f, chebyshev(f, sub(f, quo(f, num(f, 32), big), num(f, 2)), far, m), one(f, &kn_prim_sqrt, big));
    kn_atom y = pick(f, low, series, tail);
    return odd ? mul(f, one(f, &kn_prim_sign, x), y) : y;
}
static kn_atom bessel_i0e_of(formula *f, const kn_atom *x) { return bessel(f, x[0], i0_a, sizeof i0_a / sizeof *i0_a, i0_b, sizeof i0_b / sizeof *i0_b, false); }
static kn_atom bessel_i1e_of(formula *f, const kn_atom *x) { return bessel(f, x[0], i1_a, sizeof i1_a / sizeof *i1_a, i1_b, sizeof i1_b / sizeof *i1_b, true); }

/* ---- zeta(x, q), polygamma ---- */

/* Sum of (q + k)^-x: ten terms, then Euler and Maclaurin's rest with twelve Bernoulli terms. */
static kn_atom zeta_of(formula *f, const kn_atom *in)
{
    static const double c[] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
                               1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18};
    kn_atom x = in[0], q = in[1], a = q, minus_x = one(f, &kn_prim_neg, x), s = two(f, &kn_prim_pow, q, minus_x), unit = num(f, 1);
    kn_atom term = s;
    for (int i = 0; i < 9; i++) {
        a = add(f, a, unit);
        term = two(f, &kn_prim_pow, a, minus_x);
        s = add(f, s, term);
    }
    a = add(f, a, unit);
    kn_atom b = two(f, &kn_prim_pow, a, minus_x);
    s = add(f, s, quo(f, mul(f, b, a), sub(f, x, unit)));
    s = add(f, s, mul(f, num(f, 0.5), b));
    kn_atom factor = x, power = quo(f, b, a), k = num(f, 0);
    for (int i = 0; i < 12; i++) {
        s = add(f, s, quo(f, mul(f, factor, power), num(f, c[i])));
        k = add(f, k, unit);
        factor = mul(f, factor, add(f, x, k));
        power = quo(f, power, a);
        k = add(f, k, unit);
        factor = mul(f, factor, add(f, x, k));
        power = quo(f, power, a);
    }
    kn_atom whole = two(f, &kn_prim_eq, q, one(f, &kn_prim_floor, q)), whole_x = two(f, &kn_prim_eq, x, one(f, &kn_prim_floor, x));
    kn_atom low = two(f, &kn_prim_le, q, num(f, 0)), half = mul(f, x, num(f, 0.5));
    kn_atom even = two(f, &kn_prim_and, whole_x, two(f, &kn_prim_eq, half, one(f, &kn_prim_floor, half)));
    kn_atom nan = num(f, (double)NAN), inf = num(f, (double)INFINITY);
    kn_atom at_pole = pick(f, even, inf, nan);
    s = pick(f, two(f, &kn_prim_and, low, one(f, &kn_prim_not, whole_x)), nan, s); /* complex there */
    s = pick(f, two(f, &kn_prim_and, low, whole), at_pole, s);
    s = pick(f, less(f, x, unit), nan, s);
    return pick(f, two(f, &kn_prim_eq, x, unit), inf, s);
}

/* polygamma(n, x) = (-1)^(n+1) n! zeta(n + 1, x); n = 0 is digamma */
static kn_atom polygamma_of(formula *f, const kn_atom *in)
{
    kn_atom n = in[0], n1 = add(f, n, num(f, 1)), half = mul(f, n, num(f, 0.5));
    kn_atom even = two(f, &kn_prim_eq, half, one(f, &kn_prim_floor, half)), sign = pick(f, even, num(f, -1), num(f, 1));
    kn_atom y = mul(f, mul(f, sign, one(f, &kn_prim_exp, one(f, &kn_prim_lgamma, n1))), two(f, &kn_prim_zeta, n1, in[1]));
    kn_atom legal = two(f, &kn_prim_and, two(f, &kn_prim_le, num(f, 0), n), two(f, &kn_prim_eq, n, one(f, &kn_prim_floor, n)));
    y = pick(f, two(f, &kn_prim_eq, n, num(f, 0)), one(f, &kn_prim_digamma, in[1]), y);
    return pick(f, legal, y, num(f, (double)NAN));
}

/* ---- the primitives ---- */

static kiln_status lower_by(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y, kn_atom (*fn)(formula *f, const kn_atom *x), bool wide)
{
    kiln_dtype d = kn_build_type(b, x[0]).dtype;
    kiln_type out = kn_out_type(j, e, 0);
    formula f = {{b, KILN_OK}, d == KILN_F64 || wide ? KILN_F64 : KILN_F32};
    kn_atom in[2];
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = kn_low_convert(&f.l, kn_low_in_shape(&f.l, x[i], out), f.d);
    }
    y[0] = kn_low_convert(&f.l, fn(&f, in), d);
    return f.l.status;
}

static const kn_param_spec accuracy[] = {{"accuracy", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}};

static kiln_status type_two(kn_typing *t)
{
    KILN_TRY(kn_typing_kinds(t, 0, "f"));
    return kn_type_nary_real(t);
}

#define LOWER(id, wide)                                                                                               \
    static kiln_status lower_##id(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y) \
    {                                                                                                                  \
        (void)r;                                                                                                       \
        return lower_by(b, j, e, x, y, id##_of, wide);                                                                 \
    }
LOWER(bessel_i0e, false)
LOWER(bessel_i1e, false)
LOWER(digamma, false)
LOWER(erf_inv, false)
LOWER(erfc, true)
LOWER(lgamma, false)
LOWER(polygamma, false)
LOWER(zeta, false)

#define SPECIAL(id, inputs, rule, text)                                                                               \
    {                                                                                                                  \
        .name = #id, .nin = (inputs), .nout = 1, .flags = KN_LEVEL_TRACED | KN_EXPENSIVE, KN_PARAMS(accuracy),         \
        .type = (rule), .lower = lower_##id, .sample = kn_sample_elementwise, .doc = (text)                            \
    }
KILN_PRIM(bessel_i0e) = SPECIAL(bessel_i0e, 1, kn_type_same_float, "e^-|x| times the modified Bessel function I0.");
KILN_PRIM(bessel_i1e) = SPECIAL(bessel_i1e, 1, kn_type_same_float, "e^-|x| times the modified Bessel function I1.");
KILN_PRIM(digamma) = SPECIAL(digamma, 1, kn_type_same_float, "Derivative of lgamma; NaN at 0, -1, -2, ..");
KILN_PRIM(erf_inv) = SPECIAL(erf_inv, 1, kn_type_same_float, "Inverse of the error function; NaN outside of [-1, 1].");
KILN_PRIM(erfc) = SPECIAL(erfc, 1, kn_type_same_float, "1 - erf(x) without cancellation.");
KILN_PRIM(lgamma) = SPECIAL(lgamma, 1, kn_type_same_float, "Logarithm of the absolute value of the gamma function.");
KILN_PRIM(polygamma) = SPECIAL(polygamma, 2, type_two, "n-th derivative of digamma, n the first operand.");
KILN_PRIM(zeta) = SPECIAL(zeta, 2, type_two, "Hurwitz' zeta function, the sum of (q + k)^-x over k from 0.");
