/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_TRANSFORM_SEGMENT_H
#define KN_TRANSFORM_SEGMENT_H

#include "transform/transform.h"

typedef struct kn_loop_plan {
    bool segments, logarithm; /* long scans run in checkpointed segments: memory of the way back goes with the root of the number of trips,
                                 or with its logarithm, for as many more runs */
    int64_t max_trips;        /* of while loops that do not say it themselves, about; -1: not known */
    const char *record;       /* what their ways back keep, where the number is known */
} kn_loop_plan;

/* The same function with its loops by the plan: those of calls, branches and other loops, too. */
kiln_status kn_plan_loops(const kn_rules *r, const kn_jaxpr *j, const kn_loop_plan *plan, const kn_jaxpr **out);

#endif
