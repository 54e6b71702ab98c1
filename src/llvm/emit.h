/* SPDX-License-Identifier: Apache-2.0 */
/* From loops to LLVM IR. One function, built as SSA directly: loops are structured, so that every phi is known when its block
 * is opened, and no pass over the IR is needed.
 *
 *   module.c   the table, target machines, object code
 *   entry.c    prologue and epilogue: floating-point mode, stop flag, clock ticks, pointers loaded once
 *   frame.c    what functions beside the entry take from outside
 *   range.c    loops that may be split over threads: functions of their own
 *   piece.c    long blocks, equal nests, and what is made at another level: functions of their own
 *   heat.c     level 2: what is better made at level 0
 *   join.c     the objects of both levels as one
 *   types.c    element types in memory and in registers, constants, vectors of lanes
 *   flow.c     blocks, loops, while, if, swap
 *   lanes.c    loops in lanes
 *   fold.c     reductions in lanes
 *   memory.c   loads, stores, copies
 *   neighbours.c  loads side by side
 *   scalar.c   scalar operations on one element or a vector of them
 *   flush.c    the same where subnormal numbers are read and made as zeros
 *   abreast.c  quotients and roots side by side
 *   divide.c   integer division
 *   bounds.c   index arithmetic that 31 bits hold
 *   convert.c  conversions
 *   narrow.c   floats of 16 bits and less
 *   maths.c    functions of our own, in place of such calls
 *   call.c     calls into the table: functions of scalars and vectors, routines on whole arrays
 *   native.c   level 0: vectors wider than the machine's become native ones
 *   quick.c    level 0: what the fast instruction selector does not know becomes what it knows
 *   fast.c     level 0: what it knows
 *   cut.c      level 0: blocks are put in order and cut so that it gets what it knows */
#ifndef KN_LLVM_EMIT_H
#define KN_LLVM_EMIT_H

#include "base/cpu.h"
#include "base/map.h"
#include "run/codegen.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

typedef LLVMValueRef kn_ll;
typedef LLVMBasicBlockRef kn_bb;

/* A value of the loop language. In lanes it is one of
 *   the same in all lanes   s
 *   linear                  lane i is s + i * stride (integers, wrapping)
 *   a vector                s is NULL
 * `v` is its vector form for `vw` lanes, made on demand right behind the definition of s. */
typedef struct kn_val {
    kn_ll s, v;
    uint32_t vw;
    bool linear;
    int64_t stride;
    kn_ll base; /* of an index: s = base + offset; base may be NULL for a constant */
    int64_t offset;
} kn_val;

/* An address computed before, in this block. */
typedef struct kn_place_known {
    kn_bb block;
    kn_ll root, base, p;
    unsigned bytes;
} kn_place_known;
enum { KN_PLACES = 16 };

/* What is known of the loop in lanes around: first index, and of whole steps the counter and where they end. */
typedef struct kn_near {
    bool known;
    int64_t lo, end;
    kn_ll iv;
} kn_near;

typedef struct kn_emit {
    const kn_loops *l;
    const kn_codegen_options *o;
    const kn_target *target;
    kn_codegen_result *out;
    kn_arena arena;
    LLVMContextRef c;
    LLVMModuleRef m; /* that is being filled: one of the next two, which are NULL where they are not needed */
    LLVMModuleRef level[2];          /* of code at level 0, at level 2 */
    LLVMTargetMachineRef machine[2]; /* that make it */
    LLVMBuilderRef b;
    kn_ll fn;
    kn_ll buffers, scratch, table, call; /* the entry's arguments; in a function of a range, what its frame has of them */
    kn_ll part;                          /* there: scratch of the thread's own */
    kn_bb entry, set_mode; /* loads of pointers go to entry; it ends in a branch once all is emitted */
    kn_val *val;
    kn_ll *ptr;       /* per slot: current pointer, or NULL for scratch that never moved */
    kn_ll *function;  /* per entry of the call table: its pointer, once loaded */
    uint32_t n_functions;
    uint8_t *varying;
    kn_lv *loop_of;   /* per value: the loop whose index it is (bounds.c), or 0 */
    kn_map splats;    /* a scalar and a width -> number of its vector, + 1 */
    KN_VEC(kn_ll) splat;
    uint8_t *slot_loads; /* per slot: loads in the body of the loop in lanes, up to 2 */
    kn_near near;
    kn_ll room;       /* on the stack, for lanes of reductions; NULL: none yet */
    kn_ll consts;     /* table->consts, once loaded */
    kn_ll calls;      /* table->calls, once loaded */
    kn_ll size;       /* kn_entry_size, once made */
    unsigned w;       /* lanes; 0 in plain code */
    kn_ll mask;       /* of the active lanes; NULL: all */
    bool maths_pay;   /* in these lanes: maths.c */
    kn_place_known places[KN_PLACES];
    unsigned next_place;
    unsigned vector_bytes; /* of a native vector */
    bool two_levels, entry_hot; /* heat.c: the entry is at level 2, and so is .. */
    bool *hot;                  /* .. this statement of the program */
    bool hot_ranges;            /* heat.c: all of them are loops that may be split, whose ranges alone are at level 2 */
    uint32_t *mark, marks; /* frame.c */
    uint32_t ranges, pieces;
    kn_ll frame;      /* of the pieces that the function calls; NULL: none yet */
    uint32_t frame_cells;
    /* entry */
    kn_ll old_mode, mode_differs, stop, status, ticks, has_ticks;
    bool failed;
    char *error;
    size_t error_bytes;
} kn_emit;

void kn_emit_fail(kn_emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* the first one counts */
void *kn_emit_new(kn_emit *e, size_t n, size_t size); /* from the arena; fails the emission and gives NULL */

/* ---- native.c, quick.c ---- */
void kn_emit_native(kn_emit *e); /* of the whole module, once it is emitted */
void kn_emit_quick(kn_emit *e);  /* after that */

/* ---- cut.c, fast.c ---- */
void kn_emit_cut(kn_emit *e); /* of the whole module, after that */
bool kn_fast_selects(const kn_emit *e, kn_ll instruction);

/* ---- bounds.c ---- */
bool kn_bounds_init(kn_emit *e);
bool kn_divides_in_32_bits(const kn_emit *e, const kn_linst *in); /* lanes of it, with the same results */

/* ---- types.c ---- */
bool kn_emit_dtype_ok(kiln_dtype d);
const char *kn_dtype_text(kiln_dtype d);
bool kn_is_float(kiln_dtype d);
bool kn_is_signed(kiln_dtype d);
bool kn_is_narrow(kiln_dtype d); /* a float of 16 bits or less: its code in registers */
unsigned kn_bits(kiln_dtype d); /* in registers: 1 for bool */
unsigned kn_bytes(kiln_dtype d); /* in memory */
LLVMTypeRef kn_type(kn_emit *e, kiln_dtype d, unsigned w);        /* in registers; w 0: one element */
LLVMTypeRef kn_memory_type(kn_emit *e, kiln_dtype d, unsigned w); /* in memory */
LLVMTypeRef kn_bits_type(kn_emit *e, kiln_dtype d, unsigned w);   /* the integer type of the same size */
kn_ll kn_int(kn_emit *e, unsigned bits, uint64_t v);
kn_ll kn_const(kn_emit *e, kiln_dtype d, kn_scalar v);
kn_ll kn_const_f(kn_emit *e, kiln_dtype d, unsigned w, double v);
kn_ll kn_const_i(kn_emit *e, kiln_dtype d, unsigned w, int64_t v); /* an integer type's, or the bits of a float */
kn_ll kn_const_splat(kn_emit *e, kn_ll v, unsigned w);              /* of a constant; w 0: itself */
kn_ll kn_iota(kn_emit *e, unsigned bits, unsigned w, int64_t stride);
kn_ll kn_splat(kn_emit *e, kn_ll s, unsigned w);
kn_ll kn_slice(kn_emit *e, kn_ll v, unsigned first, unsigned n, unsigned stride); /* lanes first, first + stride, ... */
kn_ll kn_join(kn_emit *e, kn_ll a, kn_ll b, unsigned w); /* two vectors of w lanes each */
kn_ll kn_intrinsic(kn_emit *e, const char *name, LLVMTypeRef *overload, unsigned n, kn_ll *args, unsigned nargs);
kn_ll kn_bitcast(kn_emit *e, kn_ll v, LLVMTypeRef t);

/* ---- values ---- */
kn_ll kn_scalar_of(kn_emit *e, kn_lv v);  /* of a value that is the same in all lanes */
kn_ll kn_vector_of(kn_emit *e, kn_lv v);  /* e->w lanes */
kn_ll kn_value_of(kn_emit *e, kn_lv v, bool varying);
void kn_set(kn_emit *e, kn_lv v, kn_ll x, bool varying);
bool kn_const_index(const kn_emit *e, kn_lv v, int64_t *out); /* an i64 constant? */
bool kn_in_lanes(const kn_emit *e, kn_lv v); /* is the value a vector or linear here? */

/* ---- abreast.c ---- */
/* Statements from `i` on, before `to`, that are made together; 0: none. */
uint32_t kn_emit_abreast(kn_emit *e, const kn_lblock *b, uint32_t i, uint32_t to);

/* ---- scalar.c, divide.c, convert.c, narrow.c, call.c ---- */
kn_ll kn_emit_op(kn_emit *e, kn_sop op, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c);
kn_ll kn_emit_plain(kn_emit *e, kn_sop op, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c); /* no float of 16 bits */
kn_ll kn_emit_flushing(kn_emit *e, kn_sop op, kiln_dtype d, kiln_dtype to, unsigned w, kn_ll a, kn_ll b, kn_ll c); /* flush.c */
kn_ll kn_hidden(kn_emit *e, kn_ll v); /* where subnormal numbers are flushed: v, of which LLVM knows nothing */
bool kn_constant_float(kn_ll v, double *out); /* the constant in all lanes */
kn_ll kn_integer_extremum(kn_emit *e, bool max, bool is_signed, kn_ll a, kn_ll b);
kn_ll kn_emit_divide(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b);
kn_ll kn_emit_divide_short(kn_emit *e, kn_sop op, unsigned w, kn_ll a, kn_ll b); /* lanes of i64 that 31 bits hold; b > 0 */
kn_ll kn_widen(kn_emit *e, kiln_dtype d, unsigned w, kn_ll code); /* to f32 */
kn_ll kn_narrow(kn_emit *e, kiln_dtype d, unsigned w, kn_ll real); /* from f32 */
kn_ll kn_narrow_from(kn_emit *e, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a);
kn_ll kn_emit_convert(kn_emit *e, kiln_dtype from, kiln_dtype to, unsigned w, kn_ll a);
bool kn_is_call(kn_sop op, kiln_dtype d);
void kn_emit_routine(kn_emit *e, const kn_lcall *c);
kn_ll kn_emit_call(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, const kn_ll *args, unsigned nargs);

/* ---- maths.c ---- */
bool kn_maths_pay(const kn_emit *e, const kn_lblock *body); /* in the body of a loop in lanes */
/* Of e->w lanes; NULL: it is better called. */
kn_ll kn_emit_maths(kn_emit *e, kn_sop op, kiln_dtype d, unsigned w, kn_ll a, kn_ll b);

/* ---- memory.c ---- */
kn_ll kn_slot_pointer(kn_emit *e, uint32_t slot);
kn_ll kn_moved(kn_emit *e, kn_ll p, LLVMTypeRef t, kn_ll n); /* by n of type t */
kn_ll kn_address(kn_emit *e, const kn_linst *in, kn_ll base, int64_t offset); /* of element base + offset; base may be NULL */
kn_ll kn_vector_load(kn_emit *e, kiln_dtype d, kn_ll p, kn_ll mask);
void kn_emit_load(kn_emit *e, kn_lv v, const kn_linst *in);
void kn_emit_store(kn_emit *e, const kn_linst *in);
void kn_emit_copy(kn_emit *e, const kn_linst *in);

/* ---- neighbours.c ---- */
void kn_neighbours_begin(kn_emit *e, const kn_lblock *body, const kn_ll range[2]); /* of a loop in lanes */
/* Elements min(max(first, lo), hi) + more of each lane, `first` linear, from whole vectors; NULL: to be loaded otherwise. */
kn_ll kn_emit_neighbours(kn_emit *e, const kn_linst *in, const kn_val *first, int64_t more, int64_t lo, int64_t hi);

/* ---- heat.c ---- */
void kn_emit_heat(kn_emit *e); /* before the entry is made */

/* ---- piece.c ---- */
bool kn_emit_stays(const kn_loops *l, kn_lv v);      /* in the function that it stands in */
bool kn_emit_pieces(kn_emit *e, const kn_lblock *b); /* false: the block is better made as it is */

/* ---- range.c ---- */
bool kn_is_split(const kn_linst *in);
void kn_emit_split_loop(kn_emit *e, kn_lv v, const kn_linst *in);

/* ---- flow.c, lanes.c ---- */
void kn_emit_block(kn_emit *e, const kn_lblock *b);
void kn_emit_statements(kn_emit *e, const kn_lblock *b, uint32_t from, uint32_t to); /* of it */
void kn_emit_vector_loop(kn_emit *e, kn_lv v, const kn_linst *in);
/* Of such a loop the iterations lo..hi, one at least; lo lies at a multiple of the width from its start. */
void kn_emit_vector_range(kn_emit *e, kn_lv v, const kn_linst *in, kn_ll lo, kn_ll hi);
uint64_t kn_loop_trips(const kn_emit *e, const kn_lregion *r); /* where it ends a constant after its start; 0: else */
void kn_emit_plain_range(kn_emit *e, const kn_linst *in, kn_ll lo, kn_ll hi); /* one by one, without carries */
void kn_emit_lanes(kn_emit *e, kn_lv v, const kn_linst *in); /* fold.c */
/* The body of a loop in lanes at elements iv + more and on, w of them; values are those of these lanes until it is closed. */
void kn_lanes_open(kn_emit *e, const kn_lblock *body, kn_ll iv, int64_t more, unsigned w, kn_ll mask);
void kn_lanes_close(kn_emit *e);
kn_ll kn_lanes_below(kn_emit *e, kn_ll active, unsigned w); /* a mask: the first lanes; active: i32 */
unsigned kn_lanes_size(const kn_emit *e, const kn_lblock *body); /* statements but for constants */
kn_bb kn_block_new(kn_emit *e);
kn_bb kn_here(kn_emit *e); /* block being filled */
void kn_enter(kn_emit *e, kn_bb block); /* blocks stand in the order in which they are entered */
kn_ll kn_phi(kn_emit *e, LLVMTypeRef t);
void kn_incoming(kn_ll phi, kn_ll v, kn_bb from);

/* ---- entry.c ---- */
void kn_emit_prologue(kn_emit *e);
void kn_emit_declare(kn_emit *e, const char *name, LLVMTypeRef type); /* a function, to be filled */
void kn_emit_epilogue(kn_emit *e);
kn_ll kn_emit_stopped(kn_emit *e); /* i1: the stop flag is set */
void kn_emit_count(kn_emit *e, kn_ll trips, uint32_t lanes); /* adds to the call's counters */
void kn_emit_cancelled(kn_emit *e);
void kn_emit_tick(kn_emit *e, uint32_t scope);
kn_ll kn_entry_room(kn_emit *e, LLVMTypeRef t); /* on the stack, made in the entry block; not set */
kn_ll kn_entry_load(kn_emit *e, kn_ll base, uint64_t offset); /* a pointer, loaded in the entry block */
/* Where a slot stands whose place depends on the size that is given when the program runs; and that size, a multiple of 64. */
kn_ll kn_entry_scratch(kn_emit *e, const kn_slot *s);
kn_ll kn_entry_size(kn_emit *e);

#endif
