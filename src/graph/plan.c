/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan.h"

const char *const kn_diag_names[KN_N_DIAG] = {"iterations", "residual", "amplification", "error_estimate", "converged"};

kiln_dtype kn_diag_dtype(kn_diag d)
{
    return d == KN_DIAG_ITERATIONS ? KILN_I32 : d == KN_DIAG_CONVERGED ? KILN_BOOL : KILN_F64;
}

uint32_t kn_input_count(const kn_node *n)
{
    const kn_node *base = kn_node_base(n);
    return base->type->inputs_from_checks ? (uint32_t)kn_node_param(base, "checks")->n : (uint32_t)base->type->n_inputs;
}

static kiln_dtype field_dtype(kn_field_type t, kiln_dtype real)
{
    return t == KN_FLOAT ? real : t == KN_INT32 ? KILN_I32 : t == KN_BOOL ? KILN_BOOL : KILN_U8;
}

/* ---- slots and fluxes ---- */

static kiln_status make_slots(kiln_ctx *ctx, kn_plan *p)
{
    const kn_graph_model *g = p->g;
    KILN_TRY_MEM(ctx, p->first_slot = KN_NEWN(p->arena, uint32_t, g->n_nodes));
    KILN_TRY_MEM(ctx, p->first_flux = KN_NEWN(p->arena, uint32_t, g->n_nodes));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        p->first_slot[i] = p->n_slots, p->first_flux[i] = p->n_fluxes;
        p->n_slots += (uint32_t)kn_type_at(p, i)->n_state;
        p->n_fluxes += (uint32_t)kn_type_at(p, i)->n_fluxes;
    }
    KILN_TRY_MEM(ctx, p->slots = KN_NEWN(p->arena, kn_slot, p->n_slots));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (int f = 0; f < kn_type_at(p, i)->n_state; f++) {
            const kn_field_desc *d = &kn_type_at(p, i)->state[f];
            kn_slot *s = &p->slots[kn_slot_of(p, i, f)];
            kn_shape shape = kn_node_shape(&g->nodes[i], d->shape);
            int64_t *dims = kn_arena_copy(p->arena, shape.dim, (size_t)shape.rank * sizeof *dims);
            char *name = kn_arena_printf(p->arena, "%s.%s", g->nodes[i].name, d->name);
            KILN_TRY_MEM(ctx, dims && name);
            *s = (kn_slot){name, i, f, {field_dtype(d->type, p->real), (uint32_t)shape.rank, dims}, d->type == KN_FLOAT};
        }
    return KILN_OK;
}

static kiln_status list_edges(kiln_ctx *ctx, kn_plan *p)
{
    const kn_graph_model *g = p->g;
    KILN_TRY_MEM(ctx, p->into = KN_NEWN(p->arena, uint32_t *, g->n_nodes));
    KILN_TRY_MEM(ctx, p->n_into = KN_NEWN(p->arena, uint32_t, g->n_nodes));
    uint32_t *count = KN_NEWN(p->arena, uint32_t, g->n_nodes);
    KILN_TRY_MEM(ctx, count);
    for (uint32_t e = 0; e < g->n_edges; e++) count[g->edges[e].target]++;
    for (uint32_t i = 0; i < g->n_nodes; i++) KILN_TRY_MEM(ctx, p->into[i] = KN_NEWN(p->arena, uint32_t, count[i]));
    for (uint32_t e = 0; e < g->n_edges; e++) p->into[g->edges[e].target][p->n_into[g->edges[e].target]++] = e;
    return KILN_OK;
}

/* ---- groups ---- */

static kiln_status group_key(kiln_ctx *ctx, kn_plan *p, kn_members *m)
{
    const char **names = KN_NEWN(p->arena, const char *, m->n);
    KILN_TRY_MEM(ctx, names);
    size_t bytes = 1;
    for (uint32_t i = 0; i < m->n; i++) {
        const char *x = p->g->nodes[m->nodes[i]].name;
        uint32_t k = i;
        for (; k > 0 && strcmp(names[k - 1], x) > 0; k--) names[k] = names[k - 1];
        names[k] = x;
        bytes += strlen(x) + 1;
    }
    char *key = kn_arena_new(p->arena, bytes), *at = key;
    KILN_TRY_MEM(ctx, key);
    for (uint32_t i = 0; i < m->n; i++) {
        size_t len = strlen(names[i]);
        if (i) *at++ = '+';
        memcpy(at, names[i], len);
        at += len;
    }
    m->key = key;
    return KILN_OK;
}

/* Ordered by place of the source, source field, place of the target, target field, then the file. */
static int compare_edges(const kn_plan *p, const kn_edge *a, const kn_edge *b)
{
    if (a->source != b->source) return p->position[a->source] < p->position[b->source] ? -1 : 1;
    const kn_node_type *t = kn_type_at(p, a->source);
    const char *fa = a->is_flux ? t->fluxes[a->source_field].name : t->state[a->source_field].name;
    const char *fb = b->is_flux ? t->fluxes[b->source_field].name : t->state[b->source_field].name;
    int c = strcmp(fa, fb);
    if (c) return c;
    if (a->target != b->target) return p->position[a->target] < p->position[b->target] ? -1 : 1;
    return strcmp(a->target_field, b->target_field);
}

static kiln_status make_group(kiln_ctx *ctx, kn_plan *p, uint32_t gi)
{
    const kn_graph_model *g = p->g;
    kn_members *m = &p->groups[gi];
    m->group = &g->groups[gi];
    m->held = -1;
    m->strict = m->group->strict_convergence;
    KILN_TRY_MEM(ctx, m->nodes = KN_NEWN(p->arena, uint32_t, m->group->n_nodes));
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[p->order[k]].group == (int32_t)gi) m->nodes[m->n++] = p->order[k];
    m->divider = g->nodes[m->nodes[0]].divider;
    for (uint32_t e = 0; e < g->n_edges; e++) m->n_edges += p->reads[e] == KN_READS_PASS && g->nodes[g->edges[e].source].group == (int32_t)gi;
    KILN_TRY_MEM(ctx, m->edges = KN_NEWN(p->arena, uint32_t, m->n_edges));
    uint32_t n = 0;
    for (uint32_t e = 0; e < g->n_edges; e++) {
        if (p->reads[e] != KN_READS_PASS || g->nodes[g->edges[e].source].group != (int32_t)gi) continue;
        uint32_t k = n++;
        for (; k > 0 && compare_edges(p, &g->edges[m->edges[k - 1]], &g->edges[e]) > 0; k--) m->edges[k] = m->edges[k - 1];
        m->edges[k] = e;
    }
    return group_key(ctx, p, m);
}

/* ---- blocks and edges ---- */

/* A group stands where the first of its members stands. */
static kiln_status make_blocks(kiln_ctx *ctx, kn_plan *p, uint32_t *block_of)
{
    const kn_graph_model *g = p->g;
    bool *placed = KN_NEWN(p->arena, bool, g->n_groups);
    uint32_t *at = KN_NEWN(p->arena, uint32_t, g->n_groups);
    KILN_TRY_MEM(ctx, placed && at);
    KILN_TRY_MEM(ctx, p->blocks = KN_NEWN(p->arena, kn_block, g->n_nodes));
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        uint32_t i = p->order[k];
        int32_t group = g->nodes[i].group;
        if (group >= 0 && placed[group]) {
            block_of[i] = at[group];
            continue;
        }
        block_of[i] = p->n_blocks;
        if (group >= 0) placed[group] = true, at[group] = p->n_blocks;
        p->blocks[p->n_blocks++] = group >= 0 ? (kn_block){true, (uint32_t)group} : (kn_block){false, i};
    }
    return KILN_OK;
}

static void classify_edges(kn_plan *p, const uint32_t *block_of)
{
    const kn_graph_model *g = p->g;
    for (uint32_t k = 0; k < g->n_edges; k++) {
        const kn_edge *e = &g->edges[k];
        int32_t gs = g->nodes[e->source].group, gt = g->nodes[e->target].group;
        bool back = p->position[e->source] >= p->position[e->target];
        if (gs >= 0 && gs == gt) p->reads[k] = KN_READS_PASS;
        else if (back || (e->is_flux && block_of[e->source] > block_of[e->target])) p->reads[k] = KN_READS_START;
        else p->reads[k] = KN_READS_NOW;
    }
}

static kiln_status make_hidden(kiln_ctx *ctx, kn_plan *p)
{
    const kn_graph_model *g = p->g;
    KILN_TRY_MEM(ctx, p->flux_wanted = KN_NEWN(p->arena, bool, p->n_fluxes));
    KILN_TRY_MEM(ctx, p->flux_held = KN_NEWN(p->arena, int32_t, p->n_fluxes));
    KILN_TRY_MEM(ctx, p->hidden = KN_NEWN(p->arena, kn_hidden, p->n_fluxes + (size_t)g->n_groups * KN_N_DIAG));
    for (uint32_t i = 0; i < p->n_fluxes; i++) p->flux_held[i] = -1;
    for (uint32_t k = 0; k < g->n_edges; k++) {
        const kn_edge *e = &g->edges[k];
        if (!e->is_flux || p->reads[k] == KN_READS_PASS) continue;
        uint32_t f = kn_flux_of(p, e->source, e->source_field);
        p->flux_wanted[f] = true;
        if (p->reads[k] != KN_READS_START || p->flux_held[f] >= 0) continue;
        char *name = kn_arena_printf(p->arena, "previous:%s.%s", g->nodes[e->source].name, kn_type_at(p, e->source)->fluxes[e->source_field].name);
        KILN_TRY_MEM(ctx, name);
        p->flux_held[f] = (int32_t)p->n_hidden;
        p->hidden[p->n_hidden++] = (kn_hidden){name, p->real, (int32_t)f};
    }
    for (uint32_t i = 0; i < g->n_groups; i++) {
        if (p->groups[i].divider == 1) continue;
        p->groups[i].held = (int32_t)p->n_hidden;
        for (int d = 0; d < KN_N_DIAG; d++) {
            char *name = kn_arena_printf(p->arena, "held:%s.%s", p->groups[i].key, kn_diag_names[d]);
            KILN_TRY_MEM(ctx, name);
            p->hidden[p->n_hidden++] = (kn_hidden){name, kn_diag_dtype((kn_diag)d), -1};
        }
    }
    return KILN_OK;
}

kiln_status kn_plan_make(kiln_ctx *ctx, kn_arena *arena, const kn_graph_model *g, kiln_dtype real, kn_plan **out)
{
    kn_plan *p = KN_NEW(arena, kn_plan);
    KILN_TRY_MEM(ctx, p);
    *p = (kn_plan){.g = g, .arena = arena, .real = real};
    KILN_TRY_MEM(ctx, p->order = KN_NEWN(arena, uint32_t, g->n_nodes));
    KILN_TRY_MEM(ctx, p->position = KN_NEWN(arena, uint32_t, g->n_nodes));
    KILN_TRY_MEM(ctx, p->reads = KN_NEWN(arena, kn_reads, g->n_edges));
    KILN_TRY_MEM(ctx, p->groups = KN_NEWN(arena, kn_members, g->n_groups));
    uint32_t *block_of = KN_NEWN(arena, uint32_t, g->n_nodes);
    KILN_TRY_MEM(ctx, block_of);
    KILN_TRY(kn_schedule(ctx, g, p->order));
    for (uint32_t i = 0; i < g->n_nodes; i++) p->position[p->order[i]] = i;
    KILN_TRY(make_slots(ctx, p));
    KILN_TRY(list_edges(ctx, p));
    KILN_TRY(make_blocks(ctx, p, block_of));
    classify_edges(p, block_of);
    for (uint32_t i = 0; i < g->n_groups; i++) KILN_TRY(make_group(ctx, p, i));
    KILN_TRY(make_hidden(ctx, p));
    *out = p;
    return KILN_OK;
}
