/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of the columns of a sparse matrix: two columns with an element in the same row get different ones, so that all columns of one
 * colour are found by one product with their sum (Curtis, Powell, Reid, On the estimation of sparse Jacobian matrices, 1974). */
#ifndef KN_TRANSFORM_COLOUR_H
#define KN_TRANSFORM_COLOUR_H

#include "base/ctx.h"
#include "base/memory.h"

/* Rows of indices: row i is index[first[i]] .. index[first[i + 1] - 1]. */
typedef struct kn_pattern {
    uint32_t rows, columns;
    const uint32_t *first, *index;
} kn_pattern;
kiln_status kn_pattern_transpose(kiln_ctx *ctx, kn_arena *arena, const kn_pattern *p, kn_pattern *out);
/* Greedily, in the better of two orders: as they stand, and the columns with most neighbours first (Gebremedhin, Manne, Pothen, What color is
 * your Jacobian?, SIAM Review 47 (2005), 2 and 4). back: the transpose. */
kiln_status kn_colour_columns(kiln_ctx *ctx, kn_arena *arena, const kn_pattern *p, const kn_pattern *back, uint32_t *colour, uint32_t *n);

#endif
