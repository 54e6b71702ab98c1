/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled results do not come from the interpreter: this program is linked with a library that has none. It compiles the samples,
 * calls them and compares with the file that noeval_oracle.c wrote. A compile that makes no code is an error. */
#include "noeval.h"
#include "run/exec.h"
#include "same.h"

/* Neither may be in this program: a weak reference pulls nothing out of a library, and is NULL unless something else did. */
extern __typeof__(kiln_prog_eval) kiln_prog_eval __attribute__((weak));

static unsigned compared;

/* First in the program: the module is opened once a process. */
static void no_code_generator(void **state)
{
    kiln_ctx *ctx = *state;
    sample s = {0};
    kiln_exec *f = NULL;
    char dir[sizeof ctx->lib_dir];
    assert_ok(ctx, kn_sample_program(ctx, kn_prim_find("add", 3), &(kn_sample_opts){.seed = 1, .length = 8}, &s.p, s.in, &s.nin));
    memcpy(dir, ctx->lib_dir, sizeof dir);
    snprintf(ctx->lib_dir, sizeof ctx->lib_dir, "/nowhere");
    assert_int_equal(kiln_compile(ctx, s.p, NULL, &f), KILN_COMPILE);
    assert_null(f);
    assert_int_equal(ctx->counters.compiles, 0);
    memcpy(ctx->lib_dir, dir, sizeof dir);
    sample_free(&s);
}

static void compare(kiln_ctx *ctx, FILE *file, sample *s)
{
    kiln_exec *f;
    kiln_array *got[SAMPLE_OUT];
    kiln_exec_info info;
    assert_ok(ctx, kiln_compile(ctx, s->p, NULL, &f));
    kiln_exec_info_get(f, &info);
    char *entry;
    kiln_entry e = kiln_exec_entry(f);
    memcpy(&entry, &e, sizeof entry);
    assert_true(info.code_bytes > 0 && entry >= f->code.base && entry < f->code.base + f->code.code_bytes);
    assert_ok(ctx, kiln_exec_call(ctx, f, s->in, got));
    for (uint32_t i = 0; i < s->nout; i++) {
        uint64_t bytes;
        kiln_array *want;
        assert_int_equal(fread(&bytes, sizeof bytes, 1, file), 1);
        assert_ok(ctx, kiln_array_create(ctx, got[i]->type, &want));
        assert_int_equal(bytes, want->bytes);
        assert_int_equal(fread(want->data, 1, bytes, file), bytes);
        if (!same_array(got[i], want, NULL)) {
            sample_report(ctx, s, "differs from the interpreter's file");
            fail();
        }
        kiln_array_release(want);
        kiln_array_release(got[i]);
        compared++;
    }
    kiln_exec_release(f);
}

static void same_without_interpreter(void **state)
{
    assert_null(kiln_prog_eval);
    FILE *f = fopen(NOEVAL_FILE, "rb");
    if (!f) {
        print_error("%s is missing: run prop.noeval_oracle first (ctest does)\n", NOEVAL_FILE);
        fail();
    }
    noeval_each(*state, compare, f);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    assert_true(compared > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_code_generator), cmocka_unit_test(same_without_interpreter)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
