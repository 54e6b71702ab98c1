/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate, stack, pad: results put together from several operands. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/derive.h"
#include "prim/sample.h"

/* ---- concatenate ---- */

static const kn_param_spec concatenate_params[] = {{"dimension", KN_P_INT, 0}};

static kiln_status type_concatenate(kn_typing *t)
{
    int64_t axis, *dims;
    KILN_TRY(kn_typing_count(t, 1));
    KILN_TRY(kn_typing_out(t, 1));
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_axis(t, 0, x.rank, &axis));
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank, &dims));
    for (uint32_t d = 0; d < x.rank; d++) dims[d] = x.dims[d];
    for (uint32_t i = 1; i < t->nin; i++) {
        kiln_type y = t->in[i];
        KILN_TRY(kn_typing_same_dtype(t, 0, i));
        bool fits = y.rank == x.rank;
        for (uint32_t d = 0; fits && d < x.rank; d++) fits = (int64_t)d == axis || y.dims[d] == x.dims[d];
        if (!fits || __builtin_add_overflow(dims[axis], y.dims[axis], &dims[axis]))
            return kn_fail(t->ctx, KILN_SHAPE, "concatenate: %s and %s must agree in all dimensions but %lld", kn_type_show(x).s,
                           kn_type_show(y).s, (long long)axis);
    }
    return KILN_OK;
}
static kiln_status eval_concatenate(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type y = out[0]->type;
    int64_t axis = e->params[0].i, start = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(in[i]->type);
        for (int64_t k = 0; k < n; k++) {
            int64_t at = 0;
            for (uint32_t d = 0; d < y.rank; d++) at = at * y.dims[d] + ix[d] + ((int64_t)d == axis ? start : 0);
            kn_move(out[0], at, in[i], k);
            kn_next(in[i]->type, ix);
        }
        start += in[i]->type.dims[axis];
    }
    return KILN_OK;
}

/* Parts along an axis of the result; part(i) covers sizes starting at `start`. What lies where the index may be on either
 * side of a border is selected, each side read at an index clamped into it. */
typedef struct parts {
    kn_element *m;
    const kn_eqn *e;
    const kn_lv *ix;
    uint32_t axis;
    bool stacked; /* each operand is one layer, and has no dimension `axis` */
} parts;

static int64_t part_size(const parts *p, uint32_t i) { return p->stacked ? 1 : kn_in_type(p->m->j, p->e, i).dims[p->axis]; }

static kn_lv part(const parts *p, uint32_t i, int64_t start, bool low_open, bool high_open)
{
    kn_element *m = p->m;
    kiln_type x = kn_in_type(m->j, p->e, i);
    kn_lv from[KN_MAX_RANK];
    if (p->stacked) {
        for (uint32_t d = 0; d < x.rank; d++) from[d] = p->ix[d < p->axis ? d : d + 1];
        return m->operand(m, p->e, i, from);
    }
    for (uint32_t d = 0; d < x.rank; d++) from[d] = p->ix[d];
    kn_lv at = start ? kn_e_addi(m, from[p->axis], -start) : from[p->axis];
    if (low_open) at = m->op(m, KN_S_max, KILN_I64, KILN_I64, at, m->integer(m, 0), 0);
    if (high_open) at = m->op(m, KN_S_min, KILN_I64, KILN_I64, at, m->integer(m, x.dims[p->axis] - 1), 0);
    from[p->axis] = at;
    return m->operand(m, p->e, i, from);
}

static kn_lv parts_from(const parts *p, uint32_t i, int64_t start, bool low_open)
{
    kn_element *m = p->m;
    kn_lv at = p->ix[p->axis];
    uint32_t n = p->e->nin, next;
    while (i + 1 < n && part_size(p, i) == 0) i++;
    for (;;) {
        int64_t end = start + part_size(p, i);
        for (next = i + 1; next < n && part_size(p, next) == 0;) next++;
        if (next == n) return part(p, i, start, low_open, false);
        int where = m->below(m, at, end);
        if (where < 0) return part(p, i, start, low_open, false);
        if (where == 0) {
            kiln_dtype d = kn_out_type(m->j, p->e, 0).dtype;
            kn_lv here = m->op(m, KN_S_lt, KILN_I64, KILN_BOOL, at, m->integer(m, end), 0);
            kn_lv first = part(p, i, start, low_open, true), rest = parts_from(p, next, end, true);
            return m->op(m, KN_S_select, d, d, here, first, rest);
        }
        i = next, start = end, low_open = false;
    }
}

static kn_lv element_concatenate(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    return parts_from(&(parts){m, e, ix, (uint32_t)e->params[0].i, false}, 0, 0, false);
}
/* Layers start..limit of the cotangent along an axis. */
static kn_atom layers(kn_low *l, kn_atom ct, uint32_t axis, int64_t start, int64_t limit)
{
    int64_t from[KN_MAX_RANK] = {0}, to[KN_MAX_RANK];
    if (l->status != KILN_OK) return ct;
    kiln_type t = kn_build_type(l->b, ct);
    for (uint32_t d = 0; d < t.rank; d++) to[d] = t.dims[d];
    from[axis] = start, to[axis] = limit;
    return kn_derive_slice(l, ct, from, to, NULL);
}
static kiln_status transpose_concatenate(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    uint32_t axis = (uint32_t)e->params[0].i;
    int64_t start = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        int64_t n = kn_in_type(j, e, i).dims[axis];
        if (x[i] == KN_LINEAR) ct_in[i] = layers(&l, ct[0], axis, start, start + n);
        start += n;
    }
    return l.status;
}
KILN_PRIM(concatenate) = {
    .name = "concatenate",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(concatenate_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_concatenate,
    .eval = eval_concatenate,
    .jvp = kn_jvp_linear,
    .transpose = transpose_concatenate,
    .element = element_concatenate,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_concatenate,
    .doc = "The operands one after another along `dimension`.",
};

/* ---- stack ---- */

static const kn_param_spec stack_params[] = {{"axis", KN_P_INT, 0}};

static kiln_status type_stack(kn_typing *t)
{
    int64_t axis, *dims;
    KILN_TRY(kn_typing_count(t, 1));
    KILN_TRY(kn_typing_out(t, 1));
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_axis(t, 0, x.rank + 1, &axis));
    for (uint32_t i = 1; i < t->nin; i++)
        if (!kiln_type_equal(x, t->in[i]))
            return kn_fail(t->ctx, x.dtype == t->in[i].dtype ? KILN_SHAPE : KILN_DTYPE, "stack needs equal types, %s and %s given",
                           kn_type_show(x).s, kn_type_show(t->in[i]).s);
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank + 1, &dims));
    for (uint32_t d = 0; d <= x.rank; d++)
        dims[d] = (int64_t)d == axis ? (int64_t)t->nin : x.dims[(int64_t)d < axis ? d : d - 1];
    return KILN_OK;
}
static kiln_status eval_stack(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type y = out[0]->type;
    int64_t axis = e->params[0].i, ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < y.rank; d++)
            if ((int64_t)d != axis) at = at * y.dims[d] + ix[d];
        kn_move(out[0], k, in[ix[axis]], at);
        kn_next(y, ix);
    }
    return KILN_OK;
}
static kn_lv element_stack(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    (void)result;
    return parts_from(&(parts){m, e, ix, (uint32_t)e->params[0].i, true}, 0, 0, false);
}
static kiln_status transpose_stack(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    for (uint32_t i = 0; i < e->nin; i++)
        if (x[i] == KN_LINEAR) {
            kn_atom one = layers(&l, ct[0], (uint32_t)e->params[0].i, i, (int64_t)i + 1);
            ct_in[i] = kn_low_op(&l, &kn_prim_squeeze, &KN_INTS(1, &e->params[0].i), &one, 1);
        }
    (void)j;
    return l.status;
}
KILN_PRIM(stack) = {
    .name = "stack",
    .nin = KN_VARIADIC,
    .nout = 1,
    .flags = KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(stack_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_stack,
    .eval = eval_stack,
    .jvp = kn_jvp_linear,
    .transpose = transpose_stack,
    .element = element_stack,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_stack,
    .doc = "The operands as the layers of a new dimension `axis`.",
};

/* ---- pad ---- */

static const kn_param_spec pad_params[] = {{"padding_config", KN_P_TUPLE, 0}};

typedef struct margins {
    int64_t lo, hi, inside;
} margins;
static margins margin(const kn_param *p, uint32_t d)
{
    const int64_t *v = kn_ints(&p->items[d]);
    return (margins){v[0], v[1], v[2]};
}

static kiln_status type_pad(kn_typing *t)
{
    const kn_param *p = &t->params[0];
    kiln_type x = t->in[0];
    int64_t *dims;
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    if (t->in[1].rank)
        return kn_fail(t->ctx, KILN_SHAPE, "pad: the padding value is %s, a scalar is needed", kn_type_show(t->in[1]).s);
    bool good = p->kind == KN_P_TUPLE || (p->kind == KN_P_INTS && p->n == 0);
    for (uint32_t d = 0; good && d < p->n; d++) good = p->items[d].kind == KN_P_INTS && p->items[d].n == 3;
    if (!good) return kn_fail(t->ctx, KILN_INVALID, "pad: padding_config must be a tuple of (low, high, interior)");
    if (p->n != x.rank)
        return kn_fail(t->ctx, KILN_SHAPE, "pad: padding_config has %u entries for %s", p->n, kn_type_show(x).s);
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank, &dims));
    for (uint32_t d = 0; d < x.rank; d++) {
        margins g = margin(p, d);
        int64_t gaps, gap = x.dims[d] > 0 ? x.dims[d] - 1 : 0;
        if (g.inside < 0 || __builtin_mul_overflow(gap, g.inside, &gaps) || __builtin_add_overflow(x.dims[d], gaps, &dims[d]) ||
            __builtin_add_overflow(dims[d], g.lo, &dims[d]) || __builtin_add_overflow(dims[d], g.hi, &dims[d]) || dims[d] < 0)
            return kn_fail(t->ctx, KILN_SHAPE, "pad: (%lld, %lld, %lld) is no legal padding of dimension %u of %s", (long long)g.lo,
                           (long long)g.hi, (long long)g.inside, d, kn_type_show(x).s);
    }
    return KILN_OK;
}
static kiln_status eval_pad(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type, y = out[0]->type;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(y);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        bool inside = true;
        for (uint32_t d = 0; d < y.rank; d++) {
            margins g = margin(&e->params[0], d);
            int64_t i = ix[d] - g.lo, step = g.inside + 1;
            inside = inside && i >= 0 && i % step == 0 && i / step < x.dims[d];
            at = at * x.dims[d] + i / step;
        }
        if (inside) kn_move(out[0], k, in[0], at);
        else kn_move(out[0], k, in[1], 0);
        kn_next(y, ix);
    }
    return KILN_OK;
}

/* Narrows `in` (0: true so far) by a condition. */
static void also(kn_element *m, kn_lv *in, bool *any, kn_lv cond)
{
    *in = *any ? m->op(m, KN_S_and, KILN_BOOL, KILN_BOOL, *in, cond, 0) : cond;
    *any = true;
}

static kn_lv element_pad(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kiln_type x = kn_in_type(m->j, e, 0), y = kn_out_type(m->j, e, result);
    kn_lv from[KN_MAX_RANK], inside = 0, zero = m->integer(m, 0);
    bool any = false;
    for (uint32_t d = 0; d < y.rank; d++) {
        margins g = margin(&e->params[0], d);
        int64_t step = g.inside + 1, end = g.lo + (x.dims[d] - 1) * step + 1; /* one behind the last element */
        if (x.dims[d] == 0) return m->operand(m, e, 1, NULL);
        int low = g.lo > 0 ? m->below(m, ix[d], g.lo) : 1, high = end < y.dims[d] ? m->below(m, ix[d], end) : -1;
        if (low < 0 || high > 0) return m->operand(m, e, 1, NULL);
        kn_lv i = g.lo ? kn_e_addi(m, ix[d], -g.lo) : ix[d];
        if (low == 0) {
            also(m, &inside, &any, m->op(m, KN_S_ge, KILN_I64, KILN_BOOL, i, zero, 0));
            i = m->op(m, KN_S_max, KILN_I64, KILN_I64, i, zero, 0);
        }
        if (high == 0) {
            kn_lv last = m->integer(m, end - 1 - g.lo);
            also(m, &inside, &any, m->op(m, KN_S_le, KILN_I64, KILN_BOOL, i, last, 0));
            i = m->op(m, KN_S_min, KILN_I64, KILN_I64, i, last, 0);
        }
        if (step > 1) {
            kn_lv by = m->integer(m, step), rest = m->op(m, KN_S_rem, KILN_I64, KILN_I64, i, by, 0);
            also(m, &inside, &any, m->op(m, KN_S_eq, KILN_I64, KILN_BOOL, rest, zero, 0));
            i = m->op(m, KN_S_div, KILN_I64, KILN_I64, i, by, 0);
        }
        from[d] = i;
    }
    kn_lv v = m->operand(m, e, 0, from);
    return any ? m->op(m, KN_S_select, y.dtype, y.dtype, inside, v, m->operand(m, e, 1, NULL)) : v;
}
/* The operand's cotangent: what stands where its elements went. The padding value's: the sum of all the rest. */
static kiln_status transpose_pad(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0), y = kn_out_type(j, e, 0);
    int64_t low[KN_MAX_RANK], high[KN_MAX_RANK], step[KN_MAX_RANK], start[KN_MAX_RANK] = {0}, limit[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) {
        margins g = margin(&e->params[0], d);
        low[d] = -g.lo, high[d] = -g.hi, step[d] = g.inside + 1;
        limit[d] = y.dims[d] - g.lo - g.hi;
    }
    kn_atom own = kn_derive_slice(&l, kn_derive_pad(&l, ct[0], low, high, NULL), start, limit, step);
    if (x[0] == KN_LINEAR) ct_in[0] = own;
    if (x[1] == KN_LINEAR) ct_in[1] = kn_low2(&l, &kn_prim_sub, kn_derive_sum_all(&l, ct[0]), kn_derive_sum_all(&l, own));
    return l.status;
}

/* Padding values that differ between lanes are chosen by a mask of what is no element. */
static kiln_status batch_pad(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis, kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kiln_type own = kn_in_type(j, e, 0), shape = kn_out_type(j, e, 0);
    uint32_t n = own.rank;
    kn_param config[KN_MAX_RANK + 1] = {KN_INTS(3, ((int64_t[]){0, 0, 0}))};
    for (uint32_t d = 0; d < n; d++) config[d + 1] = e->params[0].items[d];
    kn_param p = KN_TUPLE(n + 1, config);
    kn_atom in[2] = {kn_lanes_full(&m, 0), x[1]};
    if (!kn_has_lanes(&m, 1)) return kn_lanes_emit(&m, &p, in, y);
    kn_atom element = kn_low_fill(&m.l, (kiln_type){KILN_BOOL, own.rank, own.dims}, (kn_scalar){.b = true});
    kn_atom mask = kn_low_op(&m.l, e->prim, e->params, (kn_atom[]){element, kn_low_fill(&m.l, KILN_SCALAR(KILN_BOOL), (kn_scalar){.u = 0})}, 2);
    kn_atom zero = kn_low_fill(&m.l, KILN_SCALAR(own.dtype), (kn_scalar){.c = {0, 0}});
    kn_atom padded = kn_low_op(&m.l, e->prim, &p, (kn_atom[]){in[0], zero}, 2);
    y[0] = kn_low_select(&m.l, kn_lanes_repeat(&m, mask), padded, kn_lanes_widened(&m, 1, shape));
    return m.l.status;
}
KILN_PRIM(pad) = {
    .name = "pad",
    .nin = 2,
    .nout = 1,
    .flags = KN_MOVES | KN_BY_PARTS,
    KN_PARAMS(pad_params),
    .loop = KN_LOOP_ELEMENT,
    .type = type_pad,
    .eval = eval_pad,
    .jvp = kn_jvp_linear,
    .transpose = transpose_pad,
    .element = element_pad,
    .batch = batch_pad,
    .sample = kn_sample_pad,
    .doc = "The operand with the padding value before (low), behind (high) and between (interior) its elements, along each "
           "dimension; negative low and high cut elements off.",
};
