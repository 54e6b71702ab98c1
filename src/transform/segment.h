/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_TRANSFORM_SEGMENT_H
#define KN_TRANSFORM_SEGMENT_H

#include "transform/transform.h"

/* The same function with its long scans in checkpointed segments: memory of the way back goes with the root of the number of trips, or
 * with its logarithm, for as many more runs. */
kiln_status kn_segment_loops(const kn_rules *r, const kn_jaxpr *j, bool logarithm, const kn_jaxpr **out);

/* The same function whose while loops, inside of bodies too, are said to make at most so many trips (-1: nothing is said) and to keep this
 * record, where they do not say it themselves. */
kiln_status kn_bound_loops(const kn_rules *r, const kn_jaxpr *j, int64_t max_trips, const char *record, const kn_jaxpr **out);

#endif
