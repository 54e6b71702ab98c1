/* SPDX-License-Identifier: Apache-2.0 */
/* Edges and external inputs: how values reach the inputs of a node. */
#include "graph/step.h"

#include <stdio.h>

static kiln_val broadcast_to(kiln_trace *t, kiln_val v, const kn_shape *shape)
{
    kiln_type x = kiln_val_type(t, v);
    int64_t at[KN_MAX_RANK];
    for (uint32_t i = 0; i < x.rank && i < KN_MAX_RANK; i++) at[i] = (int64_t)shape->rank - x.rank + i;
    return kiln_broadcast(t, v, (uint32_t)shape->rank, shape->dim, at);
}

/* ---- edges ---- */

/* Row k of an array along its first axis. */
static kiln_val row(kiln_trace *t, kiln_val v, int64_t k)
{
    kiln_type x = kiln_val_type(t, v);
    int64_t from[KN_MAX_RANK] = {k}, to[KN_MAX_RANK] = {k + 1};
    if (x.rank == 1) return kiln_item(t, v, k);
    for (uint32_t i = 1; i < x.rank; i++) to[i] = x.dims[i];
    return kiln_reshape(t, kiln_slice(t, v, from, to, NULL), x.rank - 1, x.dims + 1);
}

kiln_val kn_deliver(kn_stepping *c, const kn_edge *e, kiln_val v)
{
    kiln_trace *t = c->t;
    bool check = kn_type_at(c->p, e->target)->inputs_from_checks;
    if (!check && kiln_dtype_kind(kiln_val_type(t, v).dtype) != 'f') v = kiln_convert(t, v, c->p->real);
    if (e->indexed) v = row(t, v, e->index);
    if (e->op != KN_EDGE_NONE && kiln_dtype_kind(kiln_val_type(t, v).dtype) != 'f') v = kiln_convert(t, v, c->p->real);
    switch (e->op) {
    case KN_EDGE_NONE: return v;
    case KN_EDGE_NEGATE: return kiln_neg(t, v);
    case KN_EDGE_SCALE: return kiln_mul(t, kiln_num(t, e->factor), v);
    case KN_EDGE_EXPR: {
        kiln_type x = kiln_val_type(t, v);
        kiln_val r = kiln_expr_trace(t, e->expr, c->p->real, NULL, v);
        return x.rank && kiln_val_type(t, r).rank == 0 ? kiln_broadcast(t, r, x.rank, x.dims, NULL) : r;
    }
    }
    return v;
}

/* v as entry `place` of a vector that is 0 elsewhere. */
static kiln_val placed(kiln_trace *t, kiln_val v, int64_t place, int64_t of)
{
    static const int64_t one = 1;
    int64_t lo = place, hi = of - 1 - place;
    v = kiln_reshape(t, v, 1, &one);
    return kiln_pad(t, v, kiln_num(t, 0), &lo, &hi, NULL);
}

static kn_shape input_shape(const kn_plan *p, uint32_t node, uint32_t input)
{
    const kn_node *n = &p->g->nodes[node];
    return kn_node_shape(n, kn_node_base(n)->type->inputs[input].shape);
}

static kiln_val source_value(const kn_stepping *c, uint32_t k, kn_view view)
{
    const kn_edge *e = &c->p->g->edges[k];
    bool start = c->p->reads[k] == KN_READS_START;
    if (!e->is_flux) return (start ? c->old : view.slots)[kn_slot_of(c->p, e->source, e->source_field)];
    uint32_t f = kn_flux_of(c->p, e->source, e->source_field);
    return start ? c->hidden[c->p->flux_held[f]] : view.flux[f];
}

void kn_gather(kn_stepping *c, uint32_t node, kn_view view, kiln_val *in)
{
    const kn_plan *p = c->p;
    kiln_trace *t = c->t;
    const kn_node *n = &p->g->nodes[node];
    bool check = kn_type_at(p, node)->inputs_from_checks;
    uint32_t n_in = kn_input_count(n);
    for (uint32_t i = 0; i < n_in; i++) in[i] = (kiln_val){0};
    for (uint32_t i = 0; i < p->n_into[node]; i++) {
        const kn_edge *e = &p->g->edges[p->into[node][i]];
        kiln_val v = source_value(c, p->into[node][i], view);
        if (!v.id || e->target_input < 0) continue;
        kn_step_place(c, e->at);
        char name[160];
        snprintf(name, sizeof name, "%s.%s", n->name, e->target_field);
        kn_step_scope(c, "edge", name);
        kiln_val *to = &in[e->target_input];
        v = kn_deliver(c, e, v);
        if (e->placed) v = placed(t, v, e->place, input_shape(p, node, (uint32_t)e->target_input).dim[0]);
        *to = e->additive && to->id ? kiln_add(t, *to, v) : v;
        kiln_scope_pop(t);
    }
    for (uint32_t i = 0; i < p->g->n_inputs; i++)
        if (p->g->inputs[i].target == node && p->g->inputs[i].target_input >= 0) in[p->g->inputs[i].target_input] = c->inputs[i];
    for (uint32_t i = 0; i < n_in && !check; i++) {
        if (!in[i].id) continue;
        kn_shape shape = input_shape(p, node, i);
        if (kiln_val_type(t, in[i]).rank < (uint32_t)shape.rank && !kn_type_at(p, node)->inputs[i].short_shape)
            in[i] = broadcast_to(t, in[i], &shape);
    }
}

/* ---- external inputs ---- */

/* Index along axis `axis` of every cell, flattened, f64. */
static kiln_val cell_index(kn_stepping *c, const kn_shape *cells, int axis)
{
    kiln_type type = {KILN_F64, (uint32_t)cells->rank, cells->dim};
    int64_t count = (int64_t)kn_shape_count(cells);
    return kiln_reshape(c->t, kiln_iota(c->t, type, axis), 1, &count);
}

static kiln_val data(kn_stepping *c, const double *v, int64_t count)
{
    kiln_array *a;
    if (!kiln_trace_ok(c->t)) return (kiln_val){0};
    if (kiln_array_create(c->ctx, (kiln_type){KILN_F64, 1, &count}, &a) != KILN_OK) {
        kiln_trace_fail(c->t, KILN_NOMEM, "out of memory");
        return (kiln_val){0};
    }
    memcpy(kiln_array_data(a), v, (size_t)count * sizeof *v);
    kiln_val made = kiln_const(c->t, a);
    kiln_array_release(a);
    return made;
}

static kiln_val leaf_value(kn_stepping *c, const kn_input *in, const kn_leaf *l, kiln_val time)
{
    kiln_trace *t = c->t;
    kiln_val vars[64] = {{0}}, v;
    int64_t count = (int64_t)l->count;
    if (!l->expr && l->v) return data(c, l->v, count);
    if (!l->expr) {
        v = kiln_scalar(t, KILN_F64, l->number);
        return kiln_broadcast(t, v, 1, &count, NULL);
    }
    uint64_t used = kiln_expr_vars(l->expr);
    kn_shape cells = kn_node_cells(&c->p->g->nodes[in->target]);
    for (int axis = 0; axis < 3; axis++)
        if (used >> (KN_VAR_I + axis) & 1) vars[KN_VAR_I + axis] = cell_index(c, &cells, axis);
    if (used >> KN_VAR_X & 1) vars[KN_VAR_X] = c->settings[c->s->centres[in->target]];
    vars[KN_VAR_TIME] = time;
    if (used >> KN_VAR_STEP & 1) vars[KN_VAR_STEP] = kiln_convert(t, c->step, KILN_F64);
    v = kiln_expr_trace(t, l->expr, KILN_F64, vars, (kiln_val){0});
    return kiln_val_type(t, v).rank ? v : kiln_broadcast(t, v, 1, &count, NULL);
}

/* Leaves one after the other, each in its own run of entries. */
static bool in_sequence(const kn_value *v)
{
    size_t at = 0;
    for (size_t i = 0; i < v->n_leaves; i++) {
        if (v->leaves[i].offset != at || (v->leaves[i].count > 1 && v->leaves[i].stride != 1)) return false;
        at += v->leaves[i].count;
    }
    return true;
}

/* The whole array, flat: leaves in sequence are joined; leaves that interleave are spread out with zeros and added. */
static kiln_val join_leaves(kn_stepping *c, const kn_value *v, const kiln_val *leaf)
{
    kiln_trace *t = c->t;
    int64_t total = (int64_t)kn_shape_count(&v->shape);
    if (in_sequence(v)) return kiln_concatenate(t, leaf, (uint32_t)v->n_leaves, 0);
    kiln_val sum = {0};
    for (size_t i = 0; i < v->n_leaves; i++) {
        const kn_leaf *l = &v->leaves[i];
        int64_t gap = l->count > 1 ? (int64_t)l->stride - 1 : 0, lo = (int64_t)l->offset;
        int64_t hi = total - lo - ((int64_t)l->count - 1) * (gap + 1) - 1;
        kiln_val spread = kiln_pad(t, leaf[i], kiln_num(t, 0), &lo, &hi, &gap);
        sum = sum.id ? kiln_add(t, sum, spread) : spread;
    }
    return sum;
}

static kiln_val timed_input(kn_stepping *c, const kn_input *in)
{
    kiln_trace *t = c->t;
    const kn_value *v = &in->value;
    kiln_val time = kiln_mul(t, kiln_convert(t, c->step, KILN_F64), c->settings[c->s->base]);
    kiln_val *leaf = KN_STEP_ARRAY(c, kiln_val, v->n_leaves);
    if (!leaf) return (kiln_val){0};
    for (size_t i = 0; i < v->n_leaves; i++) leaf[i] = leaf_value(c, in, &v->leaves[i], time);
    kiln_val whole = join_leaves(c, v, leaf);
    return kiln_convert(t, kiln_reshape(t, whole, (uint32_t)v->shape.rank, v->shape.dim), c->p->real);
}

/* Row min(step, last) of the given rows. */
static kiln_val row_of_step(kn_stepping *c, const kn_value *v, kiln_val rows)
{
    kiln_trace *t = c->t;
    kiln_val start[KN_MAX_RANK + 1];
    int64_t sizes[KN_MAX_RANK + 1];
    start[0] = kiln_min(t, c->step, kiln_int(t, KILN_I64, (int64_t)v->n_rows - 1));
    sizes[0] = 1;
    for (int i = 0; i < v->shape.rank; i++) start[i + 1] = kiln_int(t, KILN_I64, 0), sizes[i + 1] = v->shape.dim[i];
    kiln_val one = kiln_dynamic_slice(t, rows, start, sizes);
    return kiln_reshape(t, one, (uint32_t)v->shape.rank, v->shape.dim);
}

void kn_inputs_trace(kn_stepping *c)
{
    const kn_graph_model *g = c->p->g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const kn_input *in = &g->inputs[i];
        char name[160];
        snprintf(name, sizeof name, "%s.%s", g->nodes[in->target].name, in->target_field);
        kn_step_place(c, in->at);
        kn_step_scope(c, "input", name);
        if (in->value.kind == KN_VALUE_TIME) c->inputs[i] = timed_input(c, in);
        else if (in->value.kind == KN_VALUE_ROWS) c->inputs[i] = row_of_step(c, &in->value, c->settings[c->s->input[i]]);
        else c->inputs[i] = c->settings[c->s->input[i]];
        kiln_scope_pop(c->t);
    }
}
