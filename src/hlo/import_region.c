/* SPDX-License-Identifier: Apache-2.0 */
/* Regions as closed bodies; values that are tuples. */
#include "hlo/import.h"

/* ---- captures ---- */

static kiln_status walk(kn_himport *h, const kn_mregion *r, uint32_t first, void *pids)
{
    KN_VEC(uint32_t) *ids = pids;
    for (const kn_mop *o = r->ops; o; o = o->next) {
        for (uint32_t i = 0; i < o->nin; i++) {
            uint32_t id = o->in[i];
            if (id >= first || h->mark[id] == h->epoch) continue;
            h->mark[id] = h->epoch;
            KILN_TRY_MEM(h->ctx, kn_push(h->arena, ids, id));
        }
        for (uint32_t i = 0; i < o->nregions; i++) KILN_TRY(walk(h, &o->regions[i], first, pids));
    }
    return KILN_OK;
}

kiln_status kn_hcaptures(kn_himport *h, const kn_mregion *regions, uint32_t n, const uint32_t **ids, uint32_t *count)
{
    KN_VEC(uint32_t) found = {0};
    h->epoch++;
    for (uint32_t i = 0; i < n; i++) KILN_TRY(walk(h, &regions[i], regions[0].first, &found));
    *ids = found.v;
    *count = found.n;
    return KILN_OK;
}

kiln_status kn_hflatten(kn_himport *h, const kn_hvalue *v, kn_hatoms *out)
{
    if (v->kind == KN_H_ARRAY) KILN_TRY_MEM(h->ctx, kn_push(h->arena, out, v->atom));
    for (uint32_t i = 0; v->kind == KN_H_TUPLE && i < v->n; i++) KILN_TRY(kn_hflatten(h, &v->items[i], out));
    return KILN_OK;
}

kiln_status kn_hin_flat(kn_himport *h, const kn_mop *o, uint32_t k, kn_hatoms *out)
{
    kn_atom a;
    if (h->vals[o->in[k]].kind == KN_H_TUPLE) return kn_hflatten(h, &h->vals[o->in[k]], out);
    KILN_TRY(kn_hin(h, o, k, &a));
    KILN_TRY_MEM(h->ctx, kn_push(h->arena, out, a));
    return KILN_OK;
}

kiln_status kn_hcapture_atoms(kn_himport *h, const uint32_t *ids, uint32_t n, kn_hatoms *out)
{
    kn_hatoms all = {0};
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_hflatten(h, &h->vals[ids[i]], &all));
    for (uint32_t i = 0; i < all.n; i++)
        if (!kn_is_literal(all.v[i])) KILN_TRY_MEM(h->ctx, kn_push(h->arena, out, all.v[i]));
    return KILN_OK;
}

/* The same value inside the body `to`: arrays are inputs of it, literals are made again. */
static kiln_status bring_in(kn_himport *h, kn_build *to, kn_hwritten *written, const kn_hvalue *v, kn_hvalue *out)
{
    *out = *v;
    if (v->kind == KN_H_ARRAY) {
        if (!kn_is_literal(v->atom)) return kn_build_input(to, kn_htype(h, v->atom), &out->atom);
        uint32_t outer = kn_literal_index(v->atom);
        const kn_lit *l = &h->b->lits.v[outer];
        KILN_TRY(kn_build_literal(to, l->dtype, l->value, &out->atom));
        kn_written_capture c = {kn_literal_index(out->atom), outer};
        KILN_TRY_MEM(h->ctx, kn_push(&h->prog->arena, &written->captures, c));
        return KILN_OK;
    }
    if (v->kind != KN_H_TUPLE) return KILN_OK;
    kn_hvalue *items = KN_NEWN(h->arena, kn_hvalue, v->n);
    KILN_TRY_MEM(h->ctx, items);
    for (uint32_t i = 0; i < v->n; i++) KILN_TRY(bring_in(h, to, written, &v->items[i], &items[i]));
    out->items = items;
    return KILN_OK;
}

/* ---- values by type ---- */

kiln_status kn_hunflatten(kn_himport *h, const kn_mtype *t, const kn_atom *atoms, uint32_t *k, kn_hvalue *out)
{
    *out = (kn_hvalue){.kind = KN_H_NONE};
    if (t->kind == KN_MT_TENSOR) *out = (kn_hvalue){.kind = KN_H_ARRAY, .atom = atoms[(*k)++]};
    if (t->kind != KN_MT_TUPLE) return KILN_OK;
    kn_hvalue *items = KN_NEWN(h->arena, kn_hvalue, t->n);
    KILN_TRY_MEM(h->ctx, items);
    for (uint32_t i = 0; i < t->n; i++) KILN_TRY(kn_hunflatten(h, t->items[i], atoms, k, &items[i]));
    *out = (kn_hvalue){.kind = KN_H_TUPLE, .n = t->n, .items = items};
    return KILN_OK;
}

static uint32_t arrays_in(const kn_mtype *t)
{
    uint32_t n = t->kind == KN_MT_TENSOR;
    for (uint32_t i = 0; t->kind == KN_MT_TUPLE && i < t->n; i++) n += arrays_in(t->items[i]);
    return n;
}

kiln_status kn_hset_flat(kn_himport *h, const kn_mop *o, const kn_atom *atoms, uint32_t n)
{
    uint32_t k = 0, need = 0;
    for (uint32_t i = 0; i < o->nout; i++) need += arrays_in(h->func->values[o->out + i].type);
    if (need != n) return kn_hbad(h, o, "there are %u results, but %u are written", n, need);
    for (uint32_t i = 0; i < o->nout; i++) {
        const kn_mtype *t = h->func->values[o->out + i].type;
        if (t->kind == KN_MT_TENSOR) KILN_TRY(kn_hset(h, o, i, atoms[k++]));
        else KILN_TRY(kn_hunflatten(h, t, atoms, &k, &h->vals[o->out + i]));
    }
    return KILN_OK;
}

/* ---- bodies ---- */

static kiln_status input_of_type(kn_himport *h, const kn_mregion *region, const kn_mtype *t, kn_hvalue *out)
{
    *out = (kn_hvalue){.kind = KN_H_NONE};
    if (t->kind == KN_MT_TENSOR) {
        if (!t->known || t->dynamic || kiln_type_size(t->type) < 0)
            return kn_source_fail(&h->m->src, region->at, KILN_UNSUPPORTED, "unsupported", "tensors of a fixed shape", "an argument of type %.*s",
                                  KN_SPAN_ARG(t->text));
        out->kind = KN_H_ARRAY;
        return kn_build_input(h->b, t->type, &out->atom);
    }
    if (t->kind != KN_MT_TUPLE) return KILN_OK;
    kn_hvalue *items = KN_NEWN(h->arena, kn_hvalue, t->n);
    KILN_TRY_MEM(h->ctx, items);
    for (uint32_t i = 0; i < t->n; i++) KILN_TRY(input_of_type(h, region, t->items[i], &items[i]));
    *out = (kn_hvalue){.kind = KN_H_TUPLE, .n = t->n, .items = items};
    return KILN_OK;
}

kiln_status kn_hinline(kn_himport *h, const kn_mregion *region, kn_hatoms *results)
{
    uint32_t scope = h->b->scope;
    kn_loc loc = h->b->loc;
    const kn_mop *o = region->ops;
    if (++h->depth > 400) return kn_source_fail(&h->m->src, region->at, KILN_UNSUPPORTED, "unsupported", NULL, "calls and regions are nested too deep");
    for (; o && o->next; o = o->next) KILN_TRY(kn_himport_op(h, o));
    if (!o || (!kn_span_is(o->name, "stablehlo.return") && !kn_span_is(o->name, "func.return") && !kn_span_is(o->name, "mhlo.return")))
        return kn_source_fail(&h->m->src, o ? o->at : region->at, KILN_INVALID, "operation", NULL, "a region must end with a return");
    for (uint32_t i = 0; i < o->nin; i++) KILN_TRY(kn_hin_flat(h, o, i, results));
    h->depth--;
    h->b->scope = scope;
    h->b->loc = loc;
    return KILN_OK;
}

kiln_status kn_hregion(kn_himport *h, const kn_mregion *region, const uint32_t *captured, uint32_t n, const kn_jaxpr **out)
{
    kn_build own, *outer = h->b;
    kn_hwritten written = {0}, *around = h->written;
    kn_build_init(&own, h->ctx, h->prog);
    own.scope = outer->scope;
    own.loc = outer->loc;
    kn_hvalue *saved = KN_NEWN(h->arena, kn_hvalue, n), *inside = KN_NEWN(h->arena, kn_hvalue, n);
    KILN_TRY_MEM(h->ctx, saved && inside);
    for (uint32_t i = 0; i < n; i++) {
        saved[i] = h->vals[captured[i]];
        KILN_TRY(bring_in(h, &own, &written, &saved[i], &inside[i]));
    }
    for (uint32_t i = 0; i < n; i++) h->vals[captured[i]] = inside[i];
    h->b = &own;
    h->written = &written;
    h->region++;
    for (uint32_t i = 0; i < region->nargs; i++)
        KILN_TRY(input_of_type(h, region, h->func->values[region->args + i].type, &h->vals[region->args + i]));
    kn_hatoms results = {0};
    KILN_TRY(kn_hinline(h, region, &results));
    KILN_TRY(kn_hwrote(h));
    KILN_TRY(kn_build_finish(&own, results.v, results.n, out));
    for (uint32_t i = 0; i < n; i++) h->vals[captured[i]] = saved[i];
    h->region--;
    h->b = outer;
    h->written = around;
    return KILN_OK;
}

const kn_prim *kn_hcombiner(const kn_jaxpr *j, bool *swapped)
{
    *swapped = false;
    if (kn_nargs(j) != 2 || j->nconsts || j->neqns != 1 || j->nout != 1) return NULL;
    const kn_eqn *e = &j->eqns[0];
    if (e->nin != 2 || e->nout != 1 || j->out[0] != e->out[0]) return NULL;
    if (e->in[0] == j->in[1] && e->in[1] == j->in[0]) *swapped = true;
    else if (e->in[0] != j->in[0] || e->in[1] != j->in[1]) return NULL;
    return e->prim;
}
