/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters: windows of an array are combined with updates, one index vector after the other, as numerics 6 says. Index vectors go one by
 * one; the elements of a window are independent and run in vectors. Whether a window lies inside is one unsigned comparison for each
 * entry of its index vector, and a branch around it; inside, the entries are known to be in bounds.
 *
 *      loop v in 0 .. vectors
 *        if 0 <= index[v] <= last
 *          loop w in 0 .. row width 16
 *            out[index[v] * row + w] = add out[..], updates[v * row + w]
 *
 * Where the indices are said to be sorted and a window is one element, its value is kept while the same place is named again:
 *
 *      loop v in 0 .. vectors carry place, value
 *        if 0 <= index[v] <= last
 *          old = value if index[v] = place, else out[index[v]]     a branch: what was just stored need not be waited for
 *          place = index[v], value = out[place] = add old, updates[v] */
#include "loop/maker.h"
#include "prim/index.h"

/* Windows of at most FEW elements have no loop; a small array in registers takes at most MOST_CHOICES choices of an element.
 * RUN: updates of a place in a row, on average, that make up for asking whether it is the same. */
enum { FEW = 4, MOST_CHOICES = 256, RUN = 8 };

typedef struct spread {
    frame *f;
    const kn_eqn *e;
    kn_index_dims d;
    kn_index_mode mode;
    kn_sop op; /* NONE: the update replaces */
    kiln_type x, indices, u;
    int64_t sizes[MAX_RANK];
    place *index, *updates;
    uint32_t slot;
    kn_lv *regs; /* instead of the slot */
} spread;

static bool parts_of(const kn_jaxpr *j, const kn_eqn *e, spread *s)
{
    *s = (spread){.e = e, .op = (kn_sop)e->prim->scalar_op, .x = kn_in_type(j, e, 0), .indices = kn_in_type(j, e, 1), .u = kn_in_type(j, e, 2)};
    kn_index_dims_of(kn_param_of(e, "dimension_numbers"), true, &s->d);
    kn_index_mode_of(kn_param_of(e, "mode"), &s->mode);
    if (s->x.rank > MAX_RANK || s->u.rank > MAX_RANK || s->indices.rank > MAX_RANK) return false;
    kn_index_window(&s->d, s->x.rank, s->u, s->sizes);
    return true;
}

/* The innermost dimension of the window that has more than one entry; -1: none. */
static int innermost(const spread *s)
{
    for (uint32_t d = s->x.rank; d-- > 0;)
        if (s->sizes[d] > 1) return (int)d;
    return -1;
}

static int64_t window_size(const spread *s)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < s->x.rank; d++) n *= s->sizes[d];
    return n;
}

bool scatter_rows(const kn_jaxpr *j, const kn_eqn *e)
{
    spread s;
    if (!parts_of(j, e, &s)) return false;
    int d = innermost(&s);
    return d >= 0 && s.sizes[d] > FEW;
}

/* ---- where a window starts ---- */

static kn_lv convert(maker *m, kn_lv v, kiln_dtype to) { return lv_sop(m, KN_S_convert, lv_dtype(m, v), to, v, 0, 0); }

/* Entry k of the index vector, in a type of at least 32 bits. */
static kn_lv entry(maker *m, const spread *s, const kn_lv *batch, uint32_t k)
{
    kn_lv ix[MAX_RANK];
    for (uint32_t d = 0; d + 1 < s->indices.rank; d++) ix[d] = batch[d];
    ix[s->indices.rank - 1] = lv_int(m, k);
    kn_lv v = element_of(m, s->index, ix);
    if (m->status != KILN_OK) return 0;
    return kiln_dtype_bytes(lv_dtype(m, v)) < 4 ? convert(m, v, KILN_I32) : v;
}

static kn_lv bits_of(maker *m, kn_lv v, kiln_dtype to) { return lv_dtype(m, v) == to ? v : lv_sop(m, KN_S_bitcast, lv_dtype(m, v), to, v, 0, 0); }

static bool known_inside(const maker *m, kn_lv v, int64_t most)
{
    const value_facts *f = &m->facts.v[v];
    return (lv_dtype(m, v) == KILN_I32 || lv_dtype(m, v) == KILN_I64) && kn_size_at_most(0, f->lo) && kn_size_at_most(f->hi, most);
}

/* 0 <= v <= most, or 0 where it always holds. */
static kn_lv lies_inside(maker *m, kn_lv v, int64_t most)
{
    kiln_dtype d = lv_dtype(m, v), u = d == KILN_I32 ? KILN_U32 : d == KILN_I64 ? KILN_U64 : d;
    int64_t largest = d == KILN_I32 ? INT32_MAX : d == KILN_U32 ? UINT32_MAX : INT64_MAX;
    if (known_inside(m, v, most)) return 0;
    if (open_size(m, most)) { /* may be more than d holds */
        kn_lv end = bits_of(m, lv_int(m, most + 1), KILN_U64);
        return lv_sop(m, KN_S_lt, KILN_U64, KILN_BOOL, d == KILN_U64 ? v : bits_of(m, convert(m, v, KILN_I64), KILN_U64), end, 0);
    }
    if (d == KILN_U32 && most >= largest) return 0;
    kn_lv end = lv_const(m, u, (kn_scalar){.u = (uint64_t)(most < largest ? most : largest) + 1});
    return lv_sop(m, KN_S_lt, u, KILN_BOOL, bits_of(m, v, u), end, 0);
}

/* Of a window that is moved inside. */
static kn_lv clamped(maker *m, kn_lv v, int64_t most)
{
    kiln_dtype d = lv_dtype(m, v);
    if (open_size(m, most) && d != KILN_U64) v = convert(m, v, d = KILN_I64);
    int64_t largest = d == KILN_I32 ? INT32_MAX : d == KILN_U32 ? UINT32_MAX : INT64_MAX;
    if (kiln_dtype_kind(d) == 'i') v = lv_sop(m, KN_S_max, d, d, v, lv_const(m, d, (kn_scalar){.i = 0}), 0);
    if (most < largest || d == KILN_U64) v = lv_sop(m, KN_S_min, d, d, v, open_size(m, most) ? bits_of(m, lv_int(m, most), d) : lv_const(m, d, (kn_scalar){.i = most}), 0);
    return convert(m, v, KILN_I64);
}

/* Of one that lies inside; `certain`: in a block that is entered only then. */
static kn_lv in_bounds(maker *m, kn_lv v, int64_t most, bool certain)
{
    kiln_dtype d = lv_dtype(m, v), u = d == KILN_I32 ? KILN_U32 : d == KILN_I64 ? KILN_U64 : d;
    int64_t known;
    if (lv_known(m, v, &known)) return lv_int(m, known);
    if (known_inside(m, v, most)) return convert(m, v, KILN_I64);
    kn_lv at = convert(m, bits_of(m, v, u), KILN_I64);
    if (certain && m->status == KILN_OK && m->facts.v[at].block == m->open.v[m->open.n - 1].id) m->facts.v[at].lo = 0, m->facts.v[at].hi = most;
    return at;
}

/* Entries of the index vector in raw; the condition that the window lies inside, or 0. */
static kn_lv test_window(maker *m, const spread *s, const kn_lv *batch, kn_lv *raw)
{
    kn_lv all = 0;
    for (uint32_t k = 0; k < s->d.map.n && m->status == KILN_OK; k++) {
        int64_t axis = s->d.map.v[k];
        raw[k] = entry(m, s, batch, k);
        kn_lv ok = m->status == KILN_OK && s->mode != KN_INDEX_CLIP ? lies_inside(m, raw[k], s->x.dims[axis] - s->sizes[axis]) : 0;
        if (ok) all = all ? lv_sop(m, KN_S_and, KILN_BOOL, KILN_BOOL, all, ok, 0) : ok;
    }
    return all;
}

static void find_start(maker *m, const spread *s, const kn_lv *batch, const kn_lv *raw, kn_lv *start)
{
    for (uint32_t d = 0; d < s->x.rank; d++) start[d] = lv_int(m, 0);
    for (uint32_t k = 0; k < s->d.map.n && m->status == KILN_OK; k++) {
        int64_t axis = s->d.map.v[k], most = s->x.dims[axis] - s->sizes[axis];
        start[axis] = s->mode == KN_INDEX_CLIP ? clamped(m, raw[k], most) : in_bounds(m, raw[k], most, !s->regs);
    }
    for (uint32_t k = 0; k < s->d.operand_batch.n; k++) start[s->d.operand_batch.v[k]] = batch[s->d.indices_batch.v[k]];
}

/* ---- one element ---- */

static kn_lv update_at(maker *m, const spread *s, const kn_lv *batch, const kn_lv *w)
{
    kn_lv ix[MAX_RANK];
    uint32_t b = 0, q = 0;
    for (uint32_t i = 0; i < s->u.rank; i++) {
        if (!kn_listed(s->d.window, i)) {
            ix[i] = batch[b++];
            continue;
        }
        while (kn_listed(s->d.collapsed, q) || kn_listed(s->d.operand_batch, q)) q++;
        ix[i] = w[q++];
    }
    return element_of(m, s->updates, ix);
}

static kn_lv combine(maker *m, const spread *s, kn_lv old, kn_lv new)
{
    return s->op == KN_S_NONE ? new : lv_sop(m, s->op, s->x.dtype, s->x.dtype, old, new, 0);
}

static kn_lv place_in(maker *m, const spread *s, const kn_lv *start, const kn_lv *w)
{
    kn_lv to[MAX_RANK];
    for (uint32_t d = 0; d < s->x.rank; d++) to[d] = lv_add(m, start[d], w[d]);
    return linear_index(m, s->x, to);
}

static void put_element(maker *m, const spread *s, const kn_lv *batch, const kn_lv *start, const kn_lv *w)
{
    kn_lv at = place_in(m, s, start, w);
    kn_lv new = update_at(m, s, batch, w);
    lv_store(m, s->slot, at, combine(m, s, s->op == KN_S_NONE ? 0 : lv_load(m, s->slot, at), new));
}

/* ---- one window ---- */

static uint32_t lanes_for(const maker *m, const spread *s, int64_t n)
{
    unsigned lanes = m->o.vector_bits / (8 * (unsigned)kiln_dtype_bytes(s->x.dtype));
    while (lanes > 1 && (int64_t)lanes / 2 >= n) lanes /= 2;
    return lanes > 1 ? lanes : 0;
}

static void put_window(maker *m, const spread *s, const kn_lv *batch, const kn_lv *start)
{
    kn_lv w[MAX_RANK], loops[MAX_RANK];
    int inner = innermost(s);
    bool few = window_size(s) <= FEW || (inner >= 0 && s->sizes[inner] <= FEW);
    uint32_t open = 0;
    for (uint32_t d = 0; d < s->x.rank && m->status == KILN_OK; d++) {
        bool one_by_one = window_size(s) <= FEW || (few && (int)d == inner);
        w[d] = lv_int(m, 0);
        if (s->sizes[d] == 1 || one_by_one) continue;
        w[d] = open_loop(m, 0, s->sizes[d], (int)d == inner ? lanes_for(m, s, s->sizes[d]) : 0, &loops[open++]);
    }
    int64_t n = !few ? 1 : window_size(s) <= FEW ? window_size(s) : s->sizes[inner];
    for (int64_t q = 0; q < n && m->status == KILN_OK; q++) {
        int64_t rest = q;
        for (uint32_t d = s->x.rank; few && d-- > 0 && rest;) {
            if (s->sizes[d] == 1) continue;
            w[d] = lv_int(m, rest % s->sizes[d]);
            rest /= s->sizes[d];
        }
        put_element(m, s, batch, start, w);
        for (uint32_t d = 0; few && d < s->x.rank; d++)
            if (window_size(s) <= FEW || (int)d == inner) w[d] = lv_int(m, 0);
    }
    while (open-- > 0) close_loop(m, loops[open]);
}

/* Opens the branch that is taken where `ok`, a bool, holds. */
static kn_lv open_if(maker *m, kn_lv ok)
{
    kn_lv selector = convert(m, ok, KILN_I32), branch = open_statement(m, KN_L_IF, 2);
    if (m->status != KILN_OK) return 0;
    region_of(m, branch)->selector = selector;
    open_region_block(m, branch, 1, true);
    return branch;
}

static void close_if(maker *m, kn_lv branch)
{
    if (m->status != KILN_OK) return;
    close_block(m);
    close_statement(m, branch);
}

static void vector_body(maker *m, void *ud, const kn_lv *batch)
{
    const spread *s = ud;
    kn_lv raw[MAX_RANK], start[MAX_RANK], ok = test_window(m, s, batch, raw), branch = 0;
    if (m->status != KILN_OK) return;
    bool known = ok && m->l->inst.v[ok].op == KN_L_CONST;
    if (known && !m->l->inst.v[ok].imm.b) return;
    if (ok && !known) branch = open_if(m, ok);
    find_start(m, s, batch, raw, start);
    put_window(m, s, batch, start);
    if (branch) close_if(m, branch);
}

/* ---- runs of one place ---- */

static bool has_runs(const spread *s, int64_t vectors)
{
    const kn_param *sorted = kn_param_of(s->e, "indices_are_sorted"), *unique = kn_param_of(s->e, "unique_indices");
    if (!sorted->b || unique->b || s->op == KN_S_NONE || window_size(s) != 1 || s->d.operand_batch.n) return false;
    for (uint32_t d = 0; d + 1 < s->indices.rank; d++)
        if (s->indices.dims[d] != 1 && s->indices.dims[d] != vectors) return false;
    return vectors / RUN >= kiln_type_size(s->x);
}

/* The element at `at`: `value` where that is its place. */
static kn_lv kept_or_loaded(maker *m, const spread *s, kn_lv at, kn_lv last, kn_lv value)
{
    kn_lv same = lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, at, last, 0), selector = convert(m, same, KILN_I32);
    kn_lv branch = open_statement(m, KN_L_IF, 2);
    if (m->status != KILN_OK) return 0;
    region_of(m, branch)->selector = selector;
    open_region_block(m, branch, 0, true);
    add_yield(m, branch, 0, lv_load(m, s->slot, at));
    close_block(m);
    open_region_block(m, branch, 1, true);
    add_yield(m, branch, 1, value);
    close_block(m);
    close_statement(m, branch);
    return add_result(m, branch, s->x.dtype);
}

static void put_runs(maker *m, const spread *s, int64_t vectors)
{
    kn_lv start[MAX_RANK], raw[MAX_RANK], batch[MAX_RANK], w[MAX_RANK], loop, branch = 0;
    kn_lv nowhere = lv_int(m, -1), none = lv_const(m, s->x.dtype, (kn_scalar){.u = 0}), v = open_loop(m, 0, vectors, 0, &loop);
    kn_lv last = add_carry(m, loop, nowhere), value = add_carry(m, loop, none);
    for (uint32_t d = 0; d + 1 < s->indices.rank; d++) batch[d] = s->indices.dims[d] == 1 ? lv_int(m, 0) : v;
    for (uint32_t d = 0; d < s->x.rank; d++) w[d] = lv_int(m, 0);
    kn_lv ok = test_window(m, s, batch, raw);
    if (ok) branch = open_if(m, ok);
    find_start(m, s, batch, raw, start);
    if (m->status != KILN_OK) return;
    kn_lv at = place_in(m, s, start, w), old = kept_or_loaded(m, s, at, last, value);
    kn_lv new = combine(m, s, old, update_at(m, s, batch, w));
    lv_store(m, s->slot, at, new);
    if (branch) {
        add_yield(m, branch, 1, at);
        add_yield(m, branch, 1, new);
        close_block(m);
        open_region_block(m, branch, 0, true);
        add_yield(m, branch, 0, last);
        add_yield(m, branch, 0, value);
        close_if(m, branch);
        at = add_result(m, branch, KILN_I64);
        new = add_result(m, branch, s->x.dtype);
    }
    add_yield(m, loop, 0, at);
    add_yield(m, loop, 0, new);
    close_loop(m, loop);
    add_result(m, loop, KILN_I64);
    add_result(m, loop, s->x.dtype);
    m->l->nests++;
}

/* ---- in registers ---- */

static void put_in_registers(maker *m, const spread *s, const kn_lv *batch)
{
    kn_lv raw[MAX_RANK], start[MAX_RANK], w[MAX_RANK], ok = test_window(m, s, batch, raw);
    if (m->status != KILN_OK) return;
    if (ok && m->l->inst.v[ok].op == KN_L_CONST && !m->l->inst.v[ok].imm.b) return;
    find_start(m, s, batch, raw, start);
    int64_t n = kiln_type_size(s->x), nw = window_size(s), known;
    for (int64_t q = 0; q < nw && m->status == KILN_OK; q++) {
        int64_t rest = q;
        for (uint32_t d = s->x.rank; d-- > 0;) {
            w[d] = lv_int(m, rest % s->sizes[d]);
            rest /= s->sizes[d];
        }
        kn_lv at = place_in(m, s, start, w), new = update_at(m, s, batch, w);
        if (m->status != KILN_OK) return;
        bool fixed = lv_known(m, at, &known);
        for (int64_t k = fixed ? known : 0; k < (fixed ? known + 1 : n); k++) {
            kn_lv here = fixed ? 0 : lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, at, lv_int(m, k), 0);
            if (ok) here = here ? lv_sop(m, KN_S_and, KILN_BOOL, KILN_BOOL, here, ok, 0) : ok;
            kn_lv v = combine(m, s, s->regs[k], new);
            s->regs[k] = here ? lv_sop(m, KN_S_select, s->x.dtype, s->x.dtype, here, v, s->regs[k]) : v;
        }
    }
}

static bool fits_registers(const maker *m, const spread *s)
{
    return small(m, s->x) && small(m, s->u) && small(m, s->indices) && kiln_type_size(s->x) * kiln_type_size(s->u) <= MOST_CHOICES;
}

/* Each index vector by itself, without a loop over them. */
static void one_by_one(maker *m, spread *s, int64_t vectors)
{
    for (int64_t v = 0; v < vectors && m->status == KILN_OK; v++) {
        kn_lv batch[MAX_RANK];
        int64_t rest = v;
        for (uint32_t d = s->indices.rank - 1; d-- > 0;) {
            batch[d] = lv_int(m, rest % s->indices.dims[d]);
            rest /= s->indices.dims[d];
        }
        if (s->regs) put_in_registers(m, s, batch);
        else vector_body(m, s, batch);
    }
}

static void all_in_registers(maker *m, spread *s, int64_t vectors)
{
    int64_t n = kiln_type_size(s->x);
    const kn_lv *old = registers_of(m, place_of_atom(m, s->f, s->e->in[0]));
    s->regs = KN_NEWN(&m->temp, kn_lv, n);
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, s->regs)) return;
    memcpy(s->regs, old, (size_t)n * sizeof *old);
    one_by_one(m, s, vectors);
    put_registers(m, s->f, s->e->out[0], s->regs);
}

void emit_scatter(maker *m, frame *f, const kn_eqn *e)
{
    spread s;
    if (!parts_of(f->j, e, &s)) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "%s of rank %u; at most %d dimensions are compiled", e->prim->name, s.x.rank, MAX_RANK);
        return;
    }
    s.f = f;
    kiln_type vectors = {s.indices.dtype, s.indices.rank - 1, s.indices.dims};
    int64_t n = kiln_type_size(vectors);
    if (fits_registers(m, &s)) {
        s.index = place_of_atom(m, f, e->in[1]);
        s.updates = place_of_atom(m, f, e->in[2]);
        all_in_registers(m, &s, n);
        return;
    }
    bool same = false;
    s.index = read_beside(m, f, e, 1, &same);
    s.updates = read_beside(m, f, e, 2, &same);
    s.slot = slot_to_change(m, f, e, same);
    if (n <= FEW) one_by_one(m, &s, n);
    else if (has_runs(&s, n)) put_runs(m, &s, n);
    else make_nest(m, vectors.rank, vectors.dims, false, vector_body, &s);
    put_whole(m, f, e->out[0], s.slot);
}
