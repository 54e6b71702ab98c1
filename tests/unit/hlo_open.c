/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO whose arguments leave a dimension open (tests/data/open): read once, compiled once, at every size the bits of the interpreter,
 * and those of the same text with the number in place of each `?`. */
#define _DEFAULT_SOURCE
#include "kiln/kiln.h"
#include "testing.h"

#include "sized_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t least;
    bool alone; /* every `?` of the text is n, and with a number there it can be read, too */
} files[] = {
    {"argmax", 0, true}, {"attention", 0, true}, {"concat", 0, false}, {"cond", 1, true}, {"cumsum", 0, false}, {"gather", 0, true}, {"grad", 0, true},
    {"mean", 0, true},   {"mlp", 0, true},       {"pad", 1, false},    {"scan", 1, true}, {"segment", 0, true}, {"softmax", 0, true}, {"tail", 1, false},
};
static const int64_t sizes[] = {0, 1, 2, 3, 17, 64, 257, 1000};

/* To be freed. */
static char *contents(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(text && fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

/* The text with n in place of each `?`. To be freed. */
static char *at_size(const char *text, int64_t n)
{
    char *out = calloc(8, strlen(text) + 1), *to = out;
    assert_non_null(out);
    for (; *text; text++)
        if (*text == '?') to += sprintf(to, "%lld", (long long)n);
        else *to++ = *text;
    return out;
}

/* The program for any size gives, at n, what the program for n alone gives. */
static void same_as_alone(kiln_ctx *ctx, const kiln_prog *p, const char *text, int64_t n, const char *name)
{
    kiln_prog *alone;
    kiln_array *in[8], *a[8], *b[8];
    guarded g[8];
    int64_t at;
    char *own = at_size(text, n);
    assert_ok(ctx, kiln_prog_parse(ctx, own, strlen(own), name, &alone));
    free(own);
    uint32_t nin = kiln_prog_n_inputs(alone), nout = kiln_prog_n_outputs(alone);
    assert_true(nin <= 8 && nout <= 8);
    for (uint32_t i = 0; i < nin; i++) g[i] = sized_fill(ctx, kiln_prog_input_type(alone, i), &in[i]);
    assert_ok(ctx, kiln_prog_eval(ctx, alone, in, a));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, b));
    for (uint32_t i = 0; i < nout; i++) {
        if (!kiln_type_equal(a[i]->type, b[i]->type) || !same_array(a[i], b[i], &at)) fail_msg("%s: size %lld: output %u differs", name, (long long)n, i);
        kiln_array_release(a[i]);
        kiln_array_release(b[i]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]), guarded_free(&g[i]);
    kiln_prog_release(alone);
}

static void all_files(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t c = 0; c < sizeof files / sizeof *files; c++) {
        const char *name = files[c].name;
        char path[4096];
        kiln_prog *p;
        kiln_exec *f;
        uint64_t before = ctx->counters.compiles;
        snprintf(path, sizeof path, "%s/open/%s.mlir", KILN_TEST_DATA, name);
        char *text = contents(path);
        assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), name, &p));
        assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            if (sized_run(ctx, p, f, sizes[k], name) != (sizes[k] < files[c].least ? KILN_SHAPE : KILN_OK)) fail_msg("%s: size %lld", name, (long long)sizes[k]);
            if (files[c].alone && sizes[k] > 0) same_as_alone(ctx, p, text, sizes[k], name);
        }
        assert_int_equal(ctx->counters.compiles - before, 1);
        kiln_exec_release(f);
        kiln_prog_release(p);
        free(text);
    }
}

#define MAIN(args, body) "func.func @main(" args ") -> tensor<f32> {\n%c = stablehlo.constant dense<0.0> : tensor<f32>\n" body "return %c : tensor<f32>\n}\n"
#define ROWS "tensor<?x4xf32>"
#define SIZE(name, of, dim) "%" name " = stablehlo.get_dimension_size %" of ", dim = " dim " : (" ROWS ") -> tensor<i32>\n"
#define VECTOR(name, of) "%" name " = stablehlo.reshape %" of " : (tensor<i32>) -> tensor<1xi32>\n"

/* What is not linear in n, has two sizes, or is written otherwise: at its place. */
static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *text, *says;
        int line;
    } t[] = {
        {MAIN("%a: " ROWS, SIZE("n", "a", "0") "%m = stablehlo.multiply %n, %n : tensor<i32>\n" VECTOR("s", "m")
              "%i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"),
         "a shape that is not known", 6},
        {MAIN("%a: " ROWS ", %s: tensor<1xi32>", "%i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"), "a shape that is not known", 3},
        {MAIN("%a: " ROWS, "%t = stablehlo.transpose %a, dims = [1, 0] : (" ROWS ") -> tensor<5x?xf32>\n"), "its result is f32[4,n], but tensor<5x?xf32> is written", 3},
        {MAIN("%a: " ROWS ", %b: " ROWS, SIZE("n", "a", "0") SIZE("m", "b", "0") "%two = stablehlo.add %n, %n : tensor<i32>\n"
              "%e = stablehlo.compare EQ, %two, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
              "stablehlo.custom_call @shape_assertion(%e) {error_message = \"\", has_side_effect = true} : (tensor<i1>) -> ()\n"),
         "an assertion about shapes fails", 7},
        {MAIN("%a: " ROWS, "%r = stablehlo.fft %a, type = RFFT, length = [4] : (" ROWS ") -> tensor<?x?xcomplex<f32>>\n"), "written", 3},
        {"func.func private @f(%a: tensor<?xf32>) -> tensor<?xf32> {\nreturn %a : tensor<?xf32>\n}\n" MAIN(
             "%a: tensor<?xf32>", "%b = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
                                  "%d = func.call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>\n%e = func.call @f(%b) : (tensor<?xf32>) -> tensor<?xf32>\n"),
         "@f is called with two different shapes", 8},
        {"func.func private @f(%a: tensor<?xf32>) -> tensor<?xf32> {\n%b = func.call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>\nreturn %b : tensor<?xf32>\n}\n" MAIN(
             "%a: tensor<?xf32>", "%d = func.call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>\n"),
         "@f calls itself", 2},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kiln_prog *p = NULL;
        char text[2000];
        kiln_status status = kiln_prog_parse(ctx, t[i].text, strlen(t[i].text), "refused", &p);
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        if (status == KILN_OK || !strstr(text, t[i].says) || kiln_ctx_error(ctx)->line != t[i].line) fail_msg("case %zu: %s", i, status == KILN_OK ? "accepted" : text);
        kiln_prog_release(p);
    }
}

/* A shape used as an array: made of the size at each call. */
static void shapes_as_values(void **state)
{
    static const char text[] = "func.func @main(%a: tensor<?x4xf32>) -> tensor<2xi32> {\n%c = stablehlo.constant dense<4> : tensor<1xi32>\n" SIZE("n", "a", "0")
        VECTOR("v", "n") "%s = stablehlo.concatenate %v, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\nreturn %s : tensor<2xi32>\n}\n";
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    kiln_array *a, *out;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "shape", &p));
    for (int64_t n = 1; n < 100; n += 41) {
        assert_ok(ctx, kiln_array_create(ctx, ((kiln_type){KILN_F32, 2, (const int64_t[]){n, 4}}), &a));
        assert_ok(ctx, kiln_prog_eval(ctx, p, &a, &out));
        const int32_t *v = kiln_array_read(out);
        assert_true(v[0] == n && v[1] == 4);
        kiln_array_release(a);
        kiln_array_release(out);
    }
    kiln_prog_release(p);
}

/* Numbers that are followed are those of their type, and what holds only where there is a row is counted out. */
static void numbers_wrap(void **state)
{
    static const struct {
        const char *type, *a, *b, *op;
        int64_t want;
    } t[] = {
        {"i32", "2147483647", "1", "add", INT32_MIN}, {"ui32", "4294967295", "2", "add", 1},      {"ui32", "0", "1", "subtract", UINT32_MAX},
        {"i32", "65536", "65536", "multiply", 0},     {"ui32", "65537", "65537", "multiply", 131073}, {"i32", "6", "3", "divide", 2},
        {"i32", "-7", "2", "divide", -3},             {"ui32", "5", "9", "minimum", 5},
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        for (int64_t n = 0; n < 2; n++) {
            char text[1000];
            kiln_prog *p;
            kiln_array *a, *out[3];
            snprintf(text, sizeof text,
                     "func.func @main(%%a: " ROWS ") -> (tensor<%s>, tensor<i1>, tensor<i1>) {\n%%x = stablehlo.constant dense<%s> : tensor<%s>\n"
                     "%%y = stablehlo.constant dense<%s> : tensor<%s>\n%%z = stablehlo.%s %%x, %%y : tensor<%s>\n%%i = stablehlo.convert %%y : (tensor<%s>) -> tensor<i1>\n"
                     "%%one = stablehlo.constant dense<1> : tensor<i32>\n%%n = stablehlo.get_dimension_size %%a, dim = 0 : (" ROWS ") -> tensor<i32>\n"
                     "%%c = stablehlo.compare GE, %%n, %%one : (tensor<i32>, tensor<i32>) -> tensor<i1>\nreturn %%z, %%i, %%c : tensor<%s>, tensor<i1>, tensor<i1>\n}\n",
                     t[i].type, t[i].a, t[i].type, t[i].b, t[i].type, t[i].op, t[i].type, t[i].type, t[i].type);
            assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "numbers", &p));
            assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F32, 2, (const int64_t[]){n, 4}}, &a));
            assert_ok(ctx, kiln_prog_eval(ctx, p, &a, out));
            uint32_t got = *(const uint32_t *)kiln_array_read(out[0]);
            if (got != (uint32_t)t[i].want) fail_msg("%s %s %s: %u", t[i].a, t[i].op, t[i].b, got);
            assert_true(*(const bool *)kiln_array_read(out[1]));
            assert_int_equal(*(const bool *)kiln_array_read(out[2]), n >= 1);
            for (int k = 0; k < 3; k++) kiln_array_release(out[k]);
            kiln_array_release(a);
            kiln_prog_release(p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_files), cmocka_unit_test(refused), cmocka_unit_test(shapes_as_values), cmocka_unit_test(numbers_wrap)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
