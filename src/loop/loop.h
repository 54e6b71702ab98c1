/* SPDX-License-Identifier: Apache-2.0 */
/* The loop language: what a program is after fusion. Scalar code in structured blocks, whose loops say how they run.
 *
 *   kn_loops    a whole program: slots (memory), values, the top block
 *   slot        a pointer to an array in memory: an input, an output, a constant, or scratch. `swap` exchanges the
 *               pointers of two slots, so that a loop's state alternates between buffers without a copy
 *   value       result of an instruction: a scalar (kn_lv is its number, from 1; 0 is none). Values of type i64 are indices too
 *   block       instructions in order, parameters (values given by the statement that owns the block), yields
 *
 * Statements with blocks:
 *   loop   iv = lo..hi, width W: W = 0 runs one by one; W > 0 says that iterations are independent but for carries (none
 *          allowed at the loop itself), to be run W at a time with a masked tail. Inside it, inner loops of width 0 may carry.
 *          params: iv, carries; yields: next carries; results: final carries.
 *   lanes  reduction in lanes (numerics 3, T): element k (counted from lo) goes to lane k mod W; lanes start at `identity`;
 *          after each block of `block` elements the lanes combine by halving (lane i with i + W/2, ... 1), blocks combine from
 *          left to right. `acc` is add, mul, min, max, and, or, xor: yields one value x; or fma: yields x, y and the lane
 *          becomes fma(x, y, lane), lanes and blocks then combining by add. params: iv; results: one. No element: `identity`.
 *   while  params of both blocks: the carries; block 0 yields a bool, block 1 the next carries; results: final carries.
 *          The call's stop flag is asked for before each trip, or few trips; if set, the loop ends and the entry's status is KILN_CANCELLED.
 *   if     selector i32 in 0..n-1 (out of range: the last block); every block yields the results. No params.
 *
 * A loop without carries may say `split`: its iterations touch no memory that another one writes, but for slots that each thread has
 * of its own (`part`). It stands in no other loop that is split, holds no call, swap, point, copy or tick, and no slot of a part is used
 * outside of such loops.
 *
 * A routine on whole arrays (prim/routine.h) is called by
 *   call   name, integers, slots written, slots read, and a slot of scratch for its workspace where it needs one, and one of each
 *          thread's own where threads may share it. Not in lanes.
 *
 * A program of which one size n is given when it runs (array/size.h) has a slot of kind SIZE, an i64[1] that holds n. Its slots have
 * a * n + b elements, as numbers that stand for them; bounds of loops and indices are values made of n. Lanes whose `block` is 0 have
 * the one of numerics 3 for the trips that there are. Its scratch is bytes and `per` times n rounded up to a multiple of 64.
 *
 * Rules: every operand is defined before, in the same or an enclosing block. Arithmetic as rt/scalar.h (kn_sop_eval) to the
 * bit. Loads and stores touch element `index` of the slot's current pointer; memory of bool is one byte, 0 or 1. */
#ifndef KN_LOOP_LOOP_H
#define KN_LOOP_LOOP_H

#include "prim/routine.h"
#include "rt/scalar.h"

typedef enum kn_lop {
    KN_L_NONE,
    KN_L_CONST,  /* imm */
    KN_L_SOP,    /* sop of a, b, c */
    KN_L_LOAD,   /* element a of slot; index as int32_t: the line so many elements before is fetched (negative: on), since it will be read soon */
    KN_L_SAME,   /* bool: slot points where slot2 does */
    KN_L_STORE,  /* element a of slot becomes b; index > 0: the line so many elements on is fetched, since it will be written soon */
    KN_L_PARAM,  /* parameter of a block */
    KN_L_RESULT, /* of the statement a, number `index` */
    KN_L_LOOP,
    KN_L_LANES,
    KN_L_WHILE,
    KN_L_IF,
    KN_L_SWAP,  /* exchange the pointers of slot and slot2; if index > 0: only where slot index - 1 points where slot2 does */
    KN_L_POINT, /* slot points where slot2 does */
    KN_L_COPY,  /* slot becomes a copy of slot2, whole; nothing happens where both pointers are equal */
    KN_L_CALL,  /* routine on whole slots */
    KN_L_TICK   /* clock ticks since the last one are charged to scope `index` */
} kn_lop;

typedef struct kn_lblock {
    KN_VEC(kn_lv) inst;
    KN_VEC(kn_lv) params;
    KN_VEC(kn_lv) yields;
} kn_lblock;

typedef struct kn_lregion {
    kn_lblock *blocks;
    uint32_t nblocks;
    KN_VEC(kn_lv) init; /* loop, while: carries */
    KN_VEC(kn_lv) results;
    kn_lv lo, hi;     /* loop, lanes: i64 */
    kn_lv selector;   /* if: i32 */
    uint32_t width;   /* loop: 0 or W; lanes: W */
    uint32_t steps;   /* while: how many lanes a trip steps, for the call's counters; 0: trips are not counted */
    int64_t cost;     /* loop: 0, or it may be split over threads, and this is the cost of one iteration (split.c) */
    int64_t block;    /* lanes; 0: by the number of trips */
    kn_sop acc;       /* lanes */
    kn_scalar identity; /* lanes; of the result's dtype */
} kn_lregion;

typedef struct kn_lcall {
    kn_call call; /* its arrays are the types of the slots */
    const uint32_t *slots; /* call.nout written, call.nin read */
    uint32_t work, parts;  /* slot + 1, or 0; parts: threads may share the work, and each has such scratch of its own (split.c) */
    uint32_t number;       /* of the program's calls: its place in the table */
} kn_lcall;

typedef struct kn_linst {
    kn_lop op;
    kn_sop sop;
    kiln_dtype dtype; /* of the result; of the value stored */
    kiln_dtype from;  /* SOP: of the operands (as `d` of kn_sop_eval) */
    kn_lv a, b, c;
    uint32_t slot, slot2, index;
    kn_scalar imm;
    kn_lregion *region; /* LOOP, LANES, WHILE, IF */
    const kn_lcall *call; /* CALL */
    uint32_t scope;     /* of the equation it came from */
    kn_loc loc;
} kn_linst;

typedef enum kn_slot_kind { KN_SLOT_INPUT, KN_SLOT_OUTPUT, KN_SLOT_CONST, KN_SLOT_SCRATCH, KN_SLOT_SIZE } kn_slot_kind;
typedef struct kn_slot {
    kn_slot_kind kind;
    uint32_t index; /* which input, output, constant */
    kiln_dtype dtype;
    int64_t elements;
    size_t offset, per; /* SCRATCH: bytes from the start of scratch, a multiple of 64; and for each of n rounded up */
    bool part;     /* SCRATCH: every thread has its own; the offset is from the start of its part */
} kn_slot;

/* A copy of a whole array that was made, and why; of loops that were read from text there are none. */
typedef struct kn_lcopy {
    bool in_loop;
    const char *what; /* the primitive, or the output */
    const char *type, *why;
    uint32_t scope;
    kn_loc loc;
} kn_lcopy;

typedef struct kn_loops {
    kn_arena *arena;
    KN_VEC(kn_linst) inst; /* [0] is unused */
    KN_VEC(kn_slot) slots;
    kn_lblock top;
    size_t scratch_bytes; /* of all threads together; behind it part_bytes for each of them */
    size_t part_bytes;
    size_t scratch_per, part_per; /* of both, for each of n rounded up */
    bool sized;                   /* n is given when the program runs */
    KN_VEC(const kn_lcall *) calls; /* by number */
    uint32_t n_inputs, n_outputs, n_consts;
    uint32_t n_scopes; /* ticks */
    uint32_t n_files;
    const char *const *scopes;
    const char *const *files;
    bool ticks;
    /* counts */
    uint32_t nests, time_loops, copies, exit_copies;
    KN_VEC(kn_lcopy) copied; /* copies and exit_copies, each */
    uint32_t splits; /* loops and calls that may be split */
    uint32_t epilogues; /* products that are stored only as what is made of them */
} kn_loops;

kiln_status kn_loops_print(kiln_ctx *ctx, const kn_loops *l, char **text, size_t *n); /* freed with kiln_text_free */
kiln_status kn_loops_print_copies(kiln_ctx *ctx, const kn_loops *l, char **text, size_t *n); /* a line each; freed likewise */
kiln_status kn_loops_parse(kiln_ctx *ctx, kn_arena *arena, const char *text, size_t n, const char *file, kn_loops **out);
kiln_status kn_loops_verify(kiln_ctx *ctx, const kn_loops *l);

/* Room for a slot: behind what `bytes` and `per` count, which grow by it. False: it does not fit in memory. */
bool kn_slot_place(kn_slot *s, size_t *bytes, size_t *per);

/* Is `index` of a KN_L_CONST: it stands for a size, until all is made (size.c). */
enum { KN_CONST_SIZE = 1 };
static inline bool kn_is_size(const kn_linst *in) { return in->op == KN_L_CONST && in->index == KN_CONST_SIZE; }
/* Constants that stand for sizes become values made of n: the last step of kn_loops_make (size.c). */
kiln_status kn_loops_open(kiln_ctx *ctx, kn_loops *l);
/* Are `a` and `b`, made of one program at sizes n and `at` (which stands for a size itself), the same but for the sizes? Else *differs
 * is the first instruction of a that is not; 0: something else. Both as they are before kn_loops_open (alike.c). */
bool kn_loops_alike(const kn_loops *a, const kn_loops *b, int64_t at, kn_lv *differs);

/* Finds the loops that may and that pay to be split over threads, and makes such loops of long reductions. `donated` as below; `least`:
 * the cost from which on it pays, 0 for the usual one. Changes only how loops run, never what they compute. */
kiln_status kn_loops_split(kiln_ctx *ctx, kn_loops *l, const bool *donated, double least);

/* Lowered, optimised program -> loops. */
typedef struct kn_loop_options {
    unsigned vector_bits;      /* of the target: 512 for v4, 256 for v3 */
    unsigned register_elements; /* arrays of at most so many elements live in registers */
    bool no_fusion;
    bool ticks;
    bool flush;        /* subnormal numbers are read and made as zeros (numerics 12) */
    double split_cost; /* loops that cost so much may be split; 0: the usual */
    const bool *donated; /* per input, or NULL */
    /* Told of every value of an elementwise equation that is not computed where it is read only: those stored by one nest have one
     * number, from 1; 0 is one that lives in registers. May be NULL. */
    void (*kept)(void *ud, const kn_jaxpr *j, uint32_t var, uint32_t nest);
    void *kept_ud;
    bool keep_sizes; /* leaves kn_loops_open to the caller */
} kn_loop_options;
kiln_status kn_loops_make(kiln_ctx *ctx, kn_arena *arena, const kn_prog *p, const kn_loop_options *o, kn_loops **out);

#endif
