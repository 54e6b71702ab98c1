/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and data movement with fixed places. */
#include "hlo/import.h"

#include "prim/common.h"
#include "prim/lowering.h"

/* A scalar becomes a literal, an array of equal elements a broadcast one, any other a constant of the body. */
static kiln_status constant(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_mattr *a = kn_mop_attr(o, "value");
    kiln_type t;
    kn_atom y;
    bool splat;
    kn_scalar v;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 0, 1));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    if (!a) return kn_hbad(h, o, "the attribute value is missing");
    KILN_TRY(kn_mattr_splat(h->m, a, &splat, &v));
    bool wide = splat && t.rank > 0 && kiln_type_size(t) > 16;
    if (splat && (t.rank == 0 || wide)) {
        KILN_TRY(kn_hliteral(h, t.dtype, v, &y));
        if (!wide) KILN_TRY(kn_hwrote_constant(h, y));
        if (wide) {
            KILN_TRY_MEM(h->ctx, kn_push(&h->prog->arena, &h->written->wide, kn_literal_index(y)));
            kn_low l = {h->b, KILN_OK};
            y = kn_low_widen(&l, y, t);
            KILN_TRY(l.status);
        }
        return kn_hset(h, o, 0, y);
    }
    kiln_array *x;
    KILN_TRY(kn_mattr_array(h->m, a, &x));
    kiln_status s = t.rank ? kn_build_const(h->b, x, &y) : kn_hliteral(h, t.dtype, kn_scalar_load(t.dtype, x->data, 0), &y);
    kiln_array_release(x);
    KILN_TRY(s);
    KILN_TRY(kn_hwrote_constant(h, y));
    return kn_hset(h, o, 0, y);
}

static kiln_status iota(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kiln_type t;
    int64_t dim;
    kn_atom y;
    (void)row;
    KILN_TRY(kn_hresult(h, o, 0, &t));
    KILN_TRY(kn_hint(h, o, "iota_dimension", 0, &dim));
    bool complex = kiln_dtype_kind(t.dtype) == 'c';
    kiln_dtype part = !complex ? t.dtype : t.dtype == KILN_C64 ? KILN_F32 : KILN_F64;
    kn_param params[] = {KN_INT(dim), KN_DTYPE(part), KN_INTS(t.rank, t.dims), KN_NONE};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_iota, params, NULL, 0, &y));
    if (complex) KILN_TRY(kn_hconvert(h, o, y, t.dtype, &y));
    return kn_hset(h, o, 0, y);
}

/* Dimensions of the operand may come in any order here; the primitive wants them rising. */
static kiln_status broadcast_to(kn_himport *h, const kn_mop *o, kn_atom x, const int64_t *at, uint32_t n, kn_atom *y)
{
    kiln_type t, from = kn_htype(h, x);
    int64_t order[KN_MAX_RANK], rising[KN_MAX_RANK];
    KILN_TRY(kn_hresult(h, o, 0, &t));
    if (n != from.rank || n > KN_MAX_RANK)
        return kn_hbad(h, o, "broadcast_dimensions holds %u dimensions, the operand is %s", n, kn_type_show(from).s);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k > 0 && at[order[k - 1]] > at[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (uint32_t i = 0; i < n; i++) rising[i] = at[order[i]];
    KILN_TRY(kn_htranspose(h, o, x, order, &x));
    return kn_heqn1(h, o, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(n, rising), KN_INTS(t.rank, t.dims), KN_NONE}, &x, 1, y);
}

static kiln_status broadcast_in_dim(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *at;
    uint32_t n;
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, row->extra ? 2 : 1, 1)); /* the dynamic form has the shape as its second operand */
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hints(h, o, "broadcast_dimensions", &at, &n));
    KILN_TRY(broadcast_to(h, o, x, at, n, &y));
    return kn_hset(h, o, 0, y);
}

/* The older form: new dimensions in front. */
static kiln_status broadcast(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *sizes;
    int64_t at[KN_MAX_RANK];
    uint32_t n;
    kn_atom x, y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hints(h, o, "broadcast_sizes", &sizes, &n));
    uint32_t rank = kn_htype(h, x).rank;
    for (uint32_t i = 0; i < rank && i < KN_MAX_RANK; i++) at[i] = n + i;
    KILN_TRY(broadcast_to(h, o, x, at, rank, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status reshape(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kiln_type t;
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, row->extra ? 2 : 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    KILN_TRY(kn_hreshape(h, o, x, t.rank, t.dims, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status transpose(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *p;
    uint32_t n;
    kn_atom x, y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hints(h, o, "permutation", &p, &n));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_transpose, &KN_INTS(n, p), &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status reverse(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *dims;
    uint32_t n;
    kn_atom x, y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hints(h, o, "dimensions", &dims, &n));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_rev, &KN_INTS(n, dims), &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status concatenate(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom *in, y;
    int64_t dim;
    (void)row;
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_hint(h, o, "dimension", 0, &dim));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_concatenate, &KN_INT(dim), in, o->nin, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status slice_at(kn_himport *h, const kn_mop *o, kn_atom x, const int64_t *start, const int64_t *limit, const int64_t *stride)
{
    uint32_t rank = kn_htype(h, x).rank;
    bool ones = true;
    kn_atom y;
    for (uint32_t d = 0; d < rank; d++) ones = ones && stride[d] == 1;
    kn_param params[] = {KN_INTS(rank, limit), KN_INTS(rank, start), ones ? KN_NONE : KN_INTS(rank, stride)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_slice, params, &x, 1, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status slice(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *start, *limit, *stride;
    kn_atom x;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    uint32_t rank = kn_htype(h, x).rank;
    KILN_TRY(kn_hints_of(h, o, "start_indices", rank, 0, &start));
    KILN_TRY(kn_hints_of(h, o, "limit_indices", rank, 0, &limit));
    KILN_TRY(kn_hints_of(h, o, "strides", rank, 1, &stride));
    return slice_at(h, o, x, start, limit, stride);
}

/* Start, limit and stride are operands, which must be constant. */
static kiln_status real_dynamic_slice(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *v[3];
    uint32_t n;
    kn_atom x;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 4, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    for (uint32_t k = 0; k < 3; k++) {
        KILN_TRY(kn_hoperand_ints(h, o, 1 + k, &v[k], &n));
        if (n != kn_htype(h, x).rank) return kn_hbad(h, o, "operand %u holds %u numbers, %u are needed", 1 + k, n, kn_htype(h, x).rank);
    }
    return slice_at(h, o, x, v[0], v[1], v[2]);
}

static kiln_status pad_by(kn_himport *h, const kn_mop *o, kn_atom x, kn_atom value, const int64_t *lo, const int64_t *hi, const int64_t *inside)
{
    uint32_t rank = kn_htype(h, x).rank;
    int64_t *v = KN_NEWN(h->arena, int64_t, 3 * (size_t)rank);
    kn_param *rows = KN_NEWN(h->arena, kn_param, rank);
    kn_atom y;
    KILN_TRY_MEM(h->ctx, v && rows);
    for (uint32_t d = 0; d < rank; d++) {
        v[3 * d] = lo[d], v[3 * d + 1] = hi[d], v[3 * d + 2] = inside[d];
        rows[d] = KN_INTS(3, v + 3 * d);
    }
    KILN_TRY(kn_heqn1(h, o, &kn_prim_pad, &KN_TUPLE(rank, rows), (kn_atom[]){x, value}, 2, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status pad(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *v[3];
    kn_atom x, value;
    static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
    KILN_TRY(kn_hcount(h, o, row->extra ? 5 : 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hin(h, o, 1, &value));
    uint32_t rank = kn_htype(h, x).rank, n;
    for (uint32_t k = 0; k < 3; k++) {
        if (!row->extra) KILN_TRY(kn_hints_of(h, o, names[k], rank, 0, &v[k]));
        else {
            KILN_TRY(kn_hoperand_ints(h, o, 2 + k, &v[k], &n));
            if (n != rank) return kn_hbad(h, o, "operand %u holds %u numbers, %u are needed", 2 + k, n, rank);
        }
    }
    return pad_by(h, o, x, value, v[0], v[1], v[2]);
}

static kiln_status get_dimension_size(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    int64_t dim;
    kn_atom x, y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hint(h, o, "dimension", 0, &dim));
    kiln_type t = kn_htype(h, x);
    if (dim < 0 || dim >= (int64_t)t.rank) return kn_hbad(h, o, "there is no dimension %lld in %s", (long long)dim, kn_type_show(t).s);
    KILN_TRY(kn_hliteral(h, KILN_I32, (kn_scalar){.i = t.dims[dim]}, &y));
    return kn_hset(h, o, 0, y);
}

/* Only the size that the array has. */
static kiln_status set_dimension_size(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *size;
    int64_t dim;
    uint32_t n;
    kn_atom x;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hint(h, o, "dimension", 0, &dim));
    KILN_TRY(kn_hoperand_ints(h, o, 1, &size, &n));
    kiln_type t = kn_htype(h, x);
    if (n != 1 || dim < 0 || dim >= (int64_t)t.rank || size[0] != t.dims[dim])
        return kn_hrefuse(h, o, "a module lowered for fixed shapes", "dynamic shapes are not supported: set_dimension_size");
    return kn_hset(h, o, 0, x);
}

const kn_himporter kn_himport_shape[] = {
    {"chlo.constant", constant, NULL, 0},
    {"stablehlo.broadcast", broadcast, NULL, 0},
    {"stablehlo.broadcast_in_dim", broadcast_in_dim, NULL, 0},
    {"stablehlo.concatenate", concatenate, NULL, 0},
    {"stablehlo.constant", constant, NULL, 0},
    {"stablehlo.dynamic_broadcast_in_dim", broadcast_in_dim, NULL, 1},
    {"stablehlo.dynamic_iota", iota, NULL, 1},
    {"stablehlo.dynamic_pad", pad, NULL, 1},
    {"stablehlo.dynamic_reshape", reshape, NULL, 1},
    {"stablehlo.get_dimension_size", get_dimension_size, NULL, 0},
    {"stablehlo.iota", iota, NULL, 0},
    {"stablehlo.pad", pad, NULL, 0},
    {"stablehlo.real_dynamic_slice", real_dynamic_slice, NULL, 0},
    {"stablehlo.reshape", reshape, NULL, 0},
    {"stablehlo.reverse", reverse, NULL, 0},
    {"stablehlo.set_dimension_size", set_dimension_size, NULL, 0},
    {"stablehlo.slice", slice, NULL, 0},
    {"stablehlo.transpose", transpose, NULL, 0},
};
const uint32_t kn_himport_n_shape = sizeof kn_himport_shape / sizeof *kn_himport_shape;
