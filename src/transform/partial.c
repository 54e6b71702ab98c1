/* SPDX-License-Identifier: Apache-2.0 */
/* Partial evaluation. Equations with an unknown operand are put off to the unknown half, control flow is divided (divide.c), all
 * else is evaluated in the known half. A known value that the unknown half reads is a residual, except where it costs nothing to
 * make it again there: what only moves elements and makes more of them, or what a checkpoint says (policy).
 *
 *     { lambda ; a t. let b = sin a; c = cos a; d = mul t c in (b, d) }, t unknown, becomes
 *     { lambda ; a. let b = sin a; c = cos a in (b, c) } and { lambda ; c t. let d = mul t c in (d,) } */
#include "transform/keep.h"
#include "transform/partial.h"

#include "prims.gen.h"

#include <math.h>

kiln_status kn_residual(kn_partial *p, kn_atom known, kn_atom *out)
{
    kn_arena *arena = &p->r->prog->arena;
    if (kn_is_literal(known)) {
        const kn_lit *l = &p->known.lits.v[kn_literal_index(known)];
        return kn_build_literal(&p->unknown, l->dtype, l->value, out);
    }
    uint32_t k = kn_map_get(&p->place, (uint64_t)known + 1);
    if (k) {
        *out = p->inputs.v[k - 1];
        return KILN_OK;
    }
    for (uint32_t i = 0; i < p->known.const_vars.n; i++)
        if (p->known.const_vars.v[i] == known && p->known.consts.v[i]) {
            KILN_TRY(kn_build_const(&p->unknown, p->known.consts.v[i], out));
            known = p->known.const_vars.v[i];
            goto enter;
        }
    KILN_TRY(kn_build_input(&p->unknown, kn_build_type(&p->known, known), out));
enter:
    KILN_TRY_MEM(p->r->ctx, kn_push(arena, &p->atoms, known) && kn_push(arena, &p->inputs, *out) &&
                                kn_push(arena, &p->from, kn_map_get(&p->args, (uint64_t)known + 1)) &&
                                kn_map_put(arena, &p->place, (uint64_t)known + 1, p->inputs.n));
    return KILN_OK;
}

kiln_status kn_known_of(kn_partial *p, kn_atom a, kn_atom *out)
{
    kiln_status s = KILN_OK;
    *out = kn_build_map(&p->known, p->j, a, p->in_known, &s);
    return s;
}

kiln_status kn_residual_of(kn_partial *p, kn_atom a, kn_atom *out)
{
    kiln_status s = KILN_OK;
    if (kn_is_literal(a) || p->in_unknown[a] != KN_NO_ATOM) {
        *out = kn_build_map(&p->unknown, p->j, a, p->in_unknown, &s);
        return s;
    }
    KILN_TRY(kn_residual(p, p->in_known[a], out));
    p->in_unknown[a] = *out;
    return KILN_OK;
}

/* ---- what is made again instead of saved ---- */

static double bytes_of(kiln_type t) { return (double)kiln_type_size(t) * (double)kiln_dtype_bytes(t.dtype); }

static bool is_cheap(const kn_jaxpr *j, const kn_eqn *e)
{
    if (e->nout != 1) return false;
    if (e->prim == &kn_prim_iota) return true;
    if (e->prim != &kn_prim_broadcast_in_dim && e->prim != &kn_prim_convert_element_type && e->prim != &kn_prim_reshape) return false;
    return kn_is_literal(e->in[0]) || bytes_of(kn_type_of(j, e->in[0])) < bytes_of(j->vars[e->out[0]].type) || e->prim == &kn_prim_reshape;
}

/* In a loop a residual is written and read once in every trip: two units for each byte. Made again it costs what its equation does, a
 * simple operation 2 units an element, a function 24 (measured: 16 bytes there and back are as dear as eight additions, and cheaper than a
 * sine); and what that reads must be kept or made again, too. What the loop is passed anyway costs nothing, nor what no trip changes.
 *
 * The cheapest choice is a minimum cut. Of each value v stand two nodes, `in` and `out`: kept, they are on different sides; made again, both on
 * the far one; not needed, both on the near one.
 *
 *     source -> in(v)       what it costs to make v again (no limit: it cannot be)
 *     in(v)  -> out(v)      what it costs to keep v
 *     out(v) -> in(w)       no limit: who makes w again needs v, an operand of w's equation
 *     out(v) -> sink        no limit: the way back reads v */
static const double kept_byte = 2, simple = 2, function = 24;
enum { CUT_MOST = 4000 }; /* equations of a body; of a longer one all is kept that is not trivial */

static double cost_of(const kn_jaxpr *j, const kn_eqn *e)
{
    const kn_prim *p = e->prim;
    bool power = p == &kn_prim_square || (p == &kn_prim_integer_pow && e->params[0].i >= 0 && e->params[0].i <= 4);
    bool moves = p == &kn_prim_broadcast_in_dim || p == &kn_prim_reshape || p == &kn_prim_iota || p == &kn_prim_slice || p == &kn_prim_squeeze ||
                 p == &kn_prim_pad || p == &kn_prim_rev;
    if (e->nout != 1 || (p->flags & KN_EFFECT) || !(moves || (p->flags & KN_ELEMENTWISE))) return HUGE_VAL;
    bool dear = !power && (p->flags & (KN_EXPENSIVE | KN_LEVEL_TRACED));
    return (double)kiln_type_size(j->vars[e->out[0]].type) * (dear ? function : simple);
}

/* Per variable: 0 where it costs nothing (passed, the same in all trips, not known), else 1. */
static void find_costly(const kn_partial *p, const bool *mixed, bool *same, bool *costly)
{
    const kn_jaxpr *j = p->j;
    for (uint32_t i = 0; i < j->nin; i++) {
        kn_arg_kind kind = i < j->nconsts ? KN_ARG_SAME : p->kinds[i - j->nconsts];
        same[j->in[i]] = kind == KN_ARG_SAME;
        costly[j->in[i]] = kind == KN_ARG_CARRIED;
    }
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        bool all = !(e->prim->flags & KN_EFFECT);
        for (uint32_t i = 0; i < e->nin; i++) all = all && (kn_is_literal(e->in[i]) || same[e->in[i]]);
        for (uint32_t i = 0; i < e->nout; i++) same[e->out[i]] = all && !mixed[k], costly[e->out[i]] = !mixed[k] && !all;
    }
}

/* by_cost[k]: the equation is to be made again. read: what the unknown half reads. */
static kiln_status cut(const kn_partial *p, const bool *mixed, const bool *read, bool *by_cost)
{
    const kn_jaxpr *j = p->j;
    kn_arena *arena = &p->r->prog->arena;
    uint32_t source = 2 * j->nvars, sink = source + 1;
    bool *same = KN_NEWN(arena, bool, j->nvars), *costly = KN_NEWN(arena, bool, j->nvars), *near = KN_NEWN(arena, bool, sink + 1);
    kn_flow f;
    KILN_TRY_MEM(p->r->ctx, same && costly && near);
    KILN_TRY(kn_flow_init(&f, p->r->ctx, arena, sink + 1));
    find_costly(p, mixed, same, costly);
    for (uint32_t v = 0; v < j->nvars; v++) {
        if (!costly[v]) continue;
        KILN_TRY(kn_flow_edge_add(&f, 2 * v, 2 * v + 1, kept_byte * bytes_of(j->vars[v].type)));
        if (read[v]) KILN_TRY(kn_flow_edge_add(&f, 2 * v + 1, sink, HUGE_VAL));
    }
    for (uint32_t i = 0; i < j->nin; i++)
        if (costly[j->in[i]]) KILN_TRY(kn_flow_edge_add(&f, source, 2 * j->in[i], HUGE_VAL));
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (mixed[k] || !e->nout || !costly[e->out[0]]) continue;
        double again = cost_of(j, e);
        for (uint32_t i = 0; i < e->nout; i++) KILN_TRY(kn_flow_edge_add(&f, source, 2 * e->out[i], again));
        for (uint32_t i = 0; i < e->nin && again < HUGE_VAL; i++)
            if (!kn_is_literal(e->in[i]) && costly[e->in[i]]) KILN_TRY(kn_flow_edge_add(&f, 2 * e->in[i] + 1, 2 * e->out[0], HUGE_VAL));
    }
    KILN_TRY(kn_flow_cut(&f, source, sink, near));
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        by_cost[k] = !mixed[k] && e->nout == 1 && costly[e->out[0]] && !near[2 * e->out[0]];
    }
    return KILN_OK;
}

/* The policy of a checkpoint: may what this equation gives be saved? */
static bool saveable(const kn_policy *policy, const kn_eqn *e)
{
    if (policy->dots && e->prim == &kn_prim_dot_general) return true;
    if (!policy->n || strcmp(e->prim->name, "name") != 0) return false;
    const kn_param *name = kn_param_of(e, "name");
    for (uint32_t i = 0; name && i < policy->n; i++)
        if (strcmp(policy->names[i], name->text) == 0) return true;
    return false;
}

/* Goes backwards over the equations with what the unknown half reads; sets `again`. */
static kiln_status choose(kn_partial *p, const kn_policy *policy, const bool *mixed, const bool *wanted, bool *again)
{
    const kn_jaxpr *j = p->j;
    bool *read = KN_NEWN(&p->r->prog->arena, bool, j->nvars), *by_cost = KN_NEWN(&p->r->prog->arena, bool, j->neqns);
    KILN_TRY_MEM(p->r->ctx, read && by_cost);
    for (uint32_t i = 0; i < j->nout; i++)
        if (wanted && wanted[i] && !kn_is_literal(j->out[i])) read[j->out[i]] = true;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nin && mixed[k]; i++)
            if (!kn_is_literal(j->eqns[k].in[i])) read[j->eqns[k].in[i]] = true;
    if (p->kinds && !policy && j->neqns <= CUT_MOST) KILN_TRY(cut(p, mixed, read, by_cost));
    for (uint32_t k = j->neqns; k-- > 0;) {
        const kn_eqn *e = &j->eqns[k];
        bool needed = false;
        for (uint32_t i = 0; i < e->nout; i++) needed |= read[e->out[i]];
        if (mixed[k] || !needed || (e->prim->flags & KN_EFFECT)) continue;
        again[k] = policy ? !saveable(policy, e) : is_cheap(j, e) || by_cost[k];
        if (!again[k]) continue;
        KILN_TRY(kn_log(p, KN_LOG_AGAIN, e, j->vars[e->out[0]].type));
        for (uint32_t i = 0; i < e->nin; i++)
            if (!kn_is_literal(e->in[i])) read[e->in[i]] = true;
    }
    return KILN_OK;
}

/* ---- the walk ---- */

static kiln_status put_off(kn_partial *p, const kn_eqn *e)
{
    kn_atom few[32], *v = few;
    if (e->nin + e->nout > 32) KILN_TRY_MEM(p->r->ctx, v = KN_NEWN(&p->r->prog->arena, kn_atom, e->nin + e->nout));
    kn_atom *in = v, *out = v + e->nin;
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_residual_of(p, e->in[i], &in[i]));
    p->unknown.scope = e->scope;
    p->unknown.loc = e->loc;
    KILN_TRY(kn_build_like(&p->unknown, p->j, e, in, out));
    for (uint32_t i = 0; i < e->nout; i++) p->in_unknown[e->out[i]] = out[i];
    return KILN_OK;
}

/* An equation with unknown operands. Under a policy nothing of control flow is saved: it is divided for what is known of it, and
 * put off as a whole. */
static kiln_status divide(kn_partial *p, const kn_eqn *e, bool whole)
{
    bool done = false;
    for (uint32_t i = 0; i < e->nout; i++) p->put_off[e->out[i]] = true;
    if (kn_control_of(e) != KN_C_NONE) KILN_TRY(kn_partial_control(p, e, &done));
    return done && !whole ? KILN_OK : put_off(p, e);
}

static kiln_status walk(kn_partial *p, const kn_policy *policy, const bool *wanted)
{
    const kn_jaxpr *j = p->j;
    kn_arena *arena = &p->r->prog->arena;
    bool *mixed = KN_NEWN(arena, bool, j->neqns), *again = KN_NEWN(arena, bool, j->neqns), *off = KN_NEWN(arena, bool, j->nvars);
    KILN_TRY_MEM(p->r->ctx, mixed && again && off);
    memcpy(off, p->put_off, j->nvars * sizeof *off);
    for (uint32_t k = 0; k < j->neqns; k++) { /* at most: control flow may give known results too */
        const kn_eqn *e = &j->eqns[k];
        for (uint32_t i = 0; i < e->nin; i++) mixed[k] |= !kn_is_literal(e->in[i]) && off[e->in[i]];
        for (uint32_t i = 0; i < e->nout; i++) off[e->out[i]] = mixed[k];
    }
    KILN_TRY(choose(p, policy, mixed, wanted, again));
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        bool any = false;
        for (uint32_t i = 0; i < e->nin; i++) any |= kn_is_unknown(p, e->in[i]);
        if (any) {
            KILN_TRY(divide(p, e, policy != NULL));
            continue;
        }
        KILN_TRY(kn_build_copy(&p->known, j, e, p->in_known));
        if (again[k]) KILN_TRY(put_off(p, e));
    }
    return KILN_OK;
}

static kiln_status open(kn_partial *p, const bool *unknown)
{
    const kn_jaxpr *j = p->j;
    kn_arena *arena = &p->r->prog->arena;
    kn_build_init(&p->known, p->r->ctx, p->r->prog);
    kn_build_init(&p->unknown, p->r->ctx, p->r->prog);
    p->in_known = KN_NEWN(arena, kn_atom, j->nvars);
    p->in_unknown = KN_NEWN(arena, kn_atom, j->nvars);
    p->put_off = KN_NEWN(arena, bool, j->nvars);
    KILN_TRY_MEM(p->r->ctx, p->in_known && p->in_unknown && p->put_off);
    KILN_TRY_MEM(p->r->ctx, kn_build_reserve(&p->known, j->nvars, j->neqns) && kn_build_reserve(&p->unknown, j->nvars, j->neqns));
    for (uint32_t i = 0; i < j->nvars; i++) p->in_known[i] = p->in_unknown[i] = KN_NO_ATOM;
    KILN_TRY(kn_build_consts(&p->known, j, p->in_known));
    for (uint32_t i = 0; i < kn_nargs(j); i++) {
        kn_atom a = j->in[j->nconsts + i];
        p->put_off[a] = unknown[i];
        KILN_TRY(kn_build_input(unknown[i] ? &p->unknown : &p->known, kn_type_of(j, a), unknown[i] ? &p->in_unknown[a] : &p->in_known[a]));
        if (!unknown[i]) KILN_TRY_MEM(p->r->ctx, kn_map_put(arena, &p->args, (uint64_t)p->in_known[a] + 1, i + 1));
    }
    return KILN_OK;
}

/* The unknown half: its arguments are the residuals that are read, then the unknown ones. */
static kiln_status finish_unknown(kn_partial *p, const kn_atom *outs, uint32_t nout, kn_split *out, kn_atom *residuals)
{
    kn_arena *arena = &p->r->prog->arena;
    uint32_t nargs = p->unknown.args.n, n = 0, first = 0;
    kn_atom *order = KN_NEWN(arena, kn_atom, nargs);
    bool *keep = KN_NEWN(arena, bool, nargs);
    uint32_t *which = KN_NEWN(arena, uint32_t, p->atoms.n), *from = KN_NEWN(arena, uint32_t, p->atoms.n);
    KILN_TRY_MEM(p->r->ctx, order && keep && which && from);
    for (uint32_t i = 0; i < p->atoms.n; i++) { /* constants are no arguments */
        bool argument = true;
        for (uint32_t c = 0; c < p->unknown.const_vars.n && argument; c++) argument = p->unknown.const_vars.v[c] != p->inputs.v[i];
        if (argument) which[first] = i, order[first++] = p->inputs.v[i];
    }
    n = first;
    for (uint32_t i = 0; i < kn_nargs(p->j); i++) {
        kn_atom a = p->j->in[p->j->nconsts + i];
        if (p->put_off[a]) order[n++] = p->in_unknown[a];
    }
    if (nargs) memcpy(p->unknown.args.v, order, nargs * sizeof *order);
    const kn_jaxpr *whole;
    KILN_TRY(kn_build_finish(&p->unknown, outs, nout, &whole));
    KILN_TRY(kn_trim_body(p->r, whole, NULL, &whole, NULL));
    KILN_TRY(kn_used_args(p->r, whole, NULL, keep));
    for (uint32_t i = 0; i < first; i++) {
        if (!keep[i]) continue;
        residuals[out->residuals] = p->atoms.v[which[i]];
        from[out->residuals++] = p->from.v[which[i]];
    }
    for (uint32_t i = first; i < nargs; i++) keep[i] = true;
    out->from_arg = from;
    return kn_pick_args(p->r, whole, keep, &out->unknown);
}

static kiln_status finish(kn_partial *p, const bool *wanted, kn_split *out)
{
    const kn_jaxpr *j = p->j;
    kn_arena *arena = &p->r->prog->arena;
    uint32_t nk = 0, nu = 0;
    kn_atom *ko = KN_NEWN(arena, kn_atom, j->nout + p->unknown.args.n), *uo = KN_NEWN(arena, kn_atom, j->nout);
    bool *flags = KN_NEWN(arena, bool, j->nout);
    KILN_TRY_MEM(p->r->ctx, ko && uo && flags);
    for (uint32_t i = 0; i < j->nout; i++) {
        flags[i] = kn_is_unknown(p, j->out[i]) || (wanted && wanted[i]);
        if (flags[i]) KILN_TRY(kn_residual_of(p, j->out[i], &uo[nu++]));
        else KILN_TRY(kn_known_of(p, j->out[i], &ko[nk++]));
    }
    *out = (kn_split){.unknown_out = flags};
    KILN_TRY(finish_unknown(p, uo, nu, out, ko + nk));
    KILN_TRY(kn_build_finish(&p->known, ko, nk + out->residuals, &out->known));
    return kn_trim_body(p->r, out->known, NULL, &out->known, NULL);
}

kiln_status kn_partial_loop(const kn_rules *r, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy,
                            const kn_arg_kind *kinds, kn_split *out)
{
    kn_partial p = {.r = r, .j = j, .kinds = kinds};
    kn_log_start(&p);
    KILN_TRY(open(&p, unknown));
    KILN_TRY(walk(&p, policy, wanted));
    return finish(&p, wanted, out);
}

kiln_status kn_partial_body(const kn_rules *r, const kn_jaxpr *j, const bool *unknown, const bool *wanted, const kn_policy *policy, kn_split *out)
{
    return kn_partial_loop(r, j, unknown, wanted, policy, NULL, out);
}
