/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that may be split over threads is a function of its own, of a range of its iterations; the entry calls it through the table
 * (docs/abi.md), which runs all of the range in this thread or pieces of it in several.
 *
 *      range(frame, lo, hi, part)
 *
 * The frame stands on the entry's stack: its arguments, where to look for the stop flag and to put the status, then the values and
 * pointers that the loop takes from outside. Constants are the same in all functions. */
#include "llvm/emit.h"

#include "rt/math_table.h"

#include <stddef.h>
#include <stdio.h>

enum { BUFFERS, SCRATCH, TABLE, STOP, STATUS, FIXED }; /* cells of the frame, 8 bytes each */

/* What the loop takes from outside. */
typedef struct taken {
    KN_VEC(kn_lv) values;
    KN_VEC(uint32_t) slots; /* whose pointers have moved */
    bool part;
} taken;

/* ---- what is taken ---- */

static void define(kn_emit *e, kn_lv v) { e->mark[v] = e->marks; }

static void use(kn_emit *e, taken *t, kn_lv v)
{
    if (!v || e->mark[v] == e->marks) return;
    define(e, v);
    if (e->l->inst.v[v].op == KN_L_CONST || LLVMIsConstant(kn_scalar_of(e, v))) return;
    if (!kn_push(&e->arena, &t->values, v)) kn_emit_fail(e, "out of memory");
}

static void use_slot(kn_emit *e, taken *t, uint32_t slot)
{
    const kn_slot *s = &e->l->slots.v[slot];
    t->part = t->part || s->part;
    for (uint32_t i = 0; i < t->slots.n; i++)
        if (t->slots.v[i] == slot) return;
    if (!kn_push(&e->arena, &t->slots, slot)) kn_emit_fail(e, "out of memory");
}

static void look(kn_emit *e, taken *t, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->params.n; i++) define(e, b->params.v[i]);
    for (uint32_t i = 0; i < b->inst.n; i++) {
        kn_lv v = b->inst.v[i];
        const kn_linst *in = &e->l->inst.v[v];
        const kn_lregion *r = in->region;
        if (in->op == KN_L_SOP || in->op == KN_L_LOAD || in->op == KN_L_STORE) use(e, t, in->a), use(e, t, in->b), use(e, t, in->c);
        if (in->op == KN_L_LOAD || in->op == KN_L_STORE) use_slot(e, t, in->slot);
        define(e, v);
        if (!r) continue;
        use(e, t, r->lo), use(e, t, r->hi), use(e, t, r->selector);
        for (uint32_t k = 0; k < r->init.n; k++) use(e, t, r->init.v[k]);
        for (uint32_t k = 0; k < r->nblocks; k++) look(e, t, &r->blocks[k]);
        for (uint32_t k = 0; k < r->results.n; k++) define(e, r->results.v[k]);
    }
    for (uint32_t i = 0; i < b->yields.n; i++) use(e, t, b->yields.v[i]);
}

/* ---- the frame ---- */

static LLVMTypeRef pointer(kn_emit *e) { return LLVMPointerTypeInContext(e->c, 0); }

static kn_ll cell(kn_emit *e, kn_ll frame, uint32_t i)
{
    kn_ll k = kn_int(e, 64, i);
    return LLVMBuildGEP2(e->b, LLVMInt64TypeInContext(e->c), frame, &k, 1, "");
}

static void fill(kn_emit *e, const taken *t, kn_ll frame)
{
    const kn_ll fixed[FIXED] = {e->buffers, e->scratch, e->table, e->stop, e->status};
    for (uint32_t i = 0; i < FIXED; i++) LLVMBuildStore(e->b, fixed[i], cell(e, frame, i));
    for (uint32_t i = 0; i < t->values.n; i++) LLVMBuildStore(e->b, kn_scalar_of(e, t->values.v[i]), cell(e, frame, FIXED + i));
    for (uint32_t i = 0; i < t->slots.n; i++)
        if (e->ptr[t->slots.v[i]]) LLVMBuildStore(e->b, e->ptr[t->slots.v[i]], cell(e, frame, FIXED + t->values.n + i));
}

/* What belongs to the function being filled; put aside while another one is. */
typedef struct aside {
    kn_ll fn, buffers, scratch, table, call, part, consts, calls, size, stop, status, *function;
    kn_bb entry, here;
    uint32_t n_functions;
    kn_val *values; /* of what is taken */
    kn_ll *pointers;
    kn_near near;
} aside;

static aside put_aside(kn_emit *e, const taken *t)
{
    aside a = {.fn = e->fn, .buffers = e->buffers, .scratch = e->scratch, .table = e->table, .call = e->call, .part = e->part,
               .consts = e->consts, .calls = e->calls, .size = e->size, .stop = e->stop, .status = e->status, .function = e->function,
               .entry = e->entry, .here = kn_here(e), .n_functions = e->n_functions, .near = e->near};
    a.values = kn_emit_new(e, t->values.n, sizeof *a.values);
    a.pointers = kn_emit_new(e, t->slots.n, sizeof *a.pointers);
    for (uint32_t i = 0; a.values && i < t->values.n; i++) a.values[i] = e->val[t->values.v[i]];
    for (uint32_t i = 0; a.pointers && i < t->slots.n; i++) a.pointers[i] = e->ptr[t->slots.v[i]];
    e->function = NULL;
    e->n_functions = 0;
    e->consts = e->calls = e->call = e->size = NULL;
    return a;
}

static void take_back(kn_emit *e, const taken *t, const aside *a)
{
    e->fn = a->fn, e->buffers = a->buffers, e->scratch = a->scratch, e->table = a->table, e->call = a->call, e->part = a->part;
    e->consts = a->consts, e->calls = a->calls, e->size = a->size, e->stop = a->stop, e->status = a->status, e->function = a->function;
    e->entry = a->entry, e->n_functions = a->n_functions, e->near = a->near;
    for (uint32_t i = 0; i < t->values.n; i++) e->val[t->values.v[i]] = a->values[i];
    for (uint32_t i = 0; i < t->slots.n; i++) e->ptr[t->slots.v[i]] = a->pointers[i];
    LLVMPositionBuilderAtEnd(e->b, a->here);
}

/* ---- the function ---- */

static kn_ll load(kn_emit *e, kn_ll frame, uint32_t i, LLVMTypeRef t) { return LLVMBuildLoad2(e->b, t, cell(e, frame, i), ""); }

/* Bytes, and `per` for each of the size that is given when the program runs. */
static kn_ll room(kn_emit *e, size_t bytes, size_t per)
{
    kn_ll fixed = kn_int(e, 64, bytes);
    return per ? LLVMBuildAdd(e->b, LLVMBuildMul(e->b, kn_entry_size(e), kn_int(e, 64, per), ""), fixed, "") : fixed;
}

static void open(kn_emit *e, const taken *t, const aside *a)
{
    kn_ll frame = LLVMGetParam(e->fn, 0);
    kn_enter(e, e->entry = kn_block_new(e));
    e->buffers = load(e, frame, BUFFERS, pointer(e)), e->scratch = load(e, frame, SCRATCH, pointer(e));
    e->table = load(e, frame, TABLE, pointer(e));
    e->stop = load(e, frame, STOP, pointer(e)), e->status = load(e, frame, STATUS, pointer(e));
    if (t->part) {
        kn_ll one = room(e, e->l->part_bytes, e->l->part_per), common = room(e, (e->l->scratch_bytes + 63) & ~(size_t)63, e->l->scratch_per);
        kn_ll at = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, LLVMGetParam(e->fn, 3), one, ""), common, "");
        e->part = LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->c), e->scratch, &at, 1, "");
    }
    for (uint32_t i = 0; i < t->values.n; i++) {
        kn_lv v = t->values.v[i];
        kn_set(e, v, load(e, frame, FIXED + i, LLVMTypeOf(a->values[i].s)), false);
    }
    for (uint32_t i = 0; i < t->slots.n; i++)
        e->ptr[t->slots.v[i]] = a->pointers[i] ? load(e, frame, FIXED + t->values.n + i, pointer(e)) : NULL;
}

/* Leaves the function in e->fn of what it gives back. */
static kn_ll make_function(kn_emit *e, kn_lv v, const kn_linst *in, const taken *t, LLVMTypeRef type)
{
    char name[32];
    aside a = put_aside(e, t);
    if (e->failed) return NULL;
    snprintf(name, sizeof name, "kiln_range_%u", ++e->ranges);
    kn_emit_declare(e, name, type);
    LLVMSetLinkage(e->fn, LLVMInternalLinkage);
    open(e, t, &a);
    kn_bb body = kn_block_new(e);
    kn_enter(e, body);
    kn_ll lo = LLVMGetParam(e->fn, 1), hi = LLVMGetParam(e->fn, 2), fn = e->fn;
    if (in->region->width > 1) kn_emit_vector_range(e, v, in, lo, hi);
    else kn_emit_plain_range(e, in, lo, hi);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    LLVMBuildBr(e->b, body);
    take_back(e, t, &a);
    return fn;
}

static void call_split(kn_emit *e, const kn_linst *in, kn_ll fn, kn_ll frame)
{
    LLVMTypeRef p = pointer(e), i64 = LLVMInt64TypeInContext(e->c), params[] = {p, p, p, p, i64, i64, i64, i64};
    const kn_lregion *r = in->region;
    kn_ll split = kn_entry_load(e, e->table, offsetof(struct kiln_table, split));
    kn_ll args[] = {e->table, e->call, fn, frame, kn_scalar_of(e, r->lo), kn_scalar_of(e, r->hi),
                    kn_int(e, 64, r->width > 1 ? r->width : 1), kn_int(e, 64, (uint64_t)r->cost)};
    LLVMBuildCall2(e->b, LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, 8, false), split, args, 8, "");
}

void kn_emit_split_loop(kn_emit *e, kn_lv v, const kn_linst *in)
{
    taken t = {0};
    if (!e->mark) e->mark = kn_emit_new(e, e->l->inst.n, sizeof *e->mark);
    if (!e->mark) return;
    e->marks++;
    use(e, &t, in->region->lo), use(e, &t, in->region->hi); /* of the whole: neighbours ask for them */
    look(e, &t, &in->region->blocks[0]);
    if (e->failed) return;
    LLVMTypeRef p = pointer(e), i64 = LLVMInt64TypeInContext(e->c), params[] = {p, i64, i64, i64};
    kn_ll fn = make_function(e, v, in, &t, LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, 4, false));
    if (e->failed) return;
    kn_ll frame = kn_entry_room(e, LLVMArrayType2(i64, FIXED + t.values.n + t.slots.n));
    fill(e, &t, frame);
    call_split(e, in, fn, frame);
}
