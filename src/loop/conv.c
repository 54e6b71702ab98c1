/* SPDX-License-Identifier: Apache-2.0 */
/* conv_general_dilated: for each element of the result a chain over k = (taps row-major, input features), as dot_general's, in
 * blocks of 256 along k; the operands are read through index maps. A tap that meets padding or a hole of the dilation leaves the
 * chain as it is. The nest is cut where the window begins to meet padding, so that taps inside are not tested.
 *
 *      for each element of the result
 *        total = -0.0
 *        for each block of k, where there are several
 *          sum = -0.0
 *          for each tap with features in the block
 *            for each of these features
 *              sum = fma(left, kernel, sum)       where the tap is inside
 *          total = total + sum */
#include "rt/dot.h"

#include "loop/fold.h"
#include "loop/maker.h"
#include "prim/conv.h"

typedef struct convolution {
    place *side[2];
    kiln_type a, b, y;
    kn_conv c;
    kiln_dtype acc;
    int64_t in, taps, k; /* input features of a group; window positions; both */
    bool fused;
    uint32_t slot;
} convolution;

/* The nest of one element of the result. */
typedef struct point {
    const convolution *p;
    const kn_lv *out;
    kn_lv a[MAX_RANK], b[MAX_RANK]; /* indices of the operands */
    kn_lv first;                    /* input feature that the group begins with */
    kn_lv inside;                   /* 0: known to be */
} point;

static kn_lv integer_op(maker *m, kn_sop op, kn_lv a, kn_lv b)
{
    return lv_sop(m, op, KILN_I64, kn_sops[op].result == 'b' ? KILN_BOOL : KILN_I64, a, b, 0);
}

static kn_lv zero(maker *m, const convolution *p) { return lv_const(m, p->acc, kn_reduce_identity(KN_S_add, p->acc)); }

/* x / by, where x is not negative. */
static kn_lv quotient(maker *m, kn_lv x, int64_t by) { return by == 1 ? x : integer_op(m, KN_S_div, x, lv_int(m, by)); }

/* Where a border of the window's inside lies, asked so that the nest is cut there. */
static void ask_borders(maker *m, const convolution *p, uint32_t d, kn_lv x)
{
    int64_t stride = p->c.stride[d], low = kn_conv_low(&p->c, d), reach = (p->b.dims[p->c.spec[1][2 + d]] - 1) * p->c.rhs[d];
    int64_t last = (p->a.dims[p->c.spec[0][2 + d]] - 1) * p->c.lhs[d] - reach + low; /* the last p of tap 0 that is inside with all taps */
    if (low > 0) m->element.below(&m->element, x, (low + stride - 1) / stride);
    m->element.below(&m->element, x, last < 0 ? 0 : last / stride + 1);
}

static void also(maker *m, point *q, kn_lv condition)
{
    q->inside = q->inside ? lv_sop(m, KN_S_and, KILN_BOOL, KILN_BOOL, q->inside, condition, 0) : condition;
}

/* The left operand's index that tap `t` of dimension d meets, held inside; narrows q->inside. */
static kn_lv meet(maker *m, point *q, uint32_t d, kn_lv t)
{
    const convolution *p = q->p;
    const kn_conv *c = &p->c;
    int64_t last = (p->a.dims[c->spec[0][2 + d]] - 1) * c->lhs[d];
    kn_lv x = lv_mul(m, q->out[c->spec[2][2 + d]], lv_int(m, c->stride[d]));
    kn_lv at = lv_add(m, lv_add(m, x, lv_mul(m, t, lv_int(m, c->rhs[d]))), lv_int(m, -kn_conv_low(c, d)));
    if (m->status != KILN_OK) return 0;
    value_facts f = m->facts.v[at];
    kn_lv zero_at = lv_int(m, 0), end = lv_int(m, last);
    if (f.lo < 0) {
        also(m, q, integer_op(m, KN_S_ge, at, zero_at));
        at = integer_op(m, KN_S_max, at, zero_at);
    }
    if (f.hi > last) {
        also(m, q, integer_op(m, KN_S_le, at, end));
        at = integer_op(m, KN_S_min, at, end);
    }
    if (c->lhs[d] == 1) return at;
    also(m, q, integer_op(m, KN_S_eq, integer_op(m, KN_S_rem, at, lv_int(m, c->lhs[d])), zero_at));
    return quotient(m, at, c->lhs[d]);
}

static kn_lv factor(maker *m, const convolution *p, int side, const kn_lv *ix)
{
    kiln_dtype d = side ? p->b.dtype : p->a.dtype;
    kn_lv v = element_of(m, p->side[side], ix);
    return d == p->acc ? v : lv_sop(m, KN_S_convert, d, p->acc, v, 0, 0);
}

static kn_lv add_product(maker *m, point *q, kn_lv feature, kn_lv acc)
{
    const convolution *p = q->p;
    q->a[p->c.spec[0][1]] = lv_add(m, q->first, feature);
    q->b[p->c.spec[1][1]] = feature;
    kn_lv x = factor(m, p, 0, q->a), y = factor(m, p, 1, q->b);
    if (p->fused) return lv_sop(m, KN_S_fma, p->acc, p->acc, x, y, acc);
    return lv_sop(m, KN_S_add, p->acc, p->acc, acc, lv_sop(m, KN_S_mul, p->acc, p->acc, x, y, 0), 0);
}

/* Features lo..hi-1 at the tap that stands in the indices. */
static kn_lv add_features(maker *m, point *q, kn_lv lo, kn_lv hi, kn_lv acc)
{
    const convolution *p = q->p;
    kn_lv next, before = acc;
    if (p->in == 1) {
        next = add_product(m, q, lv_int(m, 0), acc);
    } else {
        kn_lv s, i = open_loop_between(m, lo, hi, 0, p->in, 0, &s);
        kn_lv carry = add_carry(m, s, acc);
        next = close_carry_loop(m, s, add_product(m, q, i, carry));
    }
    return q->inside ? lv_sop(m, KN_S_select, p->acc, p->acc, q->inside, next, before) : next;
}

/* All taps, dimension by dimension, in one block. */
static kn_lv add_taps(maker *m, point *q, uint32_t d, kn_lv acc)
{
    const convolution *p = q->p;
    if (d == p->c.n) return add_features(m, q, lv_int(m, 0), lv_int(m, p->in), acc);
    int64_t n = p->b.dims[p->c.spec[1][2 + d]];
    kn_lv inside = q->inside, s = 0, t = lv_int(m, 0), carry = acc;
    if (n > 1) {
        t = open_loop(m, 0, n, 0, &s);
        carry = add_carry(m, s, acc);
    }
    q->a[p->c.spec[0][2 + d]] = meet(m, q, d, t);
    q->b[p->c.spec[1][2 + d]] = t;
    kn_lv next = add_taps(m, q, d + 1, carry);
    q->inside = inside;
    return n > 1 ? close_carry_loop(m, s, next) : next;
}

/* Entries lo..hi-1 of k: taps that have features among them. */
static kn_lv add_block(maker *m, point *q, kn_lv lo, kn_lv hi)
{
    const convolution *p = q->p;
    int64_t sizes[MAX_RANK] = {0};
    kn_lv parts[MAX_RANK], s, start = zero(m, p), one = lv_int(m, 1), in = lv_int(m, p->in);
    for (uint32_t d = 0; d < p->c.n; d++) sizes[d] = p->b.dims[p->c.spec[1][2 + d]];
    kn_lv from = quotient(m, lo, p->in), to = lv_add(m, quotient(m, lv_sub(m, hi, one), p->in), one);
    kn_lv t = open_loop_between(m, from, to, 0, p->taps, 0, &s), acc = add_carry(m, s, start), base = lv_mul(m, t, in);
    split_index(m, t, p->c.n, sizes, parts);
    q->inside = 0;
    for (uint32_t d = 0; d < p->c.n; d++) {
        q->a[p->c.spec[0][2 + d]] = meet(m, q, d, parts[d]);
        q->b[p->c.spec[1][2 + d]] = parts[d];
    }
    kn_lv begin = integer_op(m, KN_S_max, lv_sub(m, lo, base), lv_int(m, 0)), end = integer_op(m, KN_S_min, lv_sub(m, hi, base), in);
    return close_carry_loop(m, s, add_features(m, q, begin, end, acc));
}

/* Batch, output feature and group from the result's index. */
static point point_at(maker *m, const convolution *p, const kn_lv *out)
{
    const kn_conv *c = &p->c;
    point q = {.p = p, .out = out};
    int64_t features = p->b.dims[c->spec[1][0]];
    kn_lv batch = out[c->spec[2][0]], o = out[c->spec[2][1]];
    q.first = lv_int(m, 0);
    if (c->features > 1) q.first = lv_mul(m, quotient(m, o, features / c->features), lv_int(m, p->in));
    if (c->batches > 1) {
        kn_lv group = quotient(m, o, features / c->batches);
        batch = lv_add(m, batch, lv_mul(m, group, lv_int(m, p->a.dims[c->spec[0][0]] / c->batches)));
    }
    q.a[c->spec[0][0]] = batch;
    q.b[c->spec[1][0]] = o;
    for (uint32_t d = 0; d < c->n; d++) ask_borders(m, p, d, out[c->spec[2][2 + d]]);
    return q;
}

static kn_lv conv_at(maker *m, const convolution *p, const kn_lv *out)
{
    point q = point_at(m, p, out);
    kn_lv start = zero(m, p), v;
    if (p->k <= KN_DOT_BLOCK) {
        v = add_taps(m, &q, 0, start);
    } else {
        kn_lv s, block = open_loop(m, 0, (p->k + KN_DOT_BLOCK - 1) / KN_DOT_BLOCK, 0, &s);
        kn_lv total = add_carry(m, s, start), lo = lv_mul(m, block, lv_int(m, KN_DOT_BLOCK));
        kn_lv hi = integer_op(m, KN_S_min, lv_add(m, lo, lv_int(m, KN_DOT_BLOCK)), lv_int(m, p->k));
        v = close_carry_loop(m, s, lv_sop(m, KN_S_add, p->acc, p->acc, total, add_block(m, &q, lo, hi), 0));
    }
    return p->acc == p->y.dtype ? v : lv_sop(m, KN_S_convert, p->acc, p->y.dtype, v, 0, 0);
}

static void conv_body(maker *m, void *ud, const kn_lv *ix)
{
    const convolution *p = ud;
    /* nothing at all to add gives +0; where the left operand has no elements every tap is padding */
    bool empty = p->k == 0, blank = !empty && kiln_type_size(p->a) == 0;
    kn_lv v = empty ? lv_const(m, p->y.dtype, (kn_scalar){.c = {0, 0}}) : blank ? lv_const(m, p->y.dtype, kn_reduce_identity(KN_S_add, p->acc)) : conv_at(m, p, ix);
    lv_store(m, p->slot, linear_index(m, p->y, ix), v);
}

void emit_conv(maker *m, frame *f, const kn_eqn *e)
{
    convolution p = {.c = kn_conv_of(e), .a = kn_type_of(f->j, e->in[0]), .b = kn_type_of(f->j, e->in[1]), .y = f->j->vars[e->out[0]].type, .taps = 1};
    for (int side = 0; side < 2; side++) p.side[side] = place_of_atom(m, f, e->in[side]);
    if (m->status != KILN_OK) return;
    if (p.y.rank > MAX_RANK) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "conv_general_dilated of rank %u; at most %d dimensions are compiled", p.y.rank, MAX_RANK);
        return;
    }
    p.acc = kn_dot_accumulator(p.a.dtype, p.y.dtype);
    p.in = p.b.dims[p.c.spec[1][1]];
    for (uint32_t d = 0; d < p.c.n; d++) p.taps *= p.b.dims[p.c.spec[1][2 + d]];
    p.k = p.in * p.taps;
    p.fused = kn_conv_fused(p.acc, p.in);
    p.slot = slot_for(m, f, e->out[0]);
    make_nest(m, p.y.rank, p.y.dims, true, conv_body, &p);
    put_memory(m, f, e->out[0], p.slot);
}
