/* SPDX-License-Identifier: Apache-2.0 */
/* The example at the head of each pass file: the pass, run alone, turns Before into After, letter by letter. */
#include "testing.h"

#include "kiln/prog.h"
#include "opt/opt.h"

static char *read_source(const char *pass)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/src/opt/%s.c", KILN_SOURCE_DIR, pass);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* The block behind the line ` * LABEL...`: its lines without ` *   `. */
static char *example(const char *source, const char *label)
{
    char head[64];
    snprintf(head, sizeof head, "\n * %s:", label);
    const char *p = strstr(source, head);
    assert_non_null(p);
    p = strchr(p + 1, '\n') + 1;
    char *text = calloc(1, strlen(p) + 1), *at = text;
    for (; strncmp(p, " *   ", 5) == 0; p = strchr(p, '\n') + 1) {
        size_t n = strcspn(p + 5, "\n");
        memcpy(at, p + 5, n);
        at += n;
        *at++ = '\n';
    }
    assert_true(at > text);
    return text;
}

static void check_example(kiln_ctx *ctx, const kn_pass *pass)
{
    char *source = read_source(pass->name), *before = example(source, "Before"), *after = example(source, "After");
    static const char *const head[] = {"/* Does:   ", "\n * Needs:  ", "\n * Leaves: ", "\n * Cost:   ", "\n * Switch: "};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) assert_non_null(strstr(source, head[i]));
    kiln_prog *p, *q, *want;
    assert_ok(ctx, kiln_prog_parse(ctx, before, strlen(before), pass->name, &p));
    p->level = KN_LOWERED;
    assert_ok(ctx, kn_verify(ctx, p));
    kn_opt_options o = {.skip = ~kn_pass_bit(pass->name)};
    assert_ok(ctx, kn_optimise(ctx, p, &o, &q));
    if (strstr(source, "\n * After: (and after dce)\n")) {
        o.skip = ~kn_pass_bit("dce");
        kiln_prog *r = q;
        assert_ok(ctx, kn_optimise(ctx, r, &o, &q));
        kiln_prog_release(r);
    }
    assert_ok(ctx, kn_verify(ctx, q));
    assert_ok(ctx, kiln_prog_parse(ctx, after, strlen(after), pass->name, &want));
    char *got, *expected;
    size_t n, m;
    assert_ok(ctx, kiln_prog_print(ctx, q, 80, &got, &n));
    assert_ok(ctx, kiln_prog_print(ctx, want, 80, &expected, &m));
    assert_string_equal(got, expected);
    kiln_text_free(ctx, got, n);
    kiln_text_free(ctx, expected, m);
    kiln_prog_release(p);
    kiln_prog_release(q);
    kiln_prog_release(want);
    free(source);
    free(before);
    free(after);
}

static void examples(void **state)
{
    for (const kn_pass *p = kn_pipeline; p->name; p++) {
        assert_true(p->doc && *p->doc);
        check_example(*state, p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
