/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KN_TRANSFORM_SPARSE_H
#define KN_TRANSFORM_SPARSE_H

#include "kiln/transform.h"
#include "transform/transform.h"

typedef struct kn_sparse_info {
    uint32_t rows, columns, elements, colours;
    bool reverse;
} kn_sparse_info;
/* For each float result: indptr, indices, values. */
kiln_status kn_sparse_jacobian(const kn_rules *r, const kn_jaxpr *j, uint32_t wrt, kn_sparse_info *info, const kn_jaxpr **out);

#endif
