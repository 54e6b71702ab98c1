/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements, reductions, products. */
#include "trace/trace.h"

/* A value with a type, or the error. */
static bool typed(kiln_trace *t, const char *op, const kiln_val *v, uint32_t n, kn_site site)
{
    if (!kn_tvals_usable(t, op, v, n, site)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (kn_tval_of(t, v[i])->kind == KN_T_NUMBER) {
            kn_type_text text;
            kn_tfail(t, KILN_DTYPE, "an array; kiln_scalar gives a number a type", site, "%s: operand %u is %s, without a type", op,
                     i + 1, kn_tshow(t, v[i], &text));
            return false;
        }
    return true;
}

static bool same_dims(kiln_type a, uint32_t rank, const int64_t *dims)
{
    return a.rank == rank && (rank == 0 || memcmp(a.dims, dims, rank * sizeof *dims) == 0);
}

static bool dims_legal(kiln_trace *t, const char *op, uint32_t rank, const int64_t *dims, kn_site site)
{
    kiln_type shape = {KILN_F32, rank, dims};
    if (kiln_type_size(shape) >= 0) return true;
    kn_tfail(t, KILN_SHAPE, "extents of 0 and more whose product fits in 63 bits", site, "%s: no shape like that of %s", op,
             kn_type_show(shape).s);
    return false;
}

kiln_val kiln_reshape_at(kiln_trace *t, kiln_val a, uint32_t rank, const int64_t *dims, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "reshape", &a, 1, site) || !dims_legal(t, "reshape", rank, dims, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type, want = {x.dtype, rank, dims};
    if (same_dims(x, rank, dims)) return a;
    if (kiln_type_size(x) != kiln_type_size(want)) {
        kn_tfail(t, KILN_SHAPE, "as many elements as the operand has", site, "reshape: %s into %s", kn_type_show(x).s,
                 kn_type_show(want).s);
        return out;
    }
    kn_named params[] = {{"new_sizes", KN_INTS(rank, dims)}};
    kn_temit(t, "reshape", params, 1, &a, 1, &out, 1, site);
    return out;
}

/* `at` may be NULL for a scalar. */
kiln_val kiln_broadcast_at(kiln_trace *t, kiln_val a, uint32_t rank, const int64_t *dims, const int64_t *at, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "broadcast", &a, 1, site) || !dims_legal(t, "broadcast", rank, dims, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type, want = {x.dtype, rank, dims};
    bool fits = x.rank <= rank && (x.rank == 0 || at);
    for (uint32_t i = 0; fits && i < x.rank; i++)
        fits = at[i] >= 0 && at[i] < rank && (i == 0 || at[i] > at[i - 1]) && (x.dims[i] == dims[at[i]] || x.dims[i] == 1);
    if (!fits) {
        kn_tfail(t, KILN_SHAPE, "increasing dimensions whose extents are the operand's, or operand's extents of 1", site,
                 "broadcast: %s into %s", kn_type_show(x).s, kn_type_show(want).s);
        return out;
    }
    if (same_dims(x, rank, dims)) return a;
    kn_named params[] = {{"broadcast_dimensions", KN_INTS(x.rank, at)}, {"shape", KN_INTS(rank, dims)}};
    kn_temit(t, "broadcast_in_dim", params, 2, &a, 1, &out, 1, site);
    return out;
}

kiln_val kiln_transpose_at(kiln_trace *t, kiln_val a, const int64_t *permutation, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "transpose", &a, 1, site)) return out;
    uint32_t rank = kn_tval_of(t, a)->type.rank;
    bool identity = true;
    for (uint32_t i = 0; i < rank; i++) identity = identity && permutation[i] == i;
    if (identity) return a;
    kn_named params[] = {{"permutation", KN_INTS(rank, permutation)}};
    kn_temit(t, "transpose", params, 1, &a, 1, &out, 1, site);
    return out;
}

kiln_val kiln_slice_at(kiln_trace *t, kiln_val a, const int64_t *start, const int64_t *limit, const int64_t *strides, const char *file,
                       int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "slice", &a, 1, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type;
    bool whole = true;
    for (uint32_t i = 0; i < x.rank; i++) {
        int64_t stride = strides ? strides[i] : 1;
        if (start[i] < 0 || limit[i] < start[i] || limit[i] > x.dims[i] || stride < 1) {
            kn_tfail(t, KILN_SHAPE, "0 <= start <= limit <= extent, and a stride of at least 1", site,
                     "slice: %lld:%lld:%lld along dimension %u of %s", (long long)start[i], (long long)limit[i], (long long)stride, i,
                     kn_type_show(x).s);
            return out;
        }
        whole = whole && start[i] == 0 && limit[i] == x.dims[i] && stride == 1;
    }
    if (whole) return a;
    kn_named params[] = {{"start_indices", KN_INTS(x.rank, start)},
                         {"limit_indices", KN_INTS(x.rank, limit)},
                         {"strides", strides ? KN_INTS(x.rank, strides) : KN_NONE}};
    kn_temit(t, "slice", params, 3, &a, 1, &out, 1, site);
    return out;
}

/* Operands of dynamic_slice and dynamic_update_slice: arrays, then one index a dimension; numbers become i32. */
static bool with_indices(kiln_trace *t, const char *op, const kiln_val *arrays, uint32_t n_arrays, const kiln_val *start, kiln_val *all,
                         uint32_t *n, kn_site site)
{
    if (!typed(t, op, arrays, n_arrays, site)) return false;
    uint32_t rank = kn_tval_of(t, arrays[0])->type.rank;
    kiln_dtype d = KILN_I32;
    for (uint32_t i = 0; i < rank; i++) {
        if (!kn_tvals_usable(t, op, &start[i], 1, site)) return false;
        if (kn_tval_of(t, start[i])->kind != KN_T_NUMBER) d = kn_tval_of(t, start[i])->type.dtype;
    }
    memcpy(all, arrays, n_arrays * sizeof *all);
    for (uint32_t i = 0; i < rank; i++) {
        kiln_val v = kn_tval_adopt(t, op, start[i], d, site);
        kiln_type x = kn_tval_of(t, v)->type;
        if (t->failed) return false;
        if (x.rank != 0 || !strchr("iu", kiln_dtype_kind(x.dtype))) {
            kn_tfail(t, KILN_DTYPE, "one integer scalar a dimension", site, "%s: start %u is %s", op, i, kn_type_show(x).s);
            return false;
        }
        all[n_arrays + i] = v;
    }
    *n = n_arrays + rank;
    return true;
}

enum { MAX_RANK = 32 };

static bool rank_fits(kiln_trace *t, const char *op, kiln_val a, kn_site site)
{
    if (kn_tval_of(t, a)->type.rank <= MAX_RANK) return true;
    kn_tfail(t, KILN_UNSUPPORTED, "at most 32 dimensions", site, "%s: %u dimensions", op, kn_tval_of(t, a)->type.rank);
    return false;
}

kiln_val kiln_dynamic_slice_at(kiln_trace *t, kiln_val a, const kiln_val *start, const int64_t *sizes, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0}, all[MAX_RANK + 1];
    uint32_t n;
    if (!rank_fits(t, "dynamic_slice", a, site) || !with_indices(t, "dynamic_slice", &a, 1, start, all, &n, site)) return out;
    kn_named params[] = {{"slice_sizes", KN_INTS(n - 1, sizes)}};
    kn_temit(t, "dynamic_slice", params, 1, all, n, &out, 1, site);
    return out;
}

kiln_val kiln_dynamic_update_slice_at(kiln_trace *t, kiln_val a, kiln_val update, const kiln_val *start, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0}, all[MAX_RANK + 2];
    uint32_t n;
    const char *op = "dynamic_update_slice";
    if (!typed(t, op, &a, 1, site) || !rank_fits(t, op, a, site) || !kn_tvals_usable(t, op, &update, 1, site)) return out;
    update = kn_tval_adopt(t, op, update, kn_tval_of(t, a)->type.dtype, site);
    if (t->failed || !with_indices(t, op, (kiln_val[]){a, update}, 2, start, all, &n, site)) return out;
    kn_temit(t, op, NULL, 0, all, n, &out, 1, site);
    return out;
}

kiln_val kiln_concatenate_at(kiln_trace *t, const kiln_val *parts, uint32_t n, int64_t dimension, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (t->failed) return out;
    if (n == 0) {
        kn_tfail(t, KILN_INVALID, "at least one part", site, "concatenate: no parts");
        return out;
    }
    if (!typed(t, "concatenate", parts, n, site)) return out;
    if (n == 1) return parts[0];
    kn_named params[] = {{"dimension", KN_INT(dimension)}};
    kn_temit(t, "concatenate", params, 1, parts, n, &out, 1, site);
    return out;
}

kiln_val kiln_pad_at(kiln_trace *t, kiln_val a, kiln_val value, const int64_t *lo, const int64_t *hi, const int64_t *interior,
                     const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "pad", &a, 1, site) || !rank_fits(t, "pad", a, site) || !kn_tvals_usable(t, "pad", &value, 1, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type;
    value = kn_tval_adopt(t, "pad", value, x.dtype, site);
    int64_t config[MAX_RANK][3];
    kn_param rows[MAX_RANK];
    bool nothing = true;
    for (uint32_t i = 0; i < x.rank; i++) {
        config[i][0] = lo[i], config[i][1] = hi[i], config[i][2] = interior ? interior[i] : 0;
        rows[i] = KN_INTS(3, config[i]);
        nothing = nothing && lo[i] == 0 && hi[i] == 0 && config[i][2] == 0;
    }
    if (nothing) return a;
    kn_named params[] = {{"padding_config", KN_TUPLE(x.rank, rows)}};
    kn_temit(t, "pad", params, 1, (kiln_val[]){a, value}, 2, &out, 1, site);
    return out;
}

kiln_val kiln_iota_at(kiln_trace *t, kiln_type type, int64_t dimension, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (t->failed || !dims_legal(t, "iota", type.rank, type.dims, site)) return out;
    kn_named params[] = {
        {"dimension", KN_INT(dimension)}, {"dtype", KN_DTYPE(type.dtype)}, {"shape", KN_INTS(type.rank, type.dims)}};
    kn_temit(t, "iota", params, 3, NULL, 0, &out, 1, site);
    return out;
}

kiln_val kiln_dim_at(kiln_trace *t, kiln_dtype dtype, int64_t dim, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (t->failed) return out;
    kn_named params[] = {{"dim", KN_INT(dim)}, {"dtype", KN_DTYPE(dtype)}};
    kn_temit(t, "dim_as_value", params, 2, NULL, 0, &out, 1, site);
    return out;
}

kiln_val kiln_reduce_at(kiln_trace *t, const char *prim, kiln_val a, const int64_t *axes, uint32_t n_axes, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, prim, &a, 1, site) || !rank_fits(t, prim, a, site)) return out;
    int64_t all[MAX_RANK];
    uint32_t rank = kn_tval_of(t, a)->type.rank;
    if (n_axes == UINT32_MAX) {
        for (uint32_t i = 0; i < rank; i++) all[i] = i;
        axes = all;
        n_axes = rank;
    }
    if (n_axes == 0) return a;
    kn_named params[] = {{"axes", KN_INTS(n_axes, axes)}};
    kn_temit(t, prim, params, 1, &a, 1, &out, 1, site);
    return out;
}

kiln_val kiln_cumulative_at(kiln_trace *t, const char *prim, kiln_val a, int64_t axis, bool reverse, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, prim, &a, 1, site)) return out;
    kn_named params[] = {{"axis", KN_INT(axis)}, {"reverse", KN_BOOL(reverse)}};
    kn_temit(t, prim, params, 2, &a, 1, &out, 1, site);
    return out;
}

kiln_val kiln_dot_at(kiln_trace *t, kiln_val a, kiln_val b, const int64_t *contract_a, const int64_t *contract_b, uint32_t n_contract,
                     const int64_t *batch_a, const int64_t *batch_b, uint32_t n_batch, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val v[] = {a, b}, out = {0};
    if (!typed(t, "dot", v, 2, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type, y = kn_tval_of(t, b)->type;
    if (x.dtype != y.dtype) {
        kn_tfail(t, KILN_DTYPE, "operands of one element type; kiln_convert changes it", site,
                 "dot: %s and %s have different element types", kn_type_show(x).s, kn_type_show(y).s);
        return out;
    }
    kn_param contract[] = {KN_INTS(n_contract, contract_a), KN_INTS(n_contract, contract_b)};
    kn_param batch[] = {KN_INTS(n_batch, batch_a), KN_INTS(n_batch, batch_b)};
    kn_param both[] = {KN_TUPLE(2, contract), KN_TUPLE(2, batch)};
    contract[0].list = contract[1].list = batch[0].list = batch[1].list = true;
    kn_named params[] = {{"dimension_numbers", KN_TUPLE(2, both)}, {"preferred_element_type", KN_DTYPE(x.dtype)}};
    kn_temit(t, "dot_general", params, 2, v, 2, &out, 1, site);
    return out;
}

kiln_val kiln_item_at(kiln_trace *t, kiln_val a, int64_t k, const char *file, int line)
{
    kn_site site = {file, line};
    kiln_val out = {0};
    if (!typed(t, "item", &a, 1, site)) return out;
    kiln_type x = kn_tval_of(t, a)->type;
    int64_t at = x.rank == 1 && k < 0 ? k + x.dims[0] : k;
    if (x.rank != 1 || at < 0 || at >= x.dims[0]) {
        kn_tfail(t, KILN_SHAPE, "a vector that has this element", site, "item %lld of %s", (long long)k, kn_type_show(x).s);
        return out;
    }
    int64_t limit = at + 1;
    kiln_val one = kiln_slice_at(t, a, &at, &limit, NULL, file, line);
    if (!kn_tvals_usable(t, "item", &one, 1, site)) return out;
    kn_named params[] = {{"dimensions", KN_INTS(1, (const int64_t[]){0})}};
    kn_temit(t, "squeeze", params, 1, &one, 1, &out, 1, site);
    return out;
}
