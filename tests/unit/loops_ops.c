/* SPDX-License-Identifier: Apache-2.0 */
/* Every scalar operation on every element type, in plain code and at every width, for every length of loop from 0 to 65,
 * on edge and random values, both tiers and targets: the same bits as kn_sop_eval. */
#include "base/cpu.h"
#include "base/text.h"
#include "loop_eval.h"
#include "run/stages.h"

#include <math.h>

enum { LENGTH = 66, MOST = 160 };

static const kiln_dtype types[] = {KILN_BOOL, KILN_I8,  KILN_I16, KILN_I32, KILN_I64, KILN_U8,
                                   KILN_U16,  KILN_U32, KILN_U64, KILN_F32, KILN_F64};
enum { TYPES = sizeof types / sizeof *types };

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static kn_scalar float_value(kiln_dtype d, uint64_t r)
{
    static const double edges[] = {0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 1e300, -1e300, 1e-310, -1e-310, 1e-45,
                                   127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, 2147483647, 2147483648.0,
                                   -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 9223372036854775807.0,
                                   -9223372036854775808.0, 18446744073709551616.0, 8388607.5, 4503599627370495.5, 3.5, 1e20};
    enum { EDGES = sizeof edges / sizeof *edges };
    kn_scalar v = {.f = edges[r % EDGES]};
    switch (r >> 8 & 7) {
    case 0: v.f = (double)NAN; break;
    case 1: v.f = r & 1 << 20 ? (double)INFINITY : -(double)INFINITY; break;
    case 2: v.f = ldexp((double)(int64_t)r, (int)(r >> 3 & 127) - 127); break;
    case 3: v.f = (double)(int64_t)(r >> 16) / 1e12; break;
    case 4: v.f = (double)(r >> 40 & 1023) - 512; break;
    default: break;
    }
    return kn_scalar_round(d, v);
}

static kn_scalar value(kiln_dtype d, uint64_t r)
{
    if (kiln_dtype_kind(d) == 'f') return float_value(d, r);
    if (d == KILN_BOOL) return (kn_scalar){.b = r >> 20 & 1};
    unsigned bits = (unsigned)kiln_dtype_bytes(d) * 8;
    kn_scalar v = {.u = r >> 7};
    switch (r & 7) {
    case 0: v.i = (int64_t)(r >> 8 & 3) - 1; break;
    case 1: v.u = 1ull << (bits - 1); break;
    case 2: v.u = (1ull << (bits - 1)) - 1; break;
    case 3: v.i = (int64_t)(r >> 8 & 127) - 3; break; /* shifts */
    case 4: v.u = r >> (r >> 58); break;
    default: break;
    }
    return kn_scalar_round(d, v);
}

/* Does the operation of an operand d have a result types[k]? Those that do not choose their result have one form, k = 0. */
static bool has_form(int op, kiln_dtype d, int k)
{
    if (op == KN_S_bitcast) return types[k] != KILN_BOOL && kiln_dtype_bytes(types[k]) == kiln_dtype_bytes(d);
    return op == KN_S_convert || k == 0;
}

/* The same program for all lengths: the length is an input. Output k is operation k. */
static void program(kn_text *t, kiln_dtype d, unsigned width, int64_t n, uint32_t *outputs, kiln_dtype *out)
{
    kn_text body;
    kn_text_init(&body, NULL);
    const char *name = kiln_dtype_name(d);
    unsigned v = 10;
    *outputs = 0;
    for (int op = 1; op < KN_N_SOPS; op++) {
        const kn_sop_info *s = &kn_sops[op];
        if (!strchr(s->kinds, kiln_dtype_kind(d))) continue;
        for (int k = 0; k < (int)TYPES; k++) {
            if (!has_form(op, d, k)) continue;
            static const char *const args[] = {"", "%2", "%2, %3", "%2, %3, %4"};
            kn_text_printf(&body, "%%%u = %s %s %s", v, s->name, name, op == KN_S_select ? "%5, %2, %3" : args[s->arity]);
            out[*outputs] = s->result == 'b' ? KILN_BOOL : s->result == 'c' ? types[k] : d;
            if (s->result == 'c') kn_text_printf(&body, " to %s", kiln_dtype_name(types[k]));
            kn_text_printf(&body, "\nout%u[%%1] = %%%u\n", *outputs, v);
            v++, ++*outputs;
        }
    }
    kn_text_printf(t, "kiln loops inputs 5 outputs %u\nslot n: i64[1] input 4\nslot in3: bool[%d] input 3\n", *outputs, LENGTH);
    for (int i = 0; i < 3; i++) kn_text_printf(t, "slot in%d: %s[%d] input %d\n", i, name, LENGTH, i);
    for (uint32_t i = 0; i < *outputs; i++) kn_text_printf(t, "slot out%u: %s[%d] output %u\n", i, kiln_dtype_name(out[i]), LENGTH, i);
    kn_text_add(t, "{\n%6 = n[0]\nloop %1 in 0 .. ");
    if (n < 0) kn_text_add(t, "%6");
    else kn_text_printf(t, "%lld", (long long)n);
    if (width) kn_text_printf(t, " width %u", width);
    kn_text_printf(t, " {\n%%2 = in0[%%1]\n%%3 = in1[%%1]\n%%4 = in2[%%1]\n%%5 = in3[%%1]\n%s}\n}\n", body.s);
    kn_text_fini(&body);
}

static bool same(kiln_dtype d, const void *a, const void *b, int64_t k)
{
    size_t w = kiln_dtype_bytes(d);
    if (memcmp((const char *)a + (size_t)k * w, (const char *)b + (size_t)k * w, w) == 0) return true;
    kn_scalar x = kn_scalar_load(d, a, k), y = kn_scalar_load(d, b, k);
    return kiln_dtype_kind(d) == 'f' && isnan(x.f) && isnan(y.f);
}

static char *which(kiln_dtype d, uint32_t output)
{
    static char s[40];
    uint32_t k = 0;
    for (int op = 1; op < KN_N_SOPS; op++) {
        if (!strchr(kn_sops[op].kinds, kiln_dtype_kind(d))) continue;
        for (int j = 0; j < (int)TYPES; j++) {
            if (!has_form(op, d, j)) continue;
            if (k++ == output) snprintf(s, sizeof s, "%s %s %s", kn_sops[op].name, kiln_dtype_name(d), kn_sops[op].result == 'c' ? kiln_dtype_name(types[j]) : "");
        }
    }
    return s;
}

typedef struct arrays {
    kiln_array *in[5], *want[MOST], *got[MOST];
} arrays;

static void compare(kiln_ctx *ctx, const kn_loops *l, kiln_exec *f, kiln_dtype d, uint32_t outputs, const kiln_dtype *out, arrays *a,
                    int64_t n, const char *label)
{
    void *buffers[MOST + 5];
    for (uint32_t i = 0; i < outputs; i++) {
        memset(a->want[i]->data, 0x5a, a->want[i]->bytes);
        memset(a->got[i]->data, 0x5a, a->got[i]->bytes);
        buffers[5 + i] = a->want[i]->data;
    }
    for (int i = 0; i < 5; i++) buffers[i] = a->in[i]->data;
    *(int64_t *)a->in[4]->data = n;
    assert_int_equal(loop_eval_run(l, buffers, NULL, NULL, false), 0);
    assert_ok(ctx, kiln_exec_call_into(ctx, f, a->in, a->got));
    for (uint32_t i = 0; i < outputs; i++)
        for (int64_t k = 0; k < LENGTH; k++)
            if (!same(out[i], a->want[i]->data, a->got[i]->data, k)) {
                print_error("%s %s, length %lld: element %lld\n", label, which(d, i), (long long)n, (long long)k);
                kn_scalar x = kn_scalar_load(d, a->in[0]->data, k), y = kn_scalar_load(d, a->in[1]->data, k);
                kn_scalar w = kn_scalar_load(out[i], a->want[i]->data, k), g = kn_scalar_load(out[i], a->got[i]->data, k);
                print_error("  of %llx %g, %llx %g: %llx %g, not %llx %g\n", (unsigned long long)x.u, x.f, (unsigned long long)y.u, y.f,
                            (unsigned long long)g.u, g.f, (unsigned long long)w.u, w.f);
                fail();
            }
}

static void check_type(kiln_ctx *ctx, kiln_dtype d, const char *target, int tier, unsigned width, int64_t known)
{
    kn_text t;
    kn_text_init(&t, NULL);
    kn_arena arena;
    kn_arena_init(&arena, NULL);
    uint32_t outputs;
    kiln_dtype out[MOST];
    program(&t, d, width, known, &outputs, out);
    kn_loops *l;
    kiln_exec *f;
    assert_ok(ctx, kn_loops_parse(ctx, &arena, t.s, t.n, "ops", &l));
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.target = target;
    o.tier = tier;
    assert_ok(ctx, kn_compile_loops(ctx, l, NULL, &o, &f));
    arrays a;
    uint64_t seed = d * 1000 + width;
    for (int i = 0; i < 5; i++) {
        kiln_dtype e = i < 3 ? d : i == 3 ? KILN_BOOL : KILN_I64;
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(e, i == 4 ? 1 : LENGTH), &a.in[i]));
    }
    for (uint32_t i = 0; i < outputs; i++) {
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(out[i], LENGTH), &a.want[i]));
        assert_ok(ctx, kiln_array_create(ctx, KILN_VECTOR(out[i], LENGTH), &a.got[i]));
    }
    char label[80];
    snprintf(label, sizeof label, "%s tier %d width %u", target, tier, width);
    for (int round = 0; round < 1; round++) {
        for (int i = 0; i < 4; i++)
            for (int64_t k = 0; k < LENGTH; k++) kn_scalar_store(i < 3 ? d : KILN_BOOL, a.in[i]->data, k, value(i < 3 ? d : KILN_BOOL, random_bits(&seed)));
        for (int64_t n = known < 0 ? 0 : known; n <= (known < 0 ? LENGTH - 1 : known); n++)
            compare(ctx, l, f, d, outputs, out, &a, n, label);
    }
    for (int i = 0; i < 5; i++) kiln_array_release(a.in[i]);
    for (uint32_t i = 0; i < outputs; i++) {
        kiln_array_release(a.want[i]);
        kiln_array_release(a.got[i]);
    }
    kiln_exec_release(f);
    kn_arena_fini(&arena);
    kn_text_fini(&t);
}

/* Every width meets every type; tiers, and lengths known or not, take turns. KILN_TEST_ALL: all meet all. */
static void check_target(kiln_ctx *ctx, const char *target)
{
    static const unsigned widths[] = {0, 1, 2, 4, 8, 16, 64};
    static const int64_t known[] = {13, 16, 31, 65};
    enum { WIDTHS = sizeof widths / sizeof *widths };
    bool all = getenv("KILN_TEST_ALL") != NULL;
    for (unsigned i = 0; i < TYPES; i++)
        for (unsigned w = 0; w < WIDTHS; w++)
            for (unsigned k = 0; k < 4; k++)
                if (all || k == (i + w) % 4) check_type(ctx, types[i], target, k % 2 * 2, widths[w], k < 2 || w == 1 ? -1 : known[(i + k) % 4]);
}

static void on_v3(void **state) { check_target(*state, "x86-64-v3"); }

static void on_v4(void **state)
{
    if (strcmp(kn_cpu_target(), "x86-64-v4") != 0) skip();
    check_target(*state, "x86-64-v4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(on_v3, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(on_v4, test_setup, test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
