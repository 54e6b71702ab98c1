/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of a network, max(0, w x + b), over a batch of samples: written out sample by sample, as a map, and as a vmap. The three
 * programs give the same bits; what differs is how they grow with the batch. See docs/batching.md.
 *
 *     feed_forward           counts equations and compares results for some batches
 *     feed_forward NAME 2    prints the program of one of them: loop, map, vmap */
#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUT = 32, IN = 64 };

static kiln_val layer(kiln_trace *t, kiln_val w, kiln_val b, kiln_val x)
{
    kiln_val y = kiln_dot(t, w, x, ((int64_t[]){1}), ((int64_t[]){0}), 1, NULL, NULL, 0);
    return kiln_max(t, kiln_add(t, y, b), kiln_num(t, 0));
}

typedef struct parameters {
    kiln_val w, b;
} parameters;

static parameters inputs(kiln_trace *t)
{
    parameters p = {kiln_input(t, "w", (kiln_type){KILN_F32, 2, (int64_t[]){OUT, IN}}), {0}};
    p.b = kiln_input(t, "b", KILN_VECTOR(KILN_F32, OUT));
    return p;
}

static kiln_val samples(kiln_trace *t, int64_t batch) { return kiln_input(t, "x", (kiln_type){KILN_F32, 2, (int64_t[]){batch, IN}}); }

/* The equations of the layer once for each sample. */
static kiln_status as_loop(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    kiln_val *rows = malloc((size_t)batch * sizeof *rows);
    if (status != KILN_OK || !rows) {
        free(rows);
        if (status == KILN_OK) kiln_trace_cancel(t);
        return status == KILN_OK ? KILN_NOMEM : status;
    }
    parameters p = inputs(t);
    kiln_val x = samples(t, batch);
    for (int64_t i = 0; i < batch; i++) {
        kiln_val row = kiln_slice(t, x, ((int64_t[]){i, 0}), ((int64_t[]){i + 1, IN}), NULL);
        kiln_val y = layer(t, p.w, p.b, kiln_reshape(t, row, 1, ((int64_t[]){IN})));
        rows[i] = kiln_broadcast(t, y, 2, ((int64_t[]){1, OUT}), ((int64_t[]){1}));
    }
    kiln_output(t, "y", kiln_concatenate(t, rows, (uint32_t)batch, 0));
    free(rows);
    return kiln_trace_finish(t, out);
}

static void one_sample(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y)
{
    const parameters *p = user;
    y[0] = layer(t, p->w, p->b, x[0]);
}

/* The equations of the layer once, in the body of a loop. */
static kiln_status as_map(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    parameters p = inputs(t);
    kiln_val x = samples(t, batch), y;
    kiln_map(t, one_sample, &p, &x, 1, 1, batch, &y);
    kiln_output(t, "y", y);
    return kiln_trace_finish(t, out);
}

/* The equations of the layer once, on all samples. */
static kiln_status as_vmap(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_prog *single;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    parameters p = inputs(t);
    kiln_output(t, "y", layer(t, p.w, p.b, kiln_input(t, "x", KILN_VECTOR(KILN_F32, IN))));
    if ((status = kiln_trace_finish(t, &single)) != KILN_OK) return status;
    status = kiln_prog_vmap(ctx, single, batch, (int[]){KILN_NO_AXIS, KILN_NO_AXIS, 0}, NULL, out);
    kiln_prog_release(single);
    return status;
}

static const struct {
    const char *name;
    kiln_status (*make)(kiln_ctx *ctx, int64_t batch, kiln_prog **out);
} ways[] = {{"loop", as_loop}, {"map", as_map}, {"vmap", as_vmap}};

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Compiles and runs; `y` receives the batch's results. */
static kiln_status run(kiln_ctx *ctx, const kiln_prog *p, const char *name, int64_t batch, float *w, float *b, float *x, float *y)
{
    kiln_exec *f;
    double start = seconds();
    kiln_status status = kiln_compile(ctx, p, NULL, &f);
    if (status != KILN_OK) return status;
    double compiled = seconds() - start;
    size_t bytes = (kiln_exec_scratch_bytes(f) + 64) / 64 * 64;
    void *scratch = aligned_alloc(64, bytes), *buffers[] = {w, b, x, y};
    int calls = 0, failed = scratch == NULL;
    for (start = seconds(); !failed && calls < 100; calls++) failed = kiln_exec_run(f, buffers, scratch, NULL);
    printf("time: %-5s batch %4lld: compiled in %.1f ms, a call takes %.1f us\n", name, (long long)batch, 1e3 * compiled,
           1e6 * (seconds() - start) / 100);
    free(scratch);
    kiln_exec_release(f);
    return failed ? KILN_INTERNAL : KILN_OK;
}

static float *numbers(size_t n, unsigned seed)
{
    float *v = aligned_alloc(64, (n * sizeof *v + 63) / 64 * 64);
    for (size_t i = 0; v && i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
    return v;
}

static kiln_status study(kiln_ctx *ctx)
{
    static const int64_t batches[] = {1, 2, 64, 1024};
    enum { MOST = 1024, LOOP_COMPILED = 64 };
    float *w = numbers(OUT * IN, 1), *b = numbers(OUT, 2), *x = numbers(MOST * IN, 3), *y[3] = {NULL};
    kiln_status status = w && b && x ? KILN_OK : KILN_NOMEM;
    for (int k = 0; k < 3; k++)
        if (!(y[k] = numbers(MOST * OUT, 4))) status = KILN_NOMEM;
    for (size_t i = 0; i < 4 && status == KILN_OK; i++) {
        printf("batch %4lld:", (long long)batches[i]);
        kiln_prog *p[3] = {NULL};
        for (int k = 0; k < 3 && status == KILN_OK; k++)
            if ((status = ways[k].make(ctx, batches[i], &p[k])) == KILN_OK) printf(" %s %llu", ways[k].name, (unsigned long long)kiln_prog_n_equations(p[k]));
        printf(" equations\n");
        int first = batches[i] > LOOP_COMPILED; /* a loop of many samples takes long to compile */
        for (int k = first; k < 3 && status == KILN_OK; k++) status = run(ctx, p[k], ways[k].name, batches[i], w, b, x, y[k]);
        size_t bytes = (size_t)batches[i] * OUT * sizeof *y[0];
        bool same = memcmp(y[1], y[2], bytes) == 0 && (first || memcmp(y[0], y[1], bytes) == 0);
        if (status == KILN_OK) printf("  %s%s\n", first ? "map and vmap: " : "", same ? "the same bits" : "results differ");
        for (int k = 0; k < 3; k++) kiln_prog_release(p[k]);
    }
    for (int k = 0; k < 3; k++) free(y[k]);
    free(w), free(b), free(x);
    return status;
}

static kiln_status print(kiln_ctx *ctx, const char *name, int64_t batch)
{
    kiln_prog *p = NULL;
    char *text;
    size_t n;
    for (int k = 0; k < 3; k++)
        if (strcmp(ways[k].name, name) == 0) {
            kiln_status status = ways[k].make(ctx, batch, &p);
            if (status != KILN_OK) return status;
        }
    if (!p) {
        fprintf(stderr, "feed_forward: '%s' is none of loop, map, vmap\n", name);
        return KILN_OK;
    }
    kiln_status status = kiln_prog_print(ctx, p, 80, &text, &n);
    if (status == KILN_OK) {
        fputs(text, stdout);
        kiln_text_free(ctx, text, n);
    }
    kiln_prog_release(p);
    return status;
}

int main(int argc, char **argv)
{
    kiln_ctx *ctx = NULL;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = argc == 3 ? print(ctx, argv[1], atoll(argv[2])) : study(ctx);
    if (status != KILN_OK) {
        char text[1024];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
