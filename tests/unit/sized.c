/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of which one size is given at each call: compiled once, they give at every size the bits of the interpreter. */
#define _DEFAULT_SOURCE

#include "array/size.h"
#include "kiln/exec.h"
#include "kiln/prog.h"
#include "testing.h"

#include "guarded.h"
#include "same.h"

typedef struct sized_case {
    const char *name, *text;
    int64_t least;
} sized_case;

static const sized_case cases[] = {
#include "../sized_cases.h"
};

enum { MOST = 16 };

static const int64_t sizes[] = {0, 1, 2, 3, 5, 16, 63, 64, 65, 257, 1000, 4099, 9001};

static uint64_t state;
static uint64_t bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* Between pages that may not be touched. */
static guarded fill(kiln_ctx *ctx, kiln_type t, kiln_array **out)
{
    size_t width = kiln_dtype_bytes(t.dtype), n = (size_t)kiln_type_size(t);
    guarded g = guarded_new(n * width, true, width);
    char kind = kiln_dtype_kind(t.dtype);
    for (size_t k = 0; k < n; k++) {
        int64_t i = (int64_t)(bits() % 80) - 10;
        kn_scalar v = {.i = i};
        if (kind == 'f') v.f = ((double)bits() / 1e9 - 1) * (bits() % 7 ? 1 : 30);
        if (kind == 'b') v.b = i & 1;
        kn_scalar_store(t.dtype, g.data, (int64_t)k, v);
    }
    assert_ok(ctx, kiln_array_wrap(ctx, t, g.data, NULL, NULL, out));
    return g;
}

static void run_case(kiln_ctx *ctx, const kiln_prog *p, const kiln_exec *f, int64_t n, const char *name)
{
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    kiln_array *in[MOST], *want[MOST], *got[MOST];
    guarded g[MOST];
    int64_t dims[MOST][KN_RANK_LIMIT];
    for (uint32_t i = 0; i < nin; i++) {
        kiln_type t = kiln_prog_input_type(p, i);
        for (uint32_t d = 0; d < t.rank; d++) dims[i][d] = kn_size_at(t.dims[d], n);
        t.dims = dims[i];
        g[i] = fill(ctx, t, &in[i]);
    }
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
    for (uint32_t i = 0; i < nout; i++) {
        if (!kiln_type_equal(want[i]->type, got[i]->type)) fail_msg("%s: size %lld: output %u is %s", name, (long long)n, i, kn_type_show(got[i]->type).s);
        int64_t at = 0;
        if (!same_array(want[i], got[i], &at)) {
            kn_scalar a = kn_scalar_load(want[i]->type.dtype, want[i]->data, at), b = kn_scalar_load(want[i]->type.dtype, got[i]->data, at);
            fail_msg("%s: size %lld: element %lld of output %u is %a, interpreted %a", name, (long long)n, (long long)at, i, b.f, a.f);
        }
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]), guarded_free(&g[i]);
}

static void all_cases(void **s)
{
    kiln_ctx *ctx = *s;
    const char *only = getenv("KILN_TEST_CASE"), *tier = getenv("KILN_TEST_TIER");
    kiln_compile_opts forms[] = {KILN_COMPILE_OPTS_INIT, KILN_COMPILE_OPTS_INIT, KILN_COMPILE_OPTS_INIT};
    forms[0].tier = tier ? atoi(tier) : -1;
    forms[1].tier = 0;
    forms[1].no_fusion = true;
    forms[2].split_cost = 1;
    forms[2].target = "x86-64-v3";
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (only && strcmp(only, cases[c].name) != 0) continue;
        if (only) print_message("%s\n", cases[c].name);
        kiln_prog *p;
        assert_ok(ctx, kiln_prog_parse(ctx, cases[c].text, strlen(cases[c].text), cases[c].name, &p));
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            uint64_t before = ctx->counters.compiles;
            kiln_exec *f;
            if (kiln_compile(ctx, p, &forms[form], &f) != KILN_OK) {
                char text[2000];
                kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
                fail_msg("%s: %s", cases[c].name, text);
            }
            state = c + 1;
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                if (sizes[k] >= cases[c].least) run_case(ctx, p, f, sizes[k], cases[c].name);
            assert_int_equal(ctx->counters.compiles - before, 1);
            kiln_exec_release(f);
        }
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
