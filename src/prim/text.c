/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from jaxpr text: the parser with the table of primitives. */
#include "prim/text.h"

#include "ir/parse.h"

static const kn_parse_prims prims = {kn_prim_find, kn_prims};

kiln_status kn_jaxpr_parse(kiln_ctx *ctx, const char *text, size_t n, const char *file, kiln_prog **out)
{
    return kn_parse(ctx, text, n, file, &prims, out);
}
