/* SPDX-License-Identifier: Apache-2.0 */
/* Opt-in speed, flush: arithmetic reads and makes subnormal numbers as zeros, moves keep them, on both sides; the caller's mode is the
 * caller's again; code of one mode is not found for another. That both sides agree on all primitives and on random programs is what
 * prop.flush.* show. */
#include "base/fpmode.h"
#include "kiln/kiln.h"
#include "samples.h"
#include "same.h"

static kiln_ctx *context(const char *fast)
{
    kiln_ctx *ctx;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.fast = fast;
    assert_int_equal(kiln_ctx_create(&o, &ctx), KILN_OK);
    return ctx;
}

/* ---- what is flushed ---- */

static const float tiny = 3e-40f; /* subnormal */

static const struct rule {
    const char *expression; /* of a: [tiny, -tiny, 1] and b: the same */
    float want[3];          /* where subnormal numbers are flushed */
} rules[] = {
    {"c:f32[3] = neg a", {-3e-40f, 3e-40f, -1}},
    {"c:f32[3] = abs a", {3e-40f, 3e-40f, 1}},
    {"c:f32[3] = rev[dimensions=(0,)] a", {1, -3e-40f, 3e-40f}},
    {"d:bool[3] = lt a 0.5:f32[] c:f32[3] = select_n d b a", {3e-40f, -3e-40f, 1}},
    {"c:f32[3] = mul a 1.0:f32[]", {0, -0.0f, 1}},
    {"c:f32[3] = mul a -1.0:f32[]", {-0.0f, 0, -1}},
    {"c:f32[3] = div a 1.0:f32[]", {0, -0.0f, 1}},
    {"c:f32[3] = add a -0.0:f32[]", {0, -0.0f, 1}},
    {"c:f32[3] = sub a 0.0:f32[]", {0, -0.0f, 1}},
    {"c:f32[3] = add a 1e-40:f32[]", {0, 0, 1}},
    {"c:f32[3] = max a b", {0, -0.0f, 1}},
    {"c:f32[3] = max a -1.0:f32[]", {0, -0.0f, 1}},
    {"c:f32[3] = min a 1e-40:f32[]", {0, -0.0f, 0}},
    {"d:bool[3] = lt b a c:f32[3] = select_n d b a", {3e-40f, -3e-40f, 1}},
    {"d:bool[3] = gt a 0.0:f32[] c:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] d", {0, 0, 1}},
    {"c:f32[3] = ceil a", {0, -0.0f, 1}},
    {"c:f32[3] = sign a", {0, -0.0f, 1}},
    {"c:f32[3] = sqrt b", {0, -0.0f, 1}},
    {"d:f32[3] = mul a 0.0:f32[] c:f32[3] = exp d", {1, 1, 1}},
    {"c:f32[3] = sin a", {0, -0.0f, 0.8414709848f}},
    {"d:f32[3] = mul b -100.0:f32[] c:f32[3] = exp d", {1, 1, 0}}, /* e^-100 is subnormal */
    {"d:f64[3] = convert_element_type[new_dtype=float64 weak_type=False] a c:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] d", {0, -0.0f, 1}},
    {"c:f32[3] = cumsum[axis=0 reverse=False] a", {0, 0, 1}},
    {"d:f32[] = reduce_max[axes=(0,) out_sharding=None] a c:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,) sharding=None] d", {1, 1, 1}},
    {"d:f32[2] = slice[limit_indices=(2,) start_indices=(0,) strides=None] a e:f32[] = reduce_max[axes=(0,) out_sharding=None] d "
     "c:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,) sharding=None] e", {0, 0, 0}},
};
enum { N_RULES = sizeof rules / sizeof *rules };

static kiln_prog *program(kiln_ctx *ctx, const char *expression)
{
    char text[600];
    kiln_prog *p;
    int n = snprintf(text, sizeof text, "{ lambda ; a:f32[3] b:f32[3]. let %s in (c,) }", expression);
    assert_ok(ctx, kiln_prog_parse(ctx, text, (size_t)n, "rule", &p));
    return p;
}

static kiln_array *input(kiln_ctx *ctx)
{
    const float x[3] = {tiny, -tiny, 1};
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(KILN_F32, 3), &a));
    memcpy(a->data, x, sizeof x);
    return a;
}

static void check_rule(kiln_ctx *ctx, const struct rule *r)
{
    kiln_prog *p = program(ctx, r->expression);
    kiln_array *one = input(ctx), *in[2] = {one, one}, *got;
    for (int way = 0; way < 7; way++) { /* the interpreter; levels 0 and 2, in memory and in registers, fused or not */
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = way & 1 ? 2 : 0;
        o.register_elements = way & 2 ? 16 : 0;
        o.no_fusion = way > 4;
        kiln_exec *f = NULL;
        if (way) {
            assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
            assert_ok(ctx, kiln_exec_call(ctx, f, in, &got));
        } else {
            assert_ok(ctx, kiln_prog_eval(ctx, p, in, &got));
        }
        for (int k = 0; k < 3; k++)
            if (memcmp((float *)got->data + k, &r->want[k], sizeof(float)) != 0)
                fail_msg("%s, way %d, element %d: %g, not %g", r->expression, way, k, (double)((float *)got->data)[k], (double)r->want[k]);
        kiln_array_release(got);
        kiln_exec_release(f);
    }
    kiln_array_release(one);
    kiln_prog_release(p);
}

static void zeros(void **state)
{
    (void)state;
    kiln_ctx *ctx = context("flush");
    for (int i = 0; i < N_RULES; i++) check_rule(ctx, &rules[i]);
    kiln_ctx_release(ctx);
}

/* ---- one program, both modes ---- */

static float first_of(kiln_ctx *ctx, const kiln_exec *f, kiln_array *one)
{
    kiln_array *in[2] = {one, one}, *got;
    assert_ok(ctx, kiln_exec_call(ctx, f, in, &got));
    float v = *(float *)got->data;
    kiln_array_release(got);
    return v;
}

static kiln_exec *compiled(kiln_ctx *ctx, const kiln_prog *p, unsigned fast, kiln_cache_use cache)
{
    kiln_exec *f;
    kiln_exec_info info;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.fast = fast;
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    kiln_exec_info_get(f, &info);
    assert_int_equal(info.fast, fast | kiln_ctx_fast(ctx));
    assert_int_equal(info.cache, cache);
    return f;
}

static void in_the_key(void **state)
{
    (void)state;
    char command[1100];
    const char *folder = test_path("flush-cache");
    kiln_ctx *ctx = context("none"), *other = context("flush");
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_ok(ctx, kiln_cache_enable(ctx, folder));
    assert_ok(other, kiln_cache_enable(other, folder));
    kiln_prog *p = program(ctx, "c:f32[3] = mul a 0.5:f32[]");
    kiln_array *one = input(ctx);
    kiln_exec *f[4] = {compiled(ctx, p, 0, KILN_CACHE_MISS), compiled(ctx, p, KILN_FAST_FLUSH, KILN_CACHE_MISS),
                       compiled(ctx, p, 0, KILN_CACHE_HIT), compiled(other, p, 0, KILN_CACHE_HIT)};
    for (int i = 0; i < 4; i++) {
        float v = first_of(ctx, f[i], one);
        assert_true(i % 2 ? v == 0 : v > 0);
        kiln_exec_release(f[i]);
    }
    kiln_array_release(one);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    kiln_ctx_release(other);
    assert_int_equal(system(command), 0);
}

/* ---- the caller's mode ---- */

static const uint32_t modes[] = {KN_FPMODE_DEFAULT, KN_FPMODE_DEFAULT | KN_FPMODE_FLUSHES};

static void kept(void **state)
{
    (void)state;
    static const char endless[] = "{ lambda ; a:f32[]. let b:f32[] = while[body_jaxpr={ lambda ; c:f32[]. let d:f32[] = mul c 0.5:f32[] in (d,) } body_nconsts=0 "
                                  "cond_jaxpr={ lambda ; e:f32[]. let f:bool[] = ge e 0.0:f32[] in (f,) } cond_nconsts=0] a in (b,) }";
    static const char broken[] = "{ lambda ; a:f32[]. let b:f32[2] = mul a 1e-20:f32[] in (b,) }";
    kiln_ctx *ctx = context("flush");
    kiln_prog *p, *q = program(ctx, "c:f32[3] = mul a 0.5:f32[]");
    kiln_exec *f, *g;
    kiln_array *one = input(ctx), *in[2] = {one, one}, *got;
    assert_ok(ctx, kiln_prog_parse(ctx, endless, sizeof endless - 1, "endless", &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &g));
    for (int m = 0; m < 2; m++) {
        float x = 1, y;
        void *buffers[] = {&x, &y};
        bool stop = true;
        kiln_call call = {.stop = &stop};
        kn_fpmode_set(modes[m]);
        int stopped = kiln_exec_run(f, buffers, NULL, &call);
        uint32_t after_stop = kn_fpmode_get();
        kiln_status status = kiln_exec_call(ctx, g, in, &got);
        uint32_t after_call = kn_fpmode_get();
        kiln_array_release(got);
        kiln_status interpreted = kiln_prog_eval(ctx, q, in, &got);
        uint32_t after_eval = kn_fpmode_get();
        kiln_prog *none = NULL;
        kiln_status refused = kiln_prog_parse(ctx, broken, sizeof broken - 1, "broken", &none);
        uint32_t after_refusal = kn_fpmode_get();
        kn_fpmode_set(KN_FPMODE_DEFAULT);
        kiln_array_release(got);
        assert_int_equal(stopped, KILN_CANCELLED);
        assert_int_equal(status, KILN_OK);
        assert_int_equal(interpreted, KILN_OK);
        assert_int_not_equal(refused, KILN_OK);
        uint32_t control = ~(uint32_t)KN_FPMODE_FLAGS;
        assert_int_equal(after_stop & control, modes[m]);
        assert_int_equal(after_call & control, modes[m]);
        assert_int_equal(after_eval & control, modes[m]);
        assert_int_equal(after_refusal & control, modes[m]);
    }
    kiln_array_release(one);
    kiln_exec_release(f);
    kiln_exec_release(g);
    kiln_prog_release(p);
    kiln_prog_release(q);
    kiln_ctx_release(ctx);
}

/* ---- names ---- */

static void names(void **state)
{
    kiln_ctx *ctx = *state, *none;
    unsigned fast;
    assert_int_equal(kiln_fast_read("flush", &fast), KILN_OK);
    assert_int_equal(fast, KILN_FAST_FLUSH);
    assert_string_equal(kiln_fast_text(fast), "flush");
    assert_int_equal(kiln_fast_read("none", &fast), KILN_OK);
    assert_int_equal(fast, 0);
    assert_string_equal(kiln_fast_text(fast), "none");
    assert_int_equal(kiln_fast_read("none,flush", &fast), KILN_OK);
    assert_int_equal(fast, KILN_FAST_FLUSH);
    static const char *const later[] = {"contract", "reassociate", "no_nan", "flush,approx"};
    for (int i = 0; i < 4; i++) assert_int_equal(kiln_fast_read(later[i], &fast), KILN_UNSUPPORTED);
    static const char *const wrong[] = {"", "fast", "flus", "flush,", "flush;none"};
    for (int i = 0; i < 5; i++) assert_int_equal(kiln_fast_read(wrong[i], &fast), KILN_NOTFOUND);
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.fast = "approx";
    assert_int_equal(kiln_ctx_create(&o, &none), KILN_INVALID);
    kiln_prog *p = program(ctx, "c:f32[3] = mul a 0.5:f32[]");
    kiln_compile_opts c = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f;
    c.fast = 6;
    assert_int_equal(kiln_compile(ctx, p, &c, &f), KILN_INVALID);
    assert_says(ctx, "accepted: KILN_FAST_FLUSH");
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(zeros), cmocka_unit_test(in_the_key), cmocka_unit_test(kept), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
