/* SPDX-License-Identifier: Apache-2.0 */
/* The optimised program with its loop nests as functions. The loops are made once, only to be told which values are stored by which
 * nest; everything else that is elementwise is computed where it is read and goes into each nest that reads it. */
#include "hlo/export.h"
#include "run/stages.h"

enum { UNSEEN, REGISTERS, NEST }; /* of a variable: NEST + number - 1 for those stored by a nest */

typedef struct seen {
    const kn_jaxpr *j;
    uint32_t *kept; /* per variable */
} seen;

typedef struct fusing {
    kiln_ctx *ctx;
    kn_arena temp;
    kn_prog *out;
    KN_VEC(seen) bodies;
    bool failed;
} fusing;

static uint32_t *kept_of(fusing *f, const kn_jaxpr *j)
{
    for (uint32_t i = f->bodies.n; i-- > 0;)
        if (f->bodies.v[i].j == j) return f->bodies.v[i].kept;
    seen s = {j, KN_NEWN(&f->temp, uint32_t, j->nvars)};
    if (!s.kept || !kn_push(&f->temp, &f->bodies, s)) f->failed = true;
    return s.kept;
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
    uint32_t *last;        /* per nest: the last equation of its values + 1; nests of this body only have one */
    uint32_t nlast;
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
static kiln_status closure(frame *r, uint32_t k, bool *member)
{
    KN_VEC(uint32_t) stack = {0};
    KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &stack, k));
    while (stack.n) {
        k = stack.v[--stack.n];
        if (member[k]) continue;
        member[k] = true;
        const kn_eqn *e = &r->j->eqns[k];
        for (uint32_t i = 0; i < e->nin; i++)
            if (!kn_is_literal(e->in[i]) && is_lazy(r, e->in[i])) KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &stack, r->def[e->in[i]] - 1));
    }
    return KILN_OK;
}

/* One function of the equations first..last that are members; its results are the values `roots`. */
static kiln_status call_nest(frame *r, const bool *member, uint32_t last, const uint32_t *roots, uint32_t nroots)
{
    kn_arena *temp = &r->f->temp;
    kn_build own;
    KN_VEC(kn_atom) args = {0};
    kn_atom *inner = KN_NEWN(temp, kn_atom, r->j->nvars), *out = KN_NEWN(temp, kn_atom, nroots);
    bool *inside = KN_NEWN(temp, bool, r->j->nvars);
    KILN_TRY_MEM(r->f->ctx, inner && out && inside);
    kn_build_init(&own, r->f->ctx, r->f->out);
    for (uint32_t k = 0; k <= last; k++) {
        const kn_eqn *e = &r->j->eqns[k];
        for (uint32_t i = 0; member[k] && i < e->nin; i++) {
            kn_atom a = e->in[i];
            if (kn_is_literal(a) || inside[a]) continue;
            if (!r->mapped[a]) KILN_TRY(plain(r, r->def[a] - 1));
            KILN_TRY(kn_build_input(&own, kn_type_of(r->j, a), &inner[a]));
            KILN_TRY_MEM(r->f->ctx, kn_push(temp, &args, r->map[a]));
            inside[a] = true;
        }
        if (!member[k]) continue;
        KILN_TRY(kn_build_copy(&own, r->j, e, inner));
        for (uint32_t i = 0; i < e->nout; i++) inside[e->out[i]] = true;
    }
    for (uint32_t i = 0; i < nroots; i++) out[i] = inner[roots[i]];
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

static kiln_status nest_at(frame *r, uint32_t k, uint32_t number)
{
    bool *member = KN_NEWN(&r->f->temp, bool, r->j->neqns);
    KN_VEC(uint32_t) roots = {0};
    KILN_TRY_MEM(r->f->ctx, member);
    for (uint32_t i = 0; i <= k; i++) {
        const kn_eqn *e = &r->j->eqns[i];
        for (uint32_t o = 0; o < e->nout; o++)
            if (is_element(e) && r->kept[e->out[o]] == number) {
                KILN_TRY_MEM(r->f->ctx, kn_push(&r->f->temp, &roots, e->out[o]));
                KILN_TRY(closure(r, i, member));
            }
    }
    return call_nest(r, member, k, roots.v, roots.n);
}

static kiln_status whole_nest(frame *r, uint32_t k)
{
    bool *member = KN_NEWN(&r->f->temp, bool, r->j->neqns);
    KILN_TRY_MEM(r->f->ctx, member);
    KILN_TRY(closure(r, k, member));
    return call_nest(r, member, k, r->j->eqns[k].out, r->j->eqns[k].nout);
}

static kiln_status equation(frame *r, uint32_t k)
{
    const kn_eqn *e = &r->j->eqns[k];
    kn_loop_kind kind = e->prim->loop;
    if (!is_element(e)) {
        bool whole = kind == KN_LOOP_REDUCE || kind == KN_LOOP_CUMULATE || kind == KN_LOOP_DOT || kind == KN_LOOP_UPDATE;
        return whole ? whole_nest(r, k) : plain(r, k);
    }
    for (uint32_t i = 0; i < e->nout; i++) {
        uint32_t v = r->kept[e->out[i]];
        if (v == UNSEEN || r->mapped[e->out[i]]) continue;
        if (v == REGISTERS) KILN_TRY(plain(r, k));
        else if (r->last[v - NEST] == k + 1) KILN_TRY(nest_at(r, k, v));
    }
    return KILN_OK;
}

static kiln_status fuse_body(fusing *f, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_build b;
    frame r = {.f = f, .j = j, .b = &b, .kept = kept_of(f, j)};
    kn_arena *temp = &f->temp;
    kn_build_init(&b, f->ctx, f->out);
    r.def = KN_NEWN(temp, uint32_t, j->nvars);
    r.map = KN_NEWN(temp, kn_atom, j->nvars);
    r.mapped = KN_NEWN(temp, bool, j->nvars);
    kn_atom *results = KN_NEWN(temp, kn_atom, j->nout);
    KILN_TRY_MEM(f->ctx, r.kept && r.def && r.map && r.mapped && results);
    for (uint32_t k = 0; k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) {
            uint32_t var = j->eqns[k].out[i];
            r.def[var] = k + 1;
            if (r.kept[var] >= NEST && r.kept[var] - NEST + 1 > r.nlast) r.nlast = r.kept[var] - NEST + 1;
        }
    KILN_TRY_MEM(f->ctx, r.last = KN_NEWN(temp, uint32_t, r.nlast));
    for (uint32_t v = 0; v < j->nvars; v++)
        if (r.kept[v] >= NEST && r.def[v] > r.last[r.kept[v] - NEST]) r.last[r.kept[v] - NEST] = r.def[v];
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
