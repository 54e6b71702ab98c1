/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a StableHLO module. */
#include "fuzz.h"

#include "hlo/check.h"
#include "hlo/hlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t used;
    bool checks;
    fuzz_program((const char *)data, n, kn_hlo_parse, kn_hlo_print_stablehlo);
    kiln_ctx *ctx = fuzz_ctx(&used);
    if (!ctx) return 0;
    kn_packed text = kn_packed_text((const char *)data, n);
    kiln_status s = kn_hlo_has_checks(ctx, &text, "fuzz", &checks);
    if (s != KILN_OK) fuzz_refused(ctx, s);
    kiln_ctx_release(ctx);
    return 0;
}
