/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars and arrays as text, spelled as Python does. */
#include "array/text.h"
#include "base/fpmode.h"

#include <math.h>
#include <stdio.h>

const char *kn_real_read(const char *s, const char *end, double *v)
{
    const char *q = s;
    bool minus = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    if (end - q >= 3 && memcmp(q, "nan", 3) == 0) return *v = (double)NAN, q + 3;
    if (end - q >= 3 && memcmp(q, "inf", 3) == 0) return *v = minus ? -(double)INFINITY : (double)INFINITY, q + 3;
    return kn_read_double(s, end, v);
}

const char *kn_whole_read(const char *s, const char *end, int64_t *v, bool *is_unsigned)
{
    const char *q = s;
    bool minus = q < end && *q == '-';
    uint64_t u = 0;
    if (q < end && (*q == '-' || *q == '+')) q++;
    const char *first = q;
    for (; q < end && *q >= '0' && *q <= '9'; q++)
        if (__builtin_mul_overflow(u, 10u, &u) || __builtin_add_overflow(u, (uint64_t)(*q - '0'), &u)) return s;
    if (q == first || (minus && u > (uint64_t)1 << 63)) return s;
    *is_unsigned = !minus && u > INT64_MAX;
    *v = (int64_t)(minus ? 0 - u : u);
    return q;
}

/* (1-2j) or 2j; returns its end, or s. */
static const char *read_complex(const char *s, const char *end, double v[2])
{
    const char *q = s;
    bool parens = q < end && *q == '(';
    if (parens) q++;
    const char *r = kn_real_read(q, end, &v[1]);
    if (r == q) return s;
    v[0] = 0;
    if (r < end && (*r == '+' || *r == '-')) {
        v[0] = v[1];
        q = r;
        r = kn_real_read(q, end, &v[1]);
        if (r == q) return s;
    }
    if (r == end || *r != 'j') return s;
    r++;
    if (parens && (r == end || *r != ')')) return s;
    return r + parens;
}

static bool in_range(kiln_dtype d, int64_t v, bool is_unsigned)
{
    kn_scalar a = {.i = v}, b = kn_scalar_round(d, a);
    return kiln_dtype_kind(d) == 'u' ? a.u == b.u && (is_unsigned || v >= 0) : a.i == b.i && !is_unsigned;
}

/* NULL, or what is wrong with the text: "is no value of", "does not fit in". */
const char *kn_scalar_read(kiln_dtype d, const char *s, const char *end, kn_scalar *v)
{
    const char *q = s;
    bool is_unsigned = false;
    *v = (kn_scalar){.c = {0, 0}};
    switch (kiln_dtype_kind(d)) {
    case 'b': {
        size_t n = (size_t)(end - s);
        v->b = n == 4 && memcmp(s, "True", 4) == 0;
        if (v->b || (n == 5 && memcmp(s, "False", 5) == 0)) q = end;
        break;
    }
    case 'i':
    case 'u':
        q = kn_whole_read(s, end, &v->i, &is_unsigned);
        if (q == end && q > s && !in_range(d, v->i, is_unsigned)) return "does not fit in";
        break;
    case 'f':
    case '8': q = kn_real_read(s, end, &v->f); break;
    case 'c':
        q = read_complex(s, end, v->c);
        if (q == s) v->c[1] = 0, q = kn_real_read(s, end, &v->c[0]);
        break;
    default: break;
    }
    return q == end && q > s ? NULL : "is no value of";
}

/* A float as a part of a complex number: as repr, without the ".0". */
static void complex_part(double v, bool sign, kn_text *out)
{
    char s[40];
    size_t n = kn_double_repr(v, s);
    if (n > 2 && strcmp(s + n - 2, ".0") == 0) n -= 2;
    if (sign && s[0] != '-') kn_text_char(out, '+');
    kn_text_addn(out, s, n);
}

void kn_scalar_print(kiln_dtype d, kn_scalar v, kn_text *out)
{
    switch (kiln_dtype_kind(d)) {
    case 'b': kn_text_add(out, v.b ? "True" : "False"); break;
    case 'i': kn_text_printf(out, "%lld", (long long)v.i); break;
    case 'u':
    case 'k': kn_text_printf(out, "%llu", (unsigned long long)v.u); break;
    case 'f':
    case '8': kn_text_double(out, v.f); break;
    case 'c': {
        bool both = v.c[0] != 0 || signbit(v.c[0]);
        if (both) {
            kn_text_char(out, '(');
            complex_part(v.c[0], false, out);
        }
        complex_part(v.c[1], both, out);
        kn_text_add(out, both ? "j)" : "j");
        break;
    }
    case 't': kn_text_add(out, "token"); break;
    default: kn_text_add(out, "?"); break;
    }
}

/* ---- arrays ---- */

static kiln_status bad_like(kiln_ctx *ctx, const char *text, const char *at, const char *accepted, const char *what)
{
    kn_place place = {.file = "", .line = 1, .column = (int)(at - text) + 1, .text = text};
    return kn_fail_at(ctx, KILN_INVALID, "syntax", place, accepted, "%s", what);
}
static kiln_status bad(kiln_ctx *ctx, const char *text, const char *at, const char *what) { return bad_like(ctx, text, at, "f32[2,2]:1,2,3,4", what); }

static kiln_status read_type(kiln_ctx *ctx, const char *text, const char **at, kiln_type *t, int64_t *dims, uint32_t most)
{
    const char *s = text + strcspn(text, "[");
    bool is_unsigned;
    *t = (kiln_type){.dims = dims};
    if (*s != '[' || s == text) return bad(ctx, text, text, "an array in text begins with its type");
    if (!kiln_dtype_from_name(text, (size_t)(s - text), &t->dtype)) {
        char what[64];
        snprintf(what, sizeof what, "no element type '%.*s'", (int)(s - text < 40 ? s - text : 40), text);
        return bad(ctx, text, text, what);
    }
    for (s++; *s != ']';) {
        if (t->rank == most) return bad(ctx, text, s, "an array has at most 64 dimensions");
        const char *q = kn_whole_read(s, s + strlen(s), &dims[t->rank], &is_unsigned);
        if (q == s || is_unsigned || dims[t->rank] < 0) return bad(ctx, text, s, "a dimension is no whole number");
        t->rank++;
        s = q + strspn(q, " ");
        if (*s == ',') s += 1 + strspn(s + 1, " ");
        else if (*s != ']') return bad(ctx, text, s, "a shape is not closed");
    }
    if (s[1] != ':') return bad(ctx, text, s + 1, "a colon is missing between the type and the elements");
    *at = s + 2;
    return KILN_OK;
}

static kiln_status read_elements(kiln_ctx *ctx, const char *text, const char *s, kiln_array *a)
{
    kiln_dtype d = a->type.dtype;
    int64_t size = kiln_type_size(a->type), n = 0;
    char what[128];
    s += strspn(s, " ");
    while (*s) {
        kn_scalar v;
        const char *end = s + strcspn(s, ", ");
        const char *problem = kn_scalar_read(d, s, end, &v);
        if (problem) {
            snprintf(what, sizeof what, "'%.*s' %s %s", (int)(end - s < 40 ? end - s : 40), s, problem, kiln_dtype_name(d));
            char kind = kiln_dtype_kind(d);
            return bad_like(ctx, text, s, kind == 'b' ? "bool[2]:True,False" : kind == 'c' ? "c64[2]:1,(1-2j)" : "f32[2,2]:1,2,3,4", what);
        }
        if (n < size) kn_scalar_store(d, a->data, n, v);
        n++;
        end += strspn(end, " ");
        if (*end != ',' && *end) return bad(ctx, text, end, "a comma is missing between elements");
        s = *end ? end + 1 + strspn(end + 1, " ") : end;
    }
    if (n == 1 && size > 1) {
        size_t w = kiln_dtype_bytes(d);
        for (int64_t k = 1; k < size; k++) memcpy((char *)a->data + (size_t)k * w, a->data, w);
        return KILN_OK;
    }
    if (n == size) return KILN_OK;
    snprintf(what, sizeof what, "%lld elements for %lld of the type", (long long)n, (long long)size);
    return bad(ctx, text, s, what);
}

kiln_status kiln_array_parse(kiln_ctx *ctx, const char *text, kiln_array **out)
{
    enum { MOST_RANK = 64 };
    int64_t dims[MOST_RANK];
    kiln_type t;
    const char *at = text;
    *out = NULL;
    KILN_TRY(read_type(ctx, text, &at, &t, dims, MOST_RANK));
    KILN_TRY(kiln_array_create(ctx, t, out));
    kn_fpmode mode = kn_fpmode_enter();
    kiln_status status = read_elements(ctx, text, at, *out);
    kn_fpmode_leave(mode);
    if (status == KILN_OK) return KILN_OK;
    kiln_array_release(*out);
    *out = NULL;
    return status;
}

size_t kiln_array_format(const kiln_array *a, size_t most, char *out, size_t out_bytes)
{
    size_t n = kiln_type_format(a->type, out, out_bytes);
    int64_t size = kiln_type_size(a->type), half = (int64_t)(most / 2);
    bool cut = (uint64_t)size > most;
    kn_text t;
    kn_text_init(&t, &a->alloc);
    kn_text_char(&t, ':');
    kn_fpmode mode = kn_fpmode_enter();
    for (int64_t k = 0; k < size; k++) {
        if (cut && k == half) {
            kn_text_add(&t, " ...");
            k = size - ((int64_t)most - half);
            if (k >= size) break;
        }
        kn_text_char(&t, ' ');
        kn_scalar_print(a->type.dtype, kn_scalar_load(a->type.dtype, a->data, k), &t);
    }
    kn_fpmode_leave(mode);
    if (n < out_bytes && t.s) snprintf(out + n, out_bytes - n, "%s", t.s);
    n += t.n;
    kn_text_fini(&t);
    return n;
}
