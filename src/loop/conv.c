/* SPDX-License-Identifier: Apache-2.0 */
/* conv_general_dilated: for each element of the result a chain over k = (taps row-major, input features), as dot_general's, in
 * blocks of 256 along k; the operands are read through index maps. A tap that meets padding or a hole of the dilation leaves the
 * chain as it is.
 *
 *      for each element of the result
 *        total = -0.0
 *        for each block of k, where there are several
 *          sum = -0.0
 *          for each tap that is inside and has features in the block, dimension by dimension
 *            for each of these features
 *              sum = fma(left, kernel, sum)
 *          total = total + sum
 *
 * Along the dimension of the result that runs in lanes, all taps are taken and tested; the nest is cut where the window begins to meet padding there,
 * so that taps inside are not.
 *
 * Several elements go side by side, so that what they share is loaded once and their chains hide each other's latency: where vectors run
 * along the output features, neighbours along the last spatial dimension (as far as their windows lie inside), else output features. */
#include "rt/dot.h"

#include "loop/fold.h"
#include "loop/maker.h"
#include "prim/conv.h"

typedef struct convolution {
    place *side[2];
    kiln_type a, b, y;
    kn_conv c;
    kiln_dtype acc;
    int64_t in, k; /* input features of a group; these at all window positions */
    bool fused;
    uint32_t slot;
    uint32_t vector;      /* dimension of the result that lanes run along */
    uint32_t along;       /* dimension of the result that elements stand side by side in */
    unsigned side_by_side;
    int64_t from;         /* where the nest begins there */
} convolution;

enum { MOST_SIDES = 12 };

/* One of the elements of the result that a nest makes. */
typedef struct point {
    const convolution *p;
    kn_lv out[MAX_RANK];
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

/* Lanes run along dimension d of the result: what meets padding differs from lane to lane, and is tested. */
static bool in_lanes(const convolution *p, uint32_t d) { return p->vector == p->c.spec[2][2 + d]; }

static int64_t taps_of(const convolution *p, uint32_t d) { return p->b.dims[p->c.spec[1][2 + d]]; }

/* The last p (prim/conv.h) that is inside. */
static int64_t last_inside(const convolution *p, uint32_t d) { return (p->a.dims[p->c.spec[0][2 + d]] - 1) * p->c.lhs[d]; }

/* Where a border of the window's inside lies, asked so that the nest is cut there. */
static void ask_borders(maker *m, const convolution *p, uint32_t d, kn_lv x)
{
    int64_t stride = p->c.stride[d], low = kn_conv_low(&p->c, d);
    int64_t last = last_inside(p, d) - (taps_of(p, d) - 1) * p->c.rhs[d] + low; /* the last p of tap 0 that is inside with all taps */
    if (low > 0) m->element.below(&m->element, x, (low + stride - 1) / stride);
    m->element.below(&m->element, x, last < 0 ? 0 : last / stride + 1);
}

/* Taps from..to-1 of dimension d meet no padding; in lanes all, which are tested. */
static void tap_range(maker *m, const point *q, uint32_t d, kn_lv *from, kn_lv *to)
{
    const convolution *p = q->p;
    int64_t rhs = p->c.rhs[d];
    kn_lv zero_at = lv_int(m, 0), size = lv_int(m, taps_of(p, d));
    *from = zero_at, *to = size;
    if (in_lanes(p, d)) return;
    kn_lv x = lv_mul(m, q->out[p->c.spec[2][2 + d]], lv_int(m, p->c.stride[d]));
    kn_lv begin = lv_sub(m, lv_int(m, kn_conv_low(&p->c, d)), x), end = lv_add(m, begin, lv_int(m, last_inside(p, d)));
    *from = quotient(m, lv_add(m, integer_op(m, KN_S_max, begin, zero_at), lv_int(m, rhs - 1)), rhs);
    end = lv_add(m, integer_op(m, KN_S_max, end, lv_int(m, -rhs)), lv_int(m, rhs));
    *to = integer_op(m, KN_S_min, quotient(m, end, rhs), size);
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
    kn_lv x = lv_mul(m, q->out[c->spec[2][2 + d]], lv_int(m, c->stride[d]));
    kn_lv at = lv_add(m, lv_add(m, x, lv_mul(m, t, lv_int(m, c->rhs[d]))), lv_int(m, -kn_conv_low(c, d)));
    if (m->status != KILN_OK) return 0;
    value_facts f = m->facts.v[at];
    kn_lv zero_at = lv_int(m, 0), end = lv_int(m, last_inside(p, d));
    if (in_lanes(p, d) && f.lo < 0) {
        also(m, q, integer_op(m, KN_S_ge, at, zero_at));
        at = integer_op(m, KN_S_max, at, zero_at);
    }
    if (in_lanes(p, d) && f.hi > last_inside(p, d)) {
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

/* ---- the points of a nest together: acc[i] is point i's ---- */

/* Features lo..hi-1 at the tap that stands in the indices. */
static void add_features(maker *m, point *q, unsigned n, kn_lv lo, kn_lv hi, kn_lv *acc)
{
    const convolution *p = q->p;
    kn_lv before[MOST_SIDES], s = 0, feature = lv_int(m, 0);
    memcpy(before, acc, n * sizeof *acc);
    if (p->in > 1) feature = open_carries(m, lo, hi, p->in, n, acc, &s);
    for (unsigned i = 0; i < n; i++) acc[i] = add_product(m, &q[i], feature, acc[i]);
    if (p->in > 1) close_carries(m, s, n, acc);
    for (unsigned i = 0; i < n; i++)
        if (q[i].inside) acc[i] = lv_sop(m, KN_S_select, p->acc, p->acc, q[i].inside, acc[i], before[i]);
}

static void meet_all(maker *m, point *q, unsigned n, uint32_t d, kn_lv t)
{
    for (unsigned i = 0; i < n; i++) {
        q[i].a[q->p->c.spec[0][2 + d]] = meet(m, &q[i], d, t);
        q[i].b[q->p->c.spec[1][2 + d]] = t;
    }
}

/* Of the taps from dimension d on, and their features, entries lo..hi-1 in the order of k; hi 0: all. */
static void add_taps(maker *m, point *q, unsigned n, uint32_t d, kn_lv lo, kn_lv hi, kn_lv *acc)
{
    const convolution *p = q->p;
    kn_lv zero_at = lv_int(m, 0), in = lv_int(m, p->in), from, to, t, s = 0, inside[MOST_SIDES];
    if (hi) lo = integer_op(m, KN_S_max, lo, zero_at);
    if (d == p->c.n) {
        add_features(m, q, n, hi ? lo : zero_at, hi ? integer_op(m, KN_S_min, hi, in) : in, acc);
        return;
    }
    int64_t each = p->in;
    for (uint32_t k = d + 1; k < p->c.n; k++) each *= taps_of(p, k);
    tap_range(m, q, d, &from, &to);
    if (hi) {
        from = integer_op(m, KN_S_max, from, quotient(m, lo, each));
        to = integer_op(m, KN_S_min, to, quotient(m, lv_add(m, hi, lv_int(m, each - 1)), each));
    }
    if (m->status != KILN_OK) return;
    value_facts first = m->facts.v[from], end = m->facts.v[to];
    if (end.hi <= first.lo) return;
    bool one = first.lo == first.hi && end.lo == end.hi && end.lo - first.lo == 1;
    for (unsigned i = 0; i < n; i++) inside[i] = q[i].inside;
    t = one ? from : open_carries(m, from, to, taps_of(p, d), n, acc, &s);
    meet_all(m, q, n, d, t);
    kn_lv before = lv_mul(m, t, lv_int(m, each));
    add_taps(m, q, n, d + 1, hi ? lv_sub(m, lo, before) : 0, hi ? lv_sub(m, hi, before) : 0, acc);
    for (unsigned i = 0; i < n; i++) q[i].inside = inside[i];
    if (!one) close_carries(m, s, n, acc);
}

/* Batch, output feature and group from the result's index. */
static void set_point(maker *m, const convolution *p, const kn_lv *out, point *q)
{
    const kn_conv *c = &p->c;
    *q = (point){.p = p};
    memcpy(q->out, out, p->y.rank * sizeof *out);
    int64_t features = p->b.dims[c->spec[1][0]];
    kn_lv batch = out[c->spec[2][0]], o = out[c->spec[2][1]];
    q->first = lv_int(m, 0);
    if (c->features > 1) q->first = lv_mul(m, quotient(m, o, features / c->features), lv_int(m, p->in));
    if (c->batches > 1) {
        kn_lv group = quotient(m, o, features / c->batches);
        batch = lv_add(m, batch, lv_mul(m, group, lv_int(m, p->a.dims[c->spec[0][0]] / c->batches)));
    }
    q->a[c->spec[0][0]] = batch;
    q->b[c->spec[1][0]] = o;
    for (uint32_t d = 0; d < c->n; d++)
        if (in_lanes(p, d)) ask_borders(m, p, d, out[c->spec[2][2 + d]]);
}

static void convolve(maker *m, const convolution *p, point *q, unsigned n, kn_lv *v)
{
    for (unsigned i = 0; i < n; i++) v[i] = zero(m, p);
    if (p->k <= KN_DOT_BLOCK) {
        add_taps(m, q, n, 0, 0, 0, v);
        return;
    }
    int64_t blocks = (p->k + KN_DOT_BLOCK - 1) / KN_DOT_BLOCK;
    kn_lv s, sum[MOST_SIDES], block = open_carries(m, lv_int(m, 0), lv_int(m, blocks), blocks, n, v, &s), lo = lv_mul(m, block, lv_int(m, KN_DOT_BLOCK));
    for (unsigned i = 0; i < n; i++) sum[i] = zero(m, p);
    add_taps(m, q, n, 0, lo, integer_op(m, KN_S_min, lv_add(m, lo, lv_int(m, KN_DOT_BLOCK)), lv_int(m, p->k)), sum);
    for (unsigned i = 0; i < n; i++) v[i] = lv_sop(m, KN_S_add, p->acc, p->acc, v[i], sum[i], 0);
    close_carries(m, s, n, v);
}

static void conv_body(maker *m, void *ud, const kn_lv *ix)
{
    const convolution *p = ud;
    unsigned n = p->side_by_side;
    kn_lv v[MOST_SIDES], out[MAX_RANK];
    point *q = KN_NEWN(&m->temp, point, n);
    if (!MAKER_TRY_MEM(m, q)) return;
    /* nothing at all to add gives +0; where the left operand has no elements every tap is padding */
    bool empty = p->k == 0, blank = !empty && kiln_type_size(p->a) == 0;
    for (unsigned i = 0; i < n; i++) {
        memcpy(out, ix, p->y.rank * sizeof *ix);
        out[p->along] = lv_add(m, lv_mul(m, ix[p->along], lv_int(m, n)), lv_int(m, p->from + i));
        if (m->status != KILN_OK) return;
        set_point(m, p, out, &q[i]);
        v[i] = empty ? lv_const(m, p->y.dtype, (kn_scalar){.c = {0, 0}}) : lv_const(m, p->y.dtype, kn_reduce_identity(KN_S_add, p->acc));
    }
    if (!empty && !blank) {
        convolve(m, p, q, n, v);
        for (unsigned i = 0; i < n && p->acc != p->y.dtype; i++) v[i] = lv_sop(m, KN_S_convert, p->acc, p->y.dtype, v[i], 0, 0);
    }
    for (unsigned i = 0; i < n && m->status == KILN_OK; i++) lv_store(m, p->slot, linear_index(m, p->y, q[i].out), v[i]);
}

/* ---- elements side by side ---- */

/* Entries lo..hi-1 of the nest's dimension, `sides` at a time, then one by one. */
static void emit_range(maker *m, convolution *p, int64_t lo, int64_t hi, unsigned sides)
{
    int64_t dims[MAX_RANK], n = hi - lo;
    memcpy(dims, p->y.dims, p->y.rank * sizeof *dims);
    for (int64_t most = sides; n > 0 && m->status == KILN_OK; most = 1) {
        if (n / most == 0) continue;
        p->side_by_side = (unsigned)most;
        p->from = lo;
        dims[p->along] = n / most;
        make_nest(m, p->y.rank, dims, true, conv_body, p);
        lo += n / most * most;
        n %= most;
    }
}

static unsigned sides_of(const maker *m, int64_t n)
{
    unsigned most = m->o.vector_bits >= 512 ? MOST_SIDES : MOST_SIDES * 2 / 3, best = most;
    if (n < (int64_t)most) return n > 0 ? (unsigned)n : 1;
    for (unsigned r = most; r > most / 2; r--)
        if (n % r < n % best) best = r;
    return best;
}

static void emit_all(maker *m, convolution *p)
{
    const kn_conv *c = &p->c;
    uint32_t nests = m->l->nests;
    int64_t lo = 0, hi = p->y.rank ? p->y.dims[c->spec[2][1]] : 0;
    p->along = (uint32_t)c->spec[2][1];
    if (p->vector == p->along) { /* the last spatial dimension in the result's order */
        uint32_t last = c->n;
        for (uint32_t d = 0; d < c->n; d++)
            if (p->y.dims[c->spec[2][2 + d]] > 1 && (last == c->n || c->spec[2][2 + d] > c->spec[2][2 + last])) last = d;
        if (last == c->n) {
            emit_range(m, p, 0, p->y.dims[p->along], 1);
            return;
        }
        p->along = (uint32_t)c->spec[2][2 + last];
        int64_t stride = c->stride[last], low = kn_conv_low(c, last), reach = (p->b.dims[c->spec[1][2 + last]] - 1) * c->rhs[last], size = p->y.dims[p->along];
        int64_t end = (p->a.dims[c->spec[0][2 + last]] - 1) * c->lhs[last] - reach + low;
        lo = low > 0 ? (low + stride - 1) / stride : 0;
        hi = end < 0 ? 0 : end / stride + 1;
        if (hi > size) hi = size;
        if (lo > hi || c->lhs[last] != 1) lo = hi = 0;
        emit_range(m, p, 0, lo, 1);
        emit_range(m, p, lo, hi, sides_of(m, hi - lo));
        emit_range(m, p, hi, size, 1);
    } else {
        bool groups = c->features > 1 || c->batches > 1;
        emit_range(m, p, lo, hi, groups ? 1 : sides_of(m, hi));
    }
    if (m->l->nests > nests) m->l->nests = nests + 1;
}

void emit_conv(maker *m, frame *f, const kn_eqn *e)
{
    convolution p = {.c = kn_conv_of(e), .a = kn_type_of(f->j, e->in[0]), .b = kn_type_of(f->j, e->in[1]), .y = f->j->vars[e->out[0]].type};
    for (int side = 0; side < 2; side++) p.side[side] = place_of_atom(m, f, e->in[side]);
    if (m->status != KILN_OK) return;
    if (p.y.rank > MAX_RANK) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "conv_general_dilated of rank %u; at most %d dimensions are compiled", p.y.rank, MAX_RANK);
        return;
    }
    p.acc = kn_dot_accumulator(p.a.dtype, p.y.dtype);
    p.in = p.b.dims[p.c.spec[1][1]];
    p.k = p.in;
    for (uint32_t d = 0; d < p.c.n; d++) p.k *= taps_of(&p, d);
    for (uint32_t d = 0; d < p.y.rank; d++)
        if (p.y.dims[d] > 1) p.vector = d;
    p.fused = kn_conv_fused(p.acc, p.in);
    p.slot = slot_for(m, f, e->out[0]);
    emit_all(m, &p);
    put_memory(m, f, e->out[0], p.slot);
}
