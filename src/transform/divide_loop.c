/* SPDX-License-Identifier: Apache-2.0 */
/* Partial evaluation of loops.
 *
 * A scan becomes a scan of what is known, which stacks residuals, and one of what is not, which reads them. A residual that no trip
 * changes leaves the loop: it is computed before it, once. What is a constant or a slice of the known scan is passed as it is.
 *
 * A while cannot stack: the known half runs the known carries alone, the unknown half the whole loop again. */
#include "transform/divide.h"

#include "prim/lowering.h"
#include "prims.gen.h"

typedef enum home { HOME_CONST, HOME_SLICE, HOME_BEFORE, HOME_STACK } home; /* where a residual comes from */

typedef struct loop {
    kn_scan_parts s;
    const bool *unknown; /* per operand; of carries: in any trip */
    kn_split split;
    home *homes;         /* per residual */
    uint32_t nstack, nbefore, nknown_out;
} loop;

/* Carries that are unknown in any trip: those that start so, and those that an unknown value enters. */
static kiln_status split_body(kn_partial *p, const kn_eqn *e, loop *l, bool *unknown)
{
    bool *wanted = KN_NEWN(&p->r->prog->arena, bool, e->nout), again = true;
    kn_arg_kind *kinds = KN_NEWN(&p->r->prog->arena, kn_arg_kind, e->nin);
    KILN_TRY_MEM(p->r->ctx, wanted && kinds);
    for (uint32_t i = 0; i < e->nin; i++) kinds[i] = i < l->s.consts ? KN_ARG_SAME : i < l->s.consts + l->s.carries ? KN_ARG_CARRIED : KN_ARG_SLICE;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < l->s.carries; i++) wanted[i] = unknown[l->s.consts + i];
        KILN_TRY(kn_log_inside(p, l->s.length, false, l->s.body, unknown, wanted, NULL, kinds, &l->split));
        for (uint32_t i = 0; i < l->s.carries; i++)
            if (l->split.unknown_out[i] && !unknown[l->s.consts + i]) unknown[l->s.consts + i] = again = true;
    }
    l->unknown = unknown;
    return KILN_OK;
}

/* The equation that gives a; NULL for an argument. */
static const kn_eqn *maker(const kn_jaxpr *j, kn_atom a)
{
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++)
            if (j->eqns[k].out[i] == a) return &j->eqns[k];
    return NULL;
}

/* Which variables of the known body change from trip to trip. */
static kiln_status find_homes(kn_partial *p, loop *l)
{
    const kn_jaxpr *k = l->split.known;
    kn_arena *arena = &p->r->prog->arena;
    bool *varies = KN_NEWN(arena, bool, k->nvars);
    KILN_TRY_MEM(p->r->ctx, varies && (l->homes = KN_NEWN(arena, home, l->split.residuals)));
    uint32_t at = k->nconsts;
    for (uint32_t i = 0; i < l->s.consts + l->s.carries + l->s.xs; i++)
        if (!l->unknown[i]) varies[k->in[at++]] = i >= l->s.consts;
    for (uint32_t q = 0; q < k->neqns; q++) {
        const kn_eqn *e = &k->eqns[q];
        bool any = e->prim->flags & KN_EFFECT;
        for (uint32_t i = 0; i < e->nin; i++) any |= !kn_is_literal(e->in[i]) && varies[e->in[i]];
        for (uint32_t i = 0; i < e->nout; i++) varies[e->out[i]] = any;
    }
    l->nknown_out = k->nout - l->split.residuals;
    for (uint32_t i = 0; i < l->split.residuals; i++) {
        kn_atom a = k->out[l->nknown_out + i];
        uint32_t from = l->split.from_arg[i];
        if (from && from - 1 < l->s.consts) l->homes[i] = HOME_CONST;
        else if (from && from - 1 >= l->s.consts + l->s.carries) l->homes[i] = HOME_SLICE;
        else if (!kn_is_literal(a) && varies[a]) l->homes[i] = HOME_STACK, l->nstack++;
        else l->homes[i] = HOME_BEFORE, l->nbefore++;
        if (l->homes[i] == HOME_BEFORE) KILN_TRY(kn_log(p, KN_LOG_BEFORE, kn_log_of(p) ? maker(k, a) : NULL, kn_type_of(k, a)));
    }
    return KILN_OK;
}

/* What no trip changes, computed in the known half before the loop. before: per residual. */
static kiln_status compute_before(kn_partial *p, const kn_eqn *e, const loop *l, kn_atom *before)
{
    const kn_jaxpr *k = l->split.known, *body = NULL;
    if (!l->nbefore) return KILN_OK;
    bool *used = KN_NEWN(&p->r->prog->arena, bool, k->nout), *used_in = KN_NEWN(&p->r->prog->arena, bool, kn_nargs(k));
    kn_atom *in = kn_divide_atoms(p, kn_nargs(k)), *out = kn_divide_atoms(p, l->nbefore);
    KILN_TRY_MEM(p->r->ctx, used && used_in && in && out);
    for (uint32_t i = 0; i < l->split.residuals; i++) used[l->nknown_out + i] = l->homes[i] == HOME_BEFORE;
    KILN_TRY(kn_trim_body(p->r, k, used, &body, used_in));
    uint32_t at = 0, n = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!l->unknown[i] && used_in[at++]) KILN_TRY(kn_known_of(p, e->in[i], &in[n++]));
    KILN_TRY(kn_low_inline(&p->known, body, e, in, out));
    n = 0;
    for (uint32_t i = 0; i < l->split.residuals; i++)
        if (l->homes[i] == HOME_BEFORE) before[i] = out[n++];
    return KILN_OK;
}

static kiln_status known_scan(kn_partial *p, const kn_eqn *e, const loop *l, kn_atom *out)
{
    const kn_jaxpr *body = l->split.known;
    bool *used = KN_NEWN(&p->r->prog->arena, bool, body->nout);
    kn_param params[KN_SCAN_PARAMS];
    kn_atom *in = kn_divide_atoms(p, e->nin);
    KILN_TRY_MEM(p->r->ctx, used && in);
    for (uint32_t i = 0; i < body->nout; i++) used[i] = i < l->nknown_out || l->homes[i - l->nknown_out] == HOME_STACK;
    KILN_TRY(kn_trim_body(p->r, body, used, &body, NULL));
    uint32_t n[3] = {0, 0, 0}, at = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (l->unknown[i]) continue;
        n[i < l->s.consts ? 0 : i < l->s.consts + l->s.carries ? 1 : 2]++;
        KILN_TRY(kn_known_of(p, e->in[i], &in[at++]));
    }
    KILN_TRY(kn_scan_params(p->r->ctx, &p->r->prog->arena, e, body, n, body->nout - n[1], params));
    return kn_build_eqn(&p->known, e->prim, params, in, at, out, body->nout);
}

/* The unknown body with its arguments in the order of a scan: constants, carries, slices. */
static kiln_status unknown_body(kn_partial *p, const loop *l, uint32_t n[3], const kn_jaxpr **out)
{
    const kn_jaxpr *u = l->split.unknown;
    kn_arena *arena = &p->r->prog->arena;
    kn_jaxpr *body = kn_arena_copy(arena, u, sizeof *u);
    kn_atom *in = KN_NEWN(arena, kn_atom, u->nin);
    KILN_TRY_MEM(p->r->ctx, body && in);
    const kn_atom *args = u->in + u->nconsts, *own = args + l->split.residuals;
    memcpy(in, u->in, u->nconsts * sizeof *in);
    uint32_t at = u->nconsts, k = 0;
    for (uint32_t i = 0; i < l->split.residuals; i++)
        if (l->homes[i] == HOME_CONST || l->homes[i] == HOME_BEFORE) in[at++] = args[i], n[0]++;
    for (uint32_t i = 0; i < l->s.consts; i++)
        if (l->unknown[i]) in[at++] = own[k++], n[0]++;
    for (uint32_t i = 0; i < l->s.carries; i++)
        if (l->unknown[l->s.consts + i]) in[at++] = own[k++], n[1]++;
    for (uint32_t i = 0; i < l->split.residuals; i++)
        if (l->homes[i] == HOME_SLICE || l->homes[i] == HOME_STACK) in[at++] = args[i], n[2]++;
    for (uint32_t i = 0; i < l->s.xs; i++)
        if (l->unknown[l->s.consts + l->s.carries + i]) in[at++] = own[k++], n[2]++;
    body->in = in;
    *out = body;
    return KILN_OK;
}

static kiln_status unknown_scan(kn_partial *p, const kn_eqn *e, const loop *l, const kn_atom *before, const kn_atom *stacked, kn_atom *out)
{
    const kn_jaxpr *body = NULL;
    uint32_t n[3] = {0, 0, 0}, at = 0, s = 0;
    kn_param params[KN_SCAN_PARAMS];
    KILN_TRY(unknown_body(p, l, n, &body));
    kn_atom *in = kn_divide_atoms(p, kn_nargs(body));
    KILN_TRY_MEM(p->r->ctx, in);
    for (uint32_t i = 0; i < l->split.residuals; i++) {
        if (l->homes[i] == HOME_CONST) KILN_TRY(kn_residual_of(p, e->in[l->split.from_arg[i] - 1], &in[at++]));
        else if (l->homes[i] == HOME_BEFORE) KILN_TRY(kn_residual(p, before[i], &in[at++]));
    }
    for (uint32_t i = 0; i < l->s.consts + l->s.carries; i++)
        if (l->unknown[i]) KILN_TRY(kn_residual_of(p, e->in[i], &in[at++])); /* a first carry may be known */
    for (uint32_t i = 0; i < l->split.residuals; i++) {
        if (l->homes[i] == HOME_SLICE) KILN_TRY(kn_residual_of(p, e->in[l->split.from_arg[i] - 1], &in[at++]));
        else if (l->homes[i] == HOME_STACK) KILN_TRY(kn_residual(p, stacked[s++], &in[at++]));
    }
    for (uint32_t i = l->s.consts + l->s.carries; i < e->nin; i++)
        if (l->unknown[i]) KILN_TRY(kn_residual_of(p, e->in[i], &in[at++]));
    KILN_TRY(kn_scan_params(p->r->ctx, &p->r->prog->arena, e, body, n, body->nout - n[1], params));
    return kn_build_eqn(&p->unknown, e->prim, params, in, at, out, body->nout);
}

kiln_status kn_divide_scan(kn_partial *p, const kn_eqn *e)
{
    loop l = {.s = kn_scan_parts_of(e)};
    bool *unknown;
    KILN_TRY(kn_divide_flags(p, e, 0, &unknown));
    KILN_TRY(split_body(p, e, &l, unknown));
    KILN_TRY(find_homes(p, &l));
    KILN_TRY(kn_divide_place(p, e));
    kn_atom *before = kn_divide_atoms(p, l.split.residuals), *out = kn_divide_atoms(p, e->nout + l.nstack);
    KILN_TRY_MEM(p->r->ctx, before && out);
    KILN_TRY(compute_before(p, e, &l, before));
    KILN_TRY(kn_divide_place(p, e));
    KILN_TRY(known_scan(p, e, &l, out));
    KILN_TRY(kn_divide_known(p, e, l.split.unknown_out, out));
    KILN_TRY(unknown_scan(p, e, &l, before, out + l.nknown_out, out));
    kn_divide_unknown(p, e, l.split.unknown_out, out);
    return KILN_OK;
}

/* ---- while ---- */

static kiln_status known_while(kn_partial *p, const kn_eqn *e, const kn_while_parts *w, const bool *carry)
{
    uint32_t c = w->cond_consts, b = w->body_consts, n = e->nout, nc = 0, nb = 0, at = 0, nknown = 0;
    kn_arena *arena = &p->r->prog->arena;
    bool *cond_in = KN_NEWN(arena, bool, c + n), *body_in = KN_NEWN(arena, bool, b + n), *used = KN_NEWN(arena, bool, n);
    kn_atom *in = kn_divide_atoms(p, e->nin), *out = kn_divide_atoms(p, n);
    KILN_TRY_MEM(p->r->ctx, cond_in && body_in && used && in && out);
    for (uint32_t i = 0; i < n; i++) nknown += used[i] = !carry[i];
    if (!nknown) return KILN_OK;
    const kn_jaxpr *cond, *body;
    KILN_TRY(kn_trim_body(p->r, w->cond, NULL, &cond, NULL));
    KILN_TRY(kn_used_args(p->r, w->cond, NULL, cond_in));
    KILN_TRY(kn_trim_body(p->r, w->body, used, &body, NULL));
    KILN_TRY(kn_used_args(p->r, w->body, used, body_in));
    for (uint32_t i = 0; i < n; i++) cond_in[c + i] = body_in[b + i] = used[i];
    KILN_TRY(kn_pick_args(p->r, cond, cond_in, &cond));
    KILN_TRY(kn_pick_args(p->r, body, body_in, &body));
    for (uint32_t i = 0; i < c; i++)
        if (cond_in[i]) {
            KILN_TRY(kn_known_of(p, e->in[i], &in[at++]));
            nc++;
        }
    for (uint32_t i = 0; i < b; i++)
        if (body_in[i]) {
            KILN_TRY(kn_known_of(p, e->in[c + i], &in[at++]));
            nb++;
        }
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) KILN_TRY(kn_known_of(p, e->in[c + b + i], &in[at++]));
    kn_param params[KN_WHILE_PARAMS];
    kn_while_params(params, cond, nc, body, nb);
    kn_while_keep(params, e);
    KILN_TRY(kn_build_eqn(&p->known, e->prim, params, in, at, out, nknown));
    return kn_divide_known(p, e, carry, out);
}

kiln_status kn_divide_while(kn_partial *p, const kn_eqn *e, bool *done)
{
    kn_while_parts w = kn_while_parts_of(e);
    uint32_t c = w.cond_consts, b = w.body_consts, n = e->nout;
    kn_arena *arena = &p->r->prog->arena;
    bool *carry = KN_NEWN(arena, bool, n), *unknown, *cond_in = KN_NEWN(arena, bool, c + n), again = true;
    kn_atom *in = kn_divide_atoms(p, e->nin), *out = kn_divide_atoms(p, n);
    KILN_TRY_MEM(p->r->ctx, carry && cond_in && in && out);
    KILN_TRY(kn_divide_flags(p, e, 0, &unknown));
    kn_split s;
    while (again) { /* the split is made for its flags alone */
        again = false;
        for (uint32_t i = 0; i < n; i++) carry[i] = unknown[c + b + i];
        KILN_TRY(kn_partial_body(p->r, w.body, unknown + c, carry, NULL, &s));
        for (uint32_t i = 0; i < n; i++)
            if (s.unknown_out[i] && !carry[i]) unknown[c + b + i] = again = true;
    }
    KILN_TRY(kn_used_args(p->r, w.cond, NULL, cond_in));
    *done = true;
    for (uint32_t i = 0; i < c; i++) *done &= !(cond_in[i] && unknown[i]);
    for (uint32_t i = 0; i < n; i++) *done &= !(cond_in[c + i] && carry[i]);
    if (!*done) return KILN_OK;
    KILN_TRY(kn_divide_place(p, e));
    KILN_TRY(known_while(p, e, &w, carry));
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_residual_of(p, e->in[i], &in[i]));
    KILN_TRY(kn_build_eqn(&p->unknown, e->prim, e->params, in, e->nin, out, n));
    for (uint32_t i = 0; i < n; i++)
        if (carry[i]) p->in_unknown[e->out[i]] = out[i];
    return KILN_OK;
}
