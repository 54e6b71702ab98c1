/* SPDX-License-Identifier: Apache-2.0 */
/* Where values live, and fetching one element of them. A lazy value's element is computed by its equation's element rule,
 * which fetches elements of its operands in turn: that is all that fusion is here. */
#include "loop/maker.h"
#include "prim/common.h"

enum { MEMO_SLOTS = 4096, DEEPEST_PULL = 4000, CHAIN = 4 };

place *new_place(maker *m, place_kind kind, kiln_type type)
{
    place *p = KN_NEW(&m->temp, place);
    if (!MAKER_TRY_MEM(m, p)) return NULL;
    p->kind = kind;
    p->type = type;
    return p;
}

place *borrowed(maker *m, place *p)
{
    if (!p || p->kind != PLACE_MEMORY || !p->owned) return p;
    place *q = new_place(m, PLACE_MEMORY, p->type);
    if (!q) return NULL;
    q->slot = p->slot;
    return q;
}

void place_registers(maker *m, place *p, const kn_lv *regs)
{
    if (!p) return;
    size_t n = (size_t)kiln_type_size(p->type);
    p->kind = PLACE_REGISTERS;
    p->regs = kn_arena_copy(&m->temp, regs, n * sizeof *regs);
    MAKER_TRY_MEM(m, p->regs);
}

place *place_of_atom(maker *m, frame *f, kn_atom a)
{
    if (!kn_is_literal(a)) return f->at[a];
    const kn_lit *l = &f->j->lits[kn_literal_index(a)];
    place *p = new_place(m, PLACE_REGISTERS, (kiln_type){.dtype = l->dtype});
    kn_lv v = lv_const(m, l->dtype, l->value);
    place_registers(m, p, &v);
    return m->status == KILN_OK ? p : NULL;
}

/* Of a part of the complex element `linear`. */
static kn_lv part_index(maker *m, kn_lv linear, bool imaginary)
{
    return lv_add(m, lv_mul(m, linear, lv_int(m, 2)), lv_int(m, imaginary));
}

kn_lv linear_index(maker *m, kiln_type t, const kn_lv *ix)
{
    kn_lv sum = lv_int(m, 0);
    int64_t stride = 1;
    for (uint32_t d = t.rank; d-- > 0;) {
        sum = lv_add(m, lv_mul(m, ix[d], lv_int(m, stride)), sum);
        stride *= t.dims[d];
    }
    return sum;
}

void split_index(maker *m, kn_lv linear, uint32_t rank, const int64_t *dims, kn_lv *ix)
{
    kn_lv rest = linear;
    for (uint32_t d = rank; d-- > 0;) {
        if (d == 0) {
            ix[0] = rest;
            break;
        }
        kn_lv size = lv_int(m, dims[d]);
        if (dims[d] == 1) {
            ix[d] = lv_int(m, 0);
            continue;
        }
        ix[d] = lv_sop(m, KN_S_rem, KILN_I64, KILN_I64, rest, size, 0);
        rest = lv_sop(m, KN_S_div, KILN_I64, KILN_I64, rest, size, 0);
    }
}

/* Stores the registers in a slot of their own, in the block where they are defined (loops inside it are still open, so
 * this lands before them). */
static void spill(maker *m, place *p)
{
    int64_t n = kiln_type_size(p->type);
    uint32_t depth = 0;
    for (int64_t k = 0; k < n; k++)
        if (m->l->inst.v[p->regs[k]].op != KN_L_CONST && m->facts.v[p->regs[k]].depth > depth) depth = m->facts.v[p->regs[k]].depth;
    p->slot = new_slot(m, KN_SLOT_SCRATCH, 0, p->type.dtype, n);
    p->spilled = true;
    for (int64_t k = 0; k < n && m->status == KILN_OK; k++) {
        kn_linst i = {.op = KN_L_STORE, .dtype = p->type.dtype, .slot = p->slot, .a = lv_int(m, k), .b = p->regs[k], .scope = m->scope};
        value_facts facts = {.depth = depth};
        if (!MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->inst, i)) || !MAKER_TRY_MEM(m, kn_push(&m->temp, &m->facts, facts))) return;
        append_at(m, depth, m->l->inst.n - 1);
    }
}

/* The nest is cut where the index, base + offset, reaches `at`. */
static void cut_at(maker *m, value_facts f, int64_t at)
{
    for (uint32_t d = 0; d < MAX_RANK; d++) {
        cut_list *c = &m->cuts[d];
        if (f.base && f.base == m->turns[d].from) m->turns[d].by = TURN_NONE;
        if (!c->iv || f.base != c->iv) continue;
        int64_t border = at - f.offset;
        bool known = false;
        for (uint32_t k = 0; k < c->n; k++) known = known || c->at[k] == border;
        if (known) continue;
        if (c->n == MOST_CUTS || open_size(m, border)) c->many = true;
        else c->at[c->n++] = border;
    }
}

/* Numbers that a counter of few trips goes through are mostly indices: each trip is made by itself, and what depends on them is known. */
static void cut_between(maker *m, const place *p, const kn_lv *ix)
{
    int64_t n = kiln_type_size(p->type);
    if (kiln_dtype_kind(p->type.dtype) != 'i') return;
    for (int64_t k = 0; k < n; k++)
        if (m->l->inst.v[p->regs[k]].op != KN_L_CONST) return;
    for (uint32_t d = 0; d < p->type.rank; d++) {
        const value_facts f = m->facts.v[ix[d]];
        int64_t trips;
        if (__builtin_sub_overflow(f.hi, f.lo, &trips) || trips >= CHAIN) continue;
        for (int64_t at = f.lo + 1; at <= f.hi; at++) cut_at(m, f, at);
    }
}

static kn_lv register_element(maker *m, place *p, const kn_lv *ix)
{
    int64_t n = kiln_type_size(p->type), known;
    if (n == 1) return p->regs[0];
    kn_lv at = linear_index(m, p->type, ix);
    if (m->status != KILN_OK) return 0;
    if (lv_known(m, at, &known)) {
        if (known < 0 || known >= n) known = known < 0 ? 0 : n - 1; /* a lane that a guard switches off */
        return p->regs[known];
    }
    if (m->probing) cut_between(m, p, ix);
    if (n <= CHAIN && !m->probing) {
        kn_lv v = p->regs[n - 1];
        for (int64_t k = n - 1; k-- > 0;)
            v = lv_sop(m, KN_S_select, p->type.dtype, p->type.dtype, lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, at, lv_int(m, k), 0), p->regs[k], v);
        return v;
    }
    if (!p->spilled) spill(m, p);
    return lv_load(m, p->slot, at);
}

/* Where the number of the memo stands whose key has this hash. */
static uint32_t *memo_slot(maker *m, const place *p, const kn_lv *ix, memo *key)
{
    *key = (memo){.f = p->frame, .var = p->e->out[p->result], .block = m->open.v[m->open.n - 1].id, .epoch = m->epoch};
    uint64_t h = (uint64_t)(uintptr_t)p->frame * 31 + key->var;
    for (uint32_t d = 0; d < p->type.rank && d < 4; d++) {
        key->ix[d] = ix[d];
        h = (h ^ ix[d]) * 0x9e3779b97f4a7c15u;
    }
    return &m->memo_at[(h ^ h >> 32) % MEMO_SLOTS];
}

static bool same_key(const memo *x, const memo *y)
{
    return x->f == y->f && x->var == y->var && x->block == y->block && x->epoch == y->epoch && memcmp(x->ix, y->ix, sizeof x->ix) == 0;
}

static void keep(maker *m, uint32_t *at, const memo *one)
{
    if (*at) m->memos.v[*at - 1] = *one;
    else if (MAKER_TRY_MEM(m, kn_push(&m->temp, &m->memos, *one))) *at = m->memos.n;
}

static kn_lv lazy_element(maker *m, place *p, const kn_lv *ix)
{
    memo key;
    uint32_t *at = memo_slot(m, p, ix, &key);
    bool remember = p->type.rank <= 4;
    if (remember && *at && same_key(&m->memos.v[*at - 1], &key)) return m->memos.v[*at - 1].value;
    if (++m->depth_of_pull > DEEPEST_PULL) {
        if (m->status == KILN_OK) m->status = kn_fail(m->ctx, KILN_INTERNAL, "fusion went too deep at %s", p->e->prim->name);
        return 0;
    }
    frame *outer = m->frame;
    const kn_jaxpr *j = m->element.j;
    m->frame = p->frame;
    m->element.j = p->frame->j;
    kn_lv v = rolled_element(m, p, ix);
    if (!v) v = p->e->prim->element(&m->element, p->e, p->result, ix);
    m->frame = outer;
    m->element.j = j;
    m->depth_of_pull--;
    if (remember && m->status == KILN_OK) {
        key.epoch = m->epoch;
        key.value = v;
        keep(m, at, &key);
    }
    return v;
}

kn_lv element_of(maker *m, place *p, const kn_lv *ix)
{
    if (m->status != KILN_OK || !p) return 0;
    switch (p->kind) {
    case PLACE_REGISTERS: return register_element(m, p, ix);
    case PLACE_MEMORY: return lv_load(m, p->slot, linear_index(m, p->type, ix));
    case PLACE_TILE: return p->regs[0];
    case PLACE_ROW: return lv_load(m, p->slot, lv_add(m, p->base, linear_index(m, p->type, ix)));
    case PLACE_LAZY: return lazy_element(m, p, ix);
    case PLACE_NONE: break;
    }
    m->status = kn_fail(m->ctx, KILN_INTERNAL, "a value is read before it is made");
    return 0;
}

kn_lv part_of(maker *m, place *p, const kn_lv *ix, bool imaginary)
{
    if (m->status != KILN_OK || !p) return 0;
    if (p->kind == PLACE_MEMORY) return lv_load(m, p->slot, part_index(m, linear_index(m, p->type, ix), imaginary));
    if (p->kind != PLACE_LAZY || p->e->prim->loop != KN_LOOP_PARTS) {
        m->status = kn_fail(m->ctx, KILN_INTERNAL, "a part of a complex number is read that is neither stored nor made of parts");
        return 0;
    }
    frame *outer = m->frame; /* the value is made of its parts in the nest that is open */
    const kn_jaxpr *j = m->element.j;
    m->frame = p->frame;
    m->element.j = p->frame->j;
    kn_lv v = kn_element_broadcast(&m->element, p->e, imaginary, ix);
    m->frame = outer;
    m->element.j = j;
    return v;
}

void store_element(maker *m, place *p, uint32_t slot, const kn_lv *ix, const kn_lv *v)
{
    kn_lv at = linear_index(m, p->type, ix);
    bool both = kiln_dtype_kind(p->type.dtype) == 'c';
    if (!both) lv_store(m, slot, at, v[0]);
    for (int k = 0; both && k < 2; k++) lv_store(m, slot, part_index(m, at, k), v[k]);
}

void element_parts(maker *m, place *p, const kn_lv *ix, kn_lv *v)
{
    bool both = kiln_dtype_kind(p->type.dtype) == 'c';
    v[0] = both ? part_of(m, p, ix, false) : element_of(m, p, ix);
    v[1] = both ? part_of(m, p, ix, true) : 0;
}

kn_lv element_at(maker *m, place *p, int64_t linear)
{
    if (m->status != KILN_OK || !p) return 0;
    kn_lv ix[MAX_RANK];
    for (uint32_t d = p->type.rank; d-- > 0;) {
        int64_t size = p->type.dims[d];
        ix[d] = lv_int(m, linear % size);
        linear /= size;
    }
    return element_of(m, p, ix);
}

const kn_lv *registers_of(maker *m, place *p)
{
    if (m->status != KILN_OK || !p) return NULL;
    if (p->kind == PLACE_REGISTERS) return p->regs;
    size_t n = (size_t)kiln_type_size(p->type);
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n);
    if (!MAKER_TRY_MEM(m, v)) return NULL;
    for (size_t k = 0; k < n; k++) v[k] = element_at(m, p, (int64_t)k);
    return v;
}

kn_lv scalar_of(maker *m, frame *f, kn_atom a)
{
    const kn_lv *v = registers_of(m, place_of_atom(m, f, a));
    return v ? v[0] : 0;
}

/* ---- what element rules call ---- */

static kn_lv rule_operand(kn_element *e, const kn_eqn *eqn, uint32_t operand, const kn_lv *ix)
{
    maker *m = maker_of(e);
    return m->status == KILN_OK ? element_of(m, place_of_atom(m, m->frame, eqn->in[operand]), ix) : 0;
}

static kn_lv rule_part(kn_element *e, const kn_eqn *eqn, uint32_t operand, const kn_lv *ix, bool imaginary)
{
    maker *m = maker_of(e);
    return m->status == KILN_OK ? part_of(m, place_of_atom(m, m->frame, eqn->in[operand]), ix, imaginary) : 0;
}

static kn_lv rule_op(kn_element *e, kn_sop op, kiln_dtype d, kiln_dtype to, kn_lv a, kn_lv b, kn_lv c)
{
    return lv_sop(maker_of(e), op, d, to, a, b, c);
}

static kn_lv rule_integer(kn_element *e, int64_t c) { return lv_int(maker_of(e), c); }
static kn_lv rule_constant(kn_element *e, kiln_dtype d, kn_scalar v) { return lv_const(maker_of(e), d, v); }

static int rule_below(kn_element *e, kn_lv ix, int64_t at)
{
    maker *m = maker_of(e);
    if (m->status != KILN_OK) return 0;
    const value_facts f = m->facts.v[ix];
    if (kn_size_less(f.hi, at)) return -1;
    if (kn_size_at_most(at, f.lo)) return 1;
    if (m->probing) cut_at(m, f, at);
    return 0;
}

static bool rule_known(kn_element *e, kn_lv ix, int64_t *value)
{
    maker *m = maker_of(e);
    return m->status == KILN_OK && lv_known(m, ix, value);
}

void place_init(maker *m)
{
    m->element = (kn_element){.operand = rule_operand, .part = rule_part, .op = rule_op, .integer = rule_integer, .constant = rule_constant,
                              .below = rule_below, .known = rule_known};
    m->memo_at = KN_NEWN(&m->temp, uint32_t, MEMO_SLOTS);
    MAKER_TRY_MEM(m, m->memo_at);
}
