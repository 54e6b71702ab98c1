/* SPDX-License-Identifier: Apache-2.0 */
/* The order of equations, where the reductions of a body tear apart what one nest could make.
 *
 * The way back through a step that moves arrays (rolls, paddings) reads each of them moved, sums a product with it, and computes on:
 * moved, sum, moved, sum, ... In that order each is a nest of its own, cut at its seams. Here what is moved comes first, all in one
 * nest that does nothing else; then what is computed from it, in nests without seams; sums last.
 *
 * Does:   sorts the equations of a run without loops, branches, updates, products and routines by levels: even ones for moved values that
 *         reductions made the plan store (`moved`), odd ones for other stored values; a value that reads another one of its level elsewhere
 *         than at its own index is on a later level; reductions come last on the level of what they read.
 * Needs:  the first round of the plan, with two moved values at least.   Leaves: an order in which everything is defined before it is read.
 * Cost:   sorting. */
#include "loop/maker.h"

#include <stdlib.h>

typedef struct level {
    int64_t own;   /* of the equation */
    int64_t here;  /* largest of the stored values that it reads at its own index, through lazy ones; -1: none */
    int64_t moved; /* of those that it reads elsewhere */
} level;

typedef struct place_in_order {
    int64_t level;
    uint32_t last, index; /* last: 1 for reductions */
} place_in_order;

static int by_level(const void *a, const void *b)
{
    place_in_order x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.level != y.level) return x.level < y.level ? -1 : 1;
    if (x.last != y.last) return x.last < y.last ? -1 : 1;
    return (x.index > y.index) - (x.index < y.index);
}

static bool sortable(const kn_eqn *e)
{
    return (e->prim->loop == KN_LOOP_ELEMENT || e->prim->loop == KN_LOOP_REDUCE) && e->nout == 1 && !(e->prim->flags & KN_EFFECT);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The level of equation e; `at` holds those of the equations of the run before it, `first` is where the run begins. */
static level level_of(const frame *f, const kn_eqn *e, const level *at, uint32_t first)
{
    const var_plan *v = &f->plan[e->out[0]];
    bool straight = (e->prim->flags & KN_ELEMENTWISE) != 0;
    kiln_type t = f->j->vars[e->out[0]].type;
    level l = {0, -1, -1};
    for (uint32_t i = 0; i < e->nin; i++) {
        if (kn_is_literal(e->in[i]) || f->plan[e->in[i]].def == UINT32_MAX || f->plan[e->in[i]].def < first) continue;
        const var_plan *w = &f->plan[e->in[i]];
        const level *o = &at[w->def];
        kiln_type in = kn_type_of(f->j, e->in[i]);
        bool same = straight && in.rank == t.rank && (!t.rank || memcmp(in.dims, t.dims, t.rank * sizeof *t.dims) == 0);
        bool reduced = f->j->eqns[w->def].prim->loop == KN_LOOP_REDUCE;
        l.own = larger(l.own, o->own + reduced);
        if (w->kind == PLACE_MEMORY && !reduced) {
            if (same) l.here = larger(l.here, o->own);
            else l.moved = larger(l.moved, o->own);
        } else {
            l.here = larger(l.here, same ? o->here : -1);
            l.moved = larger(l.moved, same ? o->moved : larger(o->here, o->moved));
        }
    }
    if (e->prim->loop == KN_LOOP_REDUCE) return (level){l.own, -1, -1};
    if (v->kind == PLACE_REGISTERS) return (level){larger(l.own, larger(l.here, l.moved) + 1), -1, -1};
    if (v->kind != PLACE_MEMORY) return l;
    l.own = larger(l.own, larger(l.here, l.moved + 1));
    if (v->moved && l.here >= 0) l.own = larger(l.own, l.here + 1);
    if ((l.own % 2 == 0) != v->moved) l.own++;
    return l;
}

void arrange(maker *m, frame *f)
{
    const kn_jaxpr *j = f->j;
    level *at = KN_NEWN(&m->temp, level, j->neqns + 1);
    place_in_order *order = KN_NEWN(&m->temp, place_in_order, j->neqns + 1);
    kn_eqn *eqns = KN_NEWN(&m->temp, kn_eqn, j->neqns + 1);
    kn_jaxpr *sorted = KN_NEW(&m->temp, kn_jaxpr);
    if (!MAKER_TRY_MEM(m, at && order && eqns && sorted)) return;
    for (uint32_t first = 0; first < j->neqns;) {
        uint32_t end = first;
        for (; end < j->neqns && sortable(&j->eqns[end]); end++) {
            at[end] = level_of(f, &j->eqns[end], at, first);
            order[end] = (place_in_order){at[end].own, j->eqns[end].prim->loop == KN_LOOP_REDUCE, end};
        }
        qsort(order + first, end - first, sizeof *order, by_level);
        for (uint32_t k = first; k < end; k++) eqns[k] = j->eqns[order[k].index];
        if (end < j->neqns) eqns[end] = j->eqns[end];
        first = end + 1;
    }
    *sorted = *j;
    sorted->eqns = eqns;
    f->j = sorted;
}
