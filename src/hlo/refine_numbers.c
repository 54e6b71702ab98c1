/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes are computed in texts for any number of rows: small arrays of integers, linear in n like the dimensions, are followed. */
#include "hlo/refine.h"

enum { MOST_NUMBERS = 64 };

/* Shapes are of these types. */
static bool may_be_sizes(kiln_dtype d)
{
    return d == KILN_BOOL || d == KILN_I32 || d == KILN_I64 || d == KILN_U32 || d == KILN_U64;
}

/* Does the type hold the number? A size is taken to fit into 32 bits, as in the texts that count with it. */
static bool fits(kiln_dtype d, int64_t x)
{
    switch (d) {
    case KILN_BOOL: return x == 0 || x == 1;
    case KILN_I32: return kn_size_open(x) || (x >= INT32_MIN && x <= INT32_MAX);
    case KILN_U32: return x >= 0 && (kn_size_open(x) || x <= UINT32_MAX);
    case KILN_U64: return x >= 0;
    default: return true;
    }
}

static kiln_status keep(kn_hrefining *r, const kn_mop *o, const int64_t *v, uint32_t n)
{
    kiln_dtype d = kn_hrefined_type(r, o->out)->type.dtype;
    int64_t *own = KN_NEWN(r->h.arena, int64_t, n + 1);
    KILN_TRY_MEM(r->h.ctx, own);
    for (uint32_t i = 0; i < n; i++) {
        own[i] = v[i];
        if (!fits(d, v[i])) return KILN_OK; /* it wraps: the program counts it out */
    }
    r->known[o->out] = (kn_mknown){.v = own, .n = n};
    return KILN_OK;
}

bool kn_hfold_two(kn_hfold op, int64_t x, int64_t y, int64_t *z)
{
    int64_t a, b;
    switch (op) {
    case KN_HFOLD_ADD: return !__builtin_add_overflow(x, y, z);
    case KN_HFOLD_SUB: return !__builtin_sub_overflow(x, y, z);
    case KN_HFOLD_MUL: return !(kn_size_open(x) && kn_size_open(y)) && !__builtin_mul_overflow(x, y, z);
    case KN_HFOLD_DIV:
        if (kn_size_open(y) || y == 0 || !kn_size_split(x, &a, &b) || a % y || b % y) return false;
        *z = x / y;
        return true;
    case KN_HFOLD_MAX:
    case KN_HFOLD_MIN:
        if (!kn_size_at_most(x, y) && !kn_size_at_most(y, x)) return false;
        *z = kn_size_at_most(x, y) == (op == KN_HFOLD_MAX) ? y : x;
        return true;
    }
    return false;
}

/* Is x < y (x <= y) for every n >= least? */
static bool below(int64_t x, int64_t y, bool strictly, int64_t least)
{
    int64_t a, b, c, d;
    if (!kn_size_split(x, &a, &b) || !kn_size_split(y, &c, &d)) return false;
    return a <= c && (strictly ? a * least + b < c * least + d : a * least + b <= c * least + d);
}

/* 1, 0, or -1 where it depends on n >= least. */
static int compared(kn_span word, int64_t x, int64_t y, int64_t least)
{
    bool less = below(x, y, true, least), more = below(y, x, true, least), at_most = below(x, y, false, least), at_least = below(y, x, false, least);
    if (kn_span_is(word, "EQ")) return x == y ? 1 : less || more ? 0 : -1;
    if (kn_span_is(word, "NE")) return x == y ? 0 : less || more ? 1 : -1;
    if (kn_span_is(word, "LT")) return less ? 1 : at_least ? 0 : -1;
    if (kn_span_is(word, "LE")) return at_most ? 1 : more ? 0 : -1;
    if (kn_span_is(word, "GT")) return more ? 1 : at_most ? 0 : -1;
    return at_least ? 1 : less ? 0 : -1;
}

static kiln_status number_constant(kn_hrefining *r, const kn_mop *o)
{
    const kn_mattr *a = kn_mop_attr(o, "value");
    int64_t v[MOST_NUMBERS + 1];
    kiln_array *x;
    int64_t n = kiln_type_size(kn_hrefined_type(r, o->out)->type);
    if (!a || n < 0 || n > MOST_NUMBERS) return KILN_OK;
    KILN_TRY(kn_mattr_array(r->h.m, a, &x));
    n = kiln_type_size(x->type);
    for (int64_t i = 0; i < n && n <= MOST_NUMBERS; i++) {
        kn_scalar one = kn_scalar_load(x->type.dtype, x->data, i);
        v[i] = x->type.dtype == KILN_BOOL ? one.b : one.i;
    }
    kiln_array_release(x);
    return n <= MOST_NUMBERS ? keep(r, o, v, (uint32_t)n) : KILN_OK;
}

static kiln_status number_size(kn_hrefining *r, const kn_mop *o)
{
    int64_t dim;
    KILN_TRY(kn_hint(&r->h, o, "dimension", 0, &dim));
    const kn_mtype *t = o->nin == 1 ? kn_hrefined_type(r, o->in[0]) : NULL;
    bool there = t && t->kind == KN_MT_TENSOR && dim >= 0 && dim < (int64_t)t->type.rank;
    return there ? keep(r, o, &t->type.dims[dim], 1) : KILN_OK;
}

static kiln_status number_joined(kn_hrefining *r, const kn_mop *o)
{
    int64_t v[MOST_NUMBERS + 1];
    uint32_t n = 0;
    int64_t dim;
    KILN_TRY(kn_hint(&r->h, o, "dimension", 0, &dim));
    for (uint32_t k = 0; k < o->nin; k++) {
        const kn_mknown *x = kn_hknown_numbers(r, o, k);
        if (dim != 0 || !x->v || n + x->n > MOST_NUMBERS) return KILN_OK;
        for (uint32_t i = 0; i < x->n; i++) v[n++] = x->v[i];
    }
    return keep(r, o, v, n);
}

static kiln_status number_slice(kn_hrefining *r, const kn_mop *o)
{
    const int64_t *start, *limit, *stride;
    int64_t v[MOST_NUMBERS + 1];
    uint32_t n = 0;
    const kn_mknown *x = kn_hknown_numbers(r, o, 0);
    if (!x->v || kn_hrefined_type(r, o->in[0])->type.rank != 1) return KILN_OK;
    KILN_TRY(kn_hints_of(&r->h, o, "start_indices", 1, 0, &start));
    KILN_TRY(kn_hints_of(&r->h, o, "limit_indices", 1, 0, &limit));
    KILN_TRY(kn_hints_of(&r->h, o, "strides", 1, 1, &stride));
    for (int64_t i = start[0]; stride[0] > 0 && i >= 0 && i < limit[0] && i < x->n; i += stride[0]) v[n++] = x->v[i];
    return keep(r, o, v, n);
}

static kiln_status number_two(kn_hrefining *r, const kn_mop *o, kn_hfold op)
{
    int64_t v[MOST_NUMBERS + 1];
    const kn_mknown *x = kn_hknown_numbers(r, o, 0), *y = kn_hknown_numbers(r, o, 1);
    if (!x->v || !y->v || x->n != y->n) return KILN_OK;
    for (uint32_t i = 0; i < x->n; i++)
        if (!kn_hfold_two(op, x->v[i], y->v[i], &v[i])) return KILN_OK;
    return keep(r, o, v, x->n);
}

static kiln_status number_compare(kn_hrefining *r, const kn_mop *o)
{
    kn_span word;
    const kn_mknown *x = kn_hknown_numbers(r, o, 0), *y = kn_hknown_numbers(r, o, 1);
    KILN_TRY(kn_henum(&r->h, o, "comparison_direction", &word));
    if (!x->v || !y->v || x->n != 1 || y->n != 1) return KILN_OK;
    int always = compared(word, x->v[0], y->v[0], 0), mostly = compared(word, x->v[0], y->v[0], 1);
    if (mostly >= 0) KILN_TRY(keep(r, o, &(int64_t){mostly}, 1));
    r->known[o->out].positive = mostly >= 0 && always < 0;
    return KILN_OK;
}

static kiln_status number_chosen(kn_hrefining *r, const kn_mop *o)
{
    const kn_mknown *which = kn_hknown_numbers(r, o, 0), *x = which->v && which->n == 1 ? kn_hknown_numbers(r, o, which->v[0] ? 1 : 2) : which;
    return which->v && which->n == 1 && x->v ? keep(r, o, x->v, x->n) : KILN_OK;
}

static kiln_status number_repeated(kn_hrefining *r, const kn_mop *o)
{
    int64_t v[MOST_NUMBERS + 1], n = kiln_type_size(kn_hrefined_type(r, o->out)->type);
    const kn_mknown *x = kn_hknown_numbers(r, o, 0);
    if (!x->v || x->n != 1 || n < 0 || n > MOST_NUMBERS) return KILN_OK;
    for (int64_t i = 0; i < n; i++) v[i] = x->v[0];
    return keep(r, o, v, (uint32_t)n);
}

kiln_status kn_hfollow_numbers(kn_hrefining *r, const kn_mop *o)
{
    static const struct {
        const char *name;
        kn_hfold op;
    } two[] = {{"stablehlo.add", KN_HFOLD_ADD}, {"stablehlo.divide", KN_HFOLD_DIV}, {"stablehlo.maximum", KN_HFOLD_MAX}, {"stablehlo.minimum", KN_HFOLD_MIN}, {"stablehlo.multiply", KN_HFOLD_MUL}, {"stablehlo.subtract", KN_HFOLD_SUB}};
    const kn_mtype *t = o->nout == 1 ? kn_hrefined_type(r, o->out) : NULL;
    if (!t || t->kind != KN_MT_TENSOR || !t->known || t->type.rank > 2 || !may_be_sizes(t->type.dtype)) return KILN_OK;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (kn_span_is(o->name, two[i].name)) return number_two(r, o, two[i].op);
    if (kn_span_is(o->name, "stablehlo.constant")) return number_constant(r, o);
    if (kn_span_is(o->name, "stablehlo.get_dimension_size")) return number_size(r, o);
    if (kn_span_is(o->name, "stablehlo.concatenate")) return number_joined(r, o);
    if (kn_span_is(o->name, "stablehlo.slice")) return number_slice(r, o);
    if (kn_span_is(o->name, "stablehlo.compare")) return number_compare(r, o);
    if (kn_span_is(o->name, "stablehlo.select")) return number_chosen(r, o);
    if (kn_span_is(o->name, "stablehlo.broadcast_in_dim")) return number_repeated(r, o);
    if (kn_span_is(o->name, "stablehlo.convert") || kn_span_is(o->name, "stablehlo.reshape")) {
        const kn_mknown *x = kn_hknown_numbers(r, o, 0);
        if (x->v) return keep(r, o, x->v, x->n);
    }
    return KILN_OK;
}

