/* SPDX-License-Identifier: Apache-2.0 */
/* A text that ends too early: each sample, cut behind any of its bytes, is one error with a place, or a legal program. The cut text
 * lies in memory of just its size, so that reading behind its end is seen. */
#include "testing.h"

#include "hlo/hlo.h"
#include "ir/ir.h"
#include "prim/text.h"

#include <sys/types.h>

typedef kiln_status (*reader)(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out);

/* One cut; `text` has n bytes. */
static void check_cut(const char *path, reader read, const char *text, size_t n)
{
    kiln_ctx *ctx;
    kn_prog *p = NULL;
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    char *own = malloc(n ? n : 1);
    assert_non_null(own);
    memcpy(own, text, n);
    kiln_status s = read(ctx, own, n, path, &p);
    const kiln_diag *d = kiln_ctx_error(ctx);
    if (s == KILN_OK) {
        if (kn_verify(ctx, p) != KILN_OK) fail_msg("%s cut at byte %zu is no legal program: %s", path, n, d->message);
        kiln_prog_release(p);
    } else {
        bool known = s == KILN_INVALID || s == KILN_UNSUPPORTED || s == KILN_SHAPE || s == KILN_DTYPE;
        if (p || !known || d->code != s || !d->message[0] || d->line < 1 || d->column < 1)
            fail_msg("%s cut at byte %zu: %s, line %d, column %d: %s", path, n, kiln_status_name(s), d->line, d->column, d->message);
    }
    free(own);
    kiln_ctx_release(ctx);
}

/* Cuts behind every byte of a short text; in a long one behind so many, spread by its size. */
static void cut_file(kiln_ctx *ctx, const char *path, reader read, size_t cuts)
{
    kn_bytes b;
    assert_ok(ctx, kn_file_read(ctx, path, &b));
    size_t step = b.n / cuts + 1, first = step > 1 ? (b.n * 2654435761u >> 7) % step : 0;
    for (size_t n = first; n <= b.n; n += step) check_cut(path, read, b.s, n);
    kn_bytes_free(ctx, &b);
}

/* Files of the folder that end so, every `each`-th in the order of their names; how many. */
static unsigned cut_folder(kiln_ctx *ctx, const char *folder, const char *ending, reader read, unsigned each, size_t cuts)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    unsigned found = 0, done = 0;
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(list[i]->d_name, '.');
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (dot && strcmp(dot, ending) == 0 && found++ % each == 0) {
            cut_file(ctx, path, read, cuts);
            done++;
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    return done;
}

static void stablehlo(void **state) { assert_true(cut_folder(*state, KILN_TEST_DATA "/stablehlo", ".mlir", kn_hlo_parse, 1, 4000) >= 10); }
static void hlo(void **state) { assert_true(cut_folder(*state, KILN_TEST_DATA "/hlo", ".hlo", kn_hlo_text_parse, 1, 4000) >= 10); }
static void jaxpr(void **state)
{
    assert_true(cut_folder(*state, KILN_TEST_DATA "/text", ".jaxpr", kn_jaxpr_parse, 1, 4000) >= 10);
    assert_true(cut_folder(*state, KILN_SOURCE_DIR "/examples/programs", ".jaxpr", kn_jaxpr_parse, 1, 4000) >= 5);
}

static void skip_without_cases(void)
{
    if (test_is_folder(KILN_CASES)) return;
    print_message("skipped: no shared cases at %s\n", KILN_CASES);
    skip();
}

static void shared_stablehlo(void **state)
{
    skip_without_cases();
    assert_true(cut_folder(*state, KILN_CASES "/stablehlo/testdata", ".mlir", kn_hlo_parse, 6, 120) > 180);
    assert_true(cut_folder(*state, KILN_CASES "/stablehlo/interpret", ".mlir", kn_hlo_parse, 1, 200) > 45);
}

static void shared_jaxpr(void **state)
{
    skip_without_cases();
    assert_true(cut_folder(*state, KILN_CASES "/transforms", ".jaxpr", kn_jaxpr_parse, 2, 200) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stablehlo), cmocka_unit_test(hlo), cmocka_unit_test(jaxpr), cmocka_unit_test(shared_stablehlo),
                                       cmocka_unit_test(shared_jaxpr)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
