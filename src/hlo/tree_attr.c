/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of MLIR text. */
#include "hlo/mread.h"

#include "base/text.h"

kiln_status kn_mfield_list(kn_mreader *r, uint32_t base, const kn_mfield **out, uint32_t *n)
{
    *n = r->field_list.n - base;
    KILN_TRY_MEM(r->ctx, *out = kn_arena_copy(r->arena, r->field_list.v ? r->field_list.v + base : NULL, *n * sizeof **out));
    r->field_list.n = base;
    return KILN_OK;
}

/* : type, where one follows */
static kiln_status typed(kn_mreader *r, kn_mattr *out)
{
    return kn_lex_take(&r->lx, ':') ? kn_mread_type(r, &out->type) : KILN_OK;
}

kiln_status kn_mread_number(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    bool negative, hex;
    out->at = lx->tok.at;
    out->text = lx->tok.text;
    if (lx->tok.kind == KN_T_INT) {
        out->kind = KN_MA_INT;
        if (!kn_lex_integer(lx->tok.text, (uint64_t *)&out->i, &negative, &hex))
            return kn_source_fail(lx->src, lx->tok.at, KILN_INVALID, "syntax", NULL, "%.*s does not fit in 64 bits", KN_SPAN_ARG(lx->tok.text));
    } else if (lx->tok.kind == KN_T_FLOAT) {
        out->kind = KN_MA_FLOAT;
        kn_read_double(lx->tok.text.s, lx->tok.text.s + lx->tok.text.n, &out->f);
    } else return kn_lex_expected(lx, "a number");
    kn_lex_next(lx);
    return KILN_OK;
}

/* Attributes separated by commas up to the bracket, which is taken; they become one list. */
static kiln_status items(kn_mreader *r, char close, kn_mattr *out)
{
    uint32_t base = r->attr_list.n;
    while (!kn_lex_take(&r->lx, close)) {
        kn_mattr a = {0};
        if (r->attr_list.n > base) KILN_TRY(kn_lex_want(&r->lx, ','));
        KILN_TRY(kn_mread_attr(r, &a));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->attr_list, a));
    }
    out->kind = KN_MA_LIST;
    out->n = r->attr_list.n - base;
    const kn_mattr *own = kn_arena_copy(r->arena, r->attr_list.v ? r->attr_list.v + base : NULL, out->n * sizeof *own);
    KILN_TRY_MEM(r->ctx, own);
    out->items = own;
    r->attr_list.n = base;
    return KILN_OK;
}

kiln_status kn_mread_list(kn_mreader *r, kn_mattr *out)
{
    out->at = r->lx.tok.at;
    KILN_TRY(kn_lex_want(&r->lx, '['));
    return items(r, ']', out);
}

/* Behind `array`: <i64: 1, 2> */
static kiln_status array(kn_mreader *r, kn_mattr *out)
{
    KILN_TRY(kn_lex_want(&r->lx, '<'));
    KILN_TRY(kn_mread_type(r, &out->type));
    if (kn_lex_take(&r->lx, ':')) return items(r, '>', out);
    out->kind = KN_MA_LIST;
    return kn_lex_want(&r->lx, '>');
}

kiln_status kn_mread_elements(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    out->at = lx->tok.at;
    if (kn_lex_word(lx, "dense")) out->kind = KN_MA_DENSE;
    else if (kn_lex_word(lx, "dense_resource")) out->kind = KN_MA_RESOURCE;
    else if (kn_lex_word(lx, "sparse"))
        return kn_source_fail(lx->src, lx->tok.at, KILN_UNSUPPORTED, "unsupported", "dense<..>, dense_resource<..>", "a sparse constant");
    else return kn_lex_expected(lx, "a constant, dense<..>");
    kn_lex_next(lx);
    if (!kn_lex_is(lx, '<')) return kn_lex_expected(lx, "'<'");
    KILN_TRY(kn_lex_balanced(lx, &out->text));
    KILN_TRY(kn_lex_want(lx, ':'));
    return kn_mread_type(r, &out->type);
}

static kiln_status dialect(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    out->name = lx->tok.text;
    kn_lex_next(lx);
    if (!kn_lex_is(lx, '<')) {
        out->kind = KN_MA_ALIAS;
        return KILN_OK;
    }
    out->kind = KN_MA_DIALECT;
    return kn_lex_balanced(lx, &out->text);
}

static kiln_status symbol(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    out->kind = KN_MA_SYMBOL;
    out->text = lx->tok.text;
    kn_lex_next(lx);
    while (kn_lex_is(lx, ':') && lx->at < lx->end && *lx->at == ':') { /* a nested name: the last part counts */
        kn_lex_next(lx);
        kn_lex_next(lx);
        if (lx->tok.kind != KN_T_SYMBOL) return kn_lex_expected(lx, "a symbol");
        out->text = lx->tok.text;
        kn_lex_next(lx);
    }
    return KILN_OK;
}

static kiln_status word(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    const kn_mloc *loc;
    if (kn_lex_word(lx, "true") || kn_lex_word(lx, "false")) {
        out->kind = KN_MA_BOOL;
        out->b = kn_lex_word(lx, "true");
        kn_lex_next(lx);
        return typed(r, out);
    }
    if (kn_lex_word(lx, "dense") || kn_lex_word(lx, "dense_resource") || kn_lex_word(lx, "sparse")) return kn_mread_elements(r, out);
    if (kn_lex_take_word(lx, "array")) return array(r, out);
    if (kn_lex_word(lx, "loc")) {
        out->kind = KN_MA_OTHER;
        return kn_mread_loc(r, &loc);
    }
    if (kn_lex_take_word(lx, "unit")) return KILN_OK;
    if (kn_mread_is_type(r)) {
        out->kind = KN_MA_TYPE;
        return kn_mread_type(r, &out->type);
    }
    out->kind = KN_MA_WORD;
    out->text = lx->tok.text;
    kn_lex_next(lx);
    while (kn_lex_is(lx, '<') || kn_lex_is(lx, '[')) { /* affine_map<..>, distinct[0]<..> */
        kn_span skipped;
        out->kind = KN_MA_OTHER;
        KILN_TRY(kn_lex_balanced(lx, &skipped));
    }
    return KILN_OK;
}

static kiln_status any_attr(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    switch (lx->tok.kind) {
    case KN_T_INT:
    case KN_T_FLOAT:
        KILN_TRY(kn_mread_number(r, out));
        return typed(r, out);
    case KN_T_STRING:
        out->kind = KN_MA_STRING;
        out->text = lx->tok.text;
        kn_lex_next(lx);
        return typed(r, out);
    case KN_T_SYMBOL: return symbol(r, out);
    case KN_T_HASH:
        KILN_TRY(dialect(r, out));
        return typed(r, out);
    case KN_T_WORD: return word(r, out);
    case KN_T_BANG:
        out->kind = KN_MA_TYPE;
        return kn_mread_type(r, &out->type);
    case KN_T_CHAR:
        if (lx->tok.c == '[') return kn_mread_list(r, out);
        if (lx->tok.c == '{') return kn_mread_dict_attr(r, out);
        if (lx->tok.c == '(') {
            out->kind = KN_MA_TYPE;
            return kn_mread_type(r, &out->type);
        }
        break;
    default: break;
    }
    return kn_lex_expected(lx, "an attribute");
}

kiln_status kn_mread_attr(kn_mreader *r, kn_mattr *out)
{
    *out = (kn_mattr){.kind = KN_MA_UNIT, .at = r->lx.tok.at};
    KILN_TRY(kn_mread_deeper(r));
    KILN_TRY(any_attr(r, out));
    r->depth--;
    return KILN_OK;
}

kiln_status kn_mread_fields(kn_mreader *r, char close)
{
    kn_lexer *lx = &r->lx;
    bool any = false;
    while (close ? !kn_lex_take(lx, close) : lx->tok.kind != KN_T_END) {
        kn_mfield f = {.value = {.kind = KN_MA_UNIT}};
        if (any) KILN_TRY(kn_lex_want(lx, ','));
        any = true;
        if (lx->tok.kind != KN_T_WORD && lx->tok.kind != KN_T_STRING) return kn_lex_expected(lx, "an attribute's name");
        f.name = lx->tok.text;
        f.value.at = lx->tok.at;
        kn_lex_next(lx);
        if (kn_lex_take(lx, '=')) KILN_TRY(kn_mread_attr(r, &f.value));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->field_list, f));
    }
    return KILN_OK;
}

kiln_status kn_mread_dict(kn_mreader *r)
{
    KILN_TRY(kn_lex_want(&r->lx, '{'));
    return kn_mread_fields(r, '}');
}

kiln_status kn_mread_dict_attr(kn_mreader *r, kn_mattr *out)
{
    *out = (kn_mattr){.kind = KN_MA_UNIT, .at = r->lx.tok.at};
    if (!kn_lex_is(&r->lx, '{')) return KILN_OK;
    uint32_t base = r->field_list.n;
    KILN_TRY(kn_mread_dict(r));
    out->kind = KN_MA_DICT;
    return kn_mfield_list(r, base, &out->fields, &out->n);
}

/* ---- looking at attributes ---- */

const kn_mattr *kn_mattr_find(const kn_mfield *fields, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (kn_span_is(fields[i].name, name)) return &fields[i].value;
    return NULL;
}

kiln_status kn_mattr_body(kn_mmodule *m, const kn_mattr *a, kn_mattr *dict)
{
    *dict = (kn_mattr){.kind = KN_MA_DICT, .at = a->at};
    if (a->kind == KN_MA_DICT || a->kind == KN_MA_UNIT) {
        if (a->kind == KN_MA_DICT) *dict = *a;
        return KILN_OK;
    }
    if (a->kind != KN_MA_DIALECT) return kn_source_fail(&m->src, a->at, KILN_INVALID, "syntax", NULL, "an attribute with fields was expected");
    kn_mreader r = {.ctx = m->src.ctx, .arena = m->arena, .module = m};
    kn_lex_init(&r.lx, &m->src, a->text.s, a->text.s + a->text.n, 0);
    KILN_TRY(kn_mread_fields(&r, 0));
    return kn_mfield_list(&r, 0, &dict->fields, &dict->n);
}

static kiln_status not_integers(const kn_mmodule *m, const kn_mattr *a)
{
    return kn_source_fail(&m->src, a->at, KILN_INVALID, "syntax", "[1, 2], array<i64: 1, 2>, dense<[1, 2]> : tensor<2xi64>", "a list of integers was expected");
}

static kiln_status dense_ints(const kn_mmodule *m, const kn_mattr *a, int64_t **v, uint32_t *n)
{
    kiln_array *x;
    KILN_TRY(kn_mattr_array(m, a, &x));
    int64_t size = kiln_type_size(x->type);
    bool good = strchr("biu", kiln_dtype_kind(x->type.dtype)) && size < INT32_MAX;
    if (good && (*v = KN_NEWN(m->arena, int64_t, size))) {
        bool flags = x->type.dtype == KILN_BOOL;
        for (int64_t k = 0; k < size; k++) {
            kn_scalar s = kn_scalar_load(x->type.dtype, x->data, k);
            (*v)[k] = flags ? s.b : s.i;
        }
    }
    kiln_array_release(x);
    if (!good) return not_integers(m, a);
    KILN_TRY_MEM(m->src.ctx, *v);
    *n = (uint32_t)size;
    return KILN_OK;
}

kiln_status kn_mattr_ints(const kn_mmodule *m, const kn_mattr *a, const int64_t **out, uint32_t *n)
{
    int64_t *v = NULL;
    if (a->kind == KN_MA_DENSE || a->kind == KN_MA_RESOURCE) KILN_TRY(dense_ints(m, a, &v, n));
    else if (a->kind == KN_MA_LIST) {
        KILN_TRY_MEM(m->src.ctx, v = KN_NEWN(m->arena, int64_t, a->n));
        *n = a->n;
        for (uint32_t i = 0; i < a->n; i++) {
            if (a->items[i].kind == KN_MA_INT) v[i] = a->items[i].i;
            else if (a->items[i].kind == KN_MA_BOOL) v[i] = a->items[i].b;
            else return not_integers(m, &a->items[i]);
        }
    } else return not_integers(m, a);
    *out = v;
    return KILN_OK;
}

static int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }
static bool is_hex(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

kiln_status kn_mattr_text(const kn_mmodule *m, kn_span raw, const char **out)
{
    char *s = KN_NEWN(m->arena, char, raw.n + 1), *to = s;
    KILN_TRY_MEM(m->src.ctx, s);
    for (const char *p = raw.s, *end = p + raw.n; p < end; p++) {
        if (*p != '\\' || p + 1 >= end) {
            *to++ = *p;
        } else if (p + 2 < end && is_hex(p[1]) && is_hex(p[2])) {
            *to++ = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
            p += 2;
        } else {
            p++;
            *to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
        }
    }
    *out = s;
    return KILN_OK;
}
