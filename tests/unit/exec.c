/* SPDX-License-Identifier: Apache-2.0 */
/* Executables as callers see them: checked calls, donation, the caller's floating-point mode, the stop flag, ticks, options,
 * the n-th allocation, threads. */
#include "run/exec.h"
#include "run/stages.h"
#include "testing.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <xmmintrin.h>

static const char adds[] = "kiln loops inputs 2 outputs 1 scratch 256\n"
                           "slot a: f32[40] input 0 slot b: f32[40] input 1 slot x: f32[40] output 0 slot t: f32[40] scratch 0\n"
                           "{ loop %1 in 0 .. 40 width 8 { %2 = a[%1] %3 = b[%1] %4 = add f32 %2, %3 t[%1] = %4 }\n"
                           " loop %5 in 0 .. 40 width 8 { %6 = t[%5] %7 = mul f32 %6, 0.1 x[%5] = %7 } }\n";

static const char counts_up[] = "kiln loops inputs 1 outputs 2 ticks scope \"\" scope \"node:a\" scope \"node:b\"\n"
                                "slot n: i64[1] input 0 slot x: i64[1] output 0 slot y: f64[1] output 1\n"
                                "{ %1 = n[0] %2, %3 = while carry %4 = i64 0, %5 = f64 1e-310 { %6 = lt i64 %4, %1 yield %6 } do %7, %8 {\n"
                                "  %9 = add i64 %7, 1 tick 1 %10 = mul f64 %8, 1.0000001 tick 2 yield %9, %10 }\n"
                                " x[0] = %2 y[0] = %3 tick 0 }\n";

static kiln_status compile(kiln_ctx *ctx, const char *text, const kiln_compile_opts *o, kiln_exec **f)
{
    kn_arena arena;
    kn_loops *l;
    kn_arena_init(&arena, &ctx->alloc);
    kiln_status status = kn_loops_parse(ctx, &arena, text, strlen(text), "t", &l);
    if (status == KILN_OK) status = kn_compile_loops(ctx, l, NULL, o, f);
    kn_arena_fini(&arena);
    return status;
}

static kiln_array *make(kiln_ctx *ctx, kiln_dtype d, int64_t n)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(d, n), &a));
    for (int64_t i = 0; i < n && d == KILN_F32; i++) ((float *)a->data)[i] = (float)i;
    return a;
}

/* First in the program: the module is opened once a process. */
static void missing_module(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec *f;
    snprintf(ctx->lib_dir, sizeof ctx->lib_dir, "/nowhere");
    assert_int_equal(compile(ctx, adds, NULL, &f), KILN_COMPILE);
    assert_says(ctx, "libkiln-llvm.so is not found in /nowhere");
    assert_null(f);
}

static void checked_calls(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec *f;
    assert_ok(ctx, compile(ctx, adds, NULL, &f));
    kiln_array *a = make(ctx, KILN_F32, 40), *b = make(ctx, KILN_F32, 40), *x = make(ctx, KILN_F32, 40), *y = NULL;
    kiln_array *small = make(ctx, KILN_F32, 39), *other = make(ctx, KILN_I32, 40);
    assert_ok(ctx, kiln_exec_call(ctx, f, (kiln_array *[]){a, b}, &y));
    assert_ok(ctx, kiln_exec_call_into(ctx, f, (kiln_array *[]){a, a}, &x));
    for (int i = 0; i < 40; i++) assert_true(((float *)y->data)[i] == (float)(2 * i) * 0.1f);
    assert_memory_equal(x->data, y->data, x->bytes);
    kiln_array *z;
    assert_int_equal(kiln_exec_call(ctx, f, (kiln_array *[]){a, small}, &z), KILN_SHAPE);
    assert_says(ctx, "input 1 has type f32[39]; accepted: f32[40]");
    assert_null(z);
    assert_int_equal(kiln_exec_call(ctx, f, (kiln_array *[]){other, a}, &z), KILN_DTYPE);
    assert_int_equal(kiln_exec_call(ctx, f, (kiln_array *[]){NULL, a}, &z), KILN_INVALID);
    assert_int_equal(kiln_exec_call_into(ctx, f, (kiln_array *[]){a, b}, &small), KILN_SHAPE);
    assert_int_equal(kiln_exec_call_into(ctx, f, (kiln_array *[]){a, b}, &b), KILN_INVALID);
    assert_says(ctx, "output 0 overlaps input 1, which is not donated");
    kiln_exec_release(f);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.donated = (bool[]){false, true};
    assert_ok(ctx, compile(ctx, adds, &o, &f));
    assert_ok(ctx, kiln_exec_call_into(ctx, f, (kiln_array *[]){a, b}, &b));
    assert_memory_equal(b->data, y->data, b->bytes);
    kiln_exec_release(f);
    kiln_array *all[] = {a, b, x, y, small, other};
    for (int i = 0; i < 6; i++) kiln_array_release(all[i]);
}

static void options(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec *f;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.tier = 1;
    assert_int_equal(compile(ctx, adds, &o, &f), KILN_INVALID);
    assert_says(ctx, "tier 1; accepted: 0, 2");
    o = (kiln_compile_opts)KILN_COMPILE_OPTS_INIT;
    o.target = "z80";
    assert_int_equal(compile(ctx, adds, &o, &f), KILN_INVALID);
    assert_says(ctx, "target 'z80'; accepted: x86-64-v2, x86-64-v3, x86-64-v4, aarch64");
    o = (kiln_compile_opts)KILN_COMPILE_OPTS_INIT;
    o.vector_bits = 96;
    assert_int_equal(compile(ctx, adds, &o, &f), KILN_INVALID);
    o = (kiln_compile_opts)KILN_COMPILE_OPTS_INIT;
    o.register_elements = 65;
    assert_int_equal(compile(ctx, adds, &o, &f), KILN_INVALID);
    assert_says(ctx, "65 elements in registers; accepted: 0 to 64");
    for (o = (kiln_compile_opts)KILN_COMPILE_OPTS_INIT, o.tier = 0; o.tier <= 2; o.tier += 2) {
        assert_ok(ctx, compile(ctx, adds, &o, &f));
        kiln_exec_info i;
        kiln_exec_info_get(f, &i);
        assert_int_equal(i.tier, o.tier);
        assert_true(i.code_bytes > 50 && i.scratch_bytes == 256 && i.emit_ms > 0);
        kiln_exec_release(f);
    }
}

/* Flushing on, upward rounding, unmasked traps: the same bits, no signal, and the mode is the caller's again. */
static void modes(void **state)
{
    kiln_ctx *ctx = *state;
    static const unsigned bits[] = {0x9fc0, 0x5f80, 0x0000, 0x8040 | 0x6000, 0x1f80 | 0x003f, 0x1d80};
    for (int tier = 0; tier <= 2; tier += 2) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = tier;
        kiln_exec *f;
        assert_ok(ctx, compile(ctx, counts_up, &o, &f));
        int64_t n = 1000, count;
        double want, got;
        assert_int_equal(kiln_exec_run(f, (void *[]){&n, &count, &want}, NULL, NULL), 0);
        assert_true(want > 1e-310 && count == n);
        unsigned before = _mm_getcsr();
        for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
            _mm_setcsr(bits[i]);
            int status = kiln_exec_run(f, (void *[]){&n, &count, &got}, NULL, NULL);
            unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            assert_int_equal(status, 0);
            assert_int_equal(after & 0xffc0, bits[i] & 0xffc0);
            assert_memory_equal(&got, &want, sizeof got);
        }
        kiln_exec_release(f);
    }
}

static void ticks(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec *f;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    assert_ok(ctx, compile(ctx, counts_up, &o, &f));
    int64_t n = 10000, count;
    double y;
    uint64_t t[4] = {0};
    kiln_call call = {.ticks = t};
    assert_int_equal(kiln_exec_run(f, (void *[]){&n, &count, &y}, NULL, &call), 0);
    assert_true(t[1] > 10000 && t[2] > 10000 && t[0] > 0 && t[3] > 0);
    assert_string_equal(kiln_exec_scope(f, 1), "node:a");
    assert_string_equal(kiln_exec_scope(f, 3), "");
    kiln_call none = {0};
    assert_int_equal(kiln_exec_run(f, (void *[]){&n, &count, &y}, NULL, &none), 0);
    assert_int_equal(kiln_exec_run(f, (void *[]){&n, &count, &y}, NULL, NULL), 0);
    kiln_exec_release(f);
}

/* Sets the flag once the loop has counted a pass of its body, however late the threads come to run. */
typedef struct stopper {
    volatile uint64_t ticks[4];
    volatile bool flag;
} stopper;

static void *stop_after_a_pass(void *ud)
{
    stopper *s = ud;
    while (!s->ticks[2]) sched_yield();
    s->flag = true;
    return NULL;
}

static void stop_flag(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_exec *f;
    assert_ok(ctx, compile(ctx, counts_up, NULL, &f));
    int64_t n = INT64_MAX, count = -1;
    double y;
    stopper s = {{0}, false};
    kiln_call call = {.stop = &s.flag, .ticks = (uint64_t *)(uintptr_t)s.ticks};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_after_a_pass, &s), 0);
    assert_int_equal(kiln_exec_run(f, (void *[]){&n, &count, &y}, NULL, &call), KILN_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(call.status, KILN_CANCELLED);
    assert_true(count > 0 && count < n && y > 0);
    kiln_exec_release(f);
}

static void nth_allocation(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_exec *f = NULL;
        kiln_array *a = NULL, *y = NULL;
        kiln_status status = compile(ctx, adds, NULL, &f);
        if (status == KILN_OK) status = kiln_array_create(ctx, KILN_VECTOR(KILN_F32, 40), &a);
        if (status == KILN_OK) status = kiln_exec_call(ctx, f, (kiln_array *[]){a, a}, &y);
        assert_true(status == KILN_NOMEM || status == KILN_OK);
        done = status == KILN_OK && !test_ctx_failed(ctx);
        kiln_array_release(a);
        kiln_array_release(y);
        kiln_exec_release(f);
        test_ctx_release(ctx);
        assert_true(n < 2000);
    }
}

/* A call into arrays allocates nothing once its frame exists. */
static void calls_allocate_nothing(void **state)
{
    (void)state;
    kiln_ctx *ctx = test_ctx_failing(0);
    kiln_exec *f;
    assert_ok(ctx, compile(ctx, adds, NULL, &f));
    kiln_array *a = make(ctx, KILN_F32, 40), *x = make(ctx, KILN_F32, 40);
    assert_ok(ctx, kiln_exec_call_into(ctx, f, (kiln_array *[]){a, a}, &x));
    test_memory.left = 1;
    for (int i = 0; i < 10; i++) assert_ok(ctx, kiln_exec_call_into(ctx, f, (kiln_array *[]){a, a}, &x));
    assert_false(test_ctx_failed(ctx));
    test_memory.left = 0;
    kiln_array_release(a);
    kiln_array_release(x);
    kiln_exec_release(f);
    test_ctx_release(ctx);
}

static void *compile_and_run(void *result)
{
    kiln_ctx *ctx;
    kiln_exec *f;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return NULL;
    bool good = true;
    for (int i = 0; i < 10 && good; i++) {
        int64_t n = 100 + i, count = 0;
        double y;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = i % 2 * 2;
        good = compile(ctx, counts_up, &o, &f) == KILN_OK;
        if (!good) break;
        good = kiln_exec_run(f, (void *[]){&n, &count, &y}, NULL, NULL) == 0 && count == n;
        kiln_exec_release(f);
    }
    kiln_ctx_release(ctx);
    *(bool *)result = good;
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    pthread_t t[4];
    bool good[4] = {0};
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, compile_and_run, &good[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(good[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_module, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(checked_calls, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(options, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(modes, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(ticks, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(stop_flag, test_setup, test_teardown),
        cmocka_unit_test(nth_allocation),
        cmocka_unit_test(calls_allocate_nothing),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
