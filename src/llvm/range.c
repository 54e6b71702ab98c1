/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that may be split over threads is a function of its own, of a range of its iterations; the entry calls it through the table
 * (docs/abi.md), which runs all of the range in this thread or pieces of it in several.
 *
 *      range(frame, lo, hi, part)
 *
 * The frame stands on the entry's stack: frame.h. */
#include "llvm/frame.h"

#include "rt/math_table.h"

#include <stddef.h>
#include <stdio.h>

bool kn_is_split(const kn_linst *in) { return in->op == KN_L_LOOP && in->region->cost > 0; }

/* Is it statement v, or inside of it? */
static bool holds(const kn_loops *l, kn_lv v, const kn_linst *loop)
{
    const kn_linst *in = &l->inst.v[v];
    bool found = in == loop;
    for (uint32_t k = 0; in->op == KN_L_LOOP && !found && k < in->region->blocks[0].inst.n; k++) found = holds(l, in->region->blocks[0].inst.v[k], loop);
    return found;
}

/* Where the loop's function is made: at level 2 when such loops are all that takes time, and the entry is not. */
static LLVMModuleRef module_of(const kn_emit *e, const kn_linst *loop)
{
    const kn_lblock *b = &e->l->top;
    for (uint32_t i = 0; e->hot_ranges && i < b->inst.n; i++)
        if (e->hot[i] && holds(e->l, b->inst.v[i], loop)) return e->level[1];
    return e->m;
}

/* The function of what it gives back stays in e->fn. */
static kn_ll make_function(kn_emit *e, kn_lv v, const kn_linst *in, const kn_taken *t, LLVMTypeRef type)
{
    char name[32];
    LLVMModuleRef here = e->m;
    kn_aside a = kn_frame_put_aside(e, t);
    if (e->failed) return NULL;
    snprintf(name, sizeof name, "kiln_range_%u", ++e->ranges);
    e->m = module_of(e, in);
    kn_declare_inside(e, name, type, e->m == here);
    kn_frame_open(e, t, &a);
    kn_bb body = kn_block_new(e);
    kn_enter(e, body);
    kn_ll lo = LLVMGetParam(e->fn, 1), hi = LLVMGetParam(e->fn, 2), fn = e->fn;
    if (in->region->width > 1) kn_emit_vector_range(e, v, in, lo, hi);
    else kn_emit_plain_range(e, in, lo, hi);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    LLVMBuildBr(e->b, body);
    kn_frame_take_back(e, t, &a);
    e->m = here;
    return kn_known_here(e, fn);
}

static void call_split(kn_emit *e, const kn_linst *in, kn_ll fn, kn_ll frame)
{
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), i64 = LLVMInt64TypeInContext(e->c), params[] = {p, p, p, p, i64, i64, i64, i64};
    const kn_lregion *r = in->region;
    kn_ll split = kn_entry_load(e, e->table, offsetof(struct kiln_table, split));
    kn_ll args[] = {e->table, e->call, fn, frame, kn_scalar_of(e, r->lo), kn_scalar_of(e, r->hi),
                    kn_int(e, 64, r->width > 1 ? r->width : 1), kn_int(e, 64, (uint64_t)r->cost)};
    LLVMBuildCall2(e->b, LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, 8, false), split, args, 8, "");
}

void kn_emit_split_loop(kn_emit *e, kn_lv v, const kn_linst *in)
{
    kn_taken t = {0};
    if (!kn_frame_look(e)) return;
    kn_frame_use(e, &t, in->region->lo), kn_frame_use(e, &t, in->region->hi); /* of the whole: neighbours ask for them */
    kn_frame_block(e, &t, &in->region->blocks[0]);
    if (e->failed) return;
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), i64 = LLVMInt64TypeInContext(e->c), params[] = {p, i64, i64, i64};
    kn_ll fn = make_function(e, v, in, &t, LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, 4, false));
    if (e->failed) return;
    kn_ll frame = kn_entry_room(e, LLVMArrayType2(i64, kn_frame_cells(&t)));
    kn_frame_fill(e, &t, frame);
    call_split(e, in, fn, frame);
}
