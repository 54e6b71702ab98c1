/* SPDX-License-Identifier: Apache-2.0 */
/* Bits do not depend on the number of threads: real programs (the example programs, and the shared ones where they are) with every loop
 * split that may be, at 1, 2, 3 and 7 threads, both levels, against code none of whose loops is split. KILN_TEST_PROGRAM=word runs those
 * whose path holds the word. */
#include "ir/size.h"
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"

enum { MOST_IN = 64, MOST_OUT = 64 };

static const unsigned threads[] = {1, 2, 3, 7};
enum { N_THREADS = sizeof threads / sizeof *threads };

typedef struct tally {
    unsigned programs, splits;
} tally;

enum { OPEN_SIZE = 5000 }; /* of programs that leave one open */

/* Inputs beside the program, or numbers that go round. */
static kiln_array *input(kiln_ctx *ctx, const char *folder, const kiln_prog *p, uint32_t i)
{
    char path[1200];
    kiln_array *a;
    snprintf(path, sizeof path, "%s/in%u.npy", folder, i);
    if (access(path, R_OK) == 0) {
        assert_ok(ctx, kiln_array_load(ctx, path, &a));
        a->type.dtype = kiln_prog_input_type(p, i).dtype; /* bfloat16 travels as u16 */
        return a;
    }
    int64_t dims[KN_RANK_LIMIT];
    assert_ok(ctx, kiln_array_create(ctx, kn_type_at(kiln_prog_input_type(p, i), OPEN_SIZE, dims), &a));
    for (int64_t k = 0; k < kiln_type_size(a->type); k++) {
        char kind = kiln_dtype_kind(a->type.dtype);
        kn_scalar v = {.c = {0, 0}};
        if (kind == 'f' || kind == 'c') v.f = (double)((k * 37 + 11) % 101) / 25 - 2;
        else v.u = (uint64_t)(k * 37 + 11) % (kind == 'b' ? 2 : 5);
        kn_scalar_store(a->type.dtype, a->data, k, kn_scalar_round(a->type.dtype, v));
    }
    return a;
}

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]);
}

static void compile_and_call(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *o, kiln_array *const *in, kiln_array **out, tally *t)
{
    kiln_exec *f;
    kiln_exec_info info;
    assert_ok(ctx, kiln_compile(ctx, p, o, &f));
    kiln_exec_info_get(f, &info);
    if (t) t->splits += (unsigned)info.splits;
    assert_ok(ctx, kiln_exec_call(ctx, f, in, out));
    kiln_exec_release(f);
}

static void check_program(kiln_ctx *ctx, const char *path, const char *folder, tally *t)
{
    kiln_prog *p;
    kiln_array *in[MOST_IN], *want[MOST_OUT], *got[MOST_OUT];
    const char *only = getenv("KILN_TEST_PROGRAM");
    if (only && !strstr(path, only)) return;
    assert_ok(ctx, kiln_prog_load(ctx, path, &p));
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    assert_true(nin <= MOST_IN && nout <= MOST_OUT);
    for (uint32_t i = 0; i < nin; i++) in[i] = input(ctx, folder, p, i);
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = tier;
        o.split_cost = 1e300;
        compile_and_call(ctx, p, &o, in, want, NULL);
        o.split_cost = 1;
        for (unsigned k = 0; k < N_THREADS; k++) {
            ctx->threads = threads[k];
            compile_and_call(ctx, p, &o, in, got, t);
            for (uint32_t i = 0; i < nout; i++) {
                int64_t at;
                if (!same_array(got[i], want[i], &at)) fail_msg("%s: level %d, %u threads: output %u, element %lld differs", path, tier, threads[k], i, (long long)at);
            }
            release(got, nout);
        }
        release(want, nout);
    }
    release(in, nin);
    kiln_prog_release(p);
    t->programs++;
}

static void examples(void **state)
{
    kiln_ctx *ctx = *state;
    tally t = {0};
    DIR *d = opendir(KILN_SOURCE_DIR "/examples/programs");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[600];
        snprintf(path, sizeof path, "%s/examples/programs/%s", KILN_SOURCE_DIR, e->d_name);
        if (e->d_name[0] != '.' && strstr(e->d_name, ".jaxpr")) check_program(ctx, path, "", &t);
    }
    closedir(d);
    print_message("%u programs, %u loops split\n", t.programs, t.splits);
    if (!getenv("KILN_TEST_PROGRAM")) assert_true(t.programs > 3 && t.splits > 10);
}

static void shared(void **state)
{
    kiln_ctx *ctx = *state;
    tally t = {0};
    DIR *d = opendir(KILN_CASES "/programs");
    if (!d) {
        print_message("skipped: no shared cases\n");
        skip();
    }
    for (struct dirent *e; (e = readdir(d));) {
        char folder[1024], path[1100];
        snprintf(folder, sizeof folder, "%s/programs/%s", KILN_CASES, e->d_name);
        snprintf(path, sizeof path, "%s/program.mlir", folder);
        if (access(path, R_OK) == 0) check_program(ctx, path, folder, &t);
    }
    closedir(d);
    print_message("%u programs, %u loops split\n", t.programs, t.splits);
    if (!getenv("KILN_TEST_PROGRAM")) assert_true(t.programs > 30 && t.splits > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples), cmocka_unit_test(shared)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
