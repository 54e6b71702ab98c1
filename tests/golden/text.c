/* SPDX-License-Identifier: Apache-2.0 */
/* Printed text: every program of tests/data/text, and of the shared cases, prints at each of its widths from each of them, byte
 * for byte. Texts that must be refused are refused at their line. */
#include "ir/print.h"
#include "testing.h"

#include <jansson.h>

static char *slurp(kiln_ctx *ctx, const char *folder, const char *name, size_t *n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kn_bytes b;
    assert_ok(ctx, kn_file_read(ctx, path, &b));
    char *s = malloc(b.n + 1);
    memcpy(s, b.s, b.n + 1);
    *n = b.n;
    kn_bytes_free(ctx, &b);
    return s;
}

/* Reads `from` and prints it at the width; false when a primitive of it is not known (then there is nothing to compare). */
static bool prints_as(kiln_ctx *ctx, const char *folder, const char *from, unsigned width, const char *to)
{
    char path[1024];
    kiln_prog *p;
    snprintf(path, sizeof path, "%s/%s", folder, from);
    kiln_status status = kiln_prog_load(ctx, path, &p);
    if (status != KILN_OK && strcmp(kiln_ctx_error(ctx)->kind, "unknown-primitive") == 0) return false;
    assert_ok(ctx, status);
    size_t n, m;
    char *text, *want = slurp(ctx, folder, to, &m);
    assert_ok(ctx, kiln_prog_print(ctx, p, width, &text, &n));
    if (n != m || memcmp(text, want, n) != 0) fail_msg("%s at width %u is not %s:\n%s", from, width, to, text);
    free(want);
    kiln_text_free(ctx, text, n);
    kiln_prog_release(p);
    return true;
}

static void own_samples(void **state)
{
    static const char *const names[] = {"chain", "nothing", "shapes", "bodies", "constants"};
    static const struct {
        const char *tail;
        unsigned width;
    } forms[] = {{"", 80}, {".w40", 40}, {".flat", 0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int from = 0; from < 3; from++)
            for (int to = 0; to < 3; to++) {
                char a[64], b[64];
                snprintf(a, sizeof a, "%s%s.jaxpr", names[i], forms[from].tail);
                snprintf(b, sizeof b, "%s%s.jaxpr", names[i], forms[to].tail);
                assert_true(prints_as(*state, KILN_TEST_DATA "/text", a, forms[to].width, b));
            }
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The folder's files with this ending, sorted; returns their number. */
static size_t list(const char *folder, const char *ending, char *out[512])
{
    DIR *d = opendir(folder);
    size_t n = 0, k = strlen(ending);
    for (struct dirent *e; d && (e = readdir(d)) && n < 512;)
        if (strlen(e->d_name) > k && strcmp(e->d_name + strlen(e->d_name) - k, ending) == 0) out[n++] = strdup(e->d_name);
    if (d) closedir(d);
    qsort(out, n, sizeof *out, by_name);
    return n;
}

static void need_cases(const char *folder)
{
    if (test_is_folder(folder)) return;
    print_message("skipped: no %s\n", folder);
    skip();
}

static void cases_print(void **state)
{
    static const char folder[] = KILN_CASES "/transforms";
    char *names[512];
    need_cases(folder);
    size_t n = list(folder, ".jaxpr", names), printed = 0;
    for (size_t i = 0; i < n; i++) {
        printed += prints_as(*state, folder, names[i], 80, names[i]);
        free(names[i]);
    }
    print_message("%zu of %zu programs print; the others hold primitives that are not known\n", printed, n);
    assert_true(printed >= 100);
}

static void cases_at_all_widths(void **state)
{
    static const char folder[] = KILN_CASES "/transforms/text";
    char *names[512];
    need_cases(folder);
    size_t n = list(folder, ".json", names), printed = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        json_t *d = json_load_file(path, 0, NULL), *files = json_object_get(d, "files"), *from, *to;
        const char *width, *any;
        json_object_foreach(files, any, from) json_object_foreach(files, width, to)
        {
            all++;
            printed += prints_as(*state, folder, json_string_value(from), (unsigned)atoi(width), json_string_value(to)); /* "flat" is 0 */
        }
        json_decref(d);
        free(names[i]);
    }
    print_message("%zu of %zu texts print; the others hold primitives that are not known\n", printed, all);
    assert_true(printed >= 300);
}

/* Printed in the other dialect, which leaves out the types of literals, a program reads back as itself. */
static void cases_in_both_dialects(void **state)
{
    static const char folder[] = KILN_CASES "/transforms";
    kiln_ctx *ctx = *state;
    char *names[512];
    need_cases(folder);
    size_t n = list(folder, ".jaxpr", names);
    for (size_t i = 0; i < n; i++) {
        char path[1024];
        kiln_prog *p, *q, *r;
        kn_text old, again;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_ok(ctx, kiln_prog_load(ctx, path, &p));
        kn_text_init(&old, &ctx->alloc), kn_text_init(&again, &ctx->alloc);
        assert_ok(ctx, kn_print_jaxpr(ctx, p->main, (kn_print_style){.width = 80, .old = true}, &old));
        assert_ok(ctx, kiln_prog_parse(ctx, old.s, old.n, names[i], &q));
        assert_ok(ctx, kn_print_jaxpr(ctx, q->main, (kn_print_style){.width = 80}, &again));
        assert_ok(ctx, kiln_prog_parse(ctx, again.s, again.n, names[i], &r));
        if (!kn_jaxpr_equal(p->main, q->main) || !kn_jaxpr_equal(p->main, r->main)) fail_msg("%s reads otherwise from the old dialect:\n%s", names[i], old.s);
        kn_text_fini(&old), kn_text_fini(&again);
        kiln_prog_release(p), kiln_prog_release(q), kiln_prog_release(r);
        free(names[i]);
    }
    assert_true(n >= 100);
}

static void cases_refuse(void **state)
{
    static const char folder[] = KILN_CASES "/transforms/text";
    char *names[512];
    need_cases(folder);
    size_t n = list(folder, ".json", names), refused = 0;
    for (size_t i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        json_t *d = json_load_file(path, 0, NULL), *error = json_object_get(d, "error");
        if (error && strncmp(names[i], "bad_", 4) == 0) {
            kiln_prog *p;
            snprintf(path, sizeof path, "%s/%s", folder, json_string_value(json_object_get(d, "file")));
            assert_int_not_equal(kiln_prog_load(*state, path, &p), KILN_OK);
            assert_null(p);
            assert_int_equal(kiln_ctx_error(*state)->line, json_integer_value(json_object_get(error, "line")));
            refused++;
        }
        json_decref(d);
        free(names[i]);
    }
    assert_true(refused >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_samples),
        cmocka_unit_test(cases_print),
        cmocka_unit_test(cases_at_all_widths),
        cmocka_unit_test(cases_in_both_dialects), cmocka_unit_test(cases_refuse),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
