/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms over threads: lines of every kind and along every dimension give the bits of one thread, whatever pieces they come in;
 * long work wakes the pool, short work does not; each thread has workspace of its own. */
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"
#include "run/stages.h"

enum { MOST_THREADS = 5 };

static kiln_ctx *context(unsigned threads)
{
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    kiln_ctx *ctx;
    o.threads = threads;
    assert_int_equal(kiln_ctx_create(&o, &ctx), KILN_OK);
    return ctx;
}

static kiln_pool_counts counts(void)
{
    kiln_pool_counts c;
    kiln_pool_counts_get(&c);
    return c;
}

static kiln_array *numbers(kiln_ctx *ctx, kiln_type t)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    bool narrow = t.dtype == KILN_F32 || t.dtype == KILN_C64;
    size_t n = kiln_array_bytes(a) / (narrow ? sizeof(float) : sizeof(double));
    void *data = kiln_array_data(a);
    for (size_t k = 0; k < n; k++) {
        double x = (double)((k * 7919 + 13) % 100003) / 50000 - 1;
        if (narrow) ((float *)data)[k] = (float)x;
        else ((double *)data)[k] = x;
    }
    return a;
}

static kiln_prog *program(kiln_ctx *ctx, const char *text)
{
    kiln_prog *p;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "fft_threads", &p));
    return p;
}

/* With `split_cost` (0: the usual one), by 1 to MOST_THREADS threads: bits of the interpreter's. */
static uint64_t check(const char *text, double split_cost)
{
    kiln_ctx *ctx = context(MOST_THREADS);
    kiln_prog *p = program(ctx, text);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f;
    kiln_exec_info info;
    o.split_cost = split_cost;
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    kiln_exec_info_get(f, &info);
    kiln_array *in = numbers(ctx, kiln_prog_input_type(p, 0)), *want, *got;
    assert_ok(ctx, kiln_prog_eval(ctx, p, &in, &want));
    for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
        kiln_pool_counts before = counts();
        ctx->threads = threads;
        assert_ok(ctx, kiln_exec_call(ctx, f, &in, &got));
        bool split = counts().calls > before.calls;
        if (split != (threads > 1 && info.splits > 0)) fail_msg("%u threads, %u splits: %s\n%s", threads, (unsigned)info.splits, split ? "split" : "not split", text);
        if (!same_array(got, want, NULL)) fail_msg("%u threads differ: %s", threads, text);
        kiln_array_release(got);
    }
    kiln_array_release(in);
    kiln_array_release(want);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    return info.splits;
}

/* Every kind and width; one dimension to three, batches, lengths through the chirp, odd ones, lines that fill no group. */
static void every_kind(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *half, *lengths;
    } shapes[] = {
        {"64,48", "64,25", "48"}, {"50,67", "50,34", "67"}, {"40,36", "40,19", "40, 36"}, {"7,12,30", "7,12,16", "12, 30"}, {"3,5,9,21", "3,5,9,11", "5, 9, 21"},
        {"300,9,11", "300,9,6", "9, 11"}, {"2,5,900", "2,5,451", "5, 900"}, {"33,2,2", "33,2,2", "2, 2"}, {"700,128", "700,65", "128"},
    };
    static const char *const real[] = {"f32", "f64"}, *const complex[] = {"c64", "c128"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; k < 8; k++) {
            char text[512];
            int type = k / 2;
            const char *from = type == 2 ? real[k % 2] : complex[k % 2], *to = type == 3 ? real[k % 2] : complex[k % 2];
            snprintf(text, sizeof text, "{ lambda ; a:%s[%s]. let b:%s[%s] = fft[fft_lengths=(%s%s) fft_type=%d] a in (b,) }", from,
                     type == 3 ? shapes[i].half : shapes[i].shape, to, type == 2 ? shapes[i].half : shapes[i].shape, shapes[i].lengths,
                     strchr(shapes[i].lengths, ',') ? "" : ",", type);
            assert_int_equal(check(text, 1), 1);
        }
}

/* Several transforms at a time go through their dimensions, and what is left of them. */
static void batches(void **state)
{
    (void)state;
    assert_int_equal(check("{ lambda ; a:c64[70,32,40]. let b:c64[70,32,40] = fft[fft_lengths=(32, 40) fft_type=1] a in (b,) }", 0), 1);
    assert_int_equal(check("{ lambda ; a:f64[1001,128]. let b:c128[1001,65] = fft[fft_lengths=(128,) fft_type=2] a in (b,) }", 0), 1);
    assert_int_equal(check("{ lambda ; a:c128[3,16384]. let b:c128[3,16384] = fft[fft_lengths=(16384,) fft_type=0] a in (b,) }", 0), 1);
}

/* One line is one thread's, and small arrays are not worth waking another. */
static void alone(void **state)
{
    (void)state;
    assert_int_equal(check("{ lambda ; a:c128[8,16]. let b:c128[8,16] = fft[fft_lengths=(8, 16) fft_type=0] a in (b,) }", 0), 0);
    assert_int_equal(check("{ lambda ; a:f64[32,24]. let b:c128[32,13] = fft[fft_lengths=(32, 24) fft_type=2] a in (b,) }", 0), 0);
    assert_int_equal(check("{ lambda ; a:c128[262144]. let b:c128[262144] = fft[fft_lengths=(262144,) fft_type=0] a in (b,) }", 0), 0);
    assert_int_equal(check("{ lambda ; a:c128[262144]. let b:c128[262144] = fft[fft_lengths=(262144,) fft_type=0] a in (b,) }", 1), 0);
}

/* Inside of a loop, each trip's transforms are split. */
static void in_a_loop(void **state)
{
    (void)state;
    static const char text[] = "{ lambda ; a:c128[128,96]. let\n"
                               "    b:c128[128,96] = scan[\n"
                               "      jaxpr={ lambda ; c:c128[128,96]. let\n"
                               "          d:c128[128,96] = fft[fft_lengths=(128, 96) fft_type=0] c\n"
                               "          e:c128[128,96] = mul d (0.01+0.02j):c128[]\n"
                               "        in (e,) }\n"
                               "      length=7 num_carry=1 num_consts=0 reverse=False unroll=1\n"
                               "    ] a\n"
                               "  in (b,) }\n";
    assert_true(check(text, 0) >= 1);
}

/* The loops as text: what a call that is shared needs is checked, and what is printed is read again. */
static void as_text(void **state)
{
    (void)state;
    static const char head[] = "kiln loops\ninputs 1 outputs 1 constants 0 scratch 131072 part 131072\n"
                               "slot in0: f64[6144] input 0\nslot out0: f64[6144] output 0\nslot s2: u8[%d] part 0\n{\n  call fft(0, 1, 48, 64) out0 = in0 parts s2\n}\n";
    kiln_ctx *ctx = context(2);
    kn_arena arena;
    kn_loops *l, *again;
    char text[512], *printed;
    size_t n;
    kn_arena_init(&arena, NULL);
    snprintf(text, sizeof text, head, 131072);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, strlen(text), "loops", &l));
    assert_int_equal(l->splits, 1);
    assert_ok(ctx, kn_loops_print(ctx, l, &printed, &n));
    assert_ok(ctx, kn_loops_parse(ctx, &arena, printed, n, "again", &again));
    assert_true(again->calls.v[0]->parts == l->calls.v[0]->parts);
    kiln_text_free(ctx, printed, n);
    snprintf(text, sizeof text, head, 64);
    assert_int_equal(kn_loops_parse(ctx, &arena, text, strlen(text), "small", &l), KILN_INVALID);
    assert_non_null(strstr(kiln_ctx_error(ctx)->message, "a workspace of 64 bytes"));
    kn_arena_fini(&arena);
    kiln_ctx_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind), cmocka_unit_test(batches), cmocka_unit_test(alone), cmocka_unit_test(in_a_loop), cmocka_unit_test(as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
