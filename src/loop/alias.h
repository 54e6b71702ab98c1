/* SPDX-License-Identifier: Apache-2.0 */
/* Which slots may be one memory. */
#ifndef KN_LOOP_ALIAS_H
#define KN_LOOP_ALIAS_H

#include "loop/loop.h"

/* Slots of one class may be one memory: outputs in the memory of donated inputs, pointers that are exchanged or shared. */
typedef struct kn_aliases {
    uint32_t *class;   /* per slot: another one of its class; the first of a class has its own number */
    uint32_t *mention; /* per slot: loads and stores in the whole program */
    bool *fixed;       /* per slot: its pointer is exchanged, shared, or given to a routine */
    uint32_t *partner; /* per slot: the one, + 1, that alone it is exchanged with; 0: none */
} kn_aliases;

bool kn_aliases_find(kn_arena *temp, const kn_loops *l, const bool *donated, kn_aliases *out); /* false: out of memory */

static inline uint32_t kn_alias_home(const kn_aliases *a, uint32_t s)
{
    while (a->class[s] != s) s = a->class[s];
    return s;
}

/* Are both in one memory at no time? Two buffers that are exchanged stay two. */
static inline bool kn_alias_apart(const kn_aliases *a, const kn_loops *l, uint32_t s, uint32_t t)
{
    if (kn_alias_home(a, s) != kn_alias_home(a, t)) return true;
    bool own = l->slots.v[s].kind == KN_SLOT_SCRATCH || l->slots.v[t].kind == KN_SLOT_SCRATCH;
    return own && a->partner[s] == t + 1 && a->partner[t] == s + 1;
}

#endif
