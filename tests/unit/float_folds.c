/* SPDX-License-Identifier: Apache-2.0 */
/* Floats that the loop compiler works out another way: running extrema as integers, differences of a value with itself, squares of opposite
 * differences. The interpreter's bits, with zeros of both signs, infinities and NaNs of both signs among the values. */
#include "run/stages.h"
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"

#include <math.h>

static const double edges[] = {1.5, -0.0, 0, -2.25, INFINITY, -INFINITY, 1e-310, -1e-40, 3e38, -1};
enum { EDGES = sizeof edges / sizeof *edges };

/* Of `kinds` edges; with a NaN at `at`, of that sign, where at >= 0. */
static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, uint32_t seed, uint32_t kinds, int64_t at, bool negative)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) {
        seed = seed * 1664525 + 1013904223;
        double v = k == at ? copysign((double)NAN, negative ? -1 : 1) : edges[(seed >> 8) % kinds];
        if (t.dtype == KILN_F32) ((float *)kiln_array_data(a))[k] = (float)v;
        else ((double *)kiln_array_data(a))[k] = v;
    }
    return a;
}

enum { MOST_OUTPUTS = 4 };

static void same_results(kiln_ctx *ctx, const kiln_prog *p, kiln_exec *const *f, kiln_array *in, const char *text)
{
    kiln_array *want[MOST_OUTPUTS], *got[MOST_OUTPUTS];
    uint32_t n = kiln_prog_n_outputs(p);
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, want));
    for (int which = 0; which < 2; which++) {
        int64_t where = -1;
        assert_ok(ctx, kiln_exec_call(ctx, f[which], &in, got));
        for (uint32_t i = 0; i < n; i++) {
            if (!same_array(want[i], got[i], &where)) fail_msg("level %d: element %lld of result %u differs of\n%s", 2 * which, (long long)where, i, text);
            kiln_array_release(got[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) kiln_array_release(want[i]);
}

static void check(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    kiln_exec *f[2];
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "folds", &p));
    for (int which = 0; which < 2; which++) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = 2 * which;
        assert_ok(ctx, kiln_compile(ctx, p, &o, &f[which]));
    }
    kiln_type t = kiln_prog_input_type(p, 0);
    for (uint32_t kinds = 1; kinds <= EDGES; kinds++)
        for (int64_t at = -1; at < kiln_type_size(t); at++) {
            kiln_array *in = numbers(ctx, t, kinds, kinds, at, (at + kinds) % 2);
            same_results(ctx, p, f, in, text);
            kiln_array_release(in);
        }
    for (int which = 0; which < 2; which++) kiln_exec_release(f[which]);
    kiln_prog_release(p);
}

static void running_extrema(void **state)
{
    static const char *const ops[][2] = {{"max", "-inf"}, {"min", "inf"}, {"max", "-0.0"}, {"min", "0.0"}};
    static const char *const dtypes[] = {"f32", "f64"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t d = 0; d < 2; d++) {
            const char *t = dtypes[d];
            char text[1024];
            snprintf(text, sizeof text,
                     "{ lambda ; x:%s[30]. let _:i32[] y:%s[] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] m:%s[]. let p:bool[] = lt k 30:i32[] in (p,) } "
                     "body_nconsts=1 body_jaxpr={ lambda ; x:%s[30] k:i32[] m:%s[]. let n:i32[] = add k 1:i32[] a:%s[1] = dynamic_slice[slice_sizes=(1,)] x k "
                     "b:%s[] = reshape[dimensions=None new_sizes=() sharding=None] a c:%s[] = %s m b in (n, c) }] x 0:i32[] %s:%s[] in (y,) }",
                     t, t, t, t, t, t, t, t, ops[i][0], ops[i][1], t);
            check(*state, text);
        }
}

static void pairs_of_a_few(void **state)
{
    static const char *const order[] = {"a b", "b a"}; /* x of the second less x of the first body, and the other way round */
    static const char *const dtypes[] = {"f32", "f64"};
    for (size_t d = 0; d < 4; d++) {
        const char *t = dtypes[d / 2];
        char text[1024];
        snprintf(text, sizeof text,
                 "{ lambda ; x:%s[3]. let a:%s[3,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(3, 3) sharding=None] x "
                 "b:%s[3,3] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(3, 3) sharding=None] x c:%s[3,3] = sub %s e:%s[3,3] = mul c c "
                 "i:i32[3,3] = iota[dimension=0 dtype=int32 shape=(3, 3) sharding=None] k:i32[3,3] = iota[dimension=1 dtype=int32 shape=(3, 3) sharding=None] "
                 "o:bool[3,3] = eq i k s:%s[3,3] = convert_element_type[new_dtype=%s weak_type=False] o f:%s[3,3] = add e s g:%s[3,3] = sqrt f "
                 "h:%s[3,3] = mul f g q:%s[3,3] = div c h r:%s[3,3] = div a f u:%s[3,3] = add e e v:%s[3,3] = sqrt u in (q, r, v, e) }",
                 t, t, t, t, order[d % 2], t, t, d / 2 ? "float64" : "float32", t, t, t, t, t, t, t);
        check(*state, text);
        kiln_prog *p;
        char *loops;
        size_t n;
        unsigned roots = 0, divisions = 0;
        assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "folds", &p));
        assert_ok(*state, kn_compile_stage(*state, p, NULL, "loops", &loops, &n));
        for (const char *q = loops; (q = strstr(q, "= sqrt ")); q++) roots++;
        for (const char *q = loops; (q = strstr(q, "= div ")); q++) divisions++;
        assert_int_equal(roots, 6);      /* three pairs, and the sum of twice their squares; none of a body beside itself */
        assert_int_equal(divisions, 12); /* two for each of six ordered pairs */
        assert_null(strstr(loops, ", 0.0\n")); /* nothing is added to squares of other pairs */
        kiln_text_free(*state, loops, n);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(running_extrema), cmocka_unit_test(pairs_of_a_few)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
