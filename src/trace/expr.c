/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions after parsing: names, folding, queries. */
#include "trace/expr.h"

#include "base/fpmode.h"

const char *const kn_expr_op_name[KILN_EXPR_N_OPS] = {
#define NAME(op, text, n_args) text,
    KILN_EXPR_OP_LIST(NAME)
#undef NAME
};

const unsigned char kn_expr_op_args[KILN_EXPR_N_OPS] = {
#define ARGS(op, text, n_args) n_args,
    KILN_EXPR_OP_LIST(ARGS)
#undef ARGS
};

static const struct {
    const char *name;
    double value;
} constants[] = {
    {"pi", 3.14159265358979323846},
    {"e", 2.71828182845904523536},
    {"inf", __builtin_inf()},
    {"nan", __builtin_nan("")},
    {"true", 1},
    {"false", 0},
};

kiln_expr_op kn_expr_function(const char *name, size_t n)
{
    for (int i = 0; i < KILN_EXPR_N_OPS; i++)
        if (kn_expr_op_name[i] && strlen(kn_expr_op_name[i]) == n && memcmp(kn_expr_op_name[i], name, n) == 0)
            return (kiln_expr_op)i;
    return KILN_EXPR_N_OPS;
}

bool kiln_expr_reserved(const char *name)
{
    static const char *const words[] = {"or", "and", "not", "clamp"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0) return true;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(name, constants[i].name) == 0) return true;
    return kn_expr_function(name, strlen(name)) != KILN_EXPR_N_OPS;
}

kn_place kn_expr_place(const kiln_expr_text *src, size_t offset)
{
    kn_place at = {.file = src->file, .line = src->line, .column = src->column, .text = src->source};
    if (src->locate) {
        src->locate(src->ud, offset, &at.line, &at.column);
    } else if (at.column > 0) {
        for (size_t i = 0; i < offset; i++) at.column += ((unsigned char)src->text[i] & 0xc0) != 0x80;
    }
    return at;
}

bool kiln_expr_constant(const kiln_expr *e, double *value)
{
    const kiln_expr_node *root = &e->nodes[e->n - 1];
    if (root->op == KILN_EXPR_CONST && value) *value = root->value;
    return root->op == KILN_EXPR_CONST;
}

const kiln_expr_node *kiln_expr_nodes(const kiln_expr *e, size_t *n)
{
    *n = e->n;
    return e->nodes;
}

size_t kiln_expr_refs(const kiln_expr *e, const kiln_expr_ref **first)
{
    if (first) *first = e->n_refs ? &e->ref : NULL;
    return e->n_refs;
}

uint64_t kiln_expr_vars(const kiln_expr *e) { return e->vars; }
const char *kiln_expr_source(const kiln_expr *e) { return e->text; }

static kiln_status bind_name(kiln_ctx *ctx, kiln_expr *e, kiln_expr_node *node, kiln_expr_resolve resolve, void *ud,
                             kn_arena *scratch)
{
    const char *s = e->text + node->offset;
    size_t n = 0;
    while (s[n] == '_' || (s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'z') ||
           (s[n] >= 'A' && s[n] <= 'Z'))
        n++;
    char *name = kn_arena_textn(scratch, s, n);
    KILN_TRY_MEM(ctx, name);
    kiln_expr_name found = {0};
    if (resolve && resolve(ud, name, &found)) {
        node->op = found.is_var ? KILN_EXPR_VAR : KILN_EXPR_CONST;
        node->var = found.var;
        node->value = found.value;
        if (found.is_var) e->vars |= (uint64_t)1 << (found.var & 63);
        return KILN_OK;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(name, constants[i].name) == 0) {
            node->op = KILN_EXPR_CONST;
            node->value = constants[i].value;
            return KILN_OK;
        }
    kn_place at = kn_expr_place(&e->src, node->offset);
    if (found.hint)
        return kn_fail_at(ctx, KILN_NOTFOUND, "unknown-name", at, NULL,
                          "no name '%.64s' here (did you mean '%.64s'?)", name, found.hint);
    return kn_fail_at(ctx, KILN_NOTFOUND, "unknown-name", at,
                      "a name of `let` or of this place, or pi e inf nan true false", "no name '%.64s' here", name);
}

/* One node with constant arguments becomes a constant, x^2 a product. */
static void fold(kiln_expr_node *nodes, kiln_expr_node *node)
{
    unsigned n_args = kn_expr_op_args[node->op];
    bool constant = n_args > 0;
    double v[3] = {0};
    for (unsigned i = 0; i < n_args; i++) {
        constant = constant && nodes[node->arg[i]].op == KILN_EXPR_CONST;
        v[i] = nodes[node->arg[i]].value;
    }
    if (constant) {
        node->value = kiln_expr_apply(node->op, v[0], v[1], v[2]);
        node->op = KILN_EXPR_CONST;
    } else if (node->op == KILN_EXPR_POW && nodes[node->arg[1]].op == KILN_EXPR_CONST && v[1] == 2) {
        node->op = KILN_EXPR_MUL;
        node->arg[1] = node->arg[0];
    }
}

/* Drops the nodes that the root does not use. `map` has room for every node. */
static void compact(kiln_expr *e, uint32_t *map)
{
    memset(map, 0, e->n * sizeof *map);
    map[e->n - 1] = 1;
    for (uint32_t i = e->n; i-- > 0;)
        for (unsigned k = 0; map[i] && k < kn_expr_op_args[e->nodes[i].op]; k++) map[e->nodes[i].arg[k]] = 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (!map[i]) continue;
        kiln_expr_node node = e->nodes[i];
        for (unsigned k = 0; k < kn_expr_op_args[node.op]; k++) node.arg[k] = map[node.arg[k]];
        map[i] = n;
        e->nodes[n++] = node;
    }
    e->n = n;
}

static kiln_status bind_all(kiln_ctx *ctx, kiln_expr *e, kiln_expr_resolve resolve, void *ud, kn_arena *scratch)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (e->nodes[i].op == KILN_EXPR_NAME) KILN_TRY(bind_name(ctx, e, &e->nodes[i], resolve, ud, scratch));
    for (uint32_t i = 0; i < e->n; i++) fold(e->nodes, &e->nodes[i]);
    uint32_t *map = KN_NEWN(scratch, uint32_t, e->n);
    KILN_TRY_MEM(ctx, map);
    compact(e, map);
    e->src = (kiln_expr_text){0};
    return KILN_OK;
}

kiln_status kiln_expr_bind(kiln_ctx *ctx, kiln_expr *e, kiln_expr_resolve resolve, void *ud)
{
    kn_arena scratch;
    kn_arena_init(&scratch, &ctx->alloc);
    kn_fpmode mode = kn_fpmode_enter();
    kiln_status s = bind_all(ctx, e, resolve, ud, &scratch);
    kn_fpmode_leave(mode);
    kn_arena_fini(&scratch);
    return s;
}
