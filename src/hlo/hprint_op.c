/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of StableHLO as instructions of HLO. Names differ by dashes only, unless the table says otherwise. */
#include "hlo/hprint.h"

#include <stdio.h>

typedef struct put {
    kn_hprint *p;
    const kn_mop *o;
    kn_text t; /* the attributes */
    kn_hcaptured captured; /* by regions over scalars */
} put;

static kiln_type in_type(const put *w, uint32_t k) { return w->p->f->values[w->o->in[k]].type->type; }
static kiln_type out_type(const put *w, uint32_t k) { return w->p->f->values[w->o->out + k].type->type; }

static const kn_mattr *attr(const put *w, const char *name) { return kn_mop_attr(w->o, name); }

static void ints(put *w, const char *key, const kn_mattr *a)
{
    const int64_t *v = NULL;
    uint32_t n = 0;
    if (!a) return;
    kn_hfail(w->p, kn_mattr_ints(w->p->m, a, &v, &n));
    kn_text_printf(&w->t, ", %s={", key);
    for (uint32_t i = 0; i < n; i++) kn_text_printf(&w->t, "%s%lld", i ? "," : "", (long long)v[i]);
    kn_text_char(&w->t, '}');
}
static void list(put *w, const char *key, const char *name) { ints(w, key, attr(w, name)); }
static void number(put *w, const char *key, const char *name)
{
    const kn_mattr *a = attr(w, name);
    if (a) kn_text_printf(&w->t, ", %s=%lld", key, (long long)a->i);
}
static void flag(put *w, const char *key, const char *name)
{
    const kn_mattr *a = attr(w, name);
    if (a && a->b) kn_text_printf(&w->t, ", %s=true", key);
}
static kn_span word_of(const kn_mattr *a)
{
    kn_span s = a->text;
    for (size_t i = s.n; i-- > 0;)
        if (s.s[i] == ' ' || s.s[i] == '<') return (kn_span){s.s + i + 1, s.n - i - 1};
    return s;
}

/* Adds the instruction: operands are those of the operation. */
static uint32_t add(put *w, const char *opcode)
{
    kn_hprint *p = w->p;
    const kn_mop *o = w->o;
    uint32_t *in = KN_NEWN(p->arena, uint32_t, o->nin), *out = KN_NEWN(p->arena, uint32_t, o->nout);
    if (!in || !out) kn_hfail(p, kn_nomem(p->ctx));
    if (p->status != KILN_OK) return 0;
    for (uint32_t i = 0; i < o->nin; i++) in[i] = kn_hvalue_at(p, o->in[i]);
    for (uint32_t i = 0; i < o->nout; i++) out[i] = o->out + i;
    uint32_t k = kn_hadd(p, opcode, kn_hshape_of(p, out, o->nout), in, o->nin, kn_hkeep(p, &w->t));
    if (p->status == KILN_OK) p->c->inst.v[k].loc = o->loc;
    return k;
}
static void add_and_set(put *w, const char *opcode) { kn_hset_results(w->p, w->o, add(w, opcode)); }

/* ---- constants ---- */

static void put_value(kn_text *t, kiln_dtype d, kn_scalar v, bool alone)
{
    switch (kiln_dtype_kind(d)) {
    case 'b': kn_text_add(t, alone ? v.b ? "true" : "false" : v.b ? "1" : "0"); break;
    case 'i': kn_text_printf(t, "%lld", (long long)v.i); break;
    case 'u': kn_text_printf(t, "%llu", (unsigned long long)v.u); break;
    case 'c':
        kn_text_char(t, '(');
        put_value(t, d == KILN_C64 ? KILN_F32 : KILN_F64, (kn_scalar){.f = v.c[0]}, true);
        kn_text_add(t, ", ");
        put_value(t, d == KILN_C64 ? KILN_F32 : KILN_F64, (kn_scalar){.f = v.c[1]}, true);
        kn_text_char(t, ')');
        break;
    default:
        if (v.f > -1e15 && v.f < 1e15 && v.f == (double)(int64_t)v.f) {
            kn_text_printf(t, "%s%lld", v.f == 0 && 1 / v.f < 0 ? "-" : "", (long long)v.f);
        } else if (d == KILN_F64) kn_text_double(t, v.f);
        else kn_text_float(t, (float)v.f);
        break;
    }
}

static void put_nested(kn_text *t, const kiln_array *a, uint32_t dim, int64_t *at)
{
    if (dim == a->type.rank) {
        put_value(t, a->type.dtype, kn_scalar_load(a->type.dtype, a->data, (*at)++), a->type.rank == 0);
        return;
    }
    kn_text_char(t, '{');
    for (int64_t i = 0; i < a->type.dims[dim]; i++) {
        kn_text_add(t, i ? ", " : dim + 1 < a->type.rank ? " " : "");
        put_nested(t, a, dim + 1, at);
    }
    kn_text_add(t, dim + 1 < a->type.rank ? " }" : "}");
}

static void constant(put *w)
{
    kn_hprint *p = w->p;
    kiln_array *a = NULL;
    int64_t at = 0;
    kiln_status s = kn_mattr_array(p->m, attr(w, "value"), &a);
    kn_hfail(p, s);
    if (s != KILN_OK) return;
    put_nested(&w->t, a, 0, &at);
    kiln_array_release(a);
    const char *literal = kn_hkeep(p, &w->t);
    uint32_t k = add(w, "constant");
    if (p->status != KILN_OK) return;
    p->c->inst.v[k].literal = literal;
    p->at[w->o->out] = k + 1;
}

/* ---- shapes ---- */

/* The place l for an instruction that the text gets besides the operation's own: in its scope, under its own name. */
static const kn_mloc *renamed(kn_hprint *p, const kn_mloc *l, const char *name)
{
    if (!l || l->kind != KN_ML_NAME) return l;
    size_t n = l->text.n;
    while (n && l->text.s[n - 1] != '/') n--;
    kn_mloc *own = KN_NEW(p->arena, kn_mloc);
    char *text = kn_arena_printf(p->arena, "%.*s%s", (int)n, l->text.s, name);
    if (!own || !text) {
        kn_hfail(p, kn_nomem(p->ctx));
        return NULL;
    }
    *own = *l;
    own->text = kn_xspan(text);
    return own;
}

/* HLO's broadcast repeats no dimension of size 1: such ones are taken away first. */
static void broadcast(put *w)
{
    kn_hprint *p = w->p;
    kiln_type from = in_type(w, 0), to = out_type(w, 0);
    const kn_mattr *a = attr(w, "broadcast_dimensions");
    const int64_t *v = NULL;
    uint32_t n = 0, kept = 0, in = kn_hvalue_at(p, w->o->in[0]);
    int64_t dims[KN_RANK_LIMIT], at[KN_RANK_LIMIT];
    if (a) kn_hfail(p, kn_mattr_ints(p->m, a, &v, &n));
    for (uint32_t i = 0; p->status == KILN_OK && i < n; i++)
        if (from.dims[i] == to.dims[v[i]]) dims[kept] = from.dims[i], at[kept++] = v[i];
    if (kept < n) {
        in = kn_hadd(p, "reshape", kn_hshape(p, (kiln_type){from.dtype, kept, dims}), &in, 1, "");
        if (p->status == KILN_OK) p->c->inst.v[in].loc = renamed(p, w->o->loc, "reshape");
    }
    kn_text_add(&w->t, ", dimensions={");
    for (uint32_t i = 0; i < kept; i++) kn_text_printf(&w->t, "%s%lld", i ? "," : "", (long long)at[i]);
    kn_text_char(&w->t, '}');
    uint32_t k = kn_hadd(p, "broadcast", kn_hshape(p, to), &in, 1, kn_hkeep(p, &w->t));
    if (p->status != KILN_OK) return;
    p->c->inst.v[k].loc = w->o->loc;
    p->at[w->o->out] = k + 1;
}

static void slice(put *w)
{
    const kn_mattr *from = attr(w, "start_indices"), *to = attr(w, "limit_indices"), *by = attr(w, "strides");
    kn_text_add(&w->t, ", slice={");
    for (uint32_t i = 0; from && to && i < from->n; i++) {
        kn_text_printf(&w->t, "%s[%lld:%lld", i ? ", " : "", (long long)from->items[i].i, (long long)to->items[i].i);
        if (by && by->items[i].i != 1) kn_text_printf(&w->t, ":%lld", (long long)by->items[i].i);
        kn_text_char(&w->t, ']');
    }
    kn_text_char(&w->t, '}');
    add_and_set(w, "slice");
}

static void pad(put *w)
{
    const kn_mattr *low = attr(w, "edge_padding_low"), *high = attr(w, "edge_padding_high"), *inside = attr(w, "interior_padding");
    if (low && low->n) kn_text_add(&w->t, ", padding=");
    for (uint32_t i = 0; low && i < low->n; i++) {
        kn_text_printf(&w->t, "%s%lld_%lld", i ? "x" : "", (long long)low->items[i].i, (long long)high->items[i].i);
        if (inside->items[i].i) kn_text_printf(&w->t, "_%lld", (long long)inside->items[i].i);
    }
    add_and_set(w, "pad");
}

/* ---- indexed ---- */

static void indexed(put *w, bool scatter)
{
    static const char *const gather_names[] = {"offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims"};
    static const char *const scatter_names[] = {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
                                                "scatter_indices_batching_dims"};
    const char *const *names = scatter ? scatter_names : gather_names;
    const kn_mattr *a = attr(w, scatter ? "scatter_dimension_numbers" : "dimension_numbers");
    kn_mattr dict, empty = {.kind = KN_MA_LIST, .at = ""};
    kn_mmodule m = *w->p->m; /* the reader of attributes notes things in its module */
    kiln_status s = a ? kn_mattr_body(&m, a, &dict) : KILN_INTERNAL;
    kn_hfail(w->p, s);
    if (s != KILN_OK) return;
    for (int i = 0; i < 5; i++) {
        const kn_mattr *v = kn_mattr_find(dict.fields, dict.n, names[i]);
        if (v || i < 3) ints(w, names[i], v ? v : &empty);
    }
    const kn_mattr *at = kn_mattr_find(dict.fields, dict.n, "index_vector_dim");
    kn_text_printf(&w->t, ", index_vector_dim=%lld", at ? (long long)at->i : 0);
    if (!scatter) list(w, "slice_sizes", "slice_sizes");
    flag(w, "indices_are_sorted", "indices_are_sorted");
    flag(w, "unique_indices", "unique_indices");
}

static void region(put *w, const char *key, uint32_t k)
{
    kn_text_printf(&w->t, ", %s=", key);
    if (w->p->optimised) kn_text_char(&w->t, '%');
    kn_text_add(&w->t, kn_hregion_name(w->p, &w->o->regions[k], w->captured.values.v, w->captured.values.n, kn_span_is(w->o->name, "stablehlo.sort")));
}

/* ---- values that a body over scalars captures: arrays of equal elements beside the others ---- */

static uint32_t repeated(put *w, uint32_t value, kiln_type shape)
{
    kn_hprint *p = w->p;
    uint32_t in = kn_hvalue_at(p, value);
    shape.dtype = p->f->values[value].type->type.dtype;
    if (shape.rank == 0) return in;
    uint32_t k = kn_hadd(p, "broadcast", kn_hshape(p, shape), &in, 1, ", dimensions={}");
    if (p->status == KILN_OK) p->c->inst.v[k].loc = renamed(p, w->o->loc, "broadcast_in_dim");
    return k;
}

/* What an operation with captured values stands for: the operands with such arrays in their places, one list. */
typedef struct wider {
    uint32_t *in, nin;
} wider;

/* n own operands from `from` on, then the captured values as arrays of the first one's shape. */
static void beside(put *w, wider *x, uint32_t from, uint32_t n, bool scalars)
{
    const uint32_t *v = w->captured.values.v;
    kiln_type shape = scalars ? KILN_SCALAR(KILN_BOOL) : in_type(w, from);
    for (uint32_t i = 0; i < n; i++) x->in[x->nin++] = kn_hvalue_at(w->p, w->o->in[from + i]);
    for (uint32_t i = 0; i < w->captured.values.n && w->p->status == KILN_OK; i++) x->in[x->nin++] = repeated(w, v[i], shape);
}

static void widen(put *w, wider *x)
{
    uint32_t n = w->o->nin, more = w->captured.values.n;
    x->nin = 0;
    x->in = KN_NEWN(w->p->arena, uint32_t, n + 2 * more);
    if (!x->in) kn_hfail(w->p, kn_nomem(w->p->ctx));
    for (uint32_t i = 0; i < more && w->p->status == KILN_OK; i++)
        if (w->p->f->values[w->captured.values.v[i]].type->type.rank)
            kn_hfail(w->p, kn_fail(w->p->ctx, KILN_UNSUPPORTED, "HLO has no form for a body over scalars that uses an array from around it; accepted: scalars"));
    if (w->p->status != KILN_OK) return;
    if (kn_span_is(w->o->name, "stablehlo.sort")) {
        beside(w, x, 0, n, false);
    } else if (kn_span_is(w->o->name, "stablehlo.scatter")) {
        uint32_t arrays = n / 2;
        beside(w, x, 0, arrays, false);
        x->in[x->nin++] = kn_hvalue_at(w->p, w->o->in[arrays]);
        beside(w, x, arrays + 1, arrays, false);
    } else {
        beside(w, x, 0, n / 2, false);
        beside(w, x, n / 2, n / 2, true);
    }
}

static void tuple_shape(put *w, kn_text *t)
{
    uint32_t own = w->o->nout, all = own + w->captured.values.n;
    kn_text_char(t, '(');
    for (uint32_t i = 0; i < all; i++) {
        kiln_type y = out_type(w, i < own ? i : 0);
        if (i >= own) y.dtype = w->p->f->values[w->captured.values.v[i - own]].type->type.dtype;
        kn_text_printf(t, "%s", i ? ", " : "");
        if (i && i % 5 == 0) kn_text_printf(t, "/*index=%u*/", i);
        kn_text_add(t, kn_hshape(w->p, y));
    }
    kn_text_char(t, ')');
}

static void add_wider(put *w, const char *opcode, const wider *x)
{
    kn_hprint *p = w->p;
    const char *attrs = kn_hkeep(p, &w->t);
    tuple_shape(w, &w->t);
    uint32_t own = w->o->nout, all = own + w->captured.values.n, k = kn_hadd(p, opcode, kn_hkeep(p, &w->t), x->in, x->nin, attrs);
    if (p->status != KILN_OK) return;
    p->c->inst.v[k].loc = w->o->loc;
    for (uint32_t i = 0; i < all && p->status == KILN_OK; i++) { /* of the others, too: read back, they are results */
        kiln_type y = out_type(w, i < own ? i : 0);
        if (i >= own) y.dtype = p->f->values[w->captured.values.v[i - own]].type->type.dtype;
        char *index = kn_arena_printf(p->arena, ", index=%u", i);
        if (!index) kn_hfail(p, kn_nomem(p->ctx));
        uint32_t at = kn_hadd(p, "get-tuple-element", kn_hshape(p, y), &k, 1, index);
        if (i < own) p->at[w->o->out + i] = at + 1;
    }
}

/* ---- windows ---- */

static void window_part(put *w, const char *key, const kn_mattr *a, bool pairs, bool ones_too)
{
    const int64_t *v = NULL;
    uint32_t n = 0;
    bool plain = true;
    if (!a) return;
    kn_hfail(w->p, kn_mattr_ints(w->p->m, a, &v, &n));
    for (uint32_t i = 0; i < n; i++) plain = plain && v[i] == (pairs ? 0 : 1);
    if (plain && !ones_too) return;
    kn_text_printf(&w->t, "%s%s=", w->t.s[w->t.n - 1] == '{' ? "" : " ", key);
    for (uint32_t i = 0; i < n; i++) kn_text_printf(&w->t, "%s%lld", i == 0 ? "" : pairs && i % 2 ? "_" : "x", (long long)v[i]);
}

static void window(put *w)
{
    kn_text_add(&w->t, ", window={");
    window_part(w, "size", attr(w, "window_dimensions"), false, true);
    window_part(w, "stride", attr(w, "window_strides"), false, false);
    window_part(w, "pad", attr(w, "padding"), true, false);
    window_part(w, "lhs_dilate", attr(w, "base_dilations"), false, false);
    window_part(w, "rhs_dilate", attr(w, "window_dilations"), false, false);
    kn_text_char(&w->t, '}');
}

static void conv_padding(put *w)
{
    const kn_mattr *a = attr(w, "padding");
    bool any = false;
    for (uint32_t i = 0; a && i < a->n; i++) any = any || a->items[i].items[0].i || a->items[i].items[1].i;
    if (!any) return;
    kn_text_add(&w->t, " pad=");
    for (uint32_t i = 0; i < a->n; i++)
        kn_text_printf(&w->t, "%s%lld_%lld", i ? "x" : "", (long long)a->items[i].items[0].i, (long long)a->items[i].items[1].i);
}

static void convolution(put *w)
{
    const kn_mattr *dims = attr(w, "dimension_numbers");
    kiln_type kernel = in_type(w, 1);
    int64_t sizes[KN_RANK_LIMIT];
    uint32_t n = kernel.rank - 2;
    kn_mattr *items = KN_NEWN(w->p->arena, kn_mattr, n);
    if (!items) kn_hfail(w->p, kn_nomem(w->p->ctx));
    if (w->p->status != KILN_OK || !dims) return;
    for (uint32_t i = 0; i < dims->items[1].n; i++)
        if (dims->items[1].items[i].kind == KN_MA_INT) sizes[dims->items[1].items[i].i] = kernel.dims[i];
    for (uint32_t i = 0; i < n; i++) items[i] = (kn_mattr){.kind = KN_MA_INT, .at = "", .i = sizes[i]};
    kn_text_add(&w->t, ", window={");
    window_part(w, "size", &(kn_mattr){.kind = KN_MA_LIST, .at = "", .n = n, .items = items}, false, n > 0);
    window_part(w, "stride", attr(w, "window_strides"), false, false);
    conv_padding(w);
    window_part(w, "lhs_dilate", attr(w, "lhs_dilation"), false, false);
    window_part(w, "rhs_dilate", attr(w, "rhs_dilation"), false, false);
    kn_text_add(&w->t, "}, dim_labels=");
    for (int k = 0; k < 3; k++) {
        if (k) kn_text_add(&w->t, k == 1 ? "_" : "->");
        for (uint32_t i = 0; i < dims->items[k].n; i++) {
            const kn_mattr *a = &dims->items[k].items[i];
            if (a->kind == KN_MA_INT) kn_text_printf(&w->t, "%lld", (long long)a->i);
            else kn_text_addn(&w->t, a->text.s, a->text.n);
        }
    }
    const kn_mattr *features = attr(w, "feature_group_count"), *batches = attr(w, "batch_group_count");
    if (features && features->i != 1) number(w, "feature_group_count", "feature_group_count");
    if (batches && batches->i != 1) number(w, "batch_group_count", "batch_group_count");
    add_and_set(w, "convolution");
}

/* ---- the rest ---- */

static void operand_precision(put *w)
{
    const kn_mattr *precision = attr(w, "precision_config");
    bool plain = true;
    for (uint32_t i = 0; precision && i < precision->n; i++) plain = plain && kn_span_is(word_of(&precision->items[i]), "DEFAULT");
    if (!plain) {
        kn_text_add(&w->t, ", operand_precision={");
        for (uint32_t i = 0; i < precision->n; i++) {
            kn_span s = word_of(&precision->items[i]);
            kn_text_printf(&w->t, "%s%s", i ? "," : "", kn_span_is(s, "HIGHEST") ? "highest" : kn_span_is(s, "HIGH") ? "high" : "default");
        }
        kn_text_char(&w->t, '}');
    }
}

static void dot(put *w)
{
    list(w, "lhs_batch_dims", "lhs_batching_dimensions");
    list(w, "lhs_contracting_dims", "lhs_contracting_dimensions");
    list(w, "rhs_batch_dims", "rhs_batching_dimensions");
    list(w, "rhs_contracting_dims", "rhs_contracting_dimensions");
    operand_precision(w);
    add_and_set(w, "dot");
}

static void ragged_dot(put *w)
{
    static const char *const names[][2] = {{"lhs_batch_dims", "lhs_batching_dimensions"}, {"lhs_contracting_dims", "lhs_contracting_dimensions"},
                                           {"rhs_batch_dims", "rhs_batching_dimensions"}, {"rhs_contracting_dims", "rhs_contracting_dimensions"},
                                           {"lhs_ragged_dims", "lhs_ragged_dimensions"}, {"rhs_group_dims", "rhs_group_dimensions"}};
    const kn_mattr *a = attr(w, "ragged_dot_dimension_numbers");
    kn_mattr dict;
    kn_mmodule m = *w->p->m; /* the reader of attributes notes things in its module */
    kiln_status s = a ? kn_mattr_body(&m, a, &dict) : KILN_INTERNAL;
    kn_hfail(w->p, s);
    if (s != KILN_OK) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) ints(w, names[i][0], kn_mattr_find(dict.fields, dict.n, names[i][1]));
    operand_precision(w);
    add_and_set(w, "ragged-dot");
}

static void compare(put *w)
{
    const kn_mattr *direction = attr(w, "comparison_direction"), *type = attr(w, "compare_type");
    if (direction) kn_text_printf(&w->t, ", direction=%.*s", KN_SPAN_ARG(word_of(direction)));
    if (type && kn_span_is(word_of(type), "TOTALORDER")) kn_text_add(&w->t, ", type=TOTALORDER");
    add_and_set(w, "compare");
}

static void custom_call(put *w, kn_span target)
{
    const kn_mattr *config = attr(w, "mhlo.backend_config");
    kn_text_printf(&w->t, ", custom_call_target=\"%.*s\"", (int)target.n, target.s);
    if (config) kn_text_printf(&w->t, ", api_version=API_VERSION_TYPED_FFI, backend_config=%.*s", (int)config->text.n, config->text.s);
    number(w, "k", "k");
    add_and_set(w, "custom-call");
}

static void call(put *w)
{
    const kn_mattr *callee = attr(w, "callee"), *body = callee ? callee : attr(w, "decomposition"), *name = attr(w, "name");
    const kn_mfunc *f = body ? kn_mfunc_find(w->p->m, 0, body->text) : NULL;
    kn_hcomp *c = f ? kn_hfunction(w->p, f) : NULL;
    if (!f) kn_hfail(w->p, kn_fail(w->p->ctx, KILN_INTERNAL, "a function that is called is missing"));
    if (w->p->status != KILN_OK || !c) return;
    const char *percent = w->p->optimised ? "%" : "";
    if (c->fused) {
        bool sums = c->name[0] && (strstr(c->name, "_dot") || strstr(c->name, "_reduce") || strstr(c->name, "_convolution"));
        kn_text_printf(&w->t, ", kind=%s, calls=%%%s", sums ? "kInput" : "kLoop", c->name);
        uint32_t k = add(w, "fusion");
        if (w->p->status != KILN_OK) return;
        const char *tail = c->name + 6; /* behind fused_: loop_NAME_fusion.N */
        char *own = kn_arena_printf(w->p->arena, "%s_%.*s_fusion.%s", sums ? "input" : "loop", (int)strcspn(tail, "."), tail,
                                    strrchr(w->p->c->inst.v[k].name, '.') + 1);
        if (!own) kn_hfail(w->p, kn_nomem(w->p->ctx));
        else w->p->c->inst.v[k].name = own;
        kn_hset_results(w->p, w->o, k);
        return;
    }
    kn_text_printf(&w->t, ", to_apply=%s%s", percent, c->name);
    if (name) {
        const kn_mattr *attrs = attr(w, "composite_attributes");
        kn_text_add(&w->t, ", is_composite=true, frontend_attributes={composite.attributes=");
        if (attrs) kn_mprint_dict(&w->t, attrs->fields, attrs->n, NULL);
        else kn_text_add(&w->t, "{}");
        kn_text_printf(&w->t, ",composite.name=\"%.*s\",composite.version=\"0\"}", (int)name->text.n, name->text.s);
    }
    add_and_set(w, "call");
}

static void top_k(put *w)
{
    number(w, "k", "k");
    kn_text_add(&w->t, ", largest=true");
    add_and_set(w, "topk");
}

/* The operands come back together, as a tuple. */
static void barrier(put *w)
{
    kn_hprint *p = w->p;
    if (w->o->nout == 1) {
        add_and_set(w, "opt-barrier");
        return;
    }
    uint32_t t = add(w, "tuple");
    kn_hset_results(p, w->o, kn_hadd(p, "opt-barrier", p->status == KILN_OK ? p->c->inst.v[t].shape : "", &t, 1, ""));
}

static void rng(put *w)
{
    const kn_mattr *a = attr(w, "rng_algorithm");
    kn_span s = a ? word_of(a) : (kn_span){"", 0};
    kn_text_printf(&w->t, ", algorithm=%s", kn_span_is(s, "THREE_FRY") ? "rng_three_fry" : kn_span_is(s, "PHILOX") ? "rng_philox" : "rng_default");
    add_and_set(w, "rng-bit-generator");
}

static void uniform(put *w)
{
    kn_text_add(&w->t, ", distribution=rng_uniform");
    add_and_set(w, "rng");
}

static void token(put *w) { add_and_set(w, "after-all"); } /* a new token comes after nothing */

static void precision(put *w)
{
    int e = 0, m = 0;
    const kn_mattr *a = attr(w, "format");
    char format[32] = "";
    if (a && a->text.n < sizeof format) memcpy(format, a->text.s, a->text.n);
    sscanf(format, "e%dm%d", &e, &m);
    kn_text_printf(&w->t, ", exponent_bits=%d, mantissa_bits=%d", e, m);
    add_and_set(w, "reduce-precision");
}

static void triangular(put *w)
{
    const kn_mattr *transpose = attr(w, "transpose_a");
    flag(w, "left_side", "left_side");
    flag(w, "lower", "lower");
    flag(w, "unit_diagonal", "unit_diagonal");
    if (transpose) kn_text_printf(&w->t, ", transpose_a=%.*s", KN_SPAN_ARG(word_of(transpose)));
    add_and_set(w, "triangular-solve");
}

/* Operations whose attributes are written one by one; true: it was one. */
static bool listed(put *w, const char *name)
{
    static const struct {
        const char *name, *opcode;
        const char *keys[3][2];
        char kinds[4]; /* l list, n number, f flag, r region, i indexed, w window, T word */
    } rows[] = {
        {"cholesky", "cholesky", {{"lower", "lower"}}, "f"},
        {"concatenate", "concatenate", {{"dimensions", "dimension"}}, "o"},
        {"dynamic_slice", "dynamic-slice", {{"dynamic_slice_sizes", "slice_sizes"}}, "l"},
        {"fft", "fft", {{"fft_type", "fft_type"}, {"fft_length", "fft_length"}}, "Tl"},
        {"gather", "gather", {{NULL, NULL}}, "g"},
        {"iota", "iota", {{"iota_dimension", "iota_dimension"}}, "n"},
        {"map", "map", {{"to_apply", NULL}}, "r"},
        {"reduce", "reduce", {{"dimensions", "dimensions"}, {"to_apply", NULL}}, "lr"},
        {"reduce_window", "reduce-window", {{NULL, NULL}, {"to_apply", NULL}}, "wr"},
        {"reverse", "reverse", {{"dimensions", "dimensions"}}, "l"},
        {"scatter", "scatter", {{NULL, NULL}, {"to_apply", NULL}}, "sr"},
        {"select_and_scatter", "select-and-scatter", {{NULL, NULL}, {"select", NULL}, {"scatter", NULL}}, "wrR"},
        {"sort", "sort", {{"dimensions", "dimension"}, {"is_stable", "is_stable"}, {"to_apply", NULL}}, "ofr"},
        {"transpose", "transpose", {{"dimensions", "permutation"}}, "l"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        wider x = {NULL, 0};
        w->captured = kn_hcaptured_by(w->p, w->o);
        if (w->captured.values.n) widen(w, &x);
        for (int k = 0; rows[i].kinds[k]; k++) {
            const char *key = rows[i].keys[k][0], *from = rows[i].keys[k][1];
            const kn_mattr *a = from ? attr(w, from) : NULL;
            switch (rows[i].kinds[k]) {
            case 'l': ints(w, key, a); break;
            case 'n': number(w, key, from); break;
            case 'o':
                if (a) kn_text_printf(&w->t, ", %s={%lld}", key, (long long)a->i);
                break;
            case 'f': flag(w, key, from); break;
            case 'T':
                if (a) kn_text_printf(&w->t, ", %s=%.*s", key, KN_SPAN_ARG(word_of(a)));
                break;
            case 'r': region(w, key, 0); break;
            case 'R': region(w, key, 1); break;
            case 'w': window(w); break;
            default: indexed(w, rows[i].kinds[k] == 's'); break;
            }
        }
        if (w->captured.values.n) add_wider(w, rows[i].opcode, &x);
        else add_and_set(w, rows[i].opcode);
        return true;
    }
    return false;
}

/* Elementwise operations and the like: the name with dashes, no attributes. */
static void plain(put *w, const char *name)
{
    char *opcode = kn_arena_text(w->p->arena, name);
    if (!opcode) kn_hfail(w->p, kn_nomem(w->p->ctx));
    for (char *c = opcode; c && *c; c++)
        if (*c == '_') *c = '-';
    if (opcode) add_and_set(w, opcode);
}

void kn_hop(kn_hprint *p, const kn_mop *o)
{
    static const struct {
        const char *name;
        void (*fn)(put *w);
    } special[] = {{"broadcast_in_dim", broadcast}, {"compare", compare}, {"composite", call},   {"constant", constant},           {"convolution", convolution},
                   {"dot_general", dot},            {"pad", pad},         {"slice", slice},      {"optimization_barrier", barrier}, {"rng_bit_generator", rng},
                   {"reduce_precision", precision}, {"triangular_solve", triangular}, {"rng", uniform}, {"create_token", token}};
    put w = {.p = p, .o = o};
    char name[64] = "";
    if (p->status != KILN_OK) return;
    kn_text_init(&w.t, &p->ctx->alloc);
    size_t dot_at = 0;
    while (dot_at < o->name.n && o->name.s[dot_at] != '.') dot_at++;
    size_t n = o->name.n - dot_at - 1;
    if (dot_at < o->name.n && n < sizeof name) memcpy(name, o->name.s + dot_at + 1, n);
    bool chlo = kn_span_holds((kn_span){o->name.s, dot_at}, "chlo"), func = kn_span_holds((kn_span){o->name.s, dot_at}, "func"), done = false;
    if (func) call(&w), done = true;
    else if (chlo && strcmp(name, "top_k") == 0) top_k(&w), done = true;
    else if (chlo && strcmp(name, "ragged_dot") == 0) ragged_dot(&w), done = true;
    else if (chlo && strcmp(name, "erf") != 0 && strcmp(name, "tan") != 0) custom_call(&w, o->name), done = true;
    else if (strcmp(name, "while") == 0 || strcmp(name, "case") == 0 || strcmp(name, "if") == 0) kn_hcontrol(p, o), done = true;
    else if (strcmp(name, "custom_call") == 0) custom_call(&w, kn_mop_attr(o, "call_target_name")->text), done = true;
    for (size_t i = 0; !done && i < sizeof special / sizeof *special; i++)
        if (strcmp(special[i].name, name) == 0) special[i].fn(&w), done = true;
    if (!done && !listed(&w, name)) plain(&w, name);
    if (w.t.failed) kn_hfail(p, kn_nomem(p->ctx));
    kn_text_fini(&w.t);
}
