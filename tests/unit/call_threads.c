/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: contexts of their own compile at once (the first of them opens the code generator), one program is evaluated and
 * compiled and one executable called from several, handles are retained and released everywhere. Run under the thread sanitizer
 * too. */
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "samples.h"
#include "same.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20 };

typedef struct shared {
    kiln_prog *p;
    kiln_exec *f;
    kiln_array *in[3], *want[2];
    pthread_barrier_t start;
} shared;

typedef struct worker {
    shared *s;
    int number;
    char error[KILN_DIAG_TEXT + 40]; /* cmocka's assertions belong to the main thread */
} worker;

static bool ok(worker *w, kiln_ctx *ctx, kiln_status s)
{
    if (s != KILN_OK && !w->error[0]) snprintf(w->error, sizeof w->error, "%s", kiln_ctx_error(ctx)->message);
    return s == KILN_OK;
}

static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], *(kiln_val *)user); }
static void step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I64, 1));
    next[1] = kiln_add(t, kiln_sin(t, carry[1]), kiln_mul(t, carry[2], kiln_num(t, 0.25)));
    next[2] = kiln_sub(t, carry[2], kiln_mul(t, carry[1], kiln_num(t, 0.125)));
}

/* A program that differs with `variant`; no assertions, it is traced in threads. */
static kiln_status trace(kiln_ctx *ctx, int variant, kiln_prog **p)
{
    kiln_trace *t;
    KILN_TRY(kiln_trace_begin(ctx, &t));
    kiln_val n = kiln_input(t, "n", KILN_SCALAR(KILN_I64)), out[3];
    kiln_val init[3] = {kiln_int(t, KILN_I64, 0), kiln_input(t, "x", KILN_VECTOR(KILN_F64, 200)), kiln_input(t, "v", KILN_VECTOR(KILN_F64, 200))};
    for (int i = 0; i < variant; i++) init[1] = kiln_add(t, kiln_cos(t, init[1]), kiln_num(t, i));
    kiln_while(t, below, step, &n, init, 3, out);
    kiln_output(t, "x", out[1]);
    kiln_output(t, "v", out[2]);
    return kiln_trace_finish(t, p);
}

static bool call_and_compare(worker *w, kiln_ctx *ctx, const kiln_exec *f, kiln_array *const *want)
{
    kiln_array *got[2];
    if (!ok(w, ctx, kiln_exec_call(ctx, f, w->s->in, got))) return false;
    bool same = same_array(got[0], want[0], NULL) && same_array(got[1], want[1], NULL);
    if (!same) snprintf(w->error, sizeof w->error, "thread %d: other results", w->number);
    kiln_array_release(got[0]);
    kiln_array_release(got[1]);
    return same;
}

/* Traces, interprets, compiles and calls with a context of its own. */
static void *compiles(void *ud)
{
    worker *w = ud;
    kiln_ctx *ctx;
    kiln_prog *p;
    kiln_array *want[2];
    kiln_exec *f;
    pthread_barrier_wait(&w->s->start);
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return NULL;
    for (int round = 0; round < 3 && !w->error[0]; round++) {
        if (!ok(w, ctx, trace(ctx, w->number + round, &p))) break;
        if (ok(w, ctx, kiln_prog_eval(ctx, p, w->s->in, want))) {
            kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
            o.tier = (w->number + round) % 2 ? 2 : 0;
            if (ok(w, ctx, kiln_compile(ctx, p, &o, &f))) {
                call_and_compare(w, ctx, f, want);
                kiln_exec_release(f);
            }
            kiln_array_release(want[0]);
            kiln_array_release(want[1]);
        }
        kiln_prog_release(p);
    }
    kiln_ctx_release(ctx);
    return NULL;
}

/* Calls the executable that all share: raw, checked, into arrays that exist; retains and releases everything. */
static void *calls(void *ud)
{
    worker *w = ud;
    shared *s = w->s;
    kiln_ctx *ctx;
    kiln_array *got[2] = {NULL, NULL};
    pthread_barrier_wait(&s->start);
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return NULL;
    kiln_exec *f = kiln_exec_retain(s->f);
    kiln_prog *p = kiln_prog_retain(s->p);
    for (int i = 0; i < 2; i++) ok(w, ctx, kiln_array_create(ctx, kiln_prog_output_type(p, (uint32_t)i), &got[i]));
    void *scratch = aligned_alloc(64, (kiln_exec_scratch_bytes(f) + 64) & ~(size_t)63);
    for (int round = 0; round < ROUNDS && !w->error[0]; round++) {
        void *buffers[5];
        for (int i = 0; i < 3; i++) buffers[i] = kiln_array_data(kiln_array_retain(s->in[i]));
        for (int i = 0; i < 2; i++) buffers[3 + i] = kiln_array_data(got[i]);
        if (round % 2) kiln_exec_run(f, buffers, scratch, NULL);
        else ok(w, ctx, kiln_exec_call_into(ctx, f, s->in, got));
        if (!same_array(got[0], s->want[0], NULL) || !same_array(got[1], s->want[1], NULL))
            snprintf(w->error, sizeof w->error, "thread %d, round %d: other results", w->number, round);
        call_and_compare(w, ctx, f, s->want);
        for (int i = 0; i < 3; i++) kiln_array_release(s->in[i]);
    }
    free(scratch);
    kiln_array_release(got[0]);
    kiln_array_release(got[1]);
    kiln_prog_release(p);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
    return NULL;
}

static void run_all(shared *s, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    worker w[THREADS] = {0};
    assert_int_equal(pthread_barrier_init(&s->start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        w[i].s = s;
        w[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, body, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&s->start);
    for (int i = 0; i < THREADS; i++)
        if (w[i].error[0]) fail_msg("%s", w[i].error);
}

static int set_up(void **state)
{
    kiln_ctx *ctx;
    static shared s;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK || trace(ctx, 0, &s.p) != KILN_OK) return -1;
    for (uint32_t i = 0; i < 3; i++)
        if (kiln_array_create(ctx, kiln_prog_input_type(s.p, i), &s.in[i]) != KILN_OK) return -1;
    *(int64_t *)kiln_array_data(s.in[0]) = 50;
    for (int i = 0; i < 400; i++) ((double *)kiln_array_data(s.in[1 + i % 2]))[i / 2] = (double)(i % 37) / 17 - 1;
    if (kiln_prog_eval(ctx, s.p, s.in, s.want) != KILN_OK) return -1;
    kiln_ctx_release(ctx);
    *state = &s;
    return 0;
}

/* First: nobody has opened the code generator yet. */
static void contexts_compile_at_once(void **state) { run_all(*state, compiles); }

static void one_executable(void **state)
{
    shared *s = *state;
    kiln_ctx *ctx;
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    assert_ok(ctx, kiln_compile(ctx, s->p, NULL, &s->f));
    kiln_ctx_release(ctx);
    run_all(s, calls);
    kiln_exec_release(s->f);
}

static int tear_down(void **state)
{
    shared *s = *state;
    for (int i = 0; i < 3; i++) kiln_array_release(s->in[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(s->want[i]);
    kiln_prog_release(s->p);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_compile_at_once), cmocka_unit_test(one_executable)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
