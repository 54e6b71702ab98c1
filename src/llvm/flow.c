/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks and control flow. A loop is entered through its guard and tests at its end; what changes around it (carries, and the
 * pointers of slots that are swapped inside) are phis at its head and, where the guard may skip it, behind it. */
#include "llvm/emit.h"

enum { TURNS = 4 }; /* of a brief while loop for each look at the stop flag */

kn_bb kn_block_new(kn_emit *e) { return LLVMCreateBasicBlockInContext(e->c, ""); }
kn_bb kn_here(kn_emit *e) { return LLVMGetInsertBlock(e->b); }
void kn_enter(kn_emit *e, kn_bb block)
{
    LLVMAppendExistingBasicBlock(e->fn, block);
    LLVMPositionBuilderAtEnd(e->b, block);
}
kn_ll kn_phi(kn_emit *e, LLVMTypeRef t) { return LLVMBuildPhi(e->b, t, ""); }
void kn_incoming(kn_ll phi, kn_ll v, kn_bb from) { LLVMAddIncoming(phi, &v, &from, 1); }

/* ---- what a statement changes: its carries, and slots moved ---- */

typedef struct state {
    uint32_t n, carries; /* first the carries, then the slots */
    uint32_t *slot;      /* n - carries of them */
    bool *varying;       /* per carry */
    kn_ll *v;
} state;

static void mark_moved(const kn_loops *l, const kn_lregion *r, uint8_t *moved)
{
    for (uint32_t b = 0; b < r->nblocks; b++)
        for (uint32_t i = 0; i < r->blocks[b].inst.n; i++) {
            const kn_linst *in = &l->inst.v[r->blocks[b].inst.v[i]];
            if (in->op == KN_L_SWAP) moved[in->slot] = moved[in->slot2] = 1;
            if (in->op == KN_L_POINT) moved[in->slot] = 1;
            if (in->region) mark_moved(l, in->region, moved);
        }
}

/* Does anything move in it? */
static bool moves(const kn_loops *l, const kn_lregion *r)
{
    for (uint32_t b = 0; b < r->nblocks; b++)
        for (uint32_t i = 0; i < r->blocks[b].inst.n; i++) {
            const kn_linst *in = &l->inst.v[r->blocks[b].inst.v[i]];
            if (in->op == KN_L_SWAP || in->op == KN_L_POINT || (in->region && moves(l, in->region))) return true;
        }
    return false;
}

/* The state before the statement. `varies` names one value a carry, as the analysis of lanes left it, or is NULL. */
static bool state_init(kn_emit *e, state *s, const kn_lregion *r, const kn_lv *varies, uint32_t carries)
{
    uint32_t slots = moves(e->l, r) ? e->l->slots.n : 0, n = 0;
    uint8_t *moved = kn_emit_new(e, slots, 1);
    if (!moved) return false;
    if (slots) mark_moved(e->l, r, moved);
    for (uint32_t i = 0; i < slots; i++) n += moved[i];
    *s = (state){.n = n + carries, .carries = carries};
    s->slot = kn_emit_new(e, n, sizeof *s->slot);
    s->varying = kn_emit_new(e, carries, sizeof *s->varying);
    s->v = kn_emit_new(e, s->n, sizeof *s->v);
    if (!s->slot || !s->varying || !s->v) return false;
    for (uint32_t i = 0; i < carries; i++) s->varying[i] = e->w && e->varying[varies[i]];
    n = 0;
    for (uint32_t i = 0; i < slots; i++) {
        if (!moved[i]) continue;
        s->v[carries + n] = e->ptr[i] = kn_slot_pointer(e, i);
        s->slot[n++] = i;
    }
    return true;
}

static kn_ll *copy_of(kn_emit *e, const state *s)
{
    kn_ll *v = kn_emit_new(e, s->n, sizeof *v);
    for (uint32_t i = 0; v && i < s->n; i++) v[i] = s->v[i];
    return v;
}

static void slots_from(kn_emit *e, const state *s, kn_ll *v)
{
    for (uint32_t i = s->carries; i < s->n; i++) e->ptr[s->slot[i - s->carries]] = v[i];
}

static void slots_into(kn_emit *e, const state *s, kn_ll *v)
{
    for (uint32_t i = s->carries; i < s->n; i++) v[i] = e->ptr[s->slot[i - s->carries]];
}

/* Phis for the whole state in the block just entered; s->v becomes them. */
static void state_phis(kn_emit *e, state *s)
{
    for (uint32_t i = 0; i < s->n; i++) s->v[i] = kn_phi(e, LLVMTypeOf(s->v[i]));
    slots_from(e, s, s->v);
}

static void state_incoming(const state *s, kn_ll *phis, kn_ll *v, kn_bb from)
{
    for (uint32_t i = 0; i < s->n; i++) kn_incoming(phis[i], v[i], from);
}

static void set_values(kn_emit *e, const state *s, const kn_lv *names, kn_ll *v)
{
    for (uint32_t i = 0; i < s->carries; i++) kn_set(e, names[i], v[i], s->varying[i]);
}

static void get_values(kn_emit *e, const state *s, const kn_lv *names, kn_ll *v)
{
    for (uint32_t i = 0; i < s->carries; i++) v[i] = kn_value_of(e, names[i], s->varying[i]);
}

/* ---- loops ---- */

static void set_counter(kn_emit *e, kn_lv iv, kn_ll x)
{
    kn_set(e, iv, x, false);
    if (LLVMIsConstant(x)) {
        e->val[iv].base = NULL;
        e->val[iv].offset = LLVMConstIntGetSExtValue(x);
    }
}

static void body_once(kn_emit *e, const kn_lblock *body, state *s, kn_ll iv)
{
    set_counter(e, body->params.v[0], iv);
    set_values(e, s, body->params.v + 1, s->v);
    kn_emit_block(e, body);
    get_values(e, s, body->yields.v, s->v);
    slots_into(e, s, s->v);
}

/* The loop itself; leaves the final state in s->v and the builder behind it. `empty`: it may have no trip. */
static void body_repeated(kn_emit *e, const kn_lblock *body, state *s, kn_ll lo, kn_ll hi, bool empty)
{
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    kn_ll *first = copy_of(e, s);
    if (empty) LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, lo, hi, ""), head, after);
    else LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll iv = kn_phi(e, LLVMTypeOf(lo));
    if (!first) return;
    state_phis(e, s);
    kn_ll *phis = copy_of(e, s);
    if (!phis) return;
    body_once(e, body, s, iv);
    kn_ll next = LLVMBuildAdd(e->b, iv, kn_int(e, 64, 1), "");
    kn_bb latch = kn_here(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, hi, ""), head, after);
    kn_incoming(iv, lo, before);
    kn_incoming(iv, next, latch);
    state_incoming(s, phis, first, before);
    state_incoming(s, phis, s->v, latch);
    kn_enter(e, after);
    if (!empty) return;
    kn_ll *last = copy_of(e, s);
    if (!last) return;
    state_phis(e, s);
    state_incoming(s, s->v, first, before);
    state_incoming(s, s->v, last, latch);
}

/* ---- level 0: carries in memory ----
 *
 * There the allocator of registers knows one block: what a phi has is kept on the stack, and is copied there once more when it changes. A loop
 * that carries vectors has room for them instead, and between a load and a store of them stand two trips where that pays. */

static bool is_vector(kn_ll x)
{
    LLVMTypeRef t = LLVMTypeOf(x), i1 = LLVMInt1TypeInContext(LLVMGetTypeContext(t));
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetElementType(t) != i1;
}

/* Does the loop carry vectors and nothing else, at level 0? */
static bool carries_vectors(const kn_emit *e, const state *s)
{
    bool all = e->m == e->level[0] && s->n > 0 && s->n == s->carries;
    for (uint32_t i = 0; all && i < s->n; i++) all = is_vector(s->v[i]);
    return all;
}

static void store_carries(kn_emit *e, const state *s, const kn_ll *room)
{
    for (uint32_t i = 0; i < s->n; i++) LLVMSetAlignment(LLVMBuildStore(e->b, s->v[i], room[i]), e->vector_bytes);
}

static void load_carries(kn_emit *e, state *s, const kn_ll *room)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->v[i] = LLVMBuildLoad2(e->b, LLVMTypeOf(s->v[i]), room[i], "");
        LLVMSetAlignment(s->v[i], e->vector_bytes);
    }
}

/* Trips from a load of the carries to their store: they divide all, of which there are many, and the body is short and without loops. */
static unsigned trips_in_a_row(const kn_emit *e, const kn_lblock *body, uint64_t trips)
{
    enum { ROW = 2, LEAST_TRIPS = 32, MOST_INSTRUCTIONS = 40 };
    if (trips < LEAST_TRIPS || trips % ROW || kn_lanes_size(e, body) > MOST_INSTRUCTIONS) return 1;
    for (uint32_t i = 0; i < body->inst.n; i++)
        if (e->l->inst.v[body->inst.v[i]].region) return 1;
    return ROW;
}

/* `trips`: where they are known, else 0; `empty`: there may be none. */
static void body_in_memory(kn_emit *e, const kn_lblock *body, state *s, kn_ll lo, kn_ll hi, uint64_t trips, bool empty)
{
    unsigned row = trips_in_a_row(e, body, trips);
    kn_ll *room = kn_emit_new(e, s->n, sizeof *room);
    if (!room) return;
    for (uint32_t i = 0; i < s->n; i++) {
        room[i] = kn_entry_room(e, LLVMTypeOf(s->v[i]));
        LLVMSetAlignment(room[i], e->vector_bytes);
    }
    store_carries(e, s, room);
    kn_bb before = kn_here(e), head = kn_block_new(e), after = kn_block_new(e);
    if (empty) LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, lo, hi, ""), head, after);
    else LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    kn_ll iv = kn_phi(e, LLVMTypeOf(lo)), next = iv;
    load_carries(e, s, room);
    for (unsigned k = 0; k < row; k++) {
        body_once(e, body, s, next);
        next = LLVMBuildAdd(e->b, iv, kn_int(e, 64, k + 1), "");
    }
    store_carries(e, s, room);
    kn_incoming(iv, lo, before);
    kn_incoming(iv, next, kn_here(e));
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, hi, ""), head, after);
    kn_enter(e, after);
    load_carries(e, s, room);
}

uint64_t kn_loop_trips(const kn_emit *e, const kn_lregion *r)
{
    const kn_linst *inst = e->l->inst.v, *hi = &inst[r->hi];
    if (hi->op != KN_L_SOP || hi->sop != KN_S_add || hi->from != KILN_I64) return 0;
    const kn_linst *more = &inst[hi->a == r->lo ? hi->b : hi->a];
    bool ahead = (hi->a == r->lo || hi->b == r->lo) && more->op == KN_L_CONST && more->imm.i > 0;
    return ahead ? (uint64_t)more->imm.i : 0;
}

void kn_emit_plain_range(kn_emit *e, const kn_linst *in, kn_ll lo, kn_ll hi)
{
    state s;
    if (state_init(e, &s, in->region, NULL, 0)) body_repeated(e, &in->region->blocks[0], &s, lo, hi, false);
}

static void emit_loop(kn_emit *e, kn_lv v, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    const kn_lblock *body = &r->blocks[0];
    if (kn_is_split(in)) {
        kn_emit_split_loop(e, v, in);
        return;
    }
    if (r->width > 1) {
        kn_emit_vector_loop(e, v, in);
        return;
    }
    kn_ll lo = kn_scalar_of(e, r->lo), hi = kn_scalar_of(e, r->hi);
    state s;
    if (!state_init(e, &s, r, body->params.v + 1, r->init.n)) return;
    get_values(e, &s, r->init.v, s.v);
    bool known = LLVMIsAConstantInt(lo) && LLVMIsAConstantInt(hi);
    int64_t first = known ? LLVMConstIntGetSExtValue(lo) : 0, end = known ? LLVMConstIntGetSExtValue(hi) : 0;
    if (known && end > first && (uint64_t)end - (uint64_t)first == 1) body_once(e, body, &s, lo);
    else if (!known || end > first) {
        uint64_t trips = known ? (uint64_t)end - (uint64_t)first : kn_loop_trips(e, r);
        if (carries_vectors(e, &s)) body_in_memory(e, body, &s, lo, hi, trips, trips == 0);
        else body_repeated(e, body, &s, lo, hi, trips == 0);
    }
    slots_from(e, &s, s.v);
    set_values(e, &s, r->results.v, s.v);
}

/* ---- while ---- */

/* Straight code of few operations. */
static bool is_brief(const kn_emit *e, const kn_lregion *r)
{
    enum { MOST = 16 };
    unsigned n = 0;
    for (uint32_t b = 0; b < r->nblocks; b++)
        for (uint32_t i = 0; i < r->blocks[b].inst.n; i++) {
            const kn_linst *in = &e->l->inst.v[r->blocks[b].inst.v[i]];
            if (in->op != KN_L_CONST && in->op != KN_L_SOP && in->op != KN_L_LOAD && in->op != KN_L_STORE) return false;
            if (in->op == KN_L_SOP && kn_is_call(in->sop, in->from)) return false;
            n += in->op != KN_L_CONST;
        }
    return n <= MOST;
}

/* Which carry counts, by ones up to a limit that is asked for alone; false: none. */
static bool find_counter(const kn_emit *e, const kn_lregion *r, uint32_t *carry, int64_t *limit)
{
    const kn_linst *inst = e->l->inst.v, *go = &inst[r->blocks[0].yields.v[0]];
    bool integer = go->op == KN_L_SOP && go->sop == KN_S_lt && (go->from == KILN_I32 || go->from == KILN_I64);
    if (!integer || inst[go->b].op != KN_L_CONST) return false;
    *limit = inst[go->b].imm.i;
    for (*carry = 0; *carry < r->init.n && r->blocks[0].params.v[*carry] != go->a;) ++*carry;
    if (*carry == r->init.n || *limit < TURNS) return false;
    const kn_linst *next = &inst[r->blocks[1].yields.v[*carry]];
    return next->op == KN_L_SOP && next->sop == KN_S_add && next->a == r->blocks[1].params.v[*carry] && inst[next->b].op == KN_L_CONST && inst[next->b].imm.i == 1;
}

/* The body; s->v is the state before and after. */
static void emit_turn(kn_emit *e, const kn_lregion *r, state *s)
{
    set_values(e, s, r->blocks[1].params.v, s->v);
    kn_emit_block(e, &r->blocks[1]);
    get_values(e, s, r->blocks[1].yields.v, s->v);
    slots_into(e, s, s->v);
}

/* A brief body that counts: where so many turns are left, they are taken without a test, one after the other, and the counter of each is
 * the first one's and a constant. Leaves the builder where one turn is to be tested; true: `s`, at *from, goes back to the head. */
static bool emit_turns(kn_emit *e, const kn_lregion *r, state *s, kn_bb head, kn_bb *from)
{
    uint32_t carry;
    int64_t limit;
    if (e->m != e->level[1] || r->steps || !is_brief(e, r) || !find_counter(e, r, &carry, &limit)) return false;
    kn_bb many = kn_block_new(e), one = kn_block_new(e);
    kn_ll first = s->v[carry], most = LLVMConstInt(LLVMTypeOf(first), (uint64_t)limit - (TURNS - 1), true);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, first, most, ""), many, one);
    kn_enter(e, many);
    for (uint32_t k = 1; k <= TURNS && !e->failed; k++) {
        emit_turn(e, r, s);
        s->v[carry] = LLVMBuildNSWAdd(e->b, first, LLVMConstInt(LLVMTypeOf(first), k, true), "");
    }
    LLVMBuildBr(e->b, head);
    *from = kn_here(e);
    kn_enter(e, one);
    return true;
}

/* Tests at its head: the stop flag, then the condition. */
static void emit_while(kn_emit *e, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    state s;
    if (!state_init(e, &s, r, r->blocks[0].params.v, r->init.n)) return;
    get_values(e, &s, r->init.v, s.v);
    kn_bb before = kn_here(e), head = kn_block_new(e), go = kn_block_new(e), body = kn_block_new(e), after = kn_block_new(e);
    kn_bb cancelled = kn_block_new(e), from;
    kn_ll *first = copy_of(e, &s);
    LLVMBuildBr(e->b, head);
    kn_enter(e, head);
    if (!first) return;
    state_phis(e, &s);
    kn_ll *phis = copy_of(e, &s), trips = r->steps ? kn_phi(e, LLVMInt64TypeInContext(e->c)) : NULL;
    if (!phis) return;
    LLVMBuildCondBr(e->b, kn_emit_stopped(e), cancelled, go);
    kn_enter(e, go);
    state_incoming(&s, phis, first, before);
    if (emit_turns(e, r, &s, head, &from)) state_incoming(&s, phis, s.v, from);
    set_values(e, &s, r->blocks[0].params.v, phis);
    kn_emit_block(e, &r->blocks[0]);
    LLVMBuildCondBr(e->b, kn_scalar_of(e, r->blocks[0].yields.v[0]), body, after);
    kn_enter(e, body);
    memcpy(s.v, phis, s.n * sizeof *phis);
    emit_turn(e, r, &s);
    state_incoming(&s, phis, s.v, kn_here(e));
    if (trips) {
        kn_incoming(trips, kn_int(e, 64, 0), before);
        kn_incoming(trips, LLVMBuildAdd(e->b, trips, kn_int(e, 64, 1), ""), kn_here(e));
    }
    LLVMBuildBr(e->b, head);
    kn_enter(e, cancelled);
    kn_emit_cancelled(e);
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
    if (trips) kn_emit_count(e, trips, r->steps);
    slots_from(e, &s, phis);
    set_values(e, &s, r->results.v, phis);
}

/* ---- if ---- */

static void emit_if(kn_emit *e, const kn_linst *in)
{
    const kn_lregion *r = in->region;
    uint32_t n = r->nblocks;
    state s;
    if (!state_init(e, &s, r, r->results.v, r->results.n)) return;
    kn_bb *arms = kn_emit_new(e, n, sizeof(kn_bb)), *ends = kn_emit_new(e, n, sizeof(kn_bb)), after = kn_block_new(e);
    kn_ll **values = kn_emit_new(e, n, sizeof(kn_ll *)), *first = copy_of(e, &s);
    if (!arms || !ends || !values || !first) return;
    for (uint32_t i = 0; i < n; i++) arms[i] = kn_block_new(e);
    kn_ll selector = kn_scalar_of(e, r->selector);
    if (n == 2) {
        LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, selector, kn_int(e, 32, 0), ""), arms[0], arms[1]);
    } else {
        kn_ll choice = LLVMBuildSwitch(e->b, selector, arms[n - 1], n - 1);
        for (uint32_t i = 0; i + 1 < n; i++) LLVMAddCase(choice, kn_int(e, 32, i), arms[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        kn_enter(e, arms[i]);
        slots_from(e, &s, first);
        kn_emit_block(e, &r->blocks[i]);
        get_values(e, &s, r->blocks[i].yields.v, s.v);
        slots_into(e, &s, s.v);
        if (!(values[i] = copy_of(e, &s))) return;
        ends[i] = kn_here(e);
        LLVMBuildBr(e->b, after);
    }
    kn_enter(e, after);
    state_phis(e, &s);
    for (uint32_t i = 0; i < n; i++) state_incoming(&s, s.v, values[i], ends[i]);
    set_values(e, &s, r->results.v, s.v);
}

/* ---- instructions ---- */

static void emit_swap(kn_emit *e, const kn_linst *in)
{
    kn_ll p = kn_slot_pointer(e, in->slot), q = kn_slot_pointer(e, in->slot2);
    if (in->index) {
        kn_ll same = LLVMBuildICmp(e->b, LLVMIntEQ, kn_slot_pointer(e, in->index - 1), q, "");
        e->ptr[in->slot] = LLVMBuildSelect(e->b, same, q, p, "");
        e->ptr[in->slot2] = LLVMBuildSelect(e->b, same, p, q, "");
        return;
    }
    e->ptr[in->slot] = q;
    e->ptr[in->slot2] = p;
}

static void emit_same(kn_emit *e, kn_lv v, const kn_linst *in)
{
    kn_set(e, v, LLVMBuildICmp(e->b, LLVMIntEQ, kn_slot_pointer(e, in->slot), kn_slot_pointer(e, in->slot2), ""), false);
}

static void emit_point(kn_emit *e, const kn_linst *in) { e->ptr[in->slot] = kn_slot_pointer(e, in->slot2); }

static void emit_const(kn_emit *e, kn_lv v, const kn_linst *in)
{
    kn_set(e, v, kn_const(e, in->dtype, in->imm), false);
    e->val[v].base = NULL;
    if (in->dtype == KILN_I64) e->val[v].offset = in->imm.i;
}

/* Sums of an index and a constant keep their parts, for addresses. */
static void keep_parts(kn_emit *e, kn_lv v, const kn_linst *in)
{
    int64_t k;
    kn_lv x = in->a;
    if (in->from != KILN_I64 || (in->sop != KN_S_add && in->sop != KN_S_sub)) return;
    bool right = kn_const_index(e, in->b, &k);
    if (!right && !(in->sop == KN_S_add && kn_const_index(e, in->a, &k))) return;
    if (!right) x = in->b;
    if (!e->val[x].s) return;
    e->val[v].base = e->val[x].base;
    e->val[v].offset = (int64_t)((uint64_t)e->val[x].offset + (in->sop == KN_S_sub ? -(uint64_t)k : (uint64_t)k));
}

/* Sums, differences and multiples of linear values, and their low bits, are linear. */
static bool emit_linear(kn_emit *e, kn_lv v, const kn_linst *in)
{
    const kn_val *a = &e->val[in->a], *b = in->b ? &e->val[in->b] : NULL;
    if (kn_is_float(in->from) || kn_is_narrow(in->from) || in->from == KILN_BOOL || !a->s || (b && !b->s)) return false;
    uint64_t sa = a->linear ? (uint64_t)a->stride : 0, sb = b && b->linear ? (uint64_t)b->stride : 0, stride;
    kn_ll s;
    if (in->sop == KN_S_add) {
        stride = sa + sb;
        s = LLVMBuildAdd(e->b, a->s, b->s, "");
    } else if (in->sop == KN_S_sub) {
        stride = sa - sb;
        s = LLVMBuildSub(e->b, a->s, b->s, "");
    } else if (in->sop == KN_S_mul && (LLVMIsAConstantInt(a->s) || LLVMIsAConstantInt(b->s))) {
        bool left = !a->linear && LLVMIsAConstantInt(a->s);
        if (!left && (b->linear || !LLVMIsAConstantInt(b->s))) return false;
        stride = left ? sb * LLVMConstIntGetZExtValue(a->s) : sa * LLVMConstIntGetZExtValue(b->s);
        s = LLVMBuildMul(e->b, a->s, b->s, "");
    } else if (in->sop == KN_S_convert && !kn_is_float(in->dtype) && !kn_is_narrow(in->dtype) && in->dtype != KILN_BOOL && kn_bits(in->dtype) <= kn_bits(in->from)) {
        stride = sa;
        s = kn_emit_convert(e, in->from, in->dtype, 0, a->s);
    } else {
        return false;
    }
    e->val[v] = (kn_val){.s = s, .base = s, .linear = true, .stride = (int64_t)stride};
    keep_parts(e, v, in);
    return true;
}

static void emit_sop(kn_emit *e, kn_lv v, const kn_linst *in)
{
    kn_lv operands[] = {in->a, in->b, in->c};
    kn_ll x[3] = {NULL, NULL, NULL};
    bool lanes = false;
    for (int i = 0; i < 3; i++) lanes = lanes || (operands[i] && kn_in_lanes(e, operands[i]));
    if (lanes && emit_linear(e, v, in)) return;
    for (int i = 0; i < 3; i++)
        if (operands[i]) x[i] = kn_value_of(e, operands[i], lanes);
    if (lanes && kn_divides_in_32_bits(e, in)) kn_set(e, v, kn_emit_divide_short(e, in->sop, e->w, x[0], x[1]), true);
    else kn_set(e, v, kn_emit_op(e, in->sop, in->from, in->dtype, lanes ? e->w : 0, x[0], x[1], x[2]), lanes);
    if (!lanes) keep_parts(e, v, in);
}

static bool types_ok(kn_emit *e, const kn_linst *in)
{
    bool has_type = in->op == KN_L_CONST || in->op == KN_L_SOP || in->op == KN_L_LOAD || in->op == KN_L_STORE || in->op == KN_L_LANES;
    kiln_dtype d = in->op == KN_L_SOP && kn_emit_dtype_ok(in->dtype) ? in->from : in->dtype;
    if (!has_type || kn_emit_dtype_ok(d)) return true;
    kn_emit_fail(e, "no code for elements of type %s; accepted: bool, integers, floats", kn_dtype_text(d));
    return false;
}

void kn_emit_block(kn_emit *e, const kn_lblock *b)
{
    if (!kn_emit_pieces(e, b)) kn_emit_statements(e, b, 0, b->inst.n);
}

void kn_emit_statements(kn_emit *e, const kn_lblock *b, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && !e->failed; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &e->l->inst.v[v];
        if (!types_ok(e, in)) return;
        uint32_t together = kn_emit_abreast(e, b, i, to);
        if (together) {
            i += together - 1;
            continue;
        }
        switch (in->op) {
        case KN_L_CONST: emit_const(e, v, in); break;
        case KN_L_SOP: emit_sop(e, v, in); break;
        case KN_L_LOAD: kn_emit_load(e, v, in); break;
        case KN_L_STORE: kn_emit_store(e, in); break;
        case KN_L_SAME: emit_same(e, v, in); break;
        case KN_L_LOOP: emit_loop(e, v, in); break;
        case KN_L_LANES: kn_emit_lanes(e, v, in); break;
        case KN_L_WHILE: emit_while(e, in); break;
        case KN_L_IF: emit_if(e, in); break;
        case KN_L_SWAP: emit_swap(e, in); break;
        case KN_L_POINT: emit_point(e, in); break;
        case KN_L_COPY: kn_emit_copy(e, in); break;
        case KN_L_CALL: kn_emit_routine(e, in->call); break;
        case KN_L_TICK: kn_emit_tick(e, in->index); break;
        default: kn_emit_fail(e, "instruction %d has no code", (int)in->op); break;
        }
    }
}
