/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of jaxprs that today's JAX prints for jax.numpy and vmap: with the values that JAX gives, interpreted and compiled, printed as read. */
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

enum { MOST = 4, ROOM = 400 };

static kiln_prog *parse(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

/* The results of the program, transformed by `word` (or NULL), on arrays given as texts. */
static void check(kiln_ctx *ctx, const char *text, const char *word, const char *const *in, const char *const *want, int line)
{
    kiln_array *v[MOST], *a[MOST], *b[MOST];
    kiln_type types[MOST];
    kiln_exec *f;
    uint32_t nin = 0;
    for (; in[nin]; nin++) {
        assert_ok(ctx, kiln_array_parse(ctx, in[nin], &v[nin]));
        types[nin] = v[nin]->type;
    }
    kiln_prog *p = parse(ctx, text), *q = kiln_prog_retain(p);
    if (word) {
        kiln_prog_release(q);
        assert_ok(ctx, kiln_prog_transform(ctx, p, word, types, nin, &q));
    } else {
        char *s;
        size_t n;
        assert_ok(ctx, kiln_prog_print(ctx, p, 80, &s, &n));
        assert_string_equal(s, text);
        kiln_text_free(ctx, s, n);
    }
    assert_ok(ctx, kiln_prog_eval(ctx, q, v, a));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, v, b));
    for (uint32_t k = 0; k < kiln_prog_n_outputs(q); k++) {
        char got[ROOM];
        assert_true(same_array(a[k], b[k], NULL));
        kiln_array_format(b[k], 12, got, sizeof got);
        if (strcmp(got, want[k]) != 0) print_error("result %u is %s, not %s\n", k, got, want[k]), _fail(__FILE__, line);
        kiln_array_release(a[k]);
        kiln_array_release(b[k]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(v[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_prog_release(q);
}
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CHECK(text, word, in, want) check(*state, (text), (word), (in), (want), __LINE__)

/* Squares of each number up to 20, and how many it took. */
static const char lanes[] = "{ lambda ; a:f32[4] b:i32[4]. let\n"
                            "    c:f32[4] d:i32[4] = while[\n"
                            "      body_jaxpr={ lambda ; e:f32[4] f:i32[4]. let\n"
                            "          g:f32[4] = mul e e\n"
                            "          h:i32[4] = add f 1:i32[]\n"
                            "        in (g, h) }\n"
                            "      body_nconsts=0\n"
                            "      cond_jaxpr={ lambda ; i:f32[4] j:i32[4]. let\n"
                            "          k:bool[4] = lt i 20.0:f32[]\n"
                            "        in (k,) }\n"
                            "      cond_nconsts=0\n"
                            "    ] a b\n"
                            "  in (c, d) }\n";

static void while_of_lanes(void **state)
{
    const char *const in[] = {"f32[4]:2,3,25,1.5", "i32[4]:0", NULL};
    CHECK(lanes, NULL, in, LIST("f32[4]: 256.0 81.0 25.0 25.62890625", "i32[4]: 3 2 0 3"));
    CHECK(lanes, "vmap:0,None", LIST("f32[2,4]:2,3,25,1.5,30,2,2,2", "i32[4]:0"),
          LIST("f32[2,4]: 256.0 81.0 25.0 25.62890625 30.0 256.0 256.0 256.0", "i32[2,4]: 3 2 0 3 0 3 3 3"));
    CHECK("{ lambda ; a:f32[2]. let\n"
          "    b:f32[2] = while[\n"
          "      body_jaxpr={ lambda ; c:f32[2]. let d:f32[2] = mul c c in (d,) }\n"
          "      body_nconsts=0\n"
          "      cond_jaxpr={ lambda ; e:f32[2]. let f:bool[2] = lt e 20.0:f32[] in (f,) }\n"
          "      cond_nconsts=0\n"
          "    ] a\n"
          "    g:f32[] = reduce_sum[axes=(0,) out_sharding=None] b\n"
          "  in (g,) }\n",
          "grad:0", LIST("f32[2]:2,25"), LIST("f32[2]: 1024.0 1.0"));
    kiln_prog *p;
    static const char bad[] = "{ lambda ; a:f32[2]. let\n"
                              "    b:f32[2] = while[\n"
                              "      body_jaxpr={ lambda ; c:f32[2]. let  in (c,) } body_nconsts=0\n"
                              "      cond_jaxpr={ lambda ; e:f32[2]. let f:bool[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] True:bool[] in (f,) }\n"
                              "      cond_nconsts=0\n"
                              "    ] a\n"
                              "  in (b,) }\n";
    assert_int_not_equal(kiln_prog_parse(*state, bad, strlen(bad), "bad", &p), KILN_OK);
    assert_says(*state, "leading dimensions of all carries");
}

static void branches_by_platform(void **state)
{
    static const char text[] = "{ lambda ; a:f32[3]. let\n"
                               "    b:i32[] = platform_index[platforms=(('mosaic',), None)] \n"
                               "    c:f32[3] = cond[\n"
                               "      branches=(\n"
                               "        { lambda ; d:f32[3]. let e:f32[3] = neg d in (e,) }\n"
                               "        { lambda ; f:f32[3]. let g:f32[3] = sqrt f in (g,) }\n"
                               "      )\n"
                               "      branches_platforms=(('mosaic',), None)\n"
                               "    ] b a\n"
                               "  in (c,) }\n";
    CHECK(text, NULL, LIST("f32[3]:1,4,9"), LIST("f32[3]: 1.0 2.0 3.0"));
    CHECK(text, "vmap:0", LIST("f32[1,3]:1,4,9"), LIST("f32[1,3]: 1.0 2.0 3.0"));
}

static void powers_of_two(void **state)
{
    CHECK("{ lambda ; a:f32[5]. let b:f32[5] c:i32[5] = Frexp[x_aval=f32[5]] a in (b, c) }\n", NULL, LIST("f32[5]:-0.0,-6,inf,nan,0.3"),
          LIST("f32[5]: -0.0 -0.75 inf nan 0.6000000238418579", "i32[5]: 0 3 0 0 -1"));
    static const char text[] = "{ lambda ; a:f32[5] b:i32[5]. let\n    c:f32[5] = Ldexp[x1_aval=f32[5] x2_aval=i32[5]] a b\n  in (c,) }\n";
    CHECK(text, NULL, LIST("f32[5]:1.5,-0.0,inf,3,1", "i32[5]:4,9,2,500,-500"), LIST("f32[5]: 24.0 -0.0 inf inf 0.0"));
    CHECK(text, "jvp:0", LIST("f32[5]:1.5,-0.0,inf,3,1", "i32[5]:4,9,2,5,-5", "f32[5]:1"), LIST("f32[5]: 24.0 -0.0 inf 96.0 0.03125", "f32[5]: 16.0 512.0 4.0 32.0 0.03125"));
    CHECK("{ lambda ; a:f64[2]. let b:f64[2] c:i32[2] = Frexp[x_aval=f64[2]] a in (b, c) }\n", "vmap:0", LIST("f64[1,2]:1e300,-3"),
          LIST("f64[1,2]: 0.7466108948025751 -0.75", "i32[1,2]: 997 2"));
}

static void places(void **state)
{
    static const char left[] = "{ lambda ; a:f32[5] b:f32[5]. let\n"
                               "    c:i32[5] = SearchSorted[side=left dimension=0 batch_dims=0 method=scan] a b\n"
                               "  in (c,) }\n",
                      right[] = "{ lambda ; a:f32[5] b:f32[5]. let\n"
                                "    c:i64[5] = SearchSorted[side=right dimension=0 batch_dims=0 method=sort] a b\n"
                                "  in (c,) }\n";
    const char *const in[] = {"f32[5]:-1,-0.0,2,2,nan", "f32[5]:0,2,nan,-5,9", NULL};
    CHECK(left, NULL, in, LIST("i32[5]: 1 2 4 0 4"));
    CHECK(right, NULL, in, LIST("i64[5]: 2 4 5 0 4"));
    CHECK(left, "vmap:0,None", LIST("f32[2,5]:-1,-0.0,2,2,nan,0,1,2,3,4", "f32[5]:0,2,nan,-5,9"), LIST("i32[2,5]: 1 2 4 0 4 0 2 5 0 5"));
    CHECK("{ lambda ; a:i32[2,2,3] b:i32[2,2]. let\n"
          "    c:i32[2,3,2] = SearchSorted[\n"
          "      side=right\n"
          "      dimension=1\n"
          "      batch_dims=1\n"
          "      method=compare_all\n"
          "    ] a b\n"
          "  in (c,) }\n",
          NULL, LIST("i32[2,2,3]:1,2,3,4,5,6,7,8,9,10,11,12", "i32[2,2]:3,5,7,11"), LIST("i32[2,3,2]: 1 2 1 2 1 1 1 2 0 2 0 1"));
}

static void complex_extremes(void **state)
{
    CHECK("{ lambda ; a:c64[3]. let\n"
          "    b:c64[] = reduce_max[axes=(0,) out_sharding=None] a\n"
          "    c:c64[] = reduce_min[axes=(0,) out_sharding=None] a\n"
          "  in (b, c) }\n",
          NULL, LIST("c64[3]:1+2j,1+3j,0.5+9j"), LIST("c64[]: (1+3j)", "c64[]: (0.5+9j)"));
}

static void wide_choice(void **state)
{
    CHECK("{ lambda ; a:i64[4] b:f32[4] c:f32[4] d:f32[4]. let\n    e:f32[4] = select_n a b c d\n  in (e,) }\n", NULL,
          LIST("i64[4]:-9,1,2,5000000000", "f32[4]:1", "f32[4]:2", "f32[4]:3"), LIST("f32[4]: 1.0 2.0 3.0 3.0"));
}

static void eigenvectors(void **state)
{
    CHECK("{ lambda ; a:f32[2,2]. let\n"
          "    b:c64[2] = eig[\n"
          "      compute_left_eigenvectors=False\n"
          "      compute_right_eigenvectors=False\n"
          "      enable_eigvec_derivs=False\n"
          "      implementation=None\n"
          "    ] a\n"
          "  in (b,) }\n",
          NULL, LIST("f32[2,2]:2,0,0,4"), LIST("c64[2]: (2+0j) (4+0j)"));
}

/* ormqr's configuration is of bools, in JAX's text and in ours. */
static void reflections(void **state)
{
    static const char text[] = "func.func @main(%a: tensor<2x2xf32>, %t: tensor<2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
                               "  %0 = stablehlo.custom_call @lapack_sormqr_ffi(%a, %t, %c) {mhlo.backend_config = {left = false, transpose = true}, operand_layouts = "
                               "[dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : "
                               "tensor<2xindex>]} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
                               "  return %0 : tensor<2x2xf32>\n"
                               "}\n";
    kiln_prog *p = parse(*state, text);
    kn_text t;
    kn_text_init(&t, &((kiln_ctx *)*state)->alloc);
    assert_ok(*state, kn_hlo_print_stablehlo(*state, p, &t));
    assert_non_null(strstr(t.s, "mhlo.backend_config = {left = false, transpose = true}"));
    kn_text_fini(&t);
    kiln_prog_release(p);
}

/* Also where other angles add up to more than a turn, and where nothing came before. */
static void complex_log_sums(void **state)
{
    static const char text[] = "{ lambda ; a:c128[3]. let\n    b:c128[3] = cumlogsumexp[axis=0 reverse=False] a\n  in (b,) }\n";
    CHECK(text, NULL, LIST("c128[3]:1+1j,2-1j,3+4j"),
          LIST("c128[3]: (1+1j) (1.9063238361688761-0.6238286306222882j) (3.0258019593999372-1.951992980029321j)"));
    CHECK(text, NULL, LIST("c128[3]:100+10j,1,0"),
          LIST("c128[3]: (100-2.5663706143591725j) (100-2.5663706143591725j) (100-2.5663706143591725j)"));
    CHECK(text, NULL, LIST("c128[3]:-inf,0,1"), LIST("c128[3]: (-inf+0j) 0j (1.3132616875182228+0j)"));
    CHECK(text, "jvp", LIST("c128[3]:1+1j,2-1j,3+4j", "c128[3]:1+.5j,2,1j"),
          LIST("c128[3]: (1+1j) (1.9063238361688761-0.6238286306222882j) (3.0258019593999372-1.951992980029321j)",
               "c128[3]: (1+0.5j) (1.819696011131409-0.4141463881676327j) (0.5908491652855044+1.4657250977135254j)"));
    CHECK(text, "vjp", LIST("c128[3]:1+1j,2-1j,3+4j", "c128[3]:1+.5j,2,1j"),
          LIST("c128[3]: (0.9323128938024816+1.1773528452140758j) (1.7507990451284283-0.5989204821170839j) (0.3168880610690902+0.9215676369030079j)"));
}

/* JAX's StableHLO of them is a window as long as its dimension, whose padding must not enter: the log of zero twice is no number. */
static void log_sum_windows(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>> {\n"
        "  %i = stablehlo.constant dense<(0xFFF0000000000000,0.0)> : tensor<complex<f64>>\n"
        "  %r = \"stablehlo.reduce_window\"(%a, %i) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({\n"
        "  ^bb0(%x: tensor<complex<f64>>, %y: tensor<complex<f64>>):\n"
        "    %1 = stablehlo.real %x : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %2 = stablehlo.real %y : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %3 = stablehlo.compare EQ, %1, %2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
        "    %4 = stablehlo.compare GT, %1, %2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
        "    %5 = stablehlo.imag %x : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %6 = stablehlo.imag %y : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %7 = stablehlo.compare GT, %5, %6, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
        "    %8 = stablehlo.select %3, %7, %4 : tensor<i1>, tensor<i1>\n"
        "    %9 = stablehlo.select %8, %x, %y : tensor<i1>, tensor<complex<f64>>\n"
        "    %10 = stablehlo.add %x, %y : tensor<complex<f64>>\n"
        "    %c0 = stablehlo.constant dense<(2.0,0.0)> : tensor<complex<f64>>\n"
        "    %11 = stablehlo.multiply %9, %c0 : tensor<complex<f64>>\n"
        "    %12 = stablehlo.subtract %10, %11 : tensor<complex<f64>>\n"
        "    %13 = stablehlo.exponential %12 : tensor<complex<f64>>\n"
        "    %14 = stablehlo.log_plus_one %13 : tensor<complex<f64>>\n"
        "    %15 = stablehlo.add %9, %14 : tensor<complex<f64>>\n"
        "    %16 = stablehlo.real %15 : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %17 = stablehlo.imag %15 : (tensor<complex<f64>>) -> tensor<f64>\n"
        "    %pi = stablehlo.constant dense<3.1415926535897931> : tensor<f64>\n"
        "    %18 = stablehlo.add %17, %pi : tensor<f64>\n"
        "    %turn = stablehlo.constant dense<6.2831853071795862> : tensor<f64>\n"
        "    %19 = stablehlo.remainder %18, %turn : tensor<f64>\n"
        "    %zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
        "    %20 = stablehlo.compare LT, %19, %zero, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
        "    %21 = stablehlo.add %19, %turn : tensor<f64>\n"
        "    %22 = stablehlo.select %20, %21, %19 : tensor<i1>, tensor<f64>\n"
        "    %23 = stablehlo.subtract %22, %pi : tensor<f64>\n"
        "    %24 = stablehlo.complex %16, %23 : tensor<complex<f64>>\n"
        "    stablehlo.return %24 : tensor<complex<f64>>\n"
        "  }) : (tensor<3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<3xcomplex<f64>>\n"
        "  return %r : tensor<3xcomplex<f64>>\n"
        "}\n";
    kiln_prog *p = parse(*state, text);
    char *s;
    size_t n;
    assert_ok(*state, kiln_prog_print(*state, p, 80, &s, &n));
    assert_string_equal(s, "{ lambda ; a:c128[3]. let\n    b:c128[3] = cumlogsumexp[axis=0 reverse=False] a\n  in (b,) }\n");
    kiln_text_free(*state, s, n);
    kiln_prog_release(p);
}

/* Draws with JAX's values; derivatives of the variates of a fixed probability. */
static void gamma_variates(void **state)
{
#define GAMMA(log_space)                                                                                                                     \
    "{ lambda ; a:u32[2] b:f64[3]. let\n    c:key<fry>[] = random_wrap[impl=fry] a\n    d:key<fry>[] = random_clone c\n"                       \
    "    e:f64[3] = random_gamma[log_space=" log_space "] d b\n  in (e,) }\n"
    static const char plain[] = GAMMA("False"), logs[] = GAMMA("True");
    const char *const in[] = {"u32[2]:0,7", "f64[3]:0.3,1,5", NULL};
    CHECK(plain, NULL, in, LIST("f64[3]: 2.0991715320635806e-06 0.16126337922175524 3.327448507497366"));
    CHECK(logs, NULL, in, LIST("f64[3]: -13.073967799615016 -1.8247163548303726 1.2022057963356474"));
    CHECK(plain, "vjp:1", LIST("u32[2]:0,7", "f64[3]:0.3,1,5", "f64[3]:1"), LIST("f64[3]: 9.029795556188889e-05 0.4004156997674043 0.8373711789328765"));
    CHECK(logs, "vjp:1", LIST("u32[2]:0,7", "f64[3]:0.3,1,5", "f64[3]:1"), LIST("f64[3]: 43.01599663612144 2.4829921194742415 0.25165563856093404"));
    CHECK(plain, "vmap:None,0", LIST("u32[2]:0,7", "f64[2,3]:0.3,1,5,0.3,1,5"), LIST("f64[2,3]: 2.0991715320635806e-06 0.16126337922175524 3.327448507497366 2.0991715320635806e-06 0.16126337922175524 3.327448507497366"));
}

/* Updates of low rank; what becomes of the diagonal where the vector has a zero is that of JAX, and its derivative the true one. */
static void low_rank(void **state)
{
    static const char product[] = "{ lambda ; a:f64[2,3] b:f64[2,2]. let\n    c:f64[2,2] = symmetric_product[alpha=2.0 beta=3.0] a b\n  in (c,) }\n";
    static const char update[] = "{ lambda ; a:f64[2,2] b:f64[2]. let c:f64[2,2] = cholesky_update a b in (c,) }\n";
    CHECK(product, NULL, LIST("f64[2,3]:0,1,2,3,4,5", "f64[2,2]:1,0,0,1"), LIST("f64[2,2]: 13.0 28.0 28.0 103.0"));
    CHECK(product, "vmap:0,None", LIST("f64[2,2,3]:0,1,2,3,4,5,1,0,0,0,1,0", "f64[2,2]:1,0,0,1"), LIST("f64[2,2,2]: 13.0 28.0 28.0 103.0 5.0 0.0 0.0 5.0"));
    CHECK(update, NULL, LIST("f64[2,2]:3,1,0,0.75", "f64[2]:4,3"), LIST("f64[2,2]: 5.0 3.0000000000000004 0.0 1.2500000000000002"));
    CHECK(update, NULL, LIST("f64[2,2]:-3,1,0,0", "f64[2]:0,0"), LIST("f64[2,2]: -3.0 1.0 0.0 0.0"));
    CHECK(update, "jvp:1", LIST("f64[2,2]:4,2,0,1", "f64[2]:0,0", "f64[2]:1,0"), LIST("f64[2,2]: 4.0 2.0 0.0 1.0", "f64[2,2]: 0.0 0.0 0.0 0.0"));
}

/* A root, as JAX writes custom_root: the operands of solve_jaxpr, then those of programs that it leaves out. */
static void roots(void **state)
{
    static const char text[] = "{ lambda ; a:f64[]. let\n"
                               "    b:f64[] = CustomRoot[\n"
                               "      solve_jaxpr={ lambda ; c:f64[] d:f64[]. let\n"
                               "          e:f64[] = eval_jaxpr[\n"
                               "            call_jaxpr={ lambda ; f:f64[] g:f64[]. let\n"
                               "                h:f64[] = div f g\n"
                               "                i:f64[] = add g h\n"
                               "                j:f64[] = mul 0.5:f64[] i\n"
                               "              in (j,) }\n"
                               "          ] c d\n"
                               "        in (e,) }\n"
                               "      has_aux=False\n"
                               "    ] a 1.0:f64[] a a\n"
                               "  in (b,) }\n";
    kiln_prog *p = parse(*state, text), *q;
    CHECK(text, NULL, LIST("f64[]:2"), LIST("f64[]: 1.5"));
    CHECK(text, "vmap:0", LIST("f64[2]:2,3"), LIST("f64[2]: 1.5 2.0"));
    assert_int_equal(kiln_prog_transform(*state, p, "grad:0", NULL, 0, &q), KILN_UNSUPPORTED);
    assert_says(*state, "CustomRoot");
    kiln_prog_release(p);
}

static void checkpoints_by_another_name(void **state)
{
    static const char text[] = "{ lambda ; a:f64[]. let\n"
                               "    b:f64[] = remat[\n"
                               "      differentiated=False\n"
                               "      jaxpr={ lambda ; c:f64[]. let\n"
                               "          d:f64[] = mul c c\n"
                               "          e:f64[] = mul d c\n"
                               "        in (e,) }\n"
                               "      policy=None\n"
                               "      prevent_cse=True\n"
                               "    ] a\n"
                               "  in (b,) }\n";
    kiln_prog *p = parse(*state, text), *q;
    char *s;
    size_t n;
    CHECK(text, NULL, LIST("f64[]:3"), LIST("f64[]: 27.0"));
    CHECK(text, "grad:0", LIST("f64[]:3"), LIST("f64[]: 27.0"));
    assert_ok(*state, kiln_prog_transform(*state, p, "grad:0", NULL, 0, &q));
    assert_ok(*state, kiln_prog_print(*state, q, 80, &s, &n));
    assert_non_null(strstr(s, "differentiated=True")); /* computed again, not kept */
    kiln_text_free(*state, s, n);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

/* A tap is true where both are; numbers where numbers are asked for. */
static void convolution_of_bools(void **state)
{
#define CONV(result, preferred)                                                                                       \
    "{ lambda ; a:bool[1,1,8] b:bool[1,1,3]. let\n"                                                                   \
    "    c:" result "[1,1,8] = conv_general_dilated[\n"                                                               \
    "      batch_group_count=1\n"                                                                                     \
    "      dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2))\n"      \
    "      feature_group_count=1\n"                                                                                   \
    "      lhs_dilation=(1,)\n"                                                                                       \
    "      out_sharding=None\n"                                                                                       \
    "      padding=((1, 1),)\n"                                                                                       \
    "      precision=None\n"                                                                                          \
    "      preferred_element_type=" preferred "\n"                                                                    \
    "      rhs_dilation=(1,)\n"                                                                                       \
    "      window_strides=(1,)\n"                                                                                     \
    "    ] a b\n"                                                                                                     \
    "  in (c,) }\n"
    const char *const in[] = {"bool[1,1,8]:False,True,False,True,True,True,False,False", "bool[1,1,3]:True,False,True", NULL};
    CHECK(CONV("bool", "None"), NULL, in, LIST("bool[1,1,8]: True False True True True True True False"));
    CHECK(CONV("i32", "int32"), NULL, in, LIST("i32[1,1,8]: 1 0 2 1 2 1 1 0"));
}

/* Other windows of them: where padding, the log of zero, would make no number of a number, it is left out. */
static void padded_windows(void **state)
{
    static const char text[] = "{ lambda ; a:c128[4]. let\n"
                               "    b:c128[6] = reduce_window[\n"
                               "      base_dilation=(1,)\n"
                               "      consts=()\n"
                               "      jaxpr={ lambda ; c:c128[] d:c128[]. let\n"
                               "          e:c128[] = max c d\n"
                               "          f:c128[] = add c d\n"
                               "          g:c128[] = mul e (2+0j):c128[]\n"
                               "          h:c128[] = sub f g\n"
                               "          i:c128[] = exp h\n"
                               "          j:c128[] = log1p i\n"
                               "          k:c128[] = add e j\n"
                               "        in (k,) }\n"
                               "      padding=((3, 0),)\n"
                               "      window_dilation=(1,)\n"
                               "      window_dimensions=(2,)\n"
                               "      window_strides=(1,)\n"
                               "    ] a (-inf+0j):c128[]\n"
                               "  in (b,) }\n";
    CHECK(text, NULL, LIST("c128[4]:1+2j,0.5-1j,-3+.1j,2"),
          LIST("c128[6]: (-inf+0j) (-inf+0j) (1+2j) (0.10499301432446884+1.7889591478473275j) (0.5139567412082241-0.9734577499614337j) (2.0066821347936434+0.0006681924173710498j)"));
    CHECK(text, NULL, LIST("c128[4]:nan,1,1,2"), LIST("c128[6]: (-inf+0j) (-inf+0j) (nan+nanj) (nan+nanj) (1.6931471805599454+0j) (2.313261687518223+0j)"));
}

static void other_keys(void **state)
{
    static const char text[] = "{ lambda ; a:key<rbg>[]. let b:u32[] = random_bits[bit_width=32 shape=()] a in (b,) }\n";
    kiln_prog *p;
    assert_int_equal(kiln_prog_parse(*state, text, strlen(text), "text", &p), KILN_UNSUPPORTED);
    assert_string_equal(kiln_ctx_error(*state)->message, "keys of the generator 'rbg' are not read");
    assert_non_null(strstr(kiln_ctx_error(*state)->accepted, "threefry2x32"));
}

/* An element type as the class that a program of Python names. */
static void classes(void **state)
{
    static const char *const good[] = {"<class 'jax.numpy.float32'>", "<class 'numpy.float32'>", "float32"}, *const bad[] = {"<class 'jax.numpy.quad'>", "<class 'float32'", "<class '"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[ROOM], *s;
        size_t n;
        snprintf(text, sizeof text, "{ lambda ; . let\n    a:f32[2] = empty[\n      dtype=%s\n      out_sharding=None\n      shape=(2,)\n    ] \n  in (a,) }\n", good[i]);
        kiln_prog *p = parse(*state, text);
        assert_ok(*state, kiln_prog_print(*state, p, 80, &s, &n));
        assert_non_null(strstr(s, "empty[dtype=float32 "));
        kiln_text_free(*state, s, n);
        kiln_prog_release(p);
        snprintf(text, sizeof text, "{ lambda ; . let\n    a:f32[2] = empty[dtype=%s shape=(2,)] \n  in (a,) }\n", bad[i]);
        assert_int_equal(kiln_prog_parse(*state, text, strlen(text), "text", &p), KILN_INVALID);
        assert_non_null(strstr(kiln_ctx_error(*state)->message, "no element type"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(while_of_lanes), cmocka_unit_test(branches_by_platform), cmocka_unit_test(powers_of_two),
                                       cmocka_unit_test(places), cmocka_unit_test(complex_extremes), cmocka_unit_test(wide_choice),
                                       cmocka_unit_test(eigenvectors), cmocka_unit_test(reflections),
                                       cmocka_unit_test(complex_log_sums), cmocka_unit_test(log_sum_windows), cmocka_unit_test(padded_windows), cmocka_unit_test(classes),
                                       cmocka_unit_test(gamma_variates), cmocka_unit_test(other_keys),
                                       cmocka_unit_test(low_rank), cmocka_unit_test(roots), cmocka_unit_test(checkpoints_by_another_name), cmocka_unit_test(convolution_of_bools)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
