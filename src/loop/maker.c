/* SPDX-License-Identifier: Apache-2.0 */
/* Building instructions: pure ones are shared, folded and put into the outermost open block that has their operands, which
 * moves invariant address arithmetic out of loops by itself. */
#include "loop/maker.h"

#include "rt/reduce.h"

#include <math.h>

static bool failed(const maker *m) { return m->status != KILN_OK; }

void fail_sized(maker *m, const kn_eqn *e, const char *why)
{
    if (!failed(m)) m->status = kn_needs_size(m->ctx, m->prog, e->prim->name, e->loc, why);
}

kiln_dtype lv_dtype(const maker *m, kn_lv v) { return m->l->inst.v[v].dtype; }

static kn_lv add_inst(maker *m, kn_linst i, value_facts f)
{
    i.scope = m->scope;
    i.loc = m->loc;
    if (!MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->inst, i))) return 0;
    if (!MAKER_TRY_MEM(m, kn_push(&m->temp, &m->facts, f))) return 0;
    return m->l->inst.n - 1;
}

void append_at(maker *m, uint32_t depth, kn_lv inst)
{
    if (failed(m) || !inst) return;
    MAKER_TRY_MEM(m, kn_push(m->arena, &m->open.v[depth].b->inst, inst));
}

static uint32_t innermost(const maker *m) { return m->open.n - 1; }

static uint32_t barrier_depth(const maker *m)
{
    for (uint32_t d = innermost(m); d > 0; d--)
        if (m->open.v[d].barrier) return d;
    return 0;
}

/* ---- sharing ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t inst_hash(const kn_linst *i, uint64_t epoch)
{
    uint64_t h = mix(mix(mix((uint64_t)i->op, (uint64_t)i->sop), (uint64_t)i->dtype << 8 | (uint64_t)i->from), i->slot);
    h = mix(mix(mix(h, i->a), i->b), i->c);
    h = mix(h, i->imm.u);
    return mix(h, i->op == KN_L_LOAD ? epoch : 0);
}

static bool inst_same(const kn_linst *a, const kn_linst *b)
{
    return a->op == b->op && a->sop == b->sop && a->dtype == b->dtype && a->from == b->from && a->slot == b->slot && a->a == b->a &&
           a->b == b->b && a->c == b->c && a->imm.u == b->imm.u && a->index == b->index;
}

static bool in_scope(const maker *m, kn_lv v)
{
    const value_facts *f = &m->facts.v[v];
    return m->l->inst.v[v].op == KN_L_CONST || (f->depth < m->open.n && m->open.v[f->depth].id == f->block);
}

/* Loads carry the epoch in `index` while they are looked up. */
static kn_lv find(const maker *m, const kn_linst *i, uint64_t h)
{
    for (uint32_t k = (uint32_t)h & (m->cons_cap - 1);; k = (k + 1) & (m->cons_cap - 1)) {
        kn_lv v = m->cons[k];
        if (!v) return 0;
        if (inst_same(&m->l->inst.v[v], i) && in_scope(m, v)) return v;
    }
}

static void enter(maker *m, kn_lv v, uint64_t h)
{
    if ((m->cons_n + 1) * 2 > m->cons_cap) {
        uint32_t cap = m->cons_cap * 2, *old = m->cons, *table = KN_NEWN(&m->temp, uint32_t, cap);
        if (!MAKER_TRY_MEM(m, table)) return;
        for (uint32_t k = 0; k < m->cons_cap; k++) {
            kn_lv o = old[k];
            if (!o || !in_scope(m, o)) continue; /* stale ones are dropped here */
            uint32_t at = (uint32_t)inst_hash(&m->l->inst.v[o], m->l->inst.v[o].index) & (cap - 1);
            while (table[at]) at = (at + 1) & (cap - 1);
            table[at] = o;
        }
        m->cons = table;
        m->cons_cap = cap;
        m->cons_n = 0;
        for (uint32_t k = 0; k < cap; k++) m->cons_n += table[k] != 0;
    }
    uint32_t k = (uint32_t)h & (m->cons_cap - 1);
    while (m->cons[k]) k = (k + 1) & (m->cons_cap - 1);
    m->cons[k] = v;
    m->cons_n++;
}

/* ---- constants and operations ---- */

static kn_lv constant(maker *m, kiln_dtype d, kn_scalar v, bool size)
{
    if (failed(m)) return 0;
    kn_scalar bits = {.c = {0, 0}};
    kn_scalar r = kn_scalar_round(d, v);
    if (kiln_dtype_kind(d) == 'b') bits.b = r.b;
    else bits = r;
    kn_linst i = {.op = KN_L_CONST, .dtype = d, .imm = bits, .index = size ? KN_CONST_SIZE : 0};
    uint64_t h = inst_hash(&i, 0);
    kn_lv found = find(m, &i, h);
    if (found) return found;
    value_facts f = {.block = m->open.v[0].id, .lo = INT64_MIN, .hi = INT64_MAX};
    if (d == KILN_I64) f.offset = v.i;
    bool number = size || !open_size(m, bits.i); /* else it would be taken for a size */
    if (d == KILN_I64 && number) f.lo = f.hi = v.i;
    if (d == KILN_I32) f.lo = f.hi = bits.i;
    kn_lv n = add_inst(m, i, f);
    if (n) {
        append_at(m, 0, n);
        enter(m, n, h);
    }
    return n;
}

kn_lv lv_const(maker *m, kiln_dtype d, kn_scalar v) { return constant(m, d, v, false); }
kn_lv lv_int(maker *m, int64_t v) { return constant(m, KILN_I64, (kn_scalar){.i = v}, m->l && open_size(m, v)); }

static bool is_size(const maker *m, kn_lv v) { return v && kn_is_size(&m->l->inst.v[v]); }

bool lv_known_size(maker *m, kn_lv v, int64_t *value)
{
    const kn_linst *i = &m->l->inst.v[v];
    if (i->op == KN_L_CONST && (kiln_dtype_kind(i->dtype) == 'i' || kiln_dtype_kind(i->dtype) == 'u')) {
        *value = i->imm.i;
        return i->index == KN_CONST_SIZE || !open_size(m, *value); /* else it would be taken for a size */
    }
    if ((i->dtype == KILN_I64 || m->l->sized) && v && m->facts.v[v].lo == m->facts.v[v].hi) {
        *value = m->facts.v[v].lo;
        return true;
    }
    return false;
}

bool lv_known(maker *m, kn_lv v, int64_t *value)
{
    return lv_known_size(m, v, value) && !open_size(m, *value);
}

static bool is_const(const maker *m, kn_lv v) { return v && m->l->inst.v[v].op == KN_L_CONST; }

static bool add_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

/* Does `out`, made of x and y, stand for a size where one of them does, and for a number where none does? */
static bool stands(int64_t x, int64_t y, int64_t out)
{
    int64_t a, b;
    return kn_size_open(x) || kn_size_open(y) ? kn_size_split(out, &a, &b) : !kn_size_open(out);
}
static bool summed(int64_t x, int64_t y, int64_t *out) { return add_ok(x, y, out) && stands(x, y, *out); }
static bool multiplied(int64_t x, int64_t y, int64_t *out) { return !__builtin_mul_overflow(x, y, out) && stands(x, y, *out); }

/* Is v = op(x, c) with a constant c? */
static bool by_constant(maker *m, kn_lv v, kn_sop op, kn_lv *x, int64_t *c)
{
    const kn_linst *in = &m->l->inst.v[v];
    if (in->op != KN_L_SOP || in->sop != op || in->from != KILN_I64 || !lv_known(m, in->b, c)) return false;
    *x = in->a;
    return true;
}

/* y * k if part = (y rem n) * k and n * k = step, where y and n are given; else 0. */
static kn_lv remainder_of(maker *m, kn_lv part, kn_lv y, int64_t n, int64_t step)
{
    kn_lv of, scaled = part;
    int64_t k = 1, by, whole;
    if (!by_constant(m, part, KN_S_mul, &scaled, &k)) scaled = part, k = 1;
    bool good = by_constant(m, scaled, KN_S_rem, &of, &by) && of == y && by == n && !__builtin_mul_overflow(n, k, &whole) && whole == step;
    return good ? lv_mul(m, y, lv_int(m, k)) : 0;
}

/* What was divided comes together again: (y / n) * (n * k) + (y rem n) * k = y * k, of any y; a sum may follow. 0: it is not of that form. */
static kn_lv rejoined(maker *m, kn_lv high, kn_lv low)
{
    kn_lv quotient, y, whole;
    int64_t step, n;
    if (!by_constant(m, high, KN_S_mul, &quotient, &step) || !by_constant(m, quotient, KN_S_div, &y, &n) || n == 0) return 0;
    if ((whole = remainder_of(m, low, y, n, step))) return whole;
    const kn_linst sum = m->l->inst.v[low];
    if (sum.op != KN_L_SOP || sum.sop != KN_S_add || sum.from != KILN_I64 || !(whole = remainder_of(m, sum.a, y, n, step))) return 0;
    return lv_add(m, whole, sum.b);
}

/* Index arithmetic: (x + c) + d = x + (c + d), (x + c) * d = x*d + c*d, so that constants end up in the address. */
static kn_lv fold_index(maker *m, kn_sop op, kn_lv a, kn_lv b, bool *done)
{
    int64_t x, y, sum;
    bool ka = lv_known_size(m, a, &x), kb = lv_known_size(m, b, &y);
    *done = true;
    if (op == KN_S_add) {
        if (ka && kb && summed(x, y, &sum)) return lv_int(m, sum);
        if (ka && !kb) return fold_index(m, op, b, a, done);
        if (kb && y == 0) return a;
        value_facts fa = m->facts.v[a];
        if (kb && fa.base && fa.base != a && summed(fa.offset, y, &sum)) return lv_add(m, fa.base, lv_int(m, sum));
        if (!kb && fa.base && fa.base != a) return lv_add(m, lv_add(m, fa.base, b), lv_int(m, fa.offset));
        value_facts fb = m->facts.v[b];
        if (!kb && fb.base && fb.base != b) return lv_add(m, lv_add(m, a, fb.base), lv_int(m, fb.offset));
        kn_lv joined = kb ? 0 : rejoined(m, a, b);
        if (joined) return joined;
    } else if (op == KN_S_sub) {
        if (ka && kb && y != INT64_MIN && summed(x, -y, &sum)) return lv_int(m, sum);
        if (kb && y != INT64_MIN) return lv_add(m, a, lv_int(m, -y));
    } else if (op == KN_S_mul) {
        if (ka && kb && multiplied(x, y, &sum)) return lv_int(m, sum);
        if (ka && !kb) return fold_index(m, op, b, a, done);
        if (kb && y == 0) return b;
        if (kb && y == 1) return a;
        value_facts fa = m->facts.v[a];
        int64_t product;
        if (kb && fa.base && fa.base != a && multiplied(fa.offset, y, &product))
            return lv_add(m, lv_mul(m, fa.base, b), lv_int(m, product));
    }
    *done = false;
    return 0;
}

static value_facts index_facts(const maker *m, kn_sop op, kn_lv a, kn_lv b)
{
    value_facts f = {.lo = INT64_MIN, .hi = INT64_MAX};
    const value_facts *x = &m->facts.v[a], *y = b ? &m->facts.v[b] : NULL;
    int64_t lo, hi;
    switch (op) {
    case KN_S_add:
        if (add_ok(x->lo, y->lo, &lo) && add_ok(x->hi, y->hi, &hi)) f.lo = lo, f.hi = hi;
        break;
    case KN_S_sub:
        if (!__builtin_sub_overflow(x->lo, y->hi, &lo) && !__builtin_sub_overflow(x->hi, y->lo, &hi)) f.lo = lo, f.hi = hi;
        break;
    case KN_S_mul:
        if (y->lo == y->hi && !__builtin_mul_overflow(x->lo, y->lo, &lo) && !__builtin_mul_overflow(x->hi, y->lo, &hi))
            f.lo = lo < hi ? lo : hi, f.hi = lo < hi ? hi : lo;
        break;
    case KN_S_min:
        f.lo = kn_size_at_most(x->lo, y->lo) ? x->lo : kn_size_at_most(y->lo, x->lo) ? y->lo : INT64_MIN;
        f.hi = kn_size_at_most(x->hi, y->hi) ? x->hi : kn_size_at_most(y->hi, x->hi) || kn_size_open(y->hi) ? y->hi : x->hi;
        break;
    case KN_S_max:
        f.lo = kn_size_at_most(y->lo, x->lo) ? x->lo : kn_size_at_most(x->lo, y->lo) || !kn_size_open(y->lo) ? y->lo : x->lo;
        f.hi = kn_size_at_most(x->hi, y->hi) ? y->hi : kn_size_at_most(y->hi, x->hi) ? x->hi : INT64_MAX;
        break;
    case KN_S_div:
        if (y->lo != y->hi || y->lo <= 0 || open_size(m, y->lo)) break;
        if (!open_size(m, x->lo) && !open_size(m, x->hi)) f.lo = x->lo / y->lo, f.hi = x->hi / y->lo;
        else if (kn_size_at_most(0, x->lo)) f.lo = 0, f.hi = x->hi;
        break;
    case KN_S_rem:
        if (y->lo != y->hi || y->lo <= 0 || open_size(m, y->lo) || !kn_size_at_most(0, x->lo)) break;
        f.lo = 0, f.hi = kn_size_at_most(x->hi, y->lo - 1) ? x->hi : y->lo - 1;
        break;
    default: break;
    }
    return f;
}

/* Does the comparison come out the same for all values that the operands may have? 0: no, 1: true, -1: false. */
static int decided(kn_sop op, const value_facts *x, const value_facts *y)
{
    switch (op) {
    case KN_S_lt: return kn_size_less(x->hi, y->lo) ? 1 : kn_size_at_most(y->hi, x->lo) ? -1 : 0;
    case KN_S_le: return kn_size_at_most(x->hi, y->lo) ? 1 : kn_size_less(y->hi, x->lo) ? -1 : 0;
    case KN_S_gt: return decided(KN_S_lt, y, x);
    case KN_S_ge: return decided(KN_S_le, y, x);
    default: return 0;
    }
}

/* What bounds of the operands say: a comparison that is decided, an extremum that is one of the two. 0: nothing. */
static kn_lv fold_bounds(maker *m, kn_sop op, kn_lv a, kn_lv b)
{
    const value_facts x = m->facts.v[a], y = m->facts.v[b];
    int d = decided(op, &x, &y);
    if (d) return lv_const(m, KILN_BOOL, (kn_scalar){.b = d > 0});
    if (op == KN_S_max && kn_size_at_most(y.hi, x.lo)) return a;
    if (op == KN_S_max && kn_size_at_most(x.hi, y.lo)) return b;
    if (op == KN_S_min && kn_size_at_most(x.hi, y.lo)) return a;
    if (op == KN_S_min && kn_size_at_most(y.hi, x.lo)) return b;
    return 0;
}

static uint32_t home(const maker *m, const kn_lv *operands, int n)
{
    uint32_t depth = barrier_depth(m);
    for (int k = 0; k < n; k++)
        if (operands[k] && !is_const(m, operands[k]) && m->facts.v[operands[k]].depth > depth) depth = m->facts.v[operands[k]].depth;
    return depth;
}

/* What depends on n, and an i32 holds, converted to it or back. */
static bool narrow_size(const maker *m, kiln_dtype from, kiln_dtype to, kn_lv v)
{
    int64_t x = m->facts.v[v].lo;
    if (!(from == KILN_I64 && to == KILN_I32) && !(from == KILN_I32 && to == KILN_I64)) return false;
    return x == m->facts.v[v].hi && kn_size_open(x) && kn_size_small(x);
}

kn_lv lv_made(maker *m, kn_sop op, kiln_dtype d, kn_lv a, kn_lv b)
{
    kn_linst i = {.op = KN_L_SOP, .sop = op, .dtype = d, .from = d, .a = a, .b = b};
    return failed(m) ? 0 : find(m, &i, inst_hash(&i, 0));
}

kn_lv lv_sop(maker *m, kn_sop op, kiln_dtype d, kiln_dtype to, kn_lv a, kn_lv b, kn_lv c)
{
    if (failed(m)) return 0;
    int arity = kn_sops[op].arity;
    if (d == KILN_I64 && arity == 2) {
        bool done;
        kn_lv folded = fold_index(m, op, a, b, &done);
        if (done || failed(m)) return folded;
    }
    if ((d == KILN_I64 || d == KILN_I32) && arity == 2) {
        kn_lv folded = fold_bounds(m, op, a, b);
        if (folded || failed(m)) return folded;
    }
    kiln_dtype result = kn_sops[op].result == 'b' ? KILN_BOOL : kn_sops[op].result == 'c' ? to : d;
    if ((op == KN_S_convert || op == KN_S_bitcast) && d == to) return a;
    bool fixed = is_const(m, a) && (arity < 2 || is_const(m, b)) && (arity < 3 || is_const(m, c));
    fixed = fixed && !is_size(m, a) && !(arity > 1 && is_size(m, b)) && !(arity > 2 && is_size(m, c));
    if (fixed) {
        const kn_linst *v = m->l->inst.v;
        kn_scalar none = {.c = {0, 0}};
        return lv_const(m, result, kn_sop_eval(op, d, to, v[a].imm, arity > 1 ? v[b].imm : none, arity > 2 ? v[c].imm : none));
    }
    if (op == KN_S_select) {
        if (is_const(m, a)) return m->l->inst.v[a].imm.b ? b : c;
        if (a == m->chosen) return m->choice ? b : c;
        if (b == c) return b;
    }
    kn_sure sure = KN_SURE_NOTHING;
    if (d == KILN_F32 || d == KILN_F64) {
        kn_lv folded = fold_sure(m, op, d, a, b, &sure);
        if (folded || failed(m)) return folded;
    }
    kn_linst i = {.op = KN_L_SOP, .sop = op, .dtype = result, .from = d, .a = a, .b = arity > 1 ? b : 0, .c = arity > 2 ? c : 0};
    uint64_t h = inst_hash(&i, 0);
    kn_lv found = find(m, &i, h);
    if (found) return found;
    kn_lv operands[3] = {i.a, i.b, i.c};
    uint32_t depth = home(m, operands, arity);
    bool whole = result == d && (d == KILN_I64 || d == KILN_I32);
    value_facts f = whole ? index_facts(m, op, a, b) : (value_facts){.lo = INT64_MIN, .hi = INT64_MAX};
    if (d == KILN_I32 && result == KILN_I32 && (f.lo < INT32_MIN || f.hi > INT32_MAX)) f.lo = INT64_MIN, f.hi = INT64_MAX; /* may wrap */
    if (op == KN_S_convert && m->l->sized && narrow_size(m, d, result, a)) {
        f.lo = f.hi = m->facts.v[a].lo;
    } else if (op == KN_S_convert && result == KILN_I64 && d == KILN_I32) {
        f.lo = m->facts.v[a].lo > INT32_MIN ? m->facts.v[a].lo : INT32_MIN;
        int64_t hi = m->facts.v[a].hi;
        f.hi = hi < INT32_MAX || (m->l->sized && hi != INT64_MAX) ? hi : INT32_MAX;
    }
    f.depth = depth;
    f.block = m->open.v[depth].id;
    f.sure = sure;
    int64_t y, sum;
    kn_lv n = add_inst(m, i, f);
    if (!n) return 0;
    m->facts.v[n].base = n;
    if (result == KILN_I64 && op == KN_S_add && lv_known_size(m, b, &y) && summed(m->facts.v[a].offset, y, &sum)) {
        m->facts.v[n].base = m->facts.v[a].base ? m->facts.v[a].base : a;
        m->facts.v[n].offset = sum;
    }
    append_at(m, depth, n);
    enter(m, n, h);
    return n;
}

/* ---- memory ---- */

/* Nests choose how many lanes they run in by the widest element that they load or store. */
static void note_width(maker *m, kiln_dtype d)
{
    unsigned bits = (unsigned)kiln_dtype_bytes(d) * 8;
    if (bits > m->widest) m->widest = bits;
}

/* The element of a constant, as an immediate: 0 where it is not known, or a NaN, whose bits an immediate does not keep. */
static kn_lv immediate(maker *m, const kn_slot *s, kn_lv index)
{
    const kiln_array *a = s->kind == KN_SLOT_CONST ? m->prog->main->consts[s->index] : NULL;
    int64_t k;
    if (!a || a->type.dtype != s->dtype || !lv_known(m, index, &k) || k < 0 || k >= s->elements) return 0;
    kn_scalar x = kn_scalar_load(s->dtype, kiln_array_read(a), k);
    return kiln_dtype_kind(s->dtype) == 'f' && isnan(x.f) ? 0 : lv_const(m, s->dtype, x);
}

kn_lv lv_load(maker *m, uint32_t slot, kn_lv index)
{
    if (failed(m)) return 0;
    const kn_slot *s = &m->l->slots.v[slot];
    kn_lv known = immediate(m, s, index);
    if (known || failed(m)) return known;
    bool fixed = s->kind == KN_SLOT_CONST || (s->kind == KN_SLOT_INPUT && !(m->o.donated && m->o.donated[s->index]));
    kn_linst i = {.op = KN_L_LOAD, .dtype = s->dtype, .slot = slot, .a = index, .index = fixed ? 0 : (uint32_t)m->epoch};
    uint64_t h = inst_hash(&i, i.index);
    kn_lv found = find(m, &i, h);
    if (found) return found;
    uint32_t depth = fixed ? home(m, &index, 1) : innermost(m);
    kn_lv n = add_inst(m, i, (value_facts){.depth = depth, .block = m->open.v[depth].id, .lo = INT64_MIN, .hi = INT64_MAX});
    if (!n) return 0;
    m->facts.v[n].base = n;
    append_at(m, depth, n);
    enter(m, n, h);
    note_width(m, s->dtype);
    return n;
}

kn_lv lv_same(maker *m, uint32_t slot, uint32_t slot2)
{
    if (failed(m)) return 0;
    kn_linst i = {.op = KN_L_SAME, .dtype = KILN_BOOL, .slot = slot, .slot2 = slot2};
    kn_lv n = add_inst(m, i, (value_facts){.depth = innermost(m), .block = m->open.v[innermost(m)].id, .lo = INT64_MIN, .hi = INT64_MAX});
    if (!n) return 0;
    m->facts.v[n].base = n;
    append_at(m, innermost(m), n);
    return n;
}

void lv_store(maker *m, uint32_t slot, kn_lv index, kn_lv value) { lv_store_ahead(m, slot, index, value, 0); }

void lv_store_ahead(maker *m, uint32_t slot, kn_lv index, kn_lv value, uint32_t ahead)
{
    if (failed(m)) return;
    kn_linst i = {.op = KN_L_STORE, .dtype = m->l->slots.v[slot].dtype, .slot = slot, .a = index, .b = value, .index = ahead};
    note_width(m, i.dtype);
    add_plain(m, i);
}

enum { FAR_BYTES = 1 << 17, VECTORS_AHEAD = 8 };

void lv_store_far(maker *m, uint32_t slot, kn_lv index, kn_lv value)
{
    if (failed(m)) return;
    const kn_slot *s = &m->l->slots.v[slot];
    uint32_t bytes = (uint32_t)kiln_dtype_bytes(s->dtype);
    bool far = s->elements > FAR_BYTES / (int64_t)bytes;
    lv_store_ahead(m, slot, index, value, far ? VECTORS_AHEAD * (m->o.vector_bits / 8) / bytes : 0);
}

void add_plain(maker *m, kn_linst i)
{
    if (failed(m)) return;
    kn_lv n = add_inst(m, i, (value_facts){.depth = innermost(m)});
    append_at(m, innermost(m), n);
    m->epoch++;
}

uint32_t new_slot(maker *m, kn_slot_kind kind, uint32_t index, kiln_dtype d, int64_t elements)
{
    bool both = kiln_dtype_kind(d) == 'c'; /* parts, one after the other */
    if (both) d = kn_part_dtype(d), elements *= 2;
    kn_slot s = {.kind = kind, .index = index, .dtype = d, .elements = elements};
    if (kind == KN_SLOT_SCRATCH && !kn_slot_place(&s, &m->l->scratch_bytes, &m->l->scratch_per)) {
        if (!failed(m)) m->status = kn_fail(m->ctx, KILN_NOMEM, "the temporaries of the program do not fit in memory");
        return 0;
    }
    return MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->slots, s)) ? m->l->slots.n - 1 : 0;
}

/* ---- statements ---- */

kn_lregion *region_of(maker *m, kn_lv statement) { return m->l->inst.v[statement].region; }

kn_lv open_statement(maker *m, kn_lop op, uint32_t nblocks)
{
    if (failed(m)) return 0;
    kn_lregion *r = KN_NEW(m->arena, kn_lregion);
    if (!MAKER_TRY_MEM(m, r)) return 0;
    r->nblocks = nblocks;
    if (!MAKER_TRY_MEM(m, r->blocks = KN_NEWN(m->arena, kn_lblock, nblocks))) return 0;
    return add_inst(m, (kn_linst){.op = op, .region = r}, (value_facts){.depth = innermost(m)});
}

void open_region_block(maker *m, kn_lv statement, uint32_t block, bool barrier)
{
    if (failed(m)) return;
    open_block b = {&region_of(m, statement)->blocks[block], ++m->next_block, barrier};
    MAKER_TRY_MEM(m, kn_push(&m->temp, &m->open, b));
    m->epoch++;
}

void close_block(maker *m)
{
    if (failed(m)) return;
    m->open.n--;
    m->epoch++;
}

kn_lv add_param(maker *m, kn_lv statement, uint32_t block, kiln_dtype d, int64_t lo, int64_t hi)
{
    if (failed(m)) return 0;
    value_facts f = {.depth = innermost(m), .block = m->open.v[innermost(m)].id, .lo = lo, .hi = hi};
    kn_lv n = add_inst(m, (kn_linst){.op = KN_L_PARAM, .dtype = d}, f);
    if (!n) return 0;
    m->facts.v[n].base = n;
    MAKER_TRY_MEM(m, kn_push(m->arena, &region_of(m, statement)->blocks[block].params, n));
    return n;
}

void add_yield(maker *m, kn_lv statement, uint32_t block, kn_lv v)
{
    if (!failed(m)) MAKER_TRY_MEM(m, kn_push(m->arena, &region_of(m, statement)->blocks[block].yields, v));
}

void add_init(maker *m, kn_lv statement, kn_lv v)
{
    if (!failed(m)) MAKER_TRY_MEM(m, kn_push(m->arena, &region_of(m, statement)->init, v));
}

void close_statement(maker *m, kn_lv statement)
{
    append_at(m, innermost(m), statement);
    m->epoch++;
}

kn_lv add_result(maker *m, kn_lv statement, kiln_dtype d)
{
    if (failed(m)) return 0;
    kn_lregion *r = region_of(m, statement);
    value_facts f = {.depth = innermost(m), .block = m->open.v[innermost(m)].id, .lo = INT64_MIN, .hi = INT64_MAX};
    kn_lv n = add_inst(m, (kn_linst){.op = KN_L_RESULT, .dtype = d, .a = statement, .index = r->results.n}, f);
    if (!n) return 0;
    m->facts.v[n].base = n;
    MAKER_TRY_MEM(m, kn_push(m->arena, &r->results, n));
    return n;
}

kn_lv open_loop_between(maker *m, kn_lv lo, kn_lv hi, int64_t lo_bound, int64_t hi_bound, uint32_t width, kn_lv *statement)
{
    kn_lv s = *statement = open_statement(m, KN_L_LOOP, 1);
    if (failed(m)) return 0;
    kn_lregion *r = region_of(m, s);
    r->lo = lo;
    r->hi = hi;
    r->width = width;
    open_region_block(m, s, 0, false);
    return add_param(m, s, 0, KILN_I64, lo_bound, hi_bound > lo_bound ? hi_bound - 1 : lo_bound);
}

kn_lv open_loop(maker *m, int64_t lo, int64_t hi, uint32_t width, kn_lv *statement)
{
    return open_loop_between(m, lv_int(m, lo), lv_int(m, hi), lo, hi, width, statement);
}

void close_loop(maker *m, kn_lv statement)
{
    close_block(m);
    close_statement(m, statement);
}

kn_lv add_carry(maker *m, kn_lv statement, kn_lv init)
{
    if (failed(m)) return 0;
    add_init(m, statement, init);
    return add_param(m, statement, 0, lv_dtype(m, init), INT64_MIN, INT64_MAX);
}

kn_lv close_carry_loop(maker *m, kn_lv statement, kn_lv next)
{
    if (failed(m)) return 0;
    add_yield(m, statement, 0, next);
    close_loop(m, statement);
    return add_result(m, statement, lv_dtype(m, next));
}

kn_lv open_carries(maker *m, kn_lv lo, kn_lv hi, int64_t most, unsigned n, kn_lv *v, kn_lv *statement)
{
    kn_lv iv = open_loop_between(m, lo, hi, 0, most, 0, statement);
    for (unsigned i = 0; i < n; i++) v[i] = add_carry(m, *statement, v[i]);
    return iv;
}

void close_carries(maker *m, kn_lv statement, unsigned n, kn_lv *v)
{
    for (unsigned i = 0; i < n; i++) add_yield(m, statement, 0, v[i]);
    close_loop(m, statement);
    for (unsigned i = 0; i < n; i++) v[i] = failed(m) ? 0 : add_result(m, statement, lv_dtype(m, v[i]));
}

enum { WIDEST_LANES = 64 };

kn_lv open_lanes(maker *m, int64_t n, uint32_t width, int64_t block, kn_sop acc, kiln_dtype d, kn_lv *statement)
{
    kn_lv lo = lv_int(m, 0), hi = lv_int(m, n);
    kn_lv s = *statement = open_statement(m, KN_L_LANES, 1);
    if (failed(m)) return 0;
    m->l->inst.v[s].dtype = d;
    kn_lregion *r = region_of(m, s);
    r->lo = lo;
    r->hi = hi;
    while (width > 1 && (int64_t)width / 2 >= n) width /= 2; /* lanes that stay at the identity change nothing */
    if (kiln_dtype_kind(d) != 'f' && width > WIDEST_LANES) width = WIDEST_LANES; /* exact in any order */
    r->width = width;
    r->block = open_size(m, n) ? 0 : block;
    r->acc = acc;
    r->identity = kn_reduce_identity(acc == KN_S_fma ? KN_S_add : acc, d);
    open_region_block(m, s, 0, false);
    return add_param(m, s, 0, KILN_I64, 0, n > 0 ? n - 1 : 0);
}

kn_lv close_lanes(maker *m, kn_lv statement, kn_lv x, kn_lv y, kiln_dtype d)
{
    if (failed(m)) return 0;
    add_yield(m, statement, 0, x);
    if (y) add_yield(m, statement, 0, y);
    close_loop(m, statement);
    return add_result(m, statement, d);
}
