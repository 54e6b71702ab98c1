/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML document as a tree with places: YAML 1.2 core types, no tags, aliases that cannot grow. */
#ifndef KN_GRAPH_YAML_H
#define KN_GRAPH_YAML_H

#include "graph/model.h"

enum { KN_YAML_DEPTH = 64, KN_YAML_VALUES = 1000000 };

typedef enum kn_yaml_kind {
    KN_YAML_NULL,
    KN_YAML_BOOL,
    KN_YAML_INT,
    KN_YAML_NUMBER,
    KN_YAML_TEXT,
    KN_YAML_LIST,
    KN_YAML_MAP,
} kn_yaml_kind;

struct kn_yaml_pair;

typedef struct kn_yaml {
    uint8_t kind;    /* kn_yaml_kind */
    uint8_t style;   /* of a scalar, libyaml's */
    bool has_alias;  /* is an alias or holds one */
    uint32_t size;   /* values in it, itself included, aliases spelled out */
    uint32_t n;      /* bytes of a scalar's text, items, pairs */
    kn_spot at;      /* an alias stands at its `*` */
    uint32_t text_line, text_column; /* of the scalar (or its anchor), also behind an alias */
    const char *text;                /* of any scalar as written, quotes and escapes resolved */
    union {
        double number; /* INT, NUMBER */
        bool truth;
        struct kn_yaml *const *items;
        const struct kn_yaml_pair *pairs;
    };
} kn_yaml;

typedef struct kn_yaml_pair {
    const kn_yaml *key, *value;
} kn_yaml_pair;

/* Parses files[file] of the model, whose name, text and length are set, and sets its line table (in the model's
 * arena). The tree lives in `arena`. */
kiln_status kn_yaml_parse(kiln_ctx *ctx, kn_arena *arena, const kn_graph_model *g, kn_source_file *file, uint32_t index,
                          const kn_yaml **out);

/* The value of a key, NULL when it is absent or null. */
const kn_yaml *kn_yaml_get(const kn_yaml *map, const char *key);
/* The key itself, NULL when absent. */
const kn_yaml *kn_yaml_key(const kn_yaml *map, const char *key);
/* "a number", "a list" ... for messages */
const char *kn_yaml_kind_name(const kn_yaml *y);
/* The place of a byte offset in a scalar's text, whatever its style, folding and escapes. */
kn_spot kn_yaml_locate(const kn_graph_model *g, const kn_yaml *y, size_t offset);
/* Of an offset in the file. */
kn_spot kn_source_spot(const kn_source_file *f, uint32_t index, size_t offset);
/* Whether a scalar was written with quotes. */
bool kn_yaml_quoted(const kn_yaml *y);
/* Whether a comma inside { } or [ ] ends it. */
bool kn_yaml_cut_by_comma(const kn_graph_model *g, const kn_yaml *y);

#endif
