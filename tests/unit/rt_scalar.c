/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations at the points that the numeric contract fixes. */
#include "rt/scalar.h"
#include "testing.h"

#include <float.h>
#include <math.h>

static kn_scalar F(double v) { return (kn_scalar){.f = v}; }
static kn_scalar I(int64_t v) { return (kn_scalar){.i = v}; }
static kn_scalar U(uint64_t v) { return (kn_scalar){.u = v}; }
static kn_scalar B(bool v)
{
    kn_scalar s = {.u = 0};
    s.b = v;
    return s;
}
static kn_scalar op(kn_sop o, kiln_dtype d, kn_scalar a, kn_scalar b) { return kn_sop_eval(o, d, d, a, b, b); }
static kn_scalar to(kiln_dtype d, kiln_dtype target, kn_scalar a) { return kn_sop_eval(KN_S_convert, d, target, a, a, a); }

static bool bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }
#define assert_f(got, want) assert_true(bits((got).f, (double)(want)))
#define assert_nan(got) assert_true(isnan((got).f))

typedef struct int_type {
    kiln_dtype d;
    unsigned width;
} int_type;
static const int_type signed_types[] = {{KILN_I4, 4}, {KILN_I8, 8}, {KILN_I16, 16}, {KILN_I32, 32}, {KILN_I64, 64}};
static const int_type unsigned_types[] = {{KILN_U4, 4}, {KILN_U8, 8}, {KILN_U16, 16}, {KILN_U32, 32}, {KILN_U64, 64}};

static void test_signed(void **state)
{
    (void)state;
    for (int t = 0; t < 5; t++) {
        kiln_dtype d = signed_types[t].d;
        int64_t w = signed_types[t].width, max = INT64_MAX >> (64 - w), min = -max - 1;
        assert_int_equal(op(KN_S_div, d, I(5), I(0)).i, -1);
        assert_int_equal(op(KN_S_div, d, I(0), I(0)).i, -1);
        assert_int_equal(op(KN_S_rem, d, I(5), I(0)).i, 5);
        assert_int_equal(op(KN_S_div, d, I(min), I(-1)).i, min);
        assert_int_equal(op(KN_S_rem, d, I(min), I(-1)).i, 0);
        assert_int_equal(op(KN_S_div, d, I(-7), I(2)).i, -3);
        assert_int_equal(op(KN_S_rem, d, I(-7), I(2)).i, -1);
        assert_int_equal(op(KN_S_rem, d, I(7), I(-2)).i, 1);
        assert_int_equal(op(KN_S_add, d, I(max), I(1)).i, min);
        assert_int_equal(op(KN_S_sub, d, I(min), I(1)).i, max);
        assert_int_equal(op(KN_S_mul, d, I(max), I(2)).i, -2);
        assert_int_equal(op(KN_S_neg, d, I(min), I(0)).i, min);
        assert_int_equal(op(KN_S_abs, d, I(min), I(0)).i, min);
        assert_int_equal(op(KN_S_abs, d, I(-3), I(0)).i, 3);
        assert_int_equal(op(KN_S_sign, d, I(-3), I(0)).i, -1);
        assert_int_equal(op(KN_S_sign, d, I(0), I(0)).i, 0);
        assert_int_equal(op(KN_S_shl, d, I(-1), I(w)).i, 0);
        assert_int_equal(op(KN_S_shl, d, I(1), I(w - 1)).i, min);
        assert_int_equal(op(KN_S_shl, d, I(1), I(-1)).i, 0);
        assert_int_equal(op(KN_S_shrl, d, I(-1), I(w - 1)).i, 1);
        assert_int_equal(op(KN_S_shrl, d, I(-1), I(w)).i, 0);
        assert_int_equal(op(KN_S_shra, d, I(min), I(w - 1)).i, -1);
        assert_int_equal(op(KN_S_shra, d, I(min), I(w)).i, -1);
        assert_int_equal(op(KN_S_shra, d, I(max), I(w)).i, 0);
        assert_int_equal(op(KN_S_shra, d, I(min), I(-1)).i, -1);
        assert_int_equal(op(KN_S_popcount, d, I(-1), I(0)).i, w);
        assert_int_equal(op(KN_S_clz, d, I(1), I(0)).i, w - 1);
        assert_int_equal(op(KN_S_not, d, I(0), I(0)).i, -1);
        assert_true(op(KN_S_lt, d, I(min), I(max)).b);
        assert_int_equal(op(KN_S_min, d, I(min), I(max)).i, min);
    }
}

static void test_unsigned(void **state)
{
    (void)state;
    for (int t = 0; t < 5; t++) {
        kiln_dtype d = unsigned_types[t].d;
        uint64_t w = unsigned_types[t].width, max = UINT64_MAX >> (64 - w);
        assert_true(op(KN_S_div, d, U(5), U(0)).u == max);
        assert_true(op(KN_S_rem, d, U(5), U(0)).u == 5);
        assert_true(op(KN_S_div, d, U(max), U(2)).u == max / 2);
        assert_true(op(KN_S_add, d, U(max), U(1)).u == 0);
        assert_true(op(KN_S_neg, d, U(1), U(0)).u == max);
        assert_true(op(KN_S_shrl, d, U(max), U(w - 1)).u == 1);
        assert_true(op(KN_S_shl, d, U(max), U(w)).u == 0);
        assert_true(op(KN_S_shra, d, U(max), U(1)).u == max); /* the top bit enters */
        assert_true(op(KN_S_sign, d, U(max), U(0)).u == 1);
        assert_true(op(KN_S_clz, d, U(0), U(0)).u == w);
        assert_true(op(KN_S_gt, d, U(max), U(1)).b);
        assert_true(op(KN_S_max, d, U(max), U(1)).u == max);
    }
}

static void test_bool(void **state)
{
    (void)state;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            assert_int_equal(op(KN_S_and, KILN_BOOL, B(a), B(b)).b, a && b);
            assert_int_equal(op(KN_S_min, KILN_BOOL, B(a), B(b)).b, a && b);
            assert_int_equal(op(KN_S_or, KILN_BOOL, B(a), B(b)).b, a || b);
            assert_int_equal(op(KN_S_max, KILN_BOOL, B(a), B(b)).b, a || b);
            assert_int_equal(op(KN_S_xor, KILN_BOOL, B(a), B(b)).b, a != b);
            assert_int_equal(op(KN_S_lt, KILN_BOOL, B(a), B(b)).b, a < b);
            assert_int_equal(op(KN_S_ge, KILN_BOOL, B(a), B(b)).b, a >= b);
        }
    assert_true(op(KN_S_not, KILN_BOOL, B(false), B(false)).b);
}

static void test_floats(void **state)
{
    (void)state;
    static const kiln_dtype types[] = {KILN_F64, KILN_F32, KILN_F16, KILN_BF16};
    double inf = (double)INFINITY, nan = (double)NAN;
    for (int t = 0; t < 4; t++) {
        kiln_dtype d = types[t];
        assert_nan(op(KN_S_min, d, F(nan), F(1)));
        assert_nan(op(KN_S_max, d, F(1), F(nan)));
        assert_f(op(KN_S_min, d, F(0.0), F(-0.0)), -0.0);
        assert_f(op(KN_S_min, d, F(-0.0), F(0.0)), -0.0);
        assert_f(op(KN_S_max, d, F(-0.0), F(0.0)), 0.0);
        assert_f(op(KN_S_max, d, F(0.0), F(-0.0)), 0.0);
        assert_f(op(KN_S_max, d, F(-inf), F(-2)), -2);
        assert_f(op(KN_S_neg, d, F(0.0), F(0)), -0.0);
        assert_f(op(KN_S_abs, d, F(-0.0), F(0)), 0.0);
        assert_f(op(KN_S_sign, d, F(-0.0), F(0)), -0.0);
        assert_f(op(KN_S_sign, d, F(-inf), F(0)), -1.0);
        assert_nan(op(KN_S_sign, d, F(nan), F(0)));
        assert_f(op(KN_S_add, d, F(-0.0), F(-0.0)), -0.0);
        assert_f(op(KN_S_add, d, F(0.0), F(-0.0)), 0.0);
        assert_f(op(KN_S_rem, d, F(-7), F(3)), -1.0);
        assert_f(op(KN_S_rem, d, F(-6), F(3)), -0.0);
        assert_nan(op(KN_S_rem, d, F(1), F(0)));
        assert_f(op(KN_S_rem, d, F(1), F(inf)), 1.0);
        assert_f(op(KN_S_round_even, d, F(2.5), F(0)), 2.0);
        assert_f(op(KN_S_round_even, d, F(-0.5), F(0)), -0.0);
        assert_f(op(KN_S_round_away, d, F(2.5), F(0)), 3.0);
        assert_f(op(KN_S_round_away, d, F(-2.5), F(0)), -3.0);
        assert_f(op(KN_S_floor, d, F(-0.5), F(0)), -1.0);
        assert_f(op(KN_S_ceil, d, F(-0.5), F(0)), -0.0);
        assert_true(op(KN_S_is_finite, d, F(1), F(0)).b);
        assert_false(op(KN_S_is_finite, d, F(nan), F(0)).b);
        assert_false(op(KN_S_is_finite, d, F(-inf), F(0)).b);
        assert_false(op(KN_S_eq, d, F(nan), F(nan)).b);
        assert_true(op(KN_S_ne, d, F(nan), F(nan)).b);
        assert_true(op(KN_S_eq, d, F(0.0), F(-0.0)).b);
        assert_false(op(KN_S_le, d, F(nan), F(1)).b);
        assert_f(op(KN_S_sqrt, d, F(-0.0), F(0)), -0.0);
        assert_nan(op(KN_S_sqrt, d, F(-1), F(0)));
        for (int k = 0; k < 1000; k++) { /* the general way differs from the product for some */
            kn_scalar x = to(KILN_F64, d, F((k % 2 ? 1 : -1) * ldexp(1 + k / 977.0, k % 7 - 3)));
            assert_f(op(KN_S_pow, d, x, F(1)), x.f);
            assert_f(op(KN_S_pow, d, x, F(2)), op(KN_S_mul, d, x, x).f);
        }
        assert_f(op(KN_S_pow, d, F(-0.0), F(1)), -0.0);
        assert_f(op(KN_S_pow, d, F(-0.0), F(2)), 0.0);
        assert_f(op(KN_S_pow, d, F(-INFINITY), F(2)), INFINITY);
    }
    /* exact remainder of a large quotient; SLEEF's own is wrong there */
    assert_f(op(KN_S_rem, KILN_F64, F(1e300), F(3)), fmod(1e300, 3));
    /* f32 is computed in f32: one rounding, not two */
    assert_f(op(KN_S_add, KILN_F32, F(16777216.0), F(1.0)), 16777216.0);
    assert_f(op(KN_S_mul, KILN_F32, F((double)FLT_MAX), F(2)), inf);
    assert_f(op(KN_S_div, KILN_F32, F(0x1p-149), F(2)), 0.0);
    assert_f(op(KN_S_mul, KILN_F32, F(0x1p-149), F(3)), 0x1.8p-148);
    /* one rounding of a fused multiply-add: 1 - (1 + e)(1 - e) = e^2 */
    assert_f(kn_sop_eval(KN_S_fma, KILN_F32, KILN_F32, F(-1 - 0x1p-23), F(1 - 0x1p-23), F(1)), 0x1p-46);
    assert_f(kn_sop_eval(KN_S_fma, KILN_F64, KILN_F64, F(-1 - 0x1p-52), F(1 - 0x1p-52), F(1)), 0x1p-104);
    /* 16-bit floats round once a operation */
    assert_f(op(KN_S_add, KILN_F16, F(2048), F(1)), 2048);
    assert_f(op(KN_S_mul, KILN_F16, F(65504), F(2)), inf);
    assert_f(op(KN_S_add, KILN_BF16, F(256), F(1)), 256);
    assert_f(op(KN_S_div, KILN_F16, F(1), F(3)), 0x1.554p-2);
}

static void test_to_integers(void **state)
{
    (void)state;
    double inf = (double)INFINITY, nan = (double)NAN;
    for (int t = 0; t < 5; t++) {
        kiln_dtype s = signed_types[t].d, u = unsigned_types[t].d;
        unsigned w = signed_types[t].width;
        int64_t max = INT64_MAX >> (64 - w);
        assert_int_equal(to(KILN_F64, s, F(nan)).i, 0);
        assert_int_equal(to(KILN_F64, s, F(inf)).i, max);
        assert_int_equal(to(KILN_F64, s, F(-inf)).i, -max - 1);
        assert_int_equal(to(KILN_F64, s, F(ldexp(1, (int)w - 1))).i, max);
        assert_int_equal(to(KILN_F64, s, F(-ldexp(1, (int)w - 1))).i, -max - 1);
        assert_int_equal(to(KILN_F64, s, F(-1.9)).i, -1);
        assert_int_equal(to(KILN_F32, s, F(1e30)).i, max);
        assert_true(to(KILN_F64, u, F(nan)).u == 0);
        assert_true(to(KILN_F64, u, F(-1)).u == 0);
        assert_true(to(KILN_F64, u, F(-0.9)).u == 0);
        assert_true(to(KILN_F64, u, F(inf)).u == UINT64_MAX >> (64 - w));
        assert_true(to(KILN_F64, u, F(ldexp(1, (int)w))).u == UINT64_MAX >> (64 - w));
        assert_true(to(KILN_F64, u, F(ldexp(1, (int)w - 1))).u == 1ull << (w - 1));
    }
    assert_int_equal(to(KILN_I64, KILN_I8, I(300)).i, 44);
    assert_int_equal(to(KILN_I8, KILN_I64, I(-1)).i, -1);
    assert_true(to(KILN_I32, KILN_U64, I(-1)).u == UINT64_MAX);
    assert_true(to(KILN_I32, KILN_U32, I(-1)).u == UINT32_MAX);
    assert_int_equal(to(KILN_U32, KILN_I32, U(UINT32_MAX)).i, -1);
    assert_int_equal(to(KILN_BOOL, KILN_I32, B(true)).i, 1);
    assert_f(to(KILN_BOOL, KILN_F32, B(true)), 1.0);
    assert_true(to(KILN_F32, KILN_BOOL, F(nan)).b);
    assert_false(to(KILN_F32, KILN_BOOL, F(-0.0)).b);
    assert_true(to(KILN_F64, KILN_BOOL, F(0x1p-1074)).b);
    assert_true(to(KILN_I32, KILN_BOOL, I(256)).b);
}

static void test_to_floats(void **state)
{
    (void)state;
    /* once: i64 to f32 directly, not through f64, where 2^54 + 2^30 + 1 would fall on a tie */
    int64_t tie = (1ll << 54) + (1ll << 30);
    assert_f(to(KILN_I64, KILN_F32, I(tie)), 0x1p54);
    assert_f(to(KILN_I64, KILN_F32, I(tie + 1)), 0x1.000002p54);
    assert_f(to(KILN_I64, KILN_F32, I(-tie - 1)), -0x1.000002p54);
    assert_f(to(KILN_U64, KILN_F32, U(UINT64_MAX)), 0x1p64);
    assert_f(to(KILN_U64, KILN_F64, U(UINT64_MAX)), 0x1p64);
    assert_f(to(KILN_I64, KILN_F64, I(-1)), -1.0);
    /* bf16 has 8 bits: 2^62 + 2^54 is a tie, one more is above it */
    assert_f(to(KILN_I64, KILN_BF16, I((1ll << 62) + (1ll << 54))), 0x1p62);
    assert_f(to(KILN_I64, KILN_BF16, I((1ll << 62) + (1ll << 54) + 1)), 0x1.02p62);
    assert_f(to(KILN_U64, KILN_BF16, U((1ull << 63) + (1ull << 55) + 1)), 0x1.02p63);
    assert_f(to(KILN_I64, KILN_F16, I(65519)), 65504.0);
    assert_f(to(KILN_I64, KILN_F16, I(65520)), (double)INFINITY);
    /* f64 to f16 directly: through f32 this would round twice */
    assert_f(to(KILN_F64, KILN_F16, F(1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10);
    assert_f(to(KILN_F64, KILN_F16, F(1 + 0x1p-11)), 1.0);
    assert_f(to(KILN_F64, KILN_F32, F(0x1p-150)), 0.0);
    assert_f(to(KILN_F64, KILN_F32, F(0x1.8p-150)), 0x1p-149);
    assert_f(to(KILN_F64, KILN_F32, F(-0.0)), -0.0);
    assert_f(to(KILN_F64, KILN_F32, F(1e300)), (double)INFINITY);
}

static void test_select(void **state)
{
    (void)state;
    assert_int_equal(kn_sop_eval(KN_S_select, KILN_I32, KILN_I32, B(true), I(1), I(2)).i, 1);
    assert_int_equal(kn_sop_eval(KN_S_select, KILN_I32, KILN_I32, B(false), I(1), I(2)).i, 2);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 1; i < KN_N_SOPS; i++) assert_int_equal(kn_sop_find(kn_sops[i].name, strlen(kn_sops[i].name)), i);
    assert_int_equal(kn_sop_find("nothing", 7), KN_S_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signed),      cmocka_unit_test(test_unsigned),  cmocka_unit_test(test_bool),   cmocka_unit_test(test_floats),
        cmocka_unit_test(test_to_integers), cmocka_unit_test(test_to_floats), cmocka_unit_test(test_select), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
