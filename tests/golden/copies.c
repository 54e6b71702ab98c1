/* SPDX-License-Identifier: Apache-2.0 */
/* Which copies of arrays are left, and what is said of them; every copy in the loops is told of. */
#include "base/text.h"
#include "kiln/prog.h"
#include "run/stages.h"
#include "testing.h"

enum { MOST_INPUTS = 8 };

static void report(kiln_ctx *ctx, const kiln_prog *p, bool donate, kn_text *out)
{
    bool donated[MOST_INPUTS];
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    char *text;
    size_t n;
    for (uint32_t i = 0; i < MOST_INPUTS; i++) donated[i] = donate;
    assert_true(kiln_prog_n_inputs(p) <= MOST_INPUTS);
    o.donated = donated;
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, "copies", &text, &n));
    kn_text_addn(out, text, n);
    kiln_text_free(ctx, text, n);
}

/* Copies in the loops as text: none that is not told of. */
static void assert_all_told(kiln_ctx *ctx, const kiln_prog *p)
{
    char *text;
    size_t n;
    unsigned copies = 0, in_loops, outside;
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &text, &n));
    for (const char *s = text; (s = strstr(s, "\n")); s++) copies += strncmp(s + 1 + strspn(s + 1, " "), "copy ", 5) == 0;
    kiln_text_free(ctx, text, n);
    kn_text t;
    kn_text_init(&t, &ctx->alloc);
    report(ctx, p, false, &t);
    assert_int_equal(sscanf(t.s, "copies: %u in loops, %u outside", &in_loops, &outside), 2);
    assert_true(copies <= in_loops + outside);
    unsigned lines = 0;
    for (const char *s = t.s; (s = strchr(s, '\n')); s++) lines++;
    assert_int_equal(lines, 1 + in_loops + outside);
    kn_text_fini(&t);
}

static void one(kiln_ctx *ctx, const char *program, size_t n, const char *want, size_t want_n, const char *donated, size_t donated_n, unsigned line)
{
    kiln_prog *p;
    kn_text t;
    assert_ok(ctx, kiln_prog_parse(ctx, program, n, "case", &p));
    for (int k = 0; k < 2; k++) {
        kn_text_init(&t, &ctx->alloc);
        report(ctx, p, k, &t);
        const char *w = k ? donated : want;
        size_t wn = k ? donated_n : want_n;
        if (t.n != wn || memcmp(t.s, w, wn) != 0) fail_msg("copies.txt:%u%s: expected\n%.*sfound\n%s", line, k ? ", donated" : "", (int)wn, w, t.s);
        kn_text_fini(&t);
    }
    assert_all_told(ctx, p);
    kiln_prog_release(p);
}

static void cases(void **state)
{
    kn_bytes file;
    unsigned count = 0, line = 1;
    assert_ok(*state, kn_file_read(*state, KILN_TEST_DATA "/copies.txt", &file));
    for (char *s = file.s; *s;) {
        char *end = strstr(s, "\n\n"), *stop = end ? end + 1 : s + strlen(s);
        const char *program = s, *want = strstr(s, "\n=>\n"), *donated = strstr(s, "\n=> donated\n");
        while (*program == '#') program = strchr(program, '\n') + 1;
        if (want && want < stop) {
            assert_true(donated && donated < stop);
            one(*state, program, (size_t)(want + 1 - program), want + 4, (size_t)(donated + 1 - want - 4), donated + 12, (size_t)(stop - donated - 12), line);
            count++;
        }
        for (; s < stop || *s == '\n'; s++) line += *s == '\n';
    }
    kn_bytes_free(*state, &file);
    assert_true(count >= 9);
}

/* Of the samples of programs as well. */
static void examples(void **state)
{
    static const char *const names[] = {"collatz", "compound", "damped_sine", "factor", "layer", "safe_log", "smooth", "softmax"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        kiln_prog *p;
        snprintf(path, sizeof path, KILN_SOURCE_DIR "/examples/programs/%s.jaxpr", names[i]);
        assert_ok(*state, kiln_prog_load(*state, path, &p));
        assert_all_told(*state, p);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(examples)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
