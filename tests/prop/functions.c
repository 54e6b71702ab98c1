/* SPDX-License-Identifier: Apache-2.0 */
/* Every width of every mathematical function, ours and SLEEF's, gives the bits of the scalar one: edge values, all exponents, random bit
 * patterns and the ranges that programs use, in random lanes beside each other. */
#include "rt/math_table.h"
#include "testing.h"

#include <math.h>

#if defined(__x86_64__)

enum { CHUNK = 16, CHUNKS = 65536 }; /* 2^20 operands a function, type and width */

#define VECTORS(T, name, lanes, isa)                                                                                  \
    typedef T name __attribute__((vector_size(sizeof(T) * (lanes))));                                                  \
    __attribute__((target(isa), noinline)) static void call_##name(kn_function fn, int arity, const T *a, const T *b, T *out) \
    {                                                                                                                  \
        for (int i = 0; i < CHUNK; i += (lanes)) {                                                                     \
            name x, y, r;                                                                                              \
            memcpy(&x, a + i, sizeof x), memcpy(&y, b + i, sizeof y);                                                  \
            r = arity == 1 ? ((name(*)(name))fn)(x) : ((name(*)(name, name))fn)(x, y);                                 \
            memcpy(out + i, &r, sizeof r);                                                                             \
        }                                                                                                              \
    }
VECTORS(double, d2, 2, "avx2,fma")
VECTORS(double, d4, 4, "avx2,fma")
VECTORS(double, d8, 8, "avx512f")
VECTORS(float, f4, 4, "avx2,fma")
VECTORS(float, f8, 8, "avx2,fma")
VECTORS(float, f16, 16, "avx512f")

static uint64_t next(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Values that functions treat specially, and their neighbours. */
static const double edges[] = {0.0,  1.0,    0.5,     2.0,     3.0,    0x1p-1074, 0x1p-1022, 0x1p-149, 0x1p-126, 0x1p-24, 0x1p-53, 1e-8, 0x1.fffffep127,
                               0x1.fffffffffffffp1023, 88.72283905206835, 709.782712893384, 745.1332191019411, 103.97, 1023.0, 1024.0, 127.0,
                               128.0, 149.0, 1074.0, 0.7853981633974483, 1.5707963267948966, 3.141592653589793, 6.283185307179586, 1e5, 1e14, 1e22,
                               0.3465735902799726, 0.6931471805599453, 9.0, 19.0, 22.0, 2.718281828459045, 1e30, 1e300};

/* Kind 8: any of 0..7. Chunks of one kind keep all lanes on one path of a function, others mix paths. */
static double operand(uint64_t *s, bool wide, unsigned kind)
{
    uint64_t r = next(s);
    double sign = r & 1 ? -1 : 1, unit = (double)(r >> 11) * 0x1p-53;
    switch (kind < 8 ? kind : r >> 1 & 7) {
    case 0: {
        double e = edges[next(s) % (sizeof edges / sizeof *edges)];
        int step = (int)(next(s) % 5) - 2;
        if (!wide) {
            float f = (float)e;
            for (int i = 0; i < abs(step); i++) f = nextafterf(f, step < 0 ? 0 : INFINITY);
            return sign * (double)f;
        }
        for (int i = 0; i < abs(step); i++) e = nextafter(e, step < 0 ? 0 : (double)INFINITY);
        return sign * e;
    }
    case 1: return r & 16 ? sign * (double)INFINITY : (double)NAN;
    case 2: {
        uint64_t bits = next(s);
        uint32_t half = (uint32_t)bits;
        double d;
        float f;
        if (wide) return memcpy(&d, &bits, 8), d;
        return memcpy(&f, &half, 4), (double)f;
    }
    case 3: return sign * unit;
    case 4: return sign * unit * 10;
    case 5: return sign * unit * 800;
    case 6: return sign * ldexp(unit, (int)(next(s) % 600) - 300);
    default: return sign * ldexp(1 + unit, (int)(next(s) % 60) - 30);
    }
}

typedef struct count {
    long differ;
    double a, b; /* the first that differs */
} count;

static void compare64(const double *want, const double *got, const double *a, const double *b, count *c)
{
    for (int i = 0; i < CHUNK; i++)
        if (memcmp(&want[i], &got[i], 8) != 0 && !(isnan(want[i]) && isnan(got[i])) && c->differ++ == 0) c->a = a[i], c->b = b[i];
}
static void compare32(const float *want, const float *got, const float *a, const float *b, count *c)
{
    for (int i = 0; i < CHUNK; i++)
        if (memcmp(&want[i], &got[i], 4) != 0 && !(isnan(want[i]) && isnan(got[i])) && c->differ++ == 0) c->a = (double)a[i], c->b = (double)b[i];
}

static void check64(kn_sop op, count c[3], const struct kiln_table *t, bool wide)
{
    int arity = kn_sops[op].arity;
    uint64_t s = (uint64_t)op;
    for (int k = 0; k < CHUNKS; k++) {
        double a[CHUNK], b[CHUNK], want[CHUNK], got[CHUNK];
        unsigned kind = (unsigned)(next(&s) % 16);
        for (int i = 0; i < CHUNK; i++) {
            a[i] = operand(&s, true, kind), b[i] = operand(&s, true, kind);
            kn_scalar x = {.f = a[i]}, y = {.f = b[i]};
            want[i] = kn_sop_eval(op, KILN_F64, KILN_F64, x, y, y).f;
        }
        call_d2(t->fn[kn_table_index(op, KILN_F64, 2)], arity, a, b, got);
        compare64(want, got, a, b, &c[0]);
        call_d4(t->fn[kn_table_index(op, KILN_F64, 4)], arity, a, b, got);
        compare64(want, got, a, b, &c[1]);
        if (!wide) continue;
        call_d8(t->fn[kn_table_index(op, KILN_F64, 8)], arity, a, b, got);
        compare64(want, got, a, b, &c[2]);
    }
}

static void check32(kn_sop op, count c[3], const struct kiln_table *t, bool wide)
{
    int arity = kn_sops[op].arity;
    uint64_t s = (uint64_t)op + 1000;
    for (int k = 0; k < CHUNKS; k++) {
        float a[CHUNK], b[CHUNK], want[CHUNK], got[CHUNK];
        unsigned kind = (unsigned)(next(&s) % 16);
        for (int i = 0; i < CHUNK; i++) {
            a[i] = (float)operand(&s, false, kind), b[i] = (float)operand(&s, false, kind);
            kn_scalar x = {.f = (double)a[i]}, y = {.f = (double)b[i]};
            want[i] = (float)kn_sop_eval(op, KILN_F32, KILN_F32, x, y, y).f;
        }
        call_f4(t->fn[kn_table_index(op, KILN_F32, 4)], arity, a, b, got);
        compare32(want, got, a, b, &c[0]);
        call_f8(t->fn[kn_table_index(op, KILN_F32, 8)], arity, a, b, got);
        compare32(want, got, a, b, &c[1]);
        if (!wide) continue;
        call_f16(t->fn[kn_table_index(op, KILN_F32, 16)], arity, a, b, got);
        compare32(want, got, a, b, &c[2]);
    }
}

static void test_widths_agree(void **state)
{
    (void)state;
    bool wide = __builtin_cpu_supports("avx512f");
    const struct kiln_table *t = kn_table_for("x86-64-v4");
    long bad = 0;
    for (int op = 1; op < KN_N_SOPS; op++) {
        if (!kn_sops[op].function[0]) continue;
        for (int type = 0; type < 2; type++) {
            count c[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
            if (type) check32((kn_sop)op, c, t, wide);
            else check64((kn_sop)op, c, t, wide);
            for (int w = 0; w < 3; w++) {
                bad += c[w].differ;
                if (c[w].differ)
                    print_error("%s %s, width %d: %ld of %d differ, first at %a, %a\n", kn_sops[op].name, type ? "f32" : "f64",
                                (type ? 4 : 2) << w, c[w].differ, CHUNK * CHUNKS, c[w].a, c[w].b);
            }
        }
    }
    assert_int_equal(bad, 0);
}

static void test_table(void **state)
{
    (void)state;
    const struct kiln_table *v3 = kn_table_for("x86-64-v3"), *v4 = kn_table_for("x86-64-v4");
    assert_null(kn_table_for("m68k"));
    static const int lanes[] = {1, 2, 4, 8, 16};
    for (int op = 1; op < KN_N_SOPS; op++)
        for (int d = 0; d < KILN_N_DTYPES; d++)
            for (int w = 0; w < 5; w++) {
                int k = kn_table_index((kn_sop)op, (kiln_dtype)d, lanes[w]);
                bool function = kn_sops[op].function[0] && ((d == KILN_F64 && lanes[w] <= 8) || (d == KILN_F32 && lanes[w] != 2));
                bool remainder = op == KN_S_rem && lanes[w] == 1 && (d == KILN_F64 || d == KILN_F32);
                assert_int_equal(k >= 0, function || remainder);
                if (k < 0) continue;
                assert_non_null(v4->fn[k]);
                bool narrow = lanes[w] * (int)kiln_dtype_bytes((kiln_dtype)d) <= 32;
                assert_int_equal(v3->fn[k] != NULL, narrow);
                if (narrow) assert_ptr_equal(v3->fn[k], v4->fn[k]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_widths_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 0; }
#endif
