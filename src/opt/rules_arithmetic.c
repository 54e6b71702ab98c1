/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of arithmetic: neutral and absorbing operands, functions of functions. Signs of zero decide most of them: x + 0.0 is not x
 * where x is -0.0, x * 0.0 is not 0.0 where x is -1.0 or infinite, -(x - y) is not y - x where x equals y. Sign and payload of a
 * NaN that is computed are free (numerics 10), so that -(-x), x * 1.0 and the like may hand a NaN on. pow is x and
 * x * x for the exponents 1 and 2 by its definition (rt/maths/pow_ends.h), but no product for 3, which rounds twice. */
#include "opt/rules.h"

#include <math.h>

/* ---- operands ---- */

static bool has_value(kiln_dtype d, kn_pat pat, kn_scalar v)
{
    char kind = kiln_dtype_kind(d);
    bool integer = kn_is_int(kind);
    switch (pat) {
    case KN_ZERO: return kind == 'b' ? !v.b : integer && v.u == 0;
    case KN_PLUS_ZERO: return kind == 'f' && v.f == 0 && !signbit(v.f);
    case KN_MINUS_ZERO: return kind == 'f' && v.f == 0 && signbit(v.f);
    case KN_ONE: return integer ? v.i == 1 : kind == 'f' && v.f == 1;
    case KN_MINUS_ONE: return kind == 'i' ? v.i == -1 : kind == 'f' && v.f == -1;
    case KN_ALL_ONES: return kind == 'b' ? v.b : integer && v.u == kn_scalar_round(d, (kn_scalar){.u = UINT64_MAX}).u;
    default: return false;
    }
}

static bool fits(const kn_simp *s, kn_pat pat, kn_atom a)
{
    kn_scalar v;
    return pat == KN_ANY || pat == KN_X || (kn_known(s, a, &v) && has_value(kn_atype(s, a).dtype, pat, v));
}

/* Is the row's pattern met? The operand that is X goes to `x`. */
static bool match(const kn_simp *s, const kn_eqn *e, const kn_rule *row, kn_atom *x)
{
    for (uint32_t flip = 0; flip < 2; flip++) {
        kn_atom l = e->in[flip], r = e->in[1 - flip];
        if (fits(s, row->l, l) && fits(s, row->r, r) && !(row->l == KN_X && row->r == KN_X && !kn_same_atom(s, l, r))) {
            *x = row->r == KN_X ? r : l;
            return true;
        }
        if (!(e->prim->flags & KN_COMMUTES)) break;
    }
    return false;
}

static kn_fix arithmetic(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    kn_atom x;
    if (e->nin != 2 || !match(s, e, row, &x)) return KN_NO;
    switch (row->result) {
    case KN_X: return kn_give(s, e, x);
    case KN_ZERO: return kn_give_value(s, e, (kn_scalar){.u = 0});
    case KN_ALL_ONES:
        if (kn_etype(s, e).dtype == KILN_BOOL) return kn_give_value(s, e, (kn_scalar){.b = true});
        return kn_give_value(s, e, (kn_scalar){.u = UINT64_MAX});
    case KN_TRUE:
    case KN_FALSE: return kn_give_value(s, e, (kn_scalar){.b = row->result == KN_TRUE});
    default: return KN_NO;
    }
}

static kn_fix negate(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    kn_atom x;
    if (e->nin != 2 || !match(s, e, row, &x) || !kiln_type_equal(kn_atype(s, x), kn_etype(s, e))) return KN_NO;
    return kn_become(s, e, &kn_prim_neg, NULL, &x, 1);
}

static kn_fix complement(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    kn_atom x;
    if (e->nin != 2 || !match(s, e, row, &x) || !kiln_type_equal(kn_atype(s, x), kn_etype(s, e))) return KN_NO;
    return kn_become(s, e, &kn_prim_not, NULL, &x, 1);
}

/* Division by a power of two whose reciprocal is a normal number: both round the same real number once. */
static kn_fix divide(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kiln_dtype d = kn_etype(s, e).dtype;
    kn_scalar c;
    int exponent;
    if ((d != KILN_F32 && d != KILN_F64) || !kn_known(s, e->in[1], &c) || !isfinite(c.f) || c.f == 0) return KN_NO;
    if (fabs(frexp(c.f, &exponent)) != 0.5) return KN_NO;
    int least = d == KILN_F32 ? -126 : -1022, power = 1 - exponent; /* of the reciprocal, 2^power */
    if (power < least || power > -least) return KN_NO;
    kn_atom in[2] = {e->in[0], kn_literal_of(s, d, (kn_scalar){.f = 1 / c.f})};
    return s->status == KILN_OK ? kn_become(s, e, &kn_prim_mul, kn_params_of(s, &kn_prim_mul, NULL, 0), in, 2) : KN_NO;
}

/* The exponent may be an integer, which is converted to the base's type. */
static kn_fix square(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kn_scalar y;
    kiln_dtype by = kn_atype(s, e->in[1]).dtype;
    if (!kn_known(s, e->in[1], &y) || !kiln_type_equal(kn_atype(s, e->in[0]), kn_etype(s, e))) return KN_NO;
    double exponent = kiln_dtype_kind(by) == 'f' ? y.f : kiln_dtype_kind(by) == 'i' ? (double)y.i : (double)y.u;
    if (exponent == 1) return kn_give(s, e, e->in[0]);
    if (exponent != 2) return KN_NO;
    kn_atom in[2] = {e->in[0], e->in[0]};
    return kn_become(s, e, &kn_prim_mul, kn_params_of(s, &kn_prim_mul, NULL, 0), in, 2);
}

static kn_fix rename_add(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    return kn_become(s, e, &kn_prim_add, NULL, e->in, 2);
}

/* The types a result rule gives do not change when an operand is replaced by one of its own type. */
static kn_atom inside(const kn_simp *s, kn_atom a, int sop, bool *is)
{
    const kn_eqn *e = kn_def(s, a);
    *is = e && (e->prim->flags & KN_ELEMENTWISE) && e->prim->scalar_op == sop && e->nin == 1;
    return *is ? e->in[0] : a;
}

static kn_fix add_negated(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    bool l, r;
    kn_atom x = inside(s, e->in[0], KN_S_neg, &l), y = inside(s, e->in[1], KN_S_neg, &r);
    if (r) return kn_become(s, e, &kn_prim_sub, NULL, (kn_atom[]){e->in[0], y}, 2);
    return l ? kn_become(s, e, &kn_prim_sub, NULL, (kn_atom[]){e->in[1], x}, 2) : KN_NO;
}

static kn_fix sub_negated(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    bool r;
    kn_atom y = inside(s, e->in[1], KN_S_neg, &r);
    return r ? kn_become(s, e, &kn_prim_add, NULL, (kn_atom[]){e->in[0], y}, 2) : KN_NO;
}

static kn_fix both_negated(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    bool l, r;
    kn_atom in[2] = {inside(s, e->in[0], KN_S_neg, &l), inside(s, e->in[1], KN_S_neg, &r)};
    return l && r ? kn_become(s, e, e->prim, e->params, in, 2) : KN_NO;
}

/* The sign goes to the constant: one operation less, and the product is the same but for the sign of a NaN. */
static kn_fix negated_constant(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    kiln_dtype d = kn_etype(s, e).dtype;
    for (uint32_t side = 0; side < 2; side++) {
        bool is;
        kn_scalar c;
        kn_atom x = inside(s, e->in[side], KN_S_neg, &is);
        if (!is || !kn_is_literal(e->in[1 - side]) || !kn_known(s, e->in[1 - side], &c)) continue;
        kn_scalar minus = kiln_dtype_kind(d) == 'f' ? (kn_scalar){.f = -c.f} : (kn_scalar){.i = (int64_t)(0 - c.u)};
        kn_atom in[2] = {x, x};
        in[1 - side] = kn_literal_of(s, d, minus);
        return s->status == KILN_OK ? kn_become(s, e, e->prim, e->params, in, 2) : KN_NO;
    }
    return KN_NO;
}

/* Is the element never -0.0, because +0.0 was added? Moved elements are what they were. */
static bool never_minus_zero(const kn_simp *s, kn_atom a, uint32_t depth)
{
    const kn_eqn *d = kn_def(s, a);
    kn_scalar v;
    if (!d || depth == 0) return false;
    if ((d->prim->flags & KN_ELEMENTWISE) && d->prim->scalar_op == KN_S_add && d->nin == 2)
        for (uint32_t i = 0; i < 2; i++)
            if (kn_known(s, d->in[i], &v) && has_value(kn_etype(s, d).dtype, KN_PLUS_ZERO, v)) return true;
    bool one = d->prim == &kn_prim_slice || d->prim == &kn_prim_reshape || d->prim == &kn_prim_squeeze || d->prim == &kn_prim_broadcast_in_dim ||
               d->prim == &kn_prim_transpose || d->prim == &kn_prim_rev;
    if (!one && d->prim != &kn_prim_concatenate) return false;
    for (uint32_t i = 0; i < (one ? 1 : d->nin); i++)
        if (!never_minus_zero(s, d->in[i], depth - 1)) return false;
    return true;
}

static kn_fix zero_again(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    enum { DEEPEST = 4 };
    kn_atom x;
    return e->nin == 2 && match(s, e, row, &x) && never_minus_zero(s, x, DEEPEST) ? kn_give(s, e, x) : KN_NO;
}

static kn_fix negated_sub(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    const kn_eqn *d = kn_def_by(s, e->in[0], &kn_prim_sub);
    return d ? kn_become(s, e, &kn_prim_sub, NULL, (kn_atom[]){d->in[1], d->in[0]}, 2) : KN_NO;
}

#define R(op, kinds_, l_, r_, result_, text_) \
    {.text = text_, .sop = KN_S_##op, .try = arithmetic, .kinds = kinds_, .l = KN_##l_, .r = KN_##r_, .result = KN_##result_, .moves = KN_##result_ == KN_X}
#define F(op, kinds_, try_, text_) {.text = text_, .sop = KN_S_##op, .try = try_, .kinds = kinds_}
#define M(op, kinds_, try_, l_, r_, text_) \
    {.text = text_, .sop = KN_S_##op, .try = try_, .kinds = kinds_, .l = KN_##l_, .r = KN_##r_, .moves = true}
#define P(op, kinds_, try_, l_, r_, text_) \
    {.text = text_, .sop = KN_S_##op, .try = try_, .kinds = kinds_, .l = KN_##l_, .r = KN_##r_}

const kn_rule kn_arithmetic_rules[] = {
    {.text = "add_any(x, y) = x + y", .prim = &kn_prim_add_any, .try = rename_add},
    R(add, "f", X, MINUS_ZERO, X, "x + -0.0 = x"),
    R(add, "iu", X, ZERO, X, "x + 0 = x"),
    F(add, "iuf", add_negated, "x + -y = x - y"),
    P(add, "f", zero_again, X, PLUS_ZERO, "(x + 0.0) + 0.0 = x + 0.0, moved in between or not"),
    R(sub, "f", X, PLUS_ZERO, X, "x - 0.0 = x"),
    R(sub, "iu", X, ZERO, X, "x - 0 = x"),
    R(sub, "iu", X, X, ZERO, "x - x = 0, integers"),
    F(sub, "iuf", sub_negated, "x - -y = x + y"),
    R(mul, "iuf", X, ONE, X, "x * 1 = x"),
    R(mul, "iu", ANY, ZERO, ZERO, "x * 0 = 0, integers"),
    M(mul, "if", negate, X, MINUS_ONE, "x * -1 = -x"),
    F(mul, "iuf", both_negated, "-x * -y = x * y"),
    F(mul, "if", negated_constant, "-x * c = x * -c"),
    R(div, "iuf", X, ONE, X, "x / 1 = x"),
    M(div, "f", negate, X, MINUS_ONE, "x / -1 = -x"),
    F(div, "f", divide, "x / 2^k = x * 2^-k"),
    F(div, "f", both_negated, "-x / -y = x / y"),
    {.text = "pow(x, 1) = x, pow(x, 2) = x * x", .prim = &kn_prim_pow, .try = square, .kinds = "f"},
    R(rem, "iu", ANY, ONE, ZERO, "x rem 1 = 0, integers"),
    R(min, "biuf", X, X, X, "min(x, x) = x"),
    R(max, "biuf", X, X, X, "max(x, x) = x"),
    R(and, "biu", X, X, X, "x & x = x"),
    R(and, "biu", X, ALL_ONES, X, "x & all ones = x"),
    R(and, "biu", ANY, ZERO, ZERO, "x & 0 = 0"),
    R(or, "biu", X, X, X, "x | x = x"),
    R(or, "biu", X, ZERO, X, "x | 0 = x"),
    R(or, "biu", ANY, ALL_ONES, ALL_ONES, "x | all ones = all ones"),
    R(xor, "biu", X, ZERO, X, "x ^ 0 = x"),
    R(xor, "biu", X, X, ZERO, "x ^ x = 0"),
    P(xor, "biu", complement, X, ALL_ONES, "x ^ all ones = not x"),
    R(shl, "iu", X, ZERO, X, "x << 0 = x"),
    R(shrl, "iu", X, ZERO, X, "x >> 0 = x, logical"),
    R(shra, "iu", X, ZERO, X, "x >> 0 = x, arithmetic"),
    R(eq, "b", X, ALL_ONES, X, "x == true = x"),
    R(ne, "b", X, ZERO, X, "x != false = x"),
    R(eq, "biu", X, X, TRUE, "x == x = true, integers"),
    R(le, "biu", X, X, TRUE, "x <= x = true, integers"),
    R(ge, "biu", X, X, TRUE, "x >= x = true, integers"),
    R(ne, "biu", X, X, FALSE, "x != x = false, integers"),
    R(lt, "biuf", X, X, FALSE, "x < x = false"),
    R(gt, "biuf", X, X, FALSE, "x > x = false"),
    F(neg, "iu", negated_sub, "-(x - y) = y - x, integers"),
    {.text = NULL},
};

/* ---- functions of functions ---- */

static kn_fix cancel(kn_simp *s, kn_eqn *e, const kn_rule *row) /* f(g(x)) = x */
{
    bool is;
    kn_atom x = inside(s, e->in[0], row->inner, &is);
    return is ? kn_give(s, e, x) : KN_NO;
}

static kn_fix repeat(kn_simp *s, kn_eqn *e, const kn_rule *row) /* f(g(x)) = g(x) */
{
    bool is;
    inside(s, e->in[0], row->inner, &is);
    return is ? kn_give(s, e, e->in[0]) : KN_NO;
}

static kn_fix pass_by(kn_simp *s, kn_eqn *e, const kn_rule *row) /* f(g(x)) = f(x) */
{
    bool is;
    kn_atom x = inside(s, e->in[0], row->inner, &is);
    return is ? kn_become(s, e, e->prim, e->params, &x, 1) : KN_NO;
}

/* Only these two have an opposite for all operands: with NaN every ordering is false. */
static kn_fix opposite(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    static const struct {
        const kn_prim *from, *to;
        bool floats;
    } pairs[] = {{&kn_prim_eq, &kn_prim_ne, true},  {&kn_prim_ne, &kn_prim_eq, true},  {&kn_prim_lt, &kn_prim_ge, false},
                 {&kn_prim_ge, &kn_prim_lt, false}, {&kn_prim_le, &kn_prim_gt, false}, {&kn_prim_gt, &kn_prim_le, false}};
    (void)row;
    const kn_eqn *d = kn_def(s, e->in[0]);
    for (size_t i = 0; d && i < sizeof pairs / sizeof *pairs; i++) {
        if (d->prim != pairs[i].from) continue;
        char kind = kiln_dtype_kind(kn_atype(s, d->in[0]).dtype);
        if (kind == 'c' || (kind == 'f' && !pairs[i].floats)) return KN_NO;
        return kn_become(s, e, pairs[i].to, NULL, d->in, 2);
    }
    return KN_NO;
}

static kn_fix is_copy(kn_simp *s, kn_eqn *e, const kn_rule *row)
{
    (void)row;
    return kn_give(s, e, e->in[0]);
}

#define N(outer, kinds_, inner_, try_, text_) \
    {.text = text_, .sop = KN_S_##outer, .inner = KN_S_##inner_, .try = try_, .kinds = kinds_}

const kn_rule kn_nested_rules[] = {
    N(neg, "iuf", neg, cancel, "-(-x) = x"),
    N(not, "biu", not, cancel, "not not x = x"),
    N(not, "b", eq, opposite, "not (x == y) = x != y, and the like"),
    N(abs, "iuf", abs, repeat, "abs(abs x) = abs x"),
    N(abs, "if", neg, pass_by, "abs(-x) = abs x"),
    N(sign, "if", sign, repeat, "sign(sign x) = sign x"),
    N(floor, "f", floor, repeat, "floor(floor x) = floor x"),
    N(floor, "f", ceil, repeat, "floor(ceil x) = ceil x"),
    N(ceil, "f", ceil, repeat, "ceil(ceil x) = ceil x"),
    N(ceil, "f", floor, repeat, "ceil(floor x) = floor x"),
    {.text = "copy x = x", .prim = &kn_prim_copy, .try = is_copy},
    {.text = "copy_p x = x", .prim = &kn_prim_copy_p, .try = is_copy},
    {.text = "name x = x", .prim = &kn_prim_name, .try = is_copy},
    {.text = "stop_gradient x = x", .prim = &kn_prim_stop_gradient, .try = is_copy},
    {.text = NULL},
};
