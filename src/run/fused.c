/* SPDX-License-Identifier: Apache-2.0 */
/* The optimised program with its loop nests as functions. The loops are made once, only to be told which values are stored by which
 * nest; everything else that is elementwise is computed where it is read and goes into each nest that reads it. */
#include "base/map.h"
#include "hlo/export.h"
#include "run/stages.h"

#include <stdlib.h>

enum { UNSEEN, REGISTERS, NEST }; /* of a variable: NEST + number - 1 for those stored by a nest */

typedef struct fusing {
    kiln_ctx *ctx;
    kn_arena temp;
    kn_prog *out;
    kn_map index;              /* body -> index into kept + 1 */
    KN_VEC(uint32_t *) kept; /* per body: per variable */
    bool failed;
} fusing;

static uint32_t *kept_of(fusing *f, const kn_jaxpr *j)
{
    uint32_t at = kn_map_get(&f->index, kn_map_address(j));
    if (at) return f->kept.v[at - 1];
    uint32_t *v = KN_NEWN(&f->temp, uint32_t, j->nvars);
    if (!v || !kn_push(&f->temp, &f->kept, v) || !kn_map_put(&f->temp, &f->index, kn_map_address(j), f->kept.n)) f->failed = true;
    return v;
}

static void kept(void *ud, const kn_jaxpr *j, uint32_t var, uint32_t nest)
{
    fusing *f = ud;
    uint32_t *v = kept_of(f, j);
    if (v && v[var] == UNSEEN) v[var] = nest ? NEST + nest - 1 : REGISTERS;
}

/* ---- one body ---- */

typedef struct frame {
    fusing *f;
    const kn_jaxpr *j;
    kn_build *b;
    uint32_t *kept;        /* per variable */
    uint32_t *def;         /* per variable: equation + 1, 0: an input */
    kn_atom *map;          /* per variable: what stands for it in b */
    bool *mapped;
    uint32_t nest;         /* what `kept` says of the first nest of this body */
    uint32_t *last;        /* per nest from that one on: the last equation of its values + 1; nests of this body only have one */
    uint32_t *first, *next; /* the values of a nest in their order: per nest the first, per variable the one behind it; variable + 1 */
    /* of the nest that is being made, which has a number of its own */
    uint32_t number;
    uint32_t *member;        /* per equation: the last nest that it is in */
    uint32_t *inside;        /* per variable: the last nest that has it */
    kn_atom *inner;          /* what stands for it there */
    KN_VEC(uint32_t) members, stack; /* equations */
} frame;

static bool is_element(const kn_eqn *e) { return e->prim->loop == KN_LOOP_ELEMENT || e->prim->loop == KN_LOOP_PARTS; }
static bool is_lazy(const frame *r, uint32_t var)
{
    uint32_t d = r->def[var];
    return d && is_element(&r->j->eqns[d - 1]) && r->kept[var] == UNSEEN;
}

static kiln_status fuse_body(fusing *f, const kn_jaxpr *j, const kn_jaxpr **out);

static kiln_status fuse_param(fusing *f, const kn_param *p, kn_param *out)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) return fuse_body(f, p->jaxpr, &out->jaxpr);
    if (p->kind != KN_P_TUPLE) return KILN_OK;
    kn_param *items = KN_NEWN(&f->temp, kn_param, p->n);
    KILN_TRY_MEM(f->ctx, items);
    for (uint32_t i = 0; i < p->n; i++) KILN_TRY(fuse_param(f, &p->items[i], &items[i]));
    out->items = items;
    return KILN_OK;
}

/* The equation as it stands, its bodies fused; what it reads lazily is made first. */
static kiln_status plain(frame *r, uint32_t k)
{
    kn_eqn e = r->j->eqns[k];
    bool loop = e.prim->loop == KN_LOOP_WHILE || e.prim->loop == KN_LOOP_COND;
    for (uint32_t i = 0; i < e.nin; i++)
        if (!kn_is_literal(e.in[i]) && !r->mapped[e.in[i]]) KILN_TRY(plain(r, r->def[e.in[i]] - 1));
    kn_param *params = KN_NEWN(&r->f->temp, kn_param, e.prim->nparams);
    KILN_TRY_MEM(r->f->ctx, params);
    for (uint32_t i = 0; i < e.prim->nparams; i++) {
        params[i] = e.params[i];
        if (loop) KILN_TRY(fuse_param(r->f, &e.params[i], &params[i]));
    }
    e.params = params;
    KILN_TRY(kn_build_copy(r->b, r->j, &e, r->map));
    for (uint32_t i = 0; i < e.nout; i++) r->mapped[e.out[i]] = true;
    return KILN_OK;
}

/* Equations that a nest computes: those of its values, and the lazy ones below. */
static kiln_status closure(frame *r, uint32_t k)
{
    KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &r->stack, k));
    while (r->stack.n) {
        k = r->stack.v[--r->stack.n];
        if (r->member[k] == r->number) continue;
        r->member[k] = r->number;
        KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &r->members, k));
        const kn_eqn *e = &r->j->eqns[k];
        for (uint32_t i = 0; i < e->nin; i++)
            if (!kn_is_literal(e->in[i]) && is_lazy(r, e->in[i])) KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &r->stack, r->def[e->in[i]] - 1));
    }
    return KILN_OK;
}

static int by_position(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* One function of the members, of which `last` is the last equation; its results are the values `roots`. */
static kiln_status call_nest(frame *r, uint32_t last, const uint32_t *roots, uint32_t nroots)
{
    kn_arena *temp = &r->f->temp;
    kn_build own;
    KN_VEC(kn_atom) args = {0};
    kn_atom *out = KN_NEWN(temp, kn_atom, nroots);
    KILN_TRY_MEM(r->f->ctx, out);
    kn_build_init(&own, r->f->ctx, r->f->out);
    qsort(r->members.v, r->members.n, sizeof *r->members.v, by_position);
    for (uint32_t m = 0; m < r->members.n; m++) {
        const kn_eqn *e = &r->j->eqns[r->members.v[m]];
        for (uint32_t i = 0; i < e->nin; i++) {
            kn_atom a = e->in[i];
            if (kn_is_literal(a) || r->inside[a] == r->number) continue;
            if (!r->mapped[a]) KILN_TRY(plain(r, r->def[a] - 1));
            KILN_TRY(kn_build_input(&own, kn_type_of(r->j, a), &r->inner[a]));
            KILN_TRY_MEM(r->f->ctx, kn_push(temp, &args, r->map[a]));
            r->inside[a] = r->number;
        }
        KILN_TRY(kn_build_copy(&own, r->j, e, r->inner));
        for (uint32_t i = 0; i < e->nout; i++) r->inside[e->out[i]] = r->number;
    }
    for (uint32_t i = 0; i < nroots; i++) out[i] = r->inner[roots[i]];
    const kn_jaxpr *body;
    const kn_eqn *e = &r->j->eqns[last];
    char *name = kn_arena_printf(temp, "fused_%s", kn_export_name(e->prim));
    kn_param params[16];
    KILN_TRY_MEM(r->f->ctx, name);
    KILN_TRY(kn_build_finish(&own, out, nroots, &body));
    for (uint32_t i = 0; i < kn_prim_jit.nparams; i++) {
        const kn_param_spec *spec = &kn_prim_jit.params[i];
        params[i] = spec->kind == KN_P_JAXPR ? KN_JAXPR(body) : strcmp(spec->name, "name") == 0 ? KN_TEXT(name) : KN_NONE;
    }
    r->b->scope = e->scope;
    r->b->loc = e->loc;
    KILN_TRY(kn_build_eqn(r->b, &kn_prim_jit, params, args.v, args.n, out, nroots));
    for (uint32_t i = 0; i < nroots; i++) r->map[roots[i]] = out[i], r->mapped[roots[i]] = true;
    return KILN_OK;
}

static void begin_nest(frame *r)
{
    r->number++;
    r->members.n = 0;
}

static kiln_status nest_at(frame *r, uint32_t k, uint32_t nest)
{
    KN_VEC(uint32_t) roots = {0};
    begin_nest(r);
    for (uint32_t v = r->first[nest]; v; v = r->next[v - 1]) {
        KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &roots, v - 1));
        KILN_TRY(closure(r, r->def[v - 1] - 1));
    }
    return call_nest(r, k, roots.v, roots.n);
}

static kiln_status whole_nest(frame *r, uint32_t k)
{
    begin_nest(r);
    KILN_TRY(closure(r, k));
    return call_nest(r, k, r->j->eqns[k].out, r->j->eqns[k].nout);
}

static kiln_status equation(frame *r, uint32_t k)
{
    const kn_eqn *e = &r->j->eqns[k];
    kn_loop_kind kind = e->prim->loop;
    if (!is_element(e)) {
        bool whole = kind == KN_LOOP_REDUCE || kind == KN_LOOP_CUMULATE || kind == KN_LOOP_DOT || kn_updates(e);
        return whole ? whole_nest(r, k) : plain(r, k);
    }
    for (uint32_t i = 0; i < e->nout; i++) {
        uint32_t v = r->kept[e->out[i]];
        if (v == UNSEEN || r->mapped[e->out[i]]) continue;
        if (v == REGISTERS) KILN_TRY(plain(r, k));
        else if (r->last[v - r->nest] == k + 1) KILN_TRY(nest_at(r, k, v - r->nest));
    }
    return KILN_OK;
}

static kiln_status new_frame(frame *r)
{
    const kn_jaxpr *j = r->j;
    kn_arena *temp = &r->f->temp;
    r->kept = kept_of(r->f, j);
    r->def = KN_NEWN(temp, uint32_t, j->nvars);
    r->map = KN_NEWN(temp, kn_atom, j->nvars);
    r->mapped = KN_NEWN(temp, bool, j->nvars);
    r->next = KN_NEWN(temp, uint32_t, j->nvars);
    r->inside = KN_NEWN(temp, uint32_t, j->nvars);
    r->inner = KN_NEWN(temp, kn_atom, j->nvars);
    r->member = KN_NEWN(temp, uint32_t, j->neqns);
    KILN_TRY_MEM(r->f->ctx, r->kept && r->def && r->map && r->mapped && r->next && r->inside && r->inner && r->member);
    uint32_t least = UINT32_MAX, most = NEST;
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) {
            uint32_t var = j->eqns[k].out[i], nest = r->kept[var];
            r->def[var] = k + 1;
            if (nest < NEST) continue;
            if (nest < least) least = nest;
            if (nest > most) most = nest;
        }
    r->nest = least <= most ? least : most;
    r->last = KN_NEWN(temp, uint32_t, most - r->nest + 1);
    r->first = KN_NEWN(temp, uint32_t, most - r->nest + 1);
    KILN_TRY_MEM(r->f->ctx, r->last && r->first);
    for (uint32_t k = j->neqns; k-- > 0;)
        for (uint32_t i = j->eqns[k].nout; i-- > 0;) {
            uint32_t var = j->eqns[k].out[i], nest = r->kept[var] - r->nest;
            if (r->kept[var] < NEST || !is_element(&j->eqns[k])) continue;
            r->next[var] = r->first[nest];
            r->first[nest] = var + 1;
            if (!r->last[nest]) r->last[nest] = k + 1;
        }
    return KILN_OK;
}

static kiln_status fuse_body(fusing *f, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    frame r = {.f = f, .j = j, .b = &b};
    kn_build_init(&b, f->ctx, f->out);
    KILN_TRY(new_frame(&r));
    kn_atom *results = KN_NEWN(&f->temp, kn_atom, j->nout);
    KILN_TRY_MEM(f->ctx, results);
    for (uint32_t i = 0; i < j->nin; i++) {
        kn_atom *to = &r.map[j->in[i]];
        if (i < j->nconsts) KILN_TRY(kn_build_const(&b, j->consts[i], to));
        else KILN_TRY(kn_build_input(&b, kn_type_of(j, j->in[i]), to));
        r.mapped[j->in[i]] = true;
    }
    for (uint32_t k = 0; k < j->neqns; k++) KILN_TRY(equation(&r, k));
    kiln_status s = KILN_OK;
    for (uint32_t i = 0; i < j->nout; i++) {
        if (!kn_is_literal(j->out[i]) && !r.mapped[j->out[i]]) KILN_TRY(plain(&r, r.def[j->out[i]] - 1));
        results[i] = kn_build_map(&b, j, j->out[i], r.map, &s);
    }
    KILN_TRY(s);
    return kn_build_finish(&b, results, j->nout, out);
}

kiln_status kn_fused_program(kiln_ctx *ctx, const kiln_prog *optimised, kiln_prog **out)
{
    fusing f = {.ctx = ctx};
    kn_resolved options;
    kn_loops *loops;
    kn_arena scrap;
    *out = NULL;
    kn_arena_init(&f.temp, &ctx->alloc);
    kn_arena_init(&scrap, &ctx->alloc);
    kiln_status s = kn_compile_resolve(ctx, NULL, &options);
    options.loops.kept = kept;
    options.loops.kept_ud = &f;
    if (s == KILN_OK) s = kn_loops_make(ctx, &scrap, optimised, &options.loops, &loops);
    if (s == KILN_OK && f.failed) s = kn_nomem(ctx);
    if (s == KILN_OK) s = kn_prog_new(ctx, optimised, &f.out);
    if (s == KILN_OK) f.out->level = KN_TRACED;
    if (s == KILN_OK) s = fuse_body(&f, optimised->main, &f.out->main);
    if (s == KILN_OK && f.failed) s = kn_nomem(ctx);
    if (s == KILN_OK) *out = f.out;
    else kiln_prog_release(f.out);
    kn_arena_fini(&scrap);
    kn_arena_fini(&f.temp);
    return s;
}
