/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "products": square products of f32 beside OpenBLAS, called in the same process with the same number of threads. The library is
 * the one that the peers' NumPy brings, which chooses its kernel for the processor at hand; its rounding differs from ours. */
#include "bench.h"
#include "kiln/kiln.h"

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NOT_TURNED = 111 }; /* CBLAS */

typedef void sgemm_fn(int order, int turn_a, int turn_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                      int64_t ldb, float beta, float *c, int64_t ldc);
typedef void set_threads_fn(int threads);
typedef char *corename_fn(void);

typedef struct library {
    void *handle;
    sgemm_fn *sgemm;
    char kernel[32];
} library;

typedef struct product {
    bench *b;
    int64_t n;
    kiln_ctx *ctx;
    kiln_exec *f;
    void *mine[3], *scratch; /* a, b, their product */
    float *theirs;
    library blas;
    bool ok;
} product;

/* A function of the library; pointers to functions and to data are of one size where there is dlsym. */
static void symbol(void *handle, const char *name, void *to, size_t bytes)
{
    void *p = dlsym(handle, name);
    memcpy(to, &p, bytes);
}

/* The path of the Python is <environment>/bin/python. */
static bool open_library(product *s, const char *row)
{
    char python[4096], pattern[4096];
    glob_t found;
    if (!bench_python(s->b, row, python)) return false;
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 1); /* its threads look for work for 2^16 cycles, not 2^26: they would have the processors of our samples */
    snprintf(pattern, sizeof pattern, "%.*s/lib/python3*/site-packages/numpy.libs/libscipy_openblas64_*.so",
             (int)(strlen(python) - strlen("/bin/python")), python);
    if (glob(pattern, 0, NULL, &found) == 0) s->blas.handle = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    set_threads_fn *set_threads = NULL;
    corename_fn *corename = NULL;
    if (s->blas.handle) {
        symbol(s->blas.handle, "scipy_cblas_sgemm64_", &s->blas.sgemm, sizeof s->blas.sgemm);
        symbol(s->blas.handle, "scipy_openblas_set_num_threads64_", &set_threads, sizeof set_threads);
        symbol(s->blas.handle, "scipy_openblas_get_corename64_", &corename, sizeof corename);
    }
    if (!s->blas.sgemm || !set_threads || !corename) {
        bench_skip(s->b, row, "no OpenBLAS at %s", pattern);
        return false;
    }
    set_threads(bench_threads(s->b));
    snprintf(s->blas.kernel, sizeof s->blas.kernel, "%s", corename());
    return true;
}

static void run_kiln(void *user, uint64_t calls)
{
    product *s = user;
    for (uint64_t i = 0; i < calls; i++) s->ok = kiln_exec_run(s->f, s->mine, s->scratch, &(kiln_call){0}) == 0 && s->ok;
}

static void run_blas(void *user, uint64_t calls)
{
    product *s = user;
    int64_t n = s->n;
    for (uint64_t i = 0; i < calls; i++)
        s->blas.sgemm(ROW_MAJOR, NOT_TURNED, NOT_TURNED, n, n, n, 1, s->mine[0], n, s->mine[1], n, 0, s->theirs, n);
}

static bool compile(product *s)
{
    kiln_compile_opts opts = KILN_COMPILE_OPTS_INIT;
    kiln_trace *t;
    kiln_prog *p = NULL;
    kiln_type square = {KILN_F32, 2, (const int64_t[]){s->n, s->n}};
    opts.tier = 2;
    kiln_status status = kiln_trace_begin(s->ctx, &t);
    if (status == KILN_OK) {
        kiln_val a = kiln_input(t, "a", square), b = kiln_input(t, "b", square);
        kiln_output(t, "c", kiln_dot(t, a, b, (const int64_t[]){1}, (const int64_t[]){0}, 1, NULL, NULL, 0));
        status = kiln_trace_finish(t, &p);
    }
    if (status == KILN_OK) status = kiln_compile(s->ctx, p, &opts, &s->f);
    kiln_prog_release(p);
    if (status == KILN_OK) return true;
    char text[1024];
    kiln_diag_format(kiln_ctx_error(s->ctx), text, sizeof text);
    bench_fail(s->b, "%s", text);
    return false;
}

static bool make_buffers(product *s)
{
    size_t count = (size_t)(s->n * s->n), bytes = (count * sizeof(float) + 63) / 64 * 64;
    for (int k = 0; k < 3; k++) {
        if (!(s->mine[k] = aligned_alloc(64, bytes))) return false;
        for (size_t i = 0; i < count; i++) ((float *)s->mine[k])[i] = (float)sin(0.3 * (double)(k + 1) * (double)i);
    }
    s->theirs = aligned_alloc(64, bytes);
    s->scratch = aligned_alloc(64, kiln_exec_scratch_bytes(s->f) / 64 * 64 + 64);
    return s->theirs && s->scratch;
}

static bool agree(product *s)
{
    size_t count = (size_t)(s->n * s->n);
    double *v = calloc(2 * count, sizeof *v);
    if (!v) return false;
    run_kiln(s, 1);
    run_blas(s, 1);
    for (size_t i = 0; i < count; i++) v[i] = (double)((float *)s->mine[2])[i], v[count + i] = (double)s->theirs[i];
    bool near = bench_near(s->b, "product", "kiln", v, "OpenBLAS", v + count, count, 1e-5);
    free(v);
    return near && s->ok;
}

static void time_product(product *s, const char *row)
{
    bench_result r;
    if (bench_time(s->b,
                   &(bench_pair){.row = row,
                                 .note = s->blas.kernel,
                                 .a = BENCH_LOOP("kiln", run_kiln, s),
                                 .b = BENCH_LOOP("OpenBLAS", run_blas, s),
                                 .group = "against OpenBLAS",
                                 .target = {BENCH_RATIO_AT_LEAST, s->n < 256 ? 0.9 : 0.95}},
                   &r) &&
        !s->ok)
        bench_fail(s->b, "a call returned a failure");
}

static void square(bench *b, int64_t n)
{
    char row[64];
    product s = {.b = b, .n = n, .ok = true};
    snprintf(row, sizeof row, "product of %dx%d f32, against OpenBLAS", (int)n, (int)n);
    if (!open_library(&s, row)) return;
    if (kiln_ctx_create(NULL, &s.ctx) != KILN_OK) bench_fail(b, "no context");
    else if (compile(&s)) {
        if (!make_buffers(&s)) bench_fail(b, "no memory");
        else if (agree(&s)) time_product(&s, row);
    }
    for (int k = 0; k < 3; k++) free(s.mine[k]);
    free(s.theirs);
    free(s.scratch);
    kiln_exec_release(s.f);
    kiln_ctx_release(s.ctx);
}

#define SIZES(X) X(8) X(32) X(64) X(128) X(256) X(512) X(768) X(1024)
#define CASE(n) \
    static void of_##n(bench *b) { square(b, n); }
SIZES(CASE)
#define ENTRY(n) {"f32-" #n, "product of two matrices of " #n "x" #n " f32", of_##n},
static const bench_case cases[] = {SIZES(ENTRY)};

int main(int argc, char **argv) { return bench_main(argc, argv, "products", cases, sizeof cases / sizeof *cases); }
