/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions against a table of values to 21 digits (tests/data/special.txt), within their documented bounds in units in
 * the last place of the result's type. */
#include "ir/prim.h"
#include "testing.h"

#include <float.h>
#include <math.h>

enum { MOST = 128, OPERANDS = 3 };

typedef struct point {
    double x[OPERANDS];
    long double want;
} point;

typedef struct rows {
    char name[40];
    point p[MOST];
    int n, operands;
} rows;

/* Allowed: flat + condition units, where condition is how far a change of the operands by one unit moves the result, about. */
typedef struct bound {
    const char *name;
    double flat64, flat32;
    double (*condition)(const point *p);
} bound;

/* Below 0, lgamma and digamma are differences; the last place of the larger term counts. */
static double lgamma_terms(const point *p)
{
    if (p->x[0] > 0) return 0;
    return 6 * (1 + fabs(lgamma(1 - p->x[0]))) / fabs((double)p->want);
}
static double digamma_terms(const point *p)
{
    if (p->x[0] > 0) return 0;
    double r = p->x[0] - nearbyint(p->x[0]);
    return 8 * (fabs(3.15 / tan(3.14159265 * r)) * (1 + 4 * fabs(p->x[0])) + log(2 - p->x[0])) / fabs((double)p->want);
}
static double zeta_terms(const point *p)
{
    if (p->x[1] > 0) return 0;
    double r = p->x[1] - nearbyint(p->x[1]);
    return 8 * (1 + p->x[0]) * pow(fabs(r), -p->x[0]) / fabs((double)p->want);
}
static double polygamma_terms(const point *p)
{
    point q = {{p->x[0] + 1, p->x[1]}, p->want / tgamma(p->x[0] + 1)};
    return 2 * lgamma(p->x[0] + 1) + (p->x[0] > 0 ? zeta_terms(&q) : digamma_terms(&(point){{p->x[1]}, p->want}));
}
static double gamma_spread(const point *p)
{
    double a = p->x[0], x = p->x[1];
    return a < 8 ? 4 * (x + fabs(a * log(x))) : 3 * (fabs(x - a) + a * fabs(log(x / a)));
}
static double beta_spread(const point *p)
{
    double a = p->x[0], b = p->x[1], x = p->x[2];
    double edge = a < 0.1 || b < 0.1 ? 60 / fabs((double)p->want) : 0;
    return 3 * fabs(x * b - (1 - x) * a) / (x < 0.5 ? 1 - x : x) + edge;
}

static const bound bounds[] = {
    {"lgamma", 5, 5, lgamma_terms},
    {"digamma", 6, 6, digamma_terms},
    {"zeta", 8, 8, zeta_terms},
    {"polygamma", 8, 8, polygamma_terms},
    {"erfc", 4, 4, NULL},
    {"erf_inv", 3, 4, NULL},
    {"bessel_i0e", 4, 4, NULL},
    {"bessel_i1e", 4, 4, NULL},
    {"igamma", 60, 60, gamma_spread},
    {"igammac", 60, 60, gamma_spread},
    {"igamma_grad_a", 120, 120, gamma_spread},
    {"random_gamma_grad", 120, 120, gamma_spread},
    {"regularized_incomplete_beta", 120, 120, beta_spread},
};
enum { FUNCTIONS = sizeof bounds / sizeof *bounds };

static void read_table(rows *t)
{
    char line[256];
    FILE *f = fopen(KILN_TEST_DATA "/special.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *rest, *word = strtok_r(line, " \n", &rest), *words[OPERANDS + 1];
        int n = 0, k = 0;
        if (!word || word[0] == '#') continue;
        for (char *w; (w = strtok_r(NULL, " \n", &rest));) assert_true(n <= OPERANDS), words[n++] = w;
        while (k < FUNCTIONS && strcmp(bounds[k].name, word) != 0) k++;
        assert_true(k < FUNCTIONS && n >= 2 && t[k].n < MOST);
        point *p = &t[k].p[t[k].n++];
        for (int i = 0; i + 1 < n; i++) p->x[i] = strtod(words[i], NULL);
        p->want = strtold(words[n - 1], NULL);
        t[k].operands = n - 1;
    }
    fclose(f);
}

static double ulps(double got, long double want, bool wide)
{
    int e, mant = wide ? 52 : 23, lowest = wide ? -1074 : -149;
    if (fabsl(want) > (wide ? (long double)DBL_MAX : (long double)FLT_MAX)) return isinf(got) ? 0 : 1e30;
    frexpl(want, &e);
    int unit = e - 1 - mant < lowest ? lowest : e - 1 - mant;
    double u = (double)(fabsl((long double)got - want) / ldexpl(1, unit));
    return u == u ? u : 1e30;
}

static bool check(kiln_ctx *ctx, const rows *t, const bound *b, bool wide)
{
    kiln_dtype d = wide ? KILN_F64 : KILN_F32;
    kn_prog *p;
    kn_build build;
    kn_atom x[OPERANDS], y;
    kiln_array *in[OPERANDS], *out;
    int step = wide ? 1 : 2, n = (t->n + step - 1) / step; /* every second row fits f32 */
    assert_true(n >= 40);
    assert_ok(ctx, kn_prog_new(ctx, NULL, &p));
    kn_build_init(&build, ctx, p);
    for (int i = 0; i < t->operands; i++) {
        assert_ok(ctx, kn_build_input(&build, KILN_VECTOR(d, n), &x[i]));
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(d, n), &in[i]));
        for (int k = 0; k < n; k++) kn_scalar_store(d, in[i]->data, k, (kn_scalar){.f = t->p[k * step].x[i]});
    }
    assert_ok(ctx, kn_build_eqn(&build, kn_prim_find(b->name, strlen(b->name)), NULL, x, (uint32_t)t->operands, &y, 1));
    assert_ok(ctx, kn_build_finish(&build, &y, 1, &p->main));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, &out));
    double worst = 0, most = 0;
    bool good = true;
    for (int k = 0; k < n; k++) {
        const point *q = &t->p[k * step];
        double got = kn_scalar_load(d, out->data, k).f, u = ulps(got, q->want, wide);
        double allowed = (wide ? b->flat64 : b->flat32) + (b->condition ? b->condition(q) : 0);
        if (u > most) most = u;
        if (u / allowed > worst) worst = u / allowed;
        if (u <= allowed) continue;
        good = false;
        print_error("%s %s at %.9g %.9g %.9g: %.17g, %.2f ULP from %.17Lg; allowed %.2f\n", b->name, wide ? "f64" : "f32", q->x[0], q->x[1],
                    q->x[2], got, u, q->want, allowed);
    }
    print_message("%-28s %s at most %.2f ULP, %.2f of what is allowed\n", b->name, wide ? "f64" : "f32", most, worst);
    for (int i = 0; i < t->operands; i++) kiln_array_release(in[i]);
    kiln_array_release(out);
    kiln_prog_release(p);
    return good;
}

static void test_table(void **state)
{
    rows *t = calloc(FUNCTIONS, sizeof *t);
    bool good = true;
    read_table(t);
    for (int k = 0; k < FUNCTIONS; k++)
        for (int wide = 1; wide >= 0; wide--) good = check(*state, &t[k], &bounds[k], wide) && good;
    free(t);
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
