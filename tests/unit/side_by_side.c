/* SPDX-License-Identifier: Apache-2.0 */
/* Chains that go side by side: convolutions and sums of columns that are larger than a tile and no multiple of one have the interpreter's
 * bits, infinities and NaN at the borders included. */
#include "beside.h"
#include "run/stages.h"

static void convolutions(void **state)
{
    static const struct {
        const char *x, *w, *y, *spec, *stride, *padding, *lhs, *rhs, *groups;
    } table[] = {
        {"2,6,29,5", "3,3,5,20", "2,6,29,20", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 1", "(1, 1), (1, 1)", "1, 1", "1, 1", "1"},
        {"1,31,40,3", "7,7,3,17", "1,16,20,17", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "2, 2", "(3, 3), (2, 3)", "1, 1", "1, 1", "1"},
        {"1,5,23,40", "3,3,40,18", "1,5,23,18", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 1", "(1, 1), (1, 1)", "1, 1", "1, 1", "1"},
        {"2,9,7,21", "19,9,3,3", "2,19,7,21", "lhs_spec=(0, 1, 2, 3), rhs_spec=(0, 1, 2, 3), out_spec=(0, 1, 2, 3)", "1, 1", "(1, 1), (1, 1)", "1, 1", "1, 1", "1"},
        {"2,8,7,21", "12,4,3,3", "2,12,7,21", "lhs_spec=(0, 1, 2, 3), rhs_spec=(0, 1, 2, 3), out_spec=(0, 1, 2, 3)", "1, 1", "(1, 1), (1, 1)", "1, 1", "1, 1", "2"},
        {"1,4,20,6", "3,3,6,9", "1,7,39,9", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 1", "(1, 1), (1, 1)", "2, 2", "1, 1", "1"},
        {"1,6,30,4", "2,3,4,10", "1,6,26,10", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 1", "(1, 0), (0, 0)", "1, 1", "1, 2", "1"},
        {"1,6,30,4", "2,3,4,10", "1,5,13,10", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 2", "(0, 0), (-1, -2)", "1, 1", "1, 1", "1"},
        {"1,12,25,9", "5,11,9,7", "1,9,14,7", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "2, 3", "(4, 6), (7, 20)", "1, 1", "1, 1", "1"},
        {"1,5,7,3", "3,4,3,20", "1,10,15,20", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "3, 2", "(9, 12), (8, 6)", "3, 4", "2, 3", "1"},
        {"3,20,22,5", "18,19,5,6", "3,5,6,6", "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)", "1, 1", "(2, 0), (0, 2)", "1, 1", "1, 1", "1"},
    };
    static const char *const dtypes[] = {"f32", "f64", "i32", "bf16"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t d = 0; d < 4; d++) {
            char text[2048];
            const char *t = dtypes[d];
            snprintf(text, sizeof text,
                     "{ lambda ; x:%s[%s] w:%s[%s]. let y:%s[%s] = conv_general_dilated[batch_group_count=1 dimension_numbers=ConvDimensionNumbers(%s) "
                     "feature_group_count=%s lhs_dilation=(%s) padding=(%s) precision=None preferred_element_type=None rhs_dilation=(%s) window_strides=(%s)] x w in (y,) }",
                     t, table[i].x, t, table[i].w, t, table[i].y, table[i].spec, table[i].groups, table[i].lhs, table[i].padding, table[i].rhs, table[i].stride);
            check_beside(*state, text, 97);
        }
}

/* Taps that meet padding are left out by the bounds of their loops, in one nest: no tap is tested. */
static void padding(void **state)
{
    static const char text[] = "{ lambda ; x:f32[2,16,29,5] w:f32[3,3,5,16]. let y:f32[2,16,29,16] = conv_general_dilated[batch_group_count=1 dimension_numbers="
                               "ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)) feature_group_count=1 lhs_dilation=(1, 1)"
                               " padding=((1, 1), (1, 1)) precision=None preferred_element_type=None rhs_dilation=(1, 1) window_strides=(1, 1)] x w in (y,) }";
    kiln_prog *p;
    char *loops;
    size_t n, rows = 0;
    assert_ok(*state, kiln_prog_parse(*state, text, sizeof text - 1, "text", &p));
    assert_ok(*state, kn_compile_stage(*state, p, NULL, "loops", &loops, &n));
    for (const char *at = loops; (at = strstr(at, " in 0 .. 16 {")); at++) rows++;
    if (strstr(loops, "select") || rows == 0 || strstr(loops, " in 1 .. 15 ")) fail_msg("taps are tested, or rows are cut:\n%s", loops);
    kiln_text_free(*state, loops, n);
    kiln_prog_release(p);
}

static void columns(void **state)
{
    static const char *const shapes[][3] = {{"40,300", "300", "0,"}, {"9,16", "16", "0,"}, {"5000,70", "70", "0,"}, {"3,20,131", "3,131", "1,"}, {"11,7,64", "64", "0, 1"}, {"8,33", "33", "0,"}};
    static const char *const prims[] = {"reduce_sum", "reduce_max", "reduce_prod", "reduce_min"}, *const dtypes[] = {"f32", "f64", "i32", "bf16"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 4; d++) {
            char text[1024];
            const char *prim = prims[(i + d) % 4], *t = dtypes[d];
            snprintf(text, sizeof text, "{ lambda ; x:%s[%s]. let z:%s[%s] = mul x x y:%s[%s] = %s[axes=(%s)%s] z in (y,) }", t, shapes[i][0], t, shapes[i][0], t,
                     shapes[i][1], prim, shapes[i][2], strcmp(prim, "reduce_prod") != 0 ? " out_sharding=None" : "");
            check_beside(*state, text, 97);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(padding),
        cmocka_unit_test(columns),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
