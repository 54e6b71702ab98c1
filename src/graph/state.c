/* SPDX-License-Identifier: Apache-2.0 */
/* State and parameters from outside. */
#include "graph/engine.h"

#include "base/text.h"
#include "graph/kinds.h"

#include <stdlib.h>

/* ---- initial state ---- */

static const kn_initial *given(const kn_graph_model *m, uint32_t node, int field)
{
    for (uint32_t i = 0; i < m->n_initial; i++)
        if (m->initial[i].node == node && m->initial[i].field == field) return &m->initial[i];
    return NULL;
}

kiln_status kn_graph_init_node(kiln_ctx *ctx, kiln_graph *g, uint32_t node)
{
    const kn_node *base = kn_node_base(&g->nodes[node]);
    for (int f = 0; f < base->type->n_state; f++) {
        kiln_array *a = g->state[kn_slot_of(g->plan, node, f)];
        size_t n = (size_t)kiln_type_size(kiln_array_type(a));
        const kn_initial *from = given(g->model, node, f);
        kiln_dtype d = kiln_array_type(a).dtype;
        if (from) {
            kn_store(d, kiln_array_data(a), from->v, n);
            continue;
        }
        double *v = kn_new(&ctx->alloc, n * sizeof *v);
        KILN_TRY_MEM(ctx, v);
        base->type->init(base, f, v, n);
        kn_store(d, kiln_array_data(a), v, n);
        kn_free(&ctx->alloc, v, n * sizeof *v);
    }
    return KILN_OK;
}

static void clear(kiln_array *a) { memset(kiln_array_data(a), 0, kiln_array_bytes(a)); }

kiln_status kiln_graph_reset(kiln_ctx *ctx, kiln_graph *g)
{
    for (uint32_t i = 0; i < g->model->n_nodes; i++) KILN_TRY(kn_graph_init_node(ctx, g, i));
    for (uint32_t i = g->plan->n_slots; i < kn_n_state(g); i++) clear(g->state[i]);
    for (uint32_t i = 0; i < g->model->n_groups * KN_N_DIAG; i++) clear(g->diag[i]);
    g->step = 0;
    g->initial = true;
    g->seeded = false;
    return KILN_OK;
}

/* ---- fields ---- */

int64_t kn_graph_find_field(const kiln_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->plan->n_slots; i++)
        if (strcmp(g->plan->slots[i].name, name) == 0) return i;
    return -1;
}

static kiln_status unknown(kiln_ctx *ctx, const char *what, const char *name, const char *const *names, size_t n)
{
    const char *near = kn_nearest(name, names, n);
    if (near) return kn_fail(ctx, KILN_NOTFOUND, "no %s '%s' (did you mean '%s'?)", what, name, near);
    return kn_fail(ctx, KILN_NOTFOUND, "no %s '%s'", what, name);
}

static kiln_status unknown_field(kiln_ctx *ctx, const kiln_graph *g, const char *name)
{
    const char **names = kn_new(&ctx->alloc, g->plan->n_slots * sizeof *names);
    KILN_TRY_MEM(ctx, names);
    for (uint32_t i = 0; i < g->plan->n_slots; i++) names[i] = g->plan->slots[i].name;
    kiln_status s = unknown(ctx, "field", name, names, g->plan->n_slots);
    kn_free(&ctx->alloc, names, g->plan->n_slots * sizeof *names);
    return s;
}

kiln_status kiln_graph_get(kiln_ctx *ctx, const kiln_graph *g, const char *field, kiln_array **out)
{
    *out = NULL;
    int64_t i = kn_graph_find_field(g, field);
    if (i < 0) return unknown_field(ctx, g, field);
    KILN_TRY(kiln_array_create(ctx, kiln_array_type(g->state[i]), out));
    memcpy(kiln_array_data(*out), kiln_array_read(g->state[i]), kiln_array_bytes(*out));
    return KILN_OK;
}

/* Any real type, as doubles. */
static bool read_doubles(const kiln_array *a, double *out, size_t n)
{
    const void *p = kiln_array_read(a);
    for (size_t i = 0; i < n; i++) {
        switch (kiln_array_type(a).dtype) {
        case KILN_F64: out[i] = ((const double *)p)[i]; break;
        case KILN_F32: out[i] = (double)((const float *)p)[i]; break;
        case KILN_I32: out[i] = ((const int32_t *)p)[i]; break;
        case KILN_I64: out[i] = (double)((const int64_t *)p)[i]; break;
        case KILN_BOOL: out[i] = ((const bool *)p)[i]; break;
        case KILN_U8: out[i] = ((const uint8_t *)p)[i]; break;
        default: return false;
        }
    }
    return true;
}

kiln_status kiln_graph_put(kiln_ctx *ctx, kiln_graph *g, const char *field, const kiln_array *value)
{
    int64_t i = kn_graph_find_field(g, field);
    if (i < 0) return unknown_field(ctx, g, field);
    kiln_type want = kiln_array_type(g->state[i]), got = kiln_array_type(value);
    if (!kiln_type_equal(got, (kiln_type){got.dtype, want.rank, want.dims})) {
        char a[128], b[128];
        kiln_type_format(want, a, sizeof a);
        kiln_type_format(got, b, sizeof b);
        return kn_fail(ctx, KILN_SHAPE, "field '%s' is %s, the value is %s", field, a, b);
    }
    if (got.dtype == want.dtype) {
        memcpy(kiln_array_data(g->state[i]), kiln_array_read(value), kiln_array_bytes(value));
    } else {
        size_t n = (size_t)kiln_type_size(got);
        double *v = kn_new(&ctx->alloc, n * sizeof *v);
        KILN_TRY_MEM(ctx, v);
        bool ok = read_doubles(value, v, n);
        if (ok) kn_store(want.dtype, kiln_array_data(g->state[i]), v, n);
        kn_free(&ctx->alloc, v, n * sizeof *v);
        if (!ok)
            return kn_fail(ctx, KILN_DTYPE, "field '%s' cannot be set from %s: real numbers would be accepted", field,
                           kiln_dtype_name(got.dtype));
    }
    g->initial = false;
    if (g->step == 0) g->seeded = false;
    return KILN_OK;
}

/* ---- parameters ---- */

/* "node.param" or "node.param[2]" */
static bool split_name(const char *text, char *node, char *param, size_t size, int64_t *index)
{
    const char *dot = strchr(text, '.'), *bracket = strchr(text, '[');
    *index = -1;
    if (!dot || dot == text || (bracket && bracket < dot)) return false;
    size_t n_node = (size_t)(dot - text), n_param = bracket ? (size_t)(bracket - dot - 1) : strlen(dot + 1);
    if (n_param == 0 || n_node >= size || n_param >= size) return false;
    memcpy(node, text, n_node), node[n_node] = 0;
    memcpy(param, dot + 1, n_param), param[n_param] = 0;
    if (bracket) {
        char *end;
        *index = strtoll(bracket + 1, &end, 10);
        if (end == bracket + 1 || strcmp(end, "]") != 0 || *index < 0) return false;
    }
    return true;
}

static kiln_status own_params(kiln_ctx *ctx, kiln_graph *g, uint32_t node)
{
    if (g->own_params[node]) return KILN_OK;
    kn_node *n = &g->nodes[node];
    kn_param *copy = kn_arena_copy(&g->arena, n->params, (size_t)n->type->n_params * sizeof *copy);
    KILN_TRY_MEM(ctx, copy);
    for (int i = 0; i < n->type->n_params; i++) {
        kn_param_kind kind = n->type->params[i].kind;
        bool numbers = kind == KN_PARAM_VECTOR || kind == KN_PARAM_CELLS;
        if (numbers && copy[i].n) KILN_TRY_MEM(ctx, copy[i].v = kn_arena_copy(&g->arena, copy[i].v, copy[i].n * sizeof(double)));
    }
    n->params = copy;
    g->own_params[node] = true;
    return KILN_OK;
}

/* Where the number lives, or NULL when the parameter is no number that can be set at run time. */
static double *number_of(kn_param *p, const kn_param_desc *d, int64_t index)
{
    if (p->none) return NULL;
    if (d->kind == KN_PARAM_NUMBER || (d->kind == KN_PARAM_CELLS && p->n == 0)) return index < 0 ? &p->number : NULL;
    if ((d->kind == KN_PARAM_VECTOR || d->kind == KN_PARAM_CELLS) && index >= 0 && (size_t)index < p->n) return (double *)(uintptr_t)&p->v[index];
    return NULL;
}

static bool allowed(kn_constraint c, double v)
{
    switch (c) {
    case KN_POSITIVE: return v > 0;
    case KN_NOT_NEGATIVE: return v >= 0;
    case KN_AT_LEAST_ONE: return v >= 1;
    case KN_ABOVE_HALF: return v > 0.5;
    default: return true;
    }
}

static kiln_status set_number(kiln_ctx *ctx, kiln_graph *g, uint32_t node, int k, int64_t index, const char *name, double value)
{
    kn_node *n = &g->nodes[node];
    const kn_param_desc *d = &n->type->params[k];
    KILN_TRY(own_params(ctx, g, node));
    double *at = number_of((kn_param *)(uintptr_t)&n->params[k], d, index);
    if (!at)
        return kn_fail(ctx, KILN_INVALID, "'%s' cannot be set: a number of a node would be accepted (or an entry [i] of a vector), other "
                       "parameters shape the program", name);
    if (!allowed(d->constraint, value)) return kn_fail(ctx, KILN_INVALID, "%s = %g is not allowed for a %s", name, value, n->type->name);
    double was = *at;
    *at = value;
    kiln_status s = n->type->check ? n->type->check(ctx, g->model, n) : KILN_OK;
    if (s != KILN_OK) *at = was;
    return s;
}

kiln_status kiln_graph_set(kiln_ctx *ctx, kiln_graph *g, const char *name, double value)
{
    char node[128], param[128];
    int64_t index, i;
    if (!split_name(name, node, param, sizeof node, &index))
        return kn_fail(ctx, KILN_INVALID, "'%s' names no parameter: node.parameter or node.parameter[i] would be accepted", name);
    if ((i = kn_graph_find(g->model, node)) < 0) {
        const char **names = kn_new(&ctx->alloc, g->model->n_nodes * sizeof *names);
        KILN_TRY_MEM(ctx, names);
        for (uint32_t k = 0; k < g->model->n_nodes; k++) names[k] = g->nodes[k].name;
        kiln_status s = unknown(ctx, "node", node, names, g->model->n_nodes);
        kn_free(&ctx->alloc, names, g->model->n_nodes * sizeof *names);
        return s;
    }
    int k = kn_node_type_param(g->nodes[i].type, param);
    if (k < 0) {
        const char *names[64];
        int n = g->nodes[i].type->n_params < 64 ? g->nodes[i].type->n_params : 64;
        for (int p = 0; p < n; p++) names[p] = g->nodes[i].type->params[p].name;
        return unknown(ctx, g->nodes[i].type->name, param, names, (size_t)n);
    }
    KILN_TRY(set_number(ctx, g, (uint32_t)i, k, index, name, value));
    kn_settings_fill(g->plan, &g->settings, g->setting);
    if (g->initial) {
        KILN_TRY(kn_graph_init_node(ctx, g, (uint32_t)i));
        g->seeded = false;
    }
    return KILN_OK;
}
