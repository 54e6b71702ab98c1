/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln compare`: two records of measurements. */
#include "base/ctx.h"
#include "base/file.h"
#include "cli/cli.h"
#include "meter/compare.h"
#include "meter/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A record, or NULL after the message, with the exit code. */
static json_t *read_record(cli *c, const char *path, int *code)
{
    kn_bytes text;
    json_error_t e;
    const char *why = NULL;
    *code = CLI_DONE;
    if (kn_file_read(c->ctx, path, &text) != KILN_OK) {
        *code = cli_fail(c);
        return NULL;
    }
    json_t *record = json_loadb(text.s, text.n, 0, &e);
    kn_bytes_free(c->ctx, &text);
    if (!record) *code = cli_bad(c, "syntax", "%s:%d:%d: %s", path, e.line, e.column, e.text);
    else if (!kn_record_is(record, &why))
        *code = cli_bad(c, "unrecognised", "%s is no record of measurements: %s; make bench and kiln bench write them", path, why);
    if (*code == CLI_DONE) return record;
    json_decref(record);
    return NULL;
}

static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }
static double number_of(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

static void print_rows(const json_t *rows, bool all)
{
    size_t width = 20, i;
    json_t *r;
    json_array_foreach(rows, i, r) if (strlen(text_of(r, "row")) > width) width = strlen(text_of(r, "row"));
    json_array_foreach(rows, i, r)
    {
        char a[32], b[32];
        const char *verdict = text_of(r, "verdict"), *beside = text_of(r, "beside");
        if (!all && strcmp(verdict, "noise") == 0) continue;
        printf("%-*s  %9s -> %-9s %+6.1f %% +- %.1f  %-7s%s%s\n", (int)width, text_of(r, "row"), kn_seconds_text(number_of(r, "a_s"), a),
               kn_seconds_text(number_of(r, "b_s"), b), percent(number_of(r, "change")), 100 * number_of(r, "error"), verdict, *beside ? "  beside " : "", beside);
    }
}

static void print_list(const char *title, const json_t *names)
{
    size_t i;
    json_t *v;
    if (json_array_size(names)) printf("\n%s\n", title);
    json_array_foreach(names, i, v) printf("  %s\n", json_string_value(v));
}

static void print_changed(const json_t *list, const char *title, const char *key)
{
    size_t i;
    json_t *v;
    if (json_array_size(list)) printf("\n%s\n", title);
    json_array_foreach(list, i, v)
    {
        char *a = json_dumps(json_object_get(v, "a"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(4)), *b = json_dumps(json_object_get(v, "b"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(4));
        printf("  %s: %s -> %s\n", text_of(v, key), a ? a : "?", b ? b : "?");
        free(a), free(b);
    }
}

static int run(cli *c)
{
    int code;
    json_t *a = read_record(c, c->operands[0], &code), *b = code == CLI_DONE ? read_record(c, c->operands[1], &code) : NULL;
    if (code == CLI_DONE) {
        json_t *report = kn_compare_records(a, b, cli_number(c, "least", 1) / 100);
        const char *json = cli_text(c, "json", NULL);
        if (!report) code = cli_broken(c, "out of memory");
        else if (json) code = cli_write_json(c, json, report);
        if (code == CLI_DONE && !(json && cli_is_stdout(json))) {
            const json_t *rows = json_object_get(report, "rows");
            print_rows(rows, cli_has(c, "all"));
            print_list("Only in the first", json_object_get(report, "only_a"));
            print_list("Only in the second", json_object_get(report, "only_b"));
            print_changed(json_object_get(report, "changed"), "Changed besides", "what");
            print_changed(json_object_get(report, "values"), "Largest differences of values that moved", "what");
            printf("\n%zu rows in both: %d faster, %d slower, %d within the noise\n", json_array_size(rows), (int)number_of(report, "faster"),
                   (int)number_of(report, "slower"), (int)number_of(report, "same"));
        }
        if (code == CLI_DONE && number_of(report, "slower") > 0) code = CLI_NO;
        json_decref(report);
    }
    json_decref(a);
    json_decref(b);
    return code;
}

static const cli_option options[] = {
    {"all", 0, CLI_FLAG, NULL, "prints the rows within the noise as well", 0, 0},
    {"least", 0, CLI_NUMBER, "PERCENT", "calls no smaller change faster or slower (default 1)", 0, 0},
    {"json", 0, CLI_TEXT, "FILE", "writes the comparison as JSON", 0, 0},
};

const cli_command cli_compare = {
    .name = "compare",
    .operands = "A.json B.json",
    .summary = "compares two records of measurements",
    .about = "Reads two records, as `make bench` and `kiln bench` write them, and says which rows moved by more than the noise of both (two standard "
             "errors of the medians), and what else is different: machine, versions, flags, the largest differences of values. Where both records "
             "have timed the same thing beside a row (a loop in C, another program), the change is that of the ratio, so that a machine that was "
             "faster or slower on the day does not count.\n\nExit code 1: something became slower.",
    CLI_OPTIONS(options),
    .least = 2,
    .most = 2,
    .run = run,
};
