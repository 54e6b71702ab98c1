/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln bench batching`: a layer over a batch, written out, as a map and as a vmap: what each form costs to compile, to run and to hold. */
#include "cli/bench.h"

#include "base/ctx.h"
#include "base/file.h"
#include "meter/plot.h"
#include "meter/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 32, MOST_BATCH = 1 << 16, COMPILES = 5, BUFFERS = 4 };

/* One form at one batch. */
typedef struct point {
    const cli_layer_form *form;
    int64_t batch;
    kiln_prog *prog;
    kiln_exec *exec;
    void *buffers[BUFFERS], *scratch; /* w, b, x of the study; y of its own */
    double compile[COMPILES];         /* s */
    bool ok;
} point;

typedef struct study {
    cli *c;
    int64_t sizes[MOST_SIZES];
    uint32_t n_sizes;
    bool wanted[CLI_LAYER_FORMS];
    float *w, *b, *x;
    json_t *rows;
} study;

/* ---- options ---- */

static int read_sizes(study *s)
{
    const char *text = cli_text(s->c, "sizes", "1,2,4,8,16,32,64,128,256,512,1024");
    for (const char *p = text; *p;) {
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < 1 || v > MOST_BATCH || (*end && *end != ',') || (*end && !end[1]) || s->n_sizes == MOST_SIZES)
            return cli_bad(s->c, "usage", "--sizes takes up to %d numbers from 1 to %d, as in 1,2,4; found '%s'", MOST_SIZES, MOST_BATCH, text);
        s->sizes[s->n_sizes++] = v;
        p = end + (*end == ',');
    }
    return s->n_sizes ? CLI_DONE : cli_bad(s->c, "usage", "--sizes names no size");
}

static int read_forms(study *s)
{
    const char *text = cli_text(s->c, "forms", "loop,map,vmap");
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        uint32_t k = 0;
        while (k < CLI_LAYER_FORMS && (strlen(cli_layer_forms[k].name) != n || memcmp(cli_layer_forms[k].name, p, n) != 0)) k++;
        if (k == CLI_LAYER_FORMS || (p[n] && !p[n + 1])) return cli_bad(s->c, "usage", "--forms takes some of loop, map, vmap, as in loop,vmap; found '%s'", text);
        s->wanted[k] = true;
        p += n + (p[n] == ',');
    }
    return *text ? CLI_DONE : cli_bad(s->c, "usage", "--forms names no form");
}

/* ---- one point ---- */

static float *numbers(size_t n, unsigned seed)
{
    float *v = aligned_alloc(64, (n * sizeof *v + 63) / 64 * 64);
    for (size_t i = 0; v && i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
    return v;
}

static size_t y_bytes(int64_t batch) { return (size_t)batch * CLI_LAYER_OUT * sizeof(float); }

static kiln_status make(study *s, point *p)
{
    KILN_TRY(p->form->make(s->c->ctx, p->batch, &p->prog));
    for (int k = 0; k < COMPILES; k++) {
        kn_taken begin = kn_taken_begin();
        kiln_exec_release(p->exec);
        p->exec = NULL;
        KILN_TRY(kiln_compile(s->c->ctx, p->prog, NULL, &p->exec));
        p->compile[k] = kn_taken_end(begin).wall;
    }
    p->buffers[0] = s->w, p->buffers[1] = s->b, p->buffers[2] = s->x;
    p->buffers[3] = numbers((size_t)p->batch * CLI_LAYER_OUT, 4);
    p->scratch = aligned_alloc(64, kiln_exec_scratch_bytes(p->exec) / 64 * 64 + 64);
    p->ok = p->buffers[3] && p->scratch;
    return p->ok ? KILN_OK : kn_nomem(s->c->ctx);
}

static void drop(point *p)
{
    free(p->buffers[3]);
    free(p->scratch);
    kiln_exec_release(p->exec);
    kiln_prog_release(p->prog);
}

static void call(void *user, uint64_t n)
{
    point *p = user;
    for (uint64_t i = 0; i < n; i++) p->ok = kiln_exec_run(p->exec, p->buffers, p->scratch, &(kiln_call){0}) == 0 && p->ok;
}

static void report(study *s, const point *p, const kn_samples *taken, uint32_t k)
{
    kiln_exec_info info;
    char name[64], compile[32], run[32];
    kiln_exec_info_get(p->exec, &info);
    size_t inputs = sizeof(float) * (CLI_LAYER_OUT * CLI_LAYER_IN + CLI_LAYER_OUT + (size_t)p->batch * CLI_LAYER_IN);
    uint64_t peak = inputs + y_bytes(p->batch) + info.scratch_bytes, equations = kiln_prog_n_equations(p->prog);
    double compiled = kn_spread_of(p->compile, COMPILES).median;
    kn_spread calls = kn_spread_of(taken->wall[k], taken->n);
    snprintf(name, sizeof name, "%s, batch %lld", p->form->name, (long long)p->batch);
    printf("%6lld  %-5s %10llu %6llu  %9s  %9s  %11llu\n", (long long)p->batch, p->form->name, (unsigned long long)equations, (unsigned long long)info.nests,
           kn_seconds_text(compiled, compile), kn_seconds_text(calls.median, run), (unsigned long long)peak);
    json_array_append_new(s->rows, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "case", "batching", "row", name, "form", p->form->name, "batch",
                                             (json_int_t)p->batch, "equations", (json_int_t)equations, "nests", (json_int_t)info.nests, "peak_bytes",
                                             (json_int_t)peak, "code_bytes", (json_int_t)info.code_bytes, "compile_s", compiled, "a",
                                             kn_record_side("kiln", taken, k, false, 1)));
}

/* All forms at one batch: compared to the bit, then timed in turn. */
static int measure(study *s, int64_t batch)
{
    point points[CLI_LAYER_FORMS] = {0};
    kn_side sides[CLI_LAYER_FORMS];
    kn_samples *taken = calloc(1, sizeof *taken);
    uint32_t n = 0;
    int code = taken ? CLI_DONE : cli_broken(s->c, "out of memory");
    for (uint32_t k = 0; k < CLI_LAYER_FORMS && code == CLI_DONE; k++) {
        if (!s->wanted[k]) continue;
        points[n] = (point){.form = &cli_layer_forms[k], .batch = batch};
        if (make(s, &points[n]) != KILN_OK) code = cli_fail(s->c);
        sides[n] = (kn_side){.name = cli_layer_forms[k].name, .loop = call, .user = &points[n]};
        n++;
    }
    for (uint32_t k = 0; k < n && code == CLI_DONE; k++) {
        call(&points[k], 1);
        if (memcmp(points[k].buffers[3], points[0].buffers[3], y_bytes(batch)) == 0) continue;
        cli_say(s->c, "batch %lld: %s and %s differ", (long long)batch, points[k].form->name, points[0].form->name);
        code = CLI_NO;
    }
    if (code == CLI_DONE && !kn_samples_take(sides, n, 0.1, 5, taken)) code = cli_broken(s->c, "no time was taken");
    for (uint32_t k = 0; k < n && code == CLI_DONE; k++) {
        if (points[k].ok) report(s, &points[k], taken, k);
        else code = cli_broken(s->c, "a call of %s failed", points[k].form->name);
    }
    for (uint32_t k = 0; k < n; k++) drop(&points[k]);
    free(taken);
    return code;
}

/* ---- the picture ---- */

enum { MOST_CURVES = 2 * CLI_LAYER_FORMS };
typedef struct curves {
    kn_curve v[MOST_CURVES];
    double x[MOST_CURVES][MOST_SIZES], y[MOST_CURVES][MOST_SIZES];
    char names[MOST_CURVES][64];
    size_t n;
} curves;

/* The curves of a record's rows, a form each: its compile or run times in ms. */
static void add_curves(curves *c, const json_t *rows, const char *who, bool compile, bool dashed)
{
    for (uint32_t k = 0; k < CLI_LAYER_FORMS && c->n < MOST_CURVES; k++) {
        kn_curve *v = &c->v[c->n];
        size_t n = 0, i;
        json_t *r;
        json_array_foreach(rows, i, r)
        {
            const char *form = json_string_value(json_object_get(r, "form"));
            const json_t *s = compile ? json_object_get(r, "compile_s") : json_object_get(json_object_get(r, "a"), "median_s");
            if (!form || strcmp(form, cli_layer_forms[k].name) != 0 || n == MOST_SIZES) continue;
            c->x[c->n][n] = json_number_value(json_object_get(r, "batch"));
            c->y[c->n][n++] = 1e3 * json_number_value(s);
        }
        if (!n) continue;
        snprintf(c->names[c->n], sizeof c->names[c->n], "%s%s%s", cli_layer_forms[k].name, *who ? ", " : "", who);
        *v = (kn_curve){c->names[c->n], c->x[c->n], c->y[c->n], n, k, dashed};
        c->n++;
    }
}

static int draw(study *s, const char *path, const json_t *beside)
{
    kn_text svg;
    curves *c = calloc(2, sizeof *c);
    const char *who = beside ? json_string_value(json_object_get(beside, "suite")) : "";
    if (!c) return cli_broken(s->c, "out of memory");
    for (int k = 0; k < 2; k++) {
        add_curves(&c[k], s->rows, beside ? "Kiln" : "", k == 0, false);
        if (beside) add_curves(&c[k], json_object_get(beside, "rows"), who ? who : "", k == 0, true);
    }
    kn_panel panels[] = {{"compile", "batch", "ms", c[0].v, c[0].n}, {"one call", "batch", "ms", c[1].v, c[1].n}};
    kn_text_init(&svg, NULL);
    kn_plot_svg(&svg, panels, 2);
    int code = svg.failed ? cli_broken(s->c, "out of memory") : cli_write(s->c, path, svg.s, svg.n) == KILN_OK ? CLI_DONE : cli_fail(s->c);
    kn_text_fini(&svg);
    free(c);
    return code;
}

static int read_beside(study *s, json_t **out)
{
    const char *path = cli_text(s->c, "beside", NULL);
    json_error_t e;
    kn_bytes text;
    if (!path) return CLI_DONE;
    if (kn_file_read(s->c->ctx, path, &text) != KILN_OK) return cli_fail(s->c);
    *out = json_loadb(text.s, text.n, 0, &e);
    kn_bytes_free(s->c->ctx, &text);
    if (!*out) return cli_bad(s->c, "syntax", "%s:%d:%d: %s", path, e.line, e.column, e.text);
    if (json_is_array(json_object_get(*out, "rows"))) return CLI_DONE;
    return cli_bad(s->c, "unrecognised", "%s is no record of a batching study: it has no list \"rows\"", path);
}

/* ---- the study ---- */

static int write_record(study *s, const char *path)
{
    json_t *machine = kn_machine_facts((int)kiln_ctx_threads(s->c->ctx));
    json_object_set_new(machine, "fast", json_string(kiln_fast_text(kiln_ctx_fast(s->c->ctx))));
    char *text = kn_record_text("batching", machine, s->rows);
    int code = !text ? cli_broken(s->c, "out of memory") : cli_write(s->c, path, text, strlen(text)) == KILN_OK ? CLI_DONE : cli_fail(s->c);
    free(text);
    json_decref(machine);
    return code;
}

static int run_study(study *s)
{
    json_t *beside = NULL;
    const char *json = cli_text(s->c, "json", NULL), *plot = cli_text(s->c, "plot", NULL);
    int64_t most = 1;
    int code = read_sizes(s);
    if (code == CLI_DONE) code = read_forms(s);
    if (code == CLI_DONE) code = read_beside(s, &beside);
    for (uint32_t k = 0; k < s->n_sizes; k++)
        if (s->sizes[k] > most) most = s->sizes[k];
    if (code == CLI_DONE) {
        s->w = numbers(CLI_LAYER_OUT * CLI_LAYER_IN, 1), s->b = numbers(CLI_LAYER_OUT, 2), s->x = numbers((size_t)most * CLI_LAYER_IN, 3);
        if (!s->w || !s->b || !s->x) code = cli_broken(s->c, "out of memory");
        else if (kiln_cache_enable(s->c->ctx, "none") != KILN_OK) code = cli_fail(s->c); /* every compile is one */
    }
    if (code == CLI_DONE && kiln_ctx_fast(s->c->ctx)) printf("fast: %s\n", kiln_fast_text(kiln_ctx_fast(s->c->ctx)));
    if (code == CLI_DONE) printf("%6s  %-5s %10s %6s  %9s  %9s  %11s\n", "batch", "form", "equations", "nests", "compile", "call", "peak bytes");
    for (uint32_t k = 0; k < s->n_sizes && code == CLI_DONE; k++) code = measure(s, s->sizes[k]);
    if (code == CLI_DONE && json) code = write_record(s, json);
    if (code == CLI_DONE && plot) code = draw(s, plot, beside);
    json_decref(beside);
    return code;
}

int cli_bench_batching(cli *c)
{
    study s = {.c = c, .rows = json_array()};
    int code = s.rows ? run_study(&s) : cli_broken(c, "out of memory");
    free(s.w), free(s.b), free(s.x);
    json_decref(s.rows);
    return code;
}
