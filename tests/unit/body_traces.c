/* SPDX-License-Identifier: Apache-2.0 */
/* How often bodies are traced: each once, and not again when what it gives does not fit. */
#include "kiln/trace.h"
#include "kiln/transform.h"
#include "testing.h"

typedef struct seen {
    unsigned bodies, conditions, branches[3];
    kiln_val x;
} seen;

static kiln_val below(kiln_trace *t, void *user, const kiln_val *carry)
{
    ((seen *)user)->conditions++;
    return kiln_lt(t, carry[0], kiln_num(t, 100));
}
static void doubled(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    ((seen *)user)->bodies++;
    next[0] = kiln_mul(t, carry[0], kiln_num(t, 2));
}
static void times_x(kiln_trace *t, void *user, const kiln_val *carry, const kiln_val *x, kiln_val *next, kiln_val *y)
{
    ((seen *)user)->bodies++;
    next[0] = kiln_add(t, carry[0], x[0]);
    y[0] = kiln_mul(t, carry[0], x[0]);
}
static void squared(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y)
{
    ((seen *)user)->bodies++;
    y[0] = kiln_mul(t, x[0], x[0]);
}
static void branch(kiln_trace *t, void *user, uint32_t k, kiln_val *out)
{
    seen *s = user;
    s->branches[k]++;
    out[0] = kiln_mul(t, s->x, kiln_num(t, k + 1));
}
static void called(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    ((seen *)user)->bodies++;
    out[0] = kiln_sin(t, in[0]);
}

static void loops(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    seen scan = {0}, loop = {0}, map = {0};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val xs = kiln_input(t, "xs", KILN_VECTOR(KILN_F64, 5)), c[1] = {kiln_scalar(t, KILN_F64, 1)}, out[2];
    kiln_scan(t, times_x, &scan, c, 1, &xs, 1, 1, 5, false, out);
    kiln_output(t, "scan", out[0]);
    kiln_while(t, below, doubled, &loop, c, 1, out);
    kiln_output(t, "while", out[0]);
    kiln_map(t, squared, &map, &xs, 1, 1, 5, out);
    kiln_output(t, "map", out[0]);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(scan.bodies, 1);
    assert_int_equal(loop.bodies, 1);
    assert_int_equal(loop.conditions, 1);
    assert_int_equal(map.bodies, 1);
    kiln_prog_release(p);
}

/* A carry that begins as a number takes the type of what it meets, and its body is traced once. */
static kiln_val above(kiln_trace *t, void *user, const kiln_val *carry)
{
    ((seen *)user)->conditions++;
    return kiln_lt(t, kiln_mul(t, carry[0], kiln_num(t, 0.5)), kiln_num(t, 100));
}
static void late(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    seen *s = user;
    s->bodies++;
    kiln_val twice = kiln_mul(t, carry[0], kiln_num(t, 2)), big = kiln_gt(t, twice, kiln_num(t, 7.25));
    next[0] = kiln_add(t, kiln_select(t, big, twice, kiln_num(t, 3)), s->x); /* here it is known */
}
static void counted(kiln_trace *t, void *user, kiln_val i, const kiln_val *carry, kiln_val *next)
{
    ((seen *)user)->bodies++;
    next[0] = kiln_add(t, kiln_mul(t, carry[0], ((seen *)user)->x), kiln_convert(t, i, KILN_F32));
    next[1] = kiln_add(t, carry[1], i);
}
static void numbers(void **state)
{
    static const kiln_dtype types[] = {KILN_F32, KILN_F64, KILN_I32, KILN_I64};
    kiln_ctx *ctx = *state;
    for (uint32_t k = 0; k < 4; k++) {
        kiln_trace *t;
        kiln_prog *p;
        seen scan = {0};
        kiln_val out[2], one;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val xs = kiln_input(t, "xs", KILN_VECTOR(types[k], 5));
        one = kiln_num(t, 1);
        kiln_scan(t, times_x, &scan, &one, 1, &xs, 1, 1, 5, false, out);
        kiln_output(t, "scan", out[0]);
        kiln_output(t, "stacked", out[1]);
        assert_ok(ctx, kiln_trace_finish(t, &p));
        assert_int_equal(scan.bodies, 1);
        assert_int_equal(kiln_prog_output_type(p, 0).dtype, types[k]);
        assert_int_equal(kiln_prog_output_type(p, 1).dtype, types[k]);
        kiln_prog_release(p);
    }
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *in[3], *got[4];
    seen loop = {0}, fori = {0}, some = {0};
    kiln_val out[3];
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    loop.x = fori.x = some.x = kiln_input(t, "x", KILN_SCALAR(KILN_F32));
    kiln_val one[2] = {kiln_num(t, 1), kiln_num(t, 0)}, n = kiln_input(t, "n", KILN_SCALAR(KILN_I64));
    kiln_while(t, above, late, &loop, one, 1, out);
    kiln_output(t, "while", out[0]);
    kiln_fori(t, kiln_num(t, 0), kiln_num(t, 3), counted, &fori, one, 2, NULL, out);
    kiln_output(t, "fori", out[0]);
    kiln_fori(t, kiln_num(t, 1), n, counted, &some, one, 2, (&(kiln_loop_opts){sizeof(kiln_loop_opts), 50, "log"}), out);
    kiln_output(t, "fori some", out[0]);
    kiln_output(t, "sum", out[1]);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(loop.bodies, 1);
    assert_int_equal(loop.conditions, 1);
    assert_int_equal(fori.bodies, 1);
    assert_int_equal(some.bodies, 1);
    assert_ok(ctx, kiln_array_parse(ctx, "f32[]:1.5", &in[0]));
    assert_ok(ctx, kiln_array_parse(ctx, "i64[]:5", &in[1]));
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, got));
    float x = 1, y = 1, z = 1;
    for (; x * 0.5f < 100;) x = (x * 2 > 7.25f ? x * 2 : 3) + 1.5f;
    for (int i = 0; i < 3; i++) y = y * 1.5f + (float)i;
    for (int i = 1; i < 5; i++) z = z * 1.5f + (float)i;
    assert_true(*(float *)kiln_array_data(got[0]) == x && *(float *)kiln_array_data(got[1]) == y && *(float *)kiln_array_data(got[2]) == z);
    assert_int_equal(kiln_prog_output_type(p, 3).dtype, KILN_I64);
    assert_int_equal(*(int64_t *)kiln_array_data(got[3]), 10);
    for (int i = 0; i < 4; i++) kiln_array_release(got[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
}

/* Numbers alone are f32. */
static void alone(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    kiln_array *got;
    seen s = {0};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val one = kiln_num(t, 1), out;
    kiln_while(t, below, doubled, &s, &one, 1, &out);
    kiln_output(t, "y", out);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(s.bodies, 1);
    assert_int_equal(s.conditions, 1);
    assert_int_equal(kiln_prog_output_type(p, 0).dtype, KILN_F32);
    assert_ok(ctx, kiln_prog_eval(ctx, p, NULL, &got));
    assert_true(*(float *)kiln_array_data(got) == 128);
    kiln_array_release(got);
    kiln_prog_release(p);
}

/* What cannot be: a number that is none of the type; an operation before that the type does not have; a body around. */
static void halved(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    next[0] = kiln_add(t, kiln_mul(t, carry[0], kiln_num(t, 0.5)), ((seen *)user)->x);
}
static void rooted(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    next[0] = kiln_add(t, kiln_sqrt(t, carry[0]), ((seen *)user)->x);
}
static void summed(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    (void)user;
    next[0] = kiln_sum_all(t, kiln_broadcast(t, carry[0], 1, ((int64_t[]){2}), NULL));
}
static void nested(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    kiln_while(t, below, doubled, user, carry, 1, next);
}
static void no_type(void **state)
{
    static const struct {
        kiln_body_fn body;
        const char *says;
    } cases[] = {{halved, "0.5 is no i32"}, {rooted, "'sqrt' before does not have"}, {summed, "has no type yet"}, {nested, "has no type yet"}};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_trace *t;
        kiln_prog *p;
        seen s = {0};
        kiln_val out, one;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        s.x = kiln_input(t, "x", KILN_SCALAR(KILN_I32));
        one = kiln_num(t, 1);
        kiln_while(t, below, cases[i].body, &s, &one, 1, &out);
        assert_int_equal(kiln_trace_finish(t, &p), KILN_DTYPE);
        assert_says(ctx, cases[i].says);
        assert_non_null(strstr(kiln_ctx_error(ctx)->file, "body_traces.c"));
    }
}

/* A carry that would change its element type is refused, not traced again. */
static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p = NULL;
    seen s = {0};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val xs = kiln_input(t, "xs", KILN_VECTOR(KILN_F64, 5)), out[2];
    kiln_val c = kiln_input(t, "c", KILN_SCALAR(KILN_I32));
    kiln_scan(t, times_x, &s, &c, 1, &xs, 1, 1, 5, false, out);
    assert_int_equal(kiln_trace_finish(t, &p), KILN_DTYPE);
    assert_says(ctx, "i32");
    assert_null(p);
    assert_true(s.bodies <= 1);
}

static void branches(void **state)
{
    kiln_ctx *ctx = *state;
    for (uint32_t n = 2; n <= 3; n++) {
        kiln_trace *t;
        kiln_prog *p;
        seen s = {0};
        kiln_val out;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        s.x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 3));
        kiln_cond(t, kiln_input(t, "which", KILN_SCALAR(n == 2 ? KILN_BOOL : KILN_I32)), n, branch, &s, &out, 1);
        kiln_output(t, "y", out);
        assert_ok(ctx, kiln_trace_finish(t, &p));
        for (uint32_t k = 0; k < n; k++) assert_int_equal(s.branches[k], 1);
        kiln_prog_release(p);
    }
}

static void checkpoint(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *p;
    seen s = {0};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F64, 3)), out;
    kiln_checkpoint(t, called, &s, &x, 1, NULL, 0, &out, 1);
    kiln_output(t, "y", out);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    assert_int_equal(s.bodies, 1);
    kiln_prog_release(p);
}

/* Whichever allocation fails, that is said and nothing leaks; of loops from numbers, and of ways back with a record. */
static void no_memory(void **state)
{
    (void)state;
    for (int k = 1, failed = 1; failed; k++) {
        kiln_ctx *ctx = test_ctx_failing(k);
        kiln_trace *t;
        kiln_prog *p = NULL, *q = NULL;
        seen s = {0};
        if (!ctx) continue;
        kiln_status status = kiln_trace_begin(ctx, &t);
        if (status == KILN_OK) {
            kiln_val out[2], one[2] = {kiln_num(t, 1), kiln_num(t, 0)}, n;
            s.x = kiln_input(t, "x", KILN_SCALAR(KILN_F32));
            n = kiln_input(t, "n", KILN_SCALAR(KILN_I32));
            kiln_fori(t, kiln_num(t, 1), n, counted, &s, one, 2, (&(kiln_loop_opts){sizeof(kiln_loop_opts), 50, "log"}), out);
            kiln_output(t, "y", out[0]);
            status = kiln_trace_finish(t, &p);
        }
        if (status == KILN_OK) status = kiln_prog_transform(ctx, p, "grad:0(checkpoint:root,20)", NULL, 0, &q);
        failed = test_ctx_failed(ctx);
        assert_int_equal(status, failed ? KILN_NOMEM : KILN_OK);
        kiln_prog_release(q);
        kiln_prog_release(p);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops), cmocka_unit_test(numbers), cmocka_unit_test(alone), cmocka_unit_test(no_type), cmocka_unit_test(no_memory), cmocka_unit_test(refused), cmocka_unit_test(branches), cmocka_unit_test(checkpoint)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
