/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: a fold with any body, over several arrays at once. Operands: what the body captured, the arrays, their first values;
 * the body takes captures, accumulators, elements. A body that applies one of add, mul, min, max, and, or, xor has the order of
 * the reduction of that name, whose result is combined with the first value last, on the left. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/sample.h"
#include "prim/window.h"
#include "rt/reduce.h"

#include "prims.gen.h"

enum { FOLD_COMPUTATION, FOLD_DIMENSIONS, FOLD_BODY, FOLD_CONSTS };
static const kn_param_spec fold_params[] = {
    {"computation", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"dimensions", KN_P_INTS, 0},
    {"jaxpr", KN_P_JAXPR, 0},
    {"num_consts", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

static kiln_status type_fold(kn_typing *t)
{
    const int64_t *axes;
    uint32_t consts, naxes;
    KILN_TRY(kn_typing_consts(t, FOLD_CONSTS, &consts));
    uint32_t n = (t->nin - consts) / 2;
    if ((t->nin - consts) % 2 || n == 0)
        return kn_fail(t->ctx, KILN_INVALID, "reduce: %u operands are no arrays with as many first values", t->nin - consts);
    const kiln_type *x = t->in + consts, *init = x + n;
    KILN_TRY(kn_typing_axes(t, FOLD_DIMENSIONS, x[0].rank, false, &axes, &naxes));
    KILN_TRY(kn_typing_out(t, n));
    kiln_dtype *args = KN_NEWN(t->arena, kiln_dtype, 2 * n);
    KILN_TRY_MEM(t->ctx, args);
    for (uint32_t i = 0; i < n; i++) {
        bool same = x[i].rank == x[0].rank;
        for (uint32_t d = 0; same && d < x[0].rank; d++) same = x[i].dims[d] == x[0].dims[d];
        if (!same) return kn_fail(t->ctx, KILN_SHAPE, "reduce: arrays must have one shape, %s and %s given", kn_type_show(x[0]).s, kn_type_show(x[i]).s);
        if (init[i].rank) return kn_fail(t->ctx, KILN_SHAPE, "reduce: first value %u is %s, a scalar is needed", i, kn_type_show(init[i]).s);
        args[i] = init[i].dtype;
        args[n + i] = x[i].dtype;
        int64_t *dims;
        uint32_t k = 0;
        KILN_TRY(kn_typing_shape(t, i, init[i].dtype, x[0].rank - naxes, &dims));
        for (uint32_t d = 0; d < x[0].rank; d++) {
            bool gone = false;
            for (uint32_t a = 0; a < naxes; a++) gone = gone || axes[a] == (int64_t)d;
            if (!gone) dims[k++] = x[0].dims[d];
        }
    }
    return kn_typing_scalar_body(t, FOLD_BODY, consts, args, 2 * n, args, n);
}

/* The operation with an order of its own that a body without captures applies. Of complex numbers only sums have one, that of
 * their parts. */
static kn_sop known_op(const kn_jaxpr *body, uint32_t consts, kiln_dtype x, kiln_dtype init)
{
    kn_sop op = consts == 0 && x == init ? kn_body_sop(body) : KN_S_NONE;
    return op != KN_S_add && kiln_dtype_kind(x) == 'c' ? KN_S_NONE : op;
}

static bool reduced(const kn_eqn *e, uint32_t d)
{
    const kn_param *p = &e->params[FOLD_DIMENSIONS];
    for (uint32_t i = 0; i < p->n; i++)
        if (kn_ints(p)[i] == (int64_t)d) return true;
    return false;
}

/* The dimensions that are reduced (or kept) as a shape, and the strides of x along them. */
static kiln_type part_of(const kn_eqn *e, kiln_type x, bool gone, int64_t *dims, int64_t *stride)
{
    int64_t all[KN_MAX_RANK];
    kiln_type t = {x.dtype, 0, dims};
    kn_strides(x, all);
    for (uint32_t d = 0; d < x.rank; d++)
        if (reduced(e, d) == gone) dims[t.rank] = x.dims[d], stride[t.rank++] = all[d];
    return t;
}
static int64_t dot(const int64_t *a, const int64_t *b, uint32_t n)
{
    int64_t s = 0;
    for (uint32_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static kiln_status left_fold(kn_caller *c, const kn_eqn *e, uint32_t n, kiln_array *const *x, kiln_array *const *init, kiln_array **out)
{
    int64_t kdims[KN_MAX_RANK], kstride[KN_MAX_RANK], rdims[KN_MAX_RANK], rstride[KN_MAX_RANK], kx[KN_MAX_RANK] = {0};
    kiln_type kept = part_of(e, x[0]->type, false, kdims, kstride), gone = part_of(e, x[0]->type, true, rdims, rstride);
    int64_t nk = kiln_type_size(kept), nr = kiln_type_size(gone);
    for (int64_t k = 0; k < nk; k++, kn_next(kept, kx)) {
        int64_t base = dot(kx, kstride, kept.rank), rx[KN_MAX_RANK] = {0};
        for (uint32_t i = 0; i < n; i++) kn_move(out[i], k, init[i], 0);
        for (int64_t r = 0; r < nr; r++, kn_next(gone, rx)) {
            for (uint32_t i = 0; i < n; i++) {
                kn_move(kn_caller_arg(c, i), 0, out[i], k);
                kn_move(kn_caller_arg(c, n + i), 0, x[i], base + dot(rx, rstride, gone.rank));
            }
            KILN_TRY(kn_caller_run(c));
            for (uint32_t i = 0; i < n; i++) kn_move(out[i], k, c->out[i], 0);
        }
    }
    return KILN_OK;
}

static kiln_status eval_fold(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    uint32_t consts = kn_body_consts(e, FOLD_CONSTS), n = (e->nin - consts) / 2;
    const kn_jaxpr *body = e->params[FOLD_BODY].jaxpr;
    kiln_array *const *x = in + consts, *const *init = x + n;
    kn_sop op = known_op(body, consts, x[0]->type.dtype, init[0]->type.dtype);
    if (op) {
        kiln_dtype d = x[0]->type.dtype;
        kn_scalar first = kn_scalar_load(d, init[0]->data, 0), own = kn_reduce_identity(op, kn_accumulator(d));
        kn_reduce(op, x[0]->type, x[0]->data, kn_ints(&e->params[FOLD_DIMENSIONS]), e->params[FOLD_DIMENSIONS].n, own, out[0]->data);
        for (int64_t k = 0, size = kiln_type_size(out[0]->type); k < size; k++) {
            kn_scalar v = kn_scalar_load(d, out[0]->data, k);
            kn_scalar_store(d, out[0]->data, k, kn_sop_eval(op, d, d, first, v, v));
        }
        return KILN_OK;
    }
    kn_caller c;
    KILN_TRY(kn_caller_init(&c, ev, body, in, consts));
    kiln_status s = left_fold(&c, e, n, x, init, out);
    kn_caller_fini(&c);
    return s;
}

/* ---- lowering ---- */

static kiln_status step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    kn_atom *args = KN_NEWN(&l->b->prog->arena, kn_atom, f->ncaptured + f->nacc + f->n);
    KILN_TRY_MEM(l->b->ctx, args);
    for (uint32_t i = 0; i < f->ncaptured; i++) args[i] = f->captured[i];
    for (uint32_t i = 0; i < f->n; i++) args[f->ncaptured + i] = acc[i], args[f->ncaptured + f->n + i] = slices[i];
    return kn_low_apply(l, f->ud, args, f->result, acc);
}

static kiln_status by_reduction(kn_low *l, const kn_eqn *e, kn_sop op, kn_atom x, kn_atom init, kn_atom *y)
{
    static const struct {
        kn_sop op;
        const kn_prim *reduce, *combine;
    } rows[] = {
        {KN_S_add, &kn_prim_reduce_sum, &kn_prim_add}, {KN_S_mul, &kn_prim_reduce_prod, &kn_prim_mul},
        {KN_S_min, &kn_prim_reduce_min, &kn_prim_min}, {KN_S_max, &kn_prim_reduce_max, &kn_prim_max},
        {KN_S_and, &kn_prim_reduce_and, &kn_prim_and}, {KN_S_or, &kn_prim_reduce_or, &kn_prim_or},
        {KN_S_xor, &kn_prim_reduce_xor, &kn_prim_xor},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != op) continue;
        kn_param params[] = {e->params[FOLD_DIMENSIONS], KN_NONE};
        bool bare = op == KN_S_add && strchr("fc", kiln_dtype_kind(kn_build_type(l->b, x).dtype));
        *y = kn_low2(l, rows[i].combine, init, kn_low_op(l, bare ? &kn_prim_reduce_add : rows[i].reduce, params, &x, 1));
    }
    return l->status;
}

static kiln_status lower_fold(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    uint32_t consts = kn_body_consts(e, FOLD_CONSTS), n = (e->nin - consts) / 2;
    const kn_jaxpr *body = e->params[FOLD_BODY].jaxpr;
    kiln_type t = kn_in_type(j, e, consts);
    kn_sop op = known_op(body, consts, t.dtype, kn_in_type(j, e, n).dtype);
    if (op) return by_reduction(&l, e, op, x[0], x[1], y);
    int64_t size[KN_MAX_RANK], dims[KN_MAX_RANK], stride[KN_MAX_RANK];
    bool none = false;
    for (uint32_t d = 0; d < t.rank; d++) {
        bool gone = reduced(e, d);
        size[d] = gone ? t.dims[d] : 1, dims[d] = gone ? 1 : t.dims[d], stride[d] = 1;
        none = none || (gone && t.dims[d] == 0);
    }
    kn_window w = {.rank = t.rank, .size = size, .stride = stride};
    kiln_type result = {t.dtype, t.rank, dims};
    for (uint32_t i = 0; i < n; i++) y[i] = kn_low_widen(&l, x[consts + n + i], (kiln_type){kn_in_type(j, e, consts + n + i).dtype, t.rank, dims});
    kn_window_fold f = {.w = &w, .result = result, .n = n, .nacc = n, .ncaptured = consts, .padded = x + consts, .captured = x, .step = step, .ud = body};
    if (!none) KILN_TRY(kn_low_window_fold(&l, &f, y));
    for (uint32_t i = 0; i < n; i++) y[i] = kn_low_reshape(&l, y[i], kn_out_type(j, e, i).rank, kn_out_type(j, e, i).dims);
    return l.status;
}

/* Complex numbers are folded by their parts, in the interpreter too: it takes eval_fold unless this rule is another than `lower`. */
static kiln_status lower_complex_fold(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    return lower_fold(r, b, j, e, x, y);
}

/* What the body captured and the first values are scalars of all lanes, or the lanes are folded one by one. */
static kiln_status batch_fold(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    uint32_t consts = kn_body_consts(e, FOLD_CONSTS), n = (e->nin - consts) / 2;
    if (kn_any_lanes(&m, 0, consts) || kn_any_lanes(&m, consts + n, e->nin)) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    kn_param *p = kn_lanes_params(&m);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, p && in);
    kn_lanes_shift(&m, &p[FOLD_DIMENSIONS]);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < consts || i >= consts + n ? x[i] : kn_lanes_full(&m, i);
    return kn_lanes_emit(&m, p, in, y);
}

KILN_PRIM(reduce) = {
    .name = "reduce",
    .rev = 1,
    .nin = KN_VARIADIC,
    .nout = KN_VARIADIC,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE,
    KN_PARAMS(fold_params),
    .type = type_fold,
    .jvp = kn_jvp_lowered,
    .eval = eval_fold,
    .lower = lower_fold,
    .lower_complex = lower_complex_fold,
    .batch = batch_fold,
    .sample = kn_sample_fold,
    .doc = "Folds arrays of one shape over the listed dimensions with the body `jaxpr`, from given first values: a left fold in "
           "row-major order, or in the documented order where the body applies one of add, mul, min, max, and, or, xor.",
};
