/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes in programs: whole numbers, and what depends on the one that is given when the program runs. */
#include "array/size.h"
#include "ir/parse.h"

enum { MOST_NAME = 40 };

static bool is_digit(const kn_parser *p, const char *q) { return q < p->end && *q >= '0' && *q <= '9'; }

static bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static const char *blanks(const kn_parser *p, const char *q)
{
    while (q < p->end && *q == ' ') q++;
    return q;
}

static kiln_status digits(kn_parser *p, int64_t *out)
{
    const char *first = p->c.at;
    for (*out = 0; is_digit(p, p->c.at); p->c.at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *p->c.at - '0', out))
            return kn_syntax(p, first, "syntax", NULL, "a dimension does not fit in 63 bits");
    return KILN_OK;
}

static kn_word name_here(const kn_parser *p, const char *q)
{
    const char *s = q;
    if (q == p->end || !starts_name(*q)) return (kn_word){s, 0};
    while (q < p->end && (starts_name(*q) || is_digit(p, q))) q++;
    return (kn_word){s, (size_t)(q - s)};
}

static bool same(kn_word a, kn_word b) { return a.n == b.n && memcmp(a.s, b.s, a.n) == 0; }

static kiln_status known(kn_parser *p, bool declares, kn_word name)
{
    if (!p->size.n && declares) p->size = name;
    if (same(name, p->size)) return KILN_OK;
    int n = name.n < MOST_NAME ? (int)name.n : MOST_NAME, m = p->size.n < MOST_NAME ? (int)p->size.n : MOST_NAME;
    return kn_syntax(p, name.s, "unsupported", "one size that is given at run time, and whole numbers", "a second size '%.*s' beside '%.*s'", n, name.s,
                     m, p->size.s);
}

/* number | name | number*name | name*number */
static kiln_status product(kn_parser *p, bool declares, int64_t *factor, int64_t *summand)
{
    int64_t times = 1;
    bool number = is_digit(p, p->c.at);
    *factor = *summand = 0;
    if (number) {
        KILN_TRY(digits(p, &times));
        if (p->c.at == p->end || *p->c.at != '*' || !name_here(p, p->c.at + 1).n) {
            *summand = times;
            return KILN_OK;
        }
        p->c.at++;
    }
    kn_word name = name_here(p, p->c.at);
    KILN_TRY(known(p, declares, name));
    p->c.at += name.n;
    if (!number && p->c.at < p->end && *p->c.at == '*' && is_digit(p, p->c.at + 1)) {
        p->c.at++;
        KILN_TRY(digits(p, &times));
    }
    *factor = times;
    return KILN_OK;
}

/* Is this a number alone, or the name of the size, and no other word? */
static bool size_follows(const kn_parser *p, bool declares)
{
    const char *q = p->c.at;
    while (is_digit(p, q)) q++;
    if (declares && q > p->c.at) return true;
    if (q > p->c.at && (q == p->end || *q++ != '*')) return false;
    kn_word name = name_here(p, q);
    return name.n && (declares || same(name, p->size));
}

kiln_status kn_parse_size(kn_parser *p, bool declares, bool *found, int64_t *out)
{
    const char *start = p->c.at;
    int64_t a = 0, b = 0, factor, summand, x, y;
    *out = 0;
    *found = size_follows(p, declares);
    if (!*found) return KILN_OK;
    for (int sign = 1;;) {
        KILN_TRY(product(p, declares, &factor, &summand));
        bool fits = !__builtin_add_overflow(a, sign * factor, &a) && !__builtin_add_overflow(b, sign * summand, &b);
        if (!fits) return kn_syntax(p, start, "syntax", NULL, "a dimension does not fit in 63 bits");
        const char *q = blanks(p, p->c.at);
        if (q == p->end || (*q != '+' && *q != '-')) break;
        const char *next = blanks(p, q + 1);
        if (next == p->end || (!is_digit(p, next) && !name_here(p, next).n)) break;
        sign = *q == '+' ? 1 : -1;
        p->c.at = next;
    }
    if (a == 0) return *out = b, KILN_OK;
    if (a < -KN_SIZE_MOST_FACTOR || a > KN_SIZE_MOST_FACTOR || b < -KN_SIZE_MOST_SUMMAND || b > KN_SIZE_MOST_SUMMAND ||
        __builtin_mul_overflow(a, KILN_DIM_N, &x) || __builtin_add_overflow(x, b, &y))
        return kn_syntax(p, start, "syntax", NULL, "a dimension does not fit in 63 bits");
    *out = y;
    return KILN_OK;
}
