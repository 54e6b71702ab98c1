/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction is its first value combined with all elements, whichever order is chosen for its operation: on elements of which no order
 * rounds, it gives the bits of a fold from left to right by the same operation behind a barrier. All types, first values, lengths, both sides. */
#include "array/array.h"
#include "kiln/kiln.h"
#include "same.h"
#include "testing.h"

static const double values[] = {-0.0, 0.0, 1.0, -1.0};
enum { N_VALUES = 4 };

typedef struct kind {
    const char *mlir, *operations; /* first letters */
    kiln_dtype d;
} kind;
static const kind kinds[] = {
    {"f16", "amxn", KILN_F16}, {"bf16", "amxn", KILN_BF16}, {"f32", "amxn", KILN_F32},          {"f64", "amxn", KILN_F64},
    {"i32", "amxnbox", KILN_I32}, {"ui8", "amxnbox", KILN_U8}, {"complex<f32>", "am", KILN_C64}, {"complex<f64>", "am", KILN_C128},
    {"i1", "box", KILN_BOOL},
};

static const char *operation(char letter)
{
    switch (letter) {
    case 'a': return "add";
    case 'm': return "multiply";
    case 'x': return "maximum";
    case 'n': return "minimum";
    case 'b': return "and";
    case 'o': return "or";
    default: return "xor";
    }
}

static void put_body(char *s, size_t n, const char *op, const char *t, bool barrier)
{
    snprintf(s, n,
             "({\n  ^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n    %%r = stablehlo.%s %%a, %%b : tensor<%s>\n%s%s%s    stablehlo.return %%%s : tensor<%s>\n  })",
             t, t, op, t, barrier ? "    %q = stablehlo.optimization_barrier %r : tensor<" : "", barrier ? t : "", barrier ? ">\n" : "", barrier ? "q" : "r", t);
}

/* The first value is an operand, or stands in the text as `first`; a window of two reaches past the start. */
static kiln_prog *program(kiln_ctx *ctx, const char *t, const char *op, int64_t n, const char *first, bool barrier, bool window)
{
    char text[2048], body[512], result[64], given[128];
    kiln_prog *p;
    put_body(body, sizeof body, op, t, barrier);
    snprintf(result, sizeof result, window ? "tensor<%lldx%s>" : "tensor<%.0lld%s>", (long long)(window ? n : 0), t);
    if (first) snprintf(given, sizeof given, "  %%i = stablehlo.constant dense<%s> : tensor<%s>\n", first, t);
    else given[0] = 0;
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%lldx%s>, %%%s: tensor<%s>) -> %s {\n%s  %%y = \"stablehlo.%s\"(%%x, %%i) <{%s}> %s : (tensor<%lldx%s>, tensor<%s>) -> %s\n  return %%y : %s\n}\n",
             (long long)n, t, first ? "unused" : "i", t, result, given, window ? "reduce_window" : "reduce",
             window ? "window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>" : "dimensions = array<i64: 0>", body, (long long)n, t, t,
             result, result);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

static void fill(kiln_array *a, double v)
{
    kiln_dtype d = a->type.dtype;
    char k = kiln_dtype_kind(d);
    kn_scalar s = {.u = 0};
    if (k == 'f') s.f = v;
    else if (k == 'c') s.c[0] = v, s.c[1] = -v;
    else if (k == 'b') s.b = v == 1;
    else s.i = v < 0 ? 3 : (int64_t)v;
    for (int64_t i = 0, n = kiln_type_size(a->type); i < n; i++) kn_scalar_store(d, a->data, i, s);
}

static void compare(kiln_ctx *ctx, const kind *k, const char *op, int64_t n, const char *first, bool window)
{
    kiln_prog *p[2];
    kiln_exec *f[2];
    kiln_array *in[2], *y[3];
    for (int b = 0; b < 2; b++) {
        p[b] = program(ctx, k->mlir, op, n, first, b == 1, window);
        assert_ok(ctx, kiln_compile(ctx, p[b], NULL, &f[b]));
    }
    for (int i = 0; i < 2; i++) assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p[0], (uint32_t)i), &in[i]));
    for (int v = 0; v < N_VALUES * N_VALUES; v++) {
        fill(in[0], values[v / N_VALUES]);
        fill(in[1], values[v % N_VALUES]);
        assert_ok(ctx, kiln_prog_eval(ctx, p[1], in, &y[0]));
        assert_ok(ctx, kiln_prog_eval(ctx, p[0], in, &y[1]));
        assert_ok(ctx, kiln_exec_call(ctx, f[0], in, &y[2]));
        for (int s = 1; s < 3; s++)
            if (!same_array(y[0], y[s], NULL))
                fail_msg("%s of %lld %s: %g from %s %g, %s", op, (long long)n, k->mlir, values[v / N_VALUES], first ? first : "an operand", values[v % N_VALUES],
                         s == 1 ? "interpreted" : "compiled");
        for (int s = 0; s < 3; s++) kiln_array_release(y[s]);
    }
    for (int i = 0; i < 2; i++) kiln_array_release(in[i]), kiln_exec_release(f[i]), kiln_prog_release(p[i]);
}

static void test_any_first_value(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 7, 80};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (const char *o = kinds[k].operations; *o; o++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                compare(*state, &kinds[k], operation(*o), lengths[i], NULL, false);
                if (lengths[i] > 2) compare(*state, &kinds[k], operation(*o), lengths[i], NULL, true);
            }
}

/* What the text says is recognised when it is read: a sum from 0 and one from -0 are two. */
static void test_first_value_in_the_text(void **state)
{
    static const char *const firsts[] = {"-0.0", "0.0", "1.0"};
    for (size_t k = 0; k < 4; k++)
        for (const char *o = kinds[k].operations; *o; o++)
            for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
                for (int64_t n = 0; n < 8; n += 7) compare(*state, &kinds[k], operation(*o), n, firsts[i], false);
    static const char *const pairs[] = {"(-0.0, -0.0)", "(-0.0, 0.0)", "(0.0, 0.0)"};
    for (size_t k = 6; k < 8; k++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            for (int64_t n = 0; n < 8; n += 7) compare(*state, &kinds[k], "add", n, pairs[i], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_first_value),
        cmocka_unit_test(test_first_value_in_the_text),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
