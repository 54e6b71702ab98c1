/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in files: what is written reads back, numpy's own forms read, and a damaged file is one error and never a crash. */
#include "array/npy.h"
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static kiln_array *decode(kiln_ctx *ctx, const char *header, unsigned version, const void *data, size_t n)
{
    char file[4096];
    size_t h = strlen(header), at = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (char)(h & 255);
    file[9] = (char)(h >> 8);
    memcpy(file + at, header, h);
    memcpy(file + at + h, data, n);
    kiln_array *a;
    if (kn_npy_decode(ctx, "x.npy", file, at + h + n, &a) != KILN_OK) return NULL;
    return a;
}

static void reads_numpys_forms(void **state)
{
    kiln_ctx *ctx = *state;
    double v[6] = {1, 2, 3, 4, 5, 6};
    for (unsigned version = 1; version <= 3; version++) {
        kiln_array *a = decode(ctx, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }     \n", version, v, sizeof v);
        assert_non_null(a);
        assert_true(kiln_type_equal(kiln_array_type(a), (kiln_type){KILN_F64, 2, (int64_t[]){2, 3}}));
        assert_memory_equal(kiln_array_read(a), v, sizeof v);
        kiln_array_release(a);
    }
    kiln_array *a = decode(ctx, "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<f8\"}", 1, v, sizeof v);
    assert_non_null(a);
    const double want[6] = {1, 3, 5, 2, 4, 6};
    assert_memory_equal(kiln_array_read(a), want, sizeof want);
    kiln_array_release(a);
    const unsigned char big[4] = {0, 1, 255, 254};
    a = decode(ctx, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", 1, big, sizeof big);
    assert_non_null(a);
    assert_int_equal(((const int16_t *)kiln_array_read(a))[0], 1);
    assert_int_equal(((const int16_t *)kiln_array_read(a))[1], -2);
    kiln_array_release(a);
    const unsigned char half[2] = {0x80, 0x3f};
    a = decode(ctx, "{'descr': '|V2', 'fortran_order': False, 'shape': (), }", 1, half, sizeof half);
    assert_non_null(a);
    assert_int_equal(kiln_array_type(a).dtype, KILN_BF16);
    kiln_array_release(a);
}

/* Numbers of 2 and 4 bits travel as bytes that hold their sign, in both kinds of file and across pieces. */
static void narrow_signs(void **state)
{
    kiln_ctx *ctx = *state;
    enum { N = 10000 };
    static const kiln_dtype types[] = {KILN_I2, KILN_I4, KILN_U4};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        kiln_array *a, *b;
        kiln_npz *z;
        int64_t dims[1] = {N};
        const char *path = test_path("narrow.npy"), *archive = test_path("narrow.npz"), *name = "x";
        int bits = types[k] == KILN_I2 ? 2 : 4, low = types[k] == KILN_U4 ? 0 : -(1 << (bits - 1));
        assert_ok(ctx, kiln_array_create(ctx, (kiln_type){types[k], 1, dims}, &a));
        for (int i = 0; i < N; i++) kn_scalar_store(types[k], a->data, i, (kn_scalar){.i = low + i % (1 << bits)});
        assert_ok(ctx, kiln_array_save(ctx, path, a));
        assert_ok(ctx, kiln_npz_save(ctx, archive, 1, &name, &a));
        for (int form = 0; form < 2; form++) {
            if (form == 0) assert_ok(ctx, kiln_array_load(ctx, path, &b));
            else {
                assert_ok(ctx, kiln_npz_open(ctx, archive, &z));
                assert_ok(ctx, kiln_npz_read(ctx, z, 0, &b));
                kiln_npz_close(z);
            }
            assert_int_equal(kiln_array_type(b).dtype, low ? KILN_I8 : KILN_U8);
            for (int i = 0; i < N; i++) assert_int_equal(((const int8_t *)kiln_array_read(b))[i], low + i % (1 << bits));
            kiln_array_release(b);
        }
        kiln_array_release(a);
    }
}

static void refuses(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *header, *message;
        kiln_status code;
    } bad[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "pickle", KILN_UNSUPPORTED},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "records", KILN_UNSUPPORTED},
        {"{'descr': '<U8', 'fortran_order': False, 'shape': (1,), }", "'<U8'", KILN_UNSUPPORTED},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "f64[2] needs 16 bytes", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "dimension", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", "63 bits", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "larger than memory", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1 }", "not closed", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': No, 'shape': (1,), }", "fortran_order", KILN_CORRUPT},
        {"{'descr': '<f8', 'shape': (1,), }", "lacks", KILN_CORRUPT},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "repeated", KILN_CORRUPT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", "after", KILN_CORRUPT},
        {"", "no dict", KILN_CORRUPT},
    };
    double v = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(decode(ctx, bad[i].header, 1, &v, sizeof v));
        assert_int_equal(kiln_ctx_error(ctx)->code, bad[i].code);
        assert_non_null(strstr(kiln_ctx_error(ctx)->message, bad[i].message));
        assert_string_equal(kiln_ctx_error(ctx)->file, "x.npy");
    }
    assert_null(decode(ctx, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 9, &v, sizeof v));
    assert_int_equal(kiln_ctx_error(ctx)->code, KILN_VERSION);
}

/* Every array written reads back bit for bit; every cut of the file is refused. */
static void survives(void **state)
{
    kiln_ctx *ctx = *state;
    const char *path = test_path("survives.npy");
    static const int64_t dims[] = {2, 3, 1, 0};
    for (int d = 0; d < KILN_N_DTYPES; d++)
        for (uint32_t rank = 0; rank <= 4; rank++) {
            kiln_array *a, *b;
            assert_ok(ctx, kiln_array_create(ctx, (kiln_type){(kiln_dtype)d, rank, dims}, &a));
            unsigned char *p = kiln_array_data(a);
            bool narrow = kn_dtype_width((kiln_dtype)d) < 8 || kiln_dtype_kind((kiln_dtype)d) == '8', small = narrow;
            for (size_t i = 0; i < kiln_array_bytes(a); i++) p[i] = (unsigned char)(small ? i & 1 : i * 37 + 1);
            if (d == KILN_KEY || d == KILN_FLOAT0 || d == KILN_TOKEN) {
                assert_int_equal(kiln_array_save(ctx, path, a), KILN_UNSUPPORTED);
                kiln_array_release(a);
                continue;
            }
            assert_ok(ctx, kiln_array_save(ctx, path, a));
            assert_ok(ctx, kiln_array_load(ctx, path, &b));
            assert_int_equal(kiln_array_bytes(a), kiln_array_bytes(b));
            assert_memory_equal(kiln_array_read(a), kiln_array_read(b), kiln_array_bytes(a));
            if (!narrow || d == KILN_BOOL) assert_true(kiln_type_equal(kiln_array_type(a), kiln_array_type(b)));
            kiln_array_release(a);
            kiln_array_release(b);
        }
    kn_bytes bytes;
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 2, dims}, &a));
    assert_ok(ctx, kiln_array_save(ctx, path, a));
    kiln_array_release(a);
    assert_ok(ctx, kn_file_read(ctx, path, &bytes));
    for (size_t n = 0; n < bytes.n; n++) {
        char *cut = malloc(n ? n : 1); /* exactly n bytes, so that a sanitizer sees one byte too far */
        memcpy(cut, bytes.s, n);
        assert_int_equal(kn_npy_decode(ctx, "cut", cut, n, &a), KILN_CORRUPT);
        assert_null(a);
        free(cut);
    }
    kn_bytes_free(ctx, &bytes);
    unlink(path);
}

static void needs_a_file(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_array *a;
    assert_int_equal(kiln_array_load(ctx, "/nowhere/x.npy", &a), KILN_NOTFOUND);
    assert_string_equal(kiln_ctx_error(ctx)->message, "cannot open '/nowhere/x.npy': No such file or directory");
    assert_null(a);
    assert_int_equal(kiln_array_load(ctx, "/", &a), KILN_IO);
}

/* The n-th system call of a save fails: the old file stays whole and no temporary is left. */
static void never_half_written(void **state)
{
    kiln_ctx *ctx = *state;
    const char *path = test_path("half.npy");
    kiln_array *a, *b;
    assert_ok(ctx, kiln_array_create(ctx, (kiln_type){KILN_F64, 1, (int64_t[]){100000}}, &a));
    assert_ok(ctx, kiln_array_save(ctx, path, a));
    ((double *)kiln_array_data(a))[7] = 7;
    bool done = false;
    for (int n = 1; !done; n++) {
        assert_true(n < 100);
        test_io_fail(ctx, n);
        kiln_status status = kiln_array_save(ctx, path, a);
        done = !test_io_failed(ctx);
        test_io_fail(ctx, 0);
        assert_int_equal(status, done ? KILN_OK : KILN_IO);
        assert_int_equal(test_count_files(path), 1);
        assert_ok(ctx, kiln_array_load(ctx, path, &b));
        assert_true(((const double *)kiln_array_read(b))[7] == (done ? 7 : 0));
        kiln_array_release(b);
    }
    kiln_array_release(a);
    unlink(path);
}

static void memory_runs_out(void **state)
{
    (void)state;
    const char *path = test_path("memory.npy");
    for (int n = 1;; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_array *a = NULL, *b = NULL;
        kiln_status status = kiln_array_create(ctx, (kiln_type){KILN_F64, 1, (int64_t[]){10}}, &a);
        if (status == KILN_OK) status = kiln_array_save(ctx, path, a);
        if (status == KILN_OK) status = kiln_array_load(ctx, path, &b);
        kiln_array_release(a);
        kiln_array_release(b);
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
        cmocka_unit_test(reads_numpys_forms), cmocka_unit_test(narrow_signs), cmocka_unit_test(refuses),         cmocka_unit_test(survives),
        cmocka_unit_test(needs_a_file),       cmocka_unit_test(never_half_written), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
