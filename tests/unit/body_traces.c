/* SPDX-License-Identifier: Apache-2.0 */
/* How often bodies are traced: each once, and not again when what it gives does not fit. */
#include "kiln/trace.h"
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

/* A carry that would change its element type is refused, not traced again; one without a type is refused at once. */
static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    for (unsigned typed = 0; typed < 2; typed++) {
        kiln_trace *t;
        kiln_prog *p = NULL;
        seen s = {0};
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val xs = kiln_input(t, "xs", KILN_VECTOR(KILN_F64, 5)), out[2];
        kiln_val c = typed ? kiln_input(t, "c", KILN_SCALAR(KILN_I32)) : kiln_num(t, 1);
        kiln_scan(t, times_x, &s, &c, 1, &xs, 1, 1, 5, false, out);
        assert_int_equal(kiln_trace_finish(t, &p), KILN_DTYPE);
        assert_says(ctx, typed ? "i32" : "without a type");
        assert_null(p);
        assert_true(s.bodies <= 1);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops), cmocka_unit_test(refused), cmocka_unit_test(branches), cmocka_unit_test(checkpoint)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
