/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are timed whole, and peers that answer over a pipe. */
#define _DEFAULT_SOURCE /* wait4 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
}

/* execv takes pointers to non-const by history; it does not write. */
static void become(const char *const *argv)
{
    union {
        const char *const *in;
        char *const *out;
    } u = {argv};
    execvp(argv[0], u.out);
}

static void child_command(const char *const *argv)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(126);
    become(argv);
    _exit(127);
}

/* `u` may be NULL. */
static int wait_for(pid_t pid, struct rusage *u)
{
    int status;
    while (wait4(pid, &status, 0, u) < 0)
        if (errno != EINTR) return -1;
    return exit_code(status);
}

/* s */
static double processor_time(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) + 1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

int bench_command(const char *const *argv, kn_taken *t, double *resident)
{
    struct rusage u = {0};
    double start = bench_now();
    pid_t pid = fork();
    if (pid == 0) child_command(argv);
    int code = pid < 0 ? -1 : wait_for(pid, &u);
    double end = bench_now();
    if (t) t->wall += end - start, t->processor += processor_time(&u);
    if (resident) *resident = (double)u.ru_maxrss * 1024;
    return code;
}

struct bench_peer {
    pid_t pid;
    int to, from;
    char *line; /* what was read and not yet used */
    size_t n, cap;
};

enum { PATIENCE_MS = 300000 }; /* a peer may compile for seconds, not for minutes */

static void close_all(int fd[2])
{
    if (fd[0] >= 0) close(fd[0]);
    if (fd[1] >= 0) close(fd[1]);
}

bench_peer *bench_peer_start(const char *const *argv, char *why, size_t why_bytes)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    bench_peer *p = calloc(1, sizeof *p);
    if (!p || pipe(in) != 0 || pipe(out) != 0 || (p->pid = fork()) < 0) {
        snprintf(why, why_bytes, "cannot start %s: %s", argv[0], strerror(errno));
        close_all(in);
        close_all(out);
        free(p);
        return NULL;
    }
    if (p->pid == 0) {
        if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0) _exit(126);
        close_all(in);
        close_all(out);
        become(argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->to = in[1];
    p->from = out[0];
    fcntl(p->to, F_SETFD, FD_CLOEXEC);
    fcntl(p->from, F_SETFD, FD_CLOEXEC);
    return p;
}

static bool send_line(bench_peer *p, const char *text)
{
    size_t n = strlen(text), at = 0;
    while (at < n) {
        ssize_t k = write(p->to, text + at, n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return false;
        at += (size_t)k;
    }
    return true;
}

/* One line, without its end, to be freed; NULL: the peer has closed or is silent. */
static char *read_line(bench_peer *p)
{
    enum { STEP = 1 << 16 };
    for (;;) {
        char *end = p->n ? memchr(p->line, '\n', p->n) : NULL;
        if (end) {
            size_t used = (size_t)(end - p->line) + 1;
            char *line = malloc(used);
            if (!line) return NULL;
            memcpy(line, p->line, used - 1);
            line[used - 1] = 0;
            memmove(p->line, p->line + used, p->n - used);
            p->n -= used;
            return line;
        }
        if (p->cap - p->n < STEP) {
            char *grown = realloc(p->line, p->cap + 2 * (size_t)STEP);
            if (!grown) return NULL;
            p->line = grown;
            p->cap += 2 * (size_t)STEP;
        }
        struct pollfd wait = {.fd = p->from, .events = POLLIN};
        int ready = poll(&wait, 1, PATIENCE_MS);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return NULL;
        ssize_t k = read(p->from, p->line + p->n, STEP);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return NULL;
        p->n += (size_t)k;
    }
}

json_t *bench_peer_ask(bench_peer *p, json_t *ask, char *why, size_t why_bytes)
{
    char *text = json_dumps(ask, JSON_COMPACT), *line = NULL;
    json_decref(ask);
    if (text && send_line(p, text) && send_line(p, "\n")) line = read_line(p);
    free(text);
    if (!line) {
        snprintf(why, why_bytes, "the peer closed its output or did not answer in %d s", PATIENCE_MS / 1000);
        return NULL;
    }
    json_error_t error;
    json_t *answer = json_loads(line, 0, &error);
    json_t *complaint = answer ? json_object_get(answer, "error") : NULL;
    if (!answer) snprintf(why, why_bytes, "the peer answered no JSON: %.80s", line);
    if (complaint) {
        snprintf(why, why_bytes, "%s", json_string_value(complaint));
        json_decref(answer);
        answer = NULL;
    }
    free(line);
    return answer;
}

void bench_peer_stop(bench_peer *p)
{
    if (!p) return;
    close(p->to); /* end of input: it leaves */
    close(p->from);
    wait_for(p->pid, NULL);
    free(p->line);
    free(p);
}

bool bench_python(bench *b, const char *row, char out[4096])
{
    const char *venv = getenv("KILN_PEER_VENV"), *home = getenv("HOME");
    if (!bench_wants_peers(b)) {
        bench_skip(b, row, "--no-peers");
        return false;
    }
    if (venv && *venv) snprintf(out, 4096, "%s/bin/python", venv);
    else snprintf(out, 4096, "%s/.cache/kiln/peers/bin/python", home ? home : "");
    if (access(out, X_OK) == 0) return true;
    bench_skip(b, row, "no Python environment at %s; `benchmarks/run --peers` makes it", out);
    return false;
}

json_t *bench_peer_python(bench *b, const char *script, const char *row, bench_peer **out)
{
    char python[4096], path[4096], why[512];
    *out = NULL;
    if (!bench_python(b, row, python)) return NULL;
    snprintf(path, sizeof path, "%s/peers/%s", bench_folder(b), script);
    const char *const argv[] = {python, path, NULL};
    *out = bench_peer_start(argv, why, sizeof why);
    json_t *hello = *out ? bench_peer_ask(*out, json_pack("{s:s}", "do", "hello"), why, sizeof why) : NULL;
    if (!hello) bench_skip(b, row, "%s", why);
    return hello;
}
