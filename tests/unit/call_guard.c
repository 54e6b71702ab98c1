/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers against guard pages on both sides, aligned to one element and no more, inputs read-only: code touches its arrays inside
 * their bounds only and writes every element of every output. Every primitive's samples and the shapes of simulations (element by
 * element, stencil, reduction, update, loop), at every vector width, on both tiers, sizes 0 and 1 included. */
#define _DEFAULT_SOURCE /* mmap of memory without a file */
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "samples.h"
#include "same.h"

#include "guarded.h"

#include <setjmp.h>
#include <signal.h>

enum { MOST = KN_SAMPLE_INPUTS + SAMPLE_OUT };

static sigjmp_buf outside;
static void *volatile fault_at;
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    fault_at = info->si_addr;
    siglongjmp(outside, 1);
}

static size_t element(kiln_dtype d) { return kiln_dtype_bytes(d) ? kiln_dtype_bytes(d) : 1; }

typedef struct setting {
    unsigned bits;
    int tier, registers;
    bool at_end;
} setting;

/* Where the fault was, in words. */
static void place_of(const guarded *g, uint32_t nin, uint32_t n, char *out, size_t size)
{
    for (uint32_t i = 0; i <= n; i++) {
        char *p = fault_at;
        if (p < g[i].base || p >= g[i].base + g[i].mapped) continue;
        const char *what = i == n ? "scratch" : i < nin ? "input" : "output";
        snprintf(out, size, "a fault at byte %td of %zu of %s %u", p - g[i].data, g[i].bytes, what, i < nin || i == n ? i : i - nin);
        return;
    }
    snprintf(out, size, "a fault at %p", fault_at);
}

static void check(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, kiln_array *const *want, const setting *s, char *why, size_t why_size)
{
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p), n = nin + nout;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f;
    guarded g[MOST + 1];
    void *buffers[MOST];
    why[0] = 0;
    o.vector_bits = s->bits;
    o.tier = s->tier;
    o.register_elements = s->registers;
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    for (uint32_t i = 0; i < n; i++) {
        kiln_type t = i < nin ? kiln_prog_input_type(p, i) : kiln_prog_output_type(p, i - nin);
        size_t bytes = (size_t)kiln_type_size(t) * kiln_dtype_bytes(t.dtype);
        g[i] = guarded_new(bytes, s->at_end, element(t.dtype));
        if (i < nin) memcpy(g[i].data, in[i]->data, bytes), guarded_read_only(&g[i]);
        else memset(g[i].data, 0xa5, bytes);
        buffers[i] = g[i].data;
    }
    size_t scratch = kiln_exec_scratch_bytes(f);
    g[n] = guarded_new(scratch, s->at_end, 64);
    if (scratch) memset(g[n].data, 0xff, scratch);
    if (sigsetjmp(outside, 1)) {
        place_of(g, nin, n, why, why_size);
    } else {
        int status = kiln_exec_run(f, buffers, scratch ? g[n].data : NULL, NULL);
        if (status) snprintf(why, why_size, "status %d", status);
    }
    for (uint32_t i = 0; i < nout && !why[0]; i++) {
        kiln_array a = *want[i];
        int64_t at;
        a.data = g[nin + i].data;
        if (!same_array(&a, want[i], &at)) snprintf(why, why_size, "output %u differs at element %lld", i, (long long)at);
    }
    for (uint32_t i = 0; i <= n; i++) guarded_free(&g[i]);
    kiln_exec_release(f);
}

static const setting settings[] = {
    {512, 0, 16, true}, {512, 2, 0, false}, {256, 2, 16, true}, {256, 0, 0, false}, {128, 0, 0, true}, {128, 2, 16, false}, {64, 2, 0, true}, {64, 0, 16, false},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* Settings first, first + step, ... */
static void check_program(kiln_ctx *ctx, const char *name, const kiln_prog *p, kiln_array *const *in, size_t first, size_t step)
{
    kiln_array *want[SAMPLE_OUT];
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (size_t k = first % N_SETTINGS; k < N_SETTINGS; k += step) {
        char why[200], *text;
        size_t n;
        check(ctx, p, in, want, &settings[k], why, sizeof why);
        if (!why[0]) continue;
        const setting *s = &settings[k];
        if (kiln_prog_print(ctx, p, 100, &text, &n) == KILN_OK) print_error("%s", text), kiln_text_free(ctx, text, n);
        fail_msg("%s, %u-bit vectors, tier %d, registers %d, %s: %s", name, s->bits, s->tier, s->registers,
                 s->at_end ? "guard behind" : "guard before", why);
    }
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) kiln_array_release(want[i]);
}

static void every_primitive(void **state)
{
    static const int64_t lengths[] = {0, 1, 3, 7, 17, 33};
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            sample s;
            if (!sample_make(*state, prims[i], 500 + k, lengths[k], &s)) continue;
            check_program(*state, prims[i]->name, s.p, s.in, i + k, 4);
            sample_free(&s);
        }
}

/* ---- shapes of simulations ---- */

enum kind { ELEMENTWISE, STENCIL, REDUCE, UPDATE, LOOP, N_KINDS };
static const char *const kind_names[] = {"element by element", "stencil", "reduction", "update", "loop"};

static kiln_val stencil(kiln_trace *t, kiln_val u, int64_t n)
{
    if (n < 3) return u;
    kiln_val lo = kiln_slice(t, u, (int64_t[]){0}, (int64_t[]){n - 2}, NULL), hi = kiln_slice(t, u, (int64_t[]){2}, (int64_t[]){n}, NULL);
    kiln_val mid = kiln_slice(t, u, (int64_t[]){1}, (int64_t[]){n - 1}, NULL);
    kiln_val d = kiln_add(t, mid, kiln_mul(t, kiln_num(t, 0.25), kiln_sub(t, kiln_add(t, lo, hi), kiln_mul(t, kiln_num(t, 2), mid))));
    kiln_val first = kiln_slice(t, u, (int64_t[]){0}, (int64_t[]){1}, NULL), last = kiln_slice(t, u, (int64_t[]){n - 1}, (int64_t[]){n}, NULL);
    return kiln_concatenate(t, ((kiln_val[]){first, d, last}), 3, 0);
}

typedef struct loop_user {
    kiln_val steps;
    int64_t n;
} loop_user;
static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], ((loop_user *)user)->steps); }
static void step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    loop_user *u = user;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I32, 1));
    next[1] = stencil(t, carry[1], u->n);
    kiln_val sum = kiln_reshape(t, kiln_sum_all(t, carry[1]), 1, ((int64_t[]){1}));
    next[2] = kiln_dynamic_update_slice(t, carry[2], sum, &carry[0]);
}

static kiln_prog *program(kiln_ctx *ctx, enum kind kind, kiln_dtype d, int64_t n)
{
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(d, n)), y = kiln_input(t, "y", KILN_VECTOR(d, n)), at = kiln_input(t, "at", KILN_SCALAR(KILN_I32));
    kiln_val out[3];
    loop_user u = {at, n};
    switch (kind) {
    case ELEMENTWISE: kiln_output(t, "z", kiln_add(t, kiln_sin(t, x), kiln_mul(t, y, kiln_num(t, 0.5)))); break;
    case STENCIL: kiln_output(t, "z", stencil(t, kiln_add(t, x, y), n)); break;
    case REDUCE:
        kiln_output(t, "s", kiln_sum_all(t, kiln_mul(t, x, y)));
        kiln_output(t, "m", kiln_max_all(t, x));
        break;
    case UPDATE: {
        int64_t m = n / 2;
        kiln_val part = kiln_slice(t, y, (int64_t[]){0}, (int64_t[]){m}, NULL);
        kiln_output(t, "z", kiln_dynamic_update_slice(t, x, part, &at));
        kiln_output(t, "w", kiln_dynamic_slice(t, y, &at, (int64_t[]){m}));
        break;
    }
    default:
        kiln_while(t, below, step, &u, ((kiln_val[]){kiln_int(t, KILN_I32, 0), x, y}), 3, out);
        kiln_output(t, "x", out[1]);
        kiln_output(t, "y", out[2]);
    }
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

static void simulations(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 17, 31, 64, 65, 1025};
    kiln_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int wide = 0; wide < 2; wide++) {
                kiln_prog *p = program(ctx, (enum kind)kind, wide ? KILN_F64 : KILN_F32, sizes[k]);
                kiln_array *in[3];
                for (uint32_t i = 0; i < 3; i++) assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
                for (int64_t i = 0; i < 2 * sizes[k]; i++)
                    kn_scalar_store(in[0]->type.dtype, in[i % 2]->data, i / 2, (kn_scalar){.f = (double)((i * 37) % 101) / 97 - 0.4});
                *(int32_t *)in[2]->data = 5;
                check_program(ctx, kind_names[kind], p, in, (size_t)(kind + wide) + k, 2);
                for (uint32_t i = 0; i < 3; i++) kiln_array_release(in[i]);
                kiln_prog_release(p);
            }
}

/* Constants of a program are data of the caller's too. */
static void call_with_constant(kiln_ctx *ctx, kiln_array *c, int64_t n)
{
    kiln_array *in, *want, *got;
    kiln_trace *t;
    kiln_prog *p;
    kiln_exec *f;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_output(t, "y", kiln_mul(t, kiln_const(t, c), kiln_input(t, "x", KILN_VECTOR(KILN_F32, n))));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F32, n), &in));
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, &want));
    assert_ok(ctx, kiln_exec_call(ctx, f, &in, &got));
    assert_true(same_array(got, want, NULL));
    kiln_array *all[] = {c, in, want, got};
    for (int i = 0; i < 4; i++) kiln_array_release(all[i]);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

static void constants(void **state)
{
    static guarded g;
    if (sigsetjmp(outside, 1)) fail_msg("a fault at byte %td of a constant of %zu bytes", (char *)fault_at - g.data, g.bytes);
    for (int64_t n = 1; n < 40; n += 5) {
        kiln_array *c;
        g = guarded_new((size_t)n * 4, n % 2, 4);
        for (int64_t i = 0; i < n; i++) ((float *)(void *)g.data)[i] = (float)i;
        guarded_read_only(&g);
        assert_ok(*state, kiln_array_wrap(*state, KILN_VECTOR(KILN_F32, n), g.data, NULL, NULL, &c));
        call_with_constant(*state, c, n);
        guarded_free(&g);
    }
}

static int catch_faults(void **state)
{
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSEGV, &a, NULL) || sigaction(SIGBUS, &a, NULL) || test_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_primitive), cmocka_unit_test(simulations), cmocka_unit_test(constants)};
    return cmocka_run_group_tests(tests, catch_faults, test_teardown);
}
