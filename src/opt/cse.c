/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   merges equal equations (same primitive, parameters, bodies, operands; either order where operands commute), equal
 *         constants of the program
 * Needs:  a lowered program
 * Leaves: equations with effects; what stands in different bodies (bodies are closed)
 * Cost:   linear: one hash table a body; bodies are hashed once a nesting level
 * Switch: --skip cse
 *
 * The first of equal equations stays, with its scope and place.
 *
 * Before:
 *   { lambda ; a:f64[] b:f64[]. let
 *       c:f64[] = mul a b
 *       d:f64[] = sin c
 *       e:f64[] = mul b a
 *       f:f64[] = sin e
 *       g:f64[] = add d f
 *     in (g,) }
 * After:
 *   { lambda ; a:f64[] b:f64[]. let
 *       c:f64[] = mul a b
 *       d:f64[] = sin c
 *       e:f64[] = add d d
 *     in (e,) }
 */
#include "opt/rules.h"

enum { MERGED, MERGED_CONSTANT };
static const kn_rule *row(int k);

typedef struct table {
    uint32_t *place; /* number + 1 of an equation */
    uint64_t *hash;
    uint32_t cap;
} table;

static uint64_t mix(uint64_t h, uint64_t v) { return kn_mix(h ^ v) + h * 31; }

static uint64_t hash_atom(const kn_rw *rw, kn_atom a)
{
    if (!kn_is_literal(a)) return kn_mix(a + 1);
    const kn_lit *l = &rw->b.lits.v[kn_literal_index(a)];
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

static uint64_t hash_eqn(const kn_rw *rw, const kn_eqn *e)
{
    uint64_t h = mix(kn_map_address(e->prim), (uint64_t)e->nin << 32 | e->nout);
    if ((e->prim->flags & KN_COMMUTES) && e->nin == 2) h = mix(h, hash_atom(rw, e->in[0]) + hash_atom(rw, e->in[1]));
    else
        for (uint32_t i = 0; i < e->nin; i++) h = mix(h, hash_atom(rw, e->in[i]));
    for (uint32_t i = 0; i < e->prim->nparams; i++) h = mix(h, hash_param(&e->params[i]));
    return h;
}

static bool same_atom(const kn_rw *rw, kn_atom a, kn_atom b)
{
    if (!kn_is_literal(a) || !kn_is_literal(b)) return a == b;
    const kn_lit *l = &rw->b.lits.v[kn_literal_index(a)], *m = &rw->b.lits.v[kn_literal_index(b)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

static bool same_eqn(const kn_rw *rw, const kn_eqn *a, const kn_eqn *b)
{
    if (a->prim != b->prim || a->nin != b->nin || a->nout != b->nout) return false;
    bool same = true;
    for (uint32_t i = 0; same && i < a->nin; i++) same = same_atom(rw, a->in[i], b->in[i]);
    if (!same && (a->prim->flags & KN_COMMUTES) && a->nin == 2)
        same = same_atom(rw, a->in[0], b->in[1]) && same_atom(rw, a->in[1], b->in[0]);
    for (uint32_t i = 0; same && i < a->prim->nparams; i++) same = kn_param_equal(&a->params[i], &b->params[i]);
    return same;
}

/* The equal equation pushed before, or NULL; then `*at` is the free place. */
static const kn_eqn *find(const table *t, const kn_rw *rw, const kn_eqn *e, uint64_t h, uint32_t *at)
{
    uint32_t mask = t->cap - 1;
    for (*at = (uint32_t)(h ^ h >> 32) & mask; t->place[*at]; *at = (*at + 1) & mask) {
        const kn_eqn *other = &rw->b.eqns.v[t->place[*at] - 1];
        if (t->hash[*at] == h && same_eqn(rw, other, e)) return other;
    }
    return NULL;
}

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);
/* Bodies are numbered anew, so that equal ones are found equal. */
static kiln_status merge_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out)
{
    const kn_jaxpr *merged;
    KILN_TRY(merge_jaxpr(ud, body, &merged));
    return kn_renumber(ud, merged, out);
}

/* Forwards constants of the program to earlier ones with the same contents; `n` is how many. */
static kiln_status merge_constants(kn_pm *pm, kn_rw *rw, uint32_t *n)
{
    const kn_jaxpr *j = rw->from;
    enum { SAMPLE = 256 };
    kn_map seen = {0};
    *n = 0;
    for (uint32_t i = 0; i < j->nconsts; i++) {
        const kiln_array *a = j->consts[i];
        uint64_t h = mix(a->bytes, (uint64_t)a->type.dtype), word = 0;
        for (size_t k = 0; k + sizeof word <= a->bytes && k < SAMPLE; k += sizeof word) {
            memcpy(&word, (const char *)a->data + k, sizeof word);
            h = mix(h, word);
        }
        uint32_t first = kn_map_get(&seen, h);
        const kiln_array *b = first ? j->consts[first - 1] : NULL;
        if (!b) KILN_TRY_MEM(pm->ctx, kn_map_put(&pm->scratch, &seen, h, i + 1));
        else if (a == b || (kiln_type_equal(a->type, b->type) && memcmp(a->data, b->data, a->bytes) == 0)) {
            KILN_TRY(kn_rw_forward(rw, j->in[i], j->in[first - 1]));
            ++*n;
        }
    }
    return KILN_OK;
}

static kiln_status drop_constants(kn_pm *pm, const kn_rw *rw, uint32_t n, const kn_jaxpr **out)
{
    kn_arena *arena = &pm->prog->arena;
    kn_jaxpr *j = kn_arena_copy(arena, *out, sizeof *j);
    kn_atom *in = KN_NEWN(arena, kn_atom, (*out)->nin);
    kiln_array **consts = KN_NEWN(arena, kiln_array *, (*out)->nconsts);
    KILN_TRY_MEM(pm->ctx, j && in && consts);
    uint32_t nin = 0;
    for (uint32_t i = 0; i < j->nin; i++) {
        if (i < j->nconsts && kn_rw_map(rw, j->in[i]) != j->in[i]) continue;
        if (i < j->nconsts) consts[nin] = j->consts[i];
        in[nin++] = j->in[i];
    }
    j->in = in, j->nin = nin;
    j->consts = consts, j->nconsts -= n;
    *out = j;
    kn_count(pm, row(MERGED_CONSTANT), n);
    return KILN_OK;
}

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_rw rw;
    uint32_t constants;
    table t = {.cap = 16};
    while (t.cap < 2 * (uint64_t)j->neqns) t.cap *= 2;
    KILN_TRY(kn_rw_begin(&rw, pm, j));
    KILN_TRY_MEM(pm->ctx, t.place = KN_NEWN(&pm->scratch, uint32_t, t.cap));
    KILN_TRY_MEM(pm->ctx, t.hash = KN_NEWN(&pm->scratch, uint64_t, t.cap));
    KILN_TRY(merge_constants(pm, &rw, &constants));
    bool changed = constants > 0;
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e;
        bool inside;
        uint32_t at = 0;
        KILN_TRY(kn_rw_take(&rw, &j->eqns[k], &e));
        KILN_TRY(kn_map_bodies(pm, &e, merge_body, pm, &inside));
        changed = changed || inside;
        uint64_t h = hash_eqn(&rw, &e);
        const kn_eqn *same = e.prim->flags & KN_EFFECT ? NULL : find(&t, &rw, &e, h, &at);
        if (same) {
            for (uint32_t i = 0; i < e.nout; i++) KILN_TRY(kn_rw_forward(&rw, e.out[i], same->out[i]));
            kn_count_at(pm, row(MERGED), 1, e.prim, e.loc);
            changed = true;
            continue;
        }
        KILN_TRY(kn_rw_push(&rw, &e));
        if (e.prim->flags & KN_EFFECT) continue;
        t.place[at] = rw.b.eqns.n;
        t.hash[at] = h;
    }
    *out = j;
    if (changed) KILN_TRY(kn_rw_finish(&rw, out));
    return constants ? drop_constants(pm, &rw, constants, out) : KILN_OK;
}

kiln_status kn_pass_cse(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return merge_jaxpr(pm, main, out); }

const kn_rule kn_cse_rules[] = {{.text = "equal equations"}, {.text = "equal constants"}, {.text = NULL}};
static const kn_rule *row(int k) { return &kn_cse_rules[k]; }
