/* SPDX-License-Identifier: Apache-2.0 */
/* What all importers share: errors, operands and results, equations, attributes, known values. */
#include "hlo/import.h"

#include <stdarg.h>
#include <stdio.h>

#include "array/size.h"
#include "rt/scalar.h"

/* ---- errors ---- */

kiln_status kn_hrefuse(kn_himport *h, const kn_mop *o, const char *remedy, const char *fmt, ...)
{
    char text[KILN_DIAG_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return kn_source_fail(&h->m->src, o->at, KILN_UNSUPPORTED, "unsupported", remedy, "%s", text);
}

kiln_status kn_hbad(kn_himport *h, const kn_mop *o, const char *fmt, ...)
{
    char text[KILN_DIAG_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return kn_source_fail(&h->m->src, o->at, KILN_INVALID, "operation", NULL, "%.*s: %s", KN_SPAN_ARG(o->name), text);
}

kiln_status kn_hplaced(kn_himport *h, const kn_mop *o, kiln_status s)
{
    if (s == KILN_OK || s == KILN_NOMEM || h->ctx->error.line) return s;
    char text[KILN_DIAG_TEXT];
    snprintf(text, sizeof text, "%s", h->ctx->error.message);
    return kn_source_fail(&h->m->src, o->at, s, "operation", NULL, "%s", text);
}

/* ---- operands and results ---- */

kiln_status kn_hcount(kn_himport *h, const kn_mop *o, uint32_t nin, uint32_t nout)
{
    if (o->nin != nin) return kn_hbad(h, o, "%u operands are needed, found %u", nin, o->nin);
    if (o->nout != nout) return kn_hbad(h, o, "there are %u results, but %u are named", nout, o->nout);
    return KILN_OK;
}

kiln_status kn_hsize(kn_himport *h, const kn_mop *o, kiln_dtype d, int64_t size, kn_atom *out)
{
    if (kn_size_open(size)) return kn_heqn1(h, o, &kn_prim_dim_as_value, (kn_param[]){KN_INT(size), KN_DTYPE(d)}, NULL, 0, out);
    return kn_hliteral(h, d, d == KILN_BOOL ? (kn_scalar){.b = size} : (kn_scalar){.i = size}, out);
}

/* A shape as an array of type t. */
static kiln_status shape(kn_himport *h, const kn_mop *o, kiln_type t, const kn_mknown *numbers, kn_atom *out)
{
    kn_atom *parts = KN_NEWN(h->arena, kn_atom, numbers->n + 1);
    KILN_TRY_MEM(h->ctx, parts);
    for (uint32_t i = 0; i < numbers->n; i++) {
        KILN_TRY(kn_hsize(h, o, t.dtype, numbers->v[i], &parts[i]));
        KILN_TRY(kn_hreshape(h, o, parts[i], 1, (const int64_t[]){1}, &parts[i]));
    }
    KILN_TRY(kn_heqn1(h, o, &kn_prim_concatenate, &KN_INT(0), parts, numbers->n, out));
    return kn_hreshape(h, o, *out, t.rank, t.dims, out);
}

kiln_status kn_hin(kn_himport *h, const kn_mop *o, uint32_t k, kn_atom *out)
{
    if (k >= o->nin) return kn_hbad(h, o, "at least %u operands are needed, found %u", k + 1, o->nin);
    const kn_hvalue *v = &h->vals[o->in[k]];
    const kn_mknown *numbers = v->kind == KN_H_NONE ? kn_hnumbers(h, o->in[k]) : NULL;
    if (numbers) return shape(h, o, h->func->values[o->in[k]].type->type, numbers, out);
    if (v->kind != KN_H_ARRAY) return kn_hbad(h, o, "operand %u is no array", k);
    *out = v->atom;
    return KILN_OK;
}

kiln_status kn_hin_all(kn_himport *h, const kn_mop *o, kn_atom **out)
{
    KILN_TRY_MEM(h->ctx, *out = KN_NEWN(h->arena, kn_atom, o->nin));
    for (uint32_t k = 0; k < o->nin; k++) KILN_TRY(kn_hin(h, o, k, &(*out)[k]));
    return KILN_OK;
}

static kiln_status usable_type(kn_himport *h, const kn_mop *o, const kn_mtype *t)
{
    if (t->kind == KN_MT_TENSOR && t->known && !t->dynamic && kiln_type_size(t->type) >= 0) return KILN_OK;
    if (kn_span_holds(t->text, "!quant"))
        return kn_hrefuse(h, o, "the same program in floating point (quantize and dequantize written out as arithmetic)", "quantized types are not supported: %.*s",
                          KN_SPAN_ARG(t->text));
    if (t->dynamic)
        return kn_hrefuse(h, o, "a module lowered for fixed shapes", "dynamic shapes are not supported: %.*s", KN_SPAN_ARG(t->text));
    if (t->kind == KN_MT_TENSOR && t->known)
        return kn_hrefuse(h, o, "a tensor that fits in memory", "%.*s is larger than memory", KN_SPAN_ARG(t->text));
    return kn_hrefuse(h, o, NULL, "the type %.*s is not supported", KN_SPAN_ARG(t->text));
}

kiln_status kn_hresult(kn_himport *h, const kn_mop *o, uint32_t k, kiln_type *out)
{
    if (k >= o->nout) return kn_hbad(h, o, "at least %u results are needed, found %u", k + 1, o->nout);
    const kn_mtype *t = h->func->values[o->out + k].type;
    KILN_TRY(usable_type(h, o, t));
    *out = t->type;
    return KILN_OK;
}

kiln_status kn_hset(kn_himport *h, const kn_mop *o, uint32_t k, kn_atom atom)
{
    kiln_type want, have = kn_htype(h, atom);
    KILN_TRY(kn_hresult(h, o, k, &want));
    if (!kiln_type_equal(want, have) && !(h->elementwise && want.dtype == have.dtype))
        return kn_hbad(h, o, "result %u is %s, but %s is written", k, kn_type_show(have).s, kn_type_show(want).s);
    h->vals[o->out + k] = (kn_hvalue){.kind = KN_H_ARRAY, .atom = atom};
    return KILN_OK;
}

/* ---- equations ---- */

kiln_status kn_heqn(kn_himport *h, const kn_mop *o, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out,
                    uint32_t nout)
{
    h->ctx->error.line = 0; /* so that a new error is told from an old one */
    return kn_hplaced(h, o, kn_build_eqn(h->b, p, params, in, nin, out, nout));
}
kiln_status kn_heqn1(kn_himport *h, const kn_mop *o, const kn_prim *p, const kn_param *params, const kn_atom *in, uint32_t nin, kn_atom *out)
{
    return kn_heqn(h, o, p, params, in, nin, out, 1);
}

static const kn_param nothing[4] = {{.kind = KN_P_NONE}, {.kind = KN_P_NONE}, {.kind = KN_P_NONE}, {.kind = KN_P_NONE}};

kiln_status kn_hunary(kn_himport *h, const kn_mop *o, const kn_prim *p, kn_atom x, kn_atom *out)
{
    return kn_heqn(h, o, p, nothing, &x, 1, out, 1);
}
kiln_status kn_hbinary(kn_himport *h, const kn_mop *o, const kn_prim *p, kn_atom x, kn_atom y, kn_atom *out)
{
    return kn_heqn(h, o, p, nothing, (kn_atom[]){x, y}, 2, out, 1);
}
kiln_status kn_hconvert(kn_himport *h, const kn_mop *o, kn_atom x, kiln_dtype to, kn_atom *out)
{
    return kn_heqn(h, o, &kn_prim_convert_element_type, (kn_param[]){KN_DTYPE(to), KN_NONE, KN_BOOL(false)}, &x, 1, out, 1);
}
kiln_status kn_hreshape(kn_himport *h, const kn_mop *o, kn_atom x, uint32_t rank, const int64_t *dims, kn_atom *out)
{
    return kn_heqn(h, o, &kn_prim_reshape, (kn_param[]){KN_NONE, KN_INTS(rank, dims), KN_NONE}, &x, 1, out, 1);
}
kiln_status kn_htranspose(kn_himport *h, const kn_mop *o, kn_atom x, const int64_t *permutation, kn_atom *out)
{
    uint32_t rank = kn_htype(h, x).rank;
    bool same = true;
    for (uint32_t d = 0; d < rank; d++) same = same && permutation[d] == (int64_t)d;
    *out = x;
    return same ? KILN_OK : kn_heqn(h, o, &kn_prim_transpose, &KN_INTS(rank, permutation), &x, 1, out, 1);
}
kiln_status kn_hliteral(kn_himport *h, kiln_dtype d, kn_scalar v, kn_atom *out) { return kn_build_literal(h->b, d, v, out); }

/* ---- the text's own order ---- */

kiln_status kn_hwrote_constant(kn_himport *h, kn_atom a)
{
    kn_written_constant c = {a, h->b->eqns.n};
    KILN_TRY_MEM(h->ctx, kn_push(&h->prog->arena, &h->written->constants, c));
    return KILN_OK;
}

kiln_status kn_hwrote_first(kn_himport *h, kn_atom a)
{
    kn_written_first f = {h->b->eqns.n - 1, a};
    KILN_TRY_MEM(h->ctx, kn_push(&h->prog->arena, &h->written->firsts, f));
    return KILN_OK;
}

kiln_status kn_hwrote(kn_himport *h)
{
    const kn_hwritten *w = h->written;
    if (!w->constants.n && !w->captures.n && !w->firsts.n && !w->wide.n) return KILN_OK;
    kn_written *own = KN_NEW(&h->prog->arena, kn_written);
    KILN_TRY_MEM(h->ctx, own);
    *own = (kn_written){w->constants.v, w->captures.v, w->firsts.v, w->wide.v, w->constants.n, w->captures.n, w->firsts.n, w->wide.n};
    h->b->written = own;
    return KILN_OK;
}

/* ---- attributes ---- */

kiln_status kn_hints(kn_himport *h, const kn_mop *o, const char *name, const int64_t **v, uint32_t *n)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    *v = NULL;
    *n = 0;
    return a ? kn_mattr_ints(h->m, a, v, n) : KILN_OK;
}

kiln_status kn_hints_of(kn_himport *h, const kn_mop *o, const char *name, uint32_t n, int64_t otherwise, const int64_t **v)
{
    uint32_t have;
    KILN_TRY(kn_hints(h, o, name, v, &have));
    if (*v || have) {
        if (have == n) return KILN_OK;
        return kn_hbad(h, o, "%s holds %u numbers, %u are needed", name, have, n);
    }
    int64_t *own = KN_NEWN(h->arena, int64_t, n);
    KILN_TRY_MEM(h->ctx, own);
    for (uint32_t i = 0; i < n; i++) own[i] = otherwise;
    *v = own;
    return KILN_OK;
}

kiln_status kn_hint(kn_himport *h, const kn_mop *o, const char *name, int64_t otherwise, int64_t *v)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    *v = otherwise;
    if (!a) return KILN_OK;
    if (a->kind != KN_MA_INT) return kn_hbad(h, o, "%s must be an integer", name);
    *v = a->i;
    return KILN_OK;
}

kiln_status kn_hflag(kn_himport *h, const kn_mop *o, const char *name, bool otherwise, bool *v)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    *v = otherwise;
    if (!a) return KILN_OK;
    if (a->kind != KN_MA_BOOL && a->kind != KN_MA_UNIT) return kn_hbad(h, o, "%s must be true or false", name);
    *v = a->kind == KN_MA_UNIT || a->b;
    return KILN_OK;
}

kn_span kn_hlast_word(const kn_mattr *a)
{
    kn_span s = a->text;
    if (!s.n) return (kn_span){"", 0};
    while (s.n && kn_is_one_of(s.s[s.n - 1], " \n\t\r")) s.n--;
    size_t k = s.n;
    while (k && !kn_is_one_of(s.s[k - 1], " \n\t\r<")) k--;
    return (kn_span){s.s + k, s.n - k};
}

kiln_status kn_henum(kn_himport *h, const kn_mop *o, const char *name, kn_span *word)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    *word = (kn_span){"", 0};
    if (!a) return KILN_OK;
    if (a->kind != KN_MA_WORD && a->kind != KN_MA_STRING && a->kind != KN_MA_DIALECT) return kn_hbad(h, o, "%s is no word", name);
    *word = kn_hlast_word(a);
    return KILN_OK;
}

kiln_status kn_hfields(kn_himport *h, const kn_mop *o, const char *name, kn_mattr *dict)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    if (!a) return kn_hbad(h, o, "the attribute %s is missing", name);
    return kn_mattr_body(h->m, a, dict);
}

kiln_status kn_hfield_ints(kn_himport *h, const kn_mattr *dict, const char *name, const int64_t **v, uint32_t *n)
{
    const kn_mattr *a = kn_mattr_find(dict->fields, dict->n, name);
    *v = NULL;
    *n = 0;
    return a ? kn_mattr_ints(h->m, a, v, n) : KILN_OK;
}

kiln_status kn_hfield_int(kn_himport *h, const kn_mop *o, const kn_mattr *dict, const char *name, int64_t otherwise, int64_t *v)
{
    const kn_mattr *a = kn_mattr_find(dict->fields, dict->n, name);
    *v = otherwise;
    if (!a) return KILN_OK;
    if (a->kind != KN_MA_INT) return kn_hbad(h, o, "%s must be an integer", name);
    *v = a->i;
    return KILN_OK;
}

/* ---- known values ---- */

const kn_eqn *kn_hdefinition(const kn_himport *h, kn_atom a)
{
    enum { FAR = 64 };
    if (kn_is_literal(a)) return NULL;
    uint32_t n = h->b->eqns.n, least = n > FAR ? n - FAR : 0;
    for (uint32_t i = n; i-- > least;) {
        const kn_eqn *e = &h->b->eqns.v[i];
        for (uint32_t k = 0; k < e->nout; k++)
            if (e->out[k] == a) return e;
    }
    return NULL;
}

bool kn_hknown(const kn_himport *h, kn_atom a, kiln_dtype *d, kn_scalar *v)
{
    if (kn_is_literal(a)) {
        const kn_lit *l = &h->b->lits.v[kn_literal_index(a)];
        *d = l->dtype;
        *v = l->value;
        return true;
    }
    kiln_type t = kn_htype(h, a);
    if (t.rank) return false;
    const kn_eqn *e = kn_hdefinition(h, a); /* scalar constants are literals */
    if (!e || e->nin != 1 || !kn_hknown(h, e->in[0], d, v)) return false;
    if (e->prim == &kn_prim_broadcast_in_dim || e->prim == &kn_prim_reshape) return true;
    if (e->prim != &kn_prim_convert_element_type) return false;
    *v = kn_sop_eval(KN_S_convert, *d, t.dtype, *v, *v, *v);
    *d = t.dtype;
    return true;
}

const kiln_array *kn_hconstant(const kn_himport *h, kn_atom a)
{
    if (kn_is_literal(a)) return NULL;
    for (uint32_t i = h->b->const_vars.n; i-- > 0;)
        if (h->b->const_vars.v[i] == a) return h->b->consts.v[i];
    return NULL;
}

kiln_status kn_hoperand_ints(kn_himport *h, const kn_mop *o, uint32_t k, const int64_t **v, uint32_t *n)
{
    kn_atom a;
    const kn_mknown *known = k < o->nin ? kn_hnumbers(h, o->in[k]) : NULL;
    if (known) {
        *v = known->v;
        *n = known->n;
        return KILN_OK;
    }
    KILN_TRY(kn_hin(h, o, k, &a));
    kiln_type t = kn_htype(h, a);
    int64_t size = kiln_type_size(t);
    const kiln_array *c = kn_hconstant(h, a);
    const kn_eqn *e = c ? NULL : kn_hdefinition(h, a);
    kiln_dtype d = t.dtype;
    kn_scalar one;
    bool splat = !c && (e && e->prim == &kn_prim_broadcast_in_dim ? kn_hknown(h, e->in[0], &d, &one) : kn_hknown(h, a, &d, &one));
    if ((!c && !splat) || !strchr("iu", kiln_dtype_kind(t.dtype)) || size > 4096)
        return kn_hrefuse(h, o, "a module lowered for fixed shapes", "dynamic shapes are not supported: operand %u of %.*s is not constant", k,
                          KN_SPAN_ARG(o->name));
    int64_t *own = KN_NEWN(h->arena, int64_t, size);
    KILN_TRY_MEM(h->ctx, own);
    for (int64_t i = 0; i < size; i++) own[i] = c ? kn_scalar_load(t.dtype, c->data, i).i : one.i;
    *v = own;
    *n = (uint32_t)size;
    return KILN_OK;
}
