/* SPDX-License-Identifier: Apache-2.0 */
/* The runner keeps its promises: statistics, comparison of values before times, exit codes, processes that die. */
#include "bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void statistics(void **state)
{
    (void)state;
    kn_spread s = kn_spread_of((const double[]){5, 1, 2, 100}, 4);
    assert_true(s.n == 4 && s.median == 3.5 && s.min == 1 && s.mad == 2); /* distances 1.5 2.5 1.5 96.5 */
    assert_true(fabs(s.mean - 27) < 1e-12 && fabs(s.sd - sqrt((22 * 22 + 26 * 26 + 25 * 25 + 73 * 73) / 3.0)) < 1e-9);
    assert_true(isnan(kn_spread_of(NULL, 0).median));
    char out[32];
    assert_string_equal(kn_seconds_text(1.234e-9, out), "1.23 ns");
    assert_string_equal(kn_seconds_text(56.78e-3, out), "56.8 ms");
    assert_string_equal(kn_seconds_text(0.0001234, out), "123 us");
    assert_string_equal(kn_seconds_text(2, out), "2.00 s");
}

static uint64_t calls_made;
static void count(void *user, uint64_t n)
{
    (void)user;
    calls_made += n;
}

static void equal_case(bench *b)
{
    const float nan1 = NAN, nan2 = -nan1, a[3] = {1, nan1, 0}, v[3] = {1, nan2, 0};
    assert_true(bench_same_bits(b, "x", "a", a, "v", v, sizeof a, sizeof *a));
    assert_true(bench_near(b, "x", "a", (const double[]){100, 1}, "v", (const double[]){100, 1.0009}, 2, 1e-5));
    assert_true(bench_time(
        b,
        &(bench_pair){
            .row = "r", .a = BENCH_LOOP("a", count, NULL), .seconds = 0.01, .target = {BENCH_TIME_AT_MOST, 0}},
        NULL));
}

static void zero_signs_case(bench *b)
{
    const float a = 0.0f, v = -0.0f;
    assert_false(bench_same_bits(b, "x", "a", &a, "v", &v, sizeof a, sizeof a));
    assert_false(bench_time(b, &(bench_pair){.row = "r", .a = BENCH_LOOP("a", count, NULL)}, NULL));
}

static void far_case(bench *b)
{
    assert_false(bench_near(b, "x", "a", (const double[]){1, NAN}, "v", (const double[]){1, 1}, 2, 1e-3));
    assert_false(bench_near(b, "x", "a", (const double[]){100, 1}, "v", (const double[]){100, 1.2}, 2, 1e-3));
}

static bool dies(void *user, uint64_t n, kn_taken *t)
{
    (void)user, (void)n, (void)t;
    return false;
}
static void dying_case(bench *b)
{
    assert_false(bench_time(b, &(bench_pair){.row = "r", .a = {.name = "a", .sample = dies}}, NULL));
}

static const bench_case cases[] = {
    {"equal", "", equal_case}, {"zeros", "", zero_signs_case}, {"far", "", far_case}, {"dying", "", dying_case}};

static int run(const char *a, const char *b)
{
    char program[] = "selftest", results[] = "--results", nowhere[] = "/nonexistent", first[64], second[64];
    snprintf(first, sizeof first, "%s", a);
    snprintf(second, sizeof second, "%s", b ? b : "");
    char *argv[] = {program, results, nowhere, first, second, NULL};
    calls_made = 0;
    return bench_main(b ? 5 : 4, argv, "selftest", cases, sizeof cases / sizeof *cases);
}

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(run("equal", NULL), 0); /* a missed target is no failure */
    assert_true(calls_made > 0);
    assert_int_equal(run("zeros", NULL), 1);
    assert_int_equal(calls_made, 0); /* nothing was timed */
    assert_int_equal(run("far", "equal"), 1);
    assert_int_equal(run("dying", NULL), 1);
    assert_int_equal(run("--check-only", "equal"), 0);
    assert_int_equal(calls_made, 0);
    assert_int_equal(run("unknown", NULL), 2);
    assert_int_equal(run("--unknown", NULL), 2);
}

static void processes(void **state)
{
    kn_taken t = {0};
    char why[256];
    (void)state;
    assert_int_equal(bench_command((const char *const[]){"true", NULL}, &t, NULL), 0);
    assert_true(t.wall > 0);
    assert_int_equal(bench_command((const char *const[]){"sh", "-c", "exit 3", NULL}, NULL, NULL), 3);
    assert_int_equal(bench_command((const char *const[]){"sh", "-c", "kill -9 $$", NULL}, NULL, NULL), 137);
    assert_int_equal(bench_command((const char *const[]){"/nonexistent/program", NULL}, NULL, NULL), 127);
    bench_peer *p =
        bench_peer_start((const char *const[]){"cat", NULL}, why, sizeof why); /* answers what it is asked */
    assert_non_null(p);
    json_t *answer = bench_peer_ask(p, json_pack("{s:i}", "n", 7), why, sizeof why);
    assert_int_equal(json_integer_value(json_object_get(answer, "n")), 7);
    json_decref(answer);
    assert_null(bench_peer_ask(p, json_pack("{s:s}", "error", "not today"), why, sizeof why));
    assert_string_equal(why, "not today");
    bench_peer_stop(p);
    p = bench_peer_start((const char *const[]){"true", NULL}, why, sizeof why); /* leaves at once */
    assert_non_null(p);
    assert_null(bench_peer_ask(p, json_pack("{s:i}", "n", 7), why, sizeof why));
    bench_peer_stop(p);
    p = bench_peer_start((const char *const[]){"sh", "-c", "read x; echo '{'", NULL}, why, sizeof why);
    assert_null(bench_peer_ask(p, json_pack("{s:i}", "n", 7), why, sizeof why));
    assert_non_null(strstr(why, "no JSON"));
    bench_peer_stop(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics), cmocka_unit_test(exit_codes),
                                       cmocka_unit_test(processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
