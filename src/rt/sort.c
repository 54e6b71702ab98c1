/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/sort.h"

#include <math.h>

/* Merges from[lo..mid-1] and from[mid..hi-1] to `to`: the second run's element comes first only where it is strictly before. */
static bool merge(const int64_t *from, int64_t *to, int64_t lo, int64_t mid, int64_t hi, kn_before_fn before, void *ud)
{
    int64_t a = lo, b = mid, k = lo;
    while (a < mid && b < hi) {
        int second = before(ud, from[b], from[a]);
        if (second < 0) return false;
        to[k++] = second ? from[b++] : from[a++];
    }
    while (a < mid) to[k++] = from[a++];
    while (b < hi) to[k++] = from[b++];
    return true;
}

bool kn_merge_sort(int64_t *place, int64_t *room, int64_t n, kn_before_fn before, void *ud)
{
    int64_t *from = place, *to = room;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            if (!merge(from, to, lo, mid, hi, before, ud)) return false;
        }
        int64_t *t = from;
        from = to, to = t;
    }
    if (from != place) memcpy(place, from, (size_t)n * sizeof *place);
    return true;
}

static int compare_double(double a, double b)
{
    if (a != a || b != b) return (a != a) - (b != b);
    return (a > b) - (a < b);
}

int kn_key_compare(kiln_dtype d, kn_scalar a, kn_scalar b)
{
    switch (kiln_dtype_kind(d)) {
    case 'f':
    case '8': return compare_double(a.f, b.f);
    case 'c': {
        int c = compare_double(a.c[0], b.c[0]);
        return c ? c : compare_double(a.c[1], b.c[1]);
    }
    case 'i': return (a.i > b.i) - (a.i < b.i);
    case 'b': return a.b - b.b;
    default: return (a.u > b.u) - (a.u < b.u);
    }
}

int kn_total_compare(kiln_dtype d, kn_scalar a, kn_scalar b)
{
    int c = kn_key_compare(d, a, b);
    if (c || !strchr("f8", kiln_dtype_kind(d)) || a.f != 0) return c;
    return (signbit(a.f) == 0) - (signbit(b.f) == 0);
}
