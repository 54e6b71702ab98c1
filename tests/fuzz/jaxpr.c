/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a program in jaxpr text. */
#include "fuzz.h"

#include "prim/text.h"

static unsigned width;

static kiln_status print(kiln_ctx *ctx, const kn_prog *p, kn_text *t)
{
    char *text;
    size_t n;
    kiln_status s = kiln_prog_print(ctx, p, width, &text, &n);
    if (s != KILN_OK) return s;
    kn_text_addn(t, text, n);
    kiln_text_free(ctx, text, n);
    return t->failed ? KILN_NOMEM : KILN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    width = n % 2 ? 80 : 0;
    fuzz_program((const char *)data, n, kn_jaxpr_parse, print);
    return 0;
}
