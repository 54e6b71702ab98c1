/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements code makes as one vector where they stand side by side in plain code: quotients of floats by one divisor, and roots. */
#ifndef KN_LOOP_ABREAST_H
#define KN_LOOP_ABREAST_H

#include "loop/loop.h"

/* How many of them a vector of 16 bytes holds; 1: the statement stands alone. */
static inline uint32_t kn_abreast_most(const kn_linst *in)
{
    bool slow = in->op == KN_L_SOP && (in->sop == KN_S_div || in->sop == KN_S_sqrt);
    return !slow ? 1 : in->from == KILN_F64 ? 2 : in->from == KILN_F32 ? 4 : 1;
}

static inline bool kn_abreast(const kn_linst *x, const kn_linst *y)
{
    return kn_abreast_most(y) > 1 && x->sop == y->sop && x->from == y->from && x->b == y->b;
}

#endif
