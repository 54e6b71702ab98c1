/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ctx.h"

#include "base/cpu.h"
#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *kiln_status_name(kiln_status code)
{
    switch (code) {
#define NAME(name, text)                                                                           \
    case KILN_##name: return #name;
        KILN_STATUS_LIST(NAME)
#undef NAME
    }
    return "?";
}

const char *kiln_version(void) { return KILN_VERSION_STRING; }

static void copy_text(char *out, size_t size, const char *s)
{
    snprintf(out, size, "%s", s ? s : "");
}

static bool pick_target(kiln_ctx *c, const char *name)
{
    const char *native = kn_cpu_target();
    if (!name || !*name || strcmp(name, "native") == 0) name = native;
    if (!kn_target_find(name)) return false;
    copy_text(c->target, sizeof c->target, name);
    return true;
}

static bool pick_tier(kiln_ctx *c, const char *name)
{
    if (!name || !*name || strcmp(name, "auto") == 0) c->tier = -1;
    else if (strcmp(name, "0") == 0) c->tier = 0;
    else if (strcmp(name, "2") == 0) c->tier = 2;
    else return false;
    return true;
}

static bool pick_threads(kiln_ctx *c, unsigned wanted, const char *name)
{
    c->threads = wanted;
    if (wanted || !name || !*name) return wanted <= KILN_MOST_THREADS;
    char *end;
    unsigned long n = strtoul(name, &end, 10);
    c->threads = (unsigned)n;
    return *name >= '0' && *name <= '9' && !*end && n >= 1 && n <= KILN_MOST_THREADS;
}

static bool pick_fast(kiln_ctx *c, const char *text) { return !text || !*text || kiln_fast_read(text, &c->fast) == KILN_OK; }

static void pick_cache(kn_cache_place *p)
{
    const char *variable = getenv("KILN_CACHE"), *home = getenv("HOME");
    int n = snprintf(p->variable, sizeof p->variable, "%s", variable ? variable : "");
    if (n < 0 || (size_t)n >= sizeof p->variable) p->off = true; /* no folder is better than another one */
    n = home && *home ? snprintf(p->usual, sizeof p->usual, "%s/.cache/kiln", home) : 0;
    if (n < 0 || (size_t)n >= sizeof p->usual) p->usual[0] = 0;
    p->most_bytes = KILN_CACHE_MOST_BYTES;
}

kiln_status kiln_ctx_create(const kiln_ctx_opts *opts, kiln_ctx **out)
{
    kiln_ctx_opts o = {0};
    if (opts) memcpy(&o, opts, opts->size && opts->size < sizeof o ? opts->size : sizeof o);
    kn_alloc alloc = o.alloc ? (kn_alloc){o.alloc, o.alloc_ud} : kn_alloc_default;
    *out = NULL;
    kiln_ctx *c = kn_new(&alloc, sizeof *c);
    if (!c) return KILN_NOMEM;
    c->alloc = alloc;
    c->io = &kn_io_default;
    c->warn = o.warn;
    c->warn_ud = o.warn_ud;
    copy_text(c->dump_dir, sizeof c->dump_dir, o.dump_dir ? o.dump_dir : getenv("KILN_DUMP"));
    copy_text(c->lib_dir, sizeof c->lib_dir, getenv("KILN_LIBDIR"));
    pick_cache(&c->cache);
    bool ok = pick_target(c, o.target ? o.target : getenv("KILN_TARGET"));
    if (o.tier_set) {
        ok = ok && (o.tier == 0 || o.tier == 2 || o.tier == -1);
        c->tier = o.tier;
    } else {
        ok = ok && pick_tier(c, getenv("KILN_TIER"));
    }
    ok = ok && pick_fast(c, o.fast ? o.fast : getenv("KILN_FAST"));
    ok = ok && pick_threads(c, o.threads, getenv("KILN_THREADS"));
    if (!ok) {
        kiln_ctx_release(c);
        return KILN_INVALID;
    }
    *out = c;
    return KILN_OK;
}

void kiln_ctx_release(kiln_ctx *ctx)
{
    if (!ctx) return;
    kn_alloc a = ctx->alloc;
    if (ctx->leave_pool) ctx->leave_pool();
    kn_free(&a, ctx, sizeof *ctx);
}

const kiln_diag *kiln_ctx_error(const kiln_ctx *ctx) { return &ctx->error; }

/* The line of `text` that holds the place; of a long line the part around the column. Columns count characters. */
static void excerpt(kiln_diag *d, kn_place at)
{
    enum { LONG = 160, BEFORE = 60 };
    static const char cut[] = "...";
    d->excerpt[0] = 0;
    const char *p = at.line_text ? at.line_text : at.text;
    if (!p || at.line <= 0) return;
    for (int l = 1; l < at.line && p && !at.line_text; l++) {
        p = strchr(p, '\n');
        if (p) p++;
    }
    if (!p) return;
    size_t n = strcspn(p, "\r\n"), k = 0;
    d->caret = at.column;
    if (n > LONG && at.column > BEFORE) {
        for (int skip = at.column - BEFORE; skip > 0 && n > 0; skip--)
            do p++, n--;
            while (n > 0 && ((unsigned char)*p & 0xc0) == 0x80);
        memcpy(d->excerpt, cut, k = sizeof cut - 1);
        d->caret = BEFORE + (int)k;
    }
    size_t room = n > LONG ? LONG : n;
    while (room > 0 && room < n && ((unsigned char)p[room] & 0xc0) == 0x80) room--; /* whole characters */
    if (room > sizeof d->excerpt - k - sizeof cut) room = sizeof d->excerpt - k - sizeof cut;
    memcpy(d->excerpt + k, p, room);
    k += room;
    d->excerpt[k] = 0;
    if (room < n) memcpy(d->excerpt + k, cut, sizeof cut);
    for (size_t i = 0; i < k; i++)
        if (d->excerpt[i] == '\t') d->excerpt[i] = ' ';
}

static void set_place(kiln_diag *d, const char *kind, kn_place at, const char *accepted)
{
    copy_text(d->kind, sizeof d->kind, kind);
    copy_text(d->file, sizeof d->file, at.file);
    d->line = at.line;
    d->column = at.column;
    excerpt(d, at);
    copy_text(d->accepted, sizeof d->accepted, accepted);
}

kiln_status kn_fail(kiln_ctx *ctx, kiln_status code, const char *fmt, ...)
{
    kiln_diag *d = &ctx->error;
    memset(d, 0, sizeof *d);
    d->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->message, sizeof d->message, fmt, ap);
    va_end(ap);
    return code;
}

kiln_status kn_fail_at(kiln_ctx *ctx, kiln_status code, const char *kind, kn_place at, const char *accepted, const char *fmt,
                       ...)
{
    kiln_diag *d = &ctx->error;
    memset(d, 0, sizeof *d);
    d->code = code;
    set_place(d, kind, at, accepted);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->message, sizeof d->message, fmt, ap);
    va_end(ap);
    return code;
}

void kn_warn_at(kiln_ctx *ctx, const char *kind, kn_place at, const char *fmt, ...)
{
    if (!ctx->warn) return;
    kiln_diag d = {.code = KILN_OK};
    set_place(&d, kind, at, NULL);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d.message, sizeof d.message, fmt, ap);
    va_end(ap);
    ctx->warn(ctx->warn_ud, &d);
}

kiln_status kn_nomem(kiln_ctx *ctx) { return kn_fail(ctx, KILN_NOMEM, "out of memory"); }

void kn_note(kiln_ctx *ctx, const char *fmt, ...)
{
    kiln_diag *d = &ctx->error;
    if (d->n_notes >= KILN_DIAG_NOTES) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->notes[d->n_notes++], sizeof d->notes[0], fmt, ap);
    va_end(ap);
}

/* Appends like snprintf to a text of `size` bytes whose length so far is *n. */
static void append(char *out, size_t size, size_t *n, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void append(char *out, size_t size, size_t *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(*n < size ? out + *n : NULL, *n < size ? size - *n : 0, fmt, ap);
    va_end(ap);
    if (k > 0) *n += (size_t)k;
}

size_t kiln_diag_format(const kiln_diag *d, char *out, size_t out_bytes)
{
    size_t n = 0;
    if (d->file[0]) append(out, out_bytes, &n, "%s:", d->file);
    if (d->line > 0) append(out, out_bytes, &n, "%d:", d->line);
    if (d->line > 0 && d->column > 0) append(out, out_bytes, &n, "%d:", d->column);
    append(out, out_bytes, &n, "%s%s: %s", n ? " " : "", d->code == KILN_OK ? "warning" : "error", d->message);
    if (d->kind[0]) append(out, out_bytes, &n, " [%s]", d->kind);
    if (d->excerpt[0]) {
        append(out, out_bytes, &n, "\n  %s", d->excerpt);
        int caret = d->caret > 0 ? d->caret : d->column;
        if (caret > 0) append(out, out_bytes, &n, "\n  %*s^", caret - 1, "");
    }
    if (d->accepted[0]) append(out, out_bytes, &n, "\n  accepted: %s", d->accepted);
    for (int i = 0; i < d->n_notes; i++) append(out, out_bytes, &n, "\n  note: %s", d->notes[i]);
    return n;
}
