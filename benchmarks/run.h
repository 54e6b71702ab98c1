/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a run, shared by the runner's files. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench.h"

enum { ROUNDS_LEAST = 9, GROUPS_MOST = 8, GROUP_ROWS_MOST = 200 };

struct bench {
    const char *suite, *kiln, *folder, *results;
    bool check_only, peers, quick;
    int threads; /* of every side, and processors of the run */
    const bench_case *at; /* the case that runs */
    bool failed;          /* the case at hand: a value differs, or a side failed */
    size_t n_failed, n_missed, n_skipped, n_rows, n_checks;
    json_t *machine, *rows, *checks; /* checks: those of the case at hand */
    struct group {
        const char *name;
        size_t n;
        double log_ratios, least, *medians; /* of `a`, s per unit */
    } groups[GROUPS_MOST];
    size_t n_groups;
};

void run_head(const bench *b);
void run_row(bench *b, const bench_pair *p, const bench_result *r, const kn_samples *s);
void run_foot(const bench *b);
bool run_save(const bench *b); /* the whole record */
bool run_met(const bench_target *t, const bench_result *r);

#endif
