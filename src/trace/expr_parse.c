/* SPDX-License-Identifier: Apache-2.0 */
/* Text -> tree, by operator precedence with explicit stacks: the depth of the text costs heap, not call stack.
 * Lexical errors come first, then the first error of the syntax from left to right. */
#include "trace/expr.h"

#include "base/text.h"

enum { LEVEL_NOT = 3, LEVEL_SIGN = 8, LEVEL_POW = 9 };

typedef enum token_kind { T_END, T_NUMBER, T_NAME, T_OP } token_kind;

typedef struct token {
    token_kind kind;
    const char *s;
    size_t n;
    const char *dot; /* of a name `node.field` */
    double value;
} token;

/* A pending operator, parenthesis or call. */
typedef struct pending {
    enum { P_PREFIX, P_BINARY, P_PAREN, P_CALL } kind;
    int level;
    kiln_expr_op op; /* KILN_EXPR_NAME: a prefix plus, which leaves no node; KILN_EXPR_CONST: clamp */
    uint32_t offset; /* of its word */
    uint32_t n_args; /* of a call, so far */
    uint32_t n_word;
} pending;

typedef struct parser {
    kiln_ctx *ctx;
    const kiln_expr_text *src;
    const char *text, *end, *at;
    token t;
    kn_arena scratch;
    KN_VEC(kiln_expr_node) nodes;
    KN_VEC(uint32_t) operands;
    KN_VEC(pending) stack;
    kiln_expr_ref ref;
    uint32_t n_refs;
    kn_arena *arena;
} parser;

static const struct {
    const char *s;
    kiln_expr_op op;
    int level;
} binary_ops[] = {
    {"or", KILN_EXPR_OR, 1},         {"||", KILN_EXPR_OR, 1},          {"and", KILN_EXPR_AND, 2},
    {"&&", KILN_EXPR_AND, 2},        {"==", KILN_EXPR_EQ, 4},          {"!=", KILN_EXPR_NE, 4},
    {"<", KILN_EXPR_LT, 5},          {"<=", KILN_EXPR_LE, 5},          {">", KILN_EXPR_GT, 5},
    {">=", KILN_EXPR_GE, 5},         {"+", KILN_EXPR_ADD, 6},          {"-", KILN_EXPR_SUB, 6},
    {"*", KILN_EXPR_MUL, 7},         {"/", KILN_EXPR_DIV, 7},          {"%", KILN_EXPR_MOD, 7},
    {"^", KILN_EXPR_POW, LEVEL_POW}, {"**", KILN_EXPR_POW, LEVEL_POW},
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is(const token *t, const char *s) { return t->n == strlen(s) && memcmp(t->s, s, t->n) == 0; }

static kiln_status syntax(parser *p, const char *at, const char *accepted, const char *what, const char *word,
                          size_t n)
{
    kn_place place = kn_expr_place(p->src, (size_t)(at - p->text));
    if (!word) return kn_fail_at(p->ctx, KILN_INVALID, "expression-syntax", place, accepted, "%s", what);
    if (n > 64) n = 64;
    return kn_fail_at(p->ctx, KILN_INVALID, "expression-syntax", place, accepted, "%s '%.*s'", what, (int)n, word);
}

static kiln_status unexpected(parser *p, const char *accepted)
{
    if (p->t.kind == T_END) return syntax(p, p->t.s, accepted, "the expression ends too early", NULL, 0);
    return syntax(p, p->t.s, accepted, "unexpected", p->t.s, p->t.n);
}

static const char *name_end(const char *s, const char *end)
{
    while (s < end && (is_letter(*s) || is_digit(*s))) s++;
    return s;
}

/* Bytes of the character at s. */
static size_t character(const char *s, const char *end)
{
    size_t n = 1;
    while (s + n < end && ((unsigned char)s[n] & 0xc0) == 0x80) n++;
    return n;
}

static kiln_status next(parser *p)
{
    static const char *const two[] = {"**", "<=", ">=", "==", "!=", "&&", "||"};
    const char *s = p->at, *end = p->end;
    while (s < end && is_space(*s)) s++;
    token t = {.kind = T_END, .s = s};
    if (s == end) {
    } else if (is_digit(*s) || (*s == '.' && s + 1 < end && is_digit(s[1]))) {
        t.kind = T_NUMBER;
        t.n = (size_t)(kn_read_double(s, end, &t.value) - s);
        KILN_TRY_MEM(p->ctx, t.n > 0);
    } else if (is_letter(*s)) {
        t.kind = T_NAME;
        const char *q = name_end(s, end);
        if (q + 1 < end && *q == '.' && is_letter(q[1])) {
            t.dot = q;
            q = name_end(q + 1, end);
        }
        t.n = (size_t)(q - s);
    } else {
        t.kind = T_OP;
        for (size_t i = 0; i < sizeof two / sizeof *two && s + 1 < end; i++)
            if (s[0] == two[i][0] && s[1] == two[i][1]) t.n = 2;
        if (t.n == 0 && *s && strchr("-+*/%^(),<>[]!", *s)) t.n = 1;
        if (t.n == 0) return syntax(p, s, NULL, "unexpected character", s, character(s, end));
    }
    p->t = t;
    p->at = s + t.n;
    return KILN_OK;
}

static kiln_status push_node(parser *p, kiln_expr_node node, uint32_t n_args)
{
    if (n_args) memcpy(node.arg, p->operands.v + p->operands.n - n_args, n_args * sizeof *node.arg);
    p->operands.n -= n_args;
    KILN_TRY_MEM(p->ctx, kn_push(&p->scratch, &p->nodes, node));
    KILN_TRY_MEM(p->ctx, kn_push(&p->scratch, &p->operands, p->nodes.n - 1));
    return KILN_OK;
}

static kiln_status emit(parser *p, const pending *o)
{
    if (o->op == KILN_EXPR_NAME) return KILN_OK;
    return push_node(p, (kiln_expr_node){.op = o->op, .offset = o->offset}, o->kind == P_PREFIX ? 1 : 2);
}

/* Closes the pending operators that bind tighter than a binary operator of this level; 0: all up to a parenthesis. */
static kiln_status reduce(parser *p, int level)
{
    while (p->stack.n) {
        pending top = p->stack.v[p->stack.n - 1];
        if (top.kind == P_PAREN || top.kind == P_CALL) break;
        if (level && (top.level < level || (top.level == level && level == LEVEL_POW))) break;
        p->stack.n--;
        KILN_TRY(emit(p, &top));
    }
    return KILN_OK;
}

static uint32_t offset_of(const parser *p, const char *s) { return (uint32_t)(s - p->text); }

static kiln_status read_index(parser *p)
{
    kiln_expr_ref *r = &p->ref;
    r->index_offset = offset_of(p, p->t.s);
    KILN_TRY(next(p));
    bool minus = is(&p->t, "-");
    if (minus) KILN_TRY(next(p));
    int64_t v = 0;
    bool ok = p->t.kind == T_NUMBER;
    for (size_t i = 0; i < p->t.n && ok; i++)
        ok = is_digit(p->t.s[i]) && !__builtin_mul_overflow(v, 10, &v) &&
             !__builtin_add_overflow(v, p->t.s[i] - '0', &v);
    if (!ok) return syntax(p, p->t.s, "an entry number such as 0 or -1", "an index is an integer", NULL, 0);
    KILN_TRY(next(p));
    if (!is(&p->t, "]")) return syntax(p, p->t.s, NULL, "expected ']'", NULL, 0);
    r->indexed = true;
    r->index = minus ? -v : v;
    return KILN_OK;
}

/* `node.field`, then perhaps an index. The token after it has been read when `ahead` is set. */
static kiln_status read_ref(parser *p, bool *ahead)
{
    token t = p->t;
    if (!p->src->refs)
        return kn_fail_at(p->ctx, KILN_NOTFOUND, "unknown-name", kn_expr_place(p->src, (size_t)(t.s - p->text)),
                          "numbers, constants and the names of this place", "'%.*s' cannot be read here",
                          (int)(t.n > 64 ? 64 : t.n), t.s);
    kiln_expr_ref keep = p->ref;
    p->ref = (kiln_expr_ref){.offset = offset_of(p, t.s), .field_offset = offset_of(p, t.dot + 1)};
    KILN_TRY(next(p));
    *ahead = true;
    if (is(&p->t, "[")) {
        KILN_TRY(read_index(p));
        *ahead = false;
    }
    p->ref.node = kn_arena_textn(p->arena, t.s, (size_t)(t.dot - t.s));
    p->ref.field = kn_arena_textn(p->arena, t.dot + 1, (size_t)(t.s + t.n - t.dot - 1));
    KILN_TRY_MEM(p->ctx, p->ref.node && p->ref.field);
    if (p->n_refs++) p->ref = keep;
    return push_node(p, (kiln_expr_node){.op = KILN_EXPR_REF, .offset = offset_of(p, t.s)}, 0);
}

static kiln_status unknown_function(parser *p, const token *t)
{
    static const char *const names[] = {
#define FUNCTION(op, text, n_args) text,
        KILN_EXPR_OP_LIST(FUNCTION)
#undef FUNCTION
            "clamp"};
    const char *known[sizeof names / sizeof *names];
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i]) known[n++] = names[i];
    char word[65];
    size_t length = t->n > 64 ? 64 : t->n;
    memcpy(word, t->s, length);
    word[length] = 0;
    const char *near = kn_nearest(word, known, n);
    return kn_fail_at(
        p->ctx, KILN_NOTFOUND, "unknown-function", kn_expr_place(p->src, (size_t)(t->s - p->text)),
        "abs sqrt cbrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil "
        "round sign min max pow hypot fmod step clamp if",
        near ? "no function '%s' (did you mean '%s'?)" : "no function '%s'", word, near);
}

/* A name: a function that opens a call, a reference, or a plain name. */
static kiln_status read_name(parser *p, bool *operand_done, bool *ahead)
{
    token t = p->t;
    if (t.dot) {
        *operand_done = true;
        return read_ref(p, ahead);
    }
    if (is(&t, "or") || is(&t, "and")) return unexpected(p, "a value");
    KILN_TRY(next(p));
    if (!is(&p->t, "(")) {
        *operand_done = *ahead = true;
        return push_node(p, (kiln_expr_node){.op = KILN_EXPR_NAME, .offset = offset_of(p, t.s)}, 0);
    }
    kiln_expr_op op = is(&t, "clamp") ? KILN_EXPR_CONST : kn_expr_function(t.s, t.n);
    if (op == KILN_EXPR_N_OPS) return unknown_function(p, &t);
    KILN_TRY_MEM(p->ctx,
                 kn_push(&p->scratch, &p->stack,
                         (pending){.kind = P_CALL, .op = op, .offset = offset_of(p, t.s), .n_word = (uint32_t)t.n}));
    return KILN_OK;
}

static kiln_status read_operand(parser *p, bool *operand_done, bool *ahead)
{
    uint32_t offset = offset_of(p, p->t.s);
    pending prefix = {.kind = P_PREFIX, .level = LEVEL_SIGN, .offset = offset};
    if (p->t.kind == T_NUMBER) {
        *operand_done = true;
        return push_node(p, (kiln_expr_node){.op = KILN_EXPR_CONST, .value = p->t.value, .offset = offset}, 0);
    }
    if (is(&p->t, "-")) prefix.op = KILN_EXPR_NEG;
    else if (is(&p->t, "+")) prefix.op = KILN_EXPR_NAME;
    else if (is(&p->t, "!") || is(&p->t, "not")) prefix.op = KILN_EXPR_NOT, prefix.level = LEVEL_NOT;
    else if (is(&p->t, "(")) prefix.kind = P_PAREN;
    else if (p->t.kind == T_NAME) return read_name(p, operand_done, ahead);
    else return unexpected(p, "a number, a name, a function or '('");
    KILN_TRY_MEM(p->ctx, kn_push(&p->scratch, &p->stack, prefix));
    return KILN_OK;
}

static kiln_status close_call(parser *p, const pending *c)
{
    bool many = c->op == KILN_EXPR_MIN || c->op == KILN_EXPR_MAX, clamp = c->op == KILN_EXPR_CONST;
    uint32_t need = clamp ? 3 : kn_expr_op_args[c->op];
    if (many ? c->n_args < 2 : c->n_args != need)
        return kn_fail_at(p->ctx, KILN_INVALID, "expression-syntax", kn_expr_place(p->src, c->offset), NULL,
                          "'%.*s' takes %s%u argument%s, found %u", (int)c->n_word, p->text + c->offset,
                          many ? "at least " : "", need, need == 1 ? "" : "s", c->n_args);
    kiln_expr_node node = {.op = c->op, .offset = c->offset};
    if (clamp) { /* x lo hi -> MIN(MAX(x, lo), hi) */
        uint32_t hi = p->operands.v[--p->operands.n];
        node.op = KILN_EXPR_MAX;
        KILN_TRY(push_node(p, node, 2));
        node.op = KILN_EXPR_MIN;
        p->operands.v[p->operands.n++] = hi;
        return push_node(p, node, 2);
    }
    if (!many) return push_node(p, node, c->n_args);
    uint32_t first = p->operands.n - c->n_args;
    uint32_t left = p->operands.v[first];
    for (uint32_t i = 1; i < c->n_args; i++) {
        node.arg[0] = left;
        node.arg[1] = p->operands.v[first + i];
        KILN_TRY_MEM(p->ctx, kn_push(&p->scratch, &p->nodes, node));
        left = p->nodes.n - 1;
    }
    p->operands.v[first] = left;
    p->operands.n = first + 1;
    return KILN_OK;
}

/* After an operand. `done` at the end of the text, `operand` when the next thing is an operand again. */
static kiln_status read_operator(parser *p, bool *done, bool *operand)
{
    for (size_t i = 0; i < sizeof binary_ops / sizeof *binary_ops && p->t.kind != T_NUMBER; i++) {
        if (!is(&p->t, binary_ops[i].s)) continue;
        KILN_TRY(reduce(p, binary_ops[i].level));
        *operand = true;
        pending b = {
            .kind = P_BINARY, .op = binary_ops[i].op, .level = binary_ops[i].level, .offset = offset_of(p, p->t.s)};
        KILN_TRY_MEM(p->ctx, kn_push(&p->scratch, &p->stack, b));
        return KILN_OK;
    }
    KILN_TRY(reduce(p, 0));
    pending *top = p->stack.n ? &p->stack.v[p->stack.n - 1] : NULL;
    if (!top) {
        if (p->t.kind != T_END) return unexpected(p, "an operator or the end");
        *done = true;
        return KILN_OK;
    }
    if (top->kind == P_CALL && is(&p->t, ",")) {
        top->n_args++;
        *operand = true;
        return KILN_OK;
    }
    if (!is(&p->t, ")")) return syntax(p, p->t.s, NULL, "expected ')'", NULL, 0);
    p->stack.n--;
    if (top->kind == P_PAREN) return KILN_OK;
    pending call = *top;
    call.n_args++;
    return close_call(p, &call);
}

static kiln_status parse(parser *p)
{
    do { /* lexical errors first */
        KILN_TRY(next(p));
    } while (p->t.kind != T_END);
    p->at = p->text;
    KILN_TRY(next(p));
    if (p->t.kind == T_END)
        return syntax(p, p->text, "a number, a name, a function or '('", "the expression is empty", NULL, 0);
    bool done = false, operand = true;
    while (!done) {
        bool ahead = false;
        if (operand) {
            bool operand_done = false;
            KILN_TRY(read_operand(p, &operand_done, &ahead));
            operand = !operand_done;
        } else {
            KILN_TRY(read_operator(p, &done, &operand));
        }
        if (!ahead && !done) KILN_TRY(next(p));
    }
    return KILN_OK;
}

struct own {
    kiln_expr expr;
    kn_arena arena;
};

static kiln_expr *new_expr(kiln_ctx *ctx, kn_arena *arena)
{
    if (arena) {
        kiln_expr *e = KN_NEW(arena, kiln_expr);
        if (e) e->arena = arena;
        return e;
    }
    struct own *o = kn_new(&ctx->alloc, sizeof *o);
    if (!o) return NULL;
    kn_arena_init(&o->arena, &ctx->alloc);
    o->expr.arena = &o->arena;
    o->expr.owned = true;
    return &o->expr;
}

void kiln_expr_release(kiln_expr *e)
{
    if (!e || !e->owned) return;
    struct own *o = (struct own *)e;
    kn_alloc alloc = o->arena.alloc;
    kn_arena_fini(&o->arena);
    kn_free(&alloc, o, sizeof *o);
}

static kiln_status fill(parser *p, kiln_expr *e, size_t n)
{
    e->text = kn_arena_textn(e->arena, p->text, n);
    KILN_TRY_MEM(p->ctx, e->text);
    KILN_TRY(parse(p));
    e->nodes = kn_arena_copy(e->arena, p->nodes.v, p->nodes.n * sizeof *p->nodes.v);
    KILN_TRY_MEM(p->ctx, e->nodes);
    e->n = p->nodes.n;
    e->ref = p->ref;
    e->n_refs = p->n_refs;
    return KILN_OK;
}

kiln_status kiln_expr_parse(kiln_ctx *ctx, const kiln_expr_text *text, kiln_expr **out)
{
    *out = NULL;
    kiln_expr_text src = {0};
    memcpy(&src, text, text->size && text->size < sizeof src ? text->size : sizeof src);
    size_t n = src.n ? src.n : strlen(src.text);
    if (n > INT32_MAX) return kn_fail(ctx, KILN_INVALID, "an expression of %zu bytes is too long", n);
    kiln_expr *e = new_expr(ctx, src.arena);
    KILN_TRY_MEM(ctx, e);
    e->src = src;
    parser p = {.ctx = ctx, .src = &src, .text = src.text, .at = src.text, .end = src.text + n, .arena = e->arena};
    kn_arena_init(&p.scratch, &ctx->alloc);
    kiln_status s = fill(&p, e, n);
    kn_arena_fini(&p.scratch);
    if (s != KILN_OK) {
        kiln_expr_release(e);
        return s;
    }
    e->src.text = e->text;
    *out = e;
    return KILN_OK;
}
