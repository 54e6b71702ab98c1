/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a body: for each value, registers, memory, or computed where it is read; and until when it is needed.
 *
 * Does:   marks arrays of at most `register_elements` elements REGISTERS; of the rest those MEMORY that leave the body, feed a
 *         loop or branch or product, are read by several nests (or at several indices of one) at more than trivial cost, or
 *         make a kernel too large; others LAZY. With ticks, also those that another scope reads. It is done in two rounds: the first one
 *         takes every value for fused when it weighs what reads it, the second one knows which of them will be stored, so that what only
 *         moves their elements is no work.
 * Needs:  lowered program. Cost: linear in equations. */
#include "loop/maker.h"
#include "prims.gen.h"

enum { CHEAP = 4, EXPENSIVE = 10, LARGEST_KERNEL = 600 };
enum { NO_NEST = -1 }; /* else: position of the equation whose nest reads the value */

bool small(const maker *m, kiln_type t)
{
    int64_t n = kiln_type_size(t);
    if (kiln_dtype_kind(t.dtype) == 'c') return false; /* values of the loop language are real */
    return t.rank == 0 || (n <= (int64_t)m->o.register_elements && t.rank <= MAX_RANK && n > 0);
}

static float own_cost(const kn_eqn *e)
{
    if (e->prim->flags & KN_MOVES) return 0;
    if (e->prim->flags & KN_EXPENSIVE) return EXPENSIVE;
    return 1;
}

static float operand_cost(const frame *f, kn_atom a)
{
    return kn_is_literal(a) || f->plan[a].kind != PLACE_LAZY ? 0 : f->plan[a].cost;
}

/* Does each element of the operand go into several elements of the result? */
static bool repeats(const kn_jaxpr *j, const kn_eqn *e, uint32_t operand)
{
    kiln_type in = kn_type_of(j, e->in[operand]), out = j->vars[e->out[0]].type;
    return in.rank > 0 && (e->prim->flags & KN_MOVES) && kiln_type_size(in) * 2 <= kiln_type_size(out) && strcmp(e->prim->name, "concatenate") != 0 &&
           strcmp(e->prim->name, "pad") != 0;
}

/* Only moves and scalars down to stored arrays: reading it costs a load. */
static bool is_view(const frame *f, kn_atom a)
{
    return kn_is_literal(a) || f->plan[a].kind != PLACE_LAZY || f->plan[a].cost == 0;
}

static void must_store(frame *f, kn_atom a)
{
    if (!kn_is_literal(a)) f->plan[a].must_store = true;
}

/* What leaves the body or is overwritten by an update stands in memory whatever it costs. */
static void forced(frame *f)
{
    const kn_jaxpr *j = f->j;
    for (uint32_t i = 0; i < j->nout; i++) must_store(f, j->out[i]);
    for (uint32_t k = 0; k < j->neqns; k++)
        if (kn_updates(&j->eqns[k])) must_store(f, j->eqns[k].in[0]);
}

/* First the forward half: kinds by shape and primitive, costs as if everything else were fused; `again`: but for what the first round
 * found read so often that it was stored. */
static void forward(maker *m, frame *f, bool again)
{
    const kn_jaxpr *j = f->j;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        float cost = own_cost(e);
        for (uint32_t i = 0; i < e->nin; i++) cost += operand_cost(f, e->in[i]);
        for (uint32_t r = 0; r < e->nout; r++) {
            var_plan *v = &f->plan[e->out[r]];
            kiln_type t = j->vars[e->out[r]].type;
            v->def = k;
            v->def_result = r;
            if (e->prim->loop == KN_LOOP_ELEMENT) {
                v->kind = small(m, t) ? PLACE_REGISTERS : PLACE_LAZY;
                find_roll(m, f, e);
                if (v->rolled) cost = operand_cost(f, v->rolled - 1);
                v->cost = cost;
                bool store = v->must_store || v->asked || (v->row && cost > 0) || many_parts(e) || m->o.no_fusion || cost > (float)LARGEST_KERNEL || t.rank > MAX_RANK || (again && v->dear && cost > (float)CHEAP);
                if (v->kind == PLACE_LAZY && store) v->kind = PLACE_MEMORY;
                if (v->kind != PLACE_LAZY) v->cost = 0;
            } else {
                v->kind = small(m, t) ? PLACE_REGISTERS : PLACE_MEMORY;
            }
        }
    }
}

/* Does equation e read operand i at its own index? Then what several of its values share is computed once in its nest. */
static bool reads_straight(const kn_jaxpr *j, const kn_eqn *e, uint32_t i)
{
    kiln_type in = kn_type_of(j, e->in[i]);
    if (e->prim->loop == KN_LOOP_REDUCE || e->prim->loop == KN_LOOP_CUMULATE) return true;
    kiln_type out = j->vars[e->out[0]].type;
    return (e->prim->flags & KN_ELEMENTWISE) && in.rank == out.rank && memcmp(in.dims, out.dims, in.rank * sizeof *in.dims) == 0;
}

/* One reading of operand i by equation e, in the nest of equation `nest` (NO_NEST: several), computed `times` times, last at `at`. */
static void note_read(maker *m, frame *f, const kn_eqn *e, uint32_t i, int64_t nest, uint32_t times, int64_t at)
{
    kn_atom a = e->in[i];
    if (kn_is_literal(a)) return;
    var_plan *v = &f->plan[a];
    if (at > v->last) v->last = at;
    bool straight = nest != NO_NEST && v->kind == PLACE_LAZY && reads_straight(f->j, e, i);
    if (v->reads == 0) v->nest = straight ? nest : NO_NEST;
    bool shared = v->reads > 0 && straight && v->nest == nest;
    if (!shared) v->reads = v->reads > UINT32_MAX / 2 ? v->reads : v->reads + (times ? times : 1);
    if (v->reads > 1 && !shared) v->nest = NO_NEST;
    const kn_loop_kind kind = e->prim->loop;
    if (kind != KN_LOOP_ELEMENT && kind != KN_LOOP_REDUCE && kind != KN_LOOP_CUMULATE && kind != KN_LOOP_UPDATE) v->whole = true;
    for (uint32_t r = 0; r < e->nout; r++) v->whole = v->whole || (f->plan[e->out[r]].kind == PLACE_LAZY && f->plan[e->out[r]].whole);
    if (v->kind != PLACE_LAZY) return;
    bool foreign = m->o.ticks && f->j->eqns[v->def].scope != e->scope && !is_view(f, a); /* else its time would be the reader's */
    bool store = false, dear = false;
    switch (e->prim->loop) {
    case KN_LOOP_PARTS: break;
    case KN_LOOP_ELEMENT: dear = repeats(f->j, e, i) && v->cost > (float)CHEAP; break;
    case KN_LOOP_REDUCE:
    case KN_LOOP_CUMULATE: break;
    case KN_LOOP_DOT:
    case KN_LOOP_CONV: store = !is_view(f, a); break;
    case KN_LOOP_UPDATE: store = i == 0; break;
    case KN_LOOP_SCATTER: store = i == 0 || (v->cost > (float)CHEAP && !(i == 2 && scatter_rows(f->j, e))); break;
    case KN_LOOP_WHILE: store = i + e->nout < e->nin && !is_view(f, a); break; /* a lazy carry is written where it starts */
    case KN_LOOP_COND: store = !is_view(f, a); break;
    case KN_LOOP_CALL:
    case KN_LOOP_SORT:
    case KN_LOOP_NONE: store = true; break;
    }
    v->asked = v->asked || store;
    v->dear = v->dear || dear;
    if (store || dear || foreign) v->kind = PLACE_MEMORY;
}

/* A roll reads its array once; its slices are read where it is not known which of them an element is in. */
static void note_roll(frame *f, const kn_eqn *e, uint32_t times, int64_t at)
{
    const var_plan *roll = &f->plan[e->out[0]];
    for (uint32_t i = 0; i <= e->nin; i++) {
        var_plan *v = &f->plan[i < e->nin ? e->in[i] : roll->rolled - 1];
        if (at > v->last) v->last = at;
        v->whole = v->whole || roll->whole;
        if (i == e->nin) v->reads += times ? times : 1, v->nest = NO_NEST;
    }
}

/* Then backward: readers are decided before what they read. */
static void backward(maker *m, frame *f)
{
    const kn_jaxpr *j = f->j;
    for (uint32_t i = 0; i < j->nout; i++)
        if (!kn_is_literal(j->out[i])) {
            f->plan[j->out[i]].last = j->neqns;
            f->plan[j->out[i]].reads++;
        }
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        uint32_t times = 0;
        int64_t at = k, nest = k;
        bool read = false;
        for (uint32_t r = 0; r < e->nout; r++) {
            var_plan *v = &f->plan[e->out[r]];
            if (v->kind == PLACE_LAZY && v->reads > 1 && v->cost > (float)CHEAP) v->kind = PLACE_MEMORY, v->dear = true;
            read = read || v->kind != PLACE_LAZY || v->reads;
            times += v->kind == PLACE_LAZY ? v->reads : 1;
            if (v->kind == PLACE_LAZY && v->last > at) at = v->last;
            if (v->kind == PLACE_LAZY) nest = e->nout == 1 ? v->nest : NO_NEST;
        }
        if (e->nout == 1 && f->plan[e->out[0]].rolled) note_roll(f, e, times, at);
        for (uint32_t i = 0; read && !(e->nout == 1 && f->plan[e->out[0]].rolled) && i < e->nin; i++) note_read(m, f, e, i, nest, times, at);
    }
}

/* ---- reductions over several dimensions ---- */

/* Do the elements in row-major order stand in memory in that order? Then an index need not be divided to read them in lanes. */
static bool runs_on(const frame *f, kn_atom a, unsigned *budget)
{
    if (kn_is_literal(a) || f->plan[a].kind != PLACE_LAZY || kn_type_of(f->j, a).rank == 0) return true;
    if (*budget == 0) return true; /* nothing is stored for it */
    --*budget;
    const kn_eqn *e = &f->j->eqns[f->plan[a].def];
    kiln_type t = f->j->vars[a].type;
    if (e->prim == &kn_prim_reshape || e->prim == &kn_prim_squeeze) {
        const kn_param *order = e->prim == &kn_prim_reshape ? kn_param_of(e, "dimensions") : NULL;
        return (!order || order->kind == KN_P_NONE) && runs_on(f, e->in[0], budget);
    }
    bool straight = e->prim != &kn_prim_slice || kn_param_of(e, "strides")->kind == KN_P_NONE;
    if (e->prim == &kn_prim_slice || e->prim == &kn_prim_dynamic_slice)
        return straight && one_piece(kn_type_of(f->j, e->in[0]), t) && runs_on(f, e->in[0], budget);
    if (e->prim == &kn_prim_broadcast_in_dim && kn_type_of(f->j, e->in[0]).rank == 0) return true; /* no index at all */
    if (!(e->prim->flags & KN_ELEMENTWISE)) return false;
    for (uint32_t i = 0; i < e->nin; i++) {
        kiln_type in = kn_type_of(f->j, e->in[i]);
        bool same = in.rank == t.rank && memcmp(in.dims, t.dims, t.rank * sizeof *t.dims) == 0;
        if (in.rank && (!same || !runs_on(f, e->in[i], budget))) return false;
    }
    return true;
}

/* Of what is computed from moved elements the first value is stored. */
static void store_moved(frame *f, kn_atom a, unsigned *budget)
{
    if (runs_on(f, a, budget)) return;
    const kn_eqn *e = &f->j->eqns[f->plan[a].def];
    bool elementwise = (e->prim->flags & KN_ELEMENTWISE) != 0;
    for (uint32_t i = 0; i < e->nin && elementwise; i++) {
        if (runs_on(f, e->in[i], budget)) continue;
        const kn_eqn *d = &f->j->eqns[f->plan[e->in[i]].def];
        if (d->prim->flags & KN_ELEMENTWISE) store_moved(f, e->in[i], budget);
        else if (f->plan[e->in[i]].reads > 1) f->plan[e->in[i]].must_store = f->plan[e->in[i]].moved = true;
        else elementwise = false;
    }
    if (!elementwise) f->plan[a].must_store = f->plan[a].moved = true;
}

/* Returns how many values are to be stored for them. */
static uint32_t look_at_reductions(frame *f)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->j->neqns; k++) {
        unsigned budget = 2000;
        const kn_eqn *e = &f->j->eqns[k];
        if (e->prim->loop == KN_LOOP_REDUCE && divides_index(f, e)) store_moved(f, e->in[0], &budget);
    }
    for (uint32_t v = 0; v < f->j->nvars; v++) n += f->plan[v].moved;
    return n;
}

/* ---- updates ---- */

/* What is read of an array before it is updated, to be computed where it is needed afterwards, would need a copy of the whole array: the
 * smaller value is stored instead. */
static void store_before_updates(frame *f)
{
    const kn_jaxpr *j = f->j;
    unsigned budget = 1000000;
    for (uint32_t k = 0; k < j->neqns; k++) {
        if (!kn_updates(&j->eqns[k])) continue;
        kn_atom x = j->eqns[k].in[0];
        if (kn_is_literal(x) || f->plan[x].last <= (int64_t)k) continue;
        int64_t whole = kiln_type_size(j->vars[x].type);
        for (uint32_t q = f->plan[x].def == UINT32_MAX ? 0 : f->plan[x].def + 1; q < k && budget; q++, budget--) {
            const kn_eqn *e = &j->eqns[q];
            bool reads = false;
            for (uint32_t i = 0; i < e->nin; i++) reads = reads || e->in[i] == x;
            for (uint32_t r = 0; reads && r < e->nout; r++) {
                var_plan *v = &f->plan[e->out[r]];
                if (v->kind == PLACE_LAZY && v->last > (int64_t)k && kiln_type_size(j->vars[e->out[r]].type) < whole) v->must_store = true;
            }
        }
    }
}

void plan_frame(maker *m, frame *f)
{
    const kn_jaxpr *j = f->source = f->j;
    f->plan = KN_NEWN(&m->temp, var_plan, j->nvars);
    if (!MAKER_TRY_MEM(m, f->plan)) return;
    for (uint32_t v = 0; v < j->nvars; v++) f->plan[v].def = UINT32_MAX;
    forced(f);
    find_rows(m, f);
    if (m->status != KILN_OK) return;
    for (int round = 0; round < 2; round++) {
        for (uint32_t v = 0; v < j->nvars; v++) {
            var_plan *p = &f->plan[v];
            p->kind = PLACE_MEMORY, p->last = NO_NEST, p->reads = 0, p->nest = NO_NEST;
        }
        forward(m, f, round > 0);
        backward(m, f);
        if (round > 0 || m->o.no_fusion) continue;
        store_before_updates(f);
        bool sort = look_at_reductions(f) > 1 && !m->o.ticks;
        if (sort) arrange(m, f);
        for (uint32_t v = 0; v < j->nvars; v++) f->plan[v].moved = f->plan[v].moved && sort;
        if (sort && m->status == KILN_OK) find_rows(m, f);
        if (m->status != KILN_OK) return;
    }
    choose_hosts(m, f);
    find_epilogues(m, f);
}

/* Walks the lazy values below `value`. `want` 0: does it read var at all; 1: only at its own index. */
static bool lazy_walk(maker *m, frame *f, kn_atom value, uint32_t var, bool own_index_only, bool top, unsigned *budget)
{
    if (kn_is_literal(value)) return own_index_only;
    if (value == var) return true;
    const var_plan *v = &f->plan[value];
    if (v->def == UINT32_MAX || (v->kind != PLACE_LAZY && !top)) return own_index_only;
    if (*budget == 0) return !own_index_only; /* too large to tell: the careful answer */
    --*budget;
    const kn_eqn *e = &f->j->eqns[v->def];
    bool elementwise = (e->prim->flags & KN_ELEMENTWISE) != 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (kn_is_literal(e->in[i])) continue;
        if (own_index_only) {
            kiln_type in = kn_type_of(f->j, e->in[i]);
            bool straight = elementwise && (in.rank == 0 || kiln_type_equal((kiln_type){in.dtype, in.rank, in.dims},
                                                                            (kiln_type){in.dtype, f->j->vars[e->out[0]].type.rank, f->j->vars[e->out[0]].type.dims}));
            if (straight ? !lazy_walk(m, f, e->in[i], var, true, false, budget) : lazy_walk(m, f, e->in[i], var, false, false, budget)) return false;
        } else if (lazy_walk(m, f, e->in[i], var, false, false, budget)) {
            return true;
        }
    }
    return own_index_only;
}

bool same_index_only(maker *m, frame *f, kn_atom value, uint32_t var)
{
    unsigned budget = 2000;
    return lazy_walk(m, f, value, var, true, true, &budget);
}

bool reads_var(maker *m, frame *f, kn_atom value, uint32_t var)
{
    unsigned budget = 2000;
    return lazy_walk(m, f, value, var, false, false, &budget);
}

static bool plain_walk(frame *f, kn_atom value, kiln_type shape, bool top, unsigned *budget)
{
    if (kn_is_literal(value)) return true;
    kiln_type t = kn_type_of(f->j, value);
    if (t.rank == 0) return true;
    if (t.rank != shape.rank || memcmp(t.dims, shape.dims, t.rank * sizeof *t.dims) != 0) return false;
    const var_plan *v = &f->plan[value];
    if (v->def == UINT32_MAX) return f->at[value] && f->at[value]->kind == PLACE_MEMORY;
    if (v->kind != PLACE_LAZY && !top) return v->kind == PLACE_MEMORY;
    if (*budget == 0) return false;
    --*budget;
    const kn_eqn *e = &f->j->eqns[v->def];
    if (!(e->prim->flags & KN_ELEMENTWISE)) return false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!plain_walk(f, e->in[i], shape, false, budget)) return false;
    return true;
}

bool plain_closure(maker *m, frame *f, kn_atom value, kiln_type shape)
{
    (void)m;
    unsigned budget = 2000;
    return plain_walk(f, value, shape, true, &budget);
}
