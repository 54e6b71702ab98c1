/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping over an axis. */
#include "transform/transform.h"

kiln_status kn_vmap(const kn_rules *r, const kn_jaxpr *j, const int *axes, const int *out_axes, const kn_jaxpr **out)
{
    (void)j, (void)axes, (void)out_axes, (void)out;
    return kn_fail(r->ctx, KILN_UNSUPPORTED, "vmap: no primitive has a batch rule");
}
