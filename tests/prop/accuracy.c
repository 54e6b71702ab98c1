/* SPDX-License-Identifier: Apache-2.0 */
/* Functions against the C library's long double (64 bits of mantissa) within their documented bounds, in units in the last
 * place of the result's type, subnormal results included. */
#include "ir/prim.h"
#include "testing.h"

#include <float.h>
#include <math.h>

typedef struct function {
    const char *name;
    long double (*ref)(long double);
    double bound64, bound32; /* ULP */
    double lo, hi;           /* where operands are drawn from, beside all exponents */
} function;

static long double ref_logistic(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static long double ref_rsqrt(long double x) { return 1 / sqrtl(x); }
static long double ref_square(long double x) { return x * x; }

static const function functions[] = {
    {"exp", expl, 1, 1, -750, 720},          {"exp2", exp2l, 1, 1, -1100, 1030},     {"expm1", expm1l, 1, 1, -50, 720},
    {"log", logl, 1, 1, 0, 4},               {"sin", sinl, 1, 1, -100, 100},         {"cos", cosl, 1, 1, -100, 100},
    {"tan", tanl, 1.001, 1, -100, 100},          {"asin", asinl, 1, 1, -1, 1},           {"acos", acosl, 1, 1, -1, 1},
    {"atan", atanl, 1, 1, -10, 10},          {"tanh", tanhl, 1.001, 1.001, -20, 20},         {"cbrt", cbrtl, 1, 1, -10, 10},
    {"erf", erfl, 1, 1.1, -6, 6},              {"sqrt", sqrtl, 0.5001, 0.5001, 0, 10}, {"square", ref_square, 0.5001, 0.5001, -10, 10},
    {"logistic", ref_logistic, 3, 3, -50, 50}, {"rsqrt", ref_rsqrt, 1.5, 1.5, 0, 10}, {"log1p", log1pl, 2, 2, -1, 2},
    {"sinh", sinhl, 4, 4, -4, 4},            {"cosh", coshl, 4, 4, -4, 4},           {"asinh", asinhl, 4, 4, -4, 4},
    {"acosh", acoshl, 4, 4, 1, 4},           {"atanh", atanhl, 4, 4, -1, 1},
};

static uint64_t next(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

enum { N = 1 << 16 };

static double draw(const function *f, uint64_t *s, bool wide, int k)
{
    static const double edges[] = {0.0, -0.0, 1, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 0x1p-1074, 0x1p-149, -0x1p-149, 0x1p-24,
                                   0x1.8p-24, 0x1p-53, 0x1.8p-53, -0x1.fffffep-1, 89, 89.4, 89.5, -89.4, 88.7, 710, 710.4, 710.5, 709.9, 1e5, 8191, 8193,
                                   0x1p28, 0x1.fffffep127, 0x1.fffffffffffffp1023, -0x1.fffffep127, 1.0000001};
    double unit = (double)(next(s) >> 11) * 0x1p-53;
    if (k < (int)(sizeof edges / sizeof *edges)) return edges[k];
    switch (k % 4) {
    case 0: return ldexp((next(s) & 1 ? -1 : 1) * (1 + unit), (int)(next(s) % (wide ? 2000 : 270)) - (wide ? 1000 : 145));
    case 1: return ldexp((next(s) & 1 ? -1 : 1) * (1 + unit), (int)(next(s) % 40) - 30);
    case 2: return (next(s) & 1 ? -1 : 1) + ldexp(unit - 0.5, -(int)(next(s) % 24)); /* about +-1 */
    default: return f->lo + unit * (f->hi - f->lo);
    }
}

/* Distance of got from ref in units of the last place of ref's binade. */
static double ulps(double got, long double ref, bool wide)
{
    double max = wide ? DBL_MAX : (double)FLT_MAX;
    int lowest = wide ? -1074 : -149, mant = wide ? 52 : 23, e;
    if (isnan(ref)) return isnan(got) ? 0 : 1e30;
    if (fabsl(ref) > (long double)max) { /* rounds to infinity, or is within reach of the largest number */
        if (isinf(got) && !signbit(got) == !signbit(ref)) return 0;
        if (isinf(ref)) return 1e30;
    }
    if (isinf(got)) return fabsl(ref) > (long double)max * (1 - 4 * ldexpl(1, -mant)) ? 0 : 1e30;
    if (ref == 0) return got == 0 && !signbit(got) == !signbit(ref) ? 0 : fabs(got) <= ldexp(1, lowest) ? 1 : 1e30;
    frexpl(ref, &e);
    int unit = e - 1 - mant < lowest ? lowest : e - 1 - mant;
    return (double)(fabsl((long double)got - ref) / ldexpl(1, unit));
}

static double measure(kiln_ctx *ctx, const function *f, bool wide, double *worst_at)
{
    kiln_dtype d = wide ? KILN_F64 : KILN_F32;
    kn_prog *p;
    kn_build b;
    kn_atom x, y;
    kn_param none[4] = {KN_NONE, KN_NONE, KN_NONE, KN_NONE};
    kiln_array *in, *out;
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&b, ctx, p);
    assert_ok(ctx, kn_build_input(&b, KILN_VECTOR(d, N), &x));
    assert_ok(ctx, kn_build_eqn(&b, kn_prim_find(f->name, strlen(f->name)), none, &x, 1, &y, 1));
    assert_ok(ctx, kn_build_finish(&b, &y, 1, &p->main));
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(d, N), &in));
    uint64_t s = (uint64_t)f->name[0] * 7 + (uint64_t)f->name[1];
    for (int k = 0; k < N; k++) {
        double v = draw(f, &s, wide, k);
        kn_scalar_store(d, in->data, k, (kn_scalar){.f = wide ? v : (double)(float)v});
    }
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, &out));
    double worst = 0;
    for (int k = 0; k < N; k++) {
        double v = kn_scalar_load(d, in->data, k).f, got = kn_scalar_load(d, out->data, k).f;
        double u = ulps(got, f->ref((long double)v), wide);
        if (u > worst) worst = u, *worst_at = v;
    }
    kiln_array_release(in);
    kiln_array_release(out);
    kiln_prog_release(p);
    return worst;
}

static void test_bounds(void **state)
{
    bool good = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int wide = 0; wide < 2; wide++) {
            const function *f = &functions[i];
            double at = 0, u = measure(*state, f, wide, &at), bound = wide ? f->bound64 : f->bound32;
            print_message("%-9s %s %.3f ULP at %a (%.9g)\n", f->name, wide ? "f64" : "f32", u, at, at);
            if (u > bound) print_error("%s %s: %.3f ULP at %a, the bound is %g\n", f->name, wide ? "f64" : "f32", u, at, bound), good = false;
        }
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
