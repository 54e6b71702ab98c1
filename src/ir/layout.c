/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/layout.h"

enum { TEXT, BREAK, OPEN, CLOSE, NEST };

void kn_layout_init(kn_layout *l, const kn_alloc *alloc, size_t width, kn_text *out)
{
    *l = (kn_layout){.out = out, .width = width ? width : SIZE_MAX};
    kn_arena_init(&l->arena, alloc);
    kn_text_init(&l->held, alloc);
}

bool kn_layout_fini(kn_layout *l)
{
    bool ok = !l->failed && !l->held.failed && !l->out->failed;
    kn_text_fini(&l->held);
    kn_arena_fini(&l->arena);
    return ok;
}

/* Columns of a text: characters, not bytes. */
static size_t columns(const char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += ((unsigned char)s[i] & 0xc0) != 0x80;
    return k;
}

static bool flat_now(const kn_layout *l) { return l->modes.n && !l->modes.v[l->modes.n - 1]; }

static void emit(kn_layout *l, const char *s, size_t n)
{
    kn_text_addn(l->out, s, n);
    l->column += columns(s, n);
}

static void emit_line(kn_layout *l)
{
    static const char blanks[] = "                                                                ";
    kn_text_char(l->out, '\n');
    for (int k = l->indent; k > 0; k -= (int)sizeof blanks - 1)
        kn_text_addn(l->out, blanks, k < (int)sizeof blanks - 1 ? (size_t)k : sizeof blanks - 1);
    l->column = (size_t)(l->indent > 0 ? l->indent : 0);
}

/* Is the group to be broken? False in *known: more of the document is needed. */
static bool broken(const kn_layout *l, const kn_layout_token *t, bool *known)
{
    *known = true;
    if (l->width == SIZE_MAX) return false;
    if (l->column > l->width) return true;
    size_t room = l->width - l->column;
    if (t->flat != SIZE_MAX) return t->flat > room;
    if (l->held_columns - t->start > room) return true;
    *known = false;
    return false;
}

/* Prints what can be decided. */
static void advance(kn_layout *l)
{
    while (l->head < l->queue.n && !l->failed) {
        const kn_layout_token *t = &l->queue.v[l->head];
        bool known = true, mode = false;
        switch (t->kind) {
        case TEXT: emit(l, l->held.s + t->at, t->n); break;
        case BREAK:
            if (flat_now(l)) emit(l, l->held.s + t->at, t->n);
            else emit_line(l);
            break;
        case OPEN:
            if (!flat_now(l)) mode = broken(l, t, &known);
            if (!known) return;
            if (!kn_push(&l->arena, &l->modes, mode)) l->failed = true;
            break;
        case CLOSE: l->modes.n--; break;
        case NEST: l->indent += t->by; break;
        }
        l->head++;
    }
    if (l->head < l->queue.n) return;
    l->passed += l->queue.n;
    l->queue.n = l->head = 0;
    l->held.n = 0;
}

static kn_layout_token *hold(kn_layout *l, kn_layout_token t)
{
    if (l->failed || !kn_push(&l->arena, &l->queue, t)) {
        l->failed = true;
        return NULL;
    }
    return &l->queue.v[l->queue.n - 1];
}

static void hold_text(kn_layout *l, unsigned char kind, const char *s, size_t n)
{
    kn_layout_token t = {.kind = kind, .at = l->held.n, .n = n};
    kn_text_addn(&l->held, s, n);
    if (l->held.failed) l->failed = true;
    l->held_columns += columns(s, n);
    hold(l, t);
    advance(l);
}

void kn_layout_text(kn_layout *l, const char *s, size_t n)
{
    if (l->muted) return;
    if (l->queue.n == 0) emit(l, s, n); /* nothing waits */
    else hold_text(l, TEXT, s, n);
}

void kn_layout_word(kn_layout *l, const char *s) { kn_layout_text(l, s, strlen(s)); }
void kn_layout_break(kn_layout *l, const char *flat)
{
    if (!l->muted) hold_text(l, BREAK, flat, strlen(flat));
}

void kn_layout_open(kn_layout *l)
{
    if (l->muted) return;
    if (!kn_push(&l->arena, &l->open, l->passed + l->queue.n)) l->failed = true;
    hold(l, (kn_layout_token){.kind = OPEN, .start = l->held_columns, .flat = SIZE_MAX});
    advance(l);
}

void kn_layout_close(kn_layout *l)
{
    if (l->failed || l->muted) return;
    size_t number = l->open.v[--l->open.n];
    if (number >= l->passed) {
        kn_layout_token *t = &l->queue.v[number - l->passed];
        t->flat = l->held_columns - t->start;
    }
    hold(l, (kn_layout_token){.kind = CLOSE});
    advance(l);
}

void kn_layout_nest(kn_layout *l, int by)
{
    if (l->muted) return;
    hold(l, (kn_layout_token){.kind = NEST, .by = by});
    advance(l);
}
