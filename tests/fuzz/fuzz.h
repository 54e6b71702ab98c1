/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: a context with bounded memory, what every refusal must be, and what every program must stand. */
#ifndef KN_FUZZ_H
#define KN_FUZZ_H

#include "base/ctx.h"
#include "base/text.h"
#include "ir/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A text may ask for large arrays: more than this is refused as memory that is not there. */
enum { FUZZ_MEMORY = 1 << 27 };

static void *fuzz_alloc(void *ud, void *p, size_t old_bytes, size_t new_bytes, size_t align)
{
    size_t *used = ud;
    if (new_bytes > old_bytes && new_bytes - old_bytes > FUZZ_MEMORY - *used) return NULL;
    void *q = kn_alloc_default.fn(NULL, p, old_bytes, new_bytes, align);
    if (q || !new_bytes) *used += new_bytes - old_bytes;
    return q;
}

/* `used` counts bytes, and lives longer than the context. */
static inline kiln_ctx *fuzz_ctx(size_t *used)
{
    kiln_ctx *ctx;
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    *used = 0;
    o.alloc = fuzz_alloc;
    o.alloc_ud = used;
    return kiln_ctx_create(&o, &ctx) == KILN_OK ? ctx : NULL;
}

static inline void fuzz_fail(kiln_ctx *ctx, const char *what)
{
    char text[2048];
    kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

/* One error of the kinds that texts give, with a place. */
static inline void fuzz_refused(kiln_ctx *ctx, kiln_status s)
{
    const kiln_diag *d = kiln_ctx_error(ctx);
    if (s == KILN_NOMEM) return;
    if (s != KILN_INVALID && s != KILN_UNSUPPORTED && s != KILN_SHAPE && s != KILN_DTYPE && s != KILN_NOTFOUND &&
        s != KILN_IO && s != KILN_VERSION) fuzz_fail(ctx, "not an error of a text");
    if (d->code != s || !d->message[0]) fuzz_fail(ctx, "no message");
    if (d->line == 0) fuzz_fail(ctx, "no place");
}

typedef kiln_status (*fuzz_reader)(kiln_ctx *ctx, const char *text, size_t n, const char *file, kn_prog **out);
typedef kiln_status (*fuzz_printer)(kiln_ctx *ctx, const kn_prog *p, kn_text *t);

/* What a reader makes of the bytes: one error with a place, or a legal program whose print reads back and prints the same. */
static inline void fuzz_program(const char *text, size_t n, fuzz_reader read, fuzz_printer print)
{
    size_t used;
    kiln_ctx *ctx = fuzz_ctx(&used);
    kn_prog *p, *q;
    kn_text first, again;
    if (!ctx) return;
    kiln_status s = read(ctx, text, n, "fuzz", &p);
    if (s != KILN_OK) {
        fuzz_refused(ctx, s);
        kiln_ctx_release(ctx);
        return;
    }
    if (kn_verify(ctx, p) != KILN_OK) fuzz_fail(ctx, "not a legal program");
    kn_text_init(&first, &ctx->alloc);
    kn_text_init(&again, &ctx->alloc);
    s = print(ctx, p, &first);
    if (s == KILN_OK) {
        s = read(ctx, first.s, first.n, "printed", &q);
        if (s == KILN_OK) {
            if (print(ctx, q, &again) != KILN_OK) fuzz_fail(ctx, "does not print again");
            if (first.n != again.n || memcmp(first.s, again.s, first.n) != 0) {
                fprintf(stderr, "---- first\n%s\n---- again\n%s\n", first.s, again.s);
                fuzz_fail(ctx, "prints differently when read again");
            }
            kiln_prog_release(q);
        } else if (s != KILN_NOMEM) {
            fprintf(stderr, "%s\n", first.s);
            fuzz_fail(ctx, "the print does not read back");
        }
    } else if (s != KILN_UNSUPPORTED && s != KILN_NOMEM) fuzz_fail(ctx, "does not print");
    kn_text_fini(&first);
    kn_text_fini(&again);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    if (used) {
        fprintf(stderr, "%zu bytes are not freed\n", used);
        abort();
    }
}

#endif
