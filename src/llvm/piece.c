/* SPDX-License-Identifier: Apache-2.0 */
/* What LLVM does to a function grows faster than the function. So a long block is made of pieces, each a function of its own that the block
 * calls in order, and nests of the program that are equal but for the arrays and values that they take from outside are one function, called
 * with another frame each time. What a piece gives to what stands behind it comes back through its frame, behind what it takes. Statements
 * of the program that are made at another level than the entry are pieces, too, in the module of that level. */
#include "base/map.h"
#include "llvm/frame.h"
#include "loop/statements.h"

#include <stdio.h>

enum { LONG = 2000, PIECE = 800, WORTH_ONE = 16 }; /* statements: of a block that is cut, of a piece, of a nest that is not made again */

typedef struct nest { /* with a function */
    uint64_t hash;
    kn_lv v;
    kn_ll fn;
    kn_taken taken;
    KN_VEC(kn_lv) given;
    LLVMTypeRef *types; /* of what is given */
    kn_ll *constant;    /* where it is one; such a value is so in all functions, and needs no cell */
    struct nest *next;  /* with the same hash */
} nest;

typedef struct pieces {
    kn_emit *e;
    const kn_lblock *b;
    uint32_t *weight; /* per statement of the block */
    uint64_t *hash;   /* of nests that may be made once, or 0 */
    kn_map last;      /* value -> where in the block it is used last, + 1 */
    kn_map count;     /* hash -> how often */
    kn_map found;     /* hash -> its number in `nests` + 1 */
    KN_VEC(nest *) nests;
} pieces;

/* ---- statements ---- */

/* Pointers of slots that change, and clock ticks, belong to the function that they stand in. */
bool kn_emit_stays(const kn_loops *l, kn_lv v)
{
    const kn_linst *in = &l->inst.v[v];
    if (in->op == KN_L_SWAP || in->op == KN_L_POINT || in->op == KN_L_TICK) return true;
    for (uint32_t k = 0; in->region && k < in->region->nblocks; k++)
        for (uint32_t i = 0; i < in->region->blocks[k].inst.n; i++)
            if (kn_emit_stays(l, in->region->blocks[k].inst.v[i])) return true;
    return false;
}

static void used(pieces *s, kn_lv v, uint32_t at)
{
    if (v && !kn_map_put(&s->e->arena, &s->last, v, at + 1)) kn_emit_fail(s->e, "out of memory");
}

static void uses(pieces *s, const kn_lblock *b, uint32_t at);

static void uses_of(pieces *s, kn_lv v, uint32_t at)
{
    const kn_linst *in = &s->e->l->inst.v[v];
    const kn_lregion *r = in->region;
    used(s, in->a, at), used(s, in->b, at), used(s, in->c, at);
    if (!r) return;
    used(s, r->lo, at), used(s, r->hi, at), used(s, r->selector, at);
    for (uint32_t k = 0; k < r->init.n; k++) used(s, r->init.v[k], at);
    for (uint32_t k = 0; k < r->nblocks; k++) uses(s, &r->blocks[k], at);
}

static void uses(pieces *s, const kn_lblock *b, uint32_t at)
{
    for (uint32_t i = 0; i < b->inst.n; i++) uses_of(s, b->inst.v[i], at);
    for (uint32_t i = 0; i < b->yields.n; i++) used(s, b->yields.v[i], at);
}

/* ---- equal nests ---- */

static uint64_t mixed(uint64_t h, uint64_t x) { return kn_mix(h * 31 + x); }

static uint64_t hash_block(const kn_loops *l, const kn_lblock *b, uint64_t h);

static uint64_t hash_statement(const kn_loops *l, kn_lv v, uint64_t h)
{
    const kn_linst *in = &l->inst.v[v];
    const kn_lregion *r = in->region;
    h = mixed(h, (uint64_t)in->op << 32 | (uint64_t)in->sop << 16 | (uint64_t)in->dtype << 8 | (uint64_t)in->from);
    if (!r) return h;
    h = mixed(h, (uint64_t)r->nblocks << 48 | (uint64_t)r->width << 16 | r->init.n);
    for (uint32_t k = 0; k < r->nblocks; k++) h = hash_block(l, &r->blocks[k], h);
    return h;
}

/* The statement at *i of the block or behind it; 0: none. Where constants stand says nothing: they are compared where they are used. */
static kn_lv statement(const kn_loops *l, const kn_lblock *b, uint32_t *i)
{
    while (*i < b->inst.n && l->inst.v[b->inst.v[*i]].op == KN_L_CONST) ++*i;
    return *i < b->inst.n ? b->inst.v[(*i)++] : 0;
}

static uint64_t hash_block(const kn_loops *l, const kn_lblock *b, uint64_t h)
{
    uint32_t i = 0, n = 0;
    for (kn_lv v; (v = statement(l, b, &i)); n++) h = hash_statement(l, v, h);
    return mixed(h, n);
}

/* Two nests side by side: what is the first one's is the second one's at the same place. */
typedef struct pairs {
    kn_emit *e;
    kn_map value, back; /* of what both define or take, in both directions; + 1 */
    kn_map slot, slot_back;
} pairs;

/* Was x with y already, or are both new? */
static bool pair(pairs *p, kn_map *there, kn_map *back, uint32_t x, uint32_t y)
{
    uint32_t to = kn_map_get(there, x), from = kn_map_get(back, y);
    if (to || from) return to == y + 1 && from == x + 1;
    return kn_map_put(&p->e->arena, there, x, y + 1) && kn_map_put(&p->e->arena, back, y, x + 1);
}

static bool same_constant(const kn_linst *x, const kn_linst *y) { return x->dtype == y->dtype && x->imm.u == y->imm.u; }

static bool same_value(pairs *p, kn_lv x, kn_lv y)
{
    const kn_emit *e = p->e;
    const kn_linst *a = &e->l->inst.v[x], *b = &e->l->inst.v[y];
    if (!x || !y) return x == y;
    if (a->op == KN_L_CONST || b->op == KN_L_CONST) return a->op == b->op && same_constant(a, b);
    if (kn_map_get(&p->value, x)) return pair(p, &p->value, &p->back, x, y);
    /* from outside, of the block that is being filled: both are known there */
    kn_ll s = e->val[x].s, t = e->val[y].s;
    if (!s || !t || LLVMTypeOf(s) != LLVMTypeOf(t) || (LLVMIsConstant(s) || LLVMIsConstant(t) ? s != t : 0)) return false;
    return pair(p, &p->value, &p->back, x, y);
}

static bool same_slot(pairs *p, uint32_t x, uint32_t y)
{
    const kn_slot *a = &p->e->l->slots.v[x], *b = &p->e->l->slots.v[y];
    if (a->dtype != b->dtype || a->elements != b->elements || a->part != b->part || (a->part && x != y)) return false;
    return pair(p, &p->slot, &p->slot_back, x, y);
}

static bool same_values(pairs *p, const kn_lv *x, uint32_t n, const kn_lv *y, uint32_t m)
{
    for (uint32_t i = 0; i < n && n == m; i++)
        if (!same_value(p, x[i], y[i])) return false;
    return n == m;
}

static bool define_values(pairs *p, const kn_lv *x, uint32_t n, const kn_lv *y, uint32_t m)
{
    for (uint32_t i = 0; i < n && n == m; i++)
        if (p->e->l->inst.v[x[i]].dtype != p->e->l->inst.v[y[i]].dtype || !pair(p, &p->value, &p->back, x[i], y[i])) return false;
    return n == m;
}

static bool same_statement(pairs *p, kn_lv x, kn_lv y);

static bool same_block(pairs *p, const kn_lblock *x, const kn_lblock *y)
{
    const kn_loops *l = p->e->l;
    uint32_t i = 0, k = 0;
    if (!define_values(p, x->params.v, x->params.n, y->params.v, y->params.n)) return false;
    for (;;) {
        kn_lv v = statement(l, x, &i), w = statement(l, y, &k);
        if (!v || !w) {
            if (v != w) return false;
            break;
        }
        if (!same_statement(p, v, w)) return false;
    }
    return same_values(p, x->yields.v, x->yields.n, y->yields.v, y->yields.n);
}

static bool same_region(pairs *p, const kn_lregion *x, const kn_lregion *y)
{
    if (x->nblocks != y->nblocks || x->width != y->width || x->cost != y->cost || x->block != y->block || x->acc != y->acc ||
        x->identity.u != y->identity.u)
        return false;
    if (!same_value(p, x->lo, y->lo) || !same_value(p, x->hi, y->hi) || !same_value(p, x->selector, y->selector)) return false;
    if (!same_values(p, x->init.v, x->init.n, y->init.v, y->init.n)) return false;
    for (uint32_t k = 0; k < x->nblocks; k++)
        if (!same_block(p, &x->blocks[k], &y->blocks[k])) return false;
    return define_values(p, x->results.v, x->results.n, y->results.v, y->results.n);
}

static bool same_statement(pairs *p, kn_lv x, kn_lv y)
{
    const kn_linst *a = &p->e->l->inst.v[x], *b = &p->e->l->inst.v[y];
    if (a->op != b->op || a->sop != b->sop || a->dtype != b->dtype || a->from != b->from) return false;
    switch (a->op) {
    case KN_L_STORE:
    case KN_L_LOAD:
        if (!same_slot(p, a->slot, b->slot)) return false;
        break;
    case KN_L_SOP:
    case KN_L_LOOP:
    case KN_L_LANES:
    case KN_L_WHILE:
    case KN_L_IF: break;
    default: return false;
    }
    if (!same_value(p, a->a, b->a) || !same_value(p, a->b, b->b) || !same_value(p, a->c, b->c)) return false;
    if (a->region) return same_region(p, a->region, b->region);
    return a->op == KN_L_STORE || pair(p, &p->value, &p->back, x, y);
}

/* ---- a piece ---- */

/* Values that statements from..to-1 define and others behind them use; of a nest that stands for others, all. */
static void given_by(pieces *s, uint32_t from, uint32_t to, bool all, nest *n)
{
    for (uint32_t i = from; i < to; i++) {
        kn_lv v = s->b->inst.v[i];
        const kn_linst *in = &s->e->l->inst.v[v];
        const kn_lv *names = in->region ? in->region->results.v : &v;
        uint32_t many = in->region ? in->region->results.n : in->op == KN_L_SOP || in->op == KN_L_LOAD || in->op == KN_L_SAME;
        for (uint32_t k = 0; k < many; k++)
            if ((all || kn_map_get(&s->last, names[k]) > to) && !kn_push(&s->e->arena, &n->given, names[k])) kn_emit_fail(s->e, "out of memory");
    }
}

static nest *nest_of(pieces *s, uint32_t from, uint32_t to, bool all)
{
    nest *n = kn_emit_new(s->e, 1, sizeof *n);
    if (!n || !kn_frame_look(s->e)) return NULL;
    n->v = s->b->inst.v[from];
    for (uint32_t i = from; i < to && !s->e->failed; i++) kn_frame_statement(s->e, &n->taken, s->b->inst.v[i]);
    n->taken.all_slots = all;
    given_by(s, from, to, all, n);
    n->types = kn_emit_new(s->e, n->given.n, sizeof *n->types);
    n->constant = kn_emit_new(s->e, n->given.n, sizeof *n->constant);
    return s->e->failed ? NULL : n;
}

static void give(kn_emit *e, nest *n)
{
    kn_ll frame = LLVMGetParam(n->fn, 0);
    uint32_t cell = kn_frame_cells(&n->taken);
    for (uint32_t i = 0; i < n->given.n && !e->failed; i++, cell++) {
        kn_ll x = kn_scalar_of(e, n->given.v[i]);
        n->types[i] = LLVMTypeOf(x);
        if (LLVMIsConstant(x)) n->constant[i] = x;
        else LLVMBuildStore(e->b, x, kn_frame_cell(e, frame, cell));
    }
}

static LLVMTypeRef type_of(kn_emit *e)
{
    LLVMTypeRef frame = LLVMPointerTypeInContext(e->c, 0);
    return LLVMFunctionType(LLVMVoidTypeInContext(e->c), &frame, 1, false);
}

/* Of the block, statement i is made at another level than the entry. */
static bool elsewhere(const pieces *s, uint32_t i)
{
    const kn_emit *e = s->e;
    return e->two_levels && !e->hot_ranges && s->b == &e->l->top && e->hot[i] != e->entry_hot;
}

static void make_function(pieces *s, uint32_t from, uint32_t to, nest *n)
{
    kn_emit *e = s->e;
    char name[32];
    LLVMModuleRef here = e->m, there = elsewhere(s, from) ? e->level[!e->entry_hot] : here;
    kn_aside a = kn_frame_put_aside(e, &n->taken);
    if (e->failed) return;
    snprintf(name, sizeof name, "kiln_piece_%u", ++e->pieces);
    e->m = there;
    kn_declare_inside(e, name, type_of(e), there == here);
    n->fn = e->fn;
    kn_frame_open(e, &n->taken, &a);
    kn_bb body = kn_block_new(e);
    kn_enter(e, body);
    kn_emit_statements(e, s->b, from, to);
    give(e, n);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    LLVMBuildBr(e->b, body);
    kn_frame_take_back(e, &n->taken, &a);
    e->m = here;
}

/* One frame serves all pieces that a function calls. */
static kn_ll frame_of(kn_emit *e, uint32_t cells)
{
    if (e->frame && e->frame_cells >= cells) return e->frame;
    kn_ll wide = kn_entry_room(e, LLVMArrayType2(LLVMInt64TypeInContext(e->c), cells));
    if (e->frame) {
        LLVMReplaceAllUsesWith(e->frame, wide);
        LLVMInstructionEraseFromParent(e->frame);
    }
    e->frame_cells = cells;
    return e->frame = wide;
}

/* Calls the function of n with what `as` takes and gives: n itself, or a nest that is equal. */
static void call(kn_emit *e, const nest *n, const nest *as)
{
    uint32_t cell = kn_frame_cells(&as->taken);
    kn_ll frame = frame_of(e, cell + as->given.n);
    kn_frame_fill(e, &as->taken, frame);
    LLVMBuildCall2(e->b, type_of(e), kn_known_here(e, n->fn), &frame, 1, "");
    for (uint32_t i = 0; i < as->given.n; i++, cell++) {
        kn_ll x = n->constant[i] ? n->constant[i] : LLVMBuildLoad2(e->b, n->types[i], kn_frame_cell(e, frame, cell), "");
        kn_set(e, as->given.v[i], x, false);
    }
}

/* Statements from..to-1 as a function of their own. */
static void cut_off(pieces *s, uint32_t from, uint32_t to)
{
    nest *n = nest_of(s, from, to, false);
    if (n) make_function(s, from, to, n);
    if (n && !s->e->failed) call(s->e, n, n);
}

/* The nest at i, made unless an equal one was. */
static void emit_nest(pieces *s, uint32_t i)
{
    kn_emit *e = s->e;
    nest *n = nest_of(s, i, i + 1, true);
    uint32_t found = kn_map_get(&s->found, s->hash[i]);
    if (!n) return;
    for (nest *o = found ? s->nests.v[found - 1] : NULL; o; o = o->next) {
        pairs p = {.e = e};
        if (!same_statement(&p, o->v, n->v) || o->taken.values.n != n->taken.values.n || o->taken.slots.n != n->taken.slots.n) continue;
        call(e, o, n);
        return;
    }
    n->next = found ? s->nests.v[found - 1] : NULL;
    make_function(s, i, i + 1, n);
    if (e->failed) return;
    call(e, n, n);
    if (!kn_push(&e->arena, &s->nests, n) || !kn_map_put(&e->arena, &s->found, s->hash[i], s->nests.n)) kn_emit_fail(e, "out of memory");
}

/* ---- blocks ---- */

static void inline_or_cut(pieces *s, uint32_t from, uint32_t to, uint32_t weight, uint32_t total)
{
    uint32_t statements = 0;
    for (uint32_t i = from; i < to; i++) statements += s->weight[i] > 0;
    bool one = statements == 1 && weight > total / 2; /* whose inside is cut instead */
    bool other = weight && elsewhere(s, from);
    if (other || (total >= LONG && weight >= PIECE / 4 && !one)) cut_off(s, from, to);
    else kn_emit_statements(s->e, s->b, from, to);
}

static void run(pieces *s, uint32_t total)
{
    uint32_t from = 0, sum = 0, n = s->b->inst.n;
    for (uint32_t i = 0; i < n && !s->e->failed; i++) {
        bool again = s->hash[i] && kn_map_get(&s->count, s->hash[i]) > 1, here = kn_emit_stays(s->e->l, s->b->inst.v[i]);
        if (again || here || sum >= PIECE || elsewhere(s, i) != elsewhere(s, from)) {
            inline_or_cut(s, from, i, sum, total);
            from = i, sum = 0;
        }
        if (again) emit_nest(s, i);
        else if (here) kn_emit_statements(s->e, s->b, i, i + 1);
        else sum += s->weight[i];
        if (again || here) from = i + 1;
    }
    if (!s->e->failed) inline_or_cut(s, from, n, sum, total);
}

/* Which nests there are more than once. */
static bool count_nests(pieces *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->b->inst.n; i++) {
        kn_lv v = s->b->inst.v[i];
        if (!s->e->l->inst.v[v].region || s->weight[i] < WORTH_ONE || kn_emit_stays(s->e->l, v)) continue;
        s->hash[i] = hash_statement(s->e->l, v, 1);
        uint32_t n = kn_map_get(&s->count, s->hash[i]);
        any = any || n;
        if (!kn_map_put(&s->e->arena, &s->count, s->hash[i], n + 1)) kn_emit_fail(s->e, "out of memory");
    }
    return any;
}

bool kn_emit_pieces(kn_emit *e, const kn_lblock *b)
{
    pieces s = {.e = e, .b = b};
    uint32_t total = 0;
    if (e->w || !e->call || !b->inst.n) return false;
    if (b != &e->l->top && kn_loops_statements(e->l, b) < LONG) return false;
    s.weight = kn_emit_new(e, b->inst.n, sizeof *s.weight);
    s.hash = kn_emit_new(e, b->inst.n, sizeof *s.hash);
    if (!s.weight || !s.hash) return true;
    for (uint32_t i = 0; i < b->inst.n; i++) {
        s.weight[i] = kn_loops_statements_in(e->l, b->inst.v[i]);
        total += s.weight[i];
    }
    bool again = b == &e->l->top && count_nests(&s);
    if (!again && total < LONG && !(e->two_levels && !e->hot_ranges && b == &e->l->top)) return false;
    for (uint32_t i = 0; i < b->inst.n; i++) uses_of(&s, b->inst.v[i], i);
    for (uint32_t i = 0; i < b->yields.n; i++) used(&s, b->yields.v[i], b->inst.n);
    run(&s, total);
    return true;
}
