/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Jacobians: the pattern and the number of colours of known shapes; and for every primitive's samples that the elements stored are
 * those of the dense Jacobian, and that what is not stored is zero there. */
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "kiln/transform.h"
#include "prim/sample.h"
#include "testing.h"

#include "array/array.h"
#include "ir/prim.h"

#include <math.h>

enum { MOST = 24 };

static double number(const kiln_array *a, int64_t k)
{
    kn_scalar s = kn_scalar_load(a->type.dtype, a->data, k);
    return kiln_dtype_kind(a->type.dtype) == 'c' ? s.c[0] : s.f;
}

/* Zero; or NaN: a unit vector's zero times what is infinite. */
static bool is_none(double v) { return v == 0 || v != v; }

/* indptr, indices, values (y) against dense (d), of rows by columns; how many are stored. Interpreted or compiled. */
static int64_t compare(kiln_array *const *y, const kiln_array *d, int64_t columns, bool *good)
{
    const int32_t *first = y[0]->data, *index = y[1]->data;
    int64_t rows = kiln_type_size(y[0]->type) - 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = 0;
        for (int32_t k = first[r]; k < first[r + 1]; k++) {
            for (; c < index[k]; c++) *good = *good && is_none(number(d, r * columns + c));
            double a = number(y[2], k), b = number(d, r * columns + c);
            *good = *good && (a == b || fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b)) || (a != a && b != b));
            c++;
        }
        for (; c < columns; c++) *good = *good && is_none(number(d, r * columns + c));
    }
    return first[rows];
}

static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, uint64_t *state)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t i = 0, n = kiln_type_size(t); i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        kn_scalar v = {.f = (double)(*state >> 40) / (1 << 24) + 0.25};
        if (kiln_dtype_kind(t.dtype) == 'c') v = (kn_scalar){.c = {v.f, 1 - v.f / 2}};
        else if (kiln_dtype_kind(t.dtype) != 'f') v = (kn_scalar){.i = (int64_t)(*state >> 62)};
        kn_scalar_store(t.dtype, a->data, i, v);
    }
    return a;
}

/* All results of p against jacfwd in operand wrt; info of the sparse one. The operands may be given. */
static void check(kiln_ctx *ctx, const kiln_prog *p, uint32_t wrt, kiln_array *const *given, bool compiled, kiln_sparse_info *info, int line)
{
    kiln_array *in[MOST] = {NULL}, *dense[MOST] = {NULL}, *y[MOST] = {NULL};
    kiln_prog *d, *s;
    uint32_t n = kiln_prog_n_inputs(p);
    uint64_t state = 7;
    assert_true(n <= MOST);
    for (uint32_t i = 0; i < n; i++) in[i] = given ? kiln_array_retain(given[i]) : numbers(ctx, kiln_prog_input_type(p, i), &state);
    assert_ok(ctx, kiln_prog_jacfwd(ctx, p, &wrt, 1, &d));
    assert_ok(ctx, kiln_prog_sparse_jacobian(ctx, p, wrt, info, &s));
    assert_ok(ctx, kn_verify(ctx, s));
    uint32_t results = kiln_prog_n_outputs(d);
    assert_true(3 * results <= MOST);
    assert_int_equal(kiln_prog_n_outputs(s), 3 * results);
    assert_ok(ctx, kiln_prog_eval(ctx, d, in, dense));
    if (compiled) {
        kiln_exec *f;
        assert_ok(ctx, kiln_compile(ctx, s, NULL, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, in, y));
        kiln_exec_release(f);
    } else {
        assert_ok(ctx, kiln_prog_eval(ctx, s, in, y));
    }
    int64_t columns = kiln_type_size(kiln_prog_input_type(p, wrt)), stored = 0;
    bool good = true;
    for (uint32_t q = 0; q < results; q++) stored += compare(y + (size_t)3 * q, dense[q], columns, &good);
    if (stored != info->elements) good = false;
    for (uint32_t i = 0; i < MOST; i++) kiln_array_release(in[i]), kiln_array_release(dense[i]), kiln_array_release(y[i]);
    kiln_prog_release(d);
    kiln_prog_release(s);
    if (!good) {
        char *text;
        size_t size;
        assert_ok(ctx, kiln_prog_print(ctx, p, 80, &text, &size));
        print_error("in operand %u of\n%s", wrt, text);
        _fail(__FILE__, line);
    }
}

static void check_text(kiln_ctx *ctx, const char *text, uint32_t elements, uint32_t colours, bool reverse, int line)
{
    kiln_prog *p;
    kiln_sparse_info info;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    check(ctx, p, 0, NULL, true, &info, line);
    if (info.elements != elements || info.colours != colours || info.reverse != reverse) {
        print_error("%u elements, %u colours%s of\n%s\n", info.elements, info.colours, info.reverse ? ", in reverse" : "", text);
        _fail(__FILE__, line);
    }
    kiln_prog_release(p);
}
#define CHECK(elements, colours, reverse, text) check_text(ctx, (text), (elements), (colours), (reverse), __LINE__)

static void shapes(void **state)
{
    kiln_ctx *ctx = *state;
    /* each for itself */
    CHECK(5, 1, false, "{ lambda ; a:f64[5]. let b:f64[5] = sin a; c:f64[5] = mul b a in (c,) }");
    /* a rod with held ends: rows without elements, three diagonals */
    CHECK(18, 3, false, "{ lambda ; a:f64[8]. let b:f64[6] = slice[limit_indices=(6,) start_indices=(0,) strides=None] a\n"
                        "    c:f64[6] = slice[limit_indices=(7,) start_indices=(1,) strides=None] a\n"
                        "    d:f64[6] = slice[limit_indices=(8,) start_indices=(2,) strides=None] a; e:f64[6] = add b d; f:f64[6] = mul e c\n"
                        "    g:f64[8] = pad[padding_config=((1, 1, 0),)] f 0.0:f64[] in (g,) }");
    /* blocks of 3 */
    CHECK(36, 3, false, "{ lambda ; a:f64[12] k:f64[4,3,3]. let b:f64[4,3] = reshape[dimensions=None new_sizes=(4, 3) sharding=None] a\n"
                        "    c:f64[4,3] = dot_general[dimension_numbers=(([2], [1]), ([0], [0])) preferred_element_type=float64] k b in (c,) }");
    /* nothing at all */
    CHECK(0, 0, false, "{ lambda ; a:f64[5]. let b:f64[5] = stop_gradient a; c:f64[5] = sign a; d:f64[5] = mul b c in (d,) }");
    /* one row that reads all: its transpose has one column, and rows are taken together */
    CHECK(12, 2, true, "{ lambda ; a:f64[6]. let b:f64[6] = sin a; c:f64[] = reduce_sum[axes=(0,) out_sharding=None] b; d:f64[6] = exp a in (c, d) }");
    /* one column that all read */
    CHECK(11, 2, false, "{ lambda ; a:f64[6]. let b:f64[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] a\n"
                        "    c:f64[6] = mul a b in (c,) }");
    /* a triangle */
    CHECK(15, 5, false, "{ lambda ; a:f64[5]. let b:f64[5] = cumsum[axis=0 reverse=False] a in (b,) }");
    CHECK(15, 5, false, "{ lambda ; a:f64[5]. let b:f64[5] = cumsum[axis=0 reverse=True] a in (b,) }");
    /* a kernel of 3 taps */
    CHECK(24, 3, false, "{ lambda ; a:f64[1,1,10] k:f64[1,1,3]. let b:f64[1,1,8] = conv_general_dilated[batch_group_count=1\n"
                        "    dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2)) feature_group_count=1 lhs_dilation=(1,) out_sharding=None\n"
                        "    padding=((0, 0),) precision=None preferred_element_type=None rhs_dilation=(1,) window_strides=(1,)] a k in (b,) }");
    /* a branch by a number: the one taken; by an operand: both */
    CHECK(3, 1, false, "{ lambda ; a:f64[3]. let b:f64[3] = cond[branches=({ lambda ; c:f64[3]. let d:f64[3] = sin c in (d,) }\n"
                       "    { lambda ; e:f64[3]. let f:f64[3] = rev[dimensions=(0,)] e in (f,) })] 0:i32[] a in (b,) }");
    CHECK(5, 2, false, "{ lambda ; a:f64[3] i:i32[]. let b:f64[3] = cond[branches=({ lambda ; c:f64[3]. let d:f64[3] = sin c in (d,) }\n"
                       "    { lambda ; e:f64[3]. let f:f64[3] = rev[dimensions=(0,)] e in (f,) })] i a in (b,) }");
    /* where an index is not a number all that it may reach is stored */
    CHECK(10, 2, true, "{ lambda ; a:f64[5] i:i32[]. let b:f64[2] = dynamic_slice[slice_sizes=(2,)] a i in (b,) }");
    CHECK(2, 1, false, "{ lambda ; a:f64[5] i:i32[]. let b:f64[2] = dynamic_slice[slice_sizes=(2,)] a 1:i32[] in (b,) }");
    /* a spectrum depends on everything */
    CHECK(16, 4, false, "{ lambda ; a:f64[4]. let b:c128[3] = fft[fft_lengths=(4,) fft_type=RFFT] a; c:f64[3] = real b; d:f64[2] = slice[limit_indices=(4,) start_indices=(2,) strides=None] a\n"
                        "    e:f64[5] = concatenate[dimension=0] c d; f:f64[5] = mul e e; g:f64[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] a\n"
                        "    h:f64[5] = mul f g in (h,) }");
}

/* x[i+1] and x[i-1] are read at indices that count, in a scan; a loop with known trips, one without. */
static void loops(void **state)
{
    kiln_ctx *ctx = *state;
    /* y[i] = x[i] x[i+1]: slices at a counter */
    CHECK(8, 2, false, "{ lambda ; a:f64[5]. let\n"
                       "    b:i32[] c:f64[4] = scan[jaxpr={ lambda ; d:f64[5] i:i32[]. let e:f64[2] = dynamic_slice[slice_sizes=(2,)] d i\n"
                       "        f:f64[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] e; g:f64[1] = slice[limit_indices=(2,) start_indices=(1,) strides=None] e\n"
                       "        h:f64[1] = mul f g; k:f64[] = squeeze[dimensions=(0,)] h; j:i32[] = add i 1:i32[] in (j, k) }\n"
                       "      length=4 num_carry=1 num_consts=1 reverse=False unroll=1] a 0:i32[] in (c,) }");
    /* two trips of a three point stencil: five diagonals */
    CHECK(44, 5, false, "{ lambda ; a:f64[10]. let b:f64[10] = scan[jaxpr={ lambda ; c:f64[10]. let\n"
                        "      d:f64[10] = pad[padding_config=((1, -1, 0),)] c 0.0:f64[]; e:f64[10] = pad[padding_config=((-1, 1, 0),)] c 0.0:f64[]\n"
                        "      f:f64[10] = add d e; g:f64[10] = add f c; h:f64[10] = sin g in (h,) }\n"
                        "    length=2 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
    CHECK(44, 5, false, "{ lambda ; a:f64[10]. let i:i32[] b:f64[10] = while[\n"
                        "    body_jaxpr={ lambda ; n:i32[] c:f64[10]. let d:f64[10] = pad[padding_config=((1, -1, 0),)] c 0.0:f64[]\n"
                        "      e:f64[10] = pad[padding_config=((-1, 1, 0),)] c 0.0:f64[]; f:f64[10] = add d e; g:f64[10] = add f c; h:f64[10] = sin g\n"
                        "      m:i32[] = add n 1:i32[] in (m, h) } body_nconsts=0\n"
                        "    cond_jaxpr={ lambda ; n:i32[] c:f64[10]. let p:bool[] = lt n 2:i32[] in (p,) } cond_nconsts=0] 0:i32[] a in (b,) }");
    /* blocks of 2 that stay blocks, however many trips */
    CHECK(16, 2, false, "{ lambda ; a:f64[4,2] k:i32[]. let i:i32[] b:f64[4,2] = while[\n"
                        "    body_jaxpr={ lambda ; n:i32[] c:f64[4,2]. let d:f64[4,2] = rev[dimensions=(1,)] c; e:f64[4,2] = mul c d; m:i32[] = sub n 1:i32[] in (m, e) }\n"
                        "    body_nconsts=0 cond_jaxpr={ lambda ; n:i32[] c:f64[4,2]. let p:bool[] = gt n 0:i32[] in (p,) } cond_nconsts=0] k a in (b,) }");
}

/* The matrix is a constant of the program: its zeros count. */
static void banded(void **state)
{
    enum { N = 30, WIDTH = 2 };
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *m;
    kiln_sparse_info info;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 2, (int64_t[]){N, N}}, &m));
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) ((double *)m->data)[r * N + c] = abs(r - c) <= WIDTH ? 1.05 + 0.1 * r - 0.3 * c : 0;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, N)), a = kiln_const(t, m);
    kiln_val y = kiln_dot(t, a, kiln_tanh(t, x), ((int64_t[]){1}), ((int64_t[]){0}), 1, NULL, NULL, 0);
    kiln_output(t, "y", kiln_mul(t, y, x));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    check(ctx, p, 0, NULL, true, &info, __LINE__);
    assert_int_equal(info.colours, 2 * WIDTH + 1);
    assert_int_equal(info.elements, N * (2 * WIDTH + 1) - WIDTH * (WIDTH + 1));
    kiln_prog_release(p);
    kiln_array_release(m);
}

/* The number of colours does not grow with the rod. */
static void long_rod(void **state)
{
    kiln_ctx *ctx = *state;
    for (int64_t n = 10; n <= 10000; n *= 10) {
        kiln_trace *t;
        kiln_prog *p, *s;
        kiln_sparse_info info;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F32, n)), zero = kiln_scalar(t, KILN_F32, 0);
        kiln_val left = kiln_pad(t, x, zero, ((int64_t[]){1}), ((int64_t[]){-1}), ((int64_t[]){0}));
        kiln_val right = kiln_pad(t, x, zero, ((int64_t[]){-1}), ((int64_t[]){1}), ((int64_t[]){0}));
        kiln_output(t, "y", kiln_add(t, x, kiln_mul(t, kiln_sub(t, kiln_add(t, left, right), kiln_mul(t, x, kiln_num(t, 2))), kiln_exp(t, x))));
        assert_ok(ctx, kiln_trace_finish(t, &p));
        assert_ok(ctx, kiln_prog_sparse_jacobian(ctx, p, 0, &info, &s));
        assert_int_equal(info.rows, n);
        assert_int_equal(info.elements, 3 * n - 2);
        assert_int_equal(info.colours, 3);
        assert_false(info.reverse);
        kiln_prog_release(p);
        kiln_prog_release(s);
    }
}

/* What is made is a program like others. */
static void transformed(void **state)
{
    kiln_ctx *ctx = *state;
    const char *text = "{ lambda ; a:f64[3] b:f64[]. let c:f64[3] = sin a; d:f64[3] = mul c b in (d,) }";
    kiln_prog *p, *q;
    kiln_array *in[2], *y[4];
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kiln_prog_transform(ctx, p, "vmap:0*2,None(sparse_jacobian:0)", NULL, 0, &q));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[2,3]:1,2,3,4,5,6", &in[0]));
    assert_ok(ctx, kiln_array_parse(ctx, "f64[]:2", &in[1]));
    assert_ok(ctx, kiln_prog_eval(ctx, q, in, y));
    for (int i = 0; i < 6; i++) assert_true(fabs(((double *)y[2]->data)[i] - 2 * cos(i + 1)) < 1e-14);
    for (int i = 0; i < 3; i++) kiln_array_release(y[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(in[i]);
    kiln_prog_release(q);
    assert_int_equal(kiln_prog_transform(ctx, p, "sparse_jacobian:0,1", NULL, 0, &q), KILN_INVALID);
    assert_int_equal(kiln_prog_sparse_jacobian(ctx, p, 2, NULL, &q), KILN_INVALID);
    kiln_prog_release(p);
}

/* Every primitive's samples: stored elements are right, and nothing is missing. */
static void samples(void **state)
{
    kiln_ctx *ctx = *state;
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    unsigned checked = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const kn_sample_opts o = {.seed = seed, .length = 4, .dtypes = 1u << KILN_F64 | 1u << KILN_I32 | 1u << KILN_BOOL};
            kiln_prog *p, *d;
            kiln_array *in[KN_SAMPLE_INPUTS];
            uint32_t nin;
            if (!prims[k]->jvp || !prims[k]->sample || kn_sample_program(ctx, prims[k], &o, &p, in, &nin) != KILN_OK) continue;
            uint64_t random = seed;
            bool floats = false;
            for (uint32_t i = 0; i < nin; i++) {
                if (kiln_dtype_kind(in[i]->type.dtype) != 'f') continue;
                kiln_array *tame = numbers(ctx, in[i]->type, &random);
                kiln_array_release(in[i]);
                in[i] = tame;
            }
            for (uint32_t q = 0; q < kiln_prog_n_outputs(p); q++) floats |= kn_has_tangent(kiln_prog_output_type(p, q));
            for (uint32_t i = 0; i < nin && floats; i++) {
                kiln_sparse_info info;
                if (kiln_dtype_kind(in[i]->type.dtype) != 'f' || 3 * kiln_prog_n_outputs(p) > MOST) continue;
                if (kiln_prog_jacfwd(ctx, p, &i, 1, &d) != KILN_OK) continue;
                kiln_prog_release(d);
                check(ctx, p, i, in, false, &info, __LINE__);
                checked++;
            }
            for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
            kiln_prog_release(p);
        }
    assert_true(checked > 300);
}

static void no_memory(void **state)
{
    (void)state;
    const char *text = "{ lambda ; a:f64[4]. let b:f64[4] = scan[jaxpr={ lambda ; c:f64[4]. let d:f64[4] = pad[padding_config=((1, -1, 0),)] c 0.0:f64[]\n"
                       "    e:f64[4] = mul d c in (e,) } length=2 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }";
    for (int n = 1, failed = 1; failed; n += n < 150 ? 1 : 11) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *f = NULL, *p = NULL;
        kiln_status s = kiln_prog_parse(ctx, text, strlen(text), "text", &f);
        if (s == KILN_OK) s = kiln_prog_sparse_jacobian(ctx, f, 0, NULL, &p);
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        kiln_prog_release(p);
        kiln_prog_release(f);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(loops), cmocka_unit_test(banded), cmocka_unit_test(long_rod),
                                       cmocka_unit_test(transformed), cmocka_unit_test(samples), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
