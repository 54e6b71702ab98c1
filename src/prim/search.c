/* SPDX-License-Identifier: Apache-2.0 */
/* SearchSorted, as jax.numpy makes it: where values would be put into sorted tables, by halving. Floats are in the order of sorts: zeros of both
 * signs alike, NaN last; complex numbers by the real part, then the imaginary. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/index.h"
#include "prim/sample.h"

#include "prims.gen.h"

#include <math.h>

enum { SIDE, DIMENSION, BATCH_DIMS, METHOD, OUT_DTYPE };
static const kn_param_spec params_of_search[] = {{"side", KN_P_TEXT, 0},
                                                 {"dimension", KN_P_INT, 0},
                                                 {"batch_dims", KN_P_INT, 0},
                                                 {"method", KN_P_TEXT, 0},
                                                 {"out_dtype", KN_P_DTYPE, KN_PARAM_FROM_RESULT}};

static bool is_left(const kn_eqn *e) { return strcmp(e->params[SIDE].text, "left") == 0; }

static kiln_status type_search(kn_typing *t)
{
    kiln_type table = t->in[0], asked = t->in[1];
    int64_t batch, dimension, *dims;
    kiln_dtype d;
    const char *side = t->params[SIDE].kind == KN_P_TEXT ? t->params[SIDE].text : "";
    if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0) return kn_fail(t->ctx, KILN_INVALID, "SearchSorted: side is '%s'; accepted: left, right", side);
    KILN_TRY(kn_typing_int(t, DIMENSION, &dimension));
    KILN_TRY(kn_typing_int(t, BATCH_DIMS, &batch));
    KILN_TRY(kn_typing_dtype(t, OUT_DTYPE, &d));
    KILN_TRY(kn_typing_kinds(t, 0, "biufc"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    if (!strchr("iu", kiln_dtype_kind(d))) return kn_fail(t->ctx, KILN_DTYPE, "SearchSorted: places of type %s; accepted: integers", kiln_dtype_name(d));
    bool fits = batch >= 0 && dimension >= batch && dimension < (int64_t)table.rank && batch <= (int64_t)asked.rank;
    for (int64_t k = 0; fits && k < batch; k++) fits = table.dims[k] == asked.dims[k];
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "SearchSorted: dimension %lld behind %lld of a batch does not fit %s and %s", (long long)dimension, (long long)batch,
                       kn_type_show(table).s, kn_type_show(asked).s);
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, d, table.rank - 1 + asked.rank - (uint32_t)batch, &dims));
    for (uint32_t k = 0; k < table.rank; k++)
        if (k != dimension) *dims++ = table.dims[k];
    for (uint32_t k = (uint32_t)batch; k < asked.rank; k++) *dims++ = asked.dims[k];
    return KILN_OK;
}

/* ---- lowering ---- */

/* Of floats, so that their total order is that of sorts. */
static kn_atom ordered(kn_low *l, kn_atom x)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    if (t.dtype == KILN_BOOL) return kn_low_convert(l, x, KILN_U8);
    if (kiln_dtype_kind(t.dtype) != 'f') return x;
    kn_atom zero = kn_low_fill(l, t, (kn_scalar){.f = 0}), nan = kn_low_fill(l, t, (kn_scalar){.f = (double)NAN});
    x = kn_low_select(l, kn_low2(l, &kn_prim_eq, x, zero), zero, x);
    return kn_low_select(l, kn_low2(l, &kn_prim_ne, x, x), nan, x);
}

static kn_atom before(kn_low *l, kn_atom x, kn_atom y, bool or_equal)
{
    if (l->status != KILN_OK) return 0;
    char kind = kiln_dtype_kind(kn_build_type(l->b, x).dtype);
    if (kind == 'f') return kn_low2(l, or_equal ? &kn_prim_le_to : &kn_prim_lt_to, ordered(l, x), ordered(l, y));
    if (kind != 'c') return kn_low2(l, or_equal ? &kn_prim_le : &kn_prim_lt, ordered(l, x), ordered(l, y));
    kn_atom xr = kn_low1(l, &kn_prim_real, x), yr = kn_low1(l, &kn_prim_real, y);
    kn_atom tie = kn_low2(l, &kn_prim_eq_to, ordered(l, xr), ordered(l, yr));
    kn_atom rest = before(l, kn_low1(l, &kn_prim_imag, x), kn_low1(l, &kn_prim_imag, y), or_equal);
    return kn_low2(l, &kn_prim_or, before(l, xr, yr, false), kn_low2(l, &kn_prim_and, tie, rest));
}

/* One row of the table a search: tables, how many there are of n entries; searches in flat order. */
typedef struct searches {
    int64_t entries, count;
    kiln_dtype index;
    kn_atom table, asked, row; /* flat: rows one behind the other; one value a search; where its row begins */
} searches;

/* Arguments: table, asked, row; low, high. One halving. */
static kiln_status halving(kn_build *around, const searches *s, bool left, const kn_jaxpr **out)
{
    kn_build b;
    kn_atom in[5], middle, entry, next[2];
    kn_build_init(&b, around->ctx, around->prog);
    const kn_atom like[5] = {s->table, s->asked, s->row, s->row, s->row};
    for (int i = 0; i < 5; i++) KILN_TRY(kn_build_input(&b, kn_build_type(around, like[i]), &in[i]));
    kn_low l = {&b, KILN_OK};
    kn_atom half = kn_low2(&l, &kn_prim_shift_right_logical, kn_low2(&l, &kn_prim_sub, in[4], in[3]), kn_low_num(&l, s->index, 1));
    middle = kn_low2(&l, &kn_prim_add, in[3], half);
    kn_atom at = kn_low2(&l, &kn_prim_add, in[2], kn_low2(&l, &kn_prim_min, middle, kn_low_num(&l, s->index, (double)(s->entries - 1))));
    KILN_TRY(l.status);
    KILN_TRY(kn_build_take(&b, in[0], at, 0, &entry));
    kn_atom lower = before(&l, in[1], entry, left);
    next[0] = kn_low_select(&l, lower, in[3], middle);
    next[1] = kn_low_select(&l, lower, middle, in[4]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, next, 2, out);
}

/* The table with its dimension last; what is asked, and the number of its row, in the shape of the result, all flat. */
static void flatten(kn_low *l, const kn_eqn *e, const kn_jaxpr *j, const kn_atom *x, searches *s)
{
    kiln_type table = kn_in_type(j, e, 0), asked = kn_in_type(j, e, 1), y = kn_out_type(j, e, 0);
    uint32_t batch = (uint32_t)e->params[BATCH_DIMS].i, dimension = (uint32_t)e->params[DIMENSION].i, k = 0;
    int64_t order[KN_MAX_RANK], at[KN_MAX_RANK], rows[KN_MAX_RANK], row_at[KN_MAX_RANK], number = 1;
    for (uint32_t d = 0; d < table.rank; d++)
        if (d != dimension) rows[k] = table.dims[d], row_at[k] = k, order[k++] = d;
    order[k] = dimension;
    for (uint32_t d = 0; d < k; d++) number *= rows[d];
    for (uint32_t d = 0; d < asked.rank; d++) at[d] = d < batch ? d : d + table.rank - 1 - batch;
    s->table = kn_low_reshape(l, kn_derive_turn(l, x[0], order), 1, (int64_t[]){number * s->entries});
    kn_param wide[] = {KN_INTS(asked.rank, at), KN_INTS(y.rank, y.dims), KN_NONE};
    s->asked = kn_low_reshape(l, kn_low_op(l, &kn_prim_broadcast_in_dim, wide, &x[1], 1), 1, &s->count);
    kn_atom row = kn_low2(l, &kn_prim_mul, kn_low_iota(l, (kiln_type){s->index, 1, &number}, 0), kn_low_num(l, s->index, (double)s->entries));
    row = kn_low_reshape(l, row, k, rows);
    kn_param over[] = {KN_INTS(k, row_at), KN_INTS(y.rank, y.dims), KN_NONE};
    s->row = kn_low_reshape(l, kn_low_op(l, &kn_prim_broadcast_in_dim, over, &row, 1), 1, &s->count);
}

static kiln_status lower_search(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low low = {b, KILN_OK}, *l = &low;
    kiln_type table = kn_in_type(j, e, 0), t = kn_out_type(j, e, 0);
    searches s = {.entries = table.dims[e->params[DIMENSION].i], .count = kiln_type_size(t)};
    s.index = kiln_type_size(table) + s.entries < INT32_MAX ? KILN_I32 : KILN_I64;
    if (s.entries == 0 || s.count == 0) {
        y[0] = kn_low_fill(l, t, (kn_scalar){.u = 0});
        return l->status;
    }
    int64_t trips = 0;
    while (s.entries >> trips) trips++;
    flatten(l, e, j, x, &s);
    kiln_type flat = {s.index, 1, &s.count};
    kn_atom in[] = {s.table, s.asked, s.row, kn_low_fill(l, flat, (kn_scalar){.i = 0}), kn_low_fill(l, flat, (kn_scalar){.i = s.entries})}, out[2];
    KILN_TRY(l->status);
    const kn_jaxpr *body;
    kn_param params[KN_SCAN_PARAMS], plain[KN_SCAN_PARAMS];
    KILN_TRY(halving(b, &s, is_left(e), &body));
    kn_scan_plain(trips, false, plain);
    KILN_TRY(kn_scan_params(b->ctx, &b->prog->arena, &(kn_eqn){.params = plain}, body, (uint32_t[]){3, 2, 0}, 0, params));
    KILN_TRY(kn_build_eqn(b, &kn_prim_scan, params, in, 5, out, 2));
    y[0] = kn_low_reshape(l, kn_low_convert(l, out[1], t.dtype), t.rank, t.dims);
    return l->status;
}

static kiln_status batch_search(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y,
                                int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *params = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    params[DIMENSION].i++, params[BATCH_DIMS].i++;
    return kn_lanes_emit(&m, params, (kn_atom[]){kn_lanes_full(&m, 0), kn_lanes_full(&m, 1)}, y);
}

KILN_PRIM(SearchSorted) = {
    .name = "SearchSorted",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(params_of_search),
    .type = type_search,
    .lower = lower_search,
    .jvp = kn_jvp_zero,
    .batch = batch_search,
    .sample = kn_sample_search,
    .doc = "Where values would be put into a table that is sorted along a dimension: before equal entries (left) or behind them (right).",
};
