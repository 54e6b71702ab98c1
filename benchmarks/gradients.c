/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "gradients": what the gradient of a scalar program costs, in evaluations of its value, on five programs; and how long
 * transformations take. Gradients are compared with central differences along a direction before they are timed. */
#include "bench.h"
#include "gradients.h"
#include "kiln/kiln.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IN = 6, MOST = 16 };

typedef struct program {
    const char *name, *what;
    void (*trace)(kiln_trace *t);
    const char *wrt;  /* operands, as of the word grad */
    double scale[MOST_IN], shift[MOST_IN]; /* inputs: shift + scale sin(i) */
    double step, near; /* of the differences; of their agreement */
} program;

typedef struct side {
    kiln_prog *p;
    kiln_exec *f;
    void *buffers[MOST], *scratch;
    bool ok;
} side;

typedef struct job {
    bench *b;
    kiln_ctx *ctx;
    const program *p;
    side value, gradient;
} job;

static void fail(job *j, const char *what)
{
    char text[2048];
    kiln_diag_format(kiln_ctx_error(j->ctx), text, sizeof text);
    bench_fail(j->b, "%s: %s: %s", j->p->name, what, text);
}

static size_t bytes_of(kiln_type t) { return (size_t)kiln_type_size(t) * (size_t)kiln_dtype_bytes(t.dtype); }

static bool prepare(job *j, side *s, void *const *inputs)
{
    uint32_t n = kiln_prog_n_inputs(s->p), m = kiln_prog_n_outputs(s->p);
    if (kiln_compile(j->ctx, s->p, NULL, &s->f) != KILN_OK) {
        fail(j, "compile");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) s->buffers[i] = inputs[i];
    for (uint32_t i = 0; i < m; i++)
        if (!(s->buffers[n + i] = aligned_alloc(64, bytes_of(kiln_prog_output_type(s->p, i)) / 64 * 64 + 64))) return false;
    s->scratch = aligned_alloc(64, kiln_exec_scratch_bytes(s->f) / 64 * 64 + 64);
    s->ok = s->scratch != NULL;
    return s->ok;
}

static void finish(side *s)
{
    uint32_t n = s->p ? kiln_prog_n_inputs(s->p) : 0, m = s->p ? kiln_prog_n_outputs(s->p) : 0;
    for (uint32_t i = 0; i < m; i++) free(s->buffers[n + i]);
    free(s->scratch);
    kiln_exec_release(s->f);
    kiln_prog_release(s->p);
}

static void run(void *user, uint64_t n)
{
    side *s = user;
    for (uint64_t i = 0; i < n; i++) s->ok = kiln_exec_run(s->f, s->buffers, s->scratch, &(kiln_call){0}) == 0 && s->ok;
}

/* Adds h times the direction, in element i of operand k cos(k + i), to the operands of wrt. */
static void go(const job *j, void *const *inputs, double h)
{
    for (const char *s = j->p->wrt; *s; s += s[1] ? 2 : 1) {
        uint32_t k = (uint32_t)(*s - '0');
        for (int64_t i = 0; i < kiln_type_size(kiln_prog_input_type(j->value.p, k)); i++) ((double *)inputs[k])[i] += h * cos((double)k + (double)i);
    }
}

/* The gradient along the direction against differences of the value; all inputs are f64. */
static bool agrees(job *j, void *const *inputs)
{
    uint32_t n = kiln_prog_n_inputs(j->value.p), g = 0;
    double along = 0, at[2], size = 0;
    run(&j->gradient, 1);
    for (const char *s = j->p->wrt; *s; s += s[1] ? 2 : 1, g++) {
        uint32_t k = (uint32_t)(*s - '0');
        const double *d = j->gradient.buffers[n + g];
        for (int64_t i = 0; i < kiln_type_size(kiln_prog_input_type(j->value.p, k)); i++) {
            along += d[i] * cos((double)k + (double)i);
            size += fabs(d[i]);
        }
    }
    for (int q = 0; q < 2; q++) {
        double h = q ? -j->p->step : j->p->step;
        go(j, inputs, h);
        run(&j->value, 1);
        at[q] = *(double *)j->value.buffers[n];
        go(j, inputs, -h);
    }
    double slope = (at[0] - at[1]) / (2 * j->p->step), tolerance = j->p->near * size / (fabs(slope) + 1e-300);
    return bench_near(j->b, j->p->name, "gradient", &along, "differences", &slope, 1, tolerance);
}

static void measure(bench *b, const program *p)
{
    job j = {.b = b, .p = p};
    void *inputs[MOST_IN] = {NULL};
    kiln_trace *t;
    char word[64];
    if (kiln_ctx_create(NULL, &j.ctx) != KILN_OK || kiln_trace_begin(j.ctx, &t) != KILN_OK) {
        bench_fail(b, "out of memory");
        return;
    }
    p->trace(t);
    snprintf(word, sizeof word, "grad:%s", p->wrt);
    bool good = kiln_trace_finish(t, &j.value.p) == KILN_OK && kiln_prog_transform(j.ctx, j.value.p, word, NULL, 0, &j.gradient.p) == KILN_OK;
    if (!good) fail(&j, "trace");
    for (uint32_t k = 0; good && k < kiln_prog_n_inputs(j.value.p); k++) {
        kiln_type type = kiln_prog_input_type(j.value.p, k);
        good = (inputs[k] = aligned_alloc(64, bytes_of(type) / 64 * 64 + 64)) != NULL;
        for (int64_t i = 0; good && i < kiln_type_size(type); i++) ((double *)inputs[k])[i] = p->shift[k] + p->scale[k] * sin(1.7 * (double)i + (double)k);
    }
    good = good && prepare(&j, &j.value, inputs) && prepare(&j, &j.gradient, inputs) && agrees(&j, inputs);
    if (good) {
        char row[64];
        kiln_exec_info info;
        kiln_exec_info_get(j.gradient.f, &info);
        snprintf(row, sizeof row, "%s: gradient, value", p->name);
        bench_time(b, &(bench_pair){.row = row, .a = BENCH_LOOP("gradient", run, &j.gradient), .b = BENCH_LOOP("value", run, &j.value),
                                    .target = {BENCH_RATIO_AT_LEAST, 1 / 3.5}, .more = json_pack("{s:I}", "gradient_scratch_bytes", (json_int_t)info.scratch_bytes)}, NULL);
        if (!j.value.ok || !j.gradient.ok) bench_fail(b, "%s: a call failed", p->name);
    }
    for (int k = 0; k < MOST_IN; k++) free(inputs[k]);
    finish(&j.value);
    finish(&j.gradient);
    kiln_ctx_release(j.ctx);
}

static const program programs[] = {
    {"mlp", "three layers of 64, tanh, squares, a batch of 64", gradients_mlp, "1,2,3,4,5", {1, 0.2, 0.1, 0.2, 0.1, 0.3}, {0}, 1e-5, 1e-7},
    {"lbm", "20 steps of a lattice of 32 x 32, nine velocities", gradients_lbm, "0,1", {0.01, 0}, {0.11, 0.8}, 1e-6, 1e-7},
    {"leapfrog", "1000 steps of three bodies in a plane", gradients_leapfrog, "0,1,2", {1, 0.3, 0.1}, {0, 0, 1}, 1e-6, 1e-5},
    {"heat_rod", "1000 steps of a rod of 256, its conductivity a number", gradients_heat_rod, "0,1", {1, 0}, {2, 0.2}, 1e-5, 1e-7},
    {"lennard_jones", "64 particles in a periodic box, all pairs", gradients_lennard_jones, "0", {0.1}, {0}, 1e-6, 1e-6},
};
static void mlp(bench *b) { measure(b, &programs[0]); }
static void lbm(bench *b) { measure(b, &programs[1]); }
static void leapfrog(bench *b) { measure(b, &programs[2]); }
static void heat_rod(bench *b) { measure(b, &programs[3]); }
static void lennard_jones(bench *b) { measure(b, &programs[4]); }

/* ---- transformations themselves ---- */

typedef struct making {
    bench *b;
    kiln_ctx *ctx;
    kiln_prog *p;
    const char *word;
} making;

static bool transform_once(void *user, uint64_t n, kn_taken *t)
{
    making *m = user;
    for (uint64_t i = 0; i < n; i++) {
        kiln_prog *q;
        kn_taken begin = kn_taken_begin();
        if (kiln_prog_transform(m->ctx, m->p, m->word, NULL, 0, &q) != KILN_OK) {
            bench_fail(m->b, "%s: %s", m->word, kiln_ctx_error(m->ctx)->message);
            return false;
        }
        kn_taken one = kn_taken_end(begin);
        t->wall += one.wall, t->processor += one.processor;
        kiln_prog_release(q);
    }
    return true;
}

static void transforms(bench *b)
{
    static const char *const words[] = {"jvp", "grad:0", "vmap:0*8", "value_and_grad:0(checkpoint)"};
    static const int sizes[] = {1000, 100000};
    making m = {.b = b};
    if (kiln_ctx_create(NULL, &m.ctx) != KILN_OK) {
        bench_fail(b, "out of memory");
        return;
    }
    for (size_t s = 0; s < 2; s++) {
        kiln_trace *t;
        if (kiln_trace_begin(m.ctx, &t) != KILN_OK) break;
        gradients_chain(t, sizes[s]);
        if (kiln_trace_finish(t, &m.p) != KILN_OK) {
            bench_fail(b, "%s", kiln_ctx_error(m.ctx)->message);
            break;
        }
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            char row[96];
            m.word = words[w];
            snprintf(row, sizeof row, "%s of %d equations", words[w], sizes[s]);
            bench_time(b, &(bench_pair){.row = row, .a = {.name = "kiln", .sample = transform_once, .user = &m, .calls = 1},
                                        .target = {BENCH_TIME_AT_MOST, 5e-6 * sizes[s]}}, NULL);
        }
        kiln_prog_release(m.p);
    }
    kiln_ctx_release(m.ctx);
}

static const bench_case cases[] = {
    {"mlp", "layers and tanh", mlp},
    {"lbm", "a lattice, collisions and streaming", lbm},
    {"leapfrog", "three bodies", leapfrog},
    {"heat_rod", "a rod", heat_rod},
    {"lennard_jones", "pairs of particles", lennard_jones},
    {"transforms", "how long transformations take", transforms},
};

int main(int argc, char **argv) { return bench_main(argc, argv, "gradients", cases, sizeof cases / sizeof *cases); }
