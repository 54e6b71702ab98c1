/* SPDX-License-Identifier: Apache-2.0 */
/* Sample rules of windows, indices, folds with bodies, sorts, bits, complex numbers, transforms, factorisations. */
#include "prim/body.h"
#include "prim/sample.h"

#include "prims.gen.h"

static bool is(const kn_sample *s, const char *name) { return strcmp(s->prim->name, name) == 0; }

static bool drawn(const kn_sample *s, kiln_dtype d) { return s->dtypes >> d & 1; }

static kiln_status some_array(kn_sample *s, const char *kinds, uint32_t lo, uint32_t hi, int64_t *dims, kiln_type *t, kn_atom *x)
{
    t->rank = (uint32_t)kn_sample_between(s, lo, hi);
    t->dims = dims;
    KILN_TRY(kn_sample_dtype(s, kinds, &t->dtype));
    kn_sample_shape(s, t->rank, dims);
    return kn_sample_input(s, *t, x);
}

kiln_status kn_sample_barrier(kn_sample *s)
{
    kn_atom x[3];
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 3);
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[4];
        kiln_type t;
        KILN_TRY(some_array(s, "biufc", 0, 3, dims, &t, &x[i]));
    }
    return kn_sample_emit(s, NULL, x, n, n);
}

/* ---- bodies ---- */

/* A body over nconsts captures and args of one dtype: results are sums, differences, maxima of arguments and captures. With
 * `flag`, one bool: a comparison of the first two. */
static kiln_status scalar_body(kn_sample *s, kiln_dtype d, uint32_t nconsts, uint32_t nargs, uint32_t nout, bool flag, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, s->ctx, s->b.prog);
    kn_low l = {&b, KILN_OK};
    kn_atom in[KN_SAMPLE_INPUTS], y[4];
    bool logic = d == KILN_BOOL;
    for (uint32_t i = 0; i < nconsts + nargs; i++) KILN_TRY(kn_build_input(&b, KILN_SCALAR(d), &in[i]));
    for (uint32_t r = 0; r < nout; r++) {
        kn_atom v = in[nconsts + r % nargs];
        for (int k = 0; k < 2; k++) {
            kn_atom w = in[kn_sample_below(s, nconsts + nargs)];
            const kn_prim *ops[] = {logic ? &kn_prim_or : &kn_prim_add, logic ? &kn_prim_xor : &kn_prim_sub, logic ? &kn_prim_and : &kn_prim_max};
            v = kn_low2(&l, ops[kn_sample_below(s, 3)], v, w);
        }
        y[r] = v;
    }
    if (flag) y[0] = kn_low2(&l, kn_sample_below(s, 2) ? &kn_prim_lt : &kn_prim_ge, in[nconsts], in[nconsts + 1]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, y, flag ? 1 : nout, out);
}

/* A body that applies one of the operations with a documented order. */
static kiln_status known_body(kn_sample *s, kiln_dtype d, const kn_jaxpr **out)
{
    static const kn_prim *const ops[] = {&kn_prim_add, &kn_prim_mul, &kn_prim_max, &kn_prim_min};
    kn_build b;
    kn_build_init(&b, s->ctx, s->b.prog);
    kn_low l = {&b, KILN_OK};
    kn_atom in[2];
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, KILN_SCALAR(d), &in[i]));
    kn_atom y = kn_low2(&l, d == KILN_BOOL ? &kn_prim_and : ops[kn_sample_below(s, 4)], in[0], in[1]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &y, 1, out);
}

/* Inputs of one dtype: nconsts scalars, then n arrays of one shape, then n scalars. */
static kiln_status body_inputs(kn_sample *s, kiln_dtype d, uint32_t nconsts, uint32_t n, kiln_type t, bool inits, kn_atom *x)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < nconsts; i++) KILN_TRY(kn_sample_input(s, KILN_SCALAR(d), &x[k++]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, t, &x[k++]));
    for (uint32_t i = 0; inits && i < n; i++) KILN_TRY(kn_sample_input(s, KILN_SCALAR(d), &x[k++]));
    return KILN_OK;
}

static kn_param counted(uint32_t n) { return n ? KN_INT(n) : KN_NONE; }

kiln_status kn_sample_fold(kn_sample *s)
{
    int64_t dims[4], axes[4];
    kn_atom x[8];
    const kn_jaxpr *body;
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 4), .dims = dims};
    uint32_t naxes = 0;
    bool known = kn_sample_below(s, 3) == 0;
    uint32_t n = known ? 1 : (uint32_t)kn_sample_between(s, 1, 2), consts = known ? 0 : (uint32_t)kn_sample_below(s, 2);
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    for (uint32_t d = 0; d < t.rank; d++)
        if (kn_sample_below(s, 2)) axes[naxes++] = d;
    if (known) KILN_TRY(known_body(s, t.dtype, &body));
    else KILN_TRY(scalar_body(s, t.dtype, consts, 2 * n, n, false, &body));
    KILN_TRY(body_inputs(s, t.dtype, consts, n, t, true, x));
    return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_INTS(naxes, axes), KN_JAXPR(body), counted(consts)}, x, consts + 2 * n, n);
}

/* ---- windows ---- */

typedef struct window {
    uint32_t rank;
    int64_t base[4], dilation[4], size[4], stride[4], padding[4][2];
    kn_param pairs[4];
} window;

/* A window that fits an array of these dims; padding reaches beyond, and may cut. */
static void some_window(kn_sample *s, uint32_t rank, const int64_t *dims, bool dilated, window *w)
{
    w->rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        w->base[d] = dilated ? kn_sample_between(s, 1, 2) : 1;
        w->dilation[d] = dilated ? kn_sample_between(s, 1, 2) : 1;
        w->size[d] = kn_sample_between(s, 1, kn_sample_below(s, 6) ? 3 : 7);
        w->stride[d] = kn_sample_between(s, 1, 2);
        w->padding[d][0] = kn_sample_between(s, dims[d] > 2 ? -1 : 0, 2);
        w->padding[d][1] = kn_sample_between(s, dims[d] > 2 ? -1 : 0, 2);
        w->pairs[d] = KN_INTS(2, w->padding[d]);
    }
}

kiln_status kn_sample_window(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[2];
    kiln_type t;
    window w;
    bool gather = is(s, "select_and_gather_add");
    KILN_TRY(some_array(s, "iufc", 0, 3, dims, &t, &x[0]));
    if (gather) KILN_TRY(kn_sample_input(s, t, &x[1]));
    some_window(s, t.rank, dims, true, &w);
    uint32_t n = t.rank, k = 0;
    kn_param params[6];
    params[k++] = KN_INTS(n, w.base);
    params[k++] = KN_TUPLE(n, w.pairs);
    if (gather) params[k++] = KN_TEXT(kn_sample_below(s, 2) ? "ge" : "le");
    params[k++] = KN_INTS(n, w.dilation);
    params[k++] = KN_INTS(n, w.size);
    params[k++] = KN_INTS(n, w.stride);
    return kn_sample_emit(s, params, x, gather ? 2 : 1, 1);
}

kiln_status kn_sample_window_any(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[8];
    const kn_jaxpr *body;
    window w;
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 3), .dims = dims};
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 2), consts = (uint32_t)kn_sample_below(s, 2);
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    some_window(s, t.rank, dims, true, &w);
    KILN_TRY(scalar_body(s, t.dtype, consts, 2 * n, n, false, &body));
    KILN_TRY(body_inputs(s, t.dtype, consts, n, t, true, x));
    uint32_t r = t.rank;
    kn_param params[] = {KN_INTS(r, w.base), KN_NONE, KN_JAXPR(body), counted(consts), KN_TUPLE(r, w.pairs), KN_INTS(r, w.dilation), KN_INTS(r, w.size), KN_INTS(r, w.stride)};
    return kn_sample_emit(s, params, x, consts + 2 * n, n);
}

kiln_status kn_sample_select_and_scatter(kn_sample *s)
{
    int64_t dims[4], source[4], none[2] = {0, 0};
    kn_atom x[3];
    window w;
    bool any = is(s, "select_and_scatter");
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 3), .dims = dims};
    KILN_TRY(kn_sample_dtype(s, "iufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    some_window(s, t.rank, dims, false, &w);
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t whole = dims[d] + w.padding[d][0] + w.padding[d][1];
        source[d] = whole < w.size[d] ? 0 : (whole - w.size[d]) / w.stride[d] + 1;
    }
    kiln_type u = {t.dtype, t.rank, source};
    KILN_TRY(kn_sample_input(s, any ? t : u, &x[0]));
    KILN_TRY(kn_sample_input(s, any ? u : t, &x[1]));
    uint32_t n = t.rank;
    if (!any) {
        kn_param params[] = {KN_TUPLE(n, w.pairs), KN_TEXT(kn_sample_below(s, 2) ? "ge" : "le"), KN_INTS(n, w.size), KN_INTS(n, w.stride)};
        return kn_sample_emit(s, params, x, 2, 1);
    }
    const kn_jaxpr *select, *scatter;
    KILN_TRY(scalar_body(s, t.dtype, 0, 2, 1, true, &select));
    KILN_TRY(scalar_body(s, t.dtype, 0, 2, 1, false, &scatter));
    KILN_TRY(kn_sample_input(s, KILN_SCALAR(t.dtype), &x[2]));
    kn_param params[] = {kn_sample_below(s, 2) ? KN_NONE : KN_INTS(2, none), KN_TUPLE(n, w.pairs), KN_NONE, KN_JAXPR(scatter), KN_NONE, KN_JAXPR(select), KN_INTS(n, w.size), KN_INTS(n, w.stride)};
    return kn_sample_emit(s, params, x, 3, 1);
}

/* ---- gather and scatter ---- */

static const char *const modes[] = {"GatherScatterMode.CLIP", "GatherScatterMode.FILL_OR_DROP", "GatherScatterMode.PROMISE_IN_BOUNDS"};

/* Dimension numbers for an operand of these dims: each dimension is a batch, collapsed or windowed; indices get one or two batch
 * dimensions of their own. */
typedef struct indexing {
    int64_t list[5][4], sizes[4], idims[5], outer[8];
    uint32_t n[5], irank, outer_rank;
    kn_param lists[5], dims;
} indexing;

static void some_indexing(kn_sample *s, bool scatter, uint32_t rank, const int64_t *dims, indexing *g)
{
    static const char *const gather_keys[] = {"offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims"};
    static const char *const scatter_keys[] = {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims", "scatter_indices_batching_dims"};
    uint32_t own = (uint32_t)kn_sample_below(s, 3);
    *g = (indexing){.irank = 0};
    for (uint32_t i = 0; i < own; i++) g->idims[g->irank++] = i == 0 ? kn_sample_between(s, 0, 4) : kn_sample_between(s, 1, 2);
    for (uint32_t d = 0; d < rank; d++) {
        int64_t kind = kn_sample_below(s, 4);
        bool batch = kind == 0 && g->n[3] == 0 && dims[d] > 0, collapsed = !batch && kind == 1 && dims[d] > 0;
        if (batch) {
            g->list[3][g->n[3]++] = d;
            g->list[4][g->n[4]++] = g->irank;
            g->idims[g->irank++] = dims[d];
            g->sizes[d] = 1;
            continue;
        }
        g->sizes[d] = collapsed ? 1 : kn_sample_below(s, 2) ? dims[d] : kn_sample_between(s, 0, dims[d] < 3 ? dims[d] : 3);
        if (collapsed) g->list[1][g->n[1]++] = d;
        if (kn_sample_below(s, 3) || collapsed) g->list[2][g->n[2]++] = d;
    }
    /* window dimensions of the result: in front of, or behind, the others */
    bool front = kn_sample_below(s, 2);
    uint32_t nw = rank - g->n[1] - g->n[3], w = 0;
    g->outer_rank = nw + g->irank;
    for (uint32_t i = 0; i < nw; i++) g->list[0][i] = front ? i : g->irank + i;
    g->n[0] = nw;
    for (uint32_t i = 0, b = 0; i < g->outer_rank; i++) {
        bool in_window = front ? i < nw : i >= g->irank;
        if (!in_window) {
            g->outer[i] = g->idims[b++];
            continue;
        }
        for (;; w++) {
            bool left_out = false;
            for (uint32_t k = 0; k < g->n[1]; k++) left_out = left_out || g->list[1][k] == (int64_t)w;
            for (uint32_t k = 0; k < g->n[3]; k++) left_out = left_out || g->list[3][k] == (int64_t)w;
            if (!left_out) break;
        }
        g->outer[i] = g->sizes[w++];
    }
    g->idims[g->irank++] = g->n[2];
    for (int i = 0; i < 5; i++) g->lists[i] = KN_INTS(g->n[i], g->list[i]);
    g->dims = (kn_param){.kind = KN_P_RECORD, .n = 5, .items = g->lists, .name = scatter ? "ScatterDimensionNumbers" : "GatherDimensionNumbers", .keys = scatter ? scatter_keys : gather_keys};
}

/* Mostly places inside the operand. */
static kiln_status some_indices(kn_sample *s, const indexing *g, const int64_t *dims, kn_atom *x)
{
    kiln_dtype d;
    KILN_TRY(kn_sample_dtype(s, "iu", &d));
    uint32_t at = s->nin;
    kiln_type t = {d, g->irank, g->idims};
    KILN_TRY(kn_sample_input(s, t, x));
    int64_t n = kiln_type_size(t), entries = g->n[2];
    for (int64_t k = 0; k < n; k++) {
        int64_t axis = g->list[2][k % entries], most = dims[axis] - g->sizes[axis];
        if (kn_sample_below(s, 5)) kn_scalar_store(d, s->in[at]->data, k, (kn_scalar){.i = kn_sample_between(s, kiln_dtype_kind(d) == 'u' ? 0 : -1, most + 1)});
    }
    return KILN_OK;
}

kiln_status kn_sample_gather(kn_sample *s)
{
    int64_t dims[4];
    kiln_type t;
    kn_atom x[2];
    indexing g;
    KILN_TRY(some_array(s, "biufc", 0, 3, dims, &t, &x[0]));
    some_indexing(s, false, t.rank, dims, &g);
    KILN_TRY(some_indices(s, &g, dims, &x[1]));
    kn_param fill = kn_sample_below(s, 2) ? KN_NONE : KN_INT(1);
    kn_param params[] = {g.dims, fill, KN_BOOL(false), KN_TEXT(modes[kn_sample_below(s, 3)]), KN_INTS(t.rank, g.sizes), KN_BOOL(false)};
    return kn_sample_emit(s, params, x, 2, 1);
}

kiln_status kn_sample_scatter(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[8];
    indexing g;
    const kn_jaxpr *body = NULL;
    bool any = is(s, "scatter-apply");
    uint32_t n = any ? (uint32_t)kn_sample_between(s, 1, 2) : 1, consts = any ? (uint32_t)kn_sample_below(s, 2) : 0, k = 0;
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 4), .dims = dims};
    KILN_TRY(kn_sample_dtype(s, is(s, "scatter") ? "biufc" : "iufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    some_indexing(s, true, t.rank, dims, &g);
    for (uint32_t i = 0; i < consts; i++) KILN_TRY(kn_sample_input(s, KILN_SCALAR(t.dtype), &x[k++]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, t, &x[k++]));
    KILN_TRY(some_indices(s, &g, dims, &x[k++]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, (kiln_type){t.dtype, g.outer_rank, g.outer}, &x[k++]));
    if (any) KILN_TRY(scalar_body(s, t.dtype, consts, 2 * n, n, false, &body));
    kn_param params[] = {g.dims, KN_BOOL(false), KN_TEXT(modes[kn_sample_below(s, 3)]), counted(consts), KN_BOOL(false), KN_TUPLE(0, NULL), body ? KN_JAXPR(body) : KN_NONE};
    return kn_sample_emit(s, params, x, k, n);
}

/* ---- sorts ---- */

kiln_status kn_sample_sort(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[6];
    const kn_jaxpr *comparator;
    bool by = is(s, "sort_by");
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 3), .dims = dims};
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 3), consts = by ? (uint32_t)kn_sample_below(s, 2) : 0, k = 0;
    kn_sample_shape(s, t.rank, dims);
    KILN_TRY(kn_sample_dtype(s, "iufc", &t.dtype));
    for (uint32_t i = 0; i < consts; i++) KILN_TRY(kn_sample_input(s, KILN_SCALAR(t.dtype), &x[k++]));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, t, &x[k++]));
    int64_t axis = kn_sample_below(s, t.rank);
    if (!by) return kn_sample_emit(s, (kn_param[]){KN_INT(axis), KN_BOOL(true), KN_INT(kn_sample_between(s, 1, n))}, x, k, n);
    KILN_TRY(scalar_body(s, t.dtype, consts, 2 * n, 1, true, &comparator));
    return kn_sample_emit(s, (kn_param[]){KN_JAXPR(comparator), KN_INT(axis), KN_BOOL(true), counted(consts)}, x, k, n);
}

kiln_status kn_sample_top_k(kn_sample *s)
{
    int64_t dims[4];
    kiln_type t;
    kn_atom x;
    KILN_TRY(some_array(s, "biuf", 1, 3, dims, &t, &x));
    int64_t axis = kn_sample_below(s, t.rank);
    return kn_sample_emit(s, (kn_param[]){KN_INT(axis), KN_NONE, KN_INT(kn_sample_between(s, 0, dims[axis] < 5 ? dims[axis] : 5))}, &x, 1, 2);
}

/* ---- bits ---- */

kiln_status kn_sample_bitcast(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x;
    kiln_dtype from, to;
    bool complex = s->dtypes >> KILN_C64 & 1 && kn_sample_below(s, 8) == 0; /* both: rare by chance */
    const char *kinds = complex ? "c" : "iufc";
    KILN_TRY(kn_sample_dtype(s, kinds, &from));
    KILN_TRY(kn_sample_dtype(s, kinds, &to));
    uint32_t rank = (uint32_t)kn_sample_between(s, 1, 3);
    kn_sample_shape(s, rank, dims);
    unsigned a = kn_dtype_width(from), b = kn_dtype_width(to);
    if (a < b) dims[rank - 1] = b / a;
    KILN_TRY(kn_sample_input(s, (kiln_type){from, rank, dims}, &x));
    return kn_sample_emit(s, &KN_DTYPE(to), &x, 1, 1);
}

kiln_status kn_sample_reduce_precision(kn_sample *s)
{
    int64_t dims[4];
    kiln_type t;
    kn_atom x;
    KILN_TRY(some_array(s, "f", 0, 2, dims, &t, &x));
    return kn_sample_emit(s, (kn_param[]){KN_INT(kn_sample_between(s, 2, 11)), KN_INT(kn_sample_between(s, 0, 52))}, &x, 1, 1);
}

kiln_status kn_sample_integers(kn_sample *s)
{
    int64_t dims[4];
    kiln_type t;
    kn_atom x[2];
    KILN_TRY(some_array(s, "iu", 0, 2, dims, &t, &x[0]));
    KILN_TRY(kn_sample_input(s, kn_sample_below(s, 3) ? t : KILN_SCALAR(t.dtype), &x[1]));
    return kn_sample_emit(s, NULL, x, 2, 1);
}

kiln_status kn_sample_threefry(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[4];
    kiln_type t = {.dtype = KILN_U32, .rank = (uint32_t)kn_sample_below(s, 3), .dims = dims};
    kn_sample_shape(s, t.rank, dims);
    for (uint32_t i = 0; i < 4; i++) KILN_TRY(kn_sample_input(s, i < 2 && kn_sample_below(s, 2) ? KILN_SCALAR(KILN_U32) : t, &x[i]));
    return kn_sample_emit(s, NULL, x, 4, 2);
}

kiln_status kn_sample_rng(kn_sample *s)
{
    static const char *const names[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
    static const kiln_dtype of[] = {KILN_U8, KILN_U16, KILN_U32, KILN_U64, KILN_I32};
    int64_t dims[4];
    kn_atom x;
    uint32_t rank = (uint32_t)kn_sample_below(s, 3), a = (uint32_t)kn_sample_below(s, 3);
    kn_sample_shape(s, rank, dims);
    KILN_TRY(kn_sample_input(s, KILN_VECTOR(KILN_U64, a == 2 && kn_sample_below(s, 2) ? 3 : 2), &x));
    return kn_sample_emit(s, (kn_param[]){KN_TEXT(names[a]), KN_DTYPE(of[kn_sample_below(s, 5)]), KN_INTS(rank, dims)}, &x, 1, 2);
}

/* ---- complex numbers: of floats where none are drawn, by `complex` ---- */

static kiln_status complex_input(kn_sample *s, uint32_t rank, const int64_t *dims, kn_atom *x)
{
    kn_atom parts[2];
    kiln_type t = {drawn(s, KILN_F64) ? KILN_F64 : KILN_F32, rank, dims};
    for (int i = 0; i < 2; i++) KILN_TRY(kn_sample_input(s, t, &parts[i]));
    return kn_build_eqn(&s->b, &kn_prim_complex, NULL, parts, 2, x, 1);
}

kiln_status kn_sample_complex(kn_sample *s)
{
    int64_t dims[4];
    kn_atom x[2];
    uint32_t rank = (uint32_t)kn_sample_below(s, 3);
    bool real = drawn(s, KILN_F32) || drawn(s, KILN_F64), whole = drawn(s, KILN_C64) || drawn(s, KILN_C128);
    if (!real && (!whole || is(s, "complex"))) return kn_fail(s->ctx, KILN_DTYPE, "%s takes none of the element types to draw from", s->prim->name);
    kn_sample_shape(s, rank, dims);
    kiln_dtype d = drawn(s, KILN_F64) ? KILN_F64 : KILN_F32;
    if (is(s, "complex")) {
        for (int i = 0; i < 2; i++) KILN_TRY(kn_sample_input(s, (kiln_type){d, rank, dims}, &x[i]));
        return kn_sample_emit(s, NULL, x, 2, 1);
    }
    if (whole) {
        d = drawn(s, KILN_C128) ? KILN_C128 : KILN_C64;
        KILN_TRY(kn_sample_input(s, (kiln_type){d, rank, dims}, &x[0]));
        return kn_sample_emit(s, &KN_DTYPE(d), x, 1, 1);
    }
    KILN_TRY(complex_input(s, rank, dims, &x[0]));
    return kn_sample_emit(s, &KN_DTYPE(d == KILN_F64 ? KILN_C128 : KILN_C64), x, 1, 1);
}

kiln_status kn_sample_fft(kn_sample *s)
{
    int64_t dims[4], lengths[4];
    kn_atom x;
    uint32_t rank = (uint32_t)kn_sample_between(s, 1, 3), n = (uint32_t)kn_sample_between(s, 1, rank);
    int64_t type = kn_sample_below(s, 4);
    if (!drawn(s, KILN_F32) && !drawn(s, KILN_F64)) return kn_fail(s->ctx, KILN_DTYPE, "fft takes none of the element types to draw from");
    kn_sample_shape(s, rank, dims);
    for (uint32_t i = 0; i < n; i++) lengths[i] = dims[rank - n + i];
    if (type == 3) {
        if (lengths[n - 1] == 1) lengths[n - 1] = dims[rank - 1] = 2;
        dims[rank - 1] = lengths[n - 1] > 0 ? lengths[n - 1] / 2 + 1 : 0;
    }
    if (type == 2) KILN_TRY(kn_sample_input(s, (kiln_type){drawn(s, KILN_F64) ? KILN_F64 : KILN_F32, rank, dims}, &x));
    else KILN_TRY(complex_input(s, rank, dims, &x));
    return kn_sample_emit(s, (kn_param[]){KN_INTS(n, lengths), KN_INT(type)}, &x, 1, 1);
}

/* ---- matrices ---- */

kiln_status kn_sample_cholesky(kn_sample *s)
{
    kiln_dtype d;
    kn_atom x;
    int64_t n = s->length < 8 ? s->length : 8, dims[] = {kn_sample_between(s, 0, 2), n, n};
    KILN_TRY(kn_sample_dtype(s, "f", &d));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, dims}, &x));
    return kn_sample_emit(s, NULL, &x, 1, 1);
}

kiln_status kn_sample_triangular_solve(kn_sample *s)
{
    kiln_dtype d;
    kn_atom x[2];
    bool left = kn_sample_below(s, 2);
    int64_t n = s->length < 8 ? s->length : 8, m = kn_sample_between(s, 0, 3), batch = kn_sample_between(s, 1, 2);
    KILN_TRY(kn_sample_dtype(s, "f", &d));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, (int64_t[]){batch, n, n}}, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, (int64_t[]){batch, left ? n : m, left ? m : n}}, &x[1]));
    kn_param params[] = {KN_BOOL(kn_sample_below(s, 2) != 0), KN_BOOL(left), KN_BOOL(kn_sample_below(s, 2) != 0), KN_BOOL(kn_sample_below(s, 2) != 0), KN_BOOL(kn_sample_below(s, 2) != 0)};
    return kn_sample_emit(s, params, x, 2, 1);
}

kiln_status kn_sample_lapack(kn_sample *s)
{
    kiln_dtype d = drawn(s, KILN_F64) ? KILN_F64 : KILN_F32;
    kn_atom x;
    int64_t n = s->length < 6 ? s->length : 6;
    if (!drawn(s, d)) return kn_fail(s->ctx, KILN_DTYPE, "lapack takes none of the element types to draw from");
    KILN_TRY(kn_sample_input(s, (kiln_type){d, 3, (int64_t[]){2, n, n}}, &x));
    if (kn_sample_below(s, 2)) return kn_sample_emit(s, (kn_param[]){KN_TEXT("L"), KN_TEXT("potrf")}, &x, 1, 2);
    return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_TEXT("getrf")}, &x, 1, 3);
}

/* Dimensions in the order (batch or output feature, feature, spatial..) and where each stands in the array. */
static void place_dims(kn_sample *s, uint32_t n, const int64_t *dims, int64_t *spec, int64_t *placed)
{
    for (uint32_t k = 0; k < n; k++) spec[k] = k;
    for (uint32_t k = n; kn_sample_below(s, 2) && k > 1; k--) {
        uint32_t other = (uint32_t)kn_sample_below(s, k);
        int64_t t = spec[k - 1];
        spec[k - 1] = spec[other], spec[other] = t;
    }
    for (uint32_t k = 0; k < n; k++) placed[spec[k]] = dims[k];
}

kiln_status kn_sample_conv(kn_sample *s)
{
    static const char *const keys[] = {"lhs_spec", "rhs_spec", "out_spec"};
    kiln_dtype d;
    kn_atom x[2];
    window w;
    uint32_t n = (uint32_t)kn_sample_below(s, 3);
    int64_t features = kn_sample_below(s, 3) ? 1 : 2, batches = features == 1 && kn_sample_below(s, 3) == 0 ? 2 : 1, dims[4], kernel[4], spec[3][4], placed[3][4];
    bool many = s->length < 20 && kn_sample_below(s, 4) == 0; /* more products than a block has */
    KILN_TRY(kn_sample_dtype(s, "biufc", &d));
    s->tame = kn_sample_below(s, 4) != 0;
    dims[0] = batches * kn_sample_between(s, 1, 2), dims[1] = features * (many ? kn_sample_between(s, 60, 270) : kn_sample_between(s, 1, 3));
    kernel[0] = features * batches * kn_sample_between(s, 1, 2), kernel[1] = dims[1] / features;
    for (uint32_t i = 0; i < n; i++) dims[2 + i] = i == 0 ? s->length : kn_sample_between(s, 1, 4), kernel[2 + i] = kn_sample_between(s, 1, 3);
    some_window(s, n, dims + 2, true, &w);
    kn_param lists[3];
    for (int i = 0; i < 3; i++) {
        place_dims(s, n + 2, i == 1 ? kernel : dims, spec[i], placed[i]);
        lists[i] = KN_INTS(n + 2, spec[i]);
    }
    KILN_TRY(kn_sample_input(s, (kiln_type){d, n + 2, placed[0]}, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, n + 2, placed[1]}, &x[1]));
    kn_param record = {.kind = KN_P_RECORD, .n = 3, .items = lists, .name = "ConvDimensionNumbers", .keys = keys};
    kn_param params[] = {KN_INT(batches), record,  KN_INT(features), KN_INTS(n, w.base),     KN_NONE,
                         KN_TUPLE(n, w.pairs), KN_NONE, KN_NONE,  KN_INTS(n, w.dilation), KN_INTS(n, w.stride)};
    if (strchr("biu", kiln_dtype_kind(d)) && kn_sample_below(s, 3) == 0) params[7] = KN_DTYPE(KILN_F32);
    return kn_sample_emit(s, params, x, 2, 1);
}
