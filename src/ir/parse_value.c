/* SPDX-License-Identifier: Apache-2.0 */
/* Types, literals, and the values of parameters, which are whatever Python's str() made of them. */
#include "array/text.h"
#include "ir/parse.h"

enum { MOST_DIMS = 64, MOST_DEPTH = 64, MOST_DIGITS = 40 };

/* ---- types ---- */

static kiln_status read_dims(kn_parser *p, kn_arena *arena, const char *start, kiln_type *out)
{
    KN_VEC(int64_t) dims = {0};
    while (!kn_take(p, ']')) {
        kn_skip(p);
        const char *first = p->c.at;
        bool found;
        int64_t d;
        KILN_TRY(kn_parse_size(p, true, &found, &d));
        if (!found) return kn_syntax(p, first, "syntax", "whole numbers, as in f32[2,3]", "a dimension is no whole number");
        if (dims.n == MOST_DIMS) return kn_syntax(p, first, "unsupported", NULL, "an array has at most %d dimensions", MOST_DIMS);
        KILN_TRY_MEM(p->ctx, kn_push(arena, &dims, d));
        if (kn_take(p, ',')) continue;
        if (kn_take(p, ']')) break;
        return kn_syntax(p, start, "syntax", "f32[2,3]", "a shape is not closed");
    }
    out->rank = dims.n;
    out->dims = dims.v;
    if (kiln_type_size(*out) < 0) return kn_syntax(p, start, "syntax", NULL, "an array of this shape is larger than memory");
    return KILN_OK;
}

kiln_status kn_parse_type(kn_parser *p, kn_arena *arena, kiln_type *out)
{
    kn_skip(p);
    const char *start = p->c.at;
    kn_word w = kn_peek_name(p);
    *out = (kiln_type){0};
    p->c.at += w.n;
    if (kn_peek(p) == '<') /* key<fry> */
        while (p->c.at < p->end && *p->c.at != '[' && *p->c.at != '\n') p->c.at++;
    w.n = (size_t)(p->c.at - w.s);
    if (!kiln_dtype_from_name(w.s, w.n, &out->dtype)) {
        static const char accepted[] = "bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128, key<fry>";
        if (w.n > 5 && memcmp(w.s, "key<", 4) == 0)
            return kn_syntax(p, start, "unsupported", "key<fry>, of jax.random.key(seed, impl='threefry2x32')", "keys of the generator '%.*s' are not read",
                             (int)(w.n - 5), w.s + 4);
        if (kn_word_is(w, "Ref")) return kn_syntax(p, start, "unsupported", accepted, "values of type %.*s are not read", (int)w.n, w.s);
        return kn_syntax(p, start, "syntax", accepted, w.n ? "no element type '%.*s'" : "an element type is missing%.*s", w.n < 40 ? (int)w.n : 40, w.s);
    }
    if (out->dtype == KILN_TOKEN && kn_peek(p) != '[') return KILN_OK; /* one token is written without a shape */
    if (kn_peek(p) != '[') return kn_syntax(p, p->c.at, "syntax", "f32[2,3]", "a shape is missing after '%.*s'", (int)w.n, w.s);
    p->c.at++;
    return read_dims(p, arena, start, out);
}

/* ---- literals ---- */

/* The text of a literal ends at its type, or in the old dialect, which gives none, where the next word begins. */
static const char *literal_end(const kn_parser *p)
{
    const char *q = p->c.at;
    while (q < p->end && !kn_is_one_of(*q, ": \n\r\t;,}[") && !(*q == ')' && *p->c.at != '(')) q++;
    return q;
}

kiln_status kn_literal_value(kn_parser *p, kn_word text, kiln_dtype d, kn_scalar *value)
{
    int n = text.n < MOST_DIGITS ? (int)text.n : MOST_DIGITS;
    const char *problem = kn_scalar_read(d, text.s, text.s + text.n, value);
    return problem ? kn_syntax(p, text.s, "syntax", NULL, "'%.*s' %s %s[]", n, text.s, problem, kiln_dtype_name(d)) : KILN_OK;
}

kiln_status kn_parse_literal(kn_parser *p, kn_arena *arena, kn_word *text, bool *typed, kiln_dtype *dtype, kn_scalar *value)
{
    const char *s = p->c.at, *end = literal_end(p);
    kiln_type t;
    *text = (kn_word){s, (size_t)(end - s)};
    if (kn_peek(p) == '[') return kn_syntax(p, s, "elided", NULL, "an array constant is left out ([...]): the text cannot be run");
    p->c.at = end;
    *typed = end < p->end && *end == ':';
    if (!*typed) return KILN_OK;
    p->c.at++;
    KILN_TRY(kn_parse_type(p, arena, &t));
    if (t.rank)
        return kn_syntax(p, s, "syntax", "a scalar, as 2.0:f32[]", "the literal '%.*s' has the type of an array",
                         text->n < MOST_DIGITS ? (int)text->n : MOST_DIGITS, s);
    *dtype = t.dtype;
    return kn_literal_value(p, *text, t.dtype, value);
}

/* ---- values of parameters ---- */

static kiln_status read_value(kn_parser *p, kn_arena *arena, kn_param_kind kind, uint32_t depth, kn_param *out);

static bool name_follows(const kn_parser *p, const char *q)
{
    const char *s = q;
    while (q < p->end && ((*q >= 'a' && *q <= 'z') || (*q >= 'A' && *q <= 'Z') || (*q >= '0' && *q <= '9') || *q == '_')) q++;
    return q > s && q < p->end && *q == '=' && !(q + 1 < p->end && q[1] == '=');
}

/* Text of any form: up to the bracket that closes what it stands in, a comma there, or the next key. */
static const char *raw_end(const kn_parser *p, uint32_t depth)
{
    int open = 0;
    const char *q = p->c.at;
    for (; q < p->end; q++) {
        char c = *q;
        if (c == '(' || c == '[' || c == '{') open++;
        else if (c == ')' || c == ']' || c == '}') {
            if (open == 0) break;
            open--;
        } else if (open == 0 && c == ',' && depth > 0) {
            break;
        } else if (open == 0 && depth == 0 && (c == ' ' || c == '\n')) {
            const char *next = q;
            while (next < p->end && (*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r')) next++;
            if (next < p->end && (*next == ']' || name_follows(p, next))) break;
        }
    }
    return q;
}

static kiln_status read_raw(kn_parser *p, kn_arena *arena, uint32_t depth, kn_param *out)
{
    const char *s = p->c.at, *q = raw_end(p, depth);
    for (const char *k = s; k < q; k++) {
        if ((unsigned char)*k < ' ' && *k != '\n' && *k != '\t' && *k != '\r') return kn_syntax(p, k, "syntax", NULL, "a control character");
        if (*k != '\n') continue;
        p->c.line++;
        p->c.line_start = k + 1;
    }
    p->c.at = q;
    while (q > s && (q[-1] == ' ' || q[-1] == '\n')) q--;
    if (q == s) return kn_syntax(p, s, "syntax", NULL, "a value is missing");
    if ((size_t)(q - s) >= 3 && memcmp(s, "...", 3) == 0)
        return kn_syntax(p, s, "elided", NULL, "parameters are left out ([...]): the text cannot be run");
    KILN_TRY_MEM(p->ctx, out->text = kn_arena_textn(arena, s, (size_t)(q - s)));
    out->kind = KN_P_TEXT;
    return KILN_OK;
}

/* Does the value end at q? */
static bool ends(const kn_parser *p, const char *q)
{
    return q == p->end || *q == ' ' || *q == '\n' || *q == '\r' || *q == '\t' || *q == ']' || *q == ')' || *q == ',' || *q == '}';
}

/* np.int64(3): moves over it. */
static bool take_numpy_int(kn_parser *p, int64_t *v)
{
    static const char head[] = "np.int64(";
    const char *s = p->c.at;
    bool is_unsigned;
    if ((size_t)(p->end - s) < sizeof head || memcmp(s, head, sizeof head - 1) != 0) return false;
    const char *q = kn_whole_read(s + sizeof head - 1, p->end, v, &is_unsigned);
    if (q == s + sizeof head - 1 || q == p->end || *q != ')' || is_unsigned) return false;
    p->c.at = q + 1;
    return true;
}

static bool read_number(kn_parser *p, kn_param_kind kind, kn_param *out)
{
    bool is_unsigned;
    int64_t i;
    double f;
    const char *s = p->c.at, *q = kn_whole_read(s, p->end, &i, &is_unsigned);
    if (q > s && ends(p, q) && !is_unsigned && kind != KN_P_FLOAT) {
        *out = KN_INT(i);
        p->c.at = q;
        return true;
    }
    q = kn_real_read(s, p->end, &f);
    if (q == s || !ends(p, q)) return false;
    *out = (kn_param){.kind = KN_P_FLOAT, .f = f};
    p->c.at = q;
    return true;
}

/* A body by name stands here: not in a tuple of texts, where a comma would follow. */
static bool reference_follows(kn_parser *p)
{
    kn_word w = kn_peek_name(p);
    const char *q = w.s + w.n;
    if (!w.n || !kn_definition_find(p, w)) return false;
    while (q < p->end && (*q == ' ' || *q == '\n')) q++;
    return q == p->end || *q != ',';
}

typedef struct items {
    KN_VEC(kn_param) v;
    KN_VEC(char) numpy; /* per item '1': np.int64 */
    bool all_ints, any_numpy;
} items;

static kiln_status read_item(kn_parser *p, kn_arena *arena, bool bodies, uint32_t depth, items *list)
{
    kn_param v = KN_NONE;
    int64_t i;
    bool numpy = take_numpy_int(p, &i);
    if (numpy) v = KN_INT(i);
    else if (bodies && kn_peek(p) != '{') KILN_TRY(read_value(p, arena, KN_P_JAXPR, depth + 1, &v));
    else KILN_TRY(read_value(p, arena, KN_P_NONE, depth + 1, &v));
    list->all_ints &= v.kind == KN_P_INT;
    list->any_numpy |= numpy;
    KILN_TRY_MEM(p->ctx, kn_push(arena, &list->v, v) && kn_push(arena, &list->numpy, numpy ? '1' : '0'));
    return KILN_OK;
}

static kiln_status finish_items(kn_parser *p, kn_arena *arena, kn_param_kind kind, bool list, items *x, kn_param *out)
{
    if (!(x->all_ints && (x->v.n || kind != KN_P_TUPLE))) {
        *out = (kn_param){.kind = KN_P_TUPLE, .list = list, .n = x->v.n, .items = x->v.v};
        return KILN_OK;
    }
    int64_t *ints = KN_NEWN(arena, int64_t, x->v.n);
    KILN_TRY_MEM(p->ctx, ints);
    for (uint32_t i = 0; i < x->v.n; i++) ints[i] = x->v.v[i].i;
    *out = (kn_param){.kind = KN_P_INTS, .list = list, .n = x->v.n, .ints = ints, .name = x->any_numpy ? x->numpy.v : NULL};
    return KILN_OK;
}

/* (a, b), [a, b], or bodies without commas: ({ ... } { ... } name). */
static kiln_status read_sequence(kn_parser *p, kn_arena *arena, kn_param_kind kind, uint32_t depth, kn_param *out)
{
    const char *start = p->c.at;
    char close = *start == '(' ? ')' : ']';
    items x = {.all_ints = true};
    p->c.at++;
    kn_skip(p);
    bool bodies = close == ')' && (kn_peek(p) == '{' || reference_follows(p)), comma = true;
    while (!kn_take(p, close)) {
        kn_skip(p);
        if (p->c.at == p->end) return kn_syntax(p, start, "syntax", NULL, "'%c' is not closed", *start);
        if (!comma && !bodies) return kn_syntax(p, p->c.at, "syntax", NULL, "a comma or '%c' is missing", close);
        KILN_TRY(read_item(p, arena, bodies, depth, &x));
        comma = kn_take(p, ',');
    }
    return finish_items(p, arena, kind, close == ']', &x, out);
}

/* Name(key=value, ...) or Name(value, ...) */
static kiln_status read_record(kn_parser *p, kn_arena *arena, kn_word name, uint32_t depth, kn_param *out)
{
    const char *start = name.s;
    KN_VEC(kn_param) values = {0};
    KN_VEC(const char *) keys = {0};
    p->c.at = name.s + name.n + 1;
    while (!kn_take(p, ')')) {
        kn_skip(p);
        if (p->c.at == p->end) return kn_syntax(p, start, "syntax", NULL, "'%.*s(' is not closed", (int)name.n, name.s);
        if (name_follows(p, p->c.at)) {
            kn_word key = kn_read_name(p);
            const char *k = kn_arena_textn(arena, key.s, key.n);
            KILN_TRY_MEM(p->ctx, k && kn_push(arena, &keys, k));
            p->c.at++;
        }
        kn_param v;
        KILN_TRY(read_value(p, arena, KN_P_NONE, depth + 1, &v));
        KILN_TRY_MEM(p->ctx, kn_push(arena, &values, v));
        if (!kn_take(p, ',') && kn_peek(p) != ')' && p->c.at < p->end)
            return kn_syntax(p, p->c.at, "syntax", NULL, "a comma or ')' is missing");
    }
    if (keys.n && keys.n != values.n) { /* values with and without keys: kept as text */
        p->c.at = start;
        return read_raw(p, arena, depth, out);
    }
    *out = (kn_param){.kind = KN_P_RECORD, .n = values.n, .items = values.v, .keys = keys.n ? keys.v : NULL};
    KILN_TRY_MEM(p->ctx, out->name = kn_arena_textn(arena, name.s, name.n));
    return KILN_OK;
}

static bool body_follows(const kn_parser *p)
{
    kn_parser look = *p;
    if (kn_take_word(&look, "let")) {
        while (look.c.at < look.end && *look.c.at != '=' && *look.c.at != ']') look.c.at++;
        return kn_take(&look, '=') && kn_take(&look, '{');
    }
    return kn_take(&look, '{') && kn_take_word(&look, "lambda");
}

/* The name of a body: text of any form, but a word where bodies stand in a row. */
static kiln_status read_reference(kn_parser *p, kn_arena *arena, uint32_t depth, kn_param *out)
{
    kn_word w = kn_peek_name(p);
    if (depth > 0) p->c.at += w.n;
    else {
        KILN_TRY(read_raw(p, arena, depth, out));
        w.n = strlen(out->text);
    }
    out->kind = KN_P_JAXPR;
    return kn_parse_reference(p, w, w.s, &out->jaxpr);
}

static const char class_head[] = "<class '";
static bool class_follows(const kn_parser *p)
{
    return (size_t)(p->end - p->c.at) >= sizeof class_head && memcmp(p->c.at, class_head, sizeof class_head - 1) == 0;
}

/* An element type as Python shows the class of its scalars: <class 'jax.numpy.float32'>, <class 'numpy.int64'>. */
static kiln_status read_class(kn_parser *p, kn_param *out)
{
    const char *start = p->c.at, *s = start + sizeof class_head - 1, *q = s, *name;
    kiln_dtype d;
    while (q < p->end && *q != '\'' && *q != '\n') q++;
    for (name = q; name > s && name[-1] != '.';) name--;
    bool closed = p->end - q >= 2 && memcmp(q, "'>", 2) == 0;
    if (!closed || !kiln_dtype_from_name(name, (size_t)(q - name), &d))
        return kn_syntax(p, start, "syntax", "float32, int64, <class 'jax.numpy.float32'>, ...", "no element type '%.*s'", (int)(q - start), start);
    *out = KN_DTYPE(d);
    p->c.at = q + 2;
    return KILN_OK;
}

static kiln_status read_word(kn_parser *p, kn_arena *arena, kn_param_kind kind, uint32_t depth, kn_param *out)
{
    kn_word w = kn_peek_name(p);
    const char *q = w.s + w.n;
    bool whole = ends(p, q);
    if (whole && kn_word_is(w, "None")) *out = KN_NONE;
    else if (whole && kn_word_is(w, "True")) *out = KN_BOOL(true);
    else if (whole && kn_word_is(w, "False")) *out = KN_BOOL(false);
    else if (kind == KN_P_JAXPR) return read_reference(p, arena, depth, out);
    else if (whole && kind == KN_P_DTYPE) {
        kiln_dtype d;
        if (!kiln_dtype_from_name(w.s, w.n, &d))
            return kn_syntax(p, w.s, "syntax", "float32, int64, ...", "no element type '%.*s'", (int)w.n, w.s);
        *out = KN_DTYPE(d);
    } else if (w.n && q < p->end && *q == '(') {
        return read_record(p, arena, w, depth, out);
    } else {
        return read_raw(p, arena, depth, out);
    }
    p->c.at = q;
    return KILN_OK;
}

static kiln_status read_value(kn_parser *p, kn_arena *arena, kn_param_kind kind, uint32_t depth, kn_param *out)
{
    int64_t i;
    kn_skip(p);
    *out = KN_NONE;
    if (depth > MOST_DEPTH) return kn_syntax(p, p->c.at, "unsupported", NULL, "a value is nested more than %d deep", MOST_DEPTH);
    if (kind == KN_P_TEXT) {
        kn_word w = kn_peek_name(p);
        return kn_word_is(w, "None") && ends(p, w.s + w.n) ? read_word(p, arena, kind, depth, out) : read_raw(p, arena, depth, out);
    }
    if (body_follows(p)) {
        out->kind = KN_P_JAXPR;
        return kn_parse_program(p, &out->jaxpr);
    }
    char c = kn_peek(p);
    if (c == '(' || c == '[') return read_sequence(p, arena, kind, depth, out);
    if (p->size.n) {
        bool found;
        KILN_TRY(kn_parse_size(p, false, &found, &i));
        if (found) return *out = KN_INT(i), KILN_OK;
    }
    if (read_number(p, kind, out)) return KILN_OK;
    if (take_numpy_int(p, &i)) return *out = KN_INT(i), KILN_OK;
    if (kind == KN_P_DTYPE && class_follows(p)) return read_class(p, out);
    return read_word(p, arena, kind, depth, out);
}

kiln_status kn_parse_value(kn_parser *p, kn_arena *arena, kn_param_kind kind, kn_param *out)
{
    return read_value(p, arena, kind, 0, out);
}
