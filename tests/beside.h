/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's results beside those of compiled code: at every width of vectors, both levels, split over threads and not. */
#ifndef KN_BESIDE_H
#define KN_BESIDE_H

#include "run/stages.h"
#include "same.h"
#include "testing.h"

#include "kiln/exec.h"

#include <math.h>

/* One float in about `infinite` is infinite. */
static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, uint32_t seed, uint32_t infinite)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t r = seed >> 8;
        kn_scalar v = {.c = {0, 0}};
        if (t.dtype == KILN_BOOL) v.b = r & 1;
        else if (kiln_dtype_kind(t.dtype) == 'f') v.f = r % infinite == 0 ? (double)INFINITY : r % 89 == 0 ? -0.0 : ((double)(r % 20001) - 10000) * 1e-4;
        else v.i = (int64_t)(r % 1000) - 500;
        kn_scalar_store(t.dtype, a->data, k, kn_scalar_round(t.dtype, v));
    }
    return a;
}

enum { BESIDE_MOST = 6 };

static void compare(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *o, kiln_array *const *in, kiln_array *const *want, const char *text)
{
    kiln_exec *f;
    kiln_array *got[BESIDE_MOST];
    assert_ok(ctx, kiln_compile(ctx, p, o, &f));
    assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        int64_t where = -1;
        if (!same_array(want[i], got[i], &where))
            fail_msg("%u bits, level %d: element %lld of result %u differs of\n%s", o->vector_bits, o->tier, (long long)where, i, text);
        kiln_array_release(got[i]);
    }
    kiln_exec_release(f);
}

static void check_beside(kiln_ctx *ctx, const char *text, uint32_t infinite)
{
    kiln_prog *p;
    kiln_array *in[BESIDE_MOST], *want[BESIDE_MOST];
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "beside", &p));
    uint32_t n = kiln_prog_n_inputs(p);
    for (uint32_t i = 0; i < n; i++) in[i] = numbers(ctx, kiln_prog_input_type(p, i), i + 1, infinite);
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (int tier = 0; tier <= 2; tier += 2)
        for (unsigned bits = 128; bits <= 512; bits *= 2) {
            kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
            o.vector_bits = bits;
            o.tier = tier;
            o.split_cost = bits == 256 ? 10 : 0;
            compare(ctx, p, &o, in, want, text);
        }
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) kiln_array_release(want[i]);
    for (uint32_t i = 0; i < n; i++) kiln_array_release(in[i]);
    kiln_prog_release(p);
}

/* A stage of a program compiled at level 2 for vectors of 512 bits, as text to be freed. */
static char *stage_beside(kiln_ctx *ctx, const char *text, const char *stage)
{
    kiln_prog *p;
    char *made;
    size_t n;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.vector_bits = 512;
    o.tier = 2;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "beside", &p));
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, stage, &made, &n));
    char *copy = strdup(made);
    assert_non_null(copy);
    kiln_text_free(ctx, made, n);
    kiln_prog_release(p);
    return copy;
}

#endif
