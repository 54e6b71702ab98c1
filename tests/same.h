/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of results as numerics 10 has it: two NaNs are equal, everything else is compared as bits. */
#ifndef KN_TESTS_SAME_H
#define KN_TESTS_SAME_H

#include "array/array.h"

static bool same_part(double x, double y) { return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0; }

/* `where` receives the first element that differs; may be NULL. */
static bool same_array(const kiln_array *a, const kiln_array *b, int64_t *where)
{
    kiln_dtype d = a->type.dtype;
    if (!kiln_type_equal(a->type, b->type)) return false;
    size_t w = kiln_dtype_bytes(d);
    for (int64_t k = 0, n = kiln_type_size(a->type); k < n; k++) {
        if (where) *where = k;
        if (memcmp((const char *)a->data + (size_t)k * w, (const char *)b->data + (size_t)k * w, w) == 0) continue;
        kn_scalar x = kn_scalar_load(d, a->data, k), y = kn_scalar_load(d, b->data, k);
        char kind = kiln_dtype_kind(d);
        if (kind == 'c' ? !same_part(x.c[0], y.c[0]) || !same_part(x.c[1], y.c[1]) : kind != 'f' || x.f == x.f || y.f == y.f) return false;
    }
    return true;
}

#endif
