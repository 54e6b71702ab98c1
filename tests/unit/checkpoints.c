/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of reverse mode, in bytes of the compiled program: checkpointed loops keep a root or a logarithm of their states, a while a fixed
 * number of snapshots; updates in loops accumulate into one array. The bits are those without a checkpoint. */
#include "array/array.h"
#include "ir/prim.h"
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { STATE = 500, MOST = 8 };

/* A scan of `length` trips over STATE numbers, with slices and stacked results. */
static kiln_prog *loop(kiln_ctx *ctx, int length, bool reverse)
{
    char text[2048];
    kiln_prog *p;
    snprintf(text, sizeof text,
             "{ lambda ; w:f64[%d] x:f64[%d] s:f64[%d]. let y:f64[%d] z:f64[%d] = scan[jaxpr={ lambda ; w:f64[%d] c:f64[%d] t:f64[]. let\n"
             "    a:f64[%d] = mul c w; b:f64[%d] = sin a; d:f64[%d] = mul b t; e:f64[] = reduce_sum[axes=(0,) out_sharding=None] d in (b, e) }\n"
             "    length=%d num_carry=1 num_consts=1 reverse=%s unroll=1] w x s\n"
             "  u:f64[%d] = mul z s; v:f64[] = reduce_sum[axes=(0,) out_sharding=None] u; q:f64[] = reduce_sum[axes=(0,) out_sharding=None] y; r:f64[] = add q v in (r,) }",
             STATE, STATE, length, STATE, length, STATE, STATE, STATE, STATE, STATE, length, reverse ? "True" : "False", length);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}

/* Runs a word; returns bytes of scratch. Results are compared with `want` (or become it). */
static double run(kiln_ctx *ctx, const kiln_prog *p, const char *word, kiln_array *const *in, kiln_array **want, bool first)
{
    kiln_prog *q;
    kiln_exec *f;
    kiln_array *got[MOST];
    kiln_exec_info info;
    assert_ok(ctx, kiln_prog_transform(ctx, p, word, NULL, 0, &q));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, first ? want : got));
    for (uint32_t k = 0; !first && k < kiln_prog_n_outputs(q); k++) {
        if (!same_array(got[k], want[k], NULL)) fail_msg("%s: result %u differs", word, k);
        kiln_array_release(got[k]);
    }
    kiln_exec_info_get(f, &info);
    kiln_exec_release(f);
    kiln_prog_release(q);
    return (double)info.scratch_bytes;
}

static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, double first)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t i = 0, n = kiln_type_size(t); i < n; i++) {
        kn_scalar v = {.f = first + sin((double)i)};
        if (kiln_dtype_kind(t.dtype) != 'f') v = (kn_scalar){.i = i};
        kn_scalar_store(t.dtype, a->data, i, v);
    }
    return a;
}

static void scans(void **state)
{
    static const int lengths[] = {1000, 64, 97};
    kiln_ctx *ctx = *state;
    for (int k = 0; k < 6; k++) {
        int n = lengths[k / 2];
        kiln_prog *p = loop(ctx, n, k % 2);
        kiln_array *in[3], *want[MOST];
        for (uint32_t i = 0; i < 3; i++) in[i] = numbers(ctx, kiln_prog_input_type(p, i), 1 + i);
        double all = run(ctx, p, "value_and_grad:0,1,2", in, want, true), one = (double)STATE * 8;
        double root = run(ctx, p, "value_and_grad:0,1,2(checkpoint)", in, want, false), least = run(ctx, p, "value_and_grad:0,1,2(checkpoint:log)", in, want, false);
        assert_true(all > 2 * n * one);
        if (n == 1000) {
            assert_true(root < 4 * sqrt(1000) * one);
            assert_true(least < 10 * log2(1000) * one);
        }
        assert_true(root < all && least < root);
        for (int i = 0; i < 3; i++) kiln_array_release(in[i]);
        for (int i = 0; i < 4; i++) kiln_array_release(want[i]);
        kiln_prog_release(p);
    }
}

/* Loops inside of calls, branches and loops run in segments too, and what is shared stays shared. */
static void inside(void **state)
{
    static const struct {
        const char *what, *before, *after;
        bool twice;
    } forms[] = {{"jit", "jit[name=f jaxpr=", "] x", false}, {"cond", "cond[branches=(", ")] 1:i32[] x", true},
                 {"scan", "scan[jaxpr=", " length=2 num_carry=1 num_consts=0 reverse=False unroll=1] x", false},
                 {"while", "while[body_jaxpr=", " body_nconsts=0 cond_jaxpr={ lambda ; c:f64[200]. let a:f64[] = reduce_sum[axes=(0,) out_sharding=None] c; p:bool[] = gt a 60.0:f64[] in (p,) } cond_nconsts=0] x", false}};
    const char *body = "{ lambda ; c:f64[200]. let y:f64[200] = scan[jaxpr={ lambda ; c:f64[200]. let a:f64[200] = sin c; b:f64[200] = mul a 1.01:f64[] in (b,) }\n"
                       "      length=500 num_carry=1 num_consts=0 reverse=False unroll=1] c in (y,) }";
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[4096];
        kiln_prog *p;
        kiln_array *in, *want[MOST];
        snprintf(text, sizeof text, "{ lambda ; x:f64[200]. let y:f64[200] = %s%s %s%s; s:f64[] = reduce_sum[axes=(0,) out_sharding=None] y in (s,) }", forms[i].before, body,
                 forms[i].twice ? body : "", forms[i].after);
        assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
        in = numbers(ctx, kiln_prog_input_type(p, 0), 1);
        double one = 200 * 8, all = run(ctx, p, "value_and_grad:0", &in, want, true);
        double root = run(ctx, p, "value_and_grad:0(checkpoint)", &in, want, false), least = run(ctx, p, "value_and_grad:0(checkpoint:log)", &in, want, false);
        if (all < 500 * one || root > 200 * one || least > root)
            fail_msg("%s: %.0f states, %.0f, %.0f", forms[i].what, all / one, root / one, least / one);
        kiln_array_release(in);
        for (int k = 0; k < 2; k++) kiln_array_release(want[k]);
        kiln_prog_release(p);
    }
}

/* Memory of a loop without a bound does not depend on its trips; that of what it computes again is the interpreter's business. */
static void whiles(void **state)
{
    const char *text = "{ lambda ; a:f64[500] k:i32[]. let i:i32[] b:f64[500] = while[body_jaxpr={ lambda ; n:i32[] c:f64[500]. let d:f64[500] = sin c; m:i32[] = sub n 1:i32[] in (m, d) }\n"
                       "    body_nconsts=0 cond_jaxpr={ lambda ; n:i32[] c:f64[500]. let p:bool[] = gt n 0:i32[] in (p,) } cond_nconsts=0] k a\n"
                       "  s:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (s,) }";
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    kiln_array *in[2], *want[MOST];
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    in[0] = numbers(ctx, kiln_prog_input_type(p, 0), 0);
    assert_ok(ctx, kiln_array_parse(ctx, "i32[]:3000", &in[1]));
    double bytes = run(ctx, p, "value_and_grad:0", in, want, true);
    assert_true(bytes < 80 * 500 * 8.0);
    double slope = 1, x = sin(7.0);
    for (int k = 0; k < 3000; k++) slope *= cos(x), x = sin(x);
    assert_true(fabs(((double *)want[1]->data)[7] - slope) <= 1e-9 * fabs(slope));
    for (int i = 0; i < 2; i++) kiln_array_release(in[i]), kiln_array_release(want[i]);
    kiln_prog_release(p);
}

/* What is kept of a loop with about so many trips, and how many trips the way back makes: counted in the call. */
typedef struct plan {
    const char *said, *word;
    int64_t states; /* of the record */
    double sweeps;  /* at most, over 1000 trips, with the one that counts */
} plan;
static const plan plans[] = {
    {"", "grad:0", 64 + 1, 3},
    {" max_trips=20", "grad:0", 20 + 1, 4},
    {" max_trips=1000 record=root", "grad:0", 44 + 1, 3},
    {" max_trips=1000 record=log", "grad:0", 7 + 1, 7},
    {" max_trips=1000 record=all", "grad:0", 1000 + 1, 1},
    {" max_trips=1000", "grad:0(checkpoint:log)", 7 + 1, 7},
    {"", "grad:0(checkpoint:log,1000)", 7 + 1, 7},
    {"", "grad:0(checkpoint:1000)", 44 + 1, 3},
    {"", "grad:0(checkpoint:root,1000)", 44 + 1, 3},
    {"", "grad:0(checkpoint:everything,1000)", 1000 + 1, 1},
    {" max_trips=1000 record=root", "grad:0(checkpoint:log,30)", 44 + 1, 3}, /* the loop itself knows best */
};

static void record_of(kiln_ctx *ctx, const plan *g, const int *trips, uint32_t n)
{
    char text[1024], count[32];
    kiln_prog *p, *q;
    kiln_exec *f;
    kiln_exec_info info;
    snprintf(text, sizeof text,
             "{ lambda ; a:f64[2] k:i32[]. let i:i32[] b:f64[2] = while[body_jaxpr={ lambda ; w:f64[2] n:i32[] c:f64[2]. let d:f64[2] = sin c; e:f64[2] = mul d w; m:i32[] = sub n 1:i32[] in (m, e) }\n"
             "    body_nconsts=1 cond_jaxpr={ lambda ; n:i32[] c:f64[2]. let p:bool[] = gt n 0:i32[] in (p,) } cond_nconsts=0%s] a k a\n"
             "  s:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (s,) }",
             g->said);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_ok(ctx, kiln_prog_transform(ctx, p, g->word, NULL, 0, &q));
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    kiln_exec_info_get(f, &info);
    assert_int_equal(info.record_bytes, (uint64_t)(g->states * (2 * 8 + 8))); /* the carry that is kept, and where it belongs; not what counts the trips */
    for (uint32_t k = 0; k < n; k++) {
        kiln_array *in[2], *got, *same;
        kiln_run_counts before, after, last;
        snprintf(count, sizeof count, "i32[]:%d", trips[k]);
        assert_ok(ctx, kiln_array_parse(ctx, "f64[2]:1.2,0.9", &in[0]));
        assert_ok(ctx, kiln_array_parse(ctx, count, &in[1]));
        kiln_run_counts_get(ctx, &before);
        assert_ok(ctx, kiln_exec_call(ctx, f, in, &got));
        kiln_run_counts_get(ctx, &after);
        assert_ok(ctx, kiln_prog_eval(ctx, q, in, &same));
        kiln_run_counts_get(ctx, &last);
        uint64_t made = after.trips - before.trips;
        assert_true(same_array(got, same, NULL));
        assert_int_equal(made, last.trips - after.trips);
        assert_int_equal(made, after.lane_steps - before.lane_steps);
        if (trips[k] < g->states) assert_int_equal(made, trips[k]); /* only what was made is visited */
        else if (trips[k] == 1000) assert_true((double)made <= g->sweeps * 1000);
        for (int i = 0; i < 2; i++) {
            double w = ((double *)in[0]->data)[i], x = w, dx = 1; /* of x in w */
            for (int s = 0; s < trips[k]; s++) dx = cos(x) * dx * w + sin(x), x = sin(x) * w;
            assert_true(fabs(((double *)got->data)[i] - dx) <= 1e-11 * (1 + fabs(dx)));
        }
        for (int i = 0; i < 2; i++) kiln_array_release(in[i]);
        kiln_array_release(got);
        kiln_array_release(same);
    }
    kiln_exec_release(f);
    kiln_prog_release(q);
    kiln_prog_release(p);
}
static void records(void **state)
{
    static const int trips[] = {0, 1, 2, 7, 20, 21, 45, 64, 65, 99, 1000, 1400};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) record_of(*state, &plans[i], trips, sizeof trips / sizeof *trips);
}

/* Value and gradient of a loop: it runs forwards once. The forward derivative of that keeps tangents beside the states. */
static void once_forwards(void **state)
{
    static const char text[] = "{ lambda ; a:f64[2] k:i32[]. let\n"
                               "  i:i32[] b:f64[2] = while[body_jaxpr={ lambda ; w:f64[2] n:i32[] c:f64[2]. let d:f64[2] = sin c; e:f64[2] = mul d w; m:i32[] = sub n 1:i32[] in (m, e) }\n"
                               "    body_nconsts=1 cond_jaxpr={ lambda ; n:i32[] c:f64[2]. let p:bool[] = gt n 0:i32[] in (p,) } cond_nconsts=0] a k a\n"
                               "  s:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (s,) }";
    static const struct {
        const char *word;
        uint32_t nin;
        uint64_t row; /* bytes */
    } cases[] = {{"value_and_grad:0", 2, 8 + 2 * 8}, {"grad:0", 2, 8 + 2 * 8}, {"jvp:0(value_and_grad:0)", 3, 8 + 2 * 2 * 8}, {"vmap:0*3,None(value_and_grad:0)", 2, 8 + 3 * 2 * 8}};
    kiln_ctx *ctx = *state;
    kiln_prog *p, *q;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_exec *f;
        kiln_exec_info info;
        kiln_run_counts before, after;
        kiln_array *in[3], *got[4], *same[4];
        assert_ok(ctx, kiln_prog_transform(ctx, p, cases[i].word, NULL, 0, &q));
        assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
        kiln_exec_info_get(f, &info);
        assert_int_equal(info.record_bytes, 65 * cases[i].row);
        for (uint32_t k = 0; k < cases[i].nin; k++) in[k] = numbers(ctx, kiln_prog_input_type(q, k), 0);
        kiln_array_release(in[1]);
        assert_ok(ctx, kiln_array_parse(ctx, "i32[]:40", &in[1]));
        kiln_run_counts_get(ctx, &before);
        assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
        kiln_run_counts_get(ctx, &after);
        assert_ok(ctx, kiln_prog_eval(ctx, q, in, same));
        assert_int_equal(after.trips - before.trips, 40);
        for (uint32_t k = 0; k < kiln_prog_n_outputs(q); k++) {
            assert_true(same_array(got[k], same[k], NULL));
            kiln_array_release(got[k]);
            kiln_array_release(same[k]);
        }
        for (uint32_t k = 0; k < cases[i].nin; k++) kiln_array_release(in[k]);
        kiln_exec_release(f);
        kiln_prog_release(q);
    }
    kiln_prog_release(p);
}

static void refused_records(void **state)
{
    static const char *const bad[][2] = {{"max_trips=-1", "max_trips is -1"}, {"record=root", "needs max_trips"}, {"max_trips=9 record=most", "root, log or all"},
                                         {"lanes=-2", "lanes is -2"}};
    kiln_ctx *ctx = *state;
    kiln_prog *p;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{ lambda ; a:f64[]. let b:f64[] = while[body_jaxpr={ lambda ; c:f64[]. let d:f64[] = sin c in (d,) } body_nconsts=0\n"
                 "    cond_jaxpr={ lambda ; c:f64[]. let p:bool[] = gt c 0.5:f64[] in (p,) } cond_nconsts=0 %s] a in (b,) }", bad[i][0]);
        assert_int_equal(kiln_prog_parse(ctx, text, strlen(text), "text", &p), KILN_INVALID);
        assert_says(ctx, bad[i][1]);
    }
    const char *plain = "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }";
    static const char *const words[] = {"checkpoint:dots,9", "checkpoint:1,2", "checkpoint:log,1234567890123456789"};
    assert_ok(ctx, kiln_prog_parse(ctx, plain, strlen(plain), "text", &p));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        kiln_prog *q;
        assert_int_equal(kiln_prog_transform(ctx, p, words[i], NULL, 0, &q), KILN_INVALID);
        assert_says(ctx, "trips of while loops");
    }
    kiln_prog_release(p);
}

/* ---- updates in loops ---- */

static uint64_t count(kiln_ctx *ctx, const kiln_prog *p, const char *word, const char *what)
{
    kiln_prog *q;
    char *text;
    size_t n;
    uint64_t found = 0;
    assert_ok(ctx, kiln_prog_transform(ctx, p, word, NULL, 0, &q));
    assert_ok(ctx, kiln_prog_print(ctx, q, 0, &text, &n));
    for (const char *s = text; (s = strstr(s, what)); s++) found++;
    kiln_text_free(ctx, text, n);
    kiln_prog_release(q);
    return found;
}

/* y[i] = sin(y[i - 1]): the way back has one array, and each trip touches a row. */
static kiln_prog *filling(kiln_ctx *ctx, int n)
{
    char text[2048];
    kiln_prog *p;
    snprintf(text, sizeof text,
             "{ lambda ; a:f64[%d]. let i:i32[] b:f64[%d] = scan[jaxpr={ lambda ; i:i32[] y:f64[%d]. let\n"
             "    c:f64[1] = dynamic_slice[slice_sizes=(1,)] y i; d:f64[1] = sin c; j:i32[] = add i 1:i32[]; e:f64[%d] = dynamic_update_slice y d j in (j, e) }\n"
             "    length=%d num_carry=2 num_consts=0 reverse=False unroll=1] 0:i32[] a\n"
             "  s:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (s,) }",
             n, n, n, n, n - 1);
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    return p;
}
static void updates(void **state)
{
    kiln_ctx *ctx = *state;
    double bytes[2];
    for (int k = 0; k < 2; k++) {
        int n = k ? 2000 : 1000;
        kiln_prog *p = filling(ctx, n), *q;
        kiln_array *in = numbers(ctx, kiln_prog_input_type(p, 0), 0.5), *want[MOST];
        kiln_exec *f;
        kiln_exec_info info;
        bytes[k] = run(ctx, p, "grad:0", &in, want, true);
        assert_ok(ctx, kiln_prog_transform(ctx, p, "grad:0", NULL, 0, &q));
        assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
        kiln_exec_info_get(f, &info);
        assert_true(info.copies <= 1); /* the first value, which is an input */
        /* the derivative of the i-th sine of a[0] in a[0], summed */
        double slope = 1, sum = 1, x = ((double *)in->data)[0];
        for (int i = 1; i < n; i++) slope *= cos(x), x = sin(x), sum += slope;
        assert_true(fabs(((double *)want[0]->data)[0] - sum) < 1e-12 * sum);
        kiln_exec_release(f);
        kiln_prog_release(q);
        kiln_array_release(in);
        kiln_array_release(want[0]);
        kiln_prog_release(p);
    }
    assert_true(bytes[1] <= 2.1 * bytes[0]);
    assert_true(bytes[0] < 8 * 1000 * 8.0); /* arrays of 1000, not one for each of 1000 trips */
}

/* A shared start: one update of all lanes, no scatter. */
static void lanes(void **state)
{
    kiln_ctx *ctx = *state;
    const char *text = "{ lambda ; a:f64[9] u:f64[2] i:i32[]. let b:f64[9] = dynamic_update_slice a u i in (b,) }";
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    assert_int_equal(count(ctx, p, "vmap:0*4,0,None", "= dynamic_update_slice"), 1);
    assert_int_equal(count(ctx, p, "vmap:0*4,None,None", "= dynamic_update_slice"), 1);
    assert_int_equal(count(ctx, p, "vmap:0*4,0,None", "scatter"), 0);
    assert_int_equal(count(ctx, p, "vmap:0*4,0,0", "= scatter"), 1);
    kiln_prog_release(p);
    p = filling(ctx, 20);
    assert_int_equal(count(ctx, p, "vmap:0*4", "= dynamic_update_slice"), 1);
    assert_int_equal(count(ctx, p, "vmap:0*4(grad:0)", "scatter"), 0);
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scans), cmocka_unit_test(inside), cmocka_unit_test(whiles), cmocka_unit_test(records), cmocka_unit_test(once_forwards), cmocka_unit_test(refused_records), cmocka_unit_test(updates), cmocka_unit_test(lanes)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
