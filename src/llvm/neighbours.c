/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of neighbours. Where a loop in lanes reads one array at several places side by side, as a stencil does, vectors are read
 * at multiples of their length only, and those in between are put together from two of them. Each line of the cache is then
 * read whole, and a vector that was stored a moment ago is found in the store buffer, which a load that touches two of them has
 * to wait for. Indices clamped to a border are the same shuffles. Only for vectors as long as a line: shorter ones cross lines
 * less often than a shuffle costs. */
#include "llvm/emit.h"

enum { LINE = 64 };

/* What was counted of an earlier loop, where this one loads too. */
static void forget(kn_emit *e, const kn_lblock *b)
{
    for (uint32_t i = 0; i < b->inst.n; i++) {
        const kn_linst *in = &e->l->inst.v[b->inst.v[i]];
        if (in->op == KN_L_LOAD) e->slot_loads[in->slot] = 0;
        for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) forget(e, &in->region->blocks[k]);
    }
}

void kn_neighbours_begin(kn_emit *e, const kn_lblock *body, const kn_ll range[2])
{
    e->near = (kn_near){.known = range[0] && LLVMIsAConstantInt(range[0]) && LLVMIsAConstantInt(range[1])};
    if (!e->near.known || !e->slot_loads) return;
    e->near.lo = LLVMConstIntGetSExtValue(range[0]);
    forget(e, body);
    for (uint32_t i = 0; i < body->inst.n; i++) {
        const kn_linst *in = &e->l->inst.v[body->inst.v[i]];
        if (in->op == KN_L_LOAD && e->slot_loads[in->slot] < 2) e->slot_loads[in->slot]++;
    }
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

kn_ll kn_emit_neighbours(kn_emit *e, const kn_linst *in, const kn_val *first, int64_t more, int64_t lo, int64_t hi)
{
    int64_t w = e->w, elements = e->l->slots.v[in->slot].elements, from = first->offset, to = from;
    if (!e->near.known || !e->slot_loads || e->mask || e->w * kn_bytes(in->dtype) != LINE || e->vector_bytes != LINE) return NULL;
    if (e->slot_loads[in->slot] < 2 || e->near.lo % w != 0) return NULL;
    if (first->base) {
        if (first->base != e->near.iv || lo != INT64_MIN || hi != INT64_MAX) return NULL;
        from += e->near.lo, to += e->near.end - w;
    }
    int64_t least = clamp(from, lo, hi) + more, most = clamp(from + w - 1, lo, hi) + more;
    int64_t start = least < 0 ? -1 : least / w * w, length = most < start + w ? w : 2 * w;
    if (start < 0 || most >= start + 2 * w || to - from + start + length > elements) return NULL;
    if (least == start && most == start + w - 1) return NULL; /* whole already */
    kn_ll lane[64], vector[2];
    for (int64_t k = 0; k < w; k++) lane[k] = kn_int(e, 32, (uint64_t)(clamp(from + k, lo, hi) + more - start));
    for (int64_t k = 0; k < length / w; k++)
        vector[k] = kn_vector_load(e, in->dtype, kn_address(e, in, first->base, first->offset + start - from + k * w), NULL);
    if (length == w) vector[1] = LLVMGetPoison(LLVMTypeOf(vector[0]));
    return LLVMBuildShuffleVector(e->b, vector[0], vector[1], LLVMConstVector(lane, e->w), "");
}
