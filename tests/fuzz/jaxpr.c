/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a program: an error with a place, or a program whose print reads back as an equal one. */
#include "ir/ir.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    kiln_ctx *ctx;
    kiln_prog *p, *q;
    char *text;
    size_t k;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 0;
    kiln_status status = kiln_prog_parse(ctx, (const char *)data, n, "fuzz", &p);
    if (status != KILN_OK && status != KILN_INVALID && status != KILN_UNSUPPORTED && status != KILN_SHAPE && status != KILN_DTYPE) abort();
    if (status != KILN_OK && kiln_ctx_error(ctx)->line == 0) abort();
    if (status == KILN_OK) {
        if (kiln_prog_print(ctx, p, n % 2 ? 80 : 0, &text, &k) != KILN_OK) abort();
        if (kiln_prog_parse(ctx, text, k, "printed", &q) != KILN_OK || !kn_jaxpr_equal(p->main, q->main)) abort();
        kiln_text_free(ctx, text, k);
        kiln_prog_release(p);
        kiln_prog_release(q);
    }
    kiln_ctx_release(ctx);
    return 0;
}
