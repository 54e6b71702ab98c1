/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as equations, every operation in one float type. Truth is 1 or 0 of that type; a comparison that only
 * steers an `if`, or joins others by and, or, not, stays a bool. */
#include "kiln/expr.h"
#include "trace/trace.h"

#include <math.h>

typedef struct expr_tracer {
    kiln_trace *t;
    kiln_dtype d;
    const kiln_val *vars;
    kiln_val ref;
    kn_site site;
} expr_tracer;

/* A node's value; comparisons keep both forms, made when asked for. */
typedef struct traced {
    kiln_val number, truth;
} traced;

static kiln_val op1(const expr_tracer *x, const char *prim, kiln_val a) { return kiln_op1(x->t, prim, a, x->site.file, x->site.line); }

static kiln_val op2(const expr_tracer *x, const char *prim, kiln_val a, kiln_val b)
{
    return kiln_op2(x->t, prim, a, b, x->site.file, x->site.line);
}

static kiln_val number(const expr_tracer *x, double v) { return kiln_scalar_at(x->t, x->d, v, x->site.file, x->site.line); }

static kiln_val choose(const expr_tracer *x, kiln_val which, kiln_val yes, kiln_val no)
{
    return kiln_op3(x->t, "select_n", which, no, yes, x->site.file, x->site.line);
}

static kiln_val truth_of(const expr_tracer *x, traced *a)
{
    if (!a->truth.id) a->truth = op2(x, "ne", a->number, number(x, 0));
    return a->truth;
}

static kiln_val number_of(const expr_tracer *x, traced *a)
{
    if (!a->number.id) a->number = kiln_convert_at(x->t, a->truth, x->d, x->site.file, x->site.line);
    return a->number;
}

/* log(1 + a) with the rounding error of 1 + a taken back. */
static kiln_val log1p_of(const expr_tracer *x, kiln_val a)
{
    kiln_val one = number(x, 1), u = op2(x, "add", one, a), l = op1(x, "log", u);
    kiln_val fixed = op2(x, "div", op2(x, "mul", l, a), op2(x, "sub", u, one));
    kiln_val plain = op2(x, "eq", u, number(x, (double)INFINITY));
    return choose(x, op2(x, "eq", u, one), a, choose(x, plain, u, fixed));
}

/* Half the square of exp(|a|/2): exp(|a|)/2 that overflows only where the result does. */
static kiln_val half_exp(const expr_tracer *x, kiln_val size)
{
    kiln_val e = op1(x, "exp", op2(x, "mul", number(x, 0.5), size));
    return op2(x, "mul", op2(x, "mul", number(x, 0.5), e), e);
}

static kiln_val sinh_of(const expr_tracer *x, kiln_val a)
{
    kiln_val size = op1(x, "abs", a), e = op1(x, "expm1", size);
    kiln_val small = op2(x, "mul", number(x, 0.5), op2(x, "add", e, op2(x, "div", e, op2(x, "add", e, number(x, 1)))));
    kiln_val s = choose(x, op2(x, "lt", size, number(x, 40)), small, half_exp(x, size));
    return choose(x, op2(x, "lt", a, number(x, 0)), op1(x, "neg", s), s);
}

static kiln_val cosh_of(const expr_tracer *x, kiln_val a)
{
    kiln_val size = op1(x, "abs", a), e = op1(x, "exp", size), half = number(x, 0.5);
    kiln_val small = op2(x, "add", op2(x, "mul", half, e), op2(x, "div", half, e));
    return choose(x, op2(x, "lt", size, number(x, 40)), small, half_exp(x, size));
}

static kiln_val hypot_of(const expr_tracer *x, kiln_val a, kiln_val b)
{
    a = op1(x, "abs", a), b = op1(x, "abs", b);
    kiln_val most = op2(x, "max", a, b), least = op2(x, "min", a, b), r = op2(x, "div", least, most);
    kiln_val v = op2(x, "mul", most, op1(x, "sqrt", op2(x, "add", number(x, 1), op2(x, "mul", r, r))));
    kiln_val plain = op2(x, "or", op2(x, "eq", most, number(x, 0)), op2(x, "eq", most, number(x, (double)INFINITY)));
    return choose(x, plain, most, v);
}

static const char *unary_prim(kiln_expr_op op)
{
    switch (op) {
    case KILN_EXPR_NEG: return "neg";
    case KILN_EXPR_ABS: return "abs";
    case KILN_EXPR_SQRT: return "sqrt";
    case KILN_EXPR_CBRT: return "cbrt";
    case KILN_EXPR_EXP: return "exp";
    case KILN_EXPR_EXPM1: return "expm1";
    case KILN_EXPR_LOG: return "log";
    case KILN_EXPR_SIN: return "sin";
    case KILN_EXPR_COS: return "cos";
    case KILN_EXPR_TAN: return "tan";
    case KILN_EXPR_ASIN: return "asin";
    case KILN_EXPR_ACOS: return "acos";
    case KILN_EXPR_ATAN: return "atan";
    case KILN_EXPR_TANH: return "tanh";
    case KILN_EXPR_FLOOR: return "floor";
    case KILN_EXPR_CEIL: return "ceil";
    case KILN_EXPR_SIGN: return "sign";
    default: return NULL;
    }
}

static const char *binary_prim(kiln_expr_op op)
{
    switch (op) {
    case KILN_EXPR_ADD: return "add";
    case KILN_EXPR_SUB: return "sub";
    case KILN_EXPR_MUL: return "mul";
    case KILN_EXPR_DIV: return "div";
    case KILN_EXPR_MOD: return "rem";
    case KILN_EXPR_POW: return "pow";
    case KILN_EXPR_MIN: return "min";
    case KILN_EXPR_MAX: return "max";
    case KILN_EXPR_ATAN2: return "atan2";
    default: return NULL;
    }
}

static const char *compare_prim(kiln_expr_op op)
{
    switch (op) {
    case KILN_EXPR_EQ: return "eq";
    case KILN_EXPR_NE: return "ne";
    case KILN_EXPR_LT: return "lt";
    case KILN_EXPR_LE: return "le";
    case KILN_EXPR_GT: return "gt";
    case KILN_EXPR_GE: return "ge";
    default: return NULL;
    }
}

static kiln_val function_of(const expr_tracer *x, kiln_expr_op op, kiln_val a, kiln_val b)
{
    switch (op) {
    case KILN_EXPR_LOG1P: return log1p_of(x, a);
    case KILN_EXPR_LOG2: return op2(x, "div", op1(x, "log", a), number(x, 0.69314718055994530942));
    case KILN_EXPR_LOG10: return op2(x, "div", op1(x, "log", a), number(x, 2.30258509299404568402));
    case KILN_EXPR_SINH: return sinh_of(x, a);
    case KILN_EXPR_COSH: return cosh_of(x, a);
    case KILN_EXPR_HYPOT: return hypot_of(x, a, b);
    case KILN_EXPR_ROUND: return kiln_round_at(x->t, a, x->site.file, x->site.line);
    default:
        kn_tfail(x->t, KILN_UNSUPPORTED, NULL, x->site, "expression: operation %d cannot be traced", (int)op);
        return (kiln_val){0};
    }
}

static traced trace_node(const expr_tracer *x, const kiln_expr_node *n, traced *done)
{
    traced *a = &done[n->arg[0]], *b = &done[n->arg[1]], *c = &done[n->arg[2]];
    const char *prim;
    switch (n->op) {
    case KILN_EXPR_CONST: return (traced){.number = number(x, n->value)};
    case KILN_EXPR_VAR: return (traced){.number = x->vars ? x->vars[n->var] : (kiln_val){0}};
    case KILN_EXPR_REF: return (traced){.number = x->ref};
    case KILN_EXPR_NOT: return (traced){.truth = op1(x, "not", truth_of(x, a))};
    case KILN_EXPR_AND: return (traced){.truth = op2(x, "and", truth_of(x, a), truth_of(x, b))};
    case KILN_EXPR_OR: return (traced){.truth = op2(x, "or", truth_of(x, a), truth_of(x, b))};
    case KILN_EXPR_STEP: return (traced){.truth = op2(x, "ge", number_of(x, a), number(x, 0))};
    case KILN_EXPR_IF: return (traced){.number = choose(x, truth_of(x, a), number_of(x, b), number_of(x, c))};
    default: break;
    }
    if ((prim = compare_prim(n->op))) return (traced){.truth = op2(x, prim, number_of(x, a), number_of(x, b))};
    if ((prim = unary_prim(n->op))) return (traced){.number = op1(x, prim, number_of(x, a))};
    if ((prim = binary_prim(n->op))) return (traced){.number = op2(x, prim, number_of(x, a), number_of(x, b))};
    return (traced){.number = function_of(x, n->op, number_of(x, a), n->op == KILN_EXPR_HYPOT ? number_of(x, b) : (kiln_val){0})};
}

kiln_val kiln_expr_trace_at(kiln_trace *t, const kiln_expr *e, kiln_dtype dtype, const kiln_val *vars, kiln_val ref, const char *file,
                            int line)
{
    expr_tracer x = {t, dtype, vars, ref, {file, line}};
    if (t->failed) return (kiln_val){0};
    if (kiln_dtype_kind(dtype) != 'f') {
        kn_tfail(t, KILN_DTYPE, "a float type", x.site, "expression in %s", kiln_dtype_name(dtype));
        return (kiln_val){0};
    }
    size_t n;
    const kiln_expr_node *nodes = kiln_expr_nodes(e, &n);
    traced *done = KN_NEWN(&t->arena, traced, n);
    if (!done || n == 0) {
        kn_tstatus(t, done ? kn_fail(t->ctx, KILN_INTERNAL, "an empty expression") : kn_nomem(t->ctx), x.site);
        return (kiln_val){0};
    }
    for (size_t i = 0; i < n; i++) done[i] = trace_node(&x, &nodes[i], done);
    return number_of(&x, &done[n - 1]);
}
