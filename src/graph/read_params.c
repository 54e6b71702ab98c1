/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a node: in the order of the file, but what is given per cell last, because it needs the extents, and
 * grid_points before the rest of that. */
#include "graph/reader.h"

/* ---- numbers and their limits ---- */

static const char *broken(kn_constraint c, double v)
{
    switch (c) {
    case KN_ANY: return NULL;
    case KN_POSITIVE: return v > 0 ? NULL : "> 0";
    case KN_NOT_NEGATIVE: return v >= 0 ? NULL : ">= 0";
    case KN_AT_LEAST_ONE: return v >= 1 ? NULL : ">= 1";
    case KN_ABOVE_HALF: return v > 0.5 ? NULL : "> 0.5";
    }
    return NULL;
}

static kiln_status check_limit(kn_reader *r, const kn_param_desc *d, const kn_yaml *y, double v)
{
    const char *limit = broken(d->constraint, v);
    if (!limit) return KILN_OK;
    return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, limit, "%s must be %s, found %g", d->name, limit, v);
}

static kiln_status read_numbers(kn_reader *r, const kn_param_desc *d, const kn_yaml *y, const kn_scope *scope,
                                kn_param *p)
{
    bool ints = d->kind == KN_PARAM_INTS;
    if (y->kind != KN_YAML_LIST) {
        const char *unit = ints ? "integers" : "numbers";
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, NULL, "%s must be a list of %s, found %s", d->name, unit,
                             kn_yaml_kind_name(y));
    }
    if (!ints && (int)y->n != d->length)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, NULL, "%s must have %d numbers, found %u", d->name,
                             d->length, y->n);
    double *v = ints ? NULL : KN_NEWN(r->arena, double, y->n);
    int64_t *n = ints ? KN_NEWN(r->arena, int64_t, y->n) : NULL;
    KILN_TRY_MEM(r->ctx, v || n);
    for (uint32_t i = 0; i < y->n; i++) {
        if (ints) KILN_TRY(kn_read_int(r, y->items[i], scope, d->name, &n[i]));
        else KILN_TRY(kn_read_number(r, y->items[i], scope, d->name, &v[i]));
        KILN_TRY(check_limit(r, d, y->items[i], ints ? (double)n[i] : v[i]));
    }
    if (ints) p->ints = n;
    else p->v = v;
    p->n = y->n;
    return KILN_OK;
}

/* ---- special kinds ---- */

static kiln_status read_locks(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_param *p)
{
    static const char *const axes[] = {"x", "y", "z", "rx", "ry", "rz", NULL};
    KILN_TRY(kn_read_keys(r, y, axes, "constraints"));
    kn_lock *locks = KN_NEWN(r->arena, kn_lock, y->n);
    KILN_TRY_MEM(r->ctx, locks);
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *v = y->pairs[i].value;
        if (v->kind == KN_YAML_NULL) continue;
        kn_lock *l = &locks[p->n++];
        while (strcmp(axes[l->axis], y->pairs[i].key->text) != 0) l->axis++;
        KILN_TRY(kn_read_number(r, v, scope, axes[l->axis], &l->value));
    }
    p->locks = locks;
    return KILN_OK;
}

static kiln_status read_check(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_check *c)
{
    static const char *const keys[] = {"finite", "min", "max", "max_abs", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "a check"));
    const kn_yaml *finite = kn_yaml_get(y, "finite");
    bool *has[] = {&c->has_min, &c->has_max, &c->has_max_abs};
    double *bound[] = {&c->min, &c->max, &c->max_abs};
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *v = y->pairs[i].value;
        if (v->kind == KN_YAML_NULL) continue;
        if (v == finite) {
            KILN_TRY(kn_read_bool(r, v, "finite", &c->finite));
            c->has_finite = true;
            continue;
        }
        int k = 0;
        while (strcmp(keys[k + 1], y->pairs[i].key->text) != 0) k++;
        KILN_TRY(kn_read_number(r, v, scope, keys[k + 1], bound[k]));
        *has[k] = true;
    }
    return KILN_OK;
}

static kiln_status read_checks(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_param *p)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{name: {finite: true, min: 0}}",
                             "checks must be a mapping, found %s", kn_yaml_kind_name(y));
    kn_check *checks = KN_NEWN(r->arena, kn_check, y->n);
    KILN_TRY_MEM(r->ctx, checks);
    for (uint32_t i = 0; i < y->n; i++) {
        checks[i].field = kn_arena_text(r->arena, y->pairs[i].key->text);
        KILN_TRY_MEM(r->ctx, checks[i].field);
        KILN_TRY(read_check(r, y->pairs[i].value, scope, &checks[i]));
    }
    p->checks = checks;
    p->n = y->n;
    return KILN_OK;
}

static kiln_status read_base(kn_reader *r, const kn_node *owner, const kn_yaml *y, const kn_scope *scope, kn_param *p)
{
    static const char *const skip[] = {"type", NULL};
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{type, parameters}", "base must be a mapping, found %s",
                             kn_yaml_kind_name(y));
    const kn_yaml *type = kn_yaml_get(y, "type");
    if (!type) return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "{type, parameters}", "base needs 'type'");
    kn_node *n = KN_NEW(r->arena, kn_node);
    KILN_TRY_MEM(r->ctx, n);
    *n = *owner;
    KILN_TRY(kn_read_type(r, type, &n->type));
    if (n->type == owner->type)
        return kn_read_error(r, KN_KIND_BAD_VALUE, type->at, "any other node type",
                             "the base of a hybrid may not be a hybrid");
    n->type_at = type->at;
    const kn_param_source s = {.maps = &y, .n_maps = 1, .skip = skip, .scope = scope, .at = owner->at};
    KILN_TRY(kn_read_params(r, n, &s));
    p->node = n;
    p->n = 1;
    return KILN_OK;
}

static kiln_status read_corrections(kn_reader *r, const kn_node *owner, const kn_yaml *y, const kn_scope *scope,
                                    kn_param *p)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{field: expression}",
                             "correction must be a mapping, found %s", kn_yaml_kind_name(y));
    const kn_node *base = kn_node_base(owner);
    kn_correction *c = KN_NEWN(r->arena, kn_correction, y->n);
    KILN_TRY_MEM(r->ctx, c);
    kn_scope inside = {.loop = scope->loop, .fields = base, .long_form = scope->long_form};
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        int field = kn_node_field(base, k->text);
        if (base != owner && field < 0) return kn_read_unknown_field(r, owner, k->text, k->at, false);
        if (v->kind != KN_YAML_TEXT && v->kind != KN_YAML_NUMBER && v->kind != KN_YAML_INT)
            return kn_read_error(r, KN_KIND_WRONG_TYPE, v->at, "an expression",
                                 "a correction must be an expression, found %s", kn_yaml_kind_name(v));
        kiln_expr *e = NULL;
        if (base != owner) KILN_TRY(kn_read_expr(r, v, &inside, r->arena, &e));
        c[p->n++] = (kn_correction){field, e};
    }
    p->corrections = c;
    return KILN_OK;
}

/* ---- one parameter ---- */

static kiln_status read_choice_text(kn_reader *r, const kn_param_desc *d, const kn_yaml *y, kn_param *p)
{
    KILN_TRY(kn_read_plain(r, y, d->name, &p->text));
    int ignored;
    return d->choices ? kn_read_choice(r, y, d->choices, d->name, &ignored) : KILN_OK;
}

static kiln_status read_param(kn_reader *r, const kn_node *n, const kn_param_desc *d, const kn_yaml *y,
                              const kn_scope *scope, kn_param *p)
{
    switch (d->kind) {
    case KN_PARAM_NUMBER:
        KILN_TRY(kn_read_number(r, y, scope, d->name, &p->number));
        return check_limit(r, d, y, p->number);
    case KN_PARAM_INT:
        KILN_TRY(kn_read_int(r, y, scope, d->name, &p->integer));
        return check_limit(r, d, y, (double)p->integer);
    case KN_PARAM_TEXT: return read_choice_text(r, d, y, p);
    case KN_PARAM_VECTOR:
    case KN_PARAM_INTS: return read_numbers(r, d, y, scope, p);
    case KN_PARAM_LOCKS: return read_locks(r, y, scope, p);
    case KN_PARAM_CHECKS: return read_checks(r, y, scope, p);
    case KN_PARAM_NODE: return read_base(r, n, y, scope, p);
    case KN_PARAM_CORRECTION: return read_corrections(r, n, y, scope, p);
    case KN_PARAM_CELLS:
    case KN_PARAM_MASK: break;
    }
    kn_scope cells = *scope;
    cells.cells = n;
    kn_shape shape = kn_node_cells(n);
    bool points = strcmp(d->name, "grid_points") == 0;
    cells.no_x = points;
    kn_array_rules rules = {.what = d->name, .shape = &shape, .keep_scalar = d->kind == KN_PARAM_CELLS && !points};
    kn_value v;
    KILN_TRY(kn_read_value(r, y, &cells, &rules, &v));
    if (v.shape.rank == 0) {
        p->number = v.v[0];
        return KILN_OK;
    }
    p->v = v.v;
    p->n = kn_shape_count(&v.shape);
    if (d->kind == KN_PARAM_MASK) {
        double *mask = KN_NEWN(r->arena, double, p->n);
        KILN_TRY_MEM(r->ctx, mask);
        for (size_t i = 0; i < p->n; i++) mask[i] = v.v[i] != 0;
        p->v = mask;
    }
    return KILN_OK;
}

/* ---- all of them ---- */

static kiln_status set_default(kn_reader *r, const kn_param_desc *d, kn_spot at, kn_param *p)
{
    *p = (kn_param){.at = at, .none = d->has != KN_DEFAULT_VALUE};
    if (p->none) return KILN_OK;
    if (d->kind == KN_PARAM_TEXT) {
        p->text = d->text;
    } else if (d->kind == KN_PARAM_INT) {
        p->integer = (int64_t)d->number;
    } else if (d->kind == KN_PARAM_VECTOR) {
        p->v = d->vector;
        p->n = (size_t)d->length;
    } else if (d->kind == KN_PARAM_INTS) {
        int64_t *v = KN_NEWN(r->arena, int64_t, d->length);
        KILN_TRY_MEM(r->ctx, v);
        for (int i = 0; i < d->length; i++) v[i] = (int64_t)d->vector[i];
        p->ints = v;
        p->n = (size_t)d->length;
    } else {
        p->number = d->number;
    }
    return KILN_OK;
}

/* Rank of a parameter in the order of evaluation. */
static int turn(const kn_param_desc *d)
{
    if (strcmp(d->name, "grid_points") == 0 || d->kind == KN_PARAM_CORRECTION) return 1;
    return d->kind == KN_PARAM_CELLS || d->kind == KN_PARAM_MASK ? 2 : 0;
}

typedef struct given {
    const kn_yaml *key, *value;
    int param;
} given;

/* Every key that is a parameter, in the order of the file, with unknown and doubled ones refused. */
static kiln_status collect(kn_reader *r, const kn_node *n, const kn_param_source *s, given *out, size_t *n_out)
{
    const kn_node_type *t = n->type;
    for (size_t m = 0; m < s->n_maps; m++)
        for (uint32_t i = 0; i < s->maps[m]->n; i++) {
            const kn_yaml_pair *pair = &s->maps[m]->pairs[i];
            bool skip = false;
            for (size_t k = 0; m == 0 && s->skip[k] && !skip; k++) skip = strcmp(s->skip[k], pair->key->text) == 0;
            if (skip) continue;
            given *g = &out[(*n_out)++];
            *g = (given){pair->key, pair->value, kn_node_type_param(t, pair->key->text)};
            for (size_t k = 0; m > 0 && k + 1 < *n_out; k++)
                if (out[k].param == g->param && g->param >= 0)
                    return kn_read_error(r, KN_KIND_DUPLICATE_KEY, pair->key->at, NULL,
                                         "'%s' stands beside `params` already", pair->key->text);
        }
    return KILN_OK;
}

kiln_status kn_read_unknown_param(kn_reader *r, const kn_node_type *t, const kn_yaml *key)
{
    const char *names[33];
    size_t n = 0;
    for (; n < (size_t)t->n_params && n < 32; n++) names[n] = t->params[n].name;
    return kn_read_error(r, KN_KIND_UNKNOWN_PARAM, key->at, kn_read_list(r, names, n),
                         "%s has no parameter '%.64s'%s", t->name, key->text,
                         kn_did_you_mean(r, key->text, names, n));
}

kiln_status kn_read_params(kn_reader *r, kn_node *n, const kn_param_source *s)
{
    const kn_node_type *t = n->type;
    kn_param *params = KN_NEWN(r->arena, kn_param, t->n_params);
    KILN_TRY_MEM(r->ctx, params);
    n->params = params;
    for (int i = 0; i < t->n_params; i++) KILN_TRY(set_default(r, &t->params[i], n->at, &params[i]));
    size_t most = 0, n_given = 0;
    for (size_t m = 0; m < s->n_maps; m++) most += s->maps[m]->n;
    given few[32], *all = most <= 32 ? few : KN_NEWN(&r->scratch, given, most);
    KILN_TRY_MEM(r->ctx, all);
    KILN_TRY(collect(r, n, s, all, &n_given));
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < n_given; i++) {
            const given *g = &all[i];
            if (g->param < 0) return kn_read_unknown_param(r, t, g->key);
            const kn_param_desc *d = &t->params[g->param];
            kn_param *p = &params[g->param];
            if (turn(d) != pass || g->value->kind == KN_YAML_NULL) continue;
            *p = (kn_param){.given = true, .at = g->value->at};
            KILN_TRY(read_param(r, n, d, g->value, s->scope, p));
        }
    for (int i = 0; i < t->n_params; i++)
        if (t->params[i].has == KN_DEFAULT_REQUIRED && !params[i].given)
            return kn_read_error(r, KN_KIND_MISSING_KEY, s->at, t->params[i].doc, "%s needs '%s'", t->name,
                                 t->params[i].name);
    return KILN_OK;
}
