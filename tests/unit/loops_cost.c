/* SPDX-License-Identifier: Apache-2.0 */
/* What statements cost, as the choice of levels and of loops that are split reads it. */
#include "kiln/prog.h"
#include "loop/cost.h"
#include "run/stages.h"
#include "testing.h"

/* The one statement at the top of a text. */
static void costs(kiln_ctx *ctx, const char *text, double *plain, double *quick)
{
    kn_arena arena;
    kn_loops *l;
    kn_arena_init(&arena, &ctx->alloc);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, strlen(text), "text", &l));
    *plain = kn_loops_cost_of_block(l, &l->top, false);
    *quick = kn_loops_cost_of_block(l, &l->top, true);
    kn_arena_fini(&arena);
}

#define HEAD "kiln loops\ninputs 1 outputs 1 constants 0 scratch 0\ncounts 1 0 0 0\nscope \"\"\nfile \"\"\nslot in0: f32[9] input 0\nslot out0: f32[9] output 0\n"
#define CARRY(of) "carry %" of "1 = f32 0.0, %" of "2 = f32 0.0, %" of "3 = f32 0.0, %" of "4 = f32 0.0"

/* What carries a tile goes through memory at level 0, once however many loops carry it. */
static void tiles(void **state)
{
    double plain, quick, plain_outside, quick_outside;
    costs(*state, HEAD "{ loop %1 in 0 .. 9 { %2 = in0[%1] out0[%1] = %2 } }", &plain, &quick);
    assert_true(plain > 9 && quick == plain);
    costs(*state, HEAD "{ %91, %92, %93, %94 = loop %1 in 0 .. 9 " CARRY("1") " { %2 = in0[%1] yield %2, %2, %2, %2 } }", &plain, &quick);
    assert_true(quick > 8 * plain);
    costs(*state, HEAD "{ %91, %92, %93, %94 = loop %1 in 0 .. 9 " CARRY("1") " { %81, %82, %83, %84 = loop %3 in 0 .. 9 " CARRY("2")
          " { %2 = in0[%3] yield %2, %2, %2, %2 } yield %81, %82, %83, %84 } }", &plain_outside, &quick_outside);
    assert_true(plain_outside > 8 * plain && plain_outside < 12 * plain);
    assert_true(quick_outside > 8 * quick && quick_outside < 12 * quick);
}

/* Of an iteration of the first loop, which has 512 and is split. */
static int weight(kiln_ctx *ctx, const char *shape, const char *out)
{
    char text[600];
    kiln_prog *p;
    char *loops;
    size_t n;
    int each = 0;
    snprintf(text, sizeof text, "{ lambda ; a:f32[%s]. let b:f32[%s] = reduce_window_max[base_dilation=(1, 1, 1, 1) padding=((0, 0), (0, 0), (0, 0), (0, 0))"
             " window_dilation=(1, 1, 1, 1) window_dimensions=(1, 2, 2, 1) window_strides=(1, 2, 2, 1)] a in (b,) }", shape, out);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &loops, &n));
    const char *at = strstr(loops, "0 .. 512 split ");
    if (!at || sscanf(at, "0 .. 512 split %d", &each) != 1) fail_msg("not split:\n%s", loops);
    kiln_text_free(ctx, loops, n);
    kiln_prog_release(p);
    return each;
}

/* Loops of 16 and of 32 become one: an iteration of it costs what one costs of a loop that has been 512 from the beginning. */
static void flattened(void **state)
{
    int one = weight(*state, "16,64,64,8", "16,32,32,8"), whole = weight(*state, "512,2,64,8", "512,1,32,8");
    if (one > 2 * whole || whole > 2 * one) fail_msg("%d and %d", one, whole);
}

/* Of a convolution, at level 2. */
static double of_convolution(kiln_ctx *ctx, const char *a, const char *b, const char *out, const char *padding, const char *dilation)
{
    char text[700];
    kiln_prog *p;
    char *loops;
    size_t n;
    double plain, quick;
    snprintf(text, sizeof text, "{ lambda ; a:f32[%s] b:f32[%s]. let c:f32[%s] = conv_general_dilated[batch_group_count=1 dimension_numbers="
             "ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)) feature_group_count=1 lhs_dilation=(1, 1)"
             " padding=(%s, %s) precision=None preferred_element_type=None rhs_dilation=(%s) window_strides=(1, 1)] a b in (c,) }",
             a, b, out, padding, padding, dilation);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &loops, &n));
    costs(ctx, loops, &plain, &quick);
    kiln_text_free(ctx, loops, n);
    kiln_prog_release(p);
    return plain;
}

/* Convolutions with as many products cost about the same, whatever of the chain is taps and what features, in one block of k or several. */
static void convolutions(void **state)
{
    static const struct { const char *a, *b, *out, *padding, *dilation; } same[] = {
        {"1,9,9,1024", "1,1,1024,8", "1,9,9,8", "(0, 0)", "1, 1"},
        {"1,24,24,4", "16,16,4,8", "1,9,9,8", "(0, 0)", "1, 1"},
        {"1,40,40,1", "32,32,1,8", "1,9,9,8", "(0, 0)", "1, 1"},
        {"1,39,39,4", "16,16,4,8", "1,9,9,8", "(0, 0)", "2, 2"},
        {"1,9,9,112", "3,3,112,8", "1,9,9,8", "(1, 1)", "1, 1"},
        {"1,18,18,28", "3,3,28,8", "1,18,18,8", "(1, 1)", "1, 1"},
    };
    double one = of_convolution(*state, same[0].a, same[0].b, same[0].out, same[0].padding, same[0].dilation);
    for (size_t i = 1; i < sizeof same / sizeof *same; i++) {
        double cost = of_convolution(*state, same[i].a, same[i].b, same[i].out, same[i].padding, same[i].dilation);
        if (cost > 4 * one || one > 4 * cost) fail_msg("a kernel of %s: %g, not %g", same[i].b, cost, one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles), cmocka_unit_test(flattened), cmocka_unit_test(convolutions)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
