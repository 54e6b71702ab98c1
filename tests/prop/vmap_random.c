/* SPDX-License-Identifier: Apache-2.0 */
/* vmap of whole programs: random ones, with loops and branches inside one another, give in each lane the bits that they give alone,
 * interpreted and compiled. A program that fails is made smaller while it fails, and printed.
 *   KILN_TEST_PROGRAMS=N  programs (default 150)      KILN_TEST_SEED=S  only the program of this seed */
#include "random_loops.h"
#include "random_mix.h"
#include "lanes.h"
#include "same.h"
#include "shrink.h"
#include "timed.h"

#include "kiln/exec.h"

enum { SECONDS = 2 }; /* of the interpreter on one program */

typedef struct check {
    kiln_ctx *ctx;
    uint64_t seed;
    bool compiled;
    char why[KILN_DIAG_TEXT];
} check;

/* true: a lane differs. `ran` says that all lanes were compared. */
static bool lanes_differ(check *c, const kiln_prog *p, kiln_array *const *in, uint32_t nin, const mapped *m, kiln_array *const *all, bool *ran)
{
    uint32_t nout = kiln_prog_n_outputs(p);
    bool bad = false;
    *ran = true;
    for (int64_t l = 0; l < m->lanes && !bad && *ran; l++) {
        kiln_array *x[LANES_INPUTS], *want[LANES_OUTPUTS] = {0};
        for (uint32_t i = 0; i < nin; i++) x[i] = mapped_operand(c->ctx, m, in[i], i, l);
        *ran = evaluate(c->ctx, SECONDS, p, x, want) == KILN_OK;
        for (uint32_t k = 0; k < nout && *ran; k++) {
            int64_t at = 0;
            kiln_array *got = mapped_result(c->ctx, m, all[k], k, l, want[k]->type);
            if (!bad && !same_array(got, want[k], &at)) {
                snprintf(c->why, sizeof c->why, "lane %lld, result %u, element %lld", (long long)l, k, (long long)at);
                bad = true;
            }
            kiln_array_release(got);
        }
        for (uint32_t k = 0; k < nout; k++) kiln_array_release(want[k]);
        for (uint32_t i = 0; i < nin; i++) kiln_array_release(x[i]);
    }
    return bad;
}

static bool compiled_differs(check *c, const mapped *m, kiln_array *const *all)
{
    kiln_array *got[LANES_OUTPUTS] = {0};
    kiln_exec *f = NULL;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.tier = c->seed % 4 ? 0 : 2;
    bool bad = kiln_compile(c->ctx, m->p, &o, &f) != KILN_OK || kiln_exec_call(c->ctx, f, m->in, got) != KILN_OK;
    if (bad) snprintf(c->why, sizeof c->why, "%s", kiln_ctx_error(c->ctx)->message);
    for (uint32_t k = 0; k < kiln_prog_n_outputs(m->p); k++) {
        int64_t at = 0;
        if (!bad && !same_array(got[k], all[k], &at)) snprintf(c->why, sizeof c->why, "compiled: result %u, element %lld", k, (long long)at), bad = true;
        kiln_array_release(got[k]);
    }
    kiln_exec_release(f);
    return bad;
}

static bool fails(void *ud, const kiln_prog *p, kiln_array *const *in)
{
    check *c = ud;
    mapped m;
    kiln_array *all[LANES_OUTPUTS] = {0};
    uint32_t nin = kiln_prog_n_inputs(p);
    if (!mapped_make(c->ctx, p, in, nin, 1 + (int64_t)(c->seed % 4), c->seed, &m)) return false;
    bool ran = false, bad = false;
    if (kn_verify(c->ctx, m.p) != KILN_OK) {
        snprintf(c->why, sizeof c->why, "%s", kiln_ctx_error(c->ctx)->message);
        bad = true;
    } else if (evaluate(c->ctx, SECONDS, m.p, m.in, all) == KILN_OK) {
        bad = lanes_differ(c, p, in, nin, &m, all, &ran);
        if (!bad && ran && c->compiled) bad = compiled_differs(c, &m, all);
    }
    for (int k = 0; k < LANES_OUTPUTS; k++) kiln_array_release(all[k]);
    mapped_drop(&m, nin);
    return bad;
}

static unsigned check_seed(kiln_ctx *ctx, uint64_t seed)
{
    kiln_array *in[RP_INPUTS + KN_SAMPLE_INPUTS];
    shrink_case s = {0};
    check c = {.ctx = ctx, .seed = seed, .compiled = seed % 3 == 0};
    /* a generator that fails is prop.random's matter */
    if ((seed % 2 ? random_loops : random_mix)(ctx, seed, 12 + (uint32_t)(seed % 23), &s.p, in, &s.nin) != KILN_OK) return 0;
    for (uint32_t i = 0; i < s.nin; i++) s.in[i] = in[i];
    bool bad = fails(&c, s.p, s.in);
    if (bad) {
        char *text;
        size_t n;
        shrink_program(ctx, &s, fails, &c);
        fails(&c, s.p, s.in);
        print_error("seed %llu: %s\n", (unsigned long long)seed, c.why);
        if (kiln_prog_print(ctx, s.p, 120, &text, &n) == KILN_OK) {
            print_error("%s", text);
            kiln_text_free(ctx, text, n);
        }
    }
    shrink_release(&s);
    return bad;
}

static void random_programs(void **state)
{
    const char *only = getenv("KILN_TEST_SEED"), *more = getenv("KILN_TEST_PROGRAMS");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1, n = only ? 1 : more ? strtoull(more, NULL, 10) : 150;
    unsigned bad = 0;
    for (uint64_t k = 0; k < n && bad < 5; k++) bad += check_seed(*state, first + k);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
