/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow, calls, tuples, tokens. */
#include "hlo/import.h"

#include "prim/control.h"

static kiln_status while_loop(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const uint32_t *cond_ids, *body_ids;
    uint32_t n_cond, n_body;
    const kn_jaxpr *cond, *body;
    kn_hatoms in = {0};
    (void)row;
    if (o->nregions != 2) return kn_hbad(h, o, "two regions are needed, found %u", o->nregions);
    KILN_TRY(kn_hcaptures(h, &o->regions[0], 1, &cond_ids, &n_cond));
    KILN_TRY(kn_hcaptures(h, &o->regions[1], 1, &body_ids, &n_body));
    KILN_TRY(kn_hregion(h, &o->regions[0], cond_ids, n_cond, &cond));
    KILN_TRY(kn_hregion(h, &o->regions[1], body_ids, n_body, &body));
    KILN_TRY(kn_hcapture_atoms(h, cond_ids, n_cond, &in));
    uint32_t cond_consts = in.n;
    KILN_TRY(kn_hcapture_atoms(h, body_ids, n_body, &in));
    uint32_t consts = in.n;
    for (uint32_t i = 0; i < o->nin; i++) KILN_TRY(kn_hin_flat(h, o, i, &in));
    uint32_t n = in.n - consts;
    kn_atom *out = KN_NEWN(h->arena, kn_atom, n);
    KILN_TRY_MEM(h->ctx, out);
    kn_param params[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(consts - cond_consts), KN_JAXPR(cond), KN_INT(cond_consts)};
    KILN_TRY(kn_heqn(h, o, &kn_prim_while, params, in.v, in.n, out, n));
    return kn_hset_flat(h, o, out, n);
}

/* Branches on the same operands: the values that any of them captures. */
static kiln_status branches(kn_himport *h, const kn_mop *o, kn_atom index, const kn_mregion *const *regions, uint32_t n)
{
    const uint32_t *ids;
    uint32_t captured;
    kn_param *bodies = KN_NEWN(h->arena, kn_param, n);
    kn_hatoms in = {0};
    KILN_TRY_MEM(h->ctx, bodies && kn_push(h->arena, &in, index));
    KILN_TRY(kn_hcaptures(h, o->regions, o->nregions, &ids, &captured));
    uint32_t nout = 0;
    for (uint32_t i = 0; i < n; i++) {
        const kn_jaxpr *body;
        KILN_TRY(kn_hregion(h, regions[i], ids, captured, &body));
        bodies[i] = KN_JAXPR(body);
        nout = body->nout;
    }
    KILN_TRY(kn_hcapture_atoms(h, ids, captured, &in));
    kn_atom *out = KN_NEWN(h->arena, kn_atom, nout);
    KILN_TRY_MEM(h->ctx, out);
    KILN_TRY(kn_heqn(h, o, &kn_prim_cond, (kn_param[]){KN_TUPLE(n, bodies), KN_NONE, KN_NONE}, in.v, in.n, out, nout));
    return kn_hset_flat(h, o, out, nout);
}

static kiln_status if_else(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom which, index;
    (void)row;
    if (o->nregions != 2 || o->nin != 1) return kn_hbad(h, o, "one operand and two regions are needed, found %u and %u", o->nin, o->nregions);
    KILN_TRY(kn_hin(h, o, 0, &which));
    KILN_TRY(kn_hconvert(h, o, which, KILN_I32, &index));
    KILN_TRY(kn_hwrote_first(h, KN_NOT_WRITTEN));
    KILN_TRY(branches(h, o, index, (const kn_mregion *[]){&o->regions[1], &o->regions[0]}, 2));
    return kn_hwrote_first(h, which);
}

/* Is the index never negative, as far as the equation that makes it shows? */
static bool never_negative(const kn_himport *h, kn_atom index)
{
    kiln_dtype d;
    kn_scalar v;
    if (kn_hknown(h, index, &d, &v)) return v.i >= 0;
    const kn_eqn *e = kn_hdefinition(h, index);
    if (!e) return false;
    if (e->prim == &kn_prim_clamp) return kn_hknown(h, e->in[0], &d, &v) && v.i >= 0;
    if (e->prim == &kn_prim_select_n && e->nin == 3) { /* negative ? a number : x */
        const kn_eqn *test = kn_hdefinition(h, e->in[0]);
        return test && test->prim == &kn_prim_lt && test->in[0] == e->in[1] && kn_hknown(h, test->in[1], &d, &v) && v.i == 0 &&
               kn_hknown(h, e->in[2], &d, &v) && v.i >= 0;
    }
    return e->prim == &kn_prim_convert_element_type && kn_htype(h, e->in[0]).dtype == KILN_BOOL;
}

/* An index outside the range means the last branch; the primitive takes a negative one as the first. */
static kiln_status switch_case(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom index, written, zero, last, negative;
    (void)row;
    if (o->nregions == 0 || o->nin != 1) return kn_hbad(h, o, "one operand and at least one region are needed, found %u and %u", o->nin, o->nregions);
    KILN_TRY(kn_hin(h, o, 0, &index));
    written = index;
    if (!never_negative(h, index)) {
        KILN_TRY(kn_hliteral(h, KILN_I32, (kn_scalar){.i = 0}, &zero));
        KILN_TRY(kn_hliteral(h, KILN_I32, (kn_scalar){.i = (int64_t)o->nregions - 1}, &last));
        KILN_TRY(kn_hbinary(h, o, &kn_prim_lt, index, zero, &negative));
        KILN_TRY(kn_hwrote_first(h, KN_NOT_WRITTEN));
        KILN_TRY(kn_heqn1(h, o, &kn_prim_select_n, NULL, (kn_atom[]){negative, index, last}, 3, &index));
        KILN_TRY(kn_hwrote_first(h, KN_NOT_WRITTEN));
    }
    const kn_mregion **regions = kn_arena_newn(h->arena, o->nregions, sizeof *regions);
    KILN_TRY_MEM(h->ctx, regions);
    for (uint32_t i = 0; i < o->nregions; i++) regions[i] = &o->regions[i];
    KILN_TRY(branches(h, o, index, regions, o->nregions));
    return kn_hwrote_first(h, written);
}

static kiln_status call(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_mattr *callee = kn_mop_attr(o, row->extra ? "decomposition" : "callee");
    if (!callee || callee->kind != KN_MA_SYMBOL) return kn_hbad(h, o, "the function to call is missing");
    return kn_hcall(h, o, callee->text);
}

/* ---- composites of ours: kiln.argmax and the like name a primitive ---- */

static kiln_status param(kn_himport *h, const kn_mop *o, const kn_mattr *a, kn_param *out)
{
    const int64_t *v;
    uint32_t n;
    const char *text;
    switch (a->kind) {
    case KN_MA_BOOL: *out = KN_BOOL(a->b); return KILN_OK;
    case KN_MA_INT: *out = KN_INT(a->i); return KILN_OK;
    case KN_MA_STRING:
        KILN_TRY(kn_mattr_text(h->m, a->text, &text));
        *out = KN_TEXT(text);
        return KILN_OK;
    case KN_MA_TYPE:
        if (!a->type || a->type->kind != KN_MT_SCALAR || !a->type->known) break;
        *out = KN_DTYPE(a->type->type.dtype);
        return KILN_OK;
    case KN_MA_LIST:
        if (a->type) {
            KILN_TRY(kn_mattr_ints(h->m, a, &v, &n));
            *out = KN_INTS(n, v);
            return KILN_OK;
        }
        kn_param *items = KN_NEWN(h->arena, kn_param, a->n);
        KILN_TRY_MEM(h->ctx, items);
        if (++h->depth > 400) return kn_hrefuse(h, o, NULL, "a parameter is nested too deep");
        for (uint32_t i = 0; i < a->n; i++) KILN_TRY(param(h, o, &a->items[i], &items[i]));
        h->depth--;
        *out = KN_TUPLE(a->n, items);
        return KILN_OK;
    default: break;
    }
    return kn_hbad(h, o, "a parameter must be a bool, an integer, a text, a type or a list of these");
}

static kiln_status primitive(kn_himport *h, const kn_mop *o, const kn_prim *p)
{
    const kn_mattr *given = kn_mop_attr(o, "composite_attributes");
    kn_param *params = KN_NEWN(h->arena, kn_param, p->nparams);
    kn_atom *in, *out = KN_NEWN(h->arena, kn_atom, o->nout);
    KILN_TRY_MEM(h->ctx, params && out);
    for (uint32_t i = 0; i < p->nparams; i++) {
        const kn_mattr *a = given && given->kind == KN_MA_DICT ? kn_mattr_find(given->fields, given->n, p->params[i].name) : NULL;
        params[i] = KN_NONE;
        if (a) KILN_TRY(param(h, o, a, &params[i]));
    }
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_heqn(h, o, p, params, in, o->nin, out, o->nout));
    return kn_hset_flat(h, o, out, o->nout);
}

static kiln_status composite(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    enum { PREFIX = 5 }; /* "kiln." */
    const kn_mattr *name = kn_mop_attr(o, "name");
    bool ours = name && name->kind == KN_MA_STRING && name->text.n > PREFIX && memcmp(name->text.s, "kiln.", PREFIX) == 0;
    const kn_prim *p = ours ? kn_prim_find(name->text.s + PREFIX, name->text.n - PREFIX) : NULL;
    for (uint32_t i = 0; p && i < p->nparams; i++)
        if (p->params[i].kind == KN_P_JAXPR) p = NULL;
    return p ? primitive(h, o, p) : call(h, o, row);
}

static kiln_status barrier(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_hatoms in = {0};
    (void)row;
    for (uint32_t i = 0; i < o->nin; i++) KILN_TRY(kn_hin_flat(h, o, i, &in));
    kn_atom *out = KN_NEWN(h->arena, kn_atom, in.n);
    KILN_TRY_MEM(h->ctx, out);
    if (in.n) KILN_TRY(kn_heqn(h, o, &kn_prim_optimization_barrier, NULL, in.v, in.n, out, in.n));
    return kn_hset_flat(h, o, out, in.n);
}

static kiln_status tuple(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    (void)row;
    kn_hvalue *items = KN_NEWN(h->arena, kn_hvalue, o->nin);
    KILN_TRY_MEM(h->ctx, items);
    const kn_mtype *t = o->nout == 1 ? h->func->values[o->out].type : NULL;
    if (!t || t->kind != KN_MT_TUPLE || t->n != o->nin) return kn_hbad(h, o, "the result must be a tuple of the operands");
    for (uint32_t i = 0; i < o->nin; i++) {
        if (!kn_mtype_same(t->items[i], h->func->values[o->in[i]].type)) return kn_hbad(h, o, "member %u of the tuple has another type than operand %u", i, i);
        items[i] = h->vals[o->in[i]];
    }
    h->vals[o->out] = (kn_hvalue){.kind = KN_H_TUPLE, .n = o->nin, .items = items};
    return KILN_OK;
}

static kiln_status get_tuple_element(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    int64_t index;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hint(h, o, "index", -1, &index));
    const kn_hvalue *v = &h->vals[o->in[0]];
    if (v->kind != KN_H_TUPLE || index < 0 || index >= (int64_t)v->n) return kn_hbad(h, o, "the operand has no member %lld", (long long)index);
    if (!kn_mtype_same(h->func->values[o->in[0]].type->items[index], h->func->values[o->out].type))
        return kn_hbad(h, o, "member %lld has another type than is written", (long long)index);
    h->vals[o->out] = v->items[index];
    return KILN_OK;
}

static kiln_status token(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom *in, y;
    KILN_TRY(kn_hcount(h, o, row->prim->nin == KN_VARIADIC ? o->nin : row->prim->nin, 1));
    KILN_TRY(kn_hin_all(h, o, &in));
    KILN_TRY(kn_heqn1(h, o, row->prim, NULL, in, o->nin, &y));
    return kn_hset(h, o, 0, y);
}

const kn_himporter kn_himport_control[] = {
    {"func.call", call, NULL, 0},
    {"stablehlo.after_all", token, &kn_prim_after_all, 0},
    {"stablehlo.case", switch_case, NULL, 0},
    {"stablehlo.composite", composite, NULL, 1},
    {"stablehlo.create_token", token, &kn_prim_create_token, 0},
    {"stablehlo.get_tuple_element", get_tuple_element, NULL, 0},
    {"stablehlo.if", if_else, NULL, 0},
    {"stablehlo.optimization_barrier", barrier, NULL, 0},
    {"stablehlo.tuple", tuple, NULL, 0},
    {"stablehlo.while", while_loop, NULL, 0},
};
const uint32_t kn_himport_n_control = sizeof kn_himport_control / sizeof *kn_himport_control;
