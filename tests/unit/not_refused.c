/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives that JAX refuses and that work here, by closed forms, interpreted and compiled to the same bits: reverse through while, through a
 * loop whose bound is an operand, through the lanes of a while; clamp with scalar bounds; second derivatives of branches in a scan in a vmap;
 * and calls as other versions of JAX spell them. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { MOST = 8 };

/* Element 0, 1, .. of all results, one behind the other, of the word's program on arrays given as texts. */
static void check(kiln_ctx *ctx, const char *text, const char *word, const char *const *in, const double *want, uint32_t n, int line)
{
    kiln_array *v[MOST], *a[MOST], *b[MOST];
    kiln_type types[MOST];
    kiln_prog *p, *q;
    kiln_exec *f;
    uint32_t at = 0, nin = 0;
    for (; in[nin]; nin++) {
        assert_ok(ctx, kiln_array_parse(ctx, in[nin], &v[nin]));
        types[nin] = v[nin]->type;
    }
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kiln_prog_transform(ctx, p, word, types, nin, &q));
    assert_int_equal(kiln_prog_n_inputs(q), nin);
    assert_ok(ctx, kiln_prog_eval(ctx, q, v, a));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, v, b));
    for (uint32_t k = 0; k < kiln_prog_n_outputs(q); k++) {
        if (!same_array(a[k], b[k], NULL)) print_error("%s, result %u: compiled and interpreted differ\n", word, k), _fail(__FILE__, line);
        for (int64_t i = 0; i < kiln_type_size(a[k]->type); i++, at++) {
            kn_scalar element = kn_scalar_load(a[k]->type.dtype, a[k]->data, i);
            double got = kiln_dtype_kind(a[k]->type.dtype) == 'f' ? element.f : (double)element.i;
            if (at < n && fabs(got - want[at]) <= 1e-12 * (1 + fabs(want[at]))) continue;
            print_error("%s, number %u is %.17g, not %.17g\n", word, at, got, at < n ? want[at] : 0);
            _fail(__FILE__, line);
        }
        kiln_array_release(a[k]);
        kiln_array_release(b[k]);
    }
    if (at != n) print_error("%s gives %u numbers, not %u\n", word, at, n), _fail(__FILE__, line);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(v[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_prog_release(q);
}
#define IN(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CHECK(text, word, in, ...)                                                                                    \
    check(*state, (text), (word), (in), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), __LINE__)

/* x, x a, x a^2, .. until it passes 100 */
static const char grows[] =
    "{ lambda ; a:f64[] x:f64[]. let\n"
    "    c:f64[] = while[\n"
    "      body_jaxpr={ lambda ; d:f64[] e:f64[]. let f:f64[] = mul e d in (f,) } body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; g:f64[]. let h:bool[] = lt g 100.0:f64[] in (h,) } cond_nconsts=0\n"
    "    ] a x\n"
    "  in (c,) }\n";

static void reverse_through_while(void **state)
{
    double a = 1.5, x = 2, y = x;
    int n = 0;
    for (; y < 100; n++) y *= a;
    CHECK(grows, "grad:0,1", IN("f64[]:1.5", "f64[]:2"), n * y / a, y / x);
    CHECK(grows, "hessian:0", IN("f64[]:1.5", "f64[]:2"), n * (n - 1) * y / (a * a));
    CHECK(grows, "grad:0,1", IN("f64[]:1.5", "f64[]:200"), 0, 1); /* no trip */
    double z = 7, far = z;
    int m = 0;
    for (; far < 100; m++) far *= a;
    CHECK(grows, "vmap:None,0(grad:0,1)", IN("f64[]:1.5", "f64[2]:2,7"), n * y / a, m * far / a, y / x, far / z);
}

/* The same over lanes as JAX writes a vmapped while: a condition for each, all carries with the lanes in front. */
static const char lanes_grow[] =
    "{ lambda ; a:f64[] x:f64[2]. let\n"
    "    c:f64[2] = while[\n"
    "      body_jaxpr={ lambda ; d:f64[] e:f64[2]. let f:f64[2] = mul e d in (f,) } body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; g:f64[2]. let h:bool[2] = lt g 100.0:f64[] in (h,) } cond_nconsts=0\n"
    "    ] a x\n"
    "  in (c,) }\n";
/* x <- sqrt(x) - 2 of a row's lanes where x > 0, whose derivative is infinite at 0, where lanes end */
static const char ends_at_pole[] =
    "{ lambda ; x:f64[1,2]. let\n"
    "    c:f64[1,2] = while[\n"
    "      body_jaxpr={ lambda ; e:f64[1,2]. let f:f64[1,2] = sqrt e; g:f64[1,2] = sub f 2.0:f64[] in (g,) } body_nconsts=0\n"
    "      cond_jaxpr={ lambda ; b:f64[] g:f64[1,2]. let h:bool[1,2] = gt g b in (h,) } cond_nconsts=1\n"
    "    ] 0.0:f64[] x\n"
    "  in (c,) }\n";

static void reverse_through_lanes(void **state)
{
    double a = 1.5, y[2], t[2];
    const char *const in[] = {"f64[]:1.5", "f64[2]:2,7", NULL};
    for (int i = 0; i < 2; i++)
        for (y[i] = i ? 7 : 2, t[i] = 0; y[i] < 100; t[i]++) y[i] *= a;
    double da = t[0] * y[0] / a + t[1] * y[1] / a;
    CHECK(lanes_grow, "checkpoint", in, y[0], y[1]);
    CHECK(lanes_grow, "jvp:0", IN("f64[]:1.5", "f64[2]:2,7", "f64[]:1"), y[0], y[1], t[0] * y[0] / a, t[1] * y[1] / a);
    CHECK(lanes_grow, "grad:0,1(sum)", in, da, y[0] / 2, y[1] / 7);
    CHECK(lanes_grow, "grad:0,1(sum(checkpoint:log,20))", in, da, y[0] / 2, y[1] / 7);
    CHECK(lanes_grow, "sparse_jacobian:1", in, 0, 1, 2, 0, 1, y[0] / 2, y[1] / 7);
    CHECK(lanes_grow, "vmap:None,1(grad:0(sum))", IN("f64[]:1.5", "f64[2,1]:2,7"), da);
    CHECK(lanes_grow, "grad:0(sum(vmap:0,None))", IN("f64[1]:1.5", "f64[2]:2,7"), da);
    CHECK(ends_at_pole, "grad:0(sum)", IN("f64[1,2]:0,4"), 1, 0.25);
    CHECK(ends_at_pole, "vmap:1(grad:0(sum))", IN("f64[1,1,2]:0,4"), 1, 0.25);
}

static void lanes_that_do_not_fit(void **state)
{
    static const char text[] =
        "{ lambda ; x:f64[2] y:f64[3]. let\n"
        "    c:f64[2] _:f64[3] = while[\n"
        "      body_jaxpr={ lambda ; e:f64[2] f:f64[3]. let  in (e, f) } body_nconsts=0\n"
        "      cond_jaxpr={ lambda ; e:f64[2] f:f64[3]. let h:bool[2] = lt e 1.0:f64[] in (h,) } cond_nconsts=0\n"
        "    ] x y\n"
        "  in (c,) }\n";
    kiln_prog *p;
    assert_int_equal(kiln_prog_parse(*state, text, strlen(text), "text", &p), KILN_SHAPE);
    assert_says(*state, "result 0 of cond_jaxpr is bool[2], but carry 1 is f64[3]");
}

/* x <- sin(a x), n times */
static const char bounded[] =
    "{ lambda ; a:f64[] x:f64[] n:i32[]. let\n"
    "    _:i32[] _:i32[] c:f64[] = while[\n"
    "      body_jaxpr={ lambda ; d:f64[] i:i32[] m:i32[] e:f64[]. let j:i32[] = add i 1:i32[]; f:f64[] = mul d e; g:f64[] = sin f in (j, m, g) }\n"
    "      body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; i:i32[] m:i32[] e:f64[]. let h:bool[] = lt i m in (h,) } cond_nconsts=0\n"
    "    ] a 0:i32[] n x\n"
    "  in (c,) }\n";

static void reverse_through_an_operands_trips(void **state)
{
    static const char *const trips[] = {"i32[]:0", "i32[]:1", "i32[]:5", "i32[]:300"};
    static const int n[] = {0, 1, 5, 300};
    for (int k = 0; k < 4; k++) {
        double a = 0.9, x = 0.7, da = 0, dx = 1, y = x;
        for (int i = 0; i < n[k]; i++) {
            double slope = cos(a * y);
            da = slope * (y + a * da), dx = slope * a * dx, y = sin(a * y);
        }
        CHECK(bounded, "vjp", IN("f64[]:0.9", "f64[]:0.7", trips[k], "f64[]:2"), 2 * da, 2 * dx);
    }
}

static void clamp_with_scalar_bounds(void **state)
{
    static const char text[] = "{ lambda ; a:f64[] b:f64[5] c:f64[]. let d:f64[5] = clamp a b c in (d,) }\n";
    /* below, at the lower bound, between, at the upper, above */
    CHECK(text, "jvp", IN("f64[]:-1", "f64[5]:-2,-1,0.5,1,3", "f64[]:1", "f64[]:10", "f64[5]:1,2,3,4,5", "f64[]:20"), -1, -1, 0.5, 1, 1, 10, 0, 3, 0, 20);
    CHECK(text, "vjp", IN("f64[]:-1", "f64[5]:-2,-1,0.5,1,3", "f64[]:1", "f64[5]:1,2,3,4,5"), 1, 0, 0, 3, 0, 0, 5);
}

/* From c = x: for each y above 0, c x; for others, c + x x. */
static const char branches[] =
    "{ lambda ; x:f64[] y:f64[3]. let\n"
    "    c:f64[] = scan[\n"
    "      jaxpr={ lambda ; x:f64[] c:f64[] y:f64[]. let\n"
    "          i:bool[] = gt y 0.0:f64[]; k:i32[] = convert_element_type[new_dtype=int32 weak_type=False] i\n"
    "          d:f64[] = cond[branches=(\n"
    "            { lambda ; x:f64[] c:f64[]. let e:f64[] = mul x x; f:f64[] = add c e in (f,) }\n"
    "            { lambda ; x:f64[] c:f64[]. let e:f64[] = mul c x in (e,) }\n"
    "          )] k x c\n"
    "        in (d,) }\n"
    "      length=3 num_carry=1 num_consts=1 reverse=False unroll=1\n"
    "    ] x x y\n"
    "  in (c,) }\n";

static void hessian_of_branches_in_a_scan_in_a_vmap(void **state)
{
    double x = 1.25; /* lanes: 2 x^3, x^2 + 2 x^3, x^4 */
    const char *const in[] = {"f64[]:1.25", "f64[3,3]:1,-1,1,-1,-1,1,1,1,1", NULL};
    CHECK(branches, "vmap:None,0", in, 2 * x * x * x, x * x + 2 * x * x * x, x * x * x * x);
    CHECK(branches, "hessian:0(vmap:None,0)", in, 12 * x, 2 + 12 * x, 12 * x * x);
    CHECK(branches, "vmap:None,0(hessian:0)", in, 12 * x, 2 + 12 * x, 12 * x * x);
    CHECK(branches, "jacrev:0(jacfwd:0(vmap:None,0))", in, 12 * x, 2 + 12 * x, 12 * x * x);
}

/* x sin(x), called as versions of JAX spell it. */
static void calls_of_other_versions(void **state)
{
    static const char *const calls[][2] = {{"closed_call[call_jaxpr=", "]"}, {"checkpoint[jaxpr=", " policy=None prevent_cse=True differentiated=False]"},
                                           {"remat2[jaxpr=", " policy=None prevent_cse=True differentiated=False]"}, {"pjit[name=f jaxpr=", "]"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[512];
        double x = 1.25, s = sin(x), c = cos(x);
        snprintf(text, sizeof text, "{ lambda ; a:f64[]. let b:f64[] = %s{ lambda ; c:f64[]. let d:f64[] = sin c; e:f64[] = mul c d in (e,) }%s a in (b,) }",
                 calls[i][0], calls[i][1]);
        CHECK(text, "value_and_grad:0", IN("f64[]:1.25"), x * s, s + x * c);
        CHECK(text, "hessian:0", IN("f64[]:1.25"), 2 * c - x * s);
        CHECK(text, "vmap:0(grad:0(checkpoint))", IN("f64[2]:1.25,1.25"), s + x * c, s + x * c);
    }
}

/* x.at[[1, 3]].apply(sin): a scatter whose body does not take the update. */
static void scatter_that_applies(void **state)
{
    static const char text[] =
        "{ lambda ; v:f64[4]. let\n"
        "    i:i32[2,1] = iota[dimension=0 dtype=int32 shape=(2, 1) sharding=None] \n"
        "    j:i32[2,1] = mul i 2:i32[]\n"
        "    k:i32[2,1] = add j 1:i32[]\n"
        "    u:f64[2] = broadcast_in_dim[broadcast_dimensions=() shape=(2,) sharding=None] 0.0:f64[]\n"
        "    b:f64[4] = scatter[\n"
        "      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())\n"
        "      indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=()\n"
        "      update_jaxpr={ lambda ; c:f64[] d:f64[]. let e:f64[] = sin c in (e,) }\n"
        "    ] v k u\n"
        "  in (b,) }\n";
    CHECK(text, "checkpoint", IN("f64[4]:1,2,3,4"), 1, sin(2), 3, sin(4));
    CHECK(text, "grad:0(sum)", IN("f64[4]:1,2,3,4"), 1, cos(2), 1, cos(4));
    CHECK(text, "vmap:1(grad:0(sum))", IN("f64[4,1]:1,2,3,4"), 1, cos(2), 1, cos(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reverse_through_while), cmocka_unit_test(reverse_through_lanes),
                                       cmocka_unit_test(lanes_that_do_not_fit), cmocka_unit_test(calls_of_other_versions), cmocka_unit_test(scatter_that_applies), cmocka_unit_test(reverse_through_an_operands_trips),
                                       cmocka_unit_test(clamp_with_scalar_bounds), cmocka_unit_test(hessian_of_branches_in_a_scan_in_a_vmap)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
