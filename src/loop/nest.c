/* SPDX-License-Identifier: Apache-2.0 */
/* Loop nests over stored values. The element rules run once without writing anything ("probing"): where one of them asked
 * whether an index is below a border (the seam of a concatenation, the edge of a pad), the loop is cut there, so that in
 * each piece the answer is known and nothing is tested. A dimension that runs in vectors is cut around the vector that holds
 * the border, which alone tests it: all vectors then start at multiples of their width, and a store and the loads that follow
 * it meet as wholes. */
#include "array/size.h"
#include "loop/maker.h"

#include <stdlib.h>

enum { MOST_PIECES = 32 };

typedef struct nest {
    maker *m;
    uint32_t rank;
    const int64_t *dims;
    int vector; /* dimension run in vectors, or -1 */
    unsigned widest;
    int64_t cut[MAX_RANK][2 * MOST_CUTS + 2]; /* borders, 0 and the size included */
    uint32_t ncuts[MAX_RANK];
    nest_body body;
    void *ud;
    kn_lv ix[MAX_RANK];
} nest;

static int ascending(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void probe(nest *n)
{
    maker *m = n->m;
    kn_lblock throwaway = {0};
    if (!MAKER_TRY_MEM(m, kn_push(&m->temp, &m->open, (open_block){&throwaway, ++m->next_block, true}))) return;
    m->epoch++;
    memset(m->cuts, 0, sizeof m->cuts);
    for (uint32_t d = 0; d < n->rank && m->status == KILN_OK; d++) {
        if (n->dims[d] == 1) {
            n->ix[d] = lv_int(m, 0);
            continue;
        }
        value_facts f = {.depth = m->open.n - 1, .block = m->next_block, .lo = 0, .hi = n->dims[d] - 1};
        kn_linst i = {.op = KN_L_PARAM, .dtype = KILN_I64};
        if (!MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->inst, i)) || !MAKER_TRY_MEM(m, kn_push(&m->temp, &m->facts, f))) break;
        kn_lv iv = m->l->inst.n - 1;
        m->facts.v[iv].base = iv;
        m->cuts[d].iv = n->ix[d] = iv;
    }
    m->probing = true;
    m->widest = 0;
    if (m->status == KILN_OK) n->body(m, n->ud, n->ix);
    m->probing = false;
    n->widest = m->widest;
    if (m->status == KILN_OK) close_block(m);
}

static uint32_t vector_width(const nest *n, int64_t trips)
{
    unsigned bits = n->widest ? n->widest : 64, lanes = n->m->o.vector_bits / bits;
    while (lanes > 1 && (int64_t)lanes / 2 >= trips) lanes /= 2;
    return lanes > 1 ? lanes : 0;
}

/* The cuts of a dimension in order, without 0 and the size; returns how many. */
static uint32_t place_cuts(const nest *n, uint32_t d, cut_list *c, int64_t *at)
{
    int64_t width = (int)d == n->vector ? vector_width(n, n->dims[d]) : 0;
    uint32_t k = 0;
    qsort(c->at, c->n, sizeof c->at[0], ascending);
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t ends[2] = {c->at[i], c->at[i]};
        if (width) ends[0] = c->at[i] / width * width, ends[1] = (c->at[i] + width - 1) / width * width;
        for (int which = 0; which < 2; which++)
            if (ends[which] > (k ? at[k - 1] : 0) && ends[which] < n->dims[d]) at[k++] = ends[which];
    }
    return k;
}

static void choose_cuts(nest *n)
{
    maker *m = n->m;
    uint32_t pieces = 1;
    for (uint32_t d = n->rank; d-- > 0;) { /* the innermost dimension gains most */
        cut_list *c = &m->cuts[d];
        int64_t *at = n->cut[d];
        uint32_t k = 0;
        at[k++] = 0;
        int64_t between[2 * MOST_CUTS];
        bool open = m->l->sized && kn_size_open(n->dims[d]); /* a border may lie behind its end */
        uint32_t cuts = c->iv && !c->many && !open ? place_cuts(n, d, c, between) : 0;
        if (pieces * (cuts + 1) > MOST_PIECES) cuts = 0;
        for (uint32_t i = 0; i < cuts; i++) at[k++] = between[i];
        at[k++] = n->dims[d];
        n->ncuts[d] = k;
        pieces *= k - 1;
    }
    memset(m->cuts, 0, sizeof m->cuts);
}

static void pieces(nest *n, uint32_t d)
{
    maker *m = n->m;
    if (m->status != KILN_OK) return;
    if (d == n->rank) {
        n->body(m, n->ud, n->ix);
        return;
    }
    for (uint32_t k = 0; k + 1 < n->ncuts[d]; k++) {
        int64_t lo = n->cut[d][k], hi = n->cut[d][k + 1];
        if (hi - lo == 1) {
            n->ix[d] = lv_int(m, lo);
            pieces(n, d + 1);
            continue;
        }
        kn_lv loop;
        n->ix[d] = open_loop(m, lo, hi, (int)d == n->vector ? vector_width(n, hi - lo) : 0, &loop);
        pieces(n, d + 1);
        close_loop(m, loop);
    }
}

void make_nest(maker *m, uint32_t rank, const int64_t *dims, bool vector, nest_body body, void *ud)
{
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == 0) return;
    if (m->status != KILN_OK) return;
    nest *n = KN_NEW(&m->temp, nest);
    if (!MAKER_TRY_MEM(m, n)) return;
    *n = (nest){.m = m, .rank = rank, .dims = dims, .vector = -1, .body = body, .ud = ud};
    for (uint32_t d = 0; vector && d < rank; d++)
        if (dims[d] > 1) n->vector = (int)d;
    probe(n);
    if (m->status != KILN_OK) return;
    choose_cuts(n);
    pieces(n, 0);
    m->l->nests += m->open.n > 0;
}

/* ---- values stored element by element ---- */

typedef struct stored {
    frame *f;
    const root *roots;
    uint32_t n;
    const uint32_t *slots;
    uint32_t rank; /* of the values; the nest has one dimension when `flat` */
    bool flat;
    uint32_t minor; /* the minor-most dimension that has more than one entry: runs through everything when `flat` */
    place **lazy;
} stored;

static void store_body(maker *m, void *ud, const kn_lv *ix)
{
    stored *s = ud;
    kn_lv full[MAX_RANK];
    if (s->flat) {
        for (uint32_t d = 0; d < s->rank; d++) full[d] = d == s->minor ? ix[0] : lv_int(m, 0);
        ix = full;
    }
    kn_lv few[8], *v = few; /* two places each: parts */
    if (s->n > 4 && !MAKER_TRY_MEM(m, v = KN_NEWN(&m->temp, kn_lv, 2 * (size_t)s->n))) return;
    for (uint32_t k = 0; k < s->n; k++) {
        const kn_eqn *e = &s->f->j->eqns[s->roots[k].pos];
        m->scope = e->scope;
        m->loc = e->loc;
        element_parts(m, s->lazy[k], ix, v + 2 * k);
    }
    for (uint32_t k = 0; k < s->n && m->status == KILN_OK; k++) store_element(m, s->lazy[k], s->slots[k], ix, v + 2 * k);
}

bool may_overwrite(maker *m, frame *f, uint32_t var, const root *roots, uint32_t n)
{
    int64_t donated;
    uint32_t guard = guard_of(m, f, var, &donated);
    if (donated >= (int64_t)roots[0].pos) return false;
    if (!guard--) return true;
    if (f->plan[guard].last > (int64_t)roots[n - 1].pos) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!same_index_only(m, f, f->j->eqns[roots[k].pos].out[roots[k].result], guard)) return false;
    return true;
}

/* The scalar that decides which case all of the values are, or 0. */
static kn_lv common_choice(maker *m, frame *f, const root *roots, uint32_t n)
{
    kn_atom which = f->j->eqns[roots[0].pos].in[0];
    for (uint32_t k = 0; k < n; k++) {
        const kn_eqn *e = &f->j->eqns[roots[k].pos];
        if (strcmp(e->prim->name, "select_n") != 0 || e->nin != 3 || e->in[0] != which || kn_is_literal(which)) return 0;
    }
    kiln_type t = kn_type_of(f->j, which);
    return t.rank == 0 && t.dtype == KILN_BOOL ? scalar_of(m, f, which) : 0;
}

/* One nest a case, under a branch: half the reading, and what follows need not wait for the decision where it is foreseen. */
static void store_chosen(maker *m, kn_lv which, uint32_t rank, const int64_t *dims, stored *s)
{
    kn_lv selector = lv_sop(m, KN_S_convert, KILN_BOOL, KILN_I32, which, 0, 0), branch = open_statement(m, KN_L_IF, 2);
    uint32_t nests = m->l->nests;
    if (m->status != KILN_OK) return;
    region_of(m, branch)->selector = selector;
    for (uint32_t yes = 0; yes < 2 && m->status == KILN_OK; yes++) {
        open_region_block(m, branch, yes, true);
        m->chosen = which;
        m->choice = yes;
        make_nest(m, rank, dims, true, store_body, s);
        m->chosen = 0;
        close_block(m);
    }
    close_statement(m, branch);
    m->l->nests = nests + 1;
}

void emit_stored(maker *m, frame *f, const root *roots, uint32_t n)
{
    stored s = {.f = f, .roots = roots, .n = n};
    uint32_t *slots = KN_NEWN(&m->temp, uint32_t, n);
    s.lazy = KN_NEWN(&m->temp, place *, n);
    if (!MAKER_TRY_MEM(m, slots && s.lazy)) return;
    kiln_type t = f->j->vars[f->j->eqns[roots[0].pos].out[roots[0].result]].type;
    s.flat = t.rank > 1;
    for (uint32_t k = 0; k < n; k++) {
        const kn_eqn *e = &f->j->eqns[roots[k].pos];
        uint32_t var = e->out[roots[k].result];
        if (s.flat) s.flat = plain_closure(m, f, var, t);
        slots[k] = f->plan[var].want && may_overwrite(m, f, var, roots, n) ? f->plan[var].want - 1
                                                                         : new_slot(m, KN_SLOT_SCRATCH, 0, f->j->vars[var].type.dtype, kiln_type_size(t));
        place *p = new_place(m, PLACE_LAZY, f->j->vars[var].type);
        if (!p) return;
        p->frame = f;
        p->e = e;
        p->result = roots[k].result;
        s.lazy[k] = p;
        f->at[var] = p; /* other values of this nest read the element, not the memory */
    }
    s.slots = slots;
    s.rank = t.rank;
    for (uint32_t d = 0; d < t.rank; d++)
        if (t.dims[d] != 1) s.minor = d;
    int64_t size = kiln_type_size(t);
    kn_lv which = common_choice(m, f, roots, n);
    const int64_t *dims = s.flat ? &size : t.dims;
    uint32_t rank = s.flat ? 1 : t.rank;
    if (which && m->l->inst.v[which].op != KN_L_CONST) store_chosen(m, which, rank, dims, &s);
    else make_nest(m, rank, dims, true, store_body, &s);
    for (uint32_t k = 0; k < n && m->status == KILN_OK; k++) {
        uint32_t var = f->j->eqns[roots[k].pos].out[roots[k].result];
        put_memory(m, f, var, slots[k]);
    }
}
