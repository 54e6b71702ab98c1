/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a StableHLO module: what is read passes lowering, every pass and the planner, whose loops are well formed; or one of
 * them refuses it. */
#include "fuzz.h"

#include "hlo/hlo.h"
#include "run/stages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t used, size;
    kn_prog *p;
    char *text;
    kiln_ctx *ctx = fuzz_ctx(&used);
    if (!ctx) return 0;
    if (kn_hlo_parse(ctx, (const char *)data, n, "fuzz", &p) == KILN_OK) {
        kiln_status s = kn_compile_stage(ctx, p, NULL, "loops", &text, &size);
        if (s == KILN_OK) kiln_text_free(ctx, text, size);
        else if (s == KILN_INTERNAL || s == KILN_INVALID || !kiln_ctx_error(ctx)->message[0]) fuzz_fail(ctx, "a legal program fails");
        kiln_prog_release(p);
    }
    kiln_ctx_release(ctx);
    if (used) {
        fprintf(stderr, "%zu bytes are not freed\n", used);
        abort();
    }
    return 0;
}
