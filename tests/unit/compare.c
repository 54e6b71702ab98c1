/* SPDX-License-Identifier: Apache-2.0 */
/* Two records: what moved, what is noise, what is there once only. */
#include "testing.h"

#include "meter/compare.h"
#include "meter/record.h"

#include <math.h>
#include <stdlib.h>

/* A row with nine samples of median m and median distance d. */
#define SIDE(name, m, d) "{\"name\":\"" name "\",\"median_s\":" m ",\"mad_s\":" d ",\"wall_s\":[1,1,1,1,1,1,1,1,1]}"
#define RECORD(kernel, rows) "{\"format\":\"kiln-bench/1\",\"suite\":\"s\",\"machine\":{\"time\":\"" kernel "\",\"os\":{\"kernel\":\"" kernel "\"}},\"rows\":[" rows "]}"

static json_t *parsed(const char *text)
{
    json_error_t e;
    json_t *r = json_loads(text, 0, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

static json_t *compare(const char *a, const char *b)
{
    json_t *x = parsed(a), *y = parsed(b);
    const char *why;
    assert_true(kn_record_is(x, &why) && kn_record_is(y, &why));
    json_t *report = kn_compare_records(x, y, 0.01);
    assert_non_null(report);
    json_decref(x);
    json_decref(y);
    return report;
}

static void row_is(const json_t *report, size_t k, const char *verdict, double change)
{
    const json_t *r = json_array_get(json_object_get(report, "rows"), k);
    assert_string_equal(json_string_value(json_object_get(r, "verdict")), verdict);
    assert_true(fabs(json_number_value(json_object_get(r, "change")) - change) < 1e-9);
}

static void moves_and_noise(void **state)
{
    (void)state;
    json_t *r = compare(RECORD("x", "{\"case\":\"c\",\"row\":\"slower\",\"a\":" SIDE("kiln", "1e-3", "1e-5") "},"
                                    "{\"case\":\"c\",\"row\":\"scatters\",\"a\":" SIDE("kiln", "1e-3", "3e-4") "},"
                                    "{\"case\":\"c\",\"row\":\"little\",\"a\":" SIDE("kiln", "1e-3", "1e-9") "},"
                                    "{\"case\":\"c\",\"row\":\"slow day\",\"a\":" SIDE("kiln", "1e-3", "1e-6") ",\"b\":" SIDE("C", "2e-3", "1e-6") "}"),
                        RECORD("y", "{\"case\":\"c\",\"row\":\"slower\",\"a\":" SIDE("kiln", "2e-3", "1e-5") "},"
                                    "{\"case\":\"c\",\"row\":\"scatters\",\"a\":" SIDE("kiln", "1.1e-3", "3e-4") "},"
                                    "{\"case\":\"c\",\"row\":\"little\",\"a\":" SIDE("kiln", "1.005e-3", "1e-9") "},"
                                    "{\"case\":\"c\",\"row\":\"slow day\",\"a\":" SIDE("kiln", "1.5e-3", "1e-6") ",\"b\":" SIDE("C", "4e-3", "1e-6") "}"));
    row_is(r, 0, "slower", log(2));
    row_is(r, 1, "noise", log(1.1));
    row_is(r, 2, "noise", log(1.005)); /* resolved, and under the least */
    row_is(r, 3, "faster", log(0.75)); /* beside C, which took twice as long */
    assert_int_equal(json_integer_value(json_object_get(r, "slower")), 1);
    assert_int_equal(json_integer_value(json_object_get(r, "faster")), 1);
    assert_int_equal(json_integer_value(json_object_get(r, "same")), 2);
    const json_t *changed = json_object_get(r, "changed"); /* not the time of the run */
    assert_int_equal(json_array_size(changed), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(changed, 0), "what")), "os.kernel");
    json_decref(r);
}

/* Rows of one name are told apart by what stands beside them, then by their order. */
static void rows_of_one_name(void **state)
{
    (void)state;
    const char *a = RECORD("x", "{\"case\":\"c\",\"row\":\"r\",\"a\":" SIDE("kiln", "1e-3", "1e-6") ",\"b\":" SIDE("C", "1e-3", "1e-6") "},"
                                "{\"case\":\"c\",\"row\":\"r\",\"a\":" SIDE("kiln", "1e-3", "1e-6") ",\"b\":" SIDE("C", "3e-3", "1e-6") "},"
                                "{\"case\":\"c\",\"row\":\"r\",\"a\":" SIDE("kiln", "1e-3", "1e-6") ",\"b\":" SIDE("XLA", "7e-3", "1e-6") "}");
    json_t *r = compare(a, a);
    for (size_t k = 0; k < 3; k++) row_is(r, k, "noise", 0);
    json_decref(r);
}

static void only_in_one(void **state)
{
    (void)state;
    json_t *r = compare(RECORD("x", "{\"case\":\"c\",\"row\":\"gone\",\"a\":" SIDE("kiln", "1", "0") "},"
                                    "{\"case\":\"c\",\"row\":\"left out\",\"a\":" SIDE("kiln", "1", "0") "}"),
                        RECORD("x", "{\"case\":\"c\",\"row\":\"left out\",\"skipped\":\"no peer\"},"
                                    "{\"case\":\"c\",\"row\":\"new\",\"a\":" SIDE("kiln", "1", "0") "}"));
    const json_t *a = json_object_get(r, "only_a"), *b = json_object_get(r, "only_b");
    assert_int_equal(json_array_size(a), 2);
    assert_string_equal(json_string_value(json_array_get(a, 0)), "c: gone");
    assert_string_equal(json_string_value(json_array_get(a, 1)), "c: left out: no peer");
    assert_int_equal(json_array_size(b), 1);
    assert_int_equal(json_array_size(json_object_get(r, "rows")), 0);
    json_decref(r);
}

static void no_records(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"{}", "format"}, {"{\"format\":\"kiln-bench/1\"}", "rows"}, {"{\"format\":\"kiln-bench/1\",\"rows\":[]}", "machine"},
        {RECORD("x", "{\"row\":\"r\"}"), "case"}, {RECORD("x", "{\"case\":\"c\",\"row\":\"r\"}"), "no time"}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const char *why;
        json_t *r = parsed(texts[k][0]);
        assert_false(kn_record_is(r, &why));
        assert_non_null(strstr(why, texts[k][1]));
        json_decref(r);
    }
}

/* What is written is read. */
static void record_of_samples(void **state)
{
    (void)state;
    static kn_samples s = {.n = 3, .calls = {10, 20}, .wall = {{1, 2, 3}, {4, 5, 6}}, .processor = {{1, 1, 1}, {2, 2, 2}}};
    json_t *rows = json_array(), *machine = kn_machine_facts(1);
    json_array_append_new(rows, json_pack("{s:s, s:s, s:o, s:o}", "case", "c", "row", "r", "a", kn_record_side("kiln", &s, 0, false, 1), "b",
                                          kn_record_side("C", &s, 1, true, 2)));
    char *text = kn_record_text("s", machine, rows);
    assert_non_null(text);
    json_t *r = parsed(text), *row = json_array_get(json_object_get(r, "rows"), 0);
    const char *why;
    assert_true(kn_record_is(r, &why));
    assert_true(json_number_value(json_object_get(json_object_get(row, "a"), "median_s")) == 2);
    assert_true(json_number_value(json_object_get(json_object_get(row, "b"), "median_s")) == 1); /* the processor's time, per unit */
    json_decref(r);
    json_decref(rows);
    json_decref(machine);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_and_noise), cmocka_unit_test(rows_of_one_name), cmocka_unit_test(only_in_one),
                                       cmocka_unit_test(no_records), cmocka_unit_test(record_of_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
