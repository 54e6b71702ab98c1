/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of floats. Squares, their roots, and sums with one term that is not -0 are not -0: adding +0 leaves them as they are.
 *
 * The value of some is known if they are numbers at all: x - x is +0 or NaN, and so are its square and sums of such; 1 more is 1 or NaN, and so
 * are its root and its square. Whoever divides by that may multiply, which gives the same bits. All pairs of a few bodies hold each body
 * beside itself, kept from division by zero in this way, and each pair twice: (x - y)^2 is (y - x)^2. */
#include "loop/maker.h"

#include <math.h>

static kn_sure sure_of(const maker *m, kn_lv v) { return v ? m->facts.v[v].sure : KN_SURE_NOTHING; }

static bool is_number(const maker *m, kn_lv v, double x)
{
    const kn_linst *in = &m->l->inst.v[v];
    return in->op == KN_L_CONST && in->imm.f == x;
}

/* Is it 0, 1 or NaN for sure? */
static bool is_known(kn_sure x) { return x == KN_SURE_ZERO || x == KN_SURE_ONE; }

static bool not_minus_zero(const maker *m, kn_lv v)
{
    const kn_linst *in = &m->l->inst.v[v];
    return sure_of(m, v) != KN_SURE_NOTHING || (in->op == KN_L_CONST && !(in->imm.f == 0 && signbit(in->imm.f)));
}

/* A sum with something that is +0 or NaN. */
static kn_lv add_zero(const maker *m, kn_lv zero, kn_lv other, kn_sure *sure)
{
    if (is_number(m, other, 0)) return zero;
    if (is_number(m, other, 1)) *sure = KN_SURE_ONE;
    if (sure_of(m, other) == KN_SURE_ZERO) {
        if (zero == other) return zero;
        *sure = KN_SURE_ZERO;
    }
    return 0;
}

static kn_lv add(const maker *m, kn_lv a, kn_lv b, kn_sure *sure)
{
    if (not_minus_zero(m, a) || not_minus_zero(m, b)) *sure = KN_SURE_PLUS;
    if (sure_of(m, a) == KN_SURE_ZERO) return add_zero(m, a, b, sure);
    if (sure_of(m, b) == KN_SURE_ZERO) return add_zero(m, b, a, sure);
    if (sure_of(m, a) != KN_SURE_NOTHING && is_number(m, b, 0)) return a;
    return sure_of(m, b) != KN_SURE_NOTHING && is_number(m, a, 0) ? b : 0;
}

/* The square of a difference is that of the opposite one, where that was made before. */
static kn_lv square(maker *m, kiln_dtype d, kn_lv x)
{
    const kn_linst in = m->l->inst.v[x];
    kn_lv other = in.op == KN_L_SOP && in.sop == KN_S_sub && in.from == d ? lv_made(m, KN_S_sub, d, in.b, in.a) : 0;
    return other && other < x ? lv_sop(m, KN_S_mul, d, d, other, other, 0) : 0;
}

kn_lv fold_sure(maker *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b, kn_sure *sure)
{
    kn_sure x = sure_of(m, a), y = sure_of(m, b);
    switch ((int)op) {
    case KN_S_sub:
        if (a == b) *sure = KN_SURE_ZERO;
        return 0;
    case KN_S_add: return add(m, a, b, sure);
    case KN_S_mul:
        if (a == b && is_known(x)) return a;
        if (is_known(x) && x == y) *sure = x;
        else if (a == b) *sure = KN_SURE_PLUS;
        return a == b ? square(m, d, a) : 0;
    case KN_S_sqrt:
        if (x == KN_SURE_PLUS) *sure = x;
        return is_known(x) ? a : 0;
    case KN_S_div: return y == KN_SURE_ONE ? lv_sop(m, KN_S_mul, d, d, a, b, 0) : 0;
    default: return 0;
    }
}
