/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of samples against numbers worked out by hand; the clocks go forward. */
#include "testing.h"

#include "base/clock.h"
#include "base/statistics.h"

#include <math.h>

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-14 * fmax(1, fabs(want)))) fail_msg("%.17g is not %.17g", got, want);
}

static void test_by_hand(void **state)
{
    (void)state;
    double v[] = {9, 2, 4, 4, 5, 7, 4, 5}; /* mean 5, squares of the distances 16+9+1+1+0+4+1+0 = 32 */
    kn_statistics s = kn_statistics_of(v, 8);
    near(s.mean, 5), near(s.total, 40), near(s.std, 2), near(s.variance, 32.0 / 7);
    near(s.least, 2), near(s.most, 9), near(s.median, 4.5);
    near(s.p95, 7 + 0.65 * 2); /* 0.95 * 7 = 6.65: between the last two of 2 4 4 4 5 5 7 9 */
    near(v[0], 2), near(v[7], 9);
}

static void test_few(void **state)
{
    (void)state;
    kn_statistics none = kn_statistics_of(NULL, 0);
    near(none.mean, 0), near(none.median, 0), near(none.p95, 0);
    double one[] = {3};
    kn_statistics s = kn_statistics_of(one, 1);
    near(s.mean, 3), near(s.std, 0), near(s.variance, 0), near(s.median, 3), near(s.p95, 3);
    double two[] = {4, 1};
    s = kn_statistics_of(two, 2);
    near(s.mean, 2.5), near(s.std, 1.5), near(s.variance, 4.5), near(s.median, 2.5), near(s.p95, 1 + 0.95 * 3);
}

static void test_percentile(void **state)
{
    (void)state;
    const double v[] = {10, 20, 30, 40, 50};
    near(kn_percentile(v, 5, 0), 10), near(kn_percentile(v, 5, 1), 50), near(kn_percentile(v, 5, 0.5), 30);
    near(kn_percentile(v, 5, 0.25), 20), near(kn_percentile(v, 5, 0.1), 14), near(kn_percentile(v, 5, 0.95), 48);
}

static void test_difference(void **state)
{
    (void)state;
    double a[] = {1, 3}, b[] = {2, 4, 6}; /* variances 2 and 4 */
    kn_statistics x = kn_statistics_of(a, 2), y = kn_statistics_of(b, 3);
    near(kn_difference_error(&x, &y), sqrt(2.0 / 2 + 4.0 / 3));
    kn_statistics none = {0};
    near(kn_difference_error(&x, &none), 1);
}

static void test_clock(void **state)
{
    (void)state;
    int64_t step = kn_clock_step_ns(), last = kn_clock_ns();
    assert_true(step > 0 && step < 1000000);
    uint64_t ticks = kn_clock_ticks();
    for (int i = 0; i < 1000; i++) {
        int64_t now = kn_clock_ns();
        assert_true(now >= last);
        last = now;
    }
    assert_true(kn_clock_ticks() > ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),    cmocka_unit_test(test_few),   cmocka_unit_test(test_percentile),
        cmocka_unit_test(test_difference), cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
