/* SPDX-License-Identifier: Apache-2.0 */
/* The section `external_inputs`. */
#include "graph/reader.h"

typedef struct draft {
    kn_target target;
    kn_spot at; /* the input's word */
} draft;

/* `input: node.input` */
static kiln_status read_short(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    kn_words w;
    KILN_TRY(kn_read_text(r, y, scope, "input", &w));
    const char *dot = strchr(w.s, '.');
    size_t n = dot ? (size_t)(dot - w.s) : 0;
    if (!dot || !kn_is_name(w.s, n) || !kn_is_name(dot + 1, w.n - n - 1))
        return kn_read_error(r, KN_KIND_EDGE_SYNTAX, y->at, "input: node.input",
                             "input must be 'node.input', found '%.64s'", w.s);
    uint32_t node;
    d->at = kn_words_spot(r, &w, n + 1);
    KILN_TRY(kn_read_node_name(r, w.s, n, y->at, &node));
    return kn_read_target(r, node, dot + 1, w.n - n - 1, d->at, &d->target);
}

static kiln_status read_long(kn_reader *r, const kn_yaml *y, const kn_scope *scope, draft *d)
{
    const kn_yaml *node = kn_yaml_get(y, "target_node"), *field = kn_yaml_get(y, "target_field");
    if (!node || !field)
        return kn_read_error(r, KN_KIND_MISSING_KEY, y->at, "input, or target_node and target_field",
                             "an external input needs '%s'", node ? "target_field" : "target_node");
    kn_words w;
    uint32_t id;
    KILN_TRY(kn_read_text(r, node, scope, "target_node", &w));
    KILN_TRY(kn_read_node_name(r, w.s, w.n, node->at, &id));
    KILN_TRY(kn_read_text(r, field, scope, "target_field", &w));
    d->at = field->at;
    return kn_read_target(r, id, w.s, w.n, d->at, &d->target);
}

/* The declared shape: the input's, the short form of it, or () for one value everywhere. */
static kiln_status read_shape(kn_reader *r, const kn_yaml *y, const kn_scope *scope, const kn_target *t,
                              kn_shape *out)
{
    if (y->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a list of integers",
                             "shape must be a list of integers, found %s", kn_yaml_kind_name(y));
    if (y->n > KN_MAX_RANK)
        return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, NULL, "a shape of %u axes is too large", y->n);
    *out = (kn_shape){.rank = (int)y->n};
    for (uint32_t i = 0; i < y->n; i++) {
        KILN_TRY(kn_read_int(r, y->items[i], scope, "an extent", &out->dim[i]));
        if (out->dim[i] < 0)
            return kn_read_error(r, KN_KIND_BAD_VALUE, y->items[i]->at, ">= 0", "an extent cannot be %lld",
                                 (long long)out->dim[i]);
    }
    if (t->any_shape || out->rank == 0 || kn_shape_equal(out, &t->shape)) return KILN_OK;
    if (t->desc->short_shape) {
        kn_shape one = kn_node_shape(&r->nodes.v[t->node], t->desc->short_shape);
        if (kn_shape_equal(out, &one)) return KILN_OK;
    }
    char got[128], want[128];
    return kn_read_error(r, KN_KIND_SHAPE_MISMATCH, y->at, kn_shape_text(&t->shape, want),
                         "shape %s, but the input '%s' wants %s", kn_shape_text(out, got), t->name,
                         kn_shape_text(&t->shape, want));
}

static kiln_status read_value(kn_reader *r, const kn_yaml *y, const kn_yaml *shape_key, const kn_scope *scope,
                              const kn_target *t, kn_value *out)
{
    const kn_node *node = &r->nodes.v[t->node];
    bool two_shapes = t->desc && t->desc->short_shape && !shape_key;
    kn_shape shape = two_shapes ? kn_node_shape(node, t->desc->short_shape) : t->shape;
    if (shape_key) {
        kn_shape declared;
        KILN_TRY(read_shape(r, shape_key, scope, t, &declared));
        if (declared.rank > 0) shape = declared;
    }
    *out = (kn_value){.kind = KN_VALUE_ZERO, .shape = shape};
    if (!y) return KILN_OK;
    if (y->kind == KN_YAML_MAP && kn_yaml_get(y, "file")) return kn_read_rows(r, y, &shape, out);
    kn_array_rules rules = {.what = "value", .shape = &shape, .also = two_shapes ? &t->shape : NULL};
    kn_scope cells = *scope;
    cells.cells = kn_node_base(node);
    cells.time = true;
    cells.timestep = &node->timestep;
    return kn_read_value(r, y, &cells, &rules, out);
}

/* Values are delivered in the graph's precision; a declaration may say that they are numbers. */
static kiln_status read_dtype(kn_reader *r, const kn_yaml *y, const char **out)
{
    kiln_dtype d;
    KILN_TRY(kn_read_plain(r, y, "dtype", out));
    if (kiln_dtype_from_name(*out, strlen(*out), &d) && strchr("biuf", kiln_dtype_kind(d))) return KILN_OK;
    return kn_read_error(r, KN_KIND_BAD_VALUE, y->at, "float32, float64, int32, int64, bool", "'%.64s' is no element type of an input", *out);
}

static kiln_status read_input(kn_reader *r, const kn_yaml *y, const kn_loop *loop)
{
    static const char *const keys[] = {"for",   "target_node", "target_field", "input",
                                       "shape", "dtype",       "value",        NULL};
    KILN_TRY(kn_read_keys(r, y, keys, "an external input"));
    const kn_yaml *text = kn_yaml_get(y, "input"), *dtype = kn_yaml_get(y, "dtype");
    kn_scope scope = {.loop = loop, .long_form = !text};
    for (size_t i = 1; i < 3 && text; i++)
        if (kn_yaml_get(y, keys[i]))
            return kn_read_error(r, KN_KIND_DUPLICATE_KEY, kn_yaml_key(y, keys[i])->at, NULL,
                                 "'%s' stands in `input` already", keys[i]);
    draft d = {.at = y->at};
    KILN_TRY(text ? read_short(r, text, &scope, &d) : read_long(r, y, &scope, &d));
    const char *node = r->nodes.v[d.target.node].name;
    uint8_t before;
    KILN_TRY(kn_read_driven(r, &d.target, 2, &before));
    if (before)
        return kn_read_error(r, KN_KIND_INPUT_DRIVEN_TWICE, d.at, "one source per input",
                             "'%.64s.%.64s' is %s already", node, d.target.name,
                             before == 1 ? "driven by an edge" : "declared");
    kn_input in = {
        .target = d.target.node, .target_input = d.target.input, .target_field = d.target.name, .at = d.at};
    if (dtype) KILN_TRY(read_dtype(r, dtype, &in.dtype));
    KILN_TRY(read_value(r, kn_yaml_get(y, "value"), kn_yaml_get(y, "shape"), &scope, &d.target, &in.value));
    r->used.v[in.target] = true;
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->inputs, in));
    return KILN_OK;
}

kiln_status kn_read_inputs(kn_reader *r, const kn_yaml *y)
{
    if (y->kind != KN_YAML_LIST)
        return kn_read_error(r, KN_KIND_WRONG_TYPE, y->at, "a list of {input, value}",
                             "external_inputs must be a list, found %s", kn_yaml_kind_name(y));
    for (uint32_t i = 0; i < y->n; i++) {
        const kn_yaml *item = y->items[i];
        kn_loops loops;
        KILN_TRY(kn_read_for(r, item->kind == KN_YAML_MAP ? kn_yaml_get(item, "for") : NULL, &loops));
        for (size_t k = 0; k < loops.n_rounds; k++) {
            kn_loop loop = kn_loops_at(&loops, k);
            KILN_TRY(read_input(r, item, &loop));
        }
    }
    return KILN_OK;
}
