/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentially scaled modified Bessel functions of the first kind: composites. Up to 31/4 the power series' shape (DLMF 10.25.2),
 * I0(x) = 1 + y P(y), I1(x) = x/2 (1 + y Q(y)) of y = x^2/4, whose terms are all positive; beyond, exp(-x) I(x) sqrt(x) is a
 * polynomial in 1/x (the shape of DLMF 10.40.1), taken in 1/x - 1/16. */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

static const double near0[] = {1.0,                    0.24999999999999992,    0.027777777777778193,   1.7361111111102965e-3,  6.9444444445280199e-5,
                               1.9290123451631045e-6,  3.9367599099045723e-8,  6.151186754543613e-10,  7.5940695515011532e-12, 7.5939035572383728e-14,
                               6.277630532172375e-16,  4.3473686170143404e-18, 2.6331574754978572e-20, 1.1416824214667399e-22, 9.0571017595406227e-25};
static const double near0_f32[] = {0.999999999,   0.250000016,   0.0277777436,  1.73614013e-3,  6.94319759e-5,
                                   1.93207845e-6, 3.89111598e-8, 6.56775423e-10, 5.33939384e-12, 1.40342196e-13};
static const double near1[] = {0.5,                    0.083333333333333643,   6.9444444444431055e-3,  3.4722222222450204e-4,  1.1574074072049904e-5,
                               2.7557319331543814e-7,  4.920949491579347e-9,   6.8346612050420283e-11, 7.5939186993140374e-13, 6.9052807539594897e-15,
                               5.2174039997753354e-17, 3.4213370183403706e-19, 1.6014865941987398e-21, 1.3562513200405507e-23};
static const double near1_f32[] = {0.500000003,  0.0833332966,  6.94450941e-3,  3.47178082e-4, 1.15890384e-5,
                                   2.7273979e-7, 5.23308371e-9, 4.86804072e-11, 1.39634574e-12};
static const double far0[] = {0.40217650944500808,    0.053768831738684748,   0.034871315044130931,   0.045641866430311124,   0.097245436568157377,
                              0.31180426497149061,    1.4884995179053769,     10.556887507221085,     92.579089254931259,     518.4301971157439,
                              -7.4620188076700317e+3, -2.351584784399819e+5,  -1.4818732678068603e+6, 3.3536520631461729e+7,  5.1159672643117162e+8,
                              -3.8385864763574624e+9, -1.0023658875886433e+11, 3.9206921196277613e+11, 1.463470938493792e+13,  -3.3310470446094729e+13,
                              -1.5292348312706426e+15, 1.9724556932121412e+15, 1.003428089360927e+17,  -5.7785412504534092e+16, -3.0639253786776043e+18};
static const double far0_f32[] = {0.402176509, 0.0537689033, 0.0348723179, 0.045501185, 0.0961633563, 0.383495462, 1.93272371};
static const double far1[] = {0.38939845902587233,    -0.15599323509177071,   -0.056124355541274821,  -0.061597889356885445,  -0.12025267292469397,
                              -0.36530860286982217,   -1.6779258971293503,    -11.577850923667848,    -100.41952882460843,    -578.40456341945211,
                              7.4471981031317933e+3,  2.4613604561086357e+5,  1.6424866353033238e+6,  -3.3925857119514387e+7, -5.4474190508034301e+8,
                              3.7401880935985204e+9,  1.0562871727706355e+11, -3.6625208975468565e+11, -1.5389629127947041e+13, 2.981938724659626e+13,
                              1.6113723007243487e+15, -1.6957305636814366e+15, -1.0620157796277711e+17, 4.7773259226589078e+16, 3.2626751249745106e+18};
static const double far1_f32[] = {0.389398459, -0.155993316, -0.0561255049, -0.061439925, -0.119005458, -0.44520474, -2.18221295};

static kn_atom scaled(formula *f, kn_atom a, kn_series near, kn_series far, bool first)
{
    kn_atom half = times(f, a, 0.5), y = mul(f, half, half);
    kn_atom rising = plus(f, mul(f, y, kn_formula_series(f, near, y)), 1);
    if (first) rising = mul(f, half, rising);
    kn_atom small = mul(f, one(f, &kn_prim_exp, minus(f, a)), rising);
    kn_atom large = quotient(f, kn_formula_series(f, far, plus(f, inverse(f, a), -0.0625)), one(f, &kn_prim_sqrt, a));
    return pick(f, above(f, a, 7.75), large, small);
}

static kn_atom i0e(formula *f, const kn_atom *x)
{
    return scaled(f, one(f, &kn_prim_abs, x[0]), SERIES(near0, near0_f32), SERIES(far0, far0_f32), false);
}

static kn_atom i1e(formula *f, const kn_atom *x)
{
    kn_atom r = scaled(f, one(f, &kn_prim_abs, x[0]), SERIES(near1, near1_f32), SERIES(far1, far1_f32), true);
    return mul(f, one(f, &kn_prim_sign, x[0]), r);
}

FORMULA_RULE(i0e, i0e)
FORMULA_RULE(i1e, i1e)

KN_JVP1(bessel_i0e, D_MUL(g, D_SUB(D_F(bessel_i1e, x), D_MUL(D_F(sign, x), ans))))
/* i0e(x) - i1e(x) (sign x + 1/x), 1/2 at 0. */
static kn_atom slope1(kn_low *l, kn_atom x, kn_atom ans, kiln_dtype d)
{
    kn_atom zero = kn_low2(l, &kn_prim_eq, x, D_NUM(0)), safe = kn_low_select(l, zero, D_NUM(1), x);
    kn_atom far = D_SUB(D_F(bessel_i0e, safe), D_MUL(ans, D_ADD(D_F(sign, safe), D_DIV(D_NUM(1), safe))));
    return kn_low_select(l, zero, D_NUM(0.5), far);
}
KN_JVP1(bessel_i1e, D_MUL(g, slope1(l, x, ans, d)))

KILN_PRIM(bessel_i0e) = SPECIAL(bessel_i0e, i0e, 1, "exp(-|x|) I0(x), the modified Bessel function of order 0. Within 4 ULP.");
KILN_PRIM(bessel_i1e) = SPECIAL(bessel_i1e, i1e, 1, "exp(-|x|) I1(x), the modified Bessel function of order 1. Within 4 ULP.");
