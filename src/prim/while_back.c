/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/control.h"
#include "prim/derive.h"

kiln_status kn_transpose_while(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)j, (void)e, (void)x, (void)ct, (void)ct_in;
    return kn_fail(b->ctx, KILN_UNSUPPORTED, "reverse mode through while");
}
