/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}
static double number_of(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

bool kn_record_is(const json_t *record, const char **why)
{
    const json_t *rows = json_object_get(record, "rows");
    *why = NULL;
    if (strcmp(text_of(record, "format"), "kiln-bench/1") != 0) *why = "its \"format\" is not \"kiln-bench/1\"";
    else if (!json_is_array(rows)) *why = "it has no list \"rows\"";
    else if (!json_is_object(json_object_get(record, "machine"))) *why = "it has no \"machine\"";
    for (size_t i = 0; !*why && i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        if (!*text_of(r, "case") || !*text_of(r, "row")) *why = "a row has no \"case\" and \"row\"";
        else if (!json_object_get(r, "skipped") && !(number_of(json_object_get(r, "a"), "median_s") > 0)) *why = "a row has no time \"a\"";
    }
    return !*why;
}

/* ---- rows ---- */

static const char *name_beside(const json_t *row) { return text_of(json_object_get(row, "b"), "name"); }

static bool same_row(const json_t *r, const json_t *like)
{
    bool same = strcmp(text_of(r, "case"), text_of(like, "case")) == 0 && strcmp(text_of(r, "row"), text_of(like, "row")) == 0;
    return same && (json_object_get(r, "skipped") || json_object_get(like, "skipped") || strcmp(name_beside(r), name_beside(like)) == 0);
}

/* The row of the names of row k of `from`, beside the same thing: of several the one with as many before it; NULL: none. */
static const json_t *find_row(const json_t *record, const json_t *from, size_t k)
{
    const json_t *rows = json_object_get(record, "rows"), *own = json_object_get(from, "rows"), *like = json_array_get(own, k);
    size_t before = 0;
    for (size_t i = 0; i < k; i++) before += same_row(json_array_get(own, i), like);
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (same_row(json_array_get(rows, i), like) && before-- == 0) return json_array_get(rows, i);
    return NULL;
}

/* Relative standard error of a side's median. */
static double relative_error(const json_t *side)
{
    size_t n = json_array_size(json_object_get(side, "wall_s"));
    return n ? 1.2533 * 1.4826 * number_of(side, "mad_s") / sqrt((double)n) / number_of(side, "median_s") : 0;
}

static json_t *row_of(const json_t *was, const json_t *is, double least)
{
    const json_t *a = json_object_get(was, "a"), *b = json_object_get(is, "a");
    const json_t *beside_a = json_object_get(was, "b"), *beside_b = json_object_get(is, "b");
    double change = log(number_of(b, "median_s") / number_of(a, "median_s")), error = hypot(relative_error(a), relative_error(b));
    const char *beside = text_of(beside_a, "name");
    if (number_of(beside_a, "median_s") > 0 && number_of(beside_b, "median_s") > 0 && strcmp(beside, text_of(beside_b, "name")) == 0) {
        change -= log(number_of(beside_b, "median_s") / number_of(beside_a, "median_s"));
        error = hypot(error, hypot(relative_error(beside_a), relative_error(beside_b)));
    } else beside = "";
    bool moved = fabs(change) > 2 * error && fabs(change) > least;
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:s, s:s}", "case", text_of(was, "case"), "row", text_of(was, "row"), "a_s", number_of(a, "median_s"),
                     "b_s", number_of(b, "median_s"), "change", change, "error", error, "beside", beside, "verdict",
                     !moved ? "noise" : change > 0 ? "slower" : "faster");
}

/* Rows of `a` that `b` has no time of, with the reason where there is one. */
static json_t *only_in(const json_t *a, const json_t *b)
{
    json_t *list = json_array();
    const json_t *rows = json_object_get(a, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i), *other = find_row(b, a, i), *why = json_object_get(other, "skipped");
        char name[600];
        if (json_object_get(r, "skipped") || (other && !why)) continue;
        snprintf(name, sizeof name, "%s: %s%s%s", text_of(r, "case"), text_of(r, "row"), why ? ": " : "", why ? json_string_value(why) : "");
        json_array_append_new(list, json_string(name));
    }
    return list;
}

/* ---- what changed besides ---- */

static void flatten(const json_t *v, const char *path, json_t *into)
{
    char name[300];
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_object(v)) {
        json_object_foreach((json_t *)(uintptr_t)v, key, item) /* jansson's iteration takes no const */
        {
            snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", key);
            flatten(item, name, into);
        }
    } else if (json_is_array(v)) {
        json_array_foreach(v, i, item)
        {
            snprintf(name, sizeof name, "%s.%zu", path, i);
            flatten(item, name, into);
        }
    } else json_object_set(into, path, (json_t *)(uintptr_t)v);
}

/* Differs from run to run by itself. */
static bool passing(const char *what) { return strcmp(what, "time") == 0 || strcmp(what, "clock_cost_s") == 0 || strcmp(what, "processor.mhz_at_start") == 0; }

static void change(json_t *list, const char *what, json_t *a, json_t *b)
{
    if (!passing(what)) json_array_append_new(list, json_pack("{s:s, s:O?, s:O?}", "what", what, "a", a, "b", b));
}

static json_t *changed(const json_t *a, const json_t *b)
{
    json_t *was = json_object(), *is = json_object(), *list = json_array(), *v;
    const char *key;
    flatten(json_object_get(a, "machine"), "", was);
    flatten(json_object_get(b, "machine"), "", is);
    json_object_foreach(was, key, v)
    {
        if (!json_equal(v, json_object_get(is, key))) change(list, key, v, json_object_get(is, key));
    }
    json_object_foreach(is, key, v)
    {
        if (!json_object_get(was, key)) change(list, key, NULL, v);
    }
    json_decref(was);
    json_decref(is);
    return list;
}

/* Comparisons of values whose largest difference moved. */
static void values(json_t *list, const json_t *was, const json_t *is)
{
    const json_t *a = json_object_get(was, "values"), *b = json_object_get(is, "values");
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
        if (!y || strcmp(text_of(x, "what"), text_of(y, "what")) != 0 || number_of(x, "largest_difference") == number_of(y, "largest_difference")) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f}", "row", text_of(was, "case"), "what", text_of(x, "what"), "a",
                                              number_of(x, "largest_difference"), "b", number_of(y, "largest_difference")));
    }
}

json_t *kn_compare_records(const json_t *a, const json_t *b, double least)
{
    json_t *rows = json_array(), *moved = json_array();
    const json_t *all = json_object_get(a, "rows");
    int faster = 0, slower = 0, same = 0;
    const char *last = "";
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *was = json_array_get(all, i), *is = find_row(b, a, i);
        if (!is || json_object_get(was, "skipped") || json_object_get(is, "skipped")) continue;
        json_t *row = row_of(was, is, least);
        const char *verdict = text_of(row, "verdict");
        faster += strcmp(verdict, "faster") == 0;
        slower += strcmp(verdict, "slower") == 0;
        same += strcmp(verdict, "noise") == 0;
        json_array_append_new(rows, row);
        if (strcmp(last, text_of(was, "case")) != 0) values(moved, was, is); /* all rows of a case have its comparisons */
        last = text_of(was, "case");
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "rows", rows, "changed", changed(a, b), "values", moved, "only_a", only_in(a, b), "only_b",
                     only_in(b, a), "faster", faster, "slower", slower, "same", same);
}
