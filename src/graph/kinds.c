/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/kinds.h"

#include <stdarg.h>
#include <stdio.h>

enum { SEVERITY_e = 0, SEVERITY_w = 1 };

const kn_kind_info kn_kinds[KN_N_KINDS] = {
#define KN_KIND(id, name, severity, status, text, example) {name, SEVERITY_##severity, KILN_##status, text, example},
#include "graph/kinds.def"
#undef KN_KIND
};

kiln_status kn_graph_fail(kiln_ctx *ctx, const kn_graph_model *g, kn_kind kind, kn_spot at, const char *accepted,
                          const char *fmt, ...)
{
    char text[KILN_DIAG_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kn_fail_at(ctx, kn_kinds[kind].status, kn_kinds[kind].name, kn_graph_place(g, at), accepted, "%s", text);
}

void kn_graph_warn(kiln_ctx *ctx, const kn_graph_model *g, kn_kind kind, kn_spot at, const char *fmt, ...)
{
    if (!ctx->warn) return;
    char text[KILN_DIAG_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kn_warn_at(ctx, kn_kinds[kind].name, kn_graph_place(g, at), "%s", text);
}
