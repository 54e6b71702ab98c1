/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of HLO as operations of StableHLO. */
#include "hlo/hread.h"

#include <math.h>

#include "base/text.h"
#include "hlo/import.h"

typedef struct making {
    kn_hmake *m;
    const kn_htext_inst *i;
    const uint32_t *in; /* arrays of all operands, one after the other */
    uint32_t nin, nout;
    kiln_type *out;
    uint32_t *values; /* receives those of the results */
} making;

static bool is(const making *w, const char *opcode) { return kn_span_is(w->i->opcode, opcode); }
static void bad(const making *w, const char *what) { kn_hmake_fail(w->m, w->i, KILN_INVALID, "%s", what); }

static kn_mop *op(making *w, const char *name)
{
    kn_mop *o = kn_xop(&w->m->x, name, w->in, w->nin, w->out, w->nout);
    for (uint32_t k = 0; k < w->nout; k++) w->values[k] = o->out + k;
    return o;
}

/* ---- attributes ---- */

static bool ints(making *w, const char *key, int64_t *v, uint32_t *n)
{
    const kn_span *s = kn_htext_attr_of(w->i, key);
    *n = 0;
    if (!s) return false;
    if (!kn_htext_ints(*s, v, n, 4 * KN_RANK_LIMIT)) kn_hmake_fail(w->m, w->i, KILN_INVALID, "%s holds more than integers: %.*s", key, KN_SPAN_ARG(*s));
    return true;
}
static void list(making *w, kn_mop *o, const char *key, const char *name, bool array)
{
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n;
    if (!ints(w, key, v, &n)) return;
    if (array) kn_xattr_array(&w->m->x, o, name, v, n);
    else kn_xattr_list(&w->m->x, o, name, v, n);
}
static void number(making *w, kn_mop *o, const char *key, const char *name)
{
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n;
    if (!ints(w, key, v, &n)) return;
    if (n != 1) kn_hmake_fail(w->m, w->i, KILN_INVALID, "%s must be one integer", key);
    else kn_xattr_int(&w->m->x, o, name, v[0]);
}
static void flag(making *w, kn_mop *o, const char *key, const char *name)
{
    const kn_span *s = kn_htext_attr_of(w->i, key);
    kn_xattr_bool(&w->m->x, o, name, s && kn_span_is(*s, "true"));
}
static void word(making *w, kn_mop *o, const char *key, const char *name)
{
    const kn_span *s = kn_htext_attr_of(w->i, key);
    if (s) kn_xattr(&w->m->x, o, name, (kn_mattr){.kind = KN_MA_WORD, .at = s->s, .text = *s});
}
static void region(making *w, kn_mop *o, const char *key, uint32_t k, uint32_t nregions)
{
    const kn_span *s = kn_htext_attr_of(w->i, key);
    if (!s) kn_hmake_fail(w->m, w->i, KILN_INVALID, "%s is missing", key);
    else kn_hmake_region(w->m, w->i, o, k, nregions, key, *s, NULL, 0);
}

/* ---- constants ---- */

static bool number_char(char c) { return (c >= '0' && c <= '9') || kn_is_one_of(c, "+-.") || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void put_number(kn_text *t, kiln_dtype d, kn_span s)
{
    kiln_dtype part = d == KILN_C64 ? KILN_F32 : d == KILN_C128 ? KILN_F64 : d;
    bool floats = strchr("fc8", kiln_dtype_kind(d)), negative = s.n && s.s[0] == '-';
    kn_span bare = {s.s + negative, s.n - negative};
    double v = kn_span_is(bare, "nan") ? (double)NAN : kn_span_is(bare, "inf") ? (double)INFINITY : 0;
    if (floats && v != 0) {
        uint64_t bits = 0;
        kn_scalar_store(part, &bits, 0, (kn_scalar){.f = negative ? -v : v});
        kn_text_printf(t, "0x%llX", (unsigned long long)bits);
    } else if (d == KILN_BOOL && (kn_span_is(s, "1") || kn_span_is(s, "0"))) kn_text_add(t, s.s[0] == '1' ? "true" : "false");
    else kn_text_addn(t, s.s, s.n);
}

static void constant(making *w)
{
    kn_export *x = &w->m->x;
    kn_span s = w->i->literal;
    kn_text t;
    if (w->nout != 1) {
        kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "constants that are tuples");
        return;
    }
    if (kn_span_holds(s, "...")) {
        kn_hmake_fail(w->m, w->i, KILN_INVALID, "the text leaves its value out ({...}); print large constants too");
        return;
    }
    kiln_type type = w->out[0];
    kn_text_init(&t, &x->ctx->alloc);
    for (size_t k = 0; k < s.n;) {
        char c = s.s[k];
        if (s.n - k > 1 && c == '/' && s.s[k + 1] == '*') {
            for (k += 2; k + 1 < s.n && !(s.s[k] == '*' && s.s[k + 1] == '/'); k++) {}
            k += 2;
        } else if (number_char(c)) {
            size_t end = k;
            while (end < s.n && number_char(s.s[end])) end++;
            put_number(&t, type.dtype, (kn_span){s.s + k, end - k});
            k = end;
        } else {
            kn_text_char(&t, c == '{' ? '[' : c == '}' ? ']' : c);
            k++;
        }
    }
    if (kiln_type_size(type) == 0) t.n = 0;
    kn_span text = {"", t.n};
    text.s = kn_xkeep(x, &t);
    kn_text_fini(&t);
    kn_xattr(x, op(w, "stablehlo.constant"), "value", (kn_mattr){.kind = KN_MA_DENSE, .at = w->i->at, .type = kn_xtype(x, type), .text = text});
}

/* ---- shapes ---- */

static void slice(making *w)
{
    const kn_span *s = kn_htext_attr_of(w->i, "slice");
    int64_t v[3][KN_RANK_LIMIT];
    uint32_t n = 0;
    for (size_t k = 0; s && k < s->n && n < KN_RANK_LIMIT;) { /* {[0:2], [1:8:2]} */
        if (s->s[k] != '[') {
            k++;
            continue;
        }
        int64_t part[3] = {0, 0, 1};
        uint32_t p = 0;
        for (k++; k < s->n && s->s[k] != ']'; k++) {
            if (s->s[k] == ':') p++;
            else if (p < 3 && s->s[k] >= '0' && s->s[k] <= '9' && part[p] < INT64_MAX / 20)
                part[p] = (p == 2 && (k == 0 || s->s[k - 1] == ':') ? 0 : part[p]) * 10 + (s->s[k] - '0');
        }
        for (int d = 0; d < 3; d++) v[d][n] = part[d];
        n++;
    }
    kn_mop *o = op(w, "stablehlo.slice");
    static const char *const names[] = {"start_indices", "limit_indices", "strides"};
    for (int d = 0; d < 3; d++) kn_xattr_list(&w->m->x, o, names[d], v[d], n);
}

/* 1_0_1x2_2: low, high and what stands between, by dimension. */
static void pad(making *w)
{
    const kn_span *s = kn_htext_attr_of(w->i, "padding");
    int64_t v[3][KN_RANK_LIMIT] = {{0}};
    uint32_t n = 0;
    for (size_t k = 0; s && k < s->n && n < KN_RANK_LIMIT;) {
        size_t end = k;
        int64_t part[3];
        uint32_t parts;
        while (end < s->n && s->s[end] != 'x') end++;
        if (!kn_htext_ints((kn_span){s->s + k, end - k}, part, &parts, 3) || parts < 2) {
            bad(w, "padding must be low_high or low_high_interior by dimension, joined by x");
            return;
        }
        v[0][n] = part[0], v[1][n] = part[1], v[2][n++] = parts > 2 ? part[2] : 0;
        k = end + 1;
    }
    static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
    kn_mop *o = op(w, "stablehlo.pad");
    for (int d = 0; d < 3; d++) kn_xattr_list(&w->m->x, o, names[d], v[d], n);
}

/* ---- gather and scatter ---- */

/* [1, 2] under this name among the fields of an attribute. */
static void put_field(kn_text *t, const char *name, const int64_t *v, uint32_t n)
{
    kn_text_printf(t, "%s%s = [", t->n ? ", " : "", name);
    for (uint32_t d = 0; d < n; d++) kn_text_printf(t, "%s%lld", d ? ", " : "", (long long)v[d]);
    kn_text_char(t, ']');
}

static void ragged(making *w, kn_mop *o)
{
    static const char *const names[][2] = {{"lhs_batch_dims", "lhs_batching_dimensions"}, {"rhs_batch_dims", "rhs_batching_dimensions"},
                                           {"lhs_contracting_dims", "lhs_contracting_dimensions"}, {"rhs_contracting_dims", "rhs_contracting_dimensions"},
                                           {"lhs_ragged_dims", "lhs_ragged_dimensions"}, {"rhs_group_dims", "rhs_group_dimensions"}};
    kn_export *x = &w->m->x;
    kn_text t;
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n;
    kn_text_init(&t, &x->ctx->alloc);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (ints(w, names[k][0], v, &n) && n) put_field(&t, names[k][1], v, n);
    const char *text = kn_xkeep(x, &t);
    kn_text_fini(&t);
    kn_xattr_text(x, o, "ragged_dot_dimension_numbers", "chlo.ragged_dot", text);
}

static void indexed(making *w, kn_mop *o, bool scatter)
{
    static const char *const gather_names[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map"};
    static const char *const scatter_names[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
                                                "scatter_dims_to_operand_dims"};
    kn_export *x = &w->m->x;
    kn_text t;
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n;
    kn_text_init(&t, &x->ctx->alloc);
    for (int k = 0; k < 5; k++) {
        const char *name = scatter ? scatter_names[k] : gather_names[k];
        if (ints(w, name, v, &n) && n) put_field(&t, name, v, n);
    }
    if (ints(w, "index_vector_dim", v, &n) && n == 1) kn_text_printf(&t, "%sindex_vector_dim = %lld", t.n ? ", " : "", (long long)v[0]);
    const char *text = kn_xkeep(x, &t);
    kn_text_fini(&t);
    kn_xattr_text(x, o, scatter ? "scatter_dimension_numbers" : "dimension_numbers", scatter ? "stablehlo.scatter" : "stablehlo.gather", text);
    flag(w, o, "indices_are_sorted", "indices_are_sorted");
    if (scatter) flag(w, o, "unique_indices", "unique_indices");
}

/* ---- windows ---- */

/* A part of window={size=3x3 stride=2x2 pad=1_1x1_1}. */
static bool window_part(making *w, const char *key, int64_t *v, uint32_t *n)
{
    const kn_span *s = kn_htext_attr_of(w->i, "window");
    size_t length = strlen(key);
    for (size_t k = 0; s && k + length < s->n; k++) {
        bool begins = k == 0 || kn_is_one_of(s->s[k - 1], "{ ");
        if (!begins || memcmp(s->s + k, key, length) != 0 || s->s[k + length] != '=') continue;
        size_t from = k + length + 1, end = from;
        while (end < s->n && !kn_is_one_of(s->s[end], " }")) end++;
        if (!kn_htext_ints((kn_span){s->s + from, end - from}, v, n, 2 * KN_RANK_LIMIT)) bad(w, "window must hold integers");
        return true;
    }
    return false;
}

static void window_list(making *w, kn_mop *o, const char *key, const char *name)
{
    int64_t v[2 * KN_RANK_LIMIT];
    uint32_t n;
    if (window_part(w, key, v, &n)) kn_xattr_array(&w->m->x, o, name, v, n);
}

static void window_pads(making *w, kn_mop *o)
{
    int64_t v[2 * KN_RANK_LIMIT];
    uint32_t n;
    kn_export *x = &w->m->x;
    if (!window_part(w, "pad", v, &n)) return;
    int64_t dims[2] = {n / 2, 2};
    kiln_type t = {KILN_I64, 2, dims};
    kn_span text = {"", 0};
    if (x->status == KILN_OK) kn_xfail(x, kn_dense_text(x->ctx, x->arena, t, v, &text));
    kn_xattr(x, o, "padding", (kn_mattr){.kind = KN_MA_DENSE, .at = w->i->at, .type = kn_xtype(x, t), .text = text});
}

static void window(making *w, kn_mop *o, bool dilated)
{
    window_list(w, o, "size", "window_dimensions");
    window_list(w, o, "stride", "window_strides");
    window_pads(w, o);
    if (dilated) window_list(w, o, "lhs_dilate", "base_dilations");
    if (dilated) window_list(w, o, "rhs_dilate", "window_dilations");
}

static void convolution(making *w)
{
    const kn_span *labels = kn_htext_attr_of(w->i, "dim_labels");
    kn_export *x = &w->m->x;
    kn_mattr *specs = KN_NEWN(x->arena, kn_mattr, 3);
    size_t at = 0;
    KN_XCHECK(x, specs);
    if (!labels) bad(w, "dim_labels is missing");
    if (x->status != KILN_OK || !labels) return;
    for (int k = 0; k < 3; k++) { /* b01f_01io->b01f */
        size_t end = at;
        while (end < labels->n && !kn_is_one_of(labels->s[end], "_-")) end++;
        kn_mattr *items = KN_NEWN(x->arena, kn_mattr, end - at);
        KN_XCHECK(x, items);
        for (size_t i = at; items && i < end; i++) {
            char c = labels->s[i];
            items[i - at] = c >= '0' && c <= '9' ? (kn_mattr){.kind = KN_MA_INT, .at = labels->s, .i = c - '0'}
                                                 : (kn_mattr){.kind = KN_MA_WORD, .at = labels->s, .text = {labels->s + i, 1}};
        }
        specs[k] = (kn_mattr){.kind = KN_MA_LIST, .at = labels->s, .n = items ? (uint32_t)(end - at) : 0, .items = items};
        at = end + (k == 1 ? 2 : 1);
    }
    kn_mop *o = op(w, "stablehlo.convolution");
    kn_xattr(x, o, "dimension_numbers", (kn_mattr){.kind = KN_MA_LIST, .at = labels->s, .n = 3, .items = specs});
    window_list(w, o, "stride", "window_strides");
    window_pads(w, o);
    window_list(w, o, "lhs_dilate", "lhs_dilation");
    window_list(w, o, "rhs_dilate", "rhs_dilation");
    window_list(w, o, "rhs_reversal", "window_reversal");
    number(w, o, "feature_group_count", "feature_group_count");
    number(w, o, "batch_group_count", "batch_group_count");
}

/* Where the first `key` in s ends; s.n: there is none. */
static size_t behind(kn_span s, const char *key)
{
    size_t n = strlen(key);
    for (size_t k = 0; k + n <= s.n; k++)
        if (memcmp(s.s + k, key, n) == 0) return k + n;
    return s.n;
}

/* From there to the next quote, or the end. */
static kn_span quoted(kn_span s, size_t from)
{
    size_t end = from;
    while (end < s.n && s.s[end] != '"') end += s.s[end] == '\\' && end + 1 < s.n ? 2 : 1;
    return (kn_span){s.s + from, end - from};
}

/* Without its escapes, which are those of C; empty when memory ran out, which the module then says. */
static kn_span unquoted(kn_hmake *m, kn_span raw)
{
    char *to = KN_NEWN(m->h->arena, char, raw.n + 1), *start = to;
    KN_XCHECK(&m->x, to);
    if (!to) return (kn_span){"", 0};
    for (const char *p = raw.s, *end = raw.s + raw.n; p < end; p++) {
        int code = 0, digits = 0;
        if (*p != '\\' || p + 1 == end) {
            *to++ = *p;
            continue;
        }
        while (digits < 3 && p + 1 + digits < end && p[1 + digits] >= '0' && p[1 + digits] <= '7') code = code * 8 + p[1 + digits++] - '0';
        if (digits) *to++ = (char)code, p += digits;
        else p++, *to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p == 'r' ? '\r' : *p;
    }
    return (kn_span){start, strlen(start)};
}

/* ---- calls and control flow ---- */

/* frontend_attributes={composite.attributes={axis = 0 : i64},composite.name="kiln.argmax",..} */
static void composite_attributes(making *w, kn_mop *o, kn_span frontend)
{
    kn_export *x = &w->m->x;
    size_t from = behind(frontend, "composite.attributes={"), end = from;
    kn_xattr(x, o, "name", (kn_mattr){.kind = KN_MA_STRING, .at = w->i->at, .text = quoted(frontend, behind(frontend, "composite.name=\""))});
    if (from == frontend.n) return;
    for (int depth = 1; end < frontend.n; end++) {
        depth += (frontend.s[end] == '{') - (frontend.s[end] == '}');
        if (!depth) break;
    }
    kn_mattr dict, text = {.kind = KN_MA_DIALECT, .at = frontend.s, .text = {frontend.s + from, end - from}};
    kiln_status s = kn_mattr_body(x->m, &text, &dict);
    kn_xfail(x, s);
    if (s == KILN_OK) kn_xattr(x, o, "composite_attributes", dict);
}

static void call(making *w, const char *key)
{
    const kn_span *name = kn_htext_attr_of(w->i, key), *frontend = kn_htext_attr_of(w->i, "frontend_attributes");
    kn_export *x = &w->m->x;
    if (!name) {
        kn_hmake_fail(w->m, w->i, KILN_INVALID, "%s is missing", key);
        return;
    }
    const kn_mfunc *f = kn_hmake_function(w->m, w->i, *name);
    if (!f) return;
    const kn_span *composite = kn_htext_attr_of(w->i, "is_composite");
    bool ours = composite && kn_span_is(*composite, "true") && frontend && kn_span_holds(*frontend, "composite.name=\"");
    kn_mop *o = op(w, ours ? "stablehlo.composite" : "func.call");
    kn_xattr(x, o, ours ? "decomposition" : "callee", (kn_mattr){.kind = KN_MA_SYMBOL, .at = w->i->at, .text = f->name});
    if (ours) composite_attributes(w, o, *frontend);
}

static void while_loop(making *w)
{
    const kn_span *cond = kn_htext_attr_of(w->i, "condition"), *body = kn_htext_attr_of(w->i, "body");
    kn_mop *o = op(w, "stablehlo.while");
    if (!cond || !body) {
        bad(w, "condition and body are needed");
        return;
    }
    kn_hmake_region(w->m, w->i, o, 0, 2, "condition", *cond, NULL, 0);
    kn_hmake_region(w->m, w->i, o, 1, 2, "body", *body, NULL, 0);
}

/* conditional(index, arg0, arg1, ..), branch_computations={a, b}, or true_computation=, false_computation= */
static void conditional(making *w)
{
    const kn_span *all = kn_htext_attr_of(w->i, "branch_computations"), *yes = kn_htext_attr_of(w->i, "true_computation");
    const kn_span *no = kn_htext_attr_of(w->i, "false_computation");
    uint32_t n = w->i->nin ? w->i->nin - 1 : 0, used = 1;
    kn_span names[64];
    if (!n || n > 64 || (!all && (n != 2 || !yes || !no))) {
        bad(w, "an index, branches and one operand for each of them are needed (64 branches at most)");
        return;
    }
    if (!all) names[0] = *yes, names[1] = *no;
    size_t at = 1;
    for (uint32_t k = 0; all && k < n; k++) {
        while (at < all->n && kn_is_one_of(all->s[at], ", \n\t{")) at++;
        size_t end = at;
        while (end < all->n && !kn_is_one_of(all->s[end], ", \n\t}")) end++;
        names[k] = (kn_span){all->s + at, end - at};
        at = end;
    }
    w->nin = 1;
    kn_mop *o = op(w, all ? "stablehlo.case" : "stablehlo.if");
    for (uint32_t k = 0; k < n; k++) {
        uint32_t leaves = w->m->c->inst.v[w->i->in[1 + k]].shape->leaves;
        kn_hmake_region(w->m, w->i, o, k, n, "a branch", names[k], w->in + used, leaves);
        used += leaves;
    }
}

static void custom_call(making *w)
{
    const kn_span *target = kn_htext_attr_of(w->i, "custom_call_target"), *config = kn_htext_attr_of(w->i, "backend_config");
    kn_export *x = &w->m->x;
    if (!target || target->n < 2) {
        bad(w, "custom_call_target is missing");
        return;
    }
    kn_span name = {target->s + 1, target->n - 2};
    if (name.n > 5 && memcmp(name.s, "chlo.", 5) == 0) { /* operations that HLO has no opcode for */
        char *own = kn_arena_textn(x->arena, name.s, name.n);
        KN_XCHECK(x, own);
        if (!own) return;
        kn_mop *o = op(w, own);
        number(w, o, "k", "k");
        return;
    }
    kn_mop *o = op(w, "stablehlo.custom_call");
    kn_xattr(x, o, "call_target_name", (kn_mattr){.kind = KN_MA_SYMBOL, .at = target->s, .text = name});
    if (config && config->n >= 2 && config->s[0] == '{') {
        kn_mattr dict, text = {.kind = KN_MA_DIALECT, .at = config->s, .text = {config->s + 1, config->n - 2}};
        kiln_status s = kn_mattr_body(x->m, &text, &dict);
        kn_xfail(x, s);
        if (s == KILN_OK) kn_xattr(x, o, "mhlo.backend_config", dict);
    }
}

static void get_tuple_element(making *w)
{
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n, at = 0;
    const kn_htext_shape *s = w->i->nin == 1 ? w->m->c->inst.v[w->i->in[0]].shape : NULL;
    if (!s || !s->tuple || !ints(w, "index", v, &n) || n != 1 || v[0] < 0 || v[0] >= (int64_t)s->n || s->items[v[0]]->leaves != w->nout) {
        bad(w, "a tuple and the index of one of its members are needed");
        return;
    }
    for (int64_t k = 0; k < v[0]; k++) at += s->items[k]->leaves;
    for (uint32_t k = 0; k < w->nout; k++) w->values[k] = w->in[at + k];
}

static void forward(making *w)
{
    if (w->nin != w->nout) bad(w, "as many results as operands are expected");
    for (uint32_t k = 0; k < w->nout && k < w->nin; k++) w->values[k] = w->in[k];
}

/* The same bytes as another type, or in another shape. */
static void bitcast(making *w)
{
    kiln_type from = w->nin == 1 ? kn_xtype_of(&w->m->x, w->in[0]) : KILN_SCALAR(KILN_BOOL);
    if (w->nin != 1 || w->nout != 1) {
        bad(w, "one array is needed");
        return;
    }
    bool same = from.dtype == w->out[0].dtype;
    kiln_type turned = from;
    turned.dtype = w->out[0].dtype;
    if (same || kiln_type_equal(turned, w->out[0])) op(w, same ? "stablehlo.reshape" : "stablehlo.bitcast_convert");
    else kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "bits of %s as those of %s; accepted: another type or another shape, not both", kn_type_show(from).s, kn_type_show(w->out[0]).s);
}

/* A copy that is begun gives the array, its copy and a token. */
static void copy_start(making *w)
{
    if (w->nin != 1 || w->nout < 2) {
        bad(w, "one array and its copy are expected");
        return;
    }
    w->values[0] = w->values[1] = w->in[0];
    for (uint32_t k = 2; k < w->nout; k++)
        w->values[k] = w->out[k].dtype == KILN_TOKEN ? kn_xop1(&w->m->x, "stablehlo.create_token", NULL, 0, w->out[k])
                                                     : kn_xscalar(&w->m->x, w->out[k].dtype, (kn_scalar){.u = 0});
}

/* The first arrays of the operands; what stands behind them is an order of execution. */
static void first_ones(making *w)
{
    if (w->nin < w->nout) bad(w, "as many results as operands are expected");
    for (uint32_t k = 0; k < w->nout && k < w->nin; k++) w->values[k] = w->in[k];
}

/* Groups of one member each, which is replica 0: `{}`, `{{0}}`, `[1,1]<=[1]`. */
static void one_replica(making *w)
{
    const kn_span *s = kn_htext_attr_of(w->i, "replica_groups");
    bool several = false, tiled = s && s->n && s->s[0] == '[';
    for (size_t k = 0; s && k < s->n && !tiled; k++) several = several || (s->s[k] >= '1' && s->s[k] <= '9');
    for (size_t k = 0; tiled && k < s->n; k++) several = several || (s->s[k] >= '2' && s->s[k] <= '9') || (s->s[k] == '1' && k + 1 < s->n && s->s[k + 1] >= '0' && s->s[k + 1] <= '9');
    if (several) kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "an operation between several replicas; accepted: a module lowered for one device");
}

/* ---- the table ---- */

static void precision(making *w, kn_mop *o)
{
    const kn_span *s = kn_htext_attr_of(w->i, "operand_precision");
    kn_mattr *items = s ? KN_NEWN(w->m->x.arena, kn_mattr, 2) : NULL;
    uint32_t n = 0;
    if (!s) return;
    KN_XCHECK(&w->m->x, items);
    for (size_t k = 0; items && k < s->n && n < 2;) {
        size_t end = k;
        while (end < s->n && s->s[end] >= 'a' && s->s[end] <= 'z') end++;
        kn_span one = {s->s + k, end - k};
        if (one.n) items[n++] = (kn_mattr){.kind = KN_MA_WORD, .at = s->s, .text = kn_xspan(kn_span_is(one, "highest") ? "HIGHEST" : kn_span_is(one, "high") ? "HIGH" : "DEFAULT")};
        k = end + 1;
    }
    if (n == 2) kn_xattr(&w->m->x, o, "precision_config", (kn_mattr){.kind = KN_MA_LIST, .at = s->s, .n = 2, .items = items});
}

static void one_dimension(making *w, kn_mop *o, const char *name)
{
    int64_t v[4 * KN_RANK_LIMIT];
    uint32_t n;
    if (ints(w, "dimensions", v, &n) && n == 1) kn_xattr_int(&w->m->x, o, name, v[0]);
    else bad(w, "dimensions must hold one dimension");
}

/* Attributes of an operation made under its own name. */
static void attributes(making *w, kn_mop *o)
{
    if (is(w, "broadcast")) {
        int64_t v[4 * KN_RANK_LIMIT];
        uint32_t n = 0;
        ints(w, "dimensions", v, &n);
        kn_xattr_list(&w->m->x, o, "broadcast_dimensions", v, n);
    } else if (is(w, "transpose")) list(w, o, "dimensions", "permutation", false);
    else if (is(w, "reverse")) list(w, o, "dimensions", "dimensions", false);
    else if (is(w, "concatenate")) one_dimension(w, o, "dimension");
    else if (is(w, "iota")) number(w, o, "iota_dimension", "iota_dimension");
    else if (is(w, "dynamic-slice")) list(w, o, "dynamic_slice_sizes", "slice_sizes", false);
    else if (is(w, "compare")) word(w, o, "direction", "comparison_direction"), word(w, o, "type", "compare_type");
    else if (is(w, "dot")) {
        list(w, o, "lhs_batch_dims", "lhs_batching_dimensions", false);
        list(w, o, "rhs_batch_dims", "rhs_batching_dimensions", false);
        list(w, o, "lhs_contracting_dims", "lhs_contracting_dimensions", false);
        list(w, o, "rhs_contracting_dims", "rhs_contracting_dimensions", false);
        precision(w, o);
    } else if (is(w, "ragged-dot")) ragged(w, o), precision(w, o);
    else if (is(w, "reduce")) list(w, o, "dimensions", "dimensions", false), region(w, o, "to_apply", 0, 1);
    else if (is(w, "map")) region(w, o, "to_apply", 0, 1);
    else if (is(w, "reduce-window")) window(w, o, true), region(w, o, "to_apply", 0, 1);
    else if (is(w, "select-and-scatter")) window(w, o, false), region(w, o, "select", 0, 2), region(w, o, "scatter", 1, 2);
    else if (is(w, "sort")) one_dimension(w, o, "dimension"), flag(w, o, "is_stable", "is_stable"), region(w, o, "to_apply", 0, 1);
    else if (is(w, "gather")) indexed(w, o, false), list(w, o, "slice_sizes", "slice_sizes", true);
    else if (is(w, "scatter")) indexed(w, o, true), region(w, o, "to_apply", 0, 1);
    else if (is(w, "fft")) word(w, o, "fft_type", "fft_type"), list(w, o, "fft_length", "fft_length", false);
    else if (is(w, "cholesky")) flag(w, o, "lower", "lower");
    else if (is(w, "triangular-solve")) {
        flag(w, o, "left_side", "left_side");
        flag(w, o, "lower", "lower");
        flag(w, o, "unit_diagonal", "unit_diagonal");
        word(w, o, "transpose_a", "transpose_a");
    } else if (is(w, "topk")) {
        const kn_span *largest = kn_htext_attr_of(w->i, "largest");
        number(w, o, "k", "k");
        if (largest && !kn_span_is(*largest, "true")) kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "the smallest entries; accepted: largest=true");
    } else if (is(w, "rng")) {
        const kn_span *s = kn_htext_attr_of(w->i, "distribution");
        kn_xattr_word(&w->m->x, o, "rng_distribution", s && kn_span_is(*s, "rng_normal") ? "NORMAL" : s && kn_span_is(*s, "rng_uniform") ? "UNIFORM" : "");
        kn_xattr_bool(&w->m->x, o, "shape_of_result", true);
    } else if (is(w, "collective-permute")) list(w, o, "source_target_pairs", "source_target_pairs", false);
    else if (is(w, "all-reduce") || is(w, "all-gather") || is(w, "all-to-all") || is(w, "reduce-scatter") || is(w, "collective-broadcast")) one_replica(w);
    else if (is(w, "reduce-precision")) number(w, o, "exponent_bits", "exponent_bits"), number(w, o, "mantissa_bits", "mantissa_bits");
    else if (is(w, "rng-bit-generator")) {
        const kn_span *s = kn_htext_attr_of(w->i, "algorithm");
        kn_xattr_word(&w->m->x, o, "rng_algorithm", s && kn_span_is(*s, "rng_three_fry") ? "THREE_FRY" : s && kn_span_is(*s, "rng_philox") ? "PHILOX" : "DEFAULT");
    }
}

static void refuse(making *w)
{
    static const char *const known[][2] = {
        {"async-done", "asynchronous operations are not supported; accepted: the text before it was scheduled"},
        {"async-start", "asynchronous operations are not supported; accepted: the text before it was scheduled"},
        {"async-update", "asynchronous operations are not supported; accepted: the text before it was scheduled"},
        {"infeed", "input from a host queue is not supported; accepted: parameters of the entry"},
        {"outfeed", "output to a host queue is not supported; accepted: results of the entry"},
        {"recv", "messages between processes are not supported; accepted: a module lowered for one device"},
        {"recv-done", "messages between processes are not supported; accepted: a module lowered for one device"},
        {"rng-get-and-update-state", "a generator with a state of its own is not supported; accepted: rng-bit-generator"},
        {"send", "messages between processes are not supported; accepted: a module lowered for one device"},
        {"send-done", "messages between processes are not supported; accepted: a module lowered for one device"},
        {"stochastic-convert", "rounding by random bits is not supported; accepted: convert"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(w, known[i][0])) {
            kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "%s", known[i][1]);
            return;
        }
    kn_hmake_fail(w->m, w->i, KILN_UNSUPPORTED, "this operation is not known");
}

static const char *operation_name(making *w)
{
    static const char *const others[][2] = {{"broadcast", "stablehlo.broadcast_in_dim"}, {"dot", "stablehlo.dot_general"}, {"erf", "chlo.erf"},
                                            {"ragged-dot", "chlo.ragged_dot"}, {"topk", "chlo.top_k"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is(w, others[i][0])) return others[i][1];
    char *s = kn_arena_printf(w->m->h->arena, "stablehlo.%.*s", KN_SPAN_ARG(w->i->opcode));
    KN_XCHECK(&w->m->x, s);
    for (char *c = s; c && *c; c++)
        if (*c == '-') *c = '_';
    if (s && !kn_himporter_find(kn_xspan(s))) refuse(w);
    return s ? s : "";
}

static void make(making *w)
{
    if (is(w, "constant")) constant(w);
    else if (is(w, "tuple") || is(w, "copy") || is(w, "opt-barrier")) {
        if (is(w, "opt-barrier") && w->nout) op(w, "stablehlo.optimization_barrier");
        else forward(w);
    } else if (is(w, "get-tuple-element")) get_tuple_element(w);
    else if (is(w, "bitcast")) bitcast(w);
    else if (is(w, "after-all")) op(w, w->i->nin ? "stablehlo.after_all" : "stablehlo.create_token"); /* HLO has one name for both */
    else if (is(w, "copy-start")) copy_start(w);
    else if (is(w, "copy-done") || is(w, "add-dependency") || is(w, "domain")) first_ones(w);
    else if (is(w, "slice")) slice(w);
    else if (is(w, "pad")) pad(w);
    else if (is(w, "convolution")) convolution(w);
    else if (is(w, "while")) while_loop(w);
    else if (is(w, "conditional")) conditional(w);
    else if (is(w, "call")) call(w, "to_apply");
    else if (is(w, "fusion")) call(w, "calls");
    else if (is(w, "custom-call")) custom_call(w);
    else {
        const char *name = operation_name(w);
        if (w->m->x.status == KILN_OK) attributes(w, op(w, name));
    }
}

/* metadata={op_name="jit(f)/add" source_file="f.py" source_line=3} */
static const kn_mloc *location(kn_hmake *m, const kn_htext_inst *i)
{
    const kn_span *s = kn_htext_attr_of(i, "metadata");
    if (!s) return NULL;
    kn_span name = unquoted(m, quoted(*s, behind(*s, "op_name=\""))), file = unquoted(m, quoted(*s, behind(*s, "source_file=\"")));
    uint32_t line = 0;
    for (size_t k = behind(*s, "source_line="); k < s->n && s->s[k] >= '0' && s->s[k] <= '9' && line < 100000000; k++) line = line * 10 + (uint32_t)(s->s[k] - '0');
    if (!name.n && (!file.n || !line)) return NULL;
    kn_mloc *l = KN_NEWN(m->h->arena, kn_mloc, 2);
    KN_XCHECK(&m->x, l);
    if (!l) return NULL;
    l[0] = (kn_mloc){.kind = KN_ML_FILE, .text = file, .line = line};
    l[1] = (kn_mloc){.kind = KN_ML_NAME, .text = name, .child = file.n && line ? &l[0] : NULL};
    return name.n ? &l[1] : &l[0];
}

void kn_hmake_inst(kn_hmake *m, const kn_htext_inst *i, uint32_t *out)
{
    making w = {.m = m, .i = i, .nout = 0, .values = out};
    uint32_t n = 0;
    for (uint32_t k = 0; k < i->nin; k++) n += m->c->inst.v[i->in[k]].shape->leaves;
    uint32_t *in = KN_NEWN(m->h->arena, uint32_t, n);
    w.out = KN_NEWN(m->h->arena, kiln_type, i->shape->leaves);
    KN_XCHECK(&m->x, in && w.out);
    if (m->x.status != KILN_OK) return;
    for (uint32_t k = 0; k < i->nin; k++) {
        uint32_t leaves = m->c->inst.v[i->in[k]].shape->leaves;
        if (leaves) memcpy(in + w.nin, m->at[i->in[k]], leaves * sizeof *in);
        w.nin += leaves;
    }
    w.in = in;
    kn_htext_leaves(i->shape, w.out, &w.nout);
    m->x.loc = location(m, i);
    m->x.at = i->at;
    m->x.line = i->line;
    make(&w);
}
