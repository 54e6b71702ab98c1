/* SPDX-License-Identifier: Apache-2.0 */
/* The section `coupling_groups`. The options are one table; a value is read by the kind of its row. */
#include "graph/reader.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const char *const norms[] = {"l2", "mixed", "interface", NULL};
static const char *const accelerations[] = {"none", "fixed", "aitken", "iqn-ils", "iqn-imvj", NULL};
static const char *const sweeps[] = {"gauss-seidel", "jacobi", NULL};
static const char *const predictors[] = {"none", "linear", "quadratic", NULL};
static const char *const interpolations[] = {"constant", "linear", "quadratic", NULL};
static const char *const solvers[] = {"ift", "fori", NULL};
static const char *const linear_solvers[] = {"gmres", "dense", NULL};

typedef enum option_kind { O_NODES, O_COUNT, O_NUMBER, O_POSITIVE, O_CHOICE, O_BOOL, O_FIELDS } option_kind;

static const struct {
    const char *name;
    option_kind kind;
    size_t field; /* in kn_group */
    double preset;
    int least; /* O_COUNT */
    const char *const *choices;
} options[KN_N_OPTIONS] = {
#define AT(f) offsetof(kn_group, f)
    [KN_OPTION_NODES] = {"nodes", O_NODES, 0, 0, 0, NULL},
    [KN_OPTION_MAX_ITERATIONS] = {"max_iterations", O_COUNT, AT(max_iterations), 10, 1, NULL},
    [KN_OPTION_TOLERANCE] = {"tolerance", O_NUMBER, AT(tolerance), 1e-6, 0, NULL},
    [KN_OPTION_CONVERGENCE_NORM] = {"convergence_norm", O_CHOICE, AT(convergence_norm), KN_NORM_L2, 0, norms},
    [KN_OPTION_RTOL] = {"rtol", O_NUMBER, AT(rtol), 1e-6, 0, NULL},
    [KN_OPTION_ATOL] = {"atol", O_NUMBER, AT(atol), 0, 0, NULL},
    [KN_OPTION_ACCELERATION] = {"acceleration", O_CHOICE, AT(acceleration), KN_ACC_NONE, 0, accelerations},
    [KN_OPTION_RELAXATION] = {"relaxation", O_POSITIVE, AT(relaxation), 1, 0, NULL},
    [KN_OPTION_ITERATION_MODE] = {"iteration_mode", O_CHOICE, AT(iteration_mode), KN_GAUSS_SEIDEL, 0, sweeps},
    [KN_OPTION_ACCELERATED_FIELDS] = {"accelerated_fields", O_FIELDS, 0, 0, 0, NULL},
    [KN_OPTION_JACOBIAN_REUSE] = {"jacobian_reuse", O_COUNT, AT(jacobian_reuse), 0, 0, NULL},
    [KN_OPTION_PREDICTOR] = {"predictor", O_CHOICE, AT(predictor), KN_PREDICT_NONE, 0, predictors},
    [KN_OPTION_SUBCYCLING] = {"subcycling", O_BOOL, AT(subcycling), 0, 0, NULL},
    [KN_OPTION_BOUNDARY_INTERPOLATION] = {"boundary_interpolation", O_CHOICE, AT(boundary_interpolation),
                                          KN_INTERP_LINEAR, 0, interpolations},
    [KN_OPTION_WAVEFORM_ITERATIONS] = {"waveform_iterations", O_COUNT, AT(waveform_iterations), 1, 1, NULL},
    [KN_OPTION_SOLVER] = {"solver", O_CHOICE, AT(solver), KN_LOOP_IFT, 0, solvers},
    [KN_OPTION_LINEAR_SOLVER] = {"linear_solver", O_CHOICE, AT(linear_solver), KN_LINEAR_GMRES, 0, linear_solvers},
    [KN_OPTION_DIAGNOSTICS] = {"diagnostics", O_BOOL, AT(diagnostics), 0, 0, NULL},
    [KN_OPTION_STRICT_CONVERGENCE] = {"strict_convergence", O_BOOL, AT(strict_convergence), 0, 0, NULL},
#undef AT
};

static void *slot(kn_group *g, int o) { return (char *)g + options[o].field; }

static double current(const kn_group *g, int o)
{
    const char *p = (const char *)g + options[o].field;
    switch (options[o].kind) {
    case O_COUNT:
    case O_CHOICE: return *(const int *)(const void *)p; /* enumerations are ints */
    case O_NUMBER:
    case O_POSITIVE: return *(const double *)(const void *)p;
    case O_BOOL: return *(const bool *)(const void *)p;
    case O_FIELDS: return g->n_accelerated > 0;
    case O_NODES: break;
    }
    return 0;
}

_Static_assert(sizeof(kn_norm) == sizeof(int), "enumerations are read as int");

static void preset(kn_group *g)
{
    for (int o = 0; o < KN_N_OPTIONS; o++) {
        option_kind k = options[o].kind;
        if (k == O_COUNT || k == O_CHOICE) *(int *)slot(g, o) = (int)options[o].preset;
        else if (k == O_NUMBER || k == O_POSITIVE) *(double *)slot(g, o) = options[o].preset;
    }
}

/* ---- members ---- */

typedef struct members {
    KN_VEC(uint32_t) ids;
} members;

static kiln_status add_member(kn_reader *r, const kn_yaml *y, uint32_t id, members *m)
{
    kn_node *n = &r->nodes.v[id];
    bool here = n->group == (int32_t)r->groups.n;
    if (here) return kn_read_error(r, KN_KIND_DUPLICATE_NAME, y->at, NULL, "'%.64s' is listed twice", n->name);
    if (n->group >= 0)
        return kn_read_error(r, KN_KIND_NODE_IN_TWO_GROUPS, y->at, "a node that is in no other group",
                             "'%.64s' is in another group", n->name);
    n->group = (int32_t)r->groups.n;
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &m->ids, id));
    return KILN_OK;
}

static kiln_status read_member(kn_reader *r, const kn_yaml *y, const kn_scope *scope, members *m)
{
    kn_words w;
    KILN_TRY(kn_read_text(r, y, scope, "a node name", &w));
    uint32_t id, before = m->ids.n;
    if (!strpbrk(w.s, "*?")) {
        KILN_TRY(kn_read_node_name(r, w.s, w.n, y->at, &id));
        return add_member(r, y, id, m);
    }
    for (id = 0; id < r->nodes.n; id++)
        if (kn_match(w.s, r->nodes.v[id].name)) KILN_TRY(add_member(r, y, id, m));
    if (m->ids.n == before)
        return kn_read_error(r, KN_KIND_UNKNOWN_NODE, y->at, NULL, "no node matches '%.64s'", w.s);
    return KILN_OK;
}

static kiln_status read_members(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_group *g)
{
    members m = {0};
    if (y->kind == KN_YAML_TEXT) {
        KILN_TRY(read_member(r, y, scope, &m));
    } else if (y->kind == KN_YAML_LIST) {
        for (uint32_t i = 0; i < y->n; i++) KILN_TRY(read_member(r, y->items[i], scope, &m));
    } else {
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "[a, b] or a pattern such as \"rod*\"",
                             "nodes must be a list of names, found %s", kn_yaml_kind_name(y));
    }
    if (m.ids.n == 0)
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, "at least one node", "a coupling group without nodes");
    g->nodes = m.ids.v;
    g->n_nodes = m.ids.n;
    g->nodes_at = y->at;
    return KILN_OK;
}

/* ---- options ---- */

static kiln_status read_accelerated(kn_reader *r, const kn_yaml *y, kn_group *g)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{node: [field]}",
                             "accelerated_fields must be a mapping, found %s", kn_yaml_kind_name(y));
    kn_node_fields *all = KN_NEWN(r->arena, kn_node_fields, y->n);
    KILN_TRY_MEM(r->ctx, all);
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        KILN_TRY(kn_read_node_name(r, k->text, k->n, k->at, &all[i].node));
        if (v->kind != KN_YAML_LIST)
            return kn_read_error(r, KN_KIND_WRONG_TYPE, v->at, "[field]", "the fields must be a list, found %s",
                                 kn_yaml_kind_name(v));
        int *fields = KN_NEWN(r->arena, int, v->n);
        KILN_TRY_MEM(r->ctx, fields);
        const kn_node *n = &r->nodes.v[all[i].node];
        for (uint32_t j = 0; j < v->n; j++) {
            const char *name;
            KILN_TRY(kn_read_plain(r, v->items[j], "a field", &name));
            fields[j] = kn_node_field(n, name);
            if (fields[j] < 0) return kn_read_unknown_field(r, n, name, v->items[j]->at, false);
        }
        all[i].fields = fields;
        all[i].n = v->n;
    }
    g->accelerated_fields = all;
    g->n_accelerated = y->n;
    return KILN_OK;
}

static kiln_status read_option(kn_reader *r, int o, const kn_yaml *y, const kn_scope *scope, kn_group *g)
{
    const char *name = options[o].name;
    option_kind kind = options[o].kind;
    int64_t count;
    double number;
    switch (kind) {
    case O_NODES: return read_members(r, y, scope, g);
    case O_FIELDS: return read_accelerated(r, y, g);
    case O_BOOL: return kn_read_bool(r, y, name, slot(g, o));
    case O_CHOICE: return kn_read_choice(r, y, options[o].choices, name, slot(g, o));
    case O_COUNT:
        KILN_TRY(kn_read_int(r, y, scope, name, &count));
        if (count < options[o].least || count > INT32_MAX)
            return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, options[o].least ? "1, 2, ..." : "0, 1, 2, ...",
                                 "%s cannot be %lld", name, (long long)count);
        *(int *)slot(g, o) = (int)count;
        return KILN_OK;
    case O_NUMBER:
    case O_POSITIVE: break;
    }
    KILN_TRY(kn_read_number(r, y, scope, name, &number));
    if (!isfinite(number) || number < 0 || (kind == O_POSITIVE && number == 0))
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, kind == O_POSITIVE ? "finite, > 0" : "finite, >= 0",
                             "%s cannot be %g", name, number);
    *(double *)slot(g, o) = number;
    return KILN_OK;
}

static void warn_inert(kn_reader *r, const kn_yaml *y, const kn_group *g)
{
    bool fori = g->solver == KN_LOOP_FORI,
         iqn = g->acceleration == KN_ACC_IQN_ILS || g->acceleration == KN_ACC_IQN_IMVJ;
    const bool idle[KN_N_OPTIONS] = {
        [KN_OPTION_TOLERANCE] = g->convergence_norm != KN_NORM_L2,
        [KN_OPTION_RTOL] = g->convergence_norm == KN_NORM_L2,
        [KN_OPTION_RELAXATION] = g->acceleration != KN_ACC_FIXED,
        [KN_OPTION_JACOBIAN_REUSE] = g->acceleration != KN_ACC_IQN_IMVJ,
        [KN_OPTION_ACCELERATED_FIELDS] = !iqn,
        [KN_OPTION_WAVEFORM_ITERATIONS] = !g->subcycling,
        [KN_OPTION_BOUNDARY_INTERPOLATION] = !g->subcycling,
        [KN_OPTION_LINEAR_SOLVER] = fori,
        [KN_OPTION_STRICT_CONVERGENCE] = fori,
        [KN_OPTION_ACCELERATION] = g->max_iterations == 1,
    };
    for (int o = 0; o < KN_N_OPTIONS; o++)
        if (idle[o] && g->option_at[o].line && current(g, o) != options[o].preset)
            kn_graph_warn(r->ctx, r->g, KN_KIND_INERT_OPTION, kn_yaml_key(y, options[o].name)->at,
                          "'%s' has no effect here", options[o].name);
}

/* Timesteps of the members. */
static kiln_status check_rates(kn_reader *r, kn_group *g)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        double dt = r->nodes.v[g->nodes[i]].timestep;
        if (dt > g->timestep) g->timestep = dt;
        if (dt < least) least = dt;
    }
    if (least == g->timestep) return KILN_OK;
    if (!g->subcycling)
        return kn_read_error(r, KN_KIND_RATE_MISMATCH, g->nodes_at, "equal timesteps",
                             "members of a group without subcycling have different timesteps");
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const kn_node *n = &r->nodes.v[g->nodes[i]];
        double ratio = g->timestep / n->timestep;
        if (fabs(ratio - rint(ratio)) > 1e-9 * ratio)
            return kn_read_error(r, KN_KIND_RATE_RATIO, g->nodes_at, "timesteps that divide the largest",
                                 "timestep %.9g of '%.64s' does not divide %.9g", n->timestep, n->name, g->timestep);
    }
    return KILN_OK;
}

static kiln_status read_group(kn_reader *r, const kn_yaml *y, const kn_loop *loop)
{
    const char *keys[KN_N_OPTIONS + 2] = {0};
    for (int o = 0; o < KN_N_OPTIONS; o++) keys[o] = options[o].name;
    keys[KN_N_OPTIONS] = "for";
    KILN_TRY(kn_read_keys(r, y, keys, "a coupling group"));
    kn_scope scope = {.loop = loop, .long_form = true};
    kn_group g = {.at = y->at};
    preset(&g);
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *v = y->pairs[i].value;
        int o = 0;
        while (o < KN_N_OPTIONS && strcmp(options[o].name, y->pairs[i].key->text) != 0) o++;
        if (o == KN_N_OPTIONS || v->kind == KN_YAML_NULL) continue;
        g.option_at[o] = v->at;
        KILN_TRY(read_option(r, o, v, &scope, &g));
    }
    if (!g.nodes)
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "nodes: [a, b]", "a coupling group needs 'nodes'");
    if (g.rtol == 0 && g.convergence_norm != KN_NORM_L2)
        return kn_read_error(r, KN_KIND_BAD_VALUE, g.option_at[KN_OPTION_RTOL], "> 0",
                             "rtol must be > 0 with this norm");
    KILN_TRY(check_rates(r, &g));
    warn_inert(r, y, &g);
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->groups, g));
    return KILN_OK;
}

kiln_status kn_read_groups(kn_reader *r, const kn_yaml *y)
{
    if (y->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a list of {nodes, ...}",
                             "coupling_groups must be a list, found %s", kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *item = y->items[i];
        kn_loops loops;
        KILN_TRY(kn_read_for(r, item->kind == KN_YAML_MAP ? kn_yaml_get(item, "for") : NULL, &loops));
        for (size_t k = 0; k < loops.n_rounds; k++) {
            kn_loop loop = kn_loops_at(&loops, k);
            KILN_TRY(read_group(r, item, &loop));
        }
    }
    return KILN_OK;
}
