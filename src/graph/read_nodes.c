/* SPDX-License-Identifier: Apache-2.0 */
/* The section `nodes`, both forms, and `param_specs`. */
#include "graph/reader.h"

#include "base/text.h"

#include <math.h>

kiln_status kn_read_timestep(kn_reader *r, const kn_yaml *y, const kn_scope *scope, double *out)
{
    KILN_TRY(kn_read_number(r, y, scope, "timestep", out));
    if (isfinite(*out) && *out > 0) return KILN_OK;
    char number[40];
    kn_double_repr(*out, number);
    return kn_read_error(r, KN_KIND_BAD_TIMESTEP, y->at, "seconds, finite, > 0",
                         "a timestep must be a finite number > 0, found %s", number);
}

kiln_status kn_read_type(kn_reader *r, const kn_yaml *y, const kn_node_type **out)
{
    const char *name;
    KILN_TRY(kn_read_plain(r, y, "type", &name));
    *out = kn_node_type_find(name);
    if (*out) return KILN_OK;
    size_t n;
    const kn_node_type *const *types = kn_node_types(&n);
    const char **names = KN_NEWN(&r->scratch, const char *, 2 * n);
    KILN_TRY_MEM(r->ctx, names);
    for (size_t i = 0; i < n; i++) names[i] = types[i]->short_name, names[n + i] = types[i]->name;
    return kn_read_error(
        r, KN_KIND_UNKNOWN_NODE_TYPE, y->at,
        "ball, table, spring, rigid_body, rigid_body_2d, health_check, heat, lbm, lbm_pipe, heart_pump, hybrid",
        "no node type '%.64s'%s", name, kn_did_you_mean(r, name, names, 2 * n));
}

kiln_status kn_read_unknown_field(kn_reader *r, const kn_node *n, const char *name, kn_spot at, bool flux)
{
    const kn_node_type *t = kn_node_base(n)->type;
    const char *names[33];
    size_t count = 0;
    for (int i = 0; i < t->n_state && count < 32; i++) names[count++] = t->state[i].name;
    for (int i = 0; flux && i < t->n_fluxes && count < 32; i++) names[count++] = t->fluxes[i].name;
    return kn_read_error(r, KN_KIND_UNKNOWN_FIELD, at, kn_read_list(r, names, count),
                         "node '%.64s' has no field%s '%.64s'%s", n->name, flux ? " or flux" : "", name,
                         kn_did_you_mean(r, name, names, count));
}

/* Where a node of the list form is named in errors. */
static kn_spot node_spot(const kn_yaml *key, const kn_yaml *y)
{
    const kn_yaml *name = key ? key : kn_yaml_get(y, "name");
    return name ? name->at : y->at;
}

static kiln_status read_name(kn_reader *r, const kn_yaml *key, const kn_yaml *y, const kn_scope *scope, kn_node *n)
{
    const kn_yaml *at = key ? key : kn_yaml_get(y, "name");
    if (!at) return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "name: word", "a node needs 'name'");
    kn_words w = {.y = at, .s = at->text, .n = at->n};
    if (!key) KILN_TRY(kn_read_text(r, at, scope, "name", &w));
    if (!kn_is_name(w.s, w.n))
        return kn_read_error(r, KN_KIND_BAD_NAME, at->at, "letters, digits and _, not first a digit",
                             "'%.64s' is no name", w.s);
    if (kn_names_find(&r->node_ids, w.s) >= 0)
        return kn_read_error(r, KN_KIND_DUPLICATE_NAME, at->at, "a name that no other node has",
                             "node '%.64s' already exists", w.s);
    KILN_TRY_MEM(r->ctx, n->name = kn_arena_textn(r->arena, w.s, w.n));
    return KILN_OK;
}

static kiln_status read_node(kn_reader *r, const kn_yaml *key, const kn_yaml *y, const kn_loop *loop)
{
    static const char *const in_map[] = {"type", "timestep", "params", NULL};
    static const char *const in_list[] = {"type", "name", "timestep", "params", "for", NULL};
    kn_scope scope = {.loop = loop, .long_form = !key};
    const kn_yaml *type = kn_yaml_get(y, "type"), *step = kn_yaml_get(y, "timestep"),
                  *params = kn_yaml_get(y, "params");
    kn_node n = {.at = node_spot(key, y), .group = -1, .divider = 1, .own_timestep = step != NULL};
    if (!type)
        return kn_read_error(r, KN_KIND_MISSING_KEY, n.at, "type: spring, or another of `kiln nodes`",
                             "a node needs 'type'");
    KILN_TRY(kn_read_type(r, type, &n.type));
    n.type_at = type->at;
    KILN_TRY(read_name(r, key, y, &scope, &n));
    if (step) KILN_TRY(kn_read_timestep(r, step, &scope, &n.timestep));
    else if (r->timestep > 0) n.timestep = r->timestep;
    else
        return kn_read_error(r, KN_KIND_MISSING_KEY, n.at, "`timestep` in the node or at the top",
                             "node '%.64s' has no timestep and the file has no default", n.name);
    if (params && params->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, params->at, "a mapping", "params must be a mapping, found %s",
                             kn_yaml_kind_name(params));
    scope.timestep = &n.timestep;
    const kn_yaml *maps[] = {y, params};
    const kn_param_source s = {
        .maps = maps, .n_maps = params ? 2 : 1, .skip = key ? in_map : in_list, .scope = &scope, .at = n.at};
    KILN_TRY(kn_read_params(r, &n, &s));
    if (n.type->check) KILN_TRY(n.type->check(r->ctx, r->g, &n));
    const kn_node *base = kn_node_base(&n);
    if (base != &n && base->type->check) KILN_TRY(base->type->check(r->ctx, r->g, base));
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->nodes, n));
    KILN_TRY_MEM(r->ctx, kn_names_add(r->arena, &r->node_ids, n.name, r->nodes.n - 1));
    return KILN_OK;
}

kiln_status kn_read_nodes(kn_reader *r, const kn_yaml *y)
{
    if (y->kind != KN_YAML_LIST && y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at,
                             "{name: {type, parameters}} or a list of {type, name, params}",
                             "nodes must be a mapping or a list, found %s", kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        bool map = y->kind == KN_YAML_MAP;
        const kn_yaml *node = map ? y->pairs[i].value : y->items[i];
        if (node->kind != KN_YAML_MAP)
            return kn_read_error(r, KN_KIND_WRONG_TYPE, node->at, "{type, timestep, parameters}",
                                 "a node must be a mapping, found %s", kn_yaml_kind_name(node));
        kn_loops loops;
        KILN_TRY(kn_read_for(r, map ? NULL : kn_yaml_get(node, "for"), &loops));
        for (size_t k = 0; k < loops.n_rounds; k++) {
            kn_loop loop = kn_loops_at(&loops, k);
            KILN_TRY(read_node(r, map ? y->pairs[i].key : NULL, node, &loop));
        }
    }
    return KILN_OK;
}

/* ---- param_specs: checked; only fitting reads them ---- */

static kiln_status read_bounds(kn_reader *r, const kn_yaml *y)
{
    kn_scope scope = {.long_form = true};
    double v;
    if (y->kind != KN_YAML_LIST || y->n != 2)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "[low, high]", "bounds must be a list of two numbers");
    for (uint32_t i = 0; i < 2; i++)
        if (y->items[i]->kind != KN_YAML_NULL) KILN_TRY(kn_read_number(r, y->items[i], &scope, "a bound", &v));
    return KILN_OK;
}

static kiln_status read_spec(kn_reader *r, const kn_yaml *y)
{
    static const char *const keys[] = {"trainable", "bounds", "transform", "description", "units", NULL};
    static const char *const transforms[] = {"log", "logit", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "a parameter's specification"));
    const kn_yaml *v;
    bool flag;
    int choice;
    const char *text;
    if ((v = kn_yaml_get(y, "trainable"))) KILN_TRY(kn_read_bool(r, v, "trainable", &flag));
    if ((v = kn_yaml_get(y, "bounds"))) KILN_TRY(read_bounds(r, v));
    if ((v = kn_yaml_get(y, "transform"))) KILN_TRY(kn_read_choice(r, v, transforms, "transform", &choice));
    if ((v = kn_yaml_get(y, "description"))) KILN_TRY(kn_read_plain(r, v, "description", &text));
    if ((v = kn_yaml_get(y, "units"))) KILN_TRY(kn_read_plain(r, v, "units", &text));
    return KILN_OK;
}

kiln_status kn_read_param_specs(kn_reader *r, const kn_yaml *y, kn_spot key)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{node: {parameter: {trainable: true}}}",
                             "param_specs must be a mapping, found %s", kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        uint32_t node;
        KILN_TRY(kn_read_node_name(r, k->text, k->n, k->at, &node));
        if (v->kind != KN_YAML_MAP)
            return kn_read_error(r, KN_KIND_WRONG_TYPE, v->at, "{parameter: {trainable: true}}",
                                 "the specifications of a node must be a mapping, found %s", kn_yaml_kind_name(v));
        for (uint32_t j = 0; j < v->n; j++) {
            const kn_node_type *t = kn_node_base(&r->nodes.v[node])->type;
            if (kn_node_type_param(t, v->pairs[j].key->text) < 0) return kn_read_unknown_param(r, t, v->pairs[j].key);
            KILN_TRY(read_spec(r, v->pairs[j].value));
            r->g->param_specs_at = key;
        }
    }
    return KILN_OK;
}
