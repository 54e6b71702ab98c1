/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from text, recognised by what it holds. */
#include "base/file.h"
#include "base/fpmode.h"
#include "hlo/hlo.h"
#include "prim/text.h"

kiln_status kiln_prog_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kiln_prog **out)
{
    kn_fpmode mode = kn_fpmode_enter(); /* numbers are rounded as everywhere */
    kiln_status s = kn_hlo_text_is(text, n) ? kn_hlo_text_parse(ctx, text, n, file, out)
                    : kn_hlo_is(text, n)    ? kn_hlo_parse(ctx, text, n, file, out)
                                           : kn_jaxpr_parse(ctx, text, n, file, out);
    kn_fpmode_leave(mode);
    return s;
}

kiln_status kiln_prog_load(kiln_ctx *ctx, const char *path, kiln_prog **out)
{
    kn_bytes b;
    *out = NULL;
    KILN_TRY(kn_file_read(ctx, path, &b));
    kiln_status status = kiln_prog_parse(ctx, b.s, b.n, path, out);
    kn_bytes_free(ctx, &b);
    return status;
}
