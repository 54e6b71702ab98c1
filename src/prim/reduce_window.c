/* SPDX-License-Identifier: Apache-2.0 */
/* Folds over windows: reduce_window_sum, _max, _min and reduce_window with any body. A window folds in row-major order from the
 * first value; padding takes part with the first value. Of complex numbers padding that would make a NaN of a number is left out: sums of
 * logarithms, whose first value is -inf, are undefined for two of it. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/sample.h"
#include "prim/window.h"
#include "rt/reduce.h"

#include "prims.gen.h"

#include <math.h>

static const kn_param_spec simple_params[] = {
    {"base_dilation", KN_P_INTS, 0},     {"padding", KN_P_NONE, 0},        {"window_dilation", KN_P_INTS, 0},
    {"window_dimensions", KN_P_INTS, 0}, {"window_strides", KN_P_INTS, 0},
};
static const kn_window_places simple = {.base = 0, .padding = 1, .dilation = 2, .size = 3, .stride = 4};

enum { ANY_BODY = 2, ANY_CONSTS = 3 };
static const kn_param_spec any_params[] = {
    {"base_dilation", KN_P_INTS, 0},
    {"consts", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"jaxpr", KN_P_JAXPR, 0},
    {"num_consts", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"padding", KN_P_NONE, 0},
    {"window_dilation", KN_P_INTS, 0},
    {"window_dimensions", KN_P_INTS, 0},
    {"window_strides", KN_P_INTS, 0},
};
static const kn_window_places any = {.base = 0, .padding = 4, .dilation = 5, .size = 6, .stride = 7};

static kiln_status typed(kn_typing *t, kn_window_places at, kiln_type x, uint32_t k, kiln_dtype d)
{
    kn_window w;
    int64_t *dims;
    KILN_TRY(kn_window_typed(t, at, x.rank, &w));
    KILN_TRY(kn_typing_shape(t, k, d, x.rank, &dims));
    return kn_window_result(t, &w, x.dims, dims);
}

/* ---- one array, one of three operations ---- */

static kiln_status type_simple(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, t->prim->scalar_op == KN_S_add ? "iufc" : "biuf"));
    return typed(t, simple, t->in[0], 0, t->in[0].dtype);
}

static kiln_status eval_simple(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kn_window w = kn_window_of(e, simple);
    kiln_type x = in[0]->type, y = out[0]->type, window = {KILN_BOOL, w.rank, w.size};
    kiln_dtype d = x.dtype;
    kn_sop op = (kn_sop)e->prim->scalar_op;
    kn_scalar first = kn_reduce_init(op, d);
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y), count = kiln_type_size(window);
    for (int64_t k = 0; k < n; k++, kn_next(y, ix)) {
        int64_t wx[KN_MAX_RANK] = {0};
        kn_scalar acc = first;
        for (int64_t i = 0; i < count; i++, kn_next(window, wx)) {
            int64_t at = kn_window_offset(&w, x, ix, wx);
            kn_scalar v = at < 0 ? first : kn_scalar_load(d, in[0]->data, at);
            acc = kn_sop_eval(op, d, d, acc, v, v);
        }
        kn_scalar_store(d, out[0]->data, k, acc);
    }
    return KILN_OK;
}

static const kn_prim *prim_of(int op) { return op == KN_S_add ? &kn_prim_add : op == KN_S_max ? &kn_prim_max : &kn_prim_min; }

static kiln_status simple_step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    acc[0] = kn_low2(l, f->ud, acc[0], slices[0]);
    return l->status;
}

static kiln_status lower_simple(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_window w = kn_window_of(e, simple);
    kiln_type result = kn_out_type(j, e, 0);
    kn_scalar first = kn_reduce_init((kn_sop)e->prim->scalar_op, result.dtype);
    kn_atom value = kn_low_fill(&l, KILN_SCALAR(result.dtype), first), padded = kn_low_window_pad(&l, &w, x[0], value);
    y[0] = kn_low_fill(&l, result, first);
    kn_window_fold f = {.w = &w, .result = result, .n = 1, .nacc = 1, .padded = &padded, .step = simple_step, .ud = prim_of(e->prim->scalar_op)};
    return kn_low_window_fold(&l, &f, y);
}

static kiln_status batch_simple(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_param *p = kn_lanes_params(&m);
    KILN_TRY(m.l.status);
    kn_window_lanes(&m, simple, p);
    return kn_lanes_emit(&m, p, x, y);
}

/* Sums are linear. The cotangents, spread as the windows were, padded so that windows of the same form that move by the array's own
 * spacing meet what each element entered. */
static kiln_status transpose_window_sum(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    kn_window w = kn_window_of(e, simple);
    kiln_type t = kn_in_type(j, e, 0), u = kn_out_type(j, e, 0);
    int64_t low[KN_MAX_RANK], high[KN_MAX_RANK], inside[KN_MAX_RANK], ones[KN_MAX_RANK], strides[KN_MAX_RANK], dilation[KN_MAX_RANK];
    static const int64_t none[2] = {0, 0};
    kn_param margins[KN_MAX_RANK];
    if (kiln_type_size(t) == 0) return kn_zeros(b, t, &ct_in[0]);
    for (uint32_t d = 0; d < t.rank; d++) {
        int64_t reach = (w.size[d] - 1) * kn_window_dilation(&w, d), base = kn_window_base(&w, d);
        int64_t spread = u.dims[d] ? (u.dims[d] - 1) * w.stride[d] + 1 : 0;
        low[d] = reach - kn_window_low(&w, d);
        high[d] = (t.dims[d] - 1) * base + reach + 1 - low[d] - spread;
        inside[d] = w.stride[d] - 1, ones[d] = 1, strides[d] = base, dilation[d] = kn_window_dilation(&w, d);
        margins[d] = KN_INTS(2, none);
    }
    kn_atom padded = kn_derive_pad(&l, ct[0], low, high, inside);
    kn_param params[5];
    params[simple.base] = KN_INTS(t.rank, ones);
    params[simple.padding] = KN_TUPLE(t.rank, margins);
    params[simple.dilation] = KN_INTS(t.rank, dilation);
    params[simple.size] = KN_INTS(t.rank, w.size);
    params[simple.stride] = KN_INTS(t.rank, strides);
    ct_in[0] = kn_low_op(&l, e->prim, params, &padded, 1);
    return l.status;
}
#define jvp_reduce_window_sum kn_jvp_linear

/* The tangent of the element that a window chose. */
static kiln_status chosen_tangent(kn_build *b, const kn_eqn *e, const kn_atom *x, const kn_atom *dx, const char *select, kn_atom *dy)
{
    const kn_param *p = e->params;
    kn_param params[] = {p[simple.base], p[simple.padding], KN_TEXT(select), p[simple.dilation], p[simple.size], p[simple.stride]};
    return kn_build_eqn(b, &kn_prim_select_and_gather_add, params, (kn_atom[]){dx[0], x[0]}, 2, dy, 1);
}
static kiln_status jvp_reduce_window_max(KN_JVP_ARGS) { return (void)r, (void)j, (void)y, chosen_tangent(b, e, x, dx, "ge", dy); }
static kiln_status jvp_reduce_window_min(KN_JVP_ARGS) { return (void)r, (void)j, (void)y, chosen_tangent(b, e, x, dx, "le", dy); }

#define transpose_reduce_window_sum transpose_window_sum
#define transpose_reduce_window_max NULL
#define transpose_reduce_window_min NULL

#define SIMPLE(id, sop, text)                                                                                         \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = KN_LEVEL_TRACED, KN_PARAMS(simple_params), .scalar_op = KN_S_##sop, .type = type_simple,      \
        .eval = eval_simple, .lower = lower_simple,                                                                    \
        .jvp = jvp_##id, .transpose = transpose_##id,                                                                  \
        .batch = batch_simple,                                                                                         \
        .sample = kn_sample_window, .doc = (text)                                                                      \
    }
KILN_PRIM(reduce_window_max) = SIMPLE(reduce_window_max, max, "Maximum over windows that slide over the array.");
KILN_PRIM(reduce_window_min) = SIMPLE(reduce_window_min, min, "Minimum over windows that slide over the array.");
KILN_PRIM(reduce_window_sum) = SIMPLE(reduce_window_sum, add, "Sum over windows that slide over the array.");

/* ---- any body ---- */

static kiln_status type_any(kn_typing *t)
{
    uint32_t consts;
    KILN_TRY(kn_typing_consts(t, ANY_CONSTS, &consts));
    uint32_t n = (t->nin - consts) / 2;
    if ((t->nin - consts) % 2 || n == 0)
        return kn_fail(t->ctx, KILN_INVALID, "reduce_window: %u operands are no arrays with as many first values", t->nin - consts);
    const kiln_type *x = t->in + consts, *init = x + n;
    kiln_dtype *args = KN_NEWN(t->arena, kiln_dtype, 2 * n);
    KILN_TRY_MEM(t->ctx, args);
    KILN_TRY(kn_typing_out(t, n));
    for (uint32_t i = 0; i < n; i++) {
        bool same = x[i].rank == x[0].rank && init[i].rank == 0 && init[i].dtype == x[i].dtype;
        for (uint32_t d = 0; same && d < x[0].rank; d++) same = x[i].dims[d] == x[0].dims[d];
        if (!same)
            return kn_fail(t->ctx, KILN_SHAPE, "reduce_window: arrays must have one shape, first values be scalars of their types; %s with %s",
                           kn_type_show(x[i]).s, kn_type_show(init[i]).s);
        args[i] = args[n + i] = x[i].dtype;
        KILN_TRY(typed(t, any, x[i], i, x[i].dtype));
    }
    return kn_typing_scalar_body(t, ANY_BODY, consts, args, 2 * n, args, n);
}

/* Of element k, a number: has it become a NaN? */
static bool makes_nan(const kiln_array *from, int64_t k, const kiln_array *to)
{
    kiln_dtype d = from->type.dtype;
    if (kiln_dtype_kind(d) != 'c') return false;
    kn_scalar v = kn_scalar_load(d, from->data, k), w = kn_scalar_load(d, to->data, 0);
    return !isnan(v.c[0]) && !isnan(v.c[1]) && (isnan(w.c[0]) || isnan(w.c[1]));
}

static kiln_status fold_all(kn_caller *c, const kn_window *w, uint32_t n, kiln_array *const *x, kiln_array *const *init, kiln_array **out)
{
    kiln_type type = x[0]->type, y = out[0]->type, window = {KILN_BOOL, w->rank, w->size};
    int64_t ix[KN_MAX_RANK] = {0}, total = kiln_type_size(y), count = kiln_type_size(window);
    for (int64_t k = 0; k < total; k++, kn_next(y, ix)) {
        int64_t wx[KN_MAX_RANK] = {0};
        for (uint32_t i = 0; i < n; i++) kn_move(out[i], k, init[i], 0);
        for (int64_t q = 0; q < count; q++, kn_next(window, wx)) {
            int64_t at = kn_window_offset(w, type, ix, wx);
            for (uint32_t i = 0; i < n; i++) {
                kn_move(kn_caller_arg(c, i), 0, out[i], k);
                if (at < 0) kn_move(kn_caller_arg(c, n + i), 0, init[i], 0);
                else kn_move(kn_caller_arg(c, n + i), 0, x[i], at);
            }
            KILN_TRY(kn_caller_run(c));
            for (uint32_t i = 0; i < n; i++)
                if (at >= 0 || !makes_nan(out[i], k, c->out[i])) kn_move(out[i], k, c->out[i], 0);
        }
    }
    return KILN_OK;
}

static kiln_status eval_any(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    uint32_t consts = kn_body_consts(e, ANY_CONSTS), n = (e->nin - consts) / 2;
    kn_window w = kn_window_of(e, any);
    kn_caller c;
    KILN_TRY(kn_caller_init(&c, ev, e->params[ANY_BODY].jaxpr, in, consts));
    kiln_status s = fold_all(&c, &w, n, in + consts, in + consts + n, out);
    kn_caller_fini(&c);
    return s;
}

/* Where there is one array more than accumulators, it says which elements are no padding. */
static kiln_status any_step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    uint32_t n = f->nacc;
    kn_atom *args = KN_NEWN(&l->b->prog->arena, kn_atom, f->ncaptured + 2 * n), *made = KN_NEWN(&l->b->prog->arena, kn_atom, n);
    KILN_TRY_MEM(l->b->ctx, args && made);
    for (uint32_t i = 0; i < f->ncaptured; i++) args[i] = f->captured[i];
    for (uint32_t i = 0; i < n; i++) args[f->ncaptured + i] = acc[i], args[f->ncaptured + n + i] = slices[i];
    KILN_TRY(kn_low_apply(l, f->ud, args, f->result, made));
    for (uint32_t i = 0; i < n; i++) {
        if (f->n > n && kiln_dtype_kind(kn_build_type(l->b, acc[i]).dtype) == 'c') {
            kn_atom number = kn_low2(l, &kn_prim_and, kn_low1(l, &kn_prim_not, slices[n]), kn_low2(l, &kn_prim_eq, acc[i], acc[i]));
            made[i] = kn_low_select(l, kn_low2(l, &kn_prim_and, number, kn_low2(l, &kn_prim_ne, made[i], made[i])), acc[i], made[i]);
        }
        acc[i] = made[i];
    }
    return l->status;
}

static bool has_padding(const kn_window *w)
{
    for (uint32_t d = 0; d < w->rank; d++)
        if (kn_window_low(w, d) > 0 || kn_window_high(w, d) > 0 || kn_window_base(w, d) > 1) return true;
    return false;
}

static kiln_status lower_any(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    uint32_t consts = kn_body_consts(e, ANY_CONSTS), n = (e->nin - consts) / 2;
    kn_window w = kn_window_of(e, any);
    kn_atom *padded = KN_NEWN(&b->prog->arena, kn_atom, n + 1);
    bool complex = false;
    KILN_TRY_MEM(b->ctx, padded);
    for (uint32_t i = 0; i < n; i++) {
        padded[i] = kn_low_window_pad(&l, &w, x[consts + i], x[consts + n + i]);
        y[i] = kn_low_widen(&l, x[consts + n + i], kn_out_type(j, e, i));
        complex |= kiln_dtype_kind(kn_out_type(j, e, i).dtype) == 'c';
    }
    bool marked = complex && has_padding(&w);
    if (marked) {
        kiln_type t = kn_in_type(j, e, consts);
        t.dtype = KILN_BOOL;
        padded[n] = kn_low_window_pad(&l, &w, kn_low_fill(&l, t, (kn_scalar){.b = true}), kn_low_num(&l, KILN_BOOL, 0));
    }
    kn_window_fold f = {.w = &w, .result = kn_out_type(j, e, 0), .n = n + marked, .nacc = n, .ncaptured = consts, .padded = padded, .captured = x,
                        .step = any_step, .ud = e->params[ANY_BODY].jaxpr};
    return kn_low_window_fold(&l, &f, y);
}

static kiln_status batch_any(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t consts = kn_body_consts(e, ANY_CONSTS), n = (e->nin - consts) / 2;
    if (kn_any_lanes(&m, 0, consts) || kn_any_lanes(&m, consts + n, e->nin)) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    kn_param *p = kn_lanes_params(&m);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, p && in);
    kn_window_lanes(&m, any, p);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < consts || i >= consts + n ? x[i] : kn_lanes_full(&m, i);
    return kn_lanes_emit(&m, p, in, y);
}

KILN_PRIM(reduce_window) = {
    .name = "reduce_window",
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE,
    KN_PARAMS(any_params),
    .type = type_any,
    .jvp = kn_jvp_lowered,
    .eval = eval_any,
    .lower = lower_any,
    .batch = batch_any,
    .sample = kn_sample_window_any,
    .doc = "Folds windows that slide over arrays of one shape with the body `jaxpr`, in row-major order from given first values, which "
           "padding has too.",
};
