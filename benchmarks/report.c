/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says: the table on standard output and the record in a file. */
#include "run.h"

#include "meter/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COLUMNS "%-46s %-20s %-28s %9s  %-24s %-14s %s\n"

void run_head(const bench *b)
{
    const json_t *cpu = json_object_get(b->machine, "processor");
    const char *name = json_string_value(json_object_get(cpu, "name")),
               *load = json_string_value(json_object_get(b->machine, "load_at_start"));
    int last = (int)json_integer_value(json_object_get(b->machine, "pinned_to"));
    printf("suite %s on %s, ", b->suite, name ? name : "an unnamed processor");
    if (b->threads == 1) printf("processor %d alone", last);
    else printf("%d threads on as many processors", b->threads);
    printf("; load at the start %s\n", load ? load : "unknown");
    if (load && strtod(load, NULL) > 0.5) printf("note: the machine is not quiet\n");
    if (b->check_only) return;
    printf("median (mad) of interleaved samples; `times` is how many times as fast the first is; difference: first - "
           "second, +- standard error\n"
           "`*`: other programs took the processor meanwhile, so that the row gives the processor's time, not the "
           "wall's\n\n");
    printf(COLUMNS, "", "", "against", "times", "difference", "target", "");
}

bool run_met(const bench_target *t, const bench_result *r)
{
    return t->kind == BENCH_NO_TARGET ||
           (t->kind == BENCH_TIME_AT_MOST ? r->a.median <= t->value : r->ratio >= t->value);
}

static const char *target_text(const bench_target *t, char *out, size_t bytes)
{
    char s[32];
    out[0] = 0;
    if (t->kind == BENCH_TIME_AT_MOST) snprintf(out, bytes, "<= %s", kn_seconds_text(t->value, s));
    if (t->kind == BENCH_RATIO_AT_LEAST) snprintf(out, bytes, ">= %.4g times", t->value);
    return out;
}

static void side_text(const char *name, const kn_spread *s, char *out, size_t bytes)
{
    char median[32], mad[32];
    snprintf(out, bytes, "%s%s%s (%s)", name, *name ? " " : "", kn_seconds_text(s->median, median),
             kn_seconds_text(s->mad, mad));
}

static void add_record(bench *b, const bench_pair *p, const bench_result *r, const kn_samples *s)
{
    double per = bench_units(p);
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "case", b->at->name, "row", p->row, "per", p->unit ? p->unit : "call",
                  "time", r->shared ? "processor" : "wall", "a", kn_record_side(p->a.name, s, 0, r->shared, per));
    if (p->note) json_object_set_new(o, "note", json_string(p->note));
    if (p->b.name) {
        json_object_set_new(o, "b", kn_record_side(p->b.name, s, 1, r->shared, per));
        json_object_set_new(o, "ratio", json_real(r->ratio));
        json_object_set_new(o, "ratio_of_minima", json_real(r->b.min / r->a.min));
        json_object_set_new(o, "difference",
                            json_pack("{s:f, s:f, s:b}", "mean_s", r->difference, "standard_error_s", r->error,
                                      "resolved", r->resolved));
    }
    if (p->target.kind != BENCH_NO_TARGET)
        json_object_set_new(o, "target",
                            json_pack("{s:s, s:f, s:b}", "kind",
                                      p->target.kind == BENCH_TIME_AT_MOST ? "seconds at most" : "ratio at least",
                                      "value", p->target.value, "met", run_met(&p->target, r)));
    if (p->group) json_object_set_new(o, "group", json_string(p->group));
    if (p->more) json_object_set_new(o, "more", p->more);
    json_array_append_new(b->rows, o);
}

/* Adds the row to the sums of its group. */
static void sum_up(bench *b, const char *name, const bench_result *r)
{
    struct group *g = b->groups;
    while (g < b->groups + b->n_groups && strcmp(g->name, name) != 0) g++;
    if (g == b->groups + b->n_groups) {
        if (b->n_groups == GROUPS_MOST) return;
        *g = (struct group){.name = name, .least = INFINITY, .medians = calloc(GROUP_ROWS_MOST, sizeof *g->medians)};
        b->n_groups++;
    }
    if (!g->medians || g->n == GROUP_ROWS_MOST) return;
    g->medians[g->n++] = r->a.median;
    g->log_ratios += log(r->ratio);
    g->least = fmin(g->least, r->ratio);
}

void run_row(bench *b, const bench_pair *p, const bench_result *r, const kn_samples *s)
{
    char first[64], second[96] = "", times[32] = "", difference[96] = "", target[48], d[32], e[32];
    bool met = run_met(&p->target, r);
    side_text(r->shared ? "*" : "", &r->a, first, sizeof first);
    if (p->b.name) {
        side_text(p->b.name, &r->b, second, sizeof second);
        snprintf(times, sizeof times, "%.*f", r->ratio >= 10 ? 1 : 3, r->ratio);
        if (r->resolved)
            snprintf(difference, sizeof difference, "%s%s +- %s", r->difference > 0 ? "+" : "",
                     kn_seconds_text(r->difference, d), kn_seconds_text(r->error, e));
        else snprintf(difference, sizeof difference, "below resolution (%s)", kn_seconds_text(2 * r->error, e));
    }
    printf(COLUMNS, p->row, first, second, times, difference, target_text(&p->target, target, sizeof target),
           p->target.kind == BENCH_NO_TARGET ? ""
           : met                             ? "met"
                                             : "MISSED");
    if (p->note) printf("    %s\n", p->note);
    b->n_rows++;
    b->n_missed += !met;
    if (p->group) sum_up(b, p->group, r);
    add_record(b, p, r, s);
}

static void group_text(const struct group *g)
{
    kn_spread s = kn_spread_of(g->medians, g->n);
    char median[32], most[32];
    double largest = 0;
    for (size_t i = 0; i < g->n; i++) largest = fmax(largest, g->medians[i]);
    printf("\n%s: %zu rows, median %s, longest %s", g->name, g->n, kn_seconds_text(s.median, median), kn_seconds_text(largest, most));
    if (!isnan(g->log_ratios)) printf("; times as fast: %.3g in geometric mean, least %.3g", exp(g->log_ratios / (double)g->n), g->least);
}

void run_foot(const bench *b)
{
    for (size_t i = 0; i < b->n_groups; i++) group_text(&b->groups[i]);
    if (b->n_groups) printf("\n");
    printf("\n%zu comparisons of values, %zu cases failed", b->n_checks, b->n_failed);
    if (!b->check_only) printf("; %zu rows, %zu targets missed, %zu skipped", b->n_rows, b->n_missed, b->n_skipped);
    printf("\n");
}

/* A temporary name, then rename: a reader never meets half a record. */
bool run_save(const bench *b)
{
    char path[4096], part[4104];
    if (b->threads == 1) snprintf(path, sizeof path, "%s/%s.json", b->results, b->suite);
    else snprintf(path, sizeof path, "%s/%s-%d.json", b->results, b->suite, b->threads);
    snprintf(part, sizeof part, "%s.part", path);
    if (mkdir(b->results, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "cannot make %s: %s\n", b->results, strerror(errno));
        return false;
    }
    FILE *f = fopen(part, "w");
    char *text = kn_record_text(b->suite, b->machine, b->rows);
    bool ok = f && text && fputs(text, f) >= 0;
    free(text);
    if (f) ok = fclose(f) == 0 && ok;
    if (ok && rename(part, path) == 0) {
        printf("record: %s\n", path);
        return true;
    }
    fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
    remove(part);
    return false;
}
