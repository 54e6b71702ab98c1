/* SPDX-License-Identifier: Apache-2.0 */
/* The section `edges`. Both forms end as: value, mapping, index, operation, place, added or set. */
#include "graph/reader.h"

#include "base/text.h"

#include <stdio.h>

/* An edge while it is read: where its parts stand. */
typedef struct draft {
    kn_edge e;
    kn_target target;
    const char *source_field;
    kn_spot source_at, source_field_at, target_field_at; /* words */
    kn_spot index_at, place_at;
    bool changed; /* anything stands between source and input besides a mapping */
    int64_t raw_index;
    const char *target_field;
    const kn_yaml *source_units, *target_units;
} draft;

/* ---- targets ---- */

kiln_status kn_read_target(kn_reader *r, uint32_t node, const char *name, size_t n, kn_spot at, kn_target *out)
{
    const kn_node *owner = &r->nodes.v[node], *base = kn_node_base(owner);
    char *copy = kn_arena_textn(r->arena, name, n);
    KILN_TRY_MEM(r->ctx, copy);
    *out = (kn_target){.node = node, .input = kn_node_input(owner, copy), .name = copy};
    if (base->type->inputs_from_checks) {
        out->any_shape = true;
        return KILN_OK;
    }
    if (out->input >= 0) {
        out->desc = &base->type->inputs[out->input];
        out->name = out->desc->name;
        out->shape = kn_node_shape(base, out->desc->shape);
        return KILN_OK;
    }
    const char *names[32];
    size_t count = 0;
    for (; count < (size_t)base->type->n_inputs && count < 32; count++) names[count] = base->type->inputs[count].name;
    return kn_read_error(r, KN_KIND_UNKNOWN_INPUT, at, kn_read_list(r, names, count),
                         "node '%.64s' has no input '%.64s'%s", owner->name, copy,
                         kn_did_you_mean(r, copy, names, count));
}

kiln_status kn_read_driven(kn_reader *r, const kn_target *t, uint8_t by, uint8_t *before)
{
    char few[128], *key = few;
    size_t n = strlen(t->name) + 16;
    if (n > sizeof few) KILN_TRY_MEM(r->ctx, key = kn_arena_new(&r->scratch, n));
    snprintf(key, n, "%u.%s", t->node, t->name);
    int64_t id = kn_names_find(&r->driven, key);
    *before = id >= 0 ? r->driven_by.v[id] : 0;
    if (id >= 0) return KILN_OK;
    if (key == few) KILN_TRY_MEM(r->ctx, key = kn_arena_text(&r->scratch, few));
    KILN_TRY_MEM(r->ctx, kn_push(&r->scratch, &r->driven_by, by));
    KILN_TRY_MEM(r->ctx, kn_names_add(&r->scratch, &r->driven, key, r->driven_by.n - 1));
    return KILN_OK;
}

/* ---- the short form ---- */

typedef struct cursor {
    const char *s, *end;
} cursor;

static void blanks(cursor *c)
{
    while (c->s < c->end && (*c->s == ' ' || (*c->s >= '\t' && *c->s <= '\r'))) c->s++;
}

static bool word(cursor *c, const char **s, size_t *n)
{
    const char *p = c->s;
    while (p < c->end && kn_is_name(c->s, (size_t)(p + 1 - c->s))) p++;
    *s = c->s;
    *n = (size_t)(p - c->s);
    c->s = p;
    return *n > 0;
}

static bool take(cursor *c, char what)
{
    if (c->s == c->end || *c->s != what) return false;
    c->s++;
    return true;
}

typedef struct left_side {
    const char *node, *field, *bracket;
    size_t n_node, n_field;
    int64_t place;
    bool additive;
} left_side;

/* target.input[place] += */
static bool read_left(cursor *c, left_side *l)
{
    blanks(c);
    if (!word(c, &l->node, &l->n_node) || !take(c, '.') || !word(c, &l->field, &l->n_field)) return false;
    blanks(c);
    const char *bracket = c->s;
    if (take(c, '[')) {
        blanks(c);
        const char *digits = c->s;
        for (; c->s < c->end && *c->s >= '0' && *c->s <= '9'; c->s++)
            if (l->place < INT32_MAX) l->place = l->place * 10 + (*c->s - '0');
        bool some = c->s > digits;
        blanks(c);
        if (!some || !take(c, ']')) return false;
        l->bracket = bracket;
        blanks(c);
    }
    l->additive = take(c, '+');
    if (!take(c, '=')) return false;
    blanks(c);
    return true;
}

typedef struct inside {
    kn_reader *r;
    const kn_words *w;
    size_t offset;
} inside;

static void locate(void *ud, size_t offset, int *line, int *column)
{
    const inside *i = ud;
    kn_spot s = kn_words_spot(i->r, i->w, i->offset + offset);
    *line = (int)s.line;
    *column = (int)s.column;
}

/* The operation that a bound right side stands for. */
static void classify(const kiln_expr *e, const kiln_expr_ref *ref, draft *d)
{
    size_t n;
    const kiln_expr_node *nodes = kiln_expr_nodes(e, &n), *root = &nodes[n - 1];
    d->e.op = KN_EDGE_EXPR;
    d->e.expr = e;
    if (root->op == KILN_EXPR_REF) d->e.op = KN_EDGE_NONE;
    else if (root->op == KILN_EXPR_NEG && nodes[root->arg[0]].op == KILN_EXPR_REF) d->e.op = KN_EDGE_NEGATE;
    else if (root->op == KILN_EXPR_MUL && nodes[root->arg[0]].op == KILN_EXPR_CONST &&
             nodes[root->arg[1]].op == KILN_EXPR_REF) {
        d->e.op = KN_EDGE_SCALE;
        d->e.factor = nodes[root->arg[0]].value;
    }
    if (d->e.op != KN_EDGE_EXPR) d->e.expr = NULL;
    d->e.indexed = ref->indexed;
    d->raw_index = ref->index;
    d->changed = d->e.op != KN_EDGE_NONE || ref->indexed || d->e.placed;
}

static kiln_status read_right(kn_reader *r, const kn_words *w, size_t from, const kn_scope *scope, draft *d)
{
    const kn_source_file *f = &r->g->files[w->y->at.file];
    inside in = {r, w, from};
    kiln_expr_text src = {.size = sizeof src,
                          .text = w->s + from,
                          .n = w->n - from,
                          .file = f->name,
                          .source = f->text,
                          .locate = locate,
                          .ud = &in,
                          .refs = true,
                          .arena = r->arena};
    kiln_expr *e;
    KILN_TRY(kn_read_parsed(r, w->y, &src, &e));
    const kiln_expr_ref *ref;
    if (kiln_expr_refs(e, &ref) != 1)
        return kn_read_error(r, KN_KIND_EDGE_SYNTAX, kn_words_spot(r, w, from), "2*b.y, b.y[-1] and the like",
                             "the right side must read exactly one node.field");
    d->source_at = kn_words_spot(r, w, from + ref->offset);
    d->source_field_at = kn_words_spot(r, w, from + ref->field_offset);
    d->index_at = kn_words_spot(r, w, from + ref->index_offset);
    KILN_TRY(kn_read_node_name(r, ref->node, strlen(ref->node), d->source_at, &d->e.source));
    d->source_field = ref->field;
    KILN_TRY(kiln_expr_bind(r->ctx, e, kn_resolve, &(kn_resolver){r, scope}));
    classify(e, ref, d);
    return KILN_OK;
}

static kiln_status read_short(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    kn_words w;
    KILN_TRY(kn_read_text(r, y, scope, "an edge", &w));
    cursor c = {w.s, w.s + w.n};
    left_side l = {0};
    if (!read_left(&c, &l))
        return kn_read_error(r, KN_KIND_EDGE_SYNTAX, kn_words_spot(r, &w, 0), "target.input = source.field",
                             "an edge is 'target.input = source.field' (or +=)");
    KILN_TRY(kn_read_node_name(r, l.node, l.n_node, kn_words_spot(r, &w, (size_t)(l.node - w.s)), &d->e.target));
    d->target_field_at = kn_words_spot(r, &w, (size_t)(l.field - w.s));
    d->e.additive = l.additive;
    d->e.placed = l.bracket != NULL;
    d->e.place = l.place;
    if (l.bracket) d->place_at = kn_words_spot(r, &w, (size_t)(l.bracket - w.s));
    KILN_TRY_MEM(r->ctx, d->target_field = kn_arena_textn(&r->scratch, l.field, l.n_field));
    return read_right(r, &w, (size_t)(c.s - w.s), scope, d);
}

/* ---- the long form ---- */

static kiln_status read_end(kn_reader *r, const kn_yaml *y, const char *node_key, const char *field_key,
                            const kn_scope *scope, uint32_t *node, const char **field)
{
    const kn_yaml *n = kn_yaml_get(y, node_key), *f = kn_yaml_get(y, field_key);
    kn_words w;
    KILN_TRY(kn_read_text(r, n, scope, node_key, &w));
    KILN_TRY(kn_read_node_name(r, w.s, w.n, n->at, node));
    KILN_TRY(kn_read_text(r, f, scope, field_key, &w));
    KILN_TRY_MEM(r->ctx, *field = kn_arena_textn(&r->scratch, w.s, w.n));
    return KILN_OK;
}

static kiln_status read_long(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    static const char *const keys[] = {"source_node", "source_field", "target_node", "target_field"};
    for (size_t i = 0; i < 4; i++)
        if (!kn_yaml_get(y, keys[i]))
            return kn_read_error(r, KN_KIND_MISSING_KEY, y->at,
                                 "source_node, source_field, target_node, target_field", "an edge needs '%s'",
                                 keys[i]);
    KILN_TRY(read_end(r, y, keys[0], keys[1], scope, &d->e.source, &d->source_field));
    KILN_TRY(read_end(r, y, keys[2], keys[3], scope, &d->e.target, &d->target_field));
    d->source_at = kn_yaml_get(y, keys[0])->at;
    d->source_field_at = kn_yaml_get(y, keys[1])->at;
    d->target_field_at = kn_yaml_get(y, keys[3])->at;
    return KILN_OK;
}

static const struct {
    const char *name;
    bool indexed;
    int64_t index;
} extracts[] = {
    {"extract_first", true, 0},        {"extract_last", true, -1}, {"extract_second", true, 1},
    {"extract_second_last", true, -2}, {"identity", false, 0},     {"negate", false, 0},
};

static kiln_status read_transform(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    kn_words w;
    KILN_TRY(kn_read_text(r, y, scope, "transform", &w));
    if (d->e.op != KN_EDGE_NONE || d->e.indexed)
        return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, "one of the two",
                             "the edge's text changes the value already");
    d->changed = true;
    d->index_at = y->at;
    KILN_TRY_MEM(r->ctx, d->e.transform = kn_arena_text(r->arena, w.s));
    for (size_t i = 0; i < sizeof extracts / sizeof *extracts; i++)
        if (strcmp(extracts[i].name, w.s) == 0) {
            d->e.indexed = extracts[i].indexed;
            d->raw_index = extracts[i].index;
            if (strcmp(w.s, "negate") == 0) d->e.op = KN_EDGE_NEGATE;
            return KILN_OK;
        }
    if (strncmp(w.s, "scale_", 6) == 0 && w.n > 6 && kn_read_double(w.s + 6, w.s + w.n, &d->e.factor) == w.s + w.n) {
        d->e.op = KN_EDGE_SCALE;
        return KILN_OK;
    }
    static const char *const names[] = {
        "identity", "negate", "extract_first", "extract_last", "extract_second", "extract_second_last", "scale_1"};
    return kn_read_error(
        r, KN_KIND_UNKNOWN_TRANSFORM, y->at,
        "identity negate extract_first extract_last extract_second extract_second_last scale_<number>",
        "no transform '%.64s'%s", w.s, kn_did_you_mean(r, w.s, names, 7));
}

static kiln_status read_options(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    const kn_yaml *additive = kn_yaml_get(y, "additive"), *transform = kn_yaml_get(y, "transform"),
                  *mapping = kn_yaml_get(y, "mapping");
    if (additive) {
        bool given;
        KILN_TRY(kn_read_bool(r, additive, "additive", &given));
        if (d->e.additive && !given)
            return kn_read_error(r, KN_KIND_BAD_VALUE, additive->at, "true", "the edge's text says '+='");
        d->e.additive = given;
    }
    if (transform) KILN_TRY(read_transform(r, transform, scope, d));
    if ((d->source_units = kn_yaml_get(y, "source_units")))
        KILN_TRY(kn_read_plain(r, d->source_units, "source_units", &d->e.source_units));
    if ((d->target_units = kn_yaml_get(y, "target_units")))
        KILN_TRY(kn_read_plain(r, d->target_units, "target_units", &d->e.target_units));
    if (!mapping) return KILN_OK;
    d->e.mapping_at = kn_yaml_key(y, "mapping")->at;
    return kn_read_mapping(r, mapping, scope, &d->e.mapping);
}

/* ---- what the parts mean together ---- */

static kiln_status resolve_source(kn_reader *r, draft *d)
{
    const kn_node *source = &r->nodes.v[d->e.source];
    d->e.source_field = kn_node_field(source, d->source_field);
    if (d->e.source_field >= 0) {
        d->e.shape = kn_node_shape(source, kn_node_base(source)->type->state[d->e.source_field].shape);
        return KILN_OK;
    }
    d->e.source_field = kn_node_flux(source, d->source_field);
    d->e.is_flux = true;
    if (d->e.source_field >= 0) return KILN_OK;
    return kn_read_unknown_field(r, source, d->source_field, d->source_field_at, true);
}

static void check_units(kn_reader *r, const draft *d)
{
    const char *want = d->target.desc ? d->target.desc->unit : "";
    if (!*want) return;
    if (d->target_units && strcmp(d->e.target_units, want) != 0)
        kn_graph_warn(r->ctx, r->g, KN_KIND_UNIT_MISMATCH, d->target_units->at,
                      "target_units '%.64s', but the input expects '%s'", d->e.target_units, want);
    if (d->source_units && !d->changed && strcmp(d->e.source_units, want) != 0)
        kn_graph_warn(r->ctx, r->g, KN_KIND_UNIT_MISMATCH, d->source_units->at,
                      "source_units '%.64s', but the input expects '%s'", d->e.source_units, want);
}

static kiln_status apply_mapping(kn_reader *r, draft *d)
{
    kn_shape *s = &d->e.shape;
    int64_t source, target;
    kn_mapping_sizes(d->e.mapping, &source, &target);
    char text[128];
    if (s->rank == 0 || s->dim[0] != source)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, d->e.mapping->at, NULL,
                             "the mapping reads %lld entries, '%.64s' has shape %s", (long long)source,
                             d->source_field, kn_shape_text(s, text));
    s->dim[0] = target;
    return KILN_OK;
}

static kiln_status apply_index(kn_reader *r, draft *d)
{
    kn_shape *s = &d->e.shape;
    int64_t n = s->rank ? s->dim[0] : 0;
    d->e.index = d->raw_index < 0 ? d->raw_index + n : d->raw_index;
    if (d->e.index < 0 || d->e.index >= n) {
        char text[128];
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, d->index_at, NULL, "'%.64s' has shape %s: no entry %lld",
                             d->source_field, kn_shape_text(s, text), (long long)d->raw_index);
    }
    s->rank--;
    for (int i = 0; i < s->rank; i++) s->dim[i] = s->dim[i + 1];
    return KILN_OK;
}

static kiln_status check_shape(kn_reader *r, const draft *d)
{
    const kn_shape *s = &d->e.shape, *want = &d->target.shape;
    char got[128], text[128];
    if (d->target.any_shape && !d->e.placed) return KILN_OK;
    if (d->e.placed) {
        if (d->target.any_shape || want->rank != 1 || d->e.place >= want->dim[0])
            return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, d->place_at, NULL,
                                 "the input '%.64s' has %s%s: no entry %lld", d->target.name,
                                 d->target.any_shape ? "any shape" : "shape ",
                                 d->target.any_shape ? "" : kn_shape_text(want, text), (long long)d->e.place);
        if (s->rank == 0) return KILN_OK;
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, d->e.at, "one number, such as field[0]",
                             "an entry of an input takes one number, found shape %s", kn_shape_text(s, got));
    }
    kn_shape one;
    bool fits = kn_shape_equal(s, want) || (d->changed && kn_shape_broadcasts(s, want));
    if (!fits && d->target.desc->short_shape) {
        one = kn_node_shape(&r->nodes.v[d->e.target], d->target.desc->short_shape);
        fits = kn_shape_equal(s, &one);
    }
    if (fits) return KILN_OK;
    return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, d->e.at,
                         "the input's shape; an index or a mapping changes the shape",
                         "'%.64s' has shape %s, the input '%.64s' wants %s", d->source_field, kn_shape_text(s, got),
                         d->target.name, kn_shape_text(want, text));
}

static kiln_status finish(kn_reader *r, draft *d)
{
    KILN_TRY(resolve_source(r, d));
    KILN_TRY(
        kn_read_target(r, d->e.target, d->target_field, strlen(d->target_field), d->target_field_at, &d->target));
    check_units(r, d);
    if (d->e.mapping) KILN_TRY(apply_mapping(r, d));
    if (d->e.indexed) KILN_TRY(apply_index(r, d));
    KILN_TRY(check_shape(r, d));
    d->e.target_input = d->target.input;
    d->e.target_field = d->target.name;
    uint8_t before;
    KILN_TRY(kn_read_driven(r, &d->target, 1, &before));
    if (before && !d->e.additive)
        kn_graph_warn(r->ctx, r->g, KN_KIND_OVERWRITTEN_INPUT, d->e.at,
                      "'%.64s.%.64s' is set again: the edges before this one have no effect",
                      r->nodes.v[d->e.target].name, d->target.name);
    r->used.v[d->e.source] = r->used.v[d->e.target] = true;
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->edges, d->e));
    return KILN_OK;
}

static kiln_status read_edge(kn_reader *r, const kn_yaml *y, const kn_loop *loop)
{
    static const char *const keys[] = {
        "for",      "edge",         "source_node",  "source_field", "target_node", "target_field", "transform",
        "additive", "source_units", "target_units", "mapping",      "geometry",    "ordinal",      NULL};
    kn_scope scope = {.loop = loop, .long_form = y->kind == KN_YAML_MAP};
    draft d = {.e = {.at = y->at}};
    const kn_yaml *text = y->kind == KN_YAML_TEXT ? y : NULL;
    if (y->kind == KN_YAML_MAP) {
        KILN_TRY(kn_read_keys(r, y, keys, "an edge"));
        text = kn_yaml_get(y, "edge");
        for (size_t i = 2; i < 6 && text; i++)
            if (kn_yaml_get(y, keys[i]))
                return kn_read_error(r, KN_KIND_DUPLICATE_KEY, kn_yaml_key(y, keys[i])->at, NULL,
                                     "'%s' stands in `edge` already", keys[i]);
    } else if (!text) {
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "text 'a.x = b.y' or a mapping", "an edge cannot be %s",
                             kn_yaml_kind_name(y));
    }
    if (text) d.e.at = kn_yaml_locate(r->g, text, 0);
    if (text) KILN_TRY(read_short(r, text, &scope, &d));
    else KILN_TRY(read_long(r, y, &scope, &d));
    if (y->kind == KN_YAML_MAP) KILN_TRY(read_options(r, y, &scope, &d));
    return finish(r, &d);
}

kiln_status kn_read_edges(kn_reader *r, const kn_yaml *y)
{
    if (y->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a list of edges", "edges must be a list, found %s",
                             kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *item = y->items[i];
        kn_loops loops;
        KILN_TRY(kn_read_for(r, item->kind == KN_YAML_MAP ? kn_yaml_get(item, "for") : NULL, &loops));
        for (size_t k = 0; k < loops.n_rounds; k++) {
            kn_loop loop = kn_loops_at(&loops, k);
            KILN_TRY(read_edge(r, item, &loop));
        }
    }
    return KILN_OK;
}
