/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the table of functions, on one element, within the bounds that docs/numerics.md gives, of values by MPFR
 * (tests/data/maths, made by tools/maths-tables). */
#include "bounds.h"
#include "rt/math_table.h"

#include <float.h>
#include <math.h>

static const char *const columns[BOUNDS] = {"f32", "f64", "f32 without fma", "f64 without fma"};

static double decode(uint64_t bits, bool wide)
{
    uint32_t word = (uint32_t)bits;
    double x;
    float y;
    memcpy(&x, &bits, sizeof x), memcpy(&y, &word, sizeof y);
    return wide ? x : (double)y;
}

/* Units in the last place of the exact value's binade that `got` lies from y + rest of them. */
static double distance(double got, double y, double rest, bool wide)
{
    int lowest = wide ? -1074 : -149, mantissa = wide ? 52 : 23, e;
    if (isnan(y) || isnan(got)) return isnan(y) && isnan(got) ? 0 : 1e30;
    if (got == y) return !signbit(got) == !signbit(y) ? fabs(rest) : 1e30;
    if (isinf(y) || y == 0) return 1e30;
    if (isinf(got)) return fabs(y) == (wide ? DBL_MAX : (double)FLT_MAX) && !signbit(got) == !signbit(y) ? 1 - rest : 1e30;
    if (got == 0 && !signbit(got) != !signbit(y)) return 1e30;
    double m = frexp(fabs(y), &e);
    if (m == 0.5 && rest < 0) e--;
    int unit = e - 1 - mantissa < lowest ? lowest : e - 1 - mantissa;
    return fabs(ldexp(signbit(y) ? y - got : got - y, -unit) - rest);
}

static double call(const struct kiln_table *t, kn_sop op, bool wide, double a, double b)
{
    kn_function f = t->fn[kn_table_index(op, wide ? KILN_F64 : KILN_F32, 1)];
    if (kn_sops[op].arity == 1) return wide ? ((double (*)(double))f)(a) : (double)((float (*)(float))f)((float)a);
    return wide ? ((double (*)(double, double))f)(a, b) : (double)((float (*)(float, float))f)((float)a, (float)b);
}

/* The function against its file: ULPs and operands of the worst row by column; columns of targets that are not here stay 0. */
typedef struct worst {
    double ulps, a, b;
    int rows;
} worst;

static void measure(kn_sop op, worst w[BOUNDS])
{
#if defined(__x86_64__)
    const struct kiln_table *tables[] = {kn_table_for("x86-64-v3"), kn_table_for("x86-64-v2")};
#else
    const struct kiln_table *tables[] = {kn_table_for("aarch64")};
#endif
    char path[1024], line[128];
    bool wide = false;
    snprintf(path, sizeof path, KILN_TEST_DATA "/maths/%s.txt", kn_sops[op].name);
    FILE *f = fopen(path, "r");
    if (!f) print_error("no table %s\n", path);
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long long v[3] = {0};
        int at = 0, n, rest;
        if (line[0] == '#') continue;
        if (strcmp(line, "f32\n") == 0 || strcmp(line, "f64\n") == 0) {
            wide = line[1] == '6';
            continue;
        }
        for (int k = 0; k <= kn_sops[op].arity; k++, at += n) assert_int_equal(sscanf(line + at, "%llx%n", &v[k], &n), 1);
        assert_int_equal(sscanf(line + at, "%d", &rest), 1);
        double a = decode(v[0], wide), b = decode(v[1], wide), y = decode(v[kn_sops[op].arity], wide);
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
            worst *c = &w[2 * k + wide];
            double ulps = distance(call(tables[k], op, wide, a, b), y, rest / 1000.0, wide);
            c->rows++;
            if (ulps > c->ulps) c->ulps = ulps, c->a = a, c->b = b;
        }
    }
    fclose(f);
}

static void test_bounds(void **state)
{
    (void)state;
    bool good = true;
    for (int op = 1; op < KN_N_SOPS; op++) {
        double bounds[BOUNDS];
        worst w[BOUNDS] = {0};
        if (!kn_sops[op].function[0]) continue;
        bool has = bounds_documented(kn_sops[op].name, bounds);
        good = good && has;
        measure((kn_sop)op, w);
        for (int k = 0; has && k < BOUNDS; k++) {
            if (!w[k].rows) continue;
            print_message("%-6s %-16s %.3f ULP of %g at %a %a (%.9g %.9g)\n", kn_sops[op].name, columns[k], w[k].ulps, bounds[k], w[k].a, w[k].b, w[k].a, w[k].b);
            bool within = w[k].ulps <= bounds[k] && w[k].rows >= 1000;
            if (!within) print_error("%s of %s: %g ULP in %d rows, %g are documented\n", kn_sops[op].name, columns[k], w[k].ulps, w[k].rows, bounds[k]);
            good = good && within;
        }
    }
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
