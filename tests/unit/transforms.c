/* SPDX-License-Identifier: Apache-2.0 */
/* Each public transformation: its operands and results, that the word of the same name makes the same program, its refusals, and values
 * by hand, interpreted and compiled. */
#include "ir/ir.h"
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { N = 3, MOST = 16 };
#define WRT(...) ((const uint32_t[]){__VA_ARGS__}), sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define ALL NULL, 0

/* f(x, y, k) = sum(sin(x) y) + sum(x x x), and with `aux` also x y and k + 1 */
static kiln_prog *program(kiln_ctx *ctx, bool aux)
{
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, N)), y = kiln_input(t, "y", KILN_SCALAR(KILN_F64));
    kiln_val k = kiln_input(t, "k", KILN_SCALAR(KILN_I32));
    kiln_val cube = kiln_mul(t, kiln_mul(t, x, x), x);
    kiln_output(t, "f", kiln_sum_all(t, kiln_add(t, kiln_mul(t, kiln_sin(t, x), y), cube)));
    if (aux) {
        kiln_output(t, "xy", kiln_mul(t, x, y));
        kiln_output(t, "k1", kiln_add(t, k, kiln_num(t, 1)));
    }
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

static const double x0[N] = {0.5, -1.25, 2}, y0 = 1.5, d0[N] = {1, -2, 0.25}, e0 = -0.5;

/* Results of a program, flat, one behind the other; interpreted and compiled to the same bits. The operand list is made of texts. */
static uint32_t run(kiln_ctx *ctx, const kiln_prog *p, const char *const *in, double *out, uint32_t room)
{
    kiln_array *v[MOST], *got[MOST], *want[MOST];
    kiln_exec *f;
    uint32_t n = kiln_prog_n_inputs(p), m = kiln_prog_n_outputs(p), at = 0;
    assert_true(n <= MOST && m <= MOST);
    for (uint32_t i = 0; i < n; i++) assert_ok(ctx, kiln_array_parse(ctx, in[i], &v[i]));
    assert_ok(ctx, kiln_prog_eval(ctx, p, v, want));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, v, got));
    for (uint32_t k = 0; k < m; k++) {
        assert_true(same_array(got[k], want[k], NULL));
        for (int64_t i = 0; i < kiln_type_size(got[k]->type); i++) {
            kn_scalar s = kn_scalar_load(got[k]->type.dtype, got[k]->data, i);
            assert_true(at < room);
            out[at++] = kiln_dtype_kind(got[k]->type.dtype) == 'f' ? s.f : (double)s.i;
        }
        kiln_array_release(got[k]);
        kiln_array_release(want[k]);
    }
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]);
    kiln_exec_release(f);
    return at;
}

static void assert_near(const double *got, uint32_t n, const double *want, uint32_t m, int line)
{
    if (n != m) print_error("%u numbers, wanted %u\n", n, m);
    bool good = n == m;
    for (uint32_t i = 0; i < n && i < m; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-13 * (1 + fabs(want[i])))) {
            print_error("number %u is %.17g, wanted %.17g\n", i, got[i], want[i]);
            good = false;
        }
    if (!good) _fail(__FILE__, line);
}

/* The program is the one that the word makes, to the letter; it is released. */
static void check(kiln_ctx *ctx, const kiln_prog *f, kiln_prog *p, const char *word, const char *const *in, const double *want, uint32_t m, int line)
{
    kiln_prog *q;
    char *a, *b;
    size_t na, nb;
    double got[64];
    if (word) {
        assert_ok(ctx, kiln_prog_transform(ctx, f, word, NULL, 0, &q));
        assert_ok(ctx, kiln_prog_print(ctx, p, 0, &a, &na));
        assert_ok(ctx, kiln_prog_print(ctx, q, 0, &b, &nb));
        if (strcmp(a, b) != 0) {
            print_error("%s makes\n%s, the function\n%s", word, b, a);
            _fail(__FILE__, line);
        }
        kiln_text_free(ctx, a, na);
        kiln_text_free(ctx, b, nb);
        kiln_prog_release(q);
    }
    assert_near(got, run(ctx, p, in, got, 64), want, m, line);
    kiln_prog_release(p);
}
#define CHECK(f, p, word, in, ...)                                                                                    \
    check(ctx, (f), (p), (word), (in), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), __LINE__)

static const char *const at[] = {"f64[3]:0.5,-1.25,2", "f64[]:1.5", "i32[]:7", "f64[3]:1,-2,0.25", "f64[]:-0.5"};

static double value(void)
{
    double s = 0;
    for (int i = 0; i < N; i++) s += sin(x0[i]) * y0 + x0[i] * x0[i] * x0[i];
    return s;
}
static double gx(int i) { return cos(x0[i]) * y0 + 3 * x0[i] * x0[i]; }
static double gy(void) { return sin(x0[0]) + sin(x0[1]) + sin(x0[2]); }
static double hxx(int i) { return -sin(x0[i]) * y0 + 6 * x0[i]; }
static double slope(void)
{
    double s = gy() * e0;
    for (int i = 0; i < N; i++) s += gx(i) * d0[i];
    return s;
}

static void forward(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = program(ctx, true), *g = program(ctx, false), *p, *q;
    assert_ok(ctx, kiln_prog_jvp(ctx, f, ALL, &p));
    CHECK(f, p, "jvp", at, value(), x0[0] * y0, x0[1] * y0, x0[2] * y0, 8, slope(), d0[0] * y0 + x0[0] * e0, d0[1] * y0 + x0[1] * e0,
          d0[2] * y0 + x0[2] * e0);
    assert_ok(ctx, kiln_prog_jvp(ctx, g, WRT(1), &p));
    CHECK(g, p, "jvp:1", ((const char *const[]){at[0], at[1], at[2], at[4]}), value(), gy() * e0);
    assert_ok(ctx, kiln_prog_linearize(ctx, g, ALL, NULL, &p));
    CHECK(g, p, "linearize", at, slope());
    assert_ok(ctx, kiln_prog_linearize(ctx, g, WRT(1), NULL, &p));
    CHECK(g, p, "linearize:1", ((const char *const[]){at[0], at[1], at[2], at[4]}), gy() * e0);

    /* in two programs: residuals go from one to the other */
    assert_ok(ctx, kiln_prog_linearize(ctx, g, ALL, &p, &q));
    uint32_t residuals = kiln_prog_n_outputs(p) - 1;
    assert_int_equal(kiln_prog_n_inputs(q), residuals + 2);
    kiln_array *in[MOST], *y[MOST], *dy;
    for (uint32_t i = 0; i < 3; i++) assert_ok(ctx, kiln_array_parse(ctx, at[i], &in[i]));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, y));
    for (uint32_t i = 0; i < 2; i++) assert_ok(ctx, kiln_array_parse(ctx, at[3 + i], &y[1 + residuals + i]));
    assert_ok(ctx, kiln_prog_eval(ctx, q, y + 1, &dy));
    assert_true(fabs(*(double *)dy->data - slope()) < 1e-13);
    kiln_array_release(dy);

    /* and the transpose of the second is the gradient */
    kiln_prog *back;
    kiln_array *ct[MOST], *grads[MOST];
    assert_ok(ctx, kiln_prog_transpose(ctx, q, WRT(residuals, residuals + 1), &back));
    assert_int_equal(kiln_prog_n_inputs(back), residuals + 1);
    for (uint32_t i = 0; i < residuals; i++) ct[i] = y[1 + i];
    assert_ok(ctx, kiln_array_parse(ctx, "f64[]:1", &ct[residuals]));
    assert_ok(ctx, kiln_prog_eval(ctx, back, ct, grads));
    for (int i = 0; i < N; i++) assert_true(fabs(((double *)grads[0]->data)[i] - gx(i)) < 1e-13);
    assert_true(fabs(*(double *)grads[1]->data - gy()) < 1e-13);
    kiln_array_release(ct[residuals]);
    for (int i = 0; i < 2; i++) kiln_array_release(grads[i]);
    for (uint32_t i = 0; i < residuals + 3; i++) kiln_array_release(y[i]);
    for (uint32_t i = 0; i < 3; i++) kiln_array_release(in[i]);
    kiln_prog_release(back);
    kiln_prog_release(p);
    kiln_prog_release(q);
    kiln_prog_release(f);
    kiln_prog_release(g);
}

/* A program that is linear in two of its three operands. */
static void transposed(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *f, *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val a = kiln_input(t, "a", KILN_VECTOR(KILN_F64, 2)), k = kiln_input(t, "k", KILN_VECTOR(KILN_F64, 2));
    kiln_val b = kiln_input(t, "b", KILN_SCALAR(KILN_F64));
    kiln_output(t, "y", kiln_add(t, kiln_mul(t, a, kiln_exp(t, k)), b));
    assert_ok(ctx, kiln_trace_finish(t, &f));
    assert_ok(ctx, kiln_prog_transpose(ctx, f, WRT(0, 2), &p));
    CHECK(f, p, "transpose:0,2", ((const char *const[]){"f64[2]:1,2", "f64[2]:3,-4"}), 3 * exp(1), -4 * exp(2), -1);
    assert_ok(ctx, kiln_prog_transpose(ctx, f, WRT(2), &p));
    CHECK(f, p, "transpose:2", ((const char *const[]){"f64[2]:1,1", "f64[2]:1,2", "f64[2]:3,-4"}), -1);
    assert_int_equal(kiln_prog_transpose(ctx, f, WRT(1), &p), KILN_UNSUPPORTED);
    assert_says(ctx, "exp has no transpose rule");
    assert_int_equal(kiln_prog_transpose(ctx, f, WRT(2, 0), &p), KILN_INVALID);
    assert_says(ctx, "numbers that rise");
    kiln_prog_release(f);

    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    a = kiln_input(t, "a", KILN_VECTOR(KILN_F64, 2)), k = kiln_input(t, "k", KILN_VECTOR(KILN_F64, 2));
    kiln_output(t, "y", kiln_mul(t, a, k));
    kiln_output(t, "z", kiln_div(t, a, k));
    assert_ok(ctx, kiln_trace_finish(t, &f));
    assert_int_equal(kiln_prog_transpose(ctx, f, WRT(1), &p), KILN_UNSUPPORTED);
    assert_says(ctx, "div is not linear in its divisor");
    assert_int_equal(kiln_prog_transpose(ctx, f, WRT(0, 1), &p), KILN_UNSUPPORTED);
    kiln_prog_release(f);
}

static void reverse(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = program(ctx, true), *g = program(ctx, false), *p;
    assert_ok(ctx, kiln_prog_vjp(ctx, g, ALL, &p));
    CHECK(g, p, "vjp", ((const char *const[]){at[0], at[1], at[2], "f64[]:2"}), 2 * gx(0), 2 * gx(1), 2 * gx(2), 2 * gy());
    assert_ok(ctx, kiln_prog_vjp(ctx, g, WRT(1), &p));
    CHECK(g, p, "vjp:1", ((const char *const[]){at[0], at[1], at[2], "f64[]:2"}), 2 * gy());
    assert_ok(ctx, kiln_prog_grad(ctx, g, WRT(1, 0), false, &p));
    CHECK(g, p, "grad:1,0", at, gy(), gx(0), gx(1), gx(2));
    assert_ok(ctx, kiln_prog_grad(ctx, f, WRT(0), true, &p));
    CHECK(f, p, "grad:0,aux", at, gx(0), gx(1), gx(2), x0[0] * y0, x0[1] * y0, x0[2] * y0, 8);
    assert_ok(ctx, kiln_prog_value_and_grad(ctx, f, WRT(0, 1), true, &p));
    CHECK(f, p, "value_and_grad:0,1", at, value(), x0[0] * y0, x0[1] * y0, x0[2] * y0, 8, gx(0), gx(1), gx(2), gy());
    assert_ok(ctx, kiln_prog_value_and_grad(ctx, g, WRT(1), false, &p));
    CHECK(g, p, "value_and_grad:1", at, value(), gy());
    kiln_prog_release(f);
    kiln_prog_release(g);
}

static void matrices(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = program(ctx, true), *g = program(ctx, false), *p;
    assert_ok(ctx, kiln_prog_jacfwd(ctx, f, WRT(0, 1), &p));
    CHECK(f, p, "jacfwd:0,1", at, gx(0), gx(1), gx(2), gy(), y0, 0, 0, 0, y0, 0, 0, 0, y0, x0[0], x0[1], x0[2]);
    assert_ok(ctx, kiln_prog_jacrev(ctx, f, WRT(1), &p));
    CHECK(f, p, "jacrev:1", at, gy(), x0[0], x0[1], x0[2]);
    assert_ok(ctx, kiln_prog_hessian(ctx, g, WRT(0, 1), &p));
    CHECK(g, p, "hessian:0,1", at, hxx(0), 0, 0, 0, hxx(1), 0, 0, 0, hxx(2), cos(x0[0]), cos(x0[1]), cos(x0[2]), cos(x0[0]), cos(x0[1]),
          cos(x0[2]), 0);
    assert_ok(ctx, kiln_prog_hvp(ctx, g, 0, &p));
    CHECK(g, p, "hvp:0", at, hxx(0) * d0[0], hxx(1) * d0[1], hxx(2) * d0[2]);
    kiln_prog_release(f);
    kiln_prog_release(g);
}

static void axes(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f, *p;
    const char *text = "{ lambda ; a:f64[2] b:f64[]. let c:f64[2] = mul a b; d:f64[] = neg b in (c, d) }\n";
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &f));
    const char *const in[] = {"f64[2,3]:1,2,3,4,5,6", "f64[]:2"};
    assert_ok(ctx, kiln_prog_vmap(ctx, f, 3, (const int[]){1, KILN_NO_AXIS}, (const int[]){1, KILN_NO_AXIS}, &p));
    CHECK(f, p, "vmap:1*3,None->1,None", in, 2, 4, 6, 8, 10, 12, -2);
    assert_ok(ctx, kiln_prog_vmap(ctx, f, 3, (const int[]){1, KILN_NO_AXIS}, NULL, &p));
    CHECK(f, p, "vmap:1*3,None", in, 2, 8, 4, 10, 6, 12, -2, -2, -2);
    assert_int_equal(kiln_prog_transform(ctx, f, "vmap:1*3,None->1", NULL, 0, &p), KILN_INVALID);
    assert_says(ctx, "names 1 results");
    assert_int_equal(kiln_prog_transform(ctx, f, "vmap:1*3,None->None,None", NULL, 0, &p), KILN_INVALID);
    assert_says(ctx, "depends on the lane");
    for (size_t i = 0; i < 3; i++) {
        static const char *const bad[] = {"vmap:1*3,None->", "vmap:1*3,None->0,", "vmap:1*3,None->0,x"};
        assert_int_equal(kiln_prog_transform(ctx, f, bad[i], NULL, 0, &p), KILN_INVALID);
        assert_says(ctx, "for results");
    }
    kiln_prog_release(f);
}

/* A policy says what is kept: what the transposed half computes again shows in the counts. */
static uint64_t count(kiln_ctx *ctx, const kiln_prog *p, const char *word)
{
    char *text;
    size_t n;
    uint64_t found = 0;
    assert_ok(ctx, kiln_prog_print(ctx, p, 0, &text, &n));
    for (const char *s = text; (s = strstr(s, word)); s++) found++;
    kiln_text_free(ctx, text, n);
    return found;
}

static void policies(void **state)
{
    static const struct {
        const char *const saved[2];
        uint32_t n, dots, sins; /* in the gradient */
    } cases[] = {{{NULL}, 0, 4, 2}, {{"nothing"}, 1, 4, 2}, {{"dots"}, 1, 3, 2}, {{"everything"}, 1, 3, 1}, {{"s"}, 1, 4, 1}, {{"t", "s"}, 2, 4, 1}, {{"dots", "s"}, 2, 3, 1}};
    const char *text = "{ lambda ; a:f64[3] b:f64[3,3]. let c:f64[3] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float64] b a\n"
                       "    d:f64[3] = sin c; e:f64[3] = name[name=s] d; f:f64[3] = mul e e; g:f64[3] = exp f; h:f64[] = reduce_sum[axes=(0,) out_sharding=None] g\n"
                       "  in (h,) }\n";
    kiln_ctx *ctx = *state;
    kiln_prog *f, *p, *g, *plain;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &f));
    assert_ok(ctx, kiln_prog_value_and_grad(ctx, f, WRT(0, 1), false, &plain));
    const char *const in[] = {"f64[3]:1,2,3", "f64[3,3]:1,2,3,4,5,6,7,8,10"};
    double want[16], got[16];
    run(ctx, plain, in, want, 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(ctx, kiln_prog_checkpoint(ctx, f, cases[i].saved, cases[i].n, &p));
        assert_ok(ctx, kiln_prog_value_and_grad(ctx, p, WRT(0, 1), false, &g));
        if (count(ctx, g, "= dot_general") != cases[i].dots || count(ctx, g, "= sin ") != cases[i].sins)
            fail_msg("case %zu: %u products and %u sines", i, (unsigned)count(ctx, g, "= dot_general"), (unsigned)count(ctx, g, "= sin "));
        assert_int_equal(run(ctx, g, in, got, 16), 13);
        assert_memory_equal(got, want, 13 * sizeof *got);
        kiln_prog_release(p);
        kiln_prog_release(g);
    }
    kiln_prog_release(plain);
    assert_int_equal(kiln_prog_checkpoint(ctx, f, (const char *const[]){"s", "nothing"}, 2, &p), KILN_INVALID);
    assert_says(ctx, "'nothing' stands alone");
    assert_int_equal(kiln_prog_checkpoint(ctx, f, (const char *const[]){"s(t"}, 1, &p), KILN_INVALID);
    kiln_prog_release(f);
}

static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = program(ctx, true), *p = NULL;
    assert_int_equal(kiln_prog_grad(ctx, f, WRT(0), false, &p), KILN_INVALID);
    assert_says(ctx, "3 results");
    assert_null(p);
    assert_int_equal(kiln_prog_grad(ctx, f, WRT(3), true, &p), KILN_INVALID);
    assert_says(ctx, "operand 3 is asked for, but there are only 3");
    assert_int_equal(kiln_prog_value_and_grad(ctx, f, WRT(2), true, &p), KILN_DTYPE);
    assert_says(ctx, "operand 2 is i32[]; only floats have derivatives");
    assert_int_equal(kiln_prog_grad(ctx, f, ALL, true, &p), KILN_INVALID);
    assert_int_equal(kiln_prog_jacfwd(ctx, f, WRT(2), &p), KILN_DTYPE);
    assert_int_equal(kiln_prog_jvp(ctx, f, WRT(2), &p), KILN_DTYPE);
    assert_int_equal(kiln_prog_jvp(ctx, f, WRT(0, 0), &p), KILN_INVALID);
    assert_int_equal(kiln_prog_hvp(ctx, f, 9, &p), KILN_INVALID);
    assert_int_equal(kiln_prog_transform(ctx, f, "grad:0,aux,1", NULL, 0, &p), KILN_INVALID);
    assert_says(ctx, "numbers of operands, found 'aux'");
    assert_int_equal(kiln_prog_transform(ctx, f, "jvp:x", NULL, 0, &p), KILN_INVALID);
    kiln_prog_release(f);
    const char *text = "{ lambda ; a:f64[2]. let b:f64[2] = custom_vjp_call[name=f call_jaxpr={ lambda ; c:f64[2]. let d:f64[2] = sin c in (d,) }] a in (b,) }\n";
    const char *twice = "{ lambda ; a:f64[2]. let b:f64[2] = sin a; c:f64[2] = cos a in (b, c) }\n";
    const char *thrice = "{ lambda ; a:f64[2] b:f64[2]. let c:f64[2] = mul a b in (c,) }\n";
    kiln_prog *fwd, *bwd, *ruled;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &f));
    assert_ok(ctx, kiln_prog_parse(ctx, twice, strlen(twice), "text", &fwd));
    assert_ok(ctx, kiln_prog_parse(ctx, thrice, strlen(thrice), "text", &bwd));
    assert_ok(ctx, kiln_prog_with_rules(ctx, f, &(kiln_custom_rule){.name = "f", .fwd = fwd, .bwd = bwd, .residuals = 1}, 1, &ruled));
    assert_int_equal(kiln_prog_jvp(ctx, ruled, ALL, &p), KILN_INVALID);
    assert_says(ctx, "reverse derivative only");
    assert_ok(ctx, kiln_prog_vjp(ctx, ruled, ALL, &p));
    kiln_prog_release(p);
    kiln_prog_release(ruled);
    kiln_prog_release(fwd);
    kiln_prog_release(bwd);
    kiln_prog_release(f);
}

/* What looks linear and is not: branches and trips that depend on what the transpose is in. */
static void not_linear(void **state)
{
    static const struct {
        const char *text;
        uint32_t wrt;
        const char *says;
    } cases[] = {
        {"{ lambda ; a:f64[] b:f64[]. let p:bool[] = gt a 0.0:f64[]; i:i32[] = convert_element_type[new_dtype=int32 weak_type=False] p\n"
         "    c:f64[] = cond[branches=({ lambda ; d:f64[]. let e:f64[] = neg d in (e,) } { lambda ; d:f64[]. let  in (d,) })] i b in (c,) }",
         0, "cond is not linear in what chooses the branch"},
        {"{ lambda ; a:f64[] b:f64[]. let c:f64[] = while[body_jaxpr={ lambda ; e:f64[]. let g:f64[] = mul e 2.0:f64[] in (g,) } body_nconsts=0\n"
         "    cond_jaxpr={ lambda ; h:f64[] e:f64[]. let k:bool[] = lt e h in (k,) } cond_nconsts=1] b a in (c,) }",
         0, "while is not linear in what its condition reads"}, /* a carry */
        {"{ lambda ; a:f64[] b:f64[]. let c:f64[] = while[body_jaxpr={ lambda ; e:f64[]. let g:f64[] = mul e 2.0:f64[] in (g,) } body_nconsts=0\n"
         "    cond_jaxpr={ lambda ; h:f64[] e:f64[]. let k:bool[] = lt e h in (k,) } cond_nconsts=1] b a in (c,) }",
         1, "while is not linear in what its condition reads"}, /* a constant */
        {"{ lambda ; a:f64[] b:f64[]. let i:f64[] c:f64[] = while[body_jaxpr={ lambda ; d:f64[] i:f64[] e:f64[]. let g:f64[] = mul e 2.0:f64[]; j:f64[] = add i d in (j, g) }\n"
         "    body_nconsts=1 cond_jaxpr={ lambda ; i:f64[] e:f64[]. let k:bool[] = lt i 9.0:f64[] in (k,) } cond_nconsts=0] a 0.0:f64[] b in (c,) }",
         0, "while is not linear in what its condition reads"}, /* what becomes linear in a trip */
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *f, *p = NULL;
        assert_ok(ctx, kiln_prog_parse(ctx, cases[i].text, strlen(cases[i].text), "text", &f));
        assert_int_equal(kiln_prog_transpose(ctx, f, &cases[i].wrt, 1, &p), KILN_UNSUPPORTED);
        assert_says(ctx, cases[i].says);
        assert_string_equal(kiln_ctx_error(ctx)->file, "text");
        assert_null(p);
        uint32_t other = 1;
        if (i == 3) { /* in the other operand it is */
            assert_ok(ctx, kiln_prog_transpose(ctx, f, &other, 1, &p));
            kiln_prog_release(p);
        }
        kiln_prog_release(f);
    }
}

/* A tower of derivatives is refused before it takes all memory. */
static void too_deep(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = program(ctx, false), *p = NULL;
    char word[64 * 5 + 1] = "jvp";
    for (int k = 1; k < 40; k++) {
        char outer[sizeof word];
        snprintf(outer, sizeof outer, "jvp(%s)", word);
        memcpy(word, outer, sizeof word);
    }
    assert_int_equal(kiln_prog_transform(ctx, f, word, NULL, 0, &p), KILN_UNSUPPORTED);
    assert_says(ctx, "words of 40 make a program of");
    assert_null(p);
    kiln_prog_release(f);
}

/* A chain of n equations: what a word makes of it grows as it does, in equations and in bytes. */
static void linear(void **state)
{
    static const char *const words[] = {"jvp", "vjp", "grad:0", "vmap:0*8", "hvp:0", "value_and_grad:0(checkpoint)", "jacrev:0"};
    kiln_ctx *ctx = *state;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        uint64_t equations[3], bytes[3];
        for (int k = 0; k < 3; k++) {
            kiln_trace *t;
            kiln_prog *p, *q;
            assert_ok(ctx, kiln_trace_begin(ctx, &t));
            kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 4)), y = x;
            for (int i = 0; i < 1000 << k; i++) y = i % 2 ? kiln_mul(t, y, x) : kiln_sin(t, y);
            kiln_output(t, "y", kiln_sum_all(t, y));
            assert_ok(ctx, kiln_trace_finish(t, &p));
            assert_ok(ctx, kiln_prog_transform(ctx, p, words[w], NULL, 0, &q));
            equations[k] = kiln_prog_n_equations(q);
            bytes[k] = q->arena.bytes;
            kiln_prog_release(p);
            kiln_prog_release(q);
        }
        assert_true(equations[2] - equations[1] == 2 * (equations[1] - equations[0]));
        assert_true(bytes[2] < 5 * bytes[0]);
    }
}

/* Nothing leaks, and nothing is kept, whatever allocation fails. */
static void no_memory(void **state)
{
    (void)state;
    const char *text = "{ lambda ; a:f64[2]. let b:f64[2] = sin a; c:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (c,) }\n";
    for (int n = 1, failed = 1; failed; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *f = NULL, *p = NULL, *q = NULL, *r = NULL;
        kiln_status s = kiln_prog_parse(ctx, text, strlen(text), "text", &f);
        if (s == KILN_OK) s = kiln_prog_linearize(ctx, f, ALL, &p, &q);
        if (s == KILN_OK) s = kiln_prog_hessian(ctx, f, WRT(0), &r);
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        kiln_prog_release(p);
        kiln_prog_release(q);
        kiln_prog_release(r);
        kiln_prog_release(f);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forward), cmocka_unit_test(transposed), cmocka_unit_test(reverse),
                                       cmocka_unit_test(matrices), cmocka_unit_test(axes), cmocka_unit_test(policies),
                                       cmocka_unit_test(refused), cmocka_unit_test(not_linear), cmocka_unit_test(too_deep), cmocka_unit_test(linear), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
