/* SPDX-License-Identifier: Apache-2.0 */
/* Promise 2: compiled equals interpreted, bit for bit. Every primitive's samples, at vector widths 1, 4, 8, 16 (by bits), at
 * lengths around every power of two, with arrays in registers and in memory, fused and unfused, both tiers. KILN_TEST_SHARD=k/n
 * takes the k-th of n parts, KILN_TEST_PRIM one primitive, KILN_TEST_SEEDS that many programs of each length. */
#include "array/array.h"
#include "ir/prim.h"
#include "kiln/exec.h"
#include "prim/sample.h"
#include "same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const int64_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 1000};
static const unsigned widths[] = {64, 128, 256, 512};

static bool compare(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, const kiln_compile_opts *o, kiln_array *const *want, char *why,
                    size_t why_bytes)
{
    kiln_exec *f = NULL;
    uint32_t n = kiln_prog_n_outputs(p);
    kiln_array *got[64] = {0};
    bool good = false;
    if (kiln_compile(ctx, p, o, &f) != KILN_OK || kiln_exec_call(ctx, f, in, got) != KILN_OK) {
        snprintf(why, why_bytes, "%s", kiln_ctx_error(ctx)->message);
    } else {
        good = true;
        for (uint32_t i = 0; i < n && good; i++) {
            int64_t at = 0;
            good = same_array(got[i], want[i], &at);
            if (!good) snprintf(why, why_bytes, "output %u differs at element %lld", i, (long long)at);
        }
    }
    for (uint32_t i = 0; i < n; i++) kiln_array_release(got[i]);
    kiln_exec_release(f);
    return good;
}

/* The length whose vectors are tried at this seed; widths and modes go round with the seed, so that all meet all. */
static unsigned check_sample(kiln_ctx *ctx, const kn_prim *prim, uint64_t seed, int64_t length, uint32_t dtypes)
{
    kn_sample_opts so = {.seed = seed, .length = length, .dtypes = dtypes};
    kiln_prog *p = NULL;
    kiln_array *in[KN_SAMPLE_INPUTS] = {0}, *want[64] = {0};
    uint32_t nin = 0;
    kiln_status s = kn_sample_program(ctx, prim, &so, &p, in, &nin);
    if (s == KILN_UNSUPPORTED || s == KILN_DTYPE) return 0;
    if (s != KILN_OK) fail_msg("%s: no sample: %s", prim->name, kiln_ctx_error(ctx)->message);
    unsigned failures = 0;
    if (kiln_prog_eval(ctx, p, in, want) == KILN_OK) {
        for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
            kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
            o.vector_bits = widths[w];
            o.register_elements = (seed + w) % 2 ? 16 : 0;
            o.tier = (seed + w) % 3 == 0 ? 2 : 0;
            o.no_fusion = (seed + w) % 5 == 0;
            ctx->threads = (seed + w) % 4 < 2 ? 2 : 1;
            o.split_cost = ctx->threads == 2 ? 1 : 0; /* every loop that may be split is */
            char why[KILN_DIAG_TEXT] = "";
            if (compare(ctx, p, in, &o, want, why, sizeof why)) continue;
            failures++;
            char *text = NULL;
            size_t n = 0;
            if (kiln_prog_print(ctx, p, 100, &text, &n) == KILN_OK) print_error("%s", text);
            kiln_text_free(ctx, text, n);
            print_error("%s seed %llu length %lld, %u-bit vectors, registers %d, tier %d, no_fusion %d, %u threads: %s\n", prim->name,
                        (unsigned long long)seed, (long long)length, widths[w], o.register_elements, o.tier, o.no_fusion, ctx->threads, why);
            break;
        }
    }
    for (uint32_t i = 0; i < 64; i++) kiln_array_release(want[i]);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
    return failures;
}

/* The parts share the lengths of a primitive out, so that they take equally long. */
typedef struct shard {
    unsigned k, n;
} shard;

static shard shard_of(const char *text)
{
    shard s = {0, 1};
    char end = 0;
    if (text && (sscanf(text, "%u/%u%c", &s.k, &s.n, &end) != 2 || s.k >= s.n)) fail_msg("KILN_TEST_SHARD=%s; accepted: 0/6 to 5/6, say", text);
    return s;
}

static void each(const int64_t *sizes, size_t n_sizes, uint32_t dtypes)
{
    kiln_ctx *ctx;
    assert_int_equal(kiln_ctx_create(NULL, &ctx), KILN_OK);
    uint32_t n;
    unsigned failures = 0, seeds = 2;
    const char *only = getenv("KILN_TEST_PRIM"), *more = getenv("KILN_TEST_SEEDS");
    if (more) seeds = (unsigned)atoi(more);
    const shard part = shard_of(getenv("KILN_TEST_SHARD"));
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        if (only && strcmp(only, prims[i]->name) != 0) continue;
        if (prims[i]->flags & KN_TRANSIENT) continue;
        if (!prims[i]->lower && prims[i]->loop == KN_LOOP_NONE) fail_msg("%s has no rule to compile by", prims[i]->name);
        for (size_t k = 0; k < n_sizes; k++)
            for (uint64_t seed = 0; seed < seeds && (i + k) % part.n == part.k; seed++)
                failures += check_sample(ctx, prims[i], seed * 97 + k, sizes[k], dtypes);
    }
    kiln_ctx_release(ctx);
    assert_int_equal(failures, 0);
}

static void every_primitive(void **state)
{
    (void)state;
    each(lengths, sizeof lengths / sizeof *lengths, 0);
}

static uint32_t set_of(const char *kinds)
{
    uint32_t set = 0;
    for (int d = 0; d < KILN_N_DTYPES; d++)
        if (strchr(kinds, kiln_dtype_kind((kiln_dtype)d))) set |= 1u << d;
    return set;
}

static const int64_t few[] = {0, 1, 3, 8, 17, 33, 65, 300};
enum { FEW = sizeof few / sizeof *few };

/* 16-bit floats, and integers of all widths. */
static void narrow_floats(void **state)
{
    (void)state;
    each(few, FEW, 1u << KILN_F16 | 1u << KILN_BF16);
}
static void integers(void **state)
{
    (void)state;
    each(few, FEW, set_of("iu"));
}
static void complex_numbers(void **state)
{
    (void)state;
    each(few, FEW, set_of("c"));
    each(few, FEW, set_of("c") | 1u << KILN_F32 | 1u << KILN_F64);
}
/* Everything together: conversions. */
static void all_types(void **state)
{
    (void)state;
    each(few, FEW, set_of("biufc8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_primitive), cmocka_unit_test(narrow_floats), cmocka_unit_test(integers), cmocka_unit_test(complex_numbers),
                                       cmocka_unit_test(all_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
