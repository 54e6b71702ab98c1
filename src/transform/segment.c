/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpointed loops. A scan of n trips becomes one of about 1.7 sqrt(n) segments, each a checkpoint of 0.6 sqrt(n) trips: the way back
 * keeps the carries at the segments' starts, and of one segment at a time what its trips need: below 4 sqrt(n) states where a trip needs
 * up to three, for one more run of the loop.
 * Segments of segments, `levels` deep, keep levels n^(1/levels) states. (Chen, Xu, Zhang, Guestrin, Training deep nets with sublinear memory
 * cost, 2016; Griewank 1992.) */
#include "transform/segment.h"

#include "prim/derive.h"
#include "prims.gen.h"
#include "transform/control.h"
#include "transform/functions.h"

#include <math.h>

enum { LEAST_TRIPS = 64, LEAST_PART = 4 };

typedef struct loop {
    const kn_rules *r;
    const kn_jaxpr *body;
    kn_scan_parts p;
    uint32_t levels;
} loop;

static uint32_t inputs(const loop *l) { return l->p.consts + l->p.carries + l->p.xs; }
static uint32_t outputs(const loop *l) { return l->p.carries + l->p.ys; }

static kiln_status emit_scan(const loop *l, kn_build *b, const kn_jaxpr *body, int64_t length, const kn_atom *in, kn_atom *out)
{
    kn_param params[KN_SCAN_PARAMS];
    const uint32_t n[3] = {l->p.consts, l->p.carries, l->p.xs};
    kn_scan_plain(length, l->p.reverse, params);
    KILN_TRY(kn_scan_params(l->r->ctx, &l->r->prog->arena, NULL, body, n, l->p.ys, params));
    return kn_build_eqn(b, &kn_prim_scan, params, in, inputs(l), out, outputs(l));
}

/* Elements lo .. hi - 1 along dimension 0. */
static kn_atom rows(kn_low *w, kn_atom a, int64_t lo, int64_t hi)
{
    kiln_type t = kn_build_type(w->b, a);
    int64_t start[KN_RANK_LIMIT] = {lo}, limit[KN_RANK_LIMIT] = {hi};
    if (w->status != KILN_OK || (lo == 0 && hi == t.dims[0])) return a;
    for (uint32_t d = 1; d < t.rank; d++) limit[d] = t.dims[d];
    return kn_derive_slice(w, a, start, limit, NULL);
}
/* Dimension 0 of k m entries as k by m, and back. */
static kn_atom folded(kn_low *w, kn_atom a, int64_t k, int64_t m)
{
    kiln_type t = kn_build_type(w->b, a);
    int64_t dims[KN_RANK_LIMIT + 1] = {k, m};
    for (uint32_t d = 1; d < t.rank; d++) dims[d + 1] = t.dims[d];
    return w->status == KILN_OK ? kn_low_reshape(w, a, t.rank + 1, dims) : 0;
}
static kn_atom unfolded(kn_low *w, kn_atom a)
{
    kiln_type t = kn_build_type(w->b, a);
    int64_t dims[KN_RANK_LIMIT] = {t.dims[0] * t.dims[1]};
    for (uint32_t d = 2; d < t.rank; d++) dims[d - 1] = t.dims[d];
    return w->status == KILN_OK ? kn_low_reshape(w, a, t.rank - 1, dims) : 0;
}

static kiln_status emit_trips(const loop *l, kn_build *b, int64_t length, uint32_t levels, const kn_atom *in, kn_atom *out);

/* A checkpoint of `length` trips: (constants, carries, slices) -> (carries, stacked). */
static kiln_status checkpoint(const loop *l, kn_build *b, int64_t length, uint32_t levels, const kn_atom *in, kn_atom *out)
{
    kn_build own;
    kn_atom *x = kn_new_atoms(l->r, inputs(l)), *y = kn_new_atoms(l->r, outputs(l));
    const kn_jaxpr *j;
    KILN_TRY_MEM(l->r->ctx, x && y);
    kn_build_init(&own, l->r->ctx, l->r->prog);
    own.scope = b->scope, own.loc = b->loc;
    for (uint32_t i = 0; i < inputs(l); i++) KILN_TRY(kn_build_input(&own, kn_build_type(b, in[i]), &x[i]));
    KILN_TRY(emit_trips(l, &own, length, levels, x, y));
    KILN_TRY(kn_build_finish(&own, y, outputs(l), &j));
    const kn_param params[] = {KN_BOOL(false), KN_JAXPR(j), KN_NONE, KN_BOOL(true)};
    return kn_build_eqn(b, &kn_prim_remat2, params, in, inputs(l), out, outputs(l));
}

/* k checkpoints of m trips each, in a scan. */
static kiln_status emit_segments(const loop *l, kn_build *b, int64_t k, int64_t m, uint32_t levels, const kn_atom *in, kn_atom *out)
{
    const kn_scan_parts *p = &l->p;
    kn_build own;
    kn_atom *x = kn_new_atoms(l->r, inputs(l)), *y = kn_new_atoms(l->r, outputs(l)), *outer = kn_new_atoms(l->r, inputs(l));
    const kn_jaxpr *body;
    KILN_TRY_MEM(l->r->ctx, x && y && outer);
    kn_build_init(&own, l->r->ctx, l->r->prog);
    own.scope = b->scope, own.loc = b->loc;
    kn_low w = {b, KILN_OK};
    for (uint32_t i = 0; i < inputs(l); i++) {
        bool slice = i >= p->consts + p->carries;
        outer[i] = slice ? folded(&w, in[i], k, m) : in[i];
        KILN_TRY(w.status);
        kiln_type t = kn_build_type(b, outer[i]);
        if (slice) t = (kiln_type){t.dtype, t.rank - 1, t.dims + 1};
        KILN_TRY(kn_build_input(&own, t, &x[i]));
    }
    KILN_TRY(checkpoint(l, &own, m, levels - 1, x, y));
    KILN_TRY(kn_build_finish(&own, y, outputs(l), &body));
    KILN_TRY(emit_scan(l, b, body, k, outer, out));
    for (uint32_t i = p->carries; i < outputs(l); i++) out[i] = unfolded(&w, out[i]);
    return w.status;
}

/* Trips of a segment: the fewest states, where a trip needs three times what its carry takes, with what does not divide. */
static int64_t best_segment(int64_t length)
{
    int64_t root = (int64_t)sqrt((double)length), best = root, least = INT64_MAX;
    for (int64_t m = root / 3 > LEAST_PART ? root / 3 : LEAST_PART; m <= root; m++) {
        int64_t cost = length / m + 3 * (m + length % m);
        if (cost < least) least = cost, best = m;
    }
    return best;
}

/* `length` trips in segments, `levels` deep; what does not divide is a checkpoint of its own. */
static kiln_status emit_trips(const loop *l, kn_build *b, int64_t length, uint32_t levels, const kn_atom *in, kn_atom *out)
{
    const kn_scan_parts *p = &l->p;
    int64_t m = length, k = 1;
    if (levels == 2) m = best_segment(length), k = length / m;
    else if (levels > 2) k = (int64_t)ceil(pow((double)length, 1.0 / levels)), m = length / k;
    if (levels <= 1 || m < LEAST_PART || k < 2) return emit_scan(l, b, l->body, length, in, out);
    int64_t rest = length - k * m;
    if (!rest) return emit_segments(l, b, k, m, levels, in, out);
    kn_low w = {b, KILN_OK};
    kn_atom *x = kn_new_atoms(l->r, inputs(l)), *y[2] = {kn_new_atoms(l->r, outputs(l)), kn_new_atoms(l->r, outputs(l))};
    KILN_TRY_MEM(l->r->ctx, x && y[0] && y[1]);
    memcpy(x, in, inputs(l) * sizeof *x);
    for (int part = 0; part < 2; part++) { /* as the trips follow one another: the segments first */
        int64_t n = part ? rest : k * m, lo = p->reverse ? (part ? 0 : rest) : part ? k * m : 0;
        for (uint32_t i = p->consts + p->carries; i < inputs(l); i++) x[i] = rows(&w, in[i], lo, lo + n);
        KILN_TRY(w.status);
        if (part) KILN_TRY(checkpoint(l, b, rest, 1, x, y[1]));
        else KILN_TRY(emit_segments(l, b, k, m, levels, x, y[0]));
        memcpy(x + p->consts, y[part], p->carries * sizeof *x);
    }
    memcpy(out, y[1], p->carries * sizeof *out);
    for (uint32_t i = p->carries; i < outputs(l); i++) {
        const kn_atom both[2] = {y[p->reverse][i], y[!p->reverse][i]};
        KILN_TRY(kn_build_eqn(b, &kn_prim_concatenate, &KN_INT(0), both, 2, &out[i], 1));
    }
    return KILN_OK;
}

static uint32_t levels_of(int64_t length, bool logarithm)
{
    uint32_t levels = 2;
    while (logarithm && pow((double)length, 1.0 / levels) > 4) levels++;
    return levels;
}

/* ---- programs ---- */

typedef struct planner {
    const kn_rules *r;
    const kn_loop_plan *plan;
    kn_map seen; /* address of a body -> number + 1 of what became of it: shared bodies stay shared */
    KN_VEC(const kn_jaxpr *) made;
} planner;

static kiln_status plan_body(planner *p, const kn_jaxpr *j, const kn_jaxpr **out);

static kiln_status plan_param(planner *p, const kn_param *from, kn_param *out, bool *any)
{
    *out = *from;
    if (from->kind == KN_P_JAXPR) {
        KILN_TRY(plan_body(p, from->jaxpr, &out->jaxpr));
        *any |= out->jaxpr != from->jaxpr;
        return KILN_OK;
    }
    if (from->kind != KN_P_TUPLE && from->kind != KN_P_RECORD) return KILN_OK;
    kn_param *items = KN_NEWN(&p->r->prog->arena, kn_param, from->n);
    KILN_TRY_MEM(p->r->ctx, items);
    for (uint32_t i = 0; i < from->n; i++) KILN_TRY(plan_param(p, &from->items[i], &items[i], any));
    out->items = items;
    return KILN_OK;
}

/* The parameters of e with its bodies by the plan, and what it says of a while that says nothing itself; those of e where nothing changes. */
static kiln_status plan_eqn(planner *p, const kn_eqn *e, const kn_param **out)
{
    bool any = false;
    *out = e->params;
    if (kn_control_of(e) == KN_C_NONE) return KILN_OK;
    kn_param *params = KN_NEWN(&p->r->prog->arena, kn_param, e->prim->nparams);
    KILN_TRY_MEM(p->r->ctx, params);
    for (uint32_t i = 0; i < e->prim->nparams; i++) KILN_TRY(plan_param(p, &e->params[i], &params[i], &any));
    if (e->prim == &kn_prim_while && params[KN_WHILE_RECORD].kind == KN_P_NONE) {
        kn_param *most = &params[KN_WHILE_MAX_TRIPS];
        if (most->kind != KN_P_INT && p->plan->max_trips >= 0) *most = KN_INT(p->plan->max_trips);
        if (most->kind == KN_P_INT) params[KN_WHILE_RECORD] = KN_TEXT(p->plan->record), any = true;
    }
    if (any) *out = params;
    return KILN_OK;
}

static bool is_long(const planner *p, const kn_eqn *e)
{
    return p->plan->segments && e->prim == &kn_prim_scan && kn_scan_parts_of(e).length >= LEAST_TRIPS;
}

static kiln_status rebuild(planner *p, const kn_jaxpr *j, const kn_param *const *params, const kn_jaxpr **out)
{
    const kn_rules *r = p->r;
    kn_build b;
    kn_atom *map, *outs = kn_new_atoms(r, j->nout);
    kiln_status s = KILN_OK;
    KILN_TRY_MEM(r->ctx, outs);
    KILN_TRY(kn_open(r, &b, j, &map));
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e = j->eqns[k];
        e.params = params[k];
        if (!is_long(p, &e)) {
            KILN_TRY(kn_build_copy(&b, j, &e, map));
            continue;
        }
        loop l = {.r = r, .p = kn_scan_parts_of(&e)};
        l.body = l.p.body;
        kn_atom *x = kn_new_atoms(r, e.nin), *y = kn_new_atoms(r, e.nout);
        KILN_TRY_MEM(r->ctx, x && y);
        for (uint32_t i = 0; i < e.nin; i++) x[i] = kn_build_map(&b, j, e.in[i], map, &s);
        KILN_TRY(s);
        b.scope = e.scope, b.loc = e.loc;
        KILN_TRY(emit_trips(&l, &b, l.p.length, levels_of(l.p.length, p->plan->logarithm), x, y));
        for (uint32_t i = 0; i < e.nout; i++) map[e.out[i]] = y[i];
    }
    for (uint32_t i = 0; i < j->nout; i++) outs[i] = kn_build_map(&b, j, j->out[i], map, &s);
    KILN_TRY(s);
    return kn_build_finish(&b, outs, j->nout, out);
}

static kiln_status plan_body(planner *p, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_arena *arena = &p->r->prog->arena;
    uint32_t seen = kn_map_get(&p->seen, kn_map_address(j));
    bool any = false;
    *out = seen ? p->made.v[seen - 1] : j;
    if (seen) return KILN_OK;
    const kn_param **params = KN_NEWN(arena, const kn_param *, j->neqns);
    KILN_TRY_MEM(p->r->ctx, params);
    for (uint32_t k = 0; k < j->neqns; k++) {
        KILN_TRY(plan_eqn(p, &j->eqns[k], &params[k]));
        any = any || params[k] != j->eqns[k].params || is_long(p, &j->eqns[k]);
    }
    if (any) KILN_TRY(rebuild(p, j, params, out));
    KILN_TRY_MEM(p->r->ctx, kn_push(arena, &p->made, *out) && kn_map_put(arena, &p->seen, kn_map_address(j), p->made.n));
    return KILN_OK;
}

kiln_status kn_plan_loops(const kn_rules *r, const kn_jaxpr *j, const kn_loop_plan *plan, const kn_jaxpr **out)
{
    planner p = {.r = r, .plan = plan};
    return plan_body(&p, j, out);
}
