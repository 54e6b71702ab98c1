/* SPDX-License-Identifier: Apache-2.0 */
/* Every primitive's samples survive print and parse: the text is a fixpoint, and the program read back computes the same. */
#include "prim/sample.h"
#include "testing.h"

enum { MAX_OUT = 64 };

static void one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts)
{
    if (prim->flags & KN_TRANSIENT) return;
    kiln_prog *p, *q;
    kiln_array *in[KN_SAMPLE_INPUTS], *a[MAX_OUT], *b[MAX_OUT];
    uint32_t nin;
    char *text, *again;
    size_t n, m;
    assert_ok(ctx, kn_sample_program(ctx, prim, opts, &p, in, &nin));
    assert_ok(ctx, kiln_prog_print(ctx, p, 80, &text, &n));
    kiln_status s = kiln_prog_parse(ctx, text, n, "sample", &q);
    if (s != KILN_OK) print_error("%s", text);
    assert_ok(ctx, s);
    assert_ok(ctx, kiln_prog_print(ctx, q, 80, &again, &m));
    assert_string_equal(text, again);
    uint32_t nout = kiln_prog_n_outputs(p);
    assert_int_equal(kiln_prog_n_outputs(q), nout);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, a));
    assert_ok(ctx, kiln_prog_eval(ctx, q, in, b));
    for (uint32_t i = 0; i < nout; i++) {
        assert_int_equal(a[i]->bytes, b[i]->bytes);
        assert_memory_equal(a[i]->data, b[i]->data, a[i]->bytes);
        kiln_array_release(a[i]);
        kiln_array_release(b[i]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_text_free(ctx, text, n);
    kiln_text_free(ctx, again, m);
    kiln_prog_release(p);
    kiln_prog_release(q);
}

static void test_round_trip(void **state)
{
    static const int64_t lengths[] = {0, 1, 3, 17};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (uint64_t seed = 0; seed < 20; seed++) one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l]});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
