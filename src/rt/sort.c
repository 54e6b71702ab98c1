/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/sort.h"

/* ---- codes ---- */

static uint32_t code32(uint32_t bits, kn_sort_order order)
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

/* Of a type of at most 32 bits, in as many. */
static uint32_t narrow_code_of(kiln_dtype d, const void *data, int64_t k, kn_sort_order order)
{
    uint64_t c = code_of(d, data, k, order);
    return kiln_dtype_kind(d) == 'i' ? (uint32_t)(c ^ (uint64_t)INT64_MIN) ^ 0x80000000u : (uint32_t)c;
}

/* Codes of elements start, start + step, ..; the common types in loops of their own. */
static void narrow_codes(kiln_dtype d, const void *data, int64_t start, int64_t step, kn_sort_order order, uint32_t *code, int64_t n)
{
    const uint32_t *x = data;
    if (d == KILN_F32)
        for (int64_t i = 0; i < n; i++) code[i] = code32(x[start + i * step], order);
    else if (d == KILN_I32)
        for (int64_t i = 0; i < n; i++) code[i] = x[start + i * step] ^ 0x80000000u;
    else
        for (int64_t i = 0; i < n; i++) code[i] = narrow_code_of(d, data, start + i * step, order);
}

static void wide_codes(kiln_dtype d, const void *data, int64_t start, int64_t step, kn_sort_order order, uint64_t *code, int64_t n)
{
    const uint64_t *x = data;
    if (d == KILN_F64)
        for (int64_t i = 0; i < n; i++) code[i] = code64(x[start + i * step], order);
    else
        for (int64_t i = 0; i < n; i++) code[i] = code_of(d, data, start + i * step, order);
}

static bool is_narrow(kiln_dtype d) { return kiln_dtype_bytes(d) <= sizeof(uint32_t); }

/* ---- sorts of one kind of item each ---- */

enum { SHORT = 16, RADIX_FROM = 512 };

/* Stable sorts by CODE(item), whose lowest DIGITS bytes differ: insertion, merging, digit by digit from the lowest (digits that are the
 * same in all items are passed over). */
#define SORTS(name, item, CODE, DIGITS)                                                                                \
    static void insertion_##name(item *x, int64_t n)                                                                   \
    {                                                                                                                  \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            item t = x[i];                                                                                             \
            int64_t k = i;                                                                                             \
            for (; k > 0 && CODE(x[k - 1]) > CODE(t); k--) x[k] = x[k - 1];                                            \
            x[k] = t;                                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void merge_##name(item *x, item *room, int64_t n)                                                           \
    {                                                                                                                  \
        item *from = x, *to = room;                                                                                    \
        for (int64_t lo = 0; lo < n; lo += SHORT) insertion_##name(x + lo, n - lo < SHORT ? n - lo : SHORT);           \
        for (int64_t width = SHORT; width < n; width *= 2) {                                                           \
            for (int64_t lo = 0; lo < n; lo += 2 * width) {                                                            \
                int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n, a = lo, b = mid, k = lo; \
                while (a < mid && b < hi) {                                                                            \
                    bool second = CODE(from[b]) < CODE(from[a]);                                                       \
                    to[k++] = from[second ? b : a];                                                                    \
                    a += !second, b += second;                                                                         \
                }                                                                                                      \
                while (a < mid) to[k++] = from[a++];                                                                   \
                while (b < hi) to[k++] = from[b++];                                                                    \
            }                                                                                                          \
            item *t = from;                                                                                            \
            from = to, to = t;                                                                                         \
        }                                                                                                              \
        if (from != x) memcpy(x, from, (size_t)n * sizeof *x);                                                         \
    }                                                                                                                  \
    static void radix_##name(item *x, item *room, int64_t n)                                                           \
    {                                                                                                                  \
        int64_t count[DIGITS][256];                                                                                    \
        item *from = x, *to = room;                                                                                    \
        memset(count, 0, sizeof count);                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int d = 0; d < (DIGITS); d++) count[d][CODE(x[i]) >> 8 * d & 255]++;                                  \
        for (int d = 0; d < (DIGITS); d++) {                                                                           \
            int64_t at = 0, *first = count[d];                                                                         \
            if (first[CODE(x[0]) >> 8 * d & 255] == n) continue;                                                       \
            for (int k = 0; k < 256; k++) {                                                                            \
                int64_t c = first[k];                                                                                  \
                first[k] = at;                                                                                         \
                at += c;                                                                                               \
            }                                                                                                          \
            for (int64_t i = 0; i < n; i++) to[first[CODE(from[i]) >> 8 * d & 255]++] = from[i];                       \
            item *t = from;                                                                                            \
            from = to, to = t;                                                                                         \
        }                                                                                                              \
        if (from != x) memcpy(x, from, (size_t)n * sizeof *x);                                                         \
    }                                                                                                                  \
    static void sort_##name(item *x, item *room, int64_t n)                                                            \
    {                                                                                                                  \
        if (n <= SHORT) insertion_##name(x, n);                                                                        \
        else if (n < RADIX_FROM) merge_##name(x, room, n);                                                             \
        else radix_##name(x, room, n);                                                                                 \
    }
#define ITSELF(x) (x)
#define UPPER(x) ((x) >> 32)
#define OF_ITEM(x) ((x).code)
SORTS(codes32, uint32_t, ITSELF, 4)
SORTS(codes64, uint64_t, ITSELF, 8)
SORTS(words, uint64_t, UPPER, 4) /* a code of 32 bits, then a place */
SORTS(items, kn_sort_item, OF_ITEM, 8)

/* ---- sorts of lines ---- */

void kn_sort_by(kiln_dtype d, const void *data, int64_t start, int64_t step, void *work, int64_t n, int64_t *place)
{
    const uint32_t *x = data;
    uint64_t *words = work;
    kn_sort_item *items = work;
    if (!is_narrow(d) || n > UINT32_MAX) {
        for (int64_t i = 0; i < n; i++) items[i] = (kn_sort_item){code_of(d, data, start + place[i] * step, KN_SORT_KEYS), place[i]};
        sort_items(items, items + n, n);
        for (int64_t i = 0; i < n; i++) place[i] = items[i].place;
        return;
    }
#define WORDS(code) \
    for (int64_t i = 0; i < n; i++) words[i] = (uint64_t)(code) << 32 | (uint64_t)place[i]
    if (d == KILN_F32) WORDS(code32(x[start + place[i] * step], KN_SORT_KEYS));
    else if (d == KILN_I32) WORDS(x[start + place[i] * step] ^ 0x80000000u);
    else WORDS(narrow_code_of(d, data, start + place[i] * step, KN_SORT_KEYS));
#undef WORDS
    sort_words(words, words + n, n);
    for (int64_t i = 0; i < n; i++) place[i] = (int64_t)(words[i] & UINT32_MAX);
}

/* Codes of 32 bits back to elements; of floats, no NaN and no -0 among them. */
static void narrow_elements(kiln_dtype d, const uint32_t *code, void *to, int64_t start, int64_t step, int64_t n)
{
    uint32_t *y = to;
    if (d == KILN_F32)
        for (int64_t i = 0; i < n; i++) y[start + i * step] = code[i] ^ (code[i] >> 31 ? 0x80000000u : UINT32_MAX);
    else
        for (int64_t i = 0; i < n; i++) y[start + i * step] = code[i] ^ (d == KILN_I32 ? 0x80000000u : 0);
}

static void wide_elements(kiln_dtype d, const uint64_t *code, void *to, int64_t start, int64_t step, int64_t n)
{
    uint64_t *y = to;
    if (d == KILN_F64)
        for (int64_t i = 0; i < n; i++) y[start + i * step] = code[i] ^ (code[i] >> 63 ? (uint64_t)INT64_MIN : UINT64_MAX);
    else
        for (int64_t i = 0; i < n; i++) y[start + i * step] = code[i] ^ (d == KILN_I64 ? (uint64_t)INT64_MIN : 0);
}

/* Is some element a NaN or -0, which its code does not tell from others? */
static bool has_lost(kiln_dtype d, const void *data, int64_t start, int64_t step, int64_t n)
{
    const uint32_t *x = data;
    const uint64_t *w = data;
    bool lost = false;
    if (d == KILN_F32)
        for (int64_t i = 0; i < n; i++) lost |= x[start + i * step] == 0x80000000u || (x[start + i * step] & 0x7fffffffu) > 0x7f800000u;
    if (d == KILN_F64)
        for (int64_t i = 0; i < n; i++) lost |= w[start + i * step] == (uint64_t)INT64_MIN || (w[start + i * step] & INT64_MAX) > 0x7ff0000000000000u;
    return lost;
}

bool kn_sort_alone(kiln_dtype d, const void *from, void *to, int64_t start, int64_t step, void *work, int64_t n)
{
    bool narrow = d == KILN_F32 || d == KILN_I32 || d == KILN_U32, wide = d == KILN_F64 || d == KILN_I64 || d == KILN_U64;
    if ((!narrow && !wide) || has_lost(d, from, start, step, n)) return false;
    if (narrow) {
        uint32_t *code = work;
        narrow_codes(d, from, start, step, KN_SORT_KEYS, code, n);
        sort_codes32(code, code + n, n);
        narrow_elements(d, code, to, start, step, n);
    } else {
        uint64_t *code = work;
        wide_codes(d, from, start, step, KN_SORT_KEYS, code, n);
        sort_codes64(code, code + n, n);
        wide_elements(d, code, to, start, step, n);
    }
    return true;
}

/* ---- the greatest ones ---- */

/* Elements go to a buffer of ROOM times as many as are asked for, but those that are no better than the worst of the best so far: they
 * come later, too. A full buffer is sorted and cut. */
enum { BLOCK = 512, ROOM = 4 };

static int64_t full_of(int64_t n, int64_t most)
{
    int64_t full = most > n / ROOM ? n : most * ROOM;
    return full > SHORT ? full : SHORT;
}

int64_t kn_sort_first_room(int64_t n, int64_t most) { return 2 * full_of(n, most); }

#define GREATEST(name, item, code_type, codes, CODE, MAKE)                                                             \
    static void greatest_##name(kiln_dtype d, const void *data, int64_t start, int64_t step, item *x, int64_t n, int64_t most, int64_t *place) \
    {                                                                                                                  \
        code_type block[BLOCK];                                                                                        \
        int64_t full = full_of(n, most), have = 0;                                                                     \
        code_type worst = (code_type)-1; /* turned round: the greatest have the lowest codes */                        \
        bool any = false;                                                                                              \
        for (int64_t at = 0; at < n; at += BLOCK) {                                                                    \
            int64_t m = n - at < BLOCK ? n - at : BLOCK;                                                               \
            codes(d, data, start + at * step, step, KN_SORT_TOTAL, block, m);                                          \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                code_type c = (code_type)~block[i];                                                                    \
                if (any && c >= worst) continue;                                                                       \
                x[have++] = MAKE(c, at + i);                                                                           \
                if (have < full) continue;                                                                             \
                sort_##name(x, x + full, have);                                                                        \
                have = most, any = true;                                                                               \
                worst = (code_type)CODE(x[most - 1]);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        sort_##name(x, x + full, have);                                                                                \
        for (int64_t i = 0; i < most; i++) place[i] = PLACE_##name(x[i]);                                              \
    }
#define MAKE_WORD(c, p) ((uint64_t)(c) << 32 | (uint64_t)(p))
#define MAKE_ITEM(c, p) ((kn_sort_item){(c), (p)})
#define PLACE_words(x) ((int64_t)((x) & UINT32_MAX))
#define PLACE_items(x) ((x).place)
GREATEST(words, uint64_t, uint32_t, narrow_codes, UPPER, MAKE_WORD)
GREATEST(items, kn_sort_item, uint64_t, wide_codes, OF_ITEM, MAKE_ITEM)

void kn_sort_first(kiln_dtype d, const void *data, int64_t start, int64_t step, void *work, int64_t n, int64_t most, int64_t *place)
{
    if (is_narrow(d) && n <= UINT32_MAX) greatest_words(d, data, start, step, work, n, most, place);
    else greatest_items(d, data, start, step, work, n, most, place);
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
