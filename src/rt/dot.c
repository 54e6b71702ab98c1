/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/dot.h"

enum { MAX_LANES = 256 };

kiln_dtype kn_dot_accumulator(kiln_dtype operand, kiln_dtype result)
{
    kiln_dtype wide = kiln_dtype_bytes(result) > kiln_dtype_bytes(operand) ? result : operand;
    return kn_accumulator(wide);
}

static bool named(const int64_t *list, uint32_t n, uint32_t d)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == (int64_t)d) return true;
    return false;
}

/* Product of the dimensions that are neither batch nor contracting. */
static int64_t free_size(kiln_type t, const kn_dot_dims *dims, int side)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < t.rank; d++)
        if (!named(dims->batch[side], dims->n_batch, d) && !named(dims->contract[side], dims->n_contract, d)) n *= t.dims[d];
    return n;
}

/* Are the contracting dimensions, without those of size 1, the last ones in memory, in their listed order? */
static bool minor_most(kiln_type t, const kn_dot_dims *dims, int side)
{
    uint32_t d = t.rank;
    for (uint32_t i = dims->n_contract; i-- > 0;) {
        int64_t want = dims->contract[side][i];
        if (t.dims[want] == 1) continue;
        do {
            if (d == 0) return false;
            d--;
        } while (t.dims[d] == 1);
        if ((int64_t)d != want) return false;
    }
    return true;
}

kn_dot_order kn_dot_order_of(kiln_type a, kiln_type b, const kn_dot_dims *dims, kiln_dtype result)
{
    kn_dot_order o = {.k = 1, .accumulator = kn_dot_accumulator(a.dtype, result)};
    for (uint32_t i = 0; i < dims->n_contract; i++) o.k *= a.dims[dims->contract[0][i]];
    o.lanes = (free_size(a, dims, 0) == 1 && minor_most(b, dims, 1)) || (free_size(b, dims, 1) == 1 && minor_most(a, dims, 0));
    o.run = kn_run_t(o.k, o.accumulator);
    return o;
}

/* One element of the result: where its row and column start, and the strides along k. */
typedef struct product {
    kiln_type t[2];
    const void *data[2];
    const kn_dot_dims *dims;
    int64_t base[2], stride[2][KN_RANK_LIMIT];
    kiln_dtype acc;
} product;

static kn_scalar factor(const product *p, int side, int64_t k)
{
    int64_t at = p->base[side];
    for (uint32_t i = p->dims->n_contract; i-- > 0;) {
        int64_t axis = p->dims->contract[side][i], n = p->t[side].dims[axis];
        at += k % n * p->stride[side][axis], k /= n;
    }
    kn_scalar v = kn_scalar_load(p->t[side].dtype, p->data[side], at);
    return p->t[side].dtype == p->acc ? v : kn_sop_eval(KN_S_convert, p->t[side].dtype, p->acc, v, v, v);
}
static kn_scalar add(const product *p, kn_scalar a, kn_scalar b) { return kn_sop_eval(KN_S_add, p->acc, p->acc, a, b, b); }
static kn_scalar step(const product *p, kn_scalar sum, int64_t k)
{
    kn_scalar a = factor(p, 0, k), b = factor(p, 1, k);
    if (kiln_dtype_kind(p->acc) == 'f') return kn_sop_eval(KN_S_fma, p->acc, p->acc, a, b, sum);
    return add(p, sum, kn_sop_eval(KN_S_mul, p->acc, p->acc, a, b, b));
}

static kn_scalar by_chain(const product *p, int64_t n)
{
    kn_scalar total = {.u = 0};
    for (int64_t start = 0; start < n; start += KN_DOT_BLOCK) {
        kn_scalar sum = kn_reduce_identity(KN_S_add, p->acc);
        for (int64_t k = start; k < n && k < start + KN_DOT_BLOCK; k++) sum = step(p, sum, k);
        total = start ? add(p, total, sum) : sum;
    }
    return total;
}

static kn_scalar by_lanes(const product *p, kn_run run)
{
    kn_scalar lane[MAX_LANES], total = {.u = 0};
    for (int64_t start = 0; start < run.n; start += run.block) {
        for (int64_t l = 0; l < run.lanes; l++) lane[l] = kn_reduce_identity(KN_S_add, p->acc);
        for (int64_t k = start; k < run.n && k < start + run.block; k++) lane[k % run.lanes] = step(p, lane[k % run.lanes], k);
        for (int64_t half = run.lanes / 2; half > 0; half /= 2)
            for (int64_t l = 0; l < half; l++) lane[l] = add(p, lane[l], lane[l + half]);
        total = start ? add(p, total, lane[0]) : lane[0];
    }
    return total;
}

void kn_dot(kiln_type a, const void *as, kiln_type b, const void *bs, const kn_dot_dims *dims, kiln_type y, void *ys)
{
    kn_dot_order order = kn_dot_order_of(a, b, dims, y.dtype);
    product p = {.t = {a, b}, .data = {as, bs}, .dims = dims, .acc = order.accumulator};
    for (int side = 0; side < 2; side++) {
        int64_t s = 1;
        for (uint32_t d = p.t[side].rank; d-- > 0;) p.stride[side][d] = s, s *= p.t[side].dims[d];
    }
    int64_t n = kiln_type_size(y);
    for (int64_t e = 0; e < n; e++) {
        int64_t left = e; /* the index of the result, from its last dimension */
        p.base[0] = p.base[1] = 0;
        for (int side = 1; side >= 0; side--)
            for (uint32_t d = p.t[side].rank; d-- > 0;) {
                if (named(dims->batch[side], dims->n_batch, d) || named(dims->contract[side], dims->n_contract, d)) continue;
                p.base[side] += left % p.t[side].dims[d] * p.stride[side][d], left /= p.t[side].dims[d];
            }
        for (uint32_t i = dims->n_batch; i-- > 0;) {
            int64_t k = left % a.dims[dims->batch[0][i]];
            left /= a.dims[dims->batch[0][i]];
            for (int side = 0; side < 2; side++) p.base[side] += k * p.stride[side][dims->batch[side][i]];
        }
        kn_scalar v = order.lanes ? by_lanes(&p, order.run) : by_chain(&p, order.k);
        if (p.acc != y.dtype) v = kn_sop_eval(KN_S_convert, p.acc, y.dtype, v, v, v);
        kn_scalar_store(y.dtype, ys, e, v);
    }
}
