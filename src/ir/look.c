/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at programs: parameters by name, equality, structural hash, counts. */
#include "ir/prim.h"

#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include <xxhash.h>

const kn_param *kn_param_of(const kn_eqn *e, const char *name)
{
    for (uint32_t i = 0; i < e->prim->nparams; i++)
        if (strcmp(e->prim->params[i].name, name) == 0) return &e->params[i];
    return NULL;
}

static void param_bodies(const kn_param *p, void (*f)(void *ud, const kn_jaxpr *body), void *ud)
{
    if (p->kind == KN_P_JAXPR) f(ud, p->jaxpr);
    else if (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD)
        for (uint32_t i = 0; i < p->n; i++) param_bodies(&p->items[i], f, ud);
}

void kn_eqn_bodies(const kn_eqn *e, void (*f)(void *ud, const kn_jaxpr *body), void *ud)
{
    for (uint32_t i = 0; i < e->prim->nparams; i++) param_bodies(&e->params[i], f, ud);
}

static void look_for_effect(void *ud, const kn_jaxpr *j)
{
    bool *any = ud;
    for (uint32_t k = 0; k < j->neqns && !*any; k++) *any = kn_eqn_has_effect(&j->eqns[k]);
}

bool kn_eqn_has_effect(const kn_eqn *e)
{
    bool any = e->prim->flags & KN_EFFECT;
    if (!any) kn_eqn_bodies(e, look_for_effect, &any);
    return any;
}

bool kn_param_equal(const kn_param *a, const kn_param *b)
{
    if (a->kind != b->kind || a->list != b->list) return false;
    switch (a->kind) {
    case KN_P_NONE: return true;
    case KN_P_BOOL: return a->b == b->b;
    case KN_P_INT: return a->i == b->i;
    case KN_P_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case KN_P_TEXT: return strcmp(a->text, b->text) == 0;
    case KN_P_DTYPE: return a->dtype == b->dtype;
    case KN_P_INTS: return a->n == b->n && (a->n == 0 || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0);
    case KN_P_RECORD:
        if (strcmp(a->name, b->name) != 0) return false; /* fall through */
    case KN_P_TUPLE:
        if (a->n != b->n) return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!kn_param_equal(&a->items[i], &b->items[i])) return false;
        return true;
    case KN_P_JAXPR: return kn_jaxpr_equal(a->jaxpr, b->jaxpr);
    }
    return false;
}

static bool atom_equal(const kn_jaxpr *a, kn_atom x, const kn_jaxpr *b, kn_atom y)
{
    if (kn_is_literal(x) != kn_is_literal(y)) return false;
    if (!kn_is_literal(x)) return x == y; /* variables are numbered in order of definition */
    const kn_lit *l = &a->lits[kn_literal_index(x)], *m = &b->lits[kn_literal_index(y)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

static bool array_equal(const kiln_array *a, const kiln_array *b)
{
    return a == b || (a && b && kiln_type_equal(a->type, b->type) && memcmp(a->data, b->data, a->bytes) == 0);
}

static bool eqn_equal(const kn_jaxpr *a, const kn_eqn *x, const kn_jaxpr *b, const kn_eqn *y)
{
    if (x->prim != y->prim || x->nin != y->nin || x->nout != y->nout) return false;
    for (uint32_t i = 0; i < x->nin; i++)
        if (!atom_equal(a, x->in[i], b, y->in[i])) return false;
    for (uint32_t i = 0; i < x->prim->nparams; i++)
        if (!kn_param_equal(&x->params[i], &y->params[i])) return false;
    return memcmp(x->out, y->out, x->nout * sizeof *x->out) == 0;
}

const kn_eqn *kn_jaxpr_differs(const kn_jaxpr *a, const kn_jaxpr *b)
{
    for (uint32_t k = 0; k < a->neqns && k < b->neqns; k++)
        if (!eqn_equal(a, &a->eqns[k], b, &b->eqns[k])) return &a->eqns[k];
    return a->neqns > b->neqns ? &a->eqns[b->neqns] : a->neqns ? &a->eqns[a->neqns - 1] : NULL;
}

bool kn_jaxpr_equal(const kn_jaxpr *a, const kn_jaxpr *b)
{
    if (a == b) return true;
    if (a->nvars != b->nvars || a->nin != b->nin || a->nconsts != b->nconsts || a->neqns != b->neqns || a->nout != b->nout) return false;
    for (uint32_t i = 0; i < a->nvars; i++)
        if (!kiln_type_equal(a->vars[i].type, b->vars[i].type)) return false;
    for (uint32_t i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i]) return false;
    for (uint32_t i = 0; i < a->nconsts; i++)
        if (!array_equal(a->consts[i], b->consts[i])) return false;
    for (uint32_t i = 0; i < a->neqns; i++)
        if (!eqn_equal(a, &a->eqns[i], b, &b->eqns[i])) return false;
    for (uint32_t i = 0; i < a->nout; i++)
        if (!atom_equal(a, a->out[i], b, b->out[i])) return false;
    return true;
}

/* Feeds a hash, or whoever asks, in a fixed order; sizes come before contents, so that no two programs feed the same bytes. */
typedef struct feed {
    XXH3_state_t state;
    kn_feed_fn to; /* NULL: the hash */
    void *ud;
} feed;

static void put(feed *f, const void *p, size_t n)
{
    if (f->to) f->to(f->ud, p, n);
    else XXH3_128bits_update(&f->state, p, n);
}
static void put_u64(feed *f, uint64_t v) /* seven bits a byte, the last byte below 128 */
{
    unsigned char s[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7) s[n++] = (unsigned char)(v | 128);
    s[n++] = (unsigned char)v;
    put(f, s, n);
}
static void put_text(feed *f, const char *s)
{
    put_u64(f, strlen(s));
    put(f, s, strlen(s));
}

static void put_type(feed *f, kiln_type t)
{
    put_u64(f, (uint64_t)t.dtype << 32 | t.rank);
    if (t.rank) put(f, t.dims, t.rank * sizeof *t.dims);
}

static void put_jaxpr(feed *f, const kn_jaxpr *j);

static void put_param(feed *f, const kn_param *p)
{
    put_u64(f, (uint64_t)p->kind << 1 | p->list);
    switch (p->kind) {
    case KN_P_NONE: break;
    case KN_P_BOOL: put_u64(f, p->b); break;
    case KN_P_INT: put_u64(f, (uint64_t)p->i); break;
    case KN_P_FLOAT: put(f, &p->f, sizeof p->f); break;
    case KN_P_TEXT: put_text(f, p->text); break;
    case KN_P_DTYPE: put_u64(f, (uint64_t)p->dtype); break;
    case KN_P_INTS:
        put_u64(f, p->n);
        if (p->n) put(f, p->ints, p->n * sizeof *p->ints);
        break;
    case KN_P_RECORD: put_text(f, p->name); /* fall through */
    case KN_P_TUPLE:
        put_u64(f, p->n);
        for (uint32_t i = 0; i < p->n; i++) put_param(f, &p->items[i]);
        break;
    case KN_P_JAXPR: put_jaxpr(f, p->jaxpr); break;
    }
}

static void put_atom(feed *f, const kn_jaxpr *j, kn_atom a)
{
    if (!kn_is_literal(a)) {
        put_u64(f, a);
        return;
    }
    const kn_lit *l = &j->lits[kn_literal_index(a)];
    put_u64(f, (uint64_t)1 << 40 | (uint64_t)l->dtype);
    uint64_t bits[2] = {0};
    kn_scalar_store(l->dtype, bits, 0, l->value);
    put(f, bits, sizeof bits);
}

static void put_contents(feed *f, const kiln_array *a)
{
    XXH128_hash_t h = XXH3_128bits(a->data, a->bytes);
    put(f, &h, sizeof h);
}

static void put_jaxpr(feed *f, const kn_jaxpr *j)
{
    put_u64(f, (uint64_t)j->nin << 32 | j->nconsts);
    put_u64(f, (uint64_t)j->neqns << 32 | j->nout);
    for (uint32_t i = 0; i < j->nin; i++) put_type(f, kn_type_of(j, j->in[i]));
    for (uint32_t i = 0; i < j->nconsts; i++)
        if (j->consts[i]) put_contents(f, j->consts[i]);
        else put_text(f, "hole");
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        put_text(f, e->prim->name);
        put_u64(f, (uint64_t)e->prim->rev << 48 | (uint64_t)e->nin << 24 | e->nout);
        for (uint32_t i = 0; i < e->prim->nparams; i++) put_param(f, &e->params[i]);
        for (uint32_t i = 0; i < e->nin; i++) put_atom(f, j, e->in[i]);
        for (uint32_t i = 0; i < e->nout; i++) {
            put_u64(f, e->out[i]);
            put_type(f, j->vars[e->out[i]].type);
        }
    }
    for (uint32_t i = 0; i < j->nout; i++) put_atom(f, j, j->out[i]);
}

static kn_hash digest(const feed *f)
{
    XXH128_hash_t h = XXH3_128bits_digest(&f->state);
    return (kn_hash){h.low64, h.high64};
}

kn_hash kn_jaxpr_hash(const kn_jaxpr *j)
{
    feed f = {.to = NULL};
    XXH3_128bits_reset(&f.state);
    put_jaxpr(&f, j);
    return digest(&f);
}

void kn_jaxpr_feed(const kn_jaxpr *j, kn_feed_fn to, void *ud)
{
    feed f = {.to = to, .ud = ud};
    put_jaxpr(&f, j);
}

uint64_t kn_param_hash(const kn_param *p, uint64_t seed)
{
    feed f = {.to = NULL};
    XXH3_INITSTATE(&f.state); /* a reset with a seed reads the seed before */
    XXH3_128bits_reset_withSeed(&f.state, seed);
    put_param(&f, p);
    return digest(&f).lo;
}

/* A body that several equations share counts once. Bodies seen are kept in a small set on the stack of calls. */
typedef struct counter {
    uint64_t n;
    const kn_jaxpr *seen[64];
    uint32_t nseen;
} counter;

static void count_jaxpr(void *ud, const kn_jaxpr *j)
{
    counter *c = ud;
    for (uint32_t i = 0; i < c->nseen; i++)
        if (c->seen[i] == j) return;
    if (c->nseen < 64) c->seen[c->nseen++] = j;
    c->n += j->neqns;
    for (uint32_t k = 0; k < j->neqns; k++) kn_eqn_bodies(&j->eqns[k], count_jaxpr, c);
}

uint64_t kn_jaxpr_count(const kn_jaxpr *j)
{
    counter c = {.n = 0};
    count_jaxpr(&c, j);
    return c.n;
}
