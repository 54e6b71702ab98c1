/* SPDX-License-Identifier: Apache-2.0 */
/* The dimensions of results, by operation, where the text leaves them open. */
#include "hlo/refine.h"
#include "prim/common.h"

/* Numbers of an operand that a type depends on. */
static kiln_status numbers(kn_hrefining *r, const kn_mop *o, uint32_t k, const kn_mknown **out)
{
    *out = kn_hknown_numbers(r, o, k);
    if ((*out)->v) return KILN_OK;
    return kn_hrefuse(&r->h, o, "shapes that are a * n + b with whole a and b, of one open size n", "operand %u of %.*s is a shape that is not known", k,
                      KN_SPAN_ARG(o->name));
}

typedef kiln_status (*dims_fn)(kn_hrefining *r, const kn_mop *o);

static bool is_array(const kn_hrefining *r, const kn_mop *o, uint32_t k)
{
    return k < o->nin && kn_hrefined_type(r, o->in[k])->kind == KN_MT_TENSOR && kn_hrefined_type(r, o->in[k])->type.rank <= KN_MAX_RANK;
}
static kiln_type array_at(const kn_hrefining *r, const kn_mop *o, uint32_t k) { return kn_hrefined_type(r, o->in[k])->type; }

static kiln_status operands(kn_hrefining *r, const kn_mop *o, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!is_array(r, o, k)) return kn_hbad(&r->h, o, "operand %u is no array of at most %d dimensions", k, KN_MAX_RANK);
    return KILN_OK;
}

static kiln_status too_large(kn_hrefining *r, const kn_mop *o)
{
    return kn_hrefuse(&r->h, o, "shapes that are a * n + b with whole a and b, of one open size n", "the size of the result of %.*s is too large or not linear in n",
                      KN_SPAN_ARG(o->name));
}

/* Operations whose last operand is the shape. */
static kiln_status by_shape(kn_hrefining *r, const kn_mop *o)
{
    const kn_mknown *shape;
    KILN_TRY(numbers(r, o, o->nin ? o->nin - 1 : 0, &shape));
    return kn_hset_dims(r, o, 0, shape->v, shape->n);
}

static kiln_status transposed(kn_hrefining *r, const kn_mop *o)
{
    const int64_t *p;
    int64_t dims[KN_MAX_RANK];
    uint32_t n;
    KILN_TRY(operands(r, o, 1));
    KILN_TRY(kn_hints(&r->h, o, "permutation", &p, &n));
    kiln_type t = array_at(r, o, 0);
    for (uint32_t d = 0; d < n; d++) {
        if (n != t.rank || p[d] < 0 || p[d] >= (int64_t)t.rank) return kn_hbad(&r->h, o, "permutation does not fit %s", kn_type_show(t).s);
        dims[d] = t.dims[p[d]];
    }
    return kn_hset_dims(r, o, 0, dims, n);
}

static kiln_status concatenated(kn_hrefining *r, const kn_mop *o)
{
    int64_t at, dims[KN_MAX_RANK];
    KILN_TRY(operands(r, o, o->nin));
    KILN_TRY(kn_hint(&r->h, o, "dimension", 0, &at));
    for (uint32_t k = 0; k < o->nin; k++) {
        kiln_type t = array_at(r, o, k);
        if (at < 0 || at >= (int64_t)t.rank || t.rank != array_at(r, o, 0).rank) return kn_hbad(&r->h, o, "dimension %lld does not fit %s", (long long)at, kn_type_show(t).s);
        if (k == 0) memcpy(dims, t.dims, t.rank * sizeof *dims);
        else if (!kn_hfold_two(KN_HFOLD_ADD, dims[at], t.dims[at], &dims[at])) return too_large(r, o);
    }
    return kn_hset_dims(r, o, 0, dims, o->nin ? array_at(r, o, 0).rank : 0);
}

static bool among(const int64_t *v, uint32_t n, int64_t x)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

static kiln_status reduced(kn_hrefining *r, const kn_mop *o)
{
    const int64_t *at;
    uint32_t n;
    KILN_TRY(operands(r, o, o->nout));
    KILN_TRY(kn_hints(&r->h, o, "dimensions", &at, &n));
    for (uint32_t k = 0; k < o->nout; k++) {
        kiln_type t = array_at(r, o, k);
        int64_t dims[KN_MAX_RANK];
        uint32_t rank = 0;
        for (uint32_t d = 0; d < t.rank; d++)
            if (!among(at, n, d)) dims[rank++] = t.dims[d];
        KILN_TRY(kn_hset_dims(r, o, k, dims, rank));
    }
    return KILN_OK;
}

static kiln_status product(kn_hrefining *r, const kn_mop *o)
{
    static const char *const names[2][2] = {{"lhs_batching_dimensions", "lhs_contracting_dimensions"}, {"rhs_batching_dimensions", "rhs_contracting_dimensions"}};
    int64_t dims[2 * KN_MAX_RANK];
    uint32_t rank = 0;
    KILN_TRY(operands(r, o, 2));
    for (uint32_t side = 0; side < 2; side++) {
        kiln_type t = array_at(r, o, side);
        kn_param batch, contract;
        KILN_TRY(kn_hdot_list(&r->h, o, names[side][0], &batch));
        KILN_TRY(kn_hdot_list(&r->h, o, names[side][1], &contract));
        for (uint32_t i = 0; side == 0 && i < batch.n; i++) {
            if (batch.ints[i] < 0 || batch.ints[i] >= (int64_t)t.rank) return kn_hbad(&r->h, o, "%s does not fit %s", names[0][0], kn_type_show(t).s);
            dims[rank++] = t.dims[batch.ints[i]];
            if (rank == KN_MAX_RANK) return kn_hbad(&r->h, o, "more than %d dimensions", KN_MAX_RANK);
        }
        for (uint32_t d = 0; d < t.rank; d++)
            if (!among(batch.ints, batch.n, d) && !among(contract.ints, contract.n, d)) dims[rank++] = t.dims[d];
    }
    return kn_hset_dims(r, o, 0, dims, rank);
}

/* Batch dimensions are those of the indices, window dimensions the sizes of slices. */
static kiln_status gathered(kn_hrefining *r, const kn_mop *o)
{
    kn_mattr dict;
    const int64_t *offset, *collapsed, *batching, *sizes;
    uint32_t n_offset, n_collapsed, n_batching, n_sizes;
    int64_t at, dims[KN_MAX_RANK];
    const kn_mknown *given;
    KILN_TRY(operands(r, o, 2));
    KILN_TRY(kn_hfields(&r->h, o, "dimension_numbers", &dict));
    KILN_TRY(kn_hfield_ints(&r->h, &dict, "offset_dims", &offset, &n_offset));
    KILN_TRY(kn_hfield_ints(&r->h, &dict, "collapsed_slice_dims", &collapsed, &n_collapsed));
    KILN_TRY(kn_hfield_ints(&r->h, &dict, "operand_batching_dims", &batching, &n_batching));
    KILN_TRY(kn_hfield_int(&r->h, o, &dict, "index_vector_dim", 0, &at));
    KILN_TRY(kn_hints(&r->h, o, "slice_sizes", &sizes, &n_sizes));
    if (!sizes && o->nin == 3) {
        KILN_TRY(numbers(r, o, 2, &given));
        sizes = given->v, n_sizes = given->n;
    }
    kiln_type indices = array_at(r, o, 1), written = kn_hrefined_type(r, o->out)->type;
    uint32_t window = 0, batch = 0, d = 0;
    for (; d < written.rank && d < KN_MAX_RANK; d++) {
        bool inside = among(offset, n_offset, d);
        while (inside && window < n_sizes && (among(collapsed, n_collapsed, window) || among(batching, n_batching, window))) window++;
        if (!inside && (int64_t)batch == at) batch++;
        if (inside ? window >= n_sizes : batch >= indices.rank) return kn_hbad(&r->h, o, "dimension_numbers do not fit %s", kn_type_show(indices).s);
        dims[d] = inside ? sizes[window++] : indices.dims[batch++];
    }
    return kn_hset_dims(r, o, 0, dims, d);
}

static kiln_status padded(kn_hrefining *r, const kn_mop *o)
{
    static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
    const int64_t *v[3];
    const kn_mknown *given;
    int64_t dims[KN_MAX_RANK];
    KILN_TRY(operands(r, o, 1));
    kiln_type t = array_at(r, o, 0);
    for (uint32_t k = 0; k < 3; k++)
        if (o->nin < 5) KILN_TRY(kn_hints_of(&r->h, o, names[k], t.rank, 0, &v[k]));
        else {
            KILN_TRY(numbers(r, o, 2 + k, &given));
            if (given->n != t.rank) return kn_hbad(&r->h, o, "operand %u holds %u numbers, %u are needed", 2 + k, given->n, t.rank);
            v[k] = given->v;
        }
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t holes = t.dims[d] == 0 ? 0 : t.dims[d] - 1;
        bool fits = kn_hfold_two(KN_HFOLD_MUL, holes, v[2][d], &dims[d]) && kn_hfold_two(KN_HFOLD_ADD, dims[d], t.dims[d], &dims[d]) && kn_hfold_two(KN_HFOLD_ADD, dims[d], v[0][d], &dims[d]) &&
                    kn_hfold_two(KN_HFOLD_ADD, dims[d], v[1][d], &dims[d]);
        if (!fits) return too_large(r, o);
    }
    return kn_hset_dims(r, o, 0, dims, t.rank);
}

static kiln_status sliced(kn_hrefining *r, const kn_mop *o)
{
    const kn_mknown *v[3];
    int64_t dims[KN_MAX_RANK];
    KILN_TRY(operands(r, o, 1));
    uint32_t rank = array_at(r, o, 0).rank;
    for (uint32_t k = 0; k < 3; k++) {
        KILN_TRY(numbers(r, o, 1 + k, &v[k]));
        if (v[k]->n != rank) return kn_hbad(&r->h, o, "operand %u holds %u numbers, %u are needed", 1 + k, v[k]->n, rank);
    }
    for (uint32_t d = 0; d < rank; d++) {
        int64_t span, step = v[2]->v[d];
        if (!kn_hfold_two(KN_HFOLD_SUB, v[1]->v[d], v[0]->v[d], &span)) return too_large(r, o);
        if (step > 1 && !kn_size_open(span)) dims[d] = span / step + (span % step > 0);
        else if (!kn_hfold_two(KN_HFOLD_DIV, span, step, &dims[d])) return too_large(r, o);
    }
    return kn_hset_dims(r, o, 0, dims, rank);
}

typedef struct window {
    const int64_t *size, *stride, *base, *dilation, *padding; /* padding: low, high by dimension */
} window;

static kiln_status window_dims(kn_hrefining *r, const kn_mop *o, uint32_t k, const window *w)
{
    kiln_type t = array_at(r, o, k);
    int64_t dims[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t last, reach; /* where the last window may begin */
        bool fits = t.dims[d] > 0 && w->size[d] > 0 && w->stride[d] > 0 && kn_hfold_two(KN_HFOLD_MUL, t.dims[d] - 1, w->base[d], &last) &&
                    kn_hfold_two(KN_HFOLD_ADD, last, w->padding[2 * d], &last) && kn_hfold_two(KN_HFOLD_ADD, last, w->padding[2 * d + 1], &last) &&
                    kn_hfold_two(KN_HFOLD_MUL, w->size[d] - 1, w->dilation[d], &reach) && kn_hfold_two(KN_HFOLD_SUB, last, reach, &last) && last >= 0 &&
                    !(kn_size_open(last) && w->stride[d] != 1);
        if (!fits) return too_large(r, o);
        dims[d] = last / w->stride[d] + 1;
    }
    return kn_hset_dims(r, o, k, dims, t.rank);
}

static kiln_status windowed(kn_hrefining *r, const kn_mop *o)
{
    window w;
    KILN_TRY(operands(r, o, o->nout));
    for (uint32_t k = 0; k < o->nout; k++) {
        uint32_t rank = array_at(r, o, k).rank;
        KILN_TRY(kn_hints_of(&r->h, o, "window_dimensions", rank, 1, &w.size));
        KILN_TRY(kn_hints_of(&r->h, o, "window_strides", rank, 1, &w.stride));
        KILN_TRY(kn_hints_of(&r->h, o, "base_dilations", rank, 1, &w.base));
        KILN_TRY(kn_hints_of(&r->h, o, "window_dilations", rank, 1, &w.dilation));
        KILN_TRY(kn_hints_of(&r->h, o, "padding", 2 * rank, 0, &w.padding));
        KILN_TRY(window_dims(r, o, k, &w));
    }
    return KILN_OK;
}

/* @stablehlo.dynamic_reduce_window: the window is given by operands. */
static kiln_status windowed_by_operands(kn_hrefining *r, const kn_mop *o)
{
    const int64_t *v[5];
    KILN_TRY(operands(r, o, 7));
    uint32_t rank = array_at(r, o, 0).rank;
    for (uint32_t k = 0; k < 5; k++) {
        const kn_mknown *given;
        KILN_TRY(numbers(r, o, 2 + k, &given));
        if (given->n != (k < 4 ? rank : 2 * rank)) return kn_hbad(&r->h, o, "operand %u holds %u numbers", 2 + k, given->n);
        v[k] = given->v;
    }
    return window_dims(r, o, 0, &(window){v[0], v[1], v[2], v[3], v[4]});
}

/* Elementwise operations and all whose results look like an operand: the one in the same place, or the first of that rank. */
static kiln_status like_an_operand(kn_hrefining *r, const kn_mop *o)
{
    for (uint32_t k = 0; k < o->nout; k++) {
        const kn_mtype *t = kn_hrefined_type(r, o->out + k);
        int64_t dims[KN_MAX_RANK];
        if (!kn_hopen_type(t) || t->type.rank > KN_MAX_RANK) continue;
        uint32_t from = is_array(r, o, k) && array_at(r, o, k).rank == t->type.rank ? k : 0;
        while (from < o->nin && !(is_array(r, o, from) && array_at(r, o, from).rank == t->type.rank)) from++;
        if (from == o->nin) return kn_hrefuse(&r->h, o, NULL, "the shape of the result of %.*s is not known where a size is open", KN_SPAN_ARG(o->name));
        for (uint32_t d = 0; d < t->type.rank; d++) dims[d] = t->type.dims[d] < 0 ? array_at(r, o, from).dims[d] : t->type.dims[d];
        KILN_TRY(kn_hset_dims(r, o, k, dims, t->type.rank));
    }
    return KILN_OK;
}

static const struct {
    const char *name;
    dims_fn fn;
} rules[] = {
    {"stablehlo.concatenate", concatenated},
    {"stablehlo.dot_general", product},
    {"stablehlo.dynamic_broadcast_in_dim", by_shape},
    {"stablehlo.dynamic_gather", gathered},
    {"stablehlo.dynamic_iota", by_shape},
    {"stablehlo.dynamic_pad", padded},
    {"stablehlo.dynamic_reduce_window", windowed_by_operands}, /* a custom call */
    {"stablehlo.dynamic_reshape", by_shape},
    {"stablehlo.gather", gathered},
    {"stablehlo.pad", padded},
    {"stablehlo.real_dynamic_slice", sliced},
    {"stablehlo.reduce", reduced},
    {"stablehlo.reduce_window", windowed},
    {"stablehlo.transpose", transposed},
};

kiln_status kn_hrefine_dims(kn_hrefining *r, const kn_mop *o, kn_span name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (kn_span_is(name, rules[i].name)) return rules[i].fn(r, o);
    return like_an_operand(r, o);
}
