/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_TRANSFORM_SEGMENT_H
#define KN_TRANSFORM_SEGMENT_H

#include "transform/transform.h"

/* The same function with its long scans in checkpointed segments: memory of the way back goes with the root of the number of trips, or
 * with its logarithm, for as many more runs. */
kiln_status kn_segment_loops(const kn_rules *r, const kn_jaxpr *j, bool logarithm, const kn_jaxpr **out);

#endif
