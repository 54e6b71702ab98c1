/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_TRANSFORM_VMAP_H
#define KN_TRANSFORM_VMAP_H

#include "transform/transform.h"

/* One body over lanes: r->batch, for use outside of a vmap. */
kiln_status kn_vmap_body(const kn_rules *r, const kn_jaxpr *j, int64_t size, const bool *lanes, const bool *wanted, const kn_jaxpr **out, bool *found);

#endif
