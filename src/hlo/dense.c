/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of constants: dense<1.5>, dense<[[1, 2], [3, 4]]>, dense<"0x0000803F..."> (raw little-endian bytes), dense<>,
 * dense_resource<name>. Numbers are written where they are needed and nowhere else. */
#include "hlo/mlir.h"

#include "base/text.h"

typedef struct dense {
    const kn_mmodule *m;
    const char *p, *end;
    kiln_type type;
    bool flags; /* i1 */
    void *data;
} dense;

static kiln_status bad(const dense *d, const char *what)
{
    return kn_source_fail(&d->m->src, d->p, KILN_INVALID, "constant", NULL, "%s, in a constant of %s", what, kn_type_show(d->type).s);
}

static void blanks(dense *d)
{
    for (; d->p < d->end; d->p++) {
        if (*d->p == '/' && d->p + 1 < d->end && d->p[1] == '/')
            while (d->p < d->end && *d->p != '\n') d->p++;
        if (d->p >= d->end || !kn_is_one_of(*d->p, " \n\t\r")) break;
    }
}
static bool take(dense *d, char c)
{
    blanks(d);
    if (d->p >= d->end || *d->p != c) return false;
    d->p++;
    return true;
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- one number ---- */

static unsigned bits_of(kiln_dtype t)
{
    char kind = kiln_dtype_kind(t);
    return kn_dtype_width(t) / (kind == 'c' ? 2 : 1);
}

/* Decimal floats whose digits and power of ten are exact doubles need one rounding: a product or a quotient. */
static bool exact_double(const char *s, const char *end, const char **after, double *out)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t m = 0;
    int digits = 0, power = 0, shown = 0;
    bool negative = s < end && *s == '-';
    if (negative) s++;
    for (bool dot = false; s < end && (is_digit(*s) || (*s == '.' && !dot)); s++) {
        if (*s == '.') {
            dot = true;
            continue;
        }
        m = m * 10 + (uint64_t)(*s - '0');
        if (m && ++digits > 15) return false;
        power -= dot;
        shown++;
    }
    if (!shown) return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        int e = 0;
        bool minus = ++s < end && *s == '-';
        if (s < end && (*s == '-' || *s == '+')) s++;
        if (s >= end || !is_digit(*s)) return false;
        for (; s < end && is_digit(*s); s++)
            if ((e = e * 10 + (*s - '0')) > 400) return false;
        power += minus ? -e : e;
    }
    if (power < -22 || power > 22) return false;
    double v = power < 0 ? (double)m / ten[-power] : (double)m * ten[power];
    *out = negative ? -v : v;
    *after = s;
    return true;
}

static kiln_status integer(dense *d, kiln_dtype t, uint64_t *bits, bool *negative, bool *hex)
{
    const char *begin = d->p, *p = begin;
    if (p < d->end && *p == '-') p++;
    bool is_hex = d->end - p > 2 && p[0] == '0' && p[1] == 'x';
    if (is_hex) p += 2;
    while (p < d->end && (is_digit(*p) || (is_hex && (*p | 32) >= 'a' && (*p | 32) <= 'f'))) p++;
    if (p == begin || !is_digit(p[-1] > '9' ? '0' : p[-1])) return bad(d, "a number was expected");
    unsigned width = bits_of(t);
    bool fits = kn_lex_integer((kn_span){begin, (size_t)(p - begin)}, bits, negative, hex);
    if (fits && *negative) fits = (int64_t)*bits >= -((int64_t)1 << (width < 64 ? width - 1 : 62)) * (width < 64 ? 1 : 2);
    else if (fits && width < 64) fits = *bits >> width == 0;
    if (!fits) return bad(d, "a number does not fit its element type");
    d->p = p;
    return KILN_OK;
}

/* Float of width t (f16 .. f64): decimal, or the bits in hexadecimal. */
static kiln_status real(dense *d, kiln_dtype t, double *out)
{
    const char *after;
    uint64_t bits;
    bool negative, hex;
    if (exact_double(d->p, d->end, &after, out)) {
        if (after < d->end && *after == 'x') goto by_bits;
        d->p = after;
        return KILN_OK;
    }
    if (d->end - d->p > 2 && d->p[0] == '0' && d->p[1] == 'x') goto by_bits;
    after = kn_read_double(d->p, d->end, out);
    if (after == d->p) return bad(d, "a number was expected");
    d->p = after;
    return KILN_OK;
by_bits:
    KILN_TRY(integer(d, t, &bits, &negative, &hex));
    *out = kn_scalar_load(t, &bits, 0).f;
    return KILN_OK;
}

static kiln_status word(dense *d, bool *v)
{
    size_t left = (size_t)(d->end - d->p);
    *v = left >= 4 && memcmp(d->p, "true", 4) == 0;
    if (!*v && !(left >= 5 && memcmp(d->p, "false", 5) == 0)) {
        uint64_t bits;
        bool negative, hex;
        KILN_TRY(integer(d, KILN_BOOL, &bits, &negative, &hex));
        *v = bits & 1;
        return KILN_OK;
    }
    d->p += *v ? 4 : 5;
    return KILN_OK;
}

static kiln_status element(dense *d, kn_scalar *v)
{
    kiln_dtype t = d->type.dtype;
    bool negative, hex;
    blanks(d);
    *v = (kn_scalar){.c = {0, 0}};
    switch (kiln_dtype_kind(t)) {
    case 'b': return word(d, &v->b);
    case 'i':
    case 'u': KILN_TRY(integer(d, t, &v->u, &negative, &hex)); break;
    case 'f':
    case '8': return real(d, t, &v->f);
    case 'c': {
        kiln_dtype part = t == KILN_C128 ? KILN_F64 : KILN_F32;
        if (!take(d, '(')) return bad(d, "(re, im) was expected");
        blanks(d);
        KILN_TRY(real(d, part, &v->c[0]));
        if (!take(d, ',')) return bad(d, "',' was expected");
        blanks(d);
        KILN_TRY(real(d, part, &v->c[1]));
        return take(d, ')') ? KILN_OK : bad(d, "')' was expected");
    }
    default: return bad(d, "constants of this element type are not read");
    }
    return KILN_OK;
}

/* Floats given by their bits keep them all, the payload of a NaN included. */
static kiln_status store_element(dense *d, int64_t k)
{
    kn_scalar v;
    blanks(d);
    const char *begin = d->p;
    KILN_TRY(element(d, &v));
    kn_scalar_store(d->type.dtype, d->data, k, v);
    if (strchr("f8", kiln_dtype_kind(d->type.dtype)) && d->p - begin > 2 && begin[0] == '0' && begin[1] == 'x') {
        uint64_t bits;
        bool negative, hex;
        size_t width = kiln_dtype_bytes(d->type.dtype);
        kn_lex_integer((kn_span){begin, (size_t)(d->p - begin)}, &bits, &negative, &hex);
        memcpy((char *)d->data + (size_t)k * width, &bits, width);
    }
    return KILN_OK;
}

/* ---- lists ---- */

static kiln_status list(dense *d, uint32_t level, int64_t *k)
{
    if (level == d->type.rank) return store_element(d, (*k)++);
    if (!take(d, '[')) return bad(d, "'[' was expected");
    for (int64_t i = 0; i < d->type.dims[level]; i++) {
        if (i && !take(d, ',')) return bad(d, "too few elements");
        KILN_TRY(list(d, level + 1, k));
    }
    blanks(d);
    if (d->p < d->end && *d->p == ',') return bad(d, "too many elements");
    return take(d, ']') ? KILN_OK : bad(d, "']' was expected");
}

static void repeat(dense *d, int64_t n)
{
    size_t w = kiln_dtype_bytes(d->type.dtype);
    for (int64_t k = 1; k < n; k++) memcpy((char *)d->data + (size_t)k * w, d->data, w);
}

/* ---- raw bytes ---- */

enum { HEADER = 8 }; /* digits of a resource's alignment in front of its bytes */

/* Two digits a byte. */
static kiln_status bytes(dense *d, kn_span hex, unsigned char *to, size_t n)
{
    return kn_hex_bytes(hex.s, n, to) ? KILN_OK : bad(d, "a byte that is no hexadecimal number");
}

/* The digits that left the text inside of `hex` when it was read. */
static const kn_hex_run *run_in(const kn_mmodule *m, kn_span hex)
{
    const kn_packed *p = m->src.packed;
    size_t at = (size_t)(hex.s - m->src.text), lo = 0, hi = p ? p->n : 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->run[mid].at < at) lo = mid + 1;
        else hi = mid;
    }
    return p && lo < p->n && p->run[lo].at <= at + hex.n ? &p->run[lo] : NULL;
}

/* Puts the digits of a run back where the constant cannot use them as they lie: of i1, of few bytes for many elements. */
static kiln_status unpacked(dense *d, kn_span *hex, const kn_hex_run *run)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *from = kiln_array_read(run->bytes);
    size_t n = kiln_array_bytes(run->bytes), before = run->at - (size_t)(hex->s - d->m->src.text);
    char *s = kn_arena_new(d->m->arena, hex->n + 2 * n);
    KILN_TRY_MEM(d->m->src.ctx, s);
    memcpy(s, hex->s, before);
    for (size_t i = 0; i < n; i++) s[before + 2 * i] = digits[from[i] >> 4], s[before + 2 * i + 1] = digits[from[i] & 15];
    memcpy(s + before + 2 * n, hex->s + before, hex->n - before);
    *hex = (kn_span){s, hex->n + 2 * n};
    return KILN_OK;
}

static kiln_status raw(dense *d, kn_span hex, int64_t n)
{
    const kn_hex_run *run = run_in(d->m, hex);
    d->p = hex.s; /* where errors are */
    if (run) KILN_TRY(unpacked(d, &hex, run));
    size_t w = kiln_dtype_bytes(d->type.dtype), have = hex.n / 2, need = (size_t)n * w;
    bool packed = d->flags && have == ((size_t)n + 7) / 8 && have != need, splat = have == w && n > 1 && !(packed && have > 1);
    if (hex.n % 2) return bad(d, "an odd number of hexadecimal digits");
    if (have != need && !splat && !packed)
        return kn_source_fail(&d->m->src, d->p, KILN_INVALID, "constant", NULL, "%zu bytes for a constant of %s, which has %zu", have,
                              kn_type_show(d->type).s, need);
    if (splat) {
        KILN_TRY(bytes(d, hex, d->data, w));
        if (d->flags) *(unsigned char *)d->data = *(unsigned char *)d->data != 0;
        repeat(d, n);
        return KILN_OK;
    }
    if (packed) { /* eight in a byte, the lowest bit first: read the bytes to the front, spread from the back */
        unsigned char *to = d->data;
        KILN_TRY(bytes(d, hex, to, have));
        for (size_t k = (size_t)n; k-- > 0;) to[k] = to[k / 8] >> (k % 8) & 1;
        return KILN_OK;
    }
    KILN_TRY(bytes(d, hex, d->data, need));
    for (size_t k = 0; d->flags && k < need; k++) ((unsigned char *)d->data)[k] = ((unsigned char *)d->data)[k] != 0;
    return KILN_OK;
}

/* The digits of a resource, behind those of its alignment; NULL: there is no such resource. */
static const kn_mresource *resource_of(const kn_mmodule *m, kn_span name)
{
    for (uint32_t i = 0; i < m->resources.n; i++)
        if (kn_span_same(m->resources.v[i].name, name)) return &m->resources.v[i];
    return NULL;
}

static kiln_status resource(dense *d, kn_span name, int64_t n)
{
    const kn_mresource *own = resource_of(d->m, name);
    if (own && own->hex.n < HEADER) return bad(d, "a resource without its header");
    if (own) return raw(d, (kn_span){own->hex.s + HEADER, own->hex.n - HEADER}, n);
    if (kn_span_is(name, "__elided__"))
        return kn_source_fail(&d->m->src, d->p, KILN_INVALID, "constant", "text printed with its constants: as_text(), not debug forms that leave them out",
                              "the contents of a constant were left out when this text was printed");
    return kn_source_fail(&d->m->src, d->p, KILN_INVALID, "constant", NULL, "there is no resource '%.*s'", KN_SPAN_ARG(name));
}

static kiln_status fill(dense *d, const kn_mattr *a, int64_t n)
{
    blanks(d);
    if (a->kind == KN_MA_RESOURCE) return resource(d, a->text, n);
    if (d->p == d->end) return n == 0 ? KILN_OK : bad(d, "no elements");
    if (*d->p == '"') {
        const char *close = memchr(d->p + 1, '"', (size_t)(d->end - d->p - 1));
        if (!close || close - d->p < 3 || memcmp(d->p + 1, "0x", 2) != 0) return bad(d, "a string that is no \"0x..\"");
        return raw(d, (kn_span){d->p + 3, (size_t)(close - d->p - 3)}, n);
    }
    if (*d->p == '[') {
        int64_t k = 0;
        KILN_TRY(list(d, 0, &k));
    } else if (n > 0) {
        KILN_TRY(store_element(d, 0));
        repeat(d, n);
    } else {
        kn_scalar ignored;
        KILN_TRY(element(d, &ignored));
    }
    blanks(d);
    return d->p == d->end ? KILN_OK : bad(d, "more text than elements");
}

static void release_run(void *bytes, void *data)
{
    (void)data;
    kiln_array_release(bytes);
}

/* A constant whose bytes were made while the text was read uses them where they are; *out stays NULL for any other. */
static kiln_status adopt(const kn_mmodule *m, const kn_mattr *a, kiln_array **out)
{
    const char *s = a->text.s;
    const kn_mresource *own = a->kind == KN_MA_RESOURCE ? resource_of(m, a->text) : NULL;
    kn_span hex = {s + 3, a->text.n > 4 ? a->text.n - 4 : 0}; /* "0x" and the quotes around */
    if (own && own->hex.n >= HEADER) hex = (kn_span){own->hex.s + HEADER, own->hex.n - HEADER};
    else if (a->kind != KN_MA_DENSE || a->text.n != 4 || memcmp(s, "\"0x\"", 4) != 0) return KILN_OK;
    const kn_hex_run *run = run_in(m, hex);
    size_t need = (size_t)kiln_type_size(a->type->type) * kiln_dtype_bytes(a->type->type.dtype);
    if (!run || hex.n || kiln_array_bytes(run->bytes) != need || a->type->type.dtype == KILN_BOOL) return KILN_OK;
    KILN_TRY(kiln_array_wrap(m->src.ctx, a->type->type, kiln_array_data(run->bytes), release_run, run->bytes, out));
    kiln_array_retain(run->bytes);
    return KILN_OK;
}

static kiln_status usable(const kn_mmodule *m, const kn_mattr *a)
{
    const kn_mtype *t = a->type;
    if (t && t->kind == KN_MT_TENSOR && t->known && !t->dynamic && t->type.dtype != KILN_TOKEN && kiln_type_size(t->type) >= 0) return KILN_OK;
    return kn_source_fail(&m->src, a->at, KILN_UNSUPPORTED, "unsupported", "tensors of a fixed shape, of integers, floats or complex numbers",
                          "a constant of %.*s", t ? (int)(t->text.n < KN_SHOW_SPAN ? t->text.n : KN_SHOW_SPAN) : 0, t ? t->text.s : "");
}

kiln_status kn_mattr_array(const kn_mmodule *m, const kn_mattr *a, kiln_array **out)
{
    *out = NULL;
    if (a->kind != KN_MA_DENSE && a->kind != KN_MA_RESOURCE)
        return kn_source_fail(&m->src, a->at, KILN_INVALID, "syntax", NULL, "a constant, dense<..> : type, was expected");
    KILN_TRY(usable(m, a));
    KILN_TRY(adopt(m, a, out));
    if (*out) return KILN_OK;
    kiln_array *x;
    KILN_TRY(kiln_array_create(m->src.ctx, a->type->type, &x));
    dense d = {.m = m, .p = a->text.s, .end = a->text.s + a->text.n, .type = x->type, .flags = x->type.dtype == KILN_BOOL, .data = x->data};
    kiln_status s = fill(&d, a, kiln_type_size(x->type));
    if (s != KILN_OK) kiln_array_release(x);
    else *out = x;
    return s;
}

kiln_status kn_mattr_splat(const kn_mmodule *m, const kn_mattr *a, bool *is, kn_scalar *v)
{
    *is = false;
    if (a->kind != KN_MA_DENSE || !a->type || !a->type->known) return KILN_OK;
    KILN_TRY(usable(m, a));
    dense d = {.m = m, .p = a->text.s, .end = a->text.s + a->text.n, .type = a->type->type};
    blanks(&d);
    if (d.p == d.end || *d.p == '[' || *d.p == '"') return KILN_OK;
    KILN_TRY(element(&d, v));
    blanks(&d);
    if (d.p != d.end) return bad(&d, "more text than elements");
    *is = true;
    return KILN_OK;
}
