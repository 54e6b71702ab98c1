/* SPDX-License-Identifier: Apache-2.0 */
/* How often functions are traced and compiled, call by call: what counts as the same call, what transformations reuse, what leaves a
 * bounded store, threads, and the reasons given for a trace. */
#include "kiln/jit.h"
#include "kiln/transform.h"
#include "testing.h"

#include "array/array.h"

#include <math.h>
#include <pthread.h>

static void check(kiln_jit_store *s, kiln_jit_counts *before, uint64_t traces, uint64_t compiles, int line)
{
    kiln_jit_counts now;
    kiln_jit_store_counts(s, &now);
    if (now.traces - before->traces != traces || now.compiles - before->compiles != compiles) {
        print_error("%llu traces and %llu compiles, wanted %llu and %llu\n", (unsigned long long)(now.traces - before->traces),
                    (unsigned long long)(now.compiles - before->compiles), (unsigned long long)traces, (unsigned long long)compiles);
        _fail(__FILE__, line);
    }
    *before = now;
}

static void call_with(kiln_ctx *ctx, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n, int line)
{
    kiln_array *out[4] = {NULL};
    test_assert_ok(ctx, kiln_jit(ctx, s, f, args, n, out), "kiln_jit", __FILE__, line);
    for (int i = 0; i < 4; i++) kiln_array_release(out[i]);
}
/* CALL(traces, compiles, f, arguments...) */
#define CALL(traces, compiles, f, ...)                                                                                \
    do {                                                                                                               \
        const kiln_arg args_[] = {__VA_ARGS__};                                                                        \
        call_with(ctx, s, (f), args_, sizeof args_ / sizeof *args_, __LINE__);                                         \
        check(s, &n, (traces), (compiles), __LINE__);                                                                  \
    } while (0)

typedef struct fixture {
    kiln_ctx *ctx;
    kiln_jit_store *s;
    kiln_array *a[16];
    uint32_t n;
} fixture;
static fixture start(void **state)
{
    fixture f = {.ctx = *state};
    assert_ok(f.ctx, kiln_jit_store_create(f.ctx, 0, &f.s));
    return f;
}
static kiln_array *array(fixture *f, const char *text)
{
    assert_true(f->n < 16);
    assert_ok(f->ctx, kiln_array_parse(f->ctx, text, &f->a[f->n]));
    return f->a[f->n++];
}
static void finish(fixture *f)
{
    for (uint32_t i = 0; i < f->n; i++) kiln_array_release(f->a[i]);
    kiln_jit_store_release(f->s);
}
static void assert_why(kiln_jit_store *s, const char *want)
{
    char text[256];
    kiln_why_retrace(s, text, sizeof text);
    assert_string_equal(text, want);
}

static void twice_and_one(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    (void)user, (void)args;
    out[0] = kiln_val_type(t, in[0]).dtype == KILN_BOOL ? kiln_not(t, in[0]) : kiln_add(t, kiln_mul(t, in[0], kiln_num(t, 2)), kiln_num(t, 1));
}

static void shapes_and_types(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    const kiln_fn f = {.body = twice_and_one, .n_out = 1, .name = "f"};
    kiln_array *a = array(&x, "f32[3]:1"), *out;
    assert_why(s, "");
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", a));
    assert_why(s, "f: first call");
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", array(&x, "f32[3]:5")));
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "f32[4]:1")));
    assert_why(s, "f: argument 0 (x) is f32[4], before f32[3]");
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "f32[3,3]:1")));
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "i32[3]:1")));
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", a));
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "f64[3]:1")));
    assert_ok(ctx, kiln_jit(ctx, s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", array(&x, "f32[3]:5"))}, 1, &out));
    assert_true(((const float *)out->data)[2] == 11);
    kiln_array_release(out);
    kiln_jit_store_clear(s);
    kiln_jit_store_counts(s, &n);
    assert_int_equal(n.bytes, 0);
    assert_int_equal(n.programs, 0);
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", a));
    finish(&x);
}

/* A number is a typed scalar. */
static void weak_scalars(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    const kiln_fn f = {.body = twice_and_one, .n_out = 1, .name = "f"};
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "f32[]:1")));
    CALL(0, 0, &f, KILN_ARG_NUMBER("x", 1.0));
    CALL(0, 0, &f, KILN_ARG_NUMBER("x", 2.0));
    CALL(1, 1, &f, KILN_ARG_INTEGER("x", 1));
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", array(&x, "i32[]:1")));
    CALL(1, 1, &f, KILN_ARG_FLAG("x", true));
    finish(&x);
}

static void power(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    int n;
    (void)user;
    memcpy(&n, args[1].value, sizeof n);
    out[0] = in[0];
    for (int i = 1; i < n; i++) out[0] = kiln_mul(t, out[0], in[0]);
}

static void static_arguments(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    const kiln_fn f = {.body = power, .n_out = 1, .name = "power"};
    kiln_array *a = array(&x, "f32[3]:2");
    int two = 2, three = 3, also_three = 3;
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", a), KILN_ARG_STATIC("n", &two, sizeof two));
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", a), KILN_ARG_STATIC("n", &two, sizeof two));
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", a), KILN_ARG_STATIC("n", &three, sizeof three));
    assert_why(s, "power: argument 1 (n) is 3, before 2");
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", a), KILN_ARG_STATIC("n", &two, sizeof two));
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", a), KILN_ARG_STATIC("n", &also_three, sizeof also_three));
    finish(&x);
}

typedef struct scale {
    double by;
} scale;
static void scaled(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    (void)args;
    out[0] = kiln_mul(t, in[0], kiln_num(t, ((const scale *)user)->by));
}
static void scaled_too(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out) { scaled(t, user, args, in, out); }

/* The callback and what its data hold decide, not where they stand or when they were put together. Equal programs share their code. */
static void function_identity(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    kiln_array *a = array(&x, "f32[3]:2");
    scale one = {3}, other = {3}, third = {4};
    CALL(1, 1, (&(kiln_fn){.body = scaled, .user = &one, .user_bytes = sizeof one, .n_out = 1, .name = "scaled"}), KILN_ARG_ARRAY("x", a));
    CALL(0, 0, (&(kiln_fn){.body = scaled, .user = &other, .user_bytes = sizeof other, .n_out = 1, .name = "scaled"}), KILN_ARG_ARRAY("x", a));
    CALL(1, 1, (&(kiln_fn){.body = scaled, .user = &third, .user_bytes = sizeof third, .n_out = 1, .name = "scaled"}), KILN_ARG_ARRAY("x", a));
    assert_why(s, "scaled: the user data differ");
    CALL(1, 0, (&(kiln_fn){.body = scaled_too, .user = &one, .user_bytes = sizeof one, .n_out = 1, .name = "scaled_too"}), KILN_ARG_ARRAY("x", a));
    assert_why(s, "scaled_too: first call");
    CALL(1, 0, (&(kiln_fn){.body = scaled, .user = &one, .n_out = 1}), KILN_ARG_ARRAY("x", a)); /* by address */
    CALL(0, 0, (&(kiln_fn){.body = scaled, .user = &one, .n_out = 1}), KILN_ARG_ARRAY("x", a));
    finish(&x);
}

/* Options are part of the code, not of the trace. */
static void settings(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    kiln_array *a = array(&x, "f32[3]:2");
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.vector_bits = 128;
    const kiln_fn f = {.body = twice_and_one, .n_out = 1}, g = {.body = twice_and_one, .n_out = 1, .opts = &o};
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", a));
    CALL(0, 1, &g, KILN_ARG_ARRAY("x", a));
    CALL(0, 0, &f, KILN_ARG_ARRAY("x", a));
    CALL(0, 0, &g, KILN_ARG_ARRAY("x", a));
    finish(&x);
}

static void transforms(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    kiln_array *out;
    const kiln_fn f = {.body = twice_and_one, .n_out = 1, .name = "f"};
    kiln_fn v = f;
    v.transform = "vmap:0";
    CALL(1, 1, &f, KILN_ARG_ARRAY("x", array(&x, "f32[3]:1")));
    CALL(0, 1, &v, KILN_ARG_ARRAY("x", array(&x, "f32[2,3]:1")));
    CALL(0, 1, &v, KILN_ARG_ARRAY("x", array(&x, "f32[5,3]:1")));
    CALL(0, 0, &v, KILN_ARG_ARRAY("x", array(&x, "f32[5,3]:2")));
    v.transform = "vmap:1(vmap:0)";
    CALL(0, 1, &v, KILN_ARG_ARRAY("x", array(&x, "f32[2,4,3]:1")));
    CALL(1, 1, &v, KILN_ARG_ARRAY("x", array(&x, "f32[2,4,7]:1"))); /* another type inside */
    assert_why(s, "f: argument 0 (x) is f32[7], before f32[3]");
    v.transform = "no such word";
    assert_int_equal(kiln_jit(ctx, s, &v, (kiln_arg[]){KILN_ARG_ARRAY("x", array(&x, "f32[3]:1"))}, 1, &out), KILN_INVALID);
    finish(&x);
}

static void failing(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    (void)user, (void)args;
    out[0] = kiln_add(t, in[0], kiln_slice(t, in[0], ((int64_t[]){0}), ((int64_t[]){2}), NULL));
}
typedef struct inner_call {
    kiln_ctx *ctx;
    kiln_jit_store *s;
    kiln_array *a;
    kiln_status status;
    bool same; /* the body calls itself */
} inner_call;
static void outer(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    inner_call *c = user;
    kiln_array *y = NULL;
    const kiln_fn f = {.body = c->same ? outer : twice_and_one, .user = c->same ? c : NULL, .n_out = 1};
    (void)args;
    c->status = kiln_jit(c->ctx, c->s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", c->a)}, 1, &y);
    kiln_array_release(y);
    out[0] = kiln_neg(t, in[0]);
}

/* A function called inside others is traced once for each type, wherever it is called. */
typedef struct nest {
    kiln_jit_store *s;
    const kiln_fn *inner;
} nest;
static void three_calls(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    const nest *n = user;
    (void)args;
    out[0] = in[0];
    for (int i = 0; i < 3; i++) kiln_jit_inside(t, n->s, n->inner, &KILN_ARG_VALUE("x"), 1, &out[0], &out[0]);
}
static void two_shapes(kiln_trace *t, void *user, const kiln_arg *args, const kiln_val *in, kiln_val *out)
{
    const nest *n = user;
    kiln_val head = kiln_slice(t, in[0], ((int64_t[]){0}), ((int64_t[]){2}), NULL);
    (void)args;
    kiln_jit_inside(t, n->s, n->inner, &KILN_ARG_VALUE("x"), 1, &in[0], &out[0]);
    kiln_jit_inside(t, n->s, n->inner, &KILN_ARG_VALUE("x"), 1, &head, &out[1]);
}
static void nested(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n = {0};
    kiln_array *a = array(&x, "f32[3]:1,2,3"), *out;
    const kiln_fn f = {.body = twice_and_one, .n_out = 1, .name = "f"};
    nest own = {s, &f};
    const kiln_fn g = {.body = three_calls, .user = &own, .n_out = 1, .name = "g"}, h = {.body = two_shapes, .user = &own, .n_out = 2, .name = "h"};
    CALL(2, 1, &g, KILN_ARG_ARRAY("x", a)); /* g, f at f32[3] */
    assert_ok(ctx, kiln_jit(ctx, s, &g, (kiln_arg[]){KILN_ARG_ARRAY("x", a)}, 1, &out));
    assert_true(((const float *)out->data)[2] == 31);
    kiln_array_release(out);
    CALL(2, 1, &h, KILN_ARG_ARRAY("x", a)); /* h, f at f32[2] */
    CALL(0, 1, &f, KILN_ARG_ARRAY("x", a)); /* traced already, compiled alone now */
    kiln_fn v = f;
    v.transform = "vmap:0";
    own.inner = &v; /* in other data by address: the same g, but it is kept */
    CALL(0, 0, &g, KILN_ARG_ARRAY("x", a));
    nest mapped = {s, &v};
    const kiln_fn k = {.body = three_calls, .user = &mapped, .n_out = 1, .name = "k"};
    CALL(1, 1, &k, KILN_ARG_ARRAY("x", array(&x, "f32[4,3]:1"))); /* k; f over lanes has its trace */
    finish(&x);
}

/* Nothing of a call that fails is kept; a body may call other functions, but not itself. */
static void failures(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_jit_store *s = x.s;
    kiln_jit_counts n;
    kiln_array *a = array(&x, "f32[3]:2"), *out = NULL;
    const kiln_fn bad = {.body = failing, .n_out = 1};
    for (int i = 0; i < 2; i++) assert_int_equal(kiln_jit(ctx, s, &bad, (kiln_arg[]){KILN_ARG_ARRAY("x", a)}, 1, &out), KILN_SHAPE);
    kiln_jit_store_counts(s, &n);
    assert_int_equal(n.bytes, 0);
    inner_call c = {.ctx = ctx, .s = s, .a = a};
    const kiln_fn f = {.body = outer, .user = &c, .n_out = 1};
    assert_ok(ctx, kiln_jit(ctx, s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", a)}, 1, &out));
    assert_int_equal(c.status, KILN_OK);
    kiln_array_release(out);
    kiln_jit_store_clear(s);
    c.same = true;
    kiln_status status = kiln_jit(ctx, s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", a)}, 1, &out);
    assert_int_equal(c.status, KILN_INVALID);
    if (status == KILN_OK) kiln_array_release(out);
    finish(&x);
}

static void refused_arguments(void **state)
{
    fixture x = start(state);
    kiln_ctx *ctx = x.ctx;
    kiln_array *out = NULL;
    const kiln_fn f = {.body = twice_and_one, .name = "twice", .n_out = 1};
    kiln_arg complex = KILN_ARG_NUMBER("x", 1);
    complex.dtype = KILN_C64;
    assert_int_equal(kiln_jit(ctx, x.s, &f, &complex, 1, &out), KILN_DTYPE);
    assert_says(ctx, "twice: argument 0 is a number of type c64");
    const double wrong[] = {1e10, 0.5, NAN};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kiln_jit(ctx, x.s, &f, (kiln_arg[]){KILN_ARG_INTEGER("x", wrong[i])}, 1, &out), KILN_INVALID);
        assert_says(ctx, "integers of 32 bits");
    }
    assert_int_equal(kiln_jit(ctx, x.s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", NULL)}, 1, &out), KILN_INVALID);
    assert_says(ctx, "holds no array");
    assert_null(out);
    finish(&x);
}

/* The least recently used leave. */
static void bounded(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_jit_store *s;
    kiln_jit_counts n = {0};
    assert_ok(ctx, kiln_jit_store_create(ctx, 1, &s)); /* room for nothing: what was called last stays */
    const kiln_fn f = {.body = twice_and_one, .n_out = 1};
    CALL(1, 1, &f, KILN_ARG_NUMBER("x", 1));
    CALL(0, 0, &f, KILN_ARG_NUMBER("x", 1));
    CALL(1, 1, &f, KILN_ARG_INTEGER("x", 1));
    CALL(1, 1, &f, KILN_ARG_NUMBER("x", 1));
    assert_int_equal(n.evictions, 2);
    assert_int_equal(n.programs, 1);
    uint64_t one = n.bytes;
    kiln_jit_store_release(s);
    assert_ok(ctx, kiln_jit_store_create(ctx, (size_t)(5 * one / 2), &s)); /* room for two */
    n = (kiln_jit_counts){0};
    CALL(1, 1, &f, KILN_ARG_NUMBER("x", 1));
    CALL(1, 1, &f, KILN_ARG_INTEGER("x", 1));
    CALL(0, 0, &f, KILN_ARG_NUMBER("x", 1));
    CALL(1, 1, &f, KILN_ARG_FLAG("x", 1));   /* the integers leave */
    CALL(0, 0, &f, KILN_ARG_NUMBER("x", 1));
    CALL(1, 1, &f, KILN_ARG_INTEGER("x", 1));
    assert_true(n.bytes <= 5 * one / 2);
    kiln_jit_store_release(s);
}

enum { THREADS = 4, ROUNDS = 50 };
typedef struct worker {
    kiln_jit_store *s;
    int failures;
} worker;
static void *work(void *ud)
{
    worker *w = ud;
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) {
        w->failures++;
        return NULL;
    }
    const kiln_fn f = {.body = power, .n_out = 1};
    for (int i = 0; i < ROUNDS; i++) {
        int n = 1 + i % 5;
        kiln_array *out;
        if (kiln_jit(ctx, w->s, &f, (kiln_arg[]){KILN_ARG_NUMBER("x", 2), KILN_ARG_STATIC("n", &n, sizeof n)}, 2, &out) != KILN_OK) {
            w->failures++;
            continue;
        }
        w->failures += *(const float *)out->data != (float)(1 << n);
        kiln_array_release(out);
    }
    kiln_ctx_release(ctx);
    return NULL;
}
static void threads(void **state)
{
    fixture x = start(state);
    pthread_t id[THREADS];
    worker w[THREADS];
    kiln_jit_counts n;
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){x.s, 0};
        assert_int_equal(pthread_create(&id[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
        assert_int_equal(w[i].failures, 0);
    }
    kiln_jit_store_counts(x.s, &n);
    assert_int_equal(n.traces, 5);
    assert_int_equal(n.compiles, 5);
    assert_int_equal(n.calls, THREADS * ROUNDS);
    finish(&x);
}

/* Whichever allocation fails, the call says so, keeps nothing and leaks nothing. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        kiln_jit_store *s = NULL;
        kiln_array *out = NULL;
        const kiln_fn f = {.body = twice_and_one, .n_out = 1, .transform = "vmap:0*3"};
        if (!ctx) continue;
        kiln_array *a = NULL;
        kiln_status status = kiln_jit_store_create(ctx, 0, &s);
        if (status == KILN_OK) status = kiln_array_parse(ctx, "f32[3]:1", &a);
        if (status == KILN_OK) status = kiln_jit(ctx, s, &f, (kiln_arg[]){KILN_ARG_ARRAY("x", a)}, 1, &out);
        done = !test_ctx_failed(ctx);
        if (done) assert_int_equal(status, KILN_OK);
        if (status == KILN_OK) kiln_array_release(out);
        else assert_int_equal(status, KILN_NOMEM);
        kiln_array_release(a);
        kiln_jit_store_release(s);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_and_types), cmocka_unit_test(weak_scalars), cmocka_unit_test(static_arguments),
                                       cmocka_unit_test(function_identity), cmocka_unit_test(settings), cmocka_unit_test(transforms),
                                       cmocka_unit_test(nested), cmocka_unit_test(failures), cmocka_unit_test(refused_arguments), cmocka_unit_test(bounded), cmocka_unit_test(threads), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
