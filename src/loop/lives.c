/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch whose lives do not meet is one memory.
 *
 *     slot s1: f32[512] scratch 0          loop { s1[..] = .. }  loop { s2[..] = .. s1[..] }  loop { s3[..] = .. s2[..] }
 *     slot s2: f32[512] scratch 2048
 *     slot s3: f32[512] scratch 0
 *
 * Statements are numbered in their order. A slot lives from the first to the last statement that names it, in the innermost block that holds all
 * that do: what is made in a trip of a `while`, or in a branch, is read there. Slots that may be one memory (loop/alias.h) live as long as all of
 * them, and through every `while` that they stand in, for their pointers move. Other loops are one statement: their iterations run side by side.
 * Places are then given in the order of the statements, each to the smallest hole that holds it.
 *
 * Needs:  finished loops.   Leaves: offsets of scratch, and of what each thread has of its own.
 * Cost:   linear in instructions; for each slot, in the holes that there are. */
#include "loop/alias.h"
#include "loop/maker.h"

/* A block that has statements of its own: the program, or one of a `while` or an `if`. */
typedef struct home {
    const struct home *up;
    uint32_t depth, first, last; /* of the statement around it */
} home;

typedef struct life {
    const home *in;      /* NULL: nothing names the slot */
    const home *through; /* the last statement is the one around this block; NULL: `last` */
    uint32_t first, last;
} life;

/* A piece of memory between others. */
typedef struct room {
    size_t offset, offset_per, bytes, per; /* per: for each of the size that is given when the program runs */
    struct room *before, *behind;
    uint32_t hole; /* its number among the holes, + 1; 0: it is taken */
} room;

typedef struct placer {
    kn_loops *l;
    kn_arena temp;
    kn_aliases alias;
    uint32_t *members; /* per class */
    life *lives;       /* likewise */
    bool *named;       /* per slot: by a statement so far */
    bool *points;      /* per slot: it points elsewhere before it is used, and needs no memory of its own */
    uint32_t clock;
    room *end; /* the last one in memory */
    KN_VEC(room *) holes;
    room **rooms; /* per slot */
    bool nomem;
} placer;

/* ---- lives ---- */

/* Statement `number` of block `in` names slot s. */
static void note(placer *p, const home *in, uint32_t number, uint32_t s)
{
    uint32_t c = kn_alias_home(&p->alias, s), first = number;
    const home *through = NULL;
    life *v = &p->lives[c];
    p->named[s] = true;
    for (; in->up && (p->members[c] > 1 || (v->in && in->depth > v->in->depth)); in = in->up) first = in->first, through = in;
    if (!v->in) *v = (life){.in = in, .first = first};
    for (; v->in != in; v->in = v->in->up) {
        if (v->in->depth == in->depth) first = in->first, through = in, in = in->up;
        v->first = v->in->first;
    }
    v->through = through;
    v->last = number;
}

static void note_all(placer *p, const home *in, uint32_t number, kn_lv statement)
{
    const kn_linst *i = &p->l->inst.v[statement];
    bool one = i->op == KN_L_LOAD || i->op == KN_L_STORE, two = i->op == KN_L_SWAP || i->op == KN_L_SAME || i->op == KN_L_POINT || i->op == KN_L_COPY;
    if (i->op == KN_L_POINT && !p->named[i->slot]) p->points[i->slot] = true;
    if (one || two) note(p, in, number, i->slot);
    if (two) note(p, in, number, i->slot2);
    if (i->op == KN_L_SWAP && i->index) note(p, in, number, i->index - 1);
    for (uint32_t k = 0; i->call && k < i->call->call.nout + i->call->call.nin; k++) note(p, in, number, i->call->slots[k]);
    if (i->call && i->call->work) note(p, in, number, i->call->work - 1);
    if (i->call && i->call->parts) note(p, in, number, i->call->parts - 1);
    for (uint32_t b = 0; i->region && b < i->region->nblocks; b++)
        for (uint32_t k = 0; k < i->region->blocks[b].inst.n; k++) note_all(p, in, number, i->region->blocks[b].inst.v[k]);
}

static void walk(placer *p, const kn_lblock *b, const home *here)
{
    for (uint32_t i = 0; i < b->inst.n && !p->nomem; i++) {
        const kn_linst *in = &p->l->inst.v[b->inst.v[i]];
        uint32_t first = p->clock++;
        if (in->op != KN_L_WHILE && in->op != KN_L_IF) {
            note_all(p, here, first, b->inst.v[i]);
            continue;
        }
        home *inside = KN_NEWN(&p->temp, home, in->region->nblocks);
        p->nomem = !inside;
        for (uint32_t k = 0; inside && k < in->region->nblocks; k++) {
            inside[k] = (home){here, here->depth + 1, first, 0};
            walk(p, &in->region->blocks[k], &inside[k]);
        }
        for (uint32_t k = 0; inside && k < in->region->nblocks; k++) inside[k].last = p->clock - 1;
    }
}

/* ---- places ---- */

static room *add_room(placer *p, room like, room *before)
{
    room *r = KN_NEW(&p->temp, room);
    p->nomem = p->nomem || !r;
    if (!r) return NULL;
    *r = like;
    r->before = before;
    r->behind = before ? before->behind : NULL;
    if (before) before->behind = r;
    if (r->behind) r->behind->before = r;
    else p->end = r;
    return r;
}

static void leave(placer *p, room *r)
{
    if (!kn_push(&p->temp, &p->holes, r)) p->nomem = true;
    else r->hole = p->holes.n;
}

static void fill(placer *p, room *r)
{
    room *moved = p->holes.v[--p->holes.n];
    p->holes.v[r->hole - 1] = moved;
    moved->hole = r->hole;
    r->hole = 0;
}

static room *smallest_hole(const placer *p, size_t bytes, size_t per)
{
    room *best = NULL;
    for (uint32_t i = 0; i < p->holes.n; i++) {
        room *r = p->holes.v[i];
        if (r->bytes < bytes || r->per < per) continue;
        if (!best || r->per < best->per || (r->per == best->per && r->bytes < best->bytes)) best = r;
    }
    return best;
}

/* At the end of memory, which grows. */
static room *new_end(placer *p, size_t bytes, size_t per)
{
    room *e = p->end;
    if (e && e->hole) {
        if (e->bytes < bytes) e->bytes = bytes;
        if (e->per < per) e->per = per;
        return e;
    }
    room like = {.bytes = bytes, .per = per};
    if (e) like.offset = e->offset + e->bytes, like.offset_per = e->offset_per + e->per;
    room *r = add_room(p, like, e);
    if (r) leave(p, r);
    return p->nomem ? NULL : r;
}

static void take(placer *p, uint32_t s)
{
    kn_slot *slot = &p->l->slots.v[s];
    size_t bytes = 0, per = 0;
    kn_slot_place(slot, &bytes, &per);
    if (!bytes && !per) return;
    room *r = smallest_hole(p, bytes, per);
    if (!r) r = new_end(p, bytes, per);
    if (!r) return;
    if (r->bytes > bytes || r->per > per) {
        room *rest = add_room(p, (room){.offset = r->offset + bytes, .offset_per = r->offset_per + per, .bytes = r->bytes - bytes, .per = r->per - per}, r);
        if (rest) leave(p, rest);
        r->bytes = bytes;
        r->per = per;
    }
    fill(p, r);
    slot->offset = r->offset;
    slot->per = r->offset_per;
    p->rooms[s] = r;
}

/* `r` takes over the hole behind it. */
static void join(placer *p, room *r)
{
    room *h = r->behind;
    fill(p, h);
    r->bytes += h->bytes;
    r->per += h->per;
    r->behind = h->behind;
    if (h->behind) h->behind->before = r;
    else p->end = r;
}

static void give_back(placer *p, uint32_t s)
{
    room *r = p->rooms[s];
    if (!r || p->nomem) return;
    leave(p, r);
    if (r->behind && r->behind->hole) join(p, r);
    if (r->before && r->before->hole) join(p, r->before);
}

typedef struct queue {
    uint32_t *first, *next; /* per statement, per slot: a slot + 1 */
} queue;

static void put(queue *q, uint32_t at, uint32_t s) { q->next[s] = q->first[at], q->first[at] = s + 1; }

/* Those that all threads share, or those of a part. */
static void place_all(placer *p, bool part, size_t *bytes, size_t *per)
{
    uint32_t n = p->l->slots.n;
    queue begin = {KN_NEWN(&p->temp, uint32_t, p->clock), KN_NEWN(&p->temp, uint32_t, n)};
    queue end = {KN_NEWN(&p->temp, uint32_t, p->clock), KN_NEWN(&p->temp, uint32_t, n)};
    p->nomem = p->nomem || !begin.first || !begin.next || !end.first || !end.next;
    for (uint32_t s = n; s-- > 0 && !p->nomem;) {
        kn_slot *slot = &p->l->slots.v[s];
        const life *v = &p->lives[kn_alias_home(&p->alias, s)];
        if (slot->kind != KN_SLOT_SCRATCH || slot->part != part) continue;
        slot->offset = slot->per = 0;
        if (!v->in) slot->elements = 0;
        else if (!p->points[s]) put(&begin, v->first, s), put(&end, v->through ? v->through->last : v->last, s);
    }
    p->end = NULL;
    p->holes.n = 0;
    for (uint32_t t = 0; t < p->clock && !p->nomem; t++) {
        for (uint32_t s = begin.first[t]; s && !p->nomem; s = begin.next[s - 1]) take(p, s - 1);
        for (uint32_t s = end.first[t]; s; s = end.next[s - 1]) give_back(p, s - 1);
    }
    *bytes = p->end ? p->end->offset + p->end->bytes : 0;
    *per = p->end ? p->end->offset_per + p->end->per : 0;
}

void share_scratch(maker *m)
{
    placer p = {.l = m->l};
    uint32_t n = m->l->slots.n;
    kn_arena_init(&p.temp, &m->ctx->alloc);
    p.members = KN_NEWN(&p.temp, uint32_t, n);
    p.lives = KN_NEWN(&p.temp, life, n);
    p.named = KN_NEWN(&p.temp, bool, n);
    p.points = KN_NEWN(&p.temp, bool, n);
    p.rooms = KN_NEWN(&p.temp, room *, n);
    p.nomem = !p.members || !p.lives || !p.named || !p.points || !p.rooms || !kn_aliases_find(&p.temp, m->l, m->o.donated, &p.alias);
    for (uint32_t s = 0; s < n && !p.nomem; s++) p.members[kn_alias_home(&p.alias, s)]++;
    walk(&p, &m->l->top, &(home){.up = NULL});
    place_all(&p, false, &m->l->scratch_bytes, &m->l->scratch_per);
    place_all(&p, true, &m->l->part_bytes, &m->l->part_per);
    MAKER_TRY_MEM(m, !p.nomem);
    kn_arena_fini(&p.temp);
}
