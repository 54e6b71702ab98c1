/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by one divisor, and roots, that stand side by side in plain code are made as a vector: the unit that divides takes as long for it
 * as for one of them. */
#include "llvm/emit.h"
#include "loop/abreast.h"

/* Statements from `i` on that may be one vector: neither needs another one. */
static uint32_t run_of(const kn_emit *e, const kn_lblock *b, uint32_t i, uint32_t to)
{
    const kn_linst *first = &e->l->inst.v[b->inst.v[i]];
    uint32_t most = kn_abreast_most(first), n = 1;
    if (e->m != e->level[1] || most == 1 || kn_in_lanes(e, first->a) || (first->b && kn_in_lanes(e, first->b))) return 1;
    for (; n < most && i + n < to; n++) {
        const kn_linst *in = &e->l->inst.v[b->inst.v[i + n]];
        if (!kn_abreast(first, in)) break;
        for (uint32_t k = 0; k < n; k++)
            if (in->a == b->inst.v[i + k]) return n;
        if (kn_in_lanes(e, in->a)) break;
    }
    return n;
}

uint32_t kn_emit_abreast(kn_emit *e, const kn_lblock *b, uint32_t i, uint32_t to)
{
    uint32_t n = run_of(e, b, i, to);
    if (n == 1) return 0;
    const kn_linst *first = &e->l->inst.v[b->inst.v[i]];
    unsigned w = kn_abreast_most(first);
    kn_ll x = LLVMGetPoison(kn_type(e, first->from, w)), y = NULL;
    for (unsigned k = 0; k < w; k++) /* the last one again where there are fewer: no lane may be slow */
        x = LLVMBuildInsertElement(e->b, x, kn_scalar_of(e, e->l->inst.v[b->inst.v[i + (k < n ? k : n - 1)]].a), kn_int(e, 32, k), "");
    if (first->b) y = kn_splat(e, kn_scalar_of(e, first->b), w);
    kn_ll all = kn_emit_op(e, first->sop, first->from, first->dtype, w, x, y, NULL);
    for (unsigned k = 0; k < n; k++) kn_set(e, b->inst.v[i + k], LLVMBuildExtractElement(e->b, all, kn_int(e, 32, k), ""), false);
    return n;
}
