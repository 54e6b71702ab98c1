/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/window.h"

#include "prim/control.h"

#include "prims.gen.h"

static bool pairs(const kn_param *p, uint32_t rank)
{
    bool good = (p->kind == KN_P_TUPLE || (p->kind == KN_P_INTS && p->n == 0)) && p->n == rank;
    for (uint32_t d = 0; good && d < rank; d++) good = p->items[d].kind == KN_P_INTS && p->items[d].n == 2;
    return good;
}

static kiln_status list(const kn_typing *t, int at, uint32_t rank, int64_t least, const int64_t **out)
{
    uint32_t n;
    *out = NULL;
    if (at < 0) return KILN_OK;
    KILN_TRY(kn_typing_ints(t, (uint32_t)at, out, &n));
    bool good = n == rank;
    for (uint32_t d = 0; good && d < n; d++) good = (*out)[d] >= least && (*out)[d] < (int64_t)1 << 40;
    if (good) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "%s: %s must hold %u numbers, each at least %lld", t->prim->name, t->prim->params[at].name, rank, (long long)least);
}

kiln_status kn_window_typed(const kn_typing *t, kn_window_places at, uint32_t rank, kn_window *w)
{
    *w = (kn_window){.rank = rank, .padding = &t->params[at.padding]};
    KILN_TRY(list(t, at.base, rank, 1, &w->base));
    KILN_TRY(list(t, at.dilation, rank, 1, &w->dilation));
    KILN_TRY(list(t, at.size, rank, 1, &w->size));
    KILN_TRY(list(t, at.stride, rank, 1, &w->stride));
    if (!pairs(w->padding, rank)) return kn_fail(t->ctx, KILN_SHAPE, "%s: padding must hold %u pairs (low, high)", t->prim->name, rank);
    return KILN_OK;
}

kn_window kn_window_of(const kn_eqn *e, kn_window_places at)
{
    return (kn_window){.rank = e->params[at.size].n,
                       .size = kn_ints(&e->params[at.size]),
                       .stride = kn_ints(&e->params[at.stride]),
                       .dilation = at.dilation < 0 ? NULL : kn_ints(&e->params[at.dilation]),
                       .base = at.base < 0 ? NULL : kn_ints(&e->params[at.base]),
                       .padding = &e->params[at.padding]};
}

void kn_window_lanes(kn_lanes *m, kn_window_places at, kn_param *params)
{
    const int lists[] = {at.base, at.dilation, at.size, at.stride};
    kn_arena *arena = &m->l.b->prog->arena;
    int64_t *none = KN_NEWN(arena, int64_t, 2);
    for (int i = 0; none && i < 4; i++) {
        if (lists[i] < 0) continue;
        kn_param *p = &params[lists[i]];
        int64_t *v = KN_NEWN(arena, int64_t, (size_t)p->n + 1);
        if (!(none = v ? none : NULL)) break;
        v[0] = 1;
        if (p->n) memcpy(v + 1, kn_ints(p), p->n * sizeof *v);
        *p = KN_INTS(p->n + 1, v);
    }
    kn_param *p = &params[at.padding], *pairs = KN_NEWN(arena, kn_param, (size_t)p->n + 1);
    if (!none || !pairs) {
        m->l.status = kn_nomem(m->l.b->ctx);
        return;
    }
    pairs[0] = KN_INTS(2, none);
    for (uint32_t d = 0; d < p->n; d++) pairs[d + 1] = p->items[d];
    *p = KN_TUPLE(p->n + 1, pairs);
}

kiln_status kn_window_result(const kn_typing *t, const kn_window *w, const int64_t *dims, int64_t *out)
{
    for (uint32_t d = 0; d < w->rank; d++) {
        int64_t whole = 0, window;
        bool bad = dims[d] > 0 && (__builtin_mul_overflow(dims[d] - 1, kn_window_base(w, d), &whole) || __builtin_add_overflow(whole, 1, &whole));
        bad = bad || __builtin_add_overflow(whole, kn_window_low(w, d), &whole) || __builtin_add_overflow(whole, kn_window_high(w, d), &whole);
        bad = bad || __builtin_mul_overflow(w->size[d] - 1, kn_window_dilation(w, d), &window) || __builtin_add_overflow(window, 1, &window);
        if (bad) return kn_fail(t->ctx, KILN_SHAPE, "%s: the window along dimension %u is too large", t->prim->name, d);
        out[d] = whole < window ? 0 : (whole - window) / w->stride[d] + 1;
    }
    return KILN_OK;
}

int64_t kn_window_offset(const kn_window *w, kiln_type x, const int64_t *ix, const int64_t *wx)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < w->rank; d++) {
        int64_t k = ix[d] * w->stride[d] + wx[d] * kn_window_dilation(w, d) - kn_window_low(w, d), base = kn_window_base(w, d);
        if (k < 0 || k % base != 0 || k / base >= x.dims[d]) return -1;
        at = at * x.dims[d] + k / base;
    }
    return at;
}

/* ---- lowering ---- */

kn_atom kn_low_window_pad(kn_low *l, const kn_window *w, kn_atom x, kn_atom value)
{
    int64_t v[KN_MAX_RANK][3];
    kn_param rows[KN_MAX_RANK];
    for (uint32_t d = 0; d < w->rank; d++) {
        v[d][0] = kn_window_low(w, d), v[d][1] = kn_window_high(w, d), v[d][2] = kn_window_base(w, d) - 1;
        rows[d] = KN_INTS(3, v[d]);
    }
    return kn_low_op(l, &kn_prim_pad, &KN_TUPLE(w->rank, rows), (kn_atom[]){x, value}, 2);
}

/* Every stride-th element from where the array begins, as many as the result has. */
static kn_atom every(kn_low *l, const kn_window_fold *f, kn_atom x, const int64_t *start)
{
    int64_t limit[KN_MAX_RANK], zero[KN_MAX_RANK] = {0};
    const kn_window *w = f->w;
    for (uint32_t d = 0; d < w->rank; d++) limit[d] = (start ? start[d] : 0) + (f->result.dims[d] - 1) * w->stride[d] + 1;
    kn_param params[] = {KN_INTS(w->rank, limit), KN_INTS(w->rank, start ? start : zero), KN_INTS(w->rank, w->stride)};
    return kn_low_op(l, &kn_prim_slice, params, &x, 1);
}

static kiln_status unrolled(kn_low *l, const kn_window_fold *f, int64_t count, kn_atom *acc)
{
    kiln_type window = {KILN_BOOL, f->w->rank, f->w->size};
    int64_t wx[KN_MAX_RANK] = {0}, start[KN_MAX_RANK];
    kn_atom *slices = KN_NEWN(&l->b->prog->arena, kn_atom, f->n);
    KILN_TRY_MEM(l->b->ctx, slices);
    for (int64_t k = 0; k < count; k++, kn_next(window, wx)) {
        for (uint32_t d = 0; d < f->w->rank; d++) start[d] = wx[d] * kn_window_dilation(f->w, d);
        for (uint32_t i = 0; i < f->n; i++) slices[i] = every(l, f, f->padded[i], start);
        KILN_TRY(l->status);
        KILN_TRY(f->step(l, f, acc, slices));
    }
    return l->status;
}

static kn_atom whole(kn_low *l, int64_t v) { return kn_low_num(l, KILN_I64, (double)v); }

/* The loop over window elements: constants are the padded arrays and what is captured, carries the number and acc. */
static kiln_status loop_body(kn_build *outer, const kn_window_fold *f, const kiln_type *acc_types, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = outer->scope, b.loc = outer->loc;
    kn_low l = {&b, KILN_OK};
    uint32_t rank = f->w->rank;
    kn_atom *v = KN_NEWN(&b.prog->arena, kn_atom, 2 * f->n + f->ncaptured + f->nacc + 1), i;
    KILN_TRY_MEM(b.ctx, v);
    kn_atom *captured = v + f->n, *slices = captured + f->ncaptured, *acc = slices + f->n;
    for (uint32_t k = 0; k < f->n; k++) KILN_TRY(kn_build_input(&b, kn_build_type(outer, f->padded[k]), &v[k]));
    for (uint32_t k = 0; k < f->ncaptured; k++) KILN_TRY(kn_build_input(&b, kn_build_type(outer, f->captured[k]), &captured[k]));
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &i));
    for (uint32_t k = 0; k < f->nacc; k++) KILN_TRY(kn_build_input(&b, acc_types[k], &acc[1 + k]));
    kn_atom in[KN_MAX_RANK + 1], rest = i;
    int64_t span[KN_MAX_RANK];
    for (uint32_t d = rank; d-- > 0;) {
        kn_atom at = f->w->size[d] == 1 ? whole(&l, 0) : kn_low2(&l, &kn_prim_rem, rest, whole(&l, f->w->size[d]));
        if (f->w->size[d] != 1) rest = kn_low2(&l, &kn_prim_div, rest, whole(&l, f->w->size[d]));
        in[1 + d] = kn_low2(&l, &kn_prim_mul, at, whole(&l, kn_window_dilation(f->w, d)));
        span[d] = (f->result.dims[d] - 1) * f->w->stride[d] + 1;
    }
    for (uint32_t k = 0; k < f->n; k++) {
        in[0] = v[k];
        slices[k] = every(&l, f, kn_low_op(&l, &kn_prim_dynamic_slice, &KN_INTS(rank, span), in, rank + 1), NULL);
    }
    KILN_TRY(l.status);
    kn_window_fold inner = *f;
    inner.captured = captured;
    KILN_TRY(f->step(&l, &inner, acc + 1, slices));
    acc[0] = kn_low2(&l, &kn_prim_add, i, whole(&l, 1));
    KILN_TRY(l.status);
    return kn_build_finish(&b, acc, 1 + f->nacc, out);
}

static kiln_status loop_cond(kn_build *outer, const kn_window_fold *f, const kiln_type *acc_types, int64_t count, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    b.scope = outer->scope, b.loc = outer->loc;
    kn_low l = {&b, KILN_OK};
    kn_atom i, ignored;
    KILN_TRY(kn_build_input(&b, KILN_SCALAR(KILN_I64), &i));
    for (uint32_t k = 0; k < f->nacc; k++) KILN_TRY(kn_build_input(&b, acc_types[k], &ignored));
    kn_atom more = kn_low2(&l, &kn_prim_lt, i, whole(&l, count));
    KILN_TRY(l.status);
    return kn_build_finish(&b, &more, 1, out);
}

static kiln_status looped(kn_low *l, const kn_window_fold *f, int64_t count, kn_atom *acc)
{
    kn_build *b = l->b;
    uint32_t consts = f->n + f->ncaptured, k = 0;
    kiln_type *types = KN_NEWN(&b->prog->arena, kiln_type, f->nacc);
    kn_atom *in = KN_NEWN(&b->prog->arena, kn_atom, consts + f->nacc + 1), *out = KN_NEWN(&b->prog->arena, kn_atom, f->nacc + 1);
    KILN_TRY_MEM(b->ctx, types && in && out);
    for (uint32_t i = 0; i < f->nacc; i++) types[i] = kn_build_type(b, acc[i]);
    const kn_jaxpr *cond, *body;
    KILN_TRY(loop_cond(b, f, types, count, &cond));
    KILN_TRY(loop_body(b, f, types, &body));
    for (uint32_t i = 0; i < f->n; i++) in[k++] = f->padded[i];
    for (uint32_t i = 0; i < f->ncaptured; i++) in[k++] = f->captured[i];
    KILN_TRY(kn_build_literal(b, KILN_I64, (kn_scalar){.i = 0}, &in[k++]));
    for (uint32_t i = 0; i < f->nacc; i++) in[k++] = acc[i];
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(consts), KN_JAXPR(cond), KN_INT(0)};
    KILN_TRY(kn_build_eqn(b, &kn_prim_while, params, in, k, out, f->nacc + 1));
    for (uint32_t i = 0; i < f->nacc; i++) acc[i] = out[1 + i];
    return KILN_OK;
}

kiln_status kn_low_window_fold(kn_low *l, const kn_window_fold *f, kn_atom *acc)
{
    enum { UNROLL = 32 };
    KILN_TRY(l->status);
    if (kiln_type_size(f->result) == 0) return KILN_OK;
    int64_t count = kiln_type_size((kiln_type){KILN_BOOL, f->w->rank, f->w->size});
    return count <= UNROLL ? unrolled(l, f, count, acc) : looped(l, f, count, acc);
}
