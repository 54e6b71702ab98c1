/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers without a key and tokens: the draws that docs/numerics.md fixes, the same interpreted, compiled, and from every form of text. */
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

enum { MOST = 8 };

/* Results of a text, compiled, as texts; interpreted they are the same. A token among the inputs is made. */
static void values(kiln_ctx *ctx, const kiln_prog *p, char out[MOST][200])
{
    kiln_array *in[MOST], *a[MOST], *b[MOST];
    kiln_exec *f;
    uint32_t nin = kiln_prog_n_inputs(p), n = kiln_prog_n_outputs(p);
    for (uint32_t i = 0; i < nin; i++) {
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
        for (int64_t k = 0; in[i]->type.dtype == KILN_F32 && k < kiln_type_size(in[i]->type); k++) kn_scalar_store(KILN_F32, in[i]->data, k, (kn_scalar){.f = (double)(k + 1)});
    }
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, a));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, b));
    for (uint32_t k = 0; k < n; k++) {
        assert_true(same_array(a[k], b[k], NULL));
        kiln_array_format(b[k], 8, out[k], sizeof out[k]);
        kiln_array_release(a[k]);
        kiln_array_release(b[k]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_exec_release(f);
}

static kiln_prog *parse(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

/* The program has these values, and so has what it prints in every form. */
static void check(kiln_ctx *ctx, const kiln_prog *p, const char *const *want)
{
    char got[MOST][200];
    for (int form = 0; form < 4; form++) {
        kn_text t;
        char *s;
        size_t n;
        kn_text_init(&t, &ctx->alloc);
        if (form == 0 || form == 1) {
            assert_ok(ctx, kiln_prog_print(ctx, p, 80, &s, &n));
            kn_text_addn(&t, s, n);
            kiln_text_free(ctx, s, n);
        } else {
            assert_ok(ctx, form == 2 ? kn_hlo_print_stablehlo(ctx, p, &t) : kn_hlo_print_hlo(ctx, p, 0, &t));
        }
        kiln_prog *q = parse(ctx, t.s);
        values(ctx, form == 0 ? p : q, got);
        for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) assert_string_equal(got[k], want[k]);
        kiln_prog_release(q);
        kn_text_fini(&t);
    }
}

static const char draws[] = "{ lambda ; a:f32[]. let\n"
                            "    b:f32[3] = rng_uniform[shape=(3,)] a 4.0:f32[]\n"
                            "    c:f32[3] = rng_uniform[shape=(3,)] a 4.0:f32[]\n"
                            "    d:i32[4] = rng_uniform[shape=(4,)] 3:i32[] 6:i32[]\n"
                            "    e:bool[8] = rng_uniform[shape=(8,)] True:bool[] False:bool[]\n"
                            "    f:bf16[2] = rng_uniform[shape=(2,)] 1.0:bf16[] 4.0:bf16[]\n"
                            "  in (b, c, d, e, f) }\n";

static void test_draws(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx, draws), *q;
    static const char *const want[] = {"f32[3]: 3.8742246627807617 3.3323020935058594 1.0902849435806274", "f32[3]: 3.2159719467163086 2.968660593032837 2.3727564811706543",
                                       "i32[4]: 4 3 4 4", "bool[8]: True True True True False False False True", "bf16[2]: 3.8125 1.5859375"};
    check(ctx, p, want);
    /* Mapped over lanes, each lane has the draws of the equation alone, and the numbers stay. */
    assert_ok(ctx, kiln_prog_transform(ctx, p, "vmap:0", &KILN_VECTOR(KILN_F32, 1), 1, &q));
    char got[MOST][200];
    values(ctx, q, got);
    assert_string_equal(strchr(got[1], ':'), strchr(want[1], ':'));
    kiln_prog_release(p);
    kiln_prog_release(q);
}

/* A draw that is no longer where it was counted keeps its number. */
static void test_number(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx, "{ lambda ; a:f32[]. let b:f32[3] = rng_uniform[draw=1 shape=(3,)] a 4.0:f32[] in (b,) }");
    static const char *const want[] = {"f32[3]: 3.2159719467163086 2.968660593032837 2.3727564811706543"};
    check(ctx, p, want);
    kiln_prog_release(p);
}

static void test_tokens(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p = parse(ctx, "{ lambda ; a:f32[] b:Tok. let\n"
                              "    c:Tok = create_token\n"
                              "    d:Tok = after_all b c\n"
                              "    e:f32[] f:Tok = while[\n"
                              "      body_jaxpr={ lambda ; g:f32[] h:Tok. let i:Tok = after_all h; j:f32[] = add g g in (j, i) } body_nconsts=0\n"
                              "      cond_jaxpr={ lambda ; k:f32[] l:Tok. let m:bool[] = lt k 100.0:f32[] in (m,) } cond_nconsts=0\n"
                              "    ] a d\n"
                              "  in (e, f) }\n"),
              *q;
    static const char *const want[] = {"f32[]: 128.0", "Tok: token"};
    check(ctx, p, want);
    assert_ok(ctx, kiln_prog_transform(ctx, p, "vmap:0,None", (kiln_type[]){KILN_VECTOR(KILN_F32, 2), KILN_SCALAR(KILN_TOKEN)}, 2, &q));
    char got[MOST][200];
    values(ctx, q, got);
    assert_string_equal(got[0], "f32[2]: 128.0 128.0");
    kiln_prog_release(q);
    assert_ok(ctx, kiln_prog_transform(ctx, p, "jvp", NULL, 0, &q));
    kiln_prog_release(q);
    kiln_prog_release(p);
}

static void test_refused(void **state)
{
    static const char *const bad[][2] = {
        {"{ lambda ; a:f32[]. let b:Tok = after_all a in (b,) }", "accepted: tokens"},
        {"{ lambda ; a:f32[2] b:f32[]. let c:f32[3] = rng_uniform[shape=(3,)] a b in (c,) }", "two scalars of one type"},
        {"{ lambda ; a:f32[] b:f32[]. let c:f32[3] = rng_uniform[draw=-1 shape=(3,)] a b in (c,) }", "draw must be a number"},
        {"{ lambda ; a:Tok. let b:f32[] = sin a in (b,) }", "sin"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_prog *p;
        assert_int_not_equal(kiln_prog_parse(*state, bad[i][0], strlen(bad[i][0]), "bad", &p), KILN_OK);
        assert_says(*state, bad[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_draws), cmocka_unit_test(test_number), cmocka_unit_test(test_tokens), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
