/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are ours within their documented bounds, of the bits' distance from what the C library's wider type gives: every 509th
 * f32 (KILN_TEST_EVERY=1: all of them), random f64, with and without a multiply-add that rounds once. KILN_TEST_FUNCTION=name: one
 * function. */
#include "bounds.h"
#include "rt/math_table.h"
#include "rt/maths.h"

#include <float.h>
#include <math.h>

typedef struct function {
    kn_sop op;
    double (*ref)(double);     /* of f32 */
    long double (*wide_ref)(long double); /* of f64 */
    double lo, hi;             /* where f64 operands are drawn from, beside all exponents */
    double (*pair_ref)(double, double); /* of f32, two operands */
    long double (*wide_pair_ref)(long double, long double);
} function;

static const function functions[] = {
    {KN_S_exp, .ref = exp},
    {KN_S_exp2, .ref = exp2},
    {KN_S_expm1, .ref = expm1},
    {KN_S_log, .ref = log},
    {KN_S_sin, .ref = sin},
    {KN_S_cos, .ref = cos},
    {KN_S_tan, .ref = tan},
    {KN_S_tanh, .ref = tanh},
    {KN_S_erf, .ref = erf},
    {KN_S_exp, .wide_ref = expl, .lo = -750, .hi = 720},
    {KN_S_exp2, .wide_ref = exp2l, .lo = -1080, .hi = 1030},
    {KN_S_expm1, .wide_ref = expm1l, .lo = -40, .hi = 40},
    {KN_S_log, .wide_ref = logl, .lo = 0, .hi = 4},
    {KN_S_sin, .wide_ref = sinl, .lo = -100, .hi = 100},
    {KN_S_cos, .wide_ref = cosl, .lo = -100, .hi = 100},
    {KN_S_tan, .wide_ref = tanl, .lo = -100, .hi = 100},
    {KN_S_tanh, .wide_ref = tanhl, .lo = -20, .hi = 20},
    {KN_S_erf, .wide_ref = erfl, .lo = -6, .hi = 6},
    {KN_S_pow, .pair_ref = pow},
    {KN_S_pow, .wide_pair_ref = powl},
};

typedef struct worst {
    double ulps, at;
} worst;

/* Distance in units of the last place of ref's binade; what rounds to infinity may be it, and zeros have a sign. */
static double distance(double got, long double ref, bool wide)
{
    long double max = wide ? (long double)DBL_MAX : (long double)FLT_MAX, over = max * (1 + ldexpl(1, wide ? -54 : -25));
    int lowest = wide ? -1074 : -149, mantissa = wide ? 52 : 23, e;
    if (isnan(ref)) return isnan(got) ? 0 : 1e30;
    if (isinf(got)) return fabsl(ref) >= max && !signbit(got) == !signbit(ref) ? 0 : 1e30;
    if (fabsl(ref) >= over) return 1e30;
    if (got == 0 && !signbit(got) != !signbit(ref)) return 1e30;
    if (ref == 0) return got == 0 ? 0 : 1e30;
    frexpl(ref, &e);
    int unit = e - 1 - mantissa < lowest ? lowest : e - 1 - mantissa;
    return (double)(fabsl((long double)got - ref) / ldexpl(1, unit));
}

static void keep(worst *w, double ulps, double at)
{
    if (ulps > w->ulps) *w = (worst){ulps, at};
}

static worst measure32(const function *f, const struct kiln_table *t)
{
    const char *every = getenv("KILN_TEST_EVERY");
    uint64_t step = every ? strtoull(every, NULL, 10) : 509;
    float (*fn)(float) = (float (*)(float))t->fn[kn_table_index(f->op, KILN_F32, 1)];
    worst w = {0, 0};
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step ? step : 1) {
        uint32_t word = (uint32_t)bits;
        float x, y;
        memcpy(&x, &word, sizeof x);
        y = fn(x);
        double ref = f->ref((double)x);
        if (y != (float)ref) keep(&w, distance((double)y, (long double)ref, false), (double)x); /* equal: half a unit at most */
    }
    return w;
}

static uint64_t next(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double operand(const function *f, uint64_t *s, int k)
{
    static const double edges[] = {0.0, -0.0, 1, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 0x1p-1074, -0x1p-1074, 0x1p-1022, 709.782712893384,
                                   709.7827128933841, -745.1332191019411, -745.1332191019412, -708.3964185322641, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023};
    double unit = (double)(next(s) >> 11) * 0x1p-53, x;
    if (k < (int)(sizeof edges / sizeof *edges)) return edges[k];
    switch (k % 4) {
    case 0: {
        uint64_t bits = next(s);
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    case 1: return (next(s) & 1 ? -1 : 1) * ldexp(1 + unit, (int)(next(s) % 16) - 12);
    default: return f->lo + unit * (f->hi - f->lo);
    }
}

static worst measure64(const function *f, const struct kiln_table *t)
{
    enum { N = 1 << 20 };
    double (*fn)(double) = (double (*)(double))t->fn[kn_table_index(f->op, KILN_F64, 1)];
    uint64_t s = (uint64_t)f->op;
    worst w = {0, 0};
    for (int k = 0; k < N; k++) {
        double x = operand(f, &s, k);
        keep(&w, distance(fn(x), f->wide_ref((long double)x), true), x);
    }
    return w;
}

/* Operands whose power has an exponent within +-most. */
static void operands(uint64_t *s, int k, int most, double *x, double *y)
{
    double u = (double)(next(s) >> 11) * 0x1p-53, v = 2 * (double)(next(s) >> 11) * 0x1p-53 - 1;
    switch (k % 4) {
    case 0: /* numbers of all sizes */
        *x = ldexp(1 + u, (int)(next(s) % (uint64_t)(2 * most)) - most);
        *y = v * most / (fabs(log2(*x)) + 0.01);
        break;
    case 1: /* next to 1 */
        *x = 1 + (u - 0.5) * ldexp(1, -(int)(next(s) % 48));
        *y = v * most / (fabs(log2(*x)) + 0x1p-60);
        break;
    case 2: *x = 4 * u, *y = 10 * v; break;
    default: *x = u < 0.5 ? -ldexp(1 + u, 2) : ldexp(1 + u, 2), *y = (double)((int)(64 * v)); break;
    }
}

static worst measure_pairs(const function *f, const struct kiln_table *t)
{
    enum { N = 1 << 20 };
    bool wide = f->wide_pair_ref != NULL;
    kn_function fn = t->fn[kn_table_index(f->op, wide ? KILN_F64 : KILN_F32, 1)];
    uint64_t s = (uint64_t)f->op;
    worst w = {0, 0};
    for (int k = 0; k < N; k++) {
        double x, y;
        operands(&s, k, wide ? 1070 : 148, &x, &y);
        if (wide) {
            keep(&w, distance(((double (*)(double, double))fn)(x, y), f->wide_pair_ref((long double)x, (long double)y), true), x);
        } else {
            float a = (float)x, b = (float)y;
            keep(&w, distance((double)((float (*)(float, float))fn)(a, b), (long double)f->pair_ref((double)a, (double)b), false), (double)a);
        }
    }
    return w;
}

static bool within(const function *f, const struct kiln_table *t, const char *target, double bound)
{
    bool wide = f->wide_ref || f->wide_pair_ref, pairs = f->pair_ref || f->wide_pair_ref;
    worst w = pairs ? measure_pairs(f, t) : wide ? measure64(f, t) : measure32(f, t);
    print_message("%-6s %s %-10s %.4f ULP at %a (%.9g)\n", kn_sops[f->op].name, wide ? "f64" : "f32", target, w.ulps, w.at, w.at);
    if (w.ulps > bound) print_error("%s for %s: the bound is %g\n", kn_sops[f->op].name, target, bound);
    return w.ulps <= bound;
}

static void test_bounds(void **state)
{
    (void)state;
    const char *only = getenv("KILN_TEST_FUNCTION");
    bool good = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        double bounds[BOUNDS];
        if (only && strcmp(only, kn_sops[f->op].name) != 0) continue;
        assert_true(bounds_documented(kn_sops[f->op].name, bounds));
        int wide = f->wide_ref || f->wide_pair_ref;
#if defined(__x86_64__)
        good = within(f, kn_table_for("x86-64-v3"), "x86-64-v3", bounds[FUSED_32 + wide]) && good;
        good = within(f, kn_table_for("x86-64-v2"), "x86-64-v2", bounds[PLAIN_32 + wide]) && good;
#else
        good = within(f, kn_table_for("aarch64"), "aarch64", bounds[FUSED_32 + wide]) && good;
#endif
    }
    assert_true(good);
}

/* All that are ours are measured here. */
static void test_list(void **state)
{
    (void)state;
#define ONE(f) KN_S_##f,
    static const kn_sop ours[] = {KN_MATHS(ONE) KN_MATHS(ONE) KN_MATHS_BINARY(ONE) KN_MATHS_BINARY(ONE)};
    assert_int_equal(sizeof ours / sizeof *ours, sizeof functions / sizeof *functions);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) assert_int_equal(ours[i], functions[i].op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
