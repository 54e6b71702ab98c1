/* SPDX-License-Identifier: Apache-2.0 */
/* dot_general in the order of numerics 4: chains of fma in blocks of 256, or lanes where a matrix streams past a vector. */
#include "loop/product.h"

#include "loop/fold.h"

static bool listed(const int64_t *axes, uint32_t n, uint32_t d)
{
    for (uint32_t k = 0; k < n; k++)
        if (axes[k] == (int64_t)d) return true;
    return false;
}

bool product_contracts(const product *p, int side, uint32_t d) { return listed(p->dims.contract[side], p->dims.n_contract, d); }
bool product_batches(const product *p, int side, uint32_t d) { return listed(p->dims.batch[side], p->dims.n_batch, d); }

void product_outer(const product *p, int side, const kn_lv *out, kn_lv *ix)
{
    uint32_t nb = p->dims.n_batch, at = nb;
    if (side == 1) at += p->type[0].rank - nb - p->dims.n_contract;
    for (uint32_t k = 0; k < nb; k++) ix[p->dims.batch[side][k]] = out[k];
    for (uint32_t d = 0; d < p->type[side].rank; d++)
        if (!product_batches(p, side, d) && !product_contracts(p, side, d)) ix[d] = out[at++];
}

/* Are the contracting dimensions neighbours in memory, in their order? Then an index along the last runs on through all of them. */
static bool runs_on(const product *p, int side)
{
    if (p->side[side]->kind != PLACE_MEMORY) return false;
    for (uint32_t c = 0; c + 1 < p->dims.n_contract; c++)
        if (p->dims.contract[side][c + 1] != p->dims.contract[side][c] + 1) return false;
    return true;
}

kn_lv product_factor(maker *m, const product *p, int side, kn_lv *ix, kn_lv k)
{
    int64_t sizes[MAX_RANK] = {0};
    kn_lv parts[MAX_RANK];
    uint32_t n = p->dims.n_contract;
    for (uint32_t c = 0; c < n; c++) sizes[c] = p->type[side].dims[p->dims.contract[side][c]];
    bool plain = runs_on(p, side);
    for (uint32_t c = 0; plain && c < n; c++) parts[c] = c + 1 < n ? lv_int(m, 0) : k;
    if (!plain) split_index(m, k, n, sizes, parts);
    for (uint32_t c = 0; c < n; c++) ix[p->dims.contract[side][c]] = parts[c];
    kn_lv v = element_of(m, p->side[side], ix);
    kiln_dtype d = p->type[side].dtype;
    return d == p->order.accumulator ? v : lv_sop(m, KN_S_convert, d, p->order.accumulator, v, 0, 0);
}

kn_lv product_step(maker *m, const product *p, kn_lv x, kn_lv y, kn_lv acc)
{
    kiln_dtype d = p->order.accumulator;
    if (kiln_dtype_kind(d) == 'f') return lv_sop(m, KN_S_fma, d, d, x, y, acc);
    return lv_sop(m, KN_S_add, d, d, acc, lv_sop(m, KN_S_mul, d, d, x, y, 0), 0);
}

kn_lv product_zero(maker *m, const product *p) { return lv_const(m, p->order.accumulator, kn_reduce_identity(KN_S_add, p->order.accumulator)); }

bool product_open(const maker *m, const product *p) { return open_size(m, p->order.k); }

kn_lv product_blocks(maker *m, const product *p)
{
    kn_lv k = lv_add(m, lv_int(m, p->order.k), lv_int(m, KN_DOT_BLOCK - 1));
    return lv_sop(m, KN_S_div, KILN_I64, KILN_I64, k, lv_int(m, KN_DOT_BLOCK), 0);
}

kn_lv product_or_nothing(maker *m, const product *p, kn_lv v)
{
    kiln_dtype d = p->order.accumulator;
    kn_lv none = lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, lv_int(m, p->order.k), lv_int(m, 0), 0);
    return lv_sop(m, KN_S_select, d, d, none, lv_const(m, d, (kn_scalar){.c = {0, 0}}), v);
}

static kn_lv chain(maker *m, const product *p, kn_lv *a, kn_lv *b, kn_lv lo, kn_lv hi)
{
    kn_lv start = product_zero(m, p), s, k = open_loop_between(m, lo, hi, 0, p->order.k, 0, &s);
    kn_lv acc = add_carry(m, s, start);
    return close_carry_loop(m, s, product_step(m, p, product_factor(m, p, 0, a, k), product_factor(m, p, 1, b, k), acc));
}

static kn_lv in_lanes(maker *m, const product *p, kn_lv *a, kn_lv *b)
{
    kiln_dtype d = p->order.accumulator;
    bool fused = kiln_dtype_kind(d) == 'f';
    kn_lv s, k = open_lanes(m, p->order.run.n, (uint32_t)p->order.run.lanes, p->order.run.block, fused ? KN_S_fma : KN_S_add, d, &s);
    kn_lv x = product_factor(m, p, 0, a, k), y = product_factor(m, p, 1, b, k);
    if (!fused) x = lv_sop(m, KN_S_mul, d, d, x, y, 0);
    return close_lanes(m, s, x, fused ? y : 0, d);
}

kn_lv product_rounded(maker *m, const product *p, kn_lv v)
{
    return p->order.accumulator == p->y.dtype ? v : lv_sop(m, KN_S_convert, p->order.accumulator, p->y.dtype, v, 0, 0);
}

static kn_lv dot_at(maker *m, const product *p, const kn_lv *out)
{
    kn_lv a[MAX_RANK], b[MAX_RANK], v;
    product_outer(p, 0, out, a);
    product_outer(p, 1, out, b);
    bool open = product_open(m, p);
    if (p->order.k == 0) return lv_const(m, p->y.dtype, (kn_scalar){.c = {0, 0}});
    if (p->order.lanes) {
        v = in_lanes(m, p, a, b);
    } else if (p->order.k <= KN_DOT_BLOCK) { /* a number */
        v = chain(m, p, a, b, lv_int(m, 0), lv_int(m, p->order.k));
    } else {
        kn_lv start = product_zero(m, p), s, block = open_loop_between(m, lv_int(m, 0), product_blocks(m, p), 0, p->order.k, 0, &s);
        kn_lv total = add_carry(m, s, start), lo = lv_mul(m, block, lv_int(m, KN_DOT_BLOCK));
        kn_lv hi = lv_sop(m, KN_S_min, KILN_I64, KILN_I64, lv_add(m, lo, lv_int(m, KN_DOT_BLOCK)), lv_int(m, p->order.k), 0);
        kn_lv part = chain(m, p, a, b, lo, hi);
        v = close_carry_loop(m, s, lv_sop(m, KN_S_add, p->order.accumulator, p->order.accumulator, total, part, 0));
    }
    return product_rounded(m, p, open ? product_or_nothing(m, p, v) : v);
}

static void dot_body(maker *m, void *ud, const kn_lv *ix)
{
    product *p = ud;
    lv_store(m, p->slot, linear_index(m, p->y, ix), dot_at(m, p, ix));
}

/* Everything in registers: the same chains, written out. */
static void dot_registers(maker *m, const product *p)
{
    int64_t n = kiln_type_size(p->y);
    kiln_dtype d = p->order.accumulator;
    int64_t lanes = p->order.lanes && p->order.run.lanes < p->order.k ? p->order.run.lanes : p->order.k;
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n + 1), *t = KN_NEWN(&m->temp, kn_lv, lanes + 1);
    if (!MAKER_TRY_MEM(m, v && t)) return;
    for (int64_t q = 0; q < n && m->status == KILN_OK; q++) {
        kn_lv out[MAX_RANK], a[MAX_RANK], b[MAX_RANK], acc = product_zero(m, p);
        int64_t rest = q;
        for (uint32_t r = p->y.rank; r-- > 0;) {
            out[r] = lv_int(m, rest % p->y.dims[r]);
            rest /= p->y.dims[r];
        }
        product_outer(p, 0, out, a);
        product_outer(p, 1, out, b);
        for (int64_t k = 0; k < p->order.k; k++) {
            kn_lv x = product_factor(m, p, 0, a, lv_int(m, k)), y = product_factor(m, p, 1, b, lv_int(m, k));
            if (p->order.lanes) t[k % lanes] = product_step(m, p, x, y, k < lanes ? product_zero(m, p) : t[k % lanes]);
            else acc = product_step(m, p, x, y, acc);
        }
        if (p->order.k == 0) acc = lv_const(m, d, (kn_scalar){.c = {0, 0}});
        else if (p->order.lanes) acc = fold_lanes(m, KN_S_add, d, t, lanes, p->order.run.lanes);
        v[q] = product_rounded(m, p, acc);
    }
    put_registers(m, p->f, p->e->out[0], v);
}

static void make_product(maker *m, product *p)
{
    if (!emit_tiles(m, p)) make_nest(m, p->y.rank, p->y.dims, !p->order.lanes, dot_body, p);
}

static kn_dot_order order_at(const product *p, int64_t n)
{
    int64_t left[KN_RANK_LIMIT], right[KN_RANK_LIMIT];
    return kn_dot_order_of(kn_type_at(p->type[0], n, left), kn_type_at(p->type[1], n, right), &p->dims, p->y.dtype);
}

/* At one value of n an operand has free size 1, and the product another order than at all others. */
static bool other_order(const maker *m, const product *p, int64_t *free, kn_dot_order *out)
{
    int64_t a, b;
    if (!m->l->sized || p->order.lanes) return false;
    for (int side = 0; side < 2; side++) {
        *free = 1;
        for (uint32_t d = 0; d < p->type[side].rank; d++)
            if (!product_batches(p, side, d) && !product_contracts(p, side, d)) *free *= p->type[side].dims[d];
        if (!kn_size_open(*free) || !kn_size_split(*free, &a, &b) || a <= 0 || 1 - b < 0 || (1 - b) % a) continue;
        *out = order_at(p, (1 - b) / a);
        if (out->lanes) return true;
    }
    return false;
}

/* Is the order that of every size, but of those that other_order finds? */
static bool one_order(const product *p)
{
    bool same = true;
    for (int64_t n = 2; same && n <= 5; n++) same = order_at(p, n).lanes == p->order.lanes;
    int64_t contracted = 1;
    for (uint32_t i = 0; i < p->dims.n_contract; i++) {
        int64_t d = p->type[0].dims[p->dims.contract[0][i]];
        contracted *= kn_size_open(d) ? 1 : d;
    }
    bool by_k = kn_size_open(p->order.k) && contracted > 1; /* a dimension of size 1 does not count */
    return same && (!by_k || order_at(p, 1).lanes == p->order.lanes);
}

static void make_either(maker *m, product *p, int64_t free, kn_dot_order other)
{
    kn_lv one = lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, lv_int(m, free), lv_int(m, 1), 0);
    kn_lv selector = lv_sop(m, KN_S_convert, KILN_BOOL, KILN_I32, one, 0, 0), branch = open_statement(m, KN_L_IF, 2);
    uint32_t nests = m->l->nests;
    if (m->status != KILN_OK) return;
    region_of(m, branch)->selector = selector;
    for (uint32_t which = 0; which < 2 && m->status == KILN_OK; which++) {
        open_region_block(m, branch, which, true);
        if (which) p->order.lanes = true, p->order.run = other.run, p->order.run.n = p->order.k;
        make_product(m, p);
        close_block(m);
    }
    close_statement(m, branch);
    m->l->nests = nests + 1;
}

static product product_of(maker *m, frame *f, const kn_eqn *e)
{
    product p = {.f = f, .e = e, .y = f->j->vars[e->out[0]].type, .dims = kn_dot_dims_of(e)};
    for (int side = 0; side < 2; side++) {
        p.side[side] = place_of_atom(m, f, e->in[side]);
        p.type[side] = kn_type_of(f->j, e->in[side]);
    }
    if (m->status != KILN_OK) return p;
    if (p.type[0].rank > MAX_RANK || p.type[1].rank > MAX_RANK || p.y.rank > MAX_RANK)
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "dot_general of rank %u; at most %d dimensions are compiled", p.y.rank, MAX_RANK);
    else p.order = kn_dot_order_of(p.type[0], p.type[1], &p.dims, p.y.dtype);
    return p;
}

void emit_dot(maker *m, frame *f, const kn_eqn *e)
{
    product p = product_of(m, f, e);
    if (m->status != KILN_OK) return;
    bool in_registers = (p.side[0]->kind == PLACE_REGISTERS && p.side[1]->kind == PLACE_REGISTERS) || p.order.k == 0;
    if (small(m, p.y) && in_registers) {
        dot_registers(m, &p);
        return;
    }
    if (p.y.rank == 0) {
        kn_lv v = dot_at(m, &p, NULL);
        if (m->status == KILN_OK) put_registers(m, f, e->out[0], &v);
        m->l->nests++;
        return;
    }
    p.slot = slot_for(m, f, e->out[0]);
    if (m->l->sized && !one_order(&p)) {
        fail_sized(m, e, "how its sums are ordered depends on it");
        return;
    }
    kn_dot_order other;
    int64_t free;
    if (other_order(m, &p, &free, &other)) make_either(m, &p, free, other);
    else if (kiln_type_size(p.y) > 0) make_product(m, &p);
    put_memory(m, f, e->out[0], p.slot);
}

/* ---- with what reads it ---- */

bool makes_tiles(const kn_jaxpr *j, const kn_eqn *e)
{
    product p = {.e = e, .y = j->vars[e->out[0]].type, .dims = kn_dot_dims_of(e)};
    int64_t free = kiln_type_size(p.y);
    for (int side = 0; side < 2; side++) {
        p.type[side] = kn_type_of(j, e->in[side]);
        if (p.type[side].rank > MAX_RANK || kn_type_open(p.type[side])) return false; /* open ones may be made in two orders */
    }
    for (uint32_t d = 0; d < p.dims.n_batch; d++) free /= p.y.dims[d] > 0 ? p.y.dims[d] : 1;
    p.order = kn_dot_order_of(p.type[0], p.type[1], &p.dims, p.y.dtype);
    return p.y.rank <= MAX_RANK && free > 1 && !p.order.lanes && p.order.k > 0;
}

/* May `var` be stored over what stands where it is wanted, although the product's operands are read meanwhile? */
static bool into_wanted(maker *m, frame *f, const kn_eqn *e, uint32_t var, root at, bool *in_the_way)
{
    int64_t donated;
    uint32_t guard = guard_of(m, f, var, &donated);
    *in_the_way = false;
    for (uint32_t i = 0; i < e->nin && guard; i++) *in_the_way = *in_the_way || reads_var(m, f, e->in[i], guard - 1);
    return !*in_the_way && may_overwrite(m, f, var, &at, 1);
}

/* The product alone, then the rest in a nest of its own: where the result shall stand where an operand stands. */
static void emit_apart(maker *m, frame *f, const kn_eqn *e, root at)
{
    emit_dot(m, f, e);
    m->nest_number++;
    emit_stored(m, f, &at, 1);
}

void emit_dot_into(maker *m, frame *f, uint32_t var)
{
    root at = {f->plan[var].def, f->plan[var].def_result};
    const kn_eqn *e = &f->j->eqns[f->plan[var].product - 1], *use = &f->j->eqns[at.pos];
    kiln_type t = f->j->vars[var].type;
    m->scope = e->scope;
    m->loc = e->loc;
    bool wanted = f->plan[var].want, in_the_way = false, over = wanted && into_wanted(m, f, e, var, at, &in_the_way);
    if (in_the_way) {
        emit_apart(m, f, e, at);
        return;
    }
    product p = product_of(m, f, e);
    p.into = new_place(m, PLACE_LAZY, t);
    p.element = new_place(m, PLACE_TILE, p.y);
    if (m->status != KILN_OK) return;
    p.into->frame = f;
    p.into->e = use;
    p.into->result = at.result;
    p.plain = plain_closure(m, f, var, t);
    p.into_slot = over ? f->plan[var].want - 1 : new_slot(m, KN_SLOT_SCRATCH, 0, t.dtype, kiln_type_size(t));
    int64_t donated;
    bool read = over && guard_of(m, f, var, &donated) != 0;
    bool blocks = p.order.k > KN_DOT_BLOCK && p.y.dtype == p.order.accumulator; /* their sums may need memory */
    bool apart = blocks && (read || t.dtype != p.order.accumulator);
    p.slot = apart ? new_slot(m, KN_SLOT_SCRATCH, 0, p.y.dtype, kiln_type_size(p.y)) : p.into_slot;
    f->at[e->out[0]] = p.element;
    if (m->o.kept) m->o.kept(m->o.kept_ud, f->source, var, ++m->nest_number);
    emit_tiles(m, &p);
    m->l->epilogues++;
    put_memory(m, f, var, p.into_slot);
}
