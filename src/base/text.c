/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/fpmode.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void kn_text_init(kn_text *t, const kn_alloc *alloc) { *t = (kn_text){.alloc = alloc ? *alloc : kn_alloc_default}; }

void kn_text_fini(kn_text *t)
{
    if (t->cap) kn_free(&t->alloc, t->s, t->cap);
    *t = (kn_text){.alloc = t->alloc};
}

static bool reserve(kn_text *t, size_t extra)
{
    if (t->failed) return false;
    size_t need;
    if (!kn_add_size(t->n, extra, &need) || !kn_add_size(need, 1, &need)) return !(t->failed = true);
    if (need <= t->cap) return true;
    size_t cap = t->cap ? t->cap * 2 : 256;
    if (cap < need) cap = need;
    char *s = t->alloc.fn(t->alloc.ud, t->cap ? t->s : NULL, t->cap, cap, 16);
    if (!s) return !(t->failed = true);
    t->s = s;
    t->cap = cap;
    return true;
}

void kn_text_addn(kn_text *t, const char *s, size_t n)
{
    if (!reserve(t, n)) return;
    if (n) memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void kn_text_add(kn_text *t, const char *s) { kn_text_addn(t, s, strlen(s)); }
void kn_text_char(kn_text *t, char c) { kn_text_addn(t, &c, 1); }

void kn_text_printf(kn_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(t, (size_t)n)) return;
    va_start(ap, fmt);
    vsnprintf(t->s + t->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)n;
}

/* The C library rounds decimal digits as the caller's mode says; on x86-64 it asks the x87 unit. */
typedef struct text_mode {
    uint32_t caller;
    int rounding;
} text_mode;

static text_mode text_mode_enter(void)
{
    text_mode m = {kn_fpmode_get(), fegetround()};
    if (m.rounding != FE_TONEAREST) fesetround(FE_TONEAREST);
    kn_fpmode_enter();
    return m;
}
static void text_mode_leave(text_mode m)
{
    if (m.rounding != FE_TONEAREST) fesetround(m.rounding);
    kn_fpmode_leave((kn_fpmode){m.caller, kn_fpmode_get() != m.caller});
}

/* The host may have set any locale: the decimal point is put back. */
static void point(char *s)
{
    const char *p = localeconv()->decimal_point;
    if (p[0] == '.' && p[1] == 0) return;
    char *at = strstr(s, p);
    if (!at) return;
    *at = '.';
    memmove(at + 1, at + strlen(p), strlen(at + strlen(p)) + 1);
}

static size_t repr(double v, bool as_float, char out[40])
{
    if (isnan(v)) return (size_t)snprintf(out, 40, "nan");
    if (isinf(v)) return (size_t)snprintf(out, 40, v < 0 ? "-inf" : "inf");
    char digits[40];
    int precision = 0;
    for (; precision < 17; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, v);
        double back = strtod(digits, NULL);
        if ((as_float ? (double)(float)back : back) == v) break;
    }
    point(digits);
    char *e = strchr(digits, 'e');
    int exponent = atoi(e + 1);
    if (exponent < -4 || exponent >= 16) {
        *e = 0;
        return (size_t)snprintf(out, 40, "%se%s%02d", digits, exponent < 0 ? "-" : "+", abs(exponent));
    }
    int decimals = precision > exponent ? precision - exponent : 1;
    size_t n = (size_t)snprintf(out, 40, "%.*f", decimals, v);
    point(out);
    return n;
}

size_t kn_double_repr(double v, char out[40])
{
    text_mode mode = text_mode_enter();
    size_t n = repr(v, false, out);
    text_mode_leave(mode);
    return n;
}

void kn_text_float(kn_text *t, float v)
{
    char s[40];
    text_mode mode = text_mode_enter();
    kn_text_addn(t, s, repr(v, true, s));
    text_mode_leave(mode);
}

void kn_text_double(kn_text *t, double v)
{
    char s[40];
    kn_text_addn(t, s, kn_double_repr(v, s));
}

static bool digit(const char *s, const char *end) { return s < end && *s >= '0' && *s <= '9'; }

/* A number as it is read: its digits without leading zeros, times a power of ten. */
enum { MOST_DIGITS = 800, MOST_EXPONENT = 1 << 20 };
typedef struct decimal {
    char text[MOST_DIGITS + 32]; /* digits, then the exponent */
    size_t n;
    long exponent;
} decimal;

static void add_digit(decimal *d, char c, bool fraction)
{
    if (d->n == 0 && c == '0') {
        d->exponent -= fraction;
    } else if (d->n < MOST_DIGITS) {
        d->text[d->n++] = c;
        d->exponent -= fraction;
    } else { /* so far behind, all that counts is whether there is something: 768 digits tell any double from its neighbour */
        if (c != '0') d->text[d->n - 1] = '1';
        d->exponent += !fraction;
    }
}

/* Without a decimal point, so that the host's locale does not matter. */
static double nearest_double(decimal *d, bool negative)
{
    if (d->n == 0) return negative ? -0.0 : 0.0;
    long e = d->exponent < -MOST_EXPONENT ? -MOST_EXPONENT : d->exponent > MOST_EXPONENT ? MOST_EXPONENT : d->exponent;
    snprintf(d->text + d->n, sizeof d->text - d->n, "e%ld", e);
    text_mode mode = text_mode_enter();
    double v = strtod(d->text, NULL);
    text_mode_leave(mode);
    return negative ? -v : v;
}

const char *kn_read_double(const char *s, const char *end, double *out)
{
    decimal d;
    d.n = 0, d.exponent = 0;
    const char *p = s;
    bool negative = p < end && *p == '-', any = false;
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (; digit(p, end); p++, any = true) add_digit(&d, *p, false);
    if (p < end && *p == '.')
        for (p++; digit(p, end); p++, any = true) add_digit(&d, *p, true);
    if (!any) return s;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        bool minus = q < end && *q == '-';
        long e = 0;
        if (q < end && (*q == '-' || *q == '+')) q++;
        if (digit(q, end)) {
            for (; digit(q, end); q++) e = e < MOST_EXPONENT ? e * 10 + (*q - '0') : e;
            d.exponent += minus ? -e : e;
            p = q;
        }
    }
    *out = nearest_double(&d, negative);
    return p;
}

/* Edit distance in which two neighbours that swapped places count once. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 48 };
    size_t n = strlen(a), m = strlen(b), rows[3][MOST + 1];
    if (n > MOST || m > MOST) return MOST;
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *reuse = before;
        before = last;
        last = row;
        row = reuse;
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

const char *kn_nearest(const char *word, const char *const *names, size_t n)
{
    size_t best = 3;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (d < best && (d * 2 <= strlen(word) || d == 1)) {
            best = d;
            found = names[i];
        }
    }
    return found;
}
