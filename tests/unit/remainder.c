/* SPDX-License-Identifier: Apache-2.0 */
/* Remainders of floats in vectors: the interpreter's bits, which are fmod's, whatever the sizes of the quotients; no call of a single value. */
#include "beside.h"

/* One kind of quotient after the other: near 1, large, beyond what is exact, subnormals, divisors that are infinite. */
static void sizes(void **state)
{
    static const char *const types[] = {"f32", "f64"};
    static const char *const scales[][2][2] = {
        {{"1.0", "1.0"}, {"1.0", "1.0"}},   {{"1000.0", "0.1"}, {"1e8", "0.1"}},      {{"1e30", "1e-10"}, {"1e200", "1e-100"}},
        {{"1e-38", "1e-39"}, {"1e-308", "1e-309"}}, {{"1e-30", "1e-31"}, {"1e-290", "1e-291"}}, {{"1e-44", "1.0"}, {"1e-322", "1.0"}},
    };
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
            for (int n = 3; n < 140; n += 67) {
                char text[512];
                const char *t = types[d];
                snprintf(text, sizeof text, "{ lambda ; a:%s[%d] b:%s[%d]. let c:%s[%d] = mul a %s:%s[] d:%s[%d] = mul b %s:%s[] e:%s[%d] = rem c d in (e,) }", t, n, t, n, t, n,
                         scales[i][d][0], t, t, n, scales[i][d][1], t, t, n);
                check_beside(*state, text, 97);
            }
}

static void in_vectors(void **state)
{
    const char *text = "{ lambda ; a:f64[100] b:f32[100]. let c:f64[100] = rem a 5.6:f64[] d:f32[100] = rem b 5.6:f32[] in (c, d) }";
    for (unsigned bits = 128; bits <= 512; bits *= 2) {
        kiln_prog *p;
        kiln_exec *f;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.target = "x86-64-v3";
        o.vector_bits = bits;
        assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "rem", &p));
        assert_ok(*state, kiln_compile(*state, p, &o, &f));
        kiln_exec_info i;
        kiln_exec_info_get(f, &i);
        assert_int_equal(i.scalar_calls, 0);
        assert_true(i.calls_out >= 2);
        kiln_exec_release(f);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(in_vectors)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
