/* SPDX-License-Identifier: Apache-2.0 */
/* Forward derivative. Each equation is followed by what its rule makes of the tangents of its operands; one whose operands have no
 * tangents is copied.
 *
 *     { lambda ; a. let b = sin a in (b,) }   becomes   { lambda ; a c. let b = sin a; d = cos a; e = mul c d in (b, e) } */
#include "transform/engine.h"

typedef struct walk {
    const kn_rules *r;
    kn_build b;
    const kn_jaxpr *j;
    kn_atom *map, *tangent; /* per variable of j */
} walk;

static kn_atom tangent_of(const walk *w, kn_atom a)
{
    return kn_is_literal(a) || !kn_has_tangent(kn_type_of(w->j, a)) ? KN_SYMBOLIC_ZERO : w->tangent[a];
}

static kiln_status check(walk *w, const kn_eqn *e, kn_atom dy, uint32_t k)
{
    kiln_type have = kn_build_type(&w->b, dy), want = w->j->vars[e->out[k]].type;
    if (kiln_type_equal(have, want)) return KILN_OK;
    return kn_fail(w->r->ctx, KILN_INTERNAL, "the jvp rule of %s gives %s for the tangent of result %u, which is %s", e->prim->name,
                   kn_type_show(have).s, k, kn_type_show(want).s);
}

static kiln_status jvp_eqn(walk *w, const kn_eqn *e)
{
    kn_atom few[32], *v = few;
    uint32_t n = 2 * (e->nin + e->nout);
    if (n > 32) KILN_TRY_MEM(w->r->ctx, v = KN_NEWN(&w->r->prog->arena, kn_atom, n));
    kn_atom *x = v, *dx = x + e->nin, *y = dx + e->nin, *dy = y + e->nout;
    bool any = false;
    for (uint32_t i = 0; i < e->nin; i++) any |= (dx[i] = tangent_of(w, e->in[i])) != KN_SYMBOLIC_ZERO;
    if (!any) return kn_build_copy(&w->b, w->j, e, w->map);
    if (!e->prim->jvp) return kn_no_rule(w->r, e, "jvp");
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++) x[i] = kn_build_map(&w->b, w->j, e->in[i], w->map, &s);
    KILN_TRY(s);
    w->b.scope = e->scope;
    w->b.loc = e->loc;
    if (!(e->prim->flags & KN_JVP_WHOLE)) KILN_TRY(kn_build_like(&w->b, w->j, e, x, y));
    for (uint32_t i = 0; i < e->nout; i++) dy[i] = KN_SYMBOLIC_ZERO;
    KILN_TRY(e->prim->jvp(w->r, &w->b, w->j, e, x, dx, y, dy));
    for (uint32_t i = 0; i < e->nout; i++) {
        bool real = dy[i] != KN_SYMBOLIC_ZERO && kn_has_tangent(w->j->vars[e->out[i]].type);
        if (real) KILN_TRY(check(w, e, dy[i], i));
        w->map[e->out[i]] = y[i];
        w->tangent[e->out[i]] = real ? dy[i] : KN_SYMBOLIC_ZERO;
    }
    return KILN_OK;
}

static kiln_status run(walk *w, const bool *nonzero, const bool *wanted, const kn_jaxpr **out, bool *nonzero_out)
{
    const kn_jaxpr *j = w->j;
    kn_arena *arena = &w->r->prog->arena;
    KILN_TRY(kn_open(w->r, &w->b, j, &w->map));
    KILN_TRY_MEM(w->r->ctx, kn_build_reserve(&w->b, 3 * j->nvars, 3 * j->neqns));
    kn_atom *outs = KN_NEWN(arena, kn_atom, 2 * j->nout);
    KILN_TRY_MEM(w->r->ctx, outs && (w->tangent = KN_NEWN(arena, kn_atom, j->nvars)));
    for (uint32_t i = 0; i < j->nvars; i++) w->tangent[i] = KN_SYMBOLIC_ZERO;
    for (uint32_t i = j->nconsts; i < j->nin; i++)
        if (nonzero && nonzero[i - j->nconsts]) KILN_TRY(kn_build_input(&w->b, kn_type_of(j, j->in[i]), &w->tangent[j->in[i]]));
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(jvp_eqn(w, &j->eqns[k]));
    kiln_status s = KILN_OK;
    uint32_t n = j->nout;
    for (uint32_t i = 0; i < j->nout; i++) {
        outs[i] = kn_build_map(&w->b, j, j->out[i], w->map, &s);
        KILN_TRY(s);
        kn_atom t = tangent_of(w, j->out[i]);
        nonzero_out[i] = t != KN_SYMBOLIC_ZERO || (wanted && wanted[i] && kn_has_tangent(kn_type_of(j, j->out[i])));
        if (!nonzero_out[i]) continue;
        if (t == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&w->b, kn_type_of(j, j->out[i]), &t));
        outs[n++] = t;
    }
    return kn_build_finish(&w->b, outs, n, out);
}

kiln_status kn_jvp_body(const kn_rules *r, const kn_jaxpr *j, const bool *nonzero, const bool *wanted, const kn_jaxpr **out, bool *nonzero_out)
{
    kn_made *d = kn_memo_find(r, KN_MADE_JVP, j, nonzero, NULL, wanted);
    if (!d) {
        walk w = {.r = r, .j = j};
        bool *found = KN_NEWN(&r->prog->arena, bool, j->nout);
        const kn_jaxpr *to;
        KILN_TRY_MEM(r->ctx, found);
        KILN_TRY(run(&w, nonzero, wanted, &to, found));
        KILN_TRY(kn_memo_add(r, (kn_made){KN_MADE_JVP, j, nonzero, NULL, wanted, to, found, 0}, &d));
    }
    *out = d->to;
    memcpy(nonzero_out, d->flags, j->nout * sizeof *nonzero_out);
    return KILN_OK;
}
