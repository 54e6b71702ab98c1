/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/sort.h"

/* ---- codes ---- */

static uint64_t code32(uint32_t bits, kn_sort_order order)
{
    if (order == KN_SORT_KEYS && (bits & 0x7fffffffu) > 0x7f800000u) return UINT32_MAX;
    if (order == KN_SORT_KEYS && bits == 0x80000000u) bits = 0;
    return bits ^ (bits >> 31 ? UINT32_MAX : 0x80000000u);
}
static uint64_t code64(uint64_t bits, kn_sort_order order)
{
    if (order == KN_SORT_KEYS && (bits & INT64_MAX) > 0x7ff0000000000000u) return UINT64_MAX;
    if (order == KN_SORT_KEYS && bits == (uint64_t)INT64_MIN) bits = 0;
    return bits ^ (bits >> 63 ? UINT64_MAX : (uint64_t)INT64_MIN);
}

static uint64_t code_of(kiln_dtype d, const void *data, int64_t k, kn_sort_order order)
{
    uint32_t word;
    uint64_t wide;
    float small;
    switch (kiln_dtype_kind(d)) {
    case 'b': return kn_scalar_load(d, data, k).b;
    case 'i': return kn_scalar_load(d, data, k).u ^ (uint64_t)INT64_MIN;
    case 'f':
    case '8':
        if (d == KILN_F64) {
            memcpy(&wide, (const char *)data + (size_t)k * sizeof wide, sizeof wide);
            return code64(wide, order);
        }
        if (d == KILN_F32) {
            memcpy(&word, (const char *)data + (size_t)k * sizeof word, sizeof word);
            return code32(word, order);
        }
        small = (float)kn_scalar_load(d, data, k).f; /* exact */
        memcpy(&word, &small, sizeof word);
        return code32(word, order);
    default: return kn_scalar_load(d, data, k).u;
    }
}

void kn_sort_codes(kiln_dtype d, const void *data, int64_t start, int64_t step, kn_sort_order order, bool flip, kn_sort_item *items, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t c = code_of(d, data, start + items[i].place * step, order);
        items[i].code = flip ? ~c : c;
    }
}

enum { SHORT = 16, RADIX_FROM = 1024, DIGITS = 8 };

static void insertion(kn_sort_item *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        kn_sort_item t = x[i];
        int64_t k = i;
        for (; k > 0 && x[k - 1].code > t.code; k--) x[k] = x[k - 1];
        x[k] = t;
    }
}

static void merge_items(kn_sort_item *x, kn_sort_item *room, int64_t n)
{
    kn_sort_item *from = x, *to = room;
    for (int64_t lo = 0; lo < n; lo += SHORT) insertion(x + lo, n - lo < SHORT ? n - lo : SHORT);
    for (int64_t width = SHORT; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n, a = lo, b = mid, k = lo;
            while (a < mid && b < hi) to[k++] = from[b].code < from[a].code ? from[b++] : from[a++];
            while (a < mid) to[k++] = from[a++];
            while (b < hi) to[k++] = from[b++];
        }
        kn_sort_item *t = from;
        from = to, to = t;
    }
    if (from != x) memcpy(x, from, (size_t)n * sizeof *x);
}

/* Digit by digit from the lowest; digits that are the same in all items are passed over. */
static void radix(kn_sort_item *x, kn_sort_item *room, int64_t n)
{
    int64_t count[DIGITS][256];
    kn_sort_item *from = x, *to = room;
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++) count[d][x[i].code >> 8 * d & 255]++;
    for (int d = 0; d < DIGITS; d++) {
        int64_t at = 0;
        if (count[d][x[0].code >> 8 * d & 255] == n) continue;
        for (int k = 0; k < 256; k++) {
            int64_t c = count[d][k];
            count[d][k] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++) to[count[d][from[i].code >> 8 * d & 255]++] = from[i];
        kn_sort_item *t = from;
        from = to, to = t;
    }
    if (from != x) memcpy(x, from, (size_t)n * sizeof *x);
}

void kn_sort_items(kn_sort_item *items, kn_sort_item *room, int64_t n)
{
    if (n <= SHORT) insertion(items, n);
    else if (n < RADIX_FROM) merge_items(items, room, n);
    else radix(items, room, n);
}

void kn_sort_first(kn_sort_item *items, kn_sort_item *room, int64_t n, int64_t most)
{
    enum { FEW = 64 };
    if (most > FEW || most * 4 > n) {
        kn_sort_items(items, room, n);
        return;
    }
    int64_t have = 0; /* of room, in order */
    for (int64_t i = 0; i < n; i++) {
        if (have == most && (most == 0 || items[i].code >= room[most - 1].code)) continue;
        int64_t k = have < most ? have++ : most - 1;
        for (; k > 0 && room[k - 1].code > items[i].code; k--) room[k] = room[k - 1];
        room[k] = items[i];
    }
    memcpy(items, room, (size_t)most * sizeof *items);
}

/* ---- by a comparator ---- */

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
