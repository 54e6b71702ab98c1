/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose result has one use, elementwise: a bias added, scaled, through a tanh. Each tile computes that of its sums, in registers,
 * and only that is stored: the product is no array at all, and no second pass goes over it.
 *
 *     y = dot_general x w; b' = broadcast_in_dim b; s = add y b'; z = tanh s     z alone stands in memory
 *   ==>
 *     for each tile: sums of x w in registers; for each of its rows: z = tanh(sum + b[..])
 *
 * Does:   marks the product (`into`) and what is stored in its place (`product`); tile.c makes both where the latter stands.
 * Needs:  a planned frame.
 * Leaves: products that several stored values read, or that are read elsewhere than at the own index, or where something that writes memory
 *         stands between product and use: the product's operands are read until then. Uses that cost more than a tile should hold.
 * Cost:   from each product to its last reader; at most MOST_STEPS in all. */
#include "loop/maker.h"
#include "loop/product.h"

enum { MOST_STEPS = 200000, MOST_WEIGHT = 48, EXPENSIVE_WEIGHT = 10 };

typedef struct finder {
    maker *m;
    frame *f;
    uint32_t *met; /* per variable: the number of the product, + 1, whose elements it is made of */
    uint32_t budget;
} finder;

static bool real(kiln_dtype d) { return kiln_dtype_kind(d) != 'c'; }

/* May equation e, which does not read the product, stand between it and its use? */
static bool may_stand_between(const frame *f, const kn_eqn *e)
{
    switch (e->prim->loop) {
    case KN_LOOP_ELEMENT:
        for (uint32_t r = 0; r < e->nout; r++)
            if (f->plan[e->out[r]].kind == PLACE_MEMORY && !f->plan[e->out[r]].product) return false;
        return true;
    case KN_LOOP_REDUCE:
    case KN_LOOP_DOT:
    case KN_LOOP_CONV: return true;
    default: return false;
    }
}

static float weight_of(const finder *w, const kn_eqn *e, uint32_t of)
{
    float sum = e->prim->flags & KN_MOVES ? 0 : e->prim->flags & KN_EXPENSIVE ? (float)EXPENSIVE_WEIGHT : 1;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!kn_is_literal(e->in[i]) && w->met[e->in[i]] != of + 1 && w->f->plan[e->in[i]].kind == PLACE_LAZY) sum += w->f->plan[e->in[i]].cost;
    return sum;
}

static bool is_row(const frame *f, uint32_t var)
{
    bool found = f->plan[var].row;
    for (uint32_t i = 0; i < f->nrows; i++) found = found || f->rows[i].host == var;
    return found;
}

/* The only stored value that is made of the product at k; UINT32_MAX: there is none that would do. */
static uint32_t only_use(finder *w, uint32_t k)
{
    const kn_jaxpr *j = w->f->j;
    uint32_t y = j->eqns[k].out[0];
    const int64_t last = w->f->plan[y].last;
    float weight = 0;
    w->met[y] = k + 1;
    for (uint32_t q = k + 1; last < (int64_t)j->neqns && (int64_t)q <= last && w->budget; q++, w->budget--) {
        const kn_eqn *e = &j->eqns[q];
        bool reads = false;
        for (uint32_t i = 0; i < e->nin; i++) reads = reads || (!kn_is_literal(e->in[i]) && w->met[e->in[i]] == k + 1);
        if (!reads) {
            if (!may_stand_between(w->f, e)) return UINT32_MAX;
            continue;
        }
        if (e->prim->loop != KN_LOOP_ELEMENT || e->nout != 1 || (w->m->o.ticks && e->scope != j->eqns[k].scope)) return UINT32_MAX;
        weight += weight_of(w, e, k);
        w->met[e->out[0]] = k + 1;
        place_kind kind = w->f->plan[e->out[0]].kind;
        if (kind == PLACE_LAZY) continue;
        return kind == PLACE_MEMORY && (int64_t)q == last && weight <= (float)MOST_WEIGHT ? e->out[0] : UINT32_MAX;
    }
    return UINT32_MAX;
}

/* The operands, and what they are views of, are read until `at`. */
static void keep_until(finder *w, kn_atom a, int64_t at)
{
    if (kn_is_literal(a)) return;
    var_plan *v = &w->f->plan[a];
    if (v->last < at) v->last = at;
    if (v->kind != PLACE_LAZY || v->def == UINT32_MAX || !w->budget) return;
    w->budget--;
    const kn_eqn *e = &w->f->j->eqns[v->def];
    for (uint32_t i = 0; i < e->nin; i++) keep_until(w, e->in[i], at);
}

/* An output may be in the memory of a donated input as soon as all those are dead: products are not kept waiting then. */
static bool any_donated(const maker *m, const frame *f)
{
    bool any = false;
    for (uint32_t i = f->j->nconsts; m->o.donated && !f->in_loop && i < f->j->nin; i++) any = any || m->o.donated[i - f->j->nconsts];
    return any;
}

void find_epilogues(maker *m, frame *f)
{
    finder w = {m, f, NULL, MOST_STEPS};
    const kn_jaxpr *j = f->j;
    if (m->o.no_fusion || any_donated(m, f)) return;
    for (uint32_t k = 0; k < j->neqns && w.budget; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (e->prim->loop != KN_LOOP_DOT || f->plan[e->out[0]].kind != PLACE_MEMORY || !makes_tiles(j, e)) continue;
        if (!w.met && !MAKER_TRY_MEM(m, w.met = KN_NEWN(&m->temp, uint32_t, j->nvars + 1))) return;
        uint32_t y = e->out[0], z = only_use(&w, k);
        if (z == UINT32_MAX || !real(j->vars[y].type.dtype) || !real(j->vars[z].type.dtype) || f->plan[z].moved || f->plan[z].product || is_row(f, z)) continue;
        if (!same_index_only(m, f, z, y)) continue;
        f->plan[y].into = z + 1;
        f->plan[z].product = k + 1;
        for (uint32_t i = 0; i < e->nin; i++) keep_until(&w, e->in[i], f->plan[z].def);
    }
}
