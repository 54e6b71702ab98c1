/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool: small programs never wake it, limits are kept, pieces get smaller, threads that call at once share it, a process that was forked off has
 * one of its own, the last context joins its workers, and a call in one thread neither locks nor allocates. Run under the thread
 * sanitizer too. */
#define _GNU_SOURCE
#include "interpose.h"
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"
#include "run/pool.h"
#include "run/stages.h"
#include "base/fpmode.h"

#include <sys/wait.h>

/* The thread sanitizer allows no threads in a process that one with threads forked off. */
#if defined(__SANITIZE_THREAD__)
enum { IN_CHILD = 1 };
#else
enum { IN_CHILD = 3 };
#endif

enum { ROWS = 600, WIDTH = 300, HOSTS = 4, ROUNDS = 30 };

/* Rows that need memory of each thread's own, a sum over all of it, and a sum along each dimension. */
static const char source[] = "{ lambda ; a:f32[600,300]. let\n"
                             "    b:f32[600] = reduce_max[axes=(1,) out_sharding=None] a\n"
                             "    c:f32[600,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(600, 1) sharding=None] b\n"
                             "    d:f32[600,300] = sub a c\n"
                             "    e:f32[600,300] = exp d\n"
                             "    f:f32[600] = reduce_sum[axes=(1,) out_sharding=None] e\n"
                             "    g:f32[600,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(600, 1) sharding=None] f\n"
                             "    h:f32[600,300] = div e g\n"
                             "    i:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a\n"
                             "    j:f32[300] = reduce_sum[axes=(0,) out_sharding=None] a\n"
                             "    k:f32[600,600] = dot_general[dimension_numbers=(([1], [1]), ([], []))] a h\n"
                             "  in (h, i, j, k) }\n";
enum { N_OUT = 4 };

static kiln_array *numbers(kiln_ctx *ctx)
{
    kiln_array *a;
    kiln_type t = {KILN_F32, 2, (const int64_t[]){ROWS, WIDTH}};
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    float *x = kiln_array_data(a);
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)((i * 7919) % 1009) / 100 - 5;
    return a;
}

static kiln_exec *compiled(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "threads", &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    kiln_prog_release(p);
    return f;
}

static kiln_ctx *context(unsigned threads)
{
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    kiln_ctx *ctx;
    o.threads = threads;
    assert_int_equal(kiln_ctx_create(&o, &ctx), KILN_OK);
    assert_true(!threads || kiln_ctx_threads(ctx) == threads);
    return ctx;
}

static kiln_pool_counts counts(void)
{
    kiln_pool_counts c;
    kiln_pool_counts_get(&c);
    return c;
}

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]);
}

static bool same(kiln_array *const *a, kiln_array *const *b)
{
    for (int i = 0; i < N_OUT; i++)
        if (!same_array(a[i], b[i], NULL)) return false;
    return true;
}

/* ---- below the threshold ---- */

static void small_programs(void **state)
{
    (void)state;
    static const char *const small[] = {
        "{ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }",
        "{ lambda ; a:f32[1000]. let b:f32[1000] = sin a c:f32[] = reduce_sum[axes=(0,) out_sharding=None] b in (b, c) }",
        "{ lambda ; a:f32[64,64]. let b:f32[64,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a a in (b,) }",
    };
    kiln_ctx *ctx = context(7);
    kiln_pool_counts before = counts();
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        kiln_exec *f = compiled(ctx, small[i]);
        kiln_exec_info info;
        kiln_exec_info_get(f, &info);
        assert_int_equal(info.splits, 0);
        kiln_array *in, *out[2];
        kiln_type t = i == 0 ? (kiln_type){KILN_F32, 0, NULL} : i == 1 ? (kiln_type){KILN_F32, 1, (const int64_t[]){1000}} : (kiln_type){KILN_F32, 2, (const int64_t[]){64, 64}};
        assert_ok(ctx, kiln_array_create(ctx, t, &in));
        assert_ok(ctx, kiln_exec_call(ctx, f, &in, out));
        release(out, i == 1 ? 2 : 1);
        kiln_array_release(in);
        kiln_exec_release(f);
    }
    kiln_pool_counts after = counts();
    assert_int_equal(after.calls, before.calls);
    assert_int_equal(after.wakes, before.wakes);
    assert_int_equal(after.workers, 0);
    kiln_ctx_release(ctx);
}

/* ---- limits ---- */

static void limits(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(7);
    kiln_exec *f = compiled(ctx, source);
    kiln_array *in = numbers(ctx), *want[N_OUT], *got[N_OUT];
    kiln_exec_info info;
    kiln_exec_info_get(f, &info);
    assert_true(info.splits >= 2);
    kiln_pool_counts before = counts();
    ctx->threads = 1;
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, want));
    assert_int_equal(counts().calls, before.calls);
    assert_int_equal(counts().workers, 0);
    static const unsigned threads[] = {2, 3, 7};
    for (size_t k = 0; k < 3; k++) {
        ctx->threads = threads[k];
        before = counts();
        assert_ok(ctx, kiln_exec_call(ctx, f, &in, got));
        kiln_pool_counts after = counts();
        assert_true(after.calls > before.calls && after.wakes > before.wakes);
        assert_true(after.workers >= 1 && after.workers <= threads[k] - 1);
        assert_true(same(got, want));
        release(got, N_OUT);
    }
    ctx->threads = 7;
    kiln_call call = {.threads = 1}; /* of one call */
    void *buffers[1 + N_OUT] = {kiln_array_data(in)}, *scratch = aligned_alloc(64, (kiln_exec_scratch_bytes(f) + 64) & ~(size_t)63);
    for (int i = 0; i < N_OUT; i++) buffers[1 + i] = kiln_array_data(want[i]);
    before = counts();
    assert_int_equal(kiln_exec_run(f, buffers, scratch, &call), 0);
    assert_int_equal(counts().calls, before.calls);
    assert_int_equal(kiln_exec_run(f, buffers, scratch, NULL), 0); /* as the executable */
    assert_true(counts().calls > before.calls);
    free(scratch);
    release(want, N_OUT);
    kiln_array_release(in);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
    assert_int_equal(counts().workers, 0); /* joined */
}

static void settings(void **state)
{
    (void)state;
    static const char *const good[] = {"1", "3", "256"}, *const bad[] = {"0", "257", "-1", "x", "2x", " 2"};
    kiln_ctx *ctx;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        setenv("KILN_THREADS", good[i], 1);
        ctx = context(0);
        assert_int_equal(kiln_ctx_threads(ctx), atoi(good[i]));
        kiln_ctx_release(ctx);
        ctx = context(5); /* what the program says counts more */
        kiln_ctx_release(ctx);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("KILN_THREADS", bad[i], 1);
        assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_INVALID);
    }
    unsetenv("KILN_THREADS");
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.threads = KILN_MOST_THREADS + 1;
    assert_int_equal(kiln_ctx_create(&o, &ctx), KILN_INVALID);
    ctx = context(0);
    assert_true(kiln_ctx_threads(ctx) >= 1);
    kiln_ctx_release(ctx);
}

/* ---- several hosts ---- */

typedef struct host {
    const kiln_exec *f;
    kiln_array *in, *const *want;
    unsigned threads;
    bool bad;
} host;

static void *call_often(void *ud)
{
    host *h = ud;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    kiln_ctx *ctx;
    o.threads = h->threads;
    if (kiln_ctx_create(&o, &ctx) != KILN_OK) return h->bad = true, NULL;
    for (int i = 0; i < ROUNDS && !h->bad; i++) {
        kiln_array *got[N_OUT];
        h->bad = kiln_exec_call(ctx, h->f, &h->in, got) != KILN_OK;
        if (h->bad) break;
        h->bad = !same(got, h->want);
        release(got, N_OUT);
    }
    kiln_ctx_release(ctx);
    return NULL;
}

/* The executable outlives its context; contexts come and go while others call. */
static void hosts(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(3);
    kiln_exec *f = compiled(ctx, source);
    kiln_array *in = numbers(ctx), *want[N_OUT];
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, want));
    kiln_ctx_release(ctx);
    host h[HOSTS];
    pthread_t id[HOSTS];
    for (int i = 0; i < HOSTS; i++) {
        h[i] = (host){.f = f, .in = in, .want = want, .threads = 1 + (unsigned)i};
        assert_int_equal(pthread_create(&id[i], NULL, call_often, &h[i]), 0);
    }
    for (int i = 0; i < HOSTS; i++) {
        pthread_join(id[i], NULL);
        assert_false(h[i].bad);
    }
    assert_int_equal(counts().workers, 0);
    release(want, N_OUT);
    kiln_array_release(in);
    kiln_exec_release(f);
}

/* Without any context there is no pool: the raw entry runs in the caller's thread. */
static void no_context(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(2);
    kiln_exec *f = compiled(ctx, source);
    kiln_array *in = numbers(ctx), *want[N_OUT], *got[N_OUT];
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, want));
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, got));
    kiln_ctx_release(ctx);
    void *buffers[1 + N_OUT] = {kiln_array_data(in)}, *scratch = aligned_alloc(64, (kiln_exec_scratch_bytes(f) + 64) & ~(size_t)63);
    for (int i = 0; i < N_OUT; i++) {
        buffers[1 + i] = kiln_array_data(got[i]);
        memset(buffers[1 + i], 1, kiln_array_bytes(got[i]));
    }
    kiln_pool_counts before = counts();
    assert_int_equal(kiln_exec_run(f, buffers, scratch, NULL), 0);
    assert_int_equal(counts().calls, before.calls);
    assert_true(same(got, want));
    free(scratch);
    release(want, N_OUT);
    release(got, N_OUT);
    kiln_array_release(in);
    kiln_exec_release(f);
}

/* ---- fork ---- */

static void forked(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(3);
    kiln_exec *f = compiled(ctx, source);
    kiln_array *in = numbers(ctx), *want[N_OUT], *got[N_OUT];
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, want));
    assert_true(counts().workers > 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (counts().workers != 0) _exit(2);
        ctx->threads = IN_CHILD;
        uint64_t before = counts().calls;
        for (int i = 0; i < 3; i++)
            if (kiln_exec_call(ctx, f, &in, got) != KILN_OK || !same(got, want)) _exit(3);
        if (IN_CHILD > 1 && (counts().calls == before || counts().workers == 0)) _exit(4);
        kiln_exec_release(f);
        kiln_ctx_release(ctx);
        _exit(counts().workers == 0 ? 0 : 5);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, got)); /* and here it goes on */
    assert_true(same(got, want));
    release(got, N_OUT);
    release(want, N_OUT);
    kiln_array_release(in);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
}

/* ---- what a call does not do ---- */

static void alone(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(2);
    kiln_exec *f = compiled(ctx, source);
    kiln_array *in = numbers(ctx), *out[N_OUT];
    uint64_t chunks = counts().chunks;
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, out)); /* starts the worker, which may come late */
    for (int i = 0; i < 10000 && counts().chunks == chunks; i++) assert_ok(ctx, kiln_exec_call_into(ctx, f, &in, out));
    for (unsigned threads = 1; threads <= 2; threads++) {
        ctx->threads = threads;
        interposed.heap = interposed.locks = 0;
        interposed.on = 1;
        kiln_status s = kiln_exec_call_into(ctx, f, &in, out);
        interposed.on = 0;
        assert_ok(ctx, s);
        assert_int_equal(interposed.heap, 0);
        if (threads == 1) assert_int_equal(interposed.locks, 0);
    }
    release(out, N_OUT);
    kiln_array_release(in);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
}

/* Workers compute as the caller does, whatever its floating-point mode: small numbers are not flushed. */
static void mode(void **state)
{
    (void)state;
    static const char text[] = "{ lambda ; a:f32[600,300]. let b:f32[600,300] = mul a 1e-42:f32[] c:f32[600,300] = exp b d:f32[600,300] = mul b c in (b, d) }";
    kiln_ctx *ctx = context(2);
    kiln_prog *p;
    kiln_exec *f;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_array *in = numbers(ctx), *want[2], *got[2];
    o.split_cost = 1;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "mode", &p));
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, want));
    kn_fpmode_set(0x9fc0); /* flush to zero, denormals are zero */
    kiln_status s = kiln_exec_call(ctx, f, &in, got);
    kn_fpmode_set(KN_FPMODE_DEFAULT);
    assert_ok(ctx, s);
    assert_true(same_array(want[0], got[0], NULL) && same_array(want[1], got[1], NULL));
    release(want, 2);
    release(got, 2);
    kiln_array_release(in);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
}

/* ---- pieces ---- */

enum { UNIT = 4, UNITS = 250, LAST = 2 }; /* LAST: iterations of the unit that is not whole */

/* How long the piece is that begins at each iteration. */
static void note_piece(void *const *frame, int64_t lo, int64_t hi, int64_t part)
{
    (void)part;
    ((int64_t *)frame[0])[lo] = hi - lo;
}

/* Every iteration is in one piece, pieces get shorter to the end, down to what a thread should do at least, and none but the last is cut. */
static void pieces(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(2);
    kiln_exec *f = compiled(ctx, source); /* calls of this context may be split */
    static int64_t length[UNIT * UNITS + LAST];
    struct kiln_table t = {.share = 64, .threads = 2, .parts = 2};
    kiln_call call = {0};
    const int64_t n = UNIT * UNITS + LAST, least = 64 / (4 * UNIT) + 1; /* units; an iteration costs 1 */
    kn_pool_split(&t, &call, note_piece, (void *[]){length}, 0, n, UNIT, 1);
    int64_t before = n, number = 0;
    for (int64_t at = 0; at < n; at += before, number++) {
        assert_true(length[at] > 0 && length[at] <= before);
        before = length[at];
        if (at + before < n) assert_true(before % UNIT == 0 && before >= least * UNIT && before <= n / 8);
        else assert_true(before <= least * UNIT);
    }
    assert_true(number >= 16 && number <= 60);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
}

/* ---- the stop flag ---- */

/* Counts up to what stands in the input, in a loop without a known number of trips. */
static const char counting[] = "kiln loops\ninputs 1 outputs 1 constants 0 scratch 0\n"
                               "slot in0: i64[64] input 0\nslot out0: i64[64] output 0\n{\n"
                               "  loop %1 in 0 .. 64 split 100000 {\n"
                               "    %2 = in0[%1]\n"
                               "    %3 = while carry %4 = i64 0 { %5 = lt i64 %4, %2 yield %5 } do %6 { %7 = add i64 %6, 1 yield %7 }\n"
                               "    out0[%1] = %3\n  }\n}\n";

typedef struct stopper {
    volatile bool flag;
    uint64_t before; /* loops split so far */
} stopper;

static void *set_once_split(void *ud)
{
    stopper *s = ud;
    while (counts().calls == s->before) continue;
    s->flag = true;
    return NULL;
}

static void stopped(void **state)
{
    (void)state;
    kiln_ctx *ctx = context(3);
    kn_arena arena;
    kn_loops *l;
    kiln_exec *f;
    kn_arena_init(&arena, NULL);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, counting, strlen(counting), "counting", &l));
    assert_ok(ctx, kn_compile_loops(ctx, l, NULL, NULL, &f));
    int64_t in[64], out[64];
    stopper s = {false, 0};
    kiln_call call = {.stop = &s.flag};
    for (int i = 0; i < 64; i++) in[i] = i, out[i] = -1;
    assert_int_equal(kiln_exec_run(f, (void *[]){in, out}, NULL, &call), 0);
    assert_memory_equal(in, out, sizeof in);
    for (int i = 0; i < 64; i++) in[i] = INT64_MAX;
    pthread_t thread;
    s.before = counts().calls;
    assert_int_equal(pthread_create(&thread, NULL, set_once_split, &s), 0);
    assert_int_equal(kiln_exec_run(f, (void *[]){in, out}, NULL, &call), KILN_CANCELLED);
    pthread_join(thread, NULL);
    for (int i = 0; i < 64; i++) assert_true(out[i] >= 0 && out[i] < INT64_MAX); /* every element was written */
    kn_arena_fini(&arena);
    kiln_exec_release(f);
    kiln_ctx_release(ctx);
}

/* Compiling with the n-th allocation failing. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n += 3) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_prog *p = NULL;
        kiln_exec *f = NULL;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = 0;
        kiln_status s = kiln_prog_parse(ctx, source, strlen(source), "threads", &p);
        if (s == KILN_OK) s = kiln_compile(ctx, p, &o, &f);
        assert_true(s == KILN_OK || s == KILN_NOMEM);
        done = s == KILN_OK && !test_ctx_failed(ctx);
        kiln_exec_release(f);
        kiln_prog_release(p);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_programs), cmocka_unit_test(limits), cmocka_unit_test(settings), cmocka_unit_test(hosts),
        cmocka_unit_test(no_context),     cmocka_unit_test(forked), cmocka_unit_test(alone),    cmocka_unit_test(mode),
        cmocka_unit_test(pieces),         cmocka_unit_test(stopped), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
