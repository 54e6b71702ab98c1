/* SPDX-License-Identifier: Apache-2.0 */
/* What a trip stores and the next one loads stays in a register.
 *
 * A loop that makes each element of an array from the one before loads what it stored a moment ago: the way through memory is longer than
 * the arithmetic. Where the index of the only store, in this trip, is the index of a load in the next trip, the stored value is a carry.
 *
 *     while carry %k = 0 { .. } do %k { %x = s[%k]  %y = f %x  %n = add %k, 1  s[%n] = %y  yield %n }
 *   ==>
 *     %a = s[0]  while carry %k = 0, %v = %a { .. } do %k, %v { %y = f %v  %n = add %k, 1  s[%n] = %y  yield %n, %y }
 *
 * Needs:  no unused loads; the slot has one store in the body, after its load, both once a trip; no other slot can be its memory. The first
 *         index, with the carries as they start, lies in the array.
 * Leaves: the same values.   Cost: linear in instructions of loops with state. */
#include "loop/alias.h"
#include "loop/maker.h"

enum { MOST_LOOKED_AT = 60, MOST_CARRIED = 8 };

typedef struct forwarder {
    maker *m;
    kn_loops *l;
    kn_aliases alias;
    uint32_t *members; /* per class */
    kn_lregion *loop;  /* a while */
    uint32_t budget, carried;
} forwarder;

static kn_linst *inst(const forwarder *w, kn_lv v) { return &w->l->inst.v[v]; }

/* The carry that v is, + 1; 0: none. */
static uint32_t carry_of(const forwarder *w, kn_lv v)
{
    const kn_lblock *b = &w->loop->blocks[1];
    for (uint32_t k = 0; k < b->params.n; k++)
        if (b->params.v[k] == v) return k + 1;
    return 0;
}

/* Is value `now` what value `before` will be in the next trip? */
static bool follows(forwarder *w, kn_lv before, kn_lv now)
{
    const kn_linst *x = inst(w, before), *y = inst(w, now);
    uint32_t k = before ? carry_of(w, before) : 0;
    if (w->budget == 0) return false;
    w->budget--;
    if (k) return w->loop->blocks[1].yields.v[k - 1] == now;
    if (!before || !now) return before == now;
    if (x->op == KN_L_CONST) return before == now;
    if (x->op != KN_L_SOP || y->op != KN_L_SOP || x->sop != y->sop || x->dtype != y->dtype || x->from != y->from) return false;
    return follows(w, x->a, y->a) && follows(w, x->b, y->b) && follows(w, x->c, y->c);
}

/* The integer that v is when the carries are as they start. */
static bool at_start(forwarder *w, kn_lv v, kn_scalar *out)
{
    const kn_linst *in = inst(w, v);
    kn_scalar x[3] = {{.c = {0, 0}}, {.c = {0, 0}}, {.c = {0, 0}}};
    uint32_t k = v ? carry_of(w, v) : 0;
    if (!v || w->budget == 0) return false;
    w->budget--;
    if (k) return at_start(w, w->loop->init.v[k - 1], out);
    if (in->op == KN_L_CONST) {
        *out = in->imm;
        return true;
    }
    const kn_lv operands[3] = {in->a, in->b, in->c};
    if (in->op != KN_L_SOP) return false;
    for (int i = 0; i < 3; i++)
        if (operands[i] && !at_start(w, operands[i], &x[i])) return false;
    *out = kn_sop_eval(in->sop, in->from, in->dtype, x[0], x[1], x[2]);
    return true;
}

typedef struct found {
    uint32_t loads, stores, load, store; /* how many at the top of the body, and where the last one stands */
    bool elsewhere;                      /* in a statement inside, or as a whole */
} found;

/* Is it touched as a whole? */
static bool handles(const kn_linst *in, uint32_t slot)
{
    bool two = in->op == KN_L_SWAP || in->op == KN_L_POINT || in->op == KN_L_COPY || in->op == KN_L_SAME;
    if (two) return in->slot == slot || in->slot2 == slot || (in->op == KN_L_SWAP && in->index == slot + 1);
    for (uint32_t k = 0; in->op == KN_L_CALL && k < in->call->call.nout + in->call->call.nin; k++)
        if (in->call->slots[k] == slot) return true;
    return in->op == KN_L_CALL && in->call->work == slot + 1;
}

static void look_inside(const forwarder *w, const kn_lblock *b, uint32_t slot, found *f)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(w, b->inst.v[i]);
        if (((in->op == KN_L_LOAD || in->op == KN_L_STORE) && in->slot == slot) || handles(in, slot)) f->elsewhere = true;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) look_inside(w, &in->region->blocks[k], slot, f);
    }
}

static found look_for(const forwarder *w, uint32_t slot)
{
    const kn_lblock *b = &w->loop->blocks[1];
    found f = {0};
    look_inside(w, &w->loop->blocks[0], slot, &f);
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = inst(w, b->inst.v[i]);
        f.elsewhere = f.elsewhere || handles(in, slot);
        if (in->op == KN_L_LOAD && in->slot == slot) f.loads++, f.load = i;
        if (in->op == KN_L_STORE && in->slot == slot) f.stores++, f.store = i;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) look_inside(w, &in->region->blocks[k], slot, &f);
    }
    return f;
}

static kn_lv add_inst(forwarder *w, kn_linst in)
{
    return MAKER_TRY_MEM(w->m, kn_push(w->m->arena, &w->l->inst, in)) ? w->l->inst.n - 1 : 0;
}

/* The load at place f->load of the body becomes a carry that starts as the element `first`; what loads it goes to `before`. */
static void carry(forwarder *w, kn_lv loop, const found *f, int64_t first, kn_lblock *before)
{
    kn_lblock *b = &w->loop->blocks[1];
    kn_arena *arena = w->m->arena;
    kn_lv load = b->inst.v[f->load], stored = inst(w, b->inst.v[f->store])->b;
    kn_linst like = *inst(w, load);
    kn_lv at = add_inst(w, (kn_linst){.op = KN_L_CONST, .dtype = KILN_I64, .imm.i = first, .scope = like.scope, .loc = like.loc});
    kn_lv init = add_inst(w, (kn_linst){.op = KN_L_LOAD, .dtype = like.dtype, .slot = like.slot, .a = at, .scope = like.scope, .loc = like.loc});
    kn_linst param = {.op = KN_L_PARAM, .dtype = like.dtype, .scope = like.scope, .loc = like.loc};
    kn_lv p = add_inst(w, param), q = add_inst(w, param);
    kn_lv result = add_inst(w, (kn_linst){.op = KN_L_RESULT, .dtype = like.dtype, .a = loop, .index = w->loop->results.n, .scope = like.scope, .loc = like.loc});
    if (w->m->status != KILN_OK) return;
    bool ok = kn_push(arena, &before->inst, at) && kn_push(arena, &before->inst, init) && kn_push(arena, &w->loop->init, init) &&
              kn_push(arena, &w->loop->blocks[0].params, p) && kn_push(arena, &b->params, q) && kn_push(arena, &b->yields, stored) &&
              kn_push(arena, &w->loop->results, result);
    if (!MAKER_TRY_MEM(w->m, ok)) return;
    replace_value(w->l, b, load, q);
    memmove(&b->inst.v[f->load], &b->inst.v[f->load + 1], (b->inst.n - f->load - 1) * sizeof *b->inst.v);
    b->inst.n--;
}

static bool alone(const forwarder *w, uint32_t slot) { return w->members[kn_alias_home(&w->alias, slot)] == 1; }

static void look_at_loop(forwarder *w, kn_lv loop, kn_lblock *before)
{
    kn_lblock *b = &w->loop->blocks[1];
    uint32_t carried = 0;
    for (uint32_t i = 0; i < b->inst.n && carried < MOST_CARRIED && w->m->status == KILN_OK; i++) {
        const kn_linst *store = inst(w, b->inst.v[i]);
        if (store->op != KN_L_STORE || store->slot >= w->m->l->slots.n || !alone(w, store->slot)) continue;
        const kn_slot *s = &w->l->slots.v[store->slot];
        found f = look_for(w, store->slot);
        if (f.elsewhere || f.loads != 1 || f.stores != 1 || f.load > f.store) continue;
        kn_lv index = inst(w, b->inst.v[f.load])->a;
        kn_scalar first;
        w->budget = MOST_LOOKED_AT;
        if (!follows(w, index, store->a)) continue;
        w->budget = MOST_LOOKED_AT;
        if (!at_start(w, index, &first) || first.i < 0 || first.i >= s->elements) continue;
        carry(w, loop, &f, first.i, before);
        carried++;
        w->carried++;
        i = 0;
    }
}

static void find_loops(forwarder *w, kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n && w->m->status == KILN_OK; i++) {
        kn_lv v = b->inst.v[i];
        kn_lregion *r = inst(w, v)->region;
        if (!r) continue;
        for (uint32_t k = 0; k < r->nblocks; k++) find_loops(w, &r->blocks[k]);
        if (inst(w, v)->op != KN_L_WHILE) continue;
        kn_lblock before = {0};
        w->loop = r;
        look_at_loop(w, v, &before);
        if (w->m->status != KILN_OK || !before.inst.n || !MAKER_TRY_MEM(w->m, kn_reserve(w->m->arena, &b->inst, before.inst.n))) continue;
        memmove(&b->inst.v[i + before.inst.n], &b->inst.v[i], (b->inst.n - i) * sizeof *b->inst.v);
        memcpy(&b->inst.v[i], before.inst.v, before.inst.n * sizeof *b->inst.v);
        b->inst.n += before.inst.n;
        i += before.inst.n;
    }
}

bool forward_stores(maker *m)
{
    forwarder w = {.m = m, .l = m->l};
    uint32_t n = m->l->slots.n;
    if (!m->l->time_loops || !MAKER_TRY_MEM(m, kn_aliases_find(&m->temp, m->l, m->o.donated, &w.alias))) return false;
    w.members = KN_NEWN(&m->temp, uint32_t, n + 1);
    if (!MAKER_TRY_MEM(m, w.members)) return false;
    for (uint32_t s = 0; s < n; s++) w.members[kn_alias_home(&w.alias, s)]++;
    find_loops(&w, &m->l->top);
    return w.carried > 0;
}
