/* SPDX-License-Identifier: Apache-2.0 */
/* The order of reductions and products: hand-made numbers that only one order gives, and an independent implementation of the
 * rules as they are written down (explicit arrays of lanes and blocks, no shared code). */
#include "rt/dot.h"
#include "rt/reduce.h"
#include "testing.h"

#include <math.h>

static uint64_t seed;
static double noise(void) /* magnitudes far apart, so that sums depend on their order */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double unit = (double)(seed >> 11) * 0x1p-53 - 0.5;
    return ldexp(unit, (int)(seed >> 60) * 2);
}

static float sum32(float *v, int64_t n) /* halving */
{
    for (int64_t w = n / 2; w >= 1; w /= 2)
        for (int64_t i = 0; i < w; i++) v[i] = v[i] + v[i + w];
    return v[0];
}

/* Sum over the T run: lanes of 64, blocks. */
static float reference_t(const float *x, int64_t n)
{
    int64_t block = 64 * ((n + 4095) / 4096), blocks = 0;
    if (block < 4096) block = 4096;
    float total = -0.0f;
    for (int64_t lo = 0; lo < n; lo += block, blocks++) {
        float lane[64];
        for (int l = 0; l < 64; l++) lane[l] = -0.0f;
        for (int64_t i = lo; i < n && i < lo + block; i++) lane[i % 64] = lane[i % 64] + x[i];
        float b = sum32(lane, 64);
        total = blocks ? total + b : b;
    }
    assert_true(blocks <= 64);
    return total;
}

/* Sum over rows of a column: chains, blocks. rows(i) is taken from x with a stride. */
static float reference_o(const float *x, int64_t n, int64_t stride, int chains)
{
    int64_t block = 64 * ((n + 4095) / 4096);
    if (block < 4096) block = 4096;
    float total = -0.0f;
    for (int64_t lo = 0; lo < n; lo += block) {
        float chain[16] = {0};
        for (int c = 0; c < chains; c++) chain[c] = -0.0f;
        for (int64_t i = lo; i < n && i < lo + block; i++) chain[i % chains] = chain[i % chains] + x[i * stride];
        float b = sum32(chain, chains);
        total = lo ? total + b : b;
    }
    return total;
}

static float *noisy(int64_t n)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)noise();
    return x;
}

static void reduce(kiln_type t, const float *x, uint32_t n_axes, const int64_t *axes, float *y)
{
    kn_reduce(KN_S_add, t, x, axes, n_axes, (kn_scalar){.f = 0}, y);
}
#define assert_same(a, b)                                                                                             \
    do {                                                                                                              \
        float a_ = (a), b_ = (b);                                                                                      \
        assert_memory_equal(&a_, &b_, sizeof a_);                                                                      \
    } while (0)

static void test_t(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 1000, 4095, 4096, 4097, 8192, 10000, 300001};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k], axis = 0;
        float *x = noisy(n), y;
        reduce(KILN_VECTOR(KILN_F32, n), x, 1, &axis, &y);
        assert_same(y, 0.0f + reference_t(x, n));
        free(x);
    }
    /* lanes: element 64 meets element 0 before anything else does */
    float x[65] = {1e8f}, y;
    for (int i = 1; i < 64; i++) x[i] = 1.0f;
    x[64] = -1e8f;
    reduce(KILN_VECTOR(KILN_F32, 65), x, 1, &(int64_t){0}, &y);
    assert_same(y, 63.0f);
    /* several minor-most dimensions are one run; dimensions of size 1 do not separate them */
    float *v = noisy(6 * 40 * 70), z;
    kiln_type t = {KILN_F32, 4, (int64_t[]){6, 40, 1, 70}};
    float rows[6];
    reduce(t, v, 2, (int64_t[]){3, 1}, rows);
    for (int i = 0; i < 6; i++) assert_same(rows[i], 0.0f + reference_t(v + i * 2800, 2800));
    reduce(t, v, 4, (int64_t[]){0, 1, 2, 3}, &z);
    assert_same(z, 0.0f + reference_t(v, 16800));
    free(v);
}

static void test_o(void **state)
{
    (void)state;
    static const struct {
        int64_t k;
        int chains;
    } widths[] = {{2, 16}, {3, 16}, {4, 16}, {5, 4}, {15, 4}, {16, 1}, {100, 1}};
    static const int64_t rows[] = {0, 1, 2, 15, 16, 17, 100, 4096, 4097, 9000};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            int64_t n = rows[r], k = widths[w].k;
            float *x = noisy(n * k), y[100];
            reduce((kiln_type){KILN_F32, 2, (int64_t[]){n, k}}, x, 1, &(int64_t){0}, y);
            for (int64_t c = 0; c < k; c++) {
                float want = n == 1 ? x[c] : reference_o(x + c, n, k, widths[w].chains);
                assert_same(y[c], 0.0f + want);
            }
            free(x);
        }
}

static void test_both(void **state)
{
    (void)state;
    /* [rows, kept, T]: each row's T first, then the rows in 16 chains (kept is 3) */
    enum { ROWS = 37, KEPT = 3, T = 100 };
    float *x = noisy(ROWS * KEPT * T), y[KEPT];
    reduce((kiln_type){KILN_F32, 3, (int64_t[]){ROWS, KEPT, T}}, x, 2, (int64_t[]){0, 2}, y);
    for (int c = 0; c < KEPT; c++) {
        float row[ROWS];
        for (int r = 0; r < ROWS; r++) row[r] = reference_t(x + (r * KEPT + c) * T, T);
        assert_same(y[c], 0.0f + reference_o(row, ROWS, 1, 16));
    }
    free(x);
}

static void test_roles(void **state)
{
    (void)state;
    kn_axis_role role[6];
    kiln_type t = {KILN_F64, 6, (int64_t[]){5, 1, 3, 7, 1, 2}};
    kn_order o = kn_reduce_order(t, (int64_t[]){5, 3, 4, 0}, 4, role);
    assert_int_equal(role[0], KN_AXIS_O);
    assert_int_equal(role[1], KN_AXIS_ONE);
    assert_int_equal(role[2], KN_AXIS_KEPT);
    assert_int_equal(role[3], KN_AXIS_T);
    assert_int_equal(role[4], KN_AXIS_ONE);
    assert_int_equal(role[5], KN_AXIS_T);
    assert_true(o.has_t && o.has_o);
    assert_int_equal(o.t.n, 14);
    assert_int_equal(o.t.lanes, 32);
    assert_int_equal(o.o.n, 5);
    assert_int_equal(o.o.lanes, 16); /* 3 kept elements */
    assert_int_equal(kn_run_t(1 << 20, KILN_F32).block, 16384);
    assert_int_equal(kn_run_t(10, KILN_F32).block, 4096);
    assert_int_equal(kn_run_t(10, KILN_F32).lanes, 64);
}

static void test_identities(void **state)
{
    (void)state;
    int64_t axis = 0;
    double d;
    float minus = -0.0f, f;
    int32_t i;
    bool b;
    reduce(KILN_VECTOR(KILN_F32, 1), &minus, 1, &axis, &f);
    assert_same(f, 0.0f); /* the initial 0 is added on the left */
    kn_reduce(KN_S_mul, KILN_VECTOR(KILN_F64, 0), NULL, &axis, 1, kn_reduce_init(KN_S_mul, KILN_F64), &d);
    assert_true(d == 1);
    kn_reduce(KN_S_max, KILN_VECTOR(KILN_F64, 0), NULL, &axis, 1, kn_reduce_init(KN_S_max, KILN_F64), &d);
    assert_true(isinf(d) && d < 0);
    kn_reduce(KN_S_min, KILN_VECTOR(KILN_I32, 0), NULL, &axis, 1, kn_reduce_init(KN_S_min, KILN_I32), &i);
    assert_int_equal(i, INT32_MAX);
    kn_reduce(KN_S_max, KILN_VECTOR(KILN_I32, 0), NULL, &axis, 1, kn_reduce_init(KN_S_max, KILN_I32), &i);
    assert_int_equal(i, INT32_MIN);
    kn_reduce(KN_S_and, KILN_VECTOR(KILN_BOOL, 0), NULL, &axis, 1, kn_reduce_init(KN_S_and, KILN_BOOL), &b);
    assert_true(b);
    kn_reduce(KN_S_and, KILN_VECTOR(KILN_I32, 0), NULL, &axis, 1, kn_reduce_init(KN_S_and, KILN_I32), &i);
    assert_int_equal(i, -1);
    kn_reduce(KN_S_or, KILN_VECTOR(KILN_BOOL, 3), (bool[]){false, true, false}, &axis, 1, kn_reduce_init(KN_S_or, KILN_BOOL), &b);
    assert_true(b);
    kn_reduce(KN_S_xor, KILN_VECTOR(KILN_I32, 3), (int32_t[]){1, 3, 4}, &axis, 1, kn_reduce_init(KN_S_xor, KILN_I32), &i);
    assert_int_equal(i, 6);
    double v[] = {1, (double)NAN, 3};
    kn_reduce(KN_S_max, KILN_VECTOR(KILN_F64, 3), v, &axis, 1, kn_reduce_init(KN_S_max, KILN_F64), &d);
    assert_true(isnan(d));
    double z[] = {-0.0, 0.0};
    kn_reduce(KN_S_max, KILN_VECTOR(KILN_F64, 2), z, &axis, 1, kn_reduce_init(KN_S_max, KILN_F64), &d);
    assert_true(d == 0 && !signbit(d));
    /* f16 accumulates in f32: 2048 + 1 + 1 is 2050, which f16 steps would miss */
    uint16_t h[] = {0x6800, 0x3c00, 0x3c00}, sum;
    kn_reduce(KN_S_add, KILN_VECTOR(KILN_F16, 3), h, &axis, 1, (kn_scalar){.f = 0}, &sum);
    assert_int_equal(sum, 0x6801);
}

/* ---- products ---- */

static float chain32(const float *a, int64_t sa, const float *b, int64_t sb, int64_t n)
{
    float total = 0;
    for (int64_t lo = 0; lo < n; lo += 256) {
        float s = -0.0f;
        for (int64_t k = lo; k < n && k < lo + 256; k++) s = fmaf(a[k * sa], b[k * sb], s);
        total = lo ? total + s : s;
    }
    return total;
}
static float lanes32(const float *a, const float *b, int64_t sb, int64_t n)
{
    int64_t block = 64 * ((n + 4095) / 4096);
    if (block < 4096) block = 4096;
    float total = 0;
    for (int64_t lo = 0; lo < n; lo += block) {
        float lane[64];
        for (int l = 0; l < 64; l++) lane[l] = -0.0f;
        for (int64_t k = lo; k < n && k < lo + block; k++) lane[k % 64] = fmaf(a[k], b[k * sb], lane[k % 64]);
        float s = sum32(lane, 64);
        total = lo ? total + s : s;
    }
    return total;
}
static void matmul(kiln_type a, const float *x, kiln_type b, const float *y, int64_t ca, int64_t cb, kiln_type out, float *z)
{
    kn_dot_dims d = {.contract = {&ca, &cb}, .n_contract = 1};
    kn_dot(a, x, b, y, &d, out, z);
}

static void test_products(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 63, 64, 255, 256, 257, 512, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t k = sizes[s];
        float *a = noisy(3 * k), *b = noisy(4 * k), c[12];
        matmul((kiln_type){KILN_F32, 2, (int64_t[]){3, k}}, a, (kiln_type){KILN_F32, 2, (int64_t[]){k, 4}}, b, 1, 0,
               (kiln_type){KILN_F32, 2, (int64_t[]){3, 4}}, c);
        for (int i = 0; i < 3; i++)
            for (int l = 0; l < 4; l++) assert_same(c[i * 4 + l], chain32(a + i * k, 1, b + l, 4, k));
        free(a), free(b);
    }
}

static void test_matrix_vector(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 63, 65, 256, 257, 1000, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t k = sizes[s];
        float *a = noisy(3 * k), *v = noisy(k), c[3], d;
        kiln_type vector = {KILN_F32, 1, &k}, three = {KILN_F32, 1, (int64_t[]){3}};
        /* rows of the matrix are contiguous along k: lanes, whichever side the vector is on */
        matmul((kiln_type){KILN_F32, 2, (int64_t[]){3, k}}, a, vector, v, 1, 0, three, c);
        for (int i = 0; i < 3; i++) assert_same(c[i], lanes32(a + i * k, v, 1, k));
        matmul(vector, v, (kiln_type){KILN_F32, 2, (int64_t[]){3, k}}, a, 0, 1, three, c);
        for (int i = 0; i < 3; i++) assert_same(c[i], lanes32(a + i * k, v, 1, k));
        /* columns are not: a chain */
        matmul((kiln_type){KILN_F32, 2, (int64_t[]){k, 3}}, a, vector, v, 0, 0, three, c);
        for (int i = 0; i < 3; i++) assert_same(c[i], chain32(a + i, 3, v, 1, k));
        matmul(vector, v, vector, v, 0, 0, (kiln_type){.dtype = KILN_F32}, &d);
        assert_same(d, lanes32(v, v, 1, k));
        free(a), free(v);
    }
}

static void test_product_types(void **state)
{
    (void)state;
    /* a single product keeps -0.0; none at all is +0 */
    float minus = -0.0f, one = 1, c;
    kiln_type r1 = KILN_VECTOR(KILN_F32, 1), r0 = KILN_VECTOR(KILN_F32, 0), scalar = {.dtype = KILN_F32};
    matmul(r1, &minus, r1, &one, 0, 0, scalar, &c);
    assert_same(c, -0.0f);
    matmul(r0, NULL, r0, NULL, 0, 0, scalar, &c);
    assert_same(c, 0.0f);
    /* i8 with i32 results does not wrap at 8 bits; with its own type it does */
    int8_t x[] = {100, 100}, y[] = {2, 3}, narrow;
    int32_t wide;
    kn_dot_dims d = {.contract = {&(int64_t){0}, &(int64_t){0}}, .n_contract = 1};
    kn_dot(KILN_VECTOR(KILN_I8, 2), x, KILN_VECTOR(KILN_I8, 2), y, &d, KILN_SCALAR(KILN_I32), &wide);
    assert_int_equal(wide, 500);
    kn_dot(KILN_VECTOR(KILN_I8, 2), x, KILN_VECTOR(KILN_I8, 2), y, &d, KILN_SCALAR(KILN_I8), &narrow);
    assert_int_equal(narrow, (int8_t)500);
    /* f32 operands with an f64 result accumulate in f64 */
    float big[] = {16777216, 1, 1}, ones[] = {1, 1, 1};
    double sum;
    kn_dot(KILN_VECTOR(KILN_F32, 3), big, KILN_VECTOR(KILN_F32, 3), ones, &d, KILN_SCALAR(KILN_F64), &sum);
    assert_true(sum == 16777218);
    /* k runs over the contracting dimensions as listed: the second list visits (0,0) (1,0) (0,1) (1,1), so big numbers meet late */
    float p[2][2] = {{1e8f, 1}, {-1e8f, 1}}, q[4][2];
    for (int i = 0; i < 4; i++) q[i][0] = q[i][1] = 1;
    kn_dot_dims rows = {.contract = {(int64_t[]){0, 1}, (int64_t[]){0, 1}}, .n_contract = 2};
    kn_dot_dims columns = {.contract = {(int64_t[]){1, 0}, (int64_t[]){1, 0}}, .n_contract = 2};
    kiln_type left = {KILN_F32, 3, (int64_t[]){2, 2, 1}}, right = {KILN_F32, 3, (int64_t[]){2, 2, 2}};
    kiln_type out = {KILN_F32, 2, (int64_t[]){1, 2}};
    float z[2];
    kn_dot(left, p, right, q, &rows, out, z);
    assert_same(z[0], 1.0f); /* 1e8 + 1 - 1e8 + 1 */
    kn_dot(left, p, right, q, &columns, out, z);
    assert_same(z[0], 2.0f);
}

static void test_batches(void **state)
{
    (void)state;
    /* [k, b, i] x [j, k, b] -> [b, i, j] */
    enum { NB = 2, NI = 3, NJ = 4, NK = 5 };
    float *x = noisy(NK * NB * NI), *y = noisy(NJ * NK * NB), z[NB * NI * NJ];
    kn_dot_dims d = {.batch = {(int64_t[]){1}, (int64_t[]){2}}, .contract = {(int64_t[]){0}, (int64_t[]){1}}, .n_batch = 1, .n_contract = 1};
    kn_dot((kiln_type){KILN_F32, 3, (int64_t[]){NK, NB, NI}}, x, (kiln_type){KILN_F32, 3, (int64_t[]){NJ, NK, NB}}, y, &d,
           (kiln_type){KILN_F32, 3, (int64_t[]){NB, NI, NJ}}, z);
    for (int b = 0; b < NB; b++)
        for (int i = 0; i < NI; i++)
            for (int j = 0; j < NJ; j++)
                assert_same(z[(b * NI + i) * NJ + j], chain32(x + b * NI + i, NB * NI, y + j * NK * NB + b, NB, NK));
    free(x), free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t),          cmocka_unit_test(test_o),        cmocka_unit_test(test_both),
        cmocka_unit_test(test_roles),      cmocka_unit_test(test_identities), cmocka_unit_test(test_products),
        cmocka_unit_test(test_matrix_vector), cmocka_unit_test(test_product_types), cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
