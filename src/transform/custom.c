/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/prog.h"

kiln_status kiln_prog_with_rules(kiln_ctx *ctx, const kiln_prog *p, const kiln_custom_rule *rules, uint32_t n, kiln_prog **out)
{
    (void)rules, (void)n;
    *out = kiln_prog_retain((kiln_prog *)(uintptr_t)p);
    (void)ctx;
    return KILN_OK;
}
