/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays turned along a dimension: two slices of one array, put together the other way round, as periodic neighbours are written.
 *
 *     b = slice[127:128] a; c = slice[0:127] a; d = concatenate b c          d[i] = a[(i + 127) mod 128]
 *
 * Reading one is reading the array once, at another index. A nest whose dimension is turned throughout by one distance runs along it in the
 * array's order and writes where an element belongs: no border is cut, and what else is made of the same row can be made beside it. */
#include "loop/maker.h"
#include "prims.gen.h"

/* Where a slice without strides starts in *of; NULL: it is none. */
static const int64_t *slice_from(const frame *f, kn_atom a, kn_atom *of)
{
    if (kn_is_literal(a) || f->plan[a].kind != PLACE_LAZY) return NULL;
    const kn_eqn *e = &f->j->eqns[f->plan[a].def];
    if (e->prim != &kn_prim_slice || kn_param_of(e, "strides")->kind != KN_P_NONE || kn_is_literal(e->in[0])) return NULL;
    *of = e->in[0];
    return kn_param_of(e, "start_indices")->ints;
}

void find_roll(const maker *m, frame *f, const kn_eqn *e)
{
    var_plan *v = &f->plan[e->out[0]];
    v->rolled = 0;
    if (e->prim != &kn_prim_concatenate || e->nin != 2 || m->o.ticks || m->o.no_fusion) return;
    kiln_type t = f->j->vars[e->out[0]].type;
    uint32_t dim = (uint32_t)kn_param_of(e, "dimension")->i;
    kn_atom one = 0, other = 0;
    if (small(m, t) || kiln_dtype_kind(t.dtype) == 'c' || t.rank > MAX_RANK || open_size(m, t.dims[dim])) return;
    const int64_t *first = slice_from(f, e->in[0], &one), *second = slice_from(f, e->in[1], &other);
    if (!first || !second || one != other) return;
    int64_t by = kn_type_of(f->j, e->in[1]).dims[dim];
    for (uint32_t d = 0; d < t.rank; d++)
        if (first[d] != second[d] + (d == dim ? by : 0)) return;
    if (by == 0 || by == t.dims[dim]) return;
    v->rolled = one + 1;
    v->roll_dim = dim;
    v->roll_by = by;
    v->roll_from = second;
}

/* The index in the window of element `at` of the roll, or 0. */
static kn_lv source_index(maker *m, const var_plan *v, kn_lv at, int64_t n)
{
    const value_facts f = m->facts.v[at];
    if (f.hi < n - v->roll_by) return lv_add(m, at, lv_int(m, v->roll_by));
    if (f.lo >= n - v->roll_by) return lv_add(m, at, lv_int(m, v->roll_by - n));
    for (uint32_t d = 0; d < MAX_RANK; d++) {
        turn *t = &m->turns[d];
        if (!t->to || t->to != at || f.lo != 0 || f.hi != n - 1) continue;
        if (m->probing && t->by != v->roll_by) t->by = t->by ? TURN_NONE : v->roll_by;
        return t->by == v->roll_by ? t->from : 0;
    }
    return 0;
}

kn_lv rolled_element(maker *m, const place *p, const kn_lv *ix)
{
    const var_plan *v = &p->frame->plan[p->e->out[p->result]];
    if (!v->rolled) return 0;
    kn_lv from[MAX_RANK], at = source_index(m, v, ix[v->roll_dim], p->type.dims[v->roll_dim]);
    if (!at || m->status != KILN_OK) return 0;
    for (uint32_t d = 0; d < p->type.rank; d++) from[d] = lv_add(m, d == v->roll_dim ? at : ix[d], lv_int(m, v->roll_from[d]));
    return element_of(m, p->frame->at[v->rolled - 1], from);
}

kn_lv turned_index(maker *m, kn_lv from, int64_t n, int64_t by)
{
    kn_lv before = lv_sop(m, KN_S_lt, KILN_I64, KILN_BOOL, from, lv_int(m, by), 0);
    kn_lv to = lv_sop(m, KN_S_select, KILN_I64, KILN_I64, before, lv_add(m, from, lv_int(m, n - by)), lv_add(m, from, lv_int(m, -by)));
    if (m->status == KILN_OK) m->facts.v[to].lo = 0, m->facts.v[to].hi = n - 1;
    return to;
}
