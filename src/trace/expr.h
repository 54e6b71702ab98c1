/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of an expression. */
#ifndef KN_TRACE_EXPR_H
#define KN_TRACE_EXPR_H

#include "base/ctx.h"
#include "kiln/expr.h"

struct kiln_expr {
    kiln_expr_node *nodes; /* arguments before their user, the root last */
    uint32_t n;
    uint32_t n_refs;
    kiln_expr_ref ref;
    uint64_t vars;
    const char *text; /* a copy */
    kiln_expr_text src; /* as given; places are needed until binding */
    kn_arena *arena;
    bool owned; /* the arena belongs to this expression alone */
};

/* What stands at a byte offset of the text, for errors. */
kn_place kn_expr_place(const kiln_expr_text *src, size_t offset);
extern const char *const kn_expr_op_name[KILN_EXPR_N_OPS];
extern const unsigned char kn_expr_op_args[KILN_EXPR_N_OPS];
/* Operation of a function name, KILN_EXPR_N_OPS when there is none. */
kiln_expr_op kn_expr_function(const char *name, size_t n);

#endif
