/* SPDX-License-Identifier: Apache-2.0 */
/* `mapping` of an edge: interpolation between point sets. */
#include "graph/reader.h"

static const struct {
    const char *name;
    const char *points[3]; /* NULL-ended */
    const char *options[8];
} kinds[] = {
    [KN_MAP_RBF] = {"rbf", {"source_points", "target_points"}, {"kernel", "epsilon", "polynomial", "ridge"}},
    [KN_MAP_NEAREST] = {"nearest_neighbor", {"source_points", "target_points"}, {0}},
    [KN_MAP_PROJECTION] = {"projection_1d", {"source_boundaries", "target_boundaries"}, {0}},
    [KN_MAP_MATRIX] = {"matrix", {"H"}, {"label"}},
    [KN_MAP_SPARSE_NEAREST] = {"sparse_nearest_neighbor", {"source_points", "target_points"}, {0}},
    [KN_MAP_SPARSE_PROJECTION] = {"sparse_projection_1d", {"source_boundaries", "target_boundaries"}, {0}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static bool is_projection(kn_mapping_kind k) { return k == KN_MAP_PROJECTION || k == KN_MAP_SPARSE_PROJECTION; }

/* ---- point sets ---- */

static kiln_status node_points(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_points *out)
{
    static const char *const keys[] = {"node", "field", "sha256", NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "a point set"));
    const kn_yaml *node = kn_yaml_get(y, "node"), *field = kn_yaml_get(y, "field");
    kn_words w;
    uint32_t id;
    KILN_TRY(kn_read_text(r, node, scope, "node", &w));
    KILN_TRY(kn_read_node_name(r, w.s, w.n, node->at, &id));
    const kn_node *n = kn_node_base(&r->nodes.v[id]);
    if (!field || field->kind != KN_YAML_TEXT || strcmp(field->text, "grid_x") != 0 || n->type->cells != KN_CELLS_ROD)
        return kn_read_error(r, KN_KIND_UNKNOWN_FIELD, field ? field->at : y->at, "{node: rod, field: grid_x}",
                             "a point set of a node is 'grid_x' of a rod");
    out->shape = kn_node_cells(n);
    size_t count = kn_shape_count(&out->shape);
    double *v = KN_NEWN(r->arena, double, count);
    KILN_TRY_MEM(r->ctx, v);
    kn_node_centres(n, 0, count, v);
    out->v = v;
    return KILN_OK;
}

static kiln_status linspace(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_points *out)
{
    if (y->kind != KN_YAML_LIST || y->n != 3)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "[first, last, count]",
                             "linspace must be a list of three numbers");
    double a, b;
    int64_t n;
    KILN_TRY(kn_read_number(r, y->items[0], scope, "linspace", &a));
    KILN_TRY(kn_read_number(r, y->items[1], scope, "linspace", &b));
    KILN_TRY(kn_read_int(r, y->items[2], scope, "the count of linspace", &n));
    if (n < 2 || n > KN_YAML_VALUES)
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->items[2]->at, "2 to 1000000", "linspace of %lld points",
                             (long long)n);
    double *v = KN_NEWN(r->arena, double, n);
    KILN_TRY_MEM(r->ctx, v);
    for (int64_t i = 0; i < n; i++) v[i] = a + (b - a) * (double)i / (double)(n - 1);
    *out = (kn_points){v, {1, {n}}};
    return KILN_OK;
}

static kiln_status read_points(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_points *out)
{
    static const char *const linear[] = {"linspace", NULL}, *const inlined[] = {"inline", "dtype", "sha256", NULL},
                             *const assets[] = {"asset", "sha256", NULL};
    const kn_yaml *v;
    if (y->kind == KN_YAML_LIST) return kn_read_any_array(r, y, scope, "a point set", &out->shape, &out->v);
    if (kn_yaml_get(y, "node")) return node_points(r, y, scope, out);
    if ((v = kn_yaml_get(y, "asset"))) {
        KILN_TRY(kn_read_keys(r, y, assets, "a point set"));
        return kn_read_npy(r, v, &out->shape, &out->v);
    }
    if ((v = kn_yaml_get(y, "inline"))) {
        KILN_TRY(kn_read_keys(r, y, inlined, "a point set"));
        return kn_read_any_array(r, v, scope, "a point set", &out->shape, &out->v);
    }
    if ((v = kn_yaml_get(y, "linspace"))) {
        KILN_TRY(kn_read_keys(r, y, linear, "a point set"));
        return linspace(r, v, scope, out);
    }
    return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at,
                         "{node, field}, {asset}, {inline}, {linspace: [a, b, n]} or a list", "this is no point set");
}

static kiln_status check_points(kn_reader *r, kn_mapping_kind kind, const kn_yaml *y, const kn_points *p)
{
    bool matrix = kind == KN_MAP_MATRIX, line = is_projection(kind);
    bool ok = matrix || !line ? p->shape.rank == 2 || (p->shape.rank == 1 && !matrix) : p->shape.rank == 1;
    int64_t least = line ? 2 : 1;
    for (int i = 0; ok && i < p->shape.rank; i++) ok = p->shape.dim[i] >= (i == 0 ? least : 1);
    if (ok) return KILN_OK;
    char text[128];
    return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at,
                         matrix ? "targets x sources"
                         : line ? "at least two boundaries"
                                : "points, or points x coordinates",
                         "a %s cannot have shape %s",
                         matrix ? "matrix"
                         : line ? "set of boundaries"
                                : "point set",
                         kn_shape_text(&p->shape, text));
}

/* ---- the mapping ---- */

static kiln_status read_options(kn_reader *r, const kn_yaml *y, const kn_scope *scope, kn_mapping *m)
{
    static const char *const modes[] = {"consistent", "conservative", NULL};
    static const char *const kernels[] = {"gaussian", "multiquadric", "inverse_multiquadric", "thin_plate_spline",
                                          NULL};
    const kn_yaml *v;
    int choice = 0;
    const char *label;
    if ((v = kn_yaml_get(y, "mode"))) KILN_TRY(kn_read_choice(r, v, modes, "mode", &choice));
    m->conservative = choice == 1;
    choice = 0;
    if ((v = kn_yaml_get(y, "kernel"))) KILN_TRY(kn_read_choice(r, v, kernels, "kernel", &choice));
    m->kernel = kernels[choice];
    if ((v = kn_yaml_get(y, "epsilon"))) KILN_TRY(kn_read_number(r, v, scope, "epsilon", &m->epsilon));
    if ((v = kn_yaml_get(y, "polynomial"))) KILN_TRY(kn_read_bool(r, v, "polynomial", &m->polynomial));
    if ((v = kn_yaml_get(y, "ridge"))) KILN_TRY(kn_read_number(r, v, scope, "ridge", &m->ridge));
    if ((v = kn_yaml_get(y, "label"))) KILN_TRY(kn_read_plain(r, v, "label", &label));
    return KILN_OK;
}

static kiln_status read_kind(kn_reader *r, const kn_yaml *y, kn_mapping_kind *out)
{
    const char *names[N_KINDS];
    for (size_t i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i].name;
        *out = (kn_mapping_kind)i;
        if (y->kind == KN_YAML_TEXT && strcmp(y->text, names[i]) == 0) return KILN_OK;
    }
    bool text = y->kind == KN_YAML_TEXT;
    return kn_read_error(r, KN_KIND_UNKNOWN_MAPPING, y->at, kn_read_list(r, names, N_KINDS),
                         "no mapping kind '%.64s'%s", text ? y->text : kn_yaml_kind_name(y),
                         text ? kn_did_you_mean(r, y->text, names, N_KINDS) : "");
}

kiln_status kn_read_mapping(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const kn_mapping **out)
{
    if (y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{kind: ..., points: {...}}",
                             "mapping must be a mapping, found %s", kn_yaml_kind_name(y));
    const kn_yaml *kind = kn_yaml_get(y, "kind");
    if (!kind)
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "kind: nearest_neighbor and the like",
                             "a mapping needs 'kind'");
    kn_mapping *m = KN_NEW(r->arena, kn_mapping);
    KILN_TRY_MEM(r->ctx, m);
    *m = (kn_mapping){.epsilon = 1, .ridge = 1e-8, .polynomial = true, .at = y->at};
    KILN_TRY(read_kind(r, kind, &m->kind));
    const char *keys[16] = {"kind", "points", "mode", "shape"};
    for (size_t i = 0; kinds[m->kind].options[i]; i++) keys[4 + i] = kinds[m->kind].options[i];
    KILN_TRY(kn_read_keys(r, y, keys, "the mapping"));
    KILN_TRY(read_options(r, y, scope, m));
    const kn_yaml *points = kn_yaml_get(y, "points");
    if (!points) return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, NULL, "a mapping needs 'points'");
    KILN_TRY(kn_read_keys(r, points, kinds[m->kind].points, "points"));
    kn_points *sets[] = {&m->source, &m->target};
    for (size_t i = 0; kinds[m->kind].points[i]; i++) {
        const kn_yaml *v = kn_yaml_get(points, kinds[m->kind].points[i]);
        if (!v)
            return kn_read_error(r, KN_KIND_MISSING_KEY, points->at, NULL, "points needs '%s'",
                                 kinds[m->kind].points[i]);
        KILN_TRY(read_points(r, v, scope, sets[i]));
        KILN_TRY(check_points(r, m->kind, v, sets[i]));
    }
    *out = m;
    return KILN_OK;
}

void kn_mapping_sizes(const kn_mapping *m, int64_t *source, int64_t *target)
{
    int64_t line = is_projection(m->kind);
    *source = m->kind == KN_MAP_MATRIX ? m->source.shape.dim[1] : m->source.shape.dim[0] - line;
    *target = m->kind == KN_MAP_MATRIX ? m->source.shape.dim[0] : m->target.shape.dim[0] - line;
}
