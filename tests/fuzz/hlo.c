/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as HLO text. */
#include "fuzz.h"

#include "hlo/hlo.h"

static kiln_status print(kiln_ctx *ctx, const kn_prog *p, kn_text *t) { return kn_hlo_print_hlo(ctx, p, false, t); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_program((const char *)data, n, kn_hlo_text_parse, print);
    return 0;
}
