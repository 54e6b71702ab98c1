/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/index.h"

#include "prim/lowering.h"
#include "prims.gen.h"

static bool list_of(const kn_param *p, kn_ints_list *out)
{
    bool empty = p->kind == KN_P_TUPLE && p->n == 0;
    if (p->kind != KN_P_INTS && !empty) return false;
    *out = (kn_ints_list){empty ? NULL : p->ints, p->n};
    return true;
}

bool kn_index_dims_of(const kn_param *p, bool scatter, kn_index_dims *d)
{
    *d = (kn_index_dims){{0}, {0}, {0}, {0}, {0}};
    if (p->kind != KN_P_RECORD || !p->keys) return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const char *key = p->keys[i];
        kn_ints_list *to = strcmp(key, scatter ? "update_window_dims" : "offset_dims") == 0                     ? &d->window
                           : strcmp(key, scatter ? "inserted_window_dims" : "collapsed_slice_dims") == 0        ? &d->collapsed
                           : strcmp(key, scatter ? "scatter_dims_to_operand_dims" : "start_index_map") == 0     ? &d->map
                           : strcmp(key, "operand_batching_dims") == 0                                          ? &d->operand_batch
                           : strcmp(key, scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims") == 0 ? &d->indices_batch
                                                                                                                         : NULL;
        if (!to || !list_of(&p->items[i], to)) return false;
    }
    return true;
}

kn_param kn_index_param(const kn_index_dims *d, bool scatter, kn_param *lists)
{
    static const char *const keys[2][KN_INDEX_LISTS] = {
        {"offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims"},
        {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims", "scatter_indices_batching_dims"},
    };
    const kn_ints_list *own[] = {&d->window, &d->collapsed, &d->map, &d->operand_batch, &d->indices_batch};
    for (int i = 0; i < KN_INDEX_LISTS; i++) lists[i] = KN_INTS(own[i]->n, own[i]->v);
    return (kn_param){.kind = KN_P_RECORD, .n = KN_INDEX_LISTS, .items = lists, .name = scatter ? "ScatterDimensionNumbers" : "GatherDimensionNumbers", .keys = keys[scatter]};
}

bool kn_index_mode_of(const kn_param *p, kn_index_mode *mode)
{
    static const char *const names[] = {"CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS"};
    *mode = KN_INDEX_PROMISE;
    if (p->kind == KN_P_NONE) return true;
    if (p->kind != KN_P_TEXT) return false;
    const char *dot = strrchr(p->text, '.'), *word = dot ? dot + 1 : p->text;
    for (int i = 0; i < 3; i++)
        if (strcmp(word, names[i]) == 0) {
            *mode = (kn_index_mode)i;
            return true;
        }
    return false;
}

/* Distinct numbers 0..limit-1, rising when asked. */
static kiln_status in_range(const kn_typing *t, const char *what, kn_ints_list l, uint32_t limit, bool rising)
{
    for (uint32_t i = 0; i < l.n; i++) {
        bool bad = l.v[i] < 0 || l.v[i] >= (int64_t)limit;
        for (uint32_t k = 0; !bad && k < i; k++) bad = l.v[k] == l.v[i] || (rising && l.v[k] > l.v[i]);
        if (bad)
            return kn_fail(t->ctx, KILN_SHAPE, "%s: %s must hold %s dimensions below %u, entry %u is %lld", t->prim->name, what,
                           rising ? "rising" : "different", limit, i, (long long)l.v[i]);
    }
    return KILN_OK;
}

static kiln_status check_sizes(const kn_typing *t, const kn_index_dims *d, kiln_type x, const int64_t *sizes, uint32_t n)
{
    if (n != x.rank) return kn_fail(t->ctx, KILN_SHAPE, "%s: %u window sizes for %s", t->prim->name, n, kn_type_show(x).s);
    for (uint32_t i = 0; i < n; i++) {
        bool one = kn_listed(d->collapsed, i) || kn_listed(d->operand_batch, i);
        if (sizes[i] < 0 || sizes[i] > x.dims[i] || (one && sizes[i] != 1))
            return kn_fail(t->ctx, KILN_SHAPE, "%s: window size %lld along dimension %u of %s%s", t->prim->name, (long long)sizes[i], i,
                           kn_type_show(x).s, one && sizes[i] != 1 ? ", which is left out and must be 1" : "");
    }
    return KILN_OK;
}

kiln_status kn_index_check(const kn_typing *t, const kn_index_dims *d, kiln_type x, kiln_type indices, const int64_t *sizes,
                           uint32_t n_sizes, uint32_t outer_rank)
{
    const char *name = t->prim->name;
    if (!strchr("iu", kiln_dtype_kind(indices.dtype)) || indices.rank == 0 || indices.rank > KN_MAX_RANK || x.rank > KN_MAX_RANK)
        return kn_fail(t->ctx, KILN_DTYPE, "%s: indices are %s; integers with a last dimension of index vectors are needed", name,
                       kn_type_show(indices).s);
    uint32_t batch_rank = indices.rank - 1;
    if (indices.dims[batch_rank] != (int64_t)d->map.n)
        return kn_fail(t->ctx, KILN_SHAPE, "%s: index vectors of %s have %lld entries, %u dimensions are named", name, kn_type_show(indices).s,
                       (long long)indices.dims[batch_rank], d->map.n);
    KILN_TRY(in_range(t, "the window's dimensions", d->window, outer_rank, true));
    KILN_TRY(in_range(t, "collapsed dimensions", d->collapsed, x.rank, true));
    KILN_TRY(in_range(t, "dimensions of the index vector", d->map, x.rank, false));
    KILN_TRY(in_range(t, "batching dimensions of the operand", d->operand_batch, x.rank, true));
    KILN_TRY(in_range(t, "batching dimensions of the indices", d->indices_batch, batch_rank, false));
    bool apart = d->operand_batch.n == d->indices_batch.n;
    for (uint32_t i = 0; i < d->operand_batch.n; i++)
        apart = apart && !kn_listed(d->collapsed, d->operand_batch.v[i]) && !kn_listed(d->map, d->operand_batch.v[i]);
    if (!apart) return kn_fail(t->ctx, KILN_SHAPE, "%s: batching dimensions must be as many on both sides, and not collapsed or indexed", name);
    for (uint32_t i = 0; i < d->operand_batch.n; i++)
        if (x.dims[d->operand_batch.v[i]] != indices.dims[d->indices_batch.v[i]])
            return kn_fail(t->ctx, KILN_SHAPE, "%s: batching sizes differ: dimension %lld of %s, dimension %lld of %s", name,
                           (long long)d->operand_batch.v[i], kn_type_show(x).s, (long long)d->indices_batch.v[i], kn_type_show(indices).s);
    if (d->window.n + d->collapsed.n + d->operand_batch.n != x.rank || outer_rank != d->window.n + batch_rank)
        return kn_fail(t->ctx, KILN_SHAPE, "%s: %u window, %u collapsed and %u batching dimensions do not fit an operand %s, indices %s", name,
                       d->window.n, d->collapsed.n, d->operand_batch.n, kn_type_show(x).s, kn_type_show(indices).s);
    return check_sizes(t, d, x, sizes, n_sizes);
}

void kn_index_split(const kn_index_dims *d, uint32_t rank, uint32_t outer_rank, const int64_t *ix, int64_t *batch, int64_t *offset)
{
    int64_t in_window[KN_MAX_RANK];
    uint32_t b = 0, w = 0, k = 0;
    for (uint32_t i = 0; i < outer_rank; i++) {
        if (w < d->window.n && d->window.v[w] == (int64_t)i) in_window[w++] = ix[i];
        else batch[b++] = ix[i];
    }
    for (uint32_t i = 0; i < rank; i++)
        offset[i] = kn_listed(d->collapsed, i) || kn_listed(d->operand_batch, i) ? 0 : in_window[k++];
}

void kn_index_window(const kn_index_dims *d, uint32_t rank, kiln_type updates, int64_t *sizes)
{
    uint32_t w = 0;
    for (uint32_t i = 0; i < rank; i++) {
        bool one = kn_listed(d->collapsed, i) || kn_listed(d->operand_batch, i);
        sizes[i] = one || w >= d->window.n ? 1 : updates.dims[d->window.v[w++]];
    }
}

void kn_index_start(const kn_index_dims *d, const kiln_array *indices, uint32_t rank, const int64_t *batch, int64_t *start)
{
    kiln_type t = indices->type;
    int64_t at = 0;
    for (uint32_t i = 0; i < t.rank - 1; i++) at = at * t.dims[i] + batch[i];
    at *= t.dims[t.rank - 1];
    for (uint32_t i = 0; i < rank; i++) start[i] = 0;
    for (uint32_t k = 0; k < d->map.n; k++) {
        kn_scalar s = kn_scalar_load(t.dtype, indices->data, at + k);
        start[d->map.v[k]] = t.dtype == KILN_U64 && s.u > (uint64_t)INT64_MAX ? INT64_MAX : s.i;
    }
    for (uint32_t k = 0; k < d->operand_batch.n; k++) start[d->operand_batch.v[k]] = batch[d->indices_batch.v[k]];
}

/* ---- each from the other ---- */

/* Either side's dimension numbers, and the mode that does on this side what that one does with windows that do not lie inside:
 * without a promise kept, gather moves them inside and scatter leaves them out. */
static kn_param dims_of(const kn_scatter_like *how, bool scatter, kn_index_dims *d)
{
    kn_index_mode mode;
    bool from_scatter = kn_index_dims_of(how->dims, true, d);
    if (!from_scatter) kn_index_dims_of(how->dims, false, d);
    kn_index_mode_of(how->mode, &mode);
    if (mode != KN_INDEX_PROMISE || from_scatter == scatter) return *how->mode;
    return KN_TEXT(scatter ? "GatherScatterMode.CLIP" : "GatherScatterMode.FILL_OR_DROP");
}

kiln_status kn_build_scatter(kn_build *b, const kn_prim *p, const kn_scatter_like *how, kn_atom operand, kn_atom indices, kn_atom updates, kn_atom *out)
{
    kn_index_dims d;
    kn_param items[KN_INDEX_LISTS];
    kn_param mode = dims_of(how, true, &d);
    kn_param params[] = {kn_index_param(&d, true, items), KN_BOOL(how->sorted), mode, KN_NONE, KN_BOOL(how->unique), KN_NONE, KN_NONE};
    return kn_build_eqn(b, p, params, (kn_atom[]){operand, indices, updates}, 3, out, 1);
}

kiln_status kn_build_gather(kn_build *b, const kn_scatter_like *how, const int64_t *sizes, kn_atom operand, kn_atom indices, kn_atom *out)
{
    kn_index_dims d;
    kn_param items[KN_INDEX_LISTS];
    kn_param mode = dims_of(how, false, &d);
    uint32_t rank = kn_build_type(b, operand).rank;
    kn_param params[] = {kn_index_param(&d, false, items), KN_INT(0), KN_BOOL(how->sorted), mode, KN_INTS(rank, sizes), KN_BOOL(how->unique)};
    return kn_build_eqn(b, &kn_prim_gather, params, (kn_atom[]){operand, indices}, 2, out, 1);
}

kiln_status kn_build_take(kn_build *b, kn_atom x, kn_atom indices, uint32_t axis, kn_atom *out)
{
    kiln_type t = kn_build_type(b, indices);
    int64_t dims[KN_MAX_RANK + 1], others[KN_MAX_RANK], ones[KN_MAX_RANK], at[KN_MAX_RANK], along = axis;
    uint32_t n = 0;
    for (uint32_t d = 0; d < t.rank; d++) {
        dims[d] = t.dims[d], ones[d] = 1, at[d] = d;
        if (d != axis) others[n++] = d;
    }
    dims[t.rank] = 1;
    if (kiln_type_size(t) == 0) { /* there is no window of size 1 in it */
        kn_low l = {b, KILN_OK};
        *out = kn_low_fill(&l, (kiln_type){kn_build_type(b, x).dtype, t.rank, t.dims}, (kn_scalar){.c = {0, 0}});
        return l.status;
    }
    if (t.rank + 1 > KN_MAX_RANK) return kn_fail(b->ctx, KILN_UNSUPPORTED, "an array of %u dimensions is indexed along one", t.rank);
    kn_param wide[] = {KN_INTS(t.rank, at), KN_INTS(t.rank + 1, dims), KN_NONE}, mode = KN_TEXT("GatherScatterMode.PROMISE_IN_BOUNDS"), items[KN_INDEX_LISTS];
    KILN_TRY(kn_build_eqn(b, &kn_prim_broadcast_in_dim, wide, &indices, 1, &indices, 1));
    kn_index_dims d = {.collapsed = {&along, 1}, .map = {&along, 1}, .operand_batch = {others, n}, .indices_batch = {others, n}};
    kn_param record = kn_index_param(&d, false, items);
    kn_scatter_like how = {&record, &mode, false, true};
    return kn_build_gather(b, &how, ones, x, indices, out);
}

void kn_index_lanes(kn_lanes *m, kn_index_dims *d, bool operand, bool indices)
{
    bool together = operand && indices;
    kn_ints_list *of_operand[] = {&d->collapsed, &d->map};
    for (int i = 0; i < 2 && operand; i++) of_operand[i]->v = kn_lanes_raised(m, of_operand[i]->v, of_operand[i]->n);
    if (operand && !indices) d->window.v = kn_lanes_behind(m, 0, d->window.v, d->window.n), d->window.n++;
    else d->window.v = kn_lanes_raised(m, d->window.v, d->window.n);
    if (together) {
        d->operand_batch.v = kn_lanes_behind(m, 0, d->operand_batch.v, d->operand_batch.n);
        d->indices_batch.v = kn_lanes_behind(m, 0, d->indices_batch.v, d->indices_batch.n);
        d->operand_batch.n++, d->indices_batch.n++;
        return;
    }
    if (operand) d->operand_batch.v = kn_lanes_raised(m, d->operand_batch.v, d->operand_batch.n);
    if (indices) d->indices_batch.v = kn_lanes_raised(m, d->indices_batch.v, d->indices_batch.n);
}
