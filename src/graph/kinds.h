/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of error and warning, and the two ways to report one at its place. */
#ifndef KN_GRAPH_KINDS_H
#define KN_GRAPH_KINDS_H

#include "graph/model.h"

typedef enum kn_kind {
#define KN_KIND(id, name, severity, status, text, example) KN_KIND_##id,
#include "graph/kinds.def"
#undef KN_KIND
    KN_N_KINDS
} kn_kind;

typedef struct kn_kind_info {
    const char *name;
    bool warning;
    kiln_status status;
    const char *text;
    const char *example; /* text of a file example.yaml that shows it, or NULL when one file cannot */
} kn_kind_info;

extern const kn_kind_info kn_kinds[KN_N_KINDS];

kiln_status kn_graph_fail(kiln_ctx *ctx, const kn_graph_model *g, kn_kind kind, kn_spot at, const char *accepted,
                          const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void kn_graph_warn(kiln_ctx *ctx, const kn_graph_model *g, kn_kind kind, kn_spot at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
