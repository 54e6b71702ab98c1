/* SPDX-License-Identifier: Apache-2.0 */
/* How much code there is, of which the code generator's time is a multiple. */
#include "loop/statements.h"

uint32_t kn_loops_statements_in(const kn_loops *l, kn_lv v)
{
    const kn_linst *in = &l->inst.v[v];
    uint32_t n = in->op != KN_L_CONST;
    for (uint32_t k = 0; in->region && k < in->region->nblocks; k++) n += kn_loops_statements(l, &in->region->blocks[k]);
    return n;
}

uint32_t kn_loops_statements(const kn_loops *l, const kn_lblock *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inst.n; i++) n += kn_loops_statements_in(l, b->inst.v[i]);
    return n;
}
