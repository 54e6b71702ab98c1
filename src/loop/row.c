/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an array that a loop fills: what a nest makes is stored where the update would copy it to.
 *
 * An update whose window lies in one piece in memory (a row of a stack of saved values) and whose array nobody else reads needs no
 * nest of its own. The row is written where its elements are made, or, if it is only passed on, by the first nest over the same
 * dimensions that reads it. Where nothing else asks for the value in memory of its own, the row is the only place that it has.
 *
 *     e = sin c; s' = dynamic_update_slice s (reshape e) i 0; c' = e * c
 *   ==>
 *     loop k { x = c[k]; y = sin x; s[i * n + k] = y; c'[k] = y * x } */
#include "loop/maker.h"
#include "prims.gen.h"

enum { MOST_TRIED = 64 };

bool one_piece(kiln_type x, kiln_type u)
{
    uint32_t d = x.rank;
    while (d > 0 && u.dims[d - 1] == x.dims[d - 1]) d--;
    for (uint32_t k = 0; k + 1 < d; k++)
        if (u.dims[k] != 1) return false;
    return kiln_type_size(u) > 0;
}

/* How often equations read each value. */
static uint32_t *count_reads(maker *m, const kn_jaxpr *j)
{
    uint32_t *reads = KN_NEWN(&m->temp, uint32_t, j->nvars + 1);
    if (!MAKER_TRY_MEM(m, reads)) return NULL;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nin; i++)
            if (!kn_is_literal(j->eqns[k].in[i])) reads[j->eqns[k].in[i]]++;
    return reads;
}

static bool leaves(const kn_jaxpr *j, kn_atom a)
{
    for (uint32_t i = 0; i < j->nout; i++)
        if (j->out[i] == a) return true;
    return false;
}

static const kn_eqn *maker_of_var(const frame *f, kn_atom a)
{
    return kn_is_literal(a) || f->plan[a].def == UINT32_MAX ? NULL : &f->j->eqns[f->plan[a].def];
}

/* Through what only changes the shape. */
static kn_atom same_elements(const frame *f, kn_atom a)
{
    const kn_eqn *e;
    while ((e = maker_of_var(f, a)) && (e->prim == &kn_prim_reshape || e->prim == &kn_prim_squeeze) && !kn_is_literal(e->in[0])) {
        const kn_param *order = e->prim == &kn_prim_reshape ? kn_param_of(e, "dimensions") : NULL;
        if (order && order->kind != KN_P_NONE) break;
        a = e->in[0];
    }
    return a;
}

static bool before(const frame *f, kn_atom a, uint32_t pos)
{
    return kn_is_literal(a) || f->plan[a].def == UINT32_MAX || f->plan[a].def < pos;
}

void find_rows(maker *m, frame *f)
{
    const kn_jaxpr *j = f->j;
    uint32_t n = 0, *reads = NULL;
    f->nrows = 0;
    for (uint32_t k = 0; k < j->neqns; k++) {
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) f->plan[j->eqns[k].out[i]].def = k;
        n += j->eqns[k].prim->loop == KN_LOOP_UPDATE;
    }
    if (!n || m->o.ticks || m->o.no_fusion) return;
    f->rows = KN_NEWN(&m->temp, stack_row, n);
    if (!MAKER_TRY_MEM(m, f->rows) || !(reads = count_reads(m, j))) return;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (e->prim->loop != KN_LOOP_UPDATE || kn_is_literal(e->in[0]) || kn_is_literal(e->in[1])) continue;
        if (reads[e->in[0]] != 1 || leaves(j, e->in[0])) continue;
        kiln_type x = kn_type_of(j, e->in[0]), u = kn_type_of(j, e->in[1]);
        if (kiln_dtype_kind(x.dtype) == 'c' || x.rank > MAX_RANK || small(m, x) || small(m, u) || !one_piece(x, u)) continue;
        kn_atom v = same_elements(f, e->in[1]);
        kiln_type t = kn_type_of(j, v);
        uint32_t made = f->plan[v].def;
        if (t.rank > MAX_RANK || small(m, t)) continue;
        bool ready = made == UINT32_MAX || before(f, e->in[0], made);
        for (uint32_t i = 2; i < e->nin; i++) ready = ready && (made == UINT32_MAX || before(f, e->in[i], made));
        if (!ready) continue;
        f->rows[f->nrows++] = (stack_row){.update = k, .var = v, .host = UINT32_MAX, .stays = reads[e->out[0]] == 0};
        f->plan[v].row = true;
    }
}

/* The same dimensions, but for those of size 1. */
static bool like_dims(kiln_type a, kiln_type b)
{
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a.rank && a.dims[i] == 1) i++;
        while (k < b.rank && b.dims[k] == 1) k++;
        if (i == a.rank || k == b.rank) return i == a.rank && k == b.rank;
        if (a.dims[i] != b.dims[k]) return false;
    }
}

void like_index(kiln_type from, const kn_lv *ix, kiln_type to, kn_lv zero, kn_lv *out)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < to.rank; k++) {
        if (to.dims[k] == 1) {
            out[k] = zero;
            continue;
        }
        while (from.dims[i] == 1) i++;
        out[k] = ix[i++];
    }
}

/* The first value that a nest over the same dimensions stores and that reads the row; UINT32_MAX: none. */
static uint32_t reader_of(maker *m, frame *f, const stack_row *r)
{
    kiln_type t = kn_type_of(f->j, r->var);
    uint32_t made = f->plan[r->var].def, tried = 0;
    for (uint32_t k = made == UINT32_MAX ? 0 : made + 1; k < r->update && tried < MOST_TRIED; k++) {
        const kn_eqn *e = &f->j->eqns[k];
        if (e->prim->loop != KN_LOOP_ELEMENT || f->plan[e->out[0]].kind != PLACE_MEMORY || !like_dims(f->j->vars[e->out[0]].type, t)) continue;
        tried++;
        for (uint32_t i = 0; i < e->nin; i++)
            if (!kn_is_literal(e->in[i]) && reads_var(m, f, e->in[i], r->var)) return e->out[0];
    }
    return UINT32_MAX;
}

void choose_hosts(maker *m, frame *f)
{
    for (uint32_t k = 0; k < f->nrows; k++) {
        stack_row *r = &f->rows[k];
        const kn_eqn *e = maker_of_var(f, r->var);
        bool stored = e && e->prim->loop == KN_LOOP_ELEMENT && f->plan[r->var].kind == PLACE_MEMORY;
        r->host = stored ? r->var : reader_of(m, f, r);
    }
}

/* The row's array is there and may be written, and where the row begins is known. */
static bool is_open(maker *m, frame *f, const stack_row *r)
{
    const kn_eqn *e = &f->j->eqns[r->update];
    const place *p = f->at[e->in[0]];
    if (m->status != KILN_OK || !p || p->kind != PLACE_MEMORY || !p->owned || p->owner || f->plan[e->in[0]].last != (int64_t)r->update) return false;
    for (uint32_t i = 2; i < e->nin; i++)
        if (!kn_is_literal(e->in[i]) && !f->at[e->in[i]]) return false;
    return r->var == r->host || f->at[r->var];
}

uint32_t open_rows(maker *m, frame *f, const root *roots, uint32_t n, row_store *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->nrows; i++) {
        stack_row *r = &f->rows[i];
        bool here = false;
        for (uint32_t k = 0; k < n; k++) here = here || f->j->eqns[roots[k].pos].out[roots[k].result] == r->host;
        if (!here || r->written || !is_open(m, f, r)) continue;
        const kn_eqn *e = &f->j->eqns[r->update];
        kiln_type x = kn_type_of(f->j, e->in[0]), u = kn_type_of(f->j, e->in[1]);
        kn_lv at[MAX_RANK];
        update_starts(m, f, e, x, u, at);
        if (m->status != KILN_OK) return 0;
        out[count++] = (row_store){.var = r->var, .slot = f->at[e->in[0]]->slot, .base = linear_index(m, x, at), .stays = r->stays};
        r->written = true;
    }
    return count;
}

bool row_is_written(const frame *f, uint32_t update)
{
    for (uint32_t i = 0; i < f->nrows; i++)
        if (f->rows[i].update == update) return f->rows[i].written;
    return false;
}
