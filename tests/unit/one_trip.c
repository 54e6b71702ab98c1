/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over rows with single rows written in between: one loop, with a branch in it; the interpreter's bits. */
#define _GNU_SOURCE /* anonymous mappings */
#include "beside.h"
#include "sized_run.h"

#define HEAD "{ lambda ; x:f32[40,80] u:f32[1,80] v:f32[80] w:f32[80]. let vb:f32[40,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 80) sharding=None] v " \
             "wb:f32[40,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 80) sharding=None] w a:f32[40,80] = add x vb "

static unsigned times_in(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

static void one_row(void **state)
{
    static const struct {
        const char *text;
        unsigned loops, branches; /* over 40 rows; in them */
    } programs[] = {
        {HEAD "b:f32[40,80] = dynamic_update_slice a u 3:i32[] 0:i32[] c:f32[40,80] = mul b wb in (c,) }", 1, 1},
        {HEAD "b:f32[40,80] = dynamic_update_slice a u 39:i32[] 0:i32[] c:f32[40,80] = mul b wb in (c,) }", 1, 1},
        /* made of the row itself, in two steps */
        {HEAD "s:f32[1,80] = slice[limit_indices=(4, 80) start_indices=(3, 0) strides=None] a t:f32[1,80] = mul s u q:f32[1,80] = exp t "
              "b:f32[40,80] = dynamic_update_slice a q 3:i32[] 0:i32[] c:f32[40,80] = mul b wb in (c,) }", 1, 1},
        /* two rows, one after the other */
        {HEAD "b:f32[40,80] = dynamic_update_slice a u 3:i32[] 0:i32[] d:f32[40,80] = dynamic_update_slice b u 7:i32[] 0:i32[] c:f32[40,80] = mul d wb in (c,) }", 1, 2},
        /* made of another row, which the first pass may not have made by then */
        {HEAD "s:f32[1,80] = slice[limit_indices=(5, 80) start_indices=(4, 0) strides=None] a t:f32[1,80] = mul s u "
              "b:f32[40,80] = dynamic_update_slice a t 3:i32[] 0:i32[] c:f32[40,80] = mul b wb in (c,) }", 2, 0},
        /* a piece of two rows; a row that is not known */
        {"{ lambda ; x:f32[40,80] u:f32[2,80] v:f32[80]. let vb:f32[40,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 80) sharding=None] v a:f32[40,80] = add x vb "
         "b:f32[40,80] = dynamic_update_slice a u 3:i32[] 0:i32[] c:f32[40,80] = mul b vb in (c,) }", 2, 0},
        {"{ lambda ; x:f32[40,80] u:f32[1,80] v:f32[80] i:i32[]. let vb:f32[40,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 80) sharding=None] v a:f32[40,80] = add x vb "
         "b:f32[40,80] = dynamic_update_slice a u i 0:i32[] c:f32[40,80] = mul b vb in (c,) }", 2, 0},
        /* no second pass */
        {HEAD "b:f32[40,80] = dynamic_update_slice a u 3:i32[] 0:i32[] in (b,) }", 1, 0},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i].text, 997);
        char *made = loops_beside(*state, programs[i].text);
        if (times_in(made, "in 0 .. 40 ") != programs[i].loops || times_in(made, " if %") != programs[i].branches)
            fail_msg("%u loops, %u branches expected:\n%s", programs[i].loops, programs[i].branches, made);
        if (programs[i].branches && !strstr(made, ": f32[80] scratch")) fail_msg("more than a row is stored:\n%s", made);
        free(made);
    }
}

/* Several places in each row: what a product makes is as long as a row of each. */
static void places(void **state)
{
    static const char text[] =
        "{ lambda ; k:f32[3,2] x:f32[2,40,128] u:f32[3,1,128] z:f32[128]. let zb:f32[3,40,128] = broadcast_in_dim[broadcast_dimensions=(2,) shape=(3, 40, 128) sharding=None] z "
        "p:f32[3,40,128] = dot_general[dimension_numbers=(([1], [0]), ([], [])) out_sharding=None precision=None preferred_element_type=float32] k x "
        "a:f32[3,40,128] = mul p zb b:f32[3,40,128] = dynamic_update_slice a u 0:i32[] 5:i32[] 0:i32[] c:f32[40,128] = reduce_sum[axes=(0,) out_sharding=None] b in (c,) }";
    check_beside(*state, text, 997);
    char *made = loops_beside(*state, text);
    if (!strstr(made, ": f32[384] scratch") || times_in(made, "in 0 .. 40 ") != 1) fail_msg("%s", made);
    free(made);
}

/* The state of a loop, of which a row is given and which is turned: one pass a trip, and scratch is the other buffer and a row. */
static void state_of_a_loop(void **state)
{
    static const char text[] =
        "{ lambda ; x:f32[40,80] u:f32[1,80] v:f32[80]. let _:i32[] y:f32[40,80] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[40,80]. let p:bool[] = lt k 9:i32[] in (p,) } "
        "body_nconsts=2 body_jaxpr={ lambda ; u:f32[1,80] v:f32[80] k:i32[] s:f32[40,80]. let n:i32[] = add k 1:i32[] "
        "vb:f32[40,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 80) sharding=None] v a:f32[40,80] = mul s vb "
        "b:f32[40,80] = dynamic_update_slice a u 3:i32[] 0:i32[] m:f32[40,80] = mul b s e:f32[1,80] = slice[limit_indices=(40, 80) start_indices=(39, 0) strides=None] m "
        "f:f32[39,80] = slice[limit_indices=(39, 80) start_indices=(0, 0) strides=None] m g:f32[40,80] = concatenate[dimension=0] e f in (n, g) }] u v 0:i32[] x in (y,) }";
    check_beside(*state, text, 997);
    char *made = loops_beside(*state, text);
    if (times_in(made, "in 0 .. 40 ") != 1 || !strstr(made, "scratch 13120\n")) fail_msg("%s", made);
    free(made);
}

/* The number of rows is given at each call: a row that there may not be is no trip's. */
static void open_rows(void **state)
{
    static const char *const texts[] = {
        "{ lambda ; x:f32[n,80] u:f32[1,80] v:f32[80]. let vb:f32[n,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 80) sharding=None] v a:f32[n,80] = add x vb "
        "b:f32[n,80] = dynamic_update_slice a u 3:i32[] 0:i32[] c:f32[n,80] = mul b vb in (c,) }",
        "{ lambda ; x:f32[n,80] u:f32[1,80] v:f32[80] i:i32[]. let vb:f32[n,80] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 80) sharding=None] v a:f32[n,80] = add x vb "
        "b:f32[n,80] = dynamic_update_slice a u i 0:i32[] c:f32[n,80] = mul b vb in (c,) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kiln_prog *p;
        kiln_exec *f;
        assert_ok(*state, kiln_prog_parse(*state, texts[i], strlen(texts[i]), "rows", &p));
        assert_ok(*state, kiln_compile(*state, p, NULL, &f));
        for (int64_t n = 1; n < 9; n++) assert_ok(*state, sized_run(*state, p, f, n, texts[i]));
        kiln_exec_release(f);
        kiln_prog_release(p);
    }
}

/* Rows that constants name: indices are known, nothing is tested, and nothing reads the constants. */
static void named_by_constants(void **state)
{
    static const char text[] =
        "module @m {\n func.func public @main(%x: tensor<9x40x80xf32>) -> tensor<9x40x80xf32> {\n"
        "  %a = stablehlo.constant dense<[[6, 38], [7, 38], [8, 38]]> : tensor<3x2xi32>\n"
        "  %b = stablehlo.constant dense<[[6, 39], [7, 39], [8, 39]]> : tensor<3x2xi32>\n"
        "  %r = \"stablehlo.gather\"(%x, %a) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], "
        "index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 80>}> : (tensor<9x40x80xf32>, tensor<3x2xi32>) -> tensor<3x80xf32>\n"
        "  %y = \"stablehlo.scatter\"(%x, %b, %r) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({\n"
        "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n    stablehlo.return %q : tensor<f32>\n"
        "  }) : (tensor<9x40x80xf32>, tensor<3x2xi32>, tensor<3x80xf32>) -> tensor<9x40x80xf32>\n"
        "  return %y : tensor<9x40x80xf32>\n }\n}\n";
    check_beside(*state, text, 997);
    char *made = loops_beside(*state, text);
    if (strstr(made, "if %") || strstr(made, "= const") || strstr(made, "max ")) fail_msg("%s", made);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_row), cmocka_unit_test(places), cmocka_unit_test(state_of_a_loop), cmocka_unit_test(open_rows), cmocka_unit_test(named_by_constants)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
