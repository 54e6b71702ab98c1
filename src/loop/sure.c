/* SPDX-License-Identifier: Apache-2.0 */
/* Floats whose value is known if they are numbers at all: x - x is +0 or NaN, and so are its square and sums of such; 1 more is 1 or NaN, and so
 * are its root and its square. Whoever divides by that may multiply, which gives the same bits. All pairs of a few bodies hold each body
 * beside itself, kept from division by zero in this way, and each pair twice: (x - y)^2 is (y - x)^2. */
#include "loop/maker.h"

static kn_sure sure_of(const maker *m, kn_lv v) { return v ? m->facts.v[v].sure : KN_SURE_NOTHING; }

static bool is_number(const maker *m, kn_lv v, double x)
{
    const kn_linst *in = &m->l->inst.v[v];
    return in->op == KN_L_CONST && in->imm.f == x;
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

/* The square of a difference is that of the opposite one, where that was made. */
static kn_lv square(maker *m, kiln_dtype d, kn_lv x)
{
    const kn_linst in = m->l->inst.v[x];
    kn_lv other = in.op == KN_L_SOP && in.sop == KN_S_sub && in.from == d && in.b < in.a ? lv_made(m, KN_S_sub, d, in.b, in.a) : 0;
    return other ? lv_sop(m, KN_S_mul, d, d, other, other, 0) : 0;
}

kn_lv fold_sure(maker *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b, kn_sure *sure)
{
    kn_sure x = sure_of(m, a), y = sure_of(m, b);
    switch ((int)op) {
    case KN_S_sub:
        if (a == b) *sure = KN_SURE_ZERO;
        return 0;
    case KN_S_add:
        if (x == KN_SURE_ZERO) return add_zero(m, a, b, sure);
        return y == KN_SURE_ZERO ? add_zero(m, b, a, sure) : 0;
    case KN_S_mul:
        if (x != KN_SURE_NOTHING && a == b) return a;
        if (x != KN_SURE_NOTHING && x == y) *sure = x;
        return a == b ? square(m, d, a) : 0;
    case KN_S_sqrt: return x != KN_SURE_NOTHING ? a : 0;
    case KN_S_div: return y == KN_SURE_ONE ? lv_sop(m, KN_S_mul, d, d, a, b, 0) : 0;
    default: return 0;
    }
}
