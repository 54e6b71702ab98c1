/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "hlo/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "hlo/hlo.h"

enum { CHUNK = 1 << 20, ALIGN = 64, HEADER = 8 /* digits of a resource's alignment */ };

/* The bytes of one run; they live as long as an array uses them. */
typedef struct blob {
    kn_alloc alloc;
    unsigned char *data;
    size_t n, cap;
} blob;

typedef struct reader {
    kiln_ctx *ctx;
    kn_packed *out;
    bool packs;
    size_t seen; /* of the text: all that can begin a run before it has been looked at */
    blob *open;  /* the run that the text ends in; NULL outside */
    size_t left; /* bytes of the file that are not read yet, as far as its size is known */
} reader;

/* ---- digits ---- */

/* 16 and more: no digit. */
static const unsigned char digit[256] = {
#define NONE4 16, 16, 16, 16
#define NONE16 NONE4, NONE4, NONE4, NONE4
#define LETTERS 16, 10, 11, 12, 13, 14, 15, 16, NONE4, NONE4
    NONE16, NONE16, NONE16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 16, NONE4, LETTERS, NONE16, LETTERS, NONE16,
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16,
};

bool kn_hex_bytes(const char *digits, size_t n, unsigned char *to)
{
    const unsigned char *p = (const unsigned char *)digits;
    unsigned all = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned hi = digit[p[2 * i]], lo = digit[p[2 * i + 1]];
        all |= hi | lo;
        to[i] = (unsigned char)(hi << 4 | lo);
    }
    return all < 16;
}

static size_t digits_at(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && digit[(unsigned char)s[k]] < 16) k++;
    return k;
}

/* ---- runs ---- */

static void blob_free(void *ud, void *data)
{
    blob *b = ud;
    kn_alloc alloc = b->alloc;
    kn_free_aligned(&alloc, data, b->cap, ALIGN);
    kn_free(&alloc, b, sizeof *b);
}

static bool blob_resize(blob *b, size_t cap)
{
    unsigned char *to = kn_new_aligned(&b->alloc, cap, ALIGN);
    if (!to) return false;
    memcpy(to, b->data, b->n);
    kn_free_aligned(&b->alloc, b->data, b->cap, ALIGN);
    b->data = to;
    b->cap = cap;
    return true;
}

/* Room for what the rest of the file can hold, which costs nothing before it is touched; of a pipe for what has come. */
static kiln_status begin_run(reader *r, size_t at)
{
    kn_packed *o = r->out;
    const kn_alloc *alloc = &r->ctx->alloc;
    if (o->n == o->cap) {
        uint32_t cap = o->cap ? 2 * o->cap : 8;
        kn_hex_run *to = kn_new(alloc, cap * sizeof *to);
        KILN_TRY_MEM(r->ctx, to);
        if (o->n) memcpy(to, o->run, o->n * sizeof *to);
        kn_free(alloc, o->run, o->cap * sizeof *to);
        o->run = to;
        o->cap = cap;
    }
    blob *b = kn_new(alloc, sizeof *b);
    KILN_TRY_MEM(r->ctx, b);
    *b = (blob){.alloc = *alloc, .cap = (o->text.n - at + r->left) / 2 + 1};
    b->data = kn_new_aligned(alloc, b->cap, ALIGN);
    if (!b->data) {
        kn_free(alloc, b, sizeof *b);
        return kn_nomem(r->ctx);
    }
    r->open = b;
    o->run[o->n] = (kn_hex_run){.at = at};
    return KILN_OK;
}

static kiln_status end_run(reader *r)
{
    kn_packed *o = r->out;
    blob *b = r->open;
    if (b->cap / 2 > b->n) KILN_TRY_MEM(r->ctx, blob_resize(b, b->n));
    kiln_type type = KILN_VECTOR(KILN_U8, (int64_t)b->n);
    KILN_TRY(kiln_array_wrap(r->ctx, type, b->data, blob_free, b, &o->run[o->n].bytes));
    o->n++;
    r->open = NULL;
    return KILN_OK;
}

/* Moves pairs of digits from the place of the open run into it; *ended when something else stands there now. */
static kiln_status go_on(reader *r, bool *ended)
{
    kn_bytes *t = &r->out->text;
    blob *b = r->open;
    char *s = t->s + r->out->run[r->out->n].at;
    size_t have = t->n - (size_t)(s - t->s), k = digits_at(s, have), pairs = k / 2;
    if (b->n + pairs > b->cap) KILN_TRY_MEM(r->ctx, blob_resize(b, 2 * b->cap > b->n + pairs ? 2 * b->cap : b->n + pairs));
    kn_hex_bytes(s, pairs, b->data + b->n);
    b->n += pairs;
    memmove(s, s + 2 * pairs, have - 2 * pairs);
    t->n -= 2 * pairs;
    *ended = k < have;
    return KILN_OK;
}

/* The digits of a constant, or of a resource behind its alignment: where they begin. */
static const char *run_begin(const char *text, const char *quote)
{
    if (quote - text >= 6 && memcmp(quote - 6, "dense<", 6) == 0) return quote + 3;
    return quote - text >= 2 && memcmp(quote - 2, ": ", 2) == 0 ? quote + 3 + HEADER : NULL;
}

/* Packs what the text has got since the last time. */
static kiln_status pack(reader *r)
{
    kn_bytes *t = &r->out->text;
    for (;;) {
        if (r->open) {
            bool ended = false;
            KILN_TRY(go_on(r, &ended));
            if (!ended) return KILN_OK;
            r->seen = r->out->run[r->out->n].at;
            KILN_TRY(end_run(r));
        }
        const char *quote = t->n > r->seen ? memmem(t->s + r->seen, t->n - r->seen, "\"0x", 3) : NULL;
        if (!quote) {
            if (t->n > r->seen + 2) r->seen = t->n - 2; /* the mark may begin in what is there */
            return KILN_OK;
        }
        const char *begin = run_begin(t->s, quote), *first = quote + 3;
        size_t k = digits_at(first, t->n - (size_t)(first - t->s));
        if (begin && k < KN_HEX_LONG && first + k == t->s + t->n) {
            r->seen = (size_t)(quote - t->s);
            return KILN_OK; /* more digits may come */
        }
        if (begin && k >= KN_HEX_LONG) KILN_TRY(begin_run(r, (size_t)(begin - t->s)));
        else r->seen = (size_t)(first + k - t->s);
    }
}

/* ---- the file ---- */

static kiln_status read_all(reader *r, int fd, const char *name)
{
    bool more = true;
    for (bool first = true; more; first = false) {
        size_t before = r->out->text.n;
        KILN_TRY(kn_file_read_more(r->ctx, fd, name, CHUNK, &r->out->text, &more));
        size_t got = r->out->text.n - before;
        r->left = r->left > got ? r->left - got : 0;
        if (first) r->packs = kn_hlo_is(r->out->text.s, r->out->text.n);
        if (r->packs) KILN_TRY(pack(r));
    }
    if (r->open) KILN_TRY(end_run(r));
    r->out->text.s[r->out->text.n] = 0;
    return KILN_OK;
}

kiln_status kn_packed_read_fd(kiln_ctx *ctx, int fd, const char *name, kn_packed *out)
{
    struct stat st;
    *out = (kn_packed){0};
    reader r = {.ctx = ctx, .out = out};
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) r.left = (size_t)st.st_size;
    kiln_status s = kn_file_read_room(ctx, r.left, &out->text);
    if (s == KILN_OK) s = read_all(&r, fd, name);
    if (s == KILN_OK) return s;
    if (r.open) blob_free(r.open, r.open->data);
    kn_packed_free(ctx, out);
    return s;
}

kiln_status kn_packed_read(kiln_ctx *ctx, const char *path, kn_packed *out)
{
    int fd;
    *out = (kn_packed){0};
    KILN_TRY(kn_file_open(ctx, path, &fd));
    kiln_status status = kn_packed_read_fd(ctx, fd, path, out);
    ctx->io->close(ctx->io->ud, fd);
    return status;
}

void kn_packed_free(kiln_ctx *ctx, kn_packed *p)
{
    for (uint32_t i = 0; i < p->n; i++) kiln_array_release(p->run[i].bytes);
    kn_free(&ctx->alloc, p->run, p->cap * sizeof *p->run);
    kn_bytes_free(ctx, &p->text);
    *p = (kn_packed){0};
}
