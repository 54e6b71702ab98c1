/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm/frame.h"

/* ---- what is taken ---- */

bool kn_frame_look(kn_emit *e)
{
    if (!e->mark) e->mark = kn_emit_new(e, e->l->inst.n, sizeof *e->mark);
    e->marks++;
    return e->mark != NULL;
}

void kn_frame_define(kn_emit *e, kn_lv v) { e->mark[v] = e->marks; }

void kn_frame_use(kn_emit *e, kn_taken *t, kn_lv v)
{
    if (!v || e->mark[v] == e->marks) return;
    kn_frame_define(e, v);
    if (e->l->inst.v[v].op == KN_L_CONST || LLVMIsConstant(kn_scalar_of(e, v))) return;
    if (!kn_push(&e->arena, &t->values, v)) kn_emit_fail(e, "out of memory");
}

static void use_slot(kn_emit *e, kn_taken *t, uint32_t slot)
{
    const kn_slot *s = &e->l->slots.v[slot];
    t->part = t->part || s->part;
    for (uint32_t i = 0; i < t->slots.n; i++)
        if (t->slots.v[i] == slot) return;
    if (!kn_push(&e->arena, &t->slots, slot)) kn_emit_fail(e, "out of memory");
}

static void use_slots(kn_emit *e, kn_taken *t, const kn_linst *in)
{
    switch (in->op) {
    case KN_L_LOAD:
    case KN_L_STORE: use_slot(e, t, in->slot); break;
    case KN_L_SAME:
    case KN_L_COPY: use_slot(e, t, in->slot), use_slot(e, t, in->slot2); break;
    case KN_L_CALL:
        for (uint32_t i = 0; i < in->call->call.nout + in->call->call.nin; i++) use_slot(e, t, in->call->slots[i]);
        if (in->call->work) use_slot(e, t, in->call->work - 1);
        break;
    default: break;
    }
}

void kn_frame_statement(kn_emit *e, kn_taken *t, kn_lv v)
{
    const kn_linst *in = &e->l->inst.v[v];
    const kn_lregion *r = in->region;
    if (in->op == KN_L_SOP || in->op == KN_L_LOAD || in->op == KN_L_STORE)
        kn_frame_use(e, t, in->a), kn_frame_use(e, t, in->b), kn_frame_use(e, t, in->c);
    use_slots(e, t, in);
    kn_frame_define(e, v);
    if (!r) return;
    kn_frame_use(e, t, r->lo), kn_frame_use(e, t, r->hi), kn_frame_use(e, t, r->selector);
    for (uint32_t k = 0; k < r->init.n; k++) kn_frame_use(e, t, r->init.v[k]);
    for (uint32_t k = 0; k < r->nblocks; k++) kn_frame_block(e, t, &r->blocks[k]);
    for (uint32_t k = 0; k < r->results.n; k++) kn_frame_define(e, r->results.v[k]);
}

void kn_frame_block(kn_emit *e, kn_taken *t, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->params.n; i++) kn_frame_define(e, b->params.v[i]);
    for (uint32_t i = 0; i < b->inst.n; i++) kn_frame_statement(e, t, b->inst.v[i]);
    for (uint32_t i = 0; i < b->yields.n; i++) kn_frame_use(e, t, b->yields.v[i]);
}

/* ---- the frame ---- */

static LLVMTypeRef pointer(kn_emit *e) { return LLVMPointerTypeInContext(e->c, 0); }

uint32_t kn_frame_cells(const kn_taken *t) { return KN_FRAME_FIXED + t->values.n + t->slots.n; }

kn_ll kn_frame_cell(kn_emit *e, kn_ll frame, uint32_t i)
{
    return kn_moved(e, frame, LLVMInt64TypeInContext(e->c), kn_int(e, 64, i));
}

/* Does the frame hold the slot's pointer, which is `p` here or not known yet? */
static bool holds(const kn_emit *e, const kn_taken *t, uint32_t slot, kn_ll p)
{
    return p || (t->all_slots && !e->l->slots.v[slot].part);
}

void kn_frame_fill(kn_emit *e, const kn_taken *t, kn_ll frame)
{
    const kn_ll fixed[KN_FRAME_FIXED] = {e->buffers, e->scratch, e->table, e->stop, e->status, e->call};
    for (uint32_t i = 0; i < KN_FRAME_FIXED; i++)
        if (fixed[i]) LLVMBuildStore(e->b, fixed[i], kn_frame_cell(e, frame, i));
    uint32_t cell = KN_FRAME_FIXED;
    for (uint32_t i = 0; i < t->values.n; i++, cell++) LLVMBuildStore(e->b, kn_scalar_of(e, t->values.v[i]), kn_frame_cell(e, frame, cell));
    for (uint32_t i = 0; i < t->slots.n; i++, cell++)
        if (holds(e, t, t->slots.v[i], e->ptr[t->slots.v[i]]))
            LLVMBuildStore(e->b, kn_slot_pointer(e, t->slots.v[i]), kn_frame_cell(e, frame, cell));
}

kn_aside kn_frame_put_aside(kn_emit *e, const kn_taken *t)
{
    kn_aside a = {.fn = e->fn, .buffers = e->buffers, .scratch = e->scratch, .table = e->table, .call = e->call, .part = e->part,
                  .consts = e->consts, .calls = e->calls, .size = e->size, .stop = e->stop, .status = e->status, .function = e->function,
                  .entry = e->entry, .here = kn_here(e), .n_functions = e->n_functions, .near = e->near, .room = e->room,
                  .frame = e->frame, .frame_cells = e->frame_cells};
    a.values = kn_emit_new(e, t->values.n, sizeof *a.values);
    a.pointers = kn_emit_new(e, t->slots.n, sizeof *a.pointers);
    for (uint32_t i = 0; a.values && i < t->values.n; i++) a.values[i] = e->val[t->values.v[i]];
    for (uint32_t i = 0; a.pointers && i < t->slots.n; i++) a.pointers[i] = e->ptr[t->slots.v[i]];
    e->function = NULL;
    e->n_functions = 0;
    e->consts = e->calls = e->size = e->call = e->room = e->frame = NULL;
    e->frame_cells = 0;
    return a;
}

void kn_frame_take_back(kn_emit *e, const kn_taken *t, const kn_aside *a)
{
    e->fn = a->fn, e->buffers = a->buffers, e->scratch = a->scratch, e->table = a->table, e->call = a->call, e->part = a->part;
    e->consts = a->consts, e->calls = a->calls, e->size = a->size, e->stop = a->stop, e->status = a->status, e->function = a->function;
    e->entry = a->entry, e->n_functions = a->n_functions, e->near = a->near, e->room = a->room;
    e->frame = a->frame, e->frame_cells = a->frame_cells;
    for (uint32_t i = 0; i < t->values.n; i++) e->val[t->values.v[i]] = a->values[i];
    for (uint32_t i = 0; i < t->slots.n; i++) e->ptr[t->slots.v[i]] = a->pointers[i];
    LLVMPositionBuilderAtEnd(e->b, a->here);
}

/* ---- the function ---- */

static kn_ll load(kn_emit *e, kn_ll frame, uint32_t i, LLVMTypeRef t) { return LLVMBuildLoad2(e->b, t, kn_frame_cell(e, frame, i), ""); }

/* Bytes, and `per` for each of the size that is given when the program runs. */
static kn_ll room(kn_emit *e, size_t bytes, size_t per)
{
    kn_ll fixed = kn_int(e, 64, bytes);
    return per ? LLVMBuildAdd(e->b, LLVMBuildMul(e->b, kn_entry_size(e), kn_int(e, 64, per), ""), fixed, "") : fixed;
}

kn_ll kn_frame_parts(kn_emit *e, kn_ll *apart)
{
    kn_ll common = room(e, (e->l->scratch_bytes + 63) & ~(size_t)63, e->l->scratch_per);
    *apart = room(e, e->l->part_bytes, e->l->part_per);
    return kn_moved(e, e->scratch, LLVMInt8TypeInContext(e->c), common);
}

void kn_frame_open(kn_emit *e, const kn_taken *t, const kn_aside *a)
{
    kn_ll frame = LLVMGetParam(e->fn, 0);
    kn_enter(e, e->entry = kn_block_new(e));
    e->buffers = load(e, frame, KN_FRAME_BUFFERS, pointer(e)), e->scratch = load(e, frame, KN_FRAME_SCRATCH, pointer(e));
    e->table = load(e, frame, KN_FRAME_TABLE, pointer(e));
    e->stop = load(e, frame, KN_FRAME_STOP, pointer(e)), e->status = load(e, frame, KN_FRAME_STATUS, pointer(e));
    bool range = LLVMCountParams(e->fn) > 1;
    if (!range) e->call = load(e, frame, KN_FRAME_CALL, pointer(e));
    if (t->part && range) {
        kn_ll one, first = kn_frame_parts(e, &one);
        e->part = kn_moved(e, first, LLVMInt8TypeInContext(e->c), LLVMBuildMul(e->b, LLVMGetParam(e->fn, 3), one, ""));
    }
    for (uint32_t i = 0; i < t->values.n; i++) {
        kn_lv v = t->values.v[i];
        kn_set(e, v, load(e, frame, KN_FRAME_FIXED + i, LLVMTypeOf(a->values[i].s)), false);
    }
    for (uint32_t i = 0; i < t->slots.n; i++)
        e->ptr[t->slots.v[i]] = holds(e, t, t->slots.v[i], a->pointers[i]) ? load(e, frame, KN_FRAME_FIXED + t->values.n + i, pointer(e)) : NULL;
}

/* ---- functions beside the entry ---- */

void kn_declare_inside(kn_emit *e, const char *name, LLVMTypeRef type, bool here)
{
    kn_emit_declare(e, name, type);
    LLVMSetLinkage(e->fn, here ? LLVMInternalLinkage : LLVMExternalLinkage);
    LLVMSetVisibility(e->fn, here ? LLVMDefaultVisibility : LLVMHiddenVisibility);
}

kn_ll kn_known_here(kn_emit *e, kn_ll fn)
{
    size_t n;
    const char *name = LLVMGetValueName2(fn, &n);
    kn_ll known = LLVMGetNamedFunction(e->m, name);
    if (known) return known;
    known = LLVMAddFunction(e->m, name, LLVMGlobalGetValueType(fn));
    LLVMSetVisibility(known, LLVMHiddenVisibility);
    return known;
}
