/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   algebra that keeps bits, constants folded, moves of elements composed, loops and branches trimmed (rows: `kiln passes`)
 * Needs:  a lowered program
 * Leaves: equations that nobody reads any more; equal equations
 * Cost:   linear: each equation is tried against the few rows of its primitive, at most FUEL rows in a row
 * Switch: --skip simplify
 *
 * Before:
 *   { lambda ; a:f64[3] b:f64[]. let
 *       c:f64[] = add 1.0:f64[] 2.0:f64[]
 *       d:f64[3] = mul a 1.0:f64[]
 *       e:f64[3] = neg d
 *       f:f64[3] = neg e
 *       g:f64[] = sub b 0.0:f64[]
 *       h:f64[3] = add f g
 *       i:f64[3] = div h 4.0:f64[]
 *       j:f64[3] = mul i c
 *     in (j,) }
 * After: (and after dce)
 *   { lambda ; a:f64[3] b:f64[]. let
 *       c:f64[3] = add a b
 *       d:f64[3] = mul c 0.25:f64[]
 *       e:f64[3] = mul d 3.0:f64[]
 *     in (e,) }
 */
#include "opt/rules.h"

enum { FUEL = 32, DEEP = 6 };

/* ---- questions ---- */

const kn_eqn *kn_def_by(const kn_simp *s, kn_atom a, const kn_prim *prim)
{
    const kn_eqn *e = kn_def(s, a);
    return e && e->prim == prim ? e : NULL;
}

bool kn_same_atom(const kn_simp *s, kn_atom a, kn_atom b)
{
    if (!kn_is_literal(a) || !kn_is_literal(b)) return a == b;
    const kn_lit *l = &s->rw.b.lits.v[kn_literal_index(a)], *m = &s->rw.b.lits.v[kn_literal_index(b)];
    return l->dtype == m->dtype && kn_scalar_same(l->dtype, l->value, m->value);
}

bool kn_uniform(const kn_simp *s, kn_atom a, kn_atom *scalar)
{
    *scalar = a;
    if (kn_atype(s, a).rank == 0) return true;
    const kn_eqn *e = kn_def_by(s, a, &kn_prim_broadcast_in_dim);
    if (!e || e->nin != 1 || kn_atype(s, e->in[0]).rank) return false;
    *scalar = e->in[0];
    return true;
}

bool kn_known(const kn_simp *s, kn_atom a, kn_scalar *v)
{
    kn_atom scalar;
    if (!kn_uniform(s, a, &scalar) || !kn_is_literal(scalar)) return false;
    *v = s->rw.b.lits.v[kn_literal_index(scalar)].value;
    return true;
}

/* ---- answers ---- */

kn_fix kn_failed(kn_simp *s, kiln_status status)
{
    if (s->status == KILN_OK) s->status = status;
    return KN_NO;
}

kn_fix kn_give(kn_simp *s, kn_eqn *e, kn_atom a)
{
    if (e->nout != 1 || !kiln_type_equal(kn_atype(s, a), kn_etype(s, e))) return KN_NO;
    kiln_status status = kn_rw_forward(&s->rw, e->out[0], a);
    return status == KILN_OK ? KN_FORWARDED : kn_failed(s, status);
}

kn_atom kn_literal_of(kn_simp *s, kiln_dtype d, kn_scalar v)
{
    kn_atom a = 0;
    kiln_status status = kn_build_literal(&s->rw.b, d, v, &a);
    if (status != KILN_OK) kn_failed(s, status);
    return a;
}

kn_param *kn_params_of(kn_simp *s, const kn_prim *prim, const kn_named *v, uint32_t n)
{
    kn_param *p = KN_NEWN(&s->pm->prog->arena, kn_param, prim->nparams);
    if (!p) {
        kn_failed(s, kn_nomem(s->pm->ctx));
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < prim->nparams; k++)
            if (strcmp(prim->params[k].name, v[i].name) == 0) p[k] = v[i].value;
    return p;
}

int64_t *kn_new_ints(kn_simp *s, uint32_t n)
{
    int64_t *v = KN_NEWN(&s->pm->prog->arena, int64_t, n);
    if (!v) kn_failed(s, kn_nomem(s->pm->ctx));
    return v;
}

kn_fix kn_give_uniform(kn_simp *s, kn_eqn *e, kn_atom scalar)
{
    kiln_type t = kn_etype(s, e);
    if (t.rank == 0) return kn_give(s, e, scalar);
    kn_named v[] = {{"shape", KN_INTS(t.rank, t.dims)}, {"broadcast_dimensions", KN_INTS(0, NULL)}};
    kn_param *p = kn_params_of(s, &kn_prim_broadcast_in_dim, v, 2);
    return p ? kn_become(s, e, &kn_prim_broadcast_in_dim, p, &scalar, 1) : KN_NO;
}

kn_fix kn_give_value(kn_simp *s, kn_eqn *e, kn_scalar v)
{
    kn_atom a = kn_literal_of(s, kn_etype(s, e).dtype, v);
    return s->status == KILN_OK ? kn_give_uniform(s, e, a) : KN_NO;
}

kn_fix kn_become(kn_simp *s, kn_eqn *e, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    kn_atom *own = kn_arena_copy(&s->pm->prog->arena, in, nin * sizeof *in);
    if (!own || s->status != KILN_OK) return kn_failed(s, kn_nomem(s->pm->ctx));
    e->prim = prim;
    e->params = params;
    e->in = own;
    e->nin = nin;
    return KN_CHANGED;
}

kn_atom kn_emit(kn_simp *s, const kn_eqn *like, const kn_prim *prim, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    kn_eqn e;
    if (s->status != KILN_OK) return 0;
    kiln_status status = kn_rw_new(&s->rw, like, prim, params, in, nin, &e);
    if (status != KILN_OK) {
        kn_failed(s, status);
        return 0;
    }
    kn_atom out = e.out[0];
    s->depth++;
    status = kn_simplify_eqn(s, &e);
    s->depth--;
    if (status != KILN_OK) kn_failed(s, status);
    return kn_rw_map(&s->rw, out);
}

/* ---- rows of a primitive ---- */

static bool applies(const kn_rule *row, const kn_prim *prim)
{
    if (row->prim) return row->prim == prim;
    if (!(prim->flags & KN_ELEMENTWISE)) return false;
    return row->sop == 0 || row->sop == prim->scalar_op;
}

/* The list of rows for a primitive, made when it is first met. */
static kiln_status rows_of(kn_pm *pm, const kn_prim *prim, uint32_t *first)
{
    uint64_t key = kn_map_address(prim);
    *first = kn_map_get(&pm->rows, key);
    if (*first) return KILN_OK;
    *first = pm->row_lists.n + 1;
    for (uint32_t g = 0; kn_rule_groups[g].pass; g++) {
        if (strcmp(kn_rule_groups[g].pass, "simplify") != 0) continue;
        for (uint32_t i = 0; kn_rule_groups[g].rows[i].text; i++)
            if (applies(&kn_rule_groups[g].rows[i], prim))
                KILN_TRY_MEM(pm->ctx, kn_push(&pm->lasting, &pm->row_lists, g << 16 | i));
    }
    KILN_TRY_MEM(pm->ctx, kn_push(&pm->lasting, &pm->row_lists, UINT32_MAX) && kn_map_put(&pm->lasting, &pm->rows, key, *first));
    return KILN_OK;
}

static kn_fix try_rows(kn_simp *s, kn_eqn *e, uint32_t first)
{
    kn_pm *pm = s->pm;
    for (uint32_t k = first - 1; pm->row_lists.v[k] != UINT32_MAX; k++) {
        const kn_rule *row = &kn_rule_groups[pm->row_lists.v[k] >> 16].rows[pm->row_lists.v[k] & 0xffff];
        if (row->kinds && (e->nin == 0 || !strchr(row->kinds, kiln_dtype_kind(kn_atype(s, e->in[0]).dtype)))) continue;
        if (row->moves && pm->flush && kiln_dtype_kind(kn_atype(s, e->in[0]).dtype) == 'f') continue;
        const kn_prim *prim = e->prim;
        kn_fix fix = row->try(s, e, row);
        if (s->status != KILN_OK) return KN_NO;
        if (fix == KN_NO) continue;
        kn_count_at(pm, row, 1, prim, e->loc);
        s->changed = true;
        return fix;
    }
    return KN_NO;
}

static kiln_status simplify_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);
static kiln_status simplify_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out) { return simplify_jaxpr(ud, body, out); }

kiln_status kn_simplify_eqn(kn_simp *s, kn_eqn *e)
{
    bool bodies = true;
    for (int fuel = s->depth > DEEP ? 0 : FUEL; fuel > 0; fuel--) {
        uint32_t first;
        KILN_TRY(rows_of(s->pm, e->prim, &first));
        kn_fix fix = try_rows(s, e, first);
        KILN_TRY(s->status);
        if (fix == KN_FORWARDED) return KILN_OK;
        if (fix == KN_CHANGED) continue;
        if (!bodies) break;
        bodies = false; /* once a round */
        bool changed;
        KILN_TRY(kn_map_bodies(s->pm, e, simplify_body, s->pm, &changed));
        if (!changed) break;
        s->changed = true;
    }
    return kn_rw_push(&s->rw, e);
}

static kiln_status simplify_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_simp s = {.pm = pm};
    KILN_TRY(kn_rw_begin(&s.rw, pm, j));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e;
        KILN_TRY(kn_rw_take(&s.rw, &j->eqns[k], &e));
        KILN_TRY(kn_simplify_eqn(&s, &e));
    }
    *out = j;
    return s.changed ? kn_rw_finish(&s.rw, out) : KILN_OK;
}

kiln_status kn_pass_simplify(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return simplify_jaxpr(pm, main, out); }
