/* SPDX-License-Identifier: Apache-2.0 */
/* Types of MLIR text. A program names few types often, so recently read ones are found again by their text. */
#include "hlo/mread.h"

static const struct {
    const char *name;
    kiln_dtype dtype;
} elements[] = {
    {"i1", KILN_BOOL}, {"i2", KILN_I2}, {"i4", KILN_I4}, {"i8", KILN_I8}, {"i16", KILN_I16}, {"i32", KILN_I32},
    {"i64", KILN_I64}, {"si2", KILN_I2}, {"si4", KILN_I4}, {"si8", KILN_I8}, {"si16", KILN_I16},
    {"si32", KILN_I32}, {"si64", KILN_I64}, {"ui2", KILN_U2}, {"ui4", KILN_U4}, {"ui8", KILN_U8},
    {"ui16", KILN_U16}, {"ui32", KILN_U32}, {"ui64", KILN_U64}, {"f16", KILN_F16}, {"bf16", KILN_BF16},
    {"f32", KILN_F32}, {"f64", KILN_F64}, {"f4E2M1FN", KILN_F4E2M1FN}, {"f6E2M3FN", KILN_F6E2M3FN},
    {"f6E3M2FN", KILN_F6E3M2FN}, {"f8E3M4", KILN_F8E3M4},
    {"f8E4M3", KILN_F8E4M3}, {"f8E4M3B11FNUZ", KILN_F8E4M3B11FNUZ}, {"f8E4M3FN", KILN_F8E4M3FN},
    {"f8E4M3FNUZ", KILN_F8E4M3FNUZ}, {"f8E5M2", KILN_F8E5M2}, {"f8E5M2FNUZ", KILN_F8E5M2FNUZ},
    {"f8E8M0FNU", KILN_F8E8M0FNU}, {"index", KILN_I64},
};

static bool element_of(kn_span name, kiln_dtype *out)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (kn_span_is(name, elements[i].name)) {
            *out = elements[i].dtype;
            return true;
        }
    return false;
}

bool kn_mtype_same(const kn_mtype *a, const kn_mtype *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || a->n != b->n || a->nresults != b->nresults) return false;
    if (a->kind == KN_MT_OTHER || a->known != b->known || !a->known) return kn_span_same(a->text, b->text);
    if (a->kind == KN_MT_TENSOR || a->kind == KN_MT_SCALAR) return kiln_type_equal(a->type, b->type);
    for (uint32_t i = 0; i < a->n; i++)
        if (!kn_mtype_same(a->items[i], b->items[i])) return false;
    return true;
}

bool kn_mread_is_type(const kn_mreader *r)
{
    const kn_token *t = &r->lx.tok;
    kiln_dtype d;
    if (t->kind == KN_T_BANG) return true;
    if (t->kind != KN_T_WORD) return false;
    static const char *const words[] = {"tensor", "tuple", "complex", "memref", "vector", "none"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kn_span_is(t->text, words[i])) return true;
    if (element_of(t->text, &d)) return true;
    const char *p = t->text.s, *end = p + t->text.n; /* i7, ui128, f8E5M2, tf32 */
    if (kn_span_is(t->text, "tf32")) return true;
    if (*p == 'u' || *p == 's' || *p == 'b') p++;
    if (p + 1 >= end || (*p != 'i' && *p != 'f') || p[1] < '0' || p[1] > '9') return false;
    return true;
}

static kiln_status new_type(kn_mreader *r, kn_mtype t, const kn_mtype **out)
{
    kn_mtype *own = kn_arena_copy(r->arena, &t, sizeof t);
    KILN_TRY_MEM(r->ctx, own);
    *out = own;
    return KILN_OK;
}

/* An element type: fills dtype and what is said about it. */
static kiln_status element(kn_mreader *r, kn_mtype *t)
{
    kn_lexer *lx = &r->lx;
    kn_span skipped;
    if (lx->tok.kind == KN_T_BANG) {
        kn_lex_next(lx);
        if (kn_lex_is(lx, '<')) KILN_TRY(kn_lex_balanced(lx, &skipped));
        return KILN_OK;
    }
    if (!kn_mread_is_type(r)) return kn_lex_expected(lx, "an element type");
    if (kn_lex_take_word(lx, "complex")) {
        kn_mtype part = {0};
        KILN_TRY(kn_lex_want(lx, '<'));
        KILN_TRY(element(r, &part));
        t->known = part.known && (part.type.dtype == KILN_F32 || part.type.dtype == KILN_F64);
        t->type.dtype = part.type.dtype == KILN_F64 ? KILN_C128 : KILN_C64;
        return kn_lex_want(lx, '>');
    }
    t->known = element_of(lx->tok.text, &t->type.dtype);
    t->index = kn_lex_word(lx, "index");
    kn_lex_next(lx);
    return KILN_OK;
}

static kiln_status dimension(kn_mreader *r, const char **at, int64_t *d)
{
    const char *p = *at, *end = r->lx.end;
    *d = 0;
    if (*p == '?') {
        *d = -1;
        p++;
    } else {
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(*d, 10, d) || __builtin_add_overflow(*d, *p - '0', d))
                return kn_source_fail(&r->module->src, *at, KILN_INVALID, "shape", NULL, "a dimension does not fit in 63 bits");
    }
    if (p >= end || *p != 'x')
        return kn_source_fail(&r->module->src, p, KILN_INVALID, "syntax", "e.g. tensor<2x3xf32>", "'x' was expected behind a dimension");
    *at = p + 1;
    return KILN_OK;
}

/* Behind `tensor`, whose '<' is the next token. */
static kiln_status tensor(kn_mreader *r, kn_mtype *t)
{
    enum { MOST = 64 };
    kn_lexer *lx = &r->lx;
    int64_t dims[MOST];
    uint32_t rank = 0;
    if (!kn_lex_is(lx, '<')) return kn_lex_expected(lx, "'<'");
    const char *p = lx->tok.at + 1;
    for (;;) {
        while (p < lx->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
        if (p >= lx->end || !(*p == '?' || (*p >= '0' && *p <= '9'))) break;
        if (rank == MOST) return kn_source_fail(lx->src, p, KILN_UNSUPPORTED, "unsupported", NULL, "a tensor has more than %d dimensions", MOST);
        KILN_TRY(dimension(r, &p, &dims[rank]));
        if (dims[rank++] < 0) t->dynamic = true;
    }
    kn_lex_at(lx, p);
    if (kn_lex_is(lx, '*')) return kn_source_fail(lx->src, p, KILN_UNSUPPORTED, "unsupported", "tensors of a fixed rank", "a tensor without a rank");
    KILN_TRY(element(r, t));
    if (kn_lex_take(lx, ',')) { /* an encoding, as the bounds of dynamic dimensions */
        kn_mattr encoding;
        KILN_TRY(kn_mread_attr(r, &encoding));
    }
    KILN_TRY(kn_lex_want(lx, '>'));
    t->kind = KN_MT_TENSOR;
    t->type.rank = rank;
    if (rank) KILN_TRY_MEM(r->ctx, t->type.dims = kn_arena_copy(r->arena, dims, rank * sizeof *dims));
    return KILN_OK;
}

kiln_status kn_mtype_list(kn_mreader *r, uint32_t base, const kn_mtype *const **out, uint32_t *n)
{
    *n = r->type_list.n - base;
    const kn_mtype **own = kn_arena_newn(r->arena, *n, sizeof *own);
    KILN_TRY_MEM(r->ctx, own);
    if (*n) memcpy(own, r->type_list.v + base, *n * sizeof *own);
    r->type_list.n = base;
    *out = own;
    return KILN_OK;
}

kiln_status kn_mread_types(kn_mreader *r)
{
    do {
        const kn_mtype *t;
        KILN_TRY(kn_mread_type(r, &t));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->type_list, t));
    } while (kn_lex_take(&r->lx, ','));
    return KILN_OK;
}

kiln_status kn_mread_types_in_parens(kn_mreader *r)
{
    KILN_TRY(kn_lex_want(&r->lx, '('));
    if (kn_lex_take(&r->lx, ')')) return KILN_OK;
    KILN_TRY(kn_mread_types(r));
    return kn_lex_want(&r->lx, ')');
}

static kiln_status function(kn_mreader *r, kn_mtype *t)
{
    uint32_t base = r->type_list.n, nin;
    KILN_TRY(kn_mread_types_in_parens(r));
    nin = r->type_list.n - base;
    if (r->lx.tok.kind != KN_T_ARROW) return kn_lex_expected(&r->lx, "'->'");
    kn_lex_next(&r->lx);
    if (kn_lex_is(&r->lx, '(')) KILN_TRY(kn_mread_types_in_parens(r));
    else { /* one type: a comma behind it belongs to what the type stands in */
        const kn_mtype *result;
        KILN_TRY(kn_mread_type(r, &result));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->type_list, result));
    }
    KILN_TRY(kn_mtype_list(r, base, &t->items, &t->n));
    t->nresults = t->n - nin;
    t->kind = KN_MT_FUNCTION;
    return KILN_OK;
}

static kiln_status tuple(kn_mreader *r, kn_mtype *t)
{
    uint32_t base = r->type_list.n;
    KILN_TRY(kn_lex_want(&r->lx, '<'));
    if (!kn_lex_is(&r->lx, '>')) KILN_TRY(kn_mread_types(r));
    KILN_TRY(kn_lex_want(&r->lx, '>'));
    KILN_TRY(kn_mtype_list(r, base, &t->items, &t->n));
    t->kind = KN_MT_TUPLE;
    return KILN_OK;
}

static kiln_status any_type(kn_mreader *r, kn_mtype *t)
{
    kn_lexer *lx = &r->lx;
    kn_span skipped;
    t->text.s = lx->tok.at;
    if (kn_lex_is(lx, '(')) return function(r, t);
    if (kn_lex_take_word(lx, "tensor")) return tensor(r, t);
    if (kn_lex_take_word(lx, "tuple")) return tuple(r, t);
    if (lx->tok.kind == KN_T_BANG) {
        bool token = kn_span_is(lx->tok.text, "stablehlo.token") || kn_span_is(lx->tok.text, "mhlo.token");
        *t = (kn_mtype){.kind = token ? KN_MT_TENSOR : KN_MT_OTHER, .known = token, .type = KILN_SCALAR(KILN_TOKEN), .text = t->text};
        kn_lex_next(lx);
        return kn_lex_is(lx, '<') ? kn_lex_balanced(lx, &skipped) : KILN_OK;
    }
    if (!kn_mread_is_type(r)) return kn_lex_expected(lx, "a type");
    if (kn_lex_word(lx, "memref") || kn_lex_word(lx, "vector") || kn_lex_word(lx, "none")) {
        t->kind = KN_MT_OTHER;
        kn_lex_next(lx);
        return kn_lex_is(lx, '<') ? kn_lex_balanced(lx, &skipped) : KILN_OK;
    }
    t->kind = KN_MT_SCALAR;
    return element(r, t);
}

/* Behind a tensor type at p: the character after its last '>', or NULL when it is not simple. */
static const char *tensor_end(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '<') depth++;
        else if (*p == '>' && --depth == 0) return p + 1;
        else if (*p == '"' || *p == '-') return NULL;
    }
    return NULL;
}

kiln_status kn_mread_type(kn_mreader *r, const kn_mtype **out)
{
    kn_lexer *lx = &r->lx;
    const char *begin = lx->tok.at, *end = kn_lex_word(lx, "tensor") ? tensor_end(lx->at, lx->end) : NULL;
    kn_span text = {begin, end ? (size_t)(end - begin) : 0};
    const kn_mtype **slot = end ? &r->types[kn_span_hash(text) % KN_TYPE_CACHE] : NULL;
    if (slot && *slot && kn_span_same((*slot)->text, text)) {
        *out = *slot;
        kn_lex_at(lx, end);
        return KILN_OK;
    }
    kn_mtype t = {.kind = KN_MT_OTHER};
    KILN_TRY(kn_mread_deeper(r));
    KILN_TRY(any_type(r, &t));
    r->depth--;
    const char *after = lx->tok.at; /* without the blanks behind it */
    while (after > begin && (after[-1] == ' ' || after[-1] == '\n' || after[-1] == '\t' || after[-1] == '\r')) after--;
    t.text = end ? text : (kn_span){begin, (size_t)(after - begin)};
    KILN_TRY(new_type(r, t, out));
    if (slot) *slot = *out;
    return KILN_OK;
}
