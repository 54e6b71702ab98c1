/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of opt-in speed by name. */
#include "base/ctx.h"

static bool is(const char *text, size_t n, const char *name) { return strlen(name) == n && memcmp(text, name, n) == 0; }

static kiln_status read_one(const char *text, size_t n, unsigned *out)
{
    static const char *const later[] = {"contract", "reassociate", "no_nan", "approx"};
    if (is(text, n, "none")) return KILN_OK;
    *out |= is(text, n, "flush") ? KILN_FAST_FLUSH : 0;
    if (is(text, n, "flush")) return KILN_OK;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (is(text, n, later[i])) return KILN_UNSUPPORTED;
    return KILN_NOTFOUND;
}

kiln_status kiln_fast_read(const char *text, unsigned *out)
{
    *out = 0;
    for (;; text++) {
        size_t n = strcspn(text, ",");
        KILN_TRY(read_one(text, n, out));
        text += n;
        if (!*text) return KILN_OK;
    }
}

const char *kiln_fast_text(unsigned fast) { return fast & KILN_FAST_FLUSH ? "flush" : "none"; }
unsigned kiln_ctx_fast(const kiln_ctx *ctx) { return ctx->fast; }
