/* SPDX-License-Identifier: Apache-2.0 */
/* A program of which one size is given at each call, run at a size: compiled and interpreted, with inputs between pages that may not
 * be touched. */
#ifndef KN_TESTS_SIZED_RUN_H
#define KN_TESTS_SIZED_RUN_H

#include "array/size.h"
#include "kiln/exec.h"
#include "testing.h"

#include "guarded.h"
#include "same.h"

enum { SIZED_MOST = 64 };

static uint64_t sized_state;
static uint64_t sized_bits(void)
{
    sized_state = sized_state * 6364136223846793005u + 1442695040888963407u;
    return sized_state >> 33;
}

static guarded sized_fill(kiln_ctx *ctx, kiln_type t, kiln_array **out)
{
    size_t width = kiln_dtype_bytes(t.dtype), n = (size_t)kiln_type_size(t);
    guarded g = guarded_new(n * width, true, width);
    char kind = kiln_dtype_kind(t.dtype);
    for (size_t k = 0; k < n; k++) {
        int64_t i = (int64_t)(sized_bits() % 80) - 10;
        kn_scalar v = {.i = i};
        if (kind == 'f' || kind == 'c') v.f = ((double)sized_bits() / 1e9 - 1) * (sized_bits() % 7 ? 1 : 30);
        if (kind == 'b') v.b = i & 1;
        kn_scalar_store(t.dtype, g.data, (int64_t)k, v);
    }
    assert_ok(ctx, kiln_array_wrap(ctx, t, g.data, NULL, NULL, out));
    return g;
}

/* Are there arrays of that size? None has -1 rows. */
static bool sized_exists(const kiln_prog *p, int64_t n)
{
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) {
        kiln_type t = kiln_prog_input_type(p, i);
        for (uint32_t d = 0; d < t.rank; d++)
            if (kn_size_at(t.dims[d], n) < 0) return false;
    }
    return true;
}

/* Fails the test where the results differ. Returns what the call said: KILN_SHAPE where the program takes no size so small. */
static kiln_status sized_run(kiln_ctx *ctx, const kiln_prog *p, const kiln_exec *f, int64_t n, const char *name)
{
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    kiln_array *in[SIZED_MOST], *want[SIZED_MOST] = {0}, *got[SIZED_MOST] = {0};
    guarded g[SIZED_MOST];
    assert_true(nin <= SIZED_MOST && nout <= SIZED_MOST);
    for (uint32_t i = 0; i < nin; i++) {
        int64_t dims[KN_RANK_LIMIT];
        kiln_type t = kiln_prog_input_type(p, i);
        for (uint32_t d = 0; d < t.rank; d++) dims[d] = kn_size_at(t.dims[d], n);
        t.dims = dims;
        g[i] = sized_fill(ctx, t, &in[i]);
    }
    kiln_status status = kiln_exec_call(ctx, f, in, got);
    if (status == KILN_OK) assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (uint32_t i = 0; i < nout && status == KILN_OK; i++) {
        if (!kiln_type_equal(want[i]->type, got[i]->type)) fail_msg("%s: size %lld: output %u is %s", name, (long long)n, i, kn_type_show(got[i]->type).s);
        int64_t at = 0;
        if (!same_array(want[i], got[i], &at)) {
            kn_scalar a = kn_scalar_load(want[i]->type.dtype, want[i]->data, at), b = kn_scalar_load(want[i]->type.dtype, got[i]->data, at);
            fail_msg("%s: size %lld: element %lld of output %u is %a, interpreted %a", name, (long long)n, (long long)at, i, b.f, a.f);
        }
        kiln_array_release(want[i]);
        kiln_array_release(got[i]);
    }
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]), guarded_free(&g[i]);
    return status;
}

#endif
