/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of error and warning: the files of tests/data/invalid say in their first line what they must give and where;
 * a second line may name words of what would be accepted; the shared cases say it in their expected.json. */
#include "testing.h"

#include "graph/kinds.h"

#include <jansson.h>

typedef struct found {
    char kind[32], accepted[256];
    int line, column;
    int n_warnings;
    bool error;
} found;

static void warn(void *ud, const kiln_diag *d)
{
    found *f = ud;
    if (f->n_warnings++ || f->error) return;
    snprintf(f->kind, sizeof f->kind, "%s", d->kind);
    f->line = d->line;
    f->column = d->column;
}

/* The error of a file, or its first warning. */
static found read_one(const char *path, const char *text)
{
    found f = {0};
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.warn = warn;
    o.warn_ud = &f;
    kiln_ctx *ctx;
    assert_int_equal(kiln_ctx_create(&o, &ctx), KILN_OK);
    kn_arena arena;
    kn_arena_init(&arena, &ctx->alloc);
    kn_graph_model *g;
    kiln_status s = kn_graph_read(ctx, &arena, path, text, NULL, 0, &g);
    if (s != KILN_OK) {
        const kiln_diag *d = kiln_ctx_error(ctx);
        f.error = true;
        snprintf(f.kind, sizeof f.kind, "%s", d->kind);
        f.line = d->line;
        f.column = d->column;
        snprintf(f.accepted, sizeof f.accepted, "%s", d->accepted);
        assert_int_equal(d->code, s);
        assert_true(d->message[0]);
        assert_string_equal(d->file, path);
    }
    kn_arena_fini(&arena);
    kiln_ctx_release(ctx);
    return f;
}

static bool check(const char *path, const char *kind, int line, int column, const char *accepted)
{
    found f = read_one(path, NULL);
    if (!strstr(f.accepted, accepted)) {
        print_error("%s: wanted advice with '%s', found '%s'\n", path, accepted, f.accepted);
        return false;
    }
    if (strcmp(f.kind, kind) == 0 && f.line == line && f.column == column) return true;
    print_error("%s: wanted %s:%d:%d, found %s:%d:%d\n", path, kind, line, column, f.kind, f.line, f.column);
    return false;
}

static const kn_kind_info *kind_of(const char *name)
{
    for (int i = 0; i < KN_N_KINDS; i++)
        if (strcmp(kn_kinds[i].name, name) == 0) return &kn_kinds[i];
    return NULL;
}

static void test_files(void **state)
{
    (void)state;
    DIR *d = opendir(KILN_TEST_DATA "/invalid");
    assert_non_null(d);
    int n = 0, bad = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[1024], line[256], second[256], kind[33], accepted[256] = "";
        int at_line, at_column;
        if (!strstr(e->d_name, ".yaml")) continue;
        snprintf(path, sizeof path, "%s/invalid/%s", KILN_TEST_DATA, e->d_name);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof line, f));
        if (fgets(second, sizeof second, f)) sscanf(second, "# accepted: %255[^\n]", accepted);
        fclose(f);
        if (sscanf(line, "# %32[a-z-]:%d:%d", kind, &at_line, &at_column) != 3)
            fail_msg("%s: no expectation in line 1", path);
        if (!kind_of(kind)) fail_msg("%s: no kind '%s'", path, kind);
        bad += !check(path, kind, at_line, at_column, accepted);
        n++;
    }
    closedir(d);
    assert_int_equal(bad, 0);
    assert_true(n > 100);
}

/* The table's example of a kind shows that kind, with the severity of the table; a file of tests/data/invalid too. */
static void test_examples(void **state)
{
    (void)state;
    for (int i = 0; i < KN_N_KINDS; i++) {
        const kn_kind_info *k = &kn_kinds[i];
        assert_true(k->text[0]);
        assert_ptr_equal(kind_of(k->name), k);
        assert_int_equal(k->warning, k->status == KILN_OK);
        if (!k->example) continue;
        found f = read_one("example.yaml", k->example);
        if (strcmp(f.kind, k->name) != 0 || f.error == k->warning) fail_msg("the example of %s gives %s", k->name, f.kind);
        char path[1024];
        snprintf(path, sizeof path, "%s/invalid/%s.yaml", KILN_TEST_DATA, k->name);
        if (access(path, R_OK) != 0) fail_msg("there is no %s", path);
    }
}

static void test_shared_cases(void **state)
{
    (void)state;
    json_error_t error;
    json_t *root = json_load_file(KILN_CASES "/graphs/invalid/expected.json", 0, &error);
    if (!root) {
        print_message("skipped: no shared cases at %s/graphs/invalid\n", KILN_CASES);
        skip();
    }
    int bad = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "files"), i, row)
    {
        char path[1024];
        snprintf(path, sizeof path, "%s/graphs/invalid/%s", KILN_CASES,
                 json_string_value(json_object_get(row, "file")));
        bad += !check(path, json_string_value(json_object_get(row, "kind")),
                      (int)json_integer_value(json_object_get(row, "line")),
                      (int)json_integer_value(json_object_get(row, "column")), "");
    }
    json_decref(root);
    assert_int_equal(bad, 0);
    assert_true(i > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_shared_cases),
    };
    return cmocka_run_group_tests_name("graph_invalid", tests, NULL, NULL);
}
