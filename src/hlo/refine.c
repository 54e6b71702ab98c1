/* SPDX-License-Identifier: Apache-2.0 */
/* Modules for any number of rows, as jax.export writes them: every `?` of an argument of the entry is the size n. From there each value
 * gets its type, whose dimensions are a * n + b (array/size.h), before anything is imported; a callee gets its types from its first call.
 * Shapes are computed in such texts, so small integers are followed too: the numbers of a shape are linear in n like the dimensions.
 *
 * Needs: a tree.   Leaves: types without `?` in all functions that the entry reaches.   Cost: linear in the operations; nothing where the
 * arguments have fixed shapes. The rule of an operation is trusted no further than its import, which holds the type against its equation's. */
#include "hlo/refine.h"

enum { DEEP = 256 };

struct kn_hrefined {
    bool begun, done;
    const kn_mknown *results;
};

static kiln_status region(kn_hrefining *r, const kn_mregion *g);

/* ---- types ---- */

/* The written type with these dimensions in place of its own, where they are what is written but for `?`. */
static kiln_status with_dims(kn_hrefining *r, const kn_mop *o, const kn_mtype *written, const int64_t *dims, uint32_t rank, const kn_mtype **out)
{
    bool fits = written->type.rank == rank;
    for (uint32_t d = 0; fits && d < rank; d++) fits = written->type.dims[d] < 0 ? dims[d] >= 0 : written->type.dims[d] == dims[d];
    if (!fits) {
        kiln_type found = {written->type.dtype, rank, dims};
        return kn_hbad(&r->h, o, "its result is %s, but %.*s is written", kn_type_show(found).s, KN_SPAN_ARG(written->text));
    }
    kn_mtype *t = kn_arena_copy(r->h.arena, written, sizeof *t);
    int64_t *own = KN_NEWN(r->h.arena, int64_t, rank);
    KILN_TRY_MEM(r->h.ctx, t && own);
    for (uint32_t d = 0; d < rank; d++) own[d] = dims[d];
    t->dynamic = false;
    t->type.dims = own;
    *out = t;
    return KILN_OK;
}

kiln_status kn_hset_dims(kn_hrefining *r, const kn_mop *o, uint32_t k, const int64_t *dims, uint32_t rank)
{
    kn_mvalue *v = &r->values[o->out + k];
    return kn_hopen_type(v->type) ? with_dims(r, o, v->type, dims, rank, &v->type) : KILN_OK;
}

/* A value takes the type of another one, where its own is open. */
static kiln_status set_like(kn_hrefining *r, const kn_mop *o, uint32_t value, const kn_mtype *t)
{
    kn_mvalue *v = &r->values[value];
    if (!kn_hopen_type(v->type) || t->kind != KN_MT_TENSOR) return KILN_OK;
    return with_dims(r, o, v->type, t->type.dims, t->type.rank, &v->type);
}

/* ---- control flow ---- */

static const kn_mop *terminator(const kn_mregion *g)
{
    const kn_mop *o = g->ops;
    while (o && o->next) o = o->next;
    return o;
}

static kiln_status loop(kn_hrefining *r, const kn_mop *o)
{
    for (uint32_t k = 0; k < o->nin && k < o->nout; k++) {
        const kn_mtype *t = kn_hrefined_type(r, o->in[k]);
        for (uint32_t g = 0; g < o->nregions; g++)
            if (k < o->regions[g].nargs) KILN_TRY(set_like(r, o, o->regions[g].args + k, t));
        KILN_TRY(set_like(r, o, o->out + k, t));
    }
    for (uint32_t g = 0; g < o->nregions; g++) KILN_TRY(region(r, &o->regions[g]));
    return KILN_OK;
}

static kiln_status branches(kn_hrefining *r, const kn_mop *o)
{
    for (uint32_t g = 0; g < o->nregions; g++) {
        KILN_TRY(region(r, &o->regions[g]));
        const kn_mop *last = terminator(&o->regions[g]);
        for (uint32_t k = 0; last && k < o->nout && k < last->nin; k++) KILN_TRY(set_like(r, o, o->out + k, kn_hrefined_type(r, last->in[k])));
    }
    return KILN_OK;
}

/* ---- functions ---- */

static bool known_same(const kn_mknown *a, const kn_mknown *b)
{
    return !a->v == !b->v && (!a->v || (a->n == b->n && memcmp(a->v, b->v, a->n * sizeof *a->v) == 0));
}

static kiln_status own_values(kn_hrefining *r, kn_mfunc *f)
{
    kn_mvalue *values = kn_arena_copy(r->h.arena, f->values, f->nvalues * sizeof *values);
    kn_mknown *known = KN_NEWN(r->h.arena, kn_mknown, f->nvalues + 1);
    KILN_TRY_MEM(r->h.ctx, (values || !f->nvalues) && known);
    f->values = r->values = values;
    f->known = r->known = known;
    r->f = f;
    r->h.func = f;
    return KILN_OK;
}

/* Types of results, and what is known of them, are those of what is returned. */
static kiln_status results_of(kn_hrefining *r, kn_mfunc *f)
{
    const kn_mop *last = terminator(&f->body);
    const kn_mtype **types = KN_NEWN(r->h.arena, const kn_mtype *, f->nresults + 1);
    kn_mknown *known = KN_NEWN(r->h.arena, kn_mknown, f->nresults + 1);
    KILN_TRY_MEM(r->h.ctx, types && known);
    for (uint32_t k = 0; k < f->nresults; k++) {
        bool given = last && k < last->nin;
        types[k] = f->results[k];
        if (given && kn_hopen_type(types[k])) types[k] = kn_hrefined_type(r, last->in[k]);
        if (given) known[k] = r->known[last->in[k]];
    }
    f->results = types;
    r->functions[f->index].results = known;
    return KILN_OK;
}

static kiln_status body(kn_hrefining *r, kn_mfunc *f)
{
    kn_hrefined *state = &r->functions[f->index];
    state->begun = true;
    KILN_TRY(region(r, &f->body));
    KILN_TRY(results_of(r, f));
    state->done = true;
    return KILN_OK;
}

static kiln_status callee(kn_hrefining *r, const kn_mop *o, const char *attr)
{
    const kn_mattr *name = kn_mop_attr(o, attr);
    const kn_mfunc *found = name ? kn_mfunc_find(r->h.m, r->f->chunk, name->text) : NULL;
    if (!found || !found->has_body || found->nargs != o->nin) return KILN_OK; /* the importer's error */
    kn_mfunc *f = r->h.m->funcs.v[found->index];
    kn_hrefined *state = &r->functions[f->index];
    if (state->begun && !state->done) return kn_hrefuse(&r->h, o, "stablehlo.while", "the function @%.*s calls itself", KN_SPAN_ARG(f->name));
    kn_hrefining outer = *r;
    if (!state->begun) {
        KILN_TRY(own_values(r, f));
        for (uint32_t i = 0; i < f->nargs; i++) {
            r->h.func = outer.f; /* whose operation an error names */
            KILN_TRY(set_like(r, o, i, outer.values[o->in[i]].type));
            r->known[i] = outer.known[o->in[i]];
        }
        r->h.func = f;
        if (++r->depth > DEEP) return kn_hrefuse(&r->h, o, NULL, "calls are nested more than %d deep", DEEP);
        KILN_TRY(body(r, f));
        *r = outer;
    }
    for (uint32_t i = 0; i < f->nargs; i++)
        if (!kn_mtype_same(f->values[i].type, kn_hrefined_type(r, o->in[i])) || !known_same(&f->known[i], &r->known[o->in[i]]))
            return kn_hrefuse(&r->h, o, "a function of its own for each shape", "@%.*s is called with two different shapes", KN_SPAN_ARG(f->name));
    for (uint32_t k = 0; k < o->nout && k < f->nresults; k++) {
        KILN_TRY(set_like(r, o, o->out + k, f->results[k]));
        r->known[o->out + k] = state->results[k];
    }
    return KILN_OK;
}

/* What a text asserts of its sizes must not be wrong: then it has two open sizes, of which one is a function of the other. */
static kiln_status assertion(kn_hrefining *r, const kn_mop *o)
{
    const kn_mknown *x = o->nin ? &r->known[o->in[0]] : NULL;
    if (!x || !x->v || x->n != 1 || x->v[0]) return KILN_OK;
    return kn_hrefuse(&r->h, o, "one open size, and arguments whose open dimension is that size", "an assertion about shapes fails where every open dimension of an argument is n");
}

static kiln_status operation(kn_hrefining *r, const kn_mop *o)
{
    if (kn_span_is(o->name, "func.call") || kn_span_is(o->name, "call")) return callee(r, o, "callee");
    if (kn_span_is(o->name, "stablehlo.composite")) return callee(r, o, "decomposition");
    if (kn_span_is(o->name, "stablehlo.while")) return loop(r, o);
    if (kn_span_is(o->name, "stablehlo.case") || kn_span_is(o->name, "stablehlo.if")) return branches(r, o);
    const kn_mattr *target = kn_span_is(o->name, "stablehlo.custom_call") ? kn_mop_attr(o, "call_target_name") : NULL;
    if (target && kn_span_is(target->text, "shape_assertion")) return assertion(r, o);
    for (uint32_t g = 0; g < o->nregions; g++) KILN_TRY(region(r, &o->regions[g]));
    bool open = false;
    for (uint32_t k = 0; k < o->nout; k++) open = open || kn_hopen_type(kn_hrefined_type(r, o->out + k));
    if (open) KILN_TRY(kn_hrefine_dims(r, o, target ? target->text : o->name));
    return kn_hfollow_numbers(r, o);
}

static kiln_status region(kn_hrefining *r, const kn_mregion *g)
{
    for (const kn_mop *o = g->ops; o; o = o->next) KILN_TRY(operation(r, o));
    return KILN_OK;
}

kiln_status kn_hrefine(kn_mmodule *m, const kn_mfunc *entry)
{
    kn_hrefining r = {.h = {.ctx = m->src.ctx, .arena = m->arena, .m = m, .func = entry}};
    kn_mfunc *f = m->funcs.v[entry->index];
    bool open = false;
    for (uint32_t i = 0; i < f->nargs; i++) open = open || kn_hopen_type(f->values[i].type);
    if (!open || !f->has_body) return KILN_OK;
    KILN_TRY_MEM(m->src.ctx, r.functions = KN_NEWN(m->arena, kn_hrefined, m->funcs.n));
    KILN_TRY(own_values(&r, f));
    for (uint32_t i = 0; i < f->nargs; i++) {
        kn_mtype *t = kn_arena_copy(m->arena, f->values[i].type, sizeof *t);
        KILN_TRY_MEM(m->src.ctx, t);
        if (!kn_hopen_type(t)) continue;
        int64_t *dims = kn_arena_copy(m->arena, t->type.dims, t->type.rank * sizeof *dims);
        KILN_TRY_MEM(m->src.ctx, dims);
        for (uint32_t d = 0; d < t->type.rank; d++)
            if (dims[d] < 0) dims[d] = KILN_DIM_N;
        t->type.dims = dims;
        t->dynamic = false;
        r.values[i].type = t;
    }
    return body(&r, f);
}
