/* SPDX-License-Identifier: Apache-2.0 */
/* Indices are divided in 32 bits where their bounds are known to allow it, and only there. */
#include "beside.h"

#include <stdio.h>

/* Rows and columns spread over an array that is read backwards: each index is divided by `columns`. */
static void backwards(char *text, size_t n, int rows, int columns)
{
    snprintf(text, n,
             "{ lambda ; a:f32[%d] b:f32[%d]. let\n"
             "    c:f32[%d,%d] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(%d, %d)] a\n"
             "    d:f32[%d,%d] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(%d, %d)] b\n"
             "    e:f32[%d,%d] = mul c d\n"
             "    f:f32[%lld] = reshape[dimensions=None new_sizes=(%lld,)] e\n"
             "    g:f32[%lld] = rev[dimensions=(0,)] f\n"
             "  in (g,) }",
             rows, columns, rows, columns, rows, columns, rows, columns, rows, columns, rows, columns, (long long)rows * columns, (long long)rows * columns,
             (long long)rows * columns);
}

static bool divides_in_32_bits(kiln_ctx *ctx, const char *text)
{
    char *ir = stage_beside(ctx, text, "llvm");
    bool short_ones = strstr(ir, "urem <") != NULL, long_ones = strstr(ir, "srem <") != NULL;
    assert_true(short_ones != long_ones);
    free(ir);
    return short_ones;
}

static void which(void **state)
{
    static const char *const numbers = "{ lambda ; a:i64[1000]. let b:i64[1000] = div a 7:i64[]; c:i64[1000] = rem a 7:i64[]; d:i64[1000] = add b c in (d,) }";
    char text[1000];
    backwards(text, sizeof text, 1000, 56);
    assert_true(divides_in_32_bits(*state, text));
    backwards(text, sizeof text, 46341, 46340); /* the last index fits */
    assert_true(divides_in_32_bits(*state, text));
    backwards(text, sizeof text, 46341, 46343); /* over 2^31 */
    assert_false(divides_in_32_bits(*state, text));
    assert_false(divides_in_32_bits(*state, numbers));
}

static void bits(void **state)
{
    static const int columns[] = {1, 2, 7, 56, 64, 641};
    char text[1000];
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        backwards(text, sizeof text, 97, columns[i]);
        check_beside(*state, text, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which), cmocka_unit_test(bits)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
