/* SPDX-License-Identifier: Apache-2.0 */
/* scatter and its kind: windows of the operand are combined with updates, in row-major order of the index vectors. A window that
 * does not lie inside is left out as a whole (CLIP moves it inside). */
#include "prim/derive.h"
#include "prim/batch.h"
#include "prim/body.h"
#include "prim/control.h"
#include "prim/index.h"
#include "prim/sample.h"

#include "prims.gen.h"

enum { SCATTER_DIMS, SCATTER_SORTED, SCATTER_MODE, SCATTER_CONSTS, SCATTER_UNIQUE, SCATTER_UPDATE_CONSTS, SCATTER_BODY };
static const kn_param_spec scatter_params[] = {
    {"dimension_numbers", KN_P_RECORD, 0},
    {"indices_are_sorted", KN_P_BOOL, 0},
    {"mode", KN_P_NONE, 0},
    {"num_consts", KN_P_INT, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"unique_indices", KN_P_BOOL, 0},
    {"update_consts", KN_P_NONE, KN_PARAM_OPTIONAL},
    {"update_jaxpr", KN_P_NONE, KN_PARAM_OPTIONAL},
};

/* Operands: captures, n arrays, indices, n updates. All but scatter-apply have one array and no captures. */
typedef struct scatter_parts {
    kn_index_dims d;
    kn_index_mode mode;
    uint32_t consts, n;
    kn_sop op;              /* how old and new combine; NONE: the update replaces, or `body` says it */
    const kn_jaxpr *body;   /* scatter-apply */
} scatter_parts;

static scatter_parts parts_of(const kn_eqn *e)
{
    scatter_parts p = {.op = (kn_sop)e->prim->scalar_op};
    kn_index_dims_of(&e->params[SCATTER_DIMS], true, &p.d);
    kn_index_mode_of(&e->params[SCATTER_MODE], &p.mode);
    p.consts = kn_body_consts(e, SCATTER_CONSTS);
    p.n = (e->nin - p.consts - 1) / 2;
    if (e->prim->nin == KN_VARIADIC) p.body = e->params[SCATTER_BODY].jaxpr;
    return p;
}

static kiln_status check_one(const kn_typing *t, const kn_index_dims *d, kiln_type x, kiln_type indices, kiln_type updates)
{
    int64_t sizes[KN_MAX_RANK];
    uint32_t b = 0;
    if (x.rank > KN_MAX_RANK || updates.rank > KN_MAX_RANK) return kn_fail(t->ctx, KILN_UNSUPPORTED, "%s: an array has too many dimensions", t->prim->name);
    for (uint32_t i = 0; i < d->window.n; i++)
        if (d->window.v[i] < 0 || d->window.v[i] >= (int64_t)updates.rank)
            return kn_fail(t->ctx, KILN_SHAPE, "%s: update_window_dims names dimension %lld of %s", t->prim->name, (long long)d->window.v[i],
                           kn_type_show(updates).s);
    kn_index_window(d, x.rank, updates, sizes);
    KILN_TRY(kn_index_check(t, d, x, indices, sizes, x.rank, updates.rank));
    for (uint32_t i = 0; i < updates.rank; i++)
        if (!kn_listed(d->window, i) && updates.dims[i] != indices.dims[b++])
            return kn_fail(t->ctx, KILN_SHAPE, "%s: updates %s do not fit indices %s", t->prim->name, kn_type_show(updates).s, kn_type_show(indices).s);
    return KILN_OK;
}

static kiln_status type_scatter(kn_typing *t)
{
    kn_index_dims d;
    kn_index_mode mode;
    uint32_t consts = 0;
    bool apply = t->prim->nin == KN_VARIADIC;
    if (!kn_index_dims_of(&t->params[SCATTER_DIMS], true, &d))
        return kn_fail(t->ctx, KILN_INVALID, "%s: dimension_numbers must be ScatterDimensionNumbers(..)", t->prim->name);
    if (!kn_index_mode_of(&t->params[SCATTER_MODE], &mode))
        return kn_fail(t->ctx, KILN_INVALID, "%s: mode must be one of CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS", t->prim->name);
    if (apply) KILN_TRY(kn_typing_consts(t, SCATTER_CONSTS, &consts));
    uint32_t left = t->nin - consts, n = left / 2;
    if (left < 3 || left % 2 == 0)
        return kn_fail(t->ctx, KILN_INVALID, "%s: %u operands are no arrays, indices and as many updates", t->prim->name, left);
    const kiln_type *x = t->in + consts, *updates = x + n + 1;
    kiln_dtype *args = KN_NEWN(t->arena, kiln_dtype, 2 * n);
    KILN_TRY_MEM(t->ctx, args);
    KILN_TRY(kn_typing_out(t, n));
    for (uint32_t i = 0; i < n; i++) {
        bool same = x[i].rank == x[0].rank && updates[i].rank == updates[0].rank;
        for (uint32_t k = 0; same && k < x[0].rank; k++) same = x[i].dims[k] == x[0].dims[k];
        for (uint32_t k = 0; same && k < updates[0].rank; k++) same = updates[i].dims[k] == updates[0].dims[k];
        if (!same) return kn_fail(t->ctx, KILN_SHAPE, "%s: all arrays must have one shape, and all updates", t->prim->name);
        if (!apply && x[i].dtype != updates[i].dtype)
            return kn_fail(t->ctx, KILN_DTYPE, "%s needs equal element types, %s and %s given", t->prim->name, kn_type_show(x[i]).s, kn_type_show(updates[i]).s);
        args[i] = x[i].dtype;
        args[n + i] = updates[i].dtype;
        KILN_TRY(kn_typing_like(t, i, x[i].dtype, x[i]));
    }
    KILN_TRY(check_one(t, &d, x[0], x[n], updates[0]));
    return apply ? kn_typing_scalar_body(t, SCATTER_BODY, consts, args, 2 * n, args, n) : KILN_OK;
}

/* Combines one element of each array with its update. */
static kiln_status combine(const scatter_parts *p, kn_caller *c, kiln_array *const *updates, kiln_array **out, int64_t at, int64_t k)
{
    if (!p->body) {
        if (p->op == KN_S_NONE) {
            kn_move(out[0], at, updates[0], k);
            return KILN_OK;
        }
        kiln_dtype d = out[0]->type.dtype;
        kn_scalar old = kn_scalar_load(d, out[0]->data, at), new = kn_scalar_load(d, updates[0]->data, k);
        kn_scalar_store(d, out[0]->data, at, kn_sop_eval(p->op, d, d, old, new, new));
        return KILN_OK;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        kn_move(kn_caller_arg(c, i), 0, out[i], at);
        kn_move(kn_caller_arg(c, p->n + i), 0, updates[i], k);
    }
    KILN_TRY(kn_caller_run(c));
    for (uint32_t i = 0; i < p->n; i++) kn_move(out[i], at, c->out[i], 0);
    return KILN_OK;
}

/* Updates in row-major order of the index vectors, each window in row-major order. */
static kiln_status scatter_all(const scatter_parts *p, kn_caller *c, kiln_array *const *in, kiln_array **out)
{
    kiln_array *const *updates = in + p->consts + p->n + 1, *indices = in[p->consts + p->n];
    kiln_type x = out[0]->type, u = updates[0]->type, index = indices->type;
    int64_t sizes[KN_MAX_RANK], batch[KN_MAX_RANK] = {0}, start[KN_MAX_RANK], w[KN_MAX_RANK], stride[KN_MAX_RANK];
    kiln_type vectors = {index.dtype, index.rank - 1, index.dims}, window = {x.dtype, x.rank, sizes};
    kn_index_window(&p->d, x.rank, u, sizes);
    kn_strides(u, stride);
    int64_t nv = kiln_type_size(vectors), nw = kiln_type_size(window);
    for (int64_t v = 0; v < nv; v++, kn_next(vectors, batch)) {
        bool inside = true;
        kn_index_start(&p->d, indices, x.rank, batch, start);
        for (uint32_t i = 0; i < x.rank; i++) {
            int64_t most = x.dims[i] - sizes[i];
            if (p->mode == KN_INDEX_CLIP) start[i] = start[i] < 0 ? 0 : start[i] > most ? most : start[i];
            inside = inside && start[i] >= 0 && start[i] <= most;
            w[i] = 0;
        }
        for (int64_t k = 0; inside && k < nw; k++, kn_next(window, w)) {
            int64_t at = 0, from = 0;
            uint32_t b = 0, q = 0;
            for (uint32_t i = 0; i < x.rank; i++) at = at * x.dims[i] + start[i] + w[i];
            for (uint32_t i = 0; i < u.rank; i++) {
                if (!kn_listed(p->d.window, i)) {
                    from += batch[b++] * stride[i];
                    continue;
                }
                while (kn_listed(p->d.collapsed, q) || kn_listed(p->d.operand_batch, q)) q++;
                from += w[q++] * stride[i];
            }
            KILN_TRY(combine(p, c, updates, out, at, from));
        }
    }
    return KILN_OK;
}

static kiln_status eval_scatter(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)j;
    scatter_parts p = parts_of(e);
    kn_caller c = {.in = NULL};
    for (uint32_t i = 0; i < p.n; i++)
        if (out[i]->bytes) memcpy(out[i]->data, in[p.consts + i]->data, out[i]->bytes);
    if (p.body) KILN_TRY(kn_caller_init(&c, ev, p.body, in, p.consts));
    kiln_status s = scatter_all(&p, &c, in, out);
    kn_caller_fini(&c);
    return s;
}

/* ---- lowering where it does not stay: one trip an index vector; a window that does not lie inside writes back what it finds ---- */

typedef struct trip {
    kn_low *l;
    const scatter_parts *p;
    kiln_type x, indices, updates;
    int64_t sizes[KN_MAX_RANK];
} trip;

static kn_atom integer(kn_low *l, int64_t v) { return kn_low_num(l, KILN_I64, (double)v); }

/* Coordinates of index vector i, row-major. */
static void coordinates(const trip *t, kn_atom i, kn_atom *batch)
{
    uint32_t rank = t->indices.rank - 1;
    for (uint32_t d = rank; d-- > 0;) {
        bool first = true;
        for (uint32_t k = 0; k < d; k++) first = first && t->indices.dims[k] == 1;
        batch[d] = t->indices.dims[d] == 1 ? integer(t->l, 0) : first ? i : kn_low2(t->l, &kn_prim_rem, i, integer(t->l, t->indices.dims[d]));
        if (!first && t->indices.dims[d] != 1) i = kn_low2(t->l, &kn_prim_div, i, integer(t->l, t->indices.dims[d]));
    }
}

/* Entry k of the index vector at these coordinates, as an i64. */
static kn_atom entry(const trip *t, kn_atom indices, const kn_atom *batch, uint32_t k)
{
    kn_atom in[KN_MAX_RANK + 1] = {indices};
    int64_t ones[KN_MAX_RANK];
    for (uint32_t d = 0; d < t->indices.rank; d++) {
        in[1 + d] = d + 1 < t->indices.rank ? batch[d] : integer(t->l, k);
        ones[d] = 1;
    }
    kn_atom v = kn_low_op(t->l, &kn_prim_dynamic_slice, &KN_INTS(t->indices.rank, ones), in, t->indices.rank + 1);
    v = kn_low_reshape(t->l, v, 0, NULL);
    if (t->indices.dtype == KILN_U64) {
        kn_atom most = 0;
        if (t->l->status == KILN_OK) t->l->status = kn_build_literal(t->l->b, KILN_U64, (kn_scalar){.u = INT64_MAX}, &most);
        v = kn_low2(t->l, &kn_prim_min, v, most);
    }
    return kn_low_convert(t->l, v, KILN_I64);
}

/* Start of the window along every dimension of the operand, and whether it lies inside. */
static kn_atom starts(const trip *t, kn_atom indices, const kn_atom *batch, kn_atom *start)
{
    kn_low *l = t->l;
    kn_atom inside = 0;
    bool any = false;
    for (uint32_t d = 0; d < t->x.rank; d++) start[d] = integer(l, 0);
    for (uint32_t k = 0; k < t->p->d.map.n; k++) {
        int64_t axis = t->p->d.map.v[k], most = t->x.dims[axis] - t->sizes[axis];
        kn_atom s = start[axis] = entry(t, indices, batch, k);
        kn_atom ok = kn_low2(l, &kn_prim_and, kn_low2(l, &kn_prim_ge, s, integer(l, 0)), kn_low2(l, &kn_prim_le, s, integer(l, most)));
        inside = any ? kn_low2(l, &kn_prim_and, inside, ok) : ok;
        any = true;
    }
    for (uint32_t k = 0; k < t->p->d.operand_batch.n; k++) start[t->p->d.operand_batch.v[k]] = batch[t->p->d.indices_batch.v[k]];
    return any && t->p->mode != KN_INDEX_CLIP ? inside : 0;
}

/* The update of this trip in the window's shape. */
static kn_atom update_at(const trip *t, kn_atom updates, const kn_atom *batch)
{
    kn_atom in[KN_MAX_RANK + 1] = {updates};
    int64_t sizes[KN_MAX_RANK];
    uint32_t b = 0;
    for (uint32_t d = 0; d < t->updates.rank; d++) {
        bool window = kn_listed(t->p->d.window, d);
        in[1 + d] = window ? integer(t->l, 0) : batch[b++];
        sizes[d] = window ? t->updates.dims[d] : 1;
    }
    kn_atom u = kn_low_op(t->l, &kn_prim_dynamic_slice, &KN_INTS(t->updates.rank, sizes), in, t->updates.rank + 1);
    return kn_low_reshape(t->l, u, t->x.rank, t->sizes);
}

static kiln_status combined(const trip *t, const kn_eqn *e, const kn_atom *consts, const kn_atom *old, const kn_atom *new, kn_atom *out)
{
    static const struct {
        kn_sop op;
        const kn_prim *prim;
    } prims[] = {{KN_S_add, &kn_prim_add}, {KN_S_sub, &kn_prim_sub}, {KN_S_mul, &kn_prim_mul}, {KN_S_min, &kn_prim_min}, {KN_S_max, &kn_prim_max}};
    const scatter_parts *p = t->p;
    if (p->body) {
        kn_atom *args = KN_NEWN(&t->l->b->prog->arena, kn_atom, p->consts + 2 * p->n);
        KILN_TRY_MEM(t->l->b->ctx, args);
        for (uint32_t i = 0; i < p->consts; i++) args[i] = consts[i];
        for (uint32_t i = 0; i < p->n; i++) args[p->consts + i] = old[i], args[p->consts + p->n + i] = new[i];
        return kn_low_apply(t->l, p->body, args, (kiln_type){t->x.dtype, t->x.rank, t->sizes}, out);
    }
    out[0] = new[0];
    for (size_t k = 0; k < sizeof prims / sizeof *prims; k++)
        if ((int)prims[k].op == e->prim->scalar_op) out[0] = kn_low2(t->l, prims[k].prim, old[0], new[0]);
    return t->l->status;
}

/* Arguments: captures, indices, updates, then the carries: i, arrays. */
static kiln_status low_body(kn_build *outer, const kn_eqn *e, const scatter_parts *p, const kiln_type *in, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = e->scope, b.loc = e->loc;
    kn_low l = {&b, KILN_OK};
    uint32_t n = p->n, consts = p->consts;
    trip t = {.l = &l, .p = p, .x = in[consts], .indices = in[consts + n], .updates = in[consts + n + 1]};
    kn_index_window(&p->d, t.x.rank, t.updates, t.sizes);
    kn_atom *v = KN_NEWN(&b.prog->arena, kn_atom, consts + 6 * n + 2), index, i, batch[KN_MAX_RANK], put[KN_MAX_RANK + 2];
    KILN_TRY_MEM(b.ctx, v);
    kn_atom *updates = v + consts, *arrays = updates + n, *old = arrays + n, *new = old + n, *results = new + n;
    for (uint32_t k = 0; k < consts; k++) KILN_TRY(kn_build_input(&b, in[k], &v[k]));
    KILN_TRY(kn_build_input(&b, t.indices, &index));
    for (uint32_t k = 0; k < n; k++) KILN_TRY(kn_build_input(&b, in[consts + n + 1 + k], &updates[k]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &i));
    for (uint32_t k = 0; k < n; k++) KILN_TRY(kn_build_input(&b, in[consts + k], &arrays[k]));
    coordinates(&t, i, batch);
    kn_atom *start = put + 2, inside = starts(&t, index, batch, start);
    for (uint32_t k = 0; k < n; k++) {
        new[k] = update_at(&t, updates[k], batch);
        put[1] = arrays[k];
        old[k] = kn_low_op(&l, &kn_prim_dynamic_slice, &KN_INTS(t.x.rank, t.sizes), put + 1, t.x.rank + 1);
    }
    KILN_TRY(l.status);
    KILN_TRY(combined(&t, e, v, old, new, results + 1));
    results[0] = kn_low2(&l, &kn_prim_add, i, integer(&l, 1));
    for (uint32_t k = 0; k < n; k++) {
        kn_atom w = inside ? kn_low_select(&l, inside, results[1 + k], old[k]) : results[1 + k];
        put[0] = arrays[k];
        put[1] = w;
        results[1 + k] = kn_low_op(&l, &kn_prim_dynamic_update_slice, NULL, put, t.x.rank + 2);
    }
    KILN_TRY(l.status);
    return kn_build_finish(&b, results, 1 + n, out);
}

static kiln_status low_cond(kn_build *outer, const kn_eqn *e, const scatter_parts *p, const kiln_type *in, int64_t trips, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = e->scope, b.loc = e->loc;
    kn_low l = {&b, KILN_OK};
    kn_atom i, ignored;
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &i));
    for (uint32_t k = 0; k < p->n; k++) KILN_TRY(kn_build_input(&b, in[p->consts + k], &ignored));
    kn_atom more = kn_low2(&l, &kn_prim_lt, i, integer(&l, trips));
    KILN_TRY(l.status);
    return kn_build_finish(&b, &more, 1, out);
}

static kiln_status lower_scatter(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    scatter_parts p = parts_of(e);
    uint32_t n = p.n, consts = p.consts, k = 0;
    kiln_type *types = KN_NEWN(&b->prog->arena, kiln_type, e->nin);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin + 1), *out = KN_NEWN(&b->prog->arena, kn_atom, n + 1);
    KILN_TRY_MEM(b->ctx, types && in && out);
    for (uint32_t i = 0; i < e->nin; i++) types[i] = kn_in_type(j, e, i);
    kiln_type index = types[consts + n];
    int64_t trips = kiln_type_size((kiln_type){index.dtype, index.rank - 1, index.dims});
    if (trips == 0 || kiln_type_size(types[consts + n + 1]) == 0 || kiln_type_size(types[consts]) == 0) { /* nothing to write, or nowhere */
        for (uint32_t i = 0; i < n; i++) y[i] = x[consts + i];
        return KILN_OK;
    }
    const kn_jaxpr *cond, *body;
    KILN_TRY(low_cond(b, e, &p, types, trips, &cond));
    KILN_TRY(low_body(b, e, &p, types, &body));
    for (uint32_t i = 0; i < consts; i++) in[k++] = x[i];
    for (uint32_t i = consts + n; i < e->nin; i++) in[k++] = x[i];
    uint32_t nconsts = k;
    KILN_TRY(kn_build_literal(b, KILN_I64, (kn_scalar){.i = 0}, &in[k++]));
    for (uint32_t i = 0; i < n; i++) in[k++] = x[consts + i];
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(nconsts), KN_JAXPR(cond), KN_INT(0)};
    KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, in, k, out, n + 1));
    for (uint32_t i = 0; i < n; i++) y[i] = out[1 + i];
    return KILN_OK;
}

/* More than one window, or one that is no matter of registers, is a loop of its own: trips of a while say the same with more words. */
static bool scatter_stays(const kn_jaxpr *j, const kn_eqn *e)
{
    enum { MANY = 64 };
    scatter_parts p = parts_of(e);
    kiln_type x = kn_in_type(j, e, 0), index = kn_in_type(j, e, 1), u = kn_in_type(j, e, 2);
    char kind = kiln_dtype_kind(x.dtype);
    if (kind == 'c' || (kind == '8' && p.op != KN_S_NONE)) return false;
    int64_t vectors = kiln_type_size((kiln_type){index.dtype, index.rank - 1, index.dims}), n = kiln_type_size(u);
    return kiln_type_size(x) > 0 && n > 0 && (vectors > 1 || n > MANY);
}

/* ---- derivatives ---- */

static kn_scatter_like like(const kn_eqn *e)
{
    return (kn_scatter_like){&e->params[SCATTER_DIMS], &e->params[SCATTER_MODE], e->params[SCATTER_SORTED].b, e->params[SCATTER_UNIQUE].b};
}
/* What stands in `a`, of the operand's shape, where the updates go. */
static kn_atom back_from(kn_low *l, const kn_jaxpr *j, const kn_eqn *e, kn_atom a, kn_atom indices)
{
    scatter_parts p = parts_of(e);
    kn_scatter_like how = like(e);
    int64_t sizes[KN_MAX_RANK];
    kn_atom out = a;
    kn_index_window(&p.d, kn_in_type(j, e, 0).rank, kn_in_type(j, e, 2), sizes);
    if (l->status == KILN_OK) l->status = kn_build_gather(l->b, &how, sizes, a, indices, &out);
    return out;
}
static kn_atom put_in(kn_low *l, const kn_eqn *e, const kn_prim *p, kn_atom a, kn_atom indices, kn_atom updates)
{
    kn_scatter_like how = like(e);
    if (l->status == KILN_OK) l->status = kn_build_scatter(l->b, p, &how, a, indices, updates, &a);
    return a;
}

static kiln_status transpose_linear(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const kn_atom *ct, kn_atom *ct_in, bool minus)
{
    kn_low l = {b, KILN_OK};
    if (x[0] == KN_LINEAR) ct_in[0] = ct[0];
    if (x[2] == KN_LINEAR) ct_in[2] = back_from(&l, j, e, ct[0], x[1]);
    if (x[2] == KN_LINEAR && minus) ct_in[2] = kn_derive_neg(&l, ct_in[2]);
    return l.status;
}
static kiln_status transpose_scatter_add(KN_TRANSPOSE_ARGS) { return (void)r, transpose_linear(b, j, e, x, ct, ct_in, false); }
static kiln_status transpose_scatter_sub(KN_TRANSPOSE_ARGS) { return (void)r, transpose_linear(b, j, e, x, ct, ct_in, true); }

/* Each update stays or is written over by a later one: numbers are scattered and gathered back to tell. */
static kiln_status jvp_scatter(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0), u = kn_in_type(j, e, 2), ids = {KILN_I32, u.rank, u.dims}, where = {KILN_I32, t.rank, t.dims};
    kn_atom g[2] = {kn_derive_value(&l, dx[0], t), kn_derive_value(&l, dx[2], u)};
    if (e->params[SCATTER_UNIQUE].b) {
        dy[0] = put_in(&l, e, e->prim, g[0], x[1], g[1]);
        return l.status;
    }
    int64_t n = kiln_type_size(u);
    kn_atom flat = kn_low_iota(&l, (kiln_type){KILN_I32, 1, &n}, 0);
    kn_atom own = kn_low_reshape(&l, kn_derive_plus(&l, flat, 1), ids.rank, ids.dims);
    kn_atom at = put_in(&l, e, e->prim, kn_derive_value(&l, KN_SYMBOLIC_ZERO, where), x[1], own);
    kn_atom stays = kn_low2(&l, &kn_prim_eq, back_from(&l, j, e, at, x[1]), own);
    kn_atom old = kn_low2(&l, &kn_prim_eq, at, kn_low_num(&l, KILN_I32, 0));
    g[0] = kn_low_select(&l, old, g[0], kn_derive_value(&l, KN_SYMBOLIC_ZERO, t));
    g[1] = kn_low_select(&l, stays, g[1], kn_derive_value(&l, KN_SYMBOLIC_ZERO, u));
    dy[0] = put_in(&l, e, &kn_prim_scatter_add, g[0], x[1], g[1]);
    return l.status;
}
static kiln_status transpose_scatter(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    if (x[0] == KN_LINEAR) ct_in[0] = put_in(&l, e, e->prim, ct[0], x[1], kn_derive_value(&l, KN_SYMBOLIC_ZERO, kn_in_type(j, e, 2)));
    if (x[2] == KN_LINEAR) ct_in[2] = back_from(&l, j, e, ct[0], x[1]);
    return l.status;
}

/* The tangents of all that equal the result, operand and updates, averaged. */
static kiln_status jvp_scatter_extremum(KN_JVP_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0), u = kn_in_type(j, e, 2);
    kn_atom old = kn_low_convert(&l, kn_low2(&l, &kn_prim_eq, x[0], y[0]), t.dtype);
    kn_atom new = kn_low_convert(&l, kn_low2(&l, &kn_prim_eq, x[2], back_from(&l, j, e, y[0], x[1])), u.dtype);
    kn_atom count = put_in(&l, e, &kn_prim_scatter_add, old, x[1], new), part[2] = {old, new}, g[2] = {dx[0], dx[2]};
    for (int i = 0; i < 2; i++)
        part[i] = g[i] == KN_SYMBOLIC_ZERO ? kn_derive_value(&l, KN_SYMBOLIC_ZERO, i ? u : t) : kn_low2(&l, &kn_prim_mul, g[i], part[i]);
    kn_atom safe = kn_low2(&l, &kn_prim_max, count, kn_low_num(&l, t.dtype, 1));
    dy[0] = kn_low2(&l, &kn_prim_div, put_in(&l, e, &kn_prim_scatter_add, part[0], x[1], part[1]), safe);
    return l.status;
}
#define jvp_scatter_max jvp_scatter_extremum
#define jvp_scatter_min jvp_scatter_extremum
#define transpose_scatter_max NULL
#define transpose_scatter_min NULL

static kiln_status jvp_scatter_mul(KN_JVP_ARGS)
{
    (void)y;
    kn_low l = {b, KILN_OK};
    if (dx[2] != KN_SYMBOLIC_ZERO && !e->params[SCATTER_UNIQUE].b) { /* an element may have several factors: one product after the other */
        kn_atom again;
        return kn_jvp_lowered(r, b, j, e, x, dx, &again, dy);
    }
    if (dx[0] != KN_SYMBOLIC_ZERO) dy[0] = put_in(&l, e, e->prim, dx[0], x[1], x[2]);
    if (dx[2] != KN_SYMBOLIC_ZERO) {
        kn_atom sum = put_in(&l, e, &kn_prim_scatter_add, kn_derive_value(&l, KN_SYMBOLIC_ZERO, kn_in_type(j, e, 0)), x[1], dx[2]);
        dy[0] = kn_derive_add(&l, dy[0], kn_low2(&l, &kn_prim_mul, x[0], sum));
    }
    return l.status;
}
static kiln_status transpose_scatter_mul(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    if (x[0] == KN_LINEAR) ct_in[0] = put_in(&l, e, e->prim, ct[0], x[1], x[2]);
    if (x[2] == KN_LINEAR) ct_in[2] = back_from(&l, j, e, kn_low2(&l, &kn_prim_mul, ct[0], x[0]), x[1]);
    return l.status;
}
#define jvp_scatter_add kn_jvp_linear
#define jvp_scatter_sub kn_jvp_linear

/* A body that is one of the named combinations is differentiated under that name. */
static kiln_status named_scatter(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    static const struct {
        kn_sop op;
        const kn_prim *prim;
    } names[] = {{KN_S_add, &kn_prim_scatter_add}, {KN_S_mul, &kn_prim_scatter_mul}, {KN_S_min, &kn_prim_scatter_min}, {KN_S_max, &kn_prim_scatter_max}};
    const kn_jaxpr *body = e->params[SCATTER_BODY].jaxpr;
    const kn_prim *p = kn_body_takes_second(body) ? &kn_prim_scatter : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && e->nin == 3; i++)
        if (names[i].op == kn_body_sop(body)) p = names[i].prim;
    return p && e->nin == 3 ? kn_build_eqn(b, p, e->params, x, 3, y, 1) : lower_scatter(r, b, j, e, x, y);
}
static kiln_status jvp_scatter_apply(KN_JVP_ARGS) { return kn_jvp_made(r, b, j, e, x, dx, y, dy, named_scatter); }
#define transpose_scatter_apply NULL

/* Complex elements combine as the rules of their operations say, in the interpreter too: it takes eval_scatter unless this rule is
 * another than `lower`. */
static kiln_status lower_complex_scatter(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    return lower_scatter(r, b, j, e, x, y);
}

/* Lanes of arrays and updates are one more dimension of the window where all lanes share the indices, else dimensions that run
 * together. Arrays have lanes in any case. A body that sees captures with lanes is repeated lane by lane. */
static kiln_status batch_scatter(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    scatter_parts s = parts_of(e);
    if (kn_any_lanes(&m, 0, s.consts)) return kn_batch_loop(r, b, j, e, x, axis, y, out_axis);
    bool indices = kn_has_lanes(&m, s.consts + s.n);
    kn_param *p = kn_lanes_params(&m), lists[KN_INDEX_LISTS];
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, e->nin);
    KILN_TRY_MEM(b->ctx, p && in);
    kn_index_lanes(&m, &s.d, true, indices);
    p[SCATTER_DIMS] = kn_index_param(&s.d, true, lists);
    if (indices) p[SCATTER_SORTED] = KN_BOOL(false);
    for (uint32_t i = 0; i < e->nin; i++) in[i] = i < s.consts || (i == s.consts + s.n && !indices) ? x[i] : kn_lanes_full(&m, i);
    return kn_lanes_emit(&m, p, in, y);
}

/* JAX's x.at[i].apply(f) is a scatter whose body is f. */
static const kn_prim *meant_by(const kn_prim *named, const kn_param *params)
{
    const kn_param *body = &params[SCATTER_BODY];
    bool replaces = body->kind != KN_P_JAXPR || kn_body_takes_second(body->jaxpr);
    return named == &kn_prim_scatter && !replaces ? &kn_prim_scatter_apply : named;
}

#define SCATTER(text_name, id, sop, more, inputs, outputs, kind, keep, text)                                                    \
    {                                                                                                                  \
        .name = (text_name), .nin = (inputs), .nout = (outputs), .flags = KN_LEVEL_TRACED | (more), KN_PARAMS(scatter_params), .scalar_op = (sop),        \
        .type = type_scatter, .eval = eval_scatter, .lower = lower_scatter, .lower_complex = lower_complex_scatter,    \
        .loop = (kind), .stays = (keep),                                                                               \
        .jvp = jvp_##id, .transpose = transpose_##id,                                                                  \
        .batch = batch_scatter, .meant = meant_by,                                                                     \
        .sample = kn_sample_scatter, .doc = (text)                                                                     \
    }
KILN_PRIM(scatter) = SCATTER("scatter", scatter, KN_S_NONE, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays,
                             "The operand with updates written over windows at places that index vectors name; the last one wins. "
                             "Windows that do not lie inside are left out, or moved inside (CLIP).");
KILN_PRIM(scatter_add) = SCATTER("scatter-add", scatter_add, KN_S_add, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays, "As scatter; updates are added, in row-major order of the index vectors.");
KILN_PRIM(scatter_apply) = SCATTER("scatter-apply", scatter_apply, KN_S_NONE, KN_JVP_WHOLE, KN_VARIADIC, KN_VARIADIC, KN_LOOP_NONE, NULL,
                                   "As scatter, over several arrays at once; update_jaxpr makes new elements of old ones and updates.");
KILN_PRIM(scatter_max) = SCATTER("scatter-max", scatter_max, KN_S_max, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays, "As scatter; the maximum of old and update stays.");
KILN_PRIM(scatter_min) = SCATTER("scatter-min", scatter_min, KN_S_min, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays, "As scatter; the minimum of old and update stays.");
KILN_PRIM(scatter_mul) = SCATTER("scatter-mul", scatter_mul, KN_S_mul, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays, "As scatter; old elements are multiplied by updates.");
KILN_PRIM(scatter_sub) = SCATTER("scatter-sub", scatter_sub, KN_S_sub, 0, 3, 1, KN_LOOP_SCATTER, scatter_stays, "As scatter; updates are subtracted.");
