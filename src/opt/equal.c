/* SPDX-License-Identifier: Apache-2.0 */
#include "opt/equal.h"

#include "base/map.h"

static uint64_t mix(uint64_t h, uint64_t v) { return kn_mix(h ^ v) + h * 31; }

static uint64_t hash_atom(const kn_build *b, kn_atom a)
{
    if (!kn_is_literal(a)) return kn_mix(a + 1);
    const kn_lit *l = &b->lits.v[kn_literal_index(a)];
    uint64_t bits[2] = {0};
    kn_scalar_store(l->dtype, bits, 0, l->value);
    return mix(mix((uint64_t)l->dtype + 77, bits[0]), bits[1]);
}

static uint64_t hash_param(const kn_param *p)
{
    switch (p->kind) { /* the common kinds without the weight of the long hash */
    case KN_P_NONE: return 1;
    case KN_P_BOOL: return mix(2, p->b);
    case KN_P_INT: return mix(3, (uint64_t)p->i);
    case KN_P_DTYPE: return mix(4, (uint64_t)p->dtype);
    case KN_P_INTS: {
        uint64_t h = 5;
        for (uint32_t i = 0; i < p->n; i++) h = mix(h, (uint64_t)p->ints[i]);
        return h;
    }
    default: return kn_param_hash(p, 6);
    }
}

static uint64_t hash_eqn(const kn_build *b, const kn_eqn *e)
{
    uint64_t h = mix(kn_map_address(e->prim), (uint64_t)e->nin << 32 | e->nout);
    if ((e->prim->flags & KN_COMMUTES) && e->nin == 2) h = mix(h, hash_atom(b, e->in[0]) + hash_atom(b, e->in[1]));
    else
        for (uint32_t i = 0; i < e->nin; i++) h = mix(h, hash_atom(b, e->in[i]));
    for (uint32_t i = 0; i < e->prim->nparams; i++) h = mix(h, hash_param(&e->params[i]));
    return h;
}

bool kn_equal_atoms(const kn_build *b, kn_atom x, kn_atom y)
{
    if (!kn_is_literal(x) || !kn_is_literal(y)) return x == y;
    const kn_lit *l = &b->lits.v[kn_literal_index(x)], *m = &b->lits.v[kn_literal_index(y)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

static bool same_eqn(const kn_build *b, const kn_eqn *x, const kn_eqn *y)
{
    if (x->prim != y->prim || x->nin != y->nin || x->nout != y->nout) return false;
    bool same = true;
    for (uint32_t i = 0; same && i < x->nin; i++) same = kn_equal_atoms(b, x->in[i], y->in[i]);
    if (!same && (x->prim->flags & KN_COMMUTES) && x->nin == 2)
        same = kn_equal_atoms(b, x->in[0], y->in[1]) && kn_equal_atoms(b, x->in[1], y->in[0]);
    for (uint32_t i = 0; same && i < x->prim->nparams; i++) same = kn_param_equal(&x->params[i], &y->params[i]);
    return same;
}

bool kn_equal_init(kn_equal *t, kn_arena *scratch, const kn_build *b, uint32_t n)
{
    *t = (kn_equal){.b = b, .cap = 16};
    while (t->cap < 2 * (uint64_t)n) t->cap *= 2;
    t->place = KN_NEWN(scratch, uint32_t, t->cap);
    t->hash = KN_NEWN(scratch, uint64_t, t->cap);
    return t->place && t->hash;
}

const kn_eqn *kn_equal_find(kn_equal *t, const kn_eqn *e)
{
    uint32_t mask = t->cap - 1;
    t->effect = e->prim->flags & KN_EFFECT;
    if (t->effect) return NULL;
    uint64_t h = t->looked = hash_eqn(t->b, e);
    for (t->at = (uint32_t)(h ^ h >> 32) & mask; t->place[t->at]; t->at = (t->at + 1) & mask) {
        const kn_eqn *other = &t->b->eqns.v[t->place[t->at] - 1];
        if (t->hash[t->at] == h && same_eqn(t->b, other, e)) return other;
    }
    return NULL;
}

void kn_equal_enter(kn_equal *t)
{
    if (t->effect) return;
    t->place[t->at] = t->b->eqns.n;
    t->hash[t->at] = t->looked;
}
