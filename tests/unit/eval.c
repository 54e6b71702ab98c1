/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter: results are the caller's own, control flow at its limits, modes, errors, running out of memory. */
#include "eval/eval.h"
#include "kiln/trace.h"
#include "prim/sample.h"
#include "base/fpmode.h"
#include "testing.h"

#include <math.h>

static kiln_array *array(kiln_ctx *ctx, kiln_type t, const void *data)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    if (a->bytes) memcpy(a->data, data, a->bytes);
    return a;
}
static kiln_array *f64s(kiln_ctx *ctx, int64_t n, const double *v) { return array(ctx, KILN_VECTOR(KILN_F64, n), v); }
static kiln_array *i32(kiln_ctx *ctx, int32_t v) { return array(ctx, KILN_SCALAR(KILN_I32), &v); }
static const double *doubles(const kiln_array *a) { return a->data; }

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]);
}

/* ---- results ---- */

static void test_results_are_own(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *c = f64s(ctx, 2, (double[]){5, 6}), *in = f64s(ctx, 2, (double[]){1, 2}), *out[5];
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", c->type), k = kiln_const(t, c);
    kiln_output(t, "", x);
    kiln_output(t, "", x);
    kiln_output(t, "", k);
    kiln_output(t, "", kiln_op1(t, "copy", x, __FILE__, __LINE__));
    kiln_output(t, "", kiln_scalar(t, KILN_F64, 3));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, out));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(atomic_load(&out[i]->refs), 1);
        assert_ptr_not_equal(out[i], in);
        assert_ptr_not_equal(out[i], c);
        ((double *)out[i]->data)[0] += 100;
    }
    assert_true(doubles(in)[0] == 1 && doubles(c)[0] == 5);
    assert_true(doubles(out[1])[0] == 101 && doubles(out[2])[0] == 105 && doubles(out[3])[0] == 101 && doubles(out[4])[0] == 103);
    release(out, 5);
    kiln_prog_release(p);
    assert_int_equal(atomic_load(&c->refs), 1);
    assert_int_equal(atomic_load(&in->refs), 1);
    kiln_array_release(c);
    kiln_array_release(in);
}

/* ---- control flow ---- */

static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], *(kiln_val *)user); }
static void grow(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I32, 1));
    next[1] = kiln_mul(t, carry[1], kiln_num(t, 2));
}
static void make_while(kiln_ctx *ctx, kiln_prog **p)
{
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val limit = kiln_input(t, "limit", KILN_SCALAR(KILN_I32)), x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 2)), out[2];
    kiln_while(t, below, grow, &limit, ((kiln_val[]){kiln_int(t, KILN_I32, 0), x}), 2, out);
    kiln_output(t, "i", out[0]);
    kiln_output(t, "y", out[1]);
    assert_ok(ctx, kiln_trace_finish(t, p));
}

static void test_while(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    make_while(ctx, &p);
    static const int32_t limits[] = {0, -1, 1, 10};
    for (int k = 0; k < 4; k++) {
        kiln_array *in[] = {i32(ctx, limits[k]), f64s(ctx, 2, (double[]){1, 3})}, *out[2];
        assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
        int trips = limits[k] > 0 ? limits[k] : 0;
        assert_int_equal(*(int32_t *)out[0]->data, trips);
        assert_true(doubles(out[1])[1] == ldexp(3, trips));
        assert_true(doubles(in[1])[1] == 3);
        release(in, 2), release(out, 2);
    }
    kiln_prog_release(p);
}

static void test_stop(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    bool stop = true;
    make_while(ctx, &p);
    kiln_array *in[] = {i32(ctx, 5), f64s(ctx, 2, (double[]){1, 3})}, *out[2];
    assert_int_equal(kn_prog_eval(ctx, p, in, out, &stop), KILN_CANCELLED);
    assert_null(out[0]);
    stop = false;
    assert_ok(ctx, kn_prog_eval(ctx, p, in, out, &stop));
    release(in, 2), release(out, 2);
    kiln_prog_release(p);
}

static void branch(kiln_trace *t, void *user, uint32_t k, kiln_val *out)
{
    out[0] = k == 2 ? *(kiln_val *)user : kiln_mul(t, *(kiln_val *)user, kiln_num(t, k + 10));
}
static void test_cond(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val k = kiln_input(t, "k", KILN_SCALAR(KILN_I32)), x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 1)), y;
    kiln_cond(t, k, 3, branch, &x, &y, 1);
    kiln_output(t, "y", y);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    static const struct {
        int32_t index;
        double factor;
    } cases[] = {{0, 10}, {1, 11}, {2, 1}, {3, 1}, {INT32_MAX, 1}, {-1, 10}, {INT32_MIN, 10}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        kiln_array *in[] = {i32(ctx, cases[c].index), f64s(ctx, 1, (double[]){2})}, *out;
        assert_ok(ctx, kiln_prog_eval(ctx, p, in, &out));
        assert_true(doubles(out)[0] == 2 * cases[c].factor);
        release(in, 2), release(&out, 1);
    }
    kiln_prog_release(p);
}

static void step(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    (void)user;
    next[0] = kiln_add(t, kiln_mul(t, carry[0], kiln_num(t, 10)), x[0]);
    y[0] = next[0];
}
static void test_scan(void **state)
{
    kiln_ctx *ctx = *state;
    for (int reverse = 0; reverse < 2; reverse++)
        for (int64_t n = 0; n < 4; n++) {
            kiln_trace *t;
            kiln_prog *p;
            assert_ok(ctx, kiln_trace_begin(ctx, &t));
            kiln_val xs = kiln_input(t, "xs", KILN_VECTOR(KILN_F64, n)), init = kiln_scalar(t, KILN_F64, 0), out[2];
            kiln_scan(t, step, NULL, &init, 1, &xs, 1, 1, n, reverse, out);
            kiln_output(t, "last", out[0]);
            kiln_output(t, "all", out[1]);
            assert_ok(ctx, kiln_trace_finish(t, &p));
            kiln_array *in = f64s(ctx, n, (double[]){1, 2, 3}), *y[2];
            assert_ok(ctx, kiln_prog_eval(ctx, p, &in, y));
            double want = 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t k = reverse ? n - 1 - i : i;
                want = want * 10 + (double)(k + 1);
                assert_true(doubles(y[1])[k] == want);
            }
            assert_true(doubles(y[0])[0] == want);
            release(&in, 1), release(y, 2);
            kiln_prog_release(p);
        }
}

/* ---- values that single primitives fix ---- */

static kiln_array *run1(kiln_ctx *ctx, kiln_trace *t, kiln_val y)
{
    kiln_prog *p;
    kiln_array *out;
    kiln_output(t, "y", y);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_ok(ctx, kiln_prog_eval(ctx, p, NULL, &out));
    kiln_prog_release(p);
    return out;
}
static kiln_val constant(kiln_ctx *ctx, kiln_trace *t, kiln_type type, const void *v)
{
    kiln_array *a = array(ctx, type, v);
    kiln_val x = kiln_const(t, a);
    kiln_array_release(a);
    return x;
}
static void expect(kiln_array *y, size_t n, const double *want) /* releases y */
{
    assert_int_equal(y->bytes, n * sizeof *want);
    assert_memory_equal(y->data, want, y->bytes);
    kiln_array_release(y);
}
#define EXPECT(y, ...) expect((y), sizeof((double[])__VA_ARGS__) / sizeof(double), (double[])__VA_ARGS__)

static void test_cumulative(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_type type = {KILN_F64, 2, (int64_t[]){3, 2}};
    static const double v[] = {-0.0, 1e16, 1, 1, 2, -1e16};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumsum", constant(ctx, t, type, v), 0, false)), {-0.0, 1e16, 1, 1e16, 3, 0});
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumsum", constant(ctx, t, type, v), 0, true)), {3, 0, 3, -1e16, 2, -1e16});
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cummax", constant(ctx, t, type, v), 1, false)), {-0.0, 1e16, 1, 1, 2, 2});
    /* the first result is the first element, not its product with one: that would make NaN of an infinity's other part */
    static const double c[] = {-(double)INFINITY, 2, 3, 0};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumprod", constant(ctx, t, (kiln_type){KILN_C128, 2, (int64_t[]){2, 1}}, c), 1, false)), {c[0], 2, 3, 0});
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumprod", constant(ctx, t, (kiln_type){KILN_C128, 1, (int64_t[]){1}}, c), 0, true)), {c[0], 2});
    static const double d[] = {1, 2, 3, -1, 0, 2};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumprod", constant(ctx, t, (kiln_type){KILN_C128, 1, (int64_t[]){3}}, d), 0, false)), {1, 2, 5, 5, -10, 10});
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    EXPECT(run1(ctx, t, kiln_cumulative(t, "cumprod", constant(ctx, t, (kiln_type){KILN_C128, 1, (int64_t[]){3}}, d), 0, true)), {-10, 10, 2, 6, 0, 2});
}

/* A complex element may be a real number, or an imaginary one. */
static void test_complex_text(void **state)
{
    kiln_array *a;
    static const double want[] = {1, 0, 0, 2, -3, 4, 5, -6, (double)INFINITY, 0};
    assert_ok(*state, kiln_array_parse(*state, "c128[5]:1,2j,-3+4j,(5-6j),inf", &a));
    expect(a, sizeof want / sizeof *want, want);
}

static void test_windows(void **state)
{
    kiln_ctx *ctx = *state;
    static const double v[] = {0, 1, 2, 3, 4};
    static const struct {
        int64_t start, at;
    } cases[] = {{-5, 0}, {0, 0}, {2, 2}, {3, 3}, {4, 3}, {INT64_MAX, 3}, {INT64_MIN, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        kiln_trace *t;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val start = kiln_int(t, KILN_I64, cases[c].start), x = constant(ctx, t, KILN_VECTOR(KILN_F64, 5), v);
        kiln_array *y = run1(ctx, t, kiln_dynamic_slice(t, x, &start, (int64_t[]){2}));
        assert_true(doubles(y)[0] == (double)cases[c].at && doubles(y)[1] == (double)cases[c].at + 1);
        kiln_array_release(y);
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        start = kiln_int(t, KILN_I64, cases[c].start), x = constant(ctx, t, KILN_VECTOR(KILN_F64, 5), v);
        y = run1(ctx, t, kiln_dynamic_update_slice(t, x, constant(ctx, t, KILN_VECTOR(KILN_F64, 2), (double[]){8, 9}), &start));
        for (int i = 0; i < 5; i++) {
            int64_t k = i - cases[c].at;
            assert_true(doubles(y)[i] == (k == 0 ? 8 : k == 1 ? 9 : v[i]));
        }
        kiln_array_release(y);
    }
}

static void test_pad(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    static const double v[] = {1, 2, 3};
    static const struct {
        int64_t lo, hi, interior;
        int64_t n;
        double want[12];
    } cases[] = {{1, 2, 0, 6, {9, 1, 2, 3, 9, 9}}, {-1, 1, 0, 3, {2, 3, 9}},     {0, 0, 1, 5, {1, 9, 2, 9, 3}},
                 {-1, -1, 1, 3, {9, 2, 9}},        {-3, 0, 0, 0, {0}},           {-4, 2, 1, 3, {3, 9, 9}},
                 {2, -3, 2, 6, {9, 9, 1, 9, 9, 2}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val x = constant(ctx, t, KILN_VECTOR(KILN_F64, 3), v);
        kiln_array *y = run1(ctx, t, kiln_pad(t, x, kiln_scalar(t, KILN_F64, 9), &cases[c].lo, &cases[c].hi, &cases[c].interior));
        assert_int_equal(y->type.dims[0], cases[c].n);
        assert_memory_equal(y->data, cases[c].want, y->bytes);
        kiln_array_release(y);
    }
}

/* ---- modes and errors ---- */

static void test_mode(void **state)
{
    (void)state;
#if defined(__x86_64__)
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 2));
    kiln_output(t, "y", kiln_mul(t, x, kiln_num(t, 0x1p-1000)));
    kiln_output(t, "z", kiln_div(t, x, kiln_num(t, 3)));
    kiln_output(t, "w", kiln_div(t, kiln_num(t, 0), kiln_sub(t, x, x)));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    kiln_array *in = f64s(ctx, 2, (double[]){0x1p-60, 1}), *want[3], *got[3];
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, want));
    assert_true(doubles(want[0])[0] == 0x1p-1060);
    uint32_t normal = kn_fpmode_get();
    static const uint32_t modes[] = {0x1f80 | 0x8040, 0x1f80 | 0x2000, 0x1f80 | 0x4000, 0x1f80 | 0x6000, 0x0000, 0xffc0};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) { /* flushing, the roundings, all traps enabled, everything */
        kn_fpmode_set(modes[m]);
        kiln_status s = kiln_prog_eval(ctx, p, &in, got);
        uint32_t after = kn_fpmode_get();
        kn_fpmode_set(normal);
        assert_ok(ctx, s);
        assert_int_equal(after, modes[m]);
        for (int i = 0; i < 3; i++) assert_memory_equal(got[i]->data, want[i]->data, want[i]->bytes);
        release(got, 3);
    }
    release(want, 3);
    kiln_array_release(in);
    kiln_prog_release(p);
#endif
}

static void test_errors(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *out, *wrong = f64s(ctx, 3, (double[]){1, 2, 3}), *type = i32(ctx, 1);
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "speed", KILN_VECTOR(KILN_F64, 2));
    kiln_output(t, "y", kiln_neg(t, x));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(kiln_prog_eval(ctx, p, &wrong, &out), KILN_SHAPE);
    assert_says(ctx, "input 0, speed is f64[3], but the program takes f64[2]");
    assert_int_equal(kiln_prog_eval(ctx, p, &type, &out), KILN_DTYPE);
    kiln_prog_release(p);
    /* what has no meaning for complex numbers is refused with the place */
    kiln_type c128 = KILN_VECTOR(KILN_C128, 1);
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_output(t, "y", kiln_op1(t, "erf", kiln_input(t, "z", c128), __FILE__, __LINE__));
    assert_int_equal(kiln_trace_finish(t, &p), KILN_DTYPE);
    assert_says(ctx, "erf");
    assert_non_null(strstr(kiln_ctx_error(ctx)->file, "eval.c"));
    kiln_array_release(wrong);
    kiln_array_release(type);
}

/* ---- memory ---- */

static kiln_status sample_and_eval(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *o)
{
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS], *out[64];
    uint32_t nin;
    KILN_TRY(kn_sample_program(ctx, prim, o, &p, in, &nin));
    kiln_status s = kiln_prog_eval(ctx, p, in, out);
    uint32_t nout = kiln_prog_n_outputs(p);
    if (s == KILN_OK) release(out, nout);
    release(in, nin);
    kiln_prog_release(p);
    return s;
}

static void test_nth_allocation(void **state)
{
    (void)state;
    static const char *const names[] = {"add", "select_n", "pad", "concatenate", "dot_general", "reduce_sum", "scan", "while", "cond", "jit", "asinh", "integer_pow", "argmax", "split"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            const kn_prim *prim = kn_prim_find(names[i], strlen(names[i]));
            bool failed = true;
            for (int n = 1; failed; n++) {
                assert_true(n < 5000);
                kiln_ctx *ctx = test_ctx_failing(n);
                if (!ctx) continue;
                kiln_status s = sample_and_eval(ctx, prim, &(kn_sample_opts){.seed = seed, .length = 5});
                failed = test_ctx_failed(ctx);
                assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
                test_ctx_release(ctx);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_own), cmocka_unit_test(test_while),   cmocka_unit_test(test_stop),
        cmocka_unit_test(test_cond),            cmocka_unit_test(test_scan),    cmocka_unit_test(test_cumulative),
        cmocka_unit_test(test_complex_text),
        cmocka_unit_test(test_windows),         cmocka_unit_test(test_pad),     cmocka_unit_test(test_mode),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_nth_allocation),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
