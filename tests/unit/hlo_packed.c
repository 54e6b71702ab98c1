/* SPDX-License-Identifier: Apache-2.0 */
/* Large constants leave the text while it is read: the same values, places and errors as from a text in memory. */
#include <fcntl.h>

#include "hlo/hlo.h"
#include "ir/ir.h"
#include "testing.h"

enum { ELEMENTS = 40000, DIGITS = 8 * ELEMENTS };

/* The digits of ELEMENTS small floats, all different. */
static char *digits(void)
{
    char *s = malloc(DIGITS + 1);
    assert_non_null(s);
    for (int i = 0; i < ELEMENTS; i++) {
        float v = (float)i * 0.25f - 7;
        unsigned char b[4];
        memcpy(b, &v, 4);
        snprintf(s + 8 * i, 9, i % 2 ? "%02x%02x%02x%02x" : "%02X%02X%02X%02X", b[0], b[1], b[2], b[3]);
    }
    return s;
}

/* A module whose result is a constant written as `value`, with `tail` behind it. */
static char *module(const char *value, const char *type, const char *tail)
{
    size_t n = strlen(value) + 1000;
    char *s = malloc(n);
    assert_non_null(s);
    snprintf(s, n, "module @m {\n  func.func public @main() -> %s {\n    %%0 = stablehlo.constant %s : %s\n    return %%0 : %s\n  }\n}\n%s", type, value,
             type, type, tail);
    return s;
}

static char *dense(const char *hex, const char *more)
{
    size_t n = strlen(hex) + 100;
    char *s = malloc(n);
    assert_non_null(s);
    snprintf(s, n, "dense<\"0x%s%s\">", hex, more);
    return s;
}

static const char *saved(kiln_ctx *ctx, const char *name, const char *text)
{
    const char *path = test_path(name);
    assert_ok(ctx, kn_file_save(ctx, path, text, strlen(text)));
    return path;
}

static kiln_array *value_of(kiln_ctx *ctx, kiln_prog *p)
{
    kiln_array *a;
    assert_ok(ctx, kiln_prog_eval(ctx, p, NULL, &a));
    kiln_prog_release(p);
    return a;
}

/* From a file and from memory: the same value, and how many runs left the text. */
static void same_value(kiln_ctx *ctx, const char *text, unsigned runs)
{
    kiln_prog *p;
    kn_packed t;
    const char *path = saved(ctx, "packed.mlir", text);
    assert_ok(ctx, kn_packed_read(ctx, path, &t));
    assert_int_equal(t.n, runs);
    assert_int_equal(t.text.n < strlen(text), runs > 0);
    kn_packed_free(ctx, &t);
    assert_ok(ctx, kiln_prog_load(ctx, path, &p));
    kiln_array *a = value_of(ctx, p);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "memory", &p));
    kiln_array *b = value_of(ctx, p);
    assert_int_equal(kiln_array_bytes(a), kiln_array_bytes(b));
    assert_memory_equal(kiln_array_read(a), kiln_array_read(b), kiln_array_bytes(a));
    kiln_array_release(a);
    kiln_array_release(b);
}

static void constants(void **state)
{
    kiln_ctx *ctx = *state;
    char *hex = digits(), *value = dense(hex, ""), *text = module(value, "tensor<40000xf32>", "");
    same_value(ctx, text, 1);
    free(text);
    text = module(value, "tensor<2x20000xui32>", "");
    same_value(ctx, text, 1);
    free(text);
    text = module(value, "tensor<160000xi1>", ""); /* made of bytes that are not 0 or 1: has to be read anew */
    same_value(ctx, text, 1);
    free(text);
    text = module(value, "tensor<1280000xi1>", ""); /* a bit each */
    same_value(ctx, text, 1);
    free(text);
    free(value);
    free(hex);
}

static void resources(void **state)
{
    char *hex = digits(), tail[] = "{-#\n  dialect_resources: { builtin: { w: \"0x04000000", *both = malloc(DIGITS + sizeof tail + 100);
    assert_non_null(both);
    sprintf(both, "%s%s\" } }\n#-}\n", tail, hex);
    char *text = malloc(DIGITS + 2000);
    assert_non_null(text);
    char *head = module("dense_resource<w>", "tensor<40000xf32>", "");
    sprintf(text, "%s%s", head, both);
    same_value(*state, text, 1);
    free(text);
    free(head);
    free(both);
    free(hex);
}

/* Several in one text, short ones between them, and digits that are no constant. */
static void many(void **state)
{
    char *hex = digits(), *text = malloc(4 * DIGITS + 4000), *p = text;
    assert_non_null(text);
    p += sprintf(p, "module @m attributes {a = \"0x%s\"} {\n  func.func public @main() -> tensor<40000xf32> {\n", hex);
    p += sprintf(p, "    %%0 = stablehlo.constant dense<\"0x%s\"> : tensor<40000xf32>\n", hex);
    p += sprintf(p, "    %%1 = stablehlo.constant dense<\"0x0000803F\"> : tensor<40000xf32>\n");
    p += sprintf(p, "    %%2 = stablehlo.constant dense<\"0x%s\"> : tensor<40000xf32>\n    %%3 = stablehlo.add %%0, %%1 : tensor<40000xf32>\n", hex);
    sprintf(p, "    %%4 = stablehlo.multiply %%3, %%2 : tensor<40000xf32>\n    return %%4 : tensor<40000xf32>\n  }\n}\n");
    same_value(*state, text, 2);
    free(text);
    free(hex);
}

static void from_a_pipe(void **state)
{
    kiln_ctx *ctx = *state;
    char *hex = digits(), *value = dense(hex, ""), *text = module(value, "tensor<40000xf32>", ""), command[1200];
    kn_packed t;
    snprintf(command, sizeof command, "cat '%s'", saved(ctx, "piped.mlir", text));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_ok(ctx, kn_packed_read_fd(ctx, fileno(f), "a pipe", &t));
    assert_int_equal(t.n, 1);
    assert_int_equal(kiln_array_bytes(t.run[0].bytes), 4 * ELEMENTS);
    kn_packed_free(ctx, &t);
    pclose(f);
    free(text);
    free(value);
    free(hex);
}

/* The error of a text is the same, place and all, from a file and from memory. */
static void same_error(kiln_ctx *ctx, const char *text, const char *says)
{
    kiln_prog *p;
    const char *path = saved(ctx, "bad.mlir", text);
    assert_int_not_equal(kiln_prog_parse(ctx, text, strlen(text), path, &p), KILN_OK);
    kiln_diag want = *kiln_ctx_error(ctx);
    assert_says(ctx, says);
    assert_int_not_equal(kiln_prog_load(ctx, path, &p), KILN_OK);
    assert_says(ctx, says);
    assert_int_equal(kiln_ctx_error(ctx)->line, want.line);
    assert_int_equal(kiln_ctx_error(ctx)->column, want.column);
}

static void errors(void **state)
{
    static const struct {
        const char *more, *type, *says;
    } rows[] = {
        {"F", "tensor<40000xf32>", "an odd number of hexadecimal digits"},
        {"0000", "tensor<40000xf32>", "160002 bytes for a constant of f32[40000], which has 160000"},
        {"0000xy00", "tensor<40001xf32>", "a byte that is no hexadecimal number"},
        {"", "tensor<40000xf32>, 3", "was expected"},
    };
    char *hex = digits();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *value = dense(hex, rows[i].more), *text = module(value, rows[i].type, "");
        same_error(*state, text, rows[i].says);
        free(text);
        free(value);
    }
    free(hex);
}

static void failures(void **state)
{
    (void)state;
    char *hex = digits(), *value = dense(hex, ""), *text = module(value, "tensor<40000xf32>", "");
    for (int n = 1;; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        kiln_prog *p = NULL;
        if (!ctx) continue;
        FILE *f = fopen(test_path("memory.mlir"), "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
        kiln_status s = kiln_prog_load(ctx, test_path("memory.mlir"), &p);
        bool failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        kiln_prog_release(p);
        test_ctx_release(ctx);
        if (!failed) break;
    }
    for (int n = 1;; n++) {
        kiln_ctx *ctx = test_ctx_failing(0);
        kiln_prog *p = NULL;
        assert_non_null(ctx);
        test_io_fail(ctx, n);
        kiln_status s = kiln_prog_load(ctx, test_path("memory.mlir"), &p);
        bool failed = test_io_failed(ctx);
        test_io_fail(ctx, 0);
        assert_int_equal(s, failed ? KILN_IO : KILN_OK);
        kiln_prog_release(p);
        test_ctx_release(ctx);
        if (!failed) break;
    }
    free(text);
    free(value);
    free(hex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants), cmocka_unit_test(resources), cmocka_unit_test(many),
        cmocka_unit_test(from_a_pipe), cmocka_unit_test(errors), cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
