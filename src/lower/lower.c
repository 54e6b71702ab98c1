/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering walks the traced program once and appends what each equation becomes to the body being built.
 *
 *   frame     one body being built. An array that a body holds as a constant is asked for with `capture`: the main program
 *             makes a constant of it, a nested body makes an input of it, which the equation that owns the body passes.
 *   site      the calls around: their scope, put before the scope of every equation met, and the place of the innermost one, for
 *             equations without a place
 *
 * Recursion follows the nesting of bodies and of calls, and of composites in composites, which both are bounded by what wrote
 * the program (the parser limits nesting) and by the rules. */
#include "lower/lower.h"
#include "lower/split.h"

#include "base/map.h"
#include "prim/lowering.h"

typedef struct frame {
    kn_build b;
    bool main;
    KN_VEC(kiln_array *) captured;
    KN_VEC(kn_atom) atoms; /* of the captured arrays, in b */
    kn_map place;          /* address of a captured array -> its number + 1 */
} frame;

typedef struct site {
    uint32_t scope;
    kn_loc loc;
} site;

/* Bodies lowered before, so that a body that many equations share is lowered once. */
typedef struct done {
    const kn_jaxpr *from, *to;
    site at;
    uint32_t next; /* number + 1 of another one with this address */
} done;

typedef struct lowering {
    kiln_ctx *ctx;
    kn_prog *out;
    kn_arena scratch;
    kn_map joined; /* (prefix, scope) -> scope + 1 */
    kn_map bodies; /* address -> number + 1 in done */
    KN_VEC(done) done;
    kn_map sizes;  /* address of a body -> number + 1 in size */
    KN_VEC(uint64_t) size;
} lowering;

enum { MAX_EQUATIONS = 1 << 22, MAX_DEPTH = 1000 };

static kn_place place_of(const lowering *lw, const kn_eqn *e)
{
    const char *file = e->loc.file < lw->out->files.n ? lw->out->files.v[e->loc.file] : "";
    return (kn_place){.file = file, .line = (int)e->loc.line, .column = (int)e->loc.column};
}

/* ---- scopes ---- */

static kiln_status join(lowering *lw, uint32_t prefix, uint32_t scope, uint32_t *out)
{
    *out = prefix ? prefix : scope;
    if (!prefix || !scope) return KILN_OK;
    uint64_t key = kn_map_pair(prefix, scope);
    uint32_t known = kn_map_get(&lw->joined, key);
    if (known) {
        *out = known - 1;
        return KILN_OK;
    }
    char *path = kn_arena_printf(&lw->scratch, "%s/%s", lw->out->scopes.v[prefix], lw->out->scopes.v[scope]);
    KILN_TRY_MEM(lw->ctx, path);
    KILN_TRY(kn_prog_scope(lw->ctx, lw->out, path, out));
    KILN_TRY_MEM(lw->ctx, kn_map_put(&lw->scratch, &lw->joined, key, *out + 1));
    return KILN_OK;
}

/* ---- constants ---- */

static kiln_status capture(lowering *lw, frame *f, kiln_array *value, kn_atom *out)
{
    uint64_t key = kn_map_address(value);
    uint32_t known = kn_map_get(&f->place, key);
    if (known) {
        *out = f->atoms.v[known - 1];
        return KILN_OK;
    }
    if (f->main) KILN_TRY(kn_build_const(&f->b, value, out));
    else KILN_TRY(kn_build_input(&f->b, kiln_array_type(value), out));
    KILN_TRY_MEM(lw->ctx, kn_push(&lw->scratch, &f->captured, value) && kn_push(&lw->scratch, &f->atoms, *out) &&
                              kn_map_put(&lw->scratch, &f->place, key, f->captured.n));
    return KILN_OK;
}

/* ---- equations ---- */

static kiln_status lower_eqn(lowering *lw, frame *f, const kn_jaxpr *j, const kn_eqn *e, site at, kn_atom *map);

/* Appends a body to f: its arguments are x, its results go to y. */
static kiln_status inline_body(lowering *lw, frame *f, const kn_jaxpr *body, const kn_atom *x, site at, kn_atom *y)
{
    kn_atom *map = KN_NEWN(&lw->scratch, kn_atom, body->nvars);
    KILN_TRY_MEM(lw->ctx, map);
    for (uint32_t i = 0; i < body->nin; i++) {
        kn_atom *v = &map[body->in[i]];
        if (i < body->nconsts) KILN_TRY(capture(lw, f, body->consts[i], v));
        else *v = x[i - body->nconsts];
    }
    for (uint32_t k = 0; k < body->neqns; k++) KILN_TRY(lower_eqn(lw, f, body, &body->eqns[k], at, map));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < body->nout; i++) y[i] = kn_build_map(&f->b, body, body->out[i], map, &status);
    return status;
}

/* A composite: what its rule gives is a body of its own, appended as a call would be. Literals stay visible to the rule. */
static kiln_status apply_rule(lowering *lw, frame *f, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, site at, kn_atom *y)
{
    kn_build b;
    kn_build_init(&b, lw->ctx, lw->out);
    b.scope = e->scope;
    b.loc = e->loc;
    kn_atom *in = KN_NEWN(&lw->scratch, kn_atom, e->nin), *args = KN_NEWN(&lw->scratch, kn_atom, e->nin);
    kn_atom *out = KN_NEWN(&lw->scratch, kn_atom, e->nout);
    KILN_TRY_MEM(lw->ctx, in && args && out);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (kn_is_literal(x[i])) {
            const kn_lit *l = &f->b.lits.v[kn_literal_index(x[i])];
            KILN_TRY(kn_build_literal(&b, l->dtype, l->value, &in[i]));
        } else {
            KILN_TRY(kn_build_input(&b, kn_build_type(&f->b, x[i]), &in[i]));
            args[n++] = x[i];
        }
    }
    KILN_TRY_NOTE(lw->ctx, kn_lower_rule(j, e)(NULL, &b, j, e, in, out), "while lowering %s", e->prim->name);
    const kn_jaxpr *body;
    KILN_TRY(kn_build_finish(&b, out, e->nout, &body));
    return inline_body(lw, f, body, args, at, y);
}

/* ---- bodies of base primitives ---- */

static kiln_status lower_into(lowering *lw, frame *f, const kn_jaxpr *body, site at, kn_atom **out)
{
    kn_atom *x = KN_NEWN(&lw->scratch, kn_atom, kn_nargs(body));
    *out = KN_NEWN(&lw->scratch, kn_atom, body->nout);
    KILN_TRY_MEM(lw->ctx, x && *out);
    kn_build_init(&f->b, lw->ctx, lw->out);
    for (uint32_t i = 0; i < kn_nargs(body); i++)
        KILN_TRY(kn_build_input(&f->b, kn_type_of(body, body->in[body->nconsts + i]), &x[i]));
    return inline_body(lw, f, body, x, at, *out);
}

/* Ends a body's frame: the captured arrays `list` become arguments number `first` and on. */
static kiln_status finish_body(lowering *lw, frame *f, const kn_atom *out, uint32_t nout, uint32_t first, kiln_array *const *list,
                               uint32_t n, const kn_jaxpr **body)
{
    kn_atom atom;
    for (uint32_t i = 0; i < n; i++) KILN_TRY(capture(lw, f, list[i], &atom));
    if (n) {
        uint32_t own = f->b.args.n - n;
        kn_atom *order = KN_NEWN(&lw->scratch, kn_atom, f->b.args.n);
        KILN_TRY_MEM(lw->ctx, order);
        memcpy(order, f->b.args.v, first * sizeof *order);
        for (uint32_t i = 0; i < n; i++) KILN_TRY(capture(lw, f, list[i], &order[first + i]));
        memcpy(order + first + n, f->b.args.v + first, (own - first) * sizeof *order);
        memcpy(f->b.args.v, order, f->b.args.n * sizeof *order);
    }
    return kn_build_finish(&f->b, out, nout, body);
}

static const done *find_done(const lowering *lw, const kn_jaxpr *from, site at)
{
    for (uint32_t k = kn_map_get(&lw->bodies, kn_map_address(from)); k; k = lw->done.v[k - 1].next)
        if (memcmp(&lw->done.v[k - 1].at, &at, sizeof at) == 0) return &lw->done.v[k - 1];
    return NULL;
}

static kiln_status remember(lowering *lw, const kn_jaxpr *from, site at, const kn_jaxpr *to)
{
    uint64_t key = kn_map_address(from);
    done d = {from, to, at, kn_map_get(&lw->bodies, key)};
    KILN_TRY_MEM(lw->ctx, kn_push(&lw->scratch, &lw->done, d) && kn_map_put(&lw->scratch, &lw->bodies, key, lw->done.n));
    return KILN_OK;
}

/* One body on its own; `captured` receives the frame when there are constants to pass (then its inputs stand last). */
static kiln_status lower_body(lowering *lw, const kn_jaxpr *body, uint32_t first, site at, const kn_jaxpr **out, frame *f)
{
    const done *d = find_done(lw, body, at);
    if (d) {
        *out = d->to;
        return KILN_OK;
    }
    kn_atom *results;
    KILN_TRY(lower_into(lw, f, body, at, &results));
    KILN_TRY(finish_body(lw, f, results, body->nout, first, f->captured.v, f->captured.n, out));
    return f->captured.n ? KILN_OK : remember(lw, body, at, *out);
}

static kiln_status pass_captured(lowering *lw, frame *f, const frame *inner, kn_atom *in)
{
    for (uint32_t i = 0; i < inner->captured.n; i++) KILN_TRY(capture(lw, f, inner->captured.v[i], &in[i]));
    return KILN_OK;
}

/* while: operands are the condition's constants, the body's constants, the initial carries. */
static kiln_status lower_while(lowering *lw, frame *f, kn_eqn *e, site at)
{
    enum { COND, BODY };
    static const char *const names[2][2] = {{"cond_jaxpr", "cond_nconsts"}, {"body_jaxpr", "body_nconsts"}};
    kn_param *params = kn_arena_copy(&lw->scratch, e->params, e->prim->nparams * sizeof *params);
    KILN_TRY_MEM(lw->ctx, params);
    frame inner[2] = {{.main = false}, {.main = false}};
    uint32_t nconsts[2];
    for (int k = 0; k < 2; k++) {
        kn_param *body = &params[kn_param_of(e, names[k][0]) - e->params], *n = &params[kn_param_of(e, names[k][1]) - e->params];
        nconsts[k] = (uint32_t)n->i;
        KILN_TRY(lower_body(lw, body->jaxpr, nconsts[k], at, &body->jaxpr, &inner[k]));
        n->i += inner[k].captured.n;
    }
    uint32_t nc = inner[COND].captured.n, nb = inner[BODY].captured.n, first = nconsts[COND] + nconsts[BODY];
    if (nc + nb) {
        kn_atom *in = KN_NEWN(&lw->scratch, kn_atom, e->nin + nc + nb), *to = in;
        KILN_TRY_MEM(lw->ctx, in);
        memcpy(to, e->in, nconsts[COND] * sizeof *in), to += nconsts[COND];
        KILN_TRY(pass_captured(lw, f, &inner[COND], to));
        to += nc;
        memcpy(to, e->in + nconsts[COND], nconsts[BODY] * sizeof *in), to += nconsts[BODY];
        KILN_TRY(pass_captured(lw, f, &inner[BODY], to));
        to += nb;
        memcpy(to, e->in + first, (e->nin - first) * sizeof *in);
        e->in = in;
        e->nin += nc + nb;
    }
    e->params = params;
    return KILN_OK;
}

/* cond: every branch takes the same operands, so each gets the constants of all. */
static kiln_status lower_cond(lowering *lw, frame *f, kn_eqn *e, site at)
{
    const kn_param *branches = kn_param_of(e, "branches");
    uint32_t n = branches->n;
    kn_param *params = kn_arena_copy(&lw->scratch, e->params, e->prim->nparams * sizeof *params);
    kn_param *items = kn_arena_copy(&lw->scratch, branches->items, n * sizeof *items);
    frame *inner = KN_NEWN(&lw->scratch, frame, n);
    kn_atom **results = KN_NEWN(&lw->scratch, kn_atom *, n);
    KILN_TRY_MEM(lw->ctx, params && items && inner && results);
    frame all = {.main = false}; /* only its list of captured arrays is used */
    kn_build_init(&all.b, lw->ctx, lw->out);
    for (uint32_t i = 0; i < n; i++) {
        kn_atom atom;
        KILN_TRY(lower_into(lw, &inner[i], items[i].jaxpr, at, &results[i]));
        for (uint32_t k = 0; k < inner[i].captured.n; k++) KILN_TRY(capture(lw, &all, inner[i].captured.v[k], &atom));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t nargs = kn_nargs(items[i].jaxpr), nout = items[i].jaxpr->nout;
        KILN_TRY(finish_body(lw, &inner[i], results[i], nout, nargs, all.captured.v, all.captured.n, &items[i].jaxpr));
    }
    if (all.captured.n) {
        kn_atom *in = KN_NEWN(&lw->scratch, kn_atom, e->nin + all.captured.n);
        KILN_TRY_MEM(lw->ctx, in);
        memcpy(in, e->in, e->nin * sizeof *in);
        KILN_TRY(pass_captured(lw, f, &all, in + e->nin));
        e->in = in;
        e->nin += all.captured.n;
    }
    params[branches - e->params].items = items;
    e->params = params;
    return KILN_OK;
}

/* Bodies of any other primitive: a primitive of one body that may capture (num_consts) is passed the arrays that the body holds, as
 * the last of its captures; no other body holds any. */
static kiln_status lower_param(lowering *lw, frame *f, kn_eqn *e, const kn_param *p, site at, kn_param *out, kn_param *consts)
{
    *out = *p;
    if (p->kind == KN_P_JAXPR) {
        frame inner = {.main = false};
        uint32_t before = consts && consts->kind == KN_P_INT ? (uint32_t)consts->i : 0, n;
        KILN_TRY(lower_body(lw, p->jaxpr, consts ? before : kn_nargs(p->jaxpr), at, &out->jaxpr, &inner));
        if ((n = inner.captured.n) == 0) return KILN_OK;
        if (!consts)
            return kn_fail_at(lw->ctx, KILN_UNSUPPORTED, "unsupported", place_of(lw, e), "a body without constants",
                              "%s: its body holds %u constants", e->prim->name, n);
        kn_atom *in = KN_NEWN(&lw->scratch, kn_atom, e->nin + n);
        KILN_TRY_MEM(lw->ctx, in);
        memcpy(in, e->in, before * sizeof *in);
        KILN_TRY(pass_captured(lw, f, &inner, in + before));
        memcpy(in + before + n, e->in + before, (e->nin - before) * sizeof *in);
        e->in = in;
        e->nin += n;
        *consts = KN_INT(before + n);
    } else if (p->kind == KN_P_TUPLE || p->kind == KN_P_RECORD) {
        kn_param *items = KN_NEWN(&lw->scratch, kn_param, p->n);
        KILN_TRY_MEM(lw->ctx, items);
        for (uint32_t i = 0; i < p->n; i++) KILN_TRY(lower_param(lw, f, e, &p->items[i], at, &items[i], NULL));
        out->items = items;
    }
    return KILN_OK;
}

static void seen_body(void *ud, const kn_jaxpr *body)
{
    (void)body;
    *(bool *)ud = true;
}

static kiln_status lower_bodies(lowering *lw, frame *f, kn_eqn *e, site at)
{
    if (strcmp(e->prim->name, "while") == 0) return lower_while(lw, f, e, at);
    if (strcmp(e->prim->name, "cond") == 0) return lower_cond(lw, f, e, at);
    bool any = false;
    kn_eqn_bodies(e, seen_body, &any);
    if (!any) return KILN_OK;
    kn_param *params = kn_arena_copy(&lw->scratch, e->params, e->prim->nparams * sizeof *params), consts = KN_NONE;
    KILN_TRY_MEM(lw->ctx, params);
    const kn_param *count = kn_param_of(e, "num_consts");
    bool captures = count && (count->kind == KN_P_INT || count->kind == KN_P_NONE);
    if (captures) consts = *count;
    for (uint32_t i = 0; i < e->prim->nparams; i++)
        KILN_TRY(lower_param(lw, f, e, &e->params[i], at, &params[i], captures ? &consts : NULL));
    if (captures) params[count - e->params] = consts;
    e->params = params;
    return KILN_OK;
}

/* ---- the walk ---- */

static kiln_status append(lowering *lw, frame *f, const kn_eqn *e, site at, const kn_atom *x, kn_atom *y)
{
    kn_eqn own = *e;
    own.in = x;
    KILN_TRY(lower_bodies(lw, f, &own, at));
    KILN_TRY(join(lw, at.scope, e->scope, &f->b.scope));
    f->b.loc = e->loc.line ? e->loc : at.loc;
    return kn_build_eqn(&f->b, own.prim, own.params, own.in, own.nin, y, own.nout);
}

static kiln_status lower_eqn(lowering *lw, frame *f, const kn_jaxpr *j, const kn_eqn *e, site at, kn_atom *map)
{
    kn_atom few[16], *x = few, *y = few + 8;
    if (e->nin > 8) KILN_TRY_MEM(lw->ctx, x = KN_NEWN(&lw->scratch, kn_atom, e->nin));
    if (e->nout > 8) KILN_TRY_MEM(lw->ctx, y = KN_NEWN(&lw->scratch, kn_atom, e->nout));
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < e->nin; i++) x[i] = kn_build_map(&f->b, j, e->in[i], map, &status);
    KILN_TRY(status);
    const kn_jaxpr *body = kn_called(e);
    if (body && kn_nargs(body) == e->nin && body->nout == e->nout) {
        site inside = {.loc = e->loc.line ? e->loc : at.loc};
        KILN_TRY(join(lw, at.scope, e->scope, &inside.scope));
        KILN_TRY(inline_body(lw, f, body, x, inside, y));
    } else if (kn_lower_rule(j, e) && !kn_stays(j, e)) KILN_TRY(apply_rule(lw, f, j, e, x, at, y));
    else if ((e->prim->flags & KN_LEVEL_TRACED) && !kn_stays(j, e))
        return kn_fail_at(lw->ctx, KILN_UNSUPPORTED, "unsupported", place_of(lw, e), NULL,
                          "%s cannot be compiled: it has no lowering", e->prim->name);
    else KILN_TRY(append(lw, f, e, at, x, y));
    for (uint32_t i = 0; i < e->nout; i++) map[e->out[i]] = y[i];
    return KILN_OK;
}

/* ---- size ---- */

/* Equations of a body once all calls are inlined, each composite counted once: a sum over the shared bodies, so that calls that
 * double at every level are refused before anything is built. */
static kiln_status measure(lowering *lw, const kn_jaxpr *j, uint32_t depth, uint64_t *n);

typedef struct measuring {
    lowering *lw;
    uint32_t depth;
    uint64_t n;
    kiln_status status;
} measuring;

static void measure_body(void *ud, const kn_jaxpr *body)
{
    measuring *m = ud;
    uint64_t n = 0;
    if (m->status == KILN_OK) m->status = measure(m->lw, body, m->depth + 1, &n);
    m->n += n;
}

static kiln_status measure(lowering *lw, const kn_jaxpr *j, uint32_t depth, uint64_t *n)
{
    uint32_t known = kn_map_get(&lw->sizes, kn_map_address(j));
    if (known) {
        *n = lw->size.v[known - 1];
        return KILN_OK;
    }
    if (depth > MAX_DEPTH) return kn_fail(lw->ctx, KILN_INVALID, "calls and bodies are nested more than %d deep", MAX_DEPTH);
    measuring m = {lw, depth, j->neqns, KILN_OK};
    for (uint32_t k = 0; k < j->neqns && m.status == KILN_OK; k++) {
        kn_eqn_bodies(&j->eqns[k], measure_body, &m);
        if (m.status == KILN_OK && m.n > MAX_EQUATIONS)
            return kn_fail_at(lw->ctx, KILN_INVALID, "", place_of(lw, &j->eqns[k]), NULL,
                              "the program has more than %d equations once its calls are inlined", MAX_EQUATIONS);
    }
    KILN_TRY(m.status);
    *n = m.n;
    KILN_TRY_MEM(lw->ctx, kn_push(&lw->scratch, &lw->size, m.n) &&
                              kn_map_put(&lw->scratch, &lw->sizes, kn_map_address(j), lw->size.n));
    return KILN_OK;
}

static kiln_status lower_main(lowering *lw, const kn_jaxpr *j)
{
    frame f = {.main = true};
    kn_build_init(&f.b, lw->ctx, lw->out);
    kn_atom *x = KN_NEWN(&lw->scratch, kn_atom, kn_nargs(j)), *y = KN_NEWN(&lw->scratch, kn_atom, j->nout);
    KILN_TRY_MEM(lw->ctx, x && y);
    for (uint32_t i = 0; i < kn_nargs(j); i++) KILN_TRY(kn_build_input(&f.b, kn_type_of(j, j->in[j->nconsts + i]), &x[i]));
    KILN_TRY(inline_body(lw, &f, j, x, (site){.scope = 0}, y));
    return kn_build_finish(&f.b, y, j->nout, &lw->out->main);
}

kiln_status kn_lower(kiln_ctx *ctx, const kn_prog *traced, kn_prog **out)
{
    *out = NULL;
    lowering lw = {.ctx = ctx};
    uint64_t size;
    KILN_TRY(kn_prog_runnable(ctx, traced));
    KILN_TRY(kn_prog_new(ctx, traced, &lw.out));
    lw.out->level = KN_LOWERED;
    kn_arena_init(&lw.scratch, &ctx->alloc);
    kiln_status status = measure(&lw, traced->main, 0, &size);
    if (status == KILN_OK) status = lower_main(&lw, traced->main);
#ifdef KN_DEBUG
    if (status == KILN_OK) status = kn_verify(ctx, lw.out);
#endif
    kn_arena_fini(&lw.scratch);
    if (status == KILN_OK) status = kn_split(ctx, lw.out, out);
    kiln_prog_release(lw.out);
    return status;
}
