/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of arrays: numpy's read, ours read back, damaged ones are refused; arrays as text. */
#include "array/array.h"
#include "testing.h"

#include <math.h>

static kiln_array *get(kiln_ctx *ctx, const kiln_npz *z, const char *name)
{
    kiln_array *a;
    int64_t i = kiln_npz_find(z, name);
    assert_true(i >= 0);
    assert_ok(ctx, kiln_npz_read(ctx, z, (uint32_t)i, &a));
    return a;
}

static void reads_numpys(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_npz *z;
    assert_ok(ctx, kiln_npz_open(ctx, KILN_TEST_DATA "/arrays/deflated.npz", &z));
    assert_int_equal(kiln_npz_count(z), 3);
    kiln_array *x = get(ctx, z, "x"), *y = get(ctx, z, "y"), *s = get(ctx, z, "z");
    assert_int_equal(kiln_npz_find(z, "w"), -1);
    kiln_npz_close(z);
    assert_true(kiln_type_equal(kiln_array_type(x), (kiln_type){KILN_F64, 2, (int64_t[]){10, 100}}));
    for (int i = 0; i < 1000; i++) assert_true(((const double *)kiln_array_read(x))[i] == i);
    assert_int_equal(((const uint8_t *)kiln_array_read(y))[0], 1);
    assert_int_equal(kiln_array_type(s).rank, 0);
    assert_true(((const float *)kiln_array_read(s))[0] == 2.5f);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(s);
    assert_ok(ctx, kiln_npz_open(ctx, KILN_TEST_DATA "/arrays/stored.npz", &z));
    x = get(ctx, z, "x");
    assert_int_equal(((const int32_t *)kiln_array_read(x))[5], 5);
    kiln_array_release(x);
    kiln_npz_close(z);
}

static void save(kiln_ctx *ctx, const char *path)
{
    kiln_array *a[3];
    assert_ok(ctx, kiln_array_parse(ctx, "f64[3]:1,2,nan", &a[0]));
    assert_ok(ctx, kiln_array_parse(ctx, "bf16[2,2]:0.5", &a[1]));
    assert_ok(ctx, kiln_array_parse(ctx, "i64[0]:", &a[2]));
    const char *names[3] = {"out0", "a/b", "ü"};
    assert_ok(ctx, kiln_npz_save(ctx, path, 3, names, a));
    for (int i = 0; i < 3; i++) kiln_array_release(a[i]);
}

static void writes_and_reads(void **state)
{
    kiln_ctx *ctx = *state;
    const char *path = test_path("own.npz"), *again = test_path("again.npz");
    kiln_npz *z;
    save(ctx, path);
    save(ctx, again);
    kn_bytes p, q;
    assert_ok(ctx, kn_file_read(ctx, path, &p));
    assert_ok(ctx, kn_file_read(ctx, again, &q));
    assert_int_equal(p.n, q.n);
    assert_memory_equal(p.s, q.s, p.n);
    kn_bytes_free(ctx, &p);
    kn_bytes_free(ctx, &q);
    assert_ok(ctx, kiln_npz_open(ctx, path, &z));
    kiln_array *a = get(ctx, z, "out0"), *b = get(ctx, z, "a/b"), *c = get(ctx, z, "ü");
    assert_true(isnan(((const double *)kiln_array_read(a))[2]));
    assert_int_equal(kiln_array_type(b).dtype, KILN_BF16);
    assert_int_equal(((const uint16_t *)kiln_array_read(b))[3], 0x3f00);
    assert_int_equal(kiln_array_bytes(c), 0);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(c);
    kiln_npz_close(z);
    unlink(path);
    unlink(again);
}

/* Any bytes: an error, or arrays; the checksum finds every change of an array. */
static void read_damaged(kiln_ctx *ctx, const char *path, const char *bytes, size_t n, bool must_fail)
{
    kiln_npz *z;
    bool fine = true;
    assert_ok(ctx, kn_file_save(ctx, path, bytes, n));
    if (kiln_npz_open(ctx, path, &z) != KILN_OK) {
        assert_null(z);
        return;
    }
    for (uint32_t i = 0; i < kiln_npz_count(z); i++) {
        kiln_array *a;
        if (kiln_npz_read(ctx, z, i, &a) != KILN_OK) fine = false;
        kiln_array_release(a);
    }
    kiln_npz_close(z);
    if (must_fail) assert_false(fine);
}

static void damage(void **state)
{
    kiln_ctx *ctx = *state;
    static const char *const files[] = {KILN_TEST_DATA "/arrays/deflated.npz", KILN_TEST_DATA "/arrays/stored.npz"};
    const char *path = test_path("damaged.npz");
    uint64_t r = 88172645463325252u;
    for (int f = 0; f < 2; f++) {
        kn_bytes b;
        assert_ok(ctx, kn_file_read(ctx, files[f], &b));
        for (size_t n = 0; n < b.n; n += 1 + b.n / 400) read_damaged(ctx, path, b.s, n, true);
        for (int round = 0; round < 1500; round++) {
            r ^= r << 13, r ^= r >> 7, r ^= r << 17;
            char old = b.s[r % b.n];
            b.s[r % b.n] = (char)(r >> 40);
            read_damaged(ctx, path, b.s, b.n, false);
            b.s[r % b.n] = old;
        }
        kn_bytes_free(ctx, &b);
    }
    unlink(path);
}

static void refuses(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_npz *z;
    kiln_array *a;
    assert_int_equal(kiln_npz_open(ctx, KILN_TEST_DATA "/text/chain.jaxpr", &z), KILN_CORRUPT);
    assert_int_equal(kiln_npz_open(ctx, "/nowhere.npz", &z), KILN_NOTFOUND);
    assert_ok(ctx, kiln_array_parse(ctx, "f64[]:1", &a));
    const char *twice[2] = {"a", "a"}, *empty[1] = {""};
    assert_int_equal(kiln_npz_save(ctx, test_path("x.npz"), 2, twice, (kiln_array *[]){a, a}), KILN_INVALID);
    assert_says(ctx, "'a'");
    assert_int_equal(kiln_npz_save(ctx, test_path("x.npz"), 1, empty, &a), KILN_INVALID);
    kiln_array_release(a);
}

static void arrays_as_text(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *text, *print;
    } good[] = {
        {"f32[]:0.1", "f32[]: 0.10000000149011612"}, {"f64[3]:7", "f64[3]: 7.0 7.0 7.0"},
        {"i32[2,2]: 1, -2 ,3,4 ", "i32[2,2]: 1 -2 3 4"}, {"bool[2]:True,False", "bool[2]: True False"},
        {"c64[1]:(1-2j)", "c64[1]: (1-2j)"}, {"float64[1]:inf", "f64[1]: inf"}, {"u8[0]:", "u8[0]:"},
        {"i64[9]:1,2,3,4,5,6,7,8,9", "i64[9]: 1 2 ... 8 9"},
    };
    static const struct {
        const char *text;
        int column;
        const char *message;
    } bad[] = {
        {"f32", 1, "begins with its type"}, {"f99[1]:1", 1, "no element type 'f99'"}, {"f32[a]:1", 5, "no whole number"},
        {"f32[2]1,2", 7, "a colon is missing"}, {"f32[2]:1,2,3", 13, "3 elements for 2"}, {"f32[2]:1;2", 8, "'1;2' is no value of f32"},
        {"u8[1]:256", 7, "does not fit in u8"}, {"f32[2]:1 2", 10, "a comma is missing"}, {"f32[1", 6, "not closed"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kiln_array *a;
        char out[128];
        assert_ok(ctx, kiln_array_parse(ctx, good[i].text, &a));
        assert_int_equal(kiln_array_format(a, 4, out, sizeof out), strlen(good[i].print));
        assert_string_equal(out, good[i].print);
        kiln_array_release(a);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_array *a;
        assert_int_equal(kiln_array_parse(ctx, bad[i].text, &a), KILN_INVALID);
        assert_null(a);
        if (!strstr(kiln_ctx_error(ctx)->message, bad[i].message) || kiln_ctx_error(ctx)->column != bad[i].column)
            fail_msg("%s gave %d: %s", bad[i].text, kiln_ctx_error(ctx)->column, kiln_ctx_error(ctx)->message);
    }
}

static void memory_runs_out(void **state)
{
    (void)state;
    const char *path = test_path("memory.npz");
    for (int n = 1;; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_array *a = NULL, *b = NULL;
        kiln_npz *z = NULL;
        const char *name = "a";
        kiln_status status = kiln_array_parse(ctx, "f64[4]:1,2,3,4", &a);
        if (status == KILN_OK) status = kiln_npz_save(ctx, path, 1, &name, &a);
        if (status == KILN_OK) status = kiln_npz_open(ctx, path, &z);
        if (status == KILN_OK) status = kiln_npz_read(ctx, z, 0, &b);
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_npz_close(z);
        bool failed = test_ctx_failed(ctx);
        assert_int_equal(status, failed ? KILN_NOMEM : KILN_OK);
        test_ctx_release(ctx);
        if (!failed) break;
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numpys), cmocka_unit_test(writes_and_reads), cmocka_unit_test(damage),
        cmocka_unit_test(refuses),      cmocka_unit_test(arrays_as_text),   cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
