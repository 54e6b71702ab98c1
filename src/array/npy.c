/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy format, versions 1.0 to 3.0: a magic word, the length of the header, the header (a Python dict with descr,
 * fortran_order, shape), the elements. bfloat16 has no name of its own there and travels as '|V2'. */
#include "array/npy.h"

#include <stdio.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
enum { PREFIX = 8, MOST_RANK = 64, ALIGN = 64 };

static const struct descr {
    const char *text; /* without the sign of the byte order */
    kiln_dtype dtype;
} descrs[] = {
    {"b1", KILN_BOOL}, {"?", KILN_BOOL}, {"i1", KILN_I8},  {"i2", KILN_I16}, {"i4", KILN_I32}, {"i8", KILN_I64},
    {"u1", KILN_U8},   {"u2", KILN_U16}, {"u4", KILN_U32}, {"u8", KILN_U64}, {"f2", KILN_F16}, {"V2", KILN_BF16},
    {"f4", KILN_F32},  {"f8", KILN_F64}, {"c8", KILN_C64}, {"c16", KILN_C128},
};
static const char accepted_descrs[] = "bool, i1 to i8, u1 to u8, f2, f4, f8, c8, c16, and V2 for bfloat16";

typedef struct reader {
    kiln_ctx *ctx;
    const char *name;
    const char *at, *end; /* the rest of the header */
    kiln_dtype dtype;
    bool fortran, swap;
    bool has_descr, has_order, has_shape;
    uint32_t rank;
    int64_t dims[MOST_RANK];
} reader;

static kn_place place(const char *name) { return (kn_place){.file = name}; }

static kiln_status damaged(reader *r, const char *what)
{
    return kn_fail_at(r->ctx, KILN_CORRUPT, "damaged-file", place(r->name), NULL, "not a whole .npy file: %s", what);
}

/* ---- the header's dict ---- */

static void space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool take(reader *r, char c)
{
    space(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool word(reader *r, const char *s)
{
    space(r);
    size_t n = strlen(s);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, s, n) != 0) return false;
    r->at += n;
    return true;
}

/* A short quoted text without escapes: all that numpy writes here. */
static bool quoted(reader *r, char *out, size_t size)
{
    space(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"')) return false;
    char mark = *r->at++;
    size_t n = 0;
    for (; r->at < r->end && *r->at != mark; r->at++) {
        if (*r->at == '\\' || n + 1 == size) return false;
        out[n++] = *r->at;
    }
    out[n] = 0;
    return r->at < r->end && *r->at++ == mark;
}

static kiln_status read_descr(reader *r)
{
    char s[64];
    space(r);
    if (r->at < r->end && *r->at == '[')
        return kn_fail_at(r->ctx, KILN_UNSUPPORTED, "unsupported", place(r->name), accepted_descrs, "records (structured elements) are not read");
    if (!quoted(r, s, sizeof s)) return damaged(r, "the header's descr is no text");
    const char *text = s;
    if (*text == '<' || *text == '|' || *text == '=' || *text == '>') text++;
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        if (strcmp(text, descrs[i].text) == 0) {
            r->dtype = descrs[i].dtype;
            r->swap = s[0] == '>';
            return KILN_OK;
        }
    if (*text == 'O')
        return kn_fail_at(r->ctx, KILN_UNSUPPORTED, "unsupported", place(r->name), accepted_descrs,
                          "elements are Python objects (a pickle), which are never loaded");
    return kn_fail_at(r->ctx, KILN_UNSUPPORTED, "unsupported", place(r->name), accepted_descrs, "element type '%s' is not read", s);
}

static kiln_status read_shape(reader *r)
{
    if (!take(r, '(')) return damaged(r, "the header's shape is no tuple");
    while (!take(r, ')')) {
        if (r->rank == MOST_RANK) return damaged(r, "more than 64 dimensions");
        int64_t d = 0;
        const char *first = r->at;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
            if (__builtin_mul_overflow(d, 10, &d) || __builtin_add_overflow(d, *r->at - '0', &d))
                return damaged(r, "a dimension does not fit in 63 bits");
        if (r->at == first) return damaged(r, "a dimension is no number");
        if (r->at < r->end && *r->at == 'L') r->at++; /* written by Python 2 */
        r->dims[r->rank++] = d;
        if (!take(r, ',')) {
            if (take(r, ')')) return KILN_OK;
            return damaged(r, "the header's shape is not closed");
        }
    }
    return KILN_OK;
}

static kiln_status read_header(reader *r)
{
    char key[32];
    if (!take(r, '{')) return damaged(r, "the header is no dict");
    while (!take(r, '}')) {
        if (!quoted(r, key, sizeof key) || !take(r, ':')) return damaged(r, "the header has no key where one should be");
        if (strcmp(key, "descr") == 0 && !r->has_descr) {
            KILN_TRY(read_descr(r));
            r->has_descr = true;
        } else if (strcmp(key, "fortran_order") == 0 && !r->has_order) {
            r->fortran = word(r, "True");
            if (!r->fortran && !word(r, "False")) return damaged(r, "the header's fortran_order is neither True nor False");
            r->has_order = true;
        } else if (strcmp(key, "shape") == 0 && !r->has_shape) {
            KILN_TRY(read_shape(r));
            r->has_shape = true;
        } else {
            return damaged(r, "the header has an unknown or a repeated key");
        }
        if (!take(r, ',')) {
            if (take(r, '}')) break;
            return damaged(r, "the header's dict is not closed");
        }
    }
    space(r);
    if (r->at != r->end) return damaged(r, "text after the header's dict");
    if (!r->has_descr || !r->has_order || !r->has_shape) return damaged(r, "the header lacks descr, fortran_order or shape");
    return KILN_OK;
}

/* ---- the elements ---- */

/* Copies column-major memory into row-major memory, walking the result in order. */
static void from_fortran(const reader *r, char *to, const char *from, size_t size, int64_t count)
{
    size_t stride[MOST_RANK];
    int64_t ix[MOST_RANK] = {0};
    size_t s = size;
    for (uint32_t i = 0; i < r->rank; i++) {
        stride[i] = s;
        s *= (size_t)r->dims[i];
    }
    size_t at = 0;
    for (int64_t k = 0; k < count; k++) {
        memcpy(to, from + at, size);
        to += size;
        for (uint32_t i = r->rank; i-- > 0;) {
            at += stride[i];
            if (++ix[i] < r->dims[i]) break;
            at -= stride[i] * (size_t)r->dims[i];
            ix[i] = 0;
        }
    }
}

static void swap_bytes(char *p, size_t unit, size_t bytes)
{
    for (size_t at = 0; at + unit <= bytes; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            char c = p[at + i];
            p[at + i] = p[at + unit - 1 - i];
            p[at + unit - 1 - i] = c;
        }
}

static kiln_status read_elements(reader *r, const char *data, size_t n, kiln_array **out)
{
    kiln_type type = {r->dtype, r->rank, r->rank ? r->dims : NULL};
    int64_t count = kiln_type_size(type);
    size_t size = kiln_dtype_bytes(r->dtype), need;
    if (count < 0 || !kn_mul_size((size_t)count, size, &need)) return damaged(r, "the shape is larger than memory");
    if (need != n) {
        char what[256];
        snprintf(what, sizeof what, "%s needs %zu bytes of elements, found %zu", kn_type_show(type).s, need, n);
        return damaged(r, what);
    }
    KILN_TRY(kiln_array_create(r->ctx, type, out));
    char *to = kiln_array_data(*out);
    if (r->fortran && r->rank > 1) from_fortran(r, to, data, size, count);
    else if (n) memcpy(to, data, n);
    if (r->swap) swap_bytes(to, kiln_dtype_kind(r->dtype) == 'c' ? size / 2 : size, n);
    if (r->dtype == KILN_BOOL)
        for (size_t i = 0; i < n; i++) to[i] = to[i] != 0;
    return KILN_OK;
}

kiln_status kn_npy_decode(kiln_ctx *ctx, const char *name, const void *bytes, size_t n, kiln_array **out)
{
    *out = NULL;
    reader r = {.ctx = ctx, .name = name};
    const unsigned char *b = bytes;
    if (n < sizeof magic || memcmp(b, magic, sizeof magic) != 0)
        return kn_fail_at(ctx, KILN_CORRUPT, "damaged-file", place(name), NULL, "not a .npy file: it does not begin with \\x93NUMPY");
    if (n < PREFIX + 2) return damaged(&r, "it ends inside the header");
    unsigned version = b[6];
    if (version < 1 || version > 3)
        return kn_fail_at(ctx, KILN_VERSION, "unsupported", place(name), "versions 1, 2 and 3", ".npy version %u is not read", version);
    size_t width = version == 1 ? 2 : 4, length = 0;
    if (n < PREFIX + width) return damaged(&r, "it ends inside the header");
    for (size_t i = width; i-- > 0;) length = length << 8 | b[PREFIX + i];
    size_t data = PREFIX + width;
    if (length > n - data) return damaged(&r, "it ends inside the header");
    r.at = (const char *)b + data;
    r.end = r.at + length;
    KILN_TRY(read_header(&r));
    data += length;
    return read_elements(&r, (const char *)b + data, n - data, out);
}

/* ---- writing ---- */

static const char *descr_of(kiln_dtype d)
{
    switch (d) {
    case KILN_BOOL: return "|b1";
    case KILN_I2:
    case KILN_I4:
    case KILN_I8: return "|i1";
    case KILN_U2:
    case KILN_U4:
    case KILN_F4E2M1FN:
    case KILN_F6E2M3FN:
    case KILN_F6E3M2FN:
    case KILN_F8E3M4:
    case KILN_F8E4M3:
    case KILN_F8E4M3B11FNUZ:
    case KILN_F8E4M3FN:
    case KILN_F8E4M3FNUZ:
    case KILN_F8E5M2:
    case KILN_F8E5M2FNUZ:
    case KILN_F8E8M0FNU:
    case KILN_U8: return "|u1";
    case KILN_I16: return "<i2";
    case KILN_I32: return "<i4";
    case KILN_I64: return "<i8";
    case KILN_U16: return "<u2";
    case KILN_U32: return "<u4";
    case KILN_U64: return "<u8";
    case KILN_F16: return "<f2";
    case KILN_BF16: return "|V2";
    case KILN_F32: return "<f4";
    case KILN_F64: return "<f8";
    case KILN_C64: return "<c8";
    case KILN_C128: return "<c16";
    case KILN_KEY:
    case KILN_FLOAT0:
    case KILN_TOKEN:
    case KILN_N_DTYPES: break;
    }
    return NULL;
}

kiln_status kn_npy_header_make(kiln_ctx *ctx, const char *name, kiln_type type, kn_npy_header *out)
{
    const char *descr = descr_of(type.dtype);
    if (!descr)
        return kn_fail_at(ctx, KILN_UNSUPPORTED, "unsupported", place(name), NULL, "arrays of %s have no form as .npy",
                          kiln_dtype_name(type.dtype));
    enum { LINE = 128 + 24 * MOST_RANK, START = PREFIX + 2 };
    _Static_assert(sizeof out->s >= START + LINE + ALIGN, "a header of the highest rank fits");
    char line[LINE];
    if (type.rank > MOST_RANK)
        return kn_fail_at(ctx, KILN_UNSUPPORTED, "unsupported", place(name), NULL, "an array of rank %u has no form as .npy", type.rank);
    int k = snprintf(line, sizeof line, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < type.rank; i++)
        k += snprintf(line + k, sizeof line - (size_t)k, "%s%lld%s", i ? " " : "", (long long)type.dims[i],
                      i + 1 < type.rank || type.rank == 1 ? "," : "");
    k += snprintf(line + k, sizeof line - (size_t)k, "), }");
    size_t whole = (START + (size_t)k + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(out->s, ' ', whole);
    memcpy(out->s, magic, sizeof magic);
    out->s[6] = 1;
    out->s[7] = 0;
    out->s[8] = (char)((whole - START) & 255);
    out->s[9] = (char)((whole - START) >> 8);
    memcpy(out->s + START, line, (size_t)k);
    out->s[whole - 1] = '\n';
    out->n = whole;
    return KILN_OK;
}

bool kn_npy_next(kn_npy_piece *p)
{
    const unsigned char *v = kiln_array_read(p->a);
    size_t left = kiln_array_bytes(p->a) - p->done;
    kiln_dtype d = kiln_array_type(p->a).dtype;
    p->at = v + p->done;
    p->n = left;
    if (left && (d == KILN_I2 || d == KILN_I4)) {
        p->n = left < sizeof p->own ? left : sizeof p->own;
        for (size_t i = 0; i < p->n; i++) p->own[i] = (unsigned char)kn_scalar_load(d, v, (int64_t)(p->done + i)).i;
        p->at = p->own;
    }
    p->done += p->n;
    return left > 0;
}

kiln_status kn_npy_write(kn_file *f, const kiln_array *a)
{
    kn_npy_piece p = {.a = a};
    while (kn_npy_next(&p)) KILN_TRY(kn_file_write(f, p.at, p.n));
    return KILN_OK;
}

kiln_status kiln_array_load(kiln_ctx *ctx, const char *path, kiln_array **out)
{
    *out = NULL;
    kn_bytes b;
    KILN_TRY(kn_file_read(ctx, path, &b));
    kiln_status status = kn_npy_decode(ctx, path, b.s, b.n, out);
    kn_bytes_free(ctx, &b);
    return status;
}

kiln_status kiln_array_save(kiln_ctx *ctx, const char *path, const kiln_array *a)
{
    kn_npy_header h;
    KILN_TRY(kn_npy_header_make(ctx, path, kiln_array_type(a), &h));
    kn_file *f;
    KILN_TRY(kn_file_create(ctx, path, &f));
    kiln_status status = kn_file_write(f, h.s, h.n);
    if (status == KILN_OK) status = kn_npy_write(f, a);
    if (status == KILN_OK) return kn_file_commit(f);
    kn_file_cancel(f);
    return status;
}
