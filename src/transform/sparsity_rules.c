/* SPDX-License-Identifier: Apache-2.0 */
/* How sets go through primitives that combine elements. A product with a number that is known to be zero depends on nothing. */
#include "transform/sparsity.h"

#include "prim/common.h"
#include "prim/conv.h"
#include "prim/dot.h"
#include "prim/index.h"
#include "prims.gen.h"

#define CTX c->w->ev.ctx

static bool is_zero(const kiln_array *a, int64_t k)
{
    kn_scalar v = kn_scalar_load(a->type.dtype, a->data, k);
    switch (kiln_dtype_kind(a->type.dtype)) {
    case 'f': return v.f == 0;
    case 'c': return v.c[0] == 0 && v.c[1] == 0;
    default: return false;
    }
}

/* Offset in an operand that broadcasts to the result. */
static int64_t offset(kiln_type t, uint32_t rank, const int64_t *ix)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < t.rank && t.rank == rank; d++) at = at * t.dims[d] + (t.dims[d] == 1 ? 0 : ix[d]);
    return at;
}

kiln_status kn_spread_element(const kn_spreading *c)
{
    const kn_eqn *e = c->e;
    uint32_t first = e->prim == &kn_prim_select_n; /* what it selects by has no part in it */
    bool product = e->prim == &kn_prim_mul;
    for (uint32_t i = 0; i < e->nout; i++) {
        kiln_type y = kn_out_type(c->j, e, i);
        uint32_t *to = kn_spread_room(c, y);
        int64_t ix[KN_MAX_RANK] = {0}, k = 0;
        KILN_TRY_MEM(CTX, to);
        if (kiln_type_size(y)) do {
            uint32_t s = 0;
            for (uint32_t q = first; q < e->nin; q++) {
                uint32_t own = kn_set_at(&c->in[q], offset(kn_in_type(c->j, e, q), y.rank, ix));
                const kn_spread *other = &c->in[1 - (q & 1)];
                if (product && own && other->known && is_zero(other->known, offset(kn_in_type(c->j, e, 1 - q), y.rank, ix))) own = 0;
                KILN_TRY(kn_sets_union(&c->w->sets, s, own, &s));
            }
            to[k++] = s;
        } while (kn_next(y, ix));
        c->out[i].sets = to;
    }
    return KILN_OK;
}

kiln_status kn_spread_all(const kn_spreading *c)
{
    uint32_t all;
    kn_sets_begin(&c->w->sets);
    for (uint32_t i = 0; i < c->e->nin; i++)
        for (int64_t k = 0, n = c->in[i].sets ? kiln_type_size(kn_in_type(c->j, c->e, i)) : 0; k < n; k++)
            KILN_TRY(kn_sets_add(&c->w->sets, c->in[i].sets[k]));
    KILN_TRY(kn_sets_end(&c->w->sets, &all));
    for (uint32_t i = 0; i < c->e->nout; i++) {
        kiln_type t = kn_out_type(c->j, c->e, i);
        uint32_t *to = kn_spread_room(c, t);
        KILN_TRY_MEM(CTX, to);
        for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) to[k] = all;
        c->out[i].sets = to;
    }
    return KILN_OK;
}

/* ---- sums ---- */

/* Splits dimensions: strides of the operand for the result's dimensions, and for the others. */
kiln_status kn_spread_reduce(const kn_spreading *c, const int64_t *axes, uint32_t n)
{
    kiln_type x = kn_in_type(c->j, c->e, 0), y = kn_out_type(c->j, c->e, 0);
    int64_t stride[KN_MAX_RANK], own[KN_MAX_RANK], gone[KN_MAX_RANK], sizes[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, k = 0;
    uint32_t nown = 0, ngone = 0;
    uint32_t *to = kn_spread_room(c, y);
    KILN_TRY_MEM(CTX, to);
    kn_strides(x, stride);
    for (uint32_t d = 0; d < x.rank; d++) {
        bool is_axis = false;
        for (uint32_t a = 0; a < n; a++) is_axis |= axes[a] == d;
        if (is_axis) gone[ngone] = stride[d], sizes[ngone++] = x.dims[d];
        else own[nown++] = stride[d];
    }
    const kiln_type inner = {KILN_BOOL, ngone, sizes};
    if (kiln_type_size(y)) do {
        int64_t base = 0, jx[KN_MAX_RANK] = {0};
        for (uint32_t d = 0; d < nown; d++) base += ix[d] * own[d];
        kn_sets_begin(&c->w->sets);
        if (kiln_type_size(inner)) do {
            int64_t at = base;
            for (uint32_t d = 0; d < ngone; d++) at += jx[d] * gone[d];
            KILN_TRY(kn_sets_add(&c->w->sets, kn_set_at(&c->in[0], at)));
        } while (kn_next(inner, jx));
        KILN_TRY(kn_sets_end(&c->w->sets, &to[k++]));
    } while (kn_next(y, ix));
    c->out[0].sets = to;
    return KILN_OK;
}

kiln_status kn_spread_running(const kn_spreading *c, int64_t axis, bool reverse)
{
    kiln_type x = kn_in_type(c->j, c->e, 0);
    int64_t stride[KN_MAX_RANK], n = x.dims[axis], size = kiln_type_size(x);
    uint32_t *to = kn_spread_room(c, x);
    KILN_TRY_MEM(CTX, to);
    kn_strides(x, stride);
    for (int64_t k = 0; k < size; k++) {
        int64_t at = reverse ? size - 1 - k : k, i = at / stride[axis] % n;
        uint32_t before = (reverse ? i == n - 1 : i == 0) ? 0 : to[reverse ? at + stride[axis] : at - stride[axis]];
        KILN_TRY(kn_sets_union(&c->w->sets, before, kn_set_at(&c->in[0], at), &to[at]));
    }
    c->out[0].sets = to;
    return KILN_OK;
}

/* ---- products ---- */

static bool is_null(const kn_spread *x, int64_t k) { return x->known && is_zero(x->known, k); }

static kiln_status add_product(const kn_spreading *c, int64_t a, int64_t b)
{
    if (!is_null(&c->in[1], b)) KILN_TRY(kn_sets_add(&c->w->sets, kn_set_at(&c->in[0], a)));
    if (!is_null(&c->in[0], a)) KILN_TRY(kn_sets_add(&c->w->sets, kn_set_at(&c->in[1], b)));
    return KILN_OK;
}

static bool is_listed(const int64_t *v, uint32_t n, int64_t d)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == d) return true;
    return false;
}

kiln_status kn_spread_dot(const kn_spreading *c)
{
    kn_dot_dims d = kn_dot_dims_of(c->e);
    kiln_type x[2] = {kn_in_type(c->j, c->e, 0), kn_in_type(c->j, c->e, 1)}, y = kn_out_type(c->j, c->e, 0);
    int64_t stride[2][KN_MAX_RANK], out[2][KN_MAX_RANK] = {{0}}, sizes[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, k = 0;
    uint32_t at = d.n_batch, *to = kn_spread_room(c, y);
    KILN_TRY_MEM(CTX, to);
    for (int q = 0; q < 2; q++) { /* result: batch, free dimensions of the left operand, of the right one */
        kn_strides(x[q], stride[q]);
        for (uint32_t i = 0; i < d.n_batch; i++) out[q][i] = stride[q][d.batch[q][i]];
        for (uint32_t i = 0; i < x[q].rank; i++)
            if (!is_listed(d.batch[q], d.n_batch, i) && !is_listed(d.contract[q], d.n_contract, i)) out[q][at++] = stride[q][i];
    }
    for (uint32_t i = 0; i < d.n_contract; i++) sizes[i] = x[0].dims[d.contract[0][i]];
    const kiln_type inner = {KILN_BOOL, d.n_contract, sizes};
    if (kiln_type_size(y)) do {
        int64_t base[2] = {0, 0}, jx[KN_MAX_RANK] = {0};
        for (uint32_t i = 0; i < y.rank; i++) base[0] += ix[i] * out[0][i], base[1] += ix[i] * out[1][i];
        kn_sets_begin(&c->w->sets);
        if (kiln_type_size(inner)) do {
            int64_t a = base[0], b = base[1];
            for (uint32_t i = 0; i < d.n_contract; i++) a += jx[i] * stride[0][d.contract[0][i]], b += jx[i] * stride[1][d.contract[1][i]];
            KILN_TRY(add_product(c, a, b));
        } while (kn_next(inner, jx));
        KILN_TRY(kn_sets_end(&c->w->sets, &to[k++]));
    } while (kn_next(y, ix));
    c->out[0].sets = to;
    return KILN_OK;
}

/* Element of the left operand that result element x and tap t meet along a spatial dimension; -1: none. */
static int64_t met(const kn_conv *v, uint32_t d, int64_t size, int64_t x, int64_t t)
{
    int64_t p = x * v->stride[d] + t * v->rhs[d] - kn_conv_low(v, d);
    return p < 0 || p % v->lhs[d] || p / v->lhs[d] >= size ? -1 : p / v->lhs[d];
}

kiln_status kn_spread_conv(const kn_spreading *c)
{
    kn_conv v = kn_conv_of(c->e);
    kiln_type x = kn_in_type(c->j, c->e, 0), w = kn_in_type(c->j, c->e, 1), y = kn_out_type(c->j, c->e, 0);
    int64_t xs[KN_MAX_RANK], ws[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, k = 0, sizes[KN_MAX_RANK], inputs = w.dims[v.spec[1][1]];
    uint32_t *to = kn_spread_room(c, y);
    KILN_TRY_MEM(CTX, to);
    kn_strides(x, xs);
    kn_strides(w, ws);
    for (uint32_t d = 0; d < v.n; d++) sizes[d] = w.dims[v.spec[1][2 + d]];
    sizes[v.n] = inputs;
    const kiln_type taps = {KILN_BOOL, v.n + 1, sizes};
    int64_t outs = w.dims[v.spec[1][0]], per_batch = x.dims[v.spec[0][0]] / v.batches;
    if (kiln_type_size(y)) do {
        int64_t jx[KN_MAX_RANK] = {0}, o = ix[v.spec[2][1]];
        int64_t row = ix[v.spec[2][0]] + o / (outs / v.batches) * per_batch, channel = o / (outs / v.features) * inputs;
        kn_sets_begin(&c->w->sets);
        if (kiln_type_size(taps)) do {
            int64_t a = row * xs[v.spec[0][0]] + (channel + jx[v.n]) * xs[v.spec[0][1]], b = o * ws[v.spec[1][0]] + jx[v.n] * ws[v.spec[1][1]];
            bool inside = true;
            for (uint32_t d = 0; d < v.n && inside; d++) {
                int64_t at = met(&v, d, x.dims[v.spec[0][2 + d]], ix[v.spec[2][2 + d]], jx[d]);
                inside = at >= 0;
                a += at * xs[v.spec[0][2 + d]], b += jx[d] * ws[v.spec[1][2 + d]];
            }
            if (inside) KILN_TRY(add_product(c, a, b));
        } while (kn_next(taps, jx));
        KILN_TRY(kn_sets_end(&c->w->sets, &to[k++]));
    } while (kn_next(y, ix));
    c->out[0].sets = to;
    return KILN_OK;
}

/* ---- scatters that add ---- */

/* Where an update lands: the start of its window, clamped or dropped as the mode says, and its place in it; -1: nowhere. */
kiln_status kn_spread_scatter_sum(const kn_spreading *c, bool *done)
{
    const kn_eqn *e = c->e;
    kiln_type x = kn_in_type(c->j, e, 0), u = kn_in_type(c->j, e, 2), y = kn_out_type(c->j, e, 0);
    const kiln_array *indices = c->in[1].known;
    kn_index_dims d;
    kn_index_mode mode;
    *done = e->nin == 3 && e->nout == 1 && indices && kn_index_dims_of(kn_param_of(e, "dimension_numbers"), true, &d) &&
            kn_index_mode_of(kn_param_of(e, "mode"), &mode);
    if (!*done) return KILN_OK;
    uint32_t *to = kn_spread_room(c, y);
    int64_t stride[KN_MAX_RANK], window[KN_MAX_RANK], ix[KN_MAX_RANK] = {0}, k = 0;
    KILN_TRY_MEM(CTX, to);
    kn_strides(x, stride);
    for (int64_t i = 0, n = kiln_type_size(y); i < n; i++) to[i] = kn_set_at(&c->in[0], i);
    for (uint32_t q = 0, at = 0; q < x.rank; q++)
        window[q] = kn_listed(d.collapsed, q) || kn_listed(d.operand_batch, q) ? 1 : u.dims[d.window.v[at++]];
    if (kiln_type_size(u)) do {
        int64_t batch[KN_MAX_RANK] = {0}, own[KN_MAX_RANK] = {0}, start[KN_MAX_RANK] = {0}, at = 0;
        bool inside = true;
        kn_index_split(&d, x.rank, u.rank, ix, batch, own);
        kn_index_start(&d, indices, x.rank, batch, start);
        for (uint32_t q = 0; q < x.rank; q++) {
            int64_t most = x.dims[q] - window[q];
            if (mode == KN_INDEX_CLIP) start[q] = start[q] < 0 ? 0 : start[q] > most ? most : start[q];
            inside &= start[q] >= 0 && start[q] <= most;
            at += (start[q] + own[q]) * stride[q];
        }
        if (inside) KILN_TRY(kn_sets_union(&c->w->sets, to[at], kn_set_at(&c->in[2], k), &to[at]));
        k++;
    } while (kn_next(u, ix));
    c->out[0].sets = to;
    return KILN_OK;
}
