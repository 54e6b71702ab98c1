/* SPDX-License-Identifier: Apache-2.0 */
/* Every primitive's samples: the program verifies, evaluates, and gives the types that the type rule says and the same bits
 * twice; running out of memory at any point gives a status and no leak. */
#include "prim/sample.h"
#include "testing.h"

static const int64_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 300};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths, MAX_OUT = 64 };

static uint32_t all_dtypes(void)
{
    uint32_t set = 0;
    for (int d = 0; d < KILN_N_DTYPES; d++)
        if (strchr("biuf", kiln_dtype_kind((kiln_dtype)d))) set |= 1u << d;
    return set;
}

static void release_all(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]);
}

static void one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts)
{
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS], *out[MAX_OUT], *again[MAX_OUT];
    uint32_t nin;
    assert_ok(ctx, kn_sample_program(ctx, prim, opts, &p, in, &nin));
    assert_ok(ctx, kn_verify(ctx, p));
    uint32_t nout = kiln_prog_n_outputs(p);
    assert_true(nout <= MAX_OUT);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, again));
    for (uint32_t i = 0; i < nout; i++) {
        assert_true(kiln_type_equal(kiln_prog_output_type(p, i), out[i]->type));
        assert_memory_equal(out[i]->data, again[i]->data, out[i]->bytes);
    }
    release_all(in, nin);
    release_all(out, nout);
    release_all(again, nout);
    kiln_prog_release(p);
}

static void test_samples(void **state)
{
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (prims[i]->flags & KN_TRANSIENT) continue;
        if (!prims[i]->sample) fail_msg("%s has no sample rule", prims[i]->name);
        if (!prims[i]->doc) fail_msg("%s has no description", prims[i]->name);
        for (int l = 0; l < N_LENGTHS; l++)
            for (uint64_t seed = 0; seed < 12; seed++)
                one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l], .dtypes = seed % 2 ? all_dtypes() : 0});
    }
}

/* Names are sorted as the table is searched, and each is found; others are not. */
static void test_table(void **state)
{
    (void)state;
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        assert_ptr_equal(kn_prim_find(prims[i]->name, strlen(prims[i]->name)), prims[i]);
        assert_null(kn_prim_find(prims[i]->name, strlen(prims[i]->name) - 1 + 0 * i) == prims[i] ? prims[i] : NULL);
    }
    assert_null(kn_prim_find("no_such_primitive", 17));
    assert_null(prims[n]);
}

/* An evaluating primitive either says how itself or by others. */
static void test_rules(void **state)
{
    (void)state;
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        const kn_prim *p = prims[i];
        if (p->flags & KN_TRANSIENT) continue;
        bool base = p->loop != KN_LOOP_NONE;
        if (!(p->eval || p->lower)) fail_msg("%s can neither be evaluated nor lowered", p->name);
        if (!p->stays && base == (p->lower != NULL)) fail_msg("%s must be either a composite or have a loop kind", p->name);
        if (p->stays && (!base || !p->lower)) fail_msg("%s: what stays sometimes has both a lowering and a loop kind", p->name);
        if (((p->flags & KN_LEVEL_TRACED) != 0) != (p->lower != NULL)) fail_msg("%s: composites, and only they, vanish by lowering", p->name);
        if ((p->loop == KN_LOOP_ELEMENT) != (p->element != NULL)) fail_msg("%s: element rule and loop kind disagree", p->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
