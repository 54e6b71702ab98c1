/* SPDX-License-Identifier: Apache-2.0 */
/* The transpose of a linear body: equations without linear operands are evaluated forwards, then the others backwards, from
 * cotangents of results to cotangents of operands. A value that is used more than once sums what its uses give.
 *
 *     { lambda ; c b. let d = mul b c; e = neg d in (e,) }, linear in b, becomes
 *     { lambda ; c t. let u = neg t; v = mul u c in (v,) } */
#include "transform/engine.h"

extern const kn_prim kn_prim_add_any;

typedef struct walk {
    const kn_rules *r;
    kn_build b;
    const kn_jaxpr *j;
    kn_atom *map;  /* per variable of j; KN_LINEAR: depends on a linear argument */
    kn_atom *ct;   /* per variable of j: cotangent found so far */
} walk;

static bool is_linear(const walk *w, kn_atom a) { return !kn_is_literal(a) && w->map[a] == KN_LINEAR; }

static kiln_status add(walk *w, kn_atom v, kn_atom ct)
{
    if (ct == KN_SYMBOLIC_ZERO) return KILN_OK;
    if (w->ct[v] == KN_SYMBOLIC_ZERO) {
        w->ct[v] = ct;
        return KILN_OK;
    }
    return kn_build_eqn(&w->b, &kn_prim_add_any, NULL, (kn_atom[]){w->ct[v], ct}, 2, &w->ct[v], 1);
}

static kiln_status forward(walk *w)
{
    const kn_jaxpr *j = w->j;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        bool any = false;
        for (uint32_t i = 0; i < e->nin && !any; i++) any = is_linear(w, e->in[i]);
        if (!any) KILN_TRY(kn_build_copy(&w->b, j, e, w->map));
        for (uint32_t i = 0; any && i < e->nout; i++) w->map[e->out[i]] = KN_LINEAR;
    }
    return KILN_OK;
}

static bool repeated(const kn_eqn *e, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (e->in[k] == e->in[i]) return true;
    return false;
}

static kiln_status back_eqn(walk *w, const kn_eqn *e)
{
    kn_atom few[32], *v = few;
    uint32_t n = 2 * e->nin + e->nout;
    if (n > 32) KILN_TRY_MEM(w->r->ctx, v = KN_NEWN(&w->r->prog->arena, kn_atom, n));
    kn_atom *x = v, *ct_in = x + e->nin, *ct = ct_in + e->nin;
    bool any = false;
    for (uint32_t i = 0; i < e->nout; i++) any |= (ct[i] = w->ct[e->out[i]]) != KN_SYMBOLIC_ZERO;
    if (!any) return KILN_OK;
    if (!e->prim->transpose) return kn_no_rule(w->r, e, "transpose");
    kiln_status s = KILN_OK;
    bool into = e->prim->flags & KN_ACCUMULATES;
    for (uint32_t i = 0; i < e->nin; i++) {
        bool linear = is_linear(w, e->in[i]);
        x[i] = linear ? KN_LINEAR : kn_build_map(&w->b, w->j, e->in[i], w->map, &s);
        ct_in[i] = linear && into && !repeated(e, i) ? w->ct[e->in[i]] : KN_SYMBOLIC_ZERO;
    }
    KILN_TRY(s);
    w->b.scope = e->scope;
    w->b.loc = e->loc;
    KILN_TRY(e->prim->transpose(w->r, &w->b, w->j, e, x, ct, ct_in));
    for (uint32_t i = 0; i < e->nin; i++) {
        if (x[i] != KN_LINEAR || ct_in[i] == KN_SYMBOLIC_ZERO) continue;
        kiln_type have = kn_build_type(&w->b, ct_in[i]), want = kn_type_of(w->j, e->in[i]);
        if (!kiln_type_equal(have, want))
            return kn_fail(w->r->ctx, KILN_INTERNAL, "the transpose rule of %s gives %s for operand %u, which is %s", e->prim->name,
                           kn_type_show(have).s, i, kn_type_show(want).s);
        if (into && !repeated(e, i)) w->ct[e->in[i]] = KN_SYMBOLIC_ZERO;
        KILN_TRY(add(w, e->in[i], ct_in[i]));
    }
    return KILN_OK;
}

static kiln_status run(walk *w, const bool *linear, const bool *ct_nonzero, const bool *asked, const kn_jaxpr **out, bool *nonzero_out)
{
    const kn_jaxpr *j = w->j;
    kn_arena *arena = &w->r->prog->arena;
    uint32_t nargs = kn_nargs(j), n = 0;
    const bool *wanted = asked, *onto = asked + nargs;
    kn_build_init(&w->b, w->r->ctx, w->r->prog);
    kn_atom *outs = KN_NEWN(arena, kn_atom, nargs), *ct = KN_NEWN(arena, kn_atom, j->nout);
    w->map = KN_NEWN(arena, kn_atom, j->nvars);
    w->ct = KN_NEWN(arena, kn_atom, j->nvars);
    KILN_TRY_MEM(w->r->ctx, outs && ct && w->map && w->ct && kn_build_reserve(&w->b, 2 * j->nvars, 2 * j->neqns));
    for (uint32_t i = 0; i < j->nvars; i++) w->ct[i] = KN_SYMBOLIC_ZERO;
    KILN_TRY(kn_build_consts(&w->b, j, w->map));
    for (uint32_t i = 0; i < nargs; i++) {
        kn_atom a = j->in[j->nconsts + i];
        w->map[a] = KN_LINEAR;
        if (!linear[i]) KILN_TRY(kn_build_input(&w->b, kn_type_of(j, a), &w->map[a]));
    }
    for (uint32_t i = 0; i < j->nout; i++)
        if (ct_nonzero[i]) KILN_TRY(kn_build_input(&w->b, kn_type_of(j, j->out[i]), &ct[i]));
    for (uint32_t i = 0; i < nargs; i++) {
        kn_atom a = j->in[j->nconsts + i];
        if (linear[i] && onto[i]) KILN_TRY(kn_build_input(&w->b, kn_type_of(j, a), &w->ct[a]));
    }
    KILN_TRY(forward(w));
    for (uint32_t i = 0; i < j->nout; i++)
        if (ct_nonzero[i] && is_linear(w, j->out[i])) KILN_TRY(add(w, j->out[i], ct[i]));
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        if (e->nout && w->map[e->out[0]] == KN_LINEAR) KILN_TRY(back_eqn(w, e));
    }
    for (uint32_t i = 0; i < nargs; i++) {
        kn_atom a = j->in[j->nconsts + i];
        nonzero_out[i] = linear[i] && (w->ct[a] != KN_SYMBOLIC_ZERO || wanted[i]);
        if (!nonzero_out[i]) continue;
        if (w->ct[a] == KN_SYMBOLIC_ZERO) KILN_TRY(kn_zeros(&w->b, kn_type_of(j, a), &w->ct[a]));
        outs[n++] = w->ct[a];
    }
    return kn_build_finish(&w->b, outs, n, out);
}

kiln_status kn_transpose_body(const kn_rules *r, const kn_jaxpr *j, const bool *linear, const bool *ct_nonzero, const bool *wanted,
                              const bool *onto, const kn_jaxpr **out, bool *nonzero_out)
{
    uint32_t n = kn_nargs(j);
    bool *asked = KN_NEWN(&r->prog->arena, bool, 2 * n);
    KILN_TRY_MEM(r->ctx, asked);
    if (wanted) memcpy(asked, wanted, n * sizeof *asked);
    if (onto) memcpy(asked + n, onto, n * sizeof *asked);
    kn_made *d = kn_memo_find(r, KN_MADE_TRANSPOSE, j, linear, ct_nonzero, asked);
    if (!d) {
        walk w = {.r = r, .j = j};
        bool *found = KN_NEWN(&r->prog->arena, bool, n);
        const kn_jaxpr *to;
        KILN_TRY_MEM(r->ctx, found);
        KILN_TRY(run(&w, linear, ct_nonzero, asked, &to, found));
        KILN_TRY(kn_memo_add(r, (kn_made){KN_MADE_TRANSPOSE, j, linear, ct_nonzero, asked, to, found, 0}, &d));
    }
    *out = d->to;
    memcpy(nonzero_out, d->flags, n * sizeof *nonzero_out);
    return KILN_OK;
}
