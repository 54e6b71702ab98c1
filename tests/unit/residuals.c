/* SPDX-License-Identifier: Apache-2.0 */
/* What a reverse derivative keeps of the values: tangents that are zero cost nothing, residuals that nobody reads die, those that no trip
 * changes leave the loop, cheap ones are computed again; counted in equations and bytes. */
#include "transform/residuals.h"

#include "array/array.h"
#include "ir/prim.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

typedef struct counts {
    double kept, again, before;
    unsigned n_kept, n_again, n_before, n_passed, n_snapshots;
} counts;

static counts of_program(kiln_ctx *ctx, const kiln_prog *p, const uint32_t *wrt, uint32_t n)
{
    kn_residual_list l;
    counts c = {0};
    assert_ok(ctx, kn_residuals_of(ctx, p, wrt, n, &l));
    for (uint32_t i = 0; i < l.v.n; i++) {
        const kn_residual_line *x = &l.v.v[i];
        switch (x->why) {
        case KN_RESIDUAL_KEPT: c.kept += x->bytes, c.n_kept++; break;
        case KN_RESIDUAL_PASSED: c.n_passed++; break;
        case KN_RESIDUAL_BEFORE: c.before += x->bytes, c.n_before++; break;
        case KN_RESIDUAL_AGAIN:
        case KN_RESIDUAL_CHECKPOINT: c.again += x->bytes, c.n_again++; break;
        case KN_RESIDUAL_SNAPSHOTS: c.kept += x->bytes, c.n_snapshots++; break;
        }
    }
    kn_residuals_fini(&l);
    return c;
}
static counts of_text(kiln_ctx *ctx, const char *text, const uint32_t *wrt, uint32_t n)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    counts c = of_program(ctx, p, wrt, n);
    kiln_prog_release(p);
    return c;
}

static unsigned count(kiln_ctx *ctx, const char *text, const char *word, const char *what)
{
    kiln_prog *p, *q;
    char *printed;
    size_t n;
    unsigned found = 0;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kiln_prog_transform(ctx, p, word, NULL, 0, &q));
    assert_ok(ctx, kiln_prog_print(ctx, q, 0, &printed, &n));
    for (const char *s = printed; (s = strstr(s, what)); s++) found++;
    kiln_text_free(ctx, printed, n);
    kiln_prog_release(p);
    kiln_prog_release(q);
    return found;
}

/* An operand without a tangent brings no equation, into bodies neither. */
static void symbolic_zeros(void **state)
{
    kiln_ctx *ctx = *state;
    const char *loop = "{ lambda ; a:f64[] b:f64[]. let c:f64[] d:f64[] = scan[jaxpr={ lambda ; e:f64[] f:f64[]. let g:f64[] = sin e; h:f64[] = exp f in (g, h) }\n"
                       "    length=5 num_carry=2 num_consts=0 reverse=False unroll=1] a b; i:f64[] = mul c 2.0:f64[] in (i, d) }";
    assert_int_equal(count(ctx, loop, "jvp:0", "= exp"), 1);
    assert_int_equal(count(ctx, loop, "jvp:0", "= cos"), 1);
    assert_int_equal(count(ctx, loop, "jvp:0", "= mul"), 3); /* the tangents in the body and after it, the value */
    assert_int_equal(count(ctx, loop, "jvp:1", "= cos"), 0);
    assert_int_equal(count(ctx, loop, "vjp:1", "= sin"), 0); /* nobody reads it either */
    const char *branch = "{ lambda ; i:i32[] a:f64[] b:f64[]. let c:f64[] d:f64[] = cond[branches=({ lambda ; e:f64[] f:f64[]. let g:f64[] = sin e in (g, f) }\n"
                         "    { lambda ; h:f64[] j:f64[]. let k:f64[] = exp j in (h, k) })] i a b in (c, d) }";
    assert_int_equal(count(ctx, branch, "jvp:1", "= mul"), 1);
    assert_int_equal(count(ctx, branch, "jvp:2", "= mul"), 1);
    assert_int_equal(count(ctx, branch, "linearize:1", "= exp"), 0);
    const char *stop = "{ lambda ; a:f64[] b:f64[]. let c:f64[] = stop_gradient a; d:f64[] = exp c; e:f64[] = mul d b in (e,) }";
    assert_int_equal(count(ctx, stop, "grad:0,1", "= exp"), 1);
    assert_int_equal(count(ctx, stop, "grad:0", "= exp"), 0);
}

/* add reads no value: neither its operands nor those of what only they need are kept. */
static void unused(void **state)
{
    kiln_ctx *ctx = *state;
    const char *text = "{ lambda ; a:f64[10] b:f64[10]. let c:f64[10] = sin a; d:f64[10] = exp b; e:f64[10] = add c d; f:f64[] = reduce_sum[axes=(0,) out_sharding=None] e in (f,) }";
    counts c = of_text(ctx, text, NULL, 0);
    assert_int_equal(c.n_kept, 2); /* cos a, exp b */
    assert_true(c.kept == 160);
    assert_int_equal(count(ctx, text, "grad:0", "= exp"), 0);
    assert_int_equal(count(ctx, text, "grad:0", "= sin"), 0);
    c = of_text(ctx, text, (uint32_t[]){0}, 1);
    assert_int_equal(c.n_kept, 1);
    /* one value read twice is kept once; an operand is there anyway */
    c = of_text(ctx, "{ lambda ; a:f64[10]. let b:f64[10] = exp a; c:f64[10] = mul b a; d:f64[10] = mul b c in (d,) }", NULL, 0);
    assert_int_equal(c.n_passed, 1);
    assert_int_equal(c.n_kept, 2);
}

static const char loop[] =
    "{ lambda ; w:f64[100] x:f64[100] t:f64[]. let y:f64[100] = scan[jaxpr={ lambda ; w:f64[100] t:f64[] c:f64[100]. let\n"
    "    k:f64[100] = exp w; a:f64[100] = mul c 0.9:f64[]; b:f64[100] = mul a k; d:f64[100] = sin b; e:f64[100] = mul d c; f:f64[100] = mul e t in (f,) }\n"
    "  length=50 num_carry=1 num_consts=2 reverse=False unroll=1] w t x; z:f64[] = reduce_sum[axes=(0,) out_sharding=None] y in (z,) }";

/* Of the values of a trip the carry, the sine and its cosine are kept, 50 times; the exponential once; the products not at all. */
static void loops(void **state)
{
    kiln_ctx *ctx = *state;
    counts c = of_text(ctx, loop, NULL, 0);
    assert_int_equal(c.n_kept, 3);
    assert_true(c.kept == 3 * 50 * 800);
    assert_int_equal(c.n_before, 1);
    assert_true(c.before == 800);
    assert_int_equal(c.n_again, 2);
    assert_true(c.again == 2 * 50 * 800);
    assert_int_equal(count(ctx, loop, "grad:0,1,2", "= cos"), 1);
}

/* What is kept and what is not changes no bit. */
static void same_bits(void **state)
{
    static const char *const words[] = {"value_and_grad:0,1,2", "value_and_grad:0,1,2(checkpoint)", "value_and_grad:0,1,2(checkpoint:everything)"};
    kiln_ctx *ctx = *state;
    kiln_prog *p, *q;
    kiln_array *in[3], *first[4], *y[4];
    assert_ok(ctx, kiln_prog_parse(ctx, loop, strlen(loop), "text", &p));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[100]:0.1", &in[0]));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[100]:0.7", &in[1]));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[]:1.1", &in[2]));
    for (int w = 0; w < 3; w++) {
        kiln_exec *f;
        assert_ok(ctx, kiln_prog_transform(ctx, p, words[w], NULL, 0, &q));
        assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, in, w ? y : first));
        for (int k = 0; w && k < 4; k++) {
            assert_true(same_array(first[k], y[k], NULL));
            kiln_array_release(y[k]);
        }
        kiln_exec_release(f);
        kiln_prog_release(q);
    }
    for (int k = 0; k < 4; k++) kiln_array_release(first[k]);
    for (int k = 0; k < 3; k++) kiln_array_release(in[k]);
    kiln_prog_release(p);
}

/* What is as dear to make as to keep is kept: a function of the carry; products whose factors nobody reads else. */
static void the_model(void **state)
{
    static const struct {
        const char *body;
        unsigned kept, again;
    } cases[] = {
        {"a:f64[9] = exp c; d:f64[9] = mul a a", 1, 0},                       /* the exponential, which is its own derivative */
        {"a:f64[9] = mul c c; d:f64[9] = mul a a", 1, 1},                     /* the carry; its square is made again */
        {"a:f64[9] = add c 1.0:f64[]; b:f64[9] = mul a a; e:f64[9] = add b 1.0:f64[]; d:f64[9] = mul e b", 1, 2}, /* the first sum, not the carry */
        {"a:f64[9] = exp c; b:f64[9] = add a 1.0:f64[]; d:f64[9] = mul b b", 1, 1}, /* the function, not the sum */
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{ lambda ; x:f64[9]. let y:f64[9] = scan[jaxpr={ lambda ; c:f64[9]. let %s in (d,) } length=7 num_carry=1 num_consts=0 reverse=False unroll=1] x in (y,) }",
                 cases[i].body);
        counts c = of_text(ctx, text, NULL, 0);
        if (c.n_kept != cases[i].kept || c.n_again != cases[i].again)
            fail_msg("%s: %u kept, %u again", cases[i].body, c.n_kept, c.n_again);
        assert_true(c.kept == cases[i].kept * 7 * 72.0);
    }
}

/* A while without a bound keeps snapshots, however many trips it takes. */
static void whiles(void **state)
{
    kiln_ctx *ctx = *state;
    const char *text = "{ lambda ; a:f64[4] k:i32[]. let i:i32[] b:f64[4] = while[body_jaxpr={ lambda ; n:i32[] c:f64[4]. let d:f64[4] = sin c; m:i32[] = sub n 1:i32[] in (m, d) }\n"
                       "    body_nconsts=0 cond_jaxpr={ lambda ; n:i32[] c:f64[4]. let p:bool[] = gt n 0:i32[] in (p,) } cond_nconsts=0] k a in (b,) }";
    counts c = of_text(ctx, text, NULL, 0);
    assert_int_equal(c.n_snapshots, 1);
    assert_int_equal(c.n_kept, 0);
    assert_true(c.kept == 64 * (32 + 4));
}

static void no_memory(void **state)
{
    (void)state;
    for (int n = 1, failed = 1; failed; n += n < 100 ? 1 : 9) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *p = NULL;
        kn_residual_list l = {.prog = NULL};
        kiln_status s = kiln_prog_parse(ctx, loop, strlen(loop), "text", &p);
        if (s == KILN_OK) s = kn_residuals_of(ctx, p, NULL, 0, &l);
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        kn_residuals_fini(&l);
        kiln_prog_release(p);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(symbolic_zeros), cmocka_unit_test(unused), cmocka_unit_test(loops), cmocka_unit_test(same_bits),
                                       cmocka_unit_test(the_model), cmocka_unit_test(whiles), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
