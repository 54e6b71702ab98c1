/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of MLIR text. */
#include "hlo/mlir.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- places ---- */

kiln_status kn_source_fail(const kn_source *s, const char *at, kiln_status code, const char *kind, const char *accepted,
                           const char *fmt, ...)
{
    char message[KILN_DIAG_TEXT], line[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    const char *end = s->text + s->n, *begin = s->text;
    if ((uintptr_t)at < (uintptr_t)begin || (uintptr_t)at > (uintptr_t)end) at = begin; /* made on the way: no place of its own */
    kn_place place = {.file = s->file, .line = 1, .line_text = line};
    for (const char *p = s->text; p < at; p++)
        if (*p == '\n') place.line++, begin = p + 1;
    int column = 1; /* in characters: the bytes that continue one do not count */
    for (const char *p = begin; p < at; p++) column += ((unsigned char)*p & 0xc0) != 0x80;
    const kn_packed *packed = s->packed;
    for (uint32_t i = 0; packed && i < packed->n; i++) {
        const char *cut = s->text + packed->run[i].at;
        if (cut >= begin && cut < at) column += (int)(2 * kiln_array_bytes(packed->run[i].bytes));
    }
    place.column = column;
    size_t n = 0;
    while (begin + n < end && begin[n] != '\n' && n < sizeof line - 1) n++;
    memcpy(line, begin, n);
    line[n] = 0;
    return kn_fail_at(s->ctx, code, kind, place, accepted, "%s", message);
}

kn_found kn_lex_found(const kn_lexer *lx)
{
    kn_found f;
    const kn_token *t = &lx->tok;
    size_t n = (size_t)(lx->at - t->at);
    if (t->kind == KN_T_END) snprintf(f.s, sizeof f.s, "the end of the text");
    else if (t->kind == KN_T_BAD) snprintf(f.s, sizeof f.s, "a string without an end");
    else if (t->kind == KN_T_CHAR && ((unsigned char)t->c < 32 || (unsigned char)t->c > 126))
        snprintf(f.s, sizeof f.s, "the byte 0x%02X", (unsigned char)t->c);
    else snprintf(f.s, sizeof f.s, "'%.*s%s'", (int)(n < 40 ? n : 40), t->at, n < 40 ? "" : "...");
    return f;
}

kiln_status kn_lex_expected(const kn_lexer *lx, const char *what)
{
    return kn_source_fail(lx->src, lx->tok.at, KILN_INVALID, "syntax", NULL, "%s was expected, found %s", what, kn_lex_found(lx).s);
}

/* ---- tokens ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
static bool in_name(char c) { return in_word(c) || c == '-'; }

void kn_lex_init(kn_lexer *lx, const kn_source *src, const char *at, const char *end, uint32_t line)
{
    *lx = (kn_lexer){.src = src, .at = at, .end = end, .line = line};
    kn_lex_next(lx);
}

static void blanks(kn_lexer *lx)
{
    const char *p = lx->at, *end = lx->end;
    for (; p < end; p++) {
        if (*p == '\n') lx->line++;
        else if (*p == '/' && p + 1 < end && p[1] == '/') {
            p = memchr(p, '\n', (size_t)(end - p));
            if (!p) p = end;
            p--; /* the loop looks at the newline itself */
        } else if (*p != ' ' && *p != '\t' && *p != '\r') break;
    }
    lx->at = p < end ? p : end;
}

static const char *run(const char *p, const char *end, bool (*in)(char))
{
    while (p < end && in(*p)) p++;
    return p;
}

/* A quoted string at p; returns behind the closing quote, or NULL. */
static const char *string(kn_lexer *lx, const char *p, kn_span *inside)
{
    const char *first = ++p, *end = lx->end;
    if (end - p > 2 && p[0] == '0' && p[1] == 'x') p = run(p + 2, end, is_hex); /* long ones are quick */
    for (; p < end; p++) {
        if (*p == '"') {
            *inside = (kn_span){first, (size_t)(p - first)};
            return p + 1;
        }
        if (*p == '\\' && p + 1 < end) p++;
        else if (*p == '\n') return NULL;
    }
    return NULL;
}

static const char *number(const char *p, const char *end, kn_token_kind *kind)
{
    *kind = KN_T_INT;
    if (*p == '-') p++;
    if (p + 2 < end && *p == '0' && p[1] == 'x' && is_hex(p[2])) return run(p + 2, end, is_hex);
    p = run(p, end, is_digit);
    if (p < end && *p == '.') {
        *kind = KN_T_FLOAT;
        p = run(p + 1, end, is_digit);
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < end && (*q == '-' || *q == '+')) q++;
        if (q < end && is_digit(*q)) {
            *kind = KN_T_FLOAT;
            p = run(q, end, is_digit);
        }
    }
    return p;
}

/* The number behind a value's name: %0#1 */
static const char *result_number(const char *p, const char *end, kn_token *t)
{
    if (p + 1 >= end || *p != '#' || !is_digit(p[1])) return p;
    uint32_t v = 0;
    for (p++; p < end && is_digit(*p); p++) v = v < 100000000 ? v * 10 + (uint32_t)(*p - '0') : v;
    t->index = v;
    t->indexed = true;
    return p;
}

static const char *named(kn_lexer *lx, const char *p, kn_token *t)
{
    char sign = *p++;
    t->kind = sign == '%' ? KN_T_VALUE : sign == '@' ? KN_T_SYMBOL : sign == '^' ? KN_T_BLOCK : sign == '#' ? KN_T_HASH : KN_T_BANG;
    if (sign == '@' && p < lx->end && *p == '"') {
        const char *q = string(lx, p, &t->text);
        if (q) return q;
        t->kind = KN_T_BAD;
        return lx->end;
    }
    const char *end = run(p, lx->end, in_name);
    if (sign == '#' || sign == '!') end = run(p, lx->end, in_word);
    t->text = (kn_span){p, (size_t)(end - p)};
    return sign == '%' ? result_number(end, lx->end, t) : end;
}

void kn_lex_next(kn_lexer *lx)
{
    lx->tail = lx->at;
    blanks(lx);
    const char *p = lx->at, *end = lx->end, *after;
    kn_token t = {.kind = KN_T_END, .at = p, .line = lx->line, .text = {p, 0}};
    if (p >= end) {
        lx->tok = t;
        return;
    }
    size_t left = (size_t)(end - p);
    char c = *p;
    if (is_letter(c)) t.kind = KN_T_WORD, after = run(p, end, in_word);
    else if (is_digit(c) || (c == '-' && left > 1 && is_digit(p[1]))) after = number(p, end, &t.kind);
    else if (c == '#' && left > 2 && p[1] == '-' && p[2] == '}') t.kind = KN_T_CLOSE_FILE, after = p + 3;
    else if (c == '{' && left > 2 && p[1] == '-' && p[2] == '#') t.kind = KN_T_OPEN_FILE, after = p + 3;
    else if (c == '-' && left > 1 && p[1] == '>') t.kind = KN_T_ARROW, after = p + 2;
    else if (c == '%' || c == '@' || c == '^' || c == '#' || c == '!') {
        lx->at = named(lx, p, &t);
        lx->tok = t;
        return;
    } else if (c == '"') {
        t.kind = KN_T_STRING;
        after = string(lx, p, &t.text);
        if (!after) t.kind = KN_T_BAD, after = end;
        lx->at = after;
        lx->tok = t;
        return;
    } else t.kind = KN_T_CHAR, t.c = c, after = p + 1;
    t.text.n = (size_t)(after - p);
    lx->at = after;
    lx->tok = t;
}

void kn_lex_at(kn_lexer *lx, const char *at)
{
    for (const char *p = lx->at; p < at; p++) {
        p = memchr(p, '\n', (size_t)(at - p));
        if (!p) break;
        lx->line++;
    }
    lx->at = at;
    kn_lex_next(lx);
}

bool kn_lex_take(kn_lexer *lx, char c)
{
    if (!kn_lex_is(lx, c)) return false;
    kn_lex_next(lx);
    return true;
}
bool kn_lex_take_word(kn_lexer *lx, const char *word)
{
    if (!kn_lex_word(lx, word)) return false;
    kn_lex_next(lx);
    return true;
}
kiln_status kn_lex_want(kn_lexer *lx, char c)
{
    char what[4] = {'\'', c, '\'', 0};
    return kn_lex_take(lx, c) ? KILN_OK : kn_lex_expected(lx, what);
}
kiln_status kn_lex_want_word(kn_lexer *lx, const char *word)
{
    char what[64];
    if (kn_lex_take_word(lx, word)) return KILN_OK;
    snprintf(what, sizeof what, "'%s'", word);
    return kn_lex_expected(lx, what);
}

kiln_status kn_lex_balanced(kn_lexer *lx, kn_span *inside)
{
    enum { DEEPEST = 256 };
    char want[DEEPEST];
    int depth = 0;
    const char *open = lx->tok.at, *p = open, *end = lx->end;
    for (; p < end; p++) {
        char c = *p;
        if (c == '"') {
            kn_span s;
            p = string(lx, p, &s);
            if (!p) return kn_source_fail(lx->src, open, KILN_INVALID, "syntax", NULL, "a string inside '%c' has no end", *open);
            p--;
            continue;
        }
        if (c == '-' && p + 1 < end && p[1] == '>') {
            p++;
            continue;
        }
        char close = c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0;
        if (close) {
            if (depth == DEEPEST) return kn_source_fail(lx->src, p, KILN_UNSUPPORTED, "unsupported", NULL, "brackets are nested deeper than %d", DEEPEST);
            want[depth++] = close;
        } else if (c == '>' || c == ')' || c == ']' || c == '}') {
            if (want[depth - 1] != c)
                return kn_source_fail(lx->src, p, KILN_INVALID, "syntax", NULL, "'%c' was expected to close a bracket, found '%c'", want[depth - 1], c);
            if (--depth == 0) {
                *inside = (kn_span){open + 1, (size_t)(p - open - 1)};
                kn_lex_at(lx, p + 1);
                return KILN_OK;
            }
        }
    }
    return kn_source_fail(lx->src, open, KILN_INVALID, "syntax", NULL, "the text ends inside '%c'", *open);
}

bool kn_lex_integer(kn_span text, uint64_t *bits, bool *negative, bool *hex)
{
    const char *p = text.s, *end = p + text.n;
    uint64_t v = 0;
    *negative = p < end && *p == '-';
    if (*negative) p++;
    *hex = end - p > 2 && p[0] == '0' && p[1] == 'x';
    if (*hex) p += 2;
    for (; p < end; p++) {
        char c = *p;
        unsigned d = is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
        if (__builtin_mul_overflow(v, *hex ? 16u : 10u, &v) || __builtin_add_overflow(v, d, &v)) return false;
    }
    if (*negative && v > (uint64_t)1 << 63) return false;
    *bits = *negative ? 0 - v : v;
    return true;
}
