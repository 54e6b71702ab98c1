/* SPDX-License-Identifier: Apache-2.0 */
/* Standard error: diagnostics, progress; interrupts; output files. */
#include "cli/cli.h"

#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int cli_exit_code(kiln_status status)
{
    switch (status) {
    case KILN_OK: return CLI_DONE;
    case KILN_NUMERIC: return CLI_NO;
    case KILN_CANCELLED: return CLI_INTERRUPTED;
    case KILN_NOMEM:
    case KILN_IO:
    case KILN_COMPILE:
    case KILN_INTERNAL: return CLI_FAILED;
    default: return CLI_BAD;
    }
}

static void wipe(void)
{
    fputs("\r\033[K", stderr);
}

void cli_print_diag(const cli *c, const kiln_diag *d)
{
    char text[4096];
    kiln_diag_format(d, text, sizeof text);
    if (c->progress_last > 0) wipe();
    const char *word = d->code == KILN_OK ? "warning:" : "error:", *at = c->colour ? strstr(text, word) : NULL;
    if (at) fprintf(stderr, "%.*s\033[1;%dm%s\033[0m%s\n", (int)(at - text), text, d->code == KILN_OK ? 33 : 31, word, at + strlen(word));
    else fprintf(stderr, "%s\n", text);
}

int cli_fail(cli *c)
{
    const kiln_diag *d = kiln_ctx_error(c->ctx);
    cli_print_diag(c, d);
    return cli_exit_code(d->code);
}

static void complain(cli *c, kiln_status code, const char *kind, const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));
static void complain(cli *c, kiln_status code, const char *kind, const char *fmt, va_list ap)
{
    kiln_diag d = {.code = code};
    vsnprintf(d.message, sizeof d.message, fmt, ap);
    snprintf(d.kind, sizeof d.kind, "%s", kind ? kind : "");
    cli_print_diag(c, &d);
}

int cli_bad(cli *c, const char *kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(c, KILN_INVALID, kind, fmt, ap);
    va_end(ap);
    return CLI_BAD;
}

int cli_broken(cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(c, KILN_IO, NULL, fmt, ap);
    va_end(ap);
    return CLI_FAILED;
}

void cli_say(const cli *c, const char *fmt, ...)
{
    if (c->quiet) return;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

/* ---- progress ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress(cli *c, const char *label, uint64_t done, uint64_t total)
{
    const double patience = 1.0, pace = 0.1; /* seconds */
    double t = now();
    if (c->progress_at <= 0) c->progress_at = t;
    if (c->quiet || t - c->progress_at < patience || t - c->progress_last < pace || !isatty(STDERR_FILENO)) return;
    c->progress_last = t;
    double rate = (double)done / (t - c->progress_at);
    double left = rate > 0 && total >= done ? (double)(total - done) / rate : 0;
    fprintf(stderr, "\r\033[K%s %llu of %llu, %.3g a second, %.0f s left", label, (unsigned long long)done, (unsigned long long)total, rate,
            left);
    fflush(stderr);
}

void cli_progress_end(cli *c)
{
    if (c->progress_last > 0) wipe();
    c->progress_at = c->progress_last = 0;
}

/* ---- interrupts ---- */

static volatile bool interrupted; /* the one thing that a signal handler may reach */

static void on_interrupt(int number)
{
    interrupted = true;
    signal(number, SIG_DFL);
}

const volatile bool *cli_catch_interrupt(void)
{
    struct sigaction a = {.sa_handler = on_interrupt};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    return &interrupted;
}

bool cli_interrupted(void) { return interrupted; }

/* ---- output ---- */

bool cli_is_stdout(const char *path) { return strcmp(path, "-") == 0; }

kiln_status cli_write(cli *c, const char *path, const char *text, size_t n)
{
    if (!cli_is_stdout(path)) return kn_file_save(c->ctx, path, text, n);
    if (fwrite(text, 1, n, stdout) == n) return KILN_OK;
    return kn_fail(c->ctx, KILN_IO, "cannot write to standard output");
}

int cli_write_json(cli *c, const char *path, const json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    if (!text) return cli_broken(c, "out of memory");
    size_t n = strlen(text);
    text[n] = '\n'; /* in place of the end, which cli_write does not need */
    kiln_status status = cli_write(c, path, text, n + 1);
    free(text);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}
