/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events -> tree. No recursion: open lists and mappings stand on a stack of KN_YAML_DEPTH frames. */
#include "graph/yaml.h"

#include "base/text.h"
#include "graph/kinds.h"
#include "graph/names.h"

#include <yaml.h>

typedef struct frame {
    kn_yaml *node;
    const kn_yaml *key; /* of a mapping: read, its value is awaited */
    char *anchor;
    uint64_t size;
    kn_name_table keys;
    KN_VEC(const kn_yaml *) items; /* of a mapping: key, value, key, ... */
} frame;

typedef struct builder {
    kiln_ctx *ctx;
    kn_arena *arena;
    const kn_graph_model *g;
    uint32_t file;
    yaml_parser_t parser;
    frame *frames;
    int depth;
    kn_name_table anchors;
    KN_VEC(const kn_yaml *) anchored;
    const kn_yaml *root;
} builder;

static kn_spot spot(const builder *b, yaml_mark_t m)
{
    return (kn_spot){b->file, (uint32_t)m.line + 1, (uint32_t)m.column + 1};
}

/* ---- scalars ---- */

static size_t digits(const char *s)
{
    size_t n = 0;
    while (s[n] >= '0' && s[n] <= '9') n++;
    return n;
}

/* [-+]?[0-9]+ */
static bool is_int(const char *s)
{
    if (*s == '-' || *s == '+') s++;
    size_t n = digits(s);
    return n > 0 && s[n] == 0;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? is what kn_read_double takes, when it takes all. */
static bool number(const char *s, double *out)
{
    const char *end = s + strlen(s);
    return s != end && kn_read_double(s, end, out) == end;
}

static bool infinity(const char *s, double *out)
{
    double sign = *s == '-' ? -1 : 1;
    if (*s == '-' || *s == '+') s++;
    *out = sign * __builtin_inf();
    return strcmp(s, ".inf") == 0;
}

static void classify(kn_yaml *y)
{
    const char *s = y->text;
    y->kind = KN_YAML_TEXT;
    if (y->style != YAML_PLAIN_SCALAR_STYLE && y->style != YAML_ANY_SCALAR_STYLE) return;
    if (!*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0) y->kind = KN_YAML_NULL;
    else if ((y->truth = strcmp(s, "true") == 0) || strcmp(s, "false") == 0) y->kind = KN_YAML_BOOL;
    else if (is_int(s) && number(s, &y->number)) y->kind = KN_YAML_INT;
    else if (number(s, &y->number) || infinity(s, &y->number)) y->kind = KN_YAML_NUMBER;
    else if (strcmp(s, ".nan") == 0) y->kind = KN_YAML_NUMBER, y->number = __builtin_nan("");
}

bool kn_yaml_quoted(const kn_yaml *y)
{
    return y->style == YAML_SINGLE_QUOTED_SCALAR_STYLE || y->style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
}

/* ---- building ---- */

static kiln_status new_node(builder *b, yaml_mark_t mark, const yaml_char_t *tag, kn_yaml **out)
{
    kn_spot at = spot(b, mark);
    if (tag)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_TAG, at, "the value without a tag",
                             "tag %.100s is not allowed", (const char *)tag);
    kn_yaml *y = KN_NEW(b->arena, kn_yaml);
    KILN_TRY_MEM(b->ctx, y);
    *y = (kn_yaml){.at = at, .text_line = at.line, .text_column = at.column, .size = 1};
    *out = y;
    return KILN_OK;
}

static kiln_status keep_anchor(builder *b, const char *name, const kn_yaml *y)
{
    int64_t id = kn_names_find(&b->anchors, name);
    if (id >= 0) {
        b->anchored.v[id] = y;
        return KILN_OK;
    }
    char *copy = kn_arena_text(b->arena, name);
    KILN_TRY_MEM(b->ctx, copy);
    KILN_TRY_MEM(b->ctx, kn_push(b->arena, &b->anchored, y));
    KILN_TRY_MEM(b->ctx, kn_names_add(b->arena, &b->anchors, copy, b->anchored.n - 1));
    return KILN_OK;
}

/* A finished value goes where it belongs: it is the root, an item, a key or the value of the key before it. */
static kiln_status attach(builder *b, const kn_yaml *y)
{
    if (b->depth == 0) {
        b->root = y;
        return KILN_OK;
    }
    frame *f = &b->frames[b->depth - 1];
    f->node->has_alias |= y->has_alias;
    f->size += y->size;
    if (f->node->kind == KN_YAML_MAP && !f->key) {
        if (y->kind == KN_YAML_LIST || y->kind == KN_YAML_MAP)
            return kn_graph_fail(b->ctx, b->g, KN_KIND_BAD_KEY, y->at, "one word",
                                 "a key must be a plain word, found %s", kn_yaml_kind_name(y));
        if (kn_names_find(&f->keys, y->text) >= 0)
            return kn_graph_fail(b->ctx, b->g, KN_KIND_DUPLICATE_KEY, y->at, NULL, "key '%.100s' is given twice",
                                 y->text);
        KILN_TRY_MEM(b->ctx, kn_names_add(b->arena, &f->keys, y->text, 0));
        f->key = y;
    } else {
        f->key = NULL;
    }
    KILN_TRY_MEM(b->ctx, kn_push(b->arena, &f->items, y));
    if (f->size > KN_YAML_VALUES)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_TOO_LARGE, f->node->at, NULL, "more than %d values",
                             KN_YAML_VALUES);
    return KILN_OK;
}

static kiln_status on_scalar(builder *b, const yaml_event_t *e)
{
    kn_yaml *y;
    KILN_TRY(new_node(b, e->start_mark, e->data.scalar.tag, &y));
    size_t n = e->data.scalar.length;
    const char *s = (const char *)e->data.scalar.value;
    if (memchr(s, 0, n))
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX, y->at, NULL, "a text may not hold the character NUL");
    y->style = (uint8_t)e->data.scalar.style;
    y->text = kn_arena_textn(b->arena, s, n);
    y->n = (uint32_t)n;
    KILN_TRY_MEM(b->ctx, y->text);
    classify(y);
    if (e->data.scalar.anchor) KILN_TRY(keep_anchor(b, (const char *)e->data.scalar.anchor, y));
    return attach(b, y);
}

static kiln_status on_alias(builder *b, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    kn_spot at = spot(b, e->start_mark);
    int64_t id = kn_names_find(&b->anchors, name);
    if (id < 0)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX, at, "the name of an anchor before it",
                             "unknown alias *%.100s", name);
    const kn_yaml *a = b->anchored.v[id];
    if (a->has_alias)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_ALIAS_NESTING, at, NULL,
                             "&%.100s holds an alias itself and may not be aliased", name);
    kn_yaml *y = kn_arena_copy(b->arena, a, sizeof *a);
    KILN_TRY_MEM(b->ctx, y);
    y->at = at;
    y->has_alias = true;
    return attach(b, y);
}

static kiln_status on_start(builder *b, const yaml_event_t *e, kn_yaml_kind kind)
{
    bool list = kind == KN_YAML_LIST;
    const yaml_char_t *anchor = list ? e->data.sequence_start.anchor : e->data.mapping_start.anchor;
    kn_yaml *y;
    KILN_TRY(new_node(b, e->start_mark, list ? e->data.sequence_start.tag : e->data.mapping_start.tag, &y));
    y->kind = (uint8_t)kind;
    frame *f = &b->frames[b->depth];
    f->node = y;
    f->key = NULL;
    f->anchor = NULL;
    f->size = 1;
    f->keys = (kn_name_table){0};
    f->items.n = 0;
    if (anchor) KILN_TRY_MEM(b->ctx, f->anchor = kn_arena_text(b->arena, (const char *)anchor));
    b->depth++;
    return KILN_OK;
}

static kiln_status on_end(builder *b)
{
    frame *f = &b->frames[--b->depth];
    kn_yaml *y = f->node;
    const void *children = kn_arena_copy(b->arena, f->items.v, f->items.n * sizeof *f->items.v);
    KILN_TRY_MEM(b->ctx, children);
    y->size = (uint32_t)f->size;
    if (y->kind == KN_YAML_LIST) {
        y->n = f->items.n;
        y->items = children;
    } else {
        y->n = f->items.n / 2;
        y->pairs = children; /* a pair is two pointers side by side */
    }
    if (f->anchor) KILN_TRY(keep_anchor(b, f->anchor, y));
    return attach(b, y);
}

_Static_assert(sizeof(kn_yaml_pair) == 2 * sizeof(const kn_yaml *), "pairs are made of two items");

static kiln_status on_event(builder *b, const yaml_event_t *e)
{
    bool value = e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT ||
                 e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
    if (value && b->depth > KN_YAML_DEPTH)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_TOO_DEEP, spot(b, e->start_mark), NULL, "nested more than %d deep",
                             KN_YAML_DEPTH);
    switch (e->type) {
    case YAML_SCALAR_EVENT: return on_scalar(b, e);
    case YAML_ALIAS_EVENT: return on_alias(b, e);
    case YAML_SEQUENCE_START_EVENT: return on_start(b, e, KN_YAML_LIST);
    case YAML_MAPPING_START_EVENT: return on_start(b, e, KN_YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return on_end(b);
    case YAML_DOCUMENT_START_EVENT:
        if (!b->root) return KILN_OK;
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX, spot(b, e->start_mark), "one document",
                             "a second document begins here");
    default: return KILN_OK;
    }
}

static kiln_status syntax_error(builder *b)
{
    const yaml_parser_t *p = &b->parser;
    const kn_source_file *f = &b->g->files[b->file];
    if (p->error == YAML_MEMORY_ERROR) return kn_nomem(b->ctx);
    const char *problem = p->problem ? p->problem : "bad YAML";
    if (p->error == YAML_READER_ERROR)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX,
                             kn_source_spot(f, b->file, p->problem_offset + (size_t)(f->text[0] == '\xef' ? 3 : 0)),
                             "UTF-8 text without control characters", "%s", problem);
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX, spot(b, p->problem_mark), NULL, "%s (%s of line %zu)",
                             problem, p->context, p->context_mark.line + 1);
    return kn_graph_fail(b->ctx, b->g, KN_KIND_YAML_SYNTAX, spot(b, p->problem_mark), NULL, "%s%s%s", problem,
                         p->context ? ", " : "", p->context ? p->context : "");
}

static kiln_status build(builder *b)
{
    bool done = false;
    while (!done) {
        yaml_event_t e;
        if (!yaml_parser_parse(&b->parser, &e)) return syntax_error(b);
        done = e.type == YAML_STREAM_END_EVENT;
        kiln_status s = on_event(b, &e);
        yaml_event_delete(&e);
        KILN_TRY(s);
    }
    return KILN_OK;
}

/* Offsets of the lines, broken where libyaml breaks them. */
static kiln_status find_lines(kiln_ctx *ctx, kn_arena *arena, kn_source_file *f)
{
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 1, *lines = NULL;
        if (pass) KILN_TRY_MEM(ctx, lines = KN_NEWN(arena, uint32_t, f->n_lines));
        for (size_t i = 0; i < f->n; i++) {
            const unsigned char *s = (const unsigned char *)f->text + i;
            size_t length = *s == '\r' && s[1] == '\n'                                     ? 2
                            : *s == '\r' || *s == '\n'                                     ? 1
                            : *s == 0xc2 && s[1] == 0x85                                   ? 2
                            : *s == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9) ? 3
                                                                                           : 0;
            if (!length) continue;
            i += length - 1;
            if (lines) lines[n] = (uint32_t)i + 1;
            n++;
        }
        f->lines = lines;
        f->n_lines = n;
    }
    return KILN_OK;
}

kiln_status kn_yaml_parse(kiln_ctx *ctx, kn_arena *arena, const kn_graph_model *g, kn_source_file *file,
                          uint32_t index, const kn_yaml **out)
{
    kn_spot top = {index, 1, 1};
    if (file->n >= UINT32_MAX)
        return kn_graph_fail(ctx, g, KN_KIND_TOO_LARGE, top, NULL, "the file is larger than 4 GB");
    KILN_TRY(find_lines(ctx, g->arena, file));
    builder b = {.ctx = ctx, .arena = arena, .g = g, .file = index};
    b.frames = KN_NEWN(arena, frame, KN_YAML_DEPTH + 1);
    KILN_TRY_MEM(ctx, b.frames);
    if (!yaml_parser_initialize(&b.parser)) return kn_nomem(ctx);
    size_t bom = strncmp(file->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)file->text + bom, file->n - bom);
    kiln_status s = build(&b);
    yaml_parser_delete(&b.parser);
    KILN_TRY(s);
    if (!b.root)
        return kn_graph_fail(ctx, g, KN_KIND_EMPTY, top, "a mapping with the key `nodes`", "the file is empty");
    *out = b.root;
    return KILN_OK;
}

/* ---- looking ---- */

const kn_yaml *kn_yaml_key(const kn_yaml *map, const char *key)
{
    for (uint32_t i = 0; i < map->n && map->kind == KN_YAML_MAP; i++)
        if (strcmp(map->pairs[i].key->text, key) == 0) return map->pairs[i].key;
    return NULL;
}

const kn_yaml *kn_yaml_get(const kn_yaml *map, const char *key)
{
    for (uint32_t i = 0; i < map->n && map->kind == KN_YAML_MAP; i++)
        if (strcmp(map->pairs[i].key->text, key) == 0)
            return map->pairs[i].value->kind == KN_YAML_NULL ? NULL : map->pairs[i].value;
    return NULL;
}

const char *kn_yaml_kind_name(const kn_yaml *y)
{
    static const char *const names[] = {"null", "true or false", "an integer", "a number",
                                        "text", "a list",        "a mapping"};
    return names[y->kind];
}
