/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that check themselves: those of tests/data, and a fixed sample of 200 of the shared ones, interpreted and compiled; what
 * they compare is as it should be, and both sides agree to the last bit. All shared ones run under ctest -L conformance. */
#include "testing.h"

#include "hlo/check.h"
#include "kiln/exec.h"

enum { SAMPLE = 200 };

/* Modules that hold these words ask for what is refused by name (several processes, quantized types), or are switched off. */
static const char *const not_here[] = {"RUN-DISABLED", "interpreter.run_parallel", "!quant", "interpreter.probe", "stablehlo.outfeed"};

static kiln_status run_compiled(kiln_ctx *ctx, const kiln_prog *p, kiln_array **out)
{
    kiln_exec *f;
    kiln_status s = kiln_compile(ctx, p, NULL, &f);
    if (s != KILN_OK) return s;
    s = kiln_exec_call(ctx, f, NULL, out);
    kiln_exec_release(f);
    return s;
}

static void show_failure(void *ud, const char *line)
{
    (void)ud;
    print_error("%s\n", line);
}

/* Runs the module; how many comparisons failed or, as one, that it did not run. */
static unsigned check_module(kiln_ctx *ctx, const char *path, const kn_packed *t, uint32_t *n_checks)
{
    const kn_check_options o = {.interpret = true, .compiled = true, .run_compiled = run_compiled, .failure = show_failure};
    kn_check_result r;
    if (kn_hlo_check(ctx, t, path, &o, &r) != KILN_OK) {
        char text[2048];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        print_error("%s\n", text);
        return 1;
    }
    *n_checks += r.checks;
    return r.failures;
}

static bool runs_here(const char *text)
{
    for (size_t i = 0; i < sizeof not_here / sizeof *not_here; i++)
        if (strstr(text, not_here[i])) return false;
    return true;
}

/* Every `each`-th module of the folder that runs here and compares something, `most` at most; how many ran. */
static unsigned check_folder(kiln_ctx *ctx, const char *folder, unsigned each, unsigned most)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    unsigned seen = 0, ran = 0, bad = 0;
    uint32_t checks = 0;
    for (int i = 0; i < n; i++) {
        char path[1024];
        kn_packed t;
        bool compares = false;
        const char *dot = strrchr(list[i]->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (dot && strcmp(dot, ".mlir") == 0 && ran < most) {
            assert_ok(ctx, kn_packed_read(ctx, path, &t));
            if (runs_here(t.text.s)) assert_ok(ctx, kn_hlo_has_checks(ctx, &t, path, &compares));
            if (compares && seen++ % each == 0) {
                bad += check_module(ctx, path, &t, &checks);
                ran++;
            }
            kn_packed_free(ctx, &t);
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    assert_int_equal(bad, 0);
    assert_true(checks >= ran);
    return ran;
}

static void own_modules(void **state) { assert_true(check_folder(*state, KILN_TEST_DATA "/stablehlo", 1, 100) >= 1); }

static void shared_modules(void **state)
{
    if (!test_is_folder(KILN_CASES "/stablehlo/testdata")) {
        print_message("skipped: no shared cases at %s/stablehlo\n", KILN_CASES);
        skip();
    }
    assert_int_equal(check_folder(*state, KILN_CASES "/stablehlo/testdata", 5, SAMPLE), SAMPLE);
    assert_true(check_folder(*state, KILN_CASES "/stablehlo/interpret", 1, 100) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_modules), cmocka_unit_test(shared_modules)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
