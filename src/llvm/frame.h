/* SPDX-License-Identifier: Apache-2.0 */
/* Functions beside the entry: what they take from outside stands in a frame on the stack of who calls. First its arguments, where to look for
 * the stop flag and to put the status, the call; then the values and pointers of slots. Constants are the same in all functions. */
#ifndef KN_LLVM_FRAME_H
#define KN_LLVM_FRAME_H

#include "llvm/emit.h"

/* Cells of 8 bytes. */
enum { KN_FRAME_BUFFERS, KN_FRAME_SCRATCH, KN_FRAME_TABLE, KN_FRAME_STOP, KN_FRAME_STATUS, KN_FRAME_CALL, KN_FRAME_FIXED };

typedef struct kn_taken {
    KN_VEC(kn_lv) values;
    KN_VEC(uint32_t) slots;
    bool part;      /* a slot is the thread's own */
    bool all_slots; /* the pointers of all slots come through the frame, but for the thread's own */
} kn_taken;

/* What belongs to the function being filled; put aside while another one is. */
typedef struct kn_aside {
    kn_ll fn, buffers, scratch, table, call, part, consts, calls, size, stop, status, room, frame, *function;
    kn_bb entry, here;
    uint32_t n_functions, frame_cells;
    kn_val *values; /* of what is taken */
    kn_ll *pointers;
    kn_near near;
} kn_aside;

bool kn_frame_look(kn_emit *e); /* before the first use: what is defined from now on is inside; false: failed */
void kn_frame_define(kn_emit *e, kn_lv v);
void kn_frame_use(kn_emit *e, kn_taken *t, kn_lv v);
void kn_frame_statement(kn_emit *e, kn_taken *t, kn_lv v);
void kn_frame_block(kn_emit *e, kn_taken *t, const kn_lblock *b);

kn_ll kn_frame_parts(kn_emit *e, kn_ll *apart); /* where the first thread's own scratch is, and how far apart those of all are */
uint32_t kn_frame_cells(const kn_taken *t);
kn_ll kn_frame_cell(kn_emit *e, kn_ll frame, uint32_t i);
void kn_frame_fill(kn_emit *e, const kn_taken *t, kn_ll frame);
kn_aside kn_frame_put_aside(kn_emit *e, const kn_taken *t);
void kn_frame_open(kn_emit *e, const kn_taken *t, const kn_aside *a); /* of e->fn, whose first parameter is the frame */
void kn_frame_take_back(kn_emit *e, const kn_taken *t, const kn_aside *a);

/* A function of the module that is being filled, for it alone (`here`) or for the other level too. */
void kn_declare_inside(kn_emit *e, const char *name, LLVMTypeRef type, bool here);
kn_ll kn_known_here(kn_emit *e, kn_ll fn); /* as the module that is being filled knows it */

#endif
