/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals are the last results of the known half of a linearization. Where each comes from is read off the known half, into the bodies of
 * its calls, branches and loops; what was computed again or left a loop instead, partial evaluation has logged. */
#include "transform/residuals.h"

#include "prim/control.h"
#include "prims.gen.h"
#include "transform/functions.h"
#include "transform/partial.h"

void kn_log_start(const kn_partial *p)
{
    kn_logs *log = kn_log_of(p);
    if (!log) return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < log->v.n; i++)
        if (log->v.v[i].body != p->j) log->v.v[n++] = log->v.v[i];
    log->v.n = n;
}

kiln_status kn_log(const kn_partial *p, kn_log_kind kind, const kn_eqn *e, kiln_type t)
{
    kn_logs *log = kn_log_of(p);
    if (!log) return KILN_OK;
    const kn_log_entry x = {kind, p->j, e ? e->prim : NULL, e ? e->loc : (kn_loc){0}, t, log->trips, log->by_policy};
    KILN_TRY_MEM(p->r->ctx, kn_push(&p->r->prog->arena, &log->v, x));
    return KILN_OK;
}

typedef struct finder {
    kiln_ctx *ctx;
    kn_residual_list *out;
    kn_arena *arena;
    const kn_logs *log;
} finder;

static double bytes_of(kiln_type t) { return (double)kiln_type_size(t) * (double)kiln_dtype_bytes(t.dtype); }

static kiln_status push(finder *f, kn_residual_line line)
{
    KILN_TRY_MEM(f->ctx, kn_push(f->arena, &f->out->v, line));
    return KILN_OK;
}

static const kn_eqn *maker(const kn_jaxpr *j, kn_atom a, uint32_t *result)
{
    for (uint32_t k = j->neqns; k-- > 0;)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++)
            if (j->eqns[k].out[i] == a) {
                *result = i;
                return &j->eqns[k];
            }
    return NULL;
}

/* The body that gives a result of an equation, and how often it runs; NULL: the equation gives it itself. */
static const kn_jaxpr *inside(const kn_eqn *e, uint32_t result, uint32_t branch, int64_t *trips)
{
    *trips = 1;
    switch (kn_control_of(e)) {
    case KN_C_CALL:
    case KN_C_REMAT: return e->params[kn_body_param(e->prim)].jaxpr;
    case KN_C_COND: return kn_cond_branch(e, branch);
    case KN_C_SCAN: {
        kn_scan_parts p = kn_scan_parts_of(e);
        if (result < p.carries) return NULL;
        *trips = p.length;
        return p.body;
    }
    case KN_C_WHILE:
    case KN_C_NONE: break;
    }
    return NULL;
}

static bool left_a_loop(const finder *f, const kn_eqn *e, kiln_type t, int64_t *trips)
{
    for (uint32_t i = 0; i < f->log->v.n; i++) {
        const kn_log_entry *x = &f->log->v.v[i];
        if (x->kind != KN_LOG_BEFORE || x->prim != e->prim || memcmp(&x->loc, &e->loc, sizeof x->loc) != 0 || !kiln_type_equal(x->type, t)) continue;
        *trips = x->trips;
        return true;
    }
    return false;
}

/* Atom a of j, which is kept `trips` times over. around: the equation whose body j is, or NULL. */
static kiln_status trace_back(finder *f, const kn_jaxpr *j, kn_atom a, int64_t trips, const kn_eqn *around)
{
    uint32_t result = 0, branches;
    kiln_type t = kn_type_of(j, a);
    if (kn_is_literal(a)) return KILN_OK;
    for (uint32_t i = 0; i < j->nin; i++)
        if (j->in[i] == a) {
            kn_residual_line line = {.why = around ? KN_RESIDUAL_KEPT : KN_RESIDUAL_PASSED, .number = i - j->nconsts, .inner = around, .type = t, .trips = trips};
            if (around) line.loc = around->loc, line.bytes = bytes_of(t) * (double)trips;
            return push(f, line);
        }
    const kn_eqn *e = maker(j, a, &result);
    if (!e) return kn_fail(f->ctx, KILN_INTERNAL, "a residual without an equation");
    branches = kn_control_of(e) == KN_C_COND ? kn_cond_branches(e) : 1;
    for (uint32_t k = 0; k < branches; k++) {
        int64_t n;
        const kn_jaxpr *body = inside(e, result, k, &n);
        uint32_t at = 0;
        kn_atom inner = body ? body->out[result] : 0;
        const kn_eqn *made = body && !kn_is_literal(inner) ? maker(body, inner, &at) : NULL;
        bool fill = made && branches > 1 && made->prim == &kn_prim_broadcast_in_dim && kn_is_literal(made->in[0]); /* no residual in this branch */
        if (body && !kn_is_literal(inner) && !fill) return trace_back(f, body, inner, trips * n, e);
    }
    int64_t would = 1;
    bool hoisted = left_a_loop(f, e, t, &would);
    return push(f, (kn_residual_line){.why = hoisted ? KN_RESIDUAL_BEFORE : KN_RESIDUAL_KEPT, .prim = e->prim, .loc = e->loc, .type = t,
                                      .trips = hoisted ? would : trips, .bytes = bytes_of(t) * (double)trips});
}

/* Loops with an unknown number of trips stand whole in the linear half. */
static kiln_status snapshots(finder *f, const kn_jaxpr *map, const bool *linear)
{
    bool *of = KN_NEWN(f->arena, bool, map->nvars);
    KILN_TRY_MEM(f->ctx, of);
    for (uint32_t i = map->nconsts; i < map->nin; i++) of[map->in[i]] = linear[i - map->nconsts];
    for (uint32_t k = 0; k < map->neqns; k++) {
        const kn_eqn *e = &map->eqns[k];
        bool any = false;
        for (uint32_t i = 0; i < e->nin; i++) any |= !kn_is_literal(e->in[i]) && of[e->in[i]];
        for (uint32_t i = 0; i < e->nout; i++) of[e->out[i]] = any;
        if (!any || kn_control_of(e) != KN_C_WHILE) continue;
        kn_while_parts p = kn_while_parts_of(e);
        double bytes = 0;
        for (uint32_t i = 0; i < e->nout; i++) {
            kn_atom first = e->in[p.cond_consts + p.body_consts + i];
            if (kn_is_literal(first) || !of[first]) bytes += bytes_of(map->vars[e->out[i]].type);
        }
        int64_t slots = kn_while_slots(e, bytes, NULL);
        KILN_TRY(push(f, (kn_residual_line){.why = KN_RESIDUAL_SNAPSHOTS, .prim = e->prim, .loc = e->loc, .type = {.dtype = KILN_U8}, .trips = slots,
                                             .bytes = bytes * (double)slots}));
    }
    return KILN_OK;
}

static kiln_status find(const kn_rules *r, const kn_jaxpr *j, const uint32_t *wrt, uint32_t n, kn_logs *log, kn_residual_list *out)
{
    finder f = {r->ctx, out, &r->prog->arena, log};
    kn_linear lin;
    bool *which = kn_new_flags(r, kn_nargs(j)), *linear;
    KILN_TRY_MEM(r->ctx, which);
    KILN_TRY(kn_wrt_check(r, j, "residuals", wrt, n));
    for (uint32_t i = 0; i < kn_nargs(j); i++) which[i] = n == 0 && kn_has_tangent(kn_arg_type(j, i));
    for (uint32_t i = 0; i < n; i++) which[wrt[i]] = true;
    KILN_TRY(kn_linear_of(r, j, which, false, &lin));
    for (uint32_t i = 0; i < lin.residuals; i++) KILN_TRY(trace_back(&f, lin.known, lin.known->out[j->nout + i], 1, NULL));
    KILN_TRY_MEM(r->ctx, linear = kn_new_flags(r, kn_nargs(lin.map)));
    for (uint32_t i = lin.residuals; i < kn_nargs(lin.map); i++) linear[i] = true;
    KILN_TRY(snapshots(&f, lin.map, linear));
    for (uint32_t i = 0; i < log->v.n; i++) {
        const kn_log_entry *x = &log->v.v[i];
        if (x->kind != KN_LOG_AGAIN) continue;
        kn_residual_why why = x->by_policy ? KN_RESIDUAL_CHECKPOINT : KN_RESIDUAL_AGAIN;
        KILN_TRY(push(&f, (kn_residual_line){.why = why, .prim = x->prim, .loc = x->loc, .type = x->type, .trips = x->trips,
                                          .bytes = bytes_of(x->type) * (double)x->trips}));
    }
    return KILN_OK;
}

kiln_status kn_residuals_of(kiln_ctx *ctx, const kn_prog *p, const uint32_t *wrt, uint32_t n, kn_residual_list *out)
{
    kn_rules r;
    kn_logs log = {.trips = 1};
    const kn_jaxpr *j;
    *out = (kn_residual_list){.prog = NULL};
    KILN_TRY(kn_prog_new(ctx, p, &out->prog));
    kiln_status status = kn_jaxpr_copy(ctx, out->prog, p->main, &j);
    if (status == KILN_OK) status = kn_rules_init(&r, ctx, out->prog);
    if (status == KILN_OK) {
        ((kn_memo *)r.memo)->log = &log;
        status = find(&r, j, wrt, n, &log, out);
    }
    if (status != KILN_OK) kn_residuals_fini(out);
    return status;
}

void kn_residuals_fini(kn_residual_list *l)
{
    kiln_prog_release(l->prog);
    *l = (kn_residual_list){.prog = NULL};
}
