/* SPDX-License-Identifier: Apache-2.0 */
/* A loop to be split is a job on its caller's stack. The caller puts it into the list, wakes as many workers as may run, and takes
 * chunks of iterations like they do, from one counter; it leaves when the last worker has left the job. A worker that comes late finds
 * nothing to do and nobody has waited for it.
 *
 * `running` counts threads inside jobs: callers, and workers that help. A worker joins a job only while fewer run than the job's limit,
 * and leaves it between two chunks when callers have come that the processors are needed for. So threads that call at the same time
 * share the pool, and alone each of them would have all of it.
 *
 * Workers sleep on a condition while there is no job. A process that was forked off has none of them: the child's pool starts afresh. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "run/pool.h"

#include "base/fpmode.h"
#include "base/quota.h"
#include "kiln/exec.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* A thread takes one CHUNKS-th of its share of what is left: large pieces first, and small ones at the end, so that one that began late or is
 * held up holds up little. But no smaller than a part of a thread's least share. */
enum { CHUNKS = 4, SPINS = 2000, STACK_BYTES = 1 << 20 };

typedef struct job {
    struct job *next;
    kn_range range;
    void *const *frame;
    int64_t hi, unit, least; /* pieces are multiples of unit, of least iterations or more */
    _Atomic(int64_t) at; /* the first iteration that nobody has taken */
    unsigned limit;      /* threads that may run while it is in the list */
    unsigned parts;      /* threads of its own */
    unsigned char taken[KN_POOL_MOST]; /* parts in use; 0 is the caller's */
    bool flush;          /* its caller's floating-point mode */
    atomic_uint helpers;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, left; /* a job has come; workers have left a job or the pool */
    pthread_t worker[KN_POOL_MOST];
    unsigned workers, idle, users;
    bool stopping;
    job *jobs;
    atomic_uint running;
    atomic_uint processors; /* 0: not asked yet */
    atomic_ullong calls, wakes, chunks;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

unsigned kn_pool_default(void)
{
    unsigned n = atomic_load_explicit(&pool.processors, memory_order_relaxed);
    if (n) return n;
    n = kn_default_threads();
    if (n > KN_POOL_MOST) n = KN_POOL_MOST;
    atomic_store_explicit(&pool.processors, n, memory_order_relaxed);
    return n;
}

unsigned kiln_ctx_threads(const kiln_ctx *ctx) { return ctx->threads ? ctx->threads : kn_pool_default(); }

void kiln_pool_counts_get(kiln_pool_counts *out)
{
    pthread_mutex_lock(&pool.lock);
    *out = (kiln_pool_counts){.calls = atomic_load(&pool.calls), .wakes = atomic_load(&pool.wakes), .chunks = atomic_load(&pool.chunks),
                              .workers = pool.workers};
    pthread_mutex_unlock(&pool.lock);
}

/* ---- work ---- */

static bool has_work(const job *j) { return atomic_load_explicit(&j->at, memory_order_relaxed) < j->hi; }

static bool run_chunk(job *j, unsigned part)
{
    int64_t lo = atomic_load_explicit(&j->at, memory_order_relaxed), hi;
    do {
        if (lo >= j->hi) return false;
        int64_t left = j->hi - lo, n = left / ((int64_t)j->parts * CHUNKS) / j->unit * j->unit;
        if (n < j->least) n = j->least;
        hi = n < left ? lo + n : j->hi;
    } while (!atomic_compare_exchange_weak_explicit(&j->at, &lo, hi, memory_order_relaxed, memory_order_relaxed));
    j->range(j->frame, lo, hi, part);
    return true;
}

static unsigned running(void) { return atomic_load_explicit(&pool.running, memory_order_relaxed); }

/* With the lock: a job that has work and room for one more thread. */
static job *find_job(unsigned *part)
{
    for (job *j = pool.jobs; j; j = j->next) {
        if (running() >= j->limit || !has_work(j)) continue;
        for (*part = 1; *part < j->parts && j->taken[*part];) ++*part;
        if (*part < j->parts) return j;
    }
    return NULL;
}

/* With the lock, which it lets go of meanwhile. */
static void help(job *j, unsigned part)
{
    j->taken[part] = 1;
    atomic_fetch_add(&j->helpers, 1);
    atomic_fetch_add(&pool.running, 1);
    pthread_mutex_unlock(&pool.lock);
    kn_fpmode mode = kn_fpmode_enter_as(j->flush);
    while (running() <= j->limit && run_chunk(j, part)) atomic_fetch_add_explicit(&pool.chunks, 1, memory_order_relaxed);
    kn_fpmode_leave(mode);
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_sub(&pool.running, 1);
    j->taken[part] = 0;
    if (atomic_fetch_sub(&j->helpers, 1) == 1) pthread_cond_broadcast(&pool.left);
}

static void *work(void *unused)
{
    unsigned part;
    kn_fpmode_set(KN_FPMODE_DEFAULT);
    pthread_mutex_lock(&pool.lock);
    while (!pool.stopping) {
        job *j = find_job(&part);
        if (j) {
            help(j, part);
            continue;
        }
        pool.idle++;
        pthread_cond_wait(&pool.work, &pool.lock);
        pool.idle--;
    }
    pthread_mutex_unlock(&pool.lock);
    return unused;
}

/* ---- workers ---- */

/* In a process that was forked off: the workers are not in it, and the lock may have been anybody's. */
static void start_afresh(void)
{
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.work = pool.left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.workers = pool.idle = 0;
    pool.stopping = false;
    pool.jobs = NULL;
    atomic_store(&pool.running, 0);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, start_afresh); }

/* With the lock. Signals are for the host's own threads. Where the system gives no more threads, there are fewer. */
static void start_workers(unsigned n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_once(&once, watch_forks);
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; n && pool.workers < KN_POOL_MOST - 1; n--) {
        if (pthread_create(&pool.worker[pool.workers], &attributes, work, NULL) != 0) break;
        pthread_setname_np(pool.worker[pool.workers], "kiln");
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* With the lock: the last user has gone. */
static void stop_workers(void)
{
    unsigned n = pool.workers;
    pool.stopping = true;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    for (unsigned i = 0; i < n; i++) pthread_join(pool.worker[i], NULL);
    pthread_mutex_lock(&pool.lock);
    pool.workers = 0;
    pool.stopping = false;
    pthread_cond_broadcast(&pool.left);
}

static void leave(void)
{
    pthread_mutex_lock(&pool.lock);
    if (--pool.users == 0) {
        while (pool.stopping) pthread_cond_wait(&pool.left, &pool.lock);
        if (pool.users == 0 && pool.workers) stop_workers();
    }
    pthread_mutex_unlock(&pool.lock);
}

void kn_pool_enter(kiln_ctx *ctx)
{
    if (ctx->leave_pool) return;
    ctx->leave_pool = leave;
    pthread_mutex_lock(&pool.lock);
    pool.users++;
    pthread_mutex_unlock(&pool.lock);
}

/* ---- jobs ---- */

/* With the lock: as many workers as the job can use and may run. */
static void call_workers(const job *j)
{
    unsigned n = running(), wanted = j->limit > n ? j->limit - n : 0;
    if (wanted > j->parts - 1) wanted = j->parts - 1;
    if (!wanted) return;
    if (wanted > pool.idle && pool.workers < j->limit - 1) {
        unsigned missing = wanted - pool.idle, room = j->limit - 1 - pool.workers;
        start_workers(missing < room ? missing : room);
    }
    atomic_fetch_add_explicit(&pool.wakes, 1, memory_order_relaxed);
    for (unsigned i = 0; i < wanted && i < pool.idle; i++) pthread_cond_signal(&pool.work);
}

static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Nobody finds the job any more; those who work on it come to its end. */
static void finish(job *j)
{
    for (int i = 0; i < SPINS && atomic_load_explicit(&j->helpers, memory_order_relaxed); i++) pause_a_moment();
    pthread_mutex_lock(&pool.lock);
    for (job **p = &pool.jobs; *p; p = &(*p)->next)
        if (*p == j) {
            *p = j->next;
            break;
        }
    while (atomic_load(&j->helpers)) pthread_cond_wait(&pool.left, &pool.lock);
    atomic_fetch_sub(&pool.running, 1);
    pthread_mutex_unlock(&pool.lock);
}

static void run_job(job *j, int64_t lo)
{
    pthread_mutex_lock(&pool.lock);
    bool open = pool.users && !pool.stopping;
    if (open) {
        atomic_fetch_add(&pool.running, 1);
        j->next = pool.jobs;
        pool.jobs = j;
        call_workers(j);
    }
    pthread_mutex_unlock(&pool.lock);
    if (!open) {
        j->range(j->frame, lo, j->hi, 0);
        return;
    }
    atomic_fetch_add_explicit(&pool.calls, 1, memory_order_relaxed);
    while (run_chunk(j, 0)) continue;
    finish(j);
}

void kn_pool_split(const struct kiln_table *t, const kiln_call *call, kn_range range, void *const *frame, int64_t lo, int64_t hi, int64_t unit,
                   int64_t cost)
{
    if (lo >= hi) return; /* the bounds may be those of a call */
    unsigned limit = call->threads ? call->threads : t->threads ? t->threads : kn_pool_default();
    if (limit > t->parts) limit = t->parts;
    if (limit > KN_POOL_MOST) limit = KN_POOL_MOST;
    double work = (double)(hi - lo) * (double)cost, shares = work / t->share;
    int64_t units = (hi - lo + unit - 1) / unit;
    unsigned n = shares < limit ? (unsigned)shares : limit;
    if (units < n) n = units < 0 ? 0 : (unsigned)units;
    if (n < 2) {
        range(frame, lo, hi, 0);
        return;
    }
    int64_t least = (int64_t)(t->share / ((double)CHUNKS * (double)cost * (double)unit)) + 1;
    job j = {.range = range, .frame = frame, .hi = hi, .unit = unit, .least = least * unit, .limit = limit, .parts = n,
             .flush = kn_fpmode_flushes()};
    atomic_init(&j.at, lo);
    atomic_init(&j.helpers, 0);
    run_job(&j, lo);
}
