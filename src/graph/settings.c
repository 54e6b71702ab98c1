/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/settings.h"

void kn_store(kiln_dtype d, void *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (d == KILN_F64) ((double *)to)[i] = from[i];
        else if (d == KILN_F32) ((float *)to)[i] = (float)from[i];
        else if (d == KILN_I32) ((int32_t *)to)[i] = (int32_t)from[i];
        else if (d == KILN_I64) ((int64_t *)to)[i] = (int64_t)from[i];
        else ((uint8_t *)to)[i] = from[i] != 0;
    }
}

int64_t kn_param_entries(const kn_node *n, int param)
{
    const kn_param_desc *d = &n->type->params[param];
    const kn_param *p = &n->params[param];
    if (d->start || p->none) return 0;
    switch (d->kind) {
    case KN_PARAM_NUMBER: return -1;
    case KN_PARAM_VECTOR: return d->length;
    case KN_PARAM_CELLS: return p->n ? (int64_t)p->n : -1;
    case KN_PARAM_LOCKS: return (int64_t)p->n;
    case KN_PARAM_CHECKS: return 3 * (int64_t)p->n;
    default: return 0;
    }
}

/* ---- the list ---- */

typedef struct lister {
    kiln_ctx *ctx;
    kn_arena *arena;
    kn_settings *s;
    KN_VEC(kn_setting) v;
} lister;

static kiln_status add(lister *l, const char *name, kiln_dtype d, uint32_t rank, const int64_t *dims, int32_t *out)
{
    int64_t *copy = kn_arena_copy(l->arena, dims, rank * sizeof *dims);
    KILN_TRY_MEM(l->ctx, name && copy);
    KILN_TRY_MEM(l->ctx, kn_push(l->arena, &l->v, (kn_setting){name, {d, rank, copy}}));
    *out = (int32_t)l->v.n - 1;
    return KILN_OK;
}

static kiln_status add_node(lister *l, const kn_plan *p, uint32_t i)
{
    const kn_node *n = &p->g->nodes[i], *base = kn_node_base(n);
    KILN_TRY_MEM(l->ctx, l->s->param[i] = KN_NEWN(l->arena, int32_t, base->type->n_params));
    for (int k = 0; k < base->type->n_params; k++) {
        int64_t count = kn_param_entries(base, k);
        l->s->param[i][k] = -1;
        if (count == 0) continue;
        KILN_TRY(add(l, kn_arena_printf(l->arena, "%s.%s", n->name, base->type->params[k].name), p->real, count > 0, &count,
                     &l->s->param[i][k]));
    }
    return add(l, kn_arena_printf(l->arena, "%s.timestep", n->name), p->real, 0, NULL, &l->s->timestep[i]);
}

/* Does an expression of time ask for the coordinates of cells? */
static bool needs_centres(const kn_value *v)
{
    for (size_t i = 0; i < v->n_leaves; i++)
        if (v->leaves[i].expr && (kiln_expr_vars(v->leaves[i].expr) >> KN_VAR_X & 1)) return true;
    return false;
}

static kiln_status add_input(lister *l, const kn_plan *p, uint32_t k)
{
    const kn_input *in = &p->g->inputs[k];
    const char *node = p->g->nodes[in->target].name;
    l->s->input[k] = -1;
    if (in->value.kind == KN_VALUE_TIME) {
        if (!needs_centres(&in->value) || l->s->centres[in->target] >= 0) return KILN_OK;
        kn_shape cells = kn_node_cells(&p->g->nodes[in->target]);
        int64_t count = (int64_t)kn_shape_count(&cells);
        return add(l, kn_arena_printf(l->arena, "centres:%s", node), KILN_F64, 1, &count, &l->s->centres[in->target]);
    }
    int64_t dims[KN_MAX_RANK + 1] = {(int64_t)in->value.n_rows};
    bool rows = in->value.kind == KN_VALUE_ROWS;
    memcpy(dims + 1, in->value.shape.dim, (size_t)in->value.shape.rank * sizeof *dims);
    return add(l, kn_arena_printf(l->arena, "input:%s.%s", node, in->target_field), p->real,
               (uint32_t)in->value.shape.rank + rows, rows ? dims : dims + 1, &l->s->input[k]);
}

static kiln_status add_group(lister *l, const kn_plan *p, uint32_t k)
{
    static const char *const names[KN_N_TUNES] = {"max_iterations", "tolerance", "rtol", "atol", "relaxation"};
    for (int o = 0; o < KN_N_TUNES; o++)
        KILN_TRY(add(l, kn_arena_printf(l->arena, "coupling:%s.%s", p->groups[k].key, names[o]),
                     o == KN_TUNE_MAX_ITERATIONS ? KILN_I32 : KILN_F64, 0, NULL, &l->s->option[k][o]));
    return KILN_OK;
}

kiln_status kn_settings_list(kiln_ctx *ctx, kn_arena *arena, const kn_plan *p, kn_settings *s)
{
    const kn_graph_model *g = p->g;
    lister l = {.ctx = ctx, .arena = arena, .s = s};
    s->param = KN_NEWN(arena, int32_t *, g->n_nodes), s->timestep = KN_NEWN(arena, int32_t, g->n_nodes);
    s->centres = KN_NEWN(arena, int32_t, g->n_nodes), s->input = KN_NEWN(arena, int32_t, g->n_inputs);
    s->option = kn_arena_newn(arena, g->n_groups, sizeof *s->option);
    KILN_TRY_MEM(ctx, s->param && s->timestep && s->centres && s->input && s->option);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        s->centres[i] = -1;
        KILN_TRY(add_node(&l, p, i));
    }
    KILN_TRY(add(&l, "base_timestep", KILN_F64, 0, NULL, &s->base));
    for (uint32_t i = 0; i < g->n_inputs; i++) KILN_TRY(add_input(&l, p, i));
    for (uint32_t i = 0; i < g->n_groups; i++) KILN_TRY(add_group(&l, p, i));
    s->v = l.v.v;
    s->n = l.v.n;
    return KILN_OK;
}

/* ---- the values ---- */

static void fill_param(kiln_dtype real, const kn_node *n, int k, void *to)
{
    const kn_param *p = &n->params[k];
    size_t at = 0, size = kiln_dtype_bytes(real);
    switch (n->type->params[k].kind) {
    case KN_PARAM_LOCKS:
        for (; at < p->n; at++) kn_store(real, (char *)to + at * size, &p->locks[at].value, 1);
        break;
    case KN_PARAM_CHECKS:
        for (; at < p->n; at++) {
            double bounds[] = {p->checks[at].min, p->checks[at].max, p->checks[at].max_abs};
            kn_store(real, (char *)to + 3 * at * size, bounds, 3);
        }
        break;
    case KN_PARAM_NUMBER: kn_store(real, to, &p->number, 1); break;
    default: kn_store(real, to, p->n ? p->v : &p->number, p->n ? p->n : 1); break;
    }
}

static void fill_group(const kn_plan *p, const kn_group *g, const int32_t *option, kiln_array *const *values)
{
    double v[KN_N_TUNES] = {(double)g->max_iterations, g->tolerance, g->rtol, g->atol, g->relaxation};
    /* the threshold and the factor are numbers of the run's type */
    if (p->real == KILN_F32) v[KN_TUNE_TOLERANCE] = (double)(float)g->tolerance;
    for (int o = 0; o < KN_N_TUNES; o++)
        kn_store(kiln_array_type(values[option[o]]).dtype, kiln_array_data(values[option[o]]), &v[o], 1);
}

void kn_settings_fill(const kn_plan *p, const kn_settings *s, kiln_array *const *values)
{
    const kn_graph_model *g = p->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const kn_node *base = kn_node_base(&g->nodes[i]);
        for (int k = 0; k < base->type->n_params; k++)
            if (s->param[i][k] >= 0) fill_param(p->real, base, k, kiln_array_data(values[s->param[i][k]]));
        kn_store(p->real, kiln_array_data(values[s->timestep[i]]), &g->nodes[i].timestep, 1);
        if (s->centres[i] >= 0)
            kn_node_centres(&g->nodes[i], 0, (size_t)kiln_type_size(kiln_array_type(values[s->centres[i]])),
                            kiln_array_data(values[s->centres[i]]));
    }
    kn_store(KILN_F64, kiln_array_data(values[s->base]), &g->base_timestep, 1);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const kn_value *v = &g->inputs[i].value;
        if (s->input[i] < 0) continue;
        kiln_array *a = values[s->input[i]];
        if (v->kind == KN_VALUE_ZERO) memset(kiln_array_data(a), 0, kiln_array_bytes(a));
        else kn_store(p->real, kiln_array_data(a), v->v, (size_t)kiln_type_size(kiln_array_type(a)));
    }
    for (uint32_t i = 0; i < g->n_groups; i++) fill_group(p, &g->groups[i], s->option[i], values);
}
