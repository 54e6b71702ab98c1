/* SPDX-License-Identifier: Apache-2.0 */
/* The tracing front end: values, numbers, captures, control flow, and one clear error for every misuse. */
#include "testing.h"

#include "ir/prim.h"
#include "kiln/expr.h"
#include "kiln/kiln.h"

#include <math.h>

static const int64_t three = 3;
static kiln_type vec3(kiln_dtype d) { return (kiln_type){d, 1, &three}; }

static kiln_array *array_of(kiln_ctx *ctx, kiln_type type, const void *data)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, type, &a));
    memcpy(kiln_array_data(a), data, kiln_array_bytes(a));
    return a;
}

/* Finishes, evaluates on the given arrays (released here) and gives the first result. */
static kiln_array *finish_and_eval(kiln_ctx *ctx, kiln_trace *t, kiln_array **in, uint32_t n_in)
{
    kiln_prog *p;
    kiln_array *out[8] = {0};
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(kiln_prog_n_inputs(p), n_in);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
    for (uint32_t i = 1; i < kiln_prog_n_outputs(p); i++) kiln_array_release(out[i]);
    for (uint32_t i = 0; i < n_in; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
    return out[0];
}

static void assert_floats(kiln_array *a, const float *want, size_t n)
{
    assert_int_equal(kiln_array_type(a).dtype, KILN_F32);
    assert_int_equal(kiln_type_size(kiln_array_type(a)), n);
    const float *v = kiln_array_read(a);
    for (size_t i = 0; i < n; i++)
        if (v[i] != want[i]) fail_msg("entry %zu is %.9g, wanted %.9g", i, (double)v[i], (double)want[i]);
    kiln_array_release(a);
}

static void elementwise(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", vec3(KILN_F32));
    kiln_val y = kiln_add(t, kiln_mul(t, x, kiln_num(t, 0.1)), kiln_num(t, 1));
    kiln_output(t, "y", y);
    kiln_array *in[] = {array_of(ctx, vec3(KILN_F32), (const float[]){1, 2, -3})};
    kiln_array *r = finish_and_eval(ctx, t, in, 1);
    assert_floats(r, (const float[]){1 * 0.1f + 1, 2 * 0.1f + 1, -3 * 0.1f + 1}, 3);
}

static void numbers_fold(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_SCALAR(KILN_F32));
    /* (1/3)*3 in double is 1: nothing is rounded on the way */
    kiln_val one = kiln_mul(t, kiln_div(t, kiln_num(t, 1), kiln_num(t, 3)), kiln_num(t, 3));
    kiln_output(t, "y", kiln_mul(t, x, one));
    /* typed scalars fold in their own type */
    kiln_val third = kiln_div(t, kiln_scalar(t, KILN_F32, 1), kiln_scalar(t, KILN_F32, 3));
    kiln_output(t, "z", third);
    kiln_output(t, "less", kiln_lt(t, kiln_num(t, 1), kiln_num(t, 2)));
    kiln_output(t, "i", kiln_convert(t, kiln_num(t, 2.7), KILN_I32));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(kiln_prog_n_equations(p), 1);
    kiln_array *in[] = {array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){5})}, *out[4];
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, out));
    assert_true(*(const float *)kiln_array_read(out[0]) == 5);
    assert_true(*(const float *)kiln_array_read(out[1]) == 1.0f / 3.0f);
    assert_true(*(const bool *)kiln_array_read(out[2]));
    assert_int_equal(*(const int32_t *)kiln_array_read(out[3]), 2);
    for (int i = 0; i < 4; i++) kiln_array_release(out[i]);
    kiln_array_release(in[0]);
    kiln_prog_release(p);
}

static void trivial_operations_emit_nothing(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", vec3(KILN_F32)), y = x;
    int64_t zero = 0, at = 0;
    y = kiln_convert(t, y, KILN_F32);
    y = kiln_broadcast(t, y, 1, &three, &at);
    y = kiln_reshape(t, y, 1, &three);
    y = kiln_slice(t, y, &zero, &three, NULL);
    y = kiln_transpose(t, y, &zero);
    y = kiln_pad(t, y, kiln_num(t, 0), &zero, &zero, NULL);
    y = kiln_concatenate(t, &y, 1, 0);
    kiln_output(t, "y", y);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(kiln_prog_n_equations(p), 0);
    assert_string_equal(kiln_prog_input_name(p, 0), "x");
    assert_string_equal(kiln_prog_output_name(p, 0), "y");
    kiln_prog_release(p);
}

static void select_repeats_scalars(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", vec3(KILN_F32));
    kiln_output(t, "y", kiln_select(t, kiln_lt(t, x, kiln_num(t, 0)), kiln_num(t, 0), kiln_sqrt(t, x)));
    kiln_array *in[] = {array_of(ctx, vec3(KILN_F32), (const float[]){4, -4, 9})};
    assert_floats(finish_and_eval(ctx, t, in, 1), (const float[]){2, 0, 3}, 3);
}

static void shapes(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    const int64_t dims[] = {2, 3}, swap[] = {1, 0}, lo[] = {1, 0}, hi[] = {0, 0};
    kiln_val x = kiln_input(t, "x", (kiln_type){KILN_F32, 2, dims});
    kiln_val y = kiln_transpose(t, x, swap);                                  /* 3,2 */
    y = kiln_pad(t, y, kiln_num(t, 7), lo, hi, NULL);                          /* 4,2 */
    kiln_val row = kiln_dynamic_slice(t, y, ((kiln_val[]){kiln_num(t, 2), kiln_num(t, 0)}), ((const int64_t[]){1, 2}));
    y = kiln_dynamic_update_slice(t, y, kiln_mul(t, row, kiln_num(t, 10)), ((kiln_val[]){kiln_num(t, 3), kiln_num(t, 0)}));
    int64_t axis = 0;
    kiln_val sum = kiln_reduce(t, "reduce_sum", y, &axis, 1);                 /* 2 */
    kiln_val run = kiln_cumulative(t, "cumsum", sum, 0, false);
    kiln_val dot = kiln_dot(t, x, run, ((const int64_t[]){0}), &axis, 1, NULL, NULL, 0); /* 3 */
    kiln_val parts[] = {dot, kiln_reshape(t, kiln_item(t, dot, -1), 1, ((const int64_t[]){1}))};
    kiln_val all = kiln_concatenate(t, parts, 2, 0);
    kiln_val ramp = kiln_iota(t, kiln_val_type(t, all), 0);
    kiln_output(t, "z", kiln_add(t, all, ramp));
    kiln_array *in[] = {array_of(ctx, (kiln_type){KILN_F32, 2, dims}, (const float[]){1, 2, 3, 4, 5, 6})};
    /* transposed and padded: 7 7 / 1 4 / 2 5 / 3 6; row 3 becomes 20 50; sums 30 66; running 30 96 */
    assert_floats(finish_and_eval(ctx, t, in, 1), (const float[]){30 + 4 * 96, 60 + 5 * 96 + 1, 90 + 6 * 96 + 2, 90 + 6 * 96 + 3}, 4);
}

/* ---- control flow ---- */

typedef struct outer {
    kiln_val limit, step;
} outer;

static kiln_val below_limit(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], ((outer *)user)->limit); }

static void add_step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    const outer *o = user;
    next[0] = kiln_add(t, carry[0], o->step);
    next[1] = kiln_mul(t, carry[1], kiln_num(t, 2));
}

static void while_captures(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    outer o = {kiln_input(t, "limit", KILN_SCALAR(KILN_F32)), kiln_input(t, "step", KILN_SCALAR(KILN_F32))};
    kiln_val init[] = {kiln_scalar(t, KILN_F32, 0), kiln_scalar(t, KILN_F32, 1)}, out[2];
    kiln_while(t, below_limit, add_step, &o, init, 2, out);
    kiln_output(t, "power", out[1]);
    kiln_array *in[] = {array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){3}), array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){0.5f})};
    assert_floats(finish_and_eval(ctx, t, in, 2), (const float[]){64}, 1);
}

static void inner_body(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next) { next[0] = kiln_add(t, carry[0], *(kiln_val *)user); }

static kiln_val small(kiln_trace *t, void *user, const kiln_val *carry)
{
    (void)user;
    return kiln_lt(t, carry[0], kiln_num(t, 10));
}

static void scan_with_while(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    (void)x;
    kiln_val out;
    kiln_while(t, small, inner_body, user, &carry[0], 1, &out); /* uses a value two bodies out */
    next[0] = kiln_sub(t, out, kiln_num(t, 9));
    y[0] = kiln_mul(t, out, x[0]);
}

static void nested_captures(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_array *data = array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){4});
    kiln_val four = kiln_const(t, data), xs = kiln_input(t, "xs", vec3(KILN_F32));
    assert_int_equal(kiln_const(t, data).id, four.id);
    kiln_array_release(data);
    kiln_val init = kiln_scalar(t, KILN_F32, 0), out[2];
    kiln_scan(t, scan_with_while, &four, &init, 1, &xs, 1, 1, 3, false, out);
    kiln_output(t, "ys", out[1]);
    kiln_array *in[] = {array_of(ctx, vec3(KILN_F32), (const float[]){1, 10, 100})};
    /* 0 -> 12, 3 -> 11, 2 -> 10 */
    assert_floats(finish_and_eval(ctx, t, in, 1), (const float[]){12, 110, 1000}, 3);
}

static void three_ways(kiln_trace *t, void *user, uint32_t branch, kiln_val *out)
{
    const kiln_val *v = user;
    if (branch == 0) out[0] = kiln_num(t, 0.5), out[1] = v[0];
    else if (branch == 1) out[0] = kiln_add(t, v[0], v[1]), out[1] = v[1];
    else out[0] = kiln_mul(t, v[1], v[1]), out[1] = kiln_scalar(t, KILN_F32, 9);
}

static void cond_unites_captures(void **state)
{
    kiln_ctx *ctx = *state;
    static const float want[3][2] = {{0.5f, 3}, {8, 5}, {25, 9}};
    for (int which = 0; which < 3; which++) {
        kiln_trace *t;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val k = kiln_input(t, "k", KILN_SCALAR(KILN_I32)), out[2];
        kiln_val v[] = {kiln_input(t, "a", KILN_SCALAR(KILN_F32)), kiln_input(t, "b", KILN_SCALAR(KILN_F32))};
        kiln_cond(t, k, 3, three_ways, v, out, 2);
        kiln_output(t, "both", kiln_concatenate(t, ((kiln_val[]){kiln_reshape(t, out[0], 1, ((const int64_t[]){1})),
                                                                kiln_reshape(t, out[1], 1, ((const int64_t[]){1}))}), 2, 0));
        kiln_array *in[] = {array_of(ctx, KILN_SCALAR(KILN_I32), &(const int32_t){which}),
                            array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){3}), array_of(ctx, KILN_SCALAR(KILN_F32), (const float[]){5})};
        assert_floats(finish_and_eval(ctx, t, in, 3), want[which], 2);
    }
}

static void scopes_and_places(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_SCALAR(KILN_F32));
    kiln_scope_push(t, "node:a");
    kiln_scope_push(t, "inner");
    kiln_place(t, "graph.yaml", 7, 3);
    x = kiln_neg(t, x);
    kiln_place(t, NULL, 0, 0);
    kiln_scope_pop(t);
    x = kiln_abs(t, x);
    kiln_scope_pop(t);
    kiln_output(t, "y", kiln_neg(t, x));
    assert_ok(ctx, kiln_trace_finish(t, &p));
    const kn_eqn *e = p->main->eqns;
    assert_string_equal(p->scopes.v[e[0].scope], "node:a/inner");
    assert_string_equal(p->files.v[e[0].loc.file], "graph.yaml");
    assert_int_equal(e[0].loc.line, 7);
    assert_string_equal(p->scopes.v[e[1].scope], "node:a");
    assert_non_null(strstr(p->files.v[e[1].loc.file], "trace.c"));
    assert_int_equal(e[2].scope, 0);
    kiln_prog_release(p);
}

/* ---- expressions ---- */

static bool resolve_x(void *ud, const char *name, kiln_expr_name *out)
{
    (void)ud;
    *out = (kiln_expr_name){.is_var = true, .var = 3};
    return strcmp(name, "x") == 0;
}

static void fill_x(void *ud, uint32_t var, size_t first, size_t n, double *out)
{
    (void)var;
    for (size_t i = 0; i < n; i++) out[i] = ((const double *)ud)[first + i];
}

static void expressions(void **state)
{
    static const char *const texts[] = {"2*x + 1", "if(x < 0.5, sin(pi*x), -x)", "x^2 + cbrt(x)", "not (x > 1) and x >= 0", "(x > 1) + 2",
                                        "hypot(x, 3)", "sinh(x) + cosh(x)", "log1p(x) + log2(x + 9) + log10(x + 9)", "step(x - 1) + round(x*3) + sign(x)",
                                        "atan2(x, 2) % 0.3 + min(x, 1, 2) + max(x, 0)", "expm1(x) + tanh(x) + exp(-x) - floor(x)", "42"};
    kiln_ctx *ctx = *state;
    const double at[] = {-0.25, 0, 0.3, 0.5, 1, 1.5, 7.25};
    enum { N = sizeof at / sizeof *at };
    const int64_t n = N;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kiln_expr_text src = {.size = sizeof src, .text = texts[i]};
        kiln_expr *e;
        kiln_trace *t;
        double want[N];
        assert_ok(ctx, kiln_expr_parse(ctx, &src, &e));
        assert_ok(ctx, kiln_expr_bind(ctx, e, resolve_x, NULL));
        assert_ok(ctx, kiln_expr_eval(ctx, e, N, fill_x, (void *)(uintptr_t)at, NULL, want));
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val vars[64] = {{0}};
        vars[3] = kiln_input(t, "x", (kiln_type){KILN_F64, 1, &n});
        kiln_val v = kiln_expr_trace(t, e, KILN_F64, vars, (kiln_val){0});
        kiln_output(t, "y", kiln_val_type(t, v).rank ? v : kiln_broadcast(t, v, 1, &n, NULL));
        kiln_array *in[] = {array_of(ctx, (kiln_type){KILN_F64, 1, &n}, at)};
        kiln_array *r = finish_and_eval(ctx, t, in, 1);
        const double *got = kiln_array_read(r);
        for (int k = 0; k < N; k++) {
            bool same = (isnan(got[k]) && isnan(want[k])) || fabs(got[k] - want[k]) <= 1e-14 * (1 + fabs(want[k]));
            if (!same) fail_msg("%s at %g: %.17g, wanted %.17g", texts[i], at[k], got[k], want[k]);
        }
        kiln_array_release(r);
        kiln_expr_release(e);
    }
}

/* ---- misuse: each gives one error that says what and where ---- */

static int line_of_fault;
#define FAULT (line_of_fault = __LINE__, t)

typedef struct misuse {
    const char *says;
    kiln_status code;
    void (*does)(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n); /* f32[3], f64[3], i32 */
} misuse;

static const int64_t four = 4;
static void different_types(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)n; kiln_output(t, "", kiln_add(FAULT, x, y)); }
static void untyped_broadcast(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; kiln_output(t, "", kiln_broadcast(FAULT, kiln_num(t, 1), 1, &four, NULL)); }
static void shapes_differ(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n)
{
    (void)y, (void)n;
    kiln_val z = kiln_iota(t, ((kiln_type){KILN_F32, 1, &four}), 0);
    kiln_output(t, "", kiln_mul(FAULT, x, z));
}
static void number_is_no_integer(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y; kiln_output(t, "", kiln_add(FAULT, n, kiln_num(t, 2.5))); }
static void sine_of_integer(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y; kiln_output(t, "", kiln_sin(FAULT, n)); }
static void no_value(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_sub(FAULT, x, (kiln_val){0})); }
static void foreign_value(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_sub(FAULT, x, (kiln_val){12345})); }
static void unknown_operation(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; line_of_fault = __LINE__; kiln_output(t, "", kiln_op1(t, "sinus", x, __FILE__, __LINE__)); }
static void untyped_output(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; kiln_output(FAULT, "k", kiln_num(t, 2.5)); }
static void select_by_float(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_select(FAULT, x, x, x)); }
static void bad_reshape(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_reshape(FAULT, x, 1, &four)); }
static void bad_broadcast(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; const int64_t at = 0; kiln_output(t, "", kiln_broadcast(FAULT, x, 1, &four, &at)); }
static void bad_slice(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; const int64_t from = 1; kiln_output(t, "", kiln_slice(FAULT, x, &from, &four, NULL)); }
static void bad_item(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_item(FAULT, x, -4)); }
static void float_index(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; const int64_t one = 1; kiln_val at = kiln_item(t, x, 0); kiln_output(t, "", kiln_dynamic_slice(FAULT, x, &at, &one)); }
static void bad_axis(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; const int64_t axis = 1; kiln_output(t, "", kiln_reduce(FAULT, "reduce_sum", x, &axis, 1)); }
static void dot_of_types(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)n; const int64_t axis = 0; kiln_output(t, "", kiln_dot(FAULT, x, y, &axis, &axis, 1, NULL, NULL, 0)); }
static void no_parts(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_output(t, "", kiln_concatenate(FAULT, &x, 0, 0)); }
static void scalar_is_no_bool(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; kiln_output(t, "", kiln_scalar(FAULT, KILN_BOOL, 2)); }
static void int_too_large(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; kiln_output(t, "", kiln_int(FAULT, KILN_I32, INT64_C(1) << 40)); }
static void null_const(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; kiln_output(t, "", kiln_const(FAULT, NULL)); }
static void negative_extent(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)x, (void)y, (void)n; const int64_t minus = -1; kiln_output(t, "", kiln_input(FAULT, "z", ((kiln_type){KILN_F32, 1, &minus}))); }

static kiln_val float_condition(kiln_trace *t, void *user, const kiln_val *carry) { (void)t, (void)user; return carry[0]; }
static kiln_val always(kiln_trace *t, void *user, const kiln_val *carry) { (void)user, (void)carry; return kiln_scalar(t, KILN_BOOL, 1); }
static void same(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next) { (void)t, (void)user; next[0] = carry[0]; }
static void other_type(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next) { (void)user; next[0] = kiln_convert(t, carry[0], KILN_F64); }
static void input_inside(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    kiln_input(FAULT, "late", KILN_SCALAR(KILN_F32));
    next[0] = carry[0];
}
static void output_inside(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    kiln_output(FAULT, "late", carry[0]);
    next[0] = carry[0];
}
static void leaks(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next) { next[0] = *(kiln_val *)user = kiln_neg(t, carry[0]); }
static void loop(kiln_trace *t, kiln_val init, kiln_cond_fn cond, kiln_body_fn body, void *user, bool mark)
{
    kiln_val out;
    if (mark) kiln_while(FAULT, cond, body, user, &init, 1, &out);
    else kiln_while(t, cond, body, user, &init, 1, &out);
    kiln_output(t, "", out);
}
static void while_condition(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; loop(t, x, float_condition, same, NULL, true); }
static void while_carry(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; loop(t, x, always, other_type, NULL, true); }
static void while_input(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; loop(t, x, always, input_inside, NULL, false); }
static void while_output(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; loop(t, x, always, output_inside, NULL, false); }
static void body_value_outside(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n)
{
    (void)y, (void)n;
    kiln_val inside = {0};
    loop(t, x, always, leaks, &inside, false);
    kiln_output(t, "", kiln_add(FAULT, x, inside));
}
static void branch_types(kiln_trace *t, void *user, uint32_t branch, kiln_val *out) { out[0] = branch ? *(kiln_val *)user : kiln_scalar(t, KILN_F64, 1); }
static void cond_types(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y; kiln_val out; kiln_cond(FAULT, n, 2, branch_types, &x, &out, 1); kiln_output(t, "", out); }
static void cond_by_vector(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y, (void)n; kiln_val out; kiln_cond(FAULT, x, 2, branch_types, &x, &out, 1); kiln_output(t, "", out); }
static void no_step(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y) { (void)t, (void)user, (void)x, (void)y; next[0] = carry[0]; }
static void scan_length(kiln_trace *t, kiln_val x, kiln_val y, kiln_val n) { (void)y; kiln_val out; kiln_scan(FAULT, no_step, NULL, &n, 1, &x, 1, 0, 4, false, &out); kiln_output(t, "", out); }

static const misuse misuses[] = {
    {"add: f32[3] and f64[3] have different element types", KILN_DTYPE, different_types},
    {"broadcast: operand 1 is the number 1.0, without a type", KILN_DTYPE, untyped_broadcast},
    {"mul: f32[3] and f32[4] have different shapes", KILN_SHAPE, shapes_differ},
    {"add: the number 2.5 is no i32", KILN_DTYPE, number_is_no_integer},
    {"sin: i32[] has an element type without this operation", KILN_DTYPE, sine_of_integer},
    {"sub: operand 2 is no value", KILN_INVALID, no_value},
    {"sub: operand 2 is no value", KILN_INVALID, foreign_value},
    {"no elementwise operation 'sinus'", KILN_NOTFOUND, unknown_operation},
    {"output 'k' is the number 2.5, without a type", KILN_DTYPE, untyped_output},
    {"select: chooses by f32[3]", KILN_DTYPE, select_by_float},
    {"reshape: f32[3] into f32[4]", KILN_SHAPE, bad_reshape},
    {"broadcast: f32[3] into f32[4]", KILN_SHAPE, bad_broadcast},
    {"slice: 1:4:1 along dimension 0 of f32[3]", KILN_SHAPE, bad_slice},
    {"item -4 of f32[3]", KILN_SHAPE, bad_item},
    {"dynamic_slice: start 0 is f32[]", KILN_DTYPE, float_index},
    {"reduce_sum", KILN_SHAPE, bad_axis},
    {"dot: f32[3] and f64[3] have different element types", KILN_DTYPE, dot_of_types},
    {"concatenate: no parts", KILN_INVALID, no_parts},
    {"2.0 is no bool", KILN_DTYPE, scalar_is_no_bool},
    {"1099511627776 is no i32", KILN_DTYPE, int_too_large},
    {"a constant without an array", KILN_INVALID, null_const},
    {"input 'z' has type f32[-1]", KILN_SHAPE, negative_extent},
    {"while: the condition is f32[3]", KILN_DTYPE, while_condition},
    {"while: carry 0 begins as f32[3] and becomes f64[3]", KILN_SHAPE, while_carry},
    {"input 'late' inside a body", KILN_INVALID, while_input},
    {"output 'late' inside a body", KILN_INVALID, while_output},
    {"add: operand 2 (f32[3]) belongs to a body that has ended", KILN_INVALID, body_value_outside},
    {"cond: result 0 is f64[] in one branch and f32[3] in branch 1", KILN_SHAPE, cond_types},
    {"cond: branches by f32[3]", KILN_DTYPE, cond_by_vector},
    {"scan over 4: array 0 is f32[3]", KILN_SHAPE, scan_length},
};

static void misuse_is_reported(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        kiln_trace *t;
        kiln_prog *p;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val x = kiln_input(t, "x", vec3(KILN_F32)), y = kiln_input(t, "y", vec3(KILN_F64)), n = kiln_input(t, "n", KILN_SCALAR(KILN_I32));
        misuses[i].does(t, x, y, n);
        /* later errors do not replace the first, and nothing that follows crashes */
        kiln_val after = kiln_add(t, x, y);
        kiln_output(t, "after", kiln_reshape(t, kiln_sum_all(t, after), 1, kiln_val_type(t, after).dims));
        kiln_status s = kiln_trace_finish(t, &p);
        const kiln_diag *d = kiln_ctx_error(ctx);
        if (s != misuses[i].code || !strstr(d->message, misuses[i].says))
            fail_msg("%zu: %s '%s', wanted %s '%s'", i, kiln_status_name(s), d->message, kiln_status_name(misuses[i].code), misuses[i].says);
        assert_null(p);
        assert_non_null(strstr(d->file, "trace.c"));
        if (d->line != line_of_fault) fail_msg("'%s' is placed at line %d, wanted %d", d->message, d->line, line_of_fault);
    }
}

static void unbalanced_scopes(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_scope_push(t, "left open");
    assert_int_equal(kiln_trace_finish(t, &p), KILN_INVALID);
    assert_says(ctx, "scope 'left open' is still open");
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_scope_pop(t);
    assert_int_equal(kiln_trace_finish(t, &p), KILN_INVALID);
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_trace_fail(t, KILN_UNSUPPORTED, "my own reason");
    assert_false(kiln_trace_ok(t));
    assert_int_equal(kiln_trace_finish(t, &p), KILN_UNSUPPORTED);
    assert_says(ctx, "my own reason");
    kiln_trace_cancel(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),        cmocka_unit_test(numbers_fold),       cmocka_unit_test(trivial_operations_emit_nothing),
        cmocka_unit_test(select_repeats_scalars), cmocka_unit_test(shapes),         cmocka_unit_test(while_captures),
        cmocka_unit_test(nested_captures),    cmocka_unit_test(cond_unites_captures), cmocka_unit_test(scopes_and_places),
        cmocka_unit_test(expressions),        cmocka_unit_test(misuse_is_reported), cmocka_unit_test(unbalanced_scopes),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
