/* SPDX-License-Identifier: Apache-2.0 */
/* Sets through calls, branches and loops. A loop whose trips are known is walked trip by trip, so that indices that count are numbers; one
 * whose trips are not, or that would take too long, is walked until nothing more is added. */
#include "transform/sparsity.h"

#include "prim/common.h"
#include "prim/control.h"
#include "prim/lowering.h"
#include "prims.gen.h"

#define CTX c->w->ev.ctx
enum { TRIPS_MOST = 100000 };
static const double steps_most = 5e7; /* elements of values, over all trips */

/* ---- values ---- */

static kiln_status copy_sets(const kn_spreading *c, kiln_type t, kn_spread *x)
{
    if (!x->sets) return KILN_OK;
    size_t bytes = (size_t)kiln_type_size(t) * sizeof *x->sets;
    KILN_TRY_MEM(CTX, x->sets = kn_arena_copy(c->room, x->sets, bytes));
    return KILN_OK;
}

/* into: what either depends on; a number stays where both are the same. */
static kiln_status merge(const kn_spreading *c, kiln_type t, kn_spread *into, const kn_spread *x, bool *grew)
{
    bool same = into->known && x->known && into->known->bytes == x->known->bytes && memcmp(into->known->data, x->known->data, x->known->bytes) == 0;
    if (into->known && !same) into->known = NULL, *grew = true;
    if (!x->sets) return KILN_OK;
    int64_t n = kiln_type_size(t);
    uint32_t *to = KN_NEWN(c->room, uint32_t, n);
    KILN_TRY_MEM(CTX, to);
    for (int64_t k = 0; k < n; k++) {
        KILN_TRY(kn_sets_union(&c->w->sets, kn_set_at(into, k), x->sets[k], &to[k]));
        *grew |= to[k] != kn_set_at(into, k);
    }
    into->sets = to;
    return KILN_OK;
}

static bool same_value(kiln_type t, const kn_spread *a, const kn_spread *b)
{
    int64_t n = kiln_type_size(t);
    if ((a->known != NULL) != (b->known != NULL)) return false;
    if (a->known && (a->known->bytes != b->known->bytes || memcmp(a->known->data, b->known->data, a->known->bytes) != 0)) return false;
    for (int64_t k = 0; k < n && (a->sets || b->sets); k++)
        if (kn_set_at(a, k) != kn_set_at(b, k)) return false;
    return true;
}

/* Releases arrays that a trip made, but those among `kept`. */
static kiln_status end_trip(const kn_spreading *c, uint32_t mark, kn_spread *kept, uint32_t n)
{
    kn_walk *w = c->w;
    for (uint32_t i = 0; i < n; i++)
        if (kept[i].known) kiln_array_retain(kept[i].known);
    while (w->arrays.n > mark) kiln_array_release(w->arrays.v[--w->arrays.n]);
    for (uint32_t i = 0; i < n; i++) {
        if (!kept[i].known || kn_push(&w->sets.arena, &w->arrays, kept[i].known)) continue;
        for (; i < n; i++)
            if (kept[i].known) kiln_array_release(kept[i].known);
        return kn_nomem(CTX);
    }
    return KILN_OK;
}

/* ---- scan ---- */

typedef struct loop {
    kn_scan_parts p;
    kn_spread *in, *out; /* of the body: its operands; its results */
    uint32_t **ys;       /* sets of stacked results */
    kiln_array **known;  /* their numbers as long as all are known */
} loop;

static kiln_status slice(const kn_spreading *c, kiln_type t, const kn_spread *x, int64_t k, kn_spread *out)
{
    const kiln_type row = {t.dtype, t.rank - 1, t.rank > 1 ? t.dims + 1 : NULL};
    int64_t n = kiln_type_size(row);
    *out = (kn_spread){x->sets ? x->sets + k * n : NULL, NULL};
    if (!x->known) return KILN_OK;
    KILN_TRY(kiln_array_create(CTX, row, &out->known));
    if (out->known->bytes) memcpy(out->known->data, (const char *)x->known->data + (size_t)k * out->known->bytes, out->known->bytes);
    if (kn_push(&c->w->sets.arena, &c->w->arrays, out->known)) return KILN_OK;
    kiln_array_release(out->known);
    return kn_nomem(CTX);
}

/* The body's result as row k of what is stacked. */
static void stack(const loop *l, const kn_spreading *c, uint32_t i, int64_t k)
{
    kiln_type t = kn_out_type(c->j, c->e, i);
    int64_t n = l->p.length ? kiln_type_size(t) / l->p.length : 0;
    const kiln_array *y = l->out[i].known;
    for (int64_t q = 0; q < n; q++) l->ys[i][k * n + q] = kn_set_at(&l->out[i], q);
    if (!y) l->known[i] = NULL;
    if (l->known[i] && y->bytes) memcpy((char *)l->known[i]->data + (size_t)k * y->bytes, y->data, y->bytes);
}

/* One trip after another; stops early where nothing changes any more. */
static kiln_status by_trips(const kn_spreading *c, loop *l)
{
    const kn_scan_parts *p = &l->p;
    bool plain = true; /* all slices are alike */
    for (uint32_t i = p->consts + p->carries; i < c->e->nin; i++) plain &= !c->in[i].sets && !c->in[i].known;
    for (int64_t trip = 0; trip < p->length; trip++) {
        int64_t k = p->reverse ? p->length - 1 - trip : trip;
        uint32_t mark = c->w->arrays.n;
        kn_arena room;
        kn_arena_init(&room, &CTX->alloc);
        kiln_status s = KILN_OK;
        for (uint32_t i = p->consts + p->carries; i < c->e->nin && s == KILN_OK; i++)
            s = slice(c, kn_in_type(c->j, c->e, i), &c->in[i], k, &l->in[i]);
        if (s == KILN_OK) s = kn_walk_body(c->w, &room, p->body, l->in, l->out);
        bool still = plain;
        for (uint32_t i = 0; i < p->carries && s == KILN_OK; i++) {
            kiln_type t = kn_out_type(c->j, c->e, i);
            still = still && same_value(t, &l->in[p->consts + i], &l->out[i]);
            s = copy_sets(c, t, &l->out[i]);
            l->in[p->consts + i] = l->out[i];
        }
        for (uint32_t i = p->carries; i < c->e->nout && s == KILN_OK; i++)
            for (int64_t q = trip; q < (still ? p->length : trip + 1); q++) stack(l, c, i, p->reverse ? p->length - 1 - q : q);
        kn_arena_fini(&room);
        kiln_status ended = end_trip(c, mark, l->in + p->consts, p->carries);
        if (s != KILN_OK || ended != KILN_OK) return s != KILN_OK ? s : ended;
        if (still) break;
    }
    return KILN_OK;
}

/* Carries that hold what any trip gives them; slices of all trips together. */
static kiln_status by_growth(const kn_spreading *c, loop *l)
{
    const kn_scan_parts *p = &l->p;
    bool grew = true, any = false;
    for (uint32_t i = p->consts + p->carries; i < c->e->nin; i++) {
        kiln_type t = kn_in_type(c->j, c->e, i), row = {t.dtype, t.rank - 1, t.rank > 1 ? t.dims + 1 : NULL};
        int64_t n = kiln_type_size(row);
        kn_spread all = {NULL, NULL};
        for (int64_t k = 0; k < p->length && c->in[i].sets; k++) {
            const kn_spread one = {c->in[i].sets + k * n, NULL};
            KILN_TRY(merge(c, row, &all, &one, &any));
        }
        l->in[i] = all;
    }
    while (grew) {
        grew = false;
        KILN_TRY(kn_walk_body(c->w, c->room, p->body, l->in, l->out));
        for (uint32_t i = 0; i < p->carries; i++) KILN_TRY(merge(c, kn_out_type(c->j, c->e, i), &l->in[p->consts + i], &l->out[i], &grew));
    }
    for (uint32_t i = p->carries; i < c->e->nout; i++)
        for (int64_t k = 0; k < p->length; k++) stack(l, c, i, k);
    return KILN_OK;
}

static double elements(const kn_jaxpr *j)
{
    double n = 0;
    for (uint32_t i = 0; i < j->nvars; i++) n += (double)kiln_type_size(j->vars[i].type);
    return n;
}

static kiln_status through_scan(const kn_spreading *c)
{
    loop l = {.p = kn_scan_parts_of(c->e)};
    const kn_scan_parts *p = &l.p;
    l.in = kn_arena_copy(c->room, c->in, c->e->nin * sizeof *l.in);
    l.out = KN_NEWN(c->room, kn_spread, c->e->nout);
    l.ys = KN_NEWN(c->room, uint32_t *, c->e->nout);
    l.known = KN_NEWN(c->room, kiln_array *, c->e->nout);
    KILN_TRY_MEM(CTX, l.in && l.out && l.ys && l.known);
    for (uint32_t i = p->carries; i < c->e->nout; i++) {
        KILN_TRY_MEM(CTX, l.ys[i] = kn_spread_room(c, kn_out_type(c->j, c->e, i)));
        KILN_TRY(kiln_array_create(CTX, kn_out_type(c->j, c->e, i), &l.known[i]));
        if (kn_push(&c->w->sets.arena, &c->w->arrays, l.known[i])) continue;
        kiln_array_release(l.known[i]);
        return kn_nomem(CTX);
    }
    bool exact = p->length <= TRIPS_MOST && (double)p->length * elements(p->body) <= steps_most;
    KILN_TRY(exact ? by_trips(c, &l) : by_growth(c, &l));
    for (uint32_t i = 0; i < c->e->nout; i++) c->out[i] = i < p->carries ? l.in[p->consts + i] : (kn_spread){l.ys[i], l.known[i]};
    return KILN_OK;
}

/* ---- while ---- */

/* 1: the condition holds, 0: it does not, -1: it is not known. */
static kiln_status holds(const kn_spreading *c, const kn_while_parts *p, const kn_spread *carry, int *out)
{
    kn_spread *in = KN_NEWN(c->room, kn_spread, p->cond_consts + c->e->nout), y;
    KILN_TRY_MEM(CTX, in);
    memcpy(in, c->in, p->cond_consts * sizeof *in);
    memcpy(in + p->cond_consts, carry, c->e->nout * sizeof *in);
    KILN_TRY(kn_walk_body(c->w, c->room, p->cond, in, &y));
    *out = !y.known ? -1 : *(const uint8_t *)y.known->data != 0;
    return KILN_OK;
}

static kiln_status through_while(const kn_spreading *c)
{
    kn_while_parts p = kn_while_parts_of(c->e);
    uint32_t nb = p.body_consts, n = c->e->nout;
    kn_spread *in = KN_NEWN(c->room, kn_spread, nb + n), *y = KN_NEWN(c->room, kn_spread, n), *carry = in + nb;
    KILN_TRY_MEM(CTX, in && y);
    memcpy(in, c->in + p.cond_consts, (nb + n) * sizeof *in);
    int go = 1;
    double cost = elements(p.body) + 1, spent = 0;
    for (int64_t trip = 0; trip < TRIPS_MOST && spent <= steps_most; trip++, spent += cost) {
        KILN_TRY(holds(c, &p, carry, &go));
        if (go != 1) break;
        KILN_TRY(kn_walk_body(c->w, c->room, p.body, in, y));
        memcpy(carry, y, n * sizeof *carry);
    }
    for (bool grew = go != 0; grew;) {
        grew = false;
        KILN_TRY(kn_walk_body(c->w, c->room, p.body, in, y));
        for (uint32_t i = 0; i < n; i++) KILN_TRY(merge(c, kn_out_type(c->j, c->e, i), &carry[i], &y[i], &grew));
    }
    memcpy(c->out, carry, n * sizeof *carry);
    return KILN_OK;
}

/* ---- cond ---- */

static kiln_status through_cond(const kn_spreading *c)
{
    uint32_t n = kn_cond_branches(c->e), only = n;
    kn_spread *y = KN_NEWN(c->room, kn_spread, c->e->nout);
    KILN_TRY_MEM(CTX, y);
    if (c->in[0].known) {
        int64_t k = kn_index_value(c->in[0].known);
        only = k < 0 ? 0 : k >= n ? n - 1 : (uint32_t)k;
    }
    bool first = true, grew = false;
    for (uint32_t k = 0; k < n; k++) {
        if (only != n && k != only) continue;
        KILN_TRY(kn_walk_body(c->w, c->room, kn_cond_branch(c->e, k), c->in + 1, first ? c->out : y));
        for (uint32_t i = 0; i < c->e->nout && !first; i++) KILN_TRY(merge(c, kn_out_type(c->j, c->e, i), &c->out[i], &y[i], &grew));
        first = false;
    }
    return KILN_OK;
}

kiln_status kn_spread_control(const kn_spreading *c, bool *done)
{
    const kn_prim *p = c->e->prim;
    *done = true;
    if (kn_called(c->e)) return kn_walk_body(c->w, c->room, kn_called(c->e), c->in, c->out);
    if (p == &kn_prim_scan) return through_scan(c);
    if (p == &kn_prim_while && !kn_has_lane_condition(c->e)) return through_while(c);
    if (p == &kn_prim_cond) return through_cond(c);
    *done = false;
    return KILN_OK;
}
