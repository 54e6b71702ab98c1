/* SPDX-License-Identifier: Apache-2.0 */
/* Lowered program -> loops: the walk over equations. Scalars and small arrays are computed where they stand, in registers;
 * lazy values where they are read; stored values in nests, neighbours of one shape together. */
#include "loop/maker.h"

frame *new_frame(maker *m, const kn_jaxpr *j, int in_loop)
{
    frame *f = KN_NEW(&m->temp, frame);
    if (!MAKER_TRY_MEM(m, f)) return NULL;
    f->j = j;
    f->in_loop = in_loop;
    f->donated_last = -1;
    f->at = KN_NEWN(&m->temp, place *, j->nvars);
    if (!MAKER_TRY_MEM(m, f->at)) return NULL;
    plan_frame(m, f);
    return m->status == KILN_OK ? f : NULL;
}

/* `var` stands in the slot from now on. */
static void stand(maker *m, frame *f, uint32_t var, uint32_t slot)
{
    while (m->standing.n <= slot)
        if (!MAKER_TRY_MEM(m, kn_push(&m->temp, &m->standing, (stander){NULL, 0}))) return;
    m->standing.v[slot] = (stander){f, var};
}

void bind_input(maker *m, frame *f, uint32_t input, place *p)
{
    f->at[f->j->in[input]] = p;
    if (p && p->kind == PLACE_MEMORY && p->owned) stand(m, f, f->j->in[input], p->slot);
}

void set_place(maker *m, frame *f, uint32_t var, place *p)
{
    (void)m;
    f->at[var] = p;
}

void put_memory(maker *m, frame *f, uint32_t var, uint32_t slot)
{
    place *p = new_place(m, PLACE_MEMORY, f->j->vars[var].type);
    if (!p) return;
    p->slot = slot;
    p->owned = true;
    f->at[var] = p;
    stand(m, f, var, slot);
}

void put_registers(maker *m, frame *f, uint32_t var, const kn_lv *v)
{
    place *p = new_place(m, PLACE_REGISTERS, f->j->vars[var].type);
    if (!p || m->status != KILN_OK) return;
    place_registers(m, p, v);
    f->at[var] = p;
}

bool dead_after(frame *f, uint32_t var, uint32_t pos) { return f->plan[var].last <= (int64_t)pos; }

static bool is_swapped(const maker *m, uint32_t slot)
{
    for (uint32_t k = 0; k < m->swapped.n; k++)
        if (m->swapped.v[k] == slot) return true;
    return false;
}

/* When what stands in memory that may be that of a donated input is read last: the inputs themselves, and what was put there since,
 * by an update in place or by a loop that carries it. */
static int64_t donated_last(const maker *m, const frame *f)
{
    int64_t last = f->donated_last;
    for (uint32_t s = 0; s < m->standing.n; s++) {
        const stander *in = &m->standing.v[s];
        if (in->f != f || (m->l->slots.v[s].kind != KN_SLOT_INPUT && !is_swapped(m, s))) continue;
        if (f->plan[in->var].last > last) last = f->plan[in->var].last;
    }
    return last;
}

uint32_t guard_of(const maker *m, const frame *f, uint32_t var, int64_t *donated)
{
    const var_plan *v = &f->plan[var];
    uint32_t slot = v->want - 1;
    *donated = v->guard == GUARD_DONATED ? donated_last(m, f) : -1;
    if (slot < m->standing.n && m->standing.v[slot].f == f) return m->standing.v[slot].var + 1; /* an update or a loop handed it on */
    return v->guard == GUARD_DONATED ? 0 : v->guard;
}

uint32_t slot_for(maker *m, frame *f, uint32_t var)
{
    const var_plan *v = &f->plan[var];
    kiln_type t = f->j->vars[var].type;
    int64_t donated = -1;
    uint32_t guard = v->want ? guard_of(m, f, var, &donated) : 0;
    bool free_to_use = v->want && donated < (int64_t)f->pos && (!guard || f->plan[guard - 1].last < (int64_t)f->pos);
    return free_to_use ? v->want - 1 : new_slot(m, KN_SLOT_SCRATCH, 0, t.dtype, kiln_type_size(t));
}

typedef struct copied {
    uint32_t to, from;
} copied;

static void copy_body(maker *m, void *ud, const kn_lv *ix)
{
    const copied *c = ud;
    lv_store(m, c->to, ix[0], lv_load(m, c->from, ix[0]));
}

void copy_slot(maker *m, uint32_t to, uint32_t from)
{
    if (to == from) return;
    uint32_t nests = m->l->nests;
    copied c = {to, from};
    if (!open_size(m, m->l->slots.v[to].elements)) add_plain(m, (kn_linst){.op = KN_L_COPY, .slot = to, .slot2 = from});
    else make_nest(m, 1, &m->l->slots.v[to].elements, true, copy_body, &c);
    m->l->nests = nests;
}

void want_through(frame *f)
{
    for (uint32_t k = f->j->neqns; k-- > 0;) {
        const kn_eqn *e = &f->j->eqns[k];
        bool loop = e->prim->loop == KN_LOOP_WHILE;
        if (!loop && !kn_updates(e)) continue;
        for (uint32_t r = 0; r < e->nout; r++) {
            const var_plan *v = &f->plan[e->out[r]];
            kn_atom from = e->in[loop ? e->nin - e->nout + r : 0];
            if (v->kind != PLACE_MEMORY || !v->want || kn_is_literal(from)) continue;
            var_plan *w = &f->plan[from];
            if (w->kind != PLACE_MEMORY || w->def == UINT32_MAX || w->want || w->last != (int64_t)k) continue;
            w->want = v->want;
            w->guard = v->guard;
        }
    }
}

typedef struct fill {
    place *p;
    uint32_t slot;
} fill;

static void fill_body(maker *m, void *ud, const kn_lv *ix)
{
    fill *s = ud;
    kn_lv v[2];
    element_parts(m, s->p, ix, v);
    store_element(m, s->p, s->slot, ix, v);
}

void store_place(maker *m, frame *f, place *p, uint32_t slot)
{
    (void)f;
    if (m->status != KILN_OK || !p) return;
    if (p->kind == PLACE_MEMORY) {
        copy_slot(m, slot, p->slot);
    } else if (p->kind == PLACE_REGISTERS) {
        int64_t n = kiln_type_size(p->type);
        for (int64_t k = 0; k < n; k++) lv_store(m, slot, lv_int(m, k), p->regs[k]);
    } else {
        fill s = {p, slot};
        make_nest(m, p->type.rank, p->type.dims, true, fill_body, &s);
    }
}

/* ---- equations ---- */

static void emit_registers(maker *m, frame *f, const kn_eqn *e, uint32_t result)
{
    uint32_t var = e->out[result];
    kiln_type t = f->j->vars[var].type;
    int64_t n = kiln_type_size(t);
    place *lazy = new_place(m, PLACE_LAZY, t);
    kn_lv *v = KN_NEWN(&m->temp, kn_lv, n);
    if (!lazy || !MAKER_TRY_MEM(m, v)) return;
    lazy->frame = f;
    lazy->e = e;
    lazy->result = result;
    for (int64_t k = 0; k < n; k++) v[k] = element_at(m, lazy, k);
    put_registers(m, f, var, v);
}

static void make_lazy(maker *m, frame *f, const kn_eqn *e, uint32_t result)
{
    place *p = new_place(m, PLACE_LAZY, f->j->vars[e->out[result]].type);
    if (!p) return;
    p->frame = f;
    p->e = e;
    p->result = result;
    f->at[e->out[result]] = p;
}

static bool reads_group(maker *m, frame *f, const kn_eqn *e, const root *roots, uint32_t n)
{
    for (uint32_t i = 0; i < e->nin; i++)
        for (uint32_t k = 0; k < n; k++)
            if (!kn_is_literal(e->in[i]) && reads_var(m, f, e->in[i], f->j->eqns[roots[k].pos].out[roots[k].result])) return true;
    return false;
}

/* Can this stored value join the nest? Same shape, and it reads the nest's values at its own index only. */
static bool joins(maker *m, frame *f, const kn_eqn *e, uint32_t result, const root *roots, uint32_t n)
{
    kiln_type t = f->j->vars[e->out[result]].type, u = f->j->vars[f->j->eqns[roots[0].pos].out[roots[0].result]].type;
    if (t.rank != u.rank || (t.rank && memcmp(t.dims, u.dims, t.rank * sizeof *t.dims) != 0) || m->o.no_fusion) return false;
    if (many_parts(e) || many_parts(&f->j->eqns[roots[0].pos])) return false;
    if (f->plan[e->out[result]].moved != f->plan[f->j->eqns[roots[0].pos].out[roots[0].result]].moved) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!same_index_only(m, f, e->out[result], f->j->eqns[roots[k].pos].out[roots[k].result])) return false;
    return true;
}

enum { LARGEST_GROUP = 32 };

/* From result *result of equation *pos on: gathers stored values into one nest; equations in between that do not read them
 * come before it. With ticks, it ends with the scope. Leaves the place where it stopped. */
static void emit_group(maker *m, frame *f, uint32_t *pos, uint32_t *result)
{
    root roots[LARGEST_GROUP];
    uint32_t n = 0, k = *pos, r = *result;
    for (bool stop = false; !stop && k < f->j->neqns && m->status == KILN_OK;) {
        const kn_eqn *e = &f->j->eqns[k];
        bool element = e->prim->loop == KN_LOOP_ELEMENT || e->prim->loop == KN_LOOP_PARTS;
        if (!element || (m->o.ticks && e->scope != f->j->eqns[*pos].scope)) break;
        f->pos = k;
        for (; r < e->nout; r++) {
            place_kind kind = f->plan[e->out[r]].kind;
            if (kind == PLACE_MEMORY && f->plan[e->out[r]].product) {
                if (!(stop = n > 0)) emit_dot_into(m, f, e->out[r]);
                if (stop) break;
            } else if (kind == PLACE_MEMORY) {
                stop = n == LARGEST_GROUP || (n && !joins(m, f, e, r, roots, n));
                if (stop) break;
                roots[n++] = (root){k, r};
            } else if (kind == PLACE_LAZY) {
                make_lazy(m, f, e, r);
            } else {
                stop = n && reads_group(m, f, e, roots, n);
                if (stop) break;
                m->scope = e->scope;
                m->loc = e->loc;
                if (m->o.kept) m->o.kept(m->o.kept_ud, f->source, e->out[r], 0);
                emit_registers(m, f, e, r);
            }
        }
        if (!stop) k++, r = 0;
    }
    if (n) {
        f->pos = roots[n - 1].pos;
        m->nest_number++;
        for (uint32_t i = 0; m->o.kept && i < n; i++) m->o.kept(m->o.kept_ud, f->source, f->j->eqns[roots[i].pos].out[roots[i].result], m->nest_number);
        emit_stored(m, f, roots, n);
    }
    *pos = k;
    *result = r;
}

static void tick(maker *m, uint32_t scope)
{
    if (m->o.ticks) add_plain(m, (kn_linst){.op = KN_L_TICK, .index = scope});
}

void run_frame(maker *m, frame *f)
{
    uint32_t k = 0, result = 0, scope = UINT32_MAX;
    while (k < f->j->neqns && m->status == KILN_OK) {
        const kn_eqn *e = &f->j->eqns[k];
        if (scope != UINT32_MAX && scope != e->scope) tick(m, scope);
        scope = e->scope;
        m->scope = e->scope;
        m->loc = e->loc;
        f->pos = k;
        switch (e->prim->loop) {
        case KN_LOOP_ELEMENT:
        case KN_LOOP_PARTS: emit_group(m, f, &k, &result); continue;
        case KN_LOOP_REDUCE: emit_reduce(m, f, e); break;
        case KN_LOOP_CUMULATE: emit_cumulate(m, f, e); break;
        case KN_LOOP_DOT:
            if (!f->plan[e->out[0]].into) emit_dot(m, f, e);
            break;
        case KN_LOOP_CONV: emit_conv(m, f, e); break;
        case KN_LOOP_UPDATE: emit_update(m, f, e); break;
        case KN_LOOP_SCATTER: emit_scatter(m, f, e); break;
        case KN_LOOP_WHILE: emit_while(m, f, e); break;
        case KN_LOOP_COND: emit_cond(m, f, e); break;
        case KN_LOOP_SORT: emit_sort(m, f, e); break;
        case KN_LOOP_CALL:
        case KN_LOOP_NONE:
            if (e->prim->call) emit_call(m, f, e);
            else if (m->status == KILN_OK)
                m->status = kn_fail(m->ctx, KILN_UNSUPPORTED, "%s cannot be compiled (%s:%u)", e->prim->name, m->prog->files.v[e->loc.file], e->loc.line);
            break;
        }
        k++;
    }
    if (scope != UINT32_MAX) tick(m, scope);
}

/* ---- the whole program ---- */

static void bind_main(maker *m, frame *f)
{
    const kn_jaxpr *j = f->j;
    for (uint32_t i = 0; i < j->nin && m->status == KILN_OK; i++) {
        kiln_type t = kn_type_of(j, j->in[i]);
        bool constant = i < j->nconsts;
        uint32_t index = constant ? i : i - j->nconsts;
        place *p = new_place(m, PLACE_MEMORY, t);
        if (!p) return;
        p->slot = new_slot(m, constant ? KN_SLOT_CONST : KN_SLOT_INPUT, index, t.dtype, kiln_type_size(t));
        p->owned = !constant && m->o.donated && m->o.donated[index];
        if (small(m, t)) {
            place *r = new_place(m, PLACE_REGISTERS, t);
            const kn_lv *v = registers_of(m, p);
            if (!r || !v) return;
            place_registers(m, r, v);
            p = r;
        }
        if (p->owned && f->plan[j->in[i]].last > f->donated_last) f->donated_last = f->plan[j->in[i]].last;
        bind_input(m, f, i, p);
    }
}

/* Outputs that are made in memory should be made in their place; loops and updates hand the wish on to what they start from. */
static void want_outputs(frame *f, const uint32_t *work)
{
    const kn_jaxpr *j = f->j;
    for (uint32_t i = 0; i < j->nout; i++) {
        if (kn_is_literal(j->out[i])) continue;
        var_plan *v = &f->plan[j->out[i]];
        if (v->def != UINT32_MAX && v->kind == PLACE_MEMORY && !v->want) v->want = work[i] + 1, v->guard = GUARD_DONATED;
    }
    want_through(f);
}

/* An output that is not where it belongs yet. */
typedef struct homecoming {
    place *p;
    uint32_t home; /* its slot: the caller's memory */
    bool given;    /* what it is a copy of may stand in the memory of another output: loops swap it, or a donated input is it */
} homecoming;

/* `work` slots stand for the caller's memory as long as nothing has swapped them; else the result is brought home. */
static uint32_t find_homecomings(maker *m, frame *f, const uint32_t *work, homecoming *h)
{
    const kn_jaxpr *j = f->j;
    uint32_t n = 0;
    bool donated = false;
    for (uint32_t i = j->nconsts; i < j->nin; i++) donated = donated || (m->o.donated && m->o.donated[i - j->nconsts] && !small(m, kn_type_of(j, j->in[i])));
    for (uint32_t i = 0; i < j->nout && m->status == KILN_OK; i++) {
        place *p = place_of_atom(m, f, j->out[i]);
        if (!p || (p->kind == PLACE_MEMORY && p->slot == work[i] && !is_swapped(m, work[i]))) continue;
        kiln_type t = kn_type_of(j, j->out[i]);
        uint32_t home = is_swapped(m, work[i]) ? new_slot(m, KN_SLOT_OUTPUT, i, t.dtype, kiln_type_size(t)) : work[i];
        if (m->status != KILN_OK) break;
        bool given = p->kind == PLACE_MEMORY && (is_swapped(m, p->slot) || (donated && m->l->slots.v[p->slot].kind == KN_SLOT_INPUT));
        h[n++] = (homecoming){p, home, given};
    }
    return n;
}

typedef struct homecomings {
    const homecoming *h;
    const uint32_t *group;
    uint32_t n;
    kn_lv *v; /* n */
} homecomings;

static void home_body(maker *m, void *ud, const kn_lv *ix)
{
    const homecomings *c = ud;
    for (uint32_t k = 0; k < c->n; k++) c->v[k] = lv_load(m, c->h[c->group[k]].p->slot, ix[0]);
    for (uint32_t k = 0; k < c->n; k++) lv_store(m, c->h[c->group[k]].home, ix[0], c->v[k]);
}

/* Several outputs of one type may be in each other's memory: they are copied element by element, all of them read before the first
 * is written. Nothing happens where all are where they belong, because the caller gave the same memory. */
static void come_home_together(maker *m, const homecoming *h, const uint32_t *group, uint32_t n)
{
    homecomings c = {h, group, n, KN_NEWN(&m->temp, kn_lv, n)};
    kn_lv all = 0;
    if (!MAKER_TRY_MEM(m, c.v)) return;
    for (uint32_t k = 0; k < n; k++) {
        kn_lv same = lv_same(m, h[group[k]].home, h[group[k]].p->slot);
        all = k ? lv_sop(m, KN_S_and, KILN_BOOL, KILN_BOOL, all, same, 0) : same;
    }
    kn_lv which = lv_sop(m, KN_S_convert, KILN_BOOL, KILN_I32, all, 0, 0);
    kn_lv s = open_statement(m, KN_L_IF, 2);
    if (m->status != KILN_OK) return;
    region_of(m, s)->selector = which;
    open_region_block(m, s, 0, true);
    make_nest(m, 1, &m->l->slots.v[h[group[0]].home].elements, true, home_body, &c);
    close_block(m);
    open_region_block(m, s, 1, true);
    close_block(m);
    close_statement(m, s);
}

/* The outputs that may be in each other's memory with output i, in `group`; none of them is met again. */
static uint32_t find_group(const maker *m, const homecoming *h, uint32_t n, uint32_t i, bool *met, uint32_t *group)
{
    uint32_t count = 0;
    const kn_slot *like = &m->l->slots.v[h[i].home];
    for (uint32_t k = i; k < n; k++) {
        const kn_slot *s = &m->l->slots.v[h[k].home];
        if (!h[k].given || met[k] || s->dtype != like->dtype || s->elements != like->elements) continue;
        met[k] = true;
        group[count++] = k;
    }
    return count;
}

static void note_output(maker *m, const frame *f, const homecoming *h)
{
    const kn_slot *from = &m->l->slots.v[h->p->slot];
    uint32_t k = m->l->slots.v[h->home].index;
    kn_atom a = f->j->out[k];
    const char *what = kn_arena_printf(m->arena, "output %u", k), *why = NULL;
    if (is_swapped(m, h->p->slot)) why = "a loop exchanges two buffers for it; nothing is copied where it ends in the right one";
    else if (from->kind == KN_SLOT_INPUT && !kn_is_literal(a) && f->plan[a].def == UINT32_MAX) why = kn_arena_printf(m->arena, "it is input %u as it came in", from->index);
    else if (from->kind == KN_SLOT_INPUT)
        why = kn_arena_printf(m->arena, "it is made in the memory of input %u; nothing is copied where the output is given the same", from->index);
    else if (from->kind == KN_SLOT_CONST) why = "it is a constant of the program";
    else if (from->kind == KN_SLOT_OUTPUT) why = kn_arena_printf(m->arena, "it is made in the memory of output %u, which is the same array", from->index);
    else if (!kn_is_literal(a) && f->plan[a].kind == PLACE_REGISTERS) why = "it is small enough for registers, but was made in memory";
    else if (f->donated_last >= 0) why = "its own memory may be that of a donated input, which was still to be read when it was made";
    else why = "its own memory was in use when it was made";
    if (MAKER_TRY_MEM(m, what && why)) note_copy(m, false, what, h->p->type, 0, (kn_loc){0}, why);
}

static void store_outputs(maker *m, frame *f, const uint32_t *work)
{
    homecoming *h = KN_NEWN(&m->temp, homecoming, f->j->nout + 1);
    bool *met = KN_NEWN(&m->temp, bool, f->j->nout + 1);
    uint32_t *group = KN_NEWN(&m->temp, uint32_t, f->j->nout + 1);
    if (!MAKER_TRY_MEM(m, h && met && group)) return;
    uint32_t n = find_homecomings(m, f, work, h);
    for (uint32_t i = 0; i < n; i++)
        if (h[i].p->kind == PLACE_MEMORY) note_output(m, f, &h[i]);
    for (uint32_t i = 0; i < n && m->status == KILN_OK; i++) {
        if (!h[i].given || met[i]) continue;
        uint32_t count = find_group(m, h, n, i, met, group);
        if (count > 1) come_home_together(m, h, group, count);
        else store_place(m, f, h[i].p, h[i].home);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!h[i].given) store_place(m, f, h[i].p, h[i].home);
}

static void make_all(maker *m)
{
    const kn_jaxpr *j = m->prog->main;
    m->l->n_inputs = kn_nargs(j);
    m->l->n_outputs = j->nout;
    m->l->n_consts = j->nconsts;
    if (!MAKER_TRY_MEM(m, kn_push(&m->temp, &m->open, (open_block){&m->l->top, ++m->next_block, true}))) return;
    frame *f = new_frame(m, j, 0);
    if (!f) return;
    bind_main(m, f);
    uint32_t *work = KN_NEWN(&m->temp, uint32_t, j->nout + 1);
    if (!MAKER_TRY_MEM(m, work)) return;
    for (uint32_t i = 0; i < j->nout && m->status == KILN_OK; i++) {
        kiln_type t = kn_type_of(j, j->out[i]);
        work[i] = new_slot(m, KN_SLOT_OUTPUT, i, t.dtype, kiln_type_size(t));
    }
    want_outputs(f, work);
    run_frame(m, f);
    store_outputs(m, f, work);
}

static kiln_status copy_names(maker *m)
{
    const kn_prog *p = m->prog;
    const char **scopes = KN_NEWN(m->arena, const char *, p->scopes.n), **files = KN_NEWN(m->arena, const char *, p->files.n);
    KILN_TRY_MEM(m->ctx, scopes && files);
    for (uint32_t i = 0; i < p->scopes.n; i++) KILN_TRY_MEM(m->ctx, scopes[i] = kn_arena_text(m->arena, p->scopes.v[i]));
    for (uint32_t i = 0; i < p->files.n; i++) KILN_TRY_MEM(m->ctx, files[i] = kn_arena_text(m->arena, p->files.v[i]));
    m->l->scopes = scopes;
    m->l->files = files;
    m->l->n_scopes = p->scopes.n;
    m->l->n_files = p->files.n;
    m->l->ticks = m->o.ticks;
    return KILN_OK;
}

kiln_status kn_loops_make(kiln_ctx *ctx, kn_arena *arena, const kn_prog *p, const kn_loop_options *o, kn_loops **out)
{
    enum { FIRST_TABLE = 1024 };
    maker *m = kn_new(&ctx->alloc, sizeof *m);
    KILN_TRY_MEM(ctx, m);
    m->ctx = ctx;
    m->arena = arena;
    m->prog = p;
    m->o = *o;
    kn_arena_init(&m->temp, &ctx->alloc);
    place_init(m);
    m->cons_cap = FIRST_TABLE;
    bool ok = m->status == KILN_OK && MAKER_TRY_MEM(m, m->cons = KN_NEWN(&m->temp, uint32_t, FIRST_TABLE)) && MAKER_TRY_MEM(m, m->l = KN_NEW(arena, kn_loops));
    if (ok) {
        m->l->arena = arena;
        m->l->sized = kn_prog_open(p);
        ok = MAKER_TRY_MEM(m, kn_push(arena, &m->l->inst, (kn_linst){.op = KN_L_NONE})) && MAKER_TRY_MEM(m, kn_push(&m->temp, &m->facts, (value_facts){0}));
    }
    if (ok) m->status = copy_names(m);
    if (m->status == KILN_OK) make_all(m);
    if (m->status == KILN_OK) merge_loops(m);
    if (m->status == KILN_OK && !m->o.no_fusion) flatten_rows(m);
    if (m->status == KILN_OK) prune_loops(m);
    if (m->status == KILN_OK && forward_stores(m)) prune_loops(m);
    if (m->status == KILN_OK) order_abreast(m);
    if (m->status == KILN_OK) fetch_lines(m);
    if (m->status == KILN_OK) m->status = kn_loops_split(ctx, m->l, o->donated, o->split_cost);
    if (m->status == KILN_OK) share_scratch(m);
    if (m->status == KILN_OK && m->l->sized && !o->keep_sizes) m->status = kn_loops_open(ctx, m->l);
    kiln_status status = m->status;
    *out = status == KILN_OK ? m->l : NULL;
    kn_arena_fini(&m->temp);
    kn_free(&ctx->alloc, m, sizeof *m);
    return status;
}
