/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from text, recognised by what it holds. */
#include "base/fpmode.h"
#include "hlo/hlo.h"
#include "prim/text.h"

kiln_status kn_prog_parse_packed(kiln_ctx *ctx, const kn_packed *t, const char *file, kn_prog **out)
{
    const char *text = t->text.s;
    size_t n = t->text.n;
    kn_fpmode mode = kn_fpmode_enter(); /* numbers are rounded as everywhere */
    kiln_status s = kn_hlo_text_is(text, n) ? kn_hlo_text_parse(ctx, text, n, file, out)
                    : kn_hlo_is(text, n)    ? kn_hlo_parse_packed(ctx, t, file, out)
                                            : kn_jaxpr_parse(ctx, text, n, file, out);
    kn_fpmode_leave(mode);
    return s;
}

kiln_status kiln_prog_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kiln_prog **out)
{
    kn_packed t = kn_packed_text(text, n);
    return kn_prog_parse_packed(ctx, &t, file, out);
}

kiln_status kiln_prog_load(kiln_ctx *ctx, const char *path, kiln_prog **out)
{
    kn_packed t;
    *out = NULL;
    KILN_TRY(kn_packed_read(ctx, path, &t));
    kiln_status status = kn_prog_parse_packed(ctx, &t, path, out);
    kn_packed_free(ctx, &t);
    return status;
}
