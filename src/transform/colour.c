/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/colour.h"

#include <stdlib.h>

kiln_status kn_pattern_transpose(kiln_ctx *ctx, kn_arena *arena, const kn_pattern *p, kn_pattern *out)
{
    uint32_t nnz = p->first[p->rows], *first = KN_NEWN(arena, uint32_t, (size_t)p->columns + 2), *index = KN_NEWN(arena, uint32_t, (size_t)nnz + 1);
    KILN_TRY_MEM(ctx, first && index);
    for (uint32_t k = 0; k < nnz; k++) first[p->index[k] + 2]++;
    for (uint32_t c = 0; c < p->columns; c++) first[c + 2] += first[c + 1];
    for (uint32_t r = 0; r < p->rows; r++)
        for (uint32_t k = p->first[r]; k < p->first[r + 1]; k++) index[first[p->index[k] + 1]++] = r;
    *out = (kn_pattern){p->columns, p->rows, first, index};
    return KILN_OK;
}

typedef struct ranked {
    uint64_t neighbours;
    uint32_t column;
} ranked;
static int most_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->neighbours != y->neighbours) return x->neighbours < y->neighbours ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

/* The least colour that no column has with which this one shares a row. */
static uint32_t paint(const kn_pattern *p, const kn_pattern *back, const ranked *order, uint32_t *seen, uint32_t *colour)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < p->columns; c++) colour[c] = UINT32_MAX;
    memset(seen, 0, ((size_t)p->columns + 1) * sizeof *seen);
    for (uint32_t i = 0; i < p->columns; i++) {
        uint32_t c = order ? order[i].column : i, k = 0;
        for (uint32_t q = back->first[c]; q < back->first[c + 1]; q++) {
            uint32_t r = back->index[q];
            for (uint32_t m = p->first[r]; m < p->first[r + 1]; m++) {
                uint32_t other = colour[p->index[m]];
                if (other != UINT32_MAX) seen[other] = i + 1;
            }
        }
        if (back->first[c] == back->first[c + 1]) {
            colour[c] = 0; /* a column without elements: any */
            continue;
        }
        while (seen[k] == i + 1) k++;
        colour[c] = k;
        if (k + 1 > n) n = k + 1;
    }
    return n;
}

kiln_status kn_colour_columns(kiln_ctx *ctx, kn_arena *arena, const kn_pattern *p, const kn_pattern *back, uint32_t *colour, uint32_t *n)
{
    const uint64_t work_most = 4000000000u;
    uint64_t work = 0, most = 0;
    ranked *order = KN_NEWN(arena, ranked, p->columns);
    uint32_t *seen = KN_NEWN(arena, uint32_t, (size_t)p->columns + 1), *other = KN_NEWN(arena, uint32_t, p->columns), m;
    KILN_TRY_MEM(ctx, order && seen && other);
    for (uint32_t r = 0; r < p->rows; r++) {
        uint64_t k = p->first[r + 1] - p->first[r];
        work += k * k;
        if (k > most) most = k;
    }
    for (uint32_t c = 0; c < p->columns; c++) {
        order[c].column = c;
        for (uint32_t q = back->first[c]; q < back->first[c + 1]; q++) order[c].neighbours += p->first[back->index[q] + 1] - p->first[back->index[q]];
    }
    if (most == p->columns || work > work_most) { /* a full row: no two columns share a colour */
        for (uint32_t c = 0; c < p->columns; c++) colour[c] = c;
        *n = p->columns;
        return KILN_OK;
    }
    *n = paint(p, back, NULL, seen, colour);
    if (*n <= most) return KILN_OK; /* fewer than a row has elements is not possible */
    qsort(order, p->columns, sizeof *order, most_first);
    m = paint(p, back, order, seen, other);
    if (m >= *n) return KILN_OK;
    memcpy(colour, other, p->columns * sizeof *colour);
    *n = m;
    return KILN_OK;
}
