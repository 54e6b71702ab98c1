/* SPDX-License-Identifier: Apache-2.0 */
/* During a call: no allocation, no lock, no system call. Every primitive's sample is compiled, then called for the first time in a
 * child process that dies at its first system call but for the report; heap and locks are counted. */
#define _GNU_SOURCE
#include "interpose.h"
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "samples.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MOST = 256 };

typedef struct callee {
    char name[40];
    kiln_exec *f;
    kiln_array *in[KN_SAMPLE_INPUTS], *out[SAMPLE_OUT];
    uint32_t nin, nout;
    void *buffers[KN_SAMPLE_INPUTS + SAMPLE_OUT], *scratch;
    uint64_t ticks[64];
} callee;

static callee callees[MOST];
static uint32_t n_callees;
static int pipe_end;

/* One number to the parent: the only call that the filter lets through but exit. */
static void tell(int64_t number)
{
    if (syscall(SYS_write, pipe_end, &number, sizeof number) != sizeof number) syscall(SYS_exit_group, 99);
}

static void install_filter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) tell(-1);
}

/* Runs `child` behind the filter; gives its wait status and the last number it told. */
static int behind_filter(void (*child)(void), int64_t *last)
{
    int ends[2], status;
    *last = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pipe_end = ends[1];
        install_filter();
        child();
        syscall(SYS_exit_group, 0);
    }
    close(ends[1]);
    for (int64_t v; read(ends[0], &v, sizeof v) == sizeof v;) *last = v;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void call_raw(void)
{
    for (uint32_t i = 0; i < n_callees; i++) {
        callee *c = &callees[i];
        kiln_call call = {.ticks = c->ticks};
        tell(2 * (int64_t)i + 10);
        interposed.on = 1;
        int status = kiln_exec_run(c->f, c->buffers, c->scratch, &call);
        interposed.on = 0;
        if (status != 0 || interposed.heap || interposed.locks) tell(2 * (int64_t)i + 11), syscall(SYS_exit_group, 1);
    }
    tell(1);
}

/* The first call made the frame in the parent. */
static kiln_ctx *checked_ctx;
static void call_checked(void)
{
    for (uint32_t i = 0; i < n_callees; i++) {
        callee *c = &callees[i];
        tell(2 * (int64_t)i + 10);
        interposed.on = 1;
        kiln_status status = kiln_exec_call_into(checked_ctx, c->f, c->in, c->out);
        interposed.on = 0;
        if (status != KILN_OK || interposed.heap || interposed.locks) tell(2 * (int64_t)i + 11), syscall(SYS_exit_group, 1);
    }
    tell(1);
}

static void asks_the_system(void)
{
    tell(5);
    if (syscall(SYS_getppid) > 0) tell(6);
}

static void keep(kiln_ctx *ctx, const char *name, kiln_prog *p, const kiln_compile_opts *o, kiln_array *const *in, uint32_t nin)
{
    assert_true(n_callees < MOST);
    callee *c = &callees[n_callees++];
    snprintf(c->name, sizeof c->name, "%s", name);
    assert_ok(ctx, kiln_compile(ctx, p, o, &c->f));
    kiln_exec_info info;
    kiln_exec_info_get(c->f, &info);
    assert_true(info.n_scopes < 64);
    c->nin = nin;
    c->nout = kiln_prog_n_outputs(p);
    for (uint32_t i = 0; i < nin; i++) c->buffers[i] = kiln_array_data(c->in[i] = in[i]);
    for (uint32_t i = 0; i < c->nout; i++) {
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_output_type(p, i), &c->out[i]));
        c->buffers[nin + i] = kiln_array_data(c->out[i]);
    }
    c->scratch = aligned_alloc(64, (kiln_exec_scratch_bytes(c->f) + 64) & ~(size_t)63);
    assert_non_null(c->scratch);
    kiln_prog_release(p);
}

/* A loop as simulations have it: state in memory, a number of trips that is not known, functions out of the table. */
static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], *(kiln_val *)user); }
static void step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I64, 1));
    next[1] = kiln_add(t, kiln_sin(t, carry[1]), kiln_mul(t, carry[1], kiln_num(t, 0.25)));
    next[2] = kiln_dynamic_update_slice(t, carry[2], kiln_reshape(t, kiln_sum_all(t, carry[1]), 1, ((int64_t[]){1})), &carry[0]);
}
static void keep_loop(kiln_ctx *ctx, bool ticks)
{
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *in[3];
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val n = kiln_input(t, "n", KILN_SCALAR(KILN_I64)), out[3];
    kiln_val init[3] = {kiln_int(t, KILN_I64, 0), kiln_input(t, "x", KILN_VECTOR(KILN_F64, 67)), kiln_input(t, "record", KILN_VECTOR(KILN_F64, 50))};
    kiln_while(t, below, step, &n, init, 3, out);
    kiln_output(t, "x", out[1]);
    kiln_output(t, "record", out[2]);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    for (uint32_t i = 0; i < 3; i++) assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
    *(int64_t *)kiln_array_data(in[0]) = 50;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.ticks = ticks;
    keep(ctx, ticks ? "loop with ticks" : "loop", p, &o, in, 3);
}

static void compile_all(kiln_ctx *ctx)
{
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        sample s;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = i % 2 ? 2 : 0;
        if (sample_make(ctx, prims[i], 7, 33, &s)) keep(ctx, prims[i]->name, s.p, &o, s.in, s.nin);
    }
    keep_loop(ctx, false);
    keep_loop(ctx, true);
}

static void check(const char *what, void (*child)(void))
{
    int64_t last;
    int status = behind_filter(child, &last);
    if (last == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    const char *name = last >= 10 ? callees[(last - 10) / 2].name : "the start";
    if (WIFSIGNALED(status)) fail_msg("%s of %s: killed by signal %d (%d: a system call)", what, name, WTERMSIG(status), SIGSYS);
    fail_msg("%s of %s: %s", what, name, last % 2 ? "a status, an allocation or a lock" : "ended early");
}

static void calls(void **state)
{
    kiln_ctx *ctx = *state;
    int64_t last;
    int status = behind_filter(asks_the_system, &last);
    if (last == -1) {
        print_message("skipped: this system refuses filters of system calls\n");
        skip();
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && last == 5);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    interposed.on = 1; /* the counters count */
    void *volatile p = malloc(1);
    free(p);
    pthread_mutex_lock(&lock);
    interposed.on = 0;
    pthread_mutex_unlock(&lock);
    assert_int_equal(interposed.heap, INTERPOSED ? 2 : 0);
    assert_int_equal(interposed.locks, INTERPOSED ? 1 : 0);
    interposed.heap = interposed.locks = 0;
    compile_all(ctx);
    check("the raw call", call_raw);
    checked_ctx = ctx;
    for (uint32_t i = 0; i < n_callees; i++) assert_ok(ctx, kiln_exec_call_into(ctx, callees[i].f, callees[i].in, callees[i].out));
    check("the checked call", call_checked);
    for (uint32_t i = 0; i < n_callees; i++) {
        callee *c = &callees[i];
        kiln_exec_release(c->f);
        for (uint32_t k = 0; k < c->nin; k++) kiln_array_release(c->in[k]);
        for (uint32_t k = 0; k < c->nout; k++) kiln_array_release(c->out[k]);
        free(c->scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
