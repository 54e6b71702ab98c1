/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what the interpreter makes of the samples, for the program that has no interpreter (noeval.c). */
#include "noeval.h"

static void evaluate(kiln_ctx *ctx, FILE *f, sample *s)
{
    kiln_array *out[SAMPLE_OUT];
    assert_ok(ctx, kiln_prog_eval(ctx, s->p, s->in, out));
    for (uint32_t i = 0; i < s->nout; i++) {
        uint64_t bytes = out[i]->bytes;
        assert_int_equal(fwrite(&bytes, sizeof bytes, 1, f), 1);
        assert_int_equal(fwrite(out[i]->data, 1, bytes, f), bytes);
        kiln_array_release(out[i]);
    }
}

static void oracle(void **state)
{
    FILE *f = fopen(NOEVAL_FILE, "wb");
    assert_non_null(f);
    noeval_each(*state, evaluate, f);
    assert_int_equal(fclose(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(oracle)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
