/* SPDX-License-Identifier: Apache-2.0 */
/* What gather and scatter share: which dimensions of operand, indices and window belong together. The last dimension of the
 * indices holds index vectors; the others number them. A window has the operand's rank; `collapsed` and batch dimensions of it
 * have size 1 and are left out of the result (of the updates). */
#ifndef KN_PRIM_INDEX_H
#define KN_PRIM_INDEX_H

#include "prim/batch.h"

typedef struct kn_ints_list {
    const int64_t *v;
    uint32_t n;
} kn_ints_list;

typedef struct kn_index_dims {
    kn_ints_list window;    /* dimensions of the result (updates) that run over the window, rising */
    kn_ints_list collapsed; /* dimensions of the operand, rising */
    kn_ints_list map;       /* entry k of an index vector is a start along this dimension of the operand */
    kn_ints_list operand_batch, indices_batch; /* run together */
} kn_index_dims;

/* GatherDimensionNumbers(..) or ScatterDimensionNumbers(..); false when the parameter is neither. */
bool kn_index_dims_of(const kn_param *p, bool scatter, kn_index_dims *d);
/* The parameter for these; `lists` receives its items. */
enum { KN_INDEX_LISTS = 5 };
kn_param kn_index_param(const kn_index_dims *d, bool scatter, kn_param *lists);
/* Checks everything that can be said without the result's shape; `sizes` is the window, of the operand's rank. */
kiln_status kn_index_check(const kn_typing *t, const kn_index_dims *d, kiln_type operand, kiln_type indices, const int64_t *sizes,
                           uint32_t n_sizes, uint32_t outer_rank);

typedef enum kn_index_mode { KN_INDEX_CLIP, KN_INDEX_FILL, KN_INDEX_PROMISE } kn_index_mode;
bool kn_index_mode_of(const kn_param *p, kn_index_mode *mode);

static inline bool kn_listed(kn_ints_list l, int64_t v)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.v[i] == v) return true;
    return false;
}
/* The same dimensions with lanes in front of the operand, the indices, or both; those of the window are part of the result (updates). */
void kn_index_lanes(kn_lanes *m, kn_index_dims *d, bool operand, bool indices);
/* Splits an index of the result (updates): `batch` numbers the index vector (rank of the indices - 1), `offset` is in the window
 * of the operand's rank. */
void kn_index_split(const kn_index_dims *d, uint32_t rank, uint32_t outer_rank, const int64_t *ix, int64_t *batch, int64_t *offset);
/* The window of the operand, of its rank, that an update of a scatter covers. */
void kn_index_window(const kn_index_dims *d, uint32_t rank, kiln_type updates, int64_t *sizes);
/* Start of the window of index vector `batch`, not clamped. */
void kn_index_start(const kn_index_dims *d, const kiln_array *indices, uint32_t rank, const int64_t *batch, int64_t *start);

/* ---- each from the other ---- */

typedef struct kn_scatter_like {
    const kn_param *dims, *mode; /* of a gather or a scatter */
    bool sorted, unique;
} kn_scatter_like;
/* A scatter primitive, or a gather with 0 where an index is out of bounds, by the dimension numbers of the other. */
kiln_status kn_build_scatter(kn_build *b, const kn_prim *p, const kn_scatter_like *how, kn_atom operand, kn_atom indices, kn_atom updates, kn_atom *out);
kiln_status kn_build_gather(kn_build *b, const kn_scatter_like *how, const int64_t *sizes, kn_atom operand, kn_atom indices, kn_atom *out);
/* Elements of x along a dimension at `indices`, of the result's shape. */
kiln_status kn_build_take(kn_build *b, kn_atom x, kn_atom indices, uint32_t axis, kn_atom *out);

#endif
