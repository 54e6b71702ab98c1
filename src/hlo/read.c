/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from text, recognised by what it holds. */
#include "base/fpmode.h"
#include "hlo/hlo.h"
#include "prim/text.h"

kiln_status kn_prog_refuse_binary(kiln_ctx *ctx, const char *text, size_t n, const char *file)
{
    enum { LOOK = 256 }; /* a NUL this near to the beginning is no damaged text */
    static const struct {
        const char *magic, *what, *accepted;
    } forms[] = {
        {"ML\xefR", "MLIR bytecode", "text: jax.jit(f).lower(*args).as_text(), or exported.mlir_module() of a jax.export"},
        {"\x93NUMPY", "an array (.npy), not a program", "a program as text"},
        {"PK\3\4", "an archive (.npz, .zip), not a program", "a program as text"},
    };
    const char *what = NULL, *accepted = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t k = strlen(forms[i].magic);
        if (n >= k && memcmp(text, forms[i].magic, k) == 0) what = forms[i].what, accepted = forms[i].accepted;
    }
    if (!what && n >= 2 && (unsigned char)text[0] == 0x80 && text[1] > 0 && text[1] <= 5)
        what = "a Python pickle, which is never loaded", accepted = "text: str(jax.make_jaxpr(f)(*args)), or jax.jit(f).lower(*args).as_text()";
    if (!what && memchr(text, 0, n < LOOK ? n : LOOK))
        what = "binary, as jax.export serializes", accepted = "text: exported.mlir_module(), or jax.jit(f).lower(*args).as_text()";
    if (!what) return KILN_OK;
    kn_place place = {.file = file, .line = 1, .column = 1};
    return kn_fail_at(ctx, KILN_UNSUPPORTED, "unsupported", place, accepted, "this is %s", what);
}

kiln_status kn_prog_parse_packed(kiln_ctx *ctx, const kn_packed *t, const char *file, kn_prog **out)
{
    const char *text = t->text.s;
    size_t n = t->text.n;
    *out = NULL;
    KILN_TRY(kn_prog_refuse_binary(ctx, text, n, file));
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
