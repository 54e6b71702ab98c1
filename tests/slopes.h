/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes of programs by central differences, in f64 and c128. */
#ifndef KN_TESTS_SLOPES_H
#define KN_TESTS_SLOPES_H

#include "array/array.h"
#include "kiln/prog.h"
#include "testing.h"

#include <math.h>

enum { SLOPE_ARRAYS = 64 };

static double between(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 0.2 + 0.6 * (double)(*state >> 11) / 9007199254740992.0;
}

static bool is_wide(kiln_type t) { return t.dtype == KILN_F64 || t.dtype == KILN_C128; }
static bool is_float(kiln_type t) { return strchr("fc8", kiln_dtype_kind(t.dtype)) != NULL; }
/* Elements as numbers: complex ones are two. */
static int64_t parts(const kiln_array *a) { return kiln_type_size(a->type) * (a->type.dtype == KILN_C128 ? 2 : 1); }

static void release_arrays(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]), a[i] = NULL;
}

static kiln_array *random_like(kiln_ctx *ctx, kiln_type t, uint64_t *state)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t k = 0; k < parts(a); k++) ((double *)a->data)[k] = between(state);
    return a;
}

/* The real part of the sum of products, nothing conjugated. */
static double dot(const kiln_array *a, const kiln_array *b)
{
    double s = 0;
    bool complex = a->type.dtype == KILN_C128;
    for (int64_t k = 0; k < parts(a); k++) s += (complex && k % 2 ? -1 : 1) * ((double *)a->data)[k] * ((double *)b->data)[k];
    return s;
}

/* <u, f(x + h v)>; v, u: of the float operands and results. NaN when it cannot be evaluated. */
static double value_at(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *x, uint32_t n, kiln_array *const *v, kiln_array *const *u, double h)
{
    kiln_array *in[SLOPE_ARRAYS], *y[SLOPE_ARRAYS] = {NULL};
    uint32_t nv = 0, nu = 0, nout = kiln_prog_n_outputs(p);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        in[i] = kiln_array_retain(x[i]);
        if (!is_wide(x[i]->type)) continue;
        kiln_array_release(in[i]);
        assert_ok(ctx, kiln_array_create(ctx, x[i]->type, &in[i]));
        for (int64_t k = 0; k < parts(in[i]); k++) ((double *)in[i]->data)[k] = ((double *)x[i]->data)[k] + h * ((double *)v[nv]->data)[k];
        nv++;
    }
    if (kiln_prog_eval(ctx, p, in, y) != KILN_OK) sum = (double)NAN;
    for (uint32_t i = 0; i < nout && y[i]; i++)
        if (is_wide(y[i]->type)) sum += dot(u[nu++], y[i]);
    release_arrays(in, n);
    release_arrays(y, nout);
    return sum;
}

/* The slope of <u, f> along v, where two steps give the same: no kink or jump lies between, and it is not all rounding. */
static bool slope_along(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *x, uint32_t n, kiln_array *const *v, kiln_array *const *u, double *slope)
{
    double h = 1e-4, wide = (value_at(ctx, p, x, n, v, u, h) - value_at(ctx, p, x, n, v, u, -h)) / (2 * h);
    h /= 8;
    *slope = (value_at(ctx, p, x, n, v, u, h) - value_at(ctx, p, x, n, v, u, -h)) / (2 * h);
    return isfinite(*slope) && fabs(wide - *slope) <= 1e-5 * (1 + fabs(*slope));
}

#endif
