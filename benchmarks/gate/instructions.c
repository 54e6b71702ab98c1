/* SPDX-License-Identifier: Apache-2.0 */
/* gate-instructions FOLDER INPUT...: runs programs and graphs, compiled for x86-64-v3 at level 2, in one thread. Under callgrind,
 * started with --instr-atstart=no, a dump named after the input holds the instructions of one call of a program, raw, or of STEPS steps
 * of a graph, alone. Code comes from the cache FOLDER once it is there: run it once without callgrind, which is quicker than to compile
 * under it. */
#include <kiln/kiln.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <valgrind/callgrind.h>
#pragma GCC diagnostic pop

enum { STEPS = 100 };

static void counting_begins(void) { CALLGRIND_START_INSTRUMENTATION; }
static void counting_ends(const char *name)
{
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}

/* Values by formula: floats in 0.25 .. 0.75, integers 0 .. 63, both kinds of bools. */
static void fill(kiln_array *a)
{
    kiln_type t = kiln_array_type(a);
    void *p = kiln_array_data(a);
    size_t n = kiln_array_bytes(a) / kiln_dtype_bytes(t.dtype);
    for (size_t i = 0; i < n; i++) {
        uint32_t k = (uint32_t)(i * 2654435761u) >> 16;
        double x = 0.25 + 0.5 * (k % 1009) / 1009;
        switch (t.dtype) {
        case KILN_F64: ((double *)p)[i] = x; break;
        case KILN_F32: ((float *)p)[i] = (float)x; break;
        case KILN_I64: ((int64_t *)p)[i] = k % 64; break;
        case KILN_I32: ((int32_t *)p)[i] = (int32_t)(k % 64); break;
        case KILN_BOOL: ((uint8_t *)p)[i] = k % 3 == 0; break;
        default: memset((char *)p + i * kiln_dtype_bytes(t.dtype), 0, kiln_dtype_bytes(t.dtype)); break;
        }
    }
}

static kiln_status arrays(kiln_ctx *ctx, const kiln_prog *p, kiln_array **a, void **buffers, uint32_t nin, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        kiln_status s = kiln_array_create(ctx, i < nin ? kiln_prog_input_type(p, i) : kiln_prog_output_type(p, i - nin), &a[i]);
        if (s != KILN_OK) return s;
        fill(a[i]);
        buffers[i] = kiln_array_data(a[i]);
    }
    return KILN_OK;
}

static kiln_status call(kiln_ctx *ctx, const kiln_prog *p, const kiln_exec *f, const char *name)
{
    enum { MOST = 64 };
    kiln_array *a[MOST] = {0};
    void *buffers[MOST], *scratch = NULL;
    uint32_t nin = kiln_prog_n_inputs(p), n = nin + kiln_prog_n_outputs(p);
    size_t bytes = (kiln_exec_scratch_bytes(f) + 127) / 64 * 64;
    kiln_status status = n <= MOST && (scratch = aligned_alloc(64, bytes)) ? arrays(ctx, p, a, buffers, nin, n) : KILN_NOMEM;
    for (int i = 0; i < 2 && status == KILN_OK; i++) { /* the second is counted: libraries bind their symbols in the first */
        if (i) counting_begins();
        int code = kiln_exec_run(f, buffers, scratch, NULL);
        if (i) counting_ends(name);
        if (code) status = KILN_INTERNAL;
    }
    for (uint32_t i = 0; i < n && i < MOST; i++) kiln_array_release(a[i]);
    free(scratch);
    return status;
}

static kiln_status program(kiln_ctx *ctx, const char *path)
{
    kiln_prog *p;
    kiln_exec *f = NULL;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_status status = kiln_prog_load(ctx, path, &p);
    if (status != KILN_OK) return status;
    status = kiln_compile(ctx, p, &o, &f);
    if (status == KILN_OK) status = call(ctx, p, f, path);
    kiln_exec_release(f);
    kiln_prog_release(p);
    return status;
}

static kiln_status steps(kiln_ctx *ctx, kiln_graph *g, int64_t n)
{
    kiln_graph_result *r = NULL;
    kiln_graph_run_opts o = KILN_GRAPH_RUN_OPTS_INIT;
    o.steps = o.chunk_steps = n;
    o.no_record = true;
    kiln_status status = kiln_graph_run(ctx, g, &o, &r);
    kiln_graph_result_release(r);
    return status;
}

/* From the same state, n steps and n + STEPS: their difference is what STEPS of them cost. */
static kiln_status graph(kiln_ctx *ctx, const char *path)
{
    enum { FEW = 10 };
    kiln_graph *g;
    char name[4096];
    kiln_status status = kiln_graph_load(ctx, path, NULL, &g);
    if (status != KILN_OK) return status;
    status = steps(ctx, g, FEW);
    for (int i = 0; i < 2 && status == KILN_OK; i++) {
        status = kiln_graph_reset(ctx, g);
        if (status != KILN_OK) break;
        snprintf(name, sizeof name, "%s%s", path, i ? "" : " begin");
        counting_begins();
        status = steps(ctx, g, FEW + i * STEPS);
        counting_ends(name);
    }
    kiln_graph_release(g);
    return status;
}

int main(int argc, char **argv)
{
    kiln_ctx *ctx;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.target = "x86-64-v3";
    o.tier = 2;
    o.tier_set = true;
    o.threads = 1;
    if (argc < 3) {
        fprintf(stderr, "usage: gate-instructions FOLDER INPUT...\n");
        return 2;
    }
    if (kiln_ctx_create(&o, &ctx) != KILN_OK) return 3;
    kiln_status status = kiln_cache_enable(ctx, argv[1]);
    for (int i = 2; i < argc && status == KILN_OK; i++) {
        const char *end = strrchr(argv[i], '.');
        status = (end && strcmp(end, ".yaml") == 0 ? graph : program)(ctx, argv[i]);
        if (status != KILN_OK) fprintf(stderr, "%s: %s\n", argv[i], kiln_ctx_error(ctx)->message);
    }
    kiln_ctx_release(ctx);
    return status == KILN_OK ? 0 : 1;
}
