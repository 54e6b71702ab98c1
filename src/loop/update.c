/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_update_slice: a store of the update alone, where the array that it changes is needed by nobody else; otherwise the
 * array is copied first, and the copy counted. An update that reads the array reads it as it was: it is stored first, unless each of its
 * elements reads the one alone that it replaces. Rows may have been written before (row.c). */
#include "loop/maker.h"
#include "prims.gen.h"

void update_starts(maker *m, frame *f, const kn_eqn *e, kiln_type x, kiln_type u, kn_lv *at)
{
    for (uint32_t d = 0; d < x.rank; d++) {
        kn_lv v = scalar_of(m, f, e->in[2 + d]);
        if (m->status != KILN_OK) return;
        kiln_dtype t = lv_dtype(m, v);
        if (t != KILN_I64) v = lv_sop(m, KN_S_convert, t, KILN_I64, v, 0, 0);
        v = lv_sop(m, KN_S_max, KILN_I64, KILN_I64, v, lv_int(m, 0), 0);
        at[d] = lv_sop(m, KN_S_min, KILN_I64, KILN_I64, v, lv_int(m, x.dims[d] - u.dims[d]), 0);
    }
}

/* In registers: every element takes the element of the update that falls on it, if one does. */
static void update_registers(maker *m, frame *f, const kn_eqn *e, kiln_type x, kiln_type u, const kn_lv *at)
{
    int64_t n = kiln_type_size(x), nu = kiln_type_size(u);
    const kn_lv *old = registers_of(m, place_of_atom(m, f, e->in[0])), *new = registers_of(m, place_of_atom(m, f, e->in[1]));
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n), *where = KN_NEWN(&m->temp, kn_lv, nu + 1);
    if (m->status != KILN_OK || !MAKER_TRY_MEM(m, v && where)) return;
    kn_lv base = linear_index(m, x, at);
    for (int64_t q = 0; q < nu; q++) {
        int64_t rest = q, offset = 0, stride = 1;
        for (uint32_t d = x.rank; d-- > 0;) {
            offset += rest % u.dims[d] * stride;
            rest /= u.dims[d];
            stride *= x.dims[d];
        }
        where[q] = lv_add(m, base, lv_int(m, offset));
    }
    for (int64_t k = 0; k < n; k++) {
        v[k] = old[k];
        for (int64_t q = 0; q < nu && m->status == KILN_OK; q++)
            v[k] = lv_sop(m, KN_S_select, x.dtype, x.dtype, lv_sop(m, KN_S_eq, KILN_I64, KILN_BOOL, where[q], lv_int(m, k), 0), new[q], v[k]);
    }
    put_registers(m, f, e->out[0], v);
}

typedef struct window {
    place *u;
    uint32_t slot;
    kiln_type x;
    const kn_lv *at;
} window;

static void window_body(maker *m, void *ud, const kn_lv *ix)
{
    window *w = ud;
    kn_lv to[MAX_RANK], v = element_of(m, w->u, ix);
    for (uint32_t d = 0; d < w->x.rank; d++) to[d] = lv_add(m, w->at[d], ix[d]);
    lv_store(m, w->slot, linear_index(m, w->x, to), v);
}

static bool same_atom(const kn_jaxpr *j, kn_atom a, kn_atom b)
{
    if (a == b || !kn_is_literal(a) || !kn_is_literal(b)) return a == b;
    const kn_lit *x = &j->lits[kn_literal_index(a)], *y = &j->lits[kn_literal_index(b)];
    return x->dtype == y->dtype && x->value.u == y->value.u;
}

/* Is it the window of update e, as it was? */
static bool is_own_window(const kn_jaxpr *j, const kn_eqn *e, const kn_eqn *slice)
{
    if (slice->prim != &kn_prim_dynamic_slice || slice->in[0] != e->in[0]) return false;
    kiln_type u = kn_type_of(j, e->in[1]), t = j->vars[slice->out[0]].type;
    for (uint32_t d = 0; d < u.rank; d++)
        if (u.dims[d] != t.dims[d] || !same_atom(j, slice->in[1 + d], e->in[2 + d])) return false;
    return true;
}

/* Does each element of `value`, which is of the shape of the window of update e, read the array at its own place in the window alone? */
static bool reads_own_window(maker *m, frame *f, const kn_eqn *e, kn_atom value, unsigned *budget)
{
    if (!reads_var(m, f, value, e->in[0])) return true;
    if (*budget == 0 || value == e->in[0]) return false;
    --*budget;
    const kn_eqn *made = &f->j->eqns[f->plan[value].def];
    if (is_own_window(f->j, e, made)) return true;
    kiln_type u = kn_type_of(f->j, e->in[1]);
    for (uint32_t i = 0; i < made->nin; i++) {
        kiln_type in = kn_type_of(f->j, made->in[i]);
        bool straight = (made->prim->flags & KN_ELEMENTWISE) && in.rank == u.rank && memcmp(in.dims, u.dims, u.rank * sizeof *u.dims) == 0;
        if (straight ? !reads_own_window(m, f, e, made->in[i], budget) : !kn_is_literal(made->in[i]) && reads_var(m, f, made->in[i], e->in[0])) return false;
    }
    return true;
}

place *read_beside(maker *m, frame *f, const kn_eqn *e, uint32_t operand, bool *same)
{
    place *old = place_of_atom(m, f, e->in[0]), *p = place_of_atom(m, f, e->in[operand]);
    if (m->status != KILN_OK || !old || !p) return NULL;
    if (p->kind == PLACE_MEMORY && old->kind == PLACE_MEMORY && p->slot == old->slot) *same = true;
    unsigned budget = 64;
    if (p->kind != PLACE_LAZY || kn_is_literal(e->in[0]) || !reads_var(m, f, e->in[operand], e->in[0])) return p;
    if (e->prim->loop == KN_LOOP_UPDATE && reads_own_window(m, f, e, e->in[operand], &budget)) return p;
    place *stored = new_place(m, PLACE_MEMORY, p->type);
    uint32_t t = new_slot(m, KN_SLOT_SCRATCH, 0, p->type.dtype, kiln_type_size(p->type));
    if (!stored) return NULL;
    store_place(m, f, p, t);
    stored->slot = t;
    return stored;
}

uint32_t slot_to_change(maker *m, frame *f, const kn_eqn *e, bool same)
{
    place *old = place_of_atom(m, f, e->in[0]);
    if (m->status != KILN_OK || !old) return 0;
    bool in_place = old->kind == PLACE_MEMORY && old->owned && dead_after(f, e->in[0], f->pos);
    if (in_place && !same) return old->slot;
    uint32_t slot = slot_for(m, f, e->out[0]);
    if (old->kind == PLACE_MEMORY)
        count_copy(m, f, e, f->j->vars[e->out[0]].type, in_place ? "the update is the array itself" : why_not_over(m, f, e->in[0], e));
    store_place(m, f, old, slot);
    return slot;
}

void emit_update(maker *m, frame *f, const kn_eqn *e)
{
    kiln_type x = f->j->vars[e->out[0]].type, u = kn_type_of(f->j, e->in[1]);
    kn_lv at[MAX_RANK];
    if (x.rank > MAX_RANK) {
        m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "dynamic_update_slice of rank %u; at most %d dimensions are compiled", x.rank, MAX_RANK);
        return;
    }
    if (row_is_written(f, f->pos)) {
        put_memory(m, f, e->out[0], f->at[e->in[0]]->slot);
        return;
    }
    update_starts(m, f, e, x, u, at);
    if (m->status != KILN_OK) return;
    if (small(m, x)) {
        update_registers(m, f, e, x, u, at);
        return;
    }
    bool same = false;
    place *update = read_beside(m, f, e, 1, &same);
    if (!update) return;
    window w = {.u = update, .slot = slot_to_change(m, f, e, same), .x = x, .at = at};
    if (update->kind == PLACE_REGISTERS) {
        int64_t n = kiln_type_size(u);
        for (int64_t k = 0; k < n && m->status == KILN_OK; k++) {
            kn_lv ix[MAX_RANK];
            int64_t rest = k;
            for (uint32_t d = u.rank; d-- > 0;) {
                ix[d] = lv_int(m, rest % u.dims[d]);
                rest /= u.dims[d];
            }
            window_body(m, &w, ix);
        }
    } else {
        make_nest(m, u.rank, u.dims, true, window_body, &w);
    }
    put_memory(m, f, e->out[0], w.slot);
}
