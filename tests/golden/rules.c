/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/rules.txt: the pipeline on small programs, letter by letter; every rule of simplify must be met in it. */
#include "kiln/prog.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "testing.h"

static kn_prog *lowered(kiln_ctx *ctx, const char *text)
{
    kn_prog *p, *low;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "rules.txt", &p));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    kiln_prog_release(p);
    return low;
}

static void one(kiln_ctx *ctx, const char *before, const char *after, uint32_t *fired)
{
    kn_prog *p = lowered(ctx, before), *want = lowered(ctx, strncmp(after, "the same", 8) == 0 ? before : after), *got;
    kn_opt_stats stats = {.fired = fired};
    kn_opt_options o = {.stats = &stats};
    assert_ok(ctx, kn_optimise(ctx, p, &o, &got));
    assert_ok(ctx, kn_verify(ctx, got));
    char *x, *y;
    size_t n, m;
    assert_ok(ctx, kiln_prog_print(ctx, got, 110, &x, &n));
    assert_ok(ctx, kiln_prog_print(ctx, want, 110, &y, &m));
    if (strcmp(x, y) != 0) fail_msg("\n%s\nbecame\n%s\nwanted\n%s", before, x, y);
    kiln_text_free(ctx, x, n);
    kiln_text_free(ctx, y, m);
    kiln_prog_release(p);
    kiln_prog_release(want);
    kiln_prog_release(got);
}

/* The next block of lines up to a blank one, without remarks; false at the end. */
static bool next_block(char **at, char *out)
{
    *out = 0;
    while (**at) {
        size_t n = strcspn(*at, "\n") + 1;
        if (**at == '\n' && *out) break;
        if (**at != '#' && **at != '\n') strncat(out, *at, n);
        *at += n;
    }
    return *out != 0;
}

static void rules(void **state)
{
    enum { ROOM = 1 << 18 };
    char path[1024], *text = calloc(1, ROOM), *block = calloc(1, ROOM), *at = text;
    snprintf(path, sizeof path, "%s/rules.txt", KILN_TEST_DATA);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, ROOM - 1, f) > 0);
    fclose(f);
    uint32_t n = kn_rule_count(), *fired = calloc(n, sizeof *fired), cases = 0, idle = 0;
    for (; next_block(&at, block); cases++) {
        char *arrow = strstr(block, "\n=>\n");
        assert_non_null(arrow);
        arrow[1] = 0;
        one(*state, block, arrow + 4, fired);
    }
    assert_true(cases > 100);
    for (uint32_t i = 0; i < n; i++) {
        assert_non_null(kn_rule_text(i));
        if (fired[i] || strcmp(kn_rule_pass(i), "simplify") != 0) continue;
        print_error("no case for %s: %s\n", kn_rule_pass(i), kn_rule_text(i));
        idle++;
    }
    assert_int_equal(idle, 0);
    assert_null(kn_rule_text(n));
    free(fired);
    free(text);
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
