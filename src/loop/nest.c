/* SPDX-License-Identifier: Apache-2.0 */
/* Loop nests over stored values. The element rules run once without writing anything ("probing"): where one of them asked
 * whether an index is below a border (the seam of a concatenation, the edge of a pad), the loop is cut there, so that in
 * each piece the answer is known and nothing is tested. A dimension that runs in vectors is cut around the vector that holds
 * the border, which alone tests it: all vectors then start at multiples of their width, and a store and the loads that follow
 * it meet as wholes. */
#include "loop/maker.h"
#include "prims.gen.h"

#include <stdlib.h>

enum { MOST_PIECES = 32 };

/* Pieces of a dimension in order: piece k runs from at[k] to at[k + 1], and is divided along the next dimension as inner[k] says. */
typedef struct division division;
struct division {
    uint32_t n;
    const int64_t *at;
    int64_t turn; /* of the only piece: 0, or how far what it is made of is turned (roll.c) */
    division **inner; /* NULL at the last dimension */
};

typedef struct nest {
    maker *m;
    uint32_t rank;
    const int64_t *dims;
    int vector; /* dimension run in vectors, or -1 */
    unsigned widest;
    int64_t lo[MAX_RANK], hi[MAX_RANK]; /* what is probed */
    uint32_t pieces;                    /* made so far */
    bool straight[MAX_RANK];            /* probed as not turned */
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

static kn_lv probing_counter(nest *n, uint32_t d)
{
    maker *m = n->m;
    value_facts f = {.depth = m->open.n - 1, .block = m->next_block, .lo = n->lo[d], .hi = n->hi[d] - 1};
    kn_linst i = {.op = KN_L_PARAM, .dtype = KILN_I64};
    if (!MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->inst, i)) || !MAKER_TRY_MEM(m, kn_push(&m->temp, &m->facts, f))) return 0;
    kn_lv iv = m->l->inst.n - 1;
    m->facts.v[iv].base = iv;
    return iv;
}

/* Leaves where the rules would cut the range lo..hi in m->cuts, and what turns in m->turns. */
static void probe_once(nest *n)
{
    maker *m = n->m;
    kn_lblock throwaway = {0};
    if (!MAKER_TRY_MEM(m, kn_push(&m->temp, &m->open, (open_block){&throwaway, ++m->next_block, true}))) return;
    m->epoch++;
    memset(m->cuts, 0, sizeof m->cuts);
    memset(m->turns, 0, sizeof m->turns);
    for (uint32_t d = 0; d < n->rank && m->status == KILN_OK; d++) {
        if (n->hi[d] - n->lo[d] == 1) {
            n->ix[d] = lv_int(m, n->lo[d]);
            continue;
        }
        m->cuts[d].iv = n->ix[d] = probing_counter(n, d);
        bool whole = n->lo[d] == 0 && n->hi[d] == n->dims[d] && !open_size(m, n->dims[d]);
        if (whole && (int)d != n->vector && !n->straight[d]) m->turns[d] = (turn){.to = n->ix[d], .from = probing_counter(n, d)};
    }
    m->probing = true;
    m->widest = 0;
    if (m->status == KILN_OK) n->body(m, n->ud, n->ix);
    m->probing = false;
    if (m->widest > n->widest) n->widest = m->widest;
    if (m->status == KILN_OK) close_block(m);
}

/* A dimension that does not turn as one is probed once more, for its borders. */
static void probe(nest *n)
{
    maker *m = n->m;
    bool again = false;
    probe_once(n);
    for (uint32_t d = 0; d < n->rank; d++) {
        n->straight[d] = m->turns[d].by == TURN_NONE || (m->turns[d].by && m->cuts[d].n);
        again = again || n->straight[d];
    }
    if (again && m->status == KILN_OK) probe_once(n);
    for (uint32_t d = 0; d < n->rank; d++) {
        n->straight[d] = false;
        m->cuts[d].turn = m->turns[d].by > 0 ? m->turns[d].by : 0;
    }
    memset(m->turns, 0, sizeof m->turns);
}

static uint32_t vector_width(const nest *n, int64_t trips)
{
    unsigned bits = n->widest ? n->widest : 64, lanes = n->m->o.vector_bits / bits;
    while (lanes > 1 && (int64_t)lanes / 2 >= trips) lanes /= 2;
    return lanes > 1 ? lanes : 0;
}

/* The cuts of a dimension in order, without the ends of its range; returns how many. */
static uint32_t place_cuts(const nest *n, uint32_t d, cut_list *c, int64_t *at)
{
    int64_t width = (int)d == n->vector ? vector_width(n, n->dims[d]) : 0;
    uint32_t k = 0;
    qsort(c->at, c->n, sizeof c->at[0], ascending);
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t ends[2] = {c->at[i], c->at[i]};
        if (width) ends[0] = c->at[i] / width * width, ends[1] = (c->at[i] + width - 1) / width * width;
        for (int which = 0; which < 2; which++)
            if (ends[which] > (k ? at[k - 1] : n->lo[d]) && ends[which] < n->hi[d]) at[k++] = ends[which];
    }
    return k;
}

/* A division of dimension d that has no pieces inside yet; `cuts` are those that were probed. */
static division *cut_dimension(nest *n, uint32_t d, cut_list *cuts, bool whole)
{
    maker *m = n->m;
    int64_t between[2 * MOST_CUTS];
    bool open = open_size(m, n->dims[d]); /* a border may lie behind its end */
    uint32_t k = cuts[d].iv && !cuts[d].many && !whole && !open ? place_cuts(n, d, &cuts[d], between) : 0;
    division *v = KN_NEW(&m->temp, division);
    int64_t *at = KN_NEWN(&m->temp, int64_t, k + 2);
    if (!MAKER_TRY_MEM(m, v && at)) return NULL;
    at[0] = n->lo[d];
    if (k) memcpy(at + 1, between, k * sizeof *at);
    at[k + 1] = n->hi[d];
    *v = (division){.n = k + 1, .at = at, .turn = cuts[d].turn};
    if (d + 1 < n->rank && !MAKER_TRY_MEM(m, v->inner = KN_NEWN(&m->temp, division *, v->n))) return NULL;
    return v;
}

static bool cut_inside(const nest *n, uint32_t d, const cut_list *cuts)
{
    for (uint32_t k = d + 1; k < n->rank; k++)
        if ((cuts[k].n && !cuts[k].many) || cuts[k].turn) return true;
    return false;
}

/* Divides dimension d and those inside it. A piece of a concatenation holds the borders of one part alone: pieces are probed anew, where
 * the dimensions inside have borders at all. */
static division *divide(nest *n, uint32_t d, const cut_list *probed)
{
    maker *m = n->m;
    if (d == n->rank) {
        n->pieces++;
        return NULL;
    }
    cut_list *cuts = KN_NEWN(&m->temp, cut_list, MAX_RANK);
    if (!MAKER_TRY_MEM(m, cuts)) return NULL;
    memcpy(cuts, probed, sizeof m->cuts);
    division *v = cut_dimension(n, d, cuts, false);
    if (!v) return NULL;
    int64_t lo = n->lo[d], hi = n->hi[d];
    bool anew = v->n > 1 && cut_inside(n, d, cuts);
    for (uint32_t k = 0; k < v->n && m->status == KILN_OK && n->pieces <= MOST_PIECES; k++) {
        n->lo[d] = v->at[k], n->hi[d] = v->at[k + 1];
        if (anew) probe(n);
        division *inner = divide(n, d + 1, anew ? m->cuts : cuts);
        if (v->inner) v->inner[k] = inner;
    }
    n->lo[d] = lo, n->hi[d] = hi;
    return v;
}

/* Where that would be too many pieces: the same cuts everywhere, those of the innermost dimensions, which gain most. */
static division *divide_evenly(nest *n, cut_list *cuts)
{
    division *inner = NULL;
    uint32_t pieces = 1;
    for (uint32_t d = n->rank; d-- > 0;) {
        division *v = cut_dimension(n, d, cuts, false);
        if (v && pieces * v->n > MOST_PIECES) v = cut_dimension(n, d, cuts, true);
        if (!v) return NULL;
        for (uint32_t k = 0; v->inner && k < v->n; k++) v->inner[k] = inner;
        pieces *= v->n;
        inner = v;
    }
    return inner;
}

static void pieces(nest *n, uint32_t d, const division *v)
{
    maker *m = n->m;
    if (m->status != KILN_OK) return;
    if (d == n->rank) {
        n->body(m, n->ud, n->ix);
        return;
    }
    for (uint32_t k = 0; k < v->n; k++) {
        int64_t lo = v->at[k], hi = v->at[k + 1];
        const division *inner = v->inner ? v->inner[k] : NULL;
        if (hi - lo == 1) {
            n->ix[d] = lv_int(m, lo);
            pieces(n, d + 1, inner);
            continue;
        }
        kn_lv loop;
        n->ix[d] = open_loop(m, lo, hi, (int)d == n->vector ? vector_width(n, hi - lo) : 0, &loop);
        if (v->turn) {
            m->turns[d] = (turn){turned_index(m, n->ix[d], hi, v->turn), n->ix[d], v->turn};
            n->ix[d] = m->turns[d].to;
        }
        pieces(n, d + 1, inner);
        m->turns[d] = (turn){0};
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
    for (uint32_t d = 0; d < rank; d++) {
        n->hi[d] = dims[d];
        if (vector && dims[d] > 1) n->vector = (int)d;
    }
    probe(n);
    cut_list *cuts = KN_NEWN(&m->temp, cut_list, MAX_RANK);
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, cuts)) return;
    memcpy(cuts, m->cuts, sizeof m->cuts);
    const division *v = divide(n, 0, cuts);
    if (n->pieces > MOST_PIECES) v = divide_evenly(n, cuts);
    memset(m->cuts, 0, sizeof m->cuts);
    pieces(n, 0, v);
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
    const bool *in_row; /* stored in its row alone */
    const row_store *rows;
    uint32_t nrows;
} stored;

static void store_body(maker *m, void *ud, const kn_lv *ix)
{
    stored *s = ud;
    kn_lv full[MAX_RANK];
    if (s->flat) {
        for (uint32_t d = 0; d < s->rank; d++) full[d] = d == s->minor ? ix[0] : lv_int(m, 0);
        ix = full;
    }
    kn_lv few[16], *v = few; /* two places each: parts */
    if (s->n + s->nrows > 8 && !MAKER_TRY_MEM(m, v = KN_NEWN(&m->temp, kn_lv, 2 * ((size_t)s->n + s->nrows)))) return;
    kn_lv *rest = v + 2 * (size_t)s->n;
    for (uint32_t k = 0; k < s->n; k++) {
        const kn_eqn *e = &s->f->j->eqns[s->roots[k].pos];
        m->scope = e->scope;
        m->loc = e->loc;
        element_parts(m, s->lazy[k], ix, v + 2 * k);
    }
    kn_lv at[MAX_RANK];
    for (uint32_t k = 0; k < s->nrows && m->status == KILN_OK; k++) {
        like_index(s->lazy[0]->type, ix, s->rows[k].from->type, lv_int(m, 0), at);
        rest[k] = element_of(m, s->rows[k].from, at);
    }
    for (uint32_t k = 0; k < s->n && m->status == KILN_OK; k++)
        if (!s->in_row[k]) store_element(m, s->lazy[k], s->slots[k], ix, v + 2 * k);
    for (uint32_t k = 0; k < s->nrows && m->status == KILN_OK; k++) {
        const row_store *r = &s->rows[k];
        like_index(s->lazy[0]->type, ix, r->from->type, lv_int(m, 0), at);
        lv_store_far(m, r->slot, lv_add(m, r->base, linear_index(m, r->from->type, at)), rest[k]);
    }
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

bool many_parts(const kn_eqn *e) { return e->prim == &kn_prim_concatenate && e->nin > MOST_CUTS; }

typedef struct part {
    const stored *s;
    place *from;
    uint32_t dimension;
    int64_t start; /* along it */
} part;

static void part_body(maker *m, void *ud, const kn_lv *ix)
{
    const part *p = ud;
    kn_lv v[2], at[MAX_RANK];
    element_parts(m, p->from, ix, v);
    memcpy(at, ix, p->s->rank * sizeof *at);
    at[p->dimension] = lv_add(m, ix[p->dimension], lv_int(m, p->start));
    if (m->status == KILN_OK) store_element(m, p->s->lazy[0], p->s->slots[0], at, v);
}

/* An array of more parts than a nest is cut into: each part goes to its place in a nest of its own, so that no element asks which one it is in. */
static void store_parts(maker *m, frame *f, const kn_eqn *e, const stored *s)
{
    uint32_t nests = m->l->nests;
    part p = {.s = s, .dimension = (uint32_t)kn_param_of(e, "dimension")->i};
    m->scope = e->scope;
    m->loc = e->loc;
    for (uint32_t i = 0; i < e->nin && m->status == KILN_OK; i++) {
        kiln_type t = kn_type_of(f->j, e->in[i]);
        p.from = place_of_atom(m, f, e->in[i]);
        if (m->status == KILN_OK) make_nest(m, s->rank, t.dims, true, part_body, &p);
        p.start += t.dims[p.dimension];
    }
    m->l->nests = nests + 1;
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

/* The rows that the nest writes too: of values that it stores, which need no other place where nobody asks for one, and of others. */
static void take_rows(maker *m, frame *f, stored *s, bool *in_row)
{
    row_store *rows = f->nrows ? KN_NEWN(&m->temp, row_store, f->nrows) : NULL;
    s->in_row = in_row;
    if (!f->nrows || !MAKER_TRY_MEM(m, rows)) return;
    s->rows = rows;
    s->nrows = open_rows(m, f, s->roots, s->n, rows);
    for (uint32_t i = 0; i < s->nrows; i++) {
        row_store *r = &rows[i];
        const var_plan *v = &f->plan[r->var];
        r->from = f->at[r->var];
        for (uint32_t k = 0; k < s->n; k++) {
            const kn_eqn *e = &f->j->eqns[s->roots[k].pos];
            if (e->out[s->roots[k].result] != r->var || in_row[k] || !r->stays || v->want || v->whole || v->last == (int64_t)f->j->neqns) continue;
            r->only = in_row[k] = true;
        }
    }
}

/* Where the values of the nest stand from now on. */
static void put_stored(maker *m, frame *f, const stored *s)
{
    for (uint32_t k = 0; k < s->n && m->status == KILN_OK; k++) {
        uint32_t var = f->j->eqns[s->roots[k].pos].out[s->roots[k].result];
        if (!s->in_row[k]) {
            put_memory(m, f, var, s->slots[k]);
            continue;
        }
        place *p = new_place(m, PLACE_ROW, f->j->vars[var].type);
        for (uint32_t i = 0; p && i < s->nrows; i++)
            if (s->rows[i].only && s->rows[i].var == var) p->slot = s->rows[i].slot, p->base = s->rows[i].base;
        f->at[var] = p;
    }
}

void emit_stored(maker *m, frame *f, const root *roots, uint32_t n)
{
    stored s = {.f = f, .roots = roots, .n = n};
    uint32_t *slots = KN_NEWN(&m->temp, uint32_t, n);
    bool *in_row = KN_NEWN(&m->temp, bool, n);
    s.lazy = KN_NEWN(&m->temp, place *, n);
    if (!MAKER_TRY_MEM(m, slots && s.lazy && in_row)) return;
    kiln_type t = f->j->vars[f->j->eqns[roots[0].pos].out[roots[0].result]].type;
    s.flat = t.rank > 1;
    for (uint32_t k = 0; k < n; k++) {
        const kn_eqn *e = &f->j->eqns[roots[k].pos];
        uint32_t var = e->out[roots[k].result];
        if (s.flat) s.flat = plain_closure(m, f, var, t);
        place *p = new_place(m, PLACE_LAZY, f->j->vars[var].type);
        if (!p) return;
        p->frame = f;
        p->e = e;
        p->result = roots[k].result;
        s.lazy[k] = p;
        f->at[var] = p; /* other values of this nest read the element, not the memory */
    }
    take_rows(m, f, &s, in_row);
    for (uint32_t k = 0; k < s.nrows && s.flat; k++) s.flat = plain_closure(m, f, s.rows[k].var, s.rows[k].from->type);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t var = f->j->eqns[roots[k].pos].out[roots[k].result];
        bool over = !in_row[k] && f->plan[var].want && may_overwrite(m, f, var, roots, n);
        slots[k] = over ? f->plan[var].want - 1 : in_row[k] ? 0 : new_slot(m, KN_SLOT_SCRATCH, 0, f->j->vars[var].type.dtype, kiln_type_size(t));
    }
    s.slots = slots;
    s.rank = t.rank;
    for (uint32_t d = 0; d < t.rank; d++)
        if (t.dims[d] != 1) s.minor = d;
    int64_t size = kiln_type_size(t);
    kn_lv which = common_choice(m, f, roots, n);
    const int64_t *dims = s.flat ? &size : t.dims;
    uint32_t rank = s.flat ? 1 : t.rank;
    const kn_eqn *first = &f->j->eqns[roots[0].pos];
    if (n == 1 && !s.nrows && many_parts(first)) store_parts(m, f, first, &s);
    else if (which && m->l->inst.v[which].op != KN_L_CONST) store_chosen(m, which, rank, dims, &s);
    else make_nest(m, rank, dims, true, store_body, &s);
    put_stored(m, f, &s);
}
