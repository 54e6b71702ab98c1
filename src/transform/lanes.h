/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over lanes whose bodies are loops: made faster for the compiler. */
#ifndef KN_TRANSFORM_LANES_H
#define KN_TRANSFORM_LANES_H

#include "transform/transform.h"

/* The program with such loops over slots, or NULL where it has none. Bits stay. */
kiln_status kn_lanes_in_slots(kiln_ctx *ctx, const kn_prog *p, kn_prog **out);

#endif
