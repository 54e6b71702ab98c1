/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts through codes against the merge sort by a comparator that says the same: every type, lengths around every change of method,
 * zeros of both signs, NaNs of several payloads, many equal keys. Which comparators of StableHLO are known orders. */
#include "testing.h"

#include <math.h>

#include "array/array.h"
#include "kiln/kiln.h"

static const int64_t lengths[] = {1, 2, 15, 16, 17, 33, 200, 511, 512, 1500};
static const kiln_dtype dtypes[] = {KILN_F32, KILN_F64, KILN_I32, KILN_U32, KILN_I64, KILN_U64, KILN_BF16, KILN_F16, KILN_I8, KILN_U16, KILN_BOOL};

static uint32_t random_word(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Bits: few values, or all; zeros and NaNs at hand. */
static kiln_array *keys(kiln_ctx *ctx, kiln_type t, bool few, bool plain, uint32_t seed)
{
    static const double special[] = {0.0, -0.0, 1, -1, 2.5, -2.5, 1e30, -1e30};
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    char kind = kiln_dtype_kind(t.dtype);
    for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) {
        uint32_t r = random_word(&seed);
        kn_scalar v = {.c = {0, 0}};
        if (kind == 'b') v.b = r % 2;
        else if (kind == 'f') v.f = plain ? (double)r - 8e6 : few ? special[r % 8] : r % 9 == 0 ? (double)NAN : ((double)r - 8e6) * 1e-3;
        else v.i = few ? (int64_t)(r % 5) - (kind == 'i' ? 2 : 0) : (int64_t)((uint64_t)r * 0x9e3779b97f4a7c15u);
        kn_scalar_store(t.dtype, a->data, k, kn_scalar_round(t.dtype, v));
        if (!plain && t.dtype == KILN_F32 && r % 17 == 0) ((uint32_t *)a->data)[k] = 0xffc00000u | (r & 0xff);
        if (!plain && t.dtype == KILN_F64 && r % 17 == 0) ((uint64_t *)a->data)[k] = 0xfff8000000000000u | (r & 0xff);
    }
    return a;
}

static void call(kiln_ctx *ctx, const char *text, kiln_array *const *in, kiln_array **out)
{
    kiln_prog *p;
    kiln_exec *f;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "sort", &p));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, out));
    kiln_exec_release(f);
    kiln_prog_release(p);
}

static bool same_bits(const kiln_array *a, const kiln_array *b) { return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0; }

/* The order that `sort` has, as a comparator. */
static void write_comparator(char *to, size_t size, const char *d, bool floats)
{
    if (floats)
        snprintf(to, size,
                 "{ lambda ; a:%s[] b:%s[]. let c:bool[] = eq a 0.0:%s[] d:%s[] = select_n c a 0.0:%s[] e:bool[] = ne a a f:%s[] = select_n e d nan:%s[] "
                 "g:bool[] = eq b 0.0:%s[] h:%s[] = select_n g b 0.0:%s[] i:bool[] = ne b b j:%s[] = select_n i h nan:%s[] k:bool[] = lt_to f j in (k,) }",
                 d, d, d, d, d, d, d, d, d, d, d, d);
    else snprintf(to, size, "{ lambda ; a:%s[] b:%s[]. let k:bool[] = lt a b in (k,) }", d, d);
}

static void alone(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (int turn = 0; turn < 3; turn++) {
                char text[2048], comparator[1024];
                const char *d = kiln_dtype_name(dtypes[i]);
                long long n = lengths[k];
                kiln_array *in = keys(ctx, (kiln_type){dtypes[i], 2, (const int64_t[]){n, 3}}, turn == 0, turn == 2, (uint32_t)(i * 100 + k)), *got, *want;
                snprintf(text, sizeof text, "{ lambda ; x:%s[%lld,3]. let y:%s[%lld,3] = sort[dimension=0 is_stable=True num_keys=1] x in (y,) }", d, n, d, n);
                call(ctx, text, &in, &got);
                write_comparator(comparator, sizeof comparator, d, kiln_dtype_kind(dtypes[i]) == 'f');
                snprintf(text, sizeof text, "{ lambda ; x:%s[%lld,3]. let y:%s[%lld,3] = sort_by[comparator=%s dimension=0 is_stable=True] x in (y,) }", d, n,
                         d, n, comparator);
                call(ctx, text, &in, &want);
                if (!same_bits(got, want)) fail_msg("sort of %lld lines of %s, turn %d", n, d, turn);
                kiln_array_release(in);
                kiln_array_release(got);
                kiln_array_release(want);
            }
}

/* Keys with places that go along, and a second key. */
static void with_places(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        char text[2048];
        long long n = lengths[k];
        kiln_array *in[2], *got[3];
        in[0] = keys(ctx, (kiln_type){KILN_F32, 1, (const int64_t[]){n}}, true, false, (uint32_t)k);
        in[1] = keys(ctx, (kiln_type){KILN_I64, 1, (const int64_t[]){n}}, true, false, (uint32_t)k + 50);
        snprintf(text, sizeof text,
                 "{ lambda ; x:f32[%lld] y:i64[%lld]. let i:i32[%lld] = iota[dimension=0 dtype=int32 shape=(%lld,) sharding=None] "
                 "a:f32[%lld] b:i64[%lld] c:i32[%lld] = sort[dimension=0 is_stable=True num_keys=2] x y i in (a, b, c) }",
                 n, n, n, n, n, n, n);
        call(ctx, text, in, got);
        const int32_t *place = got[2]->data;
        const float *x = got[0]->data;
        const int64_t *y = got[1]->data;
        for (int64_t q = 0; q < n; q++) {
            assert_memory_equal(&((float *)in[0]->data)[place[q]], &x[q], sizeof *x);
            assert_int_equal(((int64_t *)in[1]->data)[place[q]], y[q]);
            if (q == 0) continue;
            bool nan = x[q - 1] != x[q - 1], nan_too = x[q] != x[q], tie = nan ? nan_too : x[q - 1] == x[q];
            assert_true(tie ? y[q - 1] < y[q] || (y[q - 1] == y[q] && place[q - 1] < place[q]) : nan_too || x[q - 1] < x[q]);
        }
        for (int i = 0; i < 3; i++) kiln_array_release(got[i]);
        for (int i = 0; i < 2; i++) kiln_array_release(in[i]);
    }
}

/* The k greatest: each is at least as great as the next, ties by place, and nothing that was left out is greater. */
static void greatest(void **state)
{
    kiln_ctx *ctx = *state;
    static const int64_t k_of[] = {1, 3, 16, 70};
    for (int wide = 0; wide < 2; wide++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t q = 0; q < 5; q++) {
                char text[1024];
                long long n = lengths[i], k = q < 4 ? k_of[q] : n;
                const char *d = wide ? "i64" : "f32";
                if (k > n) continue;
                kiln_array *in = keys(ctx, (kiln_type){wide ? KILN_I64 : KILN_F32, 1, (const int64_t[]){n}}, q % 2, wide, (uint32_t)(i + q)), *out[2], *sorted[2];
                snprintf(text, sizeof text, "{ lambda ; x:%s[%lld]. let v:%s[%lld] p:i32[%lld] = top_k[k=%lld] x in (v, p) }", d, n, d, k, k, k);
                call(ctx, text, &in, out);
                snprintf(text, sizeof text, "{ lambda ; x:%s[%lld]. let v:%s[%lld] p:i32[%lld] = top_k[k=%lld] x in (v, p) }", d, n, d, n, n, n);
                call(ctx, text, &in, sorted); /* of all */
                assert_memory_equal(out[0]->data, sorted[0]->data, out[0]->bytes);
                assert_memory_equal(out[1]->data, sorted[1]->data, out[1]->bytes);
                const int32_t *place = sorted[1]->data;
                for (int64_t s = 0; s + 1 < n; s++) {
                    kn_scalar x = kn_scalar_load(in->type.dtype, in->data, place[s]), y = kn_scalar_load(in->type.dtype, in->data, place[s + 1]);
                    bool tie = wide ? x.i == y.i : x.f == y.f && signbit(x.f) == signbit(y.f);
                    if (!wide && (x.f != x.f || y.f != y.f)) continue;
                    bool right = tie ? place[s] < place[s + 1] : wide ? x.i > y.i : x.f >= y.f;
                    if (!right) fail_msg("the %lld greatest of %lld %s: %g at %d before %g at %d", k, n, d, wide ? (double)x.i : x.f, place[s], wide ? (double)y.i : y.f, place[s + 1]);
                }
                for (int s = 0; s < 2; s++) kiln_array_release(out[s]), kiln_array_release(sorted[s]);
                kiln_array_release(in);
            }
}

#define FLOAT(x, n) "%z" n " = stablehlo.constant dense<0.000000e+00> : tensor<f32> " \
                    "%e" n " = stablehlo.compare EQ, " x ", %z" n ", FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> " \
                    "%s" n " = stablehlo.select %e" n ", %z" n ", " x " : tensor<i1>, tensor<f32> " \
                    "%n" n " = stablehlo.compare NE, " x ", " x ", FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> " \
                    "%q" n " = stablehlo.constant dense<0x7FC00000> : tensor<f32> " \
                    "%k" n " = stablehlo.select %n" n ", %q" n ", %s" n " : tensor<i1>, tensor<f32> "
#define SORT(body) "func.func public @main(%x: tensor<10xf32>, %y: tensor<10xi32>) -> (tensor<10xf32>, tensor<10xi32>) { " \
                                "%r:2 = \"stablehlo.sort\"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({ " \
                                "^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>): " body " }) : " \
                                "(tensor<10xf32>, tensor<10xi32>) -> (tensor<10xf32>, tensor<10xi32>) return %r#0, %r#1 : tensor<10xf32>, tensor<10xi32> }"
#define FIRST FLOAT("%a", "0") FLOAT("%b", "1") "%l = stablehlo.compare LT, %k0, %k1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> "
#define SECOND "%m = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> "
#define SAME "%o = stablehlo.compare EQ, %k0, %k1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> "

static void known_orders(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *text, *says;
    } table[] = {
        {SORT(FIRST "stablehlo.return %l : tensor<i1>"), "num_keys=1"},
        {SORT(FIRST SECOND SAME "%p = stablehlo.and %o, %m : tensor<i1> %w = stablehlo.or %l, %p : tensor<i1> stablehlo.return %w : tensor<i1>"), "num_keys=2"},
        {SORT(SECOND "stablehlo.return %m : tensor<i1>"), "sort_by["},
        {SORT(FIRST SECOND SAME "%p = stablehlo.or %o, %m : tensor<i1> %w = stablehlo.or %l, %p : tensor<i1> stablehlo.return %w : tensor<i1>"), "sort_by["},
        {SORT("%l = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %l : tensor<i1>"), "sort_by["},
        {SORT(FLOAT("%a", "0") FLOAT("%b", "1") "%l = stablehlo.compare LT, %k1, %k0, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %l : tensor<i1>"),
         "sort_by["},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        kiln_prog *p;
        char *text;
        size_t n;
        assert_ok(ctx, kiln_prog_parse(ctx, table[i].text, strlen(table[i].text), "sort", &p));
        assert_ok(ctx, kiln_prog_print(ctx, p, 0, &text, &n));
        if (!strstr(text, table[i].says)) fail_msg("comparator %zu: '%s' expected in\n%s", i, table[i].says, text);
        kiln_text_free(ctx, text, n);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(with_places),
        cmocka_unit_test(greatest),
        cmocka_unit_test(known_orders),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
