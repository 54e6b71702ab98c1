/* SPDX-License-Identifier: Apache-2.0 */
/* Whole modules: random programs over every primitive, with loops and branches inside one another, print as StableHLO that reads
 * back and prints the same; the module that was read gives the bits of the program interpreted, and compiled. Seeds are fixed,
 * and more come from the commit. A program that fails is made smaller while it fails, and printed with its module.
 *   KILN_TEST_PROGRAMS=N  programs of each kind of seed (default 40)      KILN_TEST_SEED=S  only the program of this seed */
#include "random_loops.h"
#include "random_mix.h"
#include "same.h"
#include "seeds.h"
#include "shrink.h"
#include "timed.h"
#include "testing.h"

#include "hlo/hlo.h"
#include "kiln/exec.h"

enum { MAX_OUT = 64 };

enum { SECONDS = 5 }; /* of the interpreter on one program */

typedef struct check {
    kiln_ctx *ctx;
    char why[KILN_DIAG_TEXT];
} check;

static bool say(check *c, const char *what)
{
    char message[KILN_DIAG_TEXT];
    snprintf(message, sizeof message, "%s", kiln_ctx_error(c->ctx)->message);
    snprintf(c->why, sizeof c->why, "%s: %.300s", what, message);
    return true;
}

static bool differs(check *c, const char *side, uint32_t n, kiln_array *const *want, kiln_array *const *got)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = 0;
        bool words = want[i]->type.dtype == KILN_KEY; /* which keys come back as */
        if (words && got[i]->bytes == want[i]->bytes && memcmp(got[i]->data, want[i]->data, want[i]->bytes) == 0) continue;
        if (same_array(got[i], want[i], &at)) continue;
        snprintf(c->why, sizeof c->why, "output %u, element %lld differs in the module %s", i, (long long)at, side);
        return true;
    }
    return false;
}

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]), a[i] = NULL;
}

/* The values of the program and of its module, interpreted and compiled. */
static bool values_fail(check *c, const kiln_prog *p, const kiln_prog *module, kiln_array *const *in)
{
    kiln_array *want[MAX_OUT] = {0}, *got[MAX_OUT] = {0};
    kiln_exec *f = NULL;
    uint32_t n = kiln_prog_n_outputs(p);
    if (evaluate(c->ctx, SECONDS, p, in, want) != KILN_OK) return false; /* not a program that runs: nothing to compare */
    bool bad = evaluate(c->ctx, SECONDS, module, in, got) != KILN_OK ? say(c, "the module is not evaluated") : differs(c, "interpreted", n, want, got);
    release(got, n);
    if (!bad && kiln_compile(c->ctx, module, NULL, &f) != KILN_OK) bad = say(c, "the module is not compiled");
    if (!bad && kiln_exec_call(c->ctx, f, in, got) != KILN_OK) bad = say(c, "the module is not called");
    if (!bad) bad = differs(c, "compiled", n, want, got);
    release(want, n);
    release(got, n);
    kiln_exec_release(f);
    return bad;
}

static bool fails(void *ud, const kiln_prog *p, kiln_array *const *in)
{
    check *c = ud;
    kiln_prog *module = NULL;
    kn_text first, again;
    kn_text_init(&first, &c->ctx->alloc);
    kn_text_init(&again, &c->ctx->alloc);
    bool bad = false;
    if (kn_hlo_print_stablehlo(c->ctx, p, &first) != KILN_OK) bad = say(c, "the program does not print");
    else if (kn_hlo_parse(c->ctx, first.s, first.n, "printed", &module) != KILN_OK) bad = say(c, "the module does not read back");
    else if (kn_hlo_print_stablehlo(c->ctx, module, &again) != KILN_OK) bad = say(c, "the module does not print again");
    else if (strcmp(first.s, again.s) != 0) bad = true, snprintf(c->why, sizeof c->why, "the module prints otherwise once it has been read");
    else bad = values_fail(c, p, module, in);
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(module);
    return bad;
}

static void report(check *c, shrink_case *s, uint64_t seed)
{
    char *text;
    size_t n;
    shrink_program(c->ctx, s, fails, c);
    fails(c, s->p, s->in);
    print_error("seed %llu: %s\n", (unsigned long long)seed, c->why);
    if (kiln_prog_print(c->ctx, s->p, 120, &text, &n) == KILN_OK) {
        fputs(text, stderr);
        kiln_text_free(c->ctx, text, n);
    }
    kn_text module;
    kn_text_init(&module, &c->ctx->alloc);
    if (kn_hlo_print_stablehlo(c->ctx, s->p, &module) == KILN_OK) fputs(module.s, stderr);
    kn_text_fini(&module);
    for (uint32_t i = 0; i < s->nin; i++) {
        char line[400];
        kiln_array_format(s->in[i], 20, line, sizeof line);
        print_error("input %u = %s\n", i, line);
    }
}

static unsigned check_seed(kiln_ctx *ctx, uint64_t seed)
{
    kiln_array *in[RP_INPUTS + KN_SAMPLE_INPUTS];
    shrink_case s = {0};
    check c = {.ctx = ctx};
    assert_ok(ctx, (seed % 2 ? random_loops : random_mix)(ctx, seed, 20 + (uint32_t)(seed % 41), &s.p, in, &s.nin));
    for (uint32_t i = 0; i < s.nin; i++) s.in[i] = in[i];
    bool bad = fails(&c, s.p, s.in);
    if (bad) report(&c, &s, seed);
    shrink_release(&s);
    return bad;
}

static void run_seeds(kiln_ctx *ctx, uint64_t first)
{
    uint64_t n = number_of("KILN_TEST_PROGRAMS", 40);
    unsigned bad = 0;
    if (getenv("KILN_TEST_SEED")) {
        assert_int_equal(check_seed(ctx, number_of("KILN_TEST_SEED", 0)), 0);
        return;
    }
    for (uint64_t k = 0; k < n && bad < 5; k++) bad += check_seed(ctx, first + k);
    assert_int_equal(bad, 0);
}

/* Programs that random testing found to fail once, as small as they became. */
static const char *const found[] = {
    /* a number that a body captures, written behind the operation that the body belongs to */
    "{ lambda ; a:f64[5] b:f64[]. let\n"
    "    c:f64[] = reduce[\n"
    "      dimensions=(0,)\n"
    "      jaxpr={ lambda ; d:f64[] e:f64[] f:f64[]. let g:f64[] = max e f; h:f64[] = max g d in (h,) }\n"
    "      num_consts=1\n"
    "    ] 2.5:f64[] a b\n"
    "  in (c,) }\n",
    /* dimensions read in another order */
    "{ lambda ; a:i32[]. let\n"
    "    b:i32[2,3] = iota[dimension=1 dtype=int32 shape=(2, 3) sharding=None]\n"
    "    c:i32[2,3] = add b a\n"
    "    d:i32[6] = reshape[dimensions=(1, 0) new_sizes=(6,) sharding=None] c\n"
    "  in (d,) }\n",
};

static void found_programs(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof found / sizeof *found; k++) {
        kiln_array *in[RP_INPUTS];
        kiln_prog *p;
        check c = {.ctx = ctx};
        assert_ok(ctx, kiln_prog_parse(ctx, found[k], strlen(found[k]), "found.jaxpr", &p));
        uint32_t n = kiln_prog_n_inputs(p);
        assert_true(n <= RP_INPUTS);
        for (uint32_t i = 0; i < n; i++) {
            assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
            memset(kiln_array_data(in[i]), 0, kiln_array_bytes(in[i]));
        }
        if (fails(&c, p, in)) fail_msg("program %zu: %s", k, c.why);
        for (uint32_t i = 0; i < n; i++) kiln_array_release(in[i]);
        kiln_prog_release(p);
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_programs), cmocka_unit_test(fixed_seeds), cmocka_unit_test(seeds_of_the_commit)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
