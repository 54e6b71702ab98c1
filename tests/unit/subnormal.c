/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives at the smallest numbers: neither they nor their reciprocals are lost. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { N = 4 };
static const char text[] = "{ lambda ; a:f64[4]. let b:f64[4] = log a; c:f64[4] = sqrt a in (b, c) }\n";
static const double x[N] = {1e-308, 5e-324, 3e-308, 2.2250738585072014e-308}, v[N] = {1e-308, 1e-310, 1, 0.25};

static kiln_array *vector(kiln_ctx *ctx, const double *from)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F64, N), &a));
    memcpy(a->data, from, N * sizeof *from);
    return a;
}

static void near(double got, double want, const char *what)
{
    if (!(fabs(got - want) <= 1e-15 * fabs(want))) fail_msg("%s is %.17g, not %.17g", what, got, want);
}

static void tangents(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p, *q;
    kiln_exec *f;
    kiln_array *in[2] = {vector(ctx, x), vector(ctx, v)}, *a[2], *b[2];
    assert_ok(ctx, kiln_prog_parse(ctx, text, sizeof text - 1, "text", &p));
    assert_ok(ctx, kiln_prog_linearize(ctx, p, NULL, 0, NULL, &q));
    assert_ok(ctx, kiln_prog_eval(ctx, q, in, a));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, b));
    for (int k = 0; k < 2; k++) assert_true(same_array(a[k], b[k], NULL));
    for (int i = 0; i < N; i++) {
        near(((double *)a[0]->data)[i], v[i] / x[i], "the tangent of log");
        near(((double *)a[1]->data)[i], v[i] * (0.5 / sqrt(x[i])), "the tangent of sqrt");
    }
    for (int k = 0; k < 2; k++) kiln_array_release(in[k]), kiln_array_release(a[k]), kiln_array_release(b[k]);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tangents)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
