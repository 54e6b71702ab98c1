/* SPDX-License-Identifier: Apache-2.0 */
/* The reference interpreter: equation by equation, as traced. Before a body runs for the first time it is prepared: composites
 * get the jaxpr that their lower rule makes of them, literals become arrays, and each equation the list of variables that
 * die with it. Nothing is shared with the compiler but the scalar routines of rt/ and the lower rules. */
#include "eval/eval.h"

#include "base/fpmode.h"
#include "ir/size.h"
#include "prim/common.h"

typedef struct plan plan;

typedef struct step {
    const kn_eqn *e;
    plan *lowered;  /* of a composite without an eval rule */
    uint32_t *dead; /* variables read (or bound) here and never later */
    uint32_t ndead;
} step;

struct plan {
    const kn_jaxpr *j;
    step *steps;
    kiln_array **vals; /* per variable; a body is active at most once at a time. Inputs are borrowed */
    kiln_array **lits; /* per literal */
    kiln_array **in, **out; /* room for one equation */
};

typedef struct evaluator {
    kn_eval base;
    const kn_prog *prog;
    kn_prog *lowered; /* holds what lower rules make */
    kn_arena *arena;  /* that of `lowered`: holds the plans too */
    KN_VEC(plan *) all;
    plan **table; /* open addressing by the jaxpr's address */
    uint32_t slots;
    bool noted; /* the failing equation has been named */
} evaluator;

static kiln_status prepare(evaluator *v, const kn_jaxpr *j, plan **out);

/* ---- finding and making plans ---- */

static uint32_t slot_of(const kn_jaxpr *j, uint32_t slots)
{
    return (uint32_t)(((uint64_t)(uintptr_t)j >> 4) * 0x9e3779b97f4a7c15u >> 40) & (slots - 1);
}

static plan **find(const evaluator *v, const kn_jaxpr *j)
{
    uint32_t k = slot_of(j, v->slots);
    while (v->table[k] && v->table[k]->j != j) k = (k + 1) & (v->slots - 1);
    return &v->table[k];
}

static kiln_status enter(evaluator *v, plan *p)
{
    kiln_ctx *ctx = v->base.ctx;
    if (2 * (v->all.n + 1) > v->slots) {
        v->slots = v->slots ? 2 * v->slots : 16;
        KILN_TRY_MEM(ctx, v->table = KN_NEWN(v->arena, plan *, v->slots));
        for (uint32_t i = 0; i < v->all.n; i++) *find(v, v->all.v[i]->j) = v->all.v[i];
    }
    KILN_TRY_MEM(ctx, kn_push(v->arena, &v->all, p));
    *find(v, p->j) = p;
    return KILN_OK;
}

static kiln_status lower_step(evaluator *v, const kn_jaxpr *j, step *s)
{
    const kn_eqn *e = s->e;
    kn_build b;
    kn_build_init(&b, v->base.ctx, v->lowered);
    kn_atom *x = KN_NEWN(v->arena, kn_atom, e->nin), *y = KN_NEWN(v->arena, kn_atom, e->nout);
    KILN_TRY_MEM(v->base.ctx, x && y);
    for (uint32_t i = 0; i < e->nin; i++) KILN_TRY(kn_build_input(&b, kn_in_type(j, e, i), &x[i]));
    b.scope = e->scope, b.loc = e->loc;
    KILN_TRY(kn_lower_rule(j, e)(NULL, &b, j, e, x, y));
    const kn_jaxpr *body;
    KILN_TRY(kn_build_finish(&b, y, e->nout, &body));
    return prepare(v, body, &s->lowered);
}

/* Fills the lists of variables that die: a variable dies at its last use, or where it is bound; outputs and inputs do not. */
static kiln_status lifetimes(evaluator *v, plan *p)
{
    const kn_jaxpr *j = p->j;
    enum { KEPT = 0 };
    uint32_t *last = KN_NEWN(v->arena, uint32_t, j->nvars); /* step + 1, or KEPT */
    KILN_TRY_MEM(v->base.ctx, last);
    for (uint32_t k = 0; k < j->neqns; k++) {
        for (uint32_t i = 0; i < j->eqns[k].nin; i++)
            if (!kn_is_literal(j->eqns[k].in[i])) last[j->eqns[k].in[i]] = k + 1;
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) last[j->eqns[k].out[i]] = k + 1;
    }
    for (uint32_t i = 0; i < j->nin; i++) last[j->in[i]] = KEPT;
    for (uint32_t i = 0; i < j->nout; i++)
        if (!kn_is_literal(j->out[i])) last[j->out[i]] = KEPT;
    for (uint32_t x = 0; x < j->nvars; x++)
        if (last[x] != KEPT) p->steps[last[x] - 1].ndead++;
    for (uint32_t k = 0; k < j->neqns; k++) {
        KILN_TRY_MEM(v->base.ctx, p->steps[k].dead = KN_NEWN(v->arena, uint32_t, p->steps[k].ndead));
        p->steps[k].ndead = 0;
    }
    for (uint32_t x = 0; x < j->nvars; x++) {
        if (last[x] == KEPT) continue;
        step *s = &p->steps[last[x] - 1];
        s->dead[s->ndead++] = x;
    }
    return KILN_OK;
}

static kiln_status failed_at(evaluator *v, const kn_eqn *e, kiln_status s)
{
    if (s == KILN_OK || v->noted) return s;
    v->noted = true;
    const char *file = e->loc.file < v->prog->files.n ? v->prog->files.v[e->loc.file] : "";
    if (e->loc.line) kn_note(v->base.ctx, "while evaluating %s, from %s:%u", e->prim->name, file, e->loc.line);
    else kn_note(v->base.ctx, "while evaluating %s", e->prim->name);
    return s;
}

static kiln_status prepare(evaluator *v, const kn_jaxpr *j, plan **out)
{
    kiln_ctx *ctx = v->base.ctx;
    plan *p = KN_NEW(v->arena, plan);
    KILN_TRY_MEM(ctx, p);
    p->j = j;
    uint32_t nin = 1, nout = 1;
    for (uint32_t k = 0; k < j->neqns; k++) {
        if (j->eqns[k].nin > nin) nin = j->eqns[k].nin;
        if (j->eqns[k].nout > nout) nout = j->eqns[k].nout;
    }
    p->steps = KN_NEWN(v->arena, step, j->neqns);
    p->vals = KN_NEWN(v->arena, kiln_array *, j->nvars);
    p->lits = KN_NEWN(v->arena, kiln_array *, j->nlits);
    p->in = KN_NEWN(v->arena, kiln_array *, nin);
    p->out = KN_NEWN(v->arena, kiln_array *, nout);
    KILN_TRY_MEM(ctx, p->steps && p->vals && p->lits && p->in && p->out);
    KILN_TRY(enter(v, p)); /* from here on the evaluator's end releases its arrays */
    for (uint32_t i = 0; i < j->nlits; i++) {
        KILN_TRY(kiln_array_create(ctx, KILN_SCALAR(j->lits[i].dtype), &p->lits[i]));
        kn_scalar_store(j->lits[i].dtype, p->lits[i]->data, 0, j->lits[i].value);
    }
    for (uint32_t k = 0; k < j->neqns; k++) {
        step *s = &p->steps[k];
        s->e = &j->eqns[k];
        kn_lower_fn rule = kn_lower_rule(j, s->e);
        if (s->e->prim->eval && (!rule || rule == s->e->prim->lower)) continue;
        if (!rule)
            return failed_at(v, s->e, kn_fail(ctx, KILN_UNSUPPORTED, "%s cannot be evaluated: it has no eval rule", s->e->prim->name));
        KILN_TRY(failed_at(v, s->e, lower_step(v, j, s)));
    }
    KILN_TRY(lifetimes(v, p));
    *out = p;
    return KILN_OK;
}

/* ---- running ---- */

static kiln_status run_plan(evaluator *v, plan *p, kiln_array *const *in, kiln_array **out);

static kiln_array *value(const plan *p, kn_atom a) { return kn_is_literal(a) ? p->lits[kn_literal_index(a)] : p->vals[a]; }

static kiln_status run_step(evaluator *v, plan *p, const step *s)
{
    const kn_eqn *e = s->e;
    for (uint32_t i = 0; i < e->nin; i++) p->in[i] = value(p, e->in[i]);
    for (uint32_t i = 0; i < e->nout; i++) p->out[i] = NULL;
    kiln_status status = KILN_OK;
    if (s->lowered) {
        status = run_plan(v, s->lowered, p->in, p->out);
    } else {
        for (uint32_t i = 0; status == KILN_OK && i < e->nout; i++)
            status = kiln_array_create(v->base.ctx, kn_out_type(p->j, e, i), &p->out[i]);
        if (status == KILN_OK) status = e->prim->eval(&v->base, p->j, e, p->in, p->out);
    }
    if (status != KILN_OK) {
        for (uint32_t i = 0; i < e->nout; i++) kiln_array_release(p->out[i]);
        return failed_at(v, e, status);
    }
    for (uint32_t i = 0; i < e->nout; i++) p->vals[e->out[i]] = p->out[i];
    for (uint32_t i = 0; i < s->ndead; i++) {
        kiln_array_release(p->vals[s->dead[i]]);
        p->vals[s->dead[i]] = NULL;
    }
    return KILN_OK;
}

/* `out` holds the results on success, and only NULLs otherwise. */
static kiln_status run_plan(evaluator *v, plan *p, kiln_array *const *in, kiln_array **out)
{
    const kn_jaxpr *j = p->j;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < j->nin; i++) p->vals[j->in[i]] = i < j->nconsts ? j->consts[i] : in[i - j->nconsts];
    for (uint32_t k = 0; status == KILN_OK && k < j->neqns; k++) status = run_step(v, p, &p->steps[k]);
    for (uint32_t i = 0; i < j->nout; i++) out[i] = status == KILN_OK ? kiln_array_retain(value(p, j->out[i])) : NULL;
    for (uint32_t i = 0; i < j->nin; i++) p->vals[j->in[i]] = NULL; /* borrowed */
    for (uint32_t k = 0; status != KILN_OK && k < j->neqns; k++)
        for (uint32_t i = 0; i < j->eqns[k].nout; i++) {
            kiln_array_release(p->vals[j->eqns[k].out[i]]);
            p->vals[j->eqns[k].out[i]] = NULL;
        }
    for (uint32_t i = 0; status == KILN_OK && i < j->nout; i++) { /* what was kept for the results */
        kn_atom a = j->out[i];
        if (kn_is_literal(a) || !p->vals[a]) continue;
        kiln_array_release(p->vals[a]);
        p->vals[a] = NULL;
    }
    return status;
}

static kiln_status run(kn_eval *ev, const kn_jaxpr *body, kiln_array *const *in, kiln_array **out)
{
    evaluator *v = (evaluator *)ev; /* base comes first */
    plan *p = v->slots ? *find(v, body) : NULL;
    if (!p) KILN_TRY(prepare(v, body, &p));
    return run_plan(v, p, in, out);
}

static void release_all(evaluator *v)
{
    for (uint32_t i = 0; i < v->all.n; i++)
        for (uint32_t k = 0; k < v->all.v[i]->j->nlits; k++) kiln_array_release(v->all.v[i]->lits[k]);
}

/* Results are the caller's alone: what is also an input, a constant, a literal or another result is copied. */
static kiln_status unshare(kiln_ctx *ctx, kiln_array **a)
{
    if (atomic_load(&(*a)->refs) == 1) return KILN_OK;
    kiln_array *copy;
    KILN_TRY(kiln_array_create(ctx, (*a)->type, &copy));
    if (copy->bytes) memcpy(copy->data, (*a)->data, copy->bytes);
    kiln_array_release(*a);
    *a = copy;
    return KILN_OK;
}

/* Of a program whose size is given by its inputs. */
static kiln_status eval_at(kiln_ctx *ctx, const kn_prog *p, int64_t n, kiln_array *const *in, kiln_array **out, const bool *stop)
{
    kn_prog *sized;
    KILN_TRY(kn_prog_at(ctx, p, n, &sized));
    kiln_status status = kn_prog_eval(ctx, sized, in, out, stop);
    kiln_prog_release(sized);
    return status;
}

kiln_status kn_prog_eval(kiln_ctx *ctx, const kn_prog *p, kiln_array *const *in, kiln_array **out, const bool *stop)
{
    uint32_t nout = p->main->nout;
    for (uint32_t i = 0; i < nout; i++) out[i] = NULL;
    KILN_TRY(kn_prog_runnable(ctx, p));
    int64_t n;
    KILN_TRY(kn_prog_size_of(ctx, p, in, "", &n));
    if (kn_prog_open(p)) return eval_at(ctx, p, n, in, out, stop);
    evaluator v = {.base = {.ctx = ctx, .run = run, .stop = stop}, .prog = p};
    KILN_TRY(kn_prog_new(ctx, p, &v.lowered));
    v.arena = &v.lowered->arena;
    kn_fpmode mode = kn_fpmode_enter_as((ctx->fast & KILN_FAST_FLUSH) != 0);
    kiln_status s = run(&v.base, p->main, in, out);
    kn_fpmode_leave(mode);
    release_all(&v);
    for (uint32_t i = 0; s == KILN_OK && i < nout; i++) s = unshare(ctx, &out[i]);
    for (uint32_t i = 0; s != KILN_OK && i < nout; i++) {
        kiln_array_release(out[i]);
        out[i] = NULL;
    }
    kiln_prog_release(v.lowered);
    return s;
}

kiln_status kiln_prog_eval(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, kiln_array **out)
{
    return kn_prog_eval(ctx, p, in, out, NULL);
}
