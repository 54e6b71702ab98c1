/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions in double on the host. One table says what each operation computes; the scalar and the block form come
 * out of it. */
#include "trace/expr.h"

#include "base/fpmode.h"

#include <math.h>

enum { BLOCK = 256 };

static double least(double a, double b) { return a < b ? a : b < a ? b : a == b ? (signbit(a) ? a : b) : a + b; }
static double most(double a, double b) { return a > b ? a : b > a ? b : a == b ? (signbit(a) ? b : a) : a + b; }

/* operation, its value from a, b, c */
#define VALUES(X)                                                                                  \
    X(NEG, -a)                                                                                     \
    X(NOT, a == 0)                                                                                 \
    X(ADD, a + b)                                                                                  \
    X(SUB, a - b)                                                                                  \
    X(MUL, a *b)                                                                                   \
    X(DIV, a / b)                                                                                  \
    X(MOD, fmod(a, b))                                                                             \
    X(POW, pow(a, b))                                                                              \
    X(EQ, a == b)                                                                                  \
    X(NE, a != b)                                                                                  \
    X(LT, a < b)                                                                                   \
    X(LE, a <= b)                                                                                  \
    X(GT, a > b)                                                                                   \
    X(GE, a >= b)                                                                                  \
    X(AND, a != 0 && b != 0)                                                                       \
    X(OR, a != 0 || b != 0)                                                                        \
    X(MIN, least(a, b))                                                                            \
    X(MAX, most(a, b))                                                                             \
    X(ATAN2, atan2(a, b))                                                                          \
    X(HYPOT, hypot(a, b))                                                                          \
    X(ABS, fabs(a))                                                                                \
    X(SQRT, sqrt(a))                                                                               \
    X(CBRT, cbrt(a))                                                                               \
    X(EXP, exp(a))                                                                                 \
    X(EXPM1, expm1(a))                                                                             \
    X(LOG, log(a))                                                                                 \
    X(LOG1P, log1p(a))                                                                             \
    X(LOG2, log2(a))                                                                               \
    X(LOG10, log10(a))                                                                             \
    X(SIN, sin(a))                                                                                 \
    X(COS, cos(a))                                                                                 \
    X(TAN, tan(a))                                                                                 \
    X(ASIN, asin(a))                                                                               \
    X(ACOS, acos(a))                                                                               \
    X(ATAN, atan(a))                                                                               \
    X(SINH, sinh(a))                                                                               \
    X(COSH, cosh(a))                                                                               \
    X(TANH, tanh(a))                                                                               \
    X(FLOOR, floor(a))                                                                             \
    X(CEIL, ceil(a))                                                                               \
    X(ROUND, rint(a))                                                                              \
    X(SIGN, isnan(a) ? a : (a > 0) - (a < 0))                                                      \
    X(STEP, a >= 0)                                                                                \
    X(IF, a != 0 ? b : c)

static double apply(kiln_expr_op op, double a, double b, double c)
{
    switch (op) {
#define SCALAR(op, value)                                                                          \
    case KILN_EXPR_##op: return value;
        VALUES(SCALAR)
#undef SCALAR
    default: return NAN;
    }
}

double kiln_expr_apply(kiln_expr_op op, double a, double b, double c)
{
    kn_fpmode mode = kn_fpmode_enter();
    double r = apply(op, a, b, c);
    kn_fpmode_leave(mode);
    return r;
}

static void apply_block(kiln_expr_op op, const double *va, const double *vb, const double *vc, size_t n, double *out)
{
    switch (op) {
#define LOOP(op, value)                                                                            \
    case KILN_EXPR_##op:                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            double a = va[i], b = vb[i], c = vc[i];                                                \
            (void)b, (void)c;                                                                      \
            out[i] = value;                                                                        \
        }                                                                                          \
        break;
        VALUES(LOOP)
#undef LOOP
    default: break;
    }
}

/* One register of `width` doubles a node; those of constants were filled before the first block. */
static void run_block(const kiln_expr *e, double *regs, size_t width, size_t first, size_t n, kiln_expr_fill fill, void *ud,
                      const double *ref, double *out)
{
    for (uint32_t i = 0; i < e->n; i++) {
        const kiln_expr_node *node = &e->nodes[i];
        double *r = i + 1 == e->n ? out + first : regs + i * width;
        const double *v[3];
        unsigned n_args = kn_expr_op_args[node->op];
        for (unsigned k = 0; k < 3; k++) v[k] = regs + (size_t)node->arg[k < n_args ? k : 0] * width;
        if (node->op == KILN_EXPR_CONST) continue;
        if (node->op == KILN_EXPR_VAR) fill(ud, node->var, first, n, r);
        else if (node->op == KILN_EXPR_REF) memcpy(r, ref + first, n * sizeof *r);
        else apply_block(node->op, v[0], v[1], v[2], n, r);
    }
}

kiln_status kiln_expr_eval(kiln_ctx *ctx, const kiln_expr *e, size_t n, kiln_expr_fill fill, void *ud, const double *ref,
                           double *out)
{
    double value;
    if (kiln_expr_constant(e, &value)) {
        for (size_t i = 0; i < n; i++) out[i] = value;
        return KILN_OK;
    }
    double few[64], *regs = few;
    size_t width = n < BLOCK ? n : BLOCK, bytes = 0;
    if (e->n * width > sizeof few / sizeof *few) {
        if (!kn_mul_size(e->n, width * sizeof *regs, &bytes)) return kn_nomem(ctx);
        regs = kn_new_aligned(&ctx->alloc, bytes, 64);
        KILN_TRY_MEM(ctx, regs);
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (e->nodes[i].op == KILN_EXPR_CONST)
            for (size_t k = 0; k < width; k++) regs[i * width + k] = e->nodes[i].value;
    kn_fpmode mode = kn_fpmode_enter();
    for (size_t first = 0; first < n; first += width)
        run_block(e, regs, width, first, n - first < width ? n - first : width, fill, ud, ref, out);
    kn_fpmode_leave(mode);
    if (regs != few) kn_free_aligned(&ctx->alloc, regs, bytes, 64);
    return KILN_OK;
}
