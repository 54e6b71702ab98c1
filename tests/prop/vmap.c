/* SPDX-License-Identifier: Apache-2.0 */
/* vmap is a loop over the lanes, bit for bit: every primitive's samples, with lanes on some operands along some axes, interpreted and
 * compiled. No primitive that has operands lacks the rule. KILN_TEST_PRIM, KILN_TEST_SEEDS as in prop.compiled. */
#include "lanes.h"
#include "same.h"
#include "samples.h"

enum { MOST = 64 };

static void report(kiln_ctx *ctx, const sample *s, const mapped *m, const char *what)
{
    char *text;
    size_t n;
    sample_report(ctx, s, what);
    if (kiln_prog_print(ctx, m->p, 100, &text, &n) != KILN_OK) return;
    print_error("%lld lanes:\n%s", (long long)m->lanes, text);
    kiln_text_free(ctx, text, n);
}

static unsigned check_lanes(kiln_ctx *ctx, const sample *s, const mapped *m, kiln_array *const *all)
{
    unsigned failures = 0;
    for (int64_t l = 0; l < m->lanes && !failures; l++) {
        kiln_array *in[KN_SAMPLE_INPUTS], *out[MOST];
        for (uint32_t i = 0; i < s->nin; i++) in[i] = mapped_operand(ctx, m, s->in[i], i, l);
        assert_ok(ctx, kiln_prog_eval(ctx, s->p, in, out));
        for (uint32_t k = 0; k < s->nout; k++) {
            kiln_array *got = mapped_result(ctx, m, all[k], k, l, out[k]->type);
            int64_t at = -1;
            char what[80];
            snprintf(what, sizeof what, "lane %lld, result %u", (long long)l, k);
            if (!same_array(got, out[k], &at) && !failures++) report(ctx, s, m, what);
            kiln_array_release(got);
            kiln_array_release(out[k]);
        }
        for (uint32_t i = 0; i < s->nin; i++) kiln_array_release(in[i]);
    }
    return failures;
}

static unsigned check_compiled(kiln_ctx *ctx, const sample *s, const mapped *m, kiln_array *const *want, uint64_t seed)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f = NULL;
    kiln_array *got[MOST];
    unsigned failures = 0;
    o.tier = seed % 3 ? 0 : 2;
    assert_ok(ctx, kiln_compile(ctx, m->p, &o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, m->in, got));
    for (uint32_t k = 0; k < s->nout; k++) {
        int64_t at;
        if (!same_array(got[k], want[k], &at) && !failures++) report(ctx, s, m, "compiled differs");
        kiln_array_release(got[k]);
    }
    kiln_exec_release(f);
    return failures;
}

static unsigned one(kiln_ctx *ctx, const kn_prim *prim, uint64_t seed, int64_t length, int64_t lanes)
{
    sample s = {.prim = prim, .seed = seed, .length = length};
    mapped m;
    kiln_array *all[MOST];
    unsigned failures = 0;
    if (prim->flags & KN_TRANSIENT) return 0;
    assert_ok(ctx, kn_sample_program(ctx, prim, &(kn_sample_opts){.seed = seed, .length = length}, &s.p, s.in, &s.nin));
    s.nout = kiln_prog_n_outputs(s.p);
    if (mapped_make(ctx, s.p, s.in, s.nin, lanes, seed * 31 + (uint64_t)length, &m)) {
        assert_ok(ctx, kn_verify(ctx, m.p));
        assert_ok(ctx, kiln_prog_eval(ctx, m.p, m.in, all));
        failures += check_lanes(ctx, &s, &m, all);
        if (!failures) failures += check_compiled(ctx, &s, &m, all, seed);
        for (uint32_t k = 0; k < s.nout; k++) kiln_array_release(all[k]);
        mapped_drop(&m, s.nin);
    }
    sample_free(&s);
    return failures;
}

static void every_primitive(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 5, 17, 70};
    static const int64_t lanes[] = {3, 1, 2, 0, 5};
    const char *only = getenv("KILN_TEST_PRIM"), *more = getenv("KILN_TEST_SEEDS");
    uint64_t seeds = more ? (uint64_t)atoi(more) : 4;
    unsigned failures = 0;
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        unsigned own = 0;
        if (only && strcmp(only, prims[i]->name) != 0) continue;
        for (size_t k = 0; own == 0 && k < sizeof lengths / sizeof *lengths; k++)
            for (uint64_t seed = 0; own == 0 && seed < seeds; seed++) own += one(*state, prims[i], seed * 131 + k, lengths[k], lanes[(seed + k) % 5]);
        failures += own;
    }
    assert_int_equal(failures, 0);
}

static void every_rule(void **state)
{
    (void)state;
    uint32_t n, missing = 0;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        if (prims[i]->nin && !prims[i]->batch) {
            print_error("%s has no batch rule\n", prims[i]->name);
            missing++;
        }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule), cmocka_unit_test(every_primitive)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
