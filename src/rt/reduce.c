/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/reduce.h"

#include <math.h>

enum { MAX_LANES = 256 };

kiln_dtype kn_accumulator(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16 ? KILN_F32 : d; }

static int64_t block_of(int64_t n) /* a multiple of 64 such that at most 64 blocks arise */
{
    int64_t b = 64 * (n / 4096 + (n % 4096 != 0));
    return b > 4096 ? b : 4096;
}

kn_run kn_run_t(int64_t n, kiln_dtype accumulator)
{
    return (kn_run){n, MAX_LANES / (int64_t)kiln_dtype_bytes(accumulator), block_of(n)};
}

kn_run kn_run_o(int64_t n, int64_t k) { return (kn_run){n, k <= 4 ? 16 : k <= 15 ? 4 : 1, block_of(n)}; }

kn_order kn_reduce_order(kiln_type x, const int64_t *axes, uint32_t n_axes, kn_axis_role *role)
{
    kn_order o = {0};
    int64_t t = 1, rows = 1, k = 1;
    for (uint32_t d = 0; d < x.rank; d++) role[d] = x.dims[d] == 1 ? KN_AXIS_ONE : KN_AXIS_KEPT;
    for (uint32_t i = 0; i < n_axes; i++)
        if (x.dims[axes[i]] != 1) role[axes[i]] = KN_AXIS_O;
    bool minor = true, after = true; /* still in the run of minor-most reduced dimensions; no dimension of O met yet */
    for (uint32_t d = x.rank; d-- > 0;) {
        if (role[d] == KN_AXIS_ONE) continue;
        if (role[d] == KN_AXIS_KEPT) {
            minor = false;
            if (after) k *= x.dims[d];
        } else if (minor) {
            role[d] = KN_AXIS_T, o.has_t = true, t *= x.dims[d];
        } else {
            o.has_o = true, after = false, rows *= x.dims[d];
        }
    }
    o.t = kn_run_t(t, kn_accumulator(x.dtype));
    o.o = kn_run_o(rows, k);
    return o;
}

static kn_scalar extreme(kiln_dtype d, bool greatest)
{
    switch (kiln_dtype_kind(d)) {
    case 'f': return (kn_scalar){.f = greatest ? (double)INFINITY : -(double)INFINITY};
    case 'i':
    case 'u': { /* by saturation */
        kn_scalar v = {.f = greatest ? (double)INFINITY : -(double)INFINITY};
        return kn_sop_eval(KN_S_convert, KILN_F64, d, v, v, v);
    }
    default: {
        kn_scalar v = {.u = 0};
        v.b = greatest;
        return v;
    }
    }
}

kn_scalar kn_reduce_identity(kn_sop op, kiln_dtype d)
{
    char kind = kiln_dtype_kind(d);
    kn_scalar v = {.c = {0, 0}};
    switch (op) {
    case KN_S_add:
        if (kind == 'f') v.f = -0.0;
        if (kind == 'c') v.c[0] = v.c[1] = -0.0;
        return v;
    case KN_S_mul:
        if (kind == 'f') v.f = 1;
        else if (kind == 'c') v.c[0] = 1;
        else v.i = 1;
        return v;
    case KN_S_min: return extreme(d, true);
    case KN_S_max: return extreme(d, false);
    case KN_S_and:
        if (kind == 'b') v.b = true;
        else v.i = -1;
        return kn_scalar_round(d, v);
    default: return v; /* or, xor */
    }
}

kn_scalar kn_reduce_init(kn_sop op, kiln_dtype d)
{
    return op == KN_S_add ? (kn_scalar){.c = {0, 0}} : kn_reduce_identity(op, d);
}

static kn_scalar combine(kn_sop op, kiln_dtype d, kn_scalar a, kn_scalar b) { return kn_sop_eval(op, d, d, a, b, b); }

kn_scalar kn_run_combine(kn_run run, kn_sop op, kiln_dtype accumulator, kn_at_fn at, void *ud)
{
    kn_scalar lane[MAX_LANES], identity = kn_reduce_identity(op, accumulator), total = identity;
    for (int64_t start = 0; start < run.n; start += run.block) {
        int64_t end = run.n - start < run.block ? run.n : start + run.block;
        for (int64_t l = 0; l < run.lanes; l++) lane[l] = identity;
        for (int64_t i = start; i < end; i++) lane[i % run.lanes] = combine(op, accumulator, lane[i % run.lanes], at(ud, i));
        for (int64_t half = run.lanes / 2; half > 0; half /= 2)
            for (int64_t l = 0; l < half; l++) lane[l] = combine(op, accumulator, lane[l], lane[l + half]);
        total = start ? combine(op, accumulator, total, lane[0]) : lane[0];
    }
    return total;
}

/* The walk over one result element: first the kept index, then O, then T. */
typedef struct walk {
    kn_sop op;
    kiln_type x;
    const void *data;
    kiln_dtype acc;
    kn_order order;
    const kn_axis_role *role;
    int64_t base, row; /* offsets of the kept index and of the row of O */
} walk;

/* Offset of the k-th index, row-major, over the dimensions of this role. */
static int64_t role_offset(const walk *w, kn_axis_role role, int64_t k)
{
    int64_t at = 0, stride = 1;
    for (uint32_t d = w->x.rank; d-- > 0;) {
        if (w->role[d] == role) at += k % w->x.dims[d] * stride, k /= w->x.dims[d];
        stride *= w->x.dims[d];
    }
    return at;
}
static kn_scalar at_t(void *ud, int64_t i) /* T is contiguous */
{
    const walk *w = ud;
    return kn_scalar_load(w->x.dtype, w->data, w->base + w->row + i);
}
static kn_scalar at_o(void *ud, int64_t i)
{
    walk *w = ud;
    w->row = role_offset(w, KN_AXIS_O, i);
    return w->order.has_t ? kn_run_combine(w->order.t, w->op, w->acc, at_t, w) : at_t(w, 0);
}

void kn_reduce(kn_sop op, kiln_type x, const void *xs, const int64_t *axes, uint32_t n_axes, kn_scalar init, void *ys)
{
    kn_axis_role role[KN_RANK_LIMIT];
    walk w = {.op = op, .x = x, .data = xs, .acc = kn_accumulator(x.dtype), .role = role};
    w.order = kn_reduce_order(x, axes, n_axes, role);
    int64_t kept = 1;
    for (uint32_t d = 0; d < x.rank; d++)
        if (role[d] == KN_AXIS_KEPT) kept *= x.dims[d];
    for (int64_t k = 0; k < kept; k++) {
        kn_scalar v;
        w.base = role_offset(&w, KN_AXIS_KEPT, k);
        w.row = 0;
        if (w.order.has_o) v = kn_run_combine(w.order.o, op, w.acc, at_o, &w);
        else if (w.order.has_t) v = kn_run_combine(w.order.t, op, w.acc, at_t, &w);
        else v = at_t(&w, 0);
        kn_scalar_store(x.dtype, ys, k, combine(op, w.acc, init, v));
    }
}
