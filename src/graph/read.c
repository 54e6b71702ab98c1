/* SPDX-License-Identifier: Apache-2.0 */
/* A graph/1 file: the order of the sections, `let`, titles. */
#include "graph/reader.h"

#include "base/file.h"

static const char *const top_keys[] = {"format",          "title",           "notes",         "precision",   "let",
                                       "timestep",        "include",         "nodes",         "param_specs", "edges",
                                       "external_inputs", "coupling_groups", "initial_state", "run",         NULL};

/* ---- let ---- */

static kiln_status add_let(kn_reader *r, const char *name, double value)
{
    int64_t id = kn_names_find(&r->let_ids, name);
    if (id >= 0) return KILN_OK; /* given from outside */
    char *copy = kn_arena_text(r->arena, name);
    KILN_TRY_MEM(r->ctx, copy);
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->lets, (kn_let){copy, value}));
    KILN_TRY_MEM(r->ctx, kn_names_add(r->arena, &r->let_ids, copy, r->lets.n - 1));
    return KILN_OK;
}

static const kn_let_override *override_of(const char *name, const kn_let_override *lets, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (strcmp(lets[i].name, name) == 0) return &lets[i];
    return NULL;
}

/* An override must name something that the file lets. */
static kiln_status check_overrides(kn_reader *r, const kn_yaml *y, const kn_let_override *lets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (y && kn_yaml_key(y, lets[i].name)) continue;
        uint32_t count = y ? y->n : 0;
        const char **names = KN_NEWN(&r->scratch, const char *, count);
        KILN_TRY_MEM(r->ctx, names);
        for (uint32_t k = 0; k < count; k++) names[k] = y->pairs[k].key->text;
        return kn_read_error(r, KN_KIND_UNKNOWN_NAME, y ? y->at : (kn_spot){0}, kn_read_list(r, names, count),
                             "the file lets no name '%.64s'%s", lets[i].name,
                             kn_did_you_mean(r, lets[i].name, names, count));
    }
    return KILN_OK;
}

static kiln_status read_let(kn_reader *r, const kn_yaml *y, const kn_let_override *lets, size_t n_lets)
{
    if (y && y->kind != KN_YAML_MAP)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "{name: number}", "let must be a mapping, found %s",
                             kn_yaml_kind_name(y));
    kn_scope scope = {0};
    for (uint32_t i = 0; y && i < y->n; i++) {
        const kn_yaml *k = y->pairs[i].key, *v = y->pairs[i].value;
        if (!kn_is_name(k->text, k->n) || kiln_expr_reserved(k->text))
            return kn_read_error(r, KN_KIND_BAD_NAME, k->at, "letters, digits and _; no constant and no function",
                                 "'%.64s' cannot be a name of let", k->text);
        const kn_let_override *given = override_of(k->text, lets, n_lets);
        double value = given ? given->value : 0;
        if (!given) KILN_TRY(kn_read_number(r, v, &scope, k->text, &value));
        KILN_TRY(add_let(r, k->text, value));
    }
    return check_overrides(r, y, lets, n_lets);
}

/* ---- include: its form is checked ---- */

static kiln_status check_include(kn_reader *r, const kn_yaml *item)
{
    static const char *const keys[] = {"file", "as", "let", NULL};
    const kn_yaml *path = item;
    if (item->kind == KN_YAML_MAP) {
        KILN_TRY(kn_read_keys(r, item, keys, "include"));
        path = kn_yaml_get(item, "file");
        if (!path)
            return kn_read_error(r, KN_KIND_MISSING_KEY, item->at, "{file: part.yaml}", "include needs 'file'");
    }
    const char *name;
    kn_bytes part;
    KILN_TRY(kn_read_path(r, path, &name));
    if (strcmp(name, r->g->files[0].name) == 0)
        return kn_read_error(r, KN_KIND_INCLUDE_CYCLE, path->at, "another file", "'%.100s' includes itself",
                             path->text);
    kiln_status s = kn_file_read(r->ctx, name, &part);
    if (s == KILN_NOMEM) return s;
    if (s != KILN_OK)
        return kn_read_error(r, KN_KIND_MISSING_FILE, path->at, "a file beside this one", "cannot read '%.100s'",
                             path->text);
    kn_bytes_free(r->ctx, &part);
    return KILN_OK;
}

static kiln_status read_include(kn_reader *r, const kn_yaml *root)
{
    const kn_yaml *y = kn_yaml_get(root, "include");
    if (!y) return KILN_OK;
    if (y->kind == KN_YAML_LIST)
        for (uint32_t i = 0; i < y->n; i++) KILN_TRY(check_include(r, y->items[i]));
    else KILN_TRY(check_include(r, y));
    if (y->kind != KN_YAML_LIST || y->n) r->g->include_at = kn_yaml_key(root, "include")->at;
    return kn_graph_refuse_unsupported(r->ctx, r->g);
}

/* ---- the sections ---- */

static kiln_status read_head(kn_reader *r, const kn_yaml *root, const kn_let_override *lets, size_t n_lets)
{
    static const char *const precisions[] = {"f32", "f64", NULL};
    const kn_yaml *y = kn_yaml_get(root, "format");
    if (y && (y->kind != KN_YAML_TEXT || strcmp(y->text, "graph/1") != 0))
        return kn_read_error(r, KN_KIND_UNKNOWN_FORMAT, y->at, "graph/1", "only format graph/1 is known");
    KILN_TRY(read_include(r, root));
    KILN_TRY(read_let(r, kn_yaml_get(root, "let"), lets, n_lets));
    if ((y = kn_yaml_get(root, "title"))) KILN_TRY(kn_read_plain(r, y, "title", &r->g->title));
    if ((y = kn_yaml_get(root, "notes"))) KILN_TRY(kn_read_plain(r, y, "notes", &r->g->notes));
    int precision = 0;
    if ((y = kn_yaml_get(root, "precision"))) KILN_TRY(kn_read_choice(r, y, precisions, "precision", &precision));
    r->g->f64 = precision == 1;
    kn_scope scope = {0};
    if ((y = kn_yaml_get(root, "timestep"))) KILN_TRY(kn_read_timestep(r, y, &scope, &r->timestep));
    return KILN_OK;
}

static kiln_status read_body(kn_reader *r, const kn_yaml *root)
{
    const kn_yaml *y = kn_yaml_get(root, "nodes");
    if (!y)
        return kn_read_error(r, KN_KIND_MISSING_KEY, root->at, "nodes: {name: {type: ...}}", "'nodes' is required");
    KILN_TRY(kn_read_nodes(r, y));
    KILN_TRY_MEM(r->ctx, kn_reserve(&r->scratch, &r->used, r->nodes.n));
    r->used.n = r->nodes.n;
    if ((y = kn_yaml_get(root, "param_specs")))
        KILN_TRY(kn_read_param_specs(r, y, kn_yaml_key(root, "param_specs")->at));
    if ((y = kn_yaml_get(root, "edges"))) KILN_TRY(kn_read_edges(r, y));
    if ((y = kn_yaml_get(root, "external_inputs"))) KILN_TRY(kn_read_inputs(r, y));
    if ((y = kn_yaml_get(root, "coupling_groups"))) KILN_TRY(kn_read_groups(r, y));
    if ((y = kn_yaml_get(root, "initial_state"))) KILN_TRY(kn_read_initial(r, y));
    if ((y = kn_yaml_get(root, "run"))) KILN_TRY(kn_read_run(r, y));
    return kn_read_finish(r);
}

static kiln_status read_all(kn_reader *r, const kn_let_override *lets, size_t n_lets)
{
    kn_graph_model *g = r->g;
    const kn_yaml *root;
    kn_source_file *file = KN_NEW(r->arena, kn_source_file);
    KILN_TRY_MEM(r->ctx, file);
    *file = g->files[0];
    g->files = file;
    KILN_TRY(kn_yaml_parse(r->ctx, &r->scratch, g, file, 0, &root));
    KILN_TRY(kn_read_keys(r, root, top_keys, "the file"));
    KILN_TRY(read_head(r, root, lets, n_lets));
    KILN_TRY(read_body(r, root));
    kn_name_table *names = kn_arena_copy(r->arena, &r->node_ids, sizeof r->node_ids);
    KILN_TRY_MEM(r->ctx, names);
    g->names = names;
    g->lets = r->lets.v;
    g->n_lets = r->lets.n;
    g->nodes = r->nodes.v;
    g->n_nodes = r->nodes.n;
    g->edges = r->edges.v;
    g->n_edges = r->edges.n;
    g->inputs = r->inputs.v;
    g->n_inputs = r->inputs.n;
    g->groups = r->groups.v;
    g->n_groups = r->groups.n;
    return kn_graph_refuse_unsupported(r->ctx, g);
}

static kiln_status load_text(kn_reader *r, const char *path, kn_source_file *file)
{
    kn_bytes b;
    kiln_status s = kn_file_read(r->ctx, path, &b);
    if (s == KILN_NOMEM) return s;
    if (s != KILN_OK)
        return kn_fail_at(r->ctx, s, kn_kinds[KN_KIND_MISSING_FILE].name, (kn_place){.file = file->name}, NULL,
                          "cannot read '%.200s'", path);
    file->text = kn_arena_textn(r->arena, b.s, b.n);
    file->n = b.n;
    kn_bytes_free(r->ctx, &b);
    KILN_TRY_MEM(r->ctx, file->text);
    return KILN_OK;
}

kiln_status kn_graph_read(kiln_ctx *ctx, kn_arena *arena, const char *path, const char *text,
                          const kn_let_override *lets, size_t n_lets, kn_graph_model **out)
{
    *out = NULL;
    kn_graph_model *g = KN_NEW(arena, kn_graph_model);
    kn_source_file *file = KN_NEW(arena, kn_source_file);
    KILN_TRY_MEM(ctx, g && file);
    g->arena = arena;
    g->files = file;
    g->n_files = 1;
    kn_reader r = {.ctx = ctx, .arena = arena, .g = g};
    const char *slash = strrchr(path, '/');
    r.folder = kn_arena_textn(arena, path, slash ? (size_t)(slash + 1 - path) : 0);
    file->name = kn_arena_text(arena, path);
    KILN_TRY_MEM(ctx, r.folder && file->name);
    if (text) {
        file->n = strlen(text);
        KILN_TRY_MEM(ctx, file->text = kn_arena_textn(arena, text, file->n));
    } else {
        KILN_TRY(load_text(&r, path, file));
    }
    kn_arena_init(&r.scratch, &ctx->alloc);
    kiln_status s = read_all(&r, lets, n_lets);
    kn_arena_fini(&r.scratch);
    if (s == KILN_OK) *out = g;
    return s;
}
