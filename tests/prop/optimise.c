/* SPDX-License-Identifier: Apache-2.0 */
/* Promise 2 for lowering and optimisation: the interpreter gives the same bits for the traced program, the lowered one, and what
 * every pass makes of it; on samples of every primitive and on random programs with loops and branches. */
#include "lower/lower.h"
#include "opt/opt.h"
#include "prim/sample.h"
#include "random_program.h"
#include "testing.h"

enum { MAX_OUT = 64 };

/* Two NaNs are equal. */
static bool same_elements(const kiln_array *a, const kiln_array *b)
{
    kiln_dtype d = a->type.dtype;
    kiln_type t = b->type;
    if (d == KILN_KEY && t.dtype == KILN_U64) t.dtype = d; /* lowering leaves a key's bits .. */
    if (d == KILN_TOKEN && t.dtype == KILN_U8) t.dtype = d; /* .. and a token's byte */
    if (!kiln_type_equal(a->type, t)) return false;
    if (kiln_dtype_kind(d) != 'f') return memcmp(a->data, b->data, a->bytes) == 0;
    for (int64_t k = 0; k < kiln_type_size(a->type); k++) {
        kn_scalar x = kn_scalar_load(d, a->data, k), y = kn_scalar_load(d, b->data, k);
        if (!kn_scalar_same(d, x, y) && !(isnan(x.f) && isnan(y.f))) return false;
    }
    return true;
}

typedef struct check {
    kiln_ctx *ctx;
    kiln_array *const *in;
    kiln_array **want;
    uint32_t nout;
    const char *what;
    uint64_t seed;
    const kn_prog *before;
} check;

static void show(kiln_ctx *ctx, const char *title, const kn_prog *p)
{
    char *text;
    size_t n;
    if (kiln_prog_print(ctx, p, 120, &text, &n) != KILN_OK) return;
    print_error("%s:\n%s\n", title, text);
    kiln_text_free(ctx, text, n);
}

static kiln_status compare(void *ud, const char *pass, uint32_t round, const kn_prog *p)
{
    check *c = ud;
    kiln_array *got[MAX_OUT];
    KILN_TRY(kn_verify(c->ctx, p));
    KILN_TRY(kiln_prog_eval(c->ctx, p, c->in, got));
    bool same = true;
    for (uint32_t i = 0; i < c->nout; i++) {
        same = same && same_elements(c->want[i], got[i]);
        kiln_array_release(got[i]);
    }
    if (same) return KILN_OK;
    show(c->ctx, "traced", c->before);
    show(c->ctx, "now", p);
    return kn_fail(c->ctx, KILN_INTERNAL, "%s, seed %llu: %s (round %u) changes a result", c->what, (unsigned long long)c->seed, pass, round);
}

/* Lowers and optimises, comparing after every step. */
static void check_program(kiln_ctx *ctx, const kn_prog *p, kiln_array *const *in, const char *what, uint64_t seed, uint32_t *fired)
{
    kiln_array *want[MAX_OUT];
    check c = {ctx, in, want, kiln_prog_n_outputs(p), what, seed, p};
    assert_true(c.nout <= MAX_OUT);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    kn_prog *low, *opt, *again;
    assert_ok(ctx, kn_lower(ctx, p, &low));
    assert_ok(ctx, compare(&c, "lower", 0, low));
    kn_opt_stats stats = {.fired = fired};
    kn_opt_options o = {.hook = compare, .hook_ud = &c, .stats = &stats};
    assert_ok(ctx, kn_optimise(ctx, low, &o, &opt));
    assert_ok(ctx, compare(&c, "the end", stats.rounds, opt));
    assert_true(stats.rounds < KN_OPT_ROUNDS);
    stats.rounds = 0;
    assert_ok(ctx, kn_optimise(ctx, opt, &o, &again)); /* a fixpoint: nothing is left to do */
    if (stats.rounds != 1 || !kn_jaxpr_equal(opt->main, again->main)) {
        show(ctx, "optimised", opt);
        show(ctx, "again", again);
        fail_msg("%s, seed %llu: optimising again changes the program", what, (unsigned long long)seed);
    }
    for (uint32_t i = 0; i < c.nout; i++) kiln_array_release(want[i]);
    kiln_prog_release(low);
    kiln_prog_release(opt);
    kiln_prog_release(again);
}

static void samples(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 8, 17};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (size_t l = 0; !(prims[i]->flags & KN_TRANSIENT) && l < sizeof lengths / sizeof *lengths; l++)
            for (uint64_t seed = 0; seed < 8; seed++) {
                kn_prog *p;
                kiln_array *in[KN_SAMPLE_INPUTS];
                uint32_t nin;
                assert_ok(*state, kn_sample_program(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l]}, &p, in, &nin));
                check_program(*state, p, in, prims[i]->name, seed, NULL);
                for (uint32_t k = 0; k < nin; k++) kiln_array_release(in[k]);
                kiln_prog_release(p);
            }
}

static void programs(void **state)
{
    uint32_t n = kn_rule_count(), *fired = calloc(n, sizeof *fired);
    const char *more = getenv("KILN_TEST_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 1500;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        kn_prog *p = NULL;
        kiln_array *in[RP_INPUTS];
        uint32_t nin;
        assert_ok(*state, random_program(*state, seed, 10 + (uint32_t)(seed % 50), &p, in, &nin));
        check_program(*state, p, in, "random program", seed, fired);
        for (uint32_t k = 0; k < nin; k++) kiln_array_release(in[k]);
        kiln_prog_release(p);
    }
    uint32_t idle = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!fired[i]) print_message("not met: %s: %s\n", kn_rule_pass(i), kn_rule_text(i)), idle++;
    assert_true(idle < n / 4);
    free(fired);
}

/* The programs of the shared cases, where all their primitives are there, on small numbers. */
static void shared_cases(void **state)
{
    kiln_ctx *ctx = *state;
    DIR *d = opendir(KILN_CASES "/transforms");
    if (!d) skip();
    uint32_t n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[1024];
        kn_prog *p;
        kiln_array *in[64];
        size_t len = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/transforms/%s", KILN_CASES, e->d_name);
        if (len < 7 || strcmp(e->d_name + len - 6, ".jaxpr") != 0) continue;
        if (kiln_prog_load(ctx, path, &p) != KILN_OK) {
            assert_says(ctx, "no primitive");
            continue;
        }
        rp r = {.ctx = ctx};
        for (const char *c = e->d_name; *c; c++) r.state = r.state * 31 + (unsigned char)*c; /* whatever else is in the folder */
        n++;
        uint32_t nin = kiln_prog_n_inputs(p);
        bool real = nin <= 64, loops = strstr(e->d_name, "while") != NULL; /* which end by their data: operands above 1 */
        for (uint32_t i = 0; real && i < nin; i++) real = strchr("biuf", kiln_dtype_kind(kiln_prog_input_type(p, i).dtype)) != NULL;
        for (uint32_t i = 0; real && i < nin; i++) {
            kiln_type t = kiln_prog_input_type(p, i);
            assert_ok(ctx, kiln_array_create(ctx, t, &in[i]));
            for (int64_t k = 0; k < kiln_type_size(t); k++) {
                kn_scalar v = {.i = rp_below(&r, 6)};
                if (t.dtype == KILN_BOOL) v = (kn_scalar){.b = rp_below(&r, 2)};
                if (kiln_dtype_kind(t.dtype) == 'f') v = (kn_scalar){.f = (double)rp_bits(&r) * 0x1p-62 + (loops ? 1 : -2)};
                kn_scalar_store(t.dtype, in[i]->data, k, v);
            }
        }
        if (real) check_program(ctx, p, in, e->d_name, n, NULL);
        for (uint32_t i = 0; real && i < nin; i++) kiln_array_release(in[i]);
        kiln_prog_release(p);
    }
    closedir(d);
    assert_true(n > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples), cmocka_unit_test(programs), cmocka_unit_test(shared_cases)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
