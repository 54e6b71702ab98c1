/* SPDX-License-Identifier: Apache-2.0 */
/* erfc and the inverse of erf: composites. */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <math.h>

/* (1 + 2x) exp(x^2) erfc(x) in t = (x - 15/4)/(x + 15/4), from x = 1/2 on (Shepherd and Laframboise 1981, Math. Comp. 36, 249) */
static const double scaled[] = {
    1.2375126308378276,     -0.14024059858554675,   3.5854154854639948e-3,  0.082276738490117515,   -0.10880393014175117,
    0.092304321161442932,   -0.058693398588857313,  0.028362277400278117,   -9.7465795770355863e-3, 1.7556260320963532e-3,
    2.9371387469142673e-4,  -2.9015511154243344e-4, 5.1647807418558563e-5,  2.238795673013135e-5,   -1.1439294277760926e-5,
    -9.8205174221099796e-7, 1.7402699032121292e-6,  -4.5210823716014645e-8, -2.4233140808399473e-7, 1.350875974161026e-8,
    2.5265557531642928e-8};
static const double scaled_f32[] = {1.23751262,   -0.140240775,  3.58650325e-3, 0.0822845622,   -0.108825154,
                                    0.0922028887, -0.0585749449, 0.0288897502,  -9.87358473e-3, 7.30307953e-4};

/* Below 1/2: 1 - erf(x). Else exp(-x^2) is taken in two factors, of the square of x's leading bits and of what is left. */
static kn_atom erfc_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0];
    kn_atom z = two(f, &kn_prim_min, two(f, &kn_prim_max, x, num(f, 0.5)), num(f, wide(f) ? 28 : 11)); /* beyond, the result is 0 */
    kn_atom c = times(f, z, wide(f) ? 0x1p27 + 1 : 0x1p12 + 1), high = sub(f, c, sub(f, c, z)), low = sub(f, z, high);
    kn_atom decay = one(f, &kn_prim_exp, minus(f, mul(f, high, high)));
    decay = mul(f, decay, one(f, &kn_prim_exp, minus(f, mul(f, low, add(f, z, high)))));
    kn_atom t = quotient(f, plus(f, z, -3.75), plus(f, z, 3.75));
    kn_atom tail = quotient(f, kn_formula_series(f, SERIES(scaled, scaled_f32), t), plus(f, times(f, z, 2), 1));
    kn_atom near = sub(f, num(f, 1), one(f, &kn_prim_erf, x));
    return pick(f, two(f, &kn_prim_ge, x, num(f, 0.5)), mul(f, decay, tail), near);
}

/* erf_inv(x)/x as polynomials in w = -log(1 - x^2) and its root (Giles 2010, "Approximating the erfinv function", GPU Computing Gems).
 * f32: the paper's coefficients; f64: our own, in three ranges. */
static const double middle_f32[] = {1.50140941,      0.246640727,    -0.00417768164, -0.00125372503, 0.00021858087,
                                    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
static const double outer_f32[] = {2.83297682,     1.00167406,    0.00943887047,  -0.0076224613,  0.00573950773,
                                   -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
/* in w - 25/8 */
static const double middle[] = {
    1.6536545626831027,      0.24015818242558832,     -6.0336708714278499e-3,  -7.4070253415447699e-4,  1.8673420802464838e-4,
    -1.3882523394405317e-5,  -1.3654691850603575e-6,  4.2347881737823393e-7,   -2.9070382262927266e-8,  -4.1126608200232401e-9,
    1.0512181539804127e-9,   -5.4142871980847161e-11, -1.2976885526532076e-11, 2.6304834740560441e-12,  -8.1183994430743532e-14,
    -4.0012377350918959e-14, 6.5964077124208341e-15,  -4.0282154327661742e-17, -1.3016928016796445e-16, 1.5574320246233252e-17,
    1.150022252066253e-18,   -3.4996044354754178e-19, -1.1134837698327019e-21, 3.2407044593799019e-21};
/* in sqrt(w) - 13/4 */
static const double outer[] = {3.0838856104922206,     1.0052589676941653,     5.3709145535716796e-3,  -3.7512085082155611e-3, 2.4914420969817609e-3,
                               -1.6882755357337072e-3, 9.5328936374356372e-4,  -3.5503780975963811e-4, 2.4031257015092524e-5,  6.8287086547533767e-5,
                               -4.7318984120112455e-5, 1.2465167157087252e-5,  2.9257291901789825e-6,  -3.986084395214756e-6,  1.4987130784186126e-6,
                               -2.7004219280868946e-8, -2.7134511054394561e-7, 1.3104351499972014e-7,  6.969241977629694e-10,  -1.5102695423335064e-8};
/* in sqrt(w) - 5 */
static const double outermost[] = {
    4.8499064014085843,      1.0103004648645454,     -1.3871931837723944e-4, -2.1503011983135299e-4, 7.5995278016842945e-5,
    -1.9681770650615813e-5,  4.5260533674994837e-6,  -9.9302970919221997e-7, 2.2904840320426765e-7,  -6.7555047347143389e-8,
    2.9031605409972532e-8,   -1.5257394817278865e-8, 7.7991701438796701e-9,  -3.4686534063651656e-9, 1.3382432167190545e-9,
    -4.3918011685774678e-10, 5.7596302191799555e-11, 4.326713146272191e-11,  -1.7710309893185192e-11};

static kn_atom erf_inv_of(formula *f, const kn_atom *operand)
{
    kn_atom x = operand[0], w = mul(f, sub(f, num(f, 1), x), plus(f, x, 1)), p;
    w = minus(f, one(f, &kn_prim_log, w));
    kn_atom root = one(f, &kn_prim_sqrt, w);
    if (wide(f)) {
        kn_atom far = kn_formula_series(f, SERIES(outermost, outermost), plus(f, root, -5));
        p = pick(f, below(f, w, 16), kn_formula_series(f, SERIES(outer, outer), plus(f, root, -3.25)), far);
        p = pick(f, below(f, w, 6.25), kn_formula_series(f, SERIES(middle, middle), plus(f, w, -3.125)), p);
    } else {
        p = kn_formula_series(f, SERIES(outer_f32, outer_f32), plus(f, root, -3));
        p = pick(f, below(f, w, 5), kn_formula_series(f, SERIES(middle_f32, middle_f32), plus(f, w, -2.5)), p);
    }
    kn_atom end = equals(f, one(f, &kn_prim_abs, x), 1);
    return mul(f, x, pick_num(f, end, (double)INFINITY, p));
}

FORMULA_RULE(erfc, erfc_of)
FORMULA_RULE(erf_inv, erf_inv_of)

KN_JVP1(erfc, D_MUL(g, D_MUL(D_NUM(-1.12837916709551257390), D_F(exp, D_NEG(D_F(square, x))))))
KN_JVP1(erf_inv, D_MUL(g, D_MUL(D_NUM(0.886226925452758013649), D_F(exp, D_F(square, ans)))))

KILN_PRIM(erfc) = SPECIAL(erfc, erfc, 1, "1 - erf(x) without cancellation: exp(-x^2) times a polynomial in (x - 15/4)/(x + 15/4) from 1/2 on. Within "
                          "4 ULP.");
KILN_PRIM(erf_inv) = SPECIAL(erf_inv, erf_inv, 1, "Inverse of erf by polynomials in -log(1 - x^2) and its root; infinite at -1 and 1, NaN beyond. f64: "
                             "within 3 ULP; f32: Giles' polynomials, within 4 ULP, so that normal draws agree with what others draw.");
