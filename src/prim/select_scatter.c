/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that choose one of their elements: select_and_scatter writes a source there, select_and_gather_add reads another array
 * there. Padding is never chosen by the first; in the second it takes part with the least or greatest number. */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/index.h"
#include "prim/sample.h"
#include "prim/window.h"
#include "rt/reduce.h"

#include "prims.gen.h"

/* ---- select_and_scatter ---- */

enum { ADD_PADDING, ADD_SELECT };
static const kn_param_spec add_params[] = {
    {"padding", KN_P_NONE, 0},
    {"select_prim", KN_P_TEXT, 0},
    {"window_dimensions", KN_P_INTS, 0},
    {"window_strides", KN_P_INTS, 0},
};
static const kn_window_places add_places = {.base = -1, .padding = 0, .dilation = -1, .size = 2, .stride = 3};

enum { ANY_CONSTS, ANY_PADDING, ANY_SCATTER = 3, ANY_SELECT = 5 };
static const kn_param_spec any_params[] = {
    {"num_consts", KN_P_TUPLE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE}, /* of the selection, of the scatter */
    {"padding", KN_P_NONE, 0},
    {"scatter_consts", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"scatter_jaxpr", KN_P_JAXPR, 0},
    {"select_consts", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"select_jaxpr", KN_P_JAXPR, 0},
    {"window_dimensions", KN_P_INTS, 0},
    {"window_strides", KN_P_INTS, 0},
};
static const kn_window_places any_places = {.base = -1, .padding = 1, .dilation = -1, .size = 6, .stride = 7};

/* Operands: captures of the selection, captures of the scatter, operand, source, first value. */
typedef struct choosing {
    kn_window w;
    const kn_jaxpr *select, *scatter;
    uint32_t nselect, nscatter;
} choosing;

static bool counts(const kn_param *p, uint32_t nin, uint32_t *nselect, uint32_t *nscatter)
{
    *nselect = *nscatter = 0;
    if (p->kind == KN_P_NONE) return true;
    if (p->kind != KN_P_INTS || p->n != 2 || p->ints[0] < 0 || p->ints[1] < 0 || p->ints[0] > nin || p->ints[1] > nin) return false;
    *nselect = (uint32_t)p->ints[0];
    *nscatter = (uint32_t)p->ints[1];
    return true;
}

static choosing choosing_of(const kn_eqn *e)
{
    choosing c = {.w = kn_window_of(e, any_places), .select = e->params[ANY_SELECT].jaxpr, .scatter = e->params[ANY_SCATTER].jaxpr};
    counts(&e->params[ANY_CONSTS], e->nin, &c.nselect, &c.nscatter);
    return c;
}

static kiln_status typed(kn_typing *t, kn_window_places at, kiln_type x, kiln_type source)
{
    kn_window w;
    int64_t dims[KN_MAX_RANK];
    if (x.rank > KN_MAX_RANK) return kn_fail(t->ctx, KILN_UNSUPPORTED, "%s: an array has too many dimensions", t->prim->name);
    KILN_TRY(kn_window_typed(t, at, x.rank, &w));
    KILN_TRY(kn_window_result(t, &w, x.dims, dims));
    kiln_type want = {x.dtype, x.rank, dims};
    if (!kiln_type_equal(want, source))
        return kn_fail(t->ctx, KILN_SHAPE, "%s: the source is %s, but the windows of %s give %s", t->prim->name, kn_type_show(source).s,
                       kn_type_show(x).s, kn_type_show(want).s);
    return KILN_OK;
}

static kiln_status type_any(kn_typing *t)
{
    uint32_t ns, nu;
    if (!counts(&t->params[ANY_CONSTS], t->nin, &ns, &nu) || t->nin != ns + nu + 3)
        return kn_fail(t->ctx, KILN_INVALID, "select_and_scatter: %u operands are no captures, operand, source and first value", t->nin);
    kiln_type x = t->in[ns + nu], source = t->in[ns + nu + 1], init = t->in[ns + nu + 2];
    KILN_TRY(typed(t, any_places, x, source));
    if (!kiln_type_equal(init, KILN_SCALAR(x.dtype)))
        return kn_fail(t->ctx, KILN_DTYPE, "select_and_scatter: the first value is %s, a scalar of %s is needed", kn_type_show(init).s, kiln_dtype_name(x.dtype));
    kiln_dtype two[] = {x.dtype, x.dtype}, flag = KILN_BOOL;
    kn_typing shifted = *t; /* the second body's captures come behind the first's */
    KILN_TRY(kn_typing_scalar_body(t, ANY_SELECT, ns, two, 2, &flag, 1));
    shifted.in = t->in + ns;
    KILN_TRY(kn_typing_scalar_body(&shifted, ANY_SCATTER, nu, two, 2, two, 1));
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, x.dtype, x);
}

/* Offset of the element that the window of source index ix chooses, or -1 where it lies in the padding. */
static kiln_status chosen(const kn_window *w, kn_caller *select, const kiln_array *x, const int64_t *ix, int64_t *out)
{
    kiln_type window = {KILN_BOOL, w->rank, w->size};
    int64_t wx[KN_MAX_RANK] = {0}, count = kiln_type_size(window);
    *out = -1;
    for (int64_t q = 0; q < count; q++, kn_next(window, wx)) {
        int64_t at = kn_window_offset(w, x->type, ix, wx);
        if (at < 0) continue;
        if (*out >= 0) {
            kn_move(kn_caller_arg(select, 0), 0, x, *out);
            kn_move(kn_caller_arg(select, 1), 0, x, at);
            KILN_TRY(kn_caller_run(select));
            if (*(const unsigned char *)select->out[0]->data) continue;
        }
        *out = at;
    }
    return KILN_OK;
}

static kiln_status scatter_all(const kn_window *w, kn_caller *select, kn_caller *scatter, const kiln_array *x, const kiln_array *source, kiln_array *out)
{
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(source->type), at;
    for (int64_t k = 0; k < n; k++, kn_next(source->type, ix)) {
        KILN_TRY(chosen(w, select, x, ix, &at));
        if (at < 0) continue;
        kn_move(kn_caller_arg(scatter, 0), 0, out, at);
        kn_move(kn_caller_arg(scatter, 1), 0, source, k);
        KILN_TRY(kn_caller_run(scatter));
        kn_move(out, at, scatter->out[0], 0);
    }
    return KILN_OK;
}

static kiln_status eval_any(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    choosing c = choosing_of(e);
    kiln_array *const *x = in + c.nselect + c.nscatter;
    for (int64_t k = 0, n = kiln_type_size(out[0]->type); k < n; k++) kn_move(out[0], k, x[2], 0);
    kn_caller select, scatter = {.in = NULL};
    KILN_TRY(kn_caller_init(&select, ev, c.select, in, c.nselect));
    kiln_status s = kn_caller_init(&scatter, ev, c.scatter, in + c.nselect, c.nscatter);
    if (s == KILN_OK) s = scatter_all(&c.w, &select, &scatter, x[0], x[1], out[0]);
    kn_caller_fini(&select);
    kn_caller_fini(&scatter);
    return s;
}

/* ---- its lowering: the places are chosen for all windows at once, then a scatter over the flat array ---- */

/* acc: the chosen element, its offset (-1: none yet). Slices: elements, their offsets (-1: padding). */
static kiln_status choose_step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    kn_atom *args = KN_NEWN(&l->b->prog->arena, kn_atom, f->ncaptured + 2), keep, zero = kn_low_num(l, KILN_I64, 0);
    KILN_TRY_MEM(l->b->ctx, args);
    for (uint32_t i = 0; i < f->ncaptured; i++) args[i] = f->captured[i];
    args[f->ncaptured] = acc[0];
    args[f->ncaptured + 1] = slices[0];
    KILN_TRY(kn_low_apply(l, f->ud, args, f->result, &keep));
    keep = kn_low2(l, &kn_prim_and, keep, kn_low2(l, &kn_prim_ge, acc[1], zero));
    keep = kn_low2(l, &kn_prim_or, keep, kn_low2(l, &kn_prim_lt, slices[1], zero));
    acc[0] = kn_low_select(l, keep, acc[0], slices[0]);
    acc[1] = kn_low_select(l, keep, acc[1], slices[1]);
    return l->status;
}

static kiln_status lower_choice(kn_low *l, const choosing *c, kiln_type type, kiln_type source, const kn_atom *captured, kn_atom x, kn_atom *offset)
{
    int64_t n = kiln_type_size(type);
    kn_atom padded[2], acc[2];
    kn_atom place = kn_low_reshape(l, kn_low_iota(l, (kiln_type){KILN_I64, 1, &n}, 0), type.rank, type.dims);
    kn_scalar zero = {.c = {0, 0}};
    padded[0] = kn_low_window_pad(l, &c->w, x, kn_low_fill(l, KILN_SCALAR(type.dtype), zero));
    padded[1] = kn_low_window_pad(l, &c->w, place, kn_low_num(l, KILN_I64, -1));
    acc[0] = kn_low_fill(l, source, zero);
    acc[1] = kn_low_fill(l, (kiln_type){KILN_I64, source.rank, source.dims}, (kn_scalar){.i = -1});
    kn_window_fold f = {.w = &c->w, .result = source, .n = 2, .nacc = 2, .ncaptured = c->nselect, .padded = padded, .captured = captured,
                        .step = choose_step, .ud = c->select};
    KILN_TRY(kn_low_window_fold(l, &f, acc));
    *offset = acc[1];
    return l->status;
}

/* How elements of a flat array are named by their offsets; those outside, as -1 is, are left out. */
#define LEAVE_OUT "GatherScatterMode.FILL_OR_DROP"
static kn_param flat_places(kn_param *lists)
{
    static const int64_t zero = 0;
    static const char *const keys[] = {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims",
                                       "scatter_indices_batching_dims"};
    for (int i = 0; i < 5; i++) lists[i] = i == 1 || i == 2 ? KN_INTS(1, &zero) : KN_INTS(0, NULL);
    return (kn_param){.kind = KN_P_RECORD, .n = 5, .items = lists, .name = "ScatterDimensionNumbers", .keys = keys};
}

static kiln_status lower_any(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    choosing c = choosing_of(e);
    const kn_atom *own = x + c.nselect + c.nscatter;
    kiln_type type = kn_out_type(j, e, 0), source = kn_in_type(j, e, c.nselect + c.nscatter + 1);
    int64_t n = kiln_type_size(type), m = kiln_type_size(source);
    y[0] = kn_low_widen(&l, own[2], type);
    if (n == 0 || m == 0) return l.status;
    kn_atom offset;
    KILN_TRY(lower_choice(&l, &c, type, source, x, own[0], &offset));
    kn_param lists[5], params[] = {flat_places(lists), KN_BOOL(false), KN_TEXT(LEAVE_OUT), c.nscatter ? KN_INT(c.nscatter) : KN_NONE, KN_BOOL(false),
                                   KN_NONE, KN_JAXPR(c.scatter)};
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, c.nscatter + 3);
    KILN_TRY_MEM(b->ctx, in);
    for (uint32_t i = 0; i < c.nscatter; i++) in[i] = x[c.nselect + i];
    in[c.nscatter] = kn_low_reshape(&l, y[0], 1, &n);
    in[c.nscatter + 1] = kn_low_reshape(&l, offset, 2, (int64_t[]){m, 1});
    in[c.nscatter + 2] = kn_low_reshape(&l, own[1], 1, &m);
    y[0] = kn_low_reshape(&l, kn_low_op(&l, &kn_prim_scatter_apply, params, in, c.nscatter + 3), type.rank, type.dims);
    return l.status;
}

static kiln_status windows_with_lanes(kn_lanes *m, kn_window_places at, uint32_t first, kn_atom *y)
{
    kn_param *p = kn_lanes_params(m);
    kn_atom *in = KN_NEWN(&m->l.b->prog->arena, kn_atom, m->e->nin);
    KILN_TRY_MEM(m->l.b->ctx, p && in);
    kn_window_lanes(m, at, p);
    for (uint32_t i = 0; i < m->e->nin; i++) in[i] = i < first || i >= first + 2 ? m->x[i] : kn_lanes_full(m, i);
    return kn_lanes_emit(m, p, in, y);
}
static kiln_status batch_any(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    if (kn_any_lanes(&m, 0, e->nin - 3) || kn_has_lanes(&m, e->nin - 1)) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    return windows_with_lanes(&m, any_places, e->nin - 3, y);
}

KILN_PRIM(select_and_scatter) = {
    .name = "select_and_scatter",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_JVP_WHOLE,
    KN_PARAMS(any_params),
    .type = type_any,
    .jvp = kn_jvp_lowered,
    .eval = eval_any,
    .lower = lower_any,
    .batch = batch_any,
    .sample = kn_sample_select_and_scatter,
    .doc = "Each window of the operand chooses an element: the first one that select_jaxpr keeps against all later ones. An element of the "
           "source is combined there by scatter_jaxpr with what the result holds, which begins as the first value.",
};

/* ---- select_and_scatter_add: source, operand; by its bodies a select_and_scatter ---- */

static bool greater_first(const kn_param *p, bool *ge)
{
    *ge = p->kind == KN_P_TEXT && strcmp(p->text, "ge") == 0;
    return *ge || (p->kind == KN_P_TEXT && strcmp(p->text, "le") == 0);
}

static kiln_status check_select(const kn_typing *t, uint32_t k)
{
    bool ge;
    if (greater_first(&t->params[k], &ge)) return KILN_OK;
    return kn_fail(t->ctx, KILN_INVALID, "%s: select_prim must be ge or le", t->prim->name);
}

static kiln_status type_add(kn_typing *t)
{
    KILN_TRY(check_select(t, ADD_SELECT));
    KILN_TRY(kn_typing_kinds(t, 1, "iuf"));
    KILN_TRY(typed(t, add_places, t->in[1], t->in[0]));
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, t->in[1].dtype, t->in[1]);
}

static kiln_status two_scalars(kn_build *outer, const kn_prim *prim, kiln_dtype d, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    kn_atom in[2];
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, KILN_SCALAR(d), &in[i]));
    kn_low l = {&b, KILN_OK};
    kn_atom y = kn_low2(&l, prim, in[0], in[1]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &y, 1, out);
}

static kiln_status lower_add(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    bool ge;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_out_type(j, e, 0).dtype;
    const kn_jaxpr *select, *scatter;
    greater_first(&e->params[ADD_SELECT], &ge);
    KILN_TRY(two_scalars(b, ge ? &kn_prim_ge : &kn_prim_le, d, &select));
    KILN_TRY(two_scalars(b, &kn_prim_add, d, &scatter));
    kn_param params[] = {KN_NONE, e->params[ADD_PADDING], KN_NONE, KN_JAXPR(scatter), KN_NONE, KN_JAXPR(select), e->params[2], e->params[3]};
    kn_atom in[] = {x[1], x[0], kn_low_fill(&l, KILN_SCALAR(d), (kn_scalar){.u = 0})};
    y[0] = kn_low_op(&l, &kn_prim_select_and_scatter, params, in, 3);
    return l.status;
}

static kiln_status batch_add(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    return windows_with_lanes(&m, add_places, 0, y);
}

/* Linear in the source; which elements are chosen does not change. */
static kiln_status jvp_add(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    return dx[0] == KN_SYMBOLIC_ZERO ? KILN_OK : kn_build_eqn(b, e->prim, e->params, (kn_atom[]){dx[0], x[1]}, 2, dy, 1);
}
static kiln_status transpose_add(KN_TRANSPOSE_ARGS)
{
    (void)r;
    const kn_param *p = e->params;
    int64_t ones[KN_MAX_RANK];
    uint32_t rank = kn_in_type(j, e, 1).rank;
    for (uint32_t d = 0; d < rank; d++) ones[d] = 1;
    kn_param params[] = {KN_INTS(rank, ones), p[ADD_PADDING], p[ADD_SELECT], KN_INTS(rank, ones), p[add_places.size], p[add_places.stride]};
    return kn_build_eqn(b, &kn_prim_select_and_gather_add, params, (kn_atom[]){ct[0], x[1]}, 2, &ct_in[0], 1);
}

KILN_PRIM(select_and_scatter_add) = {
    .name = "select_and_scatter_add",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(add_params),
    .type = type_add,
    .lower = lower_add,
    .jvp = jvp_add,
    .transpose = transpose_add,
    .batch = batch_add,
    .sample = kn_sample_select_and_scatter,
    .doc = "Adds each element of the source (first operand) where its window of the second operand has its greatest (ge) or least (le) "
           "element, the first one at a tie.",
};

/* ---- select_and_gather_add: tangents, operand ---- */

enum { GATHER_SELECT = 2 };
static const kn_param_spec gather_params[] = {
    {"base_dilation", KN_P_INTS, 0}, {"padding", KN_P_NONE, 0},           {"select_prim", KN_P_TEXT, 0},
    {"window_dilation", KN_P_INTS, 0}, {"window_dimensions", KN_P_INTS, 0}, {"window_strides", KN_P_INTS, 0},
};
static const kn_window_places gather_places = {.base = 0, .padding = 1, .dilation = 3, .size = 4, .stride = 5};

static kiln_status type_gather(kn_typing *t)
{
    kn_window w;
    int64_t *dims;
    KILN_TRY(check_select(t, GATHER_SELECT));
    KILN_TRY(kn_typing_kinds(t, 1, "iuf"));
    if (!kiln_type_equal(t->in[0], t->in[1]))
        return kn_fail(t->ctx, KILN_SHAPE, "select_and_gather_add needs equal types, %s and %s given", kn_type_show(t->in[0]).s, kn_type_show(t->in[1]).s);
    KILN_TRY(kn_window_typed(t, gather_places, t->in[0].rank, &w));
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_shape(t, 0, t->in[0].dtype, t->in[0].rank, &dims));
    return kn_window_result(t, &w, t->in[0].dims, dims);
}

static kiln_status gather_step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    kn_atom keep = kn_low2(l, f->ud, acc[0], slices[0]);
    acc[0] = kn_low_select(l, keep, acc[0], slices[0]);
    acc[1] = kn_low_select(l, keep, acc[1], slices[1]);
    return l->status;
}

static kiln_status lower_gather(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    bool ge;
    kn_low l = {b, KILN_OK};
    kn_window w = kn_window_of(e, gather_places);
    kiln_type result = kn_out_type(j, e, 0);
    greater_first(&e->params[GATHER_SELECT], &ge);
    kn_scalar least = kn_reduce_identity(ge ? KN_S_max : KN_S_min, result.dtype), zero = {.u = 0};
    kn_atom padded[2], acc[2];
    padded[0] = kn_low_window_pad(&l, &w, x[1], kn_low_fill(&l, KILN_SCALAR(result.dtype), least));
    padded[1] = kn_low_window_pad(&l, &w, x[0], kn_low_fill(&l, KILN_SCALAR(result.dtype), zero));
    acc[0] = kn_low_fill(&l, result, least);
    acc[1] = kn_low_fill(&l, result, zero);
    kn_window_fold f = {.w = &w, .result = result, .n = 2, .nacc = 2, .padded = padded, .step = gather_step, .ud = ge ? &kn_prim_ge : &kn_prim_le};
    KILN_TRY(kn_low_window_fold(&l, &f, acc));
    y[0] = acc[1];
    return l.status;
}

static kiln_status batch_gather(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    return windows_with_lanes(&m, gather_places, 0, y);
}

static kiln_status jvp_gather(KN_JVP_ARGS)
{
    (void)r, (void)j, (void)y;
    return dx[0] == KN_SYMBOLIC_ZERO ? KILN_OK : kn_build_eqn(b, e->prim, e->params, (kn_atom[]){dx[0], x[1]}, 2, dy, 1);
}

/* Spread windows or elements have no select_and_scatter_add: the chosen places are found, then added to. */
static kiln_status add_at_chosen(kn_build *b, const kn_eqn *e, kn_window w, kiln_type t, kn_atom x, kn_atom ct, kn_atom *out)
{
    kn_low l = {b, KILN_OK};
    bool ge;
    kiln_type u = kn_build_type(b, ct);
    int64_t n = kiln_type_size(t), m = kiln_type_size(u);
    choosing c = {.w = w};
    kn_atom offset;
    greater_first(&e->params[GATHER_SELECT], &ge);
    if (n == 0 || m == 0) return kn_zeros(b, t, out);
    KILN_TRY(two_scalars(b, ge ? &kn_prim_ge : &kn_prim_le, t.dtype, &c.select));
    KILN_TRY(lower_choice(&l, &c, t, u, NULL, x, &offset));
    kn_param lists[5], dims = flat_places(lists), mode = KN_TEXT(LEAVE_OUT);
    kn_scatter_like how = {&dims, &mode, false, false};
    kn_atom zeros = kn_low_fill(&l, (kiln_type){t.dtype, 1, &n}, (kn_scalar){.u = 0}), sum = 0;
    offset = kn_low_reshape(&l, offset, 2, (int64_t[]){m, 1});
    kn_atom flat = kn_low_reshape(&l, ct, 1, &m);
    KILN_TRY(l.status);
    KILN_TRY(kn_build_scatter(b, &kn_prim_scatter_add, &how, zeros, offset, flat, &sum));
    *out = kn_low_reshape(&l, sum, t.rank, t.dims);
    return l.status;
}

static kiln_status transpose_gather(KN_TRANSPOSE_ARGS)
{
    (void)r;
    const kn_param *p = e->params;
    kn_window w = kn_window_of(e, gather_places);
    bool spread = false;
    for (uint32_t d = 0; d < w.rank; d++) spread = spread || kn_window_base(&w, d) != 1 || kn_window_dilation(&w, d) != 1;
    if (spread) return add_at_chosen(b, e, w, kn_in_type(j, e, 1), x[1], ct[0], &ct_in[0]);
    kn_param params[] = {p[gather_places.padding], p[GATHER_SELECT], p[gather_places.size], p[gather_places.stride]};
    return kn_build_eqn(b, &kn_prim_select_and_scatter_add, params, (kn_atom[]){ct[0], x[1]}, 2, &ct_in[0], 1);
}

KILN_PRIM(select_and_gather_add) = {
    .name = "select_and_gather_add",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(gather_params),
    .type = type_gather,
    .lower = lower_gather,
    .jvp = jvp_gather,
    .transpose = transpose_gather,
    .batch = batch_gather,
    .sample = kn_sample_window,
    .doc = "For each window of the second operand the element of the first that stands where the window has its greatest (ge) or least "
           "(le) element, the first one at a tie; 0 where that is padding.",
};
