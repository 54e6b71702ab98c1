/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `initial_state` and `run`. */
#include "graph/reader.h"

#include <math.h>

/* ---- states ---- */

static kiln_status read_field(kn_reader *r, uint32_t node, const kn_yaml *key, const kn_yaml *y, int64_t members,
                              kn_initial *out)
{
    const kn_node *n = &r->nodes.v[node], *base = kn_node_base(n);
    int field = kn_node_field(n, key->text);
    if (field < 0) return kn_read_unknown_field(r, n, key->text, key->at, false);
    kn_shape shape = kn_node_shape(n, base->type->state[field].shape), one = {.rank = 1};
    if (shape.rank) one.dim[0] = shape.dim[shape.rank - 1];
    kn_array_rules rules = {
        .what = base->type->state[field].name, .shape = &shape, .one_shape = shape.rank > 1 ? &one : NULL};
    kn_scope scope = {.cells = base, .timestep = &n->timestep};
    *out = (kn_initial){.node = node, .field = field, .shape = shape, .at = key->at};
    kn_value v;
    if (members == 0) {
        KILN_TRY(kn_read_value(r, y, &scope, &rules, &v));
        out->v = v.v;
        return KILN_OK;
    }
    size_t count = kn_shape_count(&shape), all;
    KILN_TRY_MEM(r->ctx, kn_mul_size(count, (size_t)members, &all));
    double *rows = KN_NEWN(r->arena, double, all), member[2] = {0, (double)members};
    KILN_TRY_MEM(r->ctx, rows);
    scope.member = member;
    for (int64_t b = 0; b < members; b++) {
        member[0] = (double)b;
        KILN_TRY(kn_read_value(r, y, &scope, &rules, &v));
        memcpy(rows + (size_t)b * count, v.v, count * sizeof *rows);
    }
    out->v = rows;
    return KILN_OK;
}

kiln_status kn_read_states(kn_reader *r, const kn_yaml *y, int64_t members, kn_initial **out, size_t *n)
{
    KN_VEC(kn_initial) all = {0};
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{node: {field: value}}",
                             "initial_state must be a mapping, found %s", kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        uint32_t node;
        KILN_TRY(kn_read_node_name(r, k->text, k->n, k->at, &node));
        if (v->kind == KN_YAML_NULL) continue;
        if (v->kind != KN_YAML_MAP)
            return kn_read_error(r, KN_KIND_WRONG_TYPE, v->at, "{field: value}",
                                 "the initial state of a node must be a mapping, found %s", kn_yaml_kind_name(v));
        for (uint32_t j = 0; j < v->n; j++) {
            if (v->pairs[j].value->kind == KN_YAML_NULL) continue;
            kn_initial one;
            KILN_TRY(read_field(r, node, v->pairs[j].key, v->pairs[j].value, members, &one));
            KILN_TRY_MEM(r->ctx, kn_push(r->arena, &all, one));
        }
    }
    *out = all.v;
    *n = all.n;
    return KILN_OK;
}

kiln_status kn_read_initial(kn_reader *r, const kn_yaml *y)
{
    kn_initial *v;
    size_t n;
    KILN_TRY(kn_read_states(r, y, 0, &v, &n));
    r->g->initial = v;
    r->g->n_initial = (uint32_t)n;
    return KILN_OK;
}

/* ---- run ---- */

static kiln_status read_count(kn_reader *r, const kn_yaml *y, const char *what, int64_t least, int64_t *out)
{
    kn_scope scope = {0};
    KILN_TRY(kn_read_int(r, y, &scope, what, out));
    if (*out >= least) return KILN_OK;
    return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, least ? ">= 1" : ">= 0", "%s must be >= %lld, found %lld", what,
                         (long long)least, (long long)*out);
}

static kiln_status read_record(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    if (y->kind != KN_YAML_LIST) {
        run->record = KN_RECORD_EVERY;
        return read_count(r, y, "record", 1, &run->every);
    }
    int64_t *list = KN_NEWN(r->arena, int64_t, y->n);
    KILN_TRY_MEM(r->ctx, list);
    for (uint32_t i = 0; i < y->n; i++) KILN_TRY(read_count(r, y->items[i], "a recorded step", 0, &list[i]));
    run->record = KN_RECORD_LIST;
    run->list = list;
    run->n_list = y->n;
    return KILN_OK;
}

/* Whether the pattern names a state field of any node. A plain name is looked up, so that long lists stay linear. */
static bool pattern_hits(kn_reader *r, const char *pattern)
{
    const char *dot = strchr(pattern, '.');
    if (!strpbrk(pattern, "*?")) {
        char *name = dot ? kn_arena_textn(&r->scratch, pattern, (size_t)(dot - pattern)) : NULL;
        int64_t id = name ? kn_names_find(&r->node_ids, name) : -1;
        return id >= 0 && kn_node_field(&r->nodes.v[id], dot + 1) >= 0;
    }
    for (uint32_t i = 0; i < r->nodes.n; i++) {
        const kn_node_type *t = kn_node_base(&r->nodes.v[i])->type;
        for (int f = 0; f < t->n_state; f++)
            if (kn_match_field(pattern, r->nodes.v[i].name, t->state[f].name)) return true;
    }
    return false;
}

static kiln_status read_fields(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    if (y->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "[node.field, \"rod*.temperature\"]",
                             "fields must be a list, found %s", kn_yaml_kind_name(y));
    const char **fields = KN_NEWN(r->arena, const char *, y->n);
    KILN_TRY_MEM(r->ctx, fields);
    for (uint32_t i = 0; i < y->n; i++) {
        KILN_TRY(kn_read_plain(r, y->items[i], "a recorded field", &fields[i]));
        if (!pattern_hits(r, fields[i]))
            return kn_read_error(r, KN_KIND_UNKNOWN_FIELD, y->items[i]->at,
                                 "node.field of a state field, with * and ?", "nothing matches '%.64s'", fields[i]);
    }
    run->fields = fields;
    run->n_fields = y->n;
    return KILN_OK;
}

static kiln_status read_adaptive(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    static const char *const keys[] = {"t_end", "dt_initial", "rtol", "atol", "dt_min", "dt_max", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "adaptive"));
    double v[6] = {0, 0.01, 1e-3, 1e-6, 1e-8, 0.1};
    kn_scope scope = {0};
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *item = y->pairs[i].value;
        int k = 0;
        while (strcmp(keys[k], y->pairs[i].key->text) != 0) k++;
        if (item->kind == KN_YAML_NULL) continue;
        KILN_TRY(kn_read_number(r, item, &scope, keys[k], &v[k]));
        if (!isfinite(v[k]) || v[k] < 0 || (v[k] == 0 && strcmp(keys[k], "atol") != 0))
            return kn_read_error(r, KN_KIND_BAD_VALUE, item->at, "finite, > 0", "%s cannot be %g", keys[k], v[k]);
    }
    if (!kn_yaml_get(y, "t_end"))
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "t_end: seconds", "adaptive needs 't_end'");
    kn_adaptive *a = KN_NEW(r->arena, kn_adaptive);
    KILN_TRY_MEM(r->ctx, a);
    *a = (kn_adaptive){v[0], v[1], v[2], v[3], v[4], v[5]};
    run->adaptive = a;
    return KILN_OK;
}

static kiln_status read_ensemble(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    static const char *const keys[] = {"size", "initial_state", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "ensemble"));
    const kn_yaml *size = kn_yaml_get(y, "size"), *states = kn_yaml_get(y, "initial_state");
    if (!size || !states)
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "{size, initial_state}", "ensemble needs '%s'",
                             size ? "initial_state" : "size");
    kn_ensemble *e = KN_NEW(r->arena, kn_ensemble);
    KILN_TRY_MEM(r->ctx, e);
    KILN_TRY(read_count(r, size, "size", 1, &e->size));
    kn_initial *initial;
    KILN_TRY(kn_read_states(r, states, e->size, &initial, &e->n_initial));
    e->initial = initial;
    run->ensemble = e;
    return KILN_OK;
}

/* `node.word` in a text; *word is what follows the dot. */
static kiln_status read_pair(kn_reader *r, const kn_yaml *y, const char *what, const char **text, uint32_t *node,
                             const char **rest)
{
    KILN_TRY(kn_read_plain(r, y, what, text));
    const char *dot = strchr(*text, '.');
    if (!dot)
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, "node.name", "%s must be 'node.name', found '%.64s'", what,
                             *text);
    *rest = dot + 1;
    return kn_read_node_name(r, *text, (size_t)(dot - *text), y->at, node);
}

static kiln_status read_wrt(kn_reader *r, const kn_yaml *y, kn_wrt *out)
{
    const char *rest;
    KILN_TRY(read_pair(r, y, "wrt", &out->text, &out->node, &rest));
    const kn_node *n = &r->nodes.v[out->node];
    size_t length = strlen(rest);
    out->initial = length > 2 && strcmp(rest + length - 2, "@0") == 0;
    char *name = kn_arena_textn(&r->scratch, rest, out->initial ? length - 2 : length);
    KILN_TRY_MEM(r->ctx, name);
    out->index = out->initial ? kn_node_field(n, name) : kn_node_type_param(kn_node_base(n)->type, name);
    if (out->index >= 0) return KILN_OK;
    return kn_read_error(r, KN_KIND_UNKNOWN_PARAM, y->at, "node.parameter or node.field@0", "no '%.64s'", out->text);
}

static kiln_status read_gradient(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    static const char *const keys[] = {"of", "wrt", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "gradient"));
    const kn_yaml *of = kn_yaml_get(y, "of"), *wrt = kn_yaml_get(y, "wrt");
    if (!of || !wrt)
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "{of, wrt}", "gradient needs '%s'", of ? "wrt" : "of");
    if (wrt->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, wrt->at, "[node.parameter, node.field@0]",
                             "wrt must be a list, found %s", kn_yaml_kind_name(wrt));
    kn_gradient *g = KN_NEW(r->arena, kn_gradient);
    kn_wrt *all = KN_NEWN(r->arena, kn_wrt, wrt->n);
    KILN_TRY_MEM(r->ctx, g && all);
    const char *text, *field;
    KILN_TRY(read_pair(r, of, "of", &text, &g->node, &field));
    g->field = kn_node_field(&r->nodes.v[g->node], field);
    if (g->field < 0) return kn_read_unknown_field(r, &r->nodes.v[g->node], field, of->at, false);
    for (uint32_t i = 0; i < wrt->n; i++) KILN_TRY(read_wrt(r, wrt->items[i], &all[i]));
    g->wrt = all;
    g->n_wrt = wrt->n;
    run->gradient = g;
    return KILN_OK;
}

static kiln_status read_steps(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    run->has_steps = true;
    return read_count(r, y, "steps", 0, &run->steps);
}

static kiln_status read_checkpoint(kn_reader *r, const kn_yaml *y, kn_run *run)
{
    return read_count(r, y, "checkpoint", 1, &run->checkpoint);
}

kiln_status kn_read_run(kn_reader *r, const kn_yaml *y)
{
    static const struct {
        const char *name;
        kiln_status (*read)(kn_reader *r, const kn_yaml *y, kn_run *run);
    } rows[] = {{"steps", read_steps},       {"record", read_record},         {"fields", read_fields},
                {"adaptive", read_adaptive}, {"checkpoint", read_checkpoint}, {"ensemble", read_ensemble},
                {"gradient", read_gradient}};
    enum { N = sizeof rows / sizeof *rows };
    const char *keys[N + 1] = {0};
    for (size_t i = 0; i < N; i++) keys[i] = rows[i].name;
    KILN_TRY(kn_read_keys(r, y, keys, "run"));
    kn_run *run = &r->g->run;
    run->given = true;
    kn_spot *places[N] = {
        NULL, NULL, NULL, &run->adaptive_at, &run->checkpoint_at, &run->ensemble_at, &run->gradient_at};
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        size_t row = 0;
        while (strcmp(rows[row].name, k->text) != 0) row++;
        if (v->kind == KN_YAML_NULL) continue;
        if (places[row]) *places[row] = k->at;
        KILN_TRY(rows[row].read(r, v, run));
    }
    return KILN_OK;
}
