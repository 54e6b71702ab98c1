/* SPDX-License-Identifier: Apache-2.0 */
/* The suite "micro": the small programs of programs/, each against hand-written C to the same bits, and against JAX. */
#include "bench.h"
#include "kiln/kiln.h"
#include "limits/micro.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 6, MOST_VALUES = 1000 };

/* Of the flat index i: sin is p + sin(q i), mod is (p i) mod q, const is p. */
typedef struct filling {
    const char *kind;
    double p, q;
} filling;

typedef struct program {
    const char *name, *what;
    void (*limit)(void *const *buffers);
    filling in[4];
    double near; /* of JAX's values, which round differently: a share of the largest */
} program;

typedef struct micro {
    bench *b;
    const program *p;
    kiln_ctx *ctx;
    kiln_prog *prog;
    kiln_exec *f;
    uint32_t nin, nout;
    void *mine[MOST_BUFFERS], *theirs[MOST_BUFFERS], *scratch;
    size_t bytes[MOST_BUFFERS];
    bench_peer *peer;
    bool ok;
} micro;

static void fail(micro *s, const char *what)
{
    char text[2048];
    kiln_diag_format(kiln_ctx_error(s->ctx), text, sizeof text);
    bench_fail(s->b, "%s: %s", what, text);
}

/* ---- inputs ---- */

static double fill_value(const filling *f, size_t i)
{
    if (strcmp(f->kind, "sin") == 0) return f->p + sin(f->q * (double)i);
    if (strcmp(f->kind, "mod") == 0) return fmod(f->p * (double)i, f->q);
    return f->p;
}

static void fill(const filling *f, kiln_type t, void *to)
{
    size_t n = (size_t)kiln_type_size(t);
    for (size_t i = 0; i < n; i++) {
        double v = fill_value(f, i);
        if (t.dtype == KILN_F32) ((float *)to)[i] = (float)v;
        else if (t.dtype == KILN_F64) ((double *)to)[i] = v;
        else ((int32_t *)to)[i] = (int32_t)v;
    }
}

static kiln_type type_of(const micro *s, uint32_t k)
{
    return k < s->nin ? kiln_prog_input_type(s->prog, k) : kiln_prog_output_type(s->prog, k - s->nin);
}

static bool make_buffers(micro *s)
{
    for (uint32_t k = 0; k < s->nin + s->nout; k++) {
        kiln_type t = type_of(s, k);
        s->bytes[k] = (size_t)kiln_type_size(t) * (size_t)kiln_dtype_bytes(t.dtype);
        size_t room = (s->bytes[k] + 63) / 64 * 64;
        if (!(s->mine[k] = aligned_alloc(64, room))) return false;
        if (k < s->nin) fill(&s->p->in[k], t, s->mine[k]);
        else memset(s->mine[k], 1, room);
        if (k < s->nin) s->theirs[k] = s->mine[k];
        else if (!(s->theirs[k] = aligned_alloc(64, room))) return false;
        else memset(s->theirs[k], 2, room);
    }
    s->scratch = aligned_alloc(64, kiln_exec_scratch_bytes(s->f) / 64 * 64 + 64);
    return s->scratch != NULL;
}

/* ---- both sides ---- */

static void run_kiln(void *user, uint64_t n)
{
    micro *s = user;
    for (uint64_t i = 0; i < n; i++) s->ok = kiln_exec_run(s->f, s->mine, s->scratch, &(kiln_call){0}) == 0 && s->ok;
}

static void run_limit(void *user, uint64_t n)
{
    micro *s = user;
    void (*volatile limit)(void *const *) = s->p->limit; /* through a pointer, as the other side */
    for (uint64_t i = 0; i < n; i++) limit(s->theirs);
}

static bool compile_once(void *user, uint64_t n, kn_taken *t)
{
    micro *s = user;
    for (uint64_t i = 0; i < n; i++) {
        kiln_exec *f;
        kn_taken begin = kn_taken_begin();
        if (kiln_compile(s->ctx, s->prog, NULL, &f) != KILN_OK) {
            fail(s, "compile");
            return false;
        }
        kn_taken one = kn_taken_end(begin);
        t->wall += one.wall, t->processor += one.processor;
        kiln_exec_release(f);
    }
    return true;
}

/* ---- JAX ---- */

static json_t *ask(micro *s, const char *what, uint64_t calls)
{
    char why[512];
    json_t *inputs = json_array();
    for (uint32_t k = 0; k < s->nin; k++) {
        kiln_type t = type_of(s, k);
        json_t *shape = json_array();
        for (uint32_t d = 0; d < t.rank; d++) json_array_append_new(shape, json_integer(t.dims[d]));
        const char *dtype = t.dtype == KILN_F32 ? "float32" : t.dtype == KILN_F64 ? "float64" : "int32";
        json_array_append_new(inputs, json_pack("[s, f, f, s, o]", s->p->in[k].kind, s->p->in[k].p, s->p->in[k].q, dtype, shape));
    }
    json_t *answer = bench_peer_ask(s->peer,
                                    json_pack("{s:s, s:s, s:o, s:i, s:I}", "do", what, "program", s->p->name, "inputs", inputs, "most",
                                              MOST_VALUES, "calls", (json_int_t)calls),
                                    why, sizeof why);
    if (!answer) bench_fail(s->b, "JAX, %s of %s: %s", what, s->p->name, why);
    return answer;
}

static bool run_jax(void *user, uint64_t n, kn_taken *t)
{
    json_t *answer = ask(user, "time", n);
    t->wall += json_number_value(json_object_get(answer, "seconds"));
    t->processor += json_number_value(json_object_get(answer, "processor_seconds"));
    json_decref(answer);
    return answer != NULL;
}

static double number_at(kiln_type t, const void *v, size_t i)
{
    return t.dtype == KILN_F32 ? (double)((const float *)v)[i] : t.dtype == KILN_F64 ? ((const double *)v)[i] : ((const int32_t *)v)[i];
}

static bool jax_agrees(micro *s)
{
    static double a[MOST_VALUES], v[MOST_VALUES];
    json_t *answer = ask(s, "values", 1), *list = json_object_get(answer, "values");
    kiln_type t = type_of(s, s->nin);
    size_t n = (size_t)kiln_type_size(t), step = n > MOST_VALUES ? n / MOST_VALUES : 1, count = n > MOST_VALUES ? MOST_VALUES : n;
    bool near = answer && json_array_size(list) == count;
    if (answer && !near) bench_fail(s->b, "JAX gave %zu values, %zu expected", json_array_size(list), count);
    for (size_t i = 0; near && i < count; i++) {
        a[i] = number_at(t, s->mine[s->nin], i * step);
        v[i] = json_number_value(json_array_get(list, i));
    }
    near = near && bench_near(s->b, s->p->name, "kiln", a, "JAX", v, count, s->p->near);
    json_decref(answer);
    return near;
}

/* ---- one program ---- */

static void time_all(micro *s)
{
    char row[128];
    kn_side mine = BENCH_LOOP("kiln", run_kiln, s);
    bench_time(s->b,
               &(bench_pair){.row = s->p->what,
                             .a = mine,
                             .b = BENCH_LOOP("C", run_limit, s),
                             .seconds = 0.6,
                             .group = "against C",
                             .target = {BENCH_RATIO_AT_LEAST, 0.85}},
               NULL);
    snprintf(row, sizeof row, "compile of %s", s->p->name);
    bench_time(s->b,
               &(bench_pair){.row = row,
                             .a = {.name = "kiln", .sample = compile_once, .user = s, .calls = 1},
                             .unit = "compile",
                             .seconds = 0.2},
               NULL);
    snprintf(row, sizeof row, "%s, against JAX", s->p->what);
    json_t *hello = bench_peer_python(s->b, "jax_cpu.py", row, &s->peer);
    if (hello && jax_agrees(s))
        bench_time(s->b,
                   &(bench_pair){.row = row,
                                 .a = mine,
                                 .b = {.name = "JAX", .sample = run_jax, .user = s},
                                 .seconds = 0.6,
                                 .group = "against JAX",
                                 .target = {BENCH_RATIO_AT_LEAST, 1},
                                 .more = json_incref(hello)},
                   NULL);
    json_decref(hello);
    bench_peer_stop(s->peer);
    if (!s->ok) bench_fail(s->b, "a call returned a failure");
}

static bool same_as_limit(micro *s)
{
    run_kiln(s, 1);
    run_limit(s, 1);
    for (uint32_t k = s->nin; k < s->nin + s->nout; k++) {
        size_t size = (size_t)kiln_dtype_bytes(type_of(s, k).dtype);
        if (!bench_same_bits(s->b, s->p->name, "kiln", s->mine[k], "C", s->theirs[k], s->bytes[k], size)) return false;
    }
    return s->ok;
}

static void run_program(bench *b, const program *p)
{
    micro s = {.b = b, .p = p, .ok = true};
    kiln_compile_opts opts = KILN_COMPILE_OPTS_INIT;
    char path[4096];
    opts.tier = 2; /* what is called again and again; the compile of a row of its own is as a caller gets it who asks for nothing */
    snprintf(path, sizeof path, "%s/programs/%s.jaxpr", bench_folder(b), p->name);
    if (kiln_ctx_create(NULL, &s.ctx) != KILN_OK) bench_fail(b, "no context");
    else if (kiln_prog_load(s.ctx, path, &s.prog) != KILN_OK || kiln_compile(s.ctx, s.prog, &opts, &s.f) != KILN_OK) fail(&s, p->name);
    else {
        s.nin = kiln_prog_n_inputs(s.prog);
        s.nout = kiln_prog_n_outputs(s.prog);
        if (s.nin + s.nout > MOST_BUFFERS) bench_fail(b, "%s: more than %d inputs and outputs", p->name, MOST_BUFFERS);
        else if (!make_buffers(&s)) bench_fail(b, "no memory");
        else if (same_as_limit(&s)) time_all(&s);
    }
    free(s.scratch);
    for (uint32_t k = 0; k < MOST_BUFFERS; k++) { /* inputs are those of both sides */
        if (k >= s.nin) free(s.theirs[k]);
        free(s.mine[k]);
    }
    kiln_exec_release(s.f);
    kiln_prog_release(s.prog);
    kiln_ctx_release(s.ctx);
}

/* name, what the table calls it, inputs, tolerance of JAX's values */
#define SIN(p, q) {"sin", p, q}
#define MOD(p, q) {"mod", p, q}
#define CONST(p) {"const", p, 0}
#define IN(...) {__VA_ARGS__}
#define PROGRAMS(X) \
    X(while_max_i32, limit_while_max_i32, "while: maximum of 2^22 i32", IN(MOD(7919, 1048573)), 0) \
    X(while_max_f32, limit_while_max_f32, "while: maximum of 2^22 f32", IN(SIN(0, 0.01)), 0) \
    X(fori_at_set, limit_fori_at_set, "while: 20000 updates in place", IN(CONST(1)), 1e-6) \
    X(scan_matmul3, limit_scan_matmul3, "scan: 10^4 products of 3x3 f64", IN(CONST(1.0 / 3), SIN(0.3, 1)), 1e-9) \
    X(scatter_add, limit_scatter_add, "10^6 scatter-adds into 1000", IN(MOD(7919, 1000), SIN(0.5, 0.1)), 1e-5) \
    X(segment_sum, limit_segment_sum, "segment sums of 2*10^5 rows of 8", IN(MOD(7919, 1000), SIN(0.5, 0.1)), 1e-5) \
    X(sin_exp, limit_sin_exp_1e6, "sin(x) exp(-x) of 10^6 f32", IN(SIN(0, 0.001)), 1e-6) \
    X(softmax, limit_softmax, "softmax of 4096 rows of 512", IN(SIN(0, 0.7)), 1e-5) \
    X(layernorm, limit_layernorm, "layer norm of 4096 rows of 512", IN(SIN(0.1, 0.7), SIN(1, 0.3), SIN(0, 0.2)), 1e-5) \
    X(matmul_8, limit_matmul_8, "product of 8x8 f32", IN(SIN(0, 0.7), SIN(0, 0.3)), 1e-5) \
    X(matmul_32, limit_matmul_32, "product of 32x32 f32", IN(SIN(0, 0.7), SIN(0, 0.3)), 1e-5) \
    X(matmul_64, limit_matmul_64, "product of 64x64 f32", IN(SIN(0, 0.7), SIN(0, 0.3)), 1e-5) \
    X(matmul_512, limit_matmul_512, "product of 512x512 f32", IN(SIN(0, 0.7), SIN(0, 0.3)), 1e-5) \
    X(sum, limit_sum, "sum of 10^7 f32", IN(SIN(0.25, 0.001)), 1e-5) \
    X(heat_rod, limit_heat_rod, "heat rod of 64 f64, 10^5 steps", IN(SIN(2, 0.2), CONST(0.2), CONST(1), CONST(3)), 1e-9)

#define CASE(name_, limit_, what_, in_, near_) \
    static void run_##name_(bench *b) \
    { \
        static const program p = {#name_, what_, limit_, in_, near_}; \
        run_program(b, &p); \
    }
PROGRAMS(CASE)
#define ENTRY(name_, limit_, what_, in_, near_) {#name_, what_, run_##name_},
static const bench_case cases[] = {PROGRAMS(ENTRY)};

int main(int argc, char **argv) { return bench_main(argc, argv, "micro", cases, sizeof cases / sizeof *cases); }
