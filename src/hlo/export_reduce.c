/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, windows, sorts: operations with a region over scalars. */
#include "hlo/export.h"

#include <math.h>

#include "prim/body.h"
#include "prim/common.h"
#include "prim/window.h"
#include "rt/reduce.h"

static kn_scalar first_of(const kn_eqn *e, kiln_dtype d) { return kn_reduction_first(e->prim, d); }

/* A reduction that a primitive is named after: its first value is what the name says. */
static void named(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    const kn_param *axes = &e->params[0];
    uint32_t in[2] = {kn_xatom(x, e->in[0]), 0};
    in[1] = kn_xfirst(x, e, t.dtype, first_of(e, t.dtype));
    kn_mop *op = kn_xop(x, "stablehlo.reduce", in, 2, &t, 1);
    kn_xattr_list(x, op, "dimensions", kn_ints(axes), axes->n);
    kn_xcombine_region(x, op, row->name, t.dtype, t.dtype);
    kn_xset(x, e, op);
}

static uint32_t count(const kn_param *p) { return p && p->kind == KN_P_INT ? (uint32_t)p->i : 0; }

static void reduce(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t consts = count(kn_param_of(e, "num_consts"));
    const kn_param *axes = kn_param_of(e, "dimensions");
    kn_xends n;
    if (!kn_xends_of(x, j, e, consts, &n)) return;
    kn_mop *op = kn_xop(x, row->name, n.in, n.nin, n.out, e->nout);
    kn_xattr_list(x, op, "dimensions", kn_ints(axes), axes->n);
    kn_xregion(x, op, 0, 1, kn_param_of(e, "jaxpr")->jaxpr, e->in, consts);
    kn_xset(x, e, op);
}

/* ---- windows ---- */

static void padding(kn_export *x, kn_mop *op, uint32_t rank, const int64_t *v)
{
    int64_t dims[2] = {rank, 2};
    kiln_type t = {KILN_I64, 2, dims};
    kn_span text = {"", 0};
    if (x->status == KILN_OK) kn_xfail(x, kn_dense_text(x->ctx, x->arena, t, v, &text));
    kn_xattr(x, op, "padding", (kn_mattr){.kind = KN_MA_DENSE, .at = "", .type = kn_xtype(x, t), .text = text});
}

static void window_attributes(kn_export *x, kn_mop *op, const kn_window *w, bool dilated)
{
    int64_t ones[KN_MAX_RANK], pads[2 * KN_MAX_RANK];
    for (uint32_t d = 0; d < w->rank; d++) ones[d] = 1, pads[2 * d] = kn_window_low(w, d), pads[2 * d + 1] = kn_window_high(w, d);
    if (dilated) kn_xattr_array(x, op, "base_dilations", w->base ? w->base : ones, w->rank);
    padding(x, op, w->rank, pads);
    if (dilated) kn_xattr_array(x, op, "window_dilations", w->dilation ? w->dilation : ones, w->rank);
    kn_xattr_array(x, op, "window_dimensions", w->size, w->rank);
    kn_xattr_array(x, op, "window_strides", w->stride, w->rank);
}

static kn_window window_of(const kn_eqn *e)
{
    const kn_param *base = kn_param_of(e, "base_dilation"), *dilation = kn_param_of(e, "window_dilation"), *size = kn_param_of(e, "window_dimensions");
    return (kn_window){.rank = size->n,
                       .size = kn_ints(size),
                       .stride = kn_ints(kn_param_of(e, "window_strides")),
                       .base = base ? kn_ints(base) : NULL,
                       .dilation = dilation ? kn_ints(dilation) : NULL,
                       .padding = kn_param_of(e, "padding")};
}

static void named_window(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    kn_window w = window_of(e);
    uint32_t in[2] = {kn_xatom(x, e->in[0]), 0};
    in[1] = kn_xfirst(x, e, t.dtype, first_of(e, t.dtype));
    kn_mop *op = kn_xop(x, "stablehlo.reduce_window", in, 2, &t, 1);
    window_attributes(x, op, &w, true);
    kn_xcombine_region(x, op, row->name, t.dtype, t.dtype);
    kn_xset(x, e, op);
}

static void window(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t consts = count(kn_param_of(e, "num_consts"));
    kn_window w = window_of(e);
    kn_xends n;
    if (!kn_xends_of(x, j, e, consts, &n)) return;
    kn_mop *op = kn_xop(x, row->name, n.in, n.nin, n.out, e->nout);
    window_attributes(x, op, &w, true);
    kn_xregion(x, op, 0, 1, kn_param_of(e, "jaxpr")->jaxpr, e->in, consts);
    kn_xset(x, e, op);
}

/* Running reductions: windows as long as the dimension, padded on one side. Along an axis of one element or none there is nothing to do. */
static void running(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    int64_t axis = kn_param_of(e, "axis")->i, ones[KN_MAX_RANK], size[KN_MAX_RANK], pads[2 * KN_MAX_RANK] = {0};
    bool backwards = kn_param_of(e, "reverse")->b;
    if (kiln_type_size(t) == 0 || t.dims[axis] == 1) {
        kn_xset1(x, e, 0, kn_xatom(x, e->in[0]));
        return;
    }
    for (uint32_t d = 0; d < t.rank; d++) ones[d] = size[d] = 1;
    size[axis] = t.dims[axis];
    pads[2 * axis + backwards] = t.dims[axis] - 1;
    uint32_t in[2] = {kn_xatom(x, e->in[0]), 0};
    in[1] = kn_xfirst(x, e, t.dtype, first_of(e, t.dtype));
    kn_mop *op = kn_xop(x, "stablehlo.reduce_window", in, 2, &t, 1);
    kn_xattr_array(x, op, "base_dilations", ones, t.rank);
    padding(x, op, t.rank, pads);
    kn_xattr_array(x, op, "window_dilations", ones, t.rank);
    kn_xattr_array(x, op, "window_dimensions", size, t.rank);
    kn_xattr_array(x, op, "window_strides", ones, t.rank);
    kn_xcombine_region(x, op, row->name, t.dtype, t.dtype);
    kn_xset(x, e, op);
}

static void select_and_scatter(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_param *counts = kn_param_of(e, "num_consts");
    uint32_t nselect = counts->kind == KN_P_INTS ? (uint32_t)counts->ints[0] : 0, nscatter = counts->kind == KN_P_INTS ? (uint32_t)counts->ints[1] : 0;
    kn_window w = window_of(e);
    kn_xends n;
    if (!kn_xends_of(x, j, e, nselect + nscatter, &n)) return;
    kn_mop *op = kn_xop(x, row->name, n.in, n.nin, n.out, 1);
    window_attributes(x, op, &w, false);
    kn_xregion(x, op, 0, 2, kn_param_of(e, "select_jaxpr")->jaxpr, e->in, nselect);
    kn_xregion(x, op, 1, 2, kn_param_of(e, "scatter_jaxpr")->jaxpr, e->in + nselect, nscatter);
    kn_xset(x, e, op);
}

static void select_and_scatter_add(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0), scalar = KILN_SCALAR(t.dtype);
    kn_window w = window_of(e);
    uint32_t source = kn_xatom(x, e->in[0]), operand = kn_xatom(x, e->in[1]);
    uint32_t zero = kn_xfirst(x, e, t.dtype, kn_reduce_init(KN_S_add, t.dtype));
    kn_mop *op = kn_xop(x, row->name, (uint32_t[]){operand, source, zero}, 3, &t, 1);
    window_attributes(x, op, &w, false);
    kn_xopen o = kn_xopen_region(x, op, 0, 2, (kiln_type[]){scalar, scalar}, 2);
    uint32_t y = kn_xcompare(x, strcmp(kn_param_of(e, "select_prim")->text, "ge") == 0 ? "GE" : "LE", o.arg, o.arg + 1, false);
    kn_xclose(x, o, &y, 1);
    o = kn_xopen_region(x, op, 1, 2, (kiln_type[]){scalar, scalar}, 2);
    y = kn_xop1(x, "stablehlo.add", (uint32_t[]){o.arg, o.arg + 1}, 2, scalar);
    kn_xclose(x, o, &y, 1);
    kn_xset(x, e, op);
}

/* ---- sorts ---- */

/* Zeros are one value and come between the negative and the positive ones, NaN is one value and comes last. */
static uint32_t canonical(kn_export *x, uint32_t v)
{
    kiln_type t = kn_xtype_of(x, v);
    if (!strchr("f8", kiln_dtype_kind(t.dtype))) return v;
    uint32_t zero = kn_xscalar(x, t.dtype, (kn_scalar){.f = 0});
    uint32_t is_zero = kn_xcompare(x, "EQ", v, zero, false);
    uint32_t plus = kn_xscalar(x, t.dtype, (kn_scalar){.f = 0});
    uint32_t y = kn_xop1(x, "stablehlo.select", (uint32_t[]){is_zero, plus, v}, 3, t);
    uint32_t is_nan = kn_xcompare(x, "NE", v, v, false);
    uint32_t nan = kn_xscalar(x, t.dtype, (kn_scalar){.f = (double)NAN});
    return kn_xop1(x, "stablehlo.select", (uint32_t[]){is_nan, nan, y}, 3, t);
}

/* Keys of one array: complex numbers have two. */
static uint32_t keys_of(kn_export *x, uint32_t a, uint32_t b, uint32_t (*keys)[2])
{
    kiln_type t = kn_xtype_of(x, a), part = KILN_SCALAR(t.dtype == KILN_C64 ? KILN_F32 : KILN_F64);
    if (kiln_dtype_kind(t.dtype) != 'c') {
        keys[0][0] = canonical(x, a), keys[0][1] = canonical(x, b);
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "stablehlo.imag" : "stablehlo.real";
        keys[i][0] = canonical(x, kn_xop1(x, name, &a, 1, part));
        keys[i][1] = canonical(x, kn_xop1(x, name, &b, 1, part));
    }
    return 2;
}

static void sort(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t nkeys = (uint32_t)kn_param_of(e, "num_keys")->i, n = 0, (*keys)[2] = kn_arena_newn(x->arena, 2 * nkeys, sizeof *keys);
    kiln_type *args = KN_NEWN(x->arena, kiln_type, 2 * e->nin), flag = KILN_SCALAR(KILN_BOOL);
    kn_xends s;
    KN_XCHECK(x, args && keys);
    if (!kn_xends_of(x, j, e, 0, &s)) return;
    for (uint32_t i = 0; i < e->nin; i++) args[2 * i] = args[2 * i + 1] = KILN_SCALAR(kn_in_type(j, e, i).dtype);
    kn_mop *op = kn_xop(x, row->name, s.in, s.nin, s.out, e->nout);
    kn_xattr_int(x, op, "dimension", kn_param_of(e, "dimension")->i);
    kn_xattr_bool(x, op, "is_stable", kn_param_of(e, "is_stable")->b);
    kn_xopen o = kn_xopen_region(x, op, 0, 1, args, 2 * e->nin);
    for (uint32_t i = 0; i < nkeys; i++) n += keys_of(x, o.arg + 2 * i, o.arg + 2 * i + 1, keys + n);
    uint32_t below = 0;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t less = kn_xcompare(x, "LT", keys[i][0], keys[i][1], true);
        if (i + 1 < n) {
            uint32_t same = kn_xcompare(x, "EQ", keys[i][0], keys[i][1], true);
            below = kn_xop1(x, "stablehlo.and", (uint32_t[]){same, below}, 2, flag);
            less = kn_xop1(x, "stablehlo.or", (uint32_t[]){less, below}, 2, flag);
        }
        below = less;
    }
    kn_xclose(x, o, &below, 1);
    kn_xset(x, e, op);
}

static void sort_by(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_param *comparator = &e->params[0];
    uint32_t consts = count(&e->params[3]);
    kn_xends n;
    if (!kn_xends_of(x, j, e, consts, &n)) return;
    kn_mop *op = kn_xop(x, row->name, n.in, n.nin, n.out, e->nout);
    kn_xattr_int(x, op, "dimension", e->params[1].i);
    kn_xattr_bool(x, op, "is_stable", e->params[2].b);
    kn_xregion(x, op, 0, 1, comparator->jaxpr, e->in, consts);
    kn_xset(x, e, op);
}

/* chlo.top_k works along the last dimension; another one is moved there and back. */
static void top_k(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_in_type(j, e, 0), out[2] = {kn_out_type(j, e, 0), kn_out_type(j, e, 1)};
    const kn_param *axis = kn_param_of(e, "axis");
    uint32_t in = kn_xatom(x, e->in[0]), last = t.rank - 1, at = axis->kind == KN_P_INT ? (uint32_t)axis->i : last;
    int64_t order[KN_MAX_RANK], dims[2][KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) order[d] = d;
    order[at] = last, order[last] = at;
    for (uint32_t d = 0; d < t.rank; d++) dims[0][d] = t.dims[order[d]], dims[1][d] = out[0].dims[order[d]];
    kiln_type moved[2] = {{t.dtype, t.rank, dims[1]}, {KILN_I32, t.rank, dims[1]}};
    if (at != last) {
        kn_mop *turn = kn_xop(x, "stablehlo.transpose", &in, 1, &(kiln_type){t.dtype, t.rank, dims[0]}, 1);
        kn_xattr_list(x, turn, "permutation", order, t.rank);
        in = turn->out;
    }
    kn_mop *op = kn_xop(x, row->name, &in, 1, moved, 2);
    kn_xattr_number(x, op, "k", kn_param_of(e, "k")->i);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t y = op->out + i;
        if (at != last) {
            kn_mop *back = kn_xop(x, "stablehlo.transpose", &y, 1, &out[i], 1);
            kn_xattr_list(x, back, "permutation", order, t.rank);
            y = back->out;
        }
        kn_xset1(x, e, i, y);
    }
}

const kn_xrow kn_xrows_reduce[] = {
    {&kn_prim_argmax, kn_xcomposite, NULL, 0},
    {&kn_prim_argmin, kn_xcomposite, NULL, 0},
    {&kn_prim_cumlogsumexp, kn_xcomposite, NULL, 0},
    {&kn_prim_cummax, running, "stablehlo.maximum", 0},
    {&kn_prim_cummin, running, "stablehlo.minimum", 0},
    {&kn_prim_cumprod, running, "stablehlo.multiply", 0},
    {&kn_prim_cumsum, running, "stablehlo.add", 0},
    {&kn_prim_reduce, reduce, "stablehlo.reduce", 0},
    {&kn_prim_reduce_and, named, "stablehlo.and", 0},
    {&kn_prim_reduce_max, named, "stablehlo.maximum", 0},
    {&kn_prim_reduce_min, named, "stablehlo.minimum", 0},
    {&kn_prim_reduce_or, named, "stablehlo.or", 0},
    {&kn_prim_reduce_prod, named, "stablehlo.multiply", 0},
    {&kn_prim_reduce_add, named, "stablehlo.add", 0},
    {&kn_prim_reduce_sum, named, "stablehlo.add", 0},
    {&kn_prim_reduce_window, window, "stablehlo.reduce_window", 0},
    {&kn_prim_reduce_window_max, named_window, "stablehlo.maximum", 0},
    {&kn_prim_reduce_window_min, named_window, "stablehlo.minimum", 0},
    {&kn_prim_reduce_window_sum, named_window, "stablehlo.add", 0},
    {&kn_prim_reduce_xor, named, "stablehlo.xor", 0},
    {&kn_prim_select_and_gather_add, kn_xcomposite, NULL, 0},
    {&kn_prim_select_and_scatter, select_and_scatter, "stablehlo.select_and_scatter", 0},
    {&kn_prim_select_and_scatter_add, select_and_scatter_add, "stablehlo.select_and_scatter", 0},
    {&kn_prim_sort, sort, "stablehlo.sort", 0},
    {&kn_prim_sort_by, sort_by, "stablehlo.sort", 0},
    {&kn_prim_top_k, top_k, "chlo.top_k", 0},
};
const uint32_t kn_xrows_n_reduce = sizeof kn_xrows_reduce / sizeof *kn_xrows_reduce;
