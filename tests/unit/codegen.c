/* SPDX-License-Identifier: Apache-2.0 */
/* What is handed to LLVM, counted: instructions for its slow selector at level 0, functions of equal nests, and how code grows with the
 * program. A clock is not read. */
#include "kiln/exec.h"
#include "run/stages.h"
#include "same.h"
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct code {
    unsigned lines, functions, longest; /* of IR; lines of the longest function */
    unsigned aside;                     /* functions at another level than what calls them */
    long slow;                          /* instructions for the slow selector, -1: not said */
} code;

static kiln_prog *parsed(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

static code code_of(kiln_ctx *ctx, const kiln_prog *p, int tier)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    char *text;
    size_t n;
    code c = {.slow = -1};
    o.tier = tier;
    o.target = "x86-64-v3";
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, "llvm", &text, &n));
    unsigned inside = 0;
    for (const char *s = text; *s; s = strchr(s, '\n') + 1) {
        c.lines++, inside++;
        if (strncmp(s, "define", 6) == 0) c.functions++, inside = 0;
        c.aside += strncmp(s, "define hidden", 13) == 0;
        if (*s == '}' && inside > c.longest) c.longest = inside;
        if (strncmp(s, "; slow selector: ", 17) == 0) c.slow = strtol(s + 17, NULL, 10);
    }
    kiln_text_free(ctx, text, n);
    return c;
}

/* The floating-point mode is read and set by calls that the fast selector does not know. */
enum { FRAME = 3 };

static void test_elementwise_code_is_fast(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parsed(ctx, "{ lambda ; a:f32[1024] b:f32[1024]. let\n"
                               "    c:f32[1024] = mul a 2.0:f32[]\n"
                               "    d:f32[1024] = add c 1.5:f32[]\n"
                               "    e:f32[1024] = neg d\n"
                               "    f:f32[1024] = div e b\n"
                               "    g:f32[1024] = abs f\n"
                               "  in (g,) }");
    assert_int_equal(code_of(ctx, p, 0).slow, FRAME);
    assert_int_equal(code_of(ctx, p, 2).slow, -1);
    kiln_prog_release(p);
}

/* How often IR says it. */
static unsigned times(kiln_ctx *ctx, const kiln_prog *p, int tier, const char *what)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    char *text;
    size_t n;
    unsigned found = 0;
    o.tier = tier;
    o.target = "x86-64-v3";
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, "llvm", &text, &n));
    for (const char *s = text; (s = strstr(s, what)); s++) found++;
    kiln_text_free(ctx, text, n);
    return found;
}

/* Two loops that end in a shorter vector: the scalar is spread once for each width. */
static void test_scalars_are_spread_once(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parsed(ctx, "{ lambda ; a:f64[] b:f64[50] c:f64[18]. let\n"
                               "    d:f64[50] = mul b a\n"
                               "    e:f64[18] = sub c a\n"
                               "  in (d, e) }");
    assert_int_equal(times(ctx, p, 2, "insertelement"), 2);
    kiln_prog_release(p);
}

/* Arrays of a state are copied by one function; short ones in line. */
static void test_copies_are_one_function(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parsed(ctx, "{ lambda ; a:f64[50] b:f64[50] c:f64[3]. let\n"
                               "    d:f64[50] e:f64[50] f:f64[3] = scan[jaxpr={ lambda ; x:f64[50] y:f64[50] z:f64[3]. let\n"
                               "        u:f64[50] = sin x v:f64[50] = cos y w:f64[3] = sin z in (u, v, w) }\n"
                               "      length=9 num_carry=3 num_consts=0 reverse=False unroll=1] a b c\n"
                               "  in (d, e, f) }");
    for (int tier = 0; tier <= 2; tier += 2) {
        assert_int_equal(times(ctx, p, tier, "define internal void @kiln_copy("), 1);
        assert_int_equal(times(ctx, p, tier, "call void @kiln_copy("), 2);
    }
    kiln_prog_release(p);
}

static kiln_prog *product(kiln_ctx *ctx, int k)
{
    char text[1000];
    snprintf(text, sizeof text, "{ lambda ; a:f32[16,%d] b:f32[%d,16]. let\n"
             "    c:f32[16,16] = dot_general[dimension_numbers=(([1], [0]), ([], [])) out_sharding=None precision=None "
             "preferred_element_type=float32] a b\n  in (c,) }", k, k);
    return parsed(ctx, text);
}

/* Blocks of 256 along k have a trip: what they sum needs no value for when there is none. */
static void test_loops_of_known_length_have_no_guard(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *whole = product(ctx, 512), *rest = product(ctx, 520);
    assert_true(times(ctx, whole, 2, " = phi <") < times(ctx, rest, 2, " = phi <"));
    kiln_prog_release(whole);
    kiln_prog_release(rest);
}

/* Scalars of which vectors are made: the fast selector gets all but what spreads them over lanes. */
static void test_scalars_before_vectors_are_fast(void **state)
{
    kiln_ctx *ctx = *state;
    char text[4000];
    size_t n = (size_t)snprintf(text, sizeof text, "{ lambda ; a:f64[] b:f64[] v:f64[512]. let\n    x0:f64[] = add a b\n");
    for (int i = 1; i <= 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "    x%d:f64[] = %s x%d %s\n", i, i % 3 ? "mul" : "sub", i - 1, i % 2 ? "a" : "b");
    snprintf(text + n, sizeof text - n, "    w:f64[512] = mul x40 v\n    y:f64[512] = add w x20\n  in (y,) }");
    kiln_prog *p = parsed(ctx, text);
    code c = code_of(ctx, p, 0);
    assert_true(c.slow >= FRAME && c.slow <= FRAME + 10);
    assert_true(c.lines > 100);
    kiln_prog_release(p);
}

/* Products of matrices in a chain: one function for all, called each time. */
static kiln_prog *chain(kiln_ctx *ctx, int products)
{
    char text[4000];
    size_t n = (size_t)snprintf(text, sizeof text, "{ lambda ; x0:f32[32,32] w:f32[32,32]. let\n");
    for (int i = 1; i <= products; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "    x%d:f32[32,32] = dot_general[dimension_numbers=(([1], [0]), ([], [])) out_sharding=None precision=None "
                              "preferred_element_type=float32] x%d w\n",
                              i, i - 1);
    snprintf(text + n, sizeof text - n, "  in (x%d,) }", products);
    return parsed(ctx, text);
}

static void test_equal_nests_are_one_function(void **state)
{
    kiln_ctx *ctx = *state;
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_prog *one = chain(ctx, 1), *few = chain(ctx, 3), *many = chain(ctx, 12);
        code a = code_of(ctx, one, tier), b = code_of(ctx, few, tier), c = code_of(ctx, many, tier);
        assert_int_equal(a.functions, 1);
        assert_int_equal(b.functions, 2);
        assert_int_equal(c.functions, 2);
        assert_true((c.lines - b.lines) / 9 < a.lines / 3); /* one more is a call and its frame */
        kiln_prog_release(one);
        kiln_prog_release(few);
        kiln_prog_release(many);
    }
}

/* n equations that depend on one another at small random distances. */
static kiln_prog *straight(kiln_ctx *ctx, const char *type, unsigned n)
{
    static const char *const ops[] = {"add", "mul", "sub", "max"};
    size_t cap = 100 + (size_t)n * 60, at = 0;
    char *text = malloc(cap);
    assert_non_null(text);
    at += (size_t)snprintf(text, cap, "{ lambda ; x0:%s x1:%s. let\n", type, type);
    uint64_t seed = 1;
    for (unsigned i = 2; i < n + 2; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned back = 1 + (unsigned)(seed >> 40) % (i < 4 ? i : 4);
        at += (size_t)snprintf(text + at, cap - at, "    x%u:%s = %s x%u x%u\n", i, type, ops[i % 4], i - 1, i - back);
    }
    snprintf(text + at, cap - at, "  in (x%u, x%u) }", n + 1, n / 2);
    kiln_prog *p = parsed(ctx, text);
    free(text);
    return p;
}

/* Straight code, then a loop that takes most of a call, then straight code again. Where it `swaps`, it is a loop over steps that has two
 * arrays for its state, which belong to the entry. */
static kiln_prog *straight_and_hot(kiln_ctx *ctx, bool swaps)
{
    enum { COLD = 40, ROOM = 10000 };
    static const char *const hot[] = {
        "    b:f32[5000,8] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(5000, 8) sharding=None] y0\n"
        "    s:f32[5000,8] = exp b\n"
        "    z0:f32[8] = reduce_sum[axes=(0,) out_sharding=None] s\n",
        "    b:f32[5,8] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(5, 8) sharding=None] y0\n"
        "    s:f32[5,8] = scan[jaxpr={ lambda ; c:f32[5,8]. let d:f32[5,8] = rev[dimensions=(0, 1)] c e:f32[5,8] = mul d 0.75:f32[] in (e,) } "
        "length=1000 num_carry=1 num_consts=0 reverse=False unroll=1] b\n"
        "    z0:f32[8] = reduce_sum[axes=(0,) out_sharding=None] s\n"};
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, ROOM, "{ lambda ; x:f32[8] w:f32[8]. let\n    y%d:f32[8] = add x w\n", COLD);
    for (int i = COLD; i-- > 0;) at += (size_t)snprintf(text + at, ROOM - at, "    y%d:f32[8] = %s y%d w\n", i, i % 3 ? "sub" : "mul", i + 1);
    at += (size_t)snprintf(text + at, ROOM - at, "%s", hot[swaps]);
    for (int i = 0; i < COLD; i++) at += (size_t)snprintf(text + at, ROOM - at, "    z%d:f32[8] = %s z%d y%d\n", i + 1, i % 3 ? "sub" : "max", i, i);
    snprintf(text + at, ROOM - at, "  in (z%d, z0) }", COLD);
    kiln_prog *p = parsed(ctx, text);
    free(text);
    return p;
}

static void test_level_two_is_for_what_takes_long(void **state)
{
    kiln_ctx *ctx = *state;
    for (int swaps = 0; swaps < 2; swaps++) {
        kiln_prog *p = straight_and_hot(ctx, swaps);
        code a = code_of(ctx, p, 2);
        assert_in_range(a.functions, 2, 4);
        assert_true(a.slow >= 0); /* the remark of level 0 */
        kiln_prog_release(p);
    }
}

/* A long nest over n elements that takes little of a call beside another one. */
static code beside_hot(kiln_ctx *ctx, int n)
{
    enum { LONG = 60, ROOM = 8000 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, ROOM, "{ lambda ; x:f32[%d] y:f32[4000000]. let\n    a0:f32[%d] = add x x\n", n, n);
    for (int i = 1; i <= LONG; i++)
        at += (size_t)snprintf(text + at, ROOM - at, "    a%d:f32[%d] = %s a%d x\n", i, n, i % 3 ? "sub" : "mul", i - 1);
    snprintf(text + at, ROOM - at, "    z:f32[4000000] = exp y\n  in (a%d, z) }", LONG);
    kiln_prog *p = parsed(ctx, text);
    code c = code_of(ctx, p, 2);
    kiln_prog_release(p);
    free(text);
    return c;
}

/* However little of a call it takes: what runs a thousand times is not made at level 0. Here both nests may be split. */
static void test_what_runs_often_is_made_well(void **state)
{
    assert_int_equal(beside_hot(*state, 800).aside, 1);
    assert_int_equal(beside_hot(*state, 16000).aside, 2);
}

/* Where all that takes time are loops that may be split, in a plain loop too, the entry is made at level 0. */
static void test_level_two_is_for_ranges(void **state)
{
    static const char *const texts[] = {
        "{ lambda ; a:f32[1000000]. let b:f32[1000000] = sqrt a; c:f32[] = reduce_sum[axes=(0,) out_sharding=None] b in (c,) }",
        "{ lambda ; a:f32[512,512] b:f32[512,512]. let c:f32[512,512] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b in (c,) }",
        "{ lambda ; a:f32[100]. let b:f32[100] = sqrt a in (b,) }"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kiln_prog *p = parsed(*state, texts[i]);
        code c = code_of(*state, p, 2);
        assert_int_equal(c.aside, i < 2);
        assert_true(i < 2 ? c.slow >= FRAME && c.slow <= 2 * FRAME : c.slow == -1);
        kiln_prog_release(p);
    }
}

static void test_code_grows_with_the_program(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const types[] = {"f64[]", "f32[8]", "f32[1000]"};
    enum { LONGEST = 6000 };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        kiln_prog *small = straight(ctx, types[t], 300), *large = straight(ctx, types[t], 3000);
        code a = code_of(ctx, small, 0), b = code_of(ctx, large, 0);
        if (b.lines > 13 * a.lines || b.longest > LONGEST)
            fail_msg("%s: %u lines and %u at ten times the equations, %u in one function", types[t], a.lines, b.lines, b.longest);
        kiln_prog_release(small);
        kiln_prog_release(large);
    }
}

/* ---- the values ---- */

static void same_bits(kiln_ctx *ctx, const kiln_prog *p, int tier)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_array *in[2], *want[2], *got[2];
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    kiln_exec *f;
    assert_true(nin == 2 && nout <= 2);
    for (uint32_t k = 0; k < nin; k++) {
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, k), &in[k]));
        for (int64_t i = 0; i < kiln_type_size(in[k]->type); i++)
            kn_scalar_store(in[k]->type.dtype, in[k]->data, i, (kn_scalar){.f = 0.03 * (double)((i * 7 + 3 * k) % 23) - 0.3});
    }
    o.tier = tier;
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
    for (uint32_t k = 0; k < nout; k++) {
        assert_true(same_array(want[k], got[k], NULL));
        kiln_array_release(want[k]);
        kiln_array_release(got[k]);
    }
    for (uint32_t k = 0; k < nin; k++) kiln_array_release(in[k]);
    kiln_exec_release(f);
}

static void test_pieces_compute_the_same(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const types[] = {"f64[]", "f32[8]", "f32[100]"};
    for (int tier = 0; tier <= 2; tier += 2) {
        for (int swaps = 0; swaps < 2; swaps++) {
            kiln_prog *hot = straight_and_hot(ctx, swaps);
            same_bits(ctx, hot, tier);
            kiln_prog_release(hot);
        }
        kiln_prog *p = chain(ctx, 7);
        same_bits(ctx, p, tier);
        kiln_prog_release(p);
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            p = straight(ctx, types[t], 2500);
            same_bits(ctx, p, tier);
            kiln_prog_release(p);
        }
    }
}

/* At level 0 sums of a tile stand in memory, aligned, between two trips and two trips: no phi has a vector, and none is wider than the machine's. */
static void test_quick_products_are_native(void **state)
{
    enum { ROWS = 4, VECTORS = 2, TRIPS = 2 };
    kiln_ctx *ctx = *state;
    kiln_prog *p = product(ctx, 64);
    assert_int_equal(times(ctx, p, 0, "= call <8 x float> @llvm.fma"), ROWS * VECTORS * TRIPS);
    assert_int_equal(times(ctx, p, 0, "= phi <"), 0);
    assert_int_equal(times(ctx, p, 0, "load <16 x float>") + times(ctx, p, 0, "store <16 x float>") + times(ctx, p, 0, "insertelement <16"), 0);
    assert_true(times(ctx, p, 0, "alignstack=32") > 0);
    assert_true(times(ctx, p, 2, "= phi <") > 0);
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise_code_is_fast),    cmocka_unit_test(test_scalars_before_vectors_are_fast),
        cmocka_unit_test(test_scalars_are_spread_once), cmocka_unit_test(test_copies_are_one_function),
        cmocka_unit_test(test_loops_of_known_length_have_no_guard),
        cmocka_unit_test(test_equal_nests_are_one_function), cmocka_unit_test(test_code_grows_with_the_program),
        cmocka_unit_test(test_level_two_is_for_what_takes_long),  cmocka_unit_test(test_what_runs_often_is_made_well), cmocka_unit_test(test_level_two_is_for_ranges), cmocka_unit_test(test_pieces_compute_the_same),
        cmocka_unit_test(test_quick_products_are_native),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
