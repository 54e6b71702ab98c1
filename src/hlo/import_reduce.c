/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, windows, sort: operations with a body over scalars. Bodies that apply one known operation become the primitives that
 * are named after it. */
#include "hlo/import.h"

#include "prim/body.h"
#include "prim/common.h"
#include "prim/control.h"
#include "rt/reduce.h"

#include <math.h>

/* The regions of an operation as bodies, and what they capture as leading operands. */
static kiln_status body_with_captures(kn_himport *h, const kn_mop *o, uint32_t region, const kn_jaxpr **body, kn_hatoms *in)
{
    const uint32_t *ids;
    uint32_t n;
    if (region >= o->nregions) return kn_hbad(h, o, "%u regions are needed, found %u", region + 1, o->nregions);
    KILN_TRY(kn_hcaptures(h, &o->regions[region], 1, &ids, &n));
    KILN_TRY(kn_hregion(h, &o->regions[region], ids, n, body));
    return kn_hcapture_atoms(h, ids, n, in);
}

static kiln_status operands_after(kn_himport *h, const kn_mop *o, kn_hatoms *in)
{
    for (uint32_t i = 0; i < o->nin; i++) {
        kn_atom a;
        KILN_TRY(kn_hin(h, o, i, &a));
        KILN_TRY_MEM(h->ctx, kn_push(h->arena, in, a));
    }
    return KILN_OK;
}

static kiln_status set_all(kn_himport *h, const kn_mop *o, const kn_atom *out, uint32_t n)
{
    if (o->nout != n) return kn_hbad(h, o, "there are %u results, but %u are named", n, o->nout);
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_hset(h, o, i, out[i]));
    return KILN_OK;
}

static kn_param count_param(uint32_t n) { return n ? KN_INT(n) : KN_NONE; }

/* Is the first value what the reduction of that name starts from? */
static bool starts_as(kn_himport *h, kn_atom init, kn_sop op)
{
    kiln_dtype d;
    kn_scalar v;
    return kn_hknown(h, init, &d, &v) && strchr("biufc", kiln_dtype_kind(d)) && kn_scalar_same(d, v, kn_reduce_init(op, d));
}

/* ---- reduce ---- */

static const struct {
    kn_sop op;
    const kn_prim *prim;
} reductions[] = {
    {KN_S_add, &kn_prim_reduce_sum}, {KN_S_mul, &kn_prim_reduce_prod}, {KN_S_max, &kn_prim_reduce_max}, {KN_S_min, &kn_prim_reduce_min},
    {KN_S_and, &kn_prim_reduce_and}, {KN_S_or, &kn_prim_reduce_or},    {KN_S_xor, &kn_prim_reduce_xor},
};

/* Or is it no first value at all: -0 of a sum? */
static bool starts_bare(kn_himport *h, kn_atom init, kn_sop op)
{
    kiln_dtype d;
    kn_scalar v;
    return op == KN_S_add && kn_hknown(h, init, &d, &v) && strchr("fc", kiln_dtype_kind(d)) && kn_scalar_same(d, v, kn_reduce_identity(op, d));
}

static kiln_status simple_reduce(kn_himport *h, const kn_mop *o, kn_sop op, bool bare, kn_atom x, const int64_t *dims, uint32_t n, kn_atom *y)
{
    if (bare) return kn_heqn1(h, o, &kn_prim_reduce_add, &KN_INTS(n, dims), &x, 1, y);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (reductions[i].op == op) return kn_heqn1(h, o, reductions[i].prim, (kn_param[]){KN_INTS(n, dims), KN_NONE}, &x, 1, y);
    return kn_hbad(h, o, "no reduction of this operation");
}

static kiln_status reduce(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_jaxpr *body;
    const int64_t *dims;
    uint32_t ndims;
    kn_hatoms in = {0};
    (void)row;
    KILN_TRY(body_with_captures(h, o, 0, &body, &in));
    uint32_t consts = in.n;
    KILN_TRY(operands_after(h, o, &in));
    KILN_TRY(kn_hints(h, o, "dimensions", &dims, &ndims));
    bool swapped;
    const kn_prim *combiner = consts == 0 && o->nin == 2 ? kn_hcombiner(body, &swapped) : NULL;
    kn_sop op = combiner ? (kn_sop)combiner->scalar_op : KN_S_NONE;
    bool named = false;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) named = named || (op && reductions[i].op == op);
    bool bare = named && starts_bare(h, in.v[1], op);
    if (named && kn_htype(h, in.v[0]).dtype == kn_htype(h, in.v[1]).dtype && (bare || starts_as(h, in.v[1], op))) {
        kn_atom y;
        KILN_TRY(simple_reduce(h, o, op, bare, in.v[0], dims, ndims, &y));
        KILN_TRY(kn_hwrote_first(h, in.v[1]));
        return kn_hset(h, o, 0, y);
    }
    uint32_t n = o->nin / 2;
    kn_atom *out = KN_NEWN(h->arena, kn_atom, n);
    KILN_TRY_MEM(h->ctx, out);
    kn_param params[] = {KN_NONE, KN_INTS(ndims, dims), KN_JAXPR(body), count_param(consts)};
    KILN_TRY(kn_heqn(h, o, &kn_prim_reduce, params, in.v, in.n, out, n));
    return set_all(h, o, out, n);
}

/* ---- reduce_window ---- */

typedef struct window {
    const int64_t *base, *dilation, *size, *stride, *padding; /* padding: low, high by dimension */
    uint32_t rank;
    kn_param *pairs;
} window;

static kiln_status read_window(kn_himport *h, const kn_mop *o, uint32_t rank, window *w)
{
    uint32_t n;
    w->rank = rank;
    KILN_TRY(kn_hints(h, o, "window_dimensions", &w->size, &n));
    if (n == 0 && rank > 0) KILN_TRY(kn_hints_of(h, o, "window_dimensions", rank, 1, &w->size));
    else if (n != rank) return kn_hbad(h, o, "window_dimensions holds %u numbers, %u are needed", n, rank);
    KILN_TRY(kn_hints_of(h, o, "window_strides", rank, 1, &w->stride));
    KILN_TRY(kn_hints_of(h, o, "base_dilations", rank, 1, &w->base));
    KILN_TRY(kn_hints_of(h, o, "window_dilations", rank, 1, &w->dilation));
    KILN_TRY(kn_hints_of(h, o, "padding", 2 * rank, 0, &w->padding));
    KILN_TRY_MEM(h->ctx, w->pairs = KN_NEWN(h->arena, kn_param, rank));
    for (uint32_t d = 0; d < rank; d++) w->pairs[d] = KN_INTS(2, w->padding + 2 * d);
    return KILN_OK;
}

/* A window as long as its dimension, padded by one less on one side, is a running reduction along it. */
static bool cumulative(const window *w, kiln_type x, int64_t *axis, bool *reverse)
{
    bool found = false;
    for (uint32_t d = 0; d < w->rank; d++) {
        int64_t lo = w->padding[2 * d], hi = w->padding[2 * d + 1], n = w->size[d];
        if (w->stride[d] != 1 || w->base[d] != 1 || w->dilation[d] != 1) return false;
        if (n == 1 && lo == 0 && hi == 0) continue;
        if (found || n != x.dims[d] || !((lo == n - 1 && hi == 0) || (lo == 0 && hi == n - 1))) return false;
        found = true;
        *axis = d;
        *reverse = lo == 0;
    }
    return found;
}

static kiln_status simple_window(kn_himport *h, const kn_mop *o, kn_sop op, const window *w, kn_atom x, const kn_prim **out, kn_atom *y)
{
    static const struct {
        kn_sop op;
        const kn_prim *running, *window;
    } rows[] = {
        {KN_S_add, &kn_prim_cumsum, &kn_prim_reduce_window_sum},
        {KN_S_mul, &kn_prim_cumprod, NULL},
        {KN_S_max, &kn_prim_cummax, &kn_prim_reduce_window_max},
        {KN_S_min, &kn_prim_cummin, &kn_prim_reduce_window_min},
    };
    int64_t axis = 0;
    bool reverse = false;
    kiln_type t = kn_htype(h, x);
    char kind = kiln_dtype_kind(t.dtype);
    *out = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != op || kind == 'b' || (kind == 'c' && op != KN_S_add && op != KN_S_mul)) continue;
        if (cumulative(w, t, &axis, &reverse)) {
            *out = rows[i].running;
            return kn_heqn1(h, o, *out, (kn_param[]){KN_INT(axis), KN_BOOL(reverse)}, &x, 1, y);
        }
        if (!(*out = rows[i].window)) continue;
        uint32_t n = w->rank;
        kn_param params[] = {KN_INTS(n, w->base), KN_TUPLE(n, w->pairs), KN_INTS(n, w->dilation), KN_INTS(n, w->size), KN_INTS(n, w->stride)};
        return kn_heqn1(h, o, *out, params, &x, 1, y);
    }
    return KILN_OK;
}

/* A running log of the sum of exponentials of complex numbers, which starts from the log of zero: padding, which takes part, would be NaN. */
static kiln_status log_sum_window(kn_himport *h, const kn_mop *o, const kn_jaxpr *body, const window *w, const kn_atom *in, const kn_prim **made, kn_atom *y)
{
    int64_t axis;
    bool reverse, known;
    kiln_dtype d;
    kn_scalar v;
    kiln_type t = kn_htype(h, in[0]);
    if (!cumulative(w, t, &axis, &reverse) || !kn_hknown(h, in[1], &d, &v) || d != t.dtype) return KILN_OK;
    KILN_TRY(kn_hlog_sum(h, body, &known));
    kn_scalar zero = {.c = {-(double)INFINITY, 0}};
    if (!known || !kn_scalar_same(d, v, zero)) return KILN_OK;
    *made = &kn_prim_cumlogsumexp;
    return kn_heqn1(h, o, *made, (kn_param[]){KN_INT(axis), KN_BOOL(reverse)}, in, 1, y);
}

/* in: what the body captures, n arrays, as many first values. */
static kiln_status windows(kn_himport *h, const kn_mop *o, const kn_jaxpr *body, kn_hatoms in, uint32_t n, window w)
{
    uint32_t consts = in.n - 2 * n;
    bool swapped;
    const kn_prim *combiner = consts == 0 && n == 1 ? kn_hcombiner(body, &swapped) : NULL, *made = NULL;
    kn_atom *out = KN_NEWN(h->arena, kn_atom, n);
    KILN_TRY_MEM(h->ctx, out);
    if (combiner && combiner->scalar_op && starts_as(h, in.v[1], (kn_sop)combiner->scalar_op))
        KILN_TRY(simple_window(h, o, (kn_sop)combiner->scalar_op, &w, in.v[0], &made, out));
    if (!made && consts == 0 && n == 1) KILN_TRY(log_sum_window(h, o, body, &w, in.v, &made, out));
    if (made) KILN_TRY(kn_hwrote_first(h, in.v[1]));
    if (!made) {
        kn_param params[] = {KN_INTS(w.rank, w.base), KN_NONE, KN_JAXPR(body), count_param(consts), KN_TUPLE(w.rank, w.pairs),
                             KN_INTS(w.rank, w.dilation), KN_INTS(w.rank, w.size), KN_INTS(w.rank, w.stride)};
        KILN_TRY(kn_heqn(h, o, &kn_prim_reduce_window, params, in.v, in.n, out, n));
    }
    return set_all(h, o, out, n);
}

static kiln_status reduce_window(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_jaxpr *body;
    window w;
    kn_hatoms in = {0};
    (void)row;
    KILN_TRY(body_with_captures(h, o, 0, &body, &in));
    uint32_t consts = in.n, n = o->nin / 2;
    KILN_TRY(operands_after(h, o, &in));
    if (n == 0 || o->nin % 2) return kn_hbad(h, o, "arrays and as many first values are needed, found %u operands", o->nin);
    KILN_TRY(read_window(h, o, kn_htype(h, in.v[consts]).rank, &w));
    return windows(h, o, body, in, n, w);
}

kiln_status kn_hdynamic_window(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    const kn_mattr *bodies = kn_mop_attr(o, "called_computations");
    const kn_jaxpr *body;
    window w;
    kn_hatoms in = {0};
    (void)row;
    KILN_TRY(kn_hcount(h, o, 7, 1));
    if (!bodies || bodies->kind != KN_MA_LIST || bodies->n != 1) return kn_hbad(h, o, "called_computations must name one function");
    KILN_TRY(kn_hbody_named(h, o, bodies->items[0].text, &body));
    for (uint32_t k = 0; k < 2; k++) KILN_TRY(kn_hin_flat(h, o, k, &in));
    w.rank = kn_htype(h, in.v[0]).rank;
    const int64_t **const to[] = {&w.size, &w.stride, &w.base, &w.dilation, &w.padding};
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t n, need = k < 4 ? w.rank : 2 * w.rank;
        KILN_TRY(kn_hoperand_ints(h, o, 2 + k, to[k], &n));
        if (n != need) return kn_hbad(h, o, "operand %u holds %u numbers, %u are needed", 2 + k, n, need);
    }
    KILN_TRY_MEM(h->ctx, w.pairs = KN_NEWN(h->arena, kn_param, w.rank));
    for (uint32_t d = 0; d < w.rank; d++) w.pairs[d] = KN_INTS(2, w.padding + 2 * d);
    return windows(h, o, body, in, 1, w);
}

/* ---- select_and_scatter ---- */

static kiln_status select_and_scatter(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_jaxpr *select, *scatter;
    window w;
    kn_hatoms in = {0};
    kn_atom y;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 3, 1));
    KILN_TRY(body_with_captures(h, o, 0, &select, &in));
    uint32_t nselect = in.n;
    KILN_TRY(body_with_captures(h, o, 1, &scatter, &in));
    uint32_t consts = in.n;
    int64_t counts[] = {nselect, consts - nselect};
    KILN_TRY(operands_after(h, o, &in));
    KILN_TRY(read_window(h, o, kn_htype(h, in.v[consts]).rank, &w));
    bool swapped, crossed;
    const kn_prim *choice = consts == 0 ? kn_hcombiner(select, &swapped) : NULL, *sum = consts == 0 ? kn_hcombiner(scatter, &crossed) : NULL;
    bool known = (choice == &kn_prim_ge || choice == &kn_prim_le) && !swapped && sum == &kn_prim_add && starts_as(h, in.v[2], KN_S_add);
    if (known && strchr("iuf", kiln_dtype_kind(kn_htype(h, in.v[0]).dtype))) {
        kn_param params[] = {KN_TUPLE(w.rank, w.pairs), KN_TEXT(choice->name), KN_INTS(w.rank, w.size), KN_INTS(w.rank, w.stride)};
        KILN_TRY(kn_heqn1(h, o, &kn_prim_select_and_scatter_add, params, (kn_atom[]){in.v[1], in.v[0]}, 2, &y));
        KILN_TRY(kn_hwrote_first(h, in.v[2]));
        return kn_hset(h, o, 0, y);
    }
    kn_param params[] = {consts ? KN_INTS(2, counts) : KN_NONE, KN_TUPLE(w.rank, w.pairs), KN_NONE, KN_JAXPR(scatter), KN_NONE,
                         KN_JAXPR(select), KN_INTS(w.rank, w.size), KN_INTS(w.rank, w.stride)};
    KILN_TRY(kn_heqn1(h, o, &kn_prim_select_and_scatter, params, in.v, in.n, &y));
    return kn_hset(h, o, 0, y);
}

/* ---- sort ---- */

static kiln_status sort(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_jaxpr *comparator;
    kn_hatoms in = {0};
    int64_t dim;
    bool stable;
    (void)row;
    KILN_TRY(body_with_captures(h, o, 0, &comparator, &in));
    uint32_t consts = in.n;
    KILN_TRY(operands_after(h, o, &in));
    if (o->nin == 0) return kn_hbad(h, o, "at least one array is needed");
    kiln_type t = kn_htype(h, in.v[consts]);
    KILN_TRY(kn_hint(h, o, "dimension", -1, &dim));
    KILN_TRY(kn_hflag(h, o, "is_stable", false, &stable));
    if (dim < 0) dim += t.rank;
    kn_atom *out = KN_NEWN(h->arena, kn_atom, o->nin);
    KILN_TRY_MEM(h->ctx, out);
    uint32_t keys = consts ? 0 : kn_body_sort_keys(comparator);
    kn_param params[] = {KN_JAXPR(comparator), KN_INT(dim), KN_BOOL(stable), count_param(consts)};
    kn_param known[] = {KN_INT(dim), KN_BOOL(stable), KN_INT(keys)};
    KILN_TRY(kn_heqn(h, o, keys ? &kn_prim_sort : &kn_prim_sort_by, keys ? known : params, in.v, in.n, out, o->nin));
    return set_all(h, o, out, o->nin);
}

/* ---- map ---- */

/* A body over scalars with loops, branches and the like: element after element. */
static kiln_status map_in_turn(kn_himport *h, const kn_mop *o)
{
    const kn_jaxpr *body;
    kn_hatoms in = {0};
    kiln_type t, r;
    kn_atom y;
    KILN_TRY(body_with_captures(h, o, 0, &body, &in));
    uint32_t n[3] = {in.n, 0, o->nin};
    KILN_TRY(operands_after(h, o, &in));
    KILN_TRY(kn_hresult(h, o, 0, &r));
    if (o->nin == 0) return kn_hbad(h, o, "at least one array is needed");
    if (body->nout != 1) return kn_hbad(h, o, "the region gives %u results, 1 is needed", body->nout);
    t = kn_htype(h, in.v[n[0]]);
    int64_t size = kiln_type_size(t);
    for (uint32_t i = n[0]; i < in.n; i++) {
        kiln_type x = kn_htype(h, in.v[i]);
        x.dtype = t.dtype;
        if (!kiln_type_equal(x, t)) return kn_hbad(h, o, "arrays must have one shape, %s and %s given", kn_type_show(t).s, kn_type_show(kn_htype(h, in.v[i])).s);
        KILN_TRY(kn_hreshape(h, o, in.v[i], 1, &size, &in.v[i]));
    }
    kn_param params[KN_SCAN_PARAMS];
    kn_scan_plain(size, false, params);
    KILN_TRY(kn_scan_params(h->ctx, &h->prog->arena, NULL, body, n, 1, params));
    KILN_TRY(kn_heqn1(h, o, &kn_prim_scan, params, in.v, in.n, &y));
    KILN_TRY(kn_hreshape(h, o, y, t.rank, t.dims, &y));
    return kn_hset(h, o, 0, y);
}

/* A body over scalars on all elements at once: its operations are made on the arrays. */
static kiln_status map(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    (void)row;
    if (o->nregions != 1 || o->regions[0].nargs != o->nin || o->nout != 1) return kn_hbad(h, o, "a region with one argument an operand is needed");
    const kn_mregion *region = &o->regions[0];
    for (const kn_mop *p = region->ops; p && p->next; p = p->next) {
        const kn_himporter *inner = kn_himporter_find(p->name);
        bool constant = kn_span_is(p->name, "stablehlo.constant");
        bool element = false;
        for (uint32_t i = 0; i < kn_himport_n_element; i++) element = element || &kn_himport_element[i] == inner;
        if (!constant && !element) return map_in_turn(h, o);
    }
    kn_hatoms results = {0};
    bool outer = h->elementwise;
    for (uint32_t i = 0; i < o->nin; i++) h->vals[region->args + i] = h->vals[o->in[i]];
    h->elementwise = true;
    KILN_TRY(kn_hinline(h, region, &results));
    h->elementwise = outer;
    if (results.n != 1) return kn_hbad(h, o, "the region gives %u results, 1 is needed", results.n);
    kiln_type t;
    KILN_TRY(kn_hresult(h, o, 0, &t));
    kn_atom y = results.v[0];
    if (kn_htype(h, y).rank == 0 && t.rank) KILN_TRY(kn_heqn1(h, o, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(0, NULL), KN_INTS(t.rank, t.dims), KN_NONE}, &y, 1, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status top_k(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    int64_t k;
    kn_atom x, y[2];
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 2));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hint(h, o, "k", -1, &k));
    kiln_type t = kn_htype(h, x);
    kn_param params[] = {KN_INT((int64_t)t.rank - 1), KN_BOOL(true), KN_INT(k)};
    KILN_TRY(kn_heqn(h, o, &kn_prim_top_k, params, &x, 1, y, 2));
    return set_all(h, o, y, 2);
}

const kn_himporter kn_himport_reduce[] = {
    {"chlo.top_k", top_k, NULL, 0},
    {"stablehlo.map", map, NULL, 0},
    {"stablehlo.reduce", reduce, NULL, 0},
    {"stablehlo.reduce_window", reduce_window, NULL, 0},
    {"stablehlo.select_and_scatter", select_and_scatter, NULL, 0},
    {"stablehlo.sort", sort, NULL, 0},
};
const uint32_t kn_himport_n_reduce = sizeof kn_himport_reduce / sizeof *kn_himport_reduce;
