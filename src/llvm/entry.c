/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the entry: docs/abi.md says what it promises. */
#include "llvm/emit.h"

#include "kiln/exec.h"

#include <stddef.h>

/* The control register: of x86 MXCSR without its sticky flags, all masked, to nearest; of aarch64 FPCR, all zero. Nothing is flushed unless the
 * program says so. */
enum { MXCSR_BITS = 0xffc0, MXCSR_DEFAULT = 0x1f80, MXCSR_FLUSHES = 0x8040, FPCR_FLUSHES = 1 << 24 };

static kn_ll field(kn_emit *e, kn_ll p, uint64_t offset) { return kn_moved(e, p, LLVMInt8TypeInContext(e->c), kn_int(e, 64, offset)); }

static kn_ll room(kn_emit *e, LLVMTypeRef t) /* on the stack, zero */
{
    kn_ll p = LLVMBuildAlloca(e->b, t, "");
    LLVMBuildStore(e->b, LLVMConstNull(t), p);
    return p;
}

static kn_ll empty_call(kn_emit *e) /* stored in words, which the fast selector knows */
{
    enum { WORDS = sizeof(kiln_call) / 8 };
    kn_ll p = LLVMBuildAlloca(e->b, LLVMArrayType2(LLVMInt64TypeInContext(e->c), WORDS), "");
    for (unsigned i = 0; i < WORDS; i++) LLVMBuildStore(e->b, kn_int(e, 64, 0), field(e, p, 8 * i));
    return p;
}

static bool on_arm(const kn_emit *e) { return e->target == &kn_targets[KN_AARCH64]; }

static uint64_t own_mode(const kn_emit *e)
{
    if (on_arm(e)) return e->o->flush ? FPCR_FLUSHES : 0;
    return e->o->flush ? MXCSR_DEFAULT | MXCSR_FLUSHES : MXCSR_DEFAULT;
}

static void set_mode_from(kn_emit *e, kn_ll p)
{
    if (!on_arm(e)) {
        kn_intrinsic(e, "llvm.x86.sse.ldmxcsr", NULL, 0, &p, 1);
        return;
    }
    kn_ll bits = LLVMBuildLoad2(e->b, LLVMInt64TypeInContext(e->c), p, "");
    kn_intrinsic(e, "llvm.aarch64.set.fpcr", NULL, 0, &bits, 1);
}

/* Stores the caller's mode; is it another one than ours? */
static kn_ll mode_into(kn_emit *e, kn_ll p)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->c);
    if (on_arm(e)) {
        kn_ll bits = kn_intrinsic(e, "llvm.aarch64.get.fpcr", NULL, 0, NULL, 0);
        LLVMBuildStore(e->b, bits, p);
        return LLVMBuildICmp(e->b, LLVMIntNE, bits, kn_int(e, 64, own_mode(e)), "");
    }
    kn_intrinsic(e, "llvm.x86.sse.stmxcsr", NULL, 0, &p, 1);
    kn_ll bits = LLVMBuildAnd(e->b, LLVMBuildLoad2(e->b, i32, p, ""), kn_int(e, 32, MXCSR_BITS), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, bits, kn_int(e, 32, own_mode(e)), "");
}

kn_ll kn_entry_load(kn_emit *e, kn_ll base, uint64_t offset)
{
    kn_bb here = kn_here(e);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    kn_ll p = LLVMBuildLoad2(e->b, LLVMPointerTypeInContext(e->c, 0), field(e, base, offset), "");
    LLVMPositionBuilderAtEnd(e->b, here);
    return p;
}

kn_ll kn_entry_size(kn_emit *e)
{
    if (e->size) return e->size;
    kn_ll p = kn_entry_load(e, e->buffers, sizeof(void *) * ((uint64_t)e->l->n_inputs + e->l->n_outputs));
    kn_bb here = kn_here(e);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    kn_ll n = LLVMBuildLoad2(e->b, LLVMInt64TypeInContext(e->c), p, "");
    e->size = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, n, kn_int(e, 64, 63), ""), kn_int(e, 64, -(uint64_t)64), "");
    LLVMPositionBuilderAtEnd(e->b, here);
    return e->size;
}

kn_ll kn_entry_scratch(kn_emit *e, const kn_slot *s)
{
    kn_ll size = kn_entry_size(e);
    kn_bb here = kn_here(e);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    kn_ll at = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, size, kn_int(e, 64, s->per), ""), kn_int(e, 64, s->offset), "");
    kn_ll p = LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->c), s->part ? e->part : e->scratch, &at, 1, "");
    LLVMPositionBuilderAtEnd(e->b, here);
    return p;
}

kn_ll kn_entry_room(kn_emit *e, LLVMTypeRef t)
{
    kn_bb here = kn_here(e);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    kn_ll p = LLVMBuildAlloca(e->b, t, "");
    LLVMPositionBuilderAtEnd(e->b, here);
    return p;
}

static void stamp(kn_emit *e);

/* Leaves the builder in the block of the program's first instruction; the entry block gets its end in the epilogue. */
void kn_emit_prologue(kn_emit *e)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->c, 0), word = on_arm(e) ? LLVMInt64TypeInContext(e->c) : LLVMInt32TypeInContext(e->c);
    e->buffers = LLVMGetParam(e->fn, 0), e->scratch = LLVMGetParam(e->fn, 1), e->table = LLVMGetParam(e->fn, 2);
    e->entry = kn_block_new(e);
    kn_enter(e, e->entry);
    e->old_mode = LLVMBuildAlloca(e->b, word, "");
    e->mode_differs = mode_into(e, e->old_mode);
    /* A call that is NULL becomes an empty one of our own. */
    kn_ll none = empty_call(e), given = LLVMGetParam(e->fn, 3);
    kn_ll frame = e->call = LLVMBuildSelect(e->b, LLVMBuildIsNull(e->b, given, ""), none, given, "");
    kn_ll stop = LLVMBuildLoad2(e->b, ptr, field(e, frame, offsetof(kiln_call, stop)), "");
    e->stop = LLVMBuildSelect(e->b, LLVMBuildIsNull(e->b, stop, ""), room(e, LLVMInt8TypeInContext(e->c)), stop, "");
    e->status = field(e, frame, offsetof(kiln_call, status));
    LLVMBuildStore(e->b, kn_int(e, 32, 0), e->status);
    if (e->l->ticks) {
        e->ticks = LLVMBuildLoad2(e->b, ptr, field(e, frame, offsetof(kiln_call, ticks)), "");
        e->has_ticks = LLVMBuildIsNotNull(e->b, e->ticks, "");
    }
    kn_ll usual = LLVMBuildAlloca(e->b, word, "");
    kn_bb body = kn_block_new(e);
    kn_enter(e, e->set_mode = kn_block_new(e));
    LLVMBuildStore(e->b, LLVMConstInt(word, own_mode(e), false), usual);
    set_mode_from(e, usual);
    LLVMBuildBr(e->b, body);
    kn_enter(e, body);
    if (e->l->ticks) stamp(e);
}

void kn_emit_epilogue(kn_emit *e)
{
    kn_bb restore = kn_block_new(e), leave = kn_block_new(e);
    LLVMBuildCondBr(e->b, e->mode_differs, restore, leave);
    kn_enter(e, restore);
    set_mode_from(e, e->old_mode);
    LLVMBuildBr(e->b, leave);
    kn_enter(e, leave);
    LLVMBuildRet(e->b, LLVMBuildLoad2(e->b, LLVMInt32TypeInContext(e->c), e->status, ""));
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    LLVMBuildCondBr(e->b, e->mode_differs, e->set_mode, LLVMGetNextBasicBlock(e->set_mode));
}

kn_ll kn_emit_stopped(kn_emit *e)
{
    kn_ll flag = LLVMBuildLoad2(e->b, LLVMInt8TypeInContext(e->c), e->stop, "");
    LLVMSetVolatile(flag, true);
    return LLVMBuildICmp(e->b, LLVMIntNE, flag, kn_int(e, 8, 0), "");
}

/* The counters stand behind the status. Functions of ranges may run at the same time. */
static void count(kn_emit *e, size_t offset, kn_ll n)
{
    kn_ll p = field(e, e->status, offset - offsetof(kiln_call, status));
    if (!e->call) {
        LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, p, n, LLVMAtomicOrderingMonotonic, false);
        return;
    }
    LLVMBuildStore(e->b, LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, LLVMInt64TypeInContext(e->c), p, ""), n, ""), p);
}

void kn_emit_count(kn_emit *e, kn_ll trips, uint32_t lanes)
{
    count(e, offsetof(kiln_call, trips), trips);
    count(e, offsetof(kiln_call, lane_steps), lanes == 1 ? trips : LLVMBuildMul(e->b, trips, kn_int(e, 64, lanes), ""));
}

void kn_emit_cancelled(kn_emit *e) { LLVMBuildStore(e->b, kn_int(e, 32, KILN_CANCELLED), e->status); }

/* The counter of cycles of aarch64 is not for programs, that of the timer is. */
static kn_ll clock_now(kn_emit *e)
{
    static char text[] = "mrs $0, cntvct_el0", result[] = "=r";
    if (!on_arm(e)) return kn_intrinsic(e, "llvm.readcyclecounter", NULL, 0, NULL, 0);
    LLVMTypeRef t = LLVMFunctionType(LLVMInt64TypeInContext(e->c), NULL, 0, false);
    kn_ll f = LLVMGetInlineAsm(t, text, sizeof text - 1, result, sizeof result - 1, true, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(e->b, t, f, NULL, 0, "");
}

/* Only where the call has room for ticks. */
static kn_bb when_ticking(kn_emit *e)
{
    kn_bb yes = kn_block_new(e), after = kn_block_new(e);
    LLVMBuildCondBr(e->b, e->has_ticks, yes, after);
    kn_enter(e, yes);
    return after;
}

static void stamp(kn_emit *e)
{
    kn_bb after = when_ticking(e);
    LLVMBuildStore(e->b, clock_now(e), field(e, e->ticks, 8 * (uint64_t)e->l->n_scopes));
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
}

void kn_emit_tick(kn_emit *e, uint32_t scope)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->c);
    if (!e->l->ticks) return;
    kn_bb after = when_ticking(e);
    kn_ll last = field(e, e->ticks, 8 * (uint64_t)e->l->n_scopes), sum = field(e, e->ticks, 8 * (uint64_t)scope);
    kn_ll now = clock_now(e), spent = LLVMBuildSub(e->b, now, LLVMBuildLoad2(e->b, i64, last, ""), "");
    LLVMBuildStore(e->b, LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, i64, sum, ""), spent, ""), sum);
    LLVMBuildStore(e->b, now, last);
    LLVMBuildBr(e->b, after);
    kn_enter(e, after);
}
