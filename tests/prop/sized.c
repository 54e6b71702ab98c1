/* SPDX-License-Identifier: Apache-2.0 */
/* Every primitive's samples with their length left open: compiled once, they give the interpreter's bits at every size, or the compile
 * is refused by name. KILN_TEST_PRIM takes one primitive, KILN_TEST_SEEDS that many programs of each. */
#define _DEFAULT_SOURCE

#include "base/text.h"
#include "samples.h"

#include "sized_run.h"

/* A prime that no sample has by chance: what is near a multiple of it depends on the length. */
enum { LENGTH = 1009, NEAR = 12, MOST_FACTOR = 64 };

static const int64_t sizes[] = {0, 1, 2, 3, 4, 7, 17, 64, 65, 1009};

static void put_size(kn_text *t, int64_t v)
{
    int64_t factor = (v + LENGTH / 2) / LENGTH, rest = v - factor * LENGTH;
    bool open = factor > 0 && factor <= MOST_FACTOR && rest >= -NEAR && rest <= NEAR;
    if (!open) kn_text_printf(t, "%lld", (long long)v);
    else if (rest) kn_text_printf(t, "%lld*n %c %lld", (long long)factor, rest < 0 ? '-' : '+', (long long)(rest < 0 ? -rest : rest));
    else kn_text_printf(t, "%lld*n", (long long)factor);
}

/* Whole numbers in brackets and behind `=` that depend on the length. */
static void open_text(const char *s, size_t n, kn_text *t)
{
    for (size_t i = 0; i < n;) {
        bool starts = i && strchr("[(,=", s[i - 1]) != NULL;
        bool spaced = i > 1 && s[i - 1] == ' ' && s[i - 2] == ',';
        size_t k = i;
        int64_t v = 0;
        while (k < n && s[k] >= '0' && s[k] <= '9' && v < 1000000) v = v * 10 + (s[k++] - '0');
        bool ends = k < n && strchr("]),\n ", s[k]) != NULL;
        if (k > i && (starts || spaced) && ends) {
            put_size(t, v);
            i = k;
        } else {
            kn_text_char(t, s[i++]);
        }
    }
}

typedef struct tally {
    unsigned programs, refused, runs;
} tally;

/* Only what needs the size may be refused. */
static void check_refusal(kiln_ctx *ctx, const kn_prim *prim, const char *text)
{
    const kiln_diag *d = kiln_ctx_error(ctx);
    if (getenv("KILN_TEST_PRIM")) print_message("%s\n", d->message);
    if (strcmp(d->kind, "needs-size") == 0) return;
    print_error("%s", text);
    fail_msg("%s: %s", prim->name, d->message);
}

static void check_program(kiln_ctx *ctx, const kn_prim *prim, uint64_t seed, const kiln_prog *p, const char *text, tally *t)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f;
    o.tier = seed % 2 ? 2 : 0;
    o.no_fusion = seed % 5 == 0;
    o.register_elements = seed % 3 ? 16 : 0;
    ctx->threads = seed % 4 < 2 ? 2 : 1;
    o.split_cost = ctx->threads == 2 ? 1 : 0;
    t->programs++;
    if (kiln_compile(ctx, p, &o, &f) != KILN_OK) {
        check_refusal(ctx, prim, text);
        t->refused++;
        return;
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char name[64];
        if (!sized_exists(p, sizes[k])) continue;
        snprintf(name, sizeof name, "%s, seed %llu", prim->name, (unsigned long long)seed);
        sized_state = seed + k;
        if (sized_run(ctx, p, f, sizes[k], name) == KILN_OK) t->runs++;
        else if (sizes[k] == LENGTH || !strstr(kiln_ctx_error(ctx)->message, "at least")) fail_msg("%s: size %lld: %s", name, (long long)sizes[k], kiln_ctx_error(ctx)->message);
    }
    kiln_exec_release(f);
}

static void check_sample(kiln_ctx *ctx, const kn_prim *prim, uint64_t seed, tally *t)
{
    sample s;
    char *text;
    size_t n;
    kn_text open;
    kiln_prog *p;
    if (!sample_make(ctx, prim, seed, LENGTH, &s)) return;
    assert_ok(ctx, kiln_prog_print(ctx, s.p, 0, &text, &n));
    kn_text_init(&open, &ctx->alloc);
    open_text(text, n, &open);
    if (getenv("KILN_TEST_PRIM")) print_message("%s", open.s);
    /* lengths in parts, or whose square counts, are no program */
    if (kiln_prog_parse(ctx, open.s, open.n, prim->name, &p) == KILN_OK) {
        bool has = false;
        for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) has = has || kn_type_open(kiln_prog_input_type(p, i));
        if (has) check_program(ctx, prim, seed, p, open.s, t);
        kiln_prog_release(p);
    }
    kn_text_fini(&open);
    kiln_text_free(ctx, text, n);
    sample_free(&s);
}

static void every_primitive(void **state)
{
    kiln_ctx *ctx = *state;
    const char *only = getenv("KILN_TEST_PRIM"), *more = getenv("KILN_TEST_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 4;
    uint32_t n;
    tally all = {0};
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        tally t = {0};
        if ((only && strcmp(only, prims[i]->name) != 0) || prims[i]->flags & KN_TRANSIENT) continue;
        for (uint64_t seed = 0; seed < seeds; seed++) check_sample(ctx, prims[i], seed, &t);
        if (more) print_message("%s: %u programs, %u refused, %u runs\n", prims[i]->name, t.programs, t.refused, t.runs);
        all.programs += t.programs, all.refused += t.refused, all.runs += t.runs;
    }
    print_message("%u programs, %u refused, %u runs\n", all.programs, all.refused, all.runs);
    if (!only) assert_true(all.programs - all.refused > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_primitive)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
