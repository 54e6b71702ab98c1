/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: the nearest double of any number of digits, the shortest digits of any double, in every locale. */
#include "base/text.h"
#include "comma_locale.h"
#include "testing.h"

#include <float.h>
#include <math.h>

static uint64_t bits_of(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void reads_as(const char *s, double want)
{
    double got = 12345;
    const char *end = kn_read_double(s, s + strlen(s), &got);
    if (*end || memcmp(&got, &want, sizeof got) != 0) fail_msg("'%.60s' reads as %.17g, not %.17g; the rest is '%s'", s, got, want, end);
}

static void reads(void **state)
{
    (void)state;
    reads_as("0", 0.0);
    reads_as("-0.000e5", -0.0);
    reads_as("+.5", 0.5);
    reads_as("5.", 5.0);
    reads_as("00012.50e-1", 1.25);
    reads_as("1e400", (double)INFINITY);
    reads_as("-1e99999999999999999999", -(double)INFINITY);
    reads_as("1e-99999999999999999999", 0.0);
    reads_as("0e99999999999999999999", 0.0);
    reads_as("4.9406564584124654e-324", 0x1p-1074);
    reads_as("2.4703282292062327e-324", 0.0);
    reads_as("2.4703282292062328e-324", 0x1p-1074);
    reads_as("1.7976931348623157e308", DBL_MAX);
    double v = 7;
    static const char *const none[] = {"", "-", ".", "e5", "+e", "nan", "x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_ptr_equal(kn_read_double(none[i], none[i] + strlen(none[i]), &v), none[i]);
    const char *s = "1.5e+x";
    assert_ptr_equal(kn_read_double(s, s + strlen(s), &v), s + 3);
    assert_true(v == 1.5);
}

/* The C library reads the same text in the C locale. */
static void reads_many_digits(void **state)
{
    (void)state;
    static char s[3000];
    uint64_t r = 1;
    for (int round = 0; round < 3000; round++) {
        size_t n = 0, digits = 1 + bits_of(&r) % (round % 10 ? 40 : 2500), point = bits_of(&r) % (digits + 1);
        for (size_t i = 0; i < digits; i++) {
            if (i == point) s[n++] = '.';
            s[n++] = (char)('0' + (bits_of(&r) % 3 ? bits_of(&r) % 10 : 0));
        }
        snprintf(s + n, sizeof s - n, "e%d", (int)(bits_of(&r) % 800) - 400 - (round % 10 ? 0 : (int)point));
        if (strcmp(s, ".") != 0) reads_as(s, strtod(s, NULL));
    }
    /* halfway between two doubles, and a digit far behind that decides */
    static const char half[] = "9007199254740993.";
    for (size_t zeros = 1; zeros < 2000; zeros += 333) {
        size_t n = sizeof half - 1;
        memcpy(s, half, n);
        memset(s + n, '0', zeros);
        s[n + zeros] = 0;
        reads_as(s, 9007199254740992.0);
        s[n + zeros] = '1', s[n + zeros + 1] = 0;
        reads_as(s, 9007199254740994.0);
    }
}

static void prints_back(void **state)
{
    (void)state;
    uint64_t r = 2;
    for (int round = 0; round < 20000; round++) {
        uint64_t u = bits_of(&r);
        double v, back;
        float w;
        char s[40];
        memcpy(&v, &u, sizeof v);
        memcpy(&w, &u, sizeof w);
        if (!isfinite(v) || !isfinite(w)) continue;
        kn_double_repr(v, s);
        reads_as(s, v);
        kn_text t;
        kn_text_init(&t, NULL);
        kn_text_float(&t, w);
        assert_true(t.n <= 19);
        kn_read_double(t.s, t.s + t.n, &back);
        assert_true((float)back == w);
        kn_text_fini(&t);
    }
}

static void in_another_locale(void **state)
{
    char s[40];
    if (!comma_locale()) skip();
    kn_double_repr(1234.5, s);
    assert_string_equal(s, "1234.5");
    kn_double_repr(1.25e-30, s);
    assert_string_equal(s, "1.25e-30");
    reads_as("1234.5", 1234.5);
    prints_back(state);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads), cmocka_unit_test(reads_many_digits), cmocka_unit_test(prints_back),
                                       cmocka_unit_test(in_another_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
