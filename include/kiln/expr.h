/* SPDX-License-Identifier: Apache-2.0 */
/** Arithmetic expressions as text: `0.2*(1/n)^2/alpha`, `if(x < 0.5, sin(2*pi*t), 0)`.
 *
 *      kiln_expr_text src = {.size = sizeof src, .text = "2*k + 1"};
 *      kiln_expr *e;
 *      KILN_TRY(kiln_expr_parse(ctx, &src, &e));
 *      KILN_TRY(kiln_expr_bind(ctx, e, my_names, my_table));
 *      double v;
 *      if (kiln_expr_constant(e, &v)) ...
 *      kiln_expr_release(e);
 *
 *  Parsing checks the syntax and the function names, binding gives every name a value or a variable and
 *  folds the constant parts in double. A bound expression is a list of nodes, arguments before their user,
 *  the root last: one loop evaluates, prints or traces it.
 *
 *  Operators, loosest first: `or ||`, `and &&`, prefix `not !`, `== !=`, `< <= > >=`, `+ -`, `* / %`
 *  (% is the C fmod), prefix `- +`, `^ **` (right associative; -2^2 is -4). Truth is 1 or 0, any value but zero
 *  is true. Constants: pi e inf nan true false (a name that the caller resolves goes first).
 */
#ifndef KILN_EXPR_H
#define KILN_EXPR_H

#include "kiln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* op, its spelling as a function (NULL: none), number of arguments in the tree */
#define KILN_EXPR_OP_LIST(X)                                                                       \
    X(CONST, NULL, 0) /* value */                                                                  \
    X(NAME, NULL, 0)  /* only before binding */                                                    \
    X(VAR, NULL, 0)   /* var: the number that the caller's resolver gave */                        \
    X(REF, NULL, 0)   /* node.field[index], see kiln_expr_ref */                                   \
    X(NEG, NULL, 1)                                                                                \
    X(NOT, NULL, 1)                                                                                \
    X(ADD, NULL, 2)                                                                                \
    X(SUB, NULL, 2)                                                                                \
    X(MUL, NULL, 2) /* x^2 is the product of x and x, one argument given twice */                  \
    X(DIV, NULL, 2)                                                                                \
    X(MOD, "fmod", 2)                                                                              \
    X(POW, "pow", 2)                                                                               \
    X(EQ, NULL, 2)                                                                                 \
    X(NE, NULL, 2)                                                                                 \
    X(LT, NULL, 2)                                                                                 \
    X(LE, NULL, 2)                                                                                 \
    X(GT, NULL, 2)                                                                                 \
    X(GE, NULL, 2)                                                                                 \
    X(AND, NULL, 2)                                                                                \
    X(OR, NULL, 2)                                                                                 \
    X(MIN, "min", 2) /* NaN if either is; more arguments are nested, left to right */              \
    X(MAX, "max", 2)                                                                               \
    X(ATAN2, "atan2", 2)                                                                           \
    X(HYPOT, "hypot", 2)                                                                           \
    X(ABS, "abs", 1)                                                                               \
    X(SQRT, "sqrt", 1)                                                                             \
    X(CBRT, "cbrt", 1)                                                                             \
    X(EXP, "exp", 1)                                                                               \
    X(EXPM1, "expm1", 1)                                                                           \
    X(LOG, "log", 1)                                                                               \
    X(LOG1P, "log1p", 1)                                                                           \
    X(LOG2, "log2", 1)                                                                             \
    X(LOG10, "log10", 1)                                                                           \
    X(SIN, "sin", 1)                                                                               \
    X(COS, "cos", 1)                                                                               \
    X(TAN, "tan", 1)                                                                               \
    X(ASIN, "asin", 1)                                                                             \
    X(ACOS, "acos", 1)                                                                             \
    X(ATAN, "atan", 1)                                                                             \
    X(SINH, "sinh", 1)                                                                             \
    X(COSH, "cosh", 1)                                                                             \
    X(TANH, "tanh", 1)                                                                             \
    X(FLOOR, "floor", 1)                                                                           \
    X(CEIL, "ceil", 1)                                                                             \
    X(ROUND, "round", 1) /* half to even */                                                        \
    X(SIGN, "sign", 1)   /* -1, 0, 1; NaN stays NaN */                                             \
    X(STEP, "step", 1)   /* 1 for x >= 0, else 0 */                                                \
    X(IF, "if", 3)       /* first not zero: the second, else the third */
/* `clamp(x, lo, hi)` is spelled out as MIN(MAX(x, lo), hi). */

typedef enum kiln_expr_op {
#define KILN_EXPR_ENUM(op, text, n_args) KILN_EXPR_##op,
    KILN_EXPR_OP_LIST(KILN_EXPR_ENUM)
#undef KILN_EXPR_ENUM
        KILN_EXPR_N_OPS
} kiln_expr_op;

typedef struct kiln_expr kiln_expr;

typedef struct kiln_expr_node {
    kiln_expr_op op;
    uint32_t arg[3]; /**< earlier nodes */
    uint32_t var;    /**< VAR */
    uint32_t offset; /**< byte offset in the text of the word that made the node */
    double value;    /**< CONST */
} kiln_expr_node;

/** The one `node.field[index]` of an expression. */
typedef struct kiln_expr_ref {
    const char *node, *field;
    bool indexed;
    int64_t index;              /**< negative: from the end */
    uint32_t offset;            /**< of the node's name, bytes */
    uint32_t field_offset, index_offset; /**< of the field's name and of the `[` */
} kiln_expr_ref;

struct kn_arena;

/** The text of an expression and where it stands. */
typedef struct kiln_expr_text {
    size_t size; /**< sizeof(kiln_expr_text) */
    const char *text;
    size_t n;         /**< bytes of the text; 0: up to its end */
    const char *file; /**< for errors; may be NULL. Kept by reference until kiln_expr_bind */
    const char *source; /**< whole text of the file, for the excerpt; may be NULL */
    int line, column;   /**< of the first character; 0: not known */
    /** Where the character at a byte offset of the text stands, for a text that is no plain piece of a line; may be NULL. */
    void (*locate)(void *ud, size_t offset, int *line, int *column);
    void *ud;
    bool refs; /**< `node.field[index]` may stand in it */
    struct kn_arena *arena; /**< where the expression lives; NULL: its own memory */
} kiln_expr_text;

/** Parse. With an arena the expression lives as long as that; without, until kiln_expr_release.
 *
 *  Errors:   KILN_INVALID of kind expression-syntax, KILN_NOTFOUND of kind unknown-function or unknown-name
 *            (a `node.field` where none may stand), with place; KILN_NOMEM
 *  Threads:  the context's       Cost: O(length)       Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_expr_parse(kiln_ctx *ctx, const kiln_expr_text *text, kiln_expr **out);
KILN_API void kiln_expr_release(kiln_expr *e);

/** What a name means. */
typedef struct kiln_expr_name {
    bool is_var;
    double value;     /**< when not a variable */
    uint32_t var;     /**< when a variable: any number below 64 */
    const char *hint; /**< when the name is not known: the known one that it may have meant, or NULL */
} kiln_expr_name;
/** Fills `out` and returns true when the name is known; may fill out->hint and returns false when not. */
typedef bool (*kiln_expr_resolve)(void *ud, const char *name, kiln_expr_name *out);

/** Give every name its meaning and fold what is constant. To be called once.
 *
 *  @param resolve  may be NULL: only the constants are known
 *  Errors:   KILN_NOTFOUND of kind unknown-name, with place; KILN_NOMEM
 *  Threads:  the context's       Cost: O(nodes)        Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_expr_bind(kiln_ctx *ctx, kiln_expr *e, kiln_expr_resolve resolve, void *ud);

/** True, and the value, when a bound expression is one number. */
KILN_API bool kiln_expr_constant(const kiln_expr *e, double *value);
/** The nodes; the last is the root. */
KILN_API const kiln_expr_node *kiln_expr_nodes(const kiln_expr *e, size_t *n);
/** Number of `node.field` in the text, and the first of them (NULL when there is none). */
KILN_API size_t kiln_expr_refs(const kiln_expr *e, const kiln_expr_ref **first);
/** Bit v is set when variable v occurs. */
KILN_API uint64_t kiln_expr_vars(const kiln_expr *e);
KILN_API const char *kiln_expr_source(const kiln_expr *e);

/** Writes the values of variable `var` for the entries first .. first+n-1. */
typedef void (*kiln_expr_fill)(void *ud, uint32_t var, size_t first, size_t n, double *out);

/** Evaluate a bound expression for n entries in double, functions from the C library.
 *
 *  @param fill  values of the variables; may be NULL when there are none
 *  @param ref   n values of the `node.field`, or NULL when there is none
 *  Errors:   KILN_NOMEM
 *  Threads:  any with its own context       Cost: O(n * nodes), in blocks that stay in cache       Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_expr_eval(kiln_ctx *ctx, const kiln_expr *e, size_t n, kiln_expr_fill fill, void *ud,
                                                   const double *ref, double *out);

/** One operation in double, as kiln_expr_eval computes it. */
KILN_API double kiln_expr_apply(kiln_expr_op op, double a, double b, double c);
/** Names of functions and constants may not be names of the user. */
KILN_API bool kiln_expr_reserved(const char *name);

#ifdef __cplusplus
}
#endif
#endif
