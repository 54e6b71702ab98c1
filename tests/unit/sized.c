/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of which one size is given at each call: compiled once, they give at every size the bits of the interpreter. */
#define _DEFAULT_SOURCE

#include "array/size.h"
#include "ir/ir.h"
#include "kiln/cache.h"
#include "kiln/jit.h"
#include "kiln/trace.h"
#include "kiln/transform.h"
#include "loop/loop.h"
#include "run/stages.h"
#include "testing.h"

#include "sized_run.h"

typedef struct sized_case {
    const char *name, *text;
    int64_t least;
} sized_case;

static const sized_case cases[] = {
#include "../sized_cases.h"
};

static const int64_t sizes[] = {0, 1, 2, 3, 5, 16, 63, 64, 65, 257, 1000, 4099, 9001};

static void all_cases(void **s)
{
    kiln_ctx *ctx = *s;
    const char *only = getenv("KILN_TEST_CASE"), *tier = getenv("KILN_TEST_TIER");
    kiln_compile_opts forms[] = {KILN_COMPILE_OPTS_INIT, KILN_COMPILE_OPTS_INIT, KILN_COMPILE_OPTS_INIT};
    forms[0].tier = tier ? atoi(tier) : -1;
    forms[1].tier = 0;
    forms[1].no_fusion = true;
    forms[2].split_cost = 1;
    forms[2].target = "x86-64-v3";
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (only && strcmp(only, cases[c].name) != 0) continue;
        if (only) print_message("%s\n", cases[c].name);
        kiln_prog *p;
        assert_ok(ctx, kiln_prog_parse(ctx, cases[c].text, strlen(cases[c].text), cases[c].name, &p));
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            uint64_t before = ctx->counters.compiles;
            kiln_exec *f;
            if (kiln_compile(ctx, p, &forms[form], &f) != KILN_OK) {
                char text[2000];
                kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
                fail_msg("%s: %s", cases[c].name, text);
            }
            sized_state = c + 1;
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                if (form == 0 || sizes[k] < 5000)
                    assert_int_equal(sized_run(ctx, p, f, sizes[k], cases[c].name), sizes[k] < cases[c].least ? KILN_SHAPE : KILN_OK);
            assert_int_equal(ctx->counters.compiles - before, 1);
            kiln_exec_release(f);
        }
        kiln_prog_release(p);
    }
}

/* ---- text ---- */

static void text_comes_back(void **s)
{
    kiln_ctx *ctx = *s;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        kiln_prog *p, *q;
        char *a, *b;
        size_t n, m;
        assert_ok(ctx, kiln_prog_parse(ctx, cases[c].text, strlen(cases[c].text), cases[c].name, &p));
        assert_ok(ctx, kiln_prog_print(ctx, p, 0, &a, &n));
        assert_ok(ctx, kiln_prog_parse(ctx, a, n, "printed", &q));
        assert_ok(ctx, kiln_prog_print(ctx, q, 0, &b, &m));
        assert_true(n == m && memcmp(a, b, n) == 0 && kn_jaxpr_equal(p->main, q->main));
        kiln_text_free(ctx, a, n);
        kiln_text_free(ctx, b, m);
        assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &a, &n));
        kn_arena arena;
        kn_loops *l;
        kn_arena_init(&arena, &ctx->alloc);
        assert_ok(ctx, kn_loops_parse(ctx, &arena, a, n, "loops", &l));
        assert_ok(ctx, kn_loops_print(ctx, l, &b, &m));
        assert_true(l->sized && n == m && memcmp(a, b, n) == 0);
        kn_arena_fini(&arena);
        kiln_text_free(ctx, a, n);
        kiln_text_free(ctx, b, m);
        kiln_prog_release(p);
        kiln_prog_release(q);
    }
}

static void sizes_as_text(void **s)
{
    (void)s;
    const struct {
        int64_t d;
        const char *text;
    } t[] = {{KILN_DIM_N, "f32[n]"}, {64 * KILN_DIM_N, "f32[64*n]"}, {KILN_DIM_N + 1, "f32[n + 1]"}, {2 * KILN_DIM_N - 3, "f32[2*n - 3]"}, {17, "f32[17]"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[64];
        kiln_type_format(KILN_VECTOR(KILN_F32, t[i].d), text, sizeof text);
        assert_string_equal(text, t[i].text);
    }
    assert_true(kn_size_less(5, KILN_DIM_N + 6) && !kn_size_less(5, KILN_DIM_N) && kn_size_at_most(KILN_DIM_N, 2 * KILN_DIM_N));
    assert_true(!kn_size_at_most(KILN_DIM_N, 1 << 30) && kn_size_at(3 * KILN_DIM_N - 2, 10) == 28);
}

/* Programs that are not compiled for all sizes, and texts that are refused: what is said. */
static void refused(void **s)
{
    kiln_ctx *ctx = *s;
    static const struct {
        const char *text, *says;
        int line;
    } t[] = {
        {"{ lambda ; a:f32[n,4] b:f32[m]. let\n in (a,) }", "a second size 'm' beside 'n'", 1},
        {"{ lambda ; a:f32[n,4]. let\n b:i32[] = dim_as_value[dim=k]\n in (a,) }", "dim", 2},
        {"{ lambda ; a:f32[n,4]. let\n b:f32[4,n] = transpose[permutation=(1, 0)] a\n c:f32[n] = reduce_sum[axes=(0,) out_sharding=None] b\n in (c,) }",
         "reduce_sum needs the size n", 3},
        {"{ lambda ; a:f32[]. let\n b:i32[] = dim_as_value[dim=3*n]\n c:f32[n] = broadcast_in_dim[broadcast_dimensions=() shape=(n,)] a\n in (b,) }", "dim", 2},
        {"{ lambda ; a:f32[]. let\n c:f32[n] = broadcast_in_dim[broadcast_dimensions=() shape=(n,)] a\n in (c,) }", "nothing says what n is", 0},
        {"{ lambda ; a:f32[n]. let\n b:f32[n] = sort[dimension=0 is_stable=True num_keys=1] a\n in (b,) }", "sort needs the size n", 2},
        {"{ lambda ; a:f64[n,3,3]. let\n b:f64[n,3,3] = cholesky a\n in (b,) }", "needs the size n", 2},
        {"{ lambda ; a:f32[n]. let\n b:f32[n] = slice[limit_indices=(n,) start_indices=(0,) strides=(2,)] a\n in (b,) }",
         "slice of f32[n] needs the size n: dimension 0 of its result", 2},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kiln_prog *p = NULL;
        kiln_exec *f = NULL;
        kiln_status status = kiln_prog_parse(ctx, t[i].text, strlen(t[i].text), "refused", &p);
        if (status == KILN_OK) status = kiln_compile(ctx, p, NULL, &f);
        char text[2000];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        if (status == KILN_OK || !strstr(text, t[i].says) || (kiln_ctx_error(ctx)->line && kiln_ctx_error(ctx)->line != t[i].line))
            fail_msg("case %zu: %s", i, status == KILN_OK ? "accepted" : text);
        kiln_exec_release(f);
        kiln_prog_release(p);
    }
    kiln_array *a;
    assert_int_equal(kiln_array_create(ctx, KILN_VECTOR(KILN_F32, KILN_DIM_N), &a), KILN_SHAPE);
    assert_says(ctx, "f32[n]");
}

/* ---- the C interface ---- */

static void row(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    (void)user;
    out[0] = kiln_sum_all(t, kiln_mul(t, in[0], in[0]));
}

/* Mean over rows of the squared length. */
static kiln_prog *trace_lengths(kiln_ctx *ctx)
{
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", ((kiln_type){KILN_F64, 2, (int64_t[]){KILN_DIM_N, 3}})), y;
    kiln_map(t, row, NULL, &x, 1, 1, KILN_DIM_N, &y);
    kiln_val n = kiln_convert(t, kiln_dim(t, KILN_I32, KILN_DIM_N), KILN_F64);
    kiln_output(t, "lengths", y);
    kiln_output(t, "mean", kiln_div(t, kiln_sum_all(t, y), n));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

static void traced(void **s)
{
    kiln_ctx *ctx = *s;
    kiln_prog *p = trace_lengths(ctx);
    kiln_exec *f;
    uint64_t before = ctx->counters.compiles;
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    for (int64_t n = 0; n < 10; n++) assert_ok(ctx, sized_run(ctx, p, f, n * n * n, "traced"));
    assert_int_equal(ctx->counters.compiles - before, 1);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

/* f32[8] -> its sum and itself scaled, over as many lanes as there are. */
static void lanes(void **s)
{
    kiln_ctx *ctx = *s;
    static const char text[] = "{ lambda ; a:f32[8] b:f32[]. let\n c:f32[8] = mul a b\n d:f32[] = reduce_sum[axes=(0,) out_sharding=None] c\n in (d, c) }";
    kiln_prog *p, *q;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "lanes", &p));
    assert_ok(ctx, kiln_prog_transform(ctx, p, "vmap:0*n,None", NULL, 0, &q));
    assert_string_equal(kn_type_show(kiln_prog_input_type(q, 0)).s, "f32[n,8]");
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) assert_ok(ctx, sized_run(ctx, q, f, sizes[k], "lanes"));
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

static void scaled(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    (void)user, (void)args;
    out[0] = kiln_mul(t, kiln_sin(t, in[0]), in[1]);
}

static void jitted(void **s)
{
    kiln_ctx *ctx = *s;
    kiln_jit_store *store;
    const kiln_fn f = {.body = scaled, .n_out = 1, .name = "scaled"};
    uint64_t before = ctx->counters.compiles;
    assert_ok(ctx, kiln_jit_store_create(ctx, 0, &store));
    for (int64_t n = 0; n < 10; n++) {
        kiln_array *x, *y;
        guarded g = sized_fill(ctx, (kiln_type){KILN_F32, 2, (int64_t[]){n * 7, 5}}, &x);
        const kiln_arg args[] = {KILN_ARG_ROWS("x", x), KILN_ARG_NUMBER("by", 2.5)};
        assert_ok(ctx, kiln_jit(ctx, store, &f, args, 2, &y));
        assert_int_equal(y->type.dims[0], n * 7);
        kiln_array_release(x);
        kiln_array_release(y);
        guarded_free(&g);
    }
    assert_int_equal(ctx->counters.compiles - before, 1);
    kiln_jit_counts counts;
    kiln_jit_store_counts(store, &counts);
    assert_true(counts.traces == 1);
    kiln_jit_store_release(store);
}

/* ---- calls ---- */

static kiln_array *new_rows(kiln_ctx *ctx, int64_t n, int64_t m)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F32, 2, (int64_t[]){n, m}}, &a));
    return a;
}

static void checked_calls(void **s)
{
    kiln_ctx *ctx = *s;
    static const char text[] = "{ lambda ; a:f32[n,3] b:f32[n,3]. let\n c:f32[n,3] = add a b\n d:f32[n + 1,3] = pad[padding_config=((1, 0, 0), (0, 0, 0))] c 0.0:f32[]\n"
                               " e:f32[3] = reduce_sum[axes=(0,) out_sharding=None] d\n in (c, d, e) }";
    kiln_prog *p;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "calls", &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_array *four = new_rows(ctx, 4, 3), *five = new_rows(ctx, 5, 3), *none = new_rows(ctx, 0, 3), *c = new_rows(ctx, 5, 3), *d = new_rows(ctx, 6, 3);
    kiln_array *e, *out[3], *in[] = {four, five};
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F32, 3), &e));
    assert_int_equal(kiln_exec_call(ctx, f, in, out), KILN_SHAPE);
    assert_says(ctx, "input 1 is f32[5,3], where n is 5, but it is 4 in input 0");
    assert_int_equal(kiln_prog_eval(ctx, p, in, out), KILN_SHAPE);
    in[0] = in[1] = none;
    assert_int_equal(kiln_exec_call(ctx, f, in, out), KILN_SHAPE);
    assert_says(ctx, "accepted: 1 at least");
    in[0] = in[1] = five;
    assert_ok(ctx, kiln_exec_call_into(ctx, f, in, (kiln_array *[]){c, d, e}));
    assert_int_equal(kiln_exec_call_into(ctx, f, in, (kiln_array *[]){c, c, e}), KILN_SHAPE);
    assert_says(ctx, "output 1 has type f32[5,3]; accepted: f32[6,3]");
    int64_t n = 5;
    void *scratch = aligned_alloc(64, (kiln_exec_scratch_bytes_at(f, n) + 64) & ~(size_t)63);
    void *buffers[] = {five->data, five->data, c->data, d->data, e->data, &n};
    assert_int_equal(kiln_exec_run(f, buffers, scratch, NULL), 0);
    free(scratch);
    kiln_array *all[] = {four, five, none, c, d, e};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kiln_array_release(all[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

/* Code from the folder serves all sizes too. */
static void cached(void **s)
{
    (void)s;
    for (int round = 0; round < 2; round++) {
        kiln_ctx *ctx;
        assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
        assert_ok(ctx, kiln_cache_enable(ctx, test_path("sized-cache")));
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            kiln_prog *p;
            kiln_exec *f;
            kiln_exec_info info;
            assert_ok(ctx, kiln_prog_parse(ctx, cases[c].text, strlen(cases[c].text), cases[c].name, &p));
            assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
            kiln_exec_info_get(f, &info);
            assert_int_equal(info.cache, round ? KILN_CACHE_HIT : KILN_CACHE_MISS);
            sized_state = c + 1;
            assert_ok(ctx, sized_run(ctx, p, f, cases[c].least + 70, cases[c].name));
            assert_ok(ctx, sized_run(ctx, p, f, cases[c].least + 3, cases[c].name));
            kiln_exec_release(f);
            kiln_prog_release(p);
        }
        kiln_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases), cmocka_unit_test(text_comes_back), cmocka_unit_test(sizes_as_text), cmocka_unit_test(refused),
                                       cmocka_unit_test(traced),    cmocka_unit_test(lanes),           cmocka_unit_test(jitted),        cmocka_unit_test(checked_calls),
                                       cmocka_unit_test(cached)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
