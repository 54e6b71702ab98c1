/* SPDX-License-Identifier: Apache-2.0 */
/* gather: windows of the operand at places that an array of indices names. */
#include "array/size.h"
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/index.h"
#include "prim/sample.h"
#include "rt/reduce.h"

#include <math.h>

enum { GATHER_DIMS, GATHER_FILL, GATHER_SORTED, GATHER_MODE, GATHER_SIZES, GATHER_UNIQUE };
static const kn_param_spec gather_params[] = {
    {"dimension_numbers", KN_P_RECORD, 0},
    {"fill_value", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"indices_are_sorted", KN_P_BOOL, 0},
    {"mode", KN_P_NONE, 0},
    {"slice_sizes", KN_P_INTS, 0},
    {"unique_indices", KN_P_BOOL, 0},
};

static kiln_status type_gather(kn_typing *t)
{
    kn_index_dims d;
    kn_index_mode mode;
    const int64_t *sizes;
    int64_t *dims;
    uint32_t n, b = 0, s = 0;
    kiln_type x = t->in[0], indices = t->in[1];
    if (!kn_index_dims_of(&t->params[GATHER_DIMS], false, &d))
        return kn_fail(t->ctx, KILN_INVALID, "gather: dimension_numbers must be GatherDimensionNumbers(..)");
    if (!kn_index_mode_of(&t->params[GATHER_MODE], &mode))
        return kn_fail(t->ctx, KILN_INVALID, "gather: mode must be one of CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS");
    KILN_TRY(kn_typing_ints(t, GATHER_SIZES, &sizes, &n));
    uint32_t rank = d.window.n + (indices.rank ? indices.rank - 1 : 0);
    KILN_TRY(kn_index_check(t, &d, x, indices, sizes, n, rank));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, rank, &dims));
    for (uint32_t i = 0; i < rank; i++) {
        if (!kn_listed(d.window, i)) {
            dims[i] = indices.dims[b++];
            continue;
        }
        while (kn_listed(d.collapsed, s) || kn_listed(d.operand_batch, s)) s++;
        dims[i] = sizes[s++];
    }
    if (kiln_type_size(t->out[0]) < 0) return kn_fail(t->ctx, KILN_SHAPE, "gather: %s is not a possible result", kn_type_show(t->out[0]).s);
    return KILN_OK;
}

/* What stands where an index is out of bounds: as given, or NaN, the least integer, the largest unsigned one, true. */
static kn_scalar fill_value(const kn_eqn *e, kiln_dtype d)
{
    const kn_param *p = &e->params[GATHER_FILL];
    kn_scalar v = {.c = {0, 0}};
    char kind = kiln_dtype_kind(d);
    if (p->kind == KN_P_NONE) {
        if (kind == 'b') v.b = true;
        else if (kind == 'f') v.f = (double)NAN;
        else if (kind == 'c') v.c[0] = (double)NAN, v.c[1] = (double)NAN;
        else v = kn_reduce_identity(kind == 'u' ? KN_S_min : KN_S_max, d);
        return v;
    }
    double given = p->kind == KN_P_INT ? (double)p->i : p->kind == KN_P_FLOAT ? p->f : p->kind == KN_P_BOOL ? (double)p->b : 0;
    if (kind == 'c') {
        v.c[0] = given;
        return v;
    }
    v.f = given;
    return p->kind == KN_P_INT && strchr("iu", kind) ? kn_scalar_round(d, (kn_scalar){.i = p->i}) : kn_sop_eval(KN_S_convert, KILN_F64, d, v, v, v);
}

static kiln_status eval_gather(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kn_index_dims d;
    kn_index_mode mode;
    kn_index_dims_of(&e->params[GATHER_DIMS], false, &d);
    kn_index_mode_of(&e->params[GATHER_MODE], &mode);
    const int64_t *sizes = kn_ints(&e->params[GATHER_SIZES]);
    kiln_type x = in[0]->type, y = out[0]->type;
    kn_scalar fill = fill_value(e, x.dtype);
    int64_t ix[KN_MAX_RANK] = {0}, batch[KN_MAX_RANK], offset[KN_MAX_RANK], start[KN_MAX_RANK], n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++, kn_next(y, ix)) {
        kn_index_split(&d, x.rank, y.rank, ix, batch, offset);
        kn_index_start(&d, in[1], x.rank, batch, start);
        int64_t at = 0;
        bool inside = true;
        for (uint32_t i = 0; i < x.rank; i++) {
            int64_t most = x.dims[i] - sizes[i], s = start[i];
            inside = inside && s >= 0 && s <= most;
            s = s < 0 ? 0 : s > most ? most : s;
            at = at * x.dims[i] + s + offset[i];
        }
        if (inside || mode != KN_INDEX_FILL) kn_move(out[0], k, in[0], at);
        else kn_scalar_store(x.dtype, out[0]->data, k, fill);
    }
    return KILN_OK;
}

/* The last start, as a d; `open`: it depends on the size that is given when the program runs. */
static kn_lv last_start(kn_element *m, kiln_dtype d, int64_t most, bool open)
{
    if (!open) return m->constant(m, d, (kn_scalar){.i = most});
    return d == KILN_I64 ? m->integer(m, most) : m->op(m, KN_S_bitcast, KILN_I64, d, m->integer(m, most), 0, 0);
}

/* Start along a dimension of the operand as an i64, clamped into 0..most; *inside gathers the conditions that it lay there. Done in 32
 * bits where the indices have no more: twice as many lanes, and what clamping did not change lay inside. */
static kn_lv start_at(kn_element *m, const kn_eqn *e, const kn_lv *from, int64_t most, bool check, kn_lv *inside, bool *any)
{
    kiln_dtype given = kn_in_type(m->j, e, 1).dtype, d = kiln_dtype_bytes(given) < 4 ? KILN_I32 : given;
    kn_lv s = m->operand(m, e, 1, from), at;
    bool open = kn_size_open(most);
    if (open && d != KILN_U64) d = KILN_I64;
    int64_t largest = d == KILN_I32 ? INT32_MAX : d == KILN_U32 ? UINT32_MAX : INT64_MAX;
    if (d != given) s = m->op(m, KN_S_convert, given, d, s, 0, 0);
    at = s;
    if (kiln_dtype_kind(given) == 'i') at = m->op(m, KN_S_max, d, d, at, m->constant(m, d, (kn_scalar){.i = 0}), 0);
    if (most < largest || d == KILN_U64) at = m->op(m, KN_S_min, d, d, at, last_start(m, d, most, open), 0);
    if (check && at != s) {
        kn_lv ok = m->op(m, KN_S_eq, d, KILN_BOOL, at, s, 0);
        *inside = *any ? m->op(m, KN_S_and, KILN_BOOL, KILN_BOOL, *inside, ok, 0) : ok;
        *any = true;
    }
    return d == KILN_I64 ? at : m->op(m, KN_S_convert, d, KILN_I64, at, 0, 0);
}

static kn_lv element_gather(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kn_index_dims d;
    kn_index_mode mode;
    kn_index_dims_of(&e->params[GATHER_DIMS], false, &d);
    kn_index_mode_of(&e->params[GATHER_MODE], &mode);
    const int64_t *sizes = kn_ints(&e->params[GATHER_SIZES]);
    kiln_type x = kn_in_type(m->j, e, 0), indices = kn_in_type(m->j, e, 1), y = kn_out_type(m->j, e, result);
    kn_lv batch[KN_MAX_RANK], window[KN_MAX_RANK], from[KN_MAX_RANK], inside = 0;
    uint32_t b = 0, w = 0;
    bool any = false;
    for (uint32_t i = 0; i < y.rank; i++) {
        if (kn_listed(d.window, i)) window[w++] = ix[i];
        else batch[b++] = ix[i];
    }
    w = 0;
    for (uint32_t i = 0; i < x.rank; i++)
        from[i] = kn_listed(d.collapsed, i) || kn_listed(d.operand_batch, i) ? m->integer(m, 0) : window[w++];
    for (uint32_t k = 0; k < d.map.n; k++) {
        int64_t axis = d.map.v[k];
        batch[indices.rank - 1] = m->integer(m, k);
        kn_lv s = start_at(m, e, batch, x.dims[axis] - sizes[axis], mode == KN_INDEX_FILL, &inside, &any);
        from[axis] = kn_e_add(m, s, from[axis]);
    }
    for (uint32_t k = 0; k < d.operand_batch.n; k++) from[d.operand_batch.v[k]] = batch[d.indices_batch.v[k]];
    kn_lv v = m->operand(m, e, 0, from);
    return any ? m->op(m, KN_S_select, y.dtype, y.dtype, inside, v, m->constant(m, y.dtype, fill_value(e, y.dtype))) : v;
}

/* Linear in the operand; where an index is out of bounds the tangent is 0. */
static kiln_status jvp_gather(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    kn_param params[6];
    memcpy(params, e->params, sizeof params);
    params[GATHER_FILL] = KN_INT(0);
    return kn_build_eqn(b, e->prim, params, (kn_atom[]){dx[0], x[1]}, 2, dy, 1);
}
/* Adds to what has been found so far. */
static kiln_status transpose_gather(KN_TRANSPOSE_ARGS)
{
    (void)r;
    if (ct_in[0] == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(b, kn_in_type(j, e, 0), &ct_in[0]));
    kn_scatter_like how = {&e->params[GATHER_DIMS], &e->params[GATHER_MODE], e->params[GATHER_SORTED].b, e->params[GATHER_UNIQUE].b};
    return kn_build_scatter(b, &kn_prim_scatter_add, &how, ct_in[0], x[1], ct[0], &ct_in[0]);
}

/* Lanes of the operand alone are one more dimension of the window; of the indices alone, one more that numbers index vectors; of both,
 * dimensions that run together. */
static kiln_status batch_gather(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    bool operand = kn_has_lanes(&m, 0), indices = kn_has_lanes(&m, 1);
    kn_param *p = kn_lanes_params(&m), lists[KN_INDEX_LISTS];
    KILN_TRY(m.l.status);
    kn_index_dims d;
    kn_index_dims_of(&p[GATHER_DIMS], false, &d);
    kn_index_lanes(&m, &d, operand, indices);
    p[GATHER_DIMS] = kn_index_param(&d, false, lists);
    int64_t sizes[KN_MAX_RANK + 1] = {indices ? 1 : m.size};
    if (operand) {
        uint32_t n = p[GATHER_SIZES].n;
        if (n) memcpy(sizes + 1, kn_ints(&p[GATHER_SIZES]), n * sizeof *sizes);
        p[GATHER_SIZES] = KN_INTS(n + 1, sizes);
    }
    if (indices) p[GATHER_SORTED] = p[GATHER_UNIQUE] = KN_BOOL(false);
    return kn_lanes_emit(&m, p, x, y);
}

KILN_PRIM(gather) = {
    .name = "gather",
    .nin = 2,
    .nout = 1,
    .flags = KN_MOVES | KN_ACCUMULATES | KN_BY_PARTS,
    KN_PARAMS(gather_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_gather,
    .eval = eval_gather,
    .jvp = jvp_gather,
    .transpose = transpose_gather,
    .element = element_gather,
    .batch = batch_gather,
    .sample = kn_sample_gather,
    .doc = "Windows of size slice_sizes of the operand, one for each index vector. CLIP and PROMISE_IN_BOUNDS clamp starts so that "
           "windows lie inside; FILL_OR_DROP gives fill_value where one would not (by default NaN, the least integer, true).",
};
