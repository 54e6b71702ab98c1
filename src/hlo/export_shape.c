/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement: shapes, slices, joins, gather and scatter. */
#include "hlo/export.h"

#include <math.h>

#include "prim/body.h"
#include "prim/index.h"
#include "rt/reduce.h"

static uint32_t unary(kn_export *x, const char *name, uint32_t in, kiln_type t, const char *attr, const int64_t *v, uint32_t n)
{
    kn_mop *op = kn_xop(x, name, &in, 1, &t, 1);
    if (attr) kn_xattr_list(x, op, attr, v, n);
    return op->out;
}

static void list_op(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row, const char *attr)
{
    const kn_param *p = &e->params[0];
    kn_xset1(x, e, 0, unary(x, row->name, kn_xatom(x, e->in[0]), kn_out_type(j, e, 0), attr, kn_ints(p), p->n));
}

static void broadcast_in_dim(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    const kn_param *p = kn_param_of(e, "broadcast_dimensions");
    (void)row;
    if (kn_xis_wide(x, e->in[0])) {
        kn_xset1(x, e, 0, kn_xsplat(x, t, j->lits[kn_literal_index(e->in[0])].value));
        return;
    }
    kn_xset1(x, e, 0, unary(x, "stablehlo.broadcast_in_dim", kn_xatom(x, e->in[0]), t, "broadcast_dimensions", kn_ints(p), p->n));
}

static void transpose(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row) { list_op(x, j, e, row, "permutation"); }
static void reverse(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row) { list_op(x, j, e, row, "dimensions"); }

/* Dimensions that are read in another order are brought into it first. */
static void reshape(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    const kn_param *order = kn_param_of(e, "dimensions");
    uint32_t in = kn_xatom(x, e->in[0]);
    if (order->kind != KN_P_NONE) {
        kiln_type t = kn_in_type(j, e, 0);
        int64_t dims[KN_MAX_RANK];
        for (uint32_t d = 0; d < t.rank; d++) dims[d] = t.dims[kn_ints(order)[d]];
        in = unary(x, "stablehlo.transpose", in, (kiln_type){t.dtype, t.rank, dims}, "permutation", kn_ints(order), t.rank);
    }
    kn_xset1(x, e, 0, unary(x, row->name, in, kn_out_type(j, e, 0), NULL, NULL, 0));
}

static void iota(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kiln_type t = kn_out_type(j, e, 0);
    kn_mop *op = kn_xop(x, row->name, NULL, 0, &t, 1);
    kn_xattr_number(x, op, "iota_dimension", kn_param_of(e, "dimension")->i);
    kn_xset(x, e, op);
}

static void dim_as_value(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    (void)row;
    kn_scalar v = {.i = kn_param_of(e, "dim")->i};
    kn_xset1(x, e, 0, kn_xscalar(x, kn_out_type(j, e, 0).dtype, kn_scalar_round(kn_out_type(j, e, 0).dtype, v)));
}

static uint32_t sliced(kn_export *x, uint32_t in, kiln_type t, const int64_t *start, const int64_t *limit, const int64_t *stride)
{
    int64_t ones[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) ones[d] = 1;
    kn_mop *op = kn_xop(x, "stablehlo.slice", &in, 1, &t, 1);
    kn_xattr_list(x, op, "start_indices", start, t.rank);
    kn_xattr_list(x, op, "limit_indices", limit, t.rank);
    kn_xattr_list(x, op, "strides", stride ? stride : ones, t.rank);
    return op->out;
}

static void slice(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    (void)row;
    kn_xset1(x, e, 0, sliced(x, kn_xatom(x, e->in[0]), kn_out_type(j, e, 0), kn_ints(kn_param_of(e, "start_indices")),
                             kn_ints(kn_param_of(e, "limit_indices")), kn_ints(kn_param_of(e, "strides"))));
}

static void split(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t in = kn_xatom(x, e->in[0]);
    int64_t axis = kn_param_of(e, "axis")->i, start[KN_MAX_RANK] = {0}, limit[KN_MAX_RANK];
    (void)row;
    for (uint32_t i = 0; i < e->nout; i++) {
        kiln_type t = kn_out_type(j, e, i);
        for (uint32_t d = 0; d < t.rank; d++) limit[d] = start[d] + t.dims[d];
        kn_xset1(x, e, i, sliced(x, in, t, start, limit, NULL));
        start[axis] = limit[axis];
    }
}

/* Start indices have one type in StableHLO. */
static void starts(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, uint32_t first, uint32_t *in)
{
    bool same = true;
    for (uint32_t i = first; i < e->nin; i++) same = same && kn_type_of(j, e->in[i]).dtype == kn_type_of(j, e->in[first]).dtype;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_xatom(x, e->in[i]);
    for (uint32_t i = first; !same && i < e->nin; i++) {
        kiln_dtype d = kn_type_of(j, e->in[i]).dtype;
        if (d == KILN_U64) { /* what is too large stays large */
            uint32_t most = kn_xscalar(x, d, (kn_scalar){.u = INT64_MAX});
            in[i] = kn_xop1(x, "stablehlo.minimum", (uint32_t[]){in[i], most}, 2, KILN_SCALAR(d));
        }
        in[i] = kn_xconvert(x, in[i], KILN_I64);
    }
}

static void dynamic(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t *in = KN_NEWN(x->arena, uint32_t, e->nin);
    kiln_type t = kn_out_type(j, e, 0);
    KN_XCHECK(x, in);
    if (x->status != KILN_OK) return;
    starts(x, j, e, row->extra ? 2 : 1, in);
    kn_mop *op = kn_xop(x, row->name, in, e->nin, &t, 1);
    if (!row->extra) kn_xattr_list(x, op, "slice_sizes", t.dims, t.rank);
    kn_xset(x, e, op);
}

static void concatenate(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    uint32_t *in = KN_NEWN(x->arena, uint32_t, e->nin);
    kiln_type t = kn_out_type(j, e, 0);
    int64_t dims[KN_MAX_RANK], axis = e->params[0].i;
    KN_XCHECK(x, in);
    if (x->status != KILN_OK) return;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = kn_xatom(x, e->in[i]);
    for (uint32_t i = 0; row->extra && i < e->nin; i++) { /* stack: a new dimension of size 1 first */
        for (uint32_t d = 0; d < t.rank; d++) dims[d] = (int64_t)d == axis ? 1 : t.dims[d];
        in[i] = unary(x, "stablehlo.reshape", in[i], (kiln_type){t.dtype, t.rank, dims}, NULL, NULL, 0);
    }
    kn_mop *op = kn_xop(x, "stablehlo.concatenate", in, e->nin, &t, 1);
    kn_xattr_number(x, op, "dimension", axis);
    kn_xset(x, e, op);
}

static void pad(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
    const kn_param *p = &e->params[0];
    int64_t v[3][KN_MAX_RANK];
    uint32_t in[2] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1])};
    kiln_type t = kn_out_type(j, e, 0);
    for (uint32_t d = 0; d < t.rank; d++)
        for (int k = 0; k < 3; k++) v[k][d] = kn_ints(&p->items[d])[k];
    kn_mop *op = kn_xop(x, row->name, in, 2, &t, 1);
    for (int k = 0; k < 3; k++) kn_xattr_list(x, op, names[k], v[k], t.rank);
    kn_xset(x, e, op);
}

/* ---- gather and scatter ---- */

static void put_list(kn_text *t, const char *name, kn_ints_list l)
{
    if (!l.n) return;
    kn_text_printf(t, "%s%s = [", t->n ? ", " : "", name);
    for (uint32_t i = 0; i < l.n; i++) kn_text_printf(t, "%s%lld", i ? ", " : "", (long long)l.v[i]);
    kn_text_char(t, ']');
}

static void dimension_numbers(kn_export *x, kn_mop *op, const kn_index_dims *d, uint32_t index_rank, bool scatter)
{
    kn_text t;
    kn_text_init(&t, &x->ctx->alloc);
    put_list(&t, scatter ? "update_window_dims" : "offset_dims", d->window);
    put_list(&t, scatter ? "inserted_window_dims" : "collapsed_slice_dims", d->collapsed);
    put_list(&t, scatter ? "input_batching_dims" : "operand_batching_dims", d->operand_batch);
    put_list(&t, scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims", d->indices_batch);
    put_list(&t, scatter ? "scatter_dims_to_operand_dims" : "start_index_map", d->map);
    if (index_rank > 1) kn_text_printf(&t, "%sindex_vector_dim = %u", t.n ? ", " : "", index_rank - 1);
    const char *text = kn_xkeep(x, &t);
    kn_text_fini(&t);
    kn_xattr_text(x, op, scatter ? "scatter_dimension_numbers" : "dimension_numbers", scatter ? "stablehlo.scatter" : "stablehlo.gather", text);
}

/* The greatest start along each dimension that the index vectors name, as an array of the indices' shape. */
static uint32_t last_starts(kn_export *x, const kn_index_dims *d, kiln_type operand, const int64_t *sizes, kiln_type indices)
{
    kiln_array *a;
    int64_t n = d->map.n, last = (int64_t)indices.rank - 1;
    kiln_type t = {indices.dtype, 1, &n};
    unsigned width = kn_dtype_width(indices.dtype);
    bool is_signed = kiln_dtype_kind(indices.dtype) == 'i';
    int64_t most = width >= 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? width - 1 : width)) - 1;
    if (x->status != KILN_OK) return 0;
    kiln_status s = kiln_array_create(x->ctx, t, &a);
    kn_xfail(x, s);
    if (s != KILN_OK) return 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t dim = d->map.v[i], v = operand.dims[dim] - sizes[dim];
        kn_scalar_store(t.dtype, a->data, i, (kn_scalar){.i = v < most ? v : most});
    }
    uint32_t v = kn_xarray(x, a);
    kiln_array_release(a);
    return unary(x, "stablehlo.broadcast_in_dim", v, indices, "broadcast_dimensions", &last, 1);
}

/* Which index vectors lie inside: one bool for each. */
static uint32_t inside(kn_export *x, const kn_index_dims *d, kiln_type operand, const int64_t *sizes, uint32_t indices, kiln_type t)
{
    int64_t last = (int64_t)t.rank - 1;
    uint32_t zero = kn_xbroadcast(x, kn_xscalar(x, t.dtype, (kn_scalar){.i = 0}), t);
    uint32_t low = kn_xcompare(x, "GE", indices, zero, false), high = kn_xcompare(x, "LE", indices, last_starts(x, d, operand, sizes, t), false);
    kiln_type all = {KILN_BOOL, t.rank, t.dims}, kept = {KILN_BOOL, t.rank - 1, t.dims};
    uint32_t both = kn_xop1(x, "stablehlo.and", (uint32_t[]){low, high}, 2, all);
    uint32_t yes = kn_xscalar(x, KILN_BOOL, (kn_scalar){.b = true});
    kn_mop *op = kn_xop(x, "stablehlo.reduce", (uint32_t[]){both, yes}, 2, &kept, 1);
    kn_xattr_list(x, op, "dimensions", &last, 1);
    kn_xcombine_region(x, op, "stablehlo.and", KILN_BOOL, KILN_BOOL);
    return op->out;
}

static kn_scalar fill_value(const kn_param *p, kiln_dtype d)
{
    kn_scalar v = {.c = {0, 0}};
    char kind = kiln_dtype_kind(d);
    if (p->kind == KN_P_NONE) {
        if (kind == 'b') v.b = true;
        else if (kind == 'f') v.f = (double)NAN;
        else if (kind == 'c') v.c[0] = v.c[1] = (double)NAN;
        else v = kn_reduce_identity(kind == 'u' ? KN_S_min : KN_S_max, d);
        return v;
    }
    double given = p->kind == KN_P_INT ? (double)p->i : p->kind == KN_P_FLOAT ? p->f : p->kind == KN_P_BOOL ? (double)p->b : 0;
    if (kind == 'c') v.c[0] = given;
    else if (p->kind == KN_P_INT && strchr("iu", kind)) v = kn_scalar_round(d, (kn_scalar){.i = p->i});
    else {
        v.f = given;
        v = kn_sop_eval(KN_S_convert, KILN_F64, d, v, v, v);
    }
    return v;
}

static void gather(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kn_index_dims d;
    kn_index_mode mode;
    kiln_type operand = kn_in_type(j, e, 0), indices = kn_in_type(j, e, 1), t = kn_out_type(j, e, 0);
    const kn_param *sizes = kn_param_of(e, "slice_sizes");
    kn_index_dims_of(&e->params[0], false, &d);
    kn_index_mode_of(kn_param_of(e, "mode"), &mode);
    uint32_t in[2] = {kn_xatom(x, e->in[0]), kn_xatom(x, e->in[1])}, mask = 0;
    bool fill = mode == KN_INDEX_FILL && d.map.n;
    if (fill) mask = inside(x, &d, operand, kn_ints(sizes), in[1], indices);
    kn_mop *op = kn_xop(x, row->name, in, 2, &t, 1);
    dimension_numbers(x, op, &d, indices.rank, false);
    kn_xattr_bool(x, op, "indices_are_sorted", kn_param_of(e, "indices_are_sorted")->b);
    kn_xattr_array(x, op, "slice_sizes", kn_ints(sizes), sizes->n);
    if (!fill) {
        kn_xset(x, e, op);
        return;
    }
    int64_t at[KN_MAX_RANK];
    uint32_t n = 0;
    kiln_type bools = {KILN_BOOL, t.rank, t.dims};
    for (uint32_t i = 0; i < t.rank; i++)
        if (!kn_listed(d.window, i)) at[n++] = i;
    mask = unary(x, "stablehlo.broadcast_in_dim", mask, bools, "broadcast_dimensions", at, n);
    uint32_t other = kn_xbroadcast(x, kn_xscalar(x, t.dtype, fill_value(kn_param_of(e, "fill_value"), t.dtype)), t);
    kn_xset1(x, e, 0, kn_xop1(x, "stablehlo.select", (uint32_t[]){mask, op->out, other}, 3, t));
}

static uint32_t clipped(kn_export *x, const kn_index_dims *d, kiln_type operand, kiln_type updates, uint32_t indices, kiln_type t)
{
    int64_t sizes[KN_MAX_RANK];
    uint32_t w = 0;
    for (uint32_t i = 0; i < operand.rank; i++) {
        bool one = kn_listed(d->collapsed, i) || kn_listed(d->operand_batch, i);
        sizes[i] = one || w >= d->window.n ? 1 : updates.dims[d->window.v[w++]];
    }
    uint32_t low = kn_xbroadcast(x, kn_xscalar(x, t.dtype, (kn_scalar){.i = 0}), t), high = last_starts(x, d, operand, sizes, t);
    return kn_xop1(x, "stablehlo.clamp", (uint32_t[]){low, indices, high}, 3, t);
}

static void scatter_region(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row, kn_mop *op, uint32_t consts)
{
    const kn_param *body = kn_param_of(e, "update_jaxpr");
    kiln_type scalar = KILN_SCALAR(kn_out_type(j, e, 0).dtype);
    if (body->kind == KN_P_JAXPR) {
        kn_xregion(x, op, 0, 1, body->jaxpr, e->in, consts);
        return;
    }
    kn_xopen o = kn_xopen_region(x, op, 0, 1, (kiln_type[]){scalar, scalar}, 2);
    uint32_t y = o.arg + 1;
    if (row->name) y = kn_xop1(x, row->name, (uint32_t[]){o.arg, o.arg + 1}, 2, scalar);
    kn_xclose(x, o, &y, 1);
}

static void scatter(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kn_index_dims d;
    kn_index_mode mode;
    const kn_param *captured = kn_param_of(e, "num_consts");
    uint32_t consts = captured->kind == KN_P_INT ? (uint32_t)captured->i : 0, n = (e->nin - consts) / 2;
    kiln_type indices = kn_in_type(j, e, consts + n);
    kn_xends s;
    if (!kn_xends_of(x, j, e, consts, &s)) return;
    kn_index_dims_of(&e->params[0], true, &d);
    kn_index_mode_of(kn_param_of(e, "mode"), &mode);
    if (mode == KN_INDEX_CLIP && d.map.n) s.in[n] = clipped(x, &d, kn_in_type(j, e, consts), kn_in_type(j, e, consts + n + 1), s.in[n], indices);
    kn_mop *op = kn_xop(x, "stablehlo.scatter", s.in, s.nin, s.out, e->nout);
    kn_xattr_bool(x, op, "indices_are_sorted", kn_param_of(e, "indices_are_sorted")->b);
    dimension_numbers(x, op, &d, indices.rank, true);
    kn_xattr_bool(x, op, "unique_indices", kn_param_of(e, "unique_indices")->b);
    scatter_region(x, j, e, row, op, consts);
    kn_xset(x, e, op);
}

const kn_xrow kn_xrows_shape[] = {
    {&kn_prim_broadcast_in_dim, broadcast_in_dim, NULL, 0},
    {&kn_prim_concatenate, concatenate, NULL, 0},
    {&kn_prim_dynamic_slice, dynamic, "stablehlo.dynamic_slice", 0},
    {&kn_prim_dynamic_update_slice, dynamic, "stablehlo.dynamic_update_slice", 1},
    {&kn_prim_gather, gather, "stablehlo.gather", 0},
    {&kn_prim_dim_as_value, dim_as_value, NULL, 0},
    {&kn_prim_iota, iota, "stablehlo.iota", 0},
    {&kn_prim_pad, pad, "stablehlo.pad", 0},
    {&kn_prim_reshape, reshape, "stablehlo.reshape", 0},
    {&kn_prim_rev, reverse, "stablehlo.reverse", 0},
    {&kn_prim_scatter, scatter, NULL, 0},
    {&kn_prim_scatter_add, scatter, "stablehlo.add", 0},
    {&kn_prim_scatter_apply, scatter, NULL, 0},
    {&kn_prim_scatter_max, scatter, "stablehlo.maximum", 0},
    {&kn_prim_scatter_min, scatter, "stablehlo.minimum", 0},
    {&kn_prim_scatter_mul, scatter, "stablehlo.multiply", 0},
    {&kn_prim_scatter_sub, scatter, "stablehlo.subtract", 0},
    {&kn_prim_slice, slice, NULL, 0},
    {&kn_prim_split, split, NULL, 0},
    {&kn_prim_squeeze, kn_xplain, "stablehlo.reshape", 0},
    {&kn_prim_stack, concatenate, NULL, 1},
    {&kn_prim_transpose, transpose, "stablehlo.transpose", 0},
};
const uint32_t kn_xrows_n_shape = sizeof kn_xrows_shape / sizeof *kn_xrows_shape;
