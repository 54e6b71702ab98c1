/* SPDX-License-Identifier: Apache-2.0 */
/* What words make of operands. */
#ifndef KN_TRANSFORM_WORDS_H
#define KN_TRANSFORM_WORDS_H

#include "kiln/transform.h"
#include "transform/transform.h"

/* Types of the operands that the program itself has when the outermost word has these: lanes are taken off. They are as many, in the
 * arena of `room`; those that a derivative adds come last. */
kiln_status kn_words_inner(kiln_ctx *ctx, kn_prog *room, const char *word, const kiln_type *types, uint32_t n, const kiln_type **out);

#endif
