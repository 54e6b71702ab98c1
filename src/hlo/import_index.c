/* SPDX-License-Identifier: Apache-2.0 */
/* Slices at computed places, gather, scatter. */
#include "hlo/import.h"

#include "prim/common.h"

static kiln_status dynamic_slice(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *sizes;
    uint32_t n;
    kn_atom *in, y;
    (void)row;
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_hints(h, o, "slice_sizes", &sizes, &n));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_dynamic_slice, &KN_INTS(n, sizes), in, o->nin, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status dynamic_update_slice(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom *in, y;
    (void)row;
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_dynamic_update_slice, NULL, in, o->nin, &y));
    return kn_hset(h, o, 0, y);
}

/* The fields of gather's and scatter's dimension numbers, under the primitives' names. */
typedef struct fields {
    const char *hlo[5], *own[5], *record;
} fields;
static const fields gather_fields = {
    {"offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims"},
    {"offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims"},
    "GatherDimensionNumbers"};
static const fields scatter_fields = {
    {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims", "scatter_indices_batching_dims"},
    {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims", "scatter_indices_batching_dims"},
    "ScatterDimensionNumbers"};

/* The dimension numbers; the indices, turned so that index vectors lie along the last dimension. */
static kiln_status dimension_numbers(kn_himport *h, const kn_mop *o, const char *attr, const fields *f, kn_atom *indices, kn_param *out)
{
    kn_mattr dict;
    int64_t at;
    kn_param *lists = KN_NEWN(h->arena, kn_param, 5);
    KILN_TRY_MEM(h->ctx, lists);
    KILN_TRY(kn_hfields(h, o, attr, &dict));
    KILN_TRY(kn_hfield_int(h, o, &dict, "index_vector_dim", 0, &at));
    for (int i = 0; i < 5; i++) {
        const int64_t *v;
        uint32_t n;
        KILN_TRY(kn_hfield_ints(h, &dict, f->hlo[i], &v, &n));
        if (i == 4 && n) { /* batching dimensions of the indices: the index vector's dimension does not count here */
            int64_t *own = KN_NEWN(h->arena, int64_t, n);
            KILN_TRY_MEM(h->ctx, own);
            for (uint32_t k = 0; k < n; k++) own[k] = v[k] - (v[k] > at);
            v = own;
        }
        lists[i] = KN_INTS(n, v);
    }
    *out = (kn_param){.kind = KN_P_RECORD, .n = 5, .items = lists, .name = f->record, .keys = (const char *const *)f->own};
    kiln_type t = kn_htype(h, *indices);
    if (at < 0 || at > (int64_t)t.rank || t.rank >= KN_MAX_RANK) return kn_hbad(h, o, "index_vector_dim is %lld for indices %s", (long long)at, kn_type_show(t).s);
    int64_t v[KN_MAX_RANK];
    uint32_t k = 0;
    if (at == (int64_t)t.rank) { /* every index is a vector of one entry */
        for (uint32_t d = 0; d < t.rank; d++) v[d] = t.dims[d];
        v[t.rank] = 1;
        return kn_hreshape(h, o, *indices, t.rank + 1, v, indices);
    }
    for (uint32_t d = 0; d < t.rank; d++)
        if ((int64_t)d != at) v[k++] = d;
    v[k] = at;
    return kn_htranspose(h, o, *indices, v, indices);
}

static kiln_status gather(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom in[2], y;
    kn_param dims;
    const int64_t *sizes;
    uint32_t n;
    bool sorted;
    KILN_TRY(kn_hcount(h, o, row->extra ? 3 : 2, 1));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin(h, o, k, &in[k]));
    if (row->extra) KILN_TRY(kn_hoperand_ints(h, o, 2, &sizes, &n));
    else KILN_TRY(kn_hints(h, o, "slice_sizes", &sizes, &n));
    KILN_TRY(kn_hflag(h, o, "indices_are_sorted", false, &sorted));
    KILN_TRY(dimension_numbers(h, o, "dimension_numbers", &gather_fields, &in[1], &dims));
    kn_param params[] = {dims, KN_NONE, KN_BOOL(sorted), KN_TEXT("GatherScatterMode.CLIP"), KN_INTS(n, sizes), KN_BOOL(false)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_gather, params, in, 2, &y));
    return kn_hset(h, o, 0, y);
}

/* The primitive for a body of two scalars: what it applies to old and new, in this order where that matters. */
static const kn_prim *scatter_prim(const kn_jaxpr *body)
{
    bool swapped;
    if (kn_nargs(body) == 2 && body->nout == 1 && body->nconsts == 0 && body->out[0] == body->in[1]) return &kn_prim_scatter;
    const kn_prim *p = kn_hcombiner(body, &swapped);
    return p == &kn_prim_add                 ? &kn_prim_scatter_add
           : p == &kn_prim_mul               ? &kn_prim_scatter_mul
           : p == &kn_prim_max               ? &kn_prim_scatter_max
           : p == &kn_prim_min               ? &kn_prim_scatter_min
           : p == &kn_prim_sub && !swapped ? &kn_prim_scatter_sub
                                             : NULL;
}

static kiln_status scatter(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const uint32_t *ids;
    uint32_t captured, n = o->nin / 2;
    const kn_jaxpr *body;
    kn_hatoms in = {0};
    kn_param dims;
    bool sorted, unique;
    (void)row;
    if (o->nregions != 1 || o->nin % 2 == 0 || n == 0) return kn_hbad(h, o, "arrays, indices, as many updates and a region are needed");
    KILN_TRY(kn_hcaptures(h, o->regions, 1, &ids, &captured));
    KILN_TRY(kn_hregion(h, o->regions, ids, captured, &body));
    KILN_TRY(kn_hcapture_atoms(h, ids, captured, &in));
    uint32_t consts = in.n;
    for (uint32_t k = 0; k < o->nin; k++) {
        kn_atom a;
        KILN_TRY(kn_hin(h, o, k, &a));
        KILN_TRY_MEM(h->ctx, kn_push(h->arena, &in, a));
    }
    KILN_TRY(kn_hflag(h, o, "indices_are_sorted", false, &sorted));
    KILN_TRY(kn_hflag(h, o, "unique_indices", false, &unique));
    KILN_TRY(dimension_numbers(h, o, "scatter_dimension_numbers", &scatter_fields, &in.v[consts + n], &dims));
    const kn_prim *p = consts == 0 && n == 1 && kn_htype(h, in.v[0]).dtype == kn_htype(h, in.v[2]).dtype ? scatter_prim(body) : NULL;
    bool plain = p == &kn_prim_scatter, any = !p;
    kn_atom *out = KN_NEWN(h->arena, kn_atom, n);
    KILN_TRY_MEM(h->ctx, out);
    kn_param params[] = {dims, KN_BOOL(sorted), KN_TEXT("GatherScatterMode.FILL_OR_DROP"), consts ? KN_INT(consts) : KN_NONE, KN_BOOL(unique),
                         any ? KN_NONE : KN_TUPLE(0, NULL), plain ? KN_NONE : KN_JAXPR(body)};
    KILN_TRY(kn_heqn(h, o, any ? &kn_prim_scatter_apply : p, params, in.v, in.n, out, n));
    if (o->nout != n) return kn_hbad(h, o, "there are %u results, but %u are named", n, o->nout);
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_hset(h, o, i, out[i]));
    return KILN_OK;
}

/* Rows of the operand along `dim`, chosen by indices; `batch_dims` leading dimensions run together. Indices are clamped. */
static kiln_status torch_index_select(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom in[2], y;
    int64_t dim, nbatch, list[5][KN_MAX_RANK], sizes[KN_MAX_RANK], shape[KN_MAX_RANK];
    uint32_t n[5] = {0};
    (void)row;
    KILN_TRY(kn_hcount(h, o, 2, 1));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin(h, o, k, &in[k]));
    KILN_TRY(kn_hint(h, o, "dim", 0, &dim));
    KILN_TRY(kn_hint(h, o, "batch_dims", 0, &nbatch));
    kiln_type x = kn_htype(h, in[0]), ix = kn_htype(h, in[1]);
    if (dim < 0 || dim >= (int64_t)x.rank || nbatch < 0 || nbatch > dim || nbatch > (int64_t)ix.rank || ix.rank + 1 > KN_MAX_RANK || x.rank > KN_MAX_RANK)
        return kn_hbad(h, o, "dim %lld and batch_dims %lld do not fit %s and %s", (long long)dim, (long long)nbatch, kn_type_show(x).s, kn_type_show(ix).s);
    for (uint32_t d = 0; d < x.rank; d++) {
        bool batch = (int64_t)d < nbatch;
        sizes[d] = batch || (int64_t)d == dim ? 1 : x.dims[d];
        if (batch) list[3][n[3]++] = d, list[4][n[4]++] = d;
        else if ((int64_t)d != dim) list[0][n[0]++] = (int64_t)d < dim ? (int64_t)d : (int64_t)d - 1 + (int64_t)ix.rank - nbatch;
    }
    list[1][n[1]++] = dim;
    list[2][n[2]++] = dim;
    for (uint32_t d = 0; d < ix.rank; d++) shape[d] = ix.dims[d];
    shape[ix.rank] = 1;
    KILN_TRY(kn_hreshape(h, o, in[1], ix.rank + 1, shape, &in[1]));
    kn_param lists[5];
    for (int i = 0; i < 5; i++) lists[i] = KN_INTS(n[i], list[i]);
    kn_param dims = {.kind = KN_P_RECORD, .n = 5, .items = lists, .name = gather_fields.record, .keys = (const char *const *)gather_fields.own};
    kn_param params[] = {dims, KN_NONE, KN_BOOL(false), KN_TEXT("GatherScatterMode.CLIP"), KN_INTS(x.rank, sizes), KN_BOOL(false)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_gather, params, in, 2, &y));
    return kn_hset(h, o, 0, y);
}

const kn_himporter kn_himport_index[] = {
    {"stablehlo.dynamic_gather", gather, NULL, 1},
    {"stablehlo.dynamic_slice", dynamic_slice, NULL, 0},
    {"stablehlo.dynamic_update_slice", dynamic_update_slice, NULL, 0},
    {"stablehlo.gather", gather, NULL, 0},
    {"stablehlo.scatter", scatter, NULL, 0},
    {"stablehlo.torch_index_select", torch_index_select, NULL, 0},
};
const uint32_t kn_himport_n_index = sizeof kn_himport_index / sizeof *kn_himport_index;
