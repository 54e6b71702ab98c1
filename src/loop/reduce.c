/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in the order of numerics 3, which rt/reduce.h computes for interpreter and compiler alike. */
#include "rt/reduce.h"

#include "loop/fold.h"
#include "loop/maker.h"
#include "prim/common.h"

typedef struct reduction {
    frame *f;
    const kn_eqn *e;
    place *x;
    kiln_type type; /* of x */
    kn_sop op;
    kiln_dtype acc;
    kn_order order;
    kn_axis_role role[MAX_RANK];
    bool plain; /* x is read straight through: an index along the minor dimension may run on into the next rows */
    uint32_t slot, chains;
} reduction;

static kn_lv accumulate(maker *m, const reduction *r, kn_lv a, kn_lv b) { return lv_sop(m, r->op, r->acc, r->acc, a, b, 0); }

static kn_lv element(maker *m, const reduction *r, const kn_lv *ix)
{
    kn_lv v = element_of(m, r->x, ix);
    return r->acc == r->type.dtype ? v : lv_sop(m, KN_S_convert, r->type.dtype, r->acc, v, 0, 0);
}

/* Spreads step `step` over the dimensions of this role. */
static void place_step(maker *m, const reduction *r, kn_axis_role role, kn_lv step, kn_lv *ix)
{
    int64_t dims[MAX_RANK] = {0};
    uint32_t at[MAX_RANK], n = 0;
    for (uint32_t d = 0; d < r->type.rank; d++)
        if (r->role[d] == role) {
            at[n] = d;
            dims[n++] = r->type.dims[d];
        }
    kn_lv parts[MAX_RANK];
    if (role == KN_AXIS_T && r->plain) {
        for (uint32_t k = 0; k + 1 < n; k++) parts[k] = lv_int(m, 0);
        parts[n - 1] = step;
    } else {
        split_index(m, step, n, dims, parts);
    }
    for (uint32_t k = 0; k < n; k++) ix[at[k]] = parts[k];
}

static kn_lv reduce_t(maker *m, const reduction *r, kn_lv *ix)
{
    if (!r->order.has_t) return element(m, r, ix);
    kn_lv s, step = open_lanes(m, r->order.t.n, (uint32_t)r->order.t.lanes, r->order.t.block, r->op, r->acc, &s);
    place_step(m, r, KN_AXIS_T, step, ix);
    kn_lv v = element(m, r, ix);
    return close_lanes(m, s, v, 0, r->acc);
}

/* Few steps of O that cost little: no loop, and what their indices decide is known. */
static bool written_out(maker *m, const reduction *r, kn_lv lo, kn_lv hi, int64_t *from, int64_t *to)
{
    enum { FEW_STEPS = 4, LITTLE = 16 };
    const kn_atom x = r->e->in[0];
    bool little = kn_is_literal(x) || r->x->kind != PLACE_LAZY || r->f->plan[x].cost <= (float)LITTLE;
    return little && !r->order.has_t && lv_known(m, lo, from) && lv_known(m, hi, to) && *to - *from <= FEW_STEPS;
}

/* Steps lo..hi of O, one after the other. */
static kn_lv chain(maker *m, const reduction *r, kn_lv *ix, kn_lv lo, kn_lv hi, int64_t bound, kn_lv start)
{
    int64_t from, to;
    if (written_out(m, r, lo, hi, &from, &to)) {
        for (int64_t k = from; k < to; k++) {
            place_step(m, r, KN_AXIS_O, lv_int(m, k), ix);
            start = accumulate(m, r, start, element(m, r, ix));
        }
        return start;
    }
    kn_lv s, step = open_loop_between(m, lo, hi, 0, bound, 0, &s);
    kn_lv acc = add_carry(m, s, start);
    place_step(m, r, KN_AXIS_O, step, ix);
    return close_carry_loop(m, s, accumulate(m, r, acc, reduce_t(m, r, ix)));
}

static kn_lv identity(maker *m, const reduction *r) { return lv_const(m, r->acc, kn_reduce_identity(r->op, r->acc)); }

/* The result from that of all elements. A least or largest one that was combined is what it would be with infinity too; where subnormal
 * numbers are made zeros, only the operation itself has done that: a loop may have compared them as integers. */
static kn_lv from_init(maker *m, const reduction *r, kn_lv v)
{
    const kn_linst *in = &m->l->inst.v[v];
    bool extreme = r->op == KN_S_min || r->op == KN_S_max;
    if (extreme && ((in->op == KN_L_RESULT && !m->o.flush) || (in->op == KN_L_SOP && in->sop == r->op))) return v;
    return accumulate(m, r, lv_const(m, r->acc, kn_reduction_first(r->e->prim, r->acc)), v);
}

/* body(lo, hi) for each block of O; results from left to right. */
typedef kn_lv (*block_fn)(maker *m, const reduction *r, kn_lv *ix, kn_lv lo, kn_lv hi);

/* The blocks of a run, as rt/reduce.h has them: how many, and of how many steps; of a number that is given when the program runs, the code
 * finds out. */
typedef struct run_blocks {
    kn_lv count, size;
    int64_t most;
} run_blocks;

static run_blocks blocks_of(maker *m, kn_run o)
{
    enum { BLOCKS = 64, LEAST = 4096 };
    if (!open_size(m, o.n)) {
        int64_t count = (o.n + o.block - 1) / o.block;
        return (run_blocks){lv_int(m, count), lv_int(m, o.block), count};
    }
    kn_lv n = lv_int(m, o.n), most = lv_int(m, BLOCKS * BLOCKS);
    kn_lv parts = lv_sop(m, KN_S_div, KILN_I64, KILN_I64, lv_add(m, n, lv_int(m, BLOCKS * BLOCKS - 1)), most, 0);
    kn_lv size = lv_sop(m, KN_S_max, KILN_I64, KILN_I64, lv_mul(m, parts, lv_int(m, BLOCKS)), lv_int(m, LEAST), 0);
    kn_lv rounded = lv_sub(m, lv_add(m, n, size), lv_int(m, 1));
    return (run_blocks){lv_sop(m, KN_S_div, KILN_I64, KILN_I64, rounded, size, 0), size, BLOCKS};
}

/* Is all of the run one block, whatever n is? */
static bool one_block(const maker *m, kn_run o) { return o.n <= o.block && !open_size(m, o.n); }

static kn_lv block_end(maker *m, kn_run o, kn_lv lo, kn_lv size)
{
    return lv_sop(m, KN_S_min, KILN_I64, KILN_I64, lv_add(m, lo, size), lv_int(m, o.n), 0);
}

static kn_lv blocks(maker *m, const reduction *r, kn_lv *ix, block_fn body)
{
    kn_run o = r->order.o;
    if (one_block(m, o)) return body(m, r, ix, lv_int(m, 0), lv_int(m, o.n));
    run_blocks k = blocks_of(m, o);
    kn_lv s, b = open_loop_between(m, lv_int(m, 0), k.count, 0, k.most, 0, &s);
    kn_lv total = add_carry(m, s, identity(m, r)), lo = lv_mul(m, b, k.size);
    return close_carry_loop(m, s, accumulate(m, r, total, body(m, r, ix, lo, block_end(m, o, lo, k.size))));
}

static kn_lv block_in_order(maker *m, const reduction *r, kn_lv *ix, kn_lv lo, kn_lv hi)
{
    return chain(m, r, ix, lo, hi, r->order.o.n, identity(m, r));
}

/* Several chains over rows that are reductions themselves: the chains stand in memory. */
static kn_lv block_in_chains(maker *m, const reduction *r, kn_lv *ix, kn_lv lo, kn_lv hi)
{
    int64_t lanes = r->order.o.lanes;
    for (int64_t k = 0; k < lanes; k++) lv_store(m, r->chains, lv_int(m, k), identity(m, r));
    kn_lv s, step = open_loop_between(m, lo, hi, 0, r->order.o.n, 0, &s);
    place_step(m, r, KN_AXIS_O, step, ix);
    kn_lv v = reduce_t(m, r, ix);
    kn_lv lane = lv_sop(m, KN_S_rem, KILN_I64, KILN_I64, lv_sub(m, step, lo), lv_int(m, lanes), 0);
    lv_store(m, r->chains, lane, accumulate(m, r, lv_load(m, r->chains, lane), v));
    close_loop(m, s);
    kn_lv part[64];
    for (int64_t k = 0; k < lanes; k++) part[k] = lv_load(m, r->chains, lv_int(m, k));
    for (int64_t w = lanes / 2; w >= 1; w /= 2)
        for (int64_t k = 0; k < w; k++) part[k] = accumulate(m, r, part[k], part[k + w]);
    return part[0];
}

/* The reduction for the kept indices that stand in ix. */
static kn_lv reduce_at(maker *m, const reduction *r, kn_lv *ix)
{
    kn_lv v;
    if (!r->order.has_o) {
        v = reduce_t(m, r, ix);
    } else if (r->order.o.lanes == 1) {
        v = blocks(m, r, ix, block_in_order);
    } else if (!r->order.has_t) {
        kn_lv s, step = open_lanes(m, r->order.o.n, (uint32_t)r->order.o.lanes, r->order.o.block, r->op, r->acc, &s);
        place_step(m, r, KN_AXIS_O, step, ix);
        kn_lv x = element(m, r, ix);
        v = close_lanes(m, s, x, 0, r->acc);
    } else {
        v = blocks(m, r, ix, block_in_chains);
    }
    v = from_init(m, r, v);
    return r->acc == r->type.dtype ? v : lv_sop(m, KN_S_convert, r->acc, r->type.dtype, v, 0, 0);
}

static void kept_index(maker *m, const reduction *r, const kn_lv *kept, kn_lv *ix)
{
    const kn_param *axes = &r->e->params[0];
    uint32_t k = 0;
    for (uint32_t d = 0; d < r->type.rank; d++) {
        bool gone = false;
        for (uint32_t a = 0; a < axes->n; a++) gone = gone || axes->ints[a] == (int64_t)d;
        ix[d] = gone ? lv_int(m, 0) : kept[k++];
    }
}

static void reduce_body(maker *m, void *ud, const kn_lv *kept)
{
    reduction *r = ud;
    kn_lv ix[MAX_RANK];
    kept_index(m, r, kept, ix);
    kn_lv v = reduce_at(m, r, ix);
    kiln_type y = r->f->j->vars[r->e->out[0]].type;
    lv_store(m, r->slot, linear_index(m, y, kept), v);
}

/* ---- columns side by side ----
 * Rows added up one after the other are chains, a vector of columns each: several vectors that are neighbours go together, so that memory
 * is read in longer pieces and the chains hide each other's latency.
 *
 *      for each group of SIDES vectors
 *        for v in 0 .. lanes, all at once
 *          for each row: acc[i] = add acc[i], x[row, (group * SIDES + i) * lanes + v] */

enum { SIDES = 8, LEAST_ROWS = 8 };

typedef struct columns {
    reduction *r;
    unsigned sides, lanes;
    int64_t from; /* the first column */
} columns;

static void add_rows(maker *m, const columns *c, kn_lv (*ix)[MAX_RANK], kn_lv lo, kn_lv hi, kn_lv *acc)
{
    kn_lv s, step = open_carries(m, lo, hi, c->r->order.o.n, c->sides, acc, &s);
    for (unsigned i = 0; i < c->sides; i++) {
        place_step(m, c->r, KN_AXIS_O, step, ix[i]);
        acc[i] = accumulate(m, c->r, acc[i], element(m, c->r, ix[i]));
    }
    close_carries(m, s, c->sides, acc);
}

static void columns_body(maker *m, void *ud, const kn_lv *at)
{
    const columns *c = ud;
    const reduction *r = c->r;
    kiln_type y = r->f->j->vars[r->e->out[0]].type;
    kn_lv kept[SIDES][MAX_RANK], ix[SIDES][MAX_RANK], acc[SIDES], sum[SIDES];
    kn_run o = r->order.o;
    for (unsigned i = 0; i < c->sides; i++) {
        kn_lv vector = lv_add(m, lv_mul(m, at[y.rank - 1], lv_int(m, c->sides)), lv_int(m, i));
        memcpy(kept[i], at, y.rank * sizeof *at);
        kept[i][y.rank - 1] = lv_add(m, lv_add(m, lv_mul(m, vector, lv_int(m, c->lanes)), at[y.rank]), lv_int(m, c->from));
        if (m->status != KILN_OK) return;
        kept_index(m, r, kept[i], ix[i]);
        acc[i] = sum[i] = identity(m, r);
    }
    if (one_block(m, o)) {
        add_rows(m, c, ix, lv_int(m, 0), lv_int(m, o.n), acc);
    } else {
        run_blocks k = blocks_of(m, o);
        kn_lv s, b = open_carries(m, lv_int(m, 0), k.count, k.most, c->sides, acc, &s), lo = lv_mul(m, b, k.size);
        add_rows(m, c, ix, lo, block_end(m, o, lo, k.size), sum);
        for (unsigned i = 0; i < c->sides; i++) acc[i] = accumulate(m, r, acc[i], sum[i]);
        close_carries(m, s, c->sides, acc);
    }
    for (unsigned i = 0; i < c->sides && m->status == KILN_OK; i++) {
        kn_lv v = from_init(m, r, acc[i]);
        if (r->acc != r->type.dtype) v = lv_sop(m, KN_S_convert, r->acc, r->type.dtype, v, 0, 0);
        lv_store(m, r->slot, linear_index(m, y, kept[i]), v);
    }
}

/* False: nothing was made, the rows are too few or too short. */
static bool emit_columns(maker *m, reduction *r, kiln_type y)
{
    unsigned lanes = m->o.vector_bits / (8 * (unsigned)kiln_dtype_bytes(r->type.dtype));
    bool rows = y.rank > 0 && y.rank < MAX_RANK && r->plain && r->order.has_o && !r->order.has_t && r->order.o.lanes == 1 && r->order.o.n >= LEAST_ROWS;
    if (y.rank && open_size(m, y.dims[y.rank - 1])) return false;
    if (!rows || lanes < 2 || y.dims[y.rank - 1] < 2 * (int64_t)lanes) return false;
    int64_t dims[MAX_RANK + 1], size = y.dims[y.rank - 1], done = 0;
    uint32_t nests = m->l->nests;
    memcpy(dims, y.dims, y.rank * sizeof *dims);
    for (unsigned sides = SIDES; sides > 0 && done < size && m->status == KILN_OK; sides /= 2) {
        int64_t groups = (size - done) / (sides * (int64_t)lanes);
        columns c = {r, sides, lanes, done};
        dims[y.rank - 1] = groups, dims[y.rank] = lanes;
        if (groups) make_nest(m, y.rank + 1, dims, true, columns_body, &c);
        done += groups * sides * (int64_t)lanes;
    }
    columns rest = {r, 1, 1, done}; /* less than a vector */
    dims[y.rank - 1] = 1, dims[y.rank] = size - done;
    if (done < size) make_nest(m, y.rank + 1, dims, true, columns_body, &rest);
    if (m->l->nests > nests) m->l->nests = nests + 1;
    return true;
}

/* Small operand, all in registers. */
static void reduce_registers(maker *m, reduction *r, kiln_type y)
{
    int64_t n = kiln_type_size(y), nt = r->order.has_t ? r->order.t.n : 1, no = r->order.has_o ? r->order.o.n : 1;
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n + 1), *t = KN_NEWN(&m->temp, kn_lv, nt + 1), *o = KN_NEWN(&m->temp, kn_lv, no + 1);
    if (!MAKER_TRY_MEM(m, v && t && o)) return;
    for (int64_t q = 0; q < n && m->status == KILN_OK; q++) {
        kn_lv kept[MAX_RANK], ix[MAX_RANK];
        int64_t rest = q;
        for (uint32_t d = y.rank; d-- > 0;) {
            kept[d] = lv_int(m, rest % y.dims[d]);
            rest /= y.dims[d];
        }
        kept_index(m, r, kept, ix);
        for (int64_t i = 0; i < no; i++) {
            if (r->order.has_o) place_step(m, r, KN_AXIS_O, lv_int(m, i), ix);
            for (int64_t k = 0; k < nt; k++) {
                if (r->order.has_t) place_step(m, r, KN_AXIS_T, lv_int(m, k), ix);
                t[k] = element(m, r, ix);
            }
            o[i] = r->order.has_t ? fold_lanes(m, r->op, r->acc, t, nt, r->order.t.lanes) : t[0];
        }
        v[q] = r->order.has_o ? fold_lanes(m, r->op, r->acc, o, no, r->order.o.lanes) : o[0];
        v[q] = from_init(m, r, v[q]);
        if (r->acc != r->type.dtype) v[q] = lv_sop(m, KN_S_convert, r->acc, r->type.dtype, v[q], 0, 0);
    }
    put_registers(m, r->f, r->e->out[0], v);
}

kn_lv fold_lanes(maker *m, kn_sop op, kiln_dtype d, const kn_lv *x, int64_t n, int64_t lanes)
{
    kn_lv lane[256] = {0}; /* 256 bytes of accumulators */
    for (int64_t i = 0; i < n; i++) {
        kn_lv *l = &lane[i % lanes];
        *l = *l ? lv_sop(m, op, d, d, *l, x[i], 0) : x[i];
    }
    for (int64_t w = lanes / 2; w >= 1; w /= 2)
        for (int64_t i = 0; i < w; i++)
            if (lane[i + w]) lane[i] = lane[i] ? lv_sop(m, op, d, d, lane[i], lane[i + w], 0) : lane[i + w];
    return lane[0] ? lane[0] : lv_const(m, d, kn_reduce_identity(op, d));
}

static void put_init(maker *m, reduction *r, kiln_type y)
{
    int64_t n = kiln_type_size(y);
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n + 1), init = lv_const(m, y.dtype, kn_reduction_first(r->e->prim, r->acc));
    if (!MAKER_TRY_MEM(m, v)) return;
    for (int64_t k = 0; k < n; k++) v[k] = init;
    put_registers(m, r->f, r->e->out[0], v);
}

static void empty_body(maker *m, void *ud, const kn_lv *ix)
{
    reduction *r = ud;
    kiln_type y = r->f->j->vars[r->e->out[0]].type;
    lv_store(m, r->slot, linear_index(m, y, ix), lv_const(m, y.dtype, kn_reduction_first(r->e->prim, r->acc)));
}

/* Is the order that of every size but 1, where a dimension of n does not count? */
static bool one_order(const reduction *r, const kn_param *axes)
{
    static const int64_t sizes[] = {2, 3, 4, 5, 15, 16, 17, 1 << 20};
    bool same = true;
    for (size_t i = 0; same && i < sizeof sizes / sizeof *sizes; i++) {
        int64_t dims[KN_RANK_LIMIT];
        kn_axis_role role[MAX_RANK];
        kn_order o = kn_reduce_order(kn_type_at(r->type, sizes[i], dims), axes->kind == KN_P_INTS ? axes->ints : NULL, axes->n, role);
        same = o.has_t == r->order.has_t && o.has_o == r->order.has_o && (!o.has_t || o.t.lanes == r->order.t.lanes) &&
               (!o.has_o || o.o.lanes == r->order.o.lanes) && memcmp(role, r->role, r->type.rank * sizeof *role) == 0;
    }
    return same;
}

bool divides_index(const frame *f, const kn_eqn *e)
{
    kiln_type t = kn_type_of(f->j, e->in[0]);
    const kn_param *axes = &e->params[0];
    kn_axis_role role[MAX_RANK];
    uint32_t n[4] = {0, 0, 0, 0};
    if (t.rank > MAX_RANK) return false;
    kn_reduce_order(t, axes->kind == KN_P_INTS ? axes->ints : NULL, axes->n, role);
    for (uint32_t d = 0; d < t.rank; d++)
        if (t.dims[d] > 1) n[role[d]]++;
    return n[KN_AXIS_T] > 1 || n[KN_AXIS_O] > 1;
}

/* A few elements from a few each: written out, they are scalars in registers, and what they share is computed once. Longer folds are better
 * off in vectors. */
static bool short_folds(const maker *m, const reduction *r, kiln_type y)
{
    enum { MOST = 64, LONGEST = 8, LARGEST = 1024 };
    int64_t n = kiln_type_size(r->type), results = kiln_type_size(y);
    const var_plan *v = kn_is_literal(r->e->in[0]) ? NULL : &r->f->plan[r->e->in[0]];
    bool lazy = v && r->x->kind == PLACE_LAZY && !m->o.no_fusion;
    return lazy && n <= MOST && n <= LONGEST * results && (float)n * (v->cost + 1) <= (float)LARGEST;
}

void emit_reduce(maker *m, frame *f, const kn_eqn *e)
{
    kiln_type y = f->j->vars[e->out[0]].type;
    reduction r = {.f = f, .e = e, .x = place_of_atom(m, f, e->in[0]), .type = kn_type_of(f->j, e->in[0]), .op = (kn_sop)e->prim->scalar_op};
    if (m->status != KILN_OK) return;
    if (r.type.rank > MAX_RANK) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "%s of rank %u; at most %d dimensions are compiled", e->prim->name, r.type.rank, MAX_RANK);
        return;
    }
    r.acc = kn_accumulator(r.type.dtype);
    const kn_param *axes = &e->params[0];
    r.order = kn_reduce_order(r.type, axes->kind == KN_P_INTS ? axes->ints : NULL, axes->n, r.role);
    if (m->l->sized && kn_type_open(r.type) && !one_order(&r, axes)) {
        fail_sized(m, e, "how its sums are ordered depends on it");
        return;
    }
    r.plain = plain_closure(m, f, e->in[0], r.type);
    bool empty = kiln_type_size(r.type) == 0;
    if (small(m, y) && (empty || r.x->kind == PLACE_REGISTERS || short_folds(m, &r, y))) {
        if (empty) put_init(m, &r, y);
        else reduce_registers(m, &r, y);
        return;
    }
    if (r.order.has_o && r.order.has_t && r.order.o.lanes > 1) r.chains = new_slot(m, KN_SLOT_SCRATCH, 0, r.acc, r.order.o.lanes);
    if (y.rank == 0) {
        kn_lv ix[MAX_RANK];
        kept_index(m, &r, NULL, ix);
        kn_lv v = reduce_at(m, &r, ix);
        if (m->status == KILN_OK) put_registers(m, f, e->out[0], &v);
        m->l->nests++;
        return;
    }
    r.slot = slot_for(m, f, e->out[0]);
    bool vector = r.order.has_o && r.order.o.lanes == 1 && !r.order.has_t;
    if (empty || !emit_columns(m, &r, y))
        make_nest(m, y.rank, y.dims, vector || empty || (!r.order.has_o && !r.order.has_t), empty ? empty_body : reduce_body, &r);
    put_memory(m, f, e->out[0], r.slot);
}
