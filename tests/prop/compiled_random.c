/* SPDX-License-Identifier: Apache-2.0 */
/* Promise 2 on whole programs: random programs with loops, branches, constants and dead code, compiled with random options, give
 * the bits that the interpreter gives. A failing seed is printed with its program; KILN_TEST_SEEDS runs more. */
#include "kiln/exec.h"
#include "random_program.h"
#include "testing.h"

enum { MOST = 64 };

static bool same_elements(const kiln_array *a, const kiln_array *b)
{
    kiln_dtype d = a->type.dtype;
    if (!kiln_type_equal(a->type, b->type)) return false;
    for (int64_t k = 0; k < kiln_type_size(a->type); k++) {
        kn_scalar x = kn_scalar_load(d, a->data, k), y = kn_scalar_load(d, b->data, k);
        if (!kn_scalar_same(d, x, y) && !(kiln_dtype_kind(d) == 'f' && isnan(x.f) && isnan(y.f))) return false;
    }
    return true;
}

static void one(kiln_ctx *ctx, uint64_t seed)
{
    static const unsigned bits[] = {0, 64, 128, 256, 512};
    kn_prog *p = NULL;
    kiln_array *in[RP_INPUTS], *want[MOST], *got[MOST];
    uint32_t nin;
    assert_ok(ctx, random_program(ctx, seed, 8 + (uint32_t)(seed % 40), &p, in, &nin));
    rp r = {.ctx = ctx, .state = ~seed};
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.tier = rp_below(&r, 4) == 0 ? 2 : 0;
    o.vector_bits = bits[rp_below(&r, 5)];
    o.register_elements = rp_below(&r, 3) ? -1 : (int)rp_below(&r, 20);
    o.no_fusion = rp_below(&r, 4) == 0;
    ctx->threads = rp_below(&r, 2) ? 2 : 1;
    o.split_cost = ctx->threads == 2 ? 1 : 0;
    kiln_exec *f;
    uint32_t nout = kiln_prog_n_outputs(p);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
    for (uint32_t i = 0; i < nout; i++) {
        if (!same_elements(want[i], got[i])) {
            char *text;
            size_t n;
            assert_ok(ctx, kiln_prog_print(ctx, p, 110, &text, &n));
            print_error("%s\n", text);
            fail_msg("seed %llu: result %u differs (tier %d, vectors of %u bits, %d register elements, fusion %s, %u threads)", (unsigned long long)seed,
                     i, o.tier, o.vector_bits, o.register_elements, o.no_fusion ? "off" : "on", ctx->threads);
        }
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

static void programs(void **state)
{
    const char *more = getenv("KILN_TEST_SEEDS"), *from = getenv("KILN_TEST_FIRST_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 0, n = more ? strtoull(more, NULL, 10) : 150;
    for (uint64_t seed = first; seed < first + n; seed++) one(*state, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
