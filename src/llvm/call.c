/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the functions in the call's table. A vector is cut into, or padded to, the lane counts that the table has; lanes
 * that are masked off, and padding, are fed 1. */
#include "llvm/frame.h"

#include "rt/math_table.h"

#include <stddef.h>

static const bool in_library[KN_N_SOPS] = {
#define KN_SOP(name, arity, kinds, result, function) [KN_S_##name] = sizeof(function) > 1,
#include "rt/scalar.def"
#undef KN_SOP
};

bool kn_is_call(kn_sop op, kiln_dtype d) { return in_library[op] || (op == KN_S_rem && kn_is_float(d)); }

/* struct kiln_table: the constants' pointer, then the functions. */
static kn_ll function(kn_emit *e, uint32_t index)
{
    if (index >= e->n_functions) {
        uint32_t n = index + 64;
        kn_ll *more = kn_emit_new(e, n, sizeof *more);
        if (!more) return NULL;
        for (uint32_t i = 0; i < e->n_functions; i++) more[i] = e->function[i];
        e->function = more;
        e->n_functions = n;
    }
    if (!e->function[index]) e->function[index] = kn_entry_load(e, e->table, sizeof(void *) * (1 + (uint64_t)index));
    return e->function[index];
}

static kn_ll call(kn_emit *e, kn_sop op, kiln_dtype d, unsigned lanes, kn_ll *args, unsigned nargs)
{
    int index = e->o->table_index(op, d, lanes);
    kn_ll f = index >= 0 ? function(e, (uint32_t)index) : NULL;
    LLVMTypeRef t = kn_type(e, d, lanes > 1 ? lanes : 0), types[3] = {t, t, t};
    if (!f) {
        kn_emit_fail(e, "the call table has no function %d of %u lanes", (int)op, lanes);
        return LLVMGetUndef(t);
    }
    return LLVMBuildCall2(e->b, LLVMFunctionType(t, types, nargs, false), f, args, nargs, "");
}

static kn_ll one_by_one(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll *args, unsigned nargs)
{
    kn_ll r = LLVMGetPoison(kn_type(e, d, w));
    for (unsigned i = 0; i < w; i++) {
        kn_ll lane[3];
        for (unsigned k = 0; k < nargs; k++) lane[k] = LLVMBuildExtractElement(e->b, args[k], kn_int(e, 32, i), "");
        r = LLVMBuildInsertElement(e->b, r, call(e, op, d, 1, lane, nargs), kn_int(e, 32, i), "");
    }
    return r;
}

/* w lanes, a power of two, by calls on `lanes` <= w of them. */
static kn_ll in_parts(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, unsigned lanes, kn_ll *args, unsigned nargs)
{
    if (w == lanes) return call(e, op, d, lanes, args, nargs);
    kn_ll low[3], high[3];
    for (unsigned k = 0; k < nargs; k++) {
        low[k] = kn_slice(e, args[k], 0, w / 2, 1);
        high[k] = kn_slice(e, args[k], w / 2, w / 2, 1);
    }
    kn_ll a = in_parts(e, op, d, w / 2, lanes, low, nargs), b = in_parts(e, op, d, w / 2, lanes, high, nargs);
    return kn_join(e, a, b, w / 2);
}

static kn_ll padded(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, unsigned lanes, kn_ll *args, unsigned nargs)
{
    kn_ll wide[3], pick[64];
    for (unsigned i = 0; i < lanes; i++) pick[i] = kn_int(e, 32, i < w ? i : w);
    for (unsigned k = 0; k < nargs; k++)
        wide[k] = LLVMBuildShuffleVector(e->b, args[k], kn_const_f(e, d, w, 1), LLVMConstVector(pick, lanes), "");
    return kn_slice(e, call(e, op, d, lanes, wide, nargs), 0, w, 1);
}

kn_ll kn_emit_call(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, const kn_ll *operands, unsigned nargs)
{
    kn_ll args[3];
    for (unsigned k = 0; k < nargs; k++) {
        bool masked = w && e->mask && w == e->w;
        args[k] = masked ? LLVMBuildSelect(e->b, e->mask, operands[k], kn_const_f(e, d, w, 1), "") : operands[k];
    }
    const unsigned *lanes = e->o->table_lanes(op, d, e->o->target);
    static const unsigned one[] = {1, 0};
    unsigned best = 0; /* the fewest lanes that hold the vector, or else the most there are */
    if (op == KN_S_rem && e->o->flush) lanes = one; /* in lanes it is made of parts that may be subnormal */
    for (; lanes && *lanes; lanes++)
        if (!best || *lanes >= (w ? w : 1)) best = *lanes;
    e->out->calls_out++;
    if (!w) return call(e, op, d, 1, args, nargs);
    if (best <= 1) {
        e->out->scalar_calls++;
        return one_by_one(e, op, d, w, args, nargs);
    }
    return best <= w ? in_parts(e, op, d, w, best, args, nargs) : padded(e, op, d, w, best, args, nargs);
}

/* ---- routines on whole arrays ---- */

/* On the stack: who works on the call. */
static kn_ll crew(kn_emit *e, const kn_lcall *c)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->c);
    kn_ll w = kn_entry_room(e, LLVMArrayType2(LLVMInt64TypeInContext(e->c), sizeof(kn_crew) / sizeof(int64_t)));
    kn_ll apart, first = kn_frame_parts(e, &apart), offset = kn_int(e, 64, e->l->slots.v[c->parts - 1].offset);
    const struct {
        size_t at;
        kn_ll v;
    } fields[] = {
        {offsetof(kn_crew, table), e->table},
        {offsetof(kn_crew, call), e->call},
        {offsetof(kn_crew, own), kn_moved(e, first, byte, offset)},
        {offsetof(kn_crew, apart), apart},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        LLVMBuildStore(e->b, fields[i].v, kn_moved(e, w, byte, kn_int(e, 64, fields[i].at)));
    return w;
}

/* run(self, arrays, work), with run and self from table->calls[number] and the slots' pointers on the stack; run_shared(self, arrays, work,
 * crew) where threads may share it. */
void kn_emit_routine(kn_emit *e, const kn_lcall *c)
{
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), params[] = {p, p, p, p};
    uint32_t n = c->call.nout + c->call.nin;
    if (!e->calls) e->calls = kn_entry_load(e, e->table, offsetof(struct kiln_table, calls));
    uint64_t at = sizeof(kn_bound) * (uint64_t)c->number;
    kn_ll run = kn_entry_load(e, e->calls, at + (c->parts ? offsetof(kn_bound, run_shared) : offsetof(kn_bound, run))), self = kn_entry_load(e, e->calls, at + offsetof(kn_bound, self));
    kn_ll arrays = kn_entry_room(e, LLVMArrayType2(p, n));
    for (uint32_t i = 0; i < n; i++) {
        kn_ll k = kn_int(e, 64, i);
        LLVMBuildStore(e->b, kn_slot_pointer(e, c->slots[i]), LLVMBuildGEP2(e->b, p, arrays, &k, 1, ""));
    }
    kn_ll args[] = {self, arrays, c->work ? kn_slot_pointer(e, c->work - 1) : LLVMConstPointerNull(p), c->parts ? crew(e, c) : NULL};
    unsigned nargs = c->parts ? 4 : 3;
    LLVMBuildCall2(e->b, LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, nargs, false), run, args, nargs, "");
}
