/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of programs: found, their inputs made, their results compared. */
#include "programs_case.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MOST_CASES = 1000 };

static const json_t *entry(const program_case *c, const char *list, size_t k) { return json_array_get(json_object_get(c->about, list), k); }
static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }
static double number_of(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

size_t program_inputs(const program_case *c) { return json_array_size(json_object_get(c->about, "inputs")); }
size_t program_outputs(const program_case *c) { return json_array_size(json_object_get(c->about, "outputs")); }

/* ---- finding them ---- */

/* Adds folder/file as NAME and the suffix. One that is no case (a text without inputs) is left out. */
static void add(program_case *list, size_t *n, const char *folder, const char *file, const char *name, const char *suffix)
{
    char path[PATH_BYTES], text[PATH_BYTES], full[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    json_t *about = *n < MOST_CASES ? json_load_file(path, 0, NULL) : NULL;
    const char *program = about && json_object_get(about, "inputs") ? text_of(about, "program") : NULL;
    if (!program) {
        json_decref(about);
        return;
    }
    snprintf(text, sizeof text, "%s/%s", folder, program);
    snprintf(full, sizeof full, "%s%s", name, suffix);
    const char *what = text_of(about, "description");
    program_case c = {strdup(full), strdup(what ? what : ""), strdup(text), strdup(folder), about};
    if (c.name && c.what && c.text && c.folder) list[(*n)++] = c;
}

static void add_bench(program_case *list, size_t *n, const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        char name[256];
        if (len < 6 || len > sizeof name || strcmp(e->d_name + len - 5, ".json") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(len - 5), e->d_name);
        add(list, n, folder, e->d_name, name, "");
    }
    if (d) closedir(d);
}

static int by_name(const void *a, const void *b) { return strcmp(((const program_case *)a)->name, ((const program_case *)b)->name); }

program_case *programs_find(const char *folder, size_t *n)
{
    char path[PATH_BYTES];
    DIR *d = opendir(folder);
    program_case *list = d ? calloc(MOST_CASES + 1, sizeof *list) : NULL;
    *n = 0;
    for (struct dirent *e; list && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, "bench") == 0) add_bench(list, n, path);
        else {
            add(list, n, path, "case.json", e->d_name, "");
            add(list, n, path, "large.json", e->d_name, ".large");
        }
    }
    if (d) closedir(d);
    if (list) qsort(list, *n, sizeof *list, by_name);
    return list;
}

void programs_free(program_case *c)
{
    for (program_case *p = c; p && p->name; p++) {
        free(p->name), free(p->what), free(p->text), free(p->folder);
        json_decref(p->about);
    }
    free(c);
}

/* ---- elements as numbers ---- */

static double small_float(uint16_t bits, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int e = bits >> mantissa_bits & ((1 << exponent_bits) - 1), m = bits & ((1 << mantissa_bits) - 1);
    double v = e == 0                               ? ldexp(m, 1 - bias - mantissa_bits)
               : e == (1 << exponent_bits) - 1 ? (m ? NAN : INFINITY)
                                                    : ldexp(m + (1 << mantissa_bits), e - bias - mantissa_bits);
    return bits >> 15 ? -v : v;
}

/* Number i of an array; of complex arrays the parts in turn. */
static double number_at(kiln_dtype d, const void *v, size_t i)
{
    switch ((int)d) {
    case KILN_BOOL: case KILN_U8: return ((const uint8_t *)v)[i];
    case KILN_I8: return ((const int8_t *)v)[i];
    case KILN_I16: return ((const int16_t *)v)[i];
    case KILN_U16: return ((const uint16_t *)v)[i];
    case KILN_I32: return ((const int32_t *)v)[i];
    case KILN_U32: return ((const uint32_t *)v)[i];
    case KILN_I64: return (double)((const int64_t *)v)[i];
    case KILN_U64: return (double)((const uint64_t *)v)[i];
    case KILN_F16: return small_float(((const uint16_t *)v)[i], 5);
    case KILN_BF16: return small_float(((const uint16_t *)v)[i], 8);
    case KILN_F32: case KILN_C64: return (double)((const float *)v)[i];
    case KILN_F64: case KILN_C128: return ((const double *)v)[i];
    default: return NAN;
    }
}

static bool put(kiln_dtype d, void *v, size_t i, double x)
{
    switch ((int)d) {
    case KILN_BOOL: ((uint8_t *)v)[i] = x != 0; return true;
    case KILN_I32: ((int32_t *)v)[i] = (int32_t)x; return true;
    case KILN_I64: ((int64_t *)v)[i] = (int64_t)x; return true;
    case KILN_F32: ((float *)v)[i] = (float)x; return true;
    case KILN_F64: ((double *)v)[i] = x; return true;
    default: return false;
    }
}

static size_t numbers(const kiln_array *a)
{
    kiln_type t = kiln_array_type(a);
    return (size_t)kiln_type_size(t) * (kiln_dtype_kind(t.dtype) == 'c' ? 2 : 1);
}

/* ---- inputs ---- */

static double listed(const json_t *f, size_t i) { return json_number_value(json_array_get(json_object_get(f, "values"), i)); }

/* Of the flat index i, by the rule that f names; the case's "fill_rules" says each. */
static double formula(const json_t *f, kiln_type t, size_t i)
{
    const char *kind = text_of(f, "kind");
    double x = (double)i;
    if (strcmp(kind, "const") == 0) return number_of(f, "value");
    if (strcmp(kind, "values") == 0) return listed(f, i);
    if (strcmp(kind, "iota") == 0) return number_of(f, "start") + number_of(f, "step") * x;
    if (strcmp(kind, "sin") == 0) return number_of(f, "offset") + number_of(f, "amplitude") * sin(number_of(f, "omega") * x + number_of(f, "phase"));
    if (strcmp(kind, "mod") == 0)
        return number_of(f, "offset") + number_of(f, "scale") * fmod(number_of(f, "a") * x + number_of(f, "b"), number_of(f, "m"));
    if (strcmp(kind, "step") == 0) return number_of(f, x < number_of(f, "until") ? "value" : "after");
    if (strcmp(kind, "first_axis") == 0) return listed(f, i / ((size_t)kiln_type_size(t) / (size_t)t.dims[0]));
    if (strcmp(kind, "disc") == 0) {
        double row = floor(x / (double)t.dims[1]) - number_of(f, "cx"), column = fmod(x, (double)t.dims[1]) - number_of(f, "cy");
        return row * row + column * column < number_of(f, "r2");
    }
    if (strcmp(kind, "lattice3") == 0) {
        double side = number_of(f, "side"), at = fmod(floor(floor(x / 3) / pow(side, 2 - (double)(i % 3))), side);
        return at * number_of(f, "spacing") + number_of(f, "spacing") / 2 + number_of(f, "amplitude") * sin(number_of(f, "omega") * x);
    }
    return NAN;
}

static bool filled(const json_t *in, kiln_type t, kiln_array *a)
{
    const json_t *f = json_object_get(in, "fill");
    bool ok = true;
    for (size_t i = 0; ok && i < numbers(a); i++) ok = put(t.dtype, kiln_array_data(a), i, formula(f, t, i));
    return ok;
}

bool program_input(bench *b, kiln_ctx *ctx, const program_case *c, size_t k, kiln_type t, kiln_array **out)
{
    const json_t *in = entry(c, "inputs", k);
    const char *file = text_of(in, "file");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", c->folder, file ? file : "");
    if (file && kiln_array_load(ctx, path, out) == KILN_OK) return true;
    if (!file && kiln_array_create(ctx, t, out) == KILN_OK && filled(in, t, *out)) return true;
    bench_fail(b, "%s: input %zu: %s", c->name, k, file ? path : "the runner has no numbers of this type");
    return false;
}

/* ---- results ---- */

void program_tolerance(const program_case *c, size_t k, double *rtol, double *atol)
{
    const json_t *o = entry(c, "outputs", k), *r = json_object_get(o, "rtol"), *a = json_object_get(o, "atol");
    *rtol = r ? json_number_value(r) : number_of(c->about, "rtol");
    *atol = a ? json_number_value(a) : number_of(c->about, "atol");
}

/* "nan", "inf" and "-inf" are written as words. */
static double wanted_number(const json_t *v) { return json_is_string(v) ? strtod(json_string_value(v), NULL) : json_number_value(v); }

/* A comparison of one result. */
typedef struct comparison {
    bench *b;
    const program_case *c;
    size_t k;
    double rtol, atol, worst; /* worst: the largest share of what is allowed */
} comparison;

static bool close_to(comparison *m, size_t i, double got, double want)
{
    double allowed = m->atol + m->rtol * fabs(want), off = fabs(got - want);
    if (got == want || (isnan(got) && isnan(want))) return true;
    if (off <= allowed) {
        m->worst = fmax(m->worst, off / allowed);
        return true;
    }
    bench_fail(m->b, "%s: entry %zu of result %zu is %.9g; wanted is %.9g, within %.3g", m->c->name, i, m->k, got, want, allowed);
    return false;
}

/* Samples and the sum. */
static bool summary_holds(comparison *m, const kiln_array *got)
{
    const json_t *o = entry(m->c, "outputs", m->k), *r = json_object_get(o, "reference");
    if (!r) r = json_object_get(o, "jax");
    const json_t *at = json_object_get(r, "samples_at"), *samples = json_object_get(r, "samples");
    kiln_dtype d = kiln_array_type(got).dtype;
    double sum = 0;
    for (size_t i = 0; i < numbers(got); i++) sum += number_at(d, kiln_array_read(got), i);
    if (!(fabs(sum - number_of(r, "sum")) <= number_of(o, "sum_tolerance"))) {
        bench_fail(m->b, "%s: the sum of result %zu is %.12g, wanted is %.12g", m->c->name, m->k, sum, number_of(r, "sum"));
        return false;
    }
    for (size_t i = 0; i < json_array_size(at); i++) {
        size_t n = (size_t)json_integer_value(json_array_get(at, i));
        if (n >= numbers(got) || !close_to(m, n, number_at(d, kiln_array_read(got), n), wanted_number(json_array_get(samples, i)))) return false;
    }
    return true;
}

static bool all_near(comparison *m, const kiln_array *got, const kiln_array *want)
{
    kiln_dtype d = kiln_array_type(got).dtype, e = kiln_array_type(want).dtype;
    if (d == KILN_BF16 && e == KILN_U16) e = KILN_BF16; /* files hold the bits */
    bool ok = numbers(want) == numbers(got);
    if (!ok) bench_fail(m->b, "%s: result %zu has %zu numbers, wanted are %zu", m->c->name, m->k, numbers(got), numbers(want));
    for (size_t i = 0; ok && i < numbers(got); i++)
        ok = close_to(m, i, number_at(d, kiln_array_read(got), i), number_at(e, kiln_array_read(want), i));
    return ok;
}

bool program_wants(bench *b, kiln_ctx *ctx, const program_case *c, size_t k, const kiln_array *got)
{
    comparison m = {.b = b, .c = c, .k = k};
    program_tolerance(c, k, &m.rtol, &m.atol);
    const json_t *o = entry(c, "outputs", k);
    const char *file = text_of(o, "ref") ? text_of(o, "ref") : text_of(o, "out");
    kiln_array *want = NULL;
    char path[PATH_BYTES];
    bool ok = false;
    snprintf(path, sizeof path, "%s/%s", c->folder, file ? file : "");
    if (!file) ok = summary_holds(&m, got);
    else if (kiln_array_load(ctx, path, &want) != KILN_OK) bench_fail(b, "%s: cannot read %s", c->name, path);
    else ok = all_near(&m, got, want);
    kiln_array_release(want);
    if (ok) bench_checked(b, c->name, "kiln", "reference", "share of the tolerance", m.worst, 1);
    return ok;
}
