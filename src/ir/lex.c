/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/parse.h"

#include <stdarg.h>
#include <stdio.h>

void kn_skip(kn_parser *p)
{
    for (; p->c.at < p->end; p->c.at++) {
        char c = *p->c.at;
        if (c == '\n') {
            p->c.line++;
            p->c.line_start = p->c.at + 1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            break;
        }
    }
}

bool kn_take(kn_parser *p, char c)
{
    kn_skip(p);
    if (kn_peek(p) != c || p->c.at == p->end) return false;
    p->c.at++;
    return true;
}

static bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }

kn_word kn_peek_name(const kn_parser *p)
{
    const char *s = p->c.at, *q = s;
    while (q < p->end && (is_name(*q) || (*q == '-' && q > s && q + 1 < p->end && is_name(q[1])))) q++;
    /* a full stop ends the binders: it belongs to no name */
    while (q > s && q[-1] == '.') q--;
    return (kn_word){s, (size_t)(q - s)};
}

kn_word kn_read_name(kn_parser *p)
{
    kn_skip(p);
    kn_word w = kn_peek_name(p);
    p->c.at += w.n;
    return w;
}

bool kn_word_is(kn_word w, const char *s) { return strlen(s) == w.n && memcmp(w.s, s, w.n) == 0; }

bool kn_take_word(kn_parser *p, const char *word)
{
    kn_skip(p);
    kn_word w = kn_peek_name(p);
    if (!kn_word_is(w, word)) return false;
    p->c.at += w.n;
    return true;
}

bool kn_skip_balanced(kn_parser *p)
{
    size_t depth = 0;
    for (; p->c.at < p->end; p->c.at++) {
        char c = *p->c.at;
        if (c == '\n') {
            p->c.line++;
            p->c.line_start = p->c.at + 1;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            p->c.at++;
            return true;
        }
    }
    return false;
}

static kn_place place_of(const kn_parser *p, const char *at)
{
    kn_place place = {.file = p->file, .line = 1, .column = 1};
    if (at == p->end) /* what is missing is missing behind the last word */
        while (at > p->text && (at[-1] == '\n' || at[-1] == ' ' || at[-1] == '\t' || at[-1] == '\r')) at--;
    for (const char *s = p->text; s < at; s++) {
        if (*s == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)*s & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

/* The text as the diagnostics want it, ended by 0; NULL when memory is short (then there is no excerpt). */
static char *ended_copy(const kn_parser *p)
{
    size_t n = (size_t)(p->end - p->text);
    char *s = kn_new(&p->ctx->alloc, n + 1);
    if (s) memcpy(s, p->text, n);
    return s;
}

kiln_status kn_syntax(kn_parser *p, const char *at, const char *kind, const char *accepted, const char *fmt, ...)
{
    char message[KILN_DIAG_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    kn_place place = place_of(p, at);
    char *copy = ended_copy(p);
    place.text = copy;
    bool unsupported = strcmp(kind, "unsupported") == 0;
    kiln_status status = kn_fail_at(p->ctx, unsupported ? KILN_UNSUPPORTED : KILN_INVALID, kind, place, accepted, "%s", message);
    if (copy) kn_free(&p->ctx->alloc, copy, (size_t)(p->end - p->text) + 1);
    return status;
}

kiln_status kn_locate(kn_parser *p, const char *at, kiln_status status)
{
    const kiln_diag *d = &p->ctx->error;
    if (status == KILN_OK || status == KILN_NOMEM || status == KILN_INTERNAL || d->line > 0) return status;
    char message[KILN_DIAG_TEXT];
    snprintf(message, sizeof message, "%s", d->message);
    kn_syntax(p, at, status == KILN_UNSUPPORTED ? "unsupported" : "type", NULL, "%s", message);
    p->ctx->error.code = status;
    return status;
}
