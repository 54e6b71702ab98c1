/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever floating-point mode the caller runs in (flushing to zero, another rounding, unmasked traps), every primitive gives the
 * same bits, compiled and interpreted, no signal is raised, and the mode is the caller's again. Compiling there makes the same
 * code, and tracing and reading give the same program. */
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "run/stages.h"
#include "samples.h"
#include "same.h"

#include <fenv.h>
#include <signal.h>
#include <xmmintrin.h>

static const struct mode {
    const char *name;
    unsigned mxcsr;
    int rounding; /* of the x87 unit, which long double and the C library ask */
} modes[] = {
    {"flushing to zero", 0x9fc0, FE_TONEAREST},
    {"rounding up", 0x5f80, FE_UPWARD},
    {"rounding down", 0x3f80, FE_DOWNWARD},
    {"rounding to zero, flags set", 0x7fbf, FE_TOWARDZERO},
    {"unmasked traps", 0x0000, FE_TONEAREST},
    {"unmasked traps, flushing, rounding up", 0xc040, FE_UPWARD},
};
enum { N_MODES = sizeof modes / sizeof *modes };

static void enter(const struct mode *m)
{
    fesetround(m->rounding);
    _mm_setcsr(m->mxcsr);
}
/* Back to the default; false when the bits of `mask` are not the caller's any more. */
enum { WHOLE = 0xffff, CONTROL = 0xffc0 }; /* with and without the sticky flags */
static bool leave(const struct mode *m, unsigned mask)
{
    unsigned now = _mm_getcsr();
    fesetround(FE_TONEAREST);
    _mm_setcsr(0x1f80);
    return (now & mask) == (m->mxcsr & mask);
}

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]);
}

static void check_sample(kiln_ctx *ctx, sample *s, const kiln_compile_opts *o)
{
    kiln_exec *f;
    kiln_array *want[SAMPLE_OUT], *got[SAMPLE_OUT];
    char what[200];
    assert_ok(ctx, kiln_compile(ctx, s->p, o, &f));
    assert_ok(ctx, kiln_prog_eval(ctx, s->p, s->in, want));
    for (size_t k = 0; k < N_MODES; k++)
        for (int compiled = 0; compiled < 2; compiled++) {
            enter(&modes[k]);
            kiln_status status = compiled ? kiln_exec_call(ctx, f, s->in, got) : kiln_prog_eval(ctx, s->p, s->in, got);
            bool kept = leave(&modes[k], WHOLE);
            assert_ok(ctx, status);
            bool same = true;
            for (uint32_t i = 0; i < s->nout; i++) same = same && same_array(want[i], got[i], NULL);
            snprintf(what, sizeof what, "%s, %s: %s", compiled ? "compiled" : "interpreted", modes[k].name,
                     same ? "the mode is not restored" : "other bits");
            if (!same || !kept) sample_report(ctx, s, what);
            assert_true(same && kept);
            release(got, s->nout);
        }
    release(want, s->nout);
    kiln_exec_release(f);
}

static void every_primitive(void **state)
{
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            sample s;
            kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
            o.tier = k ? 2 : 0;
            if (!sample_make(*state, prims[i], 100 + (uint64_t)k, k ? 65 : 19, &s)) continue;
            check_sample(*state, &s, &o);
            sample_free(&s);
        }
}

/* Numbers that rounding, subnormals and traps would change on their way into a program. */
static const char text[] = "{ lambda ; a:f32[3] b:f64[]. let\n"
                           "    c:f32[] = convert_element_type[new_dtype=float32 weak_type=False] 0.1:f64[]\n"
                           "    d:f64[] = div 1.0:f64[] 3.0:f64[]\n"
                           "    e:f64[] = mul 1e-310:f64[] 0.3:f64[]\n"
                           "    f:f32[] = add 1e-40:f32[] 0.1:f32[]\n"
                           "    g:f64[] = div 1.0:f64[] 0.0:f64[]\n"
                           "    h:f32[] = mul 3e+38:f32[] 1e+01:f32[]\n"
                           "    i:i32[] = convert_element_type[new_dtype=int32 weak_type=False] 2.5:f64[]\n"
                           "    j:f32[3] = mul a c\n"
                           "    k:f64[] = mul b d\n"
                           "    l:f64[] = add k e\n"
                           "    m:f32[3] = add j f\n"
                           "    n:f32[3] = mul m h\n"
                           "  in (n, l, g, i) }\n";

static void make_object(kiln_ctx *ctx, char **object, size_t *n, char **printed, size_t *np)
{
    kiln_prog *p;
    kn_arena arena;
    kn_loops *l;
    kn_resolved r;
    char *loops;
    size_t nl;
    assert_ok(ctx, kiln_prog_parse(ctx, text, sizeof text - 1, "t.jaxpr", &p));
    assert_ok(ctx, kiln_prog_print(ctx, p, 100, printed, np));
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &loops, &nl));
    kn_arena_init(&arena, &ctx->alloc);
    assert_ok(ctx, kn_compile_resolve(ctx, NULL, &r));
    assert_ok(ctx, kn_loops_parse(ctx, &arena, loops, nl, "t.loops", &l));
    assert_ok(ctx, kn_loops_stage(ctx, l, &r, "object", object, n));
    kn_arena_fini(&arena);
    kiln_text_free(ctx, loops, nl);
    kiln_prog_release(p);
}

static void reading_and_compiling(void **state)
{
    kiln_ctx *ctx = *state;
    char *want, *got, *text_want, *text_got;
    size_t n, m, tn, tm;
    make_object(ctx, &want, &n, &text_want, &tn);
    for (size_t k = 0; k < N_MODES; k++) {
        enter(&modes[k]);
        make_object(ctx, &got, &m, &text_got, &tm);
        bool kept = leave(&modes[k], CONTROL);
        if (!kept || n != m || memcmp(want, got, n) != 0 || tn != tm || memcmp(text_want, text_got, tn) != 0)
            fail_msg("%s: %s", modes[k].name, !kept ? "the mode is not restored" : tn != tm || memcmp(text_want, text_got, tn) != 0 ? text_got : "another object");
        kiln_text_free(ctx, got, m);
        kiln_text_free(ctx, text_got, tm);
    }
    kiln_text_free(ctx, want, n);
    kiln_text_free(ctx, text_want, tn);
}

static kiln_prog *trace(kiln_ctx *ctx)
{
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_place(t, "m", 1, 1);
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F32, 3));
    kiln_val third = kiln_div(t, kiln_num(t, 1), kiln_num(t, 3)), small = kiln_mul(t, kiln_scalar(t, KILN_F32, 1e-40), kiln_num(t, 0.7));
    kiln_val y = kiln_add(t, kiln_mul(t, x, kiln_num(t, 0.1)), kiln_exp(t, kiln_scalar(t, KILN_F32, 0.3)));
    kiln_output(t, "y", kiln_add(t, kiln_add(t, y, third), kiln_div(t, small, kiln_scalar(t, KILN_F32, 0))));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

static void tracing(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *want = trace(ctx);
    for (size_t k = 0; k < N_MODES; k++) {
        enter(&modes[k]);
        kiln_prog *got = trace(ctx);
        bool kept = leave(&modes[k], CONTROL);
        if (!kept || !kn_jaxpr_equal(want->main, got->main)) fail_msg("%s: %s", modes[k].name, kept ? "another program" : "the mode is not restored");
        kiln_prog_release(got);
    }
    kiln_prog_release(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_primitive), cmocka_unit_test(reading_and_compiling), cmocka_unit_test(tracing)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
