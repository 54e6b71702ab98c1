/* SPDX-License-Identifier: Apache-2.0 */
/* ragged_dot_general: values and derivatives as JAX gives them (whole numbers, so that no order of sums shows), interpreted and compiled, printed as
 * read; StableHLO written and read; and how many products it takes. */
#include "base/text.h"
#include "hlo/hlo.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

enum { MOST = 4, ROOM = 600 };

static kiln_prog *parse(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

static void values(kiln_ctx *ctx, kiln_prog *p, const char *const *in, const char *const *want, int line)
{
    kiln_array *v[MOST], *a[MOST], *b[MOST];
    kiln_exec *f;
    uint32_t nin = 0;
    for (; in[nin]; nin++) assert_ok(ctx, kiln_array_parse(ctx, in[nin], &v[nin]));
    assert_ok(ctx, kiln_prog_eval(ctx, p, v, a));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, v, b));
    for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) {
        char got[ROOM];
        assert_true(same_array(a[k], b[k], NULL));
        kiln_array_format(b[k], 40, got, sizeof got);
        if (strcmp(got, want[k]) != 0) print_error("result %u is %s, not %s\n", k, got, want[k]), _fail(__FILE__, line);
        kiln_array_release(a[k]);
        kiln_array_release(b[k]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(v[i]);
    kiln_exec_release(f);
}

/* The program, what `word` makes of it, and what is read of its StableHLO. */
static void check(kiln_ctx *ctx, const char *text, const char *word, const char *const *in, const char *const *want, int line)
{
    kiln_prog *p = parse(ctx, text), *q = NULL, *r;
    kn_text first, again;
    if (word) assert_ok(ctx, kiln_prog_transform(ctx, p, word, NULL, 0, &q));
    else {
        char *s;
        size_t n;
        assert_ok(ctx, kiln_prog_print(ctx, p, 80, &s, &n));
        assert_string_equal(s, text);
        kiln_text_free(ctx, s, n);
    }
    values(ctx, q ? q : p, in, want, line);
    kn_text_init(&first, &ctx->alloc);
    kn_text_init(&again, &ctx->alloc);
    assert_ok(ctx, kn_hlo_print_stablehlo(ctx, q ? q : p, &first));
    assert_non_null(strstr(first.s, "chlo.ragged_dot"));
    assert_ok(ctx, kn_hlo_parse(ctx, first.s, first.n, "module", &r));
    assert_ok(ctx, kn_hlo_print_stablehlo(ctx, r, &again));
    assert_string_equal(first.s, again.s);
    values(ctx, r, in, want, line);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(p);
    kiln_prog_release(q);
    kiln_prog_release(r);
}
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CHECK(text, word, in, want) check(*state, (text), (word), (in), (want), __LINE__)

#define RAGGED(types, result, numbers)                                                                                \
    "{ lambda ; " types ". let\n"                                                                                     \
    "    d:" result " = ragged_dot_general[\n"                                                                        \
    "      group_offset=None\n"                                                                                       \
    "      out_sharding=None\n"                                                                                       \
    "      precision=None\n"                                                                                          \
    "      preferred_element_type=None\n"                                                                             \
    "      ragged_dot_dimension_numbers=RaggedDotDimensionNumbers(" numbers ")\n"                                     \
    "    ] a b c\n"                                                                                                   \
    "  in (d,) }\n"

#define ROWS "-4,3,-1,6,2,-2,5,1,-3,4,0,-4,3,-1,6"
#define MATRICES "-2,3,1,-1,4,2,0,-2,3,1,-1,4"
#define OTHER "-1,2,0,3,1,-1,2,0,3,1"

static const char of_rows[] = RAGGED("a:f64[5,3] b:f64[2,3,2] c:i32[2]", "f64[5,2]",
                                     "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,)");
static const char of_sums[] = RAGGED("a:f64[5,3] b:f64[5,2] c:i32[2]", "f64[2,3,2]",
                                     "dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=()");

static void rows(void **state)
{
    CHECK(of_rows, NULL, LIST("f64[5,3]:" ROWS, "f64[2,3,2]:" MATRICES, "i32[2]:1,3"), LIST("f64[5,2]: 7.0 -17.0 8.0 -18.0 6.0 -21.0 4.0 -24.0 0.0 0.0"));
    CHECK(of_rows, "vjp", LIST("f64[5,3]:" ROWS, "f64[2,3,2]:" MATRICES, "i32[2]:1,3", "f64[5,2]:" OTHER),
          LIST("f64[5,3]: 8.0 -3.0 0.0 -6.0 3.0 12.0 2.0 2.0 -5.0 0.0 6.0 -2.0 0.0 0.0 0.0", "f64[2,3,2]: 4.0 -8.0 -3.0 6.0 1.0 -2.0 13.0 13.0 1.0 5.0 -11.0 -3.0"));
    CHECK(of_rows, "vmap:None,None,0*2", LIST("f64[5,3]:" ROWS, "f64[2,3,2]:" MATRICES, "i32[2,2]:1,3,0,9"),
          LIST("f64[2,5,2]: 7.0 -17.0 8.0 -18.0 6.0 -21.0 4.0 -24.0 0.0 0.0 10.0 7.0 8.0 -18.0 6.0 -21.0 4.0 -24.0 -9.0 17.0"));
}

static void sums(void **state)
{
    CHECK(of_sums, NULL, LIST("f64[5,3]:" ROWS, "f64[5,2]:" OTHER, "i32[2]:1,3"), LIST("f64[2,3,2]: 4.0 -8.0 -3.0 6.0 1.0 -2.0 13.0 13.0 1.0 5.0 -11.0 -3.0"));
    CHECK(of_sums, "transpose:1", LIST("f64[5,3]:" ROWS, "i32[2]:1,3", "f64[2,3,2]:" MATRICES), LIST("f64[5,2]: 7.0 -17.0 8.0 -18.0 6.0 -21.0 4.0 -24.0 0.0 0.0"));
}

/* As JAX's vmap writes it: sizes for each entry of the batch. A batch that is ragged is a product of all its rows. */
static void batches(void **state)
{
    CHECK(RAGGED("a:f64[2,5,3] b:f64[2,2,3,2] c:i32[2,2]", "f64[2,5,2]",
                 "dot_dimension_numbers=(((np.int64(2),), (np.int64(2),)), ((0,), (0,))), lhs_ragged_dimensions=(np.int64(1),), rhs_group_dimensions=(np.int64(1),)"),
          NULL,
          LIST("f64[2,5,3]:" ROWS ",-8,6,-2,12,4,-4,10,2,-6,8,0,-8,6,-2,12", "f64[2,2,3,2]:" MATRICES ",-1,4,2,0,5,3,1,-1,4,2,0,5", "i32[2,2]:1,3,4,1"),
          LIST("f64[2,5,2]: 7.0 -17.0 8.0 -18.0 6.0 -21.0 4.0 -24.0 0.0 0.0 10.0 -38.0 -24.0 36.0 -36.0 22.0 -48.0 8.0 -2.0 50.0"));
    CHECK(RAGGED("a:f64[5,3] b:f64[5,3,2] c:i32[2]", "f64[5,2]",
                 "dot_dimension_numbers=(((1,), (1,)), ((0,), (0,))), lhs_ragged_dimensions=(0,), rhs_group_dimensions=()"),
          NULL, LIST("f64[5,3]:" ROWS, "f64[5,3,2]:-4,-3,3,4,-1,0,6,7,2,3,-2,-1,5,6,1,2,-3,-2,4,5,0,1,-4,-3,3,4,-1,0,6,7", "i32[2]:1,3"),
          LIST("f64[5,2]: 26.0 24.0 44.0 50.0 35.0 38.0 32.0 32.0 46.0 54.0"));
}

/* As many tiles of 32 rows as the groups have, however many groups there are. */
static void products(void **state)
{
    static const char text[] = RAGGED("a:f64[100,3] b:f64[50,3,2] c:i32[50]", "f64[100,2]",
                                      "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,)");
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx, text);
    kiln_array *in[3], *out;
    kiln_exec *f;
    kiln_run_counts before, after;
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
        memset(in[i]->data, 0, in[i]->bytes);
    }
    ((int32_t *)in[2]->data)[7] = 60, ((int32_t *)in[2]->data)[9] = 40;
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_run_counts_get(ctx, &before);
    assert_ok(ctx, kiln_exec_call(ctx, f, in, &out));
    kiln_run_counts_get(ctx, &after);
    assert_int_equal(after.trips - before.trips, 4);
    for (uint32_t i = 0; i < 3; i++) kiln_array_release(in[i]);
    kiln_array_release(out);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {RAGGED("a:f64[5,3] b:f64[2,3,2] c:i32[3]", "f64[5,2]", "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,)"), "group sizes i32[3] do not fit"},
        {RAGGED("a:f64[5,3] b:f64[2,4,2] c:i32[2]", "f64[5,2]", "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,)"), "sizes 3 and 4 differ"},
        {RAGGED("a:f64[5,3] b:f64[2,3,2] c:i32[2]", "f64[5,2]", "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=()"), "do not fit"},
        {RAGGED("a:f64[5,3] b:f64[2,3,2] c:f64[2]", "f64[5,2]", "dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,)"), "element types accepted"},
        {RAGGED("a:f64[4,5,3] b:f64[2,3,2] c:i32[4,2]", "f64[4,5,2]", "dot_dimension_numbers=(((2,), (1,)), ((), ())), lhs_ragged_dimensions=(1,), rhs_group_dimensions=(0,)"), "beside the batch"},
    };
    kiln_prog *p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(kiln_prog_parse(*state, bad[i].text, strlen(bad[i].text), "text", &p) != KILN_OK);
        assert_says(*state, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(sums), cmocka_unit_test(batches), cmocka_unit_test(products), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
