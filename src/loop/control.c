/* SPDX-License-Identifier: Apache-2.0 */
/* while and cond. Scalars and small arrays are carried as values; large arrays stand in slots. A carry is updated in place
 * where its old value is dead by then; where not, the new value is made in another buffer and the two slots swap pointers
 * at the end of the trip: the state is never copied. */
#include "loop/maker.h"

/* A slot that owns no buffer: it points to those of others. */
static uint32_t pointer_slot(maker *m, const kn_slot *like)
{
    kn_slot s = {.kind = KN_SLOT_SCRATCH, .dtype = like->dtype, .elements = like->elements};
    return MAKER_TRY_MEM(m, kn_push(m->arena, &m->l->slots, s)) ? m->l->slots.n - 1 : 0;
}

static void note_swapped(maker *m, uint32_t a, uint32_t b)
{
    MAKER_TRY_MEM(m, kn_push(&m->temp, &m->swapped, a) && kn_push(&m->temp, &m->swapped, b));
}

static const char *why_not_settled(const place *p, uint32_t target)
{
    bool own = p->owned || p->slot == target;
    return own ? "two results of the body are the same array" : "the body hands on an array that it may only read";
}

/* Moves values into their targets at the end of a body: by swapping slots where the value stands in a buffer of its own, by
 * copying where it does not. */
static void settle(maker *m, frame *f, const kn_eqn *e, uint32_t n, place *const *from, const uint32_t *target)
{
    uint32_t *source = KN_NEWN(&m->temp, uint32_t, n + 1), *slot = KN_NEWN(&m->temp, uint32_t, 2 * n + 1), *holds = KN_NEWN(&m->temp, uint32_t, 2 * n + 1);
    uint32_t nslots = 0;
    if (!MAKER_TRY_MEM(m, source && slot && holds)) return;
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        place *p = from[i];
        bool lent = p && p->kind == PLACE_MEMORY && p->owner && p->origin == target[i];
        bool own = lent || (p && p->kind == PLACE_MEMORY && (p->owned || p->slot == target[i]));
        if (lent) {
            source[i] = target[i]; /* its own swap, below */
            continue;
        }
        for (uint32_t k = 0; own && k < i; k++) own = source[k] != p->slot;
        if (own) {
            source[i] = p->slot;
            continue;
        }
        if (p && p->kind == PLACE_MEMORY) count_copy(m, f, e, p->type, why_not_settled(p, target[i]));
        source[i] = new_slot(m, KN_SLOT_SCRATCH, 0, m->l->slots.v[target[i]].dtype, m->l->slots.v[target[i]].elements);
        store_place(m, f, p, source[i]);
    }
    /* holds[k]: the slot whose contents (as they were before any swap) slot[k] points to now */
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t s = i < n ? target[i] : source[i - n];
        bool known = false;
        for (uint32_t k = 0; k < nslots; k++) known = known || slot[k] == s;
        if (!known) slot[nslots] = holds[nslots] = s, nslots++;
    }
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        uint32_t a = 0, b = 0;
        for (uint32_t k = 0; k < nslots; k++) {
            if (slot[k] == target[i]) a = k;
            if (holds[k] == source[i]) b = k;
        }
        if (a == b) continue;
        add_plain(m, (kn_linst){.op = KN_L_SWAP, .slot = slot[a], .slot2 = slot[b]});
        note_swapped(m, slot[a], slot[b]);
        uint32_t t = holds[a];
        holds[a] = holds[b];
        holds[b] = t;
    }
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        place *p = from[i];
        if (!p || p->kind != PLACE_MEMORY || !p->owner || p->origin != target[i]) continue;
        add_plain(m, (kn_linst){.op = KN_L_SWAP, .slot = target[i], .slot2 = p->owner - 1, .index = p->slot + 1});
        note_swapped(m, target[i], p->owner - 1);
    }
}

static kiln_type out_type(const frame *f, const kn_eqn *e, uint32_t i) { return f->j->vars[e->out[i]].type; }

/* Is the array that operand `at` names free to be overwritten by the statement? Nobody reads it later, and no other operand does. */
static bool takes_over(maker *m, frame *f, const kn_eqn *e, uint32_t at, uint32_t first_other)
{
    kn_atom a = e->in[at];
    if (kn_is_literal(a)) return false;
    place *p = f->at[a];
    if (!p || p->kind != PLACE_MEMORY || !p->owned || !dead_after(f, a, f->pos)) return false;
    for (uint32_t i = first_other; i < e->nin; i++)
        if (i != at && reads_var(m, f, e->in[i], a)) return false;
    return true;
}

/* ---- while ---- */

/* `follows`: the loop starts from an array that its trips still read (the state at the start of a step, iterated on). `slot`
 * then points to that array first, later to the newest of two buffers: trips write `fresh`, point `slot` to it and swap it with
 * `other`. Nothing is copied; whoever replaces the array by the result takes over the buffer `other`, if there was a trip. */
typedef struct loop_carry {
    bool registers, follows;
    uint32_t slot, fresh, other;
    kiln_type type;
    kn_sop key; /* max, min: a running extremum of floats, carried as an integer that is ordered as they are; else NONE */
    kn_atom with; /* what the body combines it with, each trip */
} loop_carry;

/* ---- extrema as ordered integers: one comparison on the way from trip to trip ---- */

static kiln_dtype key_dtype(kiln_dtype d) { return d == KILN_F32 ? KILN_I32 : KILN_I64; }

/* Integers ordered as the numbers are; NaNs stand beyond the infinity of their sign. Its own inverse. */
static kn_lv flipped(maker *m, kiln_dtype t, kn_lv bits)
{
    int64_t top = t == KILN_I32 ? 31 : 63;
    kn_lv rest = lv_const(m, t, (kn_scalar){.i = t == KILN_I32 ? INT32_MAX : INT64_MAX});
    kn_lv sign = lv_sop(m, KN_S_shra, t, t, bits, lv_const(m, t, (kn_scalar){.i = top}), 0);
    return lv_sop(m, KN_S_xor, t, t, bits, lv_sop(m, KN_S_and, t, t, sign, rest, 0), 0);
}

/* How far keys are moved: the infinity that loses against every number becomes the integer at that end, and the NaNs that stood beyond it
 * come round to the other end, to those that win there anyway. */
static kn_lv distance(maker *m, kn_sop op, kiln_dtype t)
{
    int64_t nans = t == KILN_I32 ? 0x7fffff : 0xfffffffffffff;
    return lv_const(m, t, (kn_scalar){.i = op == KN_S_max ? -nans : nans});
}

static kn_lv key_of(maker *m, kn_sop op, kn_lv x)
{
    kiln_dtype d = lv_dtype(m, x), t = key_dtype(d);
    return lv_sop(m, KN_S_add, t, t, flipped(m, t, lv_sop(m, KN_S_bitcast, d, t, x, 0, 0)), distance(m, op, t), 0);
}

static kn_lv of_key(maker *m, kn_sop op, kiln_dtype d, kn_lv key)
{
    kiln_dtype t = key_dtype(d);
    if (m->status != KILN_OK) return 0;
    return lv_sop(m, KN_S_bitcast, t, d, flipped(m, t, lv_sop(m, KN_S_sub, t, t, key, distance(m, op, t), 0)), 0, 0);
}

static bool reads_atom(const kn_jaxpr *j, kn_atom a, const kn_eqn *but)
{
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nin && &j->eqns[k] != but; i++)
            if (j->eqns[k].in[i] == a) return true;
    for (uint32_t i = 0; i < j->nout; i++)
        if (j->out[i] == a) return true;
    return false;
}

/* A scalar that starts at a number and that every trip makes max(itself, x) of, and nothing else reads. Integers know nothing of subnormal
 * numbers that count as zero. */
static void find_key(maker *m, const kn_jaxpr *cond, uint32_t ncc, const kn_jaxpr *body, uint32_t nbc, uint32_t i, kn_lv init, loop_carry *c)
{
    if (m->status != KILN_OK || m->o.flush || !c->registers || c->type.rank || (c->type.dtype != KILN_F32 && c->type.dtype != KILN_F64)) return;
    const kn_linst *start = &m->l->inst.v[init];
    kn_atom old = body->in[nbc + i], y = body->out[i];
    if (start->op != KN_L_CONST || start->imm.f != start->imm.f || kn_is_literal(y) || reads_atom(cond, cond->in[ncc + i], NULL)) return;
    for (uint32_t k = 0; k < body->neqns; k++) {
        const kn_eqn *e = &body->eqns[k];
        bool extreme = strcmp(e->prim->name, "max") == 0 || strcmp(e->prim->name, "min") == 0;
        if (e->out[0] != y || !extreme || (e->in[0] == old) == (e->in[1] == old) || reads_atom(body, old, e)) continue;
        if (kn_type_of(body, e->in[e->in[0] == old]).rank) return;
        c->key = e->prim->name[1] == 'a' ? KN_S_max : KN_S_min;
        c->with = e->in[e->in[0] == old];
    }
}

/* Binds constants and carries of one body; small carries become parameters of the block. */
static frame *open_body(maker *m, frame *f, const kn_eqn *e, kn_lv s, uint32_t block, const kn_jaxpr *j, uint32_t first_const, uint32_t nconsts,
                        const loop_carry *c, uint32_t n)
{
    open_region_block(m, s, block, true);
    frame *b = m->status == KILN_OK ? new_frame(m, j, f->in_loop + 1) : NULL;
    if (!b) return NULL;
    for (uint32_t i = 0; i < nconsts; i++) bind_input(m, b, i, borrowed(m, place_of_atom(m, f, e->in[first_const + i])));
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        place *p = new_place(m, c[i].registers ? PLACE_REGISTERS : PLACE_MEMORY, c[i].type);
        if (!p) return NULL;
        if (c[i].registers) {
            int64_t size = kiln_type_size(c[i].type);
            kn_lv *v = KN_NEWN(&m->temp, kn_lv, size);
            if (!MAKER_TRY_MEM(m, v)) return NULL;
            kiln_dtype d = c[i].key ? key_dtype(c[i].type.dtype) : c[i].type.dtype;
            for (int64_t k = 0; k < size; k++) v[k] = add_param(m, s, block, d, INT64_MIN, INT64_MAX);
            if (c[i].key) v[0] = of_key(m, c[i].key, c[i].type.dtype, v[0]);
            place_registers(m, p, v);
        } else {
            p->slot = c[i].slot;
            p->owned = block == 1 && !c[i].follows;
        }
        bind_input(m, b, nconsts + i, p);
    }
    return m->status == KILN_OK ? b : NULL;
}

/* Does every trip make the carry anew, and is the result wanted where the initial value stands, and nowhere else? */
static bool may_follow(maker *m, frame *f, const kn_eqn *e, const kn_jaxpr *body, uint32_t nconsts, uint32_t at, uint32_t i)
{
    kn_atom a = e->in[at], y = body->out[i];
    uint32_t old = body->in[nconsts + i];
    const var_plan *v = &f->plan[e->out[i]];
    if (kn_is_literal(a) || kn_is_literal(y) || y == old) return false;
    place *p = f->at[a];
    if (!p || p->kind != PLACE_MEMORY || !p->owned || p->owner || v->want != p->slot + 1 || v->last != (int64_t)f->j->neqns) return false;
    if (!dead_after(f, a, f->pos)) return false;
    for (uint32_t k = 0; k < e->nout; k++) /* a second carry may not start from it, nor end as this one's value */
        if (k != i && (e->in[at - i + k] == a || body->out[k] == y)) return false;
    bool made = false;
    for (uint32_t k = 0; k < body->neqns; k++) {
        const kn_eqn *b = &body->eqns[k];
        bool loop = b->prim->loop == KN_LOOP_WHILE, update = kn_updates(b);
        for (uint32_t q = loop ? b->nin - b->nout : 0; q < (loop ? b->nin : update ? 1 : 0); q++)
            if (b->in[q] == old) return false; /* would be changed in place */
        for (uint32_t q = 0; q < b->nout; q++) made = made || (b->out[q] == y && b->prim->loop != KN_LOOP_COND && !loop && !update);
    }
    (void)m;
    return made;
}

static void start_following(maker *m, const place *from, loop_carry *c)
{
    const kn_slot like = m->l->slots.v[from->slot];
    c->follows = true;
    c->slot = pointer_slot(m, &like);
    c->fresh = new_slot(m, KN_SLOT_SCRATCH, 0, like.dtype, like.elements);
    c->other = new_slot(m, KN_SLOT_SCRATCH, 0, like.dtype, like.elements);
    add_plain(m, (kn_linst){.op = KN_L_POINT, .slot = c->slot, .slot2 = from->slot});
    note_swapped(m, c->fresh, c->other);
}

/* ---- arrays of which every row is written: their first values are not needed ---- */

static const kn_eqn *giver(const kn_jaxpr *j, kn_atom a)
{
    for (uint32_t k = 0; k < j->neqns && !kn_is_literal(a); k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++)
            if (j->eqns[k].out[i] == a) return &j->eqns[k];
    return NULL;
}
static bool is_number(const kn_jaxpr *j, kn_atom a, int64_t v)
{
    const kn_eqn *e = giver(j, a);
    if (e && strcmp(e->prim->name, "dim_as_value") == 0) return kn_param_of(e, "dim")->i == v;
    return kn_is_literal(a) && strchr("iu", kiln_dtype_kind(kn_type_of(j, a).dtype)) && j->lits[kn_literal_index(a)].value.i == v;
}
/* Is carry k a counter that takes the values 0 .. n - 1 in the trips? */
static bool counts_to(const frame *f, const kn_eqn *e, const kn_jaxpr *cond, uint32_t ncc, const kn_jaxpr *body, uint32_t nbc, uint32_t k, int64_t n)
{
    const kn_eqn *less = giver(cond, cond->out[0]), *next = giver(body, body->out[k]);
    kn_atom old = body->in[nbc + k];
    if (!less || strcmp(less->prim->name, "lt") != 0 || less->in[0] != cond->in[ncc + k] || !is_number(cond, less->in[1], n)) return false;
    if (!is_number(f->j, e->in[ncc + nbc + k], 0) || !next || strcmp(next->prim->name, "add") != 0) return false;
    return (next->in[0] == old && is_number(body, next->in[1], 1)) || (next->in[1] == old && is_number(body, next->in[0], 1));
}
/* Carry i only gets a row in each trip, at a counter that runs over all rows, from the first or from the last. */
static bool all_rows_written(const frame *f, const kn_eqn *e, uint32_t i)
{
    uint32_t ncc = (uint32_t)kn_param_of(e, "cond_nconsts")->i, nbc = (uint32_t)kn_param_of(e, "body_nconsts")->i;
    const kn_jaxpr *cond = kn_param_of(e, "cond_jaxpr")->jaxpr, *body = kn_param_of(e, "body_jaxpr")->jaxpr;
    const kn_eqn *put = giver(body, body->out[i]);
    kn_atom old = body->in[nbc + i];
    if (!put || put->prim->loop != KN_LOOP_UPDATE || put->in[0] != old || reads_atom(body, old, put) || reads_atom(cond, cond->in[ncc + i], NULL)) return false;
    for (uint32_t q = 1; q < put->nin; q++)
        if (put->in[q] == old) return false;
    kiln_type t = kn_type_of(body, old), row = kn_type_of(body, put->in[1]);
    if (t.rank == 0 || row.rank != t.rank || row.dims[0] != 1 || t.dims[0] < 1) return false;
    for (uint32_t d = 1; d < t.rank; d++)
        if (row.dims[d] != t.dims[d]) return false;
    const kn_eqn *from_last = giver(body, put->in[2]);
    bool back = from_last && strcmp(from_last->prim->name, "sub") == 0 && is_number(body, from_last->in[0], t.dims[0] - 1);
    kn_atom counter = back ? from_last->in[1] : put->in[2];
    for (uint32_t k = 0; k < e->nout; k++)
        if (counter == body->in[nbc + k]) return counts_to(f, e, cond, ncc, body, nbc, k, t.dims[0]);
    return false;
}

static void start_carry(maker *m, frame *f, const kn_eqn *e, const kn_jaxpr *body, uint32_t nconsts, uint32_t at, uint32_t i, loop_carry *c)
{
    uint32_t var = e->out[i];
    c->type = f->j->vars[var].type;
    c->registers = small(m, c->type);
    if (c->registers) return;
    if (takes_over(m, f, e, at, 0)) {
        c->slot = f->at[e->in[at]]->slot;
        return;
    }
    if (may_follow(m, f, e, body, nconsts, at, i)) {
        start_following(m, f->at[e->in[at]], c);
        return;
    }
    c->slot = slot_for(m, f, var);
    if (all_rows_written(f, e, i)) return;
    place *p = place_of_atom(m, f, e->in[at]);
    if (p && p->kind == PLACE_MEMORY) count_copy(m, f, e, c->type, why_not_over(m, f, e->in[at], e));
    store_place(m, f, p, c->slot);
}

/* The constant that the condition says `param` is below; false: none. */
static bool below_constant(maker *m, kn_lv condition, kn_lv param, int64_t *bound)
{
    const kn_linst *in = &m->l->inst.v[condition];
    if (in->op != KN_L_SOP) return false;
    if (in->sop == KN_S_and) return below_constant(m, in->a, param, bound) || below_constant(m, in->b, param, bound);
    return in->sop == KN_S_lt && in->a == param && (in->from == KILN_I32 || in->from == KILN_I64) && lv_known_size(m, in->b, bound);
}

/* The positive constant that the body adds to carry i, or 0. */
static int64_t step_up(const kn_jaxpr *body, uint32_t nconsts, uint32_t i)
{
    kn_atom y = body->out[i], old = body->in[nconsts + i];
    for (uint32_t k = 0; k < body->neqns; k++) {
        const kn_eqn *e = &body->eqns[k];
        if (e->out[0] != y || strcmp(e->prim->name, "add") != 0) continue;
        for (int side = 0; side < 2; side++)
            if (e->in[side] == old && kn_is_literal(e->in[1 - side])) {
                int64_t step = body->lits[kn_literal_index(e->in[1 - side])].value.i;
                return step > 0 ? step : 0;
            }
    }
    return 0;
}

/* In the body a counter lies between where it starts and what the condition bounds it by, unless its last step may wrap around. */
static void bound_counters(maker *m, kn_lv s, const kn_jaxpr *body, uint32_t nconsts, const loop_carry *c, uint32_t n)
{
    if (m->status != KILN_OK) return;
    const kn_lregion *r = region_of(m, s);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t lo, hi;
        kiln_dtype d = c[i].type.dtype;
        uint32_t here = at;
        at += c[i].registers ? (uint32_t)kiln_type_size(c[i].type) : 0;
        bool counter = c[i].registers && c[i].type.rank == 0 && (d == KILN_I32 || d == KILN_I64) && !kn_is_literal(body->out[i]);
        int64_t step = counter ? step_up(body, nconsts, i) : 0, most = d == KILN_I32 ? INT32_MAX : INT64_MAX;
        if (!step || !lv_known(m, r->init.v[here], &lo)) continue;
        if (!below_constant(m, r->blocks[0].yields.v[0], r->blocks[0].params.v[here], &hi) || hi <= lo || hi - 1 > most - step) continue;
        value_facts *f = &m->facts.v[r->blocks[1].params.v[here]];
        f->lo = lo;
        f->hi = hi - 1;
    }
}

static void close_while_body(maker *m, frame *b, const kn_eqn *e, kn_lv s, const loop_carry *c, uint32_t n, uint32_t nconsts)
{
    for (uint32_t i = 0; i < n; i++) {
        kn_atom y = b->j->out[i];
        if (c[i].registers || kn_is_literal(y)) continue;
        var_plan *v = &b->plan[y];
        if (v->def == UINT32_MAX || v->kind != PLACE_MEMORY || v->want) continue;
        v->want = (c[i].follows ? c[i].fresh : c[i].slot) + 1;
        v->guard = c[i].follows ? 0 : b->j->in[nconsts + i] + 1;
    }
    want_through(b);
    run_frame(m, b);
    place **from = KN_NEWN(&m->temp, place *, n + 1);
    uint32_t *target = KN_NEWN(&m->temp, uint32_t, n + 1), count = 0;
    if (!MAKER_TRY_MEM(m, from && target)) return;
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        place *p = place_of_atom(m, b, b->j->out[i]);
        if (c[i].key) {
            kn_lv x = scalar_of(m, b, c[i].with), key = m->status == KILN_OK ? key_of(m, c[i].key, x) : 0;
            kn_lv now = m->status == KILN_OK ? region_of(m, s)->blocks[1].params.v[region_of(m, s)->blocks[1].yields.n] : 0;
            kiln_dtype t = key_dtype(c[i].type.dtype);
            if (m->status == KILN_OK) add_yield(m, s, 1, lv_sop(m, c[i].key, t, t, now, key, 0));
        } else if (c[i].registers) {
            const kn_lv *v = registers_of(m, p);
            for (int64_t k = 0; v && k < kiln_type_size(c[i].type); k++) add_yield(m, s, 1, v[k]);
        } else {
            from[count] = p;
            target[count++] = c[i].follows ? c[i].fresh : c[i].slot;
        }
    }
    settle(m, b, e, count, from, target);
    for (uint32_t i = 0; i < n; i++) {
        if (!c[i].follows) continue;
        add_plain(m, (kn_linst){.op = KN_L_POINT, .slot = c[i].slot, .slot2 = c[i].fresh});
        add_plain(m, (kn_linst){.op = KN_L_SWAP, .slot = c[i].fresh, .slot2 = c[i].other});
    }
    close_block(m);
}

/* What a trip counts for. A loop that ends when a carry reaches a number has a known number of trips, and is not counted. */
static uint32_t lanes_a_trip(const kn_eqn *e, const kn_jaxpr *cond, uint32_t nconsts)
{
    const kn_param *lanes = kn_param_of(e, "lanes");
    const kn_eqn *only = &cond->eqns[0];
    bool number = cond->neqns == 1 && strcmp(only->prim->name, "lt") == 0 && cond->out[0] == only->out[0] && kn_is_literal(only->in[1]);
    for (uint32_t i = nconsts; i < cond->nin && number; i++)
        if (only->in[0] == cond->in[i]) return 0;
    return lanes && lanes->kind == KN_P_INT ? (uint32_t)lanes->i : 1;
}

void emit_while(maker *m, frame *f, const kn_eqn *e)
{
    uint32_t ncc = (uint32_t)kn_param_of(e, "cond_nconsts")->i, nbc = (uint32_t)kn_param_of(e, "body_nconsts")->i, n = e->nout;
    const kn_jaxpr *cond = kn_param_of(e, "cond_jaxpr")->jaxpr, *body = kn_param_of(e, "body_jaxpr")->jaxpr;
    loop_carry *c = KN_NEWN(&m->temp, loop_carry, n + 1);
    if (!MAKER_TRY_MEM(m, c)) return;
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) start_carry(m, f, e, body, nbc, ncc + nbc + i, i, &c[i]);
    const kn_lv **init = KN_NEWN(&m->temp, const kn_lv *, n + 1);
    if (!MAKER_TRY_MEM(m, init)) return;
    for (uint32_t i = 0; i < n; i++)
        if (c[i].registers) init[i] = registers_of(m, place_of_atom(m, f, e->in[ncc + nbc + i]));
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++)
        if (c[i].registers) find_key(m, cond, ncc, body, nbc, i, init[i][0], &c[i]);
    kn_lv s = open_statement(m, KN_L_WHILE, 2);
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++)
        for (int64_t k = 0; c[i].registers && k < kiln_type_size(c[i].type); k++)
            add_init(m, s, c[i].key ? key_of(m, c[i].key, init[i][0]) : init[i][k]);
    frame *b = m->status == KILN_OK ? open_body(m, f, e, s, 0, cond, 0, ncc, c, n) : NULL;
    if (!b) return;
    run_frame(m, b);
    add_yield(m, s, 0, scalar_of(m, b, cond->out[0]));
    close_block(m);
    b = m->status == KILN_OK ? open_body(m, f, e, s, 1, body, ncc, nbc, c, n) : NULL;
    if (!b) return;
    bound_counters(m, s, body, nbc, c, n);
    region_of(m, s)->steps = lanes_a_trip(e, cond, ncc);
    close_while_body(m, b, e, s, c, n, nbc);
    if (m->status != KILN_OK) return;
    close_statement(m, s);
    if (!f->in_loop) m->l->time_loops++;
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        if (!c[i].registers) {
            uint32_t origin = c[i].follows ? f->at[e->in[ncc + nbc + i]]->slot : 0;
            put_memory(m, f, e->out[i], c[i].slot);
            place *p = f->at[e->out[i]];
            if (p && c[i].follows) {
                p->owned = false;
                p->owner = c[i].other + 1;
                p->origin = origin;
            }
            continue;
        }
        int64_t size = kiln_type_size(c[i].type);
        kn_lv *v = KN_NEWN(&m->temp, kn_lv, size);
        if (!MAKER_TRY_MEM(m, v)) return;
        kiln_dtype d = c[i].key ? key_dtype(c[i].type.dtype) : c[i].type.dtype;
        for (int64_t k = 0; k < size; k++) v[k] = add_result(m, s, d);
        if (c[i].key) v[0] = of_key(m, c[i].key, c[i].type.dtype, v[0]);
        put_registers(m, f, e->out[i], v);
    }
}

/* ---- cond ---- */

typedef struct branch_out {
    bool registers;
    uint32_t slot;
    uint32_t operand; /* whose array the result takes over, + 1; 0: none */
} branch_out;

/* A result that some branch only passes through takes over the operand's array, where nobody else needs it. */
static void choose_slot(maker *m, frame *f, const kn_eqn *e, const kn_param *branches, uint32_t o, branch_out *outs)
{
    for (uint32_t b = 0; b < branches->n; b++) {
        const kn_jaxpr *j = branches->items[b].jaxpr;
        for (uint32_t i = 0; i < j->nin && !kn_is_literal(j->out[o]); i++) {
            if (j->out[o] != j->in[i] || !takes_over(m, f, e, 1 + i, 0)) continue;
            bool taken = false;
            for (uint32_t k = 0; k < o; k++) taken = taken || outs[k].operand == i + 1;
            if (taken) continue;
            outs[o].operand = i + 1;
            outs[o].slot = f->at[e->in[1 + i]]->slot;
            return;
        }
    }
    outs[o].slot = slot_for(m, f, e->out[o]);
}

static void emit_branch(maker *m, frame *f, const kn_eqn *e, kn_lv s, uint32_t block, const kn_jaxpr *j, const branch_out *outs)
{
    open_region_block(m, s, block, true);
    frame *b = m->status == KILN_OK ? new_frame(m, j, f->in_loop) : NULL;
    if (!b) return;
    for (uint32_t i = 0; i < j->nin; i++) {
        place *p = place_of_atom(m, f, e->in[1 + i]);
        bool own = false;
        for (uint32_t o = 0; o < e->nout; o++) own = own || (!outs[o].registers && outs[o].operand == i + 1);
        bind_input(m, b, i, own ? p : borrowed(m, p));
    }
    for (uint32_t o = 0; o < e->nout; o++) {
        if (outs[o].registers || kn_is_literal(j->out[o])) continue;
        var_plan *v = &b->plan[j->out[o]];
        if (v->def == UINT32_MAX || v->kind != PLACE_MEMORY || v->want) continue;
        v->want = outs[o].slot + 1;
        v->guard = outs[o].operand ? j->in[outs[o].operand - 1] + 1 : 0;
    }
    want_through(b);
    run_frame(m, b);
    place **from = KN_NEWN(&m->temp, place *, e->nout + 1);
    uint32_t *target = KN_NEWN(&m->temp, uint32_t, e->nout + 1), count = 0;
    if (!MAKER_TRY_MEM(m, from && target)) return;
    for (uint32_t o = 0; o < e->nout && m->status == KILN_OK; o++) {
        place *p = place_of_atom(m, b, j->out[o]);
        if (!outs[o].registers) {
            from[count] = p;
            target[count++] = outs[o].slot;
            continue;
        }
        const kn_lv *v = registers_of(m, p);
        for (int64_t k = 0; v && k < kiln_type_size(out_type(f, e, o)); k++) add_yield(m, s, block, v[k]);
    }
    settle(m, b, e, count, from, target);
    close_block(m);
}

static kn_lv selector(maker *m, frame *f, const kn_eqn *e, uint32_t n)
{
    kn_lv which = scalar_of(m, f, e->in[0]);
    if (m->status != KILN_OK) return 0;
    kiln_dtype d = lv_dtype(m, which);
    if (d != KILN_I32) which = lv_sop(m, KN_S_convert, d, KILN_I32, which, 0, 0);
    kn_lv zero = lv_const(m, KILN_I32, (kn_scalar){.i = 0}), last = lv_const(m, KILN_I32, (kn_scalar){.i = (int64_t)n - 1});
    if (d == KILN_BOOL && n >= 2) return which;
    return lv_sop(m, KN_S_min, KILN_I32, KILN_I32, lv_sop(m, KN_S_max, KILN_I32, KILN_I32, which, zero, 0), last, 0);
}

void emit_cond(maker *m, frame *f, const kn_eqn *e)
{
    const kn_param *branches = kn_param_of(e, "branches");
    branch_out *outs = KN_NEWN(&m->temp, branch_out, e->nout + 1);
    if (!MAKER_TRY_MEM(m, outs)) return;
    for (uint32_t o = 0; o < e->nout && m->status == KILN_OK; o++) {
        outs[o].registers = small(m, out_type(f, e, o));
        if (!outs[o].registers) choose_slot(m, f, e, branches, o, outs);
    }
    kn_lv which = selector(m, f, e, branches->n), s = open_statement(m, KN_L_IF, branches->n);
    if (m->status != KILN_OK) return;
    region_of(m, s)->selector = which;
    for (uint32_t b = 0; b < branches->n && m->status == KILN_OK; b++) emit_branch(m, f, e, s, b, branches->items[b].jaxpr, outs);
    if (m->status != KILN_OK) return;
    close_statement(m, s);
    for (uint32_t o = 0; o < e->nout && m->status == KILN_OK; o++) {
        if (!outs[o].registers) {
            put_memory(m, f, e->out[o], outs[o].slot);
            continue;
        }
        int64_t size = kiln_type_size(out_type(f, e, o));
        kn_lv *v = KN_NEWN(&m->temp, kn_lv, size);
        if (!MAKER_TRY_MEM(m, v)) return;
        for (int64_t k = 0; k < size; k++) v[k] = add_result(m, s, out_type(f, e, o).dtype);
        put_registers(m, f, e->out[o], v);
    }
}
