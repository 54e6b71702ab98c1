/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and constants of exported modules. */
#include "hlo/export.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

kn_span kn_xspan(const char *s) { return (kn_span){s, strlen(s)}; }

/* ---- attributes ---- */

void kn_xattr(kn_export *x, kn_mop *op, const char *name, kn_mattr a)
{
    if (x->status != KILN_OK) return;
    kn_mfield *own = KN_NEWN(x->arena, kn_mfield, op->nattrs + 1);
    KN_XCHECK(x, own);
    if (!own) return;
    if (op->nattrs) memcpy(own, op->attrs, op->nattrs * sizeof *own);
    own[op->nattrs++] = (kn_mfield){kn_xspan(name), a};
    op->attrs = own;
}

kn_mattr kn_xtyped_int(kn_export *x, kiln_dtype d, int64_t v)
{
    kn_mtype *t = KN_NEW(x->arena, kn_mtype);
    KN_XCHECK(x, t);
    if (t) *t = (kn_mtype){.kind = KN_MT_SCALAR, .known = true, .type = KILN_SCALAR(d), .text = {"", 0}};
    return (kn_mattr){.kind = KN_MA_INT, .at = "", .type = t, .i = v};
}

void kn_xattr_int(kn_export *x, kn_mop *op, const char *name, int64_t v) { kn_xattr(x, op, name, kn_xtyped_int(x, KILN_I64, v)); }
void kn_xattr_number(kn_export *x, kn_mop *op, const char *name, int64_t v) { kn_xattr(x, op, name, (kn_mattr){.kind = KN_MA_INT, .at = "", .i = v}); }
void kn_xattr_bool(kn_export *x, kn_mop *op, const char *name, bool v) { kn_xattr(x, op, name, (kn_mattr){.kind = KN_MA_BOOL, .at = "", .b = v}); }
/* A text that may be a parameter of a program that is made and dropped on the way. */
static kn_span kept(kn_export *x, const char *s)
{
    const char *own = kn_arena_text(x->arena, s);
    KN_XCHECK(x, own);
    return kn_xspan(own ? own : "");
}

void kn_xattr_word(kn_export *x, kn_mop *op, const char *name, const char *v)
{
    kn_xattr(x, op, name, (kn_mattr){.kind = KN_MA_WORD, .at = "", .text = kept(x, v)});
}

static kn_mattr list(kn_export *x, const int64_t *v, uint32_t n)
{
    kn_mattr *items = KN_NEWN(x->arena, kn_mattr, n);
    KN_XCHECK(x, items);
    for (uint32_t i = 0; items && i < n; i++) items[i] = (kn_mattr){.kind = KN_MA_INT, .at = "", .i = v[i]};
    return (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = items ? n : 0, .items = items};
}

void kn_xattr_list(kn_export *x, kn_mop *op, const char *name, const int64_t *v, uint32_t n) { kn_xattr(x, op, name, list(x, v, n)); }

void kn_xattr_array(kn_export *x, kn_mop *op, const char *name, const int64_t *v, uint32_t n)
{
    kn_mattr a = list(x, v, n);
    a.type = kn_xtyped_int(x, KILN_I64, 0).type;
    kn_xattr(x, op, name, a);
}

void kn_xattr_text(kn_export *x, kn_mop *op, const char *name, const char *dialect, const char *text)
{
    kn_xattr(x, op, name,
             (kn_mattr){.kind = dialect ? KN_MA_DIALECT : KN_MA_OTHER, .at = "", .text = kn_xspan(text), .name = kn_xspan(dialect ? dialect : "")});
}

const char *kn_xkeep(kn_export *x, kn_text *t)
{
    char *s = t->failed ? NULL : kn_arena_textn(x->arena, t->n ? t->s : "", t->n);
    KN_XCHECK(x, s);
    t->n = 0;
    return s ? s : "";
}

/* ---- parameters of composites ---- */

static kn_mattr param(kn_export *x, const kn_param *p)
{
    kn_mattr a = {.kind = KN_MA_UNIT, .at = ""};
    switch (p->kind) {
    case KN_P_BOOL: return (kn_mattr){.kind = KN_MA_BOOL, .at = "", .b = p->b};
    case KN_P_INT: return kn_xtyped_int(x, KILN_I64, p->i);
    case KN_P_TEXT: return (kn_mattr){.kind = KN_MA_STRING, .at = "", .text = kept(x, p->text)};
    case KN_P_DTYPE: return (kn_mattr){.kind = KN_MA_TYPE, .at = "", .type = kn_xtyped_int(x, p->dtype, 0).type};
    case KN_P_INTS:
        a = list(x, p->ints, p->n);
        a.type = kn_xtyped_int(x, KILN_I64, 0).type;
        return a;
    case KN_P_TUPLE: {
        kn_mattr *items = KN_NEWN(x->arena, kn_mattr, p->n);
        KN_XCHECK(x, items);
        for (uint32_t i = 0; items && i < p->n; i++) items[i] = param(x, &p->items[i]);
        return (kn_mattr){.kind = KN_MA_LIST, .at = "", .n = items ? p->n : 0, .items = items};
    }
    default: kn_xfail(x, kn_fail(x->ctx, KILN_INTERNAL, "a composite's parameter has no form in StableHLO")); return a;
    }
}

void kn_xparams(kn_export *x, const kn_eqn *e, kn_mattr *out)
{
    kn_mfield *fields = KN_NEWN(x->arena, kn_mfield, e->prim->nparams);
    uint32_t n = 0;
    KN_XCHECK(x, fields);
    for (uint32_t i = 0; fields && i < e->prim->nparams; i++)
        if (e->params[i].kind != KN_P_NONE) fields[n++] = (kn_mfield){kn_xspan(e->prim->params[i].name), param(x, &e->params[i])};
    *out = (kn_mattr){.kind = KN_MA_DICT, .at = "", .n = n, .fields = fields};
}

/* ---- contents of constants ---- */

const char *kn_mlir_dtype(kiln_dtype d)
{
    static const char *const names[KILN_N_DTYPES] = {
        [KILN_BOOL] = "i1", [KILN_I2] = "i2", [KILN_I4] = "i4", [KILN_I8] = "i8", [KILN_I16] = "i16", [KILN_I32] = "i32", [KILN_I64] = "i64",
        [KILN_U2] = "ui2", [KILN_U4] = "ui4", [KILN_U8] = "ui8", [KILN_U16] = "ui16", [KILN_U32] = "ui32", [KILN_U64] = "ui64",
        [KILN_F4E2M1FN] = "f4E2M1FN", [KILN_F6E2M3FN] = "f6E2M3FN", [KILN_F6E3M2FN] = "f6E3M2FN",
        [KILN_F8E3M4] = "f8E3M4", [KILN_F8E4M3] = "f8E4M3", [KILN_F8E4M3B11FNUZ] = "f8E4M3B11FNUZ",
        [KILN_F8E4M3FN] = "f8E4M3FN", [KILN_F8E4M3FNUZ] = "f8E4M3FNUZ", [KILN_F8E5M2] = "f8E5M2", [KILN_F8E5M2FNUZ] = "f8E5M2FNUZ",
        [KILN_F8E8M0FNU] = "f8E8M0FNU", [KILN_F16] = "f16", [KILN_BF16] = "bf16", [KILN_F32] = "f32", [KILN_F64] = "f64",
        [KILN_C64] = "complex<f32>", [KILN_C128] = "complex<f64>",
    };
    return (unsigned)d < KILN_N_DTYPES ? names[d] : NULL;
}

/* Decimal digits of |v|, at most `most` of them, without trailing zeros: v = 0.d0d1d2.. * 10^*point. As LLVM's APFloat::toString makes
 * them: what is far more precise than asked is cut off, not rounded; the rest is rounded, halves up. */
static int digits_of(double v, int most, char *digits, int *point)
{
    enum { EXACT = 800 }; /* more digits than any double has */
    char s[EXACT + 32];
    int n = 0, at = 0, e = 0, scale;
    uint64_t odd = (uint64_t)ldexp(frexp(fabs(v), &scale), 53);
    scale -= 53;
    while (!(odd & 1)) odd >>= 1, scale++;
    snprintf(s, sizeof s, "%.*e", EXACT, fabs(v));
    for (; s[at] && s[at] != 'e'; at++) /* whatever the locale writes between the digits */
        if (s[at] >= '0' && s[at] <= '9') s[n++] = s[at];
    for (const char *p = s + at + 2; *p >= '0' && *p <= '9'; p++) e = 10 * e + (*p - '0');
    *point = 1 + (s[at + 1] == '-' ? -e : e);
    n = *point + (scale < 0 ? -scale : 0); /* of the whole number odd * 2^scale, or odd * 5^-scale */
    double bits_below = scale < 0 ? log2((double)odd) - scale * 2.32192809488736234787 : 63 - __builtin_clzll(odd) + scale;
    int bits = (int)bits_below + 1, wanted = (most * 196 + 58) / 59;
    if (bits > wanted) n -= (bits - wanted) * 59 / 196;
    while (n > 1 && s[n - 1] == '0') n--;
    if (n > most) {
        bool up = s[most] >= '5';
        n = most;
        while (up && n > 0 && s[n - 1] == '9') n--;
        if (up && n > 0) s[n - 1]++;
        else if (up) {
            s[n++] = '1';
            ++*point;
        }
    }
    while (n > 1 && s[n - 1] == '0') n--;
    memcpy(digits, s, (size_t)n);
    return n;
}

typedef struct float_kind {
    int digits; /* that name every value */
    unsigned bits;
} float_kind;

static float_kind kind_of(kiln_dtype d)
{
    switch (d) {
    case KILN_F64: return (float_kind){17, 64};
    case KILN_F32: return (float_kind){9, 32};
    case KILN_F16: return (float_kind){5, 16};
    case KILN_BF16: return (float_kind){4, 16};
    default: return (float_kind){3, 8};
    }
}

static uint64_t bits_of(kiln_dtype d, double v)
{
    uint64_t bits = 0;
    kn_scalar_store(d, &bits, 0, (kn_scalar){.f = v});
    return bits;
}

/* As MLIR writes floats: seven digits where these say it all, else as many as the type needs, else the bits. */
static void put_float(kn_text *t, kiln_dtype d, double v)
{
    float_kind k = kind_of(d);
    char s[32], text[48];
    int point, n, at = 0;
    if (!isfinite(v)) {
        kn_text_printf(t, "0x%llX", (unsigned long long)bits_of(d, v));
        return;
    }
    n = v == 0 ? (s[0] = '0', point = 1, 1) : digits_of(v, 6, s, &point);
    const char *sign = signbit(v) ? "-" : "";
    snprintf(text, sizeof text, "%s%c.%.*s%.*se%c%02d", sign, s[0], n - 1, s + 1, 7 - n, "000000", point < 1 ? '-' : '+', point < 1 ? 1 - point : point - 1);
    double back;
    const char *end = kn_read_double(text, text + strlen(text), &back);
    if (*end == 0 && bits_of(d, kn_scalar_round(d, (kn_scalar){.f = back}).f) == bits_of(d, v)) {
        kn_text_add(t, text);
        return;
    }
    n = digits_of(v, k.digits, s, &point);
    int high = point - 1; /* power of ten of the first digit */
    bool scientific = point >= n ? point - n > 3 || point > k.digits : high < -3;
    if (!scientific && point >= n) { /* would have no point */
        kn_text_printf(t, "0x%llX", (unsigned long long)bits_of(d, v));
        return;
    }
    kn_text_add(t, sign);
    if (scientific) {
        kn_text_printf(t, "%c.%.*sE%c%d", s[0], n > 1 ? n - 1 : 1, n > 1 ? s + 1 : "0", high < 0 ? '-' : '+', high < 0 ? -high : high);
        return;
    }
    if (point <= 0) {
        kn_text_add(t, "0.");
        for (at = point; at < 0; at++) kn_text_char(t, '0');
        kn_text_addn(t, s, (size_t)n);
        return;
    }
    kn_text_printf(t, "%.*s.%.*s", point, s, n - point, s + point);
}

static void put_scalar(kn_text *t, kiln_dtype d, kn_scalar v)
{
    switch (kiln_dtype_kind(d)) {
    case 'b': kn_text_add(t, v.b ? "true" : "false"); break;
    case 'i': kn_text_printf(t, "%lld", (long long)v.i); break;
    case 'u': kn_text_printf(t, "%llu", (unsigned long long)v.u); break;
    case 'c': {
        kiln_dtype part = d == KILN_C64 ? KILN_F32 : KILN_F64;
        kn_text_char(t, '(');
        put_float(t, part, v.c[0]);
        kn_text_char(t, ',');
        put_float(t, part, v.c[1]);
        kn_text_char(t, ')');
        break;
    }
    case '8': kn_text_printf(t, "0x%02llX", (unsigned long long)bits_of(d, v.f)); break; /* decimals of these would need rounding rules */
    default: put_float(t, d, v.f); break;
    }
}

static void put_nested(kn_text *t, kiln_type type, const void *data, uint32_t dim, int64_t *at)
{
    if (dim == type.rank) {
        put_scalar(t, type.dtype, kn_scalar_load(type.dtype, data, (*at)++));
        return;
    }
    kn_text_char(t, '[');
    for (int64_t i = 0; i < type.dims[dim]; i++) {
        if (i) kn_text_add(t, ", ");
        put_nested(t, type, data, dim + 1, at);
    }
    kn_text_char(t, ']');
}

static void put_hex(kn_text *t, const unsigned char *p, size_t n)
{
    static const char digits[] = "0123456789ABCDEF";
    kn_text_add(t, "\"0x");
    for (size_t i = 0; i < n; i++) {
        char pair[2] = {digits[p[i] >> 4], digits[p[i] & 15]};
        kn_text_addn(t, pair, 2);
    }
    kn_text_char(t, '"');
}

kiln_status kn_dense_text(kiln_ctx *ctx, kn_arena *arena, kiln_type type, const void *data, kn_span *out)
{
    enum { MOST_IN_DECIMAL = 100 };
    int64_t n = kiln_type_size(type), at = 0;
    size_t w = kiln_dtype_bytes(type.dtype);
    kn_text t;
    bool splat = n > 0;
    for (int64_t i = 1; splat && i < n; i++) splat = memcmp(data, (const char *)data + (size_t)i * w, w) == 0;
    kn_text_init(&t, &ctx->alloc);
    if (splat) put_scalar(&t, type.dtype, kn_scalar_load(type.dtype, data, 0));
    else if (n > MOST_IN_DECIMAL) put_hex(&t, data, (size_t)n * w);
    else if (n > 0) put_nested(&t, type, data, 0, &at);
    bool good = !t.failed;
    char *s = good ? kn_arena_textn(arena, t.n ? t.s : "", t.n) : NULL;
    *out = (kn_span){s, t.n};
    kn_text_fini(&t);
    return s ? KILN_OK : kn_nomem(ctx);
}

/* ---- constants ---- */

static uint32_t constant(kn_export *x, kiln_type t, kn_span text)
{
    kn_mop *op = kn_xop(x, "stablehlo.constant", NULL, 0, &t, 1);
    op->loc = NULL; /* a constant stands where it is needed, not where it was written */
    kn_xattr(x, op, "value", (kn_mattr){.kind = KN_MA_DENSE, .at = "", .type = kn_xtype(x, t), .text = text});
    return op->out;
}

uint32_t kn_xsplat(kn_export *x, kiln_type t, kn_scalar v)
{
    uint64_t bytes[2] = {0};
    kn_span text = {"", 0};
    kn_scalar_store(t.dtype, bytes, 0, v);
    if (x->status == KILN_OK && kiln_type_size(t) > 0) kn_xfail(x, kn_dense_text(x->ctx, x->arena, KILN_SCALAR(t.dtype), bytes, &text));
    return constant(x, t, text);
}
uint32_t kn_xscalar(kn_export *x, kiln_dtype d, kn_scalar v) { return kn_xsplat(x, KILN_SCALAR(d), v); }

uint32_t kn_xarray(kn_export *x, const kiln_array *a)
{
    kn_span text = {"", 0};
    if (x->status == KILN_OK) kn_xfail(x, kn_dense_text(x->ctx, x->arena, a->type, a->data, &text));
    return constant(x, a->type, text);
}

uint32_t kn_xints(kn_export *x, const int64_t *v, uint32_t n)
{
    kn_span text = {"", 0};
    kiln_type t = KILN_VECTOR(KILN_I64, n);
    if (x->status == KILN_OK) kn_xfail(x, kn_dense_text(x->ctx, x->arena, t, v, &text));
    return constant(x, t, text);
}

uint32_t kn_xbroadcast(kn_export *x, uint32_t value, kiln_type shape)
{
    kiln_type from = kn_xtype_of(x, value), to = shape;
    int64_t dims[KN_RANK_LIMIT];
    if (x->status != KILN_OK) return 0;
    to.dtype = from.dtype;
    if (kiln_type_equal(from, to)) return value;
    for (uint32_t d = 0; d < from.rank; d++) dims[d] = d + shape.rank - from.rank;
    kn_mop *op = kn_xop(x, "stablehlo.broadcast_in_dim", &value, 1, &to, 1);
    kn_xattr_list(x, op, "broadcast_dimensions", dims, from.rank);
    return op->out;
}

uint32_t kn_xconvert(kn_export *x, uint32_t value, kiln_dtype to)
{
    kiln_type t = kn_xtype_of(x, value);
    if (x->status != KILN_OK || t.dtype == to) return value;
    t.dtype = to;
    return kn_xop1(x, "stablehlo.convert", &value, 1, t);
}
