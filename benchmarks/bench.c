/* SPDX-License-Identifier: Apache-2.0 */
/* The runner: options, cases, comparison of values, interleaved samples. */
#include "run.h"

#include "base/clock.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bench_kiln(const bench *b) { return b->kiln; }
const char *bench_folder(const bench *b) { return b->folder; }
bool bench_wants_peers(const bench *b) { return b->peers; }
int bench_threads(const bench *b) { return b->threads; }

const char *bench_path(const bench *b, const char *name, char out[4096])
{
    snprintf(out, 4096, "%s/%s", b->folder, name);
    return out;
}
double bench_now(void) { return 1e-9 * (double)kn_clock_ns(); }
const bench_case *bench_running(const bench *b) { return b->at; }

void bench_fail(bench *b, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s/%s: ", b->suite, b->at->name);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    b->failed = true;
}

void bench_skip(bench *b, const char *row, const char *fmt, ...)
{
    char why[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    printf("%s: skipped: %s\n", row, why);
    fflush(stdout);
    json_array_append_new(b->rows, json_pack("{s:s, s:s, s:s}", "case", b->at->name, "row", row, "skipped", why));
    b->n_skipped++;
}

/* ---- values ---- */

void bench_checked(bench *b, const char *what, const char *a_name, const char *v_name, const char *how, double worst,
                   double allowed)
{
    b->n_checks++;
    json_array_append_new(b->checks, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "what", what, "a", a_name, "b",
                                               v_name, "how", how, "largest_difference", worst, "allowed", allowed));
}

static bool both_nan(const void *a, const void *v, size_t size)
{
    float f, g;
    double d, e;
    if (size == sizeof f) {
        memcpy(&f, a, size);
        memcpy(&g, v, size);
        return isnan(f) && isnan(g);
    }
    if (size != sizeof d) return false;
    memcpy(&d, a, size);
    memcpy(&e, v, size);
    return isnan(d) && isnan(e);
}

/* As a number, for the message. */
static double shown(const void *p, size_t size)
{
    float f;
    double d = 0;
    if (size == sizeof f) {
        memcpy(&f, p, size);
        return (double)f;
    }
    if (size == sizeof d) memcpy(&d, p, size);
    else memcpy(&d, p, size < sizeof d ? size : sizeof d);
    return d;
}

double bench_number(const kiln_array *a, size_t i)
{
    const void *v = kiln_array_read(a);
    switch (kiln_array_type(a).dtype) {
    case KILN_F32: return (double)((const float *)v)[i];
    case KILN_I32: return (double)((const int32_t *)v)[i];
    case KILN_BOOL: return ((const bool *)v)[i];
    default: return NAN;
    }
}

bool bench_same_bits(bench *b, const char *what, const char *a_name, const void *a, const char *v_name, const void *v,
                     size_t bytes, size_t size)
{
    const unsigned char *x = a, *y = v;
    size_t n = 0, first = 0;
    for (size_t i = 0; i < bytes; i += size) {
        if (memcmp(x + i, y + i, size) == 0 || both_nan(x + i, y + i, size)) continue;
        if (n++ == 0) first = i;
    }
    if (n == 0) {
        bench_checked(b, what, a_name, v_name, "bits", 0, 0);
        return true;
    }
    bench_fail(b, "%s: %s and %s differ in %zu of %zu values; the first is number %zu: %.9g and %.9g", what, a_name,
               v_name, n, bytes / size, first / size, shown(x + first, size), shown(y + first, size));
    return false;
}

bool bench_near(bench *b, const char *what, const char *a_name, const double *a, const char *v_name, const double *v,
                size_t n, double tolerance)
{
    double scale = 0, worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        if (fabs(v[i]) > scale) scale = fabs(v[i]);
    for (size_t i = 0; i < n; i++) {
        double d = a[i] == v[i] ? 0 : fabs(a[i] - v[i]) / (scale > 0 ? scale : 1);
        if (d > worst || isnan(d)) worst = isnan(d) ? INFINITY : d, at = i;
    }
    if (worst <= tolerance) {
        bench_checked(b, what, a_name, v_name, "relative to the largest value", worst, tolerance);
        return true;
    }
    bench_fail(
        b, "%s: %s and %s differ by %.3g of the largest value, allowed is %.3g; value number %zu is %.9g and %.9g",
        what, a_name, v_name, worst, tolerance, at, a[at], v[at]);
    return false;
}

/* ---- time ---- */

double bench_units(const bench_pair *p) { return p->per > 0 ? p->per : 1; }

static kn_spread per_unit(const bench_pair *p, const double *v, size_t n)
{
    kn_spread s = kn_spread_of(v, n);
    double u = bench_units(p);
    return (kn_spread){s.n, s.median / u, s.mad / u, s.min / u, s.mean / u, s.sd / u};
}

/* With several threads the processors' time says nothing of the wall's. */
static bench_result result_of(const bench_pair *p, const kn_samples *s, uint32_t sides, int threads)
{
    bool busy = threads == 1 && kn_samples_shared(s, sides);
    const double(*t)[KN_ROUNDS_MOST] = busy ? s->processor : s->wall;
    bench_result r = {.a = per_unit(p, t[0], s->n), .ratio = NAN, .difference = NAN, .error = NAN, .shared = busy};
    if (sides == 1) return r;
    double d[KN_ROUNDS_MOST];
    for (size_t i = 0; i < s->n; i++) d[i] = t[0][i] - t[1][i];
    kn_spread of_d = per_unit(p, d, s->n);
    r.b = per_unit(p, t[1], s->n);
    r.ratio = r.b.median / r.a.median;
    r.difference = of_d.mean;
    r.error = of_d.sd / sqrt((double)s->n);
    r.resolved = fabs(r.difference) > 2 * r.error;
    return r;
}

bool bench_time(bench *b, const bench_pair *p, bench_result *out)
{
    kn_samples *s = b->check_only || b->failed ? NULL : calloc(1, sizeof *s);
    uint32_t sides = p->b.name ? 2 : 1;
    double seconds = (p->seconds > 0 ? p->seconds : 1.5) / (b->quick ? 5 : 1);
    bool timed = s && kn_samples_take((const kn_side[]){p->a, p->b}, sides, seconds, p->rounds ? p->rounds : ROUNDS_LEAST, s);
    if (timed) {
        bench_result r = result_of(p, s, sides, b->threads);
        run_row(b, p, &r, s);
        if (out) *out = r;
    } else if (!b->check_only && !b->failed) {
        bench_fail(b, "%s: a side could not be timed", p->row);
    }
    if (!timed) json_decref(p->more);
    free(s);
    return !b->failed;
}

/* ---- main ---- */

static int usage(const char *program, int code)
{
    fprintf(code ? stderr : stdout,
            "usage: %s [options] [CASE...]\n"
            "  --list           the cases\n"
            "  --check-only     compares the values, times nothing\n"
            "  --quick          a fifth of the samples\n"
            "  --no-peers       other programs are left out\n"
            "  --threads N      N threads a side, on N processors (1)\n"
            "  --kiln PATH      the command (%s)\n"
            "  --results DIR    where the record goes (%s)\n",
            program, BENCH_KILN, BENCH_FOLDER "/results");
    return code;
}

static const bench_case *find_case(const bench_case *cases, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    return NULL;
}

static void run_case(bench *b, const bench_case *c)
{
    size_t rows = json_array_size(b->rows);
    b->at = c;
    b->failed = false;
    b->checks = json_array();
    c->run(b);
    for (size_t i = rows; i < json_array_size(b->rows); i++)
        json_object_set(json_array_get(b->rows, i), "values", b->checks);
    json_decref(b->checks);
    b->n_failed += b->failed;
}

/* Options into `b`; the names of cases move to the front of argv and are counted. -1: go on; else the exit code. */
static int read_options(bench *b, int argc, char **argv, const bench_case *cases, size_t n_cases, int *n_names)
{
    *n_names = 0;
    for (int i = 1; i < argc; i++) {
        const char *w = argv[i];
        bool more = i + 1 < argc;
        if (strcmp(w, "--help") == 0) return usage(argv[0], 0);
        if (strcmp(w, "--list") == 0) {
            for (size_t k = 0; k < n_cases; k++) printf("%-20s %s\n", cases[k].name, cases[k].what);
            return 0;
        }
        if (strcmp(w, "--check-only") == 0) b->check_only = true;
        else if (strcmp(w, "--quick") == 0) b->quick = true;
        else if (strcmp(w, "--no-peers") == 0) b->peers = false;
        else if (strcmp(w, "--threads") == 0 && more && atoi(argv[i + 1]) > 0) b->threads = atoi(argv[++i]);
        else if (strcmp(w, "--kiln") == 0 && more) b->kiln = argv[++i];
        else if (strcmp(w, "--results") == 0 && more) b->results = argv[++i];
        else if (w[0] == '-') return usage(argv[0], 2);
        else if (!find_case(cases, n_cases, w)) {
            fprintf(stderr, "%s: no case '%s'; --list shows them\n", argv[0], w);
            return 2;
        } else argv[1 + (*n_names)++] = argv[i];
    }
    return -1;
}

int bench_main(int argc, char **argv, const char *suite, const bench_case *cases, size_t n_cases)
{
    bench b = {.suite = suite,
               .kiln = BENCH_KILN,
               .folder = BENCH_FOLDER,
               .results = BENCH_FOLDER "/results",
               .threads = 1,
               .peers = true};
    int n_names, code = read_options(&b, argc, argv, cases, n_cases, &n_names);
    if (code >= 0) return code;
    setenv("KILN_CACHE", "none", 1); /* every compile is one, here and in the command */
    signal(SIGPIPE, SIG_IGN); /* a peer that dies is an error of its case */
    setvbuf(stdout, NULL, _IOLBF, 0);
    char threads[16];
    int pinned = bench_pin(b.threads);
    if (pinned < 0) {
        fprintf(stderr, "%s: there are no %d processors for this process\n", argv[0], b.threads);
        return 2;
    }
    snprintf(threads, sizeof threads, "%d", b.threads);
    setenv("KILN_THREADS", threads, 1); /* here and in the command; peers go by the processors */
    b.machine = bench_machine(pinned, b.threads);
    b.rows = json_array();
    run_head(&b);
    for (size_t i = 0; n_names == 0 && i < n_cases; i++) run_case(&b, &cases[i]);
    for (int i = 0; i < n_names; i++) run_case(&b, find_case(cases, n_cases, argv[1 + i]));
    run_foot(&b);
    /* a part of the suite is no record of it */
    bool saved = b.check_only || b.quick || n_names > 0 || b.n_failed > 0 || run_save(&b);
    json_decref(b.machine);
    json_decref(b.rows);
    for (size_t i = 0; i < b.n_groups; i++) free(b.groups[i].medians);
    return b.n_failed ? 1 : saved ? 0 : 3;
}
