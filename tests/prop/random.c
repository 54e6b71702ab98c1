/* SPDX-License-Identifier: Apache-2.0 */
/* Promise 2 on whole programs: random ones over every primitive, with loops and branches inside one another, give the same bits
 * interpreted and compiled, under several options, and leave alone the inputs that are not donated. Seeds are fixed, and more come
 * from the commit, so that every commit meets programs of its own. A program that fails is made smaller while it fails, and printed.
 *   KILN_TEST_PROGRAMS=N  programs of each kind of seed (default 100)      KILN_TEST_SEED=S  only the program of this seed */
#include "donated.h"
#include "random_loops.h"
#include "random_mix.h"
#include "same.h"
#include "seeds.h"
#include "shrink.h"
#include "timed.h"
#include "testing.h"

#include "kiln/exec.h"

enum { MAX_OUT = 64 };

typedef struct options {
    unsigned bits;
    int registers, tier;
    bool no_fusion;
    unsigned threads; /* that every loop that may be split is split over; 0: loops are left as they are */
    uint32_t donated; /* bit i mod 8: input i may be overwritten, and is where it has the type of an output */
} options;

static const options option_sets[] = {
    {512, 16, 0, false, 2, 0},  {256, 16, 2, false, 0, 0xff}, {64, 0, 0, false, 3, 0x55},   {128, 4, 0, true, 0, 0},
    {512, 0, 2, false, 2, 0x6}, {256, 64, 0, false, 2, 0},    {512, 16, 0, true, 2, 0xf0},
};
enum { N_SETS = sizeof option_sets / sizeof *option_sets };

enum { SECONDS = 3 }; /* of the interpreter on one program */

typedef struct check {
    kiln_ctx *ctx;
    options o;
    char why[KILN_DIAG_TEXT];
} check;

static void show_element(const kiln_array *a, int64_t at, char *out, size_t n)
{
    kiln_dtype d = a->type.dtype;
    kn_scalar v = kn_scalar_load(d, a->data, at);
    if (kiln_dtype_kind(d) == 'c') snprintf(out, n, "%.9g %.9g", v.c[0], v.c[1]);
    else if (kiln_dtype_kind(d) == 'f') snprintf(out, n, "%.17g", v.f);
    else snprintf(out, n, "%lld", d == KILN_BOOL ? (long long)v.b : (long long)v.i);
}

/* Runs both sides under one set of options; true when they differ or the compile fails. */
static bool fails(void *ud, const kiln_prog *p, kiln_array *const *in)
{
    check *c = ud;
    kiln_array *want[MAX_OUT] = {0}, *got[MAX_OUT] = {0};
    bool donated[SHRINK_INPUTS], bad = false, kept = true;
    kiln_exec *f = NULL;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.vector_bits = c->o.bits;
    o.register_elements = c->o.registers;
    o.tier = c->o.tier;
    o.no_fusion = c->o.no_fusion;
    o.split_cost = c->o.threads ? 1 : 0;
    c->ctx->threads = c->o.threads;
    for (uint32_t i = 0; i < SHRINK_INPUTS; i++) donated[i] = may_give(c->o.donated, i);
    o.donated = donated;
    uint32_t n = kiln_prog_n_outputs(p);
    if (evaluate(c->ctx, SECONDS, p, in, want) != KILN_OK) return false; /* not a program that runs: nothing to compare */
    if (kiln_compile(c->ctx, p, &o, &f) != KILN_OK || call_donated(c->ctx, p, f, c->o.donated, in, got, &kept) != KILN_OK) {
        snprintf(c->why, sizeof c->why, "%s", kiln_ctx_error(c->ctx)->message);
        bad = true;
    } else if (!kept) {
        snprintf(c->why, sizeof c->why, "an input that is not donated was overwritten");
        bad = true;
    }
    for (uint32_t i = 0; i < n && !bad; i++) {
        int64_t at = 0;
        if (same_array(got[i], want[i], &at)) continue;
        char x[48] = "", y[48] = "";
        show_element(want[i], at, x, sizeof x);
        show_element(got[i], at, y, sizeof y);
        snprintf(c->why, sizeof c->why, "output %u, element %lld: interpreted %s, compiled %s", i, (long long)at, x, y);
        bad = true;
    }
    for (uint32_t i = 0; i < n; i++) kiln_array_release(want[i]), kiln_array_release(got[i]);
    kiln_exec_release(f);
    return bad;
}

static void report(check *c, shrink_case *s, uint64_t seed)
{
    char *text;
    size_t n;
    uint64_t before = kiln_prog_n_equations(s->p);
    shrink_program(c->ctx, s, fails, c);
    fails(c, s->p, s->in);
    print_error("seed %llu, %u-bit vectors, registers %d, tier %d, no_fusion %d, threads %u, donated %02x: %s\n", (unsigned long long)seed, c->o.bits,
                c->o.registers, c->o.tier, c->o.no_fusion, c->o.threads, c->o.donated, c->why);
    if (kiln_prog_print(c->ctx, s->p, 120, &text, &n) == KILN_OK) {
        for (char *line = text, *end; *line; line = end) { /* the harness cuts long messages */
            end = line + strcspn(line, "\n");
            end += *end == '\n';
            print_error("%.*s", (int)(end - line), line);
        }
        print_error("(%llu equations before it was made smaller)\n", (unsigned long long)before);
        kiln_text_free(c->ctx, text, n);
    }
    for (uint32_t i = 0; i < s->nin; i++) {
        char line[400];
        kiln_array_format(s->in[i], 20, line, sizeof line);
        print_error("input %u = %s\n", i, line);
    }
}

/* How many option sets fail: at most one is looked into. */
static unsigned check_seed(kiln_ctx *ctx, uint64_t seed)
{
    kiln_array *in[RP_INPUTS + KN_SAMPLE_INPUTS];
    shrink_case s = {0};
    unsigned bad = 0;
    assert_ok(ctx, (seed % 2 ? random_loops : random_mix)(ctx, seed, 20 + (uint32_t)(seed % 41), &s.p, in, &s.nin));
    for (uint32_t i = 0; i < s.nin; i++) s.in[i] = in[i];
    const char *all = getenv("KILN_TEST_SETS");
    uint32_t sets = all ? N_SETS : 3;
    for (uint32_t k = 0; k < sets && !bad; k++) {
        check c = {.ctx = ctx, .o = option_sets[(seed + k * 2) % N_SETS]};
        if (!fails(&c, s.p, s.in)) continue;
        bad = 1;
        report(&c, &s, seed);
    }
    shrink_release(&s);
    return bad;
}

static void run_seeds(kiln_ctx *ctx, uint64_t first)
{
    uint64_t n = number_of("KILN_TEST_PROGRAMS", 100);
    unsigned bad = 0;
    if (getenv("KILN_TEST_SEED")) {
        assert_int_equal(check_seed(ctx, number_of("KILN_TEST_SEED", 0)), 0);
        return;
    }
    for (uint64_t k = 0; k < n && bad < 5; k++) bad += check_seed(ctx, first + k);
    assert_int_equal(bad, 0);
}

static void fixed_seeds(void **state) { run_seeds(*state, 1); }

static void seeds_of_the_commit(void **state)
{
    uint64_t seed;
    if (!commit_seed(&seed)) {
        print_message("no commit is known here (no git, or no repository): only the fixed seeds ran\n");
        return;
    }
    print_message("seeds of the commit from %llu\n", (unsigned long long)seed);
    run_seeds(*state, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_seeds), cmocka_unit_test(seeds_of_the_commit)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
