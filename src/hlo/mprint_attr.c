/* SPDX-License-Identifier: Apache-2.0 */
/* Types, attributes and locations as MLIR writes them. */
#include "hlo/export.h"
#include "hlo/mprint.h"

/* ---- types ---- */

void kn_mprint_type(kn_text *t, const kn_mtype *type)
{
    switch (type->kind) {
    case KN_MT_TENSOR:
        if (type->type.dtype == KILN_TOKEN) {
            kn_text_add(t, "!stablehlo.token");
            break;
        }
        kn_text_add(t, "tensor<");
        for (uint32_t d = 0; d < type->type.rank; d++) kn_text_printf(t, "%lldx", (long long)type->type.dims[d]);
        kn_text_add(t, type->index ? "index" : kn_mlir_dtype(type->type.dtype) ? kn_mlir_dtype(type->type.dtype) : "none");
        kn_text_char(t, '>');
        break;
    case KN_MT_SCALAR: kn_text_add(t, type->index ? "index" : kn_mlir_dtype(type->type.dtype) ? kn_mlir_dtype(type->type.dtype) : "none"); break;
    case KN_MT_TUPLE:
        kn_text_add(t, "tuple<");
        for (uint32_t i = 0; i < type->n; i++) {
            if (i) kn_text_add(t, ", ");
            kn_mprint_type(t, type->items[i]);
        }
        kn_text_char(t, '>');
        break;
    default: kn_text_addn(t, type->text.s, type->text.n); break;
    }
}

/* ---- names and texts ---- */

void kn_mprint_string(kn_text *t, kn_span s)
{
    kn_text_char(t, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c == '"' || c == '\\' || c < 32 || c == 127) kn_text_printf(t, "\\%02X", c);
        else kn_text_char(t, (char)c);
    }
    kn_text_char(t, '"');
}

void kn_mprint_symbol(kn_text *t, kn_span name)
{
    bool bare = name.n > 0 && !(name.s[0] >= '0' && name.s[0] <= '9');
    for (size_t i = 0; bare && i < name.n; i++) {
        char c = name.s[i];
        bare = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
    }
    kn_text_char(t, '@');
    if (bare) kn_text_addn(t, name.s, name.n);
    else kn_mprint_string(t, name);
}

/* ---- attributes ---- */

static void list(kn_text *t, const kn_mattr *a)
{
    kn_text_add(t, a->type ? "array<" : "[");
    if (a->type) {
        kn_mprint_type(t, a->type);
        if (a->n) kn_text_add(t, ": ");
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (i) kn_text_add(t, ", ");
        kn_mprint_attr(t, &a->items[i], true);
    }
    kn_text_char(t, a->type ? '>' : ']');
}

void kn_mprint_attr(kn_text *t, const kn_mattr *a, bool pretty)
{
    switch (a->kind) {
    case KN_MA_UNIT: kn_text_add(t, "unit"); break;
    case KN_MA_BOOL: kn_text_add(t, a->b ? "true" : "false"); break;
    case KN_MA_INT:
    case KN_MA_FLOAT:
        if (a->kind == KN_MA_INT) kn_text_printf(t, "%lld", (long long)a->i);
        else kn_text_double(t, a->f);
        if (!a->type || (pretty && a->type->type.dtype == KILN_I64)) break;
        kn_text_add(t, " : ");
        kn_mprint_type(t, a->type);
        break;
    case KN_MA_STRING: kn_mprint_string(t, a->text); break;
    case KN_MA_SYMBOL: kn_mprint_symbol(t, a->text); break;
    case KN_MA_TYPE: kn_mprint_type(t, a->type); break;
    case KN_MA_LIST: list(t, a); break;
    case KN_MA_DICT: kn_mprint_dict(t, a->fields, a->n, NULL); break;
    case KN_MA_DENSE:
    case KN_MA_RESOURCE:
        kn_text_add(t, a->kind == KN_MA_DENSE ? "dense<" : "dense_resource<");
        kn_text_addn(t, a->text.s, a->text.n);
        kn_text_char(t, '>');
        if (!a->type) break;
        kn_text_add(t, " : ");
        kn_mprint_type(t, a->type);
        break;
    case KN_MA_DIALECT:
        kn_text_char(t, '#');
        kn_text_addn(t, a->name.s, a->name.n);
        kn_text_char(t, '<');
        kn_text_addn(t, a->text.s, a->text.n);
        kn_text_char(t, '>');
        break;
    case KN_MA_ALIAS: kn_text_char(t, '#'); /* fall through */
    default: kn_text_addn(t, a->text.s, a->text.n); break;
    }
}

bool kn_mprint_listed(const char *names, kn_span name)
{
    for (const char *p = names; p && *p;) {
        size_t n = strcspn(p, "|");
        if (n == name.n && memcmp(p, name.s, n) == 0) return true;
        p += n + (p[n] == '|');
    }
    return false;
}

void kn_mprint_dict(kn_text *t, const kn_mfield *fields, uint32_t n, const char *left_out)
{
    bool any = false;
    kn_text_char(t, '{');
    for (uint32_t i = 0; i < n; i++) {
        if (kn_mprint_listed(left_out, fields[i].name)) continue;
        if (any) kn_text_add(t, ", ");
        any = true;
        kn_text_addn(t, fields[i].name.s, fields[i].name.n);
        if (fields[i].value.kind == KN_MA_UNIT) continue;
        kn_text_add(t, " = ");
        kn_mprint_attr(t, &fields[i].value, false);
    }
    kn_text_char(t, '}');
}

/* ---- locations ---- */

static bool same_loc(const kn_mloc *a, const kn_mloc *b)
{
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->line != b->line || a->column != b->column || !kn_span_same(a->text, b->text)) return false;
    return same_loc(a->child, b->child);
}

static uint32_t intern(kn_mprint *p, const kn_mloc *l)
{
    uint32_t child = l->child ? intern(p, l->child) : 0;
    uint64_t key = kn_mix(kn_span_hash(l->text) + kn_mix(kn_map_pair(l->line, l->column)) + kn_mix(kn_map_pair(child, (uint32_t)l->kind)));
    uint32_t newest = kn_map_get(&p->loc_of, key);
    for (uint32_t i = newest; i; i = p->older.v[i - 1])
        if (same_loc(p->locs.v[i - 1], l)) return i;
    bool kept = kn_push(p->arena, &p->older, newest) && kn_push(p->arena, &p->locs, l) && kn_map_put(p->arena, &p->loc_of, key, p->locs.n);
    if (!kept) p->failed = true;
    return p->locs.n;
}

void kn_mprint_loc(kn_mprint *p, const kn_mloc *l)
{
    if (!p->locations) return;
    if (l) kn_text_printf(p->t, " loc(#loc%u)", intern(p, l));
    else kn_text_add(p->t, " loc(#loc)");
}

void kn_mprint_loc_aliases(kn_mprint *p)
{
    for (uint32_t i = 0; i < p->locs.n; i++) {
        const kn_mloc *l = p->locs.v[i];
        kn_text_printf(p->t, "#loc%u = loc(", i + 1);
        kn_mprint_string(p->t, l->text);
        if (l->kind == KN_ML_FILE) kn_text_printf(p->t, ":%u:%u", l->line, l->column);
        else if (l->child) kn_text_printf(p->t, "(#loc%u)", intern(p, l->child));
        kn_text_add(p->t, ")\n");
    }
}
