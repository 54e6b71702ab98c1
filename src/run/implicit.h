/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_RUN_IMPLICIT_H
#define KN_RUN_IMPLICIT_H

#include "trace/trace.h"

/* body: (constants, x) -> A x */
struct kiln_linear {
    const kn_jaxpr *body;
    const kiln_val *consts;
    uint32_t nconsts, n;
};

#endif
