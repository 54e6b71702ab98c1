/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of a group: what is measured (float fields, or what edges inside deliver), relative to its own largest value.
 * Sums are in f64 for both precisions.
 *
 * An f32 field needs one walk: its squares always fit in a double, so that the sum of squares and the largest value are
 * found together and the quotient is taken afterwards. An f64 field is scaled first, entry by entry. */
#include "graph/group.h"

#include <float.h>
#include <math.h>

typedef struct norm {
    kn_solver *s;
    kiln_val total, count; /* f64: of the active readings */
    kiln_val bad;          /* a reading that is not finite, or too large to scale by; 0: none so far */
    double largest;        /* that can be scaled by */
} norm;

static kiln_val f64(kn_solver *s, double v) { return kiln_scalar(s->c->t, KILN_F64, v); }

static kiln_val sum_of(kiln_trace *t, kiln_val sum, kiln_val v) { return sum.id ? kiln_add(t, sum, v) : v; }

/* rtol ref, and for l2 ref itself */
static kiln_val scale_of(norm *n, kiln_val ref)
{
    if (n->s->m->group->convergence_norm == KN_NORM_L2) return ref;
    return kiln_mul(n->s->c->t, n->s->option[KN_TUNE_RTOL], ref);
}

/* (u - v)/scale, kept from overflow of 1/scale where scale is subnormal */
static kiln_val quotient(norm *n, kiln_val u, kiln_val v, kiln_val ref)
{
    kn_solver *s = n->s;
    kiln_trace *t = s->c->t;
    kiln_val lift = kiln_select(t, kiln_lt(t, ref, f64(s, 0x1p-900)), f64(s, 0x1p120), f64(s, 1));
    kiln_val inverse = kiln_div(t, f64(s, 1), scale_of(n, kiln_mul(t, ref, lift)));
    return kiln_mul(t, kiln_mul(t, kiln_sub(t, u, v), lift), inverse);
}

/* Folds readings in: `ref` and `square` (of the quotient) are scalars, or vectors of as many scalar readings. */
static void add_readings(norm *n, kiln_val ref, kiln_val square, double entries)
{
    kn_solver *s = n->s;
    kiln_trace *t = s->c->t;
    kiln_val active = kiln_gt(t, ref, s->option[KN_TUNE_ATOL]);
    kiln_val bad = kiln_or(t, kiln_not(t, kiln_is_finite(t, ref)), kiln_and(t, active, kiln_gt(t, ref, f64(s, n->largest))));
    square = kiln_select(t, active, square, f64(s, 0));
    kiln_val count = kiln_select(t, active, f64(s, entries), f64(s, 0));
    if (kiln_val_type(t, ref).rank) {
        square = kiln_sum_all(t, square);
        count = kiln_sum_all(t, count);
        bad = kiln_reduce(t, "reduce_or", bad, NULL, UINT32_MAX);
    }
    n->total = sum_of(t, n->total, square);
    n->count = sum_of(t, n->count, count);
    n->bad = n->bad.id ? kiln_or(t, n->bad, bad) : bad;
}

/* Scalar readings side by side: each relative to itself. */
static void add_scalars(norm *n, const kiln_val *u, const kiln_val *v, uint32_t count)
{
    static const int64_t one = 1;
    kiln_trace *t = n->s->c->t;
    kiln_val *parts = KN_STEP_ARRAY(n->s->c, kiln_val, count), both[2];
    if (count == 0 || !parts) return;
    for (int side = 0; side < 2; side++) {
        const kiln_val *from = side ? v : u;
        for (uint32_t i = 0; i < count; i++) parts[i] = count == 1 ? from[i] : kiln_reshape(t, from[i], 1, &one);
        both[side] = kiln_convert(t, count == 1 ? parts[0] : kiln_concatenate(t, parts, count, 0), KILN_F64);
    }
    kiln_val ref = kiln_max(t, kiln_abs(t, both[0]), kiln_abs(t, both[1]));
    kiln_val q = quotient(n, both[0], both[1], ref);
    add_readings(n, ref, kiln_mul(t, q, q), 1);
}

static void add_array(norm *n, kiln_val u, kiln_val v, double entries)
{
    kiln_trace *t = n->s->c->t;
    kiln_val ref = kiln_max_all(t, kiln_max(t, kiln_abs(t, u), kiln_abs(t, v))), square;
    bool single = kiln_val_type(t, u).dtype == KILN_F32;
    ref = kiln_convert(t, ref, KILN_F64);
    u = kiln_convert(t, u, KILN_F64), v = kiln_convert(t, v, KILN_F64);
    if (single) {
        kiln_val d = kiln_sub(t, u, v), scale = scale_of(n, ref);
        square = kiln_div(t, kiln_div(t, kiln_sum_all(t, kiln_mul(t, d, d)), scale), scale);
    } else {
        kiln_val q = quotient(n, u, v, ref);
        square = kiln_sum_all(t, kiln_mul(t, q, q));
    }
    add_readings(n, ref, square, entries);
}

/* Readings of the interface norm: what each edge inside delivers, in their fixed order. */
static uint32_t edge_readings(kn_solver *s, const kiln_val *slots, kiln_val *out, double *entries)
{
    const kn_plan *p = s->c->p;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->m->n_edges; i++) {
        const kn_edge *e = &p->g->edges[s->m->edges[i]];
        if (e->is_flux) continue;
        kiln_val v = kn_deliver(s->c, e, slots[kn_slot_of(p, e->source, e->source_field)]);
        double size = (double)kiln_type_size(kiln_val_type(s->c->t, v));
        if (e->placed) { /* the other entries of the vector are 0 on both sides */
            const kn_node *target = &p->g->nodes[e->target];
            size = (double)kn_node_shape(target, kn_node_base(target)->type->inputs[e->target_input].shape).dim[0];
        }
        if (kiln_dtype_kind(kiln_val_type(s->c->t, v).dtype) != 'f' || size == 0) continue;
        entries[n] = size;
        out[n++] = v;
    }
    return n;
}

static uint32_t field_readings(kn_solver *s, const kiln_val *slots, kiln_val *out, double *entries)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        double size = (double)kiln_type_size(s->c->p->slots[s->slot[i]].type);
        if (!kn_is_real(s, s->slot[i]) || size == 0) continue;
        entries[n] = size;
        out[n++] = slots[s->slot[i]];
    }
    return n;
}

kiln_val kn_group_residual(kn_solver *s, const kiln_val *y, const kiln_val *x)
{
    kn_stepping *c = s->c;
    kiln_trace *t = c->t;
    bool single = c->p->real == KILN_F32, interface = s->m->group->convergence_norm == KN_NORM_INTERFACE;
    norm n = {.s = s, .largest = 1 / (single ? (double)FLT_MIN : DBL_MIN) / 4};
    size_t most = interface ? s->m->n_edges : s->n_slots;
    kiln_val *u = KN_STEP_ARRAY(c, kiln_val, most), *v = KN_STEP_ARRAY(c, kiln_val, most);
    kiln_val *us = KN_STEP_ARRAY(c, kiln_val, most), *vs = KN_STEP_ARRAY(c, kiln_val, most);
    double *entries = KN_STEP_ARRAY(c, double, most);
    if (!u || !v || !us || !vs || !entries) return (kiln_val){0};
    uint32_t count = interface ? edge_readings(s, y, u, entries) : field_readings(s, y, u, entries), scalars = 0;
    if (interface) edge_readings(s, x, v, entries);
    else field_readings(s, x, v, entries);
    for (uint32_t i = 0; i < count; i++) {
        /* a scalar put into one entry of a vector counts the vector's entries: measured by itself */
        if (kiln_val_type(t, u[i]).rank == 0 && entries[i] == 1) us[scalars] = u[i], vs[scalars++] = v[i];
        else add_array(&n, u[i], v[i], entries[i]);
    }
    add_scalars(&n, us, vs, scalars);
    if (!n.total.id) return f64(s, 0);
    kiln_val r = n.total;
    if (s->m->group->convergence_norm != KN_NORM_L2) r = kiln_div(t, r, kiln_max(t, n.count, f64(s, 1)));
    return kiln_select(t, n.bad, f64(s, (double)INFINITY), kiln_sqrt(t, r));
}

kiln_val kn_group_finite(kn_solver *s, const kiln_val *x)
{
    kiln_trace *t = s->c->t;
    kiln_val all = {0}, stacked = kn_group_stack(s, x);
    if (stacked.id) all = kiln_reduce(t, "reduce_and", kiln_is_finite(t, stacked), NULL, UINT32_MAX);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (!kn_is_real(s, s->slot[i]) || kn_is_scalar(s, s->slot[i])) continue;
        kiln_val ok = kiln_reduce(t, "reduce_and", kiln_is_finite(t, x[s->slot[i]]), NULL, UINT32_MAX);
        all = all.id ? kiln_and(t, all, ok) : ok;
    }
    return all.id ? all : kiln_scalar(t, KILN_BOOL, 1);
}
