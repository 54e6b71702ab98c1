/* SPDX-License-Identifier: Apache-2.0 */
/* A runner of benchmarks that compares values before it times, and times two sides interleaved in one process.
 *
 *      static void sine(bench *b)
 *      {
 *          if (!bench_same_bits(b, "sin", "kiln", mine, "C", theirs, sizeof mine, sizeof *mine)) return;
 *          bench_time(b, &(bench_pair){.row = "sin of 10^6", .a = BENCH_LOOP("kiln", run_mine, &x), .b = BENCH_LOOP("C", run_theirs, &x),
 *                                      .target = {BENCH_RATIO_AT_LEAST, 0.8}});
 *      }
 *      static const bench_case cases[] = {{"sine", "sin against the hand-written loop", sine}};
 *      int main(int argc, char **argv) { return bench_main(argc, argv, "mine", cases, 1); }
 *
 * One case checks and times one thing and may add several rows. Rows go to a table on standard output and, with every sample and
 * the facts of the machine, to <results>/<suite>.json. The exit code depends on values alone: 0 all compared equal, 1 a value
 * differs or a side failed, 2 bad usage, 3 a file could not be written. A missed target is said in the table and changes nothing. */
#ifndef BENCH_H
#define BENCH_H

#include "kiln/array.h"
#include "meter/samples.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench bench;

typedef struct bench_case {
    const char *name, *what;
    void (*run)(bench *b);
} bench_case;

int bench_main(int argc, char **argv, const char *suite, const bench_case *cases, size_t n_cases);

/* ---- settings of the run ---- */

const char *bench_kiln(const bench *b);   /* path of the command `kiln` */
const char *bench_folder(const bench *b); /* benchmarks/ of the source tree */
const char *bench_path(const bench *b, const char *name, char out[4096]); /* "<benchmarks>/<name>" */
bool bench_wants_peers(const bench *b);
int bench_threads(const bench *b); /* of every side */
const bench_case *bench_running(const bench *b);

/* ---- values: false when they differ, said on standard error; the case is then marked failed and must not time ---- */

/* `size`: bytes of one item, for naming the first that differs. Two NaNs are equal whatever their bits. */
bool bench_same_bits(bench *b, const char *what, const char *a_name, const void *a, const char *b_name, const void *v,
                     size_t bytes, size_t size);
/* |a - b| <= tolerance * max|b| for every item. */
bool bench_near(bench *b, const char *what, const char *a_name, const double *a, const char *b_name, const double *v,
                size_t n, double tolerance);
/* For the record: a comparison that a suite has made itself. */
void bench_checked(bench *b, const char *what, const char *a_name, const char *b_name, const char *how, double worst, double allowed);
double bench_number(const kiln_array *a, size_t i); /* entry i of f32, i32 or bool */
void bench_fail(bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One clear line in the table: why a row is not there. */
void bench_skip(bench *b, const char *row, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- time ---- */

#define BENCH_LOOP(name_, loop_, user_) ((kn_side){.name = (name_), .loop = (loop_), .user = (user_)})

typedef enum bench_target_kind {
    BENCH_NO_TARGET,
    BENCH_TIME_AT_MOST,   /* seconds of `a` */
    BENCH_RATIO_AT_LEAST, /* time of `b` over time of `a`: how many times as fast `a` is */
} bench_target_kind;

typedef struct bench_target {
    bench_target_kind kind;
    double value;
} bench_target;

typedef struct bench_pair {
    const char *row;  /* what is measured, as the table names it */
    const char *note; /* or NULL */
    kn_side a, b;  /* b.name NULL: `a` alone */
    double per;       /* what one call holds (steps); 0: 1. Times are given per unit */
    const char *unit; /* "step", "call" (the default) */
    double seconds;   /* time to spend on samples, up to three times as long when they scatter; 0: 1.5 */
    size_t rounds;    /* at least so many; 0: 9 */
    const char *group; /* the foot sums the rows of a group up: geometric mean of their ratios; NULL: none */
    bench_target target;
    json_t *more; /* goes into the record; stolen; may be NULL */
} bench_pair;

typedef struct bench_result {
    kn_spread a, b; /* s per unit */
    double ratio;             /* medians: b / a */
    double difference, error; /* mean of a - b over the pairs, and its standard error, s per unit */
    bool resolved;            /* |difference| exceeds twice the error */
    bool shared; /* other programs took the processor meanwhile: all figures are of the processor's time */
} bench_result;

/* Times, prints the row, adds the record. false when a side failed. `out` may be NULL. */
bool bench_time(bench *b, const bench_pair *p, bench_result *out);

double bench_units(const bench_pair *p); /* of one call */

double bench_now(void); /* s, monotonic */

/* ---- other processes ---- */

/* Runs a command to its end with its output dropped: its exit code, 128 + signal, or -1. Time from before the fork to after the wait
 * is added to `t`; `resident` gets the largest memory that it held, in bytes (not less than the runner's own at the fork). Both may be NULL. */
int bench_command(const char *const *argv, kn_taken *t, double *resident);

/* A peer: a process that answers one line of JSON for each line of JSON. */
typedef struct bench_peer bench_peer;
/* NULL when it could not start; `why` then says it in one line. */
bench_peer *bench_peer_start(const char *const *argv, char *why, size_t why_bytes);
/* Takes over `ask`. NULL when the peer has died, does not answer in time or answers {"error": ...}; `why` says it. */
json_t *bench_peer_ask(bench_peer *p, json_t *ask, char *why, size_t why_bytes);
void bench_peer_stop(bench_peer *p);
/* The path of the Python of the peers' environment; false: it is left out, and `row` of the table says why. */
bool bench_python(bench *b, const char *row, char out[4096]);
/* Starts peers/SCRIPT with the Python of the peers' environment. What it says of itself, to be freed; NULL: it is left out, and `row` of
 * the table says why. *out is to be stopped in any case. */
json_t *bench_peer_python(bench *b, const char *script, const char *row, bench_peer **out);

/* ---- facts ---- */

/* Confines the process and its children to n processors, the last that it may use; returns the very last, or -1 where there are not as
 * many. */
int bench_pin(int n);
json_t *bench_machine(int pinned, int threads);

#endif
