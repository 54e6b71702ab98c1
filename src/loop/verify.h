/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_LOOP_VERIFY_H
#define KN_LOOP_VERIFY_H

#include "loop/loop.h"

/* Where loops came from, when from text: messages then have a place. */
typedef struct kn_loops_text {
    const char *file, *text;
    const uint32_t *offsets; /* in the text, of each instruction */
    uint32_t n;
} kn_loops_text;

kn_place kn_loops_place(const kn_loops_text *where, uint32_t offset);
kiln_status kn_loops_verify_at(kiln_ctx *ctx, const kn_loops *l, const kn_loops_text *where); /* where may be NULL */

#endif
