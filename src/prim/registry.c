/* SPDX-License-Identifier: Apache-2.0 */
/* The table of primitives. */
#include "ir/prim.h"

#include "prims.gen.h"

static const kn_prim *const table[] = {KN_PRIM_TABLE};

const kn_prim *const *kn_prims(uint32_t *n)
{
    if (n) *n = sizeof table / sizeof *table - 1;
    return table;
}

static int compare(const char *a, const char *s, size_t n)
{
    int c = strncmp(a, s, n);
    return c ? c : a[n] != 0;
}

const kn_prim *kn_prim_find(const char *name, size_t n)
{
    size_t lo = 0, hi = sizeof table / sizeof *table - 1;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = compare(table[mid]->name, name, n);
        if (c == 0) return table[mid];
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}
