/* SPDX-License-Identifier: Apache-2.0 */
/* What is known when a program is compiled: scalar arithmetic of literals, by the primitives' own eval rules. */
#include "opt/rewrite.h"

enum { FOLDED = 8 };

kiln_status kn_fold(kn_pm *pm, const kn_jaxpr *types, const kn_eqn *e, const kn_scalar *in, kn_scalar *out, bool *known)
{
    *known = false;
    if (!(e->prim->flags & KN_ELEMENTWISE) || (e->prim->flags & KN_EFFECT) || !e->prim->eval) return KILN_OK;
    if (e->nin > FOLDED || e->nout != 1 || types->vars[e->out[0]].type.rank || kn_is_complex_eqn(types, e)) return KILN_OK;
    kiln_array *x[FOLDED] = {0}, *y = NULL;
    kn_eval ev = {.ctx = pm->ctx};
    kiln_dtype d = types->vars[e->out[0]].type.dtype;
    kiln_status s = kiln_array_create(pm->ctx, KILN_SCALAR(d), &y);
    for (uint32_t i = 0; s == KILN_OK && i < e->nin; i++) {
        kiln_dtype from = kn_type_of(types, e->in[i]).dtype;
        s = kiln_array_create(pm->ctx, KILN_SCALAR(from), &x[i]);
        if (s == KILN_OK) kn_scalar_store(from, kiln_array_data(x[i]), 0, in[i]);
    }
    if (s == KILN_OK) s = e->prim->eval(&ev, types, e, x, &y);
    *known = s == KILN_OK;
    if (*known) *out = kn_scalar_load(d, kiln_array_read(y), 0);
    for (uint32_t i = 0; i < e->nin; i++) kiln_array_release(x[i]);
    kiln_array_release(y);
    return s == KILN_UNSUPPORTED ? KILN_OK : s;
}

kiln_status kn_evaluate_known(kn_pm *pm, const kn_jaxpr *j, const kn_value *in, kn_value *out)
{
    kn_value *v = KN_NEWN(&pm->scratch, kn_value, j->nvars);
    KILN_TRY_MEM(pm->ctx, v);
    for (uint32_t i = 0; i < j->nin; i++) v[j->in[i]] = in[i];
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        kn_scalar x[FOLDED];
        bool all = e->nin <= FOLDED && e->nin > 0;
        for (uint32_t i = 0; all && i < e->nin; i++) {
            kn_atom a = e->in[i];
            all = kn_is_literal(a) || v[a].known;
            if (all) x[i] = kn_is_literal(a) ? j->lits[kn_literal_index(a)].value : v[a].value;
        }
        if (all) KILN_TRY(kn_fold(pm, j, e, x, &v[e->out[0]].value, &v[e->out[0]].known));
    }
    for (uint32_t i = 0; i < j->nout; i++) {
        kn_atom a = j->out[i];
        out[i] = kn_is_literal(a) ? (kn_value){true, j->lits[kn_literal_index(a)].value} : v[a];
    }
    return KILN_OK;
}

kn_value kn_value_of(const kn_rw *rw, kn_atom a)
{
    if (!kn_is_literal(a)) return (kn_value){.known = false};
    return (kn_value){true, rw->b.lits.v[kn_literal_index(a)].value};
}

kiln_status kn_first_trips(kn_rw *rw, const kn_while *w, uint32_t most, uint32_t *trips, bool *ends)
{
    enum { LARGEST = 64 }; /* equations of a condition */
    kn_pm *pm = rw->pm;
    *trips = 0;
    *ends = false;
    if (w->cond->neqns > LARGEST) return KILN_OK;
    kn_value *cond = KN_NEWN(&pm->scratch, kn_value, w->cond_nconsts + w->ncarry), *carry = cond + w->cond_nconsts;
    kn_value *body = KN_NEWN(&pm->scratch, kn_value, w->body_nconsts + w->ncarry), go;
    KILN_TRY_MEM(pm->ctx, cond && body);
    for (uint32_t i = 0; i < w->cond_nconsts; i++) cond[i] = kn_value_of(rw, w->cond_in[i]);
    for (uint32_t i = 0; i < w->body_nconsts; i++) body[i] = kn_value_of(rw, w->body_in[i]);
    for (uint32_t i = 0; i < w->ncarry; i++) carry[i] = kn_value_of(rw, w->init[i]);
    for (;;) {
        KILN_TRY(kn_evaluate_known(pm, w->cond, cond, &go));
        *ends = go.known && !go.value.b;
        if (!go.known || *ends) return KILN_OK;
        if ((*trips)++ == most) return KILN_OK;
        memcpy(body + w->body_nconsts, carry, w->ncarry * sizeof *carry);
        KILN_TRY(kn_evaluate_known(pm, w->body, body, carry));
    }
}
