/* SPDX-License-Identifier: Apache-2.0 */
/* From a program to its stages, dumps and counters; the n-th allocation of a whole compile fails. */
#include "run/exec.h"
#include "kiln/exec.h"
#include "run/stages.h"
#include "testing.h"

static const char source[] = "{ lambda ; a:f32[100] b:f32[]. let\n"
                             "    c:f32[100] = sin a\n"
                             "    d:f32[100] = mul c b\n"
                             "    e:f32[] = reduce_sum[axes=(0,)] d\n"
                             "  in (d, e) }\n";

static kiln_prog *parse(kiln_ctx *ctx)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, source, sizeof source - 1, "s.jaxpr", &p));
    return p;
}

static void stages(void **state)
{
    static const struct {
        const char *stage, *holds;
    } table[] = {{"traced", "reduce_sum"}, {"lowered", "reduce_sum"}, {"optimised", "reduce_sum"}, {"loops", "sin f32"},
                 {"llvm", " x float>"},    {"asm", "kiln_entry:"}};
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx);
    char *text;
    size_t n;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_ok(ctx, kn_compile_stage(ctx, p, NULL, table[i].stage, &text, &n));
        if (!strstr(text, table[i].holds)) {
            print_error("stage %s has no '%s':\n%s\n", table[i].stage, table[i].holds, text);
            fail();
        }
        kiln_text_free(ctx, text, n);
    }
    assert_int_equal(kn_compile_stage(ctx, p, NULL, "soup", &text, &n), KILN_NOTFOUND);
    assert_says(ctx, "accepted: traced, lowered, optimised, loops, llvm, asm");
    assert_int_equal(ctx->counters.compiles, 0); /* showing is not compiling */
    kiln_prog_release(p);
}

static void counters(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx);
    kiln_exec *f;
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_exec_info i;
    kiln_exec_info_get(f, &i);
    assert_int_equal(i.equations, 3);
    assert_true(i.nests >= 1 && i.calls_out >= 1 && i.code_bytes > 100);
    assert_int_equal(i.scalar_calls, 0);
    assert_int_equal(ctx->counters.compiles, 1);
    assert_int_equal(ctx->counters.code_bytes, i.code_bytes);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

/* Level 2 makes few functions of ours in the loop that calls for them, many are called, as at level 0. */
static void functions_in_place(void **state)
{
    static const struct {
        const char *text;
        int tier;
        bool called;
    } table[] = {
        {"{ lambda ; a:f32[4096]. let b:f32[4096] = exp a in (b,) }", 2, false},
        {"{ lambda ; a:f64[4096]. let b:f64[4096] = exp a; c:f64[4096] = exp b in (c,) }", 2, false},
        {"{ lambda ; a:f64[4096]. let b:f64[4096] = exp a; c:f64[4096] = exp b; d:f64[4096] = exp c in (d,) }", 2, true},
        {"{ lambda ; a:f32[4096]. let b:f32[4096] = exp a in (b,) }", 0, true},
    };
    kiln_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        kiln_prog *p;
        kiln_exec *f;
        kiln_exec_info i;
        o.tier = table[k].tier;
        assert_ok(ctx, kiln_prog_parse(ctx, table[k].text, strlen(table[k].text), "t.jaxpr", &p));
        assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
        kiln_exec_info_get(f, &i);
        assert_int_equal(i.calls_out > 0, table[k].called);
        kiln_exec_release(f);
        kiln_prog_release(p);
    }
}

/* sin has a rare way through a call, which keeps no vector: the constants of the other way are set before the loop all the same. */
static void constants_before_the_loop(void **state)
{
    static const char text[] = "{ lambda ; a:f32[4096]. let b:f32[4096] = sin a in (b,) }";
    kiln_ctx *ctx = *state;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_prog *p;
    char *code;
    size_t n;
    o.target = "x86-64-v4";
    o.tier = 2;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "t.jaxpr", &p));
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, "asm", &code, &n));
    const char *sine = strstr(code, "vcvtps2pd"); /* the loop's first conversion */
    assert_non_null(sine);
    int before = 0;
    for (const char *at = code; (at = strstr(at, "vbroadcasts")) && at < sine; at++) before++;
    assert_true(before >= 10);
    kiln_text_free(ctx, code, n);
    kiln_prog_release(p);
}

/* Tangents of integers have the type float0, which has no elements to compute with. */
static void refuses_types(void **state)
{
    static const char text[] = "{ lambda ; a:float0[3] b:f32[]. let c:f32[] = neg b in (c, a) }";
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, text, sizeof text - 1, "t.jaxpr", &p));
    assert_int_equal(kiln_compile(ctx, p, NULL, &f), KILN_UNSUPPORTED);
    assert_says(ctx, "compile: an input or constant of type float0[3]; accepted: bool, integers, floats, complex numbers");
    assert_null(f);
    kiln_prog_release(p);
}

/* Every stage of every compile, numbered and named. */
static void dumps(void **state)
{
    (void)state;
    static const char *const names[] = {"002-a-b-1.traced.jaxpr", "002-a-b-2.lowered.jaxpr", "002-a-b-3.optimised.jaxpr", "002-a-b-4.loops",
                                        "002-a-b-5.ll", "002-a-b-6.s", "002-a-b-7.o"};
    kiln_ctx_opts co = KILN_CTX_OPTS_INIT;
    kiln_ctx *ctx;
    kiln_exec *f;
    char folder[1024], path[1200];
    snprintf(folder, sizeof folder, "%s", test_path("dumps/of"));
    co.dump_dir = folder;
    assert_int_equal(kiln_ctx_create(&co, &ctx), KILN_OK);
    kiln_prog *p = parse(ctx);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    kiln_exec_release(f);
    o.label = "a/b";
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    kiln_exec_release(f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
}

/* A folder that cannot be written fails the compile, without an executable. */
static void dumps_that_fail(void **state)
{
    (void)state;
    for (int n = 1;; n++) {
        kiln_ctx_opts co = KILN_CTX_OPTS_INIT;
        kiln_ctx *ctx;
        kiln_exec *f;
        co.dump_dir = test_path("dumps");
        assert_int_equal(kiln_ctx_create(&co, &ctx), KILN_OK);
        kiln_prog *p = parse(ctx);
        test_io_fail(ctx, n);
        kiln_status status = kiln_compile(ctx, p, NULL, &f);
        bool failed = test_io_failed(ctx);
        test_io_fail(ctx, 0);
        assert_true(failed ? status == KILN_IO && !f : status == KILN_OK);
        kiln_exec_release(f);
        kiln_prog_release(p);
        kiln_ctx_release(ctx);
        if (!failed) break;
        assert_true(n < 200);
    }
}

static void nth_allocation(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *p = NULL;
        kiln_exec *f = NULL;
        kiln_status status = kiln_prog_parse(ctx, source, sizeof source - 1, "s.jaxpr", &p);
        if (status == KILN_OK) status = kiln_compile(ctx, p, NULL, &f);
        assert_true(status == KILN_NOMEM || status == KILN_OK);
        done = status == KILN_OK && !test_ctx_failed(ctx);
        kiln_exec_release(f);
        kiln_prog_release(p);
        test_ctx_release(ctx);
        assert_true(n < 5000);
    }
}

/* Level 2 is for code that runs often a call: straight code of any length is not. */
static void levels_by_cost(void **state)
{
    enum { LONG = 60000 };
    kiln_ctx *ctx = *state;
    size_t cap = 64 * (size_t)LONG, n = 0;
    char *text = malloc(cap);
    for (int loop = 0; loop < 2; loop++) {
        n = (size_t)snprintf(text, cap, "kiln loops inputs 1 outputs 1\nslot a: f32[100000] input 0 slot x: f32[100000] output 0\n{ ");
        if (loop) n += (size_t)snprintf(text + n, cap - n, "loop %%1 in 0 .. 100000 width 0 { %%2 = a[%%1] x[%%1] = %%2 } }\n");
        for (int i = 1; !loop && i < LONG; i++) n += (size_t)snprintf(text + n, cap - n, "%%%d = a[%d]\n", i, i);
        if (!loop) n += (size_t)snprintf(text + n, cap - n, "x[0] = %%1 }\n");
        kn_arena arena;
        kn_loops *l;
        kn_arena_init(&arena, NULL);
        assert_ok(ctx, kn_loops_parse(ctx, &arena, text, n, "t", &l));
        assert_int_equal(kn_tier_of(l), loop ? 2 : 0);
        kn_arena_fini(&arena);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(levels_by_cost, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(stages, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(counters, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(functions_in_place, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(constants_before_the_loop, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(refuses_types, test_setup, test_teardown),
        cmocka_unit_test(dumps),
        cmocka_unit_test(dumps_that_fail),
        cmocka_unit_test(nth_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
